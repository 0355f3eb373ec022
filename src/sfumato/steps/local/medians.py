"""Single-dimensional Mondrian: columns are cut at medians, each cut going through the whole table.

Columns with neither an order nor a hierarchy stay as they are.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.steps.local.axes import axes_of
from sfumato.steps.taxonomy.cut import Cut, CutRecoding, children_of, cut_recoding, topmost
from sfumato.steps.taxonomy.ground import Ground

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.step import Goal

Range = tuple[int, int, int]
"""An axis and the ranks from which and up to which its values are released as one."""


def plan_medians(
    dataset: Dataset, goal: Goal, *, weights: Mapping[str, float], order: Sequence[str] | None
) -> CutRecoding:
    """Cut ranges of columns in two, the one that loses most first, as long as every class keeps every promise."""
    ground = Ground(dataset, goal, "mondrian", trees=False)
    places = [axis.column for axis in axes_of(ground.classes, dataset.schema, order)]
    turn = [places.index(axis.column) for axis in ground.axes]
    cutting = Medians(ground, [float(weights.get(axis.column, 1.0)) for axis in ground.axes], turn)
    if not ground.holds(cutting.cuts):
        raise ground.refuse()
    for done in cutting.run():
        goal.progress(done, "cutting")
    nobody: NDArray[np.bool_] = np.zeros(len(ground.classes), dtype=np.bool_)
    return cut_recoding(
        ground.classes, ground.axes, cutting.cuts, nobody, method="mondrian, single", notes={"cuts": cutting.made}
    )


@dataclasses.dataclass
class Medians:
    """The cuts so far, and the ranges that may still be cut."""

    ground: Ground
    weights: Sequence[float]
    turn: Sequence[int]
    made: int = 0

    def __post_init__(self) -> None:
        self.cuts: list[Cut] = [topmost(axis) for axis in self.ground.axes]
        self.monotone = all(model.monotone for model in self.ground.judge.models)
        self.waiting = {one for a, cut in enumerate(self.cuts) for one in self._ranges(a, cut)}

    def run(self) -> Iterator[float]:
        """Make one cut after the other; yields how much of all values is told apart."""
        values = sum(len(axis.labels) for axis in self.ground.axes)
        while (found := self._next()) is not None:
            chosen, starts = found
            self.made += 1
            self.waiting.remove(chosen)
            self.cuts = self._after(chosen, starts)
            a, low, high = chosen
            self.waiting |= {(a, *part) for part in itertools.pairwise([low, *starts, high]) if part[1] - part[0] > 1}
            yield sum(map(len, self.cuts)) / values

    def _next(self) -> tuple[Range, tuple[int, ...]] | None:
        """The range that loses most and has a cut that is allowed; under monotone models one that has none never will."""
        for chosen in sorted(self.waiting, key=self._rank):
            for starts in self._proposed(chosen):
                if self.ground.holds(self._after(chosen, starts)):
                    return chosen, starts
            if self.monotone:
                self.waiting.discard(chosen)
        return None

    def _rank(self, one: Range) -> tuple[float, int, int]:
        """Most is lost first; equal ones in the order of columns, then of values."""
        a, low, _ = one
        cut = self.cuts[a]
        losses = self.ground.cells(a, cut).losses
        return -round(self.weights[a] * float(losses[cut.index(low)]), 12), self.turn[a], low

    def _proposed(self, one: Range) -> Iterator[tuple[int, ...]]:
        """On a line both cuts at the median; in a tree the children of the node."""
        a, low, high = one
        axis = self.ground.axes[a]
        if axis.form != "line":
            starts = children_of(axis, low, high)
            if starts:
                yield starts
            return
        middle = self._median(a, low, high)
        for start in dict.fromkeys((middle + 1, middle)):
            if low < start < high:
                yield (start,)

    def _median(self, a: int, low: int, high: int) -> int:
        """The smallest rank of a range with half of its records at or below it."""
        ranks, records = self.ground.ranks[a], self.ground.classes.records
        counts = np.bincount(ranks, weights=records, minlength=len(self.ground.axes[a].labels))[low:high]
        return low + int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))

    def _after(self, chosen: Range, starts: tuple[int, ...]) -> list[Cut]:
        cut = tuple(sorted({*self.cuts[chosen[0]], *starts}))
        return [*self.cuts[: chosen[0]], cut, *self.cuts[chosen[0] + 1 :]]

    def _ranges(self, a: int, cut: Cut) -> Iterator[Range]:
        ends = (*cut[1:], len(self.ground.axes[a].labels))
        yield from ((a, low, high) for low, high in zip(cut, ends, strict=True) if high - low > 1)
