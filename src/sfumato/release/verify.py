"""Checking a release without trusting who made it.

From the shared folder alone: the file is the certified one, the certificate was not edited, the columns and rows are
as said, every promise holds with the attained value, the class sizes and risks are right. With the original: the
released rows are exactly the original ones recoded as the plan says, and the suppressed count is right. With the
owner's lock: the input is the one that was committed to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.acceptance import TEXT_ONLY
from sfumato.core.dataset import Dataset
from sfumato.core.evidence import columns_seen, gather
from sfumato.core.limits import limits_of
from sfumato.core.parameters import label_of
from sfumato.core.schema import Attribute, Kind, Schema
from sfumato.core.source import Source
from sfumato.core.step import Effect
from sfumato.data.lazy.open_table import held, parts_of
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.default_readers import read_as_one
from sfumato.data.table.form import runnable_cells
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnreadableInput
from sfumato.release.assessment import DEFAULT_THRESHOLD, assess
from sfumato.release.certificates import pseudonymized, read_certificate, signature_holds
from sfumato.release.consistency import inside_claim, made_by_this_version, report_claim, told_otherwise
from sfumato.release.documents import digest_of
from sfumato.release.epsilon_certification import Certified, certified
from sfumato.release.limit_checks import about_all_releases
from sfumato.release.manifest import Claim, folder_claim, near, own_file, require_plain_file, sha256_of, sha256_of_parts
from sfumato.release.read_back import read_described
from sfumato.release.recipe_checks import (
    COLUMNS,
    accounted_for,
    bound_problem,
    limit_claim,
    mechanism_problem,
    released_unchanged,
)
from sfumato.release.replay import NEEDS_REGISTER, as_judged, as_released, claims_from_original
from sfumato.release.verification import Verification, without_replayed

if TYPE_CHECKING:
    from sfumato.core.model import Model, Verdict
    from sfumato.release.table_release import TableRelease


NEEDS_BOTH = "give --original and --owner"
COMPARES = "it compares the release with the original table"


def verify(
    folder: Path,
    *,
    original: Dataset | LazyTable | None = None,
    owner: Path | None = None,
    trusted_key: Path | None = None,
    population: Dataset | None = None,
    release: TableRelease | None = None,
) -> Verification:
    """Recompute what a certificate claims. ``owner`` is the owner's folder, ``trusted_key`` a public key (PEM).

    ``population`` is the second table that was given to the run, where there was one. ``release`` is what was written, where this process
    has made it: its rows are compared with those of the file, and it is not made a second time; the claims say so.
    """
    certificate = read_certificate(folder)
    file = _data_of(folder, certificate)
    whole_folder = folder_claim(certificate, folder)
    claims = [edited(certificate), signature(certificate, trusted_key), whole_folder]
    try:
        _require_plain_parts(file)
        claims.append(unchanged(certificate["data"], file))
        released, whole = _released(certificate, file)
    except SfumatoError as error:
        claims.append(Claim("readable data", "fails", str(error)))
        return Verification.of(folder, claims, certificate, trusted_key)
    names = whole.columns
    if original is not None:
        original = as_released(certificate, original)
    claims += [_guarded(check, certificate, released, names) for check in (_shape, _formulas, _direct)]
    claims += [inside_claim(certificate, certificate["data"], file), *_accounted_for(certificate, released, names)]
    claims.append(report_of(certificate, folder, whole_folder))
    before = as_judged(certificate, original, owner, released.columns)
    promises = _promises(certificate, released, before)
    again = claims_from_original(certificate, whole, original, owner, population, release)
    claims += without_replayed(promises, again)
    claims += [_guarded(_classes, certificate, released, names), *again]
    claims.append(_default_readers(certificate, whole, before))
    return Verification.of(folder, claims, certificate, trusted_key)


def _data_of(folder: Path, certificate: Mapping[str, Any]) -> Path:
    """The data file of a release, or the folder of its parts."""
    name = _data_name(certificate)
    if "parts" in certificate["data"] and (folder / name).is_dir() and not (folder / name).is_symlink():
        return folder / name
    return require_plain_file(folder, name)


def _require_plain_parts(file: Path) -> None:
    """Raise where something among the parts of a table is no plain file: a pipe would be waited for."""
    if file.is_dir() and not all(part.is_file() and not part.is_symlink() for part in file.iterdir()):
        raise UnreadableInput(f"{file} holds something that is no plain file, which a release never does")


def _data_name(certificate: Mapping[str, Any]) -> str:
    return own_file(certificate["data"])


def edited(certificate: Mapping[str, Any]) -> Claim:
    """Whether the text of a certificate is the one that was written."""
    if certificate.get("digest") == digest_of(certificate):
        return Claim("certificate unedited", "holds", "its digest fits its text")
    return Claim("certificate unedited", "fails", "its text was changed after it was written: the digest does not fit")


def signature(certificate: Mapping[str, Any], trusted: Path | None) -> Claim | None:
    """Whether a signature fits, where there is one or one was asked for."""
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


def unchanged(data: Mapping[str, Any], file: Path, name: str = "data file unedited") -> Claim:
    """Whether a file is the one that a section of a certificate describes."""
    try:
        found = sha256_of_parts(file) if file.is_dir() else sha256_of(file)
    except OSError:
        raise UnreadableInput(f"{file} is not there or cannot be read") from None
    if found == data.get("sha256"):
        return Claim(name, "holds", "SHA-256 fits")
    return Claim(name, "fails", "the file was changed after it was certified: its SHA-256 does not fit")


def read_released(folder: Path, certificate: Mapping[str, Any]) -> Dataset | LazyTable:
    """The released table of a shared folder, described as its certificate says."""
    return _released(certificate, _data_of(folder, certificate))[1]


def _released(certificate: Mapping[str, Any], file: Path) -> tuple[Dataset, Dataset | LazyTable]:
    """What promises look at of the released table, and all of it: of one in parts, counted combinations and a lazy frame."""
    schema = Schema({name: _attribute(certificate, name, tuple(roles)) for name, roles in certificate["roles"].items()})
    if file.is_dir():
        return _counted_parts(file, schema, certificate)
    frame, source = read_described(file, certificate["data"])
    missing = [name for name in schema.attributes if name not in frame.columns]
    if missing:
        raise UnreadableInput(
            f"the data file lacks {len(missing)} column(s) the certificate names: {', '.join(missing[:5])}"
        )
    table = Dataset(frame, source=source).with_text_coded()  # type: ignore[arg-type]
    described = table.with_schema(schema)
    return described, described


def _counted_parts(folder: Path, schema: Schema, certificate: Mapping[str, Any]) -> tuple[Dataset, LazyTable]:
    """A table in parts: the combinations that its promises look at, counted part by part."""
    table = held(parts_of(folder), "polars", Source(name=folder.name, format="parquet")).with_schema(schema)
    shown = [spec for spec in certificate["recipe"]["meet"] if not recipes.keeps_back("models", spec)]
    models = [registry.build("models", spec) for spec in shown]
    return table.counted(columns_seen(models, schema)), table


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


Check = Callable[[Mapping[str, Any], Dataset, list[str]], Claim | None]


def _guarded(check: Check, certificate: Mapping[str, Any], released: Dataset, names: list[str]) -> Claim | None:
    try:
        return check(certificate, released, names)
    except (KeyError, TypeError, ValueError):
        return Claim(check.__name__.strip("_"), "fails", "the certificate lacks what this claim needs")


def _shape(certificate: Mapping[str, Any], released: Dataset, names: list[str]) -> Claim:
    rows, columns = certificate["data"]["rows"], list(certificate["data"]["columns"])
    if rows == released.records and columns == names:
        return Claim("rows and columns", "holds", f"{rows:,} rows, {len(columns)} columns as said")
    found = f"{released.records:,} rows and {len(names)} columns found, {rows:,} and {len(columns)} certified"
    return Claim("rows and columns", "fails", found)


def _accounted_for(certificate: Mapping[str, Any], released: Dataset, names: list[str]) -> list[Claim | None]:
    """What the recipe accounts for; an edited certificate may lack anything."""
    try:
        return list(accounted_for(certificate, released, names))
    except SfumatoError as error:
        return [Claim(COLUMNS, "fails", f"the recipe cannot have made them: {error}")]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return [Claim(COLUMNS, "fails", "the certificate lacks what its columns are held against")]


def report_of(certificate: Mapping[str, Any], folder: Path, listed: Claim) -> Claim | None:
    """Whether the page for people says what the certificate says, in a folder that is as ``listed``.

    A certificate of which no page can be drawn was edited.
    """
    if "files" not in certificate or listed.status == "fails":
        return None
    try:
        return report_claim(certificate, folder)
    except Exception:  # noqa: BLE001 - an edited certificate may hold anything, and a page is drawn of all of it
        return Claim("report", "fails", "no page can be drawn of this certificate: it was edited")


def _formulas(certificate: Mapping[str, Any], released: Dataset, names: list[str]) -> Claim | None:
    """The cells that a spreadsheet would run are counted as they are; nothing is said where they are."""
    data = certificate["data"]
    if "formulas" not in data and (data["format"] != "csv" or not made_by_this_version(certificate)):
        return None
    if data.get("formulas") == runnable_cells(released.to_polars()):
        return None
    return Claim("formulas", "fails", "the cells of the file that a spreadsheet would run are not those certified")


def _direct(certificate: Mapping[str, Any], released: Dataset, names: list[str]) -> Claim:
    named = [c for c, spec in certificate["recipe"]["columns"].items() if "direct" in spec["role"]]
    replaced = {c for columns in pseudonymized(certificate) for c in columns}
    left = [c for c in named if c in names and c not in replaced]
    if left:
        return Claim("direct identifiers gone", "fails", f"still there: {', '.join(left)}")
    told = f"{len(named) - len(replaced)} dropped" + (f", {len(replaced)} replaced by pseudonyms" if replaced else "")
    return Claim("direct identifiers gone", "holds", told if named else "there were none")


def _promises(certificate: Mapping[str, Any], released: Dataset, original: Dataset | None) -> list[Claim]:
    """Judge again the promises that need nothing but what is at hand; the others, and limits, wait for the original."""
    alike = made_by_this_version(certificate)
    return promises_of(
        certificate,
        lambda spec, said: (
            mechanism_problem(certificate, spec, said) or _promised(spec, said, released, original, certificate)
        ),
        partial(_accounted, certificate, released),
        lambda said: _limited(certificate, said, released, alike=alike),
    )


def promises_of(
    certificate: Mapping[str, Any],
    judge: Callable[[Any, Mapping[str, Any]], Claim],
    accounted: Callable[[], Claim | None] | None = None,
    limited: Callable[[Mapping[str, Any]], Claim | None] = lambda said: None,
) -> list[Claim]:
    """All promises of a certificate, each judged by what it is in the recipe and what is said of it; limits wait for the original.

    ``accounted`` recomputes what is said of an ε, ``limited`` a limit that the file alone decides or contradicts; without them
    they wait for the original too.
    """
    meet, verdicts = certificate["recipe"]["meet"], certificate["verdicts"]
    epsilon = _unstated_epsilon(certificate) or (_stated_epsilon(certificate) if accounted is None else accounted())
    accounts = [] if epsilon is None else [epsilon]
    if not verdicts and not certificate["limits"]:
        nothing = Claim("promises", "fails", "the certificate promises nothing; an empty promise is not a promise")
        return accounts or [nothing]
    claims = [judge(spec, said) for spec, said in zip(meet, verdicts, strict=False)]
    if len(meet) != len(verdicts):
        claims.append(Claim("promises", "fails", "the certificate judges other promises than its recipe names"))
    if not _same_limits(certificate):
        other_limits = Claim("limits", "fails", "the certificate judges other limits than its recipe names")
        return [*accounts, *claims, other_limits]
    return accounts + claims + [limited(said) or _open(said) for said in certificate["limits"]]


def _unstated_epsilon(certificate: Mapping[str, Any]) -> Claim | None:
    """That an ε stands in the certificate for which its section about ε does not answer: a reader would take it for certified."""
    private = certificate.get("differential_privacy")
    if private is None:
        if any(plan.get("certified") is True or plan.get("epsilon") is not None for plan in certificate["plan"]):
            return Claim(
                "ε", "fails", "a step tells of an ε, and the certificate does not say what holds of the whole", True
            )
        return None
    if not private["certified"] and (private["epsilon"], private["delta"]) != (None, None):
        return Claim("ε", "fails", "it stands in the certificate, which says that none is certified", True)
    return None


def _stated_epsilon(certificate: Mapping[str, Any]) -> Claim | None:
    """A certified ε that is not recomputed."""
    private = certificate.get("differential_privacy")
    if private is None or not private["certified"]:
        return None
    if None in (private["epsilon"], private["delta"]):
        return Claim("ε", "fails", "the certificate does not say which one is certified", True)
    told = "no file shows an ε: it follows from the recipe and its steps, as the certificate says"
    return Claim(f"ε = {private['epsilon']:g}", "needs original", told, True)


def _same_limits(certificate: Mapping[str, Any]) -> bool:
    """Whether the limits that were judged are those of the recipe: names, parameters and bounds, in the same order."""
    try:
        limits = limits_of(certificate["recipe"].get("limits") or {})
    except (ParameterError, AttributeError, TypeError):  # an edited recipe may hold anything
        return False
    judged = certificate["limits"]
    named = [(said["name"], said.get("parameters", {})) for said in judged]
    if named != [(limit.name, limit.parameters) for limit in limits]:
        return False
    return all(near(limit.bound, said["limit"]) for limit, said in zip(limits, judged, strict=True))


def _open(said: Mapping[str, Any]) -> Claim:
    reason = NEEDS_REGISTER if about_all_releases(said["name"]) else NEEDS_BOTH
    return Claim(label_of(said["name"], said.get("parameters", {})), "needs original", reason, True)


def _limited(
    certificate: Mapping[str, Any], said: Mapping[str, Any], released: Dataset, *, alike: bool
) -> Claim | None:
    """A limit as far as the file tells: one on its own risks is measured again, another must agree with itself."""
    try:
        if (found := limit_claim(certificate, said, released, alike=alike)) is not None:
            return found
        words = bound_problem(certificate, said, alike=alike)
    except (SfumatoError, KeyError, TypeError, ValueError) as error:
        words = str(error) if isinstance(error, SfumatoError) else "the certificate lacks what this limit needs"
    return None if words is None else Claim(said["name"], "fails", words, True)


def _accounted(certificate: Mapping[str, Any], released: Dataset) -> Claim | None:
    """Whether ε, δ and whom they are about follow from the recipe; that it ran as it is written no file shows."""
    if (stated := _stated_epsilon(certificate)) is not None and stated.status == "fails":
        return stated
    try:
        recipe = recipes.from_dict(certificate["recipe"])
        found = certified(recipe, released.columns, released.schema)
    except SfumatoError:
        if stated is None:
            return None
        told = "the certificate leaves out parts of the recipe that it follows from"
        return Claim(stated.name, "needs original", told, True)
    said = certificate.get("differential_privacy")
    if said is None and found is None:
        return None
    if said is None:
        return Claim(
            "ε", "fails", "a step accounts for one, and the certificate does not say what holds of the whole", True
        )
    name = "ε" if stated is None else f"ε = {said['epsilon']:g}, δ = {said['delta']:g}"
    if found is None or (said["certified"] and not found.holds):
        return Claim(name, "fails", "it does not follow from the steps of the recipe", True)
    if words := _accounted_otherwise(found, said) or _plans_otherwise(found, certificate["plan"], said["certified"]):
        return Claim(name, "fails", words, True)
    if stated is None:
        return None
    told = f"it follows from the steps of the recipe, about {found.unit}; that they ran as written no file shows, a signature vouches for it (--key)"
    return Claim(name, "needs original", told, True)


def _accounted_otherwise(found: Certified, said: Mapping[str, Any]) -> str | None:
    """That the section about ε says another one than the steps of the recipe account for, of one of them or of the whole."""
    again = found.to_dict()
    parts = ("epsilon", "delta", "neighbours", "unit_of_privacy") if said["certified"] else ()
    if any(said.get(part) != again[part] for part in parts):
        return f"the steps of the recipe account for ε = {found.epsilon:g}, δ = {found.delta:g}"
    costs = [
        [(step["step"], step.get("epsilon"), step.get("delta")) for step in each["steps"]] for each in (said, again)
    ]
    return None if costs[0] == costs[1] else "the steps of the recipe account for something else each"


def _plans_otherwise(found: Certified, plans: Sequence[Mapping[str, Any]], whole: bool) -> str | None:
    """That the plan of an accounted step does not tell of its ε: then nothing says that it applied its mechanism.

    Where none is certified for the ``whole`` recipe it may tell of none, and of no other.
    """
    for part, plan in zip(found.parts, plans, strict=False):
        if part.account.effect is not Effect.ACCOUNTED or (not whole and plan.get("epsilon") is None):
            continue
        if plan.get("certified") is not True or not near(plan.get("epsilon"), part.account.epsilon):
            return f"the plan of {part.step} does not tell of the ε that it accounts for"
    return None


def _promised(
    spec: Any, said: Mapping[str, Any], released: Dataset, original: Dataset | None, certificate: Mapping[str, Any]
) -> Claim:
    alike = made_by_this_version(certificate)
    if recipes.keeps_back("models", spec):
        return Claim(said["promise"], "needs original", "it needs the values that the owner's recipe lists", True)
    try:
        model: Model = registry.build("models", spec)
        if model.name != said["model"]:
            return Claim(said["promise"], "fails", "the certificate's recipe names another promise", True)
        if absent := [column for column in model.about if column not in released.schema.attributes]:
            return Claim(said["promise"], "fails", f"it is about a column that is not there: {', '.join(absent)}", True)
        lacking = _lacking(model, released, original)
        if lacking and model.promise != said["promise"]:
            return Claim(said["promise"], "fails", "the certificate's recipe names another promise", True)
        if lacking:
            bounded = _bounded(model, said, released, certificate) if original is None else None
            return bounded or Claim(model.promise, "needs original", lacking, True)
        found = model.judge(gather(released, [model], original=original))
        said = said if original is not None else {**said, "sentence": model.told_alone(said["sentence"])}
    except SfumatoError as error:
        return Claim(said["promise"], "fails", f"it cannot be judged on the released file: {error}", True)
    return promise_claim(found if said.get("of_persons", True) else found.of_the_file, said, alike=alike)


def _bounded(model: Model, said: Mapping[str, Any], released: Dataset, certificate: Mapping[str, Any]) -> Claim | None:
    """A promise that compares with the original, where the released records and how many were suppressed decide it; else None."""
    gone = certificate["suppressed_records"]
    if gone is None or gone < 0 or said["attained"] is None or released.schema.person is not None:
        return None
    if _needs_more(model, released) or not model.about or not released_unchanged(certificate, model.about):
        return None
    found = model.judge_without_suppressed(gather(released, [model]), gone, said["attained"])
    if found is None:
        return None
    claim = promise_claim(found, said, alike=made_by_this_version(certificate))
    among = f"the {gone:,} of {released.records + gone:,} records that are certified as suppressed"
    return dataclasses.replace(claim, detail=f"{claim.detail}; checked on the released table, give or take {among}")


def promise_claim(found: Verdict, said: Mapping[str, Any], *, alike: bool) -> Claim:
    """A promise judged again, beside what a certificate says of it; ``alike``: this version wrote its words."""
    others = _otherwise(found.to_dict(), said)
    detail = f"attained {found.attained}, certified {said['attained']}" if "attained" in others else found.sentence
    if others and "attained" not in others:
        detail = f"the certificate says otherwise what is {' and '.join(others)}"
    elif not others and (words := told_otherwise(found.to_dict(), said, alike=alike)) is not None:
        return Claim(found.promise, "fails", words, True)
    return Claim(found.promise, "holds" if found.holds and not others else "fails", detail, True)


def _otherwise(found: Mapping[str, Any], said: Mapping[str, Any]) -> list[str]:
    """The parts of a verdict that are not as they are said; its sentence is prose, and written anew."""
    exact = ("holds", "promise", "required", "failing_classes", "failing_records", "missing_rule")
    others = [part.replace("_", " ") for part in exact if said.get(part, found[part]) != found[part]]
    return others if near(found["attained"], said["attained"]) else [*others, "attained"]


def _lacking(model: Model, released: Dataset, original: Dataset | None) -> str | None:
    """What is needed to judge a promise and is not at hand, or None."""
    if (more := _needs_more(model, released)) is not None:
        return more
    if model.needs(released.schema).reference and original is None:
        return COMPARES
    return None


def _default_readers(
    certificate: Mapping[str, Any], released: Dataset | LazyTable, original: Dataset | None
) -> Claim | None:
    """Whether promises hold for readers that take several values of the file for one, too; nothing is said where none does."""
    if isinstance(released, LazyTable):  # in Parquet, which says what is text
        return None
    accepted = certificate["recipe"].get("accept") or {}
    text_only = [c for c, spec in accepted.items() if TEXT_ONLY in (spec if isinstance(spec, list) else [spec])]
    for reading in read_as_one(released.to_polars(), certificate["data"]["format"], but=text_only):
        before = None if original is None else reading.of(original)
        for spec in certificate["recipe"]["meet"]:
            if (broken := _broken_for(reading.of(released), spec, before)) is not None:
                names = ", ".join(reading.keys)
                told = f"{reading.reader} takes several values of {names} for one, and {broken}"
                return Claim("default readers", "fails", told)
    return None


def _broken_for(released: Dataset, spec: Any, original: Dataset | None) -> str | None:
    """That a promise does not hold of a table, in words; None where it does, or what it needs is not at hand."""
    if recipes.keeps_back("models", spec):
        return None
    try:
        model: Model = registry.build("models", spec)
        if _lacking(model, released, original):
            return None
        found = model.judge(gather(released, [model], original=original))
    except SfumatoError as error:
        return f"a promise cannot be judged: {error}"
    return None if found.holds else f"{found.promise} does not hold: {found.sentence}"


def _needs_more(model: Model, released: Dataset) -> str | None:
    """What a promise needs besides the values that its columns have in both tables, or None."""
    try:
        needs = model.needs(released.schema)
    except SchemaError:  # an order or a hierarchy is not shown
        return "it needs the values that the owner's recipe lists"
    if needs.population:
        return "it compares the release with a population"
    return COMPARES if needs.pairs or needs.posteriors or needs.unmasked else None


def _classes(certificate: Mapping[str, Any], released: Dataset, names: list[str]) -> Claim:
    found, said = assess(released), certificate["classes"]
    sizes = {str(size): count for size, count in found.class_sizes.items()}
    risks_fit = all(near(m.value, said["risks"].get(m.name)) for m in found.measures)
    if made_by_this_version(certificate):
        risks_fit = risks_fit and set(said["risks"]) == {m.name for m in found.measures}
    counted = (sizes, found.classes, found.smallest_class, DEFAULT_THRESHOLD)
    told = (said["sizes"], said["count"], said["smallest"], said.get("risk_threshold", DEFAULT_THRESHOLD))
    if counted == told and risks_fit:
        return Claim("class sizes and risks", "holds", f"{found.classes:,} classes, recomputed")
    return Claim("class sizes and risks", "fails", "the classes of the file are not those certified")
