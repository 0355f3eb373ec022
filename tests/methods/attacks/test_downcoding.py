"""Downcoding: what is certain is true whenever the release was minimal, and follows from nothing
but its definition.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attack import Scene
from sfumato.core.hierarchy import TOP
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.attacks import downcoding as audit
from sfumato.methods.attacks import downcoding as occupancy
from sfumato.methods.attacks.downcoding import Downcoding
from sfumato.methods.hierarchies import SuppressedValue, Tree
from sfumato.release.intruders import intruder_from
from tests.oracles import downcoding as oracle

TOWNS = Tree({TOP: {"north": ["Kiel", "Bremen"], "south": ["Ulm", "Passau"]}})
HIERARCHIES = {"town": TOWNS, "sex": SuppressedValue()}
LADDERS = (
    {"Kiel": ("Kiel", "north", TOP), "Bremen": ("Bremen", "north", TOP)}
    | {"Ulm": ("Ulm", "south", TOP), "Passau": ("Passau", "south", TOP)},
    {"f": ("f", TOP), "m": ("m", TOP)},
)
DOMAIN = [(town, sex) for town in LADDERS[0] for sex in LADDERS[1]]


def scene_of(originals, released, k=2, hierarchies=HIERARCHIES, models=None, **more) -> Scene:
    names = list(hierarchies)

    def table(rows):
        return Table(
            pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
        ).with_roles(quasi=names)

    pair = TablePair.of(table(originals).with_hierarchies(**hierarchies), table(released))
    knows = intruder_from(pair, names, sample=10**6, seed=Seed(0))
    return Scene(pair, knows, models=(sf.KAnonymity(k),) if models is None else models, **more)


def single(values, node, k, tree, **more):
    return scene_of([(v,) for v in values], [(node,)] * len(values), k, {"town": tree}, **more)


THREE = Tree({TOP: {"north": ["Kiel", "Bremen", "Jever"], "south": ["Ulm", "Passau"]}})


def test_six_records_under_three_children_lie_two_and_two_and_two():
    found = Downcoding().attack(
        single(["Kiel", "Kiel", "Bremen", "Bremen", "Jever", "Jever"], "north", 3, THREE)
    )
    assert found.value == 1.0 and sorted(found.victims.tolist()) == list(range(6))
    assert (
        found.details["to_the_value"] == 6
        and found.details["wrong"] == 0
        and found.weights == {"town": 1.0}
    )
    assert found.details["pinned"] == 0  # who of the six has which value stays open


def test_with_k_two_a_pair_under_two_children_has_one_of_each_and_each_knows_the_other():
    found = Downcoding().attack(single(["Ulm", "Passau"], "south", 2, TOWNS))
    assert found.value == 1.0 and found.details["pinned"] == 2


def test_three_under_two_children_stay_open_but_somebody_is_in_either():
    found = Downcoding().attack(single(["Ulm", "Passau", "Passau"], "south", 2, TOWNS))
    assert found.value == 0.0 and found.details["narrowed"] == 3


def test_values_themselves_give_nothing_away():
    found = Downcoding().attack(scene_of([("Ulm", "f")] * 3, [("Ulm", "f")] * 3))
    assert found.value == 0.0 and found.details["classes"] == 0


def test_a_release_that_is_coarser_than_needed_makes_the_intruder_wrong():
    found = Downcoding().attack(single(["Ulm", "Ulm"], TOP, 2, Tree({TOP: ["Ulm", "Kiel"]})))
    assert found.value == 0.0 and found.details["contradicted"] == 0
    both = single(["Ulm", "Ulm", "Kiel"], TOP, 2, Tree({TOP: ["Ulm", "Kiel"]}))
    assert Downcoding("cover").attack(both).details["wrong"] == 0
    pair = scene_of(
        [("Ulm",), ("Ulm",), ("Passau",), ("Passau",)],
        [("south",)] * 2 + [("Passau",)] * 2,
        2,
        {"town": TOWNS},
    )
    told = Downcoding("class").attack(pair)
    assert told.value == 0.0 and told.details["wrong"] == 1


def test_a_finer_class_beside_a_coarse_one_says_who_is_not_in_it():
    # three in (north, *) beside two in (Kiel, *): nobody of the three is from Kiel, so all are
    # from Bremen: not minimal
    rows = [("Bremen", "f"), ("Bremen", "m"), ("Bremen", "f"), ("Kiel", "f"), ("Kiel", "m")]
    released = [("north", TOP)] * 3 + [("Kiel", TOP)] * 2
    assert "town" in _columns(Downcoding("release"), scene_of(rows, released), "contradicted")
    # four children: two of them taken by finer classes, two are left for the pair of records and
    # one more
    five = Tree(
        {
            TOP: {"north": ["Kiel", "Bremen", "Jever", "Emden"]},
        }
    )
    rows = [(v,) for v in ("Bremen", "Jever", "Emden", "Kiel", "Kiel")]
    told = Downcoding().attack(
        scene_of(rows, [("north",)] * 3 + [("Kiel",)] * 2, 2, {"town": five})
    )
    assert told.details["wrong"] == told.details["contradicted"] == 0


def test_a_class_of_k_cannot_spare_a_record_for_a_finer_one():
    rows = [("Kiel",), ("Bremen",), ("Kiel",), ("Kiel",)]
    told = Downcoding().attack(
        scene_of(rows, [("north",)] * 2 + [("Kiel",)] * 2, 2, {"town": TOWNS})
    )
    assert told.value == 0.5 and told.details["pinned"] == 2 and told.details["contradicted"] == 0


def _columns(attack, scene, field):
    found = audit.audit_release(scene, 2, attack.assume, attack.most)
    return [name for each in found.classes for name in getattr(each, field)]


def test_forbidden_combinations_are_solved_together():
    # five records of k=3 in (*, *) beside three in (a, x): no one of the five is (a, x)
    tree = Tree({TOP: ["a", "b"]})
    rows = [("a", "y"), ("a", "y"), ("b", "x"), ("b", "x"), ("b", "y"), *[("a", "x")] * 3]
    scene = scene_of(
        rows, [(TOP, TOP)] * 5 + [("a", "x")] * 3, 3, {"one": tree, "two": Tree({TOP: ["x", "y"]})}
    )
    told = Downcoding().attack(scene)
    assert (
        told.details["solved_together"] == 1
        and told.details["wrong"] == told.details["contradicted"] == 0
    )


@st.composite
def minimal_releases(draw):
    rows = draw(st.lists(st.sampled_from(DOMAIN), min_size=2, max_size=5))
    k = draw(st.integers(2, min(3, len(rows))))
    return rows, oracle.minimal_release(rows, k, LADDERS, draw(st.integers(0, 10**6))), k


@given(minimal_releases())
@settings(max_examples=25)
def test_the_truth_is_always_among_what_minimality_allows(made):
    rows, released, k = made
    scene = scene_of(rows, released, k)
    for assume in ("release", "class", "cover"):
        details = Downcoding(assume).attack(scene).details
        assert details["wrong"] == details["contradicted"] == 0


@pytest.mark.slow
@given(
    st.sampled_from([("north", "f"), ("north", TOP), (TOP, TOP), (TOP, "m")]),
    st.integers(2, 4),
    st.integers(2, 3),
    st.lists(
        st.sampled_from(
            [(t, s) for t in ("Kiel", "Ulm", "north", "south", TOP) for s in ("f", TOP)]
        ),
        max_size=2,
        unique=True,
    ),
)
@settings(max_examples=15)
def test_bounds_are_those_of_the_definition(key, size, k, others):
    others = [other for other in others if other != key]
    size = max(size, k)
    crowd = Counter(dict.fromkeys(others, k))
    wanted = oracle.occupancy_bounds(key, size, k, LADDERS, crowd)
    # every value occurs in the original, and some filling is released under each key
    first = [
        next(d for d in DOMAIN if all(n in LADDERS[c][d[c]] for c, n in enumerate(way)))
        for way in [key, *others]
    ]
    rows = [first[0]] * size + [row for row in first[1:] for _ in range(k)]
    keys = [key] * size + [other for other in others for _ in range(k)]
    scene = _with_all_values(rows, keys, k)
    released = audit.ReleasedClasses.of(scene)
    place = next(p for p in range(len(released.rows)) if 0 in released.rows[p])
    limits = audit._limits(scene, released, k, "release")
    columns = [(c, limits[place, c]) for c in range(2) if (place, c) in limits]
    found = audit.bounds_of(released, place, columns, released.finer(place), k, size)
    if wanted is None:
        assert any(bound is None for bound in found.values())
        return
    for c, bound in found.items():
        assert bound is not None
        names = sorted(scene.pair.original.column(("town", "sex")[c]).unique().to_list())
        for i, part in enumerate(released.parts(place, c)):
            value = names[int(np.flatnonzero(part)[0])]
            child = LADDERS[c][value][LADDERS[c][value].index(key[c]) - 1]
            assert (bound.least[0][i], bound.most[0][i]) == wanted[c][child]


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        ([], {"Kiel": (0, 1), "Bremen": (0, 1), "Jever": (0, 1)}),
        (["Kiel"], {"Kiel": (0, 1), "Bremen": (0, 1), "Jever": (0, 1)}),
        (["Kiel", "Bremen"], {"Kiel": (0, 1), "Bremen": (0, 1), "Jever": (1, 1)}),
        (["Kiel", "Bremen", "Jever"], None),
    ],
)
def test_of_k_records_one_has_no_finer_class_to_join(others, wanted):
    """In a class of just k records nobody may leave alone, but all would have left together."""
    ladder = {town: (town, "north", TOP) for town in ("Bremen", "Jever", "Kiel")}
    crowd = Counter({(other,): 2 for other in others})
    bounds = oracle.occupancy_bounds(("north",), 2, 2, [ladder], crowd)
    assert bounds == (None if wanted is None else (wanted,))
    rows, keys = [("Kiel",), ("Jever",)], [("north",)] * 2
    for other in others:
        rows, keys = rows + [(other,)] * 2, keys + [(other,)] * 2
    left = [(town,) for town in [*ladder, "Ulm", "Passau"]]
    scene = scene_of(rows + left, keys + left, 2, {"town": THREE})
    released = audit.ReleasedClasses.of(_released_only(scene, len(rows)))
    place = next(p for p in range(len(released.rows)) if 0 in released.rows[p])
    found = audit.bounds_of(released, place, [(0, 1)], released.finer(place), 2, 12)[0]
    told = found and dict(
        zip(sorted(ladder), zip(found.least[0], found.most[0], strict=True), strict=True)
    )
    assert told == wanted


def _with_all_values(rows, keys, k):
    """A release of these rows only, of an original in which every value occurs."""
    return _released_only(scene_of(rows + DOMAIN, keys + DOMAIN, k), len(rows))


def _released_only(scene, rows):
    pair, kept = scene.pair, np.arange(rows)
    released = dataclasses.replace(pair.released.take(kept), origin=kept)
    return dataclasses.replace(scene, pair=TablePair(pair.original, released, kept))


combinations = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=6, unique=True
)


@given(combinations, st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=25)
def test_the_solver_and_enumeration_agree(allowed, size, most):
    pytest.importorskip("ortools")
    assert occupancy._solve_bounds(
        size, [3, 2], most, allowed, 10.0
    ) == occupancy._enumerate_bounds(size, [3, 2], most, allowed)


def test_without_the_solver_single_columns_still_speak(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    monkeypatch.setattr(occupancy, "MOST_CASES", 0)
    tree = Tree({TOP: ["a", "b"]})
    rows = [("a", "y"), ("a", "y"), ("b", "x"), ("b", "x"), ("b", "y"), *[("a", "x")] * 3]
    scene = scene_of(
        rows, [(TOP, TOP)] * 5 + [("a", "x")] * 3, 3, {"one": tree, "two": Tree({TOP: ["x", "y"]})}
    )
    told = Downcoding().attack(scene)
    assert told.details["solved_together"] == 0 and told.details["contradicted"] == 0


def test_global_recoding_speaks_only_where_one_class_can_be_the_reason():
    tree = {"town": TOWNS}
    alone = scene_of(
        [("Kiel",), ("Ulm",)], [(TOP,)] * 2, 2, tree, steps=(sf.GlobalRecoding(suppress="none"),)
    )
    assert Downcoding().attack(alone).value == 1.0
    rows = [("Kiel",), ("Bremen",), ("Ulm",), ("Passau",)]
    several = scene_of(
        rows, [("north",)] * 2 + [("south",)] * 2, 2, tree, steps=(sf.GlobalRecoding(),)
    )
    told = Downcoding().attack(several)
    assert told.value == 0.0 and told.details["assumed"] == "table"


@pytest.mark.slow
def test_local_recoding_with_k_two_gives_much_away_and_nothing_wrong():
    people = sf.examples.hospital(rows=300)
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.LocalRecoding()])
    found = release.attack(only=["downcoding"]).tried[0].finding
    assert found.value > 0.3 and found.details["wrong"] == found.details["contradicted"] == 0


@pytest.mark.parametrize(
    ("models", "steps", "reason"),
    [
        ((), (), "no k-anonymity"),
        ((sf.KAnonymity(1),), (), "no k-anonymity"),
        ((sf.KAnonymity(2), sf.LDiversity("sex", l=2)), (), "other promises"),
        ((sf.KAnonymity(2),), (sf.KOptimize(),), "k optimize"),
    ],
)
def test_says_why_it_does_not_apply(models, steps, reason):
    scene = scene_of([("Ulm", "f")] * 2, [("Ulm", "f")] * 2, models=models, steps=steps)
    assert reason in Downcoding().applies(scene)


def test_time_that_is_up_leaves_the_outcome_unknown():
    scene = single(["Ulm", "Passau"], "south", 2, TOWNS, seconds=0.0)
    with pytest.raises(ParameterError, match="time budget ran out"):
        Downcoding().attack(scene)


def test_missing_values_and_labels_that_are_no_nodes_are_no_trouble():
    rows = [("Ulm", None), ("Passau", None), ("Kiel", "f"), ("Kiel", "f")]
    released = [("south", None), ("south", None), ("{Kiel, Ulm}", TOP), ("{Kiel, Ulm}", TOP)]
    assert Downcoding().attack(scene_of(rows, released)).details["classes"] == 2


@given(st.integers(0, 10**6))
def test_finer_classes_are_those_below_in_every_column(seed):
    rng = np.random.default_rng(seed)
    labels = ([*LADDERS[0], "north", "south", TOP], [*LADDERS[1], TOP])
    rows = [DOMAIN[i] for i in rng.integers(len(DOMAIN), size=30)]
    told = [
        tuple(names[i] for names, i in zip(labels, rng.integers(3, size=2), strict=True))
        for _ in rows
    ]
    classes = audit.ReleasedClasses.of(scene_of(rows, told))
    for place in range(len(classes.keys)):
        below = [
            other
            for other in range(len(classes.keys))
            if other != place
            and all(
                c.below[classes.keys[other, n], classes.keys[place, n]]
                for n, c in enumerate(classes.columns)
            )
        ]
        assert classes.finer(place).tolist() == below
