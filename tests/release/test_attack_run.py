"""Attacks on a release of any shape: who tries what, what is refused, what is unknown."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf
from sfumato.core.data import Pair
from sfumato.core.pair import TablePair
from sfumato.core.progress import silent
from sfumato.errors import ParameterError, SchemaError
from sfumato.release.attack_run import attack_release, attack_unchanged
from sfumato.release.intruders import BATTERY

PEOPLE: dict[str, Any] = {
    "baskets": sf.examples.baskets,
    "paths": sf.examples.small_paths,
    "graph": sf.examples.karate,
    "tables": sf.examples.clinic,
}


@pytest.fixture(scope="module")
def pair() -> TablePair:
    people = sf.examples.hospital(rows=200)
    return sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.2)], seed=1).pair


def test_named_intruders_try_a_table(pair: TablePair) -> None:
    report = attack_release(pair, only=["linkage"], seed=1)
    assert {tried.intruder for tried in report.tried} <= {profile.name for profile in BATTERY}
    assert (report.records, report.counted) == (pair.released.records, "records")


@pytest.mark.parametrize("shape", PEOPLE)
def test_of_other_data_each_attack_says_who_tries_it(shape: str) -> None:
    data = PEOPLE[shape]()
    report = attack_release(Pair(data, data), seed=1)
    assert report.tried and report.counted == "people"
    assert report.looked_for == data.size
    assert not {tried.intruder for tried in report.tried} & {profile.name for profile in BATTERY}


def test_outcomes_are_told_as_they_come_and_alike_for_a_seed(pair: TablePair) -> None:
    heard: list[Any] = []
    first = attack_release(
        pair, only=["linkage"], seed=1, options=sf.AttackOptions(on_outcome=heard.append)
    )
    second = attack_release(pair, only=["linkage"], seed=1)
    assert len(heard) == len(first.tried) + len(first.skipped)
    assert first.values() == second.values()


def test_a_limit_marks_the_attack_that_exceeds_it(pair: TablePair) -> None:
    strict = attack_release(
        pair, only=["linkage"], context=sf.AttackContext(limits={"linkage": 0.0}), seed=1
    )
    assert [sentence.split(":")[0] for sentence in strict.refused] == ["linkage"]
    assert not attack_release(
        pair, only=["linkage"], context=sf.AttackContext(limits={"linkage": 1.0}), seed=1
    ).refused


def test_data_of_two_shapes_are_not_compared() -> None:
    with pytest.raises(
        ParameterError, match="of shape baskets and of shape graph cannot be compared"
    ):
        attack_release(Pair(sf.examples.baskets(), sf.examples.karate()))


def test_what_makes_no_sense_is_refused(pair: TablePair) -> None:
    with pytest.raises(ParameterError, match="more than 0 seconds"):
        attack_release(pair, seconds=0)
    with pytest.raises(ParameterError, match="at least one record"):
        attack_release(pair, sample=0)
    nobody = pair.original.take([])
    with pytest.raises(SchemaError, match="nobody to attack"):
        attack_release(TablePair.of(pair.original, nobody))


def test_nothing_is_attacked_without_time() -> None:
    options = {"models": (), "seconds": 0.0, "seed": None, "progress": silent}
    assert attack_unchanged(sf.examples.baskets(), **options) is None
