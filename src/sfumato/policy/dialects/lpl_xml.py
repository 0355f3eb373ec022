"""The Layered Privacy Language as XML: the parts of a list are ``<item>``; read without DTDs and
entities.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from xml.sax import SAXException
from xml.sax.handler import ContentHandler
from xml.sax.saxutils import escape

from sfumato.errors import UnreadableInput
from sfumato.policy.dialects.lpl import Lpl, to_dialect_a
from sfumato.policy.documents import (
    MAX_DEPTH,
    ROOT,
    Document,
    Findings,
    require_mapping,
    require_small,
)
from sfumato.policy.policy import Policy

MAX_ELEMENTS = 500_000
ROOT_ELEMENT = "layeredPrivacyPolicy"


@dataclasses.dataclass
class _Open:
    """An element that is not closed yet."""

    path: str
    parts: list[tuple[str, Any]]
    text: list[str]
    items: int = 0

    def value(self) -> Any:
        text = "".join(self.text).strip()
        if not self.parts:
            return text
        if text:
            self.parts.append(("value", text))
        together: dict[str, list[Any]] = {}
        for name, value in self.parts:
            together.setdefault(name, []).append(value)
        if set(together) == {"item"}:
            return together["item"]
        return {
            name: values[0] if len(values) == 1 else values for name, values in together.items()
        }


class _TreeHandler(ContentHandler):
    """Builds the tree of dialect A, and remembers the line of every element. Attributes are read as
    elements are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}
        self.tree: Any = None
        self.open: list[_Open] = []
        self.locator: Any = None

    def setDocumentLocator(self, locator: Any) -> None:  # noqa: N802
        self.locator = locator

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802
        if len(self.open) >= MAX_DEPTH or len(self.lines) >= MAX_ELEMENTS:
            raise UnreadableInput(
                f"the XML has more than {MAX_DEPTH} levels or {MAX_ELEMENTS} elements and cannot "
                "be a policy"
            )
        path = self._path(name)
        self.lines[path] = self.locator.getLineNumber()
        attributes = [
            (key, attrs[key]) for key in attrs.getNames() if not key.startswith(("xmlns", "xsi:"))
        ]
        self.open.append(_Open(path, attributes, []))

    def endElement(self, name: str) -> None:  # noqa: N802
        closed = self.open.pop()
        if self.open:
            self.open[-1].parts.append((name, closed.value()))
        else:
            self.tree = closed.value()

    def characters(self, content: str) -> None:
        self.open[-1].text.append(content)

    def _path(self, name: str) -> str:
        if not self.open:
            return ROOT
        around = self.open[-1]
        if name == "item":
            around.items += 1
            return f"{around.path}[{around.items - 1}]"
        return f"{around.path}.{name}"


def read_xml(text: str, name: str) -> Document:
    """Parse XML into the tree of dialect A. DTDs, entities and external references are refused."""
    from defusedxml import sax
    from defusedxml.common import DefusedXmlException

    require_small(text, name)
    handler = _TreeHandler()
    try:
        sax.parseString(text.encode(), handler, forbid_dtd=True)
    except DefusedXmlException:
        raise UnreadableInput(
            f"{name} holds a DTD, an entity or an external reference; remove it"
        ) from None
    except SAXException as error:
        line = getattr(error, "getLineNumber", lambda: None)()
        raise UnreadableInput(f"{name}, line {line}: this is not well-formed XML") from None
    except (LookupError, UnicodeError, ValueError):
        raise UnreadableInput(
            f"{name} cannot be read as XML; save it as UTF-8 without a declared encoding"
        ) from None
    return Document(handler.tree, name, line_numbers=handler.lines)


def write_xml(tree: Any) -> str:
    """The tree of dialect A as XML."""
    return (
        "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *_element(ROOT_ELEMENT, tree, 0)])
        + "\n"
    )


def _element(name: str, value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    parts: list[str] = []
    if isinstance(value, list):
        for part in value:
            parts += _element("item", part, depth + 1)
    elif isinstance(value, dict):
        for key, below in value.items():
            parts += _element(key, below, depth + 1)
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return [f"{pad}<{name}>{escape(text)}</{name}>"]
    if parts:
        return [f"{pad}<{name}>", *parts, f"{pad}</{name}>"]
    return [f"{pad}<{name}/>"]


class LplXml(Lpl):
    """Dialect A as XML."""

    name = "lpl-xml"
    openings = ("<",)

    def document(self, text: str, name: str, findings: Findings) -> Document:
        """The tree of the elements."""
        document = read_xml(text.lstrip(), name)
        require_mapping(document, findings)
        return document

    def text(self, policy: Policy) -> str:
        """What :func:`write_xml` makes of dialect A."""
        return write_xml(to_dialect_a(policy))
