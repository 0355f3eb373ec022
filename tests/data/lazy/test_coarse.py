"""Combinations that are too many to hold: the table is generalised on its engine first, and the
release says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import table as engine_table
from sfumato.errors import SchemaError

ENGINES = ["polars", "duckdb"]


def people(rows: int = 4000, missing: bool = True) -> pl.DataFrame:
    """Invented people with many ages, places and days."""
    rng = np.random.default_rng(4)
    zips = [f"{10000 + 37 * i:05d}" for i in rng.integers(0, 300, rows)]
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "zip": [None if missing and i % 97 == 0 else z for i, z in enumerate(zips)],
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            "illness": [f"I{i}" for i in rng.integers(0, 6, rows)],
        }
    )


def described(data: Any) -> Any:
    roles = data.with_roles(quasi=["age", "zip", "sex"], sensitive=["illness"])
    return roles.with_hierarchies(
        age=sf.intervals(5, 10, 50), zip=sf.mask_right(5), sex=sf.suppress()
    )


def held(engine: str, folder: Path, frame: pl.DataFrame) -> Any:
    pytest.importorskip(engine)
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "a.parquet")
    return described(sf.read(folder, engine=engine))


def rows_of(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(sorted(frame.columns)).sort(sorted(frame.columns))


def plan_of(release: Any) -> dict[str, Any]:
    found: dict[str, Any] = release.plans[0][1].describe()
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("objective", ["loss", "entropy"])
def test_what_is_found_above_the_levels_is_what_memory_finds_there(
    engine: str, objective: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meet, step = [sf.KAnonymity(4)], {"budget": 0.05, "objective": objective}
    whole = sf.anonymize(
        described(sf.read(people())),
        meet,
        [sf.GlobalRecoding(**step)],
        seed=2,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1500)
    made = sf.anonymize(
        held(engine, tmp_path / "in", people()), meet, [sf.GlobalRecoding(**step)], seed=2
    )
    assert all(verdict.holds for verdict in made.verdicts)
    assert any("did not fit into memory" in warning for warning in made.warnings)
    assert "least within levels ≥" in plan_of(made)["warning"]
    found = {name: at["level"] for name, at in plan_of(made)["levels"].items()}
    assert found == {name: at["level"] for name, at in plan_of(whole)["levels"].items()}
    native = made.data.collect() if engine == "polars" else made.data.pl()
    assert rows_of(native).equals(rows_of(whole.data))
    assert made.suppressed == whole.suppressed
    assert made.scores == pytest.approx(whole.scores)


@pytest.mark.parametrize("engine", ENGINES)
def test_levels_begin_where_counting_did(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 320)
    made = sf.anonymize(
        held(engine, tmp_path / "in", people()), [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.9)]
    )
    levels = {name: at["level"] for name, at in plan_of(made)["levels"].items()}
    bounded = sf.GlobalRecoding(
        budget=0.9, levels={n: (level, level) for n, level in levels.items()}
    )
    eager = sf.anonymize(
        described(sf.read(people())),
        [sf.KAnonymity(2)],
        [bounded],
        options=sf.AnonymizeOptions(format="parquet"),
    )
    native = made.data.collect() if engine == "polars" else made.data.pl()
    assert rows_of(native).equals(rows_of(eager.data))
    assert levels["zip"] > 0


def test_values_are_generalised_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people(missing=False).with_columns(
        pl.col("zip").replace({"10000": "-9", "10037": " 10074"})
    )
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1500)
    options: dict[str, Any] = {"missing_values": ["-9"], "blanks": "strip"}
    frame.write_parquet(tmp_path / "a.parquet")
    lazy = sf.anonymize(
        described(sf.read(tmp_path, engine="polars", **options)),
        [sf.KAnonymity(4)],
        [sf.GlobalRecoding(budget=0.05)],
    )
    bounded = sf.GlobalRecoding(
        budget=0.05, levels={n: (at["level"],) * 2 for n, at in plan_of(lazy)["levels"].items()}
    )
    eager = sf.anonymize(
        described(sf.read(frame, **options)),
        [sf.KAnonymity(4)],
        [bounded],
        options=sf.AnonymizeOptions(format="parquet"),
    )
    assert rows_of(lazy.data.collect()).equals(rows_of(eager.data))


@pytest.mark.parametrize(
    "steps",
    [
        [sf.Mondrian()],
        [sf.GlobalRecoding(levels={"age": 0, "zip": 0})],
        [sf.GlobalRecoding(suppress="attribute")],
        [sf.Mondrian(), sf.GlobalRecoding()],
    ],
)
def test_what_cannot_begin_at_levels_is_refused(
    steps: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1500)
    with pytest.raises(SchemaError, match="combinations of values"):
        sf.anonymize(held("polars", tmp_path / "in", people()), [sf.KAnonymity(2)], steps)


def test_too_many_even_at_the_highest_levels_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 3)
    step = sf.GlobalRecoding(levels={"age": 3, "zip": 4})
    with pytest.raises(SchemaError, match="combinations of values"):
        sf.anonymize(held("polars", tmp_path / "in", people()), [sf.KAnonymity(2)], [step])


def nearly_distinct(rows: int, seed: int = 1) -> pl.DataFrame:
    """Invented people of whom hardly two are alike; two columns have more values than may be
    combined.
    """
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "zip": [f"{z:05d}" for z in rng.integers(10000, 99999, rows)],
            "income": np.round(rng.normal(40000, 15000, rows), 2),
            "born": pl.Series(rng.integers(-10000, 15000, rows).astype(np.int32)).cast(pl.Date),
        }
    )


def described_finely(data: Any) -> Any:
    return data.with_roles(quasi=["age", "sex", "zip", "income", "born"]).with_hierarchies(
        age=sf.intervals(5, 10, 20),
        sex=sf.suppress(),
        zip=sf.mask_right(5),
        income=sf.intervals(1000, 10000, 100000),
        born=sf.dates(),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_what_memory_releases_is_not_refused(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(engine)
    frame = nearly_distinct(100_000)
    frame.write_parquet(tmp_path / "a.parquet")
    meet, step = [sf.KAnonymity(5)], [sf.GlobalRecoding(budget=0.02)]
    whole = sf.anonymize(
        described_finely(sf.read(frame)),
        meet,
        step,
        seed=1,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 40_000)
    made = sf.anonymize(described_finely(sf.read(tmp_path, engine=engine)), meet, step, seed=1)
    assert plan_of(made)["levels"] == plan_of(whole)["levels"]
    native = made.data.collect() if engine == "polars" else made.data.pl()
    assert rows_of(native).equals(rows_of(whole.data))
    assert "least within levels ≥" in plan_of(made)["warning"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("most", [4, 1])
def test_the_top_is_the_last_resort(
    engine: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", most)
    made = sf.anonymize(
        held(engine, tmp_path / "in", people(missing=False)),
        [sf.KAnonymity(2)],
        [sf.GlobalRecoding(budget=0.05)],
    )
    levels = plan_of(made)["levels"]
    assert all(verdict.holds for verdict in made.verdicts)
    assert made.released.records == 4000 - made.suppressed
    assert any(at["level"] == at["top"] for at in levels.values())
    bounded = sf.GlobalRecoding(
        budget=0.05, levels={n: (at["level"],) * 2 for n, at in levels.items()}
    )
    eager = sf.anonymize(
        described(sf.read(people(missing=False))),
        [sf.KAnonymity(2)],
        [bounded],
        options=sf.AnonymizeOptions(format="parquet"),
    )
    native = made.data.collect() if engine == "polars" else made.data.pl()
    assert rows_of(native).equals(rows_of(eager.data))


def test_alternatives_are_those_within_the_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1500)
    meet, step = [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.05)]
    made = sf.anonymize(held("polars", tmp_path / "in", people()), meet, step, seed=2)
    begun = made.planned_steps[0].levels
    assert begun and made.recipe.steps[0].levels == {}
    found = made.alternatives()
    options = [found.chosen, *(one.option for one in found.neighbours), *found.front]
    for option in options:
        assert all(option.levels[name] >= low for name, (low, _) in begun.items())
    bounded = sf.GlobalRecoding(budget=0.05, levels=begun)
    eager = sf.anonymize(
        described(sf.read(people())),
        meet,
        [bounded],
        seed=2,
        options=sf.AnonymizeOptions(format="parquet"),
    ).alternatives()
    assert found.lattice_nodes == eager.lattice_nodes
    assert [n.option.suppressed for n in found.neighbours] == [
        n.option.suppressed for n in eager.neighbours
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lazy_frame_is_generalised_too(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(engine)
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1500)
    frame = people()
    if engine == "duckdb":
        import duckdb

        lazy: Any = duckdb.connect().from_arrow(frame.to_arrow())
    else:
        lazy = frame.lazy()
    made = sf.anonymize(
        described(sf.read(lazy)), [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.05)]
    )
    assert any("did not fit into memory" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    "steps",
    [
        [sf.GlobalRecoding(budget=0.05), sf.Suppress("tuple")],
        [sf.GlobalRecoding(budget=0.05), sf.GlobalRecoding(budget=0.05)],
        [sf.GlobalRecoding(budget=0.05, suppress="cell")],
    ],
)
def test_steps_go_on_with_labels_that_the_first_one_released(
    steps: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meet = [sf.KAnonymity(4)]
    eager = sf.anonymize(
        described(sf.read(people())),
        meet,
        steps,
        seed=2,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1500)
    lazy = sf.anonymize(held("polars", tmp_path / "in", people()), meet, steps, seed=2)
    assert "least within levels ≥" in plan_of(lazy)["warning"]
    assert all(verdict.holds for verdict in lazy.verdicts)
    assert lazy.suppressed == eager.suppressed
    assert plan_of(lazy)["levels"] == plan_of(eager)["levels"]


def test_persons_are_renumbered_in_the_classes_of_a_generalised_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people().with_columns(patient=pl.Series([f"P{row // 2}" for row in range(4000)]))
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 3900)
    table = held("polars", tmp_path / "in", frame).with_roles(
        quasi=["age", "zip", "sex"], sensitive=["illness"], person=["patient"]
    )
    released = sf.anonymize(table, [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.05)], seed=2)
    assert "least within levels ≥" in plan_of(released)["warning"]
    rows = released.data.collect()
    persons = rows.group_by("age", "zip", "sex").agg(pl.col("patient").n_unique())
    assert persons["patient"].min() >= 4


def test_alternatives_claim_nothing_about_levels_that_were_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meet, steps = [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.5)]
    whole = sf.anonymize(
        described(sf.read(people())), meet, steps, options=sf.AnonymizeOptions(format="parquet")
    )
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 320)
    coarse = sf.anonymize(held("polars", tmp_path / "in", people()), meet, steps)
    assert coarse.scores["loss"] > whole.scores["loss"]
    assert "within levels" not in str(whole.alternatives())
    reasons = coarse.alternatives().reasons()
    assert reasons.choice.startswith(
        "This is the best of all 18 nodes within levels ≥ age 2, zip 3, proved"
    )
    assert "No budget, however large, would lower the score within these levels." in reasons.outlook


def test_divergence_is_that_of_the_table_as_it_was_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, meet = people(missing=False), [sf.KAnonymity(4)]
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1500)
    step = sf.GlobalRecoding(budget=0.05, objective="kl_divergence")
    coarse = sf.anonymize(held("polars", tmp_path / "in", frame), meet, [step])
    levels = {name: at["level"] for name, at in plan_of(coarse)["levels"].items()}
    floor = coarse.alternatives().floor

    def divergence_at(node: dict[str, int], k: int, budget: float) -> float:
        bounds = {name: (level, level) for name, level in node.items()}
        fixed = sf.GlobalRecoding(budget=budget, objective="kl_divergence", levels=bounds)
        release = sf.anonymize(
            described(sf.read(frame)),
            [sf.KAnonymity(k)],
            [fixed],
            options=sf.AnonymizeOptions(format="parquet"),
        )
        return release.scores["kl_divergence"]

    # bits to the release = bits lost by counting coarsely + bits from the table so counted to the
    # release
    lost_by_counting = divergence_at(dict.fromkeys(levels, 0) | floor, k=1, budget=0.0)
    assert coarse.scores["kl_divergence"] + lost_by_counting == pytest.approx(
        divergence_at(levels, k=4, budget=0.05)
    )
