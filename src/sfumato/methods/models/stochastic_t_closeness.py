"""Stochastic t-closeness: after randomisation a class looks like the table."""

from __future__ import annotations

import contextlib
import math
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.classes import Counts
from sfumato.core.mechanism import Mechanism
from sfumato.core.model import (
    TOLERANCE,
    ClassEvidence,
    Facts,
    Model,
    Needs,
    SensitiveModel,
    Verdict,
    before_masking,
)
from sfumato.core.parameters import parameters
from sfumato.core.schema import checked_bounds
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.axes import axis_problem
from sfumato.methods.formulas.number_grids import NumberGrid
from sfumato.methods.models.sensitive import (
    Reference,
    Sensitive,
    needs_of,
    share_of_records,
    spoken,
    verdict_of_worst,
)
from sfumato.methods.models.t_closeness import axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema

    Floats = NDArray[np.float64]

Distance = Literal["multiplicative", "equal", "ordered"]
TAKEN_BY = {
    "matrix": ("matrix",),
    "scale": ("laplace",),
    "epsilon": ("laplace_noise", "private"),
    "bounds": ("laplace_noise",),
}
"""Fields of single mechanisms, which must be given for these."""
CELLS = 4_000_000
"""Mixtures are worked out for so many classes at a time that they have at most this many cells."""


@parameters
class StochasticTCloseness(SensitiveModel):
    r"""After every sensitive value passed through a random mechanism, each class is within distance
    t of the table.

    .. math::
        P_E(B) = \frac{1}{n_E} \sum_{i \in E} \Pr[Z(c_i) \in B], \qquad
        P(B) = \frac{1}{N} \sum_i \Pr[Z(c_i) \in B], \qquad d(P_E, P) \le t

    Both are the *theoretical* mixtures: what the mechanism does to the true values, never one
    outcome of it. They are taken from the original table where it is at hand, and otherwise the
    column is taken to be unmasked yet. No table shows by which mechanism it was
    made: the promise holds only of a run in which a step applied exactly this one to the original
    values, after the last step that changed classes, records or the column; of anything else it is
    unknown, and fails. Mechanisms:

    - ``matrix``: value *v* becomes *w* with probability ``matrix[v][w]`` (the step ``pram`` with
      the same ``matrix`` and ``invariant: none``). Missing values stay missing.
    - ``laplace_noise``: values are cut off at ``bounds``, moved to multiples of ``unit``, and get
      discrete Laplace noise with ``epsilon`` (the step ``laplace_noise`` with the same). Between
      two neighbouring values both mixtures have the form :math:`A e^{x/b} + B e^{-x/b}`, so their
      ratio is a Möbius function of :math:`e^{2x/b}` and monotone; outside all values it is
      constant. The largest ratio is therefore taken at a value that occurs.
    - ``laplace``: noise of density :math:`e^{-|x|/b}/2b`, b = ``scale``, by the same argument. No
      step adds it: the model tells what would hold.
    - ``private``: any mechanisms that together are ε-private for the values of one record, in one
      column or several (``laplace_noise`` on each, their ε summed up). Then every class E of the N
      released records is within :math:`t = n_E/N + (1 - n_E/N)\, e^{\varepsilon}`
      of the released table, by the corrected Proposition 1 of the reference; the smallest class
      decides, no value is looked at, and the distance is that of the *combinations* of all columns.
      Its ``reference`` is ``released``.

    ``distance`` is ``multiplicative``, :math:`\sup_B \max(P_E(B)/P(B), P(B)/P_E(B)) \ge 1`, for all
    mechanisms; ``equal`` (total variation) and ``ordered`` in [0, 1] for the matrix. ``reference``
    and empty tables are as in t-closeness; rows are counted, not persons. A mechanism that is
    ε-private for each record gives
    :func:`~sfumato.methods.formulas.bridge.implied_t`. Factors beyond 1e300 are called infinite. No
    other tool has the model.

    Reference: Domingo-Ferrer & Soria-Comas 2015, doi:10.1016/j.knosys.2014.11.011.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = StochasticTCloseness("salary", t=2, mechanism="laplace", scale=5)
    >>> model.judge(
    ...     gather(examples.salaries(grouping="spread"), [model])
    ... ).sentence  # once the noise is added
    'no class is farther than a factor of 1.372 from the original table'
    """

    sensitive: Sensitive
    t: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="largest distance; multiplicative: largest factor",
        ),
    ]
    mechanism: Annotated[
        Literal["matrix", "laplace_noise", "laplace", "private"],
        Field(description="how values are randomised"),
    ]
    scale: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="laplace: scale of the noise, in units of the column",
        ),
    ] = None
    matrix: Annotated[
        dict[str, dict[str, Annotated[float, Field(ge=0, le=1)]]] | None,
        Field(description="matrix: for each value the probability of every value it may become"),
    ] = None
    epsilon: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="laplace_noise: ε of the column; private: ε of all columns together",
        ),
    ] = None
    bounds: Annotated[
        tuple[float, float] | None, Field(description="laplace_noise: lowest and highest value")
    ] = None
    unit: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="laplace_noise: how far released values lie apart, as the step says",
        ),
    ] = None
    distance: Annotated[Distance, Field(description="how distributions are compared")] = (
        "multiplicative"
    )
    reference: Annotated[
        Reference, Field(description="the table that classes are compared with")
    ] = "original"

    name: ClassVar[str] = "stochastic_t_closeness"
    secret: ClassVar[tuple[str, ...]] = ("matrix",)
    facts: ClassVar[Facts] = Facts(against="attribute", truthful=False)
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field, mechanisms in TAKEN_BY.items():
            value = getattr(self, field)
            if field != "unit" and (self.mechanism in mechanisms) != (value is not None):
                raise ParameterError(
                    f"{field} must be given for {join_words(mechanisms)}, and only there"
                )
        if self.unit is not None and self.mechanism != "laplace_noise":
            raise ParameterError("unit is for the mechanism laplace_noise only")
        if self.bounds is not None:
            checked_bounds(self.bounds)
            _ = self._grid  # a unit that does not fit the bounds is refused here
        if self.mechanism != "matrix" and self.distance != "multiplicative":
            raise ParameterError(
                f"the mechanism {self.mechanism} has the multiplicative distance only; choose that"
            )
        if self.mechanism == "private" and self.reference != "released":
            raise ParameterError(
                "the mechanism private compares classes with what is released; set reference: "
                "released"
            )
        if not isinstance(self.sensitive, str) and self.mechanism != "private":
            raise ParameterError(
                f"the mechanism {self.mechanism} is about one column; name one, or use private for "
                "several columns together"
            )
        wrong = []
        for row in (self.matrix or {}).values():
            if abs(sum(row.values()) - 1) > TOLERANCE:
                wrong.append(row)
        if wrong:
            raise ParameterError(
                f"every row of the matrix must sum to 1; {len(wrong)} of {len(self.matrix or {})}"
                " do not"
            )
        if self.distance == "multiplicative" and self.t < 1:
            raise ParameterError(
                "t should be at least 1 for the multiplicative distance, where 1 means equal"
            )
        if self.distance != "multiplicative" and self.t > 1:
            raise ParameterError(
                f"t should be at most 1 for the {self.distance} distance, where 1 means disjoint"
            )

    @property
    def randomised(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.about

    def fits(self, mechanisms: Mapping[str, Mechanism]) -> bool:
        """Whether the column was released by exactly this mechanism; of ``private``, all columns by
        some whose ε come to no more in all.
        """
        rules = [mechanisms.get(name) for name in self.about]
        if self.mechanism != "private":
            return rules == [self._rule]
        epsilons = [rule.epsilon for rule in rules if rule is not None and rule.epsilon is not None]
        # 1e-12 forgives the rounding of parts of ε that were summed up.
        limit = (self.epsilon or 0.0) * (1 + 1e-12)
        return len(epsilons) == len(rules) and math.fsum(epsilons) <= limit

    @property
    def _rule(self) -> Mechanism:
        """The mechanism that must have released the column."""
        if self.mechanism == "matrix":
            return Mechanism.of_matrix(self.matrix or {})
        if self.mechanism == "laplace_noise":
            return Mechanism(
                "laplace_noise", epsilon=self.epsilon, bounds=self.bounds, unit=self.unit
            )
        return Mechanism(self.mechanism, scale=self.scale)

    @property
    def _grid(self) -> NumberGrid:
        low, high = self.bounds or (0.0, 1.0)
        return NumberGrid(low, high, self.unit)

    @property
    def scope(self) -> Literal["class", "table"]:
        """The released reference depends on which classes are kept."""
        if self.reference == "original":
            return "class"
        return "table"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        how: str = self.mechanism.replace("_", " ")
        if self.mechanism == "private":
            how = f"ε = {self.epsilon:g}"
        if self.distance != "multiplicative":
            how += f", {self.distance} distance"
        return f"stochastic {self.t:g}-closeness of {spoken(self.sensitive)} ({how})"

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column as it was before masking, counted per class; its scale or order must
        be known.
        """
        needs_of(self.promise, self.sensitive, schema)
        # The sizes of classes decide, whatever the values are.
        if self.mechanism == "private":
            return Needs()
        column = self._column
        used = self.distance if self.mechanism == "matrix" else "numeric"
        problem = axis_problem(column, schema[column], used)
        if problem:
            raise SchemaError(f"{self.promise}: {problem}")
        return Needs(counts=(column,), unmasked=(column,), reference=self.reference == "original")

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes that are too far from the reference."""
        return self._distances(evidence) > self.t + TOLERANCE

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The smallest t that holds, and the classes farther away than promised."""
        distances = self._distances(evidence)
        failing = distances > self.t + TOLERANCE
        return verdict_of_worst(
            self,
            evidence,
            failing,
            distances,
            worst="largest",
            required=self.t,
            sentence=self._sentence,
        )

    def implies(self, model: Model) -> bool:
        """A smaller t implies a larger one for the same mechanism; a factor t is an equal distance
        of 1 − 1/t.
        """
        if not isinstance(model, StochasticTCloseness) or self._setting() != model._setting():
            return False
        if self.distance == model.distance:
            return self.t <= model.t
        if self.distance == "multiplicative":
            return 1 - 1 / self.t <= model.t
        return self.distance == "equal" and model.distance == "ordered" and self.t <= model.t

    def _setting(self) -> tuple[Any, ...]:
        rule = self.mechanism, self.scale, self.matrix, self.epsilon, self.bounds, self.unit
        return self.sensitive, rule, self.reference

    @property
    def _column(self) -> str:
        """The sensitive column, where there is one only."""
        return self.about[0]

    def _distances(self, evidence: ClassEvidence) -> Floats:
        if self.mechanism == "private":
            sizes = evidence.classes.records
            share = sizes / max(1, int(sizes.sum()))
            return np.asarray(share + (1 - share) * math.exp(self.epsilon or 0.0))
        name = before_masking(self._column)
        # The values before masking where the original is at hand; else the column is unmasked yet.
        column: Column = name if name in evidence.classes.counts else self._column
        counts = evidence.classes.counts[column]
        if self.reference == "original":
            reference = evidence.reference[column]
        else:
            reference = counts.total()
        if not len(evidence.classes):
            return np.zeros(0)
        if self.mechanism == "matrix":
            from scipy.sparse import csr_array

            matrix, outcomes = self._matrix_of(counts.labels)
            # Counts are kept as a sparse matrix is: class c has the entries starts[c] to starts[c +
            # 1].
            class_counts = counts.counts.astype(np.float64)
            rows = csr_array(
                (class_counts, counts.codes, counts.starts),
                shape=(len(evidence.classes), len(matrix)),
            )
            # Expected shares of the outcomes: a mixture of the rows of the matrix.
            table = reference @ matrix / reference.sum()
            order = None
            if self.distance == "ordered":
                order = self._order(evidence, outcomes)
            # In portions: classes by outcomes may be a large table.
            step = max(1, CELLS // max(1, len(outcomes)))
            matrices = []
            for start in range(0, len(evidence.classes), step):
                block = rows[start : start + step]
                mixed = np.asarray(block @ matrix) / block.sum(axis=1)[:, None]
                matrices.append(_distances_to(table, mixed, self.distance, order))
            return np.concatenate(matrices)
        return self._after_noise(evidence, counts, reference)

    def _after_noise(
        self, evidence: ClassEvidence, counts: Counts, reference: NDArray[np.int64]
    ) -> Floats:
        if self.mechanism == "laplace_noise":
            grid = self._grid
            steps = grid.positions(_numbers(counts.labels)).astype(np.float64)
            # Values at one position are one: noise is added to positions.
            values, positions = np.unique(steps, return_inverse=True)
            scale = grid.steps / (self.epsilon or math.inf)
        else:
            positions, values = axis(
                counts,
                reference,
                self._column,
                evidence.schema[self._column],
                "numeric",
                only_reference=False,
            )
            scale = self.scale or math.inf
        # How much of the density at a value reaches the next one.
        decay = np.exp(-np.diff(values) / scale)
        mass = np.bincount(positions, reference, len(values))
        table = kernels.distributions.mix_densities(mass, decay) / reference.sum()
        return np.asarray(
            kernels.distributions.find_farthest_ratios(
                counts.starts, positions[counts.codes], counts.counts, table, decay
            )
        )

    def _matrix_of(self, labels: Sequence[str | None]) -> tuple[Floats, list[str | None]]:
        """The matrix for the values that occur, and the values they may become."""
        rows_by_label = self.matrix or {}
        unknown = sum(1 for label in labels if label is not None and label not in rows_by_label)
        if unknown:
            raise SchemaError(
                f"{self.promise}: {unknown} value(s) of {self._column!r} have no row in the "
                "matrix; add them"
            )
        outcomes: list[str | None] = [*sorted(set(chain.from_iterable(rows_by_label.values())))]
        # Missing values stay missing, so they are an outcome of their own where there are any.
        outcomes += [None] if None in labels else []
        at = {label: i for i, label in enumerate(outcomes)}
        matrix = np.zeros((len(labels), len(outcomes)))
        for i, label in enumerate(labels):
            row = {None: 1.0} if label is None else rows_by_label[label]
            for after, chance in row.items():
                matrix[i, at[after]] = chance
        return matrix, outcomes

    def _order(self, evidence: ClassEvidence, outcomes: Sequence[str | None]) -> NDArray[np.int64]:
        """Positions of the outcomes from the lowest to the highest."""
        # Only labels are needed to put outcomes in order: the counts are empty.
        nothing = np.zeros(0, dtype=np.int64)
        counts = Counts(np.zeros(1, dtype=np.int64), nothing, nothing, tuple(outcomes))
        zeros = np.zeros(len(outcomes), dtype=np.int64)
        positions, _ = axis(
            counts,
            zeros,
            self._column,
            evidence.schema[self._column],
            "ordered",
            only_reference=False,
        )
        return np.argsort(positions)

    def _sentence(
        self, evidence: ClassEvidence, failing: NDArray[np.bool_], attained: float
    ) -> str:
        if self.distance == "multiplicative":
            far = f"a factor of {attained:.4g}"
        else:
            far = f"{attained:.4g}"
        if failing.any():
            return (
                f"{share_of_records(evidence, failing)} belong to a class too far from the "
                f"{self.reference} table; the farthest is at {far}"
            )
        return f"no class is farther than {far} from the {self.reference} table"


def _numbers(labels: Sequence[str | None]) -> Floats:
    """Labels as numbers; what is missing or no number is NaN."""
    numbers = np.full(len(labels), np.nan)
    for i, text in enumerate(labels):
        with contextlib.suppress(TypeError, ValueError):
            numbers[i] = float(text)  # type: ignore[arg-type]
    return numbers


def _distances_to(
    table: Floats,
    mixed: Floats,
    distance: Distance,
    order: NDArray[np.int64] | None,
) -> Floats:
    """Distance of every row of mixtures to that of the table."""
    if distance == "equal":
        return np.asarray(np.abs(mixed - table).sum(axis=1) / 2)
    if order is not None:
        # Both sum to 1, so the last running sum is 0 and left out.
        moved = np.cumsum((mixed - table)[:, order], axis=1)
        steps = np.abs(moved)[:, :-1]
        return np.asarray(steps.sum(axis=1) / max(1, len(table) - 1))
    # Outcomes that are impossible in both have no ratio; 1 says that they do not differ.
    possible = (mixed > 0) | (table > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(possible, np.maximum(mixed / table, table / mixed), 1.0)
    return np.asarray(ratios.max(axis=1, initial=1.0))
