"""Algorithms whose results are made canonical, so that they can recur: means, regressions, stumps
and trees."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.integral.algorithms import on_grid
from tests.results.integral.test_integral_privacy import VALUES

POINTS = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (1, 2), (2, 1), (3, 2)]


LABELS = [0, 0, 0, 1, 0, 1, 1, 1]


def table(**columns):
    return Table(pl.DataFrame(columns))


def by_form(found):
    return {one.form: (one.generators, one.share, one.status) for one in found.outcomes}


def test_means_of_a_die():
    """Of 1…6 two at a time: 3.5 from three disjoint pairs, 1.5 from one."""
    found = sf.integral_privacy(table(x=[1, 2, 3, 4, 5, 6]), sf.MeanOf("x"), 3, size=2)
    told = by_form(found)
    assert told[Fraction(7, 2)] == (3, Fraction(1, 3), "proved")
    assert told[Fraction(3, 2)] == (1, 1, "disproved") and told[Fraction(5, 2)][0] == 2
    assert found.result == 3.5


def test_means_of_eight():
    told = by_form(sf.integral_privacy(table(x=VALUES), sf.MeanOf("x"), 3, size=3))
    assert told[Fraction(5)] == (6, Fraction(2, 3), "proved")
    assert told[Fraction(17, 3)] == (4, 1, "disproved"), "a record is in all four"
    assert told[Fraction(23, 3)] == (3, Fraction(2, 3), "proved")
    assert told[Fraction(19, 3)][:2] == (5, Fraction(3, 5))
    rounded = by_form(sf.integral_privacy(table(x=VALUES), sf.MeanOf("x", grid=1), 3, size=3))
    assert [rounded[Fraction(mean)][0] for mean in range(3, 10)] == [1, 4, 16, 15, 14, 5, 1]


def test_lines_through_eight_points():
    points = table(x=[x for x, _ in POINTS], y=[y for _, y in POINTS])
    told = by_form(sf.integral_privacy(points, sf.RegressionOf("y", by=["x"]), 3, size=3))
    half = Fraction(1, 2)
    assert len(told) == 45
    assert (
        told[half, half][0] == told[Fraction(1), half][0] == 5
        and told[Fraction(0), Fraction(1)][0] == 4
    )
    assert all(
        told[form][1] < 1
        for form in [(half, half), (Fraction(1), half), (Fraction(0), Fraction(1))]
    )
    assert sorted(count for count, _, _ in told.values()) == [1] * 42 + [4, 5, 5]
    grid = by_form(sf.integral_privacy(points, sf.RegressionOf("y", by=["x"], grid=0.5), 3, size=3))
    assert grid[Fraction(1), half][::2] == (12, "proved") and grid[half, half][::2] == (
        10,
        "proved",
    )
    assert grid[Fraction(0), Fraction(1)][::2] == (8, "proved")
    assert grid[Fraction(0), half] == (4, 1, "disproved")


def test_stumps_of_eight():
    people = table(x=list(range(1, 9)), y=[str(label) for label in LABELS])
    told = by_form(sf.integral_privacy(people, sf.StumpOf("y", by="x"), 3, size=4))
    assert told[Fraction(7, 2), 0] == (16, Fraction(15, 16), "proved")
    assert told[Fraction(3), 0] == (10, 1, "disproved")
    bins = by_form(sf.integral_privacy(people, sf.StumpOf("y", by="x", grid=2), 3, size=4))
    assert [(bins[Fraction(low), 0][0], bins[Fraction(low), 0][1] < 1) for low in (2, 4, 6)] == [
        (32, True),
        (27, True),
        (10, False),
    ]


def listed(values, size, grid, background=()):
    """Generators of every mean, one set at a time."""
    groups = defaultdict(list)
    free = [row for row in range(len(values)) if row not in background]
    for rows in itertools.combinations(free, size - len(background)):
        total = sum((Fraction(str(values[row])) for row in (*rows, *background)), Fraction(0))
        groups[on_grid(total / size, grid)].append(set(rows))
    return {
        form: (len(sets), Fraction(max(sum(row in one for one in sets) for row in free), len(sets)))
        for form, sets in groups.items()
    }


numbers = st.lists(st.sampled_from([0, 1, 2, 2.5, 4, -3, 10.25]), min_size=2, max_size=8)


@given(numbers, st.data())
def test_sums_tell_what_listing_tells(values, data):
    size = data.draw(st.integers(1, len(values)))
    background = data.draw(st.sets(st.integers(0, len(values) - 1), max_size=size - 1))
    grid = data.draw(st.sampled_from([None, 0.5, 2.0]))
    found = sf.integral_privacy(
        table(x=[float(v) for v in values]),
        sf.MeanOf("x", grid=grid),
        2,
        size=size,
        background=background,
    )
    assert {form: told[:2] for form, told in by_form(found).items()} == listed(
        values, size, grid, background
    )
    for one in found.outcomes:
        assert (one.status == "proved") == (one.generators >= 2 and one.share < 1)


def test_large_counts_are_exact():
    found = sf.integral_privacy(table(x=[1, 2] * 40), sf.MeanOf("x"), 3, size=40)
    assert sum(one.generators for one in found.outcomes) == math.comb(80, 40)
    assert found.result == 1.5 and found.chosen.share == Fraction(1, 2)


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.sampled_from("yn")),
        min_size=4,
        max_size=7,
    )
)
def test_trees_of_all_sets(rows):
    people = Table(pl.DataFrame(rows, schema=["x", "c", "y"], orient="row"))
    algorithm = sf.TreeOf("y", by=["x", "c"], min_leaf=1, depth=2)
    found = sf.integral_privacy(people, algorithm, 2, size=3)
    assert sum(one.generators for one in found.outcomes) == math.comb(len(rows), 3)
    runs = algorithm.on(people)
    for rows_of in itertools.combinations(range(len(rows)), 3):
        forms = {
            runs.form(np.array(order), exactly=True) for order in itertools.permutations(rows_of)
        }
        assert len(forms) == 1, "the order of records decides nothing"
    for one in found.outcomes:
        assert 0 <= one.utility <= 1


def test_a_tree_is_told_in_words():
    people = table(age=[1, 2, 3, 11, 12, 13] * 3, ill=["no", "no", "no", "yes", "yes", "yes"] * 3)
    found = sf.integral_privacy(
        people, sf.TreeOf("ill", by=["age"], grid=10, min_leaf=2), 3, size=10, samples=50, seed=1
    )
    assert found.result == "(age < 10: no else yes)"
    assert found.chosen.utility == 1 and found.chosen.status == "proved"


def test_samples_prove_but_never_disprove():
    people = table(x=VALUES)
    exact = by_form(sf.integral_privacy(people, sf.MeanOf("x"), 3, size=3))
    drawn = sf.integral_privacy(people, sf.MeanOf("x"), 3, size=3, samples=60, seed=3)
    assert not drawn.exact and drawn.count("disproved") == 0
    for one in drawn.outcomes:
        assert one.generators <= exact[one.form][0], "every generator found is a real one"
        assert one.status != "proved" or exact[one.form][2] == "proved"
    every = sf.integral_privacy(people, sf.MeanOf("x"), 3, size=3, samples=3000, seed=3)
    assert {one.form: one.generators for one in every.outcomes} == {
        form: told[0] for form, told in exact.items()
    }


def test_more_sets_than_a_float_can_tell():
    people = table(
        age=[float(i % 40) for i in range(1200)],
        ill=["yes" if i % 40 < 20 else "no" for i in range(1200)],
    )
    found = sf.integral_privacy(
        people, sf.TreeOf("ill", by=["age"], grid=20, depth=1), 5, size=500, samples=60, seed=1
    )
    assert found.result == "(age < 20: yes else no)" and found.chosen.share < 1
    assert "e+35" in json.dumps(found.to_dict()) + repr(found)


def test_the_order_of_rows_does_not_matter():
    people = sf.examples.hospital(rows=60).drop(["patient_name"])
    turned = Table(people.to_polars().reverse(), people.schema)
    algorithm = sf.RegressionOf("length_of_stay", by=["age"], grid=5)
    one = sf.integral_privacy(people, algorithm, 3, size=20, samples=200, seed=2)
    other = sf.integral_privacy(turned, algorithm, 3, size=20, samples=200, seed=2)
    assert one.to_dict() == other.to_dict() and one.result is not None


def test_background_is_taken_out_of_what_is_common():
    """With 6 known to be used, 3.5 has one pair left, {1, 6}: not private any more."""
    people = table(x=[1, 2, 3, 4, 5, 6])
    told = by_form(sf.integral_privacy(people, sf.MeanOf("x"), 2, size=2, background=[5]))
    assert told[Fraction(7, 2)] == (1, 1, "disproved")


def test_nothing_but_a_proved_result_is_told():
    found = sf.integral_privacy(table(x=[1.0, 2.0, 4.0, 8.125]), sf.MeanOf("x"), 3, size=2)
    assert found.result is None and found.chosen is None
    assert "no result may be published" in repr(found) and "8.125" not in repr(found) + json.dumps(
        found.to_dict()
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"k": 0, "size": 2}, "at least 1"),
        ({"k": 2, "size": 9}, "no larger than the table"),
        ({"k": 2, "size": 2, "background": [0, 1]}, "larger than the background"),
        ({"k": 2, "size": 2, "background": [7]}, "rows must be numbers"),
        ({"k": 2, "size": 2, "samples": 0}, "at least 1"),
    ],
)
def test_nonsense_is_refused(options, match):
    with pytest.raises(ParameterError, match=match):
        sf.integral_privacy(table(x=[1, 2, 3]), sf.MeanOf("x"), options.pop("k"), **options)


def test_tables_that_do_not_fit():
    with pytest.raises(SchemaError, match="1 missing"):
        sf.integral_privacy(table(x=[1, None, 3]), sf.MeanOf("x"), 2, size=2)
    with pytest.raises(SchemaError, match="has no column 'y'"):
        sf.integral_privacy(table(x=[1, 2, 3]), sf.MeanOf("y"), 2, size=2)
    with pytest.raises(SchemaError, match="two classes"):
        sf.integral_privacy(
            table(x=[1, 2, 3], y=["a", "b", "c"]), sf.StumpOf("y", by="x"), 2, size=2
        )
    with pytest.raises(ParameterError, match="give it a grid"):
        sf.integral_privacy(
            table(x=[1, 2, 3], y=[1, 2, 2]), sf.RegressionOf("y", by=["x"]), 2, size=2, samples=5
        )
    with pytest.raises(ParameterError, match="draw samples instead"):
        sf.integral_privacy(
            table(x=list(range(60)), y=list(range(60))), sf.RegressionOf("y", by=["x"]), 2, size=20
        )
    with pytest.raises(ParameterError, match="fewer digits"):
        sf.integral_privacy(table(x=[1 / 3 + i for i in range(200)]), sf.MeanOf("x"), 2, size=20)
    several = table(who=["a", "a", "b"], x=[1, 2, 3]).with_roles(person="who", keep="x")
    with pytest.raises(SchemaError, match="one row per person"):
        sf.integral_privacy(several, sf.MeanOf("x"), 2, size=2)


def test_bins_of_a_tree_begin_at_the_least_value():
    """Years from 1990 to 2020 are 31 bins of one year each, not 2,021."""
    years = np.tile(np.arange(1990, 2021), 4)
    people = sf.read(pl.DataFrame({"year": years, "y": np.where(years < 2005, "a", "b")}))
    runs = sf.TreeOf("y", by=["year"], min_leaf=1, depth=1).on(people)
    assert runs is not None
