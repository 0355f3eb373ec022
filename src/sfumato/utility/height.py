"""Height of a generalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.cells import cells_of
from sfumato.utility.columns import Columns, Weights, quasi_of, require_sense, shares_of, why_not_generalised

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Height:
    r"""How high the columns were generalised, whatever their values.

    .. math:: \frac1A\sum_a \frac{h_a}{H_a-1}

    :math:`h_a` is the level of column *a* and :math:`H_a` the number of levels of its hierarchy; ``raw`` is the sum of the
    levels. After local recoding a column has no single level: then its highest cell counts. The metric looks at columns,
    not at records: records that were suppressed do not count as long as any was released (as in the search objective
    ``height``, which it equals); a column that was not released is at its top. When the labels of several levels explain
    what was released the lowest is taken.

    Reference: P. Samarati, IEEE TKDE 13(6), 2001, https://doi.org/10.1109/69.971193.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> Height(["age", "zip"]).measure(Pair.of(examples.patients(), examples.patients(release="single"))).per_column
    {'age': 1.0, 'zip': 0.5}
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "height"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The mean height of the columns."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        columns, levels = {}, 0.0
        for name in shares:
            cells = cells_of(pair, name)
            columns[name] = 1.0 if cells is None or not len(pair.rows) else float(cells.height.max())
            levels += columns[name] * (max(1, cells.ladder.top) if cells is not None else 1)
        value = sum(share * columns[name] for name, share in shares.items())
        meaning = "mean level of the columns over the heights of their hierarchies"
        return Measure(self.name, value, self.better, meaning, raw=levels, per_column=columns)
