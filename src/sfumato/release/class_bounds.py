"""Bounds before data: how many classes a promise about a sensitive column allows, whatever the
recoding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core import registry
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, TableBlock
from sfumato.core.evidence import gather
from sfumato.core.fields import Document
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.core.words import count_of, join_words
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.core.model import Model


@dataclasses.dataclass(frozen=True)
class ClassBound:
    """How many classes a promise allows: ``most`` in any release, whatever it suppresses, and
    whether one without suppression can keep it at all.
    """

    promise: str
    most: int
    without_suppression: bool


@dataclasses.dataclass(frozen=True, eq=False)
class ClassBounds(Reportable):
    """The bounds of several promises about a table of so many records."""

    records: int
    bounds: tuple[ClassBound, ...]

    def to_dict(self) -> Document:
        """Plain data."""
        rows = []
        for bound in self.bounds:
            size = self.records / bound.most if bound.most else None
            rows.append({**dataclasses.asdict(bound), "mean_class_size": size})
        return {"records": self.records, "bounds": rows}

    def blocks(self) -> Sequence[Block]:
        """A table, and how to read it."""
        rows = []
        for bound in self.bounds:
            # Classes that large on average: rounded down, since the bound is one from above.
            size = self.records // bound.most if bound.most else None
            rows.append((bound.promise, bound.most, size, bound.without_suppression))
        header = ("promise", "classes at most", "records each", "without suppression")
        return [
            TableBlock(header, tuple(rows), f"Bounds for {count_of(self.records, 'record')}"),
            Paragraph(
                "No recoding that keeps the promise has more classes, whatever it suppresses. "
                "Without suppression it can be kept only where the last column says yes: then one "
                "class of all records keeps it."
            ),
        ]


def bound_classes(
    table: Table,
    name: str,
    *,
    sensitive: Sequence[str] = (),
    k: int = 5,
    models: Sequence[Model] = (),
) -> ClassBounds:
    """How many classes a promise allows at most, by the values of sensitive columns alone.

    ``models`` are judged where they are of this ``name``; otherwise usual degrees of it, with
    classes of ``k``. ``sensitive`` are by default the sensitive columns of the schema. Which
    columns are quasi-identifiers does not matter: the bounds hold for every grouping.

    >>> from sfumato import examples
    >>> salaries = examples.salaries(grouping="spread")
    >>> [bound.most for bound in bound_classes(salaries, "p_sensitive", k=3).bounds]
    [3, 3, 2, 1]
    """
    family: Any = registry.family("models")
    if name not in family:
        raise ParameterError(f"{name} is no promise about tables; see sfumato list models")
    columns = list(sensitive) or list(table.schema.sensitive)
    chosen = [model for model in models if model.name == name]
    if not chosen:
        for column in columns:
            chosen += family[name].usual_degrees(column, k)
    if not chosen:
        reason = "no bound on classes is known for it"
        if family[name].usual_degrees("column", k):
            reason = "name a sensitive column: --sensitive COLUMN, or -r RECIPE"
        raise ParameterError(f"{name}: {reason}")
    bounds = []
    for model in chosen:
        bound = _bound(table, model)
        if bound is not None:
            bounds.append(bound)
    if not bounds:
        raise SchemaError(f"{name} bounds no classes of {join_words(columns)} in this table")
    return ClassBounds(len(table), tuple(bounds))


def _bound(table: Table, model: Model) -> ClassBound | None:
    """The bound of one promise; None where it does not fit the column, which may have no order."""
    everyone = "everyone"
    while everyone in table.columns:
        everyone += "_"
    names = list(model.about)
    table.require(names)
    attributes = {}
    for column in names:
        own = (Role.SENSITIVE,)
        known = table.schema.attributes.get(column)
        # Without a recipe the column is what its type says.
        kind = Kind.NUMERIC if table.dtype(column).is_numeric() else Kind.NOMINAL
        if known is None:
            attributes[column] = Attribute(own, kind=kind)
        else:
            attributes[column] = dataclasses.replace(known, roles=own)
    persons = list(table.schema.columns(Role.PERSON))
    for column in persons:
        attributes[column] = table.schema[column]
    # One class of all records: whatever is quasi, the bound is about the sensitive values alone.
    rows: Any = (
        table.to_polars().select(names + persons).with_columns(pl.lit("all").alias(everyone))
    )
    whole = Table(rows, Schema({**attributes, everyone: Attribute((Role.QUASI,))}))
    try:
        model.needs(whole.schema)
        evidence = gather(whole, [model])
        most = model.class_bound(evidence)
        verdict = model.judge(evidence)
    except SchemaError:
        return None
    if most is None:
        return None
    # A monotone promise that all records as one class break is broken by every grouping of them.
    return ClassBound(model.promise, most, verdict.holds if model.monotone else True)
