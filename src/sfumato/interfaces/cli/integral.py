"""``sfumato outputs stable``: which result may be published because many different sets of records
give it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, progress, show_blocks
from sfumato.interfaces.cli.options import Data, ReadOptions, ShowOptions, read_data

if TYPE_CHECKING:
    from sfumato.results.integral.algorithms import Computed

NOTHING_PROVED = 4


@dataclass(frozen=True, kw_only=True)
class AlgorithmOptions:
    """What is computed."""

    mean: Annotated[str | None, CommandOption("the mean of this column")] = None
    regression: Annotated[
        str | None, CommandOption("the least-squares line of this column, with --by")
    ] = None
    stump: Annotated[
        str | None,
        CommandOption("one threshold that tells the two classes of this column apart, with --by"),
    ] = None
    tree: Annotated[str | None, CommandOption("a decision tree for this column, with --by")] = None
    by: Annotated[str | None, CommandOption("columns that explain it, with commas between")] = None
    grid: Annotated[
        float | None, CommandOption("results (of trees: thresholds) are multiples of this")
    ] = None
    depth: Annotated[int | None, CommandOption("splits of a tree from root to leaf, at most")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class StableOptions(ShowOptions):
    """How many sets of records must give the same result."""

    k: Annotated[
        int,
        CommandOption("different sets of records that must give the same result", ("-k", "--k")),
    ]
    size: Annotated[
        int, CommandOption("records of each set: as many as the result is computed from")
    ]
    samples: Annotated[
        int | None, CommandOption("draw so many sets at random instead of counting all")
    ] = None
    known: Annotated[
        str | None,
        CommandOption("rows that the intruder knows to be used, from 1, with commas between"),
    ] = None
    seed: Annotated[
        str | None, CommandOption("hexadecimal text, to draw the same samples again")
    ] = None


@command()
def stable(
    data: Data,
    *,
    asked: StableOptions,
    computed: AlgorithmOptions,
    reading: ReadOptions,
) -> None:
    """Say which mean, regression, stump or tree may be published: one that many different sets of
    records give.

    Only a result for which k-integral privacy is proved is printed, the most useful of them. Exit
    code 4 when there is none.
    """
    from sfumato.interfaces.api import integral_privacy

    algorithm = _algorithm(
        {
            "mean": computed.mean,
            "regression": computed.regression,
            "stump": computed.stump,
            "tree": computed.tree,
        },
        computed.by,
        computed.grid,
        computed.depth,
    )
    dataset = read_data(data, quiet=asked.quiet, intake=reading.intake)
    with progress("computing results", quiet=asked.quiet) as on_progress:
        found = integral_privacy(
            dataset,
            algorithm,
            asked.k,
            size=asked.size,
            samples=asked.samples,
            background=_rows(asked.known),
            seed=asked.seed,
            progress=on_progress,
        )
    if asked.json:
        give_json(found.to_dict())
    else:
        show_blocks(found.blocks())
    if found.chosen is None:
        raise typer.Exit(NOTHING_PROVED)


def _algorithm(
    asked: dict[str, str | None], by: str | None, grid: float | None, depth: int | None
) -> Computed:
    from sfumato.results import integral as results

    named = {name: column for name, column in asked.items() if column is not None}
    if len(named) != 1:
        raise ParameterError(
            "say what is computed by one of --mean, --regression, --stump and --tree: --mean cost"
        )
    name, column = next(iter(named.items()))
    columns = [one.strip() for one in (by or "").split(",") if one.strip()]
    if (name == "mean") == bool(columns):
        raise ParameterError(
            "--by goes with --regression, --stump and --tree, and each of them needs it"
        )
    if depth is not None and name != "tree":
        raise ParameterError("--depth goes with --tree")
    given = {} if grid is None else {"grid": grid}
    if name == "mean":
        return results.ALL[name](column, **given)  # type: ignore[no-any-return]
    if name == "stump" and len(columns) > 1:
        raise ParameterError("a stump has one column: --by age")
    more = {} if depth is None else {"depth": depth}
    grouping = columns[0] if name == "stump" else columns
    return results.ALL[name](column, by=grouping, **given, **more)  # type: ignore[no-any-return]


def _rows(known: str | None) -> list[int]:
    """Row numbers from 1 as places from 0."""
    words = [one.strip() for one in (known or "").split(",") if one.strip()]
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise ParameterError("--known takes numbers of rows from 1, with commas between: 1,5,9")
    return [int(word) - 1 for word in words]
