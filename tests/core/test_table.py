"""Datasets: the same table in any kind of frame is the same table, and frames of one kind stay of
that kind.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.classes import count_classes
from sfumato.core.encoding import encode
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.source import Source
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import suppress

DAYS = [datetime.date(2024, 1, 1), datetime.date(2024, 5, 2), None, datetime.date(2024, 1, 1)]
COLUMNS = {
    "text": ["b", None, "a", "b"],
    "whole": [3, 1, 2, 3],
    "gaps": [3, None, 2, 3],
    "real": [0.5, None, 2.0, 0.5],
    "flag": [True, None, False, True],
    "day": DAYS,
    "level": ["low", "high", "low", None],
}


def polars_frame():
    return pl.DataFrame(COLUMNS).with_columns(pl.col("level").cast(pl.Categorical))


def arrow_frame():
    return pa.table(COLUMNS)


def pandas_frame(**kinds):
    columns = {name: pd.Series(values, dtype=kinds.get(name)) for name, values in COLUMNS.items()}
    return pd.DataFrame({**columns, "level": pd.Series(COLUMNS["level"], dtype="category")})


FRAMES = {
    "polars": polars_frame,
    "arrow": arrow_frame,
    "pandas": pandas_frame,
    "pandas objects": lambda: pandas_frame(
        **dict.fromkeys(["text", "whole", "gaps", "flag", "day"], object)
    ),
    "pandas nullable": lambda: pandas_frame(
        text="string", whole="Int64", gaps="Int64", real="Float64", flag="boolean"
    ),
    "pandas arrow": lambda: pd.DataFrame(
        {n: pd.Series(v, dtype=pd.ArrowDtype(pa.array(v).type)) for n, v in COLUMNS.items()}
    ),
    "pandas shuffled index": lambda: pandas_frame().set_index(pd.Index([9, 2, 7, 0])),
    "pandas repeated index": lambda: pandas_frame().set_index(pd.Index([5, 5, 5, 5])),
    "pandas named index": (
        lambda: pandas_frame().set_index(pd.Index(["Ann", "Bob", "Cid", "Dan"], name="person"))
    ),
}


def described(frame):
    return Table(frame, Schema({name: Attribute((Role.QUASI,)) for name in COLUMNS}))


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_classes(kind):
    one, other = count_classes(described(polars_frame())), count_classes(described(FRAMES[kind]()))
    assert [ladder.labels for ladder in one.ladders] == [ladder.labels for ladder in other.ladders]
    assert np.array_equal(one.keys, other.keys)
    assert np.array_equal(one.records, other.records)
    assert one.records.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_are_taken_and_replaced_in_their_own_kind_of_frame(kind):
    frame = FRAMES[kind]()
    before = frame.copy() if isinstance(frame, pd.DataFrame) else frame
    data = described(frame).take(np.array([3, 1])).with_columns({"text": pl.Series(["q", None])})
    assert type(data.to_native()) is type(frame)
    assert data.to_polars()["text"].to_list() == ["q", None]
    assert data.to_polars()["whole"].to_list() == [3, 1]
    assert data.origin.tolist() == [3, 1]
    assert data.take(np.array([1])).origin.tolist() == [1]
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(frame, before)  # what was handed in is never changed


@pytest.mark.parametrize("kind", [k for k in FRAMES if k.startswith("pandas")])
def test_an_index_does_not_come_along(kind):
    # an index can name people, and after a shuffle it would still tell the old order
    data = described(FRAMES[kind]()).take(np.array([3, 1, 0]))
    assert data.to_native().index.equals(pd.RangeIndex(3))
    assert "person" not in data.columns


@pytest.mark.parametrize("kind", FRAMES)
def test_taking_nothing_leaves_the_columns(kind):
    data = described(FRAMES[kind]()).take(np.array([], dtype=np.int64))
    assert (len(data), data.columns) == (0, list(COLUMNS))
    assert len(count_classes(data)) == 0


@pytest.mark.parametrize(
    "values",
    [
        [1, "jane.doe@example.org"],
        [1.5, "jane.doe@example.org"],
        ["jane.doe@example.org", 3],
        [True, 17],
        [DAYS[0], "jane.doe@example.org"],
        [1j],
    ],
    ids=str,
)
def test_mixed_columns_are_refused_without_showing_a_value(values):
    data = Table(
        pd.DataFrame({"c": pd.Series(values, dtype=object if values != [1j] else complex)})
    )
    for look in (lambda: data.column("c"), data.to_polars):
        with pytest.raises(SchemaError, match="column 'c' of the table mixes values") as refused:
            look()
        assert "jane" not in str(refused.value)
        assert "17" not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (
            pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
            "1 column.* the name of another: number 3",
        ),
        (pa.table([[1], [2]], names=["a", "a"]), "1 column.* the name of another: number 2"),
        (pd.DataFrame([[1, 2]]), "column names must be text"),
        (
            pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
            "column names must be text",
        ),
        (pl.LazyFrame({"a": [1]}), "must be a polars, pandas or Arrow frame.*got polars.LazyFrame"),
        ([1, 2], "got builtins.list"),
        (None, "got builtins.NoneType"),
    ],
    ids=["pandas twice", "arrow twice", "numbers", "levels", "lazy", "list", "none"],
)
def test_what_is_no_table_is_refused(frame, told):
    with pytest.raises(SchemaError, match=told):
        Table(frame)


def test_decimals_and_times_survive():
    frame = pl.DataFrame({"c": [decimal.Decimal("1.10")], "t": [datetime.time(1, 2)]})
    assert Table(frame).to_polars().equals(frame)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_a_frame_that_is_changed_in_place_afterwards_changes_nothing(make):
    frame = make({"a": ["x", "y"]})
    data = Table(frame, Schema({"a": Attribute((Role.QUASI,))}))
    if isinstance(frame, pd.DataFrame):
        frame.loc[0, "a"] = "y"
    else:
        frame[0, "a"] = "y"
    frame.columns = ["b"]
    assert data.columns == ["a"]
    assert data.column("a").to_list() == ["x", "y"]
    assert count_classes(data).records.tolist() == [1, 1]


# -------------------------------------------------------------------------------------------- roles


def people():
    return Table(
        pl.DataFrame({"age": [30], "born": [DAYS[0]], "name": ["Ann"]}),
        source=Source(name="people.csv"),
    )


def test_roles_kinds_hierarchies_and_missing_rules():
    data = people().with_roles(quasi=["age", "born"], drop="name").with_hierarchies(age=suppress())
    assert [data.schema[c].kind for c in data.columns] == [Kind.NUMERIC, Kind.DATE, Kind.NOMINAL]
    again = data.with_roles(sensitive="age").with_kinds(age="ordinal").with_missing(age="wildcard")
    assert again.schema["age"].roles == (Role.SENSITIVE,)
    assert again.schema["age"].hierarchy == suppress()
    assert (again.schema["age"].kind, again.schema["age"].missing) == ("ordinal", "wildcard")
    assert data.schema["age"].kind == Kind.NUMERIC, "the first one has changed"
    assert data.with_roles(quasi="age", sensitive="age").schema["age"].roles == (
        Role.QUASI,
        Role.SENSITIVE,
    )


def test_the_schema_follows_the_order_of_the_table():
    assert list(people().with_roles(keep="name", quasi=["born", "age"]).schema.attributes) == [
        "age",
        "born",
        "name",
    ]


def test_everything_wrong_is_said_at_once():
    with pytest.raises(SchemaError) as refused:
        people().with_roles(quasi=["agee", "bron"], keep=["age"])
    assert refused.value.problems == (
        "people.csv has no column 'agee'. Did you mean 'age'?",
        "people.csv has no column 'bron'. Did you mean 'born'?",
    )
    with pytest.raises(SchemaError) as refused:
        people().with_roles(quasi="age").checked()
    assert [told.split(" of ")[0] for told in refused.value.problems] == ["columns 'born', 'name'"]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (
            lambda d: d.with_roles(quazi="age"),
            ParameterError,
            "role 'quazi' is not known. Did you mean 'quasi'?",
        ),
        (lambda d: d.with_kinds(age="nummeric"), ParameterError, "Did you mean 'numeric'?"),
        (lambda d: d.with_missing(age="wild"), ParameterError, "Did you mean 'wildcard'?"),
        (lambda d: d.with_kinds(name="text"), SchemaError, "column 'name' has no role yet"),
        (lambda d: d.with_hierarchies(zip=suppress()), SchemaError, "has no column 'zip'"),
        (lambda d: d.with_roles(drop="age", quasi="age"), ParameterError, "cannot be combined"),
        (lambda d: d.column("nme"), SchemaError, "Did you mean 'name'?"),
        (lambda d: d.require([1]), SchemaError, "has no column 1"),
    ],
)
def test_wrong_calls(call, error, told):
    with pytest.raises(error) as refused:
        call(people().with_roles(quasi="age"))
    assert told in str(refused.value)
    assert "<" not in str(refused.value)


def test_dropping_columns_drops_their_roles():
    data = people().with_roles(drop="name", quasi=["age", "born"]).drop(["name", "not there"])
    assert data.columns == ["age", "born"] == list(data.schema.attributes)


def test_repr_names_columns_and_shows_no_value():
    text = repr(people().with_roles(drop="name", quasi=["age", "born"]))
    assert "name: drop" in text
    assert "1 rows" in text
    assert not any(value in text for value in ("Ann", "30", "2024"))


CHANGES = ("take", "drop", "recode", "replace", "describe", "compact")


def changed(dataset, change, number):
    """A dataset after one change, of which nothing is known but what was carried along."""
    if change == "take":
        return dataset.take(np.random.default_rng(number).integers(0, len(dataset), number % 9 + 1))
    if change == "drop":
        return dataset.drop(["whole"])
    if change == "recode":
        return dataset.recoded("text", ["z", None, "a", "z"], np.arange(len(dataset)) % 4)
    if change == "replace":
        return dataset.with_columns({"gaps": pl.Series("gaps", [number] * len(dataset))})
    if change == "describe":
        return dataset.with_attribute(
            "text", Attribute((Role.QUASI,), hierarchy=suppress() if number % 2 else None)
        )
    return dataset.compacted()


@pytest.mark.parametrize("kind", FRAMES)
@given(changes=st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 50)), max_size=5))
def test_what_is_known_of_columns_is_what_they_hold(kind, changes):
    dataset = Table(FRAMES[kind]()).with_roles(quasi=["text", "level"], keep=["whole", "gaps"])
    for change, number in [*changes, ("describe", 0)]:
        for name in dataset.columns:
            fresh, known = encode(dataset.column(name)), dataset.encoded(name)
            assert known.labels == fresh.labels and known.counts.tolist() == fresh.counts.tolist()
            assert known.codes.tolist() == fresh.codes.tolist()
        plain = Table(dataset.to_polars(), schema=dataset.schema)
        one, other = (
            count_classes(dataset, counted=["gaps"]),
            count_classes(plain, counted=["gaps"]),
        )
        assert (
            one.keys.tolist() == other.keys.tolist()
            and one.records.tolist() == other.records.tolist()
        )
        assert one.counts["gaps"].counts.tolist() == other.counts["gaps"].counts.tolist()
        assert [ladder.labels for ladder in one.ladders] == [
            ladder.labels for ladder in other.ladders
        ]
        dataset = changed(dataset, change, number)


def test_tables_with_the_same_rows_share_what_is_known_of_them():
    dataset = Table(polars_frame()).with_roles(quasi=["text", "level"], drop="whole")
    count_classes(dataset.drop(["whole"]))
    assert set(dataset.known.codes) == {"text", "level"} and len(dataset.known.classes) == 1
    assert not dataset.with_columns({"text": pl.Series([1] * 4)}).known.classes


def test_text_taken_by_codes_is_the_text():
    column = pl.Series("text", ["b", None, "a", "b", ""])
    dataset, rows = Table(pl.DataFrame({"text": column})), np.array([4, 1, 1, 0, 2, 3])
    plain = dataset.take(rows).column("text")
    dataset.encoded("text")
    assert (
        dataset.take(rows).column("text").to_list()
        == plain.to_list()
        == column.gather(rows).to_list()
    )


@pytest.fixture
def small_tables_are_large(monkeypatch):
    monkeypatch.setattr("sfumato.core.table.LARGE", 0)


def same_columns(one, other):
    assert one.columns == other.columns
    for name in one.columns:
        left, right = one.column(name), other.column(name)
        assert left.dtype == right.dtype == one.dtype(name) and left.to_list() == right.to_list()
        assert one.encoded(name).labels == other.encoded(name).labels
        assert one.encoded(name).codes.tolist() == other.encoded(name).codes.tolist()
    assert one.to_native().schema == other.to_native().schema


@pytest.mark.usefixtures("small_tables_are_large")
@given(changes=st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 50)), max_size=6))
def test_text_held_as_categories_is_still_text(changes):
    plain = Table(polars_frame()).with_roles(quasi=["text", "level"], keep=["whole", "gaps"])
    coded = plain.with_text_coded()
    assert coded.coded == {"text"} and isinstance(coded.frame.to_native().schema["text"], pl.Enum)
    for change, number in [*changes, ("compact", 0)]:
        same_columns(coded, plain)
        plain, coded = changed(plain, change, number), changed(coded, change, number)
    for name in coded.coded:
        held = coded.compacted().frame.to_native()[name]
        assert set(held.dtype.categories) == set(held.cast(pl.String).drop_nulls())


@pytest.mark.usefixtures("small_tables_are_large")
def test_another_frame_under_the_same_names_is_not_taken_for_coded_text():
    coded = Table(polars_frame()).with_text_coded()
    other = dataclasses.replace(
        coded, frame=coded.to_polars().with_columns(text=pl.Series([1, 2, 3, 4]))
    )
    assert not other.coded and other.column("text").dtype == pl.Int64


@pytest.mark.usefixtures("small_tables_are_large")
def test_a_column_without_a_name_keeps_it():
    dataset = Table(pl.DataFrame({"a": ["x", "y"], "": ["x", "x"]}))
    for table in (dataset, dataset.with_text_coded(), dataset.with_text_coded().compacted()):
        taken = table.take(np.array([1, 0]))
        assert taken.columns == taken.to_polars().columns == taken.to_native().columns == ["a", ""]
