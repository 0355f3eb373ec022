"""A shared folder as whoever verifies it finds it: the certificate, its files, and the data they hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.dataset import Dataset
from sfumato.core.evidence import columns_seen
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.shape import DATA
from sfumato.core.source import Source
from sfumato.data.lazy.open_table import held, parts_of
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.form import runnable_cells
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.release.certificates import shape_of
from sfumato.release.manifest import own_file, require_plain_file
from sfumato.release.read_back import read_described
from sfumato.release.shaped.reading import read_released as read_people
from sfumato.release.shaped.reading import sections

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.shape import Shape


@dataclasses.dataclass(frozen=True, eq=False)
class TableFound:
    """One released table as its file holds it: its size, and no rows, since there may be many.

    ``seen`` are the columns that promises look at. ``formulas`` tells of the cells that a spreadsheet would run, where the
    certificate may tell of them.
    """

    rows: int
    columns: Sequence[str]
    seen: Sequence[str]
    formulas: Any = None


@dataclasses.dataclass(frozen=True, eq=False)
class SharedFolder:
    """What claims are held against: a certificate, and what lies beside it.

    ``files`` are by table the file, or the folder of its parts. ``released`` are the data, ``judged`` what promises look
    at: the same, or the counted combinations of a table in parts.
    """

    certificate: Mapping[str, Any]
    files: Mapping[str, Path]
    tables: Mapping[str, TableFound]
    released: Any
    judged: Any

    @property
    def shape(self) -> Shape:
        """The shape of the data that the certificate is about."""
        return shape_of(self.certificate)

    @property
    def first(self) -> TableFound:
        """The first of the tables, or the only one."""
        return next(iter(self.tables.values()))


def files_of(folder: Path, certificate: Mapping[str, Any]) -> dict[str, Path]:
    """The file of every released table, or the folder of its parts; refused where one is not there or is no plain file."""
    return {name: _file_of(folder, section) for name, section in sections(certificate).items()}


def _file_of(folder: Path, section: Mapping[str, Any]) -> Path:
    name = own_file(section)
    if "parts" in section and (folder / name).is_dir() and not (folder / name).is_symlink():
        return folder / name
    return require_plain_file(folder, name)


def require_plain_parts(file: Path) -> None:
    """Raise where something among the parts of a table is no plain file: a pipe would be waited for."""
    if file.is_dir() and not all(part.is_file() and not part.is_symlink() for part in file.iterdir()):
        raise UnreadableInput(f"{file} holds something that is no plain file, which a release never does")


# One table.


def read_table(folder: Path, certificate: Mapping[str, Any]) -> Dataset | LazyTable:
    """The released table of a shared folder, described as its certificate says."""
    table: Dataset | LazyTable = open_table(folder, certificate).released
    return table


def open_table(folder: Path, certificate: Mapping[str, Any]) -> SharedFolder:
    """A shared folder that holds one table; of one in parts the combinations that promises look at are counted."""
    files = files_of(folder, certificate)
    released: Dataset | LazyTable
    if ("parts" in certificate[DATA]) != files[DATA].is_dir():
        raise UnreadableInput(f"{files[DATA]} is one file, and the certificate tells of a table in parts")
    if files[DATA].is_dir():
        released = _parts(files[DATA], certificate)
        judged = released.counted(columns_seen(_shown_models(certificate), released.schema))
    else:
        released = judged = _in_memory(files[DATA], certificate)
    formulas = runnable_cells(judged.to_polars()) if _tells_formulas(certificate[DATA]) else None
    table = TableFound(judged.records, released.columns, judged.columns, formulas)
    return SharedFolder(certificate, files, {DATA: table}, released, judged)


def _tells_formulas(section: Mapping[str, Any]) -> bool:
    """Whether a certificate may tell of cells of a file that a spreadsheet would run."""
    return section["format"] == "csv" or "formulas" in section


def _in_memory(file: Path, certificate: Mapping[str, Any]) -> Dataset:
    frame, source = read_described(file, certificate[DATA])
    schema = _released_schema(certificate)
    missing = [name for name in schema.attributes if name not in frame.columns]
    if missing:
        raise UnreadableInput(
            f"the data file lacks {len(missing)} column(s) the certificate names: {', '.join(missing[:5])}"
        )
    table = Dataset(frame, source=source).with_text_coded()  # type: ignore[arg-type]
    return table.with_schema(schema)


def _parts(folder: Path, certificate: Mapping[str, Any]) -> LazyTable:
    source = Source(name=folder.name, format="parquet")
    return held(parts_of(folder), "polars", source).with_schema(_released_schema(certificate))


def _shown_models(certificate: Mapping[str, Any]) -> list[Any]:
    shown = [spec for spec in certificate["recipe"]["meet"] if not recipes.keeps_back("models", spec)]
    return [registry.build("models", spec) for spec in shown]


def _released_schema(certificate: Mapping[str, Any]) -> Schema:
    roles = certificate["roles"]
    return Schema({name: _attribute(certificate, name, tuple(roles[name])) for name in roles})


def _attribute(certificate: Mapping[str, Any], name: str, roles: tuple[Any, ...]) -> Attribute:
    """What the certificate says of a column; orders and hierarchies that list values are not shown."""
    said = certificate["recipe"]["columns"].get(name, {})
    hierarchy = said.get("hierarchy")
    kind: Any = Kind.NOMINAL if "quasi" in roles else said.get("kind", Kind.NOMINAL)  # recoding changes the kind
    listed = hierarchy is None or recipes.keeps_back("hierarchies", hierarchy)
    return Attribute(
        roles,
        kind=kind,
        hierarchy=None if listed or "quasi" in roles else registry.build("hierarchies", hierarchy),
        missing=certificate.get("missing_rule", {}).get(name, "category"),
        unit=said.get("unit", "person"),
    )


# People who are described by more than a row.


def read_persons(folder: Path, certificate: Mapping[str, Any]) -> Data:
    """The released people of a shared folder, described as their certificate says."""
    return read_people(folder, certificate, shape_of(certificate))


def open_persons(folder: Path, certificate: Mapping[str, Any]) -> SharedFolder:
    """A shared folder that holds people in one or several files, with the hierarchies that the recipe shows."""
    files = files_of(folder, certificate)
    released = read_persons(folder, certificate).described_further(_hierarchies(certificate))
    tables = {}
    for name, section in sections(certificate).items():
        frame, _ = read_described(files[name], section, lists=True)
        formulas = runnable_cells(frame) if _tells_formulas(section) else None
        tables[name] = TableFound(frame.height, frame.columns, frame.columns, formulas)
    return SharedFolder(certificate, files, tables, released, released)


def _hierarchies(certificate: Mapping[str, Any]) -> dict[str, Schema]:
    """What the recipe shows of hierarchies, without those that list values; nothing where it cannot be read."""
    try:
        return {
            table: Schema({column: _above(spec) for column, spec in columns.items() if "hierarchy" in spec})
            for table, columns in columns_in_recipe(certificate["recipe"]).items()
        }
    except (SfumatoError, KeyError, TypeError, ValueError, AttributeError):
        return {}


def _above(spec: Mapping[str, Any]) -> Attribute:
    kept = recipes.keeps_back("hierarchies", spec["hierarchy"])
    hierarchy = None if kept else registry.build("hierarchies", spec["hierarchy"])
    return Attribute((Role.SENSITIVE,), hierarchy=hierarchy)
