"""Reading a certificate that may come from anyone: as it was meant, or not at all.

JSON readers disagree about duplicate keys, about numbers that are none and about what is left out. A certificate that two
readers could take for two things is refused, so that what is signed is what is read. Whatever is wrong with a file
ends in one sentence.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.files import MEGABYTE, read_plain
from sfumato.core.json_text import is_spelled_once
from sfumato.core.portable import PRIVATE_FILE
from sfumato.core.shape import PEOPLE, Shape
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.release.documents import CERTIFICATE_VERSION, COMMITMENT, canonical

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

FILE = "certificate.json"
OLDEST = 1
MAX_BYTES = 64 * MEGABYTE
DEEPEST = 64

TEXT, TRUTH, WHOLE = "text", "true or false", "a whole number"
NUMBER = "a number or null"
COUNT = "a whole number or null"
ROLE = "a word or a list of words"
MAPPING, ANYTHING = "a mapping", "anything"
MOMENT, HEX = "a moment as ISO 8601 writes it", "64 hexadecimal signs"
TYPES: dict[str, Any] = {
    TEXT: str,
    NUMBER: (int, float, type(None)),
    WHOLE: int,
    COUNT: (int, type(None)),
    MAPPING: dict,
}

VERDICT = {"model": TEXT, "promise": TEXT, "holds": TRUTH, "attained": NUMBER, "required": NUMBER, "sentence": TEXT}
KEPT = {"name": TEXT, "value": NUMBER, "limit": NUMBER, "holds": TRUTH, "sentence": TEXT}
SHAPE: dict[str, Any] = {
    "created": MOMENT,
    "data": {"file": TEXT, "sha256": TEXT, "format": TEXT, "rows": WHOLE, "columns": [TEXT]},
    "input_commitment": {"value": HEX, "scheme": COMMITMENT},
    "recipe": {"columns": {"*": {"role": ROLE}}, "meet": [ANYTHING], "steps": [ANYTHING]},
    "roles": {"*": [TEXT]},
    "missing_rule": {"*": TEXT},
    "verdicts": [VERDICT],
    "limits": [KEPT],
    "contract": [KEPT],
    "classes": {"count": WHOLE, "smallest": COUNT, "sizes": {"*": WHOLE}, "risks": {"*": NUMBER}},
    "plan": [{"step": TEXT}],
    "dropped_columns": [TEXT],
    "suppressed_records": COUNT,
    "shuffled": TRUTH,
    "rehearsal": TRUTH,
    "versions": {"*": TEXT},
    "digest": TEXT,
}
"""What every certificate holds: ``"*"`` stands for any key. More may stand beside it, and is covered by the digest."""

COLUMNS = {"*": {"role": ROLE}}
WRITTEN = {"file": TEXT, "sha256": TEXT, "format": TEXT, "rows": WHOLE, "columns": COLUMNS}
SHAPED: dict[str, Any] = {
    **{
        key: SHAPE[key]
        for key in SHAPE
        if key not in ("data", "roles", "missing_rule", "classes", "suppressed_records")
    },
    "shape": TEXT,
    "data": WRITTEN,
    "counts": {"*": WHOLE},
    "suppressed_people": COUNT,
}
"""What the certificate of people holds who are described by more than a row."""

SEVERAL: dict[str, Any] = {
    **{key: SHAPED[key] for key in SHAPED if key != "data"},
    "tables": {"*": WRITTEN},
    "recipe": {"tables": {"*": {"columns": COLUMNS}}, "meet": [ANYTHING], "steps": [ANYTHING]},
}
"""The same of several tables: what is written, and what was said of each."""

AGGREGATES = "aggregates"
"""What the certificate of a table of results says in place of the shape of records."""
PUBLISHED: dict[str, Any] = {
    "created": TEXT,
    "measure": TEXT,
    "rules": [{"rule": TEXT}],
    "method": TEXT,
    "summary": {"cells": WHOLE, "suppressed": WHOLE},
    "suppressed_by_rule": {"*": WHOLE},
    "base": COUNT,
    "additive": TRUTH,
    "tables": [
        {
            "file": TEXT,
            "sha256": TEXT,
            "format": TEXT,
            "rows": WHOLE,
            "columns": [{"column": TEXT, "labels": [TEXT], "parent": [WHOLE]}],
        }
    ],
    "versions": {"*": TEXT},
    "digest": TEXT,
}
"""What the certificate of a table of counts or sums holds."""

LATER: dict[str, Any] = {"files": {"*": {"sha256": TEXT, "bytes": WHOLE}}}
"""What came with version 2."""


PRIVATE: dict[str, Any] = {
    "certified": TRUTH,
    "epsilon": NUMBER,
    "delta": NUMBER,
    "steps": [{"step": TEXT, "effect": TEXT, "means": TEXT}],
}
"""What is said of an ε, in certificates of all shapes that speak of one."""

IMPLIED: dict[str, Any] = {
    "looked_for": TEXT,
    "compared": WHOLE,
    "unknown": WHOLE,
    "accepted": [{"columns": [TEXT], "implies": TEXT}],
}
"""What is said of columns that may undo the release."""

OPTIONAL = {"differential_privacy": PRIVATE, "implied": IMPLIED}

CONTENTS: dict[Shape, dict[str, Any]] = {**dict.fromkeys(Shape, SHAPED), Shape.TABLE: SHAPE, Shape.TABLES: SEVERAL}
"""What a certificate must hold, by the shape of its data."""
COMPARED = ("utility", "attacks", "differential_privacy")
"""What may be told besides, of data of every shape."""
OF_ONE_TABLE = ("story", "implied", "drawn_anew", "sampled")
"""What may be told besides of one table only: of its classes, of rows that are nobody's, of a sample."""


def read_certificate(folder: Path) -> dict[str, Any]:
    """The certificate of a shared table; refused when it is not one, could be taken for two, or is about data of another shape."""
    certificate = read_any_certificate(folder)
    if (shape := shape_of(certificate)) is not Shape.TABLE:
        raise ParameterError(f"{folder} holds a release of shape {shape}; this takes releases of one table only")
    return certificate


def known_statements(certificate: Mapping[str, Any]) -> frozenset[str]:
    """Everything that a certificate about data of this shape says, today."""
    contents = _contents_for(certificate, FILE)
    optional = (*COMPARED, *OF_ONE_TABLE) if "classes" in contents else COMPARED
    return frozenset({*contents, *optional, "sfumato_certificate", "signature"})


def shape_of(certificate: Mapping[str, Any]) -> Shape:
    """The shape of the data that a certificate, or what will be one, is about."""
    if is_aggregate(certificate):
        raise ParameterError(
            "this is a published table of counts or sums, not a release of records: sfumato verify checks it"
        )
    return Shape(certificate.get("shape", Shape.TABLE))


def is_aggregate(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate is about a table of counts or sums, which holds no records."""
    return certificate.get("shape") == AGGREGATES


def read_any_certificate(folder: Path) -> dict[str, Any]:
    """The certificate of a shared folder, whatever the shape of its data; refused when it is not one, or could be taken for two."""
    file = folder / FILE
    if not file.exists():
        hint = " (the folder to verify is the one called share)" if (folder / "share").is_dir() else ""
        raise UnreadableInput(f"{folder} holds no {FILE}{hint}")
    return parsed(read_plain(file, most=MAX_BYTES, what="a certificate"), str(file))


def pseudonymized(certificate: Mapping[str, Any]) -> list[list[str]]:
    """Per step of a certificate's plan that makes pseudonyms, the columns that hold them.

    What a step makes is said by its class, so a step that is not installed here makes none: the columns then count as they are.
    """
    known: Mapping[str, Any] = registry.family("steps", shape_of(certificate))
    steps = [step for step in certificate.get("plan", []) if (cls := known.get(step.get("step"))) and cls.pseudonyms]
    return [list(step.get("masked", {})) for step in steps]


def parsed(data: bytes, name: str) -> dict[str, Any]:
    """A certificate from its bytes.

    >>> parsed(b'{"sfumato_certificate": 1, "sfumato_certificate": 2}', "certificate.json")
    Traceback (most recent call last):
    ...
    sfumato.errors.UnreadableInput: certificate.json says one thing twice (a key is repeated); it was edited
    """
    strange: list[str] = []
    try:
        document = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=lambda pairs: _once(pairs, name),
            parse_constant=lambda word: _number(word, strange),
            parse_float=lambda text: _number(text, strange),
            parse_int=_whole,
        )
    except (ValueError, RecursionError):
        raise UnreadableInput(f"{name} is not valid JSON; it was damaged or edited") from None
    _require_version(document, name)
    if strange and document["sfumato_certificate"] > OLDEST:
        raise UnreadableInput(f"{name} holds a number that is none; it was damaged or edited")
    _require_writable(document, name)
    contents = _contents_for(document, name)
    _require_shape(document, contents, "", name)
    _refuse_mixture(document, contents, name)
    for key, shape in OPTIONAL.items():
        if key in document:
            _require_shape(document[key], shape, key, name)
    if "signature" in document and not is_spelled_once(data, document):
        raise UnreadableInput(f"{name} is signed and spells something otherwise than it was signed; it was edited")
    return dict(document)


def _contents_for(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a certificate must hold: that depends on its version and on the shape of its data."""
    said = document.get("shape", str(Shape.TABLE))
    if said == AGGREGATES:
        return PUBLISHED | LATER
    if not isinstance(said, str) or said not in set(Shape):
        raise UnreadableInput(f"{name} is about data of a shape that this sfumato does not know: install a newer one")
    contents = CONTENTS[Shape(said)]
    if contents is SHAPED:
        contents = SHAPED | _beside(document)
    if contents is not SHAPE or document["sfumato_certificate"] > OLDEST:
        return contents | LATER
    if later := [key for key in LATER if key in document]:
        raise UnreadableInput(f"{name} says that it is of version {OLDEST}, which had no {later[0]}; it was edited")
    return contents


def _refuse_mixture(document: Mapping[str, Any], contents: Mapping[str, Any], name: str) -> None:
    """Refuse what is said of data of other shapes only: such a certificate could be taken for two."""
    if "recipe" not in contents:  # a published table of counts or sums
        return
    optional = OF_ONE_TABLE if "classes" in contents else ()
    of_any_shape = {*SHAPE, *SHAPED, *SEVERAL, *OF_ONE_TABLE, PEOPLE}
    strange = of_any_shape.difference(contents, optional).intersection(document)
    if strange:
        told = f"it says {' and '.join(sorted(strange))} of data of a shape of which that is never said"
        raise UnreadableInput(f"{name} cannot be understood: {told}; it was edited")


def _beside(document: Mapping[str, Any]) -> dict[str, Any]:
    """What must be said of the people's own columns, where they stand in a table of their own."""
    recipe = document.get("recipe")
    described = isinstance(recipe, dict) and recipe.get("people") is not None
    more = {"recipe": {**SHAPE["recipe"], "people": {"columns": COLUMNS}}} if described else {}
    return more | ({"people": WRITTEN} if "people" in document else {})


def _whole(text: str) -> int:
    """A whole number; ValueError for one beyond all decimals, with which nothing can be compared."""
    if not math.isfinite(float(text)):
        raise ValueError
    return int(text)


def _once(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    """A JSON object whose keys are all different."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise UnreadableInput(f"{name} says one thing twice (a key is repeated); it was edited")
    return made


def _number(text: str, strange: list[str]) -> float:
    """A number, noted where it is infinite or none."""
    value = float(text)
    if not math.isfinite(value):
        strange.append(text)
    return value


def _require_version(document: Any, name: str) -> None:
    version = document.get("sfumato_certificate") if isinstance(document, dict) else None
    if type(version) is not int:
        raise UnreadableInput(f"{name} is not a certificate of sfumato")
    if not OLDEST <= version <= CERTIFICATE_VERSION:
        raise UnreadableInput(
            f"{name} is a certificate of version {version}; this sfumato reads versions {OLDEST} to "
            f"{CERTIFICATE_VERSION}: install a newer one"
        )


def _require_writable(document: Mapping[str, Any], name: str) -> None:
    """Refuse what cannot be written again as it was read: nested too deeply, or text that is no Unicode."""
    if _depth(document) > DEEPEST:
        raise UnreadableInput(f"{name} is nested more than {DEEPEST} deep; that is no certificate")
    try:
        canonical(document)
    except ValueError:
        raise UnreadableInput(f"{name} holds text that is no Unicode; it was damaged or edited") from None


def _depth(value: Any) -> int:
    """How deep lists and mappings are nested; no recursion, since a file decides how deep."""
    deepest, waiting = 0, [(value, 1)]
    while waiting and deepest <= DEEPEST:
        one, depth = waiting.pop()
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        if inside is not None:
            deepest = max(deepest, depth)
            waiting += [(part, depth + 1) for part in inside]
    return deepest


def _require_shape(value: Any, shape: Any, where: str, name: str) -> None:
    """Refuse what lacks a part or has one of another type; the message names the part and never what stands there."""
    if isinstance(shape, str):
        if not _is(value, shape):
            raise UnreadableInput(f"{name} cannot be understood: {where} should be {shape}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise UnreadableInput(f"{name} cannot be understood: {where} should be a list")
        for part in value:
            _require_shape(part, shape[0], f"an entry of {where}", name)
    elif not isinstance(value, dict):
        raise UnreadableInput(f"{name} cannot be understood: {where} should be a mapping")
    elif "*" in shape:
        for part in value.values():
            _require_shape(part, shape["*"], f"an entry of {where}", name)
    else:
        _require_parts(value, shape, where, name)


def _require_parts(value: Mapping[str, Any], shape: Mapping[str, Any], where: str, name: str) -> None:
    for key, inner in shape.items():
        place = f"{key} in {where}" if where else key
        if key not in value:
            raise UnreadableInput(f"{name} cannot be understood: it lacks {place}")
        _require_shape(value[key], inner, place, name)


def _is(value: Any, kind: str) -> bool:
    if kind == ANYTHING:
        return True
    if kind == TRUTH:
        return isinstance(value, bool)
    if kind == ROLE:
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))
    if kind in (MOMENT, HEX, COMMITMENT):
        return isinstance(value, str) and _is_text(value, kind)
    return isinstance(value, TYPES[kind]) and not isinstance(value, bool)


def _is_text(value: str, kind: str) -> bool:
    if kind == HEX:
        return re.fullmatch("[0-9a-f]{64}", value) is not None
    if kind == COMMITMENT:
        return value == COMMITMENT
    try:
        datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


# Ed25519 signatures: who vouches for a certificate.

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
        # nothing signs the signature: one that holds more than it must, or spells it otherwise, is none
        if set(signature) != {"algorithm", "public_key", "value"} or signature["algorithm"] != ALGORITHM:
            return False
        public, value = _bytes(signature["public_key"]), _bytes(signature["value"])
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
    path.touch(mode=PRIVATE_FILE, exist_ok=False)
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


def _bytes(text: str) -> bytes:
    """The bytes that a text stands for in base64; ValueError where another text stands for them, too."""
    content = base64.b64decode(text, validate=True)
    if _text(content) != text:
        raise ValueError
    return content
