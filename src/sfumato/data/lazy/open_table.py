"""Opening a table that should not be read into memory: lazy frames, folders of Parquet, files that
are too large.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from sfumato.core.recipe import Recipe
from sfumato.core.source import Intake, Source
from sfumato.core.table import Table
from sfumato.core.words import join_words
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
SUFFIXES = (".parquet", ".pq")
MAGIC = "*?["
ABOUT_VALUES = ("missing_values", "missing_in", "unicode", "blanks")


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
    lazy_frame = frame if isinstance(frame, nw.LazyFrame) else nw.from_native(frame).lazy()
    return LazyTable(lazy_frame, source=Source(name="the table", intake=_about_values(options)))


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

    Folders and patterns are Parquet parts of one table. Without ``engine``, what takes up to an
    eighth of the memory is read into it and anything larger left to polars; ``auto`` looks at rows,
    distinct values and the memory at hand besides, where a ``recipe`` says what will be grouped.
    Notes say which and why.
    """
    require_engine(engine)
    has_many_tables = _is_several(data)
    if engine == MEMORY and not has_many_tables:
        return None
    if not has_many_tables and Path(data).suffix.lower() not in SUFFIXES:
        if engine not in (None, AUTO):
            raise ParameterError(
                f"{Path(data).name}: only Parquet is read by {engine}; other files are read into"
                " memory"
            )
        return None
    # What was asked for needs no reason of ours.
    engine_and_reason = (engine, "as you said")
    if engine in (None, AUTO):
        plain = engine == AUTO and set(options) <= set(
            ABOUT_VALUES
        )  # an engine takes no other options
        proposal = _propose_engine(data, recipe if plain else None)
        if proposal is None and not has_many_tables:
            return None
        engine_and_reason = proposal or (MEMORY, "it fits comfortably")
    return _opened_by(engine_and_reason, data, options)


def _opened_by(
    engine_and_reason: tuple[str | None, str], data: str | Path, options: Mapping[str, Any]
) -> Table | LazyTable:
    """Parts of Parquet as a table that an engine holds, or read by it into memory."""
    engine, why = engine_and_reason
    parts = parts_of(data)
    source = Source(
        name=str(data),
        format="parquet",
        intake=_about_values(options),
        notes=(f"read by {engine}: {why}",),
    )
    table = held(parts, str(engine), dataclasses.replace(source, digest=digest_of_parts(parts)))
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
        intake=_about_values(options),
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


def _about_values(options: Mapping[str, Any]) -> Intake:
    idle = [name for name in options if name not in ABOUT_VALUES]
    if idle:
        raise ParameterError(
            f"a table that an engine reads takes no reading option {join_words(idle, 'or')}; it "
            f"takes {', '.join(ABOUT_VALUES)}"
        )
    return Intake.of(options)


def _is_several(data: str | Path) -> bool:
    return (any(sign in str(data) for sign in MAGIC) and not Path(data).exists()) or Path(
        data
    ).is_dir()


def parts_of(data: str | Path) -> tuple[Path, ...]:
    """The files of a table in parts, by name; parts that differ in their columns or types are
    refused.
    """
    folder = Path(data)
    if folder.is_dir():
        paths_found = sorted(
            p
            for suffix in SUFFIXES
            for p in folder.rglob(f"*{suffix}")
            if not _hidden(p.relative_to(folder))
        )
    else:
        paths_found = (
            sorted(Path(name) for name in glob.glob(str(data), recursive=True))
            if _is_several(data)
            else [folder]
        )
    files = [path for path in paths_found if path.is_file()]
    if not files:
        raise UnreadableInput(
            f"{data}: there are no Parquet files here; check the path, name one file, or, if the "
            "folder holds several tables with keys, use a recipe with a section 'tables'"
        )
    _refuse_values_in_names(files, folder)
    _require_alike(files)
    return tuple(files)


def _refuse_values_in_names(files: Sequence[Path], folder: Path) -> None:
    """Refuse folders that hold values of a column in their names (``year=2020/``): read alone,
    parts lack that column.
    """
    # Folders above the one that was named are the user's own business: only those below are judged.
    folder_keys = {part for part in folder.parts if "=" in part}
    partition_parts = {
        part for file in files for part in file.parent.parts if "=" in part
    } - folder_keys
    if partition_parts:
        keys = sorted({part.split("=")[0] for part in partition_parts})
        raise UnreadableInput(
            f"{folder}: the values of {', '.join(keys)} are in the names of its folders and "
            "missing from the parts; give the lazy frame of an engine that reads them: "
            "sf.read(pl.scan_parquet(folder, hive_partitioning=True))"
        )


def _hidden(path: Path) -> bool:
    """What engines leave beside parts: marks of success, checksums, unfinished work."""
    return any(part.startswith(("_", ".")) for part in path.parts)


def _require_alike(files: Sequence[Path]) -> None:
    """Refuse parts that are damaged, or have other columns or types than the first."""
    first: Any = None
    for file in files:
        try:
            schema = pl.read_parquet_schema(file)
        except (pl.exceptions.PolarsError, OSError):
            raise UnreadableInput(
                f"{file.name} is damaged or not Parquet; remove it or write it again"
            ) from None
        if first is None:
            first = schema
        if schema != first:
            # Columns that are missing on one side, or of another type.
            differing_columns = sorted(
                {*schema, *first} - {n for n in schema if n in first and schema[n] == first[n]}
            )
            raise UnreadableInput(
                f"{file.name} differs from {files[0].name} in "
                f"{', '.join(differing_columns[:5]) or 'the order of its columns'}: give all parts "
                "of a table the same columns and types"
            )


def _propose_engine(data: str | Path, recipe: Recipe | None) -> tuple[str, str] | None:
    """The engine for Parquet about which nothing was said, and why; None: memory, which need not be
    explained.
    """
    if not _is_several(data) and not Path(data).is_file():
        return None
    parts = parts_of(data) if _is_several(data) else (Path(data),)
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


def digest_of_parts(parts: Sequence[Path]) -> str:
    """SHA-256 of the digests of all parts, which does not depend on their names or order; of one
    file its own.
    """

    def digest_part(file: Path) -> str:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()

    if len(parts) == 1:
        return digest_part(parts[0])
    # Sorted digests: parts may be renamed or come in another order and are still the same table.
    with ThreadPoolExecutor() as pool:
        return hashlib.sha256("".join(sorted(pool.map(digest_part, parts))).encode()).hexdigest()


def _lazy(frame: Any) -> Any:
    """A frame as its engine takes it."""
    return frame if isinstance(frame, EngineFrame) else nw.from_native(frame).lazy()


def held(parts: tuple[Path, ...], engine: str, source: Source) -> LazyTable:
    """Parts of Parquet as a table of an engine."""
    holder: ParquetEngine = ENGINES["polars" if engine == MEMORY else engine]
    frame = holder.opened(parts, memory())
    types = pl.Schema(pl.read_parquet_schema(parts[0]))
    require_names(holder.name, holder.columns_of(_lazy(frame)), list(types))
    types_of = getattr(holder, "types_of", None)
    if types_of is not None and any(not isinstance(t, PLAIN_TYPES) for t in types.values()):
        require_types(holder.name, types_of(frame), types)
    fields = {field.name: getattr(source, field.name) for field in dataclasses.fields(source)}
    notes = source.notes if engine == MEMORY else (*source.notes, *released_otherwise(types))
    typed = PartsSource(**{**fields, "notes": notes}, types=types)
    return LazyTable(frame, source=typed, parts=parts)
