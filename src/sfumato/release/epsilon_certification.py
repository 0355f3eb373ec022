r"""Whether a recipe certifies an ε: one judgement over all of it.

A step that accounts for an ε is worth nothing if another has looked at the data before it, or if
something computed from the original stands beside its output. So ε is a property of the whole
recipe:

- every step before an accounted one is data-independent or accounted itself, and what comes after
  is post-processing;
- every column that is released went through an accounted step, or all accounted steps promise an ε
  given the other columns: then it is about the values they randomise, and nothing else;
- nothing decides about the release by comparing it with the original: no limit on an attack or a
  utility, no contract that refuses, no promise judged against the original or a population;
- what the columns are was not found by looking at all cells of a text, and the recipe was not
  proposed by looking at the table;
- types, labels, layout and errors follow from the recipe alone
  (:mod:`sfumato.data.table.fixed_form`);
- no step reads a second table, a vault, or identifiers that no step accounts for;
- coins come from the operating system, and the release is no rehearsal.

Then the ε and δ of the accounted steps add up, and what is shared holds nothing else that was
computed from the original. A run ends without a release only by what the recipe, or the output of
the accounted steps, says; and where the table is empty.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.fields import Document, Fields
from sfumato.core.hidden_columns import hidden_columns
from sfumato.core.model import Model
from sfumato.core.recipe import Recipe
from sfumato.core.shape import Shape
from sfumato.core.step import ONE_RECORD, VALUES, Account, Effect, Step
from sfumato.core.words import join_words
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.release.release import Release

KEPT = "stays with the owner"
NEIGHBOURS = {
    "add_remove": "tables that differ by {} more or less; the number of records is secret",
    "replace": "tables of the same size that differ in {}",
    VALUES: "tables that agree in everything but {}; all other columns are taken as known",
}
"""What is distinguished at most by a factor of e^ε; the braces stand for whom or what ε is
about.
"""
ASSUMPTIONS = (
    "recipe, schema and hierarchies were written without looking at the data",
    (
        "how the file was read (delimiter, header, encoding, codes of missing values) does not "
        "depend on one record"
    ),
    (
        "a run that ends without a release (a promise about the output fails, or the table is "
        "empty) reveals that, which is not counted"
    ),
    "releases of the same people add up: every run spends ε and δ again",
)


@dataclasses.dataclass(frozen=True)
class Part:
    """What one step of the recipe does to ε, and what that means where it stands."""

    step: str
    account: Account
    said: str

    def to_dict(self) -> Document:
        """Plain data for a certificate."""
        cost = {"epsilon": self.account.epsilon, "delta": self.account.delta}
        cost_fields = cost if self.account.effect is Effect.ACCOUNTED else {}
        return {
            "step": self.step,
            "effect": str(self.account.effect),
            "means": self.said,
            **cost_fields,
        }


@dataclasses.dataclass(frozen=True)
class Certified:
    """The judgement: (ε, δ) and for which neighbours, or every reason why there is none; and what
    each step is.

    ``kept`` names what is measured with the original and stays with the owner.
    """

    parts: tuple[Part, ...]
    reasons: tuple[str, ...]
    kept: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether an ε is certified."""
        return not self.reasons

    @property
    def neighbours(self) -> str:
        """``add_remove`` or ``values`` where all accounted steps are about that, otherwise
        ``replace``.
        """
        relations = {account.neighbours for account in self._accounted}
        if len(relations) != 1:
            return "replace"
        return relations.pop()

    @property
    def unit(self) -> str:
        """Whose records ε is about: one record, unless all accounted steps are about the same
        more; of tables that differ in values, which columns of it.
        """
        if self.neighbours == VALUES:
            names = dict.fromkeys(n for a in self._accounted for n in a.columns or ())
            return f"{join_words(list(names))} of {ONE_RECORD}"
        units = {account.unit for account in self._accounted}
        # accounted steps about different units: only the smallest unit is common to all
        return units.pop() if len(units) == 1 else ONE_RECORD

    @property
    def epsilon(self) -> float:
        """The sum of ε over the accounted steps."""
        return sum(self._cost(account)[0] for account in self._accounted)

    @property
    def delta(self) -> float:
        """The sum of δ over the accounted steps."""
        return min(1.0, sum(self._cost(account)[1] for account in self._accounted))

    @property
    def secret_count(self) -> bool:
        """Whether the number of records of the original must stay secret."""
        return any(account.neighbours == "add_remove" for account in self._accounted)

    def after(self, index: int) -> bool:
        """Whether the step at this place works on accounted output only."""
        return self.parts[index].said == POST_PROCESSING

    def to_dict(self) -> Document:
        """Plain data for a certificate."""
        return {
            "certified": self.holds,
            "epsilon": self.epsilon if self.holds else None,
            "delta": self.delta if self.holds else None,
            "neighbours": self.neighbours,
            "meaning": NEIGHBOURS[self.neighbours].format(self.unit),
            "unit_of_privacy": self.unit,
            "steps": [part.to_dict() for part in self.parts],
            "kept_by_the_owner": list(self.kept) if self.holds else [],
            **(
                {"assumptions": list(ASSUMPTIONS)}
                if self.holds
                else {"not_certified_because": list(self.reasons)}
            ),
        }

    def _cost(self, account: Account) -> tuple[float, float]:
        own = (account.epsilon, account.delta)
        # under another relation of neighbours a step may cost something else
        if self.neighbours == account.neighbours:
            return own
        return account.replaced or own

    @property
    def _accounted(self) -> tuple[Account, ...]:
        return tuple(p.account for p in self.parts if p.account.effect is Effect.ACCOUNTED)


POST_PROCESSING = "post-processing of accounted output"
NOT_SEEN = "does not see what a later step randomises"


TYPES_FOUND = (
    "the types of columns were inferred from all cells; read the CSV with text=True, or keep the "
    "data in a format with types"
)


PROPOSED = (
    "the recipe was proposed by sfumato {}, which read the table; write bounds, domains, levels "
    "and hierarchies from public knowledge, and remove proposed_from"
)


def certified(
    recipe: Recipe,
    columns: Sequence[str],
    released: Schema,
    *,
    rehearsal: bool = False,
    types_found: bool = False,
) -> Certified | None:
    """Judge a recipe that released these columns; None where no step accounts for an ε, so that
    none is claimed.
    """
    accounts = [step.account(recipe.schema) for step in recipe.steps]
    # no step accounts for an ε, so none is claimed and none can be broken
    if all(account.effect is not Effect.ACCOUNTED for account in accounts):
        return None
    effective = [account for account in accounts if account.effect is Effect.ACCOUNTED]
    if all(account.neighbours == VALUES for account in effective):
        # Nothing is promised about the other columns: all that matters is who sees these.
        names = dict.fromkeys(n for account in effective for n in account.columns or ())
        walk = _Walk(list(names), hidden_columns(recipe.steps, recipe.schema))
        columns = [name for name in columns if name in names]
    else:
        walk = _Walk(
            [name for name in recipe.schema.attributes if name not in recipe.schema.dropped_columns]
        )
    steps: Sequence[Any] = recipe.steps
    parts = tuple(
        walk.step(index, step, account)
        for index, (step, account) in enumerate(zip(steps, accounts, strict=True))
    )
    reasons = [
        *walk.reasons,
        *walk.unaccounted_problems(columns),
        *_fitted(recipe.schema),
        *_compared(recipe, released),
    ]
    if types_found:
        reasons.append(TYPES_FOUND)
    if recipe.proposed_from is not None:
        reasons.append(PROPOSED.format(recipe.proposed_from))
    if rehearsal:
        reasons.append("this is a rehearsal: draws are seeded")
    unchanged = (
        "utility, attacks and pictures that compare with the original",
        *(f"contract: {a.promise}" for a in recipe.contract),
    )
    return Certified(parts, tuple(reasons), unchanged)


class _Walk:
    """The steps in their order, and which columns an accounted step has covered so far."""

    def __init__(self, columns: Sequence[str], hidden: Sequence[frozenset[str]] = ()) -> None:
        self.columns, self.covered, self.whole = list(columns), set[str](), False
        self.hidden = hidden
        self.reasons: list[str] = []

    def step(self, index: int, step: Any, account: Account) -> Part:
        """One step: what it means at this place; why nothing is certified, where it breaks that."""
        name = step.name
        bare, source = (
            self.unaccounted_problems(self.columns),
            _beside_table(step, accounted=bool(self.covered) or self.whole),
        )
        if source is not None:
            return self._breaks(name, account, f"reads {source}, which no step accounts for")
        if account.effect is Effect.ACCOUNTED:
            self.whole = self.whole or account.columns is None
            self.covered |= set(account.columns or ())
            return Part(
                name, account, f"accounts for ε = {account.epsilon:g}, δ = {account.delta:g}"
            )
        if not bare:
            return Part(name, account, POST_PROCESSING)
        if self.hidden and set(self.columns) - self.covered <= self.hidden[index]:
            return Part(name, account, NOT_SEEN)
        if account.effect is Effect.DATA_INDEPENDENT:
            if shown := self._shown_by(index, account):
                return self._breaks(
                    name,
                    account,
                    f"shows {join_words(shown)} in other columns, before it has noise",
                )
            return Part(name, account, "does the same to a record whatever the others are")
        because = f" ({account.why})" if account.why else ""
        return self._breaks(
            name, account, f"reads data that no step before it accounts for{because}"
        )

    def _shown_by(self, index: int, account: Account) -> list[str]:
        """The columns that are randomised later, given all others, and by which a step decides
        about others.
        """
        # ε of whole records covers the other columns as well.
        if not self.hidden:
            return []
        unseen = self.hidden[index] | self.covered
        return [name for name in account.sources if name in self.columns and name not in unseen]

    def _breaks(self, name: str, account: Account, reason: str) -> Part:
        self.reasons.append(f"step {name} {reason}")
        return Part(name, account, reason)

    def unaccounted_problems(self, columns: Sequence[str]) -> list[str]:
        """The reason, if columns are there that no step accounts for."""
        # a step about the whole table covers every column
        if self.whole:
            bare = []
        else:
            bare = [name for name in columns if name not in self.covered]
        if len(bare) > 5:
            remainder = f" and {len(bare) - 5} more"
        else:
            remainder = ""
        if not bare:
            return []
        return [f"no step accounts for {', '.join(bare[:5])}{remainder}"]


def _beside_table(step: Step, *, accounted: bool) -> str | None:
    """What a step reads besides the table that the steps before it made; after an accounted one,
    direct identifiers are such too.
    """
    if step.second_source is not None:
        return step.second_source
    if accounted and step.claims:
        return f"{', '.join(step.claims)} of the original"
    return None


def _fitted(schema: Schema) -> Iterator[str]:
    """Hierarchies that were found in the records, with what an accounted step knows nothing of."""
    for name, attribute in schema.attributes.items():
        if attribute.hierarchy is not None and attribute.hierarchy.learns:
            yield f"the hierarchy of {name} is fitted to the records"


def _compared(recipe: Recipe, released: Schema) -> Iterator[str]:
    """What decides about the release by more than the release."""
    for name in recipe.limits:
        if compares(name, recipe.shape):
            yield (
                f"the limit on {name} compares the release with the original, and can refuse "
                "the release for it"
            )
    for agreement in recipe.contract:
        if agreement.refuse:
            yield (
                f"the contract on {agreement.metric.name} compares the release with the original, "
                "and can refuse the release for it"
            )
    for model in recipe.meet:
        if (beyond := _beyond_release(model, released)) is not None:
            yield f"{model.promise} {beyond}, and a release that breaks it is refused"


def compares(limit: str, shape: Shape) -> bool:
    """Whether a limit is on something that is measured with the original: all but risks of the
    released file are.
    """
    return limit not in registry.risks(shape)


def _beyond_release(model: Model, released: Schema) -> str | None:
    """What a promise is judged by besides the release, or None."""
    if model.compares:
        return "compares the release with the original"
    try:
        needs = model.needs(released)
    except SchemaError:
        return "cannot be judged by the released file alone"
    if needs.reference or needs.pairs or needs.posteriors or needs.unmasked:
        return "compares the release with the original"
    if needs.population:
        return "compares the release with a population"
    return None


def told_plan(release: Release, privacy: Certified | None) -> list[Document]:
    """What a certificate tells of the plans.

    Of a certified release only what is the recipe's or the accounted output's: of steps before the
    first accounted one only their name. Where the whole is not certified, no step says that it is.
    """
    plans = [{"step": name, **plan.describe()} for name, plan in release.plans]
    if privacy is None:
        return plans
    return [_public_plan(plan, privacy, index) for index, plan in enumerate(plans)]


def _public_plan(plan: Fields, privacy: Certified, index: int) -> Document:
    accounted = privacy.parts[index].account.effect is Effect.ACCOUNTED
    # a part must not claim an ε that does not hold of the whole
    if accounted and not privacy.holds:
        gone = {"epsilon": None, "delta": None, "certified": False}
        return {
            **{k: v for k, v in plan.items() if k != "where_the_number_of_records_is_public"},
            **gone,
        }
    if accounted or not privacy.holds or privacy.after(index):
        return dict(plan)
    return {"step": plan["step"], "plan": KEPT}
