"""Tables: one row per leaf, from the value to the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import Paths
from sfumato.core.parameters import parameters
from sfumato.methods.hierarchies.leaf_lists import (
    Catch,
    CatchesOthers,
    Label,
    LeafRows,
    paths_under,
    require_other_below_top,
    require_sound,
)


@parameters
class TableHierarchy(CatchesOthers):
    """Each row holds a value, its label on level 1, 2, …, and the top; all rows are equally long.

    Every row counts as a leaf, whether its value occurs or not, and a repeated row counts again, as
    in ARX: the loss of a label is ``(leaves−1)/(all leaves−1)``, 0 for a value of level 0. A label
    may occur on several levels; leaves and loss are counted per level. ``other`` adopts values that
    are not listed, from level 1 on; if it is a label of the table, they join it.

    Reference: Iyengar 2002, doi:10.1145/775047.775089, for the loss.

    >>> rungs = TableHierarchy(
    ...     [("HIV", "virus", "*"), ("flu", "virus", "*"), ("injury", "injury", "*")], other="rest"
    ... )
    >>> rungs.paths(["flu", "gout"], [1, 1]).rows
    (('flu', 'virus', '*'), ('gout', 'rest', '*'))
    """

    rows: Annotated[
        Sequence[Annotated[Sequence[Label], AfterValidator(tuple)]],
        AfterValidator(tuple),
        Field(description="one row per leaf: value, level 1, …, top"),
    ]
    other: Catch = None

    name: ClassVar[str] = "table"
    title: ClassVar[str] = "A table of paths"
    by_hand: ClassVar[Literal["yes", "as a list", "no"]] = "yes"
    secret: ClassVar[tuple[str, ...]] = ("rows",)
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        # Checked when it is made: a recipe is refused before any data are read.
        require_sound(self._rows, "table", lambda i: f"row {i + 1}")
        require_other_below_top(self.other, self._rows[0][-1])

    @property
    def _rows(self) -> tuple[tuple[str, ...], ...]:
        return self.rows  # type: ignore[return-value]  # the validators have made tuples of it

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; without ``other``, values that are not listed are counted
        and refused.
        """
        return paths_under(LeafRows(self._rows), values, "table", self.other)

    @classmethod
    def from_paths(cls, rows: Sequence[tuple[str, ...]], other: str | None) -> TableHierarchy:
        """The table with these rows."""
        return cls(rows=rows, other=other)

    def listed(self) -> tuple[str, ...]:
        """The leaves, in their order."""
        return tuple(dict.fromkeys(row[0] for row in self._rows))


def hierarchy_table(rows: Sequence[Sequence[str]], *, other: str | None = None) -> TableHierarchy:
    """A hierarchy written as one row per leaf. See :class:`TableHierarchy`."""
    return TableHierarchy(rows=rows, other=other)
