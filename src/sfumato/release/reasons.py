"""Why this node and not its neighbour: sentences with numbers, from what the alternatives hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.release.alternatives import Alternatives, BudgetChange, Neighbour, Option

NEAR = 1e-12
MOST_DIGITS = 15
BOUNDED = ("loss", "loss_geometric", "precision", "height", "entropy", "ncp", "ambiguity", "classification")
"""Objectives between 0 and 1, told with four digits after the point."""


@dataclasses.dataclass(frozen=True)
class Reasons:
    """What can be said about a choice: the choice itself, each neighbour, and what other budgets or risks would cost."""

    choice: str
    neighbours: tuple[str, ...]
    outlook: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        """Every sentence, the choice first."""
        return [self.choice, *self.neighbours, *self.outlook]


def reasons_of(found: Alternatives) -> Reasons:
    """The sentences about a choice."""
    return Reasons(
        _choice(found),
        tuple(_neighbour(found, one) for one in found.neighbours),
        (*(_budget(found, one) for one in found.budgets), *_next_better(found), *_safer(found), *_cells(found)),
    )


def _choice(found: Alternatives) -> str:
    """What was chosen, and how sure it is that nothing within the budget is better."""
    name, score = _name(found), _score(found.chosen.score, _digits(found))
    cost = f"it has {name} {score} and suppresses {found.chosen.suppressed:,} of the {found.budget:,} records the budget allows"
    if found.overlooked is not None:
        return f"This is not the best node: {cost}. {_passed_over(found, found.overlooked)}"
    which = f"the k-minimal nodes by {name}" if found.minimal else f"all {found.lattice_nodes:,} nodes"
    if found.whole:
        rest = f"{found.nodes_within_budget:,} nodes stay within the budget, and {_none_better(found)}."
        return f"This is the best of {which}: proved, every node was looked at. {_started(cost)}; {rest}"
    if found.proved:
        return f"This is the best of {which}: proved by the search. {_started(cost)}. {_only_neighbours(found)}"
    gap = "" if found.gap is None else f"; no node is better by more than {found.gap:.4g}"
    return f"This is the best node that was found, not proved to be the best of {which}{gap}. {_started(cost)}. {_only_neighbours(found)}"


def _none_better(found: Alternatives) -> str:
    return "no finer one does" if found.minimal else f"none of them has less {_name(found)}"


def _passed_over(found: Alternatives, other: Option) -> str:
    name, (now, then) = _name(found), _scores(found, found.chosen, other)
    return (
        f"{found.nodes_within_budget:,} of {found.lattice_nodes:,} nodes stay within it, and the best of them has "
        f"{name} {then} instead of {now}, with {_moves(found, other)}; the search did not promise the optimum."
    )


def _only_neighbours(found: Alternatives) -> str:
    return (
        f"With {found.lattice_nodes:,} nodes there are too many to tell about them all: only its neighbours are below."
    )


def _started(text: str) -> str:
    return text[:1].upper() + text[1:]


def _neighbour(found: Alternatives, one: Neighbour) -> str:
    level = found.chosen.levels[one.column] + one.change
    where = (
        f"{one.column} one level {'finer' if one.change < 0 else 'coarser'} ({_level(level, found.tops[one.column])})"
    )
    other = one.option
    if not other.within_budget:
        over = other.suppressed - found.budget
        if not other.classes:
            return f"{where} would leave nothing to release."
        return f"{where} is beyond the budget: it would suppress {other.suppressed:,} records, {over:,} more than allowed{_else(found, other)}."
    return f"{where} would {_trade(found, other)}; {_risk_told(found, other)}."


def _else(found: Alternatives, other: Option) -> str:
    """What a node beyond the budget would have bought."""
    now, then = _scores(found, found.chosen, other)
    if other.score < found.chosen.score - NEAR:
        return f", for {_name(found)} {then} instead of {now}"
    return f", and {_name(found)} would be no better ({then})"


def _trade(found: Alternatives, other: Option) -> str:
    """A node within the budget against the chosen one: records and score."""
    chosen, name = found.chosen, _name(found)
    more = other.suppressed - chosen.suppressed
    records = (
        f"suppress {more:,} more records"
        if more > 0
        else f"keep {-more:,} more records"
        if more < 0
        else "suppress as many records"
    )
    now, then = _scores(found, chosen, other)
    if now == then:
        return f"{records} at the same {name}"
    if other.score > chosen.score:
        return f"{records} and raise {name} from {now} to {then}"
    why = ", but it is not minimal: a finer node stays within the budget" if found.minimal else ""
    return f"{records} and lower {name} from {now} to {then}{why}"


def _budget(found: Alternatives, one: BudgetChange) -> str:
    what = f"A budget of {_records(found, one.records)} instead of {_records(found, found.budget)}"
    if one.option is None:
        return f"{what} would leave nothing to release."
    if one.option.levels == found.chosen.levels:
        spare = f": only {found.chosen.suppressed:,} are suppressed" if one.records < found.budget else ""
        return f"{what} would change nothing{spare}."
    verb = "buy" if one.records > found.budget else "cost"
    return f"{what} would {verb} {_against(found, one.option)}, with {_moves(found, one.option)}."


def _next_better(found: Alternatives) -> list[str]:
    better = found.next_better
    if better is None:
        return ["No budget, however large, would lower the score."] if found.whole and not found.minimal else []
    needs = f"Less {_name(found)} needs a larger budget, of {_records(found, better.suppressed)} or more"
    return [f"{needs}: {_against(found, better)}, with {_moves(found, better)}."]


def _safer(found: Alternatives) -> list[str]:
    """What half the marketer risk would cost within the budget."""
    half = [option for option in found.trade_off if option.marketer_risk <= found.chosen.marketer_risk / 2]
    if not half:
        return []
    now, then = apart(found.chosen.marketer_risk, half[0].marketer_risk, _percent, 2)
    return [
        f"Half the marketer risk ({then} instead of {now}) would cost {_against(found, half[0])}, with {_moves(found, half[0])}."
    ]


def _against(found: Alternatives, other: Option) -> str:
    """The score of another node against that of the chosen one; equal ones are said to be equal."""
    now, then = _scores(found, found.chosen, other)
    return f"the same {_name(found)} ({now})" if now == then else f"{_name(found)} {then} instead of {now}"


def _risk_told(found: Alternatives, other: Option) -> str:
    now, then = apart(found.chosen.marketer_risk, other.marketer_risk, _percent, 2)
    return f"marketer risk stays {now}" if now == then else f"marketer risk {then} instead of {now}"


def _cells(found: Alternatives) -> list[str]:
    if not found.cells:
        return []
    return ["Suppressed records lose some of their cells here; scores and risks are those of dropping them altogether."]


def _moves(found: Alternatives, other: Option) -> str:
    """How the levels of a node differ from those of the chosen one."""
    told = [
        f"{column} at level {level} instead of {found.chosen.levels[column]}"
        for column, level in sorted(other.levels.items())
        if level != found.chosen.levels[column]
    ]
    return " and ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else "".join(told)


def _level(level: int, top: int) -> str:
    return "exact" if level == 0 else "nothing left of it" if level == top else f"level {level} of {top}"


def _name(found: Alternatives) -> str:
    return found.objective.replace("_", " ")


def _scores(found: Alternatives, one: Option, other: Option) -> tuple[str, str]:
    return apart(one.score, other.score, _score, _digits(found))


def _digits(found: Alternatives) -> int:
    """Digits after the point for what lies between 0 and 1; for all other objectives six in all, told by a minus."""
    return 4 if found.objective in BOUNDED else -6


def _score(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if digits > 0 else f"{value:,.{-digits}g}"


def apart(one: float, other: float, told: Callable[[float, int], str], digits: int) -> tuple[str, str]:
    """Two numbers as text, with as many digits as it takes to tell them apart; equal numbers (to 12 digits) have equal texts.

    >>> apart(1 / 3, 0.33334, _percent, 2), apart(0.5, 0.5, _percent, 2), apart(0.1, 0.1 + 1e-17, _score, 4)
    (('33.333%', '33.334%'), ('50.00%', '50.00%'), ('0.1000', '0.1000'))
    """
    if abs(one - other) <= NEAR * max(1.0, abs(one)):
        return told(one, digits), told(one, digits)
    step = 1 if digits > 0 else -1
    while told(one, digits) == told(other, digits) and abs(digits) < MOST_DIGITS:
        digits += step
    return told(one, digits), told(other, digits)


def _records(found: Alternatives, records: int) -> str:
    return f"{records / max(1, found.records):.1%} ({records:,} records)"


def _percent(share: float, digits: int) -> str:
    return f"{share:.{digits}%}"
