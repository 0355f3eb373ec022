"""Making a release of people who are no table: run the steps, judge the output, refuse what does not hold."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core import environment
from sfumato.core.data import DataPair
from sfumato.core.progress import Progress, silent
from sfumato.core.step import Goal
from sfumato.data.table.formats import require_format
from sfumato.errors import InternalError, ParameterError, ReleaseRefused, SchemaError
from sfumato.release.make import refuse_broken, require_goal
from sfumato.release.shaped.release import ShapedRelease
from sfumato.release.shaped.trying import judge_people, limits_kept

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Recipe
    from sfumato.core.step import Plan


def make_shaped(
    people: Data,
    recipe: Recipe,
    *,
    seed: Seed,
    shuffle: bool = True,
    progress: Progress = silent,
    refuse: bool = True,
    format: str | None = None,  # noqa: A002 - the word users know
) -> ShapedRelease:
    """Run the steps in order, shuffle the people, and judge what came out; nothing is attacked or measured yet but limits.

    With ``refuse=False`` what breaks a promise is made all the same, to be looked at; it cannot be written.
    """
    require_goal(recipe, refuse=refuse)
    require_shape(people, recipe)
    if not people.people:
        raise SchemaError(f"{people.source.name} holds nobody; there is nothing to release")
    recipe = dataclasses.replace(recipe, intake=people.source.intake)  # how it was read, whoever said so
    shared, plans = people, list[tuple[str, "Plan"]]()
    for place, step in enumerate(recipe.steps):
        plan = step.plan(shared, Goal(recipe.meet, seed, progress, None, place))
        shared = step.apply(shared, plan)
        plans.append((step.name, plan))
    if not shared.people:
        raise ReleaseRefused("the steps left nobody, so there is nothing to release; allow more, or promise less")
    shared = shared.finish(seed, shuffle=shuffle)
    require_alignment(people, shared)
    release = ShapedRelease(
        released=shared,
        original=people,
        recipe=recipe,
        plans=tuple(plans),
        verdicts=judge_people(shared, recipe.meet, people),
        seed=seed,
        shuffled=shuffle,
        created=environment.now(),
        made_for=format_for(people, format),
    )
    release = with_bounds(release)
    if refuse:
        refuse_broken(release)
    return release


def make_and_try(
    people: Data, recipe: Recipe, *, seconds: float, progress: Progress = silent, **options: Any
) -> ShapedRelease:
    """A release with what attacks find before and after, for so many seconds of computing at most, and what it is worth."""
    release = make_shaped(people, recipe, progress=progress, **options)
    return release.tried(seconds=seconds, progress=progress)


def with_bounds(release: ShapedRelease) -> ShapedRelease:
    """The release with what its recipe limits, and what its contract asks for, measured on what is shared."""
    recipe, original, shared = release.recipe, release.original, release.released
    known: dict[str, Any] = {"steps": recipe.steps, "models": recipe.meet}
    return dataclasses.replace(
        release,
        limits=limits_kept(recipe.limits, original, shared, **known, seed=release.seed),
        contract=tuple(agreement.judge(DataPair(original, shared)) for agreement in recipe.contract),
    )


def judged_again(release: ShapedRelease, found: Data, *, bounds: bool) -> ShapedRelease:
    """The same release with the people that somebody else reads, judged as if they had come out; refused where it does not hold."""
    verdicts = judge_people(found, release.recipe.meet, release.original)
    again = dataclasses.replace(release, released=found, verdicts=verdicts)
    again = with_bounds(again) if bounds else again
    refuse_broken(again)
    return again


def format_for(people: Data, asked: str | None) -> str:
    """The format that a release is written in: the one asked for, else that of the source."""
    if asked is not None:
        return require_format(asked)
    return "csv" if people.source.format == "frame" else people.source.format


def require_shape(people: Data, recipe: Recipe) -> None:
    """Refuse, by name, people of another shape than the recipe is about."""
    if people.shape is not recipe.shape:
        raise ParameterError(f"the recipe is about data of shape {recipe.shape}, not {people.shape}")


def require_alignment(original: Data, released: Data) -> None:
    """Raise where it is not known who is who: scores would be wrong without a word."""
    origin = released.origin
    if origin is None:
        if released.people != original.people:
            raise InternalError("a step left people out without saying whom")
    elif len(origin) != released.people or (len(origin) and not -1 <= origin.min() <= origin.max() < original.people):
        raise InternalError("a step says of other people than there are who they were")
