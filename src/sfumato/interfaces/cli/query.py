"""``sfumato query``: ask a table under a budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.markup import escape

from sfumato.core.cell_by_cell import cell_by_cell
from sfumato.core.options import CommandOption
from sfumato.core.source import Intake
from sfumato.errors import UnreadableInput
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import ReadOptions, ShowOptions, read_data

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.results.queries import Answer, Budget, Session


@dataclass(frozen=True)
class LedgerOptions:
    """What a new ledger starts with."""

    panel: ClassVar[str] = "Start a ledger"
    budget: Annotated[float | None, CommandOption("ε in total")] = None
    delta: Annotated[float | None, CommandOption("δ besides ε")] = None
    budget_rho: Annotated[float | None, CommandOption("ρ (zCDP) in total, instead of ε")] = None
    name: Annotated[str | None, CommandOption("the dataset's name; else the recipe's")] = None
    protects: Annotated[str | None, CommandOption("the column that names persons, or 'row'")] = None
    neighbours: Annotated[str | None, CommandOption("add_remove or change_one")] = None
    contributions: Annotated[int | None, CommandOption("rows of one person that count")] = None

    @property
    def total(self) -> Budget | None:
        """The budget; None where none was said."""
        from sfumato.results.queries import Budget

        if self.budget is None and self.budget_rho is None and self.delta is None:
            return None
        return Budget(self.budget, delta=self.delta or 0.0, rho=self.budget_rho)


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(ShowOptions):
    """What the answer may cost."""

    epsilon: Annotated[float | None, CommandOption("what the answer may cost (Laplace noise)")] = (
        None
    )
    rho: Annotated[float | None, CommandOption("or in zCDP (Gaussian noise)")] = None
    ledger: Annotated[
        Path | None, CommandOption("what was spent; by default beside the recipe, .ledger")
    ] = None
    quantum: Annotated[float, CommandOption("replies leave at multiples of so many seconds")] = 2.0
    fresh: Annotated[
        bool, CommandOption("pay again for new noise, even if asked before", ("--fresh",))
    ] = False


@command()
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
    asked: QuestionOptions,
    start: LedgerOptions,
    reading: ReadOptions,
) -> None:
    """Answer a question under differential privacy and write down what it cost.

    The first call starts the ledger with --budget; what was spent stays spent, also when the data
    change. The same question gets the same answer and costs nothing. The table is read whole before
    the question is looked at: where a line is malformed, no question is taken, whatever it is.
    Without a question, the state of the budget is shown.
    """
    from sfumato.results.queries import Quantum

    waiting = Quantum(
        asked.quantum,
        alarm=lambda n: tell(f"[yellow]note: the reply took {n} quanta; raise --quantum[/]"),
    )
    with waiting.reply(since=time.monotonic()):
        asking = _session(recipe, data, reading.intake, asked.ledger, start, statement)
        if statement is None:
            answers: tuple[Answer, ...] = ()
        else:
            answers = asking.sql(statement, epsilon=asked.epsilon, rho=asked.rho, fresh=asked.fresh)
    _show(asking, answers, json=asked.json, quiet=asked.quiet)


def _session(
    recipe: Path,
    data: str,
    intake: Intake,
    ledger: Path | None,
    start: LedgerOptions,
    statement: str | None,
) -> Session:
    """The session of a ledger; a new one is not begun for a question that cannot be read."""
    from sfumato.core import recipe_files as recipes
    from sfumato.core.declared import declared
    from sfumato.results.queries import SessionOptions, session
    from sfumato.results.queries.sql import questions

    budget = start.total
    loaded = recipes.load(recipe)
    dataset = _opened(data, intake, loaded)
    path = ledger or recipe.with_suffix(".ledger")
    if not path.exists():
        start = replace(start, name=start.name or recipe.stem)
        if statement is not None:
            questions(statement, declared(loaded.schema), start.name or "")
    return session(
        dataset.with_schema(loaded.schema),
        budget=budget,
        protects=start.protects,
        contributions=start.contributions,
        ledger=path,
        options=SessionOptions(neighbours=start.neighbours, name=start.name),
    )


def _opened(data: str, intake: Intake, recipe: Recipe) -> Table:
    """The whole table, or a refusal in the same words whatever is wrong with it and whatever was
    asked.

    A line that cannot be read is somebody's record: which one it is, and what is odd about it, is
    told by commands of the owner, not by one that others ask through.
    """
    try:
        dataset = _read(data, intake, recipe)
        source = dataset.source
        if source.intake.encoding is None and source.format == "csv" and source.encoding != "utf-8":
            raise UnreadableInput("one odd sign must not decide how everybody's are read")
        return dataset
    except UnreadableInput:
        if data != "-" and not Path(data).is_file():
            raise
        raise UnreadableInput(
            f"{data} cannot be read as a whole, so no question is taken; `sfumato profile` tells"
            " its owner where, --encoding says how a CSV is written that is not UTF-8"
        ) from None


def _read(data: str, intake: Intake, recipe: Recipe) -> Table:
    """The table, every cell read for itself: what one row holds must not decide how all others are
    read.
    """
    return cell_by_cell(
        read_data(data, quiet=True, intake=intake, recipe=recipe, text=True), recipe
    )


def _show(asking: Session, answers: tuple[Answer, ...], *, json: bool, quiet: bool) -> None:
    terms = asking.ledger.terms
    state = {
        "budget": terms.budget.to_dict(),
        "spent": asking.spent,
        "largest_epsilon": asking.largest_epsilon,
    }
    if json:
        give_json({"answers": [answer.to_dict() for answer in answers], **state})
        return
    for answer in answers:
        out().print(escape(str(answer)), soft_wrap=True)
    if not answers:
        out().print(escape("\n".join([repr(asking), *asking.history])), soft_wrap=True)
    tell(
        f"[dim]{escape(terms.dataset)}: {state['spent']:g} spent of {escape(str(terms.budget))};"
        f" one more answer may cost up to ε = {state['largest_epsilon']:g}[/]",
        quiet=quiet,
    )
