"""``sfumato hierarchy``: look at a hierarchy with counts, and write it down."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.core.yaml_text import read_yaml
from sfumato.errors import ParameterError, SchemaError
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import Data, Json, Quiet, read_data, reading

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.methods.hierarchies.view import HierarchyView, LevelView


@reading
def hierarchy(
    data: Data,
    column: Annotated[str, typer.Argument(help="the column")],
    recipe: Annotated[
        Path | None, typer.Option("--recipe", "-r", help="the recipe (YAML) that has its hierarchy")
    ] = None,
    rule: Annotated[
        str | None, typer.Option(help="a hierarchy as a recipe writes it, instead: 'intervals: {widths: [5, 10]}'")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="write it down as CSV: value;level 1;…;top, as ARX reads it")
    ] = None,
    show: Annotated[int, typer.Option(help="labels to show of each level, the largest first; 0 for all", min=0)] = 12,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Look at the hierarchy of a column: levels, nodes, how many records stand under each, and what it does not cover.

    It shows labels and small counts as they are: for the owner's eyes. What stands on the lowest level is counted and not listed.
    """
    if (recipe is None) == (rule is None):
        raise ParameterError("give either a recipe (-r) or a hierarchy: --rule 'intervals: {widths: [5, 10]}'")
    dataset = (
        _from_recipe(data, recipe, intake, quiet=quiet) if recipe else _by_rule(data, column, rule, intake, quiet=quiet)
    )
    view, document = _viewed(dataset, column)
    if output is not None:
        from sfumato.methods.hierarchies.leaf_lists import write_hierarchy

        tell(f"wrote  {write_hierarchy(view.ladder, view.covered, output)}: it holds values, keep it", quiet=quiet)
    if json:
        give_json(document)
        return
    _show(view, show)
    tell("for the owner's eyes: labels are values of people, and small counts are shown", quiet=quiet)


def _from_recipe(data: str, recipe: Path, intake: Intake, *, quiet: bool) -> Dataset:
    from sfumato.core import recipe_files as recipes
    from sfumato.interfaces.api import with_recipe

    loaded = recipes.load(recipe)
    read = read_data(data, quiet=quiet, intake=intake, recipe=loaded)
    return with_recipe(read, loaded)[0].in_memory("hierarchy")


def _by_rule(data: str, column: str, rule: str | None, intake: Intake, *, quiet: bool) -> Dataset:
    from sfumato.core import registry

    named = registry.build("hierarchies", read_yaml(rule or "", "--rule"), "--rule").resolved(Path.cwd())
    dataset = read_data(data, quiet=quiet, intake=intake)
    return dataset.with_roles(quasi=[column]).with_hierarchies(**{column: named})


def _viewed(dataset: Dataset, column: str) -> tuple[HierarchyView, dict[str, object]]:
    from sfumato.core import registry
    from sfumato.methods.hierarchies.view import view_hierarchy

    dataset.require([column])
    attribute = dataset.schema.attributes.get(column)
    if attribute is None or attribute.hierarchy is None:
        raise ParameterError(f"the recipe gives column {column!r} no hierarchy; name one with --rule")
    encoded = dataset.encoded(column)
    try:
        view = view_hierarchy(attribute.hierarchy, encoded.labels, encoded.counts.tolist())
    except SchemaError as error:
        raise SchemaError([f"column {column!r}: {problem}" for problem in error.problems]) from None
    return view, {"column": column, "hierarchy": registry.write(attribute.hierarchy), **view.to_dict()}


def _show(view: HierarchyView, show: int) -> None:
    for line in view.words:
        out().print(escape(line), soft_wrap=True)
    out().print(_figures(view))
    for level in view.levels[1:-1]:
        out().print(_nodes(level, show))
    if view.uncovered_values:
        out().print(
            f"not covered: {view.uncovered_values:,} distinct values, {view.uncovered_records:,} records; a run refuses them"
        )


def _figures(view: HierarchyView) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("level")
    for heading in ("nodes", "smallest", "median", "largest"):
        table.add_column(heading, justify="right")
    for level in view.levels:
        smallest, median, largest = level.spread
        table.add_row(str(level.level), f"{len(level.nodes):,}", f"{smallest:,}", f"{median:,.10g}", f"{largest:,}")
    return table


def _nodes(level: LevelView, show: int) -> Table:
    ranked = sorted(level.nodes, key=lambda node: -node.records) if show else list(level.nodes)
    shown = ranked[:show] if show else ranked
    table = Table(box=None, pad_edge=False, title=f"level {level.level}", title_justify="left", title_style="bold")
    table.add_column("label", overflow="fold")
    table.add_column("records", justify="right")
    table.add_column("values", justify="right")
    for node in shown:
        label = "(missing)" if node.label is None else escape(node.label)
        table.add_row(label, f"{node.records:,}", f"{node.values:,}")
    if len(shown) < len(ranked):
        rest = ranked[len(shown) :]
        table.add_row(
            f"… {len(rest):,} more", f"{sum(node.records for node in rest):,}", f"{sum(node.values for node in rest):,}"
        )
    return table
