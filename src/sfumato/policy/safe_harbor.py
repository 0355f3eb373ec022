"""The numeric part of HIPAA's Safe Harbor, checked on the values that are released.

45 CFR 164.514(b)(2)(i)(B) and (C). The three-digit areas with 20,000 people or fewer are those of the guidance of the Office for
Civil Rights of 26 November 2012, after the census of 2000; later censuses have others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.encoding import encode
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset

SMALL_AREAS = frozenset(
    [
        "036",
        "059",
        "063",
        "102",
        "203",
        "556",
        "692",
        "790",
        "821",
        "823",
        "830",
        "831",
        "878",
        "879",
        "884",
        "890",
        "893",
    ]
)
OLDEST = 89
YEARS = re.compile(r"\D*\d{4}(\D+\d{4})?\D*")
HARMLESS = re.compile(r"\b(to|and|or|until|before|after|earlier|later|since|bis|vor|nach|ab)\b", re.IGNORECASE)
ZIP = re.compile(r"(\d*)([*xX.]*)")
ZIP_DIGITS, AREA_DIGITS = 5, 3
Labels = Mapping[str, int]


def check_numbers(
    dataset: Dataset, columns: Mapping[str, Sequence[str]], dropped: Sequence[str] | None = None
) -> list[str]:
    """Reasons why ages, ZIP codes or dates are too fine: ``columns`` says which columns are ``age``, ``zip`` and ``date``.

    ``dropped`` are columns of the original that are not released; with it, a name that neither has is a reason too.
    """
    unknown = [kind for kind in columns if kind not in CHECKS]
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is no kind of number that has a rule.{did_you_mean(unknown[0], CHECKS)}")
    named = [(kind, column) for kind, names in columns.items() for column in names]
    if not named:
        return ["say which columns are ages, ZIP codes and dates; without that nothing can be checked"]
    told = []
    for kind, column in named:
        if column not in dataset.columns:  # what is not released is not too fine, but a wrong name hides what is
            if dropped is not None and column not in dropped:
                told.append(f"there is no column {column!r}, neither released nor dropped; nothing was checked for it")
            continue
        encoded = encode(dataset.column(column))
        labels = {v: c for v, c in zip(encoded.labels, encoded.counts.tolist(), strict=True) if v is not None}
        if kind == "zip" and dataset.column(column).dtype.is_numeric():
            labels = {v.zfill(AREA_DIGITS): c for v, c in labels.items()}  # numbers have lost the zeros in front
        count, what = CHECKS[kind](labels)
        if count:
            told.append(f"column {column!r}: {count:,} values {what}")
    return told


def _ages(labels: Labels) -> tuple[int, str]:
    """Ages over 89 must be one category, and not a single age.

    >>> _ages({"89": 3, "90+": 2})[0], _ages({"95": 1})[0], _ages({"90-94": 1, "95+": 2})[0]
    (0, 1, 3)
    """
    old = {label: n for label, n in labels.items() if any(int(d) > OLDEST for d in re.findall(r"\d+", label))}
    one_category = len(old) == 1 and re.fullmatch(r"\s*\d+(\.\d+)?\s*", next(iter(old))) is None
    return 0 if one_category else sum(old.values()), "tell an age over 89 apart from others over 89"


def _zips(labels: Labels) -> tuple[int, str]:
    """Three digits at most, and 000 for small areas; codes that lost their leading zeros as numbers get them back first.

    >>> _zips({"537**": 5, "*": 1, "000**": 2})[0], _zips({"53711": 1})[0], _zips({"036**": 4})[0]
    (0, 1, 4)
    >>> _zips({"36": 1, "537": 1})[0], _zips({"36**": 1})[0], _zips({"53": 1, "36": 1})[0]
    (1, 1, 0)
    """
    found = {label: ZIP.fullmatch(label.strip()) for label in labels}
    masked = max((len(m[0]) for m in found.values() if m and m[1] and m[2]), default=0)
    plain = max((len(m[1]) for m in found.values() if m and not m[2]), default=0)
    fine = 0
    for label, match in found.items():
        if match is None:
            fine += labels[label]
        elif match[1]:
            width = ZIP_DIGITS if masked > AREA_DIGITS else masked
            lost = (width if match[2] else min(plain, AREA_DIGITS)) - len(match[0])
            known = "0" * lost + match[1]
            fine += labels[label] * (len(known) > AREA_DIGITS or known in SMALL_AREAS)
    return fine, "keep more than three digits, or three of an area with 20,000 people or fewer"


def _dates(labels: Labels) -> tuple[int, str]:
    """Years, ranges of years, or nothing; a word that is not known may be a month.

    >>> _dates({"2020": 5, "[2010, 2015[": 1, "*": 2})[0], _dates({"2020-03": 1, "March 2020": 2})[0]
    (0, 3)
    """
    return sum(n for label, n in labels.items() if not _only_years(label)), "say more of a date than its year"


def _only_years(label: str) -> bool:
    if not re.search(r"\d", label):
        return True
    return YEARS.fullmatch(label) is not None and not re.search(r"[^\W\d_]", HARMLESS.sub("", label))


CHECKS: dict[str, Callable[[Labels], tuple[int, str]]] = {"age": _ages, "zip": _zips, "date": _dates}
