"""Sampling: who is drawn, with what chance, and what weights say afterwards."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.randomness import Marks, Seed
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.masking.sampling import allocate_units
from tests.methods.steps.masking_contract import people, run
from tests.oracles import masking as oracle


def numbered(rows=40, strata=("a", "b", "b", "c")):
    frame = pl.DataFrame(
        {"number": np.arange(rows), "stratum": [strata[i % len(strata)] for i in range(rows)]}
    )
    return Table(
        frame,
        Schema(
            {
                "number": Attribute((Role.QUASI,), Kind.NUMERIC),
                "stratum": Attribute((Role.STRATUM,)),
            }
        ),
    )


@pytest.mark.parametrize(
    "step",
    [
        sf.Sample(size=10),
        sf.Sample(size=10, method="systematic"),
        sf.Sample(size=10, method="stratified"),
        sf.Sample(size=9, method="stratified", allocation="equal"),
    ],
    ids=lambda step: f"{step.method} {step.allocation}",
)
def test_every_row_is_drawn_with_the_chance_its_weight_tells(step):
    table, draws = numbered(), 200
    counts, chances = np.zeros(40), np.zeros(40)
    for seed in range(draws):
        plan = step.plan(table, Goal(seed=Seed(seed)))
        counts[plan.rows] += 1
        named = sf.Sample(**{**step.__dict__, "weight": "w"})
        if seed == 0:
            for other in range(20):
                again = named.plan(table, Goal(seed=Seed(other)))
                chances[again.rows] = 1 / again.columns["w"].to_numpy()[again.rows]
        assert len(plan.rows) == step.size
    assert (chances > 0).sum() > 35
    seen = chances > 0
    # binomial: five standard errors for each of 40 rows, so a chance below 3·10⁻⁵ that one of them
    # is off
    assert (np.abs(counts / draws - chances) < 5 * np.sqrt(chances * (1 - chances) / draws) + 1e-9)[
        seen
    ].all()


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), data=st.data(), equal=st.booleans()
)
def test_allocation_is_one_of_those_possible_and_near_its_share(sizes, data, equal):
    total = data.draw(st.integers(len(sizes), sum(sizes)))
    found = allocate_units(total, np.array(sizes), equal=equal).tolist()
    possible = oracle.allocations(total, sizes)
    assert tuple(found) in possible
    # nothing possible is nearer to proportional in the worst stratum by more than the one unit of
    # rounding
    if not equal:
        ideal = [total * size / sum(sizes) for size in sizes]
        worst = max(abs(f - i) for f, i in zip(found, ideal, strict=True))
        assert (
            worst
            <= min(max(abs(w - i) for w, i in zip(way, ideal, strict=True)) for way in possible) + 1
        )


def test_stratified_samples_take_their_share_of_every_stratum():
    _, made = run(sf.Sample(0.5, method="stratified"), numbered())
    assert dict(made.to_polars().group_by("stratum").len().iter_rows()) == {"a": 5, "b": 10, "c": 5}
    _, made = run(sf.Sample(size=9, method="stratified", allocation="equal"), numbered())
    assert dict(made.to_polars().group_by("stratum").len().iter_rows()) == {"a": 3, "b": 3, "c": 3}


@given(size=st.integers(1, 40), seed=st.integers(0, 99))
def test_systematic_samples_take_every_stratum_but_for_one(size, seed):
    _, made = run(sf.Sample(size=size, method="systematic"), numbered(), seed=seed)
    taken = dict(made.to_polars().group_by("stratum").len().iter_rows())
    for stratum, members in {"a": 10, "b": 20, "c": 10}.items():
        assert abs(taken.get(stratum, 0) - size * members / 40) < 1


def test_persons_and_households_are_kept_whole():
    table = people(120)
    plan, made = run(sf.Sample(0.3), table)
    rows = made.to_polars().group_by("person").len()
    assert len(rows) == 18 and rows["len"].to_list() == [2] * 18
    assert plan.public["unit"] == "person" and plan.public["fraction"] == pytest.approx(0.3)
    survey = sf.examples.survey(600)
    before = dict(survey.to_polars().group_by("household").len().iter_rows())
    _, made = run(sf.Sample(0.25, method="stratified"), survey)
    assert all(before[h] == n for h, n in made.to_polars().group_by("household").len().iter_rows())


def test_weights_are_multiplied_or_added():
    table = people(120)
    _, made = run(sf.Sample(0.25), table)
    assert (made.column("weight") / table.take(made.origin).column("weight")).to_list() == [
        4.0
    ] * len(made)
    plan, made = run(sf.Sample(size=8, weight="grossing"), numbered())
    assert made.column("grossing").to_list() == [5.0] * 8
    assert made.schema["grossing"].roles == (Role.WEIGHT,)
    assert plan.preserved[0].exactly and plan.preserved[0].off_by < 1e-12


def test_the_sample_makes_the_journalist_less_sure():
    step = sf.Sample(0.25, weight="grossing")
    release = sf.anonymize(numbered(200, ("a",)), [sf.KAnonymity(1)], [step], seed=3)
    measures = {m.name: m.value for m in release.after.measures}
    plain = sf.anonymize(numbered(200, ("a",)), [sf.KAnonymity(1)], [sf.Sample(0.25)], seed=3)
    unweighted = {m.name: m.value for m in plain.after.measures}
    journalist = [name for name in measures if "journalist" in name]
    assert journalist and all(measures[name] < unweighted.get(name, 1.0) for name in journalist)
    recipe = Recipe(numbered().schema, (sf.KAnonymity(1),), (step,))
    assert sf.check(release.released, recipe)[0].holds


def test_a_whole_sample_is_warned_of():
    assert "whole table" in run(sf.Sample(1.0), numbered())[0].warnings[0]
    assert run(sf.Sample(0.5), numbered())[0].warnings == ()
    uneven = run(sf.Sample(size=9, method="stratified", allocation="equal"), numbered())[0]
    assert "different rates" in uneven.warnings[0]


def test_bad_tables():
    with pytest.raises(ParameterError, match="41 rows are asked for, but the table has 40"):
        run(sf.Sample(size=41), numbered())
    with pytest.raises(ParameterError, match="cannot cover 3 strata"):
        run(sf.Sample(size=2, method="stratified"), numbered())
    with pytest.raises(SchemaError, match="needs strata"):
        run(sf.Sample(0.5, method="stratified"), Table(pl.DataFrame({"a": [1, 2]})))
    with pytest.raises(SchemaError, match="no column has role household"):
        run(sf.Sample(0.5, unit="household"), numbered())
    with pytest.raises(SchemaError, match="more than one stratum"):
        run(sf.Sample(0.5, method="stratified", within=["sex"]), people(60, gaps=False))
    with pytest.raises(ParameterError, match="leave weight out"):
        run(sf.Sample(0.5, weight="w"), people())
    with pytest.raises(ParameterError, match="already has a column 'number'"):
        run(sf.Sample(0.5, weight="number"), numbered())
    assert len(run(sf.Sample(0.001), numbered())[1]) == 1
    assert len(run(sf.Sample(), numbered())[1]) == 4  # a tenth
    assert len(run(sf.Sample(0.5), numbered(1))[1]) == 1


def test_rows_with_the_smallest_words_of_their_stratum_are_drawn():
    table = Table(pl.DataFrame({"s": [f"s{i % 3}" for i in range(90)], "x": list(range(90))}))
    step, goal = sf.Sample(0.2, method="stratified", within=["s"]), Goal(seed=Seed(4))
    made = step.apply(table, step.plan(table, goal))
    words = goal.keyed("sample").words(Marks.of(table))
    for stratum in range(3):
        rows = np.arange(stratum, 90, 3)
        smallest = rows[np.argsort(words[rows])[:6]].tolist()
        assert sorted(made.to_polars().filter(pl.col("s") == f"s{stratum}")["x"]) == sorted(
            smallest
        )
