"""Consistency: how many records keep rules between columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import EMPTY, require_sense
from sfumato.utility.quality import share_of
from sfumato.utility.rules import Rule, columns_of, holds
from sfumato.utility.suppressed import records_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Consistency:
    """The share of records that keep rules between columns, each ``column operator column``: ``born <= died``.

    Operators are ``<  <=  =  !=  >=  >``. Numbers, dates and ordered values compare by what they may be: a rule holds for released
    ranges when it can hold. Categories can only be equal or not. A missing or suppressed cell keeps no rule.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> spans = sf.read(pl.DataFrame({"a": [1, 2, 5], "b": [2, 2, 3]})).with_roles(plain=["a", "b"])
    >>> round(Consistency(["a <= b"]).measure(Pair.of(spans, spans)).value, 4)
    0.6667
    """

    rules: Annotated[tuple[Rule, ...], Field(min_length=1, description="rules like 'born <= died'")]

    name: ClassVar[str] = "consistency"
    secret: ClassVar[tuple[str, ...]] = ("rules",)
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def applies(self, pair: Pair) -> str | None:
        """None where the columns of the rules are there."""
        pair.original.require([name for rule in self.rules for name in columns_of(rule)])
        return None if records_of(pair) else EMPTY

    def measure(self, pair: Pair) -> Measure:
        """The share of records that keep all rules."""
        import numpy as np

        require_sense(self, pair)
        kept, before = np.ones(len(pair.rows), dtype=bool), np.ones(len(pair.original), dtype=bool)
        for rule in self.rules:
            kept &= holds(pair, rule, "released")
            before &= holds(pair, rule, "original")
        raw, value = share_of(pair, float(before.sum())), share_of(pair, float(kept.sum()))
        meaning = f"share of records that keep {len(self.rules)} rule(s)"
        return Measure(self.name, value, self.better, meaning, raw=raw, per_record=kept.astype(np.float64))
