"""Result privacy of baskets: association rules between items that must not be found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.data import Pair
from sfumato.core.fields import Document
from sfumato.core.metric import Measure, Utility
from sfumato.core.model import Facts, make_verdict
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.models import BasketModel
from sfumato.data.baskets.plans import BasketPlan, BasketStep, aims, require_reached
from sfumato.errors import ParameterError
from sfumato.methods.formulas.itemsets import ItemSets
from sfumato.methods.formulas.named_rules import (
    Confidence,
    NamedRule,
    SpokenItems,
    Support,
    all_parsed,
    measure_side_effects,
    promise_to_hide,
)
from sfumato.methods.formulas.rule_hiding import EFFORT, Method, hide, warnings_of
from sfumato.methods.formulas.rules import (
    LARGEST_RULE,
    Association,
    Thresholds,
    Transactions,
    is_found,
    mine_rules,
    side_effects,
)

if TYPE_CHECKING:
    from sfumato.core.model import Verdict
    from sfumato.core.step import Goal

Largest = Annotated[int, Field(ge=2, le=6, description="most items of a rule that is counted")]


@parameters
class HiddenItemRules(BasketModel):
    r"""None of the named association rules between items is found: each has too little support or
    too little confidence.

    .. math:: s(X \cup Y) < \sigma \quad\text{or}\quad \frac{s(X \cup Y)}{s(X)} < \kappa
        \qquad\text{for every rule } X \to Y

    *s* counts the people who have all items of a set; σ = ``support`` is a number of people, κ =
    ``confidence`` the decimal fraction as it is written. A rule is written
    ``bread, butter -> wine``; without an arrow it is a set of items, which only its support hides.
    Names that hold commas or arrows are written as ``{if: [bread], then: ["wine, red"]}``. Judged
    on the items as they are released: a group of items supports no rule about what is in it. The
    rules tell what must not be known: certificates leave them out.

    Reference: Verykios, Elmagarmid, Bertino, Saygin & Dasseni 2004, *Association rule hiding*,
    doi:10.1109/TKDE.2004.1269668.

    >>> from sfumato import examples
    >>> from sfumato.core.data import Evidence
    >>> HiddenItemRules("a1 -> b2", support=2, confidence=0.5).judge(Evidence(examples.baskets()))
    ✗ 1 rule hidden at support 2 and confidence 0.5: 1 of 1 can be found; the largest support is 3,
    the largest confidence 0.75
    """

    rules: SpokenItems
    support: Support
    confidence: Confidence

    name: ClassVar[str] = "hidden_rules"
    secret: ClassVar[tuple[str, ...]] = ("rules",)
    facts: ClassVar[Facts] = Facts(against="attribute", protects="owner", setting="share result")

    @property
    def parsed(self) -> tuple[NamedRule, ...]:
        """The rules, read."""
        return all_parsed(self.rules, values=False)

    @property
    def thresholds(self) -> Thresholds:
        """When a rule is found."""
        return Thresholds.of(self.support, self.confidence)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return promise_to_hide(len(self.rules), self.support, self.confidence)

    def judged(self, people: Baskets) -> Verdict:
        """The largest confidence of a rule that has the support, and who shows a rule."""
        transactions = as_transactions(people.sets)
        rules = numbered(self.parsed, people.labels)
        rule_supports = [
            (transactions.support(rule.both), transactions.support(rule.left)) for rule in rules
        ]
        # Confidence matters only where the support suffices: a rule on one basket has confidence 1.
        supported = [
            rule_support / left_support
            for rule_support, left_support in rule_supports
            if rule_support >= self.support
        ]
        rules_found = [
            rule
            for rule, (rule_support, left_support) in zip(rules, rule_supports, strict=True)
            if self.thresholds.found(rule_support, left_support)
        ]
        # People who show at least one rule, each counted once.
        is_shown = np.zeros(people.people, dtype=np.bool_)
        for rule in rules_found:
            is_shown |= transactions.holding(rule.both)
        largest = max(
            (
                rule_support
                for rule, (rule_support, _) in zip(rules, rule_supports, strict=True)
                if rule in rules_found
            ),
            default=0,
        )
        if rules_found:
            sentence = (
                f"{len(rules_found)} of {len(self.rules)} can be found; the largest support is"
                f" {largest:,}, the largest confidence {max(supported):.3g}"
            )
        else:
            sentence = f"none has {self.support:,} people and a confidence of {self.confidence:g}"
        return make_verdict(
            self,
            holds=not rules_found,
            attained=max(supported, default=0.0),
            required=self.confidence,
            sentence=sentence,
            broken=len(rules_found),
            people=int(is_shown.sum()),
        )


def as_transactions(sets: ItemSets) -> Transactions:
    """People's items as the mining of rules takes them."""
    return Transactions(sets.pointers, sets.items.astype(np.int64), sets.size)


def numbered(rules: Sequence[NamedRule], labels: Sequence[str]) -> list[Association]:
    """Rules by the numbers of items; those with an item that nobody has cannot be found and are
    left out.
    """
    # An item that is absent supports nothing, so a rule with it is hidden already.
    label_codes = {label: code for code, label in enumerate(labels)}
    rules_numbered = []
    for rule in rules:
        if all(item.column in label_codes for item in rule.items):
            sides = (
                tuple(sorted(label_codes[item.column] for item in side))
                for side in (rule.left, rule.right)
            )
            rules_numbered.append(Association(*sides))
    return rules_numbered


@parameters
class HideItemRules(BasketStep):
    r"""Takes items out of baskets, or puts some in, until none of the rules that the recipe
    promises to hide is found.

    A step for ``hidden_rules``, which names the rules. ``dsr`` takes the most frequent item of the
    right side out of as many baskets as it needs, the smallest first; ``2a`` the most frequent item
    of the whole rule, basket by basket; ``isl`` puts the left side into baskets that lack it and
    the right side, so that the confidence falls: people are then said to have what they do not
    have, and it may fail. ``exact`` loses and makes the fewest other rules of at most ``largest``
    items, then takes out the fewest items; ``effort`` (nodes of a branch and bound) stops it, and
    the plan tells the proved bound.

    References: Verykios et al. 2004, doi:10.1109/TKDE.2004.1269668; Wang, Parikh & Jafari 2007,
    doi:10.1016/j.eswa.2006.05.022; Gkoulalas-Divanis & Verykios 2006, doi:10.1145/1183614.1183721.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> promise = HiddenItemRules("a1 -> b2", support=2, confidence=0.5)
    >>> HideItemRules().plan(examples.baskets(), Goal(models=(promise,))).describe()[
    ...     "occurrences_deleted"
    ... ]
    2
    """

    method: Annotated[Method, Field(description="how occurrences of items are chosen")] = "dsr"
    largest: Largest = LARGEST_RULE
    effort: Annotated[
        int | None, Field(ge=1, description="most nodes of branch and bound; exact only")
    ] = None

    name: ClassVar[str] = "hide_rules"

    def __post_init__(self) -> None:
        if self.effort is not None and self.method != "exact":
            raise ParameterError("HideItemRules: effort belongs to the method exact; leave it out")

    def plan(self, people: Any, goal: Goal) -> BasketPlan:
        """Choose the occurrences that go, or come."""
        models = aims(
            self.name,
            people,
            goal,
            lambda model: isinstance(model, HiddenItemRules),
            "hidden_rules",
        )
        promises = [model for model in models if isinstance(model, HiddenItemRules)]
        # Which of several equal baskets changes depends on their order. In the order of the content
        # that does not follow the file.
        order = people.by_content()
        now = before = as_transactions(people.sets.taken(order))
        facts: Document = {
            "method": self.method,
            "occurrences_deleted": 0,
            "occurrences_added": 0,
        }
        work: Document = {}
        warned: list[str] = []
        # One promise after the other, each on what the one before left. A later one may undo an
        # earlier one, which the check at the end finds.
        for model in promises:
            rules = numbered(model.parsed, people.labels)
            hidden = hide(
                now,
                rules,
                model.thresholds,
                self.method,
                largest=self.largest,
                effort=self.effort or EFFORT,
                progress=goal.progress,
            )
            effects = side_effects(now, hidden.transactions, rules, model.thresholds, self.largest)
            facts["occurrences_deleted"] += int(hidden.gone.sum())
            facts["occurrences_added"] += len(hidden.more)
            work[f"promise {len(work) + 1}"] = effects.counts | hidden.proved
            warned += warnings_of(hidden, effects)
            now = hidden.transactions
        # The inverse of the order: order 2,0,1 → back 1,2,0. Plans list people as they were.
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        sets = ItemSets(now.starts, now.items.astype(np.int32), before.kinds).taken(back)
        # Only those whom the step emptied; some had nothing before.
        facts["people_emptied"] = int(((sets.lengths == 0) & (people.sets.lengths > 0)).sum())
        require_reached(
            self.name,
            models,
            people.with_sets(sets, people.labels),
            "use dsr, 2a or exact, one promise for all rules",
        )
        return BasketPlan(sets, people.labels, facts, warned=tuple(warned), work=work)


@parameters
class ItemRuleSideEffects(Utility):
    r"""The share of association rules that are lost
    or appear: :math:`(|R \setminus R'| + |R' \setminus R|) / |R \cup R'|`.

    *R* and *R'* are the rules found in the original and in the release, with at most ``largest``
    items, the share ``support`` of the original's people, and ``confidence`` or more, without those
    that are meant to be ``hidden``. 0 without any.

    Reference: Verykios et al. 2004, doi:10.1109/TKDE.2004.1269668.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})

    support: Annotated[
        float, Field(gt=0, le=1, description="share of people from which a rule counts as found")
    ] = 0.01
    confidence: Confidence = 0.5
    hidden: Annotated[
        SpokenItems | None, Field(description="rules that nobody should find; stays with the owner")
    ] = None
    largest: Largest = LARGEST_RULE

    name: ClassVar[str] = "rule_side_effects"
    line: ClassVar[str] = "share of association rules that are lost or appear"
    better: ClassVar[Literal["lower", "higher"]] = "lower"
    secret: ClassVar[tuple[str, ...]] = ("hidden",)

    def applies(self, pair: Pair) -> str | None:
        """Wherever people still have baskets."""
        original, released = pair.original, pair.released
        if not isinstance(released, Baskets):
            return "the baskets were disassociated; measure the reconstructed ones (reconstructed)"
        return None if original.filled else "nobody has an item"

    def measure(self, pair: Pair) -> Measure:
        """Mine both."""
        original, released = pair.original, pair.released
        # The share is of the original's people in both files, so that leaving people out does not
        # make rules easier to find.
        thresholds = Thresholds.of(
            max(1, math.ceil(self.support * original.people)), self.confidence
        )
        hidden_rules = all_parsed(self.hidden or (), values=False)
        # By names, since a release numbers its items again.
        old, new = (
            self._find_rules(baskets, thresholds)
            - _name_rules(numbered(hidden_rules, baskets.labels), baskets)
            for baskets in (original, released)
        )
        transactions = as_transactions(released.sets)
        failed = sum(
            is_found(transactions, rule, thresholds)
            for rule in numbered(hidden_rules, released.labels)
        )
        return measure_side_effects(self, (old, new), (failed, len(hidden_rules)))

    def _find_rules(self, people: Baskets, thresholds: Thresholds) -> set[Any]:
        return _name_rules(
            mine_rules(as_transactions(people.sets), thresholds, self.largest), people
        )


def _name_rules(rules: Any, people: Baskets) -> set[Any]:
    """Rules by what their items are called: numbers differ between files."""
    return {tuple(tuple(people.labels[item] for item in side) for side in rule) for rule in rules}
