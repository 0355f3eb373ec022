"""Options that several commands share."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.core.source import Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import notes

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.recipe import Recipe
    from sfumato.core.shape import Shape
    from sfumato.data.lazy.table import LazyTable

Data = Annotated[
    str,
    typer.Argument(
        help="the table: CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS; '-' for stdin; a database with --table, such as "
        "postgresql://host/db, sqlite:///file.db, duckdb:///file.db; of several tables their folder, or the database"
    ),
]
Several = Annotated[
    list[str],
    typer.Argument(
        help="the table, as for other commands; several files or a folder of them: several tables that belong together"
    ),
]
RecipeFile = Annotated[Path, typer.Option("--recipe", "-r", help="the recipe (YAML)")]
Json = Annotated[bool, typer.Option("--json", help="print the result as JSON")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no talk, only results and errors")]
Engine = Annotated[
    str | None,
    typer.Option(
        help="who holds the table: memory, polars, duckdb, spark or auto (by rows, distinct values and free memory); Parquet only"
    ),
]
TableName = Annotated[
    str | None, typer.Option("--table", help="the table of a database: visits, or clinic.visits with its schema")
]
People = Annotated[
    str | None,
    typer.Option(
        "--people",
        help="data that are no table: the second file, with the people's own columns; else the one the recipe names",
    ),
]
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
    "sheet": Annotated[str | None, typer.Option(help="Excel: the name of the sheet; by default the first one")],
    "missing": Annotated[
        str | None,
        typer.Option(help="codes that stand for a missing value, with commas between: 'NA,?,-9'; '' for none"),
    ],
    "rename_duplicates": Annotated[
        bool | None, typer.Option("--rename-duplicates", help="number columns whose name comes again: a, a_2")
    ],
}
"""What can be said about reading on the command line; it goes before what a recipe says."""


def gathered(
    into: str, shared: Mapping[str, tuple[Any, Any]], make: Callable[[dict[str, Any]], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that gives commands shared options; each takes them together, as the parameter ``into``.

    ``shared`` has an annotation and a default for every option, and ``make`` what becomes of their values. They stand where the
    parameter stands; in the last place they follow all others.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_shared(*args: Any, **options: Any) -> None:
            said = {name: options.pop(name, default) for name, (_, default) in shared.items()}
            command(*args, **options, **{into: options.pop(into, None) or make(said)})

        given = inspect.signature(command, eval_str=True)
        kind, own = inspect.Parameter.KEYWORD_ONLY, list(given.parameters.values())
        added = [
            inspect.Parameter(name, kind, default=value, annotation=form) for name, (form, value) in shared.items()
        ]
        at = [one.name for one in own].index(into)
        after = [one.replace(kind=kind) for one in own[at + 1 :]]  # what follows a keyword is one
        with_shared.__signature__ = given.replace(parameters=[*own[:at], *added, *after])  # type: ignore[attr-defined]
        return with_shared

    return decorate


def _intake(said: dict[str, Any]) -> Intake:
    given = {name: value for name, value in said.items() if value is not None}
    if "missing" in given:
        given["missing_values"] = codes_of(given.pop("missing"))
    return Intake.of(given)


reading = gathered("intake", {name: (form, None) for name, form in READING.items()}, _intake)
"""Give a command the options of reading; it takes them together, as ``intake``."""


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
    data: str, *, quiet: bool, intake: Intake | None = None, recipe: Recipe | None = None, **options: Any
) -> Dataset:
    """Read the table of a command as its options say, else its recipe, and tell what was decided on the way."""
    return open_data(data, quiet=quiet, intake=intake, recipe=recipe, **options).in_memory("this command")


def open_data(
    data: str, *, quiet: bool, intake: Intake | None = None, recipe: Recipe | None = None, **options: Any
) -> Dataset | LazyTable:
    """The same for commands that also take tables an engine holds."""
    from sfumato.interfaces.api import read

    dataset = read(data, recipe=recipe, **(intake or Intake()).said(), **options)
    notes(dataset.source.notes, quiet=quiet)
    return dataset


# Data that are no table.


def refuse_options(shape: Shape, **given: Any) -> None:
    """Refuse, by name, options that are about tables."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise ParameterError(f"{' and '.join(named)} goes with tables; these are data of shape {shape}")


def refuse_people(people: str | None) -> None:
    """Refuse the second file of people who are no table, where there is a table."""
    if people is not None:
        raise ParameterError("--people goes with data of another shape; a table holds the people's columns itself")


def refuse_options_of_others(shape: Shape, *, people: str | None, **of_tables: Any) -> None:
    """Refuse, by name, options that data of this shape do not know: those of tables, or the second file of all others."""
    from sfumato.core.shape import Shape

    if shape is Shape.TABLE:
        refuse_people(people)
    else:
        refuse_options(shape, **of_tables)


def shape_in(folder: Path) -> Shape | None:
    """The shape of a written release that is no table; None for tables, and for what is no release."""
    from sfumato.core.shape import Shape
    from sfumato.release.certificates import FILE, read_any_certificate, shape_of

    if not (folder / "share" / FILE).is_file():
        return None
    shape = shape_of(read_any_certificate(folder / "share"))
    return None if shape is Shape.TABLE else shape
