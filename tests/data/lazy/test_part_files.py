"""The files of a table in parts: values in the names of folders, text, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy.constant_columns import columns_of_folders
from sfumato.data.lazy.part_files import find_parts
from sfumato.errors import ParameterError, UnreadableInput

AGES = [20, 21, 22, 23, 24, 25, 40, 41, 42, 43, 44, 45]
FRAME = pl.DataFrame({"age": AGES, "zip": ["01000", "01001"] * 6, "cost": [1.5, 2.0, 3.25] * 4})


def in_folders(root: Path, names: list[str]) -> Path:
    """A table whose rows are spread over folders of some names."""
    share = FRAME.height // len(names)
    for number, name in enumerate(names):
        (root / name).mkdir(parents=True)
        FRAME.slice(number * share, share).write_parquet(root / name / "part.parquet")
    return root


def released(table: Any) -> list[tuple[Any, ...]]:
    keep = [name for name in table.columns if name != "age"]
    described = table.with_roles(quasi=["age"], keep=keep)
    described = described.with_hierarchies(age=sf.intervals(10, 20))
    release = sf.anonymize(described, [sf.KAnonymity(3)], [sf.GlobalRecoding(budget=0)], seed=1)
    parts = getattr(release, "parts", ())
    rows = pl.read_parquet(list(parts)) if parts else release.data
    return sorted(map(repr, rows.select(sorted(rows.columns)).rows()))  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "memory"])
def test_names_of_folders_are_columns(engine: str, tmp_path: Path) -> None:
    if engine == "duckdb":
        pytest.importorskip(engine)
    names = ["year=2020/town=Sankt%20P%C3%B6lten/m=01", "year=-7/town=O'Hara/m=12"]
    folder = in_folders(tmp_path / "a=b", [*names, "year=2021/town=__HIVE_DEFAULT_PARTITION__/m=x"])
    towns = ["Sankt Pölten", "O'Hara", None]
    expected = FRAME.with_columns(
        pl.Series("year", [2020, -7, 2021]).repeat_by(4).explode(),
        pl.Series("town", towns).repeat_by(4).explode(),
        pl.Series("m", ["01", "12", "x"]).repeat_by(4).explode(),
    )
    table = sf.read(folder, engine=engine)
    assert table.columns == expected.columns
    assert released(table) == released(sf.read(expected))


def test_columns_have_the_type_that_writes_them_alike(tmp_path: Path) -> None:
    folder = in_folders(tmp_path, ["n=7/d=2020-02-29/z=07", "n=8/d=2020-03-01/z=8"])
    parts = find_parts(folder, {})
    assert parts.constants is not None
    assert parts.constants.types == {"n": pl.Int64, "d": pl.Date, "z": pl.String}


def test_another_name_of_a_folder_is_another_table(tmp_path: Path) -> None:
    digests = [
        find_parts(in_folders(tmp_path / str(number), names), {}).digest
        for number, names in enumerate((["y=1", "y=2"], ["y=2", "y=1"], ["y=1", "y=2"], ["x", "y"]))
    ]
    assert digests[0] == digests[2]
    assert len(set(digests)) == 3


def test_a_column_that_files_hold_is_read_from_them(tmp_path: Path) -> None:
    folder = in_folders(tmp_path, ["age=1", "age=2"])
    assert find_parts(folder, {}).constants is None


def test_folders_of_other_columns_are_refused(tmp_path: Path) -> None:
    folder = in_folders(tmp_path / "one", ["y=1", "x=2"])
    with pytest.raises(UnreadableInput, match="other columns"):
        find_parts(folder, {})
    files = sorted(in_folders(tmp_path / "two", ["y=1/age=2"]).rglob("*.parquet"))
    with pytest.raises(UnreadableInput, match="write the whole table in one way"):
        columns_of_folders(files, tmp_path / "two", FRAME.columns)


def test_a_pattern_does_not_say_where_the_table_begins(tmp_path: Path) -> None:
    folder = in_folders(tmp_path, ["y=1", "y=2"])
    with pytest.raises(UnreadableInput, match="name the folder that holds them all"):
        sf.read(f"{folder}/*/*.parquet", engine="polars")


def test_a_delta_table_further_down_is_refused(tmp_path: Path) -> None:
    in_folders(tmp_path, ["visits"])
    (tmp_path / "visits" / "_delta_log").mkdir()
    with pytest.raises(UnreadableInput, match="name the folder of that table"):
        sf.read(tmp_path, engine="polars")


@pytest.mark.parametrize("engine", ["polars", "duckdb", "memory", None])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_text_in_parts_is_one_table(kind: str, engine: str | None, tmp_path: Path) -> None:
    if engine == "duckdb":
        pytest.importorskip(engine)
    for number in range(3):
        rows = FRAME.slice(number * 4, 4)
        file = tmp_path / f"{number}.{kind}"
        rows.write_csv(file) if kind == "csv" else rows.write_ndjson(file)
    table = sf.read(tmp_path, engine=engine)
    assert released(table) == released(sf.read(FRAME))


def test_the_digest_of_text_is_that_of_its_files(tmp_path: Path) -> None:
    FRAME.head(6).write_csv(tmp_path / "a.csv")
    FRAME.tail(6).write_csv(tmp_path / "b.csv")
    before = find_parts(tmp_path, {}).digest
    (tmp_path / "a.csv").rename(tmp_path / "c.csv")
    assert find_parts(tmp_path, {}).digest == before
    FRAME.tail(5).write_csv(tmp_path / "b.csv")
    assert find_parts(tmp_path, {}).digest != before


def test_text_of_two_kinds_and_options_of_text(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "a.csv", separator="|")
    table = sf.read(tmp_path, engine="polars", delimiter="|", missing_values=["01000"])
    assert table.counted(["zip"]).records == 12
    assert sorted(table.counted(["zip"]).column("zip").to_list(), key=str) == ["01001", None]
    FRAME.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(ParameterError, match="no reading option delimiter"):
        sf.read(tmp_path, engine="polars", delimiter="|")
    (tmp_path / "b.parquet").unlink()
    FRAME.write_ndjson(tmp_path / "b.jsonl")
    with pytest.raises(UnreadableInput, match="keep one kind"):
        sf.read(tmp_path, engine="polars")
