"""A row that stands for several records counts as that many rows would."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.classes import count_classes
from sfumato.core.encoding import value_counts
from sfumato.core.table import Table
from sfumato.release.assessment import assess

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.integers(0, 2),
        st.sampled_from(["x", "y", None]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=12,
)


def both(rows: list[tuple[str | None, int, str | None, int]]) -> tuple[Table, Table]:
    """A table whose rows stand for several, and the same table written out."""
    names = ["q", "age", "illness"]
    short = pl.DataFrame(
        [row[:3] for row in rows],
        schema={"q": pl.String, "age": pl.Int64, "illness": pl.String},
        orient="row",
    )
    copies = np.array([row[3] for row in rows], dtype=np.int64)
    long = short.select(pl.col(n).repeat_by(pl.Series(copies)).explode() for n in names)
    roles = {"quasi": ["q", "age"], "sensitive": ["illness"]}
    counted = Table(short, copies=copies)  # type: ignore[arg-type]
    return counted.with_roles(**roles), Table(long).with_roles(**roles)  # type: ignore[arg-type]


@given(ROWS)
def test_classes_and_their_counts_are_those_of_the_table_written_out(
    rows: list[tuple[str | None, int, str | None, int]],
) -> None:
    counted, long = both(rows)
    one, other = (
        count_classes(table, counted=("illness", ("q", "illness"))) for table in (counted, long)
    )
    assert counted.records == len(long)
    assert one.records.tolist() == other.records.tolist()
    assert one.keys.tolist() == other.keys.tolist()
    for name in other.counts:
        assert one.counts[name].counts.tolist() == other.counts[name].counts.tolist()
        assert one.counts[name].codes.tolist() == other.counts[name].codes.tolist()
    assert value_counts(counted, "illness") == value_counts(long, "illness")


@given(ROWS)
def test_risks_and_verdicts_are_those_of_the_table_written_out(
    rows: list[tuple[str | None, int, str | None, int]],
) -> None:
    models = (sf.KAnonymity(2), sf.LDiversity("illness", 2), sf.TCloseness("illness", 0.5))
    one, other = (assess(table, models) for table in both(rows))
    assert one.to_dict() == other.to_dict()


def test_rows_that_are_taken_keep_their_copies() -> None:
    counted, _ = both([("a", 1, "x", 3), ("b", 1, "y", 2)])
    assert counted.take(np.array([1])).records == 2
