"""Making a release: prepare the data, run the steps, judge what came out, refuse what does not
hold.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.core import registry
from sfumato.core.acceptance import acceptance_problems
from sfumato.core.data import Context, Data
from sfumato.core.evidence import population_counts, population_path
from sfumato.core.files import MEGABYTE, require_plain
from sfumato.core.placed import table_problems
from sfumato.core.population import each_person
from sfumato.core.shape import SEVERAL_TABLES
from sfumato.core.table import Table
from sfumato.data.table.read import read_table
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.release.limit_checks import with_usual_limits

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.recipe import Recipe
    from sfumato.release.release import Release


T = TypeVar("T", bound="Release")


def make_release(data: Data, recipe: Recipe, context: Context) -> Any:
    """Run the steps of a recipe on data of any shape, judge what came out, and refuse what does not
    hold.

    Data say themselves how they are prepared and how steps run on them
    (:class:`~sfumato.core.data.Data`): a table drops direct identifiers and shuffles its rows, a
    table that an engine holds plans on counts and writes its rows in parts.
    """
    require_sense(data, recipe, context)
    # how it was read, whoever said so
    recipe = dataclasses.replace(recipe, intake=data.source.intake)
    population = population_of(recipe.meet, context.population, recipe.base)
    context = dataclasses.replace(context, population=population)
    original = data.prepare(recipe, context)
    # The class of releases that are made of such data, by its home: ``module:Class``.
    module, _, name = original.release_home.partition(":")
    kind = getattr(importlib.import_module(module), name)
    before = kind.assess_original(original, recipe, context)
    steps = original.run_steps(recipe, context)
    try:
        if steps.released.drawn:
            recipe = with_usual_limits(recipe)
        release = kind.from_steps(original, recipe, context, steps, before)
        release = release.judged(steps.released)
        if context.refuse:
            refuse_broken(release, implied=context.implied)
    except BaseException:
        steps.discard()
        raise
    return release


def judge_again(release: T, released: Data, *, bounds: bool = True) -> T:
    """The same release with other data in its place, judged as if they had come out; refused where
    it does not hold.
    """
    judged_release = release.judged(released, bounds=bounds)
    refuse_broken(judged_release)
    return judged_release


# Tables that models compare with, beside the one that is released.

MOST_BYTES = 16 * 1024 * MEGABYTE


def require_readable(path: Path) -> None:
    """Refuse a second table that is a device, a pipe or larger than 16 GB, before it is read."""
    require_plain(path, limit=MOST_BYTES, purpose="a second table")


def population_of(
    models: Sequence[Model], table: Table | None = None, base: Path = Path()
) -> Table | None:
    """The population the models compare with: the one given to the call, or the file they name;
    None without either.

    Paths start from ``base``, the folder of the recipe, and must lead to a plain file of at most
    16 GB: devices and pipes are refused.
    """
    path = population_path(models)
    counts = population_counts(models)
    if path is None:
        return table if table is None else each_person(table, counts)
    if table is not None:
        raise ParameterError(
            "a population was given to the call, but a model already names a file with "
            "one; give it once"
        )
    require_readable(base / path)
    frame, source = read_table(base / path)
    everyone = Table(frame, source=source)  # type: ignore[arg-type]
    return each_person(everyone, counts)


# What is refused.


def require_sense(data: Data, recipe: Recipe, context: Context) -> None:
    """Refuse a recipe of another shape, without promises or steps, or with limits that nobody
    measures; data without anybody; and options that the data do not know.
    """
    if data.shape is not recipe.shape:
        raise ParameterError(
            f"the recipe is for data of shape {recipe.shape}, not {data.shape}; use another recipe"
        )
    data.require_options({"population": context.population, "memory": context.memory})
    promises_nothing = not recipe.meet and not recipe.limits
    # Synthetic rows have a usual limit, or an ε.
    if context.refuse and promises_nothing and not any(step.draws_anew for step in recipe.steps):
        raise ParameterError(
            "meet is empty; name a promise, for example k_anonymity: {k: 5}, or set limits: "
            "{linkage: 0.05}"
        )
    if recipe.limits:
        problems = registry.limit_problems(recipe.limits, recipe.shape)
    else:
        problems = []
    if problems:
        raise ParameterError("; ".join(problems))
    if not recipe.steps:
        raise ParameterError(
            "steps is empty; name a step, for example global_recoding: {budget: 0.02}"
        )
    if data.shape in SEVERAL_TABLES:
        metrics = [bound.metric for bound in recipe.contract]
        problems = table_problems(
            {"meet": recipe.meet, "steps": recipe.steps, "contract": metrics},
            recipe.limits,
            data.schemas,
        )
    if recipe.accept:
        problems = acceptance_problems(recipe.accept, recipe.schema, recipe.steps)
    if problems:
        raise ParameterError("; ".join(problems))
    data.require_content()


def refuse_broken(release: Release, *, implied: bool = True) -> None:
    """Raise when a promise, limit or contract does not hold, or a released column undoes the
    release (unless not ``implied``).
    """
    broken = [f"{v.promise}: {v.sentence}" for v in release.verdicts if not v.holds]
    broken += [
        bound.sentence
        for bound in (*release.limits, *release.contract)
        if bound.refuses and not bound.holds
    ]
    if broken:
        raise ReleaseRefused(
            "the output does not hold what was promised, so nothing is released: "
            f"{'; '.join(broken)}"
        )
    if implied and (undone := release.undone_by):
        raise ReleaseRefused(
            f"a released column undoes the release, so nothing is released: {undone[0]}"
        )
