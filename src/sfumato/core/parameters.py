"""Frozen, validated values: what models, steps and hierarchies are.

A field is declared once, with its type and limits; validation, recipe syntax, ``sfumato list`` and
the contract tests all read the declaration.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, dataclass_transform

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from sfumato.core.fields import Document, Fields
from sfumato.core.plug_ins import describe_plug_in, load_plug_in, points_by_name
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Naming:
    """Marks, in the declaration of a field, what its text names: columns of the table, a file, or
    one of certain words.

    The text is all there is in the field: a name, a list of names, or the keys of a mapping.
    ``roles`` are those of the columns that are offered first. Validation does not look at it;
    whoever offers choices does.

    >>> from sfumato.methods.models import LDiversity
    >>> [
    ...     said
    ...     for said in LDiversity.__pydantic_fields__["sensitive"].metadata
    ...     if isinstance(said, Naming)
    ... ]
    [Naming(what='columns', roles=('sensitive',), words=())]
    """

    what: Literal["columns", "file", "words"]
    roles: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Multiples:
    """Marks, in the declaration of a field, numbers of which each is a multiple of the one
    before: 5, 10, 20.
    """


COLUMNS = Naming("columns")
SENSITIVE_COLUMNS = Naming("columns", roles=("sensitive",))
FILE = Naming("file")


@dataclass_transform(frozen_default=True, field_specifiers=(Field, dataclasses.field))
def parameters(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose fields are validated; wrong values
    raise :class:`ParameterError`.

    >>> @parameters
    ... class Crowd:
    ...     k: int = Field(ge=1)
    >>> Crowd(0)
    Traceback (most recent call last):
    ...
    sfumato.errors.ParameterError: Crowd: k should be greater than or equal to 1
    """
    checked: Any = dataclass(
        frozen=True,
        config=ConfigDict(extra="forbid", hide_input_in_errors=True, populate_by_name=True),
    )(cls)
    validated = checked.__init__
    fields = {word: name for name, word in spelled(checked).items()}
    names = list(fields)

    @functools.wraps(validated)
    def init(self: object, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(names):
            raise ParameterError(
                f"{cls.__name__}: at most {len(names)} parameters, but {len(args)} were given"
            )
        positional = dict(zip(names, args, strict=False))
        try:
            validated(self, **positional, **kwargs)
        except ValidationError as error:
            # said once is enough
            problems = [
                problem.removeprefix(f"{cls.__name__}: ") for problem in problems_of(error, names)
            ]
            raise ParameterError(f"{cls.__name__}: {'; '.join(problems)}") from None
        values = {name: getattr(self, fields.get(name, name)) for name in {**positional, **kwargs}}
        mistaken = []
        for name, value in {**positional, **kwargs}.items():
            if isinstance(value, bool | Mapping) and _taken_for_number(value, values[name]):
                mistaken.append(name)
        if mistaken:
            raise ParameterError(
                f"{cls.__name__}: {mistaken[0]} should be a number, not true or false"
            )
        if large := [
            name
            for name, value in values.items()
            if isinstance(value, int) and abs(value) > LARGEST
        ]:
            raise ParameterError(f"{cls.__name__}: {large[0]} should be at most {LARGEST:,}")

    by_fields = checked.__hash__

    def hashed(self: object) -> int:
        try:
            return by_fields(self)  # type: ignore[no-any-return]
        # a field is a mapping: objects of one class then share a hash, and are distinguished by
        # equality
        except TypeError:
            return hash(type(self))

    checked.__init__, checked.__hash__ = init, hashed
    return checked  # type: ignore[no-any-return]


LARGEST = 2**53
"""The largest whole number that a parameter may be: no table has as many records, and compiled
loops and decimals can still hold it.
"""


def _taken_for_number(argument: object, field_value: object) -> bool:
    """Whether true or false was read as 1 or 0: nobody who writes ``budget: true`` means a budget
    of 1.
    """
    if isinstance(argument, Mapping) and isinstance(field_value, Mapping):
        return any(
            name in field_value and _taken_for_number(value, field_value[name])
            for name, value in argument.items()
        )
    return isinstance(argument, bool) and not isinstance(field_value, bool)


def known_as(name: str) -> str:
    """The name something has in a recipe, also when it is written with hyphens.

    >>> known_as("k-anonymity")
    'k_anonymity'
    """
    return name.replace("-", "_")


IN_OUR_WORDS = {
    "missing": "must be given",
    "missing_argument": "must be given",
    "int_type": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_from_float": "should be a whole number",
    "float_type": "should be a number",
    "float_parsing": "should be a number",
    "bool_type": "should be true or false",
    "bool_parsing": "should be true or false",
    "string_type": "should be text",
    "path_type": "should be the path of a file",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "set_type": "should be a list",
    "frozen_set_type": "should be a list",
    "dict_type": "should be a mapping, like {name: value}",
    "mapping_type": "should be a mapping, like {name: value}",
    "too_short": "should have at least {min_length} entries",
    "too_long": "should have at most {max_length} entries",
    "string_too_short": "should not be empty",
}
"""What the library that validates calls an error → what we say."""

_NO_SUCH = ("unexpected_keyword_argument", "extra_forbidden")


def problems_of(error: ValidationError, names: Sequence[str] = ()) -> list[str]:
    """What a validation found, one sentence each, without the values given; ``names`` are the
    parameters there are.
    """
    sentences: dict[
        str, None
    ] = {}  # a field that may be two things fails twice, and is told once a sentence
    for issue in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in issue["loc"])
        if issue["type"] in _NO_SUCH:
            sentences[
                f"there is no parameter {where!r}.{did_you_mean(where, names)}".rstrip(".")
            ] = None
            continue
        message = (
            issue["msg"].removeprefix("Value error, ").replace("Input should be", "should be", 1)
        )
        message = IN_OUR_WORDS.get(issue["type"], message).replace(
            "be an instance of Sequence", "be a list"
        )
        if issue["type"] in ("too_short", "too_long"):
            message = message.format_map(issue["ctx"]).replace(" 1 entries", " 1 entry")
        plain = message.startswith(("should", "must"))
        sentences[f"{where} {message}".strip() if plain else f"{where}: {message}".lstrip(": ")] = (
            None
        )
    return list(sentences)


def spelled(cls: type) -> dict[str, str]:
    """The fields of a class, and the word that a recipe has for each: the same, unless a member of
    the class is called so.
    """
    if hasattr(cls, "__pydantic_fields__"):
        declared = cls.__pydantic_fields__
    else:
        declared = {}
    names = [field.name for field in dataclasses.fields(cls)]
    return {name: (declared[name].alias if name in declared else None) or name for name in names}


def values_of(value: Any) -> Document:
    """Fields of a value that differ from their defaults, as plain data for a recipe."""
    plain, words = {}, spelled(type(value))
    for field in dataclasses.fields(value):
        current = getattr(value, field.name)
        default: Any = field.default
        if hasattr(default, "get_default"):  # pydantic keeps its own Field as the dataclass default
            default = default.get_default(call_default_factory=True)
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if default != current:
            plain[words[field.name]] = plain_data(current)
    return plain


def plain_data(value: object) -> Any:
    """Tuples as lists, mappings as dicts and members of families as in a recipe, all the way
    down.
    """
    if isinstance(value, Mapping):
        return {k: plain_data(v) for k, v in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(plain_data(v) for v in value)
    if isinstance(value, list | tuple):
        return [plain_data(v) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and hasattr(value, "name"):
        return {value.name: values_of(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def label_of(name: str, parameters: Fields) -> str:
    """A name with its parameters, as a recipe and the command line write them.

    >>> (
    ...     label_of("interval_disclosure", {"kind": "deviation", "widths": [1.0, 5.0]}),
    ...     label_of("linkage", {}),
    ... )
    ('interval_disclosure: {kind: deviation, widths: [1.0, 5.0]}', 'linkage')
    """
    if parameters:
        return f"{name}: {_flow(parameters)}"
    return name


def words_of(name: str, parameters: Fields) -> str:
    """The same for a sentence.

    >>> words_of("interval_disclosure", {"kind": "deviation"}), words_of("interval_disclosure", {})
    ('interval disclosure (kind: deviation)', 'interval disclosure')
    """
    words = name.replace("_", " ")
    if parameters:
        return f"{words} ({_flow(parameters)[1:-1]})"
    return words


def _flow(value: object) -> str:
    """Plain data in one line of YAML."""
    if isinstance(value, Mapping):
        entries = ", ".join(f"{_flow(key)}: {_flow(entry)}" for key, entry in value.items())
        return "{" + entries + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if (
        isinstance(value, str)
        and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", value)
        and value.lower() not in _YAML_WORDS
    ):
        return value
    return json.dumps(value, ensure_ascii=False)


_YAML_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
"""Words that YAML does not take for text."""


class Members(Fields):
    """Classes by the name they have in a recipe; what there is is known at once, a class is
    imported when it is asked for.

    ``homes`` says where each class lives: ``module:Class``, the module below ``room``, or the class
    itself; ``module`` alone is a module that is the member. A recipe that
    names one step so waits for one step, not for all of them.

    >>> known = Members("sfumato.methods.models", {"k_anonymity": "k_anonymity:KAnonymity"})
    >>> list(known), known["k_anonymity"](5), known.called("KAnonymity")(2)
    (['k_anonymity'], KAnonymity(k=5), KAnonymity(k=2))
    """

    def __init__(self, room: str, homes: Mapping[str, str | type]) -> None:
        self._room = room
        self._homes = {
            name: f"{room}.{home}" if isinstance(home, str) else home
            for name, home in homes.items()
        }

    @classmethod
    def joined(cls, families: Sequence[Members], added: Mapping[str, type]) -> Members:
        """Several families as one, and classes that are loaded already."""
        together = cls("", {})
        together._homes = {
            name: home for members in families for name, home in members._homes.items()
        } | dict(added)
        return together

    @property
    def loaded_classes(self) -> dict[str, type]:
        """The classes that were given themselves, not by their home."""
        return {name: home for name, home in self._homes.items() if not isinstance(home, str)}

    def __getitem__(self, name: str) -> Any:
        """The class of a name."""
        home = self._homes[name]
        if not isinstance(home, str):
            return home
        module_name, _, class_name = home.partition(":")
        module = importlib.import_module(module_name)
        if not class_name:
            return module
        return getattr(module, class_name)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a name; nothing is imported to tell."""
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        """The names, in the order they were entered."""
        return iter(self._homes)

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._homes)

    def called(self, name: str) -> Any:
        """The class that is called so in Python: what a room answers when a name is imported from
        it.
        """
        for spelled, home in self._homes.items():
            if isinstance(home, str) and home.endswith(f":{name}"):
                return self[spelled]
        raise AttributeError(f"module {self._room!r} has no attribute {name!r}")


class ExtensibleMembers(Members):
    """Members of a kind that other packages extend: the entry points of the group
    ``sfumato.<kind>``, by their names.

    They are looked for only when a name is asked for that is none of ours, or when all names are;
    what an entry names is imported when it is asked for, as ours are.
    """

    def __init__(
        self,
        room: str,
        homes: Mapping[str, str | type],
        *,
        kind: str,
        noun: str,
        belongs: Callable[[Any], bool],
    ) -> None:
        super().__init__(room, homes)
        self._kind, self._noun, self._belongs = kind, noun, belongs

    @property
    def ours(self) -> Sequence[str]:
        """The names that come with sfumato."""
        return tuple(self._homes)

    def _points(self) -> dict[str, EntryPoint]:
        return points_by_name(self._kind, self._homes.__contains__)

    def __getitem__(self, name: str) -> Any:
        """The class of a name."""
        if name in self._homes:
            return super().__getitem__(name)
        point = self._points()[name]
        plug_in = load_plug_in(point, self._noun, self._belongs)
        if plug_in.name != name:
            problem = (
                f"{describe_plug_in(point)} is announced as {name!r} but its name is "
                f"{plug_in.name!r}"
            )
            raise ParameterError(f"{problem}; give both the same name, or uninstall it")
        return plug_in

    def __contains__(self, name: object) -> bool:
        """Whether there is such a name; nothing is imported to tell."""
        return name in self._homes or name in self._points()

    def __iter__(self) -> Iterator[str]:
        """The names: ours in the order they were entered, then those of plug-ins."""
        yield from self._homes
        yield from self._points()

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._homes) + len(self._points())


def called_in(families: Mapping[str, Members], room: str, name: str) -> Any:
    """The class that is called so in Python, of a room that holds several families.

    >>> called_in(
    ...     {
    ...         "models": Members(
    ...             "sfumato.methods.models", {"k_anonymity": "k_anonymity:KAnonymity"}
    ...         )
    ...     },
    ...     "here",
    ...     "KAnonymity",
    ... )(2)
    KAnonymity(k=2)
    """
    for members in families.values():
        with contextlib.suppress(AttributeError):
            return members.called(name)
    raise AttributeError(f"module {room!r} has no attribute {name!r}")
