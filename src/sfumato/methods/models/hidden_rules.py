"""Result privacy: some association rules must not be found in what is released."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sfumato.core.encoding import Column, parts_of, parts_of_label
from sfumato.core.hierarchy import TOP
from sfumato.core.model import ClassEvidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.methods.formulas.named_rules import (
    Confidence,
    NamedRule,
    Spoken,
    Support,
    all_parsed,
    promise_to_hide,
    require_columns,
)
from sfumato.methods.formulas.rules import Thresholds
from sfumato.methods.models.sensitive import verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import Counts
    from sfumato.core.schema import Schema


@parameters
class HiddenRules(Model):
    r"""None of the named association rules is found: each has too little support or too little
    confidence.

    .. math:: s(X \cup Y) < \sigma \quad\text{or}\quad \frac{s(X \cup Y)}{s(X)} < \kappa
        \qquad\text{for every rule } X \to Y

    *s* counts the records that have all values of a set of items; σ = ``support`` is a number of
    records, κ = ``confidence`` is taken as the decimal fraction it is written as, and compared in
    whole numbers. An item is a column and its value, ``smoker=yes``; a column without a value
    stands for each of its values, ``smoker -> diagnosis``. A rule without an arrow is a set
    of items: only its support can hide it. Values that hold commas or arrows are written as
    ``{if: {smoker: "yes"}, then: {diagnosis: lung}}``.

    Judged on the values as they are released: what was generalised or suppressed supports no rule
    about the value it had, and a missing cell supports none. Records count, not persons or weights.
    An empty table keeps every promise. A search for a recoding counts the values of
    quasi-identifiers as they were before it, so that rules about them are reached by
    ``hide_rules``, not by generalising.

    The rules themselves tell what must not be known: certificates leave them out. Hiding what is
    listed says nothing about other rules that tell the same, such as those between columns that go
    along with the listed ones.

    Reference: Verykios, Elmagarmid, Bertino, Saygin & Dasseni 2004, *Association rule hiding*,
    doi:10.1109/TKDE.2004.1269668.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = HiddenRules("zip -> sex", support=2, confidence=0.9)
    >>> model.judge(gather(examples.patients(), [model]))
    ✗ 1 rule hidden at support 2 and confidence 0.9: 1 of 1 can be found; the largest support is 3,
    the largest confidence 1
    """

    rules: Spoken
    support: Support
    confidence: Confidence

    name: ClassVar[str] = "hidden_rules"
    secret: ClassVar[tuple[str, ...]] = ("rules",)
    facts: ClassVar[Facts] = Facts(against="attribute", protects="owner", setting="share result")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    @property
    def parsed(self) -> tuple[NamedRule, ...]:
        """The rules, read."""
        return all_parsed(self.rules)

    @property
    def thresholds(self) -> Thresholds:
        """When a rule is found."""
        return Thresholds.of(self.support, self.confidence)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return promise_to_hide(len(self.rules), self.support, self.confidence)

    def needs(self, schema: Schema) -> Needs:
        """The columns of every rule, counted together."""
        require_columns(self.name, self.parsed, schema)
        return Needs(counts=tuple(dict.fromkeys(_count_column(rule) for rule in self.parsed)))

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes without whose records no rule is found: those in which a rule holds most often go
        first.
        """
        gone = np.zeros(len(evidence.classes), dtype=np.bool_)
        for occurrence in self._find_rules(evidence):
            gone |= occurrence.fewest(self.thresholds)
        return gone

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The largest confidence of a rule that has the support, and the classes that show
        rules.
        """
        every = list(self._met(evidence))
        rules_found = []
        for occurrence in every:
            if self.thresholds.found(occurrence.support, occurrence.left_support):
                rules_found.append(occurrence)
        supported = [occurrence.support / occurrence.left_support for occurrence in every]
        rule_count = len({occurrence.rule for occurrence in rules_found})
        if rules_found:
            sentence = (
                f"{rule_count} of {len(self.rules)} can be found; the largest support is"
                f" {max(occurrence.support for occurrence in rules_found):,}, the largest"
                f" confidence {max(supported):.3g}"
            )
        else:
            sentence = f"none has {self.support:,} records and a confidence of {self.confidence:g}"
        if len(evidence.classes):
            attained = max(supported, default=0.0)
        else:
            attained = None
        return verdict(
            self,
            evidence,
            self.failing(evidence),
            attained=attained,
            required=self.confidence,
            per_class=evidence.classes.sizes,
            sentence=sentence,
        )

    def implies(self, model: Model) -> bool:
        """The same rules and more, hidden from whoever looks closer."""
        if not isinstance(model, HiddenRules):
            return False
        closer = self.support <= model.support and self.confidence <= model.confidence
        return closer and set(model.parsed) <= set(self.parsed)

    def _find_rules(self, evidence: ClassEvidence) -> Iterator[_Met]:
        met = self._met(evidence)
        return (
            occurrence
            for occurrence in met
            if self.thresholds.found(occurrence.support, occurrence.left_support)
        )

    def _met(self, evidence: ClassEvidence) -> Iterator[_Met]:
        """Every rule with values that enough records have."""
        for rule in self.parsed:
            counts = evidence.classes.counts[_count_column(rule)]
            yield from _meetings(rule, counts, len(evidence.classes), self.support)


@dataclasses.dataclass(frozen=True, eq=False)
class _Met:
    """A rule with values: per class, how many records have all of them, and how many those of its
    left side.
    """

    rule: NamedRule
    both_counts: NDArray[np.int64]
    left_counts: NDArray[np.int64]

    @property
    def support(self) -> int:
        """Records that have all values."""
        return int(self.both_counts.sum())

    @property
    def left_support(self) -> int:
        """Records that have the values of the left side."""
        return int(self.left_counts.sum())

    def fewest(self, thresholds: Thresholds) -> NDArray[np.bool_]:
        """Classes that go, those that hold the rule most often first, until it is not found."""
        # Classes in which most of the left side has the right side lower the confidence most.
        ranks = -self.both_counts / np.maximum(self.left_counts, 1)
        order = np.lexsort((np.arange(len(self.both_counts)), ranks))
        both_after = self.support - np.cumsum(self.both_counts[order])
        left_after = self.left_support - np.cumsum(self.left_counts[order])
        hidden = []
        for b, a in zip(both_after.tolist(), left_after.tolist(), strict=True):
            hidden.append(not thresholds.found(b, a))
        gone = np.zeros(len(order), dtype=np.bool_)
        # Without any class there is no support, so some prefix always hides the rule.
        gone[order[: hidden.index(True) + 1]] = True
        return gone


def _count_column(rule: NamedRule) -> Column:
    if len(rule.columns) == 1:
        return rule.columns[0]
    return rule.columns


def _meetings(
    rule: NamedRule, counts: Counts, classes: int, smallest_support: int
) -> Iterator[_Met]:
    columns = parts_of(_count_column(rule))
    values: list[tuple[str | None, ...]] = []
    for text in counts.labels:
        if len(columns) == 1:
            values.append((text,))
        else:
            values.append(parts_of_label(text, len(columns)))
    where = {name: at for at, name in enumerate(columns)}
    codes_by_left: dict[tuple[str | None, ...], list[int]] = {}
    codes_by_rule: dict[tuple[tuple[str | None, ...], tuple[str | None, ...]], list[int]] = {}
    # A code is one combination of values; a left side gathers the codes of all right sides.
    for code, parts in enumerate(values):
        if all(_fits(parts[where[item.column]], item.value) for item in rule.left):
            start = tuple(parts[where[item.column]] for item in rule.left)
            codes_by_left.setdefault(start, []).append(code)
            if all(_fits(parts[where[item.column]], item.value) for item in rule.right):
                whole = start, tuple(parts[where[item.column]] for item in rule.right)
                codes_by_rule.setdefault(whole, []).append(code)
    # The class of every entry of the counts.
    members = np.repeat(np.arange(classes), np.diff(counts.starts))

    def per_class(codes: list[int]) -> NDArray[np.int64]:
        inside = np.isin(counts.codes, codes)
        return np.bincount(
            members[inside], weights=counts.counts[inside], minlength=classes
        ).astype(np.int64)

    totals = counts.total()
    for whole, codes in codes_by_rule.items():
        # Below the support the rule is hidden whatever its confidence: no need to count by class.
        if totals[codes].sum() < smallest_support:
            continue
        yield _Met(rule, per_class(codes), per_class(codes_by_left[whole[0]]))


def _fits(value: str | None, expected: str | None) -> bool:
    # A suppressed or missing cell supports no rule.
    return value not in (None, TOP) and expected in (None, value)
