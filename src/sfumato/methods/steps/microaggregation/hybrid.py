"""Hybrid microdata: values redrawn within small groups so that group means and covariances stay
exactly what they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.design import weights_of
from sfumato.core.encoding import as_column
from sfumato.core.parameters import parameters
from sfumato.core.schema import Schema
from sfumato.core.step import Clue, ColumnStep, Goal, Masked, Preserved
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.block import computable
from sfumato.methods.steps.masking.masking_fields import Names, Strata, require_table
from sfumato.methods.steps.microaggregation.group_values import without_hierarchies
from sfumato.methods.steps.microaggregation.grouped_table import GroupedTable, table_of
from sfumato.methods.steps.microaggregation.methods import grouping
from sfumato.methods.steps.microaggregation.microaggregation import Microaggregate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]

LEAST = 3
"""Two records that keep mean and covariance are the same two, or change places."""
RANK = 1e-10
"""Directions with less than this share of the largest variance of a group do not vary."""
EXACT = 1e-9
"""What is off by less, in standard deviations of the table, is kept exactly."""


def orthonormal(draws: Array) -> Array:
    """Groups of draws (… × n × m, m < n) as orthonormal columns without a mean; the signs are those
    that make R's diagonal positive.
    """
    centred = draws - draws.mean(axis=-2, keepdims=True)
    q, r = np.linalg.qr(centred)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    columns: Array = q * signs[..., None, :]
    columns -= columns.mean(axis=-2, keepdims=True)
    return columns


def redrawn(values: Array, draws: Array) -> Array:
    r"""Groups (… × n × d) with other values and the same means and covariances.

    With :math:`(n-1) S = V \Lambda V^\top`, A the columns of :math:`V \Lambda^{1/2}` that vary, and
    Q of :func:`orthonormal`:
    :math:`Y = \bar x + Q A^\top`. Constant and collinear columns stay so.

    >>> import numpy as np
    >>> x = np.array([[1.0, 10], [2, 14], [4, 13], [7, 19]])
    >>> y = redrawn(x, np.array([[0.0, 1], [1, 0], [2, 5], [4, 2]]))
    >>> y.mean(axis=0).round(9).tolist(), np.cov(y.T).round(9).tolist()
    ([3.5, 14.0], [[7.0, 9.0], [9.0, 14.0]])
    """
    means = values.mean(axis=-2, keepdims=True)
    centred = values - means
    variances, directions = np.linalg.eigh(np.swapaxes(centred, -1, -2) @ centred)
    dimensions = draws.shape[-1]
    variances = variances[..., ::-1][..., :dimensions]
    directions = directions[..., ::-1][..., :dimensions]
    floor = RANK * variances[..., :1]
    retained_variances = np.where(variances > floor, variances, 0.0)
    spreads = np.sqrt(np.maximum(retained_variances, 0.0))
    root = directions * spreads[..., None, :]
    synthetic_values: Array = means + orthonormal(draws) @ np.swapaxes(root, -1, -2)
    return synthetic_values


def redrawn_groups(values: Array, groups: Labels, rng: np.random.Generator) -> Array:
    """All groups of a table redrawn; groups of one size at once."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    synthetic_values = values.copy()
    for size in np.unique(sizes[sizes > 0]).tolist():
        first_rows = starts[sizes == size][:, None]
        rows = order[first_rows + np.arange(size)]
        shape = (*rows.shape, min(size - 1, values.shape[1]))
        draws = rng.standard_normal(shape)
        synthetic_values[rows] = redrawn(values[rows], draws)
    return synthetic_values


def apart(before: Array, after: Array, groups: Labels) -> tuple[float, float]:
    """How far the means, and the covariances, of the worst group are off."""
    group_sizes = np.bincount(groups).astype(np.float64)
    means, covariances = 0.0, 0.0
    centred = []
    for values in (before, after):
        column_sums = [np.bincount(groups, column) for column in values.T]
        sums = np.stack(column_sums, axis=1) / group_sizes[:, None]
        centred.append((sums, values - sums[groups]))
    difference = centred[0][0] - centred[1][0]
    means = float(np.abs(difference).max(initial=0.0))
    for i in range(before.shape[1]):
        for j in range(i + 1):
            products = []
            for _, part in centred:
                products_of_columns = part[:, i] * part[:, j]
                products.append(np.bincount(groups, products_of_columns) / (group_sizes - 1))
            difference = np.abs(products[0] - products[1])
            covariances = max(covariances, float(difference.max(initial=0.0)))
    return means, covariances


@parameters
class HybridMicrodata(ColumnStep):
    r"""Put records into groups of at least k that lie close together, and redraw the values of each
    group with the same means and covariances.

    Between microaggregation, which releases means, and synthetic data, which has nobody's values:
    every group of n records X keeps its mean and covariance, and so does the whole table, but no
    record keeps its values. Columns are standardised by the table's standard deviations; within a
    group, with :math:`(n-1)S = V\Lambda V^\top` and A the columns of :math:`V\Lambda^{1/2}` whose
    variance is more than :math:`10^{-10}` of the largest, and Q the orthonormalised n × r normal
    draws without their mean, Y is

    .. math:: Y = \bar x + Q A^\top .

    Means, variances, covariances, correlations and regressions of these columns are the same in
    every group and in the table, to rounding. Constant and collinear columns stay so. Distributions
    are not kept: within a group they become normal, and values may lie where nobody's do (below
    zero). ``clip`` cuts them off at the bounds of the schema, ``keep_integers`` rounds columns of
    whole numbers; either ends exactness, and the report says by how much.

    Groups of two could only change places, groups of three have one angle left: k is at least 3,
    and a warning says where a group has fewer than d + 2 records. A small group with little spread
    still shows where its records lie. Rows stay rows of their people: this is masking. Missing
    values are refused, or such records left as they are. Weights do not count: what is kept is kept
    of records.

    Reference: Domingo-Ferrer & González-Nicolás 2010, doi:10.1016/j.ins.2010.04.005; Muralidhar &
    Sarathy 2008.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> table = Table(pl.DataFrame({"age": [20, 31, 42, 53, 64, 75], "cost": [5, 9, 1, 8, 2, 7]}))
    >>> plan = HybridMicrodata(["age", "cost"], k=3).plan(table, Goal(seed=Seed(1)))
    >>> round(plan.columns["age"].mean(), 9), [p.exactly for p in plan.preserved]
    (47.5, [True, True])
    """

    columns: Annotated[Names, Field(description="numeric columns that are redrawn together")]
    k: Annotated[int, Field(ge=LEAST, description="least number of records of a group")]
    method: Annotated[
        Literal[
            "mdav",
            "v_mdav",
            "partitioned",
            "k_ward",
            "principal_component",
            "projected_optimal",
            "refined",
        ],
        Field(description="how groups are found, as in microaggregate"),
    ] = "mdav"
    within: Strata = None
    missing: Annotated[
        Literal["refuse", "leave"], Field(description="what to do with records that lack values")
    ] = "refuse"
    keep_integers: Annotated[
        bool, Field(description="round columns of whole numbers; moments are then only approximate")
    ] = False
    clip: Annotated[
        bool,
        Field(
            description="cut values off at the bounds of the schema; moments are then approximate"
        ),
    ] = False

    name: ClassVar[str] = "hybrid_microdata"

    def __post_init__(self) -> None:
        if self.within is not None and set(self.within) & set(self.columns):
            raise ParameterError(
                "HybridMicrodata: a column cannot both define the strata and be redrawn "
                "within them; name it once"
            )

    @property
    def clue(self) -> Clue:
        """Who knows the groups knows their means; what follows from it nobody has worked out."""
        return Clue(bool(self.within))

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the groups and redraw them."""
        require_table(dataset, self.name, [*self.columns, *(self.within or ())])
        table = self._table(dataset)
        means = Microaggregate(
            self.columns, k=self.k, method=self.method, within=self.within, missing=self.missing
        )
        groups = grouping(means, table, goal)[self.columns[0]].groups
        columns_before = [computable(table.lines[name][table.rows], name) for name in self.columns]
        before = np.stack(columns_before, axis=1)
        after, notes = self._redrawn(before, groups, dataset, goal)
        sizes = np.bincount(groups)
        owner = {"smallest_group": int(sizes.min()), "largest_group": int(sizes.max())}
        return Masked(
            actions=dict.fromkeys(
                self.columns, f"redrawn within groups of at least {self.k} ({self.method})"
            ),
            columns=self._columns(table, after),
            attributes=without_hierarchies(dataset.schema, self.columns),
            preserved=self._preserved(before, after, groups),
            warnings=(*notes, *self._warnings(dataset, table, sizes)),
            public={"method": self.method, "k": self.k, "groups": len(sizes)},
            owner=owner,
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the redrawn values."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is: hierarchies do not list what was drawn."""
        return Schema({**schema.attributes, **without_hierarchies(schema, self.columns)})

    def _table(self, dataset: Table) -> GroupedTable:
        table = table_of(
            dataset,
            self.columns,
            k=self.k,
            within=self.within,
            standardize=True,
            nominal="taxonomy",
            missing=self.missing,
        )
        wrong = [name for name, form in table.forms.items() if form != "numbers"]
        if wrong:
            raise SchemaError(
                f"{self.name}: {', '.join(wrong[:5])} must be columns of numbers; leave them "
                "out or convert them"
            )
        return table

    def _redrawn(
        self, before: Array, groups: Labels, dataset: Table, goal: Goal
    ) -> tuple[Array, tuple[str, ...]]:
        """The values, rounded and cut off where that was asked for, and how many cells that
        touched.
        """
        spread = before.std(axis=0)
        spread[spread == 0] = 1.0
        centre = before.mean(axis=0)
        synthetic_values = (
            redrawn_groups((before - centre) / spread, groups, goal.stream("redraw")) * spread
            + centre
        )
        constant = (before == before[:1]).all(axis=0)
        synthetic_values[:, constant] = before[0, constant]
        notes = []
        for column_number, name in enumerate(self.columns):
            if self.clip:
                low, high = self._bounds(dataset, name)
                is_below = synthetic_values[:, column_number] < low
                is_above = synthetic_values[:, column_number] > high
                outside = int((is_below | is_above).sum())
                synthetic_values[:, column_number] = np.clip(
                    synthetic_values[:, column_number], low, high
                )
                if outside:
                    notes.append(
                        f"{self.name}: {outside:,} value(s) of {name} were cut off at its bounds"
                    )
            if self.keep_integers and dataset.dtype(name).is_integer():
                synthetic_values[:, column_number] = np.rint(synthetic_values[:, column_number])
        return synthetic_values, tuple(notes)

    def _bounds(self, dataset: Table, name: str) -> tuple[float, float]:
        attribute = dataset.schema.attributes.get(name)
        if attribute is None or attribute.bounds is None:
            raise SchemaError(
                f"{self.name}: clip needs bounds of column {name!r}; add 'bounds: [lowest, "
                "highest]'"
            )
        return attribute.bounds

    def _preserved(self, before: Array, after: Array, groups: Labels) -> tuple[Preserved, ...]:
        spread = before.std(axis=0)
        spread[spread == 0] = 1.0
        means, covariances = apart(before / spread, after / spread, groups)
        columns = tuple(self.columns)
        return (
            Preserved("means of every group and of the table", columns, means <= EXACT, means),
            Preserved(
                "covariances of every group and of the table",
                columns,
                covariances <= EXACT,
                covariances,
            ),
        )

    def _columns(self, table: GroupedTable, after: Array) -> Mapping[str, pl.Series]:
        back = np.argsort(table.order)
        columns = {}
        for column_number, name in enumerate(self.columns):
            like = table.dataset.column(name)
            line = table.lines[name].copy()
            line[table.rows] = after[:, column_number]
            whole = self.keep_integers and like.dtype.is_integer()
            if whole:
                column = as_column(name, line, like, whole=True)
            else:
                column = pl.Series(name, line).fill_nan(None)
            columns[name] = column.gather(back)
        return columns

    def _warnings(self, dataset: Table, table: GroupedTable, sizes: Labels) -> Iterator[str]:
        small_groups = int((sizes < len(self.columns) + 2).sum())
        if small_groups:
            yield (
                f"{self.name}: {small_groups:,} group(s) have fewer than {len(self.columns) + 2} "
                f"records for {len(self.columns)} columns, so originals can be computed; raise k"
            )
        if table.left_out:
            yield (
                f"{table.left_out:,} record(s) with missing values are unchanged and not protected"
            )
        if weights_of(dataset) is not None:
            yield (
                f"{self.name}: means and covariances are preserved for records, not for "
                "weighted records"
            )
        if dataset.schema.person is not None:
            yield "groups count records, not persons: one person may fill a group"
