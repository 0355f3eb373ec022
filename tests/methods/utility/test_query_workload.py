"""Errors of COUNT queries against counting by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import kernels
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.methods.utility import query_workload
from sfumato.methods.utility.query_workload import Questions, questions_of
from tests.methods.utility.pairs_of_tables import itself, recoded
from tests.random_tables import tables


def asked_for(asked: Questions) -> np.ndarray:
    """Per predicate and original value whether it is asked for, 1 or 0."""
    parts = [
        range(start, min(start + 64, len(asked.blind))) for start in range(0, len(asked.blind), 64)
    ]
    bits = [
        asked.masks(part.start, part.stop)[None, :]
        >> np.arange(len(part), dtype=np.uint64)[:, None]
        for part in parts
    ]
    return (np.concatenate(bits) & np.uint64(1)).astype(float)


@pytest.mark.slow
@given(data=st.data(), table=tables(most_rows=10), k=st.integers(1, 2))
def test_predicates_of_categories(data, table, k):
    node = tuple(data.draw(st.integers(0, d - 1)) for d in table.depths)
    pair, _ = recoded(table, node, k)
    for name in table.names:
        asked = questions_of(pair, name, 5, 0.5, Seed(1).stream("x"))
        reading = pair.reading(name)
        known = [i for i, v in enumerate(reading.values) if v is not None]
        before = asked_for(asked)
        assert asked.blind == pytest.approx(before.sum(axis=1) / max(1, len(known)))
        for code, label in enumerate(reading.labels):
            fitting = [v for v in known if reading.fits(v, code)]
            if label is None:
                expected = np.zeros(5) if None in reading.values else asked.blind
            else:
                expected = before[:, fitting].mean(axis=1) if fitting else asked.blind
            # a label that also stands for missing values leaves these out of what can be asked for
            if label != "*" and None in [
                reading.values[v] for v in range(len(reading.values)) if reading.fits(v, code)
            ]:
                continue
            assert asked.after[:, code] == pytest.approx(expected)


def test_predicates_of_numbers():
    people = sf.read(pl.DataFrame({"age": [20, 21, 22, 23, 30]})).with_roles(quasi="age")
    labels = pl.Series(["20-21", "20-21", "22.5", "22-30", "*"])
    pair = TablePair.of(people, people.with_columns({"age": labels}))
    reading = pair.reading("age")
    asked = questions_of(pair, "age", 50, 0.4, Seed(1).stream("x"))
    before = asked_for(asked)
    for query in range(50):
        chosen = [float(v) for v, there in zip(reading.values, before[query], strict=True) if there]
        assert len(chosen) == 2
        share = dict(zip(reading.labels, asked.after[query], strict=True))
        assert share["20-21"] == sum(v in (20, 21) for v in chosen) / 2
        assert share["22-30"] == pytest.approx(sum(v >= 22 for v in chosen) / 3)
        assert share["22.5"] == (min(chosen) <= 22.5 <= max(chosen))
        assert share["*"] == 0.4


def test_counted_by_hand():
    # one column, every query asks for one of the two values; half of the records say nothing
    people = sf.read(pl.DataFrame({"sex": ["f"] * 6 + ["m"] * 2})).with_roles(quasi="sex")
    pair = TablePair.of(people, people.with_columns({"sex": pl.Series(["f"] * 4 + ["*"] * 4)}))
    metric = sf.QueryWorkload(dimensions=1, selectivity=0.5, queries=400, sanity=0)
    found = metric.measure(pair)
    # for f: true 6, estimate 4 + 2; for m: true 2, estimate 0 + 2: both exact
    assert found.raw == 0
    worse = TablePair.of(people, people.take(np.arange(6)))
    # for f: true 6, estimate 6 + 1, error 1/6; for m: true 2, estimate 1, error 1/2
    combinations = query_workload._combinations(worse, ("sex",))
    errors = [
        each for each, _ in metric._errors(worse, combinations, [20, 30], Seed(2).stream("x"))
    ]
    assert [len(each) for each in errors] == [20, 30]
    assert set(np.round(np.unique(np.concatenate(errors)), 9)) == {round(1 / 6, 9), 0.5}


def test_seeded():
    release = TablePair.of(sf.examples.patients(), sf.examples.patients(release="single"))
    one, same, other = (sf.QueryWorkload(queries=30, seed=s).measure(release) for s in (1, 1, 2))
    assert one.to_dict() == same.to_dict()
    assert one.to_dict() != other.to_dict()


def test_columns_and_dimensions():
    people = sf.examples.survey()
    many = sf.read(pl.DataFrame({f"c{i}": ["a", "b"] for i in range(15)})).with_roles(
        quasi=[f"c{i}" for i in range(15)]
    )
    assert sf.QueryWorkload(queries=40).measure(itself(many)).raw == 0
    assert (
        sf.QueryWorkload(people.schema.quasi[:1], dimensions=3, queries=7)
        .measure(itself(people))
        .raw
        == 0
    )
    assert (
        "7 COUNT queries"
        in sf.QueryWorkload(people.schema.quasi[:2], queries=7).measure(itself(people)).meaning
    )


def test_a_column_that_was_not_released():
    people = sf.read(pl.DataFrame({"a": list("xxxy"), "b": list("uvuv")})).with_roles(
        quasi=["a", "b"]
    )
    found = sf.QueryWorkload(queries=60, dimensions=1, selectivity=0.5, sanity=0).measure(
        TablePair.of(people, people.drop(["b"]))
    )
    assert found.per_column == {
        "a": 0,
        "b": 0,
    }  # u and v are equally frequent: spreading evenly is right


@pytest.mark.parametrize(
    "wrong", [{"queries": 0}, {"dimensions": 0}, {"selectivity": 0}, {"sanity": 2}, {"seed": -1}]
)
def test_wrong_parameters(wrong):
    with pytest.raises(sf.errors.ParameterError, match=next(iter(wrong))):
        sf.QueryWorkload(**wrong)


@pytest.mark.parametrize("seed", range(60))
def test_true_counts_are_those_of_the_rows_one_by_one(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 60))
    frame = pl.DataFrame(
        {
            "age": pl.Series(
                [None if rng.random() < 0.1 else int(v) for v in rng.integers(0, 30, rows)],
                dtype=pl.Int64,
            ),
            "town": pl.Series(
                [None if rng.random() < 0.1 else f"t{v}" for v in rng.integers(0, 9, rows)],
                dtype=pl.String,
            ),
            "day": pl.Series(rng.integers(0, 400, rows)).cast(pl.Date),
        }
    )
    people = sf.read(frame).with_roles(quasi=["age", "town", "day"])
    released = (
        people if rng.random() < 0.5 else people.with_columns({"town": pl.Series(["*"] * rows)})
    )
    pair = TablePair.of(people, released)
    names = tuple(
        str(name) for name in rng.permutation(["age", "town", "day"])[: rng.integers(1, 4)]
    )
    if rng.random() < 0.5:
        monkeypatch.setattr(query_workload, "CHUNK", 0)  # nothing is counted in a table
    stream = Seed(seed).stream("x")
    parts = [
        [questions_of(pair, name, int(amount), 0.5, stream) for name in names]
        for amount in rng.choice([1, 7, 40, 150], 3)
    ]
    counts = query_workload._true_counts(parts, query_workload._combinations(pair, names))
    expected = []
    for asked in parts:
        tables = [asked_for(question) for question in asked]
        for query in range(len(asked[0].blind)):
            codes = [pair.encoded(name)[0].codes for name in names]
            expected.append(
                sum(
                    all(t[query, c[row]] for t, c in zip(tables, codes, strict=True))
                    for row in range(rows)
                )
            )
    assert counts.tolist() == expected


def test_amounts_are_added_by_bit():
    rng = np.random.default_rng(1)
    words = rng.integers(0, 1 << 64, 500, dtype=np.uint64) & rng.integers(
        0, 1 << 64, 500, dtype=np.uint64
    )
    words[:65] = [0, *(1 << bit for bit in range(64))]
    amounts = rng.integers(0, 1000, 500)
    expected = [
        sum(int(a) for w, a in zip(words, amounts, strict=True) if int(w) >> bit & 1)
        for bit in range(64)
    ]
    assert kernels.queries.add_by_bit(words, amounts).tolist() == expected
