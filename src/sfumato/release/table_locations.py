"""Where several tables are: given by name, in a folder, in a database, or in the files that a
recipe names.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.core.files import MEGABYTE, require_plain
from sfumato.core.relations import NAME
from sfumato.core.table import Table
from sfumato.core.words import join_words
from sfumato.data.lazy import open_table
from sfumato.data.lazy.databases import is_address
from sfumato.data.lazy.open_table import MEMORY, from_database, require_named
from sfumato.data.table.formats import format_of_suffix
from sfumato.errors import ParameterError, UnreadableInput, did_you_mean

MOST_BYTES = 16 * 1024 * MEGABYTE


@dataclasses.dataclass(frozen=True)
class InDatabase:
    """One table of a database."""

    address: str = dataclasses.field(repr=False)
    table: str

    def read(self, options: Fields) -> Table:
        """The whole table in memory."""
        return from_database(self.address, self.table, MEMORY, options).in_memory(
            "data of several tables"
        )


def locations_of(data: Any, files: Mapping[str, str | None], base: Path) -> Document:
    """Table → the path, frame or table of a database that holds it; ``files`` are those a recipe
    names, found from ``base``.

    ``data`` gives the tables by name, or is the folder they are in, or the address of a
    database; None: where the recipe says.
    """
    if isinstance(data, Mapping):
        return _select_tables(data, list(files))
    if is_address(data):
        return {name: InDatabase(data, name) for name in files}
    if data is None:
        unnamed = [name for name, file in files.items() if file is None]
        if unnamed:
            raise ParameterError(
                f"the recipe names no file for {join_words(unnamed)}; give the folder of the tables"
            )
        return {name: _plain(base / str(file)) for name, file in files.items()}
    if not isinstance(data, str | Path) or str(data) == "-":
        raise ParameterError("give several tables by name, as their folder, or as a database")
    return {name: _in_folder(Path(data), name, file, base) for name, file in files.items()}


def _select_tables(data: Mapping[Any, Any], names: list[str]) -> Document:
    strange = [str(name) for name in data if name not in names]
    if strange:
        raise ParameterError(
            f"table {strange[0]!r} is not in the recipe.{did_you_mean(strange[0], names)}"
        )
    missing_names = [name for name in names if name not in data]
    if missing_names:
        raise ParameterError(
            f"the recipe has a table {missing_names[0]!r}, which was not given; give it"
        )
    return {name: data[name] for name in names}


def _in_folder(folder: Path, name: str, file: str | None, base: Path) -> Path:
    """The file of a table: the one that the recipe names, in the folder or from the recipe, else
    the one called as the table is.
    """
    if not folder.is_dir():
        raise UnreadableInput(f"{folder} is not a folder; give several tables as their folder")
    if file is not None:
        candidates = (folder / file, folder / Path(file).name, base / file)
        return _plain(
            next((candidate for candidate in candidates if candidate.is_file()), candidates[0])
        )
    files = tables_in(folder).get(name, [])
    if not files:
        raise UnreadableInput(
            f"{folder} holds no table {name!r} ({name}.csv, {name}.parquet …); name its file in the"
            " recipe"
        )
    if len(files) > 1:
        raise UnreadableInput(
            f"{folder} holds {len(files)} files called {name}; name the right one in the recipe "
            "(file: …)"
        )
    return _plain(files[0])


def tables_in(folder: Path) -> dict[str, list[Path]]:
    """The files of a folder that are tables, by their name without its end."""
    files_by_name: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and format_of_suffix(file.suffix) and not file.name.startswith("."):
            files_by_name.setdefault(file.stem, []).append(file)
    return files_by_name


def locations_in(texts: Sequence[str]) -> Mapping[str, Path | InDatabase] | None:
    """Where several tables are, by the name of each: files given, those of a folder, or a database;
    None where one table is meant.

    A folder of Parquet files with the same columns is one table in parts. Tables of a database that
    are called as no file may be are left out.
    """
    if len(texts) == 1 and is_address(texts[0]):
        names = [name for name in open_table.tables_in(texts[0]) if NAME.fullmatch(name)]
        if len(names) > 1:
            return {name: InDatabase(texts[0], name) for name in names}
        return None
    return _several_files(texts)


def _several_files(texts: Sequence[str]) -> dict[str, Path] | None:
    if len(texts) > 1:
        files = {table_name(Path(text).stem): Path(text) for text in texts}
        if len({name.casefold() for name in files}) < len(texts):
            raise ParameterError(
                "two of the files have names that differ only in folder, ending or capitals; "
                "rename one"
            )
        return files
    require_named(texts[0])
    folder = Path(texts[0])
    if not folder.is_dir():
        return None
    table_files = [
        file
        for files_of_name in tables_in(folder).values()
        for file in files_of_name
        if _surely(file)
    ]
    files = {table_name(file.stem): file for file in table_files}
    if len({name.casefold() for name in files}) < len(table_files):
        raise UnreadableInput(
            f"{folder} holds files whose names differ only in ending, capitals or signs; leave one "
            "of each, or name the files in the recipe"
        )
    if len(files) < 2 or _parts(list(files.values())):
        return None
    return files


def table_name(stem: str) -> str:
    """What the table of a file is called: as the file is, with ``_`` for signs that no table's name
    may have.

    >>> [table_name(stem) for stem in ("visits 2024", "the people's", "2024", "drug-list")]
    ['visits_2024', 'the_people_s', 'table_2024', 'drug-list']
    """
    if NAME.fullmatch(stem):
        return stem
    word = re.sub(r"\W+", "_", stem).strip("_")
    return word if NAME.fullmatch(word) else f"table_{word}"


def _surely(file: Path) -> bool:
    """Whether a file that nobody named is a table: notes and settings have other ends, or these."""
    return file.suffix.lower() not in (".txt", ".dat", ".json")


def _parts(files: Sequence[Path]) -> bool:
    """Whether files are Parquet with the same columns: then they are one table."""
    if any(format_of_suffix(file.suffix) != "parquet" for file in files):
        return False
    try:
        return len({tuple(pl.read_parquet_schema(file)) for file in files}) == 1
    except (OSError, pl.exceptions.PolarsError):
        return True  # whoever reads them says what is wrong


def _plain(file: Path) -> Path:
    require_plain(file, limit=MOST_BYTES, purpose="a table")
    return file
