"""Rules between two columns of a record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator

from sfumato.core.pair import Pair
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RULE = re.compile(r"\s*(.+?)\s*(<=|>=|!=|<|>|=)\s*(.+?)\s*")


def _checked(rule: str) -> str:
    if _RULE.fullmatch(rule) is None:
        raise ValueError("a rule is two columns with one of < <= = != >= > between them, like 'born <= died'")
    return rule


Rule = Annotated[str, AfterValidator(_checked)]
"""``column operator column``."""


def columns_of(rule: str) -> tuple[str, str]:
    """The two columns of a rule.

    >>> columns_of("born <= died")
    ('born', 'died')
    """
    left, _, right = _parts(rule)
    return left, right


def _parts(rule: str) -> tuple[str, str, str]:
    found = _RULE.fullmatch(rule)
    return (found[1], found[2], found[3]) if found else (rule, "=", rule)


def holds(pair: Pair, rule: str, side: Literal["original", "released"]) -> NDArray[np.bool_]:
    """Per row of one side whether the rule can hold."""
    import numpy as np

    left, operator, right = _parts(rule)
    rows = len(pair.original) if side == "original" else len(pair.rows)
    if side == "released" and not {left, right} <= set(pair.released.columns):
        return np.zeros(rows, dtype=bool)
    one, other = _reach(pair, left, side), _reach(pair, right, side)
    if one is None or other is None:
        return _same(pair, rule, side)
    low, high = one
    least, most = other
    if operator in (">", ">="):
        low, high, least, most = least, most, low, high
    possible = {
        "<": low < most, ">": low < most, "<=": low <= most, ">=": low <= most,
        "=": (low <= most) & (least <= high), "!=": ~((low == high) & (least == most) & (low == least)),
    }[operator]  # fmt: skip
    there = ~(np.isnan(low) | np.isnan(least))
    return np.asarray(there & possible, dtype=bool)


def _reach(
    pair: Pair, name: str, side: Literal["original", "released"]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """From where to where on the line each cell reaches; None for categories, NaN for missing and suppressed ones."""
    import numpy as np

    if side == "original":  # a column of a rule may not have been released
        pair = pair.memo.setdefault("itself", Pair.of(pair.original, pair.original))
    reading = pair.reading(name)
    if reading.scale == "category":
        return None
    hidden = np.where(reading.everything, np.nan, 0.0)
    return (reading.low + hidden)[reading.released], (reading.high + hidden)[reading.released]


def _same(pair: Pair, rule: str, side: Literal["original", "released"]) -> NDArray[np.bool_]:
    """Rules between categories: equal or not, by their labels."""
    import numpy as np
    import polars as pl

    left, operator, right = _parts(rule)
    if operator not in ("=", "!="):
        raise SchemaError(
            f"consistency: {left!r} and {right!r} are not both numbers, dates or ordered values; use = or !="
        )
    table = pair.original if side == "original" else pair.released
    one, other = table.column(left).cast(pl.String), table.column(right).cast(pl.String)
    there = (one.is_not_null() & other.is_not_null() & (one != "*") & (other != "*")).fill_null(value=False)
    same = (one == other) if operator == "=" else (one != other)
    return np.asarray((there & same.fill_null(value=False)).to_numpy(), dtype=bool)
