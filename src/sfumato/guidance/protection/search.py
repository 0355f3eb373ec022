"""The search for a release: candidates of all families on a part of the table, and what to do where
columns undo all of them.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.data import Context
from sfumato.core.fields import Fields
from sfumato.core.progress import Progress, part_of, silent
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Role, Schema
from sfumato.core.table import Table
from sfumato.core.words import join_words
from sfumato.errors import Unsatisfiable
from sfumato.guidance.comparison import (
    FOR_DRAWN,
    ONLY_LINKAGE,
    Candidate,
    CandidateOutcome,
    CommonTerms,
    Comparison,
    compare,
    on_one_map,
)
from sfumato.guidance.protection.changes import ChangePlan, with_levels, without_columns
from sfumato.guidance.recommendation.candidates import TriedMethod, candidates_for
from sfumato.guidance.recommendation.inspection import drawn_from
from sfumato.guidance.recommendation.selection import Ranked, ranked
from sfumato.guidance.recommendation.terms import ProposedTerms
from sfumato.release.make import make_release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.release.table_release import TableRelease

SECONDS = 10.0
LOOKED_FOR = 1000
"""People that intruders look for on each candidate."""
MOST_REPAIRS = 4
"""How often columns that undo a release are left out before it is given up."""
SECRET_WEIGHT = 3
"""A sensitive column is what the data are about: it goes only where it undoes so many others."""
NEEDED = frozenset({Role.SENSITIVE})


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A column that was left out, because it reveals quasi-identifiers."""

    column: str
    revealed: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What was left out, and why."""
        return (
            f"`{self.column}` was left out: it reveals {join_words(self.revealed)} beyond the"
            " released labels"
        )


@dataclasses.dataclass(frozen=True)
class SearchInput:
    """What is searched: the table with its roles, what must hold and what must survive.

    ``profile_step`` is the step that a profile proposes, ``own_steps`` those of the user's recipe.
    """

    dataset: Table
    recipe: Recipe
    terms: ProposedTerms
    changes: ChangePlan
    keep: tuple[str, ...] = ()
    profile_step: Fields | None = None
    own_steps: tuple[Any, ...] = ()

    def without(self, columns: Collection[str]) -> SearchInput:
        """The same where some columns are left out."""
        schema = without_columns(self.recipe.schema, columns)
        gone = set(columns)
        terms = dataclasses.replace(
            self.terms,
            diversity={c: n for c, n in self.terms.diversity.items() if c not in gone},
        )
        recipe = dataclasses.replace(self.recipe, schema=schema)
        return dataclasses.replace(
            self, dataset=self.dataset.described_by(recipe), recipe=recipe, terms=terms
        )


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """All candidates in order, what came of each, and the columns that had to be left out."""

    tried: tuple[TriedMethod, ...]
    comparison: Comparison
    ranked: Ranked
    rows: int
    left_out: tuple[LeftOut, ...] = ()

    def candidate(self, name: str) -> TriedMethod:
        """A candidate by its name."""
        return next(trial for trial in self.tried if trial.name == name)

    def outcome(self, name: str) -> CandidateOutcome:
        """What came of it."""
        return next(outcome for outcome in self.comparison.outcomes if outcome.name == name)

    @property
    def can_win(self) -> tuple[str, ...]:
        """The candidates that keep what they promise, best first."""
        return self.ranked.order[: self.ranked.can_win]


def search(
    data: SearchInput,
    *,
    seed: Seed,
    control: NDArray[np.int64] | None,
    workers: int | None = 1,
    progress: Progress = silent,
) -> SearchResult:
    """Try all families on 10,000 rows at most, and put them in order.

    Where columns of the table undo the candidate that would lose least, they are left out and all
    is tried again; the way that loses less of all columns wins. ``control`` are rows that no
    synthetic candidate may see: who is set aside at the end.
    """
    sample = drawn_from(data.dataset)
    terms = CommonTerms(seed, ONLY_LINKAGE, SECONDS, LOOKED_FOR, data.keep)
    trials = methods_of(data)
    drawn = [trial for trial in trials if trial.family == "synthetic"]
    others = [trial for trial in trials if trial.family != "synthetic"]
    first = _compared(sample, others, terms, workers, part_of(progress, 0.0, 0.6))
    if control is not None and drawn:
        # Whoever is set aside in the end is not seen by the search: who tunes by them has no
        # control any more.
        rows = np.setdiff1d(np.arange(len(data.dataset)), control)
        seen = drawn_from(dataclasses.replace(data.dataset.take(rows), origin=None))
        of_drawn = dataclasses.replace(terms, attacks=FOR_DRAWN)
        first |= _compared(seen, drawn, of_drawn, 1, part_of(progress, 0.6, 0.7))
    best = _in_order(data, first, len(sample))
    best_loss = _loss_of_all(data, best)
    # Masked and synthetic records have no labels that other columns could undo.
    limited = {name: pair for name, pair in first.items() if pair[0].other_promise}
    left_out: tuple[LeftOut, ...] = ()
    repaired, latest = data, best
    for _ in range(MOST_REPAIRS):
        undone = _undone(repaired, latest, seed)
        more = () if undone is None else columns_to_leave_out(undone, data.keep)
        if not more:
            break
        left_out = (*left_out, *more)
        repaired = data.without([entry.column for entry in left_out])
        if not repaired.recipe.schema.quasi:
            break
        again = [trial for trial in methods_of(repaired) if not trial.other_promise]
        described = sample.described_by(repaired.recipe)
        outcomes = _compared(described, again, terms, workers, part_of(progress, 0.7, 1.0))
        latest = _in_order(data, outcomes | limited, len(sample))
        loss = _loss_of_all(data, latest)
        if loss < best_loss:
            best, best_loss = dataclasses.replace(latest, left_out=left_out), loss
    if not best.can_win:
        reasons = "; ".join(f"{o.name}: {o.reason}" for o in best.comparison.outcomes if o.reason)
        raise Unsatisfiable(
            f"no candidate keeps the promises and limits: {reasons or 'columns undo all of them'}."
            " Ask for less (a recipient who is bound, fewer quasi-identifiers), or share answers"
            " instead of records (sfumato query)",
            closest=best.comparison,
        )
    return best


Outcomes = dict[str, tuple[TriedMethod, CandidateOutcome]]
"""Candidates by their names, and what came of each."""


def _compared(
    sample: Table,
    trials: Sequence[TriedMethod],
    terms: CommonTerms,
    workers: int | None,
    progress: Progress,
) -> Outcomes:
    """Try candidates alike."""
    candidates = [trial.candidate for trial in trials]
    comparison = compare(sample, candidates, terms=terms, workers=workers, progress=progress)
    pairs = zip(trials, comparison.outcomes, strict=True)
    return {trial.name: (trial, outcome) for trial, outcome in pairs}


def _in_order(data: SearchInput, outcomes: Outcomes, rows: int) -> SearchResult:
    """All candidates on one map, best first."""
    trials = tuple(trial for trial, _ in outcomes.values())
    everything = tuple(outcome for _, outcome in outcomes.values())
    comparison = on_one_map(data.dataset.source.name, everything)
    order = _ranked_or_none(comparison, trials, keep=bool(data.keep))
    return SearchResult(trials, comparison, order, rows)


def _ranked_or_none(comparison: Comparison, tried: Sequence[TriedMethod], *, keep: bool) -> Ranked:
    """All candidates in order; nobody can win where nothing holds."""
    try:
        return ranked(comparison, tried, keep=keep)
    except Unsatisfiable:
        return Ranked(tuple(trial.name for trial in tried), {}, "loss", False, 0)


def methods_of(data: SearchInput) -> tuple[TriedMethod, ...]:
    """One candidate of every family, with the steps of the changes before its own.

    Classes bound how often anybody is found, so no limit is set beside them: it would be judged on
    a sample, which misses it by chance. Masked and synthetic records keep theirs.
    """
    if data.profile_step is None:
        proposed = None
    else:
        proposed = dict(data.profile_step)
    trials = list(candidates_for(data.dataset, data.recipe, data.terms, proposed))
    classes = trials[0].candidate.recipe
    if data.own_steps:
        own = dataclasses.replace(classes, steps=data.own_steps)
        trials.insert(0, TriedMethod(Candidate("as the recipe says", own), "your recipe"))
    changed = [_with_changes(trial, data.changes) for trial in trials]
    return tuple(trial for trial in changed if trial is not None)


def _with_changes(trial: TriedMethod, changes: ChangePlan) -> TriedMethod | None:
    """A candidate after the changes; None where its step cannot hold the levels they ask for."""
    recipe = with_levels(trial.candidate.recipe, changes.levels)
    if recipe is None:
        return None
    limits = recipe.limits if trial.other_promise else {}
    changed = dataclasses.replace(
        recipe, steps=(*changes.first_steps, *recipe.steps), limits=limits, proposed_from="protect"
    )
    return dataclasses.replace(trial, candidate=Candidate(trial.name, changed))


def _undone(data: SearchInput, result: SearchResult, seed: Seed) -> TableRelease | None:
    """The release that would lose least, where all that keeps it back are columns that undo it."""
    holding = [result.outcome(name) for name in result.can_win]
    losses = [
        outcome.utilities.get("loss", math.inf)
        for outcome in holding
        if not result.candidate(outcome.name).other_promise
    ]
    undone = [
        outcome
        for outcome in result.comparison.outcomes
        if outcome.made
        and not outcome.holds
        and not outcome.reason
        and not result.candidate(outcome.name).other_promise
    ]
    undone.sort(key=lambda outcome: outcome.utilities.get("loss", math.inf))
    if not undone or undone[0].utilities.get("loss", math.inf) >= min(losses, default=math.inf):
        return None
    recipe = result.candidate(undone[0].name).candidate.recipe
    sample = drawn_from(data.dataset)
    release: TableRelease = make_release(
        sample.described_by(recipe), recipe, Context(seed, refuse=False)
    )
    return release


def columns_to_leave_out(release: TableRelease, keep: Collection[str]) -> tuple[LeftOut, ...]:
    """The columns without which no pair undoes the release: those in most pairs first.

    It is the columns that reveal a quasi-identifier which go, never the quasi-identifier: whoever
    knows an age finds people by a copy of it, whether or not ages are released beside the copy.
    """
    schema = release.original.schema
    pairs = [(dependence.columns, dependence.quasi) for dependence in release.implied.undoing]
    left_out = []
    while pairs:
        counts = collections.Counter(column for columns, _ in pairs for column in columns)
        allowed = [column for column in counts if column not in keep]
        if not allowed:
            return ()
        # Equal counts: a column that is only known goes before one that is worth knowing.
        column = max(sorted(allowed), key=lambda name: counts[name] / _weight(schema, name))
        revealed = {quasi for columns, quasi in pairs if column in columns}
        left_out.append(LeftOut(column, tuple(sorted(revealed))))
        pairs = [(columns, quasi) for columns, quasi in pairs if column not in columns]
    return tuple(left_out)


def _weight(schema: Schema, column: str) -> int:
    if NEEDED & set(schema[column].roles):
        return SECRET_WEIGHT
    return 1


def _loss_of_all(data: SearchInput, result: SearchResult) -> float:
    """What the best candidate loses of all columns that could be released, those that were left out
    included; infinite where none can win.
    """
    if not result.can_win or not result.ranked.promising:
        return math.inf
    outcome = result.outcome(result.ranked.best)
    loss = outcome.utilities.get("loss")
    if loss is None:
        return math.inf
    schema = result.candidate(outcome.name).candidate.recipe.schema
    columns = [name for name in data.dataset.columns if not _is_dropped(data.recipe.schema, name)]
    left_out = [name for name in columns if _is_dropped(schema, name)]
    return (loss * len(schema.quasi) + len(left_out)) / max(1, len(columns))


def _is_dropped(schema: Schema, name: str) -> bool:
    return Role.DROP in schema[name].roles
