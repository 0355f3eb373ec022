from __future__ import annotations

import datetime
import random
import re

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from sfumato.core import recipe_files as recipes
from sfumato.core.source import Source
from sfumato.guidance.profiling.proposal import propose
from sfumato.guidance.profiling.yaml_text import flow, recipe_text, scalar

DRAW = random.Random(9)


def loaded(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


def test_the_whole_text_of_a_small_table():
    table = pl.DataFrame(
        {
            "name": ["Ann A", "Bob B"],
            "age": [34, 51],
            "sex": ["f", "m"],
            "diagnosis": ["flu", "gout"],
            "zip": ["53711", "53703"],
        }
    )
    lines = recipe_text(propose(table, Source(name="visits.csv"))).splitlines()
    assert lines[0] == "# Proposed by sfumato profile for visits.csv: 2 rows, 5 columns."
    assert "# age singles out 100 % of the records." in lines
    assert "# The table has fewer than 5 rows: no release of it can be 5-anonymous." in lines
    start = lines.index("sfumato: 1")
    assert lines[start:] == [
        "sfumato: 1",
        (
            "proposed_from: profile  # it looked at the table: no ε is certified while this line"
            " stands"
        ),
        "columns:",
        "  name: {role: drop}  # guess: the name says person name",
        (
            "  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10]}}}  #"
            " guess: the name says age: outsiders may know it; numeric: amounts; hierarchy: round"
            " widths by the spread of the numbers"
        ),
        (
            "  sex: {role: quasi, hierarchy: {suppress: {}}}  # guess: the name says sex: outsiders"
            " may know it; nominal: labels; hierarchy: too few values to group"
        ),
        (
            "  diagnosis: {role: sensitive}  # guess: the name says health (GDPR Art. 9); nominal:"
            " labels"
        ),
        (
            "  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}  # guess: the name says"
            " postal code: outsiders may know it; nominal: numbers that are codes; hierarchy: codes"
            " whose first characters say the larger area or group"
        ),
        "meet:",
        "  - k_anonymity: {k: 5}",
        "steps:",
        "  - global_recoding: {suppress: tuple, budget: 0.02}",
    ]


def test_every_column_is_marked_as_a_guess():
    table = pl.DataFrame(
        {f"c{i}": [DRAW.random() for _ in range(30)] for i in range(20)} | {"age": [*range(30)]}
    )
    text = recipe_text(propose(table, Source()))
    marked = [
        line
        for line in text.splitlines()
        if re.fullmatch(r"  \S+: \{role: .*\}  # guess: \S.*", line)
    ]
    assert len(marked) == 21
    assert sum(line.endswith("; unsure") for line in marked) == 20


def test_the_recipe_can_be_read_and_covers_the_table():
    table = pl.DataFrame(
        {
            "hh_id": [i // 3 for i in range(60)],
            "age": ["20-24", "25-29", "30-34", "85-89"] * 15,
            "birth": [datetime.date(1950 + i, 3, 4) for i in range(60)],
            "born on": [f"0{i % 9 + 1}.02.19{50 + i % 40}" for i in range(60)],
            "race": ["a", "b", "c"] * 10 + ["d", "c", "a"] * 10,
            "edu": ["low", "medium", "high"] * 20,
            "sampling_weight": [float(i) for i in range(60)],
            "note": [f"a long remark about the life of somebody number {i}" for i in range(60)],
        }
    )
    recipe = recipes.parse(recipe_text(propose(table, Source())))
    recipe.schema.check(table.columns, Source())
    assert recipe.schema["hh_id"].identifies == "household"
    assert recipe.schema.quasi == ("age", "birth", "born on", "race", "edu")
    assert [model.name for model in recipe.meet] == ["k_anonymity"]


@given(st.lists(st.text(max_size=30), unique=True, max_size=8), st.text(max_size=20))
@example(
    [
        "yes",
        "no",
        "null",
        "~",
        "1",
        "1.5",
        "",
        " ",
        "a: b",
        "- x",
        "# y",
        "{",
        "'",
        '"',
        "a\nb",
        "\ufeff",
        "\x85",
        "é",
    ],
    "t\n: x",
)
@example(
    [
        "x" * 3000,
        '"' * 2000,
        "?",
        ": ",
        "1e3",
        "0x1f",
        "12:30",
        "2020-01-01",
        "<<",
        "=",
        "!x",
        "&a",
        "*a",
        "%",
    ],
    "#",
)
@example(
    [
        "\u2028",
        "\x00",
        "\x7f",
        "\U0001f600",
        "\U000e0001",
        "a #b",
        "a:",
        "NaN",
        ".inf",
        "TRUE",
        "y",
        "Off",
        "a  b",
    ],
    "",
)
def test_any_column_name_reads_back_as_itself(names, source):
    frame = pl.DataFrame({name: ["a", "b"] for name in names})
    document = loaded(recipe_text(propose(frame, Source(name=source))))
    assert list(document["columns"]) == names
    assert document["sfumato"] == 1
    assert all(
        set(column) <= {"role", "kind", "hierarchy", "unit"}
        for column in document["columns"].values()
    )


scalars = st.one_of(
    st.text(max_size=20), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
)


@given(
    st.recursive(
        scalars,
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=8,
    )
)
def test_flow_style_reads_back(value):
    assert loaded(f"key: {flow(value)}")["key"] == value


def test_simple_names_stay_bare():
    assert scalar("marital-status") == "marital-status"
    assert scalar("Highest level of school") == "Highest level of school"
    assert scalar("plz.2") == "plz.2"
    assert scalar("No") == '"No"'


def test_header_says_what_is_missing():
    text = recipe_text(propose(pl.DataFrame({"x": [DRAW.random() for _ in range(40)]}), Source()))
    assert "# No column has role quasi: k-anonymity promises nothing until one has." in text
    assert "# Least sure of: x." in text
    assert recipes.parse(recipe_text(propose(pl.DataFrame(), Source()))).schema.attributes == {}


def test_the_header_says_what_happens_to_a_column_of_each_role():
    table = pl.DataFrame({"age": [20, 30, 40], "diagnosis": ["flu", "gout", "flu"]})
    header = recipe_text(propose(table, Source())).split("sfumato: 1")[0].splitlines()
    beginnings = (
        "#   drop: the column is dropped.",
        "#   quasi: made coarser.",
        "#   sensitive: released unchanged,",
        "#   keep: released unchanged.",
    )
    for beginning in beginnings:
        assert sum(line.startswith(beginning) for line in header) == 1
    assert not any("No sensitive column" in line for line in header)


def test_the_header_says_that_no_column_is_sensitive():
    for table in (pl.DataFrame({"age": [20, 30]}), pl.DataFrame({"age": []}), pl.DataFrame()):
        text = recipe_text(propose(table, Source()))
        assert "# No sensitive column found: is that right?\n" in text
