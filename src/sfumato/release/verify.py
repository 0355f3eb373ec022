"""Checking a release without trusting who made it.

From the shared folder alone: the file is the certified one, the certificate was not edited, the columns and rows are
as said, every promise holds with the attained value, the class sizes and risks are right. With the original: the
released rows are exactly the original ones recoded as the plan says, and the suppressed count is right. With the
owner's lock: the input is the one that was committed to.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sfumato import recipes, registry
from sfumato.assessment import assess
from sfumato.core.dataset import Dataset
from sfumato.core.evidence import gather
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Schema
from sfumato.errors import RecipeError, SfumatoError, UnreadableInput
from sfumato.io.read import read_table
from sfumato.release.documents import CERTIFICATE_VERSION, commitment, digest_of
from sfumato.release.make import make_release
from sfumato.release.publish import digest_of_input, sha256_of
from sfumato.release.signature import signature_holds

if TYPE_CHECKING:
    from sfumato.core.model import Model

Status = Literal["holds", "fails", "needs original"]
NEAR = 1e-9


@dataclasses.dataclass(frozen=True)
class Claim:
    """One thing a certificate says, and whether it is so."""

    name: str
    status: Status
    detail: str


@dataclasses.dataclass(frozen=True)
class Verification:
    """All claims of a certificate."""

    folder: str
    claims: tuple[Claim, ...]
    signed: bool

    @property
    def holds(self) -> bool:
        """Whether no claim fails; claims that need the original are left open."""
        return not any(claim.status == "fails" for claim in self.claims)

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> dict[str, Any]:
        """The verification as plain data."""
        return {
            "folder": self.folder,
            "holds": self.holds,
            "signed": self.signed,
            "claims": [dataclasses.asdict(c) for c in self.claims],
        }

    def __str__(self) -> str:
        mark = {"holds": "✓", "fails": "✗", "needs original": "?"}
        return "\n".join(f"{mark[c.status]} {c.name}: {c.detail}" for c in self.claims)


def verify(
    folder: Path, *, original: Dataset | None = None, owner: Path | None = None, trusted_key: Path | None = None
) -> Verification:
    """Recompute what a certificate claims. ``owner`` is the owner's folder, ``trusted_key`` a public key (PEM)."""
    certificate = read_certificate(folder)
    claims = [_edited(certificate), _signature(certificate, trusted_key)]
    file = folder / _data_name(certificate)
    bytes_ok = _bytes(certificate, file)
    claims.append(bytes_ok)
    try:
        released = _released(certificate, file)
    except SfumatoError as error:
        claims.append(Claim("readable data", "fails", str(error)))
        return Verification(str(folder), tuple(c for c in claims if c), "signature" in certificate)
    recipe = _recipe(certificate, released)
    claims += [_guarded(check, certificate, released, recipe) for check in (_shape, _direct)]
    claims += _promises(certificate, released, recipe.meet)
    claims.append(_guarded(_classes, certificate, released, recipe))
    claims += _from_original(certificate, released, original, owner)
    return Verification(str(folder), tuple(c for c in claims if c is not None), "signature" in certificate)


def read_certificate(folder: Path) -> dict[str, Any]:
    """The certificate of a shared folder."""
    file = folder / "certificate.json"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        hint = " (the folder to verify is the one called share)" if (folder / "share").is_dir() else ""
        raise UnreadableInput(f"{folder} holds no certificate.json{hint}") from None
    except ValueError:
        raise UnreadableInput(f"{file} is not valid JSON; it was damaged or edited") from None
    if not isinstance(document, dict) or document.get("sfumato_certificate") != CERTIFICATE_VERSION:
        raise UnreadableInput(f"{file} is not a certificate of version {CERTIFICATE_VERSION}")
    return document


def _data_name(certificate: Mapping[str, Any]) -> str:
    name = certificate.get("data", {}).get("file")
    if not isinstance(name, str) or Path(name).name != name:
        raise UnreadableInput("the certificate does not name a data file of its own folder")
    return name


def _edited(certificate: Mapping[str, Any]) -> Claim:
    if certificate.get("digest") == digest_of(certificate):
        return Claim("certificate unedited", "holds", "its digest fits its text")
    return Claim("certificate unedited", "fails", "its text was changed after it was written: the digest does not fit")


def _signature(certificate: Mapping[str, Any], trusted: Path | None) -> Claim | None:
    if "signature" not in certificate:
        return (
            Claim("signature", "fails", "a trusted key was given but the certificate is not signed")
            if trusted
            else None
        )
    if not signature_holds(certificate, trusted):
        return Claim("signature", "fails", "the signature does not fit the certificate or is not from the trusted key")
    who = "by the trusted key" if trusted else "by the key it carries (give --key to say whom you trust)"
    return Claim("signature", "holds", f"Ed25519, signed {who}")


def _bytes(certificate: Mapping[str, Any], file: Path) -> Claim:
    try:
        found = sha256_of(file)
    except OSError:
        raise UnreadableInput(f"{file} is not there or cannot be read") from None
    if found == certificate["data"].get("sha256"):
        return Claim("data file unedited", "holds", "SHA-256 fits")
    return Claim("data file unedited", "fails", "the file was changed after it was certified: its SHA-256 does not fit")


def _released(certificate: Mapping[str, Any], file: Path) -> Dataset:
    form = certificate["data"].get("form", {})
    frame, source = read_table(file, format=certificate["data"].get("format"), **form)
    schema = Schema(
        {
            name: Attribute(tuple(roles), missing=certificate.get("missing_rule", {}).get(name, "category"))
            for name, roles in certificate["roles"].items()
        }
    )
    missing = [name for name in schema.attributes if name not in frame.columns]
    if missing:
        raise UnreadableInput(
            f"the data file lacks {len(missing)} column(s) the certificate names: {', '.join(missing[:5])}"
        )
    return Dataset(frame, source=source).with_schema(schema)  # type: ignore[arg-type]


def _recipe(certificate: Mapping[str, Any], released: Dataset) -> Recipe:
    """The promises and steps of the certificate; hierarchies known only by digest are left out."""
    plain = certificate["recipe"]
    try:
        meet = tuple(registry.build("models", spec) for spec in plain.get("meet", []))
        steps = tuple(registry.build("steps", spec) for spec in plain.get("steps", []))
    except RecipeError as error:
        raise UnreadableInput(f"the certificate's recipe cannot be understood: {error}") from None
    return Recipe(released.schema, meet, steps)


Check = Callable[[Mapping[str, Any], Dataset, Recipe], Claim | None]


def _guarded(check: Check, certificate: Mapping[str, Any], released: Dataset, recipe: Recipe) -> Claim | None:
    try:
        return check(certificate, released, recipe)
    except (KeyError, TypeError, ValueError):
        return Claim(check.__name__.strip("_"), "fails", "the certificate lacks what this claim needs")


def _shape(certificate: Mapping[str, Any], released: Dataset, recipe: Recipe) -> Claim:
    rows, columns = certificate["data"]["rows"], list(certificate["data"]["columns"])
    if rows == len(released) and columns == released.columns:
        return Claim("rows and columns", "holds", f"{rows:,} rows, {len(columns)} columns as said")
    found = f"{len(released):,} rows and {len(released.columns)} columns found, {rows:,} and {len(columns)} certified"
    return Claim("rows and columns", "fails", found)


def _direct(certificate: Mapping[str, Any], released: Dataset, recipe: Recipe) -> Claim:
    named = [c for c, spec in certificate["recipe"]["columns"].items() if "direct" in spec["role"]]
    left = [c for c in named if c in released.columns]
    if left:
        return Claim("direct identifiers gone", "fails", f"still there: {', '.join(left)}")
    return Claim("direct identifiers gone", "holds", f"{len(named)} dropped" if named else "there were none")


def _promises(certificate: Mapping[str, Any], released: Dataset, meet: tuple[Model, ...]) -> list[Claim]:
    """Judge again the promises that need nothing but the release; the others wait for the original."""
    claims = []
    for model, said in zip(meet, certificate["verdicts"], strict=False):
        needs = model.needs(released.schema)
        if needs.reference or needs.pairs or needs.population or needs.posteriors:
            claims.append(Claim(model.promise, "needs original", "it compares the release with the original table"))
            continue
        found = model.judge(gather(released, [model]))
        same = found.holds == said["holds"] and _near(found.attained, said["attained"])
        detail = f"{found.sentence}" if same else f"attained {found.attained}, certified {said['attained']}"
        claims.append(Claim(model.promise, "holds" if same and found.holds else "fails", detail))
    if len(meet) != len(certificate["verdicts"]):
        claims.append(Claim("promises", "fails", "the certificate judges other promises than its recipe names"))
    return claims


def _classes(certificate: Mapping[str, Any], released: Dataset, recipe: Recipe) -> Claim:
    found, said = assess(released), certificate["classes"]
    sizes = {str(size): count for size, count in found.class_sizes.items()}
    risks_fit = all(_near(m.value, said["risks"].get(m.name)) for m in found.measures)
    if sizes == said["sizes"] and found.classes == said["count"] and risks_fit:
        return Claim("class sizes and risks", "holds", f"{found.classes:,} classes, recomputed")
    return Claim("class sizes and risks", "fails", "the classes of the file are not those certified")


def _from_original(
    certificate: Mapping[str, Any], released: Dataset, original: Dataset | None, owner: Path | None
) -> list[Claim]:
    if original is None:
        open_claims = ("input is the committed one", "rows are the recoded original", "suppressed records")
        return [Claim(name, "needs original", "give --original to check it") for name in open_claims]
    lock = _lock(owner)
    return [_committed(certificate, original, lock), *_replay(certificate, released, original, lock)]


def _lock(owner: Path | None) -> dict[str, Any] | None:
    if owner is None or not (owner / "lock.json").is_file():
        return None
    try:
        loaded = json.loads((owner / "lock.json").read_text(encoding="utf-8"))
    except ValueError:
        raise UnreadableInput(f"{owner / 'lock.json'} is not valid JSON") from None
    return loaded if isinstance(loaded, dict) else None


def _committed(certificate: Mapping[str, Any], original: Dataset, lock: Mapping[str, Any] | None) -> Claim:
    name = "input is the committed one"
    if lock is None:
        return Claim(name, "needs original", "give --owner with the lock file, which holds the salt")
    fits = commitment(digest_of_input(original), lock["salt"]) == certificate["input_commitment"]["value"]
    return Claim(
        name,
        "holds" if fits else "fails",
        "the commitment opens" if fits else "this is not the input that was committed to",
    )


def _replay(
    certificate: Mapping[str, Any], released: Dataset, original: Dataset, lock: Mapping[str, Any] | None
) -> list[Claim]:
    """Make the release again from the original, the recipe and the seed, and compare."""
    name = "rows are the recoded original"
    suppressed = Claim("suppressed records", *_suppressed(certificate, released, original))
    if lock is None:
        return [
            Claim(name, "needs original", "give --owner with the lock file, which holds recipe and seed"),
            suppressed,
        ]
    try:
        recipe = recipes.from_dict(lock["recipe"])
        again = make_release(
            original.with_schema(recipe.schema), recipe, seed=Seed.of(lock["seed"]), shuffle=certificate["shuffled"]
        )
    except SfumatoError as error:
        return [Claim(name, "fails", f"the release cannot be made again: {error}"), suppressed]
    same = _same_rows(again.dataset, released)
    told = "made again from recipe and seed, row for row" if same else "the recipe gives other rows than were released"
    claims = [Claim(name, "holds" if same else "fails", told), suppressed]
    for verdict, said in zip(again.verdicts, certificate["verdicts"], strict=False):
        fits = same and verdict.holds and _near(verdict.attained, said["attained"])
        claims.append(Claim(f"{verdict.promise}, against the original", "holds" if fits else "fails", verdict.sentence))
    return claims


def _suppressed(certificate: Mapping[str, Any], released: Dataset, original: Dataset) -> tuple[Status, str]:
    found = len(original) - len(released)
    if found == certificate["suppressed_records"]:
        return "holds", f"{found:,} of {len(original):,}"
    return "fails", f"{found:,} are missing, {certificate['suppressed_records']:,} certified"


def _same_rows(made: Dataset, released: Dataset) -> bool:
    """Whether two tables hold the same rows, whatever their order."""
    import polars as pl

    def rows(dataset: Dataset) -> pl.DataFrame:
        text = dataset.to_polars().select(pl.col(c).cast(pl.String) for c in released.columns)
        return text.group_by(pl.all()).len().sort(pl.all())

    return made.columns == released.columns and rows(made).equals(rows(released))


def _near(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return abs(float(one) - float(other)) <= NEAR * max(1.0, abs(float(other)))
