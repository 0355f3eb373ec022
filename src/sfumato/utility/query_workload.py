"""Errors of COUNT queries."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.encoding import Encoded, missing_in
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Seed
from sfumato.core.reading import Reading
from sfumato.utility.averaging import classes_of, normalised, records_of, suppressed_of
from sfumato.utility.columns import EMPTY, Columns, quasi_of, require_sense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


# Random predicates on a column: ranges of ordered values, sets of others, and how far released labels meet them.


@dataclasses.dataclass(frozen=True, eq=False)
class Questions:
    """Predicates on one column, one a row.

    ``before`` says for every original value whether it is asked for, ``after`` for every released label the share of what it
    may stand for that is; ``blind`` is the share of all values. ``original`` and ``released`` are the column as codes (None:
    the column was not released).
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    blind: NDArray[np.float64]
    original: Encoded
    released: Encoded | None


@dataclasses.dataclass(frozen=True, eq=False)
class _Line:
    """The values of a column in their order, and from where to where on it each released label reaches."""

    order: NDArray[np.int64]
    places: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def questions_of(pair: Pair, name: str, amount: int, share: float, stream: np.random.Generator) -> Questions:
    """Random predicates that ask for a share of the values of a column; missing values are never asked for."""
    if name not in pair.released.columns:
        encoded = pair.original.encoded(name)
        size = len(encoded.labels)
        asked = _sets(np.arange(size), size, amount, share, stream)
        return Questions(asked, np.zeros((amount, 0)), asked.mean(axis=1), encoded, None)
    reading = pair.reading(name)
    present = np.flatnonzero(~missing_in(reading.values))
    if reading.scale == "category":
        before = _sets(present, len(reading.values), amount, share, stream)
        after = _met_by_sets(reading, before)
    else:
        before, after = _ranges(reading, _line(pair, name), amount, share, stream)
    blind = before.sum(axis=1) / max(1, len(present))
    blank = missing_in(reading.labels)
    after[:, blank] = 0.0  # a blank may be a value that was missing before ...
    lost = reading.everything | (blank & (None not in reading.values))  # ... unless there was none
    after = np.where(lost, blind[:, None], after)
    return Questions(before, after, blind, reading.before, reading.after)


def values_of(pair: Pair, name: str) -> int:
    """How many values and labels the predicates of a column are about."""
    if name not in pair.released.columns:
        return len(pair.original.encoded(name).labels)
    reading = pair.reading(name)
    return max(len(reading.values), len(reading.labels), len(reading.members))


def _sets(
    codes: NDArray[np.int64], width: int, amount: int, share: float, stream: np.random.Generator
) -> NDArray[np.float64]:
    """Random sets of codes."""
    asked = np.zeros((amount, width))
    size = max(1, round(share * len(codes)))
    for query in range(amount if len(codes) else 0):
        asked[query, stream.permutation(codes)[:size]] = 1.0
    return asked


def _met_by_sets(reading: Reading, before: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per query and label the share of the label's values that are asked for."""
    upto = np.concatenate([np.zeros((len(before), 1)), np.cumsum(before[:, reading.members], axis=1)], axis=1)
    sizes = np.diff(reading.starts)
    met: NDArray[np.float64] = (upto[:, reading.starts[1:]] - upto[:, reading.starts[:-1]]) / np.maximum(1, sizes)
    return met


def _line(pair: Pair, name: str) -> _Line:
    if ("line", name) not in pair.memo:
        reading = pair.reading(name)
        order = np.argsort(reading.places, kind="stable")
        order = order[~np.isnan(reading.places[order])]
        places, slack = reading.places[order], 1e-9 * max(1.0, abs(reading.span))
        starts = np.searchsorted(places, np.where(np.isnan(reading.low), np.inf, reading.low) - slack, "left")
        ends = np.searchsorted(places, np.where(np.isnan(reading.high), -np.inf, reading.high) + slack, "right")
        pair.memo["line", name] = _Line(order, places, starts, np.maximum(starts, ends))
    line: _Line = pair.memo["line", name]
    return line


def _ranges(
    reading: Reading, line: _Line, amount: int, share: float, stream: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random runs of neighbouring values, and the share of every label's values that lies inside."""
    before = np.zeros((amount, len(reading.values)))
    count = len(line.order)
    if not count:
        return before, np.zeros((amount, len(reading.labels)))
    size = max(1, round(share * count))
    first = stream.integers(0, count - size + 1, size=amount)[:, None]
    last = first + size
    for query, start in enumerate(first[:, 0].tolist()):
        before[query, line.order[start : start + size]] = 1.0
    sizes = line.ends - line.starts
    inside = np.minimum(last, line.ends) - np.maximum(first, line.starts)
    after = np.maximum(0, inside) / np.maximum(1, sizes)
    # a place that no original value has is inside what is asked for, or not
    nobody = np.flatnonzero(sizes <= 0)
    middle = np.where(np.isnan(reading.middle), np.inf, reading.middle)[nobody]
    after[:, nobody] = (middle >= line.places[first]) & (middle <= line.places[last - 1])
    return before, after


MOST_SETS = 20
"""Different combinations of columns that are asked about."""
CHUNK = 1 << 23


@parameters
class QueryWorkload(ColumnUtility):
    r"""The median error of random COUNT queries answered from the release.

    .. math:: \operatorname{median}_q \frac{|\,true_q-est_q\,|}{\max(true_q,\,s)}

    A query asks for a random range (numbers, dates, ordered values) or set (categories) of values in each of ``dimensions`` columns, so that
    about ``selectivity`` of all combinations are asked for. The estimate counts a released record by the share of its box that the
    query covers, counted in values that occur; a suppressed record is spread over everything. *s* is ``sanity``, a share of
    all records. ``raw`` is the median; the meaning tells the 90 % quantile; ``per_column`` has the medians of the queries about a
    column. ``value`` is the share of the median that suppressing everything gives, at most 1.

    Reference: the workloads of K. LeFevre, D. J. DeWitt and R. Ramakrishnan, KDD 2006, and of X. Xiao and Y. Tao, VLDB 2006.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> QueryWorkload().measure(Pair.of(examples.patients(), examples.patients())).raw
    0.0
    """

    columns: Columns = None
    queries: Annotated[int, Field(ge=1, le=1_000_000, description="how many queries")] = 500
    dimensions: Annotated[int, Field(ge=1, le=6, description="columns a query is about")] = 2
    selectivity: Annotated[float, Field(gt=0, le=1, description="share of combinations a query asks for")] = 0.1
    sanity: Annotated[float, Field(ge=0, le=1, description="share of records below which errors count less")] = 0.001
    seed: Annotated[int, Field(ge=0, description="for the queries")] = 1

    name: ClassVar[str] = "query_workload"
    title: ClassVar[str] = "Counting queries"
    line: ClassVar[str] = "median error of random counts answered from the release"

    def applies(self, pair: Pair) -> str | None:
        """None where there are records and columns to ask about."""
        names = quasi_of(pair, self.columns)
        if not records_of(pair):
            return EMPTY
        return None if names else "no column has role quasi; say which columns to ask about"

    def measure(self, pair: Pair) -> Measure:
        """The median relative error."""
        require_sense(self, pair)
        names = quasi_of(pair, self.columns)
        errors: list[NDArray[np.float64]] = []
        blind: list[NDArray[np.float64]] = []
        about: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
        for chosen, amount, stream in self._sets(names):
            largest = max([len(classes_of(pair, chosen, "original")), *(values_of(pair, name) for name in chosen)])
            width = max(1, CHUNK // max(1, largest))
            for part in range(0, amount, width):
                each, without = self._errors(pair, chosen, min(width, amount - part), stream)
                errors.append(each)
                blind.append(without)
                for name in chosen:
                    about[name].append(each)
        every = np.concatenate(errors)
        raw, most = float(np.median(every)), float(np.median(np.concatenate(blind)))
        high = float(np.quantile(every, 0.9))
        return Measure(
            self.name,
            normalised(raw, most, pair) if most > 0 or not len(pair.released) else min(1.0, raw),
            self.better,
            f"half of {len(every):,} COUNT queries are within a relative error of {raw:.3g}, 90 % within {high:.3g}; "
            "the former as a share of that without any data",
            raw=raw,
            per_column={name: float(np.median(np.concatenate(each))) for name, each in about.items() if each},
        )

    def _sets(self, names: Sequence[str]) -> list[tuple[tuple[str, ...], int, np.random.Generator]]:
        """The combinations of columns that are asked about, how often each is, and a stream for its queries."""
        stream = Seed(self.seed).stream("query workload")
        size = min(self.dimensions, len(names))
        drawn: dict[tuple[str, ...], None] = {}
        if len(names) <= 12:
            every = list(itertools.combinations(names, size))
            drawn = dict.fromkeys(every[i] for i in stream.permutation(len(every))[: min(MOST_SETS, self.queries)])
        while len(names) > 12 and len(drawn) < min(MOST_SETS, self.queries):
            drawn[tuple(names[i] for i in sorted(stream.permutation(len(names))[:size]))] = None
        share, rest = divmod(self.queries, len(drawn))
        return [(chosen, share + (i < rest), stream) for i, chosen in enumerate(drawn) if share + (i < rest)]

    def _errors(
        self, pair: Pair, names: tuple[str, ...], amount: int, stream: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The relative errors of some queries, and those of someone to whom everything is suppressed."""
        share = self.selectivity ** (1 / len(names))
        asked = [questions_of(pair, name, amount, share, stream) for name in names]
        original, released = classes_of(pair, names, "original"), classes_of(pair, names, "released")
        true = _weighed([(q.before, q.original.narrow[original.first]) for q in asked], original.sizes)
        seen = [(q.after, q.released.narrow[released.first]) for q in asked if q.released is not None]
        estimate = _weighed(seen, released.sizes)
        unseen, every = np.ones(amount), np.ones(amount)
        for question in asked:
            every *= question.blind
            if question.released is None:
                unseen *= question.blind
        estimate = (estimate if seen else np.full(amount, float(len(pair.released)))) * unseen
        estimate += suppressed_of(pair) * every
        floor = np.maximum(true, max(1.0, self.sanity * records_of(pair)))
        return np.abs(true - estimate) / floor, np.abs(true - records_of(pair) * every) / floor


def _weighed(
    parts: Sequence[tuple[NDArray[np.float64], NDArray[Any]]], weights: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Per query the sum over combinations of the product of its shares in every column, times the weight."""
    if not parts:
        return np.zeros(0)
    (first, own), others = parts[0], parts[1:]
    factor, weighed = weights.astype(np.float64), np.empty(len(first))
    product, taken = np.empty(len(weights)), np.empty(len(weights))
    for query in range(len(first)):  # one at a time: what belongs to all combinations of one query fits the cache
        np.take(first[query], own, out=product, mode="clip")
        for shares, codes in others:
            product *= np.take(shares[query], codes, out=taken, mode="clip")
        weighed[query] = np.einsum(
            "i,i->", product, factor
        )  # without the threads that wait for each other in a product
    return weighed
