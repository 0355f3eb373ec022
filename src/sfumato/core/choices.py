"""What the fields of a model may be: read from their declarations, to ask a model without a
threshold or to try many.

A field declares its type and limits once (:mod:`sfumato.core.parameters`). From these follow the
weakest values a model can have, under which judging it tells what a table attains, and a few models
of every kind for explanations and tests.
"""

from __future__ import annotations

import dataclasses
import itertools
import types
import typing
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal, Union

from sfumato.core.fields import Fields
from sfumato.core.model import Model
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SfumatoError

FAR = 1e12
"""Stands for the top of a range that has none."""

NEAR = 1e-9
"""Stands for the bottom of a range that excludes it."""

COLUMN = "secret"
"""The column that tried-out models are about."""


@cache
def required_fields(cls: type) -> tuple[str, ...]:
    """Names of the fields that have no default.

    >>> from sfumato.methods.models import AlphaKAnonymity
    >>> required_fields(AlphaKAnonymity)
    ('sensitive', 'alpha', 'k')
    """
    missing = dataclasses.MISSING
    fields = dataclasses.fields(cls)
    return tuple(f.name for f in fields if f.default is missing and f.default_factory is missing)


@cache
def is_number(cls: type, field: str) -> bool:
    """Whether a field takes a number."""
    return _kinds(cls, field) <= {int, float, type(None)} and _kinds(cls, field) != {type(None)}


def weakest(cls: Any, arguments: Fields) -> tuple[Any, tuple[str, ...]]:
    """A model with the weakest legal value for every number that is required and not given, and
    which those are.

    Weakest is what every other legal choice implies. A number that has no such value states a fact,
    not a degree, and must be given.

    >>> from sfumato.methods.models import TCloseness
    >>> weakest(TCloseness, {"sensitive": "illness"})
    (TCloseness(sensitive='illness', t=1.0, distance='equal', reference='original'), ('t',))
    """
    open_fields = []
    for name in required_fields(cls):
        if name not in arguments and is_number(cls, name):
            open_fields.append(name)
    if not open_fields:
        return cls(**arguments), ()
    legal, refused = [], None
    # All combinations of the ends of ranges; some break a rule that ties fields to each other.
    for values in itertools.product(*(_ends(cls, name) for name in open_fields)):
        try:
            legal.append(cls(**arguments, **dict(zip(open_fields, values, strict=True))))
        except ParameterError as error:
            refused = refused or error
    for candidate in legal:
        if all(rival.implies(candidate) for rival in legal):
            return candidate, tuple(open_fields)
    # Where nothing is legal the first refusal says why.
    raise (
        refused
        if refused and not legal
        else ParameterError(f"{cls.__name__}: {join_words(open_fields)} must be given")
    )


@cache
def variants(cls: Any) -> tuple[Any, ...]:
    """Models of a class over a grid of legal values: every choice of a word, a few numbers of each
    range.

    >>> from sfumato.methods.models import KAnonymity
    >>> variants(KAnonymity)
    (KAnonymity(k=1), KAnonymity(k=2), KAnonymity(k=3))
    """
    names = [field.name for field in dataclasses.fields(cls)]
    choices = [list(_values(cls, name)) for name in names]
    return tuple(_legal(cls, names, choices))


def _legal(cls: Any, names: Sequence[str], choices: Sequence[Sequence[Any]]) -> Iterator[Any]:
    for values in itertools.product(*choices):
        try:
            yield cls(**dict(zip(names, values, strict=True)))
        except SfumatoError:
            continue


def trivial(model: Model) -> bool:
    """Whether a model promises nothing: it is as weak as its numbers can make it.

    >>> from sfumato.methods.models import KAnonymity
    >>> trivial(KAnonymity(1)), trivial(KAnonymity(2))
    (True, False)
    """
    cls: Any = type(model)
    arguments = {field.name: getattr(model, field.name) for field in dataclasses.fields(cls)}
    degrees = []
    for name in required_fields(cls):
        if is_number(cls, name) and _is_degree(cls, arguments, name):
            degrees.append(name)
    fixed_arguments = {name: value for name, value in arguments.items() if name not in degrees}
    weakest_model, _ = weakest(cls, fixed_arguments)
    # Without a degree nothing can be made weaker, so the model is not trivial.
    return bool(degrees) and weakest_model.implies(model)


def _is_degree(cls: object, arguments: Fields, name: str) -> bool:
    """Whether a number says how much is promised, and not a fact about the data."""
    try:
        other_arguments = {field: value for field, value in arguments.items() if field != name}
        weakest(cls, other_arguments)
    except ParameterError:
        return False
    return True


def _values(cls: type, name: str) -> Iterator[Any]:
    kinds, info = _kinds(cls, name), _info(cls, name)
    if name not in required_fields(cls):
        yield info.get_default(call_default_factory=True)
    if is_number(cls, name):
        yield from _numbers(cls, name)
    elif bool in kinds:
        yield True
    elif words := [
        word
        for kind in kinds
        if typing.get_origin(kind) is Literal
        for word in typing.get_args(kind)
    ]:
        yield from (word for word in words if word != info.default)
    elif name in required_fields(cls):
        yield COLUMN if str in kinds else [[COLUMN]]


def _numbers(cls: type, name: str) -> Iterator[float]:
    """A few numbers of a range: both ends where it has them, and what lies within."""
    low, high = _limits(cls, name)
    whole = int in _kinds(cls, name)
    usual = (1, 2, 3) if whole else (0.1, 0.5, 1.0, 2.0)
    # NEAR only stands for an end that is excluded; nobody would choose it.
    candidates = dict.fromkeys(
        v for v in (low, *usual, high) if v is not None and _inside(v, low, high) and v != NEAR
    )
    yield from candidates


@cache
def _ends(cls: type, name: str) -> tuple[float, ...]:
    low, high = _limits(cls, name)
    whole = int in _kinds(cls, name)
    ends = [0 if low is None else low, 1, FAR if high is None else high]
    return tuple(int(v) if whole else float(v) for v in dict.fromkeys(ends))


def _inside(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _limits(cls: type, name: str) -> tuple[float | None, float | None]:
    """The lowest and highest legal number, None where there is no limit."""
    low: float | None = None
    high: float | None = None
    for limit in _info(cls, name).metadata:
        if hasattr(limit, "ge") or hasattr(limit, "gt"):
            if hasattr(limit, "ge"):
                low = limit.ge
            else:
                low = limit.gt + NEAR
        if hasattr(limit, "le") or hasattr(limit, "lt"):
            if hasattr(limit, "le"):
                high = limit.le
            else:
                high = limit.lt - NEAR
    return low, high


def _info(cls: Any, name: str) -> Any:
    return cls.__pydantic_fields__[name]


def _kinds(cls: type, name: str) -> set[Any]:
    annotation = _info(cls, name).annotation
    origin = typing.get_origin(annotation)
    if origin in (Union, types.UnionType):
        return set(typing.get_args(annotation))
    return {annotation}
