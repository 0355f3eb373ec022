"""What profile proposes for several tables: promises about persons with their means, and named
errors for tables that cannot be people's.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files
from sfumato.errors import SchemaError
from tests.data.relational.test_tables_shell import sfumato  # noqa: F401 - a fixture

DRAWS = np.random.default_rng(1)
PEOPLE = pl.DataFrame(
    {
        "person_id": [f"p{i:04d}" for i in range(200)],
        "age": DRAWS.integers(20, 60, 200),
        "sex": ["f", "m"] * 100,
    }
)
VISITS = pl.DataFrame(
    {
        "person_id": PEOPLE["person_id"].gather(DRAWS.integers(0, 200, 600)),
        "ward": DRAWS.choice(["eye", "skin"], 600),
    }
)


def test_the_road_that_needs_nothing_said(tmp_path, sfumato):  # noqa: F811
    for name, table in examples.clinic_tables(300).items():
        table.write_csv(tmp_path / f"{name}.csv")
    recipe, out = tmp_path / "recipe.yaml", tmp_path / "out"
    assert sfumato("profile", tmp_path, "-o", recipe)[:2] == (0, "")
    assert sfumato("profile", tmp_path, "-o", recipe)[0] == 2
    assert sfumato("profile", tmp_path, "-o", tmp_path / "other.yaml", "--json")[0] == 2
    text = recipe.read_text()
    assert "- persons_k_anonymity: {k: 5, knows: " in text
    assert "- suppress_persons: {budget: 0.1}" in text
    code, _, talk = sfumato("run", tmp_path, "-r", recipe, "-o", out, "--attack", "0")
    assert code == 0, talk
    assert sfumato("verify", out)[0] == 7
    promised = json.loads((out / "share" / "certificate.json").read_text())["verdicts"]
    assert any(verdict["model"] == "persons_k_anonymity" for verdict in promised)


def test_promises_follow_what_they_cost():
    # everybody has one row that all share: any row may be known, and how many there are
    rows = pl.DataFrame({"person_id": PEOPLE["person_id"], "ward": ["eye", "skin"] * 100})
    design = sf.profile({"people": PEOPLE, "visits": rows}).design
    knows = [
        line.spec["persons_k_anonymity"]["knows"]
        for line in design.meet
        if "persons_k_anonymity" in line.spec
    ]
    assert knows == ["counts", "any"]
    assert not design.refused
    steps = [next(iter(line.spec)) for line in design.steps]
    assert steps[-3:] == ["trim_rows", "even_counts", "suppress_persons"]


def test_the_same_name_is_enough_where_every_value_is_a_key():
    people = PEOPLE.rename({"person_id": "zper"})
    visits = VISITS.rename({"person_id": "zper"})
    top, below = sf.profile({"people": people, "visits": visits}).tables
    assert (top.key.column, below.parent.table, below.parent.column) == ("zper", "people", "zper")
    assert (
        below.parent.reason
        == "100 % of its values are a zper of people, and it has the same name, though not one like"
        " a key's"
    )
    one_other = visits.with_columns(
        zper=pl.when(pl.int_range(600) > 0).then("zper").otherwise(pl.lit("nobody"))
    )
    proposal = sf.profile({"people": people, "visits": one_other})
    assert proposal.apart == ("visits",)
    assert proposal.why[0].startswith("only 99.8 % of its zper are a zper of people")
    # ages that happen to be different are no keys where there is one
    few = PEOPLE.head(20).with_columns(age=pl.int_range(20, 40))
    rows = pl.DataFrame(
        {"age": [20, 30, 39] * 20, "person_id": few["person_id"].gather([0, 5, 19] * 20)}
    )
    _, below = sf.profile({"people": few, "visits": rows}).tables
    assert below.parent.column == "person_id"


@pytest.mark.parametrize(
    ("people", "words"),
    [
        (PEOPLE.head(0), "has no rows"),
        (pl.concat([PEOPLE, PEOPLE.head(3)]), r"nearest, with 0 missing value\(s\) and 3 row\(s\)"),
        (
            PEOPLE.with_columns(
                person_id=pl.when(pl.int_range(200) < 2).then(None).otherwise(pl.col("person_id"))
            ),
            "2 missing",
        ),
        (
            PEOPLE.select(
                site=pl.Series(["A", "B"] * 100),
                no=pl.Series([i // 2 for i in range(200)]),
                sex="sex",
            ),
            "'no' and 'site' together do",
        ),
        (None, "no table has a row for every person: 'visits'"),
    ],
)
def test_rows_are_not_taken_for_people(people, words):
    visits = VISITS.with_row_index("visit_id", offset=1000)
    tables = {
        "visits": visits,
        "drugs": pl.DataFrame({"visit_id": visits["visit_id"], "drug": ["a", "b"] * 300}),
    }
    with pytest.raises(SchemaError, match=words):
        sf.profile(tables if people is None else {"people": people, "visits": visits})


def test_nothing_is_people_where_no_name_says_so():
    days = pl.DataFrame({"day": [f"2024-01-{i:02d}" for i in range(1, 29)], "rain": range(28)})
    with pytest.raises(SchemaError, match="which table holds the people is unclear"):
        sf.profile({"weather": days, "more": days.rename({"rain": "sun"})})


def test_files_may_be_called_as_one_likes(tmp_path, sfumato):  # noqa: F811
    PEOPLE.write_csv(tmp_path / "the people's.csv")
    VISITS.write_parquet(tmp_path / "visits 2024.parquet")
    code, text, _ = sfumato("profile", tmp_path)
    assert code == 0
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(text, "proposed"), base=tmp_path)
    assert list(recipe.tables) == ["the_people_s", "visits_2024"]
    assert sf.run(tmp_path, recipe, seed=1, seconds=0).holds
    VISITS.write_csv(tmp_path / "Visits_2024.csv")
    assert sfumato("profile", tmp_path)[0] == 5
