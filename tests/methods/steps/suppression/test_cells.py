"""Cell suppression: valid by comparing every pair of records, no cheaper than trying everything,
and never out of order.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.model import Model
from sfumato.core.schema import Attribute, Missing, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.models import ALL as MODELS
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.subsets import KOnCombinations, KOnSubsets
from sfumato.methods.steps.suppression import cells as cell_suppression
from sfumato.methods.steps.suppression.cells import cheapest_sets
from sfumato.methods.steps.suppression.suppression import Suppress
from tests.oracles import definitions as oracle

BLANK = object()
"""A cell that we suppressed, to tell it from one that was missing before."""


def dataset_of(rows, *, wild=()):
    """Rows of text as a table of quasi-identifiers ``c0, c1, …`` and their number as a plain
    column.
    """
    width = len(rows[0])
    frame = pl.DataFrame(
        {f"c{a}": pl.Series([row[a] for row in rows], dtype=pl.String) for a in range(width)}
    )
    attributes = {
        name: Attribute(
            (Role.QUASI,), missing=Missing.WILDCARD if name in wild else Missing.CATEGORY
        )
        for name in frame.columns
    }
    frame = frame.with_columns(number=pl.Series(range(len(rows))))
    return Table(frame, Schema({**attributes, "number": Attribute((Role.KEEP,))}))


def released_rows(dataset, step, models):
    """Plan and apply; the rows released, and the same with ``BLANK`` where a cell was
    suppressed.
    """
    plan = step.plan(dataset, Goal(models=tuple(models)))
    made = step.apply(dataset, plan)
    names = dataset.schema.quasi
    before = dataset.to_polars().select(names).rows()
    after = made.to_polars().select(names).rows()
    assert made.column("number").to_list() == dataset.column("number").to_list(), (
        "no row goes, none moves"
    )
    marked = [
        tuple(
            BLANK if new is None and old is not None else new
            for old, new in zip(one, other, strict=True)
        )
        for one, other in zip(before, after, strict=True)
    ]
    shown = [
        (old, new)
        for one, other in zip(before, marked, strict=True)
        for old, new in zip(one, other, strict=True)
    ]
    assert all(new is BLANK or new == old for old, new in shown), "what is shown is true"
    suppressed = {name: sum(row[a] is BLANK for row in marked) for a, name in enumerate(names)}
    assert {n: c for n, c in suppressed.items() if c} == plan.suppressed_cells
    assert all(made.schema[n].missing is Missing.WILDCARD for n in plan.suppressed_cells)
    return plan, made, marked


def crowds(marked, columns, wild):
    """Records compatible with each, when only suppressed cells and those of columns declared so
    match everything.
    """

    def agree(one, other):
        return all(
            one[a] == other[a]
            or BLANK in (one[a], other[a])
            or (a in wild and None in (one[a], other[a]))
            for a in columns
        )

    return [sum(agree(one, other) for other in marked) for one in marked]


def blank_columns(marked):
    """Columns with suppressed cells: nobody can tell what was missing in them before."""
    return {a for row in marked for a, value in enumerate(row) if value is BLANK}


@st.composite
def small_rows(draw, *, most_columns=4, most_rows=14, most_values=3, missing=True):
    width = draw(st.integers(1, most_columns))
    values = [f"v{i}" for i in range(most_values)] + ([None] if missing else [])
    return draw(
        st.lists(st.tuples(*[st.sampled_from(values)] * width), min_size=1, max_size=most_rows)
    )


# -------------------------------------------------------------------------------------- the promise


@pytest.mark.slow
@given(data=st.data(), rows=small_rows())
def test_every_record_has_k_compatible_ones(data, rows):
    wild = data.draw(st.sets(st.integers(0, len(rows[0]) - 1)))
    k = data.draw(st.integers(1, len(rows)))
    dataset = dataset_of(rows, wild={f"c{a}" for a in wild})
    _, made, marked = released_rows(dataset, Suppress("cell"), [KAnonymity(k)])
    assert min(crowds(marked, range(len(rows[0])), wild)) >= k
    # what is judged at the end: the released file, in which all missing values of a column with
    # suppressed cells match
    rule = [made.schema[name].missing is Missing.WILDCARD for name in dataset.schema.quasi]
    released = made.to_polars().select(dataset.schema.quasi).rows()
    found = oracle.compatible_rows(released, rule)
    assert min(found) >= k
    assert sf.judge(made, [KAnonymity(k)])[0].attained == min(found)


@given(data=st.data(), rows=small_rows(most_columns=5, most_rows=40, most_values=5))
def test_larger_tables(data, rows):
    k = data.draw(st.integers(1, min(6, len(rows))))
    _, _, marked = released_rows(dataset_of(rows), Suppress("cell"), [KAnonymity(k)])
    assert min(crowds(marked, range(len(rows[0])), ())) >= k


def rounds_of(dataset, models):
    """The demands that were worked on, one entry for each time that somebody was rare."""
    rounds = []

    class Counted(cell_suppression._Cover):
        def __init__(self, parts, demand, *others):
            rounds.append(demand)
            super().__init__(parts, demand, *others)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cell_suppression, "_Cover", Counted)
        released_rows(dataset, Suppress("cell"), models)
    return rounds


@given(data=st.data(), rows=small_rows(most_columns=4, most_rows=24))
def test_one_round_is_enough(data, rows):
    # the frequencies kept up to date while cells are hidden and shown again are right: counting
    # anew finds nobody rare
    wild = data.draw(st.sets(st.integers(0, len(rows[0]) - 1)))
    rows = [
        tuple("v0" if v is None and a not in wild else v for a, v in enumerate(row)) for row in rows
    ]
    models = [
        KAnonymity(data.draw(st.integers(1, min(5, len(rows))))),
        KOnSubsets(min(6, len(rows)), size=1),
    ]
    rounds = rounds_of(dataset_of(rows, wild={f"c{a}" for a in wild}), models)
    assert len(rounds) == len(set(rounds))


def test_wildcards_that_were_there_before_are_not_forgotten_when_cells_are_shown_again():
    # found by random search: looking only at records that are equal in what is shown takes help
    # away from someone
    rows = [
        ("v1", "v3", "v2"),
        ("v3", "v0", "v0"),
        (None, "v0", "v3"),
        ("v3", None, "v0"),
        ("v0", None, "v1"),
    ]
    assert len(rounds_of(dataset_of(rows, wild={"c0", "c1", "c2"}), [KAnonymity(2)])) == 1


@given(data=st.data(), rows=small_rows(most_columns=4, most_rows=20))
def test_k_on_combinations_of_columns(data, rows):
    width = len(rows[0])
    size, k = data.draw(st.integers(1, width)), data.draw(st.integers(1, len(rows)))
    dataset = dataset_of(rows)
    models, step = data.draw(
        st.sampled_from(
            [
                ([KOnSubsets(k, size=size)], Suppress("cell")),
                ([KAnonymity(k)], Suppress("cell", combinations=size)),
            ]
        )
    )
    _, _, marked = released_rows(dataset, step, models)
    for columns in itertools.combinations(range(width), size):
        assert min(crowds(marked, columns, ())) >= k


def test_named_combinations_leave_the_others_alone():
    rows = [("a", "x", "1"), ("a", "y", "2"), ("b", "x", "3"), ("b", "y", "4"), ("b", "z", "5")]
    named = KOnCombinations(2, combinations=[["c0", "c1"], ["c0"]])
    for step in (Suppress("cell"), Suppress("cell", combinations=[["c1", "c0"]])):
        plan, _, marked = released_rows(dataset_of(rows), step, [named])
        assert min(crowds(marked, [0, 1], ())) >= 2
        assert "c2" not in plan.suppressed_cells
        assert set(plan.describe()["columns"]) == set(plan.suppressed_cells)


def test_different_k_on_different_subsets_are_all_kept():
    dataset = examples.large(400, columns=5)
    models = [KAnonymity(2), KOnSubsets(5, size=2), KOnSubsets(20, size=1)]
    made = sf.anonymize(dataset, models, [Suppress("cell")], seed=1)
    assert all(made.verdicts)
    assert [v.attained >= v.required for v in made.verdicts] == [True] * 3


# ---------------------------------------------------------------------------------------- few cells


def test_one_hidden_cell_makes_missing_ones_match_too():
    """Nobody can tell a suppressed cell from one that was missing before, as the released file is
    judged.
    """
    step = Suppress("cell", method="exact")
    plan, made, _ = released_rows(
        dataset_of([(None,), ("a",), ("c",), (None,)]), step, [KAnonymity(3)]
    )
    assert plan.suppressed_cells == {"c0": 1}
    assert (plan.effort()["price"], plan.effort()["lower_bound"], plan.effort()["gap"]) == (
        1.0,
        1.0,
        0.0,
    )
    assert sf.judge(made, [KAnonymity(3)])[0].attained == 4


def test_one_suppressed_cell_of_the_literature():
    # A. Gerl, lecture chapter on privacy risks, Passau 2021/22: seven people, the first unique; f
    # before 1, 3, 3, 3, 3, 3, 3, with the education of the first suppressed 4, 3, 3, 3, 4, 4, 4,
    # with the gender 4, 4, 4, 4, 3, 3, 3
    people = examples.regions().with_missing(
        gender="category", region="category", education="category"
    )
    for step, expected in (
        (Suppress("cell"), [4, 3, 3, 3, 4, 4, 4]),
        (Suppress("cell", importance={"education": 2}), [4, 4, 4, 4, 3, 3, 3]),
        (Suppress("cell", importance={"gender": 0.5}), [4, 4, 4, 4, 3, 3, 3]),
    ):
        plan = step.plan(people, Goal(models=(KAnonymity(3),)))
        made = step.apply(people, plan)
        hidden = next(iter(plan.suppressed_cells))
        assert plan.suppressed_cells == {hidden: 1}
        assert made.column(hidden).is_null().to_list() == [True] + [False] * 6
        rows = made.to_polars().select(made.schema.quasi).rows()
        assert oracle.compatible_rows(rows, [n == hidden for n in made.schema.quasi]) == expected
        assert sf.judge(made, [KAnonymity(3)])[0].holds
        as_category = made.with_missing(**dict.fromkeys(made.schema.quasi, "category"))
        assert sf.judge(as_category, [KAnonymity(3)])[0].attained == 1, (
            "as a category the first one stays unique"
        )


KEYS = ["Key1", "Key2", "Key3", "Key4"]
K5 = ["urbrur", "roof", "walls", "water", "electcon"]


def survey_table(reference_data, name, keys):
    frame = pl.read_csv(reference_data / "survey" / f"{name}.csv", infer_schema_length=None).select(
        keys
    )
    return Table(frame, Schema({c: Attribute((Role.QUASI,)) for c in keys}))


CASES = {
    "francdat.localSuppression.k2": ("francdat", KEYS, 2),
    "francdat.localSuppression.k3": ("francdat", KEYS, 3),
    "testdata.localSuppression.K5.k3": ("testdata", K5, 3),
    "testdata.localSuppression.K5.k5": ("testdata", K5, 5),
    "testdata.localSuppression.K7.k2": ("testdata", [*K5, "relat", "sex"], 2),
    "testdata.localSuppression.K7.k3": ("testdata", [*K5, "relat", "sex"], 3),
    "testdata.localSuppression.K7.k5": ("testdata", [*K5, "relat", "sex"], 5),
    "testdata2.localSuppression.K7.k2": ("testdata2", [*K5, "relat", "sex"], 2),
    "testdata2.localSuppression.K7.k3": ("testdata2", [*K5, "relat", "sex"], 3),
}


@pytest.mark.parametrize("case", CASES)
def test_fewer_cells_than_sdcmicro(reference_data, case):
    entries = json.loads((reference_data / "reference" / "sdcmicro.json").read_text())["entries"]
    theirs = next(entry["value"]["newSupps"] for entry in entries if entry["id"] == case)
    name, keys, k = CASES[case]
    table = survey_table(reference_data, name, keys)
    plan = Suppress("cell").plan(table, Goal(models=(KAnonymity(k),)))
    assert sum(plan.suppressed_cells.values()) < theirs
    assert sf.judge(Suppress("cell").apply(table, plan), [KAnonymity(k)])[0].holds


def test_a_common_record_helps_a_whole_class():
    # four alike, ten alike, one column apart: hiding the cell of one of the ten makes five of the
    # four and keeps ten
    rows = [("a", "x")] * 4 + [("b", "x")] * 10
    plan, _, marked = released_rows(dataset_of(rows), Suppress("cell"), [KAnonymity(5)])
    assert plan.suppressed_cells == {"c0": 1}
    assert [row[0] for row in marked].index(BLANK) >= 4


def test_a_few_wildcards_serve_everyone_around():
    # thirty values of one column, all unique, the rest equal: k - 1 suppressed cells make k of
    # everyone
    rows = [(f"v{i}", "x", "y") for i in range(30)]
    for k in (2, 3, 7):
        plan, _, _ = released_rows(dataset_of(rows), Suppress("cell"), [KAnonymity(k)])
        assert plan.suppressed_cells == {"c0": k - 1}


def test_precious_columns_are_spared_where_others_do():
    dataset = examples.large(600, columns=5)
    cheap = Suppress("cell").plan(dataset, Goal(models=(KAnonymity(3),))).suppressed_cells
    first = max(cheap, key=cheap.get)
    spared = (
        Suppress("cell", importance={first: 50.0})
        .plan(dataset, Goal(models=(KAnonymity(3),)))
        .suppressed_cells
    )
    assert spared[first] < cheap[first]

    def price(cells):
        return sum(n * (50 if c == first else 1) for c, n in cells.items())

    assert price(spared) < price(cheap)


def test_among_equal_columns_the_one_with_most_values_goes_first():
    # the odd record can be helped by hiding either column; c1 has more values
    rows = [("a", "x")] * 3 + [("b", "y")] * 3 + [("b", "z")] * 3 + [("a", "y")]
    plan, _, _ = released_rows(dataset_of(rows), Suppress("cell"), [KAnonymity(3)])
    assert plan.suppressed_cells == {"c1": 1}


def test_what_is_told_of_records_whose_true_values_are_known():
    # (a, x) hides c0 and is confused with three, but the true (a, x) fits nobody else; the common
    # record that hides a cell for the class of two stays among its own
    lone, _, _ = released_rows(
        dataset_of([("a", "x")] + [("b", "x")] * 3), Suppress("cell"), [KAnonymity(2)]
    )
    assert lone.effort()["of_these_rare_to_who_knows_the_true_values"] == 1
    rows = [("a", "x")] * 2 + [("b", "x")] * 9
    helped, _, _ = released_rows(dataset_of(rows), Suppress("cell"), [KAnonymity(3)])
    assert helped.effort()["records_with_suppressed_cells"] == 1
    assert helped.effort()["of_these_rare_to_who_knows_the_true_values"] == 0


# ---------------------------------------------------------------------------------------- the edges


def test_nothing_is_suppressed_without_need():
    for rows, k in (([("a", "b")] * 5, 5), ([("a",), ("b",)], 1), ([("a", None)] * 3, 3)):
        for method in ("greedy", "exact"):
            plan, made, _ = released_rows(
                dataset_of(rows), Suppress("cell", method=method), [KAnonymity(k)]
            )
            assert plan.suppressed_cells == {}
            assert plan.score == 0
            assert made.schema["c0"].missing is Missing.CATEGORY


def test_k_beyond_the_table():
    for method in ("greedy", "exact"):
        with pytest.raises(Unsatisfiable, match="no record can match 4 records: the table has 3"):
            Suppress("cell", method=method).plan(
                dataset_of([("a",), ("b",), ("c",)]), Goal(models=(KAnonymity(4),))
            )


def test_k_as_large_as_the_table():
    rows = [(f"a{i}", f"b{i}") for i in range(6)]
    for method in ("greedy", "exact"):
        _, _, marked = released_rows(
            dataset_of(rows), Suppress("cell", method=method), [KAnonymity(6)]
        )
        assert min(crowds(marked, [0, 1], ())) == 6


def test_all_rows_unique_in_every_column():
    rows = [tuple(f"{i}.{a}" for a in range(3)) for i in range(25)]
    plan, _, marked = released_rows(dataset_of(rows), Suppress("cell"), [KAnonymity(3)])
    assert min(crowds(marked, range(3), ())) >= 3
    assert plan.suppressed_cells == {
        "c0": 2,
        "c1": 2,
        "c2": 2,
    }, "only two records with nothing left can help"


def test_records_that_all_lack_a_value_can_only_help_each_other():
    # a missing value that is a category has nothing to hide: to become alike, each hides what the
    # other lacks
    for rows in (
        [("a", None), (None, "b")],
        [("a", None, "x"), (None, "b", "x"), ("c", None, None)],
    ):
        for method in ("greedy", "exact"):
            _, _, marked = released_rows(
                dataset_of(rows), Suppress("cell", method=method), [KAnonymity(len(rows))]
            )
            wild = blank_columns(marked) if method == "exact" else ()
            assert min(crowds(marked, range(len(rows[0])), wild)) == len(rows)
            assert all(
                new is None
                for old, new in zip(sum(rows, ()), sum(marked, ()), strict=True)
                if old is None
            )


def test_an_empty_table():
    empty = dataset_of([("a",)]).take(np.array([], dtype=np.int64))
    for method in ("greedy", "exact"):
        plan = Suppress("cell", method=method).plan(empty, Goal(models=(KAnonymity(3),)))
        assert len(Suppress("cell").apply(empty, plan)) == 0


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=10)
def test_keys_of_more_than_one_word(data):
    # eleven columns of a hundred values each take seven bits a column: more than 64
    width, common = 11, [(f"{i}",) * 11 for i in range(100)] * 3
    odd = data.draw(
        st.lists(
            st.tuples(*[st.sampled_from(["0", "1", "2", "99"])] * width), min_size=1, max_size=6
        )
    )
    _, _, marked = released_rows(dataset_of(common + odd), Suppress("cell"), [KAnonymity(3)])
    assert min(crowds(marked, range(width), ())) >= 3


@given(rows=small_rows(most_columns=4, most_rows=12), k=st.integers(1, 4))
@settings(max_examples=30)
def test_when_not_all_sets_of_columns_can_be_tried(rows, k):
    before = cell_suppression.MOST_SETS
    cell_suppression.MOST_SETS = 2
    try:
        k = min(k, len(rows))
        _, _, marked = released_rows(dataset_of(rows), Suppress("cell"), [KAnonymity(k)])
    finally:
        cell_suppression.MOST_SETS = before
    assert min(crowds(marked, range(len(rows[0])), ())) >= k


def test_sets_of_columns_are_tried_by_price():
    prices = {1: 0.5, 2: 1.0, 4: 1.0, 8: 2.25}
    tried = list(cheapest_sets(prices))
    assert sorted(hidden for _, hidden in tried) == list(range(1, 16))
    assert [price for price, _ in tried] == sorted(price for price, _ in tried)
    assert all(
        price == sum(p for bit, p in prices.items() if hidden & bit) for price, hidden in tried
    )


@given(data=st.data(), rows=small_rows(most_rows=20))
def test_the_order_of_rows_does_not_matter(data, rows):
    k = min(len(rows), data.draw(st.integers(1, 4)))
    shuffled = data.draw(st.permutations(rows))
    one = Suppress("cell").plan(dataset_of(rows), Goal(models=(KAnonymity(k),)))
    other = Suppress("cell").plan(dataset_of(shuffled), Goal(models=(KAnonymity(k),)))
    assert one.suppressed_cells == other.suppressed_cells
    first = Suppress("cell").apply(dataset_of(rows), one).to_polars().drop("number").rows()
    second = Suppress("cell").apply(dataset_of(shuffled), other).to_polars().drop("number").rows()
    assert sorted(first, key=repr) == sorted(second, key=repr)


def test_values_keep_their_types_in_every_kind_of_frame():
    numbers = pl.DataFrame(
        {"age": [30, 31, 40, 40], "sex": ["f", "f", "m", "m"], "x": [0.0, 0.0, -0.0, float("nan")]}
    )
    schema = Schema({n: Attribute((Role.QUASI,)) for n in numbers.columns})
    made = {}
    for kind, frame in {
        "polars": numbers,
        "pandas": numbers.to_pandas(),
        "arrow": numbers.to_arrow(),
    }.items():
        dataset = Table(frame, schema)
        step = Suppress("cell")
        released = step.apply(dataset, step.plan(dataset, Goal(models=(KAnonymity(2),))))
        native = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "arrow": pa.Table}[kind]
        assert isinstance(released.to_native(), native)
        made[kind] = released.to_polars().cast({"age": pl.Float64}).fill_nan(None).rows()
    assert made["polars"] == made["pandas"] == made["arrow"]
    typed = Table(numbers, schema)
    released = (
        Suppress("cell")
        .apply(typed, Suppress("cell").plan(typed, Goal(models=(KAnonymity(2),))))
        .to_polars()
    )
    assert released.schema == numbers.schema
    assert released["age"].null_count() + released["x"].null_count() > 0
    assert not released["x"].drop_nulls().is_nan().any(), "NaN would tell what was missing before"
    assert not np.signbit(released["x"].drop_nulls().to_numpy()).any(), "that distinguish rows"


# ---------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "model",
    [
        m
        for m in MODELS.values()
        if m.name not in ("k_anonymity", "k_on_subsets", "k_on_combinations")
    ],
)
def test_other_promises_are_refused(model):
    class Promise(Model):
        name = model.name
        promise = "another promise"

        def needs(self, schema):
            return KAnonymity(2).needs(schema)

    with pytest.raises(ParameterError, match=r"reaches k-anonymity .* only, not another promise"):
        Suppress("cell").plan(dataset_of([("a",), ("a",)]), Goal(models=(KAnonymity(2), Promise())))


def test_persons_are_refused():
    frame = pl.DataFrame({"a": ["x", "y", "y"], "p": ["1", "2", "2"]})
    people = Table(frame, Schema({"a": Attribute((Role.QUASI,)), "p": Attribute((Role.PERSON,))}))
    with pytest.raises(SchemaError, match="not the persons of column 'p'"):
        Suppress("cell").plan(people, Goal(models=(KAnonymity(2),)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"importance": {"c9": 1.0}},
            "importance: 'c9' is not a column with role quasi. Did you mean 'c",
        ),
        ({"importance": {"number": 1.0}}, "importance: 'number' is not a column"),
        ({"importance": {"c0": 0.0}}, "importance must be finite and greater than zero"),
        ({"importance": {"c0": float("inf")}}, "importance must be finite"),
        ({"combinations": 3}, "combinations of 3 columns are asked for, but only 2"),
        ({"combinations": [["c0", "c7"]]}, "combinations: 'c7' is not a column"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises((ParameterError, SchemaError), match=message):
        Suppress("cell", **options).plan(
            dataset_of([("a", "b"), ("a", "c")]), Goal(models=(KAnonymity(2),))
        )


def test_budget_of_records():
    rows = [("a", "x")] + [("b", "x")] * 3
    with pytest.raises(
        Unsatisfiable, match="1 of 4 records would have suppressed cells; the budget allows 0"
    ):
        Suppress("cell", budget=0.2).plan(dataset_of(rows), Goal(models=(KAnonymity(2),)))
    plan = Suppress("cell", budget=0.25).plan(dataset_of(rows), Goal(models=(KAnonymity(2),)))
    assert plan.effort()["records_with_suppressed_cells"] == 1


@pytest.mark.parametrize(
    ("rows", "k", "share", "cells"),
    [
        ([("b", "a"), ("c", "b"), ("b", "a"), ("b", "a"), ("b", "a")], 2, 0.34, 2),
        ([(None, "c", "a"), ("a", "a", None), ("b", "a", "a")], 2, 0.5, 3),
        ([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")], 2, 0.25, 2),
    ],
)
def test_exact_keeps_the_budget_where_the_fewest_cells_would_not(rows, k, share, cells):
    """More cells in fewer records: found by trying all sets of cells."""
    for method in ("exact", "auto"):
        step = Suppress("cell", budget=share, method=method)
        plan, _, marked = released_rows(dataset_of(rows), step, [KAnonymity(k)])
        assert min(crowds(marked, range(len(rows[0])), blank_columns(marked))) >= k
        assert sum(plan.suppressed_cells.values()) == cells == plan.effort()["lower_bound"]
        assert plan.effort()["records_with_suppressed_cells"] == 1
    with pytest.raises(Unsatisfiable, match="the budget allows 0"):
        Suppress("cell", budget=0.1, method="exact").plan(
            dataset_of(rows), Goal(models=(KAnonymity(k),))
        )


# ----------------------------------------------------------------------------------- whole releases


@pytest.mark.parametrize("method", ["greedy", "exact"])
def test_a_release_is_judged_by_wildcards_wherever_it_is_judged(tmp_path, method):
    people = examples.special_uniques()
    release = sf.anonymize(people, [KAnonymity(3)], [Suppress("cell", method=method)], seed=3)
    cells = release.plans[0][1].suppressed_cells
    assert release.holds
    assert release.suppressed == 0
    assert release.verdicts[0].missing_rule == "wildcard"
    actions = {c.name: c.action for c in release.columns}
    assert all(f"{n} suppressed cell" in actions[c] for c, n in cells.items())
    release.write(tmp_path / "out")
    assert sf.verify(
        tmp_path / "out" / "share", original=people, owner=tmp_path / "out" / "owner"
    ).holds
    table = sf.read(tmp_path / "out" / "share" / "data.csv")
    assert sf.check(table, release.recipe)[0].holds
    for name, count in cells.items():
        assert table.column(name).null_count() == count


def test_equal_records_part_ways_and_their_other_columns_stay_with_them():
    people = examples.large(2000, columns=5, seed=4)
    step = Suppress("cell")
    plan = step.plan(people, Goal(models=(KAnonymity(4),)))
    made = step.apply(people, plan)
    assert made.column("illness").to_list() == people.column("illness").to_list()
    assert plan.describe()["suppressed_records"] == 0
    assert plan.records == 2000
