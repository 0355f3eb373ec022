"""Outlier coding: records that lie far out in several columns together are moved to the border."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.schema import Schema
from sfumato.core.step import Account, ColumnStep, Goal, Masked
from sfumato.core.table import Table
from sfumato.methods.steps.masking.block import block_of, column_like, require_numbers
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.masking.normal_noise import medians_of, robust_distances


@parameters
class OutlierCoding(ColumnStep):
    r"""Move records that lie far out in several columns together to the border of where most lie
    (multivariate top coding).

    With the medians *m* of the columns and the robust Mahalanobis distance :math:`d_i` of record
    *i* from them (that of ``add_noise`` with the method ``outliers``), every record with

    .. math:: d_i > c = \sqrt{\chi^2_{p,\,1-\alpha}} \quad\text{becomes}\quad
        x_i' = m + \frac{c}{d_i}\,(x_i - m)

    so that its distance is *c* and its direction stays; *p* is the number of columns and
    :math:`\alpha` the share ``share`` of normal records that would lie beyond. A record can be far
    out although each of its values is usual: small rent with a large income. Top coding of single
    columns does not see it.

    Other records stay as they are. A missing value counts as the median and stays missing. Whole
    numbers are rounded, so that a record may lie beyond the border by that. Whoever knows the
    release sees which records were moved: they lie on the border. Where that must not show, use
    ``top_bottom_coding`` or ``microaggregate``.

    sdcMicro's ``mvTopCoding`` is the same with centre and covariance by the minimum covariance
    determinant, which is searched at random; ours need no draw, so the border differs a little.

    Reference: Templ, Kowarik & Meindl 2015, doi:10.18637/jss.v067.i04.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> table = Table(pl.DataFrame({"x": [-2.0, -1, 0, 1, 2, 50], "y": [-2.1, -1, 0, 1, 2, -50]}))
    >>> step = OutlierCoding(["x", "y"])
    >>> plan = step.plan(table, Goal())
    >>> plan.public["moved_records"], step.apply(table, plan).column("x").to_list()[:5]
    (1, [-2.0, -1.0, 0.0, 1.0, 2.0])
    """

    columns: Annotated[Names, Field(description="columns of numbers that are looked at together")]
    share: Annotated[
        float,
        Field(gt=0, lt=1, description="share of normal records that would lie beyond the border"),
    ] = 0.025

    name: ClassVar[str] = "outlier_coding"

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """All of its columns."""
        return tuple(self.columns)

    def account(self, schema: Schema) -> Account:
        """The border is computed from all records."""
        return Account(why="medians and distances are computed from the data")

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the records beyond the border, and where they go."""
        from scipy.stats import chi2

        require_table(dataset, self.name, self.columns)
        require_numbers(dataset, self.columns, goal, self.name)
        block = block_of(dataset, self.columns, ())
        distances = robust_distances(block.values, block.weights)
        border = float(np.sqrt(chi2.ppf(1 - self.share, len(self.columns))))
        is_far = distances > border
        # Records within the border are multiplied by 1; distances there may be 0.
        factors = np.divide(border, distances, out=np.ones_like(distances), where=is_far)
        middle = medians_of(block.values)
        moved = middle + factors[:, None] * (block.values - middle)
        values = np.where(is_far[:, None], moved, block.values)
        columns = {}
        for j, name in enumerate(self.columns):
            column = block.back(values[:, j])
            if dataset.dtype(name).is_integer():
                column = np.rint(column)
            columns[name] = column_like(name, column, dataset.column(name))
        return Masked(
            actions=dict.fromkeys(self.columns, "outliers moved to the border"),
            columns=columns,
            public={"moved_records": int(is_far.sum()), "share": self.share},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the moved records in place."""
        return plan.applied(dataset)
