"""Tasks that make a release and write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.verbs import run
from sfumato.web.tasks.writing import effect_of

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.web.bench import Bench


def make(bench: Bench, progress: Progress, *, recipe: Recipe, key: str) -> dict[str, Any]:
    """Make the release of a recipe and keep it under a key; what came out, in plain data."""
    release = run(bench.data, recipe, progress=progress)
    bench.keep(f"release {key}", release)
    return {"headline": release.headline.text, "suppressed": release.suppressed, "effect": effect_of(release)}
