"""t-closeness: a class looks like the table."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.model import (
    TOLERANCE,
    ClassEvidence,
    Facts,
    Model,
    Needs,
    SensitiveModel,
    Verdict,
    finite,
)
from sfumato.core.parameters import parameters
from sfumato.core.schema import Attribute, Kind, Schema
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.axes import axis_problem, nodes_above, sort_keys
from sfumato.methods.formulas.class_bounds import (
    least_size_for_factor,
    least_size_for_shares,
    least_size_in_tree,
    least_size_on_line,
)
from sfumato.methods.models.beta_likeness import BetaLikeness, DeltaDisclosure
from sfumato.methods.models.sensitive import (
    Reference,
    Sensitive,
    bound_in_words,
    counts_of,
    extreme,
    forced_records,
    is_constant,
    known_by_it,
    needs_of,
    reference_of,
    share_of_records,
    spoken,
    verdict_of_worst,
    with_reason,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import Counts
    from sfumato.core.encoding import Column

    Ints = NDArray[np.int64]


T = TypeVar("T")
Distance = Literal["equal", "ordered", "numeric", "hierarchical", "multiplicative"]


# How far apart two values of a column are: their order, their scale or their tree.
#
# What is worked out here depends on the values of a column alone and is kept with its counts, so
# that a search over thousands of nodes does it once.


def axis(
    counts: Counts,
    reference: Ints,
    column: str,
    attribute: Attribute,
    distance: str,
    *,
    only_reference: bool,
) -> tuple[Ints, NDArray[np.float64]]:
    """Rank of every value, and the position of every rank on the axis.

    Under the ordered distance values are 1 apart, under the numeric one they lie where they are.
    With ``only_reference`` values that the reference lacks do not stretch the axis.
    """
    order, positions, values = _once(
        counts,
        (attribute.kind, attribute.order),
        lambda: _measure_axis(counts, reference, column, attribute),
    )
    if only_reference:
        occurring = reference[order] > 0
    else:
        occurring = np.ones(len(order), dtype=np.bool_)
    if distance == "numeric":
        inside = values[occurring]
        return positions, np.clip(values, inside[0], inside[-1])
    return positions, np.maximum(np.cumsum(occurring) - 1.0, 0.0)


def tree(counts: Counts, attribute: Attribute) -> tuple[Ints, int]:
    """Per value the nodes above it, from itself to below the top, numbered over all levels; and how
    many there are.
    """
    return _once(
        # The attribute is kept with the result: while it lives its id is no other hierarchy's.
        counts,
        ("tree", id(attribute.hierarchy)),
        lambda: (*_nodes(counts, attribute), attribute),
    )[:2]


def _once(counts: Counts, key: object, work: Callable[[], T]) -> T:
    if key not in counts.worked_out:
        counts.worked_out[key] = work()
    worked_out: T = counts.worked_out[key]
    return worked_out


def _measure_axis(
    counts: Counts, reference: Ints, column: str, attribute: Attribute
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Codes from the lowest value to the highest, the rank of each code, and the ascending values
    (0 unless numeric).
    """
    # Counts may have a label that no released record has, so the original is asked, too.
    if None in counts.labels:
        code = counts.labels.index(None)
        missing = max(int(reference[code]), int(counts.total()[code]))
        raise SchemaError(
            f"column {column!r} has {missing:,} missing value(s), which have no position in an "
            "order; fill or drop them, or use the equal distance"
        )
    keys = sort_keys([label for label in counts.labels if label is not None], column, attribute)
    # From codes in order of value to the place of each code: keys 30, 10, 20 → order 1, 2, 0.
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order))
    numeric = attribute.kind is Kind.NUMERIC
    numbers = [keys[code] if numeric else 0.0 for code in order]
    return (order, positions, np.array(numbers, dtype=np.float64))


def _nodes(counts: Counts, attribute: Attribute) -> tuple[Ints, int]:
    return nodes_above(counts.labels, counts.total().tolist(), attribute)


@parameters
class TCloseness(SensitiveModel):
    r"""In every class the distribution of the sensitive column is within distance t of that in the
    whole table.

    .. math::
        \text{equal: } \tfrac12 \sum_i |q_i - p_i| \qquad
        \text{ordered: } \frac{1}{m-1} \sum_{i=1}^{m-1} |Q_i - P_i| \qquad
        \text{numeric: } \frac{\sum_i |Q_i - P_i|\,(x_{i+1} - x_i)}{x_m - x_1}

        \text{hierarchical: } \frac{1}{2H} \sum_{v} |q(v) - p(v)| \qquad
        \text{multiplicative: } \max_i \max\Bigl(\frac{q_i}{p_i}, \frac{p_i}{q_i}\Bigr)

    :math:`q` is the distribution in a class, :math:`p` the reference, :math:`Q, P` their cumulative
    sums over the *m* values :math:`x_1 < \dots < x_m` that occur in the table; *v* runs over the
    nodes below the top of the column's hierarchy, which has *H* steps. All but the last are earth
    mover's distances in [0, 1]; the sum over nodes equals the usual
    ``Σ height/H · min(surplus, deficit)``. The last is in [1, ∞]: a value a class lacks makes it
    infinite.

    ``reference="original"`` compares with the table before suppression, ``"released"`` with what is
    left, which anybody can check on the released file; verdicts name both. With the second,
    dropping a class moves the goal for the others, so suppression is repeated until nothing fails.
    ``ordered`` follows numbers, dates (ISO) or the schema's ``order``; ``hierarchical`` the
    schema's hierarchy of the column. A missing value is a value of its own, as far from all others
    as can be; ordered and numeric distances refuse missing values. A list of columns stands for the
    combinations of their values, for the equal and multiplicative distances. An empty table keeps
    every promise; a constant column is refused.

    ARX agrees on equal, ordered and hierarchical and always compares with all input records. The
    paper's worked example 0.278 of the hierarchical distance counts each disease once instead of as
    often as it occurs. pycanon takes the ordered distance for numbers and the equal one for text;
    neither is a choice, and missing values are dropped.

    Reference: Li, Li & Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856; multiplicative:
    Domingo-Ferrer & Soria-Comas 2015, *From t-closeness to differential privacy and vice versa*,
    doi:10.1016/j.knosys.2014.11.011.

    >>> from sfumato import examples
    >>> from sfumato.core.evidence import gather
    >>> model = TCloseness("salary", t=0.2, distance="ordered")
    >>> model.judge(gather(examples.salaries(grouping="spread"), [model]))
    ✓ 0.2-closeness of salary (ordered distance): no class is farther than 0.1667 from the original
    table
    """

    sensitive: Sensitive
    t: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            examples=[0.2],
            description="largest distance; multiplicative: largest factor",
        ),
    ]
    distance: Annotated[Distance, Field(description="how distributions are compared")] = "equal"
    reference: Annotated[
        Reference, Field(description="the table that classes are compared with")
    ] = "original"

    name: ClassVar[str] = "t_closeness"
    facts: ClassVar[Facts] = Facts(against="attribute")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.distance == "multiplicative" and self.t < 1:
            raise ParameterError(
                "t should be at least 1 for the multiplicative distance, where 1 means equal"
            )
        if self.distance != "multiplicative" and self.t > 1:
            raise ParameterError(
                f"t should be at most 1 for the {self.distance} distance, where 1 means disjoint"
            )
        if not isinstance(self.sensitive, str) and self.distance not in ("equal", "multiplicative"):
            raise ParameterError(
                f"the {self.distance} distance compares values of one column, not combinations of "
                "several; name one column"
            )

    @property
    def scope(self) -> Literal["class", "table"]:
        """The released reference depends on which classes are kept."""
        if self.reference == "original":
            return "class"
        return "table"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        if self.reference == "original":
            against = ""
        else:
            against = ", to what is released"
        return (
            f"{self.t:g}-closeness of {spoken(self.sensitive)} ({self.distance} distance{against})"
        )

    def needs(self, schema: Schema) -> Needs:
        """The sensitive column, counted per class; its order, scale or hierarchy must be known."""
        needs = needs_of(
            self.promise, self.sensitive, schema, reference=self.reference == "original"
        )
        if isinstance(self.sensitive, str):
            attribute = schema[self.sensitive]
            problem = axis_problem(self.sensitive, attribute, self.distance)
            if self.distance == "hierarchical" and attribute.hierarchy is None:
                problem = (
                    f"the hierarchical distance needs a hierarchy of {self.sensitive!r}; give"
                    " it one"
                )
            if problem:
                raise SchemaError(f"{self.promise}: {problem}")
        return needs

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes that are too far from the reference.

        Under the released reference only those more than halfway between t and the farthest: once
        they are gone the others may resemble what is left.
        """
        distances = self._distances(evidence, self.reference)
        failing: NDArray[np.bool_] = distances > self.t + TOLERANCE
        if self.reference == "released" and failing.any():
            failing &= distances >= (self.t + distances.max()) / 2
        return failing

    def forced(self, evidence: ClassEvidence) -> Ints:
        """Per class, how many of its records every finer recoding must suppress."""
        # The reference moves with what is suppressed: nothing is certain beforehand.
        if self.reference == "released":
            return np.zeros(len(evidence.classes), dtype=np.int64)
        distances, pulls = self._compared(evidence, "original")
        failing = distances > self.t + TOLERANCE
        if self.distance == "multiplicative":
            counts = counts_of(evidence, self.sensitive)
            reference = reference_of(evidence, self.sensitive)
            shares = reference / max(1, reference.sum())
            fewest_removed = kernels.distributions.count_least_removed(
                counts.starts, counts.codes, counts.counts, shares * self.t, shares / self.t
            )
        else:
            # of a constant column all: no class of it holds
            fewest_removed = np.array(evidence.classes.records, dtype=np.float64)
            movable = failing & np.isfinite(pulls)
            # What stays is within t, what goes no farther than the pull: d ≤ (1 − f)·t + f·pull for
            # a share f that goes.
            fewest_removed[movable] *= (distances[movable] - self.t) / (pulls[movable] - self.t)
        return forced_records(evidence, failing, fewest_removed)

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The smallest t that holds, and the classes farther away than promised."""
        distances = self._distances(evidence, self.reference)
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

    def judge_without_suppressed(
        self, evidence: ClassEvidence, suppressed: int, attained: float
    ) -> Verdict | None:
        r"""Judge against the original by the released records alone, where *s* of *N* records were
        suppressed.

        With released, suppressed and original distributions R, S
        and P: :math:`P = (1 - s/N) R + (s/N) S`. Earth mover's distances are norms of differences
        in which values are at most 1 apart,
        so :math:`|D(Q, P) - D(Q, R)| \le D(R, P) = (s/N) D(R, S) \le s/N`.
        """
        verdict = self.judge(evidence)
        bounds = self._bounds_without(evidence, suppressed)
        if bounds is None or suppressed == 0:
            return verdict if suppressed == 0 else None
        low, high = bounds
        sentence = f"no class is farther than {attained:.4g} from the original table"
        released = finite(verdict.attained)
        if released is not None and abs(released - attained) > TOLERANCE:
            sentence += f" (from the released one {released:.4g})"
        # Certainly broken; then: a distance that cannot be; then: it cannot be told from here.
        if low > self.t + TOLERANCE:
            return dataclasses.replace(verdict, holds=False, attained=low)
        if not low - TOLERANCE <= attained <= high + TOLERANCE:
            return dataclasses.replace(verdict, holds=False, attained=min(max(attained, low), high))
        if high > self.t + TOLERANCE:
            return None
        none = verdict.failing[:0]
        return dataclasses.replace(
            verdict,
            holds=True,
            attained=attained,
            sentence=sentence,
            failing=none,
            failing_sizes=verdict.failing_sizes[:0],
            records=0,
        )

    def _bounds_without(
        self, evidence: ClassEvidence, suppressed: int
    ) -> tuple[float, float] | None:
        """The least and the largest that the distance from the original can be.

        Suppressed values that no released record has stretch the axis: under the ordered distance
        up to *s* of them lie between two of the *m* released ones, and each may add up to the equal
        distance; under the numeric one they only shrink the distance from the released table. A
        hierarchy may have been learnt with them, so the equal distance stands for its own.
        """
        distances = self._distances(evidence, "original")
        slack = 0.0
        if suppressed:
            # s of all N = released + suppressed records: the most that they move the original.
            slack = suppressed / (int(evidence.classes.records.sum()) + suppressed)
        if (
            not len(distances)
            or not np.isfinite(distances).all()
            or self.distance == "multiplicative"
        ):
            return None
        counts = counts_of(evidence, self.sensitive)
        equal, _ = kernels.distributions.measure_total_variations(
            counts.starts, counts.codes, counts.counts, counts.total()
        )
        low, high = distances, distances
        if self.distance == "ordered":
            steps = max(1, int((counts.total() > 0).sum()) - 1)
            low = distances * steps / (steps + suppressed)
            high = (distances * steps + equal * suppressed) / (steps + suppressed)
        elif self.distance == "numeric":
            low = np.zeros_like(distances)
        elif self.distance == "hierarchical":
            low = np.zeros_like(distances)
            high = equal
        lower = max(0.0, float(low.max()) - slack)
        upper = min(1.0, float(high.max()) + slack)
        return lower, upper

    def implies(self, model: Model) -> bool:
        """A smaller t implies a larger one; the equal distance bounds all others in [0, 1], as
        values are at most 1 apart.

        The multiplicative distance bounds both a gain and a loss of share: hence δ-disclosure,
        basic β-likeness, and an equal distance of at most ``1 − 1/t``.
        """
        if isinstance(model, TCloseness):
            return self._nearer_than(model)
        if self.distance != "multiplicative" or self.reference != "original":
            return False
        if isinstance(model, DeltaDisclosure):
            return (
                model.sensitive == self.sensitive and math.log(self.t) < model.delta - 2 * TOLERANCE
            )
        # A factor of at most t is a relative gain of at most t − 1.
        return self.t > 1 and BetaLikeness(self.sensitive, beta=self.t - 1).implies(model)

    def holds_within(self, sensitive: Column, factor: float) -> bool:
        """A factor is a multiplicative distance, whichever distance is asked for here."""
        return TCloseness(sensitive, t=factor, distance="multiplicative")._nearer_than(self)

    def _nearer_than(self, model: TCloseness) -> bool:
        if (model.sensitive, model.reference) != (self.sensitive, self.reference):
            return False
        if self.distance == model.distance:
            return self.t <= model.t
        if self.distance == "multiplicative":
            # With q ≥ p/t a class lacks at most 1 − 1/t of any share, and in all as well.
            return 1 - 1 / self.t <= model.t
        return self.distance == "equal" and model.distance != "multiplicative" and self.t <= model.t

    @classmethod
    def usual_degrees(cls, sensitive: str, k: int) -> Sequence[Model]:
        """Distances of 0.05 to 0.5, and factors of 1.5 to 4."""
        distances: tuple[Distance, ...] = ("equal", "ordered", "numeric", "hierarchical")
        degrees = list(itertools.product(distances, (0.05, 0.1, 0.2, 0.3, 0.5)))
        degrees += [("multiplicative", factor) for factor in (1.5, 2.0, 4.0)]
        return [cls(sensitive, t=t, distance=distance) for distance, t in degrees]

    def class_bound(self, evidence: ClassEvidence) -> int | None:
        """Shares in a class of m records are multiples of 1/m: a class too small cannot be near.

        None for the released reference, which moves with what is suppressed.
        """
        if self.reference == "released":
            return None
        if not len(evidence.classes) or is_constant(evidence, self.sensitive):
            return 0
        counts = counts_of(evidence, self.sensitive)
        reference = reference_of(evidence, self.sensitive)
        most = evidence.classes.total
        if self.distance == "equal":
            size = least_size_for_shares(reference, self.t)
        elif self.distance == "multiplicative":
            size = least_size_for_factor(reference, self.t)
            # Every class has every value of the original.
            most = size * int(counts.total()[reference > 0].min())
        elif self.distance == "hierarchical":
            nodes = tree(counts, evidence.schema[str(self.sensitive)])
            size = least_size_in_tree(reference, *nodes, self.t)
        else:
            column = str(self.sensitive)
            attribute = evidence.schema[column]
            ranks, positions = axis(
                counts, reference, column, attribute, self.distance, only_reference=False
            )
            in_order = np.zeros(len(positions), dtype=np.int64)
            in_order[ranks] = reference
            gaps = np.diff(positions) / max(positions[-1] - positions[0], TOLERANCE)
            size = least_size_on_line(in_order, gaps, self.t)
        return min(most, evidence.classes.total) // size

    def _distances(self, evidence: ClassEvidence, which: Reference) -> NDArray[Any]:
        """Distance of every class to a reference."""
        return self._compared(evidence, which)[0]

    def _compared(
        self, evidence: ClassEvidence, which: Reference
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Distance of every class to a reference, and how much of it a single record can account
        for.
        """
        counts = counts_of(evidence, self.sensitive)
        reference = reference_of(evidence, self.sensitive, which)
        rows = counts.starts, counts.codes, counts.counts, reference
        compared: tuple[NDArray[Any], NDArray[Any]]
        if not len(evidence.classes):
            compared = np.zeros(0), np.zeros(0)
        elif is_constant(evidence, self.sensitive, self.reference):
            # A constant column makes every class look like the table, yet hides nothing.
            compared = (np.full(len(evidence.classes), np.inf),) * 2
        elif self.distance == "equal":
            compared = kernels.distributions.measure_total_variations(*rows)
        elif self.distance == "multiplicative":
            smallest, largest, complete = kernels.distributions.find_ratio_ranges(*rows)
            factors = np.where(complete, np.maximum(largest, 1.0 / smallest), np.inf)
            compared = factors, factors
        elif self.distance == "hierarchical":
            nodes = tree(counts, evidence.schema[str(self.sensitive)])
            compared = kernels.distributions.measure_tree_distances(*rows, *nodes)
        else:
            column = str(self.sensitive)
            only_reference = which == "released"
            attribute = evidence.schema[column]
            positions = axis(
                counts, reference, column, attribute, self.distance, only_reference=only_reference
            )
            compared = kernels.distributions.measure_line_distances(*rows, *positions)
        return compared

    def _sentence(
        self, evidence: ClassEvidence, failing: NDArray[np.bool_], attained: float
    ) -> str:
        if is_constant(evidence, self.sensitive, self.reference):
            return known_by_it(evidence, failing, self.sensitive, self.reference)
        text = f"no class is farther than {attained:.4g} from the {self.reference} table"
        if failing.any():
            text = (
                f"{share_of_records(evidence, failing)} belong to a class farther than {self.t:g} "
                f"from the {self.reference} table; the farthest is at {attained:.4g}"
            )
        text += self._other_reference(evidence, attained)
        if failing.any():
            return with_reason(text, bound_in_words(self.class_bound(evidence)))
        return text

    def _other_reference(self, evidence: ClassEvidence, attained: float) -> str:
        """What the other reference would give, where it is known and differs."""
        which: Reference = "released" if self.reference == "original" else "original"
        if which == "original" and self.sensitive not in evidence.reference:
            return ""
        farthest = extreme(self._distances(evidence, which), "largest")
        if abs(farthest - attained) <= TOLERANCE or farthest == attained:
            return ""
        return f" (from the {which} one {farthest:.4g})"
