"""Models of noisy counts as mbi fits them, in a process of their own: `make test-services` has the
libraries.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.methods.steps.synthesis.model_fits import ModelWorker
from sfumato.methods.steps.synthesis.noisy_counts import NoisyMarginal
from tests.oracles.private_synthesis import WholeTable

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(
        importlib.util.find_spec("mbi") is None or importlib.util.find_spec("jax") is None,
        reason="mbi and jax are not installed: pip install 'sfumato[synthetic]'",
    ),
]


def measured():
    """Noisy counts of three columns, one of whose cells was merged from four, and of two pairs."""
    rng = np.random.default_rng(4)
    joint = rng.dirichlet(np.ones(24)).reshape(2, 3, 4) * 1000
    noise = lambda *shape: rng.normal(0, 5, shape)  # noqa: E731
    return [
        NoisyMarginal(("a",), joint.sum(axis=(1, 2)) + noise(2), 5.0),
        NoisyMarginal(
            ("b",), joint.sum(axis=(0, 2)) + noise(3), 5.0, merged=np.array([1.0, 1.0, 4.0])
        ),
        NoisyMarginal(("c", "a"), (joint.sum(axis=1).T + noise(4, 2)).ravel(), 5.0),
        NoisyMarginal(("b", "c"), (joint.sum(axis=0) + noise(3, 4)).ravel(), 5.0),
    ]


def test_the_library_finds_the_model_that_a_naive_search_finds():
    sizes = {"a": 2, "b": 3, "c": 4}
    cliques = [("a",), ("b", "c"), ("a", "c"), ("a", "b"), ("c", "b", "a")]
    naive = WholeTable(sizes)
    naive.fit(measured(), 1000.0)
    with ModelWorker(sizes) as fitter:
        fitter.fit(measured(), 1000.0)
        for ours, theirs in zip(naive.marginals(cliques), fitter.marginals(cliques), strict=True):
            assert ours == pytest.approx(theirs, abs=0.5)
        assert fitter.model_sizes([("a", "b")], [("b", "c"), ("a", "c")]) == pytest.approx(
            [8 * 18 / 2**20, 8 * 14 / 2**20]
        )
        drawn = [fitter.draw(500, seed) for seed in (1, 1, 2)]
        assert all((drawn[0][name] == drawn[1][name]).all() for name in sizes)
        assert any((drawn[0][name] != drawn[2][name]).any() for name in sizes)
        assert np.bincount(drawn[0]["a"]) == pytest.approx(naive.marginals([("a",)])[0] / 2, abs=3)


def people(rows=1500):
    rng = np.random.default_rng(1)
    town = rng.integers(0, 3, rows)
    frame = pl.DataFrame(
        {
            "town": np.array(["a", "b", "c"])[town],
            "work": np.array(["p", "q", "r"])[(town + (rng.random(rows) < 0.2)) % 3],
            "age": rng.integers(0, 40, rows),
        }
    )
    schema = {
        "town": sf.Attribute(("quasi",), domain=("a", "b", "c")),
        "work": sf.Attribute(("sensitive",), domain=("p", "q", "r")),
        "age": sf.Attribute(("quasi",), kind="numeric", bounds=(0, 39)),
    }
    return sf.Table(frame, sf.Schema(schema))


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_pairs_survive(method):
    table = people()
    plan = sf.SynthesizePrivately(epsilon=20.0, delta=1e-6, bins=4, method=method).plan(
        table, Goal(seed=Seed(1))
    )
    counted = [t.group_by("town", "work").len() for t in (table.to_polars(), plan.table)]
    both = counted[0].join(counted[1], on=["town", "work"], how="full").fill_null(0)
    assert (both["len"].cast(pl.Int64) - both["len_right"].cast(pl.Int64)).abs().sum() < 0.08 * 1500


RECIPE = """
sfumato: 1
columns:
  town: {role: quasi, domain: [a, b, c]}
  work: {role: sensitive, domain: [p, q, r]}
  age: {role: quasi, kind: numeric, bounds: [0, 39]}
steps:
  - synthesize_privately: {epsilon: 2, delta: 1.0e-6, bins: 4}
"""


def command(*arguments):
    return [sys.executable, "-m", "sfumato", *map(str, arguments)]


def test_from_a_file_to_a_verified_release(tmp_path):
    people().to_polars().write_csv(tmp_path / "people.csv")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    made = command(
        "run", tmp_path / "people.csv", "-r", tmp_path / "recipe.yaml", "-o", tmp_path / "out"
    )
    subprocess.run(made, check=True, capture_output=True)
    told = json.loads((tmp_path / "out" / "share" / "certificate.json").read_text())
    assert (told["differential_privacy"]["epsilon"], told["differential_privacy"]["certified"]) == (
        2.0,
        True,
    )
    verified = subprocess.run(
        command("verify", tmp_path / "out" / "share"), capture_output=True, text=True, check=False
    )
    assert verified.returncode == 7 and "ε = 2, δ = 1e-06" in verified.stdout


@pytest.mark.skipif(os.name != "posix", reason="processes are counted by ps")
def test_ctrl_c_ends_the_process_that_fits(tmp_path):
    people().to_polars().write_csv(tmp_path / "people.csv")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    made = command(
        "run", tmp_path / "people.csv", "-r", tmp_path / "recipe.yaml", "-o", tmp_path / "out"
    )
    running = subprocess.Popen(made, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for _ in range(2400):
        if children := children_of(running.pid):
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=240)
    assert children and running.returncode not in (0, 3) and "Traceback" not in said
    for _ in range(2400):
        if not any(os.path.exists(f"/proc/{child}") for child in children):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the process that fits is still there")
    assert not (tmp_path / "out").exists()


def children_of(pid):
    found = subprocess.run(
        ["pgrep", "-P", str(pid), "-f", "worker.py"], capture_output=True, text=True, check=False
    )
    return [int(child) for child in found.stdout.split()]
