"""Microaggregation whose groups are t-close: quasi-identifiers become centres, confidential values stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.core.canonical import canonical_order
from sfumato.core.masked import Masked
from sfumato.core.parameters import parameters
from sfumato.core.rank_closeness import distance_bounds, needed_size
from sfumato.core.schema import Schema
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, SchemaError
from sfumato.steps.aggregation.embedding import ON_A_LINE, form_of, line_of
from sfumato.steps.aggregation.ground import error_of, total_of
from sfumato.steps.buckets.closeness import Line, Method, close_classes
from sfumato.steps.buckets.making import points_of
from sfumato.steps.buckets.releasing import as_centres, as_ranges, require_values
from sfumato.steps.masking.block import computable
from sfumato.steps.masking.fields import Names, require_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]


@parameters
class TClosenessMicroaggregate:
    r"""Release quasi-identifiers as centres of groups of at least k in which the confidential column is t-close.

    The distance is the earth mover's on the line of the confidential column: ``rank`` gives each record its own rank (the paper's;
    ties in canonical order), ``ordered`` counts steps between distinct values and ``numeric`` their differences, both as
    :class:`~sfumato.models.t_closeness.TCloseness` has them, each divided by the length of the line.

    ================================  ==========================================================================================================================================================  =========================
    method                groups                                                                              work
    ================================  ==========================================================================================================================================================  =========================
    merge                 MDAV; then the group with the largest distance joins the nearest, until all hold    n²/k
    k_anonymity_first     MDAV whose groups swap a record for a near one as long as that lowers the distance  n² (log n)/k, n² k at most
    t_closeness_first     one record of each of k* equal parts of the ranks, those nearest to a seed          n²/k*
    ================================  ==========================================================================================================================================================  =========================

    with :math:`k^*` of :func:`~sfumato.core.rank_closeness.needed_size`. Whatever method: groups that are still too far
    are merged as ``merge`` does, and the result is verified. ``t_closeness_first`` is the fastest and keeps most for small t;
    ``k_anonymity_first`` takes minutes beyond some 20 000 records; below the least distance that k records can have
    (:func:`~sfumato.core.rank_closeness.distance_bounds`) it does not try to swap.

    Records that are left over when k* does not divide n stand in the middle parts. The reference implementation pairs records by
    sort order and puts the rest into a part of its own; here it is as the paper says. Quasi-identifiers are released
    as ``centres`` (means, medians; common nodes or modes) or as ``ranges``. Missing values of the confidential column are refused,
    and those of quasi-identifiers with centres.

    Reference: Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2015, doi:10.1109/TKDE.2015.2435777.

    >>> from sfumato import examples
    >>> people = examples.hospital(rows=300).with_roles(sensitive="cost", quasi=["age"], plain=["zip", "sex"])
    >>> plan = TClosenessMicroaggregate("cost", t=0.1, k=5, quasi=["age"]).plan(people, Goal())
    >>> plan.public["distance"] <= 0.1
    True
    """

    sensitive: Annotated[str, Field(description="the confidential column, which must have an order")]
    t: Annotated[float, Field(gt=0, le=1, description="largest earth mover's distance of a group")]
    k: Annotated[int, Field(ge=2, description="least number of records of a group")]
    method: Annotated[Method, Field(description="how groups are found")] = "t_closeness_first"
    quasi: Annotated[Names | None, Field(description="columns that make groups; None: the quasi-identifiers")] = None
    distance: Annotated[Literal["rank", "ordered", "numeric"], Field(description="what lies how far apart")] = "rank"
    release_quasi: Annotated[Literal["centres", "ranges"], Field(description="what groups release")] = "centres"

    name: ClassVar[str] = "t_closeness_microaggregation"

    def __post_init__(self) -> None:
        if self.sensitive in (self.quasi or ()):
            raise ParameterError("TClosenessMicroaggregate: the confidential column cannot make groups itself")

    def plan(self, dataset: Dataset, goal: Goal) -> Masked:
        """Find the groups and verify them."""
        import numpy as np

        quasi = self._quasi(dataset)
        order = canonical_order(dataset)
        ordered = dataset.take(order)
        points, line = points_of(ordered, quasi), Line.of(self._places(ordered))
        groups, notes = close_classes(points, line, k=self.k, t=self.t, method=self.method)
        write = as_centres if self.release_quasi == "centres" else as_ranges
        released = {name: write(ordered, name, groups) for name in quasi}
        back = np.argsort(order)
        words = f"released as {self.release_quasi} of {self.t:g}-close groups of at least {self.k}"
        return Masked(
            actions=dict.fromkeys(quasi, words),
            columns={name: column.values.gather(back) for name, column in released.items()},
            attributes={name: column.attribute for name, column in released.items()},
            warnings=tuple(self._warnings(dataset.schema, quasi, int(groups.max()) + 1)),
            public=self._facts(groups, float(line.distances(groups).max())),
            owner={**notes, "sse_over_sst": _lost(points, groups), **self._bounds(len(dataset))},
        )

    def apply(self, dataset: Dataset, plan: Masked) -> Dataset:
        """Release the groups."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is: hierarchies do not know centres."""
        for name in schema.quasi if self.quasi is None else self.quasi:
            if name in schema.attributes:
                schema = schema.replace(name, hierarchy=None)
        return schema

    def _quasi(self, dataset: Dataset) -> tuple[str, ...]:
        quasi = tuple(n for n in dataset.schema.quasi if n != self.sensitive) if self.quasi is None else self.quasi
        require_table(dataset, self.name, [self.sensitive, *quasi])
        if not quasi:
            raise SchemaError(f"{self.name}: no column has the role quasi; say which columns make groups with quasi")
        if self.k > len(dataset):
            raise SchemaError(
                f"{self.name}: k = {self.k:,} is more than the {len(dataset):,} records of {dataset.source.name}"
            )
        require_values(self.name, dataset, [self.sensitive])
        if self.release_quasi == "centres":
            require_values(self.name, dataset, quasi)
        return tuple(quasi)

    def _places(self, dataset: Dataset) -> Points:
        """Where the records lie on the line of the confidential column."""
        import numpy as np

        form = form_of(dataset, self.sensitive, "mode")
        if form not in ON_A_LINE:
            raise SchemaError(
                f"{self.name}: column {self.sensitive!r} must have an order: numbers, dates, or an ordinal column"
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

    def _facts(self, groups: Labels, attained: float) -> dict[str, Any]:
        groups_made = int(groups.max()) + 1
        return {
            "method": self.method,
            "k": self.k,
            "t": self.t,
            "groups": groups_made,
            "distance": attained,
            "distance_of": self.distance,
        }

    def _bounds(self, n: int) -> dict[str, Any]:
        """What the theory says about ranks."""
        size = needed_size(n, self.t, self.k)
        low, high = distance_bounds(n, size)
        return {"needed_size": size, "least_distance": low, "bound_if_divisible": high}

    def _warnings(self, schema: Schema, quasi: Sequence[str], groups: int) -> Iterator[str]:
        if groups == 1:
            yield f"{self.name}: all records are one group, nothing is left of their differences; take t_closeness_first, or a larger t"
        others = [name for name in schema.sensitive if name != self.sensitive]
        if others:
            yield f"{self.name}: groups look like the table in {self.sensitive!r} only, not in {', '.join(others[:8])}"
        left = [name for name in schema.quasi if name not in quasi and name != self.sensitive]
        if left:
            yield f"{self.name}: quasi-identifiers that do not make groups tell their people apart: {', '.join(left[:8])}"
        if schema.person is not None:
            yield f"{self.name}: groups have so many records, not persons: one person may fill a group"


def _lost(points: Points, groups: Labels) -> float:
    total = total_of(points)
    return error_of(points, groups) / total if total > 0 else 0.0
