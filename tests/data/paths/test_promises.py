"""Promises about paths against their definitions, and the numbers of a worked example."""

from __future__ import annotations

from sfumato import examples
from sfumato.data.paths import LkcPrivacy
from sfumato.data.paths.point_suppression import minimal_sets
from sfumato.data.paths.promises import point_sets
from tests.oracles import paths as oracle

# Worked example of eight people and 29 points (7a: at hour 7 at place a).
MINIMAL = "7a; 10b; 13c; 8d9b; 8d12f; 9b12f; 9b18d; 9e12c; 9e12f; 12c17a; 12f17a; 12f18d"


def named(people, sets):
    points, places = people.points, people.table.to_series(0)
    return {
        "".join(f"{points.ticks[i]}{places[int(points.places[i])]}" for i in one) for one in sets
    }


def test_the_worked_example_has_twelve_minimal_sets():
    people = examples.small_paths()
    demand = LkcPrivacy(2, l=2).asked(people)
    found = minimal_sets(point_sets(people), [demand])
    assert named(people, found) == {one.strip() for one in MINIMAL.split(";")}
    paths = oracle.paths_of(people)
    assert (
        sum(oracle.breaks(paths, q, 2) for q in oracle.point_sets(paths, 2)) == 20
    )  # violating sets in all


def test_a_limit_on_one_value_adds_two():
    people = examples.small_paths()
    demand = LkcPrivacy(2, l=2, c=0.6, values=("x",)).asked(people)
    found = named(people, minimal_sets(point_sets(people), [demand]))
    assert found - {one.strip() for one in MINIMAL.split(";")} == {"8a", "9b12c"}
