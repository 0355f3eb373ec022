"""``sfumato outputs stable``: which result may be published because many different sets of records
give it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import present, progress
from sfumato.interfaces.cli.options import (
    Data,
    ReadOptions,
    ShowOptions,
    names_in,
    read_data,
)

if TYPE_CHECKING:
    from sfumato.results.integral.algorithms import IntegralAlgorithm

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
        CommandOption("one threshold that separates the two classes of this column, with --by"),
    ] = None
    tree: Annotated[str | None, CommandOption("a decision tree for this column, with --by")] = None
    by: Annotated[str | None, CommandOption("columns that explain it, separated by commas")] = None
    grid: Annotated[
        float | None, CommandOption("results (of trees: thresholds) are multiples of this")
    ] = None
    depth: Annotated[int | None, CommandOption("splits of a tree from root to leaf, at most")] = (
        None
    )

    def algorithm(self) -> IntegralAlgorithm:
        """The algorithm; options that do not fit it are refused."""
        from sfumato.results import integral

        targets = {
            "mean": self.mean,
            "regression": self.regression,
            "stump": self.stump,
            "tree": self.tree,
        }
        columns = {name: column for name, column in targets.items() if column is not None}
        if len(columns) != 1:
            raise ParameterError(
                "say what to compute with --mean, --regression, --stump or --tree: --mean cost"
            )
        name, column = next(iter(columns.items()))
        by = names_in(self.by)
        # True for a mean with --by and for anything else without: both are wrong.
        if (name == "mean") == bool(by):
            raise ParameterError(
                "--regression, --stump and --tree each need --by; give both, or leave --by out"
            )
        if self.depth is not None and name != "tree":
            raise ParameterError("--depth goes with --tree")
        if name == "stump" and len(by) > 1:
            raise ParameterError("a stump uses one column: --by age")
        parameters: dict[str, object] = {"grid": self.grid, "depth": self.depth}
        if name == "stump":
            parameters["by"] = by[0]
        elif name != "mean":
            parameters["by"] = by
        # What was not said is left to the algorithm.
        parameters = {name: value for name, value in parameters.items() if value is not None}
        return integral.ALL[name](column, **parameters)  # type: ignore[no-any-return]


@command("sfumato.results.integral.integral_privacy:integral_privacy")
def stable(
    data: Data,
    *,
    sets: Keywords,
    computed: AlgorithmOptions,
    output: ShowOptions,
    reading: ReadOptions,
) -> None:
    """Say which mean, regression, stump or tree may be published: one that many different sets of
    records give.

    Only a result for which k-integral privacy is proved is printed, the most useful of them. Exit
    code 4 when there is none.
    """
    from sfumato.interfaces.api import integral_privacy

    # Options that do not fit are refused before the table is read.
    algorithm = computed.algorithm()
    if "background" in sets:
        sets["background"] = _row_positions(sets["background"])
    dataset = read_data(data, quiet=output.quiet, intake=reading.intake)
    with progress("computing results", quiet=output.quiet) as on_progress:
        result = integral_privacy(dataset, algorithm, progress=on_progress, **sets)
    present(result, json=output.json)
    if result.chosen is None:
        raise typer.Exit(NOTHING_PROVED)


def _row_positions(text: str) -> list[int]:
    """Row numbers, counted from 1, as positions from 0."""
    words = names_in(text)
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise ParameterError("--known takes row numbers from 1, separated by commas: 1,5,9")
    return [int(word) - 1 for word in words]
