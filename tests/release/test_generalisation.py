"""Is one table a generalisation of another? Compared with trying every distance vector and matching
rows one by one.
"""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.release.generalisation import judge_generalisation
from tests.methods.steps.recoding.test_optimal import COLUMNS, MINIMAL_NODES, faggioli
from tests.oracles import definitions as oracle
from tests.random_tables import tables


def can_match(joined):
    """Kuhn's augmenting paths: whether every row has a partner of its own."""
    partner = {}

    def augment(row, seen):
        for other in joined[row]:
            if other not in seen:
                seen.add(other)
                if other not in partner or augment(partner[other], seen):
                    partner[other] = row
                    return True
        return False

    return all(augment(row, set()) for row in range(len(joined)))


def is_suppressed(row, depths):
    tall = [cell for cell, depth in zip(row, depths, strict=True) if depth > 1]
    return bool(tall) and all(cell == oracle.TOP for cell in tall)


def naive_full_domain(table, rows):
    """The least sum of a distance vector under which the rows generalise the table; None without
    one.
    """
    gone = [is_suppressed(row, table.depths) for row in rows]
    if all(gone):
        gone = [False] * len(rows)
    if len(rows) > len(table.rows):
        return None
    sums = []
    for node in product(*map(range, table.depths)):
        coarse = oracle.generalised(table.rows, table.paths, table.depths, node)
        joined = []
        for row, suppressed in zip(rows, gone, strict=True):
            fits = []
            for i, (own, original) in enumerate(zip(coarse, table.rows, strict=True)):
                same_rest = all(
                    a == b for a, b, d in zip(row, original, table.depths, strict=True) if d == 1
                )
                if own == row or (suppressed and same_rest):
                    fits.append(i)
            joined.append(fits)
        if can_match(joined):
            sums.append(sum(node))
    return min(sums, default=None)


def naive_by_cells(table, rows):
    labels = []
    for original in table.rows:
        cells = []
        for value, path, depth in zip(original, table.paths, table.depths, strict=True):
            levels = range(depth)
            cells.append({oracle.released_label(value, path, lv, depth) for lv in levels})
        labels.append(cells)
    joined = []
    for row in rows:
        fits = [
            i
            for i, cells in enumerate(labels)
            if all(cell in known for cell, known in zip(row, cells, strict=True))
        ]
        joined.append(fits)
    return len(rows) <= len(table.rows) and can_match(joined)


@given(st.data(), tables(most_rows=6, most_columns=3))
def test_forms_are_those_of_matching_every_row(data, table):
    levels = [st.integers(0, depth - 1) for depth in table.depths]
    node = data.draw(st.tuples(*levels))
    local = data.draw(st.booleans())
    rows = []
    for original in table.rows:
        own = data.draw(st.tuples(*levels)) if local and data.draw(st.booleans()) else node
        rows += oracle.generalised([original], table.paths, table.depths, own)
    rows = data.draw(st.permutations(rows))[: data.draw(st.integers(1, len(rows)))]
    # Sometimes a row is repeated, so that it may have no partner of its own.
    if data.draw(st.booleans()):
        rows = [*rows, rows[0]]
    released = sf.Table(table.frame(rows))
    answer = judge_generalisation(released, table.dataset())
    least = naive_full_domain(table, rows)
    if least is not None:
        assert answer.form == "full-domain"
        assert answer.absolute_distance == least
    elif naive_by_cells(table, rows):
        assert answer.form == "cell by cell"
    else:
        assert answer.form is None
        assert not answer.unknown


@given(st.data(), tables(most_rows=8, most_columns=2), st.integers(1, 3), st.integers(0, 4))
def test_minimality_is_that_of_the_definition(data, table, k, most):
    """Oracle: the three conditions, over all nodes of the lattice."""
    node = data.draw(st.tuples(*[st.integers(0, depth - 1) for depth in table.depths]))
    coarse = oracle.generalised(table.rows, table.paths, table.depths, node)
    gone = oracle.suppressed_rows(coarse, k)
    rows = [row for row, bad in zip(coarse, gone, strict=True) if not bad]
    if not rows:
        return
    answer = judge_generalisation(
        sf.Table(table.frame(rows)), table.dataset(), k=k, most_suppressed=most
    )
    assert answer.form == "full-domain"
    attained = tuple(answer.levels.get(name, 0) for name in table.names)
    if attained != node or answer.suppressed != sum(gone):
        return  # labels on several levels, or rows at the top in every column
    feasible = []
    for other in product(*map(range, table.depths)):
        counts = oracle.suppressed_rows(
            oracle.generalised(table.rows, table.paths, table.depths, other), k
        )
        if sum(counts) <= most:
            feasible.append(other)
    below = [o for o in feasible if o != node and all(a <= b for a, b in zip(o, node, strict=True))]
    assert answer.minimal == (node in feasible and not below)


@pytest.mark.parametrize(("k", "most"), list(MINIMAL_NODES))
def test_the_minimal_nodes_of_the_literature(k, most):
    """The nine rows of Faggioli's slides; every node of the lattice is judged."""
    original = faggioli()
    for node, suppressed in MINIMAL_NODES[k, most].items():
        levels = dict(zip(COLUMNS, node, strict=True))
        bounds = {name: (level, level) for name, level in levels.items()}
        release = sf.anonymize(
            original, sf.KAnonymity(k), sf.GlobalRecoding(levels=bounds, budget=0.99)
        )
        answer = judge_generalisation(release.released, original, k=k, most_suppressed=most)
        assert answer.levels == levels
        assert answer.suppressed == suppressed
        assert answer.minimal


def test_what_is_no_generalisation_says_why():
    people = examples.hospital(rows=50).with_hierarchies(age=sf.intervals(20))
    frame = people.to_polars()
    other = frame.with_columns(age=pl.lit(1))
    assert "no generalisation" in judge_generalisation(sf.Table(other), people).sentence
    twice = pl.concat([frame, frame])
    assert "has 100 records" in judge_generalisation(sf.Table(twice), people).sentence
    more = frame.with_columns(new=pl.lit(1))
    assert "new is not in the original" in judge_generalisation(sf.Table(more), people).sentence
