"""Sweeney's precision."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.averaging import cell_measure
from sfumato.utility.columns import Columns, Weights, quasi_of, require_sense, shares_of, why_not_generalised

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Precision:
    r"""How far up their hierarchies the released cells stand: Sweeney's precision, turned round.

    .. math:: Prec = 1 - \frac1{NA}\sum_{\text{cells}} \frac{h}{H_a-1}

    *h* is the level of the released cell and :math:`H_a` the number of levels of its column's hierarchy. ``raw`` is Prec
    (1 is best), ``value`` is 1 − Prec like every other loss, and equals the search objective ``precision``. Where one level
    explains a whole column that level counts for all its cells; otherwise each has the lowest level that explains it, and a
    range or set of no level has that of the lowest node above all it may mean. Without a hierarchy a cell stands at 0
    where it is unchanged and at the top otherwise.

    Reference: L. Sweeney, IJUFKS 10(5), 2002, https://doi.org/10.1142/S021848850200165X. Lectures that divide by the number of
    levels instead of levels − 1 would charge (H−1)/H for full suppression.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> Precision().measure(Pair.of(examples.patients(), examples.patients())).raw
    1.0
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "precision"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """One less Sweeney's precision."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        found = cell_measure(
            self.name, pair, shares, lambda cells: cells.height, "mean level of a cell over the height of its hierarchy"
        )
        return dataclasses.replace(found, raw=1.0 - found.value)
