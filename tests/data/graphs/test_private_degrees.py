"""Private degrees: a graph drawn from nothing but noisy degrees, so that no single tie can be
learnt."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato import examples
from sfumato.core.attack import NothingToAttack, Scene
from sfumato.core.randomness import Seed
from sfumato.core.step import Effect, Goal
from sfumato.data.graphs.private_degrees import SENSITIVITY, PrivateDegrees
from sfumato.errors import SchemaError
from tests.data.graphs.graphs import TIES, edges, graph
from tests.data.graphs.test_candidates import ATTACKS
from tests.data.graphs.test_means import GOAL, made
from tests.oracles.closeness_and_privacy import epsilon_from_below


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_nobody_is_found_among_the_drawn(attack):
    karate = examples.karate()
    scene = Scene.of(karate, PrivateDegrees(1.0).plan(karate, Goal(seed=Seed(1))).graph)
    assert isinstance(attack.applies(scene), NothingToAttack)


def test_a_tie_changes_the_sorted_degrees_by_two():
    """All graphs on five vertices, all ties: the L1 distance of sorted degrees is at most 2, and is
    attained.
    """
    pairs = list(itertools.combinations(range(5), 2))
    worst = 0
    for chosen in range(1 << len(pairs)):
        degrees = np.zeros(5, dtype=np.int64)
        for bit, (u, v) in enumerate(pairs):
            if chosen >> bit & 1:
                degrees[[u, v]] += 1
        before = np.sort(degrees)
        for bit, (u, v) in enumerate(pairs):
            if not chosen >> bit & 1:
                after = degrees.copy()
                after[[u, v]] += 1
                worst = max(worst, int(np.abs(np.sort(after) - before).sum()))
    assert worst == SENSITIVITY


def test_private_degrees_draw_from_the_system_and_are_accounted():
    step, karate = PrivateDegrees(1.0), examples.karate()
    drawn = [made(step, karate, Goal(seed=Seed.fresh())) for _ in range(3)]
    assert len({tuple(np.sort(graph_.ties.degrees).tolist()) for graph_ in drawn}) > 1
    assert not PrivateDegrees.replayable
    account = step.account(TIES)
    assert (account.effect, account.epsilon, account.neighbours) == (
        Effect.ACCOUNTED,
        1.0,
        "add_remove",
    )
    told = step.plan(karate, Goal(seed=Seed.fresh())).describe()
    assert told["certified"] and told["epsilon"] == 1.0 and "one tie" in told["protects"]
    assert (drawn[0].origin == -1).all()


def test_a_rehearsal_is_repeated_and_certifies_nothing():
    step, karate = PrivateDegrees(1.0), examples.karate()
    assert edges(made(step, karate)) == edges(made(step, karate))
    plan = step.plan(karate, GOAL)
    assert plan.describe()["epsilon"] is None and "rehearsal" in plan.warnings[0]


def test_large_epsilon_keeps_the_degrees():
    karate = examples.karate()
    assert sorted(made(PrivateDegrees(100.0), karate, Goal()).ties.degrees) == sorted(
        karate.ties.degrees
    )


def test_noise_has_the_spread_it_should_have():
    # The sum of n sorted noisy degrees before clean-up has variance 2n·q/(1−q)², q = e^(−ε/2):
    # drawn degrees of a regular graph scatter around theirs
    ring = graph(
        600, [(v, (v + 1) % 600) for v in range(600)] + [(v, (v + 7) % 600) for v in range(600)]
    )
    total = [
        int(made(PrivateDegrees(1.0), ring, Goal(seed=Seed(s))).ties.degrees.sum())
        for s in range(5)
    ]
    q = np.exp(-0.5)
    spread = np.sqrt(2 * 600 * q) / (1 - q)
    assert all(
        abs(t - 2400) < 6 * spread + 120 for t in total
    )  # six standard deviations, and what rounding moves
    assert len(set(total)) > 1


def test_audit_of_private_degrees_never_exceeds_the_claim():
    """Graphs that differ by one tie, 1,500 runs each; wrong with probability 1e-4 were ε exactly as
    claimed.
    """
    claim, runs = 1.5, 1500
    without, tied = graph(2, []), graph(2, [(0, 1)])
    hits = []
    for people in (without, tied):
        drawn = (made(PrivateDegrees(claim), people, Goal(seed=Seed.fresh())) for _ in range(runs))
        hits.append(sum(bool(one.ties.degrees.sum()) for one in drawn))
    strongest = [
        epsilon_from_below(hits[1], hits[0], runs),
        epsilon_from_below(runs - hits[0], runs - hits[1], runs),
    ]
    assert max(strongest) <= claim
    assert max(strongest) > 0.2 * claim  # the audit tells the graphs apart: it could fail


def test_people_who_are_nobody_have_no_columns():
    people = graph(3, [(0, 1)], {"sex": ["f", "m", "f"]}, {"keep": "sex"})
    with pytest.raises(SchemaError, match=r"of people's own cannot be released"):
        made(PrivateDegrees(1.0), people)
