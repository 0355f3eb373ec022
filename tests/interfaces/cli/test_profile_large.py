"""``sfumato profile`` on more rows than are looked at together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest


@pytest.mark.slow
def test_the_command_says_how_many_rows_it_looked_at(sfumato, tmp_path):
    rows = 200_001
    draw = np.random.default_rng(2)
    file = tmp_path / "visits.parquet"
    pl.DataFrame(
        {"age": draw.integers(0, 90, rows), "sex": draw.choice(["f", "m"], rows)}
    ).write_parquet(file)
    done = sfumato("profile", file)
    assert done.code == 0 and "in 200,000 of these rows at most" in done.out
    assert "200,001 rows, 2 columns looked at, together in 200,000 of the rows" in done.err
