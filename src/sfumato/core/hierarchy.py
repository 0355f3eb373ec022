"""Generalization hierarchies: a value, and the coarser values above it.

A *hierarchy* is a rule or a table that gives every value a path from itself (level 0) to one single
top value. A *ladder* is a hierarchy bound to the values that occur in one column: per level the
labels and an integer map to the level above, which is all that counting and searching need.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from sfumato.core.encoding import Encoded
from sfumato.core.labels import Labels, TextLabels, positions_in, without_missing
from sfumato.core.narrow_numbers import narrowed, repeated, widened
from sfumato.errors import InternalError, SchemaError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TOP = "*"
"""The label of the top of a built hierarchy."""


@dataclasses.dataclass(frozen=True)
class Paths:
    """What a hierarchy says about a list of values.

    ``rows[i]`` is the path of value *i*: its label at level 0, 1, …, top; all rows have the same
    length and the same last label. A value that is itself an inner node of level *j* repeats itself
    on levels 0…j. ``leaves[level][label]`` counts the leaf values the hierarchy has below a node (1
    for a leaf), at least for the labels of the rows; ``loss[level][label]`` is Iyengar's loss of
    the node: 0 for a leaf, 1 for the top, ``(leaves−1)/(all leaves−1)`` for categories and
    ``width/range`` for numbers and dates; ``measured`` tells which.
    """

    rows: tuple[tuple[str, ...], ...]
    leaves: tuple[Mapping[str, float], ...]
    loss: tuple[Mapping[str, float], ...]
    measured: bool = False

    @classmethod
    def from_leaf_rows(
        cls, rows: Sequence[tuple[str, ...]], leaf_rows: Sequence[tuple[str, ...]]
    ) -> Paths:
        """Paths of values under an explicit tree; ``leaf_rows`` has one path per leaf of the
        hierarchy.

        A label the leaves do not have on a level is an inner node below its own level (or a
        suppressed cell): it covers what stands above it in its row. A leaf listed twice counts
        twice above level 0, as in ARX. Without any leaf all is lost.
        """
        if leaf_rows:
            depth = len(leaf_rows[0])
        else:
            depth = len(rows[0])
        counts: list[dict[str, float]] = []
        for level in range(depth):
            counts.append(dict(Counter(row[level] for row in leaf_rows)))
        return cls.from_counts(rows, counts, len(leaf_rows))

    @classmethod
    def from_counts(
        cls, rows: Sequence[tuple[str, ...]], counts: Sequence[Mapping[str, float]], total: int
    ) -> Paths:
        """The same from ``counts[level][label]``, how many of the ``total`` leaves stand under a
        label.

        Labels that no row has may be left out, but for the top.
        """
        # On level 0 a leaf counts once, however often it is listed.
        leaves = [dict.fromkeys(counts[0], 1.0), *(dict(level) for level in counts[1:])]
        for row in rows:
            # What follows is for inner nodes that stand as values in the table.
            if row[0] in leaves[0]:
                continue
            leaves[-1].setdefault(row[-1], 1.0)
            # From the top down: a label that no leaf has covers as much as the one above it.
            for level in range(len(leaves) - 2, -1, -1):
                if row[level] not in leaves[level]:
                    leaves_above = leaves[level + 1]
                    leaves[level][row[level]] = leaves_above[row[level + 1]]
        loss: list[dict[str, float]] = []
        for level_leaves in leaves:
            if total > 1:
                # With n leaves a leaf loses (1 - 1) / (n - 1) = 0 and the top (n - 1) / (n - 1) =
                # 1.
                shares = {label: (n - 1.0) / (total - 1.0) for label, n in level_leaves.items()}
                loss.append(shares)
            else:
                loss.append(dict.fromkeys(level_leaves, 0.0 if total else 1.0))
        return cls(tuple(rows), tuple(leaves), tuple(loss))


@dataclasses.dataclass(frozen=True, eq=False)
class JointCounts:
    """How often the values of two columns come together: ``counts[i]`` records have value
    ``own[i]`` here and ``other[i]`` there.

    Codes are those of ``values`` and ``others``, which are sorted, missing last (None).
    """

    values: tuple[str | None, ...]
    others: tuple[str | None, ...]
    own: NDArray[np.int64]
    other: NDArray[np.int64]
    counts: NDArray[np.int64]


@runtime_checkable
class Fixed(Protocol):
    """A hierarchy that says whether the path of a value depends on that value alone, and not on the
    others that occur.
    """

    fixed: ClassVar[bool]


def is_fixed(hierarchy: Hierarchy | None) -> bool:
    """Whether a hierarchy was fixed before the data were seen; one that does not say so was not."""
    declared: object = hierarchy
    return isinstance(declared, Fixed) and declared.fixed


class Hierarchy(Protocol):
    """A rule that gives values their paths. Frozen, validated, written in a recipe under its
    ``name``.

    Hierarchies inherit this class: ``paths`` is theirs to write, the rest has a default.
    """

    name: ClassVar[str]
    secret: ClassVar[tuple[str, ...]] = ()
    """Fields that list data values or name a file; a certificate leaves out a hierarchy that has
    any.
    """
    learns: ClassVar[bool] = False
    """Whether it is fitted to the records of the table, other columns among them: then no ε is
    certified.
    """
    title: ClassVar[str] = ""
    """What people call this kind of hierarchy; empty: its name in words."""
    by_hand: ClassVar[Literal["yes", "as a list", "no"]] = "no"
    """Whether values can be moved between its groups by hand: ``yes`` where it lists the path of
    every value, ``as a list`` where it can be written down as such a list, ``no`` for a rule.
    """

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values of a column (``counts``: how often each occurs).

        Raises :class:`SchemaError` when a value is not covered; the message counts the values and
        never shows one.
        """
        ...

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The least and the greatest number that it takes; None: there is no such end."""
        return None, None

    def settled(self, value: str) -> str:
        """The value that stands for this one where labels may not depend on the other values that
        occur (:class:`ValueByValue`).
        """
        return value

    def listed(self) -> tuple[str, ...] | None:
        """The values that it lists, each once, whether they occur or not; None from one that is a
        rule.
        """
        return None

    @property
    def catch_all(self) -> str | None:
        """The label that it puts values under which it does not list; None: it refuses them."""
        return None

    def adopting(self, label: str) -> Hierarchy | None:
        """The same hierarchy with ``label`` as its :attr:`catch_all`; None from one that cannot
        have any.
        """
        return None

    def level_name(self, level: int, top: int) -> str:
        """What a level between the values and the top is called: ``month``, ``width 10``; empty:
        it has no name.
        """
        return ""

    @classmethod
    def from_values(cls, counts: Mapping[str, int]) -> Hierarchy | None:
        """A first hierarchy of this kind for values that occur so often; None where the values do
        not tell what it needs.
        """
        return None

    @classmethod
    def from_paths(cls, rows: Sequence[tuple[str, ...]], other: str | None) -> Hierarchy | None:
        """The hierarchy of this kind that has these paths, from the value to the top; None from a
        rule, and where they cannot be written so.
        """
        return None

    def ladder(self, values: Sequence[str], *, missing: bool) -> Ladder | None:
        """The ladder that the paths of these values make, of a hierarchy that makes it at once;
        None from any other.

        ``missing`` tells whether some cells have no value.
        """
        return None

    def of_height(self, top: int) -> Hierarchy:
        """The same hierarchy whose top is this level, of one with more or fewer levels as its
        values ask for; any other has what it has.
        """
        return self

    def day_of(self, value: str) -> float | None:
        """The day (since 1970) that a value means, of a hierarchy that alone knows how its dates
        are written; None from any other.
        """
        return None

    @property
    def learns_from(self) -> str | None:
        """The column that must be seen beside its own before paths are known; None for most, and
        once it was seen.
        """
        return None

    def fitted(self, together: JointCounts) -> Hierarchy:
        """The hierarchy with what it learnt from the column it names."""
        return self

    def resolved(self, base: Path) -> Hierarchy:
        """The hierarchy that a recipe in the folder ``base`` means: files it names are found from
        there.
        """
        return self

    def relative(self, base: Path) -> Hierarchy:
        """The hierarchy as a recipe in the folder ``base`` would write it: the inverse
        of :meth:`resolved`.
        """
        return self


@runtime_checkable
class ReadsCharacters(Protocol):
    """A hierarchy that reads codes character by character, and must not meet numbers that lost
    their leading zeros.
    """

    name: ClassVar[str]

    def too_short(self, values: Sequence[str]) -> int:
        """How many values are shorter than the codes are."""
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class Ladder:
    """A hierarchy bound to the values of one column.

    ``labels[level][code]`` is what is released (None for missing); ``up[level][code]`` is the code
    one level higher; ``leaves``, ``loss`` and ``measured`` are per level and code as
    in :class:`Paths`. Codes are ordered so that every ``up`` is non-decreasing: values under one
    node are neighbours on every level. A missing value stays missing below the top and is
    generalised to the top with the others.
    """

    labels: tuple[Labels, ...]
    up: tuple[NDArray[np.int64], ...]
    leaves: tuple[NDArray[np.float64], ...]
    loss: tuple[NDArray[np.float64], ...]
    measured: bool = False
    bound: NDArray[np.int64] | None = None
    """The code of each value that was given, missing left out, where whoever made the ladder at
    once knew it.
    """
    mean_log_count: float | None = None
    """Of a ladder of some values of a column: the mean over all records of log2 of how many share
    their value; else None.
    """
    counted_at: int = 0
    """The level at which a table was generalised before it was counted: a value stands for all
    under its label there.
    """
    _climbs: dict[tuple[int, int], NDArray[np.integer]] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _codes: list[tuple[Labels, NDArray[np.int64]]] = dataclasses.field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def depth(self) -> int:
        """Number of levels, the original values included."""
        return len(self.labels)

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.labels) - 1

    def codes_of(self, labels: Labels) -> NDArray[np.int64]:
        """The code on level 0 of each label, −1 where it has none; looked up once for each list of
        labels.
        """
        # By identity: comparing a million labels would cost as much as looking them up.
        for known_labels, codes in self._codes:
            if known_labels is labels:
                return codes
        codes = positions_in(self.labels[0], labels)
        self._codes.append((labels, codes))
        return codes

    def remember(self, labels: Labels, codes: NDArray[np.int64]) -> None:
        """Keep the code of each of these labels, for whoever asks for them again."""
        self._codes.append((labels, codes))

    def climb(self, start: int, end: int) -> NDArray[np.int64]:
        """Map from the codes of level ``start`` to those of level ``end``.

        Long maps are remembered in the narrowest type and widened for whoever asks: a million
        values under ten nodes take one byte each instead of eight.
        """
        if (start, end) in self._climbs:
            return widened(self._climbs[start, end])
        if not 0 <= start <= end < len(self.labels):
            raise InternalError(
                f"there is no way up from level {start} to level {end} of {self.top}"
            )
        if start == end:
            return np.arange(len(self.labels[start]), dtype=np.int64)
        if start + 1 == end:
            return self.up[start]
        # the way up to the level below is mostly asked for as well
        codes = self.up[end - 1][self.climb(start, end - 1)]
        self._climbs[start, end] = narrowed(codes, len(self.labels[end]))
        return codes

    def forget_climbs(self) -> None:
        """Give up the maps between levels that were asked for; of millions of values each is as
        long as the column.
        """
        self._climbs.clear()


def all_or_nothing(ladder: Ladder) -> Ladder:
    """A ladder of two levels: the values as they are, and one single value above them that loses
    everything.
    """
    count = len(ladder.labels[0])
    own_codes = np.zeros(count, dtype=np.int64)
    all_leaves = np.array([float(count)])
    return Ladder(
        labels=(ladder.labels[0], (TOP,)),
        up=(own_codes,),
        leaves=(ladder.leaves[0], all_leaves),
        loss=(ladder.loss[0], np.ones(1)),
    )


def ends_of(ladder: Ladder) -> Ladder:
    """A ladder with nothing between its lowest and its highest level."""
    if ladder.top < 2:
        return ladder
    return Ladder(
        labels=(ladder.labels[0], ladder.labels[-1]),
        up=(ladder.climb(0, ladder.top),),
        leaves=(ladder.leaves[0], ladder.leaves[-1]),
        loss=(ladder.loss[0], ladder.loss[-1]),
        measured=ladder.measured,
    )


def bind(
    hierarchy: Hierarchy | None, values: Labels, counts: Sequence[int] | NDArray[np.int64]
) -> Ladder:
    """Bind a hierarchy to the distinct values of a column, given in any order (None: missing).

    Without a hierarchy the ladder has one level: the column can be judged but not generalised. Code
    *i* of level 0 is **not** value *i*: look it up in ``labels[0]``.
    """
    if hierarchy is None:
        return _single(values)
    present = without_missing(values)
    missing = len(present) < len(values)
    ladder = hierarchy.ladder(present, missing=missing)
    if ladder is not None:
        # the missing one is the last, here and there
        if ladder.bound is not None and isinstance(values, TextLabels):
            ladder.remember(
                values, np.append(ladder.bound, len(present)) if missing else ladder.bound
            )
        return ladder
    every = counts.tolist() if isinstance(counts, np.ndarray) else counts
    amounts = [c for v, c in zip(values, every, strict=True) if v is not None]
    return _ladder(hierarchy.paths(list(present), amounts), missing=missing)


def bind_column(hierarchy: Hierarchy | None, encoded: Encoded) -> Ladder:
    """Bind a hierarchy to the values of a column; done once, however many ask for it."""
    for owner, ladder in encoded.ladders:
        if owner is hierarchy:
            return ladder  # type: ignore[no-any-return]
    ladder = bind(hierarchy, encoded.labels, encoded.counts)
    encoded.ladders.append((hierarchy, ladder))
    return ladder


def _single(values: Labels) -> Ladder:
    """The ladder of one level: every value is its own."""
    # Labels that are sorted already are the codes; nothing is copied.
    if isinstance(values, TextLabels) and values.series.is_sorted(nulls_last=True):
        return Ladder((values,), (), (repeated(1, len(values)),), (repeated(0, len(values)),))
    present = sorted(dict.fromkeys(v for v in values if v is not None))
    labels = (*present, *([None] if None in values else []))
    return Ladder((labels,), (), (np.ones(len(labels)),), (np.zeros(len(labels)),))


def _ladder(paths: Paths, *, missing: bool) -> Ladder:
    """The ladder of these paths, its codes in the order of the labels from the top down."""
    depth = len(paths.leaves)
    # By the label at the top first, then downwards: values under one node become neighbours.
    rows: list[tuple[str | None, ...]] = sorted(paths.rows, key=lambda row: row[::-1])
    top = next(iter(paths.leaves[-1]), TOP)
    if missing:
        # Missing on all levels but the top, where it becomes what all others become.
        rows.append((None,) * (depth - 1) + (top,) if depth > 1 else (None,))
    if rows:
        columns: list[Sequence[str | None]] = list(zip(*rows, strict=True))
    else:
        columns = [()] * depth
    # Codes are given in the order in which labels first come.
    codes = []
    for column in columns:
        distinct = dict.fromkeys(column)
        codes.append({label: code for code, label in enumerate(distinct)})
    # The code one level higher of every code, from the labels that stand above one another.
    ups = []
    for level in range(depth - 1):
        parents = dict(zip(columns[level], columns[level + 1], strict=True))
        above = []
        for label in codes[level]:
            above.append(codes[level + 1][parents[label]])
        ups.append(np.array(above, dtype=np.int64))
    # A missing value loses nothing below the top, where it becomes what all others become.
    leaves, losses = [], []
    for level, labels in enumerate(codes):
        if level == depth - 1 and depth > 1:
            lost = 1.0
        else:
            lost = 0.0
        below, loss = paths.leaves[level], paths.loss[level]
        counts = []
        for label in labels:
            if label is None:
                counts.append(1.0)
            else:
                counts.append(below.get(label, 1.0))
        costs = []
        for label in labels:
            if label is None:
                costs.append(lost)
            else:
                costs.append(loss.get(label, 1.0))
        leaves.append(np.array(counts, dtype=np.float64))
        losses.append(np.array(costs, dtype=np.float64))
    return Ladder(
        labels=tuple(tuple(level) for level in codes),
        up=tuple(ups),
        leaves=tuple(leaves),
        loss=tuple(losses),
        measured=paths.measured,
    )


def require_single_parents(rows: Sequence[tuple[str, ...]], title: str) -> None:
    """Raise when a node has two different parents, or when there is more than one top."""
    problems = []
    depth = len(rows[0]) if rows else 0
    for level in range(depth - 1):
        parents: dict[str, str] = {}
        torn = {
            row[level]
            for row in rows
            # The first parent that is met is kept; a second one for the same node tears it.
            if parents.setdefault(row[level], row[level + 1]) != row[level + 1]
        }
        if torn:
            problem = (
                f"{title}: {len(torn)} node(s) of level {level} have more than one parent on level"
                f" {level + 1}"
            )
            problems.append(problem)
    tops = {row[-1] for row in rows}
    if len(tops) > 1:
        problems.append(f"{title}: the top level must be one single value, but it has {len(tops)}")
    if problems:
        raise SchemaError(problems)


# Labels that follow from the value and the recipe alone.

PROBES = ("0", "1", "2000-01-01", "A00", "a", "00000", "10.0.0.1")
"""Values that rules such as intervals, dates, masks and networks know, to ask one how many levels
it has without any data.
"""


class ValueByValue:
    """A hierarchy that is asked for one value at a time: no label depends on which other values
    occur.

    A value that the hierarchy does not know has no label below the top, as a missing one has none.
    A hierarchy that lists its values has fixed paths, and is asked for many of them at once:
    binding it takes as long as its list.
    """

    def __init__(self, hierarchy: Hierarchy, values: Sequence[str | None] = ()) -> None:
        self.hierarchy = hierarchy
        self._paths: dict[str, tuple[str, ...] | None] = {}
        listed = hierarchy.listed()
        if listed is not None:
            self._learn([value for value in dict.fromkeys(values) if value is not None])
        # The height is that of any path: of a listed value, which is surely known, or of a probe.
        paths = [
            path
            for value in (*(listed or ())[:1], *PROBES)
            if (path := self._path(value)) is not None
        ]
        if paths:
            self.top: int | None = len(paths[0]) - 1
        else:
            self.top = None
        self._highest = paths[0][-1] if paths else TOP

    def knows(self, value: str) -> bool:
        """Whether the value has a place in the hierarchy."""
        return self._path(value) is not None

    def label(self, value: str | None, level: int) -> str | None:
        """The label of a value on a level; None: it is missing there."""
        if level == 0:
            return value
        path = None if value is None else self._path(value)
        if path is not None:
            return path[min(level, len(path) - 1)]
        if self.top is not None and level >= self.top:
            return self._highest
        return None

    def _path(self, value: str) -> tuple[str, ...] | None:
        """The labels of a value from level 0 to the top, as if no other value occurred; None: the
        hierarchy does not know it.
        """
        if value not in self._paths:
            self._learn([value])
        return self._paths[value]

    def _learn(self, values: list[str]) -> None:
        """Find the paths of values together; where the hierarchy does not know one of them, of each
        half by itself.
        """
        if not values:
            return
        settled = [self.hierarchy.settled(value) for value in values]
        try:
            # Each counts once: no label may depend on how often a value occurs.
            ladder = bind(self.hierarchy, list(dict.fromkeys(settled)), [1] * len(set(settled)))
        except SchemaError:
            if len(values) == 1:
                self._paths[values[0]] = None
                return
            middle = len(values) // 2
            self._learn(values[:middle])
            self._learn(values[middle:])
            return
        codes = {label: code for code, label in enumerate(ladder.labels[0])}
        climbs = [ladder.climb(0, level) for level in range(ladder.depth)]
        for value, text in zip(values, settled, strict=True):
            code = codes[text]
            levels = zip(ladder.labels, climbs, strict=True)
            self._paths[value] = tuple(str(labels[climb[code]]) for labels, climb in levels)
