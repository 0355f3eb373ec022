"""Our own form of a policy: the nouns as JSON, strictly read, with a published JSON Schema.

::

    {"sfumato_policy": 1, "name": "study", "purposes": [{"name": "research", "data": [
        {"name": "age", "group": "QID", "categories": ["demographic"],
         "anonymization": {"minimum": 1, "maximum": 2, "hierarchy": [["25", "20-30", "<50"]]}}],
      "models": [{"name": "k-Anonymity", "parameters": [["k", "3"]]}]}]}
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sfumato.policy.dialects import Dialect
from sfumato.policy.documents import ROOT, Document, Findings, PolicyError, Tree, TreeView, as_json
from sfumato.policy.policy import Policy

MARK = "sfumato_policy"
VERSION = 1


@cache
def _adapter() -> TypeAdapter[Policy]:
    from pydantic import TypeAdapter

    return TypeAdapter(Policy)


def read_ours(document: Document, findings: Findings) -> Policy:
    """The policy of a document of ours; every wrong field is a finding with its line."""
    tree = dict(document.tree)
    version = tree.pop(MARK, None)
    if version != VERSION or isinstance(version, bool):
        findings.fail(
            "unknown_version",
            f"{ROOT}.{MARK}",
            f"this sfumato reads policies of version {VERSION}; install a matching version",
        )
    try:
        return _adapter().validate_json(json.dumps(tree), strict=True)
    except ValidationError as error:
        for issue in error.errors(include_url=False, include_input=False, include_context=False):
            path = _path(issue["loc"])
            findings.error("wrong_field", path, issue["msg"], document.line(path))
        raise PolicyError(findings.errors, document.name) from None


def _path(location: tuple[int | str, ...]) -> str:
    return ROOT + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


def to_ours(policy: Policy) -> Tree:
    """A policy in our own form; what has its default value is left out.

    >>> to_ours(Policy("study"))
    {'sfumato_policy': 1, 'name': 'study'}
    """
    return {MARK: VERSION, **plain_noun(policy)}


def plain_noun(noun: Any) -> Any:
    """A noun as plain data without its default values."""
    if isinstance(noun, tuple):
        return [plain_noun(part) for part in noun]
    if isinstance(noun, datetime.date):
        return noun.isoformat()
    if isinstance(noun, StrEnum):
        return str(noun)
    if not dataclasses.is_dataclass(noun):
        return noun
    return {
        field.name: plain_noun(value)
        for field in dataclasses.fields(noun)
        if (value := getattr(noun, field.name)) != _default(field)
    }


def _default(field: dataclasses.Field[Any]) -> Any:
    factory: Any = field.default_factory
    if factory is not dataclasses.MISSING:
        return factory()
    return field.default


def json_schema() -> Tree:
    """The JSON Schema (draft 2020-12) of our own form.

    >>> json_schema()["required"]
    ['sfumato_policy', 'name']
    """
    schema = _adapter().json_schema()
    schema["properties"] = {MARK: {"const": VERSION, "title": "Version"}, **schema["properties"]}
    schema["required"] = [MARK, *schema["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "sfumato policy",
    }


class Ours(Dialect):
    """Our own form, marked by its version."""

    name = "ours"
    title = "sfumato"
    writable = True

    def speaks(self, tree: TreeView) -> bool:
        """Whether the version is there."""
        return MARK in tree

    def policy(self, document: Document, findings: Findings) -> Policy:
        """What :func:`read_ours` reads."""
        return read_ours(document, findings)

    def text(self, policy: Policy) -> str:
        """What :func:`to_ours` writes, as JSON."""
        return as_json(to_ours(policy))
