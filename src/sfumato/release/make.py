"""Making a release: run the steps, judge the output, refuse what does not hold."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core import environment, registry
from sfumato.core.acceptance import acceptance_problems
from sfumato.core.attack import Scene
from sfumato.core.dataset import Dataset
from sfumato.core.dataset import Dataset as Table
from sfumato.core.design import renumbered
from sfumato.core.evidence import gather, judge_all, needed, population_path
from sfumato.core.files import MEGABYTE, require_plain
from sfumato.core.free_text import refuse_declared_text, refuse_free_text
from sfumato.core.limits import Limit, limits_of, written_limits
from sfumato.core.mechanism import Taken, applied_mechanisms, asked_of
from sfumato.core.metric import Measure
from sfumato.core.pair import Pair, levels_of
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed, marked
from sfumato.core.recipe import Agreement, Kept, Recipe
from sfumato.core.schema import Role
from sfumato.core.step import Goal, accounts
from sfumato.core.threads import meanwhile
from sfumato.data.table.form import Form
from sfumato.data.table.formats import require_format
from sfumato.data.table.indistinct import made_one, refuse_unwritable
from sfumato.data.table.read import read_table
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, SfumatoError
from sfumato.release.assessment import assess, assessing
from sfumato.release.documents import digest_of_input
from sfumato.release.fixed_form import in_fixed_form, without_hierarchies
from sfumato.release.release import ColumnChange, Release
from sfumato.release.report.wording import RENUMBERED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Memory
    from sfumato.core.metric import Utility
    from sfumato.core.model import Model, Posterior
    from sfumato.core.step import Plan, Step
    from sfumato.data.lazy.table import LazyTable
    from sfumato.release.assessment import Assessment
    from sfumato.release.intruders import AttackReport
    from sfumato.release.shaped.release import ShapedRelease


# Limits of a recipe: how much an attack may reach, how much may be lost.

UNHURRIED = 86_400.0
"""Seconds for an attack that a limit names: what a certificate says must not depend on how busy the machine was."""


def judge_limits(
    limits: Mapping[str, Any],
    pair: Pair,
    *,
    steps: Sequence[Step] = (),
    models: Sequence[Model] = (),
    seed: Seed,
    counted: Dataset | None = None,
    memory: Memory | None = None,
) -> tuple[Kept, ...]:
    """Measure everything that is limited; what is better when lower must stay below its limit, the rest above.

    Where the pair is a sample, ``counted`` is all that was released, by counts: risks are measured on that. ``memory`` answers for
    earlier releases of the same people.
    """
    known = {"steps": steps, "models": models, "seed": seed}
    shared = pair.released if counted is None else counted
    return tuple(
        memory.kept(float(limit.bound), pair)
        if memory is not None and about_all_releases(limit.name)
        else _judge(limit, pair, shared, known)
        for limit in limits_of(limits)
    )


def about_all_releases(name: str) -> bool:
    """Whether a limit is about all releases of the same people together."""
    return name in registry.attacks() and registry.attacks()[name].remembers


def _judge(limit: Limit, pair: Pair, shared: Dataset, known: Mapping[str, Any]) -> Kept:
    if limit.name in registry.attacks():
        return _attacked(limit, pair, known)
    metric = registry.measured(limit)
    if limit.name in registry.family("risk"):
        measure, where = metric.measure(gather(shared, ())), ""
    else:
        seen = metric.looks_at(pair)
        measure, where = _measured(limit.name, metric, seen), seen.of_a_sample
    return kept_within(limit, measure, where)


def kept_within(limit: Limit, measure: Measure, where: str = "") -> Kept:
    """What was measured held against a limit, by which way is better."""
    bound = float(limit.bound)
    if measure.better == "lower":
        return _kept(limit, measure.value, measure.value <= bound + 1e-12, "at most", where)
    return _kept(limit, measure.value, measure.value >= bound - 1e-12, "at least", where)


def _kept(limit: Limit, value: float, holds: bool, way: str, where: str) -> Kept:
    bound = float(limit.bound)
    sentence = f"{limit.words} is {value:.4g}{where}; the recipe allows {way} {bound:g}"
    return Kept(limit.name, value, bound, holds, sentence, parameters=limit.parameters)


def _attacked(limit: Limit, pair: Pair, known: Mapping[str, Any]) -> Kept:
    """The limit of an attack by the intruder who knows most; one that cannot be tried is unknown, and does not keep it."""
    from sfumato.release.intruders import attack_release

    limits = written_limits([limit])
    report = attack_release(pair, only=[limit.spec], limits=limits, seconds=UNHURRIED, **known)
    return kept_by_attack(limit, report, pair.of_a_sample)


def kept_by_attack(limit: Limit, report: AttackReport, where: str = "") -> Kept:
    """What came of an attack held against its limit; one that could not be tried is unknown, and does not keep it."""
    bound = float(limit.bound)
    for skipped in (each for each in report.skipped if each.limit is not None):
        if skipped.unknown and limit.name in USUAL_LIMITS and bound >= 1:
            return _kept(limit, 1.0, True, "at most", where)  # what nobody can tell counts as the worst there is
        if skipped.unknown:
            told = f"{limit.words} is unknown: {skipped.reason}; the recipe allows at most {bound:g}"
            return Kept(limit.name, math.nan, bound, False, told, parameters=limit.parameters)
        otherwise = "give a register (--register)" if about_all_releases(limit.name) else "take the limit out"
        raise ParameterError(f"limits: {limit.words} does not apply to this release: {skipped.reason}; {otherwise}")
    value = report.value(limit.name)  # nothing else was tried
    return _kept(limit, value, value <= bound + 1e-12, "at most", where)


def _measured(name: str, made: Utility, pair: Pair) -> Measure:
    reason = made.out_of_place(pair)
    if reason is not None:
        raise ParameterError(f"limits: {name} cannot be measured on this release: {reason}")
    return made.measure(pair)


# Tables that models compare with, beside the one that is released.

MOST_BYTES = 16 * 1024 * MEGABYTE


def require_readable(path: Path) -> None:
    """Refuse a second table that is a device, a pipe or larger than 16 GB, before it is read."""
    require_plain(path, most=MOST_BYTES, what="a second table")


def population_of(models: Sequence[Model], given: Dataset | None = None, base: Path = Path()) -> Dataset | None:
    """The population the models compare with: the one given to the call, or the file they name; None without either.

    Paths start from ``base``, the folder of the recipe, and must lead to a plain file of at most 16 GB: devices and pipes
    are refused.
    """
    path = population_path(models)
    if path is None:
        return given
    if given is not None:
        raise ParameterError("a population was given to the call, but a model names a file with one; give it once")
    require_readable(base / path)
    frame, source = read_table(base / path)
    return Table(frame, source=source)  # type: ignore[arg-type]


# Rows that were drawn anew: whom they were learnt from, who was set aside, and the limits that hold unless others are set.

MOST_COPIED = 0.10
"""The copied excess beyond which drawn rows are refused where the recipe says nothing."""
MOST_RECOGNISED = 0.10
"""The same of any excess less what chance makes of it: copies, near copies and recognised members."""
USUAL_LIMITS = {"copied_records": MOST_COPIED, "recognised_members": MOST_RECOGNISED}


@dataclasses.dataclass(frozen=True, eq=False)
class LearntFrom:
    """Rows of the original that drawn rows were learnt from, and those that were set aside before; None: there are none."""

    learnt_from: NDArray[np.int64] | None = None
    held_out: NDArray[np.int64] | None = None

    def after(self, given: Dataset, made: Dataset, plan: Plan) -> LearntFrom:
        """What is known once a step has made one table of another: the first that draws rows decides."""
        if self.learnt_from is not None or not (made.drawn or plan.held_out is not None):
            return self
        rows = np.arange(len(given), dtype=np.int64) if given.origin is None else given.origin
        aside = np.zeros(len(given), dtype=bool)
        if plan.held_out is not None:
            aside[plan.held_out] = True
        return LearntFrom(np.sort(rows[~aside]), np.sort(rows[aside]) if aside.any() else None)


def with_usual_limits(recipe: Recipe, made: Dataset) -> Recipe:
    """The recipe with the limits that hold of rows drawn anew, unless it sets them or a step accounts for an ε.

    Where an ε is accounted for nothing may decide by looking at the original.
    """
    if not made.drawn or accounts(recipe.steps, recipe.schema):
        return recipe
    return dataclasses.replace(recipe, limits={**USUAL_LIMITS, **recipe.limits})


AS_IT_IS = "released as it is"


def make_release(
    dataset: Dataset,
    recipe: Recipe,
    *,
    seed: Seed,
    shuffle: bool = True,
    progress: Progress = silent,
    population: Dataset | None = None,
    refuse: bool = True,
    format: str | None = None,  # noqa: A002 - the word users know
    memory: Memory | None = None,
    implied: bool = True,
) -> Release:
    """Drop direct identifiers, run the steps in order, shuffle, and judge what came out.

    A direct identifier that a step ``claims`` is kept until that step has replaced it by something else.
    ``population`` is the table of everyone that models may compare with, where they do not name a file themselves.
    ``format`` is the one the release will be written in, by default that of the source: values it cannot tell apart are one
    value from the start, and what it cannot hold is refused.
    ``memory`` answers for earlier releases of the same people, where the recipe limits what all of them tell together.
    With ``refuse=False`` what breaks a promise is made all the same, to be looked at and compared; it cannot be written. Without
    ``implied`` a column that undoes the release does not refuse it; who made it must ask.
    """
    require_sense(dataset, recipe, refuse=refuse)
    recipe = dataclasses.replace(recipe, intake=dataset.source.intake)  # how it was read, whoever said so
    population = population_of(recipe.meet, population, recipe.base)
    fixed = accounts(recipe.steps, recipe.schema)
    original, form = _taken_in(dataset, recipe, format, fixed=fixed, refuse=refuse)
    claimed = {name for step in recipe.steps for name in step.claims}
    before = meanwhile(_assessing(original, recipe, population, fixed=fixed))
    shared = marked(original.drop(set(original.schema.direct) - claimed))
    plans: list[tuple[str, Plan]] = []
    people, taken = LearntFrom(), list[Taken]()
    asked = asked_of(recipe.meet)
    for place, step in enumerate(recipe.steps):
        plan = step.plan(shared, Goal(recipe.goals, seed, progress, population, place, fixed=fixed))
        before_it, shared = shared, step.apply(shared, plan)
        people = people.after(before_it, shared, plan)
        plans.append((step.name, plan))
        if asked:
            taken.append(Taken(step, before_it, shared))
    recipe = with_usual_limits(recipe, shared)
    shared = renumbered(shared.drop(shared.schema.direct).with_marks(None), seed)
    shared = made_one(shared, form.format, spellings=False)[0].compacted()
    if shuffle:
        shared = shared.take(seed.stream("shuffle").permutation(len(shared)))
    mechanisms = applied_mechanisms(original, taken, shared, asked)
    limits, contract = _bounds_kept(original, shared, recipe, seed, plans, people, memory)
    posteriors = _posteriors(original, shared, recipe, seed, plans)
    known: dict[str, Any] = {"population": population, "mechanisms": mechanisms, "posteriors": posteriors}
    evidence = gather(shared, recipe.meet, original=original, **known)
    release = Release(
        dataset=shared,
        original=original,
        recipe=recipe,
        plans=tuple(plans),
        verdicts=judge_all(evidence, recipe.meet),
        before=before.result(),
        after=assess(shared),
        columns=changes_of(original, shared, plans),
        scores={objective: score for _, plan in plans for objective, score in plan.scores().items()},
        seed=seed,
        shuffled=shuffle,
        created=environment.now(),
        population=population,
        limits=limits,
        contract=contract,
        made_for=form.format,
        learnt_from=people.learnt_from,
        held_out=people.held_out,
        memory=memory,
        mechanisms=mechanisms,
    )
    if refuse:
        refuse_broken(release, implied=implied)
    return release


def judged_again(release: Release, shared: Dataset) -> Release:
    """The same release with another table in its place, judged as if it had come out; refused where it does not hold."""
    recipe, original = release.recipe, release.original
    people = LearntFrom(release.learnt_from, release.held_out)
    limits, contract = _bounds_kept(original, shared, recipe, release.seed, release.plans, people, release.memory)
    posteriors = _posteriors(original, shared, recipe, release.seed, release.plans)
    known: dict[str, Any] = {"population": release.population, "mechanisms": release.mechanisms}
    evidence = gather(shared, recipe.meet, original=original, posteriors=posteriors, **known)
    found = dataclasses.replace(
        release,
        dataset=shared,
        verdicts=judge_all(evidence, recipe.meet),
        after=assess(shared),
        columns=changes_of(original, shared, release.plans),
        limits=limits,
        contract=contract,
    )
    refuse_broken(found)
    return found


def _taken_in(
    dataset: Dataset,
    recipe: Recipe,
    format: str | None,  # noqa: A002
    *,
    fixed: bool,
    refuse: bool,
) -> tuple[Dataset, Form]:
    """The table that is released, and the form it will be written in; where an ε is accounted for, no record decides about either."""
    if fixed:
        dataset = in_fixed_form(dataset, recipe)
    form = Form.of(_format(dataset, format), dataset.source)
    original = _distinct(dataset.checked(), form, refuse=refuse)
    if fixed:
        refuse_declared_text(original.schema, original.source.name)
    else:
        refuse_free_text(original)
    return original, form


def _assessing(
    original: Dataset, recipe: Recipe, population: Dataset | None, *, fixed: bool
) -> Callable[[], Assessment]:
    """Assess the table as it is, without its direct identifiers."""
    shown = original.drop(original.schema.direct)
    if fixed:
        shown = without_hierarchies(shown, shown.schema.quasi)
    return assessing(shown, recipe.goals, population=population)


def _format(dataset: Dataset, asked: str | None) -> str:
    if asked is not None:
        return require_format(asked)
    return "csv" if dataset.source.format == "frame" else dataset.source.format


def _distinct(dataset: Dataset, form: Form, *, refuse: bool) -> Dataset:
    """The table with values that the format tells apart; what it was committed to as is the table as it was given."""
    if refuse:
        refuse_unwritable(dataset, form.format, header=form.header)
    made, notes = made_one(dataset, form.format)
    if made is dataset:
        return dataset
    source = dataclasses.replace(made.source, digest=digest_of_input(dataset), notes=(*made.source.notes, *notes))
    return dataclasses.replace(made, source=source)


def _bounds_kept(
    original: Dataset,
    shared: Dataset,
    recipe: Recipe,
    seed: Seed,
    plans: Sequence[tuple[str, Plan]],
    people: LearntFrom,
    memory: Memory | None,
) -> tuple[tuple[Kept, ...], tuple[Kept, ...]]:
    """What the recipe limits, and what its contract asks for, measured on what is shared."""
    if not recipe.limits and not recipe.contract:
        return (), ()
    levels = levels_of(plan.describe() for _, plan in plans)
    pair = Pair.of(original, shared, levels, learnt_from=people.learnt_from, held_out=people.held_out)
    known: dict[str, Any] = {"steps": recipe.steps, "models": recipe.meet, "seed": seed, "memory": memory}
    limits = judge_limits(recipe.limits, pair, **known)
    fixed = accounts(recipe.steps, recipe.schema)
    return limits, tuple(_agreed(agreement, pair, fixed=fixed) for agreement in recipe.contract)


def _agreed(agreement: Agreement, pair: Pair, *, fixed: bool) -> Kept:
    """A line of the contract held against the release; where an ε is accounted for, what cannot be measured ends no run."""
    try:
        return agreement.judge(pair)
    except SfumatoError:
        if not fixed or agreement.refuse:
            raise
        return agreement.held("it cannot be measured on this table")


def _posteriors(
    original: Dataset, shared: Dataset, recipe: Recipe, seed: Seed, plans: Sequence[tuple[str, Plan]]
) -> tuple[Posterior, ...]:
    """What the attacks that the recipe limits believe of who is behind each released record, where a promise asks for it.

    The intruder knows all quasi-identifiers of everybody.
    """
    if not needed(recipe.meet, shared.schema).posteriors:
        return ()
    from sfumato.release.intruders import intruder_from

    pair = Pair.of(original, shared, levels_of(plan.describe() for _, plan in plans))
    who = intruder_from(pair, pair.quasi, sample=len(original), seed=seed)
    scene = Scene(pair, who, recipe.steps, recipe.meet, seed=seed, seconds=UNHURRIED)
    attacks = [registry.measured(limit) for limit in limits_of(recipe.limits) if limit.name in registry.attacks()]
    found = []
    for attack in attacks:
        reason = attack.out_of_place(scene)
        if reason is not None:
            raise ParameterError(f"what {attack.words} believes of released records is not known: {reason}")
        posterior = attack.posterior(scene)
        if posterior is not None:
            found.append(posterior)
    return tuple(found)


def require_sense(dataset: Dataset | LazyTable, recipe: Recipe, *, refuse: bool) -> None:
    """Refuse a recipe without promises or steps, and a table without rows."""
    require_goal(recipe, refuse=refuse)
    if problems := acceptance_problems(recipe.accept, recipe.schema, recipe.steps):
        raise ParameterError("; ".join(problems))
    if not dataset.records:
        raise SchemaError(f"{dataset.source.name} has no rows; there is nothing to release")


def require_goal(recipe: Recipe, *, refuse: bool) -> None:
    """Refuse a recipe that promises nothing, limits what nobody measures, or has no steps."""
    drawn = any(step.draws_anew for step in recipe.steps)  # these have a usual limit, or an ε
    if refuse and not recipe.meet and not recipe.limits and not drawn:
        raise ParameterError(
            "meet is empty: say what must hold, for example k_anonymity: {k: 5}, or set limits: {linkage: 0.05}"
        )
    wrong = registry.limit_problems(recipe.limits, recipe.shape)
    if wrong:
        raise ParameterError("; ".join(wrong))
    if not recipe.steps:
        raise ParameterError("steps is empty: say how to get there, for example global_recoding: {budget: 0.02}")


def refuse_broken(release: Release | ShapedRelease, *, implied: bool = True) -> None:
    """Raise when a promise, limit or contract does not hold, or a released column undoes the release (unless not ``implied``)."""
    broken = [f"{v.promise}: {v.sentence}" for v in release.verdicts if not v.holds]
    broken += [kept.sentence for kept in (*release.limits, *release.contract) if kept.refuses and not kept.holds]
    if broken:
        raise ReleaseRefused(f"the output does not keep what was promised, nothing is released: {'; '.join(broken)}")
    if implied and isinstance(release, Release) and (undone := release.implied.refusals):
        raise ReleaseRefused(f"a released column undoes the release, nothing is released: {undone[0]}")


def changes_of(original: Dataset, shared: Dataset, plans: Sequence[tuple[str, Plan]]) -> tuple[ColumnChange, ...]:
    """What happened to every column, in words."""
    levels: dict[str, tuple[int, int]] = {}
    local: set[str] = set()
    masked: dict[str, list[str]] = {}
    blanks: Counter[str] = Counter()
    for _, plan in plans:
        told = plan.describe()
        for column, place in told.get("levels", {}).items():
            levels[column] = (place["level"], place["top"])
        local.update(told.get("columns", ()))
        blanks.update(told.get("suppressed_cells", {}))
        for column, words in told.get("masked", {}).items():
            masked.setdefault(column, []).append(words)
    known = [_change(name, original, shared, levels, blanks[name], local=name in local) for name in original.columns]
    return (
        *(_with_masking(change, masked.get(change.name, ())) for change in known),
        *_added(original, shared, masked),
    )


def _with_masking(change: ColumnChange, words: Sequence[str]) -> ColumnChange:
    """What happened to a column that was masked: the words of the masking steps, then what else was done."""
    if not words or change.distinct_after is None:
        return change
    told = [*words] if change.action == AS_IT_IS else [*words, change.action]
    return dataclasses.replace(change, action="; ".join(told))


def _added(original: Dataset, shared: Dataset, masked: Mapping[str, Sequence[str]]) -> Iterator[ColumnChange]:
    """The columns that only the release has."""
    for name in shared.columns:
        if name not in original.columns:
            roles = tuple(str(role) for role in shared.schema[name].roles)
            told = "; ".join(masked.get(name, ("added",)))
            yield ColumnChange(name, roles, told, None, None, 0, shared.column(name).n_unique())


def _change(
    name: str, original: Dataset, shared: Dataset, levels: dict[str, tuple[int, int]], blanks: int, *, local: bool
) -> ColumnChange:
    attribute = original.schema[name]
    before = _distinct_values(original, name)
    after = _distinct_values(shared, name) if name in shared.columns else None
    level, top = levels.get(name, (None, None))
    action = _action(attribute.roles, after, level, top)
    if shared.drawn and attribute.has(Role.UNIT) and after is not None:
        action = AS_IT_IS  # drawn units keep the numbers they were drawn with
    if local and level is None and after is not None and not blanks:
        action = "generalised cell by cell"
    return ColumnChange(
        name,
        tuple(str(r) for r in attribute.roles),
        f"{action}, but for {blanks:,} suppressed cell{'s' * (blanks > 1)}" if blanks else action,
        level,
        top,
        before,
        after,
    )


def _distinct_values(dataset: Dataset, name: str) -> int:
    """How many values a column has, missing one of them; labels of floats may stand for several (NaN beside missing)."""
    dtype = dataset.dtype(name)
    told = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Date) or dtype.is_integer()
    known = told and name in dataset.known.codes
    return len(dataset.encoded(name).labels) if known else dataset.column(name).n_unique()


def _action(roles: Sequence[str], after: int | None, level: int | None, top: int | None) -> str:
    if after is None:
        return "dropped: its role is direct" if Role.DIRECT in roles else "dropped: suppressed as a whole"
    if Role.UNIT in roles:
        return RENUMBERED
    if level is None or top is None:
        return AS_IT_IS
    if level == 0:
        return f"kept exact (level 0 of {top})"
    return "generalised to the top: nothing is left of it" if level == top else f"generalised to level {level} of {top}"
