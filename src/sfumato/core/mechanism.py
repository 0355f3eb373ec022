"""Promises about a mechanism: which step of a run released a column by which random rule, and
whether that stood to the end.

A promise such as stochastic t-closeness is about how values were made, not about the values: no
table shows it. So it holds only where a step of the recipe applied exactly this rule to the
original values of the column, and nothing of what the promise speaks of (the column, the
quasi-identifiers, the records) changed afterwards. That is read off the tables between the steps,
not off what the steps say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.encoding import encode
from sfumato.core.fields import Fields

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.step import Step
    from sfumato.core.table import Table

Chances = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """A random rule that is fixed in the recipe: every value of a column is released by it, each by
    itself; missing ones stay missing.

    ``chances`` are, of the kind *matrix*, the probabilities of what a value may become; ``scale``
    is that of noise. ``epsilon`` is given where the rule is ε-private for one value, a missing one
    included; ``bounds`` and ``unit`` are those of the numbers that noise is added to.
    """

    kind: str
    scale: float | None = None
    chances: Chances = ()
    epsilon: float | None = None
    bounds: tuple[float, float] | None = None
    unit: float | None = None

    @classmethod
    def of_matrix(cls, rows: Mapping[str, Mapping[str, float]]) -> Mechanism:
        """The rule of a matrix, whatever the order of its rows; what is impossible is left out.

        >>> Mechanism.of_matrix({"b": {"b": 1.0, "a": 0.0}, "a": {"a": 1.0}}).chances
        (('a', (('a', 1.0),)), ('b', (('b', 1.0),)))
        """
        possible = {}
        for value, row in rows.items():
            possible[value] = sorted((to, p) for to, p in row.items() if p > 0)
        distributions = tuple((value, tuple(possible[value])) for value in sorted(possible))
        return cls("matrix", chances=distributions)


@dataclasses.dataclass(frozen=True, eq=False)
class Taken:
    """A step that was taken, and the tables before and after it."""

    step: Step
    before: Table
    after: Table


def applied_mechanisms(
    original: Table, steps_taken: Sequence[Taken], released: Table, columns: set[str]
) -> dict[str, Mechanism]:
    """Column → the mechanism that made it of the original one, where a step applied one and nothing
    touched its work afterwards.
    """
    applied: dict[str, Mechanism] = {}
    for name in sorted(columns & set(released.columns) & set(original.columns)):
        for step_taken in steps_taken:
            rule = step_taken.step.mechanisms.get(name)
            # Another step that masks the column would be a second rule on top of the first.
            alone = all(
                another is step_taken or name not in another.step.masks for another in steps_taken
            )
            if rule is None or not alone or name not in step_taken.after.columns:
                continue
            if _are_equal(original, step_taken.before, [name]) and _stands(
                step_taken.after, released, name
            ):
                applied[name] = rule
    return applied


def _stands(after: Table, released: Table, name: str) -> bool:
    """Whether all records that the step gave are released, with its values and in the classes it
    found.
    """
    rows, released_rows = _origin(after), _origin(released)
    whole = len(rows) == len(released_rows) and bool(
        (np.sort(rows) == np.sort(released_rows)).all()
    )
    quasi = [column for column in released.schema.quasi if column in after.columns]
    return (
        whole
        and len(quasi) == len(after.schema.quasi)
        and _are_equal(after, released, [name, *quasi])
    )


def _are_equal(table: Table, other_table: Table, columns: Sequence[str]) -> bool:
    """Whether the records of the second table, each found in the first by where it came from, have
    the same values there.
    """
    if not len(other_table):
        return True
    rows, other_rows = _origin(table), _origin(other_table)
    # somebody's row is synthetic: it is nobody's
    if min(int(rows.min(initial=0)), int(other_rows.min())) < 0:
        return False
    # By original row the row of the first table, -1 where it is gone.
    last_row = max(int(rows.max(initial=-1)), int(other_rows.max()))
    position = np.full(last_row + 1, -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    at = position[other_rows]
    if (at < 0).any():
        return False
    return all(
        _text(table.column(name))
        .gather(at)
        .equals(_text(other_table.column(name)), null_equal=True)
        for name in columns
    )


def _origin(dataset: Table) -> NDArray[np.int64]:
    if dataset.origin is None:
        return np.arange(len(dataset), dtype=np.int64)
    return dataset.origin


def _text(column: pl.Series) -> pl.Series:
    return encode(column).text("value")


def told_in_plans(plans: Sequence[Fields], column: str, quasi: Sequence[str]) -> bool:
    """Whether the plans of a certificate tell that a fixed mechanism was applied to a column, and
    that nothing came after it.

    What they tell is no proof: with the original the release is made again.
    """
    is_told = False
    for plan in plans:
        if column in (plan.get("fixed_mechanism") or ()):
            is_told = True
        elif is_told:
            # Whatever touches the column, the quasi-identifiers or the records afterwards undoes
            # it.
            changed = {*plan.get("masked", ()), *plan.get("levels", ()), *plan.get("columns", ())}
            gone = plan.get("suppressed_records", 0) or plan.get("suppressed_cells")
            is_told = not gone and not changed & {column, *quasi}
    return is_told
