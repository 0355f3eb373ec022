"""JSON documents with the line of every value, bounded in size and depth."""

from __future__ import annotations

import bisect
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn

from sfumato.errors import RecipeError, UnreadableInput

# What is wrong with a policy: named findings with the place in the document, collected and told at
# once.

# A mapping of a JSON document, as it is read and written.
Tree = dict[str, Any]
TreeView = Mapping[str, Any]
Severity = Literal["error", "warning", "note"]
# Findings that an error message spells out.
SHOWN = 20


@dataclasses.dataclass(frozen=True)
class Remark:
    """One thing that is wrong or worth knowing.

    ``rule`` is its name (``cyclic_purposes``), ``path`` where it stands
    (``$.purposes[0].data[2]``), ``line`` the line of the file where that is known. The message
    names columns and purposes, never a value out of a hierarchy.
    """

    rule: str
    severity: Severity
    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        if self.line is None:
            position = self.path
        else:
            position = f"line {self.line}, {self.path}"
        return f"{self.severity} {self.rule} ({position}): {self.message}"

    def to_dict(self) -> Tree:
        """The finding as plain data."""
        return dataclasses.asdict(self)


class PolicyError(RecipeError):
    """A policy cannot be understood or contradicts itself; ``findings`` says where."""

    def __init__(self, findings: Iterable[Remark], name: str = "the policy") -> None:
        self.findings = tuple(findings)
        lines = [f"{name}: {finding}" for finding in self.findings[:SHOWN]]
        hidden = len(self.findings) - SHOWN
        super().__init__([*lines, f"{name}: {hidden} more findings"] if hidden > 0 else lines)


class Findings:
    """Collects findings while a document is read or checked."""

    def __init__(self, name: str = "the policy") -> None:
        self.name = name
        self._found: dict[Remark, None] = {}

    def __iter__(self) -> Iterator[Remark]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def error(self, rule: str, path: str, message: str, line: int | None = None) -> None:
        """Note something that makes the policy unusable."""
        self._add(Remark(rule, "error", path, message, line))

    def fail(self, rule: str, path: str, message: str, line: int | None = None) -> NoReturn:
        """Note something that ends the reading, and raise all errors found so far."""
        self.error(rule, path, message, line)
        raise PolicyError(self.errors, self.name)

    def warning(self, rule: str, path: str, message: str, line: int | None = None) -> None:
        """Note something that is probably not meant."""
        self._add(Remark(rule, "warning", path, message, line))

    def note(self, rule: str, path: str, message: str, line: int | None = None) -> None:
        """Note something that the reader should know."""
        self._add(Remark(rule, "note", path, message, line))

    def extend(self, findings: Iterable[Remark]) -> None:
        """Take over what somebody else found."""
        for finding in findings:
            self._add(finding)

    def _add(self, finding: Remark) -> None:
        self._found.setdefault(finding)

    @property
    def errors(self) -> tuple[Remark, ...]:
        """The findings that make the policy unusable."""
        return tuple(f for f in self._found if f.severity == "error")

    def raise_errors(self) -> None:
        """Raise one error with all findings that make the policy unusable."""
        if self.errors:
            raise PolicyError(self.errors, self.name)


MAX_BYTES = 16 * 1024 * 1024
# More than any policy nests; deeper documents are refused before anything walks them.
MAX_DEPTH = 60
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
ROOT = "$"


@dataclasses.dataclass(frozen=True)
class Document:
    """A parsed document: the tree, and where its parts stand in the text."""

    tree: Any
    name: str
    text: str = ""
    line_numbers: Mapping[str, int] | None = None

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """Path → line; worked out when somebody asks, since most documents have no findings."""
        if self.line_numbers is None:
            return dict(_json_lines(self.text))
        return self.line_numbers

    def line(self, path: str) -> int | None:
        """The line of a path, or of the nearest part around it that has one."""
        while path:
            if path in self.lines:
                return self.lines[path]
            if path == ROOT:
                break
            path = path[: max(path.rfind("."), path.rfind("["))]
        return None


def read_text(path: Path) -> str:
    """The text of a policy file."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)  # a device never ends
        require_small(data, str(path))
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableInput(f"{path} is not UTF-8 text; save the policy as UTF-8") from None
    except OSError as error:
        raise UnreadableInput(f"cannot read the policy {path}: {error.strerror}") from None


def require_small(text: str | bytes, name: str) -> None:
    """Refuse a text that no policy needs."""
    if len(text) > MAX_BYTES:
        raise UnreadableInput(
            f"{name} is larger than {MAX_BYTES // 1024 // 1024} MB and cannot be a "
            "policy; check the path"
        )


def read_json(text: str, name: str, findings: Findings) -> Document:
    """Parse JSON; a key that occurs twice is a finding, since readers disagree on which one
    counts.
    """
    require_small(text, name)
    repeated: list[str] = []

    def mapping(pairs: list[tuple[str, Any]]) -> Tree:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            repeated.extend(
                sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            )
        return entries

    try:
        tree = json.loads(text, object_pairs_hook=mapping, parse_constant=_no_constant)
    except RecursionError:
        raise UnreadableInput(f"{name} is nested too deeply and cannot be a policy") from None
    except json.JSONDecodeError as error:
        raise UnreadableInput(
            f"{name}, line {error.lineno}: this is not valid JSON ({error.msg})"
        ) from None
    except ValueError:
        raise UnreadableInput(f"{name} holds a number that JSON does not allow") from None
    require_shallow(tree, name)
    for key in repeated:
        findings.error(
            "duplicate_key", ROOT, f"the key {key!r} is twice in one object; keep one of them"
        )
    return Document(tree, name, text)


def as_json(tree: object) -> str:
    """Plain data as indented JSON text."""
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def require_mapping(document: Document, findings: Findings) -> None:
    """Refuse a document that is a list or a mere value."""
    if not isinstance(document.tree, Mapping):
        findings.fail("unknown_dialect", ROOT, "a policy must be an object with named parts", 1)


def require_shallow(tree: object, name: str) -> None:
    """Refuse a document that nests deeper than any policy."""
    layer = [tree]
    for _ in range(MAX_DEPTH):
        layer = [below for node in layer for below in _below(node)]
        if not layer:
            return
    raise UnreadableInput(
        f"{name} is nested more than {MAX_DEPTH} levels deep and cannot be a policy"
    )


def _below(node: object) -> list[object]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)


def _json_lines(text: str) -> Iterator[tuple[str, int]]:
    """Every path of a valid JSON text with its line.

    Not read by ruamel, which knows lines too: it refuses valid JSON (a key of more than 1024
    characters, a colon on the next line) and takes 27 times as long, minutes for the largest
    document.
    """
    ends = [i for i, character in enumerate(text) if character == "\n"]
    stack: list[
        list[Any]
    ] = []  # [path, position in a list or None, key of a mapping, whether a key comes next]
    for token in TOKEN.finditer(text):
        word = token.group()
        top = stack[-1] if stack else None
        if word in "}]":
            stack.pop()
        elif word == ",":
            _next_part(stack[-1])
        elif word == ":":
            stack[-1][3] = False
        elif top is not None and top[3]:
            top[2] = json.loads(word)
        else:
            path = _path_of(top)
            yield path, bisect.bisect_left(ends, token.start()) + 1
            if word in "{[":
                stack.append([path, None if word == "{" else 0, "", word == "{"])


def _next_part(part: list[Any]) -> None:
    if part[1] is None:
        part[3] = True
    else:
        part[1] += 1


def _path_of(part: list[Any] | None) -> str:
    if part is None:
        return ROOT
    if part[1] is None:
        return f"{part[0]}.{part[2]}"
    return f"{part[0]}[{part[1]}]"


# A place in a document: reads what is expected there and notes what is not, so that one reader fits
# many dialects.

TRUE = ("true", "yes", "1")
FALSE = ("false", "no", "0", "")


@dataclasses.dataclass(frozen=True)
class Place:
    """One value of a document with its path. Getters return a harmless default and leave a
    finding.
    """

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
        node = self.at(*names)
        if node is None:
            return default
        if isinstance(node.value, bool) or not isinstance(node.value, str | int | float):
            node.error("not_a_text", f"{names[0]} must be text")
            return default
        return str(node.value).strip()

    def name(self, kind: str) -> str:
        """The name that everything of a kind must have."""
        if isinstance(self.value, str):
            name = self.value.strip()
        else:
            name = self.text("name")
        if not name:
            self.error("name_missing", f"a {kind} needs a name")
        return name

    def flag(self, *names: str, default: bool = False) -> bool:
        """True or false, also written as text."""
        node = self.at(*names)
        if node is None:
            return default
        if isinstance(node.value, bool):
            return node.value
        text = str(node.value).strip().lower()
        if text not in TRUE + FALSE:
            node.error("not_a_flag", f"{names[0]} must be true or false")
        return text in TRUE

    def items(self, name: str, single: str, *synonyms: str) -> list[Place]:
        """The parts of a list: an array, or wrapped as ``name: {single: [...]}``; one part may
        stand without a list.
        """
        node = self.at(name, *synonyms)
        if node is None or node.value in ("", [], {}):
            return []
        inner = node.at(single)
        if inner is not None and not isinstance(node.value, list):
            node = inner
        if isinstance(node.value, list):
            return [
                Place(part, f"{node.path}[{i}]", self.document, self.findings)
                for i, part in enumerate(node.value)
            ]
        if isinstance(node.value, Mapping | str):
            return [node]
        node.error("not_a_list", f"{name} must be a list")
        return []

    def pairs(self, name: str, single: str, *synonyms: str) -> tuple[tuple[str, str], ...]:
        """A list of ``{key, value}``."""
        pairs = []
        for item in self.items(name, single, *synonyms):
            key = item.text("key")
            if not key:
                item.error("key_missing", f"an attribute of {name} needs a key and a value")
            else:
                pairs.append((key, item.text("value")))
        return tuple(pairs)

    def texts(self, *names: str) -> tuple[tuple[str, str], ...]:
        """Titles and descriptions: ``[{lang, value}]``, or the older
        ``{label: [{lang, value}]}``.
        """
        return tuple(
            (item.text("lang"), item.text("value"))
            for item in self.items(names[0], "label", *names[1:])
        )

    def only(self, *names: str) -> None:
        """Note what nobody reads, so that nothing is ignored in silence."""
        if not isinstance(self.value, Mapping):
            self.error("not_an_object", "an object with named parts is expected here")
            return
        lower = {name.lower() for name in names}
        for key in self.value:
            if str(key).lower() not in lower:
                self.note(
                    "not_read",
                    f"{str(key)!r} is not a supported part of the language and has no effect",
                    str(key),
                )
