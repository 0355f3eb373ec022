"""Hiding association rules: items are taken out, or put in, until no sensitive rule is found any
more.

Three ways that go rule by rule, and an exact one that makes the side effects, then the changes, as
few as can be.

References: Verykios, Elmagarmid, Bertino, Saygin & Dasseni 2004, *Association rule hiding*,
doi:10.1109/TKDE.2004.1269668 (1.a, 1.b, 2.a); Wang, Parikh & Jafari 2007, *Hiding informative
association rule sets*, doi:10.1016/j.eswa.2006.05.022 (ISL, DSR); Gkoulalas-Divanis & Verykios
2006, *An integer programming approach for frequent itemset hiding*, doi:10.1145/1183614.1183721
(the border).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.core.groups import group_starts
from sfumato.core.progress import Progress, silent
from sfumato.core.words import percent
from sfumato.errors import InternalError, ParameterError
from sfumato.methods.formulas.rules import (
    LARGEST_RULE,
    Association,
    Itemset,
    SideEffects,
    Thresholds,
    Transactions,
    candidates,
    frequent_itemsets,
    is_found,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

Method = Literal["isl", "dsr", "2a", "exact"]

EFFORT = 10_000
"""Nodes of a branch and bound, if nobody says otherwise."""
MOST_PATTERNS = 200_000
"""Ways to take items out of different transactions that an exact program holds."""
MOST_AT_ONCE = 12
"""Sensitive items of one transaction: all their subsets are tried."""


@dataclasses.dataclass(frozen=True)
class Proof:
    """What is known of the best there is: the cost reached, and a bound that nothing beats.

    The cost is ``weight`` for every rule lost and every ghost, and 1 for every item taken out;
    ``weight`` is larger than all items that could go.
    """

    cost: float
    bound: float
    weight: int

    @property
    def optimal(self) -> bool:
        """Whether nothing better exists; all costs are whole numbers."""
        return self.cost < self.bound + 1 - 1e-6

    @property
    def gap(self) -> float:
        """How far the cost may be above the best one, as a share of it."""
        if self.optimal:
            return 0.0
        return (self.cost - self.bound) / max(1.0, self.cost)


@dataclasses.dataclass(frozen=True, eq=False)
class Hidden:
    """Transactions in which rules are hidden: occurrences ``gone``, items put ``more``, and rules
    that are found all the same.

    ``proof`` tells how good it is, of the exact way.
    """

    transactions: Transactions
    gone: NDArray[np.bool_]
    more: tuple[tuple[int, int], ...] = ()
    failed: tuple[Association, ...] = ()
    proof: Proof | None = None

    @property
    def proved(self) -> dict[str, float]:
        """What is proved, for the owner; nothing but of the exact way."""
        if self.proof is None:
            return {}
        return {
            **dataclasses.asdict(self.proof),
            "gap": self.proof.gap,
            "optimal": self.proof.optimal,
        }


def warnings_of(hidden: Hidden, effects: SideEffects) -> tuple[str, ...]:
    """What hiding cost that whoever releases should know."""
    warnings = []
    if hidden.more:
        warnings.append(
            f"{len(hidden.more):,} items were added to baskets: the release says of people what is "
            "not true"
        )
    if effects.lost or effects.ghosts:
        warnings.append(
            f"hiding cost {len(effects.lost):,} of {effects.found_before:,} other rules, and "
            f"{len(effects.ghosts):,} new ones appeared"
        )
    if hidden.proof is not None and not hidden.proof.optimal:
        warnings.append(
            "the search stopped before the best was proved: the cost may be"
            f" {percent(hidden.proof.gap)} too high; raise effort"
        )
    return tuple(warnings)


def hide(
    transactions: Transactions,
    sensitive: Sequence[Association],
    thresholds: Thresholds,
    method: Method,
    *,
    largest: int = LARGEST_RULE,
    effort: int = EFFORT,
    progress: Progress = silent,
) -> Hidden:
    r"""Hide rules by one of the methods.

    * ``isl`` puts items of the left side into transactions that hold neither all of it nor the
      right side, those that lack fewest items first, until the confidence falls below the
      threshold. It may fail: there are only so many transactions.
    * ``dsr`` takes the most frequent item of the right side out of transactions that hold the whole
      rule, the shortest first; it needs
      :math:`\min(s - \sigma, s - \lceil \kappa\, s(X) \rceil) + 1` of them, *s* being the support
      of the rule.
    * ``2a`` takes the most frequent item of the rule out of the shortest transaction that holds it,
      again and again.
    * ``exact``: see :func:`hide_exactly`.

    Equal choices go by number, so that the order of transactions decides. What is taken out for one
    rule can show another, hence all are looked at again until nothing changes.
    """
    if method == "exact":
        return hide_exactly(
            transactions, sensitive, thresholds, largest=largest, effort=effort, progress=progress
        )
    work = _Work(transactions, thresholds)
    act: Callable[[Association], bool] = {
        "isl": work.lift_left,
        "dsr": work.drop_right,
        "2a": work.drop_most_frequent,
    }[method]
    changed = True
    # Hiding one rule may show another again, so all are looked at until nothing changes; every
    # change takes an item out or puts one in, so it ends.
    while changed:
        changed = False
        for number, rule in enumerate(sensitive):
            progress(number / len(sensitive), "hiding rules")
            changed |= act(rule)
    return work.done(sensitive)


class _Work:
    """Transactions on their way: what was taken out and put in so far."""

    def __init__(self, transactions: Transactions, thresholds: Thresholds) -> None:
        self.before = transactions
        self.now = transactions
        self.thresholds = thresholds
        self.gone = np.zeros(len(transactions.items), dtype=np.bool_)
        self.more: set[tuple[int, int]] = set()

    def done(self, sensitive: Iterable[Association]) -> Hidden:
        """What came of it."""
        failed = tuple(rule for rule in sensitive if is_found(self.now, rule, self.thresholds))
        return Hidden(self.now, self.gone, tuple(sorted(self.more)), failed)

    def take(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Take items out of transactions, as pairs; tell whether there were any."""
        if pairs:
            self.gone |= occurrences(self.before, pairs)
            self.now = self.before.without(self.gone)
        return bool(pairs)

    def supporting(self, rule: Association) -> list[int]:
        """The transactions that hold a rule, the shortest first."""
        # Shortest transactions first: an item out of them costs fewest other rules.
        holders = np.flatnonzero(self.now.holding(rule.both))
        positions = np.argsort(self.now.sizes[holders], kind="stable")
        ordered: list[int] = holders[positions].tolist()
        return ordered

    def drop_right(self, rule: Association) -> bool:
        """Take an item of the right side out of as many transactions as it needs."""
        holders = self.supporting(rule)
        left_support = self.now.support(rule.left)
        if not self.thresholds.found(len(holders), left_support):
            return False
        if rule.right:
            largest_support = self.thresholds.most_hidden(left_support)
        else:
            largest_support = self.thresholds.support - 1
        item = _most_frequent(self.now, rule.right or rule.left)
        transactions_changed = holders[: len(holders) - largest_support]
        return self.take([(t, item) for t in transactions_changed])

    def drop_most_frequent(self, rule: Association) -> bool:
        """Take the most frequent item of the rule out of the shortest transaction that holds it,
        until it is hidden.
        """
        waiting = self.supporting(rule)
        left_support = self.now.support(rule.left)
        supports = {item: int(self.now.supports[item]) for item in rule.both}
        pairs_taken: list[tuple[int, int]] = []
        for number, transaction in enumerate(waiting):
            if not self.thresholds.found(len(waiting) - number, left_support):
                break
            item = min(supports, key=lambda item_key: (-supports[item_key], item_key))
            supports[item] -= 1
            left_support -= item in rule.left
            pairs_taken.append((transaction, item))
        return self.take(pairs_taken)

    def lift_left(self, rule: Association) -> bool:
        """Put the left side into transactions that hold neither it nor the right side, until the
        rule is hidden.
        """
        rule_support = self.now.support(rule.both)
        left_support = self.now.support(rule.left)
        if not rule.right or not self.thresholds.found(rule_support, left_support):
            return False
        in_left = np.isin(self.now.items, rule.left)
        items_held = np.bincount(self.now.owners[in_left], minlength=len(self.now))
        items_missing = len(rule.left) - items_held
        free = np.flatnonzero((items_missing > 0) & ~self.now.holding(rule.right))
        free = free[np.lexsort((free, self.now.sizes[free], items_missing[free]))]
        exact = self.thresholds.confidence
        # Confidence falls below the threshold once left_support > rule_support / confidence.
        transactions_needed = exact.denominator * rule_support // exact.numerator + 1 - left_support
        for transaction in free[:transactions_needed].tolist():
            start, end = self.now.starts[transaction : transaction + 2]
            own_items = self.now.items[start:end].tolist()
            self.more |= {(transaction, item) for item in rule.left if item not in own_items}
        self.now = self.before.having(self.more)
        return bool(len(free[:transactions_needed]))


def _most_frequent(transactions: Transactions, items: Itemset) -> int:
    return min(items, key=lambda item: (-int(transactions.supports[item]), item))


def occurrences(transactions: Transactions, pairs: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Where items stand in transactions, given as pairs: a mark per occurrence."""
    kinds = max(1, transactions.kinds)
    pair_keys = np.array([t * kinds + item for t, item in pairs], dtype=np.int64)
    return np.isin(transactions.owners * kinds + transactions.items, pair_keys)


# The exact way. Equal transactions are one type, and a pattern is a set of sensitive items that is
# taken out of some of a type: a whole number of them. That is the program of binary variables per
# transaction and item with all symmetry between equal transactions taken away; supports are sums
# over patterns, without variables for products.


def hide_exactly(
    transactions: Transactions,
    sensitive: Sequence[Association],
    thresholds: Thresholds,
    *,
    largest: int = LARGEST_RULE,
    effort: int = EFFORT,
    progress: Progress = silent,
) -> Hidden:
    r"""Hide rules with the fewest side effects and, among these, the fewest items taken out.

    .. math:: \min\; W \Big(\sum_{r \in K} l_r + \sum_{r \in H} g_r\Big) + \sum_t |D_t|

    over the items :math:`D_t` taken out of each transaction, all of them items of sensitive rules.
    *K* are the other rules found before, of which
    :math:`l_r` are lost; *H* those with enough support and too little confidence, of
    which :math:`g_r` become ghosts (supports only fall, so that no other rule can appear); *W* is
    larger than all that can be taken out. Every sensitive rule must lose its support or its
    confidence. Where nothing but itemsets is sensitive, the frequent itemsets that hold none of
    them take the place of *K*, and *H* is empty; first nothing may be lost (it suffices to keep the
    largest ones, the border), and where that cannot be, as few as possible.

    Parts that share no rule are solved one by one. ``effort`` is how many nodes of the search each
    may take; when it does not suffice, the best found so far is taken, and the :class:`Proof` has
    the bound.
    """
    distinct_rules = list(dict.fromkeys(sensitive))
    if not any(is_found(transactions, rule, thresholds) for rule in distinct_rules):
        nothing = np.zeros(len(transactions.items), dtype=np.bool_)
        return Hidden(transactions, nothing, proof=Proof(0, 0, 1))
    rules = _Rules.of(transactions, distinct_rules, thresholds, largest)
    # One side effect costs more than all items that could be taken out.
    deletable_items = np.isin(transactions.items, sorted(rules.deletable)).sum()
    weight = 1 + int(deletable_items)
    pairs: list[tuple[int, int]] = []
    proofs = []
    parts = rules.parts()
    for number, part in enumerate(parts):
        progress(number / len(parts), "hiding rules exactly")
        pairs_taken, proof = _solve_group(transactions, part, thresholds, weight, effort)
        pairs += pairs_taken
        proofs.append(proof)
    work = _Work(transactions, thresholds)
    work.take(pairs)
    hidden = work.done(sensitive)
    if hidden.failed:
        raise InternalError("an exact program left a rule that should be hidden")
    total = Proof(sum(p.cost for p in proofs), sum(p.bound for p in proofs), weight)
    return dataclasses.replace(hidden, proof=total)


@dataclasses.dataclass(frozen=True)
class _Rules:
    """The rules that taking out sensitive items touches: to hide, to keep, and not to show;
    ``border`` where only that must be kept.
    """

    hide: tuple[Association, ...]
    keep: tuple[Association, ...]
    ghosts: tuple[Association, ...]
    border: tuple[Association, ...] = ()

    @property
    def deletable(self) -> set[int]:
        """Items of sensitive rules."""
        return {item for rule in self.hide for item in rule.both}

    @classmethod
    def of(
        cls,
        transactions: Transactions,
        hide: Sequence[Association],
        thresholds: Thresholds,
        largest: int,
    ) -> _Rules:
        """What there is in some transactions."""
        gone: set[int] = set()
        for rule in hide:
            gone.update(rule.both)
        itemsets = frequent_itemsets(transactions, thresholds.support, largest)
        if not any(rule.right for rule in hide):
            itemsets_kept = []
            for itemset in itemsets:
                if not any(set(rule.left) <= set(itemset) for rule in hide):
                    itemsets_kept.append(itemset)
            border = set()
            for itemset in itemsets_kept:
                if not any(
                    set(itemset) < set(superset)
                    for superset in itemsets_kept
                    if len(superset) == len(itemset) + 1
                ):
                    border.add(itemset)
            touched = [itemset for itemset in itemsets_kept if gone & set(itemset)]
            return cls(
                tuple(hide),
                tuple(Association(itemset) for itemset in touched),
                (),
                tuple(Association(itemset) for itemset in touched if itemset in border),
            )
        keep = []
        ghosts = []
        for rule, rule_support, left_support in candidates(itemsets):
            if rule in hide:
                continue
            is_shown = thresholds.found(rule_support, left_support)
            if is_shown and gone & set(rule.both):
                keep.append(rule)
            elif not is_shown and gone & set(rule.left):
                ghosts.append(rule)
        return cls(tuple(hide), tuple(keep), tuple(ghosts))

    def parts(self) -> list[_Rules]:
        """The same rules in groups that share no sensitive item."""
        group = {item: item for item in self.deletable}

        def head(item: int) -> int:
            while group[item] != item:
                item = group[item]
            return item

        touched = {}
        for rule in (*self.hide, *self.keep, *self.ghosts):
            touched[rule] = [item for item in rule.both if item in group]
        for items in touched.values():
            # Union-find: items of one rule belong together; parts without a common item are solved
            # apart.
            for first_item, second_item in itertools.pairwise(items):
                group[head(first_item)] = head(second_item)
        heads = sorted({head(item) for item in group})

        def of(rules: tuple[Association, ...], group_head: int) -> tuple[Association, ...]:
            return tuple(rule for rule in rules if head(touched[rule][0]) == group_head)

        return [
            _Rules(of(self.hide, h), of(self.keep, h), of(self.ghosts, h), of(self.border, h))
            for h in heads
        ]


@dataclasses.dataclass(frozen=True, eq=False)
class _Patterns:
    """Types of transactions and the ways to take items out of them.

    ``members[k]`` are the transactions of type *k*; pattern *j* takes the items ``taken[j]`` out of
    type ``types[j]`` and leaves ``left[j]``, a row of marks, one for each of ``items``.
    """

    items: list[int]
    members: list[list[int]]
    types: Ints
    taken: list[Itemset]
    left: NDArray[np.bool_]

    @classmethod
    def of(cls, transactions: Transactions, rules: _Rules) -> _Patterns:
        """What there is in some transactions, for rules that hang together."""
        rule_items: set[int] = set()
        for rule in (*rules.hide, *rules.keep, *rules.ghosts):
            rule_items.update(rule.both)
        items = sorted(rule_items)
        is_sensitive = np.isin(transactions.items, items)
        owners = transactions.owners[is_sensitive]
        sensitive_items = transactions.items[is_sensitive]
        ends = np.searchsorted(owners, np.arange(len(transactions) + 1)).tolist()
        listed = sensitive_items.tolist()
        members: dict[Itemset, list[int]] = {}
        for transaction in range(len(transactions)):
            own_items = tuple(listed[ends[transaction] : ends[transaction + 1]])
            members.setdefault(own_items, []).append(transaction)
        deletable = rules.deletable
        types = []
        items_taken = []
        items_left = []
        kinds = sorted(members)
        for number, kind in enumerate(kinds):
            # All ways to take sensitive items out of this type, taking nothing among them.
            for out in _subsets([item for item in kind if item in deletable]):
                types.append(number)
                items_taken.append(out)
                items_left.append(tuple(item for item in kind if item not in out))
                if len(types) > MOST_PATTERNS:
                    raise ParameterError(
                        f"the exact method would have to compare more than {MOST_PATTERNS:,} ways "
                        "to remove items; use dsr or 2a, fewer columns, or hide fewer rules at a "
                        "time"
                    )
        marks = np.zeros((len(items_left), len(items)), dtype=np.bool_)
        item_numbers = {item: at for at, item in enumerate(items)}
        for row, row_items in enumerate(items_left):
            marks[row, [item_numbers[item] for item in row_items]] = True
        return cls(
            items,
            [members[kind] for kind in kinds],
            np.array(types, dtype=np.int64),
            items_taken,
            marks,
        )

    def holding(self, itemset: Itemset) -> NDArray[np.float64]:
        """Per pattern, 1 where an itemset is still held."""
        item_columns_wanted = [self.items.index(item) for item in itemset]
        items_held: Ints = self.left[:, item_columns_wanted].sum(axis=1)
        return np.asarray(items_held == len(itemset), dtype=np.float64)


def _subsets(items: Sequence[int]) -> Iterable[Itemset]:
    if len(items) > MOST_AT_ONCE:
        raise ParameterError(
            f"a transaction holds {len(items)} items of sensitive rules, and the exact method "
            f"allows {MOST_AT_ONCE}; use dsr or 2a, or hide fewer rules at a time"
        )
    return itertools.chain.from_iterable(
        itertools.combinations(items, size) for size in range(len(items) + 1)
    )


def _solve_group(
    transactions: Transactions, rules: _Rules, thresholds: Thresholds, weight: int, effort: int
) -> tuple[list[tuple[int, int]], Proof]:
    """What to take out for rules that hang together, and how good that is."""
    patterns = _Patterns.of(transactions, rules)
    program = _Program(transactions, rules, patterns, thresholds)
    if rules.border:  # the itemsets below follow: whoever holds the larger set holds them
        amounts, bound = program.solve(rules.border, weight, effort, hard=True)
        if amounts is not None and bound is not None:
            return _as_pairs(patterns, amounts), Proof(program.cost(amounts, weight), bound, weight)
    amounts, bound = program.solve(rules.keep, weight, effort, hard=False)
    if amounts is not None:
        return _as_pairs(patterns, amounts), Proof(
            program.cost(amounts, weight), bound or 0.0, weight
        )
    # the search found nothing in time: a plain way always does
    work = _Work(transactions, thresholds)
    changed = True
    while changed:
        changed = False
        for rule in rules.hide:
            changed |= work.drop_right(rule)
    after = work.now
    lost = sum(not is_found(after, rule, thresholds) for rule in rules.keep)
    ghosts = sum(is_found(after, rule, thresholds) for rule in rules.ghosts)
    pairs = []
    for at in np.flatnonzero(work.gone):
        owner = int(transactions.owners[at])
        item = int(transactions.items[at])
        pairs.append((owner, item))
    side_costs = weight * (lost + ghosts) + len(pairs)
    return pairs, Proof(side_costs, bound or 0.0, weight)


def _as_pairs(patterns: _Patterns, amounts: Ints) -> list[tuple[int, int]]:
    """What is taken out of which transaction: of each type the first ones lose most."""
    pairs: list[tuple[int, int]] = []
    waiting: Mapping[int, list[int]] = {
        number: list(members) for number, members in enumerate(patterns.members)
    }
    used = np.flatnonzero(amounts).tolist()
    order = sorted(used, key=lambda j: (-len(patterns.taken[j]), j))
    for j in order:
        transactions_waiting = waiting[int(patterns.types[j])]
        transactions_chosen = transactions_waiting[: amounts[j]]
        transactions_waiting[: amounts[j]] = []
        pairs += [
            (transaction, item) for transaction in transactions_chosen for item in patterns.taken[j]
        ]
    return pairs


class _Program:
    """The integer program of rules that hang together; see :func:`hide_exactly`."""

    def __init__(
        self, transactions: Transactions, rules: _Rules, patterns: _Patterns, thresholds: Thresholds
    ) -> None:
        self.rules = rules
        self.patterns = patterns
        self.thresholds = thresholds
        needed: set[tuple[int, ...]] = set()
        for rule in (*rules.hide, *rules.keep, *rules.ghosts):
            needed.update((rule.both, rule.left))
        self.held = {itemset: patterns.holding(itemset) for itemset in needed}
        self.most = {itemset: transactions.support(itemset) for itemset in needed}
        self.sizes = np.array([len(members) for members in patterns.members], dtype=np.float64)

    def cost(self, amounts: Ints, weight: int) -> float:
        """What a solution costs, counted again."""
        supports = {itemset: round(float(holds @ amounts)) for itemset, holds in self.held.items()}
        still_found = []
        for rule in self.rules.keep:
            still_found.append(self.thresholds.found(supports[rule.both], supports[rule.left]))
        ghosts = []
        for rule in self.rules.ghosts:
            ghosts.append(self.thresholds.found(supports[rule.both], supports[rule.left]))
        out = sum(
            len(pattern) * int(amount)
            for pattern, amount in zip(self.patterns.taken, amounts, strict=True)
            if amount
        )
        return float(weight * (still_found.count(False) + ghosts.count(True)) + out)

    def hides(self, amounts: Ints) -> bool:
        """Whether a solution hides all it must, counted in whole numbers."""
        supports = {itemset: round(float(holds @ amounts)) for itemset, holds in self.held.items()}
        return not any(
            self.thresholds.found(supports[rule.both], supports[rule.left])
            for rule in self.rules.hide
        )

    def solve(
        self, keep: Sequence[Association], weight: int, effort: int, *, hard: bool
    ) -> tuple[Ints | None, float | None]:
        """Amounts per pattern and a proved bound of the cost; None where there are none, or none
        were found in time.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_matrix, hstack

        rules_shown = (*self.rules.hide, *self.rules.ghosts)
        ghosts = len(self.rules.ghosts)
        lost = 0 if hard else len(keep)
        width = len(self.patterns.taken)
        # Amounts per pattern, then a and b of every rule not to be shown, ghosts, and lost rules.
        variable_count = width + 2 * len(rules_shown) + ghosts + lost
        rows = _Rows(self.held, width)
        # Every transaction of a type follows one pattern
        for number, size in enumerate(self.sizes):
            rows.add({}, {}, size, size, plain=np.flatnonzero(self.patterns.types == number))
        self._hidden(rows, rules_shown)
        first_lost = width + 2 * len(rules_shown) + ghosts
        self._keep_rules(rows, keep, first_lost, hard=hard)
        matrix = hstack([rows.supports(), csr_matrix(rows.others(variable_count - width))]).tocsr()
        price = np.zeros(variable_count)
        price[:width] = [len(pattern) for pattern in self.patterns.taken]
        # Only side effects cost the weight; how a rule is hidden is free.
        price[width + 2 * len(rules_shown) :] = weight
        upper = np.r_[self.sizes[self.patterns.types], np.ones(variable_count - width)]
        constraint = LinearConstraint(matrix, rows.low, rows.high)
        solution = milp(
            price,
            integrality=np.ones(variable_count),
            bounds=Bounds(0, upper),
            constraints=constraint,
            options={"node_limit": effort, "mip_rel_gap": 0.0},
        )
        bound = None
        if not (solution.mip_dual_bound is None or not np.isfinite(solution.mip_dual_bound)):
            bound = solution.mip_dual_bound
        if solution.x is None:
            return None, bound
        # Solved in floating point: rounded, and checked below in whole numbers.
        amounts = np.rint(solution.x[:width]).astype(np.int64)
        sums = np.bincount(self.patterns.types, weights=amounts, minlength=len(self.sizes))
        # beyond what floating point distinguishes
        if not (sums == self.sizes).all() or not self.hides(amounts):
            return None, bound
        return amounts, bound

    def _hidden(self, rows: _Rows, rules_shown: Sequence[Association]) -> None:
        """A rule loses its support (a), or its confidence (b), or is a ghost (g)."""
        p, q = _fraction(self.thresholds.confidence)
        smallest_support = self.thresholds.support
        sensitive = len(self.rules.hide)
        for number, rule in enumerate(rules_shown):
            a = 2 * number
            b = 2 * number + 1
            # With a = 1 the support must fall below the threshold; with a = 0 the slack lets it be
            # all.
            slack = max(0, self.most[rule.both] - smallest_support + 1)
            rows.add({rule.both: 1.0}, {a: slack}, -np.inf, smallest_support - 1 + slack)
            # In whole numbers the confidence is too low where q·s(X ∪ Y) − p·s(X) is −1 or less.
            slack = (q - p) * self.most[rule.both] + 1
            rows.add(_difference(rule, p, q), {b: slack}, -np.inf, slack - 1)
            if number >= sensitive:
                g = {2 * len(rules_shown) + number - sensitive: 1.0}
            else:
                g = {}
            # One of the ways at least; only a rule that is not sensitive may become a ghost
            # instead.
            rows.add({}, {a: 1.0, b: 1.0, **g}, 1, np.inf)

    def _keep_rules(
        self, rows: _Rows, keep: Sequence[Association], first: int, *, hard: bool
    ) -> None:
        """A rule that is found keeps its support and its confidence, unless it is lost (l)."""
        p, q = _fraction(self.thresholds.confidence)
        smallest_support = self.thresholds.support
        offset = first - len(self.patterns.taken)
        for number, rule in enumerate(keep):
            lost = {} if hard else {offset + number: 1.0}
            terms = {at: smallest_support * coefficient for at, coefficient in lost.items()}
            rows.add({rule.both: 1.0}, terms, smallest_support, np.inf)
            if rule.right:
                largest = p * self.most[rule.left]
                ghost_terms = {at: largest * coefficient for at, coefficient in lost.items()}
                rows.add(_difference(rule, p, q), ghost_terms, 0, np.inf)


def _fraction(exact: Fraction) -> tuple[int, int]:
    return exact.numerator, exact.denominator


def _difference(rule: Association, p: int, q: int) -> dict[Itemset, float]:
    """The coefficients of q·s(X ∪ Y) − p·s(X)."""
    if rule.right:
        return {rule.both: float(q), rule.left: -float(p)}
    return {rule.both: float(q - p)}


class _Rows:
    """Rows of a constraint matrix: sums of supports, coefficients of the other variables, and
    between what they must lie.
    """

    def __init__(self, holds: Mapping[Itemset, NDArray[np.float64]], width: int) -> None:
        self.held = holds
        self.width = width
        self.sums: list[tuple[Ints, NDArray[np.float64]]] = []
        self.rest: list[Mapping[int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(
        self,
        supports: Mapping[Itemset, float],
        other_terms: Mapping[int, float],
        low: float,
        high: float,
        plain: Ints | None = None,
    ) -> None:
        """One more row; ``plain`` are patterns with the coefficient 1."""
        total = np.zeros(self.width)
        for itemset, times in supports.items():
            total += times * self.held[itemset]
        if plain is not None:
            total[plain] = 1.0
        used_columns = np.flatnonzero(total)
        self.sums.append((used_columns, total[used_columns]))
        self.rest.append(other_terms)
        self.low.append(low)
        self.high.append(high)

    def supports(self) -> object:
        """The coefficients of the patterns."""
        from scipy.sparse import csr_matrix

        starts = group_starts([len(used_columns) for used_columns, _ in self.sums])
        column_numbers = np.concatenate([used_columns for used_columns, _ in self.sums])
        values = np.concatenate([amounts for _, amounts in self.sums])
        return csr_matrix((values, column_numbers, starts), shape=(len(self.sums), self.width))

    def others(self, width: int) -> object:
        """The coefficients of all other variables."""
        from scipy.sparse import csr_matrix

        cells = []
        for row, terms in enumerate(self.rest):
            for at, value in terms.items():
                cells.append((row, at, value))
        if cells:
            rows, column_numbers, values = zip(*cells, strict=True)
        else:
            rows = ()
            column_numbers = ()
            values = ()
        return csr_matrix((values, (rows, column_numbers)), shape=(len(self.rest), width))
