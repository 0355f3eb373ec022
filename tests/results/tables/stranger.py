"""A stranger's audit of a published table: reads the written folder, knows the definitions and
nothing of our code.

Values come from the records by plain loops, equations from the labels, intervals from one linear or
integer program a cell.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

TOTAL = "Total"
NESTED = ("n1", "n2", "s1", "s2")  # codes that are nested, besides those of a, b and c
BEYOND = 3.0  # what a suppressed grand total may be at most, as a multiple of the true one


def above(label):
    """The label one level up: codes are nested by their letters, masked by stars."""
    core = label.rstrip("*")
    if label == TOTAL:
        return None
    if label not in NESTED and core == label and not set(label) <= set("abc"):
        return TOTAL  # a word, not a code
    stars = len(label) - len(core)
    return TOTAL if len(core) <= 1 or label.startswith("(") else core[:-1] + "*" * (stars + 1)


def within(value, label):
    """Whether a record's value belongs to a label."""
    if label == TOTAL:
        return True
    if label.startswith("("):
        return value is None
    return value is not None and str(value).startswith(label.rstrip("*"))


def cell_of(columns, labels):
    """What a cell holds, whatever table it stands in."""
    return frozenset((c, x) for c, x in zip(columns, labels, strict=True) if x != TOTAL)


@dataclasses.dataclass
class Seen:
    """All that a folder tells: cells with their text, and which cells add up to which."""

    texts: dict
    sums: list

    @property
    def hidden(self):
        return [cell for cell, text in self.texts.items() if text == "x"]


def read_folder(share):
    """The cells of all tables of a folder, and every sum between them."""
    texts, sums = {}, []
    for section in json.loads((share / "certificate.json").read_text())["aggregates"]["tables"]:
        with (share / section["file"]).open(newline="") as file:
            rows = list(csv.reader(file))
        columns, own = rows[0][:-1], {}
        for row in rows[1:]:
            cell = cell_of(columns, row[:-1])
            assert texts.setdefault(cell, row[-1]) == row[-1], "one cell is told in two ways"
            own[tuple(row[:-1])] = cell
        for axis in range(len(columns)):
            parts = {}
            for labels, cell in own.items():
                if (upper := above(labels[axis])) is not None:
                    whole = (*labels[:axis], upper, *labels[axis + 1 :])
                    parts.setdefault(whole, []).append(cell)
            sums += [(own[whole], cells) for whole, cells in parts.items()]
    return Seen(texts, sums)


def contributions(records, cell, measure, *, unit=None, weight=None, missing_counts=False):
    """Per respondent of a cell what it contributes; None where nothing is known of a respondent who
    counts.
    """
    found = {}
    for number, row in enumerate(records):
        if not all(within(row[column], label) for column, label in cell):
            continue
        who = row[unit] if unit else number
        amount = row[measure[4:-1]] if measure.startswith("sum") else 1
        if amount is None:
            if missing_counts:
                found.setdefault(who, None)
            continue
        amount = amount * (row[weight] if weight else 1)
        found[who] = 1 if measure == "count" else (found.get(who) or 0) + amount
    return found


def magnitude(given):
    """What respondents contribute, each by its size."""
    return sum(abs(x) for x in given.values() if x is not None)


def need_of(given, rules, measure):
    """How far a cell must stay unknown upwards, or None where it may be told."""
    n = len(given)
    sizes = sorted((abs(x) for x in given.values() if x is not None), reverse=True)
    total, needs = sum(sizes), []
    first = sizes[0] if sizes else 0
    tiny = 1e-9 * max(1.0, total)
    for name, values in rules:
        if name == "threshold" and 0 < n < values["t"]:
            needs.append(max(values["t"] - n, 1) if measure == "count" else 0.1 * first)
        if name == "dominance" and n:
            largest = sum(sizes[: values["n"]])
            if total == 0 or largest > values["k"] / 100 * total + tiny:
                needs.append(100 / values["k"] * largest - total)
        if name == "p_percent" and n:
            lacking = values["p"] / 100 * first - (total - sum(sizes[: 1 + values["colluders"]]))
            if total == 0 or lacking > tiny:
                needs.append(lacking)
    return max(needs) if needs else None


@dataclasses.dataclass
class Truth:
    """What the owner knows, by plain loops over the records."""

    value: dict
    need: dict
    alone: dict

    @classmethod
    def of(cls, seen, records, rules, measure, **options):
        value, need, alone = {}, {}, {}
        for cell in seen.texts:
            given = contributions(records, cell, measure, **options)
            value[cell] = math.fsum(x for x in given.values() if x is not None)
            need[cell] = need_of(given, rules, measure)
            if len(given) == 1:
                alone[cell] = next(iter(given))
        return cls(value, need, alone)


class Solver:
    """Least and most of a suppressed cell in any table that looks the same."""

    def __init__(self, seen, truth, *, low, high, whole):
        self.cells = sorted(seen.hidden, key=sorted)
        self.place = {cell: at for at, cell in enumerate(self.cells)}
        self.whole, self.low, self.high = whole, low, high
        self.true = np.array([truth.value[cell] for cell in self.cells])
        rows, right = [], []
        for whole_cell, parts in seen.sums:
            row, rest = np.zeros(len(self.cells)), 0.0
            for cell, sign in [(whole_cell, -1.0), *((part, 1.0) for part in parts)]:
                if cell in self.place:
                    row[self.place[cell]] += sign
                else:
                    rest -= sign * float(seen.texts[cell])
            if row.any():
                rows.append(row)
                right.append(rest)
        self.rows, self.right = np.array(rows).reshape(len(rows), len(self.cells)), np.array(right)

    def interval(self, cell, known=()):
        """Least and most of one cell for somebody who knows some others."""
        low, high = (
            np.full(len(self.cells), float(self.low)),
            np.full(len(self.cells), float(self.high)),
        )
        for other in known:
            at = self.place[other]
            low[at] = high[at] = self.true[at]
        return tuple(sign * self._least(cell, sign, low, high) for sign in (1.0, -1.0))

    def _least(self, cell, sign, low, high):
        aim = np.zeros(len(self.cells))
        aim[self.place[cell]] = sign
        slack = 1e-6 * max(1.0, abs(self.high))  # sums are published with the digits of a double
        rows = LinearConstraint(
            self.rows, self.right - slack * (not self.whole), self.right + slack * (not self.whole)
        )
        found = milp(
            aim,
            constraints=rows,
            bounds=Bounds(low, high),
            integrality=np.full(len(aim), int(self.whole)),
        )
        assert found.status == 0, (
            f"the true table is one that looks the same, and none was found: {found.message}"
        )
        return float(found.fun)


def broken(share, records, rules, measure, *, negatives=False, singles=False, **options):
    """All that is wrong with a published folder, in words; empty when it holds."""
    seen = read_folder(share)
    truth = Truth.of(seen, records, rules, measure, **options)
    # where a respondent's contributions cancel out, a part is larger than the whole
    size = {
        cell: magnitude(contributions(records, cell, measure, **options)) for cell in seen.texts
    }
    largest = max(size, key=size.__getitem__)
    grand = size[largest]
    near = 2e-6 * max(1.0, grand)
    wrong = [
        f"a published cell is not what the records say: {sorted(cell)}"
        for cell, text in seen.texts.items()
        if text != "x" and abs(float(text) - truth.value[cell]) > 1e-6 * max(1.0, grand)
    ]
    sensitive = [cell for cell, need in truth.need.items() if need is not None]
    wrong += [
        f"a sensitive cell is published: {sorted(cell)}"
        for cell in sensitive
        if seen.texts[cell] != "x"
    ]
    high = grand * (BEYOND if seen.texts[largest] == "x" else 1.0)
    solver = Solver(
        seen, truth, low=-high if negatives else 0.0, high=high, whole=not measure.startswith("sum")
    )
    lone = [cell for cell in seen.hidden if singles and cell in truth.alone]
    for cell in (one for one in sensitive if seen.texts[one] == "x"):
        value, need = truth.value[cell], max(0.0, float(truth.need[cell]))
        own, given = truth.alone.get(cell), contributions(records, cell, measure, **options)

        def holds(known, brought=0.0, cell=cell, value=value, need=need):
            least, most = solver.interval(cell, known)
            # nobody believes in less than nothing, nor in less than the own contribution
            down = min(
                1.0 if measure == "count" else need, value - (solver.low if negatives else brought)
            )
            return value - least >= down - near and most - value >= need - near and most - least > 0

        others = [other for other in lone if truth.alone[other] != own]
        if not holds([]):
            wrong.append(f"everybody narrows {sorted(cell)} down, true {value}, need {need}")
        elif others and not holds(others):  # all of them together know more than each
            wrong += [
                f"one who is alone in a cell narrows {sorted(cell)} down, true {value}, need {need}"
                for who in sorted({truth.alone[other] for other in others})
                if not holds(
                    [other for other in others if truth.alone[other] == who], given.get(who) or 0.0
                )
            ]
    return wrong
