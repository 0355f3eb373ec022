"""The ground local recoding works on: hierarchies laid out for loops, and the records no model can
tell apart.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.classes import ClassTable, Counts, Layout, Placement, pack_rows, survey_weights
from sfumato.core.encoding import Column, encode_column, parts_of, tallied
from sfumato.core.hierarchy import bind
from sfumato.core.population import weight_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.methods.steps.recoding.lattice import Lattice

MOST_NODES, WORK = 20_000, 2_000_000_000
"""Nodes of the lattice whose cells are tried, and nodes times classes; a larger lattice is thinned
out.
"""


@dataclasses.dataclass(frozen=True)
class Atoms:
    """Records that no model can tell apart: equal quasi-identifiers and equal values of all counted
    columns.

    ``codes[i, a]`` is the code of quasi-identifier *a* at level 0, ``amounts`` the number of
    records, ``values`` the code of each counted column, ``weights`` the sum of survey weights where
    a model asks for it. ``columns`` and ``placement`` say how rows are packed to find their atom by
    ``keys``.
    """

    columns: tuple[str, ...]
    placement: Placement
    keys: NDArray[np.uint64]
    codes: NDArray[np.int64]
    amounts: NDArray[np.int64]
    values: Mapping[Column, NDArray[np.int64]]
    base: ClassTable
    weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.amounts)

    def table(
        self,
        atoms: NDArray[np.int64],
        amounts: NDArray[np.int64],
        groups: NDArray[np.int64],
        count: int,
    ) -> ClassTable:
        """The classes that form when some records of some atoms go to groups; their keys mean
        nothing.

        A part of an atom brings its share of the survey weights.
        """
        rows = np.arange(len(atoms) + 1)
        counts: dict[Column, Counts] = {}
        for name, codes in self.values.items():
            own = self.base.counts[name]
            merged = kernels.keys.merge_counts(
                rows, codes[atoms], amounts, groups, count, max(1, len(own.labels))
            )
            starts, merged_codes, merged_amounts = merged
            counts[name] = Counts(starts, merged_codes, merged_amounts, own.labels, own.worked_out)
        return dataclasses.replace(
            self.base,
            keys=np.zeros((count, 1), dtype=np.uint64),
            records=kernels.keys.add_up(amounts, groups, count),
            counts=counts,
            weights=(
                None
                if self.weights is None
                else kernels.keys.add_up(
                    self.weights[atoms] * (amounts / self.amounts[atoms]), groups, count
                )
            ),
        )


def atoms_of(dataset: Table, lattice: Lattice) -> Atoms:
    """The atoms of a table under the models of a lattice; without counted columns they are its
    classes.
    """
    base = lattice.base
    extras = tuple(dict.fromkeys(part for name in base.counts for part in parts_of(name)))
    if extras:
        return _finer_atoms(dataset, base, tuple(c for c in extras if c not in base.columns))
    placement = Placement(base.ladders, base.levels, base.layout)
    occupied = base.records > 0
    weights = None if base.weights is None else base.weights[occupied]
    return Atoms(
        base.columns,
        placement,
        base.keys[occupied],
        _codes(base, occupied),
        base.records[occupied],
        {},
        base,
        weights,
    )


def _codes(base: ClassTable, occupied: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.stack([base.codes(name)[occupied] for name in base.columns], axis=1)


def _finer_atoms(dataset: Table, base: ClassTable, extras: Sequence[str]) -> Atoms:
    columns = (*base.columns, *extras)
    ladders = [
        bind(None, e.labels, e.counts.tolist()) for e in (dataset.encoded(name) for name in extras)
    ]
    placement = _placement((*base.ladders, *ladders))
    keys, _ = pack_rows(dataset, columns, placement)
    ids, first = kernels.keys.group(keys)
    order = np.lexsort(keys[first].T)
    first_rows = first[order]
    layout = placement.layout
    quasi = range(len(base.columns))
    weights = (
        None if base.weights is None else survey_weights(dataset, weight_column(dataset.schema))
    )
    codes = [
        kernels.keys.field_codes(
            keys[first_rows], layout.words[a], layout.shifts[a], layout.widths[a]
        )
        for a in quasi
    ]
    return Atoms(
        columns=columns,
        placement=placement,
        keys=keys[first_rows],
        codes=np.stack(codes, axis=1),
        amounts=tallied(ids, len(first), dataset.copies)[order],
        values={
            name: encode_column(dataset, name).codes[first_rows].astype(np.int64)
            for name in base.counts
        },
        base=base,
        weights=None if weights is None else kernels.keys.add_up(weights, ids, len(first))[order],
    )


def _placement(ladders: tuple[object, ...]) -> Placement:
    sizes = [len(ladder.labels[0]) for ladder in ladders]  # type: ignore[attr-defined]
    return Placement(ladders, (0,) * len(ladders), Layout.of(sizes))  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Terrain:
    """The hierarchies of a lattice in flat arrays, addressed by
    ``bases[column, level] + code at level 0``.

    ``climbs`` hold the code at the level, ``marks`` a 64-bit number of that node, ``costs`` its
    weighted cost.
    """

    lattice: Lattice
    bases: NDArray[np.int64]
    climbs: NDArray[np.int64]
    marks: NDArray[np.uint64]
    costs: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, lattice: Lattice) -> Terrain:
        """Lay out the hierarchies of a lattice."""
        ladders = lattice.base.ladders
        bases = np.zeros((len(ladders), max(ladder.depth for ladder in ladders)), dtype=np.int64)
        climbs, marks, costs, offset, nodes = [], [], [], 0, 0
        for a, ladder in enumerate(ladders):
            for level in range(ladder.depth):
                climb = ladder.climb(0, level)
                bases[a, level] = offset
                climbs.append(climb)
                marks.append(_scattered(climb + nodes))
                costs.append(ladder.loss[level][climb] * lattice.weights[a])
                offset, nodes = offset + len(climb), nodes + len(ladder.labels[level])
        flat = (np.concatenate(climbs), np.concatenate(marks), np.concatenate(costs))
        return cls(lattice, bases, *flat, np.array(lattice.low), np.array(lattice.high))

    @cached_property
    def nodes(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Nodes of the lattice, the cheapest first, and the mean cost of a cell there."""
        means = [np.array(sums) / max(1, self.lattice.records) for sums in self.lattice.totals]
        limit = min(MOST_NODES, WORK // max(1, len(self.lattice.base)))
        levels = _thinned(
            [list(range(lo, hi + 1)) for lo, hi in zip(self.low, self.high, strict=True)], limit
        )
        grid = np.stack([part.ravel() for part in np.meshgrid(*levels, indexing="ij")], axis=1)
        cost = np.zeros(len(grid))
        for a, mean in enumerate(means):
            cost += self.lattice.weights[a] * mean[grid[:, a]]
        order = np.lexsort((*grid.T[::-1], grid.sum(axis=1), cost))
        return grid[order], cost[order]


def _scattered(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Numbers spread over 64 bits (the finalizer of splitmix64)."""
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def _thinned(levels: list[list[int]], limit: int) -> list[list[int]]:
    """Leave out inner levels, then lowest ones, until the nodes are few enough; the longest ladders
    give way first.

    >>> _thinned([[0, 1, 2, 3], [0, 1]], 6)
    [[0, 1, 3], [0, 1]]
    """
    levels = [list(column) for column in levels]
    while math.prod(len(column) for column in levels) > limit:
        longest = max(levels, key=len)
        if len(longest) < 2:
            break
        del longest[len(longest) // 2 if len(longest) > 2 else 0]
    return levels


# Who goes where: the parts of atoms that make up regions, and the cells these regions release.


@dataclasses.dataclass(frozen=True)
class Parts:
    """``amounts[p]`` records of atom ``atoms[p]`` go to ``regions[p]``; what no part names is not
    released.
    """

    atoms: NDArray[np.int64]
    regions: NDArray[np.int64]
    amounts: NDArray[np.int64]

    @classmethod
    def joined(cls, pieces: list[Parts]) -> Parts:
        """Several lists of parts one after the other."""
        fields = ("atoms", "regions", "amounts")
        return cls(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in fields))

    def tidy(self) -> Parts:
        """Parts in the order of regions, regions numbered from 0 without gaps, equal parts added
        up.
        """
        nonempty = (self.amounts > 0) & (self.regions >= 0)
        _, regions = np.unique(self.regions[nonempty], return_inverse=True)
        pairs, which = np.unique(
            np.stack([regions, self.atoms[nonempty]]), axis=1, return_inverse=True
        )
        amounts = np.bincount(
            which.ravel(), weights=self.amounts[nonempty], minlength=pairs.shape[1]
        )
        return Parts(pairs[1], pairs[0], amounts.astype(np.int64))

    @property
    def count(self) -> int:
        """Number of regions of tidy parts."""
        return int(self.regions[-1]) + 1 if len(self.regions) else 0

    def starts(self) -> NDArray[np.int64]:
        """Where each region of tidy parts begins, and the end."""
        return np.searchsorted(self.regions, np.arange(self.count + 1)).astype(np.int64)

    def left(self, atoms: Atoms) -> NDArray[np.int64]:
        """Records of each atom that go nowhere."""
        placed = np.bincount(self.atoms, weights=self.amounts, minlength=len(atoms)).astype(
            np.int64
        )
        remaining: NDArray[np.int64] = atoms.amounts - placed
        return remaining


@dataclasses.dataclass(frozen=True)
class Outline:
    """The cells of regions: ``levels[region, column]`` above the codes of ``members[region]``, any
    of its atoms.
    """

    levels: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def tightest(cls, parts: Parts, atoms: Atoms, terrain: Terrain) -> Outline:
        """The lowest cells that cover what tidy parts hold."""
        starts = parts.starts()
        levels = kernels.local.find_common_levels(
            atoms.codes,
            parts.atoms,
            starts,
            terrain.climbs,
            terrain.bases,
            terrain.low,
            terrain.high,
        )
        return cls(levels, parts.atoms[starts[:-1]])

    def costs(self, atoms: Atoms, terrain: Terrain) -> NDArray[np.float64]:
        """Weighted cost of a record in each region."""
        costs = np.zeros(len(self.members))
        for a in range(self.levels.shape[1]):
            costs += terrain.costs[
                terrain.bases[a, self.levels[:, a]] + atoms.codes[self.members, a]
            ]
        return costs


def cost_of(parts: Parts, shape: Outline, atoms: Atoms, terrain: Terrain) -> float:
    """Weighted mean cost of a record; one that is not released costs 1."""
    total = int(atoms.amounts.sum())
    if not total:
        return 0.0
    sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
    return float((sizes @ shape.costs(atoms, terrain) + total - sizes.sum()) / total)
