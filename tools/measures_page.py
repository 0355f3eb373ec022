"""Write what the registry knows of risks, attacks and utilities into their pages:
``python tools/measures_page.py``.

Every one goes into docs/reference/measures.md; who tries which attack into docs/how_to/risk.md, and the list of
metrics into docs/how_to/utility.md.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.core import registry
from sfumato.core.attack import Attack
from sfumato.core.choices import required_fields
from sfumato.interfaces.cli.docstring_text import simple_table
from sfumato.release.intruders import BATTERY

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "measures.md"
GUIDES = PAGE.parents[1] / "how_to"
MATH = re.compile(r"^\.\. math::(.*?)(?=\n\n\S|\Z)", re.DOTALL | re.MULTILINE)
ELSEWHERE = re.compile(r"See :func:`(?P<home>sfumato[\w.]*)\.(?P<name>\w+)`[^.;]*(?:[.;]|$)")


def is_attack(cls: type) -> bool:
    """Whether somebody tries something, rather than classes being counted."""
    return issubclass(cls, Attack)


SECTIONS: dict[str, Callable[[], dict[str, type]]] = {
    "risks": lambda: {n: c for n, c in registry.family("risk").items() if not is_attack(c)},
    "attacks": lambda: {n: c for n, c in registry.family("risk").items() if is_attack(c)},
    "utility": lambda: registry.family("utility"),
}


def section(name: str) -> str:
    """One entry a measure: name and class, meaning, formula, caveats, parameters."""
    package = "methods.attacks.file_risks" if name == "risks" else f"methods.{name}"
    return "\n".join(entry(cls, package) for cls in SECTIONS[name]().values())


def entry(cls: Any, package: str) -> str:
    """A measure as its docstring tells it; where that leaves the formula to a function, as the
    function tells it.
    """
    better = f", {cls.better} is better" if getattr(cls, "better", None) else ""
    doc = inspect.getdoc(cls) or ""
    told = [
        text_of(ELSEWHERE.sub("", doc)),
        *(text_of(inspect.getdoc(f) or "") for f in referred(doc)),
    ]
    home = f"In Python `sfumato.{package}.{cls.__name__}`{better}."
    return "\n\n".join([f"### `{cls.name}`", home, *told, parameters(cls)]).rstrip() + "\n"


def referred(doc: str) -> list[Any]:
    """The functions that a docstring leaves the definition to."""
    return [getattr(importlib.import_module(m["home"]), m["name"]) for m in ELSEWHERE.finditer(doc)]


def text_of(doc: str) -> str:
    """A docstring as Markdown, without its examples."""
    before = re.split(r"^>>> ", doc, maxsplit=1, flags=re.MULTILINE)[0].strip()
    before = "\n\n".join(markdown_table(block) for block in before.split("\n\n"))
    text = MATH.sub(lambda m: f"$$\n{block(m[1])}\n$$", before)
    text = re.sub(r":math:`([^`]*)`", lambda m: f"${inline(m[1])}$", text)
    text = re.sub(r":[a-z]+:`~?([^`]*)`", lambda m: f"`{m[1].split('.')[-1]}`", text)
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    return re.sub(r"(?<![(<\w/])(https://\S+?|doi:(10\.\S+?))(?=[,.;)]*(?:\s|$))", link, text)


def markdown_table(block: str) -> str:
    """A table of a docstring as a Markdown table; any other text as it is."""
    rows = simple_table(block)
    if rows is None:
        return block
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def block(latex: str) -> str:
    """A formula on lines of its own, without what the pages cannot draw: signs of a given size,
    empty lines.
    """
    return re.sub(r"\\[Bb]igg?[lr]?(?![a-zA-Z])", "", re.sub(r"\s*\n\s*", "\n", latex.strip()))


def inline(latex: str) -> str:
    """A formula within a sentence, on one line."""
    return re.sub(r"\s*\n\s*", " ", latex)


def link(found: re.Match[str]) -> str:
    """A reference that can be followed."""
    doi = found[2] or (found[1].removeprefix("https://doi.org/") if "doi.org" in found[1] else None)
    return f"[doi:{doi}](https://doi.org/{doi})" if doi else f"<{found[1]}>"


def parameters(cls: type) -> str:
    """The parameters as a list; empty where there are none."""
    fields = registry.describe(cls)["fields"]
    lines = [
        f"- `{f['name']}`{' (required)' if f['required'] else ''}: {f['meaning']}" for f in fields
    ]
    return "\n".join(["Parameters:", "", *lines]) if lines else ""


def page(text: str) -> str:
    """The page of measures with all sections as they should be."""
    return filled(text, {name: section(name) for name in SECTIONS})


def metrics() -> str:
    """One row a utility metric: what reports call it and say of it, which way is better, what must
    be given.
    """
    rows = ["| name | is called | says | better | must be given |", "|---|---|---|---|---|"]
    for name, cls in registry.utility_metrics().items():
        given = ", ".join(f"`{field}`" for field in required_fields(cls))
        rows.append(f"| `{name}` | {cls.title} | {cls.line} | {cls.better} | {given} |")
    return "\n".join(rows) + "\n"


def intruders() -> str:
    """One row an intruder: what it knows and the attacks it tries, in turn."""
    rows = ["| intruder | who | tries |", "|---|---|---|"]
    for profile in BATTERY:
        tries = ", ".join(f"`{name}`" for name in profile.attacks)
        rows.append(f"| {profile.name} | {profile.story} | {tries} |")
    return "\n".join(rows) + "\n"


def filled(text: str, sections: Mapping[str, str]) -> str:
    """A page with the text between the marks of each section put in their place."""
    for name, inside in sections.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        text = before + begin + "\n" + inside + "\n" + end + rest.partition(end)[2]
    return text


PAGES: dict[Path, Callable[[str], str]] = {
    PAGE: page,
    GUIDES / "utility.md": lambda text: filled(text, {"metrics": metrics()}),
    GUIDES / "risk.md": lambda text: filled(text, {"intruders": intruders()}),
}


if __name__ == "__main__":
    for path, written in PAGES.items():
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
