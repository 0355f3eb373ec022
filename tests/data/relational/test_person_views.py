"""What several tables show of every person: the noun that promises and attacks over persons look
at."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from tests.data.relational.test_from_tables import PEOPLE, SAID, VISITS, six


def test_what_the_worked_example_shows():
    shown = six().shown()
    assert shown.persons == 6
    assert [len(set(shown.own[people])) for people in ([0, 1, 2], [3, 4, 5])] == [1, 1]
    assert len(set(shown.own)) == 2
    (visits,) = shown.rows
    joined = {(shown.own[p], code) for p, code in zip(visits.person, visits.shows, strict=True)}
    assert len(joined) == 5  # A: cardio, onco, derm; B: derm, onco
    cardio = visits.shows[0]
    of_a = (shown.own[visits.person] == shown.own[0]) & (visits.shows == cardio)
    assert (int(of_a.sum()), len(set(visits.person[of_a]))) == (
        4,
        3,
    )  # four joined rows, three persons
    assert np.bincount(visits.person).tolist() == [1, 1, 4, 2, 2, 2]


def test_missing_and_suppressed_cells_are_values_of_their_own():
    frame = PEOPLE.with_columns(pl.Series("class", ["A", None, None, "*", "*", "A"]))
    own = sf.read_tables({"people": frame, "visits": VISITS}, SAID).shown().own
    assert own[1] == own[2] != own[0] == own[5] != own[3] == own[4] != own[1]


def test_tables_without_quasi_identifiers_show_one_code():
    said = {**SAID, "visits": {"belongs_to": {"people": "who"}, "columns": {"ward": "sensitive"}}}
    shown = sf.read_tables({"people": PEOPLE, "visits": VISITS}, said).shown()
    assert set(shown.rows[0].shows) == {0}
    ward = shown.sensitive["visits.ward"]
    assert [ward.labels[code] for code in ward.code] == VISITS["ward"].to_list()
    assert "cardio" not in repr(ward)
