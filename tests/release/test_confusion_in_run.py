"""k-confusion in a run: what the attacks that a recipe limits believe of who is behind each
released record.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError
from sfumato.methods.attacks import DistanceLinkage, ProbabilisticLinkage
from tests.methods.attacks.linkage_scenes import scene_of


def naive_candidates(original: dict, released: dict) -> list[int]:
    """Per released row how many originals are nearest: squares of standardised numbers, 1 for
    another category.
    """
    rows, distances = len(next(iter(original.values()))), []
    for y in range(rows):
        distances.append([0.0] * rows)
        for name, values in original.items():
            both = [*values, *released[name]]
            numeric = name.startswith("n")
            deviation = float(np.std(both)) if numeric else 1.0
            for x in range(rows):
                if numeric:
                    gap = (values[x] - released[name][y]) / (deviation or 1.0)
                    distances[y][x] += gap * gap
                else:
                    distances[y][x] += values[x] != released[name][y]
    return [sum(d <= min(row) + 1e-7 for d in row) for row in distances]


def random_pair(seed: int) -> tuple[dict, dict]:
    rng = np.random.default_rng(seed)
    rows, original, released = int(rng.integers(2, 25)), {}, {}
    for k in range(int(rng.integers(1, 3))):
        original[f"n{k}"] = rng.integers(0, 6, rows).astype(float).tolist()
        released[f"n{k}"] = (
            np.array(original[f"n{k}"]) + rng.choice([-1, 0, 0.5, 1], rows)
        ).tolist()
    original["c0"] = rng.choice(list("ab"), rows).tolist()
    released["c0"] = (
        rng.permutation(original["c0"]).tolist() if rng.random() < 0.5 else original["c0"]
    )
    return original, released


@pytest.mark.parametrize("seed", range(60))
def test_candidates_of_linkage_are_the_nearest_originals(seed):
    original, released = random_pair(seed)
    posterior = DistanceLinkage().posterior(scene_of(original, released))
    assert posterior.records == len(original["c0"])
    assert posterior.likely(None).tolist() == naive_candidates(original, released)
    for least in (0.5, 0.2):
        wanted = [n if 1 / n >= least - 1e-12 else 0 for n in posterior.likely(None).tolist()]
        assert posterior.likely(least).tolist() == wanted


@pytest.mark.parametrize("seed", range(30))
def test_probabilities_of_weighed_linkage_are_counted_as_in_their_matrix(seed):
    original, released = random_pair(seed)
    scene = scene_of(original, released)
    posterior = ProbabilisticLinkage().posterior(scene)
    people = posterior.files.intruder.kind_of
    matrix = np.array(
        [posterior.probabilities(kind)[people] for kind in posterior.files.released.kind_of]
    )
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(people)))
    for least in (None, 0.5, 0.1, 0.01):
        counted = [(row > 0 if least is None else row >= least - 1e-12).sum() for row in matrix]
        assert posterior.likely(least).tolist() == counted


def people(rows: int = 60) -> sf.Table:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(list("xyz"), rows),
        }
    )
    table = sf.Table(frame).with_roles(quasi=["age", "sex"], sensitive="ill")
    table = table.with_hierarchies(age=sf.intervals(10, 20), sex=sf.suppress())
    return table.with_schema(table.schema.replace("age", kind="numeric"))


def test_recoded_classes_confuse_as_many_as_they_hold():
    meet = [sf.KAnonymity(3), sf.KConfusion(3)]
    release = sf.anonymize(
        people(), meet, [sf.GlobalRecoding(budget=0.1)], limits={"linkage": 1}, seed=1
    )
    crowd, confusion = release.verdicts
    assert confusion.holds and confusion.attained == crowd.attained
    sizes = release.released.to_polars().group_by("age", "sex").len()["len"].min()
    assert confusion.attained == sizes


def test_noise_that_hides_nobody_is_refused():
    step = sf.AddNoise(columns=("age",), alpha=0.000001)
    with pytest.raises(ReleaseRefused, match="2-confusion"):
        sf.anonymize(people(), [sf.KConfusion(2)], [step], limits={"linkage": 1}, seed=1)


def test_the_parameters_of_the_limited_attack_count():
    step = sf.AddNoise(columns=("age",), alpha=0.01)
    only_sex = {sf.DistanceLinkage(weights={"age": 0}): 1}
    loose = sf.anonymize(people(), [sf.KConfusion(20)], [step], limits=only_sex, seed=1)
    assert loose.verdicts[0].attained == min(people().to_polars()["sex"].value_counts()["count"])


@pytest.mark.parametrize(
    "limits", [{}, {"prosecutor_risk": 1}, {sf.DistanceLinkage(one_to_one=True): 1}]
)
def test_without_an_attack_that_gives_probabilities_nothing_is_known(limits):
    with pytest.raises(SchemaError, match="under limits"):
        sf.anonymize(
            people(),
            [sf.KConfusion(2)],
            [sf.AddNoise(columns=("age",), alpha=0.5)],
            limits=limits,
            seed=1,
        )


def test_no_step_plans_for_it():
    with pytest.raises(ParameterError, match="needs a promise to reach"):
        sf.anonymize(
            people(), [sf.KConfusion(2)], [sf.GlobalRecoding()], limits={"linkage": 1}, seed=1
        )


def test_it_is_certified_and_verified_against_the_original(tmp_path):
    people().to_polars().write_csv(tmp_path / "t.csv")
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "{columns: {age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10, 20]}}},"
        " sex: {role: quasi, hierarchy: suppress}, ill: sensitive}, meet: [{k_anonymity: 3},"
        " {k_confusion: {k: 3}}], steps: [{global_recoding: {budget: 0.1}}], limits: {linkage: 1}}"
    )
    original = sf.read(tmp_path / "t.csv", recipe=recipe)
    made = sf.run(original, recipe, seed=1)
    made.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out/share/certificate.json").read_text())
    assert certificate["verdicts"][1]["model"] == made.verdicts[1].model
    alone = {claim.name: claim.status for claim in sf.verify(tmp_path / "out/share").claims}
    assert alone["3-confusion"] == "needs original"
    found = sf.verify(
        tmp_path / "out/share", original=original, owner=tmp_path / "out/owner"
    ).claims
    statuses = {claim.name: claim.status for claim in found}
    assert "fails" not in statuses.values()
    assert [
        status
        for name, status in statuses.items()
        if name.startswith("3-confusion") and "original" in name
    ] == ["holds"]
