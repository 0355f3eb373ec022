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
from sfumato.errors import ParameterError, SchemaError
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import read_data

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
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
        str | None, CommandOption("a hierarchy to use instead: 'intervals: {widths: [5, 10]}'")
    ] = None
    show: Annotated[
        int | None, CommandOption(f"labels of each level, {SHOWN} by default; 0: all", minimum=0)
    ] = None


def look_at_column(
    data: Sequence[str],
    options: ColumnOptions,
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
    column = options.column or ""
    if len(data) != 1:
        raise ParameterError("--column looks at one table; name one file")
    # Exactly one of the two: none or both make the comparison true.
    if (options.recipe is None) == (options.rule is None):
        raise ParameterError(
            "give either a recipe (-r) or a hierarchy: --rule 'intervals: {widths: [5, 10]}'"
        )
    if options.recipe is not None:
        dataset = _read_with_recipe(data[0], options.recipe, intake, quiet=quiet)
    else:
        dataset = _read_with_rule(data[0], column, options.rule or "", intake, quiet=quiet)
    hierarchy = _hierarchy_of(dataset, column)
    view = _view(dataset, column, hierarchy)
    if output is not None:
        from sfumato.methods.hierarchies.leaf_lists import write_hierarchy

        file = write_hierarchy(view.ladder, view.covered, output)
        tell(f"wrote  {file}; it contains values of the data, so keep it private", quiet=quiet)
    if json:
        from sfumato.core import registry

        rule = registry.write(hierarchy)
        give_json({"column": column, "hierarchy": rule, **view.to_dict()})
        return
    _show(view, SHOWN if options.show is None else options.show)
    tell("for the owner only: labels are values of people, and small counts are shown", quiet=quiet)


def _read_with_recipe(data: str, recipe: Path, intake: Intake, *, quiet: bool) -> Table:
    from sfumato.core import recipe_files as recipes
    from sfumato.interfaces.api import with_recipe

    loaded = recipes.load(recipe)
    dataset = read_data(data, quiet=quiet, intake=intake, recipe=loaded)
    return with_recipe(dataset, loaded)[0].in_memory("profile --column")


def _read_with_rule(data: str, column: str, rule: str, intake: Intake, *, quiet: bool) -> Table:
    from sfumato.core import registry
    from sfumato.core.yaml_text import read_yaml

    hierarchy = registry.build("hierarchies", read_yaml(rule, "--rule"), "--rule")
    # Paths in a rule that was typed start where the command was called.
    hierarchy = hierarchy.resolved(Path.cwd())
    dataset = read_data(data, quiet=quiet, intake=intake)
    return dataset.with_roles(quasi=[column]).with_hierarchies(**{column: hierarchy})


def _hierarchy_of(dataset: Table, column: str) -> Hierarchy:
    dataset.require([column])
    attribute = dataset.schema.attributes.get(column)
    if attribute is None or attribute.hierarchy is None:
        raise ParameterError(
            f"the recipe gives column {column!r} no hierarchy; name one with --rule"
        )
    return attribute.hierarchy


def _view(dataset: Table, column: str, hierarchy: Hierarchy) -> HierarchyView:
    from sfumato.methods.hierarchies.view import view_hierarchy

    encoded = dataset.encoded(column)
    try:
        return view_hierarchy(hierarchy, encoded.labels, encoded.counts.tolist())
    except SchemaError as error:
        raise SchemaError([f"column {column!r}: {problem}" for problem in error.problems]) from None


def _show(view: HierarchyView, show: int) -> None:
    for line in view.words:
        out().print(escape(line), soft_wrap=True)
    out().print(_level_table(view))
    # The lowest level would list values of people, and the top is one node.
    for level in view.levels[1:-1]:
        out().print(_node_table(level, show))
    if view.uncovered_values:
        out().print(
            f"not covered: {view.uncovered_values:,} distinct values, {view.uncovered_records:,}"
            " records; a run refuses them"
        )


def _level_table(view: HierarchyView) -> RichTable:
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
            # A median may end in .5; whole ones are shown without a point.
            f"{median:,.10g}",
            f"{largest:,}",
        )
    return table


def _node_table(level: LevelView, show: int) -> RichTable:
    """The labels of a level with their counts; 0 shows all, in their own order."""
    nodes = list(level.nodes)
    hidden = []
    if show:
        # Stable: nodes of one size keep the order of the hierarchy.
        nodes.sort(key=lambda node: -node.records)
        nodes, hidden = nodes[:show], nodes[show:]
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
    for node in nodes:
        label = "(missing)" if node.label is None else escape(node.label)
        table.add_row(label, f"{node.records:,}", f"{node.values:,}")
    if hidden:
        records = sum(node.records for node in hidden)
        values = sum(node.values for node in hidden)
        table.add_row(f"… {len(hidden):,} more", f"{records:,}", f"{values:,}")
    return table
