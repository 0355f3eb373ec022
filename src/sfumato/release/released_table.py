"""A released table for whoever analyses it: ranges as numbers and dates, labels in their order."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, TableBlock
from sfumato.core.shape import Shape
from sfumato.core.words import count_of
from sfumato.errors import ParameterError
from sfumato.release.certificate_files import read_certificate
from sfumato.release.label_ranges import SUFFIXES, RecodedColumn, Scale, read_labels
from sfumato.release.report.reading import NOTATIONS, SUPPRESSED
from sfumato.release.shared_folder import SharedFolder

if TYPE_CHECKING:
    from sfumato.core.schema import Schema


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable(Reportable):
    """A released table as its file holds it, and what its labels stand for.

    Nothing here needs the original: it is worked out from the shared folder alone.
    """

    frame: pl.DataFrame
    schema: Schema
    recoded: tuple[RecodedColumn, ...]

    def typed(self) -> pl.DataFrame:
        """The table with three columns more for every column of ranges: ``age_low``, ``age_high``
        and ``age_middle`` beside ``age``; labels become ordered categories.

        >>> import tempfile
        >>> import sfumato as sf
        >>> ranges = [sf.Mondrian()]
        >>> release = sf.anonymize(sf.examples.salaries(), "k_anonymity:3", ranges, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = read_release(release.write(folder + "/out"))
        >>> table.typed().columns[:4]
        ['zip', 'age', 'age_low', 'age_high']
        """
        frame = self.frame
        for column in self.recoded:
            labels = column.labels
            ordered = pl.Enum(labels["label"])
            keys = frame.select(pl.col(column.name).cast(pl.String).alias("label"))
            places = keys.join(labels, on="label", how="left", maintain_order="left")
            position = frame.columns.index(column.name)
            frame = frame.with_columns(keys["label"].cast(ordered).alias(column.name))
            if column.scale == "category":
                continue
            for offset, suffix in enumerate(SUFFIXES, 1):
                name = free_name(f"{column.name}_{suffix}", frame.columns)
                frame = frame.insert_column(position + offset, places[suffix].alias(name))
        return frame

    def labels(self, column: str) -> pl.DataFrame:
        """What every label of a recoded column stands for: label, low, high, middle."""
        for recoded in self.recoded:
            if recoded.name == column:
                return recoded.labels
        names = ", ".join(recoded.name for recoded in self.recoded) or "none is recoded"
        raise ParameterError(f"{column!r} holds no labels; recoded columns: {names}")

    def write(self, file: str | Path) -> Path:
        """Write the typed table as CSV or Parquet, by the end of the name; nothing is replaced."""
        target = Path(file)
        if target.exists():
            raise ParameterError(f"{target} already exists; choose another file")
        frame = self.typed()
        if target.suffix == ".parquet":
            frame.write_parquet(target)
        elif target.suffix == ".csv":
            frame.write_csv(target)
        else:
            raise ParameterError(f"{target.name}: write .csv or .parquet")
        return target

    def blocks(self) -> Sequence[Block]:
        """The columns with their notation, without a value."""
        rows = []
        scales: dict[str, Scale] = {column.name: column.scale for column in self.recoded}
        for name in self.frame.columns:
            scale = scales.get(name)
            rows.append((name, "as in the original" if scale is None else NOTATIONS[scale]))
        size = f"{count_of(self.frame.height, 'record')}, `*` is {SUPPRESSED}"
        return [Paragraph(size), TableBlock(("column", "how to read it"), tuple(rows))]


def read_release(folder: str | Path) -> ReleasedTable:
    """Read a released table for analysis, from the folder that ``run`` wrote or its ``share``.

    Ranges of numbers and dates come with their ends and middle, see :meth:`ReleasedTable.typed`.
    The certificate is read for roles and kinds; ``sf.verify`` checks it.
    """
    share = Path(folder)
    if (share / "share").is_dir():
        share /= "share"
    certificate = read_certificate(share, Shape.TABLE)
    released = SharedFolder(share, certificate).released.in_memory("read_release")
    frame = released.to_polars()
    columns = certificate["recipe"]["columns"]
    recoded = []
    for name in released.schema.quasi:
        values = frame.get_column(name)
        # A number or date that is still one was not recoded.
        if values.dtype == pl.String:
            kind = columns.get(name, {}).get("kind", "nominal")
            recoded.append(read_labels(name, values, kind))
    return ReleasedTable(frame, released.schema, tuple(recoded))


def free_name(name: str, names: Sequence[str]) -> str:
    """A name that no column has yet: with underscores behind where it is taken."""
    while name in names:
        name += "_"
    return name
