"""A shared folder as whoever verifies it finds it: the certificate, its files, and the data they
hold."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.certificate_files import read_certificate
from sfumato.release.shared_folder import SharedFolder
from tests.release.test_read_back import FORMATS


@pytest.mark.parametrize("format", FORMATS)
def test_moments_numbers_and_truths_come_back_as_what_they_were(tmp_path, format):  # noqa: A002
    import datetime as dt

    start = dt.datetime(2021, 3, 4, 5, 6, 7, 1000)
    values = {
        "q": ["x"] * 6,
        "s": ["a", "b"] * 3,
        "whole": [2**53 + 1, 1, None, -1, 0, 2],
        "part": [0.1, 1.0, None, 1e-7, -2.5, 123456.789],
        "truth": [True, False, None] * 2,
        "day": [dt.date(2020, 1, 2), None] * 3,
        "moment": [start, start + dt.timedelta(milliseconds=7), None] * 2,
        "hour": [dt.time(1, 2, 3), None] * 3,
    }
    people = sf.read(pl.DataFrame(values)).with_roles(
        quasi=["q"], sensitive=["s"], keep=["whole", "part", "truth", "day", "moment", "hour"]
    )
    release = sf.anonymize(
        people,
        [sf.KAnonymity(2)],
        [sf.GlobalRecoding()],
        seed=1,
        options=sf.AnonymizeOptions(format=format),
    )
    release.write(tmp_path / "out", format=format)
    share = tmp_path / "out" / "share"
    back = SharedFolder(share, read_certificate(share)).released
    assert back.to_polars().equals(release.released.to_polars())
    found = sf.verify(tmp_path / "out" / "share", original=people, owner=tmp_path / "out" / "owner")
    assert {claim.status for claim in found.claims} == {"holds"}, str(found)
