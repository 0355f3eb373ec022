"""Attacks of a decision: kinds of release, people with several records, budgets of work."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import coarsened_columns
from sfumato.core.table import NOBODY, Table
from sfumato.methods.models import KAnonymity
from sfumato.release.decision import decide
from sfumato.release.decision.attacks import AttackedRelease, release_kinds, try_attacks
from sfumato.release.decision.evidence import AttackEvidence, ReleaseKind
from sfumato.release.decision.file_classes import file_evidence
from sfumato.release.decision.preview import preview_evidence
from tests.release.decision.evidence_cases import terms

SEED = Seed.of(9)
SCHEMA = Schema(
    {
        "person": Attribute((Role.PERSON,)),
        "group": Attribute((Role.QUASI,)),
        "cost": Attribute((Role.SENSITIVE,), kind=Kind.NUMERIC),
    }
)
Visit = tuple[int, str]
"""Whose record it is, and the class it belongs to."""


def pair_of(visits: list[Visit]) -> TablePair:
    """A table that was released unchanged."""
    frame = pl.DataFrame(
        {
            "person": [f"p{person}" for person, _ in visits],
            "group": [group for _, group in visits],
            "cost": [10.0 * number for number in range(len(visits))],
        }
    )
    table = Table(frame).with_schema(SCHEMA)  # type: ignore[arg-type]
    origin = np.arange(len(visits), dtype=np.int64)
    return TablePair(table, dataclasses.replace(table, origin=origin), origin)


def attacked(pair: TablePair) -> AttackedRelease:
    return AttackedRelease(pair, steps=(), models=(), terms=terms(), seed=SEED)


def found(pair: TablePair, attack: str, intruder: str = "prosecutor") -> AttackEvidence:
    entries = try_attacks(attacked(pair), only=[attack])
    return next(entry for entry in entries if entry.intruder == intruder)


VISITS = st.lists(st.tuples(st.integers(0, 7), st.sampled_from("abc")), min_size=4, max_size=30)


@given(VISITS)
def test_a_person_with_several_records_is_one_person(visits: list[Visit]) -> None:
    pair = pair_of(visits)
    entry = found(pair, "linkage")
    people = len({person for person, _ in visits})
    assert entry.figure is not None
    assert entry.figure.of == entry.figure.trials == people


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), min_size=2, max_size=8))
def test_linkage_finds_anybody_by_any_of_their_records(people: list[tuple[str, int]]) -> None:
    """Everybody stays in one class: a random record of it is theirs as often as they have any."""
    visits = [(p, group) for p, (group, count) in enumerate(people) for _ in range(count)]
    sizes: defaultdict[str, int] = defaultdict(int)
    for group, count in people:
        sizes[group] += count
    naive = sum(count / sizes[group] for group, count in people) / len(people)
    figure = found(pair_of(visits), "linkage").figure
    assert figure is not None
    assert figure.value == pytest.approx(naive, abs=1e-9)


@given(VISITS)
def test_smallest_class_is_counted_by_persons(visits: list[Visit]) -> None:
    members: defaultdict[str, set[int]] = defaultdict(set)
    for person, group in visits:
        members[group].add(person)
    pair = pair_of(visits)
    file = file_evidence(pair.released, pair)
    assert file.smallest_class == min(map(len, members.values()))
    assert file.classes == len(members)
    # Where the file does not name people, its owner counts them.
    unnamed = pair.released.drop(["person"])
    assert file_evidence(unnamed, pair).smallest_class == file.smallest_class


def test_a_bound_that_is_proved_of_single_records_is_unknown_of_people() -> None:
    pair = pair_of([(0, "a"), (0, "a"), (1, "a"), (2, "b"), (3, "b")])
    changed = dataclasses.replace(pair, coarsened=frozenset())
    release = attacked(changed)
    names = {ReleaseKind.PERTURBED}
    assert names.isdisjoint(release.kinds)
    from sfumato.release.attack_run import attack_release

    report = attack_release(pair, only=["worst_case_linkage"], seconds=60.0, seed=SEED)
    assert [skipped.attack for skipped in report.unknown] == ["worst_case_linkage"]
    alone = pair_of([(number, "ab"[number % 2]) for number in range(6)])
    report = attack_release(alone, only=["worst_case_linkage"], seconds=60.0, seed=SEED)
    assert [t.finding.attack for t in report.tried] == ["worst_case_linkage"]


def kinds_after(steps: list[object]) -> tuple[ReleaseKind, ...]:
    frame = pl.DataFrame(
        {
            "age": [20 + (7 * i) % 60 for i in range(200)],
            "sex": ["f" if i % 2 else "m" for i in range(200)],
            "cost": [float((37 * i) % 900) for i in range(200)],
        }
    )
    schema = Schema(
        {
            "age": Attribute((Role.QUASI,), kind=Kind.NUMERIC),
            "sex": Attribute((Role.QUASI,)),
            "cost": Attribute((Role.KEEP,), kind=Kind.NUMERIC),
        }
    )
    table = Table(frame).with_schema(schema)  # type: ignore[arg-type]
    recipe = Recipe(schema, meet=(KAnonymity(1),), steps=tuple(steps))  # type: ignore[arg-type]
    release = sf.run(table, recipe, seed="cd" * 16)
    pair = release.pair
    return release_kinds(pair, release.recipe.steps, accounted=False)


def test_kinds_follow_from_what_steps_did_to_values() -> None:
    from sfumato.methods.steps import AddNoise, Mondrian, RankSwap, Round

    assert kinds_after([Mondrian()]) == (ReleaseKind.CLASSES,)
    assert kinds_after([Round(["cost"], 100)]) == (ReleaseKind.CLASSES,)
    assert kinds_after([AddNoise(["cost"], alpha=0.2)]) == (
        ReleaseKind.CLASSES,
        ReleaseKind.PERTURBED,
    )
    assert kinds_after([RankSwap(["age"], p=0.1)]) == (ReleaseKind.PERTURBED,)
    pair = pair_of([(number, "ab"[number % 2]) for number in range(6)])
    nobody = dataclasses.replace(pair, origin=np.full(6, NOBODY, dtype=np.int64))
    assert release_kinds(nobody, (), accounted=False) == (ReleaseKind.DRAWN,)
    assert release_kinds(nobody, (), accounted=True) == (ReleaseKind.ACCOUNTED, ReleaseKind.DRAWN)


def test_what_is_rounded_at_random_or_changed_again_is_not_coarser() -> None:
    from sfumato.methods.steps import AddNoise, Bucketize, Round

    plain = Round(["cost"], 100)
    assert coarsened_columns([plain]) == {"cost"}
    assert not coarsened_columns([Round(["cost"], 100, method="random")])
    assert not coarsened_columns([plain, AddNoise(["cost"], alpha=0.2)])
    # A step that changes values without saying which leaves nothing sure.
    assert not coarsened_columns([plain, Bucketize(["cost"], t=2.0, k=3)])


def test_a_preview_has_what_some_terms_need_and_nothing_else() -> None:
    pair = pair_of([(number, "ab"[number % 2]) for number in range(60)])
    evidence = preview_evidence(attacked(pair), {"T7"})
    assert {entry.attack for entry in evidence.attacks} == {"linkage"}
    assert evidence.attributes == ()
    assert evidence.verification is None
    # It grants nothing: what was not looked at is unknown.
    assert decide(terms(), evidence).exit_code == 4


def test_columns_that_nobody_knows_are_left_out_of_what_acquaintances_know() -> None:
    pair = pair_of([(number, "ab"[number % 2]) for number in range(40)])
    usual = found(pair, "linkage", "colleague")
    assert "cost" in usual.knows
    release = dataclasses.replace(attacked(pair), terms=terms(not_known={"cost": "billing"}))
    entries = try_attacks(release, only=["linkage"])
    known = {entry.intruder: entry.knows for entry in entries}
    assert "cost" not in known["colleague"]
    # The prosecutor knows all quasi-identifiers, whatever the owner says.
    everything = dataclasses.replace(attacked(pair), terms=terms(not_known={"group": "nobody"}))
    known = {e.intruder: e.knows for e in try_attacks(everything, only=["linkage"])}
    assert known["prosecutor"] == ("group",)


def test_how_many_are_tried_follows_from_their_number_alone() -> None:
    pair = pair_of([(number, "abc"[number % 3]) for number in range(300)])
    small = dataclasses.replace(attacked(pair), everybody=100, sample=250)
    (entry, *_) = try_attacks(small, only=["linkage"])
    assert entry.figure is not None
    assert (entry.figure.trials, entry.figure.of, entry.figure.exact) == (250, 300, False)
    assert try_attacks(small, only=["linkage"]) == try_attacks(small, only=["linkage"])
