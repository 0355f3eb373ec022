"""Recipes as files: YAML in, objects out, and back.

::

    sfumato: 1
    columns:
      name: {role: direct}
      age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
      diagnosis: {role: sensitive}
    meet:
      - k_anonymity: {k: 5}
    steps:
      - global_recoding: {suppress: tuple, budget: 0.02}
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato import registry
from sfumato.core.recipe import VERSION, Recipe
from sfumato.core.schema import Attribute, Kind, Missing, Schema
from sfumato.errors import ParameterError, RecipeError, SfumatoError, did_you_mean

SECTIONS = ("sfumato", "columns", "meet", "steps", "limits")
COLUMN_KEYS = ("role", "kind", "hierarchy", "missing", "order", "unit")
MAX_BYTES = 16 * 1024 * 1024


def load(path: str | Path) -> Recipe:
    """Read a recipe file; everything wrong with it is reported at once."""
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise RecipeError(f"{file} is larger than {MAX_BYTES // 1024 // 1024} MB; that is no recipe")
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RecipeError(f"{file} is not UTF-8 text; save the recipe as UTF-8") from None
    except OSError as error:
        raise RecipeError(f"cannot read the recipe {file}: {error.strerror}") from None
    return parse(text, base=file.parent, name=str(file))


def parse(text: str, *, base: Path | str = ".", name: str = "the recipe") -> Recipe:
    """Make a recipe from YAML text."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        document = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RecipeError(f"{name}, line {line}: this is not valid YAML ({error.problem})") from None
    except (YAMLError, ValueError, RecursionError):
        raise RecipeError(f"{name} is not valid YAML") from None
    return from_dict(document, base=base, name=name)


def from_dict(document: Any, *, base: Path | str = ".", name: str = "the recipe") -> Recipe:
    """Make a recipe from plain data."""
    if not isinstance(document, Mapping):
        raise RecipeError(f"{name} must be a mapping with 'sfumato: {VERSION}', columns, meet and steps")
    problems = _Problems(name)
    problems += [
        f"{s!r} is no part of a recipe.{did_you_mean(str(s), SECTIONS)}" for s in document if s not in SECTIONS
    ]
    if document.get("sfumato", VERSION) != VERSION:
        problems += [f"this is recipe version {document['sfumato']}; this sfumato reads version {VERSION}"]
    columns = document.get("columns") or {}
    if not isinstance(columns, Mapping):
        problems += ["'columns' must map column names to what they are, like 'age: {role: quasi}'"]
        columns = {}
    attributes = {
        str(column): made
        for column, spec in columns.items()
        if (made := problems.collect(_attribute, spec, f"column {str(column)!r}", Path(base))) is not None
    }
    meet = _objects(problems, document, "meet", "models")
    steps = _objects(problems, document, "steps", "steps")
    limits = document.get("limits") or {}
    if not isinstance(limits, Mapping):
        problems += ["'limits' must map names to numbers"]
    problems.raise_if_any()
    return Recipe(Schema(attributes), tuple(meet), tuple(steps), dict(limits), Path(base))


class _Problems(list[str]):
    """What is wrong with a recipe, gathered so that it is told all at once."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def collect(self, make: Callable[..., Any], *args: Any) -> Any:
        try:
            return make(*args)
        except SfumatoError as error:
            self.extend(str(error).split("\n"))
            return None

    def raise_if_any(self) -> None:
        if self:
            raise RecipeError([f"{self.name}: {problem}" for problem in self])


def _objects(problems: _Problems, document: Mapping[str, Any], section: str, family: str) -> list[Any]:
    specs = document.get(section) or []
    if isinstance(specs, str) or not isinstance(specs, Sequence):
        problems.append(f"{section!r} must be a list, like '- k_anonymity: {{k: 5}}'")
        return []
    made = [problems.collect(registry.build, family, spec, f"{section}[{i}]") for i, spec in enumerate(specs, 1)]
    return [m for m in made if m is not None]


def _attribute(spec: Any, where: str, base: Path) -> Attribute:
    if isinstance(spec, str):
        spec = {"role": spec}
    if not isinstance(spec, Mapping) or "role" not in spec:
        raise RecipeError(f"{where} needs a role, like '{{role: quasi}}'")
    unknown = [str(key) for key in spec if key not in COLUMN_KEYS]
    if unknown:
        raise RecipeError(f"{where}: {unknown[0]!r} is not known.{did_you_mean(unknown[0], COLUMN_KEYS)}")
    roles: Any = [spec["role"]] if isinstance(spec["role"], str) else spec["role"]
    try:
        return Attribute(
            roles=tuple(roles),
            kind=spec.get("kind", Kind.NOMINAL),
            hierarchy=_hierarchy(spec.get("hierarchy"), where, base),
            missing=spec.get("missing", Missing.CATEGORY),
            order=tuple(str(v) for v in spec["order"]) if spec.get("order") else None,
            unit=spec.get("unit", "person"),
        )
    except (ParameterError, TypeError) as error:
        raise RecipeError(f"{where}: {error}") from None


def _hierarchy(spec: Any, where: str, base: Path) -> Any:
    if spec is None:
        return None
    built = registry.build("hierarchies", spec, f"{where}, hierarchy")
    return built.resolved(base) if hasattr(built, "resolved") else built


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """A recipe as plain data, the inverse of :func:`from_dict`."""
    return {
        "sfumato": VERSION,
        "columns": {name: _column_dict(attribute) for name, attribute in recipe.schema.attributes.items()},
        "meet": [registry.write(model) for model in recipe.meet],
        "steps": [registry.write(step) for step in recipe.steps],
        **({"limits": dict(recipe.limits)} if recipe.limits else {}),
    }


def _column_dict(attribute: Attribute) -> dict[str, Any]:
    roles = [str(role) for role in attribute.roles]
    spec: dict[str, Any] = {"role": roles[0] if len(roles) == 1 else roles}
    for field in dataclasses.fields(attribute):
        value = getattr(attribute, field.name)
        if field.name == "roles" or value == field.default:
            continue
        if field.name == "hierarchy":
            value = registry.write(value)
        spec[field.name] = list(value) if isinstance(value, tuple) else str(value) if isinstance(value, str) else value
    return spec


def public_dict(recipe: Recipe) -> dict[str, Any]:
    """A recipe as a certificate shows it: value lists replaced by their digest, since they name data values."""
    import hashlib
    import json

    plain = to_dict(recipe)
    for spec in plain["columns"].values():
        for key in ("hierarchy", "order"):
            text = json.dumps(spec.get(key), sort_keys=True, ensure_ascii=False)
            if key in spec and _names_values(spec[key]):
                kind = next(iter(spec[key])) if isinstance(spec[key], dict) else key
                spec[key] = {kind: {"sha256": hashlib.sha256(text.encode()).hexdigest()}}
    return plain


def _names_values(spec: Any) -> bool:
    return isinstance(spec, list) or next(iter(spec)) in ("tree", "table", "order", "file")


def dump(recipe: Recipe) -> str:
    """A recipe as YAML text."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    buffer = io.StringIO()
    yaml.dump(to_dict(recipe), buffer)
    return buffer.getvalue()
