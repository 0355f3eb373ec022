"""Data shuffling: values are dealt out again by what other columns predict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.step import ColumnStep, Goal, Masked, Preserved
from sfumato.methods.steps.swapping.carriers import carriers_of
from sfumato.methods.steps.swapping.normal_scores import (
    average_ranks,
    normal_scores,
    positive,
    rank_correlations,
    root,
)
from sfumato.methods.steps.swapping.ordered_scores import scores_of
from sfumato.methods.steps.swapping.preserved_values import values_kept
from sfumato.methods.steps.swapping.record_groups import members_of, strata_apart
from sfumato.methods.steps.swapping.step_columns import (
    Columns,
    Strata,
    require_apart,
    require_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]


@parameters
class ShuffleValues(ColumnStep):
    r"""Deal the values of confidential columns out again, so that ranks agree with what other
    columns predict.

    X are the ``columns``, S the ``predictors``. Ranks become normal
    scores :math:`z = \Phi^{-1}((r - 1/2)/n)`, rank correlations :math:`\rho`
    become :math:`R = 2 \sin(\pi \rho / 6)`, and for each record

    .. math:: y = R_{XS} R_{SS}^{-1} z_S + e,
        \qquad e \sim \mathcal N(0,\; R_{XX} - R_{XS} R_{SS}^{-1} R_{SX})

    is drawn; the record with the i-th smallest y gets the i-th smallest value of X. So every column
    keeps its values exactly, rank correlations within X and between X and S are kept approximately,
    and given S the result does not depend on the original X of the record: whoever knows S learns
    nothing more from it.

    Columns have numbers, dates or a listed order. Equal values have their average rank;
    correlations are over the records that know both columns; a matrix that is not positive
    semidefinite is replaced by the nearest that is. Missing values stay where they are; a record
    that lacks a predictor is taken to have its median. ``within`` shuffles each stratum by itself;
    small strata have correlations that say little. Constant columns have correlation 0. One column
    is enough (the R package wants two). Columns that are constant within persons or households,
    predictors too, are shuffled between these.

    Reference: Muralidhar & Sarathy 2006, doi:10.1287/mnsc.1050.0503.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> people, step = (
    ...     examples.survey(rows=600),
    ...     ShuffleValues(["income"], predictors=["age"], within=[]),
    ... )
    >>> plan = step.plan(people, Goal(seed=Seed(1)))
    >>> print(plan.preserved[0])
    frequencies of all values of income: kept exactly, off by 0
    """

    columns: Annotated[Columns, Field(description="confidential columns, shuffled")]
    predictors: Annotated[Columns, Field(description="columns that stay and predict the ranks")]
    within: Strata = None

    name: ClassVar[str] = "shuffle_values"

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, predictors=self.predictors, within=self.within or ())

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw, rank, and deal the values out."""
        require_columns(dataset, self.columns, self.name)
        names = [*self.columns, *self.predictors]
        dataset.require(names)
        strata, count = strata_apart(dataset, self.within, [*self.columns, *self.predictors])
        carriers = carriers_of(dataset, names, strata)
        scores = [scores_of(dataset, name)[carriers.rows] for name in names]
        partner = np.tile(np.arange(len(carriers)), (len(self.columns), 1))
        stream = goal.stream("shuffle values")
        small = 0
        for members in members_of(strata[carriers.rows], count):
            own = [column[members] for column in scores]
            dealt = shuffle_records(own[: len(self.columns)], own[len(self.columns) :], stream)
            partner[:, members] = members[dealt]
            # So few records say nothing of the correlations of so many columns.
            small += len(members) * (len(members) <= len(names) + 1)
        sources = [carriers.sources(np.arange(len(carriers)), mate) for mate in partner]
        columns = {}
        for n, rows in zip(self.columns, sources, strict=True):
            columns[n] = dataset.column(n).gather(rows)
        return Masked(
            actions=dict.fromkeys(self.columns, "values shuffled by what other columns predict"),
            columns=columns,
            preserved=(
                *(
                    values_kept([n], mate, carriers.once)
                    for n, mate in zip(self.columns, partner, strict=True)
                ),
                self._correlations(scores, partner),
            ),
            warnings=(
                (f"shuffle_values: {small:,} record(s) are in strata too small to shuffle well",)
                if small
                else ()
            ),
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the shuffled values in place."""
        return plan.applied(dataset)

    def _correlations(self, scores: list[Floats], partner: Codes) -> Preserved:
        """The largest change of a rank correlation that a shuffled column takes part in."""
        ranks = [average_ranks(column) for column in scores]
        after = [
            *(r[mate] for r, mate in zip(ranks, partner, strict=False)),
            *ranks[len(partner) :],
        ]
        change = np.abs(rank_correlations(after) - rank_correlations(ranks))
        return Preserved(
            "rank correlations",
            (*self.columns, *self.predictors),
            False,
            float(change.max(initial=0.0)),
        )


def shuffle_records(
    columns: list[Floats], predictors: list[Floats], stream: np.random.Generator
) -> Codes:
    """Per column and record the record whose value it gets."""
    n = len(columns[0])
    column_count = len(columns)
    ranks = [average_ranks(column) for column in (*columns, *predictors)]
    # Rank correlations as those of normal numbers; made positive where pairs do not fit together.
    sines = np.sin(math.pi / 6 * rank_correlations(ranks))
    relation = positive(2 * sines)
    # Predictors may depend on each other: the pseudo-inverse takes them as they are.
    inverse = np.linalg.pinv(relation[column_count:, column_count:], hermitian=True)
    weights = relation[:column_count, column_count:] @ inverse
    explained = weights @ relation[column_count:, :column_count]
    noise = positive(relation[:column_count, :column_count] - explained, unit=False)
    predictor_scores = np.stack([normal_scores(r) for r in ranks[column_count:]], axis=1)
    scores = predictor_scores @ weights.T + stream.standard_normal((n, column_count)) @ root(noise)
    sources = np.tile(np.arange(n), (column_count, 1))
    for j, column in enumerate(columns):
        rows = np.flatnonzero(~np.isnan(column))
        # The record with the i-th smallest draw gets the i-th smallest value; gaps stay where they
        # are.
        sources[j, rows[np.argsort(scores[rows, j], kind="stable")]] = rows[
            np.argsort(column[rows], kind="stable")
        ]
    return sources
