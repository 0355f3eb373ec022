from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import TableHierarchy, hierarchy_table
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels

ROWS = [("1", "1-2", "*"), ("2", "1-2", "*"), ("3", "3", "*")]


def test_rows_are_paths():
    paths = keeps_the_contract(TableHierarchy(ROWS), ["3", "1"])
    assert paths.rows == (ROWS[2], ROWS[0])
    assert paths.loss[1] == {"1-2": 0.5, "3": 0.0}
    understands_its_own_labels(TableHierarchy(ROWS), ["1", "2", "3"])


def test_lists_and_tuples_and_numbers_are_the_same():
    assert TableHierarchy([[1, "1-2", "*"], [2, "1-2", "*"], [3, 3, "*"]]) == hierarchy_table(ROWS)


def test_a_label_may_come_back_on_a_higher_level():
    # as in real files: the leaf "unknown" is in another branch than the group "unknown"
    paths = keeps_the_contract(
        TableHierarchy(
            [
                ("unknown", "Asia", "*"),
                ("Peru", "America", "*"),
                ("n.a.", "unknown", "*"),
                ("n.s.", "unknown", "*"),
            ]
        ),
        ["unknown", "n.a.", "Peru"],
    )
    assert paths.rows[0] == ("unknown", "Asia", "*")
    assert (paths.leaves[0]["unknown"], paths.leaves[1]["unknown"]) == (1, 2)


def test_a_repeated_row_counts_again_above_level_0():
    # ARX 3.9.2 counts the lines of the file, see test_reference_files
    paths = TableHierarchy([*ROWS, ROWS[0]]).paths(["1"], [1])
    assert paths.leaves[0] == {"1": 1, "2": 1, "3": 1}
    assert paths.loss[1]["1-2"] == 2 / 3


def test_other_adopts_what_is_not_listed():
    paths = keeps_the_contract(
        TableHierarchy([("a", "b", "c", "*")], other="rest"), ["a", "x", "rest"]
    )
    assert paths.rows[1:] == (("x", "rest", "rest", "*"), ("rest", "rest", "rest", "*"))


def test_other_may_be_a_leaf_or_a_group_of_any_level():
    rows = [("a", "b", "c", "*"), ("d", "e", "f", "*")]
    assert keeps_the_contract(TableHierarchy(rows, other="f"), ["x", "a"]).rows[0] == (
        "x",
        "f",
        "f",
        "*",
    )
    assert keeps_the_contract(TableHierarchy(rows, other="d"), ["x", "a"]).rows[0] == (
        "x",
        "e",
        "f",
        "*",
    )


def test_uncovered_values_are_counted():
    with pytest.raises(SchemaError, match="table: 2 of 2 distinct values are not covered"):
        TableHierarchy(ROWS).paths(["8", "9"], [1, 1])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "table is empty"),
        ([("a",)], "one level only"),
        ([("a", "*"), ("b", "c", "*")], "row 2: has 3 levels where row 1 has 2"),
        ([("a", "b", "*"), ("c", "b", "+")], "row 1 and row 2: the same label of level 1"),
        (
            [("a", "x", "*"), ("b", "y", "*"), ("a", "y", "*")],
            "row 1 and row 3: the same label of level 0",
        ),
        (
            [("a", "x"), ("b", "y"), ("c", "x")],
            "one single value, it has 2, the first two on row 1 and row 2",
        ),
    ],
)
def test_wrong_tables_are_refused_with_their_rows(rows, said):
    with pytest.raises(ParameterError, match=said):
        TableHierarchy(rows)


def test_only_some_of_many_problems_are_spelled_out():
    with pytest.raises(ParameterError) as caught:
        TableHierarchy([("a", "*"), *[(f"b{i}", "c", "*") for i in range(20)]])
    assert str(caught.value).count("has 3 levels") == 5
    assert "more problems of this kind" in str(caught.value)


def test_other_cannot_be_the_top():
    with pytest.raises(ParameterError, match="below the top"):
        TableHierarchy(ROWS, other="*")


@st.composite
def leaf_tables(draw):
    """Rows in which label i of a level stands under label i // 2 of the next; labels may be shared
    by levels.
    """
    shared = draw(st.booleans())
    count, depth = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    name = (lambda level, i: str(i)) if shared else (lambda level, i: f"{level}.{i}")
    rows = [(*(name(level, i >> level) for level in range(depth)), "top") for i in range(count)]
    return draw(st.permutations(rows))


@given(leaf_tables())
def test_contract(rows):
    paths = keeps_the_contract(TableHierarchy(rows), [row[0] for row in rows])
    assert paths.rows == tuple(rows)
    assert set(paths.loss[-1].values()) == ({1.0} if len(rows) > 1 else {0.0})
