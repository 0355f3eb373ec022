"""The story, from top to bottom: read a table, look at it, make a release, check it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Unpack

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.acceptance import read_acceptances
from sfumato.core.arguments import as_tuple
from sfumato.core.data import Context, Data, Pair, is_data
from sfumato.core.evidence import judge_all
from sfumato.core.fields import Document, Fields
from sfumato.core.metric import Utility
from sfumato.core.model import Model, Verdict
from sfumato.core.options import CommandOption
from sfumato.core.progress import Progress, silent
from sfumato.core.publication import read_publication
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Agreement, Recipe
from sfumato.core.shape import Shape
from sfumato.core.source import Intake, ReadKeywords
from sfumato.core.step import Step
from sfumato.core.table import Table
from sfumato.data.lazy.table import LazyTable
from sfumato.errors import ParameterError, RecipeError
from sfumato.interfaces.compare_options import CompareOptions
from sfumato.methods.attacks.file_risks.singling_out import why_alone as _why_alone
from sfumato.release.assessment import DEFAULT_THRESHOLD, Assessment
from sfumato.release.assessment import assess as _assess
from sfumato.release.attack_run import (
    DEFAULT_SECONDS,
    AttackContext,
    AttackKeywords,
    attack_release,
)
from sfumato.release.evaluation import evaluate as _evaluate
from sfumato.release.make import make_release, population_of
from sfumato.release.read_data import read_one_table, read_recipe_data, schemas_of
from sfumato.release.release import Release
from sfumato.release.table_locations import InDatabase, locations_in

if TYPE_CHECKING:
    from sfumato.core.attack import Memory
    from sfumato.core.pair import TablePair
    from sfumato.guidance.comparison import Comparison
    from sfumato.guidance.profiling.proposal import Proposal
    from sfumato.guidance.profiling.table_relations import RelationsProposal
    from sfumato.release.attack_report import AttackReport
    from sfumato.release.data_assessment import DataAssessment
    from sfumato.release.evaluation import Evaluation
    from sfumato.release.table_release import TableRelease
    from sfumato.release.verification import Verification
    from sfumato.results.integral.algorithms import IntegralAlgorithm
    from sfumato.results.integral.integral_privacy import IntegralKeywords, IntegralPrivacy


def read(
    data: TableLike,
    /,
    *,
    recipe: Recipe | str | Path | None = None,
    engine: str | None = None,
    table: str | None = None,
    **options: Unpack[ReadKeywords],
) -> Table | LazyTable:
    """Read a table from a path (CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS) or a
    database, or take a frame.

    A lazy frame (polars, DuckDB, Spark) stays with its engine, and so does Parquet, one file or a
    folder or pattern of parts, when it is large or ``engine`` says ``polars``, ``duckdb`` or
    ``spark``; ``memory`` reads everything, and ``auto`` chooses by rows, distinct quasi-identifiers
    of the ``recipe`` and the memory at hand. Spark is the session that is active, the server that
    ``SPARK_REMOTE`` names, or a session of this machine. A ``table`` of ``postgresql://host/db``,
    ``sqlite:///file.db`` or ``duckdb:///file.db`` stays in its database; passwords come from the
    environment or the driver's files.

    Options say how: ``delimiter``, ``encoding``, ``decimal``, ``header``, ``sheet``,
    ``rename_duplicates``, ``missing_values``, ``unicode`` and ``blanks``
    (see :class:`~sfumato.core.source.Intake`); what is not said is taken from the ``recipe``, else
    found out. ``format`` names the format, and ``text=True`` leaves all columns of a CSV as text,
    each cell read for itself; a recipe with a step that accounts for an ε asks for that. A frame
    takes the options that are about values: ``missing_values``, ``unicode``, ``blanks`` and
    ``rename_duplicates``.

    >>> import polars as pl
    >>> read(pl.DataFrame({"age": [30, -9]}), missing_values=[-9]).column("age").to_list()
    [30, None]
    """
    loaded = None if recipe is None else _load(recipe)
    return read_one_table(data, recipe=loaded, engine=engine, table=table, options=options)


TableLike = object
"""A dataset; or a path or a polars, pandas or Arrow frame, which is read."""

Roles = Mapping[str, str | Sequence[str]]
"""Role → the columns that have it."""

SeedLike = int | str | Seed | None
"""A seed, a number or a hexadecimal text; None draws one."""

ModelLike = Model | str | Fields
"""A promise: an object, the short form of the command line, or as in a recipe."""

StepLike = Step | str | Fields
"""A step: an object, its name, or as in a recipe."""

MetricLike = Utility | str | Fields
"""A metric, its name, or its name with parameters, as in a recipe."""

Made = Release
"""A :class:`Release`; of a table a :class:`~sfumato.release.table_release.TableRelease`."""


def _load(recipe: Recipe | str | Path) -> Recipe:
    return recipe if isinstance(recipe, Recipe) else recipes.load(recipe)


def any_recipe(recipe: Recipe | str | Path) -> Recipe:
    """A recipe of any shape of data, or the one in a file."""
    return recipe if isinstance(recipe, Recipe) else recipes.load_any(recipe)


def _as_data(value: TableLike) -> Data:
    """Data that are read already as they are; a path or a frame is read as a table."""
    return value if is_data(value) else read(value)


def _read_with_roles(data: TableLike, roles: Roles | None, purpose: str) -> Data:
    """Data whose columns have roles; a table that has none is refused, with what to do."""
    dataset = _as_data(data)
    if roles is not None:
        dataset = dataset.with_roles(**roles)
    dataset.require_roles(purpose)
    return dataset


def _models(value: object, data: TableLike, *, may_leave_open: bool = False) -> tuple[Model, ...]:
    """The promises that ``meet`` names: objects, ``"k_anonymity:5"`` or ``{"k_anonymity": 5}``.

    ``may_leave_open``: a short form without its degree is legal, since what is attained counts.
    """
    shape = _shape_of(data)
    models: list[Model] = []
    for entry in as_tuple(value):
        if not isinstance(entry, str):
            models.append(_build("models", entry, "meet", shape))
            continue
        asked = registry.ask(entry, shape)
        if asked.left_open and not may_leave_open:
            field = asked.left_open[0]
            raise ParameterError(f"{entry}: give {field}, like '{entry},{field}=5'")
        models.append(asked.model)
    return tuple(models)


def _steps(value: object, data: TableLike) -> tuple[Step, ...]:
    """The steps that were named: objects, ``"mondrian"``, ``{"mondrian": {"mode": "relaxed"}}``."""
    shape = _shape_of(data)
    return tuple(_build("steps", entry, "steps", shape) for entry in as_tuple(value))


def _shape_of(data: TableLike) -> Shape:
    """The shape of data; paths and frames, which are not read yet, are tables."""
    return data.shape if is_data(data) else Shape.TABLE


EXAMPLES = {"meet": "sf.KAnonymity(5) or 'k_anonymity:5'", "steps": "sf.Mondrian() or 'mondrian'"}


def _build(family: str, entry: object, argument: str, shape: Shape) -> Any:
    """One method of a family; a number or a class where a method belongs is refused."""
    if isinstance(entry, str | Mapping):
        try:
            return registry.build(family, entry, shape=shape)
        except RecipeError as error:
            raise ParameterError(f"{argument}: {error}") from None
    # sf.KAnonymity in place of sf.KAnonymity(5) is a common slip: a class has a name as well.
    if isinstance(entry, type) or not hasattr(entry, "name"):
        kind = entry.__name__ if isinstance(entry, type) else type(entry).__name__
        raise ParameterError(
            f"{argument} takes {EXAMPLES[argument]}, or a list of such; got {kind}"
        )
    return entry


def profile(dataset: TableLike | Mapping[str, TableLike]) -> Proposal | RelationsProposal:
    """Propose roles, kinds, hierarchies and the steps that lose least; every guess carries its
    reason.

    Columns are counted in all rows, and looked at together in 200,000 rows at most (``sampled``);
    steps are tried on 10,000. Several tables are given by name, as their folder or as a database:
    then keys are proposed too, and which table belongs to which
    (:class:`~sfumato.guidance.profiling.table_relations.RelationsProposal`).
    """
    from sfumato.guidance.profiling.table_relations import propose_relations

    # A path may be a folder of tables or a database: then several tables are looked at.
    locations = locations_in([str(dataset)]) if isinstance(dataset, str | Path) else None
    source = dataset if locations is None else locations
    if isinstance(source, Mapping):
        tables = {}
        for name, location in source.items():
            if isinstance(location, InDatabase):
                tables[name] = location.read({})
            else:
                tables[name] = read(location).in_memory("profile")
        return propose_relations(
            {name: (table.to_polars(), table.source) for name, table in tables.items()}
        )
    return profile_table(dataset)


def profile_table(dataset: TableLike) -> Proposal:
    """Propose the recipe of one table; see :func:`profile`."""
    from sfumato.data.lazy.parquet_columns import ParquetColumns, parquet_columns
    from sfumato.guidance.profiling.proposal import propose_recipe

    # Large Parquet is looked at column by column: a file by its path, or the parts of a table that
    # an engine holds.
    table: Any = parquet_columns(dataset) or read(dataset)
    table = parquet_columns(table) or table.in_memory("profile")
    return propose_recipe(
        table if isinstance(table, ParquetColumns) else table.to_polars(), table.source
    )


def judge(
    dataset: TableLike,
    meet: ModelLike | Sequence[ModelLike],
    *,
    roles: Roles | None = None,
    original: Table | None = None,
    population: Table | None = None,
    posteriors: Sequence[object] = (),
) -> tuple[Verdict, ...]:
    """Judge a table under any number of promises, in one pass over its rows.

    A promise may be written short, as on the command line, and without its degree; then
    ``attained`` is what counts. A frame without roles takes them as ``roles={"quasi": ["age"]}``.
    ``original`` is the table before anything was released of it, ``population`` a table of
    everyone, and ``posteriors`` what attacks found; models that need one of them say so.

    >>> from sfumato import examples
    >>> verdicts = judge(examples.ancona(), ["k_anonymity", "l_diversity:salary"])
    >>> [verdict.attained for verdict in verdicts]
    [3, 3]
    """
    data = _read_with_roles(dataset, roles, "judge")
    models = _models(meet, data, may_leave_open=True)
    context = {
        "original": original,
        "population": population_of(models, population),
        "posteriors": posteriors,
    }
    evidence = data.evidence(models, **context)
    verdicts = judge_all(evidence, models)
    classes = getattr(evidence, "classes", None)
    return tuple(replace(verdict, class_table=classes) for verdict in verdicts)


@dataclass(frozen=True)
class AssessOptions:
    """What :func:`assess` takes besides its everyday keywords.

    ``seconds`` of computing, at most, are for attacks on non-tabular data. Paths of files that
    models name start from ``base``, the folder of the recipe.
    """

    seconds: Annotated[
        float | None,
        CommandOption(
            "non-tabular data: seconds of computing attacks have, 60 by default; 0: none",
            minimum=0,
        ),
    ] = None
    base: Path = Path()


def assess(
    dataset: TableLike,
    meet: Annotated[
        ModelLike | Sequence[ModelLike],
        CommandOption(
            "a model to judge besides those of the recipe, with or without its degree:"
            " l_diversity:diagnosis or l_diversity:diagnosis,3 or"
            " t_closeness:cost,distance=ordered; repeat it",
            ("--model",),
            typed=list[str],
        ),
    ] = (),
    *,
    roles: Roles | None = None,
    threshold: Annotated[
        float | None,
        CommandOption(
            "risk above which a record counts as at risk; 0.2 by default",
            minimum=0.0001,
            maximum=1,
        ),
    ] = None,
    everything: Annotated[
        bool,
        CommandOption(
            "all parameters the table attains: k, and α, p, l, t, β, δ of each sensitive column",
            ("--everything",),
        ),
    ] = False,
    population: Table | None = None,
    progress: Progress = silent,
    options: AssessOptions = AssessOptions(),
) -> Assessment | DataAssessment:
    """Say what an intruder can do with a table as it is, and what is left of any promises.

    ``roles`` says what the columns of a frame are (``{"quasi": ["age", "zip"]}``). ``population``
    is a table of everyone, for models that compare with one and for ``unique_in_population``, the
    share of sample uniques that are unique there. ``everything`` measures all parameters that the
    table attains. Non-tabular data are attacked as if they were
    released as they are; the result is
    a :class:`~sfumato.release.data_assessment.DataAssessment`.
    """
    # Wrong arguments are refused before the data are read.
    models = _models(meet, dataset, may_leave_open=True)
    data = _read_with_roles(dataset, roles, "assess")
    seconds = options.seconds
    options_of_tables = {"population": population, "threshold": threshold, "seconds": seconds}
    data.require_options({**options_of_tables, "everything": everything or None})
    if data.attacked_by_run:
        from sfumato.release.data_assessment import assess_data

        # 0 seconds is an answer (no attacks); None alone means the default.
        budget = DEFAULT_SECONDS if seconds is None else seconds
        return assess_data(data, models, seconds=budget, progress=progress)
    everyone = population_of(models, population, options.base)
    bound = DEFAULT_THRESHOLD if threshold is None else threshold
    table = data.one_table().counted_for(models)
    if everything:
        table = table.in_memory("assess --everything")
    return _assess(table, models, threshold=bound, population=everyone, everything=everything)


def why_alone(
    dataset: Table, record: int, columns: Sequence[str] | None = None, *, most: int = 5
) -> tuple[tuple[str, ...], ...]:
    """Why a record is risky: the smallest sets of columns, of at most so many, on which nobody else
    is like it. Names columns, never values.
    """
    return _why_alone(dataset, record, columns, limit=most)


def with_recipe(
    dataset: TableLike, recipe: Recipe | str | Path
) -> tuple[Table | LazyTable, Recipe]:
    """A table read and described as a recipe (or the path of one) says, and the recipe."""
    loaded = _load(recipe)
    return read(dataset, recipe=loaded).described_by(loaded), loaded


@dataclass(frozen=True)
class MakeOptions:
    """How a release is made, besides what a recipe says.

    ``format`` is the one the release will be written in, when it is not that of the table: values
    it cannot distinguish are one value from the start.
    """

    panel: ClassVar[str] = "How the release is written"
    shuffle: Annotated[
        bool, CommandOption("shuffle rows, since their order may identify people")
    ] = True
    format: Annotated[str | None, CommandOption("another format than the input's")] = None


@dataclass(frozen=True)
class AnonymizeOptions(MakeOptions):
    """What :func:`anonymize` takes besides its everyday keywords.

    ``contract`` says what must survive for those who use the release, ``accept`` what is taken on
    of released columns, as a recipe writes it. ``population`` is a table of everyone, for models
    that compare with one. ``seconds`` of computing, at most, are for attacks on non-tabular data
    (0: no attacks). ``publish`` is what the shared page says: title, purpose, contact, licence.
    """

    population: Table | None = None
    contract: Agreement | Sequence[Agreement] = ()
    accept: Fields | None = None
    publish: Mapping[str, str] | None = None
    seconds: float | None = None
    progress: Progress = silent


@dataclass(frozen=True)
class RunOptions(MakeOptions):
    """What :func:`run` takes besides its everyday keywords.

    ``people`` is the second table of non-tabular data, where the recipe does not name it. ``into``
    is the folder that the release will be written to: the parts of a table that an engine holds
    are made beside it. ``memory`` answers for earlier releases of the same people
    (:class:`sfumato.release.register.memory.Remembered`).
    """

    people: TableLike = None
    into: str | Path | None = None
    memory: Memory | None = None


def anonymize(
    dataset: TableLike,
    meet: ModelLike | Sequence[ModelLike],
    steps: StepLike | Sequence[StepLike] | None = None,
    *,
    roles: Roles | None = None,
    limits: Mapping[str, float] | None = None,
    seed: SeedLike = None,
    options: AnonymizeOptions = AnonymizeOptions(),
) -> Made:
    """Make a release: drop direct identifiers, run the steps, judge the output, shuffle the rows.

    ``meet`` says what must hold of the output and ``steps`` how to get there; without steps a table
    gets the step that a profile of it proposes. Both may be written short: ``"k_anonymity:5"``,
    ``{"mondrian": {"mode": "relaxed"}}``. The output is judged again, whatever the steps promised;
    when a promise does not hold :class:`ReleaseRefused` is raised and nothing is released.
    ``limits`` says what risks, attacks and utilities may be at most. ``roles`` says what the
    columns of a frame are; every column needs one. Non-tabular data (:func:`sfumato.read_data`) are
    attacked before and after.
    """
    promises = _models(meet, dataset)
    methods = None if steps is None else _steps(steps, dataset)
    parts: Document = {"meet": promises, "limits": dict(limits or {})}
    parts["contract"] = as_tuple(options.contract)
    parts["accept"] = read_acceptances(options.accept)
    if options.publish is not None:
        parts["publication"] = read_publication(options.publish)
    context = Context(
        Seed.of(seed),
        shuffle=options.shuffle,
        progress=options.progress,
        population=options.population,
        format=options.format,
    )
    data = _read_with_roles(dataset, roles, "anonymize")
    parts["steps"] = _default_steps(data) if methods is None else methods
    recipe = Recipe.about(data.shape, schemas_of(data), **parts)
    data.require_options({"seconds": options.seconds})
    return _attack(make_release(data, recipe, context), options.seconds, options.progress)


def _default_steps(data: Data) -> tuple[Step, ...]:
    """The step that loses least of those that a profile tries, for a table in memory."""
    from sfumato.guidance.profiling.proposed_steps import step_for

    proposed = step_for(data) if isinstance(data, Table) else None
    if proposed is None:
        raise ParameterError(
            "anonymize has no default step for such data; give steps, such as sf.Mondrian()"
        )
    return (registry.build("steps", dict(proposed.step)),)


def _attack(release: Made, seconds: float | None, progress: Progress) -> Made:
    """The release, attacked and measured for so many seconds where that is done with such data."""
    if not release.original.attacked_by_run:
        return release
    return release.tried(seconds=DEFAULT_SECONDS if seconds is None else seconds, progress=progress)


def run(
    dataset: TableLike,
    recipe: Recipe | str | Path,
    *,
    seed: Annotated[
        SeedLike,
        CommandOption(
            "hexadecimal, to repeat a run; short seeds mark a rehearsal",
            typed=str,
            panel=MakeOptions.panel,
        ),
    ] = None,
    population: Table | None = None,
    seconds: Annotated[
        float | None,
        CommandOption(
            "time that intruders have to attack the release; 0: none",
            ("--attack",),
            minimum=0,
            metavar="<seconds>",
        ),
    ] = None,
    progress: Progress = silent,
    options: RunOptions = RunOptions(),
) -> Made:
    """Make a release as a recipe says, whatever the shape of its data; see :func:`anonymize`."""
    loaded = any_recipe(recipe)
    context = Context(
        Seed.of(seed),
        shuffle=options.shuffle,
        format=options.format,
        population=population,
        memory=options.memory,
        workspace=None if options.into is None else Path(options.into),
        progress=progress,
    )
    data = read_recipe_data(dataset, loaded, people=options.people, format=options.format)
    data = data.described_by(loaded)
    data.require_options({"seconds": seconds})
    return _attack(make_release(data, loaded, context), seconds, progress)


def check(
    dataset: TableLike,
    recipe: Recipe | str | Path,
    *,
    original: TableLike = None,
    population: Table | None = None,
    people: TableLike = None,
    said: Intake | None = None,
) -> tuple[Verdict, ...]:
    """Judge released data by a recipe: direct identifiers must be gone, promises must hold.

    Promises about distances to the original table are judged against ``original``; without it,
    against the released table itself. People who are no table take ``people``, their second table,
    where it stands apart; ``said`` is how their files are read, where that is not as the recipe
    says.
    """
    from sfumato.release.check import check_released, read_to_check

    loaded = any_recipe(recipe)
    registry.data_class(loaded.shape).require_options({"population": population, "people": people})
    before = None if original is None else read_recipe_data(original, loaded)
    released = read_to_check(dataset, loaded, people=people, intake=said)
    return check_released(released, loaded, original=before, population=population)


def attack(
    original: TableLike,
    released: TableLike,
    *,
    roles: Roles | None = None,
    align: str | None = None,
    control: TableLike | None = None,
    context: AttackContext = AttackContext(),
    **keywords: Unpack[AttackKeywords],
) -> AttackReport:
    """Let every named intruder try a release.

    A release that was made elsewhere does not say where its rows come from: ``align`` names a
    column that identifies records in both tables, ``"order"`` where row *i* was made from row *i*,
    or ``"none"`` where no row is anybody's (synthetic records). ``control`` are then people of whom
    the rows were not made.

    ``context`` is what intruders have besides: steps that made the release, earlier releases, a
    table of everyone. ``only`` are the attacks to try; ``seconds``, ``sample``, ``seed`` and
    ``options`` are those of :func:`sfumato.release.attack_run.attack_release`. ``roles`` says what
    the columns of frames are. A release has the method :meth:`Release.attack`.
    """
    # One attack may be given without a list around it.
    if (only := keywords.get("only")) is not None:
        keywords["only"] = as_tuple(only)
    pair = _pair(original, released, roles, align, control, "attack")
    return attack_release(pair, context=context, **keywords)


def _pair(
    original: TableLike,
    released: TableLike,
    roles: Roles | None,
    align: str | None,
    control: TableLike | None,
    purpose: str,
) -> TablePair | Pair:
    """Original and release side by side, each read where it must be."""
    before = _read_with_roles(original, roles, purpose)
    after = _as_data(released)
    control_table = None if control is None else read(control)
    return before.pair_with(after, align=align, control=control_table, purpose=purpose)


def evaluate(
    original: TableLike | TablePair | Release,
    released: TableLike | None = None,
    metrics: Annotated[
        MetricLike | Sequence[MetricLike] | None,
        CommandOption(
            "a metric by name, with parameters as in a recipe: 'c_avg: {k: 5}'; repeat it",
            ("--metric",),
            typed=list[str],
        ),
    ] = None,
    *,
    roles: Roles | None = None,
    align: str | None = None,
    control: TableLike | None = None,
) -> Evaluation:
    """Say what a release is still worth: of two tables, of a pair of them, or of
    a :class:`Release`.

    ``align`` and ``control`` are those of :func:`attack`, for a table that was made elsewhere.

    ``metrics`` are metrics or, as in a recipe, their names with parameters (``"loss"``,
    ``{"c_avg": {"k": 5}}``); by default every one that needs no parameter.

    >>> from sfumato import examples
    >>> released = examples.patients(release="single")
    >>> found = evaluate(examples.patients(), released, ["loss", {"c_avg": {"k": 2}}])
    >>> [(measure.name, round(measure.raw, 4)) for measure in found.measures]
    [('loss', 0.4444), ('c_avg', 1.5)]
    """
    from sfumato.core.pair import TablePair as _Pair

    chosen_metrics = None if metrics is None else as_tuple(metrics)
    # A release or a pair holds both tables; anything else needs the second one.
    pair = original.pair if isinstance(original, Release) else original
    alone = isinstance(pair, _Pair | Pair)
    if alone == (released is not None):
        raise ParameterError(
            "evaluate takes an original and a released table, or one release (or pair)"
        )
    if isinstance(pair, _Pair | Pair):
        if align is not None or control is not None:
            raise ParameterError(
                "evaluate: align and control compare two tables, one of them made elsewhere; leave "
                "them out"
            )
        return _evaluate(pair, chosen_metrics)
    return _evaluate(_pair(original, released, roles, align, control, "evaluate"), chosen_metrics)


def compare(
    dataset: TableLike,
    candidates: Mapping[str, Recipe | str | Path] | Sequence[str | Path],
    *,
    vary: Annotated[
        Sequence[str],
        CommandOption(
            "try values in turn: k_anonymity.k=3,5,10, or k=3,5,10 for every k; repeat it",
            typed=list[str],
        ),
    ] = (),
    seed: Annotated[
        SeedLike, CommandOption("hexadecimal seed, to repeat a comparison", typed=str)
    ] = None,
    options: CompareOptions = CompareOptions(),
    remember: str | Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Run several recipes on one table, attack and measure them alike, and put them on one map of
    risk and utility.

    ``candidates`` are recipes by name, or recipe files, which may say ``{vary: [3, 5, 10]}`` where
    a value should be tried in turn; ``vary`` does so from outside: ``["k_anonymity.k=3,5,10"]``.
    ``remember`` is a folder in which finished candidates are kept for the next run.
    """
    from sfumato.guidance.comparison import Candidate, CommonTerms, candidates_from
    from sfumato.guidance.comparison import compare as _compare

    if isinstance(candidates, Mapping):
        if vary or options.algorithms:
            raise ParameterError(
                "vary and algorithms are for recipe files; make several recipes in Python"
            )
        recipes_to_run = tuple(
            Candidate(name, r if isinstance(r, Recipe) else recipes.load(r))
            for name, r in candidates.items()
        )
    else:
        recipes_to_run = candidates_from(
            [Path(file) for file in candidates], vary, options.algorithms
        )
    terms = CommonTerms(
        Seed.of(seed),
        None if options.attacks is None else as_tuple(options.attacks),
        options.seconds,
        options.sample,
    )
    store = None if remember is None else Path(remember)
    # All candidates run on one table in memory, which can be read in one way only.
    intakes = [candidate.recipe.intake for candidate in recipes_to_run]
    if any(intake != intakes[0] for intake in intakes):
        raise ParameterError(
            "the candidates read the table in different ways (missing_values, header, text …); "
            "give them all the same options"
        )
    # All of them read the table alike, so the first speaks for them.
    first_recipe = recipes_to_run[0].recipe if recipes_to_run else None
    table = read(dataset, recipe=first_recipe).in_memory("compare")
    return _compare(
        table,
        recipes_to_run,
        terms=terms,
        workers=options.workers,
        remember=store,
        progress=progress,
    )


def integral_privacy(
    data: TableLike,
    algorithm: IntegralAlgorithm,
    k: int,
    *,
    size: int,
    **options: Unpack[IntegralKeywords],
) -> IntegralPrivacy:
    """Say which results of an algorithm recur often enough to be published;
    see :func:`sfumato.results.integral.integral_privacy.integral_privacy`.

    ``algorithm`` is :class:`MeanOf`, :class:`RegressionOf`, :class:`StumpOf` or :class:`TreeOf`;
    ``size`` how many records each set has. Options: ``samples`` (None: all sets are counted),
    ``background`` (rows that the intruder knows to be used), ``seed``.
    """
    from sfumato.results.integral.integral_privacy import integral_privacy as _integral_privacy

    return _integral_privacy(
        read(data).in_memory("integral privacy"), algorithm, k, size=size, **options
    )


@dataclass(frozen=True)
class OriginalOptions:
    """How the original of a release is read, where the lock in the owner's folder does not say.

    ``people`` is the second table of non-tabular data, ``table`` names one of a database, and
    ``engine`` reads it.
    """

    people: TableLike = None
    intake: Intake | None = None
    table: str | None = None
    engine: str | None = None


def verify(
    folder: str | Path,
    *,
    original: TableLike = None,
    owner: str | Path | None = None,
    trusted_key: Annotated[
        str | Path | None,
        CommandOption("public key (PEM) of the signer you trust", ("--key",), typed=Path),
    ] = None,
    population: Table | None = None,
    release: TableRelease | None = None,
    reading: OriginalOptions = OriginalOptions(),
) -> Verification:
    """Recompute the claims of a certificate from the released files, and from the original where it
    is given.

    ``original`` are data, or where they are: they are read as the lock in ``owner``, the owner's
    folder, says, or else ``reading``. ``release`` is what was written: it is compared, not made
    again.
    """
    from sfumato.core.shape import is_shape
    from sfumato.release.certificate_files import read_certificate
    from sfumato.release.verify import verify as _verify

    certificate = read_certificate(Path(folder))
    owner_folder = None if owner is None else Path(owner)
    # Only releases of records were made of data that have to be read again as they were.
    if original is not None and is_shape(certificate["shape"]):
        from sfumato.release.originals import original_of

        original = original_of(
            original,
            certificate,
            owner_folder,
            people=reading.people,
            intake=reading.intake,
            table=reading.table,
            engine=reading.engine,
        )
    return _verify(
        Path(folder),
        original=original,
        owner=owner_folder,
        trusted_key=None if trusted_key is None else Path(trusted_key),
        population=population,
        release=release,
    )
