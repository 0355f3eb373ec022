"""The crowd a person stands in: the released records an intruder cannot tell apart, and the
sensitive values they have."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.attacks.crowd import alike_records, crowd_of, distinct, true_labels
from tests.methods.attacks.test_changed_secrets import scene_of
from tests.methods.attacks.test_nearest import SEEDS, scene


def test_a_value_stands_under_its_own_label_or_the_narrowest_that_holds_it():
    scene = scene_of(["a"] * 5, [1, 2, 3, 8, 5], ["1-3", "4-9", "3", "1-3", "*"])
    labels = scene.pair.reading("secret").labels
    found = [labels[code] if code >= 0 else None for code in true_labels(scene.pair, "secret")]
    assert found == ["1-3", "1-3", "3", "4-9", "*"]


@given(SEEDS, st.sampled_from([3, 1000, 2**40]))
def test_distinct_records_are_those_of_sorting(seed, largest):
    rng = np.random.default_rng(seed)
    pool = rng.integers(largest, size=(5, 4))
    table = pool[rng.integers(5, size=rng.integers(1, 60))]
    found = distinct(list(table.T))
    codes, which, records = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    assert (
        (found.codes == codes).all()
        and (found.kind_of == which.ravel()).all()
        and (found.records == records).all()
    )


@given(SEEDS)
def test_crowds_against_counting(seed):
    here = scene(seed)
    pair, names = here.pair, list(here.pair.columns)
    known, column = names[:-1], names[-1]
    crowd = crowd_of(pair, known, column)
    rows = list(zip(*(pair.released.to_polars()[n] for n in known), strict=True)) or [()] * len(
        pair.released
    )
    secrets = pair.released.to_polars()[column].to_list()
    counted = Counter(zip(rows, secrets, strict=True))
    for row, (key, secret) in enumerate(zip(rows, secrets, strict=True)):
        group = crowd.classes[row]
        inside = (crowd.pair_classes == group) & (crowd.pair_values == crowd.labels.index(secret))
        assert crowd.sizes[group] == rows.count(key) and crowd.counts[inside].tolist() == [
            counted[key, secret]
        ]
        place = np.flatnonzero(
            (crowd.pair_classes == group) & (crowd.pair_values == crowd.truth[row])
        )
        assert crowd.pairs[row] == (place[0] if crowd.truth[row] >= 0 and len(place) else -1)
    assert crowd is crowd_of(pair, known[::-1], column)


def test_records_are_told_apart_once_for_a_pair():
    pair = scene(1).pair
    names = list(pair.columns)
    assert alike_records(pair, names) is alike_records(pair, names[::-1])
