"""All parameters that a table attains, against definitions written out on its classes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf

ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("123")),
    min_size=1,
    max_size=14,
)


def attained_in(rows):
    """Every parameter by its definition: Samarati & Sweeney; Machanavajjhala et al.; Li et al.; Cao
    & Karras; Brickell & Shmatikov.
    """
    classes = defaultdict(Counter)
    for first, second, value in rows:
        classes[first, second][value] += 1
    total = Counter(value for _, _, value in rows)
    shares = {value: count / len(rows) for value, count in total.items()}

    def share(counts, value):
        return counts[value] / counts.total()

    def entropy(counts):
        return -sum(share(counts, v) * math.log(share(counts, v)) for v in counts)

    gains = [(share(c, v) - shares[v]) / shares[v] for c in classes.values() for v in c]
    lacks_a_value = any(len(c) < len(total) for c in classes.values())
    # A column with one value is known whatever is released, so no distance promises anything.
    constant = len(total) == 1
    delta = max(abs(math.log(share(c, v) / shares[v])) for c in classes.values() for v in c)
    return {
        "k": min(c.total() for c in classes.values()),
        "α": max(share(c, v) for c in classes.values() for v in c),
        "p": min(len(c) for c in classes.values()),
        "l, distinct": min(len(c) for c in classes.values()),
        "l, entropy": math.exp(min(entropy(c) for c in classes.values())),
        "t, equal": None
        if constant
        else max(sum(abs(share(c, v) - shares[v]) for v in total) / 2 for c in classes.values()),
        "β, basic": None if constant else max(0.0, *gains),
        "δ": None if lacks_a_value or constant else delta,
    }


@given(ROWS)
def test_parameters_are_those_of_the_definitions(rows):
    table = pl.DataFrame(rows, schema=["a", "b", "illness"], orient="row")
    roles = {"quasi": ["a", "b"], "sensitive": "illness"}
    assessment = sf.assess(table, roles=roles, everything=True)
    measured = {entry.parameter: entry.value for entry in assessment.parameters}
    for name, expected in attained_in(rows).items():
        if expected is None:
            assert measured[name] is None
        else:
            assert measured[name] == pytest.approx(expected, abs=1e-9), name


def test_one_table_shows_all_and_says_why_a_value_is_missing():
    table = pl.DataFrame({"sex": ["f", "f", "m", "m"], "a, b": [1.0, None, 3.0, 4.0]})
    assessment = sf.assess(table, roles={"quasi": "sex", "sensitive": "a, b"}, everything=True)
    text = str(assessment)
    assert "parameter" in text and "l, entropy" in text
    assert "t, numeric of a, b: column 'a, b' has 1 missing value(s)" in text
    plain = {entry["parameter"]: entry["value"] for entry in assessment.to_dict()["parameters"]}
    assert plain["k"] == 2 and plain["l, distinct"] == 2


def test_nothing_is_measured_unless_it_is_asked_for():
    table = pl.DataFrame({"sex": ["f", "f", "m", "m"], "illness": ["a", "b", "a", "b"]})
    assert sf.assess(table, roles={"quasi": "sex", "sensitive": "illness"}).parameters == ()
