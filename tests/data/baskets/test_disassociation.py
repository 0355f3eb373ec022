"""Disassociation: items of a person are not generalised or deleted, but no longer stand
together."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.source import Source
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.disassociated_km import DisassociatedKm
from sfumato.data.baskets.disassociation import Disassociation, horizontal, reconstructed, vertical
from sfumato.data.baskets.models import KmAnonymity
from sfumato.errors import Unsatisfiable
from tests.data.baskets.ten import BASKETS, people_of
from tests.data.baskets.test_means import made


def test_worked_clusters():
    """14-A: HorPart (max 5); and chunks {ab,ab,a,a,b}, {c,c,c} and bare x, y of {abx,ab,acy,bc,ac}
    with k = m = 2.
    """
    assert [(rows + 1).tolist() for rows in horizontal(examples.baskets().sets, 5)] == [
        [2, 3, 9],
        [1, 5, 6, 10],
        [4, 7, 8],
    ]
    people = people_of([set("abx"), set("ab"), set("acy"), set("bc"), set("ac")], hierarchy=False)
    cluster = vertical(people, np.arange(5), DisassociatedKm(2, 2))
    assert sorted("".join(sorted(part)) for part in cluster.chunks[0]) == [
        "a",
        "a",
        "ab",
        "ab",
        "b",
    ]
    assert [sorted(part) for part in cluster.chunks[1]] == [["c"]] * 3
    assert cluster.terms == {"x", "y"}


@given(BASKETS, st.integers(0, 5))
def test_baskets_taken_apart_and_put_together(baskets, seed):
    assume(sum(map(bool, baskets)) >= 2)
    people, model = people_of(baskets), DisassociatedKm(2, 2)
    try:
        released, plan = made(Disassociation(4), people, model)
    except Unsatisfiable:
        return
    shuffled = released.shuffled(np.random.default_rng(seed))
    read = Baskets.from_tables(shuffled.to_tables(), {"data": people.schema}, Source())
    assert model.judge(Evidence(shuffled)).holds
    assert model.judge(Evidence(read)).holds
    assert read.counts() == shuffled.counts() == released.counts()
    assert shuffled.people == sum(map(bool, baskets)) == people.people - plan.left_out
    again = reconstructed(read, np.random.default_rng(seed))
    kept = {item for cluster in released.clusters for item in cluster.terms}
    for label in (
        set(people.labels) - kept
    ):  # supports of items that are not bare stay what they were
        assert int(again.sets.supports[again.codes_of((label,))[0]]) == sum(
            label in one for one in baskets
        )
    assert not KmAnonymity(2, 2).judge(Evidence(read)).holds
