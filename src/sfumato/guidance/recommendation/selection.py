"""Which candidate is best, and why it beat each of the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sfumato.errors import Unsatisfiable
from sfumato.guidance.comparison import KEPT_ERROR, CandidateOutcome, Comparison
from sfumato.guidance.recommendation.candidates import TriedMethod

# What is lost, the first that was measured on all candidates that may win.
YARDSTICKS = ("loss", "squared_error", "marginal_error")
TOLD = {
    "loss": "loss of the quasi-identifiers (LM)",
    "squared_error": "squared error of the records",
    "marginal_error": "error of the tables of two columns",
    KEPT_ERROR: "error of the tables of what must survive",
}


@dataclasses.dataclass(frozen=True)
class Ranked:
    """All candidates, best first, each but the best with a sentence on why it was not taken.

    ``yardstick`` is what decided; ``promising`` says whether the best keeps the promises, and not
    another one.
    """

    order: tuple[str, ...]
    why_not: dict[str, str]
    yardstick: str
    promising: bool
    can_win: int

    @property
    def best(self) -> str:
        """The name of the best."""
        return self.order[0]

    @property
    def runners_up(self) -> tuple[str, ...]:
        """Those that may be released as well, best first."""
        return self.order[1 : self.can_win]


def ranked(comparison: Comparison, candidates: Sequence[TriedMethod], *, keep: bool) -> Ranked:
    """Put the candidates in order: those that keep promises and limits, by what is lost; then such
    as keep limits only. Of the first, one by whose labels records can be grouped goes before others
    that lose only a little less.

    Raises:
        Unsatisfiable: no candidate may be released.
    """
    outcomes = {outcome.name: outcome for outcome in comparison.outcomes}
    promising = [
        outcomes[trial.name]
        for trial in candidates
        if not trial.other_promise and outcomes[trial.name].holds
    ]
    weaker_outcomes = [
        outcomes[trial.name]
        for trial in candidates
        if trial.other_promise and outcomes[trial.name].holds
    ]
    if not promising and not weaker_outcomes:
        reasons = "; ".join(f"{o.name}: {o.reason}" for o in comparison.outcomes)
        raise Unsatisfiable(
            f"no candidate satisfies the promises and limits: {reasons}. Ask for less (a recipient "
            "bound by contract, fewer quasi-identifiers), or share answers instead of records "
            "(sfumato query)",
            closest=comparison,
        )
    yardstick = yardstick_of(promising or weaker_outcomes, keep=keep)
    if weaker_outcomes:
        weaker = yardstick_of(weaker_outcomes, keep=keep)
    else:
        weaker = yardstick
    first = _groupable_first(sorted(promising, key=lambda o: _order(o, yardstick)), yardstick)
    then = sorted(weaker_outcomes, key=lambda o: _order(o, weaker))
    refused = [o for o in comparison.outcomes if not o.holds]
    order = [*first, *then, *refused]
    other_promise = {trial.name: trial.other_promise for trial in candidates}
    why = {o.name: _why_not(o, order[0], yardstick, other_promise) for o in order[1:]}
    return Ranked(
        tuple(o.name for o in order), why, yardstick, bool(promising), len(first) + len(then)
    )


MORE_LOSS, MORE_OF_LOSS = 0.10, 0.25
"""How much more a release may lose whose labels can be grouped, and still be taken: so much, or so
large a part of what the other one loses.
"""


def _groupable_first(outcomes: list[CandidateOutcome], yardstick: str) -> list[CandidateOutcome]:
    """The same order, but the first candidate of which all columns can be grouped goes before those
    that lose only a little less.

    Nobody can count by labels that overlap, however little they lose.
    """
    best = outcomes[0].utilities.get(yardstick) if outcomes else None
    if best is None:
        return outcomes
    allowed = loss_allowed(best)
    for outcome in outcomes:
        loss = outcome.utilities.get(yardstick, float("inf"))
        if _is_groupable(outcome) and loss <= allowed + 1e-12:
            return [outcome, *(other for other in outcomes if other is not outcome)]
    return outcomes


def loss_allowed(least: float) -> float:
    """How much a release may lose by whose labels records can be grouped, where another one loses
    least.

    >>> round(loss_allowed(0.2), 3), round(loss_allowed(0.8), 3)
    (0.3, 1.0)
    """
    return max(least + MORE_LOSS, least * (1 + MORE_OF_LOSS))


def yardstick_of(outcomes: Sequence[CandidateOutcome], *, keep: bool) -> str:
    """What decides between candidates: the first measure that all of them have."""
    measures = (KEPT_ERROR, *YARDSTICKS) if keep else YARDSTICKS
    return next(
        (name for name in measures if all(name in o.utilities for o in outcomes)), YARDSTICKS[-1]
    )


def _order(outcome: CandidateOutcome, yardstick: str) -> tuple[float, float, float]:
    """What is lost; among equals the loss of all columns, then the risk. The order of the
    candidates decides the rest.
    """
    worst = float("inf")
    lost, loss = outcome.utilities.get(yardstick, worst), outcome.utilities.get("loss", worst)
    return round(lost, 9), round(loss, 9), outcome.risks.get("linkage", worst)


def _why_not(
    outcome: CandidateOutcome, best: CandidateOutcome, yardstick: str, other_promise: dict[str, str]
) -> str:
    """Why a candidate was not taken, in one sentence."""
    if not outcome.holds:
        return f"{outcome.name} may not be released: {outcome.reason or 'nothing came out'}"
    own_utility, best_utility = outcome.utilities.get(yardstick), best.utilities.get(yardstick)
    title = TOLD[yardstick]
    if other_promise[outcome.name] and not other_promise[best.name]:
        shared = next(
            (
                n
                for n in (KEPT_ERROR, "marginal_error")
                if n in outcome.utilities and n in best.utilities
            ),
            None,
        )
        beside = ""
        if shared is not None:
            beside = (
                f"; its {TOLD[shared]} is {outcome.utilities[shared]:.3f} beside"
                f" {best.utilities[shared]:.3f}"
            )
        return f"{outcome.name} keeps its limits, but {other_promise[outcome.name]}{beside}"
    if _is_groupable(best) and not _is_groupable(outcome):
        return (
            f"{outcome.name} has labels that overlap, so records cannot be grouped by them; its"
            f" {title} is {_or_unknown(own_utility)} beside {_or_unknown(best_utility)}"
        )
    if own_utility is None or best_utility is None:
        return f"{outcome.name} could not be measured by the {title}"
    if round(own_utility, 9) == round(best_utility, 9):
        return (
            f"{outcome.name} loses the same and is not better otherwise ({title} {own_utility:.3f})"
        )
    return f"{outcome.name} loses more: its {title} is {own_utility:.3f} beside {best_utility:.3f}"


def _is_groupable(outcome: CandidateOutcome) -> bool:
    """Whether records can be grouped by all released columns."""
    return outcome.utilities.get("groupability") == 1


def _or_unknown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
