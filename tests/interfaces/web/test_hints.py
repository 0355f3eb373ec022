"""What pictures tell beside the mouse: named lines, shares in percent, and nothing of how they are
drawn.
"""

from __future__ import annotations

from typing import Any

from sfumato.interfaces.web.pages import specs

ROW = {"bin": "20-29", "place": 0, "before": 0.3, "after": 0.25}
CELL = {"x": "20-29", "y": "f", "i": 0, "j": 0, "share": 0.1}
CLASS = {"bin": "3–4", "place": 2, "when": "before", "records": 1200}


def told(spec: dict[str, Any]) -> list[list[tuple[str, str]]]:
    layers = spec.get("layer", [spec])
    return [
        [(one["title"], one.get("format", "")) for one in layer["encoding"]["tooltip"]]
        for layer in layers
    ]


def test_hints_are_named_and_formatted() -> None:
    both = [("value", ""), ("before", ".1%"), ("after", ".1%")]
    assert told(specs.bars([ROW])) == [both, both]
    assert told(specs.heat([CELL], ("age", "sex"), 0.1)) == [
        [("age", ""), ("sex", ""), ("of the records", ".1%")]
    ]
    assert told(specs.columns_of_two([CLASS], "records")) == [
        [("size of the class", ""), ("when", ""), ("records", ",")]
    ]
