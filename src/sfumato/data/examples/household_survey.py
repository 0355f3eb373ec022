"""A generated household survey with weights and strata. No real person is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Document
from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.data.examples import people
from sfumato.data.examples.draws import PhiloxDraws
from sfumato.data.examples.literature import (
    Example,
    as_dataset,
    at_least,
    from_columns,
    plain,
    quasi,
    sensitive,
)
from sfumato.data.examples.people import flat_names
from sfumato.methods.hierarchies import Order, Tree, intervals, suppress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

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

    ``household`` has that role; ``region`` is stratum and quasi-identifier; ``weight`` says for
    how many households of the invented country a sampled one stands, with 3.36 million in all.
    Other quasi-identifiers: settlement, household_size, age, sex, education,
    employment. Sensitive: income in euros a month (about 5 % missing) and health; plain: rooms.
    Partners are of similar age, children 20 to 38 years younger; income depends on employment,
    education and age, health on age and income.
    """
    return as_dataset("survey", _survey(rows, seed), "generated; no real person is in it")


def _survey(rows: int = 4000, seed: int = 13) -> Example:
    from sfumato.data.examples.draws import PhiloxDraws

    draws = PhiloxDraws(seed)
    home, size = _households(draws, at_least("rows", rows, 1))
    columns = _of_households(draws, home, size) | _of_persons(draws, home)
    return from_columns(_attributes(), columns)


def _households(draws: PhiloxDraws, rows: int) -> tuple[Whole, Whole]:
    """The household of each row, and the size of each household."""
    # Shares of households with one to six people.
    sizes = 1 + draws.pick(rows, (39, 34, 13, 10, 3, 1))
    # The last household may be cut short by the number of rows; its size is counted below.
    home = np.repeat(np.arange(rows, dtype=np.int64), sizes)[:rows]
    return home, np.bincount(home)


def _of_households(draws: PhiloxDraws, home: Whole, size: Whole) -> Document:
    """What the members of a household share."""
    count = len(size)
    # All regions equally often, in random order.
    region = draws.order(count) % len(REGIONS)
    sampled = np.bincount(region, minlength=len(REGIONS))
    # Some households answer less often than others: weights vary within a region.
    answered = 0.8 + 0.4 * draws.uniform(count)
    # keeps the totals
    answered /= (np.bincount(region, weights=answered) / np.maximum(np.bincount(region), 1))[region]
    # Households of the region over those sampled there.
    weight = np.array(list(REGIONS.values()))[region] / sampled[region] * answered
    # The capital is mostly city; elsewhere towns and villages prevail.
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


def _of_persons(draws: PhiloxDraws, home: Whole) -> Document:
    """What each member has for themselves."""
    rows = len(home)
    age = _ages(draws, home)
    education = _educations(draws, age)
    employment = _employments(draws, age)
    active = np.isin(employment, EMPLOYMENT_TREE["in work"])
    # Part-time work earns about half.
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
    # To the nearest ten euros, as people answer.
    income = np.round(income, -1)
    # Health falls with age and rises with income, up to a limit.
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
    # Rows of a household stand together, so the search finds the first of them.
    first = np.searchsorted(home, home)
    position = np.arange(rows) - first
    # The mean of two uniform numbers: most heads are middle-aged. Taken from the first row for all.
    head = (20 + np.floor(70 * (draws.uniform(rows) + draws.uniform(rows)) / 2).astype(np.int64))[
        first
    ]
    partner = np.clip(head + np.rint(4 * draws.bell(rows)).astype(np.int64), people.ADULT, 95)
    child = np.maximum(head - draws.whole(rows, 20, 38), 0)
    paired = draws.chance(rows, 0.85)
    return np.select([position == 0, (position == 1) & paired], [head, partner], child)


def _educations(draws: PhiloxDraws, age: Whole) -> Whole:
    """Position of the education: children have none yet, a doctorate takes until 27."""
    # Shares of the educations among adults, in the order of the list.
    grown = draws.pick(len(age), (4, 17, 22, 32, 13, 10, 2))
    # The highest education that can be reached at an age, by its place in the list.
    reachable = np.select(
        [age < 16, age < people.ADULT, age < 21, age < 24, age < 27], [0, 1, 3, 4, 5], 6
    )
    educations: Whole = np.minimum(grown, reachable)
    return educations


def _employments(draws: PhiloxDraws, age: Whole) -> Words:
    names = flat_names(EMPLOYMENT_TREE)
    working = people.words(names, draws.pick(len(age), (52, 22, 9, 6, 3, 3, 5, 0)))
    luck = draws.uniform(len(age))
    young = (age < 25) & (luck < 0.4)
    old = (age >= people.PENSION) & (luck < 0.93)
    # The first rule that holds decides; so children are never retired or at work.
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
