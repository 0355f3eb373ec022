"""Top and bottom coding: the extremes are joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from sfumato import kernels
from sfumato.core.encoding import encode, label, numbers_of
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Marks, canonical_order
from sfumato.core.schema import Attribute, Kind, Schema
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
    Names,
    block_of,
    column_like,
    ranks_of,
    require_numbers,
    require_table,
    units_in_order,
    values_at,
)
from sfumato.methods.steps.masking.recode import lost_hierarchy, relabelled
from sfumato.methods.steps.preserved_moments import KeptNumbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

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
    position = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12)))
    return float(values[order[min(position, len(order) - 1)]])


if TYPE_CHECKING:
    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

Replacement = Literal["threshold", "mean", "median", "label"]
Threshold = Annotated[float, Field(allow_inf_nan=False)] | str


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
    exactly. A mean or median of fewer than ``least`` persons (records, without persons) gives away
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
        int, Field(ge=1, description="fewer in a tail than this: its mean or median is warned of")
    ] = 3

    name: ClassVar[str] = "top_bottom_coding"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.DATA_INDEPENDENT, "with thresholds as values, and replacement threshold or label"
    )

    def __post_init__(self) -> None:
        upper, lower = (self.top, self.top_quantile), (self.bottom, self.bottom_quantile)
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
            return Account(why="quantiles are found in the data")
        if self.replacement in ("mean", "median"):
            return Account(why=f"a tail becomes the {self.replacement} of its values")
        return Account(Effect.DATA_INDEPENDENT)

    @property
    def span(self) -> Span:
        """Cell by cell, unless thresholds are quantiles or tails become their mean or median."""
        return (
            Span.CELLS if self.account(Schema({})).effect is Effect.DATA_INDEPENDENT else Span.TABLE
        )

    def learner(self, goal: Goal, facts: Any) -> Learner | None:
        """How many values lie in the tails, and how many stay."""
        return _Tails(self) if facts is None and self.span is Span.CELLS else None

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
        top, bottom = self.label("top"), self.label("bottom")
        ends = [(self.top, self.top_quantile, top), (self.bottom, self.bottom_quantile, bottom)]
        unknown = any(text is None for value, share, text in ends if (value, share) != (None, None))
        new = None if unknown else [text for text in (bottom, top) if text is not None]
        order = attribute.order
        if order is not None:
            order = (*((bottom,) if bottom else ()), *order, *((top,) if top else ()))
        return relabelled(attribute, new, kind=Kind.ORDINAL, order=order)

    def label(self, end: str, threshold: str | None = None) -> str | None:
        """The label of a tail; None where there is none or where it depends on the data."""
        own_label, value = getattr(self, f"{end}_label"), getattr(self, end)
        text = threshold if threshold is not None or value is None else label(value)
        if own_label is not None or text is None:
            return str(own_label) if own_label is not None else None
        return f"{text}+" if end == "top" else f"<={text}"


class _Coding:
    """One run of the step."""

    def __init__(
        self,
        step: TopBottomCoding,
        dataset: Table,
        facts: dict[str, dict[str, int]] | None,
        *,
        whole: bool,
        fixed: bool = False,
    ) -> None:
        self.step, self.dataset, self.facts, self.fixed = step, dataset, facts, fixed
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
                f"top_bottom_coding: {name!r} is ordinal and has no mean; take the median or the"
                " threshold"
            )
        return ranks_of(dataset, name)

    def plan(self) -> Masked:
        coded_values, columns = self.block.values.copy(), {}
        for j, name in enumerate(self.step.columns):
            tails = self.tails(j, name)
            counts = self.counted(j, tails) if self.facts is None else self.facts[name]
            self._require_some(name, tails, counts)
            self.counts[name] = {end: counts[end] for end in tails}
            for threshold, rows in tails.values():
                coded_values[rows, j] = self._replaced(
                    name, self.block.values[rows, j], self.block.weights[rows], threshold, rows
                )
            columns[name] = self._column(j, name, coded_values[:, j], tails)
        coded = [name for name in self.step.columns if sum(self.counts[name].values())]
        before = self.dataset.schema.attributes
        labelled = [
            n for n in self.step.columns if self.step.replacement == "label" and n in before
        ]
        after = {name: self.step.coded(before[name]) for name in labelled}
        self.warnings += [
            words for name in labelled for words in lost_hierarchy(name, before[name], after[name])
        ]
        return Masked(
            actions=dict.fromkeys(coded, self._words()),
            columns={name: columns[name] for name in self.step.columns},
            attributes=after,
            preserved=self._preserved(coded_values),
            warnings=tuple(self.warnings),
            public={"coded": self.counts, "replacement": self.step.replacement},
        )

    def _words(self) -> str:
        ends = [
            end
            for end in ("top", "bottom")
            if any(count.get(end) for count in self.counts.values())
        ]
        return f"{join_words(ends)} coded ({self.step.replacement})"

    def tails(self, column_number: int, name: str) -> dict[str, tuple[float, Flags]]:
        """Per end the threshold and the rows beyond it; nothing where no value is known."""
        values, step = self.block.values[:, column_number], self.step
        present = ~np.isnan(values)
        if not present.any():
            return {}
        top = self._threshold(name, values, step.top, step.top_quantile)
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
        copies = (
            np.ones(len(self.dataset), dtype=np.int64)
            if self.dataset.copies is None
            else self.dataset.copies
        )
        present = ~np.isnan(self.block.values[:, column_number])
        groups = {end: beyond for end, (_, beyond) in tails.items()}
        stays = present & ~np.logical_or.reduce([np.zeros_like(present), *groups.values()])
        groups |= {"present": present, "stays": stays}
        return {end: int(copies[self.block.order][rows].sum()) for end, rows in groups.items()}

    def _require_some(
        self, name: str, tails: dict[str, tuple[float, Flags]], counts: dict[str, int]
    ) -> None:
        """Refuse a column without values, and a coding of which nothing would stay as it is; warn
        of empty tails.
        """
        if not counts["present"] and not self.fixed:
            raise SchemaError(f"top_bottom_coding: column {name!r} has no values at all")
        low, high = (tails[end][0] if end in tails else None for end in ("bottom", "top"))
        if (low is not None and high is not None and low >= high) or not (
            counts["stays"] or self.fixed
        ):
            raise ParameterError(
                f"top_bottom_coding: nothing of column {name!r} would stay as it is; choose"
                " thresholds further apart"
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
                    f"top_bottom_coding: the order of {name!r} does not list the threshold"
                )
            return float(order.index(label(value)))
        try:
            return float(value)
        except ValueError:
            raise ParameterError(
                f"top_bottom_coding: {name!r} holds numbers, its threshold must be one"
            ) from None

    def _replaced(
        self, name: str, tail: Array, weights: Array, threshold: float, rows: Flags
    ) -> float:
        """What the values of a tail become; where they become a label, the threshold."""
        if self.step.replacement in ("threshold", "label") or not len(tail):
            return threshold
        units = units_in_order(self.dataset, self.block.order)
        count = len(np.unique(units[-1][rows])) if units else len(tail)
        if count < self.step.least:
            self.warnings.append(
                f"the {self.step.replacement} of {count} in a tail of {name!r} is released: it"
                " tells almost what they are"
            )
        weights = weights if weights.sum() > 0 else np.ones_like(weights)
        return (
            float(weights @ tail / weights.sum())
            if self.step.replacement == "mean"
            else quantile_of(tail, weights, 0.5)
        )

    def _column(
        self, column_number: int, name: str, coded: Array, tails: dict[str, tuple[float, Flags]]
    ) -> pl.Series:
        column, order = self.dataset.column(name), self.orders[name]
        if self.step.replacement != "label":
            if order is None:
                return column_like(name, self.block.back(coded), column)
            return self._ordered(column, column_number, coded)
        encoded = encode(column)
        texts = pl.Series(name, encoded.labels, dtype=pl.String).gather(encoded.codes)
        for end, (threshold, rows) in tails.items():
            text = self.step.label(
                end, label(threshold) if order is None else order[int(threshold)]
            )
            texts = texts.set(pl.Series(self.block.back(rows.astype(float)) > 0), text)
        return texts

    def _ordered(self, column: pl.Series, column_number: int, coded: Array) -> pl.Series:
        """Listed values by rank: those of the column itself, or the threshold's own label where
        nobody has it.
        """
        ranks = self.block.values[:, column_number]
        if np.isin(coded[~np.isnan(coded)], ranks).all():
            return values_at(column, self.block.back(ranks), self.block.back(coded))
        order = pl.Series([*(self.orders[column.name] or ()), None], dtype=pl.String)
        return order.gather(
            np.where(np.isnan(coded), len(order) - 1, coded).astype(np.int64)
        ).alias(column.name)

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
        return preserved if ordinal else (*preserved, KeptNumbers(self.block, coded_values).means())


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

    def learnt(self) -> dict[str, dict[str, int]]:
        """The counts."""
        return self.counts


# Rounding: numbers become multiples of a base.


@parameters
class Round(ColumnStep):
    r"""Round numbers to multiples of a base *b*.

    With :math:`x = (i + f)\,b`, *i* whole and :math:`0 \le f < 1`:

    ``deterministic``: the nearest multiple, the upper one for :math:`f = 1/2`. ``random``: the
    upper neighbour with probability *f*, so that the expected value is *x*; rows of one person
    (household) with one value get one draw. ``controlled``: each value goes to one of its two
    neighbours, with the same probabilities, and so that totals go to one of their own neighbours:
    those of every column and, where several columns are named, those of every row (the sum of its
    named columns) and of all together, in every stratum. Values and totals that are multiples
    already stay. Name columns together only if they add up to something. Totals are plain sums,
    without weights.

    Controlled rounding follows Cox: a row and a column are added that make all totals multiples,
    and cells are moved up and down along circles of cells until each is a multiple, at random so
    that expected values stay. The work grows with rows × columns³, not with a linear programme.

    No value moves by *b* or more (half of *b*: deterministic). Missing values stay missing.
    Rounding small counts of a table that is published with its totals calls for ``controlled``;
    deterministic rounding can be undone from exact totals.

    Reference: Cox 1987, *A constructive procedure for unbiased controlled rounding*,
    doi:10.1080/01621459.1987.10478456.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Account, Declaration, Effect, Goal
    >>> table = Table(pl.DataFrame({"men": [1, 3, 11], "women": [4, 2, 9]}))
    >>> plan = Round(["men", "women"], 5, method="controlled").plan(table, Goal(seed=Seed(1)))
    >>> plan.columns["men"].sum(), plan.columns["women"].sum()
    (15, 15)
    """

    columns: Annotated[Names, Field(description="columns that are rounded")]
    base: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="what the values become multiples of")
    ]
    method: Annotated[
        Literal["deterministic", "random", "controlled"],
        Field(description="which neighbour a value becomes"),
    ] = "deterministic"
    within: Annotated[
        Names | None, Field(description="columns that make the strata; None: those with that role")
    ] = None

    name: ClassVar[str] = "round"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.DATA_INDEPENDENT, "with method deterministic"
    )

    @property
    def span(self) -> Span:
        """Number by number, unless totals are controlled."""
        spans = {"deterministic": Span.CELLS, "random": Span.RECORDS, "controlled": Span.TABLE}
        return spans[self.method]

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """All of its columns."""
        return tuple(self.columns)

    def account(self, schema: Schema) -> Account:
        """A rule for every value by itself, unless totals or coins are shared between records."""
        if self.method != "deterministic":
            return Account(why=f"method {self.method} draws for records together")
        return Account(Effect.DATA_INDEPENDENT)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Round the columns."""
        require_table(dataset, self.name, [*self.columns, *(self.within or ())])
        require_numbers(dataset, self.columns, goal, self.name)
        order = canonical_order(dataset) if self.method == "controlled" else Marks.of(dataset).order
        block = block_of(dataset, self.columns, self.within, order=order)
        below, fractions = _split(block.values, self.base)
        up = self._up(block, fractions, goal)
        rounded_values = _multiples(below + up, self.base)
        changed = np.abs(rounded_values - block.values) > 1e-9 * self.base
        unchanged = [
            n for n, is_changed in zip(self.columns, changed.T, strict=True) if not is_changed.any()
        ]
        return Masked(
            actions=dict.fromkeys(
                self.columns, f"rounded to multiples of {self.base:g} ({self.method})"
            ),
            columns={
                n: column_like(n, block.back(rounded_values[:, j]), dataset.column(n))
                for j, n in enumerate(self.columns)
            },
            preserved=self._preserved(block, rounded_values),
            warnings=tuple(
                f"column {n!r} has multiples of the base only: rounding changed nothing"
                for n in unchanged
            ),
            public={"base": self.base, "method": self.method},
            owner={"cells_changed": int(changed.sum())},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the rounded columns."""
        return plan.applied(dataset)

    def _up(self, block: Block, fractions: Array, goal: Goal) -> Array:
        """1 where a value goes to its upper neighbour, otherwise 0."""
        if self.method == "deterministic":
            return (fractions >= 0.5).astype(np.float64)
        if self.method == "random":
            return np.stack(
                [_draw_up(block, j, fractions[:, j], goal) for j in range(len(self.columns))],
                axis=1,
            )
        steps_up = np.zeros_like(fractions)
        stream = goal.stream("controlled rounding")
        for rows in block.parts():
            steps_up[rows] = controlled_ups(fractions[rows], stream)
        return steps_up

    def _preserved(self, block: Block, rounded_values: Array) -> tuple[Preserved, ...]:
        preserved_numbers = KeptNumbers(block, rounded_values)
        if self.method == "deterministic":
            return preserved_numbers.exact("order"), preserved_numbers.means()
        if self.method == "random":
            return preserved_numbers.means(), preserved_numbers.sums()
        totals = [
            np.abs(np.nansum(rounded_values[rows] - block.values[rows], axis=0)).max()
            for rows in block.parts()
        ]
        words = f"totals, to the next multiple of {self.base:g},"
        return (
            Preserved(
                words, block.names, bool(max(totals) < self.base), float(max(totals) / self.base)
            ),
            preserved_numbers.means(),
        )


def _split(values: Array, base: float) -> tuple[Array, Array]:
    """Per value the multiple below and the fraction up to the next; what is a multiple but for
    rounding errors is one.
    """
    scaled = values / base
    whole = np.rint(scaled)
    scaled = np.where(
        np.abs(scaled - whole) <= 1e-9 * np.maximum(1.0, np.abs(whole)), whole, scaled
    )
    below = np.floor(scaled)
    return below, np.nan_to_num(scaled - below)


def _multiples(counts: Array, base: float) -> Array:
    """So many times the base; a base like 0.1 is divided by ten, which is exact where a product is
    not.
    """
    inverse = round(1 / base)
    return counts / inverse if inverse and abs(inverse * base - 1) < 1e-12 else counts * base


def _draw_up(block: Block, column_number: int, fractions: Array, goal: Goal) -> Array:
    draws = goal.keyed(f"round {block.names[column_number]}").uniforms(block.marks[column_number])
    return (draws < fractions).astype(np.float64)


def controlled_ups(fractions: Array, stream: np.random.Generator) -> Array:
    """Which fractions of a table go up, so that sums of rows, of columns and of all go to a whole
    neighbour.

    >>> import numpy as np
    >>> ups = controlled_ups(np.full((4, 2), 0.5), np.random.default_rng(1))
    >>> ups.sum(axis=0).tolist(), ups.sum(axis=1).tolist()
    ([2.0, 2.0], [1.0, 1.0, 1.0, 1.0])
    """
    table = np.zeros((fractions.shape[0] + 1, fractions.shape[1] + 1))
    table[:-1, :-1] = fractions
    table[:-1, -1] = _missing_to_whole(fractions.sum(axis=1))
    table[-1] = _missing_to_whole(table[:-1].sum(axis=0))
    result = np.zeros_like(table)
    kernels.rounding.round_table(table, stream.random(table.size), result)
    return result[:-1, :-1]


def _missing_to_whole(sums: Array) -> Array:
    shortfall = np.ceil(sums) - sums
    return np.where(shortfall > 1 - 1e-9, 0.0, shortfall)
