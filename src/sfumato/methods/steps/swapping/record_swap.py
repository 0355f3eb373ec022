"""Targeted record swapping: households at risk change places with similar households elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.parameters import parameters
from sfumato.core.step import Goal, Masked, Preserved, Step
from sfumato.methods.steps.swapping.homes import Exchange, Homes, households_of
from sfumato.methods.steps.swapping.preserved_values import table_kept
from sfumato.methods.steps.swapping.step_columns import (
    Columns,
    Within,
    require_apart,
    require_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int64]

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
        int,
        Field(
            ge=1,
            description="households with a member who is one of fewer people in an area must be "
            "exchanged",
        ),
    ] = 3
    rate: Annotated[
        float, Field(ge=0, le=1, description="share of the households that is exchanged at least")
    ] = 0.05
    carry: Annotated[Within, Field(description="columns that go along with the geography")] = ()

    name: ClassVar[str] = "swap_households"
    secret: ClassVar[tuple[str, ...]] = ("k", "rate")

    def __post_init__(self) -> None:
        # Each list by itself: a column may be in several lists of donors.
        for profile in self.similar:
            require_apart(geography=self.geography, carry=self.carry, similar=profile)
        require_apart(geography=self.geography, risk=self.risk)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find who changes places with whom."""
        similar = list(chain.from_iterable(self.similar))
        moving = [*self.geography, *self.carry]
        require_columns(dataset, moving, self.name)
        dataset.require([*self.risk, *similar])
        carriers = households_of(dataset, [*moving, *similar], self.name)
        homes = Homes.of(dataset, carriers, self.geography, self.risk, self.similar)
        exchange = Exchange(homes, goal.stream("swap households"))
        needs = homes.needs(self.k)
        # From the largest areas on: who must leave one has left all smaller ones with it.
        alone = {name: exchange.must(level, needs) for level, name in enumerate(self.geography)}
        shortfall = exchange.top_up(self.rate)
        sources = carriers.sources(np.arange(len(carriers)), exchange.partner)
        columns = {name: dataset.column(name).gather(sources) for name in moving}
        is_exchanged = exchange.partner != np.arange(len(carriers))
        is_at_risk = needs < len(self.geography)
        return Masked(
            actions=dict.fromkeys(moving, "exchanged between similar households"),
            columns=columns,
            preserved=self._preserved(dataset, carriers.rows, sources, exchange.similar),
            warnings=tuple(_warnings(alone, shortfall, int((~homes.there).sum()))),
            owner={
                "households": len(carriers),
                "exchanged": int(is_exchanged.sum()),
                "at_risk": int(is_at_risk.sum()),
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
        used_sets = [self.similar[p] for p in np.unique(similar[similar >= 0]).tolist()]
        used = used_sets or [self.similar[0]]
        # Only columns in all lists that were used are kept: a looser list kept fewer.
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
    warnings = []
    for name, count in alone.items():
        if count:
            warnings.append(
                f"swap_households: {count:,} household(s) at risk in {name!r} found no donor; allow"
                " donors that are less similar"
            )
    if shortfall:
        warnings.append(
            f"swap_households: {shortfall:,} exchange(s) are missing to reach the rate, because no "
            "donors remain"
        )
    if nowhere:
        warnings.append(
            f"swap_households: {nowhere:,} household(s) have no area and stay unchanged"
        )
    return warnings
