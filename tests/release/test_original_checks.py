"""Numbers that no stranger can compute are compared where original and lock are at hand: plan,
contract and utility.
"""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from sfumato.interfaces.cli import main
from sfumato.release.attack_run import DEFAULT_SAMPLE
from sfumato.release.release import Release
from sfumato.release.sealing import seal_certificate
from tests.release.report.samples import draw_page

COLUMNS = {
    "age": {
        "role": "quasi",
        "kind": "numeric",
        "hierarchy": {"intervals": {"widths": [5, 10, 20]}},
    },
    "sex": {"role": "quasi", "hierarchy": "suppress"},
    "diagnosis": "sensitive",
    "cost": {"role": "keep", "kind": "numeric"},
}
RECIPE = {
    "sfumato": 1,
    "columns": COLUMNS,
    "meet": [{"k_anonymity": {"k": 3}}],
    "steps": [{"global_recoding": {"budget": 0.05}}],
    "contract": [{"loss": {"at_most": 0.99}}],
}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_again")
    (folder / "recipe.yaml").write_text(json.dumps(RECIPE))
    sf.examples.hospital(rows=200).to_polars().select(list(COLUMNS)).write_csv(
        folder / "people.csv"
    )
    return sf.read(folder / "people.csv", recipe=folder / "recipe.yaml"), folder / "recipe.yaml"


def verified(people, folder, edit):
    """What verify says of a release whose certificate was edited, sealed again and put beside its
    original.
    """
    table, recipe = people
    sf.run(table, recipe, seed="c0ffee11d15ea5ec0ffee11d15ea5e77").write(folder / "out")
    share = folder / "out" / "share"
    certificate = json.loads((share / "certificate.json").read_text())
    edit(certificate)
    (share / "report.html").write_text(draw_page(certificate), encoding="utf-8")
    seal_certificate(share, certificate, None)
    return sf.verify(share, original=table, owner=folder / "out" / "owner")


def test_an_honest_certificate_is_that_of_the_release_made_again(people, tmp_path):
    claims = verified(people, tmp_path, lambda certificate: None).claims
    assert {claim.status for claim in claims} == {"holds"}
    assert any(claim.name.startswith("figures of the certificate") for claim in claims)


@pytest.mark.parametrize(
    ("edit", "section"),
    [
        (lambda said: said["utility"].update(loss=0.0), "utility"),
        (lambda said: said["contract"][0].update(value=0.0), "contract"),
        (
            lambda said: said["plan"][0].update(
                suppressed_classes=said["plan"][0]["suppressed_classes"] + 1
            ),
            "plan",
        ),
        (lambda said: said["plan"][0].update(algorithm="another"), "plan"),
        (lambda said: said["recipe"]["columns"]["cost"].update(role="sensitive"), "recipe"),
        (lambda said: said["recipe"]["meet"][0]["k_anonymity"].update(k=2), "recipe"),
    ],
)
def test_a_number_that_only_the_original_tells_is_noticed(people, tmp_path, edit, section):
    found = verified(people, tmp_path, edit)
    assert found.result == "false"
    (claim,) = [
        claim for claim in found.claims if claim.name.startswith("figures of the certificate")
    ]
    assert claim.status == "fails" and section in claim.detail


def test_a_measure_that_is_left_out_says_less(people, tmp_path):
    assert verified(people, tmp_path, lambda said: said["utility"].pop("loss")).result == "verified"


def test_attacks_of_a_sample_that_were_kept_are_tried_again_once(tmp_path, monkeypatch):
    """``attack`` looks for the people that ``verify`` looks for: those of the seed of the release."""
    rows = sf.examples.hospital(rows=3 * DEFAULT_SAMPLE).to_polars().select(list(COLUMNS))
    rows.write_csv(tmp_path / "people.csv")
    (tmp_path / "recipe.yaml").write_text(json.dumps(RECIPE))
    monkeypatch.chdir(tmp_path)
    call(monkeypatch, "run", "people.csv", "-r", "recipe.yaml", "-o", "out", "--seed", "7")
    chosen = ("--attack", "homogeneity", "--attack", "skewness")
    call(
        monkeypatch,
        "attack",
        "out",
        "--original",
        "people.csv",
        *chosen,
        "--seconds",
        "60",
        "--certify",
    )
    attempts = []
    attack = Release.attack
    monkeypatch.setattr(
        Release, "attack", lambda *given, **words: attempts.append(1) or attack(*given, **words)
    )
    claims = sf.verify(
        "out/share", original=sf.read("people.csv", recipe="recipe.yaml"), owner="out/owner"
    ).claims
    (claim,) = [claim for claim in claims if claim.name.startswith("attacks")]
    assert claim.status == "holds", claim.detail
    assert len(attempts) == 1


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["sfumato", *arguments, "-q"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code in (None, 0)
