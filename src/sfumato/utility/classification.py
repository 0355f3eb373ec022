"""Classification metric CM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import Columns, quasi_of, require_sense, why_not_generalised
from sfumato.utility.grouping import Side, classes_of
from sfumato.utility.suppressed import normalised, share_lost

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


@parameters
class Classification:
    r"""The share of records that the majority label of their class gets wrong (CM).

    .. math:: \frac1N\sum_i [\,i\text{ is suppressed, or its label differs from the majority of its class}\,]

    The majority is that of the released labels, the truth the original label; of equally frequent labels the first in
    sorted order is taken. ``value`` is 0 at what the classes of the original table get wrong and 1 when every record is wrong.
    A label column that was not released predicts nothing; a label is never among its own predictors.

    Reference: V. S. Iyengar, KDD 2002, https://doi.org/10.1145/775047.775089.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.patients(), examples.patients(release="single"))
    >>> Classification("sex").measure(pair).raw, round(Classification("disease").measure(pair).raw, 4)
    (0.0, 0.6667)
    """

    label: Annotated[str, Field(min_length=1, description="the column to be predicted")]
    columns: Columns = None

    name: ClassVar[str] = "classification"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        pair.original.require([self.label])
        return why_not_generalised(pair, self._predictors(pair))

    def _predictors(self, pair: Pair) -> tuple[str, ...]:
        return tuple(name for name in quasi_of(pair, self.columns) if name != self.label)

    def measure(self, pair: Pair) -> Measure:
        """The share of records that are predicted wrongly from their class."""
        import numpy as np

        require_sense(self, pair)
        names = self._predictors(pair)
        if self.label in pair.released.columns:
            label = pair.reading(self.label)
            known = {text: code for code, text in enumerate(label.values)}
            shared = np.array([known.get(text, -1 - i) for i, text in enumerate(label.labels)], dtype=np.int64)
            truth, told = label.original, shared[label.released] if len(shared) else label.released
            wrong = _wrong(pair, names, "released", told, truth[pair.rows])
            least = float(_wrong(pair, names, "original", truth, truth).mean())
        else:
            wrong, least = np.ones(len(pair.rows)), 0.0
        raw = share_lost(pair, float(wrong.sum()))
        value = normalised(raw, 1.0, pair, least=least)
        meaning = f"share of records whose {self.label} is not the majority's in their class"
        return Measure(self.name, value, self.better, meaning, raw=raw, per_record=wrong)


def _wrong(
    pair: Pair, columns: tuple[str, ...], side: Side, told: NDArray[np.int64], truth: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Per row of one side whether the majority of its class differs from the truth."""
    import numpy as np

    ids, _, _ = classes_of(pair, columns, side)
    if not len(ids):
        return np.zeros(0)
    low = int(told.min())
    width = int(told.max()) - low + 1
    both, amounts = np.unique(ids * width + (told - low), return_counts=True)
    order = np.lexsort((both, -amounts, both // width))  # by class, then most frequent, then first label
    _, best = np.unique(both[order] // width, return_index=True)
    majority = both[order][best] % width + low
    wrong: NDArray[np.float64] = (majority[ids] != truth).astype(np.float64)
    return wrong
