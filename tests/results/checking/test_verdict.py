"""The rules for outputs, and the verdict on one: pass, review or fail, with reasons that hold no
data value."""

from __future__ import annotations

import sfumato as sf
from tests.results.checking.test_seals import PEOPLE, call


def test_rules_that_ask_for_less_are_told(tmp_path):
    with sf.output_session(
        tmp_path / "s", PEOPLE, rules=sf.OutputRules(threshold=3, zeros=False)
    ) as session:
        session.count(["region"])
    assert "asks for less than usual: threshold, zeros" in call("review", tmp_path / "s")[1]
    page = tmp_path / "page.html"
    call("review", tmp_path / "s", "--html", page)
    assert "threshold, zeros" in page.read_text()
    with sf.output_session(tmp_path / "t") as session:
        session.add({"auc": 0.7}, "AUC")
    assert "without records" in call("review", tmp_path / "t")[1]
