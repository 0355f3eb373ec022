"""How a release is made of a table in memory: prepare it, run the steps, compare and count what
came out.
"""

from __future__ import annotations

import codecs
import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.alignment import pair_elsewhere
from sfumato.core.data import Context, StepsResult
from sfumato.core.design import renumbered
from sfumato.core.free_text import refuse_declared_text, refuse_free_text
from sfumato.core.hidden_columns import (
    fill_columns,
    hidden_columns,
    hide_columns,
    randomised_columns,
)
from sfumato.core.mechanism import Taken, applied_mechanisms
from sfumato.core.pair import TablePair, levels_of
from sfumato.core.randomness import marked
from sfumato.core.schema import Schema
from sfumato.core.source import with_names
from sfumato.core.step import Goal, accounts
from sfumato.core.words import join_words
from sfumato.data.table.fixed_form import in_fixed_form
from sfumato.data.table.form import LAYOUT, Form
from sfumato.data.table.formats import chosen_format
from sfumato.data.table.indistinct import made_one, refuse_unwritable
from sfumato.data.table.values import with_values
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.recipe import Recipe
    from sfumato.core.step import Plan
    from sfumato.core.table import Table


def describe_table(dataset: Table, recipe: Recipe) -> Table:
    """The table with the recipe's schema, its values read as the recipe says where reading did not
    say otherwise.

    Raises:
        ParameterError: the recipe cuts the file into cells in another way than it was read: only
        reading it again helps.
    """
    source = dataset.source
    intake = source.intake.over(recipe.intake)
    meaningful = {"csv": LAYOUT, "excel": ("header",)}.get(source.format, ())
    differing = [
        name for name in meaningful if getattr(intake, name) not in (None, getattr(source, name))
    ]
    if "encoding" in differing and codecs.lookup(str(intake.encoding)) == codecs.lookup(
        source.encoding
    ):
        differing.remove("encoding")
    if differing:
        raise ParameterError(
            f"the recipe reads {source.name} with other options ({join_words(differing)}) than "
            "were used; read it with the recipe: sf.read(path, recipe=...)"
        )
    recipe.schema.check(dataset.columns, dataset.source)
    valued = with_values(dataset, intake).with_schema(recipe.schema)
    return valued.with_source(with_names(valued.source, valued.columns, recipe.schema.attributes))


def prepare_table(dataset: Table, recipe: Recipe, context: Context) -> Table:
    """The table that is released. Where an ε is accounted for, no record decides about its form."""
    fixed = accounts(recipe.steps, recipe.schema)
    if fixed:
        dataset = in_fixed_form(dataset, recipe)
    form = Form.of(chosen_format(dataset.source, context.format), dataset.source)
    original = dataset.checked()
    if context.refuse:
        refuse_unwritable(original, form.format, header=form.header)
    # Values that the format does not distinguish become one; the commitment stays that of the table
    # as it was given.
    merged, notes = made_one(original, form.format)
    if merged is not original:
        notes = [*merged.source.notes, *notes]
        source = dataclasses.replace(
            merged.source, digest=original.input_digest(), notes=tuple(notes)
        )
        original = merged.with_source(source)
    if fixed:
        refuse_declared_text(original.schema, original.source.name)
    else:
        refuse_free_text(original)
    return original


@dataclasses.dataclass(frozen=True, eq=False)
class LearntFrom:
    """Rows of the original that synthetic rows were learnt from, and those that were set aside
    before; None: there are none.
    """

    learnt_from: NDArray[np.int64] | None = None
    held_out: NDArray[np.int64] | None = None

    @classmethod
    def of_step(cls, before: Table, plan: Plan) -> LearntFrom:
        """What a step that draws rows learnt from, of the table it was given."""
        if before.origin is None:
            rows = np.arange(len(before), dtype=np.int64)
        else:
            rows = before.origin
        aside = np.zeros(len(before), dtype=bool)
        if plan.held_out is not None:
            aside[plan.held_out] = True
        return cls(np.sort(rows[~aside]), np.sort(rows[aside]) if aside.any() else None)


def run_table_steps(original: Table, recipe: Recipe, context: Context) -> StepsResult:
    """Drop direct identifiers, run the steps in order, renumber units, shuffle.

    A direct identifier that a step ``claims`` is kept until that step has replaced it by something
    else.
    """
    seed = context.seed
    fixed = accounts(recipe.steps, recipe.schema)
    claimed = {name for step in recipe.steps for name in step.claims}
    # What a later step randomises given everything else, the steps before it do not see; not even
    # the marks of rows, by which all steps draw, may depend on it.
    hidden = hidden_columns(recipe.steps, original.schema)
    unseen = hidden[0] if hidden else frozenset[str]()
    bare = original.drop(set(original.schema.dropped_columns) - claimed)
    table = hide_columns(bare, sorted(unseen))
    marks = marked(hide_columns(bare, randomised_columns(recipe.steps, original.schema))).marks
    table = table.with_marks(marks)
    plans: list[tuple[str, Plan]] = []
    rows = LearntFrom()
    steps_taken: list[Taken] = []
    # Columns of which some promise says by which mechanism they are released.
    by_rule = {name for model in recipe.meet for name in model.randomised}
    for index, step in enumerate(recipe.steps):
        goal = Goal(recipe.goals, seed, context.progress, context.population, index, fixed=fixed)
        if unseen - hidden[index]:
            table = fill_columns(table, original, sorted(unseen - hidden[index]))
            unseen = hidden[index]
        plan = step.plan(table, goal)
        before, table = table, step.apply(table, plan)
        # The first step that draws rows decides.
        if rows.learnt_from is None and (table.drawn or plan.held_out is not None):
            rows = LearntFrom.of_step(before, plan)
        plans.append((step.name, plan))
        if by_rule:
            steps_taken.append(Taken(step, before, table))
    table = table.drop(table.schema.dropped_columns).with_marks(None)
    if table.schema.units:
        table = renumbered(table, seed)
    written_format = chosen_format(original.source, context.format)
    table = made_one(table, written_format, spellings=False)[0].compacted()
    if context.shuffle:
        table = table.take(seed.stream("shuffle").permutation(len(table)))
    if by_rule:
        mechanisms = applied_mechanisms(original, steps_taken, table, by_rule)
    else:
        mechanisms = {}
    return StepsResult(table, tuple(plans), rows.learnt_from, rows.held_out, mechanisms)


def compare_tables(released: Table, original: Table, steps: StepsResult) -> TablePair:
    """Original and release side by side, at the levels that the plans say."""
    levels = levels_of(plan.describe() for _, plan in steps.plans)
    return TablePair.of(
        original, released, levels, learnt_from=steps.learnt_from, held_out=steps.held_out
    )


def pair_tables(
    original: Table, released: Table, *, align: str | None, control: Table | None
) -> TablePair:
    """A table beside one that was made of it, here or elsewhere; the released one may lack columns,
    and roles.
    """
    if not released.schema.attributes:
        schema = Schema(
            {
                name: attribute
                for name, attribute in original.schema.attributes.items()
                if name in released.columns
            }
        )
        released = released.with_schema(schema)
    return pair_elsewhere(original, released, align=align, control=control)
