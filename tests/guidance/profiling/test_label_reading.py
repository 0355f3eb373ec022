"""What variable labels say of columns whose names say nothing."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.core.schema import Role
from sfumato.core.source import Source
from sfumato.guidance.profiling.label_reading import guess_of_label
from sfumato.guidance.profiling.proposal import propose


@pytest.mark.parametrize(
    ("label", "roles"),
    [
        ("NUMBER OF CIGARETTES SMOKED PER DAY IN 1971", (Role.SENSITIVE,)),
        ("DX HIGH BLOOD PRESSURE IN 1971, 1:EVER, 0:NEVER", (Role.SENSITIVE,)),
        ("WEIGHT IN KILOGRAMS IN 1971", (Role.QUASI,)),
        ("Country of birth", (Role.QUASI,)),
        ("race/ethnicity", (Role.QUASI, Role.SENSITIVE)),
    ],
)
def test_a_label_is_read_as_a_phrase(label, roles):
    assert guess_of_label(label).roles == roles


@pytest.mark.parametrize(
    "label", ["UNIQUE PERSONAL IDENTIFIER", "Respondent ID number", "household serial number", ""]
)
def test_labels_of_numbers_of_people_say_nothing(label):
    assert guess_of_label(label) is None


def proposal_of(labels: dict[str, str]):
    rows = 200
    table = pl.DataFrame(
        {
            "v1": [i % 7 for i in range(rows)],
            "v2": [i % 2 for i in range(rows)],
            "wt71": [45.0 + (i * 37 % 500) / 10 for i in range(rows)],
            "seqn": [10_000 + 3 * i for i in range(rows)],
            "age": [20 + i % 60 for i in range(rows)],
        }
    )
    return propose(table, Source(labels={"variables": labels}))


def test_labels_answer_what_names_leave_open():
    asked = proposal_of({})
    assert {c.name for c in asked.columns if Role.ASK in c.roles} >= {"v2", "wt71", "seqn"}
    read = proposal_of(
        {
            "v1": "How often do you drink?",
            "v2": "Ever in prison",
            "wt71": "Weight in kilograms in 1971",
            "seqn": "Household income",
        }
    )
    assert read["v1"].roles == read["v2"].roles == (Role.SENSITIVE,)
    assert read["wt71"].roles == (Role.QUASI,)
    # A label does not turn what may number people into something else.
    assert read["seqn"].roles == (Role.ASK,)
    assert "the variable label says" in read["v1"].reasons[0]


def test_a_name_that_is_known_goes_before_the_label():
    assert proposal_of({"age": "party voted for"})["age"].roles == (Role.QUASI,)
