"""Name → class of every family: the only module that sees them all."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from sfumato.core.parameters import values_of
from sfumato.errors import ParameterError, RecipeError, did_you_mean

EXAMPLES = {"hierarchies": "intervals: {widths: [5, 10]}", "steps": "global_recoding: {budget: 0.02}"}
FAMILIES = ("models", "steps", "hierarchies", "risk")


@cache
def family(name: str) -> dict[str, type]:
    """The classes of one family by the name they have in a recipe."""
    if name not in FAMILIES:
        raise ParameterError(f"there is no family {name!r}.{did_you_mean(name, FAMILIES)}")
    module = importlib.import_module(f"sfumato.{name}")
    return {cls.name: cls for cls in module.ALL}


def build(family_name: str, spec: Any, where: str = "") -> Any:
    """Make an object from its recipe form: ``suppress``, ``{k_anonymity: 5}`` or ``{k_anonymity: {k: 5}}``.

    >>> build("models", {"k_anonymity": {"k": 5}})
    KAnonymity(k=5)
    """
    place = f"{where}: " if where else ""
    name, arguments = _split(spec, place, family_name)
    known = family(family_name)
    if name not in known:
        raise RecipeError(f"{place}{name!r} is not a known {_singular(family_name)}.{did_you_mean(name, known)}")
    try:
        if arguments is None:
            return known[name]()
        return known[name](**arguments) if isinstance(arguments, Mapping) else known[name](arguments)
    except TypeError as error:
        raise RecipeError(f"{place}{name}: {_said(error)}") from None
    except ParameterError as error:
        raise RecipeError(f"{place}{name}: {str(error).split(': ', 1)[-1]}") from None


def write(value: Any) -> dict[str, Any]:
    """The recipe form of an object.

    >>> write(build("models", {"k_anonymity": 5}))
    {'k_anonymity': {'k': 5}}
    """
    return {value.name: values_of(value)}


def describe(cls: type) -> dict[str, Any]:
    """What a class is for and what its fields mean, for ``list`` and ``explain``."""
    fields = []
    for field in dataclasses.fields(cls):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        fields.append({"name": field.name, "meaning": _meaning(cls, field.name), "required": required})
    doc = (cls.__doc__ or "").strip()
    return {"name": cls.name, "class": cls.__name__, "meaning": doc.split("\n")[0], "doc": doc, "fields": fields}  # type: ignore[attr-defined]


def _meaning(cls: Any, name: str) -> str:
    described = cls.__pydantic_fields__[name].description if hasattr(cls, "__pydantic_fields__") else None
    return described or ""


def _split(spec: Any, place: str, family_name: str) -> tuple[str, Any]:
    if isinstance(spec, str):
        return spec, None
    if isinstance(spec, Mapping) and len(spec) == 1:
        name, arguments = next(iter(spec.items()))
        if isinstance(name, str):
            return name, arguments
    example = EXAMPLES.get(family_name, "k_anonymity: {k: 5}")
    raise RecipeError(f"{place}expected one name with its parameters, like '{example}'")


def _singular(name: str) -> str:
    return {"hierarchies": "hierarchy", "risk": "risk"}.get(name, name.rstrip("s"))


def _said(error: TypeError) -> str:
    return str(error).replace("__init__() ", "").replace("got an unexpected keyword argument", "has no parameter")
