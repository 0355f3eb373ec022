"""SUDA2: the worked tables, sdcMicro's values, and every subset tried one by one."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.attacks.suda import Suda, special_uniques
from sfumato.release.intruders import intruder_from

K7 = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def people(rows, names="abcdef"):
    frame = pl.DataFrame(
        {names[i]: list(column) for i, column in enumerate(zip(*rows, strict=True))}
    )
    return Table(frame).with_roles(quasi=frame.columns)


@pytest.mark.slow
def test_ten_records():
    # ALGORITHMS 10.3 (G31), after the example of the sdcMicro guidelines
    found = special_uniques(examples.special_uniques(), fraction=0.1)
    assert found.scores.tolist() == [0, 0, 0, 0, 6, 0, 0, 6, 1, 0]
    assert found.match_probability == pytest.approx(0.0769231, abs=1e-7)


def test_eight_records_of_sdcmicro():
    # sdcMicro 5.8.1, suda2(francdat, c("Key1", "Key2", "Key3", "Key4")), original scores
    rows = [
        (1, 2, 5, 1),
        (1, 2, 1, 1),
        (1, 2, 1, 1),
        (3, 3, 1, 5),
        (4, 3, 1, 4),
        (4, 3, 1, 1),
        (6, 2, 1, 5),
        (1, 2, 5, 1),
    ]
    table = people(rows)
    found = special_uniques(table)
    assert found.scores.tolist() == [0, 0, 0, 8, 6, 4, 8, 0]
    expected = [
        0,
        0,
        0,
        0.0142134863245872,
        0.0101060150120893,
        0.00623684035040827,
        0.0142134863245872,
        0,
    ]
    assert found.disclosure.tolist() == pytest.approx(expected, rel=1e-6)
    tenth = special_uniques(table, fraction=0.1).disclosure.tolist()
    expected = [
        0,
        0,
        0,
        0.136891320457662,
        0.10096284487344,
        0.0645776395723043,
        0.136891320457662,
        0,
    ]
    assert tenth == pytest.approx(expected, rel=1e-6)


def test_survey_like_sdcmicro(reference_data):
    # sdcMicro 5.8.1, suda2(testdata, K7): sums over 4,580 records
    table = pl.read_csv(reference_data / "survey" / "testdata.csv", infer_schema_length=None)
    dataset = Table(table.select(K7)).with_roles(quasi=K7)
    found = special_uniques(dataset)
    assert (
        found.scores.sum() == 4890 and found.scores.max() == 720 and (found.scores > 0).sum() == 157
    )
    assert found.disclosure.sum() == pytest.approx(9.83109092127511, rel=1e-6)
    assert special_uniques(dataset, fraction=0.05).disclosure.sum() == pytest.approx(
        33.13405686389, rel=1e-6
    )


def naive_score(rows, at, most):
    columns = len(rows[0])

    def alone(chosen):
        return (
            Counter(tuple(row[a] for a in chosen) for row in rows)[
                tuple(rows[at][a] for a in chosen)
            ]
            == 1
        )

    score = 0
    for size in range(1, most + 1):
        for chosen in itertools.combinations(range(columns), size):
            parts = itertools.combinations(chosen, size - 1) if size > 1 else ()
            if alone(chosen) and not any(alone(part) for part in parts):
                score += math.prod(columns - i for i in range(size, min(most, columns - 1) + 1))
    return score


tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[st.sampled_from("xyz")] * width), min_size=1, max_size=12)
)


@given(tables, st.integers(1, 5))
def test_scores_against_every_subset(rows, most):
    size = min(most, len(rows[0]))
    found = special_uniques(people(rows), most=most)
    assert found.scores.tolist() == [naive_score(rows, i, size) for i in range(len(rows))]
    assert ((found.scores > 0) == (found.minimal > 0)).all()
    assert found.disclosure.min() >= 0 and found.disclosure.max() <= 1


@given(tables)
def test_only_records_alone_on_all_columns_have_a_score(rows):
    counts = Counter(rows)
    assert (special_uniques(people(rows)).scores > 0).tolist() == [counts[row] == 1 for row in rows]


def test_the_measure_names_columns_and_victims():
    table = examples.special_uniques()
    pair = TablePair.of(table, table)
    found = Suda(fraction=0.1).attack(
        Scene(pair, intruder_from(pair, pair.quasi, sample=9, seed=Seed(0)))
    )
    assert found.value == pytest.approx(0.2) and found.victims.tolist() == [4, 7]
    assert found.weights["income"] == 0 and found.weights["age"] > 0


def test_no_uniques_no_risk():
    found = special_uniques(people([("x", "y")] * 4))
    assert not found.scores.any() and not found.disclosure.any() and found.match_probability == 0


def naive_disclosure(rows, most, fraction):
    """DIS-SUDA by its definition: U and θ count all records that are alone on all columns, whatever
    sizes are searched.
    """
    counts, columns = Counter(rows), len(rows[0])
    unique = sum(n == 1 for n in counts.values())
    in_pairs = 2 * sum(n == 2 for n in counts.values())
    scores = [naive_score(rows, at, min(most, columns)) for at in range(len(rows))]
    below = fraction * unique + in_pairs * (1 - fraction)
    theta = fraction * unique / below if below else 0.0
    if not theta:
        return [0.0] * len(rows)
    q = 1 + (8 - columns) / 20
    inverse = sum(s**-q for s in scores if s > 0)
    return [
        1 / (1 + (unique / theta - unique) / (s**q * inverse)) if s > 0 else 0.0 for s in scores
    ]


@given(
    st.integers(2, 5).flatmap(
        lambda width: st.lists(st.tuples(*[st.integers(0, 2)] * width), min_size=1, max_size=14)
    ),
    st.integers(1, 6),
    st.sampled_from([0.01, 0.1, 0.5]),
)
def test_disclosure_against_its_definition_whatever_sizes_are_searched(rows, most, fraction):
    found = special_uniques(people(rows), most=most, fraction=fraction).disclosure.tolist()
    assert found == pytest.approx(naive_disclosure(rows, most, fraction))


def test_uniques_that_small_sets_do_not_single_out_count_as_uniques():
    rows = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 3), (3, 3)]
    every, ones = special_uniques(people(rows)), special_uniques(people(rows), most=1)
    assert ones.scores.tolist() == [0, 0, 0, 0, 2, 0, 0]
    assert ones.match_probability == every.match_probability
    theta = ones.match_probability
    assert ones.disclosure[4] == pytest.approx(1 / (1 + (5 / theta - 5) / 1))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fraction": 0}, "sampling fraction"),
        ({"most": 0}, "at least one column"),
        ({"fraction": 1.5}, "at most 1"),
    ],
)
def test_wrong_parameters(options, told):
    with pytest.raises(ParameterError, match=told):
        special_uniques(people([("x",), ("y",)]), **options)


def test_too_many_columns_and_empty_tables():
    wide = Table(pl.DataFrame({f"c{i}": [1, 2] for i in range(30)})).with_roles(
        quasi=[f"c{i}" for i in range(30)]
    )
    with pytest.raises(ParameterError, match="name fewer columns"):
        special_uniques(wide, most=2)
    with pytest.raises(SchemaError, match="one row"):
        special_uniques(people([("x",)]).take(np.array([], dtype=np.int64)))
