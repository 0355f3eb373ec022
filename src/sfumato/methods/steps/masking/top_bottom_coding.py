"""Top and bottom coding: the extremes are joined."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.encoding import encode, label, numbers_of
from sfumato.core.parameters import parameters
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import (
    Account,
    ColumnStep,
    Declaration,
    Effect,
    Goal,
    Learner,
    Masked,
    Preserved,
    Span,
)
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.block import (
    Block,
    block_of,
    column_like,
    require_numbers,
    units_in_order,
)
from sfumato.methods.steps.masking.category_ranks import ranks_of, values_at
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.masking.preserved_moments import KeptNumbers
from sfumato.methods.steps.masking.recode import lost_hierarchy, relabel_attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

Replacement = Literal["threshold", "mean", "median", "label"]
Threshold = Annotated[float, Field(allow_inf_nan=False)] | str


# Quantiles of weighted values.


def quantile_of(values: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> float:
    """The least known value up to which at least this share of the weight lies: the inverse
    distribution function.

    >>> import numpy as np
    >>> (
    ...     quantile_of(np.array([30.0, 10.0, 20.0]), np.ones(3), 0.5),
    ...     quantile_of(np.array([1.0, 2.0]), np.array([1.0, 9.0]), 0.5),
    ... )
    (20.0, 2.0)
    """
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.argsort(values[present], kind="stable")]
    below = np.cumsum(weights[order])
    sought = share * below[-1] * (1 - 1e-12)
    position = int(np.searchsorted(below, sought))
    return float(values[order[min(position, len(order) - 1)]])


@parameters
class TopBottomCoding(ColumnStep):
    r"""Replace the highest values of a column, or the lowest, by one value that they share.

    The upper tail is all :math:`x \ge` ``top``, the lower one all :math:`x \le` ``bottom``; a
    threshold is given as a value, or by ``top_quantile`` and ``bottom_quantile`` as the least value
    up to which that share of the records lies (of their weights, where a column has that role). All
    values of a tail become the ``threshold``, their weighted ``mean``, their weighted ``median``
    (lower, where two are in the middle), or a ``label``: ``90+`` and ``<=5``, or what ``top_label``
    and ``bottom_label`` say.

    Columns hold numbers, or their schema lists the order of their values; then a threshold is one
    of these, and there is no mean. With a label a column of numbers becomes text, of kind ordinal;
    its hierarchy is kept if it knows the label. Missing values stay missing. Thresholds are the
    same in all strata.

    Everything else stays, and so does the order; with the mean, weighted means and sums stay
    exactly. A mean or median of fewer than ``least`` persons (records, without persons) reveals
    almost what they are, and a warning says so. A coding that leaves no value as it is, is refused
    (not where a step of the recipe accounts for an ε: that would tell of a record). sdcMicro's
    ``topBotCoding`` codes what lies strictly beyond the threshold: the same with the threshold as
    replacement.

    Reference: Hundepool et al. 2012, doi:10.1002/9781118348239, section 3.4.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Account, Declaration, Effect, Goal
    >>> people, step = examples.students(), TopBottomCoding(["age"], top=21, replacement="label")
    >>> released = step.apply(people, step.plan(people, Goal()))
    >>> sorted(set(released.column("age").to_list()))
    ['18', '19', '20', '21+']
    """

    columns: Annotated[Names, Field(description="columns that are coded, all by the same rule")]
    top: Annotated[Threshold | None, Field(description="values from here up are coded")] = None
    bottom: Annotated[Threshold | None, Field(description="values up to here are coded")] = None
    top_quantile: Annotated[
        float | None, Field(gt=0, lt=1, description="top as a share of the records below it")
    ] = None
    bottom_quantile: Annotated[
        float | None, Field(gt=0, lt=1, description="bottom as a share of records")
    ] = None
    replacement: Annotated[Replacement, Field(description="what the values of a tail become")] = (
        "threshold"
    )
    top_label: Annotated[str | None, Field(min_length=1, description="label of the upper tail")] = (
        None
    )
    bottom_label: Annotated[
        str | None, Field(min_length=1, description="label of the lower tail")
    ] = None
    least: Annotated[
        int,
        Field(
            ge=1,
            description="a warning appears for fewer values in a tail: their mean or median is "
            "revealing",
        ),
    ] = 3

    name: ClassVar[str] = "top_bottom_coding"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.DATA_INDEPENDENT, "with thresholds as values, and replacement threshold or label"
    )

    @property
    def coarsens(self) -> bool:
        """A cell beyond an end becomes the end."""
        return True

    def __post_init__(self) -> None:
        upper = (self.top, self.top_quantile)
        lower = (self.bottom, self.bottom_quantile)
        if upper == lower == (None, None):
            raise ParameterError("TopBottomCoding: give top or bottom, as a value or as a quantile")
        if None not in upper or None not in lower:
            raise ParameterError(
                "TopBottomCoding: give a threshold as a value or as a quantile, not both"
            )
        labels = [("top_label", self.top_label, upper), ("bottom_label", self.bottom_label, lower)]
        for field, text, end in labels:
            if text is not None and (self.replacement != "label" or end == (None, None)):
                raise ParameterError(
                    f"TopBottomCoding: {field} is for replacement label at that end"
                )

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """Its columns that have no order of their own."""
        attributes = schema.attributes
        return tuple(
            name
            for name in self.columns
            if name not in attributes or attributes[name].order is None
        )

    def account(self, schema: Schema) -> Account:
        """A rule for every value by itself, unless thresholds are quantiles or tails become their
        mean or median.
        """
        if self.top_quantile is not None or self.bottom_quantile is not None:
            return Account(why="quantiles are computed from the data")
        if self.replacement in ("mean", "median"):
            return Account(why=f"a tail becomes the {self.replacement} of its values")
        return Account(Effect.DATA_INDEPENDENT)

    @property
    def by_rule(self) -> bool:
        """Whether thresholds and replacements are told by the recipe alone."""
        return self.account(Schema({})).effect is Effect.DATA_INDEPENDENT

    @property
    def span(self) -> Span:
        """Cell by cell, once it is known where tails begin and what they become."""
        return Span.CELLS

    def span_in(self, schema: Schema) -> Span:
        """Cell by cell, unless thresholds are quantiles or tails become their mean or median, and
        records have weights or belong to persons or households.
        """
        counted_by_value = self.by_rule or not (schema.units or schema.columns(Role.WEIGHT))
        return Span.CELLS if counted_by_value else Span.TABLE

    def learner(self, goal: Goal, facts: object) -> Learner | None:
        """How many values lie in the tails, and how many stay; before that, how often each value
        occurs, where tails depend on it.
        """
        if facts is None and not self.by_rule:
            return _ValueCounts(self)
        return _Tails(self) if facts is None else None

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the tails and what they become."""
        require_table(dataset, self.name, self.columns)
        require_numbers(dataset, self.numbers(dataset.schema), goal, self.name)
        return _Coding(self, dataset, goal.facts, whole=goal.facts is None, fixed=goal.fixed).plan()

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the coded columns."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table with these columns is, when ``schema`` says what the original
        is.
        """
        if self.replacement != "label":
            return schema
        changed = {n: self.coded(a) for n, a in schema.attributes.items() if n in self.columns}
        return Schema({**schema.attributes, **changed})

    def coded(self, attribute: Attribute) -> Attribute:
        """What a column is once it has labels."""
        top = self.label("top")
        bottom = self.label("bottom")
        ends = [(self.top, self.top_quantile, top), (self.bottom, self.bottom_quantile, bottom)]
        # A label that holds a quantile is known only once the data were seen.
        unknown = any(text is None for value, share, text in ends if (value, share) != (None, None))
        new = None
        if not unknown:
            new = [text for text in (bottom, top) if text is not None]
        order = attribute.order
        if order is not None:
            order = (*((bottom,) if bottom else ()), *order, *((top,) if top else ()))
        return relabel_attribute(attribute, new, kind=Kind.ORDINAL, order=order)

    def label(self, end: str, threshold: str | None = None) -> str | None:
        """The label of a tail; None where there is none or where it depends on the data."""
        own_label = getattr(self, f"{end}_label")
        value = getattr(self, end)
        if threshold is not None or value is None:
            text = threshold
        else:
            text = label(value)
        if own_label is not None:
            return str(own_label)
        if text is None:
            return None
        if end == "top":
            return f"{text}+"
        return f"<={text}"


class _Coding:
    """One run of the step."""

    def __init__(
        self,
        step: TopBottomCoding,
        dataset: Table,
        facts: Mapping[str, _Tail] | None,
        *,
        whole: bool,
        fixed: bool = False,
    ) -> None:
        self.step = step
        self.dataset = dataset
        self.facts = facts
        self.fixed = fixed
        self.orders = {name: self._order(name) for name in step.columns}
        order = None if whole else np.arange(len(dataset))  # cells by themselves need no order
        self.block: Block = block_of(dataset, step.columns, (), self._read, order)
        self.counts: dict[str, dict[str, int]] = {}
        self.warnings: list[str] = []

    def _order(self, name: str) -> tuple[str, ...] | None:
        attribute = self.dataset.schema.attributes.get(name)
        return attribute.order if attribute is not None else None

    def _read(self, dataset: Table, name: str) -> Array:
        if self.orders[name] is None:
            return numbers_of(dataset, name)
        if self.step.replacement == "mean":
            raise ParameterError(
                f"top_bottom_coding: {name!r} is ordinal and has no mean; use the median or the "
                "threshold"
            )
        return ranks_of(dataset, name)

    def plan(self) -> Masked:
        coded_values = self.block.values.copy()
        columns = {}
        for j, name in enumerate(self.step.columns):
            tails = self.tails(j, name)
            if self.facts is None:
                counts = self.counted(j, tails)
            else:
                counts = dict(self.facts[name].counts)
            self._require_some(name, tails, counts)
            self.counts[name] = {end: counts[end] for end in tails}
            for end, (threshold, rows) in tails.items():
                if self.facts is not None and end in self.facts[name].values:
                    coded_values[rows, j] = self.facts[name].values[end]
                    self._warn_of_few(name, counts[end])
                    continue
                values = self.block.values[rows, j]
                weights = self.block.weights[rows]
                coded_values[rows, j] = self._replaced(name, values, weights, threshold, rows)
            columns[name] = self._column(j, name, coded_values[:, j], tails)
        coded = [name for name in self.step.columns if sum(self.counts[name].values())]
        before = self.dataset.schema.attributes
        after = {}
        if self.step.replacement == "label":
            for name in self.step.columns:
                if name in before:
                    after[name] = self.step.coded(before[name])
                    self.warnings += lost_hierarchy(name, before[name], after[name])
        return Masked(
            actions=dict.fromkeys(coded, self._words()),
            columns={name: columns[name] for name in self.step.columns},
            attributes=after,
            preserved=self._preserved(coded_values),
            warnings=tuple(self.warnings),
            public={"coded": self.counts, "replacement": self.step.replacement},
        )

    def _words(self) -> str:
        coded: Counter[str] = Counter()
        for counts in self.counts.values():
            coded.update(counts)
        ends = [end for end in ("top", "bottom") if coded[end]]
        return f"{join_words(ends)} coded ({self.step.replacement})"

    def tails(self, column_number: int, name: str) -> dict[str, tuple[float, Flags]]:
        """Per end the threshold and the rows beyond it; nothing where no value is known."""
        values = self.block.values[:, column_number]
        step = self.step
        present = ~np.isnan(values)
        if not present.any():
            return {}
        thresholds = {} if self.facts is None else self.facts[name].thresholds
        top, bottom = thresholds.get("top"), thresholds.get("bottom")
        if top is None:
            top = self._threshold(name, values, step.top, step.top_quantile)
        if bottom is None:
            bottom = self._threshold(name, values, step.bottom, step.bottom_quantile)
        tails = {}
        if bottom is not None:
            tails["bottom"] = (bottom, present & (values <= bottom))
        if top is not None:
            tails["top"] = (top, present & (values >= top))
        return tails

    def counted(self, column_number: int, tails: dict[str, tuple[float, Flags]]) -> dict[str, int]:
        """How many values there are, in the tails and between them; a row that stands for several
        counts as often.
        """
        if self.dataset.copies is None:
            copies = np.ones(len(self.dataset), dtype=np.int64)
        else:
            copies = self.dataset.copies
        present = ~np.isnan(self.block.values[:, column_number])
        groups = {end: beyond for end, (_, beyond) in tails.items()}
        is_coded = np.logical_or.reduce([np.zeros_like(present), *groups.values()])
        stays = present & ~is_coded
        # Tails may overlap where thresholds cross; that is refused later.
        groups |= {"present": present, "stays": stays}
        return {end: int(copies[self.block.order][rows].sum()) for end, rows in groups.items()}

    def _require_some(
        self, name: str, tails: dict[str, tuple[float, Flags]], counts: dict[str, int]
    ) -> None:
        """Refuse a column without values, and a coding of which nothing would stay as it is; warn
        of empty tails.
        """
        if not counts["present"] and not self.fixed:
            raise SchemaError(f"top_bottom_coding: column {name!r} has no values; drop it")
        crossed = len(tails) == 2 and tails["bottom"][0] >= tails["top"][0]
        if crossed or not (counts["stays"] or self.fixed):
            raise ParameterError(
                f"top_bottom_coding: no value of column {name!r} would stay unchanged; choose "
                "thresholds further apart"
            )
        self.warnings += [
            f"column {name!r} has no value at or beyond its {end} threshold: nothing was coded"
            for end in tails
            if not counts[end]
        ]

    def _threshold(
        self, name: str, values: Array, value: float | str | None, share: float | None
    ) -> float | None:
        if share is not None:
            return quantile_of(values, self.block.weights, share)
        if value is None:
            return None
        order = self.orders[name]
        if order is not None:
            if label(value) not in order:
                raise ParameterError(
                    f"top_bottom_coding: the order of {name!r} does not list the threshold; add it"
                )
            return float(order.index(label(value)))
        try:
            return float(value)
        except ValueError:
            raise ParameterError(
                f"top_bottom_coding: {name!r} holds numbers, so its threshold must be a number"
            ) from None

    def _replaced(
        self, name: str, tail: Array, weights: Array, threshold: float, rows: Flags
    ) -> float:
        """What the values of a tail become; where they become a label, the threshold."""
        if self.step.replacement in ("threshold", "label") or not len(tail):
            return threshold
        # Persons count, not rows: three rows of one person are one value to an intruder.
        units = units_in_order(self.dataset, self.block.order)
        if units:
            count = len(np.unique(units[-1][rows]))
        else:
            count = len(tail)
        self._warn_of_few(name, count)
        if not (weights.sum() > 0):
            weights = np.ones_like(weights)
        return self._replacement(tail, weights)

    def _warn_of_few(self, name: str, count: int) -> None:
        if self.step.replacement in ("mean", "median") and 0 < count < self.step.least:
            self.warnings.append(
                f"the {self.step.replacement} of {count} in a tail of {name!r} is released and "
                "nearly reveals them"
            )

    def _replacement(self, tail: Array, weights: Array) -> float:
        """The mean or median of a tail, whatever the order of its values."""
        if self.step.replacement == "mean":
            # Sums are exact until they are rounded once, so no order changes the last digit.
            return math.fsum(weights * tail) / math.fsum(weights)
        return quantile_of(tail, weights, 0.5)

    def facts_of_values(self, name: str, values: Array, amounts: NDArray[np.int64]) -> _Tail:
        """What is known of a column once it is known how often each of its values occurs."""
        step, weights = self.step, amounts.astype(np.float64)
        counts = {"present": int(amounts.sum()), "stays": 0}
        if not len(values):
            return _Tail(counts)
        thresholds, replaced = dict[str, float](), dict[str, float]()
        ends = {"bottom": (step.bottom, step.bottom_quantile), "top": (step.top, step.top_quantile)}
        stays = np.ones(len(values), dtype=np.bool_)
        for end, (value, share) in ends.items():
            threshold = (
                self._threshold(name, values, value, None)
                if share is None
                else quantile_of(values, weights, share)
            )
            if threshold is None:
                continue
            rows = values >= threshold if end == "top" else values <= threshold
            thresholds[end] = threshold
            counts[end] = int(amounts[rows].sum())
            stays &= ~rows
            if step.replacement in ("mean", "median") and rows.any():
                replaced[end] = self._replacement_of_counts(values[rows], amounts[rows])
        counts["stays"] = int(amounts[stays].sum())
        return _Tail(counts, thresholds, replaced)

    def _replacement_of_counts(self, values: Array, amounts: NDArray[np.int64]) -> float:
        if self.step.replacement == "median":
            return quantile_of(values, amounts.astype(np.float64), 0.5)
        # A product of a value and its count could be rounded; a sum of fractions is not.
        total = sum(
            Fraction(value) * amount
            for value, amount in zip(values.tolist(), amounts.tolist(), strict=True)
        )
        return float(total) / float(amounts.sum())

    def _column(
        self, column_number: int, name: str, coded: Array, tails: dict[str, tuple[float, Flags]]
    ) -> pl.Series:
        column = self.dataset.column(name)
        order = self.orders[name]
        if self.step.replacement != "label":
            if order is None:
                replaced = {} if self.facts is None else self.facts[name].values
                # One tail that is no whole number makes a column of fractions, in all pieces.
                whole = None if all(map(float.is_integer, replaced.values())) else False
                return column_like(name, self.block.back(coded), column, whole=whole)
            return self._ordered(column, column_number, coded)
        encoded = encode(column)
        texts = pl.Series(name, encoded.labels, dtype=pl.String).gather(encoded.codes)
        for end, (threshold, rows) in tails.items():
            if order is None:
                threshold_text = label(threshold)
            else:
                threshold_text = order[int(threshold)]
            text = self.step.label(end, threshold_text)
            is_coded = self.block.back(rows.astype(float)) > 0
            texts = texts.set(pl.Series(is_coded), text)
        return texts

    def _ordered(self, column: pl.Series, column_number: int, coded: Array) -> pl.Series:
        """Listed values by rank: those of the column itself, or the threshold's own label where
        nobody has it.
        """
        ranks = self.block.values[:, column_number]
        if np.isin(coded[~np.isnan(coded)], ranks).all():
            return values_at(column, self.block.back(ranks), self.block.back(coded))
        listed_order = self.orders[column.name] or ()
        order = pl.Series([*listed_order, None], dtype=pl.String)
        positions = np.where(np.isnan(coded), len(order) - 1, coded)
        return order.gather(positions.astype(np.int64)).alias(column.name)

    def _preserved(self, coded_values: Array) -> tuple[Preserved, ...]:
        names = self.block.names
        preserved: tuple[Preserved, ...] = (
            Preserved("values between the thresholds", names, True, 0.0),
        )
        if self.step.replacement == "label":
            return preserved
        preserved = (*preserved, Preserved("order", names, True, 0.0))
        if self.step.replacement == "mean":
            preserved_numbers = KeptNumbers(self.block, coded_values)
            return (
                *preserved,
                preserved_numbers.means(exactly=True),
                preserved_numbers.sums(exactly=True),
                preserved_numbers.variances(),
            )
        ordinal = any(order is not None for order in self.orders.values())
        if ordinal:
            return preserved
        return (*preserved, KeptNumbers(self.block, coded_values).means())


@dataclasses.dataclass(frozen=True)
class _Tail:
    """How many values of a column are present, stay and lie in each tail; where the tails begin and
    what they become, where that depends on the values.
    """

    counts: Mapping[str, int]
    thresholds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    values: Mapping[str, float] = dataclasses.field(default_factory=dict)


class _Tails:
    """Counts the values of every column in its tails and between them."""

    def __init__(self, step: TopBottomCoding) -> None:
        self.step = step
        kinds = ("present", "stays", "bottom", "top")
        self.counts: dict[str, dict[str, int]] = {
            name: dict.fromkeys(kinds, 0) for name in step.columns
        }

    def see(self, rows: Table) -> None:
        """Count in some rows."""
        coding = _Coding(self.step, rows, None, whole=False)
        for j, (name, counts) in enumerate(self.counts.items()):
            for kind, count in coding.counted(j, coding.tails(j, name)).items():
                counts[kind] += count

    def learnt(self) -> dict[str, _Tail]:
        """The counts."""
        return {name: _Tail(counts) for name, counts in self.counts.items()}


MOST_VALUES = 20_000_000
"""Distinct values of a column that are held to find quantiles: a third of a gigabyte."""


class _ValueCounts:
    """Counts how often each value of every column occurs."""

    def __init__(self, step: TopBottomCoding) -> None:
        self.step = step
        self.counts: dict[str, pl.DataFrame] = {}
        self.coding: _Coding | None = None

    def see(self, rows: Table) -> None:
        """Count in some rows."""
        self.coding = _Coding(self.step, rows, None, whole=False)
        copies = np.ones(len(rows), dtype=np.int64) if rows.copies is None else rows.copies
        amounts = copies[self.coding.block.order]
        for j, name in enumerate(self.step.columns):
            values = self.coding.block.values[:, j] + 0.0
            present = ~np.isnan(values)
            fresh = pl.DataFrame({"value": values[present], "amount": amounts[present]})
            merged = pl.concat([self.counts[name], fresh]) if name in self.counts else fresh
            self.counts[name] = merged.group_by("value").agg(pl.col("amount").sum())
            if self.counts[name].height > MOST_VALUES:
                raise SchemaError(
                    f"top_bottom_coding: column {name!r} has more than {MOST_VALUES:,} distinct "
                    "values; round it first, or give thresholds as values"
                )

    def learnt(self) -> dict[str, _Tail]:
        """Where tails begin, what they become, and how many values lie there."""
        facts = dict[str, _Tail]()
        for name in self.step.columns:
            if self.coding is None:  # no rows came by
                facts[name] = _Tail({"present": 0, "stays": 0})
                continue
            counts = self.counts[name].sort("value")
            values, amounts = counts["value"].to_numpy(), counts["amount"].to_numpy()
            facts[name] = self.coding.facts_of_values(name, values, amounts)
        return facts
