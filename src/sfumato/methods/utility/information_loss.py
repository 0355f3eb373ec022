"""Iyengar's loss metric LM."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.encoding import encode_column
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import parameters
from sfumato.methods.utility.cell_averages import (
    add_amounts,
    cell_measure,
    normalise,
    records_of,
    share_lost,
    suppressed_of,
)
from sfumato.methods.utility.cells import Cells, cells_of, log_leaves
from sfumato.methods.utility.columns import (
    Columns,
    Weights,
    quasi_of,
    require_sense,
    shares_of,
    why_not_generalised,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Floats = NDArray[np.float64]


LARGEST = 700.0
"""Exponents beyond this do not fit a float."""


@parameters
class Loss(ColumnUtility):
    r"""The mean loss of a cell: how much of its column's range or values a released cell leaves
    open (LM).

    .. math:: \frac1{NA}\sum_{\text{cells}} \frac{M_P-1}{M-1} \quad\text{or}\quad
        \frac{U_i-L_i}{U-L}

    :math:`M_P` of all :math:`M` leaves of the hierarchy lie below the released
    category; :math:`[L_i, U_i]` is the released range and :math:`[L, U]` that of the column, taken
    by its real width for whole numbers too. A column with a single value loses nothing, a
    suppressed cell everything, a cell that was missing before and still is nothing. ``weights``
    make columns more or less important. The search objective ``loss`` is the same quantity; ARX
    combines columns by a geometric mean (objective ``loss_geometric``).

    Reference: V. S. Iyengar, KDD 2002, https://doi.org/10.1145/775047.775089.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> round(
    ...     Loss()
    ...     .measure(TablePair.of(examples.patients(), examples.patients(release="single")))
    ...     .value,
    ...     4,
    ... )
    0.4444
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "loss"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    judges_detail: ClassVar[bool] = True
    title: ClassVar[str] = "Loss (LM)"
    line: ClassVar[str] = "how much of its column's range or values a cell leaves open"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The mean loss of a cell."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        return cell_measure(
            self.name,
            pair,
            shares,
            lambda cells: cells.loss,
            "mean share of the range or values a cell leaves open",
        )


# Normalised certainty penalty.


@parameters
class NormalisedCertaintyPenalty(ColumnUtility):
    r"""The mean certainty penalty of a cell (NCP): the loss metric of the Mondrian literature.

    .. math:: \frac1{NA}\sum_{\text{cells}} \begin{cases} (U_i-L_i)/(U-L) &
        \text{numbers, dates, ordered values}\\
              M_P/M & \text{categories with } M_P > 1\\ 0 & \text{otherwise}\end{cases}

    Symbols as for :class:`Loss`, from which it differs for categories only: two of two values cost
    1 in both, two of three cost 2/3 here and 1/2 there. A missing value is none of the *M* values.

    Reference: J. Xu et al., KDD 2006, https://doi.org/10.1145/1150402.1150504.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="single"))
    >>> round(NormalisedCertaintyPenalty(["zip"]).measure(pair).value, 4)
    0.4444
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "ncp"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    title: ClassVar[str] = "Certainty penalty (NCP)"
    line: ClassVar[str] = "the same, as the Mondrian literature counts it"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The mean penalty of a cell."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        return cell_measure(
            self.name,
            pair,
            shares,
            _penalties,
            "mean share of the range or values a cell stands for",
        )


def _penalties(cells: Cells) -> Floats:
    if cells.reading.scale != "category":
        return cells.loss
    missing = int(None in cells.reading.values)
    # The top, and what is suppressed, stands for a missing value as well.
    covers = cells.lost | ((cells.level == cells.ladder.top) & (cells.ladder.top > 0))
    leaves = cells.leaves - covers * missing
    every = max(1.0, cells.all_leaves - missing)
    penalty = np.where(leaves > 1, np.minimum(1.0, leaves / every), 0.0)
    # what is not a leaf count but a loss of everything (a column of one value, suppressed) costs
    # what it costs in the loss
    return np.where(cells.lost, np.maximum(penalty, cells.loss), penalty)


# Sweeney's precision.


@parameters
class Precision(ColumnUtility):
    r"""How far up their hierarchies the released cells stand: Sweeney's precision, turned round.

    .. math:: Prec = 1 - \frac1{NA}\sum_{\text{cells}} \frac{h}{H_a-1}

    *h* is the level of the released cell and :math:`H_a` the number of levels of its column's
    hierarchy. ``raw`` is Prec (1 is best), ``value`` is 1 − Prec like every other loss, and equals
    the search objective ``precision``. Where one level explains a whole column that level counts
    for all its cells; otherwise each has the lowest level that explains it, and a range or set of
    no level has that of the lowest node above all it may mean. Without a hierarchy a cell stands at
    0 where it is unchanged and at the top otherwise.

    Reference: L. Sweeney, IJUFKS 10(5), 2002, https://doi.org/10.1142/S021848850200165X. Lectures
    that divide by the number of levels instead of levels − 1 would charge (H−1)/H for full
    suppression.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> Precision().measure(TablePair.of(examples.patients(), examples.patients())).raw
    1.0
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "precision"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    title: ClassVar[str] = "Precision lost"
    line: ClassVar[str] = "how far up their hierarchies the cells stand"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """One less Sweeney's precision."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        measure = cell_measure(
            self.name,
            pair,
            shares,
            lambda cells: cells.height,
            "mean level of a cell over the height of its hierarchy",
        )
        return dataclasses.replace(measure, raw=1.0 - measure.value)


# Height of a generalization.


@parameters
class Height(ColumnUtility):
    r"""How high the columns were generalised, whatever their values.

    .. math:: \frac1A\sum_a \frac{h_a}{H_a-1}

    :math:`h_a` is the level of column *a* and :math:`H_a` the number of levels of its hierarchy;
    ``raw`` is the sum of the levels. After local recoding a column has no single level: then its
    highest cell counts. The metric looks at columns, not at records: records that were suppressed
    do not count as long as any was released (as in the search objective ``height``, which it
    equals); a column that was not released is at its top. When the labels of several levels explain
    what was released the lowest is taken.

    Reference: P. Samarati, IEEE TKDE 13(6), 2001, https://doi.org/10.1109/69.971193.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> Height(["age", "zip"]).measure(
    ...     TablePair.of(examples.patients(), examples.patients(release="single"))
    ... ).per_column
    {'age': 1.0, 'zip': 0.5}
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "height"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    line: ClassVar[str] = "how high the columns were generalised, whatever their values"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The mean height of the columns."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        columns, levels = {}, 0.0
        for name in shares:
            cells = cells_of(pair, name)
            if cells is None or not len(pair.released):
                columns[name] = 1.0
            else:
                columns[name] = float(cells.height.max())
            levels += columns[name] * (max(1, cells.ladder.top) if cells is not None else 1)
        value = sum(share * columns[name] for name, share in shares.items())
        meaning = "mean level of the columns over the heights of their hierarchies"
        return Measure(self.name, value, self.better, meaning, raw=levels, per_column=columns)


# Non-uniform entropy: bits that generalization took away.


@parameters
class NonUniformEntropy(ColumnUtility):
    r"""The bits needed to get the original values back from the released ones, column by column.

    .. math:: \sum_i\sum_a -\log_2\frac{n_a(v_{ia})}{n_a(g_{ia})}

    :math:`n_a(v)` is how often the original value *v* occurs in column *a* of the
    original, :math:`n_a(g)` how many original records have a value that the released cell *g* may
    stand for (all, when it is suppressed). ``raw`` is the sum in bits; ``value`` the mean over
    columns of the share of :math:`-\sum_v n_v\log_2(n_v/N)`, the bits that suppressing the column
    loses, as in the search objective ``entropy``. A column with one single value has nothing to
    lose; its suppressed cells cost 1 as everywhere. Missing counts as a value. Never less for a
    coarser table where whole columns are recoded and nothing is suppressed; local recoding may
    lower it.

    Reference: A. Gionis and T. Tassa, IEEE TKDE 21(2), 2009, https://doi.org/10.1109/TKDE.2008.129.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="multi"))
    >>> round(NonUniformEntropy(["age"]).measure(pair).raw, 4)
    6.9837
    """

    columns: Columns = None
    weights: Weights = Field(default_factory=dict)

    name: ClassVar[str] = "non_uniform_entropy"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    title: ClassVar[str] = "Non-uniform entropy"
    line: ClassVar[str] = "bits needed to recover the original values, column by column"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The bits lost, and their share of all bits."""
        require_sense(self, pair)
        shares = shares_of(quasi_of(pair, self.columns), self.weights)
        total, columns = 0.0, {}
        for name in shares:
            bits, most_bits = _bits(pair, name)
            total += bits
            if most_bits > 0:
                columns[name] = bits / most_bits
            else:
                columns[name] = _suppressed_share(pair, name)
        value = sum(share * columns[name] for name, share in shares.items())
        meaning = "bits lost, as a share of the bits of the columns"
        return Measure(
            self.name,
            value,
            self.better,
            meaning,
            raw=total,
            per_column=columns,
            parts=partial(_rows_bits, pair, tuple(shares)),
        )


def _bits_of_suppression(pair: TablePair, name: str) -> Floats:
    """Per value of a column the bits that suppressing a cell with it loses."""
    counts = encode_column(pair.original, name).counts
    bits: Floats = np.log2(max(1, pair.original.records) / np.maximum(counts, 1))
    return bits


def _bits(pair: TablePair, name: str) -> tuple[float, float]:
    """The bits that a column has lost, and those that suppressing all of it loses."""
    every = _bits_of_suppression(pair, name)
    most_bits = float((encode_column(pair.original, name).counts * every).sum())
    cells = cells_of(pair, name)
    if cells is None:
        return most_bits, most_bits
    # Suppressed records have lost all their bits: those of all records less those released.
    bits = cells.total(_bits_of_cells(cells)) + most_bits - cells.total(every[cells.value])
    return bits, most_bits


def _bits_of_cells(cells: Cells) -> Floats:
    """The bits that each distinct cell has lost."""
    ratio = cells.records / np.maximum(1, cells.counts[cells.value])
    return np.maximum(0.0, np.log2(ratio))


def _rows_bits(pair: TablePair, names: Sequence[str]) -> Floats:
    """Per released record the bits its cells have lost."""
    records = np.zeros(len(pair.released))
    for name in names:
        cells = cells_of(pair, name)
        if cells is None:
            records += _bits_of_suppression(pair, name)[
                pair.original.encoded(name).narrow[pair.rows]
            ]
        else:
            records += _bits_of_cells(cells)[cells.which]
    return records


def _suppressed_share(pair: TablePair, name: str) -> float:
    """The share of cells of which nothing is left; a record that was suppressed has none left."""
    cells = cells_of(pair, name)
    if cells is None:
        return 1.0 if records_of(pair) else 0.0
    # generalising the only value to its top loses nothing: only blanks and records that are gone
    # count
    return share_lost(pair, cells.total(cells.lost & (cells.level < 0)))


# Ambiguity: how many original records a released one could be.


@parameters
class Ambiguity(ColumnUtility):
    r"""The mean number of combinations of values that a released record may stand for.

    .. math:: \frac1N\sum_i \prod_a m_{ia}

    :math:`m_{ia}` is the number of leaf values compatible with the cell of record *i* in column
    *a*: leaves of the hierarchy, or occurring values inside a range; a suppressed record is
    compatible with all combinations. ``value`` is the logarithm of the mean over that of all
    combinations, ``per_column`` the same of each column alone. ARX sums over records instead of
    averaging. A mean too large for a float has no ``raw`` value; its normalised one is exact.

    Reference: M. E. Nergiz and C. Clifton, *Thoughts on k-anonymization*, Data & Knowledge
    Engineering 63(3), 2007.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="multi"))
    >>> round(Ambiguity().measure(pair).raw, 6)
    3.0
    """

    columns: Columns = None

    name: ClassVar[str] = "ambiguity"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    line: ClassVar[str] = "combinations of values that a record may represent"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The mean number of combinations."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        records = np.zeros(len(pair.released))
        largest, columns = 0.0, {}
        for name in names:
            cells = cells_of(pair, name)
            every = log_leaves(pair, name)
            largest += every
            if cells is None:
                logs = np.full(1, every)
            else:
                logs = np.log(cells.leaves)
            # Where all cells lose alike no row needs to be looked up.
            varied = cells is not None and len(logs) > 0 and bool((logs != logs[0]).any())
            if cells is not None and varied:
                records += kernels.keys.map_codes(cells.which, logs)
            else:
                records += logs.max(initial=0.0)
            loss_of_suppressed = math.exp(every)
            mean = share_lost(
                pair,
                pair.kept * math.exp(every) if cells is None else cells.total(cells.leaves),
                loss_of_suppressed=loss_of_suppressed,
            )
            columns[name] = normalise(math.log(max(1.0, mean)), every, pair)
        # relative to the most ambiguous record, so that nothing overflows
        if suppressed_of(pair) or not len(records):
            worst = largest
        else:
            worst = float(records.max())
        relative_records = np.exp(records - worst)
        relative = share_lost(
            pair,
            add_amounts(pair, relative_records),
            loss_of_suppressed=math.exp(min(0.0, largest - worst)),
        )
        log_mean = worst + math.log(relative)
        return Measure(
            self.name,
            normalise(log_mean, largest, pair),
            self.better,
            f"a released record may represent e^{log_mean:.3g} combinations of values on average; "
            "the exponent as a share of the highest",
            raw=math.exp(log_mean) if log_mean < LARGEST else None,
            per_column=columns,
            parts=lambda: np.exp(np.minimum(records, LARGEST)),
        )
