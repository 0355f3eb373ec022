"""The equivalence classes of a table: the currency of models, searches, risks and utilities.

A *class* is the set of records that share their quasi-identifiers. Each class has one packed key:
every column owns a few bits of one or more 64-bit words. A coarser table is a roll-up of a finer
one, so a search works on classes and never goes back to the rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sfumato import kernels
from sfumato.core.encoding import code_type, encode_column, is_one_record_each, parts_of, tallied
from sfumato.core.groups import group_starts
from sfumato.core.hierarchy import Ladder, bind_column
from sfumato.core.threads import parts_of_rows, side_by_side
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.encoding import Column, Encoded
    from sfumato.core.hierarchy import Ladder
    from sfumato.core.schema import Attribute
    from sfumato.core.table import Table

Number = TypeVar("Number", np.int64, np.float64)


# How often the values of a column occur in each class.


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """How often each value of one column (or combination of values of several) occurs in each
    class.

    Compressed rows: class *i* holds ``codes[starts[i]:starts[i+1]]`` with the same slice of
    ``counts``; ``labels[code]`` is the value (None: missing). ``worked_out`` keeps what depends on
    the labels alone, such as their order or their tree, for all counts that were merged or taken
    from the same ones.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    labels: tuple[str | None, ...]
    worked_out: dict[Any, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def merged(self, ids: NDArray[np.int64], groups: int) -> Counts:
        """Counts after class *i* went to group ``ids[i]``."""
        domain = max(1, len(self.labels))
        starts, codes, counts = kernels.keys.merge_counts(
            self.starts, self.codes, self.counts, ids, groups, domain
        )
        return Counts(starts, codes, counts=counts, labels=self.labels, worked_out=self.worked_out)

    def taken(self, keep: NDArray[np.bool_]) -> Counts:
        """Counts of some of the classes."""
        sizes = np.diff(self.starts)
        # Per entry of codes whether its class is kept.
        inside = np.repeat(keep, sizes)
        starts = group_starts(sizes[keep])
        return Counts(
            starts,
            self.codes[inside],
            counts=self.counts[inside],
            labels=self.labels,
            worked_out=self.worked_out,
        )

    def distinct(self) -> NDArray[np.int64]:
        """Number of distinct values per class."""
        return np.diff(self.starts)

    def total(self) -> NDArray[np.int64]:
        """How often each value occurs in all classes together."""
        totals = np.bincount(self.codes, weights=self.counts, minlength=len(self.labels))
        return totals.astype(np.int64)


def count_values(dataset: Table, column: Column, ids: NDArray[np.int64], groups: int) -> Counts:
    """Count the values of one column (or of a combination of columns) in every class."""
    encoded = encode_column(dataset, column)
    domain = max(1, len(encoded.labels))
    # One number for class and value: class 2 and value 1 of 3 make 7. In order, classes stay
    # together.
    pairs = ids * domain + encoded.codes
    members, distinct = in_order(pairs.view(np.uint64).reshape(-1, 1), groups * domain)
    classes, codes = np.divmod(distinct[:, 0].astype(np.int64), domain)
    # Where each class begins; one without values gets an empty slice.
    starts = np.searchsorted(classes, np.arange(groups + 1))
    counts = tallied(members, len(distinct), dataset.copies)
    return Counts(starts, codes, counts, tuple(encoded.labels))


DENSE = 1 << 16
"""So many different keys, or as many as there are rows, are looked up in a table instead of hashed.
"""


MOST_BITS = 64
"""So many different keys for every row are looked up in a table of bits."""


MOST_PAIRS = 2
"""Up to so many combinations for every class have two bits each in a table; where there are more,
sorting the keys is as quick.
"""


def is_dense(span: int, rows: int) -> bool:
    """Whether a table of all keys below ``span`` is small beside so many rows."""
    return span <= max(DENSE, rows)


def in_order(keys: NDArray[np.uint64], span: int) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """Number keys in their order, the last word first: the number of every row, in the narrowest
    type, and the distinct keys.

    Keys of one word are below ``span``.
    """
    # Few possible keys: all are marked and numbered in a table, without sorting or hashing.
    if keys.shape[1] == 1 and is_dense(span, len(keys)):
        flat = keys[:, 0].view(np.int64)
        occurs = np.zeros(span, dtype=np.bool_)
        occurs[flat] = True
        present = np.flatnonzero(occurs)
        rank = np.empty(span, dtype=code_type(len(present)))
        rank[present] = np.arange(len(present))
        return rank[flat], present.astype(np.uint64).reshape(-1, 1)
    # A table of bits may be much longer than the rows are many: a key takes one bit.
    if keys.shape[1] == 1 and len(keys) > kernels.keys.FEW and span <= MOST_BITS * len(keys):
        ranks, distinct = kernels.keys.rank_keys(keys, span)
        narrow_ranks = ranks.astype(code_type(len(distinct)), copy=False)
        return narrow_ranks, distinct.reshape(-1, 1)
    # Where nearly all keys differ hashing would merge nothing, and they are sorted at once.
    if keys.shape[1] == 1 and (
        len(keys) <= kernels.keys.FEW or kernels.keys.mostly_distinct(keys[:, 0])
    ):
        ranks, distinct = kernels.keys.rank_by_sorting(keys[:, 0], span)
        narrow_ranks = ranks.astype(code_type(len(distinct)), copy=False)
        return narrow_ranks, distinct.reshape(-1, 1)
    # Keys that repeat are hashed, so that only the distinct ones are sorted.
    ids, first = kernels.keys.group(keys)
    if keys.shape[1] == 1:
        order = np.argsort(keys[first, 0])
    elif len(first):
        order = np.lexsort(keys[first].T)
    else:
        order = np.empty(0, np.int64)
    rank = np.empty(len(first), dtype=code_type(len(first)))
    rank[order] = np.arange(len(first))
    return rank[ids], keys[first][order]


# Where the columns of a table lie in a packed key.

WORD = 64


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Where each column lies in a key: ``word``, ``shift`` and ``width`` in bits, one entry a
    column.
    """

    words: NDArray[np.int64]
    shifts: NDArray[np.int64]
    widths: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Layout:
        """Lay out columns with these numbers of codes; a column never crosses a word."""
        words, shifts, widths = [], [], []
        word = used = 0
        for size in sizes:
            # A column with one code takes a bit as well: every column has a place in the key.
            width = max(1, (size - 1).bit_length())
            if used + width > WORD:
                word, used = word + 1, 0
            words.append(word)
            shifts.append(used)
            widths.append(width)
            used += width
        return cls(
            words=np.array(words, dtype=np.int64),
            shifts=np.array(shifts, dtype=np.int64),
            widths=np.array(widths, dtype=np.int64),
        )

    def at(self, positions: Sequence[int] | slice) -> Layout:
        """Where the columns at these positions lie."""
        return Layout(self.words[positions], self.shifts[positions], self.widths[positions])

    @property
    def length(self) -> int:
        """Number of words of a key."""
        if self.words.size:
            return int(self.words.max()) + 1
        return 1

    @property
    def span(self) -> int:
        """What the last word of every key is below."""
        last = self.words == self.length - 1
        return 1 << int((self.shifts + self.widths)[last].max(initial=0))


@dataclasses.dataclass(frozen=True, eq=False)
class Placement:
    """How rows are packed: the ladder and level of each column and where its bits lie."""

    ladders: tuple[Ladder, ...]
    levels: tuple[int, ...]
    layout: Layout


@dataclasses.dataclass(frozen=True, eq=False)
class ClassTable:
    """Equivalence classes of a table at given levels of its hierarchies.

    ``records`` are rows per class; ``sizes`` are what models count: distinct persons where the
    schema names a person column, rows otherwise, never weights. ``weights`` are sums of survey
    weights, or None. ``population`` counts the matching records of a population table, or is None;
    a table made for a search then also has the classes that only the population has, with no
    records.
    """

    columns: tuple[str, ...]
    ladders: tuple[Ladder, ...]
    levels: tuple[int, ...]
    layout: Layout
    keys: NDArray[np.uint64]
    records: NDArray[np.int64]
    counts: Mapping[Column, Counts] = dataclasses.field(default_factory=dict)
    weights: NDArray[np.float64] | None = None
    person: str | None = None
    population: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.records)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Size of each class as models count it."""
        if self.person is None:
            return self.records
        return self.counts[self.person].distinct()

    @property
    def total(self) -> int:
        """Number of records in all classes."""
        return int(self.records.sum())

    def codes(self, column: str) -> NDArray[np.int64]:
        """Code of one column in every class, at the column's level."""
        a = self.columns.index(column)
        layout = self.layout
        field_codes: NDArray[np.int64] = kernels.keys.field_codes(
            self.keys, layout.words[a], layout.shifts[a], layout.widths[a]
        )
        return field_codes

    def roll_up(self, levels: Mapping[str, int]) -> ClassTable:
        """Classes after some columns climbed to higher levels (never below the present ones)."""
        reached = self._levels_reached(levels)
        climbing = [a for a, level in enumerate(reached) if level != self.levels[a]]
        if not climbing:
            return self
        # Runs are worth their preparation only where classes are many.
        if len(self) > kernels.keys.FEW:
            from sfumato.core.class_runs import rolled_up_in_runs

            if (rolled := rolled_up_in_runs(self, reached)) is not None:
                return rolled
        climbs, offsets = self._climbs(climbing, reached)
        # One column is a slice, which numpy views; a list of columns would be copied.
        columns_climbing = slice(climbing[0], climbing[0] + 1) if len(climbing) == 1 else climbing
        fields = self.layout.at(columns_climbing)
        keys, records, ids = kernels.lattice.roll_up(
            self.keys, self.records, fields.words, fields.shifts, fields.widths, climbs, offsets
        )
        groups = len(records)
        return ClassTable(
            columns=self.columns,
            ladders=self.ladders,
            levels=reached,
            layout=self.layout,
            keys=keys,
            records=records,
            counts={name: counts.merged(ids, groups) for name, counts in self.counts.items()},
            weights=_added_up(self.weights, ids, groups),
            person=self.person,
            population=_added_up(self.population, ids, groups),
        )

    def climbed(self, levels: Mapping[str, int]) -> ClassTable:
        """The same classes with the codes of higher levels; classes that become equal stay apart.

        For whoever rolls them up further, several times: their order is kept, so the outcome is
        that of rolling these up.
        """
        reached = self._levels_reached(levels)
        climbing = [a for a, level in enumerate(reached) if level != self.levels[a]]
        if not climbing:
            return self
        climbs, offsets = self._climbs(climbing, reached)
        fields = self.layout.at(climbing)
        keys = kernels.lattice.climb_keys(
            self.keys, fields.words, fields.shifts, fields.widths, climbs, offsets
        )
        return dataclasses.replace(self, keys=keys, levels=reached)

    def _levels_reached(self, levels: Mapping[str, int]) -> tuple[int, ...]:
        """The level of every column after some climbed: those that are not named stay."""
        reached = list(self.levels)
        for a, name in enumerate(self.columns):
            reached[a] = levels.get(name, reached[a])
        return tuple(reached)

    def _climbs(
        self, climbing: Sequence[int], reached: Sequence[int]
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The maps of the columns that climb, one after the other, and where each begins."""
        maps = [self.ladders[a].climb(self.levels[a], reached[a]) for a in climbing]
        # The fewer bytes a map takes, the more of it is in the cache.
        if len(self) > kernels.keys.FEW:
            largest = max(len(self.ladders[a].labels[reached[a]]) for a in climbing)
            maps = [codes.astype(code_type(largest)) for codes in maps]
        if len(maps) == 1:
            return maps[0], np.zeros(1, dtype=np.int64)
        # Maps of lengths 3 and 4 begin at 0 and 3.
        lengths = [len(climb) for climb in maps[:-1]]
        offsets = group_starts(lengths)
        return np.concatenate(maps), offsets

    def reordered(self, columns: Sequence[str]) -> ClassTable:
        """The same classes with the columns in another order; the keys stay as they are."""
        order = self.positions(columns)
        return dataclasses.replace(
            self,
            columns=tuple(columns),
            ladders=tuple(self.ladders[a] for a in order),
            levels=tuple(self.levels[a] for a in order),
            layout=self.layout.at(order),
        )

    def positions(self, columns: Iterable[str]) -> list[int]:
        """Where some columns stand among all of the classes."""
        return [self.columns.index(name) for name in columns]

    def project(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Group the classes by some of their columns only: the group of each class."""
        mask = self._key_mask(self.positions(columns))
        # The bits of other columns are cleared: keys that differ only there become equal.
        ids, _ = kernels.keys.group(self.keys & mask)
        return ids

    def _key_mask(self, columns: Sequence[int]) -> NDArray[np.uint64]:
        """The bits of some columns in each word of a key."""
        # An empty list would index like floats.
        positions = np.array(columns, dtype=np.int64)
        widths = self.layout.widths[positions].astype(np.uint64)
        shifts = self.layout.shifts[positions].astype(np.uint64)
        one = np.uint64(1)
        # A field of 3 bits that begins at bit 4 is 111 0000.
        fields = ((one << widths) - one) << shifts
        mask = np.zeros(self.keys.shape[1], dtype=np.uint64)
        np.bitwise_or.at(mask, self.layout.words[positions], fields)
        return mask

    def unique_by(self, columns: Sequence[str]) -> int | None:
        """How many records are the only one with their codes of some columns; None where keys have
        several words.

        Nobody asks which class is whose, so that most keys need neither be sorted nor grouped.
        """
        if len(columns) == len(self.columns):
            # By all columns every class is a group of its own.
            return int((self.records == 1).sum())
        positions = self.positions(columns)
        width = int(self.layout.widths[positions].sum())
        has_many_classes = len(self) > kernels.keys.FEW
        rows = MOST_PAIRS * len(self) if has_many_classes else len(self)
        if width < WORD - 1 and is_dense(1 << width, rows):
            if has_many_classes:
                return kernels.unique_records.count_unique_by_fields(
                    self.keys, self.records, self._fields_at(positions)
                )
            return int((self.records_in(positions) == 1).sum())
        if self.keys.shape[1] > 1:
            return None
        if (prefixes := self.unique_by_prefixes(columns)) is not None:
            return prefixes[-1]
        (mask,) = self._key_mask(positions)
        return kernels.keys.count_unique(self.keys[:, 0], self.records, mask)

    def unique_by_prefixes(self, columns: Sequence[str]) -> list[int] | None:
        """How many records are the only one with their codes of the first column, of the first two,
        and so on.

        None where keys have several words, and where numpy counts the sets one by one as quickly.
        """
        if self.keys.shape[1] > 1 or len(self) <= kernels.keys.FEW:
            return None
        _, shifts, widths = self._fields_at(self.positions(columns))
        alone: list[int] = kernels.unique_records.count_unique_by_prefixes(
            self.keys, self.records, shifts, widths
        ).tolist()
        return alone

    def records_in(self, positions: list[int]) -> NDArray[np.int64]:
        """Records per combination of the codes of the columns at these places, as many as their
        bits can hold.
        """
        return kernels.keys.add_by_fields(self.keys, self.records, self._fields_at(positions))

    def _fields_at(self, positions: list[int]) -> kernels.keys.Places:
        fields = self.layout.at(positions)
        return fields.words, fields.shifts, fields.widths

    def take(self, keep: NDArray[np.bool_]) -> ClassTable:
        """Some of the classes."""
        return dataclasses.replace(
            self,
            keys=self.keys[keep],
            records=self.records[keep],
            counts={name: c.taken(keep) for name, c in self.counts.items()},
            weights=None if self.weights is None else self.weights[keep],
            population=None if self.population is None else self.population[keep],
        )


def ladder_of(dataset: Table, column: str, encoded: Encoded) -> Ladder:
    """The hierarchy of a column bound to the values it holds."""
    attribute = dataset.schema.attributes.get(column)
    hierarchy = attribute.hierarchy if attribute else None
    try:
        return bind_column(hierarchy, encoded)
    except SchemaError as error:
        raise SchemaError([f"column {column!r}: {problem}" for problem in error.problems]) from None


def remap_to(ladder: Ladder, encoded: Encoded, level: int = 0) -> NDArray[np.int64]:
    """Map from the codes of an encoding to the codes of a ladder's level."""
    base = ladder.codes_of(encoded.labels)
    unknown = int((base < 0).sum())
    if unknown:
        raise SchemaError(
            f"{unknown} value(s) did not occur when the recoding was planned; plan it again on "
            "this table"
        )
    if base.size:
        return ladder.climb(0, level)[base]
    return base


def count_classes(
    dataset: Table,
    columns: Sequence[str] | None = None,
    *,
    counted: Sequence[Column] = (),
    weight: str | None = None,
    at: Placement | None = None,
) -> ClassTable:
    """Count the classes of a table: the one pass over the rows that everything else lives on.

    ``counted`` names columns whose values are counted per class (sensitive columns, a class label),
    a tuple of names a combination of them; a person column of the schema is always counted. Classes
    are in key order, whatever the row order.
    """
    names = tuple(dataset.schema.quasi if columns is None else columns)
    dataset.require([*names, *(part for column in counted for part in parts_of(column))])
    person = dataset.schema.person
    # Persons are counted even if nobody asked: they are what the sizes of classes count.
    counted_columns: dict[Column, None] = dict.fromkeys([*counted, *([person] if person else [])])
    grouping = _grouped(dataset, names, at, by_row=bool(counted_columns) or weight is not None)
    counts = {name: grouping.count_column(dataset, name) for name in counted_columns}
    weights = None
    if weight is not None:
        row_weights = survey_weights(dataset, weight)
        ids = grouping.ids(dataset)
        weights = kernels.keys.add_up(row_weights, ids, len(grouping.table))
    return dataclasses.replace(grouping.table, counts=counts, weights=weights, person=person)


def count_rows(
    dataset: Table, columns: Sequence[str] | None = None
) -> tuple[ClassTable, NDArray[np.int64]]:
    """Like :func:`count_classes`, and the class of every row."""
    names = tuple(dataset.schema.quasi if columns is None else columns)
    dataset.require(names)
    grouping = _grouped(dataset, names, None, by_row=True)
    # The grouping was remembered by the table, so rows are not packed a second time.
    return count_classes(dataset, names), grouping.ids(dataset)


@dataclasses.dataclass(frozen=True, eq=False)
class _Grouping:
    """The classes of some columns as ``attributes`` describe them, and what was counted in them.

    ``rows`` has the class of every row once somebody asked: where nearly every row is a class of
    its own, sorting the keys alone takes a fifth of the time.
    """

    attributes: tuple[Attribute | None, ...]
    table: ClassTable
    rows: list[NDArray[Any]]
    counts: dict[Column, Counts] = dataclasses.field(default_factory=dict)

    def narrow(self, dataset: Table) -> NDArray[Any]:
        """The class of every row in the narrowest type."""
        if not self.rows:
            table = self.table
            own_placement = Placement(table.ladders, table.levels, table.layout)
            keys, placement = pack_rows(dataset, table.columns, own_placement)
            self.rows.append(in_order(keys, placement.layout.span)[0])
        return self.rows[0]

    def ids(self, dataset: Table) -> NDArray[np.int64]:
        """The class of every row, widened again at every call."""
        return self.narrow(dataset).astype(np.int64)

    def count_column(self, dataset: Table, column: Column) -> Counts:
        """Counts of one column per class, counted once."""
        if column not in self.counts:
            self.counts[column] = count_values(dataset, column, self.ids(dataset), len(self.table))
        return self.counts[column]

    def without(self, gone: set[str]) -> _Grouping:
        """The same when some other columns hold other values."""
        remaining = {
            column: counts
            for column, counts in self.counts.items()
            if not gone & set(parts_of(column))
        }
        return dataclasses.replace(self, counts=remaining)


def _grouped(
    dataset: Table, names: tuple[str, ...], at: Placement | None, *, by_row: bool
) -> _Grouping:
    """The classes of a table without counts, in key order; remembered for every table that has the
    same rows and describes these columns alike.

    Those at another placement than that of the table itself are not remembered. ``by_row``: the
    class of every row will be asked for.
    """
    attributes = tuple(dataset.schema.attributes.get(name) for name in names)
    # Two schemas of the same rows may differ in hierarchies, and so in ladders.
    if at is None:
        remembered = dataset.known.classes.setdefault(names, [])
    else:
        remembered = []
    for grouping in remembered:
        if grouping.attributes == attributes:
            return grouping  # type: ignore[no-any-return]
    keys, placement = pack_rows(dataset, names, at)
    rows: list[NDArray[Any]] = []
    span, classes = placement.layout.span, None
    # Many keys of one word that are too sparse for a table of bits may be sorted in place.
    sparse = keys.shape[1] == 1 and span > MOST_BITS * len(keys)
    if sparse and not by_row and len(keys) > kernels.keys.FEW:
        classes = _sorted_classes(keys, dataset.copies)
    if classes is None:
        ids, distinct = in_order(keys, span)
        rows.append(ids)
        classes = distinct, tallied(ids, len(distinct), dataset.copies)
    distinct, records = classes
    table = ClassTable(
        columns=names,
        ladders=placement.ladders,
        levels=placement.levels,
        layout=placement.layout,
        keys=distinct,
        records=records,
    )
    grouping = _Grouping(attributes if at is None else (), table, rows)
    remembered.append(grouping)
    return grouping


def remembered_classes(dataset: Table, names: Sequence[str]) -> ClassTable | None:
    """The classes of these columns, where they were grouped before: which rows are alike does not
    depend on the schema.
    """
    for grouping in dataset.known.classes.get(tuple(names), ()):
        return grouping.table  # type: ignore[no-any-return]
    return None


def remembered_rows(dataset: Table, names: Sequence[str]) -> tuple[NDArray[Any], int] | None:
    """The class of every row in the narrowest type and the number of classes, where these columns
    were grouped before.
    """
    for grouping in dataset.known.classes.get(tuple(names), ()):
        return grouping.narrow(dataset), len(grouping.table)
    return None


def _sorted_classes(
    keys: NDArray[np.uint64], copies: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]] | None:
    """Distinct keys in order and the records of each, by sorting ``keys`` in place; None, and
    nothing done, where other ways are quicker.

    Nearly all keys are distinct and nearly all rows one record: the few that stand for several are
    looked up.
    """
    rows, line = len(keys), keys[:, 0]
    if not kernels.keys.mostly_distinct(line):
        return None
    repeated_rows = np.zeros(0, dtype=np.int64)
    if copies is not None and not is_one_record_each(copies):
        repeated_rows = np.flatnonzero(copies != 1)
    if len(repeated_rows) > rows // FEW_COPIES:
        return None
    # Taken before sorting moves the keys away from their rows.
    sought = line[repeated_rows]
    line.sort()
    # Where a key equals the one before it: 5, 5, 7 gives place 1.
    is_repeated = line[1:] == line[:-1]
    repeats = np.flatnonzero(is_repeated) + 1
    distinct, records = line, np.ones(rows, dtype=np.int64)
    if len(repeats):
        # The first row of each run of equal keys; the way to the next one is its size.
        begins = np.delete(np.arange(rows), repeats)
        distinct = line[begins]
        records = np.append(begins[1:], rows) - begins
    if copies is not None and len(repeated_rows):
        # Such a row was counted once already.
        np.add.at(records, np.searchsorted(distinct, sought), copies[repeated_rows] - 1)
    return distinct.reshape(-1, 1), records


FEW_COPIES = 16
"""Where at most one row in so many stands for several records, those are looked up one by one."""


def pack_rows(
    dataset: Table, names: Sequence[str], at: Placement | None = None
) -> tuple[NDArray[np.uint64], Placement]:
    """Pack every row's columns into its key, one column at a time: at a given placement, or at
    level 0 of a new one.
    """
    ladders: list[Ladder] = []
    columns: list[tuple[Encoded, NDArray[np.uint32]]] = []
    for a, name in enumerate(names):
        encoded = encode_column(dataset, name)
        ladders.append(at.ladders[a] if at else ladder_of(dataset, name, encoded))
        remap = remap_to(ladders[a], encoded, at.levels[a] if at else 0)
        columns.append((encoded, remap.astype(np.uint32)))
    if at:
        placement = at
    else:
        layout = Layout.of([len(ladder.labels[0]) for ladder in ladders])
        placement = Placement(tuple(ladders), (0,) * len(names), layout)
    rows = len(dataset)
    keys = np.zeros((rows, placement.layout.length), dtype=np.uint64)

    # Threads share the array of keys, and each writes only its own rows.
    def packed(part: slice) -> None:
        layout = placement.layout
        for (encoded, remap), word, shift in zip(columns, layout.words, layout.shifts, strict=True):
            kernels.keys.pack_mapped(keys[part], encoded.narrow[part], remap, word, shift)

    side_by_side(packed, parts_of_rows(rows), rows=rows)
    return keys, placement


def survey_weights(dataset: Table, name: str) -> NDArray[np.float64]:
    """The survey weight of every row: of its record, or of the records it stands for together."""
    column = dataset.column(name)
    if not column.dtype.is_numeric():
        raise SchemaError(f"weight column {name!r} is not numeric; convert it, or choose another")
    values = column.to_numpy().astype(np.float64)
    # Comparisons with NaN are false, so missing weights count as bad too.
    bad = int((~((values >= 0) & (values < np.inf))).sum())
    if bad:
        raise SchemaError(
            f"weight column {name!r} has {bad} missing, negative or infinite value(s); correct "
            "them: weights are zero or more"
        )
    if dataset.copies is None:
        return values
    return values * dataset.copies


# Classes seen through some of their columns only.


def projected(classes: ClassTable, columns: Sequence[str]) -> tuple[ClassTable, NDArray[np.int64]]:
    """The classes of some columns, and the class there of each class given."""
    order = classes.positions(columns)
    ids = classes.project(columns)
    groups = int(ids.max(initial=-1)) + 1
    first = np.full(groups, len(ids), dtype=np.int64)
    # Any class of a group has the key of the group once other columns are masked; the first is
    # taken.
    np.minimum.at(first, ids, np.arange(len(ids)))
    mask = classes._key_mask(order)
    coarser = dataclasses.replace(
        classes,
        columns=tuple(columns),
        ladders=tuple(classes.ladders[a] for a in order),
        levels=tuple(classes.levels[a] for a in order),
        layout=classes.layout.at(order),
        keys=classes.keys[first] & mask,
        records=kernels.keys.add_up(classes.records, ids, groups),
        counts={name: counts.merged(ids, groups) for name, counts in classes.counts.items()},
        weights=_added_up(classes.weights, ids, groups),
        population=_added_up(classes.population, ids, groups),
    )
    return coarser, ids


def _added_up(
    values: NDArray[Number] | None, ids: NDArray[np.int64], groups: int
) -> NDArray[Number] | None:
    """The sum of the values of every group; None where there are no values."""
    if values is None:
        return None
    sums: NDArray[Number] = kernels.keys.add_up(values, ids, groups)
    return sums
