"""``sfumato check B --generalisation-of A``: is B a generalisation of A, and k-minimal?"""

from __future__ import annotations

import pytest

RECIPE = """
sfumato: 1
columns:
  age: {role: quasi, hierarchy: {intervals: {widths: [10, 20]}}}
  zip: {role: quasi, hierarchy: {parts: {separators: "-", keep: [1]}}}
  illness: {role: sensitive}
meet: %s
steps: []
"""


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A table, a generalisation of it and one of which two records have no original."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(
        "age,zip,illness\n21,1-a,flu\n24,1-b,flu\n35,2-a,cough\n38,2-b,flu\n90,7-z,gout\n"
    )
    (tmp_path / "b.csv").write_text(
        "age,zip,illness\n20-29,1-*,flu\n20-29,1-*,flu\n30-39,2-*,flu\n30-39,2-*,cough\n"
    )
    (tmp_path / "bad.csv").write_text("age,zip,illness\n20-29,1-*,flu\n20-29,1-*,gout\n")
    (tmp_path / "r.yaml").write_text(RECIPE % "[]")
    (tmp_path / "k.yaml").write_text(RECIPE % "[{k_anonymity: 3}]")


@pytest.mark.usefixtures("tables")
def test_the_command(sfumato):
    of = ("--generalisation-of", "a.csv")
    good = sfumato("check", "b.csv", *of, "-r", "r.yaml")
    assert good.code == 0, good.err
    assert "2-minimal with at most 1 suppressed" in good.out
    bad = sfumato("check", "bad.csv", *of, "-r", "r.yaml", "--json")
    assert bad.code == 1
    assert '"form": null' in bad.out
    assert "gout" not in bad.out + bad.err
    # A promise of the recipe is judged too, and its k is that of minimality.
    promised = sfumato("check", "b.csv", *of, "-r", "k.yaml")
    assert promised.code == 1
    assert "a class has only 2 records" in promised.out


@pytest.mark.usefixtures("tables")
def test_an_option_without_the_other_is_refused(sfumato):
    assert sfumato("check", "b.csv", "-r", "k.yaml", "--max-suppressed", 1).code == 2
