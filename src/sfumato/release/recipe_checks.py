"""A released table is what the recipe of its certificate accounts for: every column, file, level, count and sentence.

What is left is what only the original tells (values, and rows that were never there), and what nobody can compute again: when, by whom
and by which versions a release was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.acceptance import accepted_pairs
from sfumato.core.attack import Finding
from sfumato.core.evidence import gather
from sfumato.core.hierarchy import TOP
from sfumato.core.limits import Limit, limits_of
from sfumato.core.mechanism import told_in_plans
from sfumato.core.metric import Measure
from sfumato.core.model import Model
from sfumato.core.pair import of_a_sample
from sfumato.core.schema import Kind, Missing, Role
from sfumato.core.shape import Shape
from sfumato.errors import ParameterError, SfumatoError
from sfumato.methods.formulas.dependence_search import LOOKED_FOR
from sfumato.release.attack_report import Tried
from sfumato.release.certificates import IMPLIED, KNOWN
from sfumato.release.consistency import (
    count_of,
    hides,
    is_on_level,
    left_out,
    loose_claim,
    made_by_this_version,
    named,
    nodes_above,
    recipe_claim,
    shown_recipe,
    steps_claim,
    told_otherwise,
)
from sfumato.release.evaluation import default_metrics
from sfumato.release.limit_checks import about_all_releases, kept_within
from sfumato.release.manifest import NEAR, Claim, near
from sfumato.release.read_back import has_words

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.recipe import Kept, Recipe
    from sfumato.core.schema import Schema

COLUMNS = "columns are what the recipe says"
SAMPLE, AUTHORISED = "sample", "authorised"
"""Steps that leave out records, and do not call them suppressed."""


def accounted_for(certificate: Mapping[str, Any], released: Dataset, names: list[str]) -> Iterator[Claim | None]:
    """Everything that a stranger can hold against the recipe without the original.

    ``released`` is what promises look at of the table, ``names`` are all of its columns.
    """
    if (broken := recipe_claim(certificate, Shape.TABLE)) is not None:
        yield broken
        return
    recipe = _recipe(certificate)
    expected = _expected(recipe, names)
    yield _said_more(certificate)
    yield _columns(certificate, expected, names)
    yield _values(expected, released, _unknown(certificate))
    if "files" in certificate:
        yield loose_claim(certificate, _data_files(certificate))
    said = _records(certificate)
    yield steps_claim(certificate, Shape.TABLE, lambda step, told: step.contradicted(told, recipe.schema, said))
    yield _levels(certificate, released)
    yield _records_gone(certificate)
    yield _contract(certificate, recipe)
    yield _story(certificate, released)
    yield _utility(certificate, recipe, released)
    yield _attacks(certificate)
    yield _implied(certificate, recipe)


def _said_more(certificate: Mapping[str, Any]) -> Claim | None:
    """A statement that this version knows nothing of, in a certificate that it wrote, is somebody else's."""
    more = [key for key in certificate if key not in KNOWN]
    if not more or not made_by_this_version(certificate):
        return None
    return Claim("certificate", "fails", f"it says what no release says: {named(more)}")


def _implied(certificate: Mapping[str, Any], recipe: Recipe) -> Claim | None:
    """What is said of columns that may undo the release can be said of these columns, and accepts what the recipe does.

    What was found in them only the original tells.
    """
    said, name = certificate.get("implied"), "released columns beside the labels"
    if said is None:
        return None
    more = [key for key in said if key not in (*IMPLIED, "sampled")]
    if made_by_this_version(certificate) and (more or said["looked_for"] != LOOKED_FOR):
        return Claim(name, "fails", "the certificate says of them what no release says")
    if not 0 <= said["unknown"] <= said["compared"] <= len(certificate["roles"]) * len(recipe.schema.quasi):
        return Claim(name, "fails", "more pairs are counted than there are")
    accepted = accepted_pairs(recipe.accept)
    taken_on = {(column, one["implies"]) for one in said["accepted"] for column in one["columns"]}
    if taken_on <= set(accepted):
        return None
    return Claim(name, "fails", "the certificate says that more was accepted than the recipe accepts")


def _records(certificate: Mapping[str, Any]) -> int | None:
    """How many records the original had, where the certificate tells."""
    gone = certificate["suppressed_records"]
    return None if gone is None else int(certificate["data"]["rows"] + gone)


def _data_files(certificate: Mapping[str, Any]) -> list[str]:
    """The file of the table, or all of its parts."""
    data = certificate["data"]
    if "parts" not in data:
        return [data["file"]]
    return [file for file in certificate["files"] if file.startswith(f"{data['file']}/")]


# Columns.


def _recipe(certificate: Mapping[str, Any]) -> Recipe:
    """The recipe without what its owner keeps."""
    said = certificate["recipe"]
    contract = [spec for spec in said.get("contract") or [] if not hides(spec)]
    return recipes.from_dict({**shown_recipe(said, Shape.TABLE), "contract": contract})


def _expected(recipe: Recipe, names: list[str]) -> Schema:
    """What the columns are once the steps that the recipe shows were taken."""
    schema = recipe.schema
    for step in recipe.steps:
        schema = step.released_schema(schema, names)
    return schema


def _unknown(certificate: Mapping[str, Any]) -> set[str]:
    """Columns that steps changed of which the owner keeps a part: what became of them is not all told."""
    both = zip(certificate["recipe"]["steps"], certificate["plan"], strict=False)
    return {column for spec, plan in both if hides(spec) for column in plan.get("masked", {})}


def _columns(certificate: Mapping[str, Any], expected: Schema, names: list[str]) -> Claim:
    problems = [*_roles(certificate, expected, names), *_missing_rules(certificate, expected)]
    if problems:
        return Claim(COLUMNS, "fails", "; ".join(problems))
    return Claim(COLUMNS, "holds", "the same columns and roles, no others")


def _roles(certificate: Mapping[str, Any], expected: Schema, names: list[str]) -> Iterator[str]:
    """What is wrong with the columns of the file, in words."""
    said, unknown, known = certificate["roles"], _unknown(certificate), expected.attributes
    if strange := [c for c in names if c not in known and c not in unknown]:
        yield f"{count_of(strange)} are not in the recipe: {named(strange)}"
    replaced = {c for c in unknown if c not in known or known[c].has(Role.DIRECT)}
    roles = {c: [Role.PLAIN] if c in replaced else list(known[c].roles) for c in names if c in known or c in replaced}
    if other := [c for c in roles if sorted(said.get(c, ())) != sorted(map(str, roles[c]))]:
        yield f"{count_of(other)} have another role than the recipe gives them: {named(other)}"
    dropped = [c for c in certificate["recipe"]["columns"] if c not in names]
    gone = [c for c in dropped if c in known and not known[c].has(Role.DIRECT)]
    if gone := [c for c in gone if c not in left_out(certificate["plan"])]:
        yield f"{count_of(gone)} are missing, and no step left them out: {named(gone)}"
    if sorted(certificate["dropped_columns"]) != sorted(dropped):
        yield "the certificate lists other columns as dropped than the file lacks"


def _missing_rules(certificate: Mapping[str, Any], expected: Schema) -> Iterator[str]:
    """A missing value counts as the recipe says, or as a cell that a step says it suppressed."""
    said, recipe = certificate["missing_rule"], certificate["recipe"]["columns"]
    quasi = [c for c, roles in certificate["roles"].items() if Role.QUASI in roles]
    if set(said) != set(quasi):
        yield "missing values: a rule is not about a quasi-identifier, or one has none"
    emptied = {c for plan in certificate["plan"] for c in plan.get("suppressed_cells", ())}
    both = zip(certificate["recipe"]["steps"], certificate["plan"], strict=False)
    kept = any(
        hides(spec) and "suppressed_cells" in plan for spec, plan in both
    )  # which columns it may empty is not told
    ruled = {c: recipe.get(c, {}).get("missing", Missing.CATEGORY) for c in said}
    wild = [c for c in said if said[c] == Missing.WILDCARD and (c in emptied or kept)]
    if other := [c for c in said if said[c] != ruled[c] and c not in wild]:
        yield f"missing values of {named(other)} count otherwise than the recipe says"


def _values(expected: Schema, released: Dataset, unknown: set[str]) -> Claim | None:
    """Amounts and days that are released as they are hold numbers: a column of them that holds words in most of its cells is another one."""
    kinds = (Kind.NUMERIC, Kind.DATE)
    there = [c for c in released.columns if c in expected.attributes and c not in unknown]
    exact = [c for c in there if expected[c].kind in kinds and not expected[c].has(Role.QUASI)]
    wrong = [c for c in exact if not released.dtype(c).is_numeric() and has_words(released.column(c))]
    return Claim("numbers", "fails", f"words stand where the recipe says numbers: {named(wrong)}") if wrong else None


# Levels and records.


def _levels(certificate: Mapping[str, Any], released: Dataset) -> Claim | None:
    """Columns that are said to be generalised to a level hold values of that level, or of one above it.

    A column is not asked whose values a later step changed.
    """
    places = dict[str, Any]()
    for plan in certificate["plan"]:
        changed = {*plan.get("masked", ()), *plan.get("columns", ())}
        places = {c: place for c, place in places.items() if c not in changed} | plan.get("levels", {})
    said = certificate["recipe"]["columns"]
    if strange := [c for c in places if c not in said]:
        return Claim("levels", "fails", f"{count_of(strange)} are not in the recipe: {named(strange)}")
    there = [c for c in places if c in released.columns]
    wrong = [c for c in there if not is_on_level(said[c], places[c], released.column(c))]
    told = f"the values are not of the levels that are certified: {named(wrong)}"
    return Claim("levels", "fails", told) if wrong else None


def _records_gone(certificate: Mapping[str, Any]) -> Claim | None:
    """As many records are said to have gone as the steps say they suppressed, or more where others leave records out, too."""
    said, plans = certificate["suppressed_records"], certificate["plan"]
    told = sum(plan.get("suppressed_records", 0) + _not_drawn(plan) for plan in plans)
    whole = all("suppressed_records" in plan for plan in plans)
    if said is None or (0 <= said == told if whole else told <= said):
        return None
    return Claim("steps", "fails", f"{told:,} records went by the steps, and {said:,} are certified as suppressed")


def _not_drawn(plan: Mapping[str, Any]) -> int:
    """How many rows a sample of single rows left out: its plan tells the exact share."""
    if plan["step"] != SAMPLE or plan["unit"] != "row":
        return 0
    rows, share = int(plan["rows"]), float(plan["fraction"])
    return round(rows / share) - rows


# Limits and contract: a bound, what was measured, and the sentence that follows from both.


def limit_claim(
    certificate: Mapping[str, Any], said: Mapping[str, Any], released: Dataset, *, alike: bool
) -> Claim | None:
    """A limit on a risk of the file, measured again; None where the limit is on something that needs the original."""
    name, limit = said["name"], limit_said(certificate, said)
    if name not in registry.risks():
        return None
    found = kept_within(limit, registry.measured(limit).measure(gather(released, ())))
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


def bound_problem(certificate: Mapping[str, Any], said: Mapping[str, Any], *, alike: bool) -> str | None:
    """Why a limit that needs the original cannot be as it is said: value, bound, verdict and sentence follow from each other."""
    families = [registry.family(family) for family in registry.MEASURED]
    cls = next((known[said["name"]] for known in families if said["name"] in known), None)
    if cls is None or said["value"] is None:
        return "what is limited was not measured"
    better: Any = "lower" if said["name"] in registry.attacks() else cls.better
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


def _contract(certificate: Mapping[str, Any], recipe: Recipe) -> Claim | None:
    """The contract is the one of the recipe, and every verdict on it follows from what was measured."""
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


def mechanism_problem(certificate: Mapping[str, Any], spec: Any, said: Mapping[str, Any]) -> Claim | None:
    """That a promise is about a mechanism which the plans of a certificate do not tell of; None: they do, or it is about none."""
    name, fields = next(iter(spec.items())) if isinstance(spec, Mapping) and spec else (spec, {})
    cls: Any = registry.family("models").get(str(name))
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


# What was measured beside the original: only what its numbers say of each other can be asked.


def _story(certificate: Mapping[str, Any], released: Dataset) -> Claim | None:
    """What pictures show fits the recipe and the plan: columns, roles, shares, and columns that no step touched."""
    story = certificate.get("story")
    if story is None:
        return None
    problem = next(_drawn_wrongly(certificate, story), None) or next(_lost_wrongly(certificate, released), None)
    return None if problem is None else Claim("pictures", "fails", problem)


def _drawn_wrongly(certificate: Mapping[str, Any], story: Mapping[str, Any]) -> Iterator[str]:
    columns, cards, maps, gone = (
        certificate["recipe"]["columns"],
        story["cards"],
        story["maps"],
        story["suppressed_cells"],
    )
    shown, drawn = [card["column"] for card in cards], maps["columns"]
    pairs = len(drawn) * (len(drawn) - 1) // 2
    if any(c not in columns for c in (*shown, *drawn, *gone)) or len(set(shown)) < len(shown):
        yield "they are not about the columns of the recipe"
    if pairs != len(maps["table_distance"]):
        yield "not every two columns that are drawn have a distance"
    if any(sorted(card["roles"]) != sorted(_listed(columns[card["column"]]["role"])) for card in cards):
        yield "columns have other roles than the recipe gives them"
    shares = [card[part] for card in cards for part in ("loss", "distance")] + [*maps["table_distance"], *gone.values()]
    if not all(0 <= share <= 1 + NEAR for share in shares):
        yield "a share lies outside 0 to 1"


def _lost_wrongly(certificate: Mapping[str, Any], released: Dataset) -> Iterator[str]:
    """Columns that no step touched lost what went with the records, and what they had lost before they came."""
    records, touched = _records(certificate), _touched(certificate)
    if records is None or "sampled" in certificate or "parts" in certificate["data"]:
        return
    cards, gone = certificate["story"]["cards"], certificate["story"]["suppressed_cells"]
    went = certificate["suppressed_records"]
    more = [c for c, share in gone.items() if c not in touched and share > went / max(1, records) + NEAR]
    lost = [card["column"] for card in cards if card["loss"] and card["column"] not in touched]
    coarse = {c: _came_coarse(certificate["recipe"]["columns"][c], released, c) for c in {*more, *lost}}
    # a format that cannot write a cell (infinities in Excel and JSON lines) leaves it missing in the file
    empty = {c: released.column(c).null_count() if c in released.columns else 0 for c in coarse}
    if any(share < went / max(1, records) - NEAR for share in gone.values()) or any(
        gone[c] > (went + coarse[c] + empty[c]) / max(1, records) + NEAR for c in more
    ):
        yield "other cells are said to be gone than went with the records and by the steps"
    if not all(coarse[c] or empty[c] for c in lost):
        yield "a column that no step touched is said to have lost something"


def _came_coarse(spec: Mapping[str, Any], released: Dataset, column: str) -> int:
    """How many cells of a column that no step touched may stand for several values: it was generalised before it came.

    Any of them, where the hierarchy is made from the data or kept by its owner, and where labels may be ranges.
    """
    hierarchy, ordered = spec.get("hierarchy"), spec.get("kind", Kind.NOMINAL) != Kind.NOMINAL
    if column not in released.columns or (hierarchy is None and ordered and not released.dtype(column).is_numeric()):
        return released.records
    counts = released.column(column).cast(pl.String).drop_nulls().rename("label").value_counts()
    different, amounts = counts["label"].to_list(), counts["count"].to_list()
    coarse = {TOP} if hierarchy is None else nodes_above(hierarchy, different)
    return sum(amount for label, amount in zip(different, amounts, strict=True) if coarse is None or label in coarse)


def _listed(role: str | list[str]) -> list[str]:
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
        changed = _touched(certificate) | {c for spec in steps for c in _changed_by(spec)}
        quasi = {c for c, spec in certificate["recipe"]["columns"].items() if Role.QUASI in _listed(spec["role"])}
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


def _touched(certificate: Mapping[str, Any]) -> set[str]:
    """Columns that a plan says anything of."""
    told = ("levels", "columns", "masked", "suppressed_cells")
    return {c for plan in certificate["plan"] for part in told for c in plan.get(part, ())}


def _utility(certificate: Mapping[str, Any], recipe: Recipe, released: Dataset) -> Claim | None:
    """Measures of utility that the released table gives alone are as it gives them."""
    said, records = certificate.get("utility", {}), _records(certificate)
    if records is None or "sampled" in certificate or "parts" in certificate["data"]:
        return None
    known = [metric for metric in default_metrics() if metric.name in said]
    alone = {metric.name: metric.told_alone(released, recipe.schema, records) for metric in known}
    wrong = [name for name, found in alone.items() if found is not None and not near(found, said[name])]
    return Claim("utility", "fails", f"the file gives another {named(wrong)}") if wrong else None


def _attacks(certificate: Mapping[str, Any]) -> Claim | None:
    """What is said of an attack follows from its rate, from guessing and from what is allowed."""
    attacks = certificate.get("attacks") or {}
    wrong = [str(one["attack"]) for one in attacks.get("tried", ()) if not _attack_fits(one)]
    return Claim("attacks", "fails", f"numbers contradict each other: {named(wrong)}") if wrong else None


def _attack_fits(one: Mapping[str, Any]) -> bool:
    interval = None if one["interval"] is None else tuple(one["interval"])
    finding = Finding(one["attack"], one["value"], one["sentence"], interval=interval, baseline=one["baseline"])
    again = Tried(one["intruder"], tuple(one["knows"]), finding, one["threshold"], one["limit"]).to_dict()
    exact = ("exceeds", "certain")
    return near(again["beyond_guessing"], one["beyond_guessing"]) and all(again[part] == one[part] for part in exact)
