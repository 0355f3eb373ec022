"""The original of a written release: how it is read, as the owner's lock or the certificate
says."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from tests.data.relational.test_released import (
    folder,  # noqa: F401 - a fixture
    out,  # noqa: F401 - a fixture
)


def test_a_written_release_is_measured_beside_its_original(folder, out):  # noqa: F811
    from sfumato.release.folder import read_release
    from sfumato.release.originals import original_of

    written = read_release(out)
    before = original_of(folder / "clinic", written.certificate, out / "owner")
    measures = {m.name: m for m in sf.evaluate(before, written.beside(before).released).measures}
    visits = pl.read_csv(out / "share" / "visits.csv").height
    assert measures["rows_kept"].per_column["visits"] == pytest.approx(
        visits / len(before["visits"])
    )
