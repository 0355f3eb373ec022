"""Auditing a release class by class: which parts of its cells are certain, and whether that is true."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.errors import MissingExtra
from sfumato.risk.refinement.nodes import NodeColumn
from sfumato.risk.refinement.occupancy import (
    MOST_COMBINATIONS,
    Bounds,
    Combination,
    column_bounds,
    joint_bounds,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene


@dataclasses.dataclass(frozen=True, eq=False)
class ClassAudit:
    """One class: columns of which the parts are certain and ``right`` or ``wrong``, or ``contradicted`` by any filling.

    ``rows`` are its released rows, ``pinned`` those that a single other member can tell, ``to_the_value`` cells known to the value;
    ``narrowed`` if a part surely has somebody.
    """

    rows: NDArray[np.int64]
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    contradicted: tuple[str, ...]
    pinned: NDArray[np.int64]
    to_the_value: int
    narrowed: bool
    together: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Audit:
    """All classes that were looked at, and how many were left out for want of time."""

    columns: tuple[str, ...]
    classes: tuple[ClassAudit, ...]
    left_out: int


@dataclasses.dataclass(frozen=True, eq=False)
class Released:
    """The classes of a release over its node columns: the label of each class per column, and its rows."""

    columns: tuple[NodeColumn, ...]
    keys: NDArray[np.int64]
    rows: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, scene: Scene) -> Released:
        """Group the released rows by all quasi-identifiers."""
        import numpy as np

        from sfumato.kernels.keys import group

        columns = tuple(NodeColumn.of(scene.pair, name) for name in scene.pair.quasi)
        codes = np.stack([column.released for column in columns], axis=1)
        ids, first = group(codes.astype(np.uint64))
        order = np.argsort(ids, kind="stable")
        rows = np.split(order, np.cumsum(np.bincount(ids, minlength=len(first)))[:-1])
        return cls(columns, codes[first], tuple(rows))

    def parts(self, place: int, column: int) -> tuple[NDArray[np.bool_], ...]:
        """The parts of a cell of a class."""
        return self.columns[column].children[int(self.keys[place, column])]

    def finer(self, place: int) -> NDArray[np.int64]:
        """Other classes that lie below a class in every column."""
        import numpy as np

        inside = np.ones(len(self.keys), dtype=bool)
        for c, column in enumerate(self.columns):
            inside &= column.below[self.keys[:, c], self.keys[place, c]]
        inside[place] = False
        return np.flatnonzero(inside)


def audit_release(scene: Scene, k: int, assumed: str, most: int) -> Audit:
    """What is certain of every class of at least k records, within the time of the scene; small classes first."""
    released = Released.of(scene)
    limits = _limits(scene, released, k, assumed)
    open_classes = sorted({place for place, _ in limits}, key=lambda place: (len(released.rows[place]), place))
    found: list[ClassAudit] = []
    for place in open_classes:
        if not scene.left:
            break
        wanted = [(c, limits[place, c]) for c in range(len(released.columns)) if (place, c) in limits]
        finer = released.finer(place) if assumed == "release" and len(released.rows[place]) > k else ()
        together = len(released.rows[place]) <= most
        found.append(_judged(released, place, bounds_of(released, place, wanted, finer, together, scene.left)))
        scene.progress(len(found) / len(open_classes), "auditing classes")
    return Audit(tuple(c.name for c in released.columns), tuple(found), len(open_classes) - len(found))


def _limits(scene: Scene, released: Released, k: int, assumed: str) -> dict[tuple[int, int], int]:
    """Per class and column with something below its cell, the most records that one part can have."""
    found: dict[tuple[int, int], int] = {}
    for c in range(len(released.columns)):
        places = [p for p in range(len(released.rows)) if released.parts(p, c) and len(released.rows[p]) > 1]
        if assumed == "table" and (len(places) != 1 or scene.pair.suppressed or _mixed(released, c)):
            continue  # any of several classes, a suppressed record or cell may be why the column is no finer
        for place in places:
            size = len(released.rows[place])
            if size >= k:
                found[place, c] = k - 1 if size >= 2 * k and assumed in ("release", "class") else size - 1
    return found


def _mixed(released: Released, column: int) -> bool:
    """Whether some cells of a column say nothing and others something."""
    holds = released.columns[column].holds[released.keys[:, column]]
    nothing = holds.sum(axis=1) == holds.shape[1]
    return bool(nothing.any() and not nothing.all())


def bounds_of(
    released: Released,
    place: int,
    wanted: Sequence[tuple[int, int]],
    finer: Sequence[int] | NDArray[np.int64],
    together: bool,
    seconds: float,
) -> dict[int, Bounds | None]:
    """Per column of a class the bounds of its parts (as a table of one column), or None where nothing fits."""
    size = len(released.rows[place])
    boxes = [box for other in finer if (box := _box(released, place, int(other)))]
    linked = sorted({c for box in boxes if len(box) > 1 for c in box})
    found: dict[int, Bounds | None] = {}
    for c, most in wanted:
        taken = [box[c] for box in boxes if list(box) == [c]]
        free = [i for i, part in enumerate(released.parts(place, c)) if not _covered(part, taken)]
        found[c] = _spread(column_bounds(size, len(free), most), free, len(released.parts(place, c)))
    allowed = _allowed(released, place, linked, boxes) if together and linked else None
    if allowed is not None:
        counts = [len(released.parts(place, c)) for c in linked]
        with contextlib.suppress(MissingExtra):  # then what single columns say has to do
            joint = joint_bounds(size, counts, dict(wanted)[linked[0]], allowed, seconds)
            found |= {c: _tighter(found[c], joint, i) for i, c in enumerate(linked)}
    return found


def _tighter(alone: Bounds | None, joint: Bounds | None, column: int) -> Bounds | None:
    """What a column says alone and what all say together; the solver may have run out of time."""
    if alone is None or joint is None:
        return None
    least = tuple(map(max, alone.least[0], joint.least[column]))
    return Bounds((least,), (tuple(map(min, alone.most[0], joint.most[column])),), together=True)


def _box(released: Released, place: int, other: int) -> dict[int, NDArray[np.bool_]]:
    """Where a finer class holds fewer values, and which."""
    own, theirs = released.keys[place], released.keys[other]
    masks = {c: (column.holds[theirs[c]], column.holds[own[c]]) for c, column in enumerate(released.columns)}
    return {c: mask for c, (mask, whole) in masks.items() if mask.sum() < whole.sum()}


def _covered(part: NDArray[np.bool_], masks: Sequence[NDArray[np.bool_]]) -> bool:
    """Whether all values of a part lie in some mask."""
    left = part.copy()
    for mask in masks:
        left &= ~mask
    return not left.any()


def _spread(bounds: tuple[tuple[int, ...], tuple[int, ...]] | None, free: Sequence[int], parts: int) -> Bounds | None:
    """Bounds of the parts that are free, as bounds of all; nobody is in the others."""
    if bounds is None:
        return None
    least, most = (dict(zip(free, side, strict=True)) for side in bounds)
    return Bounds((tuple(least.get(i, 0) for i in range(parts)),), (tuple(most.get(i, 0) for i in range(parts)),))


def _allowed(
    released: Released, place: int, linked: Sequence[int], boxes: Sequence[dict[int, NDArray[np.bool_]]]
) -> list[Combination] | None:
    """The combinations of parts with a value in each that lie in no box; None if there are too many."""
    atoms = [_atoms(released.parts(place, c), [box[c] for box in boxes if c in box]) for c in linked]
    size = 1
    for parts in atoms:
        size *= len(parts)
    if size > MOST_COMBINATIONS:
        return None
    inside = [{c: box.get(c) for c in linked} for box in boxes if set(box) <= set(linked)]
    found = set()
    for chosen in itertools.product(*atoms):
        values = {c: value for c, (_, value) in zip(linked, chosen, strict=True)}
        if not any(all(mask is None or mask[values[c]] for c, mask in box.items()) for box in inside):
            found.add(tuple(part for part, _ in chosen))
    return sorted(found)


def _atoms(parts: Sequence[NDArray[np.bool_]], masks: Sequence[NDArray[np.bool_]]) -> list[tuple[int, int]]:
    """Values that no mask and no part tells apart, once each: the part and one of the values."""
    import numpy as np

    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for i, part in enumerate(parts):
        for value in np.flatnonzero(part).tolist():
            found.setdefault((i, *(int(mask[value]) for mask in masks)), (i, value))
    return list(found.values())


def _judged(released: Released, place: int, bounds: dict[int, Bounds | None]) -> ClassAudit:
    """Hold what seems certain against the truth."""
    import numpy as np

    rows = released.rows[place]
    right: list[str] = []
    wrong: list[str] = []
    contradicted: list[str] = []
    pinned, to_the_value, narrowed, together = [], 0, False, False
    for c, bound in bounds.items():
        column, parts = released.columns[c], released.parts(place, c)
        within = np.array([part[column.original[rows]] for part in parts])
        counts = tuple(int(n) for n in within.sum(axis=1))
        if bound is None or any(
            not low <= n <= high for low, n, high in zip(bound.least[0], counts, bound.most[0], strict=True)
        ):
            (wrong if bound is not None and bound.determined(0) else contradicted).append(column.name)
            continue
        together |= bound.together
        narrowed |= any(bound.least[0])
        if bound.determined(0):
            right.append(column.name)
            to_the_value += sum(n for n, part in zip(counts, parts, strict=True) if part.sum() == 1)
            pinned += [rows[inside] for inside, n in zip(within, counts, strict=True) if n == len(rows) - 1]
    told = np.unique(np.concatenate(pinned)) if pinned else np.zeros(0, dtype=np.int64)
    return ClassAudit(
        rows, tuple(right), tuple(wrong), tuple(contradicted), told, to_the_value, bool(narrowed), bool(together)
    )
