"""What covers a document: its canonical bytes, its digest, and an Ed25519 signature over all of
it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sfumato.core.fields import Document, Fields
from sfumato.core.portable import PRIVATE_FILE
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

Key = TypeVar("Key")

ALGORITHM = "Ed25519"


def canonical(document: Fields) -> bytes:
    """The bytes that are hashed and signed: sorted keys, no spaces, UTF-8."""
    # one spelling for one document, so that digest and signature have one meaning
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest_of(document: Fields) -> str:
    """SHA-256 of a document without its own digest and signature."""
    return hashlib.sha256(canonical(_without(document, "digest", "signature"))).hexdigest()


def signed(document: Fields, key_file: Path) -> Document:
    """A document with a signature over all of it."""
    # the digest is signed as well: whoever edits both is noticed
    value = _private_key(key_file).sign(canonical(_without(document, "signature")))
    return {**document, "signature": {**public_half(key_file), "value": _text(value)}}


def public_half(key_file: Path) -> dict[str, str]:
    """What can be told of a signature before there is one: the algorithm and the public key."""
    return {"algorithm": ALGORITHM, "public_key": _text(_raw(_private_key(key_file).public_key()))}


def signature_holds(document: Fields, trusted: Path | None = None) -> bool:
    """Whether the signature fits the document and, if a trusted public key is given, comes from
    that key.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signature = document["signature"]
        # nothing signs the signature: one that holds more than it must, or spells it otherwise, is
        # none
        if (
            set(signature) != {"algorithm", "public_key", "value"}
            or signature["algorithm"] != ALGORITHM
        ):
            return False
        # decoded strictly: another spelling of the same bytes would be an unsigned change
        public, value = _bytes(signature["public_key"]), _bytes(signature["value"])
        if trusted is not None and public != _raw(_public_key(trusted)):
            return False
        Ed25519PublicKey.from_public_bytes(public).verify(
            value, canonical(_without(document, "signature"))
        )
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return False
    return True


def new_key(path: Path) -> None:
    """Write a new private key (PEM, readable by the owner only) and its public half beside it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.generate()
    # first the permissions, then the key: nobody can read it in between
    path.touch(mode=PRIVATE_FILE, exist_ok=False)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.with_suffix(".pub.pem").write_bytes(public)


def _without(document: Fields, *sections: str) -> Document:
    return {key: value for key, value in document.items() if key not in sections}


def _private_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = _load(path, lambda content: load_pem_private_key(content, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise ParameterError(
            f"{path} is not an Ed25519 private key; make one with 'openssl genpkey -algorithm"
            " ed25519'"
        )
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = _load(path, load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise ParameterError(f"{path} is not an Ed25519 public key")
    return key


def _load(path: Path, load: Callable[[bytes], Key]) -> Key:
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


def _bytes(text: str) -> bytes:
    """The bytes that a text stands for in base64; ValueError where another text stands for them,
    too.
    """
    content = base64.b64decode(text, validate=True)
    if _text(content) != text:
        raise ValueError
    return content
