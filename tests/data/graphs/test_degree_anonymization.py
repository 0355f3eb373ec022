"""Degree anonymization adds nearly as few ties as can be: held against all ways to add ties to
small random graphs.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.data.graphs.degree_anonymization import raised


def fewest(people, ties, k):
    """The fewest ties that make every degree that of k people, by trying all sets of them."""
    free = [pair for pair in itertools.combinations(range(people), 2) if pair not in ties]
    degrees = np.bincount(np.array(sorted(ties)).ravel(), minlength=people)
    for count in range(len(free) + 1):
        for added in itertools.combinations(free, count):
            more = np.bincount(np.array(added, dtype=np.int64).ravel(), minlength=people)
            if min(Counter((degrees + more).tolist()).values()) >= k:
                return count
    raise AssertionError("all ties together give everybody the same degree")


def test_nearly_as_few_ties_come_as_can_be():
    draw = np.random.default_rng(5)
    needed, added = 0, 0
    for case in range(40):
        people, k, share = (
            int(draw.integers(5, 8)),
            int(draw.integers(2, 4)),
            draw.uniform(0.2, 0.6),
        )
        ring = {(i, i + 1) for i in range(people - 1)}  # nobody is alone
        ties = ring | {
            pair for pair in itertools.combinations(range(people), 2) if draw.random() < share
        }
        frame = pl.DataFrame(sorted(ties), schema=["a", "b"], orient="row")
        graph = sf.read_graph(frame, {"from": "a", "to": "b"})
        made = raised(graph, np.zeros(people, dtype=np.int64), k, Seed(case).stream("ties"))
        assert min(Counter(made.ties.degrees.tolist()).values()) >= k
        least = fewest(people, ties, k)
        more = made.edges.shape[1] - len(ties)
        assert more >= least
        needed, added = needed + least, added + more
    assert added <= 1.15 * needed, (added, needed)


def test_the_same_seed_adds_the_same_ties():
    graph = sf.examples.karate()
    one, other = (
        raised(graph, np.zeros(graph.people, dtype=np.int64), 3, Seed(4).stream("x"))
        for _ in range(2)
    )
    assert np.array_equal(one.edges, other.edges)
