"""Whether records can be grouped by labels: equal or disjoint, and never both by accident."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.methods.utility.groupability import Groupability


def pair_of(values, labels, **attribute):
    schema = Schema({"x": Attribute((Role.QUASI,), **attribute)})
    original = sf.Table(pl.DataFrame({"x": values}), schema)
    return TablePair.of(original, sf.Table(pl.DataFrame({"x": labels}), schema))


def value_of(pair):
    return Groupability().measure(pair).value


@pytest.mark.parametrize(
    ("labels", "groupable"),
    [
        (["20..29", "20..29", "30..40", "30..40"], True),
        (["20..30", "20..30", "30..40", "30..40"], False),  # 30 is in both
        (["20..40", "25..30", "20..40", "20..40"], False),  # one inside another
        (["20", "25..30", "25..30", "40"], True),
        (["20", "20..30", "20..30", "40"], False),  # a value beside a range that holds it
        (["*", "25..40", "25..40", "25..40"], True),  # suppressed is no label
        (["20", "25", "30", "40"], True),
    ],
)
def test_ranges(labels, groupable):
    pair = pair_of([20, 25, 30, 40], labels, kind=Kind.NUMERIC)
    assert value_of(pair) == float(groupable)


def test_nested_codes_overlap():
    codes = ["0100", "0101", "0200", "0201"]
    hierarchy = sf.mask_right(4)
    disjoint = pair_of(codes, ["01**", "01**", "02**", "02**"], hierarchy=hierarchy)
    nested = pair_of(codes, ["0***", "01**", "02**", "02**"], hierarchy=hierarchy)
    assert value_of(disjoint) == 1
    assert value_of(nested) == 0


def test_mondrian_overlaps_and_global_recoding_does_not():
    visits = sf.examples.visits(rows=300)
    cut = sf.anonymize(visits, sf.KAnonymity(5), sf.Mondrian())
    recoded = sf.anonymize(visits, sf.KAnonymity(5), sf.GlobalRecoding(budget=0.05))
    assert Groupability(["birth_date"]).measure(cut.pair).value == 0
    measure = Groupability().measure(recoded.pair)
    assert measure.value == 1
    assert set(measure.per_column.values()) == {1.0}
