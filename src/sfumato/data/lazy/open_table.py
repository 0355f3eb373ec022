"""Opening a table that should not be read into memory: lazy frames, folders of Parquet, files that
are too large.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from sfumato.core.recipe import Recipe
from sfumato.core.source import Source
from sfumato.core.table import Table
from sfumato.data.lazy.choice import engine_for
from sfumato.data.lazy.databases import Name, address, identity_in
from sfumato.data.lazy.drivers import Attached, begun
from sfumato.data.lazy.file_types import (
    PartsSource,
    released_otherwise,
    require_names,
    require_types,
)
from sfumato.data.lazy.on_sql import DatabaseTable
from sfumato.data.lazy.part_files import (
    ABOUT_VALUES,
    SUFFIXES,
    PartFiles,
    about_values,
    find_parts,
    is_in_parts,
)
from sfumato.data.lazy.table import ENGINES, EngineFrame, LazyTable, ParquetEngine
from sfumato.errors import ParameterError, UnreadableInput, did_you_mean

MEMORY = "memory"
AUTO = "auto"
COMFORTABLE = 0.125
"""Share of the machine's memory that the cells of a table may take to be read as a whole: working
on it takes several times as much.
"""
PLAIN_TYPES = (pl.Int64, pl.Int32, pl.Int16, pl.Int8, pl.Float64, pl.Float32, pl.Boolean, pl.String)
"""Types that every engine reads as they are."""


def take_lazily(frame: Any, options: Mapping[str, Any]) -> LazyTable | None:
    """A lazy frame of polars, DuckDB or Spark as a table; None for anything else. Options are about
    its values.
    """
    # By module and class name, so that neither DuckDB nor Spark must be installed.
    room, kind = type(frame).__module__.split(".")[0], type(frame).__name__
    if kind not in ("LazyFrame", "DuckDBPyRelation") and not (
        room == "pyspark" and kind == "DataFrame"
    ):
        return None
    native = frame.to_native() if isinstance(frame, nw.LazyFrame) else frame
    if type(native).__name__ == "DuckDBPyRelation":
        from sfumato.data.lazy.on_duckdb import require_no_spans

        require_no_spans(native)
    lazy_frame = frame if isinstance(frame, nw.LazyFrame) else nw.from_native(frame).lazy()
    return LazyTable(lazy_frame, source=Source(name="the table", intake=about_values(options)))


def require_named(data: str | Path) -> None:
    """Refuse an empty path, which the system takes for this folder: a shell gives it for a variable
    that was never set.
    """
    if data == "":
        raise UnreadableInput("the path of the table is empty; name a file")


def opened(
    data: str | Path, engine: str | None, options: Mapping[str, Any], recipe: Recipe | None = None
) -> Table | LazyTable | None:
    """A path as a table that an engine holds, or None where it is one file to be read as others
    are.

    Folders and patterns are parts of one table: Parquet, delimited text or JSON lines, or a Delta
    or Iceberg table. Without ``engine``, what takes up to an
    eighth of the memory is read into it and anything larger left to polars; ``auto`` looks at rows,
    distinct values and the memory at hand besides, where a ``recipe`` says what will be grouped.
    Notes say which and why.
    """
    require_engine(engine)
    in_parts = is_in_parts(data)
    if engine == MEMORY and not in_parts:
        return None
    if not in_parts and Path(data).suffix.lower() not in SUFFIXES:
        if engine not in (None, AUTO):
            raise ParameterError(
                f"{Path(data).name}: only Parquet, and folders of CSV or JSON lines, are read by "
                f"{engine}; other files are read into memory"
            )
        return None
    if engine not in (None, AUTO):
        # What was asked for needs no reason of ours.
        return _opened_by((engine, "as you said"), find_parts(data, options), data)
    # An engine takes no other options.
    plain = engine == AUTO and set(options) <= set(ABOUT_VALUES)
    if in_parts:
        parts = find_parts(data, options)
        proposal = _propose_engine(parts.files, recipe if plain else None)
        return _opened_by(proposal or (MEMORY, "it fits comfortably"), parts, data)
    proposal = _propose_engine((Path(data),), recipe if plain else None)
    if proposal is None:
        return None
    return _opened_by(proposal, find_parts(data, options), data)


def _opened_by(
    engine_and_reason: tuple[str | None, str], parts: PartFiles, data: str | Path
) -> Table | LazyTable:
    """Parts as a table that an engine holds, or read by it into memory."""
    engine, why = engine_and_reason
    source = Source(
        name=str(data),
        format="parquet",
        digest=parts.digest,
        intake=parts.intake,
        notes=(f"read by {engine}: {why}", *parts.notes),
    )
    table = held_parts(parts, str(engine), source)
    return table.collected() if engine == MEMORY else table


def from_database(
    url: str, table: str | None, engine: str | None, options: Mapping[str, Any]
) -> Table | LazyTable:
    """A table of a database, which counts it and streams its rows; ``memory`` reads it as a whole.

    What is told of where it comes from has no user and no password.
    """
    database, own = address(url), url.split("://", maxsplit=1)[0]
    if engine not in (None, AUTO, MEMORY, own):
        raise ParameterError(
            f"a table of {own} is read by its database or into memory, not by {engine}"
        )
    if table is None:
        raise ParameterError(
            f"say which table of {database.shown} you mean: table='visits', or --table visits"
        )
    name = Name.of(table)
    source = Source(
        name=name_in(url, table),
        intake=about_values(options),
        notes=(f"{own} counts it and streams its rows",),
    )
    if database.kind == "duckdb":
        attached = Attached(database)
        source = dataclasses.replace(source, identity=identity_in(database.file, name))
        held_by = LazyTable(attached.relation(name), source=source, keep=attached)
    else:
        frame: Any = DatabaseTable(database, name)
        source = dataclasses.replace(source, identity=frame.transaction.identity(name))
        held_by = LazyTable(frame, source=source)
    return held_by.collected() if engine == MEMORY else held_by


def tables_in(url: str) -> list[str]:
    """The tables and views of a database, as ``table`` takes their names; what the database keeps
    for itself is left out.
    """
    transaction = begun(address(url))
    try:
        with transaction.guarded():
            names = transaction.names()
    finally:
        transaction.close()
    # Names on the search path come with and without their schema; the short form is listed.
    near = {name.table for name in names if name.schema is None}
    own_names = [name for name in names if name.schema != "information_schema"]
    visible_names = [name for name in own_names if name.schema is None or name.table not in near]
    return list(
        dict.fromkeys(name.said for name in visible_names if not name.table.startswith("sqlite_"))
    )


def name_in(url: str, table: str) -> str:
    """What a table of a database is called: the address without user and password, and the name."""
    return f"{address(url).shown}, table {Name.of(table)}"


def is_same_table(first_name: str, second_name: str) -> bool:
    """Whether two names of tables (see :func:`name_in`) surely mean the same, however their file or
    first schema is written.
    """

    def plain(name: str) -> tuple[str, ...]:
        database, _, table = name.rpartition(", table ")
        kind, _, path_text = database.partition(":///")
        if kind in ("sqlite", "duckdb"):
            database = f"{kind}:///{Path(path_text).resolve()}"
        return database, table.lower().removeprefix(
            "public." if kind not in ("sqlite", "duckdb") else "main."
        )

    return plain(first_name) == plain(second_name)


def require_engine(engine: str | None) -> None:
    """Refuse an engine that is not known."""
    if engine in (None, AUTO, MEMORY) or engine in ENGINES:
        return
    names = (AUTO, MEMORY, *ENGINES)
    raise ParameterError(
        f"there is no engine {engine!r}.{did_you_mean(str(engine), names)} There are:"
        f" {', '.join(names)}"
    )


def _propose_engine(parts: Sequence[Path], recipe: Recipe | None) -> tuple[str, str] | None:
    """The engine for Parquet about which nothing was said, and why; None: memory, which need not be
    explained.
    """
    if not all(part.is_file() for part in parts):
        return None
    if _is_large(parts):
        return (
            "polars",
            (
                f"its cells need about {_cells(parts) / 2**30:,.1f} GB, more than an eighth of "
                "the memory of this machine"
            ),
        )
    if recipe is None:
        return None
    try:
        return engine_for(parts, recipe, free_memory())
    except (
        pl.exceptions.PolarsError,
        OSError,
    ):  # whoever reads the file says what is wrong with it
        return None


def _is_large(parts: Sequence[Path]) -> bool:
    return _cells(parts) > COMFORTABLE * memory()


def memory() -> int:
    """Memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return 8 * 2**30


def free_memory() -> int:
    """Memory in bytes that this process can still take: what the system has left, or what a
    container leaves of it.
    """
    limits = [memory()]
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits += [
            int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")
        ]
    with contextlib.suppress(OSError, ValueError):  # "max": no limit
        container = Path("/sys/fs/cgroup")
        limit, used = (
            int((container / name).read_text(encoding="ascii"))
            for name in ("memory.max", "memory.current")
        )
        limits.append(max(0, limit - used))
    return min(limits)


def _cells(parts: Sequence[Path]) -> int:
    """About how many bytes the cells of Parquet files take in memory, from their sizes alone: they
    are packed about five times.
    """
    return 5 * sum(part.stat().st_size for part in parts if part.is_file())


def _lazy(frame: Any) -> Any:
    """A frame as its engine takes it."""
    return frame if isinstance(frame, EngineFrame) else nw.from_native(frame).lazy()


def held(parts: tuple[Path, ...], engine: str, source: Source) -> LazyTable:
    """Parts of Parquet as a table of an engine."""
    return held_parts(PartFiles(parts, "", source.intake), engine, source)


def held_parts(parts: PartFiles, engine: str, source: Source) -> LazyTable:
    """The files of a table as a table of an engine, with columns that stand outside of them."""
    holder: ParquetEngine = ENGINES["polars" if engine == MEMORY else engine]
    types = pl.Schema(pl.read_parquet_schema(parts.files[0]))
    if parts.constants is None:
        frame = holder.opened(parts.files, memory())
    else:
        opened_with = getattr(holder, "opened_with_constants", None)
        if opened_with is None:
            raise ParameterError(
                f"{holder.name} does not read columns from the names of folders here: use --engine "
                "polars or duckdb, or give the frame of its own session: sf.read(frame)"
            )
        frame = opened_with(parts.files, memory(), parts.constants)
        types |= parts.constants.types
    require_names(holder.name, holder.columns_of(_lazy(frame)), list(types))
    types_of = getattr(holder, "types_of", None)
    if types_of is not None and any(not isinstance(t, PLAIN_TYPES) for t in types.values()):
        require_types(holder.name, types_of(frame), types)
    fields = {field.name: getattr(source, field.name) for field in dataclasses.fields(source)}
    notes = source.notes if engine == MEMORY else (*source.notes, *released_otherwise(types))
    typed = PartsSource(
        **{**fields, "notes": notes},
        types=types,
        constants=parts.constants,
        content=parts.content,
    )
    return LazyTable(frame, source=typed, parts=parts.files, keep=parts.keep)
