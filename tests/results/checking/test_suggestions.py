"""What to give instead, where an output is not one that can be judged: the model and not its
summary, the numbers and not the picture."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from tests.results.checking.test_check import people
from tests.results.checking.test_layout import (
    pd,
    visits,  # noqa: F401 - a fixture
)


def roc_of(p):
    order = np.argsort(-p["score"].to_numpy())
    ill = p["ill"].to_numpy()[order]
    return pl.DataFrame(
        {"fpr": np.cumsum(1 - ill) / (1 - ill).sum(), "tpr": np.cumsum(ill) / ill.sum()}
    )


def steps_of(p):
    days, ill = p["days"].to_numpy(), p["ill"].to_numpy()
    times = np.unique(days)
    events = [int(ill[days == one].sum()) for one in times]
    return pl.DataFrame(
        {"time": times, "events": events, "at_risk": [int((days >= one).sum()) for one in times]}
    )


MADE = {
    "roc": lambda p: (roc_of(p), {"column": "ill", "features": ["score"]}),
    "bars": lambda p: (
        np.histogram(p["cost"].to_numpy(), bins=30),
        {"kind": "histogram", "column": "cost"},
    ),
    "bars of scores": lambda p: (
        np.histogram(p["score"].to_numpy(), bins=25),
        {"kind": "histogram", "column": "score"},
    ),
    "bars of ages": lambda p: (
        np.histogram(p["age"].to_numpy(), bins=np.arange(20, 90)),
        {"kind": "histogram", "column": "age"},
    ),
    "dots": lambda p: (p.select("age", "cost"), {"kind": "scatter"}),
    "dots of two scores": lambda p: (p.select("score", "age"), {"kind": "scatter"}),
    "curve": lambda p: (steps_of(p), {"features": ["days", "ill"]}),
    "counts": lambda p: (p.group_by("town", "job").len("n"), {}),
    "means": lambda p: (
        p.group_by("town", "job").agg(pl.col("age").mean(), pl.len().alias("n")),
        {},
    ),
    "shares": lambda p: (p.group_by("town").agg((100 * pl.len() / p.height).alias("percent")), {}),
    "shares within": lambda p: (
        p.group_by("town", "job")
        .agg(pl.len().alias("percent"))
        .with_columns(pl.col("percent") / pl.col("percent").sum().over("town")),
        {},
    ),
}


AGAIN = {"roc": ("column", "features"), "bars": ("column",), "dots": (), "curve": ("features",)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("unit", [None, "who"])
def test_what_is_suggested_passes_its_own_check(name, seed, unit):
    p = people(seed)
    output, said = MADE[name](p)
    verdict = sf.check_output(output, p, unit=unit, **said)
    if verdict.suggestion is None:
        assert unit == "who" or not name.startswith(("roc", "bars", "dots", "shares"))
        return
    kept = {key: value for key, value in said.items() if key in AGAIN.get(name.split()[0], ())}
    again = sf.check_output(verdict.suggestion, p, unit=unit, **kept)
    assert verdict.status == "fail"
    assert again.passes, again


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        (3.5, "tells='mean(cost)'"),
        (None, "give what shall be released"),
        ("a text", "printed from"),
        ({"mean": 3.5}, "make it a table"),
        (SimpleNamespace(tables=[], as_latex=str, as_csv=str), "the fitted model itself"),
        (SimpleNamespace(params_=[1.0], summary="x"), "session.add"),
        (SimpleNamespace(savefig=str, axes=[]), "kind='histogram'"),
        (
            pd.DataFrame({"coef": [1.0, 2.0], "std err": [0.1, 0.2]}, index=["Intercept", "age"]),
            "the fitted model itself",
        ),
    ],
)
def test_what_cannot_be_judged_says_what_to_give(visits, output, advice):  # noqa: F811
    verdict = sf.check_output(output, visits)
    assert verdict.status == "review"
    assert advice in " ".join(verdict.next_steps)
