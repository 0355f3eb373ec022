"""What released cells may stand for: ranges, nodes, sets, and cells that stand for themselves."""

from __future__ import annotations

import dataclasses
import datetime
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.encoding import encode
from sfumato.core.encoding import label as label_of
from sfumato.core.hierarchy import bind
from sfumato.core.pair import TablePair
from sfumato.core.reading import ColumnLevel, Joint, read_column
from sfumato.core.schema import Attribute, Kind, Missing, Role
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import SchemaError, Unsatisfiable
from sfumato.methods.steps.local.local_recoding import LocalRecoding
from sfumato.methods.steps.local.mondrian import Mondrian
from tests.methods.steps.mixed_tables import mixed_tables


@given(mixed_tables(fewest_rows=4), st.sampled_from([Mondrian(), LocalRecoding()]))
def test_every_released_cell_fits_its_own_original(table, step):
    people = table.dataset()
    goal = Goal((sf.KAnonymity(2),))
    try:
        released = step.apply(people, step.plan(people, goal))
    except Unsatisfiable:
        return
    pair = TablePair.of(people, released)
    for name in table.names:
        column = pair.reading(name)
        assert all(
            column.fits(column.original[o], column.released[i]) for i, o in enumerate(pair.rows)
        )
        assert ((column.loss >= 0) & (column.loss <= 1)).all()


@given(mixed_tables(fewest_rows=2))
def test_a_table_beside_itself_loses_nothing(table):
    people = table.dataset()
    pair = TablePair.of(people, people)
    for name in table.names:
        assert not pair.losses(name).any()


def test_numbers_ranges_and_open_ends():
    before = pl.Series("age", [20, 25, 30, 70, None])
    after = pl.Series("age", ["20-29", "20-29", "[30, 35)", "60+", "*"])
    column = read_column("age", Attribute((Role.QUASI,), kind=Kind.NUMERIC), before, after)
    found = {label: (column.low[i], column.high[i]) for i, label in enumerate(column.labels)}
    assert found == {"20-29": (20, 29), "[30, 35)": (30, 35), "60+": (60, 70), "*": (20, 70)}
    assert column.scale == "number" and column.span == 50
    losses = dict(zip(column.labels, column.loss, strict=True))
    assert losses == pytest.approx({"20-29": 9 / 50, "[30, 35)": 5 / 50, "60+": 10 / 50, "*": 1.0})


def test_a_number_that_nobody_had_is_a_point_without_loss():
    column = read_column(
        "pay",
        Attribute((Role.SENSITIVE,), kind=Kind.NUMERIC),
        pl.Series([1.0, 2.0]),
        pl.Series([1.5, 1.5]),
    )
    assert column.low.tolist() == column.high.tolist() == [1.5] and column.loss.tolist() == [0.0]
    assert not column.fits(0, 0)


def test_ordered_values_and_sets():
    order = ("low", "mid", "high")
    attribute = Attribute((Role.QUASI,), kind=Kind.ORDINAL, order=order)
    column = read_column(
        "grade",
        attribute,
        pl.Series(["low", "mid", "high"]),
        pl.Series(["low..mid", "low..mid", "high"]),
    )
    assert column.scale == "order" and column.loss.tolist() == [0.0, 0.5]
    nominal = read_column(
        "city",
        Attribute((Role.QUASI,)),
        pl.Series(["A", "B", "C", "D"]),
        pl.Series(["{A, B}", "{A, B}", "C", "*"]),
    )
    members = {
        label: nominal.members[nominal.starts[i] : nominal.starts[i + 1]].tolist()
        for i, label in enumerate(nominal.labels)
    }
    assert members == {"{A, B}": [0, 1], "C": [2], "*": [0, 1, 2, 3]}
    assert dict(zip(nominal.labels, nominal.loss, strict=True)) == pytest.approx(
        {"{A, B}": 1 / 3, "C": 0, "*": 1}
    )


def test_a_suppressed_cell_loses_everything_and_one_that_was_missing_nothing():
    people = Table(pl.DataFrame({"a": [1, None]})).with_roles(quasi="a")
    blank = Table(pl.DataFrame({"a": pl.Series([None, None], dtype=pl.Int64)})).with_roles(
        quasi="a"
    )
    assert TablePair.of(people, blank).losses("a").tolist() == [1.0, 0.0]


def test_tables_without_a_common_column_are_refused():
    one, other = (Table(pl.DataFrame({name: [1]})).with_roles(quasi=name) for name in ("a", "b"))
    with pytest.raises(SchemaError, match="no column in common"):
        TablePair.of(one, other)


@pytest.mark.slow
@given(
    st.lists(
        st.one_of(
            st.none(), st.floats(-1e6, 1e6), st.just(float("nan")), st.integers(-9, 9).map(float)
        ),
        min_size=1,
    ),
    st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-9, 9).map(float)), min_size=1),
)
def test_numbers_are_read_as_if_they_were_text(before, after):
    attribute = Attribute((Role.QUASI,), Kind.NUMERIC)
    numbers = [pl.Series("v", values, dtype=pl.Float64) for values in (before, after)]
    texts = [
        pl.Series("v", [_text(value) for value in values], dtype=pl.String) for values in numbers
    ]
    quick, slow = read_column("v", attribute, *numbers), read_column("v", attribute, *texts)
    names = {field.name for field in dataclasses.fields(quick)} - {"before", "after"} | {
        "original",
        "released",
    }
    for name in sorted(names):
        one, other = getattr(quick, name), getattr(slow, name)
        assert (
            np.array_equal(one, other, equal_nan=True)
            if isinstance(one, np.ndarray)
            else one == other
        ), name


def _text(value):
    return None if value is None or math.isnan(value) else label_of(value)


@pytest.mark.parametrize("written", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d"])
def test_ranges_of_moments_are_read_as_ranges_of_days_are(written):
    """A range of moments is generalised, not changed: intruders and metrics know what it may stand
    for.
    """
    first = datetime.datetime(2020, 1, 1, 7, 30)
    moments = [(first + datetime.timedelta(days=i)).strftime(written) for i in range(40)]
    table = pl.DataFrame({"seen": moments, "ill": ["flu", "cold"] * 20})
    people = sf.read(table).with_roles(quasi=["seen"], sensitive=["ill"]).with_kinds(seen="date")
    release = sf.anonymize(people, sf.KAnonymity(5), Mondrian(), seed=1)
    pair = TablePair.of(people, release.released)
    column = pair.reading("seen")
    assert column.scale == "number" and column.truthful(pair.rows).all()
    assert 0 < pair.losses("seen").mean() < 0.5


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None])), max_size=30),
    st.booleans(),
)
def test_pairs_of_value_and_label_are_those_of_the_rows(cells, many):
    before = [f"{value}{i if many else ''}" for i, (value, _) in enumerate(cells)]
    after = [label for _, label in cells]
    rows = np.arange(len(cells))[::-1]
    kept, written = (
        encode(pl.Series(before, dtype=pl.String)),
        encode(pl.Series(after, dtype=pl.String)),
    )
    joint = Joint.of(kept, written, rows)
    told = [
        (kept.labels[v], written.labels[w]) for v, w in zip(joint.value, joint.label, strict=True)
    ]
    assert [told[i] for i in joint.which] == [(before[row], after[i]) for i, row in enumerate(rows)]
    assert joint.count.tolist() == [
        sum(pair == each for each in (told[i] for i in joint.which)) for pair in told
    ]
    assert len(set(told)) == len(told)


def test_many_pairs_are_found_by_sorting(monkeypatch):
    kept, written = encode(pl.Series([1, 2, 3, 2])), encode(pl.Series(["a", "b", "a", "b"]))
    dense = Joint.of(kept, written, np.arange(4))
    monkeypatch.setattr("sfumato.core.reading.DENSE", 0)
    sparse = Joint.of(kept, written, np.arange(4))
    assert all(
        np.array_equal(*(getattr(j, f) for j in (dense, sparse)))
        for f in ("value", "label", "count", "which")
    )


CELLS = st.sampled_from(["1", "2", "3.5", "7", None])
LABELS = st.sampled_from(["1", "2", "3.5", "[1, 3)", "{1, 7}", "*", "nobody", None])
COLUMNS = {
    "number": Attribute(frozenset({Role.QUASI}), Kind.NUMERIC),
    "order": Attribute(frozenset({Role.QUASI}), Kind.ORDINAL, order=("7", "1", "2", "3.5")),
    "category": Attribute(frozenset({Role.QUASI}), Kind.NOMINAL),
    "hierarchy": Attribute(frozenset({Role.QUASI}), Kind.NOMINAL, sf.suppress()),
}


def plain_loss(reading, code, hierarchy):
    """The loss of a label, told by the definition."""
    label, low, high = reading.labels[code], reading.low[code], reading.high[code]
    members = reading.starts[code + 1] - reading.starts[code]
    if label in (None, "*"):
        return 1.0
    if (hierarchy or reading.scale != "number") and label in reading.values:
        return 0.0
    if reading.span <= 0:
        return 0.0
    if not math.isnan(low):
        return min(1.0, (high - low) / reading.span)
    return min(1.0, (members - 1.0) / reading.span) if members else 0.0


@given(st.sampled_from(list(COLUMNS)), st.lists(st.tuples(CELLS, LABELS), min_size=1, max_size=12))
def test_pairs_are_true_and_labels_lose_as_one_by_one(column, cells):
    before, after = (
        pl.Series("a", list(each), dtype=pl.String) for each in zip(*cells, strict=True)
    )
    reading = read_column("a", COLUMNS[column], before, after)
    joint = Joint.of(reading.before, reading.after, np.arange(len(cells)))
    for pair, (value, label) in enumerate(
        zip(joint.value.tolist(), joint.label.tolist(), strict=True)
    ):
        expected = reading.labels[label] is None or reading.fits(value, label)
        assert reading.true_pairs(joint)[pair] == expected
    assert reading.loss.tolist() == [
        plain_loss(reading, i, column == "hierarchy") for i in range(len(reading.labels))
    ]


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_a_column_is_unchanged_when_every_cell_is(cells):
    before, after = (
        pl.DataFrame({"a": pl.Series(list(each), dtype=pl.String)})
        for each in zip(*cells, strict=True)
    )
    pair = TablePair.of(Table(before).with_roles(quasi=["a"]), Table(after).with_roles(quasi=["a"]))
    assert (pair._unchanged("a") is not None) == all(one == other for one, other in cells)


@given(
    st.lists(
        st.dates(datetime.date(1900, 1, 1), datetime.date(2030, 1, 1)), min_size=1, max_size=12
    ),
    st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%d%m%Y"]),
    st.integers(0, 3),
)
def test_dates_lie_where_they_lie_however_they_are_written(days, written, level):
    """A column written as a format says is read as the same column in ISO 8601 is."""
    readings = []
    for form in (None, written):
        hierarchy = sf.dates("month", "year", format=form)
        text = [day.isoformat() if form is None else day.strftime(form) for day in days]
        ladder = bind(hierarchy, (*dict.fromkeys(text),), [1] * len(set(text)))
        place = {name: code for code, name in enumerate(ladder.labels[0])}
        released = [ladder.labels[level][ladder.climb(0, level)[place[value]]] for value in text]
        attribute = Attribute((Role.QUASI,), kind=Kind.DATE, hierarchy=hierarchy)
        readings.append(read_column("day", attribute, pl.Series(text), pl.Series(released)))
    iso, other = readings
    assert iso.scale == other.scale == "number" and iso.span == other.span
    assert iso.places[iso.original].tolist() == other.places[other.original].tolist()
    for ends in ("low", "high", "loss"):
        assert (
            getattr(iso, ends)[iso.released].tolist()
            == getattr(other, ends)[other.released].tolist()
        )


# Dates with a time, and values that an order leaves out.


def days_and_times(seed: int) -> pl.Series:
    """Random moments of a few days up to some decades, as times or as text; some at the very ends
    of a day.
    """
    rng = np.random.default_rng(seed)
    first = datetime.datetime(
        int(rng.integers(1890, 2030)), int(rng.integers(1, 13)), int(rng.integers(1, 28))
    )
    length = int(rng.choice([3, 40, 900, 9000]))
    moments = [
        first + datetime.timedelta(seconds=float(s)) for s in rng.uniform(0, 86_400 * length, 40)
    ]
    ends = [datetime.time(0, 0), datetime.time(23, 59, 59), datetime.time(23, 59, 59, 999_000)]
    moments += [datetime.datetime.combine(moments[i].date(), ends[i % 3]) for i in range(6)]
    moments = [moment.replace(microsecond=moment.microsecond // 1000 * 1000) for moment in moments]
    if rng.random() < 0.5:
        return pl.Series("t", moments, dtype=pl.Datetime("us"))
    return pl.Series("t", [str(moment) for moment in moments])


@pytest.mark.parametrize("seed", range(100))
def test_a_day_stands_for_the_times_of_that_day_and_for_no_other(seed):
    column = days_and_times(seed)
    written = [str(value) for value in column.to_list()]
    hierarchy = sf.dates("day", "month", "year")
    cut = {
        0: lambda text: text,
        1: lambda text: text[:10],
        2: lambda text: text[:7],
        3: lambda text: text[:4],
    }
    for level, shortened in cut.items():
        labels = [shortened(text) for text in written] if level else column.to_list()
        released = pl.Series("t", labels)
        reading = read_column(
            "t",
            Attribute((Role.QUASI,), Kind.DATE, hierarchy),
            column,
            released,
            ColumnLevel(level, 4),
        )
        assert reading.truthful(np.arange(len(column))).all()
        for code, value in enumerate(reading.values):
            fitting = {
                label for place, label in enumerate(reading.labels) if reading.fits(code, place)
            }
            assert {shortened(value)} <= fitting
            others = {label for label in fitting if shortened(value) != label}
            assert all(next_door(value, label) for label in others)
            held = [bool(reading.held_by(place)[code]) for place in range(len(reading.labels))]
            assert {label for place, label in enumerate(reading.labels) if held[place]} == fitting


def next_door(value: str, label: str) -> bool:
    """Whether a label is within the slack of floating point: a moment, or a day that begins or
    ends, less than two seconds away.
    """
    when, near = datetime.datetime.fromisoformat(value), datetime.timedelta(seconds=2)
    if len(label) == 10:
        return label in {str((when + way * near).date()) for way in (-1, 1)}
    return len(label) > 10 and abs(datetime.datetime.fromisoformat(label) - when) < near


def test_six_attacks_are_tried_on_days_of_a_column_with_times():
    rng = np.random.default_rng(1)
    at = [
        datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=int(m))
        for m in rng.integers(0, 60 * 24 * 20, 80)
    ]
    frame = pl.DataFrame({"at": at, "ill": rng.choice(["a", "b"], 80)})
    table = (
        sf.Table(frame)
        .with_roles(quasi="at", sensitive="ill")
        .with_hierarchies(at=sf.dates("day", "month"))
    )
    table = table.with_schema(table.schema.replace("at", kind="date"))
    recoding = sf.GlobalRecoding(budget=0.0, levels={"at": (1, 1)})
    release = sf.anonymize(table, [sf.KAnonymity(1)], [recoding], seed=1)
    asked = [
        "homogeneity",
        "probabilistic_inference",
        "skewness",
        "similarity",
        "background_knowledge",
        "minimality",
    ]
    report = release.attack(only=asked, seconds=20)
    assert not report.unknown
    assert {t.finding.attack for t in report.tried} >= set(asked) - {"minimality"}


def test_a_code_that_the_order_leaves_out_stands_for_itself():
    """As in SPSS and Stata: 9 is a code for no answer beside an order of 1 to 3."""
    codes = pl.Series("e", ["1", "2", "3", "9", "8"])
    attribute = Attribute((Role.QUASI,), Kind.ORDINAL, None, Missing.CATEGORY, ("1", "2", "3"))
    same = read_column("e", attribute, codes, codes)
    assert same.truthful(np.arange(5)).all()
    assert [[same.fits(v, w) for w in range(5)] for v in range(5)] == np.eye(5, dtype=bool).tolist()
    changed = read_column("e", attribute, codes, pl.Series("e", ["1", "3", "3", "8", "9"]))
    assert changed.truthful(np.arange(5)).tolist() == [True, False, True, False, False]
    joined = Attribute(
        (Role.QUASI,), Kind.ORDINAL, sf.frequency(2), Missing.CATEGORY, ("1", "2", "3")
    )
    several = pl.Series("e", ["1", "1", "2", "2", "9", "3"])
    rare = read_column(
        "e",
        joined,
        several,
        pl.Series("e", ["1", "1", "2", "2", "other", "other"]),
        ColumnLevel(1, 2),
    )
    assert rare.truthful(np.arange(6)).all()
