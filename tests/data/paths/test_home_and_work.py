"""Attacks by what everybody's neighbours know: where somebody lives and works; and by another file
of paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.attack import NothingToAttack, Scene
from sfumato.data.paths import HomeAndWork, PathLinkage
from tests.data.paths.test_unicity import recoded
from tests.oracles import paths as oracle


def two_places(path):
    """Home and work by the definition: night 20–7, day 9–17, else what is visited most; ties to the
    first name.
    """
    points = sorted(path)

    def most(chosen):
        names = [a for _, a in chosen]
        return min(names, key=lambda a: (-names.count(a), a)) if names else None

    home = most([p for p in points if p[0] >= 20 or p[0] < 7]) or most(points)
    work = most([p for p in points if 9 <= p[0] < 17])
    return home, work or most([p for p in points if p[1] != home]) or home


@given(
    st.lists(
        st.frozensets(
            st.tuples(st.integers(0, 23), st.sampled_from("abc")), min_size=1, max_size=6
        ),
        min_size=2,
        max_size=6,
    )
)
def test_home_and_work(paths):
    people = oracle.people_of(paths)
    pairs = [two_places(path) for path in paths]
    finding = HomeAndWork().attack(Scene.of(people, people.shuffled(np.random.default_rng(1))))
    assert finding.value == pytest.approx(np.mean([pairs.count(pair) == 1 for pair in pairs]))
    assert finding.details["found"] == len(paths)


def test_home_and_work_in_a_coarser_release():
    people = examples.mobility(80)
    coarse = recoded(people, place_level=4, time_width="all", cell=500)
    before, after = (HomeAndWork().attack(Scene.of(people, one)) for one in (people, coarse))
    assert before.value > 0.8 > after.value
    assert not after.details["by_hour"]


def test_another_file_of_the_same_people():
    """Half of the points of everybody find all of them again in the data, and nobody once there is
    one place and no time.
    """
    people = examples.mobility(60, days=4)
    half = np.arange(len(people.ticks)) % 2 == 0
    other = people.with_points(people.who[half], people.ticks[half], people.places[half])
    found = PathLinkage().attack(
        Scene.of(people, people.shuffled(np.random.default_rng(2)), others=(other,))
    )
    assert (found.value, found.details["wrong"]) == (1.0, 0)
    nothing = recoded(people, place_level=tower_top(people), time_width="all", cell=500)
    assert PathLinkage().attack(Scene.of(people, nothing, others=(other,))).value == 0
    assert isinstance(PathLinkage().applies(Scene.of(people, people)), NothingToAttack)
    unnamed = people.shuffled(np.random.default_rng(2))
    assert (
        PathLinkage().applies(Scene.of(people, people, others=(unnamed,)))
        == "who is who in the two files is unknown"
    )


def tower_top(people):
    from sfumato.data.paths.places import tower_of

    return tower_of(people, cell=500).top


def test_linkage_scores():
    """S(r) = Σ 1/ln max(2, support): person 2 shares a point of 1 and one of 2 carriers, 1/ln 2 +
    1/ln 2, person 1 only the second.
    """
    people = oracle.people_of([{(1, "a"), (2, "b")}, {(2, "b"), (3, "c")}, {(9, "d")}])
    aux = oracle.people_of([{(5, "e")}, {(2, "b"), (3, "c")}, {(6, "e")}])
    scores = np.array([1 / np.log(2), 2 / np.log(2), 0])
    eccentricity = (scores[1] - scores[0]) / scores.std()
    near = PathLinkage(eccentricity=eccentricity - 1e-9).attack(
        Scene.of(people, people, others=(aux,))
    )
    far = PathLinkage(eccentricity=eccentricity + 1e-9).attack(
        Scene.of(people, people, others=(aux,))
    )
    assert (near.details["right"], far.details["right"]) == (1, 0)
