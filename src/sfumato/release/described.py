"""A table described by a recipe: read as it says, with the roles it gives."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from sfumato.core.intake import LAYOUT
from sfumato.errors import ParameterError
from sfumato.io.values import with_values

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.recipe import Recipe


def described(dataset: Dataset, recipe: Recipe) -> Dataset:
    """The table with the recipe's schema, its values read as the recipe says where reading did not say otherwise.

    Raises:
        ParameterError: the recipe cuts the file into cells in another way than it was read: only reading it again helps.
    """
    intake = dataset.source.intake.over(recipe.intake)
    _require_layout(dataset, intake)
    recipe.schema.check(dataset.columns, dataset.source)
    return with_values(dataset, intake).with_schema(recipe.schema)


def _require_layout(dataset: Dataset, intake: Any) -> None:
    source = dataset.source
    meaningful = {"csv": LAYOUT, "excel": ("header",)}.get(source.format, ())
    other = [
        name for name in meaningful if (said := getattr(intake, name)) is not None and said != getattr(source, name)
    ]
    if "encoding" in other and codecs.lookup(intake.encoding) == codecs.lookup(source.encoding):
        other.remove("encoding")
    if other:
        raise ParameterError(
            f"the recipe reads {source.name} with another {' and '.join(other)} than it was read with; "
            "read it as the recipe says: sf.read(path, recipe=...)"
        )
