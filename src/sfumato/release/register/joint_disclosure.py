"""What a new release tells together with all that were registered before it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Document
from sfumato.core.recipe import Kept
from sfumato.core.words import count_of, inflect
from sfumato.methods.formulas.joint_classes import (
    ABSENT,
    JointClasses,
    count_followed,
    diversity,
    joint_classes,
    overlap_bounds,
    spent_by_group,
)
from sfumato.release.register.released_classes import BY_CONTENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.release.register.store import Register, RegisteredPeople, RegisteredRelease

NAME = "composition"
"""What a recipe calls the limit on what all releases of the same people tell together."""
TABLE = "it is a published table, whose cells are not compared with the classes of records"
CHANGED = (
    "values were changed or are synthetic, so the class that a person seems to be in is unknown"
)
BY_ROW = (
    "people are identified by whole rows, and some rows of one release are not in the other: "
    "these may be the same people or others"
)


@dataclasses.dataclass(frozen=True)
class Together:
    """A release and the earlier ones about the same people.

    ``k`` is the smallest joint class for somebody who knows who is in which release,
    ``k_unknowing`` for somebody who does not; ``alone`` how many people of the new release stand
    alone in all of them together, ``followed`` how many of these in none by itself. Without
    ``classes`` values of the new one were changed or drawn: nobody knows who stands where, and none
    of these is told. ``diversity`` maps sensitive columns to the fewest values and the greatest
    distance (equal ground distance) in a joint class. ``unaligned`` names earlier releases about
    which only bounds can be given, and why; ``bounds`` how many people the smallest classes of both
    may share. ``epsilon`` and ``delta`` are the greatest sums for any group of its people, where
    whoever may be in a release counts as in it; with ``mixed`` somebody is also in a release
    without one, so that no joint ε is claimed.
    """

    earlier: tuple[int, ...]
    people: int
    shared: int
    k: int | None
    k_unknowing: int | None
    alone: int
    followed: int
    below: Mapping[int, int] = dataclasses.field(default_factory=dict)
    diversity: Mapping[str, tuple[int, float]] = dataclasses.field(default_factory=dict)
    unaligned: Mapping[int, str] = dataclasses.field(default_factory=dict)
    bounds: Mapping[int, tuple[int, int]] = dataclasses.field(default_factory=dict)
    epsilon: float = 0.0
    delta: float = 0.0
    mixed: bool = False
    classes: bool = True

    @property
    def unknown(self) -> str | None:
        """Why nothing certain can be said about all earlier releases, or None."""
        if not self.unaligned:
            return None
        numbers = ", ".join(str(number) for number in self.unaligned)
        return (
            f"of {inflect(len(self.unaligned), 'release')} {numbers} only bounds can be given:"
            f" {next(iter(self.unaligned.values()))}"
        )

    @property
    def share(self) -> float:
        """The share of people of the new release who are unique in all releases together."""
        return self.alone / self.people if self.people else 0.0

    def kept(self, limit: float) -> Kept:
        """The share of people who are unique, compared with a limit; what is not known does not
        keep it.
        """
        words = "people whom all releases together single out"
        unknown = self.unknown or (None if self.classes else CHANGED)
        if unknown is not None:
            sentence = f"{words}: unknown, {unknown}; the recipe allows at most {limit:g}"
            return Kept(NAME, math.nan, limit, False, sentence)
        sentence = (
            f"{words}: {self.alone:,} of {self.people:,} ({self.share:.4g}); the recipe allows at"
            f" most {limit:g}"
        )
        return Kept(NAME, self.share, limit, self.share <= limit + 1e-12, sentence)

    @property
    def sentences(self) -> list[str]:
        """What a data steward reads."""
        if not self.earlier and not self.unaligned:
            return ["no earlier release of the register is about the same people"]
        sentences = []
        if self.earlier and self.k is not None:
            sentences.append(
                f"{self.shared:,} of {self.people:,} people are in {len(self.earlier)} earlier "
                f"{inflect(len(self.earlier), 'release')} too; together the smallest class has "
                f"{self.k:,} (for somebody who does not know who is missing: {self.k_unknowing:,})"
            )
            sentences.append(
                f"{self.alone:,} people are unique in all of them together, {self.followed:,} of "
                "them in none by itself"
            )
        sentences += [
            f"of {c}: at least {count_of(n, 'value')} in a joint class, at most {t:.3g} from all"
            for c, (n, t) in self.diversity.items()
        ]
        sentences += [] if self.unknown is None else [self.unknown]
        sentences += [
            f"bounds only: the smallest classes of this one and of release {number} share between"
            f" {low:,} and {high:,} people"
            for number, (low, high) in self.bounds.items()
        ]
        if self.epsilon:
            if self.mixed:
                beside = "; some people are also in a release without one, so no joint ε is claimed"
            else:
                beside = ""
            delta = f" (δ: {self.delta:.3g})" if self.delta else ""
            sentences.append(
                f"the ε of all releases adds up to {self.epsilon:.4g}{delta} for some"
                f" people{beside}"
            )
        return sentences

    def to_dict(self) -> Document:
        """Plain data: counts only."""
        plain = dataclasses.asdict(self)
        return {**plain, "share": self.share, "unknown": self.unknown, "sentences": self.sentences}


@dataclasses.dataclass(frozen=True, eq=False)
class _Beside:
    """Earlier releases that are, or may be, about the same people: those whose classes go beside
    ours, and the others with the reason.
    """

    aligned: list[tuple[RegisteredRelease, RegisteredPeople]]
    others: list[tuple[RegisteredRelease, RegisteredPeople | None]]
    reasons: dict[int, str]


def together(
    register: Register,
    people: RegisteredPeople,
    *,
    person: Sequence[str],
    classes: bool,
    epsilon: float | None = None,
    delta: float | None = None,
    sensitive: Mapping[str, NDArray[np.int64]] | None = None,
    besides: Sequence[int] = (),
) -> Together:
    """Put a release beside all that stand in the register but ``besides``.

    ``person`` are the columns its people are distinguished by; releases that tell them apart by
    others cannot be aligned. ``sensitive`` maps columns to codes, one for each of ``people``.
    """
    beside = _beside(register, people, person, classes=classes, besides=besides)
    class_matrix, own_rows = _matrix(
        people, [registered_people for _, registered_people in beside.aligned]
    )
    joint = joint_classes(class_matrix)
    own_classes = JointClasses(joint.member[own_rows], joint.sizes, joint.compatible[own_rows])
    # people of the original of whom something was released
    present = class_matrix[own_rows][:, 0] != ABSENT
    if classes:
        sizes = own_classes.of_person[present]
    else:
        sizes = np.zeros(0, dtype=np.int64)
    class_diversity = {
        name: diversity(_renumbered(own_classes, present), codes[present])
        for name, codes in (sensitive or {}).items()
    }
    spent, chance, mixed = _spent(people, beside, epsilon, delta)
    smallest = int(
        joint_classes(people.classes[people.classes != ABSENT][:, None]).sizes.min(
            initial=len(people.hashes)
        )
    )
    return Together(
        earlier=tuple(entry.number for entry, _ in beside.aligned),
        people=int(present.sum()) if classes else len(people.hashes),
        shared=(
            int((class_matrix[own_rows][present][:, 1:] != ABSENT).any(axis=1).sum())
            if beside.aligned
            else 0
        ),
        k=int(sizes.min()) if len(sizes) else None,
        k_unknowing=int(own_classes.compatible[present].min()) if len(sizes) else None,
        alone=int((sizes == 1).sum()),
        followed=_followed(class_matrix, joint, own_rows, present) if classes else 0,
        below={k: int((sizes < k).sum()) for k in (2, 3, 5, 10)},
        diversity=class_diversity if classes else {},
        unaligned=beside.reasons,
        bounds=_bounds(people, beside, smallest) if classes else {},
        epsilon=spent,
        delta=chance,
        mixed=mixed,
        classes=classes,
    )


def _beside(
    register: Register,
    people: RegisteredPeople,
    person: Sequence[str],
    *,
    classes: bool,
    besides: Sequence[int],
) -> _Beside:
    """Earlier releases, but those of which it is known that all their people are others."""
    beside = _Beside([], [], {})
    for entry in register.standing:
        if entry.number in besides:
            continue
        registered_people = register.people(entry.number)
        reason = _not_aligned(entry, person, classes=classes)
        comparable = tuple(entry.person) == tuple(person)
        if comparable:
            shared = len(np.intersect1d(registered_people.hashes, people.hashes))
        else:
            shared = 0
        # by whole rows only a table that holds all of the other can be aligned
        if (
            comparable
            and tuple(person) == BY_CONTENT
            and shared < min(len(registered_people.hashes), len(people.hashes))
        ):
            comparable, reason = False, reason or BY_ROW
        if comparable and not shared:
            continue
        if reason is None:
            beside.aligned.append((entry, registered_people))
        else:
            beside.others.append((entry, registered_people if comparable else None))
            beside.reasons[entry.number] = reason
    return beside


def _not_aligned(entry: RegisteredRelease, person: Sequence[str], *, classes: bool) -> str | None:
    """Why the classes of an earlier release cannot be put beside those of this one, or None."""
    if entry.table is not None:
        return TABLE
    if tuple(entry.person) != tuple(person):
        return (
            f"its people are identified by {', '.join(entry.person)}, those of this one by "
            f"{', '.join(person)}"
        )
    return None if entry.classes and classes else CHANGED


def _spent(
    people: RegisteredPeople, beside: _Beside, epsilon: float | None, delta: float | None
) -> tuple[float, float, bool]:
    """The greatest sums of ε and of δ for any group of the people; whoever may be in a release
    counts as in it.
    """
    earlier = [*beside.aligned, *beside.others]
    columns = [np.ones(len(people.hashes), dtype=bool)]
    for _, registered_people in earlier:
        # people who cannot be compared may all be the same: the worst is counted
        is_shared = columns[0]
        if registered_people is not None:
            is_shared = np.isin(people.hashes, registered_people.hashes)
        columns.append(is_shared)
    is_in_release = np.stack(columns, axis=1)
    spent, mixed = spent_by_group(
        is_in_release, [epsilon, *(entry.epsilon for entry, _ in earlier)]
    )
    return (
        spent,
        spent_by_group(is_in_release, [delta, *(entry.delta for entry, _ in earlier)])[0],
        mixed,
    )


def _bounds(people: RegisteredPeople, beside: _Beside, smallest: int) -> dict[int, tuple[int, int]]:
    """How many people the smallest class of this release and that of an earlier one may share,
    where both show classes.
    """
    return {
        entry.number: overlap_bounds(smallest, entry.k, len(people.hashes) + entry.people)
        for entry, _ in beside.others
        if entry.classes and entry.k is not None
    }


def _matrix(
    people: RegisteredPeople, registered: Sequence[RegisteredPeople]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Everybody by release (the new one first), and the rows of the new one's people."""
    columns = [people, *registered]
    everybody = np.unique(np.concatenate([release_people.hashes for release_people in columns]))
    class_matrix = np.full((len(everybody), len(columns)), ABSENT, dtype=np.int64)
    for number, release_people in enumerate(columns):
        # everybody is sorted, so that positions are found by bisection
        positions = np.searchsorted(everybody, release_people.hashes)
        class_matrix[positions, number] = release_people.classes
    return class_matrix, np.searchsorted(everybody, people.hashes)


def _renumbered(joint: JointClasses, keep: NDArray[np.bool_]) -> JointClasses:
    """The joint classes of some persons only, counted among these."""
    _, member, sizes = np.unique(joint.member[keep], return_inverse=True, return_counts=True)
    return JointClasses(member.reshape(-1), sizes.astype(np.int64), joint.compatible[keep])


def _followed(
    class_matrix: NDArray[np.int64],
    joint: JointClasses,
    own_rows: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> int:
    """People of the new release who are alone in all together and in none by itself."""
    if class_matrix.shape[1] < 2:
        return 0
    is_ours = np.zeros(len(class_matrix), dtype=bool)
    is_ours[own_rows[present]] = True
    return count_followed(class_matrix, joint, among=is_ours)
