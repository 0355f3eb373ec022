"""Small pairs of tables to measure."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.pair import TablePair
from tests.oracles import definitions as oracle


def recoded(table, node, k):
    """A random table recoded to a node, the rows of classes below k suppressed: the pair, and which
    rows are gone.
    """
    original = table.dataset()
    labels = oracle.generalised(table.rows, table.paths, table.depths, node)
    gone = oracle.suppressed_rows(labels, k)
    kept = np.flatnonzero(~np.array(gone, dtype=bool))
    columns = {
        name: pl.Series(name, [labels[i][a] for i in kept], dtype=pl.String)
        for a, name in enumerate(table.names)
    }
    return TablePair.of(original, original.take(kept).with_columns(columns)), gone


def of_numbers(before, after, **roles):
    """Two tables of columns of numbers."""
    given = roles or {"keep": list(before)}
    frame = sf.read(pl.DataFrame(before)).with_roles(**given)
    return TablePair.of(frame, frame.with_columns({n: pl.Series(n, v) for n, v in after.items()}))


def nothing(dataset):
    """A table of which nothing was released."""
    return TablePair.of(dataset, dataset.take(np.zeros(0, dtype=np.int64)))


def itself(dataset):
    """A table released unchanged."""
    return TablePair.of(dataset, dataset)


def patients(release):
    """LeFevre's patients with the ZIP as a number, as the worked numbers take it."""
    tables = (sf.examples.patients(), sf.examples.patients(release=release))
    return TablePair.of(
        *(t.with_kinds(zip="numeric").with_hierarchies(age=None, zip=None) for t in tables)
    )
