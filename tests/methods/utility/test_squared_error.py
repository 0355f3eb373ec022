"""Metrics of columns of numbers: worked numbers, naive definitions, other tools' results."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from tests.methods.utility.pairs_of_tables import of_numbers
from tests.oracles import utility_metrics

SMALL = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=3, max_size=12)


def test_standardised_error_of_a_swapped_column():
    # G28: V = 10, …, 100 rank-swapped; the mean, with n − 1 in the deviation, is 0.28026
    pair = of_numbers(
        {"v": list(range(10, 101, 10))}, {"v": [20, 10, 30, 60, 50, 40, 100, 80, 90, 70]}
    )
    assert sf.StandardisedError().measure(pair).raw == pytest.approx(0.28026, abs=5e-6)


def test_sums_of_squares():
    # G45: {2, 12, 16}, {25, 29}, {45} at their means: SSE 112 + SSA 1009.5 = SST 1121.5
    before, after = [2, 12, 16, 25, 29, 45], [10.0, 10.0, 10.0, 27.0, 27.0, 45.0]
    within, total = utility_metrics.squares(before, after)
    between = sum((y - 21.5) ** 2 for y in after)
    assert (within, between, total) == (112, 1009.5, 1121.5)
    found = sf.SumOfSquares(standardise=False).measure(of_numbers({"v": before}, {"v": after}))
    assert found.raw == pytest.approx(112 / 1121.5)
    assert found.per_record.sum() == pytest.approx(found.raw)


@given(rows=SMALL, noise=st.lists(st.integers(-5, 5), min_size=12, max_size=12))
def test_errors(rows, noise):
    x, y = [float(a) for a, _ in rows], [float(b) for _, b in rows]
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    moved = [a + e for a, e in zip(x, noise, strict=False)]
    pair = of_numbers({"x": x, "y": y}, {"x": moved, "y": y})
    own = utility_metrics.standardised_error(x, moved)
    assert sf.StandardisedError().measure(pair).raw == pytest.approx(own / 2)
    assert sf.StandardisedError().measure(pair).per_column == pytest.approx({"x": own, "y": 0})
    within, total = utility_metrics.squares(x, moved)
    assert sf.SumOfSquares().measure(pair).raw == pytest.approx(within / total / 2)
    assert sf.SumOfSquares(standardise=False).measure(pair).raw == pytest.approx(
        within / (total + utility_metrics.squares(y, y)[1])
    )
    width = max(x) - min(x)
    scaled = sf.RecordSquaredError(scale="range").measure(pair)
    assert scaled.raw == pytest.approx(within / width**2 / len(x))
    assert sf.RecordSquaredError(scale="range", root=True).measure(pair).raw == pytest.approx(
        math.sqrt(scaled.raw)
    )
    assert sf.RecordSquaredError().measure(pair).raw == pytest.approx(
        within / (total / (len(x) - 1)) / len(x)
    )
    assert sf.SquaredError().measure(pair).raw == pytest.approx(within / width**2 / len(x) / 2)


def test_missing_values():
    pair = of_numbers({"x": [1.0, None, 3.0]}, {"x": [1.0, None, None]})
    assert sf.SumOfSquares().measure(pair).raw == pytest.approx(0.5)  # 3 at the mean 2
    assert sf.SquaredError().measure(
        of_numbers({"x": [1.0, None]}, {"x": [1.0, 7.0]})
    ).raw == pytest.approx(0.5)
    nothing = of_numbers({"x": [None, None]}, {"x": [None, None]}, keep="x")
    nothing = TablePair.of(nothing.original.with_kinds(x="numeric"), nothing.released)
    assert sf.StandardisedError().measure(nothing).value == 0
    assert sf.Means().measure(nothing).value == 0


def test_constant_columns_have_nothing_to_lose():
    pair = of_numbers({"x": [2, 2], "y": [1, 3]}, {"x": [2, 2]})
    for metric in (
        sf.StandardisedError(),
        sf.SumOfSquares(),
        sf.RecordSquaredError(),
        sf.Correlations(),
    ):
        assert metric.measure(pair).value == 0, metric.name


def test_distances_of_categories():
    known = ["HIV", "Hepatitis", "Common cold", "Pelvic fracture", "Hepatitis"]
    people = sf.read(pl.DataFrame({"illness": known})).with_roles(quasi="illness")
    people = people.with_hierarchies(illness=sf.examples.illness_tree())
    changed = people.with_columns(
        {"illness": pl.Series(["Hepatitis", "Hepatitis", "*", "Common cold", "gout"])}
    )
    pair = TablePair.of(people, changed)
    # HIV and hepatitis meet halfway up, a fracture and a cold at the top; what the tree does not
    # know is far away
    assert sf.SquaredError().measure(pair).per_record.tolist() == [0.25, 0, 1, 1, 1]
    assert sf.SquaredError(categories="equal").measure(pair).per_record.tolist() == [1, 0, 1, 1, 1]


def test_a_missing_category_that_stays_missing_costs_nothing():
    people = sf.read(pl.DataFrame({"illness": ["HIV", None, None]})).with_roles(quasi="illness")
    people = people.with_hierarchies(illness=sf.examples.illness_tree())
    pair = TablePair.of(
        people, people.with_columns({"illness": pl.Series(["Virus infection", None, "HIV"])})
    )
    assert sf.SquaredError().measure(pair).per_record.tolist() == [0.25, 0, 1]


@pytest.mark.parametrize(
    ("table", "k"), [("Tarragona", 3), ("Tarragona", 5), ("Census", 3), ("Census", 5)]
)
def test_sdcmicro(reference_data, table, k):
    """Each column microaggregated by itself, as sdcMicro's ``onedims`` does; it reports sums where
    we report means.
    """
    entries = json.loads((reference_data / "reference" / "sdcmicro.json").read_text())["entries"]
    theirs = next(e["value"] for e in entries if e["id"] == f"onedims.{table}.k{k}")
    people = sf.read(reference_data / "microaggregation" / f"{table}.csv")
    people = people.with_roles(keep=people.columns)
    pair = TablePair.of(
        people, people.with_columns({n: _by_itself(people.column(n), k) for n in people.columns})
    )
    cells = len(people) * len(people.columns)
    assert sf.StandardisedError().measure(pair).raw * cells == pytest.approx(
        theirs["IL1s"], rel=1e-9
    )
    assert sf.SumOfSquares().measure(pair).raw * 100 == pytest.approx(
        theirs["SSE_SST_pct"], rel=1e-9
    )
    eigen = sf.Eigenvalues().measure(pair).raw * len(people.columns)
    if (
        table == "Census"
        # its columns depend on each other: sdcMicro divides by eigenvalues that are 0 up to
        # rounding
    ):
        assert theirs["eigen"] < -1e12
        assert 0 < eigen < 1
    else:
        assert eigen == pytest.approx(theirs["eigen"], rel=1e-8)


def _by_itself(column, k):
    values = column.to_numpy().astype(float)
    order = np.argsort(values, kind="stable")
    groups = np.minimum(np.arange(len(values)) // k, len(values) // k - 1)
    means = np.bincount(groups, weights=values[order]) / np.bincount(groups)
    made = np.empty(len(values))
    made[order] = means[groups]
    return pl.Series(column.name, made)


OF_NUMBERS = (
    sf.SquaredError(),
    sf.RecordSquaredError(),
    sf.RecordSquaredError(scale="range", root=True),
    sf.SumOfSquares(),
    sf.SumOfSquares(standardise=False),
    sf.StandardisedError(),
    sf.Means(),
    sf.Quantiles(),
    sf.Covariances(),
    sf.Accuracy(tolerance=0.1),
)


@given(
    rows=st.lists(
        st.tuples(*[st.one_of(st.none(), st.integers(-9, 9))] * 4, st.booleans()),
        min_size=3,
        max_size=14,
    ).filter(
        lambda rows: (
            any(a is not None for a, *_ in rows) and any(b is not None for _, b, *_ in rows)
        )
    )
)
def test_distinct_cells_say_what_rows_say(rows):
    # numbers released as text are known by their codes and counted, numbers are looked at row by
    # row
    kept = np.array([i for i, row in enumerate(rows) if row[4]], dtype=np.int64)
    frame = pl.DataFrame(
        {"a": [r[0] for r in rows], "b": [r[1] for r in rows]},
        schema={"a": pl.Int64, "b": pl.Int64},
    )
    original = sf.read(frame).with_roles(keep=["a", "b"]).with_kinds(a="numeric", b="numeric")
    after = {
        name: pl.Series(name, [rows[i][2 + c] for i in kept], dtype=pl.Int64)
        for c, name in enumerate("ab")
    }
    plain = TablePair.of(original, original.take(kept).with_columns(after))
    text = TablePair.of(
        original, original.take(kept).with_columns({n: s.cast(pl.String) for n, s in after.items()})
    )
    for metric in OF_NUMBERS:
        if metric.applies(plain) is not None:
            continue
        one, other = metric.measure(plain), metric.measure(text)
        assert other.value == pytest.approx(one.value, abs=1e-9), metric
        assert other.raw == pytest.approx(one.raw, abs=1e-9), metric
        assert other.per_column == pytest.approx(one.per_column, abs=1e-9), metric
        if one.per_record is not None:
            assert other.per_record == pytest.approx(one.per_record, abs=1e-9), metric


def test_numbers_whose_squares_are_infinite_raise_no_warning():
    draw = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"x": draw.normal(size=40) * 1e160, "y": draw.random(40) * 1e300, "ill": ["a", "b"] * 20}
    )
    table = sf.read(frame).with_roles(quasi=["x"], sensitive="ill", keep=["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sf.evaluate(TablePair.of(table, table)).measures
        assert sf.attack(table, table, only=["linkage", "probabilistic_linkage"], sample=20).tried
