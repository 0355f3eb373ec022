"""A command made of its verbs: the options they declare, those of shared dataclasses, its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, get_args, get_origin

import typer

from sfumato.core.options import (
    CommandOption,
    DeclaredOption,
    bundles_of,
    declared_fields,
    declared_in,
)

Verb = Callable[..., object]
Command = Callable[..., None]
LAST = ("json", "quiet")
"""Every command has these options, so the help lists them after those of its own."""


class Keywords(dict[str, Any]):
    """The options of a command that are keywords of a verb, by name, as the verb takes them."""


@dataclass(frozen=True)
class Making:
    """What a command is made of: its verbs, and the keywords of them that it does not offer."""

    verbs: tuple[Verb, ...]
    without: frozenset[str]


def command(*verbs: Verb, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Make a command of a function that reads the files, calls a verb and shows the result.

    A parameter of type :class:`Keywords` takes the options that a verb declares
    (:class:`sfumato.core.options.CommandOption`), except those it is ``without``; a second one
    those of the second verb. A parameter whose type is a dataclass takes its fields: ``reading:
    ReadOptions`` adds ``--delimiter``, ``--encoding`` and the others. The ``panel`` of a dataclass
    is their heading in the help. All other parameters are arguments and options of the command
    alone. The help is the docstring of the function.
    """

    def build(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        sources: dict[str, Any] = {}
        options: dict[str, inspect.Parameter] = {}
        of_verbs = iter(verbs)
        for parameter in signature.parameters.values():
            if parameter.annotation is Keywords:
                verb = sources[parameter.name] = next(of_verbs)
                entries = [_parameter(one) for one in verb_options(verb, without)]
            elif is_dataclass(parameter.annotation):
                bundle: Any = parameter.annotation
                sources[parameter.name] = bundle
                entries = [_parameter(one) for one in declared_fields(bundle)]
            else:
                entries = [_own(parameter)]
            # Two verbs may share an option, such as the format of run and write: it is offered
            # once, and both get it.
            for entry in entries:
                options.setdefault(entry.name, entry)

        @functools.wraps(function)
        def take_options(*args: Any, **values: Any) -> None:
            # Options were typed one by one; the function gets them by dataclass and verb again.
            arguments = {name: _values_of(source, values) for name, source in sources.items()}
            for name in signature.parameters:
                if name in values and name not in sources:
                    arguments[name] = values[name]
            function(*args, **arguments)

        in_order = sorted(options.values(), key=lambda one: (one.kind, one.name in LAST))
        made: Any = take_options
        made.__signature__ = signature.replace(parameters=in_order)
        made.making = Making(verbs, frozenset(without))
        return take_options

    return build


def verb_options(verb: Verb, without: Collection[str] = ()) -> list[DeclaredOption]:
    """What a verb declares, and what its options objects do."""
    options = [*declared_in(verb)]
    for bundle in bundles_of(verb).values():
        options.extend(declared_fields(bundle))
    return [declared for declared in options if declared.name not in without]


def _own(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of the command alone: an argument as typer knows it, or one of our options."""
    if get_origin(parameter.annotation) is not Annotated:
        return parameter
    kind, option = get_args(parameter.annotation)
    if not isinstance(option, CommandOption):
        return parameter
    return _parameter(DeclaredOption(parameter.name, kind, option, parameter.default, option.panel))


def _parameter(declared: DeclaredOption) -> inspect.Parameter:
    """The option of a command, as typer reads it."""
    option = declared.option
    shown = typer.Option(
        *option.names,
        help=option.meaning,
        min=option.minimum,
        max=option.maximum,
        metavar=option.metavar,
        rich_help_panel=declared.panel,
    )
    kind: Any = declared.kind
    default = declared.default
    if option.typed is not None and not isinstance(default, str | int | float):
        # A default that cannot be typed, such as an empty tuple: nothing typed stands for it.
        kind, default = kind | None, None
    form: Any = Annotated[kind, shown]
    return inspect.Parameter(
        declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=form
    )


def _values_of(source: Any, values: Mapping[str, Any]) -> Any:
    """The options of a dataclass as one object, or those of a verb as its keywords.

    What was not typed is left out, so that the defaults are those of the dataclass or verb.
    """
    if is_dataclass(source):
        named: Any = source
        return named(**_typed(declared_fields(named), values))
    keywords = Keywords(_typed(declared_in(source), values))
    for name, bundle in bundles_of(source).items():
        keywords[name] = bundle(**_typed(declared_fields(bundle), values))
    return keywords


def _typed(declared: Iterable[DeclaredOption], values: Mapping[str, Any]) -> dict[str, Any]:
    names = [one.name for one in declared]
    return {name: values[name] for name in names if values.get(name) is not None}
