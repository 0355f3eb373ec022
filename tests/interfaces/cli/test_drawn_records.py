"""The command line on drawn records: refused where they copy, attacked by default, and told for
what they are.
"""

from __future__ import annotations

import pytest

from tests.methods.attacks.drawn_rows import people

SEED = "0123456789abcdef0123456789abcdef"
COLUMNS = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric}
  sex: {role: quasi}
  zip: {role: quasi}
  income: {role: keep, kind: numeric}
  illness: {role: sensitive}
"""

ANYWAY = "limits: {recognised_members: 1}"
"""Of 300 people too few are set aside to tell whether they are recognised; that is accepted here.
"""


@pytest.fixture
def run(sfumato, tmp_path, monkeypatch):
    """Run a recipe of these steps on a table of 300 people, into the folder ``out``."""
    monkeypatch.chdir(tmp_path)
    people(300).to_polars().write_csv("t.csv")

    def made(steps, *arguments, limits=""):
        (tmp_path / "r.yaml").write_text(f"{COLUMNS}steps:\n{steps}\n{limits}\n")
        return sfumato("run", "t.csv", "-r", "r.yaml", "-o", "out", "--seed", SEED, *arguments)

    return made


def test_a_release_that_copies_is_refused_with_exit_1(run, tmp_path):
    found = run("  - synthesize: {min_leaf: 1, smoothing: none}")
    assert (
        found.code == 1 and "copied records is 0." in found.err and not (tmp_path / "out").exists()
    )


def test_without_people_set_aside_it_is_refused_with_exit_1(run, tmp_path):
    found = run("  - synthesize: {holdout: 0}")
    assert (
        found.code == 1
        and "copied records is unknown" in found.err
        and not (tmp_path / "out").exists()
    )


def test_a_recipe_with_nothing_but_synthesize_is_released_attacked_and_told(run, sfumato):
    found = run("  - synthesize", limits=ANYWAY)
    assert found.code == 0, found.err
    assert (
        "synthetic records" in found.out
        and "closest record" in found.out
        and "suppressed" not in found.out
    )
    worth = sfumato("evaluate", "out", "--original", "t.csv")
    assert worth.code == 0 and "marginal error" in worth.out and "synthetic" in worth.out
    told = sfumato("explain", "out")
    assert "none is the record of a person" in told.out
    verified = sfumato("verify", "out/share", "--original", "t.csv", "--owner", "out/owner")
    assert verified.code == 0, verified.out


def test_attacks_can_be_left_out(run):
    found = run("  - synthesize", "--attack", "0", limits=ANYWAY)
    assert found.code == 0 and "closest record" not in found.out and "not attacked yet" in found.out
