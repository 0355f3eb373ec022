"""PRAM: categories are released at random, by probabilities that are known."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from sfumato.core.design import in_order, labelled_strata, marks_by, units_of, weights_of
from sfumato.core.encoding import label
from sfumato.core.mechanism import Mechanism
from sfumato.core.parameters import parameters
from sfumato.core.step import (
    Clue,
    ColumnStep,
    Goal,
    Learner,
    Masked,
    Preserved,
    Randomised,
    Span,
)
from sfumato.errors import ParameterError
from sfumato.methods.formulas.transition import (
    checked_matrix,
)
from sfumato.methods.steps.swapping.answer_matrices import (
    AnswerMatrix,
    Chance,
    Invariant,
    Value,
    dense,
    draw_answers,
    epsilon_of,
    finite,
)
from sfumato.methods.steps.swapping.answers import Asking, answers_of, under_labels
from sfumato.methods.steps.swapping.carriers import carrier_of
from sfumato.methods.steps.swapping.record_groups import (
    within_apart,
)
from sfumato.methods.steps.swapping.step_columns import (
    Columns,
    Strata,
    require_apart,
    require_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.methods.steps.swapping.answer_matrices import Rows
    from sfumato.methods.steps.swapping.answers import AnswerCounts, Answers

    Codes = NDArray[np.int64]
    Chosen = list[tuple[Codes, AnswerMatrix]]

Matrix = dict[Value, dict[Value, float]]


def _without_values(matrices: object, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate, but do not say where: the path to a mistake is made of data values."""
    try:
        return validate(matrices)
    except ValidationError:
        # The original error would quote the value it stumbled on.
        raise ValueError("should map each column to value → released value → probability") from None


@dataclasses.dataclass(frozen=True, eq=False)
class _StratifiedAnswers:
    """The answers of some records, their strata, and the matrices of all strata; −1: no record at
    hand is in the stratum.
    """

    answers: Answers
    strata: Codes
    matrices: Chosen

    @property
    def occurring_matrices(self) -> Chosen:
        """The matrices of the strata at hand."""
        return [entry for entry in self.matrices if entry[1].stratum >= 0]


@parameters
class Pram(ColumnStep):
    r"""Release each value of a column as another one with a known probability (post-randomisation
    method).

    .. math:: R_{ij} = \Pr(i \to j)

    The matrix is given (``matrix``: column → value → released value → probability; what is not
    written is 0) or made from ``retain``, the probability to keep a value, where all others are
    equally probable. ``invariant`` keeps frequencies in expectation, :math:`pR = p`: ``two_stage``
    applies the matrix and goes back by Bayes' rule, damped by ``alpha``; ``direct`` needs only
    ``theta`` and changes rare values most; ``none`` leaves the matrix as it is, and analysts
    estimate frequencies back with :func:`sfumato.methods.formulas.transition.estimate_frequencies`.
    See :mod:`sfumato.methods.formulas.transition` for the formulas. Counts are those of each
    stratum (``within``, or the columns with that role), with survey weights where there are any; a
    matrix that is made leads only to values that occur in the stratum.

    ``jointly`` takes the columns together, so that only combinations that occur are released;
    otherwise each column is drawn on its own. A column that is constant within households or
    persons is drawn once for each. Missing values stay missing; a row that lacks one of several
    joint columns is left as it is.

    The certificate holds ε of local differential privacy
    per column: :math:`e^\varepsilon = \max_j \max_{i,i'} R_{ij} / R_{i'j}`. It is about one answer;
    over several columns, or several rows of a person, they add up. With ``invariant`` the matrix
    comes from the data, and ε is what holds for whoever knows that matrix. sdcMicro draws the
    diagonal of P at random; here it is what you say. Numbers of type integer or float are
    categories here.

    References: Gouweleeuw, Kooiman, Willenborg & de Wolf 1998, *Journal of Official Statistics*
    14(4), 463–478; Hundepool et al. 2012, *Statistical Disclosure Control*,
    doi:10.1002/9781118348239.

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
    retain: Annotated[
        float | None, Field(ge=0, le=1, description="probability that a value stays as it is")
    ] = None
    matrix: Annotated[
        dict[str, Matrix] | None,
        Field(description="per column: value → released value → probability"),
        WrapValidator(_without_values),
    ] = None
    invariant: Annotated[Invariant, Field(description="how expected frequencies are preserved")] = (
        "two_stage"
    )
    theta: Annotated[
        float | None, Field(gt=0, le=1, description="strength of the direct invariant matrix")
    ] = None
    alpha: Annotated[
        float | None, Field(gt=0, le=1, description="share of the two-stage matrix; the rest stays")
    ] = None
    within: Strata = None
    jointly: Annotated[bool, Field(description="take the columns together")] = False

    name: ClassVar[str] = "pram"
    secret: ClassVar[tuple[str, ...]] = ("matrix",)

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, within=self.within or ())
        if self.invariant == "direct":
            if self.theta is None or self.retain is not None or self.matrix is not None:
                raise ParameterError("invariant direct takes theta, and neither retain nor matrix")
        elif self.theta is not None or (self.retain is None) == (self.matrix is None):
            raise ParameterError("give either retain or matrix; theta is for invariant direct only")
        if self.alpha is not None and self.invariant != "two_stage":
            raise ParameterError("alpha is for invariant two_stage only")
        if self.matrix is not None:
            if self.jointly:
                raise ParameterError(
                    "columns taken jointly have a computed matrix; give retain or theta"
                )
            if set(self.matrix) != set(self.columns):
                raise ParameterError("give a matrix for each of the columns, and for no others")
            for column, rows in self.matrix.items():
                try:
                    checked_matrix(dense(rows)[1])
                except ParameterError as error:
                    raise ParameterError(f"matrix of {column!r}: {error}") from None

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The matrices that are given and left as they are; others are made from the answers."""
        # A matrix made from frequencies is not known before the data are.
        if self.matrix is None or self.invariant != "none":
            return {}
        return {
            name: Mechanism.of_matrix(_label_matrix(rows)) for name, rows in self.matrix.items()
        }

    @property
    def span(self) -> Span:
        """Record by record, once the frequencies are known."""
        return Span.RECORDS

    def learner(self, goal: Goal, facts: object) -> Learner | None:
        """Counts of the answers in every stratum."""
        if facts is not None:
            return None
        return Asking(self._groups, self._within)

    @property
    def _groups(self) -> list[Sequence[str]]:
        if self.jointly:
            return [self.columns]
        return [[name] for name in self.columns]

    def _within(self, dataset: Table) -> Sequence[str]:
        return within_apart(dataset, self.within, self.columns)

    def transitions(self, dataset: Table) -> tuple[AnswerMatrix, ...]:
        """The matrices in use, by columns and stratum: for the owner, since their labels are data
        values.
        """
        transitions: list[AnswerMatrix] = []
        for question in self._questions(dataset, Goal()):
            transitions += [transition for _, transition in question.occurring_matrices]
        return tuple(transitions)

    @property
    def clue(self) -> Clue:
        """The matrices, where columns are drawn one by one."""
        if self.jointly:
            return Clue(bool(self.within))
        return Randomised(bool(self.within))

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw what is released."""
        columns: dict[str, pl.Series] = {}
        preserved = []
        warnings = []
        epsilons = {}
        changed = {}
        for question in self._questions(dataset, goal):
            answers = question.answers
            title = question.answers.title
            # One draw a person where the answer is one a person: several would average out.
            unit = carrier_of(dataset, answers.columns, question.strata)
            uniforms = goal.keyed(f"pram {title}").uniforms(marks_by(dataset, unit))
            released = draw_answers(answers, question.strata, question.occurring_matrices, uniforms)
            columns |= answers.written(dataset, released)
            preserved.append(_frequencies(dataset, answers, released))
            epsilons[title] = epsilon_of(question.matrices)
            changed[title] = int((released != answers.codes).sum())
            warnings += _warnings(dataset, answers, question.matrices, epsilons[title], unit)
        return Masked(
            actions=dict.fromkeys(self.columns, "released at random by known probabilities"),
            columns=columns,
            preserved=tuple(preserved),
            warnings=tuple(warnings),
            public=self._public_facts(epsilons),
            owner={"changed": changed},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the drawn values in place."""
        return plan.applied(dataset)

    def _questions(self, dataset: Table, goal: Goal) -> Iterator[_StratifiedAnswers]:
        """Per group of columns the answers of the records at hand, and the matrices of all
        strata.
        """
        require_columns(dataset, self.columns, self.name)
        facts: dict[tuple[str, ...], AnswerCounts] = self.facts(dataset, goal)
        strata, names = labelled_strata(dataset, self._within(dataset))
        chance = Chance(self.invariant, self.retain, self.theta, self.alpha)
        for group in self._groups:
            answers = facts[tuple(group)]
            own_matrix = None
            if self.matrix is not None:
                numbers, own_matrix = dense(self.matrix[group[0]])
                answers = under_labels(answers, group[0], numbers)
            stratum_numbers = {name: s for s, name in enumerate(names)}
            matrices = []
            # All strata of the table, also those that have no row here: their ε counts.
            for name in in_order(answers.strata):
                counts = answers.strata[name][0]
                # A matrix that is made leads to values of the stratum only; a given one to all it
                # lists.
                if own_matrix is None:
                    occurring = np.flatnonzero(counts)
                else:
                    occurring = np.arange(len(counts))
                labels = tuple(answers.labels[i] for i in occurring.tolist())
                matrix = chance.made(answers, name, own_matrix)
                stratum = stratum_numbers.get(name, -1)
                matrices.append((occurring, AnswerMatrix(tuple(group), stratum, labels, matrix)))
            yield _StratifiedAnswers(answers.under(answers_of(dataset, group)), strata, matrices)

    def _public_facts(self, epsilons: dict[str, float]) -> dict[str, object]:
        if self.invariant == "none":
            holds = "for one answer"
        else:
            holds = (
                "for one answer and somebody who knows the matrix, which was made from the "
                "frequencies of the data"
            )
        return {
            "invariant": self.invariant,
            "local_epsilon": {title: finite(epsilon) for title, epsilon in epsilons.items()},
            "local_epsilon_holds": holds,
            "fixed_mechanism": sorted(self.mechanisms),
        }


def _label_matrix(rows: Rows) -> dict[str, dict[str, float]]:
    """A matrix by the labels of its values; values with one label are one."""
    matrix: dict[str, dict[str, float]] = {}
    for value, row in rows.items():
        # Values such as 1 and "1" have one label: their chances add up.
        into = matrix.setdefault(label(value), {})
        for to, chance in row.items():
            into[label(to)] = into.get(label(to), 0.0) + chance
    return matrix


def _frequencies(dataset: Table, answers: Answers, released: Codes) -> Preserved:
    """Half the sum of the changes of all shares, weighted where there are weights."""
    weights = weights_of(dataset)
    present = answers.codes >= 0
    mass = None if weights is None else weights[present]
    size = len(answers.labels)
    before = np.bincount(answers.codes[present], mass, size)
    after = np.bincount(released[present], mass, size)
    off = 0.0
    if present.any():
        # Half: every record that moves is missing in one value and too many in another.
        moved = np.abs(after - before).sum()
        off = float(moved / max(2 * before.sum(), 1e-300))
    return Preserved(
        "frequencies" if weights is None else "weighted frequencies", answers.columns, False, off
    )


def _warnings(
    dataset: Table, answers: Answers, matrices: Chosen, epsilon: float, unit: str
) -> list[str]:
    warnings = []
    if not math.isfinite(epsilon):
        warnings.append(
            f"pram: some released value of {answers.title!r} rules out an original one, so there "
            "is no ε"
        )
    alone = sum(1 for _, t in matrices if len(t.labels) == 1)
    if alone:
        warnings.append(
            f"pram: {answers.title!r} has one value only in {alone:,} of {len(matrices):,} strata, "
            "where it stays"
        )
    partly = int((answers.codes < 0).sum())
    if partly and len(answers.columns) > 1:
        warnings.append(
            f"pram: {partly:,} row(s) lack a value of {answers.title!r} and are released as"
            " they are"
        )
    persons = units_of(dataset, "person")
    # One answer a row: a person with several rows answers several times.
    if unit == "row" and persons is not None and len(np.unique(persons)) < len(persons):
        warnings.append(
            f"pram: persons have several rows with different answers of {answers.title!r}; their ε "
            "adds up"
        )
    return warnings
