"""Following: a column that says the same as a quasi-identifier is released through the
quasi-identifier's labels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.schema import UNITS, Attribute, Kind, Role, Schema
from sfumato.core.step import Account, ColumnStep, Declaration, Effect, Goal, Masked, Span, Step
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.masking_fields import require_table

if TYPE_CHECKING:
    from sfumato.core.table import Table


@parameters
class Follow(ColumnStep):
    r"""Release a column through the labels of a quasi-identifier that it copies: a ghost variable.

    Every record's cell becomes the label that its quasi-identifier has when the step comes,
    whatever the column said: a column that equals the quasi-identifier in 98 % of records tells
    nothing beyond the label any more, also of the other 2 %. It stands after the steps that recode
    the quasi-identifier; global and local recoding are followed alike.

    Reference: Templ, Kowarik & Meindl 2015, doi:10.18637/jss.v067.i04 (ghost variables of
    sdcMicro).

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> people = examples.students().with_roles(keep="age", quasi="sex")
    >>> step = Follow({"age": "sex"})
    >>> released = step.apply(people, step.plan(people, Goal()))
    >>> released.column("age").to_list() == people.column("sex").to_list()
    True
    """

    columns: Annotated[
        dict[str, str],
        Field(
            min_length=1, description="column → the quasi-identifier whose released labels it takes"
        ),
    ]

    name: ClassVar[str] = "follow"
    accounting: ClassVar[Declaration] = Declaration(Effect.DATA_INDEPENDENT, "always")

    @property
    def coarsens(self) -> bool:
        """A cell is released through the label of another cell of its record."""
        return True

    def __post_init__(self) -> None:
        chained = [name for name, quasi in self.columns.items() if quasi in self.columns]
        if chained:
            raise ParameterError(
                f"Follow: {', '.join(chained)} must follow a quasi-identifier, not a column that"
                " follows another"
            )

    def account(self, schema: Schema) -> Account:
        """A cell becomes another cell of its own record."""
        return Account(Effect.DATA_INDEPENDENT, sources=tuple(self.columns.values()))

    @property
    def span(self) -> Span:
        """Record by record, from nothing but its own cells."""
        return Span.CELLS

    def limited_to(self, columns: Sequence[str]) -> Step | None:
        """The same step for columns that are there together with what they follow."""
        present = {
            name: quasi
            for name, quasi in self.columns.items()
            if name in columns and quasi in columns
        }
        if len(present) == len(self.columns):
            return self
        if not present:
            return None
        return dataclasses.replace(self, columns=present)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Take over the labels."""
        require_table(dataset, self.name, [*self.columns, *self.columns.values()])
        attributes = dataset.schema.attributes
        self._refuse(attributes)
        actions = {
            name: f"released through the labels of {quasi}" for name, quasi in self.columns.items()
        }
        columns = {name: dataset.column(quasi).alias(name) for name, quasi in self.columns.items()}
        attributes_after = {}
        for name in self.columns:
            if name in attributes:
                attributes_after[name] = _as_nominal(attributes[name])
        return Masked(
            actions=actions,
            columns=columns,
            attributes=attributes_after,
            public={"follows": dict(self.columns)},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the labels."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """The columns hold labels, which are nominal."""
        changed = {}
        for name, attribute in schema.attributes.items():
            if name in self.columns:
                changed[name] = _as_nominal(attribute)
        return Schema({**schema.attributes, **changed})

    def _refuse(self, attributes: Mapping[str, Attribute]) -> None:
        for name, quasi in self.columns.items():
            if quasi in attributes and not attributes[quasi].has(Role.QUASI):
                raise SchemaError(
                    f"follow: {quasi!r} is not a quasi-identifier, so {name!r} cannot "
                    "follow it; name one that is"
                )
            if name in attributes and {Role.QUASI, *UNITS, Role.DROP} & set(attributes[name].roles):
                role = join_words(attributes[name].roles)
                raise SchemaError(
                    f"follow: {name!r} has role {role}; only other columns can follow a"
                    " quasi-identifier"
                )


def _as_nominal(attribute: Attribute) -> Attribute:
    return dataclasses.replace(attribute, kind=Kind.NOMINAL, hierarchy=None, order=None)
