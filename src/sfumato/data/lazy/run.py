"""How a release is made of a table that an engine holds: counted, planned on the counts, made batch
by batch, counted again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from sfumato.core.data import Context, StepsResult
from sfumato.core.evidence import columns_seen
from sfumato.core.exchange import Workplace
from sfumato.core.free_text import refuse_texts
from sfumato.core.pair import TablePair, levels_of
from sfumato.core.portable import return_free_memory
from sfumato.core.progress import Progress
from sfumato.core.reading import ColumnLevel
from sfumato.core.schema import Role
from sfumato.core.source import Intake, Source
from sfumato.core.step import Goal, Plan, Step
from sfumato.core.table import Table
from sfumato.data.lazy.coarse import Coarse, coarsely_counted
from sfumato.data.lazy.file_types import PartsSource, content_digest
from sfumato.data.lazy.known_rows import KnownRows
from sfumato.data.lazy.observed_values import (
    Fingerprint,
    Handed,
    SampledRows,
    Texts,
    Watch,
    changed,
)
from sfumato.data.lazy.part_files import digest_of_parts
from sfumato.data.lazy.parts import in_parallel, order_key, parts_for, write_parts
from sfumato.data.lazy.planning import FORMAT, Alongside, Pipeline, Planning, alike
from sfumato.data.lazy.refusals import require_counts
from sfumato.data.lazy.representatives import Representatives
from sfumato.data.lazy.table import Job, LazyTable, TooManyCombinations
from sfumato.data.table.indistinct import made_one
from sfumato.errors import OutputError, SchemaError, UnreadableInput

if TYPE_CHECKING:
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Recipe

SAMPLE = 100_000
"""Records that measures and pictures are taken from."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PreparedTable(LazyTable):
    """A table that an engine holds, and the combinations that promises and plans look at, counted
    before anything is planned.

    ``coarse`` says at which levels they were counted, where all of them were too many.
    """

    combinations: Table = None  # type: ignore[assignment]
    coarse: Coarse | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class LazyStepsResult(StepsResult):
    """Outcome of the steps on a table that an engine holds.

    ``released`` are the combinations of the columns that promises look at, counted in the parts
    that were written; ``table`` is the whole released table, and ``sample`` some of its records
    beside their originals. ``seen`` is what steps that chose from a lattice saw, by their place in
    the recipe; ``searched`` are the steps as they were planned: the first begins at the levels at
    which the engine counted.
    """

    released: Table
    table: LazyTable = None  # type: ignore[assignment]
    sample: TablePair = None  # type: ignore[assignment]
    seen: Mapping[int, Table] = dataclasses.field(default_factory=dict)
    searched: Sequence[Step] = ()


def prepare_lazy_table(table: LazyTable, recipe: Recipe, context: Context) -> PreparedTable:
    """Refuse what needs all rows in memory, and count the combinations that promises and plans look
    at.
    """
    require_counts(table, recipe, context)
    _require_one_value_a_cell(table)
    column_names = columns_seen(recipe.meet, table.schema, recipe.steps)
    combinations, coarse = _count_combinations(
        table, column_names, recipe, context.population, context.progress
    )
    prepared = PreparedTable(
        table.frame,
        schema=table.schema,
        source=table.source,
        parts=table.parts,
        keep=table.keep,
        combinations=combinations,
        coarse=coarse,
    )
    # The copy is another object: what was counted of the table must not be counted again.
    prepared.memo.update(table.memo)
    return prepared


def run_lazy_steps(table: PreparedTable, recipe: Recipe, context: Context) -> LazyStepsResult:
    """Plan on the counts, release batch by batch into parts, and count the parts.

    Parts are made beside the folder that the release will be written to (``context.workspace``), so
    that they need not be copied. Where there is no release none of them is left.
    """
    with Workplace(context.workspace) as workplace:
        return _run_in(table, recipe, context, workplace)


def _run_in(
    table: PreparedTable, recipe: Recipe, context: Context, workplace: Workplace
) -> LazyStepsResult:
    original, coarse = table.combinations, table.coarse
    seed, progress = context.seed, context.progress
    planning = Planning(table, original, recipe.steps, coarse)
    pipeline, planned_table = planning.planned(
        Goal(recipe.meet, seed, progress, context.population)
    )
    return_free_memory()  # what the search took would lie idle beside the batches that are released
    beside = planning.beside(original)
    written_release = _write_release(
        table,
        original,
        pipeline,
        seed,
        progress,
        shuffle=context.shuffle,
        workplace=workplace,
        beside=beside,
    )
    progress(1.0, "counting the written rows")
    # Columns that plans looked at and those that promises look at, so one count serves both.
    columns = [*planned_table.columns, *columns_seen(recipe.meet, written_release.table.schema)]
    released = written_release.table.counted(columns)
    _require_whole(released, written_release)
    if coarse is None:  # of a generalised table nobody knows what was lost of the original
        written_release = dataclasses.replace(
            written_release,
            counted=_counted_pair(written_release, original, released, planned_table, beside),
        )
    return LazyStepsResult(
        released,
        written_release.plans,
        discard=workplace.clear_now,
        table=written_release.table,
        sample=written_release.pair,
        seen=planning.seen,
        searched=planning.steps,
    )


def _require_one_value_a_cell(table: LazyTable) -> None:
    """Refuse columns of lists or objects, unless they are dropped."""
    frame: Any = table.frame
    types = frame.collect_schema() if isinstance(frame, nw.LazyFrame) else {}
    if odd := [
        n for n, dtype in types.items() if dtype.is_nested() and not table.schema[n].has(Role.DROP)
    ]:
        raise SchemaError(
            f"{', '.join(odd)} of {table.source.name} hold lists or objects; give every cell one"
            " value"
        )


def _count_combinations(
    table: LazyTable,
    column_names: Sequence[str],
    recipe: Recipe,
    population: Table | None,
    progress: Progress,
) -> tuple[Table, Coarse | None]:
    """The combinations of the columns that are looked at; of a coarser table where they are too
    many.
    """

    def tick(rows: int) -> None:
        record_count = table.memo.get("records")
        progress(
            *(
                _progress_words("counted", rows, record_count, "rows")
                if record_count
                else (0.0, f"counted {rows:,} rows")
            )
        )

    try:
        # Steps that treat all records of a class alike do not mind a combination that comes twice;
        # others, such as those that take some records of a class, need each combination once.
        parting = not all(step.keeps_classes_whole for step in recipe.steps)
        return table.counted(column_names, tick, distinct=parting).checked(), None
    except TooManyCombinations as refused:
        if population is not None:  # its values are not those that stand for others
            raise
        combinations, coarse = coarsely_counted(
            table, column_names, recipe.steps, refused, progress
        )
        table.memo["records"] = combinations.records
        return combinations.checked(), coarse


# Releasing the rows.


@dataclasses.dataclass(frozen=True, eq=False)
class Written:
    """The released parts, and a sample: some rows of the original, what was released of them, and
    by which plans.

    ``records`` is how many the original has, ``rows`` how many of them were handed over to be
    written. ``counted`` is all of them before and after, by counts.
    """

    table: LazyTable
    originals: Table
    releases: Table
    plans: tuple[tuple[str, Plan], ...]
    records: int
    rows: int
    counted: TablePair | None = None

    @property
    def levels(self) -> dict[str, ColumnLevel]:
        """The level each column was released at as a whole."""
        return levels_of(plan.describe() for _, plan in self.plans)

    @functools.cached_property
    def pair(self) -> TablePair:
        """The sample beside what was released of it."""
        sample_pair = TablePair.of(self.originals, self.releases, self.levels)
        # A sample of all records needs no counts beside it: it is the whole table.
        if len(self.originals) == self.records:
            return sample_pair
        return dataclasses.replace(sample_pair, drawn_from=self.records, counted=self.counted)


def _counted_pair(
    written_release: Written,
    original: Table,
    shared: Table,
    planned_table: Table,
    beside: Alongside | None,
) -> TablePair | None:
    """All records before and after, counted by the columns that are looked at; None where it is not
    known which became which.
    """
    if beside is not None:
        pair = beside.pair(original, written_release.releases, written_release.levels)
    else:
        released = made_one(planned_table, FORMAT, spellings=False)[0]
        pair = TablePair.of(original, released, written_release.levels)
    # Both counts must speak of the same number of records, else the pairs are not what was written.
    if pair is None or pair.kept != shared.records:
        return None
    return pair


def _progress_words(verb: str, now: int, of: int, unit: str) -> tuple[float, str]:
    """How far the work is, as a share and in words.

    >>> _progress_words("released", 5000, 20000, "rows")
    (0.25, 'released 5,000 of 20,000 rows')
    """
    return min(1.0, now / max(1, of)), f"{verb} {now:,} of {of:,} {unit}"


def _write_release(
    table: LazyTable,
    original: Table,
    pipeline: Pipeline,
    seed: Seed,
    progress: Progress,
    *,
    shuffle: bool,
    workplace: Workplace,
    beside: Alongside | None,
) -> Written:
    """Release all rows into a folder of parts that lives as long as the release does."""
    job = Job(
        line=pipeline,
        schema=table.schema,
        source=table.source,
        watch=_watch(table, original, seed),
        parts=parts_for(table.records),
        order=order_key(seed) if shuffle else None,
    )
    with _writing():
        if table.engine.workers is None:
            # Rows of an engine without workers come through this process.
            handed = _in_batches(
                table, job, pipeline, workplace.path, seed if shuffle else None, progress, beside
            )
        else:
            handed = table.engine.workers.release(table.frame, job, workplace.path)
        parts, watch, rows = handed
        alike(parts)
    _require_unchanged(table, original, watch)
    refuse_texts(watch.texts.free(), table.source.name)
    # The sample goes through the same line as all rows did, so what is told of it is what happened.
    frame = watch.sample.taken()
    sample = Table(frame, source=table.source).with_schema(table.schema)  # type: ignore[arg-type]
    releases, plans = pipeline.started().run(sample)
    released = LazyTable(
        table.engine.scanned(parts, table.frame),
        schema=releases.schema,
        source=_source_of(parts, table.source),
        parts=tuple(parts),
        keep=workplace,
    )
    return Written(released, sample, releases, plans, table.records, rows)


def _source_of(parts: Sequence[Path], source: Source) -> Source:
    """Where the released table comes from: what was said of reading the original is done, and
    types are those of the parts.
    """
    if not isinstance(source, PartsSource):
        return dataclasses.replace(source, intake=Intake(), digest=None)
    types = pl.read_parquet_schema(parts[0])
    return dataclasses.replace(
        source, intake=Intake(), digest=None, types=types, constants=None, content=None
    )


def _in_batches(
    table: LazyTable,
    job: Job,
    pipeline: Pipeline,
    folder: Path,
    seed: Seed | None,
    progress: Progress,
    beside: Alongside | None,
) -> Handed:
    """Release all rows in this process, batch by batch."""
    # The shortcut holds only if nothing is drawn and nobody must see which row became which.
    if pipeline.known_rows is not None and beside is None and not pipeline.draws:
        released = _beside_known_rows(table, job, pipeline, pipeline.known_rows, progress)
        return _write_batches(table, job, released, folder, seed, progress)
    line, stands = pipeline.started(), dict[str, Representatives]()
    if not pipeline.draws:  # what is drawn for a row depends on all that it says
        stands, line = dict(line.stands), dataclasses.replace(line, stands={})

    def release(rows: Table) -> Table:
        coded = pipeline.represented(rows).with_text_coded() if stands else rows.with_text_coded()
        codes = {
            name: coded_column
            for name, coded_column in coded.known.codes.items()
            if name not in stands
        }
        # The watch sees the rows as they are, not those with stand-ins: codes of columns with
        # stand-ins belong to other values and are left out.
        job.watch.see(rows.to_polars(), codes)
        released_rows = line.released(coded)
        if beside is not None:
            beside.see(rows, released_rows)
        return released_rows

    batches = table.batches(
        lambda rows: progress(*_progress_words("released", rows, table.records, "rows")),
        job.watch.see_as_held,
    )
    return _write_batches(table, job, in_parallel(release, batches), folder, seed, progress)


def _beside_known_rows(
    table: LazyTable, job: Job, pipeline: Pipeline, known_rows: KnownRows, progress: Progress
) -> Iterator[Table]:
    """What is released of all rows, batch by batch, where only the columns that are not in memory
    are read.
    """
    line = dataclasses.replace(pipeline.started(), stages=pipeline.stages[1:])
    known_rows.show_texts(job.watch.texts)

    def numbered_batches() -> Iterator[tuple[int, Table]]:
        # Rows are found again by their number, so batches must come in the order of the counted
        # rows.
        start = 0
        batches = table.pieces_of(
            known_rows.other_columns(table),
            lambda rows: progress(*_progress_words("released", rows, table.records, "rows")),
        )
        for others in batches:
            yield start, others
            start += len(others)

    def release(numbered: tuple[int, Table]) -> Table:
        start, others = numbered
        coded = others.with_text_coded()
        job.watch.see(known_rows.original_rows(table, start, others.to_polars()), coded.known.codes)
        return line.released(known_rows.released_rows(table, start, coded))

    return in_parallel(release, numbered_batches())


def _write_batches(
    table: LazyTable,
    job: Job,
    batches: Iterator[Table],
    folder: Path,
    seed: Seed | None,
    progress: Progress,
) -> Handed:
    """Write what was released batch by batch into parts."""
    handed = list[int]()

    def release_batches() -> Iterator[Table]:
        for batch in batches:
            handed.append(len(batch))
            if len(batch):  # a batch of which nothing is left has not all columns
                yield batch

    parts = write_parts(
        release_batches(),
        folder,
        rows=table.records,
        seed=seed,
        tick=lambda parts, all_parts: progress(
            *_progress_words("wrote", parts, all_parts, "parts")
        ),
    )
    return Handed(parts, job.watch, sum(handed))


def _watch(table: LazyTable, original: Table, seed: Seed) -> Watch:
    """What is learnt of the rows while they are released."""
    # A stream of its own: the same key for sample and sums, and none of the draws of the steps.
    key = int(seed.stream("sample of a large table").integers(2**63))
    texts = [
        n for n, a in table.schema.attributes.items() if not a.has(Role.DROP) and not a.free_text
    ]
    counted_sums = _counted_sums(table, original)
    sums = None if counted_sums is None else Fingerprint(counted_sums.columns, counted_sums.keys)
    return Watch(SampledRows(SAMPLE, key), Texts(texts, key), sums)


def _counted_sums(table: LazyTable, original: Table) -> Fingerprint | None:
    """What the rows added up to when they were counted; None where a digest of files tells more."""
    if table.digested:
        return None
    sums: Fingerprint = table.memo["sums", tuple(original.columns)]
    return sums


def _require_unchanged(table: LazyTable, original: Table, watch: Watch) -> None:
    """Refuse a table that is not the one that was counted: a release of it would keep no promise
    for sure.
    """
    is_same = watch.rows == original.records
    counted_sums = _counted_sums(table, original)
    if watch.sums is None or counted_sums is None:
        is_same = is_same and digest_of_parts(table.parts) == content_digest(table.source)
    else:
        is_same = is_same and counted_sums.text == watch.sums.text
    if not is_same:
        raise changed(table.source.name)


def _require_whole(shared: Table, written_release: Written) -> None:
    """Refuse parts that do not hold as many rows as were handed over to be written."""
    if shared.records != written_release.rows:
        raise OutputError(
            f"{written_release.rows:,} rows were released, but the written parts hold "
            f"{shared.records:,}: some were lost, or cannot be seen from here; nothing was "
            "written. Run again, and let TMPDIR name a folder that all writers see"
        )


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    """Say what could not be written; errors of frames may show values, and are told without their
    text.
    """
    try:
        yield
    except (OutputError, UnreadableInput):
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        if _is_full(error):
            reason = (
                "the disk for temporary parts is full (free some space, write "
                "elsewhere, or set TMPDIR)"
            )
        elif isinstance(error, OSError):
            reason = error.strerror or type(error).__name__
        else:
            raise SchemaError(
                f"some rows cannot be released like the others ({type(error).__name__}): a column "
                "has different types in different batches; give it one type before"
            ) from None
        raise OutputError(
            f"the parts of the release cannot be written: {reason}; nothing was written"
        ) from None


def _is_full(error: Exception) -> bool:
    """Whether a disk is full; polars tells it in words."""
    return getattr(error, "errno", None) == errno.ENOSPC or "No space left on device" in str(error)
