"""What promises about several tables have in common: for whom they are broken."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import sfumato as sf
from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.model import Facts, make_verdict
from sfumato.core.parameters import parameters
from sfumato.data.relational.promises import PersonsPromise
from tests.data.relational.test_steps import RECODE, made


@parameters
class OwnCompany(PersonsPromise):
    """Every combination of own quasi-identifiers is had by k persons."""

    name: ClassVar[str] = "own_company"
    facts: ClassVar[Facts] = Facts(against="identity")
    k: int

    @property
    def promise(self):
        return f"company of {self.k}"

    @property
    def crowd(self):
        return self.k

    def broken(self, people: Any):
        own = people.shown().own
        return np.bincount(own)[own] < self.k

    def judge(self, evidence: Any):
        people = evidence.data
        worst = int(np.bincount(people.shown().own).min())
        return make_verdict(
            self, holds=worst >= self.k, attained=worst, required=self.k, sentence="as said"
        )


def test_promises_about_persons_are_reached_by_recoding_the_peoples_table():
    people, promise = examples.clinic(), OwnCompany(3)
    assert not promise.judge(Evidence(people)).holds
    step = made("steps", {"global_recoding": {**RECODE, "table": "people"}})
    release = sf.anonymize(people, promise, step, seed=3, options=sf.AnonymizeOptions(seconds=0))
    assert release.verdicts[0].holds
    assert release.suppressed <= 0.3 * people.people
