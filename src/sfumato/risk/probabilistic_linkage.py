"""Probabilistic record linkage: agreement weighed by what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.core.attack import Finding
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError
from sfumato.risk.linkage.arrays import Arrays, arrays_of
from sfumato.risk.linkage.compared import common_columns, refusal, require_linkable
from sfumato.risk.linkage.fellegi_sunter import Decision, Parameters, Patterns, decide, estimate, shares
from sfumato.risk.linkage.files import Files, files_of
from sfumato.risk.linkage.grades import MOST_COLUMNS, count_patterns, graded_rule
from sfumato.risk.linkage.rates import percent, sampled_interval
from sfumato.risk.linkage.search import Credits, linked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

PAIRS, FEWEST = 5_000_000, 500
"""Pairs of distinct records that are counted; of longer files those of a random sample of the intruder's, no fewer than this."""


@parameters
class ProbabilisticLinkage:
    r"""The intruder weighs every agreement by how much likelier it is for the same person than for two random people.

    Fellegi and Sunter's model, estimated without the truth: levels of agreement (exact; covered by a range or a set; close;
    different) have probabilities *m* among matches and *u* among others, found by expectation and maximisation over the
    distinct patterns of agreement with their counts (:mod:`sfumato.risk.linkage.fellegi_sunter`). A suppressed or missing
    cell says nothing. Each person is linked to the released record with the highest weight

    .. math:: R(\gamma) = \sum_k \log_2 \frac{m_{k\gamma_k}}{u_{k\gamma_k}}

    and the value is the share of people of the intruder's file in the original table that are linked to their own record,
    ties shared out, with Wilson's interval (95 %) where these are a random sample. The two error probabilities part all pairs into links, pairs for a clerk, and non-links; ``details`` has
    their numbers and, for people whose best record is a link, precision and recall.

    ``u`` is the share of a level among random pairs (nearly all of which are not matches) and stays fixed, or is estimated too.
    Patterns of files with more than 5 million pairs of distinct records are counted for a random sample of the intruder's
    records (500 or more) against all released ones: no blocking, so no match is lost to it. recordlinkage and splink block first.
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
        bits = dict(zip(arrays.names, found.weights, strict=True))
        costs = arrays_of(files, [graded_rule(c, self.tolerance, bits[c.name]) for c in files.columns])
        credit = linked(scene, files, costs)
        best = float(found.weights.max(axis=1).sum()) - credit.least
        scale = len(scene.intruder.file) / max(1, int(arrays.theirs.records[anchors].sum()))
        details = _details(scene, credit, decision, patterns, found, best, scale)
        return self._finding(scene, files, credit, details, _weights(arrays, found))

    def _finding(
        self, scene: Scene, files: Files, credit: Credits, details: dict[str, Any], weights: dict[str, float]
    ) -> Finding:
        rate = float(credit.credit.mean()) if len(credit.rows) else 0.0
        sampled = "" if credit.complete else f" (a random sample of {len(credit.rows):,}, for want of time)"
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
        )


def _anchors(scene: Scene, arrays: Arrays) -> NDArray[np.int64]:
    """Distinct records of the intruder whose pairs are counted: all, or a random sample."""
    import numpy as np

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
    decision: Decision,
    patterns: Patterns,
    found: Parameters,
    best: NDArray[np.float64],
    scale: float,
) -> dict[str, Any]:
    """Thresholds, numbers of pairs, precision and recall."""
    import math

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
