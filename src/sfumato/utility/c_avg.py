"""Normalised average class size C_AVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.average_class_size import average_size
from sfumato.utility.columns import Columns, quasi_of, require_sense, why_not_generalised
from sfumato.utility.suppressed import normalised, records_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class NormalisedClassSize:
    r"""The average class size over the size that k-anonymity asks for (C_AVG); 1 is best.

    .. math:: \frac{(N-s)\,/\,\#\text{classes}}{k}

    Suppressed records (*s*) do not count unless ``count_suppressed`` asks for it; when nothing was released it is *N/k*.
    ``value`` is 0 up to the best, 1, and 1 when all records are alike.

    Reference: K. LeFevre, D. J. DeWitt and R. Ramakrishnan, ICDE 2006, https://doi.org/10.1109/ICDE.2006.101.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> NormalisedClassSize(2).measure(Pair.of(examples.patients(), examples.patients(release="single"))).raw
    1.5
    """

    k: Annotated[int, Field(ge=1, description="the class size that was promised")]
    columns: Columns = None
    count_suppressed: Annotated[bool, Field(description="whether suppressed records count as records")] = False

    name: ClassVar[str] = "c_avg"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The average size of a class, in units of k."""
        require_sense(self, pair)
        raw = average_size(pair, quasi_of(pair, self.columns), count_suppressed=self.count_suppressed) / self.k
        value = normalised(raw, records_of(pair) / self.k, pair, least=1.0)
        meaning = f"average class size over k = {self.k}; 1 is best"
        return Measure(self.name, value, self.better, meaning, raw=raw)
