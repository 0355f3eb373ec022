"""A release as whoever reads its file finds it.

What was judged in memory is worth nothing where the file says something else. So the file is read back before it stands, by the function that
``verify`` and ``check`` read it with; where a value is not the one that was judged, everything is judged again on the file.
"""

from __future__ import annotations

import codecs
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.dataset import Dataset
from sfumato.core.source import LAYOUT
from sfumato.errors import OutputError, ParameterError, ReleaseRefused, SfumatoError, UnreadableInput
from sfumato.io.form import Form
from sfumato.io.formats import listed
from sfumato.io.indistinct import guessed
from sfumato.io.read import read_written
from sfumato.io.values import with_values
from sfumato.release.certificates import read_certificate
from sfumato.release.make import judged_again

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.source import Source
    from sfumato.release.release import Release


def require_kept(release: Release) -> None:
    """Raise unless a release keeps its promises, and has some."""
    if not release.holds or not (release.verdicts or release.limits):
        raise ReleaseRefused(
            "this release keeps no promise, or breaks one; it was made to be compared, not to be written"
        )


def as_written(release: Release, file: Path, form: Form) -> Release:
    """The release judged on the file that was written of it; raises :class:`ReleaseRefused` where the file breaks a promise.

    Values that come back as they were need not be judged twice. Whoever reads a CSV without its form may take text for numbers:
    where that makes values one, the promises must hold for such a reader too.
    """
    frame = _read_back(release, file, form)
    others = [name for name in frame.columns if not _same(release.dataset.column(name), frame[name])]
    if others:
        release = _judged(release, frame, f"{form.format} does not tell all values of {listed(others)} apart")
    numbers = guessed(frame) if form.format == "csv" else {}
    if numbers:
        _judged(
            release,
            frame.with_columns(**numbers),
            f"whoever reads {listed(list(numbers))} as numbers finds fewer values",
        )
    return release


def _read_back(release: Release, file: Path, form: Form) -> pl.DataFrame:
    try:
        frame, _ = read_written(file, form)
    except SfumatoError as error:
        raise OutputError(f"the file would not be readable as {form.format}, so it is not written: {error}") from None
    expected = (len(release.dataset), release.dataset.columns)
    if (frame.height, frame.columns) != expected:
        raise OutputError(
            f"{form.format} does not keep this table: {frame.height:,} rows and {frame.width:,} columns come back of {expected[0]:,} and "
            f"{len(expected[1]):,}, or names of columns change; write another format"
        )
    return frame


def _judged(release: Release, frame: pl.DataFrame, reason: str) -> Release:
    """The release with what a reader finds in its place, judged again."""
    found = dataclasses.replace(release.dataset, frame=frame)  # type: ignore[arg-type]
    try:
        return judged_again(release, found)
    except SfumatoError as error:  # a model may also find too few values to judge
        raise ReleaseRefused(
            f"{reason}: {error}; make the release for the format it is written in (format=, --format), or write another"
        ) from None


def _same(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns hold the same values, whatever the width of their numbers."""

    def plain(column: pl.Series) -> pl.Series:
        if column.dtype.is_integer() and column.dtype != pl.UInt64:
            return column.cast(pl.Int64, strict=False)
        return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column

    return plain(one).equals(plain(other), check_dtypes=True, null_equal=True)


def read_described(file: Path, data: Mapping[str, Any]) -> tuple[pl.DataFrame, Source]:
    """Read a released file as the ``data`` section of its certificate says."""
    return read_written(file, Form.from_dict(data.get("format"), data.get("form", {})))


def read_certified(file: Path) -> Dataset | None:
    """A file beside the certificate that names it, read as it says; None for any other file."""
    try:
        data = read_certificate(file.parent)["data"]
    except UnreadableInput:
        return None
    if data["file"] != file.name:
        return None
    frame, source = read_described(file, data)
    return Dataset(frame, source=source).with_text_coded()  # type: ignore[arg-type]


# A table described by a recipe: read as it says, with the roles it gives.


def described(dataset: Dataset, recipe: Recipe) -> Dataset:
    """The table with the recipe's schema, its values read as the recipe says where reading did not say otherwise.

    Raises:
        ParameterError: the recipe cuts the file into cells in another way than it was read: only reading it again helps.
    """
    intake = dataset.source.intake.over(recipe.intake)
    _require_layout(dataset, intake)
    recipe.schema.check(dataset.columns, dataset.source)
    return with_values(dataset, intake).with_schema(recipe.schema)


def _require_layout(dataset: Dataset, intake: Any) -> None:
    source = dataset.source
    meaningful = {"csv": LAYOUT, "excel": ("header",)}.get(source.format, ())
    other = [
        name for name in meaningful if (said := getattr(intake, name)) is not None and said != getattr(source, name)
    ]
    if "encoding" in other and codecs.lookup(intake.encoding) == codecs.lookup(source.encoding):
        other.remove("encoding")
    if other:
        raise ParameterError(
            f"the recipe reads {source.name} with another {' and '.join(other)} than it was read with; "
            "read it as the recipe says: sf.read(path, recipe=...)"
        )
