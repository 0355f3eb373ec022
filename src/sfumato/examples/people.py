"""Draws of people: who they are, where they live, what they do and what they suffer from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.examples.vocabulary import (
    CHAPTERS,
    DELIVERY_ENDINGS,
    DISTRICTS,
    ENDINGS,
    FAMILY_ENDINGS,
    FAMILY_MIDDLES,
    FAMILY_ONSETS,
    MAIL_DOMAINS,
    MARITAL,
    MARITAL_BY_AGE,
    MIDDLES,
    NATIONALITIES,
    OCCUPATIONS,
    ONSETS,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.examples.draws import Draws

    Words = NDArray[np.object_]
    Whole = NDArray[np.int64]

SCHOOL_AGE, ADULT, GRADUATE, PENSION = 6, 18, 25, 66
GRADUATES = ["Physician", "Pharmacist", "Lawyer", "Teacher", "Researcher", "Manager"]
SEXES = ("female", "male", "diverse")
AGE_SHARES = ((5, 6), (15, 4), (25, 8), (40, 19), (55, 18), (70, 22), (85, 20), (100, 3))
"""Upper end of an age band and its share among hospital patients."""


def words(values: Sequence[str], codes: Whole) -> Words:
    """Look the codes up."""
    import numpy as np

    return np.array(values, dtype=object)[codes]


def with_gaps(draws: Draws, values: Any, share: float) -> list[Any]:
    """The values as a list, a share of them missing."""
    gaps = draws.chance(len(values), share)
    return [None if gap else value for value, gap in zip(values.tolist(), gaps, strict=True)]


def ages(draws: Draws, size: int) -> Whole:
    """Ages of hospital patients: newborns, few children, many above 55."""
    import numpy as np

    tops = np.array([top for top, _ in AGE_SHARES])
    bottoms = np.concatenate([[0], tops[:-1]])
    band = draws.pick(size, [share for _, share in AGE_SHARES])
    within = draws.uniform(size) * np.where(band == len(tops) - 1, draws.uniform(size), 1.0)  # ever fewer above 85
    found: Whole = bottoms[band] + np.floor(within * (tops - bottoms)[band]).astype(np.int64)
    return found


def sexes(draws: Draws, size: int) -> Words:
    """Sex as registered."""
    return words(SEXES, draws.pick(size, (525, 470, 5)))


def postcodes(draws: Draws, size: int) -> tuple[Words, NDArray[np.float64]]:
    """Five-digit codes, most from four districts with a leading zero, and the share of foreigners there."""
    import numpy as np

    district = draws.pick(size, [share for _, share, _ in DISTRICTS])
    third = words([str(digit) for digit in range(10)], draws.pick(size, [(1 + digit) ** -1.6 for digit in range(10)]))
    ending = words(DELIVERY_ENDINGS, draws.pick(size, [1 / (1 + place) for place in range(len(DELIVERY_ENDINGS))]))
    codes = words([digits for digits, _, _ in DISTRICTS], district) + third + ending
    return codes, np.array([foreign for _, _, foreign in DISTRICTS])[district]


def nationalities(draws: Draws, foreign: NDArray[np.float64]) -> Words:
    """German, or with the share of the place another nationality."""
    import numpy as np

    names, weights = _flat(NATIONALITIES)
    other = words(names, draws.pick(len(foreign), weights))
    return np.where(draws.chance(len(foreign), foreign), other, "German").astype(object)


def marital(draws: Draws, age: Whole) -> Words:
    """Marital status, which depends on the age."""
    import numpy as np

    tops = np.array([top for top, _ in MARITAL_BY_AGE])
    weights = np.array([shares for _, shares in MARITAL_BY_AGE], dtype=np.float64)
    band = np.searchsorted(tops, age, side="right")
    return words([status for statuses in MARITAL.values() for status in statuses], draws.pick_each(weights[band]))


def occupations(draws: Draws, age: Whole) -> Words:
    """Occupation: by age a child, a pupil, a student or retired; otherwise one of the trades."""
    import numpy as np

    names, weights = _flat(OCCUPATIONS)
    working = words(names, draws.pick(len(age), weights))
    working = np.where((age < GRADUATE) & np.isin(working, GRADUATES), "Shop assistant", working)
    luck = draws.uniform(len(age))
    rules = [
        age < SCHOOL_AGE,
        age < ADULT,
        (age < 25) & (luck < 0.45),
        (age >= PENSION) & (luck < 0.94),
        (age >= 60) & (luck < 0.3),
    ]
    return np.select(rules, ["Below school age", "Pupil", "Student", "Retired", "Retired"], working).astype(object)


def diagnoses(draws: Draws, age: Whole, sex: Words) -> Whole:
    """Position of the diagnosis in :func:`catalogue`: its share, likelier near its age and in its sex."""
    import numpy as np

    known = [diagnosis for _, diagnosis in catalogue()]
    share, centre, spread, female = (np.array([d[i] for d in known]) for i in (1, 2, 3, 4))
    near = np.exp(-0.5 * ((age[:, None] - centre) / spread) ** 2) / spread
    is_female, is_male = (sex == "female")[:, None], (sex == "male")[:, None]
    by_sex = np.where(is_female, female, np.where(is_male, 1 - female, np.minimum(female, 1 - female)))
    return draws.pick_each(share * near * by_sex + 1e-12)


def catalogue() -> list[tuple[str, Any]]:
    """All diagnoses with their wards, chapter by chapter."""
    return [(ward, diagnosis) for ward, members in CHAPTERS.values() for diagnosis in members]


def stays(draws: Draws, kind: Whole, age: Whole) -> tuple[Whole, NDArray[np.float64]]:
    """Days in hospital and the cost in euros: longer and dearer with age, with a long tail."""
    import numpy as np

    mean = np.array([diagnosis.days for _, diagnosis in catalogue()])[kind] * (0.7 + age / 160)
    base = np.array([diagnosis.cost for _, diagnosis in catalogue()])[kind]
    days = np.clip(np.floor(-np.log1p(-draws.uniform(len(kind))) * mean), 0, 120).astype(np.int64) + 1
    cost = base * (0.55 + 0.45 * days / (mean + 1)) * np.exp(0.22 * draws.bell(len(kind)))
    return days, np.round(cost, 2)


def given_names(draws: Draws, sex: Words) -> Words:
    """Given names put together from syllables."""
    import numpy as np

    size = len(sex)
    start = words(ONSETS, draws.whole(size, 0, len(ONSETS) - 1)) + words(
        MIDDLES, draws.whole(size, 0, len(MIDDLES) - 1)
    )
    ends = {key: words(values, draws.whole(size, 0, len(values) - 1)) for key, values in ENDINGS.items()}
    found: Words = start + np.where(sex == "female", ends["female"], ends["male"])
    return found


def family_names(draws: Draws, size: int) -> Words:
    """Family names put together from syllables."""
    parts = [words(p, draws.whole(size, 0, len(p) - 1)) for p in (FAMILY_ONSETS, FAMILY_MIDDLES, FAMILY_ENDINGS)]
    found: Words = parts[0] + parts[1] + parts[2]
    return found


def emails(draws: Draws, given: Words, family: Words) -> list[str]:
    """Addresses in the domains reserved for examples."""
    size = len(given)
    numbers = draws.whole(size, 1, 999).tolist()
    hosts = words(MAIL_DOMAINS, draws.whole(size, 0, len(MAIL_DOMAINS) - 1)).tolist()
    names = zip(given.tolist(), family.tolist(), numbers, hosts, strict=True)
    return [f"{first}.{last}{number}@{host}".lower() for first, last, number, host in names]


def insurance_numbers(draws: Draws, size: int) -> list[str]:
    """``SF`` and ten digits, the last a Luhn check digit; no two are the same, and no country uses the form."""
    start = int(draws.whole(1, 100_000_000, 499_999_999)[0])
    return [f"SF{number}{check_digit(str(number))}" for number in (start + 37 * draws.order(size)).tolist()]


def check_digit(digits: str) -> int:
    """Luhn's check digit.

    >>> check_digit("7992739871")
    3
    """
    doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(digits))]
    return -sum(value - 9 * (value > 9) for value in doubled) % 10


def _flat(groups: Mapping[str, Mapping[str, int]]) -> tuple[list[str], list[int]]:
    pairs = [(name, weight) for members in groups.values() for name, weight in members.items()]
    return [name for name, _ in pairs], [weight for _, weight in pairs]


def nested(groups: Mapping[str, Mapping[str, int]]) -> dict[str, list[str]]:
    """The groups as a tree: group name to list of names."""
    return {group: list(members) for group, members in groups.items()}


def diagnosis_tree() -> dict[str, list[str]]:
    """Chapters and their diagnoses as a tree."""
    return {chapter: [d.name for d in members] for chapter, (_, members) in CHAPTERS.items()}
