"""``sf.recommend``: look at a table, ask for the context, try every family of methods, and say
which release is best and why.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sfumato.core import recipe_files as recipes
from sfumato.core.fields import Fields
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Kind
from sfumato.guidance.comparison import (
    FOR_DRAWN,
    ONLY_LINKAGE,
    Candidate,
    CommonTerms,
    Comparison,
    compare,
)
from sfumato.guidance.profiling.proposed_steps import step_for
from sfumato.guidance.recommendation.answers import ContextAnswers, answers_from
from sfumato.guidance.recommendation.candidates import TriedMethod, candidates_for
from sfumato.guidance.recommendation.inspection import Looked, drawn_from, looked_at, table_of
from sfumato.guidance.recommendation.recommendation import Recommendation
from sfumato.guidance.recommendation.selection import ranked
from sfumato.guidance.recommendation.terms import bars_for, terms_for

SECONDS = 10.0
LOOKED_FOR = 1000
OWN = "as the recipe says"


def recommend(
    table: object,
    answers: ContextAnswers | Fields | str | Path | None = None,
    *,
    recipe: Recipe | str | Path | None = None,
    seed: int | str | Seed = 0,
    workers: int | None = 1,
    progress: Progress = silent,
) -> Recommendation:
    """Recommend a first release of a table that can be defended, with its reasons, its runners-up
    and what is not known.

    ``answers`` tell who receives the table, whether they are bound by contract, how bad it would be
    for people to be recognised, how many people the table was drawn from, and what must survive:
    an :class:`~sfumato.guidance.recommendation.answers.ContextAnswers`, a mapping, or a YAML file.
    What is not answered counts as the worst case. Roles come from ``recipe``, else from the table's
    own schema, else from a profile; a column that only its owner can decide on stops everything
    until ``decide`` names its role.

    Candidates of every family are run, attacked and measured alike, on 10,000 rows at most; the
    best keeps promises and limits and loses least of what must survive. What the profile alone
    would propose is among them, under the same promises.

    >>> import sfumato as sf
    >>> found = recommend(
    ...     sf.examples.visits(rows=400),
    ...     {"recipient": "internal", "contract": "yes", "sensitivity": "low"},
    ... )
    >>> found.terms.k, found.best.holds
    (5, True)
    """
    context = answers_from(answers)
    loaded = recipes.load(recipe) if isinstance(recipe, str | Path) else recipe
    inspected = looked_at(table_of(table, loaded), context, loaded)
    terms = terms_for(context, inspected.dataset.schema, inspected.distinct, inspected.people)
    tried_on = drawn_from(inspected.dataset)
    proposed = step_for(inspected.dataset)
    step = None if proposed is None else proposed.step
    methods = candidates_for(inspected.dataset, inspected.recipe, terms, step)
    if loaded is not None and loaded.steps:
        methods = (_own(methods[0], loaded), *methods)
    common = CommonTerms(
        Seed.of(seed), (*ONLY_LINKAGE, *FOR_DRAWN), SECONDS, LOOKED_FOR, context.keep
    )
    candidates = [method.candidate for method in methods]
    comparison = compare(tried_on, candidates, terms=common, workers=workers, progress=progress)
    order = ranked(comparison, methods, keep=bool(context.keep))
    return Recommendation(
        name=inspected.dataset.source.name,
        answers=context,
        terms=terms,
        bars=bars_for(terms.k) if order.promising else (),
        tried=methods,
        comparison=_with_readable_axes(comparison, order.yardstick),
        ranked=order,
        unknown=unknown_of(context, inspected, len(tried_on)),
        rows=len(inspected.dataset),
        tried_rows=len(tried_on),
        dataset=inspected.dataset,
    )


def _own(first: TriedMethod, recipe: Recipe) -> TriedMethod:
    """The steps of the user's own recipe, under the promises of this context."""
    own = dataclasses.replace(first.candidate.recipe, steps=recipe.steps)
    return TriedMethod(Candidate(OWN, own), "your recipe", "")


def _with_readable_axes(comparison: Comparison, yardstick: str) -> Comparison:
    """The map of linkage, which says what the promises bound, against what decided; or as it is,
    where nobody can be linked.
    """
    linked = any("linkage" in outcome.risks for outcome in comparison.outcomes)
    if linked:
        return comparison.with_axes(risk="linkage", utility=yardstick)
    return comparison


def unknown_of(answers: ContextAnswers, inspected: Looked, tried_rows: int) -> tuple[str, ...]:
    """What a recommendation cannot know, in sentences."""
    schema = inspected.dataset.schema
    sentences = [
        f"{question} is unknown and was taken as {worst}"
        for question, worst in answers.assumed.items()
    ]
    if inspected.guessed:
        sentences.append(
            "which columns others can know, and which nobody may learn: the roles are guesses of "
            "a profile"
        )
    if schema.person is None:
        sentences.append("whether a person has several records: every record counts as one person")
    numbers = [name for name in schema.sensitive if schema[name].kind is Kind.NUMERIC]
    if numbers:
        sentences.append(
            f"how close values of {', '.join(numbers)} may be: diversity counts any two numbers as "
            "different"
        )
    in_both_roles = [name for name in schema.sensitive if name in schema.quasi]
    if in_both_roles:
        sentences.append(
            f"how {', '.join(in_both_roles)} is protected: it is sensitive and a quasi-identifier, "
            "so it counts for the class size and no diversity is promised for it"
        )
    if tried_rows < len(inspected.dataset):
        sentences.append(
            f"how candidates compare on all {len(inspected.dataset):,} rows: they were tried on a"
            f" sample of {tried_rows:,}"
        )
    sentences += [
        (
            "what else is published about these people, now or later: a register (sfumato "
            "register) remembers your releases"
        ),
        (
            "whether the law allows it: numbers are one part of any rule, and no number makes a"
            " release lawful"
        ),
    ]
    return tuple(sentences)
