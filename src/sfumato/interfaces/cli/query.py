"""``sfumato query``: ask a table under a budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.core.source import Intake
from sfumato.errors import UnreadableInput
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import ReadOptions, ShowOptions, read_data

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.results.queries import Answer, Budget, Session


@dataclass(frozen=True, kw_only=True)
class LedgerOptions(ShowOptions):
    """The ledger, the budget that a new one starts with, and when a reply leaves."""

    ledger: Annotated[
        Path | None, CommandOption("record of spent budget; by default beside the recipe, .ledger")
    ] = None
    quantum: Annotated[float, CommandOption("send replies at multiples of so many seconds")] = 2.0
    budget: Annotated[float | None, CommandOption("ε in total", panel="Start a ledger")] = None
    delta: Annotated[float | None, CommandOption("δ besides ε", panel="Start a ledger")] = None
    budget_rho: Annotated[
        float | None, CommandOption("ρ (zCDP) in total, instead of ε", panel="Start a ledger")
    ] = None

    @property
    def total(self) -> Budget | None:
        """The budget; None where none was given."""
        from sfumato.results.queries import Budget

        if self.budget is None and self.budget_rho is None and self.delta is None:
            return None
        return Budget(self.budget, delta=self.delta or 0.0, rho=self.budget_rho)


@command("sfumato.results.queries.session:Session.sql", "sfumato.results.queries.session:session")
def query(
    recipe: Annotated[
        Path, typer.Argument(help="the recipe (YAML): its columns declare bounds and domains")
    ],
    data: Annotated[str, typer.Argument(help="the table")],
    statement: Annotated[
        str | None,
        typer.Argument(help='the question, e.g. "SELECT sex, AVG(cost) FROM people GROUP BY sex"'),
    ] = None,
    *,
    question: Keywords,
    files: LedgerOptions,
    terms: Keywords,
    reading: ReadOptions,
) -> None:
    """Answer a question under differential privacy and record what it cost.

    The first call starts the ledger with --budget; what was spent stays spent, also when the data
    change. The same question gets the same answer and costs nothing. The table is read whole before
    the question is looked at: where a line is malformed, no question is taken, whatever it is.
    Without a question, the state of the budget is shown.
    """
    from sfumato.results.queries import Quantum

    replies = Quantum(
        files.quantum,
        alarm=lambda n: tell(f"[yellow]note: the reply took {n} quanta; raise --quantum[/]"),
    )
    answers: tuple[Answer, ...] = ()
    # Reading and answering lie within one reply, which leaves at a multiple of the quantum: how
    # long the work took says nothing about records.
    with replies.reply(since=time.monotonic()):
        terms["budget"] = files.total
        terms["ledger"] = files.ledger or recipe.with_suffix(".ledger")
        session = _open_session(recipe, data, statement, terms, reading.intake)
        if statement is not None:
            answers = session.sql(statement, **question)
    _show(session, answers, files)


def _open_session(
    recipe: Path, data: str, statement: str | None, terms: Keywords, intake: Intake
) -> Session:
    """The session of a ledger; a new one is not begun for a question that cannot be read."""
    from sfumato.core import recipe_files as recipes
    from sfumato.core.declared import declared
    from sfumato.results.queries import session
    from sfumato.results.queries.sql import questions

    loaded = recipes.load(recipe)
    dataset = _read_whole(data, intake, loaded)
    if not terms["ledger"].exists():
        options = terms["options"]
        # A ledger belongs to a dataset by its name, not to a file; the recipe gives it one.
        options = replace(options, name=options.name or recipe.stem)
        if statement is not None:
            questions(statement, declared(loaded.schema), options.name)
        terms["options"] = options
    return session(dataset.with_schema(loaded.schema), **terms)


def _read_whole(data: str, intake: Intake, recipe: Recipe) -> Table:
    """The whole table, or a refusal in the same words whatever is wrong with it and whatever was
    asked.

    Every cell is read for itself: what one row holds must not decide how all others are read. A
    line that cannot be read is somebody's record: which one it is, and what is odd about it, is
    told by commands of the owner, not by one that others ask through.
    """
    from sfumato.core.cell_by_cell import cell_by_cell

    try:
        table = read_data(data, quiet=True, intake=intake, recipe=recipe, text=True)
        dataset = cell_by_cell(table, recipe)
        source = dataset.source
        if source.intake.encoding is None and source.format == "csv" and source.encoding != "utf-8":
            raise UnreadableInput("one odd sign must not decide how everybody's values are read")
        return dataset
    except UnreadableInput:
        # A wrong path is no secret, and its own message helps.
        if data != "-" and not Path(data).is_file():
            raise
        raise UnreadableInput(
            f"{data} cannot be read completely, so questions are refused; `sfumato profile` shows "
            "its owner where, --encoding gives the encoding of a CSV that is not UTF-8"
        ) from None


def _show(session: Session, answers: tuple[Answer, ...], files: LedgerOptions) -> None:
    terms = session.ledger.terms
    spent, largest = session.spent, session.largest_epsilon
    if files.json:
        give_json(
            {
                "answers": [answer.to_dict() for answer in answers],
                "budget": terms.budget.to_dict(),
                "spent": spent,
                "largest_epsilon": largest,
            }
        )
        return
    for answer in answers:
        out().print(escape(str(answer)), soft_wrap=True)
    if not answers:
        out().print(escape("\n".join([repr(session), *session.history])), soft_wrap=True)
    tell(
        f"[dim]{escape(terms.dataset)}: {spent:g} spent of {escape(str(terms.budget))};"
        f" one more answer may cost up to ε = {largest:g}[/]",
        quiet=files.quiet,
    )
