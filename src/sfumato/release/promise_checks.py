"""The promises and limits of a certificate, judged again on what lies beside it: the same for every shape of data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.limits import limits_of
from sfumato.core.parameters import label_of
from sfumato.core.step import Effect
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.release.consistency import made_by_this_version, told_otherwise
from sfumato.release.epsilon_certification import Certified, certified
from sfumato.release.limit_checks import about_all_releases
from sfumato.release.manifest import Claim, near
from sfumato.release.recipe_checks import bound_problem, limit_claim, mechanism_problem, released_unchanged
from sfumato.release.replay import NEEDS_REGISTER

if TYPE_CHECKING:
    from sfumato.core.model import Model, Verdict
    from sfumato.core.schema import Schema
    from sfumato.release.shared_folder import SharedFolder

NEEDS_BOTH = "give --original and --owner"
COMPARES = "it compares the release with the original table"
WHO_IS_WHO = "it compares the release with the original, and who is who is known to the owner alone"


def promise_claims(shared: SharedFolder, original: Any) -> list[Claim]:
    """Judge again the promises that need nothing but what is at hand; the others, and limits, wait for the original."""
    certificate = shared.certificate
    return promises_of(
        certificate,
        lambda spec, said: mechanism_problem(shared, spec, said) or _promised(shared, spec, said, original),
        lambda: epsilon_claim(certificate, shared.judged.schema, shared.first.seen),
        lambda said: _limited(shared, said),
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


def _limited(shared: SharedFolder, said: Mapping[str, Any]) -> Claim | None:
    """A limit as far as the file tells: one on its own risks is measured again, another must agree with itself."""
    try:
        if (found := limit_claim(shared, said)) is not None:
            return found
        words = bound_problem(shared.certificate, said)
    except (SfumatoError, KeyError, TypeError, ValueError) as error:
        words = str(error) if isinstance(error, SfumatoError) else "the certificate lacks what this limit needs"
    return None if words is None else Claim(said["name"], "fails", words, True)


def epsilon_claim(certificate: Mapping[str, Any], released: Schema, columns: Sequence[str]) -> Claim | None:
    """Whether ε, δ and whom they are about follow from the recipe; that it ran as it is written no file shows.

    ``released`` and ``columns`` are those of the first table.
    """
    if (stated := _stated_epsilon(certificate)) is not None and stated.status == "fails":
        return stated
    try:
        recipe = recipes.any_from_dict(certificate["recipe"])
        found = certified(recipe, columns, released)
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


def _promised(shared: SharedFolder, spec: Any, said: Mapping[str, Any], original: Any) -> Claim:
    certificate, released, shape = shared.certificate, shared.judged, shared.shape
    if recipes.keeps_back("models", spec, shape):
        return Claim(said["promise"], "needs original", "it needs the values that the owner's recipe lists", True)
    try:
        model: Model = registry.build("models", spec, shape=shape)
        if model.name != said["model"]:
            return Claim(said["promise"], "fails", "the certificate's recipe names another promise", True)
        known = {column for schema in released.schemas.values() for column in schema.attributes}
        if absent := [column for column in model.about if column not in known]:
            return Claim(said["promise"], "fails", f"it is about a column that is not there: {', '.join(absent)}", True)
        lacking = lacking_for(model, released, original)
        if lacking and model.promise != said["promise"]:
            return Claim(said["promise"], "fails", "the certificate's recipe names another promise", True)
        if lacking:
            bounded = _bounded(model, said, shared) if original is None else None
            return bounded or Claim(model.promise, "needs original", lacking, True)
        found = model.judge(released.evidence([model], original=original))
        said = said if original is not None else {**said, "sentence": model.told_alone(said["sentence"])}
    except SfumatoError as error:
        return Claim(said["promise"], "fails", f"it cannot be judged on what was released: {error}", True)
    if "drawn_anew" in certificate and not said.get("of_persons", True):
        found = found.of_the_file
    return promise_claim(found, said, alike=made_by_this_version(certificate))


def _bounded(model: Model, said: Mapping[str, Any], shared: SharedFolder) -> Claim | None:
    """A promise that compares with the original, where the released data and how many were suppressed decide it; else None."""
    certificate, released = shared.certificate, shared.judged
    gone = certificate[f"suppressed_{released.units}"]
    if gone is None or gone < 0 or said["attained"] is None or released.schema.person is not None:
        return None
    if _needs_more(model, released) or not model.about or not released_unchanged(certificate, model.about):
        return None
    found = model.judge_without_suppressed(released.evidence([model]), gone, said["attained"])
    if found is None:
        return None
    claim = promise_claim(found, said, alike=made_by_this_version(certificate))
    among = f"the {gone:,} of {released.size + gone:,} {released.units} that are certified as suppressed"
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


def lacking_for(model: Model, released: Any, original: Any) -> str | None:
    """What is needed to judge a promise and is not at hand, or None."""
    if model.compares:
        return WHO_IS_WHO
    if (words := model.lacking(released)) is not None:
        return words
    if (more := _needs_more(model, released)) is not None:
        return more
    if model.needs(released.schema).reference and original is None:
        return COMPARES
    return None


def _needs_more(model: Model, released: Any) -> str | None:
    """What a promise needs besides the values that its columns have in both tables, or None."""
    try:
        needs = model.needs(released.schema)
    except SchemaError:  # an order or a hierarchy is not shown
        return "it needs the values that the owner's recipe lists"
    if needs.population:
        return "it compares the release with a population"
    return COMPARES if needs.pairs or needs.posteriors or needs.unmasked else None
