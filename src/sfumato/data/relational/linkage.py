"""Linking people of a release to those of a file: whoever has the original rows of some tables
looks for who fits them.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato import kernels
from sfumato.core.attack import AT_LEAST, Attack, Finding, NothingToAttack
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import percent
from sfumato.data.relational.knowledge import listed, numbered, paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.data.relational.knowledge import Listed
    from sfumato.data.relational.tables import RelatedTables

NOT_SEEN = -1
"""The code of a row that looks like nothing that was released."""


@parameters
class JoinLinkage(Attack):
    """How often somebody with the original rows of some ``tables`` (by default all, the people's
    own included) finds the right person in the release.

    The intruder knows how values were recoded, so every original row is known as it looks in the
    release; in a recoding that treats equal rows differently, also how this one was (the worst
    case). Who in the release has the same own columns and no row that the person does not have may
    be the person: rows may have been left out, but none were added. Of these, those with the most
    rows are taken, and one of them at random is named: a right guess among n counts 1/n. A key that
    was released as it was tells everything. Of people who are not in the release nothing can be
    right. The truth serves the score alone.

    At most ``people`` are looked up, a random sample with a Wilson interval; fewer if time runs
    out.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    tables: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="tables the intruder has; by default all"),
    ] = None
    people: Annotated[
        int, Field(ge=20, description="most people to attack; more are sampled at random")
    ] = 2000

    name: ClassVar[str] = "join_linkage"
    title: ClassVar[str] = "Linked by all rows"
    line: ClassVar[str] = "Share of people whom somebody with the original rows recognises"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who has the original rows",)

    def applies(self, scene: Scene) -> str | None:
        """Where people of the release can be looked up, and it is known which row was which."""
        released, original = scene.pair.released, scene.pair.original
        if not released.people:
            return NothingToAttack("nobody was released")
        if released.split:
            return (
                "the tables of the release no longer join; linking each of them by itself was not "
                "tried"
            )
        names = [rows.name for rows in released.parts]
        # Tables that the release does not have cannot be compared.
        missing = [name for name in self._known_tables(scene) if name not in names]
        if missing:
            return f"the release has no table {', '.join(missing)}"
        # Without origins, equal numbers of rows are taken to be the same rows in order.
        lost = [
            r.name for r in released.parts if r.origin is None and len(r) != len(original[r.name])
        ]
        if not lost:
            return None
        return f"which rows of {', '.join(lost)} belong to whom is unknown"

    def attack(self, scene: Scene) -> Finding:
        """Look people up one by one."""
        sight = LookedLike.of(
            scene.pair.original, scene.pair.released, self._known_tables(scene), scene.pair.truth
        )
        people, chances, claimed = [], [], 0
        for person in _sampled(scene, self.people):
            count, right = sight.looked_up(person)
            people.append(person)
            # The same key names the person at once, whatever the rows say.
            chances.append(1.0 if sight.same_key[person] else right / count if count else 0.0)
            claimed += count == 1
        value, every = float(np.mean(chances)), len(people) == scene.pair.original.people
        linked_people = np.array(people, dtype=np.int64)[np.array(chances) > 1 - 1e-12]
        return Finding(
            self.name,
            value,
            f"somebody with all original rows of {', '.join(self._known_tables(scene))} names the "
            f"right person in {percent(value)} of cases; for {len(linked_people):,} of "
            f"{len(people):,} people tried nobody else fits",
            interval=None if every else wilson(value, len(people)),
            baseline=1 / scene.pair.released.people,
            victims=np.sort(linked_people),
            details={
                "named_with_certainty": claimed,
                "rightly": len(linked_people),
                "same_key": int(sight.same_key.sum()),
                "tables": list(self._known_tables(scene)),
            },
            trials=None if every else len(people),
        )

    def _known_tables(self, scene: Scene) -> tuple[str, ...]:
        if self.tables is None:
            return tuple(rows.name for rows in scene.pair.original.parts)
        return tuple(self.tables)


def _sampled(scene: Scene, limit: int) -> Iterator[int]:
    """People of the original in a random order for as long as there is time, at least the first few
    of them.
    """
    order = scene.seed.stream("join_linkage: in what order").permutation(
        scene.pair.original.people
    )[:limit]
    for number, person in enumerate(order.tolist()):
        if number >= AT_LEAST and not scene.left:
            return
        yield person


def wilson(share: float, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share that was found on some of the people; of a mean of chances it is
    never too narrow.

    >>> tuple(round(end, 3) for end in wilson(0.5, 100))
    (0.404, 0.596)
    """
    z = 1.959963984540054
    centre, size = share + z * z / (2 * trials), 1 + z * z / trials
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, (centre - half) / size), min(1.0, (centre + half) / size)


@dataclasses.dataclass(frozen=True, eq=False)
class LookedLike:
    """The people of the original as they would look in the release, and those of the release.

    ``own`` are codes of the release, ``rows`` and ``theirs`` lists of codes by person, of the
    original and of the release, and ``members`` the released people by their own code. ``where`` is
    the released person of every original one, −1 if there is none.
    """

    own: NDArray[np.int64]
    rows: Listed
    theirs: Listed
    members: Listed
    where: NDArray[np.int64]
    same_key: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        original: RelatedTables,
        released: RelatedTables,
        known_tables: tuple[str, ...],
        truth: NDArray[np.int64],
    ) -> LookedLike:
        """What the tables that are known show."""
        original_view, released_view = original.shown(), released.shown()
        where = np.full(original.people, -1, dtype=np.int64)
        # The inverse of the truth: original person → released one.
        where[truth] = np.arange(released.people)
        own, kinds = numbered(released_view.own)
        own_codes = looked_like(original_view.own, own, truth)
        # The people's own columns are not known: everybody is in one class.
        if released.parts[0].name not in known_tables:
            own, own_codes, kinds = np.zeros_like(own), np.zeros_like(own_codes), 1
        rows, released_rows = _rows_of(original, released, known_tables)
        members = listed(own, np.arange(len(own), dtype=np.int64), kinds)
        return cls(
            own_codes, rows, released_rows, members, where, _same_key(original, released, where)
        )

    def looked_up(self, person: int) -> tuple[int, bool]:
        """How many people of the release fit best, and whether the right one is among them."""
        if self.own[person] == NOT_SEEN:
            return 0, False
        # Only people of the same own columns can be the person.
        members, rows = _of(self.members, int(self.own[person])), _of(self.rows, person)
        count, _, right = kernels.fact_sets.count_fitting_people(
            # Rows that were left out of the release say nothing about who is who.
            *self.theirs,
            members,
            rows[rows != NOT_SEEN],
            int(self.where[person]),
        )
        return int(count), bool(right)


def _of(lists: Listed, number: int) -> NDArray[np.int64]:
    pointers, codes = lists
    return codes[pointers[number] : pointers[number + 1]]


def _rows_of(
    original: RelatedTables, released: RelatedTables, known_tables: tuple[str, ...]
) -> tuple[Listed, Listed]:
    """The rows of everybody in the tables that are known, with the same codes in both: those of the
    release.
    """
    original_view, released_view = original.shown(), released.shown()
    before = {
        rows.table: (rows.person, codes)
        for rows, codes in zip(original_view.rows, paths(original_view), strict=True)
    }
    shift, none = 0, np.zeros(0, dtype=np.int64)
    whose, original_codes, owners, released_codes = [none], [none], [none], [none]
    for rows, codes in zip(released_view.rows, paths(released_view), strict=True):
        if rows.table in known_tables:
            after = released[rows.table].origin
            if after is None:
                origin = np.arange(len(codes), dtype=np.int64)
            else:
                origin = after
            person, shows = before[rows.table]
            code_seen = looked_like(shows, codes, origin)
            whose, original_codes = (
                [*whose, person],
                # Codes of the tables must not meet; what was not released has no code to move.
                [*original_codes, np.where(code_seen == NOT_SEEN, NOT_SEEN, code_seen + shift)],
            )
            owners, released_codes = [*owners, rows.person], [*released_codes, codes + shift]
            shift += int(codes.max(initial=-1)) + 1
    return (
        listed(np.concatenate(whose), np.concatenate(original_codes), original.people),
        listed(np.concatenate(owners), np.concatenate(released_codes), released.people),
    )


def looked_like(
    before: NDArray[np.int64], after: NDArray[np.int64], origin: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Per original entry the code in the release: its own, or what most entries became that were
    the same before; −1 where none is left.

    >>> looked_like(np.array([5, 5, 6, 7]), np.array([1, 0]), np.array([0, 2])).tolist()
    [1, 1, 0, -1]
    """
    codes = np.full(len(before), NOT_SEEN, dtype=np.int64)
    if not len(origin):
        return codes
    # What equal rows became, and how often: before 5,5,6 → pairs (5,1), (5,1), (6,0).
    pairs, counts = np.unique(np.stack([before[origin], after], axis=1), axis=0, return_counts=True)
    # By old code, then most frequent new one, ties by the smaller code.
    order = np.lexsort((pairs[:, 1], -counts, pairs[:, 0]))
    first = order[np.diff(pairs[order, 0], prepend=pairs[order[0], 0] - 1) != 0]
    positions = np.minimum(np.searchsorted(pairs[first, 0], before), len(first) - 1)
    hit = pairs[first, 0][positions] == before
    codes[hit] = pairs[first, 1][positions[hit]]
    # A row that is in the release is known as what it became itself.
    codes[origin] = after
    return codes


def _same_key(
    original: RelatedTables, released: RelatedTables, where: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Per original person whether the release has the person under the very key of the original."""
    is_same = np.zeros(original.people, dtype=np.bool_)
    names, labels = original.parts[0].names, released.parts[0].labels
    if names is None or labels is None:
        return is_same
    is_released = np.flatnonzero(where >= 0)
    original_keys, released_keys = (
        names.cast(pl.String).gather(is_released),
        labels.cast(pl.String).gather(where[is_released]),
    )
    is_same[is_released] = (original_keys == released_keys).fill_null(value=False).to_numpy()
    return is_same
