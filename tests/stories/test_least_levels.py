"""Levels that are called the least, bounds that are called proved, and refusals, held against
looking at every node.

Tables are larger than those that hypothesis draws, with hierarchies of all kinds, several promises
at once, persons, weights and bounds of levels. The oracle groups rows by their labels, and takes
promises and scores by definition.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections import Counter
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.encoding import label
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import Unsatisfiable
from sfumato.methods.steps.recoding import search_choice
from sfumato.methods.steps.recoding.anytime import Anytime

OBJECTIVES = ("loss", "loss_geometric", "precision", "height", "entropy", "discernibility")
NEAR = 1e-9


def number_column(draw: random.Random, rows: int) -> tuple[list[Any], Attribute]:
    hierarchy = sf.intervals(*draw.choice([(5, 20), (2, 4, 8)]), open_above=draw.choice([None, 40]))
    values = [draw.randint(0, 50) for _ in range(rows)]
    return values, Attribute((Role.QUASI,), kind=Kind.NUMERIC, hierarchy=hierarchy)


def date_column(draw: random.Random, rows: int) -> tuple[list[Any], Attribute]:
    values = [f"202{draw.randint(0, 2)}-{draw.randint(1, 12):02}-15" for _ in range(rows)]
    return values, Attribute((Role.QUASI,), kind=Kind.DATE, hierarchy=sf.dates("quarter", "year"))


def code_column(draw: random.Random, rows: int) -> tuple[list[Any], Attribute]:
    values = [draw.choice("12") + draw.choice("013") + draw.choice("05") for _ in range(rows)]
    return values, Attribute((Role.QUASI,), hierarchy=sf.mask_right(3))


def word_column(draw: random.Random, rows: int) -> tuple[list[Any], Attribute]:
    values = draw.choices(["a", "b", "c", "d", None], [8, 5, 2, 1, 1], k=rows)
    return values, Attribute((Role.QUASI,), hierarchy=sf.frequency(2))


@dataclasses.dataclass
class RandomCase:
    """A table, what is promised of it, and how the step is told to search."""

    table: Table
    promises: list[Any]
    step: sf.GlobalRecoding


def random_case(seed: int, **search: Any) -> RandomCase:
    draw = random.Random(seed)
    rows = draw.choice([12, 40, 90])
    data: dict[str, list[Any]] = {}
    attributes = {}
    for place in range(draw.randint(2, 4)):
        column = draw.choice([number_column, date_column, code_column, word_column])
        data[f"c{place}"], attributes[f"c{place}"] = column(draw, rows)
    data["ill"] = draw.choices(["flu", "cold", "gout"], [5, 3, 2], k=rows)
    attributes["ill"] = Attribute((Role.SENSITIVE,))
    quasi = [name for name in data if name != "ill"]
    if draw.random() < 0.3 and all(None not in data[name] for name in quasi):
        data["who"] = [f"p{draw.randrange(rows)}" for _ in range(rows)]
        attributes["who"] = Attribute((Role.PERSON,))
    promises: list[Any] = [sf.KAnonymity(draw.choice([2, 3, 5]))]
    if draw.random() < 0.5:
        promises.append(
            draw.choice(
                [sf.LDiversity("ill", 2), sf.TCloseness("ill", 0.4), sf.PSensitive("ill", 2, 2)]
            )
        )
    step = sf.GlobalRecoding(
        budget=draw.choice([0.0, 0.05, 0.2]),
        objective=draw.choice(OBJECTIVES),
        weights={name: draw.choice([0.3, 5.0]) for name in quasi if draw.random() < 0.3},
        levels={quasi[0]: (1, 2)} if draw.random() < 0.3 else {},
        **search,
    )
    return RandomCase(Table(pl.DataFrame(data), Schema(attributes)), promises, step)


class NaiveLattice:
    """Every node of a table by itself: labels of cells, classes as lists of rows, promises and
    scores by definition.
    """

    def __init__(self, case: RandomCase) -> None:
        self.case = case
        table = case.table
        self.columns = list(table.schema.quasi)
        self.ill = table.column("ill").to_list()
        self.rows = range(len(self.ill))
        self.who = table.column("who").to_list() if "who" in table.columns else list(self.rows)
        self.labels: list[list[list[str | None]]] = []
        self.losses: list[list[list[float]]] = []
        for name in self.columns:
            self._bind(name)

    def _bind(self, name: str) -> None:
        cells = [
            None if value is None else label(value)
            for value in self.case.table.column(name).to_list()
        ]
        values = sorted({cell for cell in cells if cell is not None})
        counts = Counter(cells)
        hierarchy = self.case.table.schema[name].hierarchy
        assert hierarchy is not None
        paths = hierarchy.paths(values, [counts[value] for value in values])
        path_of = dict(zip(values, paths.rows, strict=True))
        top = len(paths.loss) - 1
        levels, losses = [], []
        for level in range(top + 1):
            missing = paths.rows[0][-1] if level == top else None
            labels = [missing if cell is None else path_of[cell][level] for cell in cells]
            levels.append(labels)
            losses.append([0.0 if shown is None else paths.loss[level][shown] for shown in labels])
        self.labels.append(levels)
        self.losses.append(losses)

    def nodes(self) -> Any:
        bounds = self.case.step.levels
        spans = []
        for name, levels in zip(self.columns, self.labels, strict=True):
            low, high = bounds.get(name, (0, len(levels) - 1))
            spans.append(range(low, min(high, len(levels) - 1) + 1))
        return itertools.product(*spans)

    def holds(self, promise: Any, members: list[int]) -> bool:
        persons = len({self.who[row] for row in members})
        counts = Counter(self.ill[row] for row in members)
        values = min(len(counts), persons)
        if isinstance(promise, sf.KAnonymity):
            return persons >= promise.k
        if isinstance(promise, sf.LDiversity):
            return values >= promise.l
        if isinstance(promise, sf.PSensitive):
            return persons >= promise.k and values >= promise.p
        table = Counter(self.ill)
        apart = sum(abs(counts[v] / len(members) - table[v] / len(self.ill)) for v in table)
        return bool(apart / 2 <= promise.t + NEAR)

    def feasible(self) -> dict[tuple[int, ...], float]:
        """The score of every node that stays within the budget."""
        budget = math.floor(self.case.step.budget * len(self.ill) + NEAR)
        scores = {}
        for node in self.nodes():
            classes: dict[tuple[str | None, ...], list[int]] = {}
            for row in self.rows:
                key = tuple(self.labels[a][level][row] for a, level in enumerate(node))
                classes.setdefault(key, []).append(row)
            kept = [
                members
                for members in classes.values()
                if all(self.holds(p, members) for p in self.case.promises)
            ]
            gone = len(self.ill) - sum(map(len, kept))
            if gone <= budget and kept:
                scores[node] = self.score(node, kept, gone)
        return scores

    def score(self, node: tuple[int, ...], kept: list[list[int]], gone: int) -> float:
        objective, total = self.case.step.objective, len(self.ill)
        if objective == "discernibility":
            return float(sum(len(members) ** 2 for members in kept) + gone * total)
        raw = [self.case.step.weights.get(name, 1.0) for name in self.columns]
        weights = [weight / sum(raw) for weight in raw]
        released = [row for members in kept for row in members]
        cells = []
        for a, level in enumerate(node):
            cells.append(self.cell_cost(objective, a, level, released, gone))
        if objective == "loss_geometric":
            return (
                math.prod((1 + cell) ** weight for cell, weight in zip(cells, weights, strict=True))
                - 1
            )
        return sum(cell * weight for cell, weight in zip(cells, weights, strict=True))

    def cell_cost(
        self, objective: str, a: int, level: int, released: list[int], gone: int
    ) -> float:
        """The mean cost of a column's cells, where a suppressed one costs 1."""
        total, height = len(self.ill), level / (len(self.labels[a]) - 1)
        if objective == "height":
            return height
        if objective == "precision":
            return (height * len(released) + gone) / total
        if objective == "entropy":
            before, after = Counter(self.labels[a][0]), Counter(self.labels[a][level])
            most = sum(math.log2(total / before[self.labels[a][0][row]]) for row in self.rows)
            bits = 0.0
            kept = set(released)
            for row in self.rows:
                crowd = after[self.labels[a][level][row]] if row in kept else total
                bits += math.log2(crowd / before[self.labels[a][0][row]])
            return bits / most if most else gone / total
        return (sum(self.losses[a][level][row] for row in released) + gone) / total


def held_against_every_node(case: RandomCase) -> None:
    scores = NaiveLattice(case).feasible()
    goal = Goal(tuple(case.promises))
    if not scores:
        with pytest.raises(Unsatisfiable):
            case.step.plan(case.table, goal)
        return
    plan = case.step.plan(case.table, goal)
    assert plan.score == pytest.approx(
        scores[tuple(plan.levels[name] for name in case.table.schema.quasi)]
    )
    least, effort = min(scores.values()), plan.effort()
    if effort.get("proved_optimal", plan.algorithm != "anytime"):
        assert plan.score == pytest.approx(least)
    if "lower_bound" in effort:
        assert effort["lower_bound"] <= least + NEAR
        assert effort["gap"] == pytest.approx(plan.score - effort["lower_bound"])
    for bound in effort.get("bounds", ()):
        assert bound <= least + NEAR


@pytest.fixture
def bounds_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the bounds of columns and of crowds by themselves: the one that is told else is never
    above the best score found.
    """
    notes = Anytime._notes

    def with_bounds(search: Anytime, stopped: str | None) -> dict[str, Any]:
        return {**notes(search, stopped), "bounds": (search.bounds.of_all, search.crowds.lower)}

    monkeypatch.setattr(Anytime, "_notes", with_bounds)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("algorithm", ["optimal", "incognito"])
def test_the_least_is_the_least(seed: int, algorithm: Any) -> None:
    held_against_every_node(random_case(seed, algorithm=algorithm))


@pytest.mark.usefixtures("bounds_told")
@pytest.mark.parametrize("seed", range(100, 160))
def test_a_proved_bound_is_below_every_node(seed: int) -> None:
    held_against_every_node(random_case(seed, algorithm="anytime", effort=1 + seed % 7 * 60))


@pytest.mark.parametrize("seed", range(200, 215))
def test_the_warning_of_a_lattice_beyond_reach_is_true(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_choice, "REACH", 0.0)
    monkeypatch.setattr(search_choice, "WORK", 0)
    monkeypatch.setattr(search_choice, "LEAST_EFFORT", 25)
    held_against_every_node(random_case(seed))
