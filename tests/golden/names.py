"""What users can name, as it is today: to be held against ``names.json``, so that changing a name
is a decision.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from typer.main import get_command

import sfumato
from sfumato import errors
from sfumato.core import registry
from sfumato.core.recipe_files import SECTIONS
from sfumato.core.schema import Kind, Missing, Role
from sfumato.core.shape import Shape
from sfumato.data.lazy.open_table import AUTO, MEMORY
from sfumato.data.lazy.table import ENGINES
from sfumato.data.table.formats import FORMATS
from sfumato.interfaces import cli
from sfumato.interfaces.cli.app import build_app
from sfumato.policy import dialects
from sfumato.release.verification import EXIT_CODES

FILE = Path(__file__).with_name("names.json")


def public_names() -> dict[str, Any]:
    """Every name by where it is used: Python, the command line, exit codes, recipes."""
    return {
        "python": sorted(sfumato.__all__),
        "exit codes": exit_codes(),
        "commands": commands(),
        "recipe": {
            "sections": list(SECTIONS),
            "shapes": [str(shape) for shape in Shape],
            "roles": [str(role) for role in Role],
            "kinds": [str(kind) for kind in Kind],
            "missing": [str(rule) for rule in Missing],
        },
        "methods": {str(shape): methods(shape) for shape in Shape},
        "engines": [AUTO, MEMORY, *ENGINES],
        "formats": sorted([*FORMATS, "frame"]),
        "policy languages": sorted(dialects.ALL),
    }


def exit_codes() -> dict[str, int]:
    """Exit codes by the error, or by what else ends a command."""
    kinds = [value for _, value in inspect.getmembers(errors, inspect.isclass)]
    codes = {
        kind.__name__: kind.exit_code for kind in kinds if issubclass(kind, errors.SfumatoError)
    }
    ends = {"interrupted": cli.INTERRUPTED, "bug": cli.INTERNAL, "reader left": cli.READER_LEFT}
    verified = {f"verify: {result}": code for result, code in EXIT_CODES.items()}
    return {**codes, **ends, **verified}


def commands() -> dict[str, list[str]]:
    """The arguments and options of every command, and of the commands of every group."""
    found: dict[str, list[str]] = {}
    for name, command in get_command(build_app()).commands.items():
        parts = getattr(command, "commands", None)
        if parts is None:
            found[name] = _words(command)
            continue
        for part, below in parts.items():
            found[f"{name} {part}"] = _words(below)
    return dict(sorted(found.items()))


def _words(command: Any) -> list[str]:
    """The words that a command takes: names of arguments, spellings of options."""
    words = []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            words.append(parameter.name)
        else:
            words.append(" ".join([*parameter.opts, *parameter.secondary_opts]))
    return words


def methods(shape: Shape) -> dict[str, dict[str, list[str]]]:
    """What a recipe about data of a shape can name, each with its parameters."""
    families = [name for name in registry.FAMILIES if shape is Shape.TABLE or name != "hierarchies"]
    return {family: _members(family, shape) for family in families}


def _members(family: str, shape: Shape) -> dict[str, list[str]]:
    members = registry.family(family, shape)
    return {
        name: [field["name"] for field in registry.describe(members[name])["fields"]]
        for name in sorted(members)
    }


def stored_names() -> dict[str, Any]:
    """The names as they were decided on."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def flat(names: Any, path: str = "") -> dict[str, Any]:
    """Every leaf by its path, so that differences can be told one by one."""
    if isinstance(names, dict):
        leaves = {}
        for key, part in names.items():
            leaves |= flat(part, f"{path} / {key}" if path else key)
        return leaves or {path: {}}
    return {path: names}


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What came, went or changed, a line each."""
    old, new = flat(before), flat(after)
    changed = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    return [f"{path}: {old.get(path, 'nothing')} → {new.get(path, 'nothing')}" for path in changed]


def write_names(names: dict[str, Any]) -> None:
    """Store names, one method a line."""
    FILE.write_text(_text(names) + "\n", encoding="utf-8")


def _text(value: Any, indent: int = 0) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = [
        f"{' ' * (indent + 1)}{json.dumps(key)}: {_text(part, indent + 1)}"
        for key, part in value.items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{' ' * indent}}}"
