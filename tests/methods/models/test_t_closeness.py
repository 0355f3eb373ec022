from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.models.t_closeness import TCloseness
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from tests.methods.models.counted_tables import (
    TREE,
    VALUES,
    counted_classes,
    counted_dataset,
    evidence_of,
    table_of,
    verdict_of,
)
from tests.oracles import definitions as oracle

POSITIONS = [float(value) for value in VALUES]
EARTH_MOVERS = ("equal", "ordered", "numeric", "hierarchical")


def ground(distance, values):
    if distance == "hierarchical":
        paths = {path[0]: path for path in TREE.rows}
        return oracle.tree_ground([paths[value] for value in VALUES[:values]])
    positions = {"ordered": list(range(values)), "numeric": POSITIONS[:values]}
    return (
        oracle.equal_ground(values)
        if distance == "equal"
        else oracle.numeric_ground(positions[distance])
    )


@pytest.mark.slow
@pytest.mark.parametrize("distance", EARTH_MOVERS)
@given(classes=counted_classes(most_values=6))
def test_is_the_least_work_of_moving_one_distribution_to_the_other(distance, classes):
    verdict = verdict_of(classes, TCloseness("secret", t=0.25, distance=distance))
    way = ground(distance, len(classes[0]))
    expected = [oracle.earth_movers_distance(counts, table_of(classes), way) for counts in classes]
    assert verdict.per_class.tolist() == pytest.approx(expected, abs=1e-7)
    assert verdict.attained == pytest.approx(max(expected), abs=1e-7)


@given(classes=counted_classes())
def test_multiplicative_is_the_largest_ratio(classes):
    verdict = verdict_of(classes, TCloseness("secret", t=2, distance="multiplicative"))
    expected = [oracle.multiplicative_distance(counts, table_of(classes)) for counts in classes]
    assert verdict.per_class.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("distance", ["ordered", "numeric"])
def test_many_values_in_a_class_are_sorted(distance):
    # more than the 24 values up to which a class is sorted by insertion, in an order that merging
    # leaves unsorted
    rng = np.random.default_rng(5)
    values = rng.permutation(np.unique(rng.integers(0, 5000, 80)))
    frame = pl.DataFrame(
        {"block": [f"{i % 2}" for i in range(400)], "secret": rng.choice(values, 400)}
    )
    schema = Schema(
        {
            "block": Attribute((Role.QUASI,)),
            "secret": Attribute((Role.SENSITIVE,), kind=Kind.NUMERIC),
        }
    )
    model = TCloseness("secret", t=0.5, distance=distance)
    found = model.judge(gather(Table(frame, schema), [model]))
    positions = sorted(set(frame["secret"].to_list()))
    line = positions if distance == "numeric" else range(len(positions))
    for block, got in zip("01", found.per_class, strict=True):
        inside = frame.filter(pl.col("block") == block)["secret"].to_list()
        assert got == pytest.approx(
            area_between(inside, frame["secret"].to_list(), positions, list(line))
        )


def area_between(inside, everyone, positions, line):
    """∫|F − G| over the range, from the empirical distribution functions themselves."""
    gaps = zip(positions, line, line[1:], strict=False)
    area = sum(
        abs(
            sum(v <= x for v in inside) / len(inside)
            - sum(v <= x for v in everyone) / len(everyone)
        )
        * (b - a)
        for x, a, b in gaps
    )
    return area / (line[-1] - line[0])


@given(classes=counted_classes(), distance=st.sampled_from(EARTH_MOVERS))
def test_the_smallest_t_that_holds_holds_and_no_smaller_one(classes, distance):
    attained = verdict_of(classes, TCloseness("secret", t=0.2, distance=distance)).attained
    assert 0 <= attained <= 1
    assert verdict_of(classes, TCloseness("secret", t=min(1, attained), distance=distance)).holds
    if attained > 1e-3:
        assert not verdict_of(
            classes, TCloseness("secret", t=attained - 1e-6, distance=distance)
        ).holds


# ----------------------------------------------------------------------------------- worked numbers


def distances_in(dataset, model):
    """Distances in the order in which the classes first appear in the table."""
    verdict = model.judge(gather(dataset, [model]))
    return sorted(verdict.per_class.tolist())


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        # Faggioli's q-blocks, p = (220, 65, 165, 155, 135)/740, recomputed
        ("equal", [0.20753, 0.54886, 0.33205, 0.52477, 0.26126]),
        ("ordered", [0.05888, 0.37682, 0.12162, 0.33953, 0.09202]),
        ("multiplicative", [math.inf, 5.7973, 4.0659, math.inf, 2.1993]),
    ],
)
def test_faggiolis_blocks(distance, expected):
    model = TCloseness("income", t=1, distance=distance)
    found = model.judge(gather(examples.faggioli_blocks(), [model])).per_class.tolist()
    assert found == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("grouping", "expected"),
    # Li et al. 2007: 0.375 and 0.167; the other classes recomputed
    [("similar", [1 / 6, 17 / 72, 0.375]), ("spread", [1 / 12, 1 / 6, 1 / 6])],
)
def test_salaries_of_the_paper(grouping, expected):
    data = examples.salaries(grouping=grouping)
    assert distances_in(data, TCloseness("salary", t=0.5, distance="ordered")) == pytest.approx(
        expected
    )
    assert distances_in(data, TCloseness("salary", t=0.5)) == pytest.approx([2 / 3] * 3)


def test_diseases_of_the_paper():
    # Li et al. 2007, table 5; with real frequencies 7/27, 8/27, 5/27 (confirmed by linear
    # programming)
    data, model = (
        examples.diseases(grouping="spread"),
        TCloseness("disease", t=0.3, distance="hierarchical"),
    )
    evidence = gather(data, [model])
    assert sorted(model.judge(evidence).per_class.tolist()) == pytest.approx(
        [5 / 27, 7 / 27, 8 / 27]
    )
    assert model.judge(evidence).holds
    # the 0.278 = 5/18 the paper prints takes the six diseases to be equally frequent
    once_each = np.ones_like(evidence.reference["disease"])
    printed = model.judge(dataclasses.replace(evidence, reference={"disease": once_each}))
    assert any(value == pytest.approx(5 / 18) for value in printed.per_class)


# ----------------------------------------------------------------- what the values are, and how far


def test_ordinal_columns_follow_their_order_not_the_alphabet():
    order = ("low", "middle", "high")
    classes = [[4, 0, 0], [0, 4, 0], [0, 0, 4]]
    described = {"kind": "ordinal", "order": order, "hierarchy": None}
    found = verdict_of(classes, TCloseness("secret", t=0.5, distance="ordered"), order, **described)
    assert found.per_class.tolist() == pytest.approx([0.5, 1 / 3, 0.5])


def test_numbers_are_ordered_as_numbers_not_as_text():
    found = verdict_of(
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        TCloseness("secret", t=0.5, distance="ordered"),
        ("9", "10", "100"),
    )
    assert found.per_class.tolist() == pytest.approx([0.5, 1 / 3, 0.5])


def test_dates_are_ordered():
    frame = pl.DataFrame(
        {"block": ["a", "b", "c"], "day": ["2024-01-09", "2024-01-10", "2024-02-01"]}
    )
    schema = Schema(
        {"block": Attribute((Role.QUASI,)), "day": Attribute((Role.SENSITIVE,), kind=Kind.DATE)}
    )
    model = TCloseness("day", t=0.5, distance="ordered")
    for table in (frame, frame.with_columns(pl.col("day").str.to_date())):
        assert model.judge(
            gather(Table(table, schema), [model])
        ).per_class.tolist() == pytest.approx([0.5, 1 / 3, 0.5])


def test_the_true_scale_knows_how_far_values_are_apart():
    # 1, 2 and 10: class (1) is at (1·2/3 + 8·1/3)/9 on the scale, at (2/3 + 1/3)/2 in the order
    classes, values = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], ("1", "2", "10")
    assert verdict_of(classes, TCloseness("secret", t=0.5, distance="numeric"), values).per_class[
        0
    ] == pytest.approx(10 / 27)
    assert verdict_of(classes, TCloseness("secret", t=0.5, distance="ordered"), values).per_class[
        0
    ] == pytest.approx(0.5)


def test_a_missing_value_is_far_from_every_node():
    # under the tree: missing and 1 meet only at the top
    found = verdict_of(
        [[2, 0], [0, 2]], TCloseness("secret", t=0.5, distance="hierarchical"), ("1", None)
    )
    assert found.per_class.tolist() == pytest.approx([0.5, 0.5])


def test_siblings_are_nearer_than_strangers():
    near = verdict_of(
        [[2, 0], [0, 2]], TCloseness("secret", t=0.5, distance="hierarchical"), ("1", "2")
    )
    far = verdict_of(
        [[2, 0], [0, 2]], TCloseness("secret", t=0.5, distance="hierarchical"), ("1", "4")
    )
    assert near.attained == pytest.approx(0.25)
    assert far.attained == pytest.approx(0.5)


# --------------------------------------------------------------------------------------- references


def released_and_original():
    """Six records of four: the second class was suppressed."""
    return counted_dataset([[2, 2], [3, 1]]), counted_dataset([[2, 2], [3, 1], [1, 7]])


def test_both_references_are_reported():
    released, original = released_and_original()
    model = TCloseness("secret", t=0.3)
    verdict = model.judge(gather(released, [model], original=original))
    assert verdict.per_class.tolist() == pytest.approx([0.125, 0.375])  # against (6, 10)/16
    assert "(from the released one 0.125)" in verdict.sentence
    other = TCloseness("secret", t=0.3, reference="released")
    verdict = other.judge(gather(released, [other], original=original))
    assert verdict.per_class.tolist() == pytest.approx([0.125, 0.125])  # against (5, 3)/8
    assert "(from the original one 0.375)" in verdict.sentence


def test_the_released_reference_needs_no_original():
    released, original = released_and_original()
    for distance in ("equal", "ordered", "numeric", "hierarchical"):
        model = TCloseness("secret", t=0.3, distance=distance, reference="released")
        assert not model.needs(released.schema).reference
        alone, informed = (
            model.judge(gather(released, [model], original=o)) for o in (None, original)
        )
        assert alone.per_class.tolist() == pytest.approx(informed.per_class.tolist())


@pytest.mark.parametrize("distance", ["ordered", "numeric"])
def test_values_that_were_suppressed_do_not_stretch_the_released_axis(distance):
    released, original = (
        counted_dataset([[0, 1, 2], [0, 2, 1]]),
        counted_dataset([[0, 1, 2, 0], [0, 2, 1, 0], [3, 0, 0, 3]]),
    )
    model = TCloseness("secret", t=0.3, distance=distance, reference="released")
    alone, informed = (model.judge(gather(released, [model], original=o)) for o in (None, original))
    assert informed.per_class.tolist() == pytest.approx(alone.per_class.tolist())
    assert alone.attained == pytest.approx(1 / 6)


def test_scope_follows_the_reference():
    assert TCloseness("secret", t=0.1).scope == "class"
    assert TCloseness("secret", t=0.1, reference="released").scope == "table"


def test_suppression_is_repeated_until_what_is_left_resembles_itself():
    # every class is farther than .12 from all, (16, 11)/27; without the last two, the others are
    # within .06 of (12, 3)/15
    data = counted_dataset([[6, 1], [6, 2], [4, 0], [0, 8]])
    model = TCloseness("secret", t=0.12, reference="released")
    assert model.judge(gather(data, [model])).failing.tolist() == [0, 1, 2, 3]
    plan = GlobalRecoding(budget=1, objective="height").plan(data, Goal(models=(model,)))
    released = GlobalRecoding().apply(data, plan)
    assert len(released) == 15
    assert model.judge(gather(released, [model], original=data)).holds


def test_a_class_infinitely_far_from_what_is_released_goes_first():
    data = counted_dataset([[3, 3], [2, 2], [4, 0]])
    model = TCloseness("secret", t=1.2, distance="multiplicative", reference="released")
    plan = GlobalRecoding(budget=1, objective="height").plan(data, Goal(models=(model,)))
    assert plan.suppressed == 4


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"t": -0.1}, "greater than or equal to 0"),
        ({"t": 1.2}, "at most 1"),
        ({"t": 1.2, "distance": "ordered"}, "at most 1"),
        ({"t": 0.9, "distance": "multiplicative"}, "at least 1"),
        ({"t": math.nan}, "finite"),
        ({"t": 0.2, "distance": "euclidean"}, "distance"),
    ],
)
def test_parameters_out_of_range_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        TCloseness("secret", **given)


@pytest.mark.parametrize(
    ("distance", "described", "message"),
    [
        ("hierarchical", {"hierarchy": None}, "needs a hierarchy of 'secret'"),
        ("numeric", {"kind": "nominal"}, "kind numeric; 'secret' is nominal"),
        ("ordered", {"kind": "nominal"}, "'secret' is nominal"),
        ("ordered", {"kind": "ordinal"}, "list its values under order"),
    ],
)
def test_columns_that_do_not_fit_are_refused_before_counting(distance, described, message):
    schema = counted_dataset([[1, 1]], **described).schema
    with pytest.raises(SchemaError, match=message):
        TCloseness("secret", t=0.2, distance=distance).needs(schema)


@pytest.mark.parametrize(
    ("distance", "values", "described", "message"),
    [
        ("numeric", ("1", None), {}, "'secret' has 3 missing value"),
        ("ordered", ("1", None), {}, "'secret' has 3 missing value"),
        ("numeric", ("1", "many"), {}, "of its values are not numbers"),
        ("numeric", ("1", "inf"), {}, "of its values are not numbers"),
        (
            "ordered",
            ("a", "b"),
            {"kind": "ordinal", "order": ("a",)},
            "1 values that its order does not list",
        ),
        ("ordered", ("2024-01-01", "soon"), {"kind": "date"}, "1 of its values are not written"),
        ("hierarchical", ("1", "3"), {}, "1 of 2 distinct values are not covered"),
    ],
)
def test_values_that_do_not_fit_are_counted_not_shown(distance, values, described, message):
    model = TCloseness("secret", t=0.2, distance=distance)
    evidence = evidence_of([[2, 1], [1, 2]], model, values, **described)
    for act in (model.failing, model.judge):
        with pytest.raises(SchemaError, match=message) as raised:
            act(evidence)
        assert "many" not in str(raised.value)
        assert "soon" not in str(raised.value)


def test_nan_in_a_numeric_column_is_named_before_the_search():
    frame = pl.DataFrame({"block": ["a", "a", "b", "b"], "pay": [1.0, float("nan"), 2.0, 3.0]})
    top = TableHierarchy([("a", "*"), ("b", "*")])
    schema = Schema(
        {
            "block": Attribute((Role.QUASI,), hierarchy=top),
            "pay": Attribute((Role.SENSITIVE,), kind=Kind.NUMERIC),
        }
    )
    with pytest.raises(SchemaError, match="column 'pay' has 1 missing value"):
        GlobalRecoding().plan(
            Table(frame, schema), Goal(models=(TCloseness("pay", t=0.3, distance="numeric"),))
        )


@pytest.mark.parametrize("distance", ["equal", "ordered", "numeric", "multiplicative"])
def test_of_a_constant_column_every_record_is_forced_out_without_a_warning(distance):
    """Its value is known by it already: no class holds, however coarse, and infinite distances are
    not divided.
    """
    frame = pl.DataFrame({"a": ["x", "x", "x", "y", "y", "z"], "s": [5.0] * 6})
    attributes = {
        "a": Attribute((Role.QUASI,)),
        "s": Attribute((Role.SENSITIVE,), kind=Kind.NUMERIC),
    }
    table = Table(frame, Schema(attributes))
    model = TCloseness("s", t=1.5 if distance == "multiplicative" else 0.2, distance=distance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evidence = gather(table, [model], original=table)
        forced, verdict = model.forced(evidence), model.judge(evidence)
    assert not verdict.holds
    if distance != "multiplicative":
        assert forced.tolist() == evidence.classes.records.tolist()
