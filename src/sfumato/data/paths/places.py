"""Places and what is coarser than them: the levels of a hierarchy, or cells of a grid for
coordinates.

A cell of level *z* has the sides w·2^z and h·2^z; its number along an axis is ⌊x/(w·2^z)⌋, so every
cell lies in one of the next level. Longitude and latitude are halved alternately, as a
geohash does: *b* bits of both together make cells of 360/2^(b/2) by 180/2^(b/2) degrees. A
generalised coordinate is written as the interval it lies in, ``[400, 800)``, and at the top as
``*``.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.hierarchy import TOP, bind
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.paths.trajectories import Trajectories

MOST_LEVELS = 40
"""Levels of a grid at most: cells of a metre cover the planet after 26."""
FARTHEST = 2.0**52
"""Cells are numbered with whole numbers below this."""


@dataclasses.dataclass(frozen=True, eq=False)
class PlaceLevels:
    """Per level and place of the data: the number of what is above it, in ``tables[level]``, and
    what is lost (0: nothing, 1: all).

    ``sides`` are those of the cells of a grid, per level; None for levels of a hierarchy, for
    points as they are, and for the top.
    """

    codes: tuple[NDArray[np.int64], ...]
    tables: tuple[pl.DataFrame, ...]
    loss: tuple[NDArray[np.float64], ...]
    sides: tuple[tuple[float, float] | None, ...]

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.codes) - 1

    def called(self, level: int) -> str:
        """A level in words; no data values."""
        if level == 0:
            return "as in the data"
        sides = self.sides[level]
        if sides is not None:
            return f"cells of {sides[0]:.6g} × {sides[1]:.6g}"
        if self.tables[level].height == 1:
            return "no places"
        return f"level {level} of the hierarchy"


def tower_of(people: Trajectories, *, cell: float | None = None, bits: int = 36) -> PlaceLevels:
    """The levels above the places of some people: those of their hierarchy, or of a grid where they
    are coordinates.

    ``cell`` is the side of the finest cell in the unit of the coordinates; without it they are
    longitude and latitude, and ``bits`` says how many bits the finest cell has.
    """
    if not people.coordinates:
        return _of_hierarchy(people)
    if not numeric(people.table):
        # Intervals of an earlier run cannot be put into other cells: their true coordinates are
        # gone.
        return _standing(people)
    return _of_grid(people, *_sides(people, cell, bits))


def _standing(people: Trajectories) -> PlaceLevels:
    """Coordinates that are generalised already: they stay, or all go."""
    count = people.table.height
    top = pl.DataFrame({name: [TOP] for name in people.table.columns})
    return PlaceLevels(
        (np.arange(count), np.zeros(count, dtype=np.int64)),
        (people.table, top),
        (np.zeros(count), np.ones(count)),
        (None, None),
    )


def _of_hierarchy(people: Trajectories) -> PlaceLevels:
    (column,) = people.table.columns
    attribute = people.attribute(column)
    if attribute.hierarchy is None:
        count = people.table.height
        return PlaceLevels((np.arange(count),), (people.table,), (np.zeros(count),), (None,))
    labels = people.table[column].to_list()
    # The hierarchy may need to know how many points each value has.
    counts = np.bincount(people.places, minlength=len(labels)).tolist()
    ladder = bind(attribute.hierarchy, labels, counts)
    code = {label: number for number, label in enumerate(ladder.labels[0])}
    # The hierarchy has an order of values of its own; the places of the data are numbered
    # otherwise.
    base = np.array([code[label] for label in labels], dtype=np.int64)
    codes, tables, loss = [], [], []
    for level in range(ladder.depth):
        above = ladder.climb(0, level)[base]
        codes.append(above)
        tables.append(
            pl.DataFrame({column: list(ladder.labels[level])}, schema={column: pl.String})
        )
        loss.append(ladder.loss[level][above])
    return PlaceLevels(tuple(codes), tuple(tables), tuple(loss), (None,) * ladder.depth)


def _sides(people: Trajectories, cell: float | None, bits: int) -> tuple[float, float]:
    """The sides of the finest cell."""
    if cell is not None:
        return cell, cell
    longitude, latitude = _lon_lat(people)
    wide, high = (np.abs(people.table[name].to_numpy()).max() for name in (longitude, latitude))
    if wide > 180 or high > 90:
        raise ParameterError(
            f"columns {longitude!r} and {latitude!r} are not longitude and latitude in degrees; "
            "give the side of a cell in their unit, like cell: 100"
        )
    # The first of an odd number of bits goes to longitude, as a geohash does.
    sides = {longitude: 360 / 2 ** ((bits + 1) // 2), latitude: 180 / 2 ** (bits // 2)}
    first, second = people.table.columns
    return sides[first], sides[second]


def _lon_lat(people: Trajectories) -> tuple[str, str]:
    """Which of two columns is longitude: the first, unless it is called latitude."""
    first, second = people.table.columns
    if first.lower().startswith("lat"):
        return (second, first)
    return (first, second)


def _of_grid(people: Trajectories, wide: float, high: float) -> PlaceLevels:
    table = people.table
    x, y = (table[name].to_numpy() for name in table.columns)
    # Shifting a number by one bit gives that of the cell above, for negative numbers too: −3 → −2.
    across, up = _numbers(x, wide), _numbers(y, high)
    # The longer side decides when cells cover all; the diagonal is what a loss is measured by.
    if table.height:
        reach = float(max(np.ptp(x), np.ptp(y)))
    else:
        reach = 0.0
    if table.height:
        extent = float(np.hypot(np.ptp(x), np.ptp(y)))
    else:
        extent = 0.0
    codes, tables, loss, sides = (
        [np.arange(table.height)],
        [table],
        [np.zeros(table.height)],
        [None],
    )
    # Level 0 is the points as they are: no cell.
    cell_sides: list[tuple[float, float] | None] = [*sides]
    for level in range(MOST_LEVELS):
        of_level, cells = _cells(
            table.columns, across >> level, up >> level, (wide * 2**level, high * 2**level)
        )
        # wider than the whole area: next comes the top
        if cells.height == 1 or min(wide, high) * 2 ** (level - 1) >= reach:
            break
        diagonal = float(np.hypot(wide * 2**level, high * 2**level))
        codes.append(of_level)
        tables.append(cells)
        loss.append(np.full(table.height, min(1.0, diagonal / extent) if extent else 0.0))
        cell_sides.append((wide * 2**level, high * 2**level))
    # The top says nothing at all, even where one cell would already hold all points.
    codes.append(np.zeros(table.height, dtype=np.int64))
    tables.append(pl.DataFrame({name: [TOP] for name in table.columns}))
    loss.append(np.ones(table.height))
    return PlaceLevels(tuple(codes), tuple(tables), tuple(loss), (*cell_sides, None))


def _numbers(values: NDArray[np.float64], side: float) -> NDArray[np.int64]:
    """The numbers of the cells along an axis, so that every value lies in the interval as it is
    written.
    """
    # Division may land in the neighbouring cell by rounding. The number is put right by the ends as
    # they will be written, so that every reader of a label finds the point inside.
    rough = np.floor(values / side)
    if np.abs(rough).max(initial=0.0) > FARTHEST:
        raise ParameterError(
            f"cells of side {side:g} are too small for coordinates as large as these; use larger "
            "cells"
        )
    number = rough.astype(np.int64)
    low, high = _written_ends(number, side)
    return number + (values >= high) - (values < low)


def _written_ends(
    number: NDArray[np.int64], side: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of cells as they can be read back from their labels."""
    # Each number is written once, however many points have it: text is slow.
    kinds, of_kind = np.unique(number, return_inverse=True)
    ends = np.array(
        [
            [float(_number_text(n * side)), float(_number_text((n + 1) * side))]
            for n in kinds.tolist()
        ]
    ).reshape(-1, 2)
    return ends[of_kind, 0], ends[of_kind, 1]


def _number_text(value: float) -> str:
    # Adding 0 turns −0 into 0, which is written without a sign.
    return f"{value + 0.0:.12g}"


def interval(number: int, side: float) -> str:
    """How a generalised coordinate is written.

    >>> interval(2, 400), interval(-1, 0.1)
    ('[800, 1200)', '[-0.1, 0)')
    """
    return f"[{_number_text(number * side)}, {_number_text((number + 1) * side)})"


def _cells(
    names: list[str], across: NDArray[np.int64], up: NDArray[np.int64], sides: tuple[float, float]
) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """The number of the cell of every place, and the table of cells."""
    # Only cells that hold points are numbered.
    pairs, codes = np.unique(np.stack([across, up], axis=1), axis=0, return_inverse=True)
    columns = [
        [interval(number, side) for number in numbers]
        for numbers, side in zip(pairs.T.tolist(), sides, strict=True)
    ]
    return codes.reshape(-1).astype(np.int64), pl.DataFrame(dict(zip(names, columns, strict=True)))


# What an intruder who knows true points looks for in a release.


@dataclasses.dataclass(frozen=True, eq=False)
class Images:
    """Per place of the original the released place that contains it (−1: none), what that loses,
    and its diameter in a grid.
    """

    codes: NDArray[np.int64]
    loss: NDArray[np.float64]
    diameters: NDArray[np.float64] | None = None


def images(original: Trajectories, released: Trajectories) -> NDArray[np.int64]:
    """Per place of the original the released place that contains it, or −1."""
    return images_with_loss(original, released).codes


def images_with_loss(original: Trajectories, released: Trajectories) -> Images:
    """Per place of the original the released place that contains it, and what is lost by it (all,
    where none does).

    Released labels are looked for among the values themselves and what is above them; where a
    release has several levels at once, the lowest that contains the place counts.
    """
    if original.coordinates != released.coordinates:
        raise SchemaError(
            "one file has places by name and the other by coordinates; give the file the release"
            " was made from"
        )
    # Only here are labels intervals that true coordinates must be looked for in.
    if original.coordinates and numeric(original.table) and not numeric(released.table):
        return _in_cells(original.table, released.table)
    if original.coordinates:
        tower = _standing(original)
    else:
        tower = tower_of(original)
    image_codes = np.full(original.table.height, -1, dtype=np.int64)
    loss = np.ones(original.table.height)
    # A label may stand in the table though no point has it any more; it must not match.
    used = np.zeros(released.table.height, dtype=np.bool_)
    used[released.places] = True
    # The columns of a file that was read may be called otherwise; they stand in the same order.
    released_table = released.table.rename(
        dict(zip(released.table.columns, original.table.columns, strict=True))
    )
    released_table = released_table.with_columns(
        pl.Series("_number", np.arange(released_table.height))
    ).filter(used)
    # From the lowest level up: the first that matches is the finest that contains the place.
    for table, code, lost in zip(tower.tables, tower.codes, tower.loss, strict=True):
        # Numbers against labels: on this level nothing can be equal.
        if table.dtypes != released_table.dtypes[:-1]:
            continue
        hits = table.join(released_table, on=table.columns, how="left", maintain_order="left")[
            "_number"
        ].fill_null(-1)
        # What a lower level has settled stays.
        fresh = (image_codes < 0) & (hits.to_numpy()[code] >= 0)
        image_codes, loss = (
            np.where(fresh, hits.to_numpy()[code], image_codes),
            np.where(fresh, lost, loss),
        )
    return Images(image_codes.astype(np.int64), loss)


def numeric(table: pl.DataFrame) -> bool:
    """Whether places are given by numbers, as they are in the data."""
    return all(kind.is_float() for kind in table.dtypes)


def _in_cells(points: pl.DataFrame, cells: pl.DataFrame) -> Images:
    codes = _containing(points, cells)
    ends = [ends_of_labels(cells[name]) for name in cells.columns]
    wide, high = (upper - lower for lower, upper in ends)
    extent = float(np.hypot(*(np.ptp(points[name].to_numpy()) for name in points.columns)))
    # The top has infinite ends; nobody is farther off than the whole area.
    diameters = np.minimum(np.hypot(wide, high), extent)
    # Not contained in any released cell: lost, as if it were anywhere in the area.
    of_point = np.where(codes >= 0, diameters[codes], extent)
    return Images(codes, np.where(codes >= 0, of_point / extent if extent else 0.0, 1.0), of_point)


def _containing(points: pl.DataFrame, cells: pl.DataFrame) -> NDArray[np.int64]:
    """Per pair of coordinates the cell that contains it, or −1."""
    axes = [
        _place_on_axis(points[a].to_numpy(), cells[b])
        for a, b in zip(points.columns, cells.columns, strict=True)
    ]
    # One number for the pair of intervals; each axis has fewer than ``kinds``.
    kinds = max(int(number.max(initial=0)) for _, number in axes) + 1
    keys = axes[0][1] * kinds + axes[1][1]
    order = np.argsort(keys)
    cell_keys = axes[0][0] * kinds + axes[1][0]
    at = np.minimum(np.searchsorted(keys[order], cell_keys), len(keys) - 1)
    # Outside on one axis (−1), the number could be that of another pair by chance.
    hit = (keys[order][at] == cell_keys) & (axes[0][0] >= 0) & (axes[1][0] >= 0)
    return np.where(hit, order[at], -1).astype(np.int64)


def _place_on_axis(
    values: NDArray[np.float64], labels: pl.Series
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of the interval of each value (−1: none), and of each label."""
    low, high = ends_of_labels(labels)
    ends, number = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    # Intervals of a level do not overlap: the last that begins at or before the value is the only
    # one it can lie in.
    at = np.searchsorted(ends[:, 0], values, side="right") - 1
    inside = (at >= 0) & (values < ends[np.maximum(at, 0), 1])
    return np.where(inside, at, -1).astype(np.int64), number.reshape(-1).astype(np.int64)


def ends_of_labels(labels: pl.Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of generalised coordinates; what is no interval is refused with a count.

    >>> ends_of_labels(pl.Series(["[400, 800)", "*"]))[1].tolist()
    [800.0, inf]
    """
    # The top becomes an interval without ends, so that all labels are read alike.
    plain = pl.select(
        pl.when(labels == TOP).then(pl.lit("[-inf, inf)")).otherwise(labels)
    ).to_series()
    parts = plain.str.extract_groups(r"^\[([^,]+), ([^,]+)\)$").struct.unnest()
    ends = [parts[name].cast(pl.Float64, strict=False) for name in parts.columns]
    broken = max(end.null_count() for end in ends)
    if broken:
        raise SchemaError(
            f"{broken:,} of {len(labels):,} generalised coordinates are not intervals like [400, "
            "800); correct them"
        )
    return ends[0].to_numpy(), ends[1].to_numpy()
