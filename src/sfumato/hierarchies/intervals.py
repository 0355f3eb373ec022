"""Intervals: numbers in nested widths, on a grid that does not depend on the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Paths
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.hierarchies.fields import Number, PositiveNumber
from sfumato.hierarchies.grid import Ends, Grid, read
from sfumato.hierarchies.occurring import EVERYWHERE, Extent, extent_paths


@parameters
class Intervals:
    r"""Level *j* is the interval of width ``widths[j−1]`` a number lies in; the level above is ``*``.

    Intervals start at ``origin`` plus a multiple of the width, never at the data; each width is a multiple of the
    one before, so that they nest. They are labelled ``20-24`` where all numbers are whole and no interval starts below
    zero, ``[20, 25)`` otherwise. ``open_below=20`` puts all numbers under 20 in ``<20``, ``open_above=80`` all from 80 on
    in ``>=80``, on every level of intervals. Cells may hold such labels already.

    The loss of an interval *I* in the domain :math:`[L, U]` is its width inside the domain over the domain's,

    .. math:: |I \cap [L, U]| / (U - L)

    with *L* = ``lower`` and *U* = ``upper``, or the least and greatest number that occurs (an interval label counts
    with its ends); 0 for a number, 1 for the top, 0 for all where the domain is a point. Widths are real ones:
    ``20-24`` is 5 wide. ``leaves`` counts the numbers that occur.

    Reference: Iyengar 2002, doi:10.1145/775047.775089.

    >>> Intervals([5, 20], open_above=80).paths(["23", "91"], [1, 1]).rows
    (('23', '20-24', '20-39', '*'), ('91', '>=80', '>=80', '*'))
    """

    widths: Annotated[
        Sequence[PositiveNumber],
        AfterValidator(tuple),
        Field(min_length=1, description="interval widths from fine to coarse, each a multiple of the one before"),
    ]
    origin: Annotated[Number, Field(description="where an interval of every width starts")] = 0
    lower: Annotated[Number | None, Field(description="lower end of the domain; the least number if not given")] = None
    upper: Annotated[Number | None, Field(description="upper end of the domain; the greatest number if not given")] = (
        None
    )
    open_below: Annotated[Number | None, Field(description="numbers under this are one interval on every level")] = None
    open_above: Annotated[Number | None, Field(description="numbers from this on are one interval on every level")] = (
        None
    )

    name: ClassVar[str] = "intervals"
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        grid = Grid.of(self)
        for width, finer, coarser in zip(self.widths[1:], grid.widths, grid.widths[1:], strict=False):
            if coarser <= finer or coarser % finer:
                raise ParameterError(
                    f"widths must be growing multiples of each other; {width} is none of the one before"
                )
        for what, given, end in (
            ("open_below", self.open_below, grid.below),
            ("open_above", self.open_above, grid.above),
        ):
            if end is not None and (end - grid.origin) % grid.widths[-1]:
                raise ParameterError(
                    f"{what}={given} must be a limit of the widest intervals: {self.origin} plus a multiple of {self.widths[-1]}"
                )
        if grid.below is not None and grid.above is not None and grid.below > grid.above:
            raise ParameterError("open_below must not be greater than open_above")
        if grid.lower is not None and grid.upper is not None and grid.lower >= grid.upper:
            raise ParameterError("lower must be less than upper")

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what is neither a number nor an interval of a level is counted and refused."""
        readings = [r for r in map(read, values) if r is not None]
        grid = Grid.of(self, readings)
        ends = [grid.ends(r) for r in readings]
        own = [level for level in map(grid.level, ends) if level is not None]
        if len(own) < len(values):
            raise SchemaError(
                f"intervals: {len(values) - len(own)} of {len(values)} distinct values are neither numbers (with a decimal "
                "point) nor intervals of this hierarchy; make them missing, correct them, or use a tree or a file"
            )
        whole = grid.can_be_whole(ends) and not any(r.bracket for r in readings)
        rungs = _Rungs(grid, whole=whole)
        rows = [rungs.row(*cell) for cell in zip(values, ends, own, strict=True)]
        return extent_paths(rows, own, rungs.extents, self._domain(grid, ends))

    def _domain(self, grid: Grid, ends: Sequence[Ends]) -> Extent | None:
        """The ends of the domain, given or found."""
        known = [(min(pair), max(pair)) for pair in ([p for p in both if p is not None] for both in ends) if pair]
        low = min((first for first, _ in known), default=None) if grid.lower is None else grid.lower
        high = max((last for _, last in known), default=None) if grid.upper is None else grid.upper
        if low is None or high is None:
            return None
        outside = sum(last < low or first > high for first, last in known)
        if outside:
            raise SchemaError(
                f"intervals: {outside} of {len(known)} distinct values lie outside the domain (lower={self.lower}, "
                f"upper={self.upper}); widen it, leave it out, or correct the values"
            )
        return low, high


class _Rungs:
    """The labels above every position of a grid, and the extents of all of them."""

    def __init__(self, grid: Grid, *, whole: bool) -> None:
        self.grid = grid
        self.whole = whole
        self.extents: list[dict[str, Extent]] = [{} for _ in range(len(grid.widths) + 1)]
        self._seen: dict[int, tuple[str, ...]] = {}

    def row(self, text: str, ends: Ends, own: int) -> tuple[str, ...]:
        """The path of a cell that is a node of level ``own``."""
        low, high = ends
        if low is None and high is None:
            self._stay(text, EVERYWHERE, own)
            return (text,) * own + (TOP,)
        position = low if low is not None else (high or 0) - 1
        above = self._above(position)
        if not own:
            return (text, *above)
        self._stay(text, self.extents[1][above[0]] if low is None or high is None else (low, high), own)
        return (text,) * own + above[own - 1 :]

    def _above(self, position: int) -> tuple[str, ...]:
        start = (position - self.grid.origin) // self.grid.widths[0]
        if start not in self._seen:
            around = self.grid.around(position)
            labels = [self.grid.label(extent, whole=self.whole) for extent in around]
            for level, (label, extent) in enumerate(zip(labels, around, strict=True), 1):
                self.extents[level][label] = extent
            self._seen[start] = (*labels, TOP)
        return self._seen[start]

    def _stay(self, text: str, extent: Extent, own: int) -> None:
        """An inner node has its extent on all levels below its own."""
        for level in self.extents[:own]:
            level[text] = extent


def intervals(
    *widths: float,
    origin: float = 0,
    lower: float | None = None,
    upper: float | None = None,
    open_below: float | None = None,
    open_above: float | None = None,
) -> Intervals:
    """Nested intervals of these widths: ``sf.intervals(5, 10, 20)``. See :class:`Intervals`."""
    return Intervals(
        widths=widths,
        origin=origin,
        lower=lower,
        upper=upper,
        open_below=open_below,
        open_above=open_above,
    )
