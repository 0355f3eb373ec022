"""What the columns of a table are: their roles, kinds, hierarchies and missing-value rule."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sfumato.core.source import Source, and_more, missing_column_problems, without_role
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy


class Role(StrEnum):
    """What an intruder, an analyst or the survey design does with a column.

    ``ask`` is no answer but a question: a proposal could not decide, and nothing is done with the
    table until someone has.
    """

    DROP = "drop"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    WEIGHT = "weight"
    PERSON = "person"
    HOUSEHOLD = "household"
    STRATUM = "stratum"
    KEEP = "keep"
    ASK = "ask"
    ITEM = "item"
    PLACE = "place"
    TIME = "time"
    FROM = "from"
    TO = "to"
    KEY = "key"


UNITS = frozenset({Role.PERSON, Role.HOUSEHOLD})
"""Roles of columns that say which rows belong together; promises count units, not rows."""
RENAMED_ROLES = {"direct": "drop", "plain": "keep", "unit": "person' or 'household"}
"""Role words of version 0.1, which an error answers with those of today."""
SHAPED = {
    Role.ITEM: "baskets",
    Role.PLACE: "paths",
    Role.TIME: "paths",
    Role.FROM: "graph",
    Role.TO: "graph",
    Role.KEY: "tables",
}
"""Roles that columns have only where people are described by more than a row, and the shape of such
data.
"""
ANSWERS = tuple(role for role in Role if role is not Role.ASK and role not in SHAPED)
"""Roles that say what a column of a table is."""


def answers(shape: str) -> tuple[Role, ...]:
    """Roles that say what a column is in data of a shape; the design of a survey is that of a
    table.

    >>> print(", ".join(answers("graph")))
    drop, quasi, sensitive, person, household, keep, from, to
    """
    if shape == "table":
        return ANSWERS
    general = tuple(role for role in ANSWERS if role not in (Role.WEIGHT, Role.STRATUM))
    return (*general, *(role for role, home in SHAPED.items() if home == shape))


class Kind(StrEnum):
    """How the values of a column compare."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    NUMERIC = "numeric"
    DATE = "date"
    TEXT = "text"


class Missing(StrEnum):
    """What a missing value equals: only another missing one, or everything."""

    CATEGORY = "category"
    WILDCARD = "wildcard"


COMBINABLE = frozenset({Role.QUASI, Role.SENSITIVE, Role.STRATUM})
"""Roles a column may have together: an attribute can be known to an intruder and worth protecting.
"""


TIME_UNITS = ("seconds", "minutes", "hours", "days")
"""What whole numbers in a column of times may count."""


@dataclasses.dataclass(frozen=True)
class Attribute:
    """One column: its roles, kind, hierarchy and missing-value rule.

    ``order`` lists the values of an ordinal column from low to high. ``unit`` says
    what whole numbers in a column with role ``time`` count.
    ``bounds`` and ``domain`` are public knowledge about the column, declared without looking at
    the data: the lowest and highest value that counts, and the values that may occur; questions are
    answered under differential privacy only within them. ``free_text`` is the explicit word that a
    column of free text may be released under another role than ``drop``. ``of`` says of which
    table the rows are that a column with role ``key`` names (the own table: its key; None: rows
    that belong together, of no table that is there), and ``orphans`` what becomes of rows whose key
    names none.
    """

    roles: tuple[Role, ...]
    kind: Kind = Kind.NOMINAL
    hierarchy: Hierarchy | None = None
    missing: Missing = Missing.CATEGORY
    order: tuple[str, ...] | None = None
    unit: str | None = None
    bounds: tuple[float, float] | None = None
    domain: tuple[str, ...] | None = None
    free_text: bool = False
    of: str | None = None
    orphans: Literal["refuse", "drop"] = "refuse"

    def __post_init__(self) -> None:
        # In a fixed order, so that the same roles said in two ways are equal.
        members = {_member(Role, r, "role") for r in self.roles}
        roles = tuple(sorted(members, key=list(Role).index))
        if not roles:
            raise ParameterError("a column needs at least one role: " + ", ".join(ANSWERS))
        if len(roles) > 1 and not set(roles) <= COMBINABLE:
            raise ParameterError(
                f"roles {join_words(roles)} cannot be combined; only quasi, sensitive and stratum "
                "can"
            )
        if self.unit is not None and Role.TIME not in roles:
            raise ParameterError(
                "only a column with role 'time' has a unit; for rows of one person or household"
                " give the column role 'person' or 'household'"
            )
        if self.unit is not None and self.unit not in TIME_UNITS:
            raise ParameterError(
                f"unit must be {', '.join(TIME_UNITS[:-1])} or {TIME_UNITS[-1]}, not {self.unit!r}"
            )
        if not isinstance(self.free_text, bool):
            raise ParameterError("free_text must be true or false")
        # The class is frozen: checked values are set past its guard.
        object.__setattr__(self, "roles", roles)
        object.__setattr__(self, "kind", _member(Kind, self.kind, "kind"))
        object.__setattr__(self, "missing", _member(Missing, self.missing, "missing"))
        object.__setattr__(
            self, "bounds", None if self.bounds is None else checked_bounds(self.bounds)
        )
        object.__setattr__(
            self, "domain", None if self.domain is None else checked_domain(self.domain)
        )

    def has(self, role: Role) -> bool:
        """Whether the column plays this role."""
        return role in self.roles

    @property
    def identifies(self) -> str | None:
        """``person`` or ``household`` where the column says which rows belong together."""
        return next((str(role) for role in self.roles if role in UNITS), None)


def checked_bounds(bounds: object) -> tuple[float, float]:
    """Two finite numbers, the lower one first.

    >>> checked_bounds([0, 120])
    (0.0, 120.0)
    """
    ends: Sequence[Any] = ()
    if isinstance(bounds, Sequence) and not isinstance(bounds, str):
        ends = bounds
    # True is a number to Python, and no bound.
    if len(ends) != 2 or any(isinstance(v, bool) or not isinstance(v, Real) for v in ends):
        raise ParameterError("bounds must be two numbers, [lowest, highest], like [0, 120]")
    low, high = float(ends[0]), float(ends[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ParameterError("bounds must be finite numbers")
    if low >= high:
        raise ParameterError(
            "bounds are reversed or equal: write the lowest value first, then a higher one"
        )
    return low, high


def checked_domain(domain: object) -> tuple[str, ...]:
    """Different words, at least one; whole numbers are taken as their text.

    >>> checked_domain(["f", "m", 3])
    ('f', 'm', '3')
    """
    if isinstance(domain, str) or not isinstance(domain, Sequence):
        raise ParameterError("domain must list the values that may occur, like [f, m]")
    # type() and not isinstance(): true is a whole number to Python.
    if not domain or not all(isinstance(v, str) or type(v) is int for v in domain):
        raise ParameterError(
            "domain must list at least one value; put quotes around what is neither word nor number"
        )
    values = tuple(str(v) for v in domain)
    if len(set(values)) < len(values):
        raise ParameterError(
            f"domain lists {len(values) - len(set(values))} value(s) twice; list each once"
        )
    return values


_E = TypeVar("_E", bound=StrEnum)


def _member(enum: type[_E], value: str, title: str) -> _E:
    try:
        return enum(value)
    except ValueError:
        if enum is Role and str(value) in RENAMED_ROLES:
            raise ParameterError(
                f"role {str(value)!r} is now called '{RENAMED_ROLES[str(value)]}'; write that"
            ) from None
        raise ParameterError(
            f"{title} {str(value)!r} is not known.{did_you_mean(str(value), map(str, enum))}"
        ) from None


@dataclasses.dataclass(frozen=True)
class Schema:
    """Column name → :class:`Attribute`, in the order of the table."""

    attributes: Mapping[str, Attribute]

    def __post_init__(self) -> None:
        # A copy of its own: whoever made the mapping may change it later.
        object.__setattr__(self, "attributes", dict(self.attributes))

    @classmethod
    def from_roles(cls, roles: Mapping[str, str | Iterable[str]]) -> Schema:
        """Build from ``{role: column or columns}``; a column named under several roles has them
        all.
        """
        roles_of: dict[str, list[Role]] = {}
        for role, columns in roles.items():
            for column in [columns] if isinstance(columns, str) else columns:
                roles_of.setdefault(column, []).append(_member(Role, role, "role"))
        return cls(
            {column: Attribute(tuple(column_roles)) for column, column_roles in roles_of.items()}
        )

    def columns(self, role: Role) -> tuple[str, ...]:
        """Names of the columns that play a role, in table order."""
        return tuple(name for name, attribute in self.attributes.items() if role in attribute.roles)

    @property
    def quasi(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return self.columns(Role.QUASI)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return self.columns(Role.SENSITIVE)

    @property
    def dropped_columns(self) -> tuple[str, ...]:
        """Names of the columns that are not released: direct identifiers, copies, free text."""
        return self.columns(Role.DROP)

    @property
    def units(self) -> tuple[str, ...]:
        """Names of the columns that identify persons or households, in table order."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.identifies)

    def only(self, role: Role) -> str | None:
        """Name of the one column with a role, or None; several are refused."""
        names = self.columns(role)
        if len(names) > 1:
            raise SchemaError(
                f"only one column can have role {role}; {len(names)} have it: {', '.join(names)}"
            )
        return names[0] if names else None

    @property
    def person(self) -> str | None:
        """Name of the column that identifies persons with several rows, or None."""
        names = self.columns(Role.PERSON)
        if len(names) > 1:
            raise SchemaError(
                f"only one column can identify the person; {len(names)} do: {', '.join(names)}"
            )
        return names[0] if names else None

    def __getitem__(self, column: str) -> Attribute:
        try:
            return self.attributes[column]
        except KeyError:
            raise SchemaError(
                f"the schema has no column {column!r}.{did_you_mean(column, self.attributes)}"
            ) from None

    def replace(self, column: str, **changes: Any) -> Schema:
        """A schema with some fields of one column changed."""
        changed = dataclasses.replace(self[column], **changes)
        return Schema({**self.attributes, column: changed})

    def without(self, columns: Iterable[str]) -> Schema:
        """A schema that lacks some columns."""
        gone = set(columns)
        return Schema({n: a for n, a in self.attributes.items() if n not in gone})

    def check(self, columns: Sequence[str], source: Source, shape: str = "table") -> None:
        """Raise one :class:`SchemaError` with everything that does not fit the columns of a
        table.
        """
        if problems := self.problems(columns, source, shape):
            raise SchemaError(problems)

    def problems(self, columns: Sequence[str], source: Source, shape: str = "table") -> list[str]:
        """Everything that does not fit the columns of a table, one sentence each."""
        problems = missing_column_problems(columns, source, self.attributes)
        # Nobody decided whether a column without a role may be released.
        if not self.attributes.keys() >= set(columns):
            problems += without_role(columns, source, self.attributes, ", ".join(answers(shape)))
        roles = {role for attribute in self.attributes.values() for role in attribute.roles}
        if Role.ASK in roles:
            problems += self.undecided(source.name)
        if not roles.isdisjoint(SHAPED):
            problems += self.of_another_shape(source.name, shape)
        return problems

    def of_another_shape(self, table: str, own: str = "table") -> list[str]:
        """One problem for every column of a table whose role belongs to data of another shape."""
        problems = []
        for role, shape in SHAPED.items():
            columns = () if shape == own else self.columns(role)
            problems += [
                f"column {name!r} of {table} has role {role!s}, which belongs to another shape of "
                f"data; write 'shape: {shape}' into the recipe"
                for name in columns
            ]
        return problems

    def undecided(self, table: str) -> list[str]:
        """One problem that names all columns somebody has to decide on, or none."""
        undecided_columns = self.columns(Role.ASK)
        if not undecided_columns:
            return []
        problem = (
            f"{len(undecided_columns)} column(s) of {table} have role 'ask' and need your decision "
            f"first: {and_more(undecided_columns)}; write 'drop' for names and record numbers, "
            "'quasi' for what an outsider can know, 'sensitive' for what nobody may learn, 'keep' "
            "for the rest"
        )
        return [problem]
