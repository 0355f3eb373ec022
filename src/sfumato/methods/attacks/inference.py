"""Secrets inferred from the crowd a person stands in: homogeneity, probabilistic inference,
background knowledge, skewness, similarity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, Learns, rows_of
from sfumato.core.hierarchy import bind
from sfumato.core.parameters import parameters
from sfumato.core.words import inflect, percent
from sfumato.methods.attacks.crowd import no_target, worst_column
from sfumato.methods.formulas.upper_figures import upper_figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.reading import Reading
    from sfumato.methods.attacks.crowd import Crowd

    Flags = NDArray[np.bool_]


# The homogeneity attack: everyone in a class has the same secret.


@parameters
class Homogeneity(Attack):
    r"""The share of records whose sensitive value an intruder reads off their class with confidence
    τ or more.

    A class gives itself away when :math:`\max_s n_{E,s}/|E| \ge \tau`; those of its records that
    truly have that value are victims. With τ = 1 all of them share one value. Missing values count
    as a value. Where released values were changed, the intruder goes by them, and by what they make
    likely where a transition matrix is known; only people whose true value it is are victims. The
    baseline is the same attack on the whole table as one class, which is what is known without
    the release: 0, unless the table itself gives a value away.
    Reference: Machanavajjhala et al. 2007, doi:10.1145/1217299.1217302.
    """

    confidence: Annotated[
        float, Field(gt=0, le=1, description="share of a class from which its value is certain")
    ] = 1.0

    name: ClassVar[str] = "homogeneity"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A sensitive value is revealed because everyone in a class shares it"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Read the secrets of classes that have but one."""
        return worst_column(self.name, scene, lambda crowd: self._attack_column(scene, crowd))

    def _attack_column(self, scene: Scene, crowd: Crowd) -> Finding:
        certain = crowd.shares >= self.confidence - 1e-12
        hit = crowd.includes_own(certain)
        # Above one half a class has one such value at most, so pairs count classes.
        if self.confidence > 0.5:
            classes = int(certain.sum())
        else:
            classes = len(set(crowd.pair_classes[certain].tolist()))
        how = "all records have"
        if self.confidence != 1:
            how = f"{percent(self.confidence)} or more of the records have"
        message = (
            f"in {classes:,} of {len(crowd.sizes):,} classes {how} the same {crowd.column}:"
            f" {int(hit.sum()):,} records"
        )
        # The share of records whose value the table as one class reveals
        near_certain = crowd.totals >= self.confidence * crowd.totals.sum() - 1e-9
        guess = scene.pair.mean_of_people((crowd.truth >= 0) & near_certain[crowd.truth])
        details = {"classes": classes}
        return Finding(
            self.name,
            scene.pair.mean_of_people(hit),
            message,
            baseline=guess,
            victims=rows_of(scene, hit),
            details=details,
        )


# Probabilistic inference: guess the most frequent value of the class.


@parameters
class ProbabilisticInference(Attack):
    r"""How often guessing the most frequent sensitive value of a person's class is right, against
    guessing for all alike.

    .. math:: \frac1N \sum_E \max_s n_{E,s}, \quad\text{baseline } \max_s n_s / N

    Where released values were changed, :math:`n` are those that were released (or expected, where a
    transition matrix is known), and a guess is right when it is the person's true value.

    Ten records with values 1, 1 and 8 times are distinct-3-diverse, and yet the guess is right in
    80 % of the cases.
    """

    name: ClassVar[str] = "probabilistic_inference"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = (
        "A sensitive value is guessed from the most common value of a person's class"
    )

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Guess, class by class."""
        return worst_column(self.name, scene, lambda crowd: self._attack_column(scene, crowd))

    def _attack_column(self, scene: Scene, crowd: Crowd) -> Finding:
        value = scene.pair.mean_of_people(crowd.guesses()[crowd.classes] == crowd.truth)
        guess = scene.pair.mean_of_people(crowd.truth == crowd.totals.argmax())
        message = (
            f"guessing {crowd.column} by class is correct for {percent(value)} of the records, one "
            f"guess for all for {percent(guess)}"
        )
        strongest = float((crowd.largest() / crowd.sizes).max())
        return Finding(
            self.name, value, message, baseline=guess, details={"strongest_class": strongest}
        )


# Background knowledge: an intruder who can rule out values, or who knows some people of the class.


@parameters
class BackgroundKnowledge(Attack):
    r"""The share of records whose sensitive value is certain to who can exclude a few others.

    ``excludes="values"``: the intruder knows of ``amount`` values that a person does not have them;
    ``"records"``: knows the values of ``amount`` other persons of the class (the own record is
    one). What is left is renormalised:

    .. math:: P(s) = \frac{n_{E,s}}{|E| - \text{excluded}}

    and the worst choice for the person counts: the largest other counts are excluded first. A
    record is a victim when
    :math:`P(s)` of its own (true) value reaches ``confidence``. With nothing excluded this is the
    homogeneity attack.
    Reference: Martin et al. 2007, doi:10.1109/ICDE.2007.367858.
    """

    excludes: Annotated[
        Literal["values", "records"], Field(description="what the intruder can rule out")
    ] = "records"
    amount: Annotated[int, Field(ge=0, description="how many of them")] = 1
    confidence: Annotated[
        float, Field(gt=0, le=1, description="posterior from which a value is certain")
    ] = 1.0

    name: ClassVar[str] = "background_knowledge"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = (
        "A sensitive value becomes certain to someone who can exclude a few people"
    )
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Rule out the others and renormalise."""
        return worst_column(self.name, scene, lambda crowd: self._attack_column(scene, crowd))

    def _attack_column(self, scene: Scene, crowd: Crowd) -> Finding:
        remaining = crowd.sizes[crowd.pair_classes] - self._excluded(crowd)
        # At least the count itself: rounding must not make a posterior above 1.
        posterior = crowd.counts / np.maximum(remaining, crowd.counts)
        hit = crowd.includes_own(posterior >= self.confidence - 1e-12)
        exclusion = (
            f"{self.amount} other"
            f" {inflect(self.amount, 'person' if self.excludes == 'records' else 'value')}"
        )
        message = (
            f"somebody who can exclude {exclusion} is sure of the {crowd.column} of "
            f"{int(hit.sum()):,} records"
        )
        share = scene.pair.mean_of_people(hit)
        return Finding(self.name, share, message, victims=rows_of(scene, hit))

    def _excluded(self, crowd: Crowd) -> NDArray[np.float64]:
        """Per pair of class and value, the records of other values that can be ruled out at
        most.
        """
        other_records = crowd.sizes[crowd.pair_classes] - crowd.counts
        if self.excludes == "records":
            excluded: NDArray[np.float64] = np.minimum(other_records, self.amount)
            return excluded
        # By class, the most frequent value first.
        order = np.lexsort([-crowd.counts, crowd.pair_classes])
        starts = np.searchsorted(crowd.pair_classes[order], np.arange(len(crowd.sizes)))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - starts[crowd.pair_classes[order]]
        summed = np.concatenate([[0], np.cumsum(crowd.counts[order])])
        ends = np.append(starts[1:], len(order))[crowd.pair_classes]
        begin = starts[crowd.pair_classes]
        # the value itself is among the largest: the next one is ruled out in its place
        within = rank < self.amount
        # The first values of the class up to the limit, one more where the own value is among them.
        reach = np.minimum(begin + self.amount + within, ends)
        is_inside = rank < reach - begin
        gone: NDArray[np.float64] = (
            summed[reach] - summed[begin] - np.where(is_inside, crowd.counts, 0)
        )
        return gone


# The skewness attack: a class tells far more about a value than the table does.


@parameters
class Skewness(Attack):
    r"""The share of records whose value is much more frequent in their class than in the whole
    table.

    .. math:: \text{lift} = \frac{n_{E,s}/|E|}{n_s/N} \ge \lambda

    Half of a class with an illness that one in two hundred has is a lift of 100. Classes of one
    record have the highest lift there is, as they should. Where released values were changed,
    shares are those of the released values (or what they make likely where a transition matrix is
    known), and only people whose true value it is count. The baseline is what chance gives: the
    same for classes of the same sizes whose other members are drawn at random from the
    table, :math:`P\bigl(1 + \mathrm{Bin}(|E|-1, \tfrac{n_s-1}{N-1}) \ge \lambda |E| n_s/N\bigr)` on
    average. A value that hardly anyone has is frequent in any class that has it: in a column with
    as many values as records that says nothing, and the baseline is 1. Chance explains no class of
    one record: its baseline is 0.
    Reference: Li, Li & Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
    """

    lift: Annotated[
        float, Field(gt=1, description="lift from which a record counts as revealed")
    ] = 5.0

    name: ClassVar[str] = "skewness"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A sensitive value is much more common in a person's class than elsewhere"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look for values that pile up in a class."""
        return worst_column(self.name, scene, lambda crowd: self._attack_column(scene, crowd))

    def _attack_column(self, scene: Scene, crowd: Crowd) -> Finding:
        lifts = crowd.shares / (crowd.totals[crowd.pair_values] / crowd.sizes.sum())
        hit = crowd.includes_own(lifts >= self.lift - 1e-12)
        message = (
            f"the {crowd.column} of {int(hit.sum()):,} records is at least {self.lift:g} times as"
            " frequent in their class as in the table; at most"
            f" {upper_figure(float(lifts.max()), 3)} times"
        )
        # The share of records that would be given away by classes of these sizes, were their
        # members drawn at random
        from scipy.special import bdtrc

        records = float(crowd.sizes.sum())
        # Classes of equal size and values of equal frequency have the same chance: each kind once.
        sizes, classes = np.unique(crowd.sizes[crowd.sizes > 1], return_counts=True)
        totals, values = np.unique(crowd.totals[crowd.totals > 0], return_counts=True)
        expected_share = 0.0
        for size, often in zip(sizes.tolist(), classes.tolist(), strict=True):
            frequency_needed = self.lift * size * totals / records
            needed = np.ceil(frequency_needed - 1e-9) - 1  # of the others; the own record is one
            odds = np.clip((totals - 1) / max(1.0, records - 1), 0.0, 1.0)
            above = bdtrc(np.clip(needed - 1, 0, size - 1), size - 1, odds)
            chance = np.where(needed <= 0, 1.0, np.where(needed > size - 1, 0.0, above))
            expected_hits = (chance * totals * values).sum() / records
            expected_share += size * often / records * float(expected_hits)
        guess = min(1.0, expected_share)
        details = {"largest_lift": float(lifts.max())}
        return Finding(
            self.name,
            scene.pair.mean_of_people(hit),
            f"{message}; in classes drawn at random {percent(guess)} are",
            baseline=guess,
            victims=rows_of(scene, hit),
            details=details,
        )


# The similarity attack: different values that mean much the same.


@parameters
class Similarity(Attack):
    r"""The share of records in classes whose sensitive values lie close together.

    On a line (numbers, dates, ordered values): :math:`(\max_E - \min_E)/(\max - \min) \le \tau`;
    salaries of 3,000 to 5,000 in a table that reaches from 3,000 to 11,000 have 0.25.
    For categories: all values of the class lie below one node of the column's hierarchy that is not
    its top (gastric ulcer, gastritis and stomach cancer are all illnesses of the stomach). Classes
    of one value count too. A category without a hierarchy has nothing to be similar by: only equal
    values count. A constant column is no secret. Where released values were changed, only records
    count whose true value lies among (or below the same node as) those of the class. The baseline
    is guessing alike for all: the share of records within the range of that width, or below the
    node, that holds most. Where a few large values make the range wide, nearly everyone is close to
    everyone without any release.
    Reference: Li, Li & Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
    """

    range: Annotated[
        float, Field(ge=0, lt=1, description="share of the column's range that counts as close")
    ] = 0.25

    name: ClassVar[str] = "similarity"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = (
        "A sensitive value is known approximately because the values of a class are close"
    )

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look for classes whose values mean much the same."""
        return worst_column(
            self.name, scene, lambda crowd: self._attack_column(scene, crowd), by_matrix=False
        )

    def _attack_column(self, scene: Scene, crowd: Crowd) -> Finding:
        reading = scene.pair.reading(crowd.column)
        if reading.scale != "category":
            near, hit = self._on_a_line(scene, crowd)
        else:
            near, hit = self._below_a_node(scene, crowd)
        message = (
            f"in {int(near.sum()):,} of {len(near):,} classes the values of {crowd.column} are"
            f" close: {int(hit.sum()):,} records"
        )
        if reading.scale != "category":
            guess = self._guess_on_a_line(reading)
        else:
            # The share of records whose true value lies below the one node, not the top, that
            # holds most
            true_nodes = [true[true >= 0] for _, true in _node_levels(scene, crowd)]
            frequencies = []
            for true in true_nodes:
                frequencies.append(float(np.bincount(true).max(initial=0)))
            guess = max(frequencies, default=0.0) / len(crowd.classes)
        details = {"classes": int(near.sum())}
        message = f"{message}; one guess for all is as close for {percent(guess)}"
        return Finding(
            self.name,
            scene.pair.mean_of_people(hit),
            message,
            baseline=guess,
            victims=rows_of(scene, hit),
            details=details,
        )

    def _guess_on_a_line(self, reading: Reading) -> float:
        """The share of released values within the range of the allowed width that holds most of
        them.
        """
        low, high = (np.sort(end[reading.released]) for end in (reading.low, reading.high))
        low = low[~np.isnan(low)]
        high = high[~np.isnan(high)]
        if not len(low) or high[-1] <= low[0]:
            return 0.0
        starts = np.unique(low)
        column_range = np.nanmax(reading.high) - np.nanmin(reading.low)
        width = self.range * float(column_range)
        ends = starts + width + 1e-12 * abs(width)
        inside = np.searchsorted(high, ends, side="right") - np.searchsorted(
            low, starts, side="left"
        )
        return float(max(0, inside.max())) / len(reading.released)

    def _on_a_line(self, scene: Scene, crowd: Crowd) -> tuple[Flags, Flags]:
        """The classes whose released values are close, and the records of which the true value is
        among them.
        """
        reading = scene.pair.reading(crowd.column)
        low = np.full(len(crowd.sizes), np.inf)
        high = np.full(len(crowd.sizes), -np.inf)
        np.fmin.at(low, crowd.pair_classes, reading.low[crowd.pair_values])
        np.fmax.at(high, crowd.pair_classes, reading.high[crowd.pair_values])
        low_of_pairs = reading.low[crowd.pair_values]
        low_ends = low_of_pairs[~np.isnan(low_of_pairs)]
        width = 0.0
        if low_ends.size:
            width = float(np.nanmax(reading.high) - np.nanmin(reading.low))
        if width <= 0:
            return np.zeros(len(crowd.sizes), dtype=bool), np.zeros(len(crowd.classes), dtype=bool)
        span = self.range * width + 1e-12 * abs(width)
        near: Flags = np.isfinite(low) & (high - low <= span)
        position = reading.places[reading.original[scene.pair.rows]]
        slack = 1e-9 * max(1.0, abs(reading.span))
        is_below = position < low[crowd.classes] - slack
        is_above = position > high[crowd.classes] + slack
        outside = is_below | is_above
        return near, near[crowd.classes] & ~outside

    def _below_a_node(self, scene: Scene, crowd: Crowd) -> tuple[Flags, Flags]:
        """The classes whose released values lie below one node, and the records of which the true
        value does so too.
        """
        near = np.zeros(len(crowd.sizes), dtype=bool)
        hit = np.zeros(len(crowd.classes), dtype=bool)
        for nodes, true in _node_levels(scene, crowd):
            low = np.full(len(near), np.iinfo(np.int64).max)
            high = np.full(len(near), -1)
            np.minimum.at(low, crowd.pair_classes, nodes[crowd.pair_values])
            np.maximum.at(high, crowd.pair_classes, nodes[crowd.pair_values])
            near |= low == high
            hit |= (low == high)[crowd.classes] & (true == low[crowd.classes])
        return near, hit


def _node_levels(
    scene: Scene, crowd: Crowd
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Per level below the top, the node of every released label, and the node of every record's
    true value.

    Without a hierarchy there is the level of the values alone; a column of one value has none.
    """
    reading = scene.pair.reading(crowd.column)
    rows = scene.pair.rows[crowd.truth < 0]
    own = [reading.values[code] for code in reading.original[rows].tolist()]
    own_labels = {str(value) for value in own if value is not None}
    labels = (*crowd.labels, *sorted(own_labels - set(crowd.labels)))
    if len(crowd.labels) < 2:
        return
    code = {label: i for i, label in enumerate(labels)}
    true = crowd.truth.copy()
    true[crowd.truth < 0] = [code.get(value, -1) for value in own]
    yield np.arange(len(labels)), true
    hierarchy = scene.pair.original.schema[crowd.column].hierarchy
    if hierarchy is None:
        return
    totals = crowd.totals.astype(int)
    unlisted_count = len(labels) - len(crowd.labels)
    ladder = bind(hierarchy, labels, [*totals.tolist(), *[0] * unlisted_count])
    label_codes = {label: i for i, label in enumerate(ladder.labels[0])}
    leaf = np.array([label_codes[label] for label in labels], dtype=np.int64)
    for level in range(1, ladder.top):
        nodes = ladder.climb(0, level)[leaf]
        yield nodes, np.where(true >= 0, nodes[true], -1)
