"""What a detector found, and the bounded look at a column it found it in."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.guidance.profiling.check_digits import find_number
from sfumato.guidance.profiling.detection import sample_of
from tests.guidance.profiling.test_identifiers import DRAW, digits


@pytest.mark.parametrize("length", range(7, 19))
@pytest.mark.parametrize("count", [5, 12, 200])
def test_random_digits_are_no_national_id_nor_card_nor_phone(length, count):
    for _ in range(5):
        texts = [str(DRAW.randrange(1, 10)) + digits(length - 1) for _ in range(count)]
        assert find_number(sample_of(pl.Series(texts)), whole=False) is None
        assert find_number(sample_of(pl.Series([int(text) for text in texts])), whole=True) is None
