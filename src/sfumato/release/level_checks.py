"""Whether the values of a column are of a level of its hierarchy, as far as the recipe shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.fields import Fields
from sfumato.core.hierarchy import TOP, bind, is_fixed
from sfumato.errors import SfumatoError


def is_on_level(spec: Fields, level_entry: Mapping[str, int], values: pl.Series | None) -> bool:
    """Whether the values of a column may be of a level of its hierarchy; yes where that cannot be
    told.

    Only hierarchies that the recipe shows and that were fixed before the data were seen can be
    asked.
    """
    level, top = level_entry["level"], level_entry["top"]
    # without a hierarchy there is no level but 0
    if not 0 <= level <= top or (spec.get("hierarchy") is None and top):
        return False
    if (
        values is None
        or "hierarchy" not in spec
        or recipes.keeps_back("hierarchies", spec["hierarchy"])
    ):
        return True
    # some hierarchies have as many levels as their values ask for: here as many as certified
    hierarchy = registry.build("hierarchies", spec["hierarchy"]).of_height(top)
    if not is_fixed(hierarchy):
        return True
    different = values.cast(pl.String).unique().to_list()
    try:
        ladder = bind(hierarchy, different, [1] * len(different))
    except SfumatoError:  # a value that no level of the hierarchy holds
        return False
    if top not in (1, ladder.top):  # 1: a step that knows all or nothing
        return False
    # a step that knows all or nothing calls the top level 1
    reached = ladder.top if level == top else level
    above = ladder.climb(0, reached)
    # a label of the level stays itself when it climbs to that level
    return all(
        ladder.labels[reached][above[code]] == label for code, label in enumerate(ladder.labels[0])
    )


def nodes_above(spec: object, labels: Sequence[str]) -> set[str] | None:
    """The labels above leaves of a hierarchy as a recipe writes it; None where nobody but its owner
    can tell.
    """
    if recipes.keeps_back("hierarchies", spec):
        hierarchy = None
    else:
        hierarchy = registry.build("hierarchies", spec)
    if hierarchy is None or not is_fixed(hierarchy):
        return None
    try:
        ladder = bind(hierarchy, labels, [1] * len(labels))
    except SfumatoError:
        return None
    # a ladder of one level has no parents
    up = min(1, ladder.top)
    above = ladder.climb(0, up)
    pairs = zip(ladder.labels[0], (ladder.labels[up][code] for code in above), strict=True)
    # a label that is its own parent is an inner node, not a leaf
    return {TOP, *(label for label, parent in pairs if label is not None and label == parent)}
