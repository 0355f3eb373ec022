from __future__ import annotations

from fractions import Fraction
from math import floor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import Intervals, intervals
from tests.methods.hierarchies.contract import (
    keeps_the_contract,
    loses_nothing_at_first_and_all_at_the_top,
    understands_its_own_labels,
)


def rows(hierarchy, *values):
    return [row[1:-1] for row in hierarchy.paths(values, [1] * len(values)).rows]


def test_ages_in_five_ten_and_twenty_years():
    assert rows(intervals(5, 10, 20), "23", "0", "39") == [
        ("20-24", "20-29", "20-39"),
        ("0-4", "0-9", "0-19"),
        ("35-39", "30-39", "20-39"),
    ]


def test_a_number_on_a_limit_belongs_to_the_interval_above_it():
    assert rows(intervals(5), "24", "25") == [("20-24",), ("25-29",)]


def test_the_grid_does_not_depend_on_the_data():
    assert rows(intervals(10), "57") == rows(intervals(10), "57", "51", "58")[:1] == [("50-59",)]


def test_origin_moves_the_grid():
    assert rows(intervals(10, origin=18), "18", "27", "28") == [("18-27",), ("18-27",), ("28-37",)]


def test_one_fraction_makes_all_labels_half_open():
    assert rows(intervals(5), "20", "22.5") == [("[20, 25)",), ("[20, 25)",)]


def test_one_interval_below_zero_makes_all_labels_half_open():
    assert rows(intervals(5), "-3", "7") == [("[-5, 0)",), ("[5, 10)",)]
    assert rows(intervals(10, origin=5), "3") == [("[-5, 5)",)]


def test_whole_numbers_may_be_written_with_a_decimal_point():
    assert rows(intervals(5), "20.0", "2.1e1") == [("20-24",), ("20-24",)]


def test_an_interval_of_one_whole_number_is_called_by_it():
    assert rows(intervals(1, 5), "23") == [("23", "20-24")]


@pytest.mark.parametrize(
    ("value", "label"), [("0.3", "[0.3, 0.4)"), ("0.7", "[0.7, 0.8)"), ("-0.1", "[-0.1, 0)")]
)
def test_decimal_limits_are_exact(value, label):
    # in binary floating point 0.3 // 0.1 is 2
    assert rows(intervals(0.1), value) == [(label,)]


def test_numbers_beyond_the_precision_of_floats_stay_apart():
    assert rows(intervals(2), "9007199254740993", "9007199254740991") == [
        ("9007199254740992-9007199254740993",),
        ("9007199254740990-9007199254740991",),
    ]


def test_open_ends_are_the_same_on_every_level():
    hierarchy = intervals(5, 20, open_below=20, open_above=80)
    assert rows(hierarchy, "3", "20", "79", "80", "104") == [
        ("<20", "<20"),
        ("20-24", "20-39"),
        ("75-79", "60-79"),
        (">=80", ">=80"),
        (">=80", ">=80"),
    ]


def test_numbers_below_zero_may_hide_in_an_open_end():
    assert rows(intervals(5, open_below=0), "-7", "3") == [("<0",), ("0-4",)]
    assert rows(intervals(5, open_below=-5), "<-5", "3") == [("<-5",), ("0-4",)]


def test_loss_is_the_width_inside_the_domain():
    paths = intervals(10, 20, lower=0, upper=50).paths(["3", "44"], [1, 1])
    assert paths.loss[1] == {"0-9": 10 / 50, "40-49": 10 / 50}
    assert paths.loss[2] == {"0-19": 20 / 50, "40-59": 10 / 50}
    assert paths.loss[3] == {"*": 1.0}


def test_without_a_domain_it_reaches_from_the_least_to_the_greatest_number():
    paths = intervals(10).paths(["12", "25", "32"], [1, 1, 1])
    assert paths.loss[1] == {"10-19": 8 / 20, "20-29": 10 / 20, "30-39": 2 / 20}


def test_the_last_interval_ends_where_the_domain_does():
    # real widths, clipped to the range 25–28: 25-26 stands for [25, 27), 27-28 for [27, 28]
    paths = intervals(2, 4, origin=25).paths(["25", "26", "27", "28"], [1] * 4)
    assert paths.loss[1] == {"25-26": 2 / 3, "27-28": 1 / 3}
    assert paths.loss[2] == {"25-28": 1.0}


def test_open_ends_lose_what_they_hide_of_the_domain():
    paths = intervals(10, open_below=20, open_above=80, upper=100).paths(["0", "50", "90"], [1] * 3)
    assert paths.loss[1] == {"<20": 20 / 100, "50-59": 10 / 100, ">=80": 20 / 100}


def test_a_single_number_loses_nothing():
    assert intervals(5).paths(["23"], [4]).loss == ({"23": 0.0}, {"20-24": 0.0}, {"*": 0.0})


def test_leaves_are_the_numbers_that_occur():
    paths = intervals(5, 10).paths(["21", "22", "27", "31"], [1] * 4)
    assert paths.leaves[1] == {"20-24": 2, "25-29": 1, "30-34": 1}
    assert paths.leaves[3] == {"*": 4}


def test_interval_labels_are_inner_nodes():
    paths = keeps_the_contract(intervals(5, 10), ["23", "20-24", "20-29", "*"])
    assert paths.rows == (
        ("23", "20-24", "20-29", "*"),
        ("20-24", "20-24", "20-29", "*"),
        ("20-29", "20-29", "20-29", "*"),
        ("*", "*", "*", "*"),
    )
    assert paths.loss[0] == {"23": 0.0, "20-24": 0.5, "20-29": 1.0, "*": 1.0}


def test_labels_written_otherwise_join_their_interval_on_its_level():
    paths = keeps_the_contract(intervals(5, 10), ["[20,25)", "20-24", "[20, 25)"])
    assert {row[1] for row in paths.rows} == {"[20, 25)"}
    assert [row[0] for row in paths.rows] == ["[20,25)", "20-24", "[20, 25)"]


def test_an_interval_inside_an_open_end_is_finer_than_it():
    paths = keeps_the_contract(intervals(5, 10, open_above=80), ["80-89", "85-89", ">=80", "12"])
    assert paths.rows[0] == ("80-89", ">=80", ">=80", "*")


def test_a_column_of_suppressed_cells_has_lost_all():
    assert intervals(5).paths(["*"], [9]).loss == ({"*": 1.0}, {"*": 1.0}, {"*": 1.0})


def test_no_values_at_all():
    paths = intervals(5, 10).paths([], [])
    assert paths.rows == ()
    assert len(paths.leaves) == len(paths.loss) == 4
    keeps_the_contract(intervals(5, 10), [])


@pytest.mark.parametrize(
    "value",
    [
        "old",
        "",
        "nan",
        "inf",
        "1_000",
        "3,5",
        "1.000,5",
        "21-25",
        "20-22",
        "24-20",
        "[5, 5)",
        "<30",
        ">=3",
        "٣",
    ],
)
def test_what_is_no_number_and_no_interval_of_a_level_is_counted(value):
    with pytest.raises(SchemaError, match="1 of 2 distinct values are neither numbers"):
        intervals(5, 10, open_below=20).paths(["23", value], [1, 1])


def test_values_outside_a_given_domain_are_counted():
    with pytest.raises(SchemaError, match="2 of 3 distinct values lie outside the domain"):
        intervals(5, lower=0, upper=100).paths(["-1", "50", "101"], [1] * 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"widths": (5, 12)}, "is not a multiple of the one before"),
        ({"widths": (10, 5)}, "growing multiples"),
        ({"widths": (5, 5)}, "growing multiples"),
        ({"widths": (0.2, 0.5)}, "growing multiples"),
        ({"widths": ()}, "at least 1 entry"),
        ({"widths": (0,)}, "greater than 0"),
        ({"widths": (-5,)}, "greater than 0"),
        ({"widths": (float("nan"),)}, "finite number"),
        ({"widths": ("5",)}, "finite number"),
        ({"widths": (5,), "origin": float("inf")}, "finite number"),
        ({"widths": (5, 10), "open_below": 25}, "open_below=25 must be a limit of the widest"),
        ({"widths": (5,), "open_above": 81}, "open_above=81 must be a limit"),
        ({"widths": (5,), "open_below": 30, "open_above": 20}, "must not be greater"),
        ({"widths": (5,), "lower": 3, "upper": 3}, "lower must be less"),
    ],
)
def test_wrong_parameters_are_refused(given, said):
    with pytest.raises(ParameterError, match=said):
        Intervals(**given)


def test_decimal_widths_nest_exactly():
    assert Intervals((0.1, 0.3)).widths == (0.1, 0.3)  # in binary floating point 0.3 % 0.1 is not 0


numbers = st.one_of(
    st.integers(-300, 300).map(str),
    st.decimals(-300, 300, places=2).map(str),
    st.floats(-1e6, 1e6, allow_nan=False).map(repr),
)
hierarchies = st.builds(
    lambda base, factors, origin, low, high: intervals(
        *[base * f for f in factors],
        origin=origin,
        open_below=None if low is None else origin + low * base * factors[-1],
        open_above=None if high is None else origin + high * base * factors[-1],
    ),
    st.sampled_from([1, 5, 3, 1000]),
    st.sampled_from([(1,), (1, 2), (1, 2, 4), (1, 10)]),
    st.integers(-7, 7),
    st.none() | st.integers(-5, 0),
    st.none() | st.integers(0, 5),
)


@given(hierarchies, st.lists(numbers, min_size=1, max_size=12, unique=True))
def test_contract(hierarchy, values):
    paths = keeps_the_contract(hierarchy, values)
    understands_its_own_labels(hierarchy, values)
    if len({Fraction(v) for v in values}) > 1:
        loses_nothing_at_first_and_all_at_the_top(paths)


@given(hierarchies, st.lists(numbers, min_size=2, max_size=8, unique=True))
def test_agrees_with_the_definition(hierarchy, values):
    """Two numbers share a label exactly when the same interval holds both; the loss is its clipped
    width.
    """
    paths = hierarchy.paths(values, [1] * len(values))
    exact = [Fraction(v) for v in values]
    low, high = min(exact), max(exact)
    assume(low < high)
    for level, width in enumerate(hierarchy.widths, 1):
        spans = []
        for number in exact:
            start = hierarchy.origin + floor(
                (number - hierarchy.origin) / Fraction(width)
            ) * Fraction(width)
            span = (start, start + Fraction(width))
            if hierarchy.open_below is not None and number < hierarchy.open_below:
                span = (low, Fraction(hierarchy.open_below))
            elif hierarchy.open_above is not None and number >= hierarchy.open_above:
                span = (Fraction(hierarchy.open_above), high)
            spans.append(span)
        labels = [row[level] for row in paths.rows]
        assert len(set(zip(labels, spans, strict=True))) == len(set(labels)) == len(set(spans))
        for label, (start, end) in zip(labels, spans, strict=True):
            share = max(Fraction(0), min(end, high) - max(start, low)) / (high - low)
            assert paths.loss[level][label] == pytest.approx(float(share), abs=1e-12)
