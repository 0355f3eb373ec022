"""Round interval widths for a column of numbers."""

from __future__ import annotations

from decimal import Decimal

INTERVALS = 20
"""About how many intervals the finest level has."""

MOST_LEVELS = 4


def nice_at_least(number: Decimal) -> Decimal:
    """The least number of the series 1, 2, 5, 10, 20, 50, … that is not smaller.

    >>> nice_at_least(Decimal("3.65")), nice_at_least(Decimal("0.02")), nice_at_least(Decimal("51"))
    (Decimal('5'), Decimal('0.02'), Decimal('1.0E+2'))
    """
    power = Decimal(1).scaleb(number.adjusted())
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= number)


def coarser_widths(width: Decimal, spread: Decimal) -> list[Decimal]:
    """Widths above one: round, each a multiple of the one before, none over half of the spread.

    >>> [int(width) for width in coarser_widths(Decimal(5), Decimal(80))]
    [10, 20]
    """
    widths: list[Decimal] = []
    while len(widths) < MOST_LEVELS - 1:
        width = _next_width(width)
        if width * 2 > spread:
            break
        widths.append(width)
    return widths


def _next_width(width: Decimal) -> Decimal:
    """The least round multiple of a width; twice the width where it is not round itself."""
    power = Decimal(1).scaleb(width.adjusted())
    rounds = (digit * power for digit in (2, 5, 10, 20, 50, 100))
    return next((n for n in rounds if n >= 2 * width and n % width == 0), 2 * width)


def widths_for(spread: float, *, whole: bool) -> list[int | float]:
    """Nested widths for numbers that spread over a range; whole numbers start with 2; [] if there is no range.

    >>> widths_for(73, whole=True), widths_for(9, whole=True), widths_for(0.8, whole=False), widths_for(1, whole=True)
    ([5, 10, 20], [2], [0.05, 0.1, 0.2], [])
    """
    if not spread > 0 or spread == float("inf"):
        return []
    exact = Decimal(repr(float(spread)))
    finest = nice_at_least(exact / INTERVALS)
    finest = max(finest, Decimal(2)) if whole else finest
    if finest * 2 > exact:
        return []
    return [plain_number(width) for width in (finest, *coarser_widths(finest, exact))]


def plain_number(number: Decimal) -> int | float:
    """A number as a recipe writes it.

    >>> plain_number(Decimal("1E+2")), plain_number(Decimal("0.50"))
    (100, 0.5)
    """
    return int(number) if number == number.to_integral_value() else float(number)
