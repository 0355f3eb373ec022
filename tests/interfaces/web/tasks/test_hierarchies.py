"""The stage Hierarchies without a browser: what levels show is what a release holds, and groups
stay sound whatever is moved.
"""

from __future__ import annotations

import dataclasses
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
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError, SfumatoError
from sfumato.interfaces.web import edits
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.tasks.hierarchies import NOWHERE, fit, in_reading_order, uncovered
from sfumato.methods.hierarchies import hierarchy_table
from sfumato.methods.hierarchies.view import covers, view_hierarchy
from tests.interfaces.web.tasks.test_data import asked, bench_of

JOBS = {"nurse": "care", "midwife": "care", "cook": "trade", "smith": "trade", "clerk": "office"}


def workers() -> pl.DataFrame:
    jobs = [*JOBS, "nurse", "cook", "cook"]
    rows = 240
    return pl.DataFrame(
        {
            "age": [18 + (7 * i) % 50 for i in range(rows)],
            "job": [jobs[(5 * i) % len(jobs)] if i % 31 else None for i in range(rows)],
            "zip": [f"{10000 + 37 * (i % 20)}" for i in range(rows)],
            "illness": [["flu", "gout", "cold"][i % 3] for i in range(rows)],
        }
    )


def recipe(
    step: str = "global_recoding: {budget: 1.0}", job: str = "{frequency: {keep: [3, 1]}}"
) -> Recipe:
    return recipes.parse(f"""
sfumato: 1
columns:
  age: {{role: quasi, kind: numeric, hierarchy: {{intervals: {{widths: [5, 10, 20]}}}}}}
  job: {{role: quasi, hierarchy: {job}}}
  zip: {{role: quasi, hierarchy: {{mask_right: {{length: 5}}}}}}
  illness: {{role: sensitive}}
meet:
  - k_anonymity: {{k: 5}}
steps:
  - {step}
""")


TREE = "{tree: {nested: {'*': {care: [nurse, midwife], trade: [cook, smith], office: [clerk]}}}}"


# What is shown is what runs.


@pytest.mark.parametrize(
    ("age", "job", "zip_"), [(1, 0, 4), (1, 1, 3), (2, 1, 4), (3, 2, 5), (4, 3, 5)]
)
def test_what_levels_show_is_what_the_release_holds(age: int, job: int, zip_: int) -> None:
    """At levels that are set, the records in small classes are those that the release loses, and
    its labels are those shown.
    """
    at = {"age": age, "job": job, "zip": zip_}
    bench, plan = bench_of(workers()), recipe()
    for column, level in at.items():
        plan = edits.with_level(plan, column, level).recipe
    release = sf.run(bench.data, plan)
    for column, level in at.items():
        shown = asked(bench, "levels", recipe=plan, column=column, at=at)["levels"][level]
        assert shown["small"] == release.suppressed
        assert shown["values"] >= release.data[column].n_unique()
        kept = (
            Counter(map(str, release.data[column].to_list())) if release.suppressed == 0 else None
        )
        if kept is not None:
            assert {str(label): n for label, n in shown["items"]} == dict(kept)


@given(st.data())
def test_levels_are_counted_as_rows_would_be(data: st.DataObject) -> None:
    """Classes by the definition: the rows generalised cell by cell, and grouped."""
    cell = st.tuples(st.integers(0, 40), st.sampled_from([*JOBS, None]))
    rows = data.draw(st.lists(cell, min_size=1, max_size=40))
    level = data.draw(st.integers(0, 2))
    frame = pl.DataFrame(rows, schema={"age": pl.Int64, "job": pl.String}, orient="row")
    plan = recipes.parse(f"""
sfumato: 1
columns:
  age: {{role: quasi, kind: numeric, hierarchy: {{intervals: {{widths: [10]}}}}}}
  job: {{role: quasi, hierarchy: {TREE}}}
meet: [k_anonymity: 3]
""")
    answer = asked(bench_of(frame), "levels", recipe=plan, column="job", at={"age": 1})
    climbed = {0: lambda job: job, 1: JOBS.get, 2: lambda job: "*"}[level]
    cells = [(age // 10, climbed(job)) for age, job in rows]
    sizes = Counter(cells)
    shown = answer["levels"][level]
    assert shown["small"] == sum(n for n in sizes.values() if n < 3)
    assert shown["classes"] == len(sizes) and shown["smallest"] == min(sizes.values())
    assert sum(shown["bands"]) == len(rows)
    assert dict(shown["items"]) == dict(Counter(value for _, value in cells))


def test_persons_are_counted_where_a_column_names_them() -> None:
    frame = workers().with_columns(person=pl.Series([i // 2 for i in range(240)]))
    plan = recipe()
    attributes = {
        **plan.schema.attributes,
        "person": sf.Schema.from_roles({"person": "person"})["person"],
    }
    plan = dataclasses.replace(plan, schema=sf.Schema(attributes))
    shown = asked(bench_of(frame), "levels", recipe=plan, column="age", at={"job": 3, "zip": 5})[
        "levels"
    ]
    ages = frame.group_by("age").agg(
        pl.col("person").n_unique().alias("persons"), pl.len().alias("rows")
    )
    assert shown[0]["small"] == int(ages.filter(pl.col("persons") < 5)["rows"].sum())


def test_values_are_capped_and_the_rest_counted() -> None:
    frame = pl.DataFrame({"n": list(range(200))})
    plan = recipes.parse(
        "sfumato: 1\ncolumns: {n: {role: quasi, hierarchy: {intervals: {widths: [10]}}}}"
    )
    levels = asked(bench_of(frame), "levels", recipe=plan, column="n", at={})["levels"]
    assert len(levels[0]["items"]) == 60 and levels[0]["more"] == 140 and levels[0]["values"] == 200
    assert [label for label, _ in levels[1]["items"]] == [f"{n}-{n + 9}" for n in range(0, 200, 10)]


def test_levels_are_called_what_their_rule_calls_them_and_dates_stand_in_their_order() -> None:
    days = ["01/02/1990", "12/31/1980", "06/15/1985", "06/15/1985"]
    frame = pl.DataFrame({"born": days, "age": [30, 40, 35, 35]})
    plan = recipes.parse("""
sfumato: 1
columns:
  born: {role: quasi, kind: date, hierarchy: {dates: {format: "%m/%d/%Y"}}}
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10]}}}
""")
    born, age = (
        asked(bench_of(frame), "levels", recipe=plan, column=c, at={})["levels"]
        for c in ("born", "age")
    )
    assert [level["name"] for level in born] == ["", "month", "quarter", "year", "decade", ""]
    assert [level["name"] for level in age] == ["", "width 5", "width 10", ""]
    assert [label for label, _ in born[0]["items"]] == ["12/31/1980", "06/15/1985", "01/02/1990"]
    timed = in_reading_order([("b", 1), (None, 2), ("a", 1)], {"a": 2.0, "b": 1.0}.get)
    assert timed == [("b", 1), ("a", 1), (None, 2)]


def test_words_that_a_file_keeps_beside_its_codes_are_told(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pl.DataFrame({"sex": [1.0, 2.0, 2.0, 9.0], "age": [30.0, 40.0, 50.0, 60.0]})
    path = tmp_path / "people.sav"
    words = {"sex": {1.0: "male", 2.0: "female", 9.0: "not said"}}
    pyreadstat.write_sav(
        frame, str(path), column_labels={"sex": "Sex of respondent"}, variable_value_labels=words
    )
    bench = Bench()
    asked(bench, "open_data", path=str(path), example=None, options={})
    cards = {card["name"]: card["label"] for card in asked(bench, "columns")["columns"]}
    assert cards == {"sex": "Sex of respondent", "age": ""}
    plan = recipes.parse(
        "{columns: {sex: {role: quasi, hierarchy: {suppress: {}}}, age: {role: keep}}}"
    )
    told = asked(bench, "levels", recipe=plan, column="sex", at={})
    assert told["words"] == {"1": "male", "2": "female", "9": "not said"}
    assert {value for value, _ in told["levels"][0]["items"]} == {"1", "2", "9"}


@pytest.mark.parametrize("column", ["age", "job", "zip"])
def test_classes_of_a_column_alone_are_its_values(column: str) -> None:
    """As if nothing else were known: a class is a value, whatever the other columns are, and also
    where their hierarchies do not fit.
    """
    told = asked(
        bench_of(workers()),
        "levels",
        recipe=recipe(job="{tree: {nested: {'*': {care: [nurse]}}}}"),
        column=column,
        at={},
        alone=True,
    )
    for level in told["levels"][:1]:
        assert level["classes"] == level["values"]
        assert level["small"] == sum(n for _, n in level["items"] if n < 5)
        assert level["smallest"] == min(n for _, n in level["items"])
    assert told["levels"][-1]["classes"] == 1


def test_words_are_shown_from_common_to_rare() -> None:
    assert in_reading_order([("b", 1), ("a", 1), ("c", 5), (None, 9)]) == [
        ("c", 5),
        ("a", 1),
        ("b", 1),
        (None, 9),
    ]


# What has no place.

VALUES = ["10", "12", "25", "x", "99", "", "5-9"]
SEVERAL: list[Hierarchy] = [
    sf.intervals(5, 10),
    sf.mask_right(2),
    sf.tree({"*": {"low": ["10", "12"], "high": ["25"]}}),
    hierarchy_table([("10", "a", "*"), ("25", "b", "*")]),
    sf.tree({"*": ["10", "12", "25"]}),
    sf.classification("isco08"),
    sf.suppress(),
    sf.frequency(2),
]


@pytest.mark.parametrize("hierarchy", SEVERAL, ids=lambda h: f"{h.name}")
def test_what_has_no_place_is_what_each_value_alone_says(hierarchy: Hierarchy) -> None:
    assert uncovered(hierarchy, VALUES) == {
        value for value in VALUES if not covers(hierarchy, value)
    }


@pytest.mark.parametrize("hierarchy", SEVERAL, ids=lambda h: f"{h.name}")
def test_nodes_hold_the_records_that_the_view_of_a_hierarchy_counts(hierarchy: Hierarchy) -> None:
    counts = list(range(1, len(VALUES) + 1))
    fitted, view = fit(hierarchy, VALUES, counts), view_hierarchy(hierarchy, VALUES, counts)
    assert int(fitted.uncovered.sum()) == view.uncovered_values
    assert int(fitted.counts[fitted.uncovered].sum()) == view.uncovered_records
    for level in view.levels[:-1]:
        mine = dict(
            zip(
                fitted.ladder.labels[level.level], fitted.records(level.level).tolist(), strict=True
            )
        )
        lost = mine.pop(NOWHERE, 0)
        mine = {
            label: n
            for label, n in mine.items()
            if level.level or not fitted.uncovered[VALUES.index(str(label))]
        }
        assert mine == {node.label: node.records for node in level.nodes}
        assert lost == (view.uncovered_records if level.level else 0)
    if fitted.ladder.top:
        assert fitted.records(fitted.ladder.top).tolist() == [sum(counts)]


def test_uncovered_values_are_told_before_a_run_fails() -> None:
    bench, plan = bench_of(workers()), recipe(job=TREE.replace(", office: [clerk]", ""))
    line = next(line for line in asked(bench, "overview", recipe=plan) if line["column"] == "job")
    clerks = int((workers()["job"] == "clerk").sum())
    assert (line["uncovered"], line["records"]) == (1, clerks)
    assert asked(bench, "without_place", recipe=plan, column="job") == {
        "values": [("clerk", clerks)],
        "more": 0,
    }
    other = asked(bench, "levels", recipe=plan, column="age", at={"job": 1})
    assert other["records_lost"] == 0 and other["levels"][0]["classes"] > 0
    with pytest.raises(SfumatoError):
        sf.run(bench.data, plan)


def test_a_hierarchy_that_does_not_fit_at_all_is_told_as_such() -> None:
    plan = recipe(job="{intervals: {widths: [5]}}")
    lines = asked(bench_of(workers()), "overview", recipe=plan)
    assert next(line for line in lines if line["column"] == "job")["uncovered"] == len(JOBS)
    levels = asked(
        bench_of(workers().filter(pl.col("job").is_not_null())),
        "levels",
        recipe=plan,
        column="job",
        at={},
    )
    assert levels["uncovered"] == len(JOBS) and [level["values"] for level in levels["levels"]] == [
        len(JOBS),
        0,
        1,
    ]


def test_the_search_is_asked_for_levels_without_a_release() -> None:
    bench, plan = bench_of(workers()), recipe(step="global_recoding: {budget: 0.05}")
    chosen = asked(bench, "search_levels", recipe=plan)
    release = sf.run(bench.data, plan)
    assert chosen == release.alternatives().chosen.levels
    with pytest.raises(ParameterError):
        asked(bench, "search_levels", recipe=dataclasses.replace(plan, steps=()))


@pytest.mark.parametrize("builder", sorted(registry.family("hierarchies")))
def test_every_kind_begins_with_something_that_can_be_built_or_asks(builder: str) -> None:
    bench, plan = bench_of(workers()), recipe()
    spec = asked(bench, "begin", recipe=plan, column="job", builder=builder)
    assert (spec is None) == (builder in ("file", "like"))
    if spec is not None:
        assert registry.build("hierarchies", spec).name == builder


# Groups.

LABELS = st.sampled_from(["a", "b", "c", "d"])


def test_groups_are_moved_parted_and_renamed_in_a_recipe() -> None:
    bench, plan = bench_of(workers()), recipe(job=TREE)

    def change(act: str, level: int = 1, **given: Any) -> dict[str, Any]:
        return asked(
            bench, "regroup", recipe=plan, column="job", level=level, act=act, arguments=given
        )["tree"]["nested"]["*"]

    assert change("move", members=["cook"], to="care") == {
        "care": ["nurse", "midwife", "cook"],
        "trade": ["smith"],
        "office": ["clerk"],
    }
    assert change("move", members=["cook", "clerk"], to="others")["others"] == ["cook", "clerk"]
    assert change("part", members=["clerk"])["clerk"] == []
    assert "Pflege" in change("rename", old="care", new="Pflege")
    every = {"members": ["care", "office"], "to": "inside"}
    together = asked(
        bench, "regroup", recipe=plan, column="job", level=2, act="move", arguments=every
    )
    paths = (
        registry.build("hierarchies", together).paths(["nurse", "clerk", "cook"], [1, 1, 1]).rows
    )
    assert paths == (
        ("nurse", "care", "inside", "*"),
        ("clerk", "office", "inside", "*"),
        ("cook", "trade", "trade", "*"),
    )
    with pytest.raises(ParameterError):
        change("rename", old="care", new="trade")
    with pytest.raises(ParameterError):
        change("move", members=["cook"], to=" ")
    with pytest.raises(ParameterError):
        change("move", members=["cook"], to="*")


def test_a_value_without_a_place_gets_one() -> None:
    bench, plan = bench_of(workers()), recipe(job=TREE.replace(", office: [clerk]", ""))
    groups = asked(bench, "groups", recipe=plan, column="job", level=1)
    assert [value for value, _ in groups["lost"]] == ["clerk"]
    spec = asked(
        bench,
        "regroup",
        recipe=plan,
        column="job",
        level=1,
        act="move",
        arguments={"members": ["clerk"], "to": "trade"},
    )
    built = registry.build("hierarchies", spec)
    assert uncovered(built, list(JOBS)) == set()


def test_values_that_stand_for_themselves_are_in_one_box() -> None:
    groups = asked(bench_of(workers()), "groups", recipe=recipe(), column="job", level=1)
    assert [group["label"] for group in groups["groups"]] == ["other"]
    assert len(groups["single"]) == 3


# Files.


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "utf-8"), (",", "utf-8"), ("\t", "cp1252")]
)
def test_a_file_is_recognised_and_shows_what_it_covers(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    path = tmp_path / "jobs.csv"
    lines = [
        delimiter.join((job, group if group != "care" else "Pflege für alle", "*"))
        for job, group in JOBS.items()
    ]
    path.write_text("\n".join(lines[:-1]) + "\n", encoding)
    bench, plan = bench_of(workers()), recipe()
    how = asked(bench, "delimiter_of", path=str(path))
    assert how == {"delimiter": delimiter, "encoding": encoding, "listed": 4}
    spec = {"file": {"path": str(path), "delimiter": delimiter, "encoding": encoding}}
    answer = asked(bench, "levels", recipe=plan, column="job", at={}, hierarchy=spec)
    clerks = int((workers()["job"] == "clerk").sum())
    assert (answer["uncovered"], answer["records_lost"]) == (1, clerks)
    mended = {"file": {**spec["file"], "other": "Other"}}
    assert (
        asked(bench, "levels", recipe=plan, column="job", at={}, hierarchy=mended)["uncovered"] == 0
    )


def test_what_is_no_hierarchy_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("a;b;*\na;c;*\n", "utf-8")
    with pytest.raises(SfumatoError):
        asked(Bench(), "delimiter_of", path=str(path))


@pytest.mark.parametrize("column", ["age", "job", "zip"])
def test_an_exported_hierarchy_shows_the_same_levels_when_it_comes_back(
    tmp_path: Path, column: str
) -> None:
    bench, plan = bench_of(workers()), recipe()
    path = tmp_path / "out.csv"
    answer = asked(bench, "export_hierarchy", recipe=plan, column=column, path=str(path))
    assert answer["values"] == workers()[column].drop_nulls().n_unique()
    mine = asked(bench, "levels", recipe=plan, column=column, at={})
    again = asked(
        bench, "levels", recipe=plan, column=column, at={}, hierarchy={"file": {"path": str(path)}}
    )
    for level in (*mine["levels"], *again["levels"]):
        del level["name"]  # a file says nothing of widths
    assert again == mine


def test_the_overview_holds_no_value() -> None:
    said = json.dumps(asked(bench_of(workers()), "overview", recipe=recipe(job=TREE)))
    assert not any(job in said for job in JOBS)
