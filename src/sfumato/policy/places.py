"""A place in a document: reads what is expected there and notes what is not, so that one reader fits many dialects."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sfumato.policy.documents import ROOT, Document
from sfumato.policy.findings import Findings

TRUE = ("true", "yes", "1")
FALSE = ("false", "no", "0", "")


@dataclasses.dataclass(frozen=True)
class Place:
    """One value of a document with its path. Getters return a harmless default and leave a finding."""

    value: Any
    path: str
    document: Document
    findings: Findings

    @classmethod
    def root(cls, document: Document, findings: Findings) -> Place:
        """The whole document."""
        return cls(document.tree, ROOT, document, findings)

    def error(self, rule: str, message: str, below: str = "") -> None:
        """Note something that makes the policy unusable."""
        path = f"{self.path}.{below}" if below else self.path
        self.findings.error(rule, path, message, self.document.line(path))

    def warning(self, rule: str, message: str, below: str = "") -> None:
        """Note something that is probably not meant."""
        path = f"{self.path}.{below}" if below else self.path
        self.findings.warning(rule, path, message, self.document.line(path))

    def note(self, rule: str, message: str, below: str = "") -> None:
        """Note something that the reader should know."""
        path = f"{self.path}.{below}" if below else self.path
        self.findings.note(rule, path, message, self.document.line(path))

    def key(self, *names: str) -> str | None:
        """The first of some names that the mapping has, whatever its case."""
        if not isinstance(self.value, Mapping):
            return None
        lower = {str(key).lower(): str(key) for key in self.value}
        return next((lower[name.lower()] for name in names if name.lower() in lower), None)

    def at(self, *names: str) -> Place | None:
        """What stands under the first of some names; None where there is nothing, or null."""
        key = self.key(*names)
        if key is None or self.value[key] is None:
            return None
        return Place(self.value[key], f"{self.path}.{key}", self.document, self.findings)

    def text(self, *names: str, default: str = "") -> str:
        """Text, or a number written as one."""
        place = self.at(*names)
        if place is None:
            return default
        if isinstance(place.value, bool) or not isinstance(place.value, str | int | float):
            place.error("not_a_text", f"{names[0]} must be text")
            return default
        return str(place.value).strip()

    def name(self, what: str) -> str:
        """The name that everything of a kind must have."""
        found = self.value.strip() if isinstance(self.value, str) else self.text("name")
        if not found:
            self.error("name_missing", f"a {what} needs a name")
        return found

    def flag(self, *names: str, default: bool = False) -> bool:
        """True or false, also written as text."""
        place = self.at(*names)
        if place is None:
            return default
        if isinstance(place.value, bool):
            return place.value
        said = str(place.value).strip().lower()
        if said not in TRUE + FALSE:
            place.error("not_a_flag", f"{names[0]} must be true or false")
        return said in TRUE

    def items(self, name: str, single: str, *others: str) -> list[Place]:
        """The parts of a list: an array, or wrapped as ``name: {single: [...]}``; one part may stand without a list."""
        place = self.at(name, *others)
        if place is None or place.value in ("", [], {}):
            return []
        inner = place.at(single)
        if inner is not None and not isinstance(place.value, list):
            place = inner
        if isinstance(place.value, list):
            return [
                Place(part, f"{place.path}[{i}]", self.document, self.findings) for i, part in enumerate(place.value)
            ]
        if isinstance(place.value, Mapping | str):
            return [place]
        place.error("not_a_list", f"{name} must be a list")
        return []

    def pairs(self, name: str, single: str, *others: str) -> tuple[tuple[str, str], ...]:
        """A list of ``{key, value}``."""
        found = []
        for item in self.items(name, single, *others):
            key = item.text("key")
            if not key:
                item.error("key_missing", f"an attribute of {name} needs a key and a value")
            else:
                found.append((key, item.text("value")))
        return tuple(found)

    def texts(self, *names: str) -> tuple[tuple[str, str], ...]:
        """Titles and descriptions: ``[{lang, value}]``, or the older ``{label: [{lang, value}]}``."""
        return tuple((item.text("lang"), item.text("value")) for item in self.items(names[0], "label", *names[1:]))

    def only(self, *known: str) -> None:
        """Note what nobody reads, so that nothing is ignored in silence."""
        if not isinstance(self.value, Mapping):
            self.error("not_an_object", "an object with named parts is expected here")
            return
        lower = {name.lower() for name in known}
        for key in self.value:
            if str(key).lower() not in lower:
                self.note(
                    "not_read", f"{str(key)!r} is not part of the language as we read it and has no effect", str(key)
                )
