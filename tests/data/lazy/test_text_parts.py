"""Text in parts is read as one text would be."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sfumato.core.source import Intake
from sfumato.data.lazy import text_parts
from sfumato.data.lazy.text_parts import written_as_parquet
from sfumato.data.table.read import read_table
from sfumato.errors import UnreadableInput

CELLS = ("1", "2", "-3", "007", "1.5", "2,5", "33.000", "1e3", "", " x", "x ", "12345", "NA", "a;b")
KINDS = (CELLS[:3], CELLS[:5], ("33.000", "1"), ("2,5", "7"), ("12345", "54321"), CELLS, (" 1", ""))
INTAKES = (
    Intake(),
    Intake(missing_values=("NA", 1)),
    Intake(blanks="strip"),
    Intake(decimal=","),
    Intake(missing_in={"b": ("x",)}),
)


@pytest.mark.parametrize("number", range(40))
def test_types_and_values_are_those_of_one_file(number: int, tmp_path: Path) -> None:
    draw = random.Random(number)
    kinds = [draw.choice(KINDS) for _ in "abc"]
    rows = [[draw.choice(kind) for kind in kinds] for _ in range(60)]
    names = ["a", "b", draw.choice(["c", "zip"])]
    intake = draw.choice(INTAKES)
    files = []
    for part in range(3):
        frame = pl.DataFrame(rows[part * 20 : part * 20 + 20], schema=names, orient="row")
        files.append(tmp_path / f"{part}.csv")
        frame.write_csv(files[-1], quote_style="always")
    whole = tmp_path / "whole.csv"
    pl.DataFrame(rows, schema=names, orient="row").write_csv(whole, quote_style="always")
    # The sign between cells is said, so that a short part is not cut otherwise than the whole.
    options = {**intake.options(), "delimiter": ","}
    expected, _ = read_table(whole, **options)
    written = written_as_parquet(files, Intake.of(options))
    assert_frame_equal(pl.concat([pl.read_parquet(file) for file in written.files]), expected)


def test_parts_of_other_columns_are_refused(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    files[0].write_text("a,b\n1,2\n")
    files[1].write_text("b,a\n1,2\n")
    with pytest.raises(UnreadableInput, match=r"b\.csv has other columns than a\.csv"):
        written_as_parquet(files, Intake())


def test_too_many_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_parts, "MOST_VALUES", 2)
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n2,2\n3,2\n")
    with pytest.raises(UnreadableInput, match="write the table as Parquet first"):
        written_as_parquet([file], Intake())


def test_objects_may_lack_keys_and_widen_numbers(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.jsonl" for number in range(3)]
    files[0].write_text('{"a": 1, "b": null}\n{"a": 2, "b": null}\n')
    files[1].write_text('{"a": 1.5, "b": "x"}\n')
    files[2].write_text('{"b": "y", "c": true}\n')
    written = written_as_parquet(files, Intake())
    frame = pl.concat([pl.read_parquet(file) for file in written.files])
    assert frame.to_dict(as_series=False) == {
        "a": [1.0, 2.0, 1.5, None],
        "b": [None, None, "x", "y"],
        "c": [None, None, None, True],
    }


def test_objects_of_other_types_are_refused(tmp_path: Path) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    files[0].write_text('{"a": 1}\n')
    files[1].write_text('{"a": "secret"}\n')
    with pytest.raises(UnreadableInput, match="give all parts of a table the same types") as error:
        written_as_parquet(files, Intake())
    assert "secret" not in str(error.value)


def test_nothing_is_left_when_the_parts_are_gone(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")
    written = written_as_parquet([file], Intake())
    folder = written.files[0].parent
    assert folder.is_dir()
    written.workplace.clear_now()
    assert not folder.exists()
