"""A rule from a few examples: ``75001 → 75 → FR``."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import parameters, values_of
from sfumato.core.periods import Level, read_period
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import network_prefixes, separated_parts, url_levels
from sfumato.methods.hierarchies.date_periods import Dates
from sfumato.methods.hierarchies.leaf_lists import category_paths
from sfumato.methods.hierarchies.mask import MaskLeft, MaskRight
from sfumato.methods.hierarchies.number_intervals import (
    CellReading,
    Intervals,
    format_position,
    on_axis,
    read_interval,
)
from sfumato.methods.hierarchies.public_classification import SCHEMES
from sfumato.methods.hierarchies.suppressed_value import SuppressedValue

Row = tuple[str, ...]
ARROW = re.compile(r"\s*(?:→|->)\s*")
MOST_EXAMPLES = 100
FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d")
"""Ways of writing a date, beside that of ISO 8601, that examples are tried with."""


# Codes: which of their characters are kept on every level, by their form.


def form_of(text: str) -> str:
    """The form of a text: ``9`` for a digit, ``A`` for a letter, all else as it is.

    >>> form_of("FR-75001"), form_of("75***")
    ('AA-99999', '99***')
    """
    return "".join("9" if c.isdigit() else "A" if c.isalpha() else c for c in text)


@dataclasses.dataclass(frozen=True)
class KeptCharacters:
    """What a label keeps of the value below it: the characters of a slice, and marks for those it
    hides on either side.
    """

    start: int
    stop: int
    before: str = ""
    after: str = ""

    def label(self, text: str) -> str:
        """The label of a text."""
        return f"{self.before}{text[self.start : self.stop]}{self.after}"

    def words(self, length: int) -> str:
        """What is kept, in words."""
        count = self.stop - self.start
        if count == length:
            return "as it is"
        side = "first" if not self.start else "last"
        marked = ""
        if self.before or self.after:
            marked = f", the others as {(self.before or self.after)[0]}"
        return f"the {side} {count} of {length} characters{marked}"


def ways_to_keep(text: str, label: str) -> Iterator[KeptCharacters]:
    """Every way in which a label is the beginning or the end of a text.

    >>> [way.words(4) for way in ways_to_keep("7575", "75")]
    ['the first 2 of 4 characters', 'the last 2 of 4 characters']
    """
    length = len(text)
    # Unchanged on this level: no other way would explain it better.
    if text == label:
        yield KeptCharacters(0, length)
        return
    if 0 < len(label) < length:
        yield from (KeptCharacters(0, len(label)),) if text.startswith(label) else ()
        yield from (KeptCharacters(length - len(label), length),) if text.endswith(label) else ()
    # As long as the value, so characters were replaced by a mark, not cut off.
    if len(label) == length:
        yield from _mask_rules(text, label, label[-1], from_left=False)
        yield from _mask_rules(text, label, label[0], from_left=True)


def _mask_rules(text: str, label: str, mark: str, *, from_left: bool) -> Iterator[KeptCharacters]:
    visible = label.lstrip(mark) if from_left else label.rstrip(mark)
    hidden = len(label) - len(visible)
    # A letter or digit as the mark could be part of the value itself.
    if mark.isalnum() or not visible or not hidden:
        return
    if from_left and text.endswith(visible):
        yield KeptCharacters(hidden, len(text), before=mark * hidden)
    elif not from_left and text.startswith(visible):
        yield KeptCharacters(0, len(visible), after=mark * hidden)


@dataclasses.dataclass(frozen=True)
class CodeForms(Hierarchy):
    """CodeForms of some forms: per form what each level keeps. Values of other forms are counted
    and refused.
    """

    levels: Mapping[str, tuple[KeptCharacters, ...]]

    name: ClassVar[str] = "codes"
    fixed: ClassVar[bool] = True

    @property
    def depth(self) -> int:
        """Levels, the value and the top among them."""
        return len(next(iter(self.levels.values()))) + 2

    @functools.cached_property
    def inner(self) -> dict[str, tuple[str, int]]:
        """Form of a label → a form of values that has it, and the level; the lowest counts."""
        # From coarse to fine, so that the lowest level of a form overwrites the others.
        nodes: dict[str, tuple[str, int]] = {}
        for level in range(self.depth - 2, 0, -1):
            nodes |= {
                steps[level - 1].label(form): (form, level) for form, steps in self.levels.items()
            }
        return nodes | {form: (form, 0) for form in self.levels}

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what has another form is counted and refused."""
        pairs = [pair for pair in map(self._path, values) if pair is not None]
        if len(pairs) < len(values):
            raise SchemaError(
                f"like: {len(values) - len(pairs)} of {len(values)} distinct values have another "
                "form than the examples (as many characters, with letters, digits and other signs "
                "in the same places); give an example of each form"
            )
        return category_paths([row for row, _ in pairs], [own for _, own in pairs], self.depth)

    def _path(self, text: str) -> tuple[Row, int] | None:
        if text == TOP:
            return (TOP,) * self.depth, self.depth - 1
        if form_of(text) not in self.inner:
            return None
        form, own = self.inner[form_of(text)]
        label = text
        labels = [text] * (own + 1)
        # From label to label, not from the value: a cell may hold a label of a level already.
        for level in range(own, self.depth - 2):
            label = _step(self.levels[form], level).label(label)
            labels.append(label)
        return (*labels, TOP), own

    def words(self) -> list[str]:
        """What every level keeps, in words."""
        forms = len(self.levels) > 1
        return [
            f"level {level}: "
            + "; ".join(
                (f"of {form} " if forms else "") + steps[level - 1].words(len(form))
                for form, steps in self.levels.items()
            )
            for level in range(1, self.depth - 1)
        ]


def _step(steps: tuple[KeptCharacters, ...], level: int) -> KeptCharacters:
    """What a label of level ``level + 1`` keeps of the label below it, whose marks and lost
    characters shift the slice.
    """
    upper = steps[level]
    if level == 0:
        return upper
    lower = steps[level - 1]
    # Characters that the label below has lost on its left, less the marks in their place.
    lost = lower.start - len(lower.before)
    return dataclasses.replace(upper, start=upper.start - lost, stop=upper.stop - lost)


def codes_of(rows: Sequence[Row]) -> CodeForms:
    """The rule for codes that explains all rows, the top left out; refused where there is none, or
    more than one.
    """
    ways: dict[str, list[set[KeptCharacters]]] = {}
    for number, row in enumerate(rows, 1):
        options = [set(ways_to_keep(row[0], label)) for label in row[1:]]
        for level, candidates in enumerate(options, 1):
            if not candidates:
                raise ParameterError(
                    f"example {number}, level {level}: the label is neither the beginning nor the "
                    "end of the value, nor an interval, a period or a last label that all "
                    "examples share; write a tree, a table or a file"
                )
        # Only what explains all examples of one form stays.
        earlier = ways.setdefault(form_of(row[0]), options)
        ways[form_of(row[0])] = [old & new for old, new in zip(earlier, options, strict=True)]
    return CodeForms({form: tuple(_only(levels, form)) for form, levels in ways.items()})


def _only(levels: Sequence[set[KeptCharacters]], form: str) -> Iterator[KeptCharacters]:
    # A level may keep no more than the one below it, else the levels would not nest.
    lower = KeptCharacters(0, len(form))
    for level, candidates in enumerate(levels, 1):
        nested = []
        for candidate in candidates:
            if lower.start <= candidate.start and candidate.stop <= lower.stop:
                nested.append(candidate)
        if not nested:
            why = "is cut differently in two examples of the same form"
            if candidates:
                why = "is not part of the level below it"
            raise ParameterError(f"level {level} {why}; no rule explains all examples")
        if len(nested) > 1:
            ways = join_words(sorted(candidate.words(len(form)) for candidate in nested), "or")
            raise ParameterError(
                f"level {level} can be {ways}; give an example in which they differ"
            )
        lower = nested[0]
        yield lower


def require_one_parent(codes: CodeForms) -> None:
    """Raise when labels of one form would be cut in two ways above: then one label could have two
    parents.
    """
    for level in range(1, codes.depth - 2):
        above: dict[str, KeptCharacters] = {}
        for form, steps in codes.levels.items():
            step = _step(steps, level)
            if above.setdefault(steps[level - 1].label(form), step) != step:
                raise ParameterError(
                    f"labels of level {level} look alike and are cut differently on level"
                    f" {level + 1}; no rule explains all examples"
                )


# Numbers and dates: the existing hierarchies, with the parameters the examples say.


def intervals_of(rows: Sequence[Row]) -> Intervals | None:
    """The intervals that all labels of numbers are, on a grid through all of them; None where they
    are none.
    """
    readings = [[read_interval(label) for label in row[1:]] for row in rows]
    cells = list(chain.from_iterable(readings))
    if any(read_interval(row[0]) is None for row in rows) or any(
        r is None or r.low is r.high for r in cells
    ):
        return None
    closed = []
    for level_readings in readings:
        for level, r in enumerate(level_readings):
            if r and r.low and r.high:
                closed.append((level, r))
    # Open ends are the same on every level; two different ones make no grid.
    above = {r.low for r in cells if r and r.high is None and r.low is not None}
    below = {r.high for r in cells if r and r.low is None and r.high is not None}
    spans: dict[int, CellReading] = dict(closed)
    if len(spans) < len(rows[0]) - 1 or len(above) > 1 or len(below) > 1:
        return None
    digits = max(0, *(-end[1] for _, r in closed for end in (r.low, r.high) if end))
    widths = [_width(spans[level], digits) for level in sorted(spans)]
    start = on_axis(spans[max(spans)].low or (0, 0), digits)
    ends = {"open_above": next(iter(above), None), "open_below": next(iter(below), None)}
    return Intervals(
        widths=[_number(width, digits) for width in widths],
        # Any limit of the widest intervals will do as origin: the least that is not negative is
        # taken.
        origin=_number(start % widths[-1], digits),
        **{name: _number(on_axis(end, 400), 400) for name, end in ends.items() if end is not None},
    )


def _width(reading: CellReading, digits: int) -> int:
    return on_axis(reading.high or (0, 0), digits) - on_axis(reading.low or (0, 0), digits)


def _number(position: int, digits: int) -> int | float:
    text = format_position(position, digits)
    if "." in text:
        return float(text)
    return int(text)


def dates_of(rows: Sequence[Row]) -> list[Dates]:
    """The calendars whose periods all labels are, one for each way of reading the values as
    dates.
    """
    periods = [[read_period(label) for label in row[1:]] for row in rows]
    levels: list[Level] = [period[0] for period in periods[0] if period is not None]
    if not levels or any(
        [p[0] for p in cells if p] != levels or None in cells for cells in periods
    ):
        return []
    # ISO 8601 first: where it explains all examples no other way of writing is tried.
    forms = [(None,), FORMATS]  # what is written as in ISO 8601 is read so
    calendars = [
        [c for form in cells if (c := _calendar(levels, form)) and _explains(c, rows)]
        for cells in forms
    ]
    return calendars[0] or calendars[1]


def _calendar(levels: Sequence[Level], form: str | None) -> Dates | None:
    try:
        return Dates(levels=levels, format=form)
    except ParameterError:
        return None


def _explains(hierarchy: Hierarchy, rows: Sequence[Row]) -> bool:
    """Whether a hierarchy gives every example the labels it has, below the top."""
    values = [row[0] for row in rows]
    try:
        paths = hierarchy.paths(values, [1] * len(values))
    except SchemaError:
        return False
    return [row[:-1] for row in paths.rows] == list(rows)


def masks_of(rows: Sequence[Row]) -> Iterator[Hierarchy]:
    """The masks that hide one character more on every level, where that is what the examples do."""
    for mask in (MaskRight, MaskLeft):
        mark = rows[0][-1][-1 if mask is MaskRight else 0]
        if not mark.isalnum() and len(rows[0]) == len(rows[0][0]):
            candidate = mask(length=len(rows[0][0]), char=mark)
            if _explains(candidate, rows):
                yield candidate


# The examples, and the one rule that explains them.


def rows_of(rows: object) -> Any:
    """One example or several, as text."""
    examples = [rows] if isinstance(rows, str) else rows
    if not isinstance(examples, Sequence) or not all(
        isinstance(example, str) for example in examples
    ):
        raise ValueError("must be one example or a list of them, like '75001 → 75 → FR'")
    return tuple(examples)


@dataclasses.dataclass(frozen=True)
class InferredRule:
    """A hierarchy, the label its top has, and both in words."""

    hierarchy: Hierarchy
    top: str
    words: tuple[str, ...]


def infer(examples: Sequence[str]) -> InferredRule:
    r"""The one rule that explains all examples, or an error that says what none explains or what
    several do.

    >>> print(*infer(["75001 → 75 → FR"]).words, sep="\n")
    level 1: the first 2 of 5 characters
    level 2: always FR
    >>> infer(["23 -> 20-24 -> 20-39"]).hierarchy.widths
    (5, 20)
    """
    rows = [tuple(ARROW.split(example.strip())) for example in examples]
    _require_alike(rows)
    constant = _constant(rows)
    if constant:
        # The last label says nothing about the value: it is the top and takes no rule.
        below = [row[:-1] for row in rows]
    else:
        below = rows
    hierarchy = _infer_hierarchy(below)
    top = rows[0][-1] if constant else TOP
    if constant and top != TOP:
        _refuse_classified(rows)
    if isinstance(hierarchy, CodeForms):
        words = hierarchy.words()
    else:
        words = _recipe_words(hierarchy)
    return InferredRule(hierarchy, top, (*words, f"level {len(below[0])}: always {top}"))


def _recipe_words(hierarchy: Hierarchy) -> list[str]:
    """The recipe form of an existing kind; one without parameters says nothing that the top does
    not.
    """
    fields = ", ".join(
        f"{name}: {_as_label(value)}" for name, value in values_of(hierarchy).items()
    )
    if not fields:
        return []
    return [f"{hierarchy.name}: {{{fields}}}"]


def _as_label(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, str) and not value.replace("_", "").isalnum() and "%" not in value:
        return f"'{value}'"
    return str(value)


def _require_alike(rows: Sequence[Row]) -> None:
    if len(rows) > MOST_EXAMPLES:
        raise ParameterError(
            f"at most {MOST_EXAMPLES} examples; a list of values is a table or a file"
        )
    short = [number for number, row in enumerate(rows, 1) if len(row) < 2 or not all(row)]
    if short:
        raise ParameterError(
            f"example {short[0]}: needs a value and a label with an arrow between them, "
            "like 75001 → 75"
        )
    uneven = [number for number, row in enumerate(rows, 1) if len(row) != len(rows[0])]
    if uneven:
        raise ParameterError(
            f"example {uneven[0]} has {len(rows[uneven[0] - 1])} levels and example 1 has "
            f"{len(rows[0])}; give all examples the same number"
        )


def _constant(rows: Sequence[Row]) -> bool:
    """Whether the last label is the same in all examples and no part of the values: the top."""
    last = {row[-1] for row in rows}
    if len(last) > 1:
        return False
    if last == {TOP}:
        return True
    ends = [(row[0], row[-1]) for row in rows]
    part = all(any(ways_to_keep(*end)) for end in ends)
    if not part:
        rules = (separated_parts.rules_of, network_prefixes.rule_of, url_levels.rules_of)
        part = any(rule(ends) for rule in rules)
    label = rows[0][-1]
    reading = read_interval(label)
    interval = (
        reading is not None
        and reading.low is not reading.high
        and all(read_interval(row[0]) for row in rows)
    )
    return not (part or interval or read_period(label) is not None)


def _infer_hierarchy(rows: Sequence[Row]) -> Hierarchy:
    """The hierarchy whose labels the rows have; existing kinds first, since they know what their
    labels mean.
    """
    if len(rows[0]) == 1:
        return SuppressedValue()
    calendars = dates_of(rows)
    if len(calendars) > 1:
        forms = join_words(
            [str(calendar.format or "as in ISO 8601") for calendar in calendars], "or"
        )
        raise ParameterError(
            f"the dates can be written {forms}; give an example in which day and month differ"
        )
    if calendars:
        return calendars[0]
    grid = intervals_of(rows)
    # Labels are intervals, but not of one grid: a rule for codes would misread them.
    if grid is not None:
        if not _explains(grid, rows):
            raise ParameterError(
                "no grid of intervals fits all examples; write whole numbers as 20-24 and others "
                "as [20, 25), with the same open ends on every level"
            )
        return grid
    codes = _infer_separated_parts(rows) or next(masks_of(rows), None) or codes_of(rows)
    if isinstance(codes, CodeForms):
        require_one_parent(codes)
    return codes


def _infer_separated_parts(rows: Sequence[Row]) -> Hierarchy | None:
    """The rule of networks, web addresses or parts between separators that explains all rows; None
    where there is none.
    """
    networks = network_prefixes.rule_of(rows)
    if networks is not None:
        return networks
    for rules in (url_levels.rules_of(rows), separated_parts.rules_of(rows)):
        if len(rules) > 1:
            ways = join_words([_recipe_words(rule)[0] for rule in rules], "or")
            raise ParameterError(f"the labels can be {ways}; give an example in which they differ")
        if rules:
            return rules[0]
    return None


def _refuse_classified(rows: Sequence[Row]) -> None:
    """A last label that looks the same for all may be one group of a classification that has
    many.
    """
    for name, scheme in SCHEMES.items():
        nodes = [None if name == "icd10_blocks" else scheme.node(row[0]) for row in rows]
        if all(
            node is not None and node[0][:-1] == row for node, row in zip(nodes, rows, strict=True)
        ):
            raise ParameterError(
                "the last level can be the same for all values, or that of classification: {of:"
                f" {name}}}; name that, or give an example with another last label"
            )


@parameters
class Like(Hierarchy):
    """The rule that explains some examples, ``75001 → 75 → FR`` (or ``->``): one, or refused.

    What is tried: periods of the calendar (then it is :class:`Dates`, in any of the usual ways of
    writing a date), intervals of numbers on one grid (:class:`Intervals`), masks
    (:class:`MaskRight`, :class:`MaskLeft`), networks of IP addresses (:class:`Networks`), levels
    of web addresses (:class:`WebAddresses`), parts of codes cut at a separator
    (:class:`CodeParts`, for codes of any length: ``192.168.1.127 → 192.168.1.* → 192.168.*``), and
    the first or last characters of codes, for values of the form of an example: as many
    characters, with letters, digits and signs in the same places. A last label that is the same in
    all examples and no part of the value is the top; otherwise ``*`` is. What no rule explains is
    refused, and so is what two explain (``7575 → 75``: the first two or the last two characters),
    with both in words. ``rule`` tells what was understood. Values of another form are counted and
    refused: give an example of each form.

    Loss and leaves are those of the hierarchy underneath. Examples may be real values, so a
    certificate leaves them out.

    >>> Like("75001 → 75 → FR").paths(["75001", "69", "*"], [1, 1, 1]).rows
    (('75001', '75', 'FR'), ('69', '69', 'FR'), ('*', '*', 'FR'))
    >>> Like(["23 -> 20-29", "8 -> 0-9"]).rule.hierarchy.name
    'intervals'
    """

    examples: Annotated[
        tuple[str, ...],
        BeforeValidator(rows_of),
        Field(min_length=1, description="examples with arrows: value → label → … → top"),
    ]

    name: ClassVar[str] = "like"
    title: ClassVar[str] = "A rule from examples"
    secret: ClassVar[tuple[str, ...]] = ("examples",)
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        infer(self.examples)

    @property
    def rule(self) -> InferredRule:
        """What was understood."""
        return infer(self.examples)

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what the rule does not cover is counted and refused."""
        rule = self.rule
        if rule.top == TOP:
            return rule.hierarchy.paths(values, counts)
        if rule.top in values and TOP in values:
            return _two_tops(rule, values, counts)
        # The top's own name in a cell is read as a suppressed cell, and renamed back below.
        texts = [TOP if value == rule.top else value for value in values]
        return _rename_top(
            rule.hierarchy.paths(texts, counts), rule.top, is_named=rule.top in values
        )


def _rename_top(paths: Paths, top: str, *, is_named: bool) -> Paths:
    """The same paths under a top of another name; cells that hold this name are the top."""
    losses = [dict(level) for level in paths.loss[:-1]]
    leaves = [dict(level) for level in paths.leaves[:-1]]
    below = losses, leaves
    if is_named:
        for level in itertools.chain(*below):
            if TOP in level:
                level[top] = level.pop(TOP)
    rows = tuple(
        (*((top if is_named and label == TOP else label) for label in row[:-1]), top)
        for row in paths.rows
    )
    ends = []
    for table in (paths.loss, paths.leaves):
        for measure in table[-1].values():
            ends.append({top: measure})
    return dataclasses.replace(
        paths, rows=rows, loss=(*below[0], ends[0]), leaves=(*below[1], ends[1])
    )


def _two_tops(rule: InferredRule, values: Sequence[str], counts: Sequence[int]) -> Paths:
    """Paths of a column that holds both the top's own name and a suppressed cell."""
    other_cells = []
    for value, count in zip(values, counts, strict=True):
        if value != rule.top:
            other_cells.append((value, count))
    own_paths = rule.hierarchy.paths([v for v, _ in other_cells], [c for _, c in other_cells])
    paths = _rename_top(own_paths, rule.top, is_named=False)
    inner = [{**level, rule.top: level[TOP]} for level in paths.loss[:-1]]
    leaves = [{**level, rule.top: level[TOP]} for level in paths.leaves[:-1]]
    other_rows = iter(paths.rows)
    rows = tuple(
        (rule.top,) * len(paths.loss) if value == rule.top else next(other_rows) for value in values
    )
    return dataclasses.replace(
        paths, rows=rows, loss=(*inner, paths.loss[-1]), leaves=(*leaves, paths.leaves[-1])
    )


def like(*examples: str) -> Like:
    """The rule that explains examples: ``sf.like("75001 → 75 → FR")``. See :class:`Like`."""
    return Like(examples=examples)
