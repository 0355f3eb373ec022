"""What several tables are still worth: rows that are left, how many of them people have, and values
that are as they were."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sfumato as sf
from sfumato import examples
from tests.data.relational.test_steps import after


def test_metrics_count_rows_and_cells():
    people = examples.clinic()
    left, _ = after(people, {"cap_rows": {"table": "visits", "at_most": 1}})
    measures = {m.name: m for m in sf.evaluate(people, left).measures}
    share = len(left["visits"]) / len(people["visits"])
    assert measures["rows_kept"].per_column["visits"] == pytest.approx(share)
    assert measures["cells_unchanged"].per_column["visits"] == pytest.approx(share)
    assert measures["cells_unchanged"].per_column["people"] == 1
    counts = Counter(people.per_person("visits").tolist())
    moved = sum(n for rows, n in counts.items() if rows > 1) / people.people
    assert measures["rows_per_person"].per_column["visits"] == pytest.approx(moved)
    (means,) = sf.evaluate(
        people, left, [{"means": {"columns": ["cost"], "table": "visits"}}]
    ).measures
    assert means.name == "means_in_visits"
    was, now = (float(one["visits"].frame["cost"].mean()) for one in (people, left))
    assert means.value == pytest.approx(abs(now - was) / abs(was))


def test_nothing_changed_is_worth_everything():
    people = examples.clinic()
    measures = {
        m.name: m.value
        for m in sf.evaluate(people, people.shuffled(np.random.default_rng(2))).measures
    }
    assert measures == {"rows_kept": 1.0, "rows_per_person": 0.0, "cells_unchanged": 1.0}
