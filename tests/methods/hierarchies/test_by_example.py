from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.registry import build
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import dates, intervals, like, mask_left, mask_right, suppress
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels


def test_the_example_of_the_page():
    postcode = like("75001 → 75 → FR")
    assert postcode.rule.words == ("level 1: the first 2 of 5 characters", "level 2: always FR")
    paths = keeps_the_contract(postcode, ["75001", "75002", "69001"])
    assert paths.rows == (("75001", "75", "FR"), ("75002", "75", "FR"), ("69001", "69", "FR"))
    assert paths.loss[1] == {"75": 0.5, "69": 0.0}
    assert paths.loss[2] == {"FR": 1.0}


def test_the_short_form_of_a_recipe():
    assert build("hierarchies", {"like": "75001 -> 75 -> FR"}) == build(
        "hierarchies", {"like": {"examples": ["75001 -> 75 -> FR"]}}
    )


@pytest.mark.parametrize(
    ("examples", "underneath"),
    [
        (["23 → 20-24 → 20-39"], intervals(5, 20)),
        (["23 → 20-24 → 20-39", "93 → >=80 → >=80"], intervals(5, 20, open_above=80)),
        (["7 → <20", "23 → 20-29"], intervals(10, open_below=20)),
        (["27 → 23-32"], intervals(10, origin=3)),
        (["0.25 → [0.2, 0.3)"], intervals(0.1)),
        (["2024-03-15 → 2024-03 → 2024 → *"], dates("month", "year")),
        (["15.03.2024 → 2024-Q1 → 2024"], dates("quarter", "year", format="%d.%m.%Y")),
        (["03/15/2024 → 2024-03"], dates("month", format="%m/%d/%Y")),
        (["1999 → 1990s"], dates("decade")),
        (["537 → 53* → 5** → *"], mask_right(3)),
        (["537 → *37 → **7"], mask_left(3)),
        (["f → *"], suppress()),
    ],
)
def test_existing_kinds_are_underneath(examples, underneath):
    assert like(*examples).rule.hierarchy == underneath


@pytest.mark.parametrize(
    ("examples", "value", "row"),
    [
        (["AB-123 → AB → A"], "CD-456", ("CD-456", "CD", "C", "*")),
        (["AB-123 → 123"], "CD-456", ("CD-456", "456", "*")),
        (["75001 → 75*** → *"], "69123", ("69123", "69***", "*")),
        (["12 → 1", "345 → 34"], "678", ("678", "67", "*")),
        (["7575 → 75", "7512 → 75"], "1234", ("1234", "12", "*")),
        (["75001 → all"], "69123", ("69123", "all")),
        (["2024-03-15 → 2024 → ever"], "2023-01-01", ("2023-01-01", "2023", "ever")),
        (["75001 → 750 → 7"], "691", ("691", "691", "6", "*")),
        (["75001 → 75*** → 7**** → *"], "69***", ("69***", "69***", "6****", "*")),
        (["AB123 → 123 → 3"], "456", ("456", "456", "6", "*")),
    ],
)
def test_rules_for_codes(examples, value, row):
    assert like(*examples).paths([value], [1]).rows == (row,)


@pytest.mark.parametrize(
    ("examples", "why"),
    [
        (
            ["7575 → 75"],
            "the first 2 of 4 characters or the last 2 of 4 characters; give an example",
        ),
        (["05/05/2024 → 2024-05"], "%d/%m/%Y or %m/%d/%Y"),
        (["62.01 → 62.0 → 62 → J"], "or that of classification: {of: nace}"),
        (
            ["75001 → 75 → FR", "10115 → 10 → DE"],
            "level 2: the label is neither the beginning nor the end",
        ),
        (["75001 → Paris → FR"], "example 1, level 1"),
        (["1234 → 12 → 34"], "is not part of the level below it"),
        (["1234 → 12", "5678 → 567"], "is cut differently in two examples"),
        (["1234 → 12 → 1", "123 → 12 → 12"], "look alike and are cut differently"),
        (["1234 → 12", "1234 → 12 → 1"], "example 2 has 3 levels and example 1 has 2"),
        (["75001"], "needs a value and a label"),
        (["75001 → "], "needs a value and a label"),
        (["23 → 20-24", "8 → 7-11"], "no grid of intervals"),
        (["23 → 20-24 → 15-30"], "growing multiples"),
        ([], "at least 1 entry"),
    ],
)
def test_what_is_not_one_rule_is_refused(examples, why):
    with pytest.raises(ParameterError) as caught:
        like(*examples)
    assert why in str(caught.value)
    assert "Paris" not in str(caught.value)


def test_values_of_another_form_are_counted():
    with pytest.raises(SchemaError, match="2 of 3 distinct values have another form") as caught:
        like("75001 → 75").paths(["75001", "7500", "B-1000"], [1] * 3)
    assert "B-1000" not in str(caught.value)


def test_the_top_by_its_name_and_suppressed_cells():
    postcode = like("75001 → 75 → FR")
    paths = keeps_the_contract(postcode, ["75001", "FR", "*"])
    assert paths.rows[1:] == (("FR",) * 3, ("*", "*", "FR"))
    assert paths.loss[0]["FR"] == paths.loss[0]["*"]
    assert keeps_the_contract(postcode, ["FR", "69001", "75001"]).rows[0] == ("FR",) * 3
    assert keeps_the_contract(like("23 → 20-29 → any"), ["any", "21", "35", "*"]).measured


def test_examples_stay_out_of_certificates():
    assert like("75001 → 75").secret == ("examples",)


def refused(examples) -> bool:
    try:
        like(*examples)
    except ParameterError:
        return True
    return False


@given(
    st.lists(st.from_regex(r"[0-9]{5}", fullmatch=True), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True),
    st.booleans(),
)
def test_a_rule_that_wrote_examples_is_found_again(values, lengths, left):
    """Oracle: slices of text. Where the examples do not decide, it is refused; what is understood
    is what was meant.
    """
    lengths = sorted(lengths, reverse=True)

    def path(v):
        return (v, *((v[:n] if left else v[-n:]) for n in lengths), "*")

    examples = [" → ".join(path(v)) for v in values]
    undecided = any(all(v[:n] == v[-n:] for v in values) for n in lengths)
    if undecided and refused(examples):
        return
    rule = like(*examples)
    more = list(dict.fromkeys([*values, "13579", "24680"]))
    assert list(rule.paths(more, [1] * len(more)).rows) == [path(v) for v in more]
    keeps_the_contract(rule, more)
    understands_its_own_labels(rule, more)
