"""Every field of the result of a study, edited and sealed again by who is no party."""

from __future__ import annotations

import json

from sfumato.errors import SfumatoError
from sfumato.release.signatures import digest_of
from sfumato.release.verify import verify
from tests.parties.studies import a_study
from tests.parties.test_conduct import run
from tests.release.test_every_leaf import edited, is_unchecked, leaves, names_section


def test_every_field_is_signed_or_told_by_the_study(tmp_path):
    study = a_study(tmp_path)
    certificate = dict(run(tmp_path, study)[0].certificate)
    del certificate["signature"]
    file = tmp_path / "result.json"
    tried = 0
    for path in leaves(certificate):
        if path[0] == "digest" or is_unchecked(path):
            continue
        document = edited(certificate, path)
        document["digest"] = digest_of(document)
        file.write_text(json.dumps(document))
        for original in (None, study):
            try:
                verification = verify(file, original=original)
            except SfumatoError:
                continue
            tried += 1
            assert verification.exit_code in (1, 7), path
            assert names_section(verification, str(path[0])), path
            measured = path[:3] == ("study", "cost", "measured")
            if original is not None and not measured:
                assert verification.exit_code == 1, path
    assert tried > 60


def test_a_signed_result_is_verified_by_its_study_alone(tmp_path):
    study = a_study(tmp_path)
    file = tmp_path / "result.json"
    file.write_text(json.dumps(run(tmp_path, study)[0].certificate))
    assert verify(file, original=study).exit_code == 0
    alone = verify(file)
    assert alone.exit_code == 7 and not alone.holds
