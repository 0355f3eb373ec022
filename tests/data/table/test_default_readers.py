"""Values that a default reader takes for one count as one: what pandas and polars find in a file is
what was judged, or the run is refused.
"""

from __future__ import annotations

import io
import json
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.table.default_readers import READERS, read_as_one
from sfumato.errors import ReleaseRefused

pandas = pytest.importorskip("pandas")


def table(values):
    return pl.DataFrame({"age": ["old"] * len(values), "code": values})


def people(values):
    return sf.read(table(values)).with_roles(quasi=["age"], sensitive=["code"])


def made(values, l=2, **options):  # noqa: E741
    return sf.anonymize(
        people(values),
        [sf.KAnonymity(2), sf.LDiversity("code", l=l)],
        [sf.GlobalRecoding()],
        seed=1,
        options=sf.AnonymizeOptions(**options),
    )


ONE = {
    "zeros": ["00501", "501"],
    "a sign": ["+7", "7"],
    "a point": ["5.", "5"],
    "no zero": [".5", "0.5"],
    "hexadecimal, for R": ["0x1F", "31"],
    "53 bits, for R": ["9007199254740993", "9007199254740992"],
    "truth": ["True", "TRUE"],
    "truth, for R": ["T", "TRUE"],
    "missing": ["NA", "None"],
    "blanks": [" 7", "7"],
}


@pytest.mark.parametrize("name", ONE)
def test_what_a_reader_takes_for_one_is_refused(tmp_path, name):
    with pytest.raises(
        ReleaseRefused, match=r"takes several values|finds fewer values|2-diversity"
    ):
        made(ONE[name] * 3).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_refusal_says_what_to_do_and_shows_no_value(tmp_path):
    with pytest.raises(ReleaseRefused) as error:
        made(["00777", "777"] * 3).write(tmp_path / "out")
    assert all(
        word in str(error.value)
        for word in ("Parquet", "accept: {code: text only}", "put a letter", "'code'")
    )
    assert "777" not in str(error.value)


@pytest.mark.parametrize("form", ["csv", "jsonl", "excel"])
def test_every_format_of_text_is_looked_at(tmp_path, form):
    with pytest.raises(ReleaseRefused, match="pandas reads several values"):
        made(["00501", "501"] * 3, format=form).write(tmp_path / "out", format=form)


def test_parquet_says_that_it_is_text(tmp_path):
    folder = made(["00501", "501"] * 3, format="parquet").write(tmp_path / "out", format="parquet")
    assert sf.verify(folder / "share").holds


def test_one_word_among_them_keeps_them_apart(tmp_path):
    folder = made(["00501", "501", "flu"] * 3).write(tmp_path / "out")
    assert sf.verify(folder / "share").holds
    assert pandas.read_csv(folder / "share" / "data.csv")["code"].nunique() == 3


def test_who_accepts_it_says_so_in_the_certificate(tmp_path):
    release = made(["00501", "501"] * 3, accept={"code": "text only"})
    folder = release.write(tmp_path / "out")
    said = json.loads((folder / "share" / "certificate.json").read_text())
    assert said["recipe"]["accept"] == {"code": "text only"} and sf.verify(folder / "share").holds
    from sfumato.release.signatures import digest_of

    del said["recipe"]["accept"]
    (folder / "share" / "certificate.json").write_text(
        json.dumps({**said, "digest": digest_of(said)})
    )
    found = sf.verify(folder / "share")
    assert found.result == "false" and "default readers" in {
        c.name for c in found.claims if c.status == "fails"
    }


def test_check_counts_as_a_default_reader_does(tmp_path):
    file, recipe = tmp_path / "released.csv", tmp_path / "recipe.yaml"
    table(["00501", "501"] * 3).write_csv(file)
    text = (
        "sfumato: 1\ncolumns: {age: quasi, code: sensitive}\nmeet: [{l_diversity: {sensitive: code,"
        " l: 2}}]\nsteps: [global_recoding]\n"
    )
    recipe.write_text(text)
    (verdict,) = sf.check(file, recipe)
    assert not verdict.holds and "reads several values of code as the same" in verdict.sentence
    recipe.write_text(text + "accept: {code: text only}\n")
    assert all(sf.check(file, recipe))


def test_promises_that_hold_for_both_are_released(tmp_path):
    folder = made(["00501", "501", "7", "8"] * 3, l=3).write(tmp_path / "out")
    assert sf.verify(folder / "share").holds


def test_quasi_identifiers_too(tmp_path):
    """Classes that a reader merges are judged merged: here their values resemble the table, apart
    they would not.
    """
    frame = pl.DataFrame({"zip": ["0501", "501"] * 4, "ill": ["a", "b", "b", "a"] * 2})
    release = sf.anonymize(
        sf.read(frame).with_roles(quasi=["zip"], sensitive=["ill"]),
        [sf.KAnonymity(3)],
        [sf.GlobalRecoding()],
        seed=1,
    )
    folder = release.write(tmp_path / "out")
    assert sf.verify(folder / "share").holds


WORDS = [
    "0",
    "00",
    "1",
    "01",
    "+1",
    "1.0",
    "1e0",
    ".5",
    "0.5",
    "5.",
    "-0",
    "NA",
    "None",
    "null",
    "nan",
    "true",
    "True",
]
WORDS += [
    "TRUE",
    "false",
    "T",
    "F",
    " 1",
    "1 ",
    "x",
    "a1",
    "2020-01-01",
    "2020-1-1",
    "",
    "inf",
    "-inf",
    "Infinity",
    "7",
]


NUMBERS = ["0", "00", "1", "01", "+1", "1.0", "1e0", ".5", "0.5", "5.", "-0", "7", "07", " 7"]


def read_by(form, frame):
    """What the true readers find."""
    if form == "csv":
        text = frame.write_csv(quote_style="always")
        return [pandas.read_csv(io.StringIO(text))["code"]]
    text = "\n".join(json.dumps(row) for row in frame.to_dicts())
    return [pandas.read_json(io.StringIO(text), lines=True)["code"]]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_no_reader_finds_fewer_values_than_are_known(form):
    """Random columns: pandas never finds fewer values than the reader of ours that stands for it,
    nor more.
    """
    draw = random.Random(7)
    merged = 0
    for _ in range(400):
        words = draw.sample(draw.choice([WORDS, NUMBERS]), draw.randint(1, 5))
        values = [draw.choice(words) for _ in range(12)]
        if form == "csv":
            values = [value or None for value in values]
        frame = table(values)
        kinds = [one for one in read_as_one(frame, form) if one.reader == "pandas"]
        column = kinds[0].column(frame["code"]) if kinds else frame["code"]
        (found,) = read_by(form, frame)
        assert column.n_unique() == found.nunique(dropna=False), (values, found.tolist())
        merged += bool(kinds)
    assert merged > 40


def test_polars_finds_no_fewer_than_pandas():
    draw = random.Random(8)
    for _ in range(200):
        words = draw.sample([word for word in WORDS if word], draw.randint(1, 4))
        frame = table([draw.choice(words) for _ in range(10)])
        kinds = read_as_one(frame, "csv")
        ours = min(
            [one.column(frame["code"]).n_unique() for one in kinds] + [frame["code"].n_unique()]
        )
        found = pl.read_csv(
            frame.write_csv(quote_style="always").encode(), infer_schema_length=None
        )["code"]
        assert found.n_unique() >= ours, words


def test_readers_are_named():
    assert {reader.name for reader in READERS} == {"pandas", "R"}
