"""Write what engines refuse into docs/how_to/scale.md, from the registry:
``python tools/scale_page.py``.
"""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.core import registry
from sfumato.core.choices import is_number, required_fields, weakest
from sfumato.core.schema import Schema
from sfumato.core.step import Step
from sfumato.data.lazy.refusals import OPTIONS, needing_records

TOOLS = Path(__file__).resolve().parent
PAGE = TOOLS.parent / "docs" / "how_to" / "scale.md"
EXAMPLE = Schema.from_roles({"quasi": ["zip", "age"], "sensitive": ["diagnosis", "cost"]}).replace(
    "cost", kind="numeric"
)
PARAMETERS: dict[str, dict[str, Any]] = {
    "stochastic_t_closeness": {"mechanism": "laplace", "sensitive": "cost", "scale": 1.0},
    "k_on_combinations": {"combinations": [["zip", "age"]]},
    "population_uniqueness": {"share": 0.5, "fraction": 0.1},
}
"""What promises need to be asked for that take more than a column and a degree."""
filled: Callable[[str, Mapping[str, str]], str] = runpy.run_path(str(TOOLS / "measures_page.py"))[
    "filled"
]


def refused_steps() -> dict[str, str]:
    """Steps that are refused, by name, and when: always, or as their span says."""
    refused = {}
    for name, step in registry.family("steps").items():
        span: Any = inspect.getattr_static(step, "span")
        if span is inspect.getattr_static(Step, "span"):
            refused[name] = "always"
        elif "Span.TABLE" in inspect.getsource(span.fget):
            refused[name] = (inspect.getdoc(span) or "").lower()
        elif "Span.TABLE" in inspect.getsource(step.span_in) and step.span_in is not Step.span_in:
            refused[name] = " ".join((inspect.getdoc(step.span_in) or "").lower().split())
    return refused


def refused_models() -> dict[str, str]:
    """Promises that are refused, by name, and what they are about."""
    refused = {}
    for name, model in registry.family("models").items():
        columns = {
            field: "diagnosis" for field in required_fields(model) if not is_number(model, field)
        }
        example, _ = weakest(model, PARAMETERS.get(name, columns))
        subjects = list(needing_records(example.needs(EXAMPLE)))
        if subjects:
            refused[name] = subjects[0].removeprefix("promises about ")
    return refused


def refusals() -> str:
    """What an engine refuses, as lists: steps, promises and options."""
    steps = refused_steps()
    always = ", ".join(f"`{name}`" for name, when in steps.items() if when == "always")
    lines = [f"Steps that work on all records at once: {always}.", ""]
    lines += ["Steps that do so in some of their forms, and otherwise work", ""]
    lines += [f"- `{name}` {when}" for name, when in steps.items() if when != "always"]
    lines += ["", "Promises that need every record beside its original:", ""]
    lines += [f"- `{name}`, about {subject}" for name, subject in refused_models().items()]
    lines += ["", "Of a run:", ""]
    lines += [f"- {option}: {reason}" for option, reason in OPTIONS.items()]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with its list of refusals as it should be."""
    return filled(text, {"refusals": refusals()})


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
