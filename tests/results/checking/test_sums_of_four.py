"""Sums and differences of up to four cells that are about few persons, found by hashing where there
are too many atoms to look at all sums."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.results.checking import differences, sums_of_four
from sfumato.results.checking.differences import CellPool
from tests.results.checking.test_differences import (
    people,  # noqa: F401 - a fixture
    told,
)


def test_beyond_a_number_of_groups_pairs_to_fours_are_looked_at_and_it_says_so(
    people,  # noqa: F811
    tmp_path,
    monkeypatch,
):
    monkeypatch.setattr(differences, "MOST_ATOMS", 3)
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.mean("income", by=["old"]).passes
        three = people.with_columns(
            third=pl.when(pl.col("age") < 40)
            .then(pl.lit("a"))
            .when(pl.col("age") < 62)
            .then(pl.lit("b"))
            .otherwise(pl.lit("c"))
        )
        table = three.group_by("third").agg(pl.col("income").sum().alias("income_sum"))
        assert told(
            session.check(table, data=three)
        )  # the first of two bands is the sum of two of three, but for one
        by_sex = session.check(
            people.group_by("sex").agg(pl.col("income").sum().alias("income_sum"))
        )
        assert by_sex.passes
        assert "up to four cells" in told(by_sex, "pass")[0]


def naive_fours(cells, persons, threshold):
    """Whether up to four cells, added and subtracted, are about few."""
    vectors = [np.isin(np.arange(persons), one).astype(int) for one in cells]
    for signs in np.ndindex(*[3] * len(vectors)):
        weights = np.array(signs) - 1
        if 2 <= np.count_nonzero(weights) <= 4:
            about = np.count_nonzero(weights @ np.array(vectors))
            if 0 < about < threshold:
                return True
    return False


def test_sums_of_four_by_hashing_like_trying_all_of_them():
    draw, seen = np.random.default_rng(3), set()
    for _ in range(150):
        persons, threshold = int(draw.integers(15, 40)), int(draw.integers(2, 5))
        edges = np.sort(draw.choice(np.arange(1, persons), 3, replace=False))
        cells = [*np.split(np.arange(persons), edges)]
        cells += [np.flatnonzero(draw.random(persons) < draw.choice([0.2, 0.5])) for _ in range(3)]
        cells = [
            one for one in {one.tobytes(): one for one in cells}.values() if len(one) >= threshold
        ]
        pool = CellPool(
            cells,
            np.ones(len(cells), dtype=np.int64),
            np.ones(len(cells), dtype=bool),
            np.arange(persons),
            is_count=False,
        )
        found, kind = sums_of_four.find_by_hashing(pool, threshold)
        assert kind == "fours"
        naive = naive_fours(cells, persons, threshold)
        assert (found is not None) == naive
        seen.add(naive)
    assert seen == {True, False}
