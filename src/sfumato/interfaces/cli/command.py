"""A command made of its verbs: the options they declare, those of shared dataclasses, its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, get_args, get_origin

import typer

from sfumato.core.fields import Document
from sfumato.core.options import (
    CommandOption,
    DeclaredOption,
    bundles_of,
    declared_fields,
    declared_in,
)
from sfumato.interfaces.cli.verb_options import load_verb, verb_options

Command = Callable[..., None]
LAST = ("json", "quiet")
"""Every command has these options, so the help lists them after those of its own."""


class Keywords(Document):
    """The options of a command that are keywords of a verb, by name, as the verb takes them."""


@dataclass(frozen=True)
class Making:
    """What a command is made of: its verbs, and the keywords of them that it does not offer."""

    verbs: tuple[str, ...]
    without: frozenset[str]


def command(*verbs: str, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Make a command of a function that reads the files, calls a verb and shows the result.

    A parameter of type :class:`Keywords` takes the options that a verb declares
    (:class:`sfumato.core.options.CommandOption`), except those it is ``without``; a second one
    those of the second verb. Verbs are named, ``"sfumato.interfaces.api:run"``, and imported when
    the command runs: its help needs only their options. A parameter whose type is a dataclass takes
    its fields: ``reading: ReadOptions`` adds ``--delimiter``, ``--encoding`` and the others. The
    ``panel`` of a dataclass is their heading in the help. All other parameters are arguments and
    options of the command alone. The help is the docstring of the function.
    """

    def build(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        sources: dict[str, str | type] = {}
        options: dict[str, inspect.Parameter] = {}
        next_verb = iter(verbs)
        for parameter in signature.parameters.values():
            if parameter.annotation is Keywords:
                verb = sources[parameter.name] = next(next_verb)
                entries = [_parameter(declared) for declared in verb_options(verb, without)]
            elif is_dataclass(parameter.annotation):
                bundle: Any = parameter.annotation
                sources[parameter.name] = bundle
                entries = [_parameter(declared) for declared in declared_fields(bundle)]
            else:
                entries = [_own(parameter)]
            # Two verbs may share an option, such as the format of run and write: it is offered
            # once, and both get it.
            for entry in entries:
                options.setdefault(entry.name, entry)

        @functools.wraps(function)
        def take_options(*args: Any, **values: Any) -> None:
            # Options were typed one by one; the function gets them by dataclass and verb again.
            arguments = {name: _collect(source, values) for name, source in sources.items()}
            for name in signature.parameters:
                if name in values and name not in sources:
                    arguments[name] = values[name]
            function(*args, **arguments)

        in_order = sorted(options.values(), key=lambda entry: (entry.kind, entry.name in LAST))
        attributes = vars(take_options)
        attributes["__signature__"] = signature.replace(parameters=in_order)
        attributes["making"] = Making(verbs, frozenset(without))
        return take_options

    return build


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
    typer_option = typer.Option(
        *option.names,
        help=option.meaning,
        min=option.minimum,
        max=option.maximum,
        metavar=option.metavar,
        rich_help_panel=declared.panel,
    )
    return inspect.Parameter(
        declared.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=declared.default,
        annotation=Annotated[declared.kind, typer_option],
    )


def _collect(source: str | type, values: Mapping[str, object]) -> Any:
    """The options of a dataclass as one object, or those of a verb as its keywords.

    What was not typed is left out, so that the defaults are those of the dataclass or verb.
    """
    if not isinstance(source, str):
        return source(**_typed_values(declared_fields(source), values))
    verb = load_verb(source)
    if isinstance(verb, type):
        declared = declared_fields(verb)
    else:
        declared = declared_in(verb)
    keywords = Keywords(_typed_values(declared, values))
    for name, bundle in bundles_of(verb).items():
        keywords[name] = bundle(**_typed_values(declared_fields(bundle), values))
    return keywords


def _typed_values(
    declared: Iterable[DeclaredOption], values: Mapping[str, object]
) -> dict[str, object]:
    names = [option.name for option in declared]
    return {name: values[name] for name in names if values.get(name) is not None}
