"""Normalised certainty penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.averaging import cell_measure
from sfumato.utility.cells import Cells
from sfumato.utility.columns import Columns, Weights, quasi_of, require_sense, shares_of, why_not_generalised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


@parameters
class NormalisedCertaintyPenalty:
    r"""The mean certainty penalty of a cell (NCP): the loss metric of the Mondrian literature.

    .. math:: \frac1{NA}\sum_{\text{cells}} \begin{cases} (U_i-L_i)/(U-L) & \text{numbers, dates, ordered values}\\
              M_P/M & \text{categories with } M_P > 1\\ 0 & \text{otherwise}\end{cases}

    Symbols as for :class:`Loss`, from which it differs for categories only: two of two values cost 1 in both, two of three
    cost 2/3 here and 1/2 there. A missing value is none of the *M* values.

    Reference: J. Xu et al., KDD 2006, https://doi.org/10.1145/1150402.1150504.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.patients(), examples.patients(release="single"))
    >>> round(NormalisedCertaintyPenalty(["zip"]).measure(pair).value, 4)
    0.4444
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "ncp"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The mean penalty of a cell."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        return cell_measure(self.name, pair, shares, _penalties, "mean share of the range or values a cell stands for")


def _penalties(cells: Cells) -> NDArray[np.float64]:
    import numpy as np

    if cells.reading.scale != "category":
        return cells.loss
    missing = int(None in cells.reading.values)
    covers = cells.lost | ((cells.level == cells.ladder.top) & (cells.ladder.top > 0))
    leaves = cells.leaves - covers * missing
    every = max(1.0, cells.all_leaves - missing)
    penalty = np.where(leaves > 1, np.minimum(1.0, leaves / every), 0.0)
    # what is not a leaf count but a loss of everything (a column of one value, suppressed) costs what it costs in the loss
    return np.where(cells.lost, np.maximum(penalty, cells.loss), penalty)
