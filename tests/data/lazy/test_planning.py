"""Every step releases the same rows whatever holds the table: memory or an engine, in any order of
rows, and in any pieces.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import registry
from sfumato.core.evidence import columns_seen
from sfumato.core.randomness import Numbering, Seed, marked, row_keys
from sfumato.core.step import Goal, Span, Step
from sfumato.core.table import Table
from sfumato.data.lazy.planning import Planning
from sfumato.errors import ParameterError, SchemaError

COARSE = [sf.GlobalRecoding(budget=0.1)]
DIRECT = ["patient_name", "insurance_number", "email"]
KEY = {"env": "SFUMATO_TEST_KEY"}
PIECE = 150
"""Rows in memory at once: several pieces, the last of another size."""

CASES: dict[str, list[Any]] = {
    "global_recoding": COARSE,
    "global_recoding, cells": [sf.GlobalRecoding(suppress="cell", budget=0.2)],
    "local_recoding": [sf.LocalRecoding()],
    "local_recoding, regroup": [sf.LocalRecoding(method="respecialise")],
    "mondrian": [sf.Mondrian()],
    "mondrian, relaxed": [sf.Mondrian(mode="relaxed")],
    "k_member": [sf.KMember()],
    "bottom_up_generalization": [sf.BottomUpGeneralization("diagnosis")],
    "top_down_specialization": [sf.TopDownSpecialization("diagnosis")],
    "k_optimize": [sf.KOptimize()],
    "suppression": [sf.Suppress("cell")],
    "suppression, records": [sf.Suppress("tuple", budget=1.0)],
    "sample": [sf.Sample(0.5, weight="weight"), *COARSE],
    "sample, stratified": [sf.Sample(0.4, method="stratified", within=["sex"]), *COARSE],
    "top_bottom_coding": [
        sf.TopBottomCoding(["length_of_stay", "age"], top=20, bottom=3.5),
        *COARSE,
    ],
    "top_bottom_coding, label": [
        *COARSE,
        sf.TopBottomCoding(["cost"], top=9000, replacement="label"),
    ],
    "recode": [
        sf.Recode(["age"], breaks=[20, 40, 60]),
        sf.Recode(["sex"], {"male": "m"}, unmapped="other"),
        *COARSE,
    ],
    "round": [sf.Round(["cost"], 250), *COARSE],
    "round, random": [sf.Round(["cost", "length_of_stay"], 4, method="random"), *COARSE],
    "shift_dates": [*COARSE, sf.ShiftDates(["admission_date"], 40)],
    "add_noise": [sf.AddNoise(["cost", "length_of_stay"], 0.4), *COARSE],
    "add_noise, uncorrelated": [
        *COARSE,
        sf.AddNoise(["cost"], 0.4, method="uncorrelated", within=["ward"], lower=0),
    ],
    "add_noise, multiplicative": [
        sf.AddNoise(["age"], 0.01, method="multiplicative", keep_integers=True),
        *COARSE,
    ],
    "pram": [sf.Pram(["diagnosis", "ward"], retain=0.7), *COARSE],
    "pram, jointly": [
        *COARSE,
        sf.Pram(["ward", "occupation"], retain=0.6, jointly=True, within=["marital_status"]),
    ],
    "pram, quasi": [sf.Pram(["sex"], retain=0.9, invariant="none"), sf.Mondrian(mode="relaxed")],
    "pseudonymize": [sf.Pseudonymize(["patient_name", "email"], key=KEY), *COARSE],
    "pseudonymize, counter": [
        *COARSE,
        sf.Pseudonymize(["insurance_number", "diagnosis"], method="counter"),
    ],
    "pseudonymize, random": [
        sf.Pseudonymize(["email"], method="random_table"),
        sf.Pram(["ward"], retain=0.5),
        *COARSE,
    ],
    "pseudonymize, form": [
        sf.Pseudonymize("insurance_number", method="format_preserving", key=KEY),
        *COARSE,
    ],
    "pseudonymize, hash": [sf.Pseudonymize(["ward"], method="unkeyed_hash"), *COARSE],
    "pseudonymize, quasi": [sf.Pseudonymize(["sex"], key=KEY), sf.GlobalRecoding(budget=0.9)],
    "pseudonymize, together": [
        sf.Pseudonymize(["patient_name", "ward"], key=KEY, together=True),
        *COARSE,
    ],
    "pseudonymize, together in a quasi": [
        sf.Pseudonymize(["sex", "marital_status"], key=KEY, together=True),
        sf.GlobalRecoding(budget=0.9),
    ],
    "follow": [*COARSE, sf.Follow({"length_of_stay": "age"})],
    "all drawn": [
        sf.Sample(0.6),
        sf.AddNoise(["cost"], 0.2, method="uncorrelated"),
        *COARSE,
        sf.Pram(["ward"], retain=0.5),
        sf.Round(["cost"], 10, method="random"),
    ],
}
ENGINES = ["polars", "duckdb"]
DRAWN = [
    "mondrian, relaxed",
    "sample",
    "round, random",
    "shift_dates",
    "add_noise",
    "pram",
    "pram, quasi",
]
every_case = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "k_optimize" else [])
        for name in CASES
    ],
)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", "a key of the tests, 0123456789")


@functools.cache
def table() -> pl.DataFrame:
    """Invented people, some of whom have several equal records."""
    frame = sf.examples.hospital(600).to_polars()
    return pl.concat([frame, frame.sample(90, seed=1), frame.head(3), frame.head(3)])


def described(data: Any) -> Any:
    return data.with_roles(
        drop=DIRECT,
        quasi=["age", "sex", "zip"],
        sensitive=["diagnosis", "cost"],
        keep=[
            "ward",
            "length_of_stay",
            "nationality",
            "marital_status",
            "occupation",
            "admission_date",
        ],
    ).with_hierarchies(age=sf.intervals(5, 10, 20), zip=sf.mask_right(5), sex=sf.suppress())


def multiset(frame: Any) -> list[tuple[str, ...]]:
    """The rows in an order of their own."""
    made = pl.DataFrame(frame) if not isinstance(frame, pl.DataFrame) else frame
    made = made.with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String), pl.col(pl.Datetime).cast(pl.Date)
    )
    made = made.with_columns(
        pl.selectors.numeric().cast(pl.Float64)
    )  # pandas has no whole numbers beside missing ones
    return sorted(tuple(map(repr, row)) for row in made.select(sorted(made.columns)).rows())


def in_memory(name: str, frame: Any) -> sf.Release:
    return sf.anonymize(
        described(sf.read(frame)),
        [sf.KAnonymity(3)],
        CASES[name],
        seed=5,
        options=sf.AnonymizeOptions(format="parquet"),
    )


@functools.cache
def of_table_in_memory(name: str) -> sf.Release:
    """The release that all others are held against; its tests run one after the other and make it
    once.
    """
    return in_memory(name, table())


def test_a_step_has_a_case_or_takes_the_whole_table() -> None:
    cased = {step.name for steps in CASES.values() for step in steps}
    for name, cls in registry.family("steps").items():
        whole = isinstance(cls.span, property) and cls.span is Step.span
        assert name in cased or whole, f"{name} works on pieces of a table: give it a case here"
    for steps in CASES.values():
        assert all(step.span is not Span.TABLE for step in steps)


BY_COUNTS: list[Any] = [
    sf.AverageClassSize(),
    sf.NormalisedClassSize(3),
    sf.Discernibility(),
    sf.Discernibility(penalty="class"),
    sf.Uniqueness(),
    sf.Loss(),
    sf.NormalisedCertaintyPenalty(),
    sf.Precision(),
    sf.Height(),
    sf.NonUniformEntropy(),
    sf.Ambiguity(),
    sf.KullbackLeibler(),
    sf.Loss(["age"]),
    sf.Uniqueness(["sex", "zip"]),
]


@every_case
def test_engines_release_what_memory_releases_and_measure_all_records(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = of_table_in_memory(name)
    measured = eager.evaluate(BY_COUNTS)
    expected = multiset(eager.data)
    mixed = table()[np.random.default_rng(3).permutation(len(table()))]
    for number, start in enumerate(range(0, len(mixed), 250)):
        mixed[start : start + 250].write_parquet(tmp_path / f"part-{number}.parquet")
    monkeypatch.setattr("sfumato.data.lazy.run.SAMPLE", 100)
    for engine in ENGINES:
        pytest.importorskip(engine)
        monkeypatch.setattr(f"sfumato.data.lazy.on_{engine}.BATCH", PIECE)
        lazy = sf.anonymize(
            described(sf.read(tmp_path, engine=engine)), [sf.KAnonymity(3)], CASES[name], seed=5
        )
        native = lazy.data.collect() if engine == "polars" else lazy.data.pl()
        assert multiset(native) == expected, engine
        assert dict(native.schema) == dict(pl.DataFrame(eager.data).schema), engine
        assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
        assert lazy.suppressed == eager.suppressed
        assert lazy.pair.drawn_from
        found = lazy.evaluate(BY_COUNTS)
        assert set(found.skipped) == set(measured.skipped)
        for one, other in zip(found.measures, measured.measures, strict=True):
            assert (one.name, one.value, one.raw) == (
                other.name,
                pytest.approx(other.value),
                pytest.approx(other.raw),
            )
            assert one.per_column == pytest.approx(other.per_column)


def test_rows_that_are_alike_are_numbered_once_whatever_threads_they_come_in() -> None:
    rows = Table(pl.DataFrame({"a": [1, 2, 1, 3]}))  # type: ignore[arg-type]
    numbering = Numbering(np.unique(row_keys(rows)))
    with ThreadPoolExecutor(8) as pool:
        marks = [made.marks for made in pool.map(numbering.marked, [rows] * 400)]
    found = Counter(
        (int(k), int(n))
        for m in marks
        if m is not None
        for k, n in zip(m.keys, m.numbers, strict=True)
    )
    assert set(found.values()) == {1}
    assert Counter(key for key, _ in found) == Counter(np.repeat(row_keys(rows), 400).tolist())


def test_too_many_combinations_after_a_draw_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = described(sf.read(table().lazy()))
    seen = columns_seen((sf.KAnonymity(2),), data.schema, COARSE)
    planning = Planning(data, data.counted(seen), [sf.Pram(["sex"], retain=0.9), *COARSE])
    monkeypatch.setattr("sfumato.data.lazy.table.MOST_COMBINATIONS", 50)
    with pytest.raises(SchemaError, match=r"after the random steps"):
        planning.planned(Goal((sf.KAnonymity(2),), Seed(9)))


def of_persons() -> pl.DataFrame:
    """The same people, most of whom come several times, in households; of some nobody knows who
    they are.
    """
    frame, rng = table(), np.random.default_rng(2)
    person = rng.integers(0, 250, len(frame))
    return frame.with_columns(
        person=pl.Series([f"p{n}" if n > 5 else None for n in person]),
        home=pl.Series(person // 3, dtype=pl.Int64),
    )


def of_units(data: Any) -> Any:
    made = described(data).with_roles(person=["person", "home"])
    home = dataclasses.replace(made.schema["home"], roles=("household",))
    return made.with_attribute("home", home)


@pytest.mark.parametrize("name", [n for n in CASES if n != "k_optimize"])
def test_persons_are_counted_and_numbered_by_engines_as_in_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meet, frame = [sf.KAnonymity(3)], of_persons()
    data = of_units(sf.read(frame))
    if any(step.span_in(data.schema) is Span.TABLE for step in CASES[name]):
        with pytest.raises(ParameterError, match="all records at once"):
            sf.anonymize(of_units(sf.read(frame.lazy())), meet, CASES[name], seed=5)
        return
    try:
        eager = sf.anonymize(
            data, meet, CASES[name], seed=5, options=sf.AnonymizeOptions(format="parquet")
        )
    except (
        SchemaError
    ) as error:  # single cells cannot be suppressed by persons, wherever the table is
        with pytest.raises(SchemaError, match=error.problems[0][:40]):
            sf.anonymize(of_units(sf.read(frame.lazy())), meet, CASES[name], seed=5)
        return
    frame[np.random.default_rng(3).permutation(len(frame))].write_parquet(tmp_path / "part.parquet")
    for engine in ENGINES:
        pytest.importorskip(engine)
        monkeypatch.setattr(f"sfumato.data.lazy.on_{engine}.BATCH", PIECE)
        lazy = sf.anonymize(of_units(sf.read(tmp_path, engine=engine)), meet, CASES[name], seed=5)
        native = lazy.data.collect() if engine == "polars" else lazy.data.pl()
        assert multiset(native) == multiset(eager.data), engine
        assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
        assert {**lazy.after.to_dict(), "name": ""} == {**eager.after.to_dict(), "name": ""}


@every_case
def test_neither_order_nor_frame_changes_the_release(name: str) -> None:
    expected = multiset(of_table_in_memory(name).data)
    mixed = table()[np.random.default_rng(4).permutation(len(table()))]
    assert multiset(in_memory(name, mixed.to_arrow()).released.to_polars()) == expected
    assert multiset(in_memory(name, mixed.to_pandas()).released.to_polars()) == expected


@pytest.mark.slow
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(order=st.permutations(range(60)), piece=st.integers(1, 60), name=st.sampled_from(DRAWN))
def test_any_pieces_make_the_same_release(
    order: list[int], piece: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = sf.examples.hospital(40).to_polars()
    frame = pl.concat([frame, frame.head(15), frame.head(5)])
    monkeypatch.setattr("sfumato.data.lazy.on_polars.BATCH", piece)
    found = []
    for rows, engine in ((frame, "memory"), (frame[order], "polars")):
        data = described(sf.read(rows if engine == "memory" else rows.lazy()))
        goal = Goal((sf.KAnonymity(2),), Seed(9))
        if engine == "memory":
            shared = marked(data.drop(DIRECT))
            for place, step in enumerate(CASES[name]):
                shared = step.apply(
                    shared, step.plan(shared, dataclasses.replace(goal, place=place))
                )
            found.append(multiset(shared.to_polars()))
        else:
            seen = columns_seen(goal.models, data.schema, CASES[name])
            line = Planning(data, data.counted(seen), CASES[name]).planned(goal)[0]
            found.append(
                multiset(
                    pl.concat([p.to_polars() for p in line.pieces(data)], how="vertical_relaxed")
                )
            )
    assert found[0] == found[1]
