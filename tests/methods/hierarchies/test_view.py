"""A hierarchy as its owner looks at it: counts of records and values under every node."""

from __future__ import annotations

from collections import Counter

from sfumato.methods.hierarchies import Tree, mask_right
from sfumato.methods.hierarchies.view import covers, view_hierarchy

TOWNS = Tree({"*": {"north": ["Kiel", "Bremen"], "south": ["Ulm"]}})
VALUES, COUNTS = ["Kiel", "Bremen", "Ulm", None], [3, 2, 4, 1]


def test_nodes_hold_the_records_and_values_below_them():
    view = view_hierarchy(TOWNS, VALUES, COUNTS)
    nodes = {node.label: (node.records, node.values) for node in view.levels[1].nodes}
    assert nodes == {"north": (5, 2), "south": (4, 1), None: (1, 0)}
    (top,) = view.levels[-1].nodes
    assert (top.records, top.values) == (10, 3)
    assert view.covered == sorted(v for v in VALUES if v is not None)


def test_spread_is_smallest_median_and_largest():
    view = view_hierarchy(mask_right(3), ["111", "112", "121", "211"], [1, 2, 3, 4])
    for level in view.levels:
        amounts = Counter()
        for value, count in zip(["111", "112", "121", "211"], [1, 2, 3, 4], strict=True):
            amounts[value[: 3 - level.level]] += count
        sizes = sorted(amounts.values())
        middle = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
        assert level.spread == (sizes[0], middle, sizes[-1])


def test_values_without_a_path_are_counted_and_left_out():
    view = view_hierarchy(TOWNS, ["Kiel", "Paris"], [2, 7])
    assert (view.uncovered_values, view.uncovered_records) == (1, 7)
    assert view.covered == ["Kiel"]
    assert "Paris" not in repr(view.to_dict())
    assert covers(TOWNS, "Ulm") and not covers(TOWNS, "Paris")


def test_plain_data_has_every_level():
    plain = view_hierarchy(TOWNS, VALUES, COUNTS).to_dict()
    assert [level["nodes"] for level in plain["levels"]] == [4, 3, 1]
    assert plain["uncovered"] == {"values": 0, "records": 0}
