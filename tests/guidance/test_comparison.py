"""Comparing candidates: grids, the front, resuming, what is written, bad input."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.pair import TablePair, levels_of
from sfumato.core.step import Goal
from sfumato.errors import OutputError, ParameterError, RecipeError
from sfumato.guidance.comparison import (
    DONE,
    CandidateOutcome,
    Comparison,
    candidates_from,
    expanded,
    on_one_map,
)
from sfumato.methods.utility.information_loss import Loss
from sfumato.release.report.risk_utility import (
    describe_front,
    describe_risk_axis,
    describe_utility_axis,
)
from tests.random_tables import tables

COLUMNS = """sfumato: 1
columns:
  sex: {role: quasi, hierarchy: {suppress: {}}}
  illness: {role: quasi, hierarchy: {suppress: {}}}
"""
GRID = (
    COLUMNS
    + "meet:\n  - k_anonymity: {k: {vary: [1, 2, 4]}}\nsteps:\n  - global_recoding: {budget: 0}\n"
)
SWAP = COLUMNS + "steps:\n  - pram: {columns: [illness], retain: 0.5}\n"
IMPOSSIBLE = COLUMNS + "meet:\n  - k_anonymity: {k: 50}\nsteps:\n  - global_recoding: {budget: 0}\n"


@pytest.fixture
def files(tmp_path):
    for name, text in (("grid", GRID), ("swap", SWAP), ("impossible", IMPOSSIBLE)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_grids_expand_in_order():
    document = {
        "meet": [{"k_anonymity": {"k": {"vary": [3, 5]}}}],
        "steps": [{"pram": {"retain": {"vary": [0.1, 0.2]}}}],
    }
    assert [told for told, _ in expanded(document)] == [
        "k=3, retain=0.1",
        "k=3, retain=0.2",
        "k=5, retain=0.1",
        "k=5, retain=0.2",
    ]
    assert [d["meet"][0]["k_anonymity"]["k"] for _, d in expanded(document)] == [3, 3, 5, 5]
    assert document["meet"][0]["k_anonymity"]["k"] == {"vary": [3, 5]}


@given(table=tables(most_columns=3, most_rows=20, fewest_rows=2), data=st.data())
def test_coarser_is_never_better_on_the_axis_that_is_usual(table, data):
    """Higher levels and more dropped records, each by itself or both, never lower the loss."""
    people = table.dataset()
    tops = {c: place["top"] for c, place in recoded(people, {})[1]["levels"].items()}
    fine = {c: data.draw(st.integers(0, top)) for c, top in tops.items()}
    coarse = {c: data.draw(st.integers(fine[c], top)) for c, top in tops.items()}
    few = data.draw(st.sets(st.integers(0, len(people) - 1), min_size=1))
    fewer = data.draw(st.sets(st.sampled_from(sorted(few)), min_size=1))
    losses = []
    for levels, kept in ((fine, few), (coarse, few), (coarse, fewer)):
        released, told = recoded(people, levels)
        pair = TablePair.of(people, released.take(np.array(sorted(kept))), levels_of([told]))
        losses.append(Loss().measure(pair).value)
    assert losses[0] <= losses[1] + 1e-12 and losses[1] <= losses[2] + 1e-12


def recoded(people, levels):
    step = sf.GlobalRecoding(levels={c: (level, level) for c, level in levels.items()}, budget=1)
    plan = step.plan(people, Goal(models=(sf.KAnonymity(1),)))
    return step.apply(people, plan), plan.describe()


def test_the_usual_axis_is_one_that_all_candidates_have(files):
    table = examples.illnesses()
    recoding = sf.compare(
        table, [files / "grid.yaml"], seed=1, options=sf.CompareOptions(workers=1)
    )
    assert recoding.utility == "loss"
    losses = [o.utilities["loss"] for o in recoding.outcomes]
    assert losses == sorted(losses), "a larger k never looks better"
    mixed = sf.compare(
        table,
        [files / "grid.yaml", files / "swap.yaml", files / "impossible.yaml"],
        seed=1,
        options=sf.CompareOptions(workers=1),
    )
    assert mixed.utility == "squared_error"
    assert "no other candidate has less linkage and less loss (LM)" in describe_front(
        recoding.to_dict()
    )
    assert "never looks better by it" in describe_utility_axis(recoding.to_dict())
    assert "a coarser release can look better by it" in describe_utility_axis(mixed.to_dict())


def test_the_notebook_shows_verdict_map_and_candidates(files):
    found = sf.compare(
        examples.illnesses(), [files / "grid.yaml"], seed=1, options=sf.CompareOptions(workers=1)
    )
    shown = found._repr_html_()
    assert describe_front(found.to_dict()) in shown and "<svg" in shown and "grid k=2" in shown
    assert "Loss (LM)" in shown


def test_generalization_and_masking_on_one_map(files):
    found = sf.compare(
        examples.illnesses(),
        [files / "grid.yaml", files / "swap.yaml", files / "impossible.yaml"],
        seed=1,
        options=sf.CompareOptions(workers=1),
    )
    assert [o.name for o in found.outcomes] == [
        "grid k=1",
        "grid k=2",
        "grid k=4",
        "swap",
        "impossible",
    ]
    assert [o.holds for o in found.outcomes] == [True, True, True, True, False]
    assert found.outcomes[-1].reason and not found.outcomes[-1].made
    one, _, four = found.outcomes[:3]
    assert (
        one.risks["linkage"] > four.risks["linkage"]
        and one.utilities["squared_error"] < four.utilities["squared_error"]
    )
    assert one in found.front and found.to_frame().height == 5
    assert "●" in str(found)


@pytest.mark.slow
def test_workers_give_the_same(files):
    table = examples.illnesses()
    runs = [
        sf.compare(table, [files / "grid.yaml"], seed=1, options=sf.CompareOptions(workers=workers))
        for workers in (1, 2)
    ]
    plain = [
        [{k: v for k, v in o.items() if k != "seconds"} for o in r.to_dict()["candidates"]]
        for r in runs
    ]
    assert plain[0] == plain[1]


def test_an_interrupted_run_goes_on(files, monkeypatch):
    table = examples.illnesses()
    first = sf.compare(
        table, [files / "grid.yaml"], seed=1, options=sf.CompareOptions(workers=1), remember=files
    )
    assert len(list((files / DONE).iterdir())) == 3

    def refuse(*args):
        raise AssertionError("it was finished before")

    monkeypatch.setattr("sfumato.guidance.comparison.try_candidate", refuse)
    again = sf.compare(
        table, [files / "grid.yaml"], seed=1, options=sf.CompareOptions(workers=1), remember=files
    )
    assert again.to_dict() == first.to_dict()
    with pytest.raises(AssertionError, match="finished before"):
        sf.compare(
            table,
            [files / "grid.yaml"],
            seed=2,
            options=sf.CompareOptions(workers=1),
            remember=files,
        )


def test_what_is_written(files, tmp_path):
    found = sf.compare(
        examples.illnesses(), [files / "grid.yaml"], seed=1, options=sf.CompareOptions(workers=1)
    )
    folder = found.write(tmp_path / "out")
    names = {f.name for f in folder.iterdir()}
    assert names == {"comparison.json", "comparison.csv", "comparison.html", "map.svg"}
    assert json.loads((folder / "comparison.json").read_text())["front"] == [
        o.name for o in found.front
    ]
    page = (folder / "comparison.html").read_text()
    assert "grid k=2" in page and "http" not in page.replace("http-equiv", "")
    with pytest.raises(OutputError, match="already holds"):
        found.write(folder)
    found.write(folder, force=True, pictures=True)
    assert (folder / "map.png").read_bytes()[:4] == b"\x89PNG"
    found.write(folder, force=True)
    assert not (folder / "map.png").exists()


def outcome(name, risk, loss, higher=()):
    return CandidateOutcome(
        name, True, "", 1, 0, (), {"r": risk}, {"u": loss}, higher, {"steps": []}, 0.0
    )


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=10),
    st.booleans(),
)
def test_the_front_against_its_definition(places, higher):
    outcomes = tuple(
        outcome(str(i), r, u, ("u",) if higher else ()) for i, (r, u) in enumerate(places)
    )
    front = Comparison("x", outcomes, "r", "u").front
    sign = -1 if higher else 1

    def beats(a, b):
        left, right = (a[0], sign * a[1]), (b[0], sign * b[1])
        return left != right and left[0] <= right[0] and left[1] <= right[1]

    expected = {p for p in places if not any(beats(q, p) for q in places)}
    assert {(o.risks["r"], o.utilities["u"]) for o in front} == expected


def test_axes_must_have_been_measured():
    found = Comparison("x", (outcome("a", 0, 0),), "r", "u")
    with pytest.raises(ParameterError, match="was not measured"):
        found.with_axes(risk="linkage")


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        ("=3", "varies nothing"),
        ("k_anonymity.k", "varies nothing"),
        ("mondrian.k=3", "no model or step 'mondrian'"),
    ],
)
def test_wrong_variations(files, vary, told):
    with pytest.raises(ParameterError, match=told):
        candidates_from([files / "impossible.yaml"], [vary])


def test_a_field_that_only_one_has_needs_no_owner(files):
    found = candidates_from([files / "impossible.yaml"], ["k=2,3", "budget=0,0.5"])
    assert found == candidates_from(
        [files / "impossible.yaml"], ["k_anonymity.k=2,3", "global_recoding.budget=0,0.5"]
    )
    with pytest.raises(
        ParameterError, match=r"no model or step of impossible.yaml has a field 'retain'"
    ):
        candidates_from([files / "impossible.yaml"], ["retain=0.5"])


def test_a_field_that_several_have_asks_for_the_owner(files):
    text = (
        COLUMNS
        + "meet: [{k_anonymity: {k: 2}}, {p_sensitive: {sensitive: illness, p: 2, k: 2}}]\nsteps:"
        " [mondrian]\n"
    )
    (files / "both.yaml").write_text(text)
    with pytest.raises(ParameterError, match=r"write k_anonymity\.k or p_sensitive\.k"):
        candidates_from([files / "both.yaml"], ["k=2,3"])


def test_variations_from_outside(files):
    found = candidates_from(
        [files / "impossible.yaml"], ["k_anonymity.k=2,3", "global_recoding.budget=0,0.5"]
    )
    assert [c.name for c in found] == [
        f"impossible k={k}, budget={b}" for k, b in ((2, 0), (2, 0.5), (3, 0), (3, 0.5))
    ]
    assert [c.recipe.meet[0].k for c in found] == [2, 2, 3, 3]


def test_bad_grids(files):
    (files / "bad.yaml").write_text(COLUMNS + "meet:\n  - k_anonymity: {k: {vary: 3}}\n")
    with pytest.raises(RecipeError, match="vary needs a list"):
        candidates_from([files / "bad.yaml"])
    with pytest.raises(ParameterError, match="nothing to compare"):
        sf.compare(examples.illnesses(), {})
    (files / "many.yaml").write_text(
        COLUMNS + f"meet:\n  - k_anonymity: {{k: {{vary: {list(range(1, 700))}}}}}\n"
    )
    with pytest.raises(ParameterError, match="more than 500"):
        candidates_from([files / "many.yaml"])


def measured_on(name, risks, *, drawn=False, intervals=None):
    return CandidateOutcome(
        name,
        True,
        "",
        1,
        0,
        (),
        risks,
        {"loss": 0.1},
        (),
        {"steps": []},
        0.0,
        intervals or {},
        drawn,
    )


def test_the_risk_of_the_map_is_one_that_asks_the_same_of_all():
    """Singling out starts from a row, which is somebody's or nobody's: it is taken where nothing
    else was measured on all.
    """
    every = {"singling_out": 0.1, "inference": 0.2, "membership": 0.3, "linkability": 0.4}
    recoded = measured_on("recoded", every | {"linkage": 0.5})
    for expected in ("linkability", "membership", "inference", "singling_out"):
        found = on_one_map("t", [recoded, measured_on("drawn", every, drawn=True)])
        assert found.risk == expected
        told = describe_risk_axis(found.to_dict())
        assert "Linkage is not an axis here: 1 candidate is synthetic" in told
        assert ("for synthetic data it says less" in told) == (expected == "singling_out")
        every = {name: value for name, value in every.items() if name != expected}
    assert on_one_map("t", [recoded]).risk == "linkage"
    assert "not an axis" not in describe_risk_axis(on_one_map("t", [recoded]).to_dict())


def test_risks_of_a_sample_are_told_with_their_interval(tmp_path):
    sampled = measured_on("k=5", {"linkage": 0.25}, intervals={"linkage": (0.125, 0.5)})
    found = on_one_map("t", [sampled, measured_on("k=6", {"linkage": 0.2})])
    assert re.search(r"k=5 +25 % +12.5 % to 50 %", str(found)) and re.search(
        r"k=6 +20 % +–", str(found)
    )
    assert found.to_frame()["risk_high"].to_list() == [0.5, None]
    assert (
        "Rates come from a sample: it does not distinguish candidates whose 95"
        in describe_risk_axis(found.to_dict())
    )
    page = (found.write(tmp_path / "out") / "comparison.html").read_text()
    assert (
        "12.5 % to 50 %" in page
        and "Thin upright lines" in page
        and "Rates come from a sample: it does not distinguish candidates whose 95" in page
    )
    assert (
        CandidateOutcome.from_dict(json.loads(json.dumps(found.to_dict()["candidates"][0])))
        == sampled
    )
