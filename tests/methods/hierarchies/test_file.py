from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.hierarchy import Hierarchy, bind
from sfumato.errors import ParameterError, SchemaError, UnreadableInput
from sfumato.methods.hierarchies import (
    HierarchyFile,
    TableHierarchy,
    dates,
    frequency,
    hierarchy_file,
    intervals,
    mask_right,
    order,
    read_hierarchy,
    suppress,
    tree,
    write_hierarchy,
)
from sfumato.methods.hierarchies.file import _rows, columns_of
from sfumato.methods.hierarchies.leaf_lists import LeafRows, paths_under
from tests.methods.hierarchies.contract import keeps_the_contract


@pytest.fixture
def written(tmp_path):
    def write(content: str | bytes) -> Path:
        path = tmp_path / "zip.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_file_of_arx(written):
    path = written("1;0-4;*\n5;5-9;*\n")
    assert read_hierarchy(path) == TableHierarchy([("1", "0-4", "*"), ("5", "5-9", "*")])
    assert keeps_the_contract(HierarchyFile(path), ["5"]).rows == (("5", "5-9", "*"),)


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff1;0-4;*\n5;5-9;*",
        "1;0-4;*\r\n5;5-9;*\r\n",
        "\n\n1;0-4;*\n   \n;;\n5;5-9;*\n\n",
        '"1";"0-4";"*"\n5;5-9;*\n',
        "1;0-4;*\n1;0-4;*\n5;5-9;*\n",
    ],
    ids=["byte order mark", "CRLF", "blank lines", "quotes", "repeated"],
)
def test_ways_to_write_the_same(written, content):
    assert hierarchy_file(written(content)).paths(["1", "5"], [1, 1]).rows == (
        ("1", "0-4", "*"),
        ("5", "5-9", "*"),
    )


def test_delimiter_and_encoding(written):
    path = written("Köln,Rheinland,*\n".encode("cp1252"))
    assert read_hierarchy(path, delimiter=",", encoding="cp1252").rows == (
        ("Köln", "Rheinland", "*"),
    )


def test_quoted_delimiters_and_newlines(written):
    assert read_hierarchy(written('"a;b";"c\nd";*\ne;f;*')).rows == (
        ("a;b", "c\nd", "*"),
        ("e", "f", "*"),
    )


def test_reading_waits_until_it_is_needed_and_paths_are_relative_to_the_recipe(tmp_path):
    hierarchy = hierarchy_file("later.csv", other="rest")
    (tmp_path / "later.csv").write_text("a;b;*\n")
    resolved = hierarchy.resolved(tmp_path)
    assert resolved.paths(["a", "x"], [1, 1]).rows == (("a", "b", "*"), ("x", "rest", "*"))
    assert resolved.resolved(Path("elsewhere")) == resolved


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ("", SchemaError, "'zip.csv' is empty"),
        ("\n\n", SchemaError, "is empty"),
        ("1,0-4,*\n5,5-9,*\n", SchemaError, "one level only; .* delimiter: ','"),
        ("1;0-4;*\n\n5;*\n", SchemaError, "line 3: has 2 levels where line 1 has 3"),
        (
            "1;0-4;*\n2;0-4;*\n1;5-9;*\n",
            SchemaError,
            "line 1 and line 3: the same label of level 0 .* correct one",
        ),
        ("1;0-4;x;*\n\n2;0-4;y;*\n", SchemaError, "line 1 and line 3: the same label of level 1"),
        (
            "1;a\n2;b\n",
            SchemaError,
            "one single value, it has 2, the first two on line 1 and line 2",
        ),
        (b"1;a;*\nK\xf6ln;b;*\n", UnreadableInput, "line 2: is not utf-8 text; give its encoding"),
        (b"1;" + b"a" * 200_000 + b";*\n", UnreadableInput, "line 1: is not CSV"),
    ],
)
def test_broken_files_are_refused_with_their_lines(written, content, error, said):
    path = written(content)
    with pytest.raises(error, match=said):
        read_hierarchy(path)
    with pytest.raises(error, match=said):
        hierarchy_file(path).paths(["1"], [1])


def test_all_problems_of_a_file_are_told_at_once(written):
    with pytest.raises(SchemaError) as caught:
        read_hierarchy(written("1;a;x\n1;b;y\n"))
    assert len(caught.value.problems) == 2


def test_no_label_is_shown(written):
    with pytest.raises(SchemaError) as caught:
        read_hierarchy(written("secret;a;*\nsecret;b;*\n"))
    assert "secret" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableInput, match=r"gone.csv: this file does not exist"):
        hierarchy_file(tmp_path / "gone.csv").paths(["a"], [1])
    with pytest.raises(UnreadableInput, match="this is a folder; name one file in it"):
        read_hierarchy(tmp_path)


def test_the_catch_all_cannot_be_the_top(written):
    with pytest.raises(SchemaError, match="below the top"):
        hierarchy_file(written("a;b;*\n"), other="*").paths(["x"], [1])


@pytest.mark.parametrize("wrong", [{"delimiter": ""}, {"delimiter": ";;"}, {"encoding": "klingon"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        hierarchy_file("a.csv", **wrong)


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (intervals(5, 10), ["1", "7", "23"]),
        (intervals(0.5), ["-1", "7.25"]),
        (mask_right(5), ["53711", "537", "5399*"]),
        (dates(), ["2024-03-15", "1999-12-31"]),
        (tree({"*": {"a": ["x", "y"], "b": None}}), ["x", "y", "b"]),
        (order(["low", "mid", "high"], 2), ["low", "high"]),
        (suppress(), ["f", "m"]),
        (frequency(1), ["f", "m", "d"]),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_every_hierarchy_can_be_written_down_and_read_back(tmp_path, hierarchy, values):
    path = write_hierarchy(hierarchy, [*values, None], tmp_path / "out.csv")
    expected = hierarchy.paths(values, [1] * len(values)).rows
    assert read_hierarchy(path).paths(values, [1] * len(values)).rows == expected
    ladder = bind(hierarchy, values, [1] * len(values))
    again = write_hierarchy(ladder, values[:1], tmp_path / "ladder.csv")
    assert read_hierarchy(again).rows == expected[:1]


marks = st.sampled_from(';"\n\r\t \ufeff')
labels = st.text(st.characters(exclude_categories=("Cs",)) | marks, max_size=4)


@given(st.lists(labels, min_size=1, max_size=6, unique=True))
def test_any_label_survives_the_round_trip(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("round") / "trip.csv"
    write_hierarchy(suppress(), values, path)
    assert sorted(read_hierarchy(path).rows) == sorted((v, "*") for v in values)


# Long files are read level by level: the same as line by line, and only where nothing is wrong.

FEW = ("a", "b", "c", "", " ", "*", "\x1c", "\u00a0", "ä", "all")
listings = st.lists(st.lists(st.sampled_from(FEW), min_size=1, max_size=4), min_size=1, max_size=8)


def listing(leaves, parents, again):
    """Rows under few parents, some of them written again."""
    of = {leaf: parents[i % len(parents)] for i, leaf in enumerate(leaves)}
    return [
        [leaf, of[leaf], "upper" if of[leaf] < "b" else "lower", "*"]
        for leaf in [*leaves, *leaves[:again]]
    ]


sound_listings = st.builds(
    listing,
    st.lists(st.sampled_from((*FEW, "d", "e", "f")), min_size=1, max_size=8, unique=True),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=4),
    st.integers(0, 3),
)
ends = st.sampled_from(["\n", "\r\n", "\n\n", "\n ; ;\n", "\n\x1c\n", "\r"])


def both_ways(text, delimiter, values, other):
    """The ladder (or what is wrong) when read line by line, and when read level by level, where
    that is done.
    """
    quick = columns_of(text, delimiter, fewest_lines=0)
    try:
        leaves = LeafRows(_rows(text, Path("zip.csv"), delimiter))
    except (SchemaError, UnreadableInput) as error:
        return str(error), None if quick is None else "taken for sound"
    if quick is None:
        return None, None
    plain, path_by_path = (bound_to(found, values, other) for found in (leaves, quick))
    at_once = bound_to(quick, values, other, quick.ladder)
    return plain, path_by_path if at_once == path_by_path else at_once


def bound_to(leaves, values, other, at_once=lambda values, missing: None):
    class Given(Hierarchy):
        def paths(self, values, counts):
            return paths_under(leaves, values, "file", other)

        def ladder(self, values, *, missing):
            return at_once(values, missing=missing)

    try:
        ladder = bind(Given(), values, [1] * len(values))
    except SchemaError as error:
        return str(error)
    arrays = [[a.tolist() for a in arrays] for arrays in (ladder.up, ladder.leaves, ladder.loss)]
    return (ladder.labels, *arrays)


@given(
    listings | sound_listings,
    ends,
    st.lists(
        st.none() | st.sampled_from((*FEW, "d", "upper", "elsewhere")), max_size=8, unique=True
    ),
    st.none() | st.sampled_from(("a", "upper", "rest", "*")),
)
def test_long_files_read_level_by_level_say_the_same_as_line_by_line(rows, end, values, other):
    text = end.join(";".join(row) for row in rows)
    plain, quick = both_ways(text, ";", values, other)
    assert quick is None or quick == plain


@given(sound_listings, st.lists(st.sampled_from((*FEW, "d", "upper")), max_size=8, unique=True))
def test_sound_files_are_read_level_by_level(rows, values):
    written = [row for row in rows if any(cell.strip() for cell in row)]
    plain, quick = both_ways("\n".join(";".join(row) for row in written), ";", values, None)
    assert quick is not None
    assert quick == plain


def test_leaves_are_bound_at_once_and_other_nodes_path_by_path():
    quick = columns_of("b;x;*\na;y;*\nc;x;*\n", ";", fewest_lines=0)
    made = quick.ladder(["c", "a"], missing=True)
    assert made.labels == (("c", "a", None), ("x", "y", None), ("*",))
    assert [up.tolist() for up in made.up] == [[0, 1, 2], [0, 0, 0]]
    assert [level.tolist() for level in made.loss] == [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0]]
    assert quick.ladder(["c", "x"], missing=False) is None
    assert quick.ladder([], missing=True) is None


@pytest.mark.parametrize(
    "text",
    [
        '"a";*\n',
        "a;*\rb;*\n",
        "a;*\nb\n",
        "a;x\nb;y\n",
        "a;b;*\na;c;*\n",
        "a\n",
        "\n",
        "\ud800;*\n",
    ],
)
def test_what_is_not_plain_and_sound_is_read_line_by_line(text):
    assert columns_of(text, ";", fewest_lines=0) is None


def test_a_long_file_is_bound_as_its_rule(written):
    codes = [f"{i:05d}" for i in range(0, 100_000, 17)]
    path = written("".join(f"{c};{c[:3]}**;{c[:1]}****;*\n" for c in codes))
    asked = [*codes[::50], "003**", "9****", None]
    rows = LeafRows([(c, f"{c[:3]}**", f"{c[:1]}****", "*") for c in codes])
    assert bound_to(rows, asked, None) == bound_to(columns_of(path.read_text(), ";"), asked, None)
    with pytest.raises(SchemaError, match="1 of 2 distinct values are not covered"):
        hierarchy_file(path).paths(["00000", "elsewhere"], [1, 1])


def test_the_first_wrong_line_of_a_long_file_is_told(written):
    path = written("".join(f"{i};{i % 7};*\n" for i in range(5000)) + "3;4;*\n")
    with pytest.raises(SchemaError, match="line 4 and line 5001: the same label of level 0"):
        hierarchy_file(path).paths(["1"], [1])


def test_counts_decide_where_the_hierarchy_asks_for_them(tmp_path):
    write_hierarchy(frequency(1), ["f", "m"], tmp_path / "out.csv", counts=[1, 2])
    assert sorted(read_hierarchy(tmp_path / "out.csv").rows) == [
        ("f", "other", "*"),
        ("m", "m", "*"),
    ]
