"""Tasks about the table itself: open it, look at its columns, show its rows, propose what its columns are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato import examples
from sfumato import recipe_files as recipes
from sfumato.profiling.yaml_text import recipe_text
from sfumato.verbs import in_memory, profile, read

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.web.bench import Bench


def open_data(
    bench: Bench,
    progress: Progress,
    *,
    path: str | None,
    example: str | None,
    options: dict[str, Any],
    recipe: Recipe | None = None,
) -> dict[str, Any]:
    """Read a table as it was said, else as the recipe says, or make a bundled example; what was opened, in counts."""
    progress(0.0, "reading")
    if example is not None:
        table = examples.load(example)
    else:
        table = in_memory(read(path, engine="memory", recipe=recipe, **options), "the workbench")
    bench.table = table
    bench.made.clear()
    source = table.source
    return {
        "name": example or source.name,
        "records": table.records,
        "columns": list(table.columns),
        "digest": source.digest,
        "format": source.format,
        "notes": list(source.notes),
    }


def propose(bench: Bench, progress: Progress) -> dict[str, Any]:
    """The proposed recipe, and why each column is what it is thought to be."""
    progress(0.0, "looking at the columns")
    proposal = profile(bench.data)
    reasons = {column.name: list(column.reasons) for column in proposal.columns}
    return {"recipe": recipes.parse(recipe_text(proposal)), "reasons": reasons}
