"""Options that several commands share."""

from __future__ import annotations

import copy
import csv
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from sfumato.core.source import Intake
from sfumato.interfaces.cli.console import notes

if TYPE_CHECKING:
    from sfumato.core import data as core_data
    from sfumato.core.recipe import Recipe
    from sfumato.core.shape import Shape
    from sfumato.core.table import Table

Data = Annotated[
    str,
    typer.Argument(
        help=(
            "the table: CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS; '-' for stdin; a"
            " folder of tables; a database, like sqlite:///file.db"
        )
    ),
]
Several = Annotated[
    list[str],
    typer.Argument(
        help="the table; several files or a folder of them are tables that belong together"
    ),
]
RecipeFile = Annotated[Path, typer.Option("--recipe", "-r", help="the recipe (YAML)")]
Json = Annotated[bool, typer.Option("--json", help="print the result as JSON")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print results and errors only")]
TableName = Annotated[
    str | None,
    typer.Option("--table", help="of a database: the table, like clinic.visits", metavar="<name>"),
]
People = Annotated[
    str | None, typer.Option("--people", help="of data that are no table: people's columns")
]
Population = Annotated[str | None, typer.Option(help="everyone, or whom swap_across takes from")]
SECONDS = "<seconds>"


@dataclass(frozen=True)
class ReadOptions:
    """What can be said about reading on the command line; it goes before what a recipe says."""

    panel: ClassVar[str] = "How the file is read"
    delimiter: Annotated[str | None, typer.Option(help="of CSV, if guessed wrongly")] = None
    encoding: Annotated[str | None, typer.Option(help="of CSV, if guessed wrongly")] = None
    decimal: Annotated[str | None, typer.Option(help="mark of CSV: '.' or ','")] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="the first row has names")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="of Excel; else the first")] = None
    missing: Annotated[str | None, typer.Option(help="codes: 'NA,?,-9'; '' for none")] = None
    rename_duplicates: Annotated[
        bool | None, typer.Option("--rename-duplicates", help="number equal names: a, a_2")
    ] = None

    @property
    def intake(self) -> Intake:
        """How the file is read, as reading takes it; what cannot be meant is refused."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if "missing" in given:
            given["missing_values"] = codes_of(given.pop("missing"))
        return Intake.of(given)


@dataclass(frozen=True)
class DataOptions:
    """Where the data are, and what else belongs to them."""

    panel: ClassVar[str] = "Which data"
    population: Population = None
    people: People = None
    table: TableName = None


@dataclass(frozen=True)
class EngineOptions(DataOptions):
    """Where the data are, and who holds them."""

    engine: Annotated[
        str | None, typer.Option(help="Parquet: memory, polars, duckdb, spark or auto")
    ] = None


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of the dataclasses among its parameters.

    ``def check(data: Data, *, reading: ReadOptions)`` gets ``--delimiter``, ``--encoding`` and the
    others, and takes them together as ``reading``. The ``panel`` of a dataclass is their heading in
    the help.
    """
    signature = inspect.signature(command, eval_str=True)
    bundles: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if is_dataclass(parameter.annotation):
            bundles[name] = parameter.annotation

    @functools.wraps(command)
    def take_options(*args: Any, **options: Any) -> None:
        for name, bundle in bundles.items():
            values = {
                field.name: options.pop(field.name)
                for field in fields(bundle)
                if field.name in options
            }
            options[name] = bundle(**values)
        command(*args, **options)

    expanded: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name in bundles:
            expanded.extend(_field_options(parameter.annotation))
        else:
            expanded.append(parameter)
    take_options.__signature__ = signature.replace(parameters=expanded)  # type: ignore[attr-defined]
    return take_options


def _field_options(bundle: Any) -> list[inspect.Parameter]:
    """An option for each field of a dataclass, in its panel."""
    hints = get_type_hints(bundle, include_extras=True)
    options = []
    for field in fields(bundle):
        kind, option = get_args(hints[field.name])
        in_panel = copy.copy(option)
        in_panel.rich_help_panel = bundle.panel
        form: Any = Annotated[kind, in_panel]
        options.append(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=form
            )
        )
    return options


def codes_of(text: str) -> tuple[str, ...]:
    """Codes with commas between; one that holds a comma stands in double quotes.

    >>> codes_of('NA, ?,-9,"a,b"'), codes_of("")
    (('NA', '?', '-9', 'a,b'), ())
    """
    return tuple(
        code.strip() for code in next(csv.reader([text], skipinitialspace=True), []) if code.strip()
    )


def read_beside(table: str | None) -> Table | None:
    """Read a second table, where one is named: it is another file, and has a form of its own."""
    from sfumato.release.make import require_readable

    if table is None:
        return None
    if table != "-":
        require_readable(Path(table))
    return read_data(table, quiet=True)


def read_data(
    data: str,
    *,
    quiet: bool,
    intake: Intake | None = None,
    recipe: Recipe | None = None,
    **options: Any,
) -> Table:
    """Read the table of a command as its options say, else its recipe, and tell what was decided on
    the way.
    """
    from sfumato.interfaces.api import read

    table = read(data, recipe=recipe, **(intake or Intake()).said(), **options)
    tell_notes(table, quiet=quiet)
    return table.in_memory("this command")


def open_data(
    data: str,
    *,
    quiet: bool,
    intake: Intake | None = None,
    recipe: Recipe | None = None,
    **options: Any,
) -> core_data.Data:
    """The data of a command, as its recipe says; without one they are a table. What was decided on
    the way is told.

    Options are those of :func:`sfumato.release.read_data.read_recipe_data`.
    """
    from sfumato.interfaces.api import read
    from sfumato.release.read_data import read_recipe_data

    said = intake or Intake()
    found: core_data.Data
    if recipe is None:
        found = read(data, **said.said(), **options)
    else:
        found = read_recipe_data(data, recipe, said=said, **options)
    tell_notes(found, quiet=quiet)
    return found


def tell_notes(data: core_data.Data, *, quiet: bool) -> None:
    """Say what was decided when data were read."""
    notes(tuple(dict.fromkeys((*data.source.notes, *data.notes))), quiet=quiet)


def require_options(shape: Shape, **given: Any) -> None:
    """Refuse, by name, options that data of this shape do not know."""
    from sfumato.core.registry import data_class

    data_class(shape).require_options(
        {f"--{name.replace('_', '-')}": value for name, value in given.items()}
    )
