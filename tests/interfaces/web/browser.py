"""A workbench and a browser for tests: start ``sfumato serve``, open its pages, and watch what they
do meanwhile.

::

    pytestmark = NEEDS_BROWSER

    def test_roles(browser, tmp_path):
        with served(tmp_path, data=table, recipe=recipe) as bench, bench.tab(browser) as tab:
            tab.page.get_by_role("button", name="Undo").click()
            tab.clean()

When a tab is left, it must have logged no error, raised none, and asked nobody but its own server
for anything.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato

SOURCE = Path(sfumato.__file__).resolve().parents[1]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
LACKING = [
    name
    for name in ("nicegui", "playwright", "axe_playwright_python")
    if importlib.util.find_spec(name) is None
]
WHY = (
    f"pip install 'sfumato[web,services]': {', '.join(LACKING)} is not installed"
    if LACKING
    else "no Chromium or Chrome is installed; on Debian: apt-get install chromium"
)
NEEDS_BROWSER = [
    pytest.mark.service,
    pytest.mark.skipif(bool(LACKING) or CHROMIUM is None, reason=WHY),
]
START_SECONDS = 120
MILLISECONDS = 120_000
"""How long an expectation may take: long, since machines are busy, and a test that passes does not
wait for it.
"""
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE 127.0.0.2",
)
EXCUSED = ("Failed to load resource: net::ERR_CONNECTION",)
"""What browsers log when the server they had a page of ends; some tests end it."""

FOLLOWED = """(scheme) => document.querySelector("[data-key=colours]").value !== "system"
    || document.body.classList.contains("body--dark") === (scheme === "dark")"""
"""Whether a page took over the colours of the system, unless others were chosen."""
FOCUSED = "(document.activeElement?.closest('[data-key]')?.dataset.key ?? '')"
DRAWN = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>"
    " done(true))))"
)
TOO_WIDE = """() => [...document.querySelectorAll('body *')]
    .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .filter((one) => !one.closest('nav, .scroll, .scroller'))
    .slice(0, 5).map((one) => one.outerHTML.slice(0, 160))"""
"""What is wider than the screen, but for what lies in a part that scrolls by itself."""


@contextlib.contextmanager
def open_browser() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        try:
            yield opened
        finally:
            opened.close()


def expect(seen: Any, *words: str) -> Any:
    """What is said of a part of a page is waited for: a gesture is answered by the server, which
    may be busy.
    """
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=MILLISECONDS)
    return expected(seen, *words)


@contextlib.contextmanager
def stranger(browser: Any, **options: Any) -> Iterator[Any]:
    """A page of somebody who has no cookie."""
    context = browser.new_context(**options)
    context.set_default_timeout(MILLISECONDS)
    try:
        yield context.new_page()
    finally:
        context.close()


@dataclasses.dataclass(eq=False)
class Served:
    """A workbench that runs: its process, what it said, its address with the token (good once), and
    the folder of its project.
    """

    process: subprocess.Popen[str]
    address: str
    project: Path
    said: list[str]
    home: str = ""
    """The first page, below the secret path that the last tab came to."""

    @property
    def origin(self) -> str:
        """Its address without the token."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def port(self) -> int:
        """The port it listens at."""
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @contextlib.contextmanager
    def tab(
        self, browser: Any, *, width: int = 1280, dark: bool = False, excuse: tuple[str, ...] = ()
    ) -> Iterator[Tab]:
        """A tab that came in by the token; on leaving it must have done nothing wrong. ``excuse``:
        parts of messages that are expected.
        """
        scheme = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": 860}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(MILLISECONDS)
        try:
            tab = Tab(self, context, context.new_page())
            tab.page.goto(self.address)
            tab.ready()
            self.home = tab.page.url
            yield tab
            tab.fine(excuse)
        finally:
            context.close()

    def stop(self, with_signal: int = signal.SIGINT) -> int:
        """End it as Ctrl-C does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        try:
            return self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
            raise AssertionError("the workbench did not end when asked to") from None


@dataclasses.dataclass(eq=False)
class Tab:
    """A page of a workbench, and what it did that it should not."""

    bench: Served
    context: Any
    page: Any
    problems: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self._watch(self.page)

    def _watch(self, page: Any) -> None:
        page.on("console", lambda said: self._note(said.type == "error", f"console: {said.text}"))
        page.on("pageerror", lambda error: self._note(True, f"error: {error}"))
        page.on(
            "request", lambda asked: self._note(not self._ours(asked.url), f"asked for {asked.url}")
        )
        page.on(
            "websocket",
            lambda opened: self._note(not self._ours(opened.url), f"socket to {opened.url}"),
        )

    def _note(self, wrong: bool, what: str) -> None:
        if wrong:
            self.problems.append(what)

    def _ours(self, address: str) -> bool:
        parts = urlsplit(address)
        return (
            parts.scheme in ("data", "blob", "about")
            or parts.netloc == urlsplit(self.bench.origin).netloc
        )

    def another(self) -> Tab:
        """A second tab of the same person: it has the cookie."""
        other = Tab(self.bench, self.context, self.context.new_page(), self.problems)
        other.go("/")
        return other

    def go(self, path: str) -> None:
        """Open a stage by its address."""
        self.page.goto(self.bench.home + path.removeprefix("/"))
        self.ready()

    def ready(self) -> None:
        """Wait until a page is there and the server hears it: gestures from before are told later,
        in any order.
        """
        self.page.wait_for_selector("h1")
        self.page.wait_for_function("window.did_handshake === true")

    def open_hospital(self) -> None:
        """Open the bundled table, as the first page offers."""
        self.go("/")
        self.page.get_by_role("button", name="Try the invented hospital").click()
        self.page.get_by_text("3,000", exact=True).first.wait_for()

    def sees(self, words: str) -> None:
        """Wait until a text is seen."""
        self.page.get_by_text(words).first.wait_for()

    def write(self, version: int | str = "") -> None:
        """Write the release of a version; what its owner is warned of is ticked first."""
        button = self.page.get_by_role(
            "button", name=f"Write the release of version {version}".rstrip()
        )
        button.click()
        refused = self.page.locator("[role=alert]", has_text="Tick what is said under")
        written = self.page.locator("section.written")
        refused.or_(written).first.wait_for()
        if refused.count():
            for warning in self.page.locator(".warning input").all():
                warning.check()
            button.click()

    def axe(self) -> None:
        """No rule of accessibility is broken, in light and in dark; what dark changes is
        colours.
        """
        from axe_playwright_python.sync_playwright import Axe

        colours = {"runOnly": ["color-contrast"]}
        for scheme, rules in (("dark", colours), ("light", {})):
            self.page.emulate_media(color_scheme=scheme)
            self.page.wait_for_function(FOLLOWED, arg=scheme)
            found = (
                Axe()
                .run(self.page, options={"resultTypes": ["violations"], **rules})
                .response["violations"]
            )
            told = [
                f"{one['id']}: {one['help']}; {[node['html'][:160] for node in one['nodes'][:4]]}"
                for one in found
            ]
            assert not told, f"{scheme}: " + "\n".join(told)

    def no_overflow(self, width: int = 390) -> None:
        """The page is no wider than a screen of this width; the screen is then as wide as
        before.
        """
        before = self.page.viewport_size
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.evaluate(DRAWN)
        wide = self.page.evaluate(TOO_WIDE)
        over = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        self.page.set_viewport_size(before)
        assert over <= 0, f"{over} pixels too wide at {width}: {wide}"

    def clean(self) -> None:
        """Accessible in light and dark, and not too wide at 390 pixels."""
        self.axe()
        self.no_overflow(390)

    def focused(self) -> str:
        """The ``key`` of what has the focus."""
        return str(self.page.evaluate(FOCUSED))

    def focuses(self, *keys: str) -> None:
        """Wait until something of one of these ``key`` has the focus."""
        self.page.wait_for_function(f"(keys) => keys.includes({FOCUSED})", arg=keys)

    def fine(self, excuse: tuple[str, ...] = ()) -> None:
        """Nothing was logged as an error, raised, or asked of others."""
        wrong = [
            problem
            for problem in self.problems
            if not any(part in problem for part in (*EXCUSED, *excuse))
        ]
        assert not wrong, "\n".join(wrong)


@contextlib.contextmanager
def served(
    folder: Path,
    data: Path | str | None = None,
    *more: str,
    recipe: Path | str | None = None,
    project: Path | None = None,
    **environment: str,
) -> Iterator[Served]:
    """``sfumato serve`` as a process, with a project in ``folder / "project"``; it is ended when
    the block is left.
    """
    where = project or folder / "project"
    said = [str(data)] if data is not None else []
    said += ["-r", str(recipe)] if recipe is not None else []
    _give_pictures(folder / "home")
    command = [
        sys.executable,
        "-m",
        "sfumato",
        "serve",
        *said,
        "--project",
        str(where),
        "--no-browser",
        *more,
    ]
    env = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "XDG_DATA_HOME": str(folder / "home"),
        **environment,
    }
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=folder
    )
    lines: list[str] = []
    first: queue.Queue[str] = queue.Queue()
    threads = [
        threading.Thread(target=_read, args=(pipe, lines, first), daemon=True)
        for pipe in (process.stdout, process.stderr)
    ]
    for thread in threads:
        thread.start()
    try:
        yield Served(process, _address(process, lines, first), where, lines)
    except BaseException:
        print("\n".join(["the workbench said:", *lines]))  # pytest shows it with what failed
        raise
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        for thread in threads:
            thread.join(10)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@functools.cache
def _pictures() -> tuple[str, bytes]:
    """The script that draws pictures, by the name it is kept under: seconds to make, so it is made
    once for all servers of a process.
    """
    from sfumato.interfaces.web.pages import assets

    return assets.kept_at().name, assets.make_script().encode()


def _give_pictures(home: Path) -> None:
    name, script = _pictures()
    (home / "sfumato").mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (home / "sfumato" / name).exists():
        (home / "sfumato" / name).write_bytes(script)


def _read(pipe: Any, lines: list[str], first: queue.Queue[str]) -> None:
    """Keep all that is said; a pipe that nobody reads would stop who writes to it."""
    for line in pipe:
        lines.append(line.rstrip("\n"))
        if line.strip().startswith(("http://", "https://")):
            first.put(line.strip())
    first.put("")


def _address(process: subprocess.Popen[str], lines: list[str], first: queue.Queue[str]) -> str:
    try:
        address = first.get(timeout=START_SECONDS) or first.get(timeout=START_SECONDS)
    except queue.Empty:
        address = ""
    if not address:
        process.poll()
        raise AssertionError(
            f"the workbench did not start (exit code {process.returncode}): " + "\n".join(lines)
        )
    return address
