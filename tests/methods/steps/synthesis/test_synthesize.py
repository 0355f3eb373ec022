"""Records drawn anew: from the right leaves, with the right chances, whatever the frame; rules,
households, parts, bad input.
"""

from __future__ import annotations

import datetime
import itertools

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.pair import TablePair
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.attacks.synthetic import data_columns
from tests.methods.steps.masking_contract import in_all_frames, multiset, people, run


def table_of(columns: dict, **kinds: dict) -> Table:
    frame = pl.DataFrame(columns)
    attributes = {
        name: Attribute(
            (Role.KEEP,), Kind.NUMERIC if frame[name].dtype.is_numeric() else Kind.NOMINAL
        )
        for name in frame.columns
    }
    attributes |= {
        name: Attribute(**{"roles": (Role.KEEP,), **given}) for name, given in kinds.items()
    }
    return Table(frame, sf.Schema(attributes))


def workers(rows: int = 900, seed: int = 3) -> Table:
    """People with numbers, categories, an order, dates, missing values and special codes; rules
    hold among them.
    """
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 90, rows)
    child = age < 15
    job = np.where(child, "none", draw.choice(["none", "office", "field", "shop"], rows))
    school = np.array(["low", "middle", "high"])[
        np.clip((age > 18) + (draw.random(rows) < 0.4), 0, 2)
    ]
    income = np.round(np.where(job == "none", 0, 900 + 20 * age + draw.normal(0, 200, rows)), 2)
    income[draw.random(rows) < 0.05] = -9
    born = [
        datetime.date(2024, 1, 1) - datetime.timedelta(days=int(a * 365 + d))
        for a, d in zip(age, draw.integers(0, 365, rows), strict=True)
    ]
    frame = pl.DataFrame(
        {
            "age": age,
            "married": np.where(child, "single", draw.choice(["single", "yes", "widowed"], rows)),
            "job": job,
            "school": school,
            "income": income,
            "born": born,
            "region": draw.choice(["n", "s"], rows),
        }
    ).with_columns(
        pl.when(pl.int_range(rows) % 7 == 0).then(None).otherwise(pl.col("income")).alias("income")
    )
    kinds = {
        "age": Kind.NUMERIC,
        "married": Kind.NOMINAL,
        "job": Kind.NOMINAL,
        "school": Kind.ORDINAL,
        "income": Kind.NUMERIC,
        "born": Kind.DATE,
        "region": Kind.NOMINAL,
    }
    roles = {"age": Role.QUASI, "married": Role.QUASI, "region": Role.QUASI}
    order = {"school": ("low", "middle", "high")}
    return Table(
        frame,
        sf.Schema(
            {
                n: Attribute((roles.get(n, Role.KEEP),), kinds[n], order=order.get(n))
                for n in frame.columns
            }
        ),
    )


STEPS = {
    "trees": sf.Synthesize(min_leaf=5),
    "more records": sf.Synthesize(records=150, min_leaf=5, smoothing="kernel", holdout=0),
    "strata by themselves": sf.Synthesize(min_leaf=2, within=["region"]),
    "two columns": sf.Synthesize(columns=["income", "sex"], min_leaf=5, not_self=True),
    "records at risk": sf.Synthesize(risky_below=4, min_leaf=5, holdout=0.1),
    "copies": sf.Synthesize(copies=2, min_leaf=5, within=[]),
    "rules and predictors": sf.Synthesize(
        min_leaf=5,
        rules=["age < 15 => sex = f"],
        predictors={"income": ["age", "sex"]},
        special={"rent": [0]},
        members=["-age"],
    ),
}


# Leaves and draws from them.


# Numbers that are moved.


# Rules.


# Households.


def homes(count: int = 300, seed: int = 4) -> Table:
    """Households of one to five: one head each, a region and rooms in common, people younger than
    the head.
    """
    draw = np.random.default_rng(seed)
    rows = []
    for home in range(count):
        size, region, rooms = (
            int(draw.integers(1, 6)),
            draw.choice(["n", "s"]),
            int(draw.integers(1, 7)),
        )
        ages = sorted(draw.integers(20, 90, size).tolist(), reverse=True)
        for place, age in enumerate(ages):
            rows.append(
                (
                    f"h{home}",
                    region,
                    rooms,
                    "head" if place == 0 else draw.choice(["partner", "child"]),
                    age,
                    draw.choice(["f", "m"]),
                )
            )
    frame = pl.DataFrame(
        rows, schema=["home", "region", "rooms", "relation", "age", "sex"], orient="row"
    )
    attributes = {
        "home": Attribute((Role.HOUSEHOLD,)),
        "region": Attribute((Role.QUASI,)),
        "rooms": Attribute((Role.KEEP,), Kind.NUMERIC),
        "relation": Attribute((Role.KEEP,)),
        "age": Attribute((Role.QUASI,), Kind.NUMERIC),
        "sex": Attribute((Role.QUASI,)),
    }
    return Table(frame, sf.Schema(attributes))


# Parts of a table.


def test_only_named_columns_change_and_records_stay_whose_they_are():
    table = workers()
    plan, made = run(
        sf.Synthesize(columns=["income", "job"], rules=["age < 15 => job = none"]), table
    )
    assert made.origin.tolist() == list(range(len(table))) and plan.held_out is None
    before, after = table.to_polars(), made.to_polars()
    assert after.drop("income", "job").equals(before.drop("income", "job"))
    assert not after["income"].equals(before["income"])
    assert after.filter((pl.col("age") < 15) & (pl.col("job") != "none")).is_empty()


def test_only_records_at_risk_change():
    table = workers()
    sizes = (
        table.to_polars().select(pl.len().over("age", "married", "region")).to_series().to_numpy()
    )
    plan, made = run(sf.Synthesize(risky_below=3), table)
    changed = (
        (made.to_polars() != table.to_polars())
        .select(pl.any_horizontal("age", "married", "region"))
        .to_series()
    )
    assert not changed.filter(pl.Series(sizes >= 3)).any() and changed.sum() > 0
    assert plan.owner["replaced_records"] == int((sizes < 3).sum())
    nobody = run(
        sf.Synthesize(risky_below=2, columns=["income"]),
        Table(pl.concat([table.to_polars()] * 2), table.schema),
    )
    assert any("nothing is replaced" in warning for warning in nobody[0].warnings)


def test_nobody_gets_a_value_back_by_being_the_own_donor():
    # all values differ: who gets the own one back was the own donor
    table = table_of({"x": np.arange(300.0), "g": ["a", "b", "c"] * 100})
    own = run(sf.Synthesize(columns=["x"], smoothing="none", not_self=True, min_leaf=2), table)[
        1
    ].to_polars()
    assert not (own["x"] == table.to_polars()["x"]).any()
    usual = run(sf.Synthesize(columns=["x"], smoothing="none", min_leaf=2), table)[1].to_polars()
    assert (usual["x"] == table.to_polars()["x"]).any()


@pytest.mark.parametrize("below", [None, 2])
def test_what_a_household_shares_stays_shared(below):
    table = homes()
    made = run(sf.Synthesize(columns=["rooms", "age"], min_leaf=5, risky_below=below), table)[
        1
    ].to_polars()
    assert made.group_by("home").agg(pl.col("rooms").n_unique())["rooms"].eq(1).all()
    assert not made["rooms"].equals(table.to_polars()["rooms"])


# Frames, order, sizes, strata, copies.


@pytest.mark.parametrize("name", STEPS)
def test_the_release_depends_neither_on_the_frame_nor_on_the_order_of_rows(name):
    found = {
        kind: multiset(run(STEPS[name], table)[1])
        for kind, table in in_all_frames(people(80)).items()
    }
    for kind, rows in found.items():
        assert rows == found["polars"], kind


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_the_same_once_it_was_written_down(name):
    recipe = Recipe(people().schema, steps=(STEPS[name],), limits={"linkage": 1.0})
    assert recipes.parse(recipes.dump(recipe)) == recipe


def test_another_seed_or_place_draws_differently():
    table = workers(300)
    first = multiset(run(STEPS["trees"], table)[1])
    assert first == multiset(run(STEPS["trees"], table)[1])
    assert first != multiset(run(STEPS["trees"], table, seed=6)[1])
    assert first != multiset(run(STEPS["trees"], table, place=1)[1])


# Orders and predictors.


def test_the_order_is_as_given_or_as_rules_and_predictors_need_it():
    from sfumato.methods.steps.synthesis.material import materials_of
    from sfumato.methods.steps.synthesis.rules import parse_rules
    from sfumato.methods.steps.synthesis.sequential import chosen_order

    table = workers(300)
    materials = materials_of(table, table.columns, np.arange(300), {}, "auto")
    assert chosen_order(
        materials, ["region"], parse_rules(["job = none => income in [0, 9]"]), {"age": ["born"]}
    ) == (
        "region",
        "job",
        "born",
        "income",
        "age",
        "married",
        "school",
    )
    with pytest.raises(ParameterError, match="must name every"):
        run(sf.Synthesize(order=["age", "job"]), table)
    names = ["married", "job", "school", "income", "born", "region", "age"]
    with pytest.raises(ParameterError, match="must come before"):
        run(sf.Synthesize(order=names, rules=["age < 15 => job = none"]), table)


def test_what_may_not_predict_a_column_does_not():
    draw = np.random.default_rng(1)
    x = draw.choice(["a", "b"], 600)
    table = table_of({"x": x, "y": np.where(x == "a", "c", "d")})
    tied = run(sf.Synthesize(order=["x", "y"], holdout=0), table)[1].to_polars()
    free = run(sf.Synthesize(order=["x", "y"], predictors={"y": []}, holdout=0), table)[
        1
    ].to_polars()
    agree = [((f["x"] == "a") == (f["y"] == "c")).mean() for f in (tied, free)]
    assert agree[0] == 1.0 and abs(agree[1] - 0.5) < 0.15  # 7 standard errors


# Input that is normal, though nobody likes it.


def weighted(weights):
    people = table_of({"weight": weights, "x": [i % 7 for i in range(len(weights))]})
    return people.with_schema(people.schema.replace("weight", roles=(Role.WEIGHT,)))


@pytest.mark.parametrize(
    "step",
    [
        sf.Synthesize(),
        sf.Synthesize(holdout=0),
        sf.Synthesize(holdout=0.5, smoothing="kernel"),
        sf.Synthesize(records=17),
        sf.Synthesize(copies=3),
    ],
    ids=["a fifth aside", "nobody aside", "half aside", "few", "copies"],
)
@pytest.mark.parametrize(
    "weights", [[10.0, 20.0, 30.0] * 20, [7] * 60, [1, 2, 4] * 20], ids=["any", "constant", "whole"]
)
def test_drawn_weights_add_up_to_those_of_the_table(step, weights):
    """The oracle adds up, one by one, every weight of the table and of each copy; 60 weights of 20
    on average are 1,200.
    """
    plan, drawn = run(step, weighted(weights))
    total = sum(weights)
    frame = drawn.to_polars()
    copies = frame["copy"].to_list() if step.copies > 1 else [1] * frame.height
    for copy in set(copies):
        found = 0.0
        for of, weight in zip(copies, frame["weight"].to_list(), strict=True):
            found += weight if of == copy else 0.0
        assert found == pytest.approx(total, rel=1e-12)
    ratios = sorted(set(frame["weight"].to_list()))
    if step.smoothing != "kernel" and step.copies == 1:
        factor = ratios[0] / sorted(set(weights))[0]
        assert {round(one / factor, 9) for one in ratios} <= {
            round(float(one), 9) for one in weights
        }, "one factor for all"
    assert not any("rescale" in warning for warning in plan.warnings)
    assert [str(kept).split(":")[0] for kept in plan.preserved] == ["sum of weight"]


def test_weights_of_people_who_stay_add_up_to_those_of_the_table():
    plan, kept = run(sf.Synthesize(columns=["x"], holdout=0.25), weighted([10.0, 20.0, 30.0] * 20))
    assert len(kept) == 45 and sum(kept.to_polars()["weight"].to_list()) == pytest.approx(
        1200, rel=1e-12
    )
    assert plan.actions["weight"].startswith("kept; multiplied")


def test_weights_that_rules_are_about_stay_and_are_told():
    plan, drawn = run(
        sf.Synthesize(rules=["x = 3 => weight > 5"]), weighted([10.0, 20.0, 30.0] * 20)
    )
    assert any("rescale it before totals" in warning for warning in plan.warnings)
    assert set(drawn.to_polars()["weight"]) <= {10.0, 20.0, 30.0}


def test_a_copy_is_one_whatever_its_weight():
    people = weighted([10.0, 20.0, 30.0] * 20)
    _, drawn = run(sf.Synthesize(), people)
    assert data_columns(TablePair.of(people, drawn)) == ("x",)


def test_constant_columns_are_copied_and_columns_of_missing_values_too():
    columns = {
        "one": ["same"] * 60,
        "nothing": pl.Series([None] * 60, dtype=pl.String),
        "x": list(range(60)),
    }
    plan, made = run(sf.Synthesize(holdout=0), table_of(columns))
    drawn = made.to_polars()
    assert drawn["one"].eq("same").all() and drawn["nothing"].is_null().all()
    assert any("one, nothing hold one value only" in warning for warning in plan.warnings)
    with pytest.raises(SchemaError, match="constant"):
        run(sf.Synthesize(), table_of({"one": ["same"] * 60}))


def test_columns_in_which_everybody_differs_are_refused():
    with pytest.raises(SchemaError, match=r"its own value in name, .* role drop"):
        run(
            sf.Synthesize(holdout=0),
            table_of({"name": [f"p{i}" for i in range(60)], "x": list(range(60))}),
        )


@pytest.mark.parametrize("rows", [0, 1, 2, 19])
def test_small_tables_are_refused(rows):
    with pytest.raises(SchemaError, match="at least"):
        run(
            sf.Synthesize(holdout=0),
            table_of(
                {
                    "x": pl.Series(list(range(rows)), dtype=pl.Int64),
                    "y": pl.Series(["a"] * rows, dtype=pl.String),
                }
            ),
        )


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "forest"},
        {"min_leaf": 0},
        {"records": 0},
        {"holdout": 0.6},
        {"copies": 0},
        {"risky_below": 1},
        {"columns": []},
        {"columns": ["a", "a"]},
        {"marginals": "exact"},
        {"not_self": True},
        {"records": 5, "columns": ["a"]},
        {"records": 5, "risky_below": 2},
        {"method": "copula", "rules": ["a = 1 => b = 2"]},
        {"method": "copula", "columns": ["a"]},
        {"copies": 2, "columns": ["a"]},
        {"copies": 2, "risky_below": 3},
        {"smoothing": "much"},
        {"order": ["a", "a"]},
    ],
)
def test_wrong_parameters_are_refused(arguments):
    with pytest.raises(ParameterError):
        sf.Synthesize(**arguments)


def test_columns_that_are_not_there_or_not_drawn_are_named():
    with pytest.raises(SchemaError, match="height"):
        run(sf.Synthesize(rules=["height < 3 => age = 1"]), workers())
    with pytest.raises(SchemaError, match="wage"):
        run(sf.Synthesize(predictors={"age": ["wage"]}), workers())
    with pytest.raises(ParameterError, match="home"):
        run(sf.Synthesize(predictors={"age": ["home"]}), homes())
    with pytest.raises(ParameterError, match="columns of numbers"):
        run(sf.Synthesize(special={"job": [1]}), workers())
    with pytest.raises(SchemaError, match="quasi"):
        run(sf.Synthesize(risky_below=2), table_of({"x": list(range(50))}))


# On real data: the figures of the design, on the Adult table.


def test_adult_is_as_near_and_copies_as_little_as_it_should(reference_data):
    # Leaves of 5: 2-way/3-way error .0318/.0784 of py-synthpop + 7 %; leaves of 20: + 15 %; copied
    # excess R ≤ .10 at 20.
    frame = pl.read_csv(reference_data / "adult" / "adult.csv", separator=";")
    table = Table(frame).with_roles(keep=frame.columns)
    for min_leaf, most in ((5, 1.07), (20, 1.15)):
        step = sf.Synthesize(min_leaf=min_leaf, holdout=0)
        drawn = [
            run(step, table, seed=seed)[1].to_polars() for seed in range(3)
        ]  # one draw is off by 2 % (s.d.)
        assert np.mean([_apart(frame, each, 2) for each in drawn]) < 0.0318 * most
        assert np.mean([_apart(frame, each, 3) for each in drawn]) < 0.0784 * most
    plan, made = run(sf.Synthesize(holdout=0.5), table)
    hits = _hits(frame, made.to_polars(), plan.held_out)
    assert (hits[0] - hits[1]) / (1 - hits[1]) < 0.10


def _apart(real: pl.DataFrame, drawn: pl.DataFrame, ways: int) -> float:
    """The mean over all tables of so many columns of the sum of absolute differences of shares."""
    both = pl.concat([real, drawn])
    codes = {name: both[name].rank("dense").to_numpy().astype(np.int64) for name in real.columns}
    found = []
    for names in itertools.combinations(real.columns, ways):
        key = np.zeros(len(both), dtype=np.int64)
        for name in names:
            key = key * (codes[name].max() + 1) + codes[name]
        cells = int(key.max()) + 1
        counts = np.bincount(key[: len(real)], minlength=cells) - np.bincount(
            key[len(real) :], minlength=cells
        )
        found.append(np.abs(counts).sum() / len(real))
    return float(np.mean(found))


def _hits(real: pl.DataFrame, drawn: pl.DataFrame, aside: np.ndarray) -> tuple[float, float]:
    """The share of those who are unique in the whole table that are drawn: of people learnt from,
    and of people set aside.
    """
    numbered = real.with_row_index("row")
    alone = numbered.filter(pl.len().over(real.columns) == 1)
    hit = alone.join(drawn.unique(), on=real.columns, how="semi")
    there = pl.col("row").is_in(aside)
    return tuple(len(hit.filter(group)) / len(alone.filter(group)) for group in (~there, there))


# Who was set aside leaves no trace.


def people_with(values, **kinds):
    table = sf.read(pl.DataFrame(values))
    return table.with_roles(quasi=list(values)).with_kinds(**kinds)


def set_aside(table, step, seed=1):
    """The plan, and the original rows that were set aside."""
    release = sf.anonymize(
        table,
        meet=[],
        steps=[step],
        seed=seed,
        limits={"copied_records": 1.0, "recognised_members": 1.0},
    )
    return release, release.held_out.tolist()


@pytest.mark.parametrize(
    "step", [sf.Synthesize(smoothing="none"), sf.Synthesize(method="copula", marginals="exact")]
)
def test_numbers_of_people_set_aside_are_never_drawn(step):
    """Every number is one person's alone."""
    values = np.random.default_rng(4).permutation(np.arange(300) * 1.5).tolist()
    table = people_with({"x": values, "y": [v * v for v in values]}, x="numeric", y="numeric")
    release, aside = set_aside(table, step)
    assert len(aside) == 60
    drawn = set(release.released.to_polars()["x"].to_list())
    assert not drawn & {values[row] for row in aside}


def test_bounds_steps_and_smoothing_are_those_of_the_people_learnt_from():
    """An extreme, a finer decimal and a category that only people set aside have must not steer
    what is learnt.
    """
    from sfumato.methods.steps.synthesis.material import materials_of

    base = [float(v) for v in range(100)]
    plain = people_with({"x": [*base, 5.0]}, x="numeric")
    odd = people_with({"x": [*base, 1e6 + 0.125]}, x="numeric")
    learnt = np.arange(100)
    found = [
        materials_of(table, ["x"], np.arange(101), {}, "auto", learnt)["x"]
        for table in (plain, odd)
    ]
    assert [(m.bounds, m.step, m.smooth) for m in found] == [((0.0, 99.0), 1.0, True)] * 2
    assert [m.taken(learnt).present for m in found] == [100, 100]


def test_text_in_which_all_people_learnt_from_differ_is_refused_whoever_is_set_aside():
    values = {
        "x": [float(v % 7) for v in range(200)],
        "name": [f"Secretname{v}" for v in range(200)],
    }
    for name in (values["name"], [None, None, *values["name"][2:]]):
        table = people_with({**values, "name": name}, x="numeric")
        with pytest.raises(SchemaError, match="its own value in name") as told:
            sf.anonymize(table, meet=[], steps=[sf.Synthesize()], seed=1)
        assert "Secretname" not in str(told.value)


def test_whole_numbers_that_floats_mix_up_are_refused():
    table = people_with(
        {"x": [2**60 + v for v in range(200)], "y": [v % 5 for v in range(200)]},
        x="numeric",
        y="numeric",
    )
    with pytest.raises(SchemaError, match="beyond 2\\^53"):
        sf.anonymize(table, meet=[], steps=[sf.Synthesize()], seed=1)


def test_a_column_that_is_constant_but_for_people_set_aside_is_theirs_who_were_learnt_from():
    table = people_with({"x": [float(v) for v in range(100)], "c": ["a"] * 100}, x="numeric")
    _, aside = set_aside(table, sf.Synthesize(), seed=3)
    changed = ["a"] * 100
    changed[aside[0]] = "b"
    other = people_with({"x": [float(v) for v in range(100)], "c": changed}, x="numeric")
    release, still = set_aside(other, sf.Synthesize(), seed=3)
    drawn = set(release.released.to_polars()["c"].to_list())
    assert drawn == {"a"} or aside[0] not in still
