"""Probabilistic record linkage: agreement weighed by what it says."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.attacks.crowd import distinct
from sfumato.attacks.linkage.compared import (
    CATEGORY,
    GRADED,
    NEARING,
    Arrays,
    ComparisonRule,
    arrays_of,
    common_columns,
    moments,
    percent,
    refusal,
    require_linkable,
    sampled_interval,
)
from sfumato.attacks.linkage.fellegi_sunter import (
    LEVELS,
    SLACK,
    LinkDecision,
    Parameters,
    Patterns,
    decide,
    estimate,
    shares,
)
from sfumato.attacks.linkage.files import Files, files_of
from sfumato.attacks.linkage.search import Credits, Lookup, linked
from sfumato.core.attack import Attack, Finding
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.attacks.linkage.compared import Compared
    from sfumato.core.attack import Scene


# Rules that grade agreement in a column, and the counts of patterns that follow.

MOST_COLUMNS = 27
"""Columns whose pattern fits a word."""


def graded_rule(column: Compared, tolerance: float, bits: NDArray[np.float64] | None = None) -> ComparisonRule:
    """How one column is graded: close are numbers within so many standard deviations, or neighbouring ranks.

    With ``bits`` (per level the weight of a match, the last where nothing can be said) grades cost the bits they lack.
    """
    costs = np.zeros(LEVELS) if bits is None else bits.max() - bits
    differs, close, covered, exact, nothing = costs.tolist()
    if column.scale == "category":
        others = (column.stands_for - 1).astype(float)
        theirs = np.column_stack([np.zeros((len(column.places), 2)), np.full(len(column.places), -np.inf)])
        ours = np.column_stack([np.zeros(len(others)), others, np.where(others > 0, covered, exact)])
        return ComparisonRule(
            CATEGORY, np.array([differs, nothing, nothing, nothing, 0, exact, covered, close]), theirs, ours
        )
    theirs = np.column_stack([column.places, column.places, np.zeros(len(column.places))])
    ours = np.column_stack([column.low, column.high, np.zeros(len(column.low))])
    reach = 1.0 if column.scale == "order" else tolerance * deviation(column)
    return ComparisonRule(
        GRADED, np.array([differs, nothing, nothing, nothing, reach, exact, covered, close]), theirs, ours
    )


# Numbers with noise: how near two are says more than whether they are close.
#
# Matches differ by a normal error of deviation *s* but for a share of outliers, others by as much as two random people do
# (deviation *S*). So what a gap *d* says falls from that of closeness at its best, and never below what an outlier says:
#
# .. math:: R(d) = \max\left(\log_2 \frac{m\,(1-o)\,2r}{u_1\, s\sqrt{2\pi}} - \frac{d^2}{2\ln 2}
#           \left(\frac1{s^2} - \frac1{S^2}\right),\ \log_2 \frac{m\,o}{u_0 + u_1}\right)
#
# with *m* the share of matches that do not agree exactly, *o* the outliers, and :math:`u_1/2r` the density of random pairs
# within the tolerance *r*. At first *s* is the same for all columns, in deviations of each: the median of what makes the shares
# :math:`m_1/(m_0+m_1)` of gaps close, as estimates of single columns go astray where columns depend on each other. Then a sample of
# the intruder's records is linked, and *s* is the root of the mean square of the gaps, without outliers, of those that are matches
# more likely than not.

LINKED, ENOUGH = 1000, 20
"""Records linked to learn how far matches lie apart, and how few of these say nothing."""
FAR = 4.0
"""Gaps that are so many times the deviation (1.4826 times the median gap) are outliers."""
OUTLIERS = (1e-3, 0.5)
WIDE = 1.0
"""Matches that lie apart by more than so many deviations of a column are as far as others: nearness says nothing."""
LEAST_CLOSE = 0.01
"""Where fewer matches are close than this, nearness says nothing and closeness is one level of agreement."""


@dataclasses.dataclass(frozen=True)
class Nearness:
    """The bits of a gap: ``top`` at none, less by ``slope`` times its square, never less than ``floor``."""

    top: float
    slope: float
    floor: float


@dataclasses.dataclass(frozen=True)
class MatchNoise:
    """How far matches lie apart in a column: the deviation of the error, and the share of outliers."""

    error: float
    outliers: float = 0.01


def told_by_shares(m: NDArray[np.float64], reach: float) -> float:
    """The error that makes as many matches close as there are."""
    from scipy.special import erfinv

    return reach / (math.sqrt(2) * float(erfinv(np.clip(m[1] / (m[0] + m[1]), 0.02, 0.999))))


def told_by_gaps(gaps: NDArray[np.float64]) -> MatchNoise | None:
    """The error that linked pairs have in a column, None where they are few."""
    if len(gaps) < ENOUGH:
        return None
    far = gaps > FAR * 1.4826 * np.median(gaps)
    return MatchNoise(float(np.sqrt((gaps[~far] ** 2).mean())), float(np.clip(far.mean(), *OUTLIERS)))


def nearness(
    m: NDArray[np.float64], u: NDArray[np.float64], reach: float, spread: float, noise: MatchNoise
) -> Nearness:
    """What gaps say in a column with the shares ``m`` and ``u`` of its levels.

    ``reach`` is the tolerance, ``spread`` the deviation of differences of random pairs.
    """
    error, others = min(max(noise.error, 1e-9 * spread), spread), float(m[0] + m[1])
    top = math.log2(others * (1 - noise.outliers) * 2 * reach / (error * math.sqrt(2 * math.pi) * float(u[1])))
    floor = math.log2(others * noise.outliers / float(u[0] + u[1]))
    return Nearness(max(top, floor), (error**-2 - spread**-2) / (2 * math.log(2)), floor)


def near_rule(
    column: Compared, bits: NDArray[np.float64], near: Nearness, occur: NDArray[np.bool_]
) -> tuple[ComparisonRule, float]:
    """A column of numbers graded by nearness, and the most bits a pair has in it.

    Exact agreement and being covered keep their bits where they occur. A gap is held to say less than either: where the estimate
    says otherwise, it says at most what is halfway between an outlier and agreement.
    """
    top, agreeing = near.top, [float(bits[level]) for level in (2, 3) if occur[level]]
    if agreeing and top >= min(agreeing):
        top = (near.floor + min(agreeing)) / 2 if near.floor < min(agreeing) else min(agreeing)
    covered, exact = (float(bits[level]) if occur[level] else top for level in (2, 3))
    best = max(exact, covered, top, 0.0)
    plain = graded_rule(column, 0.0)
    costs = [best - bit for bit in (min(near.floor, top), 0.0, 0.0, 0.0)]
    constants = np.array([*costs, near.slope, best - exact, best - covered, best - top])
    return ComparisonRule(NEARING, constants, plain.theirs, plain.ours), best


def deviation(column: Compared) -> float:
    """The standard deviation of both files together."""
    theirs, ours = column.places[column.theirs], (column.low / 2 + column.high / 2)[column.ours]
    ours = ours[~column.open_ours[column.ours]]
    both = np.concatenate([theirs, ours])
    return moments(both[~np.isnan(both)])[1]


@dataclasses.dataclass(frozen=True, eq=False)
class Holders:
    """The distinct cells of one released column and the records that hold each; −1 in ``value_of`` where nothing can be said."""

    value_of: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    starts: NDArray[np.int64]
    records: NDArray[np.int64]


FEW = 8
"""Columns in which fewer than one in so many released records agree with an anchor are looked up record by record."""


def _holders(arrays: Arrays, k: int) -> Holders:
    """Who holds what in a column: a category by its code, a place or range on the line in their order."""
    ends, marks = arrays.ours.numbers[:, k, :2], arrays.ours.marks[:, k]
    there = np.flatnonzero(marks >= 0)
    value_of, size = np.full(len(marks), -1, dtype=np.int64), int(arrays.ours.bases[k + 1] - arrays.ours.bases[k])
    if arrays.kinds[k] == CATEGORY:
        value_of[there] = marks[there]
    else:
        there = there[np.lexsort((ends[there, 1], ends[there, 0]))]
        new = (np.diff(ends[there], axis=0) != 0).any(axis=1)
        value_of[there] = np.concatenate([[0], np.cumsum(new)])[: len(there)]
        size = int(value_of.max(initial=-1)) + 1
    low, high = np.zeros(size), np.zeros(size)
    low[value_of[there]], high[value_of[there]] = ends[there].T
    order = there[np.argsort(value_of[there], kind="stable")]
    lengths = np.bincount(value_of[there], minlength=size)
    return Holders(value_of, low, high, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), order)


def _agreeing(arrays: Arrays, k: int, held: Holders, anchors: NDArray[np.int64]) -> float:
    """How many released records, in the mean over the anchors, may agree with an anchor in a column."""
    left, marks = arrays.theirs, arrays.theirs.marks[anchors, k]
    asked = anchors[marks >= 0]
    if arrays.kinds[k] == CATEGORY:
        ends = left.starts[left.bases[k] : left.bases[k + 1] + 1]
        sums = np.concatenate([[0], np.cumsum(np.diff(held.starts)[left.matches[ends[0] : ends[-1]]])])
        ends = ends - ends[0]
        return float((sums[ends[1:]] - sums[ends[:-1]])[marks[marks >= 0]].sum()) / max(1, len(anchors))
    reach, ends = arrays.constants[k, 4] + 2 * SLACK, left.numbers[asked, k]
    first = np.searchsorted(held.low, ends[:, 0] - reach - (held.high - held.low).max(initial=0.0))
    last = np.searchsorted(held.low, ends[:, 1] + reach, side="right")
    return float((held.starts[last] - held.starts[first]).sum()) / max(1, len(anchors))


def count_patterns(arrays: Arrays, anchors: NDArray[np.int64]) -> Patterns:
    """The patterns of all pairs of an anchor (a distinct record of the intruder) and a released record.

    The counts are exact, though most pairs are never looked at: see :func:`sfumato.kernels.linkage.pattern_counts`.
    """
    left, records = arrays.theirs, arrays.ours.records
    held = [_holders(arrays, k) for k in range(len(arrays.kinds))]
    few = np.array([FEW * _agreeing(arrays, k, h, anchors) <= len(records) for k, h in enumerate(held)])
    values = np.concatenate([[0], np.cumsum([len(h.low) for h in held])]).astype(np.int64)
    classes = distinct([np.where(f, np.minimum(h.value_of, 0), h.value_of) + 1 for h, f in zip(held, few, strict=True)])
    cells = np.where(classes.codes > 0, classes.codes - 1 + values[:-1], -1)
    held_starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(h.starts) for h in held]))])
    keys, counts = kernels.linkage.pattern_counts(
        anchors, arrays.kinds, arrays.constants, left.numbers, left.marks, left.records.astype(float), left.bases,
        left.starts, left.matches, values, np.concatenate([h.low for h in held]), np.concatenate([h.high for h in held]),
        np.array([(h.high - h.low).max(initial=0.0) for h in held]), held_starts.astype(np.int64),
        np.concatenate([h.records for h in held]), few, records.astype(float), classes.kind_of.astype(np.int64), cells,
        np.bincount(classes.kind_of, weights=records, minlength=len(cells)),
    )  # fmt: skip
    order = np.argsort(keys)
    digits = LEVELS ** np.arange(len(arrays.kinds) - 1, -1, -1)
    return Patterns(keys[order][:, None] // digits % LEVELS, counts[order])


PAIRS, FEWEST = 5_000_000, 500
"""Pairs of distinct records that are counted; of longer files those of a random sample of the intruder's, no fewer than this."""


@parameters
class ProbabilisticLinkage(Attack):
    r"""The intruder weighs every agreement by how much likelier it is for the same person than for two random people.

    Fellegi and Sunter's model, estimated without the truth: levels of agreement (exact; covered by a range or a set; close;
    different) have probabilities *m* among matches and *u* among others, found by expectation and maximisation over the
    distinct patterns of agreement with their counts (:mod:`sfumato.attacks.linkage.probabilistic_linkage`). A suppressed or missing
    cell says nothing. Each person is linked to the released record with the highest weight

    .. math:: R(\gamma) = \sum_k \log_2 \frac{m_{k\gamma_k}}{u_{k\gamma_k}}

    and the value is the share of people of the intruder's file in the original table that are linked to their own record,
    ties shared out, with Wilson's interval (95 %) where these are a random sample. The two error probabilities part all pairs into links, pairs for a clerk, and non-links; ``details`` has
    their numbers and, for people whose best record is a link, precision and recall.

    In columns of numbers that were changed a gap weighs the less the larger it is, by the normal error that matches turn out to
    have there, so that noise hides nobody that it does not hide from distances.

    ``u`` is the share of a level among random pairs (nearly all of which are not matches) and stays fixed, or is estimated too.
    Patterns of files with more than 5 million pairs of distinct records are counted for a random sample of the intruder's
    records (500 or more) against all released ones. Few of the pairs are looked at one by one, but none is lost: records that agree in no telling
    column are counted, and passed over in the search, by what they have in common, so that recall is that of all pairs (the bound is 1).
    recordlinkage and splink compare pairs within blocks that the user chooses, and miss people outside them.
    Reference: Fellegi & Sunter 1969, doi:10.1080/01621459.1969.10501049.

    >>> ProbabilisticLinkage(tolerance=0.2).name
    'probabilistic_linkage'
    """

    tolerance: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="numbers within so many standard deviations are close")
    ] = 0.1
    wrong_links: Annotated[
        float, Field(gt=0, lt=1, description="μ: share of pairs of different people that may be called links")
    ] = 1e-4
    missed: Annotated[
        float, Field(gt=0, lt=1, description="λ: share of pairs of the same person that may be called non-links")
    ] = 0.05
    chance: Annotated[
        Literal["random_pairs", "estimated"],
        Field(description="how often others agree is taken from random pairs, or estimated with the rest"),
    ] = "random_pairs"

    name: ClassVar[str] = "probabilistic_linkage"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A person's own record is found by weighing what agrees"
    turn: ClassVar[int] = 1

    def applies(self, scene: Scene) -> str | None:
        """Why nothing can be linked here, or None."""
        if len(common_columns(scene)) > MOST_COLUMNS:
            return f"patterns of more than {MOST_COLUMNS} columns cannot be counted; let the intruder know fewer"
        return refusal(scene)

    def attack(self, scene: Scene) -> Finding:
        """Estimate the model, link every person to the best record, and count who is linked to the own one."""
        require_linkable(scene)
        if reason := self.applies(scene):
            raise SchemaError(f"probabilistic linkage: {reason}")
        files = files_of(scene)
        arrays = arrays_of(files, [graded_rule(column, self.tolerance) for column in files.columns])
        anchors = _anchors(scene, arrays)
        patterns = count_patterns(arrays, anchors)
        prior = min(len(scene.intruder.file), len(scene.pair.released)) / (
            len(scene.intruder.file) * len(scene.pair.released)
        )
        chance = shares(patterns, patterns.counts) if self.chance == "random_pairs" else None
        half = scene.left / 2  # the other half is for looking people up
        found = estimate(patterns, min(prior, 0.5), chance, lambda: scene.left > half)
        decision = decide(patterns, found, self.wrong_links, self.missed)
        weighed = Weighed(scene, files, arrays, found, self.tolerance)
        noise = weighed.alike()
        costs, most = weighed.costs(noise)
        if noise and scene.left > 0:
            costs, most = weighed.costs({**noise, **weighed.learned(costs, most)})
        credit = linked(scene, files, costs)
        best = most - credit.least
        scale = len(scene.intruder.file) / max(1, int(arrays.theirs.records[anchors].sum()))
        details = _details(scene, credit, decision, patterns, found, best, scale)
        return self._finding(scene, files, credit, details, _weights(arrays, found))

    def _finding(
        self, scene: Scene, files: Files, credit: Credits, details: dict[str, Any], weights: dict[str, float]
    ) -> Finding:
        rate, sampled = credit.rate, credit.sampled
        if details["stopped_by_time"]:
            sampled += f" (by weights of {details['rounds']} rounds of estimation, for want of time)"
        sentence = (
            f"By weighing agreement in {', '.join(files.names)}, an intruder links {percent(rate)} of "
            f"{len(credit.rows):,} people to their own released record{sampled}; of {details['people_with_a_link']:,} "
            f"links that look certain, {percent(details['precision'])} are right."
        )
        return Finding(
            self.name,
            rate,
            sentence,
            sampled_interval(credit.credit, everybody=credit.complete and not scene.intruder.sampled),
            1.0 / len(scene.pair.released),
            scene.intruder.truth[credit.rows[credit.credit == 1.0]],
            weights,
            details,
            len(credit.rows),
        )


class Weighed:
    """The files under the bits of an estimate: what every column costs, and in columns of numbers what a gap does."""

    def __init__(self, scene: Scene, files: Files, arrays: Arrays, found: Parameters, tolerance: float) -> None:
        self.scene, self.files, self.found, self.tolerance = scene, files, found, tolerance
        self.place = {name: k for k, name in enumerate(arrays.names)}
        self.numbers = {
            column.name: deviation(column)
            for column in files.columns
            if column.scale == "number" and self._told(self.place[column.name])
        }

    def _told(self, k: int) -> bool:
        """Whether closeness tells anything in a column."""
        m, u = self.found.m[k], self.found.u[k]
        return bool(self.tolerance > 0 and m[1] >= LEAST_CLOSE and m[0] > 0 and u[1] > 0 and u[0] > 0)

    def alike(self) -> dict[str, MatchNoise]:
        """By column of numbers an error that is the same part of its deviation in all."""
        errors = [told_by_shares(self.found.m[self.place[name]], self.tolerance) for name in self.numbers]
        return {name: MatchNoise(sigma * float(np.median(errors))) for name, sigma in self.numbers.items()}

    def costs(self, noise: Mapping[str, MatchNoise]) -> tuple[Arrays, float]:
        """The files as arrays of what each column costs, and the most bits a pair can have."""
        rules = [self._rule(column, noise.get(column.name)) for column in self.files.columns]
        return arrays_of(self.files, [rule for rule, _ in rules]), sum(best for _, best in rules)

    def learned(self, costs: Arrays, most: float) -> dict[str, MatchNoise]:
        """By column of numbers the error of a sample of records and their likely matches, where it can be told."""
        size = len(costs.theirs.records)
        asked = np.sort(self.scene.seed.stream("linkage gaps").permutation(size)[:LINKED]).astype(np.int64)
        least, tied, chosen = Lookup(costs).nearest(asked)
        likely = most - least >= math.log2((1 - self.found.prior) / self.found.prior)
        alone = tied == costs.ours.records[chosen]
        i, j = asked[likely & alone], chosen[likely & alone]
        found = {}
        for name in self.numbers:
            k = costs.names.index(name)
            theirs, ours = costs.theirs.numbers[i, k], costs.ours.numbers[j, k]
            apart = np.maximum(ours[:, 0] - theirs[:, 1], theirs[:, 0] - ours[:, 1])
            there = (costs.theirs.marks[i, k] >= 0) & (costs.ours.marks[j, k] >= 0)
            noise = told_by_gaps(apart[there & (apart > SLACK)])
            found.update({name: noise} if noise else {})
        return found

    def _rule(self, column: Compared, noise: MatchNoise | None) -> tuple[ComparisonRule, float]:
        k = self.place[column.name]
        bits, m, u = self.found.weights[k], self.found.m[k], self.found.u[k]
        sigma = self.numbers.get(column.name, 0.0)
        if noise is None or noise.error > WIDE * sigma:
            return graded_rule(column, self.tolerance, bits), float(bits.max())
        return near_rule(column, bits, nearness(m, u, self.tolerance * sigma, math.sqrt(2) * sigma, noise), u > 0)


def _anchors(scene: Scene, arrays: Arrays) -> NDArray[np.int64]:
    """Distinct records of the intruder whose pairs are counted: all, or a random sample."""
    size = len(arrays.theirs.records)
    most = max(FEWEST, PAIRS // max(1, len(arrays.ours.records)))
    if size <= most:
        return np.arange(size)
    return np.sort(scene.seed.stream("linkage patterns").permutation(size)[:most]).astype(np.int64)


def _weights(arrays: Arrays, found: Parameters) -> dict[str, float]:
    """Per column the bits that the best agreement is worth, in falling order."""
    best = dict(zip(arrays.names, found.weights[:, 1:4].max(axis=1).tolist(), strict=True))
    return dict(sorted(best.items(), key=lambda item: (-item[1], item[0])))


def _details(
    scene: Scene,
    credit: Credits,
    decision: LinkDecision,
    patterns: Patterns,
    found: Parameters,
    best: NDArray[np.float64],
    scale: float,
) -> dict[str, Any]:
    """Thresholds, numbers of pairs, precision and recall."""
    sure = best >= decision.upper - 1e-9
    right = float(credit.credit[sure].sum())
    pairs = {
        words: round(float(patterns.counts[decision.verdicts == verdict].sum()) * scale)
        for words, verdict in (("links", 1), ("clerical", 0), ("non_links", -1))
    }
    return {
        "upper_bits": decision.upper if math.isfinite(decision.upper) else None,
        "lower_bits": decision.lower if math.isfinite(decision.lower) else None,
        "pairs": pairs,
        "pairs_counted": round(float(patterns.counts.sum())),
        "patterns": len(patterns.counts),
        "share_of_matches": found.prior,
        "people_with_a_link": int(sure.sum()),
        "precision": right / max(1, int(sure.sum())),
        "recall": right / max(1, len(credit.rows)),
        "rounds": found.rounds,
        "stopped_by_time": found.stopped,
        "strangers": int((scene.intruder.truth < 0).sum()),
        "complete": credit.complete,
    }
