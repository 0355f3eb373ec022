"""Labels that several levels of a hierarchy write for different values: ``other`` of a hierarchy by
frequency.
"""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.hierarchy import Hierarchy, Paths, bind
from sfumato.core.pair import TablePair, levels_of
from sfumato.core.reading import ColumnLevel, read_column
from sfumato.core.schema import Attribute, Role
from sfumato.methods.formulas.binning import bin_column
from sfumato.methods.utility.information_loss import Loss
from sfumato.release.folder import read_release

JOBS = {"a": 8, "b": 6, "c": 4, "d": 3, "e": 2, "f": 1}
BY_FREQUENCY = Attribute((Role.QUASI,), hierarchy=sf.frequency(4, 2, 1))


@dataclasses.dataclass(frozen=True)
class Listed(Hierarchy):
    """A hierarchy of someone's own: one row a leaf."""

    rows: tuple[tuple[str, ...], ...]
    name = "listed"

    def paths(self, values, counts):
        by_leaf = {row[0]: row for row in self.rows}
        return Paths.from_leaf_rows([by_leaf[value] for value in values], self.rows)


def people() -> sf.Table:
    jobs = [job for job, count in JOBS.items() for _ in range(count)]
    ages = [20 + 10 * (row % 2) for row in range(len(jobs))]
    ills = [("flu", "cold", "gout")[row % 3] for row in range(len(jobs))]
    frame = pl.DataFrame({"job": jobs, "age": ages, "ill": ills})
    return (
        sf.read(frame)
        .with_roles(quasi=["job", "age"], sensitive=["ill"])
        .with_hierarchies(job=sf.frequency(4, 2, 1), age=sf.suppress())
    )


def recoded(level: int) -> sf.Release:
    step = sf.GlobalRecoding(levels={"job": [level, level], "age": [1, 1]}, budget=0.0)
    return sf.anonymize(people(), meet=[sf.KAnonymity(1)], steps=[step], seed=1)


def held(reading, label: str) -> set[str]:
    code = reading.labels.index(label)
    return {
        reading.values[value]
        for value in reading.members[reading.starts[code] : reading.starts[code + 1]]
    }


@pytest.mark.parametrize(("level", "others"), [(1, "ef"), (2, "cdef"), (3, "bcdef")])
def test_a_label_is_read_at_the_level_of_the_plan(level, others):
    release = recoded(level)
    reading = release.pair.reading("job")
    assert reading.level == level
    assert held(reading, "other") == set(others)
    assert reading.truthful(release.pair.rows).all()
    # Iyengar's loss of the node: (leaves - 1) / (all leaves - 1)
    assert reading.loss[reading.labels.index("other")] == pytest.approx((len(others) - 1) / 5)
    rows = sum(JOBS[job] for job in others)
    assert release.pair.losses("job").mean() == pytest.approx(rows / 24 * (len(others) - 1) / 5)
    assert release.evaluate([Loss()]).measures[0].per_column["job"] == pytest.approx(
        rows / 24 * (len(others) - 1) / 5
    )


def test_the_picture_spreads_a_label_over_the_values_of_its_level():
    drawn = bin_column(recoded(2).pair, "job")
    after = dict(zip(drawn.names, drawn.after, strict=True))
    assert after == pytest.approx({"a": 8 / 24, "b": 6 / 24, **dict.fromkeys("cdef", 10 / 24 / 4)})


def test_without_a_level_a_label_may_stand_for_what_any_level_writes_it_for():
    release = recoded(2)
    reading = TablePair.of(release.original, release.released).reading("job")
    assert reading.level is None
    assert held(reading, "other") == set("bcdef") and held(reading, "b") == {"b"}
    assert reading.loss[reading.labels.index("other")] == pytest.approx(4 / 5)


def test_levels_that_write_a_label_for_different_values_leave_all_of_them_open():
    rows = {"p": ("x", "low"), "q": ("x", "low"), "r": ("y", "x"), "s": ("y", "x"), "t": ("t", "t")}
    attribute = Attribute(
        (Role.QUASI,), hierarchy=Listed(tuple((leaf, *above, "*") for leaf, above in rows.items()))
    )
    before, after = pl.Series("c", list("pqrst")), pl.Series("c", ["x", "x", "x", "x", "t"])
    anywhere = read_column("c", attribute, before, after)
    assert held(anywhere, "x") == set("pqrs") and anywhere.loss[
        anywhere.labels.index("x")
    ] == pytest.approx(3 / 4)
    assert held(read_column("c", attribute, before, after, ColumnLevel(1, 3)), "x") == set("pq")
    assert held(read_column("c", attribute, before, after, ColumnLevel(2, 3)), "x") == set("rs")


def test_an_unchanged_column_stands_on_its_lowest_level():
    jobs = [*"aaabbc", "other"]
    table = (
        sf.read(pl.DataFrame({"job": jobs}))
        .with_roles(quasi=["job"])
        .with_hierarchies(job=sf.frequency(2, 1))
    )
    pair = TablePair.of(table, table)
    assert held(pair.reading("job"), "other") == {"other"} and not pair.losses("job").any()


def test_a_level_of_a_ladder_with_other_levels_is_not_taken_for_granted():
    ladder = bind(BY_FREQUENCY.hierarchy, list(JOBS), list(JOBS.values()))
    assert ladder.top == 4
    assert [
        ColumnLevel(2, 4).on(ladder),
        ColumnLevel(2, 3).on(ladder),
        ColumnLevel(0, 9).on(ladder),
        ColumnLevel(9, 9).on(ladder),
    ] == [
        2,
        None,
        0,
        4,
    ]


def test_columns_that_hold_labels_of_several_levels_stand_on_none():
    place = {"level": 1, "top": 3}
    assert levels_of([{"levels": {"a": place}}, {"levels": {"a": {"level": 2, "top": 3}}}]) == {
        "a": ColumnLevel(2, 3)
    }
    assert levels_of([{"levels": {"a": place}}, {"columns": ["a"]}]) == {}
    assert (
        levels_of([{"masked": {"a": "generalised person by person"}}, {"levels": {"a": place}}])
        == {}
    )
    blanked = {"columns": ["a"], "suppressed_cells": {"a": 3}}
    noise = {"masked": {"a": "values exchanged"}}
    assert levels_of([{"levels": {"a": place}}, blanked, noise]) == {"a": ColumnLevel(1, 3)}


@pytest.mark.slow
def test_a_written_release_tells_its_levels(tmp_path):
    release = recoded(2)
    release.write(tmp_path / "out")
    assert read_release(tmp_path / "out").beside(release.original).reading("job").level == 2


def test_a_hierarchy_that_was_made_from_a_part_of_the_rows_is_read_with_care():
    """Of a sample other values are common: ``other`` may stand for whatever was not released as
    itself.
    """
    jobs = [*"a" * 12, *"b" * 10, *"c" * 9, *"d" * 8, *"e" * 3]
    people = (
        sf.read(pl.DataFrame({"job": jobs}))
        .with_roles(quasi=["job"])
        .with_hierarchies(job=sf.frequency(3, 2))
    )
    steps = [sf.Sample(0.3), sf.GlobalRecoding(levels={"job": [2, 2]}, budget=0.0)]
    found = [
        sf.anonymize(people, meet=[sf.KAnonymity(1)], steps=steps, seed=seed).pair
        for seed in range(8)
    ]
    assert any(
        set(pair.reading("job").labels) != {"a", "b", "other"} for pair in found
    )  # some samples rank otherwise
    for pair in found:
        reading = pair.reading("job")
        assert reading.truthful(pair.rows).all()
        assert not held(reading, "other") & (set(reading.labels) - {"other"})


def test_the_attacks_are_tried_where_levels_share_a_label():
    release = recoded(2)
    report = release.attack(only=["homogeneity", "skewness", "probabilistic_inference"], seconds=5)
    assert len(report.tried) == 3 and not report.skipped


tables = st.tuples(
    st.lists(st.sampled_from("abcdefg"), min_size=3, max_size=25),
    st.lists(st.integers(1, 6), min_size=1, max_size=3).map(
        lambda keep: sorted(keep, reverse=True)
    ),
    st.integers(0, 4),
)


@given(tables)
def test_whatever_the_level_every_cell_fits_and_loses_what_its_node_does(drawn):
    jobs, keep, wanted = drawn
    level = min(wanted, len(keep) + 1)
    people = (
        sf.read(pl.DataFrame({"job": jobs}))
        .with_roles(quasi=["job"])
        .with_hierarchies(job=sf.frequency(*keep))
    )
    step = sf.GlobalRecoding(levels={"job": [level, level]}, budget=0.0)
    pair = sf.anonymize(people, meet=[sf.KAnonymity(1)], steps=[step], seed=1).pair
    ranked = sorted(set(jobs), key=lambda job: (-jobs.count(job), job))
    others = ranked[keep[level - 1] :] if 0 < level <= len(keep) else []
    reading = pair.reading("job")
    assert reading.truthful(pair.rows).all()
    if "other" in reading.labels:
        assert held(reading, "other") == set(others)
    if level <= len(keep) and len(ranked) > 1:
        loss = (
            sum(job in others for job in jobs) / len(jobs) * (len(others) - 1) / (len(ranked) - 1)
            if others
            else 0.0
        )
        assert pair.losses("job").mean() == pytest.approx(loss)
