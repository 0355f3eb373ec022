"""PRAM: categories are released at random, by probabilities that are known."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from sfumato import kernels
from sfumato.core.design import Stratum, in_order, labelled_strata, marks_by, units_of, weights_of
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
    Transition,
)
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.exact_sums import exact_sums, rounded
from sfumato.methods.formulas.transition import (
    checked_matrix,
    direct_invariant,
    local_epsilon,
    two_stage_invariant,
    uniform_matrix,
)
from sfumato.methods.steps.swapping.carriers import (
    Columns,
    Within,
    carrier_of,
    codes_of,
    combined,
    members_of,
    require_apart,
    require_columns,
    within_apart,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


# Which matrix randomises the answers of each stratum, and the answers it gives.

if TYPE_CHECKING:
    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Invariant = Literal["two_stage", "direct", "none"]
Value = str | bool | int | float
Rows = Mapping[Value, Mapping[Value, float]]


@dataclasses.dataclass(frozen=True, eq=False)
class AnswerMatrix(Transition):
    """The matrix of one stratum, and what an answer drawn by it tells."""

    @property
    def epsilon(self) -> float:
        """The ε of local differential privacy of one answer."""
        return local_epsilon(self.matrix)


def dense(rows: Rows) -> tuple[dict[str, int], Floats]:
    """A matrix written as labels → labels → probability, as numbered labels and an array; what is
    not written is 0.
    """
    numbers = {label(value): i for i, value in enumerate(rows)}
    if not rows or len(numbers) < len(rows):
        raise ParameterError("it needs one row for each value of the column")
    strange = {label(to) for row in rows.values() for to in row} - set(numbers)
    if strange:
        raise ParameterError(f"it leads to {len(strange)} value(s) that have no row of their own")
    matrix = np.zeros((len(numbers), len(numbers)))
    for value, row in rows.items():
        for to, probability in row.items():
            matrix[numbers[label(value)], numbers[label(to)]] += probability
    return numbers, matrix


@dataclasses.dataclass(frozen=True)
class Chance:
    """How matrices are made: from a given one or from the probability to retain a value, and then
    made invariant.
    """

    invariant: Invariant
    retain: float | None
    theta: float | None
    alpha: float | None

    def matrix(self, shares: Floats, own_matrix: Floats | None) -> Floats:
        """The matrix for answers of these shares."""
        if self.invariant == "direct":
            return direct_invariant(shares, self.theta or 0.0)
        first = (
            uniform_matrix(len(shares), self.retain or 0.0) if own_matrix is None else own_matrix
        )
        if self.invariant == "none":
            return first
        return two_stage_invariant(first, shares, 1.0 if self.alpha is None else self.alpha)

    def made(self, answers: AnswerCounts, stratum: Stratum, own_matrix: Floats | None) -> Floats:
        """The matrix of a stratum: for the answers that occur in it, or for all that a given one
        knows.
        """
        counts, masses = answers.strata[stratum]
        occurring = np.flatnonzero(counts) if own_matrix is None else np.arange(len(answers.labels))
        return self.matrix(_shares(counts, masses)[occurring], own_matrix)


def _shares(counts: Codes, masses: Floats | None) -> Floats:
    """Shares of answers, weighted where the weights are not all zero; an answer that occurs has
    some share.
    """
    if masses is None or not masses.sum():
        return np.asarray(counts / counts.sum(), dtype=np.float64)
    totals = np.where(counts > 0, np.maximum(masses, 1e-12 * masses.sum()), 0.0)
    return np.asarray(totals / totals.sum(), dtype=np.float64)


def drawn(
    answers: Answers, strata: Codes, matrices: list[tuple[Codes, AnswerMatrix]], uniforms: Floats
) -> Codes:
    """Per row the answer that is released: drawn by the matrix of its stratum."""
    released = answers.codes.copy()
    groups = members_of(strata, int(strata.max(initial=0)) + 1)
    for occurring, transition in matrices:
        members = groups[transition.stratum]
        members = members[answers.codes[members] >= 0]
        number = np.zeros(len(answers.labels), dtype=np.int64)
        number[occurring] = np.arange(len(occurring))
        sums = np.cumsum(transition.matrix, axis=1)
        own = number[answers.codes[members]]
        codes = kernels.swapping.draw_codes(own, sums / sums[:, -1:], uniforms[members])
        released[members] = occurring[codes]
    return released


def epsilon_of(matrices: list[tuple[Codes, AnswerMatrix]]) -> float:
    """The ε of the stratum that protects least; 0 where nothing can be learnt because there is one
    value only.
    """
    return max((t.epsilon for _, t in matrices), default=0.0)


def finite(epsilon: float) -> float | None:
    """ε for a certificate, which knows no infinity."""
    return epsilon if math.isfinite(epsilon) else None


# Answers that are released at random: the values of a column, or of several taken together, as
# codes and back.

MOST_VALUES = 5000
"""A matrix for more values than this would not fit in memory, nor protect anyone."""

Labels = tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Per row the code of its answer (−1: missing, stays so), and per code the labels of its
    columns.

    ``pool`` holds, per column, the value of every code.
    """

    columns: tuple[str, ...]
    codes: Codes
    labels: tuple[Labels, ...]
    pool: Mapping[str, pl.Series]

    @property
    def title(self) -> str:
        """The columns in a word."""
        return " × ".join(self.columns)

    def written(self, dataset: Table, codes: Codes) -> dict[str, pl.Series]:
        """The columns with other answers; where an answer is missing, every column keeps what it
        had.
        """
        answered = pl.Series(codes >= 0)
        columns = {}
        for name in self.columns:
            own, pool = dataset.column(name), self.pool[name]
            new_values = pool.gather(np.maximum(codes, 0)) if len(pool) else own
            old_values = own if own.dtype == new_values.dtype else own.cast(new_values.dtype)
            column = (
                pl.select(pl.when(answered).then(new_values).otherwise(old_values))
                .to_series()
                .alias(name)
            )
            columns[name] = column.fill_nan(None) if column.dtype.is_float() else column
        return columns


def _extended(column: pl.Series, labels: Sequence[str]) -> pl.Series:
    """Values of a column with labels that no row has below it; lists of categories that lack them
    become text.
    """
    if not labels:
        return column
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    added = pl.Series(column.name, labels, dtype=pl.String).cast(column.dtype, strict=False)
    if added.null_count():
        raise ParameterError(
            f"pram: {added.null_count()} label(s) in the matrix of {column.name!r} are no values of"
            " its type"
        )
    return pl.concat([column, added])


def answers_of(dataset: Table, columns: Sequence[str]) -> Answers:
    """The answers that occur. A row that lacks one of several columns has no answer."""
    joint, present = codes_of(dataset, columns)
    rows = np.flatnonzero(present)
    codes = np.full(len(dataset), -1, dtype=np.int64)
    codes[rows] = combined([joint[rows]])
    holders = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    holders[codes[rows][::-1]] = rows[::-1]
    _require_few(columns, len(holders))
    pool = {name: dataset.column(name).gather(holders) for name in columns}
    values = [[label(value) for value in pool[name].to_list()] for name in columns]
    return Answers(tuple(columns), codes, tuple(zip(*values, strict=True)), pool)


@dataclasses.dataclass(frozen=True, eq=False)
class AnswerCounts:
    """What is known of the answers of all records: their labels and values, and per stratum how
    often each was given.

    Answers are sorted by their labels. With survey weights their sums go along with the counts.
    """

    labels: tuple[Labels, ...]
    pool: Mapping[str, pl.Series]
    strata: Mapping[Stratum, tuple[Codes, Floats | None]]

    def under(self, answers: Answers) -> Answers:
        """The answers of some records under the codes of all."""
        numbers = {labels: i for i, labels in enumerate(self.labels)}
        of = np.array([numbers[labels] for labels in answers.labels] or [0], dtype=np.int64)
        codes = np.where(answers.codes >= 0, of[answers.codes], -1)
        return Answers(answers.columns, codes, self.labels, self.pool)


class Asking:
    """Counts the answers of all records, by stratum; sums of weights are exact, so that pieces add
    up in any order.
    """

    def __init__(
        self, groups: Sequence[Sequence[str]], within: Callable[[Table], Sequence[str]]
    ) -> None:
        self.groups, self.within = [tuple(group) for group in groups], within
        self.counts: dict[tuple[str, ...], dict[Stratum, dict[Labels, list[int]]]] = {
            g: {} for g in self.groups
        }
        self.pools: dict[tuple[str, ...], dict[Labels, pl.DataFrame]] = {g: {} for g in self.groups}
        self.weighted = False

    def see(self, rows: Table) -> None:
        """Count the answers of some records."""
        strata, names = labelled_strata(rows, self.within(rows))
        weights = weights_of(rows)
        self.weighted = weights is not None
        for group in self.groups:
            answers = answers_of(rows, group)
            answered = np.flatnonzero(answers.codes >= 0)
            pairs = strata[answered] * len(answers.labels) + answers.codes[answered]
            size = len(names) * len(answers.labels)
            masses = [0] * size if weights is None else exact_sums(weights[answered], pairs, size)
            for at, count in zip(*_tally(pairs), strict=True):
                stratum, answer = divmod(at, len(answers.labels))
                stratum_counts = self.counts[group].setdefault(names[stratum], {})
                entry = stratum_counts.setdefault(answers.labels[answer], [0, 0])
                entry[0] += count
                entry[1] += masses[at]
            values = pl.DataFrame(dict(answers.pool))
            for answer, labels in enumerate(answers.labels):
                self.pools[group].setdefault(labels, values[answer])
            _require_few(group, len(self.pools[group]))

    def learnt(self) -> dict[tuple[str, ...], AnswerCounts]:
        """What is known of every group of columns."""
        return {group: self._count_answers(group) for group in self.groups}

    def _count_answers(self, group: tuple[str, ...]) -> AnswerCounts:
        pools = self.pools[group]
        labels = tuple(sorted(pools))
        empty = dict.fromkeys(group, pl.Series(dtype=pl.String))
        pool = (
            pl.concat(
                [pools[answer_label] for answer_label in labels], how="vertical_relaxed"
            ).to_dict()
            if labels
            else empty
        )
        strata = {}
        for name, stratum_counts in self.counts[group].items():
            entries = [stratum_counts.get(answer_label, (0, 0)) for answer_label in labels]
            masses = np.array([rounded(mass) for _, mass in entries]) if self.weighted else None
            strata[name] = np.array([count for count, _ in entries], dtype=np.int64), masses
        return AnswerCounts(labels, pool, strata)


def _tally(codes: Codes) -> tuple[list[int], list[int]]:
    """The codes that occur, and how often."""
    values, counts = np.unique(codes, return_counts=True)
    return values.tolist(), counts.tolist()


def _require_few(columns: Sequence[str], count: int) -> None:
    if count > MOST_VALUES:
        raise SchemaError(
            f"pram: {' × '.join(columns)} has {count:,} different values; at most {MOST_VALUES:,}"
            " make a matrix. Recode it first, or take a step for numbers"
        )


def under_labels(answers: AnswerCounts, column: str, rows: Mapping[str, int]) -> AnswerCounts:
    """The same answers, numbered as the rows of a given matrix are."""
    label_positions = {labels: i for i, labels in enumerate(answers.labels)}
    unknown = sum(1 for (name,) in answers.labels if name not in rows)
    if unknown:
        raise ParameterError(
            f"pram: the matrix of {column!r} has no row for {unknown} value(s) of the column; add"
            " them"
        )
    strange = [name for name in rows if (name,) not in label_positions]
    pool = _extended(answers.pool[column], strange)
    row_positions = {
        **{name: i for (name,), i in label_positions.items()},
        **{n: len(label_positions) + i for i, n in enumerate(strange)},
    }
    order = np.array([row_positions[name] for name in rows], dtype=np.int64)

    def spread(values: Any) -> Any:
        return np.concatenate([values, np.zeros(len(strange), dtype=values.dtype)])[order]

    strata = {
        name: (spread(counts), None if masses is None else spread(masses))
        for name, (counts, masses) in answers.strata.items()
    }
    return AnswerCounts(tuple((name,) for name in rows), {column: pool.gather(order)}, strata)


if TYPE_CHECKING:
    Chosen = list[tuple[Codes, AnswerMatrix]]

Matrix = dict[Value, dict[Value, float]]


def _without_values(matrices: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate, but do not say where: the path to a mistake is made of data values."""
    try:
        return validate(matrices)
    except ValidationError:
        raise ValueError("should map each column to value → released value → probability") from None


@dataclasses.dataclass(frozen=True, eq=False)
class _Asked:
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
    invariant: Annotated[
        Invariant, Field(description="how frequencies are kept in expectation")
    ] = "two_stage"
    theta: Annotated[
        float | None, Field(gt=0, le=1, description="strength of the direct invariant matrix")
    ] = None
    alpha: Annotated[
        float | None, Field(gt=0, le=1, description="share of the two-stage matrix; the rest stays")
    ] = None
    within: Annotated[
        Within | None,
        Field(description="columns that make strata; by default those with that role"),
    ] = None
    jointly: Annotated[bool, Field(description="take the columns together")] = False

    name: ClassVar[str] = "pram"
    secret: ClassVar[tuple[str, ...]] = ("matrix",)

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, within=self.within or ())
        if self.invariant == "direct":
            if self.theta is None or self.retain is not None or self.matrix is not None:
                raise ParameterError("invariant direct takes theta, and neither retain nor matrix")
        elif self.theta is not None or (self.retain is None) == (self.matrix is None):
            raise ParameterError(
                "give retain or matrix, one of them; theta is for invariant direct only"
            )
        if self.alpha is not None and self.invariant != "two_stage":
            raise ParameterError("alpha is for invariant two_stage only")
        if self.matrix is not None:
            self._check_matrices(self.matrix)

    def _check_matrices(self, matrices: dict[str, Matrix]) -> None:
        if self.jointly:
            raise ParameterError(
                "columns taken jointly have a matrix that is made; give retain or theta"
            )
        if set(matrices) != set(self.columns):
            raise ParameterError("give a matrix for each of the columns, and for no others")
        for column, rows in matrices.items():
            try:
                checked_matrix(dense(rows)[1])
            except ParameterError as error:
                raise ParameterError(f"matrix of {column!r}: {error}") from None

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The matrices that are given and left as they are; others are made from the answers."""
        if self.matrix is None or self.invariant != "none":
            return {}
        return {name: Mechanism.of_matrix(_labelled(rows)) for name, rows in self.matrix.items()}

    @property
    def span(self) -> Span:
        """Record by record, once the frequencies are known."""
        return Span.RECORDS

    def learner(self, goal: Goal, facts: Any) -> Learner | None:
        """Counts of the answers in every stratum."""
        return Asking(self._groups, self._within) if facts is None else None

    @property
    def _groups(self) -> list[Sequence[str]]:
        return [self.columns] if self.jointly else [[name] for name in self.columns]

    def _within(self, dataset: Table) -> Sequence[str]:
        return within_apart(dataset, self.within, self.columns)

    def transitions(self, dataset: Table) -> tuple[AnswerMatrix, ...]:
        """The matrices in use, by columns and stratum: for the owner, since their labels are data
        values.
        """
        return tuple(
            t
            for question in self._questions(dataset, Goal())
            for _, t in question.occurring_matrices
        )

    @property
    def clue(self) -> Clue:
        """The matrices, where columns are drawn one by one."""
        return Clue(bool(self.within)) if self.jointly else Randomised(bool(self.within))

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Draw what is released."""
        columns: dict[str, pl.Series] = {}
        preserved, warnings, epsilons, changed = [], [], {}, {}
        for question in self._questions(dataset, goal):
            answers, title = question.answers, question.answers.title
            unit = carrier_of(dataset, answers.columns, question.strata)
            uniforms = goal.keyed(f"pram {title}").uniforms(marks_by(dataset, unit))
            released = drawn(answers, question.strata, question.occurring_matrices, uniforms)
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

    def _questions(self, dataset: Table, goal: Goal) -> Iterator[_Asked]:
        """Per group of columns the answers of the records at hand, and the matrices of all
        strata.
        """
        require_columns(dataset, self.columns, self.name)
        facts: dict[tuple[str, ...], AnswerCounts] = self.facts(dataset, goal)
        strata, names = labelled_strata(dataset, self._within(dataset))
        chance = Chance(self.invariant, self.retain, self.theta, self.alpha)
        for group in self._groups:
            answers, own_matrix = facts[tuple(group)], None
            if self.matrix is not None:
                numbers, own_matrix = dense(self.matrix[group[0]])
                answers = under_labels(answers, group[0], numbers)
            stratum_numbers = {name: s for s, name in enumerate(names)}
            matrices = []
            for name in in_order(answers.strata):
                counts = answers.strata[name][0]
                occurring = np.flatnonzero(counts) if own_matrix is None else np.arange(len(counts))
                labels = tuple(answers.labels[i] for i in occurring.tolist())
                matrix = chance.made(answers, name, own_matrix)
                matrices.append(
                    (
                        occurring,
                        AnswerMatrix(tuple(group), stratum_numbers.get(name, -1), labels, matrix),
                    )
                )
            yield _Asked(answers.under(answers_of(dataset, group)), strata, matrices)

    def _public_facts(self, epsilons: dict[str, float]) -> dict[str, object]:
        if self.invariant == "none":
            holds = "for one answer"
        else:
            holds = (
                "for one answer and whoever knows the matrix, which was made from the frequencies"
                " of the data"
            )
        return {
            "invariant": self.invariant,
            "local_epsilon": {title: finite(epsilon) for title, epsilon in epsilons.items()},
            "local_epsilon_holds": holds,
            "fixed_mechanism": sorted(self.mechanisms),
        }


def _labelled(rows: Rows) -> dict[str, dict[str, float]]:
    """A matrix by the labels of its values; values with one label are one."""
    matrix: dict[str, dict[str, float]] = {}
    for value, row in rows.items():
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
    off = (
        float(np.abs(after - before).sum() / max(2 * before.sum(), 1e-300))
        if present.any()
        else 0.0
    )
    return Preserved(
        "frequencies" if weights is None else "weighted frequencies", answers.columns, False, off
    )


def _warnings(
    dataset: Table, answers: Answers, matrices: Chosen, epsilon: float, unit: str
) -> list[str]:
    warnings = []
    if not math.isfinite(epsilon):
        warnings.append(
            f"pram: some released value of {answers.title!r} rules out an original one; there is"
            " no ε"
        )
    alone = sum(1 for _, t in matrices if len(t.labels) == 1)
    if alone:
        warnings.append(
            f"pram: {answers.title!r} has one value only in {alone:,} of {len(matrices):,} strata;"
            " it stays there"
        )
    partly = int((answers.codes < 0).sum()) if len(answers.columns) > 1 else 0
    if partly:
        warnings.append(
            f"pram: {partly:,} row(s) lack a value of {answers.title!r} and are released as"
            " they are"
        )
    persons = units_of(dataset, "person")
    if unit == "row" and persons is not None and len(np.unique(persons)) < len(persons):
        warnings.append(
            f"pram: persons have several rows with answers of {answers.title!r} of their own; their"
            " ε adds up"
        )
    return warnings
