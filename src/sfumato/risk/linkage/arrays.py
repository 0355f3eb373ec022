"""Files and a rule of comparison as the arrays that the loops of :mod:`sfumato.kernels.linkage_costs` run over."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.risk.linkage.compared import Compared
    from sfumato.risk.linkage.files import Files

SQUARE, ABSOLUTE, CATEGORY, GRADED = 0, 1, 2, 3
OPEN, MISSING = -1, -2
CONSTANTS = 8


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """How one column is compared: its kind, its constants, and per value or label the numbers of its cells.

    ``constants`` are those of :mod:`sfumato.kernels.linkage_costs`. ``theirs`` and ``ours`` have per code the low end,
    the high end and half the width to average over; for a category 0, the number of other values it may stand
    for, and what agreeing costs.
    """

    kind: int
    constants: NDArray[np.float64]
    theirs: NDArray[np.float64]
    ours: NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """The distinct records of one file, and per column which codes of the other file agree with each of its codes."""

    numbers: NDArray[np.float64]
    marks: NDArray[np.int64]
    records: NDArray[np.int64]
    bases: NDArray[np.int64]
    starts: NDArray[np.int64]
    matches: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Arrays:
    """Both sides and the rules of all columns, in the order of ``names``."""

    names: tuple[str, ...]
    kinds: NDArray[np.int64]
    constants: NDArray[np.float64]
    theirs: Side
    ours: Side

    def costs(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per pair of distinct records (the intruder's, the released) what each column costs."""
        from sfumato.kernels.linkage_costs import pair_costs

        left, right = self.theirs, self.ours
        found: NDArray[np.float64] = pair_costs(
            pairs, self.kinds, self.constants, left.numbers, left.marks, right.numbers, right.marks,
            left.bases, left.starts, left.matches,
        )  # fmt: skip
        return found


def arrays_of(files: Files, rules: Sequence[Rule]) -> Arrays:
    """Put files and rules into arrays; columns that tell most come first, so that far records are given up early."""
    import numpy as np

    order = sorted(range(len(rules)), key=lambda k: -_telling(files.columns[k], rules[k]))
    columns, chosen = [files.columns[k] for k in order], [rules[k] for k in order]
    return Arrays(
        tuple(column.name for column in columns),
        np.array([rule.kind for rule in chosen], dtype=np.int64),
        np.array([rule.constants for rule in chosen]).reshape(len(chosen), CONSTANTS),
        _side(
            files.theirs.codes[:, order],
            files.theirs.records,
            [_marked(rule.theirs, rule.kind, c.open_theirs, c.missing_theirs) for rule, c in zip(chosen, columns, strict=True)],
            [_theirs_to_ours(c) for c in columns],
        ),
        _side(
            files.ours.codes[:, order],
            files.ours.records,
            [_marked(rule.ours, rule.kind, c.open_ours, c.missing_ours) for rule, c in zip(chosen, columns, strict=True)],
            [c.fitting for c in columns],
        ),
    )  # fmt: skip


def _telling(column: Compared, rule: Rule) -> float:
    """Roughly what two random cells cost."""
    import numpy as np

    shares = np.bincount(column.ours) / max(1, len(column.ours))
    differ = 1.0 - float((shares**2).sum())
    return differ * float(rule.constants[0]) * (2.0 if rule.kind == SQUARE else 1.0)


def _marked(
    numbers: NDArray[np.float64], kind: int, opened: NDArray[np.bool_], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Numbers and marks per code; in a category a missing value is a code like any other."""
    import numpy as np

    marks = np.arange(len(numbers)) if kind == CATEGORY else np.where(missing, MISSING, 0)
    return np.nan_to_num(numbers), np.where(opened, OPEN, marks).astype(np.int64)


def _side(
    codes: NDArray[np.int64],
    records: NDArray[np.int64],
    cells: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]],
    matching: Sequence[Sequence[Sequence[int]]],
) -> Side:
    import numpy as np

    numbers = np.stack([cell[0][codes[:, k]] for k, cell in enumerate(cells)], axis=1)
    marks = np.stack([cell[1][codes[:, k]] for k, cell in enumerate(cells)], axis=1)
    bases = np.concatenate([[0], np.cumsum([len(listed) for listed in matching])]).astype(np.int64)
    lengths = [len(codes_of) for listed in matching for codes_of in listed]
    flat = [code for listed in matching for codes_of in listed for code in codes_of]
    return Side(
        np.ascontiguousarray(numbers),
        np.ascontiguousarray(marks),
        records,
        bases,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(flat, dtype=np.int64),
    )


def _theirs_to_ours(column: Compared) -> tuple[tuple[int, ...], ...]:
    """Per value of the intruder the released labels that may stand for it, in order."""
    if column.scale != "category":
        return ()
    found: list[list[int]] = [[] for _ in column.places]
    for label, values in enumerate(column.fitting):
        for value in values:
            found[value].append(label)
    return tuple(tuple(labels) for labels in found)
