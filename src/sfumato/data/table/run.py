"""How a release is made of a table in memory: prepare it, run the steps, compare and count what came out."""

from __future__ import annotations

import codecs
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.data import Context, StepsResult
from sfumato.core.design import renumbered
from sfumato.core.evidence import gather
from sfumato.core.free_text import refuse_declared_text, refuse_free_text
from sfumato.core.mechanism import Taken, applied_mechanisms, asked_of
from sfumato.core.pair import Pair, levels_of
from sfumato.core.randomness import marked
from sfumato.core.source import with_names
from sfumato.core.step import Goal, accounts
from sfumato.data.table.fixed_form import in_fixed_form
from sfumato.data.table.form import LAYOUT, Form
from sfumato.data.table.formats import chosen_format
from sfumato.data.table.indistinct import made_one, refuse_unwritable
from sfumato.data.table.values import with_values
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Evidence, Model
    from sfumato.core.recipe import Recipe
    from sfumato.core.step import Plan


def describe_table(dataset: Dataset, recipe: Recipe) -> Dataset:
    """The table with the recipe's schema, its values read as the recipe says where reading did not say otherwise.

    Raises:
        ParameterError: the recipe cuts the file into cells in another way than it was read: only reading it again helps.
    """
    intake = dataset.source.intake.over(recipe.intake)
    _require_layout(dataset, intake)
    recipe.schema.check(dataset.columns, dataset.source)
    valued = with_values(dataset, intake).with_schema(recipe.schema)
    return dataclasses.replace(valued, source=with_names(valued.source, valued.columns, recipe.schema.attributes))


def _require_layout(dataset: Dataset, intake: Any) -> None:
    source = dataset.source
    meaningful = {"csv": LAYOUT, "excel": ("header",)}.get(source.format, ())
    other = [
        name for name in meaningful if (said := getattr(intake, name)) is not None and said != getattr(source, name)
    ]
    if "encoding" in other and codecs.lookup(intake.encoding) == codecs.lookup(source.encoding):
        other.remove("encoding")
    if other:
        raise ParameterError(
            f"the recipe reads {source.name} with another {' and '.join(other)} than it was read with; "
            "read it as the recipe says: sf.read(path, recipe=...)"
        )


def prepare_table(dataset: Dataset, recipe: Recipe, context: Context) -> Dataset:
    """The table that is released. Where an ε is accounted for, no record decides about its form."""
    fixed = accounts(recipe.steps, recipe.schema)
    if fixed:
        dataset = in_fixed_form(dataset, recipe)
    form = Form.of(chosen_format(dataset.source, context.format), dataset.source)
    original = _with_distinct_values(dataset.checked(), form, refuse=context.refuse)
    if fixed:
        refuse_declared_text(original.schema, original.source.name)
    else:
        refuse_free_text(original)
    return original


def _with_distinct_values(dataset: Dataset, form: Form, *, refuse: bool) -> Dataset:
    """The table with values that the format tells apart; the commitment stays that of the table as it was given."""
    if refuse:
        refuse_unwritable(dataset, form.format, header=form.header)
    merged, notes = made_one(dataset, form.format)
    if merged is dataset:
        return dataset
    source = dataclasses.replace(merged.source, digest=dataset.input_digest(), notes=(*merged.source.notes, *notes))
    return dataclasses.replace(merged, source=source)


@dataclasses.dataclass(frozen=True, eq=False)
class LearntFrom:
    """Rows of the original that synthetic rows were learnt from, and those that were set aside before; None: there are none."""

    learnt_from: NDArray[np.int64] | None = None
    held_out: NDArray[np.int64] | None = None

    def after(self, before: Dataset, table: Dataset, plan: Plan) -> LearntFrom:
        """What is known once a step has made one table of another: the first that draws rows decides."""
        if self.learnt_from is not None or not (table.drawn or plan.held_out is not None):
            return self
        rows = np.arange(len(before), dtype=np.int64) if before.origin is None else before.origin
        aside = np.zeros(len(before), dtype=bool)
        if plan.held_out is not None:
            aside[plan.held_out] = True
        return LearntFrom(np.sort(rows[~aside]), np.sort(rows[aside]) if aside.any() else None)


def run_table_steps(original: Dataset, recipe: Recipe, context: Context) -> StepsResult:
    """Drop direct identifiers, run the steps in order, renumber units, shuffle.

    A direct identifier that a step ``claims`` is kept until that step has replaced it by something else.
    """
    seed = context.seed
    fixed = accounts(recipe.steps, recipe.schema)
    claimed = {name for step in recipe.steps for name in step.claims}
    table = marked(original.drop(set(original.schema.direct) - claimed))
    plans: list[tuple[str, Plan]] = []
    rows = LearntFrom()
    steps_taken: list[Taken] = []
    asked = asked_of(recipe.meet)
    for place, step in enumerate(recipe.steps):
        goal = Goal(recipe.goals, seed, context.progress, context.population, place, fixed=fixed)
        plan = step.plan(table, goal)
        before, table = table, step.apply(table, plan)
        rows = rows.after(before, table, plan)
        plans.append((step.name, plan))
        if asked:
            steps_taken.append(Taken(step, before, table))
    table = renumbered(table.drop(table.schema.direct).with_marks(None), seed)
    written_format = chosen_format(original.source, context.format)
    table = made_one(table, written_format, spellings=False)[0].compacted()
    if context.shuffle:
        table = table.take(seed.stream("shuffle").permutation(len(table)))
    mechanisms = applied_mechanisms(original, steps_taken, table, asked)
    return StepsResult(table, tuple(plans), rows.learnt_from, rows.held_out, mechanisms)


def compare_tables(released: Dataset, original: Dataset, steps: StepsResult) -> Pair:
    """Original and release side by side, at the levels that the plans say."""
    levels = levels_of(plan.describe() for _, plan in steps.plans)
    return Pair.of(original, released, levels, learnt_from=steps.learnt_from, held_out=steps.held_out)


def table_evidence(released: Dataset, models: Sequence[Model], **known: Any) -> Evidence:
    """Everything that the models need, counted in one pass."""
    return gather(released, models, **known)
