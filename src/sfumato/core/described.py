"""A frame and what its columns are: what tables in memory and lazy ones have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sfumato.core.data import Data
from sfumato.core.fields import Document
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source, missing_column_problems
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.model import Model
    from sfumato.core.pair import TablePair
    from sfumato.core.table import Table

TABLE_OPTIONS = frozenset(
    {
        *("population", "memory", "register", "engine", "table", "into", "into_table"),
        *("quasi", "record", "threshold", "everything"),
        *(
            "recipe",
            "intruder",
            "knows",
            "rename",
            "by",
            "other_original",
            "aux",
            "sample",
            "align",
            "control",
            "generalisation_of",
        ),
    }
)
"""Options that are about one table: of reading and writing it, of assessing it, and of attacks by
tables of intruders.
"""


CALL_WITH_ROLES = (
    "call sf.read(frame).with_roles(quasi=[...], ...), or give roles={'quasi': [...], ...}"
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Described(Data):
    """A frame and what its columns are. Immutable: every change gives a new one of the same
    class.
    """

    frame: Any
    schema: Schema = dataclasses.field(default_factory=lambda: Schema({}))
    source: Source = dataclasses.field(default_factory=Source)
    shape: ClassVar[Shape] = Shape.TABLE
    units: ClassVar[str] = "records"
    attacked_by_run: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = TABLE_OPTIONS

    @property
    def records(self) -> int:
        """Number of records."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of units, which are records."""
        return self.records

    def counts(self) -> dict[str, int]:
        """Sizes in words: the records."""
        return {"records": self.records}

    def one_table(self) -> Self:
        """The table itself."""
        return self

    def in_memory(self, purpose: str) -> Table:
        """The table with its rows at hand for a purpose, or a refusal that names it."""
        raise NotImplementedError

    def pair_with(
        self, released: Data, *, align: str | None, control: Data | None, purpose: str
    ) -> TablePair:
        """The table beside one that was made of it, here or elsewhere; the released table may lack
        columns.
        """
        from sfumato.core import registry

        before, after = self.in_memory(purpose), released.one_table().in_memory(purpose)
        if control is None:
            control_table = None
        else:
            control_table = control.one_table().in_memory(purpose)
        pair: TablePair = registry.function_of_run("pair_tables")(
            before, after, align=align, control=control_table
        )
        return pair

    def require_roles(self, purpose: str) -> None:
        """Refuse a table whose columns have no roles yet."""
        if not self.schema.attributes:
            raise SchemaError(
                f"{purpose} needs the roles of the columns of {self.source.name}; {CALL_WITH_ROLES}"
            )

    def counted_for(self, models: Sequence[Model]) -> Table:
        """What the models look at: the table itself, or counted combinations."""
        raise NotImplementedError

    def require_content(self) -> None:
        """Refuse a table without rows."""
        if not self.records:
            raise SchemaError(f"{self.source.name} has no rows; there is nothing to release")

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    def require(self, names: Iterable[str]) -> None:
        """Raise one error that lists every named column the table lacks."""
        names = list(names)
        columns = self.columns
        if not set(names) <= set(columns):
            raise SchemaError(
                missing_column_problems(columns, self.source, names, self.schema.attributes)
            )

    def has(self, names: Iterable[str]) -> bool:
        """Whether the table has all these columns."""
        return set(names) <= set(self.columns)

    def with_schema(self, schema: Schema) -> Self:
        """A table with another schema; columns the table lacks are refused."""
        self.require(schema.attributes)
        # In the order of the table, however columns were named.
        ordered = {n: schema.attributes[n] for n in self.columns if n in schema.attributes}
        return dataclasses.replace(self, schema=Schema(ordered))

    def with_roles(self, **roles: str | Sequence[str]) -> Self:
        """Give columns roles: ``with_roles(drop=["name"], quasi=["age", "zip"], keep="year")``.

        A column named under two roles has both. Columns not named keep the roles they had. Numbers
        are numeric, dates dates, and the ordered categories of pandas and Arrow ordinal, with their
        order.
        """
        # roles={'age': 'quasi'} is the wrong way round, which is an easy slip.
        names_columns = roles and set(roles) <= set(self.columns)
        if names_columns and not set(roles) <= {str(role) for role in Role}:
            raise ParameterError(
                "roles= maps roles to columns, like {'quasi': ['age', 'zip'], ...}; a column came "
                "first"
            )
        requested = Schema.from_roles(roles)
        self.require(requested.attributes)
        old = self.schema.attributes
        # A column that is described already keeps its kind and hierarchy; a new one has those of
        # its type.
        merged = {}
        for n, a in requested.attributes.items():
            if n in old:
                merged[n] = dataclasses.replace(old[n], roles=a.roles)
            else:
                merged[n] = dataclasses.replace(a, **self._type_description(n))
        return self.with_schema(Schema({**old, **merged}))

    def with_hierarchies(self, **hierarchies: Hierarchy) -> Self:
        """Give columns hierarchies:
        ``with_hierarchies(age=sf.intervals(5, 10), sex=sf.suppress())``.
        """
        return self._with("hierarchy", hierarchies)

    def with_kinds(self, **kinds: str) -> Self:
        """Say how columns compare: ``with_kinds(age="numeric", stage="ordinal")``."""
        return self._with("kind", kinds)

    def with_missing(self, **rules: str) -> Self:
        """Say what missing values equal: ``with_missing(zip="wildcard")``."""
        return self._with("missing", rules)

    def _with(self, field: str, values: Document) -> Self:
        self.require(values)
        schema = self.schema
        for name, value in values.items():
            if name not in schema.attributes:
                raise SchemaError(f"column {name!r} has no role yet; assign one with with_roles")
            schema = schema.replace(name, **{field: value})
        return self.with_schema(schema)

    def _type_description(self, name: str) -> Document:
        """What a column's type says of it: its kind and, of ordered categories, their order."""
        dtype = self.type_of_column(name)
        # Asked first: by type alone ordered categories would pass for nominal.
        if (order := _ordered_categories(self.frame.to_native(), name)) is not None:
            return {"kind": Kind.ORDINAL, "order": order}
        if dtype.is_numeric():
            return {"kind": Kind.NUMERIC}
        return {"kind": Kind.DATE if dtype.is_temporal() else Kind.NOMINAL}

    def type_of_column(self, name: str) -> Any:
        """The type of a column, as narwhals tells it."""
        return self.frame.collect_schema()[name]

    def with_attribute(self, name: str, attribute: Attribute) -> Self:
        """A table in which one column is described otherwise."""
        return self.with_schema(Schema({**self.schema.attributes, name: attribute}))

    def named(self, role: Role) -> tuple[str, ...]:
        """Names of the columns that play a role."""
        return self.schema.columns(role)


def _ordered_categories(native: Any, name: str) -> tuple[str, ...] | None:
    """The categories of a pandas or Arrow column from low to high, where the column says that they
    have an order.
    """
    room = type(native).__module__.split(".")[0]
    if room == "pandas":
        dtype = native[name].dtype
        if getattr(dtype, "ordered", False):
            return tuple(map(str, dtype.categories))
        return None
    if room == "pyarrow" and getattr(native.schema.field(name).type, "ordered", False):
        # Every chunk may have a dictionary of its own; once unified the first one has all
        # categories.
        chunks = native.column(name).unify_dictionaries().chunks
        if chunks:
            return tuple(map(str, chunks[0].dictionary.to_pylist()))
        return None
    return None
