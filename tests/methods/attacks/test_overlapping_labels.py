"""Linkage is never below the marketer risk where values were generalised, also where labels of
different classes overlap.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.methods.attacks.linkage.distance_linkage import DistanceLinkage
from sfumato.release.intruders import intruder_from


def people(seed: int, rows: int = 160) -> sf.Table:
    draw = np.random.default_rng(seed)
    shares = np.array([8, 6, 4, 3, 2, 1]) / 24
    frame = pl.DataFrame(
        {
            "job": draw.choice(list("abcdef"), rows, p=shares),
            "town": draw.choice(list("uvwxyz"), rows, p=shares),
            "age": draw.integers(20, 40, rows),
        }
    )
    by_frequency = {
        "job": sf.frequency(4, 2),
        "town": sf.frequency(4, 2),
        "age": sf.intervals(5, 10),
    }
    return sf.read(frame).with_roles(quasi=["job", "town", "age"]).with_hierarchies(**by_frequency)


def marketer(release: sf.Release) -> float:
    frame = release.released.to_polars().select("job", "town", "age")
    return frame.n_unique() / len(frame)


STEPS = {"mondrian": sf.Mondrian(), "recoding": sf.GlobalRecoding(budget=0.0)}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("step", STEPS)
def test_everybody_together_is_linked_as_often_as_the_marketer_risk_says(step, seed):
    release = sf.anonymize(people(seed), [sf.KAnonymity(4)], [STEPS[step]], seed=1)
    assert len(release.released) == len(release.original)
    report = release.attack(only=["linkage", "worst_case_linkage"], seconds=5)
    assert report.value("linkage") == pytest.approx(marketer(release))
    assert report.value("worst_case_linkage") == pytest.approx(marketer(release))


def overlapping() -> Scene:
    """``other`` stands for c to f in one class and for e and f in another, so a person with e fits
    both.
    """
    release = next(
        made
        for seed in range(1, 20)
        if (made := sf.anonymize(people(seed), [sf.KAnonymity(4)], [sf.Mondrian()], seed=1))
        and _overlaps(made)
    )
    return Scene(
        release.pair,
        intruder_from(release.pair, release.pair.quasi, sample=10**6, seed=Seed(0)),
        release.recipe.steps,
    )


def _overlaps(release: sf.Release) -> bool:
    found = release.attack(only=["linkage"]).tried[0].finding
    return found.details["directions"]["intruder"]["value"] < marketer(release) - 0.005


def test_who_knows_the_classes_is_told_from_who_takes_the_nearest():
    scene = overlapping()
    found = DistanceLinkage().attack(scene)
    ways = found.details["directions"]
    assert ways["intruder"]["value"] < ways["classes"]["value"] == found.value
    assert (
        "a random record of the right class" in found.sentence
        and "which values each class stands for" in found.sentence
    )
    worst = sf.LearnedLinkage(restarts=1, steps=20, solver="none").attack(scene)
    assert worst.value == pytest.approx(found.value) and worst.details["best_found"] < worst.value
    assert worst.interval[0] <= worst.value <= worst.interval[1]
    assert (
        "no such distance links more" not in worst.sentence
        and "records of one class are equal" in worst.sentence
    )


def test_classes_are_not_known_where_values_were_changed():
    table = people(1)
    swapped = table.with_columns({"job": table.column("job").reverse()})
    pair = TablePair.of(table, swapped)
    found = DistanceLinkage().attack(
        Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)))
    )
    assert set(found.details["directions"]) == {"intruder"}


def test_classes_are_not_known_to_who_knows_a_few_columns_or_where_cells_were_suppressed():
    scene = overlapping()
    few = intruder_from(scene.pair, ("job", "town"), sample=10**6, seed=Seed(0))
    assert set(DistanceLinkage().attack(Scene(scene.pair, few)).details["directions"]) == {
        "intruder"
    }
    table = people(1)
    jobs = [None if row < 5 else job for row, job in enumerate(table.column("job").to_list())]
    pair = TablePair.of(table, table.with_columns({"job": pl.Series(jobs)}))
    found = DistanceLinkage().attack(
        Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)))
    )
    assert set(found.details["directions"]) == {"intruder"}
