"""Which original values a label may stand for, looked up when somebody asks: of a million values
nobody asks for all.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.hierarchy import TOP, Ladder
from sfumato.core.labels import Labels

Nodes = Mapping[str | None, Sequence[int] | NDArray[np.int64]]
"""By label the codes of the values that it may stand for."""


class NodesOfLevel(Mapping[str | None, NDArray[np.int64]]):
    """Per label of a level the codes of the values below it, in order, and of the top all; looked
    up when somebody asks.

    Values below one node are neighbours in a ladder.
    """

    def __init__(self, ladder: Ladder, level: int, values: Labels) -> None:
        self._ladder, self._level, self._values = ladder, level, values

    @functools.cached_property
    def _spans(self) -> dict[str | None, tuple[int, int]]:
        """Per label of the level where its leaves begin and end."""
        labels = self._ladder.labels[self._level]
        # Codes of a level never fall along the values, so one search finds where each node begins.
        node_of_value = self._ladder.climb(0, self._level)
        starts = np.searchsorted(node_of_value, np.arange(len(labels) + 1)).tolist()
        spans = dict(zip(labels, itertools.pairwise(starts), strict=True))
        spans.setdefault(TOP, (0, len(self._ladder.labels[0])))
        return spans

    @functools.cached_property
    def _codes(self) -> NDArray[np.int64]:
        """The code of the value that every leaf is."""
        codes = np.full(len(self._ladder.labels[0]), -1, dtype=np.int64)
        leaves = self._ladder.codes_of(self._values)
        codes[leaves[leaves >= 0]] = np.flatnonzero(leaves >= 0)
        return codes

    def __contains__(self, label: object) -> bool:
        return label in self._spans

    def __getitem__(self, label: str | None) -> NDArray[np.int64]:
        start, end = self._spans[label]
        # Values need not be in the order of the ladder.
        return np.sort(self._codes[start:end])

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


class OwnNodes(Mapping[str | None, tuple[int]]):
    """Every value by itself: its own code; a table of them is made when somebody asks for one."""

    def __init__(self, values: Labels) -> None:
        self.labels = values

    @functools.cached_property
    def _codes(self) -> dict[str | None, int]:
        return {value: code for code, value in enumerate(self.labels)}

    def __contains__(self, label: object) -> bool:
        return label in self._codes

    def __getitem__(self, label: str | None) -> tuple[int]:
        return (self._codes[label],)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self.labels)
