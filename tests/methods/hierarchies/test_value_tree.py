from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import Tree, tree
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels

# G27, the illness tree: 5 leaves, 3 levels; two virus infections, one bacterial infection
ILLNESS = {
    "*": {
        "virus infection": ["HIV", "influenza"],
        "bacterial infection": ["common cold"],
        "injury": ["fracture", "burn"],
    }
}


def test_the_illness_tree():
    paths = tree(ILLNESS).paths(["HIV", "common cold"], [1, 1])
    assert paths.rows[0] == ("HIV", "virus infection", "*")
    assert 1 / (len(paths.leaves) - 1) == 0.5  # one of two steps up
    assert paths.loss[1]["virus infection"] == (2 - 1) / (5 - 1) == 0.25
    assert paths.loss[1]["bacterial infection"] == 0.0
    assert paths.loss[2] == {"*": 1.0}


def test_leaves_count_whether_they_occur_or_not():
    assert tree(ILLNESS).paths(["burn"], [3]).leaves[2] == {"*": 5.0}


def test_shallow_leaves_stay_until_the_level_of_their_parent():
    paths = keeps_the_contract(
        tree({"*": {"north": {"coast": ["Kiel"]}, "south": ["Ulm"], "abroad": None}}),
        ["Kiel", "Ulm", "abroad"],
    )
    assert paths.rows == (
        ("Kiel", "coast", "north", "*"),
        ("Ulm", "Ulm", "south", "*"),
        ("abroad", "abroad", "abroad", "*"),
    )


def test_lists_may_hold_branches():
    mixed = tree({"*": ["abroad", {"south": ["Ulm", "Lindau"]}]})
    assert mixed == tree({"*": ["abroad", {"south": ("Ulm", "Lindau")}]})
    assert mixed.paths(["Ulm", "abroad"], [1, 1]).rows == (
        ("Ulm", "south", "*"),
        ("abroad", "abroad", "*"),
    )


def test_whole_numbers_need_no_quotes():
    assert tree({"*": {"low": [1, 2]}}).paths(["2"], [1]).rows == (("2", "low", "*"),)


def test_inner_nodes():
    understands_its_own_labels(tree(ILLNESS), ["HIV", "burn", "fracture", "common cold"])
    paths = tree(ILLNESS).paths(["injury", "*"], [1, 1])
    assert paths.rows == (("injury", "injury", "*"), ("*", "*", "*"))
    assert paths.loss[0] == paths.loss[0] | {"injury": 0.25, "*": 1.0}


def test_a_suppressed_cell_is_the_top_whatever_the_top_is_called():
    paths = keeps_the_contract(tree({"any": {"north": ["Kiel", "Jever"]}}), ["Kiel", "*", "any"])
    assert paths.rows[1:] == (("*", "*", "any"), ("any", "any", "any"))
    assert paths.loss[0]["*"] == paths.loss[0]["any"] == 1.0


def test_a_leaf_may_have_the_name_of_its_group():
    paths = keeps_the_contract(
        tree({"*": {"unknown": ["unknown", "refused"], "known": ["yes"]}}), ["unknown", "refused"]
    )
    assert paths.leaves[0]["unknown"] == 1
    assert paths.leaves[1]["unknown"] == 2
    assert paths.loss[1]["unknown"] == 0.5


def test_uncovered_values_are_counted_with_what_to_do():
    with pytest.raises(
        SchemaError, match=r"tree: 2 of 3 distinct values are not covered; add .* other="
    ) as caught:
        tree(ILLNESS).paths(["HIV", "gout", "plague"], [1] * 3)
    assert "gout" not in str(caught.value)


def test_other_adopts_what_is_not_listed():
    paths = keeps_the_contract(tree(ILLNESS, other="rest"), ["HIV", "gout", "plague", "rest"])
    assert paths.rows[1:] == (("gout", "rest", "*"), ("plague", "rest", "*"), ("rest", "rest", "*"))
    assert paths.leaves[2] == {"*": 7}
    assert paths.loss[1]["rest"] == paths.loss[0]["rest"] == 1 / 6


def test_other_may_be_a_group_of_the_tree():
    paths = keeps_the_contract(tree(ILLNESS, other="injury"), ["gout", "burn"])
    assert paths.rows[0] == ("gout", "injury", "*")
    assert paths.leaves[1]["injury"] == 3


def test_other_alone_is_a_leaf():
    assert tree(ILLNESS, other="rest").paths(["rest"], [1]).loss[0]["rest"] == 0.0


def test_other_with_nothing_between():
    assert tree({"*": ["a", "b"]}, other="rest").paths(["c", "rest"], [1, 1]).rows == (
        ("c", "*"),
        ("rest", "*"),
    )


def test_the_mapping_is_copied():
    given = {"*": {"low": ["a"]}}
    built = tree(given)
    given["*"]["low"].append("b")
    assert built == tree({"*": {"low": ["a"]}})


@pytest.mark.parametrize(
    ("nested", "said"),
    [
        ({}, "one top, but this one has"),
        ({"a": ["b"], "c": ["d"]}, "one top, but this one has"),
        ({"*": []}, "no leaves"),
        ({"*": None}, "no leaves"),
        ({"*": "leaf"}, "only a mapping or a list"),
        ({"*": {"a": ["x"], "b": ["x"]}}, "have more than one parent"),
        ({"*": {"a": {"b": ["x"]}, "c": {"b": ["y"]}}}, "have more than one parent"),
        ({"*": {"a": [1.5]}}, "put quotes around this float"),
        ({"*": {True: ["x"]}}, "put quotes around this bool"),
    ],
)
def test_wrong_trees_are_refused(nested, said):
    with pytest.raises(ParameterError, match=said):
        tree(nested)


def test_a_tree_that_contains_itself_is_refused():
    nested = {}
    nested["*"] = nested
    with pytest.raises(ParameterError, match="nested more than"):
        tree(nested)


def test_other_cannot_be_the_top():
    with pytest.raises(ParameterError, match="below the top"):
        Tree(ILLNESS, other="*")


@st.composite
def trees(draw):
    """A nested mapping whose labels are all different, and its leaves."""
    names = iter(range(1000))
    leaves = []

    def grow(depth):
        if depth == 0 or draw(st.booleans()):
            found = [f"leaf {next(names)}" for _ in range(draw(st.integers(1, 3)))]
            leaves.extend(found)
            return found
        return {f"node {next(names)}": grow(depth - 1) for _ in range(draw(st.integers(1, 3)))}

    return {"top": grow(3)}, leaves


@given(trees(), st.sampled_from([None, "rest"]))
def test_contract(made, other):
    nested, leaves = made
    hierarchy = tree(nested, other=other)
    paths = keeps_the_contract(hierarchy, leaves)
    assert paths.leaves[-1] == {"top": len(leaves)}
    for row in paths.rows:
        assert paths.loss[0][row[0]] == 0
    understands_its_own_labels(hierarchy, leaves)
    if other:
        keeps_the_contract(hierarchy, [*leaves[:2], "gout", "rest"])
