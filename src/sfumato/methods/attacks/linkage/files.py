"""Both files as arrays of distinct records, and who is whom."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.attack import AT_ONCE, MOST_AT_ONCE
from sfumato.core.groups import places_in_groups
from sfumato.methods.attacks.crowd import Distinct, alike_records, distinct
from sfumato.methods.attacks.linkage.aggregators import MEAN, Family
from sfumato.methods.attacks.linkage.comparable_columns import (
    ComparedColumn,
    common_columns,
    compare,
)
from sfumato.methods.attacks.linkage.distance_rules import plain_arrays
from sfumato.methods.attacks.linkage.search import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.methods.attacks.linkage.comparison_arrays import Arrays

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


MARGIN = 1e-4
"""The program takes a record for the nearest alone when every other is farther by at least
this much: it knows no strict inequality.
"""
KEPT = 8
"""Others remembered per record and look."""


@dataclasses.dataclass(frozen=True, eq=False)
class Files:
    """The columns in common, the distinct records of either file, and the pairs of rows that
    describe one person.

    ``own`` is, per row of the intruder's file, the first released row that it describes (−1: none);
    a person with several rows has more true pairs than that.
    """

    columns: tuple[ComparedColumn, ...]
    intruder: Distinct
    released: Distinct
    true_pairs: Ints
    own: Ints

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in common."""
        return tuple(column.name for column in self.columns)

    @functools.cached_property
    def plain(self) -> Arrays:
        """The files under the distance that all columns count alike in; made once, with its tree,
        for all who search by it.
        """
        return plain_arrays(self)


def files_of(scene: Scene) -> Files:
    """Read the columns in common and compress either file to its distinct records; done once for an
    intruder and a pair.
    """
    key = ("files", scene.pair)
    memo = scene.intruder.memo
    if key not in memo:
        memo[key] = _files(scene)
    files: Files = memo[key]
    return files


def _files(scene: Scene) -> Files:
    columns = tuple(compare(scene, name) for name in common_columns(scene))
    intruder_kinds = distinct([column.intruder for column in columns])
    released_kinds = alike_records(scene.pair, [column.name for column in columns])
    # Synthetic rows are nobody's: there are no true pairs among them.
    truth = scene.intruder.truth
    true_pairs = np.zeros((0, 2), dtype=np.int64)
    own = np.full(len(truth), -1, dtype=np.int64)
    if scene.pair.aligned:
        same_rows = same_person(truth, scene.pair.rows)
        # In order of the intruder's rows: of several released rows the first is looked up.
        people, first = np.unique(same_rows[:, 0], return_index=True)
        own[people] = same_rows[first, 1]
        true_pairs = same_rows
        persons = scene.pair.persons
        if persons is not None:
            # Whoever is found by any of their records is found; −1 is a stranger, as among rows.
            sought = np.where(truth >= 0, persons[np.maximum(truth, 0)], -1)
            true_pairs = same_person(sought, persons[scene.pair.rows])
    return Files(columns, intruder_kinds, released_kinds, true_pairs, own)


def same_person(truth: Ints, rows: Ints) -> Ints:
    """Pairs (intruder's row, released row) that describe the same row of the original.

    >>> import numpy as np
    >>> same_person(np.array([2, -1, 0, 2]), np.array([0, 2])).tolist()
    [[0, 1], [2, 0], [3, 1]]
    """
    last_row = max(int(rows.max(initial=-1)), int(truth.max(initial=-1)))
    sought = np.zeros(last_row + 1, dtype=bool)
    sought[truth[truth >= 0]] = True
    sought_rows = np.flatnonzero(sought[rows])  # of a large release few rows are sought
    order = sought_rows[np.argsort(rows[sought_rows], kind="stable")]
    first = np.searchsorted(rows[order], truth, side="left")
    amount = np.where(truth >= 0, np.searchsorted(rows[order], truth, side="right") - first, 0)
    # Person i has amount[i] rows from first[i] on: amounts 2, 0, 1 → people 0, 0, 2 and steps 0, 1,
    # 0.
    person_numbers = np.repeat(np.arange(len(truth)), amount)
    step = places_in_groups(amount)
    positions = np.repeat(first, amount) + step
    return np.column_stack([person_numbers, order[positions]]).astype(np.int64)


# Records and their own in the other file, what others are near, and how many a distance tells from
# all others.


@dataclasses.dataclass(frozen=True, eq=False)
class Units:
    """Distinct pairs of an intruder's record and its own released one.

    ``people`` is how many there are of each, ``records`` how many released records are just like
    their own.
    """

    pairs: Ints
    people: Ints
    records: Ints
    whole: tuple[Pool, Ints] | None = None
    """A pool of units these are some of, and which: what is seen there of a unit is seen here, too.
    """

    def __len__(self) -> int:
        return len(self.pairs)

    def part(self, which: Ints, of: Pool | None = None) -> Units:
        """Some of them; ``of`` is a pool that all of them were looked at in."""
        whole = None if of is None else (of, which)
        return Units(self.pairs[which], self.people[which], self.records[which], whole)


@dataclasses.dataclass(frozen=True, eq=False)
class Look:
    """What a look at all records under some parameters shows, per unit.

    ``credit``: of its people, how many a random one of the nearest records links rightly, which is
    what distance linkage counts. ``apart``: whether its own record is nearer than all others by the
    margin, but for ``twins``, which are that many records as far as its own under all parameters.
    ``reach``: 0 where no monotone distance makes it the nearest, 1 with a tie, 2 alone.
    """

    credit: Floats
    apart: Flags
    twins: Ints
    reach: Ints
    others: Ints

    def part(self, which: Ints) -> Look:
        """The same of some units: what is seen of one does not depend on which others are looked
        at.
        """
        return Look(
            self.credit[which],
            self.apart[which],
            twins=self.twins[which],
            reach=self.reach[which],
            others=self.others[which],
        )


def units_of(files: Files) -> Units:
    """All units; who has several released records is sought by the first."""
    rows = np.flatnonzero(files.own >= 0)
    kinds = np.column_stack([files.intruder.kind_of[rows], files.released.kind_of[files.own[rows]]])
    pairs, people = np.unique(kinds.astype(np.int64).reshape(-1, 2), axis=0, return_counts=True)
    return Units(pairs, people.astype(np.int64), files.released.records[pairs[:, 1]])


class Looking:
    """Looks at all released records in turns: between two of them the clock is looked at, and what
    was compared is counted in ``spent``.
    """

    def __init__(self, between: Callable[[], object] = bool, at_once: int = AT_ONCE) -> None:
        self.between = between
        self.at_once = at_once
        self.spent = 0

    def impostors(
        self,
        arrays: Arrays,
        pairs: Ints,
        family: Family,
        parameters: Floats,
        *,
        first: bool,
    ) -> tuple[NDArray[Any], ...]:
        """What :func:`sfumato.kernels.linkage.find_impostors` finds for all pairs."""
        cells = len(arrays.released.records) * max(family.width, len(arrays.kinds))
        cost = max(1, cells)
        parts: list[tuple[NDArray[Any], ...]] = []
        pairs_done = 0
        # Once at least: of no pairs the loops still give empty arrays of the right shape.
        while pairs_done < len(pairs) or not parts:
            self.between()
            batch_size = max(1, min(MOST_AT_ONCE, self.at_once // cost))
            batch = pairs[pairs_done : pairs_done + batch_size]
            part, spent = _impostors(arrays, batch, family, parameters, first=first)
            parts.append(part)
            self.spent += spent
            pairs_done += len(batch)
            # The first guess is the whole release a pair; what the last batch took tells better.
            cost = max(1, spent // max(1, len(batch)))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _impostors(
    arrays: Arrays,
    pairs: Ints,
    family: Family,
    parameters: Floats,
    *,
    first: bool,
) -> tuple[tuple[NDArray[Any], ...], int]:
    """What the loops find, and how many cells they compared."""
    if family.kind == MEAN:
        work = np.zeros(1, dtype=np.int64)
        search = kernels.neighbours.MeanSearch(
            weights=parameters, impostor_count=KEPT, counts_twins=first, margin=MARGIN, tie=TIE
        )
        roots = roots_of(arrays, pairs)
        impostors = kernels.neighbours.find_impostors(
            pairs, roots, search, arrays.files, arrays.tree, arrays.lowest, work
        )
        return impostors, int(work[0]) * len(arrays.kinds)
    impostors = kernels.linkage.find_impostors(
        pairs, family.kind, parameters, KEPT, arrays.files, MARGIN, TIE
    )
    cells = len(pairs) * len(arrays.released.records) * max(family.width, len(arrays.kinds))
    return impostors, cells


def look(
    arrays: Arrays,
    units: Units,
    family: Family,
    parameters: Floats,
    *,
    before: Look | None = None,
    looking: Looking | None = None,
) -> Look:
    """Compare every unit with all released records; by a weighted mean, with those that are not
    plainly too far.

    ``before`` is a look of the same family at the same units: what no parameters change is taken
    from it.
    """
    own, impostor_kinds, distances, tied, twins, reach = (looking or Looking()).impostors(
        arrays, units.pairs, family, parameters, first=before is None
    )
    if before is not None and family.kind == MEAN:
        twins = before.twins
        reach = before.reach
    credit = np.where(tied > 0, units.people / np.maximum(1, tied), 0.0)
    is_apart = distances[:, 0] >= own + MARGIN
    return Look(credit, np.asarray(is_apart), twins=twins, reach=reach, others=impostor_kinds)


def roots_of(arrays: Arrays, pairs: Ints) -> Floats:
    """Signed roots of the differences of pairs of distinct records (the intruder's, the released),
    a column each.
    """
    roots: Floats = kernels.linkage.compute_roots(pairs, arrays.files)
    return roots


class Pool:
    """The others each unit is kept apart from: pairs (unit, released record), without repeats and
    twins, in order.

    ``alone`` is what a unit is worth where its own record and its twins are the nearest, ``shared``
    the most it is worth where another record ties with them.
    """

    def __init__(self, arrays: Arrays, units: Units, family: Family, looking: Looking) -> None:
        self.arrays = arrays
        self.units = units
        self.family = family
        self.looking = looking
        self.rows = np.zeros((0, 2), dtype=np.int64)
        self.roots = np.zeros((0, family.columns))
        self.own_roots = roots_of(arrays, units.pairs)
        self.own_terms = self._terms(self.own_roots)
        self.gains = np.zeros((0, family.width))
        self._looks: dict[tuple[int, bytes], Look] = {}
        equal = family.of_weights(np.full(family.columns, 1 / family.columns))
        alike = units.records + self.look(equal).twins
        self.alone = units.people / alike
        # Another distinct record that ties adds its rows, at least as many as the rarest has.
        self.shared = units.people / (alike + arrays.released.records.min(initial=1))

    def worth(self, apart: Flags, tied: Flags) -> float:
        """What is linked where some units are nearest alone and others with a tie."""
        certain = self.alone[apart].sum()
        shared = self.shared[tied & ~apart].sum()
        return float(certain + shared)

    def look(self, parameters: Floats, family: Family | None = None) -> Look:
        """Compare every unit with all released records; what was looked at before is remembered."""
        search_family = family or self.family
        key = (search_family.kind, parameters.tobytes())
        if key not in self._looks:
            self._looks[key] = self._cached_look(key) or look(
                self.arrays,
                self.units,
                search_family,
                parameters,
                before=self._before(search_family.kind),
                looking=self.looking,
            )
        return self._looks[key]

    def _cached_look(self, key: tuple[int, bytes]) -> Look | None:
        """What was seen of these units among others, by the same parameters."""
        if self.units.whole is None:
            return None
        pool, which = self.units.whole
        if key not in pool._looks:
            return None
        return pool._looks[key].part(which)

    def _before(self, kind: int) -> Look | None:
        """Any look of the same family."""
        return next(
            (
                earlier_look
                for (other_kind, _), earlier_look in self._looks.items()
                if other_kind == kind
            ),
            None,
        )

    def first_looks(self) -> None:
        """Fill with the nearest others under equal weights and under each column's emphasis."""
        size = self.family.columns
        plain = Family(MEAN, size)
        # Equal weights first, then half of the weight on one column and the rest alike.
        for weights in [np.full(size, 1 / size), *(np.eye(size) / 2 + 0.5 / size)]:
            self.add(self.look(weights, plain).others)

    def add(self, impostor_kinds: Ints, which: Flags | None = None) -> int:
        """Take in others of (some) units; returns how many are new."""
        unit = np.repeat(np.arange(len(self.units)), impostor_kinds.shape[1])
        fresh = np.column_stack([unit, impostor_kinds.ravel()])
        keep = fresh[:, 1] >= 0
        if which is not None:
            keep &= np.repeat(which, impostor_kinds.shape[1])
        return self.add_rows(fresh[keep])

    def add_rows(self, fresh: Ints) -> int:
        """Take in pairs (unit, released record); returns how many are new."""
        before = len(self.rows)
        width = max(1, len(self.arrays.released.records))
        # Pairs as single numbers, unit · width + record: repeats drop out and rows stay in order.
        stacked = np.concatenate([self.rows, fresh])
        keys = np.unique(stacked @ np.array([width, 1]))
        rows = np.column_stack(np.divmod(keys, width))
        if len(rows) > before:
            own_kinds = self.units.pairs[rows[:, 0], 0]
            roots = roots_of(self.arrays, np.column_stack([own_kinds, rows[:, 1]]))
            gains = self._terms(roots) - self.own_terms[rows[:, 0]]
            # No parameters tell a record apart whose terms are all equal to the own ones: a twin.
            informative = np.abs(gains).max(axis=1, initial=0.0) > 0.1 * TIE
            self.rows = rows[informative]
            self.roots = roots[informative]
            self.gains = gains[informative]
        return len(self.rows) - before

    def _terms(self, roots: Floats) -> Floats:
        terms: Floats = kernels.linkage.compute_terms(self.family.kind, roots, self.family.width)
        return terms
