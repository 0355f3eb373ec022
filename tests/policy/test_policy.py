"""Policies from the command line, as somebody uses them who makes mistakes."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
import shutil

import polars as pl
import pytest

import sfumato as sf
from sfumato.policy.dialects.dialect_detection import parse_policy, write_policy
from sfumato.policy.documents import PolicyError
from sfumato.policy.people import Policies
from sfumato.policy.policy import Policy, Retention
from tests.interfaces.cli.conftest import sfumato  # noqa: F401 - a fixture
from tests.policy.written_policies import datum, people, personal, purpose, study, three_policies

USE = ("--purpose", "research", "--recipient", "university")


@pytest.fixture
def sf_run(sfumato):  # noqa: F811
    return sfumato


@pytest.fixture
def room(tmp_path):
    """A table, the study's policy, and a folder with everybody's own."""
    people().to_polars().write_csv(tmp_path / "people.csv")
    (tmp_path / "study.json").write_text(write_policy(study(), "ours"))
    (tmp_path / "own").mkdir()
    for name, policy in three_policies().items():
        (tmp_path / "own" / f"{name}.json").write_text(write_policy(policy, "ours"))
    return tmp_path


BOMB = (
    b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b'
    b' "&a;&a;">]><layeredPrivacyPolicy><name>&b;</name></layeredPrivacyPolicy>'
)
OUTSIDE = (
    b"<!DOCTYPE x [<!ENTITY a SYSTEM"
    b' "file:///etc/passwd">]><layeredPrivacyPolicy><name>&a;</name></layeredPrivacyPolicy>'
)


@pytest.mark.parametrize(
    ("content", "lint", "compiled"),
    [
        (b'{"sfumato_policy": 1, "name": ', 5, 5),
        (b"\xff\xfe\x00\x01", 5, 5),
        (b"", 5, 5),
        (b"[" * 100_000, 5, 5),
        (b"<layeredPrivacyPolicy><name>a</name>", 5, 5),
        (BOMB, 5, 5),
        (OUTSIDE, 5, 5),
        (b" " * (17 * 1024 * 1024), 5, 5),
        (b'{"foo": 1}', 1, 2),
        (b"[1]", 1, 2),
        (b"ObjectIntersectionOf(ObjectSomeValuesFrom(spl:hasData", 1, 2),
    ],
)
def test_files_that_are_no_policy(sf_run, room, content, lint, compiled):
    file = room / "bad.json"
    file.write_bytes(content)
    linted = sf_run("policy", "lint", file)
    assert linted.code == lint and "bad.json: error " in linted.out
    made = sf_run("policy", "run", room / "people.csv", "-p", file, *USE, "-o", room / "out")
    assert made.code == compiled and "Traceback" not in made.err and not (room / "out").exists()


def test_linting_goes_on_after_a_file_that_cannot_be_read(sf_run, room):
    (room / "own" / "README.txt").write_text("the policies of the three")
    assert sf_run("policy", "lint", room / "own").code == 0
    (room / "own" / "Bob.json").write_bytes(b"\xff")
    broken = json.loads((room / "own" / "Axel.json").read_text())
    broken["purposes"][0]["data"][1]["anonymization"]["minimum"] = 7
    (room / "own" / "Axel.json").write_text(json.dumps(broken))
    done = sf_run("policy", "lint", room / "own", "--json")
    rules = {
        file.rsplit("/", 1)[-1]: {f["rule"] for f in found}
        for file, found in json.loads(done.out).items()
    }
    assert done.code == 5 and rules["Alice.json"] == set()
    assert rules["Bob.json"] == {"unreadable"} and "min_above_max" in rules["Axel.json"]


def test_rows_of_one_hierarchy_that_disagree_are_found_by_lint(sf_run, room):
    """Both rows have 20-30 at level 1, but different labels above it."""
    policy = Policy(
        "p",
        purposes=(
            purpose(datum("Age", "QID", 1, 2, [("25", "20-30", "<50"), ("26", "20-30", ">9")])),
        ),
    )
    (room / "torn.json").write_text(write_policy(policy, "ours"))
    done = sf_run("policy", "lint", room / "torn.json")
    assert done.code == 1 and "hierarchy_disagrees (line " in done.out and "20-30" not in done.out


def test_a_finding_says_which_of_several_policies_it_is_about(sf_run, room):
    tree = json.loads((room / "study.json").read_text())
    tree["name"] = "the other"
    tree["purposes"][0]["data"][1]["anonymization"]["minimum"] = 9
    (room / "other.json").write_text(json.dumps(tree))
    done = sf_run(
        "policy",
        "compile",
        room / "people.csv",
        "-p",
        room / "study.json",
        "-p",
        room / "other.json",
        *USE,
    )
    assert (
        done.code == 2
        and "the other: $.purposes[0].data[1]" in done.err
        and "study: $" not in done.err
    )


# --- comply


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A release with ages as they are: all the same, so 3-anonymous without recoding."""
    folder = tmp_path_factory.mktemp("raw") / "out"
    table = sf.read(pl.DataFrame({"Age": [25] * 4, "Disease": ["Flu", "Cold"] * 2}))
    table = table.with_roles(quasi="Age", sensitive="Disease")
    sf.anonymize(table, [sf.KAnonymity(3)], [sf.GlobalRecoding()]).write(folder)
    return folder / "share"


@pytest.mark.slow
def test_values_that_no_hierarchy_entry_knows_are_not_taken_for_coarse(raw):
    """The policy has entries for 40 only; a released 25 is in none of them and was never raised."""
    entries = datum("Age", "QID", 1, 2, [("40", "40-50", "*")])
    found = Policy("p", purposes=(purpose(entries, datum("Disease", "SD")),)).comply(
        raw, purpose="research"
    )
    assert (
        not found.holds and "column 'Age' is at level 0, below the minimum of 1" in found.reasons[0]
    )


def test_a_rule_about_numbers_needs_columns_that_exist(sf_run, raw):
    preset = ("policy", "comply", raw, "-p", "preset:hipaa_safe_harbor", "--purpose", "any")
    assert sf_run(*preset, "--age", "Age").code == 0
    wrong = sf_run(*preset, "--age", "Agee")
    assert (
        wrong.code == 1 and "column 'Agee' does not exist" in wrong.out and "meets" not in wrong.out
    )


ODRL = {
    "@context": "http://www.w3.org/ns/odrl.jsonld",
    "@type": "Set",
    "uid": "urn:example:policy",
    "permission": [
        {
            "action": "use",
            "constraint": [
                {
                    "leftOperand": "purpose",
                    "operator": "isA",
                    "rightOperand": {"@id": "dpv:ResearchAndDevelopment"},
                }
            ],
        }
    ],
    "prohibition": [
        {
            "action": "distribute",
            "target": "pd:Health",
            "constraint": [
                {"leftOperand": "recipient", "operator": "eq", "rightOperand": {"@id": "sf:press"}}
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("recipient", "categories", "operand", "action", "allowed"),
    [
        ("university", ("pd:Health",), {"@id": "sf:press"}, "distribute", True),
        ("sf:press", ("pd:Health",), {"@id": "sf:press"}, "distribute", False),
        ("press", ("pd:Health",), {"@id": "sf:press"}, "distribute", False),
        ("press", ("pd:Health",), "press", "distribute", False),
        ("press", ("pd:HealthRecord",), "press", "use", False),
        ("press", (), "press", "distribute", False),  # the data may be health data
        ("press", ("pd:Financial",), "press", "distribute", True),
    ],
)
def test_a_release_is_a_use_and_a_distribution(
    sf_run, raw, tmp_path, recipient, categories, operand, action, allowed
):
    """In ODRL distribute is included in use: a permission to use covers a release, and a
    prohibition of either stops it.
    """
    tree = copy.deepcopy(ODRL)
    tree["prohibition"][0]["action"] = action
    tree["prohibition"][0]["constraint"][0]["rightOperand"] = operand
    (tmp_path / "odrl.json").write_text(json.dumps(tree))
    named = [part for category in categories for part in ("--category", category)]
    use = ("--purpose", "dpv:AcademicResearch", "--recipient", recipient, *named)
    done = sf_run("policy", "comply", raw, "-p", tmp_path / "odrl.json", *use)
    assert done.code == (0 if allowed else 1), done.out
    assert allowed or "a prohibition covers it" in done.out


def test_two_constraints_on_one_thing_are_not_read_as_one(tmp_path, sf_run, raw):
    """Research and marketing at once is narrower than either: the permission is not used, and lint
    says why.
    """
    tree = copy.deepcopy(ODRL)
    del tree["prohibition"]
    more = {"leftOperand": "purpose", "operator": "isA", "rightOperand": {"@id": "dpv:Marketing"}}
    tree["permission"][0]["constraint"].append(more)
    (tmp_path / "odrl.json").write_text(json.dumps(tree))
    done = sf_run(
        "policy", "comply", raw, "-p", tmp_path / "odrl.json", "--purpose", "dpv:Marketing"
    )
    assert done.code in (1, 2) and "✓" not in done.out


def test_obligations_of_a_policy_bind_and_rules_of_others_are_not_guessed(tmp_path, sf_run, raw):
    asked = (
        "policy",
        "comply",
        raw,
        "-p",
        tmp_path / "odrl.json",
        "--purpose",
        "dpv:AcademicResearch",
    )
    for least, code in ((4, 0), (5, 1)):
        wanted = {
            "leftOperand": "sf:has_k",
            "operator": "gteq",
            "rightOperand": {"@value": str(least)},
        }
        tree = {**ODRL, "obligation": [{"action": "anonymize", "constraint": [wanted]}]}
        (tmp_path / "odrl.json").write_text(json.dumps(tree))
        assert sf_run(*asked).code == code
    (tmp_path / "odrl.json").write_text(json.dumps({**ODRL, "inheritFrom": "urn:example:parent"}))
    inheriting = sf_run(*asked)
    assert inheriting.code == 2 and "odrl_inherits" in inheriting.err


@pytest.mark.parametrize(
    ("operator", "days", "allowed"), [("lteq", 30, True), ("lt", 30, False), ("lt", 29, True)]
)
def test_less_than_thirty_days_is_twenty_nine(tmp_path, sf_run, raw, operator, days, allowed):
    tree = copy.deepcopy(ODRL)
    last = {"leftOperand": "elapsedTime", "operator": operator, "rightOperand": {"@value": "P30D"}}
    tree["permission"][0]["constraint"].append(last)
    (tmp_path / "odrl.json").write_text(json.dumps(tree))
    use = ("--purpose", "dpv:AcademicResearch", "--days", days)
    assert sf_run("policy", "comply", raw, "-p", tmp_path / "odrl.json", *use).code == (
        0 if allowed else 1
    )


def test_dpv_keeps_the_last_day_and_refuses_what_it_cannot_say():
    def with_fields(**fields) -> Policy:
        return Policy("study", purposes=(dataclasses.replace(study().purposes[0], **fields),))

    last = Retention("fixed_date", date=datetime.date(2090, 12, 31))
    again, _ = parse_policy(write_policy(with_fields(retention=last), "dpv"), name="x.jsonld")
    assert again.purposes[0].retention == last
    with pytest.raises(PolicyError, match=r"not_sayable \(\$\.research\)"):
        write_policy(with_fields(accepted=False), "dpv")
    broken = write_policy(with_fields(retention=last), "dpv").replace("2090-12-31", "some day")
    with pytest.raises(PolicyError, match="unreadable_date"):
        parse_policy(broken, name="x.jsonld")[1].raise_errors()


# --- people's own policies, from the run to the verification


@pytest.mark.slow
def test_a_release_under_peoples_own_policies_is_verified_with_its_original(sf_run, room):
    table, out = room / "people.csv", room / "out"
    refusing = json.loads((room / "own" / "Bob.json").read_text())
    refusing["purposes"][0]["accepted"] = False
    (room / "own" / "Bob.json").write_text(json.dumps(refusing))
    for name in ("Alice", "Axel"):
        file = room / "own" / f"{name}.json"
        file.write_text(file.read_text().replace('"3"', '"2"'))
    made = sf_run("policy", "run", table, "-p", room / "own", "--by", "Name", *USE, "-o", out)
    assert made.code == 0, made.err
    for shared in (out / "share").iterdir():
        assert not any(name in shared.read_bytes() for name in (b"Alice", b"Bob", b"Axel")), (
            shared.name
        )
    against = ("verify", out / "share", "--original", table, "--owner", out / "owner")
    done = sf_run(*against)
    assert done.code == 0 and "row for row" in done.out and "suppressed records: 1 of 3" in done.out
    for extra in ((), ("--original", table)):
        assert sf_run("policy", "comply", out / "share", "-p", room / "own", *USE, *extra).code == 0
    table.write_text(table.read_text().replace("Flu", "Cold"))
    assert sf_run(*against).code == 1
    table.write_text(table.read_text().replace("Cold", "Flu"))
    (out / "owner" / "policies.parquet").write_bytes(b"junk")
    assert sf_run(*against).code == 5
    (out / "owner" / "policies.parquet").unlink()
    assert sf_run(*against).code == 1


@pytest.fixture(scope="module")
def owned(tmp_path_factory):
    """A release under four people's policies of two kinds: Alice and Axel ask for nothing more, Bob
    and Cid do.
    """
    names = ["Alice", "Axel", "Bob", "Cid"]
    frame = pl.DataFrame(
        {"Name": names, "Age": [25] * 4, "Zipcode": ["53711"] * 4, "Disease": ["Flu"] * 4}
    )
    plain, strict = personal("25", "53711"), personal("25", "53711", age_level=1)
    own = dict(zip(names, (plain, plain, strict, strict), strict=True))
    folder = tmp_path_factory.mktemp("owned") / "out"
    Policies.of(own).enforce(
        sf.read(frame), by="Name", purpose="research", recipient="university"
    ).write(folder)
    return folder / "share", own


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", ["same", "somebody withdrew", "two changed places", "somebody became strict"]
)
def test_people_who_get_a_policy_that_others_have_are_noticed(owned, change):
    folder, own = owned
    now = dict(own)
    if change == "somebody withdrew":
        del now["Axel"]
    elif change == "two changed places":
        now["Axel"], now["Bob"] = own["Bob"], own["Axel"]
    elif change == "somebody became strict":
        now["Axel"] = own["Bob"]
    found = Policies.of(now).comply(folder, purpose="research", recipient="university")
    assert found.holds is (change == "same")
    assert found.holds or "after the release" in found.reasons[0]


def test_who_refuses_now_is_compared_and_not_how_many(owned, tmp_path):
    """One kind of policy refused when the release was made; now it is the other one that would."""
    folder, own = owned
    copied = shutil.copytree(folder.parent, tmp_path / "out")
    file = copied / "owner" / "compliance.json"
    policies = Policies.of(own)
    record = json.loads(file.read_text())
    record["refused"] = [{"policy": "policy 1", "reason": "once"}]
    file.write_text(json.dumps(record))
    found = policies.comply(copied / "share", purpose="research", recipient="press")
    assert any(
        "of people's own policies changed and no longer allow" in reason for reason in found.reasons
    )


@pytest.mark.slow
def test_pseudonyms_of_a_policy_are_remembered_and_verified(sf_run, room):
    tree = json.loads((room / "study.json").read_text())
    tree["purposes"][0]["pseudonymizations"] = [{"name": "Random table", "data": ["Name"]}]
    (room / "study.json").write_text(json.dumps(tree))
    assert sf_run("key", "vault", room / "office.key").code == 0
    vault = ("--key", room / "office.key", "--vault", room / "people.vault")
    run = ("policy", "run", room / "people.csv", "-p", room / "study.json", *USE)
    codes = []
    for out in (room / "one", room / "two"):
        assert sf_run(*run, *vault, "-o", out).code == 0
        codes.append(
            sorted(
                line.split(",")[0] for line in (out / "share" / "data.csv").read_text().split()[1:]
            )
        )
        assert (
            sf_run(
                "verify", out / "share", "--original", room / "people.csv", "--owner", out / "owner"
            ).code
            == 0
        )
    assert codes[0] == codes[1] and len(set(codes[0])) == 3
    assert sf_run("key", "vault", room / "other.key").code == 0
    wrong = sf_run(
        *run, "--key", room / "other.key", "--vault", room / "people.vault", "-o", room / "three"
    )
    assert wrong.code == 5 and not (room / "three").exists()
