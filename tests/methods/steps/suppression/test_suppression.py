"""Leaving out records or columns, and every cell of the grid of generalization and suppression by
its name.
"""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.schema import Attribute, Missing, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, RecipeError, SchemaError, Unsatisfiable
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import LDiversity
from sfumato.methods.models.subsets import KOnCombinations, KOnSubsets
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from sfumato.methods.steps.suppression.suppression import Suppress
from tests.oracles import definitions as oracle
from tests.random_tables import tables


def goal(*models):
    return Goal(models=models)


def numbered(table):
    """A random table with the number of each row beside it."""
    frame = table.frame().with_columns(number=pl.Series(range(len(table.rows)), dtype=pl.Int64))
    return Table(frame, Schema({**table.schema().attributes, "number": Attribute((Role.KEEP,))}))


# ------------------------------------------------------------------------------------------ records


@given(table=tables(most_rows=20), k=st.integers(1, 4))
def test_tuples_of_small_classes_go_and_no_others(table, k):
    dataset, step = numbered(table), Suppress("tuple")
    gone = oracle.suppressed_rows(table.rows, k)
    if all(gone):
        with pytest.raises(Unsatisfiable, match="some must remain"):
            step.plan(dataset, goal(KAnonymity(k)))
        return
    plan = step.plan(dataset, goal(KAnonymity(k)))
    made = step.apply(dataset, plan)
    assert plan.suppressed == sum(gone)
    assert made.column("number").to_list() == [i for i, lost in enumerate(gone) if not lost]
    assert made.to_polars().drop("number").rows() == [
        r for r, lost in zip(table.rows, gone, strict=True) if not lost
    ]
    assert plan.score == pytest.approx(sum(gone) / len(gone))


@given(table=tables(most_columns=3, most_rows=24), k=st.integers(1, 4), size=st.integers(1, 3))
def test_tuples_go_until_nothing_fails(table, k, size):
    size = min(size, len(table.names))
    kept = list(table.rows)
    while (
        True
    ):  # every record that is rare on some columns goes at once, which may make others rare
        groups = [
            [sum(all(one[a] == other[a] for a in c) for other in kept) for one in kept]
            for c in itertools.combinations(range(len(table.names)), size)
        ]
        rare = [any(g[i] < k for g in groups) for i in range(len(kept))]
        if not any(rare):
            break
        kept = [row for row, lost in zip(kept, rare, strict=True) if not lost]
    step, model = Suppress("tuple"), KOnSubsets(k, size=size)
    if not kept:
        with pytest.raises(Unsatisfiable):
            step.plan(numbered(table), goal(model))
        return
    made = step.apply(numbered(table), step.plan(numbered(table), goal(model)))
    assert made.to_polars().drop("number").rows() == kept
    assert sf.judge(made, [model])[0].holds


def test_tuples_under_a_model_of_sensitive_values():
    # Machanavajjhala-style homogeneous class: the three with one illness go, though they are three
    frame = pl.DataFrame(
        {"zip": ["1"] * 3 + ["2"] * 3, "illness": ["flu"] * 3 + ["flu", "cold", "gout"]}
    )
    people = Table(
        frame, Schema({"zip": Attribute((Role.QUASI,)), "illness": Attribute((Role.SENSITIVE,))})
    )
    release = sf.anonymize(
        people, [KAnonymity(2), LDiversity("illness", l=2)], [Suppress("tuple")], seed=1
    )
    assert release.suppressed == 3
    assert release.released.column("zip").to_list() == ["2"] * 3


def test_budget_of_tuples():
    people = examples.special_uniques()  # three of ten are unique, four stand in pairs
    with pytest.raises(Unsatisfiable, match="would suppress 3 of 10 records; the budget allows 2"):
        Suppress("tuple", budget=0.29).plan(people, goal(KAnonymity(2)))
    plan = Suppress("tuple", budget=0.3).plan(people, goal(KAnonymity(2)))
    assert plan.describe() == {
        "kind": "class recoding",
        "method": "tuple suppression",
        "columns": [],
        "regions": 0,
        "suppressed_records": 3,
    }


def test_nothing_goes_where_nothing_fails():
    frame = pl.DataFrame({"a": ["x"] * 4})
    dataset = Table(frame, Schema({"a": Attribute((Role.QUASI,))}))
    for what in ("tuple", "attribute", "cell"):
        step = Suppress(what)
        assert (
            step.apply(dataset, step.plan(dataset, goal(KAnonymity(4)))).to_polars().equals(frame)
        )


# ------------------------------------------------------------------------------------------ columns


@given(data=st.data(), table=tables(most_columns=4, most_rows=16))
def test_dropped_columns_are_the_least_important_that_will_do(data, table):
    k = data.draw(st.integers(1, 3))
    importance = {name: data.draw(st.sampled_from([0.5, 1.0, 2.0])) for name in table.names}
    most = data.draw(st.integers(0, len(table.names)))
    fitting = []
    for size in range(min(most, len(table.names) - 1) + 1):
        for gone in itertools.combinations(range(len(table.names)), size):
            kept = [tuple(v for a, v in enumerate(row) if a not in gone) for row in table.rows]
            if min(oracle.class_sizes(kept).values()) >= k:
                fitting.append(sum(importance[table.names[a]] for a in gone))
    step, dataset = (
        Suppress("attribute", importance=importance, budget=most / len(table.names)),
        numbered(table),
    )
    if not fitting:
        with pytest.raises(Unsatisfiable, match=f"no set of at most {most} dropped columns"):
            step.plan(dataset, goal(KAnonymity(k)))
        return
    plan = step.plan(dataset, goal(KAnonymity(k)))
    made = step.apply(dataset, plan)
    assert sum(importance[name] for name in plan.dropped) == pytest.approx(min(fitting))
    assert plan.score == pytest.approx(min(fitting) / sum(importance.values()))
    assert made.columns == [*(n for n in table.names if n not in plan.dropped), "number"]
    assert made.schema.quasi == plan.kept
    assert sf.judge(made, [KAnonymity(k)])[0].holds


def test_among_equal_columns_those_with_many_values_are_dropped():
    rows = {
        "sex": ["f", "m"] * 6,
        "age": [str(i) for i in range(12)],
        "zip": [str(i // 2) for i in range(12)],
    }
    dataset = Table(pl.DataFrame(rows), Schema({n: Attribute((Role.QUASI,)) for n in rows}))
    assert Suppress("attribute").plan(dataset, goal(KAnonymity(2))).dropped == ("age", "zip")
    assert Suppress("attribute", importance={"sex": 0.1}).plan(
        dataset, goal(KAnonymity(2))
    ).dropped == ("sex", "age")


def test_columns_that_a_promise_speaks_of_are_not_dropped():
    frame = pl.DataFrame({"a": list("xxyyzz"), "b": list("pqpqpq"), "c": list("112233")})
    dataset = Table(frame, Schema({n: Attribute((Role.QUASI,)) for n in frame.columns}))
    cheap = {"a": 0.1, "c": 0.1}
    assert Suppress("attribute", importance=cheap).plan(dataset, goal(KAnonymity(2))).dropped == (
        "a",
        "c",
    )
    named = KOnCombinations(2, combinations=[["a", "c"]])
    assert Suppress("attribute", importance=cheap).plan(
        dataset, goal(KAnonymity(2), named)
    ).dropped == ("b",)
    pairs = KOnSubsets(2, size=2)
    assert Suppress("attribute", importance=cheap).plan(
        dataset, goal(KAnonymity(2), pairs)
    ).dropped == ("b",)


def test_no_column_left_is_no_release():
    dataset = Table(pl.DataFrame({"a": ["x", "y"]}), Schema({"a": Attribute((Role.QUASI,))}))
    with pytest.raises(Unsatisfiable, match="leaves a table to judge"):
        Suppress("attribute").plan(dataset, goal(KAnonymity(2)))


def test_many_columns():
    # sixteen columns, two of them tell everyone apart together with any other: exact within a
    # moment
    width = 16
    frame = pl.DataFrame(
        {
            f"c{a:02d}": [str(i % 2 if a < 14 else i // 2 + a) for i in range(40)]
            for a in range(width)
        }
    )
    dataset = Table(frame, Schema({n: Attribute((Role.QUASI,)) for n in frame.columns}))
    assert Suppress("attribute").plan(dataset, goal(KAnonymity(5))).dropped == ("c14", "c15")


def test_a_release_without_some_columns(tmp_path):
    people = examples.special_uniques()
    release = sf.anonymize(people, [KAnonymity(3)], [Suppress("attribute")], seed=1)
    gone = release.plans[0][1].dropped
    assert gone
    assert not set(gone) & set(release.released.columns)
    assert {c.name: c.action for c in release.columns}[gone[0]] == "dropped: suppressed as a whole"
    release.write(tmp_path / "out")
    assert sf.verify(
        tmp_path / "out" / "share", original=people, owner=tmp_path / "out" / "owner"
    ).holds
    assert sf.check(sf.read(tmp_path / "out" / "share" / "data.csv"), release.recipe)[0].holds


# ----------------------------------------------------------- recoding, then cells, or whole columns


@given(data=st.data(), table=tables(most_columns=3, most_rows=16), k=st.integers(1, 3))
def test_recoding_and_cells_keep_the_promise(data, table, k):
    step = GlobalRecoding(suppress="cell", budget=data.draw(st.sampled_from([0.0, 0.3, 0.7])))
    dropping = GlobalRecoding(budget=step.budget)
    dataset = table.dataset()
    try:
        dropped = dropping.plan(dataset, goal(KAnonymity(k)))
    except Unsatisfiable:
        with pytest.raises(Unsatisfiable):
            step.plan(dataset, goal(KAnonymity(k)))
        return
    plan = step.plan(dataset, goal(KAnonymity(k)))
    made = step.apply(dataset, plan)
    node = [plan.levels[name] for name in table.names]
    recoded = oracle.generalised(table.rows, table.paths, table.depths, node)
    released = made.to_polars().rows()
    assert plan.levels == dropped.levels
    assert all(
        new in (old, None)
        for one, other in zip(recoded, released, strict=True)
        for old, new in zip(one, other, strict=True)
    )
    hit = sum(one != other for one, other in zip(recoded, released, strict=True))
    assert hit == plan.cells.notes["records_with_suppressed_cells"] <= dropped.suppressed
    wild = [made.schema[n].missing is Missing.WILDCARD for n in table.names]
    assert min(oracle.compatible_rows(released, wild)) >= k


def test_both_plans_are_told():
    people = examples.hospital(rows=400)
    release = sf.anonymize(
        people, [KAnonymity(4)], [GlobalRecoding(suppress="cell", budget=0.2)], seed=1
    )
    plan = release.plans[0][1]
    told = plan.describe()
    assert told["kind"] == "column recoding, then cell suppression"
    assert {c: place["level"] for c, place in told["levels"].items()} == plan.levels
    assert (
        told["suppressed_cells"] == told["cells"]["suppressed_cells"] == plan.cells.suppressed_cells
    )
    assert sum(told["suppressed_cells"].values()) > 0
    assert told["suppressed_records"] == release.suppressed == 0
    assert plan.effort()["cells"]["suppressed_cells"] == sum(told["suppressed_cells"].values())
    assert plan.effort()["nodes_looked_at"] > 0


def test_weights_of_columns_price_their_cells():
    people = examples.regions()
    levels = dict.fromkeys(people.schema.quasi, 0)
    for weights, hidden in (
        ({}, "education"),
        ({"education": 2.0}, "gender"),
        ({"gender": 0.0}, "gender"),
    ):
        step = GlobalRecoding(suppress="cell", budget=1.0, levels=levels, weights=weights)
        assert step.plan(people, goal(KAnonymity(3))).cells.suppressed_cells == {hidden: 1}


def test_whole_columns_have_no_level_between():
    people = examples.hospital(rows=300)
    step = GlobalRecoding(suppress="attribute")
    plan = step.plan(people.drop(people.schema.dropped_columns), goal(KAnonymity(3)))
    made = step.apply(people, plan)
    assert set(plan.levels.values()) == {0, 1}
    assert set(plan.tops.values()) == {1}
    assert plan.suppressed == 0
    for name, level in plan.levels.items():
        assert (
            made.column(name).n_unique() == 1
            if level
            else made.column(name).equals(people.column(name))
        )


def test_level_bounds_of_whole_columns():
    people = examples.hospital(rows=300)
    with pytest.raises(ParameterError, match="level bounds of age allow neither"):
        GlobalRecoding(suppress="attribute", levels={"age": (1, 2)}).plan(
            people, goal(KAnonymity(2))
        )
    kept = GlobalRecoding(suppress="attribute", levels={"sex": 0, "age": (1, 9)}).plan(
        people, goal(KAnonymity(2))
    )
    assert (kept.levels["sex"], kept.levels["age"]) == (0, 1)


@pytest.mark.parametrize("model", [LDiversity("diagnosis", l=2)])
def test_cells_after_recoding_refuse_other_promises_before_searching(model):
    with pytest.raises(ParameterError, match="cell suppression reaches k-anonymity"):
        GlobalRecoding(suppress="cell").plan(
            examples.hospital(rows=100), goal(KAnonymity(2), model)
        )


# ----------------------------------------------------------------------------------------- the grid

GRID = {
    ("generalize columns", "tuple"): GlobalRecoding(suppress="tuple", budget=0.3),
    ("generalize columns", "attribute"): GlobalRecoding(suppress="attribute"),
    ("generalize columns", "cell"): GlobalRecoding(suppress="cell", budget=0.3),
    ("generalize columns", "none"): GlobalRecoding(suppress="none"),
    ("nothing", "tuple"): Suppress("tuple"),
    ("nothing", "attribute"): Suppress("attribute"),
    ("nothing", "cell"): Suppress("cell"),
}


@pytest.mark.parametrize("cell", GRID, ids=" + ".join)
def test_every_cell_of_the_grid_keeps_the_promise(cell):
    people = examples.special_uniques()
    release = sf.anonymize(people, [KAnonymity(2)], [GRID[cell]], seed=1)
    shared = release.released
    generalised, suppressed = cell
    blank = any(shared.column(n).null_count() for n in shared.schema.quasi)
    assert release.holds
    assert (len(shared) < len(people)) == (suppressed == "tuple")
    assert (len(shared.schema.quasi) < 4) == (cell == ("nothing", "attribute"))
    assert blank == (suppressed == "cell")
    starred = any("*" in shared.column(n).to_list() for n in shared.schema.quasi)
    assert starred == (generalised == "generalize columns" and suppressed in ("attribute", "none"))


def test_neither_generalised_nor_suppressed_is_checked_only():
    # the last cell of the grid: the identity, which releases what keeps the promise by itself and
    # refuses the rest
    people = examples.special_uniques()
    untouched = GlobalRecoding(suppress="none", levels=dict.fromkeys(people.schema.quasi, 0))
    assert (
        sf.anonymize(people, [KAnonymity(1)], [untouched], seed=1).released.to_polars().height == 10
    )
    with pytest.raises(Unsatisfiable):
        sf.anonymize(people, [KAnonymity(2)], [untouched], seed=1)


# --------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"what": "tuple", "importance": {"a": 1.0}}, "records have no importance"),
        ({"what": "tuple", "combinations": 2}, "combinations and method are for cell"),
        ({"what": "attribute", "method": "exact"}, "combinations and method are for cell"),
        ({"what": "cell", "effort": 10}, "effort is for the methods exact and auto"),
        ({"what": "rows"}, "what should be 'tuple', 'attribute' or 'cell'"),
        ({"what": "cell", "budget": 1.5}, "budget should be less than or equal to 1"),
        ({"what": "cell", "combinations": 0}, "combinations"),
        ({"what": "cell", "combinations": []}, "combinations"),
        ({"what": "cell", "combinations": [[]]}, "combinations"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Suppress(**options)


@pytest.mark.parametrize("what", ["tuple", "attribute", "cell"])
def test_a_promise_is_needed(what):
    with pytest.raises(ParameterError, match="needs a promise"):
        Suppress(what).plan(examples.special_uniques(), goal())


@pytest.mark.parametrize("what", ["tuple", "attribute", "cell"])
def test_a_table_without_quasi_identifiers(what):
    dataset = Table(pl.DataFrame({"a": ["x"]}), Schema({"a": Attribute((Role.KEEP,))}))
    with pytest.raises(SchemaError, match="role quasi"):
        Suppress(what).plan(dataset, goal(KAnonymity(1)))


@pytest.mark.parametrize(
    "step",
    [
        Suppress("tuple", budget=0.1),
        Suppress("attribute", importance={"age": 2.0}),
        Suppress("cell", combinations=2, method="exact", effort=7),
        Suppress("cell", combinations=[["age", "sex"], ["zip"]]),
        GlobalRecoding(suppress="cell", budget=0.1),
        GlobalRecoding(suppress="attribute"),
    ],
)
def test_recipes_name_them(step):
    assert registry.build("steps", registry.write(step)) == step
    text = (
        "sfumato: 1\ncolumns: {age: quasi}\nmeet: [{k_anonymity: 2}]\nsteps: [{suppression: cell}]"
    )
    assert recipes.parse(text).steps == (Suppress("cell"),)
    with pytest.raises(RecipeError, match="suppression"):
        recipes.parse(text.replace("cell}", "{wha: cell}}"))


# ------------------------------------------------------------- missing values that match everything


def with_wildcards(cells):
    """A column whose missing values match everything: three records hide each other as they are."""
    attribute = Attribute((Role.QUASI,), missing=Missing.WILDCARD)
    return Table(
        pl.DataFrame({"home": pl.Series(cells, dtype=pl.String)}), Schema({"home": attribute})
    )


@pytest.mark.parametrize(
    "step", [GlobalRecoding(budget=0), Suppress("tuple", budget=0), sf.LocalRecoding()]
)
def test_a_refusal_says_where_missing_values_were_not_counted_as_they_are_judged(step):
    table = with_wildcards(["x", "x", None])
    assert all(verdict.holds for verdict in sf.judge(table, [KAnonymity(3)]))
    with pytest.raises(Unsatisfiable, match="counted as a category of their own"):
        step.plan(table, goal(KAnonymity(3)))
    with pytest.raises(Unsatisfiable) as refused:
        step.plan(with_wildcards(["x", "y", "z"]), goal(KAnonymity(3)))
    assert "category of their own" not in str(refused.value)
    assert (
        sf.anonymize(table, [KAnonymity(3)], [Suppress("cell")]).data["home"].to_list().count("x")
        == 2
    )


def test_alternatives_say_where_missing_values_were_not_counted_as_they_are_judged():
    release = sf.anonymize(
        with_wildcards(["x", "x", "x", None, None, None]), [KAnonymity(3)], [GlobalRecoding()]
    )
    assert "Missing values of home count as a category of their own here" in str(
        release.alternatives()
    )
    plain = sf.anonymize(with_wildcards(["x", "x", "x"]), [KAnonymity(3)], [GlobalRecoding()])
    assert "Missing values" not in str(plain.alternatives())
