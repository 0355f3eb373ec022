"""Non-uniform entropy: bits that generalization took away."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from sfumato.core.encoding import encode
from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.cells import cells_of
from sfumato.utility.columns import Columns, Weights, quasi_of, require_sense, shares_of, why_not_generalised
from sfumato.utility.suppressed import records_of, share_lost

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


@parameters
class NonUniformEntropy:
    r"""The bits needed to get the original values back from the released ones, column by column.

    .. math:: \sum_i\sum_a -\log_2\frac{n_a(v_{ia})}{n_a(g_{ia})}

    :math:`n_a(v)` is how often the original value *v* occurs in column *a* of the original, :math:`n_a(g)` how many original
    records have a value that the released cell *g* may stand for (all, when it is suppressed). ``raw`` is the sum in bits; ``value``
    the mean over columns of the share of :math:`-\sum_v n_v\log_2(n_v/N)`, the bits that suppressing the column loses, as
    in the search objective ``entropy``. A column with one single value has nothing to lose; its suppressed cells cost 1 as
    everywhere. Missing counts as a value. Never less for a coarser table where whole columns are recoded and nothing is
    suppressed; local recoding may lower it.

    Reference: A. Gionis and T. Tassa, IEEE TKDE 21(2), 2009, https://doi.org/10.1109/TKDE.2008.129.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.patients(), examples.patients(release="multi"))
    >>> round(NonUniformEntropy(["age"]).measure(pair).raw, 4)
    6.9837
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "non_uniform_entropy"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The bits lost, and their share of all bits."""
        import numpy as np

        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        total, columns = 0.0, {}
        records = np.zeros(len(pair.rows))
        for name in shares:
            original = _bits_of_suppression(pair, name)
            most = float(original.sum())
            released = _bits(pair, name, original)
            records += released
            bits = float(released.sum()) + most - float(original[pair.rows].sum())
            total += bits
            columns[name] = bits / most if most > 0 else _suppressed_share(pair, name)
        value = sum(share * columns[name] for name, share in shares.items())
        meaning = "bits lost, as a share of the bits of the columns"
        return Measure(self.name, value, self.better, meaning, raw=total, per_column=columns, per_record=records)


def _bits_of_suppression(pair: Pair, name: str) -> NDArray[np.float64]:
    """Per original record the bits that suppressing its cell loses."""
    import numpy as np

    cells = cells_of(pair, name)
    if cells is not None:
        counts, codes = cells.counts, cells.reading.original
    else:
        encoded = encode(pair.original.column(name))
        counts, codes = encoded.counts, encoded.codes
    bits = np.log2(max(1, len(pair.original)) / np.maximum(counts, 1))
    found: NDArray[np.float64] = bits[codes]
    return found


def _bits(pair: Pair, name: str, original: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per released record the bits its cell has lost."""
    import numpy as np

    cells = cells_of(pair, name)
    if cells is None:
        return original[pair.rows]
    bits = np.maximum(0.0, np.log2(cells.records / np.maximum(1, cells.counts[cells.value])))
    found: NDArray[np.float64] = bits[cells.which]
    return found


def _suppressed_share(pair: Pair, name: str) -> float:
    """The share of cells of which nothing is left; a record that was suppressed has none left."""
    cells = cells_of(pair, name)
    if cells is None:
        return 1.0 if records_of(pair) else 0.0
    # generalising the only value to its top loses nothing: only blanks and records that are gone count
    return share_lost(pair, cells.total(cells.lost & (cells.level < 0)))
