"""Ed25519 signatures: who vouches for a certificate."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.release.documents import canonical

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHM = "Ed25519"


def signed(certificate: Mapping[str, Any], key_file: Path) -> dict[str, Any]:
    """A certificate with a signature over all of it."""
    value = _private_key(key_file).sign(canonical(_unsigned(certificate)))
    return {**certificate, "signature": {**public_half(key_file), "value": _text(value)}}


def public_half(key_file: Path) -> dict[str, Any]:
    """What can be told of a signature before there is one: the algorithm and the public key."""
    return {"algorithm": ALGORITHM, "public_key": _text(_raw(_private_key(key_file).public_key()))}


def signature_holds(certificate: Mapping[str, Any], trusted: Path | None = None) -> bool:
    """Whether the signature fits the certificate and, if a trusted public key is given, comes from that key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signature = certificate["signature"]
        public = base64.b64decode(signature["public_key"], validate=True)
        value = base64.b64decode(signature["value"], validate=True)
        if trusted is not None and public != _raw(_public_key(trusted)):
            return False
        Ed25519PublicKey.from_public_bytes(public).verify(value, canonical(_unsigned(certificate)))
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return False
    return True


def new_key(path: Path) -> None:
    """Write a new private key (PEM, readable by the owner only) and its public half beside it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.with_suffix(".pub.pem").write_bytes(public)


def _unsigned(certificate: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in certificate.items() if key != "signature"}


def _private_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = _load(path, lambda content: load_pem_private_key(content, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise ParameterError(
            f"{path} is not an Ed25519 private key; make one with 'openssl genpkey -algorithm ed25519'"
        )
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = _load(path, load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise ParameterError(f"{path} is not an Ed25519 public key")
    return key


def _load(path: Path, load: Any) -> Any:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise ParameterError(f"cannot read the key {path}: {error.strerror}") from None
    except (ValueError, TypeError):
        raise ParameterError(f"{path} is not a PEM key without a password") from None


def _raw(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
