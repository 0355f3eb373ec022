"""The tree above items: what lies below a node, what it costs, and where an item climbs to."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.baskets.taxonomy import Taxonomy
from sfumato.methods.hierarchies import Tree

FOOD = {"*": {"dairy": {"hard": ["gouda", "edam"], "soft": ["brie"]}, "meat": ["ham", "beef"]}}
ITEMS = ("beef", "brie", "edam", "gouda", "ham")


@pytest.fixture(scope="module")
def taxonomy():
    return Taxonomy.of(Tree(FOOD), ITEMS, "item")


def test_items_come_first_and_the_root_last(taxonomy):
    assert taxonomy.labels[:5] == ITEMS
    assert taxonomy.labels[taxonomy.root] == "*"
    assert taxonomy.parent[taxonomy.root] == -1
    assert taxonomy.height == taxonomy.level[taxonomy.root]
    assert repr(taxonomy).startswith("Taxonomy(5 items, ")


def test_spans_hold_the_items_whose_ancestors_the_node_is(taxonomy):
    assert sorted(taxonomy.order.tolist()) == list(range(5))
    for node in range(len(taxonomy.labels)):
        below = {item for item in range(5) if item == node or node in taxonomy.above(item)}
        assert set(taxonomy.under(node).tolist()) == below


def test_children_and_parents_agree_and_children_are_in_order(taxonomy):
    for node, children in enumerate(taxonomy.children):
        assert all(taxonomy.parent[child] == node for child in children)
        assert list(children) == sorted(children, key=lambda child: taxonomy.by_name[child])
    assert sum(map(len, taxonomy.children)) == len(taxonomy.labels) - 1


def test_a_node_costs_its_share_of_the_leaves(taxonomy):
    loss = dict(zip(taxonomy.labels, taxonomy.loss.tolist(), strict=True))
    assert loss["*"] == 1.0
    assert loss["dairy"] == pytest.approx(3 / 5)
    assert loss["gouda"] == 0.0
    # A group of one item says what the item says: it costs nothing, and is reduced to it.
    assert loss["soft"] == 0.0
    soft = taxonomy.labels.index("soft")
    assert taxonomy.labels[taxonomy.lowest[soft]] == "brie"


def test_items_climb_to_the_highest_node_of_a_level_or_below(taxonomy):
    for level in range(taxonomy.height + 1):
        nodes = taxonomy.at_level(level)
        for item, node in enumerate(nodes.tolist()):
            assert taxonomy.level[node] <= level
            assert item == node or node in taxonomy.above(item)
            above = taxonomy.parent[node]
            assert above < 0 or taxonomy.level[above] > level
    assert np.array_equal(taxonomy.at_level(0), np.arange(5))
    assert set(taxonomy.at_level(taxonomy.height)) == {taxonomy.root}
