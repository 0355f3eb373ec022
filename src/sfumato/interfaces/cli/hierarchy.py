"""``sfumato profile --column``: look at a hierarchy with counts, and write it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from rich.markup import escape
from rich.table import Table as RichTable

from sfumato.core.options import CommandOption
from sfumato.core.source import Intake
from sfumato.core.yaml_text import read_yaml
from sfumato.errors import ParameterError, SchemaError
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import read_data

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.methods.hierarchies.view import HierarchyView, LevelView


SHOWN = 12
"""Labels of each level that are shown, the largest first."""


@dataclass(frozen=True)
class ColumnOptions:
    """Which column is looked at, and where its hierarchy comes from."""

    panel: ClassVar[str] = "The hierarchy of one column"
    column: Annotated[str | None, CommandOption("look at the hierarchy of this column")] = None
    recipe: Annotated[
        Path | None, CommandOption("the recipe that has its hierarchy", ("--recipe", "-r"))
    ] = None
    rule: Annotated[
        str | None, CommandOption("a hierarchy instead: 'intervals: {widths: [5, 10]}'")
    ] = None
    show: Annotated[
        int | None, CommandOption(f"labels of each level, {SHOWN} by default; 0: all", minimum=0)
    ] = None


def look_at_column(
    data: Sequence[str],
    wanted: ColumnOptions,
    output: Path | None,
    intake: Intake,
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Show the hierarchy of a column: levels, nodes, how many records stand under each, and what it
    does not cover.

    It shows labels and small counts as they are: for the owner's eyes. What stands on the lowest
    level is counted and not listed.
    """
    column = wanted.column or ""
    if len(data) != 1:
        raise ParameterError("--column looks at one table; name one file")
    if (wanted.recipe is None) == (wanted.rule is None):
        raise ParameterError(
            "give either a recipe (-r) or a hierarchy: --rule 'intervals: {widths: [5, 10]}'"
        )
    if wanted.recipe is not None:
        dataset = _from_recipe(data[0], wanted.recipe, intake, quiet=quiet)
    else:
        dataset = _by_rule(data[0], column, wanted.rule, intake, quiet=quiet)
    view, document = _viewed(dataset, column)
    if output is not None:
        from sfumato.methods.hierarchies.leaf_lists import write_hierarchy

        tell(
            f"wrote  {write_hierarchy(view.ladder, view.covered, output)}: it holds values,"
            " keep it",
            quiet=quiet,
        )
    if json:
        give_json(document)
        return
    _show(view, SHOWN if wanted.show is None else wanted.show)
    tell(
        "for the owner's eyes: labels are values of people, and small counts are shown", quiet=quiet
    )


def _from_recipe(data: str, recipe: Path, intake: Intake, *, quiet: bool) -> Table:
    from sfumato.core import recipe_files as recipes
    from sfumato.interfaces.api import with_recipe

    loaded = recipes.load(recipe)
    read = read_data(data, quiet=quiet, intake=intake, recipe=loaded)
    return with_recipe(read, loaded)[0].in_memory("profile --column")


def _by_rule(data: str, column: str, rule: str | None, intake: Intake, *, quiet: bool) -> Table:
    from sfumato.core import registry

    named = registry.build("hierarchies", read_yaml(rule or "", "--rule"), "--rule").resolved(
        Path.cwd()
    )
    dataset = read_data(data, quiet=quiet, intake=intake)
    return dataset.with_roles(quasi=[column]).with_hierarchies(**{column: named})


def _viewed(dataset: Table, column: str) -> tuple[HierarchyView, dict[str, object]]:
    from sfumato.core import registry
    from sfumato.methods.hierarchies.view import view_hierarchy

    dataset.require([column])
    attribute = dataset.schema.attributes.get(column)
    if attribute is None or attribute.hierarchy is None:
        raise ParameterError(
            f"the recipe gives column {column!r} no hierarchy; name one with --rule"
        )
    encoded = dataset.encoded(column)
    try:
        view = view_hierarchy(attribute.hierarchy, encoded.labels, encoded.counts.tolist())
    except SchemaError as error:
        raise SchemaError([f"column {column!r}: {problem}" for problem in error.problems]) from None
    return view, {
        "column": column,
        "hierarchy": registry.write(attribute.hierarchy),
        **view.to_dict(),
    }


def _show(view: HierarchyView, show: int) -> None:
    for line in view.words:
        out().print(escape(line), soft_wrap=True)
    out().print(_figures(view))
    for level in view.levels[1:-1]:
        out().print(_nodes(level, show))
    if view.uncovered_values:
        out().print(
            f"not covered: {view.uncovered_values:,} distinct values, {view.uncovered_records:,}"
            " records; a run refuses them"
        )


def _figures(view: HierarchyView) -> RichTable:
    table = RichTable(box=None, pad_edge=False)
    table.add_column("level")
    for heading in ("nodes", "smallest", "median", "largest"):
        table.add_column(heading, justify="right")
    for level in view.levels:
        smallest, median, largest = level.spread
        table.add_row(
            str(level.level),
            f"{len(level.nodes):,}",
            f"{smallest:,}",
            f"{median:,.10g}",
            f"{largest:,}",
        )
    return table


def _nodes(level: LevelView, show: int) -> RichTable:
    ranked = sorted(level.nodes, key=lambda node: -node.records) if show else list(level.nodes)
    shown = ranked[:show] if show else ranked
    table = RichTable(
        box=None,
        pad_edge=False,
        title=f"level {level.level}",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("label", overflow="fold")
    table.add_column("records", justify="right")
    table.add_column("values", justify="right")
    for node in shown:
        label = "(missing)" if node.label is None else escape(node.label)
        table.add_row(label, f"{node.records:,}", f"{node.values:,}")
    if len(shown) < len(ranked):
        rest = ranked[len(shown) :]
        table.add_row(
            f"… {len(rest):,} more",
            f"{sum(node.records for node in rest):,}",
            f"{sum(node.values for node in rest):,}",
        )
    return table
