"""Hiding association rules in a table: cells are suppressed until none of the named rules is
found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import AfterValidator, BeforeValidator, Field

from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.schema import Missing, Schema
from sfumato.core.step import Goal, Masked, Step
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.named_rules import (
    Confidence,
    NamedRule,
    Spoken,
    Support,
    TableItems,
    all_parsed,
    item_columns,
    require_columns,
)
from sfumato.methods.formulas.rule_hiding import EFFORT, Hidden, hide, warnings_of
from sfumato.methods.formulas.rules import LARGEST_RULE, Thresholds, side_effects

if TYPE_CHECKING:
    from sfumato.core.schema import Attribute
    from sfumato.core.table import Table


def _true_to_the_data(method: object) -> Any:
    if method == "isl":
        raise ValueError(
            "isl adds items to records, which in a table would be false values; use dsr, 2a or "
            "exact (isl is for baskets)"
        )
    return method


@parameters
class HideRules(Step):
    r"""Suppress cells until none of the named association rules is found, with few side effects on
    the other rules.

    Rules, ``support`` σ and ``confidence`` κ are those of the promise ``hidden_rules``: a
    rule :math:`X \to Y` is hidden once
    :math:`s(X \cup Y) < \sigma` or :math:`s(X \cup Y) < \kappa\, s(X)`.

    ``dsr`` suppresses the most frequent value of the right side in as many records as it needs,
    :math:`\min(s - \sigma, s - \lceil \kappa\, s(X) \rceil) + 1`, those with fewest values first.
    ``2a`` suppresses the most frequent value of the whole rule in one record after the other.
    ``exact`` solves an integer program: the fewest other rules are lost or appear, and among such
    ways the fewest cells are suppressed; ``effort`` (nodes of a branch and bound) stops it, and
    then the plan tells the proved bound instead of calling it optimal. It is meant for small
    tables. ISL, which adds items, would write untrue values and is refused here.

    A suppressed cell is released as missing; in a quasi-identifier missing values then count as
    wildcards, as after cell suppression. Side effects are counted among the rules of at most
    ``largest`` items in the columns ``among`` (all categories that are no identifiers, if not said)
    and those of the rules. Which records are hit depends on what they say, not on their order.
    Rules tell what must not be known: they stay with the owner.

    References: Verykios et al. 2004, doi:10.1109/TKDE.2004.1269668; Wang, Parikh & Jafari 2007,
    doi:10.1016/j.eswa.2006.05.022; Gkoulalas-Divanis & Verykios 2006, doi:10.1145/1183614.1183721.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> plan = HideRules("zip -> sex", support=2, confidence=0.9).plan(examples.patients(), Goal())
    >>> plan.public["suppressed_cells"]
    {'sex': 2}
    """

    rules: Spoken
    support: Support
    confidence: Confidence
    method: Annotated[
        Literal["dsr", "2a", "exact"],
        BeforeValidator(_true_to_the_data),
        Field(description="how cells are chosen"),
    ] = "dsr"
    among: Annotated[
        Sequence[str] | None,
        AfterValidator(lambda names: None if names is None else tuple(names)),
        COLUMNS,
        Field(
            description=(
                "columns whose other rules are counted, and preserved by exact; by default all "
                "categories"
            )
        ),
    ] = None
    largest: Annotated[
        int, Field(ge=2, le=6, description="most items of a rule that is counted")
    ] = LARGEST_RULE
    effort: Annotated[
        int | None, Field(ge=1, description="most nodes of branch and bound; exact only")
    ] = None

    name: ClassVar[str] = "hide_rules"
    secret: ClassVar[tuple[str, ...]] = ("rules",)

    def __post_init__(self) -> None:
        if self.effort is not None and self.method != "exact":
            raise ParameterError("HideRules: effort is for the method exact; leave it out")

    @property
    def parsed(self) -> tuple[NamedRule, ...]:
        """The rules, read."""
        return all_parsed(self.rules)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Choose the cells."""
        if not len(dataset):
            raise SchemaError(f"hide_rules: {dataset.source.name} has no rows")
        if dataset.copies is not None:
            raise SchemaError("hide_rules works on records, not on a table of counts")
        require_columns(self.name, self.parsed, dataset.schema)
        dataset.require(self.among or ())
        table = TableItems.of(dataset, item_columns(dataset.schema, self.parsed, self.among))
        thresholds = Thresholds.of(self.support, self.confidence)
        sensitive = table.meant(self.parsed, thresholds)
        hidden = hide(
            table.transactions,
            sensitive,
            thresholds,
            self.method,
            largest=self.largest,
            effort=self.effort or EFFORT,
            progress=goal.progress,
        )
        effects = side_effects(
            table.transactions, hidden.transactions, sensitive, thresholds, self.largest
        )
        columns = _suppress_cells(dataset, table, hidden)
        amounts = {}
        for name, series in columns.items():
            amounts[name] = series.null_count() - dataset.column(name).null_count()
        attributes = {
            name: _with_gaps(dataset.schema[name]) for name in self._may_empty(dataset.schema)
        }
        return Masked(
            actions=dict.fromkeys(columns, "cells suppressed to hide rules"),
            columns=columns,
            attributes=attributes,
            warnings=warnings_of(hidden, effects),
            public={"method": self.method, "suppressed_cells": amounts},
            owner={"side_effects": effects.counts} | hidden.proved,
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the table without these cells."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table with these columns is: missing values of quasi-identifiers in the
        rules are wildcards.
        """
        gaps = {name: _with_gaps(schema[name]) for name in self._may_empty(schema)}
        return Schema({**schema.attributes, **gaps})

    def _may_empty(self, schema: Schema) -> list[str]:
        """The quasi-identifiers in which it may suppress cells."""
        rule_columns: set[str] = set()
        for rule in self.parsed:
            rule_columns.update(rule.columns)
        return [name for name in schema.quasi if name in rule_columns]


def _with_gaps(attribute: Attribute) -> Attribute:
    return dataclasses.replace(attribute, missing=Missing.WILDCARD)


def _suppress_cells(dataset: Table, table: TableItems, hidden: Hidden) -> dict[str, pl.Series]:
    """The columns in which cells are suppressed, without them."""
    at = np.flatnonzero(hidden.gone)
    rows = table.order[table.transactions.owners[at]]
    column_names = [table.column_of(item) for item in table.transactions.items[at].tolist()]
    names = np.array(column_names, dtype=object)
    columns = {}
    for name in sorted(set(names.tolist())):
        gone = np.zeros(len(dataset), dtype=np.bool_)
        gone[rows[names == name]] = True
        column = dataset.column(name)
        nothing = pl.Series(name, [None], dtype=column.dtype)
        columns[name] = column.zip_with(pl.Series(~gone), nothing)
    return columns
