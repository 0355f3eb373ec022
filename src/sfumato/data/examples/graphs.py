"""Bundled graphs: a club of 34 people that everybody compares with, and generated networks of any
size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.data_files import read_data_file
from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.data.examples.literature import at_least

if TYPE_CHECKING:
    from sfumato.data.graphs.graph import PeopleGraph

TIES = Schema.from_roles({"from": "person", "to": "friend"})


def karate() -> PeopleGraph:
    """Zachary's karate club: 34 members and the 78 pairs that met outside of it.

    Six members are alone in their degree, 23 in H₂, 16 in their ego graph; by distances to the hubs
    33, 0, 32 two, three and eight are.

    Reference: Zachary 1977, doi:10.1086/jar.33.4.3629752.
    """
    ties = read_data_file(__package__, "karate")
    return _graph("karate", np.array(ties, dtype=np.int64).T, 34)


def social_network(people: int = 1000, ties: int = 5, *, seed: int = 7) -> PeopleGraph:
    """People who come one by one, each tied to ``ties`` of those who are there, rather to those who
    have many ties (preferential attachment).

    Degrees so follow a power law, as in many networks; nobody in it is real. The same numbers and
    seed give the same graph.

    Reference: Barabási & Albert 1999, doi:10.1126/science.286.5439.509.

    >>> from sfumato import examples
    >>> examples.social_network(100, 3).people
    100
    """
    at_least("ties", ties, 1)
    count = at_least("people", people, ties + 1)
    stream = np.random.Generator(np.random.Philox(key=seed))
    # Every end of every tie, one behind the other: somebody with ten ties stands there ten times,
    # so a random entry prefers those who have many.
    ends = np.empty(2 * ties * count, dtype=np.int64)
    tails = []
    heads = []
    used = 0
    # The first one to come is tied to all who are there.
    targets = np.arange(ties)
    for person in range(ties, count):
        tails.append(np.full(len(targets), person))
        heads.append(targets)
        ends[used : used + len(targets)] = targets
        ends[used + len(targets) : used + 2 * len(targets)] = person
        used += 2 * len(targets)
        # The same person may be drawn twice; such a newcomer has a few ties less.
        targets = np.unique(ends[stream.integers(used, size=ties)])
    return _graph(
        "a generated network", np.stack([np.concatenate(heads), np.concatenate(tails)]), count
    )


def _graph(
    name: str, ends: np.ndarray[tuple[int, ...], np.dtype[np.int64]], people: int
) -> PeopleGraph:
    data = pl.DataFrame({"person": ends[0], "friend": ends[1]})
    unit = Schema.from_roles({"person": "id"})
    # Listed, so that people without a tie are there as well.
    everybody = pl.DataFrame({"id": np.arange(people)})
    from sfumato.data.graphs.graph import PeopleGraph

    return PeopleGraph.from_tables(
        {"data": data, "people": everybody}, {"data": TIES, "people": unit}, Source(name)
    )
