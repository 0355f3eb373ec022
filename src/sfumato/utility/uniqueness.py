"""Uniqueness: how many records are no duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import Columns, quasi_of, require_sense
from sfumato.utility.grouping import class_sizes
from sfumato.utility.quality import share_of, why_not

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Uniqueness:
    """The share of records that are no duplicate of another, by a key: distinct keys / records.

    For a release this is wanted where records must stay apart; for quasi-identifiers anonymity is the opposite.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> Uniqueness().measure(Pair.of(examples.patients(), examples.patients(release="multi"))).value
    0.5
    """

    columns: Columns = None

    name: ClassVar[str] = "uniqueness"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def applies(self, pair: Pair) -> str | None:
        """None where there is anything to look at."""
        return why_not(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """Distinct keys over records."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        value = share_of(pair, len(class_sizes(pair, names, "released")))
        raw = share_of(pair, len(class_sizes(pair, names, "original")))
        return Measure(self.name, value, self.better, "distinct keys over records", raw=raw)
