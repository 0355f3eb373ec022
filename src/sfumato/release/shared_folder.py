"""A shared folder as whoever verifies it finds it: the certificate, its files, and the data they
hold.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.evidence import columns_seen
from sfumato.core.fields import Fields
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.shape import DATA, Shape
from sfumato.core.source import Source
from sfumato.core.table import Table
from sfumato.data.lazy.open_table import held
from sfumato.data.lazy.part_files import parts_of
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.form import runnable_cells
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.release.manifest import Claim, folder_claim, own_file, require_plain_file
from sfumato.release.public_recipe import read_public_recipe
from sfumato.release.read_back import read_described
from sfumato.release.read_data import TableRead, digest_of, require_roles
from sfumato.release.table_sections import schema_told, sections

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.recipe import Recipe


@dataclasses.dataclass(frozen=True, eq=False)
class FileOfTable:
    """One released table as its file holds it: its size, and no rows, since there may be many.

    ``seen`` are the columns that promises look at. ``formulas`` counts the cells that a spreadsheet
    would run, where the certificate may tell of them.
    """

    rows: int
    columns: Sequence[str]
    seen: Sequence[str]
    formulas: dict[str, int] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class OpenedData:
    """What the files hold: ``released`` are the data, ``judged`` what promises look at.

    Both are the same, but for a table in parts: of that the combinations are counted.
    """

    tables: Mapping[str, FileOfTable]
    released: Any
    judged: Any


class UnreadableData(UnreadableInput):
    """The data files cannot be read as the certificate says."""


class UnreadableRecipe(UnreadableInput):
    """What a certificate gives as its recipe is none."""


class SharedFolder:
    """What claims are compared with: a folder, its certificate, and what lies beside it, read when
    it is first asked for.
    """

    def __init__(self, folder: Path, certificate: Fields) -> None:
        self.folder, self.certificate = folder, certificate

    @functools.cached_property
    def listed(self) -> Claim:
        """Whether the folder holds the files that the certificate lists, and no others."""
        return folder_claim(self.certificate, self.folder)

    @functools.cached_property
    def shape(self) -> Shape:
        """The shape of the data that the certificate is about."""
        return Shape(self.certificate["shape"])

    @functools.cached_property
    def files(self) -> dict[str, Path]:
        """By table its file, or the folder of its parts; refused where one is not there or is no
        plain file.
        """
        return {
            name: _file_of(self.folder, section)
            for name, section in sections(self.certificate).items()
        }

    @functools.cached_property
    def opened(self) -> OpenedData:
        """The data of the files; :class:`UnreadableData` where they are not what the certificate
        says.
        """
        # before anything is opened: a pipe would be waited for
        self.require_plain_parts()
        try:
            if self.shape is Shape.TABLE:
                return _open_table(self)
            return _open_people(self)
        except SfumatoError as error:
            raise UnreadableData(str(error)) from None

    def require_plain_parts(self) -> None:
        """Raise where something among the parts of a table is no plain file: a pipe would be waited
        for.
        """
        for file in self.files.values():
            if file.is_dir() and not all(
                part.is_file() and not part.is_symlink() for part in file.iterdir()
            ):
                raise UnreadableData(
                    f"{file} is not a plain file, and a release contains only plain files"
                )

    @property
    def tables(self) -> Mapping[str, FileOfTable]:
        """The released tables by name."""
        return self.opened.tables

    @property
    def released(self) -> Any:
        """The released data."""
        return self.opened.released

    @property
    def judged(self) -> Any:
        """What promises look at."""
        return self.opened.judged

    @property
    def first(self) -> FileOfTable:
        """The first of the tables, or the only one."""
        return next(iter(self.tables.values()))

    @functools.cached_property
    def recipe(self) -> Recipe:
        """The recipe without what its owner keeps; :class:`UnreadableRecipe` where nobody could run
        it.
        """
        try:
            return read_public_recipe(self.certificate["recipe"], self.shape)
        except SfumatoError as error:
            raise UnreadableRecipe(f"the certificate's recipe is not valid: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UnreadableRecipe("the certificate's recipe is not valid") from None

    @property
    def original_size(self) -> int | None:
        """How many records or people the original had, where the certificate tells."""
        suppressed = self.certificate[f"suppressed_{self.judged.units}"]
        if suppressed is None:
            return None
        return int(self.judged.size + suppressed)


def _file_of(folder: Path, section: Fields) -> Path:
    name = own_file(section)
    # a link could lead out of the folder
    if "parts" in section and (folder / name).is_dir() and not (folder / name).is_symlink():
        return folder / name
    return require_plain_file(folder, name)


# One table.


def _open_table(shared: SharedFolder) -> OpenedData:
    """One table; of one in parts the combinations that promises look at are counted."""
    certificate, file = shared.certificate, shared.files[DATA]
    released: Table | LazyTable
    if ("parts" in certificate[DATA]) != file.is_dir():
        raise UnreadableInput(f"{file} is one file, but the certificate describes a table in parts")
    if file.is_dir():
        released = _parts(file, certificate)
        judged_table = released.counted(columns_seen(_shown_models(certificate), released.schema))
    else:
        released = judged_table = _in_memory(file, certificate)
    formulas = None
    if _tells_formulas(certificate[DATA]):
        formulas = runnable_cells(judged_table.to_polars())
    table = FileOfTable(judged_table.records, released.columns, judged_table.columns, formulas)
    return OpenedData({DATA: table}, released, judged_table)


def _tells_formulas(section: Fields) -> bool:
    """Whether a certificate may tell of cells of a file that a spreadsheet would run."""
    return section["format"] == "csv" or "formulas" in section


def _in_memory(file: Path, certificate: Fields) -> Table:
    frame, source = read_described(file, certificate[DATA])
    schema = _released_schema(certificate)
    missing = [name for name in schema.attributes if name not in frame.columns]
    if missing:
        raise UnreadableInput(
            f"the data file lacks {len(missing)} column(s) that the certificate names: "
            f"{', '.join(missing[:5])}"
        )
    table = Table(frame, source=source).with_text_coded()  # type: ignore[arg-type]
    return table.with_schema(schema)


def _parts(folder: Path, certificate: Fields) -> LazyTable:
    source = Source(name=folder.name, format="parquet")
    return held(parts_of(folder), "polars", source).with_schema(_released_schema(certificate))


def _shown_models(certificate: Fields) -> list[Any]:
    public_specs = [
        spec for spec in certificate["recipe"]["meet"] if not recipes.keeps_back("models", spec)
    ]
    return [registry.build("models", spec) for spec in public_specs]


def _released_schema(certificate: Fields) -> Schema:
    roles = certificate["roles"]
    try:
        return Schema({name: _attribute(certificate, name, tuple(roles[name])) for name in roles})
    except SfumatoError as error:
        words = (
            "roles, missing_rule and recipe of the certificate contradict each other about a column"
        )
        raise UnreadableInput(f"{words}: {error}") from None


def _attribute(certificate: Fields, name: str, roles: tuple[Any, ...]) -> Attribute:
    """What the certificate says of a column; orders and hierarchies that list values are not
    shown.
    """
    spec = certificate["recipe"]["columns"].get(name, {})
    hierarchy = spec.get("hierarchy")
    # recoding changes the kind
    kind: Any = Kind.NOMINAL if "quasi" in roles else spec.get("kind", Kind.NOMINAL)
    listed = hierarchy is None or recipes.keeps_back("hierarchies", hierarchy)
    return Attribute(
        roles,
        kind=kind,
        hierarchy=None if listed or "quasi" in roles else registry.build("hierarchies", hierarchy),
        missing=certificate.get("missing_rule", {}).get(name, "category"),
        unit=spec.get("unit"),
    )


# People who are described by more than a row.


def read_released(share: Path, certificate: Fields, shape: Shape) -> Data:
    """The people of a shared folder, read and described as its certificate says and no other
    way.
    """
    tables, schemas = {}, {}
    for name, section in sections(certificate).items():
        file = require_plain_file(share, own_file(section))
        try:
            frame, source = read_described(file, section, lists=True)
            tables[name], schemas[name] = TableRead(frame, source), schema_told(section["columns"])
        except SfumatoError as error:
            raise UnreadableInput(f"{name}: {error}") from None
    require_roles(tables, shape, schemas)
    frames = {name: table.frame for name, table in tables.items()}
    source = dataclasses.replace(next(iter(tables.values())).source, digest=digest_of(tables))
    return registry.data_class(shape).from_tables(frames, schemas, source)


def _open_people(shared: SharedFolder) -> OpenedData:
    """People in one or several files, with the hierarchies that the recipe shows."""
    certificate = shared.certificate
    people = read_released(shared.folder, certificate, shared.shape)
    released = people.described_further(_hierarchies(certificate))
    tables = {}
    for name, section in sections(certificate).items():
        frame, _ = read_described(shared.files[name], section, lists=True)
        formulas = runnable_cells(frame) if _tells_formulas(section) else None
        tables[name] = FileOfTable(frame.height, frame.columns, frame.columns, formulas)
    return OpenedData(tables, released, released)


def _hierarchies(certificate: Fields) -> dict[str, Schema]:
    """What the recipe shows of hierarchies, without those that list values; nothing where it cannot
    be read.
    """
    try:
        schemas = {}
        for table, columns in columns_in_recipe(certificate["recipe"]).items():
            specs = {column: spec for column, spec in columns.items() if "hierarchy" in spec}
            schemas[table] = Schema({column: _above(spec) for column, spec in specs.items()})
        return schemas
    except (SfumatoError, KeyError, TypeError, ValueError, AttributeError):
        return {}


def _above(spec: Fields) -> Attribute:
    is_secret = recipes.keeps_back("hierarchies", spec["hierarchy"])
    if is_secret:
        hierarchy = None
    else:
        hierarchy = registry.build("hierarchies", spec["hierarchy"])
    return Attribute((Role.SENSITIVE,), hierarchy=hierarchy)
