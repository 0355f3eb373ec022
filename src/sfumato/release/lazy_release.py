"""A release of a table that an engine holds: the parts that were written, and what was counted of
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from sfumato.core.exchange import Workplace
from sfumato.core.step import Step
from sfumato.data.lazy.planning import FORMAT
from sfumato.errors import ParameterError
from sfumato.release.assessment import assess
from sfumato.release.column_changes import ColumnChange, changes_of
from sfumato.release.table_release import TableRelease, scores_of

if TYPE_CHECKING:
    from sfumato.core.data import Context
    from sfumato.core.pair import TablePair
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.step import Preserved
    from sfumato.core.table import Table
    from sfumato.data.lazy.run import LazyStepsResult, PreparedTable
    from sfumato.data.lazy.table import LazyTable
    from sfumato.release.assessment import Assessment


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LazyRelease(TableRelease):
    """A release of a table that an engine holds.

    ``released`` and ``original`` are the combinations of the columns that promises look at, with
    how many records each stands for; ``table`` is the whole released table, written in parts, and
    ``sample`` some of its records beside their originals. ``seen`` is what steps that chose from a
    lattice saw, counted, by their place in the recipe; ``searched`` are the steps as they were
    planned: the first begins at the levels at which the engine counted.
    """

    table: LazyTable = None  # type: ignore[assignment]
    sample: TablePair = None  # type: ignore[assignment]
    seen: Mapping[int, Table] = dataclasses.field(default_factory=dict)
    searched: Sequence[Step] = ()

    @classmethod
    def assess_original(
        cls, original: PreparedTable, recipe: Recipe, context: Context
    ) -> Assessment:
        """Assess the combinations that were counted, without direct identifiers."""
        combinations = original.combinations
        return assess(
            combinations.drop(combinations.schema.dropped_columns),
            recipe.meet,
            population=context.population,
        )

    @classmethod
    def from_steps(
        cls,
        original: PreparedTable,
        recipe: Recipe,
        context: Context,
        steps: LazyStepsResult,
        before: Assessment,
    ) -> Self:
        """The release of what the steps made, not judged yet."""
        combinations = original.combinations
        source = dataclasses.replace(combinations.source, digest=original.digest)
        return cls.of_steps(
            combinations.with_source(source),
            recipe,
            context,
            steps,
            made_for=FORMAT,
            before=before,
            scores=scores_of(steps.plans),
            population=context.population,
            table=steps.table,
            sample=steps.sample,
            seen=steps.seen,
            searched=steps.searched,
        )

    @property
    def counted(self) -> Table:
        """All that was released, by counts."""
        return self.released

    def column_changes(self, released: Table) -> tuple[ColumnChange, ...]:
        """What happened to every column; values are counted in all records where promises look,
        else in the sample.
        """
        sample, changes = self.sample, []
        for change in changes_of(sample.original, sample.released, self.plans):
            if change.name in self.original.columns:
                changes.append(_with_counts(change, self.original, released))
            elif sample.of_a_sample:
                action = f"{change.action}; values counted{sample.of_a_sample}"
                changes.append(dataclasses.replace(change, action=action))
            else:
                changes.append(change)
        return tuple(changes)

    def before_step(self, index: int) -> Table:
        """What a step that chose from a lattice saw: counted combinations, with what was worked out
        of them.
        """
        return self.seen[index]

    @property
    def planned_steps(self) -> Sequence[Step]:
        """The steps as they were planned."""
        return self.searched

    @property
    def pair(self) -> TablePair:
        """The sample: measures and pictures are taken from it."""
        return self.sample

    @property
    def sampled(self) -> dict[str, int]:
        """How many records measures and attacks looked at, and of how many; empty where they looked
        at all.
        """
        whole = self.sample.drawn_from
        if whole is None:
            return {}
        return {"records": len(self.sample.original), "of": whole}

    @property
    def preserved(self) -> tuple[Preserved, ...]:
        """What masking steps kept, measured in the sample, and saying so: the steps ran batch by
        batch and saw no whole.
        """
        sample_words = self.sample.of_a_sample
        return tuple(
            dataclasses.replace(statistic, measured=f"{statistic.told}{sample_words}")
            if sample_words
            else statistic
            for statistic in super().preserved
        )

    @property
    def parts(self) -> tuple[Path, ...]:
        """The files that hold the released table."""
        return self.table.parts

    @property
    def data(self) -> Any:
        """The released table, in the kind of frame that was handed in; it can be read as long as
        the program runs.
        """
        if isinstance(self.table.keep, Workplace):
            self.table.keep.stay()
        return self.table.to_native()

    def write_data(
        self,
        file: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        defuse: bool = False,
    ) -> None:
        """Refuse: the table is in parts, which a folder holds."""
        raise ParameterError(
            "a table that an engine reads is released in parts: write(folder) writes them with "
            "their certificate, and .data is a frame of the engine that reads them"
        )

    @property
    def released_columns(self) -> list[str]:
        """Names of the columns that are shared."""
        return self.table.columns

    @property
    def released_schema(self) -> Schema:
        """What the shared columns are."""
        return self.table.schema


def _with_counts(change: ColumnChange, original: Table, shared: Table) -> ColumnChange:
    after = None
    if change.name in shared.columns:
        after = _distinct_values(shared, change.name)
    return dataclasses.replace(
        change, distinct_before=_distinct_values(original, change.name), distinct_after=after
    )


def _distinct_values(table: Table, name: str) -> int:
    """How many values a column has, missing counted as one; those of a column that was encoded are
    counted already.

    What is no number is encoded as missing, but is a value of its own.
    """
    encoded, dtype = table.known.codes.get(name), table.dtype(name)
    if encoded is None or not (dtype == pl.String or dtype.is_integer() or dtype.is_float()):
        return int(table.column(name).n_unique())
    if dtype.is_float() and table.column(name).is_nan().any():
        return int(table.column(name).n_unique())
    return len(encoded.labels)
