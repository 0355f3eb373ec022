"""Forms from declarations: the fields of any model, step, hierarchy or metric, what may be entered
in each, and the object back.

Nothing here knows a class by name: what a field is drawn as follows from its type, its limits and
the marker
:class:`~sfumato.core.parameters.Naming`. A class of a plug-in gets its form without a line in the
workbench.

>>> from sfumato.methods.models import KAnonymity
>>> [(field.name, field.kind, field.text, field.low) for field in form_of(KAnonymity(5))]
[('k', 'number', '5', 1)]
>>> read_form(KAnonymity, {"k": "7"})
KAnonymity(k=7)
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import json
import re
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sfumato.core.parameters import Multiples, Naming, plain_data
from sfumato.core.words import join_words, percent_tick
from sfumato.core.yaml_text import read_yaml, write_yaml
from sfumato.errors import ParameterError, SfumatoError, did_you_mean
from sfumato.interfaces.web.fields import Fields

if typing.TYPE_CHECKING:
    from sfumato.core.schema import Schema

Kind = Literal[
    "switch",
    "segments",
    "select",
    "many",
    "number",
    "share",
    "column",
    "columns",
    "mapping",
    "numbers",
    "multiples",
    "texts",
    "text",
    "area",
    "path",
    "date",
    "yaml",
]
# So many choices stand side by side; more of them are a list to open.
FEW = 4
# A slider of more steps cannot be set by hand: the number is typed.
MOST_STEPS = 500
# A text that may be longer is drawn as several lines.
LONG_LINE = 1000
LISTS = ("numbers", "multiples")
# Nothing was entered: the default holds.
LEFT_OUT: Any = object()


class FormError(ParameterError):
    """What was entered does not make an object. ``problems`` says why, by field; under ``""``
    stands what is about them together.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name} {why}".strip() for name, why in problems.items()))
        self.problems = dict(problems)


@dataclasses.dataclass(frozen=True)
class FormChoice:
    """Something that can be chosen: what it is in a recipe, how it is called, and under which
    heading it stands.
    """

    value: str
    words: str
    group: str = ""


@dataclasses.dataclass(frozen=True)
class FormField:
    """A field as it is drawn.

    ``default`` and ``value`` are plain data as in a recipe; a field that is ``required`` has no
    default, and its value is None until one is entered. ``optional`` fields may stay empty where
    that means something of its own. ``low``, ``high`` and ``step`` bound numbers (of a share too,
    which is 0–1 here and shown in percent); an end that is itself not allowed is ``open_low`` or
    ``open_high``. ``single``: one column may stand alone, without a list; ``min_items``: entries of
    a list; ``examples``: values that are offered as presets, the first one where none is there yet.
    """

    name: str
    label: str
    help: str
    kind: Kind
    required: bool = False
    optional: bool = False
    default: Any = None
    value: Any = None
    choices: tuple[FormChoice, ...] = ()
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    step: float | None = None
    whole: bool = False
    single: bool = False
    min_items: int = 0
    examples: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """The value as it stands in a field of text; a share in percent, a list a line each,
        anything else as YAML.
        """
        return text_of_value(self, self.value)

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """The rows of a mapping: key and value, as text."""
        return tuple((str(key), inline(value)) for key, value in (self.value or {}).items())

    @property
    def selection(self) -> tuple[str, ...]:
        """The columns or words that are chosen, in their order."""
        if self.value is None:
            return ()
        if isinstance(self.value, str):
            return (self.value,)
        return tuple(self.value)

    @property
    def slider(self) -> tuple[float, float, float] | None:
        """Ends and step of a slider: where both ends are known and near enough to be told apart by
        hand.
        """
        if self.kind not in ("number", "share") or self.low is None or self.high is None:
            return None
        # a hundred steps where the declaration names none
        step = self.step or (self.high - self.low) / 100
        low = self.low + step if self.open_low else self.low
        high = self.high - step if self.open_high else self.high
        if (high - low) / step <= MOST_STEPS:
            return (low, high, step)
        return None


def form_of(subject: Any, schema: Schema | None = None) -> tuple[FormField, ...]:
    """The fields of an object with their values, or of a class with its defaults; columns are
    offered from the schema.
    """
    cls = subject if isinstance(subject, type) else type(subject)
    declared: Mapping[str, Any] = cls.__pydantic_fields__  # type: ignore[attr-defined]
    instance = None if subject is cls else subject
    names = [field.name for field in dataclasses.fields(cls)]
    return tuple(_field(name, declared[name], instance, schema) for name in names)


def starting_values(cls: Any, schema: Schema | None) -> Fields:
    """What stands in required fields at first: the first example of the declaration, or the first
    column where only one has the role.
    """
    start: Fields = {}
    for field in form_of(cls, schema):
        first = [choice.value for choice in field.choices if choice.group == field.choices[0].group]
        if field.required and field.examples:
            start[field.name] = field.examples[0]
        elif field.required and field.kind in ("column", "columns") and len(first) == 1:
            start[field.name] = first[0]
    return start


def read_form(cls: Any, values: Mapping[str, Any]) -> Any:
    """The object that was entered: per field what its widget holds, as text or plain data;
    raises :class:`FormError`.
    """
    fields = {field.name: field for field in form_of(cls)}
    problems: dict[str, str] = {}
    arguments: Fields = {}
    for name, entered in values.items():
        if name not in fields:
            raise ParameterError(
                f"{cls.__name__} has no field {name!r}.{did_you_mean(name, fields)}"
            )
        try:
            value = read_value(fields[name], entered)
        except SfumatoError as error:
            problems[name] = str(error)
            continue
        if value is not LEFT_OUT:
            arguments[name] = value
    absent_fields = [
        name
        for name, field in fields.items()
        if field.required and name not in {*arguments, *problems}
    ]
    problems |= dict.fromkeys(absent_fields, "must be given")
    if problems:
        raise FormError({name: problems[name] for name in fields if name in problems})
    try:
        return cls(**arguments)
    except SfumatoError as error:
        raise FormError(problems_by_field(str(error), cls.__name__, tuple(fields))) from None


def problems_by_field(message: str, class_name: str, names: Sequence[str]) -> dict[str, str]:
    """What is wrong, by the field that each sentence begins with; under ``""`` what begins with
    none.

    >>> problems_by_field("Crowd: k should be a number; say 5; both are lacking", "Crowd", ["k"])
    {'k': 'should be a number; say 5; both are lacking'}
    >>> problems_by_field("Crowd: one of k and fraction must be given", "Crowd", ["k", "fraction"])
    {'': 'one of k and fraction must be given'}
    """
    sentences: dict[str, str] = {}
    last = ""
    for part in message.removeprefix(f"{class_name}: ").split("; "):
        # pydantic writes the field, and of a list the position: ``widths.0 should be greater``
        begins = re.match(r"(\w+)(?:\..*?(?= should| must|:))?:? ", part)
        names_field = begins is not None and begins[1] in names
        sentence = part[begins.end() :] if names_field and begins else part
        if names_field and begins:
            last = begins[1]
        if not sentences.get(last, "").startswith(
            sentence
        ):  # a field that may be two things is told of once
            if last in sentences:
                sentences[last] = f"{sentences[last]}; {sentence}"
            else:
                sentences[last] = sentence
    return sentences


# from the declaration to the kind of field


@dataclasses.dataclass(frozen=True)
class DeclaredType:
    """A type with what stands around it taken off: its alternatives but None, and all that was said
    about it.
    """

    types: tuple[Any, ...]
    metadata: tuple[Any, ...]
    optional: bool

    @classmethod
    def of(cls, annotation: Any, metadata: Sequence[Any] = ()) -> DeclaredType:
        """Take ``Annotated`` and ``… | None`` off."""
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            inner, *markers = typing.get_args(annotation)
            for marker in markers:  # a Field of pydantic holds several
                metadata = (*metadata, *getattr(marker, "metadata", (marker,)))
            return cls.of(inner, metadata)
        if origin in (typing.Union, types.UnionType):
            kinds: tuple[Any, ...] = ()
            optional = False
            for part in map(cls.of, typing.get_args(annotation)):
                kinds += part.types
                metadata = (*metadata, *part.metadata)
                optional = optional or part.optional
            return cls(kinds, tuple(metadata), optional)
        nothing = annotation is type(None)
        return cls(() if nothing else (annotation,), tuple(metadata), nothing)

    @property
    def names(self) -> Naming | None:
        """What its text names, here or further inside."""
        for word in self.metadata:
            if isinstance(word, Naming):
                return word
        for kind in self.types:
            for part in typing.get_args(kind) if typing.get_origin(kind) is not Literal else ():
                naming = DeclaredType.of(part).names
                if naming is not None:
                    return naming
        return None


def _field(name: str, info: Any, subject: Any, schema: Schema | None) -> FormField:
    declared = DeclaredType.of(info.annotation, info.metadata)
    required = bool(info.is_required())
    default = None
    if not required:
        default = plain_data(info.get_default(call_default_factory=True))
    if subject is None:
        value = default
    else:
        value = plain_data(getattr(subject, name))
    plain = FormField(
        name,
        label=info.title or name.replace("_", " "),
        help=info.description or "",
        kind="yaml",
        required=required,
        optional=declared.optional and default is None,
        default=default,
        value=value,
        min_items=max(
            (word.min_length for word in declared.metadata if hasattr(word, "min_length")),
            default=0,
        ),
        examples=tuple(info.examples or ()),
    )
    return dataclasses.replace(plain, **_widget_of(declared, schema))


def _widget_of(declared: DeclaredType, schema: Schema | None) -> Fields:
    """The kind of a field and what only that kind has."""
    kinds, names = declared.types, declared.names
    if kinds == (bool,):
        return {"kind": "switch"}
    if words := _words(kinds) or (names.words if names and names.what == "words" else ()):
        side_by_side = len(words) + declared.optional <= FEW
        return {
            "kind": "segments" if side_by_side else "select",
            "choices": tuple(FormChoice(w, spoken(w)) for w in words),
        }
    if kinds and set(kinds) <= {int, float}:
        return _number(declared)
    if names is not None and names.what == "columns" and (widget := _columns(kinds, names, schema)):
        return widget
    if (names is not None and names.what == "file") or Path in kinds:
        return {"kind": "path"}
    if kinds == (str,):
        longest = max(
            (getattr(word, "max_length", 0) or 0 for word in declared.metadata), default=0
        )
        return {"kind": "area" if longest > LONG_LINE else "text"}
    if kinds == (datetime.date,):
        return {"kind": "date"}
    if len(kinds) != 1:
        return {"kind": "yaml"}
    widget = _list_widget(kinds[0], names, schema)
    if any(isinstance(word, Multiples) for word in declared.metadata):
        widget["kind"] = "multiples"
    return widget


def _words(kinds: tuple[Any, ...]) -> tuple[str, ...]:
    """The words of a choice; none where something else than words may stand there."""
    words: tuple[Any, ...] = ()
    for kind in kinds:
        if typing.get_origin(kind) is not Literal:
            return ()
        words += typing.get_args(kind)
    if all(isinstance(word, str) for word in words):
        return words
    return ()


def _number(declared: DeclaredType) -> Fields:
    low, open_low = _limit(declared.metadata, "ge", "gt")
    high, open_high = _limit(declared.metadata, "le", "lt")
    whole = float not in declared.types
    bounds = {
        "low": low,
        "high": high,
        "open_low": open_low,
        "open_high": open_high,
        "whole": whole,
    }
    # a number from 0 to 1 that need not be whole is a share, shown in percent
    if not whole and low is not None and low >= 0 and high is not None and high <= 1:
        return {"kind": "share", "step": 0.001 if high - low <= 0.1 else 0.01, **bounds}
    return {"kind": "number", "step": 1 if whole else None, **bounds}


def _limit(metadata: Sequence[Any], closed: str, opened: str) -> tuple[float | None, bool]:
    for word in metadata:
        for name in (closed, opened):
            limit = getattr(word, name, None)
            if isinstance(limit, int | float):
                return limit, name == opened
    return None, False


def _columns(kinds: tuple[Any, ...], names: Naming, schema: Schema | None) -> Fields | None:
    """One column, or several; None: the names stand deeper inside."""
    lists = [kind for kind in kinds if _items(kind) == (str,)]
    if set(kinds) - {str} != set(lists):
        return None
    offered = offered_columns(schema, names.roles)
    return {
        "kind": "columns" if lists else "column",
        "choices": offered,
        "single": bool(lists) and str in kinds,
    }


def offered_columns(schema: Schema | None, roles: Sequence[str] = ()) -> tuple[FormChoice, ...]:
    """The columns of a schema under the role they have, those of certain roles first: those that
    have no other role before the rest.
    """
    if schema is None:
        return ()
    columns = [
        FormChoice(name, name, join_words(map(str, column.roles)))
        for name, column in schema.attributes.items()
    ]
    return tuple(sorted(columns, key=lambda column: _beside(column.group.split(" and "), roles)))


def _beside(own: Sequence[str], roles: Sequence[str]) -> int:
    """0 where a column has nothing but the roles that are asked for, 1 where it has others too, 2
    where it has none of them.
    """
    if not set(own) & set(roles):
        return 2
    return int(not set(own) <= set(roles))


def _list_widget(kind: Any, names: Naming | None, schema: Schema | None) -> Fields:
    """Fields of lists and mappings."""
    if (pair := _pair(kind)) is not None:
        simple = pair[0] == (str,) and all(_in_one_line(part) for part in pair[1])
        keys = offered_columns(schema, names.roles) if names is not None else ()
        if simple:
            # one line a value: what nests deeper is typed as YAML
            return {"kind": "mapping", "choices": keys}
        return {"kind": "yaml"}
    items = _items(kind)
    if items and set(items) <= {int, float}:
        return {"kind": "numbers", "whole": float not in items}
    if items and (words := _words(items)):
        return {"kind": "many", "choices": tuple(FormChoice(word, spoken(word)) for word in words)}
    if items == (str,):
        return {"kind": "texts"}
    return {"kind": "yaml"}


def _items(kind: Any) -> tuple[Any, ...] | None:
    """What a list holds; None: it is no list."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return DeclaredType.of(args[0]).types
        return None
    if isinstance(origin, type) and _is_list(origin):
        return DeclaredType.of(args[0]).types
    return None


def _is_list(origin: type) -> bool:
    return issubclass(origin, Sequence | set | frozenset) and not issubclass(origin, str)


def _pair(kind: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """What the keys and the values of a mapping are; None: it is no mapping."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if not (isinstance(origin, type) and issubclass(origin, Mapping)) or len(args) != 2:
        return None
    return DeclaredType.of(args[0]).types, DeclaredType.of(args[1]).types


def _in_one_line(kind: Any) -> bool:
    """Whether a value of a mapping can be written in one line."""
    return typing.get_origin(kind) in (tuple, list, Sequence, Literal) or kind in (
        str,
        int,
        float,
        bool,
    )


def spoken(word: str) -> str:
    """A word of a recipe as a person says it.

    >>> spoken("p_distribution")
    'p distribution'
    """
    return word.replace("_", " ")


# values as text, and back


def text_of_value(field: FormField, value: Any) -> str:
    """A value as the text that stands in a field; "" where there is none."""
    if value is None:
        return ""
    if field.kind == "share":
        return _plain_number(decimal.Decimal(repr(value)) * 100)
    if field.kind in LISTS:
        return ", ".join(inline(number) for number in value)
    if field.kind == "texts":
        return "\n".join(map(_line, value))
    if field.kind in ("yaml", "mapping") and isinstance(value, list | dict):
        return write_yaml(value) if value else ""
    if field.kind in ("number", "yaml"):
        return inline(value)
    return str(value)


def inline(value: Any) -> str:
    """A value in one line of YAML.

    >>> inline("a"), inline("7"), inline([1, 3]), inline(0.5)
    ('a', '"7"', '[1, 3]', '0.5')
    """
    if isinstance(value, str):
        if _reads_as_itself(value):
            return value
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _line(text: str) -> str:
    """A text as a line of its own; what a line would lose or break stands in quotes."""
    plain = text == text.strip() != "" and len(text.splitlines()) == 1 and not text.startswith('"')
    return text if plain else json.dumps(text)


def _unquoted(line: str) -> str:
    try:
        text = json.loads(line) if line.startswith('"') else line
    except ValueError:
        raise ParameterError("has a quotation mark that is not closed") from None
    return str(text)


def _reads_as_itself(text: str) -> bool:
    try:
        return bool(text) and read_yaml(text, "it") == text
    except ParameterError:
        return False


def _plain_number(number: decimal.Decimal) -> str:
    """A number without an exponent or noughts at its end."""
    text = f"{number:f}"
    if "." in text:
        return text.rstrip("0").rstrip(".")
    return text


def read_value(field: FormField, entered: Any) -> Any:
    """What was entered in one field as plain data, or :data:`LEFT_OUT`;
    raises :class:`ParameterError` on what cannot be read.
    """
    if field.kind == "mapping":
        return _read_mapping(entered)
    if isinstance(entered, str):
        if field.kind not in ("text", "area", "yaml", "texts"):
            entered = entered.strip()
        nothing = LEFT_OUT
        if field.kind == "texts" and field.required and not field.min_items:
            nothing = []
        if entered == "":
            return nothing
        return _read_text(field, entered)
    if entered is None or (
        field.required and field.min_items and isinstance(entered, list) and not entered
    ):
        return LEFT_OUT
    if field.kind == "columns":
        columns = list(entered)
        if field.single and len(columns) == 1:
            return columns[0]
        return columns
    return entered


def _read_text(field: FormField, text: str) -> Any:
    if field.kind == "number":
        return number_in(text, whole=field.whole)
    if field.kind == "share":
        return _within(field, share_in(text))
    if field.kind in LISTS:
        return [number_in(part, whole=field.whole) for part in re.split(r"[,;\s]+", text) if part]
    if field.kind == "texts":
        return [_unquoted(line.strip()) for line in text.split("\n") if line.strip()]
    if field.kind == "switch":
        return text == "true"
    if field.kind in ("columns", "many"):
        return text if field.single else [text]
    if field.kind == "yaml":
        return read_yaml(text, "this")
    return text


def number_in(text: str, *, whole: bool = False) -> int | float:
    """The number that a text is; one that is whole stays so.

    >>> number_in("1,000"), number_in("0.5"), number_in("-3.0", whole=True)
    (1000, 0.5, -3)
    """
    # 1,000 is a thousand, and 1,5 no number
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)|\s", "", text)
    try:
        number = float(plain)
        if re.fullmatch(r"[+-]?\d+", plain):
            return int(plain)
        if whole and number == int(number):
            return int(number)
        return number
    except (ValueError, OverflowError):
        raise ParameterError("should be a number") from None


def share_in(text: str) -> float:
    """The share that a percentage is.

    >>> share_in("4.1 %"), share_in("100")
    (0.041, 1.0)
    """
    try:
        return float(decimal.Decimal(text.removesuffix("%").strip().replace(",", ".")) / 100)
    except decimal.InvalidOperation:
        raise ParameterError("should be a number of percent") from None


def _within(field: FormField, share: float) -> float:
    """A share that is within its limits; what is said of one that is not is in percent, as it was
    entered.
    """
    if field.low is not None and (share < field.low or (field.open_low and share == field.low)):
        raise ParameterError(
            f"should be {'more than' if field.open_low else 'at least'} {percent_tick(field.low)}"
        )
    if field.high is not None and (share > field.high or (field.open_high and share == field.high)):
        raise ParameterError(
            f"should be {'less than' if field.open_high else 'at most'} {percent_tick(field.high)}"
        )
    return share


def _read_mapping(entered: Any) -> Any:
    """A mapping from its rows; rows without a key are left out, and the same key twice is
    refused.
    """
    if isinstance(entered, str):
        entered = read_yaml(entered, "this") if entered.strip() else {}
    if entered is None or isinstance(entered, Mapping):
        return dict(entered) if entered else LEFT_OUT
    rows = [(str(key).strip(), value) for key, value in entered if str(key).strip()]
    if len({key for key, _ in rows}) < len(rows):
        raise ParameterError("names something twice")
    empty = [key for key, value in rows if isinstance(value, str) and not value.strip()]
    if empty:
        raise ParameterError("has a row without a value")
    mapping = {}
    for key, value in rows:
        if isinstance(value, str):
            mapping[key] = read_yaml(value, "this")
        else:
            mapping[key] = value
    return mapping or LEFT_OUT
