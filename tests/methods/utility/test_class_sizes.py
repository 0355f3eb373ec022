"""Average class size."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from tests.methods.utility.pairs_of_tables import recoded
from tests.oracles import definitions as oracle
from tests.oracles import utility_metrics
from tests.random_tables import tables


@given(data=st.data(), table=tables(most_rows=14), k=st.integers(1, 3))
def test_classification(data, table, k):
    labels = data.draw(
        st.lists(st.sampled_from("xyz"), min_size=len(table.rows), max_size=len(table.rows))
    )
    node = tuple(data.draw(st.integers(0, d - 1)) for d in table.depths)
    pair, gone = recoded(table, node, k)
    kept = [i for i, lost in enumerate(gone) if not lost]
    original = sf.read(table.frame().with_columns(label=pl.Series(labels))).with_schema(
        sf.Schema({**table.schema().attributes, "label": sf.Attribute(("sensitive",))})
    )
    released = original.take(np.array(kept, dtype=np.int64)).with_columns(
        {name: pair.released.column(name) for name in table.names}
    )
    found = sf.Classification("label").measure(TablePair.of(original, released))
    classes = oracle.generalised(table.rows, table.paths, table.depths, node)
    assert found.raw == pytest.approx(utility_metrics.wrongly_classified(classes, labels, gone))
