"""Numbers as they are written: exact, whatever their size, on one axis of whole steps."""

from __future__ import annotations

import re

Exact = tuple[int, int]
"""``(m, e)`` stands for m · 10^e."""

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?"
_PARTS = re.compile(r"([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,4}))?", re.ASCII)
LONGEST = 400
"""Digits and powers of ten beyond this do not come from measurements; a float has no more than 309."""


def exact(text: str) -> Exact | None:
    """Read a decimal number without rounding, or return None.

    >>> exact("20.50"), exact("1e3"), exact("1_000"), exact("nan")
    ((205, -1), (1, 3), None, None)
    """
    text = text.strip()
    parts = _PARTS.fullmatch(text) if len(text) <= LONGEST else None
    if parts is None:
        return None
    sign, whole, fraction, power = parts.groups()
    fraction = fraction.rstrip("0")
    exponent = int(power or 0) - len(fraction)
    if abs(exponent) > LONGEST:
        return None
    return int(f"{sign}{whole}{fraction}") if whole or fraction else 0, exponent


def on_axis(number: Exact, digits: int) -> int:
    """The position of a number on an axis with steps of 10^−digits, which must be fine enough for it."""
    mantissa, exponent = number
    return mantissa * int(10 ** (exponent + digits))


def written(position: int, digits: int) -> str:
    """A position as a plain decimal number.

    >>> written(2050, 2), written(-5, 1), written(20, 0)
    ('20.5', '-0.5', '20')
    """
    whole, rest = divmod(abs(position), 10**digits)
    fraction = str(rest).zfill(digits).rstrip("0") if rest else ""
    return f"{'-' if position < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"
