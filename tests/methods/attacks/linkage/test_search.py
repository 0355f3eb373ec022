"""The nearest record to each record, with ties shared out, of as many people as the work of an
attack is enough for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.attacks.linkage.distance_linkage import DistanceLinkage
from tests.methods.attacks.linkage_scenes import ORDER, numbers, scene_of
from tests.oracles import linkage as oracle

CELLS = {
    "n": st.one_of(
        st.integers(0, 9).map(str), st.sampled_from(["0..3", "2..9", "4..5", "*"]), st.none()
    ),
    "o": st.one_of(
        st.sampled_from(ORDER), st.sampled_from(["low..middle", "middle..top", "*"]), st.none()
    ),
    "c": st.one_of(
        st.sampled_from("abcd"), st.sampled_from(["{a, b}", "{b, c, d}", "*"]), st.none()
    ),
}


VALUES = {
    "n": st.one_of(st.integers(0, 9).map(str), st.none()),
    "o": st.one_of(st.sampled_from(ORDER), st.none()),
    "c": st.one_of(st.sampled_from("abcd"), st.none()),
}


@st.composite
def mixed(draw):
    names = draw(st.lists(st.sampled_from(["n1", "n2", "o1", "c1", "c2"]), min_size=1, unique=True))
    size, known, released = (
        draw(st.integers(1, 9)),
        draw(st.integers(1, 9)),
        draw(st.integers(1, 9)),
    )
    full = {"n": [str(v) for v in range(10)], "o": list(ORDER), "c": list("abcd")}
    original = {
        n: (
            full[n[0]]
            + [None]
            + draw(st.lists(VALUES[n[0]], min_size=size, max_size=size))
            + [None] * (10 - len(full[n[0]]))
        )
        for n in names
    }
    rows = draw(st.lists(st.integers(0, size), min_size=released, max_size=released))
    truth = draw(st.lists(st.integers(-1, size), min_size=known, max_size=known))
    truth[0] = rows[0]
    register = {n: draw(st.lists(VALUES[n[0]], min_size=known, max_size=known)) for n in names}
    release = {n: draw(st.lists(CELLS[n[0]], min_size=released, max_size=released)) for n in names}
    return original, release, rows, register, truth


@pytest.mark.slow
@given(
    data=mixed(),
    ranges=st.sampled_from(["nearest", "mean"]),
    weight=st.sampled_from([0.0, 0.3, 1.0, 4.0]),
)
def test_both_directions_against_the_definition(data, ranges, weight):
    original, release, rows, register, truth = data
    weights = {next(iter(register)): weight}
    table = oracle.distance_table(register, release, mean=ranges == "mean", weights=weights)
    forwards, backwards = oracle.credit(table, truth, rows)
    scene = scene_of(original, release, rows=rows, intruder=register, truth=truth)
    found = (
        DistanceLinkage(direction="both", ranges=ranges, weights=weights)
        .attack(scene)
        .details["directions"]
    )
    assert found["intruder"]["value"] == pytest.approx(forwards)
    assert found["released"]["value"] == pytest.approx(backwards)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(20, 150),
    ranges=st.sampled_from(["nearest", "mean"]),
)
def test_the_tree_and_the_lists_find_what_a_full_table_does(seed, rows, ranges):
    rng = np.random.default_rng(seed)
    original = {
        "n1": rng.integers(0, 40, rows).astype(str),
        "n2": rng.normal(size=rows).round(int(rng.integers(0, 3))).astype(str),
        "o1": rng.choice(ORDER, rows),
        "c1": rng.integers(0, 30, rows).astype(str),
        "c2": rng.choice(list("ab"), rows),
    }
    names = rng.permutation(list(original))[: rng.integers(1, 6)]
    register = {n: original[n] for n in names}
    release = {
        n: np.where(rng.random(rows) < 0.3, rng.permutation(original[n]), original[n])
        for n in names
    }
    if "n1" in release:
        wide = rng.random(rows) < 0.4
        low = release["n1"].astype(int) // 5 * 5
        release["n1"] = np.where(wide, [f"{v}..{v + 4}" for v in low], release["n1"]).astype(object)
    for name in names:
        release[name] = np.where(rng.random(rows) < 0.05, "*", release[name]).astype(object)
    weights = {names[0]: 3.0}
    table = oracle.distance_table(register, release, mean=ranges == "mean", weights=weights)
    forwards, backwards = oracle.credit(table, range(rows), range(rows))
    scene = scene_of(original, release, intruder=register)
    found = (
        DistanceLinkage(direction="both", ranges=ranges, weights=weights)
        .attack(scene)
        .details["directions"]
    )
    assert found["intruder"]["value"] == pytest.approx(forwards)
    assert found["released"]["value"] == pytest.approx(backwards)


def test_where_everybody_is_too_much_work_a_sample_is_linked_and_said_to_be_one():
    x, _ = numbers(1, 1000, 2)
    finding = DistanceLinkage().attack(dataclasses.replace(scene_of(x, x), work=1))
    assert finding.value == 1.0 and finding.trials == 20
    low, high = finding.interval
    assert 0.8 < low < high == pytest.approx(1.0)
    assert "random sample of 20, to limit the work" in finding.sentence
