"""Errors of COUNT queries."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.encoding import Encoded, missing_in
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Seed
from sfumato.core.reading import Reading
from sfumato.methods.formulas.binning import count_cells
from sfumato.methods.utility.cell_averages import (
    Classes,
    classes_of,
    encoded_of,
    normalise,
    records_of,
    suppressed_of,
)
from sfumato.methods.utility.columns import EMPTY, Columns, quasi_of, require_sense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


NONE = np.zeros(0, dtype=np.int64)
MOST_SETS = 20
"""Different combinations of columns that are asked about."""
CHUNK = 1 << 23
WORD = 64
"""Queries that are counted at once: each has a bit of a word."""
SAMPLE = 1024
"""So many rows tell whether most combinations occur once."""


# Random predicates on a column: ranges of ordered values, sets of others, and how far released
# labels meet them.


@dataclasses.dataclass(frozen=True, eq=False)
class _Line:
    """The values of a column in their order, and from where to where on it each released label
    reaches.
    """

    order: Ints
    places: Floats
    starts: Ints
    ends: Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Questions:
    """Predicates on one column, some of them: ``sets`` of original values by code, or runs of
    values on the ``line``.

    A run goes from ``first`` on the line to just before ``last``. ``after`` says for every released
    label the share of what it may stand for that is asked for, a row a predicate; ``blind`` is the
    share of all values. ``original`` and ``released`` are the column as codes (None: the column was
    not released).
    """

    sets: Sequence[Ints] | None
    line: _Line | None
    first: Ints
    last: Ints
    after: Floats
    blind: Floats
    original: Encoded
    released: Encoded | None

    def masks(self, start: int, end: int) -> NDArray[np.uint64]:
        """Per original value the predicates from ``start`` to ``end``, at most 64, that ask for it:
        a bit each.
        """
        bit_masks = np.zeros(len(self.original.labels), dtype=np.uint64)
        bits = np.uint64(1) << np.arange(end - start, dtype=np.uint64)
        if self.line is None:
            for bit, codes in zip(bits, (self.sets or ())[start:end], strict=True):
                bit_masks[codes] |= bit
            return bit_masks
        turns = np.zeros(len(self.line.order) + 1, dtype=np.uint64)
        for bit, first, last in zip(bits, self.first[start:end], self.last[start:end], strict=True):
            turns[first] ^= bit  # from here on it is asked for ...
            turns[last] ^= bit  # ... and from here on no more
        # Running exclusive or: a bit is on between the two places that turn it.
        bit_masks[self.line.order] = np.bitwise_xor.accumulate(turns)[:-1]
        return bit_masks


def questions_of(
    pair: TablePair, name: str, amount: int, share: float, stream: np.random.Generator
) -> Questions:
    """Random predicates that ask for a share of the values of a column; missing values are never
    asked for.
    """
    if name not in pair.released.columns:
        encoded = pair.original.encoded(name)
        size = len(encoded.labels)
        codes = _sets(np.arange(size), amount, share, stream)
        blind = np.array([len(condition_codes) for condition_codes in codes]) / max(1, size)
        return Questions(
            codes,
            None,
            first=NONE,
            last=NONE,
            after=np.zeros((amount, 0)),
            blind=blind,
            original=encoded,
            released=None,
        )
    reading = pair.reading(name)
    missing = missing_in(reading.values)
    present = len(missing) - int(missing.sum())
    sets: list[Ints] | None
    line: _Line | None
    if reading.scale == "category":
        sets = _sets(np.flatnonzero(~missing), amount, share, stream)
        line = None
        first = NONE
        last = NONE
        after = _met_by_sets(reading, sets)
        blind = np.array([len(codes) for codes in sets]) / max(1, present)
    else:
        sets = None
        line = _line(pair, name)
        first, last = _runs(line, amount, share, stream)
        after = _met_by_runs(reading, line, first, last)
        blind = (last - first) / max(1, present)
    blank = missing_in(reading.labels)
    after[:, blank] = 0.0  # a blank may be a value that was missing before ...
    lost = reading.everything | (blank & (not missing.any()))  # ... unless there was none
    after[:, lost] = blind[:, None]
    return Questions(
        sets,
        line,
        first=first,
        last=last,
        after=after,
        blind=blind,
        original=reading.before,
        released=reading.after,
    )


def values_of(pair: TablePair, name: str) -> int:
    """How many values and labels the predicates of a column are about."""
    if name not in pair.released.columns:
        return len(pair.original.encoded(name).labels)
    reading = pair.reading(name)
    return max(len(reading.values), len(reading.labels), len(reading.members))


def _sets(codes: Ints, amount: int, share: float, stream: np.random.Generator) -> list[Ints]:
    """Random sets of codes."""
    if not len(codes):
        return [NONE] * amount
    size = max(1, round(share * len(codes)))
    return [stream.permutation(codes)[:size] for _ in range(amount)]


def _met_by_sets(reading: Reading, sets: Sequence[Ints]) -> Floats:
    """Per query and label the share of the label's values that are asked for."""
    met = np.zeros((len(sets), len(reading.labels)))
    sizes = np.maximum(1, np.diff(reading.starts))
    in_question = np.zeros(len(reading.values), dtype=np.int64)
    upto = np.zeros(len(reading.members) + 1, dtype=np.int64)
    for query, codes in enumerate(sets):
        in_question[codes] = 1
        # Members up to each place that are asked for: those of one label are a difference of two.
        np.cumsum(in_question[reading.members], out=upto[1:])
        upto_end = upto[reading.starts[1:]]
        upto_start = upto[reading.starts[:-1]]
        met[query] = (upto_end - upto_start) / sizes
        in_question[codes] = 0
    return met


def _line(pair: TablePair, name: str) -> _Line:
    if ("line", name) not in pair.memo:
        reading = pair.reading(name)
        order = reading.line
        positions = reading.places[order]
        slack = 1e-9 * max(1.0, abs(reading.span))
        # Labels without a place get an empty run: it begins behind all values and ends before them.
        low_ends = np.where(np.isnan(reading.low), np.inf, reading.low)
        starts = np.searchsorted(positions, low_ends - slack, "left")
        high_ends = np.where(np.isnan(reading.high), -np.inf, reading.high)
        ends = np.searchsorted(positions, high_ends + slack, "right")
        pair.memo["line", name] = _Line(order, positions, starts, np.maximum(starts, ends))
    line: _Line = pair.memo["line", name]
    return line


def _runs(line: _Line, amount: int, share: float, stream: np.random.Generator) -> tuple[Ints, Ints]:
    """Random runs of neighbouring values: where each begins on the line, and where it ends."""
    count = len(line.order)
    if not count:
        return np.zeros(amount, dtype=np.int64), np.zeros(amount, dtype=np.int64)
    size = max(1, round(share * count))
    # A run of this size can begin at count − size + 1 places.
    first = stream.integers(0, count - size + 1, size=amount)
    return first, first + size


def _met_by_runs(reading: Reading, line: _Line, first: Ints, last: Ints) -> Floats:
    """Per query and label the share of the label's values that lies inside the run."""
    if not len(line.order):
        return np.zeros((len(first), len(reading.labels)))
    begin = first[:, None]
    end = last[:, None]
    sizes = line.ends - line.starts
    inside = np.minimum(end, line.ends) - np.maximum(begin, line.starts)
    after: Floats = np.maximum(0, inside) / np.maximum(1, sizes)
    # a place that no original value has is inside what is asked for, or not
    nobody = np.flatnonzero(sizes <= 0)
    middle = np.where(np.isnan(reading.middle), np.inf, reading.middle)[nobody]
    after[:, nobody] = (middle >= line.places[begin]) & (middle <= line.places[end - 1])
    return after


@parameters
class QueryWorkload(ColumnUtility):
    r"""The median error of random COUNT queries answered from the release.

    .. math:: \operatorname{median}_q \frac{|\,true_q-est_q\,|}{\max(true_q,\,s)}

    A query asks for a random range (numbers, dates, ordered values) or set (categories) of values
    in each of ``dimensions`` columns, so that about ``selectivity`` of all combinations are asked
    for. The estimate counts a released record by the share of its box that the query covers,
    counted in values that occur; a suppressed record is spread over everything, and of rows that
    were redrawn, of which there may be any number, shares are taken. *s* is ``sanity``, a share
    of all records. ``raw`` is the median; the meaning tells the 90 % quantile; ``per_column`` has
    the medians of the queries about a column. ``value`` is the share of the median that suppressing
    everything gives, at most 1.

    Reference: the workloads of K. LeFevre, D. J. DeWitt and R. Ramakrishnan, KDD 2006, and of X.
    Xiao and Y. Tao, VLDB 2006.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> QueryWorkload().measure(TablePair.of(examples.patients(), examples.patients())).raw
    0.0
    """

    columns: Columns = None
    queries: Annotated[int, Field(ge=1, le=1_000_000, description="how many queries")] = 500
    dimensions: Annotated[int, Field(ge=1, le=6, description="columns a query is about")] = 2
    selectivity: Annotated[
        float, Field(gt=0, le=1, description="share of combinations a query asks for")
    ] = 0.1
    sanity: Annotated[
        float, Field(ge=0, le=1, description="share of records below which errors count less")
    ] = 0.001
    seed: Annotated[int, Field(ge=0, description="for the queries")] = 1

    name: ClassVar[str] = "query_workload"
    title: ClassVar[str] = "Counting queries"
    line: ClassVar[str] = "median error of random counts answered from the release"

    def applies(self, pair: TablePair) -> str | None:
        """None where there are records and columns to ask about."""
        names = quasi_of(pair, self.columns)
        if not records_of(pair):
            return EMPTY
        if names:
            return None
        return "no column has role quasi; name the columns of the queries"

    def measure(self, pair: TablePair) -> Measure:
        """The median relative error."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        errors: list[Floats] = []
        blind: list[Floats] = []
        about: dict[str, list[Floats]] = {name: [] for name in names}
        for columns_of_set, amount, stream in self._sets(names):
            combinations = _combinations(pair, columns_of_set)
            largest = max(
                [len(combinations.sizes), *(values_of(pair, name) for name in columns_of_set)]
            )
            # As many queries at a time as keep queries × values within the chunk.
            width = max(1, CHUNK // max(1, largest))
            parts = [min(width, amount - part) for part in range(0, amount, width)]
            for query_errors, without in self._errors(pair, combinations, parts, stream):
                errors.append(query_errors)
                blind.append(without)
                for name in columns_of_set:
                    about[name].append(query_errors)
        every = np.concatenate(errors)
        raw = float(np.median(every))
        blind_error = float(np.median(np.concatenate(blind)))
        high = float(np.quantile(every, 0.9))
        return Measure(
            self.name,
            normalise(raw, blind_error, pair)
            if blind_error > 0 or not len(pair.released)
            else min(1.0, raw),
            self.better,
            f"half of {len(every):,} COUNT queries are within a relative error of {raw:.3g}, 90 %"
            f" within {high:.3g}; the former as a share of that without any data",
            raw=raw,
            per_column={
                name: float(np.median(np.concatenate(query_errors)))
                for name, query_errors in about.items()
                if query_errors
            },
        )

    def _sets(self, names: Sequence[str]) -> list[tuple[tuple[str, ...], int, np.random.Generator]]:
        """The combinations of columns that are asked about, how often each is, and a stream for its
        queries.
        """
        stream = Seed(self.seed).stream("query workload")
        size = min(self.dimensions, len(names))
        column_sets: dict[tuple[str, ...], None] = {}
        # Of few columns all combinations are listed; of many there are too many to list.
        if len(names) <= 12:
            every = list(itertools.combinations(names, size))
            order = stream.permutation(len(every))
            column_sets = dict.fromkeys(every[i] for i in order[: min(MOST_SETS, self.queries)])
        while len(names) > 12 and len(column_sets) < min(MOST_SETS, self.queries):
            column_sets[tuple(names[i] for i in sorted(stream.permutation(len(names))[:size]))] = (
                None
            )
        share, remainder = divmod(self.queries, len(column_sets))
        return [
            (column_set, share + (i < remainder), stream)
            for i, column_set in enumerate(column_sets)
            if share + (i < remainder)
        ]

    def _errors(
        self,
        pair: TablePair,
        combinations: _Combinations,
        parts: Sequence[int],
        stream: np.random.Generator,
    ) -> Iterator[tuple[Floats, Floats]]:
        """The relative errors of some queries, and those of someone to whom everything is
        suppressed, part by part.

        The combinations of the original are gone through once for many queries: parts are put off
        until there are as many.
        """
        names = combinations.columns
        # d independent conditions of this share meet about the wanted share of combinations.
        share = self.selectivity ** (1 / len(names))
        released = classes_of(pair, names, "released", keep=False)
        waiting: list[list[Questions]] = []
        for part, amount in enumerate(parts):
            waiting.append([questions_of(pair, name, amount, share, stream) for name in names])
            # A word holds 64 queries: the original is gone through once for all of them.
            if (
                part < len(parts) - 1
                and sum(len(batch[0].blind) for batch in waiting) + amount <= WORD
            ):
                continue
            counts = _true_counts(waiting, combinations)
            for batch in waiting:
                true, counts = np.split(counts, [len(batch[0].blind)])
                yield self._errors_of(pair, released, batch, true)
            waiting = []

    def _errors_of(
        self,
        pair: TablePair,
        released: Classes,
        batch: Sequence[Questions],
        true: Floats,
    ) -> tuple[Floats, Floats]:
        """The relative errors of some queries whose true answers are known, and those without any
        data.
        """
        amount = len(true)
        released_parts = []
        for q in batch:
            if q.released is not None:
                released_parts.append((q.after, q.released.narrow[released.first]))
        estimate = _weigh_queries(released_parts, released.sizes)
        unseen = np.ones(amount)
        every = np.ones(amount)
        for question in batch:
            every *= question.blind
            if question.released is None:
                # Nothing was released of this column: its values are taken to be evenly spread.
                unseen *= question.blind
        estimate = (
            estimate if released_parts else np.full(amount, float(len(pair.released)))
        ) * unseen
        estimate += suppressed_of(pair) * every
        if not pair.aligned:
            estimate *= pair.original.records / max(1, pair.released.records)
        records = records_of(pair) if pair.aligned else pair.original.records
        # One record at least: a count of 0 would make any error infinite.
        floor = np.maximum(true, max(1.0, self.sanity * records))
        errors = np.abs(true - estimate) / floor
        baseline_errors = np.abs(true - records * every) / floor
        return errors, baseline_errors


@dataclasses.dataclass(frozen=True, eq=False)
class _Combinations:
    """The combinations of values of some original columns: their codes, an array a column, and how
    many records have each.
    """

    columns: tuple[str, ...]
    codes: Sequence[NDArray[Any]]
    sizes: Ints


def _combinations(pair: TablePair, names: tuple[str, ...]) -> _Combinations:
    """The combinations that occur: counted in a table where it is small, else grouped, or, where
    that gains nothing, row by row.
    """
    encoded = [encoded_of(pair, name, "original") for name in names]
    shape = tuple(len(column.labels) for column in encoded)
    if pair.original.copies is None and math.prod(shape) <= CHUNK:
        counts = count_cells([column.narrow for column in encoded], shape).reshape(-1)
        used = np.flatnonzero(counts)
        return _Combinations(names, np.unravel_index(used, shape), counts[used])
    if pair.original.copies is None and _mostly_distinct([column.narrow for column in encoded]):
        return _Combinations(
            names,
            [column.narrow for column in encoded],
            np.ones(len(pair.original), dtype=np.int64),
        )
    classes = classes_of(pair, names, "original", keep=False)
    return _Combinations(names, [column.narrow[classes.first] for column in encoded], classes.sizes)


def _mostly_distinct(codes: Sequence[NDArray[Any]]) -> bool:
    """Whether most rows seem to have a combination of their own; a few at equal distances are
    looked at.
    """
    step = max(1, len(codes[0]) // SAMPLE)
    sample = np.stack([column[::step].astype(np.int64) for column in codes], axis=1)
    return 2 * len(np.unique(sample, axis=0)) > len(sample)


def _true_counts(parts: Sequence[Sequence[Questions]], combinations: _Combinations) -> Floats:
    """Per query how many original records it asks for; the queries of all parts, one after the
    other.
    """
    amounts = [len(batch[0].blind) for batch in parts]
    counts = np.zeros(sum(amounts))
    for begin in range(0, len(counts), WORD):
        end = min(len(counts), begin + WORD)
        masks = [np.zeros(len(question.original.labels), dtype=np.uint64) for question in parts[0]]
        for batch, offset in zip(parts, itertools.accumulate([0, *amounts]), strict=False):
            low = max(begin, offset)
            high = min(end, offset + len(batch[0].blind))
            for number, question in enumerate(batch if low < high else ()):
                # The bits of this batch begin where those of earlier ones in the word end.
                masks[number] |= question.masks(low - offset, high - offset) << np.uint64(
                    low - begin
                )
        counts[begin:end] = _added_by_bit(masks, combinations)[: end - begin]
    return counts


def _added_by_bit(masks: Sequence[NDArray[np.uint64]], combinations: _Combinations) -> Ints:
    """Per bit the records of all combinations that have it in every column."""
    bit_masks = masks[0][combinations.codes[0]]
    for mask, codes in zip(masks[1:], combinations.codes[1:], strict=True):
        bit_masks &= mask[codes]
    counts: Ints = kernels.queries.add_by_bit(bit_masks, combinations.sizes)
    return counts


def _weigh_queries(parts: Sequence[tuple[Floats, NDArray[Any]]], weights: Ints) -> Floats:
    """Per query the sum over combinations of the product of its shares in every column, times the
    weight.
    """
    if not parts:
        return np.zeros(0)
    (first, own), other_parts = parts[0], parts[1:]
    factor = weights.astype(np.float64)
    weighed = np.empty(len(first))
    product = np.empty(len(weights))
    buffer = np.empty(len(weights))
    # one at a time: what belongs to all combinations of one query fits the cache
    for query in range(len(first)):
        np.take(first[query], own, out=product, mode="clip")
        for shares, codes in other_parts:
            product *= np.take(shares[query], codes, out=buffer, mode="clip")
        # without the threads that wait for each other in a product
        weighed[query] = np.einsum("i,i->", product, factor)
    return weighed
