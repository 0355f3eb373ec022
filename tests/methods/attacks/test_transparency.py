"""Transparency attacks: sound, stronger than linking blindly, and helpless where the method gives
nothing away.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.methods.attacks.linkage.distance_linkage import DistanceLinkage
from sfumato.methods.attacks.transparency import Transparency
from sfumato.methods.steps.masking.noise import AddNoise
from sfumato.methods.steps.swapping.pram import Pram
from sfumato.methods.steps.swapping.rank_swap import RankSwap
from sfumato.release.intruders import intruder_from

COLUMNS = tuple("abcdef")


def people(rows, columns=6, seed=0):
    """Six correlated columns, as in the simulation that the worked numbers come from."""
    draw = np.random.default_rng(seed)
    common = draw.normal(size=(rows, 1))
    values = 0.5 * common + draw.normal(size=(rows, columns))
    frame = pl.DataFrame({name: values[:, i] for i, name in enumerate(COLUMNS[:columns])})
    return Table(frame).with_roles(quasi=frame.columns)


def attacked(table, *steps, seed=1, shuffle=True):
    released = table
    for place, step in enumerate(steps):
        released = step.apply(released, step.plan(released, Goal(seed=Seed(seed), place=place)))
    if shuffle:
        released = released.take(np.random.default_rng(seed).permutation(len(released)))
    pair = TablePair.of(table, released)
    return Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)), tuple(steps))


@pytest.mark.parametrize("p", [0.02, 0.1, 0.2])
def test_rank_swapping_with_known_p_is_sound(p):
    # ALGORITHMS 4.1 (G15): the true record is always inside
    found = Transparency().attack(attacked(people(400), RankSwap(COLUMNS, p=p)))
    assert found.details["contained"] == 1.0
    assert found.value >= found.details["expected_by_candidates"] - 1e-12


def test_narrow_windows_single_out_and_wide_ones_do_not():
    # as in the simulation of ALGORITHMS 4.1 (N = 400, 6 columns): all at p = 2 %, most at 10 %,
    # fewer at 20 and 40 %
    shares = [
        Transparency()
        .attack(attacked(people(400), RankSwap(COLUMNS, p=p)))
        .details["correct_singletons"]
        for p in (0.02, 0.1, 0.2, 0.4)
    ]
    assert shares[0] > 0.95 and shares[1] > 0.6 and 0.1 < shares[2] < 0.6 and shares[3] < 0.01


@pytest.mark.slow
def test_variants_without_a_hard_window_give_no_clue():
    for variant in ("p_distribution", "p_buckets"):
        scene = attacked(people(100), RankSwap(COLUMNS, p=0.1, variant=variant))
        assert "is not implemented" in Transparency().applies(scene)


tables = st.integers(3, 40).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz")), min_size=n, max_size=n)
)


@settings(max_examples=25)
@given(tables, st.floats(0, 1), st.integers(0, 9))
def test_soundness_with_ties_and_missing(rows, p, seed):
    frame = pl.DataFrame({"n": [a if a else None for a, _ in rows], "c": [b for _, b in rows]})
    table = Table(frame).with_roles(quasi=["n", "c"])
    if frame["n"].null_count() == len(rows):
        return
    steps = (RankSwap(["n"], p=p), Pram(["c"], retain=0.7, invariant="none"))
    scene = attacked(table, *steps, seed=seed)
    if Transparency().applies(scene) is None:
        assert Transparency().attack(scene).details["contained"] == 1.0


@pytest.mark.slow
def test_individual_ranking_is_found_and_sound():
    step = sf.Microaggregate(COLUMNS, k=3, method="individual_ranking")
    found = Transparency().attack(attacked(people(300), step))
    assert (
        found.details["contained"] == 1.0 and found.value > 0.95
    )  # ALGORITHMS 4.2: fully re-identified


def test_rank_swapping_with_ties_is_never_weaker_than_plain_linkage():
    # values that tie: all ranks of a window alike were .22 where plain linkage had .47
    draw = np.random.default_rng(0)
    frame = pl.DataFrame({c: draw.poisson(4, 400).astype(float) for c in "abcde"})
    scene = attacked(Table(frame).with_roles(quasi=frame.columns), RankSwap(tuple("abcde"), p=0.1))
    found, plain = Transparency().attack(scene), DistanceLinkage().attack(scene)
    assert found.value >= plain.value - 1e-12 and found.details["guess"] == "nearest"
    assert found.details["contained"] == 1.0


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=3, max_size=25),
    st.floats(0, 1),
    st.integers(0, 9),
)
def test_knowing_the_method_never_links_less(rows, p, seed):
    frame = pl.DataFrame({"a": [float(a) for a, _ in rows], "b": [float(b) for _, b in rows]})
    scene = attacked(
        Table(frame).with_roles(quasi=["a", "b"]), RankSwap(["a", "b"], p=p), seed=seed
    )
    if Transparency().applies(scene) is None:
        assert Transparency().attack(scene).value >= DistanceLinkage().attack(scene).value - 1e-9


def test_blocks_of_microaggregation_are_intersected():
    # ALGORITHMS 4.2: 6 columns as 2 blocks of 3, k = 5: 64 % unique and correct; each block alone
    # keeps five apart
    steps = (sf.Microaggregate(COLUMNS[:3], k=5), sf.Microaggregate(COLUMNS[3:], k=5))
    scene = attacked(people(400), *steps)
    found = Transparency().attack(scene)
    sets, own = by_blocks(scene, (COLUMNS[:3], COLUMNS[3:]))
    assert found.details["correct_singletons"] == np.mean(
        [s == {o} for s, o in zip(sets, own, strict=True)]
    )
    assert 0.55 < found.details["correct_singletons"] < 0.75
    assert found.value >= DistanceLinkage().attack(scene).value - 1e-9


def by_blocks(scene, blocks):
    """Per person the released records with the nearest centre in each block (in most blocks), and
    the own record, by loops.
    """
    original, released = scene.pair.original.frame, scene.pair.released.frame
    place = {int(row): i for i, row in enumerate(scene.pair.rows)}
    votes = np.zeros((len(original), len(released)))
    for block in blocks:
        x, y = original.select(block).to_numpy(), released.select(block).to_numpy()
        for i in range(len(x)):
            far = (((x[i] - y) / y.std(axis=0, ddof=1)) ** 2).sum(axis=1)
            votes[i] += np.isclose(far, far.min(), rtol=1e-9, atol=1e-9)
    truth = scene.intruder.truth
    return [set(np.flatnonzero(votes[t] == votes[t].max()).tolist()) for t in truth], [
        place[int(t)] for t in truth
    ]


@pytest.mark.slow
def test_one_block_keeps_k_apart():
    step = sf.Microaggregate(COLUMNS, k=5, method="mdav")
    found = Transparency().attack(attacked(people(300), step))
    assert found.value <= 0.25 and found.details["singletons"] == 0.0


def test_noise_by_likelihood_beats_a_wrong_scale():
    table = people(300)
    little = Transparency().attack(attacked(table, AddNoise(COLUMNS, 0.05)))
    much = Transparency().attack(attacked(table, AddNoise(COLUMNS, 50.0)))
    assert little.value > 0.9 and much.value < 0.1 and little.details["contained"] == 1.0


def test_pram_that_changes_nothing_and_pram_that_forgets_everything():
    frame = pl.DataFrame({c: [str(i % (3 + j)) for i in range(60)] for j, c in enumerate("abc")})
    table = Table(frame).with_roles(quasi=list("abc"))
    kept = Transparency().attack(attacked(table, Pram(list("abc"), retain=0.999, invariant="none")))
    lost = Transparency().attack(
        attacked(
            table,
            Pram(["a"], retain=1 / 3, invariant="none"),
            Pram(["b"], retain=1 / 4, invariant="none"),
            Pram(["c"], retain=1 / 5, invariant="none"),
        )
    )
    assert kept.value > 0.8 and lost.value == pytest.approx(1 / 60)


def test_generalised_releases_are_left_to_other_attacks():
    table = people(20)
    assert "no step was used" in Transparency().applies(attacked(table))


def test_columns_that_two_steps_masked_give_no_clue():
    scene = attacked(people(50, 1), RankSwap(["a"], p=0.1), AddNoise(["a"], 0.1))
    assert "is not implemented" in Transparency().applies(scene)
