"""Which released classes a finer record could have become: the consistency graph.

A released cell *generalises* a value when it is the value itself or a node above it in the column's
hierarchy, the top ``*``, a set of such nodes written with commas (``1,2`` or ``{1, 2}``), or a
range that holds it (``25-26``, ``[-1.5, 2]``, ``low..mid``). A missing cell generalises only a
missing value, unless missing values of the column are wildcards: then it fits every value, and a
missing value fits every cell. A released record generalises a finer one when all its cells do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.classes import ClassTable, count_rows
from sfumato.core.encoding import value_counts
from sfumato.core.groups import group_starts, places_in_groups
from sfumato.core.hierarchy import TOP, Ladder, bind
from sfumato.core.ranges import places_of
from sfumato.core.schema import Missing, Schema
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.table import Table

MOST_EDGES = 20_000_000
"""More pairs of classes than this are refused: they would not fit into memory."""

Labels = Sequence[str | None]
Edges = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


@dataclasses.dataclass(frozen=True)
class Covering:
    """Per value, the released labels that generalise it: value *i* has
    ``codes[starts[i]:starts[i+1]]``.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int64]


def covering(
    values: Labels,
    released: Labels,
    ladder: Ladder,
    *,
    wildcard: bool = False,
    order: tuple[str, ...] | None = None,
) -> Covering:
    """Which released labels generalise each value.

    ``ladder`` is the column's hierarchy bound to (at least) the values; ``order`` lists ordered
    values from low to high. Released labels that mean nothing there generalise nothing.

    >>> found = covering(["1", "2"], ["1", "1,2", "*"], bind(None, ["1", "2"], [1, 1]))
    >>> found.starts.tolist(), found.codes.tolist()
    ([0, 3, 5], [0, 1, 2, 1, 2])
    """
    nodes = _nodes(values, ladder)
    sets = _sets(released, set().union(*nodes) if nodes else set())
    position = {label: code for code, label in enumerate(released)}
    everywhere = {position[TOP]} if TOP in position else set()
    if wildcard and None in position:
        everywhere.add(position[None])
    covered = set().union(*nodes) if nodes else set()
    uncovered = [(c, r) for c, r in enumerate(released) if r not in covered and c not in sets]
    ranges = _within_ranges(values, uncovered, order)
    coverings = []
    for value, above, inside in zip(values, nodes, ranges, strict=True):
        if value is None and wildcard:
            coverings.append(list(range(len(released))))
            continue
        labelled = {position[node] for node in above if node in position}
        overlapping_sets = {code for code, members in sets.items() if members & above}
        coverings.append(sorted(labelled | everywhere | inside | overlapping_sets))
    lengths = [len(codes) for codes in coverings]
    flat = []
    for codes in coverings:
        flat.extend(codes)
    starts = group_starts(lengths)
    return Covering(starts, np.array(flat, dtype=np.int64))


def _nodes(values: Labels, ladder: Ladder) -> list[set[str | None]]:
    """Per value, itself and all nodes above it."""
    position = {label: code for code, label in enumerate(ladder.labels[0])}
    climbs = [ladder.climb(0, level).tolist() for level in range(ladder.depth)]
    spellings = []
    for value in values:
        labels_above = {value}
        if value in position:
            code = position[value]
            levels = zip(ladder.labels, climbs, strict=True)
            labels_above = {labels[climb[code]] for labels, climb in levels}
        spellings.append(labels_above)
    return spellings


def _sets(released: Labels, values: set[str | None]) -> dict[int, set[str | None]]:
    """Released labels that are no node but a list of nodes, by their code."""
    sets: dict[int, set[str | None]] = {}
    for code, label in enumerate(released):
        if label is None or label == TOP or label in values or "," not in label:
            continue
        words = label.strip("{}").split(",")
        members: set[str | None] = {part.strip() for part in words}
        if members <= values:
            sets[code] = members
    return sets


def _within_ranges(
    values: Labels, labels: Sequence[tuple[int, str | None]], order: tuple[str, ...] | None
) -> list[set[int]]:
    """Per value the codes of those labels that are ranges and hold it."""
    positions, reader = places_of(values, order)
    read = []
    for code, label in labels:
        if label is not None and label != TOP:
            read.append((code, reader(label)))
    ranges = [(code, ends) for code, ends in read if ends is not None]
    codes = np.array([code for code, _ in ranges], dtype=np.int64)
    lows = np.array([ends[0] for _, ends in ranges], dtype=np.float64)
    highs = np.array([ends[1] for _, ends in ranges], dtype=np.float64)
    return [set(codes[(lows <= position) & (position <= highs)].tolist()) for position in positions]


def consistent(fine: ClassTable, released: ClassTable, coverings: Sequence[Covering]) -> Edges:
    """All pairs of a fine class and a released class that generalises it: two arrays of class
    numbers.

    Columns are taken one after the other. A fine class is kept together with every distinct
    beginning of released keys that fits it so far, so the work is that of the result and not of all
    pairs.
    """
    # Pair i is the fine class kept_originals[i] and reached[i], the beginning of released keys that
    # fits it so far.
    kept_originals = np.arange(len(fine), dtype=np.int64)
    reached = np.zeros(len(fine), dtype=np.int64)
    beginnings = np.zeros(len(released), dtype=np.int64)
    for name, cover in zip(released.columns, coverings, strict=True):
        width = len(
            released.ladders[released.columns.index(name)].labels[
                released.levels[released.columns.index(name)]
            ]
        )
        # A beginning and the code of this column make a longer one; those that occur are numbered
        # again.
        prefixes, beginnings = np.unique(
            beginnings * width + released.codes(name), return_inverse=True
        )
        values = fine.codes(name)[kept_originals]
        amounts = cover.starts[values + 1] - cover.starts[values]
        _require_size(int(amounts.sum()))
        # Each pair once for every label that generalises its value.
        source = np.repeat(np.arange(len(kept_originals)), amounts)
        # The place within these: amounts 2 and 3 give 0, 1, 0, 1, 2.
        within = places_in_groups(amounts)
        prefixes_sought = (
            reached[source] * width + cover.codes[cover.starts[values][source] + within]
        )
        # Beginnings that no released class has are dropped.
        at = np.searchsorted(prefixes, prefixes_sought)
        is_present = at < len(prefixes)
        is_present[is_present] = prefixes[at[is_present]] == prefixes_sought[is_present]
        kept_originals, reached = kept_originals[source[is_present]], at[is_present]
    classes = np.empty(len(released), dtype=np.int64)
    # Whole keys are distinct: a beginning is one class now.
    classes[beginnings] = np.arange(len(released))
    return kept_originals, classes[reached] if len(released) else reached[:0]


def _require_size(edges: int) -> None:
    if edges > MOST_EDGES:
        raise SchemaError(
            f"more than {MOST_EDGES:,} pairs of classes are consistent with each other; judge a "
            "sample of the records, or use fewer quasi-identifiers"
        )


def coverings_of(
    fine: ClassTable,
    released: ClassTable,
    schema: Schema,
    counts_known: Mapping[str, Mapping[str | None, int]],
) -> list[Covering]:
    """The coverings of all columns of a released table.

    ``counts_known`` adds, per column, values (with their counts) that the hierarchies were bound to
    besides those of the fine table: some hierarchies are made from the values they see.
    """
    coverings = []
    for a, name in enumerate(released.columns):
        values = fine.ladders[a].labels[0]
        # Zero for values of the fine table alone: they must not shape hierarchies made from
        # frequencies.
        counts = {**dict.fromkeys(values, 0), **counts_known.get(name, {})}
        attribute = schema.attributes.get(name)
        ladder = bind(
            attribute.hierarchy if attribute else None, list(counts), list(counts.values())
        )
        wildcard = attribute is not None and attribute.missing is Missing.WILDCARD
        labels = released.ladders[a].labels[released.levels[a]]
        order = attribute.order if attribute else None
        coverings.append(covering(values, labels, ladder, wildcard=wildcard, order=order))
    return coverings


# Originals and what was released of them: who could be whom.
#
# The *consistency graph* joins an original record to every released record that generalises it.
# Records with the same quasi-identifiers have the same neighbours, so the graph is kept
# between classes: original classes on one side, released classes on the other, and the sizes of
# both.


@dataclasses.dataclass(frozen=True)
class Pairs:
    """The consistency graph between original and released classes, and which records are the same
    person's.

    ``originals`` and ``released`` are the records of each class on either side; only originals of
    which something was released count. ``edges`` are the consistent pairs of classes: original
    *edges[0][i]*, released *edges[1][i]*. ``same`` are the distinct pairs that records really have,
    each of them among the edges, ``same_records`` how many.
    """

    originals: NDArray[np.int64]
    released: NDArray[np.int64]
    edges: tuple[NDArray[np.int64], NDArray[np.int64]]
    same: tuple[NDArray[np.int64], NDArray[np.int64]]
    same_records: NDArray[np.int64]

    def neighbours_of_originals(self) -> NDArray[np.int64]:
        """Per original class, the released records that generalise it."""
        return self._reached(self.edges[0], self.released[self.edges[1]], len(self.originals))

    def neighbours_of_released(self) -> NDArray[np.int64]:
        """Per released class, the original records it generalises."""
        return self._reached(self.edges[1], self.originals[self.edges[0]], len(self.released))

    def matches_of_originals(self) -> NDArray[np.int64]:
        r"""Per original class, the released records that could be its own in some assignment of all
        records at once.

        A *match* is an edge of some perfect matching. The true assignment is one, so orient what it
        joins from released to original and every edge from original to released: an edge lies in a
        perfect matching just if both ends are in one strongly connected component. Equal originals
        are joined to the same released records and equal released records to the same originals, so
        components of classes are components of records.
        """
        if not len(self.originals) + len(self.released):
            return np.zeros(0, dtype=np.int64)
        original_components, released_components = self.components()
        together = original_components[self.edges[0]] == released_components[self.edges[1]]
        targets = self.released[self.edges[1][together]]
        return self._reached(self.edges[0][together], targets, len(self.originals))

    def components(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Per original and per released class the number of the group whose records can trade
        places with each other.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        first_released, nodes = len(self.originals), len(self.originals) + len(self.released)
        # Released classes are the nodes behind those of the originals.
        sources = np.concatenate([self.edges[0], first_released + self.same[1]])
        targets = np.concatenate([first_released + self.edges[1], self.same[0]])
        entries = np.ones(len(sources), dtype=np.int8)
        graph = coo_array((entries, (sources, targets)), shape=(nodes, nodes)).tocsr()
        _, component = connected_components(graph, directed=True, connection="strong")
        return component[:first_released].astype(np.int64), component[first_released:].astype(
            np.int64
        )

    def least_per_released(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per released class, the least value of the originals it was released for."""
        smallest = np.full(len(self.released), np.iinfo(np.int64).max, dtype=np.int64)
        candidates = values[self.same[0]]
        np.minimum.at(smallest, self.same[1], candidates)
        return smallest

    @staticmethod
    def _reached(
        ends: NDArray[np.int64], amounts: NDArray[np.int64], size: int
    ) -> NDArray[np.int64]:
        return np.bincount(ends, weights=amounts, minlength=size).astype(np.int64)


NOBODYS = "the released rows are synthetic: none of them belongs to a person of the original"


def origin_of(released: Table, original: Table) -> NDArray[np.int64]:
    """Per released row, the row of the original table it came from; raises :class:`SchemaError`
    where one is nobody's.
    """
    rows = origins_of(released, original)
    if len(rows) and int(rows.min()) < 0:
        raise SchemaError(NOBODYS)
    return rows


def origins_of(released: Table, original: Table) -> NDArray[np.int64]:
    """The same, where rows may be nobody's (−1)."""
    if released.origin is not None:
        rows = released.origin
        if len(rows) == len(released) and (not len(rows) or int(rows.max()) < len(original)):
            return rows
    elif len(released) == len(original):
        return np.arange(len(original), dtype=np.int64)
    raise SchemaError(
        f"the released table ({len(released):,} rows) cannot be aligned with the original "
        f"({len(original):,} rows): its rows do not say where they come from; judge it in the run "
        "that makes it"
    )


def pair_up(
    original: Table, released: Table, classes: ClassTable, rows: NDArray[np.int64]
) -> Pairs:
    """The consistency graph of a release: ``classes`` are those of the released table, ``rows`` the
    class of each row.

    Raises :class:`SchemaError` when a released record does not generalise its own original: then
    values were changed, not generalised, and the notions built on the graph say nothing.
    """
    original.require(classes.columns)
    released_originals = original.take(origin_of(released, original))
    fine, fine_rows = count_rows(
        dataclasses.replace(released_originals, schema=Schema({})), classes.columns
    )
    value_tables = {name: value_counts(original, name) for name in classes.columns}
    coverings = coverings_of(fine, classes, released.schema, value_tables)
    fine_classes, coarse_classes = consistent(fine, classes, coverings)
    # One number for each pair of classes; without any class the divisor is 1.
    fine_keys = fine_rows * max(1, len(classes)) + rows
    class_pairs, amounts = np.unique(fine_keys, return_counts=True)
    connected_keys = fine_classes * max(1, len(classes)) + coarse_classes
    wrong = int(amounts[~np.isin(class_pairs, connected_keys)].sum())
    if wrong:
        raise SchemaError(
            f"{wrong:,} of {len(released):,} released records do not generalise their own "
            "originals; consistency can be judged for generalised tables only"
        )
    matched_classes = class_pairs // max(1, len(classes)), class_pairs % max(1, len(classes))
    return Pairs(
        fine.records,
        classes.records,
        edges=(fine_classes, coarse_classes),
        same=matched_classes,
        same_records=amounts.astype(np.int64),
    )
