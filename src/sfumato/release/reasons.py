"""Why this node and not its neighbour: sentences with numbers, from what the alternatives hold."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.release.alternatives import Alternatives, BudgetChange, Neighbour, Option

NEAR = 1e-12
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
    chosen, name = found.chosen, _name(found)
    told = f"The chosen node has {name} {_score(found, chosen)} and suppresses {chosen.suppressed:,} of the {found.budget:,} records the budget allows"
    if not found.whole:
        return f"{told}. The lattice has {found.lattice_nodes:,} nodes, too many to look at them all: only its neighbours were."
    if found.overlooked is not None:
        other = found.overlooked
        within = f"{told}; {found.nodes_within_budget:,} of {found.lattice_nodes:,} nodes stay within it"
        return f"{within}, and the best of them has {name} {_score(found, other)}, with {_moves(found, other)}."
    rank = "the best minimal one by" if found.minimal else "the lowest"
    return f"{told}; {found.nodes_within_budget:,} of {found.lattice_nodes:,} nodes stay within it, and this one has {rank} {name}."


def _neighbour(found: Alternatives, one: Neighbour) -> str:
    level = found.chosen.levels[one.column] + one.change
    where = (
        f"{one.column} one level {'finer' if one.change < 0 else 'coarser'} ({_level(level, found.tops[one.column])})"
    )
    other, chosen = one.option, found.chosen
    if not other.within_budget:
        over = other.suppressed - found.budget
        if not other.classes:
            return f"{where} would leave nothing to release."
        return f"{where} would suppress {other.suppressed:,} records, {over:,} more than the budget allows{_else(found, other)}."
    return f"{where} would {_trade(found, other)}; marketer risk {_risk(other)} instead of {_risk(chosen)}."


def _else(found: Alternatives, other: Option) -> str:
    """What a node beyond the budget would have bought."""
    if other.score < found.chosen.score - NEAR:
        return f"; {_name(found)} would be {_score(found, other)} instead of {_score(found, found.chosen)}"
    return f", and {_name(found)} would be no better ({_score(found, other)})"


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
    change = other.score - chosen.score
    if abs(change) <= NEAR * max(1.0, abs(chosen.score)):
        return f"{records} at the same {name}"
    if change > 0:
        return f"{records} and raise {name} from {_score(found, chosen)} to {_score(found, other)}"
    why = ", but it is not minimal: a finer node stays within the budget" if found.minimal else ""
    return f"{records} and lower {name} from {_score(found, chosen)} to {_score(found, other)}{why}"


def _budget(found: Alternatives, one: BudgetChange) -> str:
    what = f"A budget of {_records(found, one.records)} instead of {_records(found, found.budget)}"
    if one.option is None:
        return f"{what} would leave nothing to release."
    if one.option.levels == found.chosen.levels:
        spare = f": only {found.chosen.suppressed:,} are suppressed" if one.records < found.budget else ""
        return f"{what} would change nothing{spare}."
    score = f"{_name(found)} {_score(found, one.option)} instead of {_score(found, found.chosen)}"
    return f"{what} would {'buy' if one.records > found.budget else 'cost'} {score}, with {_moves(found, one.option)}."


def _next_better(found: Alternatives) -> list[str]:
    better = found.next_better
    if better is None:
        return ["No budget, however large, would lower the score."] if found.whole and not found.minimal else []
    score = f"{_name(found)} {_score(found, better)}"
    return [
        f"The next better node needs a budget of {_records(found, better.suppressed)}: {score}, with {_moves(found, better)}."
    ]


def _safer(found: Alternatives) -> list[str]:
    """What half the marketer risk would cost within the budget."""
    half = [option for option in found.trade_off if option.marketer_risk <= found.chosen.marketer_risk / 2]
    if not half:
        return []
    score = f"{_name(found)} {_score(found, half[0])} instead of {_score(found, found.chosen)}"
    return [
        f"Half the marketer risk ({_risk(half[0])} instead of {_risk(found.chosen)}) would cost {score}, with {_moves(found, half[0])}."
    ]


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


def _score(found: Alternatives, option: Option) -> str:
    return f"{option.score:.4f}" if found.objective in BOUNDED else f"{option.score:,.6g}"


def _records(found: Alternatives, records: int) -> str:
    return f"{records / max(1, found.records):.1%} ({records:,} records)"


def _risk(option: Option) -> str:
    return f"{option.marketer_risk:.2%}"
