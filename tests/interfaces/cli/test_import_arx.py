"""``sfumato import`` takes metadata of µ-Argus as well as projects of ARX."""

from __future__ import annotations

from tests.interfaces.test_argus_import import DATA, METADATA, RECODING


def test_metadata_of_argus(sfumato, tmp_path):
    (tmp_path / "survey.rda").write_text(METADATA)
    (tmp_path / "survey.asc").write_text(DATA)
    (tmp_path / "AGE.GRC").write_text(RECODING)
    made = sfumato("import", tmp_path / "survey.rda", "-o", tmp_path / "out")
    assert made.code == 0
    assert "4 columns, 4 records, 1 recode files" in made.out
    assert "decide 1 column(s) with role ask" in made.err
    assert (tmp_path / "out" / "data.csv").exists()
    again = sfumato("import", tmp_path / "survey.rda", "-o", tmp_path / "out")
    assert again.code == 2 and "already exists" in again.err
    wrong = sfumato("import", tmp_path / "other.rda", "-o", tmp_path / "new")
    assert wrong.code != 0 and not (tmp_path / "new").exists()
