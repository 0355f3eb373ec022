"""Which records are in which cell of an output, and what of them the cell adds up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ReleaseRefused
from tests.results.checking.test_differences import (
    people,  # noqa: F401 - a fixture
    told,
)


def test_models_of_levels_are_tables(people, tmp_path):  # noqa: F811
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.regression("income", ["old"]).passes
        with pytest.raises(ReleaseRefused, match="output 1 are about fewer than 10 persons"):
            session.regression("income", ["pensioner"])
        assert told(
            session.check(
                people.group_by("pensioner").agg(pl.col("income").mean().alias("income_mean"))
            )
        )
        assert not told(
            session.check(people.group_by("pensioner").agg(pl.col("age").mean().alias("age_mean")))
        )


def test_leaves_of_trees_are_cells(people, tmp_path):  # noqa: F811
    def tree(cut):
        low = int((people["age"] <= cut).sum())
        inner = {
            "children_left": [1, -1, -1],
            "children_right": [2, -1, -1],
            "feature": [0, -2, -2],
        }
        counts = {"n_node_samples": [400, low, 400 - low], "impurity": [0.5, 0.4, 0.3]}
        shares = np.array([[[0.5, 0.5]], [[0.5, 0.5]], [[0.5, 0.5]]])
        inner |= {"threshold": [float(cut), -2.0, -2.0], "value": shares, **counts}
        return SimpleNamespace(tree_=SimpleNamespace(**inner), feature_names_in_=["age"])

    with sf.output_session(tmp_path / "out", people) as session:
        assert session.add(tree(60.5), "One").passes
        assert told(session.check(tree(61.5)))
        assert told(session.check(people.group_by("pensioner").len("n")))
        assert session.check(tree(50.5)).passes
