"""A workbench as others on the machine and on the web see it: by raw requests, by what processes
show, and by what is left when it ends.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.interfaces.web.browser import NEEDS_BROWSER, Served, served, stranger
from tests.interfaces.web.pem import self_signed

pytestmark = [
    *NEEDS_BROWSER,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport="
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def ask(
    bench: Served, path: str, method: str = "GET", **heads: str
) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", bench.port, timeout=60)
    connection.request(
        method, path, headers={name.replace("_", "-"): value for name, value in heads.items()}
    )
    answer = connection.getresponse()
    heads = {name.lower(): value for name, value in answer.getheaders()}
    body = "" if answer.status == 101 else answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, body, heads


def children(process: int) -> list[int]:
    """All processes below one."""
    threads = Path(f"/proc/{process}/task").glob("*/children")
    direct = [int(one) for thread in threads for one in content(thread).split()]
    return direct + [below for one in direct for below in children(one)]


def content(file: Path) -> bytes:
    """What a file of a process holds: nothing if the process has ended meanwhile."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def alive(process: int) -> bool:
    status = content(Path(f"/proc/{process}/status"))
    return bool(status) and b"State:\tZ" not in status


def test_who_is_not_our_browser_is_kept_out(tmp_path: Path) -> None:
    with served(tmp_path) as bench:
        token = urlsplit(bench.address).query
        assert ask(bench, "/")[0] == 401
        assert ask(bench, "/?token=wrong")[0] == 401
        assert ask(bench, f"/?{token}", Host="evil.example")[0] == 421
        assert ask(bench, f"/?{token}", Origin="http://evil.example")[0] == 403
        landed, page, heads = ask(bench, f"/?{token}", Sec_Fetch_Site="cross-site")
        assert landed == 200 and "refresh" in page and token.removeprefix("token=") not in page
        assert ask(bench, f"/?{token}")[0] == 401
        cookie = heads["set-cookie"].split(";")[0]
        home = re.search(r"Path=(/[^/;]+)/", heads["set-cookie"])[1]
        ours = {"Cookie": cookie, "Origin": bench.origin}
        assert ask(bench, "/", Cookie=cookie)[0] == 401, (
            "the cookie alone, which other ports may be sent, opens nothing"
        )
        status, page, heads = ask(bench, f"{home}/", Cookie=cookie)
        assert status == 200 and "server" not in heads and heads["cache-control"] == "no-store"
        assert "default-src 'none'" in heads["content-security-policy"]
        assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
        for path in (home + SOCKET + "polling", home + SOCKET + "websocket"):
            more = UPGRADE if path.endswith("websocket") else {}
            assert ask(bench, path, **more, Origin=bench.origin)[0] in (401, 403)
            assert ask(bench, path, **more, Cookie=cookie, Origin="http://evil.example")[0] == 403
            assert ask(
                bench, path, **more, Cookie=cookie, Origin=bench.origin, Host="evil.example"
            )[0] in (403, 421)
        assert (
            ask(bench, home + SOCKET + "websocket", **UPGRADE, Cookie=cookie)[0] == 403
        )  # no Origin
        assert ask(bench, home + SOCKET + "websocket", **UPGRADE, **ours)[0] == 101
        assert ask(bench, home + SOCKET + "polling", **ours)[0] == 200
        assert ask(bench, home + SOCKET + "polling", "POST", Cookie=cookie)[0] == 403
        assert ask(bench, f"{home}/", "POST", **ours, Content_Length=str(1 << 40))[0] == 413
        for path in (
            "/docs",
            "/openapi.json",
            "/redoc",
            "/sfumato/../guard.py",
            "/nothing?zip=12345",
            "/sfumato/take/recipe.yaml",
        ):
            assert ask(bench, home + path, **ours)[0] in (404, 405), path
        assert bench.stop() == 130
        assert not any("12345" in line or "Traceback" in line for line in bench.said)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 0)]
)
def test_whatever_ends_it_nothing_is_left(tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "tmp").mkdir()
    table = tmp_path / "visits.csv"
    table.write_text("age,sex\n" + "30,f\n40,m\n" * 30)
    with served(tmp_path, table, TMPDIR=str(tmp_path / "tmp")) as bench:
        wait_for((bench.project / "recipe.yaml").exists)
        below = children(bench.process.pid)
        wait_for(lambda: len(list((tmp_path / "tmp").iterdir())) == 1)
        (private,) = (tmp_path / "tmp").iterdir()
        assert below and stat.S_IMODE(private.stat().st_mode) == 0o700
        assert bench.stop(number) == code
        wait_for(lambda: not any(alive(one) for one in below))
        assert not list((tmp_path / "tmp").iterdir())
        assert not any("Traceback" in line for line in bench.said)
    if number == signal.SIGHUP:  # the least polite of them: the project was let go all the same
        with served(tmp_path, table) as again:
            assert again.stop() == 130


def test_the_browser_is_opened_without_a_token_in_sight_of_others(
    browser: Any, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    script = tmp_path / "browser.sh"
    script.write_text(
        f'#!/bin/sh\necho "$1" > {seen}.part && mv {seen}.part {seen}\nexec sleep 20 >/dev/null'
        " 2>&1\n"
    )
    script.chmod(0o700)
    with served(tmp_path, None, "--browser", BROWSER=str(script)) as bench:
        wait_for(seen.exists)
        address = seen.read_text().strip()
        assert address == (bench.project / "open.html").as_uri()
        assert stat.S_IMODE((bench.project / "open.html").stat().st_mode) == 0o600
        token = urlsplit(bench.address).query.removeprefix("token=")
        assert token in (bench.project / "open.html").read_text()
        assert token.encode() not in b"".join(map(content, Path("/proc").glob("[0-9]*/cmdline")))
        with stranger(browser) as page:
            page.goto(
                address
            )  # from a file, as a browser does: a strict cookie would be lost on a redirect
            page.wait_for_selector("h1")
            assert (
                re.fullmatch(re.escape(bench.origin) + r"/[\w-]{32}/", page.url)
                and token not in page.url
            )
            assert page.evaluate("document.cookie") == ""
        bench.stop()
        assert not (bench.project / "open.html").exists()


def wait_for(holds: Any) -> None:
    for _ in range(1_200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def test_a_process_that_dies_in_the_middle_is_told_and_the_data_are_opened_again(
    browser: Any, tmp_path: Path
) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("age,sex\n" + "30,f\n40,m\n" * 30)
    with served(tmp_path, table) as bench, bench.tab(browser) as tab:
        records = tab.page.locator(".figure", has_text="records").get_by_text("60", exact=True)
        records.wait_for()
        tab.page.wait_for_function(
            "window.vegaEmbed !== undefined"
        )  # what draws pictures leaves the connection alone
        assert tab.page.evaluate("typeof io === 'undefined' || typeof io.Socket !== 'undefined'")
        tab.go("/write")
        worker = max(children(bench.process.pid), key=memory)
        os.kill(worker, signal.SIGSTOP)  # it works for ever
        tab.page.get_by_role("button", name="Write the release").click()
        tab.page.locator(".job", has_text="Checking the release").wait_for()
        os.kill(worker, signal.SIGKILL)
        tab.page.locator("[role=alert]", has_text="ended").first.wait_for()
        records.wait_for()
        assert not list((bench.project / "releases").iterdir())
        tab.write()
        tab.sees("To publish")


def memory(process: int) -> int:
    """Pages that a process holds: the one with the data has more than those that only look after
    others.
    """
    return int((content(Path(f"/proc/{process}/statm")).split() or [b"0", b"0"])[1])


def test_with_a_certificate_others_are_served_encrypted_and_only_so(
    browser: Any, tmp_path: Path
) -> None:
    own, key = self_signed(tmp_path)
    words = ("--host", "127.0.0.2", "--to-others", "--certificate", str(own), "--key", str(key))
    with served(tmp_path, None, *words) as bench:
        assert bench.address.startswith("https://127.0.0.2:")
        plain = http.client.HTTPConnection("127.0.0.2", bench.port, timeout=90)
        plain.request("GET", "/")
        with pytest.raises((http.client.HTTPException, OSError)):
            plain.getresponse()
        plain.close()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", bench.port), 30)
        with stranger(browser, ignore_https_errors=True) as page:
            page.goto(bench.address)
            page.wait_for_selector("h1")
            page.get_by_text(
                "Everybody with this address can work with these data"
            ).wait_for()  # its socket is encrypted too
            (cookie,) = page.context.cookies()
            assert cookie["secure"] and cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        assert not any("Everything stays" in line for line in bench.said)
