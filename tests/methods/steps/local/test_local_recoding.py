"""Local recoding keeps the promises, tells the truth, and never loses more than the global
optimum.
"""

from __future__ import annotations

import collections

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.evidence import gather, judge_all
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import LDiversity
from sfumato.methods.models.population import KMap
from sfumato.methods.models.risk_thresholds import AverageRisk
from sfumato.methods.models.t_closeness import TCloseness
from sfumato.methods.steps.local.local_recoding import LocalRecoding
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from tests.random_tables import tables

ILLNESS = st.sampled_from(["flu", "cold", "gout"])
MODELS = st.sampled_from(
    [
        (),
        (LDiversity("illness", l=2),),
        (LDiversity("illness", l=1.7, kind="entropy"),),
        (LDiversity("illness", l=2, kind="recursive", c=2.5),),
        (TCloseness("illness", t=0.3),),
        (TCloseness("illness", t=0.4, reference="released"),),
        (LDiversity("illness", l=2), TCloseness("illness", t=0.4)),
        (AverageRisk(0.3),),
    ]
)


@st.composite
def cases(draw):
    """A table with a sensitive column, and promises."""
    table = draw(tables(fewest_rows=2, most_rows=18))
    illness = draw(st.lists(ILLNESS, min_size=len(table.rows), max_size=len(table.rows)))
    models = (KAnonymity(draw(st.integers(1, 4))), *draw(MODELS))
    assume(len(set(illness)) > 1)
    return table, illness, models


def dataset_of(table, illness, order=None):
    order = range(len(table.rows)) if order is None else order
    frame = table.frame([table.rows[i] for i in order]).with_columns(
        illness=pl.Series([illness[i] for i in order])
    )
    return Table(
        frame, Schema({**table.schema().attributes, "illness": Attribute((Role.SENSITIVE,))})
    )


def released(step, dataset, models):
    plan = step.plan(dataset, Goal(models=models))
    return plan, step.apply(dataset, plan)


def rows_of(dataset, names=None):
    return list(
        zip(*(dataset.column(name).to_list() for name in names or dataset.columns), strict=True)
    )


@pytest.mark.slow
@given(
    cases(),
    st.sampled_from(["none", "cell", "attribute", "tuple"]),
    st.sampled_from([0.0, 0.2, 0.5]),
)
def test_promises_hold_on_what_is_released(case, suppress, budget):
    table, illness, models = case
    dataset = dataset_of(table, illness)
    step = LocalRecoding(suppress=suppress, budget=budget if suppress == "tuple" else 0.0)
    try:
        plan, out = released(step, dataset, models)
    except Unsatisfiable:
        return
    assert all(judge_all(gather(out, models, original=dataset), models))
    assert plan.records - plan.suppressed == len(out)
    assert plan.suppressed <= step.budget * len(dataset)


@given(cases())
def test_released_cells_lie_above_the_original_values(case):
    table, illness, models = case
    numbers = pl.Series([str(i) for i in range(len(illness))])
    frame = table.frame().with_columns(illness=pl.Series(illness), row=numbers)
    attributes = {
        **table.schema().attributes,
        "illness": Attribute((Role.SENSITIVE,)),
        "row": Attribute((Role.KEEP,)),
    }
    try:
        plan, out = released(LocalRecoding(), Table(frame, Schema(attributes)), models)
    except Unsatisfiable:
        return
    assert sorted(out.column("row").to_list()) == sorted(frame["row"].to_list())
    lost = 0.0
    for a, name in enumerate(table.names):
        paths, leaves = table.paths[a], table.leaves[a]
        for row, cell in zip(out.column("row").to_list(), out.column(name).to_list(), strict=True):
            value = table.rows[int(row)][a]
            if value is None:
                assert cell in (None, next(iter(paths.values()))[-1])
                lost += cell is not None
                continue
            assert cell in paths[value]
            below = [
                leaves[level][cell] for level, label in enumerate(paths[value]) if label == cell
            ]
            lost += (below[0] - 1) / (len(paths) - 1) if len(paths) > 1 else 0.0
    if all(len(paths) > 1 for paths in table.paths):
        assert plan.score == pytest.approx(lost / (len(frame) * len(table.names)))


@pytest.mark.slow
@given(cases(), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(case, random):
    table, illness, models = case
    order = list(range(len(table.rows)))
    random.shuffle(order)
    try:
        one = released(LocalRecoding(), dataset_of(table, illness), models)
    except Unsatisfiable:
        return
    other = released(LocalRecoding(), dataset_of(table, illness, order), models)
    assert one[0].score == other[0].score
    names = [
        *table.names,
        *(["illness"] if len(models) > 1 and models[1].name != "average_risk" else []),
    ]
    rows = [collections.Counter(rows_of(out, names)) for _, out in (one, other)]
    assert rows[0] == rows[1]


@given(cases(), st.data())
def test_survey_weights_count(case, data):
    """A region has the weights of its records, whatever they are narrowed to."""
    table, illness, more = case
    n = len(table.rows)
    weights = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    dataset = (
        dataset_of(table, illness).with_columns({"w": pl.Series(weights)}).with_roles(weight="w")
    )
    models = data.draw(st.sampled_from([(KMap(4, weights=True),), (KMap(4, weights=True), *more)]))
    try:
        _, out = released(LocalRecoding(), dataset, models)
    except Unsatisfiable:
        return
    assert all(judge_all(gather(out, models, original=dataset), models))


def test_three_records_of_a_survey():
    frame = pl.DataFrame({"x": ["a", "b", "c"], "w": [1, 2, 3]})
    schema = {
        "x": Attribute(
            (Role.QUASI,), hierarchy=TableHierarchy([("a", "*"), ("b", "*"), ("c", "*")])
        )
    }
    dataset = Table(frame, Schema({**schema, "w": Attribute((Role.WEIGHT,))}))
    _, out = released(LocalRecoding(), dataset, (KMap(4, weights=True),))
    assert out.column("x").to_list() == ["*"] * 3


AGES = TableHierarchy([(str(a), f"{a // 10 * 10}-{a // 10 * 10 + 9}", "*") for a in range(20, 60)])
SEX = TableHierarchy([("m", "*"), ("f", "*")])


def people(ages, sexes):
    attributes = {
        name: Attribute((Role.QUASI,), hierarchy=tree)
        for name, tree in (("age", AGES), ("sex", SEX))
    }
    return Table(
        pl.DataFrame({"age": [str(a) for a in ages], "sex": list(sexes)}), Schema(attributes)
    )


def test_all_unique_records():
    dataset = people(range(20, 60), "mf" * 20)
    plan, out = released(LocalRecoding(), dataset, (KAnonymity(2),))
    assert all(judge_all(gather(out, (KAnonymity(2),)), (KAnonymity(2),)))
    assert (
        plan.score
        < GlobalRecoding(budget=0).plan(dataset, Goal(models=(KAnonymity(2),))).score + 1e-12
    )


def test_a_single_value_everywhere_is_released_as_it_is():
    plan, out = released(LocalRecoding(), people([30] * 5, "mmmmm"), (KAnonymity(5),))
    assert plan.score == 0
    assert out.column("age").to_list() == ["30"] * 5


@pytest.mark.parametrize("suppress", ["none", "tuple", "attribute", "cell"])
def test_more_company_than_there_are_records(suppress):
    with pytest.raises(Unsatisfiable, match="6-anonymity"):
        LocalRecoding(suppress=suppress).plan(
            people([30] * 5, "mmmmm"), Goal(models=(KAnonymity(6),))
        )


def test_without_hierarchies_only_suppression_helps():
    bare = Schema({"age": Attribute((Role.QUASI,)), "sex": Attribute((Role.QUASI,))})
    dataset = Table(pl.DataFrame({"age": ["30", "30", "31"], "sex": ["m", "m", "m"]}), bare)
    goal = Goal(models=(KAnonymity(2),))
    with pytest.raises(Unsatisfiable, match="2 column"):
        LocalRecoding().plan(dataset, goal)
    dropped = released(LocalRecoding(suppress="tuple", budget=0.4), dataset, goal.models)[1]
    assert rows_of(dropped) == [("30", "m"), ("30", "m")]
    hidden = released(LocalRecoding(suppress="cell"), dataset, goal.models)[1]
    assert sorted(rows_of(hidden)) == [("*", "m")] * 3
    gone = released(LocalRecoding(suppress="attribute"), dataset, goal.models)[1]
    assert all(judge_all(gather(gone, goal.models), goal.models))


def test_nothing_suppressed_tells_all_records():  # CG_
    dataset = people([30, 30, 31, 45, 46], "mmmff")
    plan, out = released(LocalRecoding(suppress="none"), dataset, (KAnonymity(2),))
    assert plan.suppressed == 0
    assert len(out) == 5


def test_cells_suppressed_equals_nothing_suppressed_where_hierarchies_have_tops():  # CG_CS
    dataset = people([30, 30, 31, 45, 46, 59], "mmmffm")
    one, other = (
        released(LocalRecoding(suppress=s), dataset, (KAnonymity(2),))[1] for s in ("cell", "none")
    )
    assert sorted(rows_of(one)) == sorted(rows_of(other))


def test_attributes_dropped_first():  # CG_AS
    # Ages are all different: a table of whole columns keeps sex alone, so every cell of age is told
    # as little as that.
    dataset = people(range(20, 40), "mf" * 10)
    _, out = released(LocalRecoding(suppress="attribute"), dataset, (KAnonymity(5),))
    assert set(out.column("age").to_list()) == {"*"}
    assert sorted(out.column("sex").to_list()) == ["f"] * 10 + ["m"] * 10


def test_levels_are_bounds():
    dataset = people([30, 30, 31, 45, 46], "mmmff")
    _, out = released(LocalRecoding(levels={"age": (1, 1)}), dataset, (KAnonymity(2),))
    assert sorted(out.column("age").to_list()) == ["30-39"] * 3 + ["40-49"] * 2
    with pytest.raises(SchemaError, match="colour"):
        LocalRecoding(levels={"colour": 1}).plan(dataset, Goal(models=(KAnonymity(2),)))


def test_weights_say_which_column_gives_way():
    dataset = people([30] * 2 + [45] * 2, "mfmf")
    models = (KAnonymity(2),)
    precious_age = released(LocalRecoding(weights={"age": 10.0}), dataset, models)[1]
    precious_sex = released(LocalRecoding(weights={"sex": 10.0}), dataset, models)[1]
    assert sorted(rows_of(precious_age)) == [("30", "*")] * 2 + [("45", "*")] * 2
    assert sorted(rows_of(precious_sex)) == [("*", "f")] * 2 + [("*", "m")] * 2


def test_persons_count_not_rows():
    attributes = {
        "age": Attribute((Role.QUASI,), hierarchy=AGES),
        "who": Attribute((Role.PERSON,)),
    }
    frame = pl.DataFrame(
        {"age": ["30", "30", "30", "31", "32", "33"], "who": ["a", "a", "a", "b", "c", "d"]}
    )
    dataset = Table(frame, Schema(attributes))
    _, out = released(LocalRecoding(), dataset, (KAnonymity(2),))
    assert all(judge_all(gather(out, (KAnonymity(2),)), (KAnonymity(2),)))
    assert "30" not in out.column("age").to_list()


def test_parameters_that_contradict_each_other():
    with pytest.raises(ParameterError, match="tuple"):
        LocalRecoding(suppress="none", budget=0.1)
    with pytest.raises(ParameterError, match="levels"):
        LocalRecoding(method="mondrian", levels={"age": 1})
    with pytest.raises(ParameterError, match="suppresses no records"):
        LocalRecoding(method="k_member", suppress="tuple", budget=0.1)
    with pytest.raises(ParameterError, match="meet"):
        LocalRecoding().plan(people([30], "m"), Goal())


@pytest.mark.parametrize("method", ["mondrian", "k_member"])
def test_other_methods_are_reached_by_name(method):
    dataset = people([30, 30, 31, 45, 46], "mmmff")
    plan, out = released(LocalRecoding(method=method), dataset, (KAnonymity(2),))
    assert plan.method.replace("-", "_").startswith(method)
    assert all(judge_all(gather(out, (KAnonymity(2),)), (KAnonymity(2),)))


@pytest.mark.slow
def test_mondrian_drops_records_within_the_budget():
    plan, out = released(
        LocalRecoding(method="mondrian", suppress="tuple", budget=0.2),
        people([30] * 4 + [59], "mmmmm"),
        (KAnonymity(4),),
    )
    assert plan.suppressed == 1
    assert set(out.column("age").to_list()) == {"30"}


@pytest.mark.slow
def test_a_lattice_too_large_to_try_is_thinned_out():
    names = [f"c{a}" for a in range(12)]  # 4¹² nodes
    tree = TableHierarchy([(str(i), f"{i // 2}x", f"{i // 4}y", "*") for i in range(8)])
    frame = pl.DataFrame(
        {
            name: [str((i * i * (a + 3) + a * i // 3) % 8) for i in range(60)]
            for a, name in enumerate(names)
        }
    )
    dataset = Table(
        frame, Schema({name: Attribute((Role.QUASI,), hierarchy=tree) for name in names})
    )
    plan, out = released(LocalRecoding(), dataset, (KAnonymity(3),))
    assert plan.score < plan.notes["global_score"]
    assert all(judge_all(gather(out, (KAnonymity(3),)), (KAnonymity(3),)))


@pytest.mark.parametrize("method", ["respecialise", "mondrian", "k_member"])
def test_the_score_weighs_columns_as_the_search_does(method):
    table = TableHierarchy([(str(i), f"{i // 2}x", "*") for i in range(6)])
    frame = pl.DataFrame(
        {"a": [str(i % 6) for i in range(12)], "b": [str(i * 5 // 12) for i in range(12)]}
    )
    dataset = Table(
        frame, Schema({n: Attribute((Role.QUASI,), hierarchy=table) for n in ("a", "b")})
    )
    step = LocalRecoding(method=method, weights={"a": 9.0})
    plan = step.plan(dataset, Goal(models=(KAnonymity(2),)))
    mean = {n: (plan.amounts @ loss[plan.regions]) / 12 for n, loss in plan.losses.items()}
    assert plan.score == pytest.approx((9 * mean["a"] + mean["b"]) / 10)
    assert mean["a"] != pytest.approx(mean["b"])


def test_with_weights_the_score_is_never_above_that_of_the_global_optimum():
    table = TableHierarchy([(str(i), f"{i // 2}x", "*") for i in range(6)])
    frame = pl.DataFrame(
        {"a": [str(i % 6) for i in range(12)], "b": [str(i * 5 // 12) for i in range(12)]}
    )
    dataset = Table(
        frame, Schema({n: Attribute((Role.QUASI,), hierarchy=table) for n in ("a", "b")})
    )
    for weights in ({"a": 20.0}, {"b": 20.0}):
        goal = Goal(models=(KAnonymity(3),))
        plan = LocalRecoding(weights=weights).plan(dataset, goal)
        assert plan.notes["global_score"] == pytest.approx(
            GlobalRecoding(weights=weights).plan(dataset, goal).score
        )
        assert plan.score <= plan.notes["global_score"] + 1e-12
