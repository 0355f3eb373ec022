"""Rounding: neighbours, unbiasedness, totals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps.masking.rounding import controlled_ups
from tests.methods.steps.masking_contract import people, run
from tests.oracles import masking as oracle

tables = st.integers(1, 4).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(-60, 60), min_size=columns, max_size=columns), min_size=1, max_size=12
    )
)


def frame(rows):
    return Table(pl.DataFrame({f"c{j}": [row[j] for row in rows] for j in range(len(rows[0]))}))


@given(rows=tables, base=st.sampled_from([3, 5, 10]), seed=st.integers(0, 99))
def test_controlled_rounding_keeps_every_total_to_a_neighbour(rows, base, seed):
    table = frame(rows)
    plan, made = run(sf.Round(table.columns, base, method="controlled"), table, seed=seed)
    new = made.to_polars().rows()
    for old_row, new_row in zip(rows, new, strict=True):
        assert all(n in oracle.neighbours(o, base) for o, n in zip(old_row, new_row, strict=True))
        assert sum(new_row) in oracle.neighbours(sum(old_row), base)
    for old_column, new_column in zip(zip(*rows, strict=True), zip(*new, strict=True), strict=True):
        assert sum(new_column) in oracle.neighbours(sum(old_column), base)
    assert sum(map(sum, new)) in oracle.neighbours(sum(map(sum, rows)), base)
    assert plan.preserved[0].exactly and plan.preserved[0].off_by < 1


def test_controlled_rounding_is_unbiased():
    fractions = np.array([[0.2, 0.8, 0.4], [0.6, 0.6, 0.0], [0.4, 0.2, 0.8], [0.4, 0.4, 0.2]])
    draws, stream = 4000, np.random.default_rng(4)
    mean = sum(controlled_ups(fractions, stream) for _ in range(draws)) / draws
    # a cell is a Bernoulli variable: its standard error is at most 0.5/√4000; twelve cells at five
    # of them
    assert np.abs(mean - fractions).max() < 5 * 0.5 / draws**0.5


def test_random_rounding_is_unbiased():
    rows = 20_000
    made = run(sf.Round(["c0"], 5, method="random"), Table(pl.DataFrame({"c0": [7] * rows})))[
        1
    ].column("c0")
    assert set(made.to_list()) == {5, 10}
    assert made.mean() == pytest.approx(
        7, abs=5 * 5 * (0.4 * 0.6 / rows) ** 0.5
    )  # five standard errors


@given(
    values=st.lists(st.integers(-(10**9), 10**9).map(lambda v: v / 1000), min_size=1, max_size=20),
    base=st.sampled_from([0.1, 0.25, 3.0, 1000.0]),
)
def test_deterministic_rounding_moves_by_half_a_base_at_most_and_keeps_order(values, base):
    made = run(sf.Round(["c0"], base), frame([[v] for v in values]))[1].column("c0").to_numpy()
    assert np.abs(made - np.array(values)).max() <= base / 2 * (1 + 1e-6)
    assert (np.diff(made[np.argsort(values)]) >= 0).all()


def test_halves_go_up_and_bases_below_one_are_exact():
    assert run(sf.Round(["c0"], 10), frame([[5], [15], [-5], [-15], [14]]))[1].column(
        "c0"
    ).to_list() == [
        10,
        20,
        0,
        -10,
        10,
    ]
    assert run(sf.Round(["c0"], 0.1), frame([[0.31], [0.72]]))[1].column("c0").to_list() == [
        0.3,
        0.7,
    ]


def test_multiples_are_left_alone():
    for method in ("deterministic", "random", "controlled"):
        plan, made = run(sf.Round(["c0"], 5, method=method), frame([[5], [10], [-15]]))
        assert made.column("c0").to_list() == [5, 10, -15] and made.column("c0").dtype == pl.Int64
        assert "rounding changed nothing" in plan.warnings[0] and plan.owner["cells_changed"] == 0


def test_strata_keep_their_own_totals():
    table = people(300, gaps=False)
    _, made = run(sf.Round(["income"], 100, method="controlled"), table)
    sums = [
        t.to_polars().group_by("region").agg(pl.col("income").sum()).sort("region")["income"]
        for t in (table, made)
    ]
    assert all(round(n) in oracle.neighbours(o, 100) for o, n in zip(*sums, strict=True))


def test_random_rounding_gives_the_same_person_the_same_value():
    table = people(200)
    _, made = run(sf.Round(["age"], 7, method="random"), table)
    assert made.to_polars().group_by("person").agg(pl.col("age").n_unique())["age"].max() == 1


def test_bad_columns():
    with pytest.raises(SchemaError, match="must hold numbers"):
        run(sf.Round(["x"], 5), Table(pl.DataFrame({"x": ["a"]})))
    with pytest.raises(SchemaError, match="infinite"):
        run(sf.Round(["x"], 5), Table(pl.DataFrame({"x": [float("inf")]})))
    for method in ("deterministic", "random", "controlled"):
        made = run(sf.Round(["x"], 5, method=method), Table(pl.DataFrame({"x": [None, 7.0]})))[1]
        assert made.column("x")[0] is None and made.column("x")[1] in (5, 10)
