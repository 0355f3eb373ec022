"""Recipes: objects to text and back, and everything people write by mistake or on purpose."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.objective import OBJECTIVES
from sfumato.core.recipe import Recipe
from sfumato.core.schema import COMBINABLE, TIME_UNITS, Attribute, Kind, Missing, Role, Schema
from sfumato.errors import ParameterError, RecipeError, ReleaseRefused
from sfumato.methods.hierarchies import HierarchyFile, TableHierarchy
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding

# ----------------------------------------------------------------------------- there and back again

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORD = st.text("abcdé 0123456789:#-*'\"", min_size=1, max_size=6)
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


@st.composite
def rows(draw):
    leaves = draw(st.lists(WORD, min_size=1, max_size=4, unique=True))
    return [(leaf, draw(st.sampled_from(["g", "h"])), "*") for leaf in leaves]


HIERARCHIES = st.one_of(
    st.none(),
    st.just(sf.suppress()),
    st.lists(st.sampled_from([2, 4, 8]), unique=True, min_size=1).map(
        lambda w: sf.intervals(*sorted(w))
    ),
    st.just(sf.intervals(0.5, 5, origin=-1.5, lower=-10, upper=10)),
    st.integers(1, 6).map(sf.mask_right),
    st.integers(1, 6).map(sf.mask_left),
    st.just(sf.dates()),
    st.lists(WORD, min_size=2, max_size=4, unique=True).map(lambda v: sf.tree({"*": {"inner": v}})),
    st.lists(WORD, min_size=2, max_size=4, unique=True).map(lambda v: sf.order(v, 2)),
    st.just(sf.frequency(4, 2, other="rest")),
    rows().map(TableHierarchy),
)
ROLES = st.one_of(
    st.sampled_from(list(Role)).map(lambda r: (r,)),
    st.sets(st.sampled_from(sorted(COMBINABLE)), min_size=2).map(tuple),
)
UNITS = {(Role.TIME,): [None, *TIME_UNITS]}
"""What whole numbers of a column count."""
ATTRIBUTES = ROLES.flatmap(
    lambda roles: st.builds(
        Attribute,
        roles=st.just(roles),
        kind=st.sampled_from(Kind),
        hierarchy=HIERARCHIES,
        missing=st.sampled_from(Missing),
        order=st.one_of(st.none(), st.lists(WORD, min_size=1, max_size=3).map(tuple)),
        unit=st.sampled_from(UNITS.get(roles, [None])),
        bounds=st.one_of(
            st.none(),
            st.tuples(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
            .map(lambda b: (b[0], b[0] + b[1]))
            .filter(lambda b: b[0] < b[1]),
        ),
        domain=st.one_of(st.none(), st.lists(WORD, min_size=1, max_size=3, unique=True).map(tuple)),
    )
)
STEPS = st.builds(
    GlobalRecoding,
    suppress=st.sampled_from(["tuple", "none"]),
    budget=st.floats(0, 1),
    objective=st.sampled_from([o.name for o in OBJECTIVES if not o.labelled]),
    weights=st.dictionaries(TEXT, st.floats(0, 10), max_size=2),
    levels=st.dictionaries(
        TEXT,
        st.one_of(st.integers(0, 5), st.tuples(st.integers(0, 2), st.integers(2, 5))),
        max_size=2,
    ),
)
RECIPES = st.builds(
    Recipe,
    schema=st.dictionaries(TEXT, ATTRIBUTES, max_size=4).map(Schema),
    meet=st.lists(st.integers(1, 10**6).map(KAnonymity), max_size=2).map(tuple),
    steps=st.lists(STEPS, max_size=2).map(tuple),
)


@pytest.mark.slow
@given(RECIPES)
@example(
    Recipe(
        Schema(
            {
                n: Attribute(("quasi",))
                for n in ["no", "yes", "y", "~", "null", "true", "007", "1.10", "1e3"]
            }
        )
    )
)
@example(
    Recipe(
        Schema(
            {
                n: Attribute(("quasi",))
                for n in ["", " ", "a: b", "- a", "#", "<<", "=", "2024-01-01", "\ufeff", "\x85"]
            }
        )
    )
)
def test_recipe_to_text_and_back(recipe):
    assert recipes.parse(recipes.dump(recipe)) == recipe
    assert recipes.from_dict(recipes.to_dict(recipe)) == recipe
    assert recipes.dump(recipes.parse(recipes.dump(recipe))) == recipes.dump(recipe)


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


def test_a_path_outside_the_recipes_folder_still_names_the_same_file():
    recipe = Recipe(
        Schema({"zip": Attribute(("quasi",), hierarchy=HierarchyFile(Path("data/zip.csv")))}),
        base=Path("recipes"),
    )
    again = recipes.parse(recipes.dump(recipe), base="recipes")
    assert os.path.normpath(again.schema["zip"].hierarchy.path) == os.path.normpath("data/zip.csv")
    inside = recipes.to_dict(recipe, base=Path())
    assert inside["columns"]["zip"]["hierarchy"] == {"file": {"path": "data/zip.csv"}}


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


def test_the_certificate_shows_no_values():
    recipe = Recipe(
        Schema(
            {
                "a": Attribute(
                    ("quasi",), hierarchy=sf.tree({"*": {"secret group": ["secret leaf"]}})
                ),
                "b": Attribute(
                    ("quasi",),
                    hierarchy=TableHierarchy([("secret leaf", "*")]),
                    order=("secret low", "secret high"),
                ),
                "c": Attribute(("quasi",), hierarchy=sf.order(["secret low", "secret high"])),
                "d": Attribute(("quasi",), hierarchy=HierarchyFile(Path("secret.csv"))),
                "e": Attribute(("quasi",), hierarchy=sf.intervals(5)),
            }
        )
    )
    shown = str(recipes.public_dict(recipe))
    assert "secret" not in shown
    assert "{'intervals': {'widths': [5]}}" in shown


# --------------------------------------------------------------------------------- names as written

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


# -------------------------------------------------------------------------------------- all at once


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
        "'promises' is no part of a recipe",
        "this is recipe version 2; this sfumato reads version 1",
        "column 'a': role 'quazi' is not known",
        "column 'b' needs a role, like '{role: quasi}'",
        "column 'c': kind 'numerical' is not known",
        "column 'd', hierarchy: 'intervalls' is not a known hierarchy",
        "column 'e': 'colour' is not known",
        "column 'e': 'size' is not known",
        (
            "column 'f', hierarchy: intervals: widths must be growing multiples of each other; 7 is"
            " none of the one before"
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
        ("columns: {a: {role: [drop, quasi]}}", "cannot go together"),
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
        ("limits: {marketer_risk: -1}", "marketer_risk must be a number that is not negative"),
        ("limits: 5", "'limits' must map"),
        ("5: 6", "is no recipe: it has none of its parts"),
        ("{sfumato: 1, 5: 6}", "'5' is no part of a recipe"),
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


def test_limits_are_enforced_from_python_too():
    table = sf.examples.torra()
    with pytest.raises(
        ReleaseRefused, match=r"marketer risk is .*; the recipe allows at most 0\.1"
    ):
        sf.anonymize(table, [KAnonymity(2)], [GlobalRecoding()], limits={"marketer_risk": 0.1})
    with pytest.raises(ParameterError, match="Did you mean 'marketer_risk'"):
        sf.anonymize(table, [KAnonymity(2)], [GlobalRecoding()], limits={"marketer_rsk": 0.1})
    release = sf.anonymize(table, [KAnonymity(2)], [GlobalRecoding()], limits={"marketer_risk": 1})
    assert release.holds and [kept.name for kept in release.limits] == ["marketer_risk"]


def test_errors_name_the_line():
    with pytest.raises(RecipeError, match=r"r\.yaml, line 3"):
        recipes.parse("columns:\n  a: quasi\n  b: c: d\n", name="r.yaml")


@pytest.mark.parametrize(
    "text", ["&a [*a]", "columns: &a {b: *a}", "meet: &a [*a]", "meet: [&a {k_anonymity: *a}]"]
)
def test_recipes_that_contain_themselves(text):
    with pytest.raises(RecipeError, match="repeats itself"):
        recipes.parse(text)


def test_a_recipe_that_grows_a_billionfold_is_refused_at_once():
    lines = ["t0: &t0 [a, b]"] + [
        f"t{i}: &t{i} {{p{i}: *t{i - 1}, q{i}: *t{i - 1}}}" for i in range(1, 31)
    ]
    text = "columns:\n  c: {role: quasi, hierarchy: {tree: {nested: {'*': *t30}}}}\n"
    started = time.process_time()
    with pytest.raises(RecipeError, match="repeats itself"):
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


# -------------------------------------------------------------------------------------------- files


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
