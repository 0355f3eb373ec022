"""Iyengar's loss metric LM."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.averaging import cell_measure
from sfumato.utility.columns import Columns, Weights, quasi_of, require_sense, shares_of, why_not_generalised

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Loss:
    r"""The mean loss of a cell: how much of its column's range or values a released cell leaves open (LM).

    .. math:: \frac1{NA}\sum_{\text{cells}} \frac{M_P-1}{M-1} \quad\text{or}\quad \frac{U_i-L_i}{U-L}

    :math:`M_P` of all :math:`M` leaves of the hierarchy lie below the released category; :math:`[L_i, U_i]` is the released
    range and :math:`[L, U]` that of the column, taken by its real width for whole numbers too. A column with a single value
    loses nothing, a suppressed cell everything, a cell that was missing before and still is nothing. ``weights`` make
    columns more or less important. The search objective ``loss`` is the same quantity; ARX combines columns by a
    geometric mean (objective ``loss_geometric``).

    Reference: V. S. Iyengar, KDD 2002, https://doi.org/10.1145/775047.775089.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> round(Loss().measure(Pair.of(examples.patients(), examples.patients(release="single"))).value, 4)
    0.4444
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "loss"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The mean loss of a cell."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        return cell_measure(
            self.name, pair, shares, lambda cells: cells.loss, "mean share of the range or values a cell leaves open"
        )
