"""Transactions with PostgreSQL, SQLite and DuckDB: how each tells its columns, gives rows and takes
them.
"""

from __future__ import annotations

import contextlib
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

import polars as pl

from sfumato.data.lazy.databases import (
    BATCH,
    RUNNING,
    Address,
    Column,
    Name,
    Transaction,
    identity_in,
    is_same_file,
    literal,
    no_table,
    quoted,
    reason,
    spans_as_text,
    without_categories,
)
from sfumato.data.lazy.on_duckdb import require_no_spans
from sfumato.errors import OutputError, UnreadableInput, require

# PostgreSQL, through ADBC.


class Postgres(Transaction):
    """PostgreSQL. Numbers of type numeric come as text and become decimals of the scale that is
    declared or found.
    """

    longest: ClassVar[int] = 63

    def opened(self) -> Any:
        """A connection that sees one snapshot."""
        driver = require("adbc_driver_postgresql.dbapi", extra="sql", to="use PostgreSQL tables")
        require("pyarrow", extra="sql", to="use PostgreSQL tables")
        type(self).errors = (driver.Error, pl.exceptions.PolarsError)
        try:
            connection = driver.connect(self.place.given, autocommit=False)
        except driver.Error as error:
            raise (OutputError if self.write else UnreadableInput)(
                f"{self.place.shown} cannot be reached: {reason(error)}"
            ) from None
        with contextlib.closing(connection.cursor()) as cursor:
            only = "" if self.write else ", READ ONLY"
            # REPEATABLE READ: all queries see the table as it was at the first one.
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ{only}")
            cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
            cursor.execute("SELECT current_setting('transaction_read_only')")
            closed_to_us = self.write and cursor.fetchone() == ("on",)
        if closed_to_us:
            connection.close()
            raise OutputError(f"{self.place.shown} cannot be written to: the database is read-only")
        return connection

    def names(self) -> list[Name]:
        """Tables and views, those on the search path first and without their schema too."""
        sql = (
            "SELECT n.nspname::text AS schema, c.relname::text AS name, pg_table_is_visible(c.oid)"
            " AS near FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind"
            " IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT LIKE 'pg\\_%'"
        )
        name_rows = [row for rows in self.raw(sql) for row in rows.iter_rows()]
        return [Name(name) for _, name, near in name_rows if near] + [
            Name(name, schema) for schema, name, _ in name_rows
        ]

    def identity(self, name: Name) -> str | None:
        """The number of the cluster, which no copy of the address changes, and those of the
        database and the table in it.

        Where the first is not told to this user, the moment at which the server was started stands
        for it.
        """
        may = self._ask("has_function_privilege('pg_control_system()', 'EXECUTE')::text")
        cluster = "(SELECT system_identifier::text FROM pg_control_system())"
        started = "extract(epoch FROM pg_postmaster_start_time())::text"
        table = self._ask(f"to_regclass({literal(name.quoted)})::oid::text")
        database = "(SELECT oid::text FROM pg_database WHERE datname = current_database())"
        server = self._ask(f"{cluster if may == 'true' else started} || ', ' || {database}")
        return None if table is None else f"{server}, {table}"

    def _ask(self, sql: str) -> str | None:
        """One text that the server tells."""
        with self.guarded():
            answer: str | None = pl.concat(list(self.raw(f"SELECT {sql} AS told"))).item()
        return answer

    def described(self, name: Name) -> dict[str, Column]:
        """Every column as the driver gives it; as text what it gives in a form of its own."""
        with contextlib.closing(self.connection.cursor()) as cursor:
            cursor.execute(f"SELECT * FROM {name.quoted} LIMIT 0")  # noqa: S608 - a quoted name
            fields = list(cursor.fetch_record_batch().schema)
        return {field.name: self._describe_column(name, field) for field in fields}

    def _describe_column(self, name: Name, field: Any) -> Column:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        column, kind = quoted(field.name), metadata.get("POSTGRESQL:type")
        if kind == "numeric":
            return self._numeric(name, column, int(metadata.get("POSTGRESQL:typmod", "-1")))
        if kind in PLAIN:
            return Column(column, PLAIN[kind])
        return Column(f'CAST({column} AS text) COLLATE "C"', pl.String())

    def _numeric(self, name: Name, column: str, declared: int) -> Column:
        """A numeric column as a decimal: of the declared precision, or of the scale that its values
        have.
        """
        # PostgreSQL packs a declared numeric(p, s) as ((p << 16) | s) + 4; -1 means that none is
        # declared.
        if declared >= 4:
            digits, scale = ((declared - 4) >> 16, (declared - 4) & 0x7FF)
        else:
            digits, scale = (0, 0)
        if not digits:
            sql = (
                f"SELECT coalesce(max(scale({column})), 0)::int8 AS scale,"  # noqa: S608
                f" coalesce(max(length(trunc(abs({column}))::text)), 1)::int8 AS whole"
                f" FROM {name.quoted}"
            )
            digits_frame = pl.concat(list(self.raw(sql)))
            scale = int(digits_frame["scale"][0])
            digits = int(digits_frame["whole"][0]) + scale
        if digits > 38 or scale > digits:
            raise UnreadableInput(
                f"column {column} of {self.place.shown} has numbers of more than 38 digits; round"
                " or cast it in a view"
            )
        return Column(
            f"CAST(CAST({column} AS numeric({digits}, {scale})) AS text)", pl.Decimal(digits, scale)
        )

    def raw(self, sql: str) -> Iterator[pl.DataFrame]:
        """The rows in Arrow batches, as the server sends them."""
        with contextlib.closing(self.connection.cursor()) as cursor:
            cursor.execute(sql)
            for batch in cursor.fetch_record_batch():
                yield pl.DataFrame(batch)

    def execute(self, sql: str) -> None:
        """Do what gives no rows."""
        with self.guarded(), contextlib.closing(self.connection.cursor()) as cursor:
            cursor.execute(sql)

    def storable(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Microseconds, text for spans of time, decimals for whole numbers beyond eight bytes."""
        long = [n for n in rows.columns if len(n.encode()) > self.longest]
        if long:
            raise OutputError(f"PostgreSQL cuts names after 63 bytes; rename {', '.join(long)}")
        storable_rows = spans_as_text(without_categories(rows, self.place))
        return pl.DataFrame(
            [
                storable_rows.get_column(n).cast(_postgres_type(t))
                for n, t in storable_rows.schema.items()
            ]
        )

    def put(self, name: Name, rows: pl.DataFrame, *, create: bool) -> None:
        """Copy rows in."""
        table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
        with self.guarded(), contextlib.closing(self.connection.cursor()) as cursor:
            cursor.adbc_ingest(
                name.table, table, mode="create" if create else "append", db_schema_name=name.schema
            )


PLAIN: dict[str, pl.DataType] = {
    "int2": pl.Int16(),
    "int4": pl.Int32(),
    "int8": pl.Int64(),
    "float4": pl.Float32(),
    "float8": pl.Float64(),
    "bool": pl.Boolean(),
    "date": pl.Date(),
    "time": pl.Time(),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us", "UTC"),
    "bytea": pl.Binary(),
}
"""What the driver gives as it is; all else, text too, is selected as text that is compared by its
characters.
"""


def _postgres_type(dtype: pl.DataType) -> pl.DataType:
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", dtype.time_zone)
    changed: dict[Any, pl.DataType] = dict.fromkeys(
        (pl.Duration, pl.Categorical, pl.Enum, pl.Null), pl.String()
    )
    return (changed | {pl.UInt64: pl.Decimal(20, 0)}).get(type(dtype), dtype)


PATIENCE = 30
"""Seconds to wait for another program that holds a table."""


# SQLite, through Python's own library.


class Sqlite(Transaction):
    """SQLite. A column has the type that its values have: one with numbers and words is refused by
    name.

    Who reads a file in a transaction keeps all others from writing. So it is read query by query,
    and refused when it changed in between.
    """

    errors = (sqlite3.Error, pl.exceptions.PolarsError)
    capitals = False

    def opened(self) -> Any:
        """A connection in a transaction; a file is made only to be written into."""
        mode = "rwc" if self.write else "ro"
        files = [
            transaction for transaction in RUNNING if self.write and isinstance(transaction, Sqlite)
        ]
        for open_transaction in [
            transaction
            for transaction in files
            if is_same_file(transaction.place.file, self.place.file)
        ]:
            # who reads the file here would keep it from being written; a table that is asked again
            # reads it anew
            open_transaction.close()
        file = f"file:{quote(str(self.place.file.absolute()))}?mode={mode}"
        connection = sqlite3.connect(file, uri=True, isolation_level=None, check_same_thread=False)
        if self.write:
            connection.execute("BEGIN IMMEDIATE")
        # The version is taken before anything is read, so that every later query can be held
        # against it.
        self.version = connection.execute(VERSION).fetchone()
        return connection

    def _require_unchanged(self) -> None:
        if not self.write and self.connection.execute(VERSION).fetchone() != self.version:
            raise UnreadableInput(
                f"{self.place.shown} was changed since it was first read, so the counts may be "
                "outdated; read it again"
            )

    def names(self) -> list[Name]:
        """Tables and views of the file."""
        name_rows = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        ).fetchall()
        return [Name(name) for (name,) in name_rows] + [Name(name, "main") for (name,) in name_rows]

    def identity(self, name: Name) -> str | None:
        """That of the file, and the name."""
        return identity_in(self.place.file, name)

    def described(self, name: Name) -> dict[str, Column]:
        """Every column with the type of all its values."""
        sql = (
            f"SELECT name, type FROM pragma_table_xinfo({literal(name.table)})"  # noqa: S608
            " WHERE hidden IN (0, 2, 3)"
        )
        declared = self.connection.execute(sql).fetchall()
        kinds = {column: kind.upper() for column, kind in declared}
        names = list(kinds)
        parts = [names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE)]
        return dict(item for part in parts for item in self._typed(name, part, kinds).items())

    def _typed(
        self, name: Name, columns: Sequence[str], kinds: Mapping[str, str]
    ) -> dict[str, Column]:
        """Some columns with their types, found in one pass over the table."""
        tests = [
            test.replace("?", quoted(column))
            for column in columns
            for test in _tests(kinds[column])
        ]
        tests_sql = ", ".join(f"max({test})" for test in tests)
        # Quoted names.
        row = self.connection.execute(f"SELECT {tests_sql} FROM {name.quoted}").fetchone()  # noqa: S608
        kinds_seen = [
            [bool(flag) for flag in row[start : start + TESTS]]
            for start in range(0, len(row), TESTS)
        ]
        return {
            column: self._column(column, kinds[column], column_flags)
            for column, column_flags in zip(columns, kinds_seen, strict=True)
        }

    def _column(self, column: str, declared: str, flags: Sequence[bool]) -> Column:
        integer, real, text, blob, huge, otherwise = flags
        select = quoted(column)
        if sum((integer or real, text, blob)) > 1 or (integer and real and huge):
            kinds = [
                word
                for word, is_present in zip(
                    ("integer", "real", "text", "blob"), flags, strict=False
                )
                if is_present
            ]
            raise UnreadableInput(
                f"column {column!r} of {self.place.shown} holds values of several types "
                f"({', '.join(kinds)}); convert them to one in the table or in a view"
            )
        if real:
            return Column(f"CAST({select} AS REAL)", pl.Float64())
        if integer or (not text and not blob and "INT" in declared):
            is_boolean = integer and declared.startswith("BOOL") and not otherwise
            return Column(select, pl.Boolean() if is_boolean else pl.Int64())
        if blob:
            return Column(select, pl.Binary())
        if text and declared == "DATE" and not otherwise:
            return Column(select, pl.Date())
        if text and declared in ("TIMESTAMP", "DATETIME") and not otherwise:
            return Column(select, pl.Datetime("us"))
        return Column(f"{select} COLLATE BINARY", pl.String())

    def raw(self, sql: str) -> Iterator[pl.DataFrame]:
        """The rows, read by Python; types are those of the values."""
        self._require_unchanged()
        with contextlib.closing(self.connection.execute(sql)) as cursor:
            names = [description[0] for description in cursor.description]
            while rows := cursor.fetchmany(BATCH):
                columns = zip(names, zip(*rows, strict=True), strict=True)
                yield pl.DataFrame(
                    [pl.Series(name, values, strict=True) for name, values in columns]
                )

    def execute(self, sql: str) -> None:
        """Do what gives no rows."""
        with self.guarded():
            self.connection.execute(sql)

    def storable(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Floats that are none are missing; short decimals are floats; times of day, spans and
        moments in a zone are text.
        """
        rows = spans_as_text(without_categories(rows, self.place))
        storable_rows = pl.DataFrame(
            [column.cast(_sqlite_dtype(column.dtype)) for column in rows.iter_columns()]
        )
        return storable_rows.with_columns(pl.selectors.float().cast(pl.Float64).fill_nan(None))

    def put(self, name: Name, rows: pl.DataFrame, *, create: bool) -> None:
        """Insert rows one by one, as SQLite does."""
        with self.guarded():
            if create:
                declared = ", ".join(
                    f"{quoted(n)} {_sqlite_type(dtype)}" for n, dtype in rows.schema.items()
                )
                self.connection.execute(f"CREATE TABLE {name.quoted} ({declared})")
            placeholders = ", ".join("?" * rows.width)
            storable_rows = rows.with_columns(
                pl.selectors.date().dt.to_string("%Y-%m-%d"),
                pl.selectors.datetime().dt.to_string("%Y-%m-%d %H:%M:%S%.6f"),
            )
            self.connection.executemany(
                f"INSERT INTO {name.quoted} VALUES ({placeholders})",  # noqa: S608
                storable_rows.iter_rows(),
            )


def _sqlite_dtype(dtype: pl.DataType) -> pl.DataType:
    if isinstance(dtype, pl.Decimal):
        if dtype.precision <= 15:
            return pl.Float64()
        return pl.String()
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        return pl.Datetime("us")
    if dtype not in (pl.Time, pl.Duration, pl.UInt64, pl.Int128, pl.Datetime):
        return dtype
    return pl.String()


def _sqlite_type(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "INTEGER"
    sql_types = {pl.Float64: "REAL", pl.Boolean: "BOOLEAN", pl.Date: "DATE", pl.Binary: "BLOB"}
    if isinstance(dtype, pl.Datetime):
        return "TIMESTAMP"
    return sql_types.get(type(dtype), "TEXT")


_SECONDS = "substr(?, 1, 19) IS datetime(substr(?, 1, 19))"
_FRACTION = "(length(?) = 19 OR substr(?, 20) GLOB '.[0-9][0-9][0-9][0-9][0-9][0-9]')"
_OTHERWISE = {
    "DATE": "? IS NOT NULL AND ? IS NOT date(?)",
    **dict.fromkeys(
        ("TIMESTAMP", "DATETIME"), f"? IS NOT NULL AND NOT ({_SECONDS} AND {_FRACTION})"
    ),
    **dict.fromkeys(("BOOL", "BOOLEAN"), "? IS NOT NULL AND ? NOT IN (0, 1)"),
}
"""Whether a value is not what the column is declared to hold; SQLite itself takes anything
anywhere.
"""


def _tests(declared: str) -> tuple[str, ...]:
    """What is looked for in every value of a column: its types, numbers that no float holds, and
    what was not declared.
    """
    types = tuple(f"typeof(?) = '{kind}'" for kind in ("integer", "real", "text", "blob"))
    huge = "typeof(?) = 'integer' AND ? NOT BETWEEN -9007199254740992 AND 9007199254740992"
    return (*types, huge, _OTHERWISE.get(declared, "0"))


TESTS = len(_tests(""))
AT_ONCE = 200
"""Columns of which types are found in one pass: a query gives two thousand results at most."""
VERSION = "PRAGMA data_version"
"""Another number after every change that somebody else made."""


# DuckDB, through its own connection.


class Duck(Transaction):
    """DuckDB, to write into a file; it is read as any relation is."""

    capitals = False

    def opened(self) -> Any:
        """A connection in a transaction; whoever reads the file in this process lets go of it
        meanwhile.
        """
        duckdb = require("duckdb", extra="duckdb", to="write into DuckDB")
        type(self).errors = (duckdb.Error, pl.exceptions.PolarsError)
        self.readers = [reader for reader in ATTACHED if is_same_file(reader.file, self.place.file)]
        for reader in self.readers:
            reader.let_go()
        try:
            connection = duckdb.connect(str(self.place.file))
            connection.begin()
        except duckdb.Error as error:
            self._take_back()
            raise OutputError(
                f"{self.place.shown} cannot be written to: it is read-only, or another program has "
                f"locked it ({type(error).__name__})"
            ) from None
        return connection

    def close(self) -> None:
        """End it, once, and give the file back to who reads it."""
        if self.runs:
            super().close()
            self._take_back()

    def _take_back(self) -> None:
        for reader in self.readers:
            reader.take()

    def names(self) -> list[Name]:
        """Tables and views of the file."""
        return _ducks(self.connection, "current_database()")

    def identity(self, name: Name) -> str | None:
        """That of the file, and the name."""
        return identity_in(self.place.file, name)

    def described(self, name: Name) -> dict[str, Column]:
        """Every column as DuckDB gives it, text by its characters."""
        sql = f"SELECT * FROM {name.quoted} LIMIT 0"  # noqa: S608 - a quoted name
        schema = pl.DataFrame(self.connection.sql(sql).to_arrow_table()).schema
        return {
            column: Column(plain_text(column, dtype), dtype) for column, dtype in schema.items()
        }

    def raw(self, sql: str) -> Iterator[pl.DataFrame]:
        """The rows in Arrow batches."""
        for batch in self.connection.sql(sql).to_arrow_reader(BATCH):
            yield pl.DataFrame(batch)

    def execute(self, sql: str) -> None:
        """Do what gives no rows."""
        with self.guarded():
            self.connection.execute(sql)

    def storable(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows as they are, categories as text."""
        return without_categories(rows, self.place)

    def put(self, name: Name, rows: pl.DataFrame, *, create: bool) -> None:
        """Take rows over from Arrow."""
        with self.guarded():
            self.connection.register("sfumato rows", rows.to_arrow())
            if create:
                do = f"CREATE TABLE {name.quoted} AS"
            else:
                do = f"INSERT INTO {name.quoted}"
            # A quoted name.
            self.connection.execute(f'{do} SELECT * FROM "sfumato rows"')  # noqa: S608
            self.connection.unregister("sfumato rows")


def plain_text(column: str, dtype: pl.DataType) -> str:
    """The SQL that selects a column of DuckDB without the collation it may have."""
    if dtype == pl.String:
        return f"decode(encode({quoted(column)}))"
    return quoted(column)


ATTACHED: weakref.WeakSet[Attached] = weakref.WeakSet()
"""Files of DuckDB that are read in this process: DuckDB lets nobody write into one that is
attached.
"""


class Attached:
    """A file of DuckDB, attached to a connection in memory to be read."""

    def __init__(self, place: Address) -> None:
        self.place, self.file = place, place.file.absolute()
        if not self.file.is_file():
            raise UnreadableInput(f"{place.shown} does not exist; check the path")
        self.duckdb: Any = require("duckdb", extra="duckdb", to="let DuckDB read")
        self.connection: Any = self.duckdb.connect()
        self.take()
        ATTACHED.add(self)
        weakref.finalize(
            self, _detached, self.connection
        )  # a release may hold the connection for longer

    def take(self) -> None:
        """Attach the file."""
        try:
            self.connection.execute(
                f"ATTACH {literal(str(self.file))} AS sfumato_source (READ_ONLY)"
            )
        except self.duckdb.Error as error:
            raise UnreadableInput(
                f"{self.place.shown} cannot be read: it is not a DuckDB file, or another program "
                f"writes to it ({type(error).__name__})"
            ) from None

    def let_go(self) -> None:
        """Detach it, so that somebody may write."""
        _detached(self.connection)

    def relation(self, name: Name) -> Any:
        """A table of the file; text without a collation, which would take two spellings for one."""
        names_present = _ducks(self.connection, "'sfumato_source'")
        if name not in names_present:
            raise no_table(self.place, name, names_present)
        table = f"sfumato_source.{Name(name.table, name.schema or 'main').quoted}"
        require_no_spans(self.connection.sql(f"SELECT * FROM {table}"))  # noqa: S608 - a quoted name
        schema = pl.DataFrame(
            self.connection.sql(f"SELECT * FROM {table} LIMIT 0").to_arrow_table()  # noqa: S608
        ).schema
        table_name = literal(name.table)
        tables = f"SELECT sql FROM duckdb_tables() WHERE table_name = {table_name}"  # noqa: S608
        view_sql = [sql for (sql,) in self.connection.sql(tables).fetchall()]
        # a view may have any
        collated = not view_sql or any("COLLATE" in sql.upper() for sql in view_sql)
        listed = ", ".join(
            f"{plain_text(n, d)} AS {quoted(n)}" if collated else quoted(n)
            for n, d in schema.items()
        )
        return self.connection.sql(f"SELECT {listed} FROM {table}")  # noqa: S608


def _detached(connection: Any) -> None:
    connection.execute("DETACH DATABASE IF EXISTS sfumato_source")


def _ducks(connection: Any, database: str) -> list[Name]:
    """Tables and views of a database of DuckDB; those of the first schema without its name too."""
    sql = (
        "SELECT schema_name, table_name FROM duckdb_tables()"  # noqa: S608
        f" WHERE database_name = {database}"
        " UNION ALL SELECT schema_name, view_name FROM duckdb_views()"
        f" WHERE database_name = {database} AND NOT internal"
    )
    name_rows = connection.sql(sql).fetchall()
    return [Name(name) for schema, name in name_rows if schema == "main"] + [
        Name(name, schema) for schema, name in name_rows
    ]


TRANSACTIONS: dict[str, type[Transaction]] = {
    "postgresql": Postgres,
    "sqlite": Sqlite,
    "duckdb": Duck,
}


def begun(database: Address, *, write: bool = False) -> Transaction:
    """A transaction with a database."""
    return TRANSACTIONS[database.kind](database, write=write)
