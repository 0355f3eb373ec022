"""Sampling: only some of the people are released, and nobody knows who."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.design import (
    Stratum,
    in_order,
    labelled_strata,
    marks_by,
    strata_of,
    units_of,
    weights_of,
)
from sfumato.core.encoding import numbers_of
from sfumato.core.fields import Fields
from sfumato.core.groups import places_in_groups
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Keyed, Marks, canonical_order
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal, Learner, Masked, Preserved, Span, Step
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.block import LARGEST, SMALLEST, by_appearance
from sfumato.methods.steps.masking.masking_fields import Strata, require_table
from sfumato.methods.steps.masking.weighted_moments import means_of, varies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Counts = NDArray[np.int64]
    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]

USUAL = 0.1
WHOLE = (
    "the sample is the whole table, so a unique record in it is unique among all its people; "
    "sample a smaller part"
)
_WEIGHT = Attribute((Role.WEIGHT,), Kind.NUMERIC)


# How many units of each stratum a sample takes.


def allocate_units(total: int, sizes: Counts, *, equal: bool) -> Counts:
    """``total`` units shared out over strata by size or equally, at least one and at most all of
    each.

    Shares are rounded by largest remainders (ties: the first stratum). What a stratum cannot take
    goes to the others in the same way. ``total`` is at least the number of strata and at most the
    number of units.

    >>> import numpy as np
    >>> (
    ...     allocate_units(10, np.array([50, 30, 1]), equal=False).tolist(),
    ...     allocate_units(10, np.array([50, 30, 1]), equal=True).tolist(),
    ... )
    ([6, 3, 1], [5, 4, 1])
    """
    if equal:
        targets = np.ones(len(sizes))
    else:
        targets = sizes.astype(np.float64)
    allocation = np.zeros(len(sizes), dtype=np.int64)
    open_ = np.ones(len(sizes), dtype=np.bool_)
    # Each round fixes at least one stratum, so there are at most as many rounds as strata.
    while True:
        remaining = total - int(allocation[~open_].sum())
        allocation[open_] = _by_largest_remainders(remaining, targets[open_])
        over = open_ & (allocation > sizes)
        under = open_ & (allocation < 1)
        if not (over | under).any():
            return allocation
        fixed = over if over.any() else under  # what is cut off may lift those that got nothing
        allocation[over] = sizes[over]
        allocation[fixed & under] = 1
        open_ &= ~fixed


def _by_largest_remainders(total: int, targets: NDArray[np.float64]) -> Counts:
    shares = total * targets / targets.sum()
    allocation: Counts = np.floor(shares + 1e-9).astype(np.int64)
    remaining = total - int(allocation.sum())
    # The largest fraction stands first: allocation − shares is its negative.
    allocation[np.argsort(allocation - shares, kind="stable")[:remaining]] += 1
    return allocation


@parameters
class Sample(Step):
    r"""Release a random sample of the records, or of whole persons or households.

    Who is unique in a sample need not be unique among all: an intruder cannot be sure that the
    person looked for was sampled at all. Of *M* units *m* are drawn without replacement; *m* is
    ``size``, or ``fraction`` · *M* rounded, at least 1; a tenth where neither is said.

    ``simple``: all samples of *m* units are equally likely. ``stratified``: :math:`m_h` of
    the :math:`M_h` units of every stratum, ``proportional`` to :math:`M_h` or ``equal`` (largest
    remainders; at least one and at most all of each). ``systematic``: units are sorted by stratum
    and then by all columns, and every *M/m*-th is taken from a random start, so that every stratum
    and every range of values gets its share but for one unit.

    Units are persons where the table has them, else households, else rows; ``unit`` says otherwise.
    A unit is kept whole, and must lie in one stratum. Strata are the columns ``within``, by default
    those with role stratum.

    Each row is drawn with probability :math:`\pi = m/M` (:math:`m_h/M_h` in its stratum). Survey
    weights are multiplied by
    :math:`1/\pi`; a table without weights gets a column of them where ``weight`` names one. Risk
    measures that look at the population (journalist risk, population uniqueness) read them.

    The sampled fraction is public. sdcMicro has no sampling step; R's *sampling* draws systematic
    samples with unequal probabilities too, which this does not.

    References: Cochran 1977, *Sampling Techniques*; Hundepool et al. 2012,
    doi:10.1002/9781118348239, section 3.4.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> people, step = examples.hospital(rows=300), Sample(0.1, weight="weight")
    >>> released = step.apply(people, step.plan(people, Goal(seed=Seed(1))))
    >>> len(released), released.column("weight").unique().to_list()
    (30, [10.0])
    """

    fraction: Annotated[
        float | None, Field(gt=0, le=1, description="share of the units that is drawn; 0.1")
    ] = None
    size: Annotated[
        int | None, Field(ge=1, description="number of units that are drawn, instead of a fraction")
    ] = None
    method: Annotated[
        Literal["simple", "stratified", "systematic"], Field(description="how units are drawn")
    ] = "simple"
    within: Strata = None
    allocation: Annotated[
        Literal["proportional", "equal"], Field(description="stratified: how many of each stratum")
    ] = "proportional"
    unit: Annotated[
        Literal["person", "household", "row"] | None,
        Field(description="what is sampled as a whole; by default the units, if any"),
    ] = None
    weight: Annotated[
        str | None, Field(min_length=1, description="name of a weight column to add")
    ] = None

    name: ClassVar[str] = "sample"
    tells: ClassVar[tuple[str, ...]] = ("fraction", "unit", "rows")
    retold: ClassVar[tuple[str, ...]] = ("fraction",)

    @property
    def coarsens(self) -> bool:
        """Records are left out."""
        return True

    @property
    def span(self) -> Span:
        """Row by row, unless rows are sorted first, or whole units are asked for."""
        if self.method != "systematic" and self.unit in (None, "row"):
            return Span.RECORDS
        return Span.TABLE

    def span_in(self, schema: Schema) -> Span:
        """The same in a table of this kind: rows that are asked for one by one stay so, whoever
        they belong to.
        """
        if self.unit == "row":
            return self.span
        return super().span_in(schema)

    def learner(self, goal: Goal, facts: Any) -> Learner | None:
        """How many rows the strata have, and then which words are drawn."""
        if facts is None:
            return _Counting(self)
        if facts.limits is not None:
            return None
        return _Smallest(self, goal.keyed("sample"), facts)

    def strata(self, schema: Schema) -> Sequence[str]:
        """The columns that make its strata."""
        if self.method == "simple":
            return ()
        strata_columns = schema.columns(Role.STRATUM) if self.within is None else self.within
        if not strata_columns and self.method == "stratified":
            raise SchemaError(
                "sample: stratified needs strata; give columns the role stratum or name them under"
                " within"
            )
        return strata_columns

    def taken(self, count: int, kind: str) -> int:
        """How many units are drawn of so many."""
        share = USUAL if self.fraction is None else self.fraction
        if self.size is None:
            sample_size = max(1, round(share * count))
        else:
            sample_size = self.size
        if sample_size > count:
            raise ParameterError(
                f"Sample: {sample_size:,} {kind}s are asked for, but the table has {count:,}; "
                "lower the size"
            )
        return sample_size

    def shares(self, sample_size: int, sizes: Counts, kind: str) -> Counts:
        """How many units are drawn of each stratum."""
        if len(sizes) > sample_size:
            raise ParameterError(
                f"Sample: {sample_size:,} {kind}s cannot cover {len(sizes):,} strata; raise the "
                "size, or use systematic"
            )
        return allocate_units(sample_size, sizes, equal=self.allocation == "equal")

    def __post_init__(self) -> None:
        if self.fraction is not None and self.size is not None:
            raise ParameterError("Sample: give either fraction or size, not both")
        if self.method == "simple" and self.within is not None:
            raise ParameterError("Sample: within is for stratified and systematic, not for simple")
        if self.method != "stratified" and self.allocation != "proportional":
            raise ParameterError(
                f"Sample: allocation is for stratified, not for {self.method}; leave it out"
            )

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw the units."""
        require_table(dataset, self.name, self.within or ())
        weight_column = dataset.schema.only(Role.WEIGHT)
        if self.weight is not None and weight_column is not None:
            raise ParameterError(
                f"Sample: the table has weights in {weight_column!r}, which are adjusted; leave"
                " weight out"
            )
        if self.weight in dataset.columns:
            raise ParameterError(
                f"Sample: the table already has a column {self.weight!r}; choose another name for "
                "the weights"
            )
        sample = _draw(self, dataset, goal)
        rows = np.flatnonzero(sample.chances)
        old = weights_of(dataset)
        # Horvitz-Thompson: a row that was drawn stands for 1/π rows.
        is_drawn = sample.chances > 0
        weights = np.where(is_drawn, 1 / np.where(is_drawn, sample.chances, 1.0), 0.0)
        if old is not None:
            weights = weights * old
        share = sample.taken / sample.units
        if sample.kind == "row":
            rows_taken = sample.taken
        else:
            rows_taken = len(rows)
        facts = {
            "fraction": share,
            "method": self.method,
            "unit": sample.kind,
            "rows": rows_taken,
        }
        exact = sample.kind == "row" and old is None
        if self.weight is not None:
            attributes = {self.weight: _WEIGHT}
        else:
            attributes = {}
        owner = {"units": sample.units, "units_drawn": sample.taken, "strata": sample.strata}
        return Masked(
            actions=dict(self._actions(dataset)),
            columns=self._weight_column(dataset, weights),
            rows=rows,
            attributes=attributes,
            preserved=tuple(_preserved_moments(dataset, weights, self.weight, exact=exact)),
            warnings=tuple(self._warnings(dataset, sample)),
            public=facts,
            owner=owner,
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the sample."""
        return plan.applied(dataset)

    def contradicted(self, plan_section: Fields, schema: Schema, records: int | None) -> str | None:
        """That other rows were drawn than the share of all rows that is asked for; of persons and
        households nobody knows how many there were.
        """
        rows = plan_section["rows"]
        share = plan_section["fraction"]
        if 0 < share <= 1 and (
            plan_section["unit"] != "row" or self.taken(round(rows / share), "row") == rows
        ):
            return None
        return f"{self.name}: {rows:,} rows do not match the share that the recipe asks for"

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table with these columns is, when ``schema`` says what the original
        is.
        """
        if self.weight is None or self.weight not in columns:
            return schema
        return Schema({**schema.attributes, self.weight: _WEIGHT})

    def _weight_column(self, dataset: Table, weights: Array) -> dict[str, pl.Series]:
        name = dataset.schema.only(Role.WEIGHT) or self.weight
        if name is None:
            return {}
        return {name: pl.Series(name, weights)}

    def _actions(self, dataset: Table) -> list[tuple[str, str]]:
        name = dataset.schema.only(Role.WEIGHT)
        if name is not None:
            return [(name, "multiplied by the inverse of the chance to be sampled")]
        if self.weight is None:
            return []
        return [(self.weight, "added: the inverse of the chance to be sampled")]

    def _warnings(self, dataset: Table, sample: _DrawnUnits) -> list[str]:
        messages = [WHOLE] if sample.taken == sample.units else []
        if sample.uneven and self.weight is None and dataset.schema.only(Role.WEIGHT) is None:
            messages.append(
                "strata were sampled at different rates and there are no weights; name a column"
                " with weight"
            )
        return messages


@dataclasses.dataclass(frozen=True, eq=False)
class _DrawnUnits:
    """Per row the chance with which it was drawn, 0 if it was not; and how many units of how many
    that were.
    """

    chances: Array
    kind: str
    units: int
    taken: int
    strata: int

    @property
    def uneven(self) -> bool:
        chances = self.chances[self.chances > 0]
        return len(chances) > 0 and bool(chances.max() - chances.min() > 0.02 * chances.max())


def _draw(step: Sample, dataset: Table, goal: Goal) -> _DrawnUnits:
    kind, codes = _units(step, dataset)
    if kind == "row" and step.method != "systematic":
        return _draw_rows(step, dataset, goal)
    if step.method == "systematic":
        # A systematic sample follows the values; others only need their random words.
        order = canonical_order(dataset)
    else:
        order = np.arange(len(dataset))
    units = by_appearance(codes[order])
    count = int(units.max()) + 1
    sample_size = step.taken(count, kind)
    strata = np.zeros(count, dtype=np.int64)
    if step.method != "simple":
        rows = strata_of(dataset, step.strata(dataset.schema))[0][order]
        # The stratum of a unit is that of its last row; all of them must agree.
        unit_strata = np.empty(count, dtype=np.int64)
        unit_strata[units] = rows
        torn = len(np.unique(units[unit_strata[units] != rows]))
        if torn:
            raise SchemaError(
                f"sample: {torn:,} {kind}(s) are in more than one stratum; choose strata that keep "
                "them whole"
            )
        strata = np.unique(unit_strata, return_inverse=True)[1]
    if step.method == "systematic":
        sequence = np.argsort(strata, kind="stable")
        start = goal.stream("sample").random()
        # Every M/m-th unit from a random start: 10 units, 4 stops, start 0.5 gives 1, 3, 6 and 8.
        stops = (start + np.arange(sample_size)) * count / sample_size
        picked = sequence[np.floor(stops).astype(np.int64)]
        chances = np.full(count, sample_size / count)
    else:
        sizes = np.bincount(strata)
        allocation = step.shares(sample_size, sizes, kind)
        # The smallest words of a stratum are a simple random sample of it.
        words = np.empty(count, dtype=np.uint64)
        words[units] = goal.keyed("sample").words(marks_by(dataset, kind))
        picked = _first_of_each(np.lexsort((words, strata)), sizes, allocation)
        chances = (allocation / sizes)[strata]
    unit_chances = np.zeros(count)
    unit_chances[picked] = chances[picked]
    per_row = np.empty(len(dataset))
    per_row[order] = unit_chances[units]
    return _DrawnUnits(per_row, kind, units=count, taken=sample_size, strata=int(strata.max()) + 1)


# Rows drawn one by one: those with the smallest words of their stratum.


@dataclasses.dataclass(frozen=True)
class Quotas:
    """Per stratum how many rows it has, how many are drawn, and the greatest word of one that is
    drawn.
    """

    sizes: Mapping[Stratum, int]
    each: Mapping[Stratum, int]
    limits: Mapping[Stratum, int] | None = None


class _Counting:
    """Counts the rows of every stratum, and shares out how many are drawn."""

    def __init__(self, step: Sample) -> None:
        self.step = step
        self.sizes = dict[Stratum, int]()

    def see(self, rows: Table) -> None:
        """Count some rows."""
        codes, names = labelled_strata(rows, self.step.strata(rows.schema))
        counts = np.bincount(codes, minlength=len(names)).tolist()
        for name, count in zip(names, counts, strict=True):
            self.sizes[name] = self.sizes.get(name, 0) + count

    def learnt(self) -> Quotas:
        """How many of each stratum."""
        names = in_order(self.sizes)
        sizes = np.array([self.sizes[name] for name in names], dtype=np.int64)
        allocation = self.step.shares(self.step.taken(int(sizes.sum()), "row"), sizes, "row")
        return Quotas(self.sizes, dict(zip(names, allocation.tolist(), strict=True)))


class _Smallest:
    """Finds the greatest word that is drawn in every stratum; at most twice as many words as rows
    drawn are kept.
    """

    def __init__(self, step: Sample, draws: Keyed, quotas: Quotas) -> None:
        self.step = step
        self.draws = draws
        self.quotas = quotas
        self.kept = {name: np.zeros(0, dtype=np.uint64) for name in quotas.sizes}

    def see(self, rows: Table) -> None:
        """Look at the words of some rows."""
        codes, names = labelled_strata(rows, self.step.strata(rows.schema))
        words = self.draws.words(Marks.of(rows))
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        parts = np.split(words[order], ends[:-1])
        for name, part in zip(names, parts, strict=True):
            candidates = np.concatenate([self.kept[name], part])
            quota = self.quotas.each[name]
            # np.partition puts the quota smallest first in linear time, unsorted.
            if len(candidates) > quota:
                self.kept[name] = np.partition(candidates, quota - 1)[:quota]
            else:
                self.kept[name] = candidates

    def learnt(self) -> Quotas:
        """The quotas with the greatest word of each stratum."""
        return dataclasses.replace(
            self.quotas, limits={name: int(words.max()) for name, words in self.kept.items()}
        )


def _draw_rows(step: Sample, dataset: Table, goal: Goal) -> _DrawnUnits:
    """Rows whose word is not above that of the last one drawn in their stratum.

    Two rows of a stratum share a word of 64 bits with a chance of about n²/2⁶⁵; only then one more
    than asked for may be drawn.
    """
    quotas: Quotas = step.facts(dataset, goal)
    limits = quotas.limits or {}
    codes, names = labelled_strata(dataset, step.strata(dataset.schema))
    thresholds = np.array([limits[name] for name in names], dtype=np.uint64)
    chances = np.array([quotas.each[name] / quotas.sizes[name] for name in names])
    is_drawn = goal.keyed("sample").words(Marks.of(dataset)) <= thresholds[codes]
    total = sum(quotas.sizes.values())
    sample_size = sum(quotas.each.values())
    return _DrawnUnits(
        np.where(is_drawn, chances[codes], 0.0),
        "row",
        units=total,
        taken=sample_size,
        strata=len(quotas.sizes),
    )


def _first_of_each(sequence: Rows, sizes: Rows, allocation: Rows) -> Rows:
    """The first ``allocation[h]`` of every stratum in a sequence that is sorted by stratum."""
    # The position of each unit within its stratum.
    position = places_in_groups(sizes)
    return sequence[position < np.repeat(allocation, sizes)]


def _units(step: Sample, dataset: Table) -> tuple[str, Rows]:
    """What is drawn, and per row the number of the unit it belongs to."""
    unit_codes = None
    if step.unit != "row":
        unit_codes = units_of(dataset, step.unit)
    if unit_codes is None and step.unit in ("person", "household"):
        raise SchemaError(f"sample: no column has role {step.unit}; give one, or leave unit out")
    if unit_codes is None:
        return "row", np.arange(len(dataset))
    kinds = {dataset.schema[name].identifies for name in dataset.schema.units}
    return step.unit or ("person" if "person" in kinds else "household"), unit_codes


def _preserved_moments(
    dataset: Table, weights: Array, weight: str | None, *, exact: bool
) -> list[Preserved]:
    """The size of the population, and the means of columns of numbers, as the weights tell them."""
    old = weights_of(dataset)
    if old is None:
        before = np.ones(len(dataset))
    else:
        before = old
    gap = abs(float(weights.sum()) - float(before.sum()))
    off = gap / max(float(before.sum()), 1e-300)
    weight_name = dataset.schema.only(Role.WEIGHT) or weight
    if weight_name is None:
        preserved = []
    else:
        preserved = [Preserved("size of the population as the sum", (weight_name,), exact, off)]
    numbers = []
    for n, a in dataset.schema.attributes.items():
        if a.kind is Kind.NUMERIC and Role.WEIGHT not in a.roles:
            numbers.append(n)
    numbers = [n for n in numbers if dataset.dtype(n).is_numeric()]
    values = [(n, numbers_of(dataset, n)) for n in numbers]
    usable_columns = []
    for n, v in values:
        if varies(v) and SMALLEST < np.nanmax(np.abs(v)) < LARGEST:
            usable_columns.append((n, v))
    if usable_columns:
        table = np.stack([v for _, v in usable_columns], axis=1)
        gaps = np.abs(means_of(table, weights) - means_of(table, before))
        mean_shifts = gaps / np.nanstd(table, axis=0)
        preserved_means = Preserved(
            "means", tuple(n for n, _ in usable_columns), False, float(mean_shifts.max())
        )
        preserved.append(preserved_means)
    return preserved
