"""Files of µ-Argus: metadata, data of fixed and free format, recode files."""

from __future__ import annotations

import random
import string

import pytest

import sfumato as sf
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.argus_import import read_argus, read_metadata, read_recoding

METADATA = """REGION 1 2 99
    <RECODEABLE>
    <CODELIST> "REGION.CDL"
    <IDLEVEL> 1
    <TRUNCABLE>
AGE 3 2 98 99
    <RECODEABLE>
    <IDLEVEL> 2
INCOME 5 6
    <NUMERIC>
    <DECIMALS> 0
WGT 11 4
    <NUMERIC>
    <WEIGHT>
"""
DATA = "1220  12001.00\n1234   9002.50\n9998  10001.00\n1120  11001.00\n"
RECODING = '1: -29\n2: 30-59\n3: 60-\n<CODELIST> "AGE.CDL"\n'


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "survey.rda").write_text(METADATA)
    (tmp_path / "survey.asc").write_text(DATA)
    (tmp_path / "age.grc").write_text(RECODING)
    return tmp_path / "survey.rda"


def test_a_survey_becomes_a_recipe_that_runs(survey, tmp_path):
    content = read_argus(survey)
    assert content.rows == (
        ("12", "20", "1200", "1.00"),
        ("12", "34", "900", "2.50"),
        ("", "", "1000", "1.00"),
        ("11", "20", "1100", "1.00"),
    )
    roles = {name: spec["role"] for name, spec in content.document["columns"].items()}
    assert roles == {"REGION": "quasi", "AGE": "quasi", "INCOME": "ask", "WGT": "weight"}
    assert content.hierarchies == {"AGE": (("20", "1", "*"), ("34", "2", "*"))}
    assert "<CODELIST> of REGION" in str(content) and "thresholds" in str(content)
    folder = content.write(tmp_path / "out")
    recipe = (folder / "recipe.yaml").read_text().replace("role: ask", "role: sensitive")
    (folder / "recipe.yaml").write_text(recipe.replace("k: 3", "k: 2"))
    release = sf.run(folder / "data.csv", folder / "recipe.yaml")
    assert release.verdicts[0].holds
    with pytest.raises(ParameterError, match="already exists"):
        content.write(tmp_path / "out")


def test_free_format(tmp_path):
    (tmp_path / "s.rda").write_text('<SEPARATOR> ","\nA 2 9\n <IDLEVEL> 1\nB 5\n')
    (tmp_path / "s.csv").write_text('1,"x, y"\n9,z\n')
    content = read_argus(tmp_path / "s.rda")
    assert content.rows == (("1", "x, y"), ("", "z"))


@pytest.mark.parametrize("seed", range(40))
def test_cells_are_those_of_cutting_every_line_by_hand(seed, tmp_path):
    """Random widths in random places, written by a naive loop."""
    draw = random.Random(seed)
    widths = [draw.randint(1, 6) for _ in range(draw.randint(1, 6))]
    gaps = [draw.randint(0, 2) for _ in widths]
    lines, expected, metadata, start = [], [], [], 1
    for number, (width, gap) in enumerate(zip(widths, gaps, strict=True)):
        metadata.append(f"V{number} {start + gap} {width}")
        start += gap + width
    for _ in range(5):
        cells = ["".join(draw.choices(string.ascii_letters, k=draw.randint(1, w))) for w in widths]
        parts = [" " * g + c.rjust(w) for g, c, w in zip(gaps, cells, widths, strict=True)]
        lines.append("".join(parts))
        expected.append(tuple(cells))
    (tmp_path / "t.rda").write_text("\n".join(metadata))
    (tmp_path / "t.dat").write_text("\n".join(lines))
    assert read_argus(tmp_path / "t.rda").rows == tuple(expected)


def test_recodings_are_taken_in_order_and_others_stay():
    recoding = read_recoding("a: 1-5, 9\nb: 6-\nlow: -0\n<MISSING> low\n", "x.grc")
    labels = {code: recoding.label(code) for code in ("1", "5", "05", "9", "6", "100", "0", "k")}
    assert labels == {
        "1": "a",
        "5": "a",
        "05": "a",
        "9": "a",
        "6": "b",
        "100": "b",
        "0": "",
        "k": "b",
    }
    letters = read_recoding("early: A-F\n", "x.grc")
    assert [letters.label(code) for code in "AFG"] == ["early", "early", "G"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no variable"),
        ("REGION\n", "first position and width"),
        ("REGION 0 2\n", "first position and width"),
        ("REGION 1 x\n", "first position and width"),
        ("<SPSS>\nREGION 1 2\n", "save the data in fixed format"),
        ("A 1 1\nA 2 1\n", "names a variable twice"),
        ('<SEPARATOR> ";"\nA\n', "its name and width"),
    ],
)
def test_wrong_metadata(text, words):
    with pytest.raises(UnreadableInput, match=words):
        read_metadata(text, "survey.rda")


@pytest.mark.parametrize("text", ["1 2-5\n", ":2-5\n", "3:\n"])
def test_wrong_recodings(text):
    with pytest.raises(UnreadableInput, match="line 1: a recoding is written like"):
        read_recoding(text, "age.grc")


def test_missing_data_and_lines_of_another_width_show_no_value(tmp_path):
    (tmp_path / "s.rda").write_text('<SEPARATOR> ","\nA 2\nB 5\n')
    with pytest.raises(UnreadableInput, match="no data beside"):
        read_argus(tmp_path / "s.rda")
    (tmp_path / "s.asc").write_text("1,2\nsecret\n")
    with pytest.raises(UnreadableInput, match=r"line 2: 1 values, and 2 variables") as error:
        read_argus(tmp_path / "s.rda")
    assert "secret" not in str(error.value)
