"""Hierarchies that list their leaves: what makes the list sound, and the paths of values under
it.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Ladder, Paths, bind
from sfumato.core.labels import text_of
from sfumato.core.portable import as_new
from sfumato.errors import OutputError, ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


Row = tuple[str, ...]
SHOWN = 5
"""How many problems of one kind are spelled out."""
Extent = tuple[float, float]
"""Where a node begins and ends on the axis of its column; a leaf begins where it ends."""
EVERYWHERE: Extent = (float("-inf"), float("inf"))
"""The extent of the top."""


class Leaves(Protocol):
    """A sound list of leaf rows."""

    @property
    def total(self) -> int:
        """How many rows there are."""
        ...

    @property
    def depth(self) -> int:
        """How many levels they have."""
        ...

    @property
    def top(self) -> str:
        """The label that ends all of them."""
        ...

    def nodes(self, labels: Sequence[str]) -> dict[str, Row]:
        """The paths of those labels that the list has, and maybe of others: where one occurs on
        several levels the lowest counts.
        """
        ...

    def counts(self, labels: Sequence[str]) -> list[dict[str, float]]:
        """Per level how many rows each label has, at least for those on the paths of these labels,
        and for the top.
        """
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class LeafRows(Leaves):
    """Rows as they are written."""

    rows: Sequence[Row]

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def depth(self) -> int:
        """How many levels they have."""
        return len(self.rows[0])

    @property
    def top(self) -> str:
        """The label that ends all of them."""
        return self.rows[0][-1]

    def nodes(self, labels: Sequence[str]) -> dict[str, Row]:
        """Every label of the list with the path it has as a value."""
        # Leaves first, then upwards: where a label is on several levels the lowest counts.
        paths = {row[0]: row for row in self.rows}
        for level in range(1, self.depth):
            for row in self.rows:
                if row[level] not in paths:
                    paths[row[level]] = (row[level],) * level + row[level:]
        return paths

    def counts(self, labels: Sequence[str]) -> list[dict[str, float]]:
        """Per level how many rows each label has."""
        return [dict(Counter(row[level] for row in self.rows)) for level in range(self.depth)]


@dataclasses.dataclass(frozen=True, eq=False)
class LeafColumns(Leaves):
    """Many rows, level by level: nothing is done row by row but for the labels that are asked for.

    ``levels[j][i]`` is the label of row *i* on level *j*, ``codes[j][i]`` its number there.
    """

    levels: tuple[pl.Series, ...]
    codes: tuple[Ints, ...]

    @classmethod
    def sound(cls, levels: Sequence[pl.Series]) -> LeafColumns | None:
        """The list, or None where :func:`require_sound` finds something wrong with it."""
        # Dense ranks number the labels of a level 0, 1, …; equal labels have equal numbers.
        codes = tuple(level.rank("dense").to_numpy().astype(np.int64) - 1 for level in levels)
        if len(levels) < 2 or not len(codes[-1]) or codes[-1].any():
            return None
        # Every label has one parent: writing the parents and reading them back must change nothing.
        for below, above in itertools.pairwise(codes):
            parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
            parent[below] = above
            if not np.array_equal(parent[below], above):
                return None
        return cls(tuple(levels), codes)

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self.levels[0])

    @property
    def depth(self) -> int:
        """How many levels they have."""
        return len(self.levels)

    @property
    def top(self) -> str:
        """The label that ends all of them."""
        return str(self.levels[-1][0])

    def nodes(self, labels: Sequence[str]) -> dict[str, Row]:
        """The paths of those labels that the list has."""
        paths: dict[str, Row] = {}
        for level, positions in self._leaf_rows(labels).items():
            above = [column.gather(positions).to_list() for column in self.levels[level:]]
            paths_of_level = {row[0]: row[:1] * level + row for row in zip(*above, strict=True)}
            paths.update(paths_of_level)
        return paths

    def counts(self, labels: Sequence[str]) -> list[dict[str, float]]:
        """Per level how many rows the labels on the paths of these have."""
        totals: list[dict[str, float]] = [{} for _ in self.levels]
        totals[-1][self.top] = self.total
        for own, positions in self._leaf_rows(labels).items():
            for level in range(own, self.depth - 1):
                codes = self.codes[level]
                # Rows below each node of the level, looked up for the nodes that are asked for.
                rows = np.bincount(codes)[codes[positions]].tolist()
                labels_at = self.levels[level].gather(positions)
                totals[level].update(zip(labels_at.to_list(), rows, strict=True))
        return totals

    def ladder(self, values: Sequence[str], *, missing: bool) -> Ladder | None:
        """The ladder of values all of which are leaves of the list, made level by level; None where
        one is not.

        The rows of the values are sorted from the top down, so that those below one node are
        neighbours on every level.
        """
        positions = self._leaf_rows(values).get(0, np.empty(0, dtype=np.int64))
        if not len(values) or len(positions) < len(values) or self.total < 2:
            return None
        # The last key sorts first: by the top, then down to the leaves.
        order = np.lexsort([codes[positions] for codes in self.codes])
        rows = positions[order]
        parts = [self._rung(level, rows) for level in range(self.depth)]
        # A missing value stays missing on all levels but the top.
        gap = [missing and level < self.depth - 1 for level in range(self.depth)]
        ups = [parts[level + 1][0][first] for level, (_, first, _) in enumerate(parts[:-1])]
        names = []
        for level, (_, first, _) in enumerate(parts):
            names.append(self.levels[level].gather(rows[first]).to_list())
        counts = [leaves for _, _, leaves in parts]
        return Ladder(
            labels=tuple(
                (*entries, None) if blank else tuple(entries)
                for entries, blank in zip(names, gap, strict=True)
            ),
            up=tuple(
                np.append(up, up.max() + gap[i + 1]) if gap[i] else up for i, up in enumerate(ups)
            ),
            leaves=tuple(
                np.append(entries, 1.0) if blank else entries
                for entries, blank in zip(counts, gap, strict=True)
            ),
            loss=tuple(
                np.append(lost, 0.0) if blank else lost
                for lost, blank in zip(
                    [(entries - 1.0) / (self.total - 1.0) for entries in counts], gap, strict=True
                )
            ),
            # places are in the order of labels
            bound=(np.argsort(order) if text_of(values).is_sorted() else None),
        )

    def _rung(self, level: int, rows: Ints) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """The code of every row on a level, the first row that has each, and how many leaves are
        below each.
        """
        own = self.codes[level][rows]
        begins = np.append(True, own[1:] != own[:-1])
        first = np.flatnonzero(begins)
        leaves = np.ones(len(first))
        # On level 0 a value is one leaf, even if its row is repeated.
        if level:
            leaves[:] = np.bincount(self.codes[level])[own[first]]
        return np.cumsum(begins) - 1, first, leaves

    def _leaf_rows(self, labels: Sequence[str]) -> dict[int, Ints]:
        """By the lowest level that has labels: one row for each of them."""
        missing = text_of(labels)
        positions = {}
        for level, column in enumerate(self.levels):
            rows = column.is_in(missing.implode()).arg_true().to_numpy()
            if len(rows):
                # One row for each label: all rows of a label have the same path above it.
                first = np.unique(self.codes[level][rows], return_index=True)[1]
                positions[level] = rows[first].astype(np.int64)
                present = column.gather(positions[level]).implode()
                missing = missing.filter(~missing.is_in(present))
            if not len(missing):
                break
        return positions


def paths_under(
    leaves: Leaves, values: Sequence[str], source: str, other: str | None = None
) -> Paths:
    """Paths of values under listed leaves; ``other`` adopts the values that are not listed.

    A value may be any node of the list; where a label occurs on several levels the lowest counts.
    The label ``*`` (a suppressed cell) is always understood as the top.
    """
    texts = [*values, *([] if other is None else [other])]
    paths = leaves.nodes(texts)
    inner = leaves.depth - 1
    # A suppressed cell is known to every list, whether it is written there or not.
    paths.setdefault(TOP, (TOP,) * inner + (leaves.top,))
    listed = None if other is None else paths.get(other)
    if other is not None and listed is None:
        paths[other] = (other,) * inner + (leaves.top,)
    adopted = _adopt_values(
        [v for v in values if v not in paths], len(values), paths, source, other
    )
    if other is not None and listed is None and not adopted and other in values:
        adopted[other] = paths[other]  # nothing below it is known: it is a leaf like the others
    rows = [adopted.get(v) or paths[v] for v in values]
    counts = leaves.counts(texts)
    # An adopted value is a leaf more under all labels of its path.
    for row in adopted.values():
        for count, label in zip(counts, row, strict=True):
            count[label] = count.get(label, 0.0) + 1.0
    return Paths.from_counts(rows, counts, leaves.total + len(adopted))


def _adopt_values(
    uncovered: list[str], total: int, paths: dict[str, Row], source: str, other: str | None
) -> dict[str, Row]:
    if uncovered and other is None:
        raise SchemaError(
            f"{source}: {len(uncovered)} of {total} distinct values are not covered; add them to"
            " the hierarchy, give other='…' to put them under one label below the top, or use"
            " another hierarchy"
        )
    return {value: (value, *paths[str(other)][1:]) for value in uncovered}


def require_other_below_top(other: str | None, top: str) -> None:
    """Raise when the catch-all is the top itself."""
    if other == top:
        raise SchemaError("other must be a label below the top, not the top itself")


def require_sound(rows: Sequence[Row], source: str, row_label: Callable[[int], str]) -> None:
    """Raise one error with all that is wrong with a list of leaf rows.

    ``row_label`` says where row *i* is written: ``line 7`` of a file, ``row 7`` of a table. Rows
    that repeat another one are fine.
    """
    if not rows:
        raise SchemaError(
            f"{source} is empty; write one row for each value: the value, its coarser values, one"
            " common top"
        )
    problems = _uneven(rows, source, row_label)
    if not problems and len(rows[0]) == 1:
        needs = "each needs at least a value and the top"
        remedy = (
            "if a file has more levels, give the sign between them: delimiter: ',' (by default ';')"
        )
        problems = [f"{source}: rows have one level only; {needs}; {remedy}"]
    # Parents and tops are looked at only where all rows have as many levels.
    problems = problems or _nodes_with_two_parents(rows, source, row_label) + _several_tops(
        rows, source, row_label
    )
    if problems:
        raise SchemaError(problems)


def _uneven(rows: Sequence[Row], source: str, row_label: Callable[[int], str]) -> list[str]:
    depth = len(rows[0])
    wrong = [i for i, row in enumerate(rows) if len(row) != depth]
    problems = []
    for i in wrong[:SHOWN]:
        problems.append(
            f"{source}, {row_label(i)}: has {len(rows[i])} levels where {row_label(0)} has {depth};"
            " give all rows as many levels (repeat the value on the levels where it does not"
            " change)"
        )
    return problems + _count_hidden_problems(wrong, source)


def _nodes_with_two_parents(
    rows: Sequence[Row], source: str, row_label: Callable[[int], str]
) -> list[str]:
    """Nodes with two different parents."""
    problems = []
    for level in range(len(rows[0]) - 1):
        first: dict[str, int] = {}
        clashes = []
        for i, row in enumerate(rows):
            if rows[first.setdefault(row[level], i)][level + 1] != row[level + 1]:
                clashes.append((first[row[level]], i))
        sentences = []
        for i, j in clashes[:SHOWN]:
            sentences.append(
                f"{source}, {row_label(i)} and {row_label(j)}: the same label of level {level}"
                f" stands under two different labels of level {level + 1}; every label needs one"
                " parent, so correct one of the rows"
            )
        problems += sentences + _count_hidden_problems(clashes, source)
    return problems


def _several_tops(rows: Sequence[Row], source: str, row_label: Callable[[int], str]) -> list[str]:
    tops = {row[-1] for row in rows}
    if len(tops) == 1:
        return []
    second = next(i for i, row in enumerate(rows) if row[-1] != rows[0][-1])
    where = f"the first two on {row_label(0)} and {row_label(second)}"
    cure = f"add a last level with the same label in every row, such as {TOP}"
    return [
        f"{source}: the last level must be one single value, it has {len(tops)}, {where}; {cure}"
    ]


def _count_hidden_problems(wrong: Sequence[object], source: str) -> list[str]:
    hidden_problems = len(wrong) - SHOWN
    if hidden_problems <= 0:
        return []
    return [f"{source}: {hidden_problems} more problems of this kind"]


# Counting leaves and loss for hierarchies that are rules: only the values that occur are known.


def category_paths(rows: Sequence[tuple[str, ...]], own: Sequence[int], depth: int) -> Paths:
    """Paths with the loss of categories, ``(leaves−1)/(all leaves−1)``, from the values that occur.

    ``own[i]`` is the level of the node that value *i* is: 0 for an original value. A column without
    values has the depth of the rule and its top, and nothing else.
    """
    if not rows:
        empty: tuple[dict[str, float], ...] = tuple({} for _ in range(depth - 1))
        return Paths((), (*empty, {TOP: 1.0}), (*empty, {TOP: 1.0}))
    return Paths.from_leaf_rows(rows, leaf_rows(rows, own))


def extent_paths(
    rows: Sequence[tuple[str, ...]],
    own: Sequence[int],
    extents: Sequence[Mapping[str, Extent]],
    domain: Extent | None,
) -> Paths:
    """Paths with the loss of numbers and dates: the extent inside the domain over the width of the
    domain.

    ``extents[level]`` has the extent of every label below the top that is not a leaf; a leaf has
    none and loses nothing. The top has loss 1, unless the domain is a single point: then nothing
    can be lost. ``None`` for a
    domain: no value says where it lies.
    """
    loss = [{label: _share(extent, domain) for label, extent in level.items()} for level in extents]
    loss.append({TOP: _share(EVERYWHERE, domain)})
    # Leaves have no extent: nothing is lost by them.
    for row in rows:
        loss[0].setdefault(row[0], 0.0)
    return dataclasses.replace(
        category_paths(rows, own, len(loss)), loss=tuple(loss), measured=True
    )


def _share(span: Extent, domain: Extent | None) -> float:
    if domain is None:
        return 1.0
    low, high = domain
    # Open ends reach beyond the domain; only what lies inside it can be lost.
    inside = min(span[1], high) - max(span[0], low)
    if not (high > low):
        return 0.0
    return max(0.0, inside / (high - low))


def leaf_rows(rows: Sequence[tuple[str, ...]], own: Sequence[int]) -> list[tuple[str, ...]]:
    """The rows of values with nothing finer below them; an inner node alone is as fine as the
    column gets.

    >>> leaf_rows(
    ...     [("53711", "5371*", "*"), ("5371*", "5371*", "*"), ("5399*", "5399*", "*")], [0, 1, 1]
    ... )
    [('53711', '5371*', '*'), ('5399*', '5399*', '*')]
    """
    pairs = list(zip(rows, own, strict=True))
    if rows:
        top = len(rows[0]) - 1
    else:
        top = 0
    finer = {}
    for level in set(own):
        if 0 < level < top:
            finer[level] = {row[level] for row, lower in pairs if lower < level}
    return [
        row for row, level in pairs if not level or (level < top and row[level] not in finer[level])
    ]


# What the fields of all hierarchies are made of: labels and numbers.


def label_text(value: object) -> str:
    """A label as text; whole numbers may be written without quotes, other things may not.

    >>> label_text(7)
    '7'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"labels must be text; put quotes around this {type(value).__name__}")


def finite(value: object) -> int | float:
    """A finite number, or a ValueError that says so."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Label = Annotated[str, BeforeValidator(label_text)]


Number = Annotated[int | float, BeforeValidator(finite)]


PositiveNumber = Annotated[int | float, BeforeValidator(finite), Field(gt=0)]


Catch = Annotated[
    Label | None,
    Field(description="label below the top that adopts the values the hierarchy does not list"),
]


class CatchesOthers(Hierarchy):
    """A hierarchy of listed values, whose field ``other`` adopts the rest."""

    other: str | None

    @property
    def catch_all(self) -> str | None:
        """The label that values get which are not listed."""
        return self.other

    def adopting(self, label: str) -> Hierarchy | None:
        """The same hierarchy with this label for values that are not listed; None where it takes
        none.
        """
        try:
            return dataclasses.replace(self, other=label)  # type: ignore[type-var]
        except ParameterError:  # ages are numbers: nothing else can be among them
            return None


# Writing a hierarchy down, in the format of ARX.


def write_hierarchy(
    hierarchy: Hierarchy | Ladder,
    values: Sequence[str | None],
    path: str | Path,
    *,
    counts: Sequence[int] | None = None,
    delimiter: str = ";",
    encoding: str = "utf-8",
) -> Path:
    """Write the paths of some values as a file of ARX's format: one row per value, from the value
    to the top.

    Missing values are left out. ``counts`` says how often each value occurs, for hierarchies that
    depend on it; without it all count the same. The file appears whole or not at all.
    """
    if isinstance(hierarchy, Ladder):
        ladder = hierarchy
    else:
        ladder = bind(hierarchy, values, counts or [1] * len(values))
    rows = list(_rows(ladder, values))
    target = Path(path)
    try:
        _replace(target, rows, delimiter, encoding)
    except UnicodeEncodeError:
        raise OutputError(
            f"{target.name!r} cannot hold all labels in {encoding}; use encoding='utf-8'"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{str(target)!r} cannot be written: {error.strerror or type(error).__name__}"
        ) from None
    return target


def _rows(ladder: Ladder, values: Sequence[str | None]) -> Iterator[tuple[str, ...]]:
    """The paths of the values, in the order of the ladder: siblings stand together."""
    distinct = {value for value in values if value is not None}
    absent = len(distinct.difference(ladder.labels[0]))
    if absent:
        raise SchemaError(
            f"{absent} of {len(distinct)} values are not in the hierarchy; bind it to them first"
        )
    climbs = [ladder.climb(0, level).tolist() for level in range(ladder.depth)]
    for code, value in enumerate(ladder.labels[0]):
        if value in distinct:
            yield tuple(
                str(ladder.labels[level][climb[code]]) for level, climb in enumerate(climbs)
            )


def _replace(target: Path, rows: Sequence[tuple[str, ...]], delimiter: str, encoding: str) -> None:
    # Beside the target, so that replacing it is one step on the same file system.
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "w", encoding=encoding, newline="") as stream:
            csv.writer(
                stream, delimiter=delimiter, lineterminator="\n", quoting=_quoting(rows)
            ).writerows(rows)
        as_new(Path(temporary))
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _quoting(rows: Sequence[tuple[str, ...]]) -> Literal[0, 1]:
    """Quote everything where a label holds what a reader takes for a line end or a byte order
    mark.
    """
    strange = any(mark in label for row in rows for label in row for mark in ("\r", "\ufeff"))
    return csv.QUOTE_ALL if strange else csv.QUOTE_MINIMAL
