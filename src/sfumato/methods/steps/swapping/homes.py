"""Households at risk in their area, and the households elsewhere that take their place."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.design import units_of
from sfumato.errors import SchemaError
from sfumato.methods.steps.swapping.carriers import Carriers, carriers_by
from sfumato.methods.steps.swapping.record_groups import codes_of, combine_codes, round_at_random

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int64]

HEAVIEST = 1 << 36
"""The weight of a household with risk 1; 2²⁷ of them still add up within a word."""


def households_of(dataset: Table, constant: Sequence[str], step: str) -> Carriers:
    """The households, within which some columns must be constant."""
    units = units_of(dataset, "household")
    if units is None:
        raise SchemaError(f"{step} needs to know the households: give their column role household")
    homes = carriers_by(dataset, units, "household")
    varying = [name for name in constant if not homes.carry(dataset.encoded(name).codes)]
    if varying:
        raise SchemaError(
            f"{step}: members of a household must agree in {', '.join(varying)}; "
            "make columns of the household from them first"
        )
    return homes


@dataclasses.dataclass(frozen=True, eq=False)
class Homes:
    """Households with their areas and the fewest people like one of their members, per level of
    geography.

    ``profiles`` are the codes of each list of similar columns. Households that lack an area stay
    out (``there`` is False).
    """

    carriers: Carriers
    areas: list[Codes]
    fewest: list[Codes]
    profiles: list[Codes]
    there: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        dataset: Table,
        carriers: Carriers,
        geography: Sequence[str],
        risk: Sequence[str],
        similar: Sequence[Sequence[str]],
    ) -> Homes:
        """Count people by risk columns and area, level by level."""
        geography_codes = [dataset.encoded(name).codes for name in geography]
        people = [dataset.encoded(name).codes for name in risk]
        levels = range(1, len(geography_codes) + 1)
        everyone = np.zeros(len(dataset), dtype=np.int64)
        profiles = []
        for names in similar:
            codes = codes_of(dataset, names)[0] if names else everyone
            profiles.append(codes[carriers.rows])
        return cls(
            carriers,
            [combine_codes(geography_codes[:level])[carriers.rows] for level in levels],
            [
                _fewest(combine_codes([*geography_codes[:level], *people]), carriers)
                for level in levels
            ],
            profiles,
            codes_of(dataset, geography)[1][carriers.rows],
        )

    def needs(self, k: int) -> Codes:
        """The highest level at which a member is one of fewer than k people; the number of levels
        where there is none.
        """
        levels = np.full(len(self.carriers), len(self.areas))
        # From the smallest areas to the largest: the last one written is the highest level.
        for level in reversed(range(len(self.areas))):
            levels[self.fewest[level] < k] = level
        return levels


def _fewest(alike: Codes, carriers: Carriers) -> Codes:
    """Per household the smallest count of people who are like one of its members."""
    counts = np.bincount(alike)[alike]
    order = np.argsort(carriers.of, kind="stable")
    # Rows by household; each household has a row, so no stretch is empty.
    starts = np.searchsorted(carriers.of[order], np.arange(len(carriers)))
    if not len(order):
        return counts
    return np.minimum.reduceat(counts[order], starts)


class Exchange:
    """Households that exchange places: found level by level, from the largest areas to the
    smallest.
    """

    def __init__(self, homes: Homes, stream: np.random.Generator) -> None:
        self.homes = homes
        self.stream = stream
        self.partner = np.arange(len(homes.carriers))
        self.similar = np.full(len(homes.carriers), -1, dtype=np.int64)

    @property
    def free(self) -> NDArray[np.bool_]:
        """The households that have not exchanged and may."""
        is_alone = self.partner == np.arange(len(self.partner))
        return np.asarray(is_alone & self.homes.there, dtype=np.bool_)

    def must(self, level: int, needs: Codes) -> int:
        """Exchange those that must at a level, in random order; returns how many found no donor."""
        seekers = self.stream.permutation(np.flatnonzero((needs == level) & self.free))
        areas = self.homes.areas[level]
        area_count = int(areas.max(initial=0)) + 1
        self._find(level, seekers, np.full(area_count, len(areas)))
        return int(self.free[seekers].sum())

    def top_up(self, rate: float) -> int:
        """Exchange more, the riskier the sooner, until a share of each lowest area has; returns how
        many exchanges lack.
        """
        level = len(self.homes.areas) - 1
        areas = self.homes.areas[level]
        homes = np.bincount(areas)
        # What exchanged already counts; each exchange moves two households, hence the half.
        swapped_counts = np.bincount(areas, self.partner != np.arange(len(areas)), len(homes))
        homes_short = np.maximum(rate * homes - swapped_counts, 0)
        quotas = round_at_random(homes_short / 2, self.stream)
        # Exponential times with rate 1/fewest: the order of a draw without replacement where a
        # household's weight is 1/fewest.
        race = self.stream.exponential(size=len(areas)) * self.homes.fewest[level]
        seekers = np.argsort(race, kind="stable")
        self._find(level, seekers[self.free[seekers]], quotas)
        return int(quotas.sum())

    def _find(self, level: int, seekers: Codes, quotas: Codes) -> None:
        areas = self.homes.areas[level]
        # Whole weights in proportion to 1/fewest: sums in the tree are exact in any order.
        heaviness = HEAVIEST // np.maximum(self.homes.fewest[level], 1)
        weights = np.where(self.free, heaviness, 0)
        sorted_ = [_stretches(profile, areas) for profile in self.homes.profiles]
        order = np.stack([sorted_profile[0] for sorted_profile in sorted_])
        # The inverse of each order.
        positions = np.empty_like(order)
        for p, row in enumerate(order):
            positions[p, row] = np.arange(len(row))
        uniforms = self.stream.random(len(seekers))
        stretches = np.stack([sorted_profile[1] for sorted_profile in sorted_])
        # A tree of partial sums draws a donor in O(log n), also after some were taken.
        trees = np.stack([kernels.swapping.build_weight_tree(weights[row]) for row in order])
        profiles = kernels.swapping.Profiles(positions, order, stretches, trees)
        kernels.swapping.find_donors(
            seekers, uniforms, (areas, quotas), weights, profiles, self.partner, self.similar
        )


def _stretches(profile: Codes, areas: Codes) -> tuple[Codes, Codes]:
    """Households by profile and area; per household where its profile begins and ends there, and
    where its area does.
    """
    cells = combine_codes([profile, areas])
    order = np.argsort(cells, kind="stable")
    ends = []
    # Start and end of the stretch of equal profiles, then of equal profile and area.
    for codes in (combine_codes([profile]), cells):
        sizes = np.bincount(codes)
        last = np.cumsum(sizes)
        ends += [(last - sizes)[codes], last[codes]]
    return order, np.stack(ends, axis=1)
