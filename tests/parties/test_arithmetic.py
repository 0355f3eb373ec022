"""Numbers nobody knows: products and zero tests equal plain arithmetic, and coalitions see nothing
but what is opened.
"""

from __future__ import annotations

import asyncio
import itertools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import Disagreement, ParameterError
from sfumato.parties import arithmetic as module
from sfumato.parties.arithmetic import (
    Arithmetic,
    all_at_least,
    at_least,
    interpolate,
    polynomial_products,
    vanishing,
)
from sfumato.parties.channel import Channel, Network, Phase
from sfumato.parties.sharing import PRIMES, Field

P = PRIMES[0]
elements = st.integers(0, P - 1)


def run(parties, protocol, *, network=None, draws=None, field=None):
    """What every party returns; ``protocol(arithmetic, number)`` is a coroutine."""
    lines = network or Network(parties)

    async def everyone():
        return await asyncio.gather(
            *(
                protocol(
                    Arithmetic(
                        lines.channel(i),
                        (parties - 1) // 2,
                        draws[i] if draws else os.urandom,
                        field or Field(),
                    ),
                    i,
                )
                for i in range(parties)
            )
        )

    return asyncio.run(everyone())


def same(answers):
    first = answers[0]
    assert all(np.array_equal(first, other) for other in answers)
    return np.asarray(first).tolist()


@settings(max_examples=40)
@given(st.integers(3, 6), st.data())
def test_sums_and_products_equal_plain_numbers(parties, data):
    count = data.draw(st.integers(0, 4))
    column = st.lists(elements, min_size=count, max_size=count)
    a, b = ([data.draw(column) for _ in range(parties)] for _ in range(2))

    async def protocol(calc, i):
        x, y = (
            await calc.shared(np.array(a[i], dtype=np.int64)),
            await calc.shared(np.array(b[i], dtype=np.int64)),
        )
        products, added = await calc.product(x, y), await calc.dot(x, y)
        once = await calc.all_multiplied(calc.plus(calc.scaled(x, -3), 7))
        return [*await calc.opened(products), *await calc.opened(added), *await calc.opened(once)]

    totals = [
        (sum(column), sum(other))
        for column, other in zip(zip(*a, strict=True), zip(*b, strict=True), strict=True)
    ]
    expected = [x * y % P for x, y in totals]
    tree = 1
    for x, _ in totals:
        tree = tree * (7 - 3 * x) % P
    assert same(run(parties, protocol)) == [*expected, sum(expected) % P, tree]


@settings(max_examples=40)
@given(
    st.integers(3, 6),
    st.lists(elements, min_size=1, max_size=12),
    st.lists(elements, min_size=1, max_size=3),
)
def test_polynomials_equal_plain_ones(parties, coefficients, points):
    async def protocol(calc, i):
        own = np.array(points if i == 0 else [0] * len(points))
        x = await calc.shared(own)
        before = calc.products
        values = await calc.polynomial(x, coefficients)
        assert calc.products - before == len(points) * polynomial_products(len(coefficients) - 1)
        return [
            *await calc.opened(values),
            *await calc.opened(await calc.polynomial_sums(x, coefficients)),
        ]

    expected = [sum(c * x**j for j, c in enumerate(coefficients)) % P for x in points]
    assert same(run(parties, protocol)) == [*expected, sum(expected) % P]


@pytest.mark.parametrize(
    ("degree", "most"), [(1, 0), (5, 3), (15, 6), (20, 7), (50, 13), (200, 27)]
)
def test_polynomials_cost_about_twice_the_root_of_their_degree(degree, most):
    assert polynomial_products(degree) <= most
    assert polynomial_products(degree) <= 2 * degree**0.5


@given(st.lists(elements, min_size=1, max_size=9))
def test_interpolation_meets_its_values(values):
    found = interpolate(values, P)
    assert [sum(c * x**j for j, c in enumerate(found)) % P for x in range(len(values))] == values


@given(st.sampled_from([*PRIMES, 5, 7]), st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_residues_without_division_are_those_with(modulus, values):
    edges = [0, modulus - 1, modulus, 2**31, 2**62, 2**64 - 1]
    numbers = np.array([*values, *edges], dtype=np.uint64)
    assert Field(modulus).reduced(numbers).tolist() == [v % modulus for v in [*values, *edges]]


@given(st.integers(0, 12), st.integers(0, 40))
def test_the_vanishing_polynomial_is_zero_below_k_only(k, x):
    assert (sum(c * x**j for j, c in enumerate(vanishing(k, P))) % P == 0) == (x < k)


@settings(max_examples=40)
@given(st.integers(3, 6), st.integers(0, 7), st.data())
def test_at_least_says_whether_the_sum_reaches_k(parties, k, data):
    cells = data.draw(st.integers(1, 5))
    counts = [
        data.draw(st.lists(st.integers(0, 9), min_size=cells, max_size=cells))
        for _ in range(parties)
    ]
    found = same(run(parties, lambda calc, i: at_least(calc, np.array(counts[i]), k)))
    assert found == [sum(column) >= k for column in zip(*counts, strict=True)]


@settings(max_examples=40)
@given(st.integers(3, 6), st.data())
def test_gates_give_one_bit(parties, data):
    thresholds = data.draw(st.lists(st.integers(0, 10), min_size=1, max_size=4))
    counts = [[data.draw(st.integers(0, 6)) for _ in thresholds] for _ in range(parties)]
    network = Network(parties, keep=True)
    found = same(
        run(
            parties,
            lambda calc, i: all_at_least(calc, list(zip(counts[i], thresholds, strict=True))),
            network=network,
        )
    )
    assert found == all(
        sum(c) >= t for c, t in zip(zip(*counts, strict=True), thresholds, strict=True)
    )
    assert {phase for view in network.views for phase, _, _ in view} == {Phase.GATES}


def test_zero_tests_and_nonzero_numbers():
    async def protocol(calc, i):
        x = await calc.shared(np.array([0, i, -1, 1 - i]))  # sums of three parties: 0, 3, -3, 0
        zeros = await calc.zeros(x)
        numbers = await calc.opened(await calc.nonzero(50))
        return [*zeros, bool(np.all(numbers > 0)), len(set(numbers.tolist())) > 45]

    assert same(run(3, protocol)) == [True, False, False, True, True, True]


def test_numbers_that_come_out_zero_are_drawn_again():
    """In a field of 5 elements 9 pairs of 25 have a zero: 400 pairs have none with probability
    below 1e-77.
    """

    async def protocol(calc, _):
        return await calc.opened(await calc.nonzero(400))

    def few(size):
        return (np.frombuffer(os.urandom(size), dtype="<u4") % 5).astype("<u4").tobytes()

    assert set(same(run(3, protocol, field=Field(5), draws=[few] * 3))) == {1, 2, 3, 4}


def test_work_is_done_in_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 4)

    async def protocol(calc, i):
        x = await calc.shared(np.arange(11) + i)  # 3 x + 3
        cubes = await calc.opened(await calc.polynomial(x, [1, 0, 0, 1]))
        parts = await calc.opened(await calc.polynomial_sums(x[:8], [1, 0, 0, 1], [0, 3, 7]))
        return [*cubes, *parts, *await calc.zeros(x)]

    network = Network(3, keep=True)
    expected = [(3 * x + 3) ** 3 + 1 for x in range(11)]
    assert same(run(3, protocol, network=network)) == [
        *expected,
        sum(expected[:3]),
        sum(expected[3:7]),
        expected[7],
        *[False] * 11,
    ]
    assert max(len(message) for _, _, message in network.views[0]) <= 4 * 4


def test_two_parties_cannot_multiply_alone():
    with pytest.raises(ParameterError, match="without data take part"):
        Arithmetic(Network(2).channel(0), 1, os.urandom)
    with pytest.raises(ParameterError, match="colluding"):
        Arithmetic(Network(4).channel(0), 2, os.urandom)
    with pytest.raises(ParameterError, match="too large"):
        run(3, lambda calc, _: at_least(calc, np.array([1]), P // 2))


def test_wrong_shares_and_unreduced_products_are_not_opened():
    async def lie(calc, i):
        x = await calc.shared(np.array([4]))
        with pytest.raises(Disagreement, match="are inconsistent"):
            await calc.opened(calc.plus(x, 1) if i == 2 else x)

    async def unreduced(calc, _):
        x = await calc.shared(np.array([4]))
        with pytest.raises(Disagreement):
            await calc.opened(calc.field.reduced(x * x))

    for parties in (3, 4, 5):
        run(parties, lie)
        run(parties, unreduced)


# What a coalition sees


class Script:
    """A source of prepared residues: column by column of an enumeration of all randomness."""

    def __init__(self, columns):
        self._columns = iter(columns)

    def __call__(self, size):
        column = next(self._columns)
        assert 4 * len(column) == size
        return column.astype("<u4").tobytes()


def enumerated(prime, columns):
    """All tuples of residues, as columns."""
    return [
        c.ravel().astype(np.uint64)
        for c in np.meshgrid(*[np.arange(prime)] * columns, indexing="ij")
    ]


def sorted_views(network, party):
    """All views of one party over the enumeration, as sorted rows."""
    view = np.stack([np.frombuffer(m, dtype="<u4") for _, _, m in network.views[party]], axis=1)
    return view[np.lexsort(view.T)]


@pytest.mark.parametrize("corrupted", [0, 1, 2])
def test_views_of_a_product_are_exactly_those_of_the_simulator(corrupted):
    """All randomness of the honest parties in a field of 5 elements, enumerated: not a test of
    samples but a proof by cases.

    The simulator knows the product and the corrupted party's inputs only: shares are uniform, and
    the opened shares lie on the line through the product and the corrupted party's share.
    """
    prime, field = 5, Field(5)
    honest = [i for i in range(3) if i != corrupted]
    chances = enumerated(prime, 6)
    size = len(chances[0])

    def views(inputs):
        draws = [None] * 3
        draws[corrupted] = Script([np.full(size, 3)] * 3)
        for which, i in enumerate(honest):
            draws[i] = Script(chances[3 * which : 3 * which + 3])

        async def protocol(calc, i):
            a, b = inputs[i]
            x, y = await calc.shared(np.full(size, a)), await calc.shared(np.full(size, b))
            return await calc.opened(await calc.product(x, y))

        network = Network(3, keep=True)
        opened = same(run(3, protocol, network=network, draws=draws, field=field))
        return sorted_views(network, corrupted), opened[0]

    seen = []
    for first, second in [
        ((1, 2), (3, 4)),
        ((0, 1), (3, 2)),
        ((2, 2), (4, 3)),
    ]:  # factors 2·2, 1·4, 4·1
        view, opened = views({corrupted: (3, 1), honest[0]: first, honest[1]: second})
        assert opened == 4
        seen.append(view)
    assert all(np.array_equal(seen[0], other) for other in seen[1:])
    shares, told = seen[0][:, :6], seen[0][:, 6:].astype(int)
    assert (
        len(np.unique(shares, axis=0)) == size == len(shares)
    )  # every combination once: uniform and independent
    slopes = (told - 4) * np.array([pow(i + 1, -1, prime) for i in honest]) % prime
    assert np.array_equal(slopes[:, 0], slopes[:, 1])  # one line through the product at 0


@pytest.mark.parametrize("corrupted", list(itertools.combinations(range(5), 2)))
def test_two_of_five_see_uniform_shares(corrupted):
    """Seven elements, three honest parties with two coefficients each: all 7⁶ cases."""
    chances = enumerated(7, 6)
    size = len(chances[0])
    honest = [i for i in range(5) if i not in corrupted]
    seen = []
    for inputs in ([1, 2, 3, 4, 5], [1, 2, 6, 0, 1]):
        owned = dict(zip([*corrupted, *honest], inputs, strict=True))
        draws = [Script([np.full(size, 2)] * 2) if i in corrupted else None for i in range(5)]
        for which, i in enumerate(honest):
            draws[i] = Script(chances[2 * which : 2 * which + 2])
        network = Network(5, keep=True)
        run(
            5,
            lambda calc, i, owned=owned: calc.shared(np.full(size, owned[i])),
            network=network,
            draws=draws,
            field=Field(7),
        )
        view = [[m for _, sender, m in network.views[c] if sender in honest] for c in corrupted]
        columns = np.stack([np.frombuffer(m, dtype="<u4") for part in view for m in part], axis=1)
        seen.append(columns[np.lexsort(columns.T)])
    assert np.array_equal(*seen)
    assert len(np.unique(seen[0], axis=0)) == size


def chi_square(samples, cells=64):
    counts = np.bincount(samples, minlength=cells)
    expected = len(samples) / cells
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("parties", [3, 4, 5, 6])
def test_what_each_party_receives_is_uniform_whatever_the_others_hold(parties):
    """64 cells: a uniform sample exceeds 170 with probability below 1e-11 (63 degrees of freedom);
    under 2,000 samples here.
    """
    cells = 16_384
    for small in (True, False):
        network = Network(parties, keep=True)

        async def protocol(calc, i, small=small):
            own = np.zeros(cells, dtype=np.int64) if small and i else np.full(cells, 2)
            return await at_least(
                calc, own, 2
            )  # party 0 alone reaches 2: everybody's bits are the same

        assert all(same(run(parties, protocol, network=network)))
        for view in network.views:
            for _, _, message in view:
                values = np.frombuffer(message, dtype="<u4")
                for start in range(0, len(values), cells):
                    assert chi_square((values[start : start + cells] >> 25).astype(np.int64)) < 170


class Simulated(Channel):
    """A coalition's lines when nobody else is there: the simulator makes up what the honest parties
    would send.

    It knows what is opened, one array after the other, and the coalition's own shares. Shares are
    random numbers; those of an opened number are those of the polynomial through the coalition's
    shares and the number.
    """

    def __init__(self, network, number, coalition, opened):
        super().__init__(number, network.parties)
        self.network, self.coalition, self.opened = network, coalition, iter(opened)
        self.chance = np.random.default_rng(number)
        self.view = []

    async def _friends(self, phase, outgoing, senders):
        for receiver in (i for i in self.coalition if i in outgoing):
            self.network.line(self.number, receiver).put_nowait((phase, outgoing[receiver]))
        return {
            i: (await self.network.line(i, self.number).get())[1]
            for i in self.coalition
            if i in senders
        }

    async def _exchange(self, phase, outgoing, lengths, missing):
        told = await self._friends(phase, outgoing, lengths)
        for sender, length in lengths.items():
            if sender not in told:
                told[sender] = self.chance.integers(0, P, length // 4).astype("<u4").tobytes()
            self.view.append((phase, sender, length))
        return told

    async def broadcast(self, phase, payload, lengths, *, missing="refuse"):
        others = dict.fromkeys(self.others, lengths)
        told = {
            self.number: payload,
            **await self._friends(phase, dict.fromkeys(self.others, payload), others),
        }
        value = np.asarray(next(self.opened), dtype=np.uint64)
        assert len(value) == lengths // 4
        known = {-1: value, **{i: Field().unpacked(m) for i, m in told.items()}}
        for i in self.others:
            if i not in told:
                told[i] = Field().packed(at(known, i + 1))
            self.view.append((phase, i, lengths))
        return dict(sorted(told.items()))


def at(known, point):
    """The value at a point of the polynomial through shares by party (point party + 1)."""
    total = np.zeros(len(next(iter(known.values()))), dtype=object)
    for i, share in known.items():
        upper = lower = 1
        for j in known:
            if j != i:
                upper, lower = upper * (point - j - 1) % P, lower * (i - j) % P
        total = (total + share.astype(object) * upper * pow(lower, -1, P)) % P
    return total.astype(np.uint64)


def simulated(parties, opened, protocol):
    """For every coalition as large as may be: what its members find when the simulator plays the
    others, and what they received.
    """
    for coalition in itertools.combinations(range(parties), (parties - 1) // 2):
        lines = Network(parties)
        channels = {i: Simulated(lines, i, coalition, opened) for i in coalition}

        async def alone(channels=channels):
            return await asyncio.gather(*(protocol(channel, i) for i, channel in channels.items()))

        found = asyncio.run(alone())
        for (i, channel), answer in zip(channels.items(), found, strict=True):
            yield i, answer, channel.view


def masked(pattern, chance):
    """Uniform numbers but 0 where a pattern is true, and 0 elsewhere."""
    return np.where(pattern, chance.integers(1, P, len(pattern)), 0)


@pytest.mark.parametrize("parties", [3, 4, 5, 6])
def test_a_coalition_cannot_tell_the_simulator_from_the_others(parties):
    """Its members run the protocol as it is, against made-up messages: every check passes, the
    answer and all lengths are the real ones.
    """
    counts = [np.array([0, 1, 5, i % 2, 2 * (i == 1)]) for i in range(parties)]
    network, chance = Network(parties, keep=True), np.random.default_rng(7)
    answer = np.array(
        same(run(parties, lambda calc, i: at_least(calc, counts[i], 3), network=network))
    )
    opened = [masked(np.ones(5, dtype=bool), chance), masked(answer, chance)]

    async def protocol(channel, i):
        return await at_least(Arithmetic(channel, (parties - 1) // 2, os.urandom), counts[i], 3)

    for i, found, view in simulated(parties, opened, protocol):
        assert np.array_equal(found, answer)
        assert view == [(phase, sender, len(m)) for phase, sender, m in network.views[i]]
