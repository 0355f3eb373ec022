"""Keys of a party: the certificate it shows to the others, the key it signs with, and the secret
that keeps its own digests its own.

::

    hospital_b.crt           the TLS certificate, self-signed: its text goes into the study
    hospital_b.key           the private key of it
    hospital_b.signing.pem   the Ed25519 key that signs studies and results
    hospital_b.secret        keys the digest of the own input, which the others see and nobody can
    guess from

All but the first are for the owner alone. There is no authority: whom a certificate belongs to is
what the signed study says.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import hashlib
import os
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.core import environment
from sfumato.core.files import read_plain
from sfumato.core.keys import KeyReference, new_key_file
from sfumato.core.options import CommandOption
from sfumato.core.portable import open_private
from sfumato.errors import OutputError, ParameterError, UnreadableInput

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
"""What a party may be called: also part of file names."""
DAYS = 365
LARGEST = 1 << 16
SIGNATURE = 64


@dataclasses.dataclass(frozen=True)
class Keys:
    """Where the keys of a party are."""

    folder: Path
    name: str

    @property
    def certificate(self) -> Path:
        """The TLS certificate, in PEM."""
        return self.folder / f"{self.name}.crt"

    @property
    def private(self) -> Path:
        """The private key of the certificate."""
        return self.folder / f"{self.name}.key"

    @property
    def signing(self) -> Path:
        """The private key that signs."""
        return self.folder / f"{self.name}.signing.pem"

    @property
    def secret(self) -> Path:
        """The key of the digests of the own input."""
        return self.folder / f"{self.name}.secret"

    def require_all(self) -> None:
        """Refuse a folder that is not that of this party's keys."""
        files = (self.certificate, self.private, self.signing, self.secret)
        if missing_files := [file.name for file in files if not file.is_file()]:
            raise UnreadableInput(
                f"the folder {self.folder} lacks {', '.join(missing_files)}; name the one that"
                " 'sfumato key party' filled (--keys)"
            )

    def der(self) -> bytes:
        """The certificate as it is sent."""
        text = read_plain(self.certificate, limit=LARGEST, purpose="a certificate")
        try:
            return ssl.PEM_cert_to_DER_cert(text.decode("ascii"))
        except ValueError:
            raise ParameterError(f"{self.certificate} is not a certificate in PEM") from None

    def expired(self, today: datetime.date) -> bool:
        """Whether the certificate is over; the others would not let us in, and could not say
        why.
        """
        from cryptography import x509

        # by day, as the validity of a study is
        return x509.load_der_x509_certificate(self.der()).not_valid_after_utc.date() < today

    def sign(self, message: bytes) -> bytes:
        """An Ed25519 signature."""
        return signature(self.signing, message)

    def owner_secret(self) -> bytes:
        """The key of the digests of the own input."""
        return KeyReference(file=self.secret).read()

    def entry(self) -> dict[str, str]:
        """What goes into the study about this party's keys."""
        der = self.der()
        return {
            "certificate_sha256": fingerprint(der),
            "certificate": base64.b64encode(der).decode("ascii"),
            "signing_key": public_half(self.signing),
        }


def fingerprint(der: bytes) -> str:
    """SHA-256 of a certificate, by which parties know each other."""
    return hashlib.sha256(der).hexdigest()


def public_half(signing: Path) -> str:
    """The public half of a signing key, in base64: 44 characters for the study."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    raw = _signing_key(signing).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return base64.b64encode(raw).decode("ascii")


def signature(signing: Path, message: bytes) -> bytes:
    """An Ed25519 signature with the key in a file."""
    return _signing_key(signing).sign(message)


def signature_holds(public: str, signed: bytes, message: bytes) -> bool:
    """Whether a signature fits a message and a public key of the study."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        key.verify(signed, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def new_keys(
    folder: Path,
    name: Annotated[str, CommandOption("the name of the party in studies, like hospital_b")],
    *,
    days: Annotated[int, CommandOption("how long the certificate is valid", minimum=1)] = DAYS,
    now: datetime.datetime | None = None,
) -> Keys:
    """Make the keys of a party; none is ever overwritten. The certificate is valid for so many days
    from now.
    """
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding

    if not NAME.fullmatch(name):
        raise ParameterError(
            f"{name!r} is not a valid party name: use small letters, digits, '_' and '-', starting "
            "with a letter"
        )
    if days < 1:
        raise ParameterError("a certificate is valid for a day at least")
    keys = Keys(folder, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from None
    # two keys: one for the lines between parties, one for what is signed
    key = generate_private_key(SECP256R1())
    _write_private(keys.private, _pem(key))
    _write_private(keys.signing, _pem(Ed25519PrivateKey.generate()))
    new_key_file(keys.secret)
    # the certificate comes last: where it is there, the rest is too
    certificate = _certificate(key, name, now or environment.now(), days)
    _write_private(keys.certificate, certificate.public_bytes(Encoding.PEM))
    return keys


def _certificate(key: EllipticCurvePrivateKey, name: str, now: datetime.datetime, days: int) -> Any:
    """A certificate that vouches for itself and for nobody else (no CA), valid from a day before
    now, as clocks differ.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, SHA256())
    )


def _pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem


def _write_private(path: Path, content: bytes) -> None:
    # O_EXCL: between looking and writing nobody else can make the file
    try:
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_EXCL), "wb") as file:
            file.write(content)
    except FileExistsError:
        raise OutputError(
            f"{path} already exists, and a key is never overwritten; choose another folder"
        ) from None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from None


def _signing_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = read_plain(path, limit=LARGEST, purpose="a key")
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError):
        raise ParameterError(f"{path} is not a PEM key without a password") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ParameterError(f"{path} is not an Ed25519 private key; 'sfumato key party' makes one")
    return key
