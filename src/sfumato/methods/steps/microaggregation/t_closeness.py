"""Microaggregation whose groups are t-close: quasi-identifiers become centres, confidential values
stay.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import SENSITIVE_COLUMNS, parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import Schema
from sfumato.core.step import Goal, Masked, Step
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.closeness import distance_bounds, needed_size
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.masking.block import computable
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.microaggregation.buckets import points_of
from sfumato.methods.steps.microaggregation.close_classes import Method, RecordLine, close_classes
from sfumato.methods.steps.microaggregation.embedding import ON_A_LINE, form_of, line_of
from sfumato.methods.steps.microaggregation.group_values import (
    as_centres,
    as_ranges,
    grids_of,
    require_ranges,
    require_values,
)
from sfumato.methods.steps.microaggregation.inputs import error_of, total_of
from sfumato.methods.steps.step_fields import GroupSize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]


@parameters
class TClosenessMicroaggregate(Step):
    r"""Release quasi-identifiers as centres of groups of at least k in which the confidential
    column is t-close.

    The distance is the earth mover's on the line of the confidential column: ``rank`` gives each
    record its own rank (the paper's; ties in canonical order), ``ordered`` counts steps between
    distinct values and ``numeric`` their differences, both as
    :class:`~sfumato.methods.models.t_closeness.TCloseness` has them, each divided by the length of
    the line.

    =================  =================================================  ==========================
    method             groups                                             work
    =================  =================================================  ==========================
    merge              MDAV; then the group with the largest distance     n²/k
                       joins the nearest, until all hold
    k_anonymity_first  MDAV whose groups swap a record for a near one as  n² (log n)/k, n² k at most
                       long as that lowers the distance
    t_closeness_first  one record of each of k* equal parts of the        n²/k*
                       ranks, those nearest to a seed
    =================  =================================================  ==========================

    with :math:`k^*` of :func:`~sfumato.methods.formulas.closeness.needed_size`. Whatever method:
    groups that are still too far are merged as ``merge`` does, and the result is verified.
    ``t_closeness_first`` is the fastest and keeps most for small t; ``k_anonymity_first`` takes
    minutes beyond some 20 000 records; below the least distance that k records can have
    (:func:`~sfumato.methods.formulas.closeness.distance_bounds`) it does not try to swap.

    Records that are left over when k* does not divide n stand in the middle parts. The reference
    implementation pairs records by sort order and puts the rest into a part of its own; here it is
    as the paper says. Quasi-identifiers are released as ``centres`` (means, medians; common nodes
    or modes) or as ``ranges`` (on a ``grid``, as with :class:`Mondrian`). Missing values of the
    confidential column are refused, and those of quasi-identifiers with centres.

    Reference: Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2015, doi:10.1109/TKDE.2015.2435777.

    >>> from sfumato import examples
    >>> people = examples.hospital(rows=300).with_roles(
    ...     sensitive="cost", quasi=["age"], keep=["zip", "sex"]
    ... )
    >>> plan = TClosenessMicroaggregate("cost", t=0.1, k=5, quasi=["age"]).plan(people, Goal())
    >>> plan.public["distance"] <= 0.1
    True
    """

    sensitive: Annotated[
        str,
        SENSITIVE_COLUMNS,
        Field(description="the confidential column, which must be ordered"),
    ]
    t: Annotated[float, Field(gt=0, le=1, description="largest earth mover's distance of a group")]
    k: GroupSize
    method: Annotated[Method, Field(description="how groups are found")] = "t_closeness_first"
    quasi: Annotated[
        Names | None,
        Field(description="columns that form groups; by default the quasi-identifiers"),
    ] = None
    distance: Annotated[
        Literal["rank", "ordered", "numeric"], Field(description="how distances are measured")
    ] = "rank"
    release_quasi: Annotated[
        Literal["centres", "ranges"], Field(description="what groups release")
    ] = "centres"
    grid: Steps = Field(default_factory=dict)

    name: ClassVar[str] = "t_closeness_microaggregation"
    retold: ClassVar[tuple[str, ...]] = ("grid",)

    def __post_init__(self) -> None:
        if self.sensitive in (self.quasi or ()):
            raise ParameterError(
                "TClosenessMicroaggregate: the confidential column cannot form groups "
                "itself; choose other columns"
            )
        require_steps("TClosenessMicroaggregate", self.grid)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the groups and verify them."""
        quasi = self._quasi(dataset)
        order = canonical_order(dataset)
        ordered = dataset.take(order)
        points = points_of(ordered, quasi)
        line = RecordLine.of(self._positions(ordered))
        groups, notes = close_classes(points, line, k=self.k, t=self.t, method=self.method)
        ranges = functools.partial(as_ranges, steps=self.grid)
        write = as_centres if self.release_quasi == "centres" else ranges
        released = {name: write(ordered, name, groups) for name in quasi}
        back = np.argsort(order)
        words = f"released as {self.release_quasi} of {self.t:g}-close groups of at least {self.k}"
        columns = {name: column.values.gather(back) for name, column in released.items()}
        attributes = {name: column.attribute for name, column in released.items()}
        distances = line.distances(groups)
        return Masked(
            actions=dict.fromkeys(quasi, words),
            columns=columns,
            attributes=attributes,
            warnings=tuple(self._warnings(dataset.schema, quasi, int(groups.max()) + 1)),
            public=self._facts(groups, float(distances.max())) | grids_of(released),
            owner={
                **notes,
                "sse_over_sst": _lost_share(points, groups),
                **self._bounds(len(dataset)),
            },
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the groups."""
        return plan.applied(dataset)

    def contradicted(self, plan_section: Fields, schema: Schema, records: int | None) -> str | None:
        """That another grid was used."""
        return contradict_grid(self.name, plan_section, self.grid)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is: hierarchies do not
        know centres.
        """
        for name in schema.quasi if self.quasi is None else self.quasi:
            if name in schema.attributes:
                schema = schema.replace(name, hierarchy=None)
        return schema

    def _quasi(self, dataset: Table) -> tuple[str, ...]:
        quasi = self.quasi
        if quasi is None:
            quasi = [name for name in dataset.schema.quasi if name != self.sensitive]
        require_table(dataset, self.name, [self.sensitive, *quasi])
        if not quasi:
            raise SchemaError(
                f"{self.name}: no column has the role quasi; name the columns that form groups "
                "with quasi"
            )
        if self.k > len(dataset):
            raise SchemaError(
                f"{self.name}: k = {self.k:,} is more than the {len(dataset):,} records of "
                f"{dataset.source.name}; lower k"
            )
        require_ranges(self.name, self.grid, quasi if self.release_quasi == "ranges" else ())
        require_values(self.name, dataset, [self.sensitive])
        if self.release_quasi == "centres":
            require_values(self.name, dataset, quasi)
        return tuple(quasi)

    def _positions(self, dataset: Table) -> Points:
        """Where the records lie on the line of the confidential column."""
        form = form_of(dataset, self.sensitive, "mode")
        if form not in ON_A_LINE:
            raise SchemaError(
                f"{self.name}: column {self.sensitive!r} must be ordered: numbers, dates, or an "
                "ordinal column"
            )
        line = computable(line_of(dataset, self.sensitive, form), self.sensitive)
        if self.distance == "numeric":
            return line
        distinct = np.unique(line, return_inverse=True)[1].astype(np.float64)
        if self.distance == "ordered":
            return distinct
        ranks = np.empty(len(line))
        ranks[np.argsort(distinct, kind="stable")] = np.arange(len(line))
        return ranks

    def _facts(self, groups: Labels, attained: float) -> Document:
        groups_made = int(groups.max()) + 1
        return {
            "method": self.method,
            "k": self.k,
            "t": self.t,
            "groups": groups_made,
            "distance": attained,
            "distance_of": self.distance,
        }

    def _bounds(self, n: int) -> Document:
        """What the theory says about ranks."""
        size = needed_size(n, self.t, self.k)
        low, high = distance_bounds(n, size)
        return {"needed_size": size, "least_distance": low, "bound_if_divisible": high}

    def _warnings(self, schema: Schema, quasi: Sequence[str], groups: int) -> Iterator[str]:
        if groups == 1:
            yield (
                f"{self.name}: all records form one group, so nothing remains of their "
                "differences; use t_closeness_first, or a larger t"
            )
        unprotected = [name for name in schema.sensitive if name != self.sensitive]
        if unprotected:
            yield (
                f"{self.name}: groups resemble the table in {self.sensitive!r} only, not in "
                f"{', '.join(unprotected[:8])}"
            )
        ungrouped = [name for name in schema.quasi if name not in quasi and name != self.sensitive]
        if ungrouped:
            yield (
                f"{self.name}: quasi-identifiers that do not form groups distinguish their people: "
                f"{', '.join(ungrouped[:8])}"
            )
        if schema.person is not None:
            yield (f"{self.name}: groups count records, not persons: one person may fill a group")


def _lost_share(points: Points, groups: Labels) -> float:
    total = total_of(points)
    if not (total > 0):
        return 0.0
    return error_of(points, groups) / total
