"""Tasks about promises: how the table stands today, and what each promise would ask."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core import registry
from sfumato.core.choices import is_number
from sfumato.core.classes import count_classes
from sfumato.core.randomness import Seed
from sfumato.core.words import count_of, percent
from sfumato.errors import SfumatoError
from sfumato.guidance.protection.trial import TrialGround
from sfumato.guidance.recommendation.inspection import drawn_from
from sfumato.interfaces.api import judge
from sfumato.interfaces.web.choices import bounds_of, lattice_step
from sfumato.interfaces.web.fields import Fields
from sfumato.release.decision.terms import terms_of_context

if TYPE_CHECKING:
    from sfumato.core.model import Model, Verdict
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.data_process import Bench

# Trials that compare two recipes are drawn alike.
PRICE_SEED = 1


def today(bench: Bench, progress: Progress, *, recipe: Recipe) -> Fields:
    """How many records stand in classes of each size, on the quasi-identifiers as they are: sizes
    and records, ascending.
    """
    table = bench.data.with_schema(recipe.schema)
    sizes, classes = np.unique(count_classes(table).sizes, return_counts=True)
    return {"sizes": sizes.tolist(), "records": (sizes * classes).tolist()}


def standing(bench: Bench, progress: Progress, *, recipe: Recipe) -> Fields:
    """How the table stands today against each promise of the recipe.

    ``problems`` is what is wrong with the columns, one sentence each. ``promises`` has one mapping
    a promise, in order: ``holds`` (None: it cannot be judged), ``attained`` in words (``k = 1``;
    ""), ``sentence``, ``records`` that stand in its way, ``problem`` (why it cannot be judged; ""),
    ``implies`` (promises of this recipe that follow from it) and ``strong_enough`` (names of models
    that follow from it when it is strong enough).
    """
    try:
        table = bench.data.with_schema(recipe.schema).checked()
    except SfumatoError as error:
        unknown: Fields = {
            "holds": None,
            "attained": "",
            "sentence": "",
            "records": 0,
            "implies": [],
            "strong_enough": [],
        }
        promised = [
            {"promise": model.promise, **unknown, "problem": "not judged: see above"}
            for model in recipe.meet
        ]
        return {"problems": str(error).split("\n"), "promises": promised}
    return {
        "problems": [],
        "promises": [_stands(bench, table, recipe, model) for model in recipe.meet],
    }


def _stands(bench: Bench, table: Any, recipe: Recipe, model: Model) -> Fields:
    implied = [
        promise.promise
        for promise in recipe.meet
        if promise is not model and model.implies(promise)
    ]
    follows = bench.recall_or_make(f"implied by {model.name}", lambda: _follows(model.name))
    plain = {"promise": model.promise, "implies": implied, "strong_enough": follows}
    try:
        verdict = judge(table, model)[0]
    except SfumatoError as error:
        return {
            **plain,
            "holds": None,
            "attained": "",
            "sentence": "",
            "records": 0,
            "problem": str(error),
        }
    fields = {
        "holds": bool(verdict.holds),
        "attained": attained(model, verdict),
        "sentence": verdict.sentence,
    }
    return {**plain, **fields, "records": int(verdict.records), "problem": ""}


def _follows(name: str) -> list[str]:
    return [implied for implied in registry.implied_by(name) if implied != name]


def attained(model: Model, verdict: Verdict) -> str:
    """What a table attains of a promise: the field that states the degree, and its value today.

    >>> from sfumato import examples
    >>> from sfumato.methods.models import KAnonymity
    >>> attained(KAnonymity(5), judge(examples.load("hospital"), KAnonymity(5))[0])
    'k = 1'
    """
    cls = type(model)
    degrees = [
        field.name
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        if is_number(cls, field.name) and getattr(model, field.name) == verdict.required
    ]
    if verdict.attained is None or not math.isfinite(verdict.attained) or not degrees:
        return ""
    return f"{degrees[0]} = {verdict.attained:.4g}"


def combinations(bench: Bench, progress: Progress, *, recipe: Recipe) -> Fields:
    """How many combinations of levels a search looks among, within the levels that its step
    allows; None: no step searches.
    """
    if lattice_step(recipe) is None:
        return {"combinations": None}
    classes = count_classes(bench.data.with_schema(recipe.schema))
    bounds, sizes = bounds_of(recipe), []
    for name, ladder in zip(classes.columns, classes.ladders, strict=True):
        low, high = bounds.get(name, (0, ladder.top))
        sizes.append(max(1, min(high, ladder.top) - low + 1))
    return {"combinations": math.prod(sizes)}


# Sensitive columns that nothing is promised of.

PROPOSED_VALUES = 2
"""Different values that a proposed promise asks of every class: the least that hides one."""


def columns_without_promise(recipe: Recipe) -> tuple[str, ...]:
    """The sensitive columns that are released and that no promise is about; none where the rows are
    drawn anew, so that no class is anybody's.
    """
    if any(step.draws_anew for step in recipe.steps):
        return ()
    covered = {name for model in recipe.meet for name in model.about}
    return tuple(name for name in recipe.schema.sensitive if name not in covered)


def proposed_promise(recipe: Recipe, column: str) -> Recipe:
    """The recipe with a promise about one more sensitive column: every class shows two values."""
    spec = {"l_diversity": {"sensitive": column, "l": PROPOSED_VALUES}}
    promise = registry.build("models", spec)
    return dataclasses.replace(recipe, meet=(*recipe.meet, promise))


def unpromised(bench: Bench, progress: Progress, *, recipe: Recipe) -> list[Fields]:
    """The sensitive columns without a promise, each with one that would help: its ``words`` and the
    whole ``recipe``.
    """
    offers: list[Fields] = []
    for column in columns_without_promise(recipe):
        changed = proposed_promise(recipe, column)
        words = changed.meet[-1].promise
        offers.append({"column": column, "words": words, "recipe": changed})
    return offers


def price_of_promises(bench: Bench, progress: Progress, *, recipe: Recipe) -> dict[str, str]:
    """What the proposed promise about each sensitive column costs, measured on at most 10,000
    records: column → words.
    """
    table = bench.data.described_by(recipe)
    ground = TrialGround(drawn_from(table), terms_of_context(), Seed(PRICE_SEED), recipe.schema)
    columns = columns_without_promise(recipe)
    base = ground.make(recipe)
    prices: dict[str, str] = {}
    for position, column in enumerate(columns):
        progress(position / len(columns), column)
        release = ground.make(proposed_promise(recipe, column))
        if base is None or release is None:
            prices[column] = "no release was found that keeps it"
            continue
        loss = max(0.0, ground.loss(release) - ground.loss(base))
        more = max(0, release.suppressed - base.suppressed)
        prices[column] = f"{percent(loss)} more is lost, {count_of(more, 'record')} more"
    return prices
