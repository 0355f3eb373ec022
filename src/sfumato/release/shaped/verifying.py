"""Checking a release of people who are no table without trusting who made it, and reading one back to look closer."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.data import Context, Data, is_shaped
from sfumato.core.evidence import judge_all
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe, columns_in_recipe
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.shape import PEOPLE, Shape
from sfumato.data.table.form import runnable_cells
from sfumato.errors import ParameterError, ReleaseRefused, SfumatoError, UnreadableInput
from sfumato.release.certificates import read_any_certificate, shape_of
from sfumato.release.consistency import inside_claim, made_by_this_version
from sfumato.release.documents import versions
from sfumato.release.folder import Folder, read_alignment, read_json, read_owner_record, require_both
from sfumato.release.make import make_release
from sfumato.release.manifest import Claim, folder_claim, own_file, require_plain_file
from sfumato.release.read_back import read_described
from sfumato.release.replay import committed, kept_again, read_lock, unseeded
from sfumato.release.report.wording import counts_in_words
from sfumato.release.shaped.accounted import COLUMNS, accounted_for
from sfumato.release.shaped.reading import (
    TableRead,
    as_released,
    people_of,
    read_released,
    require_roles,
    sections,
    tables_for,
    with_origin,
)
from sfumato.release.shaped.writing import ALIGNMENT, PERSON, read_alignments, write_tables
from sfumato.release.verification import Verification, without_replayed
from sfumato.release.verify import edited, promise_claim, promises_of, report_of, signature, unchanged

if TYPE_CHECKING:
    from sfumato.core.model import Verdict
    from sfumato.core.source import Intake
    from sfumato.release.release import Release

OPEN = ("input is the committed one", "people are the recoded original", "suppressed people")
"""What only the original tells."""


def verify_people(
    folder: Path, *, original: Data | None = None, owner: Path | None = None, trusted_key: Path | None = None
) -> Verification:
    """Recompute what a certificate claims: from the shared files alone, and from the original where it is given."""
    certificate = read_any_certificate(folder)
    shape = shape_of(certificate)
    if original is not None and original.shape is not shape:
        raise ParameterError(
            f"{folder} holds a release of shape {shape}, and the original given is of shape {original.shape}"
        )
    files = {name: require_plain_file(folder, own_file(section)) for name, section in sections(certificate).items()}
    listed = folder_claim(certificate, folder)
    claims = [edited(certificate), signature(certificate, trusted_key), listed]
    said = sections(certificate)
    claims += [unchanged(said[name], file, f"{name} file unedited") for name, file in files.items()]
    try:
        released = read_released(folder, certificate, shape)
    except SfumatoError as error:
        claims.append(Claim("readable data", "fails", str(error)))
        return Verification.of(folder, claims, certificate, trusted_key)
    released = released.described_further(_hierarchies(certificate))
    claims += [_counts(certificate, released), *_tables(certificate, files)]
    claims += [*_accounted(certificate, released), report_of(certificate, folder, listed)]
    claims += [Claim(name, "holds", words) for name, words in released.proven().items()]
    alike = made_by_this_version(certificate)
    promises = promises_of(
        certificate, lambda spec, said: _promised(spec, said, released, original, shape, alike=alike)
    )
    again = _from_original(certificate, released, original, owner)
    claims += without_replayed(promises, again)
    claims += again
    return Verification.of(folder, claims, certificate, trusted_key)


def verify_given(
    folder: Path,
    certificate: Mapping[str, Any],
    *,
    original: Any = None,
    owner: Path | None = None,
    people: Any = None,
    said: Intake | None = None,
    **options: Any,
) -> Verification:
    """The same with an original that may be a path, which is read as the owner's lock says."""
    if original is not None and not is_shaped(original):
        original = original_of(original, certificate, owner, people=people, said=said)
    return verify_people(folder, original=original, owner=owner, **options)


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
    return Attribute((Role.SENSITIVE,), hierarchy=None if kept else registry.build("hierarchies", spec["hierarchy"]))


def _accounted(certificate: Mapping[str, Any], released: Data) -> list[Claim | None]:
    """What the recipe accounts for; an edited certificate may lack anything."""
    try:
        return list(accounted_for(certificate, released))
    except (KeyError, TypeError, ValueError, AttributeError):
        return [Claim(COLUMNS, "fails", "the certificate lacks what its tables are held against")]


def _counts(certificate: Mapping[str, Any], released: Data) -> Claim:
    found, said = released.counts(), certificate["counts"]
    if found == said:
        return Claim("counts", "holds", f"{counts_in_words(found)} as said")
    return Claim("counts", "fails", f"{counts_in_words(found)} found, {counts_in_words(said)} certified")


def _tables(certificate: Mapping[str, Any], files: Mapping[str, Path]) -> list[Claim | None]:
    """Rows, columns and cells that a spreadsheet would run, of every table."""
    claims: list[Claim | None] = []
    for name, file in files.items():
        section = sections(certificate)[name]
        frame, _ = read_described(file, section, lists=True)
        fits = frame.height == section["rows"] and frame.columns == list(section["columns"])
        claims.append(inside_claim(certificate, section, file))
        told = f"{frame.height:,} rows, {frame.width} columns" + (" as said" if fits else " are not what is certified")
        claims.append(Claim(f"rows and columns of {name}", "holds" if fits else "fails", told))
        if section.get("formulas") not in (None, runnable_cells(frame)):
            claims.append(Claim("formulas", "fails", "cells that a spreadsheet would run are not those certified"))
    return claims


def _promised(
    spec: Any, said: Mapping[str, Any], released: Data, original: Data | None, shape: Shape, *, alike: bool
) -> Claim:
    if recipes.keeps_back("models", spec, shape):
        return Claim(said["promise"], "needs original", "it needs the values that the owner's recipe lists", True)
    try:
        model = registry.build("models", spec, shape=shape)
        if model.name != said["model"]:
            return Claim(said["promise"], "fails", "the certificate's recipe names another promise", True)
        if model.compares:
            told = "it compares the release with the original, and who is who is known to the owner alone"
            return Claim(model.promise, "needs original", told, True)
        if (lacking := model.lacking(released)) is not None:
            return Claim(model.promise, "needs original", lacking, True)
        (found,) = judge_all(released.evidence([model], original=original), [model])
    except SfumatoError as error:
        return Claim(said["promise"], "fails", f"it cannot be judged on the released files: {error}", True)
    return promise_claim(found, said, alike=alike)


# Against the original: the commitment opens, and the recipe gives the same files again, byte for byte.


def _from_original(
    certificate: Mapping[str, Any], released: Data, original: Data | None, owner: Path | None
) -> list[Claim]:
    if original is None:
        return [Claim(name, "needs original", "give --original to check it") for name in OPEN]
    lock = read_lock(owner)
    try:
        opened = committed(certificate, original.input_digest(), lock)
    except (KeyError, TypeError, ValueError):
        raise UnreadableInput(f"{owner} holds a lock that does not go with the certificate") from None
    return [opened, *_replayed(certificate, original, lock), _left_out(certificate, released, original)]


def _left_out(certificate: Mapping[str, Any], released: Data, original: Data) -> Claim:
    name, said, found = OPEN[2], certificate["suppressed_people"], original.people - released.people
    if said is None:
        return Claim(name, "holds", "the certificate does not tell, so that the size of the original stays secret")
    if found == said:
        return Claim(name, "holds", f"{found:,} of {original.people:,}")
    return Claim(name, "fails", f"{found:,} are missing, {said:,} certified")


def _replayed(certificate: Mapping[str, Any], original: Data, lock: Mapping[str, Any] | None) -> list[Claim]:
    """Make the release again from the original, the recipe and the seed, and compare the files."""
    name = OPEN[1]
    if lock is None:
        return [Claim(name, "needs original", "give --owner with the lock file, which holds recipe and seed")]
    try:
        recipe, seed = recipes.any_from_dict(lock["recipe"]), Seed.of(lock["seed"])
        if recipe.shape is Shape.TABLE:
            return [Claim(name, "fails", "the lock is about a table")]
        if (told := unseeded(recipe, seed)) is not None:
            return [Claim(name, "needs original", told)]
        context = Context(seed, shuffle=certificate["shuffled"], refuse=False, format=lock["made_for"])
        again = make_release(original, recipe, context)
        same, told = _same_files(again, certificate)
    except KeyError:
        return [Claim(name, "fails", "the lock lacks what a release is made again from")]
    except SfumatoError as error:
        return [Claim(name, "fails", f"the release cannot be made again: {error}")]
    return [Claim(name, "holds" if same else "fails", told), *kept_again(again, certificate, same=same)]


def _same_files(again: Release, certificate: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a release gives the files that stand; another version may write the same values in other bytes."""
    said = sections(certificate)
    with tempfile.TemporaryDirectory() as place:
        first = next(iter(said.values()))
        defused = bool(first.get("form", {}).get("defused"))
        written = write_tables(again, Path(place), first["format"], defuse=defused)
        if {name: one["sha256"] for name, one in written.items()} == {
            name: one["sha256"] for name, one in said.items()
        }:
            return True, "made again from recipe and seed, byte for byte"
    if certificate["versions"] != versions():
        return False, "made again by other versions than its certificate names, and not the same; install those"
    return False, "the recipe gives other files than were released"


# A written release read back, for attacks and comparisons with the original.


class PeopleFolder(Folder):
    """The folder a release of people who are no table was written to."""

    released: Data
    recipe: Recipe

    def beside(self, original: Data) -> Data:
        """The released people with who they were, as the owner's alignment says; another original is refused."""
        file = self.folder / "owner" / ALIGNMENT
        origin = read_alignment(file, self.released.people, original.people, PERSON)
        self.require_committed(original.source.name, [original.input_digest()])
        kept = read_alignments(self.folder / "owner", self.released.schemas)
        return with_origin(self.released, origin).with_alignment(kept)


def original_of(
    data: Any, certificate: Mapping[str, Any], owner: Path | None, *, people: Any = None, said: Intake | None = None
) -> Data:
    """The original of a release, read as the owner's lock says, or its certificate where there is none."""
    recipe, lock = locked_recipe(owner) or public_recipe(certificate), read_lock(owner) or {}
    made_for = lock.get("made_for", next(iter(sections(certificate).values()))["format"])
    return people_of(data, recipe, people=people, said=said, format=made_for)


def read_people_release(folder: Path) -> PeopleFolder:
    """Read back what ``run`` wrote: ``share/`` and ``owner/`` must both be there."""
    require_both(folder)
    certificate = read_any_certificate(folder / "share")
    record = read_owner_record(folder / "owner", certificate)
    recipe = locked_recipe(folder / "owner")
    if recipe is None:
        raise UnreadableInput(f"{folder / 'owner' / 'lock.json'} holds no recipe that can be read")
    released = read_released(folder / "share", certificate, shape_of(certificate))
    return PeopleFolder(folder, certificate, record, released, recipe)


def locked_recipe(owner: Path | None) -> Recipe | None:
    """The recipe of the owner's lock, which says how the original is read; None where there is no lock to be read."""
    if owner is None or not (owner / "lock.json").is_file():
        return None
    try:
        recipe = recipes.any_from_dict(read_json(owner / "lock.json")["recipe"])
    except (KeyError, SfumatoError):
        return None
    return None if recipe.shape is Shape.TABLE else recipe


def public_recipe(certificate: Mapping[str, Any]) -> Recipe:
    """What a certificate says of the columns of the original, without what its owner keeps; no promises and no steps."""
    said = certificate["recipe"]
    plain: dict[str, Any] = {**_shown_columns(said), "meet": [], "steps": [], "limits": {}, "contract": []}
    plain |= {PEOPLE: _shown_columns(said[PEOPLE])} if said.get(PEOPLE) is not None else {}
    plain |= {"tables": {n: _shown_columns(one) for n, one in said["tables"].items()}} if "tables" in said else {}
    try:
        recipe = recipes.any_from_dict(plain)
    except SfumatoError:
        recipe = None
    if recipe is None or recipe.shape is Shape.TABLE:
        raise UnreadableInput("the certificate does not say how its original is read; give --owner with the lock file")
    return recipe


def _shown_columns(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a table, but for what lists values of its columns."""
    if "columns" not in said:
        return dict(said)
    columns = {
        name: {key: value for key, value in spec.items() if key not in ("hierarchy", "order")}
        for name, spec in said["columns"].items()
    }
    return {**said, "columns": columns}


# Judging a released file by a recipe: the gate of a pipeline.


def check_people(
    data: Any,
    recipe: Recipe,
    *,
    people: Any = None,
    said: Intake | None = None,
    original: Data | None = None,
) -> tuple[Verdict, ...]:
    """Judge released data by a recipe: direct identifiers must be gone, promises must hold."""
    if not recipe.meet:
        raise ReleaseRefused(
            "the recipe promises nothing under 'meet', and an empty promise is not a promise: nothing about a released file can be "
            "checked by it; limits and contract need the original: sfumato attack, sfumato evaluate"
        )
    tables = _certified_tables(data, people, said) or _plain_tables(data, recipe, people, said)
    for name, table in tables.items():
        left = [c for c in recipe.schemas.get(name, recipe.schema).direct if c in table.frame.columns]
        if left:
            raise ReleaseRefused(f"{table.source.name} still holds direct identifiers: {', '.join(left)}")
    frames, source = {name: table.frame for name, table in tables.items()}, next(iter(tables.values())).source
    noun = registry.shaped(recipe.shape)
    schemas = noun.released_schemas(frames, {name: as_released(schema) for name, schema in recipe.schemas.items()})
    require_roles(tables, recipe.shape, schemas)
    released = noun.from_tables(frames, schemas, source)
    blind = [model.promise for model in recipe.meet if model.compares and original is None]
    if blind:
        raise ReleaseRefused(
            f"{' and '.join(blind)} is unknown: it compares the release with the original; give --original"
        )
    return judge_all(released.evidence(recipe.meet, original=original), recipe.meet)


def _plain_tables(data: Any, recipe: Recipe, people: Any, said: Intake | None) -> dict[str, TableRead]:
    return tables_for(data, recipe, people=people, said=said, intake=recipe.intake.layout)


def _certified_tables(data: Any, people: Any, said: Intake | None) -> dict[str, TableRead] | None:
    """The tables of a file beside the certificate that names it, or of its folder, read as it says; None for any other file."""
    if not isinstance(data, str | Path) or str(data) == "-" or people is not None or (said is not None and said.said()):
        return None
    folder = Path(data) if Path(data).is_dir() else Path(data).parent
    try:
        certificate = read_any_certificate(folder)
    except UnreadableInput:
        return None
    named = sections(certificate)
    first: Mapping[str, Any] = next(iter(named.values()), {"parts": []})
    if "parts" in first or (folder != Path(data) and first["file"] != Path(data).name):
        return None
    return {
        name: TableRead(*read_described(require_plain_file(folder, own_file(section)), section, lists=True))
        for name, section in named.items()
    }
