"""The panel that checks a release, in a real browser, beside ``sfumato verify``."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil

import pytest

import sfumato as sf
from sfumato.release.report import check_panel
from sfumato.release.report.page_html import ReportPage, render_page
from tests.interfaces.web.browser import NEEDS_BROWSER, open_browser
from tests.release.random_releases import (
    ROOT,
    alone_says,
    disagreements,
    forge,
    main_says,
    numbered,
    random_release,
)

VECTORS = ROOT / "docs" / "reference" / "certificates" / "vectors"
SEE = """() => ({
    result: document.getElementById("check").dataset.result,
    claims: [...document.querySelectorAll("#check li")].map(
        (item) => [item.dataset.name, item.dataset.status, item.textContent]),
})"""


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def panel(browser, tmp_path_factory):
    """A page on disk with the panel, in a browser that may reach nothing, and what it did wrong."""
    folder = tmp_path_factory.mktemp("panel")
    page = render_page(ReportPage("Panel", "above", [], "below", checks=True))
    (folder / "report.html").write_text(page, encoding="utf-8")
    tab = browser.new_page()
    wrong, workers = [], []
    tab.on("console", lambda line: wrong.append(line.text))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("request", lambda asked: wrong.append(asked.url) if asked.url[:4] == "http" else None)
    tab.on("worker", lambda worker: workers.append(worker.url))
    tab.goto((folder / "report.html").as_uri())
    return tab, wrong, workers


def checked(tab, share):
    """Result and claims that the panel shows for the files of a folder."""
    tab.evaluate("document.getElementById('check').removeAttribute('data-result')")
    files = sorted(str(path) for path in share.rglob("*") if path.is_file())
    tab.set_input_files("#check input", files)
    tab.wait_for_selector("#check[data-result]", timeout=120_000)
    seen = tab.evaluate(SEE)
    return seen["result"], numbered([(name, status) for name, status, _ in seen["claims"]])


@pytest.mark.slow
class TestInABrowser:
    pytestmark = NEEDS_BROWSER

    def test_it_finds_what_the_vectors_say(self, panel):
        tab, wrong, workers = panel
        for vector in json.loads((VECTORS / "vectors.json").read_text("utf-8")):
            result, claims = checked(tab, VECTORS / vector["folder"])
            assert result == vector["result"], vector["folder"]
            missing = {"not checked", None}
            differing = {
                name: claims.get(name)
                for name, status in vector["claims"].items()
                if claims.get(name) != status and claims.get(name) not in missing
            }
            assert differing == {}, vector["folder"]
        assert wrong == [] and workers, "a worker of the page itself, and no request"

    def test_random_releases_and_forgeries_are_judged_alike(self, panel, tmp_path):
        tab, wrong, _ = panel
        problems, count = [], 0
        for seed in range(2000, 2006):
            share = random_release(seed, tmp_path / str(seed))
            if share is None:
                continue
            forged = [forge(seed * 10 + j, share, tmp_path / str(seed) / f"f{j}") for j in range(3)]
            for name, folder in [("true", share), *forged]:
                found = disagreements(main_says(folder), checked(tab, folder))
                problems += [(seed, name, problem) for problem in found]
                count += 1
        assert problems == [] and wrong == [] and count > 8

    def test_the_page_of_a_release_checks_itself(self, browser, tmp_path):
        release = sf.anonymize(sf.examples.hospital(), [sf.KAnonymity(5)], [sf.Mondrian()], seed=1)
        release.write(tmp_path / "out")
        share = tmp_path / "out" / "share"
        tab, wrong = browser.new_page(), []
        tab.on("console", lambda line: wrong.append(line.text))
        tab.goto((share / "report.html").as_uri())
        result, claims = checked(tab, share)
        assert (result, wrong) == ("not all verified", [])
        assert claims["folder"] == claims["promise 1"] == "holds"
        data = share / "data.csv"
        data.write_bytes(data.read_bytes().replace(b"F", b"M", 1))
        result, claims = checked(tab, share)
        assert result == "false" and claims["data file unedited"] == "fails"

    def test_a_part_of_the_files_is_no_pass(self, panel, tmp_path):
        tab, _, _ = panel
        for name in ("certificate.json", "data.csv"):
            folder = tmp_path / name
            folder.mkdir()
            shutil.copy(VECTORS / "k" / name, folder)
        result, claims = checked(tab, tmp_path / "certificate.json")
        assert (result, claims["folder"]) == ("not all verified", "not checked")
        assert claims["data"] == "not checked" and "promise 1" not in claims
        result, claims = checked(tab, tmp_path / "data.csv")
        assert result == "refused"


def test_the_page_allows_this_script_and_nothing_else():
    page = render_page(ReportPage("Panel", "above", [], "below", checks=True))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "worker-src blob:"
    )
    assert "</script" not in check_panel.read_script() and "proves nothing" in page
    plain = render_page(ReportPage("Plain", "above", [], "below"))
    assert "script" not in plain and "worker" not in plain


def test_the_script_is_ours_readable_and_short():
    lines = check_panel.read_script().splitlines()
    assert len(lines) <= 1000 and max(map(len, lines)) <= 120
    for word in ("fetch(", "XMLHttpRequest", "import(", "eval(", "innerHTML", "WebSocket", "http"):
        assert word not in check_panel.read_script()


def test_the_documentation_names_the_official_digests():
    text = (ROOT / "docs" / "reference" / "certificates.md").read_text("utf-8")
    for content in (
        check_panel.read_script().encode(),
        (ROOT / "verifier" / "sfumato_verify.py").read_bytes(),
    ):
        assert hashlib.sha256(content).hexdigest() in text, "mend the digests of the page"


def test_both_small_checkers_have_the_names_of_the_main_one():
    assert alone_says(VECTORS / "k")[1].keys() >= main_says(VECTORS / "k")[1].keys() - {
        "report",
        "suppressed records",
        "rows are the recoded original",
        "figures of the certificate, against the original",
        "the original is the committed one",
        "labels of recoded columns",
    }
