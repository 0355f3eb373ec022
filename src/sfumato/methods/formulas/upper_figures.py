"""Numbers in sentences that say "at most" or "above": rounded so that the sentence stays true."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

NOISE = 12
"""Digits beyond these are noise of floating point, which is not rounded up."""


def upper_figure(value: float, digits: int) -> str:
    """A number with so many digits that is never below the one given.

    >>> (
    ...     upper_figure(1.00003, 4),
    ...     upper_figure(100 / 3, 3),
    ...     upper_figure(0.1, 4),
    ...     upper_figure(1250, 4),
    ... )
    ('1.001', '33.4', '0.1', '1250')
    """
    written = Decimal(f"{value:.{NOISE}g}")
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(written)
    return f"{float(rounded):.{digits}g}"
