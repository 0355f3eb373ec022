"""The worst distance of a family: the one that links most, and how many any could link."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError
from sfumato.release.intruders import intruder_from
from tests.release.test_time_budget import STOPPED


def _program(seed=0, units=25):
    """A program of worst-case linkage that takes a search."""
    from sfumato.methods.attacks.linkage import learned_linkage, worst_case
    from sfumato.methods.attacks.linkage.aggregators import family_of
    from sfumato.methods.attacks.linkage.files import Looking, Pool, files_of, units_of

    draw = np.random.default_rng(seed)
    frame = pl.DataFrame({c: draw.normal(0, 1, units) for c in "abc"})
    noise = frame.with_columns(pl.all() + pl.Series(draw.normal(0, 0.8, units)))
    table = sf.read(frame).with_roles(quasi=["a", "b", "c"])
    pair = TablePair.of(table, sf.read(noise).with_schema(table.schema))
    place = Scene(
        pair, intruder_from(pair, ("a", "b", "c"), sample=10**6, seed=Seed(0)), seconds=100.0
    )
    files = files_of(place)
    family = family_of("weighted_mean", 3)
    pool = Pool(files.plain, units_of(files), family, Looking())
    pool.first_looks()
    equal = learned_linkage._equal(files.plain)
    cuts = worst_case._pair_cuts(family)
    return place, worst_case.program_of(pool, cuts), worst_case._point(pool, equal)


@pytest.mark.parametrize("solver", ["scipy", "highspy"])
def test_a_solver_stops_with_the_clock_or_with_its_nodes(monkeypatch, solver):
    from sfumato.methods.attacks.linkage import worst_case

    if solver == "highspy":
        pytest.importorskip("highspy")
    place, program, start = _program()
    monkeypatch.setattr("time.process_time", lambda: 0.0)
    place = dataclasses.replace(place, started=0.0)
    solution = worst_case.solve(solver, program, start, scene=place, nodes=10_000)
    assert solution.optimal and not solution.stopped
    monkeypatch.setattr("time.process_time", lambda: 1e12)
    with pytest.raises(ParameterError, match=STOPPED):
        worst_case.solve(solver, program, start, scene=place, nodes=10_000)


def test_nodes_of_a_search_follow_from_the_work():
    from sfumato.methods.attacks.linkage import worst_case

    _, program, _ = _program()
    entries = worst_case.NODE_COST * program.rows.nnz
    assert worst_case.affordable_nodes(program, 10**12, 7) == 7
    assert worst_case.affordable_nodes(program, entries * (worst_case.ROOT_NODES + 5), 10**9) == 5
    assert worst_case.affordable_nodes(program, entries, 10**9) < 1
    assert worst_case.search_cost(program, 5) == entries * (worst_case.ROOT_NODES + 5)
