"""Releases against policies they were not made for, and policies that changed since."""

from __future__ import annotations

import dataclasses
import datetime
import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, UnreadableInput
from sfumato.policy.compile import Use
from sfumato.policy.comply import comply
from sfumato.policy.people import Policies
from sfumato.policy.policy import Policy, PrivacyModel, Pseudonymization, Recipient, Retention
from tests.policy.written_policies import (
    datum,
    k_anonymity,
    people,
    personal,
    study,
    three_policies,
)

USE = {"purpose": "research", "recipient": "university"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release under the study's policy: three rows (20-30, 537**)."""
    target = tmp_path_factory.mktemp("study") / "out"
    study().enforce(people(), **USE).write(target)
    return target / "share"


def changed(**fields) -> Policy:
    policy = study()
    return dataclasses.replace(
        policy, purposes=(dataclasses.replace(policy.purposes[0], **fields),)
    )


def with_datum(new) -> Policy:
    data = tuple(new if d.name == new.name else d for d in study().purposes[0].data)
    return changed(data=data)


def test_a_release_keeps_its_own_policy(folder):
    found = study().comply(folder, **USE)
    assert found.holds and not found.notes
    assert "compliant" not in str(found).lower()


def test_the_record_holds_no_values(folder):
    record = (folder.parent / "owner" / "compliance.json").read_text()
    assert not any(value in record for value in ("Alice", "53711", "20-30", "Flu"))
    assert not (folder / "compliance.json").exists()


REASONS = {
    "purpose": (study(), {"purpose": "marketing"}, "is not in the policy"),
    "recipient": (study(), {"recipient": "press"}, "recipient 'press' is not allowed"),
    "retention": (
        changed(retention=Retention("fixed_date", date=datetime.date(2020, 1, 1))),
        {},
        "has passed",
    ),
    "model": (changed(models=(k_anonymity(4),)), {}, "4-anonymity does not hold"),
    "sensitive model": (
        changed(models=(PrivacyModel("l-Diversity", (), (("l", "4"),)),)),
        {},
        "4-diversity of Disease",
    ),
    "unknown model": (changed(models=(PrivacyModel("mystery"),)), {}, "is not a known model"),
    "level by entries": (
        with_datum(datum("Age", "QID", 2, 2, [("25", "20-30", "<50"), ("26", "20-30", "<50")])),
        {},
        "3 released values are finer than level 2",
    ),
    "level by number": (with_datum(datum("Zipcode", "QID", 2, 2)), {}, "below the minimum of 2"),
    "level nobody told": (with_datum(datum("Disease", "SD", 1, 1)), {}, "names no level for it"),
    "column": (changed(data=study().purposes[0].data[:3]), {}, "'Disease' is released, but"),
    "identifier": (
        with_datum(datum("Disease", "EI")),
        {},
        "explicit identifier and is released unchanged",
    ),
    "pseudonyms": (
        changed(pseudonymizations=(Pseudonymization("HMAC", ("Disease",)),)),
        {},
        "must be pseudonymized",
    ),
    "another role": (with_datum(datum("Disease", "QID")), {}, "3-anonymity does not hold"),
}


@pytest.mark.parametrize("why", REASONS)
def test_reasons(folder, why):
    policy, use, told = REASONS[why]
    found = policy.comply(folder, **{**USE, **use})
    assert not found.holds
    assert any(told in reason for reason in found.reasons), found.reasons


def test_weaker_policies_are_kept_too(folder):
    assert (
        changed(models=(k_anonymity(2), PrivacyModel("l-Diversity", (), (("l", "3"),))))
        .comply(folder, **USE)
        .holds
    )


def test_a_cap_that_is_exceeded_is_a_note(folder):
    found = with_datum(datum("Zipcode", "QID", 0, 0)).comply(folder, **USE)
    assert found.holds and any("above the cap of level 0" in note for note in found.notes)


def test_models_that_need_the_original(folder):
    close = changed(models=(PrivacyModel("t-Closeness", (), (("t", "0.5"),)),))
    alone = close.comply(folder, **USE)
    assert not alone.holds and "cannot be judged from the shared folder alone" in alone.reasons[0]
    assert close.comply(folder, original=people(), **USE).holds


# --- drift


def test_drift_is_named_part_by_part(folder):
    new = changed(
        recipients=(Recipient("university"), Recipient("hospital")),
        retention=Retention("after_purpose", amount=9),
    )
    found = new.comply(folder, **USE)
    assert found.holds  # what was released still keeps the new policy
    assert found.notes == (
        "policy 'study' changed after the release: purpose research, recipients changed",
        "policy 'study' changed after the release: purpose research, retention added",
    )


@pytest.mark.slow
def test_people_s_own_policies(tmp_path):
    from sfumato.policy.enforce import enforce

    policies = Policies.of(three_policies())
    enforce(policies, people(), by="Name", **USE).write(tmp_path / "out")
    share = tmp_path / "out" / "share"
    found = comply(share, policies, Use(**USE))
    assert found.holds and "record vouches for the policies of 3 people" in found.statements[0]
    assert pl.read_parquet(tmp_path / "out" / "owner" / "policies.parquet").height == 3
    stricter = Policies.of({**three_policies(), "Axel": personal("26", "53711", age_level=2)})
    later = comply(share, stricter, Use(**USE))
    assert not later.holds and "after the release" in later.reasons[0]
    refused = Policies.of({**three_policies(), "Axel": personal("26", "53711", accepted=False)})
    assert not comply(share, refused, Use(**USE)).holds
    assert not comply(share, policies, Use("research")).holds
    (tmp_path / "out" / "owner" / "compliance.json").unlink()
    assert "no compliance record" in comply(share, policies, Use(**USE)).reasons[0]


# --- damage


@pytest.mark.slow
def test_an_edited_certificate(tmp_path):
    study().enforce(people(), **USE).write(tmp_path / "out")
    file = tmp_path / "out" / "share" / "certificate.json"
    certificate = json.loads(file.read_text())
    certificate["suppressed_records"] = 7
    file.write_text(json.dumps(certificate))
    found = study().comply(tmp_path / "out" / "share", **USE)
    assert not found.holds and "certificate" in found.reasons[0]


def test_folders_that_hold_no_release(tmp_path):
    with pytest.raises(UnreadableInput, match=r"no certificate\.json"):
        study().comply(tmp_path, **USE)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{", "[]", '{"sfumato_compliance": 9}'])
def test_a_damaged_record(tmp_path, text):
    study().enforce(people(), **USE).write(tmp_path / "out")
    (tmp_path / "out" / "owner" / "compliance.json").write_text(text)
    with pytest.raises(UnreadableInput):
        study().comply(tmp_path / "out" / "share", **USE)


@pytest.mark.slow
def test_writing_is_all_or_nothing(tmp_path):
    made = study().enforce(people(), **USE)
    made.write(tmp_path / "out")
    with pytest.raises(OutputError, match="already exists"):
        made.write(tmp_path / "out")
    made.write(tmp_path / "out", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        made.write(tmp_path / "file" / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "out"]


def test_a_release_made_without_any_policy(tmp_path):
    table = sf.read(pl.DataFrame({"age": [30] * 12, "sex": ["f"] * 12})).with_roles(
        quasi=["age", "sex"]
    )
    sf.anonymize(table, [sf.KAnonymity(2)], [sf.GlobalRecoding()]).write(tmp_path / "out")
    found = comply(
        tmp_path / "out" / "share", Policies.load("preset:public_release_009"), Use("any")
    )
    assert found.holds and not found.notes
    assert (
        "meets the numeric part of the public-release risk threshold of 0.09 as of 2019-03-12"
        in found.statements[0]
    )
