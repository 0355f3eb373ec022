from __future__ import annotations

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.source import Source
from sfumato.guidance.profiling.proposal import propose
from sfumato.guidance.profiling.row_warnings import (
    NO_SENSITIVE,
    repeated_share,
    spelling_variants,
    warnings_of,
)

REPEAT = "repeat another: is every row one person?"


def naive_repeated_share(rows: list[tuple[object, ...]]) -> float:
    repeated = 0
    for place, row in enumerate(rows):
        others = rows[:place] + rows[place + 1 :]
        if row in others:
            repeated += 1
    return repeated / len(rows) if rows else 0.0


cells = st.one_of(st.none(), st.sampled_from(["a", "b", "A", ""]))


@given(st.lists(st.tuples(cells, cells, st.sampled_from([None, 0, 1])), max_size=12))
def test_the_share_of_repeated_rows_is_as_defined(rows):
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String, "z": pl.Int64}, orient="row")
    assert repeated_share(frame) == pytest.approx(naive_repeated_share(rows))


def plain_spelling(text: str) -> str:
    """The text without capitals, blanks and accents, letter by letter."""
    letters = []
    for letter in unicodedata.normalize("NFD", text):
        if not letter.isspace() and not "\u0300" <= letter <= "\u036f":
            letters.append(letter.lower())
    return "".join(letters)


def naive_spelling_variants(texts: list[str | None]) -> int:
    different = {text for text in texts if text is not None}
    count = 0
    for text in different:
        others = different - {text}
        if any(plain_spelling(text) == plain_spelling(other) for other in others):
            count += 1
    return count


@given(
    st.lists(
        st.one_of(st.none(), st.text(alphabet="aAeéE É\u0301\tñÑnßжЖがか\u3099", max_size=4)),
        max_size=14,
    )
)
def test_spelling_variants_are_counted_as_defined(texts):
    values = pl.Series("x", texts, dtype=pl.String)
    assert spelling_variants(values) == naive_spelling_variants(texts)


def test_other_letters_are_no_spelling_variants():
    assert spelling_variants(pl.Series(["か", "が", "straße", "strasse", "ø", "o"])) == 0
    assert spelling_variants(pl.Series([1, 1, 2])) == 0
    assert spelling_variants(pl.Series(["Oui", "oui"], dtype=pl.Categorical)) == 2


def test_tables_without_rows_or_columns_repeat_nothing():
    assert repeated_share(pl.DataFrame()) == 0.0
    assert repeated_share(pl.DataFrame({"x": []})) == 0.0


CITIES = ["Menomonie", "MENOMONIE", "Menomonie ", "Eau Claire", "Málaga", "Malaga"]


def test_a_proposal_warns_of_repeated_rows_and_spelling_and_shows_no_value():
    frame = pl.DataFrame({"city": CITIES * 20, "age": [20, 30, 40] * 40})
    proposal = propose(frame, Source())
    assert proposal.warnings == (
        NO_SENSITIVE,
        "100 % of the rows repeat another: is every row one person?",
        (
            "Spelled in several ways that differ in capitals, blanks or accents: city (5 values)."
            " Each spelling counts as another value; make them alike first."
        ),
    )
    for warning in proposal.warnings:
        assert not any(city.strip() in warning for city in CITIES)
        assert f"# {warning}\n" in proposal.to_yaml()


def test_a_proper_table_gives_no_warning():
    frame = pl.DataFrame({"age": list(range(20, 80)), "diagnosis": ["flu", "gout", "asthma"] * 20})
    assert propose(frame, Source()).warnings == ()
    assert "No sensitive" not in propose(frame, Source()).to_yaml()


def test_repeated_rows_are_warned_of_from_half_of_them():
    frame = pl.DataFrame({"age": [1, 1, 2, 3]})
    assert any(REPEAT in warning for warning in propose(frame, Source()).warnings)
    frame = pl.DataFrame({"age": [1, 1, 2, 3, 4]})
    assert not any(REPEAT in warning for warning in propose(frame, Source()).warnings)


def test_shares_of_a_sample_say_so():
    frame = pl.DataFrame({"age": [40] * 300})
    warnings = propose(frame, Source(), bound=100).warnings
    assert "100 % of 100 rows drawn repeat another: is every row one person?" in warnings


def test_columns_that_are_dropped_need_no_other_spelling():
    frame = pl.DataFrame({"surname": ["Adams", "ADAMS", "Baker", "Cole"] * 10})
    proposal = propose(frame, Source())
    assert proposal.columns[0].roles == ("drop",)
    assert proposal.spelling_variants == {"surname": 2}
    assert not any("Spelled" in warning for warning in proposal.warnings)


def test_many_columns_and_odd_names_stay_one_line():
    variants = {f"c{i}": i + 2 for i in range(8)} | {"a\nb": 90, "x" * 200: 80}
    (sentence,) = warnings_of(0.0, variants, sensitive=True, drawn=None)
    assert "\n" not in sentence
    assert sentence.startswith(
        "Spelled in several ways that differ in capitals, blanks or accents: 'a\\nb' (90 values), "
    )
    assert "and 5 more columns." in sentence
    assert len(sentence) < 350
