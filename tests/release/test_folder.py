"""A written release read back: for attacks and comparisons with the original, and to add what they
found."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import UnreadableInput
from sfumato.release.folder import read_release
from tests.data.lazy.test_refusals import ROWS, people
from tests.release.test_lazy_release import (
    small,  # noqa: F401 - a fixture
    status,
    written,  # noqa: F401 - a fixture
)


def test_a_folder_that_is_not_there_is_called_so(tmp_path):
    with pytest.raises(UnreadableInput, match="does not exist; give the one that run wrote"):
        read_release(tmp_path / "nowhere")


def _gone(data: Path) -> None:
    sorted(data.iterdir())[0].unlink()


def _added(data: Path) -> None:
    shutil.copy(sorted(data.iterdir())[0], data / "part-99999.parquet")


def _hidden(data: Path) -> None:
    (data / "_SUCCESS").touch()


def _swapped(data: Path) -> None:
    one, other, *_ = sorted(data.iterdir())
    one.rename(data / "x")
    other.rename(one)
    (data / "x").rename(other)


def _cut(data: Path) -> None:
    part = sorted(data.iterdir())[0]
    part.write_bytes(part.read_bytes()[:-20])


def _edited(data: Path) -> None:
    part = sorted(data.iterdir())[0]
    pl.read_parquet(part).with_columns(pl.lit(1.0).alias("cost")).write_parquet(part)


def _linked(data: Path) -> None:
    part = sorted(data.iterdir())[0]
    part.rename(data.parent.parent / "aside")
    part.symlink_to(data.parent.parent / "aside")


@pytest.mark.parametrize("change", [_gone, _added, _hidden, _swapped, _cut, _edited, _linked])
def test_a_part_that_was_touched_is_found(change: Any, written: Path) -> None:  # noqa: F811
    change(written / "share" / "data")
    found = sf.verify(written / "share")
    assert not found.holds
    assert status(found)["folder"] == "fails"
    with pytest.raises(UnreadableInput):
        read_release(written).add("attacks", {}, sign=None)


def test_a_release_in_parts_is_attacked_and_measured_on_its_sample(written: Path) -> None:  # noqa: F811
    release = read_release(written)
    pair = release.beside(sf.read(written.parent / "in"))
    assert pair.drawn_from == ROWS
    assert abs(len(pair.original) - 200) < 20
    assert release.certificate["sampled"] == {"records": len(pair.original), "of": ROWS}
    assert (
        f"sample of {len(pair.original)} of {ROWS} records"
        in (written / "share" / "report.html").read_text()
    )
    found = sf.evaluate(pair, metrics=["loss", "discernibility"])
    measured = {measure.name: measure.value for measure in found.measures}
    assert not found.skipped
    assert (
        measured["discernibility"] == release.certificate["utility"]["discernibility"]
    )  # of all records, not of the sample
    with pytest.raises(UnreadableInput, match="is not the original table of this release"):
        release.beside(sf.read(people().head(500)))
