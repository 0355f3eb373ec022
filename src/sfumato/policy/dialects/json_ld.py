"""Just enough of JSON-LD to read policies: names under known prefixes, references within the document, nothing fetched."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.policy.documents import ROOT, Document, Findings

PREFIXES = {
    "dpv": "https://w3id.org/dpv#",
    "pd": "https://w3id.org/dpv/pd#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "sf": "urn:sfumato:vocabulary#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "dct": "http://purl.org/dc/terms/",
}
REMOTE = {
    "http://www.w3.org/ns/odrl.jsonld": "odrl",
    "https://w3id.org/dpv/dpv.jsonld": "dpv",
    "https://w3id.org/dpv": "dpv",
}


@dataclasses.dataclass(frozen=True)
class Ref:
    """Something that is named, here or elsewhere."""

    id: str


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """Something a document describes: its name, its types, and its properties under short names."""

    id: str
    types: tuple[str, ...]
    properties: Mapping[str, tuple[Any, ...]]
    path: str


class Graph:
    """The nodes of a document by their names."""

    def __init__(self, document: Document, findings: Findings) -> None:
        self.document, self.findings = document, findings
        self.prefixes = dict(PREFIXES)
        self.terms: dict[str, str] = {}
        self.vocabulary: str | None = None
        self.nodes: dict[str, Node] = {}
        tree = document.tree
        self._context(tree.get("@context"))
        graph = tree.get("@graph")
        tops = graph if isinstance(graph, list) else [tree]
        for i, top in enumerate(tops):
            if isinstance(top, Mapping):
                self._node(top, f"{ROOT}.@graph[{i}]" if isinstance(graph, list) else ROOT)

    def of_type(self, *types: str) -> list[Node]:
        """The nodes of some types, in their order."""
        return [node for node in self.nodes.values() if set(types) & set(node.types)]

    def values(self, node: Node, *names: str) -> Iterator[Any]:
        """The values of some properties; references to nodes of the document become these nodes."""
        for name in names:
            for value in node.properties.get(name, ()):
                yield self.nodes.get(value.id, value) if isinstance(value, Ref) else value

    def names(self, node: Node, *properties: str) -> tuple[str, ...]:
        """The short names of what some properties lead to: of the class where a node is described, of the value otherwise."""
        return tuple(name for value in self.values(node, *properties) if (name := self.name_of(value)))

    def name_of(self, value: Any) -> str:
        """The short name of a value."""
        if isinstance(value, Node):
            return value.types[0] if value.types else value.id
        return value.id if isinstance(value, Ref) else str(value)

    def _context(self, context: Any) -> None:
        for part in context if isinstance(context, list) else [context]:
            if isinstance(part, str):
                if part.rstrip("/") in REMOTE:
                    self.vocabulary = REMOTE[part.rstrip("/")]
                else:
                    told = "this context is not fetched; only names with known prefixes are understood"
                    self.findings.note("remote_context", f"{ROOT}.@context", told)
            elif isinstance(part, Mapping):
                self._definitions(part)

    def _definitions(self, definitions: Mapping[str, Any]) -> None:
        for term, meaning in definitions.items():
            target = meaning.get("@id") if isinstance(meaning, Mapping) else meaning
            if term == "@vocab" and isinstance(target, str):
                self.vocabulary = next((p for p, iri in PREFIXES.items() if iri == target), None)
            elif isinstance(target, str) and target[-1:] in ("#", "/", ":"):
                self.prefixes[term] = target
            elif isinstance(target, str):
                self.terms[term] = self.short(target)

    def short(self, name: str) -> str:
        """A name under a known prefix, whatever form it is written in."""
        if name in self.terms:
            return self.terms[name]
        prefix, colon, local = name.partition(":")
        full = self.prefixes[prefix] + local if colon and prefix in self.prefixes else name
        for known, iri in PREFIXES.items():
            if full.startswith(iri):
                return f"{known}:{full.removeprefix(iri)}"
        if not colon and self.vocabulary and not name.startswith("@"):
            return f"{self.vocabulary}:{name}"
        return full

    def _node(self, tree: Mapping[str, Any], path: str) -> Ref:
        said = tree.get("@id", tree.get("uid", tree.get("id")))
        name = self.short(said) if isinstance(said, str) else f"_:{len(self.nodes)}"
        self.nodes.setdefault(name, Node(name, (), {}, path))
        types = tree.get("@type", tree.get("type", []))
        properties = {
            self.short(str(key)): tuple(self._value(v, f"{path}.{key}") for v in _listed(value))
            for key, value in tree.items()
            if not str(key).startswith("@") and key not in ("uid", "id", "type")
        }
        listed = types if isinstance(types, list) else [types]
        kinds = tuple(self.short(t) for t in listed if isinstance(t, str))
        self.nodes[name] = Node(name, kinds, properties, path)
        return Ref(name)

    def _value(self, value: Any, path: str) -> Any:
        if isinstance(value, Mapping):
            if "@value" in value:
                return value["@value"]
            if set(value) == {"@id"} and isinstance(value["@id"], str):
                return Ref(self.short(value["@id"]))
            return self._node(value, path)
        if isinstance(value, str) and (":" in value or (self.vocabulary and value.isidentifier())):
            return Ref(self.short(value))
        return value


def _listed(value: Any) -> list[Any]:
    """The values of a property, one or many."""
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("@list", "@set"):
        value = next(iter(value.values()))
    return value if isinstance(value, list) else [value]
