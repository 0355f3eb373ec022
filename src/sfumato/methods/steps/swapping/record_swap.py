"""Targeted record swapping: households at risk change places with similar households elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from sfumato import kernels
from sfumato.core.design import units_of
from sfumato.core.parameters import parameters
from sfumato.core.step import Goal, Masked, Preserved, Step
from sfumato.errors import SchemaError
from sfumato.methods.steps.preserved_moments import table_kept
from sfumato.methods.steps.swapping.carriers import (
    Carriers,
    Columns,
    Within,
    carriers_by,
    codes_of,
    combined,
    require_apart,
    require_columns,
    rounded,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


# Households at risk in their area, and the households elsewhere that take their place.

if TYPE_CHECKING:
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
        profiles = [
            codes_of(dataset, names)[0] if names else np.zeros(len(dataset), dtype=np.int64)
            for names in similar
        ]
        return cls(
            carriers,
            [combined(geography_codes[:level])[carriers.rows] for level in levels],
            [_fewest(combined([*geography_codes[:level], *people]), carriers) for level in levels],
            [codes[carriers.rows] for codes in profiles],
            codes_of(dataset, geography)[1][carriers.rows],
        )

    def needs(self, k: int) -> Codes:
        """The highest level at which a member is one of fewer than k people; the number of levels
        where there is none.
        """
        levels = np.full(len(self.carriers), len(self.areas))
        for level in reversed(range(len(self.areas))):
            levels[self.fewest[level] < k] = level
        return levels


def _fewest(alike: Codes, carriers: Carriers) -> Codes:
    """Per household the smallest count of people who are like one of its members."""
    counts = np.bincount(alike)[alike]
    order = np.argsort(carriers.of, kind="stable")
    starts = np.searchsorted(carriers.of[order], np.arange(len(carriers)))
    return np.minimum.reduceat(counts[order], starts) if len(order) else counts


class Exchange:
    """Households that exchange places: found level by level, from the largest areas to the
    smallest.
    """

    def __init__(self, homes: Homes, stream: np.random.Generator) -> None:
        self.homes, self.stream = homes, stream
        self.partner = np.arange(len(homes.carriers))
        self.similar = np.full(len(homes.carriers), -1, dtype=np.int64)

    @property
    def free(self) -> NDArray[np.bool_]:
        """The households that have not exchanged and may."""
        return np.asarray(
            (self.partner == np.arange(len(self.partner))) & self.homes.there, dtype=np.bool_
        )

    def must(self, level: int, needs: Codes) -> int:
        """Exchange those that must at a level, in random order; returns how many found no donor."""
        seekers = self.stream.permutation(np.flatnonzero((needs == level) & self.free))
        areas = self.homes.areas[level]
        self._find(level, seekers, np.full(int(areas.max(initial=0)) + 1, len(areas)))
        return int(self.free[seekers].sum())

    def top_up(self, rate: float) -> int:
        """Exchange more, the riskier the sooner, until a share of each lowest area has; returns how
        many exchanges lack.
        """
        level = len(self.homes.areas) - 1
        areas = self.homes.areas[level]
        homes = np.bincount(areas)
        swapped_counts = np.bincount(areas, self.partner != np.arange(len(areas)), len(homes))
        quotas = rounded(np.maximum(rate * homes - swapped_counts, 0) / 2, self.stream)
        race = self.stream.exponential(size=len(areas)) * self.homes.fewest[level]
        seekers = np.argsort(race, kind="stable")
        self._find(level, seekers[self.free[seekers]], quotas)
        return int(quotas.sum())

    def _find(self, level: int, seekers: Codes, quotas: Codes) -> None:
        areas = self.homes.areas[level]
        weights = np.where(self.free, HEAVIEST // np.maximum(self.homes.fewest[level], 1), 0)
        sorted_ = [_stretches(profile, areas) for profile in self.homes.profiles]
        order = np.stack([sorted_profile[0] for sorted_profile in sorted_])
        positions = np.empty_like(order)
        for p, row in enumerate(order):
            positions[p, row] = np.arange(len(row))
        uniforms, stretches = (
            self.stream.random(len(seekers)),
            np.stack([sorted_profile[1] for sorted_profile in sorted_]),
        )
        trees = np.stack([kernels.swapping.build_weight_tree(weights[row]) for row in order])
        profiles = kernels.swapping.Profiles(positions, order, stretches, trees)
        kernels.swapping.find_donors(
            seekers, uniforms, (areas, quotas), weights, profiles, self.partner, self.similar
        )


def _stretches(profile: Codes, areas: Codes) -> tuple[Codes, Codes]:
    """Households by profile and area; per household where its profile begins and ends there, and
    where its area does.
    """
    cells = combined([profile, areas])
    order = np.argsort(cells, kind="stable")
    ends = []
    for codes in (combined([profile]), cells):
        sizes = np.bincount(codes)
        last = np.cumsum(sizes)
        ends += [(last - sizes)[codes], last[codes]]
    return order, np.stack(ends, axis=1)


Profiles = Annotated[Sequence[Within], Field(min_length=1), AfterValidator(tuple)]


@parameters
class SwapHouseholds(Step):
    r"""Exchange the geography of households at risk with that of similar households in other areas.

    ``geography`` lists columns from the largest areas to the smallest, ``risk`` the columns by
    which people stand out. At level l a person is one of :math:`c_l` who agree in the risk columns
    and in the geography down to l; their risk is
    :math:`1 / c_l`, and that of a household the largest of its members'. A household with a member
    of :math:`c_l < k` must be exchanged at the highest such level, whatever the rate. Its donor is
    drawn, in proportion to risk, among the households that lie in another area of that level, have
    not been exchanged, and agree in the columns of the first list of ``similar``; if there is none,
    of the second, and so on (an empty list takes any household). At the lowest level more are
    exchanged, the riskier the sooner, until a share ``rate`` of the households has been: each
    exchange counts for two, and fractions of areas are rounded at random. The geography and the
    columns of ``carry`` change places; all else, and the household, stay as they are.

    What is kept exactly: the number of households of each profile in every area, as far as all
    lists of ``similar`` that were used agree. Households without a donor are counted for the owner.
    ``geography``, ``carry`` and ``similar`` must be columns in which members agree. A household
    that lacks an area stays where it is; elsewhere missing is a value.

    The certificate leaves out ``rate`` and ``k``: who knows them knows how much to trust a match.
    As sdcMicro's ``recordSwap``; there the threshold is on risk or counts, draws are others, and
    similar columns are those of one member.

    Reference: Shlomo, Tudor & Groom 2010, *Data swapping for protecting census tables*, LNCS 6344,
    41–51.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> step = SwapHouseholds(
    ...     ["region"], risk=["age", "sex"], similar=[["household_size"]], k=2, rate=0.1
    ... )
    >>> plan = step.plan(examples.survey(rows=500), Goal(seed=Seed(1)))
    >>> print(plan.preserved[0])
    households per area and profile of region, household_size: kept exactly, off by 0
    """

    geography: Annotated[
        Columns, Field(description="columns of areas, from the largest to the smallest")
    ]
    risk: Annotated[Columns, Field(description="columns by which people stand out in their area")]
    similar: Annotated[
        Profiles,
        Field(description="lists of columns in which donors agree; the first that finds one"),
    ]
    k: Annotated[
        int, Field(ge=1, description="who is one of fewer people in an area must be exchanged")
    ] = 3
    rate: Annotated[
        float, Field(ge=0, le=1, description="share of the households that is exchanged at least")
    ] = 0.05
    carry: Annotated[Within, Field(description="columns that go along with the geography")] = ()

    name: ClassVar[str] = "swap_households"
    secret: ClassVar[tuple[str, ...]] = ("k", "rate")

    def __post_init__(self) -> None:
        for profile in self.similar:
            require_apart(geography=self.geography, carry=self.carry, similar=profile)
        require_apart(geography=self.geography, risk=self.risk)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find who changes places with whom."""
        similar = [name for profile in self.similar for name in profile]
        moving = [*self.geography, *self.carry]
        require_columns(dataset, moving, self.name)
        dataset.require([*self.risk, *similar])
        carriers = households_of(dataset, [*moving, *similar], self.name)
        homes = Homes.of(dataset, carriers, self.geography, self.risk, self.similar)
        exchange = Exchange(homes, goal.stream("swap households"))
        needs = homes.needs(self.k)
        alone = {name: exchange.must(level, needs) for level, name in enumerate(self.geography)}
        shortfall = exchange.top_up(self.rate)
        sources = carriers.sources(np.arange(len(carriers)), exchange.partner)
        return Masked(
            actions=dict.fromkeys(moving, "exchanged between similar households"),
            columns={name: dataset.column(name).gather(sources) for name in moving},
            preserved=self._preserved(dataset, carriers.rows, sources, exchange.similar),
            warnings=tuple(_warnings(alone, shortfall, int((~homes.there).sum()))),
            owner={
                "households": len(carriers),
                "exchanged": int((exchange.partner != np.arange(len(carriers))).sum()),
                "at_risk": int((needs < len(self.geography)).sum()),
                "without_donor": alone,
                "exchanges_short_of_rate": shortfall,
            },
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the exchanged geography in place."""
        return plan.applied(dataset)

    def _preserved(
        self, dataset: Table, rows: Codes, sources: Codes, similar: Codes
    ) -> tuple[Preserved, ...]:
        """Households per area and profile: the columns that all lists in use have in common."""
        used = [self.similar[p] for p in np.unique(similar[similar >= 0]).tolist()] or [
            self.similar[0]
        ]
        common = [name for name in used[0] if all(name in profile for profile in used)]
        profile = [dataset.encoded(name).codes for name in common]
        areas = [dataset.encoded(name).codes for name in self.geography]
        before = [codes[rows] for codes in (*areas, *profile)]
        after = [*(codes[sources[rows]] for codes in areas), *(codes[rows] for codes in profile)]
        return (
            table_kept(
                "households per area and profile", (*self.geography, *common), before, after
            ),
        )


def _warnings(alone: dict[str, int], shortfall: int, nowhere: int) -> list[str]:
    warnings = [
        f"swap_households: {count:,} household(s) at risk in {name!r} found no donor; allow donors"
        " that are less similar"
        for name, count in alone.items()
        if count
    ]
    if shortfall:
        warnings.append(
            f"swap_households: {shortfall:,} exchange(s) are lacking to the rate: no donors are"
            " left"
        )
    if nowhere:
        warnings.append(
            f"swap_households: {nowhere:,} household(s) lack an area and stay as they are"
        )
    return warnings
