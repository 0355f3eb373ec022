"""Microaggregation whose groups are t-close: quasi-identifiers become centres, confidential values
stay.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.model import TOLERANCE
from sfumato.core.parameters import SENSITIVE_COLUMNS, parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import Schema
from sfumato.core.step import Goal, Masked, Step
from sfumato.errors import InternalError, ParameterError, SchemaError
from sfumato.methods.formulas.closeness import distance_bounds, needed_size
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.masking.block import Names, computable, require_table
from sfumato.methods.steps.microaggregation.buckets import (
    Limits,
    as_centres,
    as_ranges,
    greedy,
    grids_of,
    points_of,
    require_ranges,
    require_values,
)
from sfumato.methods.steps.microaggregation.inputs import (
    ON_A_LINE,
    error_of,
    form_of,
    line_of,
    mdav_of,
    total_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


# Classes that are close to the table by the earth mover's distance: three ways, and the merging
# that makes sure.

if TYPE_CHECKING:
    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]

Method = Literal["merge", "k_anonymity_first", "t_closeness_first"]


@dataclasses.dataclass(frozen=True, eq=False)
class RecordLine:
    """Records on a line: ``ranks`` by record, and the sums that distances are made of (see the
    kernel).
    """

    ranks: Labels
    reach: Points
    moved: Points

    @classmethod
    def of(cls, positions: Points) -> RecordLine:
        """Records that lie at these places; ties are ranked by the order of records."""
        n = len(positions)
        order = np.argsort(positions, kind="stable")
        ranks = np.empty(n, dtype=np.int64)
        ranks[order] = np.arange(n)
        span = float(positions[order[-1]] - positions[order[0]])
        gaps = np.diff(positions[order]) / span if span > 0 else np.zeros(n - 1)
        earth_moved = np.cumsum(gaps * np.arange(1, n)) / n
        return cls(ranks, np.append(0.0, np.cumsum(gaps)), np.append(0.0, earth_moved))

    def distances(self, groups: Labels) -> Points:
        """The distance of every class to the table."""
        members = self.ranks[np.lexsort((self.ranks, groups))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.int64)
        distances = kernels.buckets.measure_classes(starts, members, self.reach, self.moved)
        return np.asarray(np.maximum(distances, 0.0))


def close_classes(
    points: Points, line: RecordLine, *, k: int, t: float, method: Method
) -> tuple[Labels, dict[str, Any]]:
    """Classes of at least k that are within t of the table, and how they were found."""
    n = len(points)
    if method == "t_closeness_first":
        size = needed_size(n, t, k)
        start, notes = _one_of_each(points, line, size), {"class_size": size}
    elif method == "k_anonymity_first" and distance_bounds(n, k)[0] <= t:
        start, notes = _swapped(points, line, k, t), {}
    else:  # no class of k could be within t whatever it swaps: they must be merged
        start, notes = mdav_of(points, k), {}
    groups = merged(points, line, start, t)
    classes = int(start.max()) + 1
    if float(line.distances(groups).max()) > t + TOLERANCE or int(np.bincount(groups).min()) < k:
        raise InternalError("classes were made that do not keep k and t")
    return groups, {**notes, "merged": classes - int(groups.max()) - 1}


def _swapped(points: Points, line: RecordLine, k: int, t: float) -> Labels:
    groups = np.empty(len(points), dtype=np.int64)
    columns = np.array(points.T, order="C")
    kernels.buckets.build_close_classes(
        columns, line.ranks, k, t + TOLERANCE, line.reach, line.moved, groups
    )
    return groups


def _one_of_each(points: Points, line: RecordLine, size: int) -> Labels:
    """Classes with one record of each of so many parts of the line; what is left over stands in the
    middle parts.
    """
    n = len(points)
    classes = n // size
    leftover_count = n - classes * size
    parts = np.full(size, classes, dtype=np.int64)
    counts = np.ones((classes, size), dtype=np.int64)
    middle = (size // 2,) if size % 2 else (size // 2 - 1, size // 2)
    for extra in range(leftover_count):
        at = middle[extra % len(middle)]
        parts[at] += 1
        counts[extra, at] += 1
    part_of = np.repeat(np.arange(size), parts)[line.ranks]
    return greedy(points, part_of, Limits(counts.sum(axis=1), counts, counts))[0]


def merged(points: Points, line: RecordLine, groups: Labels, t: float) -> Labels:
    """Join the class that is farthest from the table with the one whose centre is nearest, until
    all are within t.

    It ends: a single class is the table.
    """
    state = _Merging(points, line, groups)
    while len(state.alive) > 1:
        worst = state.alive[int(state.distances[state.alive].argmax())]
        if state.distances[worst] <= t + TOLERANCE:
            break
        state.join(int(worst))
    return np.unique(state.groups(), return_inverse=True)[1].astype(np.int64)


class _Merging:
    """Classes with their members, centres and distances; a class that was joined is no longer
    alive.
    """

    def __init__(self, points: Points, line: RecordLine, groups: Labels) -> None:
        self.line, self.n = line, len(points)
        count = int(groups.max()) + 1
        order = np.argsort(groups, kind="stable")
        self.members = np.split(order, np.cumsum(np.bincount(groups))[:-1])
        self.sizes = np.bincount(groups).astype(np.float64)
        self.sums = np.stack([np.bincount(groups, column, count) for column in points.T], axis=1)
        self.distances = line.distances(groups)
        self.alive = np.arange(count)

    def join(self, class_number: int) -> None:
        """Join a class with the nearest other one; it keeps its number."""
        candidates = self.alive[self.alive != class_number]
        centres = self.sums[candidates] / self.sizes[candidates, None]
        away = ((centres - self.sums[class_number] / self.sizes[class_number]) ** 2).sum(axis=1)
        partner = int(candidates[int(away.argmin())])
        self.members[class_number] = np.concatenate(
            [self.members[class_number], self.members[partner]]
        )
        self.sizes[class_number] += self.sizes[partner]
        self.sums[class_number] += self.sums[partner]
        ranks = np.sort(self.line.ranks[self.members[class_number]])
        starts = np.array([0, len(ranks)], dtype=np.int64)
        self.distances[class_number] = kernels.buckets.measure_classes(
            starts, ranks, self.line.reach, self.line.moved
        )[0]
        self.alive = self.alive[self.alive != partner]

    def groups(self) -> Labels:
        """The class of every record."""
        group_of = np.empty(self.n, dtype=np.int64)
        for number in self.alive.tolist():
            group_of[self.members[number]] = number
        return group_of


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
        Field(description="the confidential column, which must have an order"),
    ]
    t: Annotated[float, Field(gt=0, le=1, description="largest earth mover's distance of a group")]
    k: Annotated[int, Field(ge=2, description="least number of records of a group")]
    method: Annotated[Method, Field(description="how groups are found")] = "t_closeness_first"
    quasi: Annotated[
        Names | None, Field(description="columns that make groups; None: the quasi-identifiers")
    ] = None
    distance: Annotated[
        Literal["rank", "ordered", "numeric"], Field(description="what lies how far apart")
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
                "TClosenessMicroaggregate: the confidential column cannot make groups itself"
            )
        require_steps("TClosenessMicroaggregate", self.grid)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the groups and verify them."""
        quasi = self._quasi(dataset)
        order = canonical_order(dataset)
        ordered = dataset.take(order)
        points, line = points_of(ordered, quasi), RecordLine.of(self._positions(ordered))
        groups, notes = close_classes(points, line, k=self.k, t=self.t, method=self.method)
        ranges = functools.partial(as_ranges, steps=self.grid)
        write = as_centres if self.release_quasi == "centres" else ranges
        released = {name: write(ordered, name, groups) for name in quasi}
        back = np.argsort(order)
        words = f"released as {self.release_quasi} of {self.t:g}-close groups of at least {self.k}"
        return Masked(
            actions=dict.fromkeys(quasi, words),
            columns={name: column.values.gather(back) for name, column in released.items()},
            attributes={name: column.attribute for name, column in released.items()},
            warnings=tuple(self._warnings(dataset.schema, quasi, int(groups.max()) + 1)),
            public=self._facts(groups, float(line.distances(groups).max())) | grids_of(released),
            owner={**notes, "sse_over_sst": _lost(points, groups), **self._bounds(len(dataset))},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the groups."""
        return plan.applied(dataset)

    def contradicted(
        self, plan_section: Mapping[str, Any], schema: Schema, records: int | None
    ) -> str | None:
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
        quasi = (
            tuple(n for n in dataset.schema.quasi if n != self.sensitive)
            if self.quasi is None
            else self.quasi
        )
        require_table(dataset, self.name, [self.sensitive, *quasi])
        if not quasi:
            raise SchemaError(
                f"{self.name}: no column has the role quasi; say which columns make groups with"
                " quasi"
            )
        if self.k > len(dataset):
            raise SchemaError(
                f"{self.name}: k = {self.k:,} is more than the {len(dataset):,} records of"
                f" {dataset.source.name}"
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
                f"{self.name}: column {self.sensitive!r} must have an order: numbers, dates, or an"
                " ordinal column"
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
            yield (
                f"{self.name}: all records are one group, nothing is left of their differences;"
                " take t_closeness_first, or a larger t"
            )
        unprotected = [name for name in schema.sensitive if name != self.sensitive]
        if unprotected:
            yield (
                f"{self.name}: groups look like the table in {self.sensitive!r} only, not in"
                f" {', '.join(unprotected[:8])}"
            )
        ungrouped = [name for name in schema.quasi if name not in quasi and name != self.sensitive]
        if ungrouped:
            yield (
                f"{self.name}: quasi-identifiers that do not make groups tell their people apart:"
                f" {', '.join(ungrouped[:8])}"
            )
        if schema.person is not None:
            yield (
                f"{self.name}: groups have so many records, not persons: one person may fill a"
                " group"
            )


def _lost(points: Points, groups: Labels) -> float:
    total = total_of(points)
    return error_of(points, groups) / total if total > 0 else 0.0
