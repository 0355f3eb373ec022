"""Keys of a party: made once, for the owner alone, and what the study gets of them."""

from __future__ import annotations

import base64
import datetime
import stat

import pytest

from sfumato.errors import OutputError, ParameterError
from sfumato.parties.keys import fingerprint, new_keys, signature_holds


def test_only_the_certificate_is_for_others(tmp_path):
    keys = new_keys(tmp_path / "b", "hospital_b")
    for file in (keys.private, keys.signing, keys.secret):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    entry = keys.entry()
    assert base64.b64decode(entry["certificate"]) == keys.der()
    assert entry["certificate_sha256"] == fingerprint(keys.der())


def test_a_signature_is_of_its_key_and_message(tmp_path):
    one, other = new_keys(tmp_path, "a"), new_keys(tmp_path, "b")
    signature = one.sign(b"what was said")
    public = one.entry()["signing_key"]
    assert signature_holds(public, signature, b"what was said")
    assert not signature_holds(public, signature, b"what was not said")
    assert not signature_holds(other.entry()["signing_key"], signature, b"what was said")
    assert not signature_holds("no key", signature, b"what was said")


def test_the_certificate_names_its_party_and_ends(tmp_path):
    from cryptography import x509

    made = new_keys(tmp_path, "a", days=30, now=datetime.datetime(2026, 1, 10, tzinfo=datetime.UTC))
    certificate = x509.load_der_x509_certificate(made.der())
    assert certificate.subject.rfc4514_string() == "CN=a"
    assert certificate.not_valid_after_utc == datetime.datetime(2026, 2, 9, tzinfo=datetime.UTC)
    assert [made.expired(datetime.date(2026, 2, day)) for day in (8, 9, 10)] == [False, False, True]
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_no_key_is_overwritten(tmp_path):
    before = new_keys(tmp_path, "a").private.read_bytes()
    with pytest.raises(OutputError, match="never overwritten"):
        new_keys(tmp_path, "a")
    assert (tmp_path / "a.key").read_bytes() == before


@pytest.mark.parametrize("name", ["", "A", "../a", "a b", "ä", "a" * 64])
def test_names_are_plain(tmp_path, name):
    with pytest.raises(ParameterError, match="name"):
        new_keys(tmp_path, name)
    assert not list(tmp_path.iterdir())


def test_what_is_no_key_is_said_to_be_none(tmp_path):
    keys = new_keys(tmp_path, "a")
    keys.signing.write_bytes(keys.private.read_bytes())
    with pytest.raises(ParameterError, match="Ed25519"):
        keys.sign(b"")
    keys.certificate.write_text("no certificate")
    with pytest.raises(ParameterError, match="not a certificate"):
        keys.der()
