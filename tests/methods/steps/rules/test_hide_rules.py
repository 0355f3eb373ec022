"""hide_rules: cells are suppressed until the rules are hidden; nothing becomes untrue."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.evidence import gather
from sfumato.core.pair import TablePair
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import in_all_frames, multiset

SCHEMA = Schema(
    {
        "a": Attribute((Role.QUASI,)),
        "b": Attribute((Role.KEEP,)),
        "c": Attribute((Role.SENSITIVE,)),
        "n": Attribute((Role.KEEP,), Kind.NUMERIC),
    }
)
cells = st.sampled_from(["x", "y", None])
rows = st.lists(st.tuples(cells, cells, cells, st.integers(0, 2)), min_size=1, max_size=14)
RULES = {
    "one": ["a=x -> c=y"],
    "all values": ["a -> c"],
    "two": ["a=x, b -> c=x", "n=1 -> a"],
    "sets": ["a=x, c=y"],
}


def table(content):
    types = {"a": pl.String, "b": pl.String, "c": pl.String, "n": pl.Int64}
    return Table(pl.DataFrame(content, schema=types, orient="row"), SCHEMA)


def done(step, dataset):
    plan = step.plan(dataset, Goal())
    return plan, step.apply(dataset, plan)


@given(
    rows, st.sampled_from(sorted(RULES)), st.sampled_from(["dsr", "2a", "exact"]), st.integers(1, 3)
)
def test_rules_are_hidden_and_values_stay_true(content, rules, method, least):
    dataset = table(content)
    plan, made = done(sf.HideRules(RULES[rules], least, 0.5, method=method), dataset)
    model = sf.HiddenRules(RULES[rules], least, 0.5)
    assert model.judge(gather(made, [model])).holds
    gone = 0
    for name in dataset.columns:
        for old, new in zip(dataset.column(name), made.column(name), strict=True):
            assert new is None or new == old
            gone += new is None and old is not None
    assert (
        sum(plan.public["suppressed_cells"].values())
        == gone
        == plan.owner["side_effects"]["changed_items"]
    )


@given(rows, st.sampled_from(sorted(RULES)))
def test_exact_never_has_more_side_effects(content, rules):
    dataset = table(content)
    told = {}
    for method in ("dsr", "2a", "exact"):
        effects = done(sf.HideRules(RULES[rules], 2, 0.5, method=method), dataset)[0].owner[
            "side_effects"
        ]
        told[method] = effects["lost"] + effects["ghosts"], effects["changed_items"]
    if rules != "sets":  # there the exact way counts itemsets that are lost, not rules
        assert told["exact"] <= min(told.values())


def test_neither_frame_nor_order_decides():
    homes = sf.examples.survey(rows=200, seed=3)
    step = sf.HideRules(["sex=female -> health=good"], 5, 0.2)
    found = {kind: multiset(done(step, made)[1]) for kind, made in in_all_frames(homes).items()}
    assert all(one == found["polars"] for one in found.values())


def test_side_effects_as_the_metric_measures_them():
    homes = sf.examples.survey(rows=200, seed=3)
    rules = ["sex=female -> health=good"]
    plan, made = done(sf.HideRules(rules, 5, 0.2), homes)
    told = plan.owner["side_effects"]
    found = sf.RuleSideEffects(5, 0.2, hidden=rules).measure(TablePair.of(homes, made))
    assert found.raw == told["lost"] + told["ghosts"] > 0
    assert "0 of 1 hidden rules can still be found" in found.meaning


def test_quasi_identifiers_with_gaps_count_as_wildcards():
    dataset = table([("x", "x", "y", 0)] * 4 + [("y", "x", "x", 0)] * 2)
    step = sf.HideRules("c=y -> a=x", 2, 0.5)
    _, made = done(step, dataset)
    assert made.column("a").null_count() == 3
    assert (
        made.schema["a"].missing
        == "wildcard"
        == step.released_schema(SCHEMA, dataset.columns)["a"].missing
    )
    assert made.schema["c"].missing == "category"


def test_a_release_whose_rules_stay_with_the_owner(tmp_path):
    homes = sf.examples.survey(rows=150, seed=5)
    rules = ["sex=female -> health=good"]
    release = sf.anonymize(
        homes,
        [sf.KAnonymity(1), sf.HiddenRules(rules, 5, 0.25)],
        [sf.HideRules(rules, 5, 0.25, method="exact", among=["sex", "region"])],
        seed=1,
    )
    assert all(release.verdicts)
    release.write(tmp_path / "out")
    certificate = (tmp_path / "out" / "share" / "certificate.json").read_text()
    assert (
        "health=good" not in certificate and json.loads(certificate)["plan"][0]["suppressed_cells"]
    )
    assert sf.verify(tmp_path / "out" / "share").headline.endswith(
        "1 of 2 promises needs the original"
    )
    shown = sf.check(homes, release.recipe)
    assert not shown[1].holds and "1 of 1 can be found" in shown[1].sentence


def test_what_is_refused():
    with pytest.raises(
        ParameterError, match="isl adds items to records, which in a table would be false values"
    ):
        sf.HideRules("a -> c", 2, 0.5, method="isl")
    with pytest.raises(ParameterError, match="effort is for the method exact"):
        sf.HideRules("a -> c", 2, 0.5, effort=5)
    dataset = table([("x", "x", "y", 0)])
    with pytest.raises(SchemaError, match="no column 'd'"):
        sf.HideRules("d -> c", 2, 0.5).plan(dataset, Goal())
    with pytest.raises(SchemaError, match="has no column 'e'"):
        sf.HideRules("a -> c", 2, 0.5, among=["e"]).plan(dataset, Goal())
    with pytest.raises(SchemaError, match="no rows"):
        sf.HideRules("a -> c", 2, 0.5).plan(table([]), Goal())
