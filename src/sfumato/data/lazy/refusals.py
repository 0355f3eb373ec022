"""What a table that an engine holds cannot do: refused here and nowhere else, and listed in
docs/how_to/scale.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.core.evidence import needed
from sfumato.core.step import Span
from sfumato.data.lazy.planning import FORMAT
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core.data import Context
    from sfumato.core.model import Needs
    from sfumato.core.recipe import Recipe
    from sfumato.data.lazy.table import LazyTable

PROMISES = {
    "pairs": "promises about pairs",
    "unmasked": "promises about values before masking",
    "posteriors": "promises about what attacks find",
}
"""By the field of what a model needs: promises for which every record must be beside its original.
"""
OPTIONS = {
    "a register (`--register`, `memory=`)": "people are recognised by the rows of the original",
    "another format than Parquet (`--format`)": "the release is written in parts",
    "the data alone on stdout (`-o -`)": "the release is written in parts",
}
"""What else of a run needs all rows, and why."""


def require_counts(table: LazyTable, recipe: Recipe, context: Context) -> None:
    """Refuse, all at once, what needs the whole table in memory."""
    if context.memory is not None:
        table.in_memory("a register")
    if context.format not in (None, FORMAT):
        raise ParameterError(
            f"{table.source.name} is read by {table.engine.name} and released as Parquet, not as "
            f"{context.format}"
        )
    table.schema.check(table.columns, table.source)
    whole = [step.name for step in recipe.steps if step.span_in(table.schema) is Span.TABLE]
    problems = [f"step {name} works on all records at once" for name in whole]
    # All problems are gathered first: nobody should run once more to learn of the second one.
    promises = needing_records(needed(recipe.meet, table.schema))
    problems += [f"{subject} need every record beside its original" for subject in promises]
    if problems:
        raise ParameterError(
            f"{table.source.name} is read by {table.engine.name}, and this needs all of it in "
            f"memory: {'; '.join(problems)}. Leave it out, or read the table into memory "
            "(engine='memory')"
        )


def needing_records(needs: Needs) -> Iterator[str]:
    """What promises are about that need records beside their originals."""
    needs_by_field = {
        "pairs": needs.pairs,
        "unmasked": needs.unmasked,
        "posteriors": needs.posteriors,
    }
    for field, words in PROMISES.items():
        if needs_by_field[field]:
            yield words
