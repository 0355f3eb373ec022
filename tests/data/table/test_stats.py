"""SPSS, Stata and SAS: labels and missing codes go in and come out."""

from __future__ import annotations

import datetime as dt
import io
import sys

import polars as pl
import pytest

from sfumato.core.source import Source
from sfumato.data.table import read_table, write_table
from sfumato.errors import MissingExtra, OutputError, UnreadableInput

pyreadstat = pytest.importorskip("pyreadstat")

TABLE = pl.DataFrame(
    {
        "sex": [1, 2, 9, None],
        "income": [1.5, 2500.25, None, 4.0],
        "region": ["north", "süd", None, "west"],
        "born": [dt.date(1990, 5, 7), None, dt.date(2020, 2, 29), dt.date(1950, 1, 1)],
    }
)
VARIABLES = {"sex": "Sex of the person", "income": "Income per month"}
VALUES = {"sex": {1: "male", 2: "female", 9: "refused"}}


@pytest.fixture
def sav(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        TABLE,
        path,
        file_label="Survey",
        column_labels=VARIABLES,
        variable_value_labels=VALUES,
        missing_ranges={"sex": [9]},
        variable_measure={"sex": "nominal"},
        variable_format={"sex": "F1.0"},
    )
    return path


def test_spss_is_read_with_its_labels(sav):
    frame, source = read_table(sav)
    assert frame["sex"].to_list() == [1, 2, None, None]
    assert frame["sex"].dtype == pl.Int64
    assert frame.drop("sex").equals(TABLE.drop("sex"))
    assert source.format == "spss"
    assert source.labels["variables"] == VARIABLES
    assert source.labels["values"] == VALUES
    assert source.labels["missing"] == {"sex": [{"lo": 9.0, "hi": 9.0}]}
    assert source.labels["title"] == "Survey"
    assert any("'sex'" in note and "missing" in note for note in source.notes)


def test_spss_round_trip(sav, tmp_path):
    frame, source = read_table(sav)
    out = tmp_path / "out.sav"
    write_table(frame, out, source)
    again, told = read_table(out)
    assert again.equals(frame)
    assert told.labels["variables"] == VARIABLES
    assert told.labels["values"] == {"sex": {1: "male", 2: "female"}}  # nobody is 9 any more
    assert told.labels["missing"] == source.labels["missing"]
    assert told.labels["measures"]["sex"] == "nominal"
    assert told.labels["formats"]["sex"] == "F1.0"
    assert told.labels["title"] == "Survey"


def test_a_generalized_column_keeps_its_own_label_only(sav, tmp_path):
    frame, source = read_table(sav)
    coarse = frame.with_columns(pl.Series("sex", ["*", "*", None, "*"]))
    for name in ("out.sav", "out.dta"):
        write_table(coarse, tmp_path / name, source)
        again, told = read_table(tmp_path / name)
        assert again["sex"].to_list() == ["*", "*", None, "*"]
        assert told.labels["variables"] == VARIABLES
        assert told.labels["values"] == {}
        assert told.labels["missing"] == {}


def test_codes_beside_labels_of_groups_keep_their_own_labels(sav, tmp_path):
    frame, source = read_table(sav)
    coarse = frame.with_columns(pl.Series("sex", ["1", "*", "2", "*"]))
    write_table(coarse, tmp_path / "out.sav", source)
    again, told = read_table(tmp_path / "out.sav")
    assert again["sex"].to_list() == ["1", "*", "2", "*"]
    assert told.labels["values"] == {"sex": {"1": "male", "2": "female"}}
    write_table(coarse.head(2), tmp_path / "one.sav", source)
    # A label whose code is gone would tell which values there were.
    assert read_table(tmp_path / "one.sav")[1].labels["values"] == {"sex": {"1": "male"}}
    write_table(coarse, tmp_path / "out.dta", source)
    again, told = read_table(tmp_path / "out.dta")
    assert again["sex"].to_list() == ["1", "*", "2", "*"] and told.labels["values"] == {}


def test_a_released_value_is_never_taken_for_a_missing_code(sav, tmp_path):
    frame, source = read_table(sav)
    write_table(frame.with_columns(pl.Series("sex", [9, 9, 1, 1])), tmp_path / "out.sav", source)
    assert read_table(tmp_path / "out.sav")[0]["sex"].to_list() == [9, 9, 1, 1]


def test_stata_round_trip(tmp_path):
    first, second = tmp_path / "t.dta", tmp_path / "u.dta"
    pyreadstat.write_dta(TABLE, first, column_labels=VARIABLES, variable_value_labels=VALUES)
    frame, source = read_table(first)
    assert frame.equals(TABLE)
    assert source.format == "stata"
    assert source.labels["variables"] == VARIABLES
    write_table(frame.filter(pl.col("sex") != 9), second, source)
    again, told = read_table(second)
    assert again["sex"].to_list() == [1, 2]
    assert told.labels["values"] == {"sex": {1: "male", 2: "female"}}
    assert told.labels["variables"] == VARIABLES


def test_stata_codes_for_missing_are_kept_beside_the_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "t.dta"
    table = pandas.DataFrame({"v": [1, 2, "a", 3]}, dtype=object)
    pyreadstat.write_dta(
        table,
        path,
        missing_user_values={"v": ["a"]},
        variable_value_labels={"v": {1: "one", "a": "refused"}},
    )
    frame, source = read_table(path)
    assert frame["v"].to_list() == [1, 2, None, 3]
    assert source.labels["missing"] == {"v": ["a"]}
    assert source.labels["values"] == {"v": {1: "one", "a": "refused"}}


def test_sas_is_written_as_xport_only(tmp_path):
    path = tmp_path / "t.xpt"
    write_table(TABLE, path, Source(labels={"variables": VARIABLES}))
    frame, source = read_table(path)
    assert frame.equals(TABLE)
    assert source.format == "sas"
    assert source.labels["variables"] == VARIABLES
    assert any("not validated" in note for note in source.notes)
    write_table(frame, tmp_path / "again", source)
    assert read_table(tmp_path / "again")[0].equals(TABLE)
    with pytest.raises(OutputError, match=r"write \.xpt"):
        write_table(frame, tmp_path / "t.sas7bdat", source)


def test_portable_spss_is_read(tmp_path):
    path = tmp_path / "t.por"
    pyreadstat.write_por(
        TABLE.select(SEX="sex", REGION=pl.col("region").replace("süd", "sued")),
        path,
        column_labels={"SEX": "Sex"},
    )
    frame, source = read_table(path)
    assert frame["SEX"].to_list() == [1, 2, 9, None]
    assert source.labels["variables"] == {"SEX": "Sex"}


def test_no_rows(sav, tmp_path):
    frame, source = read_table(sav)
    write_table(frame.clear(), tmp_path / "none.sav", source)
    assert read_table(tmp_path / "none.sav")[0].shape == (0, 4)


def test_names_that_do_not_fit_are_listed(tmp_path):
    with pytest.raises(OutputError, match=r"are not valid names in"):
        write_table(
            pl.DataFrame({"marital-status": ["x"], "1st": [1]}), tmp_path / "t.sav", Source()
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["spss", "stata", "sas"])
@pytest.mark.parametrize(
    "data",
    [b"", b"a,b\n1,2\n", b"$FL2 garbage", b"<stata_dta>garbage", b"HEADER RECORD*******garbage"],
)
def test_bad_files(kind, data):
    with pytest.raises(UnreadableInput):
        read_table(io.BytesIO(data), format=kind)


def test_the_extra_is_named(sav, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[stats\]"):
        read_table(sav)
