"""The assessment's figures against their definitions."""

from __future__ import annotations

import json
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models.k_anonymity import KAnonymity
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables


@given(
    table=tables(fewest_rows=0, most_rows=20, most_columns=3),
    threshold=st.sampled_from([0.2, 0.34, 1.0]),
)
def test_figures(table, threshold):
    found = sf.assess(table.dataset(), [KAnonymity(2)], threshold=threshold)
    sizes = oracle.class_sizes(table.rows)
    each = [sizes[row] for row in table.rows]
    n = len(table.rows)
    assert (found.records, found.classes, found.persons) == (n, len(sizes), None)
    assert found.smallest_class == min(sizes.values(), default=None)
    assert found.unique_records == each.count(1)
    assert found.class_sizes == dict(sorted(Counter(sizes.values()).items()))
    assert found.measure("prosecutor_risk") == pytest.approx(max((1 / f for f in each), default=0))
    assert found.measure("marketer_risk") == pytest.approx(len(sizes) / n if n else 0)
    at_risk = sum(1 / f > threshold + 1e-12 for f in each) / n if n else 0
    assert found.measure("records_at_risk") == pytest.approx(at_risk)
    assert found.measure("unique_records") == pytest.approx(each.count(1) / n if n else 0)
    assert found.verdicts[0].holds == all(f >= 2 for f in each)
    assert sum(found.contributions.values()) == pytest.approx(each.count(1) / n if n else 0)
    exposed = oracle.exposing_sets(table.rows, len(table.names))
    assert {e.columns for e in found.exposing_sets} <= {
        tuple(table.names[c] for c in s) for s in exposed
    }
    assert bool(found.exposing_sets) == bool(exposed)


def test_persons_and_weights():
    frame = pl.DataFrame({"zip": ["a", "a", "b"], "who": ["1", "1", "2"], "w": [2.0, 3.0, 10.0]})
    roles = {"zip": Role.QUASI, "who": Role.PERSON, "w": Role.WEIGHT}
    found = sf.assess(Table(frame, Schema({n: Attribute((r,)) for n, r in roles.items()})))
    assert found.persons == 2
    assert found.smallest_class == 1
    assert found.unique_records == 3, "three records, each of somebody who is alone in the class"
    assert found.measure("journalist_risk") == pytest.approx(1 / 5)
    assert found.exposing_sets[0].unique_records == 3
    assert found.contributions == {"zip": pytest.approx(1.0)}


def test_figures_and_words_show_no_value():
    table = RandomTable(
        [("secret",), ("other",), ("other",)], [{v: (v,) for v in ("secret", "other")}]
    )
    found = sf.assess(table.dataset(), [KAnonymity(2)])
    told = str(found) + json.dumps(found.to_dict())
    assert "secret" not in told
    assert str(found).count("unique records") == 3 and "c0                    1" in str(found)


def test_the_missing_rule_is_named():
    table = RandomTable([("a",), (None,)], [{"a": ("a",)}])
    wild = Table(table.frame(), table.schema(missing="wildcard"))
    assert sf.assess(table.dataset()).missing_rule == "category"
    assert sf.assess(wild).missing_rule == "wildcard"
    assert sf.assess(wild).smallest_class == 2


def test_what_cannot_be_assessed():
    frame = pl.DataFrame({"a": ["x"], "b": ["y"]})
    with pytest.raises(SchemaError, match="role quasi"):
        sf.assess(
            Table(frame, Schema({"a": Attribute((Role.KEEP,)), "b": Attribute((Role.KEEP,))}))
        )
    with pytest.raises(SchemaError, match="'b' of the table has no role"):
        sf.assess(Table(frame, Schema({"a": Attribute((Role.QUASI,))})))
    two = Schema({"a": Attribute((Role.QUASI,)), "b": Attribute((Role.QUASI,))})
    with pytest.raises(ParameterError, match="threshold"):
        sf.assess(Table(frame, two), threshold=0)
