"""The terms of a decision: who gets a release, how bad it would be, and what is assumed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from sfumato.core.acceptance import Acceptance, ImpliedQuasi
from sfumato.core.fields import Document, Fields
from sfumato.errors import ParameterError
from sfumato.release.decision.documents import record, record_from_dict, record_to_dict
from sfumato.release.decision.tiers import Harm, Tier, harm_of, requested_tier


@record
class AcceptedDependence:
    """Columns that tell more of a quasi-identifier than its label, which the owner takes on."""

    columns: tuple[str, ...]
    implies: str
    because: str


@record
class DecisionTerms:
    """What a decision is asked under.

    ``recipient``, ``contract``, ``sensitivity`` and ``population`` are the answers about the
    context; ``requested`` is the tier that is asked for. What is assumed has a reason each:
    ``not_known`` columns that nobody else has seen, ``first_release`` that nothing else about these
    people was or will be released (None: not said), ``accepted`` dependences. All of it is printed
    with the decision.
    """

    recipient: str
    contract: str
    sensitivity: str
    population: int | None
    requested: Tier
    not_known: dict[str, str] = dataclasses.field(default_factory=dict)
    first_release: str | None = None
    accepted: tuple[AcceptedDependence, ...] = ()

    def __post_init__(self) -> None:
        if self.requested is Tier.NONE:
            raise ParameterError("the tier that is asked for is publication, contract or internal")
        reasons = [*self.not_known.values(), *(pair.because for pair in self.accepted)]
        if self.first_release is not None:
            reasons.append(self.first_release)
        if not all(reason.strip() for reason in reasons):
            raise ParameterError("every assumption needs a reason; say why it is so")

    @property
    def harm(self) -> Harm:
        """How bad it would be: a step worse than answered where the population is small."""
        return harm_of(self.sensitivity, self.population)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the owner assumes, in sentences that are printed with the decision."""
        sentences = [
            f"nobody else knows {column} ({reason})" for column, reason in self.not_known.items()
        ]
        if self.first_release is not None:
            sentences.append(f"first release of these people ({self.first_release})")
        for pair in self.accepted:
            columns = ", ".join(pair.columns)
            sentences.append(f"{columns} may imply {pair.implies} ({pair.because})")
        return tuple(sentences)

    def to_dict(self) -> Document:
        """The terms as plain data."""
        return record_to_dict(self)

    @classmethod
    def from_dict(cls, document: Fields) -> DecisionTerms:
        """The terms of plain data; refused where something is missing, unknown or of another type.

        >>> terms = terms_of_context(recipient="researchers", contract="yes", sensitivity="low")
        >>> DecisionTerms.from_dict(terms.to_dict()) == terms
        True
        """
        return record_from_dict(cls, document, "the terms of the decision")


def terms_of_context(
    *,
    recipient: str = "unknown",
    contract: str = "unknown",
    sensitivity: str = "unknown",
    population: int | None = None,
    requested: Tier | str | None = None,
    not_known: Mapping[str, str] | None = None,
    first_release: str | None = None,
    accepted: tuple[AcceptedDependence, ...] = (),
) -> DecisionTerms:
    """The terms that the answers about a context lead to; what is unknown is taken for the worst.

    Without ``requested`` recipient and contract say which tier is asked for.

    >>> terms_of_context(recipient="internal", contract="yes", sensitivity="low").harm
    'medium'
    """
    if requested is None:
        tier = requested_tier(recipient, contract)
    else:
        tier = Tier(requested)
    return DecisionTerms(
        recipient=recipient,
        contract=contract,
        sensitivity=sensitivity,
        population=population,
        requested=tier,
        not_known=dict(not_known or {}),
        first_release=first_release,
        accepted=accepted,
    )


def accepted_in(acceptances: Iterable[Acceptance]) -> tuple[AcceptedDependence, ...]:
    """The dependences that a recipe accepts, as terms of a decision.

    >>> accepted_in([ImpliedQuasi("ward", "age", "both are in the contract")])[0].implies
    'age'
    """
    pairs = [entry for entry in acceptances if isinstance(entry, ImpliedQuasi)]
    return tuple(AcceptedDependence((pair.column,), pair.implies, pair.because) for pair in pairs)
