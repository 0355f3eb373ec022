"""What a recommendation looks at: the table, what its columns are, and the rows that candidates are
tried on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.fields import Document
from sfumato.core.randomness import Seed, canonical_order
from sfumato.core.recipe import Recipe
from sfumato.core.schema import UNITS, Role, Schema
from sfumato.core.table import Table
from sfumato.core.words import count_of, inflect
from sfumato.errors import SchemaError
from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.proposal import propose
from sfumato.guidance.profiling.proposed_hierarchies import suggest
from sfumato.guidance.profiling.questions import (
    RoleQuestion,
    answer_questions,
    open_questions,
    undecided_question,
)
from sfumato.guidance.profiling.yaml_text import recipe_text
from sfumato.guidance.recommendation.answers import ContextAnswers, require_columns, roles_of
from sfumato.guidance.recommendation.candidates import contract_of
from sfumato.release.read_data import read_one_table

# Rows that candidates are tried on; a larger table is drawn from, whole persons and households at a
# time.
ROWS = 10_000


@dataclasses.dataclass(frozen=True)
class Looked:
    """A table with its roles, the recipe that says them, and whether they are guesses."""

    dataset: Table
    recipe: Recipe
    guessed: bool

    @property
    def people(self) -> int:
        """Persons where a column numbers them, else records."""
        person = self.dataset.schema.person
        if person is None:
            return len(self.dataset)
        return int(self.dataset.column(person).n_unique())

    @property
    def distinct(self) -> dict[str, int]:
        """The number of values of every sensitive column."""
        return {
            name: int(self.dataset.column(name).n_unique())
            for name in self.dataset.schema.sensitive
        }


def table_of(table: object, recipe: Recipe | None = None) -> Table:
    """A table, or a path or frame that is read into memory."""
    engine = None
    if isinstance(table, str | Path):
        engine = "memory"
    return read_one_table(table, recipe=recipe, engine=engine, options={}).in_memory(
        "a recommendation"
    )


def looked_at(table: Table, answers: ContextAnswers, recipe: Recipe | None) -> Looked:
    """The table with the roles of a recipe, else its own, else those a profile guesses; decisions
    go before all of them.

    Raises:
        SchemaError: columns wait for a decision; all are listed, with why.
    """
    recipe, questions, guessed = _described_by(table, answers, recipe)
    _require_decided(questions, table.source.name)
    _require_kept(answers, recipe.schema)
    if not recipe.schema.quasi:
        raise SchemaError(
            f"no column of {table.source.name} has role quasi, so nobody could be recognised by "
            "anything and a class size has no meaning; give the columns an outsider can know that "
            "role (--decide age=quasi; in Python and in answers.yaml: decide)"
        )
    base = dataclasses.replace(recipe, meet=(), steps=(), limits={})
    agreed = recipes.from_dict(
        contract_of(answers.analyses, recipes.to_dict(base)), base=base.base, name="the answers"
    )
    base = dataclasses.replace(base, contract=agreed.contract)
    return Looked(table.described_by(base), base, guessed)


def open_decisions(
    table: Table, answers: ContextAnswers, recipe: Recipe | None
) -> tuple[RoleQuestion, ...]:
    """The questions about columns that wait for a decision."""
    return _described_by(table, answers, recipe)[1]


def _described_by(
    table: Table, answers: ContextAnswers, recipe: Recipe | None
) -> tuple[Recipe, tuple[RoleQuestion, ...], bool]:
    """The recipe that says what the columns are, with what was decided; the questions still open;
    and whether a profile guessed the roles.
    """
    require_columns(answers, table.columns, table.source.name)
    if not len(table):
        raise SchemaError(f"{table.source.name} has no rows; there is nothing to recommend")
    guessed, questions = False, tuple[RoleQuestion, ...]()
    if recipe is None and table.schema.attributes:
        recipe = Recipe(table.schema, intake=table.source.intake)
    elif recipe is None:
        proposal = propose(table.to_polars(), table.source)
        recipe, guessed = recipes.parse(recipe_text(proposal), name="the profile"), True
        questions = proposal.questions
    undecided = recipe.schema.columns(Role.ASK)
    if not guessed and undecided:
        questions = (undecided_question(undecided),)
    decisions = answer_questions(questions, answers.decide, table.columns)
    return (
        dataclasses.replace(recipe, schema=decided(table, recipe.schema, decisions)),
        open_questions(questions, decisions),
        guessed,
    )


def decided(table: Table, schema: Schema, decisions: Mapping[str, str]) -> Schema:
    """The schema with the roles that somebody decided on; a quasi-identifier without hierarchy gets
    the one that fits best.
    """
    for column, word in decisions.items():
        roles = roles_of(word, column)
        changes: Document = {"roles": roles}
        hierarchy = None
        if column in schema.attributes:
            hierarchy = schema[column].hierarchy
        if Role.QUASI in roles and hierarchy is None:
            suggested = suggest(look_at(column, table.to_polars().get_column(column))).hierarchy
            changes["hierarchy"] = registry.build("hierarchies", suggested)
        elif {Role.DROP, *UNITS, Role.WEIGHT} & set(roles):
            changes["hierarchy"] = None
        schema = schema.replace(column, **changes)
    return schema


def _require_decided(questions: tuple[RoleQuestion, ...], table: str) -> None:
    if not questions:
        return
    lines = []
    for question in questions:
        if len(question.columns) == 1:
            lines.append(f"  --decide {question.columns[0]}=ROLE  {question.reason}")
        else:
            columns = ", ".join(question.columns)
            lines.append(f"  --decide {question.name}=yes  {question.sentence} ({columns})")
    count = sum(len(question.columns) for question in questions)
    first = (
        f"{count_of(count, 'column')} {inflect(count, 'waits', 'wait')} for your decision in"
        f" {table}, and nothing is recommended before: answer each question with yes, no or a role,"
        " or give a column its own, with --decide (in Python and in answers.yaml: decide); roles"
        " are drop, quasi, sensitive, keep, weight, stratum, person and household"
    )
    raise SchemaError([first, *lines])


def _require_kept(answers: ContextAnswers, schema: Schema) -> None:
    """Refuse to keep what is dropped from every candidate."""
    dropped = [name for name in answers.keep if Role.DROP in schema[name].roles]
    if dropped:
        raise SchemaError(
            f"{', '.join(dropped)} cannot survive, since a direct identifier is dropped; remove it "
            "from keep, or give it another role"
        )


def drawn_from(dataset: Table, rows: int = ROWS) -> Table:
    """A random part of a large table that does not depend on the order of its rows; persons and
    households stay whole.

    The first unit that would not fit any more ends it, so there are never more rows than asked for.
    """
    if len(dataset) <= rows:
        return dataset
    order, stream = (
        canonical_order(dataset),
        Seed.of(1).stream("recommend: rows to try candidates on"),
    )
    units = dataset.schema.units
    if not units:
        positions = order[stream.choice(len(order), rows, replace=False)]
    else:
        codes = dataset.encoded(units[0]).codes[order]
        _, which, sizes = np.unique(codes, return_inverse=True, return_counts=True)
        shuffled = stream.permutation(len(sizes))
        fit = shuffled[: int(np.searchsorted(np.cumsum(sizes[shuffled]), rows, side="right"))]
        positions = order[np.isin(which, fit)]
    return dataclasses.replace(dataset.take(np.sort(positions)), origin=None)
