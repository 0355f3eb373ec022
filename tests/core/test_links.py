"""Persons whose records lie in several classes can no longer be followed: the run says so, with
figures, and the shared report says what happened.
"""

from __future__ import annotations

import random

import polars as pl

import sfumato as sf
from sfumato.release.report.wording import RENUMBERED


def people(draw, persons, rows):
    cells = [
        (f"p{p}", draw.choice("xyz"), draw.choice("ab"))
        for p in range(persons)
        for _ in range(draw.randint(1, rows))
    ]
    frame = pl.DataFrame(cells, schema=["person", "home", "ill"], orient="row")
    return sf.read(frame).with_roles(quasi=["home"], sensitive=["ill"], person="person")


def test_the_shared_report_says_renumbered(tmp_path):
    release = sf.anonymize(
        people(random.Random(1), 30, 3), [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.4)], seed=1
    )
    folder = release.write(tmp_path / "out")
    page = (folder / "share" / "report.html").read_text(encoding="utf-8")
    assert (
        RENUMBERED in page
        and "in other classes people have other numbers" in page
        and page.count("released unchanged") == 2
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
