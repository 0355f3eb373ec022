"""What an intruder learns from tables whose cells were changed, by trying every table that may be
the true one.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError, ReleaseRefused, SfumatoError
from sfumato.release.register.store import start_register
from sfumato.results.tables import protected_table
from sfumato.results.tables.changed_cells import (
    adjust_cells,
    audit_adjusted,
    downwards,
    moved_further,
)
from sfumato.results.tables.problem import problem_of


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def margins(leaves):
    """Two-way tables with their sums in front, a row each."""
    wide = np.concatenate([leaves.sum(-1, keepdims=True), leaves], -1)
    return np.concatenate([wide.sum(-2, keepdims=True), wide], -2).reshape(len(leaves), -1)


def counted(leaves):
    rows = [
        (f"a{i}", f"b{j}") for i, j in np.ndindex(*leaves.shape) for _ in range(int(leaves[i, j]))
    ]
    return sf.tabulate(pl.DataFrame(rows, schema=["a", "b"], orient="row"), ["a", "b"])


def drawn(draw):
    while True:
        leaves = draw.choice([0, 1, 2, 3, 4, 6, 9, 12], (2, int(draw.integers(2, 4))))
        if (leaves.sum(0) > 0).all() and (leaves.sum(1) > 0).all():
            return leaves


def shown(made):
    return np.array([int(text) for text in made.to_polars()["count"]])


def possible(told, base, leaves, *, fixed):
    """All tables that a rounded one may come from, for one who knows which cells are empty
    (``fixed``).
    """
    inner = told.reshape([size + 1 for size in leaves.shape])[1:, 1:].reshape(-1)
    options = [
        [0] if empty else range(max(0, one - base + 1), one + base)
        for one, empty in zip(inner, fixed.reshape(-1), strict=True)
    ]
    tables = margins(np.array(list(itertools.product(*options))).reshape(-1, *leaves.shape))
    return tables[
        (np.abs(tables - told) < base).all(1) & ((tables % base != 0) | (tables == told)).all(1)
    ]


@pytest.mark.parametrize("method", ["rounding", "perturb"])
def test_no_small_count_is_told_to_be_small_to_one_who_knows_what_is_empty(method):
    held = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        leaves, threshold = drawn(draw), int(draw.choice([3, 4, 5]))
        base = threshold if leaves.shape[1] == 2 else 3
        try:
            made = counted(leaves).protect(
                [sf.Threshold(threshold)], method=method, base=base, seed=seed
            )
        except SfumatoError:
            continue
        true, told = margins(leaves[None])[0], shown(made)
        if method == "rounding":
            assert np.array_equal(
                margins(told.reshape(np.add(leaves.shape, 1))[None, 1:, 1:])[0], told
            )
        tables = possible(told, base, leaves, fixed=leaves == 0)
        for cell in np.flatnonzero((true > 0) & (true < threshold)):
            assert tables[:, cell].min() == 0 or tables[:, cell].max() >= threshold
            held += 1
    assert held > 50


def test_an_adjusted_count_is_nothing_or_no_small_one():
    small = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        leaves, threshold = drawn(draw), int(draw.choice([3, 5]))
        try:
            made = counted(leaves).protect([sf.Threshold(threshold)], method="cta")
        except SfumatoError:
            continue
        told = shown(made)
        small += int(
            ((margins(leaves[None])[0] > 0) & (margins(leaves[None])[0] < threshold)).sum()
        )
        # so that the table which is published could be the true one, in which nothing would have to
        # move
        assert not ((told > 0) & (told < threshold)).any()
        assert np.array_equal(margins(told.reshape(np.add(leaves.shape, 1))[None, 1:, 1:])[0], told)
    assert small > 50


def test_an_adjusted_count_worked_by_hand():
    problem = problem_of([[1, 1, 1, -1]], [3, 20, 30, 53], {0: (1, 2)}, whole=True)
    assert (
        adjust_cells(problem)[0][0] == 2
    )  # the count is 3 for whoever knows the method and the threshold
    assert downwards(problem, 5).tolist()[0] == 3
    found, cost = adjust_cells(problem, threshold=5)
    assert (found[0], cost) == (5, 4)
    assert audit_adjusted(problem, found, 5).holds
    assert not audit_adjusted(problem, np.array([2.0, 21, 30, 53]), 5).holds


def test_sums_move_by_more_than_what_is_known_and_keep_their_decimals():
    problem = problem_of([[1, 1, 1, -1]], [10, 20, 30, 60], {0: (1, 1)})
    factors = [moved_further(problem, Seed(at), None).up[0] for at in range(20)]
    assert len(set(factors)) == 20
    assert 1 <= min(factors) < 1.3 < 1.7 < max(factors) <= 2
    draw = np.random.default_rng(3)
    cost = pl.Series("cost", draw.lognormal(3, 1.5, 80).round(1))
    frame = pl.DataFrame(
        {"a": draw.choice(list("uvw"), 80), "b": draw.choice(list("xyz"), 80), "cost": cost}
    )
    judged = sf.tabulate(frame, ["a", "b"], "sum(cost)").sensitive(sf.Threshold(8), sf.PPercent(10))
    moved = {tuple(judged.protect("cta", seed=at).to_polars()["sum(cost)"]) for at in range(4)}
    assert len(moved) == 4
    assert all(len(text.partition(".")[2]) <= 1 for told in moved for text in told)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e15])
def test_adjustment_does_not_depend_on_what_is_counted_in(unit, tmp_path):
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "a": draw.choice(list("uvw"), 60),
            "b": draw.choice(list("xyz"), 60),
            "m": draw.lognormal(0, 1, 60) * unit,
        }
    )
    made = sf.tabulate(frame, ["a", "b"], "sum(m)").protect(
        [sf.Threshold(6), sf.PPercent(10)], method="cta", seed=1
    )
    made.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner").holds
    assert 0 < made.summary()["changed"] < 16


def people():
    draw = np.random.default_rng(2)
    return pl.DataFrame(
        {"region": draw.choice(["n1", "n2", "s1", "s2"], 150), "sex": draw.choice(["f", "m"], 150)}
    )


RULES = [sf.Threshold(5)]


@pytest.mark.parametrize("method", ["rounding", "perturb", "cta"])
def test_a_changed_table_may_be_the_first_of_a_register_and_no_later_one_passes_unseen(
    method, tmp_path
):
    start_register(tmp_path / "tables.db")
    asked = {"register": tmp_path / "tables.db"}
    first = sf.tabulate(people(), ["region"], **asked).protect(RULES, method=method)
    assert first.beside.verdict == "holds"
    first.write(tmp_path / "first", to="the press")
    for again in ("exact", method):
        later = sf.tabulate(people(), ["sex"], **asked).protect(RULES, method=again)
        assert later.beside.verdict == "unknown"
        assert later.beside.unknown == {1: "its cells were changed, not suppressed"}


@pytest.mark.parametrize("method", ["rounding", "perturb", "cta"])
def test_a_changed_table_does_not_come_after_one_that_is_suppressed(method, tmp_path):
    start_register(tmp_path / "tables.db")
    asked = {"register": tmp_path / "tables.db"}
    sf.tabulate(people(), ["region"], **asked).protect(RULES).write(
        tmp_path / "first", to="the press"
    )
    with pytest.raises(
        ParameterError,
        match=r"tables of the same records \(1\), and .* protect this one by suppression",
    ):
        sf.tabulate(people(), ["sex"], **asked).protect(RULES, method=method)


@pytest.mark.parametrize("most", [protected_table.EXACTLY, 0])
def test_what_was_added_beside_earlier_tables_is_said_to_be_found_as_it_was(
    most, tmp_path, monkeypatch
):
    monkeypatch.setattr(protected_table, "EXACTLY", most)
    start_register(tmp_path / "tables.db")
    asked = {"register": tmp_path / "tables.db"}
    frame = people().with_columns(year=pl.Series([2023] * 3 + [2024] * 147))
    sf.tabulate(frame, ["region"], **asked).protect(RULES).write(tmp_path / "first", to="the press")
    made = sf.tabulate(frame, ["region"], where="year = 2024", **asked).protect(
        RULES, method="exact"
    )
    how = "exact" if most else "heuristic"
    assert (made.method, made.beside.added, made.beside.to_dict()["added_by"]) == (how, how, how)
    assert (made.suppression.gap is None) == (how == "heuristic")


def test_a_column_may_be_called_like_the_measure(tmp_path):
    frame = people().rename({"region": "count"})
    table = sf.tabulate(frame, ["count", "sex"])
    assert table.to_polars().columns == ["count", "sex", "count (2)"]
    made = table.protect(RULES)
    assert made.to_polars()["count"].to_list()[:3] == ["Total"] * 3
    made.write(tmp_path / "out")
    assert (
        sf.verify(tmp_path / "out" / "share").result == "not all verified"
    )  # the lock audits again
    assert sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner").holds


def test_what_is_missing_stands_in_a_table_once():
    frame = people().with_columns(region=pl.when(pl.col("sex") == "f").then("region"))
    made = sf.tabulate(
        frame, ["region", "sex"], options=sf.CountOptions(hierarchies={"region": sf.mask_right(2)})
    ).protect(RULES)
    told = made.to_polars().filter(pl.col("sex") == "Total").select("region", "count").rows()
    women = frame["sex"].value_counts().filter(pl.col("sex") == "f")["count"].item()
    assert [name for name, _ in told] == ["Total", "n*", "s*", "(missing)", "n1", "n2", "s1", "s2"]
    assert dict(told)["(missing)"] == str(150 - women)


def test_a_refused_adjustment_names_no_base(monkeypatch):
    monkeypatch.setattr(
        protected_table, "_adjust_cells", lambda judged, problem, seed: problem.value
    )
    frame = pl.DataFrame({"a": ["u"] * 20 + ["v"] * 2})
    with pytest.raises(ReleaseRefused, match="so nothing is published; suppress instead"):
        sf.tabulate(frame, ["a"]).protect([sf.Threshold(5)], method="cta")


def test_nobody_is_asked_to_believe_in_negative_numbers_where_there_are_none():
    draw = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"a": draw.choice(list("uvw"), 60), "m": draw.lognormal(3, 1, 60).round(0)}
    )
    made, asked = (
        sf.tabulate(frame, ["a"], "sum(m)", options=sf.CountOptions(negatives=one))
        for one in ("refuse", "absolute")
    )
    rules = (sf.Threshold(3), sf.PPercent(40))
    assert (
        asked.sensitive(*rules).problem().lower.tolist()
        == made.sensitive(*rules).problem().lower.tolist()
    )
    below = frame.with_columns(
        m=pl.when(pl.int_range(pl.len()) == 0).then(-5.0).otherwise("m"),
        first=pl.int_range(pl.len()) == 0,
    )
    part = sf.tabulate(
        below, ["a"], "sum(m)", options=sf.CountOptions(negatives="absolute"), where="first = false"
    )
    assert part.absolute  # readers know the column, not which records of it were chosen
    assert part.sensitive(*rules).problem().lower.max() < 0
