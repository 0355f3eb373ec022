"""Association before and after, compared with the definition in plain Python."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.methods.utility.association import AssociationLoss, corrected_v


def naive_v(first, second):
    """Bergsma's corrected V: χ² over all cells, the empty ones too."""
    n = len(first)
    rows, columns = Counter(first), Counter(second)
    cells = Counter(zip(first, second, strict=True))
    chi = 0.0
    for row, in_row in rows.items():
        for column, in_column in columns.items():
            expected = in_row * in_column / n
            chi += (cells[row, column] - expected) ** 2 / expected
    r, c = len(rows), len(columns)
    phi = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    widest = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return math.sqrt(min(1.0, phi / widest)) if widest > 1e-9 else 0.0


columns = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30)


@given(columns)
def test_v_is_that_of_the_definition(rows):
    first, second = zip(*rows, strict=True)
    # Both round 0 differently, and a root makes much of little.
    assert corrected_v(np.array(first), np.array(second)) ** 2 == pytest.approx(
        naive_v(first, second) ** 2, abs=1e-9
    )


def table_of(first, second):
    frame = pl.DataFrame({"area": first, "illness": second}, schema={"area": str, "illness": str})
    roles = {"area": Attribute((Role.QUASI,)), "illness": Attribute((Role.SENSITIVE,))}
    return sf.Table(frame, Schema(roles))


@given(columns, st.data())
def test_the_share_that_is_lost(rows, data):
    first = [f"a{a}" for a, _ in rows]
    second = [f"b{b}" for _, b in rows]
    coarse = [{"a0": "a0", "a1": "a0"}.get(a, a) for a in first]
    shuffled = data.draw(st.permutations(second))
    pair = TablePair.of(table_of(first, second), table_of(coarse, shuffled))
    measure = AssociationLoss().measure(pair)
    before, after = naive_v(first, second), naive_v(coarse, shuffled)
    if before > 1e-6:
        assert measure.value == pytest.approx(max(0.0, before - after) / before, abs=1e-6)
        assert measure.per_column == {"area": measure.value}
    drawn = [series.points[0].y for series in measure.chart.series]
    assert drawn == pytest.approx([before, after], abs=1e-6)


def test_numbers_are_grouped_alike_before_and_after():
    people = sf.examples.hospital(rows=400)
    same = AssociationLoss().measure(TablePair.of(people, people))
    assert same.value == 0
    assert same.chart is not None
    assert "association" not in same.to_dict().get("chart", "")
    top = sf.anonymize(people, [sf.KAnonymity(400)], sf.Mondrian())
    gone = AssociationLoss().measure(top.pair)
    assert gone.value == 1


def test_what_cannot_be_measured():
    table = table_of(["x", "y"], ["u", "v"])
    bare = sf.Table(pl.DataFrame({"area": ["x", "y"]}))
    assert "both released" in AssociationLoss().applies(TablePair.of(table, bare))


def test_classes_of_a_verdict_and_their_distances():
    people = table_of(["x"] * 4 + ["y"] * 4, ["u", "u", "v", "v", "u", "u", "u", "u"])
    verdict = sf.judge(people, "t_closeness:illness,0.2")[0]
    rows = verdict.classes().rows()
    assert rows == [("x", 4, 0.25, False), ("y", 4, 0.25, False)]
    diverse = sf.judge(people, "l_diversity:illness,2")[0].classes()
    assert diverse.rows() == [("y", 4, 1, False), ("x", 4, 2, True)]
    own = people.with_columns({"records": pl.Series(["r"] * 8)})
    own = own.with_schema(own.schema.replace("illness", roles=(Role.SENSITIVE,)))
    assert "records" in sf.judge(own, "k_anonymity")[0].classes().columns
