"""Paths: eight people of a worked example, and an invented city of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.source import Source
from sfumato.data.examples.literature import at_least, either
from sfumato.methods.hierarchies import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.paths.trajectories import Trajectories

# Hour and place of every point of a person, and the sensitive value: 8a is place a at 8 o'clock.
SMALL = (
    ("8a 9b 12c 17a", "x"),
    ("8a 9b 13c 17a", "y"),
    ("8d 9b 12c 18d", "x"),
    ("8d 9e 12c 18d", "y"),
    ("7a 9b 12f 17a", "y"),
    ("8a 10b 12c", "x"),
    ("8d 9e 12f 18d", "y"),
    ("9b 12c", "y"),
)
ZONES = {"*": {"north": ["a", "b", "c"], "south": ["d", "e", "f"]}}
BLOCK = 500.0
"""Metres between two corners of the city."""
MONDAY = 19723 * 24
"""Hours from 1970 to Monday, 1 January 2024."""


def small_paths() -> Trajectories:
    """Eight people at six places on one day, with the hour and a sensitive value: 29 points, which
    two zones group.

    Four points single out 7/8 of them; with at most two points known and two people to hide among,
    12 minimal sets are in the way.
    """
    from sfumato.data.paths.trajectories import Trajectories

    rows = []
    for person, (path, value) in enumerate(SMALL, start=1):
        points = path.split()
        # The last letter is the place, all before it the hour.
        rows += [(f"p{person}", int(point[:-1]), point[-1], value) for point in points]
    frame = pl.DataFrame(rows, schema=["person", "hour", "place", "illness"], orient="row")
    schema = Schema(
        {
            "person": Attribute((Role.PERSON,)),
            "hour": Attribute((Role.TIME,)),
            "place": Attribute((Role.PLACE,), hierarchy=Tree(ZONES)),
            "illness": Attribute((Role.SENSITIVE,)),
        }
    )
    return Trajectories.from_tables({"data": frame}, {"data": schema}, Source("small_paths"))


def mobility(
    people: int = 200,
    *,
    days: int = 5,
    points: int = 4,
    places: Literal["coordinates", "names"] = "coordinates",
    seed: int = 7,
) -> Trajectories:
    """An invented city of squares of 500 m: who sleeps where, works where and goes out, some points
    a day, with income.

    Homes and work places gather in a few quarters; on workdays people are at work from 9 to 17, at
    night at home, and else at one of three places of their own or anywhere.
    ``places="coordinates"`` gives metres east and north of the town hall, ``"names"`` the square
    with a tree of quarters. The same arguments give the same paths on every machine; no real person
    is in it.
    """
    from sfumato.data.paths.trajectories import Trajectories

    frame = mobility_table(people, days=days, points=points, places=places, seed=seed)
    return Trajectories.from_tables(
        {"data": frame}, {"data": mobility_schema(frame)}, Source("mobility")
    )


def mobility_table(
    people: int, *, days: int = 5, points: int = 4, places: str = "coordinates", seed: int = 7
) -> pl.DataFrame:
    """The long table of :func:`mobility`, a row for each point."""
    either("places", places, ("coordinates", "names"))
    count = at_least("people", people, 1)
    per_day = at_least("points", points, 1)
    stream = np.random.Generator(np.random.Philox(key=seed))
    # Centres are the same for all; homes are spread wider than places of work.
    home = _around(stream, count, spread=6.0)
    work = _around(stream, count, spread=3.0)
    haunts = np.stack([_around(stream, count, spread=5.0) for _ in range(3)], axis=1)
    size = count * at_least("days", days, 1) * per_day
    # Every person has as many points on each day.
    persons = np.repeat(np.arange(count), days * per_day)
    hour = stream.integers(0, 24, size)
    day = np.tile(np.repeat(np.arange(days), per_day), count)
    # Day 0 is a Monday, so 5 and 6 are the weekend.
    busy = (hour >= 9) & (hour < 17) & (day % 7 < 5)
    asleep = (hour < 7) | (hour >= 22)
    haunt = haunts[persons, stream.integers(0, 3, size)]
    away = stream.random(size)
    # Work first, then sleep, then one of the person's own places.
    where = np.where(busy[:, None], work[persons], np.where(asleep[:, None], home[persons], haunt))
    # One point in 25 is anywhere: nobody keeps entirely to the routine.
    where = np.where((away < 0.04)[:, None], _around(stream, size, spread=8.0), where)
    income = np.array(["low", "middle", "high"])[stream.choice(3, count, p=[0.3, 0.5, 0.2])]
    minutes = stream.integers(0, 60, size)
    # In minutes since 1970.
    return _rows(persons, (day * 24 + hour + MONDAY) * 60 + minutes, where, income, places)


def _around(stream: np.random.Generator, count: int, spread: float) -> NDArray[np.int64]:
    """Squares near one of three centres, most near the first."""
    centres = np.array([[0, 0], [9, 4], [-6, 8]])[stream.choice(3, count, p=[0.6, 0.25, 0.15])]
    points: NDArray[np.int64] = np.rint(centres + stream.normal(0, spread / 2, (count, 2))).astype(
        np.int64
    )
    return np.clip(points, -16, 15)


def _rows(
    persons: NDArray[np.int64],
    minutes: NDArray[np.int64],
    where: NDArray[np.int64],
    income: NDArray[np.str_],
    places: str,
) -> pl.DataFrame:
    # Minutes to microseconds.
    time = pl.Series("time", minutes * 60_000_000, dtype=pl.Int64).cast(pl.Datetime("us"))
    columns = {"person": persons + 1, "time": time}
    if places == "coordinates":
        columns |= {"x": where[:, 0] * BLOCK, "y": where[:, 1] * BLOCK}
    else:
        # The same squares as the tree has: 32 by 32, counted from −16.
        names = np.array([[_square(x, y) for y in range(-16, 16)] for x in range(-16, 16)])
        columns |= {"place": names[where[:, 0] + 16, where[:, 1] + 16]}
    return pl.DataFrame({**columns, "income": income[persons]})


def _square(x: int, y: int) -> str:
    return f"square {x:+d}{y:+d}"


def city_tree() -> Tree:
    """The squares of the invented city in blocks of 2 by 2, 4 by 4, 8 by 8 and 16 by 16."""

    def below(x: int, y: int, side: int) -> dict[str, object] | list[str]:
        half = side // 2
        corners = [(x, y), (x + half, y), (x, y + half), (x + half, y + half)]
        # The smallest block holds four single squares, which are the leaves.
        if half == 1:
            return [_square(*corner) for corner in corners]
        return {f"{half} by {half} at {a:+d}{b:+d}": below(a, b, half) for a, b in corners}

    return Tree({"*": below(-16, -16, 32)})


def mobility_schema(frame: pl.DataFrame) -> Schema:
    """What the columns of :func:`mobility_table` are."""
    attributes = {
        "person": Attribute((Role.PERSON,)),
        "time": Attribute((Role.TIME,), kind=Kind.DATE),
        "x": Attribute((Role.PLACE,), kind=Kind.NUMERIC),
        "y": Attribute((Role.PLACE,), kind=Kind.NUMERIC),
        "place": Attribute((Role.PLACE,), hierarchy=city_tree()),
        "income": Attribute((Role.SENSITIVE,)),
    }
    # Either coordinates or names are in the table; the other columns are left out.
    return Schema({name: attributes[name] for name in frame.columns})
