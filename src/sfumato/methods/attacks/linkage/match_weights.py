"""What agreement and gaps weigh for an intruder who links records by probabilities, learnt without
the truth.

Two ways to weigh are learnt, and the better one is taken: by levels of agreement alone (Fellegi and
Sunter's), and in columns of numbers by how near two values are. Both are tried on the same few
people.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.attack import Intruder
from sfumato.core.randomness import Seed
from sfumato.methods.attacks.linkage.comparison_arrays import (
    CATEGORY,
    GRADED,
    NEARING,
    Arrays,
    ComparisonRule,
    arrays_of,
)
from sfumato.methods.attacks.linkage.distance_rules import moments
from sfumato.methods.attacks.linkage.fellegi_sunter import LEAST, LEVELS, SLACK, Parameters
from sfumato.methods.attacks.linkage.files import Files, files_of
from sfumato.methods.attacks.linkage.search import Lookup, hits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.methods.attacks.linkage.comparable_columns import ComparedColumn

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


TRIAL, ENOUGH = 500, 20
"""People linked to learn how far matches lie apart, and to tell which weights are better; how few
gaps say nothing.
"""
TRIALS_AT_MOST, TRIAL_SHARE, TREE_COST = 16, 4, 8
"""One trial takes at most one in so many parts of the work, and no other round of trials begins
once they took one in so many together; to make a release ready for a trial is as much work as to
compare so many people with all of it.
"""
MOST_LEARNT = 20_000
"""People of whom weights are learnt at most."""
RANDOM_PAIRS = 20_000
"""Pairs that tell how near two random people are."""
LINK_ROUNDS = 3
FAR = 4.0
"""Gaps that are so many times the deviation (1.4826 times the median gap) are outliers."""
OUTLIERS = (1e-3, 0.5)
FEWEST_OUTLIERS = 1e-4
"""Where matches lie far apart for other reasons than outliers, as in skewed columns, no floor is
better.
"""
WIDE = 1.0
"""Matches that lie apart by more than so many deviations of a column are as far as others: nearness
says nothing.
"""
LEAST_CLOSE = 0.01
"""Where fewer matches are close than this, nearness says nothing and closeness is one level of
agreement.
"""


def graded_rule(
    column: ComparedColumn,
    tolerance: float,
    bits: Floats | None = None,
    sigma: float | None = None,
) -> ComparisonRule:
    """How one column is graded: close are numbers within so many standard deviations, or
    neighbouring ranks.

    With ``bits`` (per level the weight of a match, the last where nothing can be said) grades cost
    the bits they lack. ``sigma`` is the deviation, by default that of both files.
    """
    if bits is None:
        costs = np.zeros(LEVELS)
    else:
        costs = bits.max() - bits
    differs, close, covered, exact, nothing = costs.tolist()
    if column.scale == "category":
        other_values = (column.stands_for - 1).astype(float)
        nowhere = np.full(len(column.places), -np.inf)
        intruder_numbers = np.column_stack([np.zeros((len(column.places), 2)), nowhere])
        exact_numbers = np.zeros(len(other_values))
        levels = np.where(other_values > 0, covered, exact)
        released_numbers = np.column_stack([exact_numbers, other_values, levels])
        return ComparisonRule(
            CATEGORY,
            np.array([differs, nothing, nothing, nothing, 0, exact, covered, close]),
            intruder_numbers,
            released_numbers,
        )
    intruder_numbers = np.column_stack([column.places, column.places, np.zeros(len(column.places))])
    released_numbers = np.column_stack([column.low, column.high, np.zeros(len(column.low))])
    reach = 1.0
    if column.scale != "order":
        reach = tolerance * (deviation(column) if sigma is None else sigma)
    constants = np.array([differs, nothing, nothing, nothing, reach, exact, covered, close])
    return ComparisonRule(GRADED, constants, intruder_numbers, released_numbers)


# Numbers with noise: how near two are says more than whether they are close.
#
# Matches differ by a normal error of deviation *s* but for a share of outliers, others by as much
# as two random people do (deviation *S*). So what a gap *d* says falls from that of closeness at
# its best, and never below what an outlier says:
#
# .. math:: R(d) = \max\left(\log_2 \frac{m\,(1-o)\,2r}{u_1\, s\sqrt{2\pi}} - \frac{d^2}{2\ln 2}
#           \left(\frac1{s^2} - \frac1{S^2}\right),\ \log_2 \frac{m\,o}{u_0 + u_1}\right)
#
# with *m* the share of matches that do not agree exactly, *o* the outliers, and :math:`u_1/2r` the
# density of random pairs within a reach *r* of three errors. The errors come from either of two
# beginnings. By shares: *s* is the same for all columns, in deviations of each, the median of what
# makes the shares :math:`m_1/(m_0+m_1)` of gaps close, as estimates of single columns go astray
# where columns depend on each other; then a sample of the intruder's records is linked, and *s* is
# the root of the mean square of the gaps, without outliers, of those that are matches more likely
# than not. By links: people are linked to the nearest record by distance; these pairs give the
# shares *m* and the gaps, and what follows from them gives the pairs of the next round. Where noise
# or rounding make columns agree by chance, expectation and maximisation takes the chance for a
# match, and links do not.


@dataclasses.dataclass(frozen=True)
class Nearness:
    """The bits of a gap: ``top`` at none, less by ``slope`` times its square, never less than
    ``floor``.
    """

    top: float
    slope: float
    floor: float


@dataclasses.dataclass(frozen=True)
class MatchNoise:
    """How far matches lie apart in a column: the deviation of the error, and the share of
    outliers.
    """

    error: float
    outliers: float = 0.01


def told_by_shares(m: Floats, reach: float) -> float:
    """The error that makes as many matches close as there are."""
    from scipy.special import erfinv

    m_total = m[0] + m[1]
    closeness = np.clip(m[1] / m_total, 0.02, 0.999)
    return reach / (math.sqrt(2) * float(erfinv(closeness)))


def told_by_gaps(gaps: Floats) -> MatchNoise | None:
    """The error that linked pairs have in a column, None where they are few."""
    if len(gaps) < ENOUGH:
        return None
    far = gaps > FAR * 1.4826 * np.median(gaps)
    error = float(np.sqrt((gaps[~far] ** 2).mean()))
    return MatchNoise(error, float(np.clip(far.mean(), *OUTLIERS)))


def nearness(m: Floats, u: Floats, density: float, spread: float, noise: MatchNoise) -> Nearness:
    """What gaps say in a column with the shares ``m`` and ``u`` of its levels.

    ``density`` is that of small gaps among random pairs, ``spread`` the deviation of all of these.
    """
    error = min(max(noise.error, 1e-9 * spread), spread)
    disagreement_share = float(m[0] + m[1])
    peak = error * math.sqrt(2 * math.pi)
    inlier_share = disagreement_share * (1 - noise.outliers)
    top = math.log2(inlier_share / (peak * density))
    outlier_share = disagreement_share * noise.outliers
    u_total = u[0] + u[1]
    floor = math.log2(outlier_share / float(u_total))
    slope = (error**-2 - spread**-2) / (2 * math.log(2))
    return Nearness(max(top, floor), slope, floor)


def near_rule(
    column: ComparedColumn, bits: Floats, near: Nearness, occur: NDArray[np.bool_]
) -> tuple[ComparisonRule, float]:
    """A column of numbers graded by nearness, and the most bits a pair has in it.

    Exact agreement and being covered keep their bits where they occur. A gap is held to say less
    than either: where the estimate says otherwise, it says at most what is halfway between an
    outlier and agreement.
    """
    top = near.top
    agreeing = [float(bits[level]) for level in (2, 3) if occur[level]]
    # Agreement must weigh more than nearness, or a near miss would beat a match.
    if agreeing and top >= min(agreeing):
        if near.floor < min(agreeing):
            top = (near.floor + min(agreeing)) / 2
        else:
            top = min(agreeing)
    covered, exact = (float(bits[level]) if occur[level] else top for level in (2, 3))
    best = max(exact, covered, top, 0.0)
    plain = graded_rule(column, 0.0)
    costs = [best - bit for bit in (min(near.floor, top), 0.0, 0.0, 0.0)]
    constants = np.array([*costs, near.slope, best - exact, best - covered, best - top])
    return ComparisonRule(NEARING, constants, plain.intruder, plain.released), best


def deviation(column: ComparedColumn) -> float:
    """The standard deviation of both files together."""
    intruder_positions = column.places[column.intruder]
    released_positions = (column.low / 2 + column.high / 2)[column.released]
    released_positions = released_positions[~column.open_released[column.released]]
    positions = np.concatenate([intruder_positions, released_positions])
    return moments(positions[~np.isnan(positions)])[1]


# Of whom weights are learnt.


def learning_scene(scene: Scene) -> Scene:
    """The scene in which weights are learnt: everybody whom the intruder might look for, whoever
    was drawn.

    Learnt on those who were drawn, weights would differ from draw to draw, and no interval of a
    rate would cover that. Of more than 20,000 people a random sample is taken, always the same.
    """
    pair = scene.pair
    intruder = scene.intruder
    if intruder.sampled:
        key = ("everyone", intruder.knows)
        if key not in pair.memo:
            everybody = np.arange(len(pair.original), dtype=np.int64)
            pair.memo[key] = Intruder(pair.original, intruder.knows, everybody)
        intruder = pair.memo[key]
    return part_of(
        dataclasses.replace(scene, intruder=intruder, seed=Seed(0)),
        MOST_LEARNT,
        "linkage: learnt of",
    )


def part_of(scene: Scene, size: int, purpose: str) -> Scene:
    """The scene with no more people than so many, drawn at random, always the same."""
    intruder = scene.intruder
    key = ("part", purpose, size)
    if len(intruder.file) <= size:
        return scene
    if key not in intruder.memo:
        order = scene.seed.stream(purpose).permutation(len(intruder.file))
        rows = np.sort(order[:size])
        file = intruder.file.take(rows)
        truth = intruder.truth[rows]
        intruder.memo[key] = Intruder(file, intruder.knows, truth)
    return dataclasses.replace(scene, intruder=intruder.memo[key])


# Ways to weigh, and which is better.


@dataclasses.dataclass(frozen=True, eq=False)
class Weighing:
    """What agreement weighs (``found``, a row a column as in ``place``), and in the columns
    ``near`` what gaps do.
    """

    found: Parameters
    place: Mapping[str, int]
    tolerance: float
    deviations: Mapping[str, float]
    near: Mapping[str, Nearness]
    smooth: bool = False
    """Whether exact agreement is a gap of nothing, not a level of its own: whole numbers with noise
    agree by chance.
    """

    def costs(self, files: Files) -> tuple[Arrays, float]:
        """Files as arrays of what each column costs, and the most bits a pair can have."""
        rules = [self._rule(column) for column in files.columns]
        ordered_rules = [rule for rule, _ in rules]
        return arrays_of(files, ordered_rules), sum(best for _, best in rules)

    def _rule(self, column: ComparedColumn) -> tuple[ComparisonRule, float]:
        k = self.place[column.name]
        near = self.near.get(column.name)
        bits = self.found.weights[k]
        if near is None:
            sigma = self.deviations.get(column.name)
            return graded_rule(column, self.tolerance, bits, sigma), float(bits.max())
        occur = self.found.u[k] > 0
        if self.smooth:
            occur[3] = False
        return near_rule(column, bits, near, occur)


@dataclasses.dataclass(frozen=True, eq=False)
class TrialLinks:
    """The people of a trial linked by some costs: the share linked rightly, and who is linked to
    whom where it is one record.
    """

    rate: float
    pairs: Ints
    least: Floats


class MatchLearning:
    """Learns what gaps weigh, and tells which way to weigh is better; ``found`` is what is known of
    levels of agreement.
    """

    def __init__(
        self, scene: Scene, arrays: Arrays, parameters: Parameters, tolerance: float
    ) -> None:
        self.scene = scene
        self.found = parameters
        self.tolerance = tolerance
        self.names = arrays.names
        self.place = {name: k for k, name in enumerate(arrays.names)}
        files = files_of(scene)
        self.deviations = {
            column.name: deviation(column) for column in files.columns if column.scale == "number"
        }
        self.levels = Weighing(
            parameters, self.place, tolerance=tolerance, deviations=self.deviations, near={}
        )
        draw = scene.seed.stream("linkage: random pairs")
        sides = []
        for kinds in (files.intruder.kind_of, files.released.kind_of):
            rows = draw.integers(0, len(kinds), RANDOM_PAIRS)
            sides.append(kinds[rows])
        pairs = np.column_stack(sides).astype(np.int64)
        self.random_gaps = {
            name: _gaps(arrays, self.place[name], pairs) for name in self.deviations
        }
        self.trial = part_of(scene, TRIAL, "linkage: trial")
        self.spent = 0
        """Cells that were compared so far to tell which way is better."""

    def best(self) -> Weighing:
        """The way to weigh by which most people of the trial are linked rightly; where trials are
        much work, of fewer ways.
        """
        noise = self._alike()
        if noise:
            graded = self._weighing(self.found, noise)
        else:
            graded = self.levels
        if not self.deviations:
            return graded
        nearest = self._links(files_of(self.trial).plain)
        if not self._noise(nearest.pairs):  # numbers are as they were, or within ranges
            return graded
        trials = [(self._try_weighing(self.levels), self.levels)]
        if noise:
            trials += [self._tried_by_shares(graded, noise)]
        links, best = nearest, 0.0
        # Links give weights and weights give links: repeated as long as the rate rises.
        for _ in range(LINK_ROUNDS):
            if self.spent > self.scene.work // TRIAL_SHARE:
                break
            ways = self._by_links(links.pairs)
            rounds = [(self._try_weighing(way), way) for way in ways]
            trials += rounds
            links = max((outcome for outcome, _ in rounds), key=lambda outcome: outcome.rate)
            if links.rate <= best:
                break
            best = links.rate
        return max(trials, key=lambda trial: trial[0].rate)[1]

    # by shares

    def _alike(self) -> dict[str, MatchNoise]:
        """By column of numbers an error that is the same part of its deviation in all."""
        graded = [name for name in self.deviations if self._is_informative(self.place[name])]
        errors = [told_by_shares(self.found.m[self.place[name]], self.tolerance) for name in graded]
        return {
            name: MatchNoise(self.deviations[name] * float(np.median(errors))) for name in graded
        }

    def _is_informative(self, k: int) -> bool:
        """Whether closeness tells anything in a column."""
        m = self.found.m[k]
        u = self.found.u[k]
        return bool(
            self.tolerance > 0 and m[1] >= LEAST_CLOSE and m[0] > 0 and u[1] > 0 and u[0] > 0
        )

    def _tried_by_shares(
        self, alike: Weighing, noise: Mapping[str, MatchNoise]
    ) -> tuple[TrialLinks, Weighing]:
        """The errors of those who are matches more likely than not under errors that are alike, and
        how they do.
        """
        arrays, greatest_weight = alike.costs(files_of(self.trial))
        links = self._links(arrays)
        # a posterior above one half: the weight exceeds the odds against a match
        odds_against = math.log2((1 - self.found.prior) / self.found.prior)
        likely = greatest_weight - links.least >= odds_against
        noise_of_links = self._noise(links.pairs[likely])
        way = self._weighing(self.found, {**noise, **noise_of_links})
        return self._try_weighing(way), way

    # by links

    def _by_links(self, pairs: Ints) -> list[Weighing]:
        """What pairs that may be matches say: with the outliers that they have, with hardly any,
        and then without exact agreement.
        """
        shares = self._shares_of(pairs)
        noise = self._noise(pairs)
        noise_few_outliers = {}
        for name, column_noise in noise.items():
            noise_few_outliers[name] = MatchNoise(column_noise.error, FEWEST_OUTLIERS)
        ways = [self._weighing(shares, noise), self._weighing(shares, noise_few_outliers)]
        return [*ways, dataclasses.replace(ways[1], smooth=True)]

    def _shares_of(self, pairs: Ints) -> Parameters:
        """What is known of levels, with the shares *m* of these pairs; chance counts as two pairs
        more.
        """
        arrays = self._trial_levels
        order = [arrays.names.index(name) for name in self.names]
        column_costs = arrays.costs(pairs)[:, order]
        levels = np.rint(LEVELS - 1 - column_costs)
        pairs_by_level = [(levels == level).sum(axis=0) for level in range(LEVELS - 1)]
        counts = np.stack(pairs_by_level, axis=1) + 2 * self.found.u
        m = counts / np.maximum(counts.sum(axis=1, keepdims=True), LEAST)
        m = np.where(self.found.u > 0, np.clip(m, LEAST, 1 - LEAST), 0.0)
        return dataclasses.replace(self.found, m=m)

    # both

    @functools.cached_property
    def _trial_levels(self) -> Arrays:
        """The people of the trial and the release; each level of agreement costs what it is below
        the highest.
        """
        files = files_of(self.trial)
        numbered = np.arange(float(LEVELS))
        rules = [
            graded_rule(c, self.tolerance, numbered, self.deviations.get(c.name))
            for c in files.columns
        ]
        return arrays_of(files, rules)

    def _try_weighing(self, way: Weighing) -> TrialLinks:
        return self._links(way.costs(files_of(self.trial))[0])

    def _links(self, arrays: Arrays) -> TrialLinks:
        """The nearest record to everybody in the trial."""
        files = files_of(self.trial)
        truth = self.trial.intruder.truth
        self.scene.require_time()
        lookup = Lookup(arrays)
        size = len(arrays.intruder.records)
        nearest_cost = np.full(size, np.inf)
        tied = np.zeros(size, dtype=np.int64)
        nearest_kind = np.full(size, -1, dtype=np.int64)
        # In random order, so that a trial that runs out of work is still a sample.
        order = self.scene.seed.stream("linkage: trial in what order").permutation(size)
        trial = dataclasses.replace(self.scene, work=self.scene.work // TRIALS_AT_MOST)
        for start, end in trial.portions(size, cost=lookup.cost, spent=lambda: lookup.spent):
            part = order[start:end]
            nearest_cost[part], tied[part], nearest_kind[part] = lookup.nearest(part)
        self.spent += lookup.spent + lookup.cost * TREE_COST
        hits = hits_of(
            arrays, files.true_pairs, files.intruder.kind_of, files.released.kind_of, nearest_cost
        )
        has_answer = (truth >= 0) & (tied[files.intruder.kind_of] > 0)
        ties = tied[files.intruder.kind_of[has_answer]]
        credit = hits[has_answer] / np.maximum(1, ties)
        # Only unambiguous links teach: the nearest records are copies of one another.
        all_tied = tied == arrays.released.records[nearest_kind]
        alone = np.flatnonzero((nearest_kind >= 0) & all_tied)
        pairs = np.column_stack([alone, nearest_kind[alone]]).astype(np.int64)
        return TrialLinks(float(credit.mean()) if len(credit) else 0.0, pairs, nearest_cost[alone])

    def _noise(self, pairs: Ints) -> dict[str, MatchNoise]:
        """By column of numbers how far pairs lie apart, where enough do."""
        noise = {}
        for name in self.deviations:
            gaps = _gaps(self._trial_levels, self._trial_levels.names.index(name), pairs)
            column_noise = told_by_gaps(gaps[gaps > SLACK])
            if column_noise is not None:
                noise[name] = column_noise
        return noise

    def _weighing(self, parameters: Parameters, noise: Mapping[str, MatchNoise]) -> Weighing:
        near = {}
        for name, column_noise in noise.items():
            is_narrow = column_noise.error <= WIDE * self.deviations[name]
            if is_narrow and len(self.random_gaps[name]):
                near[name] = self._near(name, parameters, column_noise)
        return Weighing(
            parameters, self.place, tolerance=self.tolerance, deviations=self.deviations, near=near
        )

    def _near(self, name: str, parameters: Parameters, noise: MatchNoise) -> Nearness:
        """What gaps of a column say; the density of random ones is that within three errors."""
        gaps = self.random_gaps[name]
        reach = 3 * noise.error
        k = self.place[name]
        small = (
            (gaps > SLACK) & (gaps <= reach)
        ).sum() + 1  # one more, so that it is never nothing
        density = float(small) / len(gaps) / (2 * reach)
        spread = math.sqrt(2) * self.deviations[name]
        return nearness(parameters.m[k], parameters.u[k], density, spread, noise)


def _gaps(arrays: Arrays, k: int, pairs: Ints) -> Floats:
    """How far pairs of distinct records lie apart in a column of numbers, where both say
    something.
    """
    intruder_numbers = arrays.intruder.numbers[pairs[:, 0], k]
    released_numbers = arrays.released.numbers[pairs[:, 1], k]
    intruder_marks = arrays.intruder.marks[pairs[:, 0], k]
    released_marks = arrays.released.marks[pairs[:, 1], k]
    both_present = (intruder_marks >= 0) & (released_marks >= 0)
    above = released_numbers[:, 0] - intruder_numbers[:, 1]
    below = intruder_numbers[:, 0] - released_numbers[:, 1]
    apart = np.maximum(above, below)
    gaps: Floats = apart[both_present]
    return gaps
