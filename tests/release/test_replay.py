"""Checking a release against its original: the commitment opens, and the recipe gives the same rows
again."""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from tests.release.masked_cases import CASES, table_of
from tests.release.test_masked_releases import (
    naive_models,  # noqa: F401 - a fixture
    office_key,  # noqa: F401 - a fixture
    released,
    second,
    undrawn,  # noqa: F401 - a fixture
)

FIXED = frozenset({"recode", "pseudonymize", "microaggregate"})
"""Steps that draw nothing at random with the parameters they have here."""


@pytest.mark.parametrize(
    "name", ["recode", "shift_dates", "pseudonymize", "pram", "microaggregate"]
)
def test_a_changed_release_does_not_verify(name, tmp_path, undrawn):  # noqa: F811
    release = released(name)
    release.write(tmp_path / "out")
    table = table_of(CASES[name].table)
    options = {"original": table, "owner": tmp_path / "out" / "owner", "population": second(name)}
    assert sf.verify(tmp_path / "out" / "share", **options).holds
    lock = tmp_path / "out" / "owner" / "lock.json"
    other = {**json.loads(lock.read_text()), "seed": "0" * 31 + "1"}
    lock.write_text(json.dumps(other))
    found = sf.verify(tmp_path / "out" / "share", **options)
    claims = {claim.name: claim.status for claim in found.claims}
    renumbered = CASES[name].table == "homes"  # households get other numbers with another seed
    assert claims["rows are the recoded original"] == (
        "holds" if name in FIXED and not renumbered else "fails"
    )


def test_a_second_table_is_needed_to_make_a_release_again(tmp_path, undrawn):  # noqa: F811
    released("swap_across").write(tmp_path / "out")
    options = {"original": table_of("homes"), "owner": tmp_path / "out" / "owner"}
    found = sf.verify(tmp_path / "out" / "share", **options)
    assert found.holds and "--population" in str(found)
    wrong = sf.verify(tmp_path / "out" / "share", **options, population=table_of("homes", seed=10))
    assert not wrong.holds and "other rows" in str(wrong)
