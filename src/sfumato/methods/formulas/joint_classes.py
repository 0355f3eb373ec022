r"""What several releases of the same people tell together: joint classes, who can be followed, what
follows about secrets.

Release *j* shows person *i* in class :math:`e_j(i)`. Whoever knows what person *i* is like in the
columns of all releases finds the joint class

.. math:: J(i) = \{ i' : e_j(i') = e_j(i) \text{ for all } j \}

so each release can be k-anonymous and :math:`\min_i |J(i)|` still be 1 (Ganta, Kasiviswanathan &
Smith 2008, doi:10.1145/1401890.1401926).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ABSENT = -1
"""The class of a person of whom a release shows nothing: suppressed, or not in its table."""


@dataclasses.dataclass(frozen=True, eq=False)
class JointClasses:
    """Persons by what all releases show of them.

    ``member[i]`` is the number of the joint class of person *i*, ``sizes`` how many persons each
    has. In ``sizes`` a person who is absent from a release is like other absent ones only: whoever
    knows who is in which release can tell. ``compatible[i]`` counts the persons who may be person
    *i* for somebody who does not know who is missing.
    """

    member: NDArray[np.int64]
    sizes: NDArray[np.int64]
    compatible: NDArray[np.int64]

    @property
    def of_person(self) -> NDArray[np.int64]:
        """Per person how many share the joint class."""
        class_sizes: NDArray[np.int64] = self.sizes[self.member]
        return class_sizes


def joint_classes(classes_shown: NDArray[np.int64]) -> JointClasses:
    """The joint classes of persons (rows) in releases (columns); ``ABSENT`` where a release shows
    nothing of a person.

    >>> import numpy as np
    >>> grid = np.array(
    ...     [(i, j) for i in range(5) for j in range(5)]
    ... )  # each release alone is 5-anonymous
    >>> int(joint_classes(grid).sizes.min())
    1
    >>> joint_classes(np.array([[0, 0], [0, ABSENT], [0, 1]])).compatible.tolist()
    [2, 3, 2]
    """
    if not len(classes_shown):
        none = np.zeros(0, dtype=np.int64)
        return JointClasses(none, none, none)
    kinds, member, sizes = np.unique(classes_shown, axis=0, return_inverse=True, return_counts=True)
    member = member.reshape(-1)
    compatible = _compatible(kinds, sizes)
    return JointClasses(member, sizes.astype(np.int64), compatible[member])


def _compatible(kinds: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per joint class how many persons agree with it wherever both are shown: pattern of presence
    by pattern of presence.
    """
    # Who is in the same releases can be compared in the same columns: one pattern at a time.
    patterns, which = np.unique(kinds != ABSENT, axis=0, return_inverse=True)
    which = which.reshape(-1)
    compatible_counts = np.zeros(len(kinds), dtype=np.int64)
    for (first, own_pattern), (second, other_pattern) in itertools.product(
        enumerate(patterns), repeat=2
    ):
        # Where only one of two is shown nothing speaks against their being one person.
        common_columns = np.flatnonzero(own_pattern & other_pattern)
        rows = np.flatnonzero(which == first)
        other_rows = np.flatnonzero(which == second)
        other_kinds = kinds[other_rows][:, common_columns]
        own_kinds = kinds[rows][:, common_columns]
        keys = np.concatenate([other_kinds, own_kinds])
        _, code = np.unique(keys, axis=0, return_inverse=True)
        code = code.reshape(-1)
        width = int(code.max()) + 1
        persons = np.bincount(code[: len(other_rows)], weights=sizes[other_rows], minlength=width)
        compatible_counts[rows] += persons[code[len(other_rows) :]].astype(np.int64)
    return compatible_counts


def count_followed(
    classes_shown: NDArray[np.int64], joint: JointClasses, *, among: NDArray[np.bool_] | None = None
) -> int:
    """How many persons (``among`` some of them) are unique in all releases together although none
    of these shows them alone.

    >>> import numpy as np
    >>> grid = np.array([(i, j) for i in range(5) for j in range(5)])
    >>> count_followed(grid, joint_classes(grid))
    25
    """
    alone = joint.of_person == 1
    crowded = np.ones(len(classes_shown), dtype=bool)
    for release in range(classes_shown.shape[1]):
        present = classes_shown[:, release] != ABSENT
        _, member, sizes = np.unique(
            classes_shown[present, release], return_inverse=True, return_counts=True
        )
        # Shown alone in one release already: there is nothing left to follow.
        crowded[present] &= sizes[member.reshape(-1)] > 1
    is_followed = alone & crowded & (classes_shown != ABSENT).any(axis=1)
    return int(is_followed.sum() if among is None else (is_followed & among).sum())


def overlap_bounds(
    first: int, second: int, people: int, common: int | None = None
) -> tuple[int, int]:
    """How many persons two classes of two releases share at least and at most, when nobody kept who
    is in which.

    ``people`` is how many persons both tables describe; ``common`` the sum over sensitive values of
    the smaller count, where both show the same sensitive column unchanged. A person known to be in
    both gives at least one.

    >>> overlap_bounds(5, 5, 25), overlap_bounds(20, 20, 25), overlap_bounds(5, 5, 25, common=3)
    ((1, 5), (15, 20), (1, 3))
    """
    if common is None:
        largest = min(first, second)
    else:
        largest = min(first, second, common)
    # Of two classes at least so many overlap as do not fit into the table side by side.
    return max(1, first + second - people), max(1, largest)


def diversity(joint: JointClasses, values: NDArray[np.int64]) -> tuple[int, float]:
    """The fewest different values that a joint class shows, and the greatest distance of its values
    from those of all persons.

    ``values`` holds codes; the distance is half the sum of differences of shares, t-closeness with
    equal ground distance.

    >>> import numpy as np
    >>> shown = np.array([[0, 0], [0, 0], [1, 0], [1, 0]])
    >>> diversity(joint_classes(shown), np.array([0, 1, 0, 0]))
    (1, 0.25)
    """
    if not len(values):
        return 0, 0.0
    pairs, counts = np.unique(np.stack([joint.member, values], axis=1), axis=0, return_counts=True)
    fewest = int(np.bincount(pairs[:, 0], minlength=len(joint.sizes)).min())
    overall = np.bincount(values) / len(values)
    # Half the sum of differences is one less the sum of the smaller shares; values that a class
    # lacks add nothing, so only those that occur are looked at.
    shares = counts / joint.sizes[pairs[:, 0]]
    common = np.minimum(shares, overall[pairs[:, 1]])
    covered = np.bincount(pairs[:, 0], weights=common, minlength=len(joint.sizes))
    return fewest, float(1.0 - covered.min())


def spent_by_group(
    present: NDArray[np.bool_], losses: Sequence[float | None]
) -> tuple[float, bool]:
    """The greatest sum of ε over the releases that one group of persons is in, and whether they are
    in one without an ε too.

    A group is the set of releases a person is in; releases about different persons do not add up.

    >>> import numpy as np
    >>> spent_by_group(np.array([[True, True, False], [False, True, True]]), [0.5, 0.25, None])
    (0.75, True)
    """
    if not len(present) or not len(losses):
        return 0.0, False
    # Only distinct groups matter, however many persons each has.
    groups = np.unique(present, axis=0)
    epsilon = np.array([0.0 if loss is None else loss for loss in losses])
    without = np.array([loss is None for loss in losses])
    takes = (groups & without).any(axis=1)
    leaves = (groups & ~without).any(axis=1)
    mixed = bool((takes & leaves).any())
    return float((groups * epsilon).sum(axis=1).max()), mixed
