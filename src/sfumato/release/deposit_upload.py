"""The upload of a deposit as a draft, with the user's token: Zenodo's deposit API and Dataverse's
native API. Nothing is published: that is done by hand, after a look at the draft.

The token is sent to the named server alone: over TLS, without following a redirect, and to no
other host that an answer may name.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from sfumato.errors import OutputError, ParameterError
from sfumato.release.deposit import ARCHIVE, DDI, DepositDetails, described

Fields = Mapping[str, Any]
SECONDS = 600
LOOPBACK = ("localhost", "127.0.0.1", "::1")
LARGEST_ANSWER = 1 << 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other error: it would carry the token elsewhere."""

    def redirect_request(
        self, req: Any, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


class Server:
    """A repository and what it is asked with."""

    def __init__(self, address: str, header: str, token: str) -> None:
        parts = urlsplit(address)
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        if not secure or not parts.hostname or parts.username:
            raise ParameterError("--server must be an address like https://demo.dataverse.org")
        self.address, self.origin = address.rstrip("/"), (parts.scheme, parts.netloc)
        self.header, self.token = header, token
        self.opener = urllib.request.build_opener(_NoRedirect)

    def ask(
        self, method: str, address: str, body: bytes | None = None, kind: str = "application/json"
    ) -> Any:
        """Send a request with the token and return the JSON of the answer."""
        target = address if "://" in address else self.address + address
        parts = urlsplit(target)
        if (parts.scheme, parts.netloc) != self.origin:
            raise OutputError(
                "the server names another host for the upload; nothing was sent there"
            )
        headers = {self.header: self.token, "Accept": "application/json", "Content-Type": kind}
        request = urllib.request.Request(target, body, headers, method=method)  # noqa: S310
        try:
            with self.opener.open(request, timeout=SECONDS) as answer:
                text = answer.read(LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            reasons = {401: "the token is not accepted", 403: "the token may not do this"}
            words = reasons.get(error.code, f"it answered {error.code}")
            raise OutputError(f"{self.address}: {words}; the draft may be incomplete") from None
        except OSError as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise OutputError(f"{self.address} cannot be reached: {reason}") from None
        try:
            return json.loads(text)
        except ValueError:
            raise OutputError(f"{self.address} answered with something else than JSON") from None


def upload_to_zenodo(
    server: Server, folder: Path, certificate: Fields, details: DepositDetails, *, restricted: bool
) -> str:
    """Make a draft with metadata and files; the address where its owner finds it."""
    draft = server.ask("POST", "/api/deposit/depositions", b"{}")
    links = _part(draft, "links")
    for name in (ARCHIVE, DDI):
        address = f"{_part(links, 'bucket')}/{quote(name)}"
        server.ask("PUT", address, (folder / name).read_bytes(), "application/octet-stream")
    metadata: dict[str, Any] = {
        "title": details.title,
        "upload_type": "dataset",
        "description": described(certificate, details),
        "creators": [{"name": name} for name in details.creators],
        "access_right": "restricted" if restricted else "open",
    }
    if restricted:
        metadata["access_conditions"] = "On request, under the terms of the decision."
    elif details.license:
        metadata["license"] = details.license
    body = json.dumps({"metadata": metadata}).encode()
    server.ask("PUT", str(_part(links, "self")), body)
    return str(_part(links, "html"))


def upload_to_dataverse(
    server: Server,
    folder: Path,
    certificate: Fields,
    details: DepositDetails,
    *,
    collection: str,
    restricted: bool,
) -> str:
    """Make a draft with metadata and files; its persistent identifier."""
    if not details.contact:
        raise ParameterError("Dataverse needs the e-mail of a contact; give --contact")
    fields = [
        _field("title", details.title),
        _compounds("author", [{"authorName": name} for name in details.creators]),
        _compounds("datasetContact", [{"datasetContactEmail": details.contact}]),
        _compounds("dsDescription", [{"dsDescriptionValue": described(certificate, details)}]),
        {**_field("subject", ["Other"]), "multiple": True, "typeClass": "controlledVocabulary"},
    ]
    block = {"displayName": "Citation Metadata", "fields": fields}
    version = {"datasetVersion": {"metadataBlocks": {"citation": block}}}
    body = json.dumps(version).encode()
    made = server.ask("POST", f"/api/dataverses/{quote(collection, safe='')}/datasets", body)
    identifier = str(_part(_part(made, "data"), "persistentId"))
    address = f"/api/datasets/:persistentId/add?persistentId={quote(identifier, safe='')}"
    for name in (ARCHIVE, DDI):
        # The archive stays one file: unpacked, its certificate would list other paths.
        settings = {"restrict": str(restricted).lower(), "tabIngest": "false"}
        form, kind = _multipart(name, (folder / name).read_bytes(), json.dumps(settings))
        server.ask("POST", address, form, kind)
    return identifier


def _field(name: str, value: Any) -> dict[str, Any]:
    return {"typeName": name, "multiple": False, "typeClass": "primitive", "value": value}


def _compounds(name: str, entries: list[dict[str, str]]) -> dict[str, Any]:
    value = [{key: _field(key, text) for key, text in entry.items()} for entry in entries]
    return {"typeName": name, "multiple": True, "typeClass": "compound", "value": value}


def _multipart(name: str, content: bytes, settings: str) -> tuple[bytes, str]:
    """A form with a file and its settings."""
    mark = uuid.uuid4().hex
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="jsonData"\r\n\r\n{settings}\r\n'
        f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode() + content + f"\r\n--{mark}--\r\n".encode(), (
        f"multipart/form-data; boundary={mark}"
    )


def _part(answer: Any, name: str) -> Any:
    if not isinstance(answer, Mapping) or name not in answer:
        raise OutputError(
            f"the server's answer lacks {name!r}; is it the right kind of repository?"
        )
    return answer[name]
