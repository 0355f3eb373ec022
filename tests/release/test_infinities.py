"""Infinite numbers: what a format cannot write is missing in the file, and an honest release
verifies in every format.
"""

from __future__ import annotations

import math

import polars as pl
import pytest

import sfumato as sf

COLUMN = {
    "quasi": [math.inf] * 4 + [-math.inf] * 4,
    "sensitive": [math.inf, -math.inf, math.inf, 1.5, math.inf, 2.5, 1.5, math.inf],
    "keep": [math.inf, -math.inf, math.nan, 1.5, math.inf, None, 1.5, math.inf],
}


@pytest.mark.parametrize("made_for", [True, False], ids=["made for it", "made for CSV"])
@pytest.mark.parametrize("role", COLUMN)
@pytest.mark.parametrize("form", ["csv", "jsonl", "excel", "parquet", "stata", "spss", "sas"])
def test_an_honest_release_verifies(tmp_path, form, role, made_for):
    if form in ("stata", "spss", "sas"):
        pytest.importorskip("pyreadstat")
    roles = {"quasi": ["age"], "sensitive": ["ill"], "keep": []}
    roles[role] = [*roles[role], "x"]
    frame = pl.DataFrame(
        {"age": ["o"] * 4 + ["n"] * 4, "x": COLUMN[role], "ill": list("abababab")}, strict=False
    )
    people = sf.read(frame).with_roles(**roles)
    release = sf.anonymize(
        people,
        [sf.KAnonymity(2)],
        [sf.GlobalRecoding(budget=0.1)],
        seed=1,
        options=sf.AnonymizeOptions(format=form if made_for else "csv"),
    )
    folder = release.write(tmp_path / "out", format=form)
    for options in ({}, {"original": people, "owner": folder / "owner"}):
        found = sf.verify(folder / "share", **options)
        assert found.holds, str(found)


def test_more_cells_than_the_file_lacks_are_not_believed(tmp_path):
    import json

    from sfumato.release.signatures import digest_of

    frame = pl.DataFrame(
        {"age": ["o"] * 4 + ["n"] * 4, "x": COLUMN["sensitive"], "ill": list("abababab")}
    )
    people = sf.read(frame).with_roles(quasi=["age"], sensitive=["ill"], keep=["x"])
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.1)], seed=1)
    folder = release.write(tmp_path / "out", format="jsonl")
    file = folder / "share" / "certificate.json"
    said = json.loads(file.read_text())
    said["story"]["suppressed_cells"]["x"] = 0.9
    file.write_text(json.dumps({**said, "digest": digest_of(said)}))
    assert "pictures" in {c.name for c in sf.verify(folder / "share").claims if c.status == "fails"}


def test_utility_that_the_file_does_not_have_is_noticed(tmp_path):
    """What a certificate tells is measured on the file, not on what was in memory before a format
    left values out.
    """
    import json

    from sfumato.release.sealing import seal_certificate
    from tests.release.report.samples import draw_page

    frame = pl.DataFrame(
        {"age": ["o"] * 4 + ["n"] * 4, "x": COLUMN["sensitive"], "ill": list("abababab")}
    )
    people = sf.read(frame).with_roles(quasi=["age"], sensitive=["ill"], keep=["x"])
    release = sf.anonymize(
        people,
        [sf.KAnonymity(2)],
        [sf.GlobalRecoding(budget=0.1)],
        seed=1,
        options=sf.AnonymizeOptions(format="csv"),
    )
    share = release.write(tmp_path / "out", format="jsonl") / "share"
    said = json.loads((share / "certificate.json").read_text())
    for name, value in said["utility"].items():
        if value is None:
            continue
        edited = {**said, "utility": {**said["utility"], name: value + 0.25}}
        (share / "report.html").write_text(draw_page(edited), encoding="utf-8")
        seal_certificate(share, edited, None)
        found = sf.verify(share, original=people, owner=tmp_path / "out" / "owner")
        assert any("gives other figures: utility" in claim.detail for claim in found.claims), name
