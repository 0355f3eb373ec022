"""From a step's settings to pseudonyms: the one place that knows all methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from sfumato.core.encoding import SEPARATOR
from sfumato.core.vault import parts_of_identity
from sfumato.steps.pseudonyms_by.asked import Asked, refuse_shared
from sfumato.steps.pseudonyms_by.counter import counter
from sfumato.steps.pseudonyms_by.fake import fake
from sfumato.steps.pseudonyms_by.format_preserving import format_preserving
from sfumato.steps.pseudonyms_by.keyed import keyed
from sfumato.steps.pseudonyms_by.random_table import random_table
from sfumato.steps.pseudonyms_by.unkeyed_hash import WARNING, unkeyed_hash

if TYPE_CHECKING:
    from sfumato.steps.pseudonyms import Pseudonymize

Method = Literal["keyed", "counter", "random_table", "format_preserving", "fake", "unkeyed_hash"]
KEYED = frozenset({"keyed", "format_preserving", "fake"})
CODED = frozenset({"keyed", "random_table"})
LENGTH = 16


@dataclasses.dataclass(frozen=True, repr=False)
class Made:
    """Pseudonyms of the fresh identities, in their order, and what whoever runs the recipe must know of them."""

    codes: Sequence[str]
    warnings: tuple[str, ...] = ()


def made_by(step: Pseudonymize, asked: Asked) -> Made:
    """Pseudonyms as a step asks for them."""
    length, encoding = step.length or LENGTH, step.encoding or "base32"
    if step.method == "keyed":
        return Made(keyed(asked, encoding, length))
    if step.method == "random_table":
        return Made(random_table(asked, encoding, length))
    if step.method == "counter":
        return Made(counter(asked))
    if step.method == "format_preserving":
        return _of_form(asked)
    return _fakes(step, asked) if step.method == "fake" else _hashes(step, asked)


def _values(asked: Asked) -> list[str]:
    """The values themselves, of identities that are one column's; combined ones as they are hashed."""
    return [text[1:] if SEPARATOR not in text else _value(text) for text in asked.fresh]


def _value(text: str) -> str:
    parts = parts_of_identity(text)
    return text if len(parts) > 1 or parts[0] is None else parts[0]


def _of_form(asked: Asked) -> Made:
    values = _values(asked)
    codes = format_preserving(values, asked.key, asked.domain)
    refuse_shared(codes, asked.known, "the vault was begun with another key; use another domain")
    kept = sum(code == value for code, value in zip(codes, values, strict=True))
    told = f"{kept:,} values are their own pseudonyms: forms with few digits and letters have few values to choose from"
    return Made(codes, (told,) if kept else ())


def _fakes(step: Pseudonymize, asked: Asked) -> Made:
    codes = fake(asked, step.kind or "name", step.locale or "en_US", one_each=step.vault is not None)
    shared = len(codes) - len(set(codes))
    real = len(set(codes) & set(_values(asked)))
    told = []
    if shared:
        told.append(f"{shared:,} people share a fake with another; a vault gives everyone a fake of their own")
    if real:
        told.append(f"{real:,} fakes are also true values of the table; they belong to others by chance")
    return Made(codes, tuple(told))


def _hashes(step: Pseudonymize, asked: Asked) -> Made:
    algorithm = step.algorithm or "sha256"
    codes, came_so = unkeyed_hash(_values(asked), algorithm)
    refuse_shared(codes, {}, "use 'method: keyed'")
    told = WARNING.format(algorithm=algorithm)
    return Made(codes, (f"the column came hashed and is left as it is; {told}" if came_so else told,))
