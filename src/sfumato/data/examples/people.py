"""Draws of people: who they are, where they live, what they do and what they suffer from."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.core.data_files import read_data_file
from sfumato.core.fields import Fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.examples.draws import PhiloxDraws

    Words = NDArray[np.object_]
    Whole = NDArray[np.int64]

# Few endings, so that codes are shared by many.
DELIVERY_ENDINGS = ("00", "05", "09", "12", "17", "23")
MAIL_DOMAINS = ("example.org", "example.com", "example.net")
"""Domains reserved for documentation (RFC 2606): a letter to them reaches nobody."""
SCHOOL_AGE, ADULT, GRADUATE, PENSION = 6, 18, 25, 66
GRADUATES = ["Physician", "Pharmacist", "Lawyer", "Teacher", "Researcher", "Manager"]
SEXES = ("female", "male", "diverse")
AGE_SHARES = ((5, 6), (15, 4), (25, 8), (40, 19), (55, 18), (70, 22), (85, 20), (100, 3))
"""Upper end of an age band and its share among hospital patients."""


class Diagnosis(NamedTuple):
    """How often a diagnosis occurs, in whom, for how long and at what cost."""

    chapter: str
    ward: str
    name: str
    share: float
    age: float
    spread: float
    female: float
    days: float
    cost: float


class AgeShares(NamedTuple):
    """How often each value of a list occurs among people below an age."""

    below_age: int
    weights: tuple[int, ...]


class District(NamedTuple):
    """First two digits of a postal code, its share of patients, and the foreign nationals there."""

    digits: str
    share: int
    foreign: float


@dataclasses.dataclass(frozen=True)
class HospitalWords:
    """What the values of the generated tables are drawn from."""

    diagnoses: tuple[Diagnosis, ...]
    occupations: Mapping[str, Mapping[str, int]]
    nationalities: Mapping[str, Mapping[str, int]]
    marital_statuses: Mapping[str, Sequence[str]]
    marital_status_by_age: tuple[AgeShares, ...]
    districts: tuple[District, ...]
    recognisable_patients: Sequence[Fields]


@functools.cache
def hospital_words() -> HospitalWords:
    """The words of the data file. Shares and costs are round numbers of a plausible size, made for
    these tables, not statistics.
    """
    lists = read_data_file(__package__, "hospital_words")
    by_age = [
        AgeShares(band["below_age"], tuple(band["weights"]))
        for band in lists["marital_status_by_age"]
    ]
    return HospitalWords(
        diagnoses=tuple(Diagnosis(*row) for row in lists["diagnoses"]["rows"]),
        occupations=lists["occupations"],
        nationalities=lists["nationalities"],
        marital_statuses=lists["marital_statuses"],
        marital_status_by_age=tuple(by_age),
        districts=tuple(District(**district) for district in lists["districts"]),
        recognisable_patients=lists["recognisable_patients"],
    )


def words(values: Sequence[str], codes: Whole) -> Words:
    """Look the codes up."""
    return np.array(values, dtype=object)[codes]


def with_gaps(draws: PhiloxDraws, values: Any, share: float) -> list[Any]:
    """The values as a list, a share of them missing."""
    # Drawn for all values at once: as many draws whatever is missing.
    gaps = draws.chance(len(values), share)
    return [None if gap else value for value, gap in zip(values.tolist(), gaps, strict=True)]


def ages(draws: PhiloxDraws, size: int) -> Whole:
    """Ages of hospital patients: newborns, few children, many above 55."""
    tops = np.array([top for top, _ in AGE_SHARES])
    bottoms = np.concatenate([[0], tops[:-1]])
    band = draws.pick(size, [share for _, share in AGE_SHARES])
    # Two factors in the last band make high ages rarer the higher they are.
    # ever fewer above 85
    within = draws.uniform(size) * np.where(band == len(tops) - 1, draws.uniform(size), 1.0)
    ages: Whole = bottoms[band] + np.floor(within * (tops - bottoms)[band]).astype(np.int64)
    return ages


def sexes(draws: PhiloxDraws, size: int) -> Words:
    """Sex as registered."""
    return words(SEXES, draws.pick(size, (525, 470, 5)))


def postcodes(draws: PhiloxDraws, size: int) -> tuple[Words, NDArray[np.float64]]:
    """Five-digit codes, most from four districts with a leading zero, and the share of foreigners
    there.
    """
    districts = hospital_words().districts
    district = draws.pick(size, [district_row.share for district_row in districts])
    third = words(
        [str(digit) for digit in range(10)],
        draws.pick(size, [(1 + digit) ** -1.6 for digit in range(10)]),
    )
    ending = words(
        DELIVERY_ENDINGS,
        # Shares fall with the place in the list, so some codes are common and some rare.
        draws.pick(size, [1 / (1 + district_row) for district_row in range(len(DELIVERY_ENDINGS))]),
    )
    codes = words([district_row.digits for district_row in districts], district) + third + ending
    return codes, np.array([district_row.foreign for district_row in districts])[district]


def nationalities(draws: PhiloxDraws, foreign: NDArray[np.float64]) -> Words:
    """German, or with the share of the place another nationality."""
    names, weights = _flat(hospital_words().nationalities)
    foreign_names = words(names, draws.pick(len(foreign), weights))
    return np.where(draws.chance(len(foreign), foreign), foreign_names, "German").astype(object)


def marital(draws: PhiloxDraws, age: Whole) -> Words:
    """Marital status, which depends on the age."""
    shares = hospital_words().marital_status_by_age
    tops = np.array([band.below_age for band in shares])
    weights = np.array([band.weights for band in shares], dtype=np.float64)
    band = np.searchsorted(tops, age, side="right")
    return words(flat_names(hospital_words().marital_statuses), draws.pick_each(weights[band]))


def occupations(draws: PhiloxDraws, age: Whole) -> Words:
    """Occupation: by age a child, a pupil, a student or retired; otherwise one of the trades."""
    names, weights = _flat(hospital_words().occupations)
    working = words(names, draws.pick(len(age), weights))
    # Nobody has a degree below this age.
    working = np.where((age < GRADUATE) & np.isin(working, GRADUATES), "Shop assistant", working)
    luck = draws.uniform(len(age))
    # In this order: the first rule that holds decides.
    rules = [
        age < SCHOOL_AGE,
        age < ADULT,
        (age < 25) & (luck < 0.45),
        (age >= PENSION) & (luck < 0.94),
        (age >= 60) & (luck < 0.3),
    ]
    return np.select(
        rules, ["Below school age", "Pupil", "Student", "Retired", "Retired"], working
    ).astype(object)


def diagnoses(draws: PhiloxDraws, age: Whole, sex: Words) -> Whole:
    """Position of the diagnosis in :func:`hospital_words`, likelier near its age and in its sex."""
    rows = hospital_words().diagnoses
    share, centre, spread, female = (
        np.array([getattr(row, field) for row in rows])
        for field in ("share", "age", "spread", "female")
    )
    # A bell around the typical age of each diagnosis; divided by its width, so that wide ones are
    # not preferred.
    near = np.exp(-0.5 * ((age[:, None] - centre) / spread) ** 2) / spread
    is_female = (sex == "female")[:, None]
    is_male = (sex == "male")[:, None]
    # For neither sex the smaller of both shares: what is rare in one of them stays rare.
    by_sex = np.where(
        is_female, female, np.where(is_male, 1 - female, np.minimum(female, 1 - female))
    )
    # A little more than 0, so that everybody has some diagnosis.
    return draws.pick_each(share * near * by_sex + 1e-12)


def stays(draws: PhiloxDraws, kind: Whole, age: Whole) -> tuple[Whole, NDArray[np.float64]]:
    """Days in hospital and the cost in euros: longer and dearer with age, with a long tail."""
    rows = hospital_words().diagnoses
    mean = np.array([row.days for row in rows])[kind] * (0.7 + age / 160)
    base = np.array([row.cost for row in rows])[kind]
    days = (
        # An exponential draw by inversion, in whole days, one at least.
        np.clip(np.floor(-np.log1p(-draws.uniform(len(kind))) * mean), 0, 120).astype(np.int64) + 1
    )
    # Cost follows the days relative to what is usual for the diagnosis.
    cost = base * (0.55 + 0.45 * days / (mean + 1)) * np.exp(0.22 * draws.bell(len(kind)))
    return days, np.round(cost, 2)


def given_names(draws: PhiloxDraws, sex: Words) -> Words:
    """Given names put together from syllables."""
    size = len(sex)
    syllables = read_data_file(__package__, "name_syllables")["given"]
    start = _syllables(draws, syllables["onsets"], size) + _syllables(
        draws, syllables["middles"], size
    )
    ends = {
        form: _syllables(draws, syllables["endings"][form], size) for form in ("female", "male")
    }
    names: Words = start + np.where(sex == "female", ends["female"], ends["male"])
    return names


def family_names(draws: PhiloxDraws, size: int) -> Words:
    """Family names put together from syllables."""
    syllables = read_data_file(__package__, "name_syllables")["family"]
    parts = [_syllables(draws, syllables[part], size) for part in ("onsets", "middles", "endings")]
    names: Words = parts[0] + parts[1] + parts[2]
    return names


def _syllables(draws: PhiloxDraws, syllables: Sequence[str], size: int) -> Words:
    return words(syllables, draws.whole(size, 0, len(syllables) - 1))


def emails(draws: PhiloxDraws, first_names: Words, family: Words) -> list[str]:
    """Addresses in the domains reserved for examples."""
    size = len(first_names)
    numbers = draws.whole(size, 1, 999).tolist()
    hosts = words(MAIL_DOMAINS, draws.whole(size, 0, len(MAIL_DOMAINS) - 1)).tolist()
    names = zip(first_names.tolist(), family.tolist(), numbers, hosts, strict=True)
    return [f"{first}.{last}{number}@{host}".lower() for first, last, number, host in names]


def insurance_numbers(draws: PhiloxDraws, size: int) -> list[str]:
    """``SF`` and ten digits, the last a Luhn check digit; no two are the same, and no country uses
    the form.
    """
    start = int(draws.whole(1, 100_000_000, 499_999_999)[0])
    return [
        f"SF{number}{check_digit(str(number))}"
        # Steps of 37 in random order: different numbers that are not consecutive.
        for number in (start + 37 * draws.order(size)).tolist()
    ]


def check_digit(digits: str) -> int:
    """Luhn's check digit.

    >>> check_digit("7992739871")
    3
    """
    # From the right, every other digit doubled, the first of them included, as the check digit
    # itself will stand behind it.
    doubled = [int(digit) * (2 - position % 2) for position, digit in enumerate(reversed(digits))]
    # A doubled digit above 9 counts by the sum of its digits, which is 9 less.
    return -sum(value - 9 * (value > 9) for value in doubled) % 10


def _flat(groups: Mapping[str, Mapping[str, int]]) -> tuple[list[str], list[int]]:
    pairs = [(name, weight) for members in groups.values() for name, weight in members.items()]
    return [name for name, _ in pairs], [weight for _, weight in pairs]


def flat_names(groups: Mapping[str, Iterable[str]]) -> list[str]:
    """The names of all groups, group by group."""
    return list(chain.from_iterable(groups.values()))


def nested(groups: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The groups as a tree: group name to list of names."""
    return {group: list(members) for group, members in groups.items()}


def diagnosis_tree() -> dict[str, list[str]]:
    """Chapters and their diagnoses as a tree."""
    tree: dict[str, list[str]] = {}
    for diagnosis in hospital_words().diagnoses:
        tree.setdefault(diagnosis.chapter, []).append(diagnosis.name)
    return tree
