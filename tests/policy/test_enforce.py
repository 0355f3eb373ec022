"""Running policies: compile, release, verify the output, and write the compliance record beside
it."""

from __future__ import annotations

from sfumato.policy.enforce import drift
from sfumato.policy.people import Policies
from tests.policy.written_policies import study


def test_drift_of_a_datum_and_of_the_whole():
    record = {"policies": [{"name": "study", "digest": "x", "parts": {"purpose gone": "1"}}]}
    told = drift(record, Policies.one(study()))
    assert "policy 'study' changed after the release: purpose gone gone" in told
    assert "policy 'study' changed after the release: purpose research, datum Age added" in told
    assert drift({"policies": []}, Policies.one(study())) == [
        "policy 'study' is not one of those the release was made under"
    ]
    assert drift(record, Policies()) == ["policy 'study' of the release was not given; give it"]
