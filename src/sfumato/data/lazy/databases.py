"""Databases as places of tables: addresses without secrets, and transactions that see one moment
and write all or nothing.

A transaction has a connection of its own. Columns are described by the SQL that selects them and
the type they have with us, so that whatever a driver cannot give exactly is asked for as text. Text
is compared by its characters, whatever collation a column has: two spellings that a database takes
for one are two values that an intruder can tell apart.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import os
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import polars as pl

from sfumato.errors import OutputError, ParameterError, UnreadableInput, nearest

BATCH = 200_000
"""Rows that a database gives or takes at once."""
KINDS = ("postgresql", "sqlite", "duckdb")
SECRETS = ("password", "sslpassword")
INSTEAD = (
    "leave it out: the driver reads it from PGPASSWORD, ~/.pgpass or a service (PGSERVICE, "
    "~/.pg_service.conf)"
)


# Where a table is.


@dataclasses.dataclass(frozen=True)
class Address:
    """The place of a database. ``shown`` is what may be told of it: no user, no password, no
    options.
    """

    kind: str
    given: str = dataclasses.field(repr=False)
    shown: str

    @property
    def file(self) -> Path:
        """The file of a database that is one."""
        return Path(self.given.split(":///", 1)[1])


def is_same_file(first_path: Path, second_path: Path) -> bool:
    """Whether two paths lead to one file that is there, be it through links."""
    try:
        return os.path.samefile(first_path, second_path)
    except OSError:
        return False


def identity_in(file: Path, name: Name) -> str | None:
    """What tells a table of a file from all others: the file's device and number, and the name, in
    which capitals do not count.
    """
    try:
        file_status = file.stat()
    except OSError:
        return None
    return (
        f"{file_status.st_dev}:{file_status.st_ino},"
        f" {(name.schema or 'main').lower()}.{name.table.lower()}"
    )


def is_address(data: Any) -> bool:
    """Whether something is the address of a database, such as ``postgresql://host/db``."""
    return isinstance(data, str) and data.split("://")[0] in (*KINDS, "postgres") and "://" in data


FIRST_BYTES = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
"""Where a file says of which database it is, and how."""


def kind_of_file(path: Path) -> str | None:
    """The database that a file is one of, by its first bytes; None: it is none, or cannot be
    read.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            first = file.read(16)
    except (OSError, ValueError):
        return None
    return next(
        (kind for kind, (at, sign) in FIRST_BYTES.items() if first[at:].startswith(sign)), None
    )


def address(text: str) -> Address:
    """The address that was given; refused where it holds a password.

    >>> address("postgresql://me@db.example/clinic?sslmode=require").shown
    'postgresql://db.example/clinic'
    """
    kind = text.split("://", maxsplit=1)[0]
    if kind in ("sqlite", "duckdb"):
        if not text.startswith(f"{kind}:///") or len(text) == len(f"{kind}:///"):
            raise ParameterError(
                f"{kind} takes the path of a file after three slashes ({kind}:///lake.db, from the"
                f" root {kind}:////data/lake.db)"
            )
        return Address(kind, text, text)
    if kind not in ("postgresql", "postgres"):
        raise ParameterError(
            f"tables can be read from {', '.join(KINDS)}, as in postgresql://host/database"
        )
    parts = urlsplit(text)
    user, _, host = parts.netloc.rpartition("@")
    # A colon before the @ parts user and password: me:secret@host.
    if ":" in user or any(
        name in SECRETS for name, _ in parse_qsl(parts.query, keep_blank_values=True)
    ):
        raise ParameterError(f"the address of the database holds a password; {INSTEAD}")
    return Address("postgresql", text, f"postgresql://{host}{parts.path}")


@dataclasses.dataclass(frozen=True)
class Name:
    """The name of a table, with its schema where one was said."""

    table: str
    schema: str | None = None

    @classmethod
    def of(cls, text: str) -> Name:
        """From ``table`` or ``schema.table``; a part with a dot in it stands in double quotes.

        >>> Name.of('clinic."visits.2026"')
        Name(table='visits.2026', schema='clinic')
        """
        # Each match has one of two groups: what stood in quotes, or a plain part.
        parts = [p.replace('""', '"') for pair in PART.findall(text) for p in pair if p]
        if not PARTS.fullmatch(text) or len(parts) > 2 or "\0" in text:
            raise ParameterError(
                "name the table as visits or schema.visits; put a name that contains a dot in "
                "double quotes"
            )
        return cls(parts[-1], parts[0] if len(parts) == 2 else None)

    def __str__(self) -> str:
        if self.schema is None:
            return self.table
        return f"{self.schema}.{self.table}"

    @property
    def said(self) -> str:
        """The name as :meth:`of` takes it.

        >>> Name("visits.2026", "clinic").said
        'clinic."visits.2026"'
        """
        if self.schema is None:
            parts = [self.table]
        else:
            parts = [self.schema, self.table]
        return ".".join(quoted(part) if "." in part or '"' in part else part for part in parts)

    @property
    def quoted(self) -> str:
        """The name in SQL."""
        if self.schema is None:
            return quoted(self.table)
        return f"{quoted(self.schema)}.{quoted(self.table)}"


# A part in quotes, where a quote is doubled, or a run of signs without dot and quote.
_ONE = r'(?:"(?:[^"]|"")+"|[^."]+)'
PART = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')
PARTS = re.compile(rf"{_ONE}(?:\.{_ONE})*")


def quoted(name: str) -> str:
    """A name in SQL, whatever signs it has."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


# Transactions.


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table: the SQL that selects it, and its type with us."""

    select: str
    dtype: pl.DataType


class Transaction(abc.ABC):
    """One connection and one transaction: what is read through it is of one moment, what is written
    stands at ``commit``.
    """

    errors: ClassVar[tuple[type[Exception], ...]] = ()
    capitals: ClassVar[bool] = True
    """Whether names that differ in capitals alone are two."""

    def __init__(self, place: Address, *, write: bool) -> None:
        self.place, self.write, self.stands = place, write, False
        with self.guarded():
            self.connection: Any = self.opened()
        # A transaction that nobody closed ends with its object; otherwise locks would stay.
        self._closing = weakref.finalize(self, _quietly_closed, self.connection)
        RUNNING.add(self)

    # what every database does in its own way

    @abc.abstractmethod
    def opened(self) -> Any:
        """A connection in a transaction."""

    @abc.abstractmethod
    def described(self, name: Name) -> dict[str, Column]:
        """The columns of a table that is there."""

    @abc.abstractmethod
    def names(self) -> list[Name]:
        """The tables and views that are there."""

    @abc.abstractmethod
    def raw(self, sql: str) -> Iterator[pl.DataFrame]:
        """The rows that a query gives, some at a time."""

    @abc.abstractmethod
    def execute(self, sql: str) -> None:
        """Do what gives no rows."""

    @abc.abstractmethod
    def storable(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in the types that the database keeps."""

    @abc.abstractmethod
    def put(self, name: Name, rows: pl.DataFrame, *, create: bool) -> None:
        """Write rows into a table, which is made with the first of them."""

    @abc.abstractmethod
    def identity(self, name: Name) -> str | None:
        """What the database itself says it is, and the table in it: the same by whatever address
        and name it is reached.

        None: there is no such table.
        """

    def commit(self) -> None:
        """Let everything stand."""
        with self.guarded():
            self.connection.commit()
        self.stands = True

    # what all do alike

    @property
    def runs(self) -> bool:
        """Whether it was not ended yet."""
        return self._closing.alive

    def close(self) -> None:
        """End it; what was not committed is gone."""
        self._closing()

    def exists(self, name: Name) -> bool:
        """Whether there is such a table."""
        names_present = self.names()
        return name in names_present or (
            not self.capitals
            and str(name).lower() in [str(name_present).lower() for name_present in names_present]
        )

    def columns(self, name: Name) -> dict[str, Column]:
        """The columns of a table, which is refused by name where it is not there."""
        with self.guarded():
            if not self.exists(name):
                raise no_table(self.place, name, self.names())
            return self.described(name)

    def batches(self, sql: str, columns: Mapping[str, Column]) -> Iterator[pl.DataFrame]:
        """The rows of a query that selects some columns, in their types."""
        with self.guarded():
            for rows in self.raw(sql):
                yield rows.select(
                    _typed(rows[name], column.dtype) for name, column in columns.items()
                )

    def query(self, sql: str, columns: Mapping[str, Column]) -> pl.DataFrame:
        """All rows of a query."""
        # The empty frame gives the types where a query has no rows at all.
        empty = pl.DataFrame(schema={name: column.dtype for name, column in columns.items()})
        return pl.concat([empty, *self.batches(sql, columns)])

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Errors of a driver may show values: they are told by their kind and code alone."""
        try:
            yield
        except self.errors as error:
            kind = OutputError if self.write else UnreadableInput
            doing = "written to" if self.write else "read"
            raise kind(f"{self.place.shown} cannot be {doing}: {reason(error)}") from None


RUNNING: weakref.WeakSet[Transaction] = weakref.WeakSet()
"""The transactions of this process."""


def no_table(database: Address, name: Name, names_present: Sequence[Name]) -> UnreadableInput:
    """The refusal of a table that is not there, with the one that was perhaps meant."""
    near = nearest(
        str(name), list(dict.fromkeys(str(name_present) for name_present in names_present))
    )
    return UnreadableInput(f"{database.shown} has no table {str(name)!r}.{near}")


def _quietly_closed(connection: Any) -> None:
    with contextlib.suppress(Exception):  # a connection that broke is closed all the same
        connection.rollback()
    with contextlib.suppress(Exception):
        connection.close()


# SQLSTATE codes of PostgreSQL: two characters name a class, five one error.
CODES = {
    "28": "the server refuses this user; check PGUSER, PGPASSWORD or ~/.pgpass",
    "08": "the connection was lost",
    "57": "the server is shutting down or ended the query",
    "25006": "the database is read-only",
    "42501": "this user lacks the permission",
    "42P01": "a table no longer exists",
    "53": "the server is out of space or memory",
    "55P03": "another program has locked the table",
}


def reason(error: Exception) -> str:
    """What kind of error it is, in words where its code is known, and never in the words of the
    driver.
    """
    if isinstance(error, pl.exceptions.PolarsError):
        return "a value does not fit the type of its column"
    code = str(getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None) or "")
    words = next(
        (reason_words for start, reason_words in CODES.items() if code.startswith(start)), None
    )
    words = words or {
        "SQLITE_CANTOPEN": "the file does not exist, or may not be opened",
        "SQLITE_NOTADB": "the file is not a SQLite database",
        "SQLITE_READONLY": "the database is read-only",
        "SQLITE_BUSY": "another program has locked it",
        "SQLITE_FULL": "the disk is full",
    }.get(code)
    if words is None and not code and type(error).__name__ == "OperationalError":
        words = "the server cannot be reached, has no such database or refuses this user"
    return (
        f"{words or 'the database reports an error'}"
        f" ({' '.join([type(error).__name__, code]).strip()})"
    )


def _typed(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    if column.dtype == dtype:
        return column
    if column.dtype == pl.String and dtype == pl.Date:
        return column.str.to_date("%Y-%m-%d")
    if column.dtype == pl.String and isinstance(dtype, pl.Datetime):
        return column.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us")
    return column.cast(dtype)


NESTED = (pl.List, pl.Array, pl.Struct, pl.Object)


def without_categories(rows: pl.DataFrame, database: Address) -> pl.DataFrame:
    """Rows whose categories are text; what no column of a database holds is refused."""
    nested = [name for name, dtype in rows.schema.items() if dtype in NESTED]
    if nested:
        raise OutputError(
            f"{database.kind} has no column for {', '.join(nested)}: lists and structures are not"
            " written"
        )
    as_text = [
        name for name, dtype in rows.schema.items() if dtype in (pl.Categorical, pl.Enum, pl.Null)
    ]
    return rows.with_columns(pl.col(as_text).cast(pl.String))


def spans_as_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose spans of time are text as ISO 8601 writes them.

    >>> import datetime
    >>> spans_as_text(pl.DataFrame({"stay": [datetime.timedelta(days=1, minutes=2)]})).item()
    'P1DT2M'
    """
    return rows.with_columns(pl.selectors.duration().dt.to_string("iso"))
