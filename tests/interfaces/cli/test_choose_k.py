"""``sfumato explain bucketize --plan``: t-closeness by buckets, before any data are touched."""

from __future__ import annotations

import json

import pytest


def test_tells_what_can_be_built(sfumato):
    done = sfumato("explain", "bucketize", "--plan", "--n", 10000, "--k", 10, "--t", 2.5)
    assert done.code == 0
    assert "3 buckets of 3,333 to 3,334 records" in done.out
    assert "1,000 classes of 10 records" in done.out
    assert "must not be added to a budget" in done.out


def test_as_json_and_from_epsilon(sfumato):
    done = sfumato(
        "explain",
        "bucketize",
        "--plan",
        "--n",
        18,
        "--k",
        6,
        "--epsilon",
        1.3862943611198906,
        "--json",
    )
    found = json.loads(done.out)
    assert (found["buckets"], found["classes"], found["bucket_sizes"]) == (3, 3, [6, 6, 6])
    assert found["t"] == pytest.approx(2)
    assert found["farthest"] == pytest.approx(2)  # table 1 of the paper with N = 18
    assert found["implied_epsilon"]["conditional"]


def test_nothing_fits(sfumato):
    done = sfumato("explain", "bucketize", "--plan", "--n", 5, "--k", 10, "--t", 2)
    assert done.code == 4
    assert "lower k" in done.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--n", 100, "--k", 5),
        ("--n", 100, "--k", 5, "--t", 2, "--epsilon", 1),
        ("--n", 100, "--k", 5, "--t", 1),
        ("--n", 100, "--k", 5, "--epsilon", 0),
        ("--n", 0, "--k", 5, "--t", 2),
        ("--n", 9, "--k", 3, "--t", 2, "--buckets", 4),
    ],
)
def test_wrong_usage(sfumato, arguments):
    done = sfumato("explain", "bucketize", "--plan", *arguments)
    assert done.code == 2
    assert done.err.startswith("error")
