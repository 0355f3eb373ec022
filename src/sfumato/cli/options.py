"""Options that several commands share."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.talk import notes
from sfumato.core.source import Intake

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.recipe import Recipe

Data = Annotated[
    str, typer.Argument(help="the table: CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS; '-' for stdin")
]
RecipeFile = Annotated[Path, typer.Option("--recipe", "-r", help="the recipe (YAML)")]
Json = Annotated[bool, typer.Option("--json", help="print the result as JSON")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no talk, only results and errors")]
Population = Annotated[
    str | None, typer.Option(help="a second table: everyone, for promises about them, or what swap_across takes from")
]
READING: dict[str, Any] = {
    "delimiter": Annotated[str | None, typer.Option(help="CSV: the delimiter, when it is guessed wrongly")],
    "encoding": Annotated[str | None, typer.Option(help="CSV: the encoding, when it is guessed wrongly")],
    "decimal": Annotated[str | None, typer.Option(help="CSV: the decimal mark, '.' or ','")],
    "header": Annotated[
        bool | None, typer.Option("--header/--no-header", help="whether the first row names the columns")
    ],
    "missing": Annotated[
        str | None,
        typer.Option(help="codes that stand for a missing value, with commas between: 'NA,?,-9'; '' for none"),
    ],
    "rename_duplicates": Annotated[
        bool | None, typer.Option("--rename-duplicates", help="number columns whose name comes again: a, a_2")
    ],
}
"""What can be said about reading on the command line; it goes before what a recipe says."""


def reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading; it takes them together, as ``intake``."""

    @functools.wraps(command)
    def read_as_said(*args: Any, **options: Any) -> None:
        said = {name: value for name in READING if (value := options.pop(name, None)) is not None}
        if "missing" in said:
            said["missing_values"] = codes_of(said.pop("missing"))
        command(*args, **options, intake=options.pop("intake", None) or Intake.of(said))

    given = inspect.signature(command, eval_str=True)
    own = [one for one in given.parameters.values() if one.name != "intake"]
    kind = inspect.Parameter.KEYWORD_ONLY
    shared = [inspect.Parameter(name, kind, default=None, annotation=form) for name, form in READING.items()]
    read_as_said.__signature__ = given.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    return read_as_said


def codes_of(text: str) -> tuple[str, ...]:
    """Codes with commas between; one that holds a comma stands in double quotes.

    >>> codes_of('NA, ?,-9,"a,b"'), codes_of("")
    (('NA', '?', '-9', 'a,b'), ())
    """
    return tuple(code.strip() for code in next(csv.reader([text], skipinitialspace=True), []) if code.strip())


def read_beside(table: str | None) -> Dataset | None:
    """Read a second table, where one is named: it is another file, and has a form of its own."""
    from sfumato.release.make import require_readable

    if table is None:
        return None
    if table != "-":
        require_readable(Path(table))
    return read_data(table, quiet=True)


def read_data(
    table: str, *, quiet: bool, intake: Intake | None = None, recipe: Recipe | None = None, **options: Any
) -> Dataset:
    """Read the table of a command as its options say, else its recipe, and tell what was decided on the way."""
    from sfumato.verbs import read

    dataset = read(table, recipe=recipe, **(intake or Intake()).said(), **options)
    notes(dataset.source.notes, quiet=quiet)
    return dataset
