"""Values as they were said to be read: codes for missing, blanks around separators, duplicate
names, spelling.
"""

from __future__ import annotations

import io
import pickle

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.source import Intake
from sfumato.data.table import read_table
from sfumato.errors import ParameterError, UnreadableInput


def read(text: str, **options):
    return read_table(io.BytesIO(text.encode()), **options)


def test_numbers_with_blanks_after_the_separator_are_numbers_and_text_loses_them():
    frame, source = read("a,b,c\n1, 2, x\n3, 4, y\n")
    assert frame.schema == {"a": pl.Int64, "b": pl.Int64, "c": pl.String}
    assert frame["c"].to_list() == ["x", "y"]
    assert any("blanks" in note for note in source.notes)


def test_numbers_lose_blanks_wherever_they_are():
    frame, source = read("a,b\n1, 2\n3,4\n 5 ,6 \n")
    assert frame.to_dict(as_series=False) == {"a": [1, 3, 5], "b": [2, 4, 6]}
    assert [note for note in source.notes if "blanks" in note] == [
        "blanks around the values of columns 1, 2 were removed"
    ]


def test_text_in_which_only_some_values_have_blanks_is_left_as_it_is_and_said():
    frame, source = read("a,b\n1,x\n2, x\n3,x \n")
    assert frame["b"].to_list() == ["x", " x", "x "]
    assert "some values of column 2 begin or end with blanks, which were kept" in source.notes
    assert read("a,b\n1,x\n2, x\n3,x \n", blanks="strip")[0]["b"].to_list() == ["x", "x", "x"]


def test_codes_are_missing_before_types_are_settled():
    frame, source = read("age,job\n30,?\nNA,cook\n-9,?\n41,-9\n", missing_values=["NA", "?", "-9"])
    assert frame.to_dict(as_series=False) == {
        "age": [30, None, None, 41],
        "job": [None, "cook", None, None],
    }
    assert frame.schema["age"] == pl.Int64
    assert "5 cells read as missing by their code, in columns 1, 2" in source.notes


@pytest.mark.parametrize("code", [-9, "-9", -9.0])
def test_numbers_compare_as_numbers_in_columns_of_numbers(code):
    frame, _ = read("cost\n1.5\n-9.0\n-9\n", missing_values=[code])
    assert frame["cost"].to_list() == [1.5, None, None]


def test_codes_of_a_column_take_the_place_of_the_general_ones():
    intake = Intake(missing_values=(-9,), missing_in={"b": ("x",), "c": ()})
    frame, _ = read("a,b,c\n-9,-9,-9\n1,x,2\n", otherwise=intake)
    assert frame.to_dict(as_series=False) == {"a": [None, 1], "b": [-9, None], "c": [-9, 2]}


def test_what_is_said_goes_before_the_recipe_and_formats_take_what_they_understand(tmp_path):
    intake = Intake(missing_values=("NA",), header=False, delimiter=";")
    frame, source = read("a;b\nNA;?\n", otherwise=intake, header=True, missing_values=["?"])
    assert frame.to_dict(as_series=False) == {"a": ["NA"], "b": [None]}
    assert source.intake == Intake(delimiter=";", header=True, missing_values=("?",))
    pl.DataFrame({"a": ["NA", "b"]}).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", otherwise=intake)[0]["a"].to_list() == [None, "b"]
    with pytest.raises(ParameterError, match="delimiter has no effect on parquet"):
        read_table(tmp_path / "t.parquet", delimiter=";")


def test_duplicate_names_are_told_by_position_and_mended_when_asked():
    text = "a,b,a,a_2,b\n1,2,3,4,5\n"
    with pytest.raises(
        UnreadableInput, match=r"columns 1 and 3, 2 and 5 have the same name.*--rename-duplicates"
    ) as told:
        read(text)
    assert "'a'" not in str(told.value)
    frame, source = read(text, rename_duplicates=True)
    assert frame.columns == ["a", "b", "a_3", "a_2", "b_2"]
    assert any("got a number" in note for note in source.notes)


def test_text_in_one_spelling():
    composed, apart = "é", "e\u0301"
    frame, _ = read(f"a\n{composed}\n{apart}\n")
    assert frame["a"].n_unique() == 2
    frame, _ = read(f"a\n{composed}\n{apart}\n", unicode="nfc")
    assert frame["a"].to_list() == [composed, composed]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"missing_values": [True]}, "words and numbers"),
        ({"missing_values": [None]}, "words and numbers"),
        ({"missing_values": [float("nan")]}, "finite"),
        ({"unicode": "nfd"}, "unicode must be nfc"),
        ({"header": "yes"}, "header must be true or false"),
        ({"mising_values": ["NA"]}, "Did you mean 'missing_values'"),
    ],
)
def test_what_cannot_be_meant_is_refused(option, told):
    with pytest.raises(ParameterError, match=told):
        read("a\n1\n", **option)


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64])
def test_codes_in_columns_of_every_number_type(dtype, tmp_path):
    pl.DataFrame({"a": pl.Series([1, 9, 2], dtype=dtype)}).write_parquet(tmp_path / "t.parquet")
    frame, _ = read_table(tmp_path / "t.parquet", missing_values=[9, -9, "x", 2.5])
    assert frame["a"].to_list() == [1, None, 2]
    assert frame.schema["a"] == dtype


def test_codes_in_categories_and_dates(tmp_path):
    table = pl.DataFrame(
        {"a": pl.Series(["x", "?"], dtype=pl.Categorical), "d": ["2020-01-02", "1900-01-01"]}
    )
    table.with_columns(pl.col("d").str.to_date()).write_parquet(tmp_path / "t.parquet")
    frame, _ = read_table(tmp_path / "t.parquet", missing_values=["?", "1900-01-01"])
    assert frame["a"].to_list() == ["x", None]
    assert frame["d"].null_count() == 1
    assert frame.dtypes == [pl.Categorical, pl.Date]


def test_notes_name_columns_where_somebody_vouches_for_the_names(tmp_path):
    """The first row of a CSV may be a person, whatever the call says: its cells are told where a
    recipe knows most of them.
    """
    table, recipe = tmp_path / "people.csv", tmp_path / "people.yaml"
    table.write_text("Alice,zip\n1,04109\n-9,04110\n3,04111\n")
    recipe.write_text("sfumato: 1\ncolumns: {Alice: keep, zip: keep}\nmissing_values: [-9]\n")
    other = tmp_path / "other.yaml"
    other.write_text("sfumato: 1\ncolumns: {age: keep, sex: keep, town: keep}\n")
    by_place = ("column 2 stays text: its name is that of a code",)
    by_name = ("column 'zip' stays text: its name is that of a code",)
    codes = "1 cells read as missing by their code, in column 'Alice'"
    assert sf.read(table).source.notes == sf.read(table, recipe=other).source.notes == by_place
    assert sf.read(table, header=True).source.notes == by_place
    assert set(sf.read(table, recipe=recipe).source.notes) == {*by_name, codes}
    people = sf.read(table).with_roles(keep=["Alice", "zip"])
    assert pickle.loads(pickle.dumps(people.source)).notes == by_place
    table.with_suffix(".parquet").write_bytes(parquet(pl.DataFrame({"age": [1, -9]})))
    assert sf.read(table.with_suffix(".parquet"), missing_values=[-9]).source.notes == (
        "1 cells read as missing by their code, in column 'age'",
    )


def parquet(frame):
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()
