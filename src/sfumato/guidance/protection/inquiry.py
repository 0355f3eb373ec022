"""The inquiry before anything is released: what the table and its columns are, what must hold, the
search, and the release of the whole table that wins.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core import recipe_files as recipes
from sfumato.core.data import Context
from sfumato.core.progress import Progress
from sfumato.core.randomness import Seed, marked
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.errors import (
    ParameterError,
    ReleaseRefused,
    SchemaError,
    Unsatisfiable,
    did_you_mean,
)
from sfumato.guidance.profiling.proposed_steps import step_for
from sfumato.guidance.protection.changes import (
    ChangePlan,
    RecipeChange,
    changes_of,
    plan_changes,
    recipe_without,
    require_hidden,
)
from sfumato.guidance.protection.choice import CandidateChoice
from sfumato.guidance.protection.context import ProtectionContext
from sfumato.guidance.protection.protection import Method
from sfumato.guidance.protection.search import (
    LeftOut,
    SearchInput,
    SearchResult,
    columns_to_leave_out,
    methods_of,
    search,
)
from sfumato.guidance.protection.trial import TrialGround
from sfumato.guidance.recommendation.inspection import Looked, drawn_from, looked_at, table_of
from sfumato.guidance.recommendation.terms import ProposedTerms, terms_for
from sfumato.methods.attacks.linkage.success_rates import Z95
from sfumato.methods.steps.synthesis.synthesize import Synthesize
from sfumato.release.decision.attacks import EVERYBODY, SAMPLE
from sfumato.release.decision.tiers import class_size
from sfumato.release.make import make_release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.release.decision.terms import DecisionTerms
    from sfumato.release.table_release import TableRelease

SEARCH_SEED_BITS = 62
MOST_LEFT_OUT = 8
"""Columns that may be left out because they undo a release of the whole table."""


@dataclasses.dataclass(frozen=True)
class Inquiry:
    """Everything that is known before anything is tried: the table with its roles, the terms of the
    decision, and what candidates must keep.
    """

    inspected: Looked
    context: ProtectionContext
    terms: DecisionTerms
    changes: tuple[RecipeChange, ...]
    data: SearchInput
    seed: Seed
    people: int = SAMPLE

    @classmethod
    def of(
        cls,
        table: Any,
        context: ProtectionContext,
        *,
        recipe: Recipe | str | Path | None,
        changes: Iterable[str | RecipeChange],
        seed: Seed,
        people: int | None = None,
    ) -> Inquiry:
        """Read the table and settle what its columns are; attacks try ``people`` where not
        everybody is tried.

        Raises:
            SchemaError: columns wait for a decision; all are listed, with what to answer.
        """
        loaded = recipes.load(recipe) if isinstance(recipe, str | Path) else recipe
        dataset = table_of(table, loaded)
        own_changes = changes_of(tuple(changes))
        plan = plan_changes(own_changes, dataset)
        answers = dataclasses.replace(
            context.answers, decide={**context.answers.decide, **plan.roles}
        )
        inspected = looked_at(dataset, answers, loaded)
        dropped = [str(change.column) for change in own_changes if change.action == "drop"]
        if dropped:
            quasi = _quasi_without_changes(dataset, context, loaded)
            require_hidden(own_changes, inspected.dataset, dropped if quasi is None else quasi)
        _require_released(context, inspected.recipe)
        terms = context.terms(inspected.recipe)
        proposed = terms_for(
            answers, inspected.dataset.schema, inspected.distinct, inspected.people
        )
        sample_size = tried_people(people)
        means = step_for(inspected.dataset)
        data = SearchInput(
            inspected.dataset,
            inspected.recipe,
            _with_class_size(proposed, class_size_of(terms, plan, inspected.people, sample_size)),
            plan,
            answers.keep,
            None if means is None else means.step,
            () if loaded is None else loaded.steps,
        )
        return cls(inspected, context, terms, own_changes, data, seed, sample_size)

    @property
    def search_seed(self) -> Seed:
        """The seed of all that is tried before the release is made: what is chosen on it says
        nothing about the release, which is attacked with another one.
        """
        return search_seed_of(self.seed)

    def search(self, workers: int | None, progress: Progress) -> SearchResult:
        """Try candidates of all families."""
        control = people_of_the_end(self.data, self.seed)
        return search(
            self.data,
            seed=self.search_seed,
            control=control,
            workers=workers,
            progress=progress,
        )

    @functools.cached_property
    def ground(self) -> TrialGround:
        """What trials are made on: the rows and the seed of the search."""
        return TrialGround(
            drawn_from(self.data.dataset),
            self.terms,
            self.search_seed,
            self.data.recipe.schema,
            self.people,
        )

    @property
    def table(self) -> Table:
        """The original, with its roles."""
        return self.inspected.dataset

    def make_winner(
        self, found: SearchResult, choice: CandidateChoice, progress: Progress
    ) -> Winner:
        """The release of the whole table by the candidate that was chosen, else by the next one
        that holds there.

        First all that promise classes, as they are; then, where columns undo them on all rows,
        without these; candidates that keep limits only come last.
        """
        failures: dict[str, str] = {}
        promising = [n for n in found.can_win if not found.candidate(n).other_promise]
        others = [name for name in found.can_win if name not in promising]
        choices = {
            name: CandidateChoice(name, found.candidate(name).candidate.recipe) for name in others
        }
        for name in promising:
            choices[name] = CandidateChoice(name, found.candidate(name).candidate.recipe)
        choices[choice.name] = choice
        first = sorted(promising, key=lambda name: name != choice.name)
        attempts = [(name, 0) for name in first]
        attempts += [(name, MOST_LEFT_OUT) for name in first]
        attempts += [(name, 0) for name in others]
        for name, most_left_out in attempts:
            made = self._make(choices[name].recipe, most_left_out, progress)
            if isinstance(made, str):
                failures[name] = made
                continue
            release, left_out = made
            method = _method_of(found, name, failures)
            return Winner(release, choices[name], method, (*found.left_out, *left_out))
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise Unsatisfiable(f"nothing that was tried holds on the whole table: {reasons}")

    def _make(
        self, recipe: Recipe, most_left_out: int, progress: Progress
    ) -> tuple[TableRelease, tuple[LeftOut, ...]] | str:
        """A release of the whole table and what had to be left out, or why there is none."""
        left_out: tuple[LeftOut, ...] = ()
        context = Context(self.seed, refuse=False, progress=progress)
        while True:
            dataset = self.inspected.dataset.described_by(recipe)
            try:
                release: TableRelease = make_release(dataset, recipe, context)
            except (ReleaseRefused, Unsatisfiable, SchemaError) as error:
                return str(error)
            if release.holds:
                return release, left_out
            broken = _broken_of(release)
            if broken:
                return broken
            more = columns_to_leave_out(release, self.data.keep)
            if not more or len(left_out) + len(more) > most_left_out:
                return "; ".join(release.undone_by)
            left_out = (*left_out, *more)
            recipe = recipe_without(recipe, [entry.column for entry in more])
            if not recipe.schema.quasi:
                return "; ".join(release.undone_by)


@dataclasses.dataclass(frozen=True, eq=False)
class Winner:
    """The release of the whole table, the choice that it is made by, how it is told, and what had
    to be left out.
    """

    release: TableRelease
    choice: CandidateChoice
    method: Method
    left_out: tuple[LeftOut, ...]


def search_seed_of(seed: Seed) -> Seed:
    """The seed of all that is tried for a release that is made and attacked with ``seed``."""
    return Seed(int(seed.stream("protect: the search").integers(1 << SEARCH_SEED_BITS)))


def _method_of(found: SearchResult, name: str, failures: Mapping[str, str]) -> Method:
    """How the release was made, and why the others were not taken."""
    why_not = dict(found.ranked.why_not)
    for refused, reason in failures.items():
        why_not[refused] = f"{refused} is refused on all rows: {reason}"
    why_not.pop(name, None)
    return Method(name, found.candidate(name).family, why_not, found.rows)


def _broken_of(release: TableRelease) -> str:
    """What of promises and bounds does not hold; empty where only columns undo the release."""
    broken = [
        f"{verdict.promise}: {verdict.sentence}" for verdict in release.verdicts if not verdict
    ]
    bounds = (*release.limits, *release.contract)
    broken += [bound.sentence for bound in bounds if bound.refuses and not bound.holds]
    return "; ".join(broken)


def _quasi_without_changes(
    dataset: Table, context: ProtectionContext, recipe: Recipe | None
) -> tuple[str, ...] | None:
    """The quasi-identifiers as they would be without any change; None where that is open."""
    try:
        return looked_at(dataset, context.answers, recipe).dataset.schema.quasi
    except SchemaError:
        return None


def _require_released(context: ProtectionContext, recipe: Recipe) -> None:
    """Refuse assumptions about columns that are not there."""
    strange = [name for name in context.not_known if name not in recipe.schema.attributes]
    if strange:
        raise SchemaError(
            [
                f"not_known: there is no column"
                f" {name!r}.{did_you_mean(name, list(recipe.schema.attributes))}"
                for name in strange
            ]
        )


# What must hold.


def tried_people(people: int | None) -> int:
    """How many people attacks try where not everybody is tried: at least what a decision needs."""
    if people is None:
        return SAMPLE
    if people < SAMPLE:
        raise ParameterError(f"attacks try at least {SAMPLE:,} people (--people)")
    return people


def class_size_of(terms: DecisionTerms, plan: ChangePlan, people: int, tried: int = SAMPLE) -> int:
    """The class size that candidates promise: what the tier asks for, and more where only a sample
    of ``tried`` people can be drawn, because then the upper end of what was found must stay below.

    >>> from sfumato.release.decision.terms import terms_of_context
    >>> terms = terms_of_context(
    ...     recipient="researchers", contract="yes", sensitivity="low", population=10**7
    ... )
    >>> nothing = ChangePlan({}, (), None, {})
    >>> class_size_of(terms, nothing, 3000), class_size_of(terms, nothing, 200_000)
    (5, 6)
    """
    asked = class_size(terms.requested, terms.harm)
    k = max(asked, plan.k or 0)
    if people <= max(EVERYBODY, tried):
        return k
    while 1 / k + 2 * Z95 * math.sqrt((1 - 1 / k) / k / tried) > 1 / asked:
        k += 1
    return k


def _with_class_size(terms: ProposedTerms, k: int) -> ProposedTerms:
    limits = {**terms.limits, "linkage": math.ceil(10_000 / k) / 10_000}
    return dataclasses.replace(terms, k=k, limits=limits)


def people_of_the_end(data: SearchInput, seed: Seed) -> NDArray[np.int64] | None:
    """The rows that the final run sets aside where records are drawn anew: the search does not see
    them, so they are a control that nobody has chosen by. None where too few would be left.
    """
    for trial in methods_of(data):
        step = trial.candidate.recipe.steps[-1]
        if not isinstance(step, Synthesize):
            continue
        recipe = trial.candidate.recipe
        context = Context(seed, refuse=False)
        try:
            original = data.dataset.described_by(recipe).prepare(recipe, context)
            return people_set_aside(original, recipe, context, step)
        except (ReleaseRefused, SchemaError, ParameterError):
            return None
    return None


def people_set_aside(
    original: Table, recipe: Recipe, context: Context, drawing: Synthesize
) -> NDArray[np.int64]:
    """The original rows that a run would set aside before its last step, ``drawing``, learns
    anything; earlier steps of the recipe are run, the last one is not.
    """
    table = marked(original.drop(original.schema.dropped_columns))
    last = len(recipe.steps) - 1
    for index, step in enumerate(recipe.steps[:last]):
        goal = Goal(recipe.goals, context.seed, place=index)
        table = step.apply(table, step.plan(table, goal))
    goal = Goal(recipe.goals, context.seed, place=last)
    rows = drawing.rows_set_aside(table, goal)
    return rows if table.origin is None else np.sort(table.origin[rows])
