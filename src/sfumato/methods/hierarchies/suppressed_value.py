"""All or nothing: a value, or the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import parameters
from sfumato.methods.hierarchies.leaf_lists import category_paths


@parameters
class SuppressedValue(Hierarchy):
    """Level 0 is the value, level 1 is ``*``.

    The loss is 0 on level 0 and 1 on level 1; a column with one single value loses nothing. A cell
    that already holds ``*`` has loss 1 on both levels.

    >>> SuppressedValue().paths(["f", "m"], [3, 2]).rows
    (('f', '*'), ('m', '*'))
    """

    name: ClassVar[str] = "suppress"
    title: ClassVar[str] = "All or nothing"
    by_hand: ClassVar[Literal["yes", "as a list", "no"]] = "as a list"
    fixed: ClassVar[bool] = True

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; every value is covered."""
        return category_paths([(v, TOP) for v in values], [int(v == TOP) for v in values], 2)


def suppress() -> SuppressedValue:
    """A hierarchy with nothing between the value and the top: :class:`SuppressedValue`."""
    return SuppressedValue()
