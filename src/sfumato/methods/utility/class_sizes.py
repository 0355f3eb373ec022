"""Average class size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.encoding import tallied
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.methods.utility.cell_averages import (
    Side,
    add_amounts,
    class_sizes,
    classes_of,
    normalise,
    records_of,
    share_lost,
    suppressed_of,
)
from sfumato.methods.utility.columns import (
    Columns,
    quasi_of,
    require_sense,
    why_not_generalised,
    why_not_sampled,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair


CountSuppressed = Annotated[bool, Field(description="whether suppressed records count as records")]


@parameters
class AverageClassSize(ColumnUtility):
    r"""The number of released records over the number of their classes.

    .. math:: (N - s)\,/\,\#\text{classes}

    *s* records were suppressed and, being in no class, do not count unless ``count_suppressed``
    asks for it; when nothing was released the average is *N*, as in the search objective
    ``class_size``. ``value`` is 0 at the average of the original table and 1 when all records are
    alike.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> AverageClassSize().measure(
    ...     TablePair.of(examples.patients(), examples.patients(release="single"))
    ... ).raw
    3.0
    """

    columns: Columns = None
    count_suppressed: CountSuppressed = False

    name: ClassVar[str] = "average_class_size"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    line: ClassVar[str] = "records that share their quasi-identifiers, on average"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_sampled(pair) or why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The average size of a class."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        raw = average_size(pair, names, count_suppressed=self.count_suppressed)
        # No release has smaller classes than the original: this is where the value begins at 0.
        lowest = pair.original.records / max(1, len(class_sizes(pair, names, "original")))
        return Measure(
            self.name,
            normalise(raw, float(records_of(pair)), pair, lowest=lowest),
            self.better,
            f"{raw:,.4g} records share their quasi-identifiers on average; as a share of all"
            " records",
            raw=raw,
            parts=lambda: size_of_own_class(pair, names),
        )


def size_of_own_class(pair: TablePair, columns: tuple[str, ...]) -> NDArray[np.float64]:
    """The size of the class of every released record."""
    classes = classes_of(pair, columns, "released")
    return classes.sizes[classes.ids].astype(float)


def average_size(pair: TablePair, columns: tuple[str, ...], *, count_suppressed: bool) -> float:
    """Records per class of what was released; all records where nothing was."""
    classes = len(class_sizes(pair, columns, "released"))
    records = records_of(pair) if count_suppressed else pair.kept
    if classes:
        return records / classes
    return float(records_of(pair))


# Normalised average class size C_AVG.


@parameters
class NormalisedClassSize(ColumnUtility):
    r"""The average class size over the size that k-anonymity asks for (C_AVG); 1 is best.

    .. math:: \frac{(N-s)\,/\,\#\text{classes}}{k}

    Suppressed records (*s*) do not count unless ``count_suppressed`` asks for it; when nothing was
    released it is *N/k*. ``value`` is 0 up to the best, 1, and 1 when all records are alike.

    Reference: K. LeFevre, D. J. DeWitt and R. Ramakrishnan, ICDE 2006,
    https://doi.org/10.1109/ICDE.2006.101.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> NormalisedClassSize(2).measure(
    ...     TablePair.of(examples.patients(), examples.patients(release="single"))
    ... ).raw
    1.5
    """

    k: Annotated[int, Field(ge=1, description="the class size that was promised")]
    columns: Columns = None
    count_suppressed: CountSuppressed = False

    name: ClassVar[str] = "c_avg"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    title: ClassVar[str] = "Class size over k (C_AVG)"
    line: ClassVar[str] = "how much larger the classes are than promised"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_sampled(pair) or why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The average size of a class, in units of k."""
        require_sense(self, pair)
        raw = (
            average_size(pair, quasi_of(pair, self.columns), count_suppressed=self.count_suppressed)
            / self.k
        )
        value = normalise(raw, records_of(pair) / self.k, pair, lowest=1.0)
        meaning = f"average class size over k = {self.k}; 1 is best"
        return Measure(self.name, value, self.better, meaning, raw=raw)


# Discernibility metric C_DM.


@parameters
class Discernibility(ColumnUtility):
    r"""How many records each record cannot be distinguished from, summed up (C_DM).

    .. math:: \sum_E |E|^2 + sN \quad\text{or, as DM*,}\quad \sum_E |E|^2 + s^2

    over the classes *E*; *s* of *N* records were suppressed. ``penalty="table"`` charges *N* for
    each of them (the default, and the search objective ``discernibility``), ``"class"`` takes them
    for one class of their own. ``value`` is 0 at what the original table has and 1 at :math:`N^2`.

    Reference: R. J. Bayardo and R. Agrawal, ICDE 2005, https://doi.org/10.1109/ICDE.2005.42.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> Discernibility().measure(
    ...     TablePair.of(examples.patients(), examples.patients(release="multi"))
    ... ).raw
    12.0
    """

    columns: Columns = None
    penalty: Annotated[
        Literal["table", "class"],
        Field(
            description=(
                "a suppressed record costs as much as the number of records, or of suppressed "
                "records"
            )
        ),
    ] = "table"

    name: ClassVar[str] = "discernibility"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    line: ClassVar[str] = "records that a record cannot be distinguished from"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        return why_not_sampled(pair) or why_not_generalised(pair, quasi_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The sum of squared class sizes and the penalty."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        gone = suppressed_of(pair)
        records = records_of(pair)
        penalty = records if self.penalty == "table" else gone
        raw = _sum_of_squares(class_sizes(pair, names, "released")) + float(gone) * penalty
        lowest = _sum_of_squares(class_sizes(pair, names, "original"))
        return Measure(
            self.name,
            normalise(raw, float(records) ** 2, pair, lowest=lowest),
            self.better,
            f"records that a record cannot be distinguished from, summed over records: {raw:,.0f}; "
            "as a share of the maximum",
            raw=raw,
            parts=lambda: size_of_own_class(pair, names),
        )


def _sum_of_squares(sizes: NDArray[np.int64]) -> float:
    return float((sizes.astype(float) ** 2).sum())


# Classification metric CM.


@parameters
class Classification(ColumnUtility):
    r"""The share of records that the majority label of their class gets wrong (CM).

    .. math:: \frac1N\sum_i [\,i\text{ is suppressed,}
        \text{ or its label differs from the majority of its class}\,]

    The majority is that of the released labels, the truth the original label; of equally frequent
    labels the first in sorted order is taken. ``value`` is 0 at what the classes of the original
    table get wrong and 1 when every record is wrong. A label column that was not released predicts
    nothing; a label is never among its own predictors.

    Reference: V. S. Iyengar, KDD 2002, https://doi.org/10.1145/775047.775089.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="single"))
    >>> (
    ...     Classification("sex").measure(pair).raw,
    ...     round(Classification("disease").measure(pair).raw, 4),
    ... )
    (0.0, 0.6667)
    """

    label: Annotated[str, COLUMNS, Field(min_length=1, description="the column to be predicted")]
    columns: Columns = None

    name: ClassVar[str] = "classification"
    follows_rows: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    title: ClassVar[str] = "Classification (CM)"
    line: ClassVar[str] = "records for which the majority label of their class is wrong"

    def applies(self, pair: TablePair) -> str | None:
        """None where cells were generalised, else what was done instead."""
        pair.original.require([self.label])
        return why_not_sampled(pair) or why_not_generalised(pair, self._predictors(pair))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it looks at, and the label."""
        return (*self.about, self.label)

    def _predictors(self, pair: TablePair) -> tuple[str, ...]:
        return tuple(name for name in quasi_of(pair, self.columns) if name != self.label)

    def measure(self, pair: TablePair) -> Measure:
        """The share of records that are predicted wrongly from their class."""
        require_sense(self, pair)
        names = self._predictors(pair)
        if self.label in pair.released.columns:
            label = pair.reading(self.label)
            shared = pair.own_values(self.label)
            # Labels that are no original value get negative codes of their own: they may be the
            # majority, and are never the truth.
            shared = np.where(shared < 0, -1 - np.arange(len(shared)), shared)
            truth = label.original
            labels = shared[label.released] if len(shared) else label.released
            wrong = _wrong(pair, names, "released", labels, truth[pair.rows])
            lowest = (
                add_amounts(pair, _wrong(pair, names, "original", truth, truth), "original")
                / pair.original.records
            )
        else:
            wrong = np.ones(len(pair.released))
            lowest = 0.0
        raw = share_lost(pair, add_amounts(pair, wrong))
        value = normalise(raw, 1.0, pair, lowest=lowest)
        meaning = f"share of records whose {self.label} is not the majority's in their class"
        return Measure(self.name, value, self.better, meaning, raw=raw, parts=wrong)


def _wrong(
    pair: TablePair,
    columns: tuple[str, ...],
    side: Side,
    labels: NDArray[np.int64],
    truth: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Per row of one side whether the majority of its class differs from the truth."""
    ids = classes_of(pair, columns, side).ids
    if not len(ids):
        return np.zeros(0)
    # Shifted to begin at 0, as codes may be negative.
    low = int(labels.min())
    width = int(labels.max()) - low + 1
    # Class and label as one number, so that one sort counts both together.
    class_labels, which = np.unique(ids * width + (labels - low), return_inverse=True)
    amounts = tallied(
        which, len(class_labels), (pair.released if side == "released" else pair.original).copies
    )
    # by class, then most frequent, then first label
    order = np.lexsort((class_labels, -amounts, class_labels // width))
    # In this order the first entry of a class is its majority.
    _, best = np.unique(class_labels[order] // width, return_index=True)
    majority = class_labels[order][best] % width + low
    wrong: NDArray[np.float64] = (majority[ids] != truth).astype(np.float64)
    return wrong
