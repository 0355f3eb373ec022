"""A recipe: what the columns are, what must hold, how to get there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from sfumato.core.acceptance import Acceptance, read_acceptances
from sfumato.core.fields import Document, Fields
from sfumato.core.limits import plain_limits
from sfumato.core.model import Model
from sfumato.core.parameters import label_of
from sfumato.core.publication import Publication
from sfumato.core.schema import Schema
from sfumato.core.shape import DATA, PEOPLE, Shape
from sfumato.core.source import Intake
from sfumato.core.step import Step
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core.data import Pair
    from sfumato.core.metric import Utility
    from sfumato.core.pair import TablePair


# A contract of utility: what analysts need of a release, and how far it may be off.


@dataclasses.dataclass(frozen=True)
class Kept:
    """A bound, what was measured, and whether the release stays within it; ``refuses``: nothing is
    released if not.

    ``parameters`` are those that the recipe gives for what it limits.
    """

    name: str
    value: float
    limit: float
    holds: bool
    sentence: str
    refuses: bool = True
    parameters: Fields = dataclasses.field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.holds

    @property
    def label(self) -> str:
        """The name, with the parameters as a recipe writes them."""
        return label_of(self.name, self.parameters)

    def __repr__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.sentence}"

    def to_dict(self) -> Document:
        """The verdict as plain data; what could not be measured has no value."""
        plain = {
            **dataclasses.asdict(self),
            "value": None if math.isnan(self.value) else self.value,
        }
        if not self.parameters:
            del plain["parameters"]
        return plain


@dataclasses.dataclass(frozen=True)
class Agreement:
    """One line of a contract: a utility metric with its parameters, and what it may be at most or
    at least.

    A release that breaks it is reported, and refused where ``refuse`` says so.
    """

    metric: Utility
    at_most: float | None = None
    at_least: float | None = None
    refuse: bool = False

    def __post_init__(self) -> None:
        bounds = [bound for bound in (self.at_most, self.at_least) if bound is not None]
        if (
            len(bounds) != 1
            or isinstance(bounds[0], bool)
            or not isinstance(bounds[0], int | float)
        ):
            raise ParameterError(
                f"{self.metric.name}: give its bound as one number, at_most or at_least"
            )

    @property
    def promise(self) -> str:
        """The agreement in a few words."""
        words = self.metric.words
        of = self.metric.about
        if self.at_most is not None:
            bound = f"at most {self.at_most:g}"
        else:
            bound = f"at least {self.at_least:g}"
        return f"{words}{' of ' + ', '.join(of) if of else ''} {bound}"

    def check(self, value: float | str, where: str = "") -> Kept:
        """A measured value against the bound; what could not be measured (then it is the reason)
        does not survive.
        """
        bound = next(b for b in (self.at_most, self.at_least) if b is not None)
        limit = float(bound)
        # A text says why nothing was measured; NaN passes no comparison.
        if isinstance(value, str):
            return Kept(
                self.metric.name,
                float("nan"),
                limit=limit,
                holds=False,
                sentence=f"{self.promise}: {value}",
                refuses=self.refuse,
            )
        # 1e-12 forgives rounding where a bound is met exactly.
        if self.at_most is not None:
            holds = value <= limit + 1e-12
        else:
            holds = value >= limit - 1e-12
        sentence = f"{self.promise}: it is {value:.4g}{where}"
        return Kept(
            self.metric.name,
            value,
            limit=limit,
            holds=holds,
            sentence=sentence,
            refuses=self.refuse,
        )

    def judge(self, pair: Pair | TablePair) -> Kept:
        """Measure the metric and hold it against the bound; what cannot be measured does not
        survive.
        """
        pair = self.metric.looks_at(pair)
        reason = self.metric.out_of_place(pair)
        return self.check(
            self.metric.measure(pair).value if reason is None else reason, pair.of_a_sample
        )


VERSION = 1
PROPOSERS = ("profile", "recommend", "protect")
"""Commands that look at a table and propose a recipe."""


@dataclasses.dataclass(frozen=True)
class TableDescription:
    """What a recipe says of one table: its columns, and the file it is in, if the recipe names
    it.
    """

    schema: Schema
    file: str | None = None


class RecipeParts(TypedDict, total=False):
    """Fields of a :class:`Recipe` besides those that its data give."""

    meet: tuple[Model, ...]
    steps: tuple[Step, ...]
    limits: Fields
    contract: tuple[Agreement, ...]
    intake: Intake
    accept: tuple[Acceptance, ...]
    base: Path
    proposed_from: str | None
    file: str | None
    publication: Publication


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Schema, promises, steps and limits: the same objects as in Python, written down in one file.

    ``limits`` maps a risk, an attack or a utility to what it may be at most (at least, where more
    is better): a number, or a mapping with parameters and the bound
    (``{"kind": "deviation", "at_most": 0.2}``), or a list of both; in Python the key may be the
    object with its parameters (:mod:`sfumato.core.limits`). ``contract`` says what must survive for
    the people who will use the release.

    ``accept`` names dangers of released columns that somebody takes on
    (:mod:`sfumato.core.acceptance`), and may be given as a recipe file writes it.

    ``intake`` says how the table is read: codes for missing values, header, spelling of text.
    ``base`` is the folder that relative paths in the recipe start from. ``proposed_from`` names the
    command that looked at a table to propose it: then it was not written without looking at the
    data, and no ε is certified.

    ``shape`` is that of the data. ``schema`` describes the first table, whose name is ``first`` and
    whose file, where the recipe names it, is ``file``; ``others`` describes further tables by name.
    ``publication`` is what the shared page says of title, purpose, contact and licence.
    """

    schema: Schema
    meet: tuple[Model, ...] = ()
    steps: tuple[Step, ...] = ()
    limits: Fields = dataclasses.field(default_factory=dict)
    contract: tuple[Agreement, ...] = ()
    intake: Intake = dataclasses.field(default_factory=Intake)
    accept: tuple[Acceptance, ...] = ()
    base: Path = dataclasses.field(default=Path(), compare=False)
    proposed_from: str | None = None
    shape: Shape = Shape.TABLE
    others: Mapping[str, TableDescription] = dataclasses.field(default_factory=dict)
    first: str = DATA
    file: str | None = None
    publication: Publication = dataclasses.field(default_factory=Publication)

    def __post_init__(self) -> None:
        if self.limits:
            object.__setattr__(self, "limits", plain_limits(self.limits))
        if isinstance(self.accept, Mapping):
            object.__setattr__(self, "accept", read_acceptances(self.accept))

    @property
    def goals(self) -> tuple[Model, ...]:
        """The promises that steps plan for."""
        return tuple(model for model in self.meet if model.planned_for)

    @property
    def tables(self) -> dict[str, TableDescription]:
        """Every table by its name, the first one first."""
        return {self.first: TableDescription(self.schema, self.file), **self.others}

    @property
    def schemas(self) -> dict[str, Schema]:
        """The columns of each table, by its name."""
        return {name: table.schema for name, table in self.tables.items()}

    @classmethod
    def about(
        cls, shape: Shape, schemas: Mapping[str, Schema], **parts: Unpack[RecipeParts]
    ) -> Recipe:
        """A recipe for tables whose columns are known; ``parts`` are promises, steps, limits and
        contract.
        """
        (first, schema), *other_schemas = schemas.items()
        further = {name: TableDescription(table_schema) for name, table_schema in other_schemas}
        return cls(schema, shape=shape, others=further, first=first, **parts)


def columns_in_recipe(recipe: Fields) -> dict[str, Fields]:
    """What a recipe, as plain data, says of the columns of each table; keys of several tables stand
    among them.

    >>> columns_in_recipe(
    ...     {
    ...         "tables": {
    ...             "visits": {
    ...                 "belongs_to": {"people": "who"},
    ...                 "columns": {"day": {"role": "quasi"}},
    ...             }
    ...         }
    ...     }
    ... )
    {'visits': {'who': {'role': 'key', 'of': 'people'}, 'day': {'role': 'quasi'}}}
    """
    if "tables" not in recipe:
        people = (recipe.get(PEOPLE) or {}).get("columns", {})
        return {DATA: recipe["columns"], **({PEOPLE: people} if people else {})}
    columns: dict[str, Fields] = {}
    for name, table in recipe["tables"].items():
        columns[name] = {**_key_columns(name, table), **table.get("columns", {})}
    return columns


def _key_columns(name: str, table: Fields) -> Document:
    """The key of a table and those that refer to other tables, as columns with the role ``key``."""
    keys = {}
    if "key" in table:
        keys[table["key"]] = {"role": "key", "of": name}
    for parent, column in (table.get("belongs_to") or {}).items():
        keys[column] = {"role": "key", "of": parent}
    return keys
