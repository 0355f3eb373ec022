"""The steps of a recipe made ready for a table that comes in pieces: planned on counts, with facts
learnt of all records.

Most plans follow from the counted combinations. A step that draws learns what it must know of all
records in passes over the rows, after the steps before it; so does a plan that lets equal records
part ways. After either the counts are known no more: where a later step decides from counts, the
rows are counted once more as they are by then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from sfumato.core.design import Renumbering, renumbered
from sfumato.core.encoding import as_text
from sfumato.core.pair import TablePair
from sfumato.core.progress import silent
from sfumato.core.randomness import Numbering, Repeats, row_keys
from sfumato.core.reading import ColumnLevel
from sfumato.core.schema import Role, Schema
from sfumato.core.step import Goal, Plan, Span, Step, learnt_by
from sfumato.core.table import Table
from sfumato.data.lazy import table
from sfumato.data.lazy.known_rows import KnownRows, are_known
from sfumato.data.lazy.observed_values import Shared
from sfumato.data.lazy.representatives import Representatives, representatives_in, represented
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.indistinct import made_one
from sfumato.errors import InternalError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.source import Source
    from sfumato.data.lazy.coarse import Coarse

FORMAT = "parquet"


@dataclasses.dataclass(frozen=True, eq=False)
class Pipeline:
    """The steps of a recipe with what was decided from counts, ready for any rows of the table.

    ``types`` are the types that columns have in the whole release: those of a few rows alone may
    look otherwise. ``gone`` are the columns that no step sees. ``repeats`` are the keys of rows
    that occur more than once, where something is drawn; such a pipeline must be ``started`` anew
    for every pass over the rows, and counts equal rows from then on. ``coarse`` is what was
    generalised before anything was counted, ``units`` the new numbers of persons and households.
    ``known_rows`` are all rows as the first step made them, where they are in memory.
    ``stands`` are, by column, values that the first step releases alike and that may be put in each
    other's place before it, and ``short`` is its plan for rows that hold no others.
    """

    gone: tuple[str, ...]
    stages: tuple[tuple[Step, Plan | None, Goal], ...] = ()
    types: dict[str, pl.DataType] = dataclasses.field(default_factory=dict)
    repeats: NDArray[np.uint64] | None = None
    numbering: Numbering | None = None
    coarse: Coarse | None = None
    units: Renumbering | None = None
    known_rows: KnownRows | None = None
    stands: Mapping[str, Representatives] = dataclasses.field(default_factory=dict)
    short: Plan | None = None

    def started(self) -> Pipeline:
        """The same, for one pass over all rows."""
        return (
            self
            if self.repeats is None
            else dataclasses.replace(self, numbering=Numbering(self.repeats))
        )

    @property
    def draws(self) -> bool:
        """Whether something is drawn for records, so that all rows of a pass must be numbered in
        one place.
        """
        return self.repeats is not None

    def then(self, step: Step, plan: Plan | None, goal: Goal) -> Pipeline:
        """With one more step; ``plan`` is None for a step that plans for any rows by itself."""
        return dataclasses.replace(self, stages=(*self.stages, (step, plan, goal)))

    def drawing(self, table: LazyTable) -> Pipeline:
        """With the marks that draws need."""
        if self.repeats is not None:
            return self
        if table.engine.workers is not None:
            reader = RowReader(table.schema, table.source)
            repeats = table.engine.workers.repeats(table.frame, reader, RowKeys(self.gone))
        else:
            batches_without_direct = (rows.drop(self.gone) for rows in table.batches())
            repeats = learnt_by(Repeats(table.records), batches_without_direct)
        return dataclasses.replace(self, repeats=repeats)

    def pieces(self, table: LazyTable) -> Iterator[Table]:
        """All rows as they are after the steps so far; pieces of which nothing is left are left
        out.
        """
        line = self.started()
        for rows in table.batches():
            shared = line.stepped(rows)[0]
            if len(shared):
                yield shared

    def stepped(self, rows: Table) -> tuple[Table, list[tuple[str, Plan]]]:
        """Some rows after the steps, and the plan of every step."""
        shared, plans = rows.drop(self.gone), list[tuple[str, Plan]]()
        if self.repeats is not None:
            if self.numbering is None:
                raise InternalError(
                    "a pipeline that draws must be started before rows go through it"
                )
            shared = self.numbering.marked(shared)
        shared = shared if self.coarse is None else self.coarse.applied(shared)
        shared = self.represented(shared)
        for number, (step, decided, goal) in enumerate(self.stages):
            if not len(shared):
                break
            plan = step.plan(shared, goal) if decided is None else decided
            shared = step.apply(shared, plan if number or self.short is None else self.short)
            plans.append((step.name, plan))
        return shared, plans

    def shortened(self, combinations: Table, plan: Plan) -> Pipeline:
        """With what stands for values that the plan of the first step, made for a counted table,
        releases alike.
        """
        stand_ins = representatives_in(combinations, plan.bound_levels)
        if not stand_ins:
            return self
        short = plan.with_ladders({name: ladder for name, (_, ladder) in stand_ins.items()})
        return dataclasses.replace(
            self, stands={name: stand for name, (stand, _) in stand_ins.items()}, short=short
        )

    def represented(self, rows: Table) -> Table:
        """Rows with the values that stand for theirs, where the first step releases them alike."""
        if not self.stands:
            return rows
        return represented(rows, self.stands)

    def run(self, rows: Table) -> tuple[Table, tuple[tuple[str, Plan], ...]]:
        """What is released of some rows, and the plan of every step."""
        shared, plans = self.stepped(rows)
        shared = shared.drop(shared.schema.dropped_columns).with_marks(None)
        shared = shared if self.units is None else self.units.applied(shared)
        return made_one(shared, FORMAT, spellings=False)[0], tuple(plans)

    def released(self, rows: Table) -> Table:
        """The released rows as they are written: categories as text, every column of its one
        type.
        """
        released_rows = self.run(rows)[0]
        types = {
            name: self.types.get(name, released_rows.dtype(name)) for name in released_rows.columns
        }
        plain = {
            n: pl.String() if isinstance(t, pl.Categorical | pl.Enum) else t
            for n, t in types.items()
        }
        return released_rows.with_columns(
            {
                n: as_text(released_rows.column(n))
                if t == pl.String
                else released_rows.column(n).cast(t)
                for n, t in plain.items()
                if released_rows.dtype(n) != t
            }
        )

    def keys(self, rows: Table) -> NDArray[np.uint64]:
        """A number that equal rows share, as far as steps see them."""
        return row_keys(rows.drop(self.gone))


@dataclasses.dataclass(frozen=True)
class RowReader:
    """Rows as they came, as a table: for workers elsewhere."""

    schema: Schema
    source: Source

    def __call__(self, rows: pl.DataFrame) -> Table:
        """The table."""
        return table.in_memory(rows, self.source).with_schema(self.schema)


@dataclasses.dataclass(frozen=True)
class RowKeys:
    """A number that equal rows share, as far as steps see them."""

    gone: tuple[str, ...]

    def __call__(self, rows: Table) -> NDArray[np.uint64]:
        """The number of every row."""
        return row_keys(rows.drop(self.gone))


class Planning:
    """Plans the steps of a recipe one after the other; ``counted`` is what is known of the table
    after those planned so far.
    """

    def __init__(
        self,
        table: LazyTable,
        combinations: Table,
        steps: Sequence[Step],
        coarse: Coarse | None = None,
    ) -> None:
        claimed = {name for step in steps for name in step.claims}
        self.table, self.coarse = table, coarse
        self.steps = steps if coarse is None else coarse.begun(steps)
        shared = combinations.drop(combinations.schema.dropped_columns)
        self.counted = shared if coarse is None else coarse.bound(shared)
        self.line = Pipeline(tuple(set(table.schema.dropped_columns) - claimed), coarse=coarse)
        self.stale = set[str]()
        self.known = self.traced = (
            True  # traced: every combination knows of which original one it was made
        )
        self.seen: dict[int, Table] = {}
        """What steps that chose from a lattice saw, by their place in the recipe."""

    def planned(self, goal: Goal) -> tuple[Pipeline, Table]:
        """All steps, and the counted combinations as far as they are known in the end; their
        columns are right.
        """
        for number, step in enumerate(self.steps):
            self._plan(step, dataclasses.replace(goal, place=number))
        self._renumber(goal)
        fixed = [name for name in self.counted.columns if name not in self.stale]
        types = {name: self.counted.dtype(name) for name in fixed}
        return dataclasses.replace(self.line, types=types), self.counted

    def beside(self, original: Table) -> Alongside | None:
        """What counts which combination became which while rows are released; None: it is known, or
        cannot be.
        """
        if self.coarse is not None or (self.known and self.traced):
            return None
        return Alongside(original.columns, self.counted.columns, table.MOST_COMBINATIONS)

    def _renumber(self, goal: Goal) -> None:
        """Draw the numbers of persons and households, who are others in every class that is
        released.
        """
        if goal.seed is not None and self.counted.schema.units:
            self._count_again()
            self.line = dataclasses.replace(
                self.line, units=Renumbering.of(self.counted, goal.seed)
            )
            self.counted = renumbered(self.counted, goal.seed)

    def _plan(self, step: Step, goal: Goal) -> None:
        alone = Goal((), goal.seed, silent, None, goal.place)
        if step.span is Span.RECORDS:
            self.line = self.line.drawing(self.table)
            facts = self._facts(step, alone)
            self.line = self.line.then(step, None, dataclasses.replace(alone, facts=facts))
            self._unknown(step.masks)
        elif step.span is Span.CLASSES:
            self._count_again()
            before = self.counted
            self.seen |= {goal.place: before} if step.surveys else {}
            plan = self._decided(step, goal)
            plan = plan if self.coarse is None or goal.place else self.coarse.told(plan)
            self.line = self.line.then(step, plan, alone)
            if not goal.place and self.coarse is None and self.table.engine.workers is None:
                if plan.bound_levels and are_known(self.table, before):
                    known_rows = KnownRows(before, self.counted)
                    self.line = dataclasses.replace(self.line, known_rows=known_rows)
                else:
                    self.line = self.line.shortened(before, plan)
            for ladder, _ in plan.bound_levels.values():
                ladder.forget_climbs()
        else:
            facts = self._facts(step, alone)
            self._cells(step, dataclasses.replace(goal, facts=facts))
            self.line = self.line.then(step, None, dataclasses.replace(alone, facts=facts))

    def _facts(self, step: Step, goal: Goal) -> Any:
        """What a step learns of all records; one that works cell by cell asks for counts, and they
        tell it.
        """
        counts_suffice = (
            self.known and step.span is Span.CELLS and set(step.masks) <= set(self.counted.columns)
        )
        facts = None
        while (learner := step.learner(goal, facts)) is not None:
            facts = learnt_by(
                learner, [self.counted] if counts_suffice else self.line.pieces(self.table)
            )
        return facts

    def _decided(self, step: Step, goal: Goal) -> Plan:
        """The plan, which knows who parts ways with whom; what becomes of the counts is told from
        it.
        """
        plan: Plan = step.plan(self.counted, goal)
        self.counted = step.apply(self.counted, plan)
        learner = step.dealer(plan)
        if learner is None:
            return plan
        self.line, self.known = self.line.drawing(self.table), False
        dealt: Plan = learnt_by(learner, self.line.pieces(self.table))
        return dealt

    def _cells(self, step: Step, goal: Goal) -> None:
        part = step.limited_to(self.counted.columns)
        if part is None:
            return
        if self.known and set(part.masks) <= set(self.counted.columns):
            self.counted = part.apply(self.counted, part.plan(self.counted, goal))
        else:
            self._unknown(step.masks)

    def _unknown(self, columns: Iterable[str]) -> None:
        self.known = False
        self.stale |= set(columns)

    def _count_again(self) -> None:
        """Count the rows as they are after the steps so far, where that is not known."""
        if self.known:
            return
        self.traced = False
        old = self.counted.schema.attributes
        self.counted = counted_again(self.line.pieces(self.table), self.counted.columns)
        schema = {
            name: old.get(name, attribute)
            for name, attribute in self.counted.schema.attributes.items()
        }
        self.counted = self.counted.with_schema(Schema(schema))
        self.known, self.stale = True, set()


def counted_again(pieces: Iterable[Table], columns: Sequence[str]) -> Table:
    """The distinct combinations of some columns, and of survey weights, in a table that comes in
    pieces, with their numbers.
    """
    merged: pl.DataFrame | None = None
    last: Table | None = None
    names: list[str] = []
    count = COUNT
    for last in pieces:
        weights = last.schema.columns(Role.WEIGHT)
        names = [name for name in last.columns if name in columns or name in weights]
        count = _spare(names)
        counts = _tallied(last.to_polars().select(names), count)
        merged = (
            counts if merged is None else _tallied(pl.concat([merged, counts], how=RELAXED), count)
        )
        if merged.height > table.MOST_COMBINATIONS:
            raise SchemaError(
                f"after the random steps, {', '.join(names)} have more than "
                f"{table.MOST_COMBINATIONS:,} combinations of values, which do not fit into "
                "memory; make the finest of them coarser first"
            )
    if last is None or merged is None:
        raise SchemaError("no row is left after the random steps; there is nothing to release")
    schema = Schema({name: last.schema[name] for name in names if name in last.schema.attributes})
    copies = merged[count].to_numpy().astype(np.int64)
    merged_table = Table(merged.drop(count), source=last.source, copies=copies)  # type: ignore[arg-type]
    return merged_table.with_schema(schema)


COUNT = "sfumato records"
"""What the column of counts is called, where no other column has that name."""


def _spare(columns: Sequence[str]) -> str:
    """The name of a column of counts beside some columns."""
    name = COUNT
    while name in columns:
        name += "_"
    return name


class Alongside(Shared):
    """Counts which combinations of some columns became which, as the rows of a table are released
    in pieces.

    Where they become more than twenty million it gives up.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str], max_combinations: int) -> None:
        super().__init__()
        self.before, self.after, self.most = list(before), list(after), max_combinations
        self.merged: pl.DataFrame | None = None
        self.full = False

    def see(self, rows: Table, released: Table) -> None:
        """Look at some rows and what was released of them."""
        if self.full or not len(released):
            return
        origin = np.arange(len(released)) if released.origin is None else released.origin
        was = {f"before {name}": rows.column(name).gather(origin) for name in self.before}
        counts = _tallied(
            pl.DataFrame(was | {f"after {name}": released.column(name) for name in self.after})
        )
        with self.lock:
            self.merged = (
                counts
                if self.merged is None
                else _tallied(pl.concat([self.merged, counts], how=RELAXED))
            )
            self.full = self.merged.height > self.most

    def pair(
        self, original: Table, like: Table, levels: Mapping[str, ColumnLevel]
    ) -> TablePair | None:
        """All that was counted beside the counted original; None where it is not known. ``like``
        says what released columns are.
        """
        if self.full or self.merged is None:
            return None
        originals = (
            original.to_polars()
            .select(pl.col(self.before).name.prefix("before "))
            .with_row_index(COUNT + " row")
        )
        try:
            matched = self.merged.join(
                originals,
                on=originals.columns[1:],
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )
        except pl.exceptions.SchemaError:  # some batches were read otherwise than all rows
            return None
        if matched[originals.columns[0]].null_count():
            return None
        released_frame = matched.select(pl.col(f"after {name}").alias(name) for name in self.after)
        rows = matched[originals.columns[0]].to_numpy().astype(np.int64)
        copies = matched[COUNT].to_numpy()
        source = like.source
        released = Table(released_frame, source=source, origin=rows, copies=copies)  # type: ignore[arg-type]
        schema = Schema(
            {name: like.schema[name] for name in self.after if name in like.schema.attributes}
        )
        return TablePair(original, released.with_schema(schema), rows, levels)


RELAXED: Final = "vertical_relaxed"


def _tallied(rows: pl.DataFrame, count: str = COUNT) -> pl.DataFrame:
    """The distinct rows, and how many there are of each: added up where the rows say it already, in
    the column ``count``.
    """
    names = [name for name in rows.columns if name != count]
    plain = rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    amount = pl.col(count).sum() if count in rows.columns else pl.len().cast(pl.Int64).alias(count)
    return plain.group_by(names).agg(amount)


def alike(parts: Sequence[Path]) -> None:
    """Give columns one type in all parts: what a few rows alone held in a narrower one is written
    anew in the wider.
    """
    schemas = [pl.read_parquet_schema(part) for part in parts]
    if all(schema == schemas[0] for schema in schemas[1:]):
        return
    wide = pl.concat(
        [pl.DataFrame(schema=schema) for schema in schemas], how="vertical_relaxed"
    ).schema
    for part, schema in zip(parts, schemas, strict=True):
        if schema != wide:
            pl.read_parquet(part).cast(dict(wide)).write_parquet(part)  # type: ignore[arg-type]
