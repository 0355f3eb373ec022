"""JSON documents with the line of every value, bounded in size and depth."""

from __future__ import annotations

import bisect
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import UnreadableInput
from sfumato.policy.findings import Findings

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 60
"""More than any policy nests; deeper documents are refused before anything walks them."""
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
ROOT = "$"


@dataclasses.dataclass(frozen=True)
class Document:
    """A parsed document: the tree, and where its parts stand in the text."""

    tree: Any
    name: str
    text: str = ""
    places: Mapping[str, int] | None = None

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """Path → line; worked out when somebody asks, since most documents have no findings."""
        return dict(_json_lines(self.text)) if self.places is None else self.places

    def line(self, path: str) -> int | None:
        """The line of a path, or of the nearest part around it that has one."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[: max(path.rfind("."), path.rfind("["))] if path != ROOT else ""
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
        raise UnreadableInput(f"{name} is larger than {MAX_BYTES // 1024 // 1024} MB; that is no policy")


def read_json(text: str, name: str, findings: Findings) -> Document:
    """Parse JSON; a key that occurs twice is a finding, since readers disagree on which one counts."""
    require_small(text, name)
    repeated: list[str] = []

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [key for key, _ in pairs]
            repeated.extend(sorted({key for key in names if names.count(key) > 1}))
        return made

    try:
        tree = json.loads(text, object_pairs_hook=mapping, parse_constant=_no_constant)
    except RecursionError:
        raise UnreadableInput(f"{name} is nested too deeply; that is no policy") from None
    except json.JSONDecodeError as error:
        raise UnreadableInput(f"{name}, line {error.lineno}: this is not valid JSON ({error.msg})") from None
    except ValueError:
        raise UnreadableInput(f"{name} holds a number that JSON does not have") from None
    require_shallow(tree, name)
    for key in repeated:
        findings.error("duplicate_key", ROOT, f"the key {key!r} stands twice in one object; keep one of them")
    return Document(tree, name, text)


def require_shallow(tree: Any, name: str) -> None:
    """Refuse a document that nests deeper than any policy."""
    layer: list[Any] = [tree]
    for _ in range(MAX_DEPTH):
        layer = [below for node in layer for below in _below(node)]
        if not layer:
            return
    raise UnreadableInput(f"{name} is nested more than {MAX_DEPTH} levels deep; that is no policy")


def _below(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _json_lines(text: str) -> Iterator[tuple[str, int]]:
    """Every path of a valid JSON text with its line."""
    ends = [i for i, character in enumerate(text) if character == "\n"]
    stack: list[list[Any]] = []  # [path, position in a list or None, key of a mapping, whether a key comes next]
    for found in TOKEN.finditer(text):
        word = found.group()
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
            yield path, bisect.bisect_left(ends, found.start()) + 1
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
    return f"{part[0]}.{part[2]}" if part[1] is None else f"{part[0]}[{part[1]}]"
