"""Histograms: what their outermost edges tell."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import SchemaError
from sfumato.results.checking.bars import _join_bars
from sfumato.results.checking.check import check_output
from sfumato.results.checking.verdict import OutputRules


def test_rows_of_one_person_at_the_end_do_not_make_its_edge_safe():
    """Twenty visits of one person cost 97 each: a bar that ends at 97 tells that person's cost."""
    values = np.r_[np.tile(np.arange(10.0, 60.0), 2), np.full(20, 97.0)]
    person_ids = np.r_[np.arange(100), np.full(20, 100)]
    edges = np.array([0.0, 20.0, 40.0, 60.0, 97.0])
    counts = np.histogram(values, edges)[0].astype(float)
    rules = OutputRules(threshold=10)
    suggestion = _join_bars(counts, edges, values, person_ids, rules)
    assert suggestion is not None and 97.0 not in suggestion["to"].to_list()

    twenty_persons = _join_bars(counts, edges, values, np.arange(120), rules)
    assert twenty_persons is not None and twenty_persons["count"].sum() == 120


@pytest.mark.parametrize("output", [(), [3.0], ([3.0, 4.0],), (3.0, 4.0), (None, None), "ab"])
def test_what_is_no_histogram_is_refused_by_name(output):
    with pytest.raises(SchemaError, match="one edge more than counts"):
        check_output(output, kind="histogram")
