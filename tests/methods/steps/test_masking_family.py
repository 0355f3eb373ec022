"""What all steps that sample, code, round, shift and add noise have in common."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import SCHEMA, in_all_frames, multiset, people, run

STEPS = {
    "sample": sf.Sample(0.4, unit="row"),
    "sample of persons": sf.Sample(size=9),
    "stratified": sf.Sample(0.5, method="stratified", unit="row"),
    "systematic": sf.Sample(0.3, method="systematic", unit="row"),
    "top": sf.TopBottomCoding(["income", "rent"], top_quantile=0.9, replacement="mean"),
    "bottom": sf.TopBottomCoding(["age"], bottom=25, top=80, replacement="label"),
    "ordinal": sf.TopBottomCoding(["school"], top="middle"),
    "far out": sf.OutlierCoding(["income", "age", "rent"], share=0.2),
    "mapping": sf.Recode(["school"], mapping={"low": "low", "middle": "rest", "high": "rest"}),
    "breaks": sf.Recode(["age", "income"], breaks=[30, 60]),
    "round": sf.Round(["income"], 100),
    "random rounding": sf.Round(["income", "age"], 10, method="random"),
    "controlled rounding": sf.Round(["income", "rent"], 50, method="controlled"),
    "dates": sf.ShiftDates(["seen", "left"], 40),
    "dates by week": sf.ShiftDates(["seen", "left"], 70, keep_weekday=True, earliest="2023-01-01"),
    **{
        method: sf.AddNoise(["income", "age", "rent"], 0.3, method=method)
        for method in (
            "uncorrelated",
            "correlated",
            "kim",
            "sullivan",
            "multiplicative",
            "outliers",
        )
    },
    "sullivan on categories": sf.AddNoise(
        ["school", "sex", "income"], 0.3, method="sullivan", within=["region"]
    ),
    "all kept": sf.AddNoise(
        ["income", "age"],
        0.2,
        method="kim",
        keep_integers=True,
        keep_zeros=True,
        keep_sums=True,
        lower=0,
        upper=99999,
    ),
}
CHANGED = {name: tuple(getattr(step, "columns", ())) for name, step in STEPS.items()}
LARGE = people(400)


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_the_release_depends_neither_on_the_frame_nor_on_the_order_of_rows(name):
    found = {
        kind: multiset(run(STEPS[name], table)[1])
        for kind, table in in_all_frames(people()).items()
    }
    for kind, rows in found.items():
        assert rows == found["polars"], kind


@pytest.mark.parametrize("name", STEPS)
def test_missing_stays_missing_and_other_columns_stay(name):
    table = people(80)
    plan, made = run(STEPS[name], table)
    before = table.take(made.origin) if made.origin is not None else table
    for column in table.columns:
        old, new = before.column(column), made.column(column)
        if column in CHANGED[name]:
            assert old.is_null().to_list() == new.is_null().to_list()
        elif column != "weight":
            assert old.to_list() == new.to_list()
    assert set(plan.actions) <= set(made.columns)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_the_same_once_it_was_written_down(name):
    text = recipes.dump(Recipe(SCHEMA, (sf.KAnonymity(1),), (STEPS[name],)))
    assert recipes.parse(text).steps == (STEPS[name],)


@pytest.mark.parametrize("name", STEPS)
def test_a_release_is_made_told_and_checked(name):
    release = sf.anonymize(LARGE, [sf.KAnonymity(1)], [STEPS[name]], seed=7)
    told = {change.name: change.action for change in release.columns}
    assert all(told[column] != "released unchanged" for column in CHANGED[name])
    for kept in release.plans[0][1].preserved:
        assert 0 <= kept.off_by < 5, kept
        if kept.exactly:
            assert kept.off_by < 1e-9 or "next multiple" in kept.what
    assert all(verdict.holds for verdict in sf.check(release.released, release.recipe))


@pytest.mark.parametrize("name", STEPS)
def test_a_plan_tells_no_data_values(name):
    plan, _ = run(STEPS[name], people())
    numbers = {v for c in ("income", "rent") for v in people().column(c).drop_nulls().to_list()}

    def leaves(value):
        if isinstance(value, dict):
            return [leaf for part in value.values() for leaf in leaves(part)]
        return (
            [leaf for part in value for leaf in leaves(part)]
            if isinstance(value, list | tuple)
            else [value]
        )

    assert not numbers & {
        leaf for leaf in leaves([plan.describe(), plan.effort()]) if isinstance(leaf, float)
    }
    assert all("p0" not in str(leaf) for leaf in leaves([plan.describe(), plan.effort()]))


@pytest.mark.parametrize("name", STEPS)
def test_tables_without_rows_and_columns_that_are_not_there(name):
    step = STEPS[name]
    with pytest.raises(SchemaError, match="no rows"):
        step.plan(people().take(pl.Series([], dtype=pl.Int64).to_numpy()), Goal(seed=Seed(1)))
    if CHANGED[name]:
        with pytest.raises(SchemaError, match="has no column"):
            step.plan(people().drop([CHANGED[name][0]]), Goal(seed=Seed(1)))


@pytest.mark.parametrize(
    "name",
    ["sample", "random rounding", "dates", "correlated", "sullivan", "multiplicative", "outliers"],
)
def test_seeds_and_places_in_the_recipe_draw_differently(name):
    first = multiset(run(STEPS[name], LARGE, seed=1)[1])
    assert first == multiset(run(STEPS[name], LARGE, seed=1)[1])
    assert first != multiset(run(STEPS[name], LARGE, seed=2)[1])
    assert first != multiset(run(STEPS[name], LARGE, seed=1, place=1)[1])


def test_noise_twice_in_a_recipe_is_drawn_twice():
    table = Table(
        pl.DataFrame({"x": [float(i) for i in range(200)]}),
        sf.Schema({"x": sf.Attribute(("quasi",), "numeric")}),
    )
    step = sf.AddNoise(["x"], 1.0)
    release = sf.anonymize(
        table, [sf.KAnonymity(1)], [step, step], seed=3, options=sf.AnonymizeOptions(shuffle=False)
    )
    first = release.plans[0][1].columns["x"] - table.column("x")
    second = release.plans[1][1].columns["x"] - release.plans[0][1].columns["x"]
    assert (
        abs(float(pl.select(pl.corr(first, second)).item())) < 5 / 200**0.5
    )  # 5 sigma: fails once in 10⁶ by chance


@pytest.mark.parametrize(
    ("step", "arguments"),
    [
        ("sample", {"fraction": 0}),
        ("sample", {"fraction": 1.5}),
        ("sample", {"size": 0}),
        ("sample", {"fraction": 0.5, "size": 3}),
        ("sample", {"fraction": 0.5, "within": ["region"]}),
        ("sample", {"fraction": 0.5, "allocation": "equal"}),
        ("sample", {"fraction": "half"}),
        ("add_noise", {"columns": ["x"], "alpha": 0}),
        ("add_noise", {"columns": ["x"], "alpha": -1}),
        ("add_noise", {"columns": [], "alpha": 1}),
        ("add_noise", {"columns": ["x", "x"], "alpha": 1}),
        ("add_noise", {"columns": ["x"], "alpha": float("nan")}),
        ("add_noise", {"columns": ["x"], "alpha": 1, "quantile": 0.9}),
        ("add_noise", {"columns": ["x"], "alpha": 1, "method": "sullivan", "redraw": 0.9}),
        ("add_noise", {"columns": ["x"], "alpha": 1, "method": "outliers", "quantile": 1}),
        ("add_noise", {"columns": ["x"], "alpha": 1, "lower": 3, "upper": 3}),
        ("add_noise", {"columns": "x", "alpha": True}),
        ("round", {"columns": ["x"], "base": 0}),
        ("round", {"columns": ["x"], "base": float("inf")}),
        ("shift_dates", {"columns": ["x"], "days": 0}),
        ("shift_dates", {"columns": ["x"], "days": 6, "keep_weekday": True}),
        (
            "shift_dates",
            {"columns": ["x"], "days": 9, "earliest": "2024-01-02", "latest": "2024-01-01"},
        ),
        ("recode", {"columns": ["x"]}),
        ("recode", {"columns": ["x"], "breaks": [2, 1]}),
        ("recode", {"columns": ["x"], "breaks": []}),
        ("recode", {"columns": ["x"], "mapping": {}}),
        ("recode", {"columns": ["x"], "mapping": {"a": None}}),
        ("recode", {"columns": ["x"], "mapping": {"a": "b"}, "breaks": [1]}),
        ("recode", {"columns": ["x"], "breaks": [1], "unmapped": "keep"}),
        ("recode", {"columns": ["x"], "mapping": {"a": "b"}, "other": "rest"}),
        ("top_bottom_coding", {"columns": ["x"]}),
        ("top_bottom_coding", {"columns": ["x"], "top": 1, "top_quantile": 0.5}),
        ("top_bottom_coding", {"columns": ["x"], "top_quantile": 1.0}),
        ("top_bottom_coding", {"columns": ["x"], "top": 1, "top_label": "much"}),
        (
            "top_bottom_coding",
            {"columns": ["x"], "top": 1, "replacement": "label", "bottom_label": "little"},
        ),
    ],
)
def test_wrong_parameters_are_refused(step, arguments):
    with pytest.raises((ParameterError, sf.errors.RecipeError)):
        registry.build("steps", {step: arguments})


def test_k_anonymity_of_other_columns_is_reached_beside_noise():
    patients = sf.examples.hospital(rows=500)
    numbers = [
        n
        for n, a in patients.schema.attributes.items()
        if a.kind == "numeric" and "quasi" not in a.roles
    ]
    steps = [sf.AddNoise(numbers[:1], 0.5, method="kim"), sf.GlobalRecoding(budget=0.1)]
    release = sf.anonymize(patients, [sf.KAnonymity(5)], steps, seed=1)
    assert all(v.holds for v in release.verdicts)
    assert (
        release.data[numbers[0]].to_list()
        != patients.take(release.released.origin).column(numbers[0]).to_list()
    )
