r"""What an intruder may know of a person in several tables, and among how many persons that leaves
the person.

==========  ========================================================================================
``own``     the person's own quasi-identifiers
``counts``  these, and how many rows the person has in every table
``rows``    these, and what all rows of the person show in every table (how often too): everything
            there is
``any``     these, and any ``facts`` rows of the person, from any of the tables together
==========  ========================================================================================

A fact is a row with all its quasi-identifiers, and those of the rows above it: who knows a
prescription knows what the visit shows. Who has two equal rows has the fact twice, and who knows
both knows two facts. What is known is true and positive: that somebody has a row, not that there is
no other (``counts`` and ``rows`` are about that). Persons are counted, never rows: the rows of one
person make no crowd. Which rows of the same table above two known rows belong to, where these show
the same, is known to ``rows`` alone: there persons are alike only if all their rows hang together
in the same way.

With ``own: false`` the own columns are not known. An intruder who knows *p* facts from any of the
tables, where the own columns together or one by one count among the *p*, knows less than one who
knows all own columns and *p* rows besides; so ``any`` with ``facts: p`` covers that intruder as
well.

Everything is exact as long as there are no more sets of facts than ``effort``. Beyond, only smaller
sets are looked at, and what is known is a range: nobody who knows a few rows knows more than
whoever knows them all, nor less than whoever knows fewer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato import kernels
from sfumato.data.relational.person_views import Shown, ShownSensitive
from sfumato.errors import InternalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Listed = tuple[NDArray[np.int64], NDArray[np.int64]]

Knows = Literal["own", "counts", "rows", "any"]
EFFORT = 1_000_000_000
"""Sets of facts that are looked at, at most, unless somebody asks for more."""


def numbered(keys: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """The same keys as numbers from 0 on, in their order, and how many there are.

    >>> numbered(np.array([7, 3, 7]))[0].tolist()
    [1, 0, 1]
    """
    distinct, numbers = np.unique(keys, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), len(distinct)


def together(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The number of what several columns show together.

    >>> together([np.array([0, 0, 1]), np.array([5, 5, 5])]).tolist()
    [0, 0, 1]
    """
    joint, _ = numbered(columns[0])
    # Numbered again after each column: products of many sizes would not fit a number.
    for column in columns[1:]:
        codes, kinds = numbered(column)
        joint, _ = numbered(joint * max(kinds, 1) + codes)
    return joint


def paths(view: Shown) -> list[NDArray[np.int64]]:
    """Per table below the people and row a code of what it shows together with the rows above
    it.
    """
    codes_by_table: dict[str, NDArray[np.int64]] = {}
    # Tables come behind their parents, so the codes of the rows above are there.
    for rows in view.rows:
        if rows.parent is None or rows.above is None:
            own = rows.shows
        else:
            own = together([rows.shows, codes_by_table[rows.parent][rows.above]])
        codes_by_table[rows.table] = numbered(own)[0]
    return list(codes_by_table.values())


def hanging(view: Shown) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows right below the people: whose they are, and a code of what each shows with all that
    hangs below it, from all tables.

    Two rows have the same code when they show the same and for each table below have rows with the
    same codes, as often.
    """
    below: dict[str, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}
    owners, codes, kinds = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    # From the bottom up: a row can be compared once all that hangs below it has a code.
    for rows in reversed(view.rows):
        whole = together([rows.shows])
        for above, child_codes in below.get(rows.table, ()):
            # Split further by the multiset of codes below, one table below after the other.
            whole = kernels.fact_sets.group_equal_people(
                whole, *listed(above, child_codes, len(whole))
            )
        if rows.parent is None or rows.above is None:
            owners.append(rows.person)
            # Codes of different tables must not meet: each table begins behind the last one.
            codes.append(whole + kinds)
            kinds += int(whole.max(initial=-1)) + 1
        else:
            below.setdefault(rows.parent, []).append((rows.above, whole))
    return np.concatenate(owners), np.concatenate(codes)


def listed(owners: NDArray[np.int64], codes: NDArray[np.int64], size: int) -> Listed:
    """The codes of every owner behind one another, ascending: where those of each begin, and all.

    >>> [part.tolist() for part in listed(np.array([1, 0, 1]), np.array([5, 7, 3]), 2)]
    [[0, 1, 3], [7, 3, 5]]
    """
    # By owner, then code: multisets that are equal then stand in the same order.
    order = np.lexsort((codes, owners))
    return np.searchsorted(owners[order], np.arange(size + 1)).astype(np.int64), codes[order]


@dataclasses.dataclass(frozen=True, eq=False)
class Persons:
    """Persons as an intruder sees them: a class of own columns, and a multiset of rows from all
    tables.

    ``codes[pointers[t]:pointers[t + 1]]`` are the rows of person *t*, ascending, each as often as
    it occurs; ``of_row`` says which row of all tables, behind one another, each of them is, and
    ``tables`` where the rows of every table begin.
    """

    classes: NDArray[np.int64]
    pointers: NDArray[np.int64]
    codes: NDArray[np.int64]
    of_row: NDArray[np.int64]
    tables: NDArray[np.int64]
    kinds: int
    shown: Shown

    @classmethod
    def of(
        cls, view: Shown, *, own: bool = True, stream: np.random.Generator | None = None
    ) -> Persons:
        """Everybody in what tables show; without ``own`` everybody is in one class. Equal rows of a
        person come in the order of their table, or at random.
        """
        classes = classes_of(view, own=own)
        # Rows of all tables behind one another; here each table begins.
        ends = np.cumsum([0, *(len(rows.person) for rows in view.rows)], dtype=np.int64)
        codes, kinds = np.zeros(int(ends[-1]), dtype=np.int64), 0
        for numbers, begin, end in zip(paths(view), ends[:-1], ends[1:], strict=True):
            codes[begin:end] = numbers + kinds
            kinds += int(numbers.max(initial=-1)) + 1
        owners = np.concatenate([np.zeros(0, np.int64), *(rows.person for rows in view.rows)])
        # One number for (person, code); sorting it puts equal rows of a person side by side.
        keys = owners * max(kinds, 1) + codes
        order = (
            # Stable: without a stream equal rows keep the order of their table.
            np.argsort(keys, kind="stable")
            if stream is None
            else np.lexsort((stream.random(len(keys)), keys))
        )
        pointers = np.searchsorted(owners[order], np.arange(view.persons + 1)).astype(np.int64)
        return cls(classes, pointers, codes[order], order.astype(np.int64), ends, kinds, view)

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """Whose each of the ``codes`` is."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.pointers))

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """Per entry of ``codes`` the how-many-th copy of the same row of the same person it is,
        from 0 on.
        """
        if not len(self.codes):
            return np.zeros(0, dtype=np.int64)
        key = self.owners * max(self.kinds, 1) + self.codes
        # Where a new (person, code) begins; the place behind it is the number of the copy.
        first = np.flatnonzero(np.diff(key, prepend=-1))
        lengths = np.diff(np.append(first, len(key)))
        return np.arange(len(key)) - np.repeat(first, lengths)

    @cached_property
    def in_tables(self) -> tuple[NDArray[np.int64], ...]:
        """Per table how many rows everybody has."""
        # The row's number says its table: the last one that begins at or before it.
        table = np.searchsorted(self.tables, self.of_row, side="right") - 1
        return tuple(
            np.bincount(self.owners[table == number], minlength=len(self)).astype(np.int64)
            for number in range(len(self.tables) - 1)
        )

    def alike(self, knows: Knows) -> NDArray[np.int64]:
        """Per person the number of the group of those whom somebody who ``knows`` so much cannot
        distinguish; ``any``: by own columns.
        """
        if knows == "counts":
            return groups_of(self.shown, knows, classes=self.classes)
        if knows == "rows":
            # Without tables below tables the flat lists say everything; otherwise what hangs
            # together counts.
            flat = all(rows.parent is None for rows in self.shown.rows)
            if flat:
                own_lists = (self.pointers, self.codes)
            else:
                own_lists = listed(*hanging(self.shown), len(self))
            groups: NDArray[np.int64] = kernels.fact_sets.group_equal_people(
                self.classes, *own_lists
            )
            return groups
        return self.classes

    def facts(self, m: int) -> FactRows:
        """The rows as sets of at most ``m`` of them are counted: within classes, by rising support,
        copies distinguished.
        """
        used = self.copies < m  # whoever knows m facts knows at most m copies of one
        owners, copies = self.owners[used], self.copies[used]
        # The second copy of a row is another fact than the first, had only by who has it twice.
        keys = (self.classes[owners] * max(self.kinds, 1) + self.codes[used]) * m + copies
        distinct, numbers = np.unique(keys, return_inverse=True)
        numbers = numbers.reshape(-1)
        # The copy number is the last digit: 0 says that it is the first copy.
        first = distinct % m == 0
        carriers = np.bincount(numbers, minlength=len(distinct))
        # Copies are ordered by the support of their first copy, so that they stay behind it.
        of_first = carriers[first][np.cumsum(first) - 1]
        # Rare facts first: sets that begin with them have few carriers and are cut short early.
        order = np.lexsort((np.arange(len(distinct)), of_first))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        entry_order = np.argsort(owners * max(len(order), 1) + rank[numbers], kind="stable")
        pointers = np.searchsorted(owners[entry_order], np.arange(len(self) + 1)).astype(np.int64)
        return FactRows(
            pointers,
            rank[numbers][entry_order],
            copies[entry_order] > 0,
            first[order],
            np.flatnonzero(used)[entry_order],
        )


def classes_of(view: Shown, *, own: bool = True) -> NDArray[np.int64]:
    """Per person the number of the class by own columns; without ``own`` everybody is in one."""
    if own:
        return together([view.own])
    return np.zeros(view.persons, dtype=np.int64)


def groups_of(
    view: Shown, knows: Knows, *, own: bool = True, classes: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Per person the number of the group, see :meth:`Persons.alike`; the rows, of which there are
    many, are put in order only where they count.
    """
    if knows == "rows":
        return Persons.of(view, own=own).alike(knows)
    if classes is None:
        classes = classes_of(view, own=own)
    counts = [
        np.bincount(rows.person, minlength=view.persons).astype(np.int64) for rows in view.rows
    ]
    if knows != "counts":
        return classes
    return together([classes, *counts])


@dataclasses.dataclass(frozen=True, eq=False)
class FactRows:
    """Rows as the loops over sets of facts take them (see :mod:`sfumato.kernels.fact_sets`).

    ``places`` says where each entry stands among the ``codes`` of the people.
    """

    pointers: NDArray[np.int64]
    items: NDArray[np.int64]
    deeper: NDArray[np.bool_]
    roots: NDArray[np.bool_]
    places: NDArray[np.int64]

    @cached_property
    def kernel(self) -> Any:
        """What the loops take."""
        items = self.items.astype(np.int32)
        posted = kernels.baskets.transpose_items(self.pointers, items, len(self.roots))
        return kernels.fact_sets.FactLists(self.pointers, items, self.deeper, self.roots, *posted)

    def reach(self, m: int, effort: int) -> int:
        """The most facts, at most ``m``, of which all sets can be looked at with this effort."""
        # Sets of 1, 2, … facts, added up: how far the effort reaches.
        sets = np.cumsum(kernels.fact_sets.count_sub_multisets(self.pointers, self.deeper, m)[1:])
        return int(np.searchsorted(sets, effort, side="right"))


@dataclasses.dataclass(frozen=True, eq=False)
class LowHigh:
    """Per person a number that lies between ``low`` and ``high``; ``reach`` is the number of facts
    of which all sets were looked at.
    """

    low: NDArray[Any]
    high: NDArray[Any]
    reach: int | None = None

    @property
    def exact(self) -> bool:
        """Whether it is known of everybody."""
        return bool((self.low == self.high).all())


class Disclosure(IntEnum):
    """How what a crowd reveals about its members is measured; as the loops number it."""

    DISTINCT = 0
    FREQUENCY = 1
    ENTROPY = 2
    EQUAL = 3
    EACH = 4
    LINE = 5
    TREE = 6


@dataclasses.dataclass(frozen=True, eq=False)
class ValueLayout:
    """Where the values of a column lie, per code: a number to put them in ``order`` or on a
    ``scale`` by, or the nodes above in a ``tree``.
    """

    of: Literal["order", "scale", "tree"]
    values: NDArray[Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Secrets:
    """The sensitive values of one column, as sets: who has several rows may have several values."""

    pointers: NDArray[np.int64]
    codes: NDArray[np.int64]
    values: int
    kinds: NDArray[np.int64]
    """Per value its code in the column."""

    @classmethod
    def of(cls, column: ShownSensitive, persons: int) -> Secrets:
        """The values of everybody; a value that somebody has twice is one."""
        # Codes that occur, numbered without gaps.
        kinds, codes = np.unique(column.code, return_inverse=True)
        codes, values = codes.reshape(-1).astype(np.int64), len(kinds)
        keys = np.unique(column.person * max(values, 1) + codes)
        owners = keys // max(values, 1)
        pointers = np.searchsorted(owners, np.arange(persons + 1)).astype(np.int64)
        return cls(pointers, keys % max(values, 1), values, kinds)

    @property
    def single(self) -> bool:
        """Whether nobody has more than one value."""
        return bool((np.diff(self.pointers) <= 1).all())

    @cached_property
    def kernel(self) -> Any:
        """What the loops take, but for sets of values: only who asks how many share none needs
        these, and they are many.
        """
        persons, lengths = len(self.pointers) - 1, np.diff(self.pointers)
        # The last entry is for persons without any value.
        counts = np.append(np.bincount(self.codes, minlength=self.values), (lengths == 0).sum())
        common = np.argsort(-counts[:-1], kind="stable").astype(np.int64)
        zeros, room = np.zeros(self.values + 1, np.int64), np.zeros(1, np.int64)
        return kernels.fact_sets.ValueSets(
            self.pointers,
            self.codes,
            np.zeros(persons, np.int64),
            np.zeros(2, np.int64),
            room[:0],
            # Shares among all persons, to which a crowd is compared.
            counts / max(persons, 1),
            common,
            zeros,
            zeros.copy(),
            room.astype(np.bool_),
            room,
            self.on_line(np.zeros(0)),
            self.in_tree(np.zeros((0, 1), np.int64)),
        )

    @cached_property
    def with_sets(self) -> Any:
        """What the loops take; sets of values are numbered by length, then by what they hold."""
        persons = len(self.pointers) - 1
        met = kernels.fact_sets.group_equal_people(
            np.zeros(persons, np.int64), self.pointers, self.codes
        )
        # One person of each kind of set; its values stand for all of them.
        first_persons = np.unique(met, return_index=True)[1]
        members = [
            self.codes[self.pointers[person] : self.pointers[person + 1]].tolist()
            for person in first_persons
        ]
        # Short sets first: persons with few values are taken first where a group without shared
        # values is built.
        order = sorted(
            range(len(first_persons)), key=lambda number: (len(members[number]), members[number])
        )
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        set_codes = np.array([code for number in order for code in members[number]], dtype=np.int64)
        set_pointers = np.cumsum([0, *(len(members[number]) for number in order)], dtype=np.int64)
        room = np.zeros(max(len(order), 1), np.int64)
        return self.kernel._replace(
            kind=rank[met],
            set_pointers=set_pointers,
            set_codes=set_codes,
            kind_marks=room.astype(np.bool_),
            kinds=room,
        )

    @cached_property
    def masses(self) -> NDArray[np.float64]:
        """Per value the mass of all people there, each of whom shares out 1 evenly among the own
        values.
        """
        lengths = np.diff(self.pointers)
        # Somebody with three values gives a third to each, so that every person weighs the same.
        parts = np.repeat(1.0 / np.maximum(lengths, 1), lengths)
        return np.bincount(self.codes, parts, minlength=self.values).astype(np.float64)

    def for_measure(self, measure: Disclosure, layout: ValueLayout | None = None) -> Any:
        """What the loops take for a measure, with the values on a line or in a tree; those that
        nobody has do not stretch it.
        """
        if measure == Disclosure.DISTINCT:
            return self.with_sets
        if layout is None and measure in (Disclosure.LINE, Disclosure.TREE):
            raise InternalError(
                "distances are measured, but the positions of the values are not given"
            )
        if layout is None or not self.values:
            return self.kernel
        # Only values that occur: an order must not be stretched by others.
        laid = layout.values[self.kinds]
        if layout.of == "tree":
            return self.kernel._replace(tree=self.in_tree(laid))
        if layout.of == "order":
            laid = numbered(laid)[0].astype(np.float64)
        # A single value has no span; it lies at 0.
        span = float(laid.max() - laid.min())
        return self.kernel._replace(line=self.on_line((laid - laid.min()) / (span or 1.0)))

    def on_line(self, positions: NDArray[np.float64]) -> Any:
        """The values on a line, ``positions`` from 0 to 1; none given: no line."""
        order = np.argsort(positions, kind="stable").astype(np.int64)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        if len(order):
            shares = np.cumsum(self.masses[order])
        else:
            shares = np.zeros(0)
        if len(shares) and shares[-1]:
            shares = shares / shares[-1]
        ascending = positions[order].astype(np.float64)
        areas = (
            # Areas below the cumulative shares, so that distances of a crowd need only its own
            # values.
            np.append(0.0, np.cumsum(shares[:-1] * np.diff(ascending)))
            if len(order)
            else np.zeros(0)
        )
        return kernels.group_closeness.ValueLine(
            ranks, ascending, shares, areas, np.zeros(len(order)), np.zeros(len(order), np.int64)
        )

    def in_tree(self, ancestors: NDArray[np.int64]) -> Any:
        """The values in a tree, per value the ``ancestors`` numbered over all levels; none given:
        no tree.
        """
        nodes = int(ancestors.max(initial=-1)) + 1
        persons, expected = max(len(self.pointers) - 1, 1), np.zeros(nodes)
        # Every node gets what lies below it, level by level.
        for level in range(ancestors.shape[1]) if len(ancestors) else ():
            np.add.at(expected, ancestors[:, level], self.masses / persons)
        room = np.zeros(max(nodes, 1), np.int64)
        return kernels.group_closeness.ValueTree(
            np.ascontiguousarray(ancestors), expected, np.zeros(max(nodes, 1)), room
        )


@dataclasses.dataclass(frozen=True)
class Acquaintance:
    """Somebody who knows something of a person, see above; ``facts`` only where ``knows`` is
    ``any``.
    """

    knows: Knows
    facts: int = 0
    own: bool = True
    effort: int = EFFORT

    def crowds(self, view: Shown, *, floor: int = 1) -> LowHigh:
        r"""Per person the fewest persons who share what the intruder knows, whatever of it that is.

        .. math:: k_i = \min_{Q \subseteq R_i,\ |Q| = \min(m, |R_i|)}
            \bigl|\{j : c_j = c_i,\ Q \subseteq R_j\}\bigr|

        for ``any`` *m* facts, with :math:`R_i` the multiset of rows of person *i* and :math:`c_i`
        the class of the own columns; else the size of the group of those who are alike. Values at
        or below ``floor`` need not be exact: they may be smaller still.
        """
        if self.knows != "any":
            groups = groups_of(view, self.knows, own=self.own)
            sizes = np.bincount(groups)[groups] if len(groups) else groups
            return LowHigh(sizes, sizes)
        people = Persons.of(view, own=self.own)
        # No row at all: the class of own columns is the largest crowd, and more knowledge only
        # shrinks it.
        if len(people):
            smallest = np.bincount(people.classes)[people.classes].astype(np.int64)
        else:
            smallest = people.classes
        rows = people.facts(self.facts)
        reach = rows.reach(self.facts, self.effort)
        if reach:
            kernels.fact_sets.find_fewest_sharers(rows.kernel, reach, floor, smallest)
        if reach == self.facts:
            return LowHigh(smallest, smallest, reach)
        # Beyond the effort: knowing all rows is the least favourable case, and bounds it from
        # below.
        everything = people.alike("rows")
        # Who has no more rows than were looked at is known exactly.
        whole = np.diff(people.pointers) <= reach
        low = np.where(whole, smallest, np.minimum(smallest, np.bincount(everything)[everything]))
        return LowHigh(low, smallest, reach)

    def told(
        self,
        view: Shown,
        column: str,
        measure: Disclosure,
        *,
        ceiling: float = 1.0,
        layout: ValueLayout | None = None,
    ) -> LowHigh:
        """Per person the most that a crowd the intruder can find reveals about a sensitive
        column, whatever is known.

        ``any``: of all crowds of those who share at most so many rows, none at all included: more
        knowledge may reveal less, so all sizes are looked at. ``layout`` says where values lie.
        Beyond the effort: a crowd is made of groups that are alike in everything, and reveals no
        more than the worst of these does. Values at or above ``ceiling`` need not be exact: they
        may be larger still.
        """
        secrets = Secrets.of(view.sensitive[column], view.persons).for_measure(measure, layout)
        # For ``any`` this is the crowd by own columns, nothing else known.
        worst = of_groups(secrets, measure, groups_of(view, self.knows, own=self.own))
        if self.knows != "any" or not view.persons:
            return LowHigh(worst, worst)
        people = Persons.of(view, own=self.own)
        rows = people.facts(self.facts)
        reach = rows.reach(self.facts, self.effort)
        if reach:
            kernels.fact_sets.measure_facts(
                rows.kernel, secrets, reach, int(measure), ceiling, worst
            )
        if reach == self.facts:
            return LowHigh(worst, worst, reach)
        # Any crowd of a class is made of groups alike in everything, so the worst of these is a
        # bound.
        class_maxima = np.zeros(int(people.classes.max()) + 1)
        np.maximum.at(
            class_maxima, people.classes, of_groups(secrets, measure, people.alike("rows"))
        )
        whole = np.diff(people.pointers) <= reach
        return LowHigh(
            worst, np.where(whole, worst, np.maximum(worst, class_maxima[people.classes])), reach
        )


def of_groups(
    secrets: object, measure: Disclosure, groups: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Per person what the group of the person reveals."""
    # Persons by group; where each group begins.
    order = np.argsort(groups, kind="stable").astype(np.int64)
    starts = np.searchsorted(groups[order], np.arange(int(groups.max(initial=-1)) + 2)).astype(
        np.int64
    )
    group_values: NDArray[np.float64] = kernels.fact_sets.measure_groups(
        secrets, int(measure), starts, order
    )
    return group_values[groups]
