"""k-confusion: the attacks that were run cannot tell k people apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.model import TOLERANCE, ClassEvidence, Facts, Model, Needs, Posterior, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema


@parameters
class KConfusion(Model):
    r"""For every released record, at least k originals remain likely under each attack that was
    run.

    .. math:: \min_a \min_y \bigl|\{x : P_a(x \mid y) \ge t\}\bigr| \ge k

    :math:`P_a(x \mid y)` is the probability that attack *a* gives to released record *y* being
    original *x*: one matrix an attack, dense or scipy sparse, a row for every released record,
    summing to 1. Without ``t`` every positive probability counts (k-confusion); with
    it, :math:`0 < t \le 1/k` ((k,t)-confusion), and t = 1/k asks for k equally likely originals.

    When a release is made from a recipe these are the attacks that its ``limits`` name and that
    give probabilities: ``linkage`` (the originals that are nearest to a released record, or the
    people of its class where these are fewer, all equally likely) and ``probabilistic_linkage``
    (Bayes' rule with the weights of agreement). The intruder knows all quasi-identifiers of
    everybody. Steps do not plan for it.

    **This is a measurement, not a guarantee**: the definition asks for every attack, and only those
    supplied are looked at. The verdict's values and indices are those of released records, not of
    classes. An empty table keeps the promise.

    Reference: Stokes & Torra 2012, *n-Confusion: a generalization of k-anonymity*, PAIS 2012.
    """

    k: Annotated[
        int, Field(ge=1, examples=[5], description="how many originals must remain likely")
    ]
    t: Annotated[
        float | None,
        Field(gt=0, le=1, description="how likely each must be; any chance by default"),
    ] = None

    name: ClassVar[str] = "k_confusion"
    facts: ClassVar[Facts] = Facts(against="identity", measure="quantitative", truthful=False)
    planned_for: ClassVar[bool] = False
    monotone: ClassVar[bool] = False
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    def __post_init__(self) -> None:
        if self.t is not None and self.t > 1 / self.k + TOLERANCE:
            raise ParameterError(
                f"t must be at most 1/k: {self.k} originals cannot all be more likely than that"
            )

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        if self.t is None:
            return f"{self.k}-confusion"
        return f"({self.k}, {self.t:.4g})-confusion"

    def needs(self, schema: Schema) -> Needs:
        """What the attacks found."""
        return Needs(posteriors=True)

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Always an error: it is measured on a release, not reached by a search."""
        raise ParameterError(
            f"{self.promise} measures attacks on a finished release and cannot be reached by "
            "recoding and suppressing classes; use another promise for the steps, and judge this "
            "one on the release"
        )

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The least number of likely originals under any attack, and the released records with too
        few.
        """
        likely = self._likely(evidence.posteriors, evidence.classes.total)
        failing = np.flatnonzero(likely < self.k)
        attained = int(likely.min()) if len(likely) else None
        sizes = np.ones(len(failing), dtype=np.int64)
        return Verdict(
            model=self.name,
            promise=self.promise,
            holds=not len(failing),
            attained=attained,
            required=self.k,
            sentence=self._sentence(evidence, attained, len(failing)),
            per_class=likely,
            failing=failing,
            failing_sizes=sizes,
            records=len(failing),
        )

    def implies(self, model: Model) -> bool:
        """More originals that are likelier imply fewer that are less likely."""
        return (
            # Without t every positive probability counts, which is the weakest demand.
            isinstance(model, KConfusion) and self.k >= model.k and (self.t or 0) >= (model.t or 0)
        )

    def _likely(self, posteriors: Sequence[Any], records: int) -> NDArray[np.int64]:
        """Per released record, the originals that remain likely under every attack: the least
        number of any.
        """
        if not posteriors:
            raise SchemaError(
                f"{self.promise} needs results of attacks: name one that gives probabilities under "
                "limits (linkage or probabilistic_linkage; linkage: 1 allows all), or give "
                "matrices with posteriors="
            )
        likely_counts = [_count_likely(matrix, records, self.t) for matrix in posteriors]
        return np.asarray(np.minimum.reduce(likely_counts))

    def _sentence(self, evidence: ClassEvidence, attained: int | None, short: int) -> str:
        if attained is None:
            return "the table is empty, so there is nobody to protect"
        against = (
            f"measured against {len(evidence.posteriors)} supplied attack(s), not guaranteed "
            "against others"
        )
        if short:
            return (
                f"for {short:,} of {evidence.classes.total:,} released records fewer than {self.k}"
                f" originals remain likely, at worst {attained}; {against}"
            )
        return f"for every released record at least {attained} originals remain likely; {against}"


def _count_likely(matrix: object, records: int, threshold: float | None) -> NDArray[np.int64]:
    """Per row, how many probabilities are large enough; what is no matrix of probabilities is
    refused.
    """
    from scipy.sparse import csr_array, issparse

    if isinstance(matrix, Posterior):
        if matrix.records != records:
            raise SchemaError(
                f"an attack gives probabilities for {matrix.records:,} released records; there are"
                f" {records:,}"
            )
        return matrix.likely(threshold)
    if issparse(matrix):
        table = csr_array(matrix)
    else:
        table = csr_array(np.atleast_2d(np.asarray(matrix, dtype=np.float64)))
    # A probability may be stored in several parts; each part would count as an original.
    table.sum_duplicates()
    if table.shape[0] != records:
        raise SchemaError(
            f"an attack gives probabilities for {table.shape[0]:,} released records; there are"
            f" {records:,}"
        )
    if not np.isfinite(table.data).all() or (table.data < 0).any():
        raise SchemaError("an attack gives probabilities that are negative or missing")
    is_wrong = np.abs(table.sum(axis=1) - 1) > 1e-6
    wrong = int(is_wrong.sum())
    if wrong:
        raise SchemaError(
            f"an attack gives {wrong:,} of {records:,} released records probabilities that do not "
            "sum to 1; correct its matrix"
        )
    if threshold is None:
        enough = table.data > 0
    else:
        enough = table.data >= threshold - TOLERANCE
    # The row of every stored probability: rows of 2, 0, 1 entries → 0, 0, 2.
    rows = np.repeat(np.arange(records), np.diff(table.indptr))
    return np.bincount(rows[enough], minlength=records)
