"""Released tables read for analysis: every range holds the values that it hides."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.release.label_ranges import range_of_period, read_labels

PEOPLE = sf.examples.hospital(rows=300)
ACCEPT = {"diagnosis": {"implies": "occupation", "because": "croup is a disease of children"}}


@pytest.mark.parametrize(
    "step",
    [sf.Mondrian(), sf.GlobalRecoding(budget=0.05), sf.GlobalRecoding(suppress="cell", budget=0.1)],
)
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_ranges_hold_the_original_values(tmp_path, step, file_format):
    options = sf.AnonymizeOptions(accept=ACCEPT, shuffle=False)
    release = sf.anonymize(PEOPLE, "k_anonymity:4", step, seed=1, options=options)
    folder = release.write(tmp_path / "out", format=file_format)
    table = sf.read_release(folder)
    typed = table.typed()
    assert typed.height == release.released.size
    original = PEOPLE.to_polars()
    if release.released.origin is not None:
        original = original[release.released.origin]
    for column in ("age", "admission_date"):
        if f"{column}_low" not in typed.columns:
            continue
        truth, low = original[column], typed[f"{column}_low"]
        if truth.dtype == pl.String:
            truth = truth.str.to_date()
        high, middle = typed[f"{column}_high"], typed[f"{column}_middle"]
        assert (low.is_null() | truth.is_null() | (low <= truth)).all()
        assert (high.is_null() | truth.is_null() | (truth <= high)).all()
        assert (middle.is_null() | ((low <= middle) & (middle <= high))).all()
        assert isinstance(typed[column].dtype, pl.Enum)
    assert sf.read_release(folder / "share").typed().equals(typed)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 30)), min_size=1, max_size=8))
def test_labels_of_numbers_stand_in_the_order_of_their_ranges(ranges):
    labels = [f"[{low}, {low + width}]" for low, width in ranges]
    column = read_labels("x", pl.Series([*labels, "*", None]), "numeric")
    rows = column.labels.rows()
    assert rows[-1] == ("*", None, None, None)
    places = [row[1:3] for row in rows[:-1]]
    assert places == sorted({(low, low + width) for low, width in ranges})


@given(
    st.dates(datetime.date(1, 1, 1), datetime.date(9998, 12, 31)),
    st.sampled_from(["week", "month", "quarter", "year", "decade"]),
)
def test_periods_hold_their_days(day, level):
    from sfumato.core.periods import write_period

    ends = range_of_period(write_period(level, day))
    position = (day - datetime.date(1970, 1, 1)).days
    assert ends is not None and ends[0] <= position <= ends[1]


def test_a_column_whose_labels_mean_no_numbers_is_one_of_categories():
    column = read_labels("x", pl.Series(["a", "1-2"]), "numeric")
    assert column.scale == "category" and column.labels.columns == ["label"]


def test_names_that_are_taken_and_files_that_exist(tmp_path):
    table = sf.examples.hospital(rows=300).to_polars().select("age", "sex")
    table = table.with_columns(age_low=pl.lit(1))
    roles = {"quasi": ["age", "sex"], "keep": "age_low"}
    release = sf.anonymize(table, "k_anonymity:4", sf.Mondrian(), roles=roles, seed=1)
    released = sf.read_release(release.write(tmp_path / "out"))
    assert "age_low_" in released.typed().columns
    assert "how to read it" in str(released)
    file = released.write(tmp_path / "typed.csv")
    assert pl.read_csv(file).columns == released.typed().columns
    with pytest.raises(ParameterError, match="already exists"):
        released.write(file)
    with pytest.raises(ParameterError, match=r"\.csv or \.parquet"):
        released.write(tmp_path / "typed.xlsx")
    with pytest.raises(ParameterError, match="holds no labels; recoded columns: age"):
        released.labels("age_low")
