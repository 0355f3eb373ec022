"""Columns that copy a quasi-identifier, whatever they are called: they follow its labels, or go."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core import registry
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed, canonical_order
from sfumato.core.schema import Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.core.words import percent
from sfumato.errors import SfumatoError
from sfumato.guidance.profiling.proposed_steps import PROMISE, ROWS, K, attribute_of
from sfumato.methods.formulas.dependence import DependenceKind
from sfumato.methods.formulas.dependence_search import Dependences, find_dependences

if TYPE_CHECKING:
    import polars as pl

    from sfumato.core.model import Model
    from sfumato.core.step import Step
    from sfumato.guidance.profiling.proposal import ColumnProposal
    from sfumato.guidance.profiling.proposed_steps import ProposedStep


@dataclasses.dataclass(frozen=True)
class Copies:
    """What is proposed for columns that tell of quasi-identifiers: ``follows`` maps columns to
    these, ``dropped`` to the reason.
    """

    follows: Mapping[str, str] = dataclasses.field(default_factory=dict)
    dropped: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def applied(self, column: ColumnProposal) -> ColumnProposal:
        """What is proposed for a column, with this."""
        if column.name in self.dropped:
            return dataclasses.replace(
                column,
                roles=(Role.DROP,),
                hierarchy=None,
                reasons=(self.dropped[column.name],),
            )
        if column.name not in self.reasons:
            return column
        if column.name not in self.follows:
            return dataclasses.replace(column, reasons=(*column.reasons, self.reasons[column.name]))
        if Role.SENSITIVE in column.roles:
            roles = (Role.SENSITIVE,)
        else:
            roles = (Role.KEEP,)
        return dataclasses.replace(
            column, roles=roles, hierarchy=None, reasons=(self.reasons[column.name],)
        )


def copies_in(
    columns: tuple[ColumnProposal, ...],
    frame: pl.DataFrame,
    proposed: ProposedStep | None,
    *,
    sampled: bool = False,
) -> Copies:
    """Compare all columns with the proposed quasi-identifiers inside the labels that the proposed
    step gives them.

    A column that determines one, or nearly so, follows it; of columns that do so together, in a
    sum, the one that tells most is dropped. At most 10,000 rows are looked at; ``sampled``: they
    are of a sample themselves, and the reasons say so.
    """
    attributes = {
        column.name: attribute_of(column) for column in columns if Role.DROP not in column.roles
    }
    quasi = [name for name, attribute in attributes.items() if attribute.has(Role.QUASI)]
    copies = {column.name: str(column.copy_of) for column in columns if column.copy_of in quasi}
    if proposed is not None:
        earlier = Copies(copies, {}, {name: _copy_reason(quasi) for name, quasi in copies.items()})
    else:
        earlier = Copies()
    if proposed is None or not quasi or len(quasi) == len(attributes) or frame.height < K:
        return earlier
    table = Table(frame[list(attributes)], Schema(attributes))  # type: ignore[arg-type]
    table = _sample_rows(table, quasi)
    if not find_dependences(
        TablePair.of(table, _aligned(table.drop(quasi))), k=K
    ).found:  # nothing even without any label
        return earlier
    step: Step = registry.build("steps", proposed.step)
    promise: Model = registry.build("models", PROMISE)
    try:
        released = step.apply(table, step.plan(table, Goal((promise,), Seed.of(1))))
        dependences = find_dependences(TablePair.of(table, _aligned(released)), k=K)
        return _proposed(
            dependences,
            earlier,
            where=f"of {len(table):,} records drawn" if sampled else "of records",
        )
    except SfumatoError:  # the step cannot keep the promise: the run will say so
        return earlier


def _copy_reason(quasi: str) -> str:
    return (
        f"has the same information as {quasi}, so it is released through the labels of that column"
    )


def _proposed(dependences: Dependences, earlier: Copies, where: str) -> Copies:
    follows, dropped, reasons = dict(earlier.follows), dict(earlier.dropped), dict(earlier.reasons)
    strongest = sorted(
        dependences.found,
        key=lambda finding: (
            -max(finding.figures.gain, finding.figures.bits, finding.figures.line_gain)
        ),
    )
    for finding in strongest:
        first = finding.columns[0]
        if (
            not finding.refused
            or first in follows
            or any(name in dropped or name in follows for name in finding.columns)
        ):
            continue
        sure = percent(max(finding.figures.hit, finding.figures.line or 0.0))
        if len(finding.columns) > 1:
            dropped[first] = (
                f"dropped: with {', '.join(finding.columns[1:])} it reveals {finding.quasi} for"
                f" {sure} {where}"
            )
        elif finding.finding is DependenceKind.SOME:
            reasons[first] = (
                f"some of its values reveal {finding.quasi}, so the run refuses: make it coarser,"
                " drop it, or write accept"
            )
        else:
            follows[first] = finding.quasi
            reasons[first] = (
                f"it reveals {finding.quasi} for {sure} {where} within the labels, so it is"
                " released through them"
            )
    return Copies(follows, dropped, reasons)


def _aligned(released: Table) -> Table:
    """A table whose rows say where they come from."""
    if released.origin is not None:
        return released
    return dataclasses.replace(released, origin=np.arange(len(released), dtype=np.int64))


def _sample_rows(table: Table, quasi: list[str]) -> Table:
    """A random part of a large table that does not depend on the order of its rows."""
    if len(table) <= ROWS:
        return table
    order = canonical_order(table.drop(set(table.columns) - set(quasi)))
    positions = (
        Seed.of(1)
        .stream("profile: rows to look for copies in")
        .choice(len(order), ROWS, replace=False)
    )
    return dataclasses.replace(table.take(order[positions]), origin=None)
