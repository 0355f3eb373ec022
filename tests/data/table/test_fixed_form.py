"""What is released with a certified ε looks as the recipe says: counterexamples in which one record
decided.
"""

from __future__ import annotations

import inspect
import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.hierarchy import ValueByValue
from sfumato.core.schema import Attribute, Schema
from sfumato.core.step import Effect
from sfumato.core.yaml_text import read_yaml
from sfumato.data.table.fixed_form import in_fixed_form
from sfumato.errors import RecipeError, SchemaError
from sfumato.guidance.profiling.yaml_text import recipe_text
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.release.epsilon_certification import certified
from sfumato.release.signatures import digest_of
from tests.neighbouring_tables import CHANGES

SAFE = sf.SafeAnonymize(1.0, k=2)
ONE = sf.KAnonymity(1)


@pytest.fixture
def everybody(monkeypatch):
    """Everybody is sampled: what is left out is left out for its class."""
    monkeypatch.setattr(Draws, "kept", lambda self, count, share: np.ones(count, dtype=bool))


def recipe_of(*steps, **column):
    return sf.Recipe(
        Schema({"age": Attribute(("quasi",), **{"kind": "numeric", **column})}), (ONE,), steps
    )


def released(recipe, ages, **options):
    release = sf.run(
        pl.DataFrame({"age": ages}, strict=False),
        recipe,
        options=sf.RunOptions(shuffle=False),
        **options,
    )
    assert release.certified.holds
    return release.data["age"]


AGES = [20, 20, 21, 21, 30, 30]
CASES = {
    "a: label style": (
        recipe_of(sf.PersonalLevels({"age": 1}), SAFE, hierarchy=sf.intervals(10, 20)),
        ["20-29"] * 4 + ["30-39"] * 2,
    ),
    "b: rounding": (
        recipe_of(sf.Round(["age"], base=2.5), SAFE),
        [20.0, 20.0, 20.0, 20.0, 30.0, 30.0],
    ),
    "c: coding": (
        recipe_of(sf.TopBottomCoding(["age"], top=21.5), SAFE),
        [20.0, 20.0, 21.0, 21.0, 21.5, 21.5],
    ),
    "d: nothing before": (recipe_of(SAFE), [20.0, 20.0, 21.0, 21.0, 30.0, 30.0]),
}


@pytest.mark.parametrize(
    "odd", [20.5, 21.4, None, float("nan"), float("inf"), -7.25, 1e300, "old", ""]
)
@pytest.mark.parametrize("name", CASES)
def test_one_record_decides_no_type_and_no_label(name, odd, everybody):
    recipe, expected = CASES[name]
    alone = released(recipe, AGES)
    beside = released(recipe, [*AGES, odd] if not isinstance(odd, str) else [*map(str, AGES), odd])
    assert alone.dtype == beside.dtype
    assert sorted(alone.to_list()) == sorted(expected)
    common = sorted(value for value in beside.to_list() if value in expected)
    assert len(common) >= len(expected) and set(common) == set(expected)


def test_a_pandas_column_with_one_gap_stays_what_it_is(everybody):
    pd = pytest.importorskip("pandas")
    recipe = CASES["d: nothing before"][0]
    types = []
    for ages in (AGES, [*AGES, None], [*AGES, "old"]):
        release = sf.run(pd.DataFrame({"age": ages}), recipe, options=sf.RunOptions(shuffle=False))
        types.append(release.released.dtype("age"))
    assert types == [pl.Float64()] * 3


# (e) a second source is never post-processing.


def test_values_of_a_second_table_are_accounted_for_by_nobody():
    schema = Schema({"age": Attribute(("quasi",), kind="numeric"), "sex": Attribute(("quasi",))})
    found = certified(
        sf.Recipe(schema, (ONE,), (SAFE, sf.SwapAcross(["age"], match=["sex"]))),
        ["age", "sex"],
        schema,
    )
    assert not found.holds and "reads a second table" in found.reasons[0]
    assert not found.after(1)


def test_identifiers_that_come_back_as_pseudonyms_are_accounted_for_by_nobody():
    schema = Schema({"name": Attribute(("drop",)), "age": Attribute(("quasi",), kind="numeric")})
    coming = sf.Pseudonymize(["name"], method="counter")
    found = certified(sf.Recipe(schema, (ONE,), (SAFE, coming)), ["age", "name"], schema)
    assert not found.holds and any("name of the original" in reason for reason in found.reasons)


def test_every_step_after_an_accounted_one_reads_its_output_only():
    """Steps that read more say so; a new one that takes a second table must, too."""
    beside = {
        name
        for name, cls in registry.family("steps").items()
        if cls.second_source is not sf.Round.second_source
    }
    assert beside == {"swap_across", "pseudonymize"}
    for name, cls in registry.family("steps").items():
        reads = "goal.population" in inspect.getsource(
            cls
        ) and "count_needed" not in inspect.getsource(cls)
        assert not reads or name in beside, name


# A step that looks, wherever it stands before the accounted one.


@pytest.mark.parametrize("name", sorted(registry.family("steps")))
def test_a_step_that_looks_before_the_accounted_one_breaks_it(name):
    step = registry.variants(registry.family("steps")[name])[:1]
    schema = Schema({"secret": Attribute(("quasi",), kind="numeric")})
    for one in step:
        if one.account(schema).effect is Effect.LOOKS:
            assert not certified(sf.Recipe(schema, (ONE,), (one, SAFE)), ["secret"], schema).holds


# Values outside of what is declared.


def test_what_is_not_declared_is_mapped_by_a_rule_and_never_an_error(everybody):
    schema = Schema(
        {
            "age": Attribute(("quasi",), kind="numeric", bounds=(0, 99)),
            "sex": Attribute(("quasi",), domain=("f", "m")),
            "stage": Attribute(("quasi",), kind="ordinal", order=("low", "high")),
            "ill": Attribute(
                ("quasi",), hierarchy=sf.tree({"*": {"heart": ["angina"], "lung": ["asthma"]}})
            ),
            "day": Attribute(("quasi",), kind="date"),
        }
    )
    frame = pl.DataFrame(
        {
            "day": ["2024-05-31 10:00:00", "2024-05-31"],
            "age": ["120", "-1"],
            "sex": ["f", "x"],
            "stage": ["low", "none"],
            "ill": ["asthma", "unheard of"],
        }
    )
    fixed = in_fixed_form(sf.read(frame), sf.Recipe(schema, (ONE,), (SAFE,)))
    assert fixed.columns == list(schema.attributes), "the order of the recipe"
    assert fixed.to_polars().rows() == [
        (99.0, "f", "low", "asthma", "2024-05-31"),
        (0.0, None, None, None, "2024-05-31"),
    ]


def test_an_unlisted_policy_asks_for_most(everybody):
    schema = Schema(
        {"who": Attribute(("drop",)), "zip": Attribute(("quasi",), hierarchy=sf.mask_right(3))}
    )
    step = sf.PersonalLevels(own={"a": {}, "b": {"zip": 2}}, by="who")
    frame = pl.DataFrame({"who": ["a", "a", "b", "b", "c", None], "zip": ["537"] * 6})
    release = sf.run(
        frame, sf.Recipe(schema, (ONE,), (step, SAFE)), options=sf.RunOptions(shuffle=False)
    )
    assert sorted(release.data["zip"]) == ["5**", "5**", "5**", "5**", "537", "537"]


def test_a_level_that_no_hierarchy_has_is_refused_without_looking():
    recipe = recipe_of(
        sf.SafeAnonymize(1.0, k=2, levels={"age": 9}), hierarchy=sf.intervals(10, 20)
    )
    for ages in (AGES, [None, None]):
        with pytest.raises(SchemaError, match="levels 0 to 3; level 9"):
            sf.run(pl.DataFrame({"age": ages}, schema={"age": pl.Int64}), recipe)


def test_labels_of_intervals_by_themselves():
    whole, fine = (
        ValueByValue(sf.intervals(10, 20, lower=0, upper=99)),
        ValueByValue(sf.intervals(2.5, 5)),
    )
    assert [whole.label(v, 1) for v in ("20", "20.5", "29.99", "150", "-3", "old", None)] == [
        "20-29",
        "20-29",
        "20-29",
        "90-99",
        "0-9",
        None,
        None,
    ]
    assert [whole.label(v, 3) for v in ("20", "old", None)] == ["*", "*", "*"]
    assert [fine.label(v, 1) for v in ("20", "21.3")] == ["[20, 22.5)", "[20, 22.5)"]


# The layout of a file.


def test_a_layout_that_was_guessed_does_not_come_back(tmp_path, everybody):
    file = tmp_path / "people.csv"
    file.write_text("age;sex\n" + "20;f\n30;m\n" * 3, encoding="latin-1")
    schema = Schema({"sex": Attribute(("quasi",)), "age": Attribute(("quasi",), kind="numeric")})
    release = sf.run(str(file), sf.Recipe(schema, (ONE,), (SAFE,)))
    release.write(tmp_path / "out")
    lines = (tmp_path / "out" / "share" / "data.csv").read_text().splitlines()
    assert lines[0] == "sex,age" and set(lines[1:]) == {"f,20.0", "m,30.0"}


# A recipe that was proposed by looking at the table.


def test_a_proposed_recipe_certifies_nothing(tmp_path):
    text = recipe_text(sf.profile(pl.DataFrame({"sex": ["f", "m"] * 5})))
    assert recipes.parse(text).proposed_from == "profile"
    schema = Schema({"age": Attribute(("quasi",), kind="numeric")})
    recipe = sf.Recipe(schema, (ONE,), (SAFE,), proposed_from="recommend")
    assert recipes.parse(recipes.dump(recipe)) == recipe
    release = sf.run(pl.DataFrame({"age": AGES}), recipe)
    found = release.certified
    assert not found.holds and "proposed by sfumato recommend" in found.reasons[0]
    release.write(tmp_path)
    words = json.loads((tmp_path / "owner" / "release.json").read_text())["words"][
        "differential_privacy"
    ]
    assert words["certified"] is False and "proposed_from" in words["not_certified_because"][0]
    with pytest.raises(RecipeError, match="proposed_from"):
        recipes.parse("{columns: {age: quasi}, proposed_from: nobody}")


# verify recomputes an ε, whatever else is promised.


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["differential_privacy"].update(epsilon=0.01),
        lambda c: (
            c["recipe"]["steps"].insert(0, {"sample": {"fraction": 0.5}})
            or c["plan"].insert(0, {"step": "sample"})
        ),
        lambda c: c["plan"][0].update(certified=False),
        lambda c: c["recipe"].update(proposed_from="profile"),
    ],
    ids=["another epsilon", "a step that looks", "the plan does not say so", "proposed"],
)
def test_verify_recomputes_the_epsilon_beside_promises(change, tmp_path):
    sf.run(pl.DataFrame({"age": AGES * 5}), recipe_of(SAFE)).write(tmp_path)
    assert not [claim for claim in sf.verify(tmp_path / "share").claims if claim.status == "fails"]
    file = tmp_path / "share" / "certificate.json"
    certificate = json.loads(file.read_text())
    change(certificate)
    certificate["digest"] = digest_of(certificate)
    file.write_text(json.dumps(certificate))
    claims = {
        claim.name: claim.status
        for claim in sf.verify(tmp_path / "share").claims
        if claim.name.startswith("ε")
    }
    assert list(claims.values()) == ["fails"]


def test_verify_compares_with_the_original_as_the_recipe_takes_it_in(tmp_path):
    """A promise beside the original (which certifies no ε) is judged on the same values when it was
    made and when it is verified.
    """
    schema = Schema(
        {
            "age": Attribute(("quasi",), kind="numeric"),
            "ill": Attribute(("sensitive",), domain=("flu", "cold")),
        }
    )
    frame = pl.DataFrame({"age": [20] * 40, "ill": ["flu", "cold"] * 19 + ["odd", None]})
    recipe = sf.Recipe(schema, (sf.TCloseness("ill", t=0.3),), (SAFE,))
    release = sf.run(frame, recipe)
    release.write(tmp_path)
    found = sf.verify(tmp_path / "share", original=sf.read(frame), owner=tmp_path / "owner")
    assert not [claim for claim in found.claims if claim.status == "fails"], found


# Graphs: ε is about one row of the edge list, and a row that is no tie tells nothing either.

GRAPH = """
shape: graph
columns: {a: {role: from}, b: {role: to}}
people: {columns: {id: {role: person}}}
meet: [{k_degree: {k: 1}}]
steps: [{private_degrees: {epsilon: 1.0}}]
"""


def shared_of(ties, folder, source, target):
    """What is shared of a graph, but for digests and moments."""
    folder.mkdir()
    frames = {
        "ties": pl.DataFrame(ties, schema=["a", "b"], orient="row", strict=False),
        "people": pl.DataFrame({"id": [1, 2, 3, 4]}),
    }
    if source != "frame":
        for name, frame in frames.items():
            getattr(frame, f"write_{source}")(folder / f"{name}.{source}")
        frames = {name: folder / f"{name}.{source}" for name in frames}
    recipe = recipes.any_from_dict(read_yaml(GRAPH, "graph"))
    release = sf.run(
        frames["ties"],
        recipe,
        options=sf.RunOptions(people=frames["people"], format=target, shuffle=False),
        seconds=0,
    )
    release.write(folder / "out")
    files = sorted(file for file in (folder / "out" / "share").iterdir())
    return {
        f.name: f.read_bytes() if f.suffix == ".parquet" else CHANGES.sub("", f.read_text())
        for f in files
    }


@pytest.mark.parametrize("source", ["frame", "csv", "parquet"])
@pytest.mark.parametrize("target", ["csv", "parquet"])
def test_a_row_that_is_no_tie_changes_nothing(source, target, tmp_path, monkeypatch):
    monkeypatch.setattr(
        Draws, "laplace", lambda self, scale, count: np.zeros(count, dtype=np.int64)
    )
    ties = [(1, 2), (2, 3), (3, 4)]
    expected = shared_of(ties, tmp_path / "usual", source, target)
    odd = [
        (1, 1),
        (2, 1),
        (1, None),
        (None, 2),
        (1, 99),
        ("x", "y"),
        (1, 2.5),
        (None, None),
        (1, " 2"),
        ("", 1),
    ]
    for place, row in enumerate(odd):
        assert shared_of([*ties, row], tmp_path / str(place), source, target) == expected, row
