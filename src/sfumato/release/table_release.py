"""A release of one table: risks before and after, what happened to its columns, and what else could
have been released.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import polars as pl

from sfumato.core.acceptance import accepted_pairs
from sfumato.core.blocks import Block, Heading, ListBlock, Paragraph, Share, TableBlock
from sfumato.core.chart_drawing import plot_chart
from sfumato.core.data import StepsResult
from sfumato.core.design import link_warnings, weight_warnings
from sfumato.core.evidence import needed
from sfumato.core.fields import Document
from sfumato.core.schema import Role
from sfumato.core.step import Span, accounts, coarsened_columns
from sfumato.core.threads import meanwhile
from sfumato.core.words import percent, plain_name, score
from sfumato.data.table.fixed_form import without_hierarchies
from sfumato.data.table.formats import chosen_format
from sfumato.methods.formulas.dependence_search import find_dependences
from sfumato.release import VERBS
from sfumato.release.alternatives import MOST_EFFORT, MOST_NODES, alternatives_of
from sfumato.release.assessment import assessing
from sfumato.release.column_changes import changes_of
from sfumato.release.implied import Implied
from sfumato.release.release import Release
from sfumato.release.report.charts import chart_risks
from sfumato.release.report.headline import NOT_ATTACKED

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Memory
    from sfumato.core.data import Context
    from sfumato.core.mechanism import Mechanism
    from sfumato.core.metric import Measure
    from sfumato.core.model import Posterior
    from sfumato.core.pair import TablePair
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.step import Plan, Preserved, Step
    from sfumato.core.table import Table
    from sfumato.release.alternatives import Alternatives
    from sfumato.release.assessment import Assessment
    from sfumato.release.column_changes import ColumnChange

T = TypeVar("T")


def scores_of(plans: Sequence[tuple[str, Plan]]) -> dict[str, float]:
    """What the searches made small, by objective, and what it came to."""
    return {objective: score for _, plan in plans for objective, score in plan.scores().items()}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TableRelease(Release):
    """A release of one table: what is known of its classes, columns and alternatives besides.

    ``before`` and ``after`` are the risks of the original and of what is shared, ``columns`` what
    happened to each of them, ``scores`` what the searches made small.
    """

    released: Table
    original: Table
    before: Assessment = None  # type: ignore[assignment]
    after: Assessment = None  # type: ignore[assignment]
    scores: dict[str, float] = dataclasses.field(default_factory=dict)
    population: Table | None = None
    learnt_from: NDArray[np.int64] | None = None
    """Rows of the original that drawn rows were learnt from; None where no row is synthetic."""
    held_out: NDArray[np.int64] | None = None
    """Rows of the original that were set aside before, for attacks to compare with; None: none
    were.
    """
    memory: Memory | None = None
    """What answers for earlier releases of the same people; None: nobody was asked."""
    mechanisms: Mapping[str, Mechanism] = dataclasses.field(default_factory=dict)
    """By which random rule of the recipe columns were released, where a promise is about that."""
    writer: ClassVar[str] = "write_table_files"

    @classmethod
    def assess_original(cls, original: Any, recipe: Recipe, context: Context) -> Any:
        """Assess the table as it is, without its direct identifiers, while the steps run."""
        table = original.drop(original.schema.dropped_columns)
        # a hierarchy could refuse a value, and with an ε no single record may end the run
        if accounts(recipe.steps, recipe.schema):
            table = without_hierarchies(table, table.schema.quasi)
        return meanwhile(assessing(table, recipe.goals, population=context.population))

    @classmethod
    def from_steps(
        cls, original: Any, recipe: Recipe, context: Context, steps: Any, before: Any
    ) -> Self:
        """The release of what the steps made, not judged yet."""
        return cls.of_steps(
            original,
            recipe,
            context,
            steps,
            made_for=chosen_format(original.source, context.format),
            # assessed in another thread while the steps ran: here it is waited for
            before=before.result(),
            scores=scores_of(steps.plans),
            population=context.population,
            learnt_from=steps.learnt_from,
            held_out=steps.held_out,
            memory=context.memory,
            mechanisms=steps.mechanisms,
        )

    @property
    def steps_result(self) -> StepsResult:
        """What came of the steps."""
        return StepsResult(
            self.released, self.plans, self.learnt_from, self.held_out, self.mechanisms
        )

    @property
    def pair(self) -> TablePair:
        """The original and what is shared of it, side by side, at the levels that the plans say.

        It is the same pair until the release was measured: what the search for implied columns
        reads is not read again.
        """
        return self.once("pair", self._pair)

    def _pair(self) -> TablePair:
        pair = self.released.compare(self.original, self.steps_result)
        coarsened = coarsened_columns(self.recipe.steps)
        if not coarsened:
            return pair
        return dataclasses.replace(pair, coarsened=coarsened)

    def forget_pair(self) -> None:
        """Let go of the pair and of all that was read of its columns: of a large table that is as
        much as the table.
        """
        self.released.memo.pop(("release", "pair"), None)

    def judged(self, released: Table, *, bounds: bool = True) -> Self:
        """The release with this table in its place, judged as if it had come out."""
        release = super().judged(released, bounds=bounds)
        columns = self.column_changes(released)
        return dataclasses.replace(release, after=assessing(released)(), columns=columns)

    def column_changes(self, released: Table) -> tuple[ColumnChange, ...]:
        """What happened to every column."""
        return changes_of(self.original, released, self.plans)

    def judging_options(self) -> Document:
        """What models may be shown besides the original: the population, the mechanisms, and what
        attacks believe.
        """
        posteriors: tuple[Posterior, ...] = ()
        # posteriors are dear, so they are worked out only where a promise asks for them
        if needed(self.recipe.meet, self.released.schema).posteriors:
            from sfumato.release.posteriors import posteriors_of

            posteriors = posteriors_of(self)
        return {
            "population": self.population,
            "mechanisms": self.mechanisms,
            "posteriors": posteriors,
        }

    @property
    def undone_by(self) -> tuple[str, ...]:
        """Why released columns undo the release, in sentences."""
        return tuple(self.implied.refusals)

    @property
    def implied(self) -> Implied:
        """What released columns tell of quasi-identifiers beyond their released labels, and what of
        it the recipe accepts.
        """
        # It is remembered with the released table, so that it is looked for once.
        # the largest crowd that is promised decides how few people count as found
        k = max((verdict.crowd for verdict in self.verdicts if verdict.crowd), default=None)
        recipe, memo = self.recipe, self.released.memo
        key = ("implied", k, recipe.accept)
        if key not in memo:
            pair = self.pair
            dependences = find_dependences(pair, k=k)
            accepted = accepted_pairs(recipe.accept) if recipe.accept else {}
            # with an ε nothing may be refused by looking at the original
            decides = not accounts(recipe.steps, recipe.schema)
            memo[key] = Implied(dependences, accepted, k, decides, pair.of_a_sample)
        implied: Implied = memo[key]
        return implied

    @property
    def preserved(self) -> tuple[Preserved, ...]:
        """What masking steps kept of the original, exactly or approximately, and how far it is
        off.
        """
        return tuple(statistic for _, plan in self.plans for statistic in plan.preserved)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What steps warn of, why no ε is certified where a step accounts for one, weights that
        nearly number the records, and lost links.
        """
        of_the_table: list[str] = []
        # both look at all rows, so only where such columns are there
        if self.released.schema.columns(Role.WEIGHT):
            of_the_table += weight_warnings(self.released)
        if self.released.schema.units:
            of_the_table += link_warnings(self.released, self.original)
        if self.held_out is not None:
            of_the_table += self._seen_before()
        return (*super().warnings, *of_the_table, *self.implied.warnings)

    def _seen_before(self) -> tuple[str, ...]:
        """That people set aside were looked at all the same: a control that steps before have
        learnt from is none.
        """
        # the step that set people aside; the steps before it saw them
        drawing = next(
            (index for index, (_, plan) in enumerate(self.plans) if plan.held_out is not None), 0
        )
        # steps that work cell by cell learn nothing from other people
        step_names = [
            step.name for step in self.recipe.steps[:drawing] if step.span is not Span.CELLS
        ]
        if not step_names:
            return ()
        sentence = (
            "examined all people before some were set aside: there may be more copies than "
            "attacks show; draw records first"
        )
        return (f"{', '.join(step_names)} {sentence}",)

    def once(self, name: object, work_out: Callable[[], T]) -> T:
        """What was worked out about this release before, by its name, else what is worked out now;
        attacks change nothing of it.

        It is remembered with the released table. Where nothing was changed this is the original
        itself, of which several recipes may make releases: so it is remembered of which run it is,
        too.
        """
        run = (self.original, self.recipe, self.plans)
        remembered = self.released.memo.get(("release", name))
        # the objects themselves, not equal ones: comparing tables would take longer
        if remembered is not None and all(
            remembered_part is part
            for remembered_part, part in zip(remembered[0], run, strict=True)
        ):
            value: T = remembered[1]
            return value
        value = work_out()
        self.released.memo["release", name] = (run, value)
        return value

    def before_step(self, index: int) -> Table:
        """The table as a step of the recipe saw it, by its place."""
        shared = self.original.drop(self.original.schema.dropped_columns)
        # steps from the index on are not applied: zip stops where the slice ends
        for step, (_, plan) in zip(self.recipe.steps[:index], self.plans, strict=False):
            shared = step.apply(shared, plan)
        return shared

    @property
    def planned_steps(self) -> Sequence[Step]:
        """The steps of the recipe as they were planned."""
        return self.recipe.steps

    @property
    def sampled(self) -> dict[str, int]:
        """How many records measures and attacks looked at, and of how many; empty where they looked
        at all.
        """
        return {}

    @property
    def parts(self) -> tuple[Path, ...]:
        """The files that hold the released table already; none where it is in memory."""
        return ()

    @property
    def released_columns(self) -> list[str]:
        """Names of the columns that are shared."""
        return self.released.columns

    @property
    def released_schema(self) -> Schema:
        """What the shared columns are."""
        return self.released.schema

    @property
    def suppressed(self) -> int:
        """Number of records that were dropped; none where rows are synthetic, which stand for
        nobody.
        """
        # drawn rows replace the table as a whole, so nobody was left out
        if self.released.drawn:
            return 0
        return self.original.records - self.released.records

    @property
    def told_records(self) -> str:
        """How many records were released, and what became of the others, in one line."""
        released_records, original_records = self.released.records, self.original.records
        if not self.released.drawn:
            lost = percent(self.suppressed / max(1, original_records))
            return (
                f"{released_records:,} of {original_records:,} records released,"
                f" {self.suppressed:,} suppressed ({lost})"
            )
        if self.learnt_from is None:
            training_records = original_records
        else:
            training_records = len(self.learnt_from)
        aside = 0 if self.held_out is None else len(self.held_out)
        return (
            f"{released_records:,} synthetic records; learnt from {training_records:,} of "
            f"{original_records:,} records, {aside:,} set aside"
        )

    @property
    def risks(self) -> list[tuple[Measure, Measure]]:
        """The risks before and after. What only a population tells is measured before, not on the
        file that is certified.

        Synthetic rows put nobody at the risks of their classes: none is told.
        """
        if self.released.drawn:
            return []
        after = {measure.name: measure for measure in self.after.measures}
        # a measure that only a population tells has no counterpart after
        return [
            (before, after[before.name]) for before in self.before.measures if before.name in after
        ]

    def summary(self) -> Document:
        """The release as plain data: verdicts, risks before and after, plans; no data values."""
        if self.attacks is None:
            attacks = {}
        else:
            attacks = {"attacks": self.attacks.to_dict()}
        return {
            "holds": self.holds,
            "headline": self.headline.text,
            "records": self.released.records,
            "suppressed": self.suppressed,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "plan": [{"step": name, **plan.describe()} for name, plan in self.plans],
            "scores": self.scores,
            "risks_before": {m.name: m.value for m in self.before.measures},
            "risks_after": {m.name: m.value for m in self.after.measures},
            "limits": [limit.to_dict() for limit in self.limits],
            "contract": [entry.to_dict() for entry in self.contract],
            "preserved": [dataclasses.asdict(entry) for entry in self.preserved],
            "warnings": list(self.warnings),
            **attacks,
        }

    @property
    def data(self) -> Any:
        """The released table, in the kind of frame that was handed in."""
        return self.released.to_native()

    @property
    def needs_attack(self) -> bool:
        """Whether intruders try it by default: rows are synthetic, nobody has tried them yet, and
        no step accounts for an ε.
        """
        accounted = accounts(self.recipe.steps, self.recipe.schema)
        return self.released.drawn and self.attacks is None and not accounted

    def write_table(self, into: str, table: str, *, force: bool = False) -> None:
        """Write the released table alone into a database (``postgresql://…``, ``sqlite:///…``,
        ``duckdb:///…``).

        One transaction: the table is read back and judged inside it, and stands only when it holds.
        A table of that name is refused, or with ``force`` replaced in the same transaction.
        """
        VERBS["write_table"](self, into, table, force=force)

    def write_data(
        self,
        file: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        defuse: bool = False,
    ) -> None:
        """Write the released table alone (``-``: to stdout), without certificate and report; read
        back before it stands.
        """
        VERBS["write_data"](self, file, format=format, defuse=defuse)

    def alternatives(self) -> Alternatives:
        """What else could have been released: the neighbours of the chosen node, and the front of
        loss against risk.

        Every node of the lattice is evaluated, or only the neighbours when there are millions; for
        the owner's eyes.
        """
        return alternatives_of(self, most_nodes=MOST_NODES, most_effort=MOST_EFFORT)

    def to_frame(self) -> pl.DataFrame:
        """One row a column of the original: roles, what happened, level, and how many values it had
        and has.
        """
        text, whole = pl.String, pl.Int64
        kinds = {"column": text, "roles": text, "action": text, "level": whole, "top": whole}
        kinds |= {"distinct_before": whole, "distinct_after": whole}
        rows = [
            (
                c.name,
                " + ".join(c.roles),
                c.action,
                c.level,
                c.top,
                c.distinct_before,
                c.distinct_after,
            )
            for c in self.columns
        ]
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def plot(self) -> alt.LayerChart | None:
        """Every risk before and after, with the bar that a promised k sets."""
        was, now = (
            {m.name: m.value for m in assessment.measures}
            for assessment in (self.before, self.after)
        )
        sizes = [v.crowd for v in self.verdicts if v.crowd]
        # k promises a chance of at most 1/k
        chart = chart_risks(was, now, 1 / max(sizes) if sizes else None)
        return None if chart is None else plot_chart(chart)

    def change_blocks(self) -> Sequence[Block]:
        """What happened to each column, what the risks were and are, and what masking kept."""
        columns = [
            (c.name, " + ".join(c.roles), c.action, c.distinct_before, c.distinct_after)
            for c in self.columns
        ]
        risks = [
            (plain_name(was.name), Share(was.value), Share(now.value)) for was, now in self.risks
        ]
        blocks: list[Block] = [
            TableBlock(("column", "role", "what happened", "values", "released"), tuple(columns)),
        ]
        if risks:
            blocks.append(TableBlock(("risk", "before", "after"), tuple(risks)))
        if self.scores:
            scores = tuple((plain_name(name), score(value)) for name, value in self.scores.items())
            blocks.append(TableBlock(("score of the search", "value"), scores))
        if self.preserved:
            statistics = tuple(
                f"{'=' if statistic.exactly else '≈'} {statistic}" for statistic in self.preserved
            )
            blocks.append(ListBlock(statistics, "What masking kept:"))
        return blocks

    def attack_blocks(self) -> Sequence[Block]:
        """What intruders found, strongest first."""
        if self.attacks is None:
            if self.certified is not None:
                return []
            return [Paragraph(NOT_ATTACKED, "quiet")]
        # the first block is a headline, which the release has itself
        return [Heading("Attacks"), *self.attacks.blocks()[1:]]
