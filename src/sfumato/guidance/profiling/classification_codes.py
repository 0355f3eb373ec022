"""Columns that hold codes of a public classification: offered where the values fit, and never by
accident.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.core import registry
from sfumato.core.fields import Document
from sfumato.core.words import percent

# Share of the distinct values that must be codes.
FITTING = 0.95
# No classification has more codes that occur.
MOST_VALUES = 20_000
OTHER = "other"


@dataclasses.dataclass(frozen=True)
class CodeEvidence:
    """When values that fit are taken for codes.

    ``name_pattern``: words of the column's name with which ``least_named`` distinct values are
    enough, if ``plausible`` says that they look like it at all. ``telling`` says of values by
    themselves that nothing else looks so; ``min_codes`` of them are needed then.
    """

    of: str
    name_pattern: re.Pattern[str]
    plausible: Callable[[Sequence[str]], bool]
    telling: Callable[[Sequence[str]], bool]
    min_codes: int
    least_named: int = 2

    def speaks(self, name: str, codes: Sequence[str]) -> bool:
        """Whether these codes in a column of this name are more than an accident."""
        if self.calls(name) and len(codes) >= self.least_named and self.plausible(codes):
            return True
        return len(codes) >= self.min_codes and self.telling(codes)

    def calls(self, name: str) -> bool:
        """Whether the name of the column says so."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
        return self.name_pattern.search(spaced) is not None


def _share(pattern: str, min_share: float) -> Callable[[Sequence[str]], bool]:
    """Whether that share of the codes is written so."""
    form = re.compile(pattern, re.ASCII)
    return lambda codes: (
        sum(form.fullmatch(code) is not None for code in codes) >= max(1, min_share * len(codes))
    )


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{'|'.join(words)})")


def _never(codes: Sequence[str]) -> bool:
    return False


def _always(codes: Sequence[str]) -> bool:
    return True


def _several_countries(codes: Sequence[str]) -> bool:
    """Units of three countries at least: letters and digits alone are also numbers of rooms and
    parts.
    """
    return len({code[:2] for code in codes}) >= 3 and _share(r"[A-Z]{2}[0-9A-Z]{2,3}", 0.8)(codes)


def _leading_zeros(codes: Sequence[str]) -> bool:
    """Classes that no price looks like: 01.11, or with the letter of their section."""
    return _share(r"[A-U]?\d\d\.?\d\d", 0.5)(codes) and _share(r"0\d\.\d\d|[A-U]\d\d\.?\d\d", 0.01)(
        codes
    )


EVIDENCE = (
    CodeEvidence(
        "icd10",
        _words("icd", "diag", "dx", "cause of death", "cause_of_death", "underlying cause"),
        _share(r"[A-Z]\d\d.*", 0.5),
        _share(r"[A-Z]\d\d\.\d{1,2}", 0.5),
        min_codes=10,
    ),
    CodeEvidence("isco08", _words("isco"), _share(r"\d{3,4}", 0.5), _never, min_codes=0),
    CodeEvidence(
        "isco08",
        _words("occup", "job", "profession"),
        _share(r"\d{4}", 0.9),
        _never,
        min_codes=0,
        least_named=20,
    ),
    CodeEvidence("nace", _words("nace"), _always, _leading_zeros, min_codes=10),
    CodeEvidence(
        "nace",
        _words("industry", "activity"),
        _share(r"\d\d\.\d\d|[A-U]\d\d\.?\d\d", 0.5),
        _never,
        min_codes=0,
    ),
    CodeEvidence(
        "nuts", _words("nuts"), _share(r"[A-Z]{2}[0-9A-Z]+", 0.5), _several_countries, min_codes=10
    ),
    CodeEvidence("isced", _words("isced"), _always, _share(r"(ED|ISCED ?)\d", 1.0), min_codes=3),
    CodeEvidence(
        "countries",
        _words("countr", "nation", "citizen", "birthplace", "origin", "iso"),
        _share(r"[A-Z]{2,3}", 0.9),
        _share(r"[A-Z]{2,3}", 0.9),
        min_codes=12,
    ),
    CodeEvidence("countries", _words("countr"), _always, _share(r"[A-Z]{3}", 0.9), min_codes=5),
    CodeEvidence(
        "us_states",
        _words("state", "usps"),
        _share(r"[A-Z][A-Za-z ]+", 0.9),
        _share(r"[A-Z]{2}", 0.9),
        min_codes=5,
    ),
    CodeEvidence(
        "us_states", _words("state"), _always, _share(r"[A-Z][a-z]+( [A-Za-z]+)*", 0.9), min_codes=3
    ),
)


@dataclasses.dataclass(frozen=True)
class Offer:
    """A classification in recipe syntax and the reason for it."""

    hierarchy: Document
    reason: str


def classified(name: str, labels: Sequence[str], *, numbers: bool) -> Offer | None:
    """The one classification that the values of a column are codes of; None without one, and where
    two would do.

    ``numbers``: the column is read as numbers, whose zeros may be lost.

    >>> classified(
    ...     "x",
    ...     [
    ...         "I21.4",
    ...         "I21.0",
    ...         "J45.9",
    ...         "E11.9",
    ...         "F32.1",
    ...         "K35.8",
    ...         "C50.9",
    ...         "A09.0",
    ...         "N39.0",
    ...         "M54.5",
    ...     ],
    ...     numbers=False,
    ... ).hierarchy
    {'classification': {'of': 'icd10'}}
    >>> classified("grade", ["A", "B", "C"], numbers=False)
    """
    if not labels or len(labels) > MOST_VALUES:
        return None
    every = sorted(labels)
    speaking = [
        evidence for evidence in EVIDENCE if _fit(evidence.of, every, numbers=numbers) >= FITTING
    ]
    speaking = [
        evidence for evidence in speaking if evidence.speaks(name, _codes(evidence.of, every))
    ]
    names_of_schemes = {evidence.of for evidence in speaking}
    if len(names_of_schemes) > 1:  # two-letter codes may be states and countries: only a name tells
        names_of_schemes = {evidence.of for evidence in speaking if evidence.calls(name)}
    if len(names_of_schemes) == 1 and not _also(names_of_schemes, name, every):
        return _offer(names_of_schemes.pop(), every)
    return None


def _also(names_of_schemes: set[str], name: str, every: Sequence[str]) -> bool:
    """Whether the values fit another classification just as well, and the name does not say which
    it is.
    """
    (of,) = names_of_schemes
    if of not in ("countries", "us_states") or any(e.calls(name) for e in EVIDENCE if e.of == of):
        return False
    rival = "us_states" if of == "countries" else "countries"
    return _fit(rival, every, numbers=False) >= FITTING


def _fit(of: str, labels: Sequence[str], *, numbers: bool) -> float:
    """Share of the values that are codes or groups; 0 where numbers may have lost their zeros."""
    hierarchy = _hierarchy(of)
    if numbers and hierarchy.too_short(labels):
        return 0.0
    return 1.0 - float(hierarchy.uncovered(labels)) / len(labels)


def _codes(of: str, labels: Sequence[str]) -> list[str]:
    hierarchy = _hierarchy(of)
    return [label for label in labels if not hierarchy.uncovered([label])]


def _hierarchy(of: str) -> Any:
    return registry.build("hierarchies", {"classification": {"of": of}})


def _offer(of: str, labels: Sequence[str]) -> Offer:
    hierarchy = _hierarchy(of)
    unknown = hierarchy.uncovered(labels)
    document = hierarchy.scheme.document
    if not unknown:
        return Offer({"classification": {"of": of}}, f"all values are codes of {document}")
    share = f"{percent((len(labels) - unknown) / len(labels))}"
    return Offer(
        {"classification": {"of": of, "other": OTHER}},
        f"{share} of the distinct values are codes of {document}; the others stand under {OTHER}",
    )
