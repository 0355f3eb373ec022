"""Random small tables with columns of every form, and what a local recoding made of them, read back
naively.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import polars as pl
from hypothesis import strategies as st

from sfumato.core.encoding import label
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.steps.local.regions import SUPPRESSED, regions_of_rows
from tests.oracles import definitions as oracle
from tests.random_tables import hierarchies

GRADES = ("low", "mid", "high", "top")
FORMS = ("whole", "real", "order", "tree", "set")


@dataclasses.dataclass(frozen=True)
class MixedTable:
    """Columns of cells (None: missing) with their attributes, and a sensitive column beside
    them.
    """

    columns: dict[str, list]
    attributes: dict[str, Attribute]
    paths: dict[str, dict]
    secrets: list[str]

    @property
    def names(self):
        return list(self.columns)

    @property
    def rows(self):
        return list(
            zip(
                *([None if v is None else label(v) for v in c] for c in self.columns.values()),
                strict=True,
            )
        )

    def dataset(self, order=None):
        order = range(len(self.secrets)) if order is None else order
        frame = pl.DataFrame(
            {
                name: pl.Series([cells[i] for i in order], dtype=self.dtype(name), strict=False)
                for name, cells in self.columns.items()
            }
            | {"secret": pl.Series([self.secrets[i] for i in order], dtype=pl.String)}
        )
        return Table(frame, Schema({**self.attributes, "secret": Attribute((Role.SENSITIVE,))}))

    def dtype(self, name):
        whole = all(isinstance(v, int) for v in self.columns[name] if v is not None)
        return (
            pl.String
            if self.attributes[name].kind is not Kind.NUMERIC
            else pl.Int64
            if whole
            else pl.Float64
        )

    @property
    def dimensions(self):
        return [
            self.dimension(name, [row[a] for row in self.rows]) for a, name in enumerate(self.names)
        ]

    def dimension(self, name, values):
        """The column as the oracle takes it."""
        attribute, present = self.attributes[name], {v for v in values if v is not None}
        if attribute.kind is Kind.NUMERIC:
            cells = oracle.cells_of_numbers(present)
            places = [place for place, _, _ in cells.values()]
            return "line", cells, max(places) - min(places) if places else 0.0
        if attribute.order is not None:
            return (
                "line",
                {v: float(attribute.order.index(v)) for v in present},
                len(attribute.order) - 1.0,
            )
        if name in self.paths:
            paths = self.paths[name]
            depth = len(next(iter(paths.values())))
            return (
                "tree",
                paths,
                [Counter(path[level] for path in paths.values()) for level in range(depth)],
            )
        return "set", present, None


@st.composite
def mixed_tables(draw, *, most_columns=3, most_rows=16, fewest_rows=1, forms=FORMS):
    """Tables of numbers, ordered values, trees and sets."""
    forms = draw(st.lists(st.sampled_from(forms), min_size=1, max_size=most_columns))
    n = draw(st.integers(fewest_rows, most_rows))
    columns, attributes, paths = {}, {}, {}
    for a, form in enumerate(forms):
        name = f"c{a}"
        cell, attribute = draw(column(form))
        if form == "tree":
            paths[name], attribute = attribute, tree_attribute(attribute)
        attributes[name] = attribute
        missing = st.none() if draw(st.integers(0, 3)) == 0 else st.nothing()
        columns[name] = draw(st.lists(st.one_of(cell, missing), min_size=n, max_size=n))
    return MixedTable(
        columns, attributes, paths, draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    )


@st.composite
def column(draw, form):
    quasi = (Role.QUASI,)
    if form == "whole":
        return st.integers(0, draw(st.sampled_from([3, 10, 60]))), Attribute(
            quasi, kind=Kind.NUMERIC
        )
    if form == "real":
        return st.sampled_from([-2.5, -1.0, 0.0, 0.25, 3.5]), Attribute(quasi, kind=Kind.NUMERIC)
    if form == "order":
        return st.sampled_from(GRADES), Attribute(quasi, kind=Kind.ORDINAL, order=GRADES)
    if form == "set":
        return st.sampled_from(["p", "q", "r", "s"]), Attribute(quasi)
    known = draw(
        hierarchies(most_leaves=6, most_levels=4).filter(
            lambda paths: len(next(iter(paths.values()))) > 1
        )
    )
    return st.sampled_from(sorted(known)), known


def tree_attribute(paths):
    return Attribute((Role.QUASI,), hierarchy=TableHierarchy(list(paths.values())))


def partition(dataset, plan):
    """The rows of each region, and those that are suppressed."""
    found = {}
    for row, region in enumerate(regions_of_rows(dataset, plan).tolist()):
        found.setdefault(region, set()).add(row)
    gone = found.pop(SUPPRESSED, set())
    return {frozenset(rows) for rows in found.values()}, gone


def covers(cell, value, dimension):
    """Whether a released label covers an original value, read as the documentation of the cells
    says.
    """
    if cell == value or cell == oracle.TOP:
        return True
    if cell is None or value is None:
        return False
    form, known, _ = dimension
    if form == "tree":
        return cell in known[value]
    if form == "set":
        return cell.startswith("{") and value in cell.strip("{}").split(", ")
    if cell.startswith("["):
        low, high = map(float, cell.strip("[])").split(", "))
        place = known[value][0]
        return low <= place < high or (cell.endswith("]") and place == high)
    if ".." not in cell:
        low, high = map(int, cell.split("-"))
        return low <= known[value][0] <= high
    low, high = cell.split("..")
    return known[low] <= known[value] <= known[high]


def naive_score(table, regions, gone):
    """Mean loss of a cell, from the definition; cells of suppressed rows lose everything."""
    total = float(len(gone) * len(table.names))
    for rows in regions:
        for a, dimension in enumerate(table.dimensions):
            total += len(rows) * oracle.covering_loss(dimension, [table.rows[i][a] for i in rows])
    return total / (len(table.secrets) * len(table.names))


def check_release(table, plan, released):
    """What every local recoding owes: cells cover the values, the score is the loss, equal regions
    have equal cells.
    """
    dataset = table.dataset()
    regions, gone = partition(dataset, plan)
    assert sum(map(len, regions)) + len(gone) == len(table.secrets)
    kept = sorted(set(range(len(table.secrets))) - gone)
    cells = [
        [None if v is None else label(v) for v in released.column(name).to_list()]
        for name in table.names
    ]
    rows = dict(zip(kept, zip(*cells, strict=True), strict=True))
    for members in regions:
        assert len({rows[i] for i in members}) == 1
        for i in members:
            for cell, value, dimension in zip(
                rows[i], table.rows[i], table.dimensions, strict=True
            ):
                assert covers(cell, value, dimension), (cell, value)
    assert abs(plan.score - naive_score(table, regions, gone)) < 1e-9
    return regions, gone
