"""Tasks about promises: how the table stands today, and what each promise would ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.classes import count_classes

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.web.bench import Bench


def today(bench: Bench, progress: Progress, *, recipe: Recipe) -> dict[str, Any]:
    """How many records stand in classes of each size, on the quasi-identifiers as they are: sizes and records, ascending."""
    described = bench.data.with_schema(recipe.schema)
    sizes, classes = np.unique(count_classes(described).sizes, return_counts=True)
    return {"sizes": sizes.tolist(), "records": (sizes * classes).tolist()}
