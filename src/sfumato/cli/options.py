"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset

Data = Annotated[
    str, typer.Argument(help="the table: CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS; '-' for stdin")
]
RecipeFile = Annotated[Path, typer.Option("--recipe", "-r", help="the recipe (YAML)")]
Json = Annotated[bool, typer.Option("--json", help="print the result as JSON")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no talk, only results and errors")]
Delimiter = Annotated[str | None, typer.Option(help="CSV: the delimiter, when it is guessed wrongly")]
Encoding = Annotated[str | None, typer.Option(help="CSV: the encoding, when it is guessed wrongly")]
Population = Annotated[
    str | None, typer.Option(help="a second table: everyone, for promises about them, or what swap_across takes from")
]
Decimal = Annotated[str | None, typer.Option(help="CSV: the decimal mark, '.' or ','")]


def read_beside(table: str | None) -> Dataset | None:
    """Read a second table, where one is named."""
    return None if table is None else read_data(table, quiet=True)


def read_data(table: str, *, quiet: bool, **options: Any) -> Dataset:
    """Read the table of a command and tell what was decided on the way."""
    from sfumato.cli.talk import notes
    from sfumato.verbs import read

    dataset = read(table, **{k: v for k, v in options.items() if v is not None})
    notes(dataset.source.notes, quiet=quiet)
    return dataset
