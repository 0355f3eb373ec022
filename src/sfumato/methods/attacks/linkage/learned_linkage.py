"""Worst-case record linkage: the distance that links most is learned, and what none can exceed is
proved.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.attack import AT_LEAST, Attack, Finding
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.errors import SchemaError
from sfumato.methods.attacks.linkage.aggregators import (
    MEAN,
    MOST_PAIRWISE,
    ORDERED,
    PAIRWISE,
    SQUARE_FORM,
    Aggregator,
    Family,
    family_of,
)
from sfumato.methods.attacks.linkage.comparable_columns import (
    common_columns,
    only_generalised,
    refusal,
    require_linkable,
)
from sfumato.methods.attacks.linkage.comparison_arrays import Arrays
from sfumato.methods.attacks.linkage.files import (
    MARGIN,
    Looking,
    Pool,
    Units,
    files_of,
    look,
    units_of,
)
from sfumato.methods.attacks.linkage.implied_columns import implied_links
from sfumato.methods.attacks.linkage.search import TIE
from sfumato.methods.attacks.linkage.success_rates import wilson
from sfumato.methods.attacks.linkage.worst_case import Solver, Worst, choose_solver, worst_case

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

    Floats = NDArray[np.float64]


WARMTH = 0.05
RATE = 0.2
CHECKED = 20
ROUNDS = 3
MOST_UNITS, SAMPLE = 2000, 1000
"""Distinct records that are learned from in full, and how many are drawn of more."""
PAIRS, LEAST = 20_000_000, 100
"""Pairs of people and released records that are compared at a time: of large releases fewer people
are drawn, at least so many.
"""
LOOKS_BESIDE = 8
"""Looks at all records that the descent takes, besides one a column."""


# Parameters that link many records, by descent on a smooth stand-in for the number of links.


def learn_parameters(
    scene: Scene, pool: Pool, *, restarts: int, steps: int, start: Floats, purpose: str
) -> Floats:
    r"""The parameters with the most true links found by descent from several starts.

    .. math:: \min_p \frac{1}{N} \sum_i \sigma(-g_i(p)/\tau), \qquad g_i =
        \min_{j \ne i} d_p(i, j) - d_p(i, i)

    by Adam with τ = 0.05; links count, not the loss. After each round the nearest others under the
    best parameters join those the descent looks at.
    """
    draws = scene.seed.stream(f"learned linkage {purpose}")
    best = start
    best_links = float(pool.look(start).credit.sum())
    if not len(pool.rows):
        return best  # nothing to tell from: every other record is a twin
    for turn in range(ROUNDS):
        # Later rounds go on from the best so far: by then the pool has more others to beat.
        candidates = [start if turn == 0 else best]
        for restart in range(restarts if turn == 0 else 1 + restarts // 4):
            theta = _start(pool.family, candidates[0], restart, draws)
            candidates.append(_descend(scene, pool, theta, steps))
        # The pool ranks them cheaply; only the two best are compared with all records.
        ranked = sorted(candidates, key=lambda p: -_links(pool, p))
        looks = [(p, pool.look(p)) for p in ranked[:2]]
        for p, view in looks:
            links = float(view.credit.sum())
            if links > best_links:
                best, best_links = p, links
        # No new others were met: the pool tells all that another round could learn.
        if not sum(pool.add(view.others) for _, view in looks):
            break
    return best


def _links(pool: Pool, parameters: Floats) -> float:
    """What is linked, as far as the pool can tell."""
    margins = pool.gains @ parameters
    smallest_margin = np.full(len(pool.units), np.inf)
    np.minimum.at(smallest_margin, pool.rows[:, 0], margins)
    return pool.worth(smallest_margin >= MARGIN, smallest_margin >= -TIE)


def _start(family: Family, near: Floats, restart: int, draws: np.random.Generator) -> Floats:
    """Free parameters to start from: the given ones first, then scattered ones."""
    if family.kind in (MEAN, ORDERED):
        logs = np.log(np.maximum(near, 1e-4))
        if restart == 0:
            return logs
        return np.asarray(draws.normal(size=family.width))
    if family.kind == SQUARE_FORM:
        values, vectors = np.linalg.eigh(family.matrix(near))
        root = vectors * np.sqrt(np.maximum(values, 1e-6))
        if restart:
            noise = 0.3 * draws.normal(size=root.shape)
        else:
            noise = 0.0
        return np.asarray(root + noise).ravel()
    weights = draws.dirichlet(np.ones(family.columns))
    if restart == 0:
        return near
    return family.of_weights(weights)


def _parameters(family: Family, theta: Floats) -> Floats:
    if family.kind in (MEAN, ORDERED):
        # Softmax: any free parameters give positive weights of sum 1. Less the largest: no
        # overflow.
        grown = np.exp(theta - theta.max())
        return np.asarray(grown / grown.sum())
    if family.kind == SQUARE_FORM:
        # A matrix times its transpose is positive semidefinite whatever the free parameters are;
        # its trace is the sum of their squares, by which it is divided.
        root = theta.reshape(family.columns, family.columns)
        norm = float((root**2).sum())
        return family.flat(root @ root.T / max(1e-300, norm))
    return theta


def _pull_back_slope(family: Family, theta: Floats, p: Floats, slope: Floats) -> Floats:
    """The slope in the free parameters."""
    if family.kind in (MEAN, ORDERED):
        return np.asarray(p * (slope - (slope * p).sum()))
    if family.kind == SQUARE_FORM:
        root = theta.reshape(family.columns, family.columns)
        size = max(1e-300, float((root**2).sum()))
        matrix = family.matrix(slope) / 2
        matrix[np.diag_indices(family.columns)] *= (
            2  # what is above the diagonal stands for two entries
        )
        inner_product = float((matrix * family.matrix(p)).sum())
        matrix = matrix - np.eye(family.columns) * inner_product
        return np.asarray(2 * matrix @ root / size).ravel()
    return slope


def _descend(scene: Scene, pool: Pool, theta: Floats, steps: int) -> Floats:
    """One descent by Adam; the parameters with the most links met on the way."""
    family = pool.family
    free = family.kind in (MEAN, ORDERED, SQUARE_FORM)
    rate = RATE if free else RATE / 10
    mean = np.zeros(len(theta))
    spread = np.zeros(len(theta))
    best = _parameters(family, theta)
    best_links = -1.0
    # Rows of the pool are in order of units: where each unit's others begin, and how many.
    unit_changes = np.diff(pool.rows[:, 0])
    firsts = np.flatnonzero(np.r_[True, unit_changes > 0])
    sizes = np.diff(np.r_[firsts, len(pool.rows)])
    weights = pool.alone[pool.rows[firsts, 0]]
    worth = weights / max(1e-300, float(pool.alone.sum()))
    for step in range(1, steps + 1):
        p = _parameters(family, theta)
        margins = pool.gains @ p
        smallest_margins = np.minimum.reduceat(margins, firsts)
        if step % CHECKED == 1 or step == steps:
            links = float(worth[smallest_margins >= MARGIN].sum())
            if links > best_links:
                best, best_links = p, links
            scene.require_time()
        # Near 1 where another record is nearer than the own one, near 0 where none is; clipped
        # against overflow.
        odds = np.exp(np.clip(smallest_margins / WARMTH, -50, 50))
        soft = 1 / (1 + odds)
        # The least margin of a unit moves with its nearest other alone, so only that one pulls.
        slopes = -worth * soft * (1 - soft)
        limits = np.repeat(smallest_margins, sizes)
        pull = np.repeat(slopes / WARMTH, sizes) * (margins <= limits)
        slope = _pull_back_slope(family, theta, p, pull @ pool.gains)
        # Means of the slope and of its square as in Adam, corrected below for their start at 0.
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.999 * spread + 0.001 * slope**2
        # The running means begin at zero; these divisors make up for it.
        mean_bias = 1 - 0.9**step
        spread_bias = 1 - 0.999**step
        root_spread = np.sqrt(spread / spread_bias) + 1e-9
        theta = theta - rate * (mean / mean_bias) / root_spread
        if not free:
            theta = family.nearest_allowed(theta)
    return best


@parameters
class LearnedLinkage(Attack):
    r"""No intruder with a distance of this family links more than this: the best distance found,
    and a bound on all.

    .. math:: \max_p \frac1N \sum_i
        \frac{[\, d_p(a_i, b_i) \le d_p(a_i, b_j) \ \text{for all}\ j \,]}
              {\#\{j : d_p(a_i, b_j) = d_p(a_i, b_i)\}}

    The distance is learned from the truth, as no intruder can: it is the worst case. Families are
    in
    :mod:`sfumato.methods.attacks.linkage.aggregators`. A smooth stand-in is descended first; its
    result starts a mixed-integer program whose rows are added as they are violated, with the
    constants M of the program as tight as they can be for each row. ``interval`` is (best found,
    proved bound), ``value`` the best found; ``details`` has whether the two were proved equal, and
    a cross-fitted value: learned on one half of the people, counted on the other.

    A tie is shared out as
    by :class:`~sfumato.methods.attacks.linkage.distance_linkage.DistanceLinkage`: a person whose
    own record is among *c* nearest counts as 1/c, so the value is never below that of plain
    linkage. In the bound, differences of distances below ε = 10⁻⁴ count as ties (numbers are
    standardised; a program knows no strict inequality), and ties that not all distances have as
    ties with a single record; where that leaves a gap, the interval has it. Over the people of the
    intruder's file in the original table. The intruder of the worst case knows how the release was
    made. Where values were generalised and not changed, that tells which values each class stands
    for, even where labels overlap: the value is then at least what a random record of the right
    class gives (``by_classes``), which nobody exceeds by these columns alone. Of more than 2,000
    distinct people 1,000 are drawn, fewer where these are too much work; then, and where the
    intruder looks for a random sample of the people, the ends of the interval are those of Wilson
    intervals (95 %); the program takes up to 500. ``nodes``, ``restarts`` and ``steps`` count work,
    and the nodes of large programs are fewer: the clock decides nothing but whether the outcome is
    unknown.

    Differs from the published program in the margin ε, in j ≠ i, and in one M a row. Reference:
    Abril, Navarro-Arribas & Torra 2012, Improving record linkage with supervised learning for
    disclosure risk assessment, doi:10.1016/j.inffus.2011.05.001.

    >>> LearnedLinkage("owa").name
    'worst_case_linkage'
    """

    aggregator: Annotated[
        Aggregator, Field(description="the family of distances that is searched")
    ] = "weighted_mean"
    restarts: Annotated[int, Field(ge=1, le=100, description="descents from different starts")] = 8
    steps: Annotated[int, Field(ge=1, le=10_000, description="steps of each descent")] = 300
    nodes: Annotated[int, Field(ge=0, description="most nodes of the solver's search per call")] = (
        100_000
    )
    solver: Annotated[
        Solver, Field(description="highspy or scipy; auto uses highspy if it is installed")
    ] = "auto"

    name: ClassVar[str] = "worst_case_linkage"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A person's own record is found with the best possible comparison"
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)
    turn: ClassVar[int] = 1

    def applies(self, scene: Scene) -> str | None:
        """Why nothing can be learned here, or None."""
        if len(common_columns(scene)) > MOST_PAIRWISE:
            return (
                f"a distance over more than {MOST_PAIRWISE} columns is not learned; let the"
                " intruder know fewer"
            )
        if scene.pair.persons is not None:
            return "people have several records, and what is proved is about one record of each"
        return refusal(scene)

    def attack(self, scene: Scene) -> Finding:
        """Learn the distance that links most, and bound what any could."""
        require_linkable(scene)
        if reason := self.applies(scene):
            raise SchemaError(f"worst-case linkage: {reason}")
        files = files_of(scene)
        arrays = files.plain
        every = units_of(files)
        looking = Looking(scene.require_time)
        units = _affordable(
            scene, looking, arrays, _sample_units(scene, every, len(arrays.released.records))
        )
        known_people = int((scene.intruder.truth >= 0).sum())
        sampled_people = float(units.people.sum())
        all_people = float(every.people.sum())
        # of whom those are the released
        people = known_people * sampled_people / max(1.0, all_people)
        result = self._result(scene, looking, arrays, units)
        if only_generalised(scene):
            class_shares = (units.people / units.records).sum()
            result = dataclasses.replace(result, by_classes=float(class_shares))
        sampled = scene.intruder.sampled or len(units) < len(every)
        links = implied_links(scene, np.flatnonzero(scene.intruder.truth >= 0))
        if links is not None and known_people:
            result = dataclasses.replace(
                result, implied=float(links.credit.mean()) * people, implied_by=links.told
            )
        return self._finding(scene, arrays, result, max(people, 1e-300), sampled)

    def _result(self, scene: Scene, looking: Looking, arrays: Arrays, units: Units) -> Result:
        """What was learned of some units: by descent, on halves, and by the program."""
        family = family_of(self.aggregator, len(arrays.names))
        if not len(units) or len(arrays.released.records) < 2:
            # all released records are alike, so none is nearer than one's own
            worth = float((units.people / units.records).sum())
            return Result(
                family,
                Worst(family.of_weights(_equal(arrays)), worth, bound=worth, proved=True, rows=0),
                worth,
                len(units),
            )
        pool, start = self._pool(scene, looking, arrays, units, "all")
        learned_parameters = learn_parameters(
            scene, pool, restarts=self.restarts, steps=self.steps, start=start, purpose="all"
        )
        crossed = self._crossed(scene, pool)
        worst = worst_case(
            scene, pool, learned_parameters, solver=choose_solver(self.solver), nodes=self.nodes
        )
        return Result(family, worst, crossed, len(units))

    def _pool(
        self, scene: Scene, looking: Looking, arrays: Arrays, units: Units, purpose: str
    ) -> tuple[Pool, Floats]:
        """The pool of a family and where its descent starts: at the weights a weighted mean learns
        first.
        """
        family = family_of(self.aggregator, len(arrays.names))
        equal = _equal(arrays)
        pool = Pool(arrays, units, family, looking)
        pool.first_looks()
        if family.kind in (MEAN, ORDERED):
            return pool, equal
        plain = Pool(arrays, units, Family(MEAN, family.columns), looking)
        # It begins with the others that the first looks have found already.
        plain.add_rows(pool.rows)
        weights = learn_parameters(
            scene,
            plain,
            restarts=self.restarts,
            steps=self.steps,
            start=equal,
            purpose=purpose + " mean",
        )
        return pool, family.of_weights(weights)

    def _crossed(self, scene: Scene, whole: Pool) -> float | None:
        """The share linked when learned on one half and counted on the other, both ways; None of
        very few.
        """
        arrays = whole.arrays
        units = whole.units
        if len(units) < 4:
            return None
        order = scene.seed.stream("learned linkage halves").permutation(len(units))
        halves = [np.sort(order[::2]), np.sort(order[1::2])]
        linked = 0.0
        for learn, count in (halves, halves[::-1]):
            pool, start = self._pool(scene, whole.looking, arrays, units.part(learn, whole), "half")
            learned_parameters = learn_parameters(
                scene,
                pool,
                restarts=max(1, self.restarts // 2),
                steps=self.steps,
                start=start,
                purpose="half",
            )
            test_units = units.part(count)
            linked += float(
                look(
                    arrays, test_units, pool.family, learned_parameters, looking=whole.looking
                ).credit.sum()
            )
        return linked

    def _finding(
        self, scene: Scene, arrays: Arrays, result: Result, people: float, sampled: bool
    ) -> Finding:
        worst = result.worst
        # What classes and implied columns give is reached by an intruder, so no bound lies below
        # it.
        linked = max(worst.linked, result.by_classes, result.implied)
        bound = max(worst.bound, result.by_classes, result.implied)
        value = min(1.0, linked / people)
        upper = min(1.0, bound / people)
        interval = (value, upper)
        if sampled:
            trials = round(people)
            low, _ = wilson(linked, trials)
            _, high = wilson(min(people, bound), trials)
            interval = (low, high)
        certain = f"and no such distance links more than {percent(interval[1])}"
        if worst.proved and not sampled:
            certain = (
                f"and no such distance links more (differences below {MARGIN:g} count as ties)"
            )
        if result.implied > max(worst.linked, result.by_classes) + 1e-9:
            certain = (
                "but choosing the record of the right class that other columns fit best "
                f"({result.implied_by}) links {percent(value)}"
            )
        elif linked > worst.linked + 1e-9:
            certain = (
                "but somebody who knows which values each class stands for links "
                f"{percent(value)}; nobody links more by these columns alone, as records of one "
                "class are equal"
            )
        sentence = (
            f"With the {self.aggregator.replace('_', ' ')} of differences in "
            f"{', '.join(sorted(arrays.names))} that is worst for them, "
            f"{percent(min(1.0, worst.linked / people))} of {round(people):,} people are nearest "
            f"to their own released record, ties shared, {certain}."
        )
        return Finding(
            self.name,
            value,
            sentence=sentence,
            interval=interval,
            baseline=1.0 / len(scene.pair.released),
            victims=None,
            weights=_weights(arrays, result),
            details=self._details(result, people, sampled),
            trials=round(people),
        )

    def _details(self, result: Result, people: float, sampled: bool) -> Document:
        ordered = result.family.kind == ORDERED
        return {
            "aggregator": self.aggregator,
            "measure": "2-additive" if result.family.kind == PAIRWISE else "full",
            "best_found": min(1.0, result.worst.linked / people),
            "proved_bound": min(1.0, result.worst.bound / people),
            "by_classes": min(1.0, result.by_classes / people),
            **({"implied": min(1.0, result.implied / people)} if result.implied_by else {}),
            "proved": result.worst.proved,
            "cross_fitted": None if result.crossed is None else min(1.0, result.crossed / people),
            "distinct_people": result.units,
            "sampled": sampled,
            "constraints": result.worst.rows,
            **({"weights_by_order": result.worst.parameters.tolist()} if ordered else {}),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """The worst case found of a family, and what is linked when learned on halves, or by knowing
    the classes (0: unknowable).

    ``implied`` is what is linked by other released columns that imply the quasi-identifiers,
    ``implied_by`` which (empty: none do).
    """

    family: Family
    worst: Worst
    crossed: float | None
    units: int
    by_classes: float = 0.0
    implied: float = 0.0
    implied_by: str = ""


def _equal(arrays: Arrays) -> Floats:
    return np.full(len(arrays.names), 1 / len(arrays.names))


def _sample_units(scene: Scene, units: Units, released: int) -> Units:
    """All units, or a random sample of many, smaller where there are many released records to
    compare them with.
    """
    room = max(LEAST, PAIRS // max(1, released))
    if len(units) <= min(MOST_UNITS, room):
        return units
    unit_numbers = scene.seed.stream("learned linkage sample").permutation(len(units))[
        : min(SAMPLE, room)
    ]
    return units.part(np.sort(unit_numbers))


def _affordable(scene: Scene, looking: Looking, arrays: Arrays, units: Units) -> Units:
    """All units, or as many as the work is enough for: the first look at a few of them tells what
    one takes.
    """
    if len(units) <= AT_LEAST or len(arrays.released.records) < 2:
        return units
    order = scene.seed.stream("learned linkage: affordable").permutation(len(units))
    sample = order[:AT_LEAST]
    look(
        arrays,
        units.part(np.sort(sample)),
        Family(MEAN, len(arrays.names)),
        _equal(arrays),
        looking=looking,
    )
    # The look took so much a unit; learning takes one look a column and some beside them.
    cost_per_unit = looking.spent // AT_LEAST * (len(arrays.names) + LOOKS_BESIDE)
    room = scene.affordable(len(units), cost_per_unit)
    if room == len(units):
        return units
    return units.part(np.sort(order[:room]))


def _weights(arrays: Arrays, result: Result) -> dict[str, float]:
    """Per column how much it counts, in falling order."""
    shares = result.family.importance(result.worst.parameters)
    if shares is None:
        return {}
    weights = dict(zip(arrays.names, shares.tolist(), strict=True))
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0])))
