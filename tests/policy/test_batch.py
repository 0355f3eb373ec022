"""Every release that policies allow, each in a folder of its own."""

from __future__ import annotations

import dataclasses
import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, ReleaseRefused, SfumatoError
from sfumato.policy.batch import named_uses
from sfumato.policy.people import Policies
from sfumato.policy.policy import Policy, Recipient
from tests.policy.written_policies import datum, k_anonymity, people, purpose, study, three_policies


def policy(*purposes) -> Policy:
    """The usual columns, for several purposes."""
    return dataclasses.replace(study(), purposes=purposes)


def asked(name, *recipients, k=3, **fields):
    """A purpose of the usual study with these recipients."""
    usual = study(models=(k_anonymity(k),)).purposes[0]
    names = tuple(Recipient(recipient) for recipient in recipients)
    return dataclasses.replace(usual, name=name, recipients=names, **fields)


def outcomes(found):
    return {(o.purpose, o.recipient): o for o in found.outcomes}


def test_every_use_that_is_allowed_and_no_other(tmp_path):
    """Purposes × recipients by hand: two may, one was not agreed to, one cannot be kept."""
    policies = Policies.one(
        policy(
            asked("research", "university", "institute"),
            asked("marketing", "press", accepted=False),
            asked("statistics", "office", k=4),
            asked("billing"),
        )
    )
    found = outcomes(policies.enforce_all(people(), tmp_path / "all"))
    states = {use: outcome.state for use, outcome in found.items()}
    assert states == {
        ("research", "university"): "released",
        ("research", "institute"): "released",
        ("marketing", "press"): "not allowed",
        ("statistics", "office"): "no release",
        ("billing", None): "released",
    }
    assert "was not agreed to" in found[("marketing", "press")].reason
    folders = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert folders == [
        "01-research-university",
        "02-research-institute",
        "05-billing-controller",
        "uses.json",
    ]
    for (name, recipient), outcome in found.items():
        if outcome.state != "released":
            continue
        share = tmp_path / "all" / outcome.folder / "share"
        assert sf.verify(share).holds is not False
        assert policies.comply(share, purpose=name, recipient=recipient).holds
        data = pl.read_csv(share / "data.csv")
        assert (list(data.columns), len(data)) == (list(outcome.columns), outcome.records)
    told = json.loads((tmp_path / "all" / "uses.json").read_text())
    assert [use["state"] for use in told["uses"]] == list(states.values())


def test_each_release_is_that_of_the_use_alone(tmp_path):
    policies = Policies.one(policy(asked("research", "university"), asked("teaching", "school")))
    found = policies.enforce_all(people(), tmp_path / "all")
    for outcome in found.outcomes:
        alone = policies.enforce(
            people(), purpose=outcome.purpose, recipient=outcome.recipient, shuffle=False
        )
        data = pl.read_csv(tmp_path / "all" / outcome.folder / "share" / "data.csv")
        expected = alone.release.released.to_polars()
        assert sorted(map(str, data.rows())) == sorted(map(str, expected.rows()))


def test_no_two_releases_draw_alike(tmp_path):
    """With one seed rows would stand in the same order everywhere, and could be put together."""
    policies = Policies.one(policy(asked("research", "a", "b", "c")))
    found = policies.enforce_all(people(), tmp_path / "all")
    seeds = {
        json.loads((tmp_path / "all" / o.folder / "owner" / "lock.json").read_text())["seed"]
        for o in found.outcomes
    }
    assert len(seeds) == 3


def test_who_gets_what(tmp_path):
    policies = Policies.one(policy(asked("research", "university"), asked("care", "clinic")))
    found = policies.enforce_all(people(), tmp_path / "all")
    table = found.blocks()[0]
    assert table.header == ("purpose", "university", "clinic")
    assert table.rows == (
        ("research", "3 columns of 3 records", "–"),
        ("care", "–", "3 columns of 3 records"),
    )
    words = str(found.blocks()[-1])
    assert "put theirs together" in words


def test_names_become_no_paths(tmp_path):
    policies = Policies.one(policy(asked("../../etc", "C:\\x", "..", "…")))
    found = policies.enforce_all(people(), tmp_path / "deep" / "all")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep"]
    assert [o.folder for o in found.outcomes] == ["01-etc-c-x", "02-etc-use", "03-etc-use"]


def test_nothing_is_left_behind_where_something_is_wrong(tmp_path):
    broken = policy(
        asked("research", "university"),
        purpose(datum("Age", "QID", 3, 2, [("25", "20-30", "<50")]), name="other"),
    )
    with pytest.raises(SfumatoError):
        Policies.one(broken).enforce_all(people(), tmp_path / "all")
    refused = policy(asked("research", "university", accepted=False))
    with pytest.raises(ReleaseRefused, match="not agreed to"):
        Policies.one(refused).enforce_all(people(), tmp_path / "all")
    assert not (tmp_path / "all").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with pytest.raises(OutputError, match=r"not empty|already exists"):
        Policies.one(study()).enforce_all(people(), tmp_path / "full")


def test_people_with_policies_of_their_own(tmp_path):
    policies = Policies.of(three_policies())
    found = policies.enforce_all(people(), tmp_path / "all", by="Name")
    assert [(o.purpose, o.recipient, o.state) for o in found.outcomes] == [
        ("research", "university", "released")
    ]


def test_uses_are_named_once():
    first = policy(asked("research", "University", "press"))
    second = policy(asked("research", "university"), asked("care"))
    assert named_uses(Policies.one(first, second)) == [
        ("research", "University"),
        ("research", "press"),
        ("care", None),
    ]
