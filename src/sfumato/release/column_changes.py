"""What happened to every column of a table, in words."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.schema import Role
from sfumato.core.words import inflect
from sfumato.release.report.wording import RENUMBERED

if TYPE_CHECKING:
    from sfumato.core.step import Plan
    from sfumato.core.table import Table

AS_IT_IS = "released as it is"


@dataclasses.dataclass(frozen=True)
class ColumnChange:
    """What happened to one column, and why."""

    name: str
    roles: tuple[str, ...]
    action: str
    level: int | None
    top: int | None
    distinct_before: int
    distinct_after: int | None


def changes_of(
    original: Table, shared: Table, plans: Sequence[tuple[str, Plan]]
) -> tuple[ColumnChange, ...]:
    """What happened to every column, in words."""
    levels: dict[str, tuple[int, int]] = {}
    local: set[str] = set()
    masked: dict[str, list[str]] = {}
    blanks: Counter[str] = Counter()
    for _, plan in plans:
        told = plan.describe()
        for column, place in told.get("levels", {}).items():
            levels[column] = (place["level"], place["top"])
        local.update(told.get("columns", ()))
        blanks.update(told.get("suppressed_cells", {}))
        for column, words in told.get("masked", {}).items():
            masked.setdefault(column, []).append(words)
    known = [
        _change(name, original, shared, levels, blanks[name], local=name in local)
        for name in original.columns
    ]
    return (
        *(_with_masking(change, masked.get(change.name, ())) for change in known),
        *_added(original, shared, masked),
    )


def _with_masking(change: ColumnChange, words: Sequence[str]) -> ColumnChange:
    """What happened to a column that was masked: the words of the masking steps, then what else was
    done.
    """
    if not words or change.distinct_after is None:
        return change
    told = [*words] if change.action == AS_IT_IS else [*words, change.action]
    return dataclasses.replace(change, action="; ".join(told))


def _added(
    original: Table, shared: Table, masked: Mapping[str, Sequence[str]]
) -> Iterator[ColumnChange]:
    """The columns that only the release has."""
    for name in shared.columns:
        if name not in original.columns:
            roles = tuple(str(role) for role in shared.schema[name].roles)
            told = "; ".join(masked.get(name, ("added",)))
            yield ColumnChange(name, roles, told, None, None, 0, shared.column(name).n_unique())


def _change(
    name: str,
    original: Table,
    shared: Table,
    levels: dict[str, tuple[int, int]],
    blanks: int,
    *,
    local: bool,
) -> ColumnChange:
    attribute = original.schema[name]
    before = _distinct_values(original, name)
    after = _distinct_values(shared, name) if name in shared.columns else None
    level, top = levels.get(name, (None, None))
    action = _action(attribute.roles, after, level, top)
    if shared.drawn and attribute.has(Role.UNIT) and after is not None:
        action = AS_IT_IS  # drawn units keep the numbers they were drawn with
    if local and level is None and after is not None and not blanks:
        action = "generalised cell by cell"
    return ColumnChange(
        name,
        tuple(str(r) for r in attribute.roles),
        f"{action}, but for {blanks:,} suppressed {inflect(blanks, 'cell')}" if blanks else action,
        level,
        top,
        before,
        after,
    )


def _distinct_values(dataset: Table, name: str) -> int:
    """How many values a column has, missing one of them; labels of floats may stand for several
    (NaN beside missing).
    """
    dtype = dataset.dtype(name)
    told = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Date) or dtype.is_integer()
    known = told and name in dataset.known.codes
    if known:
        return len(dataset.encoded(name).labels)
    column = dataset.column(name)
    return _distinct_floats(column) if dtype.is_float() else column.n_unique()


def _distinct_floats(column: pl.Series) -> int:
    """How many values a column of floating-point numbers has; sorting many is quicker than hashing
    them.

    >>> _distinct_floats(pl.Series([0.5, None, float("nan"), 0.5, -0.0, 0.0, float("nan")]))
    4
    """
    line = np.sort(column.drop_nulls().to_numpy())
    numbers = line[: len(line) - int(np.isnan(line).sum())]
    distinct = int((numbers[1:] != numbers[:-1]).sum()) + (len(numbers) > 0)
    return distinct + (len(numbers) < len(line)) + (column.null_count() > 0)


def _action(roles: Sequence[str], after: int | None, level: int | None, top: int | None) -> str:
    if after is None:
        return (
            "dropped: its role is direct"
            if Role.DIRECT in roles
            else "dropped: suppressed as a whole"
        )
    if Role.UNIT in roles:
        return RENUMBERED
    if level is None or top is None:
        return AS_IT_IS
    if level == 0:
        return f"kept exact (level 0 of {top})"
    return "fully suppressed" if level == top else f"generalised to level {level} of {top}"
