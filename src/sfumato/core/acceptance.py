"""What a recipe accepts: dangers of released columns that somebody looked at and takes on, with the
reason.

``accept:`` maps a column to what is accepted of it, one or a list of:

- ``{implies: age, because: "..."}``: the column tells more about a quasi-identifier than the
  quasi-identifier's released label does;
- ``text only``: values of it that a default CSV reader takes for one (``00501`` and ``501``) are
  distinguished by their text only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.fields import Document
from sfumato.core.schema import Role, Schema
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from sfumato.core.step import Step

TEXT_ONLY = "text only"
PAIR_KEYS = ("implies", "because")
EXAMPLE = "'open_credit_lines: {implies: num_accounts, because: \"…\"}' or 'postcode: text only'"


def _anything(value: object) -> Any:
    return value


@dataclasses.dataclass(frozen=True)
class ImpliedQuasi:
    """Accepted: a released column tells more about a quasi-identifier than its released label does;
    ``because`` is published.
    """

    column: str
    implies: str
    because: str

    def __post_init__(self) -> None:
        # a recipe file may hold anything there
        implies, because = (
            _anything(self.implies),
            _anything(self.because),
        )
        if not isinstance(implies, str) or not implies:
            raise ParameterError(
                "'implies' must name one quasi-identifier; for several, write a list of mappings"
            )
        if not isinstance(because, str) or not because.strip():
            raise ParameterError(
                "'because' must give the reason in words, like because: \"the recipient has both "
                'columns"'
            )

    def to_recipe(self) -> dict[str, str]:
        """What a recipe writes under the column."""
        return {"implies": self.implies, "because": self.because}


@dataclasses.dataclass(frozen=True)
class TextOnly:
    """Accepted: values of a column that a default CSV reader takes for one are distinguished by
    their text only.
    """

    column: str

    def to_recipe(self) -> str:
        """What a recipe writes under the column."""
        return TEXT_ONLY


Acceptance = ImpliedQuasi | TextOnly


def read_acceptances(section: object) -> tuple[Acceptance, ...]:
    """The acceptances that the section ``accept`` of a recipe holds.

    >>> read_acceptances(
    ...     {"zip": "text only", "lines": {"implies": "accounts", "because": "agreed"}}
    ... )
    (TextOnly(column='zip'), ImpliedQuasi(column='lines', implies='accounts', because='agreed'))
    """
    if section is None:
        return ()
    if not isinstance(section, Mapping):
        raise ParameterError(
            f"'accept' must map columns to what is accepted of them, like {EXAMPLE}"
        )
    accepted: list[Acceptance] = []
    for column, specs in section.items():
        if not isinstance(column, str):
            raise ParameterError("accept: a column name must be text")
        entries = specs if isinstance(specs, list | tuple) else [specs]
        if not entries:
            raise ParameterError(
                f"accept, column {column!r}: nothing is listed; say what is accepted, "
                f"like {EXAMPLE}"
            )
        accepted += [_read_one(column, spec) for spec in entries]
    return tuple(accepted)


def _read_one(column: str, spec: object) -> Acceptance:
    where = f"accept, column {column!r}"
    if spec == TEXT_ONLY:
        return TextOnly(column)
    if not isinstance(spec, Mapping):
        raise ParameterError(f"{where}: expected {EXAMPLE}")
    unknown = [str(key) for key in spec if key not in PAIR_KEYS]
    if unknown:
        raise ParameterError(
            f"{where}: {unknown[0]!r} is not known.{did_you_mean(unknown[0], PAIR_KEYS)}"
        )
    missing_keys = [key for key in PAIR_KEYS if key not in spec]
    if missing_keys:
        raise ParameterError(f"{where} lacks {join_words(missing_keys)}: write {EXAMPLE}")
    try:
        return ImpliedQuasi(column, spec["implies"], spec["because"])
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None


def write_acceptances(accepted: Iterable[Acceptance]) -> Document:
    """The section ``accept`` of a recipe, the inverse of :func:`read_acceptances`."""
    columns: dict[str, list[Any]] = {}
    for acceptance in accepted:
        columns.setdefault(acceptance.column, []).append(acceptance.to_recipe())
    return {column: specs[0] if len(specs) == 1 else specs for column, specs in columns.items()}


def acceptance_problems(
    accepted: Sequence[Acceptance], schema: Schema, steps: Sequence[Step] = ()
) -> list[str]:
    """Everything that does not fit the columns of a recipe: unknown columns, columns that are not
    released, pairs that are none.
    """
    claimed: set[str] = set()
    for step in steps:
        claimed.update(step.claims)
    problems: list[str] = []
    for index, acceptance in enumerate(accepted):
        problem = _problem(acceptance, schema, claimed)
        # Only what stands before is compared, so of two equal ones the second is reported.
        if problem is None and acceptance in accepted[:index]:
            problem = "the same entry is listed twice; keep one"
        if problem is None and isinstance(acceptance, ImpliedQuasi):
            pairs = [(a.column, a.implies) for a in accepted[:index] if isinstance(a, ImpliedQuasi)]
            if (acceptance.column, acceptance.implies) in pairs:
                problem = f"{acceptance.implies!r} is listed twice, with two reasons; keep one"
        if problem is not None:
            problems.append(f"accept, column {acceptance.column!r}: {problem}")
    return problems


def _problem(acceptance: Acceptance, schema: Schema, claimed: set[str]) -> str | None:
    columns, name = schema.attributes, acceptance.column
    if name not in columns:
        return f"the recipe has no such column.{did_you_mean(name, columns)}"
    # A direct identifier that a step claims is released as what the step makes of it.
    if columns[name].has(Role.DROP) and name not in claimed:
        return "its role is drop, so there is nothing to accept; delete the entry"
    if isinstance(acceptance, TextOnly):
        return None
    if columns[name].has(Role.QUASI):
        return (
            "it is a quasi-identifier itself; only other released columns are compared with "
            "quasi-identifiers, so delete the entry"
        )
    if columns[name].identifies:
        who = "it identifies persons or households, so it is renumbered and implies nothing"
        return f"{who}; delete the entry"
    if acceptance.implies not in columns:
        return (
            "the recipe has no column"
            f" {acceptance.implies!r}.{did_you_mean(acceptance.implies, schema.quasi)}"
        )
    if not columns[acceptance.implies].has(Role.QUASI):
        return (
            f"{acceptance.implies!r} is not a "
            f"quasi-identifier.{did_you_mean(acceptance.implies, schema.quasi)}"
        )
    return None


def accepted_pairs(accepted: Iterable[Acceptance]) -> dict[tuple[str, str], ImpliedQuasi]:
    """(released column, quasi-identifier) → the acceptance of that pair."""
    return {(a.column, a.implies): a for a in accepted if isinstance(a, ImpliedQuasi)}


def text_only_columns(accepted: Iterable[Acceptance]) -> set[str]:
    """Columns whose values may be distinguished by their text only."""
    return {a.column for a in accepted if isinstance(a, TextOnly)}
