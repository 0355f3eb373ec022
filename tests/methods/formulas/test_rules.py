"""Association rules: mined, hidden in four ways, and what that does to the others."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas.rules import (
    Thresholds,
    Transactions,
    frequent_itemsets,
    mine_rules,
)
from tests.oracles import rules as oracle

# a small table of the literature on hiding: abc, abc, abc, ab, a, ac; b → c has support 1/2 and
# confidence 3/4
SMALL = [{0, 1, 2}] * 3 + [{0, 1}, {0}, {0, 2}]


baskets = st.lists(st.sets(st.integers(0, 3), max_size=4), min_size=1, max_size=8)
confidences = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(7, 10), Fraction(1)])


@given(baskets, st.integers(1, 4), confidences, st.integers(1, 4))
def test_mining_is_what_all_subsets_say(transactions, least, confidence, largest):
    made = Transactions.of(transactions, 4)
    assert frequent_itemsets(made, least, largest) == oracle.itemsets(transactions, least, largest)
    assert mine_rules(made, Thresholds(least, confidence), largest) == oracle.rules(
        transactions, least, confidence, largest
    )


def test_nine_rules():
    assert len(mine_rules(Transactions.of(SMALL), Thresholds.of(2, 0.7))) == 9
