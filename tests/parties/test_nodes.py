"""The generalization lattice as everybody knows it: hierarchies bound to public domains, its nodes
in a public order, and how it is searched."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.parties.joint import JointRelease
from tests.oracles import joint_release as oracle
from tests.parties.test_joint import GOLDEN, described, golden_tables, same, together


def test_nodes_with_too_many_cells_are_left_out_and_everybody_knows():
    question = JointRelease(GOLDEN, k=2, budget="0.1", cells=10)
    assert question.lattice.left_out == 2 and question.lattice.lowest() == {"sex": 0, "age": 1}
    answer = same(together(question, golden_tables()))
    assert answer["levels"] == {"sex": 0, "age": 1}
    assert answer["learned"]["floors"] == {"nodes_left_out": 2, "lowest": {"sex": 0, "age": 1}}
    bounded = JointRelease(GOLDEN, k=2, levels={"age": (1, 1), "sex": 0})
    assert bounded.lattice.nodes == ((0, 1),)
    assert same(together(bounded, golden_tables()))["levels"] is None
    with pytest.raises(ParameterError, match="at least 50"):
        JointRelease(GOLDEN, k=2, cells=10, levels={"age": 0})


@pytest.mark.parametrize(
    "order", ["height", "minimum_absolute_distance", "minimum_relative_distance"]
)
def test_nodes_come_in_a_public_order(order):
    lattice = JointRelease(GOLDEN, k=2, order=order).lattice
    assert lattice.names == ("sex", "age")
    assert lattice.nodes == ((0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (1, 2))
    deep = {**GOLDEN, "age": {**GOLDEN["age"], "hierarchy": {"intervals": [5, 10, 50]}}}
    nodes = JointRelease(deep, k=2, order=order, levels={"age": (0, 4)}).lattice.nodes
    by_sum = order == "minimum_absolute_distance"
    assert nodes.index((1, 0)) == (2 if by_sum else 4)


def searched(lattice, target):
    """What a search finds, and after how many questions, when the nodes from a rank on will do."""
    searching, asked, said = lattice.search(), 0, None
    while True:
        try:
            last, _ = searching.send(said)
        except StopIteration as done:
            return done.value, asked
        asked, said = asked + 1, last >= target


def test_a_search_asks_the_logarithm_of_its_nodes():
    lattice = JointRelease(described(oracle.random_paths(random.Random(5), 3)), k=2).lattice
    nodes = len(lattice.nodes)
    for target in range(nodes + 1):
        found, asked = searched(lattice, target)
        assert found == (target if target < nodes else None)
        assert asked <= int(np.ceil(np.log2(nodes + 1)))


def test_the_nodes_that_are_tested_generalise_all_others():
    """The maximal nodes of a prefix generalise every node of it."""
    paths = oracle.random_paths(random.Random(8), 3)
    lattice = JointRelease(described(paths), k=2).lattice
    for first, last in itertools.combinations(range(len(lattice.nodes)), 2):
        maximal = [lattice.nodes[r] for r in lattice.maximal(first, last)]
        for node in lattice.nodes[first : last + 1]:
            assert any(all(a <= b for a, b in zip(node, m, strict=True)) for m in maximal)
