"""Awkward tables that an engine holds are released as in memory, or refused by name: small batches,
odd names and types.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb, on_polars, parts
from sfumato.data.lazy import run as large
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnreadableInput

ENGINES = ["polars", "duckdb"]
ROWS = 600
STEPS = [sf.GlobalRecoding(budget=0.1)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches and parts of a hundred rows, so that a small table goes by in several."""
    for module in (on_polars, on_duckdb):
        monkeypatch.setattr(module, "BATCH", 100)
    monkeypatch.setattr(parts, "ROWS", 150)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param)
    return str(request.param)


def people(rows: int = ROWS) -> pl.DataFrame:
    draw = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "name": [f"Person {i}" for i in range(rows)],
            "age": draw.integers(20, 60, rows),
            "zip": [f"{z:05d}" for z in draw.integers(10000, 10008, rows)],
            "ill": draw.choice(["flu", "cold", "gout"], rows),
            "cost": draw.normal(100, 10, rows).round(2),
        }
    )


def described(table: Any, **more: list[str]) -> Any:
    roles = {"drop": ["name"], "quasi": ["age", "zip"], "sensitive": ["ill"], "keep": ["cost"]}
    roles = {role: [*roles.get(role, []), *more.get(role, [])] for role in {*roles, *more}}
    return table.with_roles(**roles).with_hierarchies(
        age=sf.intervals(5, 10, 20), zip=sf.mask_right(5)
    )


def in_parts(frame: pl.DataFrame, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(3):
        frame.slice(ROWS // 3 * number, ROWS // 3).write_parquet(folder / f"part-{number}.parquet")
    return folder


def rows_of(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort(frame.columns)


def collected(release: Any) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(part) for part in release.parts])


AWKWARD: dict[str, tuple[pl.DataFrame, dict[str, list[str]]]] = {
    "missing": (
        people().with_columns(
            pl.when(pl.col(c).rank("ordinal") > 50).then(c) for c in ("age", "ill", "cost")
        ),
        {},
    ),
    "dates": (
        people().with_columns(
            pl.Series(
                "day", [datetime.date(2020, 1, 1) + datetime.timedelta(i % 90) for i in range(ROWS)]
            ),
            pl.lit(datetime.datetime(2020, 1, 1, 3)).alias("at"),
            (pl.col("age") > 30).alias("old"),
            pl.col("cost").cast(pl.Decimal(10, 2)).alias("exact"),
        ),
        {"keep": ["day", "at", "old", "exact"]},
    ),
    "names in use": (
        people().with_columns(
            pl.lit(1).alias("records"), pl.lit(1).alias("sfumato order"), pl.lit("x").alias("len")
        ),
        {"keep": ["records", "sfumato order", "len"]},
    ),
    "names that are SQL": (
        people().with_columns(pl.col("ill").alias("ill.code"), pl.lit(1).alias('a "b" [c]')),
        {"quasi": ["ill.code"], "keep": ['a "b" [c]']},
    ),
    "nan": (
        people().with_columns(
            pl.when(pl.col("cost") > 105).then(float("nan")).otherwise("cost").alias("cost")
        ),
        {},
    ),
    "minus zero": (
        people().with_columns(
            pl.when(pl.col("cost") > 100).then(-0.0).otherwise(0.0).alias("cost")
        ),
        {},
    ),
    "weights": (people().with_columns(pl.Series("w", np.arange(ROWS) / 7)), {"weight": ["w"]}),
    "equal weights": (
        people().with_columns(pl.Series("w", np.arange(ROWS) % 3 + 1.0)),
        {"weight": ["w"]},
    ),
    "strata": (people().with_columns(pl.Series("s", np.arange(ROWS) % 3)), {"stratum": ["s"]}),
    "all alike": (
        people().with_columns(
            pl.lit(30).alias("age"), pl.lit("10000").alias("zip"), pl.lit(1.0).alias("cost")
        ),
        {},
    ),
}


@pytest.mark.parametrize("case", AWKWARD)
@pytest.mark.parametrize("shuffle", [True, False])
def test_an_awkward_table_is_released_as_in_memory(
    case: str, shuffle: bool, engine: str, tmp_path: Path
) -> None:
    frame, more = AWKWARD[case]
    meet = [sf.KAnonymity(3), sf.TCloseness("ill", 0.9)]
    eager = sf.anonymize(
        described(sf.read(frame), **more),
        meet,
        STEPS,
        seed=5,
        options=sf.AnonymizeOptions(format="parquet", shuffle=shuffle),
    )
    table = described(sf.read(in_parts(frame, tmp_path / "in"), engine=engine), **more)
    lazy = sf.anonymize(table, meet, STEPS, seed=5, options=sf.AnonymizeOptions(shuffle=shuffle))
    assert collected(lazy).columns == eager.data.columns
    assert rows_of(collected(lazy)).equals(rows_of(eager.data))
    assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
    for one, other in ((lazy.before, eager.before), (lazy.after, eager.after)):
        told, expected = one.to_dict(), other.to_dict()
        assert {**told, "name": ""} == {**expected, "name": ""}
    assert [(c.name, c.distinct_before, c.distinct_after) for c in lazy.columns] == [
        (c.name, c.distinct_before, c.distinct_after) for c in eager.columns
    ]
    assert lazy.warnings == eager.warnings
    lazy.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out" / "share").holds


@pytest.mark.parametrize(
    ("change", "more", "says"),
    [
        ({"odd": pl.lit([1, 2])}, {"keep": ["odd"]}, "odd of .* hold lists or objects"),
        ({"*": pl.lit(1)}, {"keep": ["*"]}, "column number 6 is called"),
        (
            {
                "note": pl.concat_str(
                    pl.lit("came in late with a broken arm, number "), pl.int_range(pl.len())
                )
            },
            {"keep": ["note"]},
            "hold free text.*note",
        ),
    ],
)
def test_what_cannot_be_released_is_named(
    change: Any, more: Any, says: str, engine: str, tmp_path: Path
) -> None:
    folder = in_parts(people().with_columns(**change), tmp_path)
    with pytest.raises(SfumatoError, match=says):
        sf.anonymize(
            described(sf.read(folder, engine=engine), **more), [sf.KAnonymity(3)], STEPS, seed=5
        )


def test_a_run_that_was_refused_does_not_block_the_next(engine: str, tmp_path: Path) -> None:
    """An error keeps what was being read alive as long as somebody holds it, as notebooks do."""
    steps = [*STEPS, sf.Round(["cost"], 10)]
    folder = in_parts(people().with_columns(pl.col("cost") / 0), tmp_path)
    with pytest.raises(SchemaError, match="infinite") as refused:
        sf.anonymize(described(sf.read(folder, engine=engine)), [sf.KAnonymity(3)], steps, seed=5)
    in_parts(people(), tmp_path)
    table = described(sf.read(folder, engine=engine))
    release = sf.anonymize(table, [sf.KAnonymity(3)], steps, seed=5)
    assert release.verdicts[0].holds and refused.value


def test_free_text_beyond_the_sample_is_seen(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of labels in the few rows that are sampled, and of notes in all."""
    monkeypatch.setattr(large, "SAMPLE", 2)
    notes = pl.Series("note", [f"came in late with a broken arm, number {i}" for i in range(ROWS)])
    folder = in_parts(people().with_columns(notes), tmp_path)
    with pytest.raises(SchemaError, match="free text"):
        sf.anonymize(
            described(sf.read(folder, engine=engine), keep=["note"]),
            [sf.KAnonymity(3)],
            STEPS,
            seed=5,
        )


def test_categories_that_no_released_row_has_are_in_no_part(engine: str, tmp_path: Path) -> None:
    rare = people().with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("RAREVALUE")).otherwise("ill").alias("ill")
    )
    rare = rare.with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(99).otherwise("age").alias("age")
    )
    rare = rare.with_columns(
        pl.col("ill").cast(pl.Enum(["flu", "cold", "gout", "RAREVALUE", "NOBODY"]))
    )
    table = described(sf.read(in_parts(rare, tmp_path / "in"), engine=engine))
    release = sf.anonymize(table, [sf.KAnonymity(3)], STEPS, seed=5)
    out = release.write(tmp_path / "out")
    kept = set(collected(release)["ill"].to_list())
    for part in (out / "share" / "data").iterdir():
        for label in {"RAREVALUE", "NOBODY"} - kept:
            assert label.encode() not in pl.read_parquet(part).write_ipc(None).getvalue()
            assert label.encode() not in part.read_bytes()


def test_a_release_in_parts_is_not_written_as_one_file(engine: str, tmp_path: Path) -> None:
    release = sf.anonymize(
        described(sf.read(in_parts(people(), tmp_path), engine=engine)),
        [sf.KAnonymity(3)],
        STEPS,
        seed=5,
    )
    with pytest.raises(ParameterError, match="released in parts"):
        release.write_data(tmp_path / "all.parquet")


def test_limits_are_measured_from_all_counts_or_on_a_named_sample(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {
        "marketer_risk": 0.9,
        "loss": 1.0,
        "discernibility": 1.0,
        "linkage": 1.0,
        "completeness": 0.0,
    }
    contract = [sf.Agreement(sf.Loss(), at_most=1.0)]
    folder = in_parts(people(), tmp_path / "in")

    def release(table: Any) -> Any:
        return sf.anonymize(
            described(table),
            [sf.KAnonymity(3)],
            STEPS,
            limits=limits,
            options=sf.AnonymizeOptions(contract=contract),
            seed=5,
        )

    eager, whole = release(sf.read(people())), release(sf.read(folder, engine=engine))
    told = [kept.to_dict() for kept in (*eager.limits, *eager.contract)]
    assert [kept.to_dict() for kept in (*whole.limits, *whole.contract)] == told
    monkeypatch.setattr(large, "SAMPLE", 100)
    some = release(sf.read(folder, engine=engine))
    assert [kept.to_dict() for kept in some.limits[:3]] == [
        kept.to_dict() for kept in eager.limits[:3]
    ]
    assert some.contract[0].to_dict() == eager.contract[0].to_dict()
    words = re.compile(r" in a sample of (9\d|10\d|110) of 600 records")
    assert [bool(words.search(kept.sentence)) for kept in some.limits] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_class_measures_of_columns_that_nobody_counted_are_refused_by_name(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "SAMPLE", 100)
    table = described(sf.read(in_parts(people(), tmp_path / "in"), engine=engine))
    kept = sf.anonymize(table, [sf.KAnonymity(3)], STEPS, seed=5)
    found = kept.evaluate([sf.Uniqueness(["cost"]), sf.Classification("ill"), sf.Uniqueness()])
    assert set(found.skipped) == {"uniqueness", "classification"}
    assert "only a sample" in found.skipped["classification"]
    told = sf.anonymize(table, [sf.LDiversity("ill", 2)], STEPS, seed=5).evaluate(
        [sf.Classification("ill")]
    )
    eager = sf.anonymize(described(sf.read(people())), [sf.LDiversity("ill", 2)], STEPS, seed=5)
    assert told.measures[0].raw == pytest.approx(
        eager.evaluate([sf.Classification("ill")]).measures[0].raw
    )


def test_what_a_drawing_step_kept_is_said_to_come_from_a_sample(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = described(sf.read(in_parts(people(), tmp_path / "in"), engine=engine))
    steps = [sf.AddNoise(["cost"], alpha=0.1), *STEPS]
    whole = sf.anonymize(table, [sf.KAnonymity(3)], steps, seed=5)
    assert whole.preserved and not any("sample" in kept.told for kept in whole.preserved)
    monkeypatch.setattr(large, "SAMPLE", 100)
    some = sf.anonymize(table, [sf.KAnonymity(3)], steps, seed=5)
    assert [kept.what for kept in some.preserved] == [kept.what for kept in whole.preserved]
    words = re.compile(r"off by .+ in a sample of (9\d|10\d|110) of 600 records$")
    assert all(words.match(kept.told) and words.search(str(kept)) for kept in some.preserved)
    some.write(tmp_path / "out")
    for page in ("share/report.html", "owner/report.html"):
        assert "Shown in a sample of" in (tmp_path / "out" / page).read_text(encoding="utf-8")


def test_a_table_that_changes_while_it_is_released_is_refused(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = in_parts(people(), tmp_path / "in")
    table = described(sf.read(folder, engine=engine))

    def changed(*given: Any, **options: Any) -> Any:
        people().head(ROWS // 3).with_columns(pl.col("cost") + 1).write_parquet(
            folder / "part-0.parquet"
        )
        return write(*given, **options)

    write = large.write_parts
    monkeypatch.setattr(large, "write_parts", changed)
    with pytest.raises(
        UnreadableInput, match=r"changed while it was being released|could not read"
    ):
        sf.anonymize(table, [sf.KAnonymity(3)], STEPS, seed=5)
