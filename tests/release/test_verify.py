"""A certificate is worth what it catches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.release.signatures import digest_of


@pytest.fixture
def release(tmp_path: Path) -> Path:
    people = sf.examples.hospital(rows=400)
    sf.anonymize(people, [sf.KAnonymity(3)], [sf.GlobalRecoding(budget=0.05)]).write(
        tmp_path / "out"
    )
    return tmp_path / "out"


def statuses(found) -> dict[str, str]:
    return {claim.name: claim.status for claim in found.claims}


@pytest.mark.slow
def test_an_untouched_release_verifies_and_says_what_needs_the_original(release):
    found = sf.verify(release / "share")
    assert found.holds and not found.signed
    assert statuses(found)["3-anonymity"] == "holds"
    assert statuses(found)["suppressed records"] == "needs original"


@pytest.mark.slow
def test_the_original_and_the_lock_settle_everything(release):
    found = sf.verify(
        release / "share", original=sf.examples.hospital(rows=400), owner=release / "owner"
    )
    assert set(statuses(found).values()) == {"holds"}


@pytest.mark.slow
def test_another_original_is_noticed(release):
    found = sf.verify(
        release / "share", original=sf.examples.hospital(rows=400, seed=8), owner=release / "owner"
    )
    assert statuses(found)["the original is the committed one"] == "fails"
    assert statuses(found)["rows are the recoded original"] == "fails"


@pytest.mark.slow
@pytest.mark.parametrize("position", [0.1, 0.5, 0.9])
def test_one_flipped_byte_is_caught(release, position):
    data = release / "share" / "data.csv"
    content = bytearray(data.read_bytes())
    place = int(len(content) * position)
    content[place] ^= 1
    data.write_bytes(bytes(content))
    assert statuses(sf.verify(release / "share"))["data file unedited"] == "fails"


def edit(release: Path, change) -> None:
    file = release / "share" / "certificate.json"
    certificate = json.loads(file.read_text())
    change(certificate)
    file.write_text(json.dumps(certificate))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["verdicts"][0].update(attained=99),
        lambda c: c["classes"].update(smallest=99),
        lambda c: c.update(suppressed_records=0),
        lambda c: c["data"].update(rows=1),
    ],
)
def test_an_edited_certificate_is_caught(release, change):
    edit(release, change)
    assert statuses(sf.verify(release / "share"))["certificate unedited"] == "fails"


def test_a_false_claim_is_caught_even_with_a_fresh_digest(release):
    def lie(certificate):
        certificate["verdicts"][0]["attained"] = 99
        certificate["digest"] = digest_of(certificate)

    edit(release, lie)
    found = statuses(sf.verify(release / "share"))
    assert found["certificate unedited"] == "holds" and found["3-anonymity"] == "fails"


@pytest.mark.slow
def test_a_row_removed_with_digests_mended_breaks_the_class_sizes(release):
    data = release / "share" / "data.csv"
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[:-1]))

    def mend(certificate):
        from sfumato.release.manifest import sha256_of

        certificate["data"]["sha256"] = sha256_of(data)
        certificate["data"]["rows"] -= 1
        certificate["digest"] = digest_of(certificate)

    edit(release, mend)
    assert statuses(sf.verify(release / "share"))["class sizes and risks"] == "fails"


def test_no_seed_and_no_value_in_what_is_shared(release):
    lock = json.loads((release / "owner" / "lock.json").read_text())
    people = sf.examples.hospital(rows=400).to_polars()
    shared = (release / "share" / "certificate.json").read_text() + (
        release / "share" / "report.html"
    ).read_text()
    assert (
        lock["seed"] not in shared
        and lock["salt"] not in shared
        and lock["input_sha256"] not in shared
    )
    for column in (
        "patient_name",
        "insurance_number",
        "email",
        "occupation",
        "diagnosis",
        "admission_date",
    ):
        values = {str(v) for v in people[column].drop_nulls().to_list()}
        assert not [v for v in values if v in shared]


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["missing", "not json", "other version", "escaping path"])
def test_a_folder_that_is_no_release(release, broken):
    share = release / "share"
    certificate = share / "certificate.json"
    if broken == "missing":
        certificate.unlink()
    elif broken == "not json":
        certificate.write_text("{")
    elif broken == "other version":
        edit(release, lambda c: c.update(sfumato_certificate=4))
    else:
        edit(release, lambda c: c["data"].update(file="../owner/lock.json"))
    with pytest.raises(sf.errors.UnreadableInput):
        sf.verify(share)


@pytest.mark.slow
def test_the_alignment_leads_back_to_the_original_rows(release):
    import polars as pl

    rows = pl.read_parquet(release / "owner" / "alignment.parquet")["original_row"]
    original = sf.examples.hospital(rows=400).to_polars()
    shared = pl.read_csv(release / "share" / "data.csv", infer_schema=False)
    assert (
        original["diagnosis"].gather(rows).cast(pl.String).to_list()
        == shared["diagnosis"].to_list()
    )
