"""Work on one column or one part of the rows after the other, in as many threads as there are
processors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

MANY = 1 << 20
"""Rows from which threads are worth starting, and rows of a part."""


def side_by_side(work: Callable[[Item], Made], items: Iterable[Item], *, rows: int) -> list[Made]:
    """What ``work`` makes of every item, in the order of the items; with fewer than a million rows,
    one after the other.

    No item may see what is made of another, so the result does not depend on the number of threads.
    What was raised for the first item that failed is raised. Numpy, polars and our loops let
    threads run beside each other; plain Python does not.

    >>> side_by_side(len, ["a", "bc"], rows=2)
    [1, 2]
    """
    if rows < MANY:
        return [work(item) for item in items]
    with ThreadPoolExecutor(max_workers=processors()) as pool:
        return list(pool.map(work, items))


def meanwhile(work: Callable[[], Made]) -> Future[Made]:
    """Begin work in a thread of its own; its ``result()`` waits for the end, and raises what was
    raised there.

    >>> meanwhile(lambda: 2).result()
    2
    """
    aside = ThreadPoolExecutor(max_workers=1)
    try:
        return aside.submit(work)
    finally:
        # The thread ends by itself when the work is done; nobody waits here.
        aside.shutdown(wait=False)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parts_of_rows(rows: int) -> Iterator[slice]:
    """All rows in parts of a million.

    >>> [part.stop for part in parts_of_rows((1 << 20) + 1)]
    [1048576, 1048577]
    """
    return (slice(start, min(rows, start + MANY)) for start in range(0, rows, MANY))
