"""Recoding by rule: categories are joined, numbers are cut into ranges, as the owner says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import AfterValidator, BeforeValidator, Field

from sfumato.core.encoding import label, numbers_of
from sfumato.core.parameters import parameters
from sfumato.core.ranges import number
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
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.block import require_numbers
from sfumato.methods.steps.masking.masking_fields import Names, require_table

if TYPE_CHECKING:
    from sfumato.core.table import Table


# What a column is once its values were replaced by labels.


def relabel_attribute(
    attribute: Attribute, labels: Sequence[str] | None, **changes: Any
) -> Attribute:
    """The attribute with some fields changed; its hierarchy goes unless it knows all the new
    labels.

    ``labels`` None means that they are not known beforehand.
    """
    hierarchy = attribute.hierarchy
    if hierarchy is not None and (labels is None or not _knows(hierarchy, labels)):
        hierarchy = None
    return dataclasses.replace(attribute, hierarchy=hierarchy, **changes)


def lost_hierarchy(name: str, before: Attribute, after: Attribute) -> list[str]:
    """A warning where a column has no hierarchy any more."""
    if before.hierarchy is None or after.hierarchy is not None:
        return []
    return [
        (
            f"the hierarchy of {name!r} does not know the new labels, so later steps cannot "
            "generalise the column"
        )
    ]


def _knows(hierarchy: Any, labels: Sequence[str]) -> bool:
    try:
        hierarchy.paths(list(labels), [1] * len(labels))
    except SchemaError:
        return False
    return True


def _as_labels(mapping: object) -> Any:
    """Keys and values as the text under which a column's values are known: 1 and 1.0 are ``1``."""
    if not isinstance(mapping, Mapping):
        return mapping
    if any(
        part is None or (isinstance(part, Mapping | Sequence) and not isinstance(part, str))
        for p in mapping.items()
        for part in p
    ):
        raise ValueError("must map values to values; a missing value stays missing")
    return {label(old): label(new) for old, new in mapping.items()}


def _ascending(breaks: Sequence[float]) -> tuple[float, ...]:
    if any(b <= a for a, b in pairwise(breaks)):
        raise ValueError("must ascend")
    return tuple(breaks)


Mapped = Annotated[dict[str, str], BeforeValidator(_as_labels), Field(min_length=1)]
Breaks = Annotated[
    Sequence[Annotated[float, Field(allow_inf_nan=False)]],
    Field(min_length=1),
    AfterValidator(_ascending),
]


@parameters
class Recode(ColumnStep):
    r"""Replace values by coarser ones: categories by a mapping, numbers by ranges between breaks.

    ``mapping`` says for every value what it becomes. A value that it does not name is an ``error``
    (missing, where a step of the recipe accounts for an ε: an error would tell of a record), is
    ``keep`` kept as it is, or becomes ``other`` (its label is the field ``other``). A mapping that
    joins no two values that occur protects nothing, and a warning says so.

    ``breaks`` :math:`b_1 < \dots < b_m` make ranges: ``<b₁``, ``[b₁, b₂)``, …, ``>=bₘ``, written as
    the hierarchy of intervals reads them. A break belongs to the range above it.

    The same rule holds for every record (global recoding), so the counts of the new values are
    those of the old ones added up. Missing values stay missing. A column with an order keeps the
    new values in order if every one stands for neighbours; otherwise it is nominal. Numbers that
    are mapped to numbers stay numbers. A hierarchy is kept if it knows all new values. The mapping
    names data values: it stays with the owner.

    Reference: Hundepool et al. 2012, doi:10.1002/9781118348239, section 3.4 (global recoding).

    >>> from sfumato import examples
    >>> from sfumato.core.step import Account, Declaration, Effect, Goal
    >>> people, step = examples.students(), Recode(["age"], breaks=[20, 22])
    >>> released = step.apply(people, step.plan(people, Goal()))
    >>> sorted(set(released.column("age").to_list()))
    ['<20', '>=22', '[20, 22)']
    """

    columns: Annotated[Names, Field(description="columns that are recoded, all by the same rule")]
    mapping: Annotated[
        Mapped | None, Field(description="what every value becomes; stays with the owner")
    ] = None
    breaks: Annotated[
        Breaks | None, Field(description="limits of ranges of numbers, ascending")
    ] = None
    unmapped: Annotated[
        Literal["error", "keep", "other"],
        Field(description="what happens to values that the mapping does not name"),
    ] = "error"
    other: Annotated[str, Field(min_length=1, description="label for unmapped: other")] = "other"

    name: ClassVar[str] = "recode"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.DATA_INDEPENDENT, "with breaks, or a mapping to words that keeps no value"
    )
    secret: ClassVar[tuple[str, ...]] = ("mapping",)

    @property
    def coarsens(self) -> bool:
        """The same value becomes the same coarser one for everybody."""
        return True

    def __post_init__(self) -> None:
        if (self.mapping is None) == (self.breaks is None):
            raise ParameterError("Recode: give either mapping or breaks")
        if self.breaks is not None and self.unmapped != "error":
            raise ParameterError(
                "Recode: unmapped is for a mapping; breaks cover all values, so leave it out"
            )
        if self.unmapped != "other" and self.other != "other":
            raise ParameterError("Recode: other is for unmapped: other")

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """Its columns, where they are cut into ranges."""
        if self.breaks is None:
            return ()
        return tuple(self.columns)

    def account(self, schema: Schema) -> Account:
        """A rule for every value by itself, unless kept values or new numbers make all others text
        or not.
        """
        new = [*(self.mapping or {}).values(), *([self.other] if self.unmapped == "other" else [])]
        if self.breaks is None and (
            self.unmapped == "keep" or any(number(text) is not None for text in new)
        ):
            return Account(why="whether the column stays numeric depends on all values that occur")
        return Account(Effect.DATA_INDEPENDENT)

    @property
    def span(self) -> Span:
        """Cell by cell, once it is known which values occur."""
        return Span.CELLS

    def learner(self, goal: Goal, facts: object) -> Learner | None:
        """Which values occur, or which ranges have any."""
        return _Occurring(self) if facts is None else None

    def occurring(self, dataset: Table, name: str) -> set[str]:
        """The values of a column, or the ranges they lie in."""
        if self.breaks is None:
            return {text for text in dataset.encoded(name).labels if text is not None}
        return set(self._cut(dataset, name).drop_nulls().unique().to_list())

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Recode the columns."""
        require_table(dataset, self.name, self.columns)
        if self.breaks is not None:
            require_numbers(dataset, self.columns, goal, self.name)
        facts: dict[str, set[str]] = self.facts(dataset, goal)
        columns, warnings = {}, []
        for name in self.columns:
            if self.breaks is not None:
                columns[name] = self._cut(dataset, name)
                continue
            columns[name] = self._mapped(dataset, name, facts[name], fixed=goal.fixed)
            warnings += self._remarks(name, facts[name])
        before = dataset.schema.attributes
        after = {name: self.recoded(before[name]) for name in self.columns if name in before}
        for name, attribute in after.items():
            warnings += lost_hierarchy(name, before[name], attribute)
        preserved = [
            Preserved("counts, summed over joined values,", tuple(self.columns), True, 0.0)
        ]
        if self.breaks is not None:
            preserved.append(Preserved("order", tuple(self.columns), True, 0.0))
        words = "recoded into ranges" if self.breaks is not None else "recoded by a mapping"
        values_after = {
            name: self._after(columns[name], facts[name], goal) for name in self.columns
        }
        return Masked(
            actions=dict.fromkeys(self.columns, words),
            columns=columns,
            attributes=after,
            preserved=tuple(preserved),
            warnings=tuple(warnings),
            public={"values_after": values_after},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the recoded columns."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table with these columns is, when ``schema`` says what the original
        is.
        """
        changed = {n: self.recoded(a) for n, a in schema.attributes.items() if n in self.columns}
        return Schema({**schema.attributes, **changed})

    @property
    def ranges(self) -> tuple[str, ...]:
        """Labels of the ranges, ascending."""
        texts = [label(float(b)) for b in self.breaks or ()]
        between = [f"[{a}, {b})" for a, b in pairwise(texts)]
        return (f"<{texts[0]}", *between, f">={texts[-1]}")

    def recoded(self, attribute: Attribute) -> Attribute:
        """What a column is once it was recoded."""
        if self.breaks is not None:
            return relabel_attribute(attribute, self.ranges, kind=Kind.ORDINAL, order=self.ranges)
        mapping = self.mapping or {}
        new = {*mapping.values(), *([self.other] if self.unmapped == "other" else [])}
        if attribute.order is not None:
            order = self._order(attribute.order)
            return relabel_attribute(
                attribute,
                sorted(new),
                kind=Kind.NOMINAL if order is None else Kind.ORDINAL,
                order=order,
            )
        stays = attribute.kind is not Kind.NUMERIC or all(number(text) is not None for text in new)
        return relabel_attribute(
            attribute, sorted(new), kind=attribute.kind if stays else Kind.NOMINAL
        )

    def _order(self, order: Sequence[str]) -> tuple[str, ...] | None:
        """The new values in order, or None where one stands for values that are no neighbours."""
        mapping = self.mapping or {}
        fallback = {"keep": None, "other": self.other, "error": None}[self.unmapped]
        new = [mapping.get(old, old if fallback is None else fallback) for old in order]
        runs = [text for i, text in enumerate(new) if i == 0 or new[i - 1] != text]
        if len(set(runs)) == len(runs):
            return tuple(runs)
        return None

    def _after(self, recoded: pl.Series, occurring: set[str], goal: Goal) -> int:
        """How many values there are in the whole table afterwards."""
        if goal.facts is None:
            return recoded.drop_nulls().n_unique()
        return len(
            occurring if self.breaks is not None else {self._new(text) for text in occurring}
        )

    def _new(self, old: str) -> str:
        """What a value becomes."""
        return (self.mapping or {}).get(old, self.other if self.unmapped == "other" else old)

    def _cut(self, dataset: Table, name: str) -> pl.Series:
        values = numbers_of(dataset, name)
        bin_numbers = np.searchsorted(np.array(self.breaks), values, side="right")
        bin_numbers[np.isnan(values)] = len(self.ranges)
        texts = pl.Series(name, [*self.ranges, None], dtype=pl.String)
        return texts.gather(bin_numbers)

    def _mapped(self, dataset: Table, name: str, occurring: set[str], *, fixed: bool) -> pl.Series:
        encoded = dataset.encoded(name)
        new = [None if text is None else self._new(text) for text in encoded.labels]
        if fixed:  # no record decides whether this is an error, or numbers
            if self.unmapped == "error":
                new = []
                for text in encoded.labels:
                    if text is None:
                        new.append(None)
                    else:
                        new.append((self.mapping or {}).get(text))
            return pl.Series(name, new, dtype=pl.String).gather(encoded.codes)
        unmapped_values = occurring - set(self.mapping or {})
        if unmapped_values and self.unmapped == "error":
            raise SchemaError(
                f"recode: column {name!r} has {len(unmapped_values):,} value(s) that the mapping"
                " does not name; name them, or say unmapped: keep or other"
            )
        return _as_before(
            pl.Series(name, new, dtype=pl.String).gather(encoded.codes),
            dataset.column(name),
            {self._new(text) for text in occurring},
        )

    def _remarks(self, name: str, occurring: set[str]) -> list[str]:
        joined = len({self._new(text) for text in occurring}) < len(occurring)
        if joined:
            warnings = []
        else:
            warnings = [f"the mapping joins no values of {name!r}: new names alone protect nobody"]
        absent = len(set(self.mapping or {}) - occurring)
        return warnings + (
            [f"{absent:,} value(s) that the mapping names do not occur in {name!r}"]
            if absent
            else []
        )


class _Occurring:
    """Collects which values occur."""

    def __init__(self, step: Recode) -> None:
        self.step = step
        self.seen: dict[str, set[str]] = {name: set() for name in step.columns}

    def see(self, rows: Table) -> None:
        """Look at some rows."""
        rows.require(self.step.columns)
        for name, values in self.seen.items():
            values.update(self.step.occurring(rows, name))

    def learnt(self) -> dict[str, set[str]]:
        """The values of every column."""
        return self.seen


def _as_before(recoded: pl.Series, column: pl.Series, occurring: set[str]) -> pl.Series:
    """Text as numbers again where the column held numbers and all new values that occur anywhere in
    the table are some: rows in pieces must not end as text in one and as numbers in another.
    """
    if not column.dtype.is_numeric() or any(number(text) is None for text in occurring):
        return recoded
    numbers = recoded.cast(pl.Float64)
    new = pl.Series(sorted(occurring), dtype=pl.String).cast(pl.Float64)
    whole = column.dtype.is_integer() and bool((new == new.round(0)).all())
    return numbers.cast(pl.Int64) if whole else numbers
