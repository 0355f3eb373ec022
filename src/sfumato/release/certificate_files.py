"""Reading a certificate that may come from anyone: as it was meant, or not at all.

JSON readers disagree about duplicate keys, about numbers that are none and about what is left out.
A certificate that two readers could take for two things is refused, so that what is signed is what
is read. Whatever is wrong with a file ends in one sentence.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato.core.fields import Document, Fields
from sfumato.core.files import MEGABYTE, read_plain
from sfumato.core.json_text import is_spelled_once
from sfumato.core.shape import is_shape
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, UnreadableInput, printable_json
from sfumato.release.certificate import DOCUMENTS, PeopleCertificate
from sfumato.release.manifest import FILE, VERSION
from sfumato.release.signatures import canonical

MAX_BYTES = 256 * MEGABYTE
DEEPEST = 64


def read_certificate(folder: Path, *shapes: str) -> Document:
    """The certificate of a shared folder, or one that is unique; refused when it is none, or is
    about something else than one of ``shapes``.
    """
    file = folder if folder.is_file() else folder / FILE
    if not file.exists():
        if (folder / "share").is_dir():
            hint = " (the folder to verify is the one called share)"
        else:
            hint = ""
        raise UnreadableInput(f"{folder} holds no {FILE}{hint}")
    certificate = parse_certificate(
        read_plain(file, limit=MAX_BYTES, purpose="a certificate"), str(file)
    )
    if shapes and certificate["shape"] not in shapes:
        expected = join_words(shapes, "or")
        raise ParameterError(
            f"{folder} holds a release of shape {certificate['shape']}, but this takes "
            f"{expected} only; use sfumato verify"
        )
    return certificate


def parse_certificate(data: bytes, name: str) -> Document:
    """A certificate from its bytes.

    >>> parse_certificate(
    ...     b'{"sfumato_certificate": 3, "sfumato_certificate": 3}', "certificate.json"
    ... )
    Traceback (most recent call last):
    ...
    sfumato.errors.UnreadableInput: certificate.json says one thing twice (a key is repeated); it
    was edited
    """
    document: Document = _load(data, name)
    _require_version(document, name)
    _require_writable(document, name)
    shape = document.get("shape")
    kind = DOCUMENTS.get(shape) if isinstance(shape, str) else None
    if kind is None and is_shape(shape):  # one that another package adds
        kind = PeopleCertificate
    if kind is None:
        raise UnreadableInput(
            f"{name} is about data of a shape that this sfumato does not know; install a newer one"
        )
    try:
        kind.model_validate(document)
    except ValidationError as error:
        raise UnreadableInput(f"{name} cannot be understood: {_first_problem(error)}") from None
    if "signature" in document and not is_spelled_once(data, document):
        raise UnreadableInput(
            f"{name} is signed and spells something differently than when it was signed, "
            "so it was edited; get the original"
        )
    return document


def _first_problem(error: ValidationError) -> str:
    """What is wrong first, and where: names of fields, never what stands in them."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = printable_json(" → ".join(map(str, problem["loc"])))
    if problem["type"] == "missing":
        return f"it lacks {path}"
    if problem["type"] == "extra_forbidden":
        return f"it contains {path}, which no certificate of this kind does; it was edited"
    reason = problem["msg"].removeprefix("Input ")
    return f"{path} {reason}"


def _load(data: bytes, name: str) -> Any:
    """What the bytes say in JSON, where every reader takes them for the same."""

    def once(pairs: list[tuple[str, Any]]) -> Document:
        document = dict(pairs)
        if len(document) != len(pairs):
            raise UnreadableInput(f"{name} says one thing twice (a key is repeated); it was edited")
        return document

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise UnreadableInput(
                f"{name} holds a number that is not valid; it was damaged or edited"
            )
        return value

    def whole(text: str) -> int:
        number(text)  # one beyond all decimals could be compared with nothing
        return int(text)

    try:
        text = data.decode("utf-8")
        return json.loads(
            text, object_pairs_hook=once, parse_constant=number, parse_float=number, parse_int=whole
        )
    except (ValueError, RecursionError):
        raise UnreadableInput(f"{name} is not valid JSON; it was damaged or edited") from None


def _require_version(document: object, name: str) -> None:
    version = None
    if isinstance(document, dict):
        version = document.get("sfumato_certificate")
    if type(version) is not int or version < 1:
        raise UnreadableInput(f"{name} is not a certificate of sfumato")
    if version < VERSION:
        raise UnreadableInput(
            f"{name} is a certificate of version {version}, which newer versions do not read; make "
            "the release again with this sfumato, from its recipe and its owner's lock"
        )
    if version > VERSION:
        raise UnreadableInput(
            f"{name} is a certificate of version {version}; this sfumato reads version {VERSION}:"
            " install a newer one"
        )


def _require_writable(document: Fields, name: str) -> None:
    """Refuse what cannot be written again as it was read: nested too deeply, or text that is no
    Unicode.
    """
    if _depth(document) > DEEPEST:
        raise UnreadableInput(
            f"{name} is nested more than {DEEPEST} levels deep and cannot be a certificate"
        )
    try:
        canonical(document)
    except ValueError:
        raise UnreadableInput(
            f"{name} holds text that is not Unicode; it was damaged or edited"
        ) from None


def _depth(document: Fields) -> int:
    """How deep lists and mappings are nested; no recursion, since a file decides how deep."""
    deepest, waiting = 0, [(document, 1)]
    while waiting and deepest <= DEEPEST:
        value, depth = waiting.pop()
        parts: Any = value.values() if isinstance(value, dict) else value
        if isinstance(parts, dict | list) or parts is not value:
            deepest = max(deepest, depth)
            waiting += [(part, depth + 1) for part in parts]
    return deepest
