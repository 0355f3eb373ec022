from __future__ import annotations

import math
import string

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.classes import count_rows
from sfumato.core.evidence import gather
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.bridge import implied_t
from sfumato.methods.models import StochasticTCloseness, TCloseness
from tests.oracles.definitions import laplace_density, multiplicative, randomised

groups = st.lists(st.lists(st.integers(-5, 12), min_size=1, max_size=4), min_size=1, max_size=4)
scales = st.sampled_from([0.3, 1.0, 4.0])


def classes_of(values, kind="numeric"):
    """One class a list of sensitive values."""
    rows = [(str(i), value) for i, group in enumerate(values) for value in group]
    dtype = (
        pl.String
        if kind != "numeric"
        else pl.Float64
        if any(isinstance(v, float) for _, v in rows)
        else pl.Int64
    )
    frame = pl.DataFrame(
        {"key": [k for k, _ in rows], "pay": pl.Series([v for _, v in rows], dtype=dtype)}
    )
    return Table(frame).with_roles(quasi=["key"], sensitive=["pay"]).with_kinds(pay=kind)


@given(groups, scales)
def test_laplace_supremum_is_exact(values, scale):
    """A fine scan of the line never exceeds what is found at the values, and comes near it."""
    model = StochasticTCloseness("pay", t=9, mechanism="laplace", scale=scale)
    verdict = model.judge(gather(classes_of(values), [model]))
    everyone = [v for group in values for v in group]
    at = sorted({*everyone, *np.linspace(-30, 40, 141).tolist()})
    for group, found in zip(values, verdict.per_class, strict=True):
        scanned = max(
            multiplicative(laplace_density(group, scale, x), laplace_density(everyone, scale, x))
            for x in at
        )
        assert found == pytest.approx(scanned, rel=1e-9)


@given(groups, st.sampled_from([0.3, 1.0, 4.0]), st.sampled_from([1.0, 2.0, 3.5]))
def test_laplace_noise_over_the_grid(values, epsilon, unit):
    """Masses straight from the definition: values cut off at the bounds and moved to the grid; all
    points of it, and the corrected Proposition 1 bounds what is found.
    """
    low, high = -4.0, 10.0
    model = StochasticTCloseness(
        "pay", t=9, mechanism="laplace_noise", epsilon=epsilon, bounds=(low, high), unit=unit
    )
    verdict = model.judge(gather(classes_of(values), [model]))
    steps = math.ceil((high - low) / unit)
    a = math.exp(-epsilon / steps)

    def chance(members, z):
        places = [min(steps, round((min(max(c, low), high) - low) / unit)) for c in members]
        return sum((1 - a) / (1 + a) * a ** abs(z - m) for m in places) / len(members)

    everyone = [v for group in values for v in group]
    expected = [
        max(multiplicative(chance(group, z), chance(everyone, z)) for z in range(-9, steps + 9))
        for group in values
    ]
    assert verdict.per_class.tolist() == pytest.approx(expected, rel=1e-9)
    smallest = min(len(group) for group in values)
    assert max(expected) <= implied_t(epsilon, len(everyone), smallest) * (1 + 1e-9)


def test_missing_values_count_as_the_middle_of_the_bounds():
    options = {"mechanism": "laplace_noise", "epsilon": 1, "bounds": (0, 10), "unit": 1}
    model = StochasticTCloseness("pay", t=9, **options)
    gap, middle = (
        model.judge(gather(classes_of(values), [model])).per_class.tolist()
        for values in ([[0, None], [9]], [[0, 5], [9]])
    )
    assert gap == middle


@given(groups, scales)
def test_differential_privacy_bounds_it(values, scale):
    """Corrected Proposition 1 (G09): Laplace noise is ε-private with ε = range/scale for each
    record.
    """
    everyone = [v for group in values for v in group]
    model = StochasticTCloseness("pay", t=9, mechanism="laplace", scale=scale)
    attained = model.judge(gather(classes_of(values), [model])).attained
    epsilon = (max(everyone) - min(everyone)) / scale
    assert attained <= implied_t(epsilon, len(everyone), min(len(group) for group in values)) * (
        1 + 1e-9
    )


letters = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=4)


@st.composite
def masking_matrices(draw, outcomes="abcd"):
    rows = {}
    for value in "abc":
        raw = draw(st.lists(st.integers(0, 3), min_size=len(outcomes), max_size=len(outcomes)))
        raw = raw if sum(raw) else [1] * len(outcomes)
        rows[value] = {after: n / sum(raw) for after, n in zip(outcomes, raw, strict=True) if n}
    return rows


@given(letters, masking_matrices())
def test_matrix_mixtures(values, matrix):
    everyone = [v for group in values for v in group]
    table = randomised(everyone, matrix)
    outcomes = sorted({after for row in matrix.values() for after in row})
    dataset = classes_of(values, kind="ordinal")
    dataset = dataset.with_schema(
        dataset.schema.replace("pay", order=tuple(string.ascii_lowercase))
    )
    for distance in ("multiplicative", "equal", "ordered"):
        model = StochasticTCloseness(
            "pay", t=1, mechanism="matrix", matrix=matrix, distance=distance
        )
        verdict = model.judge(gather(dataset, [model]))
        for group, found in zip(values, verdict.per_class, strict=True):
            mixed = randomised(group, matrix)
            gaps = [mixed[o] - table[o] for o in outcomes]
            expected = {
                "multiplicative": max(multiplicative(mixed[o], table[o]) for o in outcomes),
                "equal": sum(map(abs, gaps)) / 2,
                "ordered": (
                    sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps) - 1))
                    / max(1, len(gaps) - 1)
                ),
            }
            assert found == pytest.approx(expected[distance], rel=1e-9, abs=1e-12)


@given(letters)
def test_identity_is_ordinary_t_closeness(values):
    everyone = {v for group in values for v in group}
    if len(everyone) < 2:
        return
    identity = {value: {value: 1.0} for value in "abc"}
    dataset = classes_of(values, kind="nominal")
    for distance, t in (("multiplicative", 1), ("equal", 0)):
        masked = StochasticTCloseness(
            "pay", t=t, mechanism="matrix", matrix=identity, distance=distance
        )
        plain = TCloseness("pay", t=t, distance=distance)
        evidence = gather(dataset, [masked, plain])
        assert masked.judge(evidence).per_class.tolist() == pytest.approx(
            plain.judge(evidence).per_class.tolist()
        )


@given(groups, scales)
def test_noise_never_separates(values, scale):
    """What t-closeness promises of the values, it promises of whatever is made of them."""
    if len({v for group in values for v in group}) < 2:
        return
    masked = StochasticTCloseness("pay", t=9, mechanism="laplace", scale=scale)
    plain = TCloseness("pay", t=9, distance="multiplicative")
    evidence = gather(classes_of(values), [masked, plain])
    assert (masked.judge(evidence).per_class <= plain.judge(evidence).per_class + 1e-9).all()


def test_salaries():
    """Laplace noise of scale 5 on 3, ..., 11 thousand: 2.0474 for the class {3, 4, 5}, by a scan of
    200 001 points.
    """
    model = StochasticTCloseness("salary", t=2, mechanism="laplace", scale=5)
    verdict = model.judge(gather(examples.salaries(grouping="similar"), [model]))
    assert sorted(verdict.per_class.tolist()) == pytest.approx([1.3721943, 1.5393526, 2.0474119])
    assert (verdict.holds, verdict.records) == (False, 3)


def test_randomised_response_by_hand():
    """Keep with 3/4: a class of two yes and no others in a table of 2 yes, 2 no shows yes with 3/4
    against 1/2.
    """
    matrix = {"yes": {"yes": 0.75, "no": 0.25}, "no": {"yes": 0.25, "no": 0.75}}
    dataset = classes_of([["yes", "yes"], ["no", "no"]], kind="nominal")
    model = StochasticTCloseness("pay", t=2, mechanism="matrix", matrix=matrix)
    assert model.judge(gather(dataset, [model])).attained == pytest.approx(2)  # no: 1/2 against 1/4
    closer = StochasticTCloseness(
        "pay", t=0.25, mechanism="matrix", matrix=matrix, distance="equal"
    )
    assert closer.judge(gather(dataset, [closer])).attained == pytest.approx(0.25)
    # it is ln 3-private: corrected Proposition 1 is attained with classes of half the table
    assert implied_t(math.log(3), 4, 2) == pytest.approx(2)


def test_the_true_values_are_judged_not_what_came_out():
    """After masking, the realised column may look perfect or hopeless: neither says anything."""
    original = classes_of([[1, 1, 1], [9, 9, 9]])
    shown = original.with_columns({"pay": pl.Series([1, 9, 5, 5, 9, 1])}).take(
        np.array([5, 4, 3, 2, 1, 0])
    )
    model = StochasticTCloseness("pay", t=2, mechanism="laplace", scale=4)
    true = model.judge(gather(original, [model])).attained
    assert model.judge(gather(shown, [model], original=original)).attained == pytest.approx(true)
    assert model.judge(gather(shown, [model])).attained != pytest.approx(true)


def test_far_apart_values_do_not_overflow():
    values = [[0], [100_000]]
    model = StochasticTCloseness("pay", t=9, mechanism="laplace", scale=1)
    assert model.judge(gather(classes_of(values), [model])).attained == math.inf
    wide = StochasticTCloseness("pay", t=9, mechanism="laplace", scale=1e6)
    assert wide.judge(gather(classes_of(values), [wide])).attained == pytest.approx(1.05, abs=0.01)


def test_missing_values():
    with_gap = classes_of([["yes", None], ["no", None]], kind="nominal")
    matrix = {"yes": {"yes": 0.5, "no": 0.5}, "no": {"yes": 0.5, "no": 0.5}}
    model = StochasticTCloseness("pay", t=1, mechanism="matrix", matrix=matrix)
    assert (
        model.judge(gather(with_gap, [model])).attained == 1
    )  # missing stays missing, as often in each class
    noisy = StochasticTCloseness("pay", t=1, mechanism="laplace", scale=1)
    with pytest.raises(SchemaError, match="missing value"):
        noisy.judge(gather(classes_of([[1, None], [2]]), [noisy]))


def test_released_reference():
    dataset = classes_of([[1, 2], [9]])
    model = StochasticTCloseness("pay", t=9, mechanism="laplace", scale=4, reference="released")
    assert model.scope == "table"
    kept = dataset.take(np.array([0, 1]))
    evidence = gather(kept, [model], original=dataset)
    assert model.judge(evidence).attained == pytest.approx(1)
    against = StochasticTCloseness("pay", t=9, mechanism="laplace", scale=4)
    assert against.judge(evidence).attained > 1.1


def laplace(t=2.0, **more):
    return StochasticTCloseness("pay", t=t, mechanism="laplace", **{"scale": 1, **more})


def test_implications():
    matrix = {"yes": {"yes": 1.0}}
    by_factor, by_share, ordered = (
        StochasticTCloseness("pay", t=t, mechanism="matrix", matrix=matrix, distance=d)
        for t, d in ((2, "multiplicative"), (0.5, "equal"), (0.5, "ordered"))
    )
    assert laplace(1.5).implies(laplace(2))
    assert not laplace(1.5).implies(laplace(2, scale=2))
    assert by_factor.implies(by_share)
    assert by_share.implies(ordered)
    assert not by_share.implies(by_factor)


@pytest.mark.parametrize(
    "arguments",
    [
        {"t": 0.9},
        {"t": math.inf},
        {"scale": 0},
        {"scale": None},
        {"distance": "equal", "t": 0.5},
        {"matrix": {"a": {"a": 1}}},
        {"mechanism": "matrix", "scale": None},
        {"mechanism": "matrix", "scale": None, "matrix": {"a": {"a": 0.9}}},
        {"mechanism": "matrix", "scale": None, "matrix": {"a": {"a": 1.5, "b": -0.5}}},
        {"mechanism": "matrix", "matrix": {"a": {"a": 1}}},
        {
            "mechanism": "matrix",
            "scale": None,
            "matrix": {"a": {"a": 1}},
            "distance": "equal",
            "t": 1.5,
        },
        {"mechanism": "gauss"},
        {"epsilon": 1},
        {"sensitive": ["pay", "hours"]},
        {"mechanism": "laplace_noise", "scale": None, "epsilon": 1},
        {"mechanism": "laplace_noise", "scale": None, "bounds": (0, 1)},
        {"mechanism": "laplace_noise", "scale": None, "epsilon": 1, "bounds": (1, 0)},
        {"mechanism": "laplace_noise", "scale": None, "epsilon": 1, "bounds": (0, 1), "unit": 2},
        {"mechanism": "private", "scale": None, "epsilon": 1},
        {"mechanism": "private", "scale": None, "reference": "released"},
        {"mechanism": "private", "scale": None, "epsilon": 0, "reference": "released"},
    ],
)
def test_parameters_out_of_range(arguments):
    with pytest.raises(ParameterError):
        StochasticTCloseness(
            **{"sensitive": "pay", "t": 2, "mechanism": "laplace", "scale": 1, **arguments}
        )


def test_bad_tables():
    with pytest.raises(SchemaError, match="column 'pay' is not in the schema"):
        laplace().needs(examples.torra().schema)
    with pytest.raises(SchemaError, match="kind numeric"):
        laplace().needs(classes_of([["a"]], kind="nominal").schema)
    known = StochasticTCloseness("pay", t=2, mechanism="matrix", matrix={"yes": {"yes": 1.0}})
    with pytest.raises(SchemaError, match=r"1 value\(s\) of 'pay' have no row") as raised:
        known.judge(gather(classes_of([["yes", "perhaps"]], kind="nominal"), [known]))
    assert "perhaps" not in str(raised.value)


def test_empty_table():
    empty = classes_of([[1]]).take(np.zeros(0, dtype=np.int64))
    _, rows = count_rows(empty)
    assert len(rows) == 0
    verdict = laplace().judge(gather(empty, [laplace()]))
    assert (verdict.holds, verdict.attained) == (True, None)
