"""Frequency: keep the common values, put the rare ones together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError
from sfumato.methods.hierarchies.leaf_lists import Label, category_paths


@parameters
class Frequency(Hierarchy):
    """Level *j* keeps the ``keep[j−1]`` most frequent values and puts the rest in ``other``; then
    ``*``.

    **This hierarchy is made from the data**: which values survive tells which are common, and
    another table gives another hierarchy. Where that matters (differential privacy, several
    releases that are to be compared), write it down once with ``write_hierarchy`` and use the file.
    Ties go by label, so row order does not matter. Without ``keep`` the numbers are half, a
    quarter, … of the distinct values, down to one; with fewer than three values there is nothing
    between them and the top. The loss is ``(leaves−1)/(all leaves−1)`` over the values that occur.

    >>> Frequency([1]).paths(["flu", "cold", "gout"], [1, 9, 1]).rows
    (('flu', 'other', '*'), ('cold', 'cold', '*'), ('gout', 'other', '*'))
    """

    keep: Annotated[
        Annotated[Sequence[Annotated[int, Field(ge=1)]], AfterValidator(tuple)] | None,
        Field(
            description="how many of the most frequent values each level keeps, in descending order"
        ),
    ] = None
    other: Annotated[Label, Field(description="label of the rare values")] = "other"

    name: ClassVar[str] = "frequency"
    title: ClassVar[str] = "Keep frequent values"
    by_hand: ClassVar[Literal["yes", "as a list", "no"]] = "as a list"

    def __post_init__(self) -> None:
        numbers = self.keep or ()
        if any(higher > lower for lower, higher in itertools.pairwise(numbers)):
            raise ParameterError(
                "keep must not grow from level to level: a generalised value cannot come back"
            )
        if self.other == TOP:
            raise ParameterError(f"other must be a label below the top, not {TOP}")

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; every value is covered."""
        # By falling count, then by label: the order of rows decides nothing.
        ranked = sorted(
            (-n, v) for v, n in zip(values, counts, strict=True) if v not in (self.other, TOP)
        )
        rank = {v: i for i, (_, v) in enumerate(ranked)}
        keep = _halves(len(ranked)) if self.keep is None else self.keep
        depth = len(keep) + 2
        # Cells that hold one of the two labels already are nodes, not values to be ranked.
        path_of_others = (self.other,) * (depth - 1) + (TOP,), min(1, len(keep))
        special = {
            TOP: ((TOP,) * depth, depth - 1),
            self.other: path_of_others,
        }
        tails = [tuple(i < n for n in keep) for i in range(len(ranked))]
        pairs = []
        for v in values:
            pairs.append(
                special.get(v)
                or ((v, *(v if frequent else self.other for frequent in tails[rank[v]]), TOP), 0)
            )
        return category_paths([row for row, _ in pairs], [own for _, own in pairs], depth)


def _halves(distinct: int) -> tuple[int, ...]:
    """Half of the values, a quarter, …, one.

    >>> _halves(9), _halves(2)
    ((4, 2, 1), ())
    """
    sizes: list[int] = []
    # Of two values half is one, which the top replaces at once: no level of its own.
    while distinct >= 2 and (distinct > 2 or sizes):
        distinct //= 2
        sizes.append(distinct)
    return tuple(sizes)


def frequency(*keep: int, other: str = "other") -> Frequency:
    """Keep the most frequent values, fewer on every level: ``sf.frequency(8, 4, 2)``.
    See :class:`Frequency`.
    """
    return Frequency(keep=keep or None, other=other)
