"""Everything that parties can ask, by its name in a study."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.parties.kinds import question_from
from tests.parties.test_statistics import asked

TOKENS = [
    "True",
    "false",
    "TRUE",
    "1",
    "0",
    "007",
    "7.0",
    "+5",
    "-0",
    " 5",
    "5 ",
    "1e3",
    ".5",
    "5.",
    "inf",
    "-inf",
    "nan",
    "",
    "NA",
    "99999999999999999999",
]


@pytest.mark.parametrize("first", TOKENS)
def test_one_odd_word_does_not_change_how_other_rows_are_read(tmp_path, first):
    """A column with an odd word is read as text, without it perhaps as numbers or truth values."""
    for second in TOKENS:
        tables = []
        for odd in ([], ["odd word"]):
            path = tmp_path / "table.csv"
            path.write_text(
                "x,i\n"
                + "".join(f'"{word}",{i}\n' for i, word in enumerate([first, second, first, *odd]))
            )
            tables.append(sf.read(path))
        for question in (
            {"mean": {"column": "x", "bounds": ["-10", "2000"]}},
            {
                "histogram": {
                    "axis": {"column": "x", "domain": ["true", "FALSE", "7", "0", "1", "5", "1000"]}
                }
            },
            {"histogram": {"axis": {"column": "x", "edges": ["0", "1", "6", "2000"]}}},
        ):
            asking = question_from(question)
            without, with_odd = (next(asking.ask(table)).tolist() for table in tables)
            assert without == with_odd, (first, second, question)
            assert asking.rows(tables[1])[:3].tolist() == asking.rows(tables[0]).tolist()


def test_words_that_a_column_of_numbers_could_not_tell_apart_are_refused():
    for words in (["7", "007"], ["1", "1.0"], ["True", "true"], ["inf"], ["nan", "a"]):
        for question in (
            {"histogram": {"axis": {"column": "x", "domain": words}}},
            {"count": {"where": {"x": words}}},
        ):
            with pytest.raises(ParameterError, match="list each once"):
                question_from(question)


def test_what_does_not_fit_is_refused_beforehand():
    wide = {"variance": {"column": "age", "bounds": ["0", "1000000000"], "scale": 2}}
    with pytest.raises(ParameterError, match=r"do not fit into protocol 'additive'.*shamir"):
        asked(wide, "additive")
    assert asked(wide)["count"] == 10
    with pytest.raises(
        ParameterError, match="joint question 'maen' does not exist\\. Did you mean 'mean'"
    ):
        question_from({"maen": {}})
    with pytest.raises(ParameterError, match="written as text"):
        question_from({"mean": {"column": "age", "bounds": ["a", "b"]}})
    with pytest.raises(ParameterError, match="either the domain"):
        question_from({"histogram": {"axis": {"column": "age"}}})
