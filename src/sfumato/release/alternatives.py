"""What else could have been released: the nodes around the chosen one, and those that nothing
beats.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.chart_drawing import plot_chart
from sfumato.core.fields import Document
from sfumato.core.schema import Missing
from sfumato.core.step import Goal, Step
from sfumato.core.words import join_words, percent
from sfumato.errors import ParameterError
from sfumato.release.report.charts import chart_alternatives

if TYPE_CHECKING:
    import altair as alt

    from sfumato.core.objective import Landscape
    from sfumato.core.table import Table
    from sfumato.release.table_release import TableRelease

MOST_NODES = 2_000_000
MOST_EFFORT = 5e10 / 8
"""Effort (classes that are put together, times levels) up to which a whole lattice is evaluated
on request: a minute.
"""
MOST_NODES_IN_PASSING = 100_000
MOST_EFFORT_IN_PASSING = 2e7
"""The same while a release is written: a tenth of what the program takes to start, about 0.05 s."""
MOST_EFFORT_OF_A_GLANCE = 1e9 / 8
"""The same for somebody who looks at a release in the workbench: less than a second."""
EXACT = ("optimal", "mingen", "incognito")
"""Algorithms that end with the optimum or not at all."""
POINT = 0.01
NEAR = 1e-12
CELLS = (44, 30)
"""Into how many cells the picture's plane is divided, each of which gets one dot for all its nodes.
"""


@dataclasses.dataclass(frozen=True)
class Option:
    """One node: its levels, what it keeps, what it costs and what it risks."""

    levels: dict[str, int]
    score: float
    suppressed: int
    classes: int
    class_size: float
    precision: float
    discernibility: float
    marketer_risk: float
    prosecutor_risk: float
    within_budget: bool


@dataclasses.dataclass(frozen=True)
class Neighbour:
    """The node with one column one level finer (``change`` −1) or coarser (+1)."""

    column: str
    change: int
    option: Option


@dataclasses.dataclass(frozen=True)
class BudgetChange:
    """The best node when so many records may be suppressed; ``option`` is None when nothing stays
    within.
    """

    records: int
    option: Option | None


@dataclasses.dataclass(frozen=True)
class Dot:
    """Nodes that lie close together in the picture: score and marketer risk of one of them, and how
    many they are.
    """

    score: float
    marketer_risk: float
    nodes: int
    within_budget: bool


@dataclasses.dataclass(frozen=True, repr=False)
class Alternatives:
    """The chosen node among the others of its lattice.

    ``front`` are the nodes that no other beats in score, marketer risk, prosecutor risk and
    suppressed records at once, whatever the budget; ``trade_off`` those within the budget that no
    other such node beats in score and marketer risk, so that each one is dearer and safer than the
    one before. ``budgets`` says what one percentage point less and more suppression would lead to,
    ``next_better`` which node with a better score needs the smallest budget; ``overlooked`` is a
    better node within the budget, which only a search that does not promise the optimum leaves.
    When ``whole`` is false the lattice was too large: only the chosen node and its ``neighbours``
    were evaluated; ``proved`` says that the search itself decided that no node within the budget is
    better, ``gap`` how far it can be off where it did not. ``cells`` tells that suppressed records
    are not dropped but lose cells; scores and risks are those of dropping them. ``floor`` has the
    levels at which an engine counted the table where its combinations were too many: nothing below
    them was looked at. ``missing_apart`` names columns whose missing values may match everything,
    but are a category of their own to the search.

    Everything here was worked out from the original table: it is for the owner, not for sharing.
    """

    objective: str
    minimal: bool
    records: int
    budget: int
    lattice_nodes: int
    nodes_within_budget: int
    whole: bool
    tops: dict[str, int]
    chosen: Option
    neighbours: tuple[Neighbour, ...]
    budgets: tuple[BudgetChange, ...] = ()
    next_better: Option | None = None
    overlooked: Option | None = None
    front: tuple[Option, ...] = ()
    trade_off: tuple[Option, ...] = ()
    cloud: tuple[Dot, ...] = ()
    cells: bool = False
    proved: bool = False
    gap: float | None = None
    floor: dict[str, int] = dataclasses.field(default_factory=dict)
    missing_apart: tuple[str, ...] = ()

    def reasons(self) -> Reasons:
        """Why this node and not its neighbour, in plain words with numbers."""
        # sentences about budgets first, then about scores, risks, and what limits the comparison
        outlook = [_budget(self, change) for change in self.budgets]
        # What less loss would need.
        better = self.next_better
        if better is not None:
            needs = f"needs a larger budget, of {_records(self, better.suppressed)} or more"
            cost = f"{_against(self, better)}, with {_moves(self, better)}"
            outlook.append(f"Less {_name(self)} {needs}: {cost}.")
        elif self.whole and not self.minimal:
            within = " within these levels" if self.floor else ""
            outlook.append(f"No budget, however large, would lower the score{within}.")
        # What half the marketer risk would cost within the budget.
        risk = self.chosen.marketer_risk
        # the front is sorted by score: the first node at half the risk is the cheapest one
        safer = next(
            (option for option in self.trade_off if option.marketer_risk <= risk / 2), None
        )
        if safer is not None:
            now, then = apart(risk, safer.marketer_risk, percent, 2)
            cost = f"{_against(self, safer)}, with {_moves(self, safer)}"
            outlook.append(f"Half the marketer risk ({then} instead of {now}) would cost {cost}.")
        if self.cells:
            outlook.append(
                "Suppressed records lose some of their cells here; scores and risks are those of "
                "suppressing them completely."
            )
        if self.missing_apart:
            outlook.append(
                f"Missing values of {', '.join(self.missing_apart)} count as a category of their "
                "own here, although the schema lets them match everything: a node beyond the "
                "budget here may be within it."
            )
        neighbours = tuple(_neighbour(self, neighbour) for neighbour in self.neighbours)
        return Reasons(_choice(self), neighbours, tuple(outlook))

    def to_dict(self) -> Document:
        """Everything as plain data, with the reasons in words; no data values."""
        return {**dataclasses.asdict(self), "reasons": dataclasses.asdict(self.reasons())}

    def to_frame(self) -> pl.DataFrame:
        """One row a node, the chosen one first; ``what`` says why it is here, ``level_…`` are its
        levels.
        """
        return pl.DataFrame([_row(reason, option) for reason, option in self._named_options()])

    def _named_options(self) -> list[tuple[str, Option]]:
        beside = [
            (f"{n.column} {'finer' if n.change < 0 else 'coarser'}", n.option)
            for n in self.neighbours
        ]
        budgets = [
            (f"budget of {b.records} records", b.option)
            for b in self.budgets
            if b.option is not None
        ]
        if self.next_better is not None:
            better = [("next better", self.next_better)]
        else:
            better = []
        return [
            ("chosen", self.chosen),
            *beside,
            *budgets,
            *better,
            *(("front", option) for option in self.front),
        ]

    def plot(self) -> alt.LayerChart | None:
        """The picture: score against marketer risk, with the front, the nodes beyond the budget and
        the chosen one.
        """
        # drawn from plain data, as a report draws it from its file
        chart = chart_alternatives(self.to_dict())
        return None if chart is None else plot_chart(chart)

    def __str__(self) -> str:
        return "\n".join(self.reasons().all)

    def __repr__(self) -> str:
        return f"Alternatives({self.lattice_nodes:,} nodes, {len(self.front)} on the front)"


def alternatives_of(release: TableRelease, *, most_nodes: int, most_effort: float) -> Alternatives:
    """Look at the lattice that the last global recoding of a release chose from."""
    landscape, plan = landscape_of(release, most_nodes=most_nodes, most_effort=most_effort)
    alternatives = alternatives_in(landscape, plan.levels)
    effort = plan.effort()
    # where the plan does not say it, it follows from the name of an exact algorithm
    proved = bool(effort.get("proved_optimal", effort.get("algorithm") in EXACT))
    return dataclasses.replace(
        alternatives,
        cells=plan.recoded_cells,
        # a better node within the budget refutes any proof
        proved=alternatives.overlooked is None and (alternatives.whole or proved),
        gap=effort.get("gap"),
        floor=_floor(release, landscape),
        missing_apart=_missing_apart(release.original, landscape.columns),
    )


def _missing_apart(table: Table, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns with missing values that would match everything where a search does not count
    them so.
    """
    wildcards = [name for name in columns if table.schema[name].missing is Missing.WILDCARD]
    return tuple(name for name in wildcards if None in table.encoded(name).labels)


def _floor(release: TableRelease, landscape: Landscape) -> dict[str, int]:
    """The levels that the last search began at because of how the table was counted; empty where
    the recipe alone says them.
    """
    index = _last_survey(release.planned_steps)
    # equal steps: the levels are those of the recipe, not what counting forced
    if release.planned_steps[index] == release.recipe.steps[index]:
        return {}
    return {name: low for name, low in zip(landscape.columns, landscape.low, strict=True) if low}


def landscape_of(
    release: TableRelease, *, most_nodes: int = MOST_NODES, most_effort: float = MOST_EFFORT
) -> tuple[Landscape, Any]:
    """The lattice that the last global recoding of a release chose from, and its plan, which has
    the ``levels`` it chose.
    """
    step, dataset, plan = _surveyed(release)
    goal = Goal(models=release.recipe.goals, seed=release.seed, population=release.population)
    return step.survey(dataset, goal, plan, most_nodes=most_nodes, most_effort=most_effort), plan


def alternatives_in_passing(
    release: TableRelease, most_effort: float = MOST_EFFORT_IN_PASSING
) -> Alternatives | None:
    """The same with less effort, once for a release; None when no step chose from a lattice.

    Who asks first says how much effort it is worth: a report written in the workbench tells what
    was looked at there.
    """
    if not any(step.surveys for step in release.recipe.steps):
        return None
    return release.once(
        "alternatives in passing",
        lambda: alternatives_of(release, most_nodes=MOST_NODES_IN_PASSING, most_effort=most_effort),
    )


def _surveyed(release: TableRelease) -> tuple[Any, Table, Any]:
    """The last step that chose from a lattice, the table it saw, and its plan."""
    steps = release.planned_steps
    last = _last_survey(steps)
    return steps[last], release.before_step(last), release.plans[last][1]


def _last_survey(steps: Sequence[Step]) -> int:
    """The place of the last step that chose from a lattice."""
    last = max((index for index, step in enumerate(steps) if step.surveys), default=None)
    if last is None:
        raise ParameterError(
            "no step of this release chose from a lattice, so there are no other nodes to "
            "compare; use a step such as global_recoding"
        )
    return last


def alternatives_in(landscape: Landscape, levels: Mapping[str, int]) -> Alternatives:
    """Read off a landscape what surrounds one of its nodes."""
    # the chosen node must be among those looked at, or nothing can be compared with it
    at = landscape.position(levels)
    if at is None:
        raise ParameterError(
            "the chosen node is not among the evaluated ones; report this as a bug"
        )
    common = Alternatives(
        objective=landscape.objective,
        minimal=landscape.minimal,
        records=landscape.records,
        budget=landscape.budget,
        lattice_nodes=math.prod(
            high - low + 1 for low, high in zip(landscape.low, landscape.high, strict=True)
        ),
        nodes_within_budget=int(landscape.feasible().sum()),
        whole=landscape.whole,
        tops=dict(zip(landscape.columns, landscape.tops, strict=True)),
        chosen=option_at(landscape, at),
        neighbours=tuple(_neighbours(landscape, levels)),
    )
    # of a part of the lattice neither a best node nor a front can be told
    if not landscape.whole:
        return common
    # A better node within the budget, which only a search that does not promise the optimum leaves.
    best = landscape.best()
    # equal up to rounding is as good: then nothing was overlooked
    if best is not None and landscape.score[best] >= landscape.score[at] - NEAR:
        best = None
    return dataclasses.replace(
        common,
        budgets=tuple(_budgets(landscape)),
        next_better=_next_better(landscape, at),
        overlooked=None if best is None else option_at(landscape, best),
        front=tuple(option_at(landscape, node) for node in landscape.front().tolist()),
        trade_off=tuple(option_at(landscape, node) for node in landscape.trade_off().tolist()),
        cloud=tuple(_cloud(landscape)),
    )


def option_at(landscape: Landscape, at: int) -> Option:
    """One node of a landscape."""
    names = ("score", "suppressed", "classes", "class_size", "precision", "discernibility")
    return Option(
        levels=dict(zip(landscape.columns, landscape.levels[at].tolist(), strict=True)),
        **{
            name: getattr(landscape, name)[at].item()
            for name in (*names, "marketer_risk", "prosecutor_risk")
        },
        within_budget=bool(landscape.feasible()[at]),
    )


def _neighbours(landscape: Landscape, levels: Mapping[str, int]) -> list[Neighbour]:
    neighbours = []
    for column in sorted(landscape.columns):
        for change in (-1, 1):
            at = landscape.position({**levels, column: levels[column] + change})
            if at is not None:
                neighbours.append(Neighbour(column, change, option_at(landscape, at)))
    return neighbours


def _budgets(landscape: Landscape) -> list[BudgetChange]:
    # one percentage point of the records, both ways, within 0 and all
    point = round(POINT * landscape.records)
    budgets = {
        max(0, landscape.budget - point),
        min(landscape.records, landscape.budget + point),
    } - {landscape.budget}
    changes = []
    for records in sorted(budgets):
        best = landscape.best(records)
        changes.append(BudgetChange(records, None if best is None else option_at(landscape, best)))
    return changes


def _next_better(landscape: Landscape, at: int) -> Option | None:
    """Of the nodes with a better score that the budget forbids, the one that suppresses least."""
    # nodes without classes release nothing, whatever their score
    better = (landscape.score < landscape.score[at] - NEAR) & (landscape.classes > 0)
    nodes = np.flatnonzero(better & (landscape.suppressed > landscape.budget))
    if landscape.minimal or not len(nodes):
        return None
    return option_at(
        # fewest suppressed records first, then the lower score (the last key of lexsort leads)
        landscape,
        int(nodes[np.lexsort((landscape.score[nodes], landscape.suppressed[nodes]))[0]]),
    )


def _cloud(landscape: Landscape) -> list[Dot]:
    """All nodes as few enough dots to draw: one for each cell of the plane that holds any, in or
    beyond the budget.
    """
    # thousands of nodes lie on top of each other: one stands for its cell, with their number
    nodes, times = landscape.thinned("score", "marketer_risk", CELLS)
    columns = (
        landscape.score[nodes],
        landscape.marketer_risk[nodes],
        times,
        landscape.feasible()[nodes],
    )
    return [Dot(*dot) for dot in zip(*(column.tolist() for column in columns), strict=True)]


def _row(reason: str, option: Option) -> Document:
    plain = dataclasses.asdict(option)
    levels = plain.pop("levels")
    return {
        "what": reason,
        **{f"level_{column}": level for column, level in levels.items()},
        **plain,
    }


# Why this node and not its neighbour: sentences with numbers, from what the alternatives hold.

MOST_DIGITS = 15
BOUNDED = (
    "loss",
    "loss_geometric",
    "precision",
    "height",
    "entropy",
    "ncp",
    "ambiguity",
    "classification",
)
"""Objectives between 0 and 1, told with four digits after the point."""


@dataclasses.dataclass(frozen=True)
class Reasons:
    """What can be said about a choice: the choice itself, each neighbour, and what other budgets or
    risks would cost.
    """

    choice: str
    neighbours: tuple[str, ...]
    outlook: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        """Every sentence, the choice first."""
        return [self.choice, *self.neighbours, *self.outlook]


def _choice(alternatives: Alternatives) -> str:
    """What was chosen, and how sure it is that nothing within the budget is better."""
    name, option = _name(alternatives), alternatives.chosen
    score, _ = _scores(alternatives, option, option)
    cost = (
        f"has {name} {score} and suppresses {option.suppressed:,} of the {alternatives.budget:,}"
        " records"
        " the budget allows"
    )
    if alternatives.overlooked is not None:
        now, then = _scores(alternatives, option, alternatives.overlooked)
        return (
            f"This is not the best node: it {cost}. {alternatives.nodes_within_budget:,} of "
            f"{alternatives.lattice_nodes:,} nodes stay within it, and the best of them has {name} "
            f"{then} instead of {now}, with {_moves(alternatives, alternatives.overlooked)}; the "
            "search did not guarantee the optimum."
        )
    if alternatives.minimal:
        which = f"the k-minimal nodes by {name}"
    else:
        which = f"all {alternatives.lattice_nodes:,} nodes"
    if alternatives.floor:
        which += (
            " within levels ≥"
            f" {', '.join(f'{column} {level}' for column, level in alternatives.floor.items())}"
        )
    if alternatives.whole:
        if alternatives.minimal:
            better = "no finer one is within the budget"
        else:
            better = f"none of them has less {name}"
        return (
            f"This is the best of {which}, proved by evaluating every node. It {cost}; "
            f"{alternatives.nodes_within_budget:,} nodes stay within the budget, and {better}."
        )
    below = (
        f"{alternatives.lattice_nodes:,} nodes are too many to describe them all: below are its "
        "neighbours only."
    )
    if alternatives.proved:
        return f"This is the best of {which}, proved by the search. It {cost}. {below}"
    if alternatives.gap is None:
        gap = ""
    else:
        gap = f"; none of them is better by more than {alternatives.gap:.4g}"
    return (
        f"This is the best node that was found, not proved to be the best of {which}{gap}. It"
        f" {cost}. {below}"
    )


def _neighbour(alternatives: Alternatives, neighbour: Neighbour) -> str:
    """A neighbour against the chosen node: records, score and risk."""
    level = alternatives.chosen.levels[neighbour.column] + neighbour.change
    top = alternatives.tops[neighbour.column]
    label = f"level {level} of {top}"
    if level == 0:
        label = "exact"
    elif level == top:
        label = "fully suppressed"
    direction = "finer" if neighbour.change < 0 else "coarser"
    where = f"{neighbour.column} one level {direction} ({label})"
    option, current, name = neighbour.option, alternatives.chosen, _name(alternatives)
    # a node without classes has nothing to compare scores of
    if not option.within_budget:
        if not option.classes:
            return f"{where} would leave nothing to release."
        over = option.suppressed - alternatives.budget
        return (
            f"{where} is beyond the budget: it would suppress {option.suppressed:,} records,"
            f" {over:,} more than allowed{_else(alternatives, option)}."
        )
    extra_records = option.suppressed - current.suppressed
    records = "suppress as many records"
    if extra_records > 0:
        records = f"suppress {extra_records:,} more records"
    elif extra_records < 0:
        records = f"suppress {-extra_records:,} fewer records"
    now, then = _scores(alternatives, current, option)
    # compared as they are written: equal texts are told as equal
    if now == then:
        trade = f"{records} at the same {name}"
    elif option.score > current.score:
        trade = f"{records} and raise {name} from {now} to {then}"
    else:
        trade = f"{records} and lower {name} from {now} to {then}"
        if alternatives.minimal:
            trade += ", but it is not minimal: a finer node stays within the budget"
    now, then = apart(current.marketer_risk, option.marketer_risk, percent, 2)
    if now == then:
        risk = f"marketer risk stays {now}"
    else:
        risk = f"marketer risk {then} instead of {now}"
    return f"{where} would {trade}; {risk}."


def _else(alternatives: Alternatives, option: Option) -> str:
    """What a node beyond the budget would have bought."""
    now, then = _scores(alternatives, alternatives.chosen, option)
    if option.score < alternatives.chosen.score - NEAR:
        return f", for {_name(alternatives)} {then} instead of {now}"
    return f", and {_name(alternatives)} would be no better ({then})"


def _budget(alternatives: Alternatives, change: BudgetChange) -> str:
    budget = _records(alternatives, alternatives.budget)
    subject = f"A budget of {_records(alternatives, change.records)} instead of {budget}"
    if change.option is None:
        return f"{subject} would leave nothing to release."
    if change.option.levels == alternatives.chosen.levels:
        if change.records < alternatives.budget:
            spare = f": only {alternatives.chosen.suppressed:,} are suppressed"
        else:
            spare = ""
        return f"{subject} would change nothing{spare}."
    verb = "buy" if change.records > alternatives.budget else "cost"
    score, moves = _against(alternatives, change.option), _moves(alternatives, change.option)
    return f"{subject} would {verb} {score}, with {moves}."


def _against(alternatives: Alternatives, option: Option) -> str:
    """The score of another node against that of the chosen one; equal ones are said to be equal."""
    now, then = _scores(alternatives, alternatives.chosen, option)
    if now == then:
        return f"the same {_name(alternatives)} ({now})"
    return f"{_name(alternatives)} {then} instead of {now}"


def _moves(alternatives: Alternatives, option: Option) -> str:
    """How the levels of a node differ from those of the chosen one."""
    moves = [
        f"{column} at level {level} instead of {alternatives.chosen.levels[column]}"
        for column, level in sorted(option.levels.items())
        if level != alternatives.chosen.levels[column]
    ]
    return join_words(moves)


def _name(alternatives: Alternatives) -> str:
    return alternatives.objective.replace("_", " ")


def _scores(alternatives: Alternatives, first: Option, second: Option) -> tuple[str, str]:
    """Two scores as text: four digits after the point between 0 and 1, else six in all, told by a
    minus.
    """
    digits = 4 if alternatives.objective in BOUNDED else -6
    return apart(first.score, second.score, _score, digits)


def _score(value: float, digits: int) -> str:
    if digits > 0:
        return f"{value:.{digits}f}"
    return f"{value:,.{-digits}g}"


def apart(
    first: float, second: float, write: Callable[[float, int], str], digits: int
) -> tuple[str, str]:
    """Two numbers as text, with as many digits as it takes to tell them apart; equal numbers (to 12
    digits) have equal texts.

    >>> (
    ...     apart(1 / 3, 0.33334, percent, 2),
    ...     apart(0.5, 0.5, percent, 2),
    ...     apart(0.1, 0.1 + 1e-17, _score, 4),
    ... )
    (('33.333 %', '33.334 %'), ('50.00 %', '50.00 %'), ('0.1000', '0.1000'))
    """
    # equal up to rounding: more digits would show differences that mean nothing
    if abs(first - second) <= NEAR * max(1.0, abs(first)):
        return write(first, digits), write(first, digits)
    # digits after the point grow, significant digits (told by a minus) grow downwards
    step = 1 if digits > 0 else -1
    while write(first, digits) == write(second, digits) and abs(digits) < MOST_DIGITS:
        digits += step
    return write(first, digits), write(second, digits)


def _records(alternatives: Alternatives, records: int) -> str:
    return f"{percent(records / max(1, alternatives.records))} ({records:,} records)"
