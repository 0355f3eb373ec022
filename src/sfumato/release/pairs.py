"""A written release beside the original it was made from, for attacks and comparisons."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.data import Pair
from sfumato.core.pair import TablePair, levels_of
from sfumato.core.step import coarsened_columns
from sfumato.core.table import NOBODY
from sfumato.data.table.indistinct import made_one
from sfumato.errors import UnreadableInput
from sfumato.release.publish import PEOPLE
from sfumato.release.written_files import read_alignments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.data import Data
    from sfumato.core.table import Table
    from sfumato.release.folder import Folder


def pair_table(folder: Folder, original: Table, origin: NDArray[np.int64]) -> TablePair:
    """A released table beside its original; ``origin`` says for every row which one of the original
    it was.
    """
    table, _ = made_one(
        original.described_by(folder.recipe), folder.certificate["data"].get("format", "csv")
    )
    learnt_from, held_out = _learnt_from(folder.folder / "owner" / PEOPLE, len(original))
    released = dataclasses.replace(folder.released, origin=origin)
    levels = levels_of(folder.certificate["plan"])
    return TablePair(
        table,
        released,
        origin,
        levels,
        learnt_from=learnt_from,
        held_out=held_out,
        coarsened=coarsened_columns(folder.recipe.steps),
    )


def pair_persons(folder: Folder, original: Data, origin: NDArray[np.int64]) -> Pair:
    """Released people beside the original ones; ``origin`` says for every person who it was."""
    alignments = read_alignments(folder.folder / "owner", folder.released.schemas)
    released = dataclasses.replace(folder.released, origin=origin).with_alignment(alignments)
    return Pair(original, released)


def read_alignment(file: Path, released: int, original: int, column: str) -> NDArray[np.int64]:
    """Which row (or person) of the original every released one is, −1 for nobody's; refused where
    the numbers do not fit.
    """
    try:
        rows = pl.read_parquet(file)[column].to_numpy().astype(np.int64)
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableInput(f"{file} is missing or cannot be read") from None
    if len(rows) != released or (
        len(rows) and not NOBODY <= int(rows.min()) <= int(rows.max()) < original
    ):
        raise UnreadableInput(
            f"{file} does not match: {len(rows):,} rows aligned, {released:,} released, "
            f"{original:,} in the original; check that this is the original of the release"
        )
    return rows


def _learnt_from(
    file: Path, original: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """The rows that drawn ones were learnt from, and those set aside before; None where there are
    none.
    """
    if not file.is_file():
        return None, None
    try:
        people = pl.read_parquet(file).select(
            pl.col("original_row").cast(pl.Int64), pl.col("held_out").cast(pl.Boolean)
        )
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableInput(f"{file} cannot be read") from None
    rows, aside = people["original_row"].to_numpy(), people["held_out"].to_numpy().astype(bool)
    if people.null_count().sum_horizontal().item() or (
        len(rows) and not 0 <= rows.min() <= rows.max() < original
    ):
        raise UnreadableInput(
            f"{file} does not match the original; check that this is the original of the release"
        )
    return rows[~aside], rows[aside] if aside.any() else None
