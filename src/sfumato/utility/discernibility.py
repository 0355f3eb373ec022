"""Discernibility metric C_DM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import Columns, quasi_of, require_sense, why_not_generalised
from sfumato.utility.grouping import class_sizes, classes_of
from sfumato.utility.suppressed import normalised, records_of, suppressed_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Discernibility:
    r"""How many records each record cannot be told apart from, summed up (C_DM).

    .. math:: \sum_E |E|^2 + sN \quad\text{or, as DM*,}\quad \sum_E |E|^2 + s^2

    over the classes *E*; *s* of *N* records were suppressed. ``penalty="table"`` charges *N* for each of them (the default, and the
    search objective ``discernibility``), ``"class"`` takes them for one class of their own. ``value`` is 0 at what the original
    table has and 1 at :math:`N^2`.

    Reference: R. J. Bayardo and R. Agrawal, ICDE 2005, https://doi.org/10.1109/ICDE.2005.42.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> Discernibility().measure(Pair.of(examples.patients(), examples.patients(release="multi"))).raw
    12.0
    """

    columns: Columns = None
    penalty: Annotated[
        Literal["table", "class"],
        Field(description="a suppressed record costs as much as the table is long, or as there are suppressed ones"),
    ] = "table"

    name: ClassVar[str] = "discernibility"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The sum of squared class sizes and the penalty."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        ids, _, sizes = classes_of(pair, names, "released")
        gone, records = suppressed_of(pair), records_of(pair)
        raw = float((sizes.astype(float) ** 2).sum()) + float(gone) * (records if self.penalty == "table" else gone)
        least = float((class_sizes(pair, names, "original").astype(float) ** 2).sum())
        return Measure(
            self.name,
            normalised(raw, float(records) ** 2, pair, least=least),
            self.better,
            "records that a record cannot be told apart from, summed over records",
            raw=raw,
            per_record=sizes[ids].astype(float),
        )
