"""Everything in a signed file is signed, or the file is refused: whatever is put in, changed or
taken out, nobody says that it is verified.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core.json_text import loads_once
from sfumato.errors import SfumatoError
from sfumato.release.signatures import new_key
from sfumato.release.verification import Verification
from sfumato.release.verify import verify
from sfumato.results.checking.reviews import release_outputs
from tests.parties.studies import a_study
from tests.parties.test_conduct import run


@dataclasses.dataclass(frozen=True)
class Signed:
    """A signed file, and what says whether it is verified."""

    file: Path
    check: Callable[[], Verification]

    def verified(self, content: bytes) -> bool:
        """Whether a file with this content is said to be verified; the file is as it was
        afterwards.
        """
        before = self.file.read_bytes()
        self.file.write_bytes(content)
        try:
            return self.check().result == "verified"
        except SfumatoError:
            return False
        finally:
            self.file.write_bytes(before)


def folder_of(kind: str, place: Path, key: Path) -> Path:
    """A signed release of a kind, written."""
    if kind == "table of counts":
        return (
            sf.tabulate(examples.hospital(rows=300), ["sex"])
            .protect([sf.Threshold(5)])
            .write(place, sign=key)
        )
    if kind == "baskets":
        people = sf.read_baskets(
            pl.DataFrame({"person": [1, 1, 2, 2, 3, 3, 4, 4], "item": ["a", "b"] * 4}),
            {"person": "person", "item": "item"},
            columns=sf.ColumnDetails(hierarchies={"item": sf.suppress()}),
        )
        release: Any = sf.anonymize(
            people, [sf.baskets.KmAnonymity(2, 2)], [sf.baskets.ItemRecoding()], seed=1
        )
        return release.write(place, sign=key)
    table = pl.DataFrame(
        {"age": ["old", "new"] * 4, "ill": ["x", "x", "y", "y", "x", "x", "y", "y"]}
    )
    people = sf.read(table.lazy() if kind == "parts" else table).with_roles(
        quasi=["age"], sensitive=["ill"]
    )
    steps = [sf.GlobalRecoding(budget=0.2)]
    return sf.anonymize(people, [sf.KAnonymity(2), sf.TCloseness("ill", t=1)], steps, seed=1).write(
        place, sign=key
    )


def signed_outputs(place: Path, key: Path) -> Signed:
    with sf.output_session(place / "session", pl.DataFrame({"region": ["n", "s"] * 50})) as session:
        session.count(["region"])
    release_outputs(session.log, place / "out", accept_passes=True, sign=key)
    public = key.with_suffix(".pub.pem")

    return Signed(
        place / "out" / "certificate.json", lambda: sf.verify(place / "out", trusted_key=public)
    )


def signed_result(place: Path) -> Signed:
    study = a_study(place)
    file = place / "result.json"
    file.write_text(json.dumps(run(place, study)[1].certificate, indent=2))
    return Signed(file, lambda: verify(file, original=study))


KINDS = ("table", "parts", "baskets", "table of counts", "outputs", "party result")


@pytest.fixture(scope="module", params=KINDS)
def signed(request, tmp_path_factory) -> Signed:
    place = tmp_path_factory.mktemp("signed")
    key = place / "office.pem"
    new_key(key)
    if request.param == "outputs":
        return signed_outputs(place, key)
    if request.param == "party result":
        return signed_result(place)
    share = folder_of(request.param, place / "out", key) / "share"
    return Signed(
        share / "certificate.json",
        lambda: sf.verify(share, trusted_key=key.with_suffix(".pub.pem")),
    )


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a document, mappings and lists too."""
    yield path
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from places(node[key], (*path, key))


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else "x"


def changed(document: dict[str, Any], path: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """The document with one thing put in, changed, doubled or taken out at a place."""
    for how in ("more", "change", "remove", "empty"):
        made = copy.deepcopy(document)
        parent: Any = {"": made}
        for key in ("", *path)[:-1]:
            parent = parent[key]
        last = path[-1] if path else ""
        node = parent[last]
        if how == "more" and isinstance(node, dict):
            node["note"] = "reviewed by the office"
        elif how == "more" and isinstance(node, list):
            node.append(copy.deepcopy(node[-1]) if node else "x")
        elif how == "change" and not isinstance(node, dict | list):
            parent[last] = other(node)
        elif how == "remove" and path:
            del parent[last]
        elif how == "empty" and node:
            parent[last] = type(node)()
        if made != document:
            yield made


def written(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def test_the_file_is_verified_and_stays_so_when_its_blanks_change(signed):
    content = signed.file.read_bytes()
    assert signed.verified(content)
    assert signed.verified(json.dumps(loads_once(content)).encode())


def test_no_changed_file_is_verified(signed):
    """Every place of the document: all of them where nothing else is looked at than the file, else
    those of two levels and of the signature.
    """
    document = loads_once(signed.file.read_bytes())
    whole = "study" in document  # the result of a study: checking it is quick
    near = [path for path in places(document) if whole or len(path) < 3 or path[0] == "signature"]
    tried = 0
    for path in near:
        for made in changed(document, path):
            assert not signed.verified(written(made)), path
            tried += 1
    assert tried > 50


def test_no_place_at_any_depth_is_unsigned(signed):
    """What the signature is taken of changes with every place of the document."""
    from sfumato.release.signatures import signature_holds

    document = loads_once(signed.file.read_bytes())
    assert signature_holds(document)
    for path in places(document):
        for made in changed(document, path):
            assert not signature_holds(made), path


def spellings(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The same values in other bytes, or with more text around them."""
    text = content.decode()
    first = text.index("{") + 1
    yield "text after it", content + b"{}"
    yield "a comment", content + b"// approved"
    yield "a mark in front", b"\xef\xbb\xbf" + content
    yield "UTF-16", text.encode("utf-16")
    yield "NUL", content + b"\x00"
    yield "a key twice", (text[:first] + '"digest": "0", ' + text[first:] + "").encode()
    yield "an escaped letter", text.replace('"a', '"\\u0061', 1).encode()
    yield "an escaped stroke", text.replace("/", "\\/", 1).encode()
    yield "more digits", text.replace(": 0.", ": 0.0000", 1).replace(": 1,", ": 1.0,", 1).encode()


def test_no_other_spelling_is_verified(signed):
    content = signed.file.read_bytes()
    for name, made in spellings(content):
        assert made == content or not signed.verified(made), name


def test_a_key_that_stands_twice_is_refused_at_every_depth(signed):
    lines = signed.file.read_bytes().decode().splitlines(keepends=True)
    doubled = [
        i
        for i, line in enumerate(lines)
        if '": ' in line and not line.rstrip().endswith(("{", "["))
    ]
    for place in doubled[:: max(1, len(doubled) // 60)]:
        line = lines[place].rstrip().rstrip(",")
        made = "".join([*lines[:place], f"{line},\n", *lines[place:]])
        assert not signed.verified(made.encode()), place


def test_more_in_the_signature_is_no_signature(signed):
    document = loads_once(signed.file.read_bytes())
    signature = document["signature"]
    for more in ({"note": "approved"}, {"algorithm": "Ed25519 "}, {"party ": "a"}):
        assert not signed.verified(written({**document, "signature": {**signature, **more}}))
    value = signature["value"]
    for spelling in (value + "=", value + "\n", value[:-3] + chr(ord(value[-3]) + 1) + "=="):
        other = {**document, "signature": {**signature, "value": spelling}}
        assert not signed.verified(written(other))
