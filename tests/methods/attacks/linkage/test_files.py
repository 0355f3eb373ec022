"""Both files as arrays of distinct records, and who is whom."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato import kernels
from sfumato.methods.attacks.linkage.aggregators import MEAN, Family
from sfumato.methods.attacks.linkage.distance_rules import plain_arrays
from sfumato.methods.attacks.linkage.files import (
    KEPT,
    MARGIN,
    files_of,
    look,
    same_person,
    units_of,
)
from sfumato.methods.attacks.linkage.search import TIE as NEAR
from tests.methods.attacks.test_nearest import SEEDS, scene


@given(SEEDS)
def test_rows_of_one_person_are_found_among_all(seed):
    rng = np.random.default_rng(seed)
    truth, rows = (
        rng.integers(-1, 12, size=rng.integers(0, 9)),
        rng.integers(12, size=rng.integers(0, 30)),
    )
    expected = [[i, j] for i, t in enumerate(truth) for j, r in enumerate(rows) if t == r]
    assert same_person(truth, rows).tolist() == expected


@given(SEEDS, st.booleans())
def test_a_look_through_the_tree_is_a_look_at_all(seed, sparse):
    here = scene(seed)
    files = files_of(here)
    arrays, units = plain_arrays(files), units_of(files)
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(len(arrays.names))) * (
        rng.random(len(arrays.names)) < (0.5 if sparse else 1.1)
    )
    family = Family(MEAN, len(arrays.names))
    own, others, distances, tied, twins, reach = kernels.linkage.find_impostors(
        units.pairs, MEAN, weights, KEPT, arrays.files, MARGIN, NEAR
    )
    found = look(arrays, units, family, weights)
    assert (
        (found.others == others).all()
        and (found.twins == twins).all()
        and (found.reach == reach).all()
    )
    assert (found.credit == np.where(tied > 0, units.people / np.maximum(1, tied), 0.0)).all()
    assert (found.apart == (distances[:, 0] >= own + MARGIN)).all()
    again = look(arrays, units, family, weights, before=found)
    assert (
        (again.others == others).all()
        and (again.reach == reach).all()
        and (again.credit == found.credit).all()
    )
