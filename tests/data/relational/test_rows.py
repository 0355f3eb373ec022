"""One table of several: its rows without their keys, and whose each of them is."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato import examples
from tests.data.relational.test_steps import after


def test_a_step_in_the_peoples_table_drops_people_everywhere():
    said = {
        "people": {
            "key": "person_id",
            "columns": {
                "name": "drop",
                "age": "keep",
                "sex": "quasi",
                "region": "quasi",
                "diagnosis": "sensitive",
            },
        },
        "visits": {
            "key": "visit_id",
            "belongs_to": {"people": "person_id"},
            "columns": {"ward": "keep", "month": "keep", "cost": "keep"},
        },
        "prescriptions": {
            "belongs_to": {"visits": "visit_id"},
            "columns": {"drug": "keep", "days": "keep"},
        },
    }
    people = sf.read_tables(examples.clinic_tables(), said)
    k5 = {"k_anonymity": {"k": 6, "table": "people"}}
    left, plan = after(
        people, {"suppression": {"what": "tuple", "budget": 1.0, "table": "people"}}, k5
    )
    gone = people.people - left.people
    assert 0 < gone == plan.describe()["rows_dropped"] < people.people
    stays = np.isin(np.arange(people.people), left.origin)
    assert left.counts()["rows_of_visits"] == int(stays[people["visits"].owner].sum())
    assert left.counts()["rows_of_prescriptions"] == int(stays[people["prescriptions"].owner].sum())


def test_rows_that_a_step_drops_go_alone_or_with_their_person():
    people = examples.clinic()
    sample = {"fraction": 0.5, "unit": "row", "table": "visits"}
    rows, plan = after(people, {"sample": sample})
    kept = rows["visits"].origin
    assert rows.people == people.people
    assert plan.describe()["rows_dropped"] == len(people["visits"]) - len(kept)
    assert set(kept[rows["prescriptions"].above]) <= set(kept)
    whole, _ = after(people, {"sample": {**sample, "drop": "people"}})
    lost = set(people["visits"].owner[np.delete(np.arange(len(people["visits"])), kept)])
    assert sorted(whole.origin) == sorted(set(range(people.people)) - lost)
    counts = people.per_person("visits")
    assert whole.per_person("visits").tolist() == counts[whole.origin].tolist()
