"""Attacks on rows that were drawn anew: copies, near copies, the closest record, and the criteria
with people set aside.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

import sfumato as sf
from sfumato.core import registry
from sfumato.core.attack import NothingToAttack
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.methods.attacks.gdpr import Inference, Linkability, Membership, SinglingOut
from sfumato.methods.attacks.nearest import NO_CONTROL
from sfumato.methods.attacks.synthetic import (
    ClosestRecord,
    CopiedRecords,
    NearCopies,
    RecognisedMembers,
    distances,
    reappearing,
    usual_distance,
)
from sfumato.release.attack_run import attack_release
from sfumato.release.intruders import intruder_from
from tests.methods.attacks.drawn_rows import DrawColumns, pair_of, people, scene_of

WITH_CONTROL = (
    CopiedRecords,
    NearCopies,
    ClosestRecord,
    SinglingOut,
    Linkability,
    Inference,
    Membership,
    RecognisedMembers,
)


# The copied excess R = (a − h)/(1 − h).


def naive_excess(original, drawn, aside):
    """Straight from the definition: unique rows of the table that reappear, of either kind."""
    rows, there = original.rows(), set(drawn.rows())
    alone = {row for row, count in Counter(rows).items() if count == 1}
    found = {True: [], False: []}
    for place, row in enumerate(rows):
        if row in alone:
            found[place in aside].append(row in there)
    if not found[False]:
        return 0.0
    if not found[True]:
        return None
    a, h = (sum(found[side]) / len(found[side]) for side in (False, True))
    return max(0.0, (a - h) / (1 - h)) if h < 1 else 0.0


cells = st.tuples(
    st.sampled_from("abc"), st.sampled_from([1.5, 2.0, 3.25, None]), st.integers(0, 4)
)


@given(
    st.lists(cells, min_size=4, max_size=25), st.lists(cells, min_size=1, max_size=25), st.data()
)
def test_the_copied_excess_is_that_of_the_definition(rows, drawn, data):
    names = {"a": pl.String, "b": pl.Float64, "c": pl.Int64}
    original, made = (pl.DataFrame(part, schema=names, orient="row") for part in (rows, drawn))
    aside = data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=len(rows) - 1))
    scene = scene_of(pair_of(original, made, sorted(aside)))
    expected = naive_excess(original, made, aside)
    if expected is None:
        with pytest.raises(sf.errors.ParameterError, match="set more people aside"):
            CopiedRecords().attack(scene)
    else:
        found = CopiedRecords().attack(scene)
        assert found.value == pytest.approx(expected)
        assert found.interval is None or found.interval[0] <= found.value <= found.interval[1]


def test_generalised_columns_are_compared_as_they_were_released():
    original = pl.DataFrame({"age": [21, 34, 47, 58], "sex": ["f", "m", "f", "m"]})
    table = (
        sf.read(original).with_roles(quasi=["age", "sex"]).with_hierarchies(age=sf.intervals(10))
    )
    pair = pair_of(original, pl.DataFrame({"age": ["20-29", "40-49"], "sex": ["f", "m"]}), [3])
    pair = TablePair(
        table, pair.released, pair.origin, learnt_from=pair.learnt_from, held_out=pair.held_out
    )
    unique, there = reappearing(pair, ["age", "sex"])
    assert unique.tolist() == [True] * 4
    assert there.tolist() == [True, False, False, False]


def test_nobody_unique_is_nothing_copied():
    both = pl.DataFrame({"a": ["x", "x", "y", "y"]})
    found = CopiedRecords().attack(scene_of(pair_of(both, both, [0, 2])))
    assert found.value == 0.0 and "no person" in found.sentence


def test_names_of_units_are_no_part_of_a_copy():
    original = pl.DataFrame({"home": ["1", "2", "3", "4"], "age": [20, 30, 40, 50]})
    drawn = pl.DataFrame({"home": ["7", "8", "9", "10"], "age": [20, 30, 40, 50]})
    pair = pair_of(original, drawn, [3], household=["home"], quasi=["age"])
    assert CopiedRecords().attack(scene_of(pair)).details["copied"] == 3


# Distances.


def normals(seed, rows=500, columns=6):
    draw = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(columns)]
    learnt, aside, fresh, noise = (draw.normal(size=(rows, columns)) for _ in range(4))
    return (
        pl.DataFrame(np.concatenate([learnt, aside]), schema=names),
        pl.DataFrame(fresh, schema=names),
        noise,
        names,
    )


def far(one, many, scale):
    """The distance of every row to the nearest of many, all numbers standardised."""
    return np.array([np.sqrt((((row - many) / scale) ** 2).sum(axis=1).min()) for row in one])


def test_distances_and_near_copies_are_those_of_the_definition():
    table, drawn, _, _ = normals(1, 120)
    pair = pair_of(table, drawn, range(120, 240))
    scene, before, after = scene_of(pair), table.to_numpy(), drawn.to_numpy()
    pooled = np.concatenate([before, after]).std(axis=0)
    found = distances(scene)
    assert np.sort(found.members) == pytest.approx(np.sort(far(before[:120], after, pooled)))
    assert np.sort(found.others) == pytest.approx(np.sort(far(before[120:], after, pooled)))
    usual = float(np.median(far(before[120:], before[:120], before.std(axis=0))))
    assert usual_distance(scene) == pytest.approx(usual)
    a, h = ((side <= 0.5 * usual).mean() for side in (found.members, found.others))
    assert NearCopies().attack(scene).value == pytest.approx(max(0.0, (a - h) / (1 - h)))


def test_the_closest_record_is_that_of_the_definition():
    table, drawn, _, _ = normals(2, 120)
    scene, before, after = (
        scene_of(pair_of(table, drawn, range(120, 240))),
        table.to_numpy(),
        drawn.to_numpy(),
    )
    pooled = np.concatenate([before, after]).std(axis=0)
    near, control = far(after, before[:120], pooled), far(after, before[120:], pooled)
    found = ClosestRecord().attack(scene)
    assert found.value == pytest.approx((near < control).mean())
    assert found.details["median_distance"] == pytest.approx(np.median(near))
    assert found.baseline == 0.5


def naive_recognised(members, others, alarms):
    """The most members below any threshold that few enough others are below."""
    cuts = [cut for cut in np.concatenate([members, others]) if (others <= cut).mean() <= alarms]
    return max([float((members <= cut).mean()) for cut in cuts], default=0.0)


@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=20),
    st.lists(st.integers(0, 6), min_size=2, max_size=20),
)
def test_who_is_recognised_is_that_of_the_definition(members, others):
    original = pl.DataFrame({"n": [float(v) for v in [*members, *others]]})
    pair = pair_of(original, pl.DataFrame({"n": [0.0]}), range(len(members), len(original)))
    finding = Membership(false_alarms=0.2).attack(scene_of(pair))
    one, other = np.array(members, dtype=float), np.array(others, dtype=float)
    assert finding.details["true_positives_at_0.001"] == pytest.approx(
        naive_recognised(one, other, 0.001)
    )
    wins = np.mean([(m < o) + 0.5 * (m == o) for m in one for o in other])
    assert finding.details["area_under_curve"] == pytest.approx(wins)
    assert (
        naive_recognised(one, other, 0.2) - 0.2
        <= finding.value
        <= naive_recognised(one, other, 0.2)
    )


# The traps of the distance to the closest record: it passes what publishes people.


def test_one_verbatim_copy_in_a_hundred_passes_the_closest_record_and_is_caught_by_copies():
    table, drawn, _, names = normals(3, 1000)
    copied = pl.concat([table[:10], drawn[10:]])
    scene = scene_of(pair_of(table, copied, range(1000, 2000)), names)
    closest, copies, near = (
        attack().attack(scene) for attack in (ClosestRecord, CopiedRecords, NearCopies)
    )
    assert (
        not closest.certain and abs(closest.value - 0.5) < 0.06
    )  # within two deviations of a coin (500 rows: 0.045)
    assert closest.details["median_distance"] == pytest.approx(
        closest.details["median_distance_set_aside"], rel=0.1
    )
    assert copies.value == pytest.approx(0.01) and copies.certain and len(copies.victims) == 10
    assert closest.details["recognised"] >= 0.01 and closest.details["false_alarms"] <= 0.001
    assert 0.4 < closest.details["area_under_curve"] < 0.6  # an average hides them
    for told in ("copied excess 0.01", "near copies", "recognised", "says little"):
        assert told in closest.sentence
    assert near.details["share"] >= 0.01


def test_people_with_noise_are_farther_than_independent_draws_and_are_caught_by_comparing():
    table, drawn, noise, names = normals(4, 2000)
    learnt = table[:2000].to_numpy()
    masked = pl.DataFrame(learnt + 0.5 * noise, schema=names)
    medians = [np.median(cKDTree(learnt).query(rows.to_numpy())[0]) for rows in (drawn, masked)]
    assert (
        medians[1] > medians[0]
    )  # by the median alone, every person with noise looks safer than data about others
    findings = [
        ClosestRecord().attack(scene_of(pair_of(table, rows, range(2000, 4000))))
        for rows in (drawn, masked)
    ]
    assert (
        not findings[0].certain and findings[1].certain
    )  # beside as many who were set aside it does not


def test_people_with_a_little_noise_are_near_copies_of_nobody_cell_by_cell():
    table, _, noise, names = normals(5, 500)
    masked = pl.DataFrame(table[:500].to_numpy() + 0.1 * noise, schema=names)
    scene = scene_of(pair_of(table, masked, range(500, 1000)))
    copies, near, closest = (
        attack().attack(scene) for attack in (CopiedRecords, NearCopies, ClosestRecord)
    )
    assert copies.value == 0.0
    assert near.value > 0.9 and near.certain
    assert closest.details["recognised"] > 0.5


# What drawn rows tell, what nobody knows, and what does not apply.


def test_without_people_set_aside_nothing_is_known():
    scene = scene_of(pair_of(people().to_polars(), people(seed=2).to_polars(), None))
    for attack in (CopiedRecords, NearCopies, ClosestRecord, SinglingOut, Linkability, Membership):
        reason = attack().out_of_place(scene)
        assert reason == NO_CONTROL and not isinstance(reason, NothingToAttack), attack


def test_rows_that_are_somebodys_are_no_copies():
    table = people()
    for attack in (CopiedRecords, NearCopies, ClosestRecord):
        assert isinstance(
            attack().out_of_place(scene_of(TablePair.of(table, table))), NothingToAttack
        )


def test_every_attack_says_what_it_makes_of_drawn_rows():
    release = sf.anonymize(people(2000), (), DrawColumns(), limits={"copied_records": 1}, seed=3)
    report = release.attack(seconds=1e6, only=list(registry.attacks()))
    assert {tried.finding.attack for tried in report.tried} == {
        attack.name for attack in WITH_CONTROL
    }
    assert not report.unknown
    for name, attack in registry.attacks().items():
        assert attack.follows_rows != (name in {a.name for a in WITH_CONTROL}), name
    for tried in report.tried:
        low, high = tried.finding.interval
        assert 0 <= low <= tried.finding.value <= high <= 1, tried.finding


def test_independent_columns_give_nothing_away_and_copies_everything():
    table = people(600)
    rates = {}
    for copied in (0.0, 1.0):
        release = sf.anonymize(
            table,
            (),
            DrawColumns(rows=1500, copied=copied),
            limits={"copied_records": 1, "recognised_members": 1},
            seed=4,
        )
        report = release.attack(seconds=1e6)
        rates[copied] = {t.finding.attack: t.finding for t in report.tried}
    for name in ("copied_records", "near_copies", "linkability", "singling_out", "inference"):
        assert rates[1.0][name].certain and rates[1.0][name].value > 0.15, name
        assert rates[0.0][name].value < 0.1, name
    assert rates[1.0]["membership"].details["area_under_curve"] > 0.6
    assert rates[1.0]["closest_record"].certain


def test_half_of_those_looked_for_were_set_aside():
    pair = pair_of(people(1000).to_polars(), people(10).to_polars(), range(100))
    who = intruder_from(pair, ["age"], sample=100, seed=Seed(1))
    assert (who.truth < 100).sum() == 50 and len(who.truth) == 100 and who.sampled
    few = intruder_from(pair, ["age"], sample=500, seed=Seed(1))
    assert (few.truth < 100).sum() == 100 and len(few.truth) == 500


def test_findings_do_not_depend_on_the_order_of_drawn_rows():
    original, drawn = people(300).to_polars(), people(300, seed=9).to_polars()
    found = []
    for order in (np.arange(300), np.random.default_rng(1).permutation(300)):
        pair = pair_of(
            original,
            drawn[order],
            range(60),
            quasi=["age", "sex", "zip"],
            keep=["income"],
            sensitive=["illness"],
        )
        report = attack_release(
            pair, seconds=1e6, only=["copied_records", "near_copies", "linkability", "membership"]
        )
        found.append(report.values())
    assert found[0] == pytest.approx(found[1])


# Nobody can ask whose a drawn row is.


def test_the_rows_of_a_pair_that_is_not_aligned_cannot_be_asked_for():
    pair = pair_of(people().to_polars(), people(seed=2).to_polars(), range(10))
    assert not pair.aligned and pair.suppressed == 0
    for asking in (lambda: pair.rows, lambda: pair.joint("age"), lambda: pair.truthful("age")):
        with pytest.raises(sf.errors.SchemaError, match="rows are synthetic"):
            asking()
    assert TablePair.of(people(), people()).aligned


def test_a_promise_about_originals_cannot_be_judged_on_drawn_rows():
    table = people()
    drawn = DrawColumns()
    with pytest.raises(sf.errors.SchemaError, match="rows are synthetic"):
        sf.anonymize(
            table,
            sf.KConcealment(2),
            drawn,
            limits={"copied_records": 1, "recognised_members": 1},
            seed=1,
        )


def test_copies_among_people_drawn_from_half_of_adult(reference_data):
    # share of unique people that reappear, learnt from and set aside, by leaves of 5, 20 and 100: R
    # = .2155, .0971, .0333
    table = sf.read(reference_data / "adult" / "adult.csv")
    table = table.with_roles(
        quasi=[c for c in table.columns if c != "salary-class"], sensitive=["salary-class"]
    )
    for leaf, expected in ((5, 0.2155), (20, 0.0971), (100, 0.0333)):
        step = sf.Synthesize(min_leaf=leaf, holdout=0.5)
        release = sf.anonymize(
            table, (), step, limits={"copied_records": 1, "recognised_members": 1}, seed=1
        )
        assert release.limits[0].value == pytest.approx(expected, abs=0.03)
