"""The survey's design as arrays: which rows belong together, and how much each counts."""

from __future__ import annotations

import itertools
import random

import pytest

import sfumato as sf
from sfumato.core.design import link_warnings
from sfumato.core.words import percent
from tests.core.test_links import people


def naive(original, release):
    """Persons with several numbers, persons, and the share of pairs of one person's records that
    have different numbers now.
    """
    rows = release.released.origin
    who = [original.column("person")[int(row)] for row in rows]
    now = release.released.column("person").to_list()
    numbers = {p: {n for w, n in zip(who, now, strict=True) if w == p} for p in set(who)}
    pairs = [(a, b) for a, b in itertools.combinations(range(len(who)), 2) if who[a] == who[b]]
    lost = sum(now[a] != now[b] for a, b in pairs)
    return (
        sum(len(n) > 1 for n in numbers.values()),
        len(numbers),
        lost / len(pairs) if pairs else 0,
    )


@pytest.mark.parametrize("case", range(25))
def test_lost_links_are_counted(case):
    draw = random.Random(case)
    original = people(draw, draw.randint(5, 30), draw.randint(1, 5))
    release = sf.anonymize(original, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.4)], seed=case)
    split, persons, lost = naive(original, release)
    warnings = link_warnings(release.released, release.original)
    if not split:
        assert not warnings
        return
    (warning,) = warnings
    assert (
        warning.startswith(f"{split:,} of {persons:,} persons in column 'person'")
        and f" {percent(lost)} of the pairs" in warning
    )
    assert warning in release.warnings
