r"""Association rules: items that go together, and which of them an analyst finds.

A *transaction* is a set of items. The support of an itemset *I* is the number of transactions that
hold all of it, the confidence of a rule
:math:`X \to Y` is :math:`s(X \cup Y) / s(X)`. A rule is *found* when its support is at least σ, a
count, and its confidence at least κ, an exact fraction. A rule without a right side stands for the
itemset alone: its confidence is 1, so that nothing but its support hides it.

Reference: Agrawal, Imieliński & Swami 1993, *Mining association rules between sets of items in
large databases*, doi:10.1145/170035.170072.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato import kernels
from sfumato.core.groups import group_starts
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

Itemset = tuple[int, ...]
"""Items by number, ascending."""

LARGEST_RULE = 3
"""Rules of more items are not looked for unless somebody asks: their number grows with every item.
"""
MOST_ITEMSETS = 2_000_000
"""So many frequent itemsets are held; with more, nobody reads the rules."""


class Association(NamedTuple):
    """``left`` goes along with ``right``; both are items by number, ascending, and share none."""

    left: Itemset
    right: Itemset = ()

    @property
    def both(self) -> Itemset:
        """All items of the rule."""
        return tuple(sorted(self.left + self.right))


@dataclasses.dataclass(frozen=True, eq=False)
class Transactions:
    """Sets of items in compressed rows: transaction *t* holds ``items[starts[t]:starts[t+1]]``,
    ascending; items are numbers below ``kinds``.
    """

    starts: Ints
    items: Ints
    kinds: int

    @classmethod
    def of(cls, sets: Iterable[Collection[int]], kinds: int | None = None) -> Transactions:
        """From sets of numbers.

        >>> Transactions.of([{2, 0}, set()]).items.tolist()
        [0, 2]
        """
        rows = [sorted(set(item_set)) for item_set in sets]
        items = np.array(list(chain.from_iterable(rows)), dtype=np.int64)
        starts = group_starts([len(row) for row in rows])
        return cls(starts, items, int(items.max(initial=-1)) + 1 if kinds is None else kinds)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Ints:
        """Number of items per transaction."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> Ints:
        """Per occurrence of an item the transaction it is in."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)

    @cached_property
    def supports(self) -> Ints:
        """Per item, how many transactions hold it."""
        return np.bincount(self.items, minlength=self.kinds)

    def holding(self, itemset: Sequence[int]) -> NDArray[np.bool_]:
        """Per transaction, whether it holds all of an itemset; all hold the empty one."""
        if not itemset:
            return np.ones(len(self), dtype=np.bool_)
        # Items occur once a transaction, so all of the itemset are there where as many hits are.
        has_item = np.isin(self.items, itemset)
        hits: Ints = np.bincount(self.owners[has_item], minlength=len(self))
        holds: NDArray[np.bool_] = hits == len(itemset)
        return holds

    def support(self, itemset: Sequence[int]) -> int:
        """How many transactions hold all of an itemset."""
        return int(self.holding(itemset).sum())

    def without(self, gone: NDArray[np.bool_]) -> Transactions:
        """The same transactions when some occurrences, by their place in ``items``, are taken
        out.
        """
        starts = group_starts(np.bincount(self.owners[~gone], minlength=len(self)))
        return Transactions(starts, self.items[~gone], self.kinds)

    def having(self, added_pairs: Iterable[tuple[int, int]]) -> Transactions:
        """The same transactions when items are put in, as pairs of a transaction and an item."""
        pairs = np.array(sorted(set(added_pairs)), dtype=np.int64).reshape(-1, 2)
        # As single numbers: the union leaves out items that are there already and keeps the order.
        own_keys = self.owners * self.kinds
        pair_keys = pairs[:, 0] * self.kinds
        keys = np.union1d(own_keys + self.items, pair_keys + pairs[:, 1])
        owners, items = np.divmod(keys, max(1, self.kinds))
        owner_numbers = np.arange(len(self) + 1)
        return Transactions(
            np.searchsorted(owners, owner_numbers).astype(np.int64), items, self.kinds
        )


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """When a rule is found: ``support`` is a number of transactions, ``confidence`` an exact
    fraction.
    """

    support: int
    confidence: Fraction

    @classmethod
    def of(cls, support: int, confidence: float | Fraction) -> Thresholds:
        """A confidence as it is written: 0.7 is 7/10.

        >>> Thresholds.of(2, 0.7).confidence
        Fraction(7, 10)
        """
        if isinstance(confidence, Fraction):
            exact = confidence
        else:
            # By its written form: the float itself is not 7/10.
            exact = Fraction(repr(float(confidence)))
        return cls(support, exact)

    def found(self, rule_support: int, left_support: int) -> bool:
        """Whether a rule is found whose items together, and whose left side, are held by so many
        transactions.
        """
        exact = self.confidence
        return (
            rule_support >= self.support
            # Multiplied out in whole numbers, as a quotient would round.
            and exact.denominator * rule_support >= exact.numerator * left_support
        )

    def most_hidden(self, left_support: int) -> int:
        """The largest support of a rule that is not found, when so many transactions hold its left
        side.
        """
        exact = self.confidence
        # Rounded up, less one: the largest support below confidence · left.
        below = -(-exact.numerator * left_support // exact.denominator) - 1
        return max(self.support - 1, below)


def frequent_itemsets(
    transactions: Transactions, smallest_support: int, largest: int = LARGEST_RULE
) -> dict[Itemset, int]:
    """Every itemset of at most ``largest`` items that at least ``smallest_support`` transactions
    hold, and how many do.

    >>> frequent_itemsets(Transactions.of([{0, 1}, {0, 1, 2}, {2}]), 2)
    {(0,): 2, (0, 1): 2, (1,): 2, (2,): 2}
    """
    supports: dict[Itemset, int] = {}
    everyone = np.arange(len(transactions), dtype=np.int64)
    for itemset, support in _grow_itemsets(
        (), transactions, everyone, transactions.starts[:-1], (max(1, smallest_support), largest)
    ):
        supports[itemset] = support
        if len(supports) > MOST_ITEMSETS:
            raise ParameterError(
                f"more than {MOST_ITEMSETS:,} sets of items reach the support of "
                f"{smallest_support:,} transactions; raise the support, or use fewer columns or "
                "items per rule"
            )
    return supports


def _grow_itemsets(
    prefix: Itemset,
    transactions: Transactions,
    holders: Ints,
    positions: Ints,
    limits: tuple[int, int],
) -> Iterator[tuple[Itemset, int]]:
    """The frequent itemsets that begin with a prefix; ``positions`` are where the items behind it
    begin in its holders.
    """
    smallest_support, largest = limits
    if len(holders) < smallest_support or len(prefix) >= largest:
        return
    starts = transactions.starts
    items = transactions.items
    counts = kernels.rules.count_later_items(starts, items, holders, positions, transactions.kinds)
    frequent = np.flatnonzero(counts >= smallest_support)
    # At the largest size only counts are needed: no holders are kept for longer sets.
    if len(prefix) + 1 == largest or not len(frequent):
        yield from (((*prefix, item), int(counts[item])) for item in frequent.tolist())
        return
    # Items that are not frequent behind this prefix are in no frequent set with it.
    item_codes = np.full(transactions.kinds, -1, dtype=np.int64)
    item_codes[frequent] = np.arange(len(frequent))
    runs, grown, behind = kernels.rules.extend_prefix(starts, items, holders, positions, item_codes)
    for number, item in enumerate(frequent.tolist()):
        inside = slice(runs[number], runs[number + 1])
        yield (*prefix, item), int(counts[item])
        yield from _grow_itemsets(
            (*prefix, item), transactions, grown[inside], behind[inside], limits
        )


def candidates(itemsets: Mapping[Itemset, int]) -> Iterator[tuple[Association, int, int]]:
    """Every rule that frequent itemsets make, with its support and that of its left side."""
    for itemset, support in itemsets.items():
        for size in range(1, len(itemset)):
            for left_items in itertools.combinations(itemset, size):
                right_items = tuple(item for item in itemset if item not in left_items)
                yield (Association(left_items, right_items), support, itemsets[left_items])


def mine_rules(
    transactions: Transactions, thresholds: Thresholds, largest: int = LARGEST_RULE
) -> set[Association]:
    """The rules that are found, with at most ``largest`` items each."""
    itemsets = frequent_itemsets(transactions, thresholds.support, largest)
    return {
        rule
        for rule, rule_support, left_support in candidates(itemsets)
        if thresholds.found(rule_support, left_support)
    }


def is_found(transactions: Transactions, rule: Association, thresholds: Thresholds) -> bool:
    """Whether one rule is found, however many items it has."""
    return thresholds.found(transactions.support(rule.both), transactions.support(rule.left))


@dataclasses.dataclass(frozen=True)
class SideEffects:
    """What hiding did to the rules: ``failed`` are still found though they should not, ``lost`` no
    longer, ``ghosts`` only now.

    ``changed`` of ``items`` occurrences were taken out or put in.
    """

    failed: frozenset[Association]
    lost: frozenset[Association]
    ghosts: frozenset[Association]
    found_before: int
    changed: int
    items: int

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each."""
        return {
            "still_found": len(self.failed),
            "lost": len(self.lost),
            "ghosts": len(self.ghosts),
            "rules_before": self.found_before,
            "changed_items": self.changed,
            "items": self.items,
        }


def side_effects(
    before: Transactions,
    after: Transactions,
    sensitive: Collection[Association],
    thresholds: Thresholds,
    largest: int = LARGEST_RULE,
) -> SideEffects:
    """Compare the rules that are found before and after; the transactions are the same ones in the
    same order.
    """
    old = mine_rules(before, thresholds, largest)
    new = mine_rules(after, thresholds, largest)
    hidden = frozenset(sensitive)
    kinds = max(1, before.kinds, after.kinds)
    # What is in one of the two but not in both was taken out or put in.
    keys_before = before.owners * kinds + before.items
    keys_after = after.owners * kinds + after.items
    changed = np.setxor1d(keys_before, keys_after)
    failing_rules = []
    for rule in hidden:
        if is_found(after, rule, thresholds):
            failing_rules.append(rule)
    return SideEffects(
        failed=frozenset(failing_rules),
        lost=frozenset(old - new - hidden),
        ghosts=frozenset(new - old - hidden),
        found_before=len(old - hidden),
        changed=len(changed),
        items=len(before.items),
    )
