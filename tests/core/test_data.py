"""The data that a release is made of, whatever their shape: one protocol for tables, baskets,
paths, graphs and related tables."""

from __future__ import annotations

import pytest

from sfumato.core.data import is_data
from tests.interfaces.test_api import DATA


@pytest.mark.parametrize("shape", DATA)
def test_every_shape_is_data(shape: str) -> None:
    data = DATA[shape]()
    assert is_data(data)
    assert (str(data.shape), data.size > 0) == (shape, True)
    assert set(data.counts()) and set(data.schemas) and data.input_digest()
