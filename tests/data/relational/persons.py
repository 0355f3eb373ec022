"""Small people in several tables: as the definitions see them, and as the code does."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import strategies as st

from sfumato.data.relational.person_views import Shown, ShownRows, ShownSensitive

TABLES = ("orders", "visits", "wards")
ROWS = st.lists(st.integers(0, 2), max_size=3).map(tuple)
PERSON = st.tuples(st.integers(0, 1), st.fixed_dictionaries(dict.fromkeys(TABLES, ROWS)))
PEOPLE = st.lists(PERSON, min_size=1, max_size=7)


@dataclasses.dataclass(frozen=True, eq=False)
class Few:
    """Stands for several tables: what they show, who is in them, and who and what can be left
    out.
    """

    seen: Shown
    origin: object = None

    @property
    def people(self) -> int:
        return self.seen.persons

    @property
    def size(self) -> int:
        return self.people

    def shown(self) -> Shown:
        return self.seen

    def keep_people(self, mask):
        number = np.cumsum(mask) - 1
        rows = tuple(
            ShownRows(r.table, number[r.person[mask[r.person]]], r.shows[mask[r.person]])
            for r in self.seen.rows
        )
        secrets = {
            name: ShownSensitive(number[s.person[mask[s.person]]], s.code[mask[s.person]])
            for name, s in self.seen.sensitive.items()
        }
        before = np.arange(self.people) if self.origin is None else self.origin
        return Few(Shown(int(mask.sum()), self.seen.own[mask], rows, secrets), before[mask])

    def kept(self, stays):
        rows = tuple(
            (
                ShownRows(r.table, r.person[stays[r.table]], r.shows[stays[r.table]])
                if r.table in stays
                else r
            )
            for r in self.seen.rows
        )
        secrets = {
            name: (
                ShownSensitive(s.person[stays[table]], s.code[stays[table]])
                if table in stays
                else s
            )
            for name, s in self.seen.sensitive.items()
            for table in [name.partition(".")[0]]
        }
        return Few(Shown(self.seen.persons, self.seen.own, rows, secrets), self.origin)


def few(people, values=None, column="people.diagnosis", shuffled=None) -> Few:
    """People of the definitions as tables show them; ``values`` are sets by person, or tuples in
    the order of the rows.
    """
    stream = np.random.default_rng(shuffled or 0)
    rows = []
    for table in TABLES:
        pairs = np.array(
            [(p, row) for p, person in enumerate(people) for row in person[1].get(table, ())],
            dtype=int,
        )
        pairs = stream.permutation(pairs.reshape(-1, 2)) if shuffled else pairs.reshape(-1, 2)
        rows.append(
            ShownRows(table, pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64) * 7 + 3)
        )
    secrets = {}
    if values is not None:
        held = np.array(
            [
                (p, v)
                for p, own in enumerate(values)
                for v in (own if isinstance(own, tuple) else sorted(own))
            ],
            dtype=np.int64,
        ).reshape(-1, 2)
        secrets[column] = ShownSensitive(held[:, 0], held[:, 1])
    own = np.array([person[0] for person in people], dtype=np.int64)
    return Few(Shown(len(people), own, tuple(rows), secrets))


SIX = (  # worked by hand: two classes of three, visits by department
    ("A", {"visits": ("cardio",)}),
    ("A", {"visits": ("cardio",)}),
    ("A", {"visits": ("cardio", "onco", "cardio", "derm")}),
    ("B", {"visits": ("derm", "onco")}),
    ("B", {"visits": ("derm", "onco")}),
    ("B", {"visits": ("derm", "derm")}),
)
_CODES = {"A": 0, "B": 1, "cardio": 0, "derm": 1, "onco": 2}


def six() -> Few:
    """The worked example."""
    people = [
        (_CODES[own], {t: tuple(_CODES[row] for row in rows) for t, rows in by.items()})
        for own, by in SIX
    ]
    return few(people, [by["visits"] for _, by in people], "visits.illness")
