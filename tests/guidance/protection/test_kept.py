"""What a release keeps is said of what it holds."""

from __future__ import annotations

import polars as pl

import sfumato as sf
from sfumato.guidance.protection.kept import kept_of


def test_a_column_in_which_nothing_is_left_is_not_kept():
    frame = pl.DataFrame(
        {"age": [20, 30, 40, 50] * 5, "town": [f"t{i}" for i in range(20)], "ill": ["y", "n"] * 10}
    )
    people = (
        sf.read(frame)
        .with_roles(quasi=["age", "town"], sensitive=["ill"])
        .with_hierarchies(age=sf.intervals(20), town=sf.suppress())
    )
    release = sf.anonymize(people, [sf.KAnonymity(5)], [sf.GlobalRecoding()], seed=1)
    assert "2 of 3 columns (nothing is left in town)" in kept_of(release)
