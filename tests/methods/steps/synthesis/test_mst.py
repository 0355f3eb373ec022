"""MST: noisy counts of every column and of a tree of pairs."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.budget import rho_of_budget
from sfumato.methods.formulas import exact_draws
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.steps.synthesis import mst
from sfumato.methods.steps.synthesis.noisy_counts import NoisyMarginal, PrivateTable
from tests.methods.steps.synthesis.test_private_synthesis import PLENTY
from tests.oracles.private_queries import clopper_pearson
from tests.oracles.private_synthesis import spanning_tree


def transcripts(rows, runs, rho):
    """What MST learns of a table, many times: a noisy cell, all that tells of cells 1, and the
    first pair it chooses.
    """
    found = []
    for _ in range(runs):
        codes = {name: np.array(column) for name, column in rows.items()}
        table = PrivateTable(codes, {"a": 2, "b": 2, "c": 2}, rho=rho, rows=1, draws=Draws())
        chosen = mst.choose_and_measure(table)
        all_together = sum(one.counts[-1] / one.sigma**2 for one in chosen.measured)
        found.append(
            (
                chosen.measured[2].counts[-1],
                all_together,
                float(chosen.measured[3].clique == ("a", "b")),
            )
        )
    return np.array(found)


def proved(one, other, delta, error):
    """The largest ε that sets of the form {value ≥ t} prove, by Clopper and Pearson."""
    best, half = 0.0, len(one) // 2
    for column, sign in itertools.product(range(one.shape[1]), (1, -1)):
        for more, less in ((one, other), (other, one)):
            x, y = sign * more[:, column], sign * less[:, column]
            limits = np.unique(
                np.quantile(np.concatenate([x[:half], y[:half]]), np.linspace(0, 1, 30))
            )
            shares = [
                (np.mean(x[:half] >= t) + 0.02) / (np.mean(y[:half] >= t) + 0.02) for t in limits
            ]
            t = limits[int(np.argmax(shares))]
            low = clopper_pearson(int(np.sum(x[half:] >= t)), len(x) - half, error / 24)[0] - delta
            high = clopper_pearson(int(np.sum(y[half:] >= t)), len(y) - half, error / 24)[1]
            best = max(best, math.log(low / high) if low > 0 else 0.0)
    return best


@pytest.mark.slow
def test_audit_of_the_whole_synthesiser(monkeypatch):
    """All that MST looks at, on tables that differ by one extreme row; wrong with probability 1e-6
    were the claim exact.

    Models and drawn rows are functions of what is compared here, so they tell no more. Who spends
    two hundred times as much is found out.
    """
    for mechanism in ("gaussian", "exponential"):  # made once, drawn from often
        made = getattr(exact_draws, mechanism)
        monkeypatch.setattr(exact_draws, mechanism, functools.cache(made))
    few = {"a": [0, 0, 1, 1] * 40, "b": [0, 1, 0, 1] * 40, "c": [0, 1, 1, 0] * 40}
    more = {name: [*column, 1] for name, column in few.items()}
    claim, delta = 1.0, 1e-2
    rho = Fraction(rho_of_budget(claim, delta))
    assert proved(transcripts(few, 400, rho), transcripts(more, 400, rho), delta, 1e-6) <= claim
    broken = 200 * rho
    assert (
        proved(transcripts(few, 400, broken), transcripts(more, 400, broken), delta, 1e-6) > claim
    )


def test_rare_values_are_merged_and_parted_again():
    single = NoisyMarginal(("a",), np.array([50.0, 1.0, 70.0, -2.0, 4.0]), 2.0)
    merging = mst.Merging.of(single)
    assert merging.cell.tolist() == [0, 2, 1, 2, 2] and merging.size == 3
    merged = merging.applied(single)
    assert merged.counts.tolist() == [50.0, 70.0, 3.0] and merged.merged.tolist() == [1, 1, 3]
    back = merging.parted(np.array([2] * 3000 + [0, 1]), np.random.default_rng(1))
    assert back[-2:].tolist() == [0, 2] and np.bincount(back[:3000])[[1, 3, 4]].min() > 880
    assert mst.Merging.of(NoisyMarginal(("a",), np.array([50.0, 1.0]), 2.0)).cell.tolist() == [0, 1]


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=30, max_size=60))
def test_without_noise_the_tree_is_the_largest_spanning_tree(rows):
    codes = dict(zip("abcd", np.array(rows).T, strict=True))
    table = PrivateTable(codes, dict.fromkeys("abcd", 3), rho=PLENTY, rows=1, draws=Draws())
    alone = {n: np.bincount(c, minlength=3).astype(float) for n, c in codes.items()}

    def score(pair):
        joint = np.zeros((3, 3))
        np.add.at(joint, (codes[pair[0]], codes[pair[1]]), 1)
        return np.abs(joint - np.outer(alone[pair[0]], alone[pair[1]]) / len(rows)).sum()

    edges = mst.tree_of_pairs(table, alone, float(len(rows)), Fraction(10**7))
    assert len(edges) == 3
    best = sum(map(score, spanning_tree(score, "abcd")))
    assert sum(map(score, edges)) == pytest.approx(best, abs=0.01)
