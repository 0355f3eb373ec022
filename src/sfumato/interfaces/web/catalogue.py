"""What can be added to a recipe: every member of a family in one line, under headings, ours and
those of plug-ins.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from typing import Any

from sfumato.core import registry
from sfumato.core.metric import Utility
from sfumato.interfaces.web.forms import form_of

AGAINST = {
    "identity": "Who can be recognised",
    "both": "Who can be recognised and what can be learned about them",
    "attribute": "What can be learned about somebody",
    "membership": "Who is in the table",
}
OURS = "sfumato."
GREEK = {"alpha": "α", "beta": "β", "delta": "δ", "epsilon": "ε", "ge": "≥", "le": "≤", "cdot": "·"}


@dataclasses.dataclass(frozen=True)
class CatalogueEntry:
    """Something that can be added: its name in a recipe, as it is said, one line about it, and its
    heading.
    """

    name: str
    title: str
    line: str
    group: str


def catalogue(family: str) -> tuple[CatalogueEntry, ...]:
    """All members of a family, group by group."""
    return _entries(family, tuple(registry.family(family)))


@cache
def _entries(family: str, names: tuple[str, ...]) -> tuple[CatalogueEntry, ...]:
    entries = [_entry(registry.family(family)[name]) for name in names]
    groups = list(dict.fromkeys([*AGAINST.values(), *(entry.group for entry in entries)]))
    return tuple(sorted(entries, key=lambda entry: groups.index(entry.group)))


def _entry(cls: Any) -> CatalogueEntry:
    description = registry.describe(cls)
    facts = description.get("facts")
    group = AGAINST[facts["against"]] if facts else _room(cls.__module__)
    if isinstance(cls, type) and issubclass(cls, Utility):
        title = cls.title
    else:
        title = title_of(cls.name)
    return CatalogueEntry(cls.name, title, meaning_of(cls), group)


def _room(module: str) -> str:
    """The room of a step, in words: ``sfumato.methods.steps.masking.noise`` is masking."""
    parts = module.split(".")
    if not module.startswith(OURS):
        return "From plug-ins"
    if len(parts) > 3:
        return parts[2].replace("_", " ").capitalize()
    return "All"


def title_of(name: str) -> str:
    """A name as a heading says it.

    >>> title_of("k_anonymity"), title_of("global_recoding")
    ('k-anonymity', 'Global recoding')
    """
    words = name.split("_")
    if all(len(word) == 1 for word in words[:-1]) and len(words) > 1:
        return "-".join(words)
    if len(words[0]) == 1:
        return " ".join(words)
    return " ".join(words).capitalize()


def kind_title(cls: Any) -> str:
    """What people call a kind of hierarchy; one of a plug-in may have its name only."""
    return cls.title or title_of(cls.name)


def meaning_of(cls: Any) -> str:
    """The sentence that says what something is for, without markup.

    >>> meaning_of(registry.family("models")["k_anonymity"]).startswith("Every")
    True
    """
    first = registry.describe(cls)["doc"].split("\n\n")[0].replace("\n", " ")
    plain = re.sub(r":[a-z:]+:`~?([^`]*)`", lambda match: match[1].split(".")[-1], first)
    plain = re.sub(r"\\([a-z]+)", lambda match: GREEK.get(match[1], match[1]), plain)
    return re.sub(r"\s+", " ", plain.replace("``", "").replace("*", "")).strip()


def summary_of(method: Any) -> str:
    """What is set about something, in a few words: only numbers, switches, choices and names of
    columns.

    >>> from sfumato.methods.steps import GlobalRecoding
    >>> summary_of(GlobalRecoding(budget=0.05))
    'budget 5 %'
    """
    settings = []
    for field in form_of(method):
        if field.value == field.default or field.kind in ("text", "texts", "yaml", "mapping"):
            continue
        if field.kind == "switch":
            settings.append(field.label if field.value else f"not {field.label}")
        elif field.kind == "columns":
            settings.append(f"{field.label} {', '.join(field.selection)}")
        else:
            settings.append(f"{field.label} {field.text}{' %' if field.kind == 'share' else ''}")
    return ", ".join(settings)


def sentence_of(name: str, field: Any, method: Any) -> str:
    """What an edit did, in one sentence without a data value: lists, texts and mappings are only
    said to be changed.
    """
    now = next(candidate for candidate in form_of(method) if candidate.name == field.name)
    title = title_of(name)
    if now.kind in ("text", "texts", "yaml", "mapping", "path") or now.value is None:
        return f"{title}: {now.label} changed"
    if now.kind == "switch":
        return f"{title}: {now.label} {'on' if now.value else 'off'}"
    if now.kind in ("columns", "column", "many"):
        value = ", ".join(now.selection)
    else:
        value = now.text
    return f"{title}: {now.label} = {value}{' %' if now.kind == 'share' else ''}"
