from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.hierarchy import ValueByValue
from sfumato.errors import ParameterError
from sfumato.methods.hierarchies import like, parts
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels

codes = st.lists(
    st.text(alphabet="a1.-*", min_size=1, max_size=9), min_size=1, max_size=8, unique=True
)
keeps = st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True).map(
    lambda counts: sorted(counts, reverse=True)
)


@given(codes, keeps, st.sampled_from(["", "*", "#"]), st.booleans(), st.booleans())
def test_any_codes_keep_the_contract(values, keep, mark, each, left):
    rule = parts(".-", *keep, mark=mark, each=each and bool(mark), hide="left" if left else "right")
    keeps_the_contract(rule, values)
    understands_its_own_labels(rule, values)


@given(
    st.lists(st.from_regex(r"[a-z0-9]{1,3}(\.[a-z0-9]{1,3}){0,4}", fullmatch=True), unique=True),
    keeps,
    st.booleans(),
)
def test_labels_are_those_of_splitting_and_joining(values, keep, left):
    """Oracle: the words of the definition, with split and join."""
    rule = parts(".", *keep, mark="", hide="left" if left else "right")
    for row in rule.paths(values, [1] * len(values)).rows:
        words = row[0].split(".")
        expected = [".".join(words[-n:] if left else words[:n]) for n in keep]
        assert list(row[1:-1]) == expected
        assert row[-1] == "*"


@pytest.mark.parametrize(
    ("rule", "value", "row"),
    [
        (parts(".", 3, 2), "192.168.1.127", ("192.168.1.*", "192.168.*", "*")),
        (parts(".", 2, each=True), "192.168.1.127", ("192.168.*.*", "*")),
        (parts(".", 2, 1, hide="left"), "www.example.org", ("*.example.org", "*.org", "*")),
        (parts(":", 3, mark=""), "00:1A:2B:3C:4D:5E", ("00:1A:2B", "*")),
        (parts("/-", 2, 1), "2024/A.3-17", ("2024/A.3-*", "2024/*", "*")),
        (parts(".", 1, mark=""), ".5", ("*", "*")),
    ],
)
def test_worked_codes(rule, value, row):
    assert rule.paths([value], [1]).rows == ((value, *row),)


def test_a_short_code_is_the_group_of_those_that_begin_with_it():
    paths = parts(".", 2, 1, mark="").paths(["1.2.3", "1.2", "1"], [1, 1, 1])
    assert [row[1] for row in paths.rows] == ["1.2", "1.2", "1"]
    assert paths.leaves[1]["1.2"] == 1.0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"keep": [1, 2]}, "keep must fall"),
        ({"keep": [2], "mark": "x"}, "no letter"),
        ({"keep": [2], "mark": "."}, "none of the separators"),
        ({"keep": [2], "mark": "", "each": True}, "each needs a mark"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, why):
    with pytest.raises(ParameterError, match=why):
        parts(".", *fields.pop("keep"), **fields)


@pytest.mark.parametrize(
    ("examples", "rule"),
    [
        (["192.168.1.127 → 192.168.1.* → 192.168.*"], parts(".", 3, 2)),
        (["192.168.1.7 → 192.168.*.* → 192.*.*.*"], parts(".", 2, 1, each=True)),
        (["00:1A:2B:3C:4D:5E → 00:1A:2B → *"], parts(":", 3, mark="")),
        (["978-3-16-148410-0 → 978-3-16 → 978-3"], parts("-", 3, 2, mark="")),
        (["a/b/c → a/b → a"], parts("/", 2, 1, mark="")),
        (["2024/A.3-17 → 2024/A.3 → 2024"], parts("-/", 2, 1, mark="")),
        (["www.example.org → *.example.org → *.org"], parts(".", 2, 1, hide="left")),
        (["a@b.org → b.org"], parts("@", 1, mark="", hide="left")),
        (["1.2.3 → 1.2 → 1", "1.2 → 1.2 → 1"], parts(".", 2, 1, mark="")),
    ],
)
def test_examples_of_codes(examples, rule):
    assert like(*examples).rule.hierarchy == rule


def test_two_sides_are_refused():
    with pytest.raises(ParameterError, match="give an example in which they differ"):
        like("a.a → a")
    assert like("a.a → a", "b.c → b").rule.hierarchy == parts(".", 1, mark="")


@given(codes.filter(lambda own: not any("*" in code for code in own)), keeps, st.booleans())
def test_a_rule_that_wrote_examples_is_found_again(values, keep, left):
    """What is understood gives every example its own labels, or is refused."""
    rule = parts(".-", *keep, hide="left" if left else "right")
    rows = rule.paths(values, [1] * len(values)).rows
    try:
        known = like(*(" → ".join(row) for row in rows))
    except ParameterError:
        return
    assert known.paths(values, [1] * len(values)).rows == rows


def test_labels_do_not_depend_on_other_values():
    alone = ValueByValue(parts(".", 2, 1))
    assert alone.top == 3
    assert alone.label("10.1.2.3", 2) == "10.*"
