"""The files of a release: tables with what a certificate says of each, and the owner's record of
who is who.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.core.indented_json import indented_json
from sfumato.data.table.form import Form, runnable_cells
from sfumato.data.table.write import suffix_of, write_table
from sfumato.errors import UnreadableInput, printable_json
from sfumato.release.manifest import sha256_of

if TYPE_CHECKING:
    from sfumato.core.source import Source

ALIGNMENT = "alignment.parquet"
"""In the owner's folder: which record or person of the original every released one is."""
ORIGINAL_ROW, ORIGINAL_PERSON = "original_row", "original_person"
"""The column of the alignment: of a table, and of people who are described by more than a row."""


@dataclasses.dataclass(frozen=True, eq=False)
class WrittenFiles:
    """What was written of a release.

    ``release`` is the release as the files hold it, ``certificate`` what its certificate says, and
    ``record`` what its owner may see besides.
    """

    release: Any
    certificate: Document
    record: Document


@dataclasses.dataclass(frozen=True)
class WrittenTable:
    """A released table in a file: where it is, its form, and what a certificate says of it."""

    file: Path
    form: Form
    section: Document


def write_section(
    name: str,
    frame: pl.DataFrame,
    folder: Path,
    source: Source,
    format: str,  # noqa: A002
    *,
    defuse: bool,
) -> WrittenTable:
    """Write a table into a file that is called by its name and the end of the format."""
    file = folder / f"{name}{suffix_of(format)}"
    form = write_table(frame, file, source, format=format, defuse=defuse)
    section = {
        "file": file.name,
        "sha256": sha256_of(file),
        "format": format,
        "form": form.to_dict(),
    }
    # told of a CSV only, where a spreadsheet may run text
    if format == "csv":
        section["formulas"] = runnable_cells(frame)
    return WrittenTable(file, form, section)


def write_json(file: Path, document: Fields) -> None:
    """Write a document as people can read it."""
    replace_file(file, (printable_json(indented_json(document)) + "\n").encode())


def read_json(file: Path) -> Document:
    """What a file of the owner holds; an empty one where it is no mapping."""
    try:
        loaded = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise UnreadableInput(f"{file} is missing or cannot be read") from None
    except ValueError:
        raise UnreadableInput(f"{file} is not valid JSON; it was damaged or edited") from None
    return loaded if isinstance(loaded, dict) else {}


def replace_file(file: Path, content: bytes) -> None:
    """Write a file again: one that another folder shares by a link is left alone."""
    # unlink first: writing into a linked file would change the other folder too
    file.unlink(missing_ok=True)
    file.write_bytes(content)


def alignment_file(owner: Path, table: str) -> Path:
    """Where the owner keeps what is known of the rows of a table."""
    return owner / f"alignment_{table}.parquet"


def read_alignments(owner: Path, tables: Iterable[str]) -> dict[str, pl.DataFrame]:
    """What the owner kept of the rows of tables; those of which nothing was kept are left out."""
    files = {name: alignment_file(owner, name) for name in tables}
    try:
        return {name: pl.read_parquet(file) for name, file in files.items() if file.is_file()}
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableInput(f"the record of who is who in {owner} cannot be read") from None
