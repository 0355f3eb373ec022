"""Which cells are sensitive, and how far they must stay unknown."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.results.tables.rules import rule_of


def cell(*contributions, **options):
    """The judged total of a table whose respondents contribute so much."""
    frame = pl.DataFrame({"where": ["here"] * len(contributions), "amount": list(contributions)})
    return sf.tabulate(frame, ["where"], "sum(amount)", options=sf.CountOptions(**options)).cells(
        5
    )[0]


def judged(rule, *contributions):
    cells = cell(*contributions)
    return bool(rule.unsafe(cells)[0]), float(rule.need(cells)[0])


# Worked numbers: Hundepool et al. 2012, Statistical Disclosure Control, chapter 4, computed by
# hand.


def test_a_cell_that_one_respondent_is():
    assert judged(sf.PPercent(10), 90, 6, 3, 1) == (True, pytest.approx(5))
    assert judged(sf.Dominance(1, 75), 90, 6, 3, 1) == (True, pytest.approx(20))
    assert judged(sf.PQ(10, 50), 90, 6, 3, 1) == (True, pytest.approx(14))


def test_two_large_ones_are_seen_by_p_percent_and_not_by_dominance():
    assert not judged(sf.Dominance(1, 75), 600, 350, 40, 10)[0]
    assert judged(sf.PPercent(10), 600, 350, 40, 10)[0]  # 50 of 600: 8.33 %
    assert not judged(sf.PPercent(8.3), 600, 350, 40, 10)[0]
    assert not judged(sf.Dominance(1, 75), 500, 480, 20)[0]
    assert judged(sf.PPercent(10), 500, 480, 20) == (True, pytest.approx(30))


def test_colluders_see_more():
    assert not judged(sf.PPercent(30), 50, 30, 10, 5, 5)[0]  # 20 of 50: 40 %
    assert judged(sf.PPercent(30, colluders=2), 50, 30, 10, 5, 5) == (
        True,
        pytest.approx(5),
    )  # 10 of 50: 20 %
    assert not judged(sf.PPercent(20, colluders=2), 50, 30, 10, 5, 5)[0]


def test_dominance_sees_what_p_percent_does_not():
    assert judged(sf.Dominance(2, 85), 60, 30, 5, 3, 2)[0]
    assert not judged(sf.PPercent(10), 60, 30, 5, 3, 2)[0]  # 10 of 60: 16.7 %


@pytest.mark.parametrize("rule", [sf.Dominance(), sf.PPercent(), sf.PQ()])
def test_respondents_who_contribute_nothing_are_told_by_the_sum(rule):
    unsafe, need = judged(rule, 0, 0, 0)
    assert unsafe
    assert need >= 0


def test_p_percent_is_pq_of_one_who_knows_nothing():
    for values in ((90, 6, 3, 1), (5, 4, 3, 2, 1), (7,), (3, 3)):
        assert judged(sf.PPercent(12), *values) == judged(sf.PQ(12, 100), *values)


def test_the_threshold_counts_persons_and_leaves_empty_cells():
    frame = pl.DataFrame(
        {"a": ["u", "u", "u", "v"], "b": ["p", "p", "q", "q"], "who": [1, 1, 2, 3]}
    )
    table = sf.tabulate(frame, ["a", "b"], "rows", unit="who")
    told = table.to_polars().with_columns(
        pl.Series("unsafe", sf.Threshold(2).unsafe(table.cells()[0]))
    )
    assert told.filter(pl.col("unsafe")).select("a", "b").rows() == [
        ("Total", "p"),
        ("u", "p"),
        ("u", "q"),
        ("v", "Total"),
        ("v", "q"),
    ]
    everything = sf.Threshold(2, zeros=True).unsafe(table.cells()[0])
    assert everything.sum() == told["unsafe"].sum() + 1  # (v, p) is empty


def test_negative_contributions_count_by_their_size_and_sum_as_they_are():
    cells = cell(-90, 6, 3, 1, negatives="absolute")
    assert (cells.value[0], cells.size[0], cells.top[0, 0]) == (-80, 100, 90)
    assert sf.PPercent(10).unsafe(cells)[0]


def test_missing_contributions_are_none_and_may_be_counted():
    assert (cell(5, None, 2).n[0], cell(5, None, 2, missing_counts=True).n[0]) == (2, 3)
    assert cell(5, None, 2, missing_counts=True).value[0] == 7


def test_weights_rank_and_sum_and_do_not_count():
    frame = pl.DataFrame({"where": ["here"] * 3, "amount": [1, 2, 3], "w": [10, 1, 1]})
    cells = sf.tabulate(
        frame, ["where"], "sum(amount)", options=sf.CountOptions(weight="w")
    ).cells()[0]
    assert (cells.n[0], cells.value[0], cells.top[0].tolist()) == (3, 15, [10, 3])


def test_equal_contributions():
    assert judged(sf.AllEqual(), 4, 4, 4)[0]
    assert not judged(sf.AllEqual(), 4, 4, 5)[0]
    assert not judged(sf.AllEqual(), 4)[0]  # one alone is the threshold's


def groups(rule, *rows):
    """Unsafe cells of a table of counts: rows r1, r2 … by columns u, v."""
    frame = pl.DataFrame(
        [
            {"r": f"r{i}", "c": "uv"[j]}
            for i, row in enumerate(rows, 1)
            for j, n in enumerate(row)
            for _ in range(n)
        ]
    )
    table = sf.tabulate(frame, ["r", "c"])
    return (
        table.to_polars().filter(pl.Series(rule.unsafe(table.cells()[0]))).select("r", "c").rows()
    )


def test_groups_that_are_all_in_one_category():
    assert groups(sf.GroupDisclosure("c", insider=False), (5, 0), (4, 1), (3, 3)) == [("r1", "u")]
    assert groups(sf.GroupDisclosure("c"), (5, 0), (4, 1), (3, 3)) == [("r1", "u"), ("r2", "u")]
    assert groups(sf.GroupDisclosure("c", insider=False, share=0.7), (5, 0), (4, 1), (3, 3)) == [
        ("r1", "u"),
        ("r2", "u"),
    ]


def test_what_helps_an_intruder_is_not_told():
    assert sf.PPercent(7, colluders=3).told() == {"rule": "p_percent"}
    assert sf.Dominance(1, 70).told() == {"rule": "dominance"}
    assert sf.PQ(5, 30).told() == {"rule": "pq"}
    assert sf.Threshold(4, percent=50).told() == {"rule": "threshold", "t": 4}


def test_rules_come_back_from_a_lock():
    assert rule_of({"rule": "dominance", "n": 1, "k": 70}) == sf.Dominance(1, 70)
    with pytest.raises(ParameterError, match="Did you mean 'threshold'"):
        rule_of({"rule": "treshold"})


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: sf.Threshold(0),
        lambda: sf.Dominance(2, 120),
        lambda: sf.PQ(10, 0),
        lambda: sf.PPercent(0),
    ],
)
def test_parameters_out_of_range(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_the_need_of_several_rules_is_the_largest():
    frame = pl.DataFrame({"where": ["here"] * 4, "amount": [90, 6, 3, 1]})
    judged_table = sf.tabulate(frame, ["where"], "sum(amount)").sensitive(
        sf.PPercent(10), sf.Dominance(1, 75)
    )
    assert judged_table.need().tolist() == [pytest.approx(20)]
    assert np.array_equal(judged_table.unsafe, [True])
