"""The attacks that a decision needs, tried on a pair of tables: those of its terms, for the kinds
of release that it is, and no others.

How many people are tried follows from their number and from the work, never from the clock.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.acceptance import ImpliedQuasi
from sfumato.core.attack import WORK
from sfumato.core.progress import Progress, silent
from sfumato.core.schema import UNITS, Role, Schema
from sfumato.core.step import changed_columns
from sfumato.methods.attacks.crowd import alike_records
from sfumato.methods.formulas.dependence_search import find_dependences
from sfumato.release.attack_run import AttackContext, AttackOptions, attack_release
from sfumato.release.decision.attribute_risk import GuessBudget, attribute_evidence
from sfumato.release.decision.evidence import (
    AttackEvidence,
    AttributeEvidence,
    DependenceEvidence,
    Figure,
    ReleaseKind,
    Trial,
)
from sfumato.release.decision.lines import RELINKED
from sfumato.release.decision.relinked_rows import relinked_rows
from sfumato.release.implied import Implied

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Seed
    from sfumato.core.step import Step
    from sfumato.methods.formulas.implied_linkage import Linkage
    from sfumato.release.attack_report import AttackReport, Skipped, Tried
    from sfumato.release.decision.terms import DecisionTerms

EVERYBODY, SAMPLE = 5000, 2000
"""Up to so many people everybody is tried; of more so many. A rate near its limit is then settled:
see the table in docs/explanation/decision.md.
"""
CELL_COST = 4
"""Work of comparing a cell where there are many values: the most that attacks count."""
MOST_WORK = 40 * WORK
"""The most work of one attack, one or two minutes of computing; with more to do fewer are tried."""
LINKAGES = ("linkage", "probabilistic_linkage")
OF_THE_METHOD = ("transparency", "minimality")
OF_DRAWN_ROWS = ("copied_records", "near_copies", "membership")
NOT_DATA = frozenset((Role.DROP, Role.WEIGHT, Role.KEY, *UNITS))
"""Roles of columns whose released cells are not values of people: names, weights, numbers."""


@dataclasses.dataclass(frozen=True)
class AttackedRelease:
    """What is attacked: an original beside its release, and what intruders know of its making."""

    pair: TablePair
    steps: Sequence[Step]
    models: Sequence[Model]
    terms: DecisionTerms
    seed: Seed
    accounted: bool = False
    everybody: int = EVERYBODY
    sample: int = SAMPLE

    @property
    def trial(self) -> Trial:
        """How it is tried, so that it can be tried again."""
        return Trial(self.seed.text, self.everybody, self.sample)

    @property
    def people(self) -> int:
        """How many people the original has."""
        persons = self.pair.persons
        if persons is None:
            return len(self.pair.original)
        return len(np.unique(persons))

    @property
    def tried_people(self) -> int:
        """How many of them are tried."""
        if self.people <= self.everybody:
            return self.people
        return self.sample

    @property
    def work(self) -> int:
        """Enough to try them all on every released record, within bounds."""
        cells = self.tried_people * len(self.pair.released) * max(1, len(self.pair.columns))
        return min(MOST_WORK, max(WORK, CELL_COST * cells))

    @property
    def kinds(self) -> tuple[ReleaseKind, ...]:
        """What the release holds, judged by the file and by the steps that made it."""
        return release_kinds(self.pair, self.steps, accounted=self.accounted)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns that were released."""
        columns = self.pair.columns
        return tuple(name for name in self.pair.original.schema.sensitive if name in columns)


def release_kinds(
    pair: TablePair, steps: Iterable[Step], *, accounted: bool
) -> tuple[ReleaseKind, ...]:
    """What a release holds: rows of nobody, changed values, or true ones that are coarser or
    missing.

    Where quasi-identifiers were changed nobody belongs to the class they seem to be in, so there
    are no classes to count.
    """
    kinds = [ReleaseKind.ACCOUNTED] if accounted else []
    if not pair.aligned:
        return (*kinds, ReleaseKind.DRAWN)
    told = changed_columns(steps)
    changed = [
        name
        for name in pair.columns
        if NOT_DATA.isdisjoint(pair.original.schema[name].roles)
        and (name in told or not bool(pair.truthful(name).all()))
    ]
    if not set(changed) & set(pair.quasi):
        kinds.append(ReleaseKind.CLASSES)
    if changed:
        kinds.append(ReleaseKind.PERTURBED)
    return tuple(kinds)


def attacks_for(kinds: Iterable[ReleaseKind]) -> tuple[str, ...]:
    """The attacks that the terms need for these kinds of release, by name."""
    kinds = frozenset(kinds)
    names: list[str] = []
    if kinds & {ReleaseKind.CLASSES, ReleaseKind.PERTURBED}:
        names += [*LINKAGES, *OF_THE_METHOD, "downcoding"]
    if ReleaseKind.CLASSES in kinds:
        names.append(RELINKED)
    if ReleaseKind.PERTURBED in kinds:
        names.append("worst_case_linkage")
    if ReleaseKind.DRAWN in kinds:
        names += OF_DRAWN_ROWS
    return tuple(names)


def try_attacks(
    release: AttackedRelease, only: Iterable[str] | None = None, *, progress: Progress = silent
) -> tuple[AttackEvidence, ...]:
    """Try the attacks that the terms need; ``only`` some of them, by name."""
    names = attacks_for(release.kinds)
    if only is not None:
        requested = frozenset(only)
        names = tuple(name for name in names if name in requested)
    alike = [name for name in names if name not in ("downcoding", RELINKED)]
    entries: list[AttackEvidence] = []
    if alike:
        entries += _entries(_attacked(release, alike, release.models, progress), release)
    if "downcoding" in names:
        alone = dataclasses.replace(release, pair=_one_record_in_each_class(release.pair))
        report = _attacked(alone, ["downcoding"], _largest_crowd(release.models), progress)
        entries += _entries(report, release)
    if RELINKED in names and release.pair.persons is not None:
        people = release.tried_people
        entries.append(relinked_rows(release.pair, people=people, seed=release.seed))
    return tuple(entries)


def _one_record_in_each_class(pair: TablePair) -> TablePair:
    """The pair with one released record of every person in every class, each by itself: reading
    cells finer is worked out for classes that are counted by records.
    """
    if pair.persons is None or not pair.aligned:
        return pair
    classes = np.zeros(len(pair.rows), dtype=np.int64)
    if pair.quasi:
        classes = alike_records(pair, pair.quasi).kind_of
    members = np.column_stack([classes, pair.persons[pair.rows]])
    _, first = np.unique(members, axis=0, return_index=True)
    attributes = {
        name: dataclasses.replace(attribute, roles=(Role.KEEP,))
        if Role.PERSON in attribute.roles
        else attribute
        for name, attribute in pair.original.schema.attributes.items()
    }
    return pair.of_released(np.sort(first)).with_roles_of(Schema(attributes))


def _attacked(
    release: AttackedRelease, names: Sequence[str], models: Sequence[Model], progress: Progress
) -> AttackReport:
    context = AttackContext(
        steps=release.steps, models=models, not_known=tuple(release.terms.not_known)
    )
    options = AttackOptions(progress=progress, work=release.work, people=release.tried_people)
    # Seconds stop nothing: what is tried follows from the work alone.
    return attack_release(
        release.pair,
        only=list(names),
        seconds=math.inf,
        sample=release.tried_people,
        seed=release.seed,
        context=context,
        options=options,
    )


def _largest_crowd(models: Sequence[Model]) -> Sequence[Model]:
    """The promise of the largest class alone.

    Cells are read finer by who takes it for the only reason why they are coarse. Other promises are
    reasons too; who knew them would conclude less, so no right conclusion is missed.
    """
    crowds = [model for model in models if model.crowd is not None]
    if not crowds:
        return models
    return (max(crowds, key=lambda model: model.crowd or 0),)


def _entries(report: AttackReport, release: AttackedRelease) -> Iterator[AttackEvidence]:
    """The outcomes as evidence."""
    for outcome in report.tried:
        yield AttackEvidence(
            attack=outcome.finding.attack,
            intruder=outcome.intruder,
            status="tried",
            figure=_figure(outcome, report, release),
            knows=outcome.knows,
            baseline=outcome.finding.baseline,
        )
    for skipped in report.skipped:
        yield _without_figure(skipped)


def _without_figure(skipped: Skipped) -> AttackEvidence:
    return AttackEvidence(
        attack=skipped.attack,
        intruder=skipped.intruder,
        status="unknown" if skipped.unknown else "does not apply",
        reason=str(skipped.reason),
    )


def _figure(outcome: Tried, report: AttackReport, release: AttackedRelease) -> Figure:
    """The rate of an attack, between what it surely lies."""
    finding = outcome.finding
    value = min(1.0, max(0.0, finding.value))
    people, control = release.people, None
    if not release.pair.aligned:
        people = _count_people(release.pair, release.pair.learnt_from)
        aside = _count_people(release.pair, release.pair.held_out)
        control = int(finding.details.get("unique_set_aside", min(aside, release.tried_people)))
    trials = min(people, report.looked_for if finding.trials is None else finding.trials)
    if finding.interval is None:
        # What was worked out for everybody who was released.
        return Figure.of_everybody(value, max(1, people))
    low, high = finding.interval
    return Figure(value, min(low, value), max(high, value), trials, people, control)


def _count_people(pair: TablePair, rows: np.ndarray | None) -> int:
    if rows is None:
        return 0
    if pair.persons is None:
        return len(rows)
    return len(np.unique(pair.persons[rows]))


# Columns that imply quasi-identifiers, and what can be guessed of sensitive ones.


def find_implied(release: AttackedRelease) -> DependenceEvidence | None:
    """What released columns tell of quasi-identifiers; None where no row is anybody's."""
    if not release.pair.aligned:
        return None
    crowds = [model.crowd for model in release.models if model.crowd]
    k = max(crowds, default=None)
    accepted = {
        (column, pair.implies): ImpliedQuasi(column, pair.implies, pair.because)
        for pair in release.terms.accepted
        for column in pair.columns
    }
    implied = Implied(find_dependences(release.pair, k=k), accepted, k)
    found = implied.found
    linkage = None
    if found.found:
        people = None
        if len(found.rows) <= release.everybody:
            people = np.arange(len(found.rows))
        linkage = _linkage_figure(found.linkage(people=people), len(found.rows))
    return DependenceEvidence(
        status="tried",
        compared=found.compared,
        found=len(found.found),
        refused=tuple(dependence.pair for dependence in implied.undoing),
        taken_on=tuple(
            dependence.pair for dependence in found.found if implied.is_accepted(dependence)
        ),
        unclear=tuple(f"{column} → {quasi}" for column, quasi in found.unknown),
        linkage=linkage,
    )


def _linkage_figure(linkage: Linkage | None, people: int) -> Figure | None:
    if linkage is None:
        return None
    return Figure.of_rate(linkage.rate, len(linkage.people), max(1, people))


def guess_attributes(release: AttackedRelease) -> tuple[AttributeEvidence, ...]:
    """What the own record adds to what can be guessed of every sensitive column."""
    budget = GuessBudget(release.everybody, release.sample, release.work)
    return tuple(
        attribute_evidence(
            release.pair,
            release.sensitive,
            seed=release.seed,
            budget=budget,
            by_classes=ReleaseKind.CLASSES in release.kinds,
            accounted=release.accounted,
        )
    )
