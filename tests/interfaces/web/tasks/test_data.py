"""The stage Data without a browser: what the bench tells of columns and rows, what gestures change,
what uploads leave.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import stat
from collections import Counter
from collections.abc import AsyncIterator
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
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.web import choices, edits, uploads
from sfumato.interfaces.web.data_process import Bench, task_function
from sfumato.interfaces.web.project import Project
from sfumato.interfaces.web.reviewed_columns import check, checked, forget

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


def test_a_role_given_to_many_brings_hierarchies_and_takes_levels() -> None:
    recipe = recipe_of(PEOPLE)
    quasi = edits.with_role(recipe, ["illness"], "quasi", {"illness": sf.suppress()})
    assert (
        quasi.recipe.schema["illness"].hierarchy == sf.suppress()
        and quasi.sentence == "illness: quasi"
    )
    plain = edits.with_role(recipe, ["age", "job", "illness", "name"], "keep", {})
    assert plain.recipe.schema.quasi == () and choices.bounds_of(plain.recipe) == {}
    assert plain.sentence == "4 columns: keep"
    assert recipes.parse(recipes.dump(plain.recipe)).schema == plain.recipe.schema


@pytest.mark.parametrize("choice", edits.CHOICES)
def test_every_choice_of_a_role_is_read_back(choice: str) -> None:
    changed = edits.with_role(recipe_of(PEOPLE), ["job"], choice, {}).recipe
    assert edits.choice_of(changed.schema["job"]) == choice
    again = recipes.parse(recipes.dump(changed))
    assert edits.choice_of(again.schema["job"]) == choice


def test_a_level_is_set_and_left_to_the_search() -> None:
    recipe = recipe_of(PEOPLE)
    assert choices.set_levels(recipe) == {"age": 1}
    assert choices.set_levels(edits.with_level(recipe, "job", 0).recipe) == {"age": 1, "job": 0}
    assert choices.bounds_of(edits.with_level(recipe, "age", None).recipe) == {}
    bare = dataclasses.replace(recipe, steps=())
    assert edits.with_level(bare, "age", 2).recipe == bare
    assert choices.lattice_step(edits.with_recoding(bare).recipe) is not None


def test_a_hierarchy_with_fewer_levels_loses_the_level_that_was_set() -> None:
    recipe = edits.with_level(recipe_of(PEOPLE), "age", 4).recipe
    same = edits.with_hierarchy(recipe, "age", sf.intervals(2, 4, 8), "intervals", top=4)
    less = edits.with_hierarchy(recipe, "age", sf.suppress(), "all or nothing", top=1)
    assert choices.set_levels(same.recipe) == {"age": 4} and choices.set_levels(less.recipe) == {}


def test_the_crowd_is_that_of_the_strongest_promise() -> None:
    recipe = recipe_of(PEOPLE)
    assert edits.crowd_of(recipe) == 5
    assert (
        edits.crowd_of(dataclasses.replace(recipe, meet=(sf.KAnonymity(3), sf.KAnonymity(11))))
        == 11
    )
    assert edits.crowd_of(dataclasses.replace(recipe, meet=())) == edits.USUAL_K


def test_columns_that_were_looked_at_are_remembered(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    try:
        assert checked(project) == frozenset()
        check(project, ["age", 'we"ird <b>'])
        check(project, ["job"])
        assert checked(project) == {"age", "job", 'we"ird <b>'}
        (project.folder / "checked.json").write_text("{", "utf-8")
        assert checked(project) == frozenset()
        forget(project)
        assert not (project.folder / "checked.json").exists()
    finally:
        project.close()


def test_columns_that_are_gone_leave_the_recipe_with_their_levels() -> None:
    changed = edits.without_columns(recipe_of(PEOPLE), ["age"])
    assert "age" not in changed.recipe.schema.attributes and choices.bounds_of(changed.recipe) == {}
    assert changed.sentence == "age: not in the table any more"


def test_codes_are_read_as_missing_in_their_column_only() -> None:
    frame = people().with_columns(age=pl.when(pl.col("age") < 25).then(-9).otherwise(pl.col("age")))
    bench = bench_of(frame)
    codes = asked(bench, "columns")["missing_codes"]
    assert codes == {"age": [-9]}
    changed = edits.with_missing_codes(recipe_of(PEOPLE), codes).recipe
    assert recipes.parse(recipes.dump(changed)).intake.missing_in == {"age": (-9,)}
    levels = asked(bench, "levels", recipe=changed, column="age", at={})["levels"]
    assert (None, int((frame["age"] == -9).sum())) in levels[0]["items"]


@pytest.mark.parametrize("rule", ["category", "wildcard"])
def test_what_a_missing_value_equals_is_said_for_a_column(rule: str) -> None:
    changed = edits.with_missing(recipe_of(PEOPLE), ["job"], rule).recipe
    assert str(recipes.parse(recipes.dump(changed)).schema["job"].missing) == rule


# Files that are sent, and folders.


async def _parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def test_an_upload_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    name = asyncio.run(uploads.take(tmp_path, "..%2F..%2Fvisits.csv", _parts(b"a,b\n", b"1,2\n")))
    again = asyncio.run(uploads.take(tmp_path, "visits.csv", _parts(b"x")))
    path = uploads.uploaded_file(tmp_path, name)
    assert (name, again) == ("visits.csv", "visits-2.csv")
    assert path.parent == tmp_path / "uploads" and path.read_bytes() == b"a,b\n1,2\n"
    assert (
        stat.S_IMODE(path.stat().st_mode) == 0o600
        and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    )


def test_an_upload_that_is_too_large_or_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError("gone")

    with pytest.raises(uploads.TooLarge):
        asyncio.run(uploads.take(tmp_path, "a.csv", _parts(b"1234", b"5678"), limit=5))
    with pytest.raises(Exception, match="cannot be kept"):
        asyncio.run(uploads.take(tmp_path, "a.csv", broken()))
    assert list((tmp_path / "uploads").iterdir()) == []


@given(st.text(max_size=300))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    cleaned = uploads.clean(name)
    assert cleaned and "/" not in cleaned and "\\" not in cleaned and not cleaned.startswith(".")
    assert len(cleaned) <= uploads.LONGEST_NAME + 20


def test_only_what_was_sent_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("x", "utf-8")
    uploads.folder_of(tmp_path)
    with pytest.raises(ParameterError):
        uploads.uploaded_file(tmp_path, "../secret.csv")


def test_a_folder_shows_folders_and_tables(tmp_path: Path) -> None:
    for name in ("b.csv", "A.parquet", "notes.md", ".hidden.csv", "c.XLSX"):
        (tmp_path / name).write_bytes(b"12")
    (tmp_path / "more").mkdir()
    found_here = uploads.listing(str(tmp_path / "b.csv"))
    assert found_here.folders == ("more",) and [name for name, _ in found_here.files] == [
        "A.parquet",
        "b.csv",
        "c.XLSX",
    ]
    assert found_here.above == str(tmp_path.parent)
    with pytest.raises(UnreadableInput):
        uploads.listing(str(tmp_path / "nowhere" / "deep" / "x.csv"))
