"""Least squares for a session, with all that a checker asks of a fitted model."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, Unsatisfiable
from sfumato.results.checking.contributing_records import ContributingRecords
from sfumato.results.checking.least_squares import fit_line


def test_least_squares_of_a_session():
    # five points by hand: x = 1 … 5, y = 2, 4, 5, 4, 5: slope 0.6, intercept 2.2, R² 0.6 (the
    # textbook's line)
    people = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [2.0, 4.0, 5.0, 4.0, 5.0]})
    line, rows = fit_line(ContributingRecords.of(people), "y", ["x"])
    assert line.params == pytest.approx([2.2, 0.6])
    assert line.rsquared == pytest.approx(0.6)
    assert line.bse == pytest.approx([0.938083, 0.282843], abs=1e-6)  # s² = 0.8, Sxx = 10
    assert line.df_resid == 3
    assert rows.all()


def test_lines_that_cannot_be_fitted(tmp_path):
    people = pl.DataFrame(
        {
            "x": [float(i) for i in range(30)],
            "z": [2.0 * i for i in range(30)],
            "y": [float(i % 7) for i in range(30)],
            "t": [str(i) for i in range(30)],
        }
    )
    behind = ContributingRecords.of(people)
    with pytest.raises(Unsatisfiable, match="follow from others"):
        fit_line(behind, "y", ["x", "z"])
    with pytest.raises(ParameterError, match="list of columns"):
        fit_line(behind, "y", "x")
    with pytest.raises(SchemaError, match="holds no numbers"):
        fit_line(behind, "t", ["x"])
    with pytest.raises(SchemaError, match="no row has values in all columns"):
        fit_line(behind, "y", ["x"], pl.col("x") > 99)
    with sf.output_session(tmp_path / "out", people.with_columns(rare=pl.col("x") < 3)) as session:
        with pytest.raises(ReleaseRefused, match="fewer than 10 persons"):
            session.regression("y", ["x", "rare"])
        assert len(session) == 0
        assert session.regression("y", ["x"]).passes
