"""The charts of a release, each described once as a block: what is measured, its numbers in words,
and how to read it.

Everything follows from documents: certificates, records of owners, reports of attacks.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sfumato.core.blocks import ChartAxis, ChartBlock, Point, ReferenceLine, Series
from sfumato.core.fields import Fields
from sfumato.core.words import number, percent, plain_name, score
from sfumato.release.report.attacks import (
    attack_label,
    attack_words,
    beyond_what,
    conclusion,
    rank_attacks,
    success_limit,
    unknown_attacks,
)
from sfumato.release.report.measures import title_of
from sfumato.release.report.wording import CHANCES, Counted, level_words, levels_of, risk_name

LONGEST_NAME = 38
BEFORE_AFTER = " Wide light bar: before; narrow dark bar: after."


def _describe_bars(
    title: str, names: Sequence[str], after: Sequence[Point], before: Sequence[Point] = ()
) -> str:
    """Numbers of bars in words: ``age: 20 % before, 10 % after; zip: …``."""
    rows = []
    for index, name in enumerate(names):
        words = after[index].label
        if before:
            words = f"{before[index].label} before, {words} after"
        rows.append(f"{name}: {words}")
    return f"{title}. {'; '.join(rows)}."


# Class sizes, in bins a reader can take in: fine where people are alone, coarse where classes are
# large.

SINGLE = (1, 2, 3, 4)
"""Sizes that get a bin of their own: there each additional person matters."""
ROUND = (5, 10, 20, 50, 100, 200, 500)
"""Borders up to a thousand; from there on every power of ten."""
CLOSE = 0.15
"""A round border this near to k (relative to k) gives way to it, so that no narrow bin is left
between.
"""
COUNTED = {
    "records": "Number of records by the size of their class.",
    "persons": (
        "Number of persons by the size of their class; a person in several classes counts in each."
    ),
    "classes": (
        "Number of classes by how many records an intruder must confuse. With missing values as"
        " wildcards classes overlap, so classes are counted and not records."
    ),
}


@dataclasses.dataclass(frozen=True)
class Bin:
    """The class sizes from ``low`` to ``high``, both included."""

    low: int
    high: int

    @property
    def label(self) -> str:
        """The sizes in words: ``4``, ``5–9``."""
        if self.low == self.high:
            return number(self.low)
        return f"{number(self.low)}–{number(self.high)}"


def bin_sizes(largest: int, k: int | None = None) -> tuple[Bin, ...]:
    """Bins 1, 2, 3, 4, 5–9, 10–19, 20–49, 50–99 … 500–999, 1,000–9,999 … that reach ``largest``;
    one of them starts at ``k``.

    >>> [b.label for b in bin_sizes(60, k=7)]
    ['1', '2', '3', '4', '5–6', '7–9', '10–19', '20–49', '50–99']
    >>> [b.label for b in bin_sizes(0)]
    ['1']
    """
    reach = max(largest, k or 1)
    borders = {*SINGLE, k or 1}
    powers = [10**power for power in range(3, len(str(reach)) + 2)]
    for border in (*ROUND, *powers):
        # a round border close to k would leave a bin too narrow to mean anything
        if k is None or abs(border - k) > CLOSE * k:
            borders.add(border)
    used = sorted(border for border in borders if border <= reach)
    end = min(border for border in borders if border > reach)
    return tuple(Bin(low, high - 1) for low, high in pairwise([*used, end]))


def fill_bins(bins: Sequence[Bin], sizes: Mapping[int, int], *, classes: bool = False) -> list[int]:
    """Members of the classes in each bin (size x number of such classes), or the number of
    classes.
    """
    totals = [0] * len(bins)
    index = 0
    # sizes ascend as bins do, so one pass over both is enough
    for size in sorted(sizes):
        while size > bins[index].high:
            index += 1
        totals[index] += sizes[size] if classes else size * sizes[size]
    return totals


def chart_class_sizes(
    sizes: Mapping[Any, int],
    k: int | None,
    before: Mapping[Any, int] | None = None,
    *,
    unit: Counted = "records",
) -> ChartBlock:
    """How many records (persons, classes) are in classes of which size, with a line at the promised
    k.

    ``sizes`` maps a class size to the number of such classes; ``before`` does so for the original
    table.
    """
    now = {int(size): int(count) for size, count in sizes.items()}
    was = {int(size): int(count) for size, count in (before or {}).items()}
    bins = bin_sizes(max([*now, *was], default=0), k)
    names = tuple(size_bin.label for size_bin in bins)
    totals = fill_bins(bins, now, classes=unit == "classes")
    after_points = []
    for index, total in enumerate(totals):
        label = number(total)
        if before is None and total:
            label += f" ({percent(total / sum(totals))})"
        small = k is not None and bins[index].high < k
        after_points.append(Point(index, total, label=label, alarm=small and total > 0))
    series = [Series(unit if before is None else "after", tuple(after_points))]
    before_points = []
    if before is not None:
        for index, total in enumerate(fill_bins(bins, was, classes=unit == "classes")):
            before_points.append(Point(index, total, label=number(total)))
        series.insert(0, Series("before", tuple(before_points), part="before"))
    words = _describe_bars(f"Number of {unit} by class size", names, after_points, before_points)
    caption = COUNTED[unit]
    if before is not None:
        caption += BEFORE_AFTER
    lines: tuple[ReferenceLine, ...] = ()
    if k is not None:
        words += f" The promised k is {number(k)}."
        caption += f" Classes above the dashed line are smaller than the promised {number(k)}."
        start = next(index for index, size_bin in enumerate(bins) if size_bin.low == k)
        lines = (ReferenceLine("x", start, f"k = {number(k)}"),)
    axis = ChartAxis("class size", names)
    return ChartBlock(
        "class_sizes", "bars", axis, ChartAxis(), tuple(series), words, caption=caption, lines=lines
    )


def chart_risks(
    before: Mapping[str, float] | None, after: Mapping[str, float], threshold: float | None
) -> ChartBlock | None:
    """Each risk of the release (and of the original) from 0 to 100 %; None without risks.

    ``threshold`` is 1/k: it bounds the chance of picking one record, not shares of records.
    """
    if not after:
        return None
    order = sorted(after, key=lambda name: name not in CHANCES)
    names = tuple(risk_name(name) for name in order)
    points, before_points = [], []
    for index, name in enumerate(order):
        points.append(Point(index, after[name], label=percent(after[name])))
        if before is not None:
            was = before.get(name, 0.0)
            before_points.append(Point(index, was, label=percent(was)))
    series = [Series("value" if before is None else "after", tuple(points))]
    caption = "Bars run from 0 to 100 %."
    if before is not None:
        series.insert(0, Series("before", tuple(before_points), part="before"))
        caption += BEFORE_AFTER
    words = _describe_bars("Risks", names, points, before_points)
    lines: tuple[ReferenceLine, ...] = ()
    chances = sum(name in CHANCES for name in order)
    if threshold is not None and threshold < 1 and chances:
        limit = percent(threshold)
        words += f" The promised k allows a chance of at most {limit}."
        caption += f" Dashed line: {limit}, the highest chance the promised k allows."
        lines = (ReferenceLine("y", threshold, f"1/k = {limit}", chances),)
    limits = ChartAxis(share=True, limits=(0.0, 1.0))
    axis = ChartAxis("risk", names)
    return ChartBlock(
        "risks", "bars", axis, limits, tuple(series), words, caption=caption, lines=lines
    )


def chart_measures(measures: Sequence[tuple[str, float, str]]) -> ChartBlock | None:
    """Measures of utility (name, value, which way is better) as bars from 0 to 1; an arrow marks
    what is better when higher.
    """
    if not measures:
        return None
    order = sorted(measures, key=lambda measure: measure[2] == "higher")
    points = []
    for index, (_, value, better) in enumerate(order):
        arrow = " ↑" if better == "higher" else ""
        points.append(Point(index, value, label=score(value) + arrow))
    names = tuple(title_of(name) for name, _, _ in order)
    series = Series("0 is best; ↑ 1 is best", tuple(points))
    words = _describe_bars("Measures of utility", names, points)
    axis = ChartAxis(limits=(0.0, 1.0))
    return ChartBlock("measures", "bars", ChartAxis("measure", names), axis, (series,), words)


MOST_COLUMNS = 24


def chart_levels(plan: Iterable[Fields]) -> ChartBlock | None:
    """How much detail each generalised column lost: its level among those of its hierarchy; None
    without such columns.
    """
    levels = levels_of(plan)
    if not levels:
        return None
    order = sorted(levels, key=lambda name: (-levels[name][0] / max(1, levels[name][1]), name))
    columns_drawn = order[:MOST_COLUMNS]
    points = []
    for index, name in enumerate(columns_drawn):
        level, top = levels[name]
        points.append(Point(index, level, high=top, label=level_words(level, top)))
    words = "; ".join(f"{name}: {level_words(*levels[name])}" for name in order)
    caption = "Each box is one level of the column's hierarchy; filled boxes are lost detail."
    if len(order) > len(columns_drawn):
        caption += f" The {len(columns_drawn)} most changed of {len(order)} columns are shown."
    series = Series("level", tuple(points))
    text = f"Levels of the generalised columns. {words}."
    columns = ChartAxis("column", tuple(columns_drawn))
    return ChartBlock("levels", "levels", columns, ChartAxis(), (series,), text, caption=caption)


FEWEST_ALIKE = 4
"""So many columns with the same small share are one bar."""


def chart_missing_cells(shares: Mapping[str, float]) -> ChartBlock | None:
    """The share of cells of each column that were suppressed; None where there are none."""
    if not any(shares.values()):
        return None
    order = sorted(shares, key=lambda name: (-shares[name], name))
    smallest = min(shares.values())
    # Columns that lost least and all the same, as by dropped records alone, share a bar.
    alike = [name for name in order if abs(shares[name] - smallest) < 1e-12]
    if len(alike) < FEWEST_ALIKE:
        alike = []
    single = [name for name in order if name not in alike]
    names = single[:MOST_COLUMNS]
    points = []
    for index, name in enumerate(names):
        points.append(Point(index, shares[name], label=percent(shares[name])))
    if alike:
        names.append(f"{len(alike)} other columns" if single else f"all {len(alike)} columns")
        points.append(Point(len(points), smallest, label=percent(smallest)))
    words = "; ".join(f"{name}: {percent(shares[name])}" for name in order)
    caption = (
        "Share of the original cells that are suppressed, fully generalised, or in a dropped "
        "record."
    )
    if alike:
        caption += f" {len(alike)} columns with the same share have one bar."
    if len(single) > MOST_COLUMNS:
        caption += f" {len(single) - MOST_COLUMNS} columns with smaller shares are not shown."
    series = Series("suppressed", tuple(points))
    text = f"Suppressed cells. {words}."
    axis = ChartAxis(share=True, limits=(0.0, 1.0))
    columns = ChartAxis("column", tuple(names))
    return ChartBlock("suppressed_cells", "bars", columns, axis, (series,), text, caption=caption)


def chart_distribution(card: Fields, caption: str = "", index: int = 1) -> ChartBlock:
    """A column before and after, as the owner's record describes it; ``index`` is part of its
    name.
    """
    names = tuple(card["bins"])
    series, columns = [], []
    for part in ("before", "after"):
        points = []
        for position, share in enumerate(card[part]):
            points.append(Point(position, share, label=percent(share)))
        columns.append(points)
        series.append(Series(part, tuple(points), part=part))
    title = f"Distribution of {card['column']}"
    words = _describe_bars(title, names, columns[1], columns[0])
    axis = ChartAxis(card["column"], names)
    # The name of a file: small letters, digits and strokes.
    name = re.sub(r"[^a-z0-9]+", "_", card["column"].lower()).strip("_")[:40] or "column"
    return ChartBlock(
        f"column_{index:02d}_{name}",
        "columns",
        axis,
        ChartAxis(share=True),
        tuple(series),
        words,
        caption=caption,
        title=card["column"],
    )


MOST_PAIRS_IN_WORDS = 12


def chart_pairs(
    name: str,
    columns: Sequence[str],
    values: Sequence[float],
    meaning: str,
    *,
    signed: bool = False,
) -> ChartBlock | None:
    """A square for every two columns; the larger the square, the larger the number. None without
    pairs.
    """
    if len(columns) < 2:
        return None
    # below the diagonal: every pair once
    cells = [(row, column) for row in range(len(columns)) for column in range(row)]
    order = sorted(zip(cells, values, strict=True), key=lambda cell: -abs(cell[1]))
    words = []
    for (row, column), value in order[:MOST_PAIRS_IN_WORDS]:
        words.append(f"{columns[row]} and {columns[column]}: {number(value)}")
    if len(order) > MOST_PAIRS_IN_WORDS:
        words.append(f"{len(order) - MOST_PAIRS_IN_WORDS} pairs are nearer to 0")
    (row, column), largest = order[0]
    caption = f"{meaning} Largest: {columns[row]} and {columns[column]}, {number(largest)}."
    if signed:
        caption += " Filled: associated more than before; hollow: less."
    points = []
    for (row, column), value in zip(cells, values, strict=True):
        points.append(Point(column, row - 1, size=value))
    x, y = ChartAxis(names=tuple(columns[:-1])), ChartAxis(names=tuple(columns[1:]))
    text = f"{meaning} {'; '.join(words)}."
    pairs = Series("pairs", tuple(points))
    return ChartBlock(name, "map", x, y, (pairs,), text, caption=caption)


# Attacks.

ATTACKS_CAPTION = (
    "Bars: how often each attack succeeds, with its 95 % interval if there is one. Wide grey "
    "tick: the baseline of guessing. Thin dark line: the limit of the recipe, or else the usual "
    "share of what guessing leaves open. "
)


def chart_attacks(attacks: Fields | None) -> ChartBlock | None:
    """All attacks as bars, the strongest first, unknown ones without a bar; None where none was
    tried.
    """
    if not attacks or not attacks.get("tried"):
        return None
    ranked, unknown = rank_attacks(attacks), unknown_attacks(attacks)
    success, guesses, limits, words = [], [], [], []
    for index, attack in enumerate(ranked):
        low, high = attack["interval"] or (None, None)
        mark = "✗ " if attack["exceeds"] else ""
        label = mark + percent(attack["value"])
        success.append(
            Point(index, attack["value"], low, high, label=label, alarm=attack["exceeds"])
        )
        if attack["baseline"] is not None:
            guesses.append(Point(index, attack["baseline"]))
        limits.append(Point(index, min(1.0, success_limit(attack))))
        words.append(_describe_attack(attack))
    for index, attack in enumerate(unknown, len(ranked)):
        success.append(Point(index, None, label="? unknown"))
        words.append(f"{attack['intruder']}: {attack_words(attack)} unknown")
    caption = ATTACKS_CAPTION
    if any(attack["exceeds"] for attack in ranked):
        caption += "✗ and brown: beyond that line. "
    series = (
        Series("succeeds", tuple(success)),
        Series("guessing", tuple(guesses), "tick"),
        Series("limit", tuple(limits), "limit"),
    )
    rate = ChartAxis("rate of success", share=True, limits=(0.0, 1.0))
    names = ChartAxis("attack", _name_attacks([*ranked, *unknown]))
    text = f"Attacks. {'; '.join(words)}."
    caption += conclusion(attacks)
    return ChartBlock("attacks", "bars", names, rate, series, text, caption=caption)


def _name_attacks(attacks: Sequence[Fields]) -> tuple[str, ...]:
    """Intruder and attack; the attack alone where both would not fit and it occurs once."""
    counts = Counter(attack_words(attack) for attack in attacks)
    names = []
    for attack in attacks:
        words = attack_words(attack)
        full = f"{attack['intruder']}: {words}"
        names.append(words if len(full) > LONGEST_NAME and counts[words] == 1 else full)
    return tuple(names)


def _describe_attack(attack: Fields) -> str:
    words = f"{attack['intruder']}, {attack_words(attack)}: {percent(attack['value'])}"
    if attack["interval"]:
        low, high = attack["interval"]
        words += f" ({percent(low)} to {percent(high)})"
    if attack["baseline"] is not None:
        words += f", guessing {percent(attack['baseline'])}"
    kind = "usual" if attack["limit"] is None else "limit"
    words += f", {kind} {percent(min(1.0, success_limit(attack)))}"
    if attack["exceeds"]:
        beyond = beyond_what(attack)
        words += f", {beyond[0].lower()}{beyond[1:]}"
    return words


MOST_CURVES = 6


def chart_uniqueness_curves(before: Fields | None, after: Fields | None) -> list[ChartBlock]:
    """How many people are unique by how much an intruder knows of them: a chart for each kind of
    knowledge, with one line for each attack, before and after.
    """
    curves: dict[str, list[tuple[str, str, list[tuple[float, float]]]]] = {}
    for part, attacks in (("after", after), ("before", before)):
        for attack in (attacks or {}).get("tried", []):
            curve = (attack.get("details") or {}).get("curve")
            if isinstance(curve, Mapping) and curve.get("points"):
                points = [
                    (float(attributes_known), float(share))
                    for attributes_known, share in curve["points"]
                ]
                knowledge = str(curve.get("known", "facts known"))
                name = plain_name(attack_label(attack))
                curves.setdefault(knowledge, []).append((part, name, points))
    caption = "Share of people who are unique to somebody with this knowledge."
    if before is not None:
        caption += " Solid and dark: the release; dashed and light: the original."
    charts: list[ChartBlock] = []
    for knowledge, entries in curves.items():
        names_drawn = list(dict.fromkeys(name for _, name, _ in entries))[:MOST_CURVES]
        series, words = [], []
        for part, name, points in reversed(entries):
            values = ", ".join(
                f"{number(attributes_known)}: {percent(share)}"
                for attributes_known, share in points
            )
            words.append(f"{name}, {part}: {values}")
            if name in names_drawn:
                line = tuple(Point(attributes_known, share) for attributes_known, share in points)
                series.append(
                    Series(name, line, "line", part="before" if part == "before" else "after")
                )
        known_values = [
            attributes_known for _, _, points in entries for attributes_known, _ in points
        ]
        low, high = min(known_values), max(known_values)
        # a single point needs room on both sides
        if low == high:
            low, high = low - 1, high + 1
        room = 0.03 * (high - low)
        x = ChartAxis(knowledge, limits=(low - room, high + room))
        y = ChartAxis("people who are unique", share=True, limits=(0.0, 1.0))
        text = f"Share of people who are unique, by {knowledge}. {'; '.join(words)}."
        name = f"curves_{len(charts) + 1}" if charts else "curves"
        charts.append(ChartBlock(name, "lines", x, y, tuple(series), text, caption=caption))
    return charts


def chart_alternatives(alternatives: Fields) -> ChartBlock | None:
    """Score against marketer risk of all nodes, the front and the chosen one; None when only
    neighbours are known.

    Risks span orders of magnitude, so their axis is logarithmic.
    """
    cloud, chosen_node, front = (
        alternatives["cloud"],
        alternatives["chosen"],
        alternatives["trade_off"],
    )
    if not cloud:
        return None
    objective = plain_name(alternatives["objective"])

    def points(nodes: Iterable[Fields]) -> tuple[Point, ...]:
        return tuple(
            Point(node["score"], node["marketer_risk"], size=node.get("nodes", 1)) for node in nodes
        )

    series = (
        Series("beyond the budget", points(n for n in cloud if not n["within_budget"]), "ring"),
        Series("within the budget", points(n for n in cloud if n["within_budget"]), "dot"),
        Series("front", points(front), "staircase"),
        Series("chosen", points([chosen_node]), "chosen"),
    )
    scores = [node["score"] for node in (*cloud, *front, chosen_node)]
    span = max(scores) - min(scores) or 1.0
    x = ChartAxis(
        f"{objective} (worse →)", limits=(min(scores) - 0.08 * span, max(scores) + 0.03 * span)
    )
    values = [f"{number(node['score'])} and {percent(node['marketer_risk'])}" for node in front]
    text = (
        f"{objective.capitalize()} and marketer risk of the nodes. Chosen:"
        f" {number(chosen_node['score'])} and {percent(chosen_node['marketer_risk'])}. Best"
        " trade-offs within"
        f" the budget: {'; '.join(values)}."
    )
    caption = (
        f"All {number(alternatives['lattice_nodes'])} nodes by {objective} and marketer risk; a dot"
        f" may represent several. Filled dots: the {number(alternatives['nodes_within_budget'])}"
        f" within the suppression budget; rings: beyond it. Line: no node within the budget has"
        f" less {objective} and less risk."
    )
    risk = ChartAxis("marketer risk (worse ↑)", share=True, logarithmic=True)
    return ChartBlock("alternatives", "scatter", x, risk, series, text, caption=caption)


def chart_answer(answer: Fields) -> ChartBlock:
    """A noisy answer (see ``Answer.to_dict``): a mark for each group with its interval."""
    names = tuple(", ".join(group) or answer["question"] for group in answer["groups"] or [[]])
    values = answer["values"]
    lows, highs = answer["low"] or values, answer["high"] or values
    points = []
    for index, (value, low, high) in enumerate(zip(values, lows, highs, strict=True)):
        # Digits that the noise drowns are not shown.
        noise = max(high - value, value - low)
        label = _rounded(value, noise)
        if noise:
            label += f" ± {_rounded(noise, noise)}"
        points.append(Point(index, value, low, high, label=label))
    cost = f"ρ = {number(answer['rho'])}"
    if answer["epsilon"] is not None:
        cost = f"ε = {number(answer['epsilon'])}"
    question = answer["question"]
    series = Series("answer", tuple(points), "dot")
    text = _describe_bars(f"{question}, at a cost of {cost}", names, points)
    axis = ChartAxis(f"{question}, at a cost of {cost}")
    return ChartBlock("answer", "intervals", ChartAxis("group", names), axis, (series,), text)


def _rounded(value: float, noise: float) -> str:
    if noise >= 1 or noise == 0:
        return number(round(value))
    return f"{value:,.2f}"
