"""Ambiguity: how many original records a released one could be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.cells import cells_of
from sfumato.utility.columns import Columns, quasi_of, require_sense, why_not_generalised
from sfumato.utility.domain import log_leaves
from sfumato.utility.suppressed import normalised, share_lost, suppressed_of

if TYPE_CHECKING:
    from sfumato.core.pair import Pair

LARGEST = 700.0
"""Exponents beyond this do not fit a float."""


@parameters
class Ambiguity:
    r"""The mean number of combinations of values that a released record may stand for.

    .. math:: \frac1N\sum_i \prod_a m_{ia}

    :math:`m_{ia}` is the number of leaf values compatible with the cell of record *i* in column *a*: leaves of the
    hierarchy, or occurring values inside a range; a suppressed record is compatible with all combinations. ``value`` is the
    logarithm of the mean over that of all combinations, ``per_column`` the same of each column alone. ARX sums over
    records instead of averaging. A mean too large for a float has no ``raw`` value; its normalised one is exact.

    Reference: M. E. Nergiz and C. Clifton, *Thoughts on k-anonymization*, Data & Knowledge Engineering 63(3), 2007.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.patients(), examples.patients(release="multi"))
    >>> round(Ambiguity().measure(pair).raw, 6)
    3.0
    """

    columns: Columns = None

    name: ClassVar[str] = "ambiguity"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: Pair) -> Measure:
        """The mean number of combinations."""
        import numpy as np

        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        records = np.zeros(len(pair.rows))
        most, columns = 0.0, {}
        for name in names:
            cells = cells_of(pair, name)
            every = log_leaves(pair, name)
            most += every
            logs = np.full(1, every) if cells is None else np.log(cells.leaves)
            records += every if cells is None else logs[cells.which]
            mean = share_lost(
                pair,
                len(pair.rows) * math.exp(every) if cells is None else cells.total(cells.leaves),
                most=math.exp(every),
            )
            columns[name] = normalised(math.log(max(1.0, mean)), every, pair)
        # relative to the most ambiguous record, so that nothing overflows
        worst = most if suppressed_of(pair) or not len(records) else float(records.max())
        relative = share_lost(pair, float(np.exp(records - worst).sum()), most=math.exp(min(0.0, most - worst)))
        log_mean = worst + math.log(relative)
        each = np.exp(np.minimum(records, LARGEST))
        return Measure(
            self.name,
            normalised(log_mean, most, pair),
            self.better,
            "combinations of values a released record may stand for, on average",
            raw=math.exp(log_mean) if log_mean < LARGEST else None,
            per_column=columns,
            per_record=each,
        )
