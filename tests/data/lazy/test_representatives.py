"""Tables in which hardly two rows are alike: engines release what memory releases, by values that
stand for others.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb, on_polars, representatives, table
from sfumato.data.lazy.representatives import Representatives
from sfumato.errors import SchemaError, Unsatisfiable

ENGINES = ["polars", "duckdb"]
CASES = range(24)
"""With 60 and more of them, seldom: python -m tests.data.lazy.test_representatives 0 60."""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column has many values, and every table comes in pieces."""
    shrink(monkeypatch)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(representatives, "MANY_VALUES", 1)
    monkeypatch.setattr(on_polars, "BATCH", 70)
    monkeypatch.setattr(on_duckdb, "BATCH", 70)


def with_holes(values: list[Any], rng: np.random.Generator, share: float) -> list[Any]:
    return [None if rng.random() < share else value for value in values]


def random_table(seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Some rows with awkward values, and hierarchies of the columns."""
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([1, 2, 40, 300]))
    share = float(rng.choice([0.0, 0.05]))
    odd = [-0.0, 0.0, float("nan"), 1e16, 1e-7] if seed % 3 == 0 else [0.5]
    numbers = [float(n) for n in rng.choice([*np.round(rng.normal(50, 30, rows), 2), *odd], rows)]
    days = [
        datetime.date(1950, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 20000, rows)
    ]
    times = [
        datetime.datetime(2000, 1, 1) + datetime.timedelta(seconds=int(s))
        for s in rng.integers(0, 10**8, rows)
    ]
    columns = {
        "age": (
            pl.Series(with_holes(rng.integers(0, 90, rows).tolist(), rng, share), dtype=pl.Int16),
            sf.intervals(10, 30),
        ),
        "code": (
            pl.Series(
                with_holes([f"{z:04d}" for z in rng.integers(0, 9999, rows)], rng, share),
                dtype=pl.String,
            ),
            sf.mask_right(4),
        ),
        "pay": (
            pl.Series(with_holes(numbers, rng, share), dtype=pl.Float64),
            sf.intervals(10, 100),
        ),
        "born": (pl.Series(with_holes(days, rng, share), dtype=pl.Date), sf.dates()),
        "seen": (pl.Series(with_holes(times, rng, share), dtype=pl.Datetime("us")), sf.dates()),
        "sex": (
            pl.Series(
                with_holes(rng.choice(["f", "m"], rows).tolist(), rng, share), dtype=pl.String
            ),
            sf.suppress(),
        ),
    }
    chosen = sorted(rng.choice(list(columns), int(rng.integers(1, 5)), replace=False).tolist())
    frame = pl.DataFrame(
        {name: columns[name][0] for name in chosen} | {"note": [f"N{i % 7}" for i in range(rows)]}
    )
    return frame, {name: columns[name][1] for name in chosen}


def described(data: Any, hierarchies: dict[str, Any]) -> Any:
    return data.with_roles(quasi=list(hierarchies), sensitive=["note"]).with_hierarchies(
        **hierarchies
    )


def rows_of(frame: pl.DataFrame) -> pl.DataFrame:
    names = sorted(frame.columns)
    plain = frame.select(names).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    return plain.sort(names, nulls_last=True)


def step_for(seed: int) -> sf.GlobalRecoding:
    suppress = ["tuple", "cell", "none"][seed % 3] if seed % 5 else "attribute"
    return sf.GlobalRecoding(budget=[0.0, 0.1, 0.4][seed % 3], suppress=suppress)


def compare(engine: str, seed: int, folder: Path) -> bool:
    """Whether there was a release to compare."""
    frame, hierarchies = random_table(seed)
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "a.parquet")
    meet, steps = [sf.KAnonymity(2 + seed % 3)], [step_for(seed)]
    options: dict[str, Any] = {"seed": seed}
    lazy = described(sf.read(folder, engine=engine), hierarchies)
    try:
        eager = sf.anonymize(
            described(sf.read(frame), hierarchies),
            meet,
            steps,
            options=sf.AnonymizeOptions(format="parquet"),
            **options,
        )
    except (Unsatisfiable, SchemaError) as refused:
        with pytest.raises(type(refused)):
            sf.anonymize(lazy, meet, steps, **options)
        return False
    made = sf.anonymize(lazy, meet, steps, **options)
    native = made.data.collect() if engine == "polars" else made.data.pl()
    assert rows_of(native).equals(rows_of(eager.data), null_equal=True), seed
    assert made.plans[0][1].describe() == eager.plans[0][1].describe()
    assert [v.to_dict() for v in made.verdicts] == [v.to_dict() for v in eager.verdicts]
    assert made.suppressed == eager.suppressed
    return True


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_release_what_memory_releases(engine: str, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    released = [compare(engine, seed, tmp_path / str(seed)) for seed in CASES]
    assert sum(released) > len(released) / 2


def compare_coarsely(engine: str, seed: int, folder: Path) -> str:
    """Release a table whose combinations do not fit; tells what it was compared with.

    Memory releases the same when its search begins at the same levels, and without that where its
    optimum lies above them.
    """
    frame, hierarchies = random_table(seed)
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "a.parquet")
    combinations = frame.select(list(hierarchies)).n_unique()
    meet = [sf.KAnonymity(2 + seed % 3)]
    step = sf.GlobalRecoding(
        budget=[0.0, 0.1, 0.4][seed % 3], objective=["loss", "entropy"][seed % 2]
    )
    patch = pytest.MonkeyPatch()
    patch.setattr(table, "MOST_COMBINATIONS", max(3, combinations // (2, 3, 6, 20)[seed % 4]))
    try:
        made = sf.anonymize(
            described(sf.read(folder, engine=engine), hierarchies), meet, [step], seed=seed
        )
    except (Unsatisfiable, SchemaError):
        return "refused"
    finally:
        patch.undo()
    floor = made.planned_steps[0].levels
    if not floor:
        return "fitted"
    assert "least within levels ≥" in made.plans[0][1].describe()["warning"]
    begun = dataclasses.replace(step, levels=floor)
    eager = sf.anonymize(
        described(sf.read(frame), hierarchies),
        meet,
        [begun],
        seed=seed,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    native = made.data.collect() if engine == "polars" else made.data.pl()
    assert rows_of(native).equals(rows_of(eager.data), null_equal=True), seed
    assert made.suppressed == eager.suppressed
    assert [v.to_dict() for v in made.verdicts] == [v.to_dict() for v in eager.verdicts]
    free = sf.anonymize(
        described(sf.read(frame), hierarchies),
        meet,
        [step],
        seed=seed,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    levels = free.plans[0][1].levels
    if any(levels[name] < low for name, (low, _) in floor.items()):
        return "levels"
    assert rows_of(native).equals(rows_of(free.data), null_equal=True), seed
    return "optimum"


@pytest.mark.parametrize("engine", ENGINES)
def test_levels_that_are_begun_at_release_what_memory_releases_from_there(
    engine: str, tmp_path: Path
) -> None:
    pytest.importorskip(engine)
    outcomes = {compare_coarsely(engine, seed, tmp_path / str(seed)) for seed in CASES}
    assert {"levels", "optimum"} <= outcomes


@pytest.mark.parametrize(
    "values",
    [
        pl.Series("a", [3.5, -0.0, 7.25, None, float("nan"), float("inf")]),
        pl.Series("a", [3, 1, 2, None], dtype=pl.Int8),
        pl.Series("a", ["b", "", "a", None]),
        pl.Series("a", [datetime.date(2000, 1, 1), None, datetime.date(1999, 5, 5)]),
        pl.Series("a", [True, False, None]),
    ],
)
def test_the_first_of_a_group_stands_for_all(values: pl.Series) -> None:
    groups = np.array([0, 1, 0, 2, 3, 1][: len(values)])
    found = Representatives.of(values, groups)
    cells = pl.concat([values, values.reverse(), values.head(1)])
    place = {
        str(value + 0.0 if isinstance(value, float) else value): at
        for at, value in enumerate(values.to_list())
    }
    stands = [
        values[
            int(
                np.flatnonzero(
                    groups == groups[place[str(v + 0.0 if isinstance(v, float) else v)]]
                )[0]
            )
        ]
        for v in cells.to_list()
    ]
    for cell, got, wanted in zip(
        cells.to_list(), found.put_into(cells).to_list(), stands, strict=True
    ):
        own = (
            cell is None or cell != cell or wanted is None
        )  # missing stays, and never stands for what is there
        assert str(got) == str(cell if own else wanted)


def test_what_is_not_known_stands_for_itself() -> None:
    found = Representatives.of(pl.Series([1.0, 2.0, 3.0]), np.array([0, 0, 0]))
    assert found.put_into(pl.Series("a", [2.0, 2.5, None, 99.0, -1.0])).to_list() == [
        1.0,
        2.5,
        None,
        99.0,
        -1.0,
    ]
    text = Representatives.of(pl.Series(["a", "b"]), np.array([0, 0]))
    assert text.put_into(pl.Series("a", ["b", "c", None])).to_list() == ["a", "c", None]
    assert text.put_into(pl.Series("a", [1, 2])).to_list() == [1, 2]


if __name__ == "__main__":
    import sys
    import tempfile

    shrink(pytest.MonkeyPatch())
    for which in ENGINES:
        with tempfile.TemporaryDirectory() as place:
            count = [
                compare(which, seed, Path(place) / str(seed))
                for seed in range(*map(int, sys.argv[1:3]))
            ]
            coarse = Counter(
                compare_coarsely(which, seed, Path(place) / str(seed))
                for seed in range(*map(int, sys.argv[1:3]))
            )
        print(which, len(count), "cases,", sum(count), "releases; begun at levels:", dict(coarse))
