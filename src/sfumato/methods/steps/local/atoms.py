"""The ground local recoding works on: hierarchies laid out for loops, and the records no model can
distinguish.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
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

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

MOST_NODES, WORK = 20_000, 2_000_000_000
"""Nodes of the lattice whose cells are tried, and nodes times classes; a larger lattice is thinned
out.
"""


@dataclasses.dataclass(frozen=True)
class Atoms:
    """Records that no model can distinguish: equal quasi-identifiers and equal values of all
    counted columns.

    ``codes[i, a]`` is the code of quasi-identifier *a* at level 0, ``amounts`` the number of
    records, ``values`` the code of each counted column, ``weights`` the sum of survey weights where
    a model asks for it. ``columns`` and ``placement`` say how rows are packed to find their atom by
    ``keys``.
    """

    columns: tuple[str, ...]
    placement: Placement
    keys: NDArray[np.uint64]
    codes: Ints
    amounts: Ints
    values: Mapping[Column, Ints]
    base: ClassTable
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.amounts)

    def table(
        self,
        atoms: Ints,
        amounts: Ints,
        groups: Ints,
        count: int,
    ) -> ClassTable:
        """The classes that form when some records of some atoms go to groups; their keys mean
        nothing.

        A part of an atom brings its share of the survey weights.
        """
        # Each part of an atom has one value of a counted column: row p holds entry p alone.
        rows = np.arange(len(atoms) + 1)
        counts: dict[Column, Counts] = {}
        for name, codes in self.values.items():
            own = self.base.counts[name]
            merged = kernels.keys.merge_counts(
                rows, codes[atoms], amounts, groups, count, max(1, len(own.labels))
            )
            starts, merged_codes, merged_amounts = merged
            counts[name] = Counts(
                starts,
                merged_codes,
                counts=merged_amounts,
                labels=own.labels,
                worked_out=own.worked_out,
            )
        weights = None
        if self.weights is not None:
            part_weights = self.weights[atoms] * (amounts / self.amounts[atoms])
            weights = kernels.keys.add_up(part_weights, groups, count)
        records = kernels.keys.add_up(amounts, groups, count)
        return dataclasses.replace(
            self.base,
            keys=np.zeros((count, 1), dtype=np.uint64),
            records=records,
            counts=counts,
            weights=weights,
        )


def atoms_of(dataset: Table, lattice: Lattice) -> Atoms:
    """The atoms of a table under the models of a lattice; without counted columns they are its
    classes.
    """
    base = lattice.base
    # a counted column may be several together: their values are distinguished one by one
    extras = dict.fromkeys(chain.from_iterable(map(parts_of, base.counts)))
    if extras:
        return _finer_atoms(dataset, base, [c for c in extras if c not in base.columns])
    placement = Placement(base.ladders, base.levels, base.layout)
    # Classes that only a population has hold no records of the table.
    occupied = base.records > 0
    weights = None if base.weights is None else base.weights[occupied]
    return Atoms(
        base.columns,
        placement,
        keys=base.keys[occupied],
        codes=_codes(base, occupied),
        amounts=base.records[occupied],
        values={},
        base=base,
        weights=weights,
    )


def _codes(base: ClassTable, occupied: NDArray[np.bool_]) -> Ints:
    return np.stack([base.codes(name)[occupied] for name in base.columns], axis=1)


def _finer_atoms(dataset: Table, base: ClassTable, extras: Sequence[str]) -> Atoms:
    columns = (*base.columns, *extras)
    ladders = list(base.ladders)
    for name in extras:
        encoded = dataset.encoded(name)
        ladders.append(bind(None, encoded.labels, encoded.counts.tolist()))
    sizes = [len(ladder.labels[0]) for ladder in ladders]
    placement = Placement(tuple(ladders), (0,) * len(ladders), Layout.of(sizes))
    keys, _ = pack_rows(dataset, columns, placement)
    ids, first = kernels.keys.group(keys)
    # Atoms by their key, whatever order the rows have.
    order = np.lexsort(keys[first].T)
    first_rows = first[order]
    layout = placement.layout
    codes = []
    for a in range(len(base.columns)):
        codes.append(
            kernels.keys.field_codes(
                keys[first_rows], layout.words[a], layout.shifts[a], layout.widths[a]
            )
        )
    weights = None
    if base.weights is not None:
        row_weights = survey_weights(dataset, weight_column(dataset.schema))
        weights = kernels.keys.add_up(row_weights, ids, len(first))[order]
    row_amounts = tallied(ids, len(first), dataset.copies)[order]
    value_codes = {
        name: encode_column(dataset, name).codes[first_rows].astype(np.int64)
        for name in base.counts
    }
    return Atoms(
        columns=columns,
        placement=placement,
        keys=keys[first_rows],
        codes=np.stack(codes, axis=1),
        amounts=row_amounts,
        values=value_codes,
        base=base,
        weights=weights,
    )


@dataclasses.dataclass(frozen=True)
class Terrain:
    """The hierarchies of a lattice in flat arrays, addressed by
    ``bases[column, level] + code at level 0``.

    ``climbs`` hold the code at the level, ``marks`` a 64-bit number of that node, ``costs`` its
    weighted cost.
    """

    lattice: Lattice
    bases: Ints
    climbs: Ints
    marks: NDArray[np.uint64]
    costs: Floats
    low: Ints
    high: Ints

    @classmethod
    def of(cls, lattice: Lattice) -> Terrain:
        """Lay out the hierarchies of a lattice."""
        ladders = lattice.base.ladders
        bases = np.zeros((len(ladders), max(ladder.depth for ladder in ladders)), dtype=np.int64)
        climbs = []
        marks = []
        costs = []
        offset = 0
        nodes = 0
        # One flat array for all columns and levels: kernels index it by bases[a, level] + code.
        for a, ladder in enumerate(ladders):
            for level in range(ladder.depth):
                climb = ladder.climb(0, level)
                bases[a, level] = offset
                climbs.append(climb)
                # The marks of a cell's nodes are added up to a 64-bit name of the cell.
                marks.append(_scatter_bits(climb + nodes))
                loss_of_codes = ladder.loss[level][climb]
                costs.append(loss_of_codes * lattice.weights[a])
                offset += len(climb)
                nodes += len(ladder.labels[level])
        flat = (np.concatenate(climbs), np.concatenate(marks), np.concatenate(costs))
        return cls(lattice, bases, *flat, np.array(lattice.low), np.array(lattice.high))

    @cached_property
    def nodes(self) -> tuple[Ints, Floats]:
        """Nodes of the lattice, the cheapest first, and the mean cost of a cell there."""
        means = [np.array(sums) / max(1, self.lattice.records) for sums in self.lattice.totals]
        limit = min(MOST_NODES, WORK // max(1, len(self.lattice.base)))
        levels = _thin_levels(
            [list(range(lo, hi + 1)) for lo, hi in zip(self.low, self.high, strict=True)], limit
        )
        grid = np.stack([part.ravel() for part in np.meshgrid(*levels, indexing="ij")], axis=1)
        cost = np.zeros(len(grid))
        for a, mean in enumerate(means):
            cost += self.lattice.weights[a] * mean[grid[:, a]]
        # Cheapest first; equal costs by the sum of levels, then level by level.
        order = np.lexsort((*grid.T[::-1], grid.sum(axis=1), cost))
        return grid[order], cost[order]


def _scatter_bits(numbers: Ints) -> NDArray[np.uint64]:
    """Numbers spread over 64 bits (the finalizer of splitmix64)."""
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def _thin_levels(levels: list[list[int]], limit: int) -> list[list[int]]:
    """Leave out inner levels, then lowest ones, until the nodes are few enough; the longest ladders
    give way first.

    >>> _thin_levels([[0, 1, 2, 3], [0, 1]], 6)
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

    atoms: Ints
    regions: Ints
    amounts: Ints

    @classmethod
    def joined(cls, pieces: list[Parts]) -> Parts:
        """Several lists of parts one after the other."""
        return cls(
            np.concatenate([piece.atoms for piece in pieces]),
            np.concatenate([piece.regions for piece in pieces]),
            np.concatenate([piece.amounts for piece in pieces]),
        )

    def tidy(self) -> Parts:
        """Parts in the order of regions, regions numbered from 0 without gaps, equal parts added
        up.
        """
        nonempty = (self.amounts > 0) & (self.regions >= 0)
        _, regions = np.unique(self.regions[nonempty], return_inverse=True)
        # Columns of the pairs are sorted by region, then by atom.
        pair_columns = np.stack([regions, self.atoms[nonempty]])
        pairs, which = np.unique(pair_columns, axis=1, return_inverse=True)
        amounts = np.bincount(
            which.ravel(), weights=self.amounts[nonempty], minlength=pairs.shape[1]
        )
        return Parts(pairs[1], pairs[0], amounts.astype(np.int64))

    @property
    def count(self) -> int:
        """Number of regions of tidy parts."""
        if not len(self.regions):
            return 0
        return int(self.regions[-1]) + 1

    def starts(self) -> Ints:
        """Where each region of tidy parts begins, and the end."""
        return np.searchsorted(self.regions, np.arange(self.count + 1)).astype(np.int64)

    def left(self, atoms: Atoms) -> Ints:
        """Records of each atom that go nowhere."""
        placed = np.bincount(self.atoms, weights=self.amounts, minlength=len(atoms)).astype(
            np.int64
        )
        remaining: Ints = atoms.amounts - placed
        return remaining


@dataclasses.dataclass(frozen=True)
class Outline:
    """The cells of regions: ``levels[region, column]`` above the codes of ``members[region]``, any
    of its atoms.
    """

    levels: Ints
    members: Ints

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

    def costs(self, atoms: Atoms, terrain: Terrain) -> Floats:
        """Weighted cost of a record in each region."""
        costs = np.zeros(len(self.members))
        for a in range(self.levels.shape[1]):
            nodes = terrain.bases[a, self.levels[:, a]]
            costs += terrain.costs[nodes + atoms.codes[self.members, a]]
        return costs


def cost_of(parts: Parts, shape: Outline, atoms: Atoms, terrain: Terrain) -> float:
    """Weighted mean cost of a record; one that is not released costs 1."""
    total = int(atoms.amounts.sum())
    if not total:
        return 0.0
    sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
    cost_of_regions = sizes @ shape.costs(atoms, terrain) + total
    return float((cost_of_regions - sizes.sum()) / total)
