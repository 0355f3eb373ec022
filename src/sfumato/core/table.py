"""A table about people: one frame of the user's choice and what its columns are."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, TableBlock
from sfumato.core.described import Described
from sfumato.core.encoding import (
    Encoded,
    encode,
    is_one_record_each,
    one_record_each,
    relabelled,
    tallied,
)
from sfumato.core.evidence import gather
from sfumato.core.hierarchy import JointCounts, ReadsCharacters
from sfumato.core.labels import MANY
from sfumato.core.registry import function_of_run
from sfumato.core.schema import Schema
from sfumato.core.shape import DATA
from sfumato.core.threads import side_by_side
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.data import Context, StepsResult
    from sfumato.core.model import ClassEvidence, Model
    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Marks
    from sfumato.core.recipe import Recipe
    from sfumato.core.source import Source


NOBODY = -1
"""The origin of a row that was drawn and stands for nobody."""
MOST_LABELS = 1 << 20
"""Columns of text with more labels are encoded again each time: a million texts are no longer small
beside the table.
"""


LARGE = 1 << 17
"""Rows from which a table that is read holds its text as categories."""
MOST_CATEGORIES = 1 << 16
SAMPLED = 1 << 14


def _repeats(text: pl.Series) -> bool:
    """Whether the values of a column seem to repeat: those at its head do."""
    return text.head(SAMPLED).n_unique() <= SAMPLED // 4


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """What is known of columns by name: their encodings, and the classes that some of them make
    (see ``core/classes.py``); and the lattices that steps searched.
    """

    codes: dict[str, Encoded] = dataclasses.field(default_factory=dict)
    classes: dict[tuple[str, ...], list[Any]] = dataclasses.field(default_factory=dict)
    lattices: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Table(Described, Reportable):
    """An eager frame (polars, pandas or Arrow) with a schema. Immutable: every change gives a new
    one.

    The index of a pandas frame is left behind: what identifies rows must be a column with a role.
    ``origin`` holds, per row, the number of the row of the table it was derived from; None means
    the rows are the original ones in their order. ``copies`` says how many records each row stands
    for, where a larger table was counted; None means one. ``marks`` are what random draws of its
    rows are keyed by; None: the rows as they are. ``memo`` remembers what was counted, so that it
    is counted once; ``known`` what is known of the columns whatever the schema says of the others:
    it goes along to every table with the same rows. ``coded`` names columns of text that the frame
    of a large table holds as categories, which take a tenth of the room
    (see :meth:`with_text_coded`).
    """

    release_home: ClassVar[str] = "sfumato.release.table_release:TableRelease"

    frame: nw.DataFrame[Any]
    origin: NDArray[np.int64] | None = None
    copies: NDArray[np.int64] | None = None
    marks: Marks | None = None
    coded: frozenset[str] = frozenset()
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, compare=False)
    known: Known = dataclasses.field(default_factory=Known, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", _eager(self.frame))
        if self.coded:  # another frame may hold other columns under these names
            types = self.frame.schema  # asked for once: every answer is made of all columns again
            still_coded = frozenset(n for n in self.coded if types.get(n) == nw.Enum)
            object.__setattr__(self, "coded", still_coded)
        refuse_patterns(self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def records(self) -> int:
        """Number of records: the rows, or what they stand for together."""
        if self.copies is None or is_one_record_each(self.copies):
            return len(self)
        return int(self.copies.sum())

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> Self:
        """The table of that name, described."""
        table = cls(tables[DATA], source=source)  # type: ignore[arg-type]
        return table.with_schema(schemas[DATA])

    def to_tables(self) -> Mapping[str, pl.DataFrame]:
        """The table to write."""
        return {DATA: self.to_polars()}

    def input_digest(self) -> str:
        """The digest that a certificate commits to: of the file that was read, or of the frame
        written as CSV.
        """
        if self.source.digest is not None:
            return self.source.digest
        frame = self.to_polars()
        encoded = []
        for column in frame:
            if column.dtype == pl.Binary:
                encoded.append(column.bin.encode("hex"))
            elif column.dtype == pl.Duration:
                encoded.append(column.to_physical())
        frame = frame.with_columns(encoded)
        return hashlib.sha256(frame.write_csv().encode()).hexdigest()

    def in_memory(self, purpose: str) -> Table:
        """The table itself: its rows are at hand for every purpose."""
        return self

    def counted(self, columns: Iterable[str]) -> Table:
        """What promises about these columns look at: in memory, the table itself."""
        return self

    def collected(self) -> Table:
        """The table in memory, where it is."""
        return self

    def counted_for(self, models: Sequence[Model]) -> Table:
        """The table itself: models count its rows."""
        return self

    def described_by(self, recipe: Recipe) -> Table:
        """The table with the recipe's schema, its values read as the recipe says where reading did
        not say otherwise.
        """
        table: Table = function_of_run("describe_table")(self, recipe)
        return table

    # A run, in this order; see release/make.py.

    def prepare(self, recipe: Recipe, context: Context) -> Table:
        """The table that the steps work on: values that the format cannot distinguish are one, free
        text is refused.
        """
        table: Table = function_of_run("prepare_table")(self, recipe, context)
        return table

    def run_steps(self, recipe: Recipe, context: Context) -> StepsResult:
        """Plan and apply all steps, drop direct identifiers, renumber units, shuffle."""
        result: StepsResult = function_of_run("run_table_steps")(self, recipe, context)
        return result

    def evidence(
        self, models: Sequence[Model], *, original: Any = None, **known: Any
    ) -> ClassEvidence:
        """Everything that the models need to judge the table, counted once."""
        return gather(self, models, original=original, **known)

    def compare(self, original: Table, steps: StepsResult) -> TablePair:
        """Original and release side by side, at the levels that the plans say."""
        pair: TablePair = function_of_run("compare_tables")(self, original, steps)
        return pair

    @property
    def drawn(self) -> bool:
        """Whether some rows are synthetic and are nobody's."""
        return self.origin is not None and len(self.origin) > 0 and int(self.origin.min()) == NOBODY

    def __repr__(self) -> str:
        roles = []
        for n, a in self.schema.attributes.items():
            roles.append(f"  {n}: {' + '.join(a.roles)} ({a.kind})")
        head = f"Table {self.source.name!r}: {len(self):,} rows, {len(self.columns)} columns"
        return "\n".join([head, *roles[:30], *(["  …"] if len(roles) > 30 else [])])

    def blocks(self) -> Sequence[Block]:
        """The columns: what they are and how many values they have, never a value."""
        roles = {}
        for name, a in self.schema.attributes.items():
            roles[name] = (" + ".join(a.roles), str(a.kind))
        rows = tuple(
            (name, *roles.get(name, (None, None)), *self._count_values(name))
            for name in self.columns
        )
        caption = f"{self.source.name}: {len(self):,} rows, {len(self.columns):,} columns"
        return [TableBlock(("column", "role", "kind", "missing", "distinct"), rows, caption)]

    def __str__(self) -> str:
        return repr(self)

    def _count_values(self, name: str) -> tuple[int | None, int | None]:
        """How many cells of a column are missing and how many values it has; None where they cannot
        be counted.
        """
        key = ("notebook", name)
        if key not in self.memo:
            self.memo[key] = _missing_and_distinct(self, name)
        counts: tuple[int | None, int | None] = self.memo[key]
        return counts

    def to_native(self) -> Any:
        """The frame in the user's own kind."""
        if self.coded:
            return self.to_polars()
        return self.frame.to_native()

    def to_polars(self) -> pl.DataFrame:
        """The frame as polars, whatever it is."""
        columns = side_by_side(self.column, self.columns, rows=len(self) if self.coded else 0)
        # a list would give '' another name
        return pl.DataFrame(dict(zip(self.columns, columns, strict=True)))

    def column(self, name: str) -> pl.Series:
        """One column as a polars series."""
        if name not in self.frame.columns:
            self.require([name])  # which says what there is instead
        if name not in self.coded:
            return self._stored_column(name)
        encoded = self.known.codes.get(name)
        if encoded is None:
            return self._stored_column(name).cast(pl.String)
        return encoded.text(name)

    def dtype(self, name: str) -> pl.DataType:
        """The type of a column, without making the column."""
        if name in self.coded:
            return pl.String()
        if name not in self.frame.columns:
            self.require([name])  # which says what there is instead
        return self._stored_column(name).dtype

    def with_text_coded(self) -> Table:
        """The same table; where it is large, text that repeats is held as categories, and still
        given out as text.
        """
        if len(self) < LARGE or not self.frame.implementation.is_polars():
            return self
        native: pl.DataFrame = self.frame.to_native()
        repeating = [c.name for c in native.iter_columns() if c.dtype == pl.String and _repeats(c)]
        encoded = side_by_side(self.encoded, repeating, rows=len(self))
        coded_columns = {
            n: column
            for n, column in zip(repeating, encoded, strict=True)
            if len(column.labels) <= MOST_CATEGORIES
        }
        columns = {}
        for c in native.iter_columns():
            if c.name in coded_columns:
                columns[c.name] = coded_columns[c.name].categories(c.name)
            else:
                columns[c.name] = c
        frame = nw.from_native(pl.DataFrame(columns), eager_only=True)
        return dataclasses.replace(
            self, frame=frame, coded=self.coded | set(coded_columns)
        )._knowing(self.known)

    def _stored_column(self, name: str) -> pl.Series:
        """One column as the frame holds it."""
        try:
            return self.frame.get_column(name).to_polars()
        except (
            TypeError,
            ValueError,
            NotImplementedError,
            OverflowError,
        ):  # their messages show the value
            raise SchemaError(
                f"column {name!r} of {self.source.name} mixes values of different types, or has an "
                "unsupported type; convert it to text or numbers first"
            ) from None

    def encoded(self, name: str) -> Encoded:
        """One column as codes and labels, encoded once; of very many texts nothing is kept. Its
        counts are of rows.
        """
        if name not in self.frame.columns:
            self.require([name])  # which says what there is instead
        if name in self.known.codes:
            return self.known.codes[name]
        encoding = encode(self._stored_column(name))
        if len(encoding.labels) <= MOST_LABELS or self.dtype(name) != pl.String:
            self.known.codes[name] = encoding
        return encoding

    def frequencies(self, name: str) -> NDArray[np.int64]:
        """How many rows have each label of a column, in the order of labels; to be counted, many
        labels are not kept.
        """
        if name not in self.frame.columns:
            self.require([name])
        if name in self.known.codes:
            return self.known.codes[name].counts
        encoding = encode(self._stored_column(name))
        if len(encoding.labels) <= MANY:
            self.known.codes[name] = encoding
        return encoding.counts

    def _knowing(self, knowledge: Known) -> Self:
        """This table, fresh from a change, with what is still true of its columns."""
        object.__setattr__(self, "known", knowledge)
        return self

    def with_schema(self, schema: Schema) -> Self:
        """A dataset with another schema; columns the table lacks are refused, and hierarchies learn
        what they must see for it.
        """
        table = super().with_schema(schema)._knowing(self.known)
        learning = []
        for n, a in schema.attributes.items():
            if a.hierarchy is not None and a.hierarchy.learns_from:
                learning.append(n)
        if learning:
            return table._with("hierarchy", {n: table._fit_hierarchy(n) for n in learning})
        return table

    def _fit_hierarchy(self, name: str) -> Any:
        """The hierarchy of a column, fitted to the column it learns from; one that cannot be is
        left as it is.
        """
        hierarchy: Any = self.schema[name].hierarchy
        if hierarchy.learns_from == name:
            raise SchemaError(
                f"column {name!r}: its hierarchy cannot be fitted to the column itself; "
                "name another column"
            )
        self.require([hierarchy.learns_from])
        own, source = self.encoded(name), self.encoded(hierarchy.learns_from)
        keys = own.codes * len(source.labels) + source.codes
        pairs, pair_of_row = np.unique(keys, return_inverse=True)
        counts = tallied(pair_of_row.reshape(-1), len(pairs), self.copies)
        width = max(1, len(source.labels))
        together = JointCounts(
            tuple(own.labels),
            tuple(source.labels),
            own=pairs // width,
            other=pairs % width,
            counts=counts,
        )
        try:
            return hierarchy.fitted(together)
        except SchemaError as error:
            raise SchemaError(
                [f"column {name!r}: {problem}" for problem in error.problems]
            ) from None

    def with_source(self, source: Source) -> Table:
        """The same table, said to come from elsewhere."""
        return dataclasses.replace(self, source=source)._knowing(self.known)

    def with_marks(self, marks: Marks | None) -> Table:
        """A dataset whose rows draw by these marks (see ``core/randomness.py``); None: by what they
        say now.
        """
        return dataclasses.replace(self, marks=marks)._knowing(self.known)

    def checked(self) -> Table:
        """The same dataset, or one error that lists all that does not fit: roles missing, columns
        unknown, zeros lost.
        """
        self.schema.check(self.columns, self.source)
        types = {name: self.dtype(name) for name in self.columns}
        problems = []
        for name, dtype in types.items():
            if dtype.is_nested() or dtype == pl.Object:
                problems.append(
                    f"column {name!r} holds lists or objects; give every cell one value, or leave"
                    " the column out"
                )
        if not problems:
            for name, attribute in self.schema.attributes.items():
                hierarchy: Any = attribute.hierarchy
                if isinstance(hierarchy, ReadsCharacters) and types[name].is_numeric():
                    problems += self._lost_zeros(name, hierarchy)
        if problems:
            raise SchemaError(problems)
        return self

    def _lost_zeros(self, name: str, hierarchy: ReadsCharacters) -> list[str]:
        """Why a hierarchy that reads characters cannot read a column of numbers, if so."""
        labels = self.encoded(name).labels
        short = hierarchy.too_short([label for label in labels if label is not None])
        if not short:
            return []
        problem = (
            f"column {name!r} holds numbers, and {short:,} of its distinct values are shorter than "
            f"the codes of {hierarchy.name}: leading zeros may be lost. Read the column as text, "
            "or pad it with pad: '0' if the hierarchy is a mask"
        )
        return [problem]

    def take(self, rows: NDArray[np.int64]) -> Table:
        """The rows with these positions, in this order; text that is known by its codes is gathered
        by them: that takes a tenth of the time.
        """
        if self.origin is None:
            origin = rows
        else:
            origin = self.origin.take(rows)
        copies = self.copies
        if copies is not None:
            if is_one_record_each(copies):
                copies = one_record_each(len(rows))
            else:
                copies = copies[rows]
        encodings = {
            name: encoded
            for name, encoded in self.known.codes.items()
            if name in self.columns and len(encoded.labels) <= len(rows)
        }
        gathered = side_by_side(lambda name: encodings[name].taken(rows), encodings, rows=len(rows))
        encodings = dict(zip(encodings, gathered, strict=True))
        if encodings and self.frame.implementation.is_polars():
            columns = {}
            for column in self.frame.to_native().iter_columns():
                encoded = encodings.get(column.name)
                if encoded is not None and column.name in self.coded:
                    columns[column.name] = encoded.categories(column.name)
                elif encoded is not None and column.dtype == pl.String:
                    columns[column.name] = encoded.text(column.name)
                else:
                    columns[column.name] = column.gather(rows)
            frame = nw.from_native(pl.DataFrame(columns))
        else:
            frame = self.frame[rows]
        marks = None if self.marks is None else self.marks.taken(rows)
        table = dataclasses.replace(self, frame=frame, origin=origin, copies=copies, marks=marks)
        return table._knowing(Known(encodings))

    def drawn_anew(self, table: pl.DataFrame, origin: NDArray[np.int64]) -> Table:
        """A dataset of other rows, in the same kind of frame; ``origin`` says per row which of
        these rows it stands for, −1: nobody's.

        Columns that the table has no more lose their description.
        """
        if self.origin is None:
            origins_of_rows = np.arange(len(self))
        else:
            origins_of_rows = self.origin
        origins = np.append(origins_of_rows, NOBODY)
        columns = {name: _series_like(self.frame, name, table[name]) for name in table.columns}
        frame = nw.from_dict(columns, backend=self.frame.implementation)
        schema = self.schema.without(set(self.schema.attributes) - set(table.columns))
        return dataclasses.replace(
            self, frame=frame, schema=schema, origin=origins[origin], copies=None, marks=None
        )

    def drop(self, names: Iterable[str]) -> Table:
        """A dataset without these columns."""
        gone = set(names) & set(self.columns)
        if not gone:
            return self
        # By item: to polars' drop "*" and "^a$" are patterns.
        remaining = [n for n in self.columns if n not in gone]
        smaller = dataclasses.replace(
            self, frame=self.frame[remaining], schema=self.schema.without(gone)
        )
        return smaller._knowing(self.known)

    def with_columns(self, columns: dict[str, pl.Series]) -> Table:
        """A dataset in which some columns hold other values, of the same length."""
        fresh = [_series_like(self.frame, name, values) for name, values in columns.items()]
        coded = self.coded - set(columns)
        changed = dataclasses.replace(self, frame=self.frame.with_columns(*fresh), coded=coded)
        # What is known of the other columns stays true.
        gone = set(columns)
        codes = {name: codes for name, codes in self.known.codes.items() if name not in gone}
        classes = {}
        for names, groupings in self.known.classes.items():
            if gone.isdisjoint(names):
                classes[names] = [grouping.without(gone) for grouping in groupings]
        return changed._knowing(Known(codes, classes))

    def recoded(self, name: str, labels: Sequence[str | None], codes: NDArray[Any]) -> Table:
        """A dataset in which a column holds text: in row *i* the label ``labels[codes[i]]`` (None:
        missing).
        """
        column = relabelled(codes, labels)
        by_code = bool(self.coded) and len(column.labels) <= MOST_CATEGORIES
        new_column = column.categories(name) if by_code else column.text(name)
        changed = self.with_columns({name: new_column})
        if by_code:
            coded = dataclasses.replace(changed, coded=changed.coded | {name})
            changed = coded._knowing(changed.known)
        changed.known.codes[name] = column
        return changed

    def compacted(self) -> Table:
        """A dataset that knows no value but those in its cells.

        Categories that no row has (a list of them goes with every column of categories, and rows
        that were dropped leave theirs behind), and what a frame carries besides its values
        (metadata of Arrow, ``attrs`` of pandas), are gone.
        """
        if self.coded:
            return self._with_fewer_categories()
        native: Any = self.frame.to_native()
        if self.frame.implementation.is_polars():
            native = native.with_columns(compact(column) for column in native)
        else:
            native = _compact_foreign(native, self.frame.implementation)
        return dataclasses.replace(self, frame=nw.from_native(native, eager_only=True))._knowing(
            self.known
        )

    def _with_fewer_categories(self) -> Table:
        """The same table without categories that no row has, its text still coded."""

        def slim(column: pl.Series) -> pl.Series:
            if column.name not in self.coded:
                return compact(column)
            encoded = self.encoded(column.name)
            present = len(encoded.labels) - (None in encoded.labels)
            every = column.dtype.categories if isinstance(column.dtype, pl.Enum) else ()
            if present == len(every):
                return column
            return encoded.categories(column.name)

        native: pl.DataFrame = self.frame.to_native()
        columns = {column.name: slim(column) for column in native}
        frame = nw.from_native(pl.DataFrame(columns), eager_only=True)
        return dataclasses.replace(self, frame=frame)._knowing(self.known)


def _missing_and_distinct(dataset: Table, name: str) -> tuple[int | None, int | None]:
    try:
        values = dataset.column(name)
        if values.dtype.is_float():
            present = values.drop_nans().drop_nulls()
        else:
            present = values.drop_nulls()
        return len(values) - len(present), present.n_unique()
    except (
        SchemaError,
        pl.exceptions.PolarsError,
    ):  # what cannot be counted must not keep the rest from being shown
        return None, None


def _series_like(frame: nw.DataFrame[Any], name: str, values: pl.Series) -> nw.Series[Any]:
    """A polars series as a series of the frame's own kind."""
    if frame.implementation.is_polars():
        return nw.from_native(values, series_only=True).alias(name)
    if frame.implementation.is_pyarrow():
        import pyarrow as pa

        chunks = [values.to_arrow()]
        arrow: nw.Series[Any] = nw.from_native(pa.chunked_array(chunks), series_only=True)
        return arrow.alias(name)
    # numpy keeps the width of numbers
    data = values.to_numpy() if values.dtype.is_numeric() else values.to_list()
    series: nw.Series[Any] = nw.new_series(name, data, backend=frame.implementation)
    nullable = any(
        parent.__name__ == "BaseMaskedDtype"
        for parent in type(frame.to_native().dtypes.get(name)).__mro__
    )
    # pandas calls these types as polars does: Int16, Float32
    if nullable and values.dtype.is_numeric():
        return nw.from_native(series.to_native().astype(str(values.dtype)), series_only=True)
    return series


def compact(column: pl.Series) -> pl.Series:
    """A column of categories whose list holds those that occur, in their order; any other column as
    it is.

    >>> import polars as pl
    >>> compact(pl.Series(["b"], dtype=pl.Enum(["a", "b"]))).dtype
    Enum(categories=['b'])
    """
    if isinstance(column.dtype, pl.Enum):
        present = set(column.cast(pl.String).unique().to_list())
        categories = pl.Enum([c for c in column.dtype.categories if c in present])
        return column.cast(pl.String).cast(categories)
    return column


def _compact_foreign(frame: Any, implementation: Any) -> Any:
    """A pandas or Arrow frame whose categories are those that occur, without metadata."""
    if implementation.is_pandas():
        copy = frame.copy(deep=False)
        copy.attrs = {}
        for position, dtype in enumerate(copy.dtypes):
            if dtype == "category":
                name = copy.columns[position]
                copy[name] = copy[name].cat.remove_unused_categories()
        return copy
    return _compact_arrow(frame)


def refuse_patterns(names: Iterable[str]) -> None:
    """Refuse names of columns that polars takes for patterns: ``^a$`` would mean the column ``a``.

    >>> refuse_patterns(["a", "^a", "*"])
    """
    positions = []
    for i, name in enumerate(names, start=1):
        if name.startswith("^") and name.endswith("$"):
            positions.append(str(i))
    if positions:
        raise SchemaError(
            f"the name of column number {', '.join(positions[:5])} begins with ^ and ends with $, "
            "which marks a pattern of names; rename it"
        )


def _compact_arrow(table: Any) -> Any:
    import pyarrow as pa

    def compact_column(column: Any) -> Any:
        if not pa.types.is_dictionary(column.type):
            return column
        return column.cast(column.type.value_type).combine_chunks().dictionary_encode()

    return pa.table([compact_column(column) for column in table.columns], names=table.column_names)


def _eager(frame: Any) -> nw.DataFrame[Any]:
    if isinstance(frame, nw.DataFrame):
        # an index can name people, and keeps the order that shuffling hides
        return nw.maybe_reset_index(frame)
    room = type(frame).__module__.split(".")[0]
    if room in ("pandas", "pyarrow"):
        names = list(getattr(frame, "column_names" if room == "pyarrow" else "columns", ()))
        repeated = [i for i, name in enumerate(names, start=1) if names.index(name) + 1 != i]
        if repeated:
            raise SchemaError(
                f"{len(repeated)} column(s) repeat the name of another: number "
                f"{', '.join(map(str, repeated[:5]))}; rename them, or let sf.read(frame, "
                "rename_duplicates=True) number them"
            )
        if not all(isinstance(n, str) for n in names):
            raise SchemaError(
                "column names must be text; rename the columns of the frame, e.g."
                " frame.columns.astype(str)"
            )
    # The same values under another name: what the caller changes in place later must not change
    # what was counted.
    if room == "pandas":
        frame = frame.copy(deep=False)
    elif room == "polars":
        frame = frame.clone()
    try:
        return nw.maybe_reset_index(nw.from_native(frame, eager_only=True))
    except TypeError:
        kind = f"{type(frame).__module__.split('.')[0]}.{type(frame).__name__}"
        raise SchemaError(
            f"a table must be a polars, pandas or Arrow frame, or a path; got {kind}"
        ) from None


def as_table(data: Any) -> Table:
    """A table as it is, or a frame as a table without roles."""
    return data if isinstance(data, Table) else Table(data)
