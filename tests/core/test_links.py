"""Persons whose records lie in several classes can no longer be followed: the run says so, with
figures, and the shared report says what happened.
"""

from __future__ import annotations

import itertools
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.design import link_warnings
from sfumato.core.words import percent
from sfumato.release.report.wording import RENUMBERED


def people(draw, persons, rows):
    cells = [
        (f"p{p}", draw.choice("xyz"), draw.choice("ab"))
        for p in range(persons)
        for _ in range(draw.randint(1, rows))
    ]
    frame = pl.DataFrame(cells, schema=["person", "home", "ill"], orient="row")
    return sf.read(frame).with_roles(quasi=["home"], sensitive=["ill"], person="person")


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


def test_the_shared_report_says_renumbered(tmp_path):
    release = sf.anonymize(
        people(random.Random(1), 30, 3), [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.4)], seed=1
    )
    folder = release.write(tmp_path / "out")
    page = (folder / "share" / "report.html").read_text(encoding="utf-8")
    assert (
        RENUMBERED in page
        and "can no longer be linked" in page
        and page.count("released as it is") == 1
    )
    assert sf.verify(folder / "share").holds


def test_a_column_that_no_step_names_is_not_said_to_be_changed(tmp_path):
    original = people(random.Random(2), 30, 1).with_roles(keep=["person"])
    frame = original.to_polars().with_columns(cost=pl.Series(range(len(original))).cast(pl.Float64))
    table = sf.read(frame).with_roles(quasi=["home"], sensitive=["ill"], keep=["person", "cost"])
    release = sf.anonymize(
        table, [sf.KAnonymity(2)], [sf.AddNoise(["cost"], alpha=0.1), sf.GlobalRecoding()], seed=1
    )
    page = (release.write(tmp_path / "out") / "share" / "report.html").read_text(encoding="utf-8")
    assert page.count("changed by") == 1
