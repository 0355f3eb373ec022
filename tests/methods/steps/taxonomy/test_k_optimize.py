"""K-Optimize finds what trying every set of cut points finds, and its bounds are bounds."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import LDiversity
from sfumato.methods.steps.taxonomy.cut import Ground
from sfumato.methods.steps.taxonomy.k_optimize import CutCosts, KOptimize, points_of_all, shares
from tests.oracles import definitions as oracle

OBJECTIVES = ("discernibility", "classification")


def numbers(rows, labels):
    """A table of whole numbers; a label beside them."""
    columns = {f"c{a}": [row[a] for row in rows] for a in range(len(rows[0]))}
    schema = Schema(
        {
            **{name: Attribute((Role.QUASI,), kind=Kind.NUMERIC) for name in columns},
            "class": Attribute((Role.SENSITIVE,)),
        }
    )
    return Table(pl.DataFrame({**columns, "class": labels}), schema)


@st.composite
def small_tables(draw, *, columns=3, most=4, rows=16):
    width = draw(st.integers(1, columns))
    found = draw(st.lists(st.tuples(*[st.integers(0, most)] * width), min_size=2, max_size=rows))
    labels = [
        "y",
        "n",
        *draw(st.lists(st.sampled_from("yn"), min_size=len(found) - 2, max_size=len(found) - 2)),
    ]
    return found, labels


def paid(rows, labels, objective, fails):
    """Cost and suppressed rows of a released table, straight from Bayardo & Agrawal 2005 and
    Iyengar 2002.
    """
    members = {}
    for row, label in zip(rows, labels, strict=True):
        members.setdefault(row, []).append(label)
    gone = sum(len(inside) for inside in members.values() if fails(inside))
    kept = [inside for inside in members.values() if not fails(inside)]
    if objective == "discernibility":
        return oracle.discernibility([len(inside) for inside in kept], gone, len(rows)), gone
    return gone + sum(len(inside) - max(Counter(inside).values()) for inside in kept), gone


def every_cut(rows):
    """All ways to cut all columns into ranges, as released rows."""
    ways = []
    for a in range(len(rows[0])):
        values = sorted({row[a] for row in rows})
        borders = range(1, len(values))
        subsets = itertools.chain(*(itertools.combinations(borders, n) for n in range(len(values))))
        ways.append(
            [
                {v: sum(i >= cut for cut in chosen) for i, v in enumerate(values)}
                for chosen in subsets
            ]
        )
    for way in itertools.product(*ways):
        yield [tuple(where[v] for v, where in zip(row, way, strict=True)) for row in rows]


def least(rows, labels, objective, fails, budget):
    allowed = math.floor(budget * len(rows) + 1e-9)
    costs = [paid(cut, labels, objective, fails) for cut in every_cut(rows)]
    return min((cost for cost, gone in costs if gone <= allowed and gone < len(rows)), default=None)


PROMISES = {
    "crowds": lambda k: ((KAnonymity(k),), lambda inside: len(inside) < k),
    # suppresses more at some coarser cuts, so nothing may be concluded from it
    "entropy": lambda k: (
        (KAnonymity(k), LDiversity("class", l=2, kind="entropy")),
        lambda inside: len(inside) < k or 2 * max(Counter(inside).values()) > len(inside),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("promise", PROMISES)
@given(drawn=small_tables(), k=st.integers(1, 4), budget=st.sampled_from([0.0, 0.2, 1.0]))
@settings(max_examples=30)
def test_the_optimum_is_that_of_trying_every_set(objective, promise, drawn, k, budget):
    rows, labels = drawn
    models, fails = PROMISES[promise](k)
    step = KOptimize(
        objective, "class" if objective == "classification" else None, budget=budget, effort=100_000
    )
    data, expected = numbers(rows, labels), least(rows, labels, objective, fails, budget)
    if expected is None:
        with pytest.raises(Unsatisfiable):
            step.plan(data, Goal(models=models))
        return
    plan = step.plan(data, Goal(models=models))
    after = step.apply(data, plan).to_polars()
    names = [name for name in after.columns if name != "class"]
    kept = list(zip(after.select(names).rows(), after["class"], strict=True))
    cost, gone = paid(
        [row for row, _ in kept], [label for _, label in kept], objective, lambda inside: False
    )
    extra = (len(rows) - len(kept)) * (len(rows) if objective == "discernibility" else 1)
    assert gone == 0
    assert cost + extra == pytest.approx(expected)
    assert plan.notes["cost"] == plan.notes["lower_bound"] == pytest.approx(expected)
    assert plan.notes["proved_optimal"]
    assert plan.suppressed == len(rows) - len(kept)
    assert all(
        model_verdict.holds for model_verdict in sf.judge(step.apply(data, plan), models[:1])
    )


@given(
    drawn=small_tables(),
    k=st.integers(1, 4),
    effort=st.integers(1, 60),
    objective=st.sampled_from(OBJECTIVES),
)
def test_a_search_that_is_stopped_never_claims_too_much(drawn, k, effort, objective):
    rows, labels = drawn
    models, fails = PROMISES["crowds"](k)
    expected = least(rows, labels, objective, fails, 1.0)
    step = KOptimize(objective, "class" if objective == "classification" else None, effort=effort)
    if expected is None:
        return
    notes = step.plan(numbers(rows, labels), Goal(models=models)).notes
    assert notes["lower_bound"] <= expected <= notes["cost"]
    assert notes["gap"] == notes["cost"] - notes["lower_bound"]
    assert notes["proved_optimal"] == (notes["gap"] == 0)


@given(data=st.data(), drawn=small_tables(), k=st.integers(1, 4))
def test_bounds_hold_for_every_set_between(data, drawn, k):
    rows, labels = drawn
    objective, budget = data.draw(st.sampled_from(OBJECTIVES)), data.draw(st.integers(0, len(rows)))
    models, _ = PROMISES[data.draw(st.sampled_from(list(PROMISES)))](k)
    field = Ground(numbers(rows, labels), Goal(models=models), "a step", label="class", trees=False)
    points, _ = points_of_all(field, 6)
    costs = CutCosts(field, points, objective, budget)
    everything = (
        frozenset(data.draw(st.lists(st.sampled_from(points), max_size=5)))
        if points
        else frozenset()
    )
    head = (
        frozenset(data.draw(st.lists(st.sampled_from(sorted(everything)), max_size=3)))
        if everything
        else frozenset()
    )
    bound, _ = costs.bound(head, everything)
    rest = sorted(everything - head)
    for size in range(len(rest) + 1):
        for more in itertools.combinations(rest, size):
            assert bound <= costs.cost(head | set(more)) + 1e-9


# ----------------------------------------------------------------------------------- worked by hand


def test_two_ranges_of_numbers():
    # values 1 1 2 2 9 9 and k = 2: six people in three pairs cost 3 * 4 = 12, no cut at all 36
    data = numbers([(1,), (1,), (2,), (2,), (9,), (9,)], list("ynynyn"))
    step = KOptimize()
    plan = step.plan(data, Goal(models=(KAnonymity(2),)))
    assert plan.notes["cost"] == 12
    assert step.apply(data, plan).column("c0").to_list() == [1, 1, 2, 2, 9, 9]
    # k = 3: 1-2 and 9 suppressed costs 16 + 2 * 6 = 28, all together 36, {1,1} suppressed and 2-9
    # the same 28
    plan = step.plan(data, Goal(models=(KAnonymity(3),)))
    assert plan.notes["cost"] == 28
    assert plan.suppressed == 2
    assert KOptimize(budget=0.0).plan(data, Goal(models=(KAnonymity(3),))).notes["cost"] == 36


def test_labels_are_kept_apart():
    data = numbers([(1,), (2,), (3,), (4,), (5,), (6,)], list("yyynnn"))
    step = KOptimize("classification", "class")
    plan = step.plan(data, Goal(models=(KAnonymity(3),)))
    assert plan.notes["cost"] == 0
    assert step.apply(data, plan).column("c0").to_list() == ["1-3"] * 3 + ["4-6"] * 3


def test_trees_orders_and_sets_are_cut_too():
    frame = pl.DataFrame(
        {
            "sick": ["flu", "HIV", "cut", "burn"] * 3,
            "stage": ["low", "low", "mid", "high"] * 3,
            "town": ["A", "B", "C", None] * 3,
        }
    )
    tree = sf.tree({"*": {"virus": ["flu", "HIV"], "injury": ["cut", "burn"]}})
    schema = Schema(
        {
            "sick": Attribute((Role.QUASI,), hierarchy=tree),
            "stage": Attribute((Role.QUASI,), kind=Kind.ORDINAL, order=("low", "mid", "high")),
            "town": Attribute((Role.QUASI,)),
        }
    )
    release = sf.anonymize(Table(frame, schema), [KAnonymity(6)], [KOptimize()], seed=5)
    assert release.holds
    assert release.suppressed == 0
    assert (
        release.released.column("sick").n_unique() * release.released.column("town").n_unique() > 1
    )
    assert release.plans[0][1].notes["cost"] == 72  # two classes of six
    assert all(sf.check(release.released, release.recipe))  # though the tree does not know {A, B}


def test_points_are_thinned_out_evenly():
    assert shares([1, 10, 4], 9) == [1, 4, 4]
    assert shares([3, 3], 100) == [3, 3]
    assert shares([5, 5], 3) == [2, 1]
    rows = [(i, i % 2) for i in range(100)]
    data = numbers(rows, ["y", "n"] * 50)
    field = Ground(data, Goal(models=(KAnonymity(5),)), "a step", trees=False)
    points, possible = points_of_all(field, 5)
    assert possible == 20  # 19 between the 20 cells of five numbers, and one
    ages = [int(field.axes[0].labels[rank]) for a, rank in points if a == 0]
    assert ages == [20, 40, 60, 80]
    plan = KOptimize(cuts=5).plan(data, Goal(models=(KAnonymity(5),)))
    assert plan.notes["cut_points"] == 5
    assert plan.notes["possible_cut_points"] == 20
    assert plan.notes["proved_optimal"]


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "options",
    [
        {"effort": 0},
        {"cuts": 0},
        {"budget": 2},
        {"objective": "loss"},
        {"objective": "classification"},
        {"label": "class"},
        {"objective": "classification", "label": ""},
    ],
)
def test_parameters_out_of_range(options):
    with pytest.raises(ParameterError):
        KOptimize(**options)


def test_labels_and_promises_that_do_not_fit():
    data = numbers([(1,), (2,)], ["y", "n"])
    with pytest.raises(SchemaError, match="Did you mean 'class'"):
        KOptimize("classification", "klass").plan(data, Goal(models=(KAnonymity(2),)))
    with pytest.raises(Unsatisfiable, match="3-anonymity"):
        KOptimize().plan(data, Goal(models=(KAnonymity(3),)))
    with pytest.raises(ParameterError, match="needs a promise"):
        KOptimize().plan(data, Goal())


def test_single_values_and_unique_rows():
    same = KOptimize().plan(numbers([(7,)] * 4, list("ynyn")), Goal(models=(KAnonymity(2),)))
    assert same.notes["cost"] == 16
    assert same.score == 0.0
    unique = KOptimize().plan(
        numbers([(i,) for i in range(9)], list("ynynynyny")), Goal(models=(KAnonymity(3),))
    )
    assert unique.notes["cost"] == 27
    assert unique.labels["c0"] == ("0-2", "3-5", "6-8")


def test_an_effort_of_one_still_gives_a_release():
    data = numbers([(i % 7, i % 3) for i in range(40)], ["y", "n"] * 20)
    release = sf.anonymize(data, [KAnonymity(4)], [KOptimize(effort=1)], seed=2)
    assert release.holds
    assert not release.plans[0][1].notes["proved_optimal"]
