"""What an attack costs: candidates left and work spent, and the ladder on the consistency graph."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attack import Scene
from sfumato.core.consistency import Pairs
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.attacks.cost import AttackCost, ladder
from sfumato.methods.formulas.matchings import matchings_with
from sfumato.release.attack_run import attack_release
from sfumato.release.folder import read_release
from sfumato.release.intruders import intruder_from

# ten people and what they bought; an item that somebody lacks is no fact about them
BOUGHT = [
    "a1 b1 b2",
    "a2 b1",
    "a2 b1 b2",
    "a1 a2 b2",
    "a1 b1 c1",
    "a3 b1 c1",
    "a2 c2",
    "a1 b2 c1",
    "a2 b1 c2",
    "a3 b1",
]


def scene_of(frame, released=None, knows=None):
    names = list(frame.columns)
    original = Table(frame).with_roles(quasi=names)
    given_out = original if released is None else Table(released).with_roles(quasi=names)
    pair = TablePair.of(original, given_out)
    return Scene(pair, intruder_from(pair, knows or names, sample=10_000, seed=Seed(0)))


def bought():
    items = sorted({item for words in BOUGHT for item in words.split()})
    return pl.DataFrame(
        {item: ["yes" if item in words.split() else None for words in BOUGHT] for item in items}
    )


def test_worked_example_rarest_first():
    """Section 16.1 of our notes: work 10, 13.1, 14.6, candidates 3.1, 2.2, 1.4, unique 0, 1 and 7
    of ten people.
    """
    told = sf.AttackCost().attack(scene_of(bought())).details["cost"]["rarest"][:3]
    assert [round(one["work"], 4) for one in told] == [10, 13.1, 14.6]
    assert [round(one["candidates"], 4) for one in told] == [3.1, 2.2, 1.4]
    assert [round(10 * one["unique"]) for one in told] == [0, 1, 7]


def test_worked_example_in_any_order():
    """The same people: work 10, 14.5667, 16, candidates 4.5667, 2.1333, 1.4, unique shares 0, 2/15,
    7/10.
    """
    finding = sf.AttackCost(order="random").attack(scene_of(bought()))
    told = finding.details["cost"]["random"][:3]
    assert [round(one["work"], 4) for one in told] == [10, 14.5667, 16]
    assert [round(one["candidates"], 4) for one in told] == [4.5667, 2.1333, 1.4]
    assert [one["unique"] for one in told] == pytest.approx([0, 2 / 15, 7 / 10])
    assert finding.value == 0.7 and finding.details["sound"] == 1.0


def naive(rows, person, order):
    """Candidates after each fact, in an order of columns."""
    left, sizes = list(rows), []
    for column in order:
        left = [one for one in left if one[column] == person[column]]
        sizes.append(len(left))
    return sizes


cells = st.sampled_from(["x", "y", "z"])


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=9))
def test_as_counted_one_by_one(rows):
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    found = sf.AttackCost().attack(scene_of(frame))
    orders = list(itertools.permutations(range(3)))
    every = np.array(
        [[naive(rows, person, order) for order in orders] for person in rows], dtype=float
    )
    told = found.details["cost"]["random"]
    assert [one["candidates"] for one in told] == pytest.approx(every.mean(axis=(0, 1)).tolist())
    assert [one["unique"] for one in told] == pytest.approx((every == 1).mean(axis=(0, 1)).tolist())
    work = len(rows) + np.concatenate([[0], np.cumsum(every.mean(axis=(0, 1)))[:2]])
    assert [one["work"] for one in told] == pytest.approx(work.tolist())
    assert found.value == pytest.approx(np.mean([rows.count(one) == 1 for one in rows]))
    rarest = found.details["cost"]["rarest"]
    assert rarest[0]["work"] == len(rows) and rarest[-1]["candidates"] == pytest.approx(
        told[-1]["candidates"]
    )
    steps = [one["candidates"] for one in rarest]
    assert steps == sorted(steps, reverse=True), (
        "a sound intruder never has more candidates than before"
    )


def test_masked_values_make_an_intruder_unsound():
    frame = pl.DataFrame({"age": list(range(20, 60)), "town": ["Ulm", "Kiel"] * 20})
    moved = frame.with_columns((pl.col("age") + 1).alias("age"))
    finding = sf.AttackCost().attack(scene_of(frame, moved))
    assert (
        finding.value == 0
        and finding.details["sound"] == 0
        and finding.details["work_per_found"] is None
    )
    assert "without success" in finding.sentence


def test_many_facts_are_tried_in_drawn_orders():
    draw = np.random.default_rng(1)
    frame = pl.DataFrame({f"c{i}": draw.choice(["x", "y"], 40) for i in range(9)})
    finding = sf.AttackCost(order="random").attack(scene_of(frame))
    points = finding.details["curve"]["points"]
    assert len(points) == 9 and points[-1][1] == finding.details["cost"]["rarest"][-1]["unique"]
    again = sf.AttackCost(order="random").attack(scene_of(frame))
    assert again.to_dict() == finding.to_dict()


def test_no_value_and_no_row_in_what_is_told():
    report = attack_release(scene_of(bought()).pair, only=["attack_cost"])
    text = json.dumps(report.to_dict(), allow_nan=False)
    assert len(report.tried) == 3 and '"yes"' not in text and "a measurement, not a promise" in text


# --- the ladder ---


def graph(*released):
    """Original i is record i; every record stands for the originals listed."""
    size = len(released)
    edges = [(one - 1, record) for record, fits in enumerate(released) for one in fits]
    both = tuple(np.array(side, dtype=np.int64) for side in zip(*edges, strict=True))
    each, ones = np.arange(size), np.ones(size, dtype=np.int64)
    return Pairs(ones, ones, both, (each, each), ones)


def test_matches_are_fewer_than_neighbours():
    told = ladder(graph({1, 2}, {1, 2}, {1, 2, 3, 4}, {2, 3, 4}))
    assert graph({1, 2}, {1, 2}, {1, 2, 3, 4}, {2, 3, 4}).neighbours_of_originals().tolist() == [
        3,
        4,
        2,
        2,
    ]
    assert told["neighbours"]["fewest"] == 2 and told["matches"] == {
        "fewest": 2,
        "mean": 2.0,
        "work": 11,
    }
    assert told["posterior"]["largest"] == 0.5 and told["posterior"]["people"] == 4


def test_two_matches_do_not_make_a_half():
    """Five assignments; in three of them original 1 is record 1, though it has two matches."""
    pairs = graph({1, 2}, {1, 2, 3}, {3, 4}, {2, 3, 4})
    assert pairs.matches_of_originals()[0] == 2
    joined = np.zeros((4, 4), dtype=bool)
    joined[pairs.edges] = True
    count, inside = matchings_with(joined)
    assert count == 5 and Fraction(int(inside[0, 0]), count) == Fraction(3, 5)
    assert ladder(pairs)["posterior"]["largest"] >= 3 / 5


def test_the_ladder_of_a_release():
    people = sf.examples.hospital(rows=120)
    release = sf.anonymize(people, [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.1)], seed=1)
    report = release.attack(only=["attack_cost"])
    told = {t.intruder: t.finding.details["ladder"] for t in report.tried}
    assert (
        told["prosecutor"]["neighbours"]["fewest"] >= 4
        and told["prosecutor"]["posterior"]["largest"] <= 0.25
    )
    assert "all quasi-identifiers" in told["neighbour"]
    assert report.value("attack_cost") == 0


def test_a_release_read_from_its_folder_has_the_same_ladder(tmp_path):
    """Labels like 60*** say what they cover by the hierarchy of the original alone."""
    people = sf.examples.hospital(rows=200).to_polars().select("zip", "sex")
    people.write_csv(tmp_path / "people.csv")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "sfumato: 1\ncolumns:\n"
        "  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}\n"
        "  sex: {role: quasi}\n"
        "meet: [k_anonymity: {k: 3}]\nsteps: [mondrian: {}]\n"
    )
    release = sf.run(tmp_path / "people.csv", recipe, seed="5")
    folder = read_release(release.write(tmp_path / "out"))
    made = release.attack(only=["attack_cost"], seed=0)
    from_folder = attack_release(folder.beside(release.original), only=["attack_cost"], seed=0)
    ladders = [report.tried[0].finding.details["ladder"] for report in (made, from_folder)]
    assert ladders[0] == ladders[1] and ladders[0]["neighbours"]["fewest"] >= 3


@pytest.mark.parametrize("most", [0, 9, 10, 13, 14, 15, 20, 100])
def test_people_who_are_found_within_an_amount_of_work(most):
    """Oracle: facts of a person, the rarest first, tested on the baskets that are left."""
    baskets = [set(words.split()) for words in BOUGHT]
    counts = Counter(item for basket in baskets for item in basket)
    names = sorted(counts)
    hits = 0
    for basket in baskets:
        left, tests = list(baskets), 0
        # Equally rare facts come in the order of their columns.
        for item in sorted(basket, key=lambda item: (counts[item], names.index(item))):
            if len(left) == 1:
                break
            tests += len(left)
            left = [other for other in left if item in other]
        hits += len(left) == 1 and left[0] == basket and tests <= most
    frame = bought()
    finding = AttackCost(work=most).attack(scene_of(frame))
    assert finding.value == pytest.approx(hits / len(BOUGHT))


def test_work_goes_with_the_cheapest_order():
    with pytest.raises(ParameterError, match="goes with order rarest"):
        AttackCost(order="random", work=3)


def test_a_limit_on_work_in_a_recipe():
    people = sf.examples.hospital(rows=200)
    limits = {"attack_cost": {"work": 150, "at_most": 0.05}}
    release = sf.anonymize(people, "k_anonymity:2", sf.GlobalRecoding(), limits=limits)
    assert all(release.limits)
    # All records are tested on the first fact already: with fewer tests nobody is found.
    assert release.limits[0].value == 0
