"""Bucketization: classes of similar people whose confidential values, put into buckets, look like
those of the table.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.fields import Document, Fields
from sfumato.core.model import TOLERANCE
from sfumato.core.parameters import parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import Schema
from sfumato.core.step import Goal, Masked, Step
from sfumato.errors import InternalError, ParameterError, SchemaError
from sfumato.methods.formulas.bridge import implied_epsilon
from sfumato.methods.formulas.bucket_counts import distance_of
from sfumato.methods.formulas.bucket_plans import plan_buckets
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.microaggregation.bucket_classes import Limits, greedy, halve_parts
from sfumato.methods.steps.microaggregation.buckets import buckets_of, points_of
from sfumato.methods.steps.microaggregation.flow_assignment import improve_classes
from sfumato.methods.steps.microaggregation.group_values import (
    BucketColumn,
    as_centres,
    as_numbers,
    as_ranges,
    grids_of,
    require_ranges,
    require_values,
)
from sfumato.methods.steps.microaggregation.inputs import error_of, total_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]

Assignment = Literal["greedy", "flow", "halving"]


@parameters
class Bucketize(Step):
    r"""Release confidential values as buckets, in classes of at least k that are within a factor t
    of the table.

    Confidential values are put into *b* buckets of equal size, :math:`p_j \approx 1/b`. Records are
    put into classes of at least k whose counts of every bucket lie within

    .. math:: \lceil e_i p_j / t \rceil \le n_{ij} \le \lfloor e_i p_j t \rfloor

    (see :mod:`sfumato.methods.formulas.closeness`), so that every class is t-close to the table in
    the multiplicative distance. There are as many classes as a flow finds possible, N/k at most.
    What is released is the bucket: with the values themselves the distance would be infinite. The
    counts of what was made are verified, whatever made them.

    ``buckets`` is :math:`\lfloor t \rfloor + 1` and at most k where it is not said; t need not be
    whole, N need not be divisible.
    :func:`sfumato.methods.formulas.bucket_plans.plan_buckets` tells beforehand what can be built.

    Several confidential columns: ``jointly`` puts records into buckets that are close in all of
    them together, and every event that is made of such buckets is t-close; otherwise each column
    has its own buckets, and each is t-close by itself.

    ``assignment`` says how classes of similar quasi-identifiers are found: ``greedy`` takes the
    records nearest to the one that lies farthest out, work N²/k; ``flow`` improves that by flows of
    least cost (``rounds``, each record may move to its ``near`` nearest classes): a squared error
    some 10 to 20 % smaller, for about a second a round and 20 000 records with OR-tools (extra
    ``solvers``), much more with scipy's linear program, which stands in; ``halving`` cuts parts in
    two as Mondrian does while both halves are close, which is fast, and the only way for separate
    columns.

    Quasi-identifiers are released as ``ranges`` (what a class has in common) or ``centres`` (means,
    medians, modes); confidential values as ``range`` of the bucket (ranges of numbers and dates end
    on a ``grid``, as with :class:`Mondrian`), ``mean`` of the bucket, or its ``number``. Missing
    confidential values come last in the order and stand in the last bucket; with missing values
    there are no centres.

    The guarantee is about the table that is released: leaving out records afterwards changes it.
    Judge it with ``t_closeness: {distance: multiplicative, reference: released}``. It limits what
    an intruder learns like differential privacy with :math:`\varepsilon = 2 \ln t` would only under
    an assumption (:func:`sfumato.methods.formulas.bridge.implied_epsilon`).

    Differs from the paper, whose rule fills each class by itself and does not add up to the
    buckets, and which has whole t only.

    Reference: Domingo-Ferrer & Soria-Comas 2015, doi:10.1016/j.knosys.2014.11.011, section 6.

    >>> from sfumato import examples
    >>> people, step = examples.salaries(), Bucketize(["salary"], t=2, k=3)
    >>> plan = step.plan(people, Goal())
    >>> plan.public["buckets"], plan.public["classes"], plan.public["distance"]
    (3, 3, 1.0)
    >>> sorted(set(plan.columns["salary"].to_list()))
    ['3-5', '6-8', '9-11']
    """

    sensitive: Annotated[Names, Field(description="confidential columns")]
    t: Annotated[
        float,
        Field(
            gt=1, allow_inf_nan=False, description="largest factor between a class and the table"
        ),
    ]
    k: Annotated[int, Field(ge=2, description="least number of records of a class")]
    quasi: Annotated[
        Names | None,
        Field(description="columns that form classes; by default the quasi-identifiers"),
    ] = None
    buckets: Annotated[
        int | None, Field(ge=2, description="number of buckets; by default t rounded down, plus 1")
    ] = None
    jointly: Annotated[
        bool, Field(description="several columns: combine them in the same buckets")
    ] = True
    assignment: Annotated[
        Assignment | None,
        Field(
            description="how classes are found; by default greedy, or halving for separate columns"
        ),
    ] = None
    rounds: Annotated[
        int | None, Field(ge=1, description="flow: most rounds of improvement; 10")
    ] = None
    near: Annotated[
        int | None, Field(ge=1, description="flow: classes a record may move to; 30")
    ] = None
    release: Annotated[
        Literal["range", "mean", "number"],
        Field(description="what is released instead of confidential values"),
    ] = "range"
    release_quasi: Annotated[
        Literal["ranges", "centres"], Field(description="what classes release")
    ] = "ranges"
    grid: Steps = Field(default_factory=dict)

    name: ClassVar[str] = "bucketize"
    retold: ClassVar[tuple[str, ...]] = ("grid",)

    def __post_init__(self) -> None:
        if self.buckets is not None and self.buckets > self.k:
            raise ParameterError(
                "Bucketize: buckets must be at most k: every class needs a record of each"
            )
        if self.separate and self.assignment not in (None, "halving"):
            raise ParameterError(
                "Bucketize: columns with buckets of their own need the assignment halving"
            )
        if self.assignment != "flow" and (self.rounds is not None or self.near is not None):
            raise ParameterError("Bucketize: rounds and near are for the assignment flow")
        if set(self.sensitive) & set(self.quasi or ()):
            raise ParameterError(
                "Bucketize: a column cannot both form classes and go into buckets; name it once"
            )
        require_steps("Bucketize", self.grid)

    @property
    def separate(self) -> bool:
        """Whether every confidential column has buckets of its own."""
        return not self.jointly and len(self.sensitive) > 1

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find buckets and classes, and verify them."""
        quasi = self._quasi(dataset)
        order = canonical_order(dataset)
        ordered = dataset.take(order)
        if self.separate:
            together = [[name] for name in self.sensitive]
        else:
            together = [list(self.sensitive)]
        count = self._count(len(dataset))
        buckets = [buckets_of(ordered, names, count) for names in together]
        points = points_of(ordered, quasi)
        groups, notes = self._classes(points, buckets, goal)
        # The distance of the class farthest from the table, on real counts; what breaks the
        # promise is our bug
        distance = max(distance_of(_counts(groups, bucket_codes)) for bucket_codes in buckets)
        if distance > self.t * (1 + TOLERANCE) or int(np.bincount(groups).min()) < self.k:
            raise InternalError("bucketize: some classes do not hold k and t; report this as a bug")
        released = self._released(ordered, quasi, groups, dict(self._bucket_of(buckets)))
        back = np.argsort(order)
        columns = {name: column.values.gather(back) for name, column in released.items()}
        attributes = {name: column.attribute for name, column in released.items()}
        return Masked(
            actions=self._actions(quasi),
            columns=columns,
            attributes=attributes,
            warnings=tuple(self._warnings(dataset.schema, quasi)),
            public=self._facts(count, groups, distance) | grids_of(released),
            owner={**notes, **_worst(groups, buckets), "sse_over_sst": _lost_share(points, groups)},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the buckets and the classes."""
        return plan.applied(dataset)

    def contradicted(self, plan_section: Fields, schema: Schema, records: int | None) -> str | None:
        """That another grid was used."""
        return contradict_grid(self.name, plan_section, self.grid)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is: hierarchies do not
        know ranges.
        """
        changed = [*(schema.quasi if self.quasi is None else self.quasi), *self.sensitive]
        for name in (n for n in changed if n in schema.attributes):
            schema = schema.replace(name, hierarchy=None, order=None)
        return schema

    def _quasi(self, dataset: Table) -> tuple[str, ...]:
        quasi = tuple(dataset.schema.quasi if self.quasi is None else self.quasi)
        require_table(dataset, self.name, [*self.sensitive, *quasi])
        if not quasi:
            raise SchemaError(
                "bucketize: no column has the role quasi; name the columns that form "
                "classes with quasi"
            )
        overlap = [name for name in self.sensitive if name in quasi]
        if overlap:
            raise SchemaError(
                f"bucketize: {', '.join(overlap)} would both form classes and go into buckets; "
                "name quasi without them"
            )
        if self.k > len(dataset):
            raise SchemaError(
                f"bucketize: k = {self.k:,} is more than the {len(dataset):,} records of "
                f"{dataset.source.name}; lower k"
            )
        ranged = quasi if self.release_quasi == "ranges" else ()
        require_ranges(
            self.name, self.grid, (*ranged, *(self.sensitive if self.release == "range" else ()))
        )
        if self.release == "mean":
            require_values(self.name, dataset, self.sensitive)
        if self.release_quasi == "centres":
            require_values(self.name, dataset, quasi)
        return quasi

    def _count(self, n: int) -> int:
        return plan_buckets(n, self.k, self.t, buckets=self.buckets).buckets

    def _classes(
        self, points: Points, buckets: Sequence[Labels], goal: Goal
    ) -> tuple[Labels, Document]:
        if self.assignment == "halving" or self.separate:
            return halve_parts(points, buckets, self.k, self.t), {"assignment": "halving"}
        bucket_plan = plan_buckets(len(points), self.k, self.t, buckets=self.buckets)
        limits = Limits.of(bucket_plan.class_sizes, np.bincount(buckets[0]).tolist(), self.t)
        groups, fixed = greedy(points, buckets[0], limits)
        notes = {"assignment": self.assignment or "greedy", "counts_fixed_by_flow": fixed}
        if self.assignment != "flow":
            return groups, notes
        rounds = self.rounds or 10
        near = self.near or 30
        groups, improvement = improve_classes(
            points, buckets[0], groups, limits, rounds=rounds, near=near, progress=goal.progress
        )
        return groups, {**notes, **improvement}

    def _bucket_of(self, buckets: Sequence[Labels]) -> Iterator[tuple[str, Labels]]:
        for number, name in enumerate(self.sensitive):
            yield name, buckets[number if self.separate else 0]

    def _released(
        self, dataset: Table, quasi: Sequence[str], groups: Labels, buckets: Mapping[str, Labels]
    ) -> dict[str, BucketColumn]:
        ranges = functools.partial(as_ranges, steps=self.grid)
        write = ranges if self.release_quasi == "ranges" else as_centres
        renderers: dict[str, Callable[[Table, str, Labels], BucketColumn]]
        renderers = {"range": ranges, "mean": as_centres, "number": as_numbers}
        show = renderers[self.release]
        columns = {name: write(dataset, name, groups) for name in quasi}
        return columns | {name: show(dataset, name, of) for name, of in buckets.items()}

    def _actions(self, quasi: Sequence[str]) -> dict[str, str]:
        of = f"classes of at least {self.k}"
        form = {"range": "the range", "mean": "the mean", "number": "the number"}[self.release]
        words = dict.fromkeys(quasi, f"released as {self.release_quasi} of {of}")
        return words | dict.fromkeys(self.sensitive, f"released as {form} of a bucket")

    def _facts(self, count: int, groups: Labels, distance: float) -> Document:
        bridge = implied_epsilon(distance)
        return {
            "t": self.t,
            "k": self.k,
            "buckets": count,
            "of": "each column" if self.separate else "all columns together",
            "classes": int(groups.max()) + 1,
            "distance": distance,
            "implied_epsilon": dataclasses.asdict(bridge),
        }

    def _warnings(self, schema: Schema, quasi: Sequence[str]) -> Iterator[str]:
        unprotected = [name for name in schema.sensitive if name not in self.sensitive]
        if unprotected:
            yield (
                "bucketize: sensitive columns that are not in buckets stay unchanged: "
                f"{', '.join(unprotected[:8])}"
            )
        ungrouped = []
        for name in schema.quasi:
            if name not in quasi and name not in self.sensitive:
                ungrouped.append(name)
        if ungrouped:
            yield (
                "bucketize: quasi-identifiers that do not form classes distinguish people of a "
                f"class: {', '.join(ungrouped[:8])}"
            )
        if schema.person is not None:
            yield ("bucketize: classes count records, not persons: one person may fill a class")


def _counts(groups: Labels, buckets: Labels) -> Labels:
    """Records by class and bucket."""
    bucket_count = int(buckets.max()) + 1
    return np.bincount(
        groups * bucket_count + buckets, minlength=(int(groups.max()) + 1) * bucket_count
    ).reshape(-1, bucket_count)


def _worst(groups: Labels, buckets: Sequence[Labels]) -> dict[str, int]:
    """The class and the bucket that are farthest from the table, as numbers."""
    counts_of = [_counts(groups, bucket_codes) for bucket_codes in buckets]
    which = max(range(len(counts_of)), key=lambda a: distance_of(counts_of[a]))
    counts = counts_of[which].astype(np.float64)
    with np.errstate(divide="ignore"):
        log_shares = np.log(counts / counts.sum(axis=1, keepdims=True))
        log_totals = np.log(counts.sum(axis=0) / counts.sum())
        ratios = log_shares - log_totals
    row, bucket = np.unravel_index(int(np.abs(ratios).argmax()), ratios.shape)
    return {
        "worst_class": int(row),
        "worst_bucket": int(bucket),
        "worst_class_size": int(counts[row].sum()),
    }


def _lost_share(points: Points, groups: Labels) -> float:
    total = total_of(points)
    if not (total > 0):
        return 0.0
    return error_of(points, groups) / total
