"""Sets of items that people carry: supports, sets that too few carry, sets that nobody else has,
frequent and closed sets.

Whoever is a set (a basket, the points of a path) is counted here; what the items are does not
matter. Supports of all sets are never
stored: they are walked depth first (:mod:`sfumato.kernels.baskets`), at most Σ C(|t|, m) sets for
people t.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.groups import group_starts
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


MOST_LISTED = 20_000_000
"""Sets that are listed at most; beyond they are counted."""
MOST_CLOSED = 20_000
"""Closed sets up to which all of them are looked at."""
MOST_BITS = 2**32
"""People times items up to which everybody is a bit of every item."""


@dataclasses.dataclass(frozen=True, eq=False)
class ItemSets:
    """People as sets: those of person *t* are ``items[pointers[t]:pointers[t+1]]``, ascending,
    below ``size``, no repeats.

    >>> ItemSets.of([[0, 2], [], [2, 1]]).supports.tolist()
    [1, 1, 2]
    """

    pointers: Ints
    items: NDArray[np.int32]
    size: int

    @classmethod
    def of(cls, sets: Iterable[Sequence[int]], size: int | None = None) -> ItemSets:
        """From lists of numbers, in any order, repeats merged."""
        rows = [sorted(set(item_set)) for item_set in sets]
        pointers = group_starts([len(group) for group in rows])
        items = np.fromiter(
            (item for row in rows for item in row), dtype=np.int32, count=int(pointers[-1])
        )
        return cls(pointers, items, int(items.max(initial=-1)) + 1 if size is None else size)

    @classmethod
    def of_pairs(cls, people: NDArray[Any], items: NDArray[Any], count: int, size: int) -> ItemSets:
        """From (person, item) pairs in any order, repeats merged."""
        # Person and item as one number: one sort puts both in order, and repeats stand together.
        keys = people.astype(np.int64) * max(size, 1) + items.astype(np.int64)
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]
        owners = keys // max(size, 1)
        pointers = np.searchsorted(owners, np.arange(count + 1)).astype(np.int64)
        return cls(pointers, (keys % max(size, 1)).astype(np.int32), size)

    def __len__(self) -> int:
        return len(self.pointers) - 1

    def __getitem__(self, person: int) -> NDArray[np.int32]:
        """The items of one person."""
        return self.items[self.pointers[person] : self.pointers[person + 1]]

    @cached_property
    def lengths(self) -> Ints:
        """How many items everybody has."""
        return np.diff(self.pointers)

    @cached_property
    def owners(self) -> Ints:
        """Per entry of ``items`` whose it is."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    @cached_property
    def supports(self) -> Ints:
        """How many people have each item."""
        return np.bincount(self.items, minlength=self.size).astype(np.int64)

    @cached_property
    def posted(self) -> tuple[Ints, NDArray[np.int32], Ints]:
        """Per item who has it (starts, people), and where it stands in ``items``."""
        posted: tuple[Any, Any, Any] = kernels.baskets.transpose_items(
            self.pointers, self.items, self.size
        )
        return posted

    def carriers(self, item: int) -> NDArray[np.int32]:
        """Who has an item."""
        starts, people, _ = self.posted
        return people[starts[item] : starts[item + 1]]

    def taken(self, people: Ints) -> ItemSets:
        """Some of the people, in the order given."""
        lengths = self.lengths[people]
        pointers = group_starts(lengths)
        # Where the items of each person lie in the old array: lengths 2, 3 taken from 5 and 0 →
        # places 5, 6, 0, 1, 2.
        moved_by = self.pointers[:-1][people] - pointers[:-1]
        shifts = np.repeat(moved_by, lengths)
        positions = np.arange(int(pointers[-1])) + shifts
        return ItemSets(pointers, self.items[positions], self.size)

    def mapped(self, image: NDArray[Any], size: int) -> ItemSets:
        """Every item replaced by its image, equal ones merged; a negative image leaves it out."""
        pointers, items = kernels.baskets.map_items(
            self.pointers, self.items, image.astype(np.int32)
        )
        return ItemSets(pointers, items, size)

    def kernel(self) -> Any:
        """What the loops take."""
        return kernels.baskets.Sets(self.pointers, self.items, *self.posted)


def without_items(people: int) -> ItemSets:
    """People who have nothing."""
    return ItemSets(np.zeros(people + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), 0)


def rank_items(sets: ItemSets, first: Flags | None = None) -> tuple[ItemSets, Ints]:
    """The sets with items renumbered by rising support (ties: as before), and the old number of
    every new one.

    Items that nobody has are left out. ``first`` marks items that come before all others.
    """
    supports = sets.supports
    if first is None:
        late = np.zeros(sets.size, dtype=bool)
    else:
        late = ~first
    # Rare items first: their sets have few carriers, so the search ends early below them.
    order = np.lexsort((np.arange(sets.size), supports, late))
    order = order[supports[order] > 0].astype(np.int64)
    image = np.full(sets.size, -1, dtype=np.int32)
    image[order] = np.arange(len(order))
    return sets.mapped(image, len(order)), order


@dataclasses.dataclass(frozen=True, eq=False)
class Violations:
    """Sets that break a promise: ``members`` (one row each, ascending, −1 behind the last item)
    with their ``supports``.

    ``private`` is the largest number of carriers with one private item; ``carriers`` marks
    everybody who has a violating set; ``count`` how many sets there are, of which the first are
    listed; ``least`` the smallest support seen, None when nobody has anything; ``worst`` the
    largest private share seen.
    """

    members: NDArray[np.int32]
    supports: Ints
    private: Ints
    carriers: Flags
    count: int
    least: int | None
    worst: float = 0.0

    def __len__(self) -> int:
        return self.count

    @property
    def complete(self) -> bool:
        """Whether all of them are listed."""
        return self.count == len(self.members)

    def sets(self) -> list[tuple[int, ...]]:
        """The listed sets as tuples, smaller ones first, then in order."""
        return sorted(
            (tuple(row[row >= 0].tolist()) for row in self.members),
            key=lambda item_set: (len(item_set), item_set),
        )


def violating(
    sets: ItemSets,
    m: int,
    k: int,
    *,
    private: ItemSets | None = None,
    share: float = 1.0,
    new: Flags | None = None,
    limit: int = MOST_LISTED,
    enough: int = 0,
) -> Violations:
    """Minimal sets of at most ``m`` items that fewer than ``k`` people carry, or of whose carriers
    more than ``share`` have one private item.

    Minimal: no part of it violates. Where none is found there is no violation at all. ``new``
    marks items: only sets with one of them are looked at (after some items changed, the supports of
    all other sets are what they were).

    >>> violating(ItemSets.of([[0, 1], [0, 1], [0, 2]]), 2, 2).sets()
    [(2,)]
    """
    if m < 1 or k < 0:
        raise ParameterError("sets must have at least one item, and k must not be negative")
    work, order = rank_items(sets, new)
    if new is None:
        roots = len(order)
    else:
        # Sets are searched from their first item, so only new items need to be tried as the first.
        roots = int(new[order].sum())
    listed = _room_for_sets(work, m, limit)
    secret = without_items(len(sets)) if private is None else private
    room = max(secret.size, 1)
    empty_supports = np.zeros(room, np.int64)
    empty_private = np.zeros(room, np.int64)
    loop = kernels.baskets.Private(secret.pointers, secret.items, empty_supports, empty_private)
    kernels.baskets.list_violating_sets(
        work.kernel(), loop, m, k, float(share), roots, enough, listed
    )
    listed_count, count, smallest = (int(number) for number in listed.tallies)
    violations = Violations(
        _renumber_items(listed.members[:listed_count], order),
        listed.supports[:listed_count].copy(),
        private=listed.private_counts[:listed_count].copy(),
        carriers=listed.carriers,
        count=count,
        # Still above everybody: nobody has any item.
        least=smallest if smallest <= len(sets) else None,
        worst=float(listed.worst[0]),
    )
    # A list that was cut short may lack the smaller sets that others are compared with.
    if not violations.complete:
        return violations
    return _minimal(violations)


def _room_for_sets(sets: ItemSets, m: int, limit: int) -> kernels.baskets.SetList:
    """Room for sets that are found; what is not written to costs no memory."""
    tallies = np.array([0, 0, len(sets) + 1], dtype=np.int64)
    return kernels.baskets.SetList(
        np.empty((limit, m), np.int32),
        np.empty(limit, np.int64),
        np.empty(limit, np.int64),
        np.zeros(len(sets), np.bool_),
        tallies,
        np.zeros(1),
    )


def _renumber_items(members: NDArray[np.int32], order: Ints) -> NDArray[np.int32]:
    """Rows of new numbers as ascending rows of the old ones."""
    if not len(order):
        return members.copy()
    # Above every item, so that empty places are sorted behind.
    behind = np.iinfo(np.int32).max
    new_numbers = order[np.maximum(members, 0)]
    item_numbers = np.where(members >= 0, new_numbers.astype(np.int32), behind)
    item_numbers.sort(axis=1)
    item_numbers[item_numbers == behind] = -1
    return item_numbers


def _minimal(violations: Violations) -> Violations:
    """The same without sets that hold a smaller one. The walk has left out those whose first items
    are one.
    """
    lengths = (violations.members >= 0).sum(axis=1)
    if not len(lengths) or lengths.min() == lengths.max():
        return violations
    keep = np.ones(len(lengths), dtype=bool)
    for length in range(2, int(lengths.max(initial=0)) + 1):
        rows = np.flatnonzero(lengths == length)
        # A set is out if it holds any smaller one that is in: by length, all smaller ones are
        # settled.
        for smaller in range(1, length):
            smaller_sets = violations.members[(lengths == smaller) & keep][:, :smaller]
            if len(smaller_sets) and len(rows):
                sets_of_length = violations.members[rows][:, :length]
                rows = rows[~_holds_one(sets_of_length, smaller_sets)]
        keep[lengths == length] = False
        keep[rows] = True
    amount = int(keep.sum())
    return dataclasses.replace(
        violations,
        members=violations.members[keep],
        supports=violations.supports[keep],
        private=violations.private[keep],
        count=amount,
    )


def _holds_one(rows: NDArray[np.int32], known_sets_given: NDArray[np.int32]) -> Flags:
    """Which rows hold all items of one of the known ones."""
    from itertools import combinations

    width = known_sets_given.shape[1]
    holds = np.zeros(len(rows), dtype=bool)
    # Rows are ascending, so a part of a row is a choice of its columns in order.
    for columns in combinations(range(rows.shape[1]), width):
        stacked = np.concatenate([known_sets_given, rows[:, columns]])
        _, codes = np.unique(stacked, axis=0, return_inverse=True)
        codes = codes.reshape(-1)
        holds |= np.isin(codes[len(known_sets_given) :], codes[: len(known_sets_given)])
    return holds


def smallest_support(sets: ItemSets, m: int) -> int | None:
    """The smallest number of people who carry a set of at most ``m`` items that somebody has; None
    when nobody has anything.

    >>> smallest_support(ItemSets.of([[0, 1], [0, 1], [0]]), 2)
    2
    """
    # No support is below 0: nothing is listed, and the search only notes the least support.
    return violating(sets, m, 0, limit=0, enough=1).least


def supports_of(sets: ItemSets, queries: Sequence[Sequence[int]]) -> Ints:
    """How many people carry each of some sets; everybody carries the empty one."""
    counts = np.empty(len(queries), dtype=np.int64)
    for number, query in enumerate(queries):
        # The rarest item first: what is intersected only gets shorter.
        items = sorted(set(query), key=lambda item: int(sets.supports[item]))
        if not items:
            carriers = np.arange(len(sets))
        else:
            carriers = sets.carriers(items[0]).astype(np.int64)
        for item in items[1:]:
            carriers = np.intersect1d(carriers, sets.carriers(item), assume_unique=True)
        counts[number] = len(carriers)
    return counts


@dataclasses.dataclass(frozen=True, eq=False)
class KnownSets:
    """What knowing ``m`` items reveals, per person: ``alone`` is the share of the sets of m own
    items that nobody else has.

    ``chance`` is the mean of 1/support over them, ``rarest`` the smallest support; who has nothing
    has 0, 0 and 0. Who has fewer than m items is known by all of them.
    """

    alone: NDArray[np.float64]
    chance: NDArray[np.float64]
    rarest: Ints
    sets: NDArray[np.float64]


def known_sets(sets: ItemSets, m: int) -> KnownSets:
    """What everybody's sets of ``m`` own items reveal, exactly.

    >>> known_sets(ItemSets.of([[0, 1], [0, 1], [0, 2]]), 1).alone.tolist()
    [0.0, 0.0, 0.5]
    """
    work, _ = rank_items(sets)
    alone = np.zeros(len(sets))
    inverse = np.zeros(len(sets))
    rarest = np.full(len(sets), len(sets) + 1, dtype=np.int64)
    kernels.baskets.count_known_sets(work.kernel(), m, alone, inverse, rarest)
    lengths = sets.lengths
    totals = np.ones(len(sets))
    for j in range(m):
        # The number of sets of m items, factor by factor; who has m or fewer is known by all of
        # them.
        totals *= np.where(lengths > m, (lengths - j) / (j + 1), 1.0)
    has_items = lengths > 0
    uniqueness = np.where(has_items, alone / totals, 0.0)
    inverse_mean = np.where(has_items, inverse / totals, 0.0)
    rarest_set = np.where(has_items, rarest, 0)
    amounts = np.where(has_items, totals, 0.0)
    return KnownSets(uniqueness, inverse_mean, rarest_set, amounts)


def frequent(
    sets: ItemSets, m: int, minimum_support: int, limit: int = MOST_LISTED
) -> dict[tuple[int, ...], int]:
    """Sets of at most ``m`` items that at least ``minimum_support`` people carry, with their
    supports; refused beyond ``limit``.

    >>> frequent(ItemSets.of([[0, 1], [0, 1], [0, 2]]), 2, 2)
    {(0,): 3, (1,): 2, (0, 1): 2}
    """
    if minimum_support < 1:
        raise ParameterError("a frequent set must have at least one carrier")
    work, order = rank_items(sets)
    listed = _room_for_sets(work, m, limit)
    kernels.baskets.list_frequent_sets(work.kernel(), m, minimum_support, listed)
    listed_count, count, _ = (int(number) for number in listed.tallies)
    if count > listed_count:
        raise ParameterError(
            f"there are {count:,} frequent sets, more than {limit:,}; ask for a higher support"
        )
    members = _renumber_items(listed.members[:listed_count], order)
    named_sets = []
    for row, n in zip(members, listed.supports[:listed_count], strict=True):
        named_sets.append((tuple(row[row >= 0].tolist()), int(n)))
    return dict(
        sorted(
            named_sets, key=lambda set_and_support: (len(set_and_support[0]), set_and_support[0])
        )
    )


def closed_sets(sets: ItemSets, limit: int = MOST_CLOSED) -> dict[frozenset[int], int] | None:
    """All intersections of people's sets with their supports, the set that everybody carries too;
    None when there are more than ``limit``.

    A set q and its closure (the intersection of its carriers) have the same carriers, so what holds
    of supports and confidences need only be looked at on closed sets.

    >>> closed_sets(ItemSets.of([[0, 1], [0, 2]]))
    {frozenset({0}): 2, frozenset({0, 1}): 1, frozenset({0, 2}): 1}
    """
    bits = carrier_bits(sets)
    if bits is None or not len(sets):
        return None if bits is None else {}
    everybody = (1 << len(sets)) - 1
    waiting = [(_closure(sets, bits, everybody), everybody, -1)]
    supports: dict[frozenset[int], int] = {}
    # each closed set is reached once: by the extension that adds nothing before its last item
    while waiting:
        closed, carriers, last = waiting.pop()
        supports[closed] = carriers.bit_count()
        if len(supports) > limit:
            return None
        for item in range(last + 1, sets.size):
            fewer = carriers & bits[item]
            if item in closed or not fewer:
                continue
            larger = _closure(sets, bits, fewer)
            # A closure that adds an item before the last one is reached from that item instead.
            if all(other_item >= item or other_item in closed for other_item in larger):
                waiting.append((larger, fewer, item))
    return {
        item_set: supports[item_set]
        for item_set in sorted(supports, key=lambda item_set: (len(item_set), sorted(item_set)))
    }


def _closure(sets: ItemSets, bits: Sequence[int], carriers: int) -> frozenset[int]:
    """The items that all of some people have: those of one of them that all others have too."""
    # The lowest bit that is set: the first of the carriers.
    first_carrier = (carriers & -carriers).bit_length() - 1
    return frozenset(
        item for item in sets[first_carrier].tolist() if carriers & bits[item] == carriers
    )


def carrier_bits(sets: ItemSets) -> list[int] | None:
    """Per item a number whose bit *t* says whether person *t* has it; None where that would fill
    the memory.
    """
    if len(sets) * sets.size > MOST_BITS:
        return None
    bits = []
    for item in range(sets.size):
        has = np.zeros(len(sets), dtype=np.bool_)
        has[sets.carriers(item)] = True
        bits.append(int.from_bytes(np.packbits(has, bitorder="little").tobytes(), "little"))
    return bits


def whole_classes(sets: ItemSets) -> tuple[Ints, Ints]:
    """The number of the class of people with exactly the same items, and the sizes of the classes.

    >>> whole_classes(ItemSets.of([[0], [0, 1], [0]]))[1].tolist()
    [2, 1]
    """
    # Equal sets are equal stretches of bytes, which a dict distinguishes at once.
    raw = sets.items.tobytes()
    width = sets.items.itemsize
    class_numbers: dict[bytes, int] = {}
    codes = np.empty(len(sets), dtype=np.int64)
    ends = (sets.pointers * width).tolist()
    for person in range(len(sets)):
        raw_key = raw[ends[person] : ends[person + 1]]
        codes[person] = class_numbers.setdefault(raw_key, len(class_numbers))
    return codes, np.bincount(codes, minlength=len(class_numbers)).astype(np.int64)
