"""The candidates: one of every family of methods, with the same promises and limits where they make
sense.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sfumato.core import registry
from sfumato.core.fields import Document
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Kind, Role
from sfumato.core.table import Table
from sfumato.core.words import percent
from sfumato.guidance.comparison import Candidate
from sfumato.guidance.recommendation.terms import ProposedTerms

FieldView = Mapping[str, Any]

# The step that a profile of the table names; its twin among the others is left out.
PROFILE = "as profile proposes"
BUDGETS = (0.02, 0.05)
# Of masking: a word, how far values are swapped by rank (share of the records), and how many
# nominal values stay.
STRENGTHS = (("lightly", 0.1, 0.8), ("strongly", 0.4, 0.3))

ONLY_LIMITS = (
    "it promises no class size: values are changed, so counting similar records says nothing "
    "about persons"
)
NOBODYS = "it promises no class size: its records are synthetic; only copies are limited"


@dataclasses.dataclass(frozen=True)
class TriedMethod:
    """A candidate, the family of its method, and, where it cannot carry the promises, why not."""

    candidate: Candidate
    family: str
    other_promise: str = ""

    @property
    def name(self) -> str:
        """The name it has on the map."""
        return self.candidate.name


def candidates_for(
    dataset: Table, base: Recipe, terms: ProposedTerms, proposed: FieldView | None
) -> tuple[TriedMethod, ...]:
    """One candidate of every family that has something to work on.

    ``base`` says what the columns are and what must survive, ``proposed`` is the step that a
    profile of the table names: it is tried as well, under the same promises, so the best is never
    worse than that.
    """
    models = tuple(registry.build("models", promise) for promise in terms.promises)
    promising = dataclasses.replace(base, meet=models, limits=dict(terms.limits))
    if proposed is None:
        own = []
    else:
        own = [_with(PROFILE, "profile", promising, dict(proposed))]
    steps = [trial.candidate.recipe.steps for trial in own]
    recoded = [_with(name, family, promising, step) for name, family, step in _recodings()]
    distinct = [trial for trial in recoded if trial.candidate.recipe.steps not in steps]
    return (*own, *distinct, *_masked(dataset, base, terms), *_synthetic_candidates(base))


def _recodings() -> list[tuple[str, str, Document]]:
    """Methods that change cells into coarser ones, or leave some out."""
    return [
        *(
            (
                f"global recoding, {percent(budget)} suppressed",
                "global recoding",
                {"global_recoding": {"budget": budget}},
            )
            for budget in BUDGETS
        ),
        ("local recoding", "local recoding", {"local_recoding": {}}),
        ("Mondrian", "partitions", {"mondrian": {}}),
        ("Mondrian, relaxed", "partitions", {"mondrian": {"mode": "relaxed"}}),
        ("clusters of similar records", "partitions", {"k_member": {}}),
        (
            "recoding and suppressed cells",
            "cell suppression",
            {"global_recoding": {"suppress": "cell"}},
        ),
    ]


def _with(
    name: str, family: str, recipe: Recipe, *steps: FieldView, other_promise: str = ""
) -> TriedMethod:
    built = tuple(registry.build("steps", step) for step in steps)
    return TriedMethod(
        Candidate(name, dataclasses.replace(recipe, steps=built)), family, other_promise
    )


def _masked(dataset: Table, base: Recipe, terms: ProposedTerms) -> list[TriedMethod]:
    """Quasi-identifiers with an order are swapped by rank, the others randomised; the limits hold,
    the promises cannot.
    """
    schema = dataset.schema
    free = [name for name in schema.quasi if Role.STRATUM not in schema[name].roles]
    ordered = [
        name for name in free if schema[name].kind is not Kind.NOMINAL and _has_order(dataset, name)
    ]
    nominal = [name for name in free if name not in ordered]
    limited = dataclasses.replace(base, limits=dict(terms.limits))
    masked = []
    for word, p, retain in STRENGTHS if free else ():
        steps: list[Document] = []
        if ordered:
            swap = {"columns": ordered, "p": p, "variant": "p_distribution"}
            steps.append({"rank_swap": swap})
        if nominal:
            steps.append({"pram": {"columns": nominal, "retain": retain}})
        masked.append(
            _with(
                f"swapped and randomised {word}",
                "masking",
                limited,
                *steps,
                other_promise=ONLY_LIMITS,
            )
        )
    return masked


def _has_order(dataset: Table, name: str) -> bool:
    """Whether values can be ranked as they are: dates that are text cannot, and ordered words only
    where their order is said.
    """
    kind = dataset.dtype(name)
    return kind.is_numeric() or kind.is_temporal() or dataset.schema[name].order is not None


def _synthetic_candidates(base: Recipe) -> list[TriedMethod]:
    return [
        _with("synthetic data (CART)", "synthetic", base, {"synthesize": {}}, other_promise=NOBODYS)
    ]


def contract_of(lines: tuple[FieldView, ...], document: FieldView) -> Document:
    """A recipe document with lines of a contract that refuse what breaks them."""
    refusing = []
    for line in lines:
        for name, fields in line.items():
            refusing.append({name: {**dict(fields), "refuse": True}})
    if refusing:
        return {**document, "contract": [*document.get("contract", []), *refusing]}
    return dict(document)
