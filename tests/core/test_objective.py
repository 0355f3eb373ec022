"""Scores of a node against cell-by-cell definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.objective import OBJECTIVES, objective_named
from sfumato.core.step import Goal
from sfumato.errors import ParameterError
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables

NAMES = [o.name for o in OBJECTIVES if not o.labelled]


def judged(table, objective, k, node, weights=None):
    step = GlobalRecoding(budget=1.0, objective=objective, weights=weights or {})
    lattice = step.lattice(table.dataset(), Goal(models=(KAnonymity(k),)))
    return lattice.judge(lattice.base.roll_up(dict(zip(table.names, node, strict=True))))


@pytest.mark.parametrize("objective", NAMES)
@given(data=st.data(), table=tables(most_rows=20), k=st.integers(1, 4))
def test_score_of_any_node(objective, data, table, k):
    node = tuple(data.draw(st.integers(0, d - 1)) for d in table.depths)
    weights = {n: data.draw(st.sampled_from([0.5, 1.0, 2.0])) for n in table.names}
    gone = oracle.suppressed_rows(
        oracle.generalised(table.rows, table.paths, table.depths, node), k
    )
    given_weights = [weights[n] for n in table.names]
    scores = oracle.node_scores(
        table.rows, table.paths, table.leaves, table.depths, node, gone, given_weights
    )
    found = judged(table, objective, k, node, weights)
    assert found.score == pytest.approx(scores[objective], abs=1e-9)
    assert found.tally.suppressed == sum(gone)


@pytest.mark.slow
@given(table=tables())
def test_shares_of_loss_stay_between_nothing_and_all(table):
    for objective in ("loss", "loss_geometric", "precision", "entropy", "height"):
        exact = judged(table, objective, 1, (0,) * len(table.names)).score
        assert exact == pytest.approx(0, abs=1e-12)
        top = tuple(d - 1 for d in table.depths)
        assert -1e-12 <= judged(table, objective, 1, top).score <= 1 + 1e-12


@pytest.mark.slow
@given(data=st.data(), table=tables())
def test_bounded_scores_never_fall_when_a_column_climbs_and_nothing_is_suppressed(data, table):
    node = [data.draw(st.integers(0, d - 1)) for d in table.depths]
    higher = [
        data.draw(st.integers(level, d - 1)) for level, d in zip(node, table.depths, strict=True)
    ]
    for objective in (o.name for o in OBJECTIVES if o.bounded):
        assert (
            judged(table, objective, 1, node).score
            <= judged(table, objective, 1, higher).score + 1e-12
        )


def test_entropy_of_a_worked_table():
    # Ages of six patients (LeFevre et al. 2006): 25, 25, 26, 27, 27, 28. Suppressing all loses
    # 11.5098 bits; in the intervals 25-26 and 27-28 a value of two rows loses log2(3/2) and one of
    # one row log2 3: 5.5098 bits.
    paths = {
        "25": ("25", "25-26", "*"),
        "26": ("26", "25-26", "*"),
        "27": ("27", "27-28", "*"),
        "28": ("28", "27-28", "*"),
    }
    table = RandomTable([(v,) for v in ("25", "25", "26", "27", "27", "28")], [paths])
    assert judged(table, "entropy", 1, (1,)).score == pytest.approx(5.5098 / 11.5098, abs=1e-4)
    assert judged(table, "entropy", 1, (2,)).score == pytest.approx(1)


def test_loss_of_a_worked_table():
    # ZIP of the same patients, 53710 and 53711 joined, 53712 alone: (2-1)/(3-1) for four rows, 0
    # for two: mean 1/3.
    paths = {"0": ("0", "0-1", "*"), "1": ("1", "0-1", "*"), "2": ("2", "2", "*")}
    table = RandomTable([(v,) for v in "121021"], [paths])
    assert judged(table, "loss", 1, (1,)).score == pytest.approx(1 / 3)


def test_unknown_objectives():
    assert objective_named("loss").name == "loss"
    with pytest.raises(ParameterError, match="Did you mean 'discernibility'"):
        objective_named("discernability")
    with pytest.raises(ParameterError, match="objective 'los' is not known"):
        GlobalRecoding(objective="los")
