"""An auditor of folders that were published one after the other: it reads what was written and the
records, and knows nothing of our code.

One unknown for every combination of values of all columns that some table is broken down or chosen
by; every published cell is an equation; the least and the most of any set of combinations comes
from one linear program each, in whole numbers for counts.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import math

import highspy
import numpy as np

BEYOND = 3.0  # what a suppressed grand total may be at most, as a multiple of the true one


class Space:
    """Unknowns within bounds that fulfil equations, and how small or large a sum of some of them
    can be.
    """

    def __init__(self, rows, low, high, lower, upper, *, whole):
        self.whole, self.count = whole, len(lower)
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self.count, len(rows)
        program.col_cost_ = np.zeros(self.count)
        program.col_lower_, program.col_upper_ = np.asarray(lower, float), np.asarray(upper, float)
        program.row_lower_, program.row_upper_ = np.asarray(low, float), np.asarray(high, float)
        dense = np.asarray(rows, float).reshape(len(rows), self.count)
        at, columns = np.nonzero(dense)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.concatenate(
            [[0], np.cumsum(np.bincount(at, minlength=len(rows)))]
        ).astype(np.int32)
        program.a_matrix_.index_, program.a_matrix_.value_ = (
            columns.astype(np.int32),
            dense[at, columns],
        )
        self.highs.passModel(program)
        self.every = np.arange(self.count, dtype=np.int32)

    def extreme(self, line, sign):
        """The most (sign 1) or least of a sum."""
        self.highs.changeColsCost(self.count, self.every, -sign * np.asarray(line, float))
        self.highs.run()
        status = self.highs.getModelStatus()
        assert status == highspy.HighsModelStatus.kOptimal, (
            f"the true table fits, and none was found: {status}"
        )
        solution = np.array(self.highs.getSolution().col_value)
        if self.whole and np.abs(solution - np.round(solution)).max(initial=0) > 1e-6:
            return self._whole(sign)
        return float(solution @ line)

    def _whole(self, sign):
        kinds = np.ones(self.count, dtype=np.uint8)
        self.highs.changeColsIntegrality(self.count, self.every, kinds)
        self.highs.run()
        found = -sign * self.highs.getInfo().objective_function_value
        self.highs.changeColsIntegrality(self.count, self.every, 0 * kinds)
        return float(round(found))

    def interval(self, line):
        return self.extreme(line, -1), self.extreme(line, 1)


@dataclasses.dataclass
class Asked:
    """A published folder, and what its owner asked for: columns of the condition with the test,
    rules with their parameters.
    """

    share: object
    rules: list
    where: dict = dataclasses.field(default_factory=dict)  # attribute → values that are kept
    slide: float = 0.0
    prior: float | None = None


def measure_of(share):
    return json.loads((share / "certificate.json").read_text())["aggregates"]["measure"]


def cells_of(share):
    """Every cell of a folder: per column the values it holds (None: all), and its text."""
    for section in json.loads((share / "certificate.json").read_text())["aggregates"]["tables"]:
        held = []
        for said in section["columns"]:
            labels, parent = said["labels"], said["parent"]
            below = [set() for _ in labels]
            lowest = set(range(len(labels))) - set(parent)
            for node in lowest:
                upper = node
                while upper >= 0:
                    below[upper].add(labels[node])
                    upper = parent[upper]
            held.append(
                (
                    said["column"],
                    {label: None if at == 0 else below[at] for at, label in enumerate(labels)},
                )
            )
        with (share / section["file"]).open(newline="") as file:
            rows = list(csv.reader(file))[1:]
        for row in rows:
            kept = {column: sets[label] for (column, sets), label in zip(held, row, strict=False)}
            yield {column: values for column, values in kept.items() if values is not None}, row[-1]


def label_of(value):
    return "(missing)" if value is None else str(value)


@dataclasses.dataclass
class World:
    """All combinations of values, and the records in each."""

    columns: list
    points: list
    place: dict
    records: list
    at: np.ndarray

    @classmethod
    def of(cls, records, columns):
        values = [sorted({label_of(row[c]) for row in records}) for c in columns]
        points = list(itertools.product(*values))
        place = {point: number for number, point in enumerate(points)}
        at = np.array([place[tuple(label_of(row[c]) for c in columns)] for row in records])
        return cls(columns, points, place, records, at)

    def line(self, conditions):
        """The combinations that fulfil what columns are asked to hold."""
        names = [(self.columns.index(column), values) for column, values in conditions.items()]
        return np.array([all(point[c] in values for c, values in names) for point in self.points])


def both(cell, where):
    """A cell among chosen records."""
    kept = dict(cell)
    for column, values in where.items():
        kept[column] = set(values) & kept[column] if column in kept else set(values)
    return kept


def contributions(world, line, measure, unit, weight, missing_counts=False):
    """Per respondent what it contributes; None where nothing is known of one who counts."""
    found = {}
    for number in np.flatnonzero(line[world.at]).tolist():
        row = world.records[number]
        who = row[unit] if unit else number
        amount = row[measure[4:-1]] if measure.startswith("sum") else 1
        if amount is None:
            if missing_counts:
                found.setdefault(who, None)
            continue
        amount = amount * (row[weight] if weight else 1)
        found[who] = 1 if measure == "count" else (found.get(who) or 0) + amount
    return found


def need_of(given, rules, measure, usual=0.0):
    """How far a cell must stay unknown upwards; None where it may be told."""
    n, needs = len(given), []
    sizes = sorted((abs(x) for x in given.values() if x is not None), reverse=True)
    total, first = sum(sizes), sizes[0] if sizes else 0.0
    share = 0.1 * (first or usual)
    tiny = 1e-9 * max(1.0, total)
    for name, values in rules:
        if name == "threshold" and (0 < n < values["t"] or (n == 0 and values.get("zeros"))):
            needs.append(max(values["t"] - n, 1) if measure == "count" else share)
        if (
            name == "dominance"
            and n
            and (total == 0 or sum(sizes[: values["n"]]) > values["k"] / 100 * total + tiny)
        ):
            needs.append(
                share if total == 0 else 100 / values["k"] * sum(sizes[: values["n"]]) - total
            )
        if name in ("p_percent", "pq") and n:
            lacking = values["p"] / values.get("q", 100) * first - (
                total - sum(sizes[: 1 + values.get("colluders", 1)])
            )
            if total == 0 or lacking > tiny:
                needs.append(share if total == 0 else lacking)
        if (
            name == "all_equal"
            and measure.startswith("sum")
            and n > 1
            and sizes
            and len(sizes) == n
            and sizes[0] - sizes[-1] <= tiny
        ):
            needs.append(share)
    if not needs:
        return None
    return max(math.ceil(max(needs) - 1e-9), 1) if not measure.startswith("sum") else max(needs)


@dataclasses.dataclass
class Line:
    """A cell of a published table as a sum of unknowns."""

    cell: dict
    line: np.ndarray
    text: str
    given: dict
    need: float | None

    @property
    def value(self):
        return math.fsum(x for x in self.given.values() if x is not None)

    @property
    def size(self):
        return math.fsum(abs(x) for x in self.given.values() if x is not None)

    @property
    def alone(self):
        return next(iter(self.given)) if len(self.given) == 1 else None


def lines_of(world, asked, measure, unit, weight, missing_counts):
    found = []
    for cell, text in cells_of(asked.share):
        line = world.line(both(cell, asked.where))
        found.append(
            Line(
                cell,
                line,
                text,
                contributions(world, line, measure, unit, weight, missing_counts),
                None,
            )
        )
    most = max((len(one.given) for one in found), default=1)
    usual = max((one.size for one in found), default=0.0) / max(1, most)
    for one in found:
        one.need = need_of(one.given, asked.rules, measure, usual)
    for name, values in asked.rules:
        if name == "group_disclosure":
            _mark_groups(world, found, values, asked.where, measure, unit, usual)
    return found


def _mark_groups(world, lines, values, where, measure, unit, usual):
    """Cells that hold all of a group but for one: the group is a combination of other columns, and
    not everybody.
    """
    column = values["column"]
    for one in lines:
        others = {c: v for c, v in one.cell.items() if c != column}
        group = world.line(both(others, where))
        if column not in one.cell or not others or (group == one.line).all() or not len(one.given):
            continue
        persons = len(contributions(world, group, measure, unit, None))
        if persons - len(one.given) <= values.get("insider", True):
            largest = (
                max((abs(x) for x in one.given.values() if x is not None), default=0.0) or usual
            )
            one.need = max(one.need or 0.0, 1 if measure == "count" else 0.1 * largest)
            one.need = (
                max(1, math.ceil(one.need - 1e-9)) if not measure.startswith("sum") else one.need
            )


def space_of(tables, *, whole, low, high, known=(), prior=None):
    """What somebody knows who sees tables: lists of lines; ``known`` lines are known besides,
    ``prior`` is a table known within so many percent.
    """
    rows, lower, upper, slack = [], [], [], 0.0 if whole else 1e-9 * max(1.0, high)
    seen = set()
    for one in itertools.chain.from_iterable(tables):
        key = one.line.tobytes()
        if one.text == "x":
            ends = (low, high)
        elif (key, "told") in seen:
            continue
        else:
            seen.add((key, "told"))
            ends = (float(one.text) - slack, float(one.text) + slack)
        if one.line.any():
            rows.append(one.line)
            lower.append(ends[0])
            upper.append(ends[1])
    for one in known:
        rows.append(one.line)
        lower.append(one.value - slack)
        upper.append(one.value + slack)
    if prior is not None:
        for one in prior[0]:
            reach = prior[1] / 100 * abs(one.value)
            reach = math.floor(reach + 1e-9) if whole else reach
            rows.append(one.line)
            lower.append(max(low, one.value - reach) - slack)
            upper.append(min(high, one.value + reach) + slack)
    count = len(rows[0])
    return Space(
        rows, lower, upper, np.full(count, float(low)), np.full(count, float(high)), whole=whole
    )


def wrong_of_rounded(records, asked, columns, *, base, reach=1, unit=None):
    """All that is wrong with one folder of rounded counts: what everybody knows who knows the
    base.
    """
    world = World.of(records, columns)
    measure = measure_of(asked.share)
    lines = lines_of(world, asked, measure, unit, None, False)
    far = base * reach - 1
    rows = [one.line for one in lines if one.line.any()]
    low = [max(0.0, float(one.text) - far) for one in lines if one.line.any()]
    high = [float(one.text) + far for one in lines if one.line.any()]
    grand = max(one.value for one in lines)
    count = len(rows[0])
    space = Space(rows, low, high, np.zeros(count), np.full(count, grand), whole=True)
    small = max((values["t"] for name, values in asked.rules if name == "threshold"), default=0)
    wrong = [
        f"{one.text} is no multiple near {one.value}"
        for one in lines
        if abs(float(one.text) - one.value) > far or float(one.text) % base
    ]
    for one in lines:
        if one.need is None:
            continue
        least, most = space.interval(one.line)
        told = (
            least > 0 and most < small
            if one.value < small
            else most - least < one.need + min(1, one.value)
        )
        if told:
            wrong.append(f"a sensitive count of {one.value:g} is told to be in {least:g} {most:g}")
    return wrong


def wrong_of(
    records,
    asked,
    columns,
    *,
    unit=None,
    weight=None,
    missing_counts=False,
    negatives=False,
    singles=None,
    small=0,
):
    """All that is wrong with folders published together, in words. ``small``: sets of fewer persons
    that only several folders together tell exactly are wrong too.
    """
    world = World.of(records, columns)
    measures = {measure_of(one.share) for one in asked}
    assert len(measures) == 1
    measure = measures.pop()
    whole = not measure.startswith("sum")
    singles = (not whole) if singles is None else singles
    tables = [lines_of(world, one, measure, unit, weight, missing_counts) for one in asked]
    lines = list(itertools.chain.from_iterable(tables))
    grand = max((one.size for one in lines), default=0.0)
    totals = [max(table, key=lambda one: one.size) for table in tables]
    high = max(one.size * (BEYOND if one.text == "x" else 1.0) for one in totals)
    low = -high if negatives else 0.0
    near = (1e-6 if whole else 2e-6) * max(1.0, grand)
    wrong = [
        f"not what the records say: {one.text} for {one.value}"
        for one in lines
        if one.text != "x" and abs(float(one.text) - one.value) > near
    ]
    spaces = {}

    def space(number, who=None):
        prior = None if asked[number].prior is None else (tables[number], asked[number].prior)
        key = (who, None if prior is None else number)
        if key not in spaces:
            known = [one for one in lines if one.alone == who] if who is not None else []
            spaces[key] = space_of(
                tables, whole=whole, low=low, high=high, known=known, prior=prior
            )
        return spaces[key]

    lone = (
        sorted({one.alone for one in lines if one.alone is not None and one.text == "x"})
        if singles
        else []
    )
    for number, table in enumerate(tables):
        done = set()
        for one in table:
            if one.need is None or one.line.tobytes() in done:
                continue
            done.add(one.line.tobytes())
            if one.text != "x":
                wrong.append(f"table {number}: a sensitive cell is published: {one.value}")
                continue
            for who in [None, *(other for other in lone if other != one.alone)]:
                least, most = space(number, who).interval(one.line)
                floor = low if negatives or who is None else max(low, one.given.get(who) or 0.0)
                down = min(1.0 if measure == "count" else one.need, one.value - floor)
                full = min(1.0 if measure == "count" else one.need, one.value - low)
                wide = most - least >= asked[number].slide * (one.need + full) - near
                if not (
                    one.value - least >= down - near
                    and most - one.value >= one.need - near
                    and wide
                ):
                    wrong.append(
                        f"table {number}: {'everybody' if who is None else 'one who is alone'}"
                        f" narrows {one.value:g} ({len(one.given)} persons, need {down:g}"
                        f" {one.need:g}) down to {least:g} {most:g}"
                    )
                    break
    if small and len(asked) > 1:
        wrong += told_together(
            world,
            tables,
            space_of(tables, whole=whole, low=low, high=high),
            measure,
            unit,
            weight,
            small,
            near,
            low,
            high,
        )
    return wrong


def nodes_of(tables, world):
    """Per column the sets of values that some table or condition speaks of, each value, and all."""
    return [
        [None, *({value} for value in sorted({point[at] for point in world.points}))]
        for at in range(len(world.columns))
    ]


def told_together(world, tables, space, measure, unit, weight, small, near, low, high):
    """Combinations of values of few persons that all tables tell exactly, and no table alone."""
    wrong, done = [], {one.line.tobytes() for table in tables for one in table}
    whole = not measure.startswith("sum")
    alone = [space_of([table], whole=whole, low=low, high=high) for table in tables]
    for some in itertools.product(*nodes_of(tables, world)):
        line = world.line(
            {c: values for c, values in zip(world.columns, some, strict=True) if values is not None}
        )
        if line.tobytes() in done:
            continue
        done.add(line.tobytes())
        given = contributions(world, line, measure, unit, weight)
        if not 0 < len(given) < small:
            continue
        least, most = space.interval(line)
        if most - least > near:
            continue
        if any(ends[1] - ends[0] <= near for ends in (one.interval(line) for one in alone)):
            continue
        what = [sorted(v)[0] if v else "*" for v in some]
        wrong.append(f"together: {len(given)} persons of {what} are told to be {least:g}")
    return wrong
