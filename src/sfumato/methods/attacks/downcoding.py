"""The downcoding attack: a release that is as fine as k allows says, by being no finer, what lies
below its cells.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.attack import Attack, Finding, Learns, NothingToAttack
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.schema import Missing
from sfumato.errors import MissingExtra, ParameterError, require
from sfumato.methods.attacks.node_columns import NodeColumn, NodeParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

    Flags = NDArray[np.bool_]
    Ints = NDArray[np.int64]


MOST_CASES = 5_000
"""Ways to fill the parts up to which all are looked at; beyond, a solver is asked."""
MOST_COMBINATIONS = 4_096
"""Combinations of parts up to which columns are taken together."""
WORK_A_QUESTION = 2.0
"""What the solver may do to answer one question, in its own units: about as many seconds, and the
same on every machine.
"""
Combination = tuple[int, ...]
Assumption = Literal["auto", "release", "class", "cover", "table"]


# How many records of a class can lie in each part of its cells, if the class could not have been
# released finer.


@dataclasses.dataclass(frozen=True)
class PartBounds:
    """Per column and part the least and the greatest number of records; ``together`` if columns
    were solved jointly.
    """

    least: tuple[tuple[int, ...], ...]
    most: tuple[tuple[int, ...], ...]
    together: bool = False

    def determined(self, column: int) -> bool:
        """Whether the number of records in every part of a column is certain."""
        return self.least[column] == self.most[column]


def column_bounds(
    size: int, parts: int, largest_part: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Bounds of ``size`` records over ``parts`` parts of at most ``largest_part`` each; None where
    they do not fit.

    >>> column_bounds(6, 3, 2)
    ((2, 2, 2), (2, 2, 2))
    >>> column_bounds(3, 2, 2)
    ((1, 1), (2, 2))
    >>> column_bounds(6, 2, 2) is None
    True
    """
    if parts * largest_part < size:
        return None
    # The other parts hold at most largest_part each; what they cannot hold is in this one.
    at_least = size - largest_part * (parts - 1)
    at_most = min(largest_part, size)
    return (max(0, at_least),) * parts, (at_most,) * parts


def joint_bounds(
    size: int, parts: Sequence[int], largest_part: int, allowed: Sequence[Combination]
) -> PartBounds | None:
    """Bounds when only some combinations of parts are allowed; None where nothing fits.

    Exact by enumeration where there are few cases, by CP-SAT otherwise; where that is too much
    work, its proved bounds.

    >>> joint_bounds(2, [2, 2], 1, [(0, 1), (1, 0), (1, 1)])
    PartBounds(least=((1, 1), (1, 1)), most=((1, 1), (1, 1)), together=True)
    """
    if not allowed:
        return None
    # Multisets of ``size`` combinations: few enough are looked at one by one.
    if math.comb(len(allowed) + size - 1, size) <= MOST_CASES:
        return _enumerate_bounds(size, parts, largest_part, allowed)
    return _solve_bounds(size, parts, largest_part, allowed)


def occupancies(
    size: int, largest_part: int, allowed: Sequence[Combination]
) -> Iterator[Mapping[tuple[int, int], int]]:
    """Every way to give ``size`` records allowed combinations with at most ``largest_part`` records
    in a part: counts by (column, part).
    """
    for multiset in itertools.combinations_with_replacement(allowed, size):
        counts: dict[tuple[int, int], int] = {}
        for combination in multiset:
            for cell in enumerate(combination):
                counts[cell] = counts.get(cell, 0) + 1
        if max(counts.values(), default=0) <= largest_part:
            yield counts


def _enumerate_bounds(
    size: int, parts: Sequence[int], largest_part: int, allowed: Sequence[Combination]
) -> PartBounds | None:
    cells = []
    for c, n in enumerate(parts):
        for p in range(n):
            cells.append((c, p))
    lowest = dict.fromkeys(cells, size + 1)
    greatest = dict.fromkeys(cells, -1)
    for counts in occupancies(size, largest_part, allowed):
        for cell in cells:
            lowest[cell] = min(lowest[cell], counts.get(cell, 0))
            greatest[cell] = max(greatest[cell], counts.get(cell, 0))
    # Still -1: not one way to fill the parts was met, else every cell had been counted, if as 0.
    if greatest[cells[0]] < 0:
        return None
    return _bounds(parts, lowest, greatest)


def _solve_bounds(
    size: int, parts: Sequence[int], largest_part: int, allowed: Sequence[Combination]
) -> PartBounds | None:
    """Ask CP-SAT for the least and the greatest number in every part."""
    cp = require(
        "ortools.sat.python.cp_model",
        extra="solvers",
        to="combine several columns of large classes",
    )
    model = cp.CpModel()
    # How many records have each allowed combination of parts.
    amounts = [model.new_int_var(0, size, f"combination {i}") for i in range(len(allowed))]
    model.add(sum(amounts) == size)
    every = []
    for c, n in enumerate(parts):
        for p in range(n):
            every.append((c, p))
    sums: dict[tuple[int, int], Any] = {}
    for amount, combination in zip(amounts, allowed, strict=True):
        for cell in enumerate(combination):
            sums[cell] = sums.get(cell, 0) + amount
    # Parts that no allowed combination has hold nobody; their bounds stay 0 and 0.
    cells = [cell for cell in every if cell in sums]
    for cell in cells:
        model.add(sums[cell] <= largest_part)
    lowest = dict.fromkeys(every, 0)
    greatest = dict.fromkeys(every, 0)
    for cell in cells:
        low = _extreme(cp, model, sums[cell], minimise=True)
        if low is None:
            return None
        high = _extreme(cp, model, sums[cell], minimise=False)
        lowest[cell] = low
        # Where nothing was proved from above, any number up to the whole class stays possible.
        greatest[cell] = size if high is None else high
    return _bounds(parts, lowest, greatest)


def _extreme(cp: Any, model: Any, total: Any, *, minimise: bool) -> int | None:
    """The least or greatest value, or the bound proved for it within some work; None if there is no
    way to fill the parts, or nothing is proved.
    """
    (model.minimize if minimise else model.maximize)(total)
    solver = cp.CpSolver()
    # One worker, a fixed seed and work instead of time: the same answer on every machine.
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = WORK_A_QUESTION
    status = solver.solve(model)
    if status == cp.INFEASIBLE or (not minimise and status not in (cp.OPTIMAL, cp.FEASIBLE)):
        return None
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return 0  # nothing was proved within the work
    # The proved bound, not the best filling met: it also holds where the solver gave up early. 1e-6
    # absorbs the rounding of a bound that stands for a whole number.
    bound = float(solver.best_objective_bound)
    if minimise:
        return max(0, math.ceil(bound - 1e-6))
    return math.floor(bound + 1e-6)


def _bounds(
    parts: Sequence[int],
    lowest: Mapping[tuple[int, int], int],
    highest: Mapping[tuple[int, int], int],
) -> PartBounds:
    def rows(table: Mapping[tuple[int, int], int]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(table[c, p] for p in range(n)) for c, n in enumerate(parts))

    return PartBounds(rows(lowest), rows(highest), together=True)


# Auditing a release class by class: which parts of its cells are certain, and whether that is true.


@dataclasses.dataclass(frozen=True, eq=False)
class ClassAudit:
    """One class: columns of which the parts are certain and ``right`` or ``wrong``, or
    ``contradicted`` by any filling.

    ``rows`` are its released rows, ``pinned`` those that a single other member can tell,
    ``to_the_value`` cells known to the value; ``narrowed`` if a part surely has somebody.
    """

    rows: Ints
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    contradicted: tuple[str, ...]
    pinned: Ints
    to_the_value: int
    narrowed: bool
    together: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Audit:
    """All classes that something may follow from."""

    columns: tuple[str, ...]
    classes: tuple[ClassAudit, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class ReleasedClasses:
    """The classes of a release over its node columns: the label of each class per column, and its
    rows.
    """

    columns: tuple[NodeColumn, ...]
    keys: Ints
    rows: tuple[Ints, ...]

    @classmethod
    def of(cls, scene: Scene) -> ReleasedClasses:
        """Group the released rows by all quasi-identifiers."""
        columns = tuple(NodeColumn.of(scene.pair, name) for name in scene.pair.quasi)
        codes = np.stack([column.released for column in columns], axis=1)
        ids, first = kernels.keys.group(codes.astype(np.uint64))
        order = np.argsort(ids, kind="stable")
        # Rows in order of their class, cut where the next one begins: sizes 2, 1, 3 → cuts 2, 3.
        group_sizes = np.bincount(ids, minlength=len(first))
        rows = np.split(order, np.cumsum(group_sizes)[:-1])
        return cls(columns, codes[first], tuple(rows))

    def parts(self, class_number: int, column: int) -> Sequence[Flags]:
        """The parts of a cell of a class."""
        return self.columns[column].children[int(self.keys[class_number, column])]

    def finer(self, class_number: int) -> Ints:
        """Other classes that lie below a class in every column, sought in the column first in which
        fewest do.
        """
        key = self.keys[class_number].tolist()
        candidates = np.arange(len(self.keys))
        # The column that leaves fewest classes first.
        for c in sorted(range(len(key)), key=lambda c: int(self._amounts[c][key[c]])):
            below = self.columns[c].below
            candidates = candidates[below[self.keys[candidates, c], key[c]]]
        return np.asarray(candidates[candidates != class_number], dtype=np.int64)

    @functools.cached_property
    def _amounts(self) -> list[Ints]:
        """Per column and label how many classes have the label or one below it."""
        return [
            np.bincount(self.keys[:, c], minlength=len(n.below)) @ n.below
            for c, n in enumerate(self.columns)
        ]


def audit_release(scene: Scene, k: int, assumed: str, solver_limit: int) -> Audit:
    """What is certain of every class of at least k records."""
    released = ReleasedClasses.of(scene)
    limits = _limits(scene, released, k, assumed)
    open_classes = sorted({class_number for class_number, _ in limits})
    open_classes.sort(key=lambda class_number: len(released.rows[class_number]))
    audits: list[ClassAudit] = []
    for class_number in open_classes:
        scene.require_time()
        column_numbers = [c for c in range(len(released.columns)) if (class_number, c) in limits]
        column_limits = [(c, limits[class_number, c]) for c in column_numbers]
        # Only under this assumption could a record have joined a finer class that was released.
        finer = released.finer(class_number) if assumed == "release" else ()
        for c, _ in column_limits:
            _require_few(scene, released.columns[c].name, released.parts(class_number, c))
        bounds = bounds_of(
            released, class_number, column_limits, finer=finer, k=k, most_together=solver_limit
        )
        audits.append(_audit_class(released, class_number, bounds))
        scene.progress(len(audits) / len(open_classes), "auditing classes")
    return Audit(tuple(c.name for c in released.columns), tuple(audits))


def _require_few(scene: Scene, name: str, parts: Sequence[Flags]) -> None:
    """Refuse a cell with so many parts that to look at them all is more than the work of an
    attack.
    """
    if isinstance(parts, NodeParts) and parts.cells > scene.work:
        raise ParameterError(
            f"a label of {name} stands for {len(parts):,} finer ones, too many to audit its"
            f" classes; leave {name} out, or give it more levels"
        )


def _limits(
    scene: Scene, released: ReleasedClasses, k: int, assumed: str
) -> dict[tuple[int, int], int]:
    """Per class and column with something below its cell, the most records that one part can
    have.
    """
    limits: dict[tuple[int, int], int] = {}
    for c in range(len(released.columns)):
        class_numbers = []
        for number, rows in enumerate(released.rows):
            if len(rows) > 1 and released.parts(number, c):
                class_numbers.append(number)
        if assumed == "table" and (
            len(class_numbers) != 1 or scene.pair.suppressed or _is_mixed(released, c)
        ):
            # any of several classes, a suppressed record or cell may be why the column is no finer
            continue
        for class_number in class_numbers:
            size = len(released.rows[class_number])
            # A part of k records could have been released by itself, as k others stay.
            if size >= 2 * k and assumed in ("release", "class"):
                limits[class_number, c] = k - 1
            elif size >= k:
                limits[class_number, c] = size - 1
    return limits


def _is_mixed(released: ReleasedClasses, column: int) -> bool:
    """Whether some cells of a column say nothing and others something."""
    holds = released.columns[column].holds[released.keys[:, column]]
    nothing = holds.sum(axis=1) == holds.shape[1]
    return bool(nothing.any() and not nothing.all())


def bounds_of(
    released: ReleasedClasses,
    class_number: int,
    column_limits: Sequence[tuple[int, int]],
    finer: Sequence[int] | Ints,
    k: int,
    most_together: int,
) -> dict[int, PartBounds | None]:
    """Per column of a class the bounds of its parts (as a table of one column), or None where
    nothing fits.
    """
    size = len(released.rows[class_number])
    boxes = [
        box for finer_class in finer if (box := _box(released, class_number, int(finer_class)))
    ]
    # None can leave alone: a class of k - 1 would be left.
    if size == k:
        return _bounds_where_all_would_leave(released, class_number, column_limits, boxes)
    # A box of one column rules out parts of it; only boxes of several tie columns together.
    linked_boxes = chain.from_iterable(box for box in boxes if len(box) > 1)
    linked = sorted(set(linked_boxes))
    column_bounds_by_column: dict[int, PartBounds | None] = {}
    for c, largest_part in column_limits:
        covered_masks = [box[c] for box in boxes if list(box) == [c]]
        parts = released.parts(class_number, c)
        free = [i for i, part in enumerate(parts) if not _is_covered(part, covered_masks)]
        bounds = column_bounds(size, len(free), largest_part)
        column_bounds_by_column[c] = _spread(bounds, free, len(parts))
    allowed = None
    if size <= most_together and linked:
        allowed = _list_allowed(released, class_number, linked, boxes)
    if allowed is not None:
        counts = [len(released.parts(class_number, c)) for c in linked]
        with contextlib.suppress(MissingExtra):  # then what single columns say has to do
            # The limit depends on the size of the class alone: that of one column is that of all.
            joint = joint_bounds(size, counts, dict(column_limits)[linked[0]], allowed)
            for i, c in enumerate(linked):
                alone = column_bounds_by_column[c]
                column_bounds_by_column[c] = _tighter(alone, joint, i)
    return column_bounds_by_column


def _bounds_where_all_would_leave(
    released: ReleasedClasses,
    class_number: int,
    column_limits: Sequence[tuple[int, int]],
    boxes: Sequence[dict[int, Flags]],
) -> dict[int, PartBounds | None]:
    """Bounds of a class of just k records: none may leave alone, but all would have, had each a
    finer class to join.

    So one record, at least, lies in no box. As the others lie anywhere, that tells of a column only
    where the one can be in but one of its parts.
    """
    linked = sorted(set(chain.from_iterable(boxes)))
    allowed = _list_allowed(released, class_number, linked, boxes)
    if allowed == []:
        return dict.fromkeys([c for c, _ in column_limits])
    bounds_by_column: dict[int, PartBounds | None] = {}
    for c, largest_part in column_limits:
        parts = len(released.parts(class_number, c))
        open_parts = {combination[linked.index(c)] for combination in allowed or () if c in linked}
        class_bounds = column_bounds(len(released.rows[class_number]), parts, largest_part)
        bounds = _spread(class_bounds, range(parts), parts)
        # Somebody lies in no box, and only this part is left for them: it has one record at least.
        if bounds is not None and len(open_parts) == 1:
            lowest = tuple(max(n, int(i in open_parts)) for i, n in enumerate(bounds.least[0]))
            bounds = dataclasses.replace(bounds, least=(lowest,))
        bounds_by_column[c] = bounds
    return bounds_by_column


def _tighter(alone: PartBounds | None, joint: PartBounds | None, column: int) -> PartBounds | None:
    """What a column says alone and what all say together; the solver may have given up."""
    if alone is None or joint is None:
        return None
    lowest = tuple(map(max, alone.least[0], joint.least[column]))
    greatest = tuple(map(min, alone.most[0], joint.most[column]))
    return PartBounds((lowest,), (greatest,), together=True)


def _box(released: ReleasedClasses, class_number: int, other_class: int) -> dict[int, Flags]:
    """Where a finer class holds fewer values, and which."""
    own = released.keys[class_number]
    other_key = released.keys[other_class]
    box = {}
    for c, column in enumerate(released.columns):
        mask = column.holds[other_key[c]]
        if mask.sum() < column.holds[own[c]].sum():
            box[c] = mask
    return box


def _is_covered(part: Flags, masks: Sequence[Flags]) -> bool:
    """Whether all values of a part lie in some mask."""
    uncovered = part.copy()
    for mask in masks:
        uncovered &= ~mask
    return not uncovered.any()


def _spread(
    bounds: tuple[tuple[int, ...], tuple[int, ...]] | None, free: Sequence[int], parts: int
) -> PartBounds | None:
    """Bounds of the parts that are free, as bounds of all; nobody is in the others."""
    if bounds is None:
        return None
    lowest, highest = (dict(zip(free, side, strict=True)) for side in bounds)
    low_counts = tuple(lowest.get(i, 0) for i in range(parts))
    high_counts = tuple(highest.get(i, 0) for i in range(parts))
    return PartBounds((low_counts,), (high_counts,))


def _list_allowed(
    released: ReleasedClasses,
    class_number: int,
    linked: Sequence[int],
    boxes: Sequence[dict[int, Flags]],
) -> list[Combination] | None:
    """The combinations of parts with a value in each that lie in no box; None if there are too
    many.
    """
    atoms = []
    for c in linked:
        parts = released.parts(class_number, c)
        own_boxes = [box[c] for box in boxes if c in box]
        atoms.append(_atoms(parts, own_boxes))
    if math.prod(map(len, atoms)) > MOST_COMBINATIONS:
        return None
    inside = [{c: box.get(c) for c in linked} for box in boxes if set(box) <= set(linked)]
    combinations = set()
    # One value stands for each atom: all its values lie in the same part and the same boxes.
    for atom_choice in itertools.product(*atoms):
        values = {c: value for c, (_, value) in zip(linked, atom_choice, strict=True)}
        if not any(
            all(mask is None or mask[values[c]] for c, mask in box.items()) for box in inside
        ):
            combinations.add(tuple(part for part, _ in atom_choice))
    return sorted(combinations)


def _atoms(parts: Sequence[Flags], masks: Sequence[Flags]) -> list[tuple[int, int]]:
    """Values that no mask and no part distinguishes, once each: the part and one of the values."""
    atoms_by_key: dict[tuple[int, ...], tuple[int, int]] = {}
    for i, part in enumerate(parts):
        for value in np.flatnonzero(part).tolist():
            atoms_by_key.setdefault((i, *(int(mask[value]) for mask in masks)), (i, value))
    return list(atoms_by_key.values())


def _audit_class(
    released: ReleasedClasses, class_number: int, bounds: dict[int, PartBounds | None]
) -> ClassAudit:
    """Hold what seems certain against the truth."""
    rows = released.rows[class_number]
    right = list[str]()
    wrong = list[str]()
    contradicted = list[str]()
    pinned = []
    to_the_value = 0
    narrowed = False
    together = False
    for c, bound in bounds.items():
        column = released.columns[c]
        parts = released.parts(class_number, c)
        within = np.array([part[column.original[rows]] for part in parts])
        counts = tuple(int(n) for n in within.sum(axis=1))
        # The truth lies outside the bounds: the release was not minimal in the assumed sense.
        if bound is None or any(
            not low <= n <= high
            for low, n, high in zip(bound.least[0], counts, bound.most[0], strict=True)
        ):
            (wrong if bound is not None and bound.determined(0) else contradicted).append(
                column.name
            )
            continue
        together |= bound.together
        narrowed |= any(bound.least[0])
        if bound.determined(0):
            right.append(column.name)
            to_the_value += sum(n for n, part in zip(counts, parts, strict=True) if part.sum() == 1)
            # All but one share a part: the odd one out, who knows the own cell, reads off the
            # others'.
            pinned += [
                rows[inside] for inside, n in zip(within, counts, strict=True) if n == len(rows) - 1
            ]
    if pinned:
        narrowed_rows = np.unique(np.concatenate(pinned))
    else:
        narrowed_rows = np.zeros(0, dtype=np.int64)
    return ClassAudit(
        rows,
        tuple(right),
        wrong=tuple(wrong),
        contradicted=tuple(contradicted),
        pinned=narrowed_rows,
        to_the_value=to_the_value,
        narrowed=bool(narrowed),
        together=bool(together),
    )


@parameters
class Downcoding(Attack):
    r"""The share of records whose released cells follow one step finer from the release being as
    fine as k-anonymity allows.

    Let a class *E* of *m* records be released with node *v* in a column, *v* have
    children :math:`w_1 \ldots w_b`, and :math:`n_i` of the *m* records lie below :math:`w_i`. The
    intruder sees *m*, *v*, the hierarchy, the values that occur, and *k*. Had *k* or more records
    of one child been able to leave without bringing the rest below *k*, they would have been
    released finer. So

    .. math:: n_i \le k-1 \text{ if } m \ge 2k, \qquad n_i \le m-1 \text{ otherwise},

    for every column and child. Within one class that is *all* that minimality says: any finer
    release of the class, of however many columns and steps, contains one that tells one child of
    one column. Where a finer class was released too and :math:`m > k`, no record of *E* may lie
    below it, or it would have joined; that forbids combinations of children of several columns,
    which are then solved together: by enumeration, beyond that by CP-SAT (extra ``solvers``).
    Where :math:`m = k`, they would have joined finer classes only all at once, so one at least lies
    below none. The attack succeeds on a column of a class where :math:`(n_1 \ldots n_b)` is the
    only
    solution: then all *m* cells are known one step finer, up to the order of the records of the
    class, which nobody but its members can distinguish. Six records under a node with three
    children and k = 3 lie two and two and two.

    ``assume`` says what the intruder takes for granted: ``release`` all of the above (no record
    could have been released finer; Cohen's minimality), ``class`` the bounds for single classes,
    ``cover`` only that a cell is the lowest node above its records (:math:`n_i \le m-1`), ``table``
    that no column could have been one level finer in the whole table, which says something where a
    single class can be the reason and nothing was suppressed. ``auto`` takes ``table`` for global
    recoding and ``release`` otherwise; local recoding of the bundled hospital table with k = 2
    tells finer cells of more than half of the records that way. That records of several classes
    might have formed a new one is not used, so what is certain here stays so; there may be more.

    The owner knows what is true: only right conclusions count. ``details`` tell wrong ones
    (``wrong``: the release was not minimal in that sense), cells known to the value itself
    (``to_the_value``), ``pinned`` (records whose cell every other member but one shares, so the odd
    one out reads it off), and ``narrowed`` (records in classes where some child surely has
    somebody). Labels that are no nodes of the hierarchy (ranges of Mondrian) and nodes whose values
    do not divide are left alone. Classes of more than ``most`` records are judged column by column.
    Reference: Cohen 2022, "Attacks on deidentification's defenses", USENIX Security.
    """

    assume: Annotated[
        Assumption, Field(description="what the intruder assumes about the method")
    ] = "auto"
    most: Annotated[
        int, Field(ge=2, description="largest class whose columns are solved together")
    ] = 50

    name: ClassVar[str] = "downcoding"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "Coarse values are made finer"
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)

    def applies(self, scene: Scene) -> str | None:
        """None when the release was made to keep k-anonymity of records and nothing stronger."""
        k = promised_k(scene)
        schema = scene.pair.original.schema
        if k is None:
            return NothingToAttack(
                "no k-anonymity with k above 1 was promised, so minimality reveals nothing"
            )
        if not _only_k(scene):
            return (
                "other promises than k-anonymity may be the reason for coarse cells, and their "
                "inferences are not implemented"
            )
        if scene.pair.persons is not None or any(
            schema[c].missing is Missing.WILDCARD for c in scene.pair.quasi
        ):
            return (
                "classes count persons or use wildcards, but the inference exists for equal "
                "records only"
            )
        if not scene.pair.quasi or not len(scene.pair.released):
            return NothingToAttack("no quasi-identifier was released")
        unsure = [step.name for step in scene.steps if step.fineness == "none"]
        if unsure and self.assume == "auto":
            return NothingToAttack(
                f"{unsure[0].replace('_', ' ')} does not promise to be as fine as k allows"
            )
        return None

    def attack(self, scene: Scene) -> Finding:
        """Find the classes whose cells admit one refinement only."""
        k = promised_k(scene) or 1
        assumed = self._assumed(scene)
        return _describe_audit(
            self.name,
            scene,
            audit_release(scene, k, assumed, self.most),
            {"assumed": assumed, "k": k},
        )

    def _assumed(self, scene: Scene) -> str:
        if self.assume != "auto":
            return self.assume
        if any(step.fineness == "table" for step in scene.steps):
            return "table"
        return "release"


def promised_k(scene: Scene) -> int | None:
    """The largest k of k-anonymity among the promises, or None if there is none above 1."""
    crowd_sizes = [model.crowd for model in scene.models if model.crowd is not None]
    if crowd_sizes and max(crowd_sizes) > 1:
        return max(crowd_sizes)
    return None


def _only_k(scene: Scene) -> bool:
    strongest = max(scene.models, key=lambda model: model.crowd or 0)
    return all(strongest.implies(model) for model in scene.models if model is not strongest)


def _describe_audit(name: str, scene: Scene, audit: Audit, details: Document) -> Finding:
    """The finding: who stands in a class of which a cell is known finer, and by which columns."""
    hit, pinned, narrowed = (np.zeros(len(scene.pair.rows), dtype=bool) for _ in range(3))
    per_column = dict.fromkeys(audit.columns, 0)
    for audit_class in audit.classes:
        hit[audit_class.rows] |= bool(audit_class.right)
        narrowed[audit_class.rows] |= audit_class.narrowed
        pinned[audit_class.pinned] = True
        for column in audit_class.right:
            per_column[column] += len(audit_class.rows)
    message = (
        f"the assumption that {details['k']}-anonymity is reached as finely as possible reveals "
        f"finer cells of {int(hit.sum()):,} records, up to their order in the class, and of "
        f"{int(pinned.sum()):,} for a certain member of their class"
    )
    cells = sum(per_column.values())
    counts = _count_audit(audit)
    all_details = {
        **details,
        **counts,
        "pinned": int(pinned.sum()),
        "narrowed": int(narrowed.sum()),
        "cells": cells,
    }
    weights = {column: amount / cells for column, amount in per_column.items() if amount}
    return Finding(
        name,
        scene.pair.share_of_people(hit),
        message,
        baseline=0.0,
        victims=np.sort(scene.pair.rows[hit]),
        weights=weights,
        details=all_details,
    )


def _count_audit(audit: Audit) -> dict[str, int]:
    def total(field: str) -> int:
        return sum(len(getattr(audit_class, field)) for audit_class in audit.classes)

    solved = sum(audit_class.together for audit_class in audit.classes)
    return {
        "classes": len(audit.classes),
        "solved_together": solved,
        "wrong": total("wrong"),
        "contradicted": total("contradicted"),
        "to_the_value": sum(audit_class.to_the_value for audit_class in audit.classes),
    }
