"""A table that an engine holds: described like any other, counted and read by its engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

import narwhals as nw
import polars as pl

from sfumato.core.described import Described
from sfumato.core.encoding import one_record_each
from sfumato.core.evidence import columns_seen, gather
from sfumato.core.parameters import ExtensibleMembers
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import DATA
from sfumato.core.source import Intake, Source
from sfumato.core.table import Table, refuse_patterns
from sfumato.data.lazy import on_polars, on_sql
from sfumato.data.lazy.choice import distinct_rows
from sfumato.data.lazy.digest import RowsDigest
from sfumato.data.lazy.file_types import types_of_files, with_types_of_files
from sfumato.data.lazy.observed_values import Fingerprint, Handed, Watch
from sfumato.data.table.values import with_values
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.data import Context, StepsResult
    from sfumato.core.model import ClassEvidence, Model
    from sfumato.core.recipe import Recipe

MOST_COMBINATIONS = 20_000_000
"""Distinct combinations that are counted in memory: about one gigabyte."""
MOST_VALUES = 20_000_000
"""Distinct values of one column that are held in memory, so that what stands for each of them can
be told to an engine.
"""


SURELY = 2
"""An estimate of combinations must be so many times what fits to be believed without counting."""


class TooManyCombinations(SchemaError):
    """The combinations of values of some columns do not fit into memory."""


def _too_many(names: Sequence[str], max_combinations: int) -> TooManyCombinations:
    return TooManyCombinations(
        f"the columns {', '.join(names)} have more than {max_combinations:,} combinations of "
        "values, which do not fit into memory; make the finest of them coarser before (round, cut "
        "or code it in the query), or leave out columns that no promise needs"
    )


class Tick(Protocol):
    """Called with the number of rows seen so far."""

    def __call__(self, rows: int) -> None: ...  # noqa: D102


def unheard(rows: int) -> None:
    """Tell nobody."""


def unseen(rows: pl.DataFrame) -> None:
    """Show nobody."""


class Engine(Protocol):
    """What every engine does: the functions of its module."""

    name: str
    RESUMES: bool
    """Whether it costs little to look at a few rows and then to ask for all of them."""

    def columns_of(self, frame: Any) -> list[str]: ...  # noqa: D102
    def rows_of(self, frame: Any) -> int: ...  # noqa: D102
    def counted(  # noqa: D102
        self, frame: Any, columns: Any, max_combinations: int, tick: Tick
    ) -> pl.DataFrame | None: ...
    def batches(self, frame: Any, columns: Any, tick: Tick) -> Iterator[pl.DataFrame]: ...  # noqa: D102
    def scanned(self, parts: Any, like: Any) -> Any: ...  # noqa: D102

    @property
    def workers(self) -> Workers | None:
        """Those who see rows where they are; None: all rows come to us, in batches."""
        ...


class ParquetEngine(Engine, Protocol):
    """An engine that is chosen by its name: it opens files."""

    def opened(self, parts: Sequence[Path], memory: int) -> Any:
        """Parts of Parquet as a frame that narwhals knows, or as an :class:`EngineFrame`."""
        ...


class EngineFrame:
    """The rows that an engine holds, where narwhals does not know its frames."""

    engine_name: ClassVar[str]

    def collect_schema(self) -> nw.Schema:
        """The types of the columns, as narwhals tells them."""
        raise NotImplementedError

    def to_native(self) -> Any:
        """Itself: there is no other form of it."""
        return self


_FUNCTIONS = ("opened", "columns_of", "rows_of", "counted", "batches", "scanned")


def _is_engine(value: object) -> bool:
    functions = [getattr(value, function, None) for function in _FUNCTIONS]
    return isinstance(getattr(value, "name", None), str) and all(map(callable, functions))


ENGINES = ExtensibleMembers(
    "sfumato.data.lazy",
    {"polars": "on_polars", "duckdb": "on_duckdb", "spark": "on_spark"},
    kind="engines",
    noun="engine",
    belongs=_is_engine,
)
"""The engines by name, each a module (see :class:`ParquetEngine`)."""


class Workers(Protocol):
    """What an engine lets its workers do with the rows that each of them has."""

    def release(self, frame: Any, job: Job, folder: Path) -> Handed:
        """Release all rows into parts in an empty folder."""
        ...

    def digest(self, frame: Any) -> RowsDigest:
        """The digest of all rows."""
        ...

    def add_up(self, frame: Any, columns: Sequence[str], sums: Fingerprint) -> None:
        """Add what some columns of all rows hold to their sums."""
        ...

    def repeats(
        self,
        frame: Any,
        read: Callable[[pl.DataFrame], Table],
        keys: Callable[[Table], NDArray[np.uint64]],
    ) -> NDArray[np.uint64]:
        """The keys that several rows share, sorted."""
        ...

    def distinct(
        self,
        frame: Any,
        columns: Sequence[str],
        words: Callable[[pl.DataFrame], Sequence[NDArray[np.uint64]]],
        count: int,
    ) -> list[int]:
        """About how many different words there are, for each of so many words of a row."""
        ...

    def counted_by_places(
        self,
        frame: Any,
        columns: Sequence[str],
        replaced: Sequence[str],
        places: Callable[[pl.DataFrame], dict[str, pl.Series]],
        max_combinations: int,
    ) -> pl.DataFrame | None:
        """The distinct combinations of some columns and, last, how many rows have each, where
        places stand for the values of some of them; None: there are too many.
        """
        ...


class Conveyor(Protocol):
    """The steps that rows go through; it is ``started`` for every pass, in which equal rows come
    together where it draws.
    """

    @property
    def draws(self) -> bool: ...  # noqa: D102
    def keys(self, rows: Table) -> NDArray[np.uint64]: ...  # noqa: D102
    def started(self) -> Conveyor: ...  # noqa: D102
    def released(self, rows: Table) -> Table: ...  # noqa: D102


@dataclasses.dataclass(frozen=True)
class Job:
    """What is to be made of the rows of a table, for workers elsewhere: all that they must know,
    and none of the rows.

    ``watch`` has seen no rows yet, ``parts`` is into how many files they go, and ``order`` the key
    that orders what is released (None: it stays as it comes).
    """

    line: Conveyor
    schema: Schema
    source: Source
    watch: Watch
    parts: int
    order: int | None

    def started(self) -> Job:
        """The same, for one pass over rows."""
        return dataclasses.replace(self, line=self.line.started())

    def read(self, rows: pl.DataFrame) -> Table:
        """Some rows as they came, as a table."""
        return in_memory(rows, self.source).with_schema(self.schema)


def in_memory(rows: pl.DataFrame, source: Source, copies: NDArray[np.int64] | None = None) -> Table:
    """Rows of a table, read as was said about its values."""
    plain = dataclasses.replace(source, intake=Intake())
    typed = with_types_of_files(rows, source)
    table = Table(typed, source=plain, copies=copies)  # type: ignore[arg-type]
    return with_values(table, source.intake)


def engine_of(frame: Any) -> Engine:
    """The engine that holds a lazy frame or a table of a database."""
    if isinstance(frame, on_sql.DatabaseTable):
        return on_sql
    if isinstance(frame, EngineFrame):
        name = frame.engine_name
    else:
        # narwhals says PYSPARK, PYSPARK_CONNECT, POLARS, DUCKDB; one module serves both kinds of
        # Spark.
        name = frame.implementation.name.lower().removesuffix("_connect").removeprefix("py")
    if name not in ENGINES:
        raise SchemaError(
            f"lazy frames of {name} are not supported; supported are {', '.join(ENGINES)}"
        )
    engine: Engine = ENGINES[name]
    return engine


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LazyTable(Described):
    """A table that is not in memory: a lazy frame (polars, DuckDB, Spark) or a table of a database,
    with a schema.

    Nothing of it is read before it must be; ``counted`` and ``batches`` are the two ways to see its
    rows. ``memo`` remembers what was counted. ``parts`` are the files it is read from, where they
    are known; ``keep`` is what must live as long as the table does, such as the folder of its
    parts.
    """

    release_home: ClassVar[str] = "sfumato.release.lazy_release:LazyRelease"

    frame: nw.LazyFrame[Any]
    parts: tuple[Path, ...] = ()
    keep: Any = None
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        frame: Any = self.frame
        is_frame = isinstance(frame, nw.LazyFrame | on_sql.DatabaseTable | EngineFrame)
        object.__setattr__(self, "frame", frame if is_frame else nw.from_native(frame).lazy())
        engine_of(self.frame)

    @classmethod
    def of(cls, table: Table | LazyTable) -> LazyTable:
        """A table as it is where an engine holds it; one in memory is handed to polars."""
        if isinstance(table, LazyTable):
            return table
        frame = table.to_polars().lazy()
        return cls(frame, schema=table.schema, source=table.source)  # type: ignore[arg-type]

    @property
    def engine(self) -> Engine:
        """The functions of the engine that holds it."""
        return engine_of(self.frame)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        if "columns" not in self.memo:
            column_types = self.engine.columns_of(self.frame)
            refuse_patterns(column_types)
            if "*" in column_types:
                raise SchemaError(
                    f"column number {column_types.index('*') + 1} is called *, which means all "
                    "columns to engines; rename it"
                )
            self.memo["columns"] = column_types
        return list(self.memo["columns"])

    def type_of_column(self, name: str) -> Any:
        """The type of a column: that of the files, whatever the engine makes of it."""
        file_type = types_of_files(self.source).get(name)
        if file_type is None:
            engine_type = super().type_of_column(name)
            # A type that narwhals has no name for, such as TIME_NS of DuckDB: the one that the
            # column has when its rows come to us.
            types_of = getattr(self.engine, "types_of", None)
            if engine_type != nw.Unknown or types_of is None:
                return engine_type
            file_type = types_of(self.frame.to_native())[name]
        return nw.from_native(pl.Series(name, [], dtype=file_type), series_only=True).dtype

    @property
    def records(self) -> int:
        """Number of rows, counted once."""
        if "records" not in self.memo:
            self.memo["records"] = self.engine.rows_of(self.frame)
        record_count: int = self.memo["records"]
        return record_count

    def input_digest(self) -> str:
        """The digest that a certificate commits to."""
        return self.digest

    def in_memory(self, purpose: str) -> NoReturn:
        """Refuse: the rows stay with the engine."""
        raise ParameterError(
            f"{purpose} needs the rows of {self.source.name}, which {self.engine.name} reads; read "
            "it into memory (engine='memory'), or a sample of it"
        )

    def counted_for(self, models: Sequence[Model]) -> Table:
        """The combinations that models look at, counted by the engine."""
        return self.counted(columns_seen(models, self.schema))

    def described_by(self, recipe: Recipe) -> LazyTable:
        """The table with the recipe's schema, its values read as the recipe says where reading did
        not say otherwise.
        """
        return self.described(recipe.schema, recipe.intake)

    def evidence(
        self, models: Sequence[Model], *, original: Any = None, **gather_options: Any
    ) -> ClassEvidence:
        """Everything that the models need to judge the table, counted by the engine."""
        return gather(self.counted_for(models), models, original=original, **gather_options)

    def compare(self, original: Any, steps: StepsResult) -> NoReturn:
        """Refuse: measures look at a sample that the steps drew."""
        self.in_memory("a comparison row by row")

    def prepare(self, recipe: Recipe, context: Context) -> Any:
        """Refuse what needs all rows in memory, and count what promises and plans look at."""
        from sfumato.core import registry

        return registry.function_of_run("prepare_lazy_table", lazy=True)(self, recipe, context)

    def run_steps(self, recipe: Recipe, context: Context) -> StepsResult:
        """Plan on counts and write the released rows in parts; a table is prepared before."""
        from sfumato.core import registry

        result: StepsResult = registry.function_of_run("run_lazy_steps", lazy=True)(
            self, recipe, context
        )
        return result

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> LazyTable:
        """The table of that name, handed to polars and described."""
        frame: Any = tables[DATA].lazy()
        return cls(frame, source=source).with_schema(schemas[DATA])

    def to_tables(self) -> Mapping[str, pl.DataFrame]:
        """Refuse: the rows are written in parts."""
        self.in_memory("a file of the whole table")

    def __repr__(self) -> str:
        roles = [
            f"  {n}: {' + '.join(a.roles)} ({a.kind})" for n, a in self.schema.attributes.items()
        ]
        head = (
            f"LazyTable {self.source.name!r} read by {self.engine.name}: {len(self.columns)} "
            "columns"
        )
        return "\n".join([head, *roles[:30], *(["  …"] if len(roles) > 30 else [])])

    def to_native(self) -> Any:
        """The frame in the user's own kind."""
        return self.frame.to_native()

    def counted(
        self,
        columns: Iterable[str],
        tick: Tick = unheard,
        max_combinations: int | None = None,
        *,
        distinct: bool = True,
    ) -> Table:
        """The distinct combinations of some columns as a table in memory, whose rows say how many
        records they stand for.

        Without ``distinct`` a combination may come more than once: where hardly two rows are alike
        they come as they are, since merging them would cost more than all that is done with them,
        and leave nearly as many.

        Raises:
            TooManyCombinations: there are more than ``max_combinations``, twenty million where
            nothing is said.
        """
        column_names = set(columns)
        names = tuple(name for name in self.columns if name in column_names)
        if names not in self.memo:
            bound = MOST_COMBINATIONS if max_combinations is None else max_combinations
            if (
                self.engine.RESUMES
                and self.records > SURELY * bound
                and self._look_like_more(names, SURELY * bound)
            ):
                raise _too_many(names, bound)
            rows = None if distinct else self._rows_hardly_alike(names, tick, bound)
            if rows is not None:
                return rows.with_schema(self.part_of_schema(names))
            self.memo[names] = self._count(names, tick, bound)
        combinations: Table = self.memo[names]
        return combinations.with_schema(self.part_of_schema(names))

    def _look_like_more(self, names: tuple[str, ...], max_combinations: int) -> bool:
        """Whether the first rows tell of more combinations: then it is in vain to let the engine
        group all of them.
        """
        first = next(iter(self.engine.batches(self.frame, names, unheard)))
        return distinct_rows(first, names, self.records) > max_combinations

    def _rows_hardly_alike(
        self, names: tuple[str, ...], tick: Tick, max_combinations: int
    ) -> Table | None:
        """Some columns of all rows; None where rows seem to repeat, are too many, or are dear to
        look at.
        """
        added_up = {*self.schema.columns(Role.WEIGHT), *self.schema.units}
        # Weights and units are added up per combination, for which equal rows must be merged.
        if not self.engine.RESUMES or added_up & set(names):
            return None
        pieces, sums = list[pl.DataFrame](), Fingerprint.fresh(names)
        for batch in self.engine.batches(self.frame, names, tick):
            # The first batch decides; once rows are taken as they are, all of them must be.
            if not pieces and not (
                on_polars.hardly_repeats(batch) and self.records <= max_combinations
            ):
                return None
            pieces.append(batch)
        rows = pl.concat(pieces)
        if rows.height > max_combinations:
            return None
        self.memo.setdefault("records", rows.height)
        if not self.digested:
            sums.see(rows)
            self.memo["sums", names] = sums
        return self.rows_in_memory(rows, one_record_each(rows.height)).with_text_coded()

    def _count(self, names: tuple[str, ...], tick: Tick, max_combinations: int) -> Table:
        counts = self.engine.counted(self.frame, names, max_combinations, tick)
        if counts is None:
            raise _too_many(names, max_combinations)
        if set(self.schema.columns(Role.WEIGHT)) & set(
            names
        ):  # sums of fractions depend on their order
            counts = counts.sort(pl.nth(range(len(names))))
        copies = counts.to_series(counts.width - 1).to_numpy()
        self.memo.setdefault("records", int(copies.sum()))
        if not self.digested:
            self.memo["sums", names] = Fingerprint.fresh(names)
            self.memo["sums", names].see(counts, copies)
        return self.rows_in_memory(counts.drop(counts.columns[-1]), copies).with_text_coded()

    def values_of(self, name: str) -> Table:
        """The distinct values of a column, row by row as they are read, counted.

        Raises:
            TooManyCombinations: there are more than twenty million.
        """
        return self.counted([name], max_combinations=MOST_VALUES)

    def rows_in_memory(self, rows: pl.DataFrame, copies: NDArray[np.int64] | None = None) -> Table:
        """Some rows of the table, read as was said about its values."""
        return in_memory(rows, self.source, copies)

    def collected(self) -> Table:
        """The whole table in memory."""
        rows = list(self._read(unheard))
        table = self.rows_in_memory(pl.concat(rows) if rows else pl.DataFrame(schema=self.columns))
        return dataclasses.replace(
            table, source=dataclasses.replace(table.source, digest=self.digest)
        ).with_schema(self.schema)

    def _read(self, tick: Tick) -> Iterator[pl.DataFrame]:
        """All rows as they are; where no file has a digest that of the rows is found on the way."""
        digest = (
            RowsDigest(self.columns)
            if self.source.digest is None and "digest" not in self.memo
            else None
        )
        for rows in self.engine.batches(self.frame, self.columns, tick):
            if digest is not None:
                digest.add(rows)
            yield rows
        if digest is not None:
            self.memo["digest"] = digest.hexdigest()

    @property
    def digest(self) -> str:
        """SHA-256 of the files that the table is read from; of its rows in any order where there
        are none.
        """
        if self.source.digest is not None:
            return self.source.digest
        if "digest" not in self.memo and self.engine.workers is not None:
            self.memo["digest"] = self.engine.workers.digest(self.frame).hexdigest()
        if "digest" not in self.memo:
            for _ in self._read(unheard):
                pass
        digest: str = self.memo["digest"]
        return digest

    def described(self, schema: Schema, intake: Intake) -> LazyTable:
        """The table with a schema, its values read as is said where reading did not say
        otherwise.
        """
        schema.check(self.columns, self.source)
        source = dataclasses.replace(
            self.source, intake=self.source.intake.over(intake.about_values)
        )
        return dataclasses.replace(self, source=source).with_schema(schema)

    def with_schema(self, schema: Schema) -> LazyTable:
        """The table with another schema; hierarchies that learn from a column see it counted beside
        their own.
        """
        described_table = super().with_schema(schema)
        learnt_hierarchies = {}
        for name, attribute in described_table.schema.attributes.items():
            column = attribute.hierarchy.learns_from if attribute.hierarchy is not None else None
            if column is not None:
                described_table.require([column])
                learnt_hierarchies[name] = (
                    described_table.counted([name, column]).schema[name].hierarchy
                )
        return (
            described_table._with("hierarchy", learnt_hierarchies)
            if learnt_hierarchies
            else described_table
        )

    @property
    def digested(self) -> bool:
        """Whether the files that it is read from have a digest: it shows a change better than sums
        of what the rows hold, and needs no hash of every row.
        """
        return self.source.digest is not None and bool(self.parts)

    def pieces_of(
        self,
        columns: Sequence[str],
        tick: Tick = unheard,
        see: Callable[[pl.DataFrame], None] = unseen,
    ) -> Iterator[Table]:
        """Some columns of all rows as tables in memory, some rows at a time, in any order; ``see``
        gets them as they came.
        """
        schema = self.part_of_schema(columns)
        for rows in self.engine.batches(self.frame, columns, tick):
            see(rows)
            yield self.rows_in_memory(rows).with_schema(schema)

    def part_of_schema(self, names: Iterable[str]) -> Schema:
        """What some of the columns are."""
        return Schema({name: self.schema[name] for name in names if name in self.schema.attributes})

    def batches(
        self, tick: Tick = unheard, see: Callable[[pl.DataFrame], None] = unseen
    ) -> Iterator[Table]:
        """All rows as tables in memory, some at a time, in any order; ``see`` gets them as they
        came.
        """
        for rows in self._read(tick):
            see(rows)
            yield self.rows_in_memory(rows).with_schema(self.schema)
