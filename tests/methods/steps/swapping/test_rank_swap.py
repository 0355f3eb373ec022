"""Rank swapping: values kept, ranks within limits, variants without limits, and what narrows a
swap.
"""

from __future__ import annotations

import datetime
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.methods.steps.swapping.rank_partners import Ranking
from tests.methods.steps.exchange_tables import PLAIN, kept, plain, run
from tests.oracles import exchange as oracle

VARIANTS = ("interval", "p_distribution", "p_buckets")
numbers = st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=0, max_size=40)


def correlated(n=2000, seed=0):
    """Two columns with correlation about .8 and a group."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return plain(x=x, y=0.8 * x + 0.6 * rng.normal(size=n), g=rng.choice(["a", "b", "c"], n))


@given(numbers, st.floats(0, 1), st.sampled_from(VARIANTS), st.integers(0, 99))
def test_values_are_kept_and_missing_ones_stay(values, p, variant, seed):
    table = plain(
        x=pl.Series(values, dtype=pl.Int64), i=pl.Series(range(len(values)), dtype=pl.Int64)
    )
    plan, made = run(sf.RankSwap(["x"], p=p, variant=variant), table, seed)
    after = made.column("x").to_list()
    assert [v is None for v in after] == [v is None for v in values]
    assert sorted(v for v in after if v is not None) == sorted(v for v in values if v is not None)
    assert kept(plan, "frequencies").exactly
    assert made.column("x").dtype == pl.Int64


@given(numbers, st.floats(0, 1), st.integers(0, 99))
def test_no_rank_moves_farther_than_allowed(values, p, seed):
    table = plain(
        x=pl.Series(values, dtype=pl.Int64), i=pl.Series(range(len(values)), dtype=pl.Int64)
    )
    _, made = run(sf.RankSwap(["x"], p=p), table, seed)
    known = [v for v in values if v is not None]
    limit = math.floor(p * len(known) + 1e-9)
    moved = [
        oracle.rank_shift(known, a, b)
        for a, b in zip(values, made.column("x"), strict=True)
        if a is not None
    ]
    assert max(moved, default=0) <= limit


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=60), st.floats(0, 1), st.sampled_from(VARIANTS)
)
def test_exchanging_twice_restores(strata, p, variant):
    stream = Seed(3).stream("test")
    scores, groups = stream.random(len(strata)), np.array(strata)
    ranking = Ranking.of(scores, groups, np.arange(len(strata)), variant, stream)
    partner = ranking.partners(p)
    assert (partner[partner] == np.arange(len(strata))).all()
    assert (groups[ranking.order] == groups[ranking.order[partner]]).all()
    assert (np.diff(scores[ranking.order])[np.diff(groups[ranking.order]) == 0] >= 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_nearly_all_records_take_part(variant):
    n = 5000
    plan, _ = run(
        sf.RankSwap(["x"], p=0.02, variant=variant), plain(x=np.random.default_rng(1).random(n))
    )
    assert plan.owner["exchanged"]["x"] >= 0.97 * n


def test_the_known_interval_breaks_and_the_variants_do_not():
    # Nin, Herranz & Torra 2008: the true record always lies where all columns allow it; not so for
    # the variants
    rng = np.random.default_rng(5)
    n, m = 200, 20
    table = plain(**{f"v{j}": rng.normal(size=n) for j in range(4)})
    for variant in VARIANTS:
        made = run(sf.RankSwap(table.columns, p=m / n, variant=variant), table)[1]
        inside = np.ones((n, n), dtype=bool)
        for name in table.columns:
            order = np.sort(table.column(name).to_numpy())
            known = np.searchsorted(order, table.column(name).to_numpy())
            seen = np.searchsorted(order, made.column(name).to_numpy())
            inside &= np.abs(known[:, None] - seen[None, :]) <= m
        contained = np.diag(inside).mean()
        assert contained == 1 if variant == "interval" else contained < 0.8


def test_among_equal_values_chance_decides_who_exchanges():
    # 0 and 1 are exchanged at their border only; who of the equal ones stands there must not depend
    # on other columns
    n = 4000
    table = plain(a=range(n), x=[0] * (n // 2) + [1] * (n // 2))
    made = run(sf.RankSwap(["x"], p=0.05), table)[1]
    changed = np.flatnonzero(made.column("x").to_numpy()[: n // 2] != 0)
    assert 20 < len(changed) <= 0.05 * n
    # the mean of c numbers from 0 to n/2 has a standard error of (n/2) / √(12 c); 5 of them: 6e-7
    assert abs(changed.mean() - n / 4) <= 5 * (n / 2) / math.sqrt(12 * len(changed))


def test_strata_keep_their_values():
    table = correlated(300)
    for variant in VARIANTS:
        made = run(sf.RankSwap(["x"], p=0.3, variant=variant, within=["g"]), table)[1]
        for group in "abc":
            rows = (table.column("g") == group).to_numpy()
            assert sorted(made.column("x").filter(rows)) == sorted(table.column("x").filter(rows))
            assert (made.column("x").filter(rows) != table.column("x").filter(rows)).mean() > 0.8


def test_strata_too_small_are_told():
    table = plain(x=range(10), g=["a"] * 8 + ["b", "c"])
    plan, made = run(sf.RankSwap(["x"], p=0.25, within=["g"]), table)
    assert made.column("x").to_list()[8:] == [8, 9]
    assert "2 value(s) of 'x' stay" in plan.warnings[1]


def test_persons_exchange_values_that_belong_to_them():
    schema = Schema({"who": Attribute((Role.PERSON,)), "age": PLAIN, "cost": PLAIN})
    frame = pl.DataFrame(
        {
            "who": np.repeat(np.arange(50), 3),
            "age": np.repeat(np.arange(50), 3),
            "cost": np.arange(150),
        }
    )
    plan, made = run(sf.RankSwap(["age", "cost"], p=0.2), Table(frame, schema))
    assert made.to_polars().group_by("who").agg(pl.col("age").n_unique())["age"].max() == 1
    assert (made.column("age").to_numpy()[::3] != np.arange(50)).mean() > 0.8
    assert sorted(made.column("age")) == sorted(frame["age"])
    assert plan.preserved[0].what == "frequencies of all values, counted once a person"
    assert sorted(made.column("cost")) == list(range(150))


def test_dates_and_times_of_any_kind():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(40)]
    table = plain(
        day=days,
        at=[datetime.datetime(2024, 1, 1, i % 24, i) for i in range(40)],
        yes=[True, False] * 20,
    )
    made = run(sf.RankSwap(["day", "at", "yes"], p=0.3), table)[1]
    for name in table.columns:
        assert made.column(name).dtype == table.column(name).dtype
        assert sorted(made.column(name)) == sorted(table.column(name))


def test_weighted_mean_is_measured():
    schema = Schema({"x": PLAIN, "w": Attribute((Role.WEIGHT,))})
    table = Table(pl.DataFrame({"x": np.arange(100.0), "w": np.arange(100.0)}), schema)
    plan, made = run(sf.RankSwap(["x"], p=0.5), table)
    weights, old, new = (
        table.column("w").to_numpy(),
        table.column("x").to_numpy(),
        made.column("x").to_numpy(),
    )
    shift = abs(np.average(new, weights=weights) - np.average(old, weights=weights)) / old.std()
    assert kept(plan, "weighted mean").off_by == pytest.approx(shift)


def test_the_interval_is_warned_of_and_p_is_not_told():
    plan, _ = run(sf.RankSwap(["x"], p=0.125), correlated(100))
    assert "Nin, Herranz & Torra" in plan.warnings[0]
    assert "0.125" not in str(plan.describe()) and "12" not in str(plan.describe())
    assert sf.RankSwap.secret == ("p",)
    for variant in VARIANTS[1:]:
        assert run(sf.RankSwap(["x"], p=0.1, variant=variant), correlated(100))[0].warnings == ()


def test_nothing_to_swap():
    for values in ([None] * 4, [], [3], [5, 5, 5]):
        for variant in VARIANTS:
            table = plain(x=pl.Series(values, dtype=pl.Int64))
            plan, made = run(sf.RankSwap(["x"], p=1, variant=variant), table)
            assert made.column("x").to_list() == values
            assert any("all values of 'x' are equal" in told for told in plan.warnings) == (
                len(set(values) - {None}) == 1
            )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"p": 1.01}, "p should be less than or equal to 1"),
        ({"p": -0.1}, "p should be greater than or equal to 0"),
        ({"p": float("nan")}, "p should be"),
        ({"p": 0.1, "top": 0.5}, "top should be less than 0.5"),
        ({"p": 0.1, "variant": "window"}, "variant should be"),
        ({"p": 0.1, "extremes": "group"}, "bottom or top"),
        ({"p": 0.1, "keep_mean": 1}, "go together"),
        ({"p": 0.1, "subsets": ["g"]}, "go together"),
        ({"p": 0.1, "keep_correlation": 0.9}, "name two or more"),
        ({"p": 0.1, "within": ["x"]}, "cannot be in columns and in within"),
    ],
)
def test_wrong_parameters(arguments, told):
    with pytest.raises(ParameterError, match=told):
        sf.RankSwap(["x"], **arguments)


def test_what_ranks_kept_is_told_as_a_correlation_and_a_largest_move():
    table = plain(x=list(range(200)))
    plan, out = run(sf.RankSwap(["x"], p=0.1), table)
    old, new = np.array(table.column("x").to_list()), np.array(out.column("x").to_list())
    told = kept(plan, "ranks")
    spearman, furthest = float(np.corrcoef(old, new)[0, 1]), np.abs(old - new).max() / 200
    assert told.off_by == pytest.approx(1 - spearman)
    assert (
        f"Spearman correlation of old and new ranks {spearman:.2f}, largest move of one record"
        f" {percent(furthest)}" in str(told)
    )
