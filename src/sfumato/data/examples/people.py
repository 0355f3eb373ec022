"""Draws of people: who they are, where they live, what they do and what they suffer from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# Seeded random draws that give the same table on every platform and with every version of numpy.


class PhiloxDraws:
    """A stream of draws from the Philox counter generator.

    Only the raw bits of the generator are used: they are frozen by definition, while the
    distributions of ``numpy.random.Generator`` may change between versions.
    """

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise ParameterError(f"seed must be 0 or more, not {seed}")
        self._bits: Any = np.random.Philox(seed)

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Numbers in [0, 1)."""
        raw: NDArray[np.uint64] = self._bits.random_raw(size)
        return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def short(self, size: int) -> NDArray[np.uint16]:
        """Whole numbers 0…65535: an index into a table of quantiles, the fastest way to draw
        many.
        """
        raw: NDArray[np.uint64] = self._bits.random_raw(-(-size // 4))
        return raw.astype("<u8", copy=False).view("<u2")[:size].astype(np.uint16, copy=False)

    def bell(self, size: int) -> NDArray[np.float64]:
        """Nearly normal numbers with mean 0 and variance 1: twelve uniform ones added up, minus
        six.
        """
        total = self.uniform(size)
        for _ in range(11):
            total = total + self.uniform(size)
        return total - 6.0

    def whole(self, size: int, low: int, high: int) -> NDArray[np.int64]:
        """Whole numbers from ``low`` to ``high``, both included, equally likely."""
        return low + np.floor(self.uniform(size) * (high - low + 1)).astype(np.int64)

    def chance(self, size: int, probability: ArrayLike) -> NDArray[np.bool_]:
        """True with the given probability."""
        return self.uniform(size) < np.asarray(probability)

    def pick(self, size: int, weights: ArrayLike) -> NDArray[np.int64]:
        """Positions drawn in proportion to their weights."""
        steps = np.cumsum(np.asarray(weights, dtype=np.float64))
        places: NDArray[np.int64] = np.searchsorted(
            steps, self.uniform(size) * steps[-1], side="right"
        ).astype(np.int64)
        return places

    def pick_each(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """One position per row of a matrix of weights."""
        steps = np.cumsum(weights, axis=1)
        limits = self.uniform(len(weights)) * steps[:, -1]
        places: NDArray[np.int64] = (steps <= limits[:, None]).sum(axis=1).astype(np.int64)
        return places

    def order(self, size: int) -> NDArray[np.int64]:
        """A random order of 0…size-1."""
        return np.argsort(self.uniform(size), kind="stable")


# The words of the generated tables: diagnoses, occupations, nationalities, postal districts and
# syllables.
#
# All of it is made for these tables. Shares and costs are round numbers of a plausible size, not
# statistics.


class Diagnosis(NamedTuple):
    """How often a diagnosis occurs, in whom, for how long and at what cost."""

    name: str
    share: float
    age: float
    spread: float
    female: float
    days: float
    cost: float


CHAPTERS: dict[str, tuple[str, tuple[Diagnosis, ...]]] = {
    "Heart and circulation": (
        "Cardiology",
        (
            Diagnosis("Heart attack", 30, 68, 13, 0.35, 7, 6200),
            Diagnosis("Heart failure", 42, 78, 10, 0.50, 10, 3900),
            Diagnosis("Atrial fibrillation", 28, 72, 12, 0.45, 4, 2600),
            Diagnosis("Stroke", 26, 74, 12, 0.50, 11, 5400),
            Diagnosis("Varicose veins", 9, 55, 14, 0.68, 1, 1700),
        ),
    ),
    "Lungs and breathing": (
        "Pneumology",
        (
            Diagnosis("Pneumonia", 30, 70, 22, 0.46, 8, 3300),
            Diagnosis("Chronic bronchitis", 18, 69, 11, 0.45, 8, 2900),
            Diagnosis("Asthma", 9, 22, 18, 0.52, 4, 1900),
            Diagnosis("Croup", 9, 2, 2, 0.42, 2, 1300),
        ),
    ),
    "Digestion": (
        "Surgery",
        (
            Diagnosis("Appendicitis", 14, 24, 15, 0.48, 4, 2900),
            Diagnosis("Gallstones", 24, 55, 17, 0.64, 4, 3200),
            Diagnosis("Inguinal hernia", 18, 58, 17, 0.12, 2, 2300),
            Diagnosis("Gastritis", 17, 50, 20, 0.55, 4, 1600),
            Diagnosis("Crohn's disease", 5, 32, 13, 0.54, 7, 3500),
        ),
    ),
    "Cancer": (
        "Oncology",
        (
            Diagnosis("Breast cancer", 17, 63, 13, 0.99, 5, 5200),
            Diagnosis("Lung cancer", 16, 68, 10, 0.40, 8, 6100),
            Diagnosis("Bowel cancer", 14, 70, 11, 0.45, 11, 8300),
            Diagnosis("Prostate cancer", 11, 69, 8, 0.0, 7, 6000),
            Diagnosis("Leukaemia", 5, 45, 26, 0.44, 16, 14500),
        ),
    ),
    "Injury": (
        "Trauma surgery",
        (
            Diagnosis("Hip fracture", 20, 81, 9, 0.70, 13, 7600),
            Diagnosis("Forearm fracture", 16, 35, 28, 0.52, 3, 3000),
            Diagnosis("Concussion", 22, 30, 25, 0.44, 2, 1000),
            Diagnosis("Burn", 4, 28, 22, 0.40, 9, 6900),
        ),
    ),
    "Bones and joints": (
        "Orthopaedics",
        (
            Diagnosis("Worn hip joint", 20, 70, 10, 0.58, 8, 7000),
            Diagnosis("Worn knee joint", 20, 70, 9, 0.61, 8, 7200),
            Diagnosis("Slipped disc", 21, 50, 14, 0.47, 6, 3700),
        ),
    ),
    "Birth and pregnancy": (
        "Obstetrics",
        (
            Diagnosis("Spontaneous birth", 62, 31, 5, 1.0, 3, 2100),
            Diagnosis("Caesarean section", 28, 32, 5, 1.0, 5, 3300),
            Diagnosis("Threatened early birth", 7, 30, 6, 1.0, 9, 4100),
        ),
    ),
    "Mind": (
        "Psychiatry",
        (
            Diagnosis("Depression", 24, 47, 17, 0.60, 28, 8200),
            Diagnosis("Alcohol dependence", 24, 48, 12, 0.27, 10, 2700),
            Diagnosis("Schizophrenia", 11, 38, 13, 0.43, 30, 8800),
            Diagnosis("Dementia", 9, 81, 7, 0.60, 17, 5100),
            Diagnosis("Anorexia", 2, 18, 4, 0.93, 45, 16000),
        ),
    ),
    "Infection": (
        "Internal medicine",
        (
            Diagnosis("Sepsis", 11, 71, 16, 0.45, 12, 9600),
            Diagnosis("Gut infection", 19, 40, 32, 0.54, 4, 1500),
            Diagnosis("Hepatitis B", 2, 42, 13, 0.40, 6, 2800),
            Diagnosis("HIV disease", 2, 41, 11, 0.22, 11, 7400),
            Diagnosis("Tuberculosis", 1, 44, 17, 0.38, 24, 9900),
        ),
    ),
    "Metabolism": (
        "Internal medicine",
        (
            Diagnosis("Diabetes", 19, 64, 18, 0.45, 9, 3200),
            Diagnosis("Thyroid disease", 9, 53, 15, 0.78, 3, 2900),
            Diagnosis("Cystic fibrosis", 1, 19, 9, 0.50, 12, 7700),
        ),
    ),
}

OCCUPATIONS: dict[str, dict[str, int]] = {
    "Health and care": {
        "Nurse": 10,
        "Physician": 4,
        "Care assistant": 8,
        "Pharmacist": 1,
        "Midwife": 1,
    },
    "Education and science": {"Teacher": 9, "Nursery teacher": 6, "Researcher": 3, "Librarian": 1},
    "Office and computing": {
        "Office clerk": 20,
        "Accountant": 6,
        "Software developer": 6,
        "Manager": 7,
        "Lawyer": 2,
    },
    "Sales and service": {
        "Shop assistant": 12,
        "Cook": 5,
        "Hairdresser": 3,
        "Cleaner": 7,
        "Police officer": 3,
    },
    "Crafts and industry": {
        "Electrician": 5,
        "Joiner": 3,
        "Mechanic": 7,
        "Bricklayer": 3,
        "Machine operator": 9,
        "Clockmaker": 0,
    },
    "Transport and land": {
        "Lorry driver": 5,
        "Warehouse worker": 8,
        "Farmer": 3,
        "Train driver": 1,
        "Beekeeper": 0,
    },
    "Not in work": {
        "Below school age": 0,
        "Pupil": 0,
        "Student": 0,
        "Unemployed": 9,
        "Homemaker": 6,
        "Retired": 0,
    },
}

NATIONALITIES: dict[str, dict[str, int]] = {
    "European Union": {
        "German": 0,
        "Polish": 14,
        "Romanian": 12,
        "Italian": 9,
        "Croatian": 7,
        "Greek": 6,
        "French": 3,
        "Maltese": 0,
    },
    "Rest of Europe": {
        "Turkish": 20,
        "Ukrainian": 13,
        "Serbian": 4,
        "British": 2,
        "Swiss": 1,
        "Icelandic": 0,
    },
    "Asia": {"Syrian": 12, "Afghan": 6, "Indian": 4, "Vietnamese": 3, "Chinese": 3},
    "Africa": {"Moroccan": 2, "Nigerian": 2, "Eritrean": 2, "Ghanaian": 1},
    "Americas and Oceania": {"American": 2, "Brazilian": 1, "New Zealander": 0},
}

MARITAL: dict[str, list[str]] = {
    "never married": ["single"],
    "in a marriage or partnership": ["married", "registered partnership"],
    "formerly married": ["divorced", "widowed", "separated"],
}
MARITAL_BY_AGE = (
    # up to age: single, married, registered partnership, divorced, widowed, separated
    (18, (100, 0, 0, 0, 0, 0)),
    (25, (92, 7, 1, 0, 0, 0)),
    (35, (57, 36, 2, 3, 0, 2)),
    (50, (26, 57, 2, 10, 1, 4)),
    (65, (13, 62, 1, 15, 5, 4)),
    (80, (7, 61, 0, 11, 20, 1)),
    (200, (6, 34, 0, 5, 55, 0)),
)

DISTRICTS = (
    # first two digits, share of the patients, share of foreign nationals
    ("01", 30, 0.08),
    ("02", 14, 0.04),
    ("04", 18, 0.11),
    ("08", 8, 0.05),
    ("10", 12, 0.27),
    ("13", 7, 0.22),
    ("20", 3, 0.19),
    ("39", 2, 0.07),
    ("50", 2, 0.21),
    ("60", 2, 0.30),
    ("80", 2, 0.26),
    ("99", 1, 0.06),
)
DELIVERY_ENDINGS = ("00", "05", "09", "12", "17", "23")

ONSETS = (
    "Ba",
    "Da",
    "Fe",
    "Gi",
    "Ho",
    "Jo",
    "Ka",
    "Le",
    "Ma",
    "Ni",
    "Or",
    "Pe",
    "Ra",
    "Sa",
    "Ti",
    "Ul",
    "Ve",
    "Wi",
    "Yo",
    "Za",
)
MIDDLES = ("", "bri", "da", "li", "ma", "no", "re", "ri", "so", "ta", "vi", "ze")
ENDINGS = {
    "female": ("la", "na", "ra", "sia", "mea", "lotte"),
    "male": ("lo", "nd", "rik", "mar", "to", "win"),
}
FAMILY_ONSETS = (
    "Al",
    "Ber",
    "Cor",
    "Dorn",
    "Eich",
    "Fal",
    "Gras",
    "Hal",
    "Ing",
    "Kel",
    "Lind",
    "Mor",
    "Nor",
    "Oster",
    "Pol",
    "Quar",
    "Ros",
    "Stern",
)
FAMILY_MIDDLES = ("", "a", "en", "er", "in")
FAMILY_ENDINGS = (
    "bach",
    "berg",
    "feld",
    "hoff",
    "ik",
    "mann",
    "quist",
    "ski",
    "stein",
    "tal",
    "ow",
    "wald",
)
MAIL_DOMAINS = ("example.org", "example.com", "example.net")
"""Domains reserved for documentation (RFC 2606): a letter to them reaches nobody."""

if TYPE_CHECKING:
    Words = NDArray[np.object_]
    Whole = NDArray[np.int64]

SCHOOL_AGE, ADULT, GRADUATE, PENSION = 6, 18, 25, 66
GRADUATES = ["Physician", "Pharmacist", "Lawyer", "Teacher", "Researcher", "Manager"]
SEXES = ("female", "male", "diverse")
AGE_SHARES = ((5, 6), (15, 4), (25, 8), (40, 19), (55, 18), (70, 22), (85, 20), (100, 3))
"""Upper end of an age band and its share among hospital patients."""


def words(values: Sequence[str], codes: Whole) -> Words:
    """Look the codes up."""
    return np.array(values, dtype=object)[codes]


def with_gaps(draws: PhiloxDraws, values: Any, share: float) -> list[Any]:
    """The values as a list, a share of them missing."""
    gaps = draws.chance(len(values), share)
    return [None if gap else value for value, gap in zip(values.tolist(), gaps, strict=True)]


def ages(draws: PhiloxDraws, size: int) -> Whole:
    """Ages of hospital patients: newborns, few children, many above 55."""
    tops = np.array([top for top, _ in AGE_SHARES])
    bottoms = np.concatenate([[0], tops[:-1]])
    band = draws.pick(size, [share for _, share in AGE_SHARES])
    within = draws.uniform(size) * np.where(
        band == len(tops) - 1, draws.uniform(size), 1.0
    )  # ever fewer above 85
    ages: Whole = bottoms[band] + np.floor(within * (tops - bottoms)[band]).astype(np.int64)
    return ages


def sexes(draws: PhiloxDraws, size: int) -> Words:
    """Sex as registered."""
    return words(SEXES, draws.pick(size, (525, 470, 5)))


def postcodes(draws: PhiloxDraws, size: int) -> tuple[Words, NDArray[np.float64]]:
    """Five-digit codes, most from four districts with a leading zero, and the share of foreigners
    there.
    """
    district = draws.pick(size, [share for _, share, _ in DISTRICTS])
    third = words(
        [str(digit) for digit in range(10)],
        draws.pick(size, [(1 + digit) ** -1.6 for digit in range(10)]),
    )
    ending = words(
        DELIVERY_ENDINGS,
        draws.pick(size, [1 / (1 + place) for place in range(len(DELIVERY_ENDINGS))]),
    )
    codes = words([digits for digits, _, _ in DISTRICTS], district) + third + ending
    return codes, np.array([foreign for _, _, foreign in DISTRICTS])[district]


def nationalities(draws: PhiloxDraws, foreign: NDArray[np.float64]) -> Words:
    """German, or with the share of the place another nationality."""
    names, weights = _flat(NATIONALITIES)
    other = words(names, draws.pick(len(foreign), weights))
    return np.where(draws.chance(len(foreign), foreign), other, "German").astype(object)


def marital(draws: PhiloxDraws, age: Whole) -> Words:
    """Marital status, which depends on the age."""
    tops = np.array([top for top, _ in MARITAL_BY_AGE])
    weights = np.array([shares for _, shares in MARITAL_BY_AGE], dtype=np.float64)
    band = np.searchsorted(tops, age, side="right")
    return words(
        [status for statuses in MARITAL.values() for status in statuses],
        draws.pick_each(weights[band]),
    )


def occupations(draws: PhiloxDraws, age: Whole) -> Words:
    """Occupation: by age a child, a pupil, a student or retired; otherwise one of the trades."""
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
    return np.select(
        rules, ["Below school age", "Pupil", "Student", "Retired", "Retired"], working
    ).astype(object)


def diagnoses(draws: PhiloxDraws, age: Whole, sex: Words) -> Whole:
    """Position of the diagnosis in :func:`catalogue`: its share, likelier near its age and in its
    sex.
    """
    rows = [diagnosis for _, diagnosis in catalogue()]
    share, centre, spread, female = (np.array([d[i] for d in rows]) for i in (1, 2, 3, 4))
    near = np.exp(-0.5 * ((age[:, None] - centre) / spread) ** 2) / spread
    is_female, is_male = (sex == "female")[:, None], (sex == "male")[:, None]
    by_sex = np.where(
        is_female, female, np.where(is_male, 1 - female, np.minimum(female, 1 - female))
    )
    return draws.pick_each(share * near * by_sex + 1e-12)


def catalogue() -> list[tuple[str, Any]]:
    """All diagnoses with their wards, chapter by chapter."""
    return [(ward, diagnosis) for ward, members in CHAPTERS.values() for diagnosis in members]


def stays(draws: PhiloxDraws, kind: Whole, age: Whole) -> tuple[Whole, NDArray[np.float64]]:
    """Days in hospital and the cost in euros: longer and dearer with age, with a long tail."""
    mean = np.array([diagnosis.days for _, diagnosis in catalogue()])[kind] * (0.7 + age / 160)
    base = np.array([diagnosis.cost for _, diagnosis in catalogue()])[kind]
    days = (
        np.clip(np.floor(-np.log1p(-draws.uniform(len(kind))) * mean), 0, 120).astype(np.int64) + 1
    )
    cost = base * (0.55 + 0.45 * days / (mean + 1)) * np.exp(0.22 * draws.bell(len(kind)))
    return days, np.round(cost, 2)


def given_names(draws: PhiloxDraws, sex: Words) -> Words:
    """Given names put together from syllables."""
    size = len(sex)
    start = words(ONSETS, draws.whole(size, 0, len(ONSETS) - 1)) + words(
        MIDDLES, draws.whole(size, 0, len(MIDDLES) - 1)
    )
    ends = {
        key: words(values, draws.whole(size, 0, len(values) - 1)) for key, values in ENDINGS.items()
    }
    names: Words = start + np.where(sex == "female", ends["female"], ends["male"])
    return names


def family_names(draws: PhiloxDraws, size: int) -> Words:
    """Family names put together from syllables."""
    parts = [
        words(p, draws.whole(size, 0, len(p) - 1))
        for p in (FAMILY_ONSETS, FAMILY_MIDDLES, FAMILY_ENDINGS)
    ]
    names: Words = parts[0] + parts[1] + parts[2]
    return names


def emails(draws: PhiloxDraws, given: Words, family: Words) -> list[str]:
    """Addresses in the domains reserved for examples."""
    size = len(given)
    numbers = draws.whole(size, 1, 999).tolist()
    hosts = words(MAIL_DOMAINS, draws.whole(size, 0, len(MAIL_DOMAINS) - 1)).tolist()
    names = zip(given.tolist(), family.tolist(), numbers, hosts, strict=True)
    return [f"{first}.{last}{number}@{host}".lower() for first, last, number, host in names]


def insurance_numbers(draws: PhiloxDraws, size: int) -> list[str]:
    """``SF`` and ten digits, the last a Luhn check digit; no two are the same, and no country uses
    the form.
    """
    start = int(draws.whole(1, 100_000_000, 499_999_999)[0])
    return [
        f"SF{number}{check_digit(str(number))}"
        for number in (start + 37 * draws.order(size)).tolist()
    ]


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
