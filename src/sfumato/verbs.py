"""The story, from top to bottom: read a table, look at it, make a release, check it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import recipes, registry
from sfumato.assessment import DEFAULT_THRESHOLD, Assessment
from sfumato.assessment import assess as _assess
from sfumato.core.agreement import Agreement
from sfumato.core.dataset import Dataset
from sfumato.core.evidence import gather, judge_all
from sfumato.core.model import Model, Verdict
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Role, Schema
from sfumato.core.source import Source
from sfumato.core.step import Step
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.release.beside import population_of
from sfumato.release.make import make_release
from sfumato.release.release import Release

if TYPE_CHECKING:
    from sfumato.comparison.outcome import Comparison
    from sfumato.core.metric import Utility
    from sfumato.core.pair import Pair
    from sfumato.evaluation import Evaluation
    from sfumato.intruders.report import AttackReport
    from sfumato.profile.proposal import Proposal
    from sfumato.release.verify import Verification


def read(table: Any, **options: Any) -> Dataset:
    """Read a table from a path (CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS) or take a frame.

    Options are those of the format: ``format, delimiter, encoding, decimal, header``, and ``text`` to leave all
    columns of a CSV as text.

    >>> import polars as pl
    >>> len(read(pl.DataFrame({"age": [30, 40]})))
    2
    """
    if isinstance(table, Dataset):
        return table
    if isinstance(table, str | Path):
        from sfumato.io.read import read_table

        frame, source = read_table(table, **options)
        return Dataset(frame, source=source)  # type: ignore[arg-type]
    if options:
        raise ParameterError(f"a frame takes no reading options; got {', '.join(options)}")
    return Dataset(table, source=Source(name="the table"))


def profile(dataset: Dataset) -> Proposal:
    """Propose roles, kinds and hierarchies; every guess carries its reason."""
    from sfumato.profile.proposal import propose

    return propose(dataset.to_polars(), dataset.source)


def judge(
    dataset: Dataset,
    meet: Sequence[Model | str],
    *,
    original: Dataset | None = None,
    population: Dataset | None = None,
    posteriors: Sequence[Any] = (),
) -> tuple[Verdict, ...]:
    """Judge a table under any number of promises, in one pass over its rows.

    A promise may be written short, as on the command line, and without its degree; then ``attained`` is what counts.
    ``original`` is the table before anything was released of it, ``population`` a table of everyone, and ``posteriors``
    what attacks found; models that need one of them say so.

    >>> from sfumato import examples
    >>> [verdict.attained for verdict in judge(examples.ancona(), ["k_anonymity", "l_diversity:salary"])]
    [3, 3]
    """
    models = [registry.ask(model).model if isinstance(model, str) else model for model in meet]
    people = population_of(models, population)
    return judge_all(gather(dataset, models, original=original, population=people, posteriors=posteriors), models)


def assess(
    dataset: Dataset,
    meet: Sequence[Model] = (),
    *,
    threshold: float = DEFAULT_THRESHOLD,
    population: Dataset | None = None,
    base: Path = Path(),
) -> Assessment:
    """Say what an intruder can do with a table as it is, and what is left of any promises.

    ``population`` is a table of everyone, for models that compare with one; where they name a file, its path starts from
    ``base``.
    """
    return _assess(dataset, tuple(meet), threshold=threshold, population=population_of(meet, population, base))


def why_alone(dataset: Dataset, record: int, columns: Sequence[str] | None = None) -> tuple[tuple[str, ...], ...]:
    """Why a record is risky: the smallest sets of columns on which nobody else is like it. Names columns, never values."""
    from sfumato.risk.singling_out import why_alone as _why_alone

    return _why_alone(dataset, record, columns)


def with_recipe(dataset: Dataset, recipe: Recipe | str | Path) -> tuple[Dataset, Recipe]:
    """A table described by a recipe (or the path of one), and the recipe."""
    made = recipe if isinstance(recipe, Recipe) else recipes.load(recipe)
    made.schema.check(dataset.columns, dataset.source.name)
    return dataset.with_schema(made.schema), made


def anonymize(
    dataset: Dataset,
    meet: Sequence[Model],
    steps: Sequence[Step],
    *,
    limits: Mapping[str, float] | None = None,
    contract: Sequence[Agreement] = (),
    seed: int | str | Seed | None = None,
    shuffle: bool = True,
    progress: Progress = silent,
    population: Dataset | None = None,
) -> Release:
    """Make a release: drop direct identifiers, run the steps, judge the output, shuffle the rows.

    ``meet`` says what must hold of the output and ``steps`` how to get there. The output is judged again, whatever
    the steps promised; when a promise does not hold :class:`ReleaseRefused` is raised and nothing is released.
    ``limits`` says what risks, attacks and utilities may be at most, ``contract`` what must survive for those who use the
    release. ``population`` is a table of everyone, for models that compare with one.
    """
    recipe = Recipe(dataset.schema, tuple(meet), tuple(steps), dict(limits or {}), tuple(contract))
    return make_release(dataset, recipe, seed=Seed.of(seed), shuffle=shuffle, progress=progress, population=population)


def run(
    dataset: Dataset,
    recipe: Recipe | str | Path,
    *,
    seed: int | str | Seed | None = None,
    shuffle: bool = True,
    progress: Progress = silent,
    population: Dataset | None = None,
) -> Release:
    """Make a release as a recipe says; see :func:`anonymize`."""
    described, made = with_recipe(dataset, recipe)
    return make_release(described, made, seed=Seed.of(seed), shuffle=shuffle, progress=progress, population=population)


def check(
    dataset: Dataset, recipe: Recipe | str | Path, *, original: Dataset | None = None, population: Dataset | None = None
) -> tuple[Verdict, ...]:
    """Judge a released table by a recipe: its direct identifiers must be gone, its promises must hold.

    Promises about distances to the original table are judged against ``original``; without it, against the released
    table itself.
    """
    made = recipe if isinstance(recipe, Recipe) else recipes.load(recipe)
    if not made.meet:
        raise ParameterError(
            "the recipe promises nothing under 'meet', so a released file cannot be checked by it; limits and contract need the original: sfumato attack, sfumato evaluate"
        )
    schema = made.schema
    for step in made.steps:
        if hasattr(
            step, "released_schema"
        ):  # some steps drop, add or replace columns, or make missing match everything
            schema = step.released_schema(schema, dataset.columns)
    left = [c for c in schema.direct if c in dataset.columns]
    if left:
        raise ReleaseRefused(f"{dataset.source.name} still holds direct identifiers: {', '.join(left)}")
    schema = schema.without(schema.direct)
    schema.check(dataset.columns, dataset.source.name)
    people = population_of(made.meet, population, made.base)
    if people is None:
        schema = _as_released(schema)
    evidence = gather(dataset.with_schema(schema), made.meet, original=original, population=people)
    return judge_all(evidence, made.meet)


def _as_released(schema: Schema) -> Schema:
    """A schema whose quasi-identifiers are what they are: local methods release ranges that no hierarchy lists."""
    for name in schema.quasi:
        if Role.SENSITIVE not in schema[name].roles:
            schema = schema.replace(name, hierarchy=None)
    return schema


def attack(original: Dataset, released: Dataset, **options: Any) -> AttackReport:
    """Let every named intruder try a release; the rows of ``released`` must say where they come from.

    Options: ``steps`` that made the release, for attacks that know the method; ``others``, earlier releases; ``only``, the
    attacks to try; ``seconds``, ``sample``, ``threshold``, ``seed``. A release has the method :meth:`Release.attack`.
    """
    from sfumato.core.pair import Pair
    from sfumato.intruders.attack import attack_release

    return attack_release(Pair.of(original, released), **options)


def evaluate(
    original: Dataset | Pair | Release,
    released: Dataset | None = None,
    metrics: Sequence[Utility | str | Mapping[str, Any]] | None = None,
) -> Evaluation:
    """Say what a release is still worth: of two tables, of a pair of them, or of a :class:`Release`.

    ``metrics`` are metrics or, as in a recipe, their names with parameters (``"loss"``, ``{"c_avg": {"k": 5}}``); by default every one
    that needs no parameter.

    >>> from sfumato import examples
    >>> found = evaluate(examples.patients(), examples.patients(release="single"), ["loss", {"c_avg": {"k": 2}}])
    >>> [(measure.name, round(measure.raw, 4)) for measure in found.measures]
    [('loss', 0.4444), ('c_avg', 1.5)]
    """
    from sfumato.core.pair import Pair as _Pair
    from sfumato.evaluation import evaluate as _evaluate

    if isinstance(original, Dataset) == (released is None):
        raise ParameterError("evaluate takes an original and a released table, or a release (or pair) alone")
    if isinstance(original, Dataset) and released is not None:
        original = _Pair.of(original, released)
    elif isinstance(original, Release):
        original = original.pair
    if not isinstance(original, _Pair):
        raise ParameterError("evaluate takes an original and a released table, or a release (or pair) alone")
    if metrics is None:
        return _evaluate(original)
    return _evaluate(original, [registry.build("utility", m) if isinstance(m, str | Mapping) else m for m in metrics])


def compare(
    dataset: Dataset,
    candidates: Mapping[str, Recipe | str | Path] | Sequence[str | Path],
    *,
    vary: Sequence[str] = (),
    seed: int | str | Seed | None = None,
    attacks: Sequence[str] | None = ("linkage",),
    seconds: float = 20.0,
    sample: int = 2000,
    workers: int | None = None,
    remember: str | Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Run several recipes on one table, attack and measure them alike, and put them on one map of risk and utility.

    ``candidates`` are recipes by name, or recipe files, which may say ``{vary: [3, 5, 10]}`` where a value should be tried in turn;
    ``vary`` does so from outside: ``["k_anonymity.k=3,5,10"]``. ``attacks=None`` lets every named intruder try everything.
    ``remember`` is a folder in which finished candidates are kept for the next run.
    """
    from sfumato.comparison.grid import Candidate, candidates_from
    from sfumato.comparison.run import compare as _compare
    from sfumato.comparison.trial import Terms

    if isinstance(candidates, Mapping):
        if vary:
            raise ParameterError("vary goes with recipe files; recipes in Python are varied in Python")
        made = tuple(Candidate(name, r if isinstance(r, Recipe) else recipes.load(r)) for name, r in candidates.items())
    else:
        made = candidates_from([Path(file) for file in candidates], vary)
    terms = Terms(Seed.of(seed), None if attacks is None else tuple(attacks), seconds, sample)
    kept = None if remember is None else Path(remember)
    return _compare(dataset, made, terms=terms, workers=workers, remember=kept, progress=progress)


def verify(folder: str | Path, **options: Any) -> Verification:
    """Recompute the claims of a certificate from the released file, and from the original where it is given."""
    from sfumato.release.verify import verify as _verify

    return _verify(Path(folder), **options)
