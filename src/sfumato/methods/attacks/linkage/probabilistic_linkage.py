"""Probabilistic record linkage: agreement weighed by what it says."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.attack import AT_ONCE, Attack, Finding
from sfumato.core.fields import Document
from sfumato.core.groups import group_starts
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.errors import SchemaError
from sfumato.methods.attacks.crowd import distinct
from sfumato.methods.attacks.linkage.comparable_columns import (
    common_columns,
    refusal,
    require_linkable,
)
from sfumato.methods.attacks.linkage.comparison_arrays import CATEGORY, Arrays, arrays_of
from sfumato.methods.attacks.linkage.fellegi_sunter import (
    FEWEST_ROUNDS,
    LEVELS,
    ROUNDS,
    SLACK,
    LinkDecision,
    Parameters,
    Patterns,
    decide,
    estimate,
    shares,
)
from sfumato.methods.attacks.linkage.files import Files, files_of
from sfumato.methods.attacks.linkage.match_weights import (
    MatchLearning,
    Weighing,
    graded_rule,
    learning_scene,
)
from sfumato.methods.attacks.linkage.posteriors import WeighedPosterior
from sfumato.methods.attacks.linkage.search import Credits, link_nearest
from sfumato.methods.attacks.linkage.success_rates import sampled_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.model import Posterior

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


MOST_COLUMNS = 27
"""Columns whose pattern fits a word."""
FEW = 8
"""Columns in which fewer than one in so many released records agree with an anchor are looked up
record by record.
"""
PAIRS, FEWEST = 5_000_000, 500
"""Pairs of distinct records that are counted; of longer files those of a random sample of the
intruder's, no fewer than this.
"""
ANCHOR_SHARE = 4
"""No more than one in so many parts of the work goes into counting pairs: then there are fewer
records of the intruder.
"""


# The counts of patterns of agreement that follow from rules that grade it.


@dataclasses.dataclass(frozen=True, eq=False)
class Holders:
    """The distinct cells of one released column and the records that hold each; −1 in ``value_of``
    where nothing can be said.
    """

    value_of: Ints
    low: Floats
    high: Floats
    starts: Ints
    records: Ints


def _holders(arrays: Arrays, k: int) -> Holders:
    """Who holds what in a column: a category by its code, a place or range on the line in their
    order.
    """
    ends = arrays.released.numbers[:, k, :2]
    marks = arrays.released.marks[:, k]
    present = np.flatnonzero(marks >= 0)
    value_of = np.full(len(marks), -1, dtype=np.int64)
    size = int(arrays.released.bases[k + 1] - arrays.released.bases[k])
    if arrays.kinds[k] == CATEGORY:
        value_of[present] = marks[present]
    else:
        # By the lower, then the upper end: equal ranges stand together and get one number.
        sort_keys = ends[present, 1], ends[present, 0]
        present = present[np.lexsort(sort_keys)]
        new = (np.diff(ends[present], axis=0) != 0).any(axis=1)
        value_of[present] = group_starts(new)[: len(present)]
        size = int(value_of.max(initial=-1)) + 1
    low = np.zeros(size)
    high = np.zeros(size)
    low[value_of[present]], high[value_of[present]] = ends[present].T
    order = present[np.argsort(value_of[present], kind="stable")]
    lengths = np.bincount(value_of[present], minlength=size)
    return Holders(value_of, low, high=high, starts=group_starts(lengths), records=order)


def _agreeing(arrays: Arrays, k: int, holders: Holders, anchors: Ints) -> float:
    """How many released records, in the mean over the anchors, may agree with an anchor in a
    column.
    """
    intruder_side = arrays.intruder
    marks = arrays.intruder.marks[anchors, k]
    present_anchors = anchors[marks >= 0]
    if arrays.kinds[k] == CATEGORY:
        ends = intruder_side.starts[intruder_side.bases[k] : intruder_side.bases[k + 1] + 1]
        list_lengths = np.diff(holders.starts)[intruder_side.matches[ends[0] : ends[-1]]]
        sums = group_starts(list_lengths)
        ends = ends - ends[0]
        sums_of_marks = sums[ends[1:]] - sums[ends[:-1]]
        matches = sums_of_marks[marks[marks >= 0]].sum()
        return float(matches) / max(1, len(anchors))
    reach = arrays.constants[k, 4] + 2 * SLACK
    # Ranges are in order of their lower ends only, so one may reach up to an anchor that begins
    # earlier by as much as the widest range is wide.
    ends = intruder_side.numbers[present_anchors, k]
    widest = (holders.high - holders.low).max(initial=0.0)
    first = np.searchsorted(holders.low, ends[:, 0] - reach - widest)
    last = np.searchsorted(holders.low, ends[:, 1] + reach, side="right")
    pair_counts = (holders.starts[last] - holders.starts[first]).sum()
    return float(pair_counts) / max(1, len(anchors))


def count_patterns(
    arrays: Arrays,
    anchors: Ints,
    *,
    at_once: int = AT_ONCE,
    between: Callable[[], object] = bool,
) -> Patterns:
    """The patterns of all pairs of an anchor (a distinct record of the intruder) and a released
    record.

    The counts are exact, though most pairs are never looked at:
    see :func:`sfumato.kernels.linkage.count_patterns`. ``between`` is called whenever ``at_once``
    cells were compared, at most, and may raise to stop.
    """
    records = arrays.released.records
    holders = [_holders(arrays, k) for k in range(len(arrays.kinds))]
    rarely_agrees = np.array(
        [FEW * _agreeing(arrays, k, h, anchors) <= len(records) for k, h in enumerate(holders)]
    )
    value_starts = group_starts([len(h.low) for h in holders])
    # Columns that rarely agree are looked up record by record, so they need not part classes: only
    # whether the cell says anything counts there (1) or not (0).
    classes = distinct(
        [
            np.where(f, np.minimum(h.value_of, 0), h.value_of) + 1
            for h, f in zip(holders, rarely_agrees, strict=True)
        ]
    )
    cells = np.where(classes.codes > 0, classes.codes - 1 + value_starts[:-1], -1)
    held_starts = group_starts(np.concatenate([np.diff(h.starts) for h in holders]))
    values_of_columns = kernels.linkage.ColumnValues(
        starts=value_starts,
        lows=np.concatenate([h.low for h in holders]),
        highs=np.concatenate([h.high for h in holders]),
        widest=np.array([(h.high - h.low).max(initial=0.0) for h in holders]),
        holder_starts=held_starts.astype(np.int64),
        holders=np.concatenate([h.records for h in holders]),
        selective=rarely_agrees,
    )
    class_records = np.bincount(classes.kind_of, weights=records, minlength=len(cells)).astype(
        float
    )
    record_classes = kernels.linkage.RecordClasses(
        class_of=classes.kind_of.astype(np.int64),
        values=cells,
        weights=class_records,
        record_weights=records.astype(float),
    )
    weights = arrays.intruder.records.astype(float)
    keys: Ints = np.zeros(0, dtype=np.int64)
    counts: Floats = np.zeros(0)
    # Anchors in portions, so that the clock is asked now and then.
    cells_of_anchor = max(1, len(records) * len(arrays.kinds))
    step = max(1, at_once // cells_of_anchor)
    for start in range(0, len(anchors), step):
        between()
        sample = anchors[start : start + step]
        more_keys, more_counts = kernels.linkage.count_patterns(
            sample, arrays.files, weights, values_of_columns, record_classes
        )
        keys, positions = np.unique(np.concatenate([keys, more_keys]), return_inverse=True)
        joined_counts = np.concatenate([counts, more_counts])
        counts = np.bincount(positions, weights=joined_counts, minlength=len(keys)).astype(float)
    # A key is a pattern as one number to the base of the levels, the first column leading.
    places_of_columns = np.arange(len(arrays.kinds) - 1, -1, -1)
    digits = LEVELS**places_of_columns
    return Patterns(keys[:, None] // digits % LEVELS, counts)


@dataclasses.dataclass(frozen=True, eq=False)
class LearntWeights:
    """The patterns of agreement that were counted, of how many of the intruder's records, and the
    weights that follow.
    """

    patterns: Patterns
    way: Weighing
    records: int


@parameters
class ProbabilisticLinkage(Attack):
    r"""The intruder weighs every agreement by how much likelier it is for the same person than for
    two random people.

    Fellegi and Sunter's model, estimated without the truth: levels of agreement (exact; covered by
    a range or a set; close; different) have probabilities *m* among matches and *u* among others,
    found by expectation and maximisation over the distinct patterns of agreement with their counts
    (:mod:`sfumato.methods.attacks.linkage.probabilistic_linkage`). A suppressed or missing cell
    says nothing. Each person is linked to the released record with the highest weight

    .. math:: R(\gamma) = \sum_k \log_2 \frac{m_{k\gamma_k}}{u_{k\gamma_k}}

    and the value is the share of people of the intruder's file in the original table that are
    linked to their own record, ties shared out, with Wilson's interval (95 %) where these are a
    random sample. The two error probabilities part all pairs into links, pairs for a clerk, and
    non-links; ``details`` has their numbers and, for people whose best record is a link, precision
    and recall.

    In columns of numbers that were changed a gap may weigh the less the larger it is, by the normal
    error that likely matches turn out to have there, so that noise hides hardly anybody that it
    does not hide from distances. Weights by levels alone and by gaps are tried on 500 people, and
    the better ones are taken; ``details["graded_columns"]`` says in which columns gaps count.
    Weights are learnt of everybody whom the intruder might look for (of 20,000 where these are
    more), not of those who were drawn: the interval of a sample is then that of the one attack on
    everybody.

    ``u`` is the share of a level among random pairs (nearly all of which are not matches) and stays
    fixed, or is estimated too. Patterns of files with more than 5 million pairs of distinct records
    are counted for a random sample of the intruder's records (500 or more, fewer where they are too
    much work) against all released ones. Few of the pairs are looked at one by one, but none
    is lost: records that agree in no telling column are counted, and passed over in the search, by
    what they have in common, so that recall is that of all pairs (the bound is 1). recordlinkage
    and splink compare pairs within blocks that the user chooses, and miss people outside them.
    Reference: Fellegi & Sunter 1969, doi:10.1080/01621459.1969.10501049.

    >>> ProbabilisticLinkage(tolerance=0.2).name
    'probabilistic_linkage'
    """

    tolerance: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="numbers within so many standard deviations are close",
        ),
    ] = 0.1
    wrong_links: Annotated[
        float,
        Field(
            gt=0, lt=1, description="μ: share of pairs of different people that may be called links"
        ),
    ] = 1e-4
    missed: Annotated[
        float,
        Field(
            gt=0,
            lt=1,
            description="λ: share of pairs of the same person that may be called non-links",
        ),
    ] = 0.05
    chance: Annotated[
        Literal["random_pairs", "estimated"],
        Field(
            description=(
                "whether agreement of other people is estimated from random pairs, or with the rest"
            )
        ),
    ] = "random_pairs"

    name: ClassVar[str] = "probabilistic_linkage"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A person's own record is found by weighing agreement"
    turn: ClassVar[int] = 1

    def applies(self, scene: Scene) -> str | None:
        """Why nothing can be linked here, or None."""
        if len(common_columns(scene)) > MOST_COLUMNS:
            return (
                f"patterns of more than {MOST_COLUMNS} columns cannot be counted; let the intruder"
                " know fewer"
            )
        return refusal(scene)

    def attack(self, scene: Scene) -> Finding:
        """Estimate the model, link every person to the best record, and count who is linked to the
        own one.
        """
        require_linkable(scene)
        if reason := self.applies(scene):
            raise SchemaError(f"probabilistic linkage: {reason}")
        weights = self._learn_weights(scene)
        patterns = weights.patterns
        way = weights.way
        decision = decide(patterns, way.found, self.wrong_links, self.missed)
        files = files_of(scene)
        # Costs are the greatest weight less a pair's weight: the least cost is the highest weight.
        costs, greatest_weight = way.costs(files)
        credit = link_nearest(scene, files, costs)
        # Pairs were counted of these records only; the numbers told are those of the whole file.
        scale = len(scene.intruder.file) / max(1, weights.records)
        details = _details(
            scene,
            credit,
            decision,
            patterns=patterns,
            estimates=way.found,
            best=greatest_weight - credit.least,
            scale=scale,
        )
        details["graded_columns"] = sorted(way.near)
        return self._finding(scene, files, credit, details, _weights(way))

    def posterior(self, scene: Scene) -> Posterior | None:
        """Who may be behind each released record, by Bayes' rule with the weights of agreement."""
        require_linkable(scene)
        if reason := self.applies(scene):
            raise SchemaError(f"probabilistic linkage: {reason}")
        files = files_of(scene)
        return WeighedPosterior(files, self._learn_weights(scene).way.costs(files)[0])

    def _learn_weights(self, scene: Scene) -> LearntWeights:
        """What agreement and gaps weigh, learnt of everybody whom the intruder might look for."""
        learning = learning_scene(scene)
        learnt_of = files_of(learning)
        arrays = arrays_of(
            learnt_of, [graded_rule(column, self.tolerance) for column in learnt_of.columns]
        )
        anchors = _anchors(learning, arrays)
        patterns = count_patterns(arrays, anchors, between=scene.require_time)
        sizes = (len(learning.intruder.file), len(scene.pair.released))
        chance = None
        if self.chance == "random_pairs":
            chance = shares(patterns, patterns.counts)
        affordable_rounds = scene.work // max(1, patterns.levels.size)
        rounds = max(FEWEST_ROUNDS, min(ROUNDS, affordable_rounds))
        # A person matches one record at most: of n · m pairs min(n, m) match, one in max(n, m).
        estimated = estimate(patterns, min(1 / max(sizes), 0.5), chance, rounds, scene.require_time)
        way = MatchLearning(learning, arrays, estimated, self.tolerance).best()
        return LearntWeights(patterns, way, int(arrays.intruder.records[anchors].sum()))

    def _finding(
        self,
        scene: Scene,
        files: Files,
        credit: Credits,
        details: Document,
        weights: dict[str, float],
    ) -> Finding:
        rate = credit.rate
        sampled = credit.sampled
        if details["limited_by_work"]:
            sampled += (
                f" (by weights of {details['rounds']} rounds of estimation, to bound the work)"
            )
        sentence = (
            f"By weighing agreement in {', '.join(files.names)}, an intruder links {percent(rate)} "
            f"of {len(credit.rows):,} people to their own released record{sampled}; of "
            f"{details['people_with_a_link']:,} links that look certain, "
            f"{percent(details['precision'])} are correct."
        )
        everybody = credit.complete and not scene.intruder.sampled
        certain_people = credit.credit == 1.0
        return Finding(
            self.name,
            rate,
            sentence=sentence,
            interval=sampled_interval(credit.credit, everybody=everybody),
            baseline=1.0 / len(scene.pair.released),
            victims=scene.intruder.truth[credit.rows[certain_people]],
            weights=weights,
            details=details,
            trials=len(credit.rows),
        )


def _anchors(scene: Scene, arrays: Arrays) -> Ints:
    """Distinct records of the intruder whose pairs are counted: all, or a random sample."""
    size = len(arrays.intruder.records)
    records = max(1, len(arrays.released.records))
    work = ANCHOR_SHARE * records * len(arrays.kinds)
    affordable = scene.affordable(max(FEWEST, PAIRS // records), work)
    if size <= affordable:
        return np.arange(size)
    order = scene.seed.stream("linkage patterns").permutation(size)[:affordable]
    return np.sort(order).astype(np.int64)


def _weights(way: Weighing) -> dict[str, float]:
    """Per column the bits that the best agreement is worth, in falling order."""
    weights = way.found.weights[:, 1:4].max(axis=1)
    best = dict(zip(way.place, weights.tolist(), strict=True))
    return dict(sorted(best.items(), key=lambda item: (-item[1], item[0])))


def _details(
    scene: Scene,
    credit: Credits,
    decision: LinkDecision,
    patterns: Patterns,
    estimates: Parameters,
    best: Floats,
    scale: float,
) -> Document:
    """Thresholds, numbers of pairs, precision and recall."""
    sure = best >= decision.upper - 1e-9
    right = float(credit.credit[sure].sum())
    pairs = {}
    for words, verdict in (("links", 1), ("clerical", 0), ("non_links", -1)):
        is_decided = decision.verdicts == verdict
        pairs[words] = round(float(patterns.counts[is_decided].sum()) * scale)
    return {
        "upper_bits": decision.upper if math.isfinite(decision.upper) else None,
        "lower_bits": decision.lower if math.isfinite(decision.lower) else None,
        "pairs": pairs,
        "pairs_counted": round(float(patterns.counts.sum())),
        "patterns": len(patterns.counts),
        "share_of_matches": estimates.prior,
        "people_with_a_link": int(sure.sum()),
        "precision": right / max(1, int(sure.sum())),
        "recall": right / max(1, len(credit.rows)),
        "rounds": estimates.rounds,
        "limited_by_work": estimates.stopped,
        "strangers": int((scene.intruder.truth < 0).sum()),
        "complete": credit.complete,
    }
