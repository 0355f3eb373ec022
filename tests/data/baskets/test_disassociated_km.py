"""The promise of baskets that were taken apart (disassociation)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.step import Goal
from sfumato.data.baskets.disassociated import Cluster
from sfumato.data.baskets.disassociated_km import DisassociatedKm
from sfumato.data.baskets.disassociation import vertical
from sfumato.data.baskets.models import OwnColumnsK
from sfumato.errors import ParameterError
from tests.data.baskets.ten import people_of
from tests.data.baskets.test_means import MEANS


def test_the_rule_for_bare_items_is_stricter_than_the_published_one():
    # {bcd},{a},{d},{bc}, k = m = 2: a bare item has fewer than k carriers, and whoever knows that
    # breaks the waiver
    people = people_of([set("bcd"), set("a"), set("d"), set("bc")], hierarchy=False)
    cluster = vertical(people, np.arange(4), DisassociatedKm(2, 2))
    assert cluster.terms == {"a"}
    assert not DisassociatedKm(2, 2).allows(cluster)


def possible(cluster: Cluster, k: int) -> list[list[frozenset[str]]]:
    """All ways to put a cluster together that somebody cannot exclude who knows that bare items
    have fewer than k carriers.
    """

    def placements(parts):
        if not parts:
            return [[frozenset()] * cluster.size]
        out = set()
        for rest in placements(parts[1:]):
            for place in range(cluster.size):
                if not rest[place]:
                    out.add(tuple(parts[0] if i == place else one for i, one in enumerate(rest)))
        return [list(one) for one in out]

    ways = [[frozenset()] * cluster.size]
    for chunk in cluster.chunks:
        ways = [
            [a | b for a, b in zip(way, placed, strict=True)]
            for way, placed in product(ways, placements(chunk))
        ]
    for term in sorted(cluster.terms):
        holders = [s for s in product([False, True], repeat=cluster.size) if 1 <= sum(s) < k]
        ways = [
            [one | {term} if h else one for one, h in zip(way, who, strict=True)]
            for way, who in product(ways, holders)
        ]
    return [way for way in ways if all(way)]  # nobody has nothing


@given(
    st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=4, max_size=4)
)
def test_some_way_to_put_a_cluster_together_has_k_carriers(baskets):
    rule = DisassociatedKm(2, 2)
    cluster = vertical(people_of(baskets, hierarchy=False), np.arange(4), rule)
    assume(rule.allows(cluster))
    ways = possible(cluster, 2)
    known = {frozenset(q) for basket in baskets for q in product(basket, basket)}
    for q in known:
        if not q & cluster.terms:
            assert any(sum(q <= one for one in way) >= 2 for way in ways)


@pytest.mark.parametrize("step", [step for step, _ in MEANS], ids=lambda one: one.name)
def test_a_means_for_none_of_the_promises_is_refused(step):
    strange = OwnColumnsK(2) if step.name != "grouped_recoding" else DisassociatedKm(2, 2)
    with pytest.raises(ParameterError, match="serves"):
        step.plan(people_of([{"a1"}] * 3, ["x"] * 3), Goal(models=(strange,)))
