"""What a detector found, and the bounded look at a column it found it in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import polars as pl

from sfumato.core.encoding import label

# Values looked at to recognise a pattern; counts of distinct values are exact.
SAMPLE = 10_000

# Values tried first: a pattern most of them lack is not tried on the rest.
SCREEN = 24


@dataclasses.dataclass(frozen=True)
class Recognition:
    """What a column was recognised as, why (never with a value of it), and how sure that is
    (0-1).
    """

    concept: str
    reason: str
    confidence: float


@dataclasses.dataclass(frozen=True, repr=False)
class TextSample:
    """Distinct texts of a column from an even spread over its rows, and how many cells they came
    from.
    """

    texts: tuple[str, ...]
    cells: int

    @property
    def distinct_share(self) -> float:
        """Distinct texts per non-missing cell looked at."""
        if self.cells:
            return len(self.texts) / self.cells
        return 0.0


def sample_of(values: pl.Series) -> TextSample:
    """Look at no more than :data:`SAMPLE` non-missing values, evenly spread, blanks stripped."""
    present = values.drop_nulls() if values.null_count() else values
    step = -(-present.len() // SAMPLE)
    cells = _as_texts(present.gather_every(step) if step > 1 else present)
    texts = [stripped for cell in cells if (stripped := cell.strip())]
    return TextSample(tuple(dict.fromkeys(texts)), len(texts))


def _as_texts(values: pl.Series) -> list[str]:
    if isinstance(values.dtype, pl.Binary):
        return []
    if values.dtype == pl.String:
        return values.to_list()
    # NaN differs from itself.
    return [label(value) for value in values.to_list() if value == value]  # noqa: PLR0124


def share(test: Callable[[str], object], texts: Sequence[str], *, at_most: int = SAMPLE) -> float:
    """Share of texts that pass a test; rough where a first look says that most do not.

    >>> share(str.isdigit, ["1", "2", "x", "4"])
    0.75
    """
    if not texts:
        return 0.0
    first = _spread(texts, SCREEN)
    rough = sum(1 for text in first if test(text)) / len(first)
    if rough < 0.5:
        return rough
    sample = _spread(texts, at_most)
    return sum(1 for text in sample if test(text)) / len(sample)


def _spread(texts: Sequence[str], count: int) -> Sequence[str]:
    return texts[:: max(1, -(-len(texts) // count))]
