"""The recipe as a certificate shows it: without the parts that its owner keeps, since they list
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.fields import Document, Fields
from sfumato.core.shape import PEOPLE, Shape

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe


def hides(spec: object) -> bool:
    """Whether anything within a specification is kept by its owner."""
    if isinstance(spec, Mapping):
        return any(hides(value) for value in spec.values())
    if isinstance(spec, list):
        return any(map(hides, spec))
    return bool(spec == recipes.KEPT)


def name_of(spec: object) -> Any:
    """The name of a method as a recipe writes it."""
    if not isinstance(spec, Mapping):
        return spec
    return next(iter(spec), None)


def fields_of(spec: object) -> Fields:
    """The parameters of a method as a recipe writes them."""
    fields: Any = next(iter(spec.values()), {}) if isinstance(spec, Mapping) else {}
    return fields if isinstance(fields, Mapping) else {}


def roles_in(role: str | list[str]) -> list[str]:
    """The roles of a column as a recipe writes them, one or several."""
    return [role] if isinstance(role, str) else role


def read_public_recipe(recipe: Fields, shape: Shape) -> Recipe:
    """The recipe that a certificate shows, without what its owner keeps; limits are left out."""
    parts: Document = {
        "meet": [spec for spec in recipe["meet"] if not recipes.keeps_back("models", spec, shape)],
        "steps": [spec for spec in recipe["steps"] if not hides(spec)],
        "contract": [spec for spec in recipe.get("contract") or [] if not hides(spec)],
        "limits": {},
    }
    if isinstance(recipe.get("accept"), Mapping):
        # A direct identifier can be accepted once a step replaced it, and that step may be one that
        # its owner keeps.
        columns = recipe.get("columns", {})
        direct = [name for name, spec in columns.items() if "drop" in spec.get("role", ())]
        parts["accept"] = {
            name: spec for name, spec in recipe["accept"].items() if name not in direct
        }
    if "tables" in recipe:
        parts["tables"] = {name: _shown_columns(table) for name, table in recipe["tables"].items()}
        return recipes.any_from_dict({**recipe, **parts})
    if recipe.get(PEOPLE) is not None:
        parts[PEOPLE] = _shown_columns(recipe[PEOPLE])
    return recipes.any_from_dict({**_shown_columns(recipe), **parts})


def _shown_columns(table: Fields) -> Document:
    """What a recipe says of a table, without orders and hierarchies that list values."""
    columns = {}
    for name, spec in table.get("columns", {}).items():
        public_spec = {key: value for key, value in spec.items() if key != "order"}
        if "hierarchy" in public_spec and recipes.keeps_back(
            "hierarchies", public_spec["hierarchy"]
        ):
            del public_spec["hierarchy"]
        columns[name] = public_spec
    return {**table, "columns": columns}


def pseudonym_columns(certificate: Fields) -> list[list[str]]:
    """Per step of a certificate's plan that makes pseudonyms, the columns that hold them.

    What a step makes is said by its class, so a step that is not installed here makes none: the
    columns then count as they are.
    """
    classes: Fields = registry.family("steps", Shape(certificate["shape"]))
    columns = []
    for plan in certificate["plan"]:
        step = classes.get(plan["step"])
        if step is not None and step.pseudonyms:
            columns.append(list(plan.get("masked", {})))
    return columns


def touched_columns(certificate: Fields) -> set[str]:
    """Columns that a plan says anything of."""
    parts = ("levels", "columns", "masked", "suppressed_cells")
    return {
        column for plan in certificate["plan"] for part in parts for column in plan.get(part, ())
    }


def left_out_columns(certificate: Fields) -> set[str]:
    """Columns that steps say they left out as a whole."""
    plans = [plan for plan in certificate["plan"] if plan.get("kind") == "attribute suppression"]
    return {column for plan in plans for column in plan["columns"]}
