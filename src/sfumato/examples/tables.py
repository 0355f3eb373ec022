"""What all bundled tables are made of: columns with a role, rows, and explicit hierarchies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.source import Source
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from sfumato.core.dataset import Dataset
    from sfumato.core.hierarchy import Hierarchy

Example: TypeAlias = "tuple[pl.DataFrame, Schema]"
"""A bundled table before it is wrapped: its frame and its schema."""


def direct() -> Attribute:
    """Column that names a person."""
    return Attribute((Role.DIRECT,), kind=Kind.TEXT)


def quasi(hierarchy: Hierarchy | None = None, kind: Kind = Kind.NOMINAL, **more: Any) -> Attribute:
    """Column an intruder may know."""
    return Attribute((Role.QUASI,), kind=kind, hierarchy=hierarchy, **more)


def sensitive(kind: Kind = Kind.NOMINAL, hierarchy: Hierarchy | None = None, **more: Any) -> Attribute:
    """Column an intruder wants to learn."""
    return Attribute((Role.SENSITIVE,), kind=kind, hierarchy=hierarchy, **more)


def plain(kind: Kind = Kind.NOMINAL) -> Attribute:
    """Column that is neither."""
    return Attribute((Role.PLAIN,), kind=kind)


def from_rows(attributes: Mapping[str, Attribute], rows: Iterable[Sequence[Any]]) -> Example:
    """Table with the given columns, row by row."""
    import polars as pl

    return pl.DataFrame(list(rows), schema=list(attributes), orient="row"), Schema(attributes)


def from_columns(attributes: Mapping[str, Attribute], columns: Mapping[str, Any]) -> Example:
    """Table with the given columns, each an array, a list or a series."""
    import polars as pl

    return pl.DataFrame({name: columns[name] for name in attributes}), Schema(attributes)


def expand(blocks: Mapping[str, Sequence[int]], values: Sequence[str]) -> list[tuple[str, str]]:
    """Rows (block, value) from counts: ``blocks[b][i]`` rows of block *b* have ``values[i]``.

    >>> expand({"a": [1, 2]}, ["yes", "no"])
    [('a', 'yes'), ('a', 'no'), ('a', 'no')]
    """
    return [
        (block, value)
        for block, counts in blocks.items()
        for value, count in zip(values, counts, strict=True)
        for _ in range(count)
    ]


def rungs(values: Iterable[str], *climb: Callable[[str], str]) -> list[tuple[str, ...]]:
    """One path per value: itself, then what each function makes of it.

    >>> rungs(["35138"], lambda v: v[:4] + "*", lambda v: v[:3] + "**")
    [('35138', '3513*', '351**')]
    """
    return [(value, *(step(value) for step in climb)) for value in values]


def masked(kept: int) -> Callable[[str], str]:
    """Function that keeps the first characters of a code and stars the others."""
    return lambda value: value[:kept] + "*" * (len(value) - kept)


def either(name: str, given: str, known: Iterable[str]) -> str:
    """The given option when it is known; otherwise an error that says what there is."""
    options = tuple(known)
    if given not in options:
        raise ParameterError(f"{name} {given!r} is not known.{did_you_mean(given, options)}")
    return given


def at_least(name: str, given: int, least: int) -> int:
    """The given number when it is large enough."""
    if given < least:
        raise ParameterError(f"{name} must be at least {least}, not {given}")
    return given


def as_dataset(name: str, example: Example, *notes: str) -> Dataset:
    """Wrap a frame and its schema into a dataset that says where it came from."""
    from sfumato.core.dataset import Dataset

    frame: Any = example[0]  # the dataset takes any eager frame and wraps it
    return Dataset(frame, example[1], source=Source(name=name, notes=notes))
