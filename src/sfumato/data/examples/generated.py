"""Generated tables: a hospital's visits, a household survey, and a table of any size for
benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import TOP, Hierarchy
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.data.examples import people
from sfumato.data.examples.literature import (
    Example,
    as_dataset,
    at_least,
    direct,
    either,
    from_columns,
    plain,
    quasi,
    sensitive,
)
from sfumato.data.examples.people import (
    PhiloxDraws,
    flat_names,
    hospital_words,
    nested,
)
from sfumato.errors import ParameterError
from sfumato.methods.hierarchies import Dates, Order, Tree, intervals, mask_right, suppress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

NOTE = "generated; no real person is in it"
FIRST_DAY = "2023-01-01"
DAYS = 731
GAPS = {
    "email": 0.06,
    "zip": 0.003,
    "nationality": 0.005,
    "marital_status": 0.01,
    "occupation": 0.02,
    "cost": 0.004,
}
"""Share of missing values per column."""


def hospital(rows: int = 3000, *, seed: int = 7) -> Table:
    """Two years of hospital admissions, one row a patient: the table of the demo and the tutorials.

    Direct identifiers: patient_name, insurance_number (with a Luhn check digit), email (reserved
    domains). Quasi-identifiers, each with a hierarchy: age (years, in 5, 10, 20), sex, zip (5
    digits, many with a leading zero), nationality, marital_status, occupation (each a tree of two
    levels) and admission_date (month, quarter, year). Sensitive: diagnosis (a tree of ten chapters)
    and cost in euros. Plain: ward and length_of_stay in days.

    The columns depend on each other as they do in life: diagnosis on age and sex, stay and cost on
    diagnosis and age, nationality on the district, marital status and occupation on age. A few
    values are missing and a few people are rare enough to be recognised by anyone. The same rows
    and seed give the same table on every machine. Everything is generated: names come from
    syllables, shares and costs are round guesses.
    """
    return as_dataset("hospital", _hospital(rows, seed), NOTE)


def _hospital(rows: int = 3000, seed: int = 7) -> Example:
    from sfumato.data.examples.people import PhiloxDraws

    draws = PhiloxDraws(seed)
    columns = _patients(draws, at_least("rows", rows, 1))
    columns |= _admissions(draws, columns["age"], columns["sex"])
    for name, share in GAPS.items():
        columns[name] = people.with_gaps(draws, columns[name], share)
    return from_columns(_hospital_attributes(), columns)


def _patients(draws: PhiloxDraws, rows: int) -> dict[str, Any]:
    """Who the patients are. Some rare people take the place of drawn ones; a short table gets fewer
    of them.
    """
    age, sex = people.ages(draws, rows), people.sexes(draws, rows)
    codes, foreign = people.postcodes(draws, rows)
    columns: dict[str, Any] = {
        "age": age,
        "sex": sex,
        "zip": codes,
        "nationality": people.nationalities(draws, foreign),
        "marital_status": people.marital(draws, age),
        "occupation": people.occupations(draws, age),
    }
    replaced_rows = draws.order(rows)[: rows // 20 + 1].tolist()
    for row, patient in zip(replaced_rows, hospital_words().recognisable_patients, strict=False):
        for name, value in patient.items():
            columns[name][row] = value
    return columns


def _admissions(
    draws: PhiloxDraws, age: NDArray[np.int64], sex: NDArray[np.object_]
) -> dict[str, Any]:
    """What they are called, and when, why, where and for how long they were in hospital."""
    rows = len(age)
    first_names, family = people.given_names(draws, sex), people.family_names(draws, rows)
    kind = people.diagnoses(draws, age, sex)
    days, cost = people.stays(draws, kind, age)
    diagnoses = hospital_words().diagnoses
    return {
        "patient_name": first_names + " " + family,
        "insurance_number": people.insurance_numbers(draws, rows),
        "email": np.array(people.emails(draws, first_names, family), dtype=object),
        "admission_date": np.datetime64(FIRST_DAY) + draws.whole(rows, 0, DAYS - 1),
        "diagnosis": people.words([diagnosis.name for diagnosis in diagnoses], kind),
        "cost": cost,
        "ward": people.words([diagnosis.ward for diagnosis in diagnoses], kind),
        "length_of_stay": days,
    }


def _hospital_attributes() -> dict[str, Attribute]:
    return {
        "patient_name": direct(),
        "insurance_number": direct(),
        "email": direct(),
        "age": quasi(intervals(5, 10, 20), Kind.NUMERIC),
        "sex": quasi(suppress()),
        "zip": quasi(mask_right(5)),
        "nationality": quasi(Tree({TOP: nested(hospital_words().nationalities)})),
        "marital_status": quasi(Tree({TOP: nested(hospital_words().marital_statuses)})),
        "occupation": quasi(Tree({TOP: nested(hospital_words().occupations)})),
        "admission_date": quasi(_calendar(), Kind.DATE),
        "diagnosis": sensitive(hierarchy=Tree({TOP: people.diagnosis_tree()})),
        "cost": sensitive(Kind.NUMERIC),
        "ward": plain(),
        "length_of_stay": plain(Kind.NUMERIC),
    }


def _calendar() -> Hierarchy:
    return Dates(levels=("month", "quarter", "year"))


def visits(rows: int = 5000, *, seed: int = 11) -> Table:
    """Visits to a clinic, several a patient: the unit to protect is the person, not the row.

    ``patient`` identifies the person (role person); birth_date, sex and zip are the same in all
    visits of one person; visit_date differs. Nearly half of the patients come once, some a dozen
    times and more, so a class of five rows may be one single person. Sensitive: diagnosis; plain:
    department and fee.
    """
    return as_dataset("visits", _visits(rows, seed), NOTE)


def _visits(rows: int = 5000, seed: int = 11) -> Example:
    from sfumato.data.examples.people import PhiloxDraws

    draws = PhiloxDraws(seed)
    of = _owners(draws, at_least("rows", rows, 1))
    size = int(of[-1]) + 1
    age, sex = people.ages(draws, size), people.sexes(draws, size)
    codes, _ = people.postcodes(draws, size)
    kind = people.diagnoses(draws, age[of], sex[of])
    kind = np.where(
        draws.chance(rows, 0.7), kind[np.searchsorted(of, of)], kind
    )  # mostly the complaint of the first visit
    diagnoses = hospital_words().diagnoses
    birth = np.datetime64(FIRST_DAY) - (age * 365.25).astype(np.int64) - draws.whole(size, 0, 364)
    columns = {
        "patient": people.words(
            [f"P{number:06d}" for number in (draws.order(size) + 1).tolist()], of
        ),
        "birth_date": birth[of],
        "sex": sex[of],
        "zip": codes[of],
        "visit_date": np.datetime64(FIRST_DAY) + draws.whole(rows, 0, DAYS - 1),
        "diagnosis": people.words([diagnosis.name for diagnosis in diagnoses], kind),
        "department": people.words([diagnosis.ward for diagnosis in diagnoses], kind),
        "fee": np.round(40 + 300 * draws.uniform(rows) ** 3, 2),
    }
    return from_columns(_visit_attributes(), columns)


def _owners(draws: PhiloxDraws, rows: int) -> NDArray[np.int64]:
    """Which person each visit belongs to: 0, 0, 0, 1, 2, 2, …; the numbers of visits fall off
    geometrically.
    """
    frequent = np.where(
        draws.chance(rows, 0.08), 0.12, 0.45
    )  # a few chronically ill come far more often
    each = 1 + np.floor(np.log1p(-draws.uniform(rows)) / np.log1p(-frequent)).astype(np.int64)
    return np.repeat(np.arange(rows, dtype=np.int64), each)[:rows]


def _visit_attributes() -> dict[str, Attribute]:
    return {
        "patient": Attribute((Role.PERSON,)),
        "birth_date": quasi(Dates(levels=("month", "year", "decade")), Kind.DATE),
        "sex": quasi(suppress()),
        "zip": quasi(mask_right(5)),
        "visit_date": quasi(_calendar(), Kind.DATE),
        "diagnosis": sensitive(hierarchy=Tree({TOP: people.diagnosis_tree()})),
        "department": plain(),
        "fee": plain(Kind.NUMERIC),
    }


# A generated household survey with weights and strata. No real person is in it.

if TYPE_CHECKING:
    Whole = NDArray[np.int64]
    Words = NDArray[np.object_]

REGIONS = {
    "Coast": 610_000,
    "Plain": 420_000,
    "Capital": 1_250_000,
    "Hills": 380_000,
    "Valley": 540_000,
    "Alps": 160_000,
}
"""Households per region in the invented country; each region is sampled alike, so the weights
differ.
"""
REGION_TREE = {
    "North": ["Coast", "Plain"],
    "Centre": ["Capital", "Hills"],
    "South": ["Valley", "Alps"],
}
EDUCATIONS = (
    "no certificate",
    "lower secondary",
    "upper secondary",
    "vocational training",
    "bachelor",
    "master",
    "doctorate",
)
EMPLOYMENT_TREE = {
    "in work": ["full-time", "part-time", "self-employed"],
    "not in work": ["unemployed", "retired", "in education", "homemaker", "below school age"],
}
HEALTH = ("very bad", "bad", "fair", "good", "very good")
SETTLEMENTS = ("city", "town", "village")


def survey(rows: int = 4000, *, seed: int = 13) -> Table:
    """People in households, sampled by region: weights, strata and relatives in one file.

    ``household`` has that role; ``region`` is stratum and quasi-identifier; ``weight`` says
    for how many households of the invented country a sampled one stands, with 3.36 million in all.
    Other quasi-identifiers: settlement, household_size, age, sex, education,
    employment. Sensitive: income in euros a month (about 5 % missing) and health; kept: rooms.
    Partners are of similar age, children 20 to 38 years younger; income depends on employment,
    education and age, health on age and income.
    """
    return as_dataset("survey", _survey(rows, seed), "generated; no real person is in it")


def _survey(rows: int = 4000, seed: int = 13) -> Example:
    from sfumato.data.examples.people import PhiloxDraws

    draws = PhiloxDraws(seed)
    home, size = _households(draws, at_least("rows", rows, 1))
    columns = _of_households(draws, home, size) | _of_persons(draws, home)
    return from_columns(_attributes(), columns)


def _households(draws: PhiloxDraws, rows: int) -> tuple[Whole, Whole]:
    """The household of each row, and the size of each household."""
    sizes = 1 + draws.pick(rows, (39, 34, 13, 10, 3, 1))
    home = np.repeat(np.arange(rows, dtype=np.int64), sizes)[:rows]
    return home, np.bincount(home)


def _of_households(draws: PhiloxDraws, home: Whole, size: Whole) -> dict[str, Any]:
    """What the members of a household share."""
    count = len(size)
    region = draws.order(count) % len(REGIONS)
    sampled = np.bincount(region, minlength=len(REGIONS))
    answered = 0.8 + 0.4 * draws.uniform(count)
    answered /= (np.bincount(region, weights=answered) / np.maximum(np.bincount(region), 1))[
        region
    ]  # keeps the totals
    weight = np.array(list(REGIONS.values()))[region] / sampled[region] * answered
    rural = np.where(
        (region == list(REGIONS).index("Capital"))[:, None], (85, 12, 3), (25, 40, 35)
    ).astype(np.float64)
    codes = people.words([f"H{number:05d}" for number in range(1, count + 1)], draws.order(count))
    return {
        "household": codes[home],
        "region": people.words(list(REGIONS), region)[home],
        "settlement": people.words(SETTLEMENTS, draws.pick_each(rural))[home],
        "household_size": size[home],
        "rooms": np.clip(1 + size + draws.whole(count, -1, 2), 1, 9)[home],
        "weight": np.round(weight, 4)[home],
    }


def _of_persons(draws: PhiloxDraws, home: Whole) -> dict[str, Any]:
    """What each member has for themselves."""
    rows = len(home)
    age = _ages(draws, home)
    education, employment = _educations(draws, age), _employments(draws, age)
    active = np.isin(employment, EMPLOYMENT_TREE["in work"])
    hours = np.where(employment == "part-time", 0.55, 1.0)
    level = (
        650
        + active * hours * (900 + 420 * education)
        + (employment == "retired") * (500 + 160 * education)
    )
    income = np.where(
        age < people.ADULT,
        0,
        level * np.exp(0.35 * draws.bell(rows)) * (0.8 + np.minimum(age, 60) / 200),
    )
    income = np.round(income, -1)
    feeling = 3.9 - age / 45 + np.minimum(income, 6000) / 6000 + 0.8 * draws.bell(rows)
    return {
        "age": age,
        "sex": people.words(people.SEXES[:2], draws.pick(rows, (51, 49))),
        "education": people.words(EDUCATIONS, education),
        "employment": employment,
        "income": people.with_gaps(draws, income, 0.05),
        "health": people.words(HEALTH, np.clip(np.rint(feeling), 0, 4).astype(np.int64)),
    }


def _ages(draws: PhiloxDraws, home: Whole) -> Whole:
    """The first of a household is grown up, the second mostly a partner of similar age, the others
    children.
    """
    rows = len(home)
    first = np.searchsorted(home, home)
    place = np.arange(rows) - first
    head = (20 + np.floor(70 * (draws.uniform(rows) + draws.uniform(rows)) / 2).astype(np.int64))[
        first
    ]
    partner = np.clip(head + np.rint(4 * draws.bell(rows)).astype(np.int64), people.ADULT, 95)
    child = np.maximum(head - draws.whole(rows, 20, 38), 0)
    paired = draws.chance(rows, 0.85)
    return np.select([place == 0, (place == 1) & paired], [head, partner], child)


def _educations(draws: PhiloxDraws, age: Whole) -> Whole:
    """Position of the education: children have none yet, a doctorate takes until 27."""
    grown = draws.pick(len(age), (4, 17, 22, 32, 13, 10, 2))
    reachable = np.select(
        [age < 16, age < people.ADULT, age < 21, age < 24, age < 27], [0, 1, 3, 4, 5], 6
    )
    educations: Whole = np.minimum(grown, reachable)
    return educations


def _employments(draws: PhiloxDraws, age: Whole) -> Words:
    names = flat_names(EMPLOYMENT_TREE)
    working = people.words(names, draws.pick(len(age), (52, 22, 9, 6, 3, 3, 5, 0)))
    luck = draws.uniform(len(age))
    young, old = (age < 25) & (luck < 0.4), (age >= people.PENSION) & (luck < 0.93)
    rules = [age < people.SCHOOL_AGE, (age < people.ADULT) | young, old]
    return np.select(rules, ["below school age", "in education", "retired"], working).astype(object)


def _attributes() -> dict[str, Attribute]:
    return {
        "household": Attribute((Role.HOUSEHOLD,)),
        "region": Attribute((Role.QUASI, Role.STRATUM), hierarchy=Tree({TOP: REGION_TREE})),
        "settlement": quasi(suppress()),
        "household_size": quasi(intervals(2, 4), Kind.NUMERIC),
        "age": quasi(intervals(5, 10, 20), Kind.NUMERIC),
        "sex": quasi(suppress()),
        "education": quasi(Order(EDUCATIONS, sizes=(2, 4)), Kind.ORDINAL, order=EDUCATIONS),
        "employment": quasi(Tree({TOP: EMPLOYMENT_TREE})),
        "income": sensitive(Kind.NUMERIC),
        "health": sensitive(Kind.ORDINAL, order=HEALTH),
        "rooms": plain(Kind.NUMERIC),
        "weight": Attribute((Role.WEIGHT,), kind=Kind.NUMERIC),
    }


# Generated tables of any size for measuring: ten million rows in seconds.

QUANTILES = 1 << 16
OLDEST = 100
AREAS, ENDINGS = 300, 50
SEXES = ("female", "male")
SCHOOLING = tuple(f"ISCED {level}" for level in range(9))
EMPLOYMENTS = ("employee", "self-employed", "unemployed", "in training", "retired", "at home")
EMPLOYMENT_BY_AGE = (
    (16, (0, 0, 0, 1, 0, 99)),
    (25, (45, 2, 8, 40, 0, 5)),
    (65, (72, 9, 6, 1, 4, 8)),
    (200, (4, 2, 0, 0, 92, 2)),
)
ILLNESSES = tuple(f"illness {number:02d}" for number in range(60))


def large(
    rows: int = 1_000_000, *, columns: int = 6, distinct: str = "few", seed: int = 17
) -> Table:
    """A table for benchmarks: up to nine quasi-identifiers of realistic size, and one sensitive
    column.

    In the order in which ``columns`` takes them: age (100 years), sex (2), zip (300 areas of 3
    digits), nationality (26), marital_status (6, depends on age), education (9), employment (6,
    depends on age), household_size (8), occupation (36); all skewed, all with
    hierarchies. Sensitive: illness (60 values).

    ``distinct="few"`` has far fewer combinations than rows. With ``"many"`` birth_date (100 years
    of days) stands for age and zip has five digits (15,000 codes): from three columns on most rows
    are unique. Text is stored as polars Enum. The same arguments give the same table on every
    machine.
    """
    return as_dataset(
        "large", _large(rows, columns, distinct, seed), "generated; no real person is in it"
    )


def _large(
    rows: int = 1_000_000, columns: int = 6, distinct: str = "few", seed: int = 17
) -> Example:
    from sfumato.data.examples.people import PhiloxDraws

    if not 1 <= columns <= len(_MAKERS):
        raise ParameterError(f"columns must lie between 1 and {len(_MAKERS)}, not {columns}")
    detailed = either("distinct", distinct, ("few", "many")) == "many"
    draws = PhiloxDraws(seed)
    age = _drawn(
        draws,
        at_least("rows", rows, 1),
        [4.0 if year < 60 else 4.0 * (1 - (year - 60) / 42) for year in range(OLDEST)],
    )
    built = {name: make(draws, age, detailed) for name, make in list(_MAKERS.items())[:columns]}
    if detailed:
        built = {"birth_date": built.pop("age")} | built
    attributes = {name: _attribute(name, detailed) for name in built} | {"illness": sensitive()}
    return from_columns(
        attributes,
        built | {"illness": _enum(ILLNESSES, _drawn(draws, rows, _falling(len(ILLNESSES), 0.8)))},
    )


def _quantiles(weights: Sequence[float]) -> NDArray[np.uint16]:
    """Table that turns a whole number below 65536 into a position drawn in proportion to the
    weights.
    """
    steps = np.cumsum(np.asarray(weights, dtype=np.float64))
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES * steps[-1]
    quantiles: NDArray[np.uint16] = np.searchsorted(steps, middles, side="right").astype(np.uint16)
    return quantiles


def _drawn(draws: PhiloxDraws, rows: int, weights: Sequence[float]) -> NDArray[np.uint16]:
    return _quantiles(weights)[draws.short(rows)]


def _drawn_by_age(
    draws: PhiloxDraws, age: NDArray[np.uint16], bands: Sequence[tuple[int, Sequence[float]]]
) -> NDArray[np.uint16]:
    """Draw with the weights of the first band whose upper end lies above the age."""
    tables = np.concatenate([_quantiles(weights) for _, weights in bands])
    band = np.searchsorted([top for top, _ in bands], np.arange(OLDEST), side="right")
    values: NDArray[np.uint16] = tables[
        (band * QUANTILES).astype(np.uint32)[age] + draws.short(len(age))
    ]
    return values


def _falling(count: int, power: float) -> list[float]:
    return [float((place + 1) ** -power) for place in range(count)]


def _enum(labels: Sequence[str], codes: NDArray[np.uint16]) -> pl.Series:
    return pl.Series(labels, dtype=pl.Enum(labels)).gather(pl.Series(codes.astype(np.uint32)))


def _age(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    if not detailed:
        return age.astype(np.int16)
    days = age.astype(np.int32) * 365 + draws.short(len(age)) % 365
    return np.datetime64("2024-12-31") - days.astype("timedelta64[D]")


def _zip(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    area = _drawn(draws, len(age), _falling(AREAS, 1.2))
    if not detailed:
        return _enum([f"{7 * number % 1000:03d}" for number in range(AREAS)], area)
    codes = [
        f"{7 * number % 1000:03d}{2 * ending:02d}"
        for number in range(AREAS)
        for ending in range(ENDINGS)
    ]
    return _enum(
        codes,
        (area * np.uint16(ENDINGS) + _drawn(draws, len(age), _falling(ENDINGS, 0.5))).astype(
            np.uint16
        ),
    )


def _nationality(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    names = flat_names(hospital_words().nationalities)
    return _enum(names, _drawn(draws, len(age), [20.0, *_falling(len(names) - 1, 1.5)]))


def _marital(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    return _enum(
        flat_names(hospital_words().marital_statuses),
        _drawn_by_age(draws, age, hospital_words().marital_status_by_age),
    )


def _occupation(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    names = flat_names(hospital_words().occupations)
    return _enum(names, _drawn(draws, len(age), _falling(len(names), 0.7)))


def _size(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    return (1 + _drawn(draws, len(age), (22, 33, 18, 16, 6, 3, 1.5, 0.5))).astype(np.int16)


_MAKERS: dict[str, Callable[[PhiloxDraws, NDArray[np.uint16], bool], Any]] = {
    "age": _age,
    "sex": lambda draws, age, detailed: _enum(SEXES, _drawn(draws, len(age), (51, 49))),
    "zip": _zip,
    "nationality": _nationality,
    "marital_status": _marital,
    "education": lambda draws, age, detailed: _enum(
        SCHOOLING, _drawn(draws, len(age), (1, 4, 18, 38, 4, 4, 17, 13, 1))
    ),
    "employment": lambda draws, age, detailed: _enum(
        EMPLOYMENTS, _drawn_by_age(draws, age, EMPLOYMENT_BY_AGE)
    ),
    "household_size": _size,
    "occupation": _occupation,
}
"""How each quasi-identifier is drawn, in the order in which ``columns`` takes them."""


def _attribute(name: str, detailed: bool) -> Attribute:
    kinds = {
        "age": Kind.NUMERIC,
        "household_size": Kind.NUMERIC,
        "birth_date": Kind.DATE,
        "education": Kind.ORDINAL,
    }
    more = {"order": SCHOOLING} if name == "education" else {}
    return quasi(_hierarchy(name, detailed), kinds.get(name, Kind.NOMINAL), **more)


def _hierarchy(name: str, detailed: bool) -> Hierarchy:
    built: dict[str, Callable[[], Hierarchy]] = {
        "age": lambda: intervals(5, 10, 20),
        "birth_date": lambda: Dates(levels=("month", "year", "decade")),
        "zip": lambda: mask_right(5 if detailed else 3),
        "nationality": lambda: Tree({TOP: nested(hospital_words().nationalities)}),
        "marital_status": lambda: Tree({TOP: nested(hospital_words().marital_statuses)}),
        "education": lambda: Order(SCHOOLING, sizes=(3,)),
        "household_size": lambda: intervals(2, 4),
        "occupation": lambda: Tree({TOP: nested(hospital_words().occupations)}),
    }
    return built.get(name, suppress)()
