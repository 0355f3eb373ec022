"""Files and comparison rules as the arrays that the loops of :mod:`sfumato.kernels.linkage` run
over.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.groups import group_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.attacks.crowd import Distinct
    from sfumato.methods.attacks.linkage.files import Files

    Lists = tuple[NDArray[np.int64], NDArray[np.int64]]
    """How long each of some lists is, and all of them one after the other."""
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SQUARE, ABSOLUTE, CATEGORY, GRADED, NEARING = 0, 1, 2, 3, 4
"""Kinds of rules, numbered as :mod:`sfumato.kernels.linkage` does."""
OPEN, MISSING = -1, -2
"""Marks of cells: one that may stand for anything, and one that is missing."""
CONSTANTS = 8
"""Numbers that a rule takes at most; kinds that need fewer leave the others 0."""


@dataclasses.dataclass(frozen=True, eq=False)
class ComparisonRule:
    """How one column is compared: its kind, its constants, and per value or label the numbers of
    its cells.

    ``constants`` are those of :mod:`sfumato.kernels.linkage`. ``intruder`` and ``released`` have
    per code the low end, the high end and half the width to average over; for a category 0, the
    number of other values it may stand for, and what agreeing costs.
    """

    kind: int
    constants: Floats
    intruder: Floats
    released: Floats


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """The distinct records of one file, and per column which codes of the other file agree with
    each of its codes.

    ``numbers`` (record × column × 3) and ``marks`` (record × column) are the cells, ``records`` how
    many rows every record stands for. The codes of all columns are numbered one after the other:
    those of column *k* begin at ``bases[k]``, and code *c* of it agrees with the codes
    ``matches[starts[bases[k] + c]:starts[bases[k] + c + 1]]`` of the other file.
    """

    numbers: Floats
    marks: Ints
    records: Ints
    bases: Ints
    starts: Ints
    matches: Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Arrays:
    """Both sides and the rules of all columns, in the order of ``names``."""

    names: tuple[str, ...]
    kinds: Ints
    constants: Floats
    intruder: Side
    released: Side

    @functools.cached_property
    def files(self) -> kernels.linkage.FileArrays:
        """The arrays of the loops: records of the intruder seek released ones."""
        return self.compare_sides(self.intruder, self.released)

    def compare_sides(self, side: Side, other_side: Side) -> kernels.linkage.FileArrays:
        """The arrays of the loops where records of one side seek those of the other."""
        return kernels.linkage.FileArrays(
            kinds=self.kinds,
            rules=self.constants,
            numbers=side.numbers,
            marks=side.marks,
            bases=side.bases,
            starts=side.starts,
            matches=side.matches,
            other_numbers=other_side.numbers,
            other_marks=other_side.marks,
            other_records=other_side.records,
            other_bases=other_side.bases,
        )

    @functools.cached_property
    def tree(self) -> kernels.record_tree.RecordTree:
        """The tree over the distinct released records, grown once."""
        tree: kernels.record_tree.RecordTree = kernels.record_tree.build_tree(self.files)
        return tree

    @functools.cached_property
    def lowest(self) -> Ints:
        """Per node of the tree the lowest number of its records."""
        lowest: Ints = kernels.record_tree.find_lowest_records(self.tree)
        return lowest

    def costs(self, pairs: Ints) -> Floats:
        """Per pair of distinct records (the intruder's, the released) what each column costs."""
        costs: Floats = kernels.linkage.cost_pairs(pairs, self.files)
        return costs


def arrays_of(files: Files, rules: Sequence[ComparisonRule]) -> Arrays:
    """Put files and rules into arrays; columns that cost most between random records come first, so
    that far records are given up early.
    """
    order = sorted(range(len(rules)), key=lambda k: -_mean_cost(files.released, k, rules[k]))
    columns = [files.columns[k] for k in order]
    ordered_rules = [rules[k] for k in order]
    kinds = [rule.kind for rule in ordered_rules]
    constants = [rule.constants for rule in ordered_rules]
    intruder_cells, released_cells = [], []
    for rule, c in zip(ordered_rules, columns, strict=True):
        intruder_cells.append(
            _numbers_with_marks(rule.intruder, rule.kind, c.open_intruder, c.missing_intruder)
        )
        released_cells.append(
            _numbers_with_marks(rule.released, rule.kind, c.open_released, c.missing_released)
        )
    return Arrays(
        tuple(column.name for column in columns),
        np.array(kinds, dtype=np.int64),
        constants=np.array(constants).reshape(len(ordered_rules), CONSTANTS),
        intruder=_side(
            files.intruder.codes[:, order],
            files.intruder.records,
            intruder_cells,
            [c.intruder_fit for c in columns],
        ),
        released=_side(
            files.released.codes[:, order],
            files.released.records,
            released_cells,
            [c.released_fit for c in columns],
        ),
    )


def _mean_cost(released_records: Distinct, column: int, rule: ComparisonRule) -> float:
    """Roughly what two random cells of a column cost."""
    codes = released_records.codes[:, column]
    amounts = np.bincount(codes, weights=released_records.records)
    shares = amounts / max(1, len(released_records.kind_of))
    # The chance that two random cells differ: 1 less the sum of squared shares.
    differ = 1.0 - float((shares**2).sum())
    cost_of_difference = float(rule.constants[0])
    return differ * cost_of_difference * (2.0 if rule.kind == SQUARE else 1.0)


def _numbers_with_marks(
    numbers: Floats, kind: int, opened: NDArray[np.bool_], missing: NDArray[np.bool_]
) -> tuple[Floats, Ints]:
    """Numbers and marks per code; in a category a missing value is a code like any other."""
    if kind == CATEGORY:
        marks = np.arange(len(numbers))
    else:
        marks = np.where(missing, MISSING, 0)
    return np.nan_to_num(numbers), np.where(opened, OPEN, marks).astype(np.int64)


def _side(
    codes: Ints,
    records: Ints,
    cells: Sequence[tuple[Floats, Ints]],
    matching: Sequence[Lists],
) -> Side:
    cell_numbers = [cell[0][codes[:, k]] for k, cell in enumerate(cells)]
    numbers = np.stack(cell_numbers, axis=1)
    cell_marks = [cell[1][codes[:, k]] for k, cell in enumerate(cells)]
    marks = np.stack(cell_marks, axis=1)
    # Codes of column k have the numbers bases[k] to bases[k + 1] among those of all columns.
    bases = group_starts([len(lengths) for lengths, _ in matching])
    lengths = np.concatenate([lengths for lengths, _ in matching])
    return Side(
        np.ascontiguousarray(numbers),
        np.ascontiguousarray(marks),
        records=records,
        bases=bases,
        starts=group_starts(lengths),
        matches=np.concatenate([flat for _, flat in matching]),
    )
