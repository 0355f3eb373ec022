"""Honest releases that are easily taken for edited ones: a stranger's verify finds nothing to
complain of.
"""

from __future__ import annotations

import copy
import datetime
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.source import Source
from sfumato.errors import SchemaError
from sfumato.release.folder import read_release
from sfumato.release.signatures import digest_of

MIXED = random.Random(1)
AGES = [20 + place % 15 for place in range(57)] + [90, 90, 90]
TABLE = pl.DataFrame(
    {
        "age": AGES,
        "sex": ["F", "M"] * 30,
        "work": MIXED.sample(["62.01", "62", "J", "01.11", "62.02"] * 12, 60),
        "ill": MIXED.sample(["flu", "cold", "*"] * 20, 60),
        "person": [f"P{place // 2}" for place in range(60)],
        "cost": MIXED.sample([100.5 + place * place for place in range(60)], 60),
    }
)
COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi", "kind": "numeric", "hierarchy": {"intervals": {"widths": [2, 4, 8]}}},
    "sex": {"role": "quasi", "hierarchy": "suppress"},
    "work": {"role": "keep", "hierarchy": {"classification": {"of": "nace"}}},
    "ill": "sensitive",
    "person": "drop",
    "cost": {"role": "keep", "kind": "numeric"},
}


def recipe_of(*steps: Any, columns: dict[str, Any] | None = None, **others: Any) -> Any:
    plain = {
        "sfumato": 1,
        "columns": {**COLUMNS, **(columns or {})},
        "meet": [{"k_anonymity": 2}],
        "steps": [*steps],
    }
    return recipes.from_dict({**plain, **others})


def written(folder: Path, *steps: Any, table: pl.DataFrame = TABLE, **others: Any) -> Path:
    return released(*steps, table=table, **others).write(folder) / "share"


def released(*steps: Any, table: pl.DataFrame = TABLE, **others: Any) -> Any:
    recipe = recipe_of(*steps, **others)
    people = sf.Table(table, recipe.schema, Source(name="people", format="csv"))
    return sf.anonymize(
        people,
        recipe.meet,
        recipe.steps,
        limits=recipe.limits,
        seed=1,
        options=sf.AnonymizeOptions(format="csv"),
    )


def failing(found: sf.Verification) -> dict[str, str]:
    return {claim.name: claim.detail for claim in found.claims if claim.status == "fails"}


def edited(share: Path, change: Any) -> dict[str, str]:
    """What is found of a folder in whose certificate something was changed, and sealed again."""
    file = share / "certificate.json"
    body = copy.deepcopy(json.loads(file.read_text(encoding="utf-8")))
    change(body)
    file.write_text(json.dumps({**body, "digest": digest_of(body)}), encoding="utf-8")
    return failing(sf.verify(share))


STEPS: dict[str, Any] = {
    "levels": {"global_recoding": {"levels": {"age": [1, 4], "sex": 1}, "budget": 0.5}},
    "mondrian": {"local_recoding": {"method": "mondrian"}},
    "k_member": {"local_recoding": {"method": "k_member"}},
    "exact": {"suppression": {"what": "cell", "method": "auto"}},
}


@pytest.mark.parametrize("case", STEPS)
def test_what_a_step_tells_in_its_own_words_is_no_contradiction(case, tmp_path):
    share = written(tmp_path / "out", STEPS[case])
    assert not failing(sf.verify(share))


@pytest.mark.parametrize("columns", [{}, {"person": "person"}])
def test_a_share_of_the_records_is_rounded_to_whole_ones(columns, tmp_path):
    step = {"sample": {"fraction": 0.321, "weight": "w"}}
    share = written(tmp_path / "out", step, columns=columns, meet=[], limits={"unique_records": 1})
    assert not failing(sf.verify(share))


@pytest.mark.parametrize(
    ("step", "change"),
    [
        ("levels", lambda plan: plan["levels"]["age"].update(level=0)),
        ("mondrian", lambda plan: plan.update(method="k-member")),
        ("k_member", lambda plan: plan.pop("method")),
    ],
)
def test_what_contradicts_the_recipe_is_still_noticed(step, change, tmp_path):
    share = written(tmp_path / "out", STEPS[step])
    assert "steps" in edited(share, lambda body: change(body["plan"][0]))


def test_another_share_than_the_one_asked_for_is_noticed(tmp_path):
    step = {"sample": {"fraction": 0.5}}
    share = written(tmp_path / "out", step, meet=[], limits={"unique_records": 1})
    assert "steps" in edited(share, lambda body: body["plan"][0].update(fraction=0.25))


def test_a_table_that_came_generalised_has_lost_that_before_any_step(tmp_path):
    share = written(tmp_path / "out", "global_recoding", columns={"ill": {"role": "sensitive"}})
    cards = {
        card["column"]: card
        for card in json.loads((share / "certificate.json").read_text())["story"]["cards"]
    }
    assert cards["work"]["loss"] > 0
    assert cards["ill"]["loss"] > 0
    assert not failing(sf.verify(share))


def test_of_what_is_left_nothing_may_be_covered_by_what_came_generalised(tmp_path):
    """Where the only leaves below a node went with suppressed records, it still was a node."""
    table = TABLE.with_columns(
        work=pl.Series(["62"] * 57 + ["62.01", "62.02", "01.11"]),
        age=pl.Series([*AGES[:57], 50, 60, 90]),
    )
    share = written(tmp_path / "out", {"suppression": {"what": "tuple"}}, table=table)
    assert not failing(sf.verify(share))


def test_a_loss_of_a_column_that_nobody_touched_and_that_came_as_it_is_is_noticed(tmp_path):
    share = written(tmp_path / "out", "global_recoding")
    cost = lambda body: next(card for card in body["story"]["cards"] if card["column"] == "cost")  # noqa: E731
    assert "pictures" in edited(share, lambda body: cost(body).update(loss=0.3))


def test_a_picture_that_other_attacks_do_not_give_goes(tmp_path):
    made = released("global_recoding")
    folder = made.write(tmp_path / "out", options=sf.WriteOptions(pictures=True), attack=2)
    picture = folder / "share" / "pictures" / "attacks.png"
    assert picture.is_file()
    kept = read_release(folder)
    kept.add("attacks", {**kept.record["words"]["attacks"], "tried": []})
    assert not picture.exists()
    assert not failing(sf.verify(folder / "share"))


MOMENTS = [
    datetime.datetime(2024, 1 + place % 6, 1 + place % 28, place % 24) for place in range(60)
]


@pytest.mark.parametrize("level", [1, 2, 3, 5, 6])
def test_times_of_day_have_one_usual_level_more_than_dates(level, tmp_path):
    columns = {"when": {"role": "quasi", "kind": "date", "hierarchy": "dates"}}
    step = {"global_recoding": {"levels": {"when": [level, level]}, "budget": 1}}
    table = TABLE.with_columns(when=pl.Series(MOMENTS))
    share = written(tmp_path / "out", step, columns=columns, table=table, meet=[{"k_anonymity": 1}])
    assert not failing(sf.verify(share))
    assert "levels" in edited(share, lambda body: body["plan"][0]["levels"]["when"].update(top=4))


def test_rules_that_were_hidden_before_leave_no_cell_empty(tmp_path):
    step = {"hide_rules": {"rules": ["sex=F -> ill=burn"], "support": 2, "confidence": 0.3}}
    share = written(tmp_path / "out", step, meet=[], limits={"unique_records": 1})
    plan = json.loads((share / "certificate.json").read_text())["plan"][0]
    assert plan["suppressed_cells"] == {}
    assert not failing(sf.verify(share))


@pytest.mark.parametrize("name", ["count", "label", "*"])
def test_columns_may_be_called_what_counting_calls_its_own(name, tmp_path):
    odd = TABLE.with_columns(pl.Series(name, random.Random(2).sample(["*", "a", "b"] * 20, 60)))
    share = written(
        tmp_path / "out", "global_recoding", table=odd, columns={name: {"role": "keep"}}
    )
    assert not failing(sf.verify(share))


def test_a_name_that_no_database_takes_is_refused_by_name(tmp_path):
    made = released(
        "global_recoding",
        table=TABLE.with_columns(pl.Series("*", ["a"] * 60)),
        columns={"*": "keep"},
    )
    with pytest.raises(SchemaError, match="means all columns to engines"):
        made.write(
            tmp_path / "out",
            options=sf.WriteOptions(into=f"sqlite:///{tmp_path / 'x.db'}", into_table="t"),
        )
    assert not (tmp_path / "out").exists()
