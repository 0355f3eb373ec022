"""The decision: which tiers a release holds, under its terms, by its evidence. A pure function; it
reads no data.

A tier is granted where every line holds that it or a lower tier asks for, so tiers nest. A line
holds where the upper end of its figure is at most the limit, and everybody tried is exact. What is
unknown does not hold. Several lines need no correction: a wrong grant needs the very line to err
that is truly exceeded, so its level stays 2.5 % however many there are (an intersection-union
test).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sfumato.release.decision.decision import Decision, TermOutcome, TierOutcome
from sfumato.release.decision.evidence import (
    DecisionEvidence,
    Figure,
    ReleaseKind,
    people_needed,
)
from sfumato.release.decision.lines import Line, lines_of
from sfumato.release.decision.terms import DecisionTerms
from sfumato.release.decision.tiers import (
    GRANTED,
    SAFE_ROOM,
    TERMS_DATE,
    TERMS_VERSION,
    Tier,
    class_size,
)

SLACK = 1e-12
"""By how much a share may pass its limit through rounding: 1/11 summed of fractions is 1/11."""
NOT_JUDGED = ("law", "consent", "what others publish")


def decide(terms: DecisionTerms, evidence: DecisionEvidence) -> Decision:
    """Which tiers the release holds, and what keeps it from the next one.

    >>> from sfumato.release.decision.terms import terms_of_context
    >>> terms = terms_of_context(recipient="public", sensitivity="low", population=10**6)
    >>> decide(terms, DecisionEvidence(kinds=(ReleaseKind.CLASSES,))).headline
    'Do not share'
    """
    lines = tuple(lines_of(terms, evidence))
    judged = tuple(_judge_tier(tier, terms, lines) for tier in reversed(GRANTED))
    granted = Tier.NONE
    for outcome in judged:
        # A tier includes those below it: the first that does not hold ends the ladder.
        if not outcome.holds:
            break
        granted = outcome.tier
    limiting = None
    if granted.next_higher is not None:
        limiting = judged[granted.rank].broken[0]
    return Decision(
        terms_version=TERMS_VERSION,
        terms_date=TERMS_DATE,
        tier=granted,
        requested=terms.requested,
        harm=terms.harm,
        tiers=judged,
        limiting=limiting,
        assumed=terms.assumptions,
        not_judged=NOT_JUDGED,
        notes=tuple(_notes(terms, evidence, lines, granted)),
    )


def _judge_tier(tier: Tier, terms: DecisionTerms, lines: Iterable[Line]) -> TierOutcome:
    """What every line says at one tier; the tier holds where none that it asks for fails."""
    outcomes = tuple(_judge_line(tier, line) for line in lines if _is_about(tier, line))
    holds = all(outcome.status in ("holds", "does not apply", "told") for outcome in outcomes)
    k = class_size(tier, terms.harm)
    return TierOutcome(tier=tier, class_size=k, holds=holds, outcomes=outcomes)


def _is_about(tier: Tier, line: Line) -> bool:
    """Whether a line stands in the list of a tier: it is asked for, or would be by a higher one."""
    return tier in line.asked_by or not line.asked_by or tier in line.limits


def _judge_line(tier: Tier, line: Line) -> TermOutcome:
    """One line compared with the limit of one tier."""
    limit = line.limits.get(tier)
    status = line_status(line, limit)
    needed: int | None = None
    if tier not in line.asked_by:
        status = "told"
    elif status == "not shown" and line.figure is not None and limit is not None:
        needed = people_needed(line.figure, limit)
    return TermOutcome(
        term=line.term,
        subject=line.subject,
        status=status,
        sentence=line.sentence,
        figure=line.figure,
        limit=limit,
        people_needed=needed,
        attack=line.attack,
        intruder=line.intruder,
        column=line.column,
    )


LineStatus = Literal["holds", "fails", "not shown", "unknown", "does not apply", "told"]


def line_status(line: Line, limit: float | None) -> LineStatus:
    """What a line says under a limit.

    Granted on the upper end, refused on the lower: between the two nothing is shown.
    """
    if line.status != "tried":
        return line.status
    if line.holds is not None:
        return "holds" if line.holds else "fails"
    if line.figure is None or limit is None:
        return "unknown"
    return figure_status(line.figure, limit)


def figure_status(figure: Figure, limit: float) -> Literal["holds", "fails", "not shown"]:
    """A figure compared with a limit.

    >>> figure_status(Figure.of_rate(0.05, 500, 10_000), 1 / 15)
    'not shown'
    """
    if figure.high <= limit + SLACK:
        return "holds"
    if figure.low > limit + SLACK:
        return "fails"
    return "not shown"


def _notes(
    terms: DecisionTerms,
    evidence: DecisionEvidence,
    lines: Iterable[Line],
    granted: Tier,
) -> Iterable[str]:
    """What whoever reads the decision should know besides."""
    if granted is Tier.NONE and _holds_in_safe_room(terms, lines):
        yield (
            "It would hold in a safe room, from which only checked results leave (classes of"
            f" {SAFE_ROOM[terms.harm]})."
        )
    kinds = frozenset(evidence.kinds)
    if ReleaseKind.PERTURBED in kinds and ReleaseKind.CLASSES not in kinds:
        yield "Values were changed, so there is no smallest class to bound the largest risk."
    dependences = evidence.dependences
    if dependences is not None and dependences.unclear:
        yield (
            f"Too few records repeat to tell what {', '.join(dependences.unclear)} imply; this is"
            " not counted against the release."
        )
    if evidence.epsilon is not None and evidence.epsilon.recipe_from_table:
        yield (
            "The recipe was chosen by looking at this table; ε covers one run of it, and not the"
            " choice."
        )
    if not evidence.sensitive:
        yield "No column is sensitive; is that right?"


def _holds_in_safe_room(terms: DecisionTerms, lines: Iterable[Line]) -> bool:
    """Whether all that internal use asks for holds with the classes of a safe room."""
    limit = 1 / SAFE_ROOM[terms.harm]
    for line in lines:
        if Tier.INTERNAL not in line.asked_by:
            continue
        bound = line.limits.get(Tier.INTERNAL)
        if line_status(line, None if bound is None else limit) not in ("holds", "does not apply"):
            return False
    return True
