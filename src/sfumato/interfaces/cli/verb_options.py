"""The options that verbs declare in their signatures, as commands offer them.

Importing a verb brings polars and numpy with it, which nobody should wait for to read a help page.
So the options of all verbs are also written down, in ``data_files/verb_options.json``, which
``python tools/command_options.py`` makes of the signatures.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sfumato.core.data_files import read_data_file
from sfumato.core.fields import Document
from sfumato.core.options import (
    CommandOption,
    DeclaredOption,
    bundles_of,
    declared_fields,
    declared_in,
)

Verb = Callable[..., object]
_TYPES: Document = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "Path": Path,
    "list[str]": list[str],
}
KINDS = _TYPES | {f"{name} | None": kind | None for name, kind in _TYPES.items()}
"""What can be typed after an option, by the name it has in the file."""


def load_verb(name: str) -> Verb:
    """The verb of a name such as ``sfumato.release.release:Release.write``."""
    module, _, path = name.partition(":")
    verb: Any = importlib.import_module(module)
    for part in path.split("."):
        verb = getattr(verb, part)
    return verb  # type: ignore[no-any-return]


def verb_options(name: str, without: Collection[str] = ()) -> list[DeclaredOption]:
    """What a verb declares, and what its options objects do.

    A verb that is not in the file, such as that of a plug-in, is imported.
    """
    records = read_data_file("sfumato.interfaces.cli", "verb_options").get(name)
    if records is None:
        options = options_in(load_verb(name))
    else:
        options = []
        for record in records:
            option = CommandOption(
                record["meaning"],
                tuple(record["names"]),
                minimum=record["minimum"],
                maximum=record["maximum"],
                metavar=record["metavar"],
            )
            kind, panel = KINDS[record["kind"]], record["panel"]
            # Without a default an option must be given; None would be a default.
            default = record.get("default", inspect.Parameter.empty)
            options.append(DeclaredOption(record["name"], kind, option, default, panel))
    return [declared for declared in options if declared.name not in without]


def options_in(verb: Verb) -> list[DeclaredOption]:
    """The same, from the signature of the verb itself; a dataclass of options may stand for it."""
    options = list(declared_fields(verb) if isinstance(verb, type) else declared_in(verb))
    for bundle in bundles_of(verb).values():
        options.extend(declared_fields(bundle))
    return [_with_typed_default(declared) for declared in options]


def _with_typed_default(declared: DeclaredOption) -> DeclaredOption:
    """A default that cannot be typed, such as an empty tuple, is left to the verb."""
    default = declared.default
    if declared.option.typed is None or default is inspect.Parameter.empty:
        return declared
    if isinstance(default, str | int | float):
        return declared
    kind: Any = declared.kind
    # None stands for "not typed", and the verb's own default is taken.
    return replace(declared, kind=kind | None, default=None)


def record_of(declared: DeclaredOption) -> dict[str, object]:
    """An option as the file holds it. One that has no default must be given."""
    # The file names types by words, for JSON has none of Python's.
    names = [name for name, kind in KINDS.items() if kind == declared.kind]
    record: dict[str, object] = {"name": declared.name, "kind": names[0]}
    if declared.default is not inspect.Parameter.empty:
        record["default"] = declared.default
    record["panel"] = declared.panel
    option = asdict(declared.option)
    for field in ("meaning", "names", "minimum", "maximum", "metavar"):
        record[field] = option[field]
    return record
