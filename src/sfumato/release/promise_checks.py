"""The promises of a certificate, judged again on what lies beside it: the same for every shape of
data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.fields import Document, Fields
from sfumato.core.mechanism import told_in_plans
from sfumato.core.model import Model
from sfumato.core.schema import Role
from sfumato.core.step import Effect
from sfumato.core.words import join_words
from sfumato.errors import SchemaError, SfumatoError
from sfumato.release.certificate_words import promise_title
from sfumato.release.epsilon_certification import Certified, certified
from sfumato.release.manifest import Claim, near
from sfumato.release.public_recipe import fields_of, hides, name_of, roles_in, touched_columns

if TYPE_CHECKING:
    from sfumato.core.model import Verdict
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder


COMPARES = "it compares the release with the original table"
WHO_IS_WHO = "it compares the release with the original, and only the owner knows who is who"
LISTED_VALUES = "it needs the values that the owner's recipe lists"
WITHIN_BOUNDS = " that are certified as suppressed"
"""Ends what is said of a promise that the released data and the count of suppressed bound."""
AUTHORISED = "authorised"
"""A step that leaves out records, and does not call them suppressed."""
READ_ONLY = ("within", "label", "sensitive", "confidential", "weights", "importance")
"""Fields of steps that name columns to look at, not to change."""


def promises_kept(certificate: Fields, shared: SharedFolder, original: Original) -> Iterator[Claim]:
    """Judge again the promises that need nothing but what is at hand; the others wait for the
    original.
    """
    meet, verdicts = certificate["recipe"]["meet"], certificate["verdicts"]
    private = certificate.get("differential_privacy", {}).get("certified")
    if not verdicts and not certificate["limits"] and not private:
        yield Claim(
            "promises",
            "fails",
            "the certificate promises nothing; an empty promise is not a promise",
        )
    if len(meet) != len(verdicts):
        yield Claim(
            "promises", "fails", "the certificate judges other promises than its recipe names"
        )
    # in the order of the recipe; other lengths were told above
    for spec, entry in zip(meet, verdicts, strict=False):
        title = promise_title(spec, shared.shape)
        try:
            status, detail = _judge(spec, entry, shared, original)
        except SfumatoError as error:
            status, detail = "fails", f"it cannot be judged on what was released: {error}"
        yield Claim(title, status, detail, True)  # type: ignore[arg-type]
        if detail.endswith(WITHIN_BOUNDS):
            words = "the bounds satisfy the promise; the certified value itself needs the original"
            yield Claim(f"{title}: attained value", "needs original", words)


def _judge(
    spec: object, entry: Fields, shared: SharedFolder, original: Original
) -> tuple[str, str]:
    released = shared.judged
    if entry["model"] != name_of(spec):
        return "fails", "the certificate's recipe names another promise"
    if (words := _mechanism_problem(spec, shared)) is not None:
        return "fails", words
    if recipes.keeps_back("models", spec, shared.shape):
        return "needs original", LISTED_VALUES
    model: Model = registry.build("models", spec, shape=shared.shape)
    # What is required is a parameter of the promise, whatever else can be judged: t, k, l …
    # what the certificate requires must be one of the promise's own numbers
    parameters = vars(getattr(model, "method", model)).values()  # of a placed promise, its own
    numbers = [value for value in parameters if isinstance(value, int | float)]
    if entry["required"] is not None and not any(
        near(entry["required"], number) for number in numbers
    ):
        return "fails", "the certificate requires something else than its recipe"
    # before anything is computed: it fails by its own word
    if not entry["holds"]:
        return "fails", "the certificate itself states that it does not hold"
    columns = {column for schema in released.schemas.values() for column in schema.attributes}
    if absent := [column for column in model.about if column not in columns]:
        return "fails", f"it is about a missing column: {', '.join(absent)}"
    before = original.as_judged
    reason = lacking_for(model, released, before)
    if reason:
        # with the original at hand bounds are not needed
        bounded = None
        if before is None:
            bounded = _judge_bounded(model, entry, shared)
        return bounded or ("needs original", reason)
    verdict = model.judge(released.evidence([model], original=before))
    # rows that are nobody's: the promise is about the file
    if "synthetic" in shared.certificate and not entry.get("of_persons", True):
        verdict = verdict.of_the_file
    status, detail = _compare(verdict, entry)
    if status == "holds" and model.randomised and _draws_from_system(shared):
        return "needs original", f"{detail}; no file shows that the steps ran as written"
    return status, detail


def _draws_from_system(shared: SharedFolder) -> bool:
    """Whether some step of the recipe cannot be repeated by anybody."""
    classes = registry.family("steps", shared.shape)
    names = [str(name_of(step)) for step in shared.certificate["recipe"]["steps"]]
    return any(name in classes and not classes[name].replayable for name in names)


def _judge_bounded(model: Model, entry: Fields, shared: SharedFolder) -> tuple[str, str] | None:
    """A promise that compares with the original, where the released data and how many were
    suppressed decide it; else None.
    """
    certificate, released = shared.certificate, shared.judged
    suppressed = certificate[f"suppressed_{released.units}"]
    # a person with several rows makes the number of records no bound
    if suppressed is None or entry["attained"] is None or released.schema.person is not None:
        return None
    if (
        _needs_more(model, released)
        or not model.about
        or not released_unchanged(certificate, model.about)
    ):
        return None
    verdict = model.judge_without_suppressed(
        released.evidence([model]), suppressed, entry["attained"]
    )
    if verdict is None:
        return None
    status, detail = _compare(verdict, entry)
    among = f"{suppressed:,} of {released.size + suppressed:,} {released.units}"
    return (
        status,
        f"{detail}; checked on the released table, give or take the {among}{WITHIN_BOUNDS}",
    )


def _compare(verdict: Verdict, entry: Fields) -> tuple[str, str]:
    """A promise judged again, beside the fields of the certificate."""
    fields = verdict.to_dict()
    if not near(fields["attained"], entry["attained"]):
        return "fails", f"attained {verdict.attained}, certified {entry['attained']}"
    exact = ("holds", "required", "failing_classes", "failing_records", "missing_rule")
    differing = [part.replace("_", " ") for part in exact if entry[part] != fields[part]]
    if fields.get("of_persons", True) != entry.get("of_persons", True):
        differing.append("of persons")
    if differing:
        return "fails", f"the certificate has other values for {join_words(differing)}"
    return ("holds" if verdict.holds else "fails"), verdict.sentence


def lacking_for(model: Model, released: Any, original: Any) -> str | None:
    """What is needed to judge a promise and is not at hand, or None."""
    if model.compares:
        return WHO_IS_WHO
    if (words := model.lacking(released)) is not None:
        return words
    if (reason := _needs_more(model, released)) is not None:
        return reason
    if model.needs(released.schema).reference and original is None:
        return COMPARES
    return None


def _needs_more(model: Model, released: Any) -> str | None:
    """What a promise needs besides the values that its columns have in both tables, or None."""
    try:
        needs = model.needs(released.schema)
    except SchemaError:  # an order or a hierarchy is not shown
        return LISTED_VALUES
    if needs.population:
        return "it compares the release with a population"
    if needs.pairs or needs.posteriors or needs.unmasked:
        return COMPARES
    return None


# Promises about a mechanism: a step of the recipe must have applied it, and nothing may have come
# after it.


def _mechanism_problem(spec: object, shared: SharedFolder) -> str | None:
    """That a promise is about a mechanism which the plans of a certificate do not tell of; None:
    they do, or it is about none.
    """
    certificate = shared.certificate
    cls: Any = registry.family("models", shared.shape).get(str(name_of(spec)))
    # the model says nothing of a mechanism
    if cls is None or cls.randomised is Model.randomised:
        return None
    stated = fields_of(spec).get("sensitive")
    columns = [str(name) for name in ([stated] if isinstance(stated, str) else stated or [None])]
    quasi = [name for name, roles in certificate.get("roles", {}).items() if Role.QUASI in roles]
    public_steps = [step for step in certificate["recipe"]["steps"] if not hides(step)]
    # both: the plan must tell of it, and the recipe must name it
    are_told = all(told_in_plans(certificate["plan"], name, quasi) for name in columns)
    if are_told and _may_apply(spec, public_steps):
        return None
    return (
        f"no step of the recipe released {', '.join(columns)} by this mechanism after all steps "
        "that changed classes, records or values"
    )


def _may_apply(spec: object, steps: list[Any]) -> bool:
    """Whether a step that the certificate shows applies exactly this mechanism; yes where the owner
    keeps the mechanism.
    """
    if recipes.keeps_back("models", spec):
        return True
    try:
        model = registry.build("models", spec)
        rules: Document = {}
        for step in steps:
            rules |= registry.build("steps", step).mechanisms
        return bool(model.fits(rules))
    except (SfumatoError, TypeError):  # an edited recipe may hold anything
        return False


# Which columns are released as they were.


def released_unchanged(certificate: Fields, columns: Iterable[str]) -> bool:
    """Whether, as far as the certificate tells, the released records have these values as the
    original has them.

    Recipe and plan must both say so: of a plan that was edited nobody knows what it leaves out.
    Quasi-identifiers are what recoding is for.
    """
    steps, plans = certificate["recipe"]["steps"], certificate["plan"]
    # what is hidden may have changed any column
    if any(map(hides, steps)) or "synthetic" in certificate:
        return False
    if any(plan["step"] == AUTHORISED or plan.get("unit", "row") != "row" for plan in plans):
        return False  # how many records these left out nothing else tells
    try:
        changed = touched_columns(certificate) | {
            column for spec in steps for column in _changed_by(spec)
        }
        column_specs = certificate["recipe"]["columns"]
        quasi = {
            column for column, spec in column_specs.items() if Role.QUASI in roles_in(spec["role"])
        }
    except (
        SfumatoError,
        KeyError,
        TypeError,
        AttributeError,
    ):  # an edited certificate may hold anything
        return False
    return (changed | quasi).isdisjoint(columns) and not any("certified" in plan for plan in plans)


def _changed_by(spec: object) -> Iterator[str]:
    """Columns that a step is told to change, and of a step that does not say which, every word that
    may be one.
    """
    step = registry.build("steps", spec)
    yield from step.masks
    if not step.masks:
        # a step that does not say what it masks: every word of it may be a column
        yield from _words(
            {name: value for name, value in fields_of(spec).items() if name not in READ_ONLY}
        )


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value:
            yield from _words(part)
            if isinstance(value, Mapping):
                yield from _words(value[part])


# An ε: what is certified for the whole recipe follows from its steps.


def epsilon(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """ε, δ and whom they are about follow from the recipe; that it ran as it is written no file
    shows.
    """
    # a plan with an ε and no section about it would let readers add up what does not hold
    section, plans = certificate.get("differential_privacy"), certificate["plan"]
    if section is None and any(
        plan.get("certified") is True or plan.get("epsilon") is not None for plan in plans
    ):
        words = "a step states an ε, but the certificate states none for the whole"
        return Claim("ε", "fails", words, True)
    stated = section is not None and section["certified"]
    if section is None:
        cost = (None, None)
    else:
        cost = (section["epsilon"], section["delta"])
    if stated and None in cost:
        return Claim("ε", "fails", "the certificate does not state which ε is certified", True)
    # an ε that is not certified must not stand there for readers to find
    if not stated and cost != (None, None):
        return Claim(
            "ε", "fails", "the certificate contains it, but states that none is certified", True
        )
    if section is not None and stated:
        title = f"ε = {section['epsilon']:g}, δ = {section['delta']:g}"
    else:
        title = "ε"
    try:
        # judged again from the recipe, not from what the certificate says of its steps
        recipe = recipes.any_from_dict(certificate["recipe"])
        privacy = certified(recipe, shared.first.seen, shared.judged.schema)
    except SfumatoError:
        words = "the certificate omits parts of the recipe that it follows from"
        if not stated:
            return None
        return Claim(title, "needs original", words, True)
    if section is None:
        words = "a step accounts for one, but the certificate states none for the whole"
        if privacy is None:
            return None
        return Claim(title, "fails", words, True)
    if privacy is None or (stated and not privacy.holds):
        return Claim(title, "fails", "it does not follow from the steps of the recipe", True)
    problem = _accounted_otherwise(privacy, section) or _plans_otherwise(
        privacy, plans, whole=stated
    )
    if problem is not None:
        return Claim(title, "fails", problem, True)
    if not stated:
        return None
    words = (
        f"it follows from the steps of the recipe, about {privacy.unit}; no file shows that they "
        "ran as written, a signature vouches for it (--key)"
    )
    return Claim(title, "needs original", words, True)


def _accounted_otherwise(privacy: Certified, section: Fields) -> str | None:
    """That the section about ε says another one than the steps of the recipe account for, of one of
    them or of the whole.
    """
    fields = privacy.to_dict()
    parts = (
        ("epsilon", "delta", "neighbours", "unit_of_privacy")
        if section["certified"]
        else ("neighbours",)
    )
    if any(section[part] != fields[part] for part in parts):
        return f"the steps of the recipe account for ε = {privacy.epsilon:g}, δ = {privacy.delta:g}"
    costs = []
    for document in (section, fields):
        steps = document["steps"]
        costs.append(
            [
                (step["step"], step["effect"], step.get("epsilon"), step.get("delta"))
                for step in steps
            ]
        )
    if costs[0] == costs[1]:
        return None
    return "the steps of the recipe account for other values"


def _plans_otherwise(privacy: Certified, plans: Sequence[Fields], *, whole: bool) -> str | None:
    """That the plan of an accounted step does not tell of its ε: then nothing says that it applied
    its mechanism.

    Where none is certified for the ``whole`` recipe it may tell of none, and of no other.
    """
    # other lengths of plan and recipe have a claim of their own
    for part, plan in zip(privacy.parts, plans, strict=False):
        if part.account.effect is not Effect.ACCOUNTED or (
            not whole and plan.get("epsilon") is None
        ):
            continue
        if plan.get("certified") is not True or not near(plan.get("epsilon"), part.account.epsilon):
            return f"the plan of {part.step} lacks the ε that it accounts for"
    return None
