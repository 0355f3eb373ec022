"""What the outputs of a session tell together, from what is kept beside its log: the same for a
session that goes on, a review, a release and its verification."""

from __future__ import annotations

import polars as pl

import sfumato as sf
from tests.results.checking.test_differences import told


def test_a_protected_table_beside_a_table_that_gives_it_away(tmp_path):
    frame = pl.DataFrame(
        {
            "site": ["a"] * 40 + ["b"] * 40 + ["c"] * 40,
            "plan": (["p"] * 20 + ["q"] * 20) * 2 + ["p"] * 36 + ["q"] * 4,
        }
    )
    made = sf.tabulate(frame, ["site", "plan"]).protect([sf.Threshold(10)])
    other = frame.with_columns(
        pl.when((pl.col("site") == "c") & (pl.col("plan") == "q"))
        .then(pl.lit("y"))
        .otherwise(pl.lit("n"))
        .alias("odd")
    )
    rest = other.filter(pl.col("odd") == "n")
    with sf.output_session(tmp_path / "out", frame) as session:
        assert session.add(made, "Protected").passes
        where = (pl.col("site") != "c") | (pl.col("plan") != "q")
        verdict = session.check(rest.group_by("plan").len("n"), where=where)
        assert told(verdict)
        unlike = sf.tabulate(frame.reverse(), ["site", "plan"]).protect([sf.Threshold(10)])
        assert (
            session.check(unlike).status == "review"
        )  # which records are in which cell is not known
        assert session.check(frame.group_by("site").len("n")).passes
