"""The named intruders: who tries what, within which time, and what is asked of those who bring a
file.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import registry
from sfumato.core.attack import NOT_IN_FILE, Finding
from sfumato.core.hierarchy import TOP
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.errors import InternalError, ParameterError, ReleaseRefused, SchemaError
from sfumato.release import attack_run as battery
from sfumato.release.intruders import BATTERY, intruder_from, intruder_with, most_telling, renamed

QUICK = ["linkage", "homogeneity", "suda", "singling_out"]


@pytest.fixture(autouse=True)
def standing_clock(monkeypatch):
    """Budgets of time are tested by clocks of their own; a busy machine decides nothing here."""
    monkeypatch.setattr("time.process_time", lambda: 100.0)


@pytest.fixture(scope="module")
def people() -> Table:
    return sf.examples.hospital(rows=150)


@pytest.fixture(scope="module")
def release(people):
    return sf.anonymize(people, [sf.KAnonymity(3)], [sf.GlobalRecoding(budget=0.05)])


def towns(n: int = 40) -> Table:
    """Everyone is unique by age; released unchanged, everyone is found."""
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "age": list(range(20, 20 + n)),
            "town": ["Ulm", "Kiel"] * (n // 2),
        }
    )
    return Table(frame).with_roles(drop="id", quasi=["age", "town"])


def identity(original: Table, order=None) -> TablePair:
    rows = np.arange(len(original)) if order is None else np.asarray(order)
    released = original.drop(original.schema.dropped_columns).take(rows)
    return TablePair.of(original, released)


def test_every_attack_that_a_profile_names_exists():
    named = {name for profile in BATTERY for name in profile.attacks}
    assert named == set(registry.attacks())


def test_all_named_intruders_try_and_nothing_is_lost_on_the_way(release):
    report = release.attack(seconds=8, sample=60)
    asked = [(profile.name, name) for profile in BATTERY for name in profile.attacks]
    done = [(t.intruder, t.finding.attack) for t in report.tried] + [
        (s.intruder, s.attack) for s in report.skipped
    ]
    assert sorted(done) == sorted(asked) and report.looked_for == 60
    assert {t.intruder for t in report.tried} == {profile.name for profile in BATTERY}
    for tried in report.tried:
        assert 0 <= tried.finding.value <= 1 and tried.finding.attack in report.values()
    json.dumps(report.to_dict(), allow_nan=False)
    assert len(report.to_frame()) == len(report.tried) + len(
        report.unknown
    ) and "does not apply" in str(report)


@pytest.mark.slow
def test_the_release_of_everything_as_it_is_falls_to_everyone():
    report = battery.attack_release(identity(towns()), only=QUICK)
    assert report.value("linkage") == 1.0 and report.value("singling_out") > 0.9
    assert report.worst is not None and report.worst.exceeds


def test_shuffling_the_rows_changes_nothing():
    order = np.random.default_rng(1).permutation(40)
    straight = battery.attack_release(identity(towns()), only=["linkage", "suda"])
    shuffled = battery.attack_release(identity(towns(), order), only=["linkage", "suda"])
    assert shuffled.values() == straight.values()


def test_where_every_cell_is_suppressed_nobody_is_found_more_often_than_by_chance():
    people = towns()
    blank = (
        people.drop(["id"])
        .to_polars()
        .with_columns(pl.lit(TOP).alias("age"), pl.lit(TOP).alias("town"))
    )
    pair = TablePair.of(people, Table(blank).with_roles(quasi=["age", "town"]))
    report = battery.attack_release(
        pair, context=sf.AttackContext(models=[sf.KAnonymity(40)]), seconds=20
    )
    assert report.value("linkage") == pytest.approx(1 / 40) and report.value("suda") == 0.0
    assert all(
        t.finding.beyond_guessing < 0.05 for t in report.tried if "linkage" in t.finding.attack
    )


def test_the_time_budget_is_shared_and_kept(release, monkeypatch):
    left, clock = [], [100.0]

    def patient(name, scene):
        left.append(scene.seconds)
        clock[0] += 2 * scene.seconds  # takes twice its share
        return Finding(name, 0.0, "waited")

    monkeypatch.setattr("time.process_time", lambda: clock[0])
    monkeypatch.setattr(battery, "_try", patient)
    report = release.attack(seconds=30)
    assert left[0] == pytest.approx(30 / 2), "no attack gets more than half of what is left"
    assert report.seconds <= 30 + 2 * max(left)
    assert len(report.tried) == len(left) == 1, "the first one took all of it"
    assert any("before its turn" in skipped.reason for skipped in report.skipped)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_no_time_is_refused(release, seconds):
    with pytest.raises(ParameterError, match="time budget"):
        release.attack(seconds=seconds)


def test_other_nonsense_is_refused(release, people):
    with pytest.raises(ParameterError, match="at least one record"):
        release.attack(sample=0)
    with pytest.raises(ParameterError, match="Did you mean 'linkage'"):
        release.attack(only=["linkege"])
    with pytest.raises(SchemaError, match="empty"):
        battery.attack_release(
            TablePair(people, people.take(np.zeros(0, dtype=int)), np.zeros(0, dtype=np.int64))
        )
    with pytest.raises(ParameterError, match="was not tried"):
        release.attack(only=["homogeneity"]).value("linkage")


def test_tables_of_different_length_that_do_not_say_who_is_who_are_refused(people):
    with pytest.raises(ParameterError, match="does not say which rows"):
        sf.attack(people, Table(people.to_polars().head(20), people.schema))


def test_tables_without_a_common_column_are_refused():
    with pytest.raises(SchemaError, match="no column in common"):
        TablePair.of(towns(), Table(pl.DataFrame({"other": [1] * 40})).with_roles(quasi="other"))


def test_an_attack_that_fails_does_not_hide_the_others_but_our_bugs_show(release, monkeypatch):
    homogeneity = registry.attacks()["homogeneity"]

    def fails(self, scene):
        raise SchemaError("it cannot be done here")

    monkeypatch.setattr(homogeneity, "attack", fails)
    report = release.attack(only=["homogeneity", "suda"])
    assert [s.reason for s in report.skipped] == ["it cannot be done here"] and len(
        report.tried
    ) == 1

    def breaks(self, scene):
        raise InternalError("a bug")

    monkeypatch.setattr(homogeneity, "attack", breaks)
    with pytest.raises(InternalError):
        release.attack(only=["homogeneity"])


def test_an_intruder_who_can_know_nothing_is_skipped():
    pair = identity(Table(pl.DataFrame({"a": [1, 2]})).with_roles(keep="a"))
    report = battery.attack_release(pair, only=["linkage"])
    assert {s.intruder for s in report.skipped} >= {"prosecutor", "neighbour"}


def test_the_most_telling_columns_come_first():
    pair = identity(towns())
    assert most_telling(pair, ["town", "age"], 1) == ("age",)


def test_a_sample_of_people_is_looked_for_always_the_same():
    pair = identity(towns())
    some = intruder_from(pair, ["age"], sample=5, seed=Seed(3))
    again = intruder_from(pair, ["age"], sample=5, seed=Seed(3))
    assert len(some.file) == 5 and some.truth.tolist() == again.truth.tolist() == sorted(
        set(some.truth.tolist())
    )
    assert some.file.column("age").to_list() == [20 + row for row in some.truth]


# --- an intruder's own file ---


def file_of(**columns) -> Table:
    return Table(pl.DataFrame(columns))


def test_the_score_is_kept_by_a_column_that_identifies_people():
    pair = identity(towns())
    who = intruder_with(
        pair, file_of(id=["p3", "nobody", "p1"], age=[23, 30, 99], height=[1, 2, 3]), None, by="id"
    )
    assert who.truth.tolist() == [3, NOT_IN_FILE, 1] and who.knows == ("age",)


def test_without_one_a_row_is_who_agrees_with_it_alone():
    pair = identity(towns())
    who = intruder_with(pair, file_of(age=[23, 23, 99], town=["Kiel", "Ulm", "Ulm"]), None)
    assert who.truth.tolist() == [3, NOT_IN_FILE, NOT_IN_FILE] and who.knows == ("age", "town")
    several = intruder_with(pair, file_of(town=["Ulm"]), None)
    assert several.truth.tolist() == [NOT_IN_FILE]


def test_numbers_agree_however_they_are_stored():
    pair = identity(towns())
    assert intruder_with(pair, file_of(age=[23.0]), None).truth.tolist() == [3]
    assert intruder_with(pair, file_of(age=["23", None]), None).truth.tolist() == [3, NOT_IN_FILE]


def test_a_column_may_be_called_row_or_len():
    people = Table(pl.DataFrame({"row": [1, 2, 3], "len": ["a", "b", "b"]})).with_roles(
        quasi=["row", "len"]
    )
    assert intruder_with(identity(people), people, None).truth.tolist() == [0, 1, 2]


def test_columns_under_other_names():
    pair = identity(towns())
    file = renamed(file_of(years=[23], place=["Kiel"]), {"years": "age", "place": "town"})
    assert intruder_with(pair, file, None).truth.tolist() == [3]
    with pytest.raises(SchemaError, match="no column 'jears'"):
        renamed(file, {"jears": "age"})
    with pytest.raises(SchemaError, match="have the same name"):
        renamed(file, {"age": "town"})
    swapped = renamed(file_of(age=["Kiel"], town=[23]), {"age": "town", "town": "age"})
    assert intruder_with(pair, swapped, None).truth.tolist() == [3]


@pytest.mark.parametrize(
    ("file", "knows", "by", "error"),
    [
        (file_of(height=[1]), None, None, "no column in common"),
        (file_of(id=["p1"]), None, "id", "no column in common"),
        (file_of(age=[], town=[]), None, None, "has no rows"),
        (file_of(age=[20]), ["zip"], None, "no column 'zip'"),
        (file_of(age=[20]), None, "id", "no column 'id'"),
        (file_of(age=[20], number=[1]), None, "number", "no column 'number'"),
    ],
    ids=[
        "nothing in common",
        "only the key",
        "empty",
        "unknown column",
        "no key",
        "key not in the original",
    ],
)
def test_files_that_cannot_be_used_are_refused(file, knows, by, error):
    with pytest.raises(SchemaError, match=error):
        intruder_with(identity(towns()), file, knows, by=by)


def test_strangers_are_not_victims():
    pair = identity(towns())
    who = intruder_with(
        pair, file_of(id=["p3", "x", "y", "z"], age=[23, 24, 25, 26]), None, by="id"
    )
    report = battery.attack_release(pair, context=sf.AttackContext(intruder=who), seconds=20)
    assert {t.intruder for t in report.tried} == {"your intruder"} and report.looked_for == 4
    victims = report.tried[
        [t.finding.attack for t in report.tried].index("linkage")
    ].finding.victims
    assert set(victims.tolist()) <= {3}


def test_a_file_of_strangers_links_nobody():
    pair = identity(towns())
    who = intruder_with(pair, file_of(id=["x", "y"], age=[24, 25]), None, by="id")
    report = battery.attack_release(
        pair, context=sf.AttackContext(intruder=who, steps=[]), only=["linkage", "transparency"]
    )
    assert all(t.finding.value == 0 for t in report.tried)


# --- limits of a recipe ---


def limited(people, limits, *steps):
    return sf.anonymize(
        people, [sf.KAnonymity(2)], steps or [sf.GlobalRecoding(budget=0.05)], limits=limits
    )


def test_a_limit_refuses_what_an_intruder_can_link(people):
    with pytest.raises(
        ReleaseRefused, match=r"linkage is 0\.\d+; the recipe allows at most 0\.0001"
    ):
        limited(people, {"linkage": 0.0001})


def test_a_limit_that_holds_is_told(people):
    release = limited(people, {"linkage": 0.5, "homogeneity": 1.0})
    assert [kept.holds for kept in release.limits] == [True, True] and release.holds
    assert release.attack(only=["linkage"]).tried[0].limit == 0.5


def test_limits_know_the_promises_that_attacks_exploit(people):
    with pytest.raises(ReleaseRefused, match="downcoding is"):
        limited(people, {"downcoding": 0.05}, sf.LocalRecoding())


def test_a_limit_on_what_cannot_be_tried_is_not_taken_for_kept(people):
    with pytest.raises(
        ParameterError, match="minimality does not apply to this release: no l-diversity"
    ):
        limited(people, {"minimality": 0.1})


def test_no_value_of_a_person_is_in_the_report(people, release):
    text = json.dumps(release.attack(only=QUICK, sample=50).to_dict())
    for column in ("patient_name", "insurance_number", "email", "diagnosis", "occupation"):
        assert not [v for v in people.column(column).unique().to_list() if str(v) in text]


@pytest.mark.parametrize(
    "columns",
    [
        {"age": [30], "town": ["Ulm"], "secret": ["x"]},
        {"age": [30] * 5, "town": ["Ulm"] * 5, "secret": ["x"] * 5},
        {"age": [None] * 4, "town": [None] * 4, "secret": [None] * 4},
        {
            "age": [1.0, None, float("nan"), 2.0],
            "town": ["Ulm", None, "", "*"],
            "secret": ["x", "x", None, "y"],
        },
    ],
    ids=["one row", "constant", "all missing", "odd values"],
)
@pytest.mark.parametrize("kind", ["nominal", "numeric"])
def test_poor_tables_are_attacked_without_a_stumble(columns, kind):
    types = {"age": pl.Float64, "town": pl.String, "secret": pl.String}
    table = Table(pl.DataFrame(columns, schema=types)).with_roles(
        quasi=["age", "town"], sensitive="secret"
    )
    table = table.with_schema(table.schema.replace("age", kind=kind))
    pair = TablePair.of(table, table)
    report = battery.attack_release(
        pair,
        context=sf.AttackContext(models=[sf.KAnonymity(2), sf.LDiversity("secret", l=2)]),
        seconds=10,
    )
    assert report.tried and all(0 <= t.finding.value <= 1 for t in report.tried)
    json.dumps(report.to_dict(), allow_nan=False)
