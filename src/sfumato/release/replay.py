"""Checking a release against its original: the commitment opens, and the recipe gives the same rows again."""

from __future__ import annotations

import dataclasses
import json
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core.acceptance import accepted_pairs, read_acceptances
from sfumato.core.attack import Memory
from sfumato.core.data import Context
from sfumato.core.dataset import Dataset
from sfumato.core.model import finite
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Kept, Recipe
from sfumato.core.step import accounts
from sfumato.data.lazy.observed_values import Fingerprint
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.fixed_form import in_fixed_form
from sfumato.data.table.formats import require_format
from sfumato.data.table.indistinct import made_one
from sfumato.data.table.read import read_written
from sfumato.data.table.write import write_table
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.methods.formulas.dependence_search import LOOKED_FOR
from sfumato.release.documents import commitment, is_locked, told_drawn, versions
from sfumato.release.implied import not_accepted
from sfumato.release.limit_checks import about_all_releases
from sfumato.release.make import make_release
from sfumato.release.manifest import Claim, Status, near
from sfumato.release.release import Release
from sfumato.release.shaped.reading import sections
from sfumato.release.shaped.writing import write_tables
from sfumato.release.table_release import TableRelease
from sfumato.release.verification import AGAINST_ORIGINAL

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.pair import Pair
    from sfumato.core.shape import Shape
    from sfumato.release.release import Release

MADE_HERE = "row for row what this run made from recipe and seed; sfumato verify makes it again"
NEEDS_REGISTER = "it compares with earlier releases, which a register knows: sfumato register check"


@dataclasses.dataclass(frozen=True)
class Replay:
    """How a release of one shape is made again and compared, and what its claims call the rows."""

    rows: str
    """What is released, as the claim calls it."""
    make: Callable[[Mapping[str, Any], Any, Recipe, Mapping[str, Any], ReplayInputs], Any]
    """The release that a recipe and a lock make of the original."""
    compare: Callable[[Any, Any, Mapping[str, Any]], tuple[bool, str]]
    """Whether a release that was made again is the one that stands, in words."""
    more: Callable[[Any, Mapping[str, Any]], list[Claim]]
    """What else a release that was made again tells of the certificate."""
    prepare: Callable[[Any, Path | None], Any] = lambda original, owner: original
    """The original with what the owner's folder adds to it."""
    left_out_last: bool = False
    """Whether the claim about who was left out is told after the promises."""


@dataclasses.dataclass(frozen=True)
class ReplayInputs:
    """What a release is made again with besides the original: the owner's folder, a second table, and what was made before."""

    owner: Path | None = None
    population: Dataset | None = None
    release: TableRelease | None = None


def claims_from_original(
    certificate: Mapping[str, Any], released: Any, original: Any, replay: Replay, context: ReplayInputs
) -> list[Claim]:
    """The claims that need the original, the owner's lock where it is given, and a second table if one was used."""
    drawn = "drawn_anew" in certificate
    name = f"{replay.rows} are those drawn from the original" if drawn else f"{replay.rows} are the recoded original"
    left_out = f"suppressed {released.units}"
    if original is None:
        names = ["input is the committed one", name]
        if not drawn:
            names.append(left_out)
        return [Claim(open_claim, "needs original", "give --original to check it") for open_claim in names]
    lock = read_lock(context.owner)
    try:
        opened = committed(certificate, original.input_digest(), lock)
    except (KeyError, TypeError, ValueError):
        raise UnreadableInput(f"{context.owner} holds a lock that does not go with the certificate") from None
    prepared = replay.prepare(original, context.owner)
    same, *more = _replayed(name, certificate, released, prepared, lock, replay, context)
    suppressed = Claim(left_out, *_suppressed(certificate, released, original))
    return [opened, same, *more, suppressed] if replay.left_out_last else [opened, same, suppressed, *more]


POLICIES = "policies.parquet"
"""In the owner's folder: which kind of policy each row of the original was released under."""


def with_policies(original: Any, owner: Path | None) -> Any:
    """The original with the column that says which policy each person has, where the release was made under such."""
    if owner is None or not (owner / POLICIES).is_file():
        return original
    try:
        kinds = pl.read_parquet(owner / POLICIES)
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableInput(f"{owner / POLICIES} cannot be read") from None
    if len(kinds) != len(original) or set(kinds.columns) & set(original.columns):
        return original
    return original.with_columns({name: kinds[name] for name in kinds.columns})


def read_lock(owner: Path | None) -> dict[str, Any] | None:
    """The owner's lock; None where there is none."""
    if owner is None or not (owner / "lock.json").is_file():
        return None
    try:
        loaded = json.loads((owner / "lock.json").read_text(encoding="utf-8"))
    except ValueError:
        raise UnreadableInput(f"{owner / 'lock.json'} is not valid JSON") from None
    return loaded if isinstance(loaded, dict) else None


def locked_recipe(owner: Path | None, shape: Shape) -> Recipe | None:
    """The recipe of the owner's lock, which says how the original is read; None where none of this shape can be read."""
    lock = read_lock(owner)
    try:
        recipe = None if lock is None else recipes.any_from_dict(lock["recipe"])
    except (KeyError, SfumatoError):
        return None
    return recipe if recipe is not None and recipe.shape is shape else None


def in_parts(certificate: Mapping[str, Any]) -> bool:
    """Whether a released table was written in parts, since an engine held it."""
    return "parts" in certificate.get("data", {})


def as_released(certificate: Mapping[str, Any], original: Any) -> Any:
    """The original as its release was made: held by an engine where that is in parts, else in memory."""
    return LazyTable.of(original) if in_parts(certificate) else original.collected()


def table_as_judged(
    certificate: Mapping[str, Any], original: Any, owner: Path | None, columns: Sequence[str]
) -> Dataset | None:
    """The original with the values that were told apart when the release was made: promises compare with these.

    Of a table in parts the ``columns`` that promises look at, counted.
    """
    if original is None:
        return None
    if in_parts(certificate):
        table: Dataset = original.counted(name for name in columns if name in original.columns)
    else:
        table = _as_taken_in(original, locked_recipe(owner, original.shape))
    made_for = _made_for(certificate, read_lock(owner))
    return table if made_for is None else made_one(table, made_for)[0]


def _as_taken_in(original: Dataset, recipe: Recipe | None) -> Dataset:
    """The original in the form that its recipe alone decides, where a step accounts for an ε; as it is otherwise."""
    if recipe is None or not accounts(recipe.steps, recipe.schema) or not original.has(recipe.schema.attributes):
        return original
    return in_fixed_form(original, recipe)


def _made_for(certificate: Mapping[str, Any], lock: Mapping[str, Any] | None) -> str | None:
    """The format the release was made for, which may be another than it was written in."""
    found = (lock or {}).get("made_for", certificate["data"].get("format"))
    return found if found is None else require_format(found)


def committed(certificate: Mapping[str, Any], digest: str, lock: Mapping[str, Any] | None) -> Claim:
    """Whether an input with this digest is the one that a release was made from, as far as the lock is at hand."""
    name = "input is the committed one"
    if lock is None:
        return Claim(name, "needs original", "give --owner with the lock file, which holds the salt")
    fits = commitment(digest, lock["salt"]) == certificate["input_commitment"]["value"]
    return Claim(
        name,
        "holds" if fits else "fails",
        "the commitment opens" if fits else "this is not the input that was committed to",
    )


def _replayed(
    name: str,
    certificate: Mapping[str, Any],
    released: Any,
    original: Any,
    lock: Mapping[str, Any] | None,
    replay: Replay,
    context: ReplayInputs,
) -> list[Claim]:
    """Make the release again from the original, the recipe and the seed, and compare; the first claim is that it is the same.

    One that this process has made is compared as it is.
    """
    if lock is None:
        return [Claim(name, "needs original", "give --owner with the lock file, which holds recipe and seed")]
    if lock.get("population_given") and context.population is None:
        return [Claim(name, "needs original", "give --population with the second table it was made with")]
    try:
        recipe, seed = recipes.any_from_dict(lock["recipe"]), Seed.of(lock["seed"])
        if recipe.shape is not released.shape:
            return [Claim(name, "fails", f"the lock is about data of shape {recipe.shape}")]
        if (words := unseeded(recipe, seed)) is not None:
            return [Claim(name, "needs original", words)]
        again = _made_here(context.release, original, lock)
        here = again is not None
        if again is None:
            again = replay.make(certificate, original, recipe, lock, context)
        same, words = replay.compare(again, released, certificate)
    except KeyError:
        return [Claim(name, "fails", "the lock lacks what a release is made again from")]
    except SfumatoError as error:
        return [Claim(name, "fails", f"the release cannot be made again: {error}")]
    claim = Claim(name, "holds" if same else "fails", MADE_HERE if same and here else words)
    return [claim, *replay.more(again, certificate), *kept_again(again, certificate, same=same)]


def _made_here(release: TableRelease | None, original: Any, lock: Mapping[str, Any]) -> TableRelease | None:
    """What this process has made and written, where the lock is that of it and of this original."""
    if release is None or not is_locked(release, lock) or lock["input_sha256"] != original.input_digest():
        return None
    return release


def _implied_again(again: TableRelease, certificate: Mapping[str, Any]) -> list[Claim]:
    """Whether released columns undo the release, but for pairs that the certificate says were accepted.

    Nothing is said where nothing was hidden that a column could tell, and where an ε is accounted for: there nothing may be decided so.
    """
    implied = again.implied
    if not implied.found.compared or not implied.decides:
        return []
    name = f"released columns beside the labels{AGAINST_ORIGINAL}"
    said = accepted_pairs(read_acceptances(certificate["recipe"].get("accept")))
    if undoing := not_accepted(implied, set(said)):
        told = "they tell more of quasi-identifiers than the released labels, and the certificate does not say that this was accepted"
        return [Claim(name, "fails", f"{told}: {'; '.join(undoing)}")]
    accepted = [each.pair for each in implied.found.found if implied.is_accepted(each)]
    told = f"looked for {LOOKED_FOR} in {implied.found.compared:,} pairs; found none of these kinds"
    if accepted:
        told = f"looked for {LOOKED_FOR} in {implied.found.compared:,} pairs; accepted: {'; '.join(accepted)}"
    if implied.found.unknown:
        told += f"; too few records tell of {len(implied.found.unknown):,} pairs"
    return [Claim(name, "holds", told + implied.sampled)]


def _drawn_again(again: TableRelease, certificate: Mapping[str, Any]) -> list[Claim]:
    """Whose the rows are, beside what the certificate says of it; nothing where they are people's and it says nothing else."""
    found = told_drawn(again, again.certified) if again.released.drawn else None
    said = certificate.get("drawn_anew")
    if found is None and said is None:
        return []
    name = f"whose the rows are{AGAINST_ORIGINAL}"
    if found != said:
        return [Claim(name, "fails", "the certificate says otherwise whose they are, or who was learnt from")]
    return [Claim(name, "holds", "drawn anew, nobody's; learnt from as many people as said")]


def unseeded(recipe: Recipe, seed: Seed) -> str | None:
    """Why a release cannot be made again, or None: some draws are kept nowhere."""
    steps = [step.name for step in recipe.steps if not step.replayable]
    if not steps or seed.rehearsal:
        return None
    return f"{', '.join(steps)} draws from the system and keeps nothing to draw it again by"


@dataclasses.dataclass(frozen=True)
class AsCertified(Memory):
    """What a certificate says of all releases of the same people; only the register that was asked knows better."""

    certificate: Mapping[str, Any]

    def kept(self, limit: float, pair: Pair) -> Kept:
        """As it is certified."""
        said = next((known for known in self.certificate["limits"] if about_all_releases(known["name"])), None)
        if said is None or not isinstance(said["value"], int | float):
            raise UnreadableInput("the certificate does not say what the release tells together with earlier ones")
        return Kept(said["name"], float(said["value"]), limit, bool(said["holds"]), str(said["sentence"]))


def kept_again(again: Release, certificate: Mapping[str, Any], *, same: bool) -> list[Claim]:
    """The promises and limits of a release that was made again, beside what its certificate says of them."""
    claims = []
    for verdict, said in zip(again.verdicts, certificate["verdicts"], strict=False):
        fits = same and verdict.holds and near(finite(verdict.attained), said["attained"])
        fits = fits and verdict.of_persons == said.get("of_persons", True)
        name = f"{verdict.promise}{AGAINST_ORIGINAL}"
        claims.append(Claim(name, "holds" if fits else "fails", verdict.sentence, True))
    for limit, known in zip(again.limits, certificate["limits"], strict=False):
        if about_all_releases(limit.name):
            claims.append(Claim(f"{limit.label}{AGAINST_ORIGINAL}", "needs original", NEEDS_REGISTER, True))
            continue
        fits = same and limit.holds and near(finite(limit.value), known["value"])
        fits = fits and known.get("holds") is True and near(limit.limit, known.get("limit"))
        fits = fits and (limit.name, limit.parameters) == (known["name"], known.get("parameters", {}))
        name = f"{limit.label}{AGAINST_ORIGINAL}"
        claims.append(Claim(name, "holds" if fits else "fails", limit.sentence, True))
    return claims


def make_table_again(
    certificate: Mapping[str, Any], original: Any, recipe: Recipe, lock: Mapping[str, Any], context: ReplayInputs
) -> TableRelease:
    """The release that a recipe and a seed make of a table."""
    options: dict[str, Any] = {"seed": Seed.of(lock["seed"]), "shuffle": certificate["shuffled"]}
    options |= {"population": context.population, "implied": False}  # what columns imply is a claim of its own
    if not in_parts(certificate):
        options |= {"format": _made_for(certificate, lock), "memory": AsCertified(certificate)}
    release: TableRelease = make_release(original.described_by(recipe), recipe, Context(**options))
    return release


def _make_persons_again(
    certificate: Mapping[str, Any], original: Data, recipe: Recipe, lock: Mapping[str, Any], inputs: ReplayInputs
) -> Release:
    """The release that a recipe and a seed make of people who are described by more than a row."""
    context = Context(Seed.of(lock["seed"]), shuffle=certificate["shuffled"], format=lock["made_for"], refuse=False)
    release: Release = make_release(original, recipe, context)
    return release


def _same_files(again: Release, released: Data, certificate: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a release gives the files that stand; another version may write the same values in other bytes."""
    said = sections(certificate)
    with tempfile.TemporaryDirectory() as place:
        first = next(iter(said.values()))
        defused = bool(first.get("form", {}).get("defused"))
        written = write_tables(again, Path(place), first["format"], defuse=defused)
    digests = [{name: section["sha256"] for name, section in tables.items()} for tables in (written, said)]
    if digests[0] == digests[1]:
        return True, "made again from recipe and seed, byte for byte"
    if certificate["versions"] != versions():
        return False, "made again by other versions than its certificate names, and not the same; install those"
    return False, "the recipe gives other files than were released"


def _same_rows_again(again: TableRelease, released: Any, certificate: Mapping[str, Any]) -> tuple[bool, str]:
    if is_same(again, released, certificate):
        return True, "made again from recipe and seed, row for row"
    return False, "the recipe gives other rows than were released"


def is_same(again: Any, released: Any, certificate: Mapping[str, Any]) -> bool:
    """Whether a release of a table holds the same rows as the one that stands, whatever their order."""
    if in_parts(certificate):
        keys = (secrets.randbits(63), secrets.randbits(63))  # nobody could make a table that suits them
        same = again.table.columns == released.columns
        return same and _adds_up_to(again.table, keys) == _adds_up_to(released, keys)
    rows = _rows_as_text(released)
    if again.released.columns == released.columns and _rows_as_text(again.released).equals(rows):
        return True  # as a rule the file gives the values back as they were
    made = _as_written(again.released, certificate)
    return made.columns == released.columns and _same_rows(_rows_as_text(made), rows)


def _adds_up_to(table: LazyTable, keys: tuple[int, int]) -> str:
    total = Fingerprint(table.columns, keys)
    for rows in table.batches():
        total.see(rows.to_polars())
    return total.text


def _suppressed(certificate: Mapping[str, Any], released: Any, original: Any) -> tuple[Status, str]:
    if "drawn_anew" in certificate:
        return "holds", "none: the rows were drawn anew and stand for nobody"
    said, found = certificate[f"suppressed_{released.units}"], original.size - released.size
    if said is None:
        return "holds", "the certificate does not tell, so that the size of the original stays secret"
    if found == said:
        return "holds", f"{found:,} of {original.size:,}"
    return "fails", f"{found:,} are missing, {said:,} certified"


def _as_written(made: Dataset, certificate: Mapping[str, Any]) -> Dataset:
    """The table as a file of the certified format gives it back; as it is where no certificate says how a file is read."""
    data = certificate["data"]
    if "types" not in data.get("form", {}):
        return made
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / data["file"]
        form = write_table(made.to_polars(), file, made.source, format=data["format"])
        return Dataset(read_written(file, form)[0])  # type: ignore[arg-type]


def _rows_as_text(dataset: Dataset) -> pl.DataFrame:
    """All cells as text; columns are numbered, for the name of one may mean something else to a frame, as "*" and "len" do."""
    columns = [dataset.column(name).alias(str(place)) for place, name in enumerate(dataset.columns)]
    return pl.DataFrame([c.bin.encode("hex") if c.dtype == pl.Binary else c.cast(pl.String) for c in columns])


def _same_rows(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two tables of text hold the same rows, whatever their order."""
    if one.equals(other):  # as a rule the seed gives the order too, and sorting takes longest
        return True
    counted = [rows.group_by(pl.all()).len().sort(pl.all()) for rows in (one, other)]
    return counted[0].equals(counted[1])


def _about_rows(again: TableRelease, certificate: Mapping[str, Any]) -> list[Claim]:
    """Whose the rows are, and whether columns undo the release."""
    return [*_drawn_again(again, certificate), *_implied_again(again, certificate)]


TABLE_REPLAY = Replay("rows", make_table_again, _same_rows_again, _about_rows, prepare=with_policies)
PERSONS_REPLAY = Replay("people", _make_persons_again, _same_files, lambda again, certificate: [], left_out_last=True)
