"""What a protected release is for: the answers about its context, and what its owner assumes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from sfumato.core import recipe_files as recipes
from sfumato.core.fields import Document, Fields
from sfumato.errors import ParameterError, RecipeError
from sfumato.guidance.recommendation.answers import ContextAnswers, answers_from
from sfumato.release.decision.terms import AcceptedDependence, DecisionTerms, terms_of_context

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe

ASSUMPTIONS = ("not_known", "first_release")
OWNERS_WORD = "its owner says so"


class ContextKeywords(TypedDict, total=False):
    """The questions of :func:`sfumato.protect` as keywords; what is left out is unknown."""

    recipient: str
    contract: str | bool
    harm: str
    population: int | str
    keep: Sequence[str] | str
    analyses: Sequence[Fields]
    decide: Mapping[str, str]
    not_known: Mapping[str, str]
    first_release: str | bool


@dataclasses.dataclass(frozen=True)
class ProtectionContext:
    """The answers about the context of a release, and what its owner assumes, each with a reason.

    ``not_known`` are columns that nobody else has seen, ``first_release`` says why nothing of these
    people was released before (None: not said).

    >>> context = context_from(None, recipient="internal", contract=True, first_release=True)
    >>> context.terms().assumptions
    ('first release of these people (its owner says so)',)
    """

    answers: ContextAnswers = dataclasses.field(default_factory=ContextAnswers)
    not_known: Mapping[str, str] = dataclasses.field(default_factory=dict)
    first_release: str | None = None

    def terms(self, recipe: Recipe | None = None) -> DecisionTerms:
        """What the decision is asked under; ``recipe`` says which dependences are taken on."""
        return terms_of_context(
            recipient=self.answers.recipient,
            contract=self.answers.contract,
            sensitivity=self.answers.sensitivity,
            population=self.answers.population,
            not_known=self.not_known,
            first_release=self.first_release,
            accepted=() if recipe is None else accepted_in(recipe),
        )

    def to_dict(self) -> Document:
        """As a file of answers has it."""
        document = self.answers.to_dict()
        if self.not_known:
            document["not_known"] = dict(self.not_known)
        if self.first_release is not None:
            document["first_release"] = self.first_release
        return document


def context_from(
    answers: ProtectionContext | ContextAnswers | Fields | str | Path | None,
    **keywords: Any,
) -> ProtectionContext:
    """The context of answers, a mapping or a YAML file; keywords go before what it says.

    >>> context_from({"recipient": "public"}, recipient="researchers").answers.recipient
    'researchers'
    """
    context = _read(answers)
    named = dict(keywords)
    if "harm" in named:
        named["sensitivity"] = named.pop("harm")
    if isinstance(named.get("contract"), bool):
        named["contract"] = "yes" if named["contract"] else "no"
    not_known = {**context.not_known, **(named.pop("not_known", None) or {})}
    first_release = _reason(named.pop("first_release", None))
    decisions = {**context.answers.decide, **(named.pop("decide", None) or {})}
    for name in ("keep", "analyses"):
        if named.get(name) is not None and not isinstance(named[name], str):
            named[name] = tuple(named[name])
    return ProtectionContext(
        context.answers.with_answers(**named, decide=decisions),
        not_known,
        context.first_release if first_release is None else first_release,
    )


def _read(answers: Any) -> ProtectionContext:
    """What answers say, in whatever form they were given."""
    if isinstance(answers, ProtectionContext):
        return answers
    if answers is None or isinstance(answers, ContextAnswers):
        return ProtectionContext(answers_from(answers))
    document, name = answers, "the answers"
    if isinstance(answers, str | Path):
        document, name = recipes.read_document(Path(answers)), str(answers)
    if not isinstance(document, Mapping):
        raise RecipeError(f"{name} must map questions to answers, like 'recipient: public'")
    of_context = {key: value for key, value in document.items() if key not in ASSUMPTIONS}
    not_known = document.get("not_known") or {}
    if not isinstance(not_known, Mapping) or not all(
        isinstance(reason, str) for reason in not_known.values()
    ):
        raise RecipeError(
            f"{name}: not_known must map columns to reasons, like 'cost: billing figure, seen by"
            " nobody else'"
        )
    return ProtectionContext(
        answers_from(of_context), dict(not_known), _reason(document.get("first_release"))
    )


def _reason(value: object) -> str | None:
    """Why it is the first release: the reason in words, or the owner's word for it."""
    if value is None or value is False:
        return None
    if value is True:
        return OWNERS_WORD
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(
            "first_release needs a reason, like 'nothing about these people was released before'"
        )
    return value.strip()


def assumptions_of(texts: Sequence[str]) -> dict[str, str]:
    """Columns that nobody else knows, as a command line writes them: ``cost=billing figure``.

    >>> assumptions_of(["cost=billing figure, seen by nobody else"])
    {'cost': 'billing figure, seen by nobody else'}
    """
    reasons = {}
    for text in texts:
        column, equals, reason = text.partition("=")
        if not equals or not column.strip() or not reason.strip():
            raise ParameterError(
                f"{text!r} assumes nothing; write column=reason, like 'cost=billing figure'"
            )
        reasons[column.strip()] = reason.strip()
    return reasons


def accepted_in(recipe: Recipe) -> tuple[AcceptedDependence, ...]:
    """The dependences that a recipe takes on, as the terms of a decision write them."""
    from sfumato.core.acceptance import ImpliedQuasi

    pairs = [entry for entry in recipe.accept if isinstance(entry, ImpliedQuasi)]
    return tuple(AcceptedDependence((pair.column,), pair.implies, pair.because) for pair in pairs)
