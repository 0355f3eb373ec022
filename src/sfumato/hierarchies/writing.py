"""Writing a hierarchy down, in the format of ARX."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from sfumato.core.hierarchy import Hierarchy, Ladder, bind
from sfumato.errors import OutputError, SchemaError


def write_hierarchy(
    hierarchy: Hierarchy | Ladder,
    values: Sequence[str | None],
    path: str | Path,
    *,
    counts: Sequence[int] | None = None,
    delimiter: str = ";",
    encoding: str = "utf-8",
) -> Path:
    """Write the paths of some values as a file of ARX's format: one row per value, from the value to the top.

    Missing values are left out. ``counts`` says how often each value occurs, for hierarchies that depend on it;
    without it all count the same. The file appears whole or not at all.
    """
    ladder = hierarchy if isinstance(hierarchy, Ladder) else bind(hierarchy, values, counts or [1] * len(values))
    rows = list(_rows(ladder, values))
    target = Path(path)
    try:
        _replace(target, rows, delimiter, encoding)
    except UnicodeEncodeError:
        raise OutputError(f"{target.name!r} cannot hold all labels in {encoding}; use encoding='utf-8'") from None
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written: {error.strerror or type(error).__name__}") from None
    return target


def _rows(ladder: Ladder, values: Sequence[str | None]) -> Iterator[tuple[str, ...]]:
    """The paths of the values, in the order of the ladder: siblings stand together."""
    wanted = {value for value in values if value is not None}
    absent = len(wanted.difference(ladder.labels[0]))
    if absent:
        raise SchemaError(f"{absent} of {len(wanted)} values are not on the ladder; bind the hierarchy to them first")
    climbs = [ladder.climb(0, level).tolist() for level in range(ladder.depth)]
    for code, value in enumerate(ladder.labels[0]):
        if value in wanted:
            yield tuple(str(ladder.labels[level][climb[code]]) for level, climb in enumerate(climbs))


def _replace(target: Path, rows: Sequence[tuple[str, ...]], delimiter: str, encoding: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "w", encoding=encoding, newline="") as stream:
            csv.writer(stream, delimiter=delimiter, lineterminator="\n", quoting=_quoting(rows)).writerows(rows)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _quoting(rows: Sequence[tuple[str, ...]]) -> Literal[0, 1]:
    """Quote everything where a label holds what a reader takes for a line end or a byte order mark."""
    strange = any(mark in label for row in rows for label in row for mark in ("\r", "\ufeff"))
    return csv.QUOTE_ALL if strange else csv.QUOTE_MINIMAL


def _umask() -> int:
    """The permissions new files do not get; the temporary file was made for its owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
