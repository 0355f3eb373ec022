"""Noise: the moments each method keeps, and what may be kept besides.

Tolerances are five standard errors of the quantity unless said otherwise: each such test fails by
chance about once in a million seeds, and the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.encoding import numbers_of
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal, learnt_by
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps.masking.settling import Settling
from sfumato.methods.steps.masking.weighted_moments import covariance_of
from tests.methods.steps.masking_contract import people, run

ROWS = 20_000
RHO = 0.6


def normal_table(rows=ROWS, seed=11):
    """Two normal columns with correlation 0.6, as in the verified figures."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 2)) @ np.array([[1.0, RHO], [0.0, (1 - RHO**2) ** 0.5]])
    return Table(pl.DataFrame({"a": 10 + 2 * x[:, 0], "b": 50 + 7 * x[:, 1]}))


def arrays(table, made, columns=("a", "b")):
    return [np.stack([t.column(c).to_numpy() for c in columns], axis=1) for t in (table, made)]


def noisy(table, method, alpha=0.5, **options):
    plan, made = run(
        sf.AddNoise(list(options.pop("columns", ("a", "b"))), alpha, method=method, **options),
        table,
    )
    return plan, made


@pytest.mark.parametrize(
    ("method", "variance", "covariance", "correlation"),
    [
        # Brand 2002; simulated before with n = 20,000 and α = 0.5: covariance ratios 1.504–1.511
        # for correlated noise with the correlation unchanged, 1.002–1.007 for Kim's, and a
        # correlation ratio of 0.675 for uncorrelated noise (theory 2/3).
        ("uncorrelated", 1.5, 1.0, 2 / 3),
        ("correlated", 1.5, 1.5, 1.0),
        ("kim", 1.0, 1.0, 1.0),
        ("sullivan", 1.0, 1.0, 1.0),
    ],
)
def test_moments_are_what_theory_says(method, variance, covariance, correlation):
    table = normal_table()
    x, y = arrays(table, noisy(table, method)[1])
    before, after = np.cov(x.T), np.cov(y.T)
    # variance: 2·cov(x, e) has standard error 2√(α/n), var(e) has α√(2/n); together 0.0112
    assert np.diag(after) / np.diag(before) == pytest.approx([variance] * 2, abs=0.056)
    # covariance: √(2α(1 + ρ²)/n) and α√((1 + ρ²)/n), by ρ: 0.0153
    assert after[0, 1] / before[0, 1] == pytest.approx(covariance, abs=0.077)
    assert np.corrcoef(y.T)[0, 1] / np.corrcoef(x.T)[0, 1] == pytest.approx(correlation, abs=0.05)
    assert np.abs(y.mean(axis=0) - x.mean(axis=0)).max() / x.std() < 5 * (0.5 / ROWS) ** 0.5


@given(alpha=st.floats(0.05, 3))
def test_multiplicative_noise_keeps_signs_and_zeros(alpha):
    values = [-5.0, 0.0, 3.0, 1e6, 0.0, -1e-3]
    _, made = noisy(Table(pl.DataFrame({"a": values})), "multiplicative", alpha, columns=["a"])
    assert np.sign(made.column("a").to_list()).tolist() == np.sign(values).tolist()


def test_the_factor_of_multiplicative_noise_has_mean_1_and_variance_alpha():
    table = Table(pl.DataFrame({"a": np.full(ROWS, 3.0) + np.arange(ROWS) * 1e-9}))
    _, made = noisy(table, "multiplicative", 0.2, columns=["a"])
    factors = made.column("a").to_numpy() / table.column("a").to_numpy()
    assert factors.mean() == pytest.approx(1, abs=5 * (0.2 / ROWS) ** 0.5)
    # fourth moments of the log-normal with α = 0.2: the variance of a squared deviation is below
    # 0.25
    assert factors.var() == pytest.approx(0.2, abs=5 * (0.25 / ROWS) ** 0.5)


def test_only_outliers_get_noise_and_they_are_the_ones_far_out():
    table = normal_table(2000)
    frame = table.to_polars().with_columns(
        pl.when(pl.int_range(2000) < 40).then(pl.col("a") + 1000).otherwise("a").alias("a")
    )
    x, y = arrays(Table(frame), noisy(Table(frame), "outliers", quantile=0.97)[1])
    moved = (x != y).any(axis=1)
    assert moved.sum() == 60 and moved[:40].all()


def test_a_column_with_one_value_a_person_gets_one_draw_a_person():
    table = people(200, gaps=False)
    for method in ("uncorrelated", "correlated", "kim", "multiplicative", "sullivan"):
        _, made = run(sf.AddNoise(["income", "age"], 0.5, method=method), table)
        ages = (
            made.to_polars()
            .group_by("person")
            .agg(pl.col("age").max() - pl.col("age").min(), pl.col("income").n_unique())
        )
        assert ages["age"].max() < 1e-9, method
        assert ages["income"].max() == 2


@given(
    values=st.lists(st.integers(-20, 50), min_size=3, max_size=30).filter(
        lambda v: len(set(v)) > 1
    ),
    options=st.fixed_dictionaries(
        {"keep_integers": st.booleans(), "keep_zeros": st.booleans(), "keep_sums": st.booleans()},
    ),
    bounded=st.booleans(),
    method=st.sampled_from(["uncorrelated", "kim", "multiplicative", "sullivan", "outliers"]),
)
def test_what_must_be_kept_is_kept(values, options, bounded, method):
    bounds = {"lower": -20, "upper": 50} if bounded else {}
    _, made = noisy(
        Table(pl.DataFrame({"a": values})), method, 1.0, columns=["a"], **options, **bounds
    )
    new = made.column("a")
    if options["keep_integers"]:
        assert new.dtype == pl.Int64
    if options["keep_zeros"]:
        assert all(n == 0 for o, n in zip(values, new, strict=True) if o == 0)
    if bounded:
        assert new.min() >= -20 - 1e-9 and new.max() <= 50 + 1e-9
    free = sum(v != 0 for v in values) if options["keep_zeros"] else len(values)
    if options["keep_sums"] and free > 1:
        assert float(new.sum()) == pytest.approx(
            sum(values), abs=1e-6 * (1 + sum(map(abs, values)))
        )


def test_a_sum_never_gives_a_single_value_away():
    table = Table(pl.DataFrame({"a": [0.0, 0.0, 0.0, 900.0, 0.0]}))
    plan, made = noisy(table, "uncorrelated", columns=["a"], keep_zeros=True, keep_sums=True)
    assert made.column("a")[3] != 900.0
    assert not next(kept for kept in plan.preserved if kept.what == "sums").exactly


def test_sums_of_weighted_columns_are_weighted():
    table = people(200, gaps=False)
    _, made = run(sf.AddNoise(["income"], 0.5, keep_sums=True), table)
    for t in (table, made):
        frame = t.to_polars()
        sums = frame.group_by("region", maintain_order=True).agg(
            (pl.col("income") * pl.col("weight")).sum()
        )
        if t is table:
            before = sums["income"].to_list()
    assert sums["income"].to_list() == pytest.approx(before, rel=1e-12)


def test_bounds_that_make_a_sum_impossible_give_the_nearest():
    settled = Settling(sums=True, upper=1.0).settled(
        np.array([5.0, 6.0]), np.array([5.0, 6.0]), np.ones(2), whole=False
    )
    assert settled.tolist() == pytest.approx([1.0, 1.0])


def test_constant_columns_stay_and_are_told():
    table = Table(pl.DataFrame({"a": [7.0] * 50, "b": [float(i) for i in range(50)]}))
    for method in ("uncorrelated", "correlated", "kim", "sullivan", "outliers"):
        plan, made = noisy(table, method)
        assert made.column("a").to_list() == [7.0] * 50, method
        assert any("'a' does not vary" in words for words in plan.warnings)
        assert made.column("b").to_list() != table.column("b").to_list()


def test_a_column_that_is_constant_in_a_stratum_is_told():
    frame = pl.DataFrame(
        {"s": ["x"] * 10 + ["y"] * 10, "a": [1.0] * 10 + [float(i) for i in range(10)]}
    )
    plan, made = noisy(Table(frame), "correlated", columns=["a"], within=["s"])
    assert made.column("a").to_list()[:10] == [1.0] * 10
    assert any("is constant in" in words for words in plan.warnings)


def test_bad_columns():
    with pytest.raises(SchemaError, match="one row"):
        noisy(Table(pl.DataFrame({"a": [1.0], "b": [2.0]})), "kim")
    with pytest.raises(SchemaError, match="must hold numbers"):
        noisy(Table(pl.DataFrame({"a": ["x", "y"], "b": [1, 2]})), "kim")
    frame = pl.DataFrame({"a": [1.0, 2], "b": [1.0, 2], "w": [0, 0]})
    with pytest.raises(SchemaError, match="sum to 0"):
        noisy(Table(frame).with_roles(weight="w", keep=["a", "b"]), "kim")
    schema = Schema(
        {"a": Attribute((Role.KEEP,), Kind.ORDINAL, order=("x",)), "b": Attribute((Role.KEEP,))}
    )
    with pytest.raises(SchemaError, match="its order does not list"):
        noisy(Table(pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}), schema), "sullivan")


@pytest.mark.parametrize(
    "method", ["uncorrelated", "correlated", "kim", "sullivan", "multiplicative", "outliers"]
)
def test_columns_without_any_value_stay_so(method):
    frame = pl.DataFrame(
        {"a": [None, None, None, None], "b": [1, 2, 3, None]},
        schema={"a": pl.Float64, "b": pl.Int64},
    )
    _, made = noisy(Table(frame), method)
    assert made.column("a").null_count() == 4 and made.column("b").null_count() == 1


def test_numbers_that_cannot_be_computed_with():
    for size in (1e200, 1e-200):
        with pytest.raises(SchemaError, match="column 'a' holds numbers too large or too small"):
            noisy(Table(pl.DataFrame({"a": [1 * size, 2 * size, 4 * size]})), "kim", columns=["a"])
    large = Table(pl.DataFrame({"a": [-(2**62), 0, 2**62]}))
    made = noisy(large, "correlated", 100.0, columns=["a"], keep_integers=True)[1].column("a")
    assert (
        made.dtype == pl.Float64 and made.abs().max() > 2**63
    )  # no whole number of 64 bits holds it


def test_known_weaknesses_are_warned_of():
    rng = np.random.default_rng(1)
    a = rng.normal(size=300)
    close = Table(pl.DataFrame({"a": a, "b": a + 0.05 * rng.normal(size=300)}))
    assert any("filtered out" in words for words in noisy(close, "uncorrelated")[0].warnings)
    assert not any("filtered out" in words for words in noisy(close, "correlated")[0].warnings)
    assert any("hides little" in words for words in noisy(close, "kim", 0.001)[0].warnings)
    zeros = Table(pl.DataFrame({"a": [0.0, 1, 2], "b": [1.0, 2, 3]}))
    assert any(
        "leaves every 0 unchanged" in words for words in noisy(zeros, "multiplicative")[0].warnings
    )
    assert any("accumulate" in words for words in noisy(close, "correlated", lower=0)[0].warnings)
    assert "likelihood" in noisy(close, "correlated")[0].describe()["known_attack"]


THOUSANDTHS = st.integers(-(10**9), 10**9).map(lambda x: x / 1000)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), THOUSANDTHS), THOUSANDTHS, st.integers(0, 5), st.sampled_from("ab")
        ),
        min_size=4,
        max_size=40,
    ),
    st.integers(1, 10),
)
def test_covariances_of_pieces_are_those_of_the_table(rows, piece):
    """Exact sums over pieces give what plain sums over the strata give, but for rounding."""
    names = ["x", "y"]
    frame = pl.DataFrame(
        rows, schema={"x": pl.Float64, "y": pl.Float64, "w": pl.Int64, "s": pl.String}, orient="row"
    )
    table = Table(frame.with_columns(pl.col("w") + 1)).with_roles(weight="w", keep=["x", "y", "s"])
    pieces = [
        table.take(np.arange(a, min(a + piece, len(table)))) for a in range(0, len(table), piece)
    ]
    step, goal, facts = sf.AddNoise(names, 0.1, within=["s"]), Goal(seed=Seed(1)), None
    while (learner := step.learner(goal, facts)) is not None:
        facts = learnt_by(learner, pieces)
    groups = facts.of_rows(table, ["s"])
    values = np.stack([numbers_of(table, name) for name in names], axis=1)
    for group in np.unique(groups):
        rows_of = groups == group
        plain = covariance_of(values[rows_of], numbers_of(table, "w")[rows_of])
        scale = 1 + np.sqrt(np.outer(np.diag(plain), np.diag(plain)))
        assert np.abs((facts.covariance[group] - plain) / scale).max() < 1e-6
