"""Integral privacy: exact by sums and by listing, sampled, and what is proved."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from sfumato.interfaces.cli import main
from sfumato.results.integral.integral_privacy import lower_limit

VALUES = [3, 3, 4, 5, 7, 8, 8, 10]


# --- worked numbers: section 4.7 of our notes, each counted by listing all sets ---


# --- against listing all sets ---


# --- samples ---


def test_the_limit_holds_as_often_as_it_says():
    """Clopper and Pearson: of a share of 16/56 the limit lies below it in at least 95 % of
    experiments.
    """
    draw = np.random.default_rng(5)
    below = [lower_limit(int(draw.binomial(40, 16 / 56)), 40) <= 16 / 56 for _ in range(2000)]
    assert np.mean(below) >= 0.94
    assert lower_limit(10, 100) == pytest.approx(0.0553, abs=1e-4)  # tables of the binomial


# --- what is told, and what is refused ---


# --- the command ---


@pytest.fixture
def sfumato(monkeypatch, capfd):
    def run(*given):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, given)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def test_the_command(sfumato, tmp_path):
    file = tmp_path / "x.csv"
    pl.DataFrame(
        {"x": VALUES, "y": ["n", "n", "n", "y", "n", "y", "y", "y"], "z": VALUES}
    ).write_csv(file)
    code, text, _ = sfumato(
        "outputs", "stable", file, "--mean", "x", "-k", 3, "--size", 3, "--grid", 1, "--json"
    )
    assert code == 0 and json.loads(text)["result"] == 6.0 and json.loads(text)["proved"] == 5
    assert sfumato("outputs", "stable", file, "--mean", "x", "-k", 30, "--size", 3)[0] == 4
    code, text, _ = sfumato(
        "outputs", "stable", file, "--stump", "y", "--by", "x", "-k", 3, "--size", 4, "--grid", 2
    )
    assert code == 0 and "publish" in text
    code, text, _ = sfumato(
        "outputs",
        "stable",
        file,
        "--tree",
        "y",
        "--by",
        "x",
        "-k",
        2,
        "--size",
        7,
        "--samples",
        40,
        "--seed",
        "5",
        "--depth",
        1,
        "--json",
    )
    assert code in (0, 4) and json.loads(text)["samples"] == 40
    assert (
        sfumato(
            "outputs",
            "stable",
            file,
            "--regression",
            "z",
            "--by",
            "x",
            "-k",
            3,
            "--size",
            3,
            "--known",
            1,
        )[0]
        == 0
    )


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--mean", "x", "--tree", "y"],
        ["--mean", "x", "--by", "y"],
        ["--regression", "x"],
        ["--mean", "x", "--depth", "2"],
        ["--stump", "y", "--by", "x,z"],
        ["--mean", "x", "--known", "0"],
    ],
)
def test_wrong_usage_of_the_command(given, sfumato, tmp_path):
    file = tmp_path / "x.csv"
    pl.DataFrame({"x": VALUES}).write_csv(file)
    code, text, told = sfumato("outputs", "stable", file, "-k", 3, "--size", 3, *given)
    assert code == 2 and not text and told
