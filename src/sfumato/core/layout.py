"""Where the columns of a table lie in a packed key."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Ladder

WORD = 64


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Where each column lies in a key: ``word``, ``shift`` and ``width`` in bits, one entry a column."""

    words: NDArray[np.int64]
    shifts: NDArray[np.int64]
    widths: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Layout:
        """Lay out columns with these numbers of codes; a column never crosses a word."""
        import numpy as np

        words, shifts, widths = [], [], []
        word = used = 0
        for size in sizes:
            width = max(1, (size - 1).bit_length())
            if used + width > WORD:
                word, used = word + 1, 0
            words.append(word)
            shifts.append(used)
            widths.append(width)
            used += width
        return cls(*(np.array(part, dtype=np.int64) for part in (words, shifts, widths)))

    @property
    def length(self) -> int:
        """Number of words of a key."""
        return int(self.words.max()) + 1 if self.words.size else 1


@dataclasses.dataclass(frozen=True, eq=False)
class Placement:
    """How rows are packed: the ladder and level of each column and where its bits lie."""

    ladders: tuple[Ladder, ...]
    levels: tuple[int, ...]
    layout: Layout
