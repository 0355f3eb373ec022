"""Numbers drawn by a Gaussian copula: the correlations it should have, marginals smoothed or kept,
and what it refuses.
"""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps.synthesis.copula import latent_correlations
from tests.methods.steps.masking_contract import in_all_frames, multiset, run


def table_of(rows: int = 2000, seed: int = 1, *, gaps: bool = True) -> Table:
    draw = np.random.default_rng(seed)
    one = draw.normal(size=rows)
    two = 0.8 * one + 0.6 * draw.normal(size=rows)
    frame = pl.DataFrame(
        {
            "income": np.round(np.exp(7 + one), 2),
            "rent": np.round(two * 100 + 500, 1),
            "children": np.clip(np.round(1.5 + two), 0, 5).astype(np.int64),
            "school": np.array(["low", "middle", "high"])[np.digitize(one, [-0.5, 0.8])],
            "born": [
                datetime.date(1980, 1, 1) + datetime.timedelta(days=int(900 * z)) for z in two
            ],
        }
    )
    if gaps:
        frame = frame.with_columns(
            pl.when(pl.int_range(rows) % 10 != 3).then(pl.col("rent")).alias("rent")
        )
    kinds = dict.fromkeys(["income", "rent", "children"], Attribute((Role.KEEP,), Kind.NUMERIC))
    school = Attribute((Role.KEEP,), Kind.ORDINAL, order=("low", "middle", "high"))
    return Table(
        frame, sf.Schema({**kinds, "school": school, "born": Attribute((Role.KEEP,), Kind.DATE)})
    )


def test_rank_correlations_become_those_of_normal_numbers():
    # 2 sin(π ρ/6): ρ = .5 → .517638. ρ = (.9, .9, .62) is not positive definite after that
    # (smallest eigenvalue −.00414); mended it is (.905042, .905042, .638203): the worked numbers of
    # the design.
    assert latent_correlations(np.array([[1, 0.5], [0.5, 1]]))[0, 1] == pytest.approx(
        0.517638, abs=5e-7
    )
    given = np.array([[1, 0.9, 0.9], [0.9, 1, 0.62], [0.9, 0.62, 1]])
    assert np.linalg.eigvalsh(2 * np.sin(np.pi / 6 * given)).min() == pytest.approx(
        -0.00414, abs=5e-6
    )
    mended = latent_correlations(given)
    assert mended[np.triu_indices(3, 1)] == pytest.approx([0.905042, 0.905042, 0.638203], abs=5e-7)
    assert np.linalg.eigvalsh(mended).min() > 0 and np.diag(mended).tolist() == [1, 1, 1]


def test_exact_marginals_are_those_of_the_table():
    table = table_of()
    plan, made = run(sf.Synthesize("copula", marginals="exact", holdout=0), table)
    for name in table.columns:
        assert made.column(name).sort().equals(table.column(name).sort()), name
    assert "every original value" in plan.describe()["synthesis"]["marginals"]
    shared = (made.to_polars() == table.to_polars()).select(pl.all_horizontal(pl.all())).to_series()
    assert shared.sum() < 5


def test_by_default_marginals_are_smoothed_and_near():
    from scipy import stats

    table = table_of()
    plan, made = run(sf.Synthesize("copula", holdout=0, records=4000), table)
    assert plan.describe()["synthesis"]["marginals"].startswith("smoothed")
    for name in ("income", "rent", "children"):
        real, drawn = (t.column(name).drop_nulls().to_numpy() for t in (table, made))
        # both samples from one distribution would lie that far apart with probability 10⁻⁶;
        # smoothing adds a little
        assert stats.ks_2samp(real, drawn).statistic < 0.075
        assert drawn.min() >= real.min() and drawn.max() <= real.max()
    assert (~made.column("income").is_in(table.column("income").to_list())).mean() > 0.9
    assert made.column("rent").null_count() == pytest.approx(400, abs=1)
    assert set(made.column("school").to_list()) == {"low", "middle", "high"}
    assert made.column("born").dtype == pl.Date


@pytest.mark.parametrize("marginals", ["smoothed", "exact"])
def test_rank_correlations_are_kept(marginals):
    table = table_of(gaps=False)
    made = run(sf.Synthesize("copula", marginals=marginals, records=4000, holdout=0), table)[1]
    for one, two in (("income", "rent"), ("income", "born"), ("rent", "children")):
        before, after = (
            t.to_polars()
            .select(
                pl.corr(
                    pl.col(one).rank(),
                    (
                        pl.col(two).cast(pl.Float64, strict=False).rank()
                        if two != "born"
                        else pl.col(two).rank()
                    ),
                )
            )
            .item()
            for t in (table, made)
        )
        assert after == pytest.approx(
            before, abs=0.07
        )  # 5 standard errors, and ties that the sine map does not know


def test_neither_frame_nor_order_matters():
    step = sf.Synthesize("copula", holdout=0.1)
    found = {
        kind: multiset(run(step, table)[1]) for kind, table in in_all_frames(table_of(200)).items()
    }
    for kind, rows in found.items():
        assert rows == found["polars"], kind


def test_other_numbers_of_records_interpolate_between_values():
    table = table_of(300, gaps=False)
    made = run(sf.Synthesize("copula", marginals="exact", records=1000, holdout=0), table)[1]
    drawn, real = made.column("income"), table.column("income")
    assert len(made) == 1000 and drawn.min() >= real.min() and drawn.max() <= real.max()
    assert abs(drawn.median() / real.median() - 1) < 0.02
    assert made.column("children").is_in(table.column("children").to_list()).all()


def test_columns_without_an_order_and_households_are_refused():
    words = Table(pl.DataFrame({"x": ["a", "b"] * 50, "y": range(100)})).with_roles(keep=["x", "y"])
    with pytest.raises(SchemaError, match="have no order; use method: trees"):
        run(sf.Synthesize("copula"), words)
    homes = pl.DataFrame(
        {"home": [i // 2 for i in range(100)], "y": range(100), "z": [i * i for i in range(100)]}
    )
    grouped = Table(homes).with_roles(keep=["y", "z"], person=["home"])
    with pytest.raises(SchemaError, match="use method: trees for households"):
        run(sf.Synthesize("copula"), grouped)
