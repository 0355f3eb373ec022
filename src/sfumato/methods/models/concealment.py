"""Anonymity of generalised tables against an intruder who knows everybody: (1,k), (k,1), (k,k) and
k-concealment.

All four look at the *consistency graph* of original and released records
(:mod:`sfumato.core.consistency`): an original is joined to every released record that generalises
it. They let records be generalised one by one, where k-anonymity asks for classes of equal ones,
and so can keep more of the data. They are judged on a release together with its original; a search
over classes cannot reach them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol

import numpy as np
from pydantic import Field

from sfumato.core.consistency import Pairs
from sfumato.core.model import ClassEvidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models.sensitive import extreme, verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema

AtLeast = Annotated[
    int, Field(ge=1, examples=[5], description="how many records must be possible for everyone")
]


class _OnPairs(Model, Protocol):
    """A promise about the consistency graph: what the four notions have in common."""

    k: int
    facts: ClassVar[Facts] = Facts(against="identity")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False
    scope: ClassVar[Literal["class", "table"]] = "table"

    @property
    def enough_k(self) -> int:
        """In a class of k, everybody is generalised by all records, every record generalises all,
        and all can trade places.
        """
        return self.k

    def needs(self, schema: Schema) -> Needs:
        """The originals of what is released."""
        if not schema.quasi:
            raise SchemaError(f"{self.promise} needs at least one column with role quasi")
        return Needs(pairs=True)

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Always an error: suppressing classes does not lead there."""
        raise ParameterError(
            f"{self.promise} depends on pairs of original and released records and cannot be"
            " reached by recoding and suppressing classes; ask for k-anonymity, which implies it,"
            " and judge it on the release"
        )

    def _pairs(self, evidence: ClassEvidence) -> Pairs:
        """The graph, of a table with one row a person."""
        if evidence.pairs is None:
            raise SchemaError(
                f"{self.promise} was judged without the original table; gather evidence with it"
            )
        person = evidence.classes.person
        if person is not None:
            # Rows beyond the first of each person.
            has_records = evidence.classes.counts[person].total() > 0
            repeated = evidence.classes.total - int(has_records.sum())
            if repeated:
                raise SchemaError(
                    f"{self.promise} counts records, and {repeated:,} of them repeat a person "
                    f"({person!r}); keep one row per person"
                )
        return evidence.pairs


@parameters
class OneKAnonymity(_OnPairs):
    r"""Every original record is generalised by at least k released records.

    .. math:: \min_x |\{y : x \sqsubseteq y\}| \ge k

    *x* runs over the originals of the released records, *y* over the released
    ones; :math:`x \sqsubseteq y` says that every cell of *y* generalises that of *x*. Records that
    were suppressed count on neither side. An intruder who knows the quasi-identifiers of one person
    is left with k candidates; one who knows everybody's may be left with fewer, see
    :class:`KConcealment`. An empty table keeps the promise; a released record that does not
    generalise its own original is an error, and so are persons with several rows. k-anonymity with
    the same k implies all four notions.

    Reference: Gionis, Mazza & Tassa 2008, *k-Anonymization revisited*, ICDE 2008.
    """

    k: AtLeast

    name: ClassVar[str] = "one_k_anonymity"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"(1,{self.k})-anonymity"

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The least number of released records an original fits, and the classes of those with too
        few.
        """
        pairs = self._pairs(evidence)
        counts = pairs.neighbours_of_originals()
        # Counts are of distinct originals; each stands for so many records.
        short = int(pairs.originals[counts < self.k].sum())
        return _judge_counts(
            self,
            self.k,
            evidence,
            # A released class is as weak as the weakest original in it.
            values=pairs.least_per_released(counts),
            short=short,
            subject="released records a person could be",
        )

    def implies(self, model: Model) -> bool:
        """A larger k implies a smaller one."""
        return isinstance(model, OneKAnonymity) and self.k >= model.k


@parameters
class KOneAnonymity(_OnPairs):
    r"""Every released record generalises at least k original records.

    .. math:: \min_y |\{x : x \sqsubseteq y\}| \ge k

    Symbols and edge cases as in :class:`OneKAnonymity`. An intruder who looks at one released
    record and knows everybody is left with k people. By itself it is weak: originals 1, 2, 3
    released as {1,2,3}, {2,3}, {2,3} are (2,1)-anonymous, and yet person 1 is known.

    Reference: Gionis, Mazza & Tassa 2008, *k-Anonymization revisited*, ICDE 2008.
    """

    k: AtLeast

    name: ClassVar[str] = "k_one_anonymity"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.k},1)-anonymity"

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The least number of originals a released record fits, and the classes with too few."""
        pairs = self._pairs(evidence)
        counts = pairs.neighbours_of_released()
        short = int(pairs.released[counts < self.k].sum())
        return _judge_counts(
            self,
            self.k,
            evidence,
            values=counts,
            short=short,
            subject="people a released record could be",
        )

    def implies(self, model: Model) -> bool:
        """A larger k implies a smaller one."""
        return isinstance(model, KOneAnonymity) and self.k >= model.k


@parameters
class KKAnonymity(_OnPairs):
    r"""Both (1,k)- and (k,1)-anonymity.

    .. math:: \min\Bigl(\min_x |\{y : x \sqsubseteq y\}|,\ \min_y |\{x : x \sqsubseteq y\}|\Bigr)
        \ge k

    Symbols and edge cases as in :class:`OneKAnonymity`.

    Reference: Gionis, Mazza & Tassa 2008, *k-Anonymization revisited*, ICDE 2008.
    """

    k: AtLeast

    name: ClassVar[str] = "k_k_anonymity"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.k},{self.k})-anonymity"

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The least number of records of the other side that one fits, and the classes of those
        with too few.
        """
        pairs = self._pairs(evidence)
        original_neighbours = pairs.neighbours_of_originals()
        released_neighbours = pairs.neighbours_of_released()
        # Per pair of an original and its own released record: too few on either side is too few.
        short_originals = original_neighbours[pairs.same[0]] < self.k
        short_released = released_neighbours[pairs.same[1]] < self.k
        short = short_originals | short_released
        values = np.minimum(pairs.least_per_released(original_neighbours), released_neighbours)
        short_records = pairs.same_records[short].sum()
        return _judge_counts(
            self,
            self.k,
            evidence,
            values=values,
            short=int(short_records),
            subject="records of the other side one could be",
        )

    def implies(self, model: Model) -> bool:
        """A larger k implies a smaller one, of either side too."""
        return isinstance(model, KKAnonymity | OneKAnonymity | KOneAnonymity) and self.k >= model.k


@parameters
class KConcealment(_OnPairs):
    r"""Every original record has at least k matches: released records it has in some assignment of
    all records at once.

    .. math:: \min_x |\{y : (x, y) \text{ lies in a perfect matching of the consistency graph}\}|
        \ge k

    Symbols and edge cases as in :class:`OneKAnonymity`. Even an intruder who knows the
    quasi-identifiers of everybody, and rules out whatever would leave somebody without a record, is
    left with k candidates for each. k-anonymity implies it, and it implies (1,k)-anonymity. Matches
    are found by strongly connected components, in time linear in the pairs of consistent classes;
    the numbers are those of single records.

    Reference: Tassa, Mazza & Gionis 2012, *k-Concealment: an alternative model of k-type
    anonymity*, Transactions on Data Privacy 5(1).

    >>> from sfumato.core.evidence import gather
    >>> from sfumato.data.examples import ring
    >>> model = KConcealment(2)
    >>> model.judge(gather(ring(released=True), [model], original=ring()))
    ✓ 2-concealment: released records a person could be, whatever the others are: at least 2
    """

    k: AtLeast

    name: ClassVar[str] = "k_concealment"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-concealment"

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The least number of matches of an original, and the classes of those with too few."""
        pairs = self._pairs(evidence)
        counts = pairs.matches_of_originals()
        short = int(pairs.originals[counts < self.k].sum())
        subject = "released records a person could be, whatever the others are"
        return _judge_counts(
            self,
            self.k,
            evidence,
            values=pairs.least_per_released(counts),
            short=short,
            subject=subject,
        )

    def implies(self, model: Model) -> bool:
        """A larger k implies a smaller one, and (1,k)-anonymity."""
        return isinstance(model, KConcealment | OneKAnonymity) and self.k >= model.k


def _judge_counts(
    model: Model,
    k: int,
    evidence: ClassEvidence,
    values: NDArray[np.int64],
    short: int,
    subject: str,
) -> Verdict:
    """A verdict on the least count of each released class; ``short`` records have too small a
    one.
    """
    attained = extreme(values, "smallest")
    sentence = f"{subject}: at least {attained}"
    if short:
        sentence = (
            f"{subject}: fewer than {k} for {short:,} of {evidence.classes.total:,} records, at"
            f" worst {attained}"
        )
    # Whole classes fail, but of their records only those with too small a count are told: they may
    # share a class with others that have enough.
    result = verdict(
        model,
        evidence,
        values < k,
        attained=attained,
        required=k,
        per_class=values,
        sentence=sentence,
        counts_crowds=True,
    )
    return dataclasses.replace(result, records=short)
