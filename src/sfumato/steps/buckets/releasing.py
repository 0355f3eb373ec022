"""What groups of records release in a column: the range of their values, or their centre."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.classes import count_classes, remap_to
from sfumato.core.design import weights_of
from sfumato.core.encoding import encode
from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Attribute, Kind
from sfumato.errors import SchemaError
from sfumato.steps.aggregation.centres import centres
from sfumato.steps.aggregation.embedding import ON_A_LINE, form_of, line_of
from sfumato.steps.partition.axes import axes_of
from sfumato.steps.partition.cells import cells_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

    Labels = NDArray[np.int64]

IN_ORDER = (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """A released column, in the order of the table's rows, and what it is now."""

    values: pl.Series
    attribute: Attribute


def as_ranges(dataset: Dataset, name: str, groups: Labels) -> Column:
    """What :mod:`sfumato.steps.partition.cells` writes for the values of each group."""
    import numpy as np
    import polars as pl

    axis = axes_of(count_classes(dataset, [name]), dataset.schema)[0]
    encoded = encode(dataset.column(name))
    ranks = axis.ranks[remap_to(axis.ladder, encoded)][encoded.codes]
    ends = np.cumsum(np.bincount(groups))
    cells = cells_of(axis, ranks[np.argsort(groups, kind="stable")], ends)
    texts = pl.Series(name, cells.labels, dtype=pl.String).gather(cells.codes[groups])
    before = dataset.schema[name]
    known = {TOP, None}.union(*axis.ladder.labels).issuperset(cells.labels)
    after = dataclasses.replace(
        before,
        kind=Kind.ORDINAL if before.kind in IN_ORDER else Kind.NOMINAL,
        hierarchy=before.hierarchy if known else None,
        order=before.order if known else None,
    )
    return Column(texts, after)


def as_centres(dataset: Dataset, name: str, groups: Labels) -> Column:
    """The mean of numbers and dates, the median of ordered values, the lowest common node or the mode of others."""
    import numpy as np

    form = form_of(dataset, name, "taxonomy")
    line = line_of(dataset, name, form) if form in ON_A_LINE else None
    given = weights_of(dataset)
    weights = np.ones(len(dataset)) if given is None else given
    before = dataset.schema[name]
    gone = form in ("numbers", "dates", "taxonomy")
    after = dataclasses.replace(before, hierarchy=None) if gone else before
    return Column(centres(dataset, name, form, line, groups, weights), after)


def as_numbers(dataset: Dataset, name: str, groups: Labels) -> Column:
    """The number of the group, from 1."""
    import polars as pl

    texts = pl.Series(name, [str(number + 1) for number in range(int(groups.max(initial=-1)) + 1)], dtype=pl.String)
    after = dataclasses.replace(dataset.schema[name], kind=Kind.NOMINAL, hierarchy=None, order=None)
    return Column(texts.gather(groups), after)


def require_values(step: str, dataset: Dataset, columns: Sequence[str]) -> None:
    """Refuse missing values where a centre is to be taken."""
    gaps = {
        name: dataset.column(name).fill_nan(None).null_count()
        if dataset.column(name).dtype.is_float()
        else dataset.column(name).null_count()
        for name in columns
    }
    lacking = [name for name, count in gaps.items() if count]
    if lacking:
        raise SchemaError(
            f"{step}: {', '.join(lacking[:8])} lack values, and there is no centre with what is missing; release ranges, "
            "or fill them first"
        )
