"""Recipes: objects to text and back, and everything people write by mistake or on purpose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.objective import OBJECTIVES
from sfumato.core.recipe import Recipe
from sfumato.core.schema import COMBINABLE, TIME_UNITS, Attribute, Kind, Missing, Role, Schema
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.methods.hierarchies import HierarchyFile, TableHierarchy
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding

# ----------------------------------------------------------------------------- there and back again

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORD = st.text("abcdé 0123456789:#-*'\"", min_size=1, max_size=6)


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


def test_a_path_outside_the_recipes_folder_still_names_the_same_file():
    recipe = Recipe(
        Schema({"zip": Attribute(("quasi",), hierarchy=HierarchyFile(Path("data/zip.csv")))}),
        base=Path("recipes"),
    )
    again = recipes.parse(recipes.dump(recipe), base="recipes")
    assert os.path.normpath(again.schema["zip"].hierarchy.path) == os.path.normpath("data/zip.csv")
    inside = recipes.to_dict(recipe, base=Path())
    assert inside["columns"]["zip"]["hierarchy"] == {"file": {"path": "data/zip.csv"}}


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


# -------------------------------------------------------------------------------------- all at once


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


# -------------------------------------------------------------------------------------------- files
