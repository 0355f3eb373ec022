"""Tasks about questions under a budget: what was spent, how exact an answer would be, and answers.
The ledger is that of ``sfumato query``.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.blocks import Block, Heading, ListBlock, Paragraph, TableBlock
from sfumato.core.cell_by_cell import cell_by_cell
from sfumato.core.declared import ROW, declared
from sfumato.core.ledger import Ledger
from sfumato.core.schema import UNITS
from sfumato.core.words import number, percent
from sfumato.errors import ParameterError, require
from sfumato.interfaces.api import read
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.requests import BudgetRequest, QuestionRequest
from sfumato.results.queries import Budget, SessionOptions, expected_error, session

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.results.queries import Answer, Session

DIGITS = 12


def budget_state(bench: Bench, progress: Progress, *, recipe: Recipe, ledger: str) -> Fields:
    """What may be lost in total, what was spent and what is left; nothing of the data is looked
    at.
    """
    units = [
        name for name, attribute in recipe.schema.attributes.items() if UNITS & set(attribute.roles)
    ]
    sums = [
        name for name, attribute in recipe.schema.attributes.items() if attribute.bounds is not None
    ]
    groups = [
        name for name, attribute in recipe.schema.attributes.items() if attribute.domain is not None
    ]
    about = {"protects": [*units, ROW], "bounded": sums, "listed": groups}
    if not Path(ledger).exists():
        return {"started": False, **about}
    book = Ledger.at(ledger)
    terms = book.terms
    with book.hold() as account:
        spent, largest = (
            terms.budget.spent(account.spending),
            terms.budget.largest_epsilon(account.spending),
        )
        questions = [
            f"{words} ({loss})" for words, loss in zip(account.asked, account.losses, strict=True)
        ]
    total = terms.budget.epsilon if terms.budget.epsilon is not None else terms.budget.rho
    history: Block = (
        ListBlock(tuple(questions)) if questions else Paragraph("Nothing yet.", "quiet")
    )
    return {
        "started": True,
        **about,
        "dataset": terms.dataset,
        "budget": str(terms.budget),
        "currency": "ε" if terms.budget.epsilon is not None else "ρ",
        "total": total,
        "delta": terms.budget.delta,
        "spent": round(spent, DIGITS),
        "largest_epsilon": largest,
        "whom": terms.relation.words,
        "history": [Heading("Paid for so far", 1), history],
    }


def start_budget(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    ledger: str,
    source: Fields,
    request: BudgetRequest,
) -> Fields:
    """Begin a ledger: what all answers together may cost."""
    start: Fields = {"budget": Budget(request.epsilon, delta=request.delta)}
    start["protects"] = request.protects or ROW
    if request.protects is not None:
        start["contributions"] = request.contributions
    _session(bench, progress, recipe, ledger, source, **start)
    return budget_state(bench, progress, recipe=recipe, ledger=ledger)


def error_expected(
    bench: Bench, progress: Progress, *, recipe: Recipe, ledger: str, question: QuestionRequest
) -> list[Block]:
    """How exact each answer of a statement would be at an ε, on a table of so many records as
    somebody expects; the data are not looked at.
    """
    require("sqlglot", extra="dp", to="read questions in SQL")
    from sfumato.results.queries.sql import questions

    terms, declarations = Ledger.at(ledger).terms, declared(recipe.schema)
    statements = questions(question.statement, declarations, terms.dataset)
    blocks: list[Block] = []
    for name, statement in statements:
        groups = 1
        for axis in statement.by:
            # an answer for each combination of groups, of which each gets a part of the rows
            groups *= len(axis.labels(declarations))
        bounds = None
        if statement.column is not None:
            bounds = declarations.bounds_of(statement.column)
        error = expected_error(
            statement.statistic,
            question.epsilon / len(statements),
            rows=max(1.0, question.rows / groups),
            bounds=bounds,
            relation=terms.relation,
            groups=groups,
        )
        words = f"within ±{number(error)}"
        if statement.statistic == "quantile":
            words = f"its rank within {percent(error)} of the rows"
        blocks.append(Paragraph(f"{name or statement}: {words}, 95 times out of 100."))
    return blocks


def ask_question(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    ledger: str,
    source: Fields,
    question: QuestionRequest,
    fresh: bool,
) -> list[list[Block]]:
    """The answers to a statement, paid from the ledger; what was asked before costs nothing."""
    asking = _session(bench, progress, recipe, ledger, source)
    answers = asking.sql(question.statement, epsilon=question.epsilon, fresh=fresh)
    return [_answer_blocks(answer) for answer in answers]


def _answer_blocks(answer: Answer) -> list[Block]:
    """An answer: a row for each group, with the interval of the noise."""
    fields = answer.to_dict()
    rows = []
    for position, value in enumerate(fields["values"]):
        group = "all"
        if fields["by"]:
            group = ", ".join(fields["groups"][position])
        ends = [fields[side][position] if fields[side] else None for side in ("low", "high")]
        rows.append((group, value, *ends))
    header = (", ".join(fields["by"]) or "all", "value", "from", "to")
    return [
        Heading(answer.label or answer.question, 1),
        Paragraph(answer.sentence),
        TableBlock(header, tuple(rows)),
    ]


def _session(
    bench: Bench,
    progress: Progress,
    recipe: Recipe,
    ledger: str,
    source: Fields,
    **start: Any,
) -> Session:
    progress(0.0, "reading every cell for itself")
    bounded = sorted(
        name for name, attribute in recipe.schema.attributes.items() if attribute.bounds is not None
    )
    table = bench.recall_or_make(f"cell by cell {bounded}", lambda: _table(bench, recipe, source))
    path = Path(ledger)
    if not path.exists():
        start["options"] = SessionOptions(name=path.stem)
    elif start:
        raise ParameterError("there already is a ledger; what was spent stays spent")
    return session(table.with_schema(recipe.schema), ledger=path, **start)


def _table(bench: Bench, recipe: Recipe, source: Fields) -> Table:
    """The table as ``sfumato query`` reads it; an example is in memory already."""
    if source["path"] is None:
        return dataclasses.replace(bench.data)
    options = {name: value for name, value in source["options"].items() if value is not None}
    return cell_by_cell(
        read(source["path"], engine="memory", recipe=recipe, text=True, **options).in_memory(
            "questions"
        ),
        recipe,
    )
