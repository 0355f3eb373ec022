"""The frame around all stages, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.web.browser import NEEDS_BROWSER, served

pytestmark = NEEDS_BROWSER


def test_the_bundled_table_is_opened_and_nothing_is_asked_of_others(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        tab.open_hospital()
        tab.sees("Undo")
        tab.clean()


def test_a_table_and_a_recipe_named_at_the_start_are_there(browser: Any, tmp_path: Path) -> None:
    table, recipe = tmp_path / "visits.csv", tmp_path / "visits.yaml"
    table.write_text("age,sex\n" + "".join(f"{20 + i % 40},{'fm'[i % 2]}\n" for i in range(120)), encoding="utf-8")
    recipe.write_text(
        "sfumato: 1\ncolumns:\n  age: {role: quasi, kind: numeric}\n  sex: {role: quasi}\nmeet:\n  - k_anonymity: {k: 3}\n"
    )
    with served(tmp_path, table, recipe=recipe) as bench, bench.tab(browser) as tab:
        tab.sees("3-anonymity")
        tab.page.get_by_text("120", exact=True).first.wait_for()
