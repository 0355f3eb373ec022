"""k-anonymity: nobody stands in a crowd smaller than k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.model import ClassEvidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema


ClassSize = Annotated[int, Field(ge=1, examples=[5], description="smallest acceptable class size")]


@parameters
class KAnonymity(Model):
    r"""Every class of equal quasi-identifiers holds at least k records (or persons).

    .. math:: \min_E |E| \ge k

    *E* runs over the equivalence classes. Where the schema names a person column, :math:`|E|`
    counts distinct persons; weights never count. A missing value equals only another missing one,
    unless the schema says ``missing: wildcard``: then :math:`|E|` is the number of records
    compatible with the class, as sdcMicro counts. An empty table keeps every promise: there is
    nobody to protect.

    Reference: Samarati & Sweeney 1998; Samarati 2001, doi:10.1109/69.971193.
    """

    k: ClassSize

    name: ClassVar[str] = "k_anonymity"
    facts: ClassVar[Facts] = Facts(against="identity")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-anonymity"

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes; but there must be quasi-identifiers."""
        if not schema.quasi:
            raise SchemaError("k-anonymity needs at least one column with role quasi")
        return Needs()

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes smaller than k."""
        return evidence.frequencies < self.k

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The k of the table, and the classes below the promised one."""
        sizes = evidence.frequencies
        classes = evidence.classes
        failing = np.flatnonzero(sizes < self.k)
        # Records count even where classes are measured in persons: these are what is suppressed.
        short = int(classes.records[failing].sum())
        attained = int(sizes.min()) if len(sizes) else None
        units = "persons" if classes.person else "records"
        if attained is None:
            sentence = "the table is empty, so there is nobody to protect"
        elif attained < self.k:
            share = percent(short / classes.total)
            sentence = (
                f"{short:,} of {classes.total:,} records ({share}) belong to a class of fewer than "
                f"{self.k} {units}; the smallest has {attained}"
            )
        elif evidence.wildcard is not None:
            sentence = _compatible(self.k, attained, evidence)
        else:
            other_units = f"{attained - 1} other {units}"
            sentence = f"everyone shares the quasi-identifiers with at least {other_units}"
        if evidence.wildcard is None:
            missing_rule = "category"
        else:
            missing_rule = "wildcard"
        return Verdict(
            model=self.name,
            promise=self.promise,
            holds=not len(failing),
            attained=attained,
            required=self.k,
            sentence=sentence,
            per_class=sizes,
            failing=failing,
            # not a second time where all fail, as where every row is distinct
            failing_sizes=sizes if len(failing) == len(sizes) else sizes[failing],
            records=short,
            missing_rule=missing_rule,
            crowd=self.k,
        )

    @property
    def crowd(self) -> int:
        """The k."""
        return self.k

    @property
    def enough_k(self) -> int:
        """The k from which k-anonymity alone keeps the promise; other models have it where there is
        such a k.
        """
        return self.k

    def implies(self, model: Model) -> bool:
        """A larger k implies a smaller one, and every promise for which some ``enough_k`` is."""
        return model.enough_k is not None and self.k >= model.enough_k


def _compatible(k: int, attained: int, evidence: ClassEvidence) -> str:
    """What holds when missing values match everything, and what would not hold otherwise."""
    # Sizes count equal records alone, unlike the frequencies of compatible ones.
    small_classes = evidence.classes.records[evidence.classes.sizes < k]
    hidden = int(small_classes.sum())
    sentence = (
        f"everyone could be any of at least {attained - 1} other records, if a missing value may "
        "stand for anything"
    )
    if not hidden:
        return sentence
    return (
        f"{sentence}; {hidden:,} of {evidence.classes.total:,} are protected only by missing "
        "values, their own or of others"
    )
