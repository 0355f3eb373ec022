"""One record more, less or other changes no type, label, layout or error of a release with an accounted ε."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sfumato.steps.recoding.safe_k_anonymization import SafeAnonymize
from tests.neighbouring_tables import case_of, shown

CASES = int(os.environ.get("SFUMATO_FUZZ_CASES", "120"))
FIRST = int(os.environ.get("SFUMATO_FUZZ_FIRST", "0"))


@pytest.fixture(autouse=True)
def everybody_is_kept(monkeypatch):
    """The coins of the accounted step, made the same for both tables: all records are released, in their order."""
    monkeypatch.setattr(SafeAnonymize, "_rows", lambda self, dataset, fixed, draws: np.arange(len(dataset)))


@pytest.mark.parametrize("number", range(FIRST, FIRST + CASES))
def test_neighbouring_tables_look_alike(number, tmp_path):
    case = case_of(number)
    first, second = (shown(case, which, tmp_path) for which in (0, 1))
    assert first.ended == second.ended, case.told()
    assert first.properties == second.properties, case.told()
    if case.exact and first.cells:
        kept = [[found.cells[i] for i in rows] for found, rows in zip((first, second), case.common, strict=True)]
        assert kept[0] == kept[1], case.told()
