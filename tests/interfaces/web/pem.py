"""A certificate for tests."""

from __future__ import annotations

from pathlib import Path


def self_signed(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of this machine, signed by itself, and its key; ``locked.pem`` is the key
    behind a password.
    """
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    day = datetime.datetime(2025, 1, 1)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    )
    made = (
        made.serial_number(1)
        .not_valid_before(day)
        .not_valid_after(day + datetime.timedelta(days=36500))
    )
    pem = serialization.Encoding.PEM
    (tmp_path / "own.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    form = serialization.PrivateFormat.PKCS8
    (tmp_path / "key.pem").write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    (tmp_path / "locked.pem").write_bytes(
        key.private_bytes(pem, form, serialization.BestAvailableEncryption(b"secret"))
    )
    return tmp_path / "own.pem", tmp_path / "key.pem"
