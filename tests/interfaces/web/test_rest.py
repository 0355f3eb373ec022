"""The verbs for programs: what they do, what strangers get, limits, and calls that nobody thought
of.
"""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from sfumato.interfaces.web import rest
from sfumato.interfaces.web.project import Project
from sfumato.interfaces.web.server import TOKEN_FILE
from sfumato.interfaces.web.workbench import Workbench
from tests.interfaces.web.browser import NEEDS_BROWSER, Served, served
from tests.interfaces.web.people import RECIPE, written
from tests.interfaces.web.test_worker import (
    run,
    tasks,  # noqa: F401 - a fixture
)

SCHEMATHESIS = shutil.which("schemathesis")
SECRET = "P17"
"""A value of a column: no answer may hold it."""


async def call(app: Any, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One call of the application, without a network."""
    sent: list[dict[str, Any]] = []
    content = b"" if body is None else json.dumps(body).encode()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"here"), (b"content-type", b"application/json")],
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }
    await app(scope, receive, send)
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    assert SECRET not in text
    return sent[0]["status"], json.loads(text) if text.startswith("{") else text


def test_from_a_table_to_a_written_release(tmp_path: Path) -> None:
    table, _ = written(tmp_path)

    async def story() -> None:
        workbench = Workbench(Project.open(tmp_path / "project"))
        app = rest.application(workbench)
        try:
            status, state = await call(app, "GET", "/state")
            assert (status, state["version"], state["table"]) == (200, 0, None)
            assert (await call(app, "POST", "/run"))[0] == 400
            assert (await call(app, "GET", "/recipe"))[0] == 400
            status, answer = await call(app, "POST", "/open", {"path": "a" * 400})
            assert status == 400 and "longer than the system allows" in answer["message"]
            status, state = await call(app, "POST", "/open", {"path": str(table)})
            assert status == 200 and state["table"]["records"] == 400
            _, cards = await call(app, "GET", "/columns")
            assert [card["name"] for card in cards["columns"]] == state["table"]["columns"]
            await _recipe(app)
            status, outcome = await call(app, "POST", "/run")
            assert status == 200 and outcome["made"] and outcome["effect"]["suppressed"] >= 0
            assert (await call(app, "POST", "/measure", {}))[0] == 200
            status, found = await call(app, "POST", "/attack", {"seconds": 1})
            assert status == 200 and "prosecutor" in found["text"]
            await _write(app, tmp_path / "out")
            _, versions = await call(app, "GET", "/versions")
            assert versions["in_use"] == 2 and versions["versions"][1]["effect"]["holds"]
        finally:
            workbench.close()

    run(story)


async def _recipe(app: Any) -> None:
    """A recipe is taken, one from an older version is not, and there is a way back."""
    status, answer = await call(app, "PUT", "/recipe", {"recipe": RECIPE, "based_on": 1})
    assert status == 200 and answer["version"] == 2
    status, answer = await call(app, "PUT", "/recipe", {"recipe": RECIPE, "based_on": 1})
    assert status == 409 and "changed meanwhile" in answer["message"]
    assert (await call(app, "PUT", "/recipe", {"recipe": "sfumato: 1\nmeet: [x]"}))[0] == 400
    assert (await call(app, "POST", "/undo"))[1]["version"] == 1
    assert (await call(app, "POST", "/redo"))[1]["version"] == 2


async def _write(app: Any, folder: Path) -> None:
    """Warnings are acknowledged in their own words, and nothing is replaced unless that is said."""
    status, answer = await call(app, "POST", "/write", {"folder": str(folder)})
    assert status == 409 and answer["warnings"] and not folder.exists()
    body = {"folder": str(folder), "acknowledged": answer["warnings"]}
    status, answer = await call(app, "POST", "/write", body)
    assert status == 200 and answer["verified"] and (folder / "share" / "data.csv").exists()
    status, answer = await call(app, "POST", "/write", body)
    assert status == 400 and "already exists" in answer["message"]
    assert (await call(app, "POST", "/write", {**body, "force": True}))[0] == 200


def test_a_call_that_takes_too_long_is_ended_and_the_next_one_works(tmp_path: Path) -> None:
    table, _ = written(tmp_path)

    async def story() -> None:
        workbench = Workbench(Project.open(tmp_path / "project"))
        app = rest.application(workbench)
        try:
            await call(app, "POST", "/open", {"path": str(table)})
            hasty = rest.application(workbench, seconds=0.0001)
            status, answer = await call(hasty, "POST", "/run")
            assert status == 504 and "was ended" in answer["message"]
            assert workbench.job is None
            while not workbench.ready:
                await workbench.reopen()
            assert (await call(app, "POST", "/run"))[1]["made"]
        finally:
            workbench.close()

    run(story)


def test_long_calls_do_not_queue(tmp_path: Path) -> None:
    import asyncio

    table, _ = written(tmp_path)

    async def story() -> None:
        workbench = Workbench(Project.open(tmp_path / "project"))
        app = rest.application(workbench)
        try:
            await call(app, "POST", "/open", {"path": str(table)})
            first = asyncio.ensure_future(call(app, "POST", "/attack", {"seconds": 60}))
            while workbench.job is None or workbench.job.task != "attack":
                await asyncio.sleep(0.01)
            status, answer = await call(app, "POST", "/run")
            assert status == 409 and "under way" in answer["message"]
            assert (await call(app, "POST", "/cancel"))[0] == 200
            assert (await first)[0] == 409
        finally:
            workbench.close()

    run(story)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/open", {}),
        ("/open", {"path": "a", "example": "hospital"}),
        ("/open", {"path": "a" * 5000}),
        ("/open", {"path": "x.csv", "surprise": SECRET}),
        ("/attack", {"seconds": 1e9}),
        ("/attack", {"seconds": SECRET}),
        ("/write", {"folder": ""}),
        ("/write", {"folder": "a", "format": SECRET}),
        ("/write", [SECRET]),
    ],
)
def test_what_is_not_as_described_is_refused_and_not_repeated(
    tmp_path: Path, path: str, body: Any
) -> None:
    async def story() -> None:
        workbench = Workbench(Project.open(tmp_path / "project"))
        try:
            status, answer = await call(rest.application(workbench), "POST", path, body)
            assert status == 422 and set(answer) == {"error", "message"}
        finally:
            workbench.close()

    run(story)


def test_the_page_lists_every_call(tmp_path: Path) -> None:
    async def story() -> None:
        workbench = Workbench(Project.open(tmp_path / "project"))
        try:
            app = rest.application(workbench)
            status, page = await call(app, "GET", "/")
            assert status == 200 and "<script" not in page
            for method, path, _ in rest.ROUTES:
                assert f"{method} /api{path}" in page
            assert (await call(app, "GET", "/nothing"))[0] == 404
            assert (await call(app, "DELETE", "/recipe"))[0] == 405
        finally:
            workbench.close()

    run(story)


# Over the network.


def ask(bench: Served, path: str, method: str = "GET", **heads: str) -> int:
    """The status of a call with these headers; none is added."""
    request = urllib.request.Request(bench.origin + path, method=method, headers=heads)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.service
@pytest.mark.skipif(NEEDS_BROWSER[1].args[0], reason="the extra web is not installed")
def test_strangers_are_refused(tmp_path: Path) -> None:
    with served(tmp_path, None, "--api") as bench:
        file = bench.project / TOKEN_FILE
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        name, _, token = file.read_text().strip().partition(": ")
        good = {name: token}
        assert ask(bench, "/api/state", **good) == 200
        assert not any(token.removeprefix("Bearer ") in line for line in bench.said)
        for heads in (
            {},
            {name: token[:-1]},
            {name: token + "x"},
            {name: token.removeprefix("Bearer ")},
            {name: "Bearer "},
            {name: "Bearer é"},
            {"Cookie": f"sfumato_{bench.port}={token}"},
        ):
            assert ask(bench, "/api/state", **heads) == 401, heads
        assert ask(bench, "/api/state", Origin="https://elsewhere.example", **good) == 403
        assert ask(bench, "/api/state", Origin="null", **good) == 403
        assert ask(bench, "/api/state", **{"Sec-Fetch-Site": "cross-site", **good}) == 403
        assert ask(bench, "/api/state", **{"Sec-Fetch-Site": "same-site", **good}) == 403
        assert ask(bench, "/api/state", Host="elsewhere.example", **good) == 421
        assert ask(bench, "/api/state", "OPTIONS", Origin="https://elsewhere.example") == 403
        assert ask(bench, "/api/open", "POST", **{"Content-Length": "99999999", **good}) == 413
        # the token opens no page, and what looks like a call is none
        for path in ("/", "/promises", "/API/state", "//api/state", "/x/api/state"):
            assert ask(bench, path, **good) == 401, path
        for path in ("/api/../promises", "/api/%2e%2e/promises", "/api//state", "/api/state/.."):
            assert ask(bench, path, **good) == 404, path
        project = bench.project
    assert not (project / TOKEN_FILE).exists()


@pytest.mark.service
@pytest.mark.skipif(NEEDS_BROWSER[1].args[0], reason="the extra web is not installed")
def test_without_the_option_no_program_is_let_in(tmp_path: Path) -> None:
    with served(tmp_path) as bench:
        assert not (bench.project / TOKEN_FILE).exists()
        for heads in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}):
            assert ask(bench, "/api/state", **heads) == 401


@pytest.mark.service
@pytest.mark.skipif(SCHEMATHESIS is None, reason="pip install schemathesis: it is not installed")
@pytest.mark.skipif(NEEDS_BROWSER[1].args[0], reason="the extra web is not installed")
def test_calls_that_nobody_thought_of(tmp_path: Path) -> None:
    """Every answer has a documented status and form, and none is a failure of the server."""
    with served(tmp_path, None, "--api") as bench:
        header = (bench.project / TOKEN_FILE).read_text().strip()
        excluded = "positive_data_acceptance"  # a path that is a text need not be a table
        command = [str(SCHEMATHESIS), "run", f"{bench.origin}/api/openapi.json", "-H", header]
        command += ["--max-examples", "25", "--exclude-checks", excluded, "--seed", "1"]
        command += ["--exclude-path-regex", "/(attack|decide)$", "--request-timeout", "120"]
        # what is too long is refused before it is read
        refusals = "[400, 401, 403, 404, 405, 409, 413, 415, 422]"
        settings = f"[checks]\nnegative_data_rejection.expected-statuses = {refusals}\n"
        (tmp_path / "schemathesis.toml").write_text(settings)
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        assert "Tested: 12" in done.stdout
