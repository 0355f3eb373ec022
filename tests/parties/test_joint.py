"""A release nobody could make alone: equal to that of the pooled table, and nothing more is
opened.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Disagreement, Unsatisfiable
from sfumato.methods.hierarchies.table import hierarchy_table
from sfumato.parties import arithmetic, joint
from sfumato.parties.channel import Network
from sfumato.parties.joint import JointRelease, _Walk, released_frame
from sfumato.parties.question import Meeting
from tests.oracles import joint_release as oracle
from tests.parties.test_arithmetic import masked, simulated

GOLDEN = {
    "age": {"role": "quasi", "between": [20, 69], "hierarchy": {"intervals": [10]}},
    "sex": {"role": "quasi", "domain": ["x", "y"], "hierarchy": "suppress"},
}
PARTIES = ["23x 24y 47x 68y", "21x 44x 46y 61y", "25y 42y 63x 67y"]


def golden_tables():
    rows = [[{"age": w[:2], "sex": w[2]} for w in party.split()] for party in PARTIES]
    return [table(party, ["age", "sex"]) for party in rows]


def table(rows, columns):
    return sf.Table(
        pl.DataFrame({c: pl.Series(c, [row[c] for row in rows], dtype=pl.String) for c in columns})
    )


def together(question, tables, *, network=None, walks=None, tamper=None):
    """What every party answers; ``walks`` collects their ways, ``tamper(number, walk)`` changes
    one.
    """
    lines = network or Network(len(tables))

    async def one(i):
        meeting = Meeting(lines.channel(i), None, (len(tables) - 1) // 2, draw=os.urandom)
        walk = _Walk(question, joint.OwnRows.of(question, tables[i]), meeting)
        if walks is not None:
            walks.append(walk)
        if tamper is not None:
            tamper(i, walk)
        return await walk.answer()

    async def everyone():
        return await asyncio.gather(*(one(i) for i in range(len(tables))))

    return asyncio.run(everyone())


def same(answers):
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


def opened_sums(walks):
    """What every node that was counted drops, from the shares of all parties: for the test, not in
    the protocol.
    """
    field = walks[0].calc.field
    return {
        rank: int(field.opened({i: walk.dropped[rank] for i, walk in enumerate(walks)})[0])
        for rank in walks[0].dropped
    }


def test_the_worked_example():
    walks = []
    question = JointRelease(GOLDEN, k=2, budget="0.1")
    answer = same(together(question, golden_tables(), walks=walks))
    assert answer["records"] == 12 and answer["levels"] == {"sex": 0, "age": 1}
    assert answer["learned"]["bits"] == [[3, 1], [1, 1], [0, 0]]
    assert sorted(answer["counts"]) == [2, 2, 2, 2, 3] and answer["released_records"] == 11
    assert answer == question.plain(pooled(golden_tables()))
    own = [
        Counter(zip(*frame(t).values(), strict=True)).most_common(1)[0][1] for t in golden_tables()
    ]
    assert own == [1, 1, 1]  # no party has two of any class
    walks = []
    asked = JointRelease(GOLDEN, k=2, budget="0.1")
    together(
        asked,
        golden_tables(),
        walks=walks,
        tamper=lambda _, walk: walk.__setattr__("answer", lambda: count_all(walk)),
    )
    assert opened_sums(walks) == dict(enumerate([12, 1, 12, 0, 0, 0]))


def frame(dataset):
    decades = [age[0] for age in dataset.column("age").to_list()]
    return {"age": decades, "sex": dataset.column("sex").to_list()}


async def count_all(walk):
    await walk._count(range(len(walk.question.lattice.nodes)))


def pooled(tables):
    return sf.Table(pl.concat([t.to_polars() for t in tables]))


def test_the_worked_example_with_k_three_and_insiders():
    walks = []
    together(
        JointRelease(GOLDEN, k=3),
        golden_tables(),
        walks=walks,
        tamper=lambda _, walk: walk.__setattr__("answer", lambda: count_all(walk)),
    )
    assert opened_sums(walks) == dict(enumerate([12, 9, 12, 0, 0, 0]))
    for insiders, k in ((False, 3), (True, 3)):
        answer = same(together(JointRelease(GOLDEN, k=k, insiders=insiders), golden_tables()))
        assert answer["levels"] == {"sex": 0, "age": 2} and sorted(answer["counts"]) == [5, 7]
    answer = same(
        together(JointRelease(GOLDEN, k=4, insiders=True), golden_tables())
    )  # the least remainder is 3
    assert answer["levels"] == {"sex": 1, "age": 2} and answer["counts"] == [12]
    none = same(together(JointRelease(GOLDEN, k=9, insiders=True), golden_tables()))
    assert (
        none["levels"] is None
        and len(released_frame(none)) == 0
        and none["learned"]["bits"][-1] == [5, 0]
    )


def described(paths, sensitive=True):
    columns = {}
    for name, column in paths.items():
        columns[name] = {"role": "quasi", "domain": sorted(column)}
        if len(next(iter(column.values()))) > 1:
            columns[name]["hierarchy"] = {"table": {"rows": [list(row) for row in column.values()]}}
    if sensitive:
        columns["s"] = {"role": "sensitive", "domain": ["a", "b", "c"]}
    return columns


def case(seed):
    draw = random.Random(seed)
    parties = draw.randint(3, 6)
    paths = oracle.random_paths(draw, draw.randint(1, 3))
    tables = oracle.random_tables(draw, parties, paths)
    return paths, tables, draw.randint(2, 5), draw.choice(["0", "0.02", "0.1", "0.3"])


def rows_of(answer):
    return Counter(tuple(sorted(row.items())) for row in released_frame(answer).to_dicts())


@pytest.mark.parametrize(
    "seed", [pytest.param(i, marks=[pytest.mark.slow] if i >= 20 else []) for i in range(70)]
)
def test_it_equals_the_pooled_release(seed):
    """Node, bits, kept rows and the numbers of dropped records, against plain Python and against
    global recoding of one table.
    """
    paths, parties, k, budget = case(seed)
    question = JointRelease(described(paths), k=k, budget=budget)
    tables = [table(rows, [*paths, "s"]) for rows in parties]
    walks = []
    answer = same(together(question, tables, walks=walks))
    nodes = oracle.ordered_nodes(paths)
    assert [question.lattice.levels(r) for r in range(len(nodes))] == nodes
    assert opened_sums(walks) == {
        r: oracle.dropped(parties, nodes[r], paths, k) for r in walks[0].dropped
    }
    expected = oracle.release(parties, paths, k, budget)
    rank = len(nodes) if expected is None else expected[0]
    assert all(bit == (last >= rank) for last, bit in answer["learned"]["bits"])
    assert answer == question.plain(pooled(tables))
    if expected is None:
        assert answer["levels"] is None
        with pytest.raises(Unsatisfiable):
            one_table(pooled(tables), paths, sf.KAnonymity(k), budget)
        return
    assert answer["levels"] == expected[1] and rows_of(answer) == expected[2]
    release = one_table(pooled(tables), paths, sf.KAnonymity(k), budget)
    assert release.plans[-1][1].levels == answer["levels"]
    assert Counter(
        tuple(sorted(row.items())) for row in release.released.to_polars().to_dicts()
    ) == rows_of(answer)


def one_table(data, paths, models, budget):
    rules = {
        c: hierarchy_table([list(r) for r in p.values()])
        for c, p in paths.items()
        if len(next(iter(p.values()))) > 1
    }
    data = data.with_roles(quasi=list(paths), sensitive="s").with_hierarchies(**rules)
    return sf.anonymize(
        data, models, sf.GlobalRecoding(objective="height", budget=float(budget)), seed=1
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 115))
def test_distinct_l_and_insiders_equal_the_definition(seed):
    paths, parties, k, budget = case(seed)
    k = min(k, 3)
    tables = [table(rows, [*paths, "s"]) for rows in parties]
    for promises in (
        {"diversity": 2, "sensitive": ("s",)},
        {"insiders": True},
        {"insiders": True, "diversity": 3, "sensitive": ("s",)},
    ):
        question = JointRelease(
            described(paths),
            k=k,
            budget=budget,
            l=promises.get("diversity"),
            insiders=promises.get("insiders", False),
        )
        walks = []
        answer = same(together(question, tables, walks=walks))
        nodes = oracle.ordered_nodes(paths)
        sums = {
            r: oracle.dropped(parties, nodes[r], paths, k, **promises) for r in walks[0].dropped
        }
        assert opened_sums(walks) == sums
        expected = oracle.release(parties, paths, k, budget, **promises)
        if expected is None:
            assert answer["levels"] is None
        else:
            assert answer["levels"] == expected[1] and rows_of(answer) == expected[2]


def test_t_is_judged_on_releases_that_all_have_seen():
    rows = [{"q": q, "s": s} for q, s in zip("aaaabbbbccccdddd", "xxxyxxxyyyyxyyyx", strict=True)]
    tree = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
    columns = {
        "q": {"role": "quasi", "domain": list("abcd"), "hierarchy": {"table": {"rows": tree}}},
        "s": {"role": "sensitive", "domain": ["x", "y"]},
    }
    tables = [table(rows[i::3], ["q", "s"]) for i in range(3)]
    answer = same(together(JointRelease(columns, k=4, t="0.1", candidates=3), tables))
    assert answer["levels"] == {"q": 2} and answer["learned"]["rejected"] == [{"q": 0}, {"q": 1}]
    assert [v["holds"] for v in answer["verdicts"]] == [True, True]
    assert answer == JointRelease(columns, k=4, t="0.1", candidates=3).plain(pooled(tables))
    two = same(together(JointRelease(columns, k=4, t="0.1", candidates=2), tables))
    assert two["levels"] is None and len(two["learned"]["rejected"]) == 2
    loose = same(together(JointRelease(columns, k=4, t="0.3"), tables))
    assert loose["levels"] == {"q": 0} and loose["learned"]["rejected"] == []


def test_who_counts_otherwise_in_the_end_is_found_out():
    question = JointRelease(GOLDEN, k=2, budget="0.1")
    for change in (-1, 5, 10**6):

        def tamper(number, walk, change=change):
            if number == 1:
                honest = walk.own.released
                object.__setattr__(
                    walk.own, "released", lambda *a: np.maximum(honest(*a) + change, 0)
                )

        with pytest.raises(Disagreement, match="nothing is released"):
            together(question, golden_tables(), tamper=tamper)


def test_cells_are_worked_on_in_blocks(monkeypatch):
    expected = same(together(JointRelease(GOLDEN, k=2, budget="0.1"), golden_tables()))
    monkeypatch.setattr(arithmetic, "BLOCK", 7)
    monkeypatch.setattr(joint, "BLOCK", 7)
    network = Network(3, keep=True)
    assert (
        same(together(JointRelease(GOLDEN, k=2, budget="0.1"), golden_tables(), network=network))
        == expected
    )
    assert max(len(message) for view in network.views for _, _, message in view) <= 4 * 7


def test_messages_do_not_depend_on_the_records():
    """Tables of the same size and with the same answer: the same messages in the same order with
    the same lengths.
    """

    def shapes(tables):
        network = Network(3, keep=True)
        answer = same(together(JointRelease(GOLDEN, k=2, budget="0.1"), tables, network=network))
        return answer["learned"]["bits"], [
            [(p, s, len(m)) for p, s, m in view] for view in network.views
        ]

    mixed = pooled(golden_tables()).to_polars().reverse()
    one, other = shapes(golden_tables()), shapes([sf.Table(mixed[i::3]) for i in range(3)])
    assert one == other


def test_only_bits_the_number_of_records_and_the_release_are_opened():
    """What all say to all: the number of records; checks of masks; a bit a question; a bit a cell;
    the release. Masked numbers are uniform.
    """
    opened = []

    class Listening(Network):
        def channel(self, number):
            line = super().channel(number)
            if number == 0:
                honest = line.broadcast

                async def broadcast(phase, payload, lengths, **more):
                    said = await honest(phase, payload, lengths, **more)
                    field = arithmetic.Field()
                    opened.append(field.opened({i: field.unpacked(m) for i, m in said.items()}))
                    return said

                line.broadcast = broadcast
            return line

    answer = same(
        together(JointRelease(GOLDEN, k=2, budget="0.1"), golden_tables(), network=Listening(3))
    )
    asked = len(answer["learned"]["bits"])
    assert [len(values) for values in opened] == [1, *[1, 1] * asked, 10, 10, 5]
    assert opened[0].tolist() == [12] and opened[-1].tolist() == answer["counts"]
    bits = [bool(values[0] == 0) for values in opened[2 : 2 * asked + 1 : 2]]
    assert bits == [bool(bit) for _, bit in answer["learned"]["bits"]]
    assert all((values != 0).all() for values in opened[1 : 2 * asked : 2])
    masked = [v for values in opened[1:-1] for v in values.tolist() if v]
    assert (
        min(masked) > 1000
    )  # a bare count among them would be tiny; 40 uniform numbers are not, but for 2e-5


@pytest.mark.parametrize("parties", [3, 4, 5])
def test_a_coalition_cannot_tell_the_simulator_from_the_others(parties):
    """The simulator knows the coalition's rows and the answer: the number of records, the node and
    the release. That is all it needs.
    """
    question = JointRelease(GOLDEN, k=2, budget="0.1")
    tables = [golden_tables()[i % 3] for i in range(parties)]
    network = Network(parties, keep=True)
    answer = same(together(question, tables, network=network))

    def opened():
        chance, lattice = np.random.default_rng(3), question.lattice
        rank = next(r for r in range(len(lattice.nodes)) if lattice.levels(r) == answer["levels"])
        shown, where = (
            set(map(tuple, answer["combinations"])),
            [answer["columns"].index(n) for n in lattice.names],
        )
        labels = [
            ladder.labels[level]
            for ladder, level in zip(lattice.ladders, lattice.nodes[rank], strict=True)
        ]
        kept = np.array(
            [
                cell in {tuple(row[w] for w in where) for row in shown}
                for cell in itertools.product(*labels)
            ]
        )
        searching, said = lattice.search(), None
        yield [answer["records"]]
        while True:
            try:
                last, _ = searching.send(said)
            except StopIteration:
                break
            said = last >= rank
            yield masked(np.array([True]), chance)
            yield masked(np.array([not said]), chance)
        yield masked(np.ones(len(kept), dtype=bool), chance)
        yield masked(kept, chance)
        yield answer["counts"]

    async def protocol(channel, i):
        return await question.compute(tables[i], Meeting(channel, None, (parties - 1) // 2))

    for i, found, view in simulated(parties, list(opened()), protocol):
        assert found == answer
        assert view == [(phase, sender, len(m)) for phase, sender, m in network.views[i]]


def test_a_party_without_rows_helps_two_others():
    tables = [*golden_tables()[:2], golden_tables()[0].take(np.array([], dtype=np.int64))]
    question = JointRelease(GOLDEN, k=2, budget="0.5")
    answer = same(together(question, tables))
    assert answer == question.plain(pooled(tables[:2])) and answer["records"] == 8
    nobody = [tables[2]] * 3
    assert same(together(question, nobody))["levels"] is None


@pytest.mark.parametrize("insiders", [False, True])
@pytest.mark.parametrize("parties", [3, 4, 5])
def test_the_cost_is_known_beforehand(insiders, parties):
    question = JointRelease(GOLDEN, k=2, budget="0.1", insiders=insiders)
    tables = [golden_tables()[i % 3] for i in range(parties)]
    lines, channels = Network(parties), []
    honest = lines.channel
    lines.channel = lambda number: channels.append(honest(number)) or channels[-1]
    records = sum(len(t) for t in tables)
    together(question, tables, network=lines)
    cost = question.cost(parties, None, records)
    assert max(c.sent for c in channels) <= cost.sent <= 6 * max(c.sent for c in channels)
    assert max(c.messages for c in channels) <= cost.messages
