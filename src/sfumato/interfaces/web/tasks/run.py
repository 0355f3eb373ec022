"""Tasks that make a release, and say what to change where none can be made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from sfumato.core.blocks import Block, Heading, ListBlock, Paragraph
from sfumato.core.objective import Tally
from sfumato.core.progress import must_compile
from sfumato.core.words import percent
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.interfaces.api import RunOptions, run
from sfumato.interfaces.web.choices import with_lattice_step
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.tasks.made_releases import opened_register
from sfumato.interfaces.web.tasks.write import effect_of
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
) -> Fields:
    """Make the release of a recipe, keep it as ``release <key>`` (the original is in it), and say
    what came out: whether one was ``made``, and ``blocks``.

    A release has an ``effect`` for the history. Where nothing satisfies the recipe there are a
    ``message`` and ``ways``: up to three changes that help, each with ``words``, the ``sentence``
    of the edit, and the whole ``recipe``.

    A recipe that limits what all releases tell together asks the ``register`` that the stage
    *Write* names; without one that is not known, and what is not known is not a pass.
    """
    if must_compile():
        progress(0.0, "the first run on this machine compiles the fast loops")
    asks = NAME in recipe.limits
    if asks and not register:
        raise ParameterError(
            f"the recipe limits what all releases of the same people reveal together ({NAME}); "
            "name the register under Write, then make the release"
        )
    memory = None
    if asks and register:
        memory = opened_register(register).memory
    try:
        options = RunOptions(memory=memory)
        # The workbench holds a table.
        release = cast("TableRelease", run(bench.data, recipe, progress=progress, options=options))
    except Unsatisfiable as error:
        ways = _ways(bench.data, recipe, error, progress)
        blocks = _miss_blocks(error, bool(ways))
        return {"made": False, "message": str(error), "ways": ways, "blocks": blocks}
    bench.keep(f"release {key}", release)
    if asks:
        bench.keep(f"register {key}", register)
    progress(1.0, "examining the neighbours")
    blocks = [*release.blocks(), *reason_blocks(release)]
    return {"made": True, "blocks": blocks, "effect": effect_of(release)}


def reason_blocks(release: TableRelease) -> list[Block]:
    """Why this node and not its neighbour, and what another budget would buy; nothing where no
    search chose it.
    """
    alternatives = alternatives_in_passing(release, MOST_EFFORT_OF_A_GLANCE)
    if alternatives is None:
        return []
    reasons = alternatives.reasons()
    blocks: list[Block] = []
    for heading, sentences in (
        ("Why this and not another?", (reasons.choice,)),
        ("One level finer or coarser", reasons.neighbours),
        ("Another budget, or less risk", reasons.outlook),
    ):
        if sentences:
            blocks += [Heading(heading, 1), ListBlock(sentences)]
    return blocks


# where nothing satisfies a recipe


def _miss_blocks(error: Unsatisfiable, has_ways: bool) -> list[Block]:
    message, tally = str(error), _tally(error)
    blocks: list[Block] = [
        Heading("Nothing satisfies the recipe", 1),
        Paragraph(f"{message[:1].upper()}{message[1:]}"),
    ]
    if tally is not None:
        share = percent(tally.suppressed / tally.records)
        lost = f"{tally.suppressed:,} of {tally.records:,} records ({share})"
        blocks.append(Paragraph(f"The closest combination would suppress {lost}.", "strong"))
    if has_ways:
        blocks.append(Paragraph("Each of these changes alone leads to a release:"))
    return blocks


def _tally(error: Unsatisfiable) -> Tally | None:
    """What the nearest miss keeps, where a search tells."""
    if not dataclasses.is_dataclass(error.closest):
        return None
    return next((value for value in vars(error.closest).values() if isinstance(value, Tally)), None)


def _ways(data: Table, recipe: Recipe, error: Unsatisfiable, progress: Progress) -> list[Fields]:
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


def _budget(data: Table, recipe: Recipe, error: Unsatisfiable) -> Fields | None:
    tally = _tally(error)
    if tally is None or not tally.records:
        return None
    # rounded up to a tenth of a percent, so that it suffices
    share = math.ceil(tally.suppressed / tally.records * 1000) / 1000
    changed = _with_step(recipe, budget=min(1.0, share))
    if changed is None or share > MOST_LOST or not feasible(changed, data):
        return None
    return {
        "words": f"Allow {percent(share)} suppression",
        "sentence": f"budget: {percent(share)} of the records",
        "recipe": changed,
    }


def _with_step(recipe: Recipe, **changes: Any) -> Recipe | None:
    """The recipe with its lattice step changed; None: that changes nothing, or cannot be."""
    try:
        changed = with_lattice_step(recipe, **changes)
    except (ParameterError, TypeError):
        return None
    return None if changed.steps == recipe.steps else changed


def _smaller(data: Table, recipe: Recipe, progress: Progress) -> Fields | None:
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


def _free_levels(data: Table, recipe: Recipe) -> Fields | None:
    """Levels as the search likes, where they are given."""
    changed = _with_step(recipe, levels={})
    if changed is None or not feasible(changed, data):
        return None
    return {
        "words": "Let the search choose the levels",
        "sentence": "levels: left to the search",
        "recipe": changed,
    }


def _without(data: Table, recipe: Recipe, progress: Progress) -> Iterator[Fields]:
    """One promise less, where others are left."""
    for position, model in enumerate(recipe.meet if len(recipe.meet) > 1 else ()):
        progress(0.5, f"trying without {model.promise}")
        changed = dataclasses.replace(
            recipe, meet=(*recipe.meet[:position], *recipe.meet[position + 1 :])
        )
        if feasible(changed, data):
            words = f"ithout {model.promise}"
            yield {"words": f"W{words}", "sentence": f"w{words}", "recipe": changed}
