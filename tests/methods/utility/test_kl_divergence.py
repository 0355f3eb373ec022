"""Kullback–Leibler divergence of the joint distribution."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair


def test_blanks_that_were_there_and_blanks_that_hide_a_value_are_one_box_in_any_order() -> None:
    schema = {"zip": ["1", "2", None, "2"]}
    people = sf.read(pl.DataFrame(schema)).with_roles(quasi="zip")
    released = people.with_columns({"zip": pl.Series("zip", ["1", "2", None, None])})
    found = [
        sf.KullbackLeibler().measure(TablePair.of(people, released.take(np.array(order)))).raw
        for order in ([0, 1, 2, 3], [3, 2, 1, 0], [0, 3, 1, 2])
    ]
    assert found == pytest.approx([found[0]] * 3)
