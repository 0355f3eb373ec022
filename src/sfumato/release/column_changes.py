"""What happened to every column of a table, in words."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.schema import UNITS, Role
from sfumato.core.words import inflect
from sfumato.release.report.wording import RENUMBERED

if TYPE_CHECKING:
    from sfumato.core.step import Plan
    from sfumato.core.table import Table

AS_IT_IS = "released unchanged"


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
    recoded_cells: set[str] = set()
    masking: dict[str, list[str]] = {}
    blanks: Counter[str] = Counter()
    for _, plan in plans:
        description = plan.describe()
        for column, entry in description.get("levels", {}).items():
            levels[column] = (entry["level"], entry["top"])
        recoded_cells.update(description.get("columns", ()))
        blanks.update(description.get("suppressed_cells", {}))
        for column, words in description.get("masked", {}).items():
            masking.setdefault(column, []).append(words)
    changes = []
    for name in original.columns:
        change = _change(name, original, shared, levels, blanks[name], local=name in recoded_cells)
        # A masked column: the words of the masking steps, then what else was done.
        if name in masking and change.distinct_after is not None:
            actions = list(masking[name])
            if change.action != AS_IT_IS:
                actions.append(change.action)
            change = dataclasses.replace(change, action="; ".join(actions))
        changes.append(change)
    for name in shared.columns:
        if name not in original.columns:  # only the release has it
            roles = tuple(str(role) for role in shared.schema[name].roles)
            action = "; ".join(masking.get(name, ("added",)))
            distinct = shared.column(name).n_unique()
            changes.append(ColumnChange(name, roles, action, None, None, 0, distinct))
    return tuple(changes)


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
    roles = tuple(str(role) for role in attribute.roles)
    before = _distinct_values(original, name)
    level, top = levels.get(name, (None, None))
    if name not in shared.columns:
        if Role.DROP in roles:
            reason = "its role is drop"
        else:
            reason = "suppressed as a whole"
        return ColumnChange(name, roles, f"dropped: {reason}", level, top, before, None)
    if local and level is None and not blanks:
        action = "generalised cell by cell"
    elif UNITS & set(roles) and not shared.drawn:
        action = RENUMBERED
    elif UNITS & set(roles) or level is None:  # drawn units keep the numbers they were drawn with
        action = AS_IT_IS
    elif level == 0:
        action = f"kept exact (level 0 of {top})"
    elif level == top:
        action = "fully suppressed"
    else:
        action = f"generalised to level {level} of {top}"
    if blanks:
        action += f", but for {blanks:,} suppressed {inflect(blanks, 'cell')}"
    return ColumnChange(name, roles, action, level, top, before, _distinct_values(shared, name))


def _distinct_values(dataset: Table, name: str) -> int:
    """How many values a column has, missing one of them; labels of floats may stand for several
    (NaN beside missing).
    """
    dtype = dataset.dtype(name)
    has_labels = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Date) or dtype.is_integer()
    is_encoded = has_labels and name in dataset.known.codes
    if is_encoded:
        return len(dataset.encoded(name).labels)
    column = dataset.column(name)
    if dtype.is_float():
        return _distinct_floats(column)
    return column.n_unique()


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
