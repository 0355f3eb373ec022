"""Bottom-up generalization: begin with all values and give up what a classifier misses least."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.step import Fineness, Goal, Step
from sfumato.steps.taxonomy.cut import Cut, CutRecoding, bottommost, cut_recoding, gain, nodes_of, recode_columns
from sfumato.steps.taxonomy.ground import Ground

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


@parameters
class BottomUpGeneralization(Step):
    r"""Generalise values until the promises hold, those first that cost little information for much anonymity.

    A *generalization* replaces all children *c* of a node *p* of a hierarchy by *p*, everywhere in the table; other values of
    the column stay as they are. In each round the one with the lowest

    .. math:: \mathrm{IP}(p) = \mathrm{InfoLoss}(p) / \mathrm{AnonyGain}(p)

    is made, :math:`\mathrm{InfoLoss}(p) = I(R_p) - \sum_c \frac{|R_c|}{|R_p|} I(R_c)` with *I* the entropy of the class label
    in the records *R*, and AnonyGain by how much the smallest class grows. Where none makes it grow, the one that loses
    least information is made. Columns without a hierarchy stay as they are, nothing is suppressed. Equal ones: the
    first column, then the first value in its order.

    Greedy: not optimal, and it may generalise more than is needed. Reference: Wang, Yu & Chakraborty 2004,
    doi:10.1109/ICDM.2004.10110.
    """

    label: Annotated[str, Field(min_length=1, description="column that classifiers will predict")]

    name: ClassVar[str] = "bottom_up_generalization"
    fineness: ClassVar[Fineness] = "none"

    def plan(self, dataset: Dataset, goal: Goal) -> CutRecoding:
        """Generalise until the promises hold."""
        ground = Ground(dataset, goal, self.name, label=self.label)
        search = _Generalising(ground)
        for done in search.run():
            goal.progress(done, "generalising")
        return cut_recoding(
            ground.classes,
            ground.axes,
            search.cuts,
            np.zeros(len(ground.classes), dtype=np.bool_),
            method="bottom-up generalization",
            notes={"generalizations": search.made},
        )

    def apply(self, dataset: Dataset, plan: CutRecoding) -> Dataset:
        """Recode the columns."""
        return recode_columns(dataset, plan)


@dataclasses.dataclass(frozen=True)
class _Candidate:
    """Join the ranges of axis ``a`` from ``low`` up to ``high``, of which all but the first begin at ``starts``."""

    a: int
    low: int
    high: int
    starts: tuple[int, ...]
    loss: float


class _Generalising:
    """The cuts so far, and all nodes that may be generalised to once all their children are there."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.made = ground, 0
        self.cuts: list[Cut] = [bottommost(axis) for axis in ground.axes]
        self.nodes: list[_Candidate] = []
        for a, axis in enumerate(ground.axes):
            sums = ground.label_counts(a)
            self.nodes += [_Candidate(a, low, high, s, gain(sums, [low, *s, high])) for low, high, s in nodes_of(axis)]
        self.nodes.sort(key=lambda node: (node.a, node.low, node.high))

    def run(self) -> Iterator[float]:
        """Make one generalization after the other until all promises hold; yields how many of all were made."""
        everything = max(1, len(self.nodes))
        while not self.ground.holds(self.cuts):
            chosen = self._next()
            if chosen is None:
                raise self.ground.refuse(forms=("tree",))
            self.made += 1
            self.nodes.remove(chosen)
            self.cuts = self._after(chosen)
            yield self.made / everything

    def _next(self) -> _Candidate | None:
        """The best node whose children are all there."""
        ready = [node for node in self.nodes if self._ready(node)]
        ids, sizes = self._classes(self.cuts)
        gains = [self._anonymity_gained(node, ids, sizes) for node in ready]
        helping = [(round(n.loss / more, 12), i) for i, (n, more) in enumerate(zip(ready, gains, strict=True)) if more]
        ranked = helping or [(round(node.loss, 12), i) for i, node in enumerate(ready)]
        return ready[min(ranked)[1]] if ranked else None

    def _ready(self, node: _Candidate) -> bool:
        return tuple(s for s in self.cuts[node.a] if node.low < s < node.high) == node.starts

    def _after(self, node: _Candidate) -> list[Cut]:
        cut = tuple(s for s in self.cuts[node.a] if s not in node.starts)
        return [*self.cuts[: node.a], cut, *self.cuts[node.a + 1 :]]

    def _classes(self, cuts: list[Cut]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The class of every point of the table, and how many records each class has."""
        table, ids = self.ground.merged(cuts)
        return ids, table.records

    def _anonymity_gained(self, node: _Candidate, ids: NDArray[np.int64], sizes: NDArray[np.int64]) -> int:
        """By how much the smallest class grows."""
        ranks = self.ground.ranks[node.a]
        smallest = sizes[sizes > 0].min()
        outside = (ranks < node.low) | (ranks >= node.high)
        if (sizes[ids[outside]] == smallest).any():  # a smallest class that stays as it is
            return 0
        _, merged = self._classes(self._after(node))
        return int(merged[merged > 0].min() - smallest)
