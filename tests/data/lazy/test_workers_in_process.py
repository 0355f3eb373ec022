"""What workers elsewhere do, without Spark: every step, persons, and combinations that are too many
to hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.step import Span
from sfumato.data.lazy import coarse, spark_workers
from sfumato.data.lazy import table as engine_table
from sfumato.data.lazy.table import LazyTable
from sfumato.errors import SchemaError, UnreadableInput
from tests.data.lazy import test_coarse, workers_in_process
from tests.data.lazy import test_planning as grid

_key = grid._key  # a fixture


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    workers_in_process.enter(monkeypatch)


def held(frame: pl.DataFrame) -> Any:
    return LazyTable(workers_in_process.RowsOfWorkers(frame))  # type: ignore[arg-type]


def written(release: Any) -> pl.DataFrame:
    return pl.read_parquet(list(release.parts))


@grid.every_case
def test_workers_release_what_memory_releases(name: str) -> None:
    eager = grid.of_table_in_memory(name)
    mixed = grid.table()[np.random.default_rng(3).permutation(len(grid.table()))]
    lazy = sf.anonymize(grid.described(held(mixed)), [sf.KAnonymity(3)], grid.CASES[name], seed=5)
    assert grid.multiset(written(lazy)) == grid.multiset(eager.data)
    assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
    assert lazy.suppressed == eager.suppressed


@pytest.mark.parametrize("name", ["global_recoding", "mondrian", "suppression, records"])
def test_persons_are_numbered_by_workers_as_in_memory(name: str) -> None:
    frame, meet, steps = grid.of_persons(), [sf.KAnonymity(3)], grid.CASES[name]
    assert all(step.span is not Span.TABLE for step in steps)
    parquet = sf.AnonymizeOptions(format="parquet")
    eager = sf.anonymize(grid.of_units(sf.read(frame)), meet, steps, seed=5, options=parquet)
    lazy = sf.anonymize(grid.of_units(held(frame)), meet, steps, seed=5)
    assert grid.multiset(written(lazy)) == grid.multiset(eager.data)


@pytest.mark.parametrize("most", [1500, 320, 60, 10])
@pytest.mark.parametrize("objective", ["loss", "entropy"])
def test_workers_plan_above_the_levels_at_which_combinations_fit(
    most: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, meet = test_coarse.people(), [sf.KAnonymity(4)]
    step = sf.GlobalRecoding(budget=0.05, objective=objective)
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", most)
    made = sf.anonymize(test_coarse.described(held(frame)), meet, [step], seed=2)
    assert "least within levels ≥" in test_coarse.plan_of(made)["warning"]
    floor = sf.GlobalRecoding(budget=0.05, objective=objective, levels=made.planned_steps[0].levels)
    parquet = sf.AnonymizeOptions(format="parquet")
    eager = sf.anonymize(
        test_coarse.described(sf.read(frame)), meet, [floor], seed=2, options=parquet
    )
    assert test_coarse.rows_of(written(made)).equals(test_coarse.rows_of(eager.data))
    assert made.suppressed == eager.suppressed


def test_the_first_node_that_fits_is_found_whatever_is_estimated_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against counting the chain node by node."""
    table = test_coarse.described(held(test_coarse.people()))
    names = ["age", "zip", "sex"]
    refused = engine_table.TooManyCombinations("too many")
    step = sf.GlobalRecoding()
    columns = coarse._columns(table, [step], refused)
    chain = list(coarse.levels_in_turn(columns, step))
    workers = table.engine.workers

    def count(levels: Any) -> int:
        words = coarse.NodeWords.of(table.source, columns, [levels])
        return workers.distinct(table.frame, names, words, 1)[0]

    counts = [count(levels) for levels in chain]
    assert counts == sorted(counts, reverse=True)
    for levels, number in zip(chain, counts, strict=True):
        monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 10**9)
        combinations = coarse.Coarse(columns, levels).counted(table, names, lambda rows: None)
        assert combinations is not None
        assert len(combinations) == number
    for most in (2000, 700, 90, 13, 1):
        monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", most)
        fits = [place for place, number in enumerate(counts) if number <= most]
        expected = min(fits, default=len(chain) - 1)
        for at_once in (1, 2, 8):
            monkeypatch.setattr(coarse, "AT_ONCE", at_once)
            found = coarse._first_that_workers_estimate(table, workers, names, columns, chain)
            assert found == expected


def test_what_does_not_fit_at_the_top_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1)
    with pytest.raises(SchemaError, match="combinations of values"):
        sf.anonymize(
            test_coarse.described(held(test_coarse.people())),
            [sf.KAnonymity(2)],
            [sf.GlobalRecoding(budget=0.05)],
        )


@pytest.mark.parametrize("most", [20_000_000, 320])
@pytest.mark.parametrize("options", [{}, {"missing_values": ["10037"]}])
def test_content_that_changes_between_counting_and_releasing_is_refused(
    most: int, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cell becomes another, the number of rows stays: with and without codes for missing
    values.
    """
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", most)
    frame = test_coarse.people()
    rows = workers_in_process.RowsOfWorkers(frame)
    source = sf.read(frame.lazy(), **options).source
    table = test_coarse.described(LazyTable(rows, source=source))  # type: ignore[arg-type]
    release = workers_in_process.Workers.release

    def shifted(self: Any, held_rows: Any, job: Any, folder: Any) -> Any:
        ages = frame["age"].to_list()
        ages[7] = (ages[7] + 1) % 100
        held_rows.rows = frame.with_columns(age=pl.Series(ages))
        return release(self, held_rows, job, folder)

    monkeypatch.setattr(workers_in_process.Workers, "release", shifted)
    step = sf.GlobalRecoding(budget=0.05)
    with pytest.raises(UnreadableInput, match="changed while it was being released"):
        sf.anonymize(table, [sf.KAnonymity(4)], [step], seed=2)


def test_names_mean_nothing_to_workers() -> None:
    names = ["a.b", "a`b", "`", ".", "a..b", "A", "a"]
    frame = pl.DataFrame({name: [1, 2, 2, 1] * 10 for name in names})
    table = held(frame).with_roles(quasi=names[:2], keep=names[2:])
    lazy = sf.anonymize(table, [sf.KAnonymity(3)], [sf.GlobalRecoding()], seed=1)
    assert grid.multiset(written(lazy)) == grid.multiset(frame)
    assert spark_workers.numbered_names(2) == ["column0", "column1"]
