"""Average class size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import Columns, quasi_of, require_sense, why_not_generalised
from sfumato.utility.grouping import class_sizes, classes_of
from sfumato.utility.suppressed import normalised, records_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class AverageClassSize:
    r"""The number of released records over the number of their classes.

    .. math:: (N - s)\,/\,\#\text{classes}

    *s* records were suppressed and, being in no class, do not count unless ``count_suppressed`` asks for it; when nothing was
    released the average is *N*, as in the search objective ``class_size``. ``value`` is 0 at the average of the original
    table and 1 when all records are alike.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> AverageClassSize().measure(Pair.of(examples.patients(), examples.patients(release="single"))).raw
    3.0
    """

    columns: Columns = None
    count_suppressed: Annotated[bool, Field(description="whether suppressed records count as records")] = False

    name: ClassVar[str] = "average_class_size"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The average size of a class."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        raw = average_size(pair, names, count_suppressed=self.count_suppressed)
        least = len(pair.original) / max(1, len(class_sizes(pair, names, "original")))
        ids, _, sizes = classes_of(pair, names, "released")
        return Measure(
            self.name,
            normalised(raw, float(records_of(pair)), pair, least=least),
            self.better,
            "average number of records that share their quasi-identifiers",
            raw=raw,
            per_record=sizes[ids].astype(float),
        )


def average_size(pair: Pair, columns: tuple[str, ...], *, count_suppressed: bool) -> float:
    """Records per class of what was released; all records where nothing was."""
    classes = len(class_sizes(pair, columns, "released"))
    records = records_of(pair) if count_suppressed else len(pair.rows)
    return records / classes if classes else float(records_of(pair))
