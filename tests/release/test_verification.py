"""What comes of all claims together: nothing that was not checked is hidden behind another claim of
the same name.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.recipe_files import KEPT
from sfumato.release.attack_run import AttackContext
from sfumato.release.manifest import Claim
from sfumato.release.signatures import digest_of
from sfumato.release.verification import AGAINST_ORIGINAL, Verification
from tests.methods.models.test_suppression_slack import hospital

STATUSES = ("holds", "fails", "needs original", "vouched")


def result_by_definition(claims: list[Claim]) -> str:
    """False where one claim fails; verified where there is a promise and every claim holds or is
    vouched for.
    """
    if any(claim.status == "fails" for claim in claims):
        return "false"
    promised = any(claim.promise for claim in claims)
    if promised and all(claim.status in ("holds", "vouched") for claim in claims):
        return "verified"
    return "not all verified"


def test_the_result_follows_from_all_claims() -> None:
    draw = random.Random(7)
    results = set()
    for _ in range(2000):
        claims = []
        for _ in range(draw.randint(0, 5)):
            name = draw.choice(["5-map", "0.2-closeness", "suppressed records"]) + draw.choice(
                ["", AGAINST_ORIGINAL]
            )
            status = draw.choices(STATUSES, weights=(6, 1, 2, 2))[0]
            claims.append(Claim(name, status, "", draw.random() < 0.8))
        found = Verification("share", tuple(claims), signed=False)
        results.add(found.result)
        assert found.result == result_by_definition(claims), claims
        promises = [claim.status for claim in claims if claim.promise]
        kept = bool(promises) and set(promises) <= {"holds", "vouched"}
        assert found.holds == (kept and found.result != "false")
        assert found.exit_code == {"verified": 0, "false": 1, "not all verified": 7}[found.result]
        assert found.headline.startswith(found.result)
        for name, status in found.promises.items():
            assert status in {
                c.status
                for c in claims
                if c.promise and c.name.removesuffix(AGAINST_ORIGINAL) == name
            }
    assert results == {"verified", "false", "not all verified"}


@pytest.mark.parametrize(
    "name", ["hidden_rules", "k_anonymity", "3-anonymity", "suppressed records"]
)
@pytest.mark.parametrize("first", [True, False])
def test_a_promise_that_was_put_in_does_not_verify(tmp_path: Path, name: str, first: bool) -> None:
    """A stranger adds rules that only the owner can look up, and says that they are of a model that
    holds, or of none.
    """
    share = (
        sf.anonymize(
            hospital(), [sf.KAnonymity(3)], [sf.GlobalRecoding(budget=0.05)], seed=1
        ).write(tmp_path / "out")
        / "share"
    )
    assert sf.verify(share).holds
    file = share / "certificate.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    place = 0 if first else 1
    document["recipe"]["meet"].insert(
        place, {"hidden_rules": {"support": 0.5, "confidence": 0.5, "rules": KEPT}}
    )
    document["verdicts"].insert(place, {**document["verdicts"][0], "model": name, "holds": True})
    document["digest"] = digest_of(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    found = sf.verify(share)
    assert found.result == ("not all verified" if name == "hidden_rules" else "false"), (
        found.headline
    )


def test_two_promises_of_one_name_are_both_looked_at(tmp_path: Path) -> None:
    """Against a population that the file does not have, and against an estimate: the second says
    nothing of the first.
    """
    people = hospital()
    meet = [sf.KMap(3), sf.KMap(3, fraction=0.5), sf.KAnonymity(3)]
    release = sf.anonymize(
        people,
        meet,
        [sf.GlobalRecoding(budget=0.05)],
        options=sf.AnonymizeOptions(population=people),
        seed=1,
    )
    found = sf.verify(release.write(tmp_path / "out") / "share")
    assert found.result == "not all verified"
    assert found.headline == "not all verified: 1 of 3 promises needs the original"


def test_attacks_with_a_population_are_tried_again_with_it(tmp_path: Path) -> None:
    people = hospital()
    release = sf.anonymize(
        people,
        [sf.KAnonymity(3)],
        [sf.GlobalRecoding(budget=0.05)],
        options=sf.AnonymizeOptions(population=people),
        seed=1,
    )
    context = AttackContext(population=people)
    folder = release.attacked(context, only=("unique_in_population",)).write(tmp_path / "out")
    found = sf.verify(folder / "share", original=people, population=people, owner=folder / "owner")
    status = {claim.name: claim.status for claim in found.claims}
    assert status[f"attacks{AGAINST_ORIGINAL}"] == "holds", str(found)
