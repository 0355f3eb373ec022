"""What is wrong with a policy: named findings with the place in the document, collected and told at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NoReturn

from sfumato.errors import RecipeError

Severity = Literal["error", "warning", "note"]
SHOWN = 20
"""Findings that an error message spells out."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is wrong or worth knowing.

    ``rule`` is its name (``cyclic_purposes``), ``path`` where it stands (``$.purposes[0].data[2]``), ``line`` the line of
    the file where that is known. The message names columns and purposes, never a value out of a hierarchy.
    """

    rule: str
    severity: Severity
    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        place = self.path if self.line is None else f"line {self.line}, {self.path}"
        return f"{self.severity} {self.rule} ({place}): {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return dataclasses.asdict(self)


class PolicyError(RecipeError):
    """A policy cannot be understood or contradicts itself; ``findings`` says where."""

    def __init__(self, findings: Iterable[Finding], name: str = "the policy") -> None:
        self.findings = tuple(findings)
        told = [f"{name}: {finding}" for finding in self.findings[:SHOWN]]
        left = len(self.findings) - SHOWN
        super().__init__([*told, f"{name}: {left} more findings"] if left > 0 else told)


class Findings:
    """Collects findings while a document is read or checked."""

    def __init__(self, name: str = "the policy") -> None:
        self.name = name
        self._found: dict[Finding, None] = {}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def error(self, rule: str, path: str, message: str, line: int | None = None) -> None:
        """Note something that makes the policy unusable."""
        self._add(Finding(rule, "error", path, message, line))

    def fail(self, rule: str, path: str, message: str, line: int | None = None) -> NoReturn:
        """Note something that ends the reading, and raise all errors found so far."""
        self.error(rule, path, message, line)
        raise PolicyError(self.errors, self.name)

    def warning(self, rule: str, path: str, message: str, line: int | None = None) -> None:
        """Note something that is probably not meant."""
        self._add(Finding(rule, "warning", path, message, line))

    def note(self, rule: str, path: str, message: str, line: int | None = None) -> None:
        """Note something that the reader should know."""
        self._add(Finding(rule, "note", path, message, line))

    def extend(self, findings: Iterable[Finding]) -> None:
        """Take over what somebody else found."""
        for finding in findings:
            self._add(finding)

    def _add(self, finding: Finding) -> None:
        self._found.setdefault(finding)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that make the policy unusable."""
        return tuple(f for f in self._found if f.severity == "error")

    def raise_errors(self) -> None:
        """Raise one error with all findings that make the policy unusable."""
        if self.errors:
            raise PolicyError(self.errors, self.name)
