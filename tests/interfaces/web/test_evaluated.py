"""The pages evaluate text (handlers of events, templates): none that holds a name or a value of the
table, and no such text is ever run.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, served

pytestmark = NEEDS_BROWSER
MARK = "qzx"
HOSTILE = [
    f"{MARK}\"'</script><img src=x onerror=window.pwned=1>",
    f"{MARK}${{window.pwned=1}}",
    f"{MARK}`+(window.pwned=1)+`",
    f"{MARK}\\');window.pwned=1//",
    f"{MARK}{{{{window.pwned=1}}}}",
    f":{MARK}",
    "__proto__",
    "constructor",
]
"""Names and values: quotes, an end of a script, a template literal, backslashes, a template of the
page library, names that objects have.
"""


class Evaluated:
    """Every text that a page evaluates: a script without an address, as the debugger of the browser
    sees it.
    """

    def __init__(self, tab: Tab) -> None:
        self.session = tab.context.new_cdp_session(tab.page)
        self.seen: list[str] = []
        self.session.on("Debugger.scriptParsed", self._parsed)
        self.session.send("Debugger.enable")

    def _parsed(self, script: dict[str, Any]) -> None:
        if not script["url"]:
            self.seen.append(script["scriptId"])

    def texts(self) -> set[str]:
        """Those since it was asked last; of a page that is gone the browser tells none."""
        from playwright.sync_api import Error

        found = set()
        for script in self.seen:
            with contextlib.suppress(Error):
                found.add(
                    self.session.send("Debugger.getScriptSource", {"scriptId": script})[
                        "scriptSource"
                    ]
                )
        self.seen.clear()
        return found


def test_no_name_and_no_value_of_the_table_is_ever_evaluated(browser: Any, tmp_path: Path) -> None:
    values = HOSTILE * 40
    names = [*HOSTILE[:6], "__proto__", "constructor"]
    columns = {name: values[place:] + values[:place] for place, name in enumerate(names)}
    pl.DataFrame({"age": [20 + i % 50 for i in range(len(values))], **columns}).write_parquet(
        tmp_path / "people.parquet"
    )
    roles = {name: {"role": "quasi", "hierarchy": {"suppress": {}}} for name in names[:4]}
    roles |= {names[4]: "sensitive", **dict.fromkeys(names[5:], "keep")}
    recipe = {
        "sfumato": 1,
        "columns": {"age": "keep", **roles},
        "meet": [{"k_anonymity": {"k": 5}}],
    }
    recipe |= {"steps": [{"global_recoding": {"budget": 0.5}}]}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    with (
        served(tmp_path, tmp_path / "people.parquet", recipe=tmp_path / "recipe.yaml") as bench,
        bench.tab(browser) as tab,
    ):
        page, evaluated, shown, texts = tab.page, Evaluated(tab), 0, set[str]()

        def looked() -> None:
            nonlocal shown
            page.wait_for_timeout(700)
            texts.update(evaluated.texts())
            shown += page.locator("body").inner_html().count(MARK)
            assert page.evaluate("window.pwned") is None and page.locator("img[src=x]").count() == 0

        tab.go("/")
        page.locator("table.columns tbody tr").nth(8).wait_for()
        looked()
        tab.go("/run")
        page.get_by_role("button", name="Make the release").first.click()
        page.locator(".headline").first.wait_for()
        looked()
        for path in ("/hierarchies", "/promises", "/write", "/policies", "/questions", "/explore"):
            tab.go(path)
            looked()
        page.get_by_role("button", name="Look at all combinations").click()
        page.locator("table.points").first.wait_for()
        looked()
        tab.go("/look")
        for part in ("Columns", "Pairs", "Rows", "Classes", "Utility", "Contract"):
            page.get_by_role("button", name=part, exact=True).click()
            looked()
        page.get_by_role("button", name="⟨⟩ Recipe").click()
        looked()
        assert shown > 100 and any("emit(" in one for one in texts), (
            "the pages show the table, and the debugger sees what is evaluated"
        )
        for one in texts:
            assert MARK not in one, one[:200]
