"""What a release did to association rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import parameters
from sfumato.core.randomness import canonical_order
from sfumato.methods.formulas.named_rules import (
    Confidence,
    Spoken,
    Support,
    TableItems,
    all_parsed,
    item_columns,
    measure_side_effects,
)
from sfumato.methods.formulas.rules import LARGEST_RULE, Thresholds, is_found, mine_rules
from sfumato.methods.utility.columns import AllColumns, require_sense, why_not, why_not_sampled

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair


@parameters
class RuleSideEffects(ColumnUtility):
    r"""The share of association rules that are lost
    or appear: :math:`(|R \setminus R'| + |R' \setminus R|) / |R \cup R'|`.

    *R* and *R'* are the rules found in the original and in the release, without those that are
    meant to be ``hidden``: at most ``largest`` items, ``support`` records and ``confidence`` or
    more. An item is a column and its value as it stands there; a generalised or missing cell
    supports no rule about the value it had. ``columns`` are looked at, all categories that are no
    identifiers if not said. Without any rule before or after, 0. The number in its own unit is how
    many rules are lost or appear, and the sentence tells them apart, with the hidden rules that are
    still found.

    Reference: Verykios et al. 2004, doi:10.1109/TKDE.2004.1269668.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="single"))
    >>> round(RuleSideEffects(2, 0.6, columns=["sex", "zip"]).measure(pair).value, 4)
    0.6667
    """

    support: Support
    confidence: Confidence
    hidden: Annotated[
        Spoken | None, Field(description="rules that nobody should find; stays with the owner")
    ] = None
    columns: AllColumns = None
    largest: Annotated[int, Field(ge=2, le=6, description="most items of a rule")] = LARGEST_RULE

    name: ClassVar[str] = "rule_side_effects"
    line: ClassVar[str] = "share of association rules that are lost or appear"
    secret: ClassVar[tuple[str, ...]] = ("hidden",)

    def applies(self, pair: TablePair) -> str | None:
        """None where there are categories to look at; supports are counts, which a sample does not
        have.
        """
        return why_not(pair, self._looked_at(pair)) or why_not_sampled(pair)

    def measure(self, pair: TablePair) -> Measure:
        """Mine both tables."""
        require_sense(self, pair)
        thresholds = Thresholds.of(self.support, self.confidence)
        names = self._looked_at(pair)
        before = TableItems.of(pair.original, names)
        present = [name for name in names if name in pair.released.columns]
        # Items are numbered by the labels of the original on both sides, so that rules compare.
        labels_known = []
        for name, labels in zip(names, before.labels, strict=True):
            if name in present:
                labels_known.append(labels)
        after = TableItems.of(pair.released, present, labels_known, canonical_order(pair.released))
        hidden_rules = all_parsed(self.hidden or ())
        # What is to be hidden is no loss when it is gone.
        secret = {before.told(rule) for rule in before.meant(hidden_rules, thresholds)}
        old = {
            before.told(rule) for rule in mine_rules(before.transactions, thresholds, self.largest)
        } - secret
        new = {
            after.told(rule) for rule in mine_rules(after.transactions, thresholds, self.largest)
        } - secret
        # Rules about columns that were not released cannot be found any more.
        present_rules = [rule for rule in hidden_rules if set(rule.columns) <= set(present)]
        failed = sum(
            is_found(after.transactions, rule, thresholds)
            for rule in after.meant(present_rules, thresholds)
        )
        return measure_side_effects(self, (old, new), (failed, len(secret)))

    def _looked_at(self, pair: TablePair) -> tuple[str, ...]:
        pair.original.require(self.columns or ())
        return item_columns(pair.original.schema, all_parsed(self.hidden or ()), self.columns)
