"""Generated tables of a hospital: one row per patient, or one row per visit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Document
from sfumato.core.hierarchy import TOP, Hierarchy
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.data.examples import people
from sfumato.data.examples.draws import PhiloxDraws
from sfumato.data.examples.literature import (
    Example,
    as_dataset,
    at_least,
    direct,
    from_columns,
    plain,
    quasi,
    sensitive,
)
from sfumato.data.examples.people import hospital_words, nested
from sfumato.methods.hierarchies import Dates, Tree, intervals, mask_right, suppress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


NOTE = "generated; no real person is in it"
FIRST_DAY = "2023-01-01"
# 2023 and 2024, a leap year.
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
    from sfumato.data.examples.draws import PhiloxDraws

    draws = PhiloxDraws(seed)
    columns = _patients(draws, at_least("rows", rows, 1))
    columns |= _admissions(draws, columns["age"], columns["sex"])
    # Gaps come last: the other columns were drawn from complete values.
    for name, share in GAPS.items():
        columns[name] = people.with_gaps(draws, columns[name], share)
    return from_columns(_hospital_attributes(), columns)


def _patients(draws: PhiloxDraws, rows: int) -> Document:
    """Who the patients are. Some rare people take the place of drawn ones; a short table gets fewer
    of them.
    """
    age = people.ages(draws, rows)
    sex = people.sexes(draws, rows)
    codes, foreign = people.postcodes(draws, rows)
    columns: Document = {
        "age": age,
        "sex": sex,
        "zip": codes,
        "nationality": people.nationalities(draws, foreign),
        "marital_status": people.marital(draws, age),
        "occupation": people.occupations(draws, age),
    }
    # At random, and at most about one in twenty, so that a short table is not made of rare people.
    replaced_rows = draws.order(rows)[: rows // 20 + 1].tolist()
    # A short table has fewer places than there are rare people, and takes the first of them.
    for row, patient in zip(replaced_rows, hospital_words().recognisable_patients, strict=False):
        for name, value in patient.items():
            columns[name][row] = value
    return columns


def _admissions(draws: PhiloxDraws, age: NDArray[np.int64], sex: NDArray[np.object_]) -> Document:
    """What they are called, and when, why, where and for how long they were in hospital."""
    rows = len(age)
    first_names = people.given_names(draws, sex)
    family = people.family_names(draws, rows)
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
    from sfumato.data.examples.draws import PhiloxDraws

    draws = PhiloxDraws(seed)
    # Numbers of people, ascending: the last one says how many there are.
    of = _owners(draws, at_least("rows", rows, 1))
    size = int(of[-1]) + 1
    age = people.ages(draws, size)
    sex = people.sexes(draws, size)
    codes, _ = people.postcodes(draws, size)
    kind = people.diagnoses(draws, age[of], sex[of])
    # mostly the complaint of the first visit
    kind = np.where(
        # ``of`` ascends, so the search finds the first visit of the same person.
        draws.chance(rows, 0.7),
        kind[np.searchsorted(of, of)],
        kind,
    )
    diagnoses = hospital_words().diagnoses
    # Born on a day in the year that fits the age on the first day.
    birth = np.datetime64(FIRST_DAY) - (age * 365.25).astype(np.int64) - draws.whole(size, 0, 364)
    columns = {
        "patient": people.words(
            # Numbers in random order, so that they do not tell who has many visits.
            [f"P{number:06d}" for number in (draws.order(size) + 1).tolist()],
            of,
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
    # a few chronically ill come far more often
    frequent = np.where(draws.chance(rows, 0.08), 0.12, 0.45)
    # A geometric draw by inversion; at least one visit each.
    visit_counts = 1 + np.floor(np.log1p(-draws.uniform(rows)) / np.log1p(-frequent)).astype(
        np.int64
    )
    # More than enough people are drawn; the table ends after the rows that were asked for.
    return np.repeat(np.arange(rows, dtype=np.int64), visit_counts)[:rows]


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
