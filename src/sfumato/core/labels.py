"""Labels of a column: a tuple where they are few, one column of text where they are very many.

A million labels as Python strings take 70 MB and a tenth of a second each time somebody walks over
them; as one column of text they take a quarter of that, and are gathered, sorted and looked up all
at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

Labels = Sequence[str | None]
MANY = 1 << 14
"""Labels of more than this number are held and looked up as columns of text, fewer one by one."""
CHUNK = 1 << 16


class TextLabels(Sequence[str | None]):
    """Very many labels, none of which comes twice; the missing one (None), if there is one, is the
    last.

    Reads like a tuple. Whoever walks over it makes Python strings of it, a part at a time.
    ``drawn`` are the labels that these were taken from, and the place of each among them.
    """

    __slots__ = ("_asked", "_texts", "drawn", "series")

    def __init__(
        self, series: pl.Series, drawn: tuple[Labels, NDArray[np.int64]] | None = None
    ) -> None:
        self.series = series
        self.drawn = drawn
        self._asked = 0
        self._texts: list[str | None] | None = None

    def __len__(self) -> int:
        return len(self.series)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str | None, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str | None, ...] | None:
        if isinstance(index, slice):
            return tuple(self.series[index].to_list())
        if self._texts is None:
            self._asked += 1
            if self._asked <= MANY:
                label: str | None = self.series[index]
                return label
            self._texts = self.series.to_list()  # who asks so often, one by one, asks for all
        return self._texts[index]

    def __iter__(self) -> Iterator[str | None]:
        for start in range(0, len(self.series), CHUNK):
            yield from self.series.slice(start, CHUNK).to_list()

    def __contains__(self, label: object) -> bool:
        if label is None:
            return self.series.null_count() > 0
        return isinstance(label, str) and bool((self.series == label).any())

    def index(self, label: str | None, start: int = 0, stop: int | None = None) -> int:
        """Where a label is; raises ValueError where it is not among those asked for."""
        if label is None:
            matches = self.series.is_null()
        else:
            matches = self.series == label
        for position in matches.arg_true().to_list():
            if start <= position and (stop is None or position < stop):
                return int(position)
        raise ValueError("this label does not exist")

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if isinstance(other, TextLabels):
            return self.series.equals(other.series, null_equal=True)
        if isinstance(other, tuple):
            return len(other) == len(self) and tuple(self.series.to_list()) == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{len(self):,} labels"


def labels_of(series: pl.Series) -> Labels:
    """The labels in a column of text, in the form for their number."""
    if len(series) > MANY:
        return TextLabels(series)
    return tuple(series.to_list())


def text_of(labels: Labels) -> pl.Series:
    """Labels as a column of text.

    >>> text_of(("a", None)).to_list()
    ['a', None]
    """
    if isinstance(labels, TextLabels):
        return labels.series
    return pl.Series(labels, dtype=pl.String)


def some_of(labels: Labels, positions: NDArray[np.int64]) -> Labels:
    """The labels at some places, in their order.

    >>> some_of(("a", "b", "c"), np.array([2, 0]))
    ('c', 'a')
    """
    if isinstance(labels, TextLabels):
        texts = labels.series.gather(positions)
        # Where they were taken from is kept: looking them up there later costs nothing.
        if len(texts) > MANY:
            return TextLabels(texts, (labels, positions))
        return labels_of(texts)
    return tuple([labels[position] for position in positions.tolist()])


def without_missing(labels: Labels) -> Sequence[str]:
    """The labels but for the missing one.

    >>> without_missing(("a", None))
    ['a']
    """
    if isinstance(labels, TextLabels):
        if labels.series.null_count():
            present = labels.series.drop_nulls()
        else:
            present = labels.series
        return TextLabels(present)  # type: ignore[return-value]  # none of them is missing
    return [label for label in labels if label is not None]


def where_equal(labels: Labels, label: str) -> NDArray[np.bool_]:
    """Per label whether it is this one.

    >>> where_equal(("a", None, "*"), "*").tolist()
    [False, False, True]
    """
    if isinstance(labels, TextLabels):
        return (labels.series == label).fill_null(value=False).to_numpy()
    return np.array([entry == label for entry in labels], dtype=bool)


def missing_in(labels: Labels) -> NDArray[np.bool_]:
    """Per label, none of which comes twice, whether it is the missing one.

    >>> missing_in(("a", None)).tolist()
    [False, True]
    """
    is_missing = np.zeros(len(labels), dtype=bool)
    if None in labels:
        is_missing[labels.index(None)] = True
    return is_missing


def positions_in(labels: Labels, sought: Labels) -> NDArray[np.int64]:
    """Where each label that is wanted stands among others, -1 where it does not; lists that are
    equal need no looking up.

    >>> positions_in(("a", "b", None), (None, "a", "c")).tolist()
    [2, 0, -1]
    """
    # Lists are often the same, and comparing is far cheaper than looking up.
    if labels is sought or (len(labels) == len(sought) and labels == sought):
        return np.arange(len(labels), dtype=np.int64)
    if isinstance(sought, TextLabels) and sought.drawn is not None and sought.drawn[0] is labels:
        return sought.drawn[1]
    if max(len(labels), len(sought)) > MANY:
        return _joined(labels, sought)
    position = {name: i for i, name in enumerate(labels)}
    return np.array([position.get(name, -1) for name in sought], dtype=np.int64)


def _joined(labels: Labels, sought: Labels) -> NDArray[np.int64]:
    """The same for many labels, none of which comes twice; the fewer of both are hashed."""
    texts, sought_texts = text_of(labels), text_of(sought)
    positions = np.full(len(sought_texts), -1, dtype=np.int64)
    if len(texts) < len(sought_texts):
        pairs = _pairs(texts, sought_texts)
        positions[pairs[1]] = pairs[0]
    else:
        pairs = _pairs(sought_texts, texts)
        positions[pairs[0]] = pairs[1]
    return positions


def _pairs(
    short_side: pl.Series, long_side: pl.Series
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of equal labels in both lists."""
    # Where few are sought, most of the long list is cut away before the join.
    if len(short_side) < len(long_side) // 8:
        among = long_side.is_in(short_side.implode(), nulls_equal=True).arg_true()
    else:
        among = None
    positions = pl.Series(range(len(short_side)), dtype=pl.Int64)
    short_frame = pl.DataFrame({"label": short_side, "few": positions})
    if among is None:
        candidates = long_side
        rows = pl.Series("many", np.arange(len(long_side)))
    else:
        candidates = long_side.gather(among)
        rows = among.cast(pl.Int64).alias("many")
    long_frame = pl.DataFrame({"label": candidates, "many": rows})
    matches = long_frame.join(short_frame, on="label", how="inner", nulls_equal=True)
    return matches["few"].to_numpy(), matches["many"].to_numpy()
