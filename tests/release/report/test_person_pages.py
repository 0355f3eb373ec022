"""What was done to several tables, as the report page and explain tell it: in sentences, and of
every means.
"""

from __future__ import annotations

import html
import json
import re

import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core import registry
from sfumato.core.shape import Shape
from sfumato.release.report.person_pages import describe_steps
from tests.data.relational.test_released import RECIPE
from tests.data.relational.test_tables_shell import sfumato  # noqa: F401 - a fixture

TOLD = [
    (
        "cap_rows",
        {"table": "visits", "at_most": 3, "people_capped": 1, "rows_dropped": 2},
        (
            "Nobody keeps more than 3 rows of visits; 1 person had more, which removed 2 rows, chosen at random."
        ),
    ),
    (
        "cap_rows",
        {"table": "visits", "at_most": 1, "people_capped": 0, "rows_dropped": 0},
        "Nobody keeps more than 1 row of visits, and nobody had more.",
    ),
    (
        "coarsen_counts",
        {"table": "visits", "to": [1, 2, 5], "rows_dropped": 1200, "people_emptied": 0},
        "Everybody has 1, 2 or 5 rows of visits, or none; this removed 1,200 rows, chosen at random.",
    ),
    (
        "coarsen_counts",
        {"table": "visits", "to": [2], "rows_dropped": 1, "people_emptied": 1},
        (
            "Everybody has 2 rows of visits, or none; this removed 1 row, chosen at random; 1 person with fewer keeps none."
        ),
    ),
    (
        "drop_people",
        {"table": "visits", "people_dropped": 1},
        "1 person was removed from all tables because of the number of rows of visits.",
    ),
    (
        "trim_rows",
        {"rows_dropped": {"visits": 30, "rx": 0}, "share_dropped": 0.0002},
        "Rows that too few persons share were removed: 30 rows of visits, 0.02 % of all.",
    ),
    (
        "even_counts",
        {"rows_dropped": {"visits": 0}, "share_dropped": 0.0},
        "Rows were removed until enough people have the same numbers of them: none had to be removed.",
    ),
    (
        "suppress_persons",
        {"people_dropped": 0, "share_dropped": 0.0},
        "All persons hide among others, so nobody was removed.",
    ),
    (
        "suppress_persons",
        {"people_dropped": 102, "share_dropped": 0.017},
        (
            "102 people without the protection of a promise were removed from all tables, 1.7 % of all."
        ),
    ),
    (
        "shift_dates",
        {
            "columns_moved": {"people": ["born"], "visits": ["came", "left"]},
            "days": 1400,
            "weekdays_kept": True,
        },
        (
            "All dates of a person (born of people and came and left of visits) were moved"
            " together by a random number of days, 1,400 at most, by whole weeks."
        ),
    ),
    (
        "key_pseudonyms",
        {"split": False, "keyed": False, "tables": 3},
        (
            "Keys were replaced by random pseudonyms, the same in all 3 tables, so that they still"
            " join."
        ),
    ),
    (
        "key_pseudonyms",
        {"split": True, "keyed": True, "tables": 3},
        (
            "Keys were replaced by pseudonyms that follow from a key of the owner, different in every branch of tables, so that nothing joins with the people or with another branch."
        ),
    ),
]


@pytest.mark.parametrize(("step", "told", "sentence"), TOLD)
def test_a_means_says_what_it_did(step, told, sentence):
    assert registry.family("steps", Shape.TABLES)[step].story({"step": step, **told}) == sentence


def test_every_means_is_told_of_in_what_its_plan_never_lacks():
    told = {step: fields for step, fields, _ in TOLD}
    means = registry.family("steps", Shape.TABLES)
    assert set(told) == set(means)
    for step, fields in told.items():
        assert set(means[step].tells) <= set(fields)


def test_page_and_shell_tell_sentences(tmp_path, sfumato):  # noqa: F811
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    out = sf.run(examples.clinic_tables(), tmp_path / "recipe.yaml", seed=5, seconds=0).write(
        tmp_path / "out"
    )
    told = describe_steps(json.loads((out / "share" / "certificate.json").read_text()))
    assert [title for title, _ in told] == [
        "cap rows",
        "global recoding in people",
        "global recoding in visits",
        "key pseudonyms",
    ]
    page = html.unescape(re.sub(r"<[^>]+>", "", (out / "share" / "report.html").read_text()))
    shell = sfumato("explain", out)[1]
    for place, (title, sentence) in enumerate(told, 1):
        assert re.fullmatch(r"[A-Z][^_]*\.", sentence)
        assert f"{place}. {title}: {sentence}" in page
        assert f"{title}: {sentence}" in shell


def test_an_edited_plan_is_told_in_its_single_facts():
    certificate = {"shape": "tables", "plan": [{"step": "cap_rows", "table": "visits"}]}
    assert describe_steps(certificate) == [("cap rows", "table: visits")]
