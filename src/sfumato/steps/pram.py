"""PRAM: categories are released at random, by probabilities that are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from sfumato.core.design import units_of, weights_of
from sfumato.core.masked import Masked, Preserved
from sfumato.core.parameters import parameters
from sfumato.core.step import Goal
from sfumato.core.transition import checked_matrix
from sfumato.errors import ParameterError
from sfumato.steps.exchange.answers import Answers, answers_of, under_labels
from sfumato.steps.exchange.carriers import carriers_of
from sfumato.steps.exchange.columns import Columns, Within, require_apart, require_columns
from sfumato.steps.exchange.groups import strata_apart
from sfumato.steps.exchange.transitions import Chance, Invariant, Transition, Value, dense, drawn, epsilon_of, finite

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

    Codes = NDArray[np.int64]
    Chosen = list[tuple[Codes, Transition]]

Matrix = dict[Value, dict[Value, float]]


def _without_values(matrices: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate, but do not say where: the path to a mistake is made of data values."""
    try:
        return validate(matrices)
    except ValidationError:
        raise ValueError("should map each column to value → released value → probability") from None


@parameters
class Pram:
    r"""Release each value of a column as another one with a known probability (post-randomisation method).

    .. math:: R_{ij} = \Pr(i \to j)

    The matrix is given (``matrix``: column → value → released value → probability; what is not written is 0) or made from
    ``retain``, the probability to keep a value, where all others are equally probable. ``invariant`` keeps frequencies in
    expectation, :math:`pR = p`: ``two_stage`` applies the matrix and goes back by Bayes' rule, damped by ``alpha``;
    ``direct`` needs only ``theta`` and changes rare values most; ``none`` leaves the matrix as it is, and analysts estimate
    frequencies back with :func:`sfumato.core.transition.estimate_frequencies`. See :mod:`sfumato.core.transition` for
    the formulas. Frequencies are those of each stratum (``within``, or the columns with that role), with survey weights
    where there are any; a matrix that is made leads only to values that occur in the stratum.

    ``jointly`` takes the columns together, so that only combinations that occur are released; otherwise each column is drawn
    on its own. A column that is constant within households or persons is drawn once for each. Missing values stay missing; a
    row that lacks one of several joint columns is left as it is.

    The certificate holds ε of local differential privacy per column: :math:`e^\varepsilon = \max_j \max_{i,i'} R_{ij} / R_{i'j}`.
    It is about one answer; over several columns, or several rows of a person, they add up. With ``invariant`` the matrix
    comes from the data, and ε is what holds for whoever knows that matrix. sdcMicro draws the diagonal of P at random;
    here it is what you say. Numbers of type integer or float are categories here.

    References: Gouweleeuw, Kooiman, Willenborg & de Wolf 1998, *Journal of Official Statistics* 14(4), 463–478; Hundepool
    et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> people, step = examples.hospital(rows=500), Pram(["sex"], retain=0.75, invariant="none")
    >>> plan = step.plan(people, Goal(seed=Seed(1)))
    >>> plan.actions["sex"]
    'released at random by known probabilities'
    >>> [round(t.epsilon, 4) for t in step.transitions(people)]
    [1.7918]
    """

    columns: Annotated[Columns, Field(description="columns with categories")]
    retain: Annotated[float | None, Field(ge=0, le=1, description="probability that a value stays as it is")] = None
    matrix: Annotated[
        dict[str, Matrix] | None,
        Field(description="per column: value → released value → probability"),
        WrapValidator(_without_values),
    ] = None
    invariant: Annotated[Invariant, Field(description="how frequencies are kept in expectation")] = "two_stage"
    theta: Annotated[float | None, Field(gt=0, le=1, description="strength of the direct invariant matrix")] = None
    alpha: Annotated[float | None, Field(gt=0, le=1, description="share of the two-stage matrix; the rest stays")] = (
        None
    )
    within: Annotated[Within | None, Field(description="columns that make strata; by default those with that role")] = (
        None
    )
    jointly: Annotated[bool, Field(description="take the columns together")] = False

    name: ClassVar[str] = "pram"
    secret: ClassVar[tuple[str, ...]] = ("matrix",)

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, within=self.within or ())
        if self.invariant == "direct":
            if self.theta is None or self.retain is not None or self.matrix is not None:
                raise ParameterError("invariant direct takes theta, and neither retain nor matrix")
        elif self.theta is not None or (self.retain is None) == (self.matrix is None):
            raise ParameterError("give retain or matrix, one of them; theta is for invariant direct only")
        if self.alpha is not None and self.invariant != "two_stage":
            raise ParameterError("alpha is for invariant two_stage only")
        if self.matrix is not None:
            self._check_matrices(self.matrix)

    def _check_matrices(self, matrices: dict[str, Matrix]) -> None:
        if self.jointly:
            raise ParameterError("columns taken jointly have a matrix that is made; give retain or theta")
        if set(matrices) != set(self.columns):
            raise ParameterError("give a matrix for each of the columns, and for no others")
        for column, rows in matrices.items():
            try:
                checked_matrix(dense(rows)[1])
            except ParameterError as error:
                raise ParameterError(f"matrix of {column!r}: {error}") from None

    def transitions(self, dataset: Dataset) -> tuple[Transition, ...]:
        """The matrices in use, by columns and stratum: for the owner, since their labels are data values."""
        return tuple(t for answers in self._answers(dataset) for _, t in self._chosen(dataset, answers))

    def plan(self, dataset: Dataset, goal: Goal) -> Masked:
        """Draw what is released."""
        columns: dict[str, pl.Series] = {}
        preserved, warnings, epsilons, changed = [], [], {}, {}
        for answers in self._answers(dataset):
            chosen = self._chosen(dataset, answers)
            strata, _ = self._strata(dataset)
            carriers = carriers_of(dataset, answers.columns, strata)
            released = drawn(answers, carriers, strata, chosen, goal.stream(f"pram {answers.title}"))
            columns |= answers.written(dataset, released)
            preserved.append(_frequencies(dataset, answers, released))
            epsilons[answers.title] = epsilon_of(chosen)
            changed[answers.title] = int((released != answers.codes).sum())
            warnings += _warnings(dataset, answers, chosen, epsilons[answers.title], carriers.unit)
        return Masked(
            actions=dict.fromkeys(self.columns, "released at random by known probabilities"),
            columns=columns,
            preserved=tuple(preserved),
            warnings=tuple(warnings),
            public=self._told(epsilons),
            owner={"changed": changed},
        )

    def apply(self, dataset: Dataset, plan: Masked) -> Dataset:
        """Put the drawn values in place."""
        return plan.applied(dataset)

    def _strata(self, dataset: Dataset) -> tuple[Codes, int]:
        return strata_apart(dataset, self.within, self.columns)

    def _answers(self, dataset: Dataset) -> list[Answers]:
        require_columns(dataset, self.columns, self.name)
        groups: list[Sequence[str]] = [self.columns] if self.jointly else [[name] for name in self.columns]
        found = [answers_of(dataset, group) for group in groups]
        if self.matrix is None:
            return found
        return [under_labels(one, dense(self.matrix[one.columns[0]])[0]) for one in found]

    def _chosen(self, dataset: Dataset, answers: Answers) -> Chosen:
        given = None if self.matrix is None else dense(self.matrix[answers.columns[0]])[1]
        chance = Chance(self.invariant, self.retain, self.theta, self.alpha)
        return chance.transitions(answers, self._strata(dataset), weights_of(dataset), given)

    def _told(self, epsilons: dict[str, float]) -> dict[str, object]:
        if self.invariant == "none":
            holds = "for one answer"
        else:
            holds = "for one answer and whoever knows the matrix, which was made from the frequencies of the data"
        return {
            "invariant": self.invariant,
            "local_epsilon": {title: finite(epsilon) for title, epsilon in epsilons.items()},
            "local_epsilon_holds": holds,
        }


def _frequencies(dataset: Dataset, answers: Answers, released: Codes) -> Preserved:
    """Half the sum of the changes of all shares, weighted where there are weights."""
    import numpy as np

    weights = weights_of(dataset)
    known = answers.codes >= 0
    mass = None if weights is None else weights[known]
    size = len(answers.labels)
    before = np.bincount(answers.codes[known], mass, size)
    after = np.bincount(released[known], mass, size)
    off = float(np.abs(after - before).sum() / max(2 * before.sum(), 1e-300)) if known.any() else 0.0
    return Preserved("frequencies" if weights is None else "weighted frequencies", answers.columns, False, off)


def _warnings(dataset: Dataset, answers: Answers, chosen: Chosen, epsilon: float, unit: str) -> list[str]:
    import numpy as np

    told = []
    if not math.isfinite(epsilon):
        told.append(f"pram: some released value of {answers.title!r} rules out an original one; there is no ε")
    alone = sum(1 for _, t in chosen if len(t.labels) == 1)
    if alone:
        told.append(
            f"pram: {answers.title!r} has one value only in {alone:,} of {len(chosen):,} strata; it stays there"
        )
    partly = int((answers.codes < 0).sum()) if len(answers.columns) > 1 else 0
    if partly:
        told.append(f"pram: {partly:,} row(s) lack a value of {answers.title!r} and are released as they are")
    persons = units_of(dataset, "person")
    if unit == "row" and persons is not None and len(np.unique(persons)) < len(persons):
        told.append(f"pram: persons have several rows with answers of {answers.title!r} of their own; their ε adds up")
    return told
