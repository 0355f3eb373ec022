"""Worst-case record linkage: the distance that links most is learned, and what none can exceed is proved."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from sfumato.core.attack import Finding
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError
from sfumato.risk.linkage.aggregators import MEAN, MOST_PAIRWISE, ORDERED, PAIRWISE, Aggregator, Family, family_of
from sfumato.risk.linkage.arrays import Arrays
from sfumato.risk.linkage.compared import common_columns, refusal, require_linkable
from sfumato.risk.linkage.distances import plain_arrays
from sfumato.risk.linkage.files import files_of
from sfumato.risk.linkage.rates import percent, wilson
from sfumato.risk.linkage.solvers import Solver, chosen
from sfumato.risk.linkage.surrogate import learned
from sfumato.risk.linkage.units import MARGIN, Pool, Units, look, units_of
from sfumato.risk.linkage.worst_case import Worst, worst_case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

MOST_UNITS, SAMPLE = 2000, 1000
"""Distinct records that are learned from in full, and how many are drawn of more."""
PAIRS, LEAST = 20_000_000, 100
"""Pairs of people and released records that are compared at a time: of large releases fewer people are drawn, at least so many."""


@parameters
class LearnedLinkage:
    r"""No intruder with a distance of this family links more than this: the best distance found, and a bound on all.

    .. math:: \max_p \frac1N \sum_i \frac{[\, d_p(a_i, b_i) \le d_p(a_i, b_j) \ \text{for all}\ j \,]}
              {\#\{j : d_p(a_i, b_j) = d_p(a_i, b_i)\}}

    The distance is learned from the truth, as no intruder can: it is the worst case. Families are in
    :mod:`sfumato.risk.linkage.aggregators`. A smooth stand-in is descended first; its result starts a mixed-integer program
    whose rows are added as they are violated, with the constants M of the program as tight as they can be for each row.
    ``interval`` is (best found, proved bound), ``value`` the best found; ``details`` has whether the two were
    proved equal, and a cross-fitted value: learned on one half of the people, counted on the other.

    A tie is shared out as by :class:`~sfumato.risk.distance_linkage.DistanceLinkage`: a person whose own record is among *c* nearest
    counts as 1/c, so the value is never below that of plain linkage. In the bound, differences of distances below ε = 10⁻⁴ count
    as ties (numbers are standardised; a program knows no strict inequality), and ties that not all distances have as ties
    with a single record; where that leaves a gap, the interval has it. Over the people of the intruder's file in the original table.
    Of more than 2,000 distinct people 1,000 are drawn, fewer of more than 20,000 distinct released records; then, and where the intruder looks for a random sample of the people,
    the ends of the interval are those of Wilson intervals (95 %); the program takes up to 500. ``nodes``, ``restarts`` and ``steps``
    count work; only where the time of the scene runs out first does it decide, and ``details`` says so.

    Differs from the published program in the margin ε, in j ≠ i, and in one M a row. Reference: Abril, Navarro-Arribas
    & Torra 2012, Improving record linkage with supervised learning for disclosure risk assessment,
    doi:10.1016/j.inffus.2011.05.001.

    >>> LearnedLinkage("owa").name
    'worst_case_linkage'
    """

    aggregator: Annotated[Aggregator, Field(description="the family of distances that is searched")] = "weighted_mean"
    restarts: Annotated[int, Field(ge=1, le=100, description="descents from different starts")] = 8
    steps: Annotated[int, Field(ge=1, le=10_000, description="steps of each descent")] = 300
    nodes: Annotated[int, Field(ge=0, description="nodes of the solver's search, each time it is called")] = 100_000
    solver: Annotated[Solver, Field(description="highspy or scipy; auto takes highspy where it is installed")] = "auto"

    name: ClassVar[str] = "worst_case_linkage"

    def applies(self, scene: Scene) -> str | None:
        """Why nothing can be learned here, or None."""
        if len(common_columns(scene)) > MOST_PAIRWISE:
            return f"a distance over more than {MOST_PAIRWISE} columns is not learned; let the intruder know fewer"
        return refusal(scene)

    def attack(self, scene: Scene) -> Finding:
        """Learn the distance that links most, and bound what any could."""
        require_linkable(scene)
        if reason := self.applies(scene):
            raise SchemaError(f"worst-case linkage: {reason}")
        files = files_of(scene)
        arrays, every = plain_arrays(files), units_of(files)
        units = _drawn(scene, every, len(arrays.ours.records))
        known = int((scene.intruder.truth >= 0).sum())
        people = (
            known * float(units.people.sum()) / max(1.0, float(every.people.sum()))
        )  # of whom those are the released
        result = self._result(scene, arrays, units)
        sampled = scene.intruder.sampled or len(units) < len(every)
        return self._finding(scene, arrays, result, max(people, 1e-300), sampled)

    def _result(self, scene: Scene, arrays: Arrays, units: Units) -> Result:
        """What was learned of some units: by descent, on halves, and by the program in the time that is left."""
        family = family_of(self.aggregator, len(arrays.names))
        if not len(units) or len(arrays.ours.records) < 2:
            worth = float(
                (units.people / units.records).sum()
            )  # all released records are alike, so none is nearer than one's own
            return Result(family, Worst(family.of_weights(_equal(arrays)), worth, worth, True, 0), worth, len(units))
        pool, start = self._pool(scene, arrays, units, "all")
        found = learned(scene, pool, restarts=self.restarts, steps=self.steps, start=start, purpose="all")
        crossed = self._crossed(scene, arrays, units)
        worst = worst_case(scene, pool, found, solver=chosen(self.solver), nodes=self.nodes)
        return Result(family, worst, crossed, len(units))

    def _pool(self, scene: Scene, arrays: Arrays, units: Units, purpose: str) -> tuple[Pool, NDArray[np.float64]]:
        """The pool of a family and where its descent starts: at the weights a weighted mean learns first."""
        family = family_of(self.aggregator, len(arrays.names))
        equal = _equal(arrays)
        pool = Pool(arrays, units, family)
        pool.first_looks(scene)
        if family.kind in (MEAN, ORDERED):
            return pool, equal
        plain = Pool(arrays, units, Family(MEAN, family.columns))
        plain.add_rows(pool.rows)
        weights = learned(
            scene, plain, restarts=self.restarts, steps=self.steps, start=equal, purpose=purpose + " mean"
        )
        return pool, family.of_weights(weights)

    def _crossed(self, scene: Scene, arrays: Arrays, units: Units) -> float | None:
        """The share linked when learned on one half and counted on the other, both ways; None where there is no time."""
        import numpy as np

        if len(units) < 4 or scene.left <= 0:
            return None
        order = scene.seed.stream("learned linkage halves").permutation(len(units))
        halves = [np.sort(order[::2]), np.sort(order[1::2])]
        linked = 0.0
        for learn, count in (halves, halves[::-1]):
            pool, start = self._pool(scene, arrays, units.part(learn), "half")
            found = learned(
                scene, pool, restarts=max(1, self.restarts // 2), steps=self.steps, start=start, purpose="half"
            )
            other = units.part(count)
            linked += float(look(arrays, other, pool.family, found).credit.sum())
        return linked

    def _finding(self, scene: Scene, arrays: Arrays, result: Result, people: float, sampled: bool) -> Finding:
        worst = result.worst
        value, bound = min(1.0, worst.linked / people), min(1.0, worst.bound / people)
        interval = (value, bound)
        if sampled:
            trials = round(people)
            interval = (wilson(worst.linked, trials)[0], wilson(min(people, worst.bound), trials)[1])
        certain = f"and none links more than {percent(interval[1])}"
        if worst.proved and not sampled:
            certain = f"and no such distance links more (differences below {MARGIN:g} count as ties)"
        sentence = (
            f"With the {self.aggregator.replace('_', ' ')} of differences in {', '.join(sorted(arrays.names))} that is worst for "
            f"them, {percent(value)} of people are nearest to their own released record, ties shared out, {certain}."
        )
        return Finding(
            self.name,
            value,
            sentence,
            interval,
            1.0 / len(scene.pair.released),
            None,
            _weights(arrays, result),
            self._details(scene, result, value, bound, people, sampled),
        )

    def _details(
        self, scene: Scene, result: Result, value: float, bound: float, people: float, sampled: bool
    ) -> dict[str, Any]:
        ordered = result.family.kind == ORDERED
        return {
            "aggregator": self.aggregator,
            "measure": "2-additive" if result.family.kind == PAIRWISE else "full",
            "best_found": value,
            "proved_bound": bound,
            "proved": result.worst.proved,
            "cross_fitted": None if result.crossed is None else min(1.0, result.crossed / people),
            "distinct_people": result.units,
            "sampled": sampled,
            "constraints": result.worst.rows,
            "stopped_by_time": scene.left <= 0,
            **({"weights_by_order": result.worst.parameters.tolist()} if ordered else {}),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """The worst case found of a family, and what is linked when learned on halves."""

    family: Family
    worst: Worst
    crossed: float | None
    units: int


def _equal(arrays: Arrays) -> NDArray[np.float64]:
    import numpy as np

    return np.full(len(arrays.names), 1 / len(arrays.names))


def _drawn(scene: Scene, units: Units, released: int) -> Units:
    """All units, or a random sample of many, smaller where there are many released records to compare them with."""
    import numpy as np

    room = max(LEAST, PAIRS // max(1, released))
    if len(units) <= min(MOST_UNITS, room):
        return units
    drawn = scene.seed.stream("learned linkage sample").permutation(len(units))[: min(SAMPLE, room)]
    return units.part(np.sort(drawn))


def _weights(arrays: Arrays, result: Result) -> dict[str, float]:
    """Per column how much it counts, in falling order."""
    shares = result.family.importance(result.worst.parameters)
    if shares is None:
        return {}
    found = dict(zip(arrays.names, shares.tolist(), strict=True))
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
