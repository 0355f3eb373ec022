"""Random small tables with random hierarchies, as hypothesis draws them, in the forms that oracle
and library take.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import polars as pl
from hypothesis import strategies as st

from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.methods.hierarchies import TableHierarchy
from tests.oracles.definitions import TOP


@dataclasses.dataclass(frozen=True)
class RandomTable:
    """Rows of labels, and per column the paths and leaves of its hierarchy (one level: it has
    none).
    """

    rows: list[tuple[str | None, ...]]
    paths: list[dict[str, tuple[str, ...]]]

    @property
    def names(self):
        return [f"c{a}" for a in range(len(self.paths))]

    @property
    def depths(self):
        return [len(next(iter(paths.values()))) for paths in self.paths]

    @property
    def leaves(self):
        return [
            [Counter(path[level] for path in paths.values()) for level in range(depth)]
            for paths, depth in zip(self.paths, self.depths, strict=True)
        ]

    def frame(self, rows=None):
        rows = self.rows if rows is None else rows
        return pl.DataFrame(
            {
                name: pl.Series([row[a] for row in rows], dtype=pl.String)
                for a, name in enumerate(self.names)
            }
        )

    def schema(self, **changes):
        return Schema(
            {
                name: Attribute(
                    (Role.QUASI,),
                    hierarchy=None if depth == 1 else TableHierarchy(list(paths.values())),
                    **changes,
                )
                for name, paths, depth in zip(self.names, self.paths, self.depths, strict=True)
            }
        )

    def dataset(self, rows=None):
        return Table(self.frame(rows), self.schema())


@st.composite
def hierarchies(draw, *, most_leaves=5, most_levels=3):
    """Value -> path; with one level the column cannot be generalised."""
    count = draw(st.integers(1, most_leaves))
    depth = draw(st.integers(1, most_levels))
    names = [f"v{i}" for i in range(count)]
    paths = {name: [name] for name in names}
    for level in range(1, depth):
        below = list(dict.fromkeys(path[-1] for path in paths.values()))
        parent = {label: f"{level}.{draw(st.integers(0, 2))}" for label in below}
        for path in paths.values():
            path.append(TOP if level == depth - 1 else parent[path[-1]])
    return {name: tuple(path) for name, path in paths.items()}


@st.composite
def tables(draw, *, most_columns=3, most_rows=14, most_leaves=4, most_levels=3, fewest_rows=1):
    """A table whose cells are leaves of its hierarchies, or missing."""
    paths = draw(
        st.lists(
            hierarchies(most_leaves=most_leaves, most_levels=most_levels),
            min_size=1,
            max_size=most_columns,
        )
    )
    cell = [st.sampled_from([*below, None] if draw(st.booleans()) else [*below]) for below in paths]
    rows = draw(st.lists(st.tuples(*cell), min_size=fewest_rows, max_size=most_rows))
    return RandomTable(rows, paths)
