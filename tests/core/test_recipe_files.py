"""Recipes as files: YAML in, objects out, and back."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.schema import Attribute
from sfumato.errors import RecipeError
from tests.core.test_recipe import TEXT, WORD

PATHS = st.one_of(
    st.sampled_from(
        [
            "h.csv",
            "deep/er/h.csv",
            "../h.csv",
            "../../up/h.csv",
            "/abs/h.csv",
            "./h.csv",
            "a b/ü.csv",
        ]
    ),
    WORD.filter(lambda w: w.strip() and w not in (".", "..")),
).map(Path)


@pytest.mark.slow
@given(path=PATHS, base=st.sampled_from([".", "recipes", "a/b", "../up", "/abs", "/abs/deep"]))
def test_files_named_relative_to_the_recipe_stay_so(path, base):
    document = {"columns": {"zip": {"role": "quasi", "hierarchy": {"file": {"path": str(path)}}}}}
    recipe = recipes.from_dict(document, base=base)
    assert recipe.schema["zip"].hierarchy.path == Path(base) / path
    again = recipes.parse(recipes.dump(recipe), base=base)
    assert again == recipe
    written = recipes.to_dict(recipe)["columns"]["zip"]["hierarchy"]["file"]["path"]
    if not path.is_absolute():
        assert Path(written) == path
        moved = recipes.parse(recipes.dump(recipe), base="elsewhere")
        assert moved.schema["zip"].hierarchy.path == Path("elsewhere") / path


def test_a_recipe_in_a_folder_finds_its_hierarchies_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "zip.csv").write_text("a;*\nb;*\n")
    (tmp_path / "sub" / "recipe.yaml").write_text(
        "columns:\n  zip: {role: quasi, hierarchy: {file: zip.csv}}\n"
    )
    monkeypatch.chdir(tmp_path)
    recipe = recipes.load("sub/recipe.yaml")
    assert recipe.schema["zip"].hierarchy.paths(["a"], [1]).rows == (("a", "*"),)
    copy = tmp_path / "sub" / "copy.yaml"
    copy.write_text(recipes.dump(recipe))
    monkeypatch.chdir(tmp_path / "sub")
    assert recipes.load("copy.yaml").schema["zip"].hierarchy.paths(["a"], [1]).rows == (("a", "*"),)


def test_short_and_long_forms_are_the_same():
    short = (
        "columns: {a: quasi, b: {role: quasi, hierarchy: suppress}}\nmeet: [k_anonymity: 5]\nsteps:"
        " [global_recoding]"
    )
    long = """
sfumato: 1
columns:
  a: {role: [quasi]}
  b: {role: quasi, kind: nominal, hierarchy: {suppress: {}}}
meet:
  - k_anonymity: {k: 5}
steps:
  - global_recoding: {}
"""
    assert recipes.parse(short) == recipes.parse(long)


NAMED = """
columns:
  2020: quasi
  007: quasi
  1.10: quasi
  no: quasi
  yes: quasi
  true: quasi
  null: quasi
  2020-01-01: quasi
  0x1F: quasi
  1_000: quasi
  .nan: quasi
"""


def test_column_names_are_taken_as_they_are_written():
    expected = [
        "2020",
        "007",
        "1.10",
        "no",
        "yes",
        "true",
        "null",
        "2020-01-01",
        "0x1F",
        "1_000",
        ".nan",
    ]
    assert list(recipes.parse(NAMED).schema.attributes) == expected
    assert list(recipes.parse("%YAML 1.1\n---" + NAMED).schema.attributes) == expected


def test_postcodes_without_quotes_keep_their_zeros():
    text = (
        "columns:\n  zip: {role: quasi, order: [01, 02, 10], hierarchy: {tree: {nested: {'*': {0:"
        " [01, 02], 1: [10]}}}}}"
    )
    attribute = recipes.parse(text).schema["zip"]
    assert attribute.order == ("01", "02", "10")
    assert attribute.hierarchy.paths(["01", "10"], [1, 1]).rows == (
        ("01", "0", "*"),
        ("10", "1", "*"),
    )


def test_merged_keys_and_shared_parts():
    text = """
columns:
  a: &zip {role: quasi, hierarchy: {mask_right: 5}}
  b: {<<: *zip, missing: wildcard}
  c: *zip
"""
    schema = recipes.parse(text).schema
    assert schema["a"] == schema["c"]
    assert schema["b"] == Attribute(("quasi",), hierarchy=sf.mask_right(5), missing="wildcard")


def test_all_problems_are_told_at_once():
    text = """
sfumato: 2
columns:
  a: {role: quazi}
  b: {kind: nominal}
  c: {role: quasi, kind: numerical}
  d: {role: quasi, hierarchy: {intervalls: [5]}}
  e: {role: quasi, colour: red, size: big}
  f: {role: quasi, hierarchy: {intervals: [5, 7]}}
meet:
  - k_anonymity: {k: 0}
  - k_anonimity: 3
steps:
  - global_recoding: {budget: 2, colour: 1}
promises: []
"""
    with pytest.raises(RecipeError) as refused:
        recipes.parse(text, name="r.yaml")
    told = refused.value.problems
    assert [t.removeprefix("r.yaml: ").split(".")[0] for t in told] == [
        "'promises' is not a section of a recipe",
        "this is recipe version 2, but this sfumato reads version 1; install the sfumato that wrote it, or update the recipe",
        "column 'a': role 'quazi' is not known",
        "column 'b' needs a role, like '{role: quasi}'",
        "column 'c': kind 'numerical' is not known",
        "column 'd', hierarchy: 'intervalls' is not a known hierarchy",
        "column 'e': 'colour' is not known",
        "column 'e': 'size' is not known",
        (
            "column 'f', hierarchy: intervals: widths must be growing multiples of each other; 7 is"
            " not a multiple of the one before"
        ),
        "meet[1]: k_anonymity: k should be greater than or equal to 1",
        "meet[2]: 'k_anonimity' is not a known model",
        (
            "steps[1]: global_recoding: budget should be less than or equal to 1; there is no"
            " parameter 'colour'"
        ),
    ]
    assert all(t.startswith("r.yaml: ") for t in told)
    assert "Did you mean 'quasi'?" in told[2]
    assert "Did you mean 'intervals'?" in told[5]
    assert "Did you mean 'k_anonymity'?" in told[10]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be a mapping"),
        ("5", "must be a mapping"),
        ("[]", "must be a mapping"),
        ("columns: 5", "'columns' must map"),
        ("columns: [a]", "'columns' must map"),
        ("columns: {a: 5}", "column 'a' needs a role"),
        ("columns: {a: {role: 5}}", "role must be a word or a list of words"),
        ("columns: {a: {role: null}}", "role must be a word or a list of words"),
        ("columns: {a: {role: {quasi: 1}}}", "role must be a word or a list of words"),
        ("columns: {a: {role: []}}", "at least one role"),
        ("columns: {a: {role: [quasi, 5]}}", "role '5' is not known"),
        ("columns: {a: {role: [drop, quasi]}}", "cannot be combined"),
        ("columns: {a: {role: quasi, kind: null}}", "kind 'None' is not known"),
        ("columns: {a: {role: quasi, order: abc}}", "order must list"),
        ("columns: {a: {role: quasi, order: {a: b}}}", "order must list"),
        ("columns: {a: {role: quasi, order: [1.10, 2]}}", "order must list"),
        ("columns: {a: {role: quasi, order: [true]}}", "order must list"),
        ("columns: {a: {role: quasi, bounds: 5}}", "bounds must be two numbers"),
        ("columns: {a: {role: quasi, bounds: [1, 2, 3]}}", "bounds must be two numbers"),
        ("columns: {a: {role: quasi, bounds: [low, high]}}", "bounds must be two numbers"),
        ("columns: {a: {role: quasi, bounds: [true, false]}}", "bounds must be two numbers"),
        ("columns: {a: {role: quasi, bounds: [5, 1]}}", "bounds are reversed"),
        ("columns: {a: {role: quasi, bounds: [0, .inf]}}", "bounds must be finite"),
        ("columns: {a: {role: quasi, domain: f}}", "domain must list"),
        ("columns: {a: {role: quasi, domain: []}}", "domain must list"),
        ("columns: {a: {role: quasi, domain: [true]}}", "domain must list"),
        ("columns: {a: {role: quasi, domain: [f, f]}}", "twice"),
        ("columns: {a: {role: quasi, order: [[a]]}}", "order must list"),
        ("columns: {a: {role: quasi, hierarchy: 5}}", "like 'intervals: {widths: [5, 10]}'"),
        ("columns: {a: {role: quasi, hierarchy: {}}}", "expected one name"),
        ("columns: {a: {role: quasi, hierarchy: {tree: 5}}}", "nested should be a mapping"),
        (
            "columns: {a: {role: quasi, hierarchy: {table: {rows: [[a, x], [a, y]]}}}}",
            "two different labels",
        ),
        ("columns: {? [a] : quasi}", "a column name must be text"),
        ("columns: {a: quasi, a: keep}", "duplicate key"),
        ("columns: {1: quasi, '1': keep}", "duplicate key"),
        ("meet: 5", "'meet' must be a list"),
        ("meet: {k_anonymity: 5}", "'meet' must be a list"),
        ("meet: k_anonymity", "'meet' must be a list"),
        ("meet: [5]", "like 'k_anonymity: {k: 5}'"),
        ("meet: [{k_anonymity: 5, b: 2}]", "expected one name"),
        ("meet: [k_anonymity]", "k must be given"),
        ("meet: [{k_anonymity: {k: true}}]", "k should be a number, not true or false"),
        ("meet: [{k_anonymity: {k: five}}]", "k should be a whole number"),
        ("meet: [{k_anonymity: {kk: 5}}]", "there is no parameter 'kk'"),
        (
            "steps: [{global_recoding: {budget: true}}]",
            "budget should be a number, not true or false",
        ),
        ("steps: [{global_recoding: {budget: .nan}}]", "budget should be"),
        (
            "steps: [{global_recoding: {suppress: no}}]",
            "suppress should be 'tuple', 'attribute', 'cell' or 'none'",
        ),
        ("steps: [{global_recoding: 0.5}]", "suppress should be"),
        ("steps: [5]", "like 'global_recoding: {budget: 0.02}'"),
        ("sfumato: true", "recipe version True"),
        ("sfumato: '1'", "recipe version '1'"),
        ("limits: {marketer_rsk: 0.1}", "Did you mean 'marketer_risk'?"),
        ("limits: {marketer_risk: true}", "marketer_risk must be a number"),
        ("limits: {marketer_risk: -1}", "marketer_risk must be a number of zero or more"),
        ("limits: 5", "'limits' must map"),
        ("5: 6", "is not a recipe: it has none of the sections"),
        ("{sfumato: 1, 5: 6}", "'5' is not a section of a recipe"),
    ],
)
def test_wrong_recipes(text, told):
    with pytest.raises(RecipeError) as refused:
        recipes.parse(text)
    assert told in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "a: b: c",
        "---\na: 1\n---\nb: 2",
        "!!python/object/apply:os.system ['true']",
        "a: !!bool maybe",
        "a: !!int many",
        "a: !unknown b",
        "x: 2001-99-99",
        "x: " + "1" * 6000,
        "? {a: b}\n: c",
        "x: [1, 2",
        "x: *nowhere",
        "\t- tabs",
        "%YAML 9.9\n---\na: 1",
    ],
)
def test_what_is_no_yaml(text):
    with pytest.raises(RecipeError, match=r"not valid YAML|no part of a recipe"):
        recipes.parse(text)


def test_errors_name_the_line():
    with pytest.raises(RecipeError, match=r"r\.yaml, line 3"):
        recipes.parse("columns:\n  a: quasi\n  b: c: d\n", name="r.yaml")


@pytest.mark.parametrize(
    "text", ["&a [*a]", "columns: &a {b: *a}", "meet: &a [*a]", "meet: [&a {k_anonymity: *a}]"]
)
def test_recipes_that_contain_themselves(text):
    with pytest.raises(RecipeError, match="expands through aliases"):
        recipes.parse(text)


def test_a_recipe_that_grows_a_billionfold_is_refused_at_once():
    lines = ["t0: &t0 [a, b]"] + [
        f"t{i}: &t{i} {{p{i}: *t{i - 1}, q{i}: *t{i - 1}}}" for i in range(1, 31)
    ]
    text = "columns:\n  c: {role: quasi, hierarchy: {tree: {nested: {'*': *t30}}}}\n"
    started = time.process_time()
    with pytest.raises(RecipeError, match="expands through aliases"):
        recipes.parse("\n".join(lines) + "\n" + text)
    assert time.process_time() - started < 5


@given(st.text(max_size=60))
@settings(max_examples=100)
def test_any_text_is_a_recipe_or_a_recipe_error(text):
    with contextlib.suppress(RecipeError):
        recipes.parse(text)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.slow
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "sfumato": ANY,
            "columns": (
                ANY
                | st.dictionaries(
                    TEXT,
                    ANY
                    | st.fixed_dictionaries(
                        {"role": ANY}, optional=dict.fromkeys(recipes.COLUMN_KEYS[1:], ANY)
                    ),
                )
            ),
            "meet": ANY | st.lists(st.fixed_dictionaries({"k_anonymity": ANY})),
            "steps": ANY | st.lists(st.fixed_dictionaries({"global_recoding": ANY})),
            "limits": ANY,
        },
    )
)
@settings(max_examples=80)
def test_any_data_is_a_recipe_or_a_recipe_error(document):
    with contextlib.suppress(RecipeError):
        recipe = recipes.from_dict(document)
        assert recipes.from_dict(recipes.to_dict(recipe)) == recipe


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(RecipeError, match="cannot read the recipe"):
        recipes.load(tmp_path / "none.yaml")
    with pytest.raises(RecipeError, match="cannot read the recipe"):
        recipes.load(tmp_path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("columns: {größe: quasi}".encode("latin-1"))
    with pytest.raises(RecipeError, match="not UTF-8"):
        recipes.load(latin)
    large = tmp_path / "large.yaml"
    with large.open("wb") as file:
        file.truncate(recipes.MAX_BYTES + 1)
    with pytest.raises(RecipeError, match="larger than 16 MB"):
        recipes.load(large)


def test_a_byte_order_mark_is_no_part_of_the_recipe(tmp_path):
    file = tmp_path / "bom.yaml"
    file.write_text("columns: {a: quasi}", encoding="utf-8-sig")
    assert recipes.load(file).schema.quasi == ("a",)
    assert recipes.load(file).base == tmp_path
