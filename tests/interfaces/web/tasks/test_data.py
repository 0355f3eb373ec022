"""The stage Data without a browser: what the bench tells of columns and rows, what gestures change,
what uploads leave.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.recipe import Recipe
from sfumato.interfaces.web.data_process import Bench, task_function

SECRET = "Zebulon Quastenflosser"


def quiet(share: float, words: str = "") -> None:
    """Progress that nobody listens to."""


def asked(bench: Bench, task: str, **given: Any) -> Any:
    return task_function(task)(bench, quiet, **given)


def bench_of(frame: pl.DataFrame) -> Bench:
    return Bench(table=sf.read(frame))


def people(rows: int = 120) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"{SECRET} {i}" for i in range(rows)],
            "age": [20 + i % 40 for i in range(rows)],
            "job": [["nurse", "cook", "smith"][i % 3] for i in range(rows)],
            "illness": [["flu", "gout"][i % 2] for i in range(rows)],
        }
    )


def recipe_of(text: str) -> Recipe:
    return recipes.parse(text)


PEOPLE = """
sfumato: 1
columns:
  name: {role: drop}
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  job: {role: quasi, hierarchy: {suppress: {}}}
  illness: {role: sensitive}
meet:
  - k_anonymity: {k: 5}
steps:
  - global_recoding: {budget: 0.02, levels: {age: [1, 1]}}
"""


# What the bench tells.


def test_cards_of_columns_hold_no_value() -> None:
    answer = asked(bench_of(people()), "columns")
    said = json.dumps(answer)
    assert SECRET not in said and "nurse" not in said and "gout" not in said
    by_name = {card["name"]: card for card in answer["columns"]}
    assert by_name["name"]["roles"] == ["drop"] and by_name["name"]["distinct"] == 120
    assert by_name["job"]["bars"] == [1.0, 1.0, 1.0]
    assert all(0 <= bar <= 1 for card in answer["columns"] for bar in card["bars"])


def test_text_that_says_numbers_or_dates_is_drawn_from_low_to_high() -> None:
    days = ["12/31/1990", "01/01/1980", "01/02/1980", "01/03/1980"] * 40
    ages = [str(age) for age in (20, 21, 21, 29)] * 40
    frame = pl.DataFrame({"birth date": days, "age": ages, "half": [*ages[:-1], "old"]})
    cards = {card["name"]: card for card in asked(bench_of(frame), "columns")["columns"]}
    assert cards["birth date"]["kind"] == "date" and cards["birth date"]["bars"][0] == 1.0
    assert (
        cards["birth date"]["bars"][-1] == pytest.approx(1 / 3, abs=0.01)
        and 0.0 in cards["birth date"]["bars"]
    )
    assert cards["age"]["kind"] == "numeric" and cards["age"]["bars"][:2] == [0.5, 1.0]
    assert cards["half"]["bars"] == sorted(cards["half"]["bars"], reverse=True)


def test_missing_values_are_counted() -> None:
    frame = people().with_columns(
        pl.when(pl.col("age") < 25).then(None).otherwise(pl.col("age")).alias("age")
    )
    cards = {card["name"]: card for card in asked(bench_of(frame), "columns")["columns"]}
    assert cards["age"]["missing"] == frame["age"].null_count()
    assert cards["age"]["distinct"] == frame["age"].n_unique() - 1


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.none() | st.integers(0, 1)),
        min_size=1,
    )
)
def test_who_is_alone_is_counted_by_definition(rows: list[tuple[int, str, int | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.String, "c": pl.Int64}, orient="row")
    roles = (
        "{a: {role: quasi, hierarchy: {intervals: {widths: [2]}}}, b: {role: keep}, c: {role:"
        " quasi}}"
    )
    answer = asked(bench_of(frame), "alone", recipe=recipe_of(f"sfumato: 1\ncolumns: {roles}"))
    seen = Counter((a, c) for a, _, c in rows)
    assert answer == {
        "columns": 2,
        "alone": sum(seen[a, c] == 1 for a, _, c in rows),
        "records": len(rows),
    }


def test_a_hierarchy_that_fails_does_not_hide_who_is_alone() -> None:
    text = PEOPLE.replace("{suppress: {}}", "{tree: {nested: {'*': [nurse]}}}")
    assert asked(bench_of(people()), "alone", recipe=recipe_of(text))["records"] == 120


def test_a_suggestion_can_be_built() -> None:
    specs = asked(bench_of(people()), "suggest", columns=["age", "job", "illness"])
    built = {name: registry.build("hierarchies", spec).name for name, spec in specs.items()}
    assert built == {"age": "intervals", "job": "suppress", "illness": "suppress"}


# Rows.


def test_direct_and_undecided_columns_are_shown_only_when_asked_for() -> None:
    bench, recipe = bench_of(people()), recipe_of(PEOPLE)
    answer = asked(bench, "rows", recipe=recipe, page=1)
    assert SECRET not in json.dumps(answer)
    assert [column["hidden"] for column in answer["columns"]] == [True, False, False, False]
    shown = asked(bench, "rows", recipe=recipe, page=1, revealed=["name"])
    assert shown["cells"][0][:2] == [f"{SECRET} 0", f"{SECRET} 1"]
    undecided = recipe_of(PEOPLE.replace("illness: {role: sensitive}", "illness: {role: ask}"))
    assert asked(bench, "rows", recipe=undecided, page=1)["columns"][3]["hidden"]


def test_rows_are_not_sorted_by_what_is_hidden() -> None:
    answer = asked(
        bench_of(people()), "rows", recipe=recipe_of(PEOPLE), page=1, sort="name", descending=True
    )
    assert answer["sort"] is None and answer["numbers"][:3] == [1, 2, 3]


@pytest.mark.parametrize("descending", [False, True])
def test_pages_in_order_are_the_sorted_table(descending: bool) -> None:
    frame = people().with_columns(
        pl.when(pl.col("age") == 30).then(None).otherwise(pl.col("age")).alias("age")
    )
    bench, recipe = bench_of(frame), recipe_of(PEOPLE)
    first = asked(bench, "rows", recipe=recipe, page=1, sort="age", descending=descending)
    pages = [
        asked(bench, "rows", recipe=recipe, page=page, sort="age", descending=descending)
        for page in range(1, first["pages"] + 1)
    ]
    ages = [age for page in pages for age in page["cells"][1]]
    numbers = [number - 1 for page in pages for number in page["numbers"]]
    present = [age for age in frame["age"].to_list() if age is not None]
    wanted = [str(age) for age in sorted(present, reverse=descending)] + [None] * frame[
        "age"
    ].null_count()
    assert ages == wanted and sorted(numbers) == list(range(120))
    assert [frame["age"][i] for i in numbers] == [None if age is None else int(age) for age in ages]


def test_a_page_behind_the_last_is_the_last() -> None:
    answer = asked(bench_of(people()), "rows", recipe=recipe_of(PEOPLE), page=1 << 40)
    assert (answer["page"], answer["pages"], answer["numbers"][-1]) == (3, 3, 120)


def test_an_empty_table_has_one_empty_page() -> None:
    answer = asked(bench_of(people().head(0)), "rows", recipe=recipe_of(PEOPLE), page=1)
    assert answer["numbers"] == [] and answer["pages"] == 1


def test_text_that_is_held_as_codes_is_sorted_as_text(tmp_path: Path) -> None:
    rows = 140_000  # from 131,072 rows on a table that is read holds text as categories
    frame = pl.DataFrame({"job": [f"{'zyx'[i % 3]}{i % 7}" for i in range(rows)], "n": range(rows)})
    frame.write_csv(tmp_path / "large.csv")
    bench = Bench()
    asked(bench, "open_data", path=str(tmp_path / "large.csv"), example=None, options={})
    assert "job" in bench.data.coded
    recipe = recipe_of("sfumato: 1\ncolumns: {job: {role: keep}, n: {role: keep}}")
    last = asked(bench, "rows", recipe=recipe, page=1 << 40, sort="job")
    assert set(last["cells"][0]) == {max(frame["job"])}
    assert [int(n) for n in last["cells"][1]] == sorted(int(n) for n in last["cells"][1])


# What gestures change.


# Files that are sent, and folders.
