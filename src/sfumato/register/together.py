"""What a new release tells together with all that were registered before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.formulas.joint_classes import ABSENT, JointClasses, diversity, followed, joint_classes, spent_by_group

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.register.store import Register, RegisteredPeople, RegisteredRelease


@dataclasses.dataclass(frozen=True)
class Together:
    """A release and the earlier ones about the same people.

    ``k`` is the smallest joint class for somebody who knows who is in which release, ``k_unknowing`` for somebody who does not;
    ``alone`` how many people of the new release stand alone in all of them together, ``followed`` how many of these in none by itself.
    ``diversity`` maps sensitive columns to the fewest values and the greatest distance (equal ground distance) in a joint class.
    ``unaligned`` names earlier releases about which only bounds can be given, and why. ``epsilon`` is the greatest sum for any group of people;
    with ``mixed`` somebody is also in a release without one, so that no joint ε is claimed.
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
    epsilon: float = 0.0
    mixed: bool = False

    @property
    def unknown(self) -> str | None:
        """Why nothing certain can be said about all earlier releases, or None."""
        if not self.unaligned:
            return None
        numbers = ", ".join(str(number) for number in self.unaligned)
        return f"of release{'s' * (len(self.unaligned) > 1)} {numbers} only bounds can be given: {next(iter(self.unaligned.values()))}"

    @property
    def share(self) -> float:
        """The share of people of the new release who stand alone in all releases together."""
        return self.alone / self.people if self.people else 0.0

    @property
    def sentences(self) -> list[str]:
        """What a data steward reads."""
        if not self.earlier and not self.unaligned:
            return ["no earlier release of the register is about the same people"]
        told = []
        if self.earlier:
            told.append(
                f"{self.shared:,} of {self.people:,} people are in {len(self.earlier)} earlier release{'s' * (len(self.earlier) > 1)} too; "
                f"together the smallest class has {self.k:,} (somebody who does not know who is missing: {self.k_unknowing:,})"
            )
            told.append(
                f"{self.alone:,} people stand alone in all of them together, {self.followed:,} of them in none by itself"
            )
        told += [
            f"of {c}: at least {n} value{'s' * (n > 1)} in a joint class, at most {t:.3g} from all"
            for c, (n, t) in self.diversity.items()
        ]
        told += [] if self.unknown is None else [self.unknown]
        if self.epsilon:
            beside = "; some people are also in a release without one, so no joint ε is claimed" if self.mixed else ""
            told.append(f"the ε of all releases adds up to {self.epsilon:.4g} for some people{beside}")
        return told

    def to_dict(self) -> dict[str, Any]:
        """Plain data: counts only."""
        plain = dataclasses.asdict(self)
        return {**plain, "share": self.share, "unknown": self.unknown, "sentences": self.sentences}


def together(
    register: Register,
    people: RegisteredPeople,
    *,
    person: Sequence[str],
    classes: bool,
    epsilon: float | None = None,
    sensitive: Mapping[str, NDArray[np.int64]] | None = None,
    besides: Sequence[int] = (),
) -> Together:
    """Put a release beside all that stand in the register but ``besides``.

    ``person`` are the columns its people are told apart by; releases that tell them apart by others cannot be aligned. ``sensitive`` maps columns to codes,
    one for each of ``people``.
    """
    entries = [entry for entry in register.standing if entry.number not in besides]
    unaligned: dict[int, str] = {}
    aligned: list[tuple[RegisteredRelease, RegisteredPeople]] = []
    for entry in entries:
        reason = _not_aligned(entry, person, classes=classes)
        known = register.people(entry.number)
        if reason is not None:
            unaligned[entry.number] = reason
        elif len(np.intersect1d(known.hashes, people.hashes)):
            aligned.append((entry, known))
    shown, mine, everybody = _matrix(people, [known for _, known in aligned])
    joint = joint_classes(shown)
    ours = JointClasses(joint.member[mine], joint.sizes, joint.compatible[mine])
    present = shown[mine][:, 0] != ABSENT
    sizes = ours.of_person[present]
    losses = [epsilon, *(entry.epsilon for entry, _ in aligned)]
    spent, mixed = spent_by_group(everybody, losses)
    told = {name: diversity(_renumbered(ours, present), codes[present]) for name, codes in (sensitive or {}).items()}
    return Together(
        earlier=tuple(entry.number for entry, _ in aligned),
        people=int(present.sum()),
        shared=int((shown[mine][present][:, 1:] != ABSENT).any(axis=1).sum()) if aligned else 0,
        k=int(sizes.min()) if len(sizes) else None,
        k_unknowing=int(ours.compatible[present].min()) if len(sizes) else None,
        alone=int((sizes == 1).sum()),
        followed=_followed(shown, joint, mine, present),
        below={k: int((sizes < k).sum()) for k in (2, 3, 5, 10)},
        diversity=told,
        unaligned=unaligned,
        epsilon=spent,
        mixed=mixed,
    )


def _not_aligned(entry: RegisteredRelease, person: Sequence[str], *, classes: bool) -> str | None:
    """Why the classes of an earlier release cannot be put beside those of this one, or None."""
    if tuple(entry.person) != tuple(person):
        return f"its people are told apart by {', '.join(entry.person)}, those of this one by {', '.join(person)}"
    if not entry.classes or not classes:
        return "values were changed or drawn, so nobody knows the class a person seems to be in"
    return None


def _matrix(
    people: RegisteredPeople, others: Sequence[RegisteredPeople]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Everybody by release (the new one first), the rows of the new one's people, and who is in which table."""
    columns = [people, *others]
    everybody = np.unique(np.concatenate([each.hashes for each in columns]))
    shown = np.full((len(everybody), len(columns)), ABSENT, dtype=np.int64)
    there = np.zeros(shown.shape, dtype=bool)
    for number, each in enumerate(columns):
        place = np.searchsorted(everybody, each.hashes)
        shown[place, number] = each.classes
        there[place, number] = True
    return shown, np.searchsorted(everybody, people.hashes), there


def _renumbered(joint: JointClasses, kept: NDArray[np.bool_]) -> JointClasses:
    """The joint classes of some persons only, counted among these."""
    _, member, sizes = np.unique(joint.member[kept], return_inverse=True, return_counts=True)
    return JointClasses(member.reshape(-1), sizes.astype(np.int64), joint.compatible[kept])


def _followed(
    shown: NDArray[np.int64], joint: JointClasses, mine: NDArray[np.int64], present: NDArray[np.bool_]
) -> int:
    """RegisteredPeople of the new release who are alone in all together and in none by itself."""
    if shown.shape[1] < 2:
        return 0
    ours = np.zeros(len(shown), dtype=bool)
    ours[mine[present]] = True
    return followed(shown, joint, among=ours)
