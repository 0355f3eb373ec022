"""Evening out the numbers of rows: nobody goes, the promise holds, and with one table no other
groups lose less.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.relational.even_counts import EvenCounts, best_cuts, even_groups
from sfumato.data.relational.models import PersonsKAnonymity
from sfumato.data.relational.steps import KeyPseudonyms
from sfumato.errors import ParameterError, Unsatisfiable
from tests.data.relational.random_relations import relations


def partitions(members):
    """All ways to put members into groups."""
    if not members:
        yield []
        return
    first, rest = members[0], members[1:]
    for size in range(len(rest) + 1):
        for more in itertools.combinations(rest, size):
            for others in partitions([m for m in rest if m not in more]):
                yield [[first, *more], *others]


def lost(groups, counts):
    return sum(counts[i] - min(counts[j] for j in group) for group in groups for i in group)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=7), st.integers(1, 3))
def test_no_other_groups_lose_fewer_rows(counts, k):
    if len(counts) < k:
        return
    ways = [groups for groups in partitions(list(range(len(counts)))) if min(map(len, groups)) >= k]
    ascending = sorted(counts)
    cuts = [list(range(*cut)) for cut in best_cuts(ascending, k)]
    assert min(map(len, cuts)) >= k
    assert [i for group in cuts for i in group] == list(range(len(counts)))
    assert lost(cuts, ascending) == min(lost(groups, counts) for groups in ways)


def test_a_worked_number():
    # 1, 1, 2, 8, 9 in groups of two: {1, 1, 2} loses 1, {8, 9} loses 1; {1, 1}, {2, 8, 9} would
    # lose 13
    assert best_cuts([1, 1, 2, 8, 9], 2) == [(0, 3), (3, 5)]
    groups = even_groups(np.zeros(5, np.int64), np.array([9, 1, 2, 8, 1]), 2)
    assert groups.tolist() == [1, 0, 0, 1, 0]


@given(relations(), st.integers(2, 4), st.booleans())
def test_everybody_stays_and_has_as_many_rows_as_others(drawn, k, own):
    people = sf.read_tables(drawn.frames, drawn.said)
    model, step = PersonsKAnonymity(k, "counts", own=own), EvenCounts()
    plan = step.plan(people, Goal((model,), Seed.of(3)))
    left = step.apply(people, plan)
    assert left.people == people.people
    small = (
        np.bincount(people.shown().own)[people.shown().own] < k
        if own
        else np.full(people.people, people.people < k)
    )
    assert not (model.broken(left) & ~small).any()
    gone = {rows.name: len(rows) - len(left[rows.name]) for rows in people.below}
    assert plan.describe()["rows_dropped"] == gone
    assert bool(plan.warnings) == bool(small.any())
    for rows in left.below:  # every key still names a row
        assert (rows.above < len(left[rows.link.parent])).all()


def test_what_is_refused():
    clinic, counts = examples.clinic(60), PersonsKAnonymity(3, "counts", own=False)
    with pytest.raises(ParameterError, match="knows: counts"):
        EvenCounts().plan(clinic, Goal((PersonsKAnonymity(3, "own"),), Seed.of(1)))
    with pytest.raises(Unsatisfiable, match="more than the budget of 0 allows"):
        EvenCounts(0.0).plan(clinic, Goal((counts,), Seed.of(1)))
    cut = KeyPseudonyms(split=True)
    apart = cut.apply(clinic, cut.plan(clinic, Goal((counts,), Seed.of(1))))
    with pytest.raises(ParameterError, match="before the split"):
        EvenCounts().plan(apart, Goal((counts,), Seed.of(1)))


def test_it_holds_on_the_written_files(tmp_path):
    people = pl.DataFrame({"person_id": [f"p{i:03d}" for i in range(60)], "sex": ["f", "m"] * 30})
    who = [i for i in range(60) for _ in range(1 + i % 9)]
    visits = pl.DataFrame({"person_id": [f"p{i:03d}" for i in who], "ward": ["x"] * len(who)})
    recipe = {
        "tables": {
            "people": {"key": "person_id", "columns": {"sex": {"role": "quasi"}}},
            "visits": {
                "belongs_to": {"people": "person_id"},
                "columns": {"ward": {"role": "keep"}},
            },
        },
        "meet": [{"persons_k_anonymity": {"k": 5, "knows": "counts"}}],
        "steps": [{"even_counts": {}}],
    }
    from sfumato.core import recipe_files

    made = sf.run(
        {"people": people, "visits": visits}, recipe_files.any_from_dict(recipe), seed=1, seconds=0
    )
    share = made.write(tmp_path / "out") / "share"
    read = pl.read_csv(share / "people.csv").join(
        pl.read_csv(share / "visits.csv").group_by("person_id").len(), on="person_id"
    )
    assert read.height == 60
    assert read.group_by("sex", "len").len("persons")["persons"].min() >= 5
    assert sf.verify(share)
