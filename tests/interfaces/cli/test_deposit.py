"""``sfumato deposit``: three documents, an archive that verifies, and uploads to a server that
answers as the public descriptions of the two APIs say.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import xml.etree.ElementTree as ET
import zipfile

import pytest

import sfumato as sf
from tests.release.random_releases import alone_says, seal

WHO = ("--title", "Visits <2024>", "--creator", "Hopper, Grace", "--creator", "Noether, Emmy")
SPACE = "{ddi:codebook:2_5}"


@pytest.fixture
def out(tmp_path):
    release = sf.anonymize(
        sf.examples.hospital(rows=300), [sf.KAnonymity(3)], [sf.GlobalRecoding(budget=0.1)], seed=1
    )
    release.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out/share/certificate.json").read_text("utf-8"))
    certificate["rehearsal"] = False  # a short seed makes one
    seal(certificate, tmp_path / "out" / "share")
    return tmp_path / "out"


class Repository(http.server.BaseHTTPRequestHandler):
    """Zenodo's and Dataverse's first answers, and a note of all that was asked."""

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.server.seen.append(
            (self.command, self.path, dict(self.headers), self.rfile.read(length))
        )
        here = f"http://127.0.0.1:{self.server.server_port}"
        bucket = self.server.bucket or here
        links = {"bucket": f"{bucket}/api/files/b1", "self": f"{here}/api/deposit/depositions/7"}
        body = {"id": 7, "links": {**links, "html": f"{here}/uploads/7"}}
        if "dataverses" in self.path or "datasets" in self.path:
            body = {"status": "OK", "data": {"persistentId": "doi:10.5072/FK2/ABC"}}
        self.send_response(self.server.code)
        if self.server.code == 302:
            self.send_header("Location", f"{here}/elsewhere")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    do_POST = do_PUT = do_GET = answer  # noqa: N815

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def repository(code=200, bucket=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repository)
    server.seen, server.code, server.bucket = [], code, bucket
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_dry_run_writes_documents_that_follow_the_certificate(sfumato, out, tmp_path):
    done = sfumato("deposit", out, "--to", "zenodo", *WHO, "--license", "cc-by-4.0", "--dry-run")
    assert done.code == 0, done.err
    certificate = json.loads((out / "share" / "certificate.json").read_text("utf-8"))
    columns = certificate["data"]["columns"]
    cite = json.loads((out / "deposit" / "datacite.json").read_text("utf-8"))
    assert [name["name"] for name in cite["creators"]] == ["Hopper, Grace", "Noether, Emmy"]
    assert certificate["digest"] in cite["descriptions"][1]["description"]
    book = ET.parse(out / "deposit" / "ddi.xml").getroot()
    assert book.find(f"{SPACE}stdyDscr/{SPACE}citation/{SPACE}titlStmt/{SPACE}titl").text == WHO[1]
    variables = book.findall(f"{SPACE}dataDscr/{SPACE}var")
    assert [variable.get("name") for variable in variables] == columns
    told = {v.get("name"): v.findtext(f"{SPACE}notes", "") for v in variables}
    levels = certificate["plan"][0]["levels"]
    assert any(entry["level"] for entry in levels.values())
    for name, entry in levels.items():
        words = f"level {entry['level']} of {entry['top']}" if entry["level"] else "unchanged"
        assert words in told[name]
    graph = json.loads((out / "deposit" / "ro-crate-metadata.json").read_text("utf-8"))["@graph"]
    with zipfile.ZipFile(out / "deposit" / "release.zip") as archive:
        assert {p["@id"] for p in graph[1]["hasPart"]} | {"ro-crate-metadata.json"} == set(
            archive.namelist()
        )
        archive.extractall(tmp_path / "unpacked")
    assert alone_says(tmp_path / "unpacked" / "share")[0] == "not all verified"
    first = (out / "deposit" / "release.zip").read_bytes()
    assert (
        sfumato("deposit", out, "--to", "zenodo", *WHO, "--license", "cc-by-4.0", "--dry-run").code
        == 0
    )
    assert (out / "deposit" / "release.zip").read_bytes() == first


def test_zenodo_gets_a_draft_with_the_token_in_a_header(sfumato, out, monkeypatch):
    monkeypatch.setenv("SFUMATO_DEPOSIT_TOKEN", "s3cret")
    with repository() as (server, address):
        done = sfumato("deposit", out, "--to", "zenodo", *WHO, "--server", address, "--restricted")
    assert done.code == 0, done.err
    asked = [(command, path) for command, path, _, _ in server.seen]
    assert asked == [
        ("POST", "/api/deposit/depositions"),
        ("PUT", "/api/files/b1/release.zip"),
        ("PUT", "/api/files/b1/ddi.xml"),
        ("PUT", "/api/deposit/depositions/7"),
    ]
    assert all(heads["Authorization"] == "Bearer s3cret" for _, _, heads, _ in server.seen)
    assert server.seen[1][3] == (out / "deposit" / "release.zip").read_bytes()
    metadata = json.loads(server.seen[3][3])["metadata"]
    assert (metadata["upload_type"], metadata["access_right"]) == ("dataset", "restricted")
    assert "publish" not in " ".join(path for _, path in asked) and "s3cret" not in done.out


def test_dataverse_gets_a_draft(sfumato, out, monkeypatch):
    monkeypatch.setenv("SFUMATO_DEPOSIT_TOKEN", "s3cret")
    how = ("--collection", "root", "--contact", "a@example.org")
    with repository() as (server, address):
        done = sfumato("deposit", out, "--to", "dataverse", *WHO, "--server", address, *how)
    assert done.code == 0, done.err
    assert server.seen[0][1] == "/api/dataverses/root/datasets"
    fields = json.loads(server.seen[0][3])["datasetVersion"]["metadataBlocks"]["citation"]["fields"]
    assert {field["typeName"] for field in fields} == {
        *("title", "author", "datasetContact", "dsDescription", "subject")
    }
    tokens = [heads.get("X-Dataverse-Key") for _, _, heads, _ in server.seen]
    assert tokens == ["s3cret"] * 3
    assert server.seen[1][1].endswith("persistentId=doi%3A10.5072%2FFK2%2FABC")
    assert (out / "deposit" / "release.zip").read_bytes() in server.seen[1][3]


@pytest.mark.parametrize(("code", "words"), [(401, "not accepted"), (302, "302"), (500, "500")])
def test_a_refusal_or_a_redirect_ends_the_upload(sfumato, out, monkeypatch, code, words):
    monkeypatch.setenv("SFUMATO_DEPOSIT_TOKEN", "s3cret")
    with repository(code) as (server, address):
        done = sfumato("deposit", out, "--to", "zenodo", *WHO, "--server", address)
    assert done.code != 0 and words in done.err and len(server.seen) == 1


def test_the_token_goes_to_no_other_host(sfumato, out, monkeypatch):
    monkeypatch.setenv("SFUMATO_DEPOSIT_TOKEN", "s3cret")
    with repository() as (other, elsewhere), repository(bucket=elsewhere) as (_, address):
        done = sfumato("deposit", out, "--to", "zenodo", *WHO, "--server", address)
    assert done.code != 0 and "another host" in done.err and other.seen == []
    done = sfumato("deposit", out, "--to", "zenodo", *WHO, "--server", "http://example.org")
    assert done.code == 2 and "https://" in done.err


def test_what_should_not_leave_is_refused(sfumato, out, monkeypatch):
    monkeypatch.delenv("SFUMATO_DEPOSIT_TOKEN", raising=False)
    how = ("deposit", out, "--to", "zenodo", *WHO)
    done = sfumato(*how)
    assert done.code == 2 and "SFUMATO_DEPOSIT_TOKEN" in done.err
    file = out / "share" / "certificate.json"
    certificate = json.loads(file.read_text("utf-8"))
    certificate["rehearsal"] = True
    seal(certificate, out / "share")
    done = sfumato(*how, "--dry-run")
    assert done.code != 0 and "rehearsal" in done.err and not (out / "deposit").exists()
    certificate["rehearsal"] = False
    certificate["classes"]["count"] += 1
    seal(certificate, out / "share")
    done = sfumato(*how, "--dry-run")
    assert done.code != 0 and "class sizes" in done.err and not (out / "deposit").exists()
