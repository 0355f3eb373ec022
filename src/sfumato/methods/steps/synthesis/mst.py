r"""MST: noisy counts of every column and of a tree of pairs.

A third of ρ each goes to the counts of single columns, to the choice of d − 1 pairs that join all
columns, and to the counts of these pairs. Values of a column that hardly occur are merged before
pairs are looked at, so that noise on empty cells does not drown the others.

Reference: McKenna, Miklau & Sheldon 2021, doi:10.29012/jpc.778.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.methods.steps.synthesis.noisy_counts import (
    Clique,
    NoisyMarginal,
    OpenMarginal,
    PrivateTable,
    noisy_total,
    on_simplex,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

MERGED_BELOW = 3.0
"""Values whose noisy count is below so many standard deviations of the noise are merged."""
MOST_CELLS = 5_000_000
"""Pairs with more cells than this are not looked at."""


@dataclasses.dataclass(frozen=True, eq=False)
class Merging:
    """Cells of a column → fewer cells: those that hardly occur share the last."""

    cell: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, single: NoisyMarginal) -> Merging:
        """Merge the cells of a column whose noisy counts are below 3σ; a single one stays by
        itself.

        >>> Merging.of(NoisyMarginal(("a",), np.array([90.0, 2.0, -1.0]), 1.0)).cell.tolist()
        [0, 1, 1]
        """
        # Noise of deviation σ hides counts below 3σ; merged they are one cell above it.
        rare = single.counts < MERGED_BELOW * single.sigma
        if rare.sum() < 2:
            return cls(np.arange(len(rare)), len(rare))
        frequent_cells = int((~rare).sum())
        new_numbers = np.cumsum(~rare) - 1
        return cls(np.where(rare, frequent_cells, new_numbers), frequent_cells + 1)

    def applied(self, single: NoisyMarginal) -> NoisyMarginal:
        """The counts of the merged cells: sums, whose noise has so many times the variance."""
        cells_merged = np.bincount(self.cell, minlength=self.size).astype(np.float64)
        counts = np.bincount(self.cell, single.counts, minlength=self.size).astype(np.float64)
        return NoisyMarginal(single.clique, counts, single.sigma, merged=cells_merged)

    def parted(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Cells of before for merged ones: one of those that were merged, all equally likely."""
        order = np.argsort(self.cell, kind="stable")
        cells_merged = np.bincount(self.cell, minlength=self.size)
        # Merged cells stand side by side in the order; one of them is picked by its offset.
        first = np.cumsum(cells_merged) - cells_merged
        picked = first[cells] + rng.integers(0, cells_merged[cells])
        return np.asarray(order[picked], dtype=np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class TreeMeasured:
    """What was measured: all there is to know for a model; ``merging`` says what its cells stand
    for.
    """

    measured: tuple[NoisyMarginal, ...]
    total: float
    sizes: Mapping[str, int]
    merging: Mapping[str, Merging]


def thirds(rho: Fraction, columns: int) -> tuple[Fraction, Fraction, Fraction]:
    """What one single column, one choice and one pair cost; a table of one column spends all on
    it.
    """
    if columns == 1:
        return rho, Fraction(0), Fraction(0)
    return rho / 3 / columns, rho / 3 / (columns - 1), rho / 3 / (columns - 1)


def choose_and_measure(table: PrivateTable) -> TreeMeasured:
    """Measure every column and a tree of pairs; spends all of the table's ρ."""
    rho_single, choice, pair = thirds(table.rho, len(table.columns))
    singles = [table.measure((name,), rho_single) for name in table.columns]
    total = noisy_total(singles)
    merging = {}
    coarse = []
    alone = {}
    for name, single in zip(table.columns, singles, strict=True):
        merging[name] = Merging.of(single)
        merged = merging[name].applied(single)
        coarse.append(merged)
        alone[name] = on_simplex(merged.counts, total, merged.merged)
    sizes = {name: column.size for name, column in merging.items()}
    small = table.merged({name: column.cell for name, column in merging.items()}, sizes)
    edges = tree_of_pairs(small, alone, total, choice)
    pairs = [small.measure(edge, pair) for edge in edges]
    return TreeMeasured((*coarse, *pairs), total, sizes, merging)


def tree_of_pairs(
    table: PrivateTable, alone: Mapping[str, NDArray[np.float64]], total: float, rho: Fraction
) -> list[Clique]:
    """Pairs that join all columns, one after another: those that differ most from independence are
    the likeliest.
    """
    part = {name: number for number, name in enumerate(table.columns)}
    edges: list[Clique] = []
    # Kruskal's scheme with private choices: an edge between two parts joins them, until one is
    # left.
    while open_pairs := _joining(table, part):
        candidates = [OpenMarginal(pair, _independent(alone, pair, total)) for pair in open_pairs]
        edges.append(table.select(candidates, rho).clique)
        first_part, second_part = (part[name] for name in edges[-1])
        for name, number in part.items():
            if number == second_part:
                part[name] = first_part
    return edges


def _joining(table: PrivateTable, part: Mapping[str, int]) -> Sequence[Clique]:
    pairs = itertools.combinations(table.columns, 2)
    return [(a, b) for a, b in pairs if part[a] != part[b] and table.size((a, b)) <= MOST_CELLS]


def _independent(
    alone: Mapping[str, NDArray[np.float64]], pair: Clique, total: float
) -> NDArray[np.float64]:
    expected = np.outer(alone[pair[0]], alone[pair[1]])
    return expected.ravel() / total
