"""Errors of COUNT queries against counting by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import Pair
from sfumato.core.randomness import Seed
from sfumato.utility.query_workload import questions_of
from tests.random_tables import tables
from tests.utility.pairs_of_tables import itself, recoded


@pytest.mark.slow
@given(data=st.data(), table=tables(most_rows=10), k=st.integers(1, 2))
def test_predicates_of_categories(data, table, k):
    node = tuple(data.draw(st.integers(0, d - 1)) for d in table.depths)
    pair, _ = recoded(table, node, k)
    for name in table.names:
        asked = questions_of(pair, name, 5, 0.5, Seed(1).stream("x"))
        reading = pair.reading(name)
        known = [i for i, v in enumerate(reading.values) if v is not None]
        assert set(np.unique(asked.before)) <= {0.0, 1.0}
        assert asked.blind == pytest.approx(asked.before.sum(axis=1) / max(1, len(known)))
        for code, label in enumerate(reading.labels):
            fitting = [v for v in known if reading.fits(v, code)]
            if label is None:
                expected = np.zeros(5) if None in reading.values else asked.blind
            else:
                expected = asked.before[:, fitting].mean(axis=1) if fitting else asked.blind
            # a label that also stands for missing values leaves these out of what can be asked for
            if label != "*" and None in [
                reading.values[v] for v in range(len(reading.values)) if reading.fits(v, code)
            ]:
                continue
            assert asked.after[:, code] == pytest.approx(expected)


def test_predicates_of_numbers():
    people = sf.read(pl.DataFrame({"age": [20, 21, 22, 23, 30]})).with_roles(quasi="age")
    labels = pl.Series(["20-21", "20-21", "22.5", "22-30", "*"])
    pair = Pair.of(people, people.with_columns({"age": labels}))
    reading = pair.reading("age")
    asked = questions_of(pair, "age", 50, 0.4, Seed(1).stream("x"))
    for query in range(50):
        chosen = [float(v) for v, there in zip(reading.values, asked.before[query], strict=True) if there]
        assert len(chosen) == 2
        share = dict(zip(reading.labels, asked.after[query], strict=True))
        assert share["20-21"] == sum(v in (20, 21) for v in chosen) / 2
        assert share["22-30"] == pytest.approx(sum(v >= 22 for v in chosen) / 3)
        assert share["22.5"] == (min(chosen) <= 22.5 <= max(chosen))
        assert share["*"] == 0.4


def test_counted_by_hand():
    # one column, every query asks for one of the two values; half of the records say nothing
    people = sf.read(pl.DataFrame({"sex": ["f"] * 6 + ["m"] * 2})).with_roles(quasi="sex")
    pair = Pair.of(people, people.with_columns({"sex": pl.Series(["f"] * 4 + ["*"] * 4)}))
    metric = sf.QueryWorkload(dimensions=1, selectivity=0.5, queries=400, sanity=0)
    found = metric.measure(pair)
    # for f: true 6, estimate 4 + 2; for m: true 2, estimate 0 + 2: both exact
    assert found.raw == 0
    worse = Pair.of(people, people.take(np.arange(6)))
    # for f: true 6, estimate 6 + 1, error 1/6; for m: true 2, estimate 1, error 1/2
    assert set(np.round(np.unique(metric._errors(worse, ("sex",), 50, Seed(2).stream("x"))[0]), 9)) == {
        round(1 / 6, 9),
        0.5,
    }


def test_seeded():
    release = Pair.of(sf.examples.patients(), sf.examples.patients(release="single"))
    one, same, other = (sf.QueryWorkload(queries=30, seed=s).measure(release) for s in (1, 1, 2))
    assert one.to_dict() == same.to_dict()
    assert one.to_dict() != other.to_dict()


def test_columns_and_dimensions():
    people = sf.examples.survey()
    many = sf.read(pl.DataFrame({f"c{i}": ["a", "b"] for i in range(15)})).with_roles(
        quasi=[f"c{i}" for i in range(15)]
    )
    assert sf.QueryWorkload(queries=40).measure(itself(many)).raw == 0
    assert sf.QueryWorkload(people.schema.quasi[:1], dimensions=3, queries=7).measure(itself(people)).raw == 0
    assert "7 COUNT queries" in sf.QueryWorkload(people.schema.quasi[:2], queries=7).measure(itself(people)).meaning


def test_a_column_that_was_not_released():
    people = sf.read(pl.DataFrame({"a": list("xxxy"), "b": list("uvuv")})).with_roles(quasi=["a", "b"])
    found = sf.QueryWorkload(queries=60, dimensions=1, selectivity=0.5, sanity=0).measure(
        Pair.of(people, people.drop(["b"]))
    )
    assert found.per_column == {"a": 0, "b": 0}  # u and v are equally frequent: spreading evenly is right


@pytest.mark.parametrize("wrong", [{"queries": 0}, {"dimensions": 0}, {"selectivity": 0}, {"sanity": 2}, {"seed": -1}])
def test_wrong_parameters(wrong):
    with pytest.raises(sf.errors.ParameterError, match=next(iter(wrong))):
        sf.QueryWorkload(**wrong)
