"""Local recoding: people with like baskets form parts, and each part is generalised by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.data.baskets.models import BasketKAnonymity
from sfumato.data.baskets.partition import BasketPartition, gray_order
from sfumato.methods.formulas.itemsets import ItemSets
from tests.data.baskets.ten import sets_of
from tests.data.baskets.test_means import made


def test_worked_partition():
    """14-A: parts and NCP 2/7 for k = 2, 29/63 for k = 3."""
    people = examples.baskets()
    two, plan = made(BasketPartition(), people, BasketKAnonymity(2))
    expected = {
        1: "A b1 b2",
        3: "A b1 b2",
        2: "A B",
        4: "A B",
        10: "A B",
        5: "A B c1",
        6: "A B c1",
        8: "A B c1",
        7: "P c2",
        9: "P c2",
    }
    assert {i + 1: " ".join(sorted(one)) for i, one in enumerate(sets_of(two))} == expected
    assert plan.describe()["ncp"] == pytest.approx(2 / 7, abs=1e-6)
    three, plan = made(BasketPartition(), people, BasketKAnonymity(3))
    coarse = {"A B" if i in (1, 2, 3, 4, 10) else "C P" for i in range(1, 11)}
    assert {" ".join(sorted(one)) for one in sets_of(three)} == coarse
    assert plan.describe()["ncp"] == pytest.approx(29 / 63, abs=1e-6)


@given(st.lists(st.frozensets(st.integers(0, 3)), min_size=1, max_size=8))
def test_gray_order(sets):
    people = ItemSets.of(sets, 4)
    supports = people.supports
    ranked = sorted((i for i in range(4) if supports[i]), key=lambda i: (-supports[i], -i))

    def rank(one):
        bits, parity = 0, 0
        for item in ranked:
            parity ^= item in one
            bits = 2 * bits + parity
        return bits

    ranks = [rank(sets[person]) for person in gray_order(people).tolist()]
    assert ranks == sorted(ranks)
