"""Association rules of baskets: hidden as promised, in four ways, and what it costs."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.data import Evidence, Pair
from sfumato.core.step import Goal
from sfumato.data.baskets.rules import HiddenItemRules, HideItemRules, ItemRuleSideEffects
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.interfaces.cli import main
from tests.data.baskets.ten import BASKETS, people_of, sets_of
from tests.oracles import rules as oracle

# abc, abc, abc, ab, a, ac: b → c has support 3 and confidence 3/4
SMALL = [{"a", "b", "c"}] * 3 + [{"a", "b"}, {"a"}, {"a", "c"}]


def done(people, promise, **how):
    step = HideItemRules(**how)
    plan = step.plan(people, Goal(models=(promise,)))
    return plan, step.apply(people, plan)


@given(BASKETS, st.integers(1, 3), st.sampled_from(["0.25", "0.5", "0.7", "1.0"]))
def test_judged_as_the_definition_says(baskets, least, confidence):
    people = people_of([*baskets, {"a1"}])
    holds = HiddenItemRules("a1, b1 -> c1", least, float(confidence)).judge(Evidence(people)).holds
    assert holds != oracle.found(
        [*baskets, {"a1"}], ("a1", "b1"), ("c1",), least, Fraction(confidence)
    )


@settings(max_examples=30)
@given(BASKETS, st.sampled_from(["dsr", "2a", "exact"]), st.integers(1, 2))
def test_rules_are_hidden_by_taking_items_out(baskets, method, least):
    people = people_of([*baskets, {"a1", "a2"}, {"a1", "b1"}, {"c2"}])
    promise = HiddenItemRules(["a1 -> b1", "a2, b1 -> c1", "a1, a2"], least, 0.5)
    plan, released = done(people, promise, method=method)
    assert promise.judge(Evidence(released)).holds
    before, after = sets_of(people), sets_of(released)
    assert all(new <= old for old, new in zip(before, after, strict=True))
    assert plan.describe()["occurrences_deleted"] == sum(map(len, before)) - sum(map(len, after))


@pytest.mark.parametrize(
    ("method", "lost", "ghosts"), [("dsr", 5, 0), ("isl", 2, 1), ("exact", 2, 0)]
)
def test_worked_example(method, lost, ghosts):
    """The numbers of the same example in tests/rules, at support 2 and confidence 7/10."""
    people = people_of(SMALL, hierarchy=False)
    plan, released = done(people, HiddenItemRules("b -> c", 2, 0.7), method=method)
    told = plan.effort()["promise 1"]
    assert (told["lost"], told["ghosts"], told["still_found"]) == (lost, ghosts, 0)
    measured = ItemRuleSideEffects(support=2 / 6, confidence=0.7, hidden="b -> c").measure(
        Pair(people, released)
    )
    assert (
        measured.raw == lost + ghosts
        and "0 of 1 hidden rules can still be found" in measured.meaning
    )
    assert bool(plan.describe()["occurrences_added"]) == (method == "isl")


def test_isl_that_has_no_basket_to_put_into_fails_by_name():
    people = people_of([{"a1", "b1"}] * 4)
    with pytest.raises(Unsatisfiable, match="does not reach"):
        done(people, HiddenItemRules("a1 -> b1", 2, 0.5), method="isl")


def test_the_order_of_people_does_not_matter():
    people = examples.purchases(150, items=30)
    names = people.labels
    most = np.argsort(-people.sets.supports)[:2]
    promise = HiddenItemRules(f"{names[most[0]]} -> {names[most[1]]}", 2, 0.05)
    straight, turned = (
        done(one, promise)[1] for one in (people, people.shuffled(np.random.default_rng(2)))
    )
    assert sorted(map(sorted, sets_of(straight))) == sorted(map(sorted, sets_of(turned)))


def test_what_is_refused():
    with pytest.raises(ParameterError, match="effort belongs to the method exact"):
        HideItemRules(effort=3)
    with pytest.raises(ParameterError, match="rule 1"):
        HiddenItemRules("bread ->", 2, 0.5)
    structured = HiddenItemRules([{"if": ["bread, white"], "then": ["wine -> red"]}], 2, 0.5)
    assert [item.column for item in structured.parsed[0].items] == ["bread, white", "wine -> red"]


def test_from_file_to_verified_release(tmp_path, monkeypatch, capfd):
    file, recipe, out = tmp_path / "bought.csv", tmp_path / "bought.yaml", tmp_path / "out"
    rows = [
        (f"p{person}", item) for person, basket in enumerate(SMALL * 3) for item in sorted(basket)
    ]
    pl.DataFrame(rows, schema=["who", "what"], orient="row").write_csv(file)
    recipe.write_text(
        "sfumato: 1\nshape: baskets\ncolumns:\n  who: {role: person}\n  what: {role: item}\nmeet:\n-"
        " hidden_rules: {rules: ['b -> c'], support: 4, confidence: 0.7}\nsteps:\n- hide_rules:"
        " {method: exact}\n"
    )

    def sfumato(*given):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, given)])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code or 0, capfd.readouterr()

    code, said = sfumato(
        "run", file, "-r", recipe, "-o", out, "--seed", "c0ffee11d15ea5ec0ffee11d15ea5e77", "--json"
    )
    assert code == 0, said.err
    certificate = (out / "share" / "certificate.json").read_text()
    assert "b -> c" not in certificate and json.loads(certificate)["plan"][0]["method"] == "exact"
    assert sfumato("verify", out / "share")[0] == 7, (
        "whoever does not know the rules cannot tell that they are hidden"
    )
    assert sfumato("verify", out / "share", "--original", file, "--owner", out / "owner")[0] == 0
    assert sfumato("check", out / "share" / "data.csv", "-r", recipe)[0] == 0
    assert sfumato("check", file, "-r", recipe)[0] == 1


def test_the_same_names_serve_both_shapes():
    assert sf.HiddenRules.name == HiddenItemRules.name and sf.HideRules.name == HideItemRules.name
