"""Names and values from a table cannot steer a terminal, and the written file is what was
judged.
"""

from __future__ import annotations

import json

import pytest

STEERING = "a\x1b[2Jb\u202e"
RECIPE = """
sfumato: 1
columns:
  "a\\e[2Jb\\u202e": {role: quasi, hierarchy: {suppress: {}}}
  s: sensitive
meet: [{k_anonymity: 2}]
steps: [global_recoding]
"""


@pytest.fixture
def files(tmp_path):
    rows = ["x,=1+1", "y,fine"] * 6
    (tmp_path / "t.csv").write_text("\n".join([f"{STEERING},s", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "t.yaml").write_text(RECIPE, encoding="utf-8")
    return str(tmp_path / "t.csv"), str(tmp_path / "t.yaml"), tmp_path


def test_control_signs_are_spelled_out_wherever_they_are_printed(files, sfumato):
    data, recipe, folder = files
    given = ([], ["--json"])
    for number, more in enumerate(given):
        found = sfumato("run", data, "-r", recipe, "-o", str(folder / f"out{number}"), *more)
        assert found.code == 0, found
        for text in (found.out, found.err):
            assert "\x1b" not in text and "\u202e" not in text
        assert ("\\u001b[2Jb\\u202e" if more else "\\x1b[2Jb\\u202e") in found.out
    for command in (
        ("assess", data, "-r", recipe),
        ("check", data, "-r", recipe),
        ("profile", data),
    ):
        found = sfumato(*command)
        assert "\x1b" not in found.out + found.err and "\u202e" not in found.out + found.err


def test_formulas_are_named_and_defused_on_request(files, sfumato):
    data, recipe, folder = files
    found = sfumato("run", data, "-r", recipe, "-o", str(folder / "raw"))
    assert "6 cells that a spreadsheet would run as formulas: s (6)" in found.out
    found = sfumato("run", data, "-r", recipe, "-o", str(folder / "safe"), "--defuse", "--json")
    assert json.loads(found.out)["formulas"] == {"s": 6}
    assert "'=1+1" in (folder / "safe" / "share" / "data.csv").read_text(encoding="utf-8")
    assert sfumato("verify", str(folder / "safe" / "share")).code == 7
    checked = sfumato("check", str(folder / "safe" / "share" / "data.csv"), "-r", recipe)
    assert checked.code == 0 and "read as the certificate beside it says" in checked.err
    assert "'=1+1" in sfumato("run", data, "-r", recipe, "-o", "-", "--defuse").out
