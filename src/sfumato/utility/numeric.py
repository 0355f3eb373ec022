"""Columns of numbers before and after, record by record."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.encoding import numbers_of
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError
from sfumato.utility.averaging import gone, records_of
from sfumato.utility.columns import EMPTY, quasi_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


@dataclasses.dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers: ``before`` per original row, ``after`` per released row; NaN where there is none.

    A released range stands for its middle. Dates are days, ordered values their ranks.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]


def numbers(pair: Pair, name: str) -> Numbers:
    """A column as numbers, read once; :class:`SchemaError` where the original holds none."""
    if ("numbers", name) not in pair.memo:
        pair.memo["numbers", name] = _numbers(pair, name)
    found: Numbers = pair.memo["numbers", name]
    return found


def _numbers(pair: Pair, name: str) -> Numbers:
    if name not in pair.released.columns:
        return Numbers(_original_numbers(pair, name), np.full(len(pair.rows), np.nan))
    if plainly_numeric(pair, name):
        return Numbers(numbers_of(pair.original, name), numbers_of(pair.released, name))
    reading = pair.reading(name)
    if reading.scale == "category":
        raise _no_numbers(pair, name)
    middle = np.where(reading.everything, np.nan, reading.middle)
    return Numbers(
        reading.places[reading.original] if len(reading.values) else np.zeros(0),
        middle[reading.released] if len(middle) else np.zeros(0),
    )


def plainly_numeric(pair: Pair, name: str) -> bool:
    """Whether both sides of a column hold numbers, not labels: then there may be too many to look at each."""
    attribute = pair.original.schema[name]
    if attribute.kind is not Kind.NUMERIC or attribute.order is not None or name not in pair.released.columns:
        return False
    return pair.original.dtype(name).is_numeric() and pair.released.dtype(name).is_numeric()


def _original_numbers(pair: Pair, name: str) -> NDArray[np.float64]:
    if pair.original.schema[name].kind is not Kind.NUMERIC:
        raise _no_numbers(pair, name)
    return numbers_of(pair.original, name)


def _no_numbers(pair: Pair, name: str) -> SchemaError:
    return SchemaError(
        f"column {name!r} of {pair.original.source.name} does not hold numbers, dates or ordered values; "
        "leave it out or give it kind numeric"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Errors:
    """How far released numbers are from the original ones, cells that were missing before left out (0, not ``known``).

    ``released`` is per released row, ``suppressed`` per record of which nothing was released; a suppressed cell stands at the
    mean. ``top`` are the errors of all original records if everything were suppressed.
    """

    released: NDArray[np.float64]
    suppressed: NDArray[np.float64]
    top: NDArray[np.float64]
    known: int
    deviation: float
    span: float


def errors(pair: Pair, name: str) -> Errors:
    """The errors of a column, worked out once."""
    if ("errors", name) not in pair.memo:
        pair.memo["errors", name] = _errors(pair, name)
    found: Errors = pair.memo["errors", name]
    return found


def originals(pair: Pair, name: str) -> NDArray[np.float64]:
    """Per released row the number its record had before; NaN where there was none.

    By the pair of value and label where there are few: reading the original rows in the order of the release takes longer.
    """
    both = numbers(pair, name)
    if name not in pair.released.columns or plainly_numeric(pair, name):
        return both.before[pair.rows]
    joint, reading = pair.joint(name), pair.reading(name)
    return reading.places[joint.value][joint.which] if len(joint.value) else np.zeros(0)


def _errors(pair: Pair, name: str) -> Errors:
    both = numbers(pair, name)
    there = both.before[~np.isnan(both.before)]
    mean = float(there.mean()) if len(there) else 0.0
    truth = originals(pair, name)
    released = np.where(np.isnan(both.after), mean, both.after) - truth
    top = mean - both.before
    lost = top[gone(pair)]
    return Errors(
        np.where(np.isnan(released), 0.0, released),
        np.where(np.isnan(lost), 0.0, lost),
        np.where(np.isnan(top), 0.0, top),
        int((~np.isnan(truth)).sum() + (~np.isnan(lost)).sum()),
        float(there.std(ddof=1)) if len(there) > 1 else 0.0,
        float(there.max() - there.min()) if len(there) else 0.0,
    )


def why_no_numbers(pair: Pair, columns: Sequence[str], asked: Sequence[str] | None) -> str | None:
    """The reason a metric of numbers does not apply, or None; columns asked for by name must hold numbers."""
    if not records_of(pair):
        return EMPTY
    if not columns:
        return "no column holds numbers; say which columns to look at"
    if asked is not None:
        for name in quasi_of(pair, asked):
            numbers(pair, name)
    return None
