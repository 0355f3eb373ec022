"""Greedy cuts through taxonomies: from the root down while the promises hold, or from the leaves up
until they do.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import numpy as np
from pydantic import Field

from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.search_kind import SearchKind
from sfumato.core.step import Fineness, Goal, Span, Step
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.taxonomy.cut import (
    Cut,
    CutRecoding,
    Ground,
    best_split,
    bottommost,
    children_of,
    cut_recoding,
    gain,
    nodes_of,
    recode_columns,
    topmost,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema
    from sfumato.core.table import Table

    Ints = NDArray[np.int64]


Label = Annotated[
    str, COLUMNS, Field(min_length=1, description="column that classifiers will predict")
]


class _GreedyCut(Step, Protocol):
    """A step that cuts taxonomies greedily, so that a class label can still be predicted."""

    label: Any
    fineness: ClassVar[Fineness] = "none"

    @property
    def coarsens(self) -> bool:
        """Cells stand under nodes of their own hierarchy."""
        return True

    @property
    def span(self) -> Span:
        """It decides from counted combinations."""
        return Span.CLASSES

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """The quasi-identifiers, and the label that shall be predicted."""
        return (*schema.quasi, self.label)

    def apply(self, dataset: Table, plan: CutRecoding) -> Table:
        """Recode the columns."""
        return recode_columns(dataset, plan)


def _plan_of_cuts(
    ground: Ground, cuts: list[Cut], method: str, notes: dict[str, int]
) -> CutRecoding:
    """The cuts as a plan that suppresses nobody."""
    nobody = np.zeros(len(ground.classes), dtype=np.bool_)
    return cut_recoding(ground.classes, ground.axes, cuts, nobody, method=method, notes=notes)


@parameters
class TopDownSpecialization(_GreedyCut):
    r"""Specialise values, best first, as long as the promises hold, so that a class label can still
    be predicted.

    All columns begin at the top of their hierarchies. A *specialisation* replaces one value *v* by
    its children, everywhere in the table; other values of the column stay as they are. In each
    round the one with the highest

    .. math:: \mathrm{Score}(v) = \frac{\mathrm{InfoGain}(v)}{\mathrm{AnonyLoss}(v) + 1}

    is made among those after which every promise holds and whose records differ in their label.
    :math:`\mathrm{InfoGain}(v) = I(R_v) - \sum_c \frac{|R_c|}{|R_v|} I(R_c)` is what the children
    *c* tell about the label (*I*: entropy, *R*: records), and AnonyLoss by how much the smallest
    class shrinks. Numbers, dates and ordered values without a hierarchy are split in two where that
    gains most, between cells of a ``grid`` as with :class:`Mondrian`; other columns without a
    hierarchy stay as they are. Nothing is suppressed. A node of a hierarchy with a single child is
    passed over: it is released as its lowest form. Equal scores: the first column, then the first
    value in its order.

    Greedy: not optimal, but no further specialisation is possible. Reference: Fung, Wang & Yu 2005,
    doi:10.1109/ICDE.2005.143.
    """

    label: Label
    grid: Steps = Field(default_factory=dict)

    name: ClassVar[str] = "top_down_specialization"
    search_kinds: ClassVar[Mapping[str, SearchKind]] = {
        "": SearchKind("greedy", "top-down", "global", "hierarchy or partition")
    }
    retold: ClassVar[tuple[str, ...]] = ("grid",)

    def __post_init__(self) -> None:
        require_steps("TopDownSpecialization", self.grid)

    def contradicted(
        self, told: Mapping[str, Any], schema: Schema, records: int | None
    ) -> str | None:
        """That another grid was used."""
        return contradict_grid(self.name, told, self.grid)

    def plan(self, dataset: Table, goal: Goal) -> CutRecoding:
        """Specialise as far as the promises allow."""
        ground = Ground(dataset, goal, self.name, label=self.label, grid=self.grid)
        cuts = [topmost(axis) for axis in ground.axes]
        if not ground.holds(cuts):
            raise ground.refuse()
        search = _Specialising(ground, cuts)
        for share in search.run():
            goal.progress(share, "specialising")
        return _plan_of_cuts(
            ground, search.cuts, "top-down specialization", {"specialisations": search.made}
        )


@dataclasses.dataclass(frozen=True)
class _Specialization:
    """Replace the values of axis ``a`` from ``low`` up to ``high`` by the ranges that begin at
    ``starts`` besides.
    """

    a: int
    low: int
    high: int
    starts: tuple[int, ...]
    gain: float


class _Specialising:
    """The cuts so far, the class of every point under them, and what may be specialised next."""

    def __init__(self, ground: Ground, cuts: list[Cut]) -> None:
        self.ground = ground
        self.cuts = cuts
        self.made = 0
        self.sums = [ground.label_counts(a) for a in range(len(cuts))]
        self.inside = np.flatnonzero(ground.classes.records > 0)
        self.records = ground.classes.records[self.inside]
        self.monotone = all(m.monotone for m in ground.judge.models)
        self.candidates: list[_Specialization] = []
        for a, cut in enumerate(cuts):
            ends = (*cut[1:], len(ground.axes[a].labels))
            for low, high in zip(cut, ends, strict=True):
                self._consider(a, low, high)

    def run(self) -> Iterator[float]:
        """Make one specialisation after the other; yields how much of all values is
        distinguished.
        """
        values = sum(len(axis.labels) for axis in self.ground.axes)
        while (specialization := self._next()) is not None:
            self.made += 1
            self.candidates.remove(specialization)
            self.cuts = self._after(specialization)
            for low, high in itertools.pairwise(
                [specialization.low, *specialization.starts, specialization.high]
            ):
                self._consider(specialization.a, low, high)
            yield sum(map(len, self.cuts)) / values

    def _next(self) -> _Specialization | None:
        """The best candidate that keeps the promises; under monotone models one that does not never
        will.
        """
        ids, sizes = self._classes()
        scores = {
            c: round(c.gain / (self._anonymity_lost(c, ids, sizes) + 1), 12)
            for c in self.candidates
        }
        for candidate in sorted(self.candidates, key=lambda c: (-scores[c], c.a, c.low)):
            if self.ground.holds(self._after(candidate)):
                return candidate
            if self.monotone:
                self.candidates.remove(candidate)
        return None

    def _consider(self, a: int, low: int, high: int) -> None:
        """A range is a candidate when it has children and its records differ in their label."""
        sums = self.sums[a]
        axis = self.ground.axes[a]
        if high - low < 2 or ((sums[high] - sums[low]) > 0).sum() < 2:
            return
        if axis.form == "line":
            split = best_split(sums, low, high, axis.first)
            # values of one cell are parted each by itself, so that ranges do not overlap
            if split is None and axis.labels[high - 1] is not None:
                starts = tuple(range(low + 1, high))
            else:
                starts = ()
            if split is not None:
                starts = (split,)
        else:
            starts = children_of(axis, low, high)
        if starts:
            own_gain = gain(sums, [low, *starts, high])
            self.candidates.append(_Specialization(a, low, high=high, starts=starts, gain=own_gain))

    def _after(self, specialization: _Specialization) -> list[Cut]:
        points = {*self.cuts[specialization.a], *specialization.starts}
        cut = tuple(sorted(points))
        later_cuts = self.cuts[specialization.a + 1 :]
        return [*self.cuts[: specialization.a], cut, *later_cuts]

    def _classes(self) -> tuple[Ints, Ints]:
        """The class of every point with records, and the sizes of the classes."""
        _, ids = self.ground.merged(self.cuts)
        _, dense = np.unique(ids[self.inside], return_inverse=True)
        return dense, np.bincount(dense, weights=self.records).astype(np.int64)

    def _anonymity_lost(self, c: _Specialization, ids: Ints, sizes: Ints) -> int:
        """By how much the smallest class shrinks."""
        ranks = self.ground.ranks[c.a][self.inside]
        member = (ranks >= c.low) & (ranks < c.high)
        part = np.searchsorted(np.array(c.starts), ranks[member], side="right")
        keys = ids[member] * (len(c.starts) + 1) + part
        _, dense = np.unique(keys, return_inverse=True)
        split = np.bincount(dense, weights=self.records[member])
        touched = np.zeros(len(sizes), dtype=np.bool_)
        touched[ids[member]] = True
        untouched = sizes[~touched]
        if len(untouched):
            smallest_untouched = int(untouched.min())
        else:
            smallest_untouched = int(sizes.max())
        smallest = min(int(split.min()), smallest_untouched)
        return int(sizes.min()) - smallest


# Bottom-up generalization: begin with all values and give up what a classifier misses least.


@parameters
class BottomUpGeneralization(_GreedyCut):
    r"""Generalise values until the promises hold, those first that cost little information for much
    anonymity.

    A *generalization* replaces all children *c* of a node *p* of a hierarchy by *p*, everywhere in
    the table; other values of the column stay as they are. In each round the one with the lowest

    .. math:: \mathrm{IP}(p) = \mathrm{InfoLoss}(p) / \mathrm{AnonyGain}(p)

    is made, :math:`\mathrm{InfoLoss}(p) = I(R_p) - \sum_c \frac{|R_c|}{|R_p|} I(R_c)` with *I* the
    entropy of the class label in the records *R*, and AnonyGain by how much the smallest class
    grows. Where none makes it grow, the one that loses least information is made. Columns without a
    hierarchy stay as they are, nothing is suppressed. Equal ones: the first column, then the first
    value in its order.

    Greedy: not optimal, and it may generalise more than is needed. Reference: Wang, Yu &
    Chakraborty 2004, doi:10.1109/ICDM.2004.10110.
    """

    label: Label

    name: ClassVar[str] = "bottom_up_generalization"
    search_kinds: ClassVar[Mapping[str, SearchKind]] = {
        "": SearchKind("greedy", "bottom-up", "global", "hierarchy or partition")
    }

    def plan(self, dataset: Table, goal: Goal) -> CutRecoding:
        """Generalise until the promises hold."""
        ground = Ground(dataset, goal, self.name, label=self.label)
        search = _Generalising(ground)
        for share in search.run():
            goal.progress(share, "generalising")
        return _plan_of_cuts(
            ground, search.cuts, "bottom-up generalization", {"generalizations": search.made}
        )


@dataclasses.dataclass(frozen=True)
class _Generalization:
    """Join the ranges of axis ``a`` from ``low`` up to ``high``, of which all but the first begin
    at ``starts``.
    """

    a: int
    low: int
    high: int
    starts: tuple[int, ...]
    loss: float


class _Generalising:
    """The cuts so far, and all nodes that may be generalised to once all their children are
    there.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.made = 0
        self.cuts: list[Cut] = [bottommost(axis) for axis in ground.axes]
        self.nodes: list[_Generalization] = []
        for a, axis in enumerate(ground.axes):
            sums = ground.label_counts(a)
            self.nodes += [
                _Generalization(a, low, high=high, starts=s, loss=gain(sums, [low, *s, high]))
                for low, high, s in nodes_of(axis)
            ]
        self.nodes.sort(key=lambda node: (node.a, node.low, node.high))

    def run(self) -> Iterator[float]:
        """Make one generalization after the other until all promises hold; yields how many of all
        were made.
        """
        everything = max(1, len(self.nodes))
        while not self.ground.holds(self.cuts):
            generalization = self._next()
            if generalization is None:
                raise self.ground.refuse(forms=("tree",))
            self.made += 1
            self.nodes.remove(generalization)
            self.cuts = self._after(generalization)
            yield self.made / everything

    def _next(self) -> _Generalization | None:
        """The best node whose children are all there."""
        ready = [node for node in self.nodes if self._ready(node)]
        ids, sizes = self._classes(self.cuts)
        gains = [self._anonymity_gained(node, ids, sizes) for node in ready]
        helping = []
        for i, (n, gained) in enumerate(zip(ready, gains, strict=True)):
            if gained:
                helping.append((round(n.loss / gained, 12), i))
        ranked = helping or [(round(node.loss, 12), i) for i, node in enumerate(ready)]
        if not ranked:
            return None
        return ready[min(ranked)[1]]

    def _ready(self, node: _Generalization) -> bool:
        inner_starts = tuple(s for s in self.cuts[node.a] if node.low < s < node.high)
        return inner_starts == node.starts

    def _after(self, node: _Generalization) -> list[Cut]:
        cut = tuple(s for s in self.cuts[node.a] if s not in node.starts)
        later_cuts = self.cuts[node.a + 1 :]
        return [*self.cuts[: node.a], cut, *later_cuts]

    def _classes(self, cuts: list[Cut]) -> tuple[Ints, Ints]:
        """The class of every point of the table, and how many records each class has."""
        table, ids = self.ground.merged(cuts)
        return ids, table.records

    def _anonymity_gained(self, node: _Generalization, ids: Ints, sizes: Ints) -> int:
        """By how much the smallest class grows."""
        ranks = self.ground.ranks[node.a]
        smallest = sizes[sizes > 0].min()
        outside = (ranks < node.low) | (ranks >= node.high)
        if (sizes[ids[outside]] == smallest).any():  # a smallest class that stays as it is
            return 0
        _, merged = self._classes(self._after(node))
        return int(merged[merged > 0].min() - smallest)
