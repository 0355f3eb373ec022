"""The step a proposal names: tried on the table itself, and chosen by what is lost."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.fields import Document, Fields
from sfumato.core.hierarchy import bind
from sfumato.core.randomness import Seed, canonical_order
from sfumato.core.schema import UNITS, Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.core.words import percent
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    import polars as pl

    from sfumato.guidance.profiling.proposal import ColumnProposal, Proposal

K = 5
BUDGET = 0.02
PROMISE: Document = {"k_anonymity": {"k": K}}
FALLBACK: Document = {"global_recoding": {"suppress": "tuple", "budget": BUDGET}}

# Rows the steps are tried on; a larger table is drawn from, with a fixed seed and in an order of
# its values.
ROWS = 10_000

# Nodes of the generalization lattice up to which steps that search it are tried.
MOST_NODES = 1_000_000

# Loss by which another step must be better to be taken instead of one whose releases are easier to
# read.
AS_GOOD = 0.02


@dataclasses.dataclass(frozen=True)
class ProposedStep:
    """The step that is proposed, in recipe syntax, and why.

    ``losses`` has what each step tried would lose (0-1), ``rows`` the rows it was tried on;
    ``searched`` is False where the lattice of levels is too large for the steps that search it, so
    that they were not tried.
    """

    step: Fields
    losses: Mapping[str, float]
    rows: int
    searched: bool = True

    @property
    def name(self) -> str:
        """The name of the step."""
        return next(iter(self.step))

    @property
    def why(self) -> str:
        """What it loses, the others, and, where another one loses less, why that was not taken; in
        one line.
        """
        alternatives = ", ".join(
            f"{name} {percent(loss)}" for name, loss in self.losses.items() if name != self.name
        )
        if not self.searched:
            alternatives = "the others would have to search too many combinations of levels"
        lost = f"information loss on quasi-identifiers: {percent(self.losses[self.name])}"
        if alternatives:
            return f"{lost} ({alternatives}){self._although}"
        return lost

    @property
    def _although(self) -> str:
        """Why it was taken though another one loses less; empty where none does."""
        best = min(self.losses, key=lambda name: self.losses[name])
        if self.losses[best] >= self.losses[self.name]:
            return ""
        return (
            f"; taken before {best}, which is not better by more than {percent(AS_GOOD)}, because"
            f" {_EASIER[self.name, best]}"
        )


def choose_step(proposal: Proposal, frame: pl.DataFrame) -> ProposedStep | None:
    """The step that loses least of the proposed quasi-identifiers while it keeps the promise; None
    with nothing to try.

    Tried are local recoding, global recoding and, where a column has an order or the lattice is too
    large to search, Mondrian. Of steps that lose alike, within 0.02, the first of these is taken:
    it releases labels of the hierarchies only, and drops no record.
    """
    dataset = _table(proposal, frame)
    return None if dataset is None else step_for(dataset)


def step_for(dataset: Table) -> ProposedStep | None:
    """As :func:`choose_step`, for a table whose columns are described; direct identifiers do not
    matter.
    """
    dataset = _sample_rows(
        dataset.drop(set(dataset.columns) - set(_judged_columns(dataset.schema)))
    )
    if len(dataset) < K or not dataset.schema.quasi:
        return None
    searched = _nodes(dataset) <= MOST_NODES
    candidates = _candidates(dataset, searched=searched)
    losses = {name: loss for name, step in candidates if (loss := _loss(step, dataset)) is not None}
    if not losses:
        return None
    lowest = min(losses.values())
    step_name = next(name for name in _STEPS if name in losses and losses[name] <= lowest + AS_GOOD)
    return ProposedStep(_STEPS[step_name], losses, len(dataset), searched)


_STEPS: dict[str, Document] = {
    "local_recoding": {"local_recoding": {}},
    "global_recoding": FALLBACK,
    "mondrian": {"mondrian": {}},
}

_OWN_LABELS = "it releases labels of the hierarchies only"
# Why the releases of one step are easier to use than those of another: all are read alike
# otherwise.
_EASIER = {
    ("local_recoding", "global_recoding"): "it drops no record",
    ("local_recoding", "mondrian"): _OWN_LABELS,
    ("global_recoding", "mondrian"): f"{_OWN_LABELS}, and each column's on one level",
}


def _candidates(dataset: Table, *, searched: bool) -> Iterator[tuple[str, Any]]:
    ordered = any(
        dataset.schema[name].kind in (Kind.NUMERIC, Kind.DATE) for name in dataset.schema.quasi
    )
    for name, step in _STEPS.items():
        # mondrian cuts along an order; the others search a lattice, where that is small enough
        suits = searched
        if name == "mondrian":
            suits = ordered or not searched
        if suits:
            yield name, registry.build("steps", step)


def _loss(step: Any, dataset: Table) -> float | None:
    """What a step loses by its own objective, which is the same for all of them; None if it cannot
    keep the promise.
    """
    try:
        goal = Goal((registry.build("models", PROMISE),), Seed.of(1))
        return float(step.plan(dataset, goal).score)
    except SfumatoError:
        return None


def _nodes(dataset: Table) -> float:
    """Nodes of the lattice: the product of the numbers of levels."""
    levels = 1.0
    for name in dataset.schema.quasi:
        hierarchy = dataset.schema[name].hierarchy
        if hierarchy is not None and math.isfinite(levels):
            encoded = dataset.encoded(name)
            levels *= len(bind(hierarchy, encoded.labels, encoded.counts.tolist()).labels)
    return levels


def _table(proposal: Proposal, frame: pl.DataFrame) -> Table | None:
    """The proposed quasi-identifiers and units as a dataset, or None where there are none."""
    attributes = {
        c.name: attribute_of(c) for c in proposal.columns if {Role.QUASI, *UNITS} & set(c.roles)
    }
    if not any(attribute.has(Role.QUASI) for attribute in attributes.values()):
        return None
    return Table(frame[list(attributes)], Schema(attributes))  # type: ignore[arg-type]


def _judged_columns(schema: Schema) -> Iterator[str]:
    """The columns the promise is about: quasi-identifiers and persons."""
    yield from schema.quasi
    if schema.person is not None:
        yield schema.person


def attribute_of(column: ColumnProposal) -> Attribute:
    """What is proposed for a column, as a schema says it."""
    built = None
    if column.hierarchy is not None:
        built = registry.build("hierarchies", column.hierarchy)
    return Attribute(column.roles, column.kind, built)


def _sample_rows(dataset: Table) -> Table:
    """A random part of a large table that does not depend on the order of its rows."""
    if len(dataset) <= ROWS:
        return dataset
    order = canonical_order(dataset)
    positions = (
        Seed.of(1).stream("profile: rows to try means on").choice(len(order), ROWS, replace=False)
    )
    return dataclasses.replace(dataset.take(order[positions]), origin=None)
