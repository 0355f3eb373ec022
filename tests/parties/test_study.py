"""A study file: what it says, what is signed, and everything that is refused when it is read."""

from __future__ import annotations

import unicodedata

import pytest

from sfumato.errors import ParameterError, RecipeError, UnreadableInput
from sfumato.parties.study import canonical, list_learned, read_study, sign, study_from
from tests.parties.studies import NAMES, document, keys_in, written


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Keys of the hospitals."""
    home = tmp_path_factory.mktemp("studies")
    keys_in(home)
    return home


def refused(folder, **changes):
    """The problems of a study."""
    with pytest.raises(RecipeError) as caught:
        study_from(document(folder, **changes))
    return str(caught.value)


def test_everything_can_be_said(folder):
    study = study_from(
        document(
            folder,
            question={"mean": {"column": "age", "bounds": ["0", "120"], "scale": 0}},
            protocol={"name": "shamir", "threshold": 1, "dropout": "allow"},
            noise={"epsilon": "0.5", "colluders": 1},
            control={"least_records": 20, "least_parties": 4, "dominance": 10},
            valid={"from": "2026-11-01", "until": "2026-12-31"},
            version="0.9",
        )
    )
    assert [party.name for party in study.parties] == list(NAMES)
    assert (study.degree, study.control.least_records, study.limits.connect) == (1, 20, 30)
    assert study.number_of("hospital_c") == 2
    assert any("0.5" in line for line in list_learned(study))


def test_the_digest_is_of_what_is_said_however_it_is_written(folder):
    plain = document(folder)
    turned = dict(reversed(plain.items()))
    assert study_from(plain).digest == study_from(turned).digest
    assert study_from(plain).digest != study_from({**plain, "records_at_most": 999}).digest
    assert (
        study_from(plain).digest
        == study_from({**plain, "signatures": {"hospital_a": "eA=="}}).digest
    )
    text = "Universität"
    assert canonical(unicodedata.normalize("NFD", text)) == canonical(
        unicodedata.normalize("NFC", text)
    )


def test_only_all_signatures_are_enough(folder):
    path = written(folder, document(folder), name="some.yaml", signers=NAMES[:3])
    assert read_study(path).unsigned() == ("hospital_d",)
    assert sign(path, keys_in(folder)[3].signing) == "hospital_d"
    assert read_study(path).unsigned() == ()


def test_signing_keeps_comments_and_what_is_said(folder):
    path = written(folder, document(folder), name="commented.yaml", signers=())
    path.write_text("# agreed in November\n" + path.read_text())
    before = read_study(path).digest
    sign(path, keys_in(folder)[0].signing)
    assert read_study(path).digest == before
    assert path.read_text().startswith("# agreed in November\n")


def test_a_signature_is_of_one_study(folder):
    path = written(folder, document(folder), name="signed.yaml")
    path.write_text(path.read_text().replace("records_at_most: 1000", "records_at_most: 1001"))
    assert read_study(path).unsigned() == NAMES


def test_who_is_no_party_cannot_sign(folder, tmp_path):
    from sfumato.parties.keys import new_keys

    path = written(folder, document(folder), name="stranger.yaml", signers=())
    with pytest.raises(ParameterError, match="not the key of a party"):
        sign(path, new_keys(tmp_path, "stranger").signing)


def test_unknown_parts_are_named_with_what_may_be_meant(folder):
    assert "'protocoll' is not a section of a study. Did you mean 'protocol'?" in refused(
        folder, protocoll={}
    )
    assert "Did you mean 'threshold'?" in refused(
        folder, protocol={"name": "shamir", "treshold": 1}
    )
    assert "Did you mean 'mean'?" in refused(folder, question={"meen": {}})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"study": 2}, "version 1"),
        ({"study": None}, "'study' must be given"),
        ({"id": "0123"}, "32 hexadecimal"),
        ({"split": "vertical"}, "split by columns"),
        ({"records_at_most": 2**31}, "below 2^31"),
        ({"records_at_most": True}, "whole number"),
        ({"protocol": {"name": "magic"}}, "not by 'magic'"),
        ({"protocol": {"name": "shamir", "threshold": 2}}, "at most 1"),
        ({"protocol": {"name": "additive", "threshold": 1}}, "belong to shamir"),
        ({"protocol": {"name": "encrypted"}}, "needs a server"),
        ({"question": {"mean": {"column": "age", "bounds": ["0", "x"]}}}, "question: mean: bounds"),
        ({"question": {"mean": {1: "age"}}}, "no parameter '1'"),
        ({"limits": {"connect": "soon"}}, "limits: connect should be"),
        (
            {"protocol": {"name": "encrypted", "server": "hospital_a", "key_holder": "hospital_a"}},
            "different",
        ),
        ({"protocol": {"name": "shamir", "server": "hospital_a"}}, "no server"),
        ({"protocol": "shamir"}, "mapping"),
        ({"noise": {"epsilon": 0.5}}, "text"),
        ({"noise": {"epsilon": "0.5", "colluders": 4}}, "collude"),
        ({"limits": {"connect": 0}}, "greater than or equal to 1"),
        ({"valid": {"from": "2026-12-31", "until": "2026-01-01"}}, "before it begins"),
        ({"valid": {"from": "tomorrow"}}, "2026-12-31"),
        ({"signatures": {"hospital_x": "eA=="}}, "is not a party"),
        ({"control": {"least_parties": 5}}, "two_parties"),
    ],
)
def test_what_is_wrong_is_said(folder, changes, words):
    assert words in refused(folder, **changes)


def test_two_parties_are_too_few(folder):
    plain = document(folder)
    plain["parties"] = plain["parties"][:2]
    with pytest.raises(RecipeError, match="two_parties"):
        study_from(plain)


@pytest.mark.parametrize("what", ["address", "certificate", "signing_key", "name"])
def test_parties_are_unlike_each_other(folder, what):
    plain = document(folder)
    first, second = plain["parties"][:2]
    for key in (what, "certificate_sha256") if what == "certificate" else (what,):
        second[key] = first[key]
    with pytest.raises(RecipeError, match="the same"):
        study_from(plain)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("certificate_sha256", "00" * 32),
        ("certificate", "no base64!"),
        ("signing_key", "eA=="),
        ("address", "nowhere"),
        ("address", "host:99999"),
        ("number", 3),
        ("name", "Hospital A"),
        ("colour", "red"),
    ],
)
def test_an_entry_of_a_party_must_fit(folder, key, value):
    plain = document(folder)
    plain["parties"][0][key] = value
    with pytest.raises(RecipeError, match="parties"):
        study_from(plain)


def test_noise_needs_a_ledger_at_every_party(folder):
    plain = document(folder, noise={"epsilon": "0.5"}, question={"count": {}})
    del plain["parties"][1]["ledger_id"]
    with pytest.raises(RecipeError, match="ledger_id"):
        study_from(plain)


def test_sums_that_may_not_fit_are_refused_when_the_study_is_read(folder):
    wide = {"variance": {"column": "age", "bounds": ["0", "1000000000"], "scale": 10}}
    assert "leave the range" in refused(
        folder, question=wide, protocol={"name": "additive"}, records_at_most=2_000_000_000
    )


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(RecipeError, match="not a study"):
        study_from(["a", "list"])
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecipeError, match="UTF-8"):
        read_study(tmp_path / "binary.yaml")
    with pytest.raises(UnreadableInput):
        read_study(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("name", ["additive", "shamir", "encrypted"])
def test_what_is_learned_is_told_for_every_protocol(folder, name):
    roles = {"server": "hospital_a", "key_holder": "hospital_b"} if name == "encrypted" else {}
    lines = list_learned(study_from(document(folder, protocol={"name": name, **roles})))
    assert any("together" in line for line in lines)
