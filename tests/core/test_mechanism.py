"""A promise about a mechanism holds only of a run in which a step applied it; a recipe that does
nothing keeps no promise at all.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import registry
from sfumato.core.data import Context
from sfumato.core.mechanism import Mechanism
from sfumato.core.randomness import Seed
from sfumato.errors import ReleaseRefused, SfumatoError
from sfumato.methods.formulas.transition import local_epsilon
from sfumato.release.make import make_release
from sfumato.release.signatures import digest_of

ILLS = ("cold", "flu", "ulcer")
MATRIX = {a: {b: 0.4 if a == b else 0.3 for b in ILLS} for a in ILLS}
OTHER = {a: {b: 0.98 if a == b else 0.01 for b in ILLS} for a in ILLS}
CLOSE = sf.StochasticTCloseness("ill", t=1.4, mechanism="matrix", matrix=MATRIX)
RANDOM = sf.Pram(["ill"], matrix={"ill": MATRIX}, invariant="none")
NOTHING = sf.Round(["spare"], base=1)


def people(rows=90):
    """Three ages with illnesses of their own: without the mechanism whoever knows the age knows the
    illness.
    """
    frame = pl.DataFrame(
        {
            "age": [20 + i % 3 for i in range(rows)],
            "ill": [ILLS[i % 3] for i in range(rows)],
            "spare": [i % 7 for i in range(rows)],
        }
    )
    return (
        sf.read(frame)
        .with_roles(quasi="age", sensitive="ill", keep="spare")
        .with_hierarchies(age=sf.suppress())
    )


def refused(steps, meet=CLOSE):
    with pytest.raises(ReleaseRefused, match="no step of this run applied the mechanism"):
        sf.anonymize(people(), [sf.KAnonymity(2), meet], steps, seed=3)


def test_the_mechanism_applied_last_keeps_the_promise():
    release = sf.anonymize(people(), [sf.KAnonymity(2), CLOSE], [NOTHING, RANDOM], seed=3)
    assert release.verdicts[1].holds and release.verdicts[1].attained == pytest.approx(
        0.4 / (1 / 3)
    )
    sf.anonymize(
        people(), [sf.KAnonymity(2), CLOSE], [RANDOM, NOTHING], seed=3
    )  # what touches neither column nor class may follow


@pytest.mark.parametrize(
    "steps",
    [
        [NOTHING],
        [sf.Pram(["ill"], matrix={"ill": OTHER}, invariant="none")],
        [sf.Pram(["ill"], matrix={"ill": MATRIX}, invariant="two_stage")],
        [sf.Pram(["ill"], retain=0.4, invariant="none")],
        [sf.Recode(["ill"], mapping={"flu": "cold"}, unmapped="keep"), RANDOM],
        [RANDOM, sf.Recode(["ill"], mapping={"flu": "cold"}, unmapped="keep")],
        [RANDOM, sf.SwapData(["ill"], rate=0.5)],
        [RANDOM, RANDOM],
        [RANDOM, sf.GlobalRecoding(budget=0.0, levels={"age": (1, 1)})],
        [RANDOM, sf.Sample(0.5)],
    ],
    ids=lambda steps: "+".join(step.name for step in steps),
)
def test_anything_else_does_not(steps):
    refused(steps)


def test_drawn_rows_passed_no_mechanism():
    with pytest.raises(SfumatoError, match="rows are synthetic"):
        sf.anonymize(people(), [CLOSE], [RANDOM, sf.Synthesize()], seed=3)


POOL = {
    "mechanism": (RANDOM, "ill"),
    "other matrix": (sf.Pram(["ill"], matrix={"ill": OTHER}, invariant="none"), "ill"),
    "other column": (NOTHING, ""),
    "noise beside": (sf.AddNoise(["spare"], 0.5), ""),
    "classes": (sf.GlobalRecoding(budget=0.0, levels={"age": (1, 1)}), "classes"),
    "fewer records": (sf.Sample(0.5), "records"),
    "relabelled": (
        sf.Recode(["ill"], mapping={"flu": "cold", "cold": "flu"}, unmapped="keep"),
        "ill",
    ),
    "swapped": (sf.SwapData(["ill"], rate=0.9), "ill"),
}


@pytest.mark.parametrize("number", range(25))
def test_random_recipes_keep_it_exactly_when_the_mechanism_comes_last(number):
    """Written from the specification alone: one step on the column, that mechanism, and neither
    classes nor records change after it.
    """
    stream = np.random.default_rng(number)
    names = stream.choice(list(POOL), size=int(stream.integers(1, 5))).tolist()
    touched = [POOL[name][1] for name in names]
    keeps = touched.count("ill") == 1 and "mechanism" in names
    if keeps:
        place = names.index("mechanism")
        later = set(touched[place + 1 :]) - (
            {"classes"} & set(touched[:place])
        )  # all are one class already
        keeps = not later & {"classes", "records"}
    steps = [POOL[name][0] for name in names]
    recipe = sf.Recipe(people().schema, (CLOSE,), tuple(steps))
    release = make_release(people(), recipe, Context(Seed.of(number), refuse=False))
    assert ("no step of this run" not in release.verdicts[0].sentence) is keeps, names
    assert keeps or not release.verdicts[0].holds, names


def test_the_other_matrix_protects_less():
    weak, strong = (
        local_epsilon(np.array([list(row.values()) for row in m.values()])) for m in (OTHER, MATRIX)
    )
    assert weak > 4.5 and strong < 0.3


def test_raw_values_of_a_second_table_break_it():
    steps = [RANDOM, sf.SwapAcross(["ill"], match=["age"])]
    with pytest.raises(ReleaseRefused, match="no step of this run"):
        sf.anonymize(
            people(),
            [CLOSE],
            steps,
            options=sf.AnonymizeOptions(population=sf.read(people().to_polars())),
            seed=3,
        )


def test_noise_that_no_step_adds_is_not_promised():
    noisy = sf.StochasticTCloseness("spare", t=9, mechanism="laplace", scale=50)
    table = people().with_roles(sensitive="spare")
    with pytest.raises(ReleaseRefused, match="no step of this run"):
        sf.anonymize(table, [noisy], [sf.AddNoise(["spare"], 0.5)], seed=1)


def test_no_table_shows_a_mechanism():
    for verdict in (*sf.judge(people(), [CLOSE]), *sf.assess(people(), [CLOSE]).verdicts):
        assert (
            not verdict.holds
            and verdict.attained is None
            and verdict.sentence.startswith("unknown:")
        )
    release = sf.anonymize(people(), [CLOSE], [RANDOM], seed=3)
    (checked,) = sf.check(release.data, release.recipe)
    assert not checked.holds and checked.sentence.startswith("unknown:")
    (checked,) = sf.check(release.data, release.recipe, original=people())
    assert not checked.holds


def test_a_test_of_promises_fails():
    from sfumato.testing import assert_promise

    with pytest.raises(AssertionError):
        assert_promise(people(), CLOSE)


def edited(folder: Path, change) -> None:
    file = folder / "share" / "certificate.json"
    certificate = json.loads(file.read_text())
    change(certificate)
    certificate["digest"] = digest_of(certificate)
    file.write_text(json.dumps(certificate))


def status(folder: Path, **options):
    found = sf.verify(folder / "share", **options)
    return [
        claim
        for claim in found.claims
        if claim.promise and claim.name.startswith("stochastic t closeness")
    ][-1]


def test_verify_from_the_certificate_and_from_the_original(tmp_path):
    release = sf.anonymize(people(), [sf.KAnonymity(2), CLOSE], [NOTHING, RANDOM])
    release.write(tmp_path)
    assert status(tmp_path).status == "needs original"
    assert status(tmp_path, original=people()).status == "needs original", (
        "without the lock nobody knows who became what"
    )
    assert status(tmp_path, original=people(), owner=tmp_path / "owner").status == "holds"


def _gone(certificate):
    certificate["recipe"]["steps"].pop()
    certificate["plan"].pop()


def _untold(certificate):
    certificate["plan"][1]["fixed_mechanism"] = []


def _later(certificate):
    certificate["recipe"]["steps"].append({"pram": {"columns": ["ill"], "retain": 0.9}})
    certificate["plan"].append(
        {"step": "pram", "masked": {"ill": "released at random by known probabilities"}}
    )


@pytest.mark.parametrize("change", [_gone, _untold, _later])
def test_a_certificate_that_tells_of_no_mechanism_fails(tmp_path, change):
    sf.anonymize(people(), [sf.KAnonymity(2), CLOSE], [NOTHING, RANDOM]).write(tmp_path)
    edited(tmp_path, change)
    assert status(tmp_path).status == "fails"


# --- every promise, with a recipe that does nothing ---

STRICT = {
    "k_anonymity": {"k": 2},
    "p_sensitive": {"sensitive": "ill", "p": 2, "k": 2},
    "l_diversity": {"sensitive": "ill", "l": 2},
    "alpha_k_anonymity": {"sensitive": "ill", "alpha": 0.5, "k": 2},
    "t_closeness": {"sensitive": "ill", "t": 0.2},
    "delta_disclosure": {"sensitive": "ill", "delta": 0.5},
    "beta_likeness": {"sensitive": "ill", "beta": 0.5},
    "stochastic_t_closeness": {
        "sensitive": "ill",
        "t": 100,
        "mechanism": "matrix",
        "matrix": MATRIX,
    },
    "k_map": {"k": 2},
    "delta_presence": {"low": 0, "high": 0.5},
    "k_on_subsets": {"k": 2, "size": 1},
    "k_on_combinations": {"k": 2, "combinations": [["age"]]},
    "maximum_risk": {"threshold": 0.5},
    "average_risk": {"threshold": 0.5},
    "records_at_risk": {"threshold": 0.5, "share": 0.1},
    "expected_reidentifications": {"limit": 5},
    "population_uniqueness": {"share": 0.01, "fraction": 0.9},
    "one_k_anonymity": {"k": 2},
    "k_one_anonymity": {"k": 2},
    "k_k_anonymity": {"k": 2},
    "k_concealment": {"k": 2},
    "k_confusion": {"k": 2},
    "hidden_rules": {"rules": ["ill=cold -> spare=0"], "support": 2, "confidence": 0.1},
}


@pytest.mark.parametrize("name", sorted(registry.family("models")))
def test_a_recipe_that_does_nothing_keeps_no_promise(name):
    """Everybody has an age and an illness of few; nobody is hidden, and no model may say so."""
    assert name in STRICT, f"say in STRICT what of {name} a table of unprotected people breaks"
    frame = pl.DataFrame(
        {"age": range(20, 50), "ill": [ILLS[i % 3] for i in range(30)], "spare": [0] * 30}
    )
    table = sf.read(frame).with_roles(quasi="age", sensitive="ill", keep="spare")
    model = registry.build("models", {name: STRICT[name]})
    with pytest.raises(SfumatoError):
        sf.anonymize(
            table,
            [model],
            [NOTHING],
            options=sf.AnonymizeOptions(population=sf.read(frame)),
            seed=1,
        )
    verdicts = []
    with contextlib.suppress(SfumatoError):
        verdicts = sf.judge(table, [model], original=table, population=sf.read(frame))
    assert not any(verdict.holds for verdict in verdicts)


def test_matrices_are_compared_by_what_they_do():
    swapped = {b: {a: MATRIX[b][a] for a in reversed(ILLS)} for b in reversed(ILLS)}
    assert Mechanism.of_matrix(swapped) == Mechanism.of_matrix(MATRIX) != Mechanism.of_matrix(OTHER)
    sure = {a: {a: 1.0} for a in ILLS}
    assert Mechanism.of_matrix(sure) == Mechanism.of_matrix(
        {a: {b: float(a == b) for b in ILLS} for a in ILLS}
    )
