"""The digest of a table that has no file: of its rows, in whatever order and batches they come."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.lazy.digest import RowsDigest


def digest(*batches: pl.DataFrame) -> str:
    found = RowsDigest(batches[0].columns)
    for batch in batches:
        found.add(batch)
    return found.hexdigest()


CELLS = st.tuples(
    st.one_of(st.none(), st.integers(-(2**40), 2**40)),
    st.one_of(st.none(), st.text(max_size=4)),
    st.one_of(st.none(), st.floats(allow_nan=False)),
)


SHAPE = {"a": pl.Int64, "b": pl.String, "c": pl.Float64}


def naive(rows: list[tuple[Any, ...]]) -> list[str]:
    """Rows as a sorted list: equal where the tables hold the same rows."""
    return sorted(
        repr(tuple(0.0 if cell == 0 and isinstance(cell, float) else cell for cell in row))
        for row in rows
    )


@given(
    st.lists(CELLS, min_size=1, max_size=8),
    st.lists(CELLS, min_size=1, max_size=8),
    st.integers(0, 8),
)
def test_the_digest_tells_rows_and_not_their_order(
    one: list[tuple[Any, ...]], other: list[tuple[Any, ...]], cut: int
) -> None:
    rows, others = (pl.DataFrame(found, schema=SHAPE, orient="row") for found in (one, other))
    turned = rows.reverse().select("c", "a", "b").cast({"b": pl.Categorical})
    assert digest(rows) == digest(turned[:cut], turned[cut:])
    assert (digest(rows) == digest(others)) == (naive(one) == naive(other))
