"""The pages in a real browser: nothing is asked of a network, nothing is complained about, and
something is seen.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from sfumato.release.report.risk_utility import comparison_page
from tests.release.report import samples
from tests.release.report.samples import owner_page, public_page
from tests.release.report.test_risk_utility import THREE

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(
        BROWSER is None,
        reason="no Chromium or Chrome is installed; on Debian: apt-get install chromium",
    ),
]
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
SECONDS = 300
WANTED = re.compile(r"https?:|wss?:|ftp:|//")


@dataclasses.dataclass(frozen=True)
class Visit:
    """What a browser did with a page: what it logged, which addresses it asked for, and what it
    showed.
    """

    console: list[str]
    addresses: list[str]
    screenshot: bytes


def visit(page: str, folder: Path, size: str = "1100,1600") -> Visit:
    file, shot, log = folder / "page.html", folder / "shot.png", folder / "net.json"
    file.write_text(page, encoding="utf-8")
    told = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", f"--screenshot={shot}")
    command = [str(BROWSER), *QUIET, *told, f"--window-size={size}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if not shot.is_file():
        pytest.fail(
            f"the browser drew nothing (exit code {done.returncode}): {done.stderr[-2000:]}"
        )
    return Visit(
        re.findall(r".*CONSOLE.*", done.stderr),
        addresses_in(log.read_text("utf-8")),
        shot.read_bytes(),
    )


def addresses_in(log: str) -> list[str]:
    """Every address the page asked for. Browsers ask for updates and the time on their own: those
    have no origin.

    The log is read line by line, an event a line, since a browser that is stopped does not close
    it.
    """
    asked = re.findall(r'"initiator":"([^"]*)".*?"url":"([^"]+)"', log)
    return [url for origin, url in asked if origin != "not an origin" and WANTED.match(url)]


def shades(png: bytes) -> int:
    """How many different bytes the picture's rows have: a blank one has next to none."""
    data, place, packed = png[8:], 0, b""
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        if data[place + 4 : place + 8] == b"IDAT":
            packed += data[place + 8 : place + 8 + length]
        place += length + 12
    return len(set(zlib.decompress(packed)))


PAGES = {
    "owner": lambda: owner_page(samples.full_record()),
    "public": lambda: public_page(samples.full_record()["certificate"], panel=True),
    "comparison": lambda: comparison_page(THREE),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAGES)
def test_the_page_stays_alone_and_silent(kind, tmp_path):
    seen = visit(PAGES[kind](), tmp_path)
    assert seen.console == []
    assert seen.addresses == []
    assert shades(seen.screenshot) > 30


@pytest.mark.slow
def test_the_watch_sees_what_it_should(tmp_path):
    """A page that asks a network, breaks its own policy and shows nothing is caught on all
    three.
    """
    bad = "<img src='http://example.invalid/x.png'><script>console.error('told')</script>"
    seen = visit(f"<!DOCTYPE html><body>{bad}</body>", tmp_path, "300,300")
    assert any("told" in line for line in seen.console)
    assert any("example.invalid" in address for address in seen.addresses)
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
    (tmp_path / "strict").mkdir()
    strict = visit(
        f"<!DOCTYPE html><head>{policy}</head><body>{bad}</body>", tmp_path / "strict", "300,300"
    )
    assert strict.addresses == [] and strict.console != []
    assert shades(visit("<!DOCTYPE html>", _fresh(tmp_path), "300,300").screenshot) < 10


@pytest.mark.slow
def test_a_hostile_column_cannot_run_anything(tmp_path):
    hostile = {
        "age": "<img src=http://example.invalid/ onerror=console.error('ran')>",
        "sex": "<script>console.error('ran')</script>",
    }
    seen = visit(owner_page(samples.renamed(samples.full_record(), hostile)), tmp_path)
    assert seen.console == [] and seen.addresses == []


@pytest.mark.slow
def test_nothing_sticks_out_on_a_telephone(tmp_path):
    """A page that is wider than the window is scrolled sideways: its own script-free proof is the
    width of its sheet.
    """
    probe = (
        "<script>document.title = 'wide ' + document.documentElement.scrollWidth</script></body>"
    )
    for kind, make in PAGES.items():
        page = (
            make()
            .replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
            .replace("</body>", probe)
        )
        file = _fresh(tmp_path, kind) / "page.html"
        file.write_text(page, encoding="utf-8")
        told = (f"--user-data-dir={file.parent / 'profile'}", "--window-size=500,900", "--dump-dom")
        done = subprocess.run(
            [str(BROWSER), *QUIET, *told, file.as_uri()],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert int(re.search(r"<title>wide (\d+)</title>", done.stdout)[1]) <= 500, kind


def _fresh(folder: Path, name: str = "fresh") -> Path:
    made = folder / name
    made.mkdir()
    return made
