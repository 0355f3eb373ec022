"""Checking a release against its original: the commitment opens, and the recipe gives the same rows
again.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core.attack import Memory
from sfumato.core.data import Context
from sfumato.core.fields import Document, Fields
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Kept, Recipe
from sfumato.core.shape import Shape
from sfumato.core.step import accounts
from sfumato.core.table import Table
from sfumato.data.lazy.observed_values import Fingerprint
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.fixed_form import in_fixed_form
from sfumato.data.table.formats import require_format
from sfumato.data.table.indistinct import made_one
from sfumato.data.table.read import read_written
from sfumato.data.table.write import write_table
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.release.data_files import write_tables
from sfumato.release.documents import ReleaseSummary, data_certificate, is_locked, versions
from sfumato.release.documents import certificate as table_certificate
from sfumato.release.limit_checks import about_all_releases
from sfumato.release.make import make_release
from sfumato.release.manifest import Status
from sfumato.release.read_back import as_it_stands
from sfumato.release.release import Release
from sfumato.release.table_release import TableRelease
from sfumato.release.table_sections import sections

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.pair import TablePair
    from sfumato.release.shared_folder import SharedFolder

MADE_HERE = (
    "the rows that this run produced from recipe and seed; sfumato verify produces them again"
)
GIVE_ORIGINAL = "give --original to check it"
NEEDS_REGISTER = (
    "it compares with earlier releases, which only a register knows: sfumato register check"
)


class UnreadableLock(UnreadableInput):
    """The owner's lock, or what lies beside it, is damaged or that of another release."""


@dataclasses.dataclass(frozen=True)
class ReplayInputs:
    """What a release is made again with besides the original: the owner's folder, a second table,
    and what was made before.
    """

    owner: Path | None = None
    population: Table | None = None
    release: TableRelease | None = None


@dataclasses.dataclass(frozen=True)
class Replayed:
    """A release made again from original, recipe and seed: whether it is the one that stands, as
    far as could be found.
    """

    status: Status
    detail: str
    release: Any = None
    in_order: bool = True
    """Whether the rows come in the order in which they stand, too."""

    @property
    def same(self) -> bool:
        """Whether the same rows came out."""
        return self.status == "holds"


class Original:
    """What is at hand besides the shared folder: the original data, the owner's folder, and a key
    that is trusted; and how a release of such data is made again and compared.

    Of a folder of outputs the owner's folder is that of the session; of a study the original is the
    study. :class:`TableOriginal` is that of one table; :func:`original_beside` knows which.
    """

    made_again: ClassVar[str] = "people are the recoded original"
    """What it is called that recipe and seed give what was released again."""

    def __init__(
        self,
        shared: SharedFolder,
        data: Any = None,
        trusted_key: Path | None = None,
        inputs: ReplayInputs = ReplayInputs(),
    ) -> None:
        self.shared, self.data, self.trusted_key, self.inputs = shared, data, trusted_key, inputs

    @property
    def owner(self) -> Path | None:
        """The owner's folder."""
        return self.inputs.owner

    @functools.cached_property
    def lock(self) -> Document | None:
        """The owner's lock, where it is at hand."""
        return read_lock(self.owner)

    @functools.cached_property
    def as_judged(self) -> Any:
        """The original as promises compare with it; None where it is not at hand."""
        return self.data

    @functools.cached_property
    def replayed(self) -> Replayed:
        """The release made again; one that this process has made is compared as it is."""
        return _replay(self)

    def data_of_run(self) -> Any:
        """The original with everything that the steps saw."""
        return self.data

    def make_again(self, recipe: Recipe, lock: Fields) -> Release:
        """The release that recipe and seed make of the original."""
        return _make_people_again(self.shared.certificate, self.data, recipe, lock)

    def compare(self, release: Any) -> Replayed:
        """Whether a release is the one that stands."""
        is_equal, words = _compare_files(release, self.shared.certificate)
        return Replayed("holds" if is_equal else "fails", words, release)

    def as_file_holds(self, release: Release) -> Release:
        """A repeated release, with the values that its files hold."""
        return release

    def certificate_of(self, release: Any, salt: str) -> Document:
        """The certificate that a release made again would get."""
        tables = sections(self.shared.certificate)
        return data_certificate(release, tables=tables, salt=salt)


class TableOriginal(Original):
    """What is at hand besides a released table, in memory or in parts."""

    made_again = "rows are the recoded original"

    @functools.cached_property
    def as_judged(self) -> Any:
        """The original as promises compare with it; None where it is not at hand."""
        if self.data is None:
            return None
        return _table_as_judged(self.shared, self.data, self.owner)

    def data_of_run(self) -> Any:
        """The original, and the column of policies that only its owner has."""
        return with_policies(self.data, self.owner)

    def make_again(self, recipe: Recipe, lock: Fields) -> Release:
        """The release that recipe and seed make of the table."""
        data = self.data_of_run()
        return make_table_again(self.shared.certificate, data, recipe, lock, self.inputs)

    def compare(self, release: Any) -> Replayed:
        """Whether a release has the rows that stand, and in their order."""
        released, certificate = self.shared.released, self.shared.certificate
        if not is_same(release, released, certificate):
            words = "the recipe produces other rows than were released"
            return Replayed("fails", words, release)
        words = "produced again from recipe and seed, row for row"
        in_order = _is_in_order(release, released, certificate)
        return Replayed("holds", words, release, in_order)

    def as_file_holds(self, release: Any) -> Release:
        """A repeated release, with the values that its file holds: a format may write some as
        missing.
        """
        released: Release = release
        if not in_parts(self.shared.certificate):
            data_section = self.shared.certificate["data"]
            released = as_it_stands(release, self.shared.released, data_section)
        return released

    def certificate_of(self, release: Any, salt: str) -> Document:
        """The certificate that a release made again would get."""
        summary = ReleaseSummary.for_certificate(release)
        input_digest = self.data.input_digest()
        return table_certificate(
            release, summary=summary, data_file={}, salt=salt, input_digest=input_digest
        )


def original_beside(
    shared: SharedFolder,
    data: Any = None,
    trusted_key: Path | None = None,
    inputs: ReplayInputs = ReplayInputs(),
) -> Original:
    """What is at hand besides a shared folder."""
    kind = Original
    if shared.certificate["shape"] == Shape.TABLE:
        kind = TableOriginal
    return kind(shared, data, trusted_key, inputs)


# Making a release again.


POLICIES = "policies.parquet"
"""In the owner's folder: which kind of policy each row of the original was released under."""


def with_policies(original: Any, owner: Path | None) -> Any:
    """The original with the column that says which policy each person has, where the release was
    made under such.
    """
    if owner is None or not (owner / POLICIES).is_file():
        return original
    try:
        kinds = pl.read_parquet(owner / POLICIES)
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableLock(f"{owner / POLICIES} cannot be read") from None
    # not of this original: without them it is compared as it is
    if len(kinds) != len(original) or set(kinds.columns) & set(original.columns):
        return original
    return original.with_columns({name: kinds[name] for name in kinds.columns})


def read_lock(owner: Path | None) -> Document | None:
    """The owner's lock; None where there is none."""
    if owner is None or not (owner / "lock.json").is_file():
        return None
    try:
        loaded = json.loads((owner / "lock.json").read_text(encoding="utf-8"))
    except ValueError:
        raise UnreadableLock(f"{owner / 'lock.json'} is not valid JSON") from None
    return loaded if isinstance(loaded, dict) else None


def locked_recipe(owner: Path | None, shape: Shape) -> Recipe | None:
    """The recipe of the owner's lock, which says how the original is read; None where none of this
    shape can be read.
    """
    lock = read_lock(owner)
    try:
        recipe = None if lock is None else recipes.any_from_dict(lock["recipe"])
    except (KeyError, SfumatoError):
        return None
    if recipe is not None and recipe.shape is shape:
        return recipe
    return None


def in_parts(certificate: Fields) -> bool:
    """Whether a released table was written in parts, since an engine held it."""
    return "parts" in certificate.get("data", {})


def as_released(certificate: Fields, original: Any) -> Any:
    """The original as its release was made: held by an engine where that is in parts, else in
    memory.
    """
    if in_parts(certificate):
        return LazyTable.of(original)
    return original.collected()


def _table_as_judged(shared: SharedFolder, original: Any, owner: Path | None) -> Table:
    """The original with the values that were distinguished when the release was made: promises
    compare with these.

    Of a table in parts the columns that promises look at, counted.
    """
    if in_parts(shared.certificate):
        # only combinations that promises look at; the rows may not fit into memory
        columns = shared.first.seen
        table: Table = original.counted(name for name in columns if name in original.columns)
    else:
        table = _as_taken_in(original, locked_recipe(owner, original.shape))
    made_for = _made_for(shared.certificate, read_lock(owner))
    if made_for is None:
        return table
    return made_one(table, made_for)[0]


def _as_taken_in(original: Table, recipe: Recipe | None) -> Table:
    """The original in the form that its recipe alone decides, where a step accounts for an ε; as it
    is otherwise.
    """
    # with an ε, types and labels follow from the recipe alone, and promises compare with those
    if (
        recipe is None
        or not accounts(recipe.steps, recipe.schema)
        or not original.has(recipe.schema.attributes)
    ):
        return original
    return in_fixed_form(original, recipe)


def _made_for(certificate: Fields, lock: Fields | None) -> str | None:
    """The format the release was made for, which may be another than it was written in."""
    # where no lock says it, it is the format of the file
    format_name = (lock or {}).get("made_for", certificate["data"].get("format"))
    if format_name is None:
        return format_name
    return require_format(format_name)


def _replay(original: Original) -> Replayed:
    """Make the release again from the original, the recipe and the seed, and compare."""
    shared, lock, inputs = original.shared, original.lock, original.inputs
    if original.data is None:
        return Replayed("needs original", GIVE_ORIGINAL)
    if lock is None:
        return Replayed(
            "needs original", "give --owner with the lock file, which holds recipe and seed"
        )
    if lock.get("population_given") and inputs.population is None:
        return Replayed(
            "needs original", "give --population with the second table it was made with"
        )
    try:
        recipe, seed = recipes.any_from_dict(lock["recipe"]), Seed.of(lock["seed"])
        if recipe.shape is not shared.shape:
            return Replayed("fails", f"the lock is for data of shape {recipe.shape}")
        # draws of a certified ε come from the system and cannot be repeated
        if (words := unseeded(recipe, seed)) is not None:
            return Replayed("needs original", words)
        # what this process made need not be made twice, but only if the lock is about it
        own_release = _made_here(inputs.release, original.data_of_run(), lock)
        if own_release is None:
            return original.compare(original.make_again(recipe, lock))
        replayed = original.compare(own_release)
    # an edited or foreign lock: no error, the claim fails
    except KeyError:
        return Replayed("fails", "the lock lacks what is needed to repeat the release")
    # an unreadable file of the owner is no fault of the release
    except UnreadableLock:
        raise
    except SfumatoError as error:
        return Replayed("fails", f"the release cannot be repeated: {error}")
    if replayed.same:
        return dataclasses.replace(replayed, detail=MADE_HERE)
    return replayed


def _made_here(release: TableRelease | None, original: Any, lock: Fields) -> TableRelease | None:
    """What this process has made and written, where the lock is that of it and of this original."""
    if (
        release is None
        or not is_locked(release, lock)
        or lock["input_sha256"] != original.input_digest()
    ):
        return None
    return release


def unseeded(recipe: Recipe, seed: Seed) -> str | None:
    """Why a release cannot be made again, or None: some draws are kept nowhere."""
    steps = [step.name for step in recipe.steps if not step.replayable]
    if not steps or seed.rehearsal:
        return None
    return (
        f"{', '.join(steps)} uses random numbers of the system and records nothing to repeat them"
    )


@dataclasses.dataclass(frozen=True)
class AsCertified(Memory):
    """What a certificate says of all releases of the same people; only the register that was asked
    knows better.
    """

    certificate: Fields

    # the register is not at hand, so what it said is taken from the certificate
    def kept(self, limit: float, pair: TablePair) -> Kept:
        """As it is certified."""
        entry = next(
            (
                limit_entry
                for limit_entry in self.certificate["limits"]
                if about_all_releases(limit_entry["name"])
            ),
            None,
        )
        if entry is None or not isinstance(entry["value"], int | float):
            raise UnreadableInput(
                "the certificate lacks what the release reveals together with earlier ones"
            )
        return Kept(entry["name"], float(entry["value"]), limit, bool(entry["holds"]), "")


def make_table_again(
    certificate: Fields,
    original: Any,
    recipe: Recipe,
    lock: Fields,
    context: ReplayInputs,
) -> TableRelease:
    """The release that a recipe and a seed make of a table."""
    options: Document = {"seed": Seed.of(lock["seed"]), "shuffle": certificate["shuffled"]}
    # what columns imply is a claim of its own
    options |= {
        "population": context.population,
        "implied": False,
    }
    if not in_parts(certificate):
        options |= {"format": _made_for(certificate, lock), "memory": AsCertified(certificate)}
    release: TableRelease = make_release(original.described_by(recipe), recipe, Context(**options))
    return release


def _make_people_again(
    certificate: Fields, original: Data, recipe: Recipe, lock: Fields
) -> Release:
    """The release that a recipe and a seed make of people who are described by more than a row."""
    context = Context(
        Seed.of(lock["seed"]),
        shuffle=certificate["shuffled"],
        format=lock["made_for"],
        # a broken promise is compared, not refused: verify tells it
        refuse=False,
    )
    release: Release = make_release(original, recipe, context)
    return release


def _compare_files(release: Release, certificate: Fields) -> tuple[bool, str]:
    """Whether a release gives the files that stand; another version may write the same values in
    other bytes.
    """
    table_sections = sections(certificate)
    with tempfile.TemporaryDirectory() as folder:
        first = next(iter(table_sections.values()))
        defused = bool(first.get("form", {}).get("defused"))
        sections_again = write_tables(release, Path(folder), first["format"], defuse=defused)
    # both in the same order of tables; only digests are compared, the files are gone
    digests = [
        {name: section["sha256"] for name, section in tables.items()}
        for tables in (sections_again, table_sections)
    ]
    if digests[0] == digests[1]:
        return True, "produced again from recipe and seed, byte for byte"
    if certificate["versions"] != versions():
        return (
            False,
            (
                "repeated by other versions than its certificate names, and not the same; install "
                "those versions"
            ),
        )
    return False, "the recipe produces other files than were released"


def is_same(release: Any, released: Any, certificate: Fields) -> bool:
    """Whether a release of a table holds the same rows as the one that stands, whatever their
    order.
    """
    if in_parts(certificate):
        # a sum of keyed row hashes does not depend on the order of rows
        # nobody could make a table that suits them
        keys = (
            secrets.randbits(63),
            secrets.randbits(63),
        )
        has_same_columns = release.table.columns == released.columns
        return has_same_columns and _adds_up_to(release.table, keys) == _adds_up_to(released, keys)
    rows = _rows_as_text(released)
    if release.released.columns == released.columns and _rows_as_text(release.released).equals(
        rows
    ):
        return True  # as a rule the file gives the values back as they were
    # a format may change values (a day becomes text): compare what it gives back
    table = _as_written(release.released, certificate)
    return table.columns == released.columns and _same_rows(_rows_as_text(table), rows)


def _is_in_order(release: Any, released: Any, certificate: Fields) -> bool:
    """Whether the same rows stand in the same order; ``is_same`` asked for the rows before."""
    if in_parts(certificate):
        return _hash_in_order(release.table) == _hash_in_order(released)
    rows = _rows_as_text(released)
    if _rows_as_text(release.released).equals(rows):
        return True
    return _rows_as_text(_as_written(release.released, certificate)).equals(rows)


def _hash_in_order(table: LazyTable) -> str:
    digest = hashlib.sha256()
    for rows in table.batches():
        # row by row, so that batches of other sizes give the same digest
        digest.update(rows.to_polars().hash_rows().to_numpy().tobytes())
    return digest.hexdigest()


def _adds_up_to(table: LazyTable, keys: tuple[int, int]) -> str:
    total = Fingerprint(table.columns, keys)
    for rows in table.batches():
        total.see(rows.to_polars())
    return total.text


def _as_written(table: Table, certificate: Fields) -> Table:
    """The table as a file of the certified format gives it back; as it is where no certificate says
    how a file is read.
    """
    data = certificate["data"]
    if "types" not in data.get("form", {}):
        return table
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / data["file"]
        form = write_table(table.to_polars(), file, table.source, format=data["format"])
        return Table(read_written(file, form)[0])  # type: ignore[arg-type]


def _rows_as_text(dataset: Table) -> pl.DataFrame:
    """All cells as text; columns are numbered, for the name of one may mean something else to a
    frame, as "*" and "len" do.
    """
    columns = [dataset.column(name).alias(str(index)) for index, name in enumerate(dataset.columns)]
    return pl.DataFrame(
        [c.bin.encode("hex") if c.dtype == pl.Binary else c.cast(pl.String) for c in columns]
    )


def _same_rows(left_rows: pl.DataFrame, right_rows: pl.DataFrame) -> bool:
    """Whether two tables of text hold the same rows, whatever their order."""
    # as a rule the seed gives the order too, and sorting takes longest
    if left_rows.equals(right_rows):
        return True
    # counts of equal rows: duplicates must come as often, the order is free
    row_counts = [rows.group_by(pl.all()).len().sort(pl.all()) for rows in (left_rows, right_rows)]
    return row_counts[0].equals(row_counts[1])
