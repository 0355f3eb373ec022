"""Tasks that make a release, and say what to change where none can be made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sfumato.core.objective import Tally
from sfumato.core.progress import must_compile
from sfumato.core.words import percent
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.interfaces.api import RunOptions, run
from sfumato.interfaces.web.tasks.write import effect_of, opened_register
from sfumato.release.alternatives import MOST_EFFORT_OF_A_GLANCE, alternatives_in_passing
from sfumato.release.feasibility import feasible
from sfumato.release.register.joint_disclosure import NAME

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.table_release import TableRelease

# Share of records up to which suppressing them is offered as a way out.
MOST_LOST = 0.5
# Changes that are offered where nothing satisfies a recipe.
MOST_WAYS = 3


def make(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    key: str,
    register: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Make the release of a recipe, keep it as ``release <key>`` (the original is in it), and say
    what came out.

    ``made`` tells whether there is one. Then there are: ``headline`` and ``state`` (holds, broken,
    mixed, open), ``holds``; ``verdicts`` (as :meth:`Verdict.to_dict`); ``told`` (one line about the
    records), ``records``, ``released``, ``suppressed`` (counts); ``scores`` by name and ``loss``
    (the score that the search made small; None: no search); ``risks`` (``name``, ``before``,
    ``after``); ``columns`` (``name``, ``roles``, ``action``, ``level``, ``top``, ``before``,
    ``after``: distinct values); ``limits`` and ``contract`` (as :meth:`Kept.to_dict`);
    ``preserved`` and ``warnings`` (sentences); ``levels`` by column; ``effect`` (for the history);
    ``reasons`` (``choice``, ``neighbours``, ``outlook``; None: no search).

    Where nothing satisfies the recipe: ``message``, ``lost`` and ``records`` of the nearest miss
    (None: not known), and ``ways``: up to three changes that help, each with ``words``, the
    ``sentence`` of the edit, and the whole ``recipe``.

    A recipe that limits what all releases tell together asks the ``register`` that the stage
    *Write* names; without one that is not known, and what is not known is not a pass.
    """
    if must_compile():
        progress(0.0, "the first run on this machine compiles the fast loops")
    asks = NAME in recipe.limits
    if asks and not register:
        raise ParameterError(
            f"the recipe limits what all releases of the same people tell together ({NAME}): name"
            " the register under Write, then make the release"
        )
    memory = opened_register(register).memory if asks and register else None
    try:
        release: TableRelease = run(
            bench.data, recipe, progress=progress, options=RunOptions(memory=memory)
        )
    except Unsatisfiable as error:
        return {
            "made": False,
            "message": str(error),
            **_missed(error),
            "ways": _ways(bench.data, recipe, error, progress),
        }
    bench.keep(f"release {key}", release)
    if asks:
        bench.keep(f"register {key}", register)
    progress(1.0, "looking at the neighbours")
    return {"made": True, **outcome_of(release)}


def outcome_of(release: TableRelease) -> dict[str, Any]:
    """What came out, in plain data; see :func:`make`."""
    alternatives = alternatives_in_passing(release, MOST_EFFORT_OF_A_GLANCE)
    return {
        "headline": release.headline.text,
        "state": release.headline.state,
        "holds": release.holds,
        "blocks": release.blocks(),
        "effect": effect_of(release),
        "reasons": None if alternatives is None else dataclasses.asdict(alternatives.reasons()),
    }


# where nothing satisfies a recipe


def _missed(error: Unsatisfiable) -> dict[str, Any]:
    tally = _tally(error)
    return {
        "lost": None if tally is None else tally.suppressed,
        "records": None if tally is None else tally.records,
    }


def _tally(error: Unsatisfiable) -> Tally | None:
    """What the nearest miss keeps, where a search tells."""
    if not dataclasses.is_dataclass(error.closest):
        return None
    return next((value for value in vars(error.closest).values() if isinstance(value, Tally)), None)


def _ways(
    data: Table, recipe: Recipe, error: Unsatisfiable, progress: Progress
) -> list[dict[str, Any]]:
    """Small changes, each of which alone makes the recipe satisfiable: a larger budget, a smaller
    k, free levels, a promise less.
    """
    ways = []
    for way in (
        _budget(data, recipe, error),
        _smaller(data, recipe, progress),
        _free_levels(data, recipe),
    ):
        ways += [] if way is None else [way]
    for way in _without(data, recipe, progress):
        if len(ways) >= MOST_WAYS:
            break
        ways.append(way)
    return ways[:MOST_WAYS]


def _budget(data: Table, recipe: Recipe, error: Unsatisfiable) -> dict[str, Any] | None:
    tally = _tally(error)
    if tally is None or not tally.records:
        return None
    share = math.ceil(tally.suppressed / tally.records * 1000) / 1000
    changed = _with_step(recipe, lambda step: dataclasses.replace(step, budget=min(1.0, share)))
    if changed is None or share > MOST_LOST or not feasible(changed, data):
        return None
    return {
        "words": f"Allow {percent(share)} suppression",
        "sentence": f"budget: {percent(share)} of the records",
        "recipe": changed,
    }


def _with_step(recipe: Recipe, change: Callable[[Any], Any]) -> Recipe | None:
    """The recipe with another step in place of the one that searches a lattice."""
    position = next((i for i, step in enumerate(recipe.steps) if step.surveys), None)
    if position is None:
        return None
    try:
        step = change(recipe.steps[position])
    except (ParameterError, TypeError):
        return None
    steps = (*recipe.steps[:position], step, *recipe.steps[position + 1 :])
    return None if step == recipe.steps[position] else dataclasses.replace(recipe, steps=steps)


def _smaller(data: Table, recipe: Recipe, progress: Progress) -> dict[str, Any] | None:
    """The largest k below the one that is promised for which there is a release, by halving."""
    position = next((i for i, model in enumerate(recipe.meet) if model.crowd), None)
    if position is None:
        return None
    promised = recipe.meet[position].crowd or 1

    def changed(k: int) -> Recipe:
        model = _of_crowd(recipe.meet[position], k)
        return dataclasses.replace(
            recipe, meet=(*recipe.meet[:position], model, *recipe.meet[position + 1 :])
        )

    low, high = 1, promised
    while high - low > 1:  # it holds for low, or low is 1, and does not for high
        middle = (low + high) // 2
        progress(0.5, f"trying k = {middle}")
        low, high = (middle, high) if feasible(changed(middle), data) else (low, middle)
    if low == 1:
        return None
    return {
        "words": f"k = {low}",
        "sentence": f"k = {low} instead of {promised}",
        "recipe": changed(low),
    }


def _of_crowd(model: Any, k: int) -> Any:
    """The same promise for crowds of another size."""
    names = [
        field.name
        for field in dataclasses.fields(model)
        if getattr(model, field.name) == model.crowd
    ]
    models = [dataclasses.replace(model, **{name: k}) for name in names]
    return next(model_of_k for model_of_k in models if model_of_k.crowd == k)


def _free_levels(data: Table, recipe: Recipe) -> dict[str, Any] | None:
    """Levels as the search likes, where they are given."""
    changed = _with_step(recipe, lambda step: dataclasses.replace(step, levels={}))
    if changed is None or not feasible(changed, data):
        return None
    return {
        "words": "Let the search choose the levels",
        "sentence": "levels: left to the search",
        "recipe": changed,
    }


def _without(data: Table, recipe: Recipe, progress: Progress) -> Iterator[dict[str, Any]]:
    """One promise less, where others are left."""
    for position, model in enumerate(recipe.meet if len(recipe.meet) > 1 else ()):
        progress(0.5, f"trying without {model.promise}")
        changed = dataclasses.replace(
            recipe, meet=(*recipe.meet[:position], *recipe.meet[position + 1 :])
        )
        if feasible(changed, data):
            words = f"ithout {model.promise}"
            yield {"words": f"W{words}", "sentence": f"w{words}", "recipe": changed}
