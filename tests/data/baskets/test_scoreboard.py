"""Linkage of two files of baskets by similarity: the attack on film ratings."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato import examples
from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.knowledge import Sight
from sfumato.data.baskets.scoreboard import Scoreboard, Scored
from tests.data.baskets.ten import people_of
from tests.data.baskets.test_attacks import scene

RATED = {
    "u1": "f1:5 f2:3 f3:4",
    "u2": "f1:5 f2:3 f4:1",
    "u3": "f1:2 f3:4 f5:5",
    "u4": "f1:4 f2:2",
    "u5": "f1:5 f4:2 f5:1",
}


RATINGS = Schema.from_roles({"person": "user", "item": "film", "keep": "stars"})


def rated(people: dict[str, str]) -> Baskets:
    rows = [(user, *one.split(":")) for user, ones in people.items() for one in ones.split()]
    table = pl.DataFrame(rows, schema=["user", "film", "stars"], orient="row").with_columns(
        pl.col("stars").cast(pl.Int64)
    )
    return Baskets.from_tables({"data": table}, {"data": RATINGS}, Source())


@pytest.mark.parametrize(
    ("ratings", "scores", "eccentricity", "bits"),
    [
        ("stars", [1.362039, 0.621335, 1.565497, 0.319004, 0.816582], 0.439457, 1.772572),
        (None, [2.06403, 0.621335, 3.506725, 0.621335, 2.06403], 1.336306, None),
    ],
)
def test_worked_scoreboard(ratings, scores, eccentricity, bits):
    """14-B: film ratings of five people, the intruder has f1:5 f3:5 f5:4."""
    people, other = rated(RATED), rated({"u3": "f1:5 f3:5 f5:4"})
    attack, place = Scoreboard(ratings=ratings), scene(people, others=(other,))
    ((who, described),) = attack._descriptions(place, Sight.of(place))
    assert who == 2
    found = attack.scores(people, described, 1 / np.log(np.maximum(2, people.sets.supports)))
    assert found == pytest.approx(scores, abs=1e-6)
    scored = Scored.of(found)
    assert scored.eccentricity == pytest.approx(eccentricity, abs=1e-6)
    assert not scored.claims(1.5)
    if bits is not None:
        assert scored.entropy == pytest.approx(bits, abs=1e-6)
    assert attack.attack(place).value == 0


def test_another_file_with_strangers():
    people = examples.purchases(60, items=200)
    names = [str(name) for name in people.names]
    rows = [(names[p], people.labels[i]) for p in range(30) for i in people.sets[p].tolist()]
    rows += [
        (f"stranger {p}", people.labels[i])
        for p in range(30, 40)
        for i in people.sets[p].tolist()[:2]
    ]
    table = pl.DataFrame(rows, schema=["customer", "product"], orient="row")
    schema = Schema({"customer": people.schema["customer"], "product": people.schema["product"]})
    other = Baskets.from_tables({"data": table}, {"data": schema}, Source())
    finding = Scoreboard().attack(
        scene(people, people.shuffled(np.random.default_rng(0)), others=(other,))
    )
    assert finding.trials == 30
    assert finding.value > 0.8
    assert set(finding.victims.tolist()) <= set(range(30))
    assert Scoreboard().attack(scene(people, others=(people.taken(np.arange(10)),))).trials == 10
    nameless = people_of([{"a1"}])
    assert "who is who" in Scoreboard().applies(scene(people, others=(nameless,)))


def test_noise_and_the_control():
    people = examples.purchases(200, items=300)
    exact = Scoreboard(wrong=0.0, known=12).attack(scene(people))
    noisy = Scoreboard(wrong=0.6, known=4).attack(scene(people))
    assert exact.value > noisy.value
    assert exact.details["claims_of_absent"] < exact.value
    assert 0 <= noisy.details["wrong_claims"] <= noisy.trials


def test_one_who_fits_among_very_many_leaves_no_doubt():
    scores = np.zeros(
        600_000
    )  # the best stands out by √n standard deviations, and exp of that is no number any more
    scores[7] = 1.0
    found = Scored.of(scores)
    assert (found.best, found.entropy) == (7, 0.0)
