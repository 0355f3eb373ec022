"""Checking a release against its original: the commitment opens, and the recipe gives the same rows again."""

from __future__ import annotations

import dataclasses
import json
import secrets
import tempfile
from collections.abc import Mapping, Sequence
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
from sfumato.data.table.run import describe_table
from sfumato.data.table.write import write_table
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.methods.formulas.dependence_search import LOOKED_FOR
from sfumato.release.documents import commitment, is_locked, told_drawn
from sfumato.release.implied import not_accepted
from sfumato.release.large import LargeRelease, make_large
from sfumato.release.limit_checks import about_all_releases
from sfumato.release.make import make_release
from sfumato.release.manifest import Claim, Status, near
from sfumato.release.table_release import TableRelease
from sfumato.release.verification import AGAINST_ORIGINAL

if TYPE_CHECKING:
    from sfumato.core.pair import Pair
    from sfumato.core.recipe import Recipe
    from sfumato.release.release import Release

MADE_HERE = "row for row what this run made from recipe and seed; sfumato verify makes it again"
NEEDS_REGISTER = "it compares with earlier releases, which a register knows: sfumato register check"


def claims_from_original(
    certificate: Mapping[str, Any],
    released: Dataset | LazyTable,
    original: Dataset | LazyTable | None,
    owner: Path | None,
    population: Dataset | None = None,
    release: TableRelease | None = None,
) -> list[Claim]:
    """The claims that need the original table, the owner's lock where it is given, and a second table if one was used.

    ``release`` is what was written, where this process has made it: it is not made a second time then.
    """
    if original is None:
        drawn = "drawn_anew" in certificate
        rows = (
            ("rows are those drawn from the original",)
            if drawn
            else ("rows are the recoded original", "suppressed records")
        )
        open_claims = ("input is the committed one", *rows)
        return [Claim(name, "needs original", "give --original to check it") for name in open_claims]
    lock = read_lock(owner)
    return [
        committed(certificate, digest_of_table(original), lock),
        *_replay(certificate, released, with_policies(original, owner), lock, population, release),
    ]


POLICIES = "policies.parquet"
"""In the owner's folder: which kind of policy each row of the original was released under."""


def with_policies(original: Dataset | LazyTable, owner: Path | None) -> Dataset | LazyTable:
    """The original with the column that says which policy each person has, where the release was made under such."""
    if isinstance(original, LazyTable) or owner is None or not (owner / POLICIES).is_file():
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


def locked_recipe(owner: Path | None) -> Recipe | None:
    """The recipe of the owner's lock, which says how the original is read; None where there is no lock to be read."""
    lock = read_lock(owner)
    try:
        return None if lock is None else recipes.from_dict(lock["recipe"])
    except (KeyError, SfumatoError):
        return None


def as_released(certificate: Mapping[str, Any], original: Dataset | LazyTable) -> Dataset | LazyTable:
    """The original as its release was made: held by an engine where that is in parts, else in memory."""
    if "parts" not in certificate["data"]:
        return original if isinstance(original, Dataset) else original.collected()
    if isinstance(original, LazyTable):
        return original
    return LazyTable(original.to_polars().lazy(), schema=original.schema, source=original.source)  # type: ignore[arg-type]


def as_judged(
    certificate: Mapping[str, Any], original: Dataset | LazyTable | None, owner: Path | None, seen: Sequence[str]
) -> Dataset | None:
    """The original with the values that were told apart when the release was made: promises compare with these.

    Of a table that an engine holds the columns that were ``seen``, counted.
    """
    if isinstance(original, LazyTable):
        original = original.counted(name for name in seen if name in original.columns)
    elif original is not None:
        original = _as_taken_in(original, locked_recipe(owner))
    made_for = _made_for(certificate, read_lock(owner))
    return original if original is None or made_for is None else made_one(original, made_for)[0]


def _as_taken_in(original: Dataset, recipe: Recipe | None) -> Dataset:
    """The original in the form that its recipe alone decides, where a step accounts for an ε; as it is otherwise."""
    if recipe is None or not accounts(recipe.steps, recipe.schema) or not original.has(recipe.schema.attributes):
        return original
    return in_fixed_form(original, recipe)


def _made_for(certificate: Mapping[str, Any], lock: Mapping[str, Any] | None) -> str | None:
    """The format the release was made for, which may be another than it was written in."""
    found = (lock or {}).get("made_for", certificate["data"].get("format"))
    return found if found is None else require_format(found)


def digest_of_table(original: Dataset | LazyTable) -> str:
    """The digest of a table that a release commits to."""
    return original.digest if isinstance(original, LazyTable) else original.input_digest()


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


def _replay(
    certificate: Mapping[str, Any],
    released: Dataset | LazyTable,
    original: Dataset | LazyTable,
    lock: Mapping[str, Any] | None,
    population: Dataset | None,
    release: TableRelease | None,
) -> list[Claim]:
    """Make the release again from the original, the recipe and the seed, and compare; one that this process has made is compared as it is."""
    name = "rows are those drawn from the original" if "drawn_anew" in certificate else "rows are the recoded original"
    suppressed = Claim("suppressed records", *_suppressed(certificate, released, original))
    if lock is None:
        return [
            Claim(name, "needs original", "give --owner with the lock file, which holds recipe and seed"),
            suppressed,
        ]
    if lock.get("population_given") and population is None:
        return [Claim(name, "needs original", "give --population with the second table it was made with"), suppressed]
    try:
        recipe, seed = recipes.from_dict(lock["recipe"]), Seed.of(lock["seed"])
        if (told := unseeded(recipe, seed)) is not None:
            return [Claim(name, "needs original", told), suppressed]
        told = "made again from recipe and seed, row for row"
        if release is not None and is_locked(release, lock) and lock["input_sha256"] == digest_of_table(original):
            again, told = release, MADE_HERE
        else:
            again = made_again(certificate, original, recipe, seed, population, _made_for(certificate, lock))
        same = is_same(again, released, certificate)
    except SfumatoError as error:
        return [Claim(name, "fails", f"the release cannot be made again: {error}"), suppressed]
    told = told if same else "the recipe gives other rows than were released"
    claims = [Claim(name, "holds" if same else "fails", told), suppressed, *_drawn_again(again, certificate)]
    return [*claims, *_implied_again(again, certificate), *kept_again(again, certificate, same=same)]


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


def kept_again(again: TableRelease | Release, certificate: Mapping[str, Any], *, same: bool) -> list[Claim]:
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


def made_again(
    certificate: Mapping[str, Any],
    original: Dataset | LazyTable,
    recipe: Recipe,
    seed: Seed,
    population: Dataset | None,
    made_for: str | None,
) -> TableRelease:
    """The release that a recipe and a seed make of the original."""
    options: dict[str, Any] = {"seed": seed, "shuffle": certificate["shuffled"], "population": population}
    options["implied"] = False  # a claim of its own
    if isinstance(original, LazyTable):
        return make_large(original.described(recipe.schema, recipe.intake), recipe, Context(**options))
    context = Context(format=made_for, memory=AsCertified(certificate), **options)
    release: TableRelease = make_release(describe_table(original, recipe), recipe, context)
    return release


def is_same(again: TableRelease, released: Dataset | LazyTable, certificate: Mapping[str, Any]) -> bool:
    """Whether a release holds the same rows as the one that stands, whatever their order."""
    if isinstance(again, LargeRelease) and isinstance(released, LazyTable):
        keys = (secrets.randbits(63), secrets.randbits(63))  # nobody could make a table that suits them
        same = again.table.columns == released.columns
        return same and _adds_up_to(again.table, keys) == _adds_up_to(released, keys)
    if not isinstance(released, Dataset):
        return False
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


def _suppressed(
    certificate: Mapping[str, Any], released: Dataset | LazyTable, original: Dataset | LazyTable
) -> tuple[Status, str]:
    found = original.records - released.records
    if "drawn_anew" in certificate:
        return "holds", "none: the rows were drawn anew and stand for nobody"
    if certificate["suppressed_records"] is None:
        return "holds", "the certificate does not tell, so that the size of the original stays secret"
    if found == certificate["suppressed_records"]:
        return "holds", f"{found:,} of {original.records:,}"
    return "fails", f"{found:,} are missing, {certificate['suppressed_records']:,} certified"


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
