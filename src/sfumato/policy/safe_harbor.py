"""The numeric part of HIPAA's Safe Harbor, checked on the values that are released: 45 CFR
164.514(b)(2)(i)(B) and (C).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.data_files import read_data_file
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from sfumato.core.table import Table

# Military mail: no census counts people there. Areas of single offices are not listed and not
# recognised.
WITHOUT_RESIDENTS = frozenset(f"{area:03d}" for area in (*range(90, 99), 340, *range(962, 967)))


@functools.cache
def small_areas() -> frozenset[str]:
    """Areas whose three digits are not released: few people live there, or nobody is counted.

    The rule asks for current census data. The lists of 2000 and of 2020 both count: the first is
    what the guidance prints, the second is newer.
    """
    areas = (
        area for entry in read_data_file(__package__, "small_areas") for area in entry["areas"]
    )
    return WITHOUT_RESIDENTS.union(areas)


OLDEST = 89
YEARS = re.compile(r"\D*\d{4}(\D+\d{4})?\D*")
HARMLESS = re.compile(
    r"\b(to|and|or|until|before|after|earlier|later|since|bis|vor|nach|ab)\b", re.IGNORECASE
)
ZIP = re.compile(r"(\d*)([*xX.]*)")
ZIP_DIGITS, AREA_DIGITS = 5, 3
Labels = Mapping[str, int]


def check_numbers(
    dataset: Table,
    columns: Mapping[str, Sequence[str]],
    dropped: Sequence[str] | None = None,
    *,
    year: int,
) -> list[str]:
    """Reasons why ages, ZIP codes or dates are too fine: ``columns`` says which columns are
    ``age``, ``zip`` and ``date``.

    ``dropped`` are columns of the original that are not released; with it, a name that neither has
    is a reason too. ``year`` is the current one: whoever was alive ninety years before is over 89.
    """
    unknown = [kind for kind in columns if kind not in CHECKS]
    if unknown:
        raise ParameterError(
            f"{unknown[0]!r} is not a kind of number with a rule.{did_you_mean(unknown[0], CHECKS)}"
        )
    named_columns = [(kind, column) for kind, names in columns.items() for column in names]
    if not named_columns:
        return [
            (
                "name the columns that are ages, ZIP codes and dates; without that nothing "
                "can be checked"
            )
        ]
    broken = []
    for kind, column in named_columns:
        if (
            column not in dataset.columns
        ):  # what is not released is not too fine, but a wrong name hides what is
            if dropped is not None and column not in dropped:
                broken.append(
                    f"column {column!r} does not exist, neither released nor dropped, so nothing "
                    "was checked for it; correct the name"
                )
            continue
        encoded = dataset.encoded(column)
        labels = {
            v: c
            for v, c in zip(encoded.labels, encoded.counts.tolist(), strict=True)
            if v is not None
        }
        if kind == "zip" and dataset.dtype(column).is_numeric():
            labels = {
                v.zfill(AREA_DIGITS): c for v, c in labels.items()
            }  # numbers have lost the zeros in front
        for count, problem in CHECKS[kind](labels, year):
            if count:
                broken.append(f"column {column!r}: {count:,} values {problem}")
    return broken


# Labels of numbers: which numbers a label may stand for.

_NUMBER = r"(\d+(?:\.\d+)?)"
_UP = re.compile(
    r"(?:(?P<above>>|over|above|more than|older than|after|über|nach)|(?P<from>>=|≥|from|at"
    rf" least|since|ab))\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:\+|plus"
    r"|(?:and|or|und|oder)\s+(?:over|older|above|more|later|älter|mehr|später))"
    rf"|[\[(\]]\s*{_NUMBER}\s*[,;]\s*\+?(?:inf|infinity|∞)?\s*[)\]\[]",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"(?:(?P<below><|under|below|less than|younger than|before|earlier"
    rf" than|unter|vor)|(?P<to><=|≤|up to|at most|until|bis))\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:(?:and|or|und|oder)"
    r"\s+(?:under|younger|below|less|before|earlier|jünger|früher))"
    rf"|[\[(\]]\s*-?(?:inf|infinity|∞)\s*[,;]\s*{_NUMBER}\s*(?P<end>[)\]\[])",
    re.IGNORECASE,
)
_HALF_OPEN = re.compile(rf"\s*[\[(\]]\s*{_NUMBER}\s*[,;]\s*{_NUMBER}\s*(?P<end>[)\[])\s*")


def span_of(label: str) -> tuple[float, float] | None:
    """The least and the largest whole number that a label may stand for; None where no number is in
    it.

    >>> (
    ...     span_of("90+"),
    ...     span_of("> 89"),
    ...     span_of("85-94"),
    ...     span_of("[80, 90)"),
    ...     span_of("before 1937"),
    ...     span_of("*"),
    ... )
    ((90.0, inf), (90.0, inf), (85.0, 94.0), (80.0, 89.0), (-inf, 1936.0), None)
    """
    text = label.strip()
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
    if not numbers:
        return None
    if match := _UP.fullmatch(text):
        return math.floor(numbers[0]) + 1.0 if match["above"] else numbers[0], math.inf
    if match := _DOWN.fullmatch(text):
        excluded = match["below"] or match["end"] in (")", "[")
        return -math.inf, math.ceil(numbers[0]) - 1.0 if excluded else numbers[0]
    if _HALF_OPEN.fullmatch(text):
        return numbers[0], math.ceil(numbers[1]) - 1.0
    return min(numbers), max(numbers)


def _ages(labels: Labels, year: int) -> list[tuple[int, str]]:
    """Ages over 89 must be one category without an upper end, which begins at 90 or below.

    >>> [
    ...     _ages(labels, 2026)[0][0]
    ...     for labels in (
    ...         {"89": 3, "90+": 2},
    ...         {"95": 1},
    ...         {"90-94": 1, "95+": 2},
    ...         {"85-94": 4},
    ...         {"95+": 5},
    ...     )
    ... ]
    [0, 1, 3, 4, 5]
    """
    old = {
        label: n
        for label, n in labels.items()
        if (span := span_of(label)) is not None and span[1] > OLDEST
    }
    return [
        (_apart(old, together=_begins_in_time), "distinguish an age over 89 from others over 89")
    ]


def _begins_in_time(span: tuple[float, float]) -> bool:
    return span[1] == math.inf and span[0] <= OLDEST + 1


def _apart(labels: Labels, *, together: Callable[[tuple[float, float]], bool]) -> int:
    """Records whose label tells them apart from others: all of them, unless there is one label, and
    it takes all together.
    """
    if len(labels) == 1:
        span = span_of(next(iter(labels)))
        if span is not None and together(span):
            return 0
    return sum(labels.values())


def _zips(labels: Labels, year: int) -> list[tuple[int, str]]:
    """Three digits at most, and 000 for small areas; codes that lost their leading zeros as numbers
    get them back first.

    >>> [
    ...     _zips(labels, 2026)[0][0]
    ...     for labels in (
    ...         {"537**": 5, "*": 1, "000**": 2},
    ...         {"53711": 1},
    ...         {"036**": 4},
    ...         {"205**": 3},
    ...     )
    ... ]
    [0, 1, 4, 3]
    >>> [
    ...     _zips(labels, 2026)[0][0]
    ...     for labels in ({"36": 1, "537": 1}, {"36**": 1}, {"53": 1, "36": 1})
    ... ]
    [1, 1, 0]
    """
    matches = {label: ZIP.fullmatch(label.strip()) for label in labels}
    masked = max((len(m[0]) for m in matches.values() if m and m[1] and m[2]), default=0)
    plain = max((len(m[1]) for m in matches.values() if m and not m[2]), default=0)
    fine = 0
    for label, match in matches.items():
        if match is None:
            fine += labels[label]
        elif match[1]:
            width = ZIP_DIGITS if masked > AREA_DIGITS else masked
            lost = (width if match[2] else min(plain, AREA_DIGITS)) - len(match[0])
            digits = "0" * lost + match[1]
            fine += labels[label] * (len(digits) > AREA_DIGITS or digits in small_areas())
    return [(fine, "keep more than three digits, or three of an area with 20,000 people or fewer")]


def _dates(labels: Labels, year: int) -> list[tuple[int, str]]:
    """Years, ranges of years, or nothing; a word that is not known may be a month. Years that show
    an age over 89 are put together.

    >>> [
    ...     [count for count, _ in _dates(labels, 2026)]
    ...     for labels in ({"2020": 5, "[2010, 2015[": 1, "*": 2}, {"2020-03": 1, "March 2020": 2})
    ... ]
    [[0, 0], [3, 0]]
    >>> [
    ...     _dates(labels, 2026)[1][0]
    ...     for labels in ({"1920": 1, "1931": 2}, {"before 1937": 3, "1950": 1}, {"1930-1939": 4})
    ... ]
    [3, 0, 4]
    """
    fine = {label: n for label, n in labels.items() if not _only_years(label)}
    last = (
        year - OLDEST - 1
    )  # who was alive in this year is over 89, or becomes 90 in the current one
    old = {
        label: n
        for label, n in labels.items()
        if label not in fine and (span := span_of(label)) is not None and span[0] <= last
    }
    apart = _apart(old, together=lambda span: span[0] == -math.inf and span[1] >= last)
    return [
        (sum(fine.values()), "give more of a date than its year"),
        (apart, "show a year that distinguishes an age over 89 from others over 89"),
    ]


def _only_years(label: str) -> bool:
    if not re.search(r"\d", label):
        return True
    return YEARS.fullmatch(label) is not None and not re.search(
        r"[^\W\d_]", HARMLESS.sub("", label)
    )


CHECKS: dict[str, Callable[[Labels, int], list[tuple[int, str]]]] = {
    "age": _ages,
    "zip": _zips,
    "date": _dates,
}
