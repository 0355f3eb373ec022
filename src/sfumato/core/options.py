"""What a keyword of a verb means, declared once: commands, their help and the reference read it
here.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Annotated, get_args, get_origin


@dataclass(frozen=True)
class CommandOption:
    """The meaning of a keyword or field, and how it is written on the command line.

    ``seconds: Annotated[float, CommandOption("time for all attacks")] = 60.0`` in the signature of
    a verb makes the option ``--seconds`` of its command. ``names`` are other names than the
    keyword's own, ``typed`` is the type of what a user can type where Python takes more than that:
    a table is typed as the path of its file.
    """

    meaning: str
    names: tuple[str, ...] = ()
    typed: object = None
    minimum: float | None = None
    maximum: float | None = None
    metavar: str | None = None
    panel: str | None = None


@dataclass(frozen=True)
class DeclaredOption:
    """A keyword of a verb, or a field of its options, that commands offer."""

    name: str
    kind: object
    option: CommandOption
    default: object
    panel: str | None = None


def declared_in(verb: Callable[..., object]) -> tuple[DeclaredOption, ...]:
    """The keywords of a verb that have an :class:`CommandOption` in their annotation, in order.

    >>> def ask(
    ...     question: str, *, limit: Annotated[int, CommandOption("answers at most")] = 3
    ... ) -> None: ...
    >>> [(one.name, one.kind, one.default) for one in declared_in(ask)]
    [('limit', <class 'int'>, 3)]
    """
    home = vars(sys.modules[verb.__module__])
    declared = []
    for parameter in inspect.signature(verb).parameters.values():
        entry = _declared(parameter.name, parameter.annotation, home, parameter.default)
        if entry is not None:
            declared.append(entry)
    return tuple(declared)


def declared_fields(bundle: type) -> tuple[DeclaredOption, ...]:
    """The same of the fields of a dataclass of options, in the panel of the class."""
    declared = []
    for field in fields(bundle):
        # A field that is inherited has the panel of the class that declares it, and its annotation
        # is read with the names of that module.
        owners = []
        for cls in bundle.__mro__:
            if field.name in vars(cls).get("__annotations__", {}):
                owners.append(cls)
        owner = owners[0]
        home = vars(sys.modules[owner.__module__])
        if field.default is MISSING:
            default = inspect.Parameter.empty
        else:
            default = field.default
        entry = _declared(field.name, field.type, home, default)
        if entry is not None:
            panel = entry.panel or getattr(owner, "panel", None)
            declared.append(replace(entry, panel=panel))
    return tuple(declared)


def bundles_of(verb: Callable[..., object]) -> dict[str, type]:
    """The parameters of a verb whose defaults are dataclasses with options."""
    bundles = {}
    for parameter in inspect.signature(verb).parameters.values():
        default = parameter.default
        if is_dataclass(default) and declared_fields(type(default)):
            bundles[parameter.name] = type(default)
    return bundles


def _declared(
    name: str, annotation: object, home: dict[str, object], default: object
) -> DeclaredOption | None:
    if isinstance(annotation, str):
        # Annotations are texts here. One without a CommandOption may name types that only type
        # checkers import, so it is not evaluated.
        if annotation.startswith("Annotated["):
            annotation = eval(annotation, home)  # noqa: S307 - the text is part of our own source
        else:
            annotation = home.get(annotation)
    if get_origin(annotation) is not Annotated:
        return None
    kind, *notes = get_args(annotation)
    for note in notes:
        if isinstance(note, CommandOption):
            typed = kind if note.typed is None else note.typed
            return DeclaredOption(name, typed, option=note, default=default, panel=note.panel)
    return None
