"""A clinic in three tables: its patients, their visits, and what was prescribed at each visit."""

from __future__ import annotations

import itertools
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.relations import with_keys
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.source import Source
from sfumato.data.examples.literature import at_least
from sfumato.methods.hierarchies import Tree, intervals, suppress

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.data.relational.tables import RelatedTables

REGIONS = {"*": {"coast": ["harbour", "cliffs"], "inland": ["hills", "river", "plain"]}}
WARDS = {"*": {"surgical": ["bones", "eyes"], "medical": ["heart", "lungs", "skin"]}}
ILLNESSES = ("asthma", "gout", "migraine", "none", "ulcer")
DRUGS = ("drops", "ointment", "pills", "syrup")
FIRST = ("Ada", "Bo", "Cleo", "Dov", "Eva", "Finn", "Gus", "Hal")
LAST = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel")


def clinic(
    people: int = 60, *, visits: float = 2.5, prescriptions: float = 1.0, seed: int = 7
) -> RelatedTables:
    """An invented clinic: patients, their visits and the prescriptions of each visit, joined by
    keys.

    ``visits`` are those of a patient on average (some have none, a few have many),
    ``prescriptions`` those of a visit. The same arguments give the same tables on every machine; no
    real person is in them.

    >>> clinic().counts()
    {'people': 60, 'rows_of_visits': 179, 'rows_of_prescriptions': 175}
    """
    from sfumato.data.relational.tables import RelatedTables

    tables = clinic_tables(people, visits=visits, prescriptions=prescriptions, seed=seed)
    schemas = clinic_schemas()
    source = Source("clinic", schemas=schemas)
    # Names are dropped, as reading a file under a recipe would do.
    bare = {name: schema.without(schema.dropped_columns) for name, schema in schemas.items()}
    return RelatedTables.from_tables(
        {name: table.drop(schemas[name].dropped_columns) for name, table in tables.items()},
        bare,
        source,
    )


def clinic_tables(
    people: int = 60, *, visits: float = 2.5, prescriptions: float = 1.0, seed: int = 7
) -> dict[str, pl.DataFrame]:
    """The three tables of :func:`clinic` as their files would hold them, with names and keys."""
    count = at_least("people", people, 1)
    stream = np.random.Generator(np.random.Philox(key=seed))
    # Without order and with gaps, so that keys reveal nothing of who came when.
    numbers = 100_000 + stream.permutation(9 * count)[:count]
    keys = pl.Series(np.char.add("P", numbers.astype(str)).tolist(), dtype=pl.String)
    names = [f"{first} {last}" for first, last in itertools.product(FIRST, LAST)]
    patients = pl.DataFrame(
        {
            "person_id": keys,
            "name": pl.Series(names).gather(stream.integers(0, len(names), count)),
            "age": stream.integers(18, 90, count),
            "sex": _draw_words(stream, ("f", "m"), count),
            "region": _draw_words(stream, tuple(chain.from_iterable(REGIONS["*"].values())), count),
            "diagnosis": _draw_words(stream, ILLNESSES, count),
        }
    )
    # a few people come far more often than the others: a number of visits of their own gives them
    # away
    mean = stream.gamma(1.2, visits / 1.2, count)
    persons = np.repeat(np.arange(count), stream.poisson(mean))
    stays = pl.DataFrame(
        {
            "visit_id": 500_000 + stream.permutation(9 * len(persons))[: len(persons)],
            "person_id": keys.gather(persons),
            "ward": _draw_words(
                stream, tuple(chain.from_iterable(WARDS["*"].values())), len(persons)
            ),
            "month": stream.integers(1, 13, len(persons)),
            "cost": np.round(stream.gamma(2.0, 150.0, len(persons)), 2),
        }
    )
    # The visit of each prescription; some visits have none.
    where = np.repeat(np.arange(len(persons)), stream.poisson(prescriptions, len(persons)))
    drugs_given = pl.DataFrame(
        {
            "visit_id": stays["visit_id"].gather(where),
            "drug": _draw_words(stream, DRUGS, len(where)),
            "days": stream.integers(1, 15, len(where)),
        }
    )
    shuffled = {"people": patients, "visits": stays, "prescriptions": drugs_given}
    # Files of a clinic are in no order that would join them by place.
    return {name: table[stream.permutation(table.height)] for name, table in shuffled.items()}


def clinic_schemas() -> dict[str, Schema]:
    """What the columns of :func:`clinic_tables` are."""
    return {
        "people": with_keys(
            "people",
            Schema(
                {
                    "name": Attribute((Role.DROP,)),
                    "age": _quasi(intervals(10, 20, 40), Kind.NUMERIC),
                    "sex": _quasi(suppress()),
                    "region": _quasi(Tree(REGIONS)),
                    "diagnosis": Attribute((Role.SENSITIVE,)),
                }
            ),
            key="person_id",
        ),
        "visits": with_keys(
            "visits",
            Schema(
                {
                    "ward": _quasi(Tree(WARDS)),
                    "month": _quasi(intervals(3, 6), Kind.NUMERIC),
                    "cost": Attribute((Role.KEEP,), kind=Kind.NUMERIC),
                }
            ),
            key="visit_id",
            belongs_to={"people": "person_id"},
        ),
        "prescriptions": with_keys(
            "prescriptions",
            Schema(
                {
                    "drug": Attribute((Role.SENSITIVE,)),
                    "days": Attribute((Role.KEEP,), kind=Kind.NUMERIC),
                }
            ),
            belongs_to={"visits": "visit_id"},
        ),
    }


def _quasi(hierarchy: Hierarchy, kind: Kind = Kind.NOMINAL) -> Attribute:
    return Attribute((Role.QUASI,), kind=kind, hierarchy=hierarchy)


def _draw_words(stream: np.random.Generator, words: tuple[str, ...], count: int) -> pl.Series:
    return pl.Series(words, dtype=pl.String).gather(stream.integers(0, len(words), count))
