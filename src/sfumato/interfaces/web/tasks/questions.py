"""Tasks about questions under a budget: what was spent, how exact an answer would be, and answers.
The ledger is that of ``sfumato query``.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.cell_by_cell import cell_by_cell
from sfumato.core.declared import ROW, declared
from sfumato.core.ledger import Ledger
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, require
from sfumato.interfaces.api import read
from sfumato.results.queries import Budget, SessionOptions, expected_error, session

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.results.queries import Session

DIGITS = 12


def budget_state(
    bench: Bench, progress: Progress, *, recipe: Recipe, ledger: str
) -> dict[str, Any]:
    """What may be lost in total, what was spent and what is left; nothing of the data is looked
    at.
    """
    units = [name for name, one in recipe.schema.attributes.items() if Role.UNIT in one.roles]
    sums = [name for name, one in recipe.schema.attributes.items() if one.bounds is not None]
    groups = [name for name, one in recipe.schema.attributes.items() if one.domain is not None]
    about = {"protects": [*units, ROW], "bounded": sums, "listed": groups}
    if not Path(ledger).exists():
        return {"started": False, **about}
    book = Ledger.at(ledger)
    terms = book.terms
    with book.hold() as held:
        spent, left = terms.budget.spent(held.spending), terms.budget.largest_epsilon(held.spending)
        asked = [f"{words} ({loss})" for words, loss in zip(held.asked, held.losses, strict=True)]
    total = terms.budget.epsilon if terms.budget.epsilon is not None else terms.budget.rho
    return {
        "started": True,
        **about,
        "dataset": terms.dataset,
        "budget": str(terms.budget),
        "currency": "ε" if terms.budget.epsilon is not None else "ρ",
        "total": total,
        "delta": terms.budget.delta,
        "spent": round(spent, DIGITS),
        "largest_epsilon": left,
        "whom": terms.relation.words,
        "history": asked,
    }


def start_budget(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    ledger: str,
    source: dict[str, Any],
    epsilon: float,
    delta: float,
    protects: str,
    contributions: int | None,
) -> dict[str, Any]:
    """Begin a ledger: what all answers together may cost."""
    start = {"budget": Budget(epsilon, delta=delta), "protects": protects}
    start |= {} if protects == ROW else {"contributions": contributions}
    _session(bench, progress, recipe, ledger, source, **start)
    return budget_state(bench, progress, recipe=recipe, ledger=ledger)


def error_expected(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    ledger: str,
    statement: str,
    epsilon: float,
    rows: float,
) -> list[dict[str, Any]]:
    """How exact each answer of a statement would be at an ε, on a table of so many records as
    somebody expects; the data are not looked at.
    """
    asked, terms = _asked(recipe, ledger, statement), Ledger.at(ledger).terms
    found = []
    for name, question in asked:
        known = declared(recipe.schema)
        groups = 1
        for axis in question.by:
            groups *= len(axis.labels(known))
        bounds = None if question.column is None else known.bounds_of(question.column)
        size: dict[str, Any] = {
            "rows": max(1.0, rows / groups),
            "bounds": bounds,
            "relation": terms.relation,
            "groups": groups,
        }
        error = expected_error(question.statistic, epsilon / len(asked), **size)
        found.append(
            {
                "question": name or str(question),
                "error": error,
                "rank": question.statistic == "quantile",
            }
        )
    return found


def _asked(recipe: Recipe, ledger: str, statement: str) -> Any:
    require("sqlglot", extra="dp", to="read questions in SQL")
    from sfumato.results.queries.sql import questions

    return questions(statement, declared(recipe.schema), Ledger.at(ledger).terms.dataset)


def ask_question(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    ledger: str,
    source: dict[str, Any],
    statement: str,
    epsilon: float,
    fresh: bool,
) -> dict[str, Any]:
    """The answers to a statement, paid from the ledger; what was asked before costs nothing."""
    asking = _session(bench, progress, recipe, ledger, source)
    answers = asking.sql(statement, epsilon=epsilon, fresh=fresh)
    told = [
        {
            **one.to_dict(),
            "title": one.label or one.question,
            "cost": one.cost,
            "sentence": one.sentence,
        }
        for one in answers
    ]
    return {"answers": told, "state": budget_state(bench, progress, recipe=recipe, ledger=ledger)}


def _session(
    bench: Bench,
    progress: Progress,
    recipe: Recipe,
    ledger: str,
    source: dict[str, Any],
    **start: Any,
) -> Session:
    progress(0.0, "reading every cell for itself")
    bounded = sorted(
        name for name, one in recipe.schema.attributes.items() if one.bounds is not None
    )
    table = bench.known(f"cell by cell {bounded}", lambda: _table(bench, recipe, source))
    path = Path(ledger)
    if not path.exists():
        start["options"] = SessionOptions(name=path.stem)
    elif start:
        raise ParameterError("there is a ledger already; what was spent stays spent")
    return session(table.with_schema(recipe.schema), ledger=path, **start)


def _table(bench: Bench, recipe: Recipe, source: dict[str, Any]) -> Table:
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
