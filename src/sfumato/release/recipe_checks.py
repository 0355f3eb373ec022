"""Checks of what the recipe of a certificate accounts for, whatever the shape of the data: steps,
bounds and attacks.

What is left is what only the original tells (values, and rows that were never there), and what
nobody can compute again: when, by whom and by which versions a release was made. What is particular
to the columns of one table, or of several, stands in ``table_checks`` and ``person_checks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.core import registry
from sfumato.core.attack import Finding
from sfumato.core.fields import Fields
from sfumato.core.limits import Limit, limits_of
from sfumato.core.metric import Measure, Risk
from sfumato.core.parameters import label_of
from sfumato.core.recipe import columns_in_recipe
from sfumato.errors import ParameterError, SfumatoError
from sfumato.release.attack_report import Tried
from sfumato.release.certificate_words import is_better_when_higher
from sfumato.release.limit_checks import about_all_releases, kept_within
from sfumato.release.manifest import Claim, near
from sfumato.release.public_recipe import fields_of, hides, name_of, pseudonym_columns
from sfumato.release.replay import NEEDS_REGISTER
from sfumato.release.shared_folder import UnreadableRecipe

if TYPE_CHECKING:
    from sfumato.core.recipe import Kept
    from sfumato.core.shape import Shape
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder


COLUMNS = "columns match the recipe"
MOST_NAMED = 5
NEEDS_BOTH = "give --original and --owner"


def first_names(columns: Sequence[str]) -> str:
    """A few columns by name."""
    return ", ".join(columns[:MOST_NAMED]) + (" …" if len(columns) > MOST_NAMED else "")


def recipe_readable(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """A recipe that nobody could run is not the one that was run; parts that its owner keeps are
    not looked at.
    """
    try:
        shared.recipe  # noqa: B018 - it is read when it is first asked for
    except UnreadableRecipe as error:
        return Claim("recipe", "fails", str(error))
    return None


def direct_identifiers_gone(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """Direct identifiers are dropped, or replaced by pseudonyms; a column of that name is one of
    them that is still there.
    """
    name, direct_columns, remaining = "direct identifiers gone", list[str](), list[str]()
    replaced = {column for columns in pseudonym_columns(certificate) for column in columns}
    for table, columns in columns_in_recipe(certificate["recipe"]).items():
        direct = [column for column, spec in columns.items() if "drop" in spec["role"]]
        if table in shared.tables:
            columns_present = shared.tables[table].columns
        else:
            columns_present = ()
        direct_columns += direct
        remaining += [
            column for column in direct if column in columns_present and column not in replaced
        ]
    if remaining:
        return Claim(name, "fails", f"still there: {', '.join(remaining)}")
    words = f"{len(direct_columns) - len(replaced)} dropped"
    if replaced:
        words += f", {len(replaced)} replaced by pseudonyms"
    return Claim(name, "holds", words if direct_columns else "there were none")


def proven_by_data(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """What the data themselves show: that no release holds it, or that it is so."""
    for name, words in shared.released.doubts().items():
        yield Claim(name, "fails", words)
    for name, words in shared.released.proven().items():
        yield Claim(name, "holds", words)


# Steps and what their plans tell.


def steps_in_plan(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """The plan tells of the steps of the recipe, in their order, and what each says everybody can
    see is so.
    """
    specs, plans = certificate["recipe"]["steps"], certificate["plan"]
    # before the plans are compared one by one: each must be about its own step
    if [name_of(spec) for spec in specs] != [plan["step"] for plan in plans]:
        return Claim("steps", "fails", "the plan names other steps than the recipe")
    for spec, plan in zip(specs, plans, strict=True):
        words = _field_contradiction(spec, plan, shared.shape) or _step_contradiction(
            spec, plan, shared
        )
        if words is not None:
            return Claim("steps", "fails", words)
    return None


def _field_contradiction(spec: object, plan: Fields, shape: Shape) -> str | None:
    """That a plan gives a field of its step another value than the recipe."""
    if "certified" in plan:  # an accounted step tells what it attained: ε is judged as a whole
        return None
    fields = fields_of(spec)
    method = registry.method_class("steps", str(name_of(spec)), fields, shape)
    # the step itself holds these against each other
    retold = () if method is None else method.retold
    differing = []
    for field in fields:
        if field not in plan or field in ("step", *retold):
            continue
        if type(plan[field]) is type(fields[field]) and plan[field] != fields[field]:
            # where types differ, one lists what the other describes further
            differing.append(field)
    if not differing:
        return None
    return f"recipe and plan of {plan['step']} differ in {first_names(differing)}"


def _step_contradiction(spec: object, plan: Fields, shared: SharedFolder) -> str | None:
    """What a step says cannot be, of its plan or of the released data."""
    if hides(spec) or hides(plan):
        return None
    try:
        step = registry.build("steps", spec, shape=shared.shape)
        missing_fields = [field for field in step.tells if field not in plan]
        if missing_fields:
            return f"the plan of {step.name} lacks {first_names(missing_fields)}"
        schemas = shared.recipe.schemas
        # of a step of several tables, that of its own
        schema = schemas.get(plan.get("table", ""), shared.recipe.schema)
        problem: str | None = step.contradicted(plan, schema, shared.original_size)
        return problem or step.contradicted_by(shared.released)
    except SfumatoError as error:
        return f"a step of the recipe cannot have run: {error}"


# Limits and contract: a bound, what was measured, and what follows from both.


def limits_kept(certificate: Fields, shared: SharedFolder, original: Original) -> Iterator[Claim]:
    """Every limit of the recipe is judged; one on a risk of the file is measured again, another
    must agree with itself.
    """
    try:
        limits = limits_of(certificate["recipe"].get("limits") or {})
    except (ParameterError, AttributeError, TypeError):  # an edited recipe may hold anything
        limits = ()
    entries = certificate["limits"]
    pairs = [(limit.name, limit.parameters) for limit in limits]
    if pairs != [(entry["name"], entry.get("parameters", {})) for entry in entries] or not all(
        near(limit.bound, entry["limit"]) for limit, entry in zip(limits, entries, strict=True)
    ):
        yield Claim("limits", "fails", "the certificate judges other limits than its recipe names")
        return
    if not limits and certificate["recipe"].get("limits"):
        yield Claim("limits", "fails", "the limits of the recipe are not valid limits")
    for limit, entry in zip(limits, entries, strict=True):
        try:
            yield _limit_claim(limit, entry, shared)
        except SfumatoError as error:
            yield Claim(limit.label, "fails", str(error), True)


def _limit_claim(limit: Limit, entry: Fields, shared: SharedFolder) -> Claim:
    risk = registry.family("risk", shared.shape).get(limit.name)
    if risk is not None and issubclass(risk, Risk):
        measure = registry.build_measured(limit, shared.shape).measure(shared.judged.evidence(()))
        limit_check = kept_within(limit, measure)
        if not near(limit_check.value, entry["value"]):
            return Claim(
                limit.label,
                "fails",
                f"measured {limit_check.value:.4g}, certified {entry['value']}",
                True,
            )
        words = _bound_contradiction(limit_check, entry)
        return Claim(
            limit.label,
            "holds" if limit_check.holds and words is None else "fails",
            words or limit_check.sentence,
            True,
        )
    registry.build_measured(limit, shared.shape)  # raises where nobody could have measured it
    if entry["value"] is None:
        return Claim(limit.label, "fails", "the limited figure was not measured", True)
    if is_better_when_higher(limit.name, shared.shape):
        better = "higher"
    else:
        better = "lower"
    measure = Measure(limit.name, float(entry["value"]), better, "")  # type: ignore[arg-type]
    limit_check = kept_within(limit, measure)
    words = _bound_contradiction(limit_check, entry)
    if not limit_check.holds or words is not None:
        return Claim(limit.label, "fails", words or "it does not hold", True)
    if about_all_releases(limit.name):
        reason = NEEDS_REGISTER
    else:
        reason = NEEDS_BOTH
    return Claim(label_of(limit.name, limit.parameters), "needs original", reason, True)


def _bound_contradiction(limit_check: Kept, entry: Fields) -> str | None:
    """Which fields of a bound are other than what follows from its value."""
    stated = (entry["name"], entry["holds"], entry["refuses"], entry.get("parameters", {}))
    if stated == (
        limit_check.name,
        limit_check.holds,
        limit_check.refuses,
        dict(limit_check.parameters),
    ) and near(limit_check.limit, entry["limit"]):
        return None
    return "bound, value and verdict contradict each other"


def contract_kept(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """The contract is the one of the recipe, and every verdict on it follows from what was
    measured.
    """
    agreements, entries = certificate["recipe"].get("contract") or [], certificate["contract"]
    if certificate.get("differential_privacy", {}).get("certified"):
        if not entries:
            return None
        return Claim("contract", "fails", "it is shown beside a certified ε")
    if len(agreements) != len(entries):
        return Claim(
            "contract", "fails", "the certificate judges another contract than its recipe names"
        )
    public_entries = [
        entry for spec, entry in zip(agreements, entries, strict=True) if not hides(spec)
    ]
    for agreement, entry in zip(shared.recipe.contract, public_entries, strict=True):
        value = "it was not measured" if entry["value"] is None else float(entry["value"])
        limit_check = agreement.check(value)
        if limit_check.refuses and not limit_check.holds:
            return Claim("contract", "fails", f"{entry['name']} does not hold")
        if words := _bound_contradiction(limit_check, entry):
            return Claim("contract", "fails", f"{entry['name']}: {words}")
    return None


# What was measured beside the original: only what its numbers say of each other can be asked.


def attack_numbers(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """What is said of an attack follows from its rate, from guessing and from what is allowed."""
    wrong = [
        str(attack["attack"])
        for attack in certificate["attacks"]["tried"]
        if not _attack_fits(attack)
    ]
    if not wrong:
        return None
    return Claim("attacks", "fails", f"numbers contradict each other: {first_names(wrong)}")


def _attack_fits(attack: Fields) -> bool:
    if attack["interval"] is None:
        interval = None
    else:
        interval = tuple(attack["interval"])
    finding = Finding(
        attack["attack"], attack["value"], "", interval=interval, baseline=attack["baseline"]
    )
    outcome = Tried(
        attack["intruder"], tuple(attack["knows"]), finding, attack["threshold"], attack["limit"]
    )
    if not near(finding.beyond_guessing, attack["beyond_guessing"]):
        return False
    return (outcome.exceeds, finding.certain) == (attack["exceeds"], attack["certain"])
