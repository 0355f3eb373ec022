"""Options that several commands share."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from sfumato.core.options import CommandOption
from sfumato.core.source import Intake
from sfumato.errors import ParameterError
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
    typer.Argument(help="the table; several files or a folder are tables that belong together"),
]
ReleaseFolder = Annotated[
    Path,
    typer.Argument(
        help="the folder that run wrote, with share and owner; or a table made elsewhere"
    ),
]
RecipeFile = Annotated[Path, CommandOption("the recipe (YAML)", ("--recipe", "-r"))]
Json = Annotated[bool, CommandOption("print the result as JSON", ("--json",))]
Quiet = Annotated[bool, CommandOption("print results and errors only", ("--quiet", "-q"))]
TableName = Annotated[
    str | None,
    CommandOption("of a database: the table, like clinic.visits", ("--table",), metavar="<name>"),
]
People = Annotated[
    str | None,
    CommandOption("for baskets, paths, graphs and related tables: people's columns", ("--people",)),
]
Population = Annotated[
    str | None, CommandOption("the whole population, or the table that swap_across takes from")
]
SECONDS = "<seconds>"


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """How a result is shown; every command has it."""

    json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class ReadOptions:
    """What can be said about reading on the command line; it goes before what a recipe says."""

    panel: ClassVar[str] = "How the file is read"
    delimiter: Annotated[str | None, CommandOption("of CSV, if it is guessed wrong")] = None
    encoding: Annotated[str | None, CommandOption("of CSV, if it is guessed wrong")] = None
    decimal: Annotated[str | None, CommandOption("mark of CSV: '.' or ','")] = None
    header: Annotated[
        bool | None, CommandOption("whether the first row has names", ("--header/--no-header",))
    ] = None
    sheet: Annotated[str | None, CommandOption("of Excel; by default the first")] = None
    missing: Annotated[str | None, CommandOption("codes: 'NA,?,-9'; '' for none")] = None
    rename_duplicates: Annotated[
        bool | None, CommandOption("number repeated names: a, a_2", ("--rename-duplicates",))
    ] = None

    @property
    def intake(self) -> Intake:
        """How the file is read, as reading takes it; what cannot be meant is refused."""
        # None was not said: the recipe decides then, or it is found out.
        options = {name: value for name, value in vars(self).items() if value is not None}
        if "missing" in options:
            # An empty text says that there are no codes, which is not the same as saying nothing.
            options["missing_values"] = codes_of(options.pop("missing"))
        return Intake.of(options)


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
        str | None, CommandOption("Parquet: memory, polars, duckdb, spark or auto")
    ] = None


@dataclass(frozen=True)
class SampleOptions:
    """Who holds the table of a command that looks at some rows of a large one."""

    panel: ClassVar[str] = "Which data"
    engine: Annotated[
        str | None,
        CommandOption("parts: polars, duckdb or spark reads them, and 200,000 rows are looked at"),
    ] = None
    table: TableName = None


def codes_of(text: str) -> tuple[str, ...]:
    """Codes with commas between; one that holds a comma stands in double quotes.

    >>> codes_of('NA, ?,-9,"a,b"'), codes_of("")
    (('NA', '?', '-9', 'a,b'), ())
    """
    rows = csv.reader([text], skipinitialspace=True)
    return tuple(code.strip() for code in next(rows, []) if code.strip())


def names_in(text: str | None) -> list[str]:
    """Names with commas between.

    >>> names_in("age, sex,"), names_in(None)
    (['age', 'sex'], [])
    """
    return [name.strip() for name in (text or "").split(",") if name.strip()]


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

    table = read(data, recipe=recipe, **(intake or Intake()).options(), **options)
    tell_notes(table, quiet=quiet)
    # A table that an engine holds is refused here: such commands need all rows.
    return table.in_memory("this command")


def read_sample(
    data: str,
    source: SampleOptions,
    *,
    quiet: bool,
    intake: Intake,
    recipe: Recipe | None,
    needs_all: str | None = None,
) -> Table:
    """The table of a command that needs rows in memory; of one that an engine holds some rows,
    which is said. ``needs_all`` is an option that was given and needs all of them.
    """
    from sfumato.data.lazy.sample import sampled
    from sfumato.data.lazy.table import LazyTable
    from sfumato.interfaces.api import read

    options = intake.options()
    table = read(data, recipe=recipe, engine=source.engine, table=source.table, **options)
    tell_notes(table, quiet=quiet)
    if not isinstance(table, LazyTable):
        return table
    if needs_all is not None:
        raise ParameterError(
            f"{needs_all} makes the release of all rows in memory, and an engine holds this table:"
            f" leave {needs_all} out, and let 'sfumato run' take the recipe that is recommended"
        )
    sample = sampled(table if recipe is None else table.described_by(recipe))
    tell_notes(sample, quiet=quiet)
    return sample


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

    intake = intake or Intake()
    dataset: core_data.Data
    if recipe is None:
        dataset = read(data, **intake.options(), **options)
    else:
        dataset = read_recipe_data(data, recipe, intake=intake, **options)
    tell_notes(dataset, quiet=quiet)
    return dataset


def tell_notes(data: core_data.Data, *, quiet: bool) -> None:
    """Say what was decided when data were read."""
    # Both may tell the same note.
    notes(tuple(dict.fromkeys((*data.source.notes, *data.notes))), quiet=quiet)


def require_options(shape: Shape, **options: object) -> None:
    """Refuse, by name, options that data of this shape do not know."""
    from sfumato.core.registry import data_class

    # A refusal names options as they are typed.
    flags = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    data_class(shape).require_options(flags)
