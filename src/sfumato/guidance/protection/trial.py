"""Trials before the release is made: what would be decided of a candidate, on the rows and the seed
of the search.

A trial is cheaper than the decision: it is made of 10,000 rows at most, nothing is written and
nothing verified. It chooses; it never decides.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.core.data import Context
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, Unsatisfiable
from sfumato.methods.utility.squared_error import SquaredError
from sfumato.release.decision.attacks import EVERYBODY, SAMPLE, AttackedRelease
from sfumato.release.decision.decide import decide
from sfumato.release.decision.evidence import VerificationEvidence
from sfumato.release.decision.preview import preview_evidence
from sfumato.release.decision.tiers import Tier
from sfumato.release.make import make_release

if TYPE_CHECKING:
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table
    from sfumato.release.decision.decision import Decision, TermOutcome
    from sfumato.release.decision.terms import DecisionTerms
    from sfumato.release.table_release import TableRelease

NOT_TRIED = ("T8", "T10")
"""Terms that no trial can tell: earlier releases, and the written folder."""
TERMS_OF = {
    Tier.INTERNAL: ("T1", "T2", "T4", "T5", "T6"),
    Tier.CONTRACT: ("T1", "T2", "T4", "T5", "T6", "T9"),
    Tier.PUBLICATION: ("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T9"),
}
"""What a tier asks for: only that is tried."""
SAID_LATER = "said when the release is decided on"


@dataclasses.dataclass(frozen=True, eq=False)
class ReleaseTrial:
    """A candidate that was tried: its release of the rows of the search, what would be decided, and
    what it loses of all columns that could be released.
    """

    release: TableRelease
    decision: Decision
    loss: float

    def line(self, tier: Tier, term: str, subject: str) -> TermOutcome | None:
        """What one line of the terms says at a tier; None: the release has no such line."""
        for outcome in self.decision.outcome_of(tier).outcomes:
            if (outcome.term, outcome.subject) == (term, subject):
                return outcome
        return None

    def broken(self, tier: Tier) -> tuple[TermOutcome, ...]:
        """What keeps it from a tier or from one below it, as far as a trial can tell."""
        outcomes = [
            line
            for outcome in self.decision.tiers
            if outcome.tier.rank <= tier.rank
            for line in outcome.broken
            if line.term not in NOT_TRIED
        ]
        return tuple(outcomes)

    def narrow(self, tier: Tier) -> tuple[TermOutcome, ...]:
        """What holds at a tier or below it by so little that another sample of people may not show
        it: the decision is made on one.
        """
        return tuple(
            line
            for outcome in self.decision.tiers
            if outcome.tier.rank <= tier.rank
            for line in outcome.outcomes
            if line.status == "holds" and line.term not in NOT_TRIED and _is_narrow(line)
        )


def _is_narrow(line: TermOutcome) -> bool:
    """Whether the upper end would miss the limit, were the next estimate as much higher as this
    one may be too low. Both samples err, so about one in twelve is higher still.
    """
    figure, limit = line.figure, line.limit
    if figure is None or limit is None or figure.exact:
        return False
    return figure.high + (figure.high - figure.value) > limit


@dataclasses.dataclass(frozen=True)
class TrialGround:
    """What all trials share: the rows, the terms, the seed, and the columns by which loss is
    measured alike whatever a change does to them. ``people`` are tried where not everybody is.
    """

    sample: Table
    terms: DecisionTerms
    seed: Seed
    schema: Schema
    people: int = SAMPLE

    def make(self, recipe: Recipe) -> TableRelease | None:
        """The release of a recipe; None where none comes out that keeps what it promises."""
        context = Context(self.seed, refuse=False)
        try:
            release: TableRelease = make_release(self.sample.described_by(recipe), recipe, context)
        except (ReleaseRefused, Unsatisfiable, SchemaError, ParameterError):
            return None
        if not len(release.released) or not all(v.holds for v in release.verdicts):
            return None
        return release

    def run(self, recipe: Recipe, tier: Tier) -> ReleaseTrial | None:
        """Try a recipe for a tier; None where there is no such release."""
        release = self.make(recipe)
        if release is None:
            return None
        return ReleaseTrial(release, self.decide(release, tier), self.loss(release))

    def decide(self, release: TableRelease, tier: Tier) -> Decision:
        """What would be decided of a release in memory, by the terms that a tier asks for."""
        attacked = AttackedRelease(
            release.pair,
            steps=release.recipe.steps,
            models=release.recipe.meet,
            terms=self.terms,
            seed=self.seed,
            everybody=max(EVERYBODY, self.people),
            sample=self.people,
        )
        evidence = preview_evidence(attacked, TERMS_OF[tier])
        evidence = dataclasses.replace(
            evidence, verification=VerificationEvidence(with_original=True, made_again=True)
        )
        # Whether it is the first release is asked, not tried.
        terms = dataclasses.replace(self.terms, first_release=SAID_LATER)
        return decide(terms, evidence)

    def loss(self, release: TableRelease) -> float:
        """The squared error of the cells of all columns that could be released; what was dropped is
        lost as a whole.
        """
        schema = self.schema
        columns = tuple(
            name
            for name in release.original.columns
            if Role.DROP not in schema[name].roles and name not in schema.units
        )
        pair = release.pair.with_roles_of(schema)
        metric = SquaredError(columns=columns)
        return metric.measure(pair).value
