"""What every utility metric of the registry keeps: a new one is tested here without a line about
it.
"""

from __future__ import annotations

import functools
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.choices import required_fields
from sfumato.core.pair import TablePair
from sfumato.core.registry import build, family, write
from sfumato.core.schema import Attribute, Kind, Role, Schema
from tests.methods.utility.pairs_of_tables import itself, nothing, recoded
from tests.random_tables import tables

METRICS = family("utility")
GIVEN = {
    "c_avg": {"k": 3},
    "classification": {"label": "illness"},
    "predictive_accuracy": {"label": "illness"},
    "regression_overlap": {"outcome": "wage", "predictors": ["age", "sex"]},
    "timeliness": {"column": "day", "days": 100, "today": "2025-06-01"},
    "consistency": {"rules": ["wage >= debt"]},
    "rule_side_effects": {"support": 2, "confidence": 0.25},
}
AGREED = {"table", "count"}
"""Parts of a utility contract: they refuse a release without records or columns instead of scoring
it; test_agreed_tables.py.
"""
EVERY = [cls(**GIVEN.get(name, {})) for name, cls in METRICS.items() if name not in AGREED]
EACH = pytest.mark.parametrize("metric", EVERY, ids=lambda m: m.name)
LOSSES = [m for m in EVERY if m.better == "lower"]


@functools.cache
def people(rows=40):
    draw = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "id": np.arange(rows),
            "age": draw.integers(20, 60, rows),
            "sex": draw.choice(["f", "m"], rows),
            "zip": draw.choice(["53710", "53711", "53801"], rows),
            "illness": draw.choice(["flu", "cold", "none"], rows),
            "wage": draw.normal(3000, 500, rows),
            "debt": draw.normal(2000, 900, rows),
            "day": pl.Series(np.datetime64("2025-01-01") + draw.integers(0, 150, rows)),
        }
    )
    quasi, plain = (Role.QUASI,), (Role.KEEP,)
    schema = {
        "id": Attribute((Role.DROP,)),
        "age": Attribute(quasi, Kind.NUMERIC, sf.intervals(5, 10, 20)),
        "sex": Attribute(quasi, hierarchy=sf.suppress()),
        "zip": Attribute(quasi, hierarchy=sf.mask_right(5)),
        "illness": Attribute((Role.SENSITIVE,)),
        "wage": Attribute(plain, Kind.NUMERIC),
        "debt": Attribute(plain, Kind.NUMERIC),
        "day": Attribute(plain, Kind.DATE),
    }
    return sf.Table(frame, Schema(schema))


@functools.cache
def released():
    """A release of the people; rows are shuffled and some suppressed."""
    return sf.anonymize(people(), [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.2)], seed=5)


@EACH
def test_written_and_read(metric):
    assert build("utility", write(metric)) == metric
    assert metric.name.islower()
    assert type(metric).__doc__ and ">>>" in type(metric).__doc__


@EACH
def test_required_fields_are_known(metric):
    assert bool(required_fields(type(metric))) == (metric.name in GIVEN)


@EACH
def test_identity_and_nothing(metric):
    before, after = metric.measure(itself(people())), metric.measure(nothing(people()))
    if metric.better == "lower":
        assert before.value == pytest.approx(0, abs=1e-9)
        assert after.value == 1
    else:
        assert after.value == 0 <= before.value <= 1


@EACH
def test_of_a_release(metric):
    release = released()
    pair = TablePair.of(release.original, release.released)
    assert metric.applies(pair) is None
    found = metric.measure(pair)
    assert found.name == metric.name and found.better == metric.better and found.meaning
    assert 0 <= found.value <= 1
    assert set(found.per_column) <= set(pair.original.columns)
    if found.per_record is not None:
        assert found.per_record.shape == (len(release.released),)
        assert np.isfinite(found.per_record).all()
    assert "per_record" not in json.loads(json.dumps(found.to_dict()))
    assert metric.measure(pair).to_dict() == found.to_dict(), "measured twice"


@pytest.mark.slow
@EACH
def test_order_of_rows_does_not_matter(metric):
    release = released()
    again = release.released.take(np.arange(len(release.released))[::-1])
    found = metric.measure(TablePair.of(release.original, release.released))
    turned = metric.measure(TablePair.of(release.original, again))
    assert turned.value == pytest.approx(found.value, abs=1e-6)
    if found.per_record is not None:
        assert turned.per_record[::-1] == pytest.approx(found.per_record, abs=1e-6)


@EACH
def test_kind_of_frame_does_not_matter(metric):
    release = released()
    pair = TablePair.of(release.original, release.released)
    original, shared = (
        sf.Table(d.to_polars().to_pandas(), d.schema, origin=d.origin)
        for d in (release.original, release.released)
    )
    assert metric.measure(TablePair.of(original, shared)).value == pytest.approx(
        metric.measure(pair).value, abs=1e-9
    )


@EACH
def test_no_rows(metric):
    empty = people().take(np.zeros(0, dtype=np.int64))
    assert metric.applies(itself(empty)) == "the original table has no rows"
    with pytest.raises(
        sf.errors.SchemaError, match="cannot be measured: the original table has no rows"
    ):
        metric.measure(itself(empty))


@EACH
def test_one_row(metric):
    pair = itself(people(1))
    if metric.applies(pair) is None:
        assert metric.measure(pair).value == (metric.better == "higher") or metric.name in (
            "timeliness",
            "consistency",
        )


@pytest.mark.parametrize(
    "cls", [c for c in METRICS.values() if "columns" in c.__pydantic_fields__], ids=lambda c: c.name
)
def test_unknown_columns(cls):
    metric = cls(**{**GIVEN.get(cls.name, {}), "columns": ["zipcode"]})
    with pytest.raises(
        sf.errors.SchemaError, match=r"has no column 'zipcode'\. Did you mean 'zip'"
    ):
        metric.measure(itself(people()))


@pytest.mark.parametrize("name", ["classification", "predictive_accuracy"])
def test_unknown_labels(name):
    with pytest.raises(sf.errors.SchemaError, match="has no column 'ilness'"):
        METRICS[name]("ilness").measure(itself(people()))


DETAIL = [name for name, cls in METRICS.items() if cls.judges_detail]
COARSER = (
    "loss",
    "ncp",
    "precision",
    "height",
    "non_uniform_entropy",
    "ambiguity",
    "kl_divergence",
    "discernibility",
)


@pytest.mark.slow
@given(data=st.data(), table=tables(most_rows=12))
def test_coarser_never_scores_less(data, table):
    node = [data.draw(st.integers(0, d - 1)) for d in table.depths]
    higher = [
        data.draw(st.integers(level, d - 1)) for level, d in zip(node, table.depths, strict=True)
    ]
    fine, coarse = recoded(table, node, 1)[0], recoded(table, higher, 1)[0]
    known = all(any(row[a] is not None for row in table.rows) for a in range(len(table.names)))
    for name in {*COARSER, *DETAIL}:
        if known or name not in (
            "precision",
            "height",
        ):  # missing values alone do not tell their level
            metric = METRICS[name]()
            assert metric.measure(fine).value <= metric.measure(coarse).value + 1e-9, name


@given(data=st.data(), table=tables(most_rows=12))
def test_suppressing_more_never_scores_less(data, table):
    node = [data.draw(st.integers(0, d - 1)) for d in table.depths]
    kept = data.draw(st.lists(st.booleans(), min_size=len(table.rows), max_size=len(table.rows)))
    pair, _ = recoded(table, node, 1)
    fewer = TablePair.of(pair.original, pair.released.take(np.flatnonzero(kept)))
    for name in {*DETAIL, "loss", "ncp", "non_uniform_entropy", "ambiguity", "squared_error"}:
        metric = METRICS[name]()
        assert metric.measure(pair).value <= metric.measure(fewer).value + 1e-9, name


def test_all_of_a_release_that_holds_nothing_but_stars():
    table = people()
    hidden = {
        name: pl.Series(["*"] * len(table))
        for name in ("age", "sex", "zip", "illness", "wage", "debt", "day")
    }
    pair = TablePair.of(table, table.with_columns(hidden))
    for metric in LOSSES:
        if metric.applies(pair) is None and metric.name not in (
            "classification",
            "predictive_accuracy",
        ):
            assert metric.measure(pair).value == pytest.approx(1), metric.name
