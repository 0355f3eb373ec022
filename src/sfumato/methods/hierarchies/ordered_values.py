"""Orders: neighbours of an ordered list of values are grouped."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import Multiples, parameters
from sfumato.errors import ParameterError
from sfumato.methods.hierarchies.leaf_lists import Label, LeafRows, paths_under

Size = Annotated[int, Field(ge=2)]
_NUMBER = re.compile(r"[<>=\[( ]*(-?\d+(?:\.\d+)?)")


@parameters
class Order(Hierarchy):
    """Level *j* joins ``sizes[j−1]`` consecutive values to ``first..last``; the level above is
    ``*``.

    Each size is a multiple of the one before, so that groups nest. The last group may be smaller; a
    group of one keeps the value's own label. All listed values count as leaves, whether they occur
    or not: the loss of a group of *m* of *M* values is ``(m−1)/(M−1)``. Values may be group labels
    already.

    Reference: Iyengar 2002, doi:10.1145/775047.775089, for the loss.

    >>> Order(["low", "mid", "high"], [2]).paths(["high", "low"], [1, 1]).rows
    (('high', 'high', '*'), ('low', 'low..mid', '*'))
    """

    values: Annotated[
        Sequence[Label],
        AfterValidator(tuple),
        Field(min_length=1, description="all values, from low to high"),
    ]
    sizes: Annotated[
        Sequence[Size],
        AfterValidator(tuple),
        Field(description="values per group and level; each a multiple of the last"),
        Multiples(),
    ] = ()

    name: ClassVar[str] = "order"
    title: ClassVar[str] = "Neighbours in an order"
    by_hand: ClassVar[Literal["yes", "as a list", "no"]] = "as a list"
    secret: ClassVar[tuple[str, ...]] = ("values",)
    fixed: ClassVar[bool] = True

    @classmethod
    def from_values(cls, counts: Mapping[str, int]) -> Order:
        """The values as a reader looks for them, by twos and fours."""
        counted_values = list(counts.items())
        return cls([value for value, _ in in_reading_order(counted_values) if value], [2, 4])

    def __post_init__(self) -> None:
        if len(set(self.values)) < len(self.values):
            raise ParameterError(
                f"{len(self.values) - len(set(self.values))} value(s) are listed twice; list each"
                " once"
            )
        for smaller, larger in itertools.pairwise(self.sizes):
            if larger <= smaller or larger % smaller:
                raise ParameterError(
                    f"sizes must be growing multiples of each other; {larger} is not a "
                    f"multiple of {smaller}"
                )
        for size, level in zip(self.sizes, list(zip(*self._rows(), strict=True))[1:], strict=False):
            # Rounded up: the number of groups that there must be labels for.
            if len(set(level)) < -(-len(self.values) // size):
                raise ParameterError(
                    "two groups have the same label; rename the values that contain '..'"
                )

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; values that are not listed are counted and refused."""
        return paths_under(LeafRows(self._rows()), values, "order")

    def _rows(self) -> list[tuple[str, ...]]:
        levels = [_group_labels(self.values, size) for size in self.sizes]
        return [(v, *(labels[i] for labels in levels), TOP) for i, v in enumerate(self.values)]


def in_reading_order(
    nodes: Sequence[tuple[str | None, int]], day_of: Callable[[str], float | None] | None = None
) -> list[tuple[str | None, int]]:
    """Labels with their counts as a reader looks for them: numbers, intervals and dates from low to
    high, words from common to rare, missing last.

    >>> in_reading_order([("10-14", 1), (None, 9), ("5-9", 2), (">=80", 1), ("<5", 3)])
    [('<5', 3), ('5-9', 2), ('10-14', 1), ('>=80', 1), (None, 9)]

    ``day_of`` tells the day of a date that is not written as the calendar goes.
    """
    missing = [node for node in nodes if node[0] is None]
    present = [(label, count) for label, count in nodes if label is not None]
    days: dict[str, float | None] = {}
    if day_of is not None:
        days = {label: day_of(label) for label, _ in present}
    numbers = {label: _NUMBER.match(label) for label, _ in present}
    if days and None not in days.values():
        present.sort(key=lambda node: days[node[0]] or 0.0)
    elif None not in numbers.values():
        # "<5" comes before "5-9" although both begin with a 5.
        present.sort(key=lambda node: (_low_end(node[0]), not node[0].startswith("<"), node[0]))
    else:
        present.sort(key=lambda node: (-node[1], node[0]))
    return [*present, *missing]


def _low_end(label: str) -> float:
    number = _NUMBER.match(label)
    return 0.0 if number is None else float(number[1])


def _group_labels(values: Sequence[str], size: int) -> list[str]:
    """The label of the group of each value."""
    labels = []
    for start in range(0, len(values), size):
        group = values[start : start + size]
        labels += [group[0] if len(group) == 1 else f"{group[0]}..{group[-1]}"] * len(group)
    return labels


def order(values: Sequence[str], *sizes: int) -> Order:
    """Group neighbours of an ordered list: ``sf.order(["low", "mid", "high", "top"], 2)``.
    See :class:`Order`.
    """
    return Order(values=values, sizes=sizes)
