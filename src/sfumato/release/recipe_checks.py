"""A release is what the recipe of its certificate accounts for, whatever the shape of its data: files, steps, bounds and attacks.

What is left is what only the original tells (values, and rows that were never there), and what nobody can compute again: when, by whom
and by which versions a release was made. What is particular to the columns of one table, or of several, stands in ``table_checks`` and
``person_checks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.attack import Finding
from sfumato.core.limits import Limit, limits_of
from sfumato.core.mechanism import told_in_plans
from sfumato.core.metric import Measure, Risk
from sfumato.core.model import Model
from sfumato.core.pair import of_a_sample
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SfumatoError
from sfumato.release.attack_report import Tried
from sfumato.release.certificates import known_statements, pseudonymized, shape_of
from sfumato.release.consistency import (
    hides,
    loose_claim,
    made_by_this_version,
    named,
    recipe_claim,
    shown_recipe,
    steps_claim,
    told_otherwise,
)
from sfumato.release.limit_checks import about_all_releases, kept_within
from sfumato.release.manifest import Claim, near

if TYPE_CHECKING:
    from sfumato.core.recipe import Kept, Recipe
    from sfumato.release.shared_folder import SharedFolder

COLUMNS = "columns are what the recipe says"
AUTHORISED = "authorised"
"""A step that leaves out records, and does not call them suppressed."""

RecipeCheck = Callable[["SharedFolder", "Recipe"], Iterable[Claim | None]]
"""What a released folder is held to by the recipe that its certificate shows."""


def accounted_for(shared: SharedFolder, checks: Sequence[RecipeCheck]) -> list[Claim | None]:
    """Everything that a stranger can hold against the recipe without the original; an edited certificate may lack anything.

    ``checks`` are told in their order: all of ``SHARED_CHECKS``, and what only data of this shape are held to.
    """
    if (broken := recipe_claim(shared.certificate, shared.shape)) is not None:
        return [broken]
    claims: list[Claim | None] = []
    try:
        recipe = _public_recipe(shared)
        for check in checks:
            claims.extend(check(shared, recipe))
    except SfumatoError as error:
        claims.append(Claim(COLUMNS, "fails", f"the recipe cannot have made them: {error}"))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        claims.append(Claim(COLUMNS, "fails", "the certificate lacks what its columns are held against"))
    return claims


def _public_recipe(shared: SharedFolder) -> Recipe:
    """The recipe without what its owner keeps."""
    said = shared.certificate["recipe"]
    contract = [spec for spec in said.get("contract") or [] if not hides(spec)]
    return recipes.any_from_dict({**shown_recipe(said, shared.shape), "contract": contract})


def original_size(shared: SharedFolder) -> int | None:
    """How many records or people the original had, where the certificate tells."""
    gone = shared.certificate[f"suppressed_{shared.judged.units}"]
    return None if gone is None else int(shared.judged.size + gone)


def statement_claims(shared: SharedFolder, recipe: Recipe) -> Iterator[Claim | None]:
    """A statement that this version knows nothing of, in a certificate that it wrote, is somebody else's."""
    certificate = shared.certificate
    known = known_statements(certificate)
    more = [key for key in certificate if key not in known]
    if more and made_by_this_version(certificate):
        yield Claim("certificate", "fails", f"it says what no release says: {named(more)}")


def file_claims(shared: SharedFolder, recipe: Recipe) -> Iterator[Claim | None]:
    """Every file of the folder is judged, but for the page and its pictures."""
    if "files" not in shared.certificate:
        return
    judged = list[str]()
    for file in shared.files.values():
        parts = sorted(file.iterdir()) if file.is_dir() else []
        judged += [file.name, *(f"{file.name}/{part.name}" for part in parts)]
    yield loose_claim(shared.certificate, judged)


def direct_claims(shared: SharedFolder, recipe: Recipe) -> Iterator[Claim | None]:
    """Direct identifiers are dropped, or replaced by pseudonyms; a column of that name is one of them that is still there."""
    name, named_direct, left = "direct identifiers gone", list[str](), list[str]()
    replaced = {column for columns in pseudonymized(shared.certificate) for column in columns}
    for table, columns in columns_in_recipe(shared.certificate["recipe"]).items():
        direct = [column for column, spec in columns.items() if "direct" in spec["role"]]
        there = shared.tables[table].columns if table in shared.tables else ()
        named_direct += direct
        left += [column for column in direct if column in there and column not in replaced]
    if left:
        yield Claim(name, "fails", f"still there: {', '.join(left)}")
        return
    words = f"{len(named_direct) - len(replaced)} dropped"
    if replaced:
        words += f", {len(replaced)} replaced by pseudonyms"
    yield Claim(name, "holds", words if named_direct else "there were none")


def step_claims(shared: SharedFolder, recipe: Recipe) -> Iterator[Claim | None]:
    """The plan tells of the steps of the recipe, and neither it nor the data contradict one."""
    size = original_size(shared)
    yield steps_claim(
        shared.certificate,
        shared.shape,
        lambda step, plan: step.contradicted(plan, recipe.schema, size) or step.contradicted_by(shared.released),
    )


def doubt_claims(shared: SharedFolder, recipe: Recipe) -> Iterator[Claim | None]:
    """What the data themselves show that no release holds."""
    for name, words in shared.released.doubts().items():
        yield Claim(name, "fails", words)


# Limits and contract: a bound, what was measured, and the sentence that follows from both.


def limit_claim(shared: SharedFolder, said: Mapping[str, Any]) -> Claim | None:
    """A limit on a risk of the file, measured again; None where the limit is on something that needs the original."""
    limit = limit_said(shared.certificate, said)
    risk = registry.family("risk", shared.shape).get(said["name"])
    if risk is None or not issubclass(risk, Risk):
        return None
    alike = made_by_this_version(shared.certificate)
    measure = registry.measured(limit, shared.shape).measure(shared.judged.evidence(()))
    found = kept_within(limit, measure)
    if not near(found.value, said["value"]):
        return Claim(limit.label, "fails", f"measured {found.value:.4g}, certified {said['value']}", True)
    words = _bound_told(found, said, alike=alike)
    return Claim(limit.label, "holds" if found.holds and words is None else "fails", words or found.sentence, True)


def limit_said(certificate: Mapping[str, Any], said: Mapping[str, Any]) -> Limit:
    """The limit of a certificate's recipe that a verdict is about: the one with the same name and parameters."""
    several = limits_of(certificate["recipe"].get("limits") or {})
    about = (said["name"], said.get("parameters", {}))
    for limit in several:
        if (limit.name, limit.parameters) == about:
            return limit
    raise ParameterError("the certificate judges other limits than its recipe names")


def bound_problem(certificate: Mapping[str, Any], said: Mapping[str, Any]) -> str | None:
    """Why a limit that needs the original cannot be as it is said: value, bound, verdict and sentence follow from each other."""
    shape, alike = shape_of(certificate), made_by_this_version(certificate)
    families = [registry.family(family, shape) for family in registry.MEASURED]
    cls = next((known[said["name"]] for known in families if said["name"] in known), None)
    if cls is None or said["value"] is None:
        return "what is limited was not measured"
    better: Any = "lower" if said["name"] in registry.family("risk", shape) else cls.better
    measure = Measure(said["name"], float(said["value"]), better, "")
    limit = limit_said(certificate, said)
    found = [kept_within(limit, measure, where) for where in ("", _of_a_sample(certificate))]
    if not found[0].holds:
        return "it is not kept"
    if about_all_releases(said["name"]):  # the register has words of its own for it
        return _bound_otherwise(found[0], said)
    told = [_bound_told(one, said, alike=alike) for one in found]
    return None if None in told else told[-1]


def _of_a_sample(certificate: Mapping[str, Any]) -> str:
    sampled = certificate.get("sampled")
    return "" if sampled is None else of_a_sample(sampled["records"], sampled["of"])


def _bound_told(found: Kept, said: Mapping[str, Any], *, alike: bool) -> str | None:
    """What a certificate says otherwise of a bound than what follows from its value."""
    return _bound_otherwise(found, said) or told_otherwise(found.to_dict(), said, alike=alike)


def _bound_otherwise(found: Kept, said: Mapping[str, Any]) -> str | None:
    again = found.to_dict()
    parts = ("name", "holds", "refuses", "parameters")
    exact = [part for part in parts if said.get(part) != again.get(part)]
    if exact or not near(found.limit, said["limit"]):
        return f"the certificate says otherwise what is {' and '.join(exact or ['limit'])}"
    return None


def contract_claims(shared: SharedFolder, recipe: Recipe) -> Iterator[Claim | None]:
    """The contract is the one of the recipe, and every verdict on it follows from what was measured."""
    yield _contract_problem(shared.certificate, recipe)


def _contract_problem(certificate: Mapping[str, Any], recipe: Recipe) -> Claim | None:
    name, asked = "contract", certificate["recipe"].get("contract") or []
    if (certificate.get("differential_privacy") or {}).get("certified"):
        return Claim(name, "fails", "it is told beside a certified ε") if certificate["contract"] else None
    if len(asked) != len(certificate["contract"]):
        return Claim(name, "fails", "the certificate judges another contract than its recipe names")
    shown = [said for spec, said in zip(asked, certificate["contract"], strict=True) if not hides(spec)]
    for agreement, said in zip(recipe.contract, shown, strict=True):
        if said["value"] is None:
            continue
        found = agreement.held(float(said["value"]))
        if found.refuses and not found.holds:
            return Claim(name, "fails", f"{said['name']} is not kept")
        if words := _bound_told(found, said, alike="sampled" not in certificate):
            return Claim(name, "fails", f"{said['name']}: {words}")
    return None


# Promises about a mechanism: a step of the recipe must have applied it, and nothing may have come after it.


def mechanism_problem(shared: SharedFolder, spec: Any, said: Mapping[str, Any]) -> Claim | None:
    """That a promise is about a mechanism which the plans of a certificate do not tell of; None: they do, or it is about none."""
    certificate = shared.certificate
    name, fields = next(iter(spec.items())) if isinstance(spec, Mapping) and spec else (spec, {})
    cls: Any = registry.family("models", shared.shape).get(str(name))
    if cls is None or cls.released_by is Model.released_by or not isinstance(fields, Mapping):
        return None
    column = fields.get("sensitive")
    quasi = [one for one, roles in certificate["roles"].items() if Role.QUASI in roles]
    shown = [step for step in certificate["recipe"]["steps"] if not hides(step)]
    if told_in_plans(certificate["plan"], str(column), quasi) and _may_apply(spec, shown):
        return None
    words = f"no step of the recipe released {column} by this mechanism, last of all that changed classes, records or values"
    return Claim(str(said.get("promise")), "fails", words, True)


def _may_apply(spec: Any, shown: list[Any]) -> bool:
    """Whether a step that the certificate shows applies exactly this mechanism; yes where the owner keeps the mechanism."""
    if recipes.keeps_back("models", spec):
        return True
    try:
        column, rule = registry.build("models", spec).released_by
        return any(registry.build("steps", step).mechanisms.get(column) == rule for step in shown)
    except (SfumatoError, TypeError):  # an edited recipe may hold anything
        return False


# Which columns the steps of a certificate touch.


def roles_in(role: str | list[str]) -> list[str]:
    """The roles of a column as a recipe writes them, one or several."""
    return [role] if isinstance(role, str) else role


READ_ONLY = ("within", "label", "sensitive", "confidential", "weights", "importance")
"""Fields of steps that name columns to look at, not to change."""


def released_unchanged(certificate: Mapping[str, Any], columns: Iterable[str]) -> bool:
    """Whether, as far as the certificate tells, the released records have these values as the original has them.

    Recipe and plan must both say so: of a plan that was edited nobody knows what it leaves out. Quasi-identifiers are what recoding is for.
    """
    steps = certificate["recipe"]["steps"]
    if any(map(hides, steps)) or "drawn_anew" in certificate:
        return False
    if any(plan["step"] == AUTHORISED or plan.get("unit", "row") != "row" for plan in certificate["plan"]):
        return False  # how many records these left out nothing else tells
    try:
        changed = touched_columns(certificate) | {c for spec in steps for c in _changed_by(spec)}
        quasi = {c for c, spec in certificate["recipe"]["columns"].items() if Role.QUASI in roles_in(spec["role"])}
    except (SfumatoError, KeyError, TypeError, AttributeError):  # an edited certificate may hold anything
        return False
    return (changed | quasi).isdisjoint(columns) and not any("certified" in plan for plan in certificate["plan"])


def _changed_by(spec: Any) -> Iterator[str]:
    """Columns that a step is told to change, and of a step that does not say which, every word that may be one."""
    step = registry.build("steps", spec)
    yield from step.masks
    if not step.masks and isinstance(spec, Mapping):
        for fields in spec.values():
            yield from _words({name: value for name, value in fields.items() if name not in READ_ONLY})


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value:
            yield from _words(part)
            if isinstance(value, Mapping):
                yield from _words(value[part])


def touched_columns(certificate: Mapping[str, Any]) -> set[str]:
    """Columns that a plan says anything of."""
    told = ("levels", "columns", "masked", "suppressed_cells")
    return {c for plan in certificate["plan"] for part in told for c in plan.get(part, ())}


# What was measured beside the original: only what its numbers say of each other can be asked.


def attack_claims(shared: SharedFolder, recipe: Recipe) -> Iterator[Claim | None]:
    """What is said of an attack follows from its rate, from guessing and from what is allowed."""
    attacks = shared.certificate.get("attacks") or {}
    wrong = [str(one["attack"]) for one in attacks.get("tried", ()) if not _attack_fits(one)]
    if wrong:
        yield Claim("attacks", "fails", f"numbers contradict each other: {named(wrong)}")


def _attack_fits(one: Mapping[str, Any]) -> bool:
    interval = None if one["interval"] is None else tuple(one["interval"])
    finding = Finding(one["attack"], one["value"], one["sentence"], interval=interval, baseline=one["baseline"])
    again = Tried(one["intruder"], tuple(one["knows"]), finding, one["threshold"], one["limit"]).to_dict()
    exact = ("exceeds", "certain")
    return near(again["beyond_guessing"], one["beyond_guessing"]) and all(again[part] == one[part] for part in exact)


SHARED_CHECKS: tuple[RecipeCheck, ...] = (
    statement_claims,
    direct_claims,
    file_claims,
    step_claims,
    contract_claims,
    attack_claims,
    doubt_claims,
)
"""What data of every shape are held to."""
