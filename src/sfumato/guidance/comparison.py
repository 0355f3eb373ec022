"""Several candidate releases of one table: a grid of recipes, run alike, attacked alike, measured
alike, on one map.
"""

from __future__ import annotations

import collections
import concurrent.futures
import copy
import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato import __version__
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, ChartBlock, Paragraph
from sfumato.core.chart_drawing import chart_png, draw_chart, plot_chart
from sfumato.core.data import Context
from sfumato.core.exchange import telling
from sfumato.core.parameters import known_as, words_of
from sfumato.core.progress import Progress, part_of, silent
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.source import Source
from sfumato.core.table import Table
from sfumato.core.words import join_words
from sfumato.core.yaml_text import read_yaml
from sfumato.errors import (
    OutputError,
    ParameterError,
    RecipeError,
    SchemaError,
    Unsatisfiable,
    did_you_mean,
)
from sfumato.guidance.algorithms import with_algorithms
from sfumato.release.attack_run import AttackContext, AttackOptions, attack_release
from sfumato.release.evaluation import evaluate, quick_metrics
from sfumato.release.make import make_release
from sfumato.release.manifest import DESCRIPTIONS
from sfumato.release.report.risk_utility import (
    candidate_table,
    chart_candidates,
    chart_curve,
    charts_of_curves,
    comparison_page,
    describe_front,
    describe_risk_axis,
    describe_utility_axis,
)
from sfumato.release.sealing import write_pictures
from sfumato.release.signatures import canonical

if TYPE_CHECKING:
    import altair as alt

    from sfumato.core.attack import Memory
    from sfumato.core.pair import TablePair
    from sfumato.release.table_release import TableRelease

Fields = dict[str, Any]


# Candidates: recipes, and recipes that say ``{vary: [3, 5, 10]}`` where a value should be tried in
# turn::
#
#     meet:
#       - k_anonymity: {k: {vary: [3, 5, 10]}}
#     steps:
#       - global_recoding: {budget: {vary: [0, 0.02]}}
#
# is a grid of six candidates.

VARY = "vary"
MOST_CANDIDATES = 500

Place = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A recipe to try, under the name it has on the map."""

    name: str
    recipe: Recipe
    line: str = ""
    numbers: Mapping[str, float] = dataclasses.field(default_factory=dict)


def candidates_from(
    files: Sequence[Path], variations: Sequence[str] = (), algorithms: Sequence[str] = ()
) -> tuple[Candidate, ...]:
    """The candidates of some recipe files; ``variations`` (``k_anonymity.k=3,5,10``) and
    ``algorithms`` (``all``, ``datafly``, ``mondrian.single``) are tried on each.

    ``k=3,5,10`` is enough where only one model or step of the recipe has a ``k``.
    """
    candidates: list[Candidate] = []
    for file in files:
        document = recipes.read_document(file)
        named = {file.stem: document}
        if algorithms:
            prefix = f"{file.stem} " if len(files) > 1 else ""
            named = {
                prefix + label: concrete
                for label, concrete in with_algorithms(document, algorithms)
            }
        for label, concrete in named.items():
            template = _varied(concrete, variations, file.name)
            candidates += _candidates(template, label, file.parent)
    if len(candidates) > MOST_CANDIDATES:
        raise ParameterError(
            f"{len(candidates):,} candidates are more than {MOST_CANDIDATES}; vary fewer values at"
            " a time"
        )
    names = [candidate.name for candidate in candidates]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            f"{len(twice)} candidate(s) have the same name: {', '.join(twice[:3])}; rename the"
            " files"
        )
    return tuple(candidates)


def _candidates(document: Any, name: str, base: Path) -> list[Candidate]:
    candidates = []
    for words, concrete in expanded(document):
        full = f"{name} {words}".strip()
        recipe = recipes.from_dict(concrete, base=base, name=full)
        candidates.append(Candidate(full, recipe, name, _numbers_in(document, concrete)))
    return candidates


def _numbers_in(document: Fields, concrete: Fields) -> dict[str, float]:
    """The numbers that were tried in turn, by their field."""
    numbers = {}
    for path in _varying(document, ()):
        value = _at(concrete, path)
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers[str(path[-1])] = float(value)
    return numbers


def expanded(document: Any) -> Iterator[tuple[str, Any]]:
    """Every combination of the values that vary, with a few words that tell it from the others.

    >>> [told for told, _ in expanded({"meet": [{"k_anonymity": {"k": {"vary": [3, 5]}}}]})]
    ['k=3', 'k=5']
    """
    paths = list(_varying(document, ()))
    options = [_at(document, path)[VARY] for path in paths]
    for combination in itertools.product(*options):
        concrete, words = copy.deepcopy(document), []
        for path, value in zip(paths, combination, strict=True):
            _at(concrete, path[:-1])[path[-1]] = value
            words.append(f"{path[-1]}={value}")
        yield ", ".join(words), concrete


def _varying(node: Any, path: Place) -> Iterator[Place]:
    """Where values vary, in the order of the document."""
    if isinstance(node, Mapping) and set(node) == {VARY}:
        options = node[VARY]
        if isinstance(options, str) or not isinstance(options, Sequence) or not options:
            raise RecipeError(
                f"{'.'.join(map(str, path))}: vary needs a list of values, like {{vary: [3, 5,"
                " 10]}"
            )
        yield path
    elif isinstance(node, Mapping):
        for key, below in node.items():
            yield from _varying(below, (*path, key))
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for position, below in enumerate(node):
            yield from _varying(below, (*path, position))


def _at(document: Any, path: Place) -> Any:
    for key in path:
        document = document[key]
    return document


def _varied(document: Any, variations: Sequence[str], name: str) -> Any:
    """The document with what the command line varies: ``step_or_model.field=value,value``."""
    varied = copy.deepcopy(document)
    for text in variations:
        target, equals, values = text.partition("=")
        owner, _, field = target.strip().rpartition(".")
        if not equals or not field or not values:
            raise ParameterError(f"{text!r} varies nothing; write it like k_anonymity.k=3,5,10")
        options = [read_yaml(part.strip(), "--vary") for part in values.split(",")]
        if owner:
            homes = _homes_of(varied, owner, name, field)
        else:
            homes = _only_home(varied, name, field)
        for section, position in homes:
            spec = varied[section][position]
            varied[section][position] = _with_options(spec, _name_of(spec), field, options)
    return varied


def _members(document: Any) -> Iterator[tuple[str, int, str]]:
    """The models and steps of a document: section, place in it, and name."""
    for section in ("meet", "steps"):
        for position, spec in enumerate(document.get(section) or []):
            yield section, position, known_as(str(_name_of(spec)))


def _homes_of(document: Any, owner: str, name: str, field: str) -> list[tuple[str, int]]:
    """Where a model or step of this name stands."""
    homes = [
        (section, position)
        for section, position, member in _members(document)
        if member == known_as(owner)
    ]
    if not homes:
        raise ParameterError(f"{name} has no model or step {owner!r} to vary {field} of")
    return homes


def _only_home(document: Any, name: str, field: str) -> list[tuple[str, int]]:
    """Where the one model or step stands that has a field of this name; several, or none, are
    refused.
    """
    homes = [
        (section, position, member)
        for section, position, member in _members(document)
        if _has(section, member, field)
    ]
    owners = sorted({member for _, _, member in homes})
    if not owners:
        raise ParameterError(f"no model or step of {name} has a field {field!r} to vary")
    if len(owners) > 1:
        either = join_words([f"{owner}.{field}" for owner in owners], "or")
        raise ParameterError(
            f"{len(owners)} models or steps of {name} have a field {field!r}; write {either}"
        )
    return [(section, position) for section, position, _ in homes]


def _has(section: str, member: str, field: str) -> bool:
    members = registry.family("models" if section == "meet" else "steps")
    return member in members and field in {
        declared.name for declared in dataclasses.fields(members[member])
    }


def _name_of(spec: Any) -> Any:
    if isinstance(spec, Mapping):
        return next(iter(spec), None)
    return spec


def _with_options(spec: Any, owner: str, field: str, options: list[Any]) -> Fields:
    """A model or step of which one field varies."""
    fields = {}
    if isinstance(spec, Mapping) and isinstance(spec[owner], Mapping):
        fields = dict(spec[owner])
    return {owner: {**fields, field: {VARY: options}}}


# What came of one candidate, and the map of them all.


@dataclasses.dataclass(frozen=True)
class CandidateOutcome:
    """One candidate: whether it may be released, how risky it is and what it is worth.

    ``risks`` are rates of success of attacks and the risks that follow from class sizes;
    ``utilities`` are normalised (0: nothing is lost) unless ``higher`` names them. ``reason`` says
    why nothing was released; ``intervals`` between what those risks lie that were found on a
    sample; ``drawn`` that the rows are synthetic and are nobody's. ``numbers`` are those
    that were tried in turn, and ``line`` names the candidates that differ in nothing else.
    """

    name: str
    holds: bool
    reason: str
    records: int
    suppressed: int
    promises: tuple[str, ...]
    risks: Mapping[str, float]
    utilities: Mapping[str, float]
    higher: tuple[str, ...]
    recipe: Mapping[str, Any]
    seconds: float
    intervals: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    drawn: bool = False
    line: str = ""
    numbers: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> CandidateOutcome:
        """The inverse of :func:`dataclasses.asdict`."""
        between = {name: (low, high) for name, (low, high) in plain["intervals"].items()}
        lists = {"promises": tuple(plain["promises"]), "higher": tuple(plain["higher"])}
        return cls(**{**plain, **lists, "intervals": between})

    @property
    def made(self) -> bool:
        """Whether a table came out, so that it can be put on a map."""
        return bool(self.risks)


@dataclasses.dataclass(frozen=True)
class Comparison(Reportable):
    """All candidates; ``risk`` and ``utility`` name the axes of the map."""

    name: str
    outcomes: tuple[CandidateOutcome, ...]
    risk: str
    utility: str

    @property
    def front(self) -> tuple[CandidateOutcome, ...]:
        """The candidates that may be released and that no other such one beats in both risk and
        utility, safest first.
        """
        ranked = sorted(
            (o for o in self.outcomes if o.holds and self._coordinates(o) is not None),
            key=self._sure,
        )
        front: list[CandidateOutcome] = []
        for outcome in ranked:
            if not front or self._sure(outcome)[1] < self._sure(front[-1])[1] - 1e-15:
                front.append(outcome)
        return tuple(front)

    def _coordinates(self, outcome: CandidateOutcome) -> tuple[float, float] | None:
        """Risk and loss, both better when lower; None where one of them was not measured."""
        if self.risk not in outcome.risks or self.utility not in outcome.utilities:
            return None
        worth = outcome.utilities[self.utility]
        return outcome.risks[self.risk], -worth if self.utility in outcome.higher else worth

    def _sure(self, outcome: CandidateOutcome) -> tuple[float, float]:
        return self._coordinates(outcome) or (float("inf"), float("inf"))

    def with_axes(self, *, risk: str | None = None, utility: str | None = None) -> Comparison:
        """The same candidates under other axes."""
        risks = {name for o in self.outcomes for name in o.risks}
        utilities = {name for o in self.outcomes for name in o.utilities}
        risk, utility = risk and known_as(risk), utility and known_as(utility)
        for axis, axes in ((risk, risks), (utility, utilities)):
            if axis is not None and axis not in axes:
                raise ParameterError(
                    f"{axis!r} was not measured.{did_you_mean(axis, sorted(axes))}"
                )
        return dataclasses.replace(self, risk=risk or self.risk, utility=utility or self.utility)

    def to_dict(self) -> Fields:
        """The comparison as plain data: names, counts and rates."""
        return {
            "sfumato_comparison": 1,
            "name": self.name,
            "axes": {"risk": self.risk, "utility": self.utility},
            "front": [o.name for o in self.front],
            "candidates": [dataclasses.asdict(o) for o in self.outcomes],
        }

    def to_frame(self) -> pl.DataFrame:
        """One row a candidate, one column a risk or utility; ``risk_low`` and ``risk_high`` are of
        the map's axis.
        """
        front = {o.name for o in self.front}
        unknown = (None, None)
        rows = [
            {
                "candidate": o.name,
                "holds": o.holds,
                "records": o.records,
                "suppressed": o.suppressed,
            }
            | {"on_front": o.name in front, "seconds": round(o.seconds, 3), "reason": o.reason}
            | dict(zip(("risk_low", "risk_high"), o.intervals.get(self.risk, unknown), strict=True))
            | dict(o.risks)
            | dict(o.utilities)
            for o in self.outcomes
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot(self) -> alt.LayerChart:
        """The risk–utility map with its front."""
        return plot_chart(chart_candidates(self.to_dict()))

    def other_maps(self) -> dict[str, ChartBlock]:
        """The map along every other risk, and every other utility, that several candidates have."""
        risks = collections.Counter(name for o in self.outcomes for name in o.risks)
        utilities = collections.Counter(name for o in self.outcomes for name in o.utilities)
        maps = [
            self.with_axes(risk=name)
            for name, count in risks.items()
            if count > 1 and name != self.risk
        ]
        maps += [
            self.with_axes(utility=name)
            for name, count in utilities.items()
            if count > 1 and name != self.utility
        ]
        return {
            f"{map_comparison.risk}-{map_comparison.utility}".replace(" ", "_"): chart_candidates(
                map_comparison.to_dict()
            )
            for map_comparison in maps
        }

    def curves(self) -> dict[str, ChartBlock]:
        """Every utility and risk over every number that was tried in turn: a line an algorithm."""
        plain = self.to_dict()
        measured = {name for o in self.outcomes for name in (*o.utilities, *o.risks)}
        charts = {}
        for field in sorted({field for o in self.outcomes for field in o.numbers}):
            for name in sorted(measured):
                charts[f"{name}-by-{field}".replace(" ", "_")] = chart_curve(plain, field, name)
        return charts

    def write(self, folder: str | Path, *, force: bool = False, pictures: bool = False) -> Path:
        """Write ``comparison.json``, ``comparison.csv``, ``comparison.html`` and the map as SVG;
        ``pictures``: the map as ``map.png``, and the other maps too.
        """
        target = Path(folder)
        if (target / "comparison.json").exists() and not force:
            raise OutputError(f"{target} already holds a comparison; give --force to replace it")
        plain = self.to_dict()
        try:
            target.mkdir(parents=True, exist_ok=True)
            self.to_frame().write_csv(target / "comparison.csv")
            (target / "comparison.html").write_text(comparison_page(plain), "utf-8")
            chart = chart_candidates(plain)
            picture = draw_chart(chart).svg(chart.alternative_text)
            (target / "map.svg").write_text(picture, "utf-8")
            if (target / "pictures" / DESCRIPTIONS).is_file():  # those of an earlier comparison
                shutil.rmtree(target / "pictures")
            (target / "map.png").unlink(missing_ok=True)
            if pictures:
                (target / "map.png").write_bytes(chart_png(chart))
                write_pictures(target / "pictures", self.other_maps() | self.curves())
            (target / "comparison.json").write_text(
                json.dumps(plain, indent=2, ensure_ascii=False) + "\n", "utf-8"
            )
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from None
        return target

    def blocks(self) -> Sequence[Block]:
        """Who is on the front, a row a candidate, the map, and what its axes mean."""
        plain = self.to_dict()
        axes = [
            description
            for description in (describe_risk_axis(plain), describe_utility_axis(plain))
            if description
        ]
        return [
            Paragraph(describe_front(plain), "strong"),
            candidate_table(plain),
            chart_candidates(plain),
            *charts_of_curves(plain),
            *(Paragraph(description, "quiet") for description in axes),
            *(Paragraph(f"{o.name}: {o.reason}", "quiet") for o in self.outcomes if o.reason),
        ]


def order_of(
    outcomes: Sequence[CandidateOutcome], names: Sequence[str]
) -> tuple[CandidateOutcome, ...]:
    """Outcomes in the order the candidates were given."""
    position = {name: i for i, name in enumerate(names)}
    return tuple(sorted(outcomes, key=lambda o: position[o.name]))


# One candidate, run, attacked and measured. What is refused is measured too: the map shows what it
# would have been.

ONLY_LINKAGE = ("linkage",)


@dataclasses.dataclass(frozen=True)
class CommonTerms:
    """What is the same for all candidates: the seed, and the budget and attacks of the intruders.

    ``keep`` names columns whose tables are measured apart, as the utility :data:`KEPT_ERROR`.
    """

    seed: Seed
    attacks: tuple[str, ...] | None = ONLY_LINKAGE
    seconds: float = 20.0
    sample: int = 2000
    keep: tuple[str, ...] = ()


# The error of the tables of the columns that must survive, alike for all methods.
KEPT_ERROR = "kept_marginal_error"


def try_candidate(
    dataset: Table, candidate: Candidate, terms: CommonTerms, progress: Progress = silent
) -> CandidateOutcome:
    """Make a release as the candidate's recipe says, let the intruders try it, and measure what it
    is worth.
    """
    return try_and_keep(dataset, candidate, terms, progress)[0]


def try_and_keep(
    dataset: Table,
    candidate: Candidate,
    terms: CommonTerms,
    progress: Progress,
    memory: Memory | None = None,
) -> tuple[CandidateOutcome, TableRelease | None]:
    """The same, with the release itself; None where nothing came out. ``memory`` answers for
    earlier releases of the same people.
    """
    started = time.monotonic()
    recipe = candidate.recipe
    context = Context(terms.seed, refuse=False, memory=memory, progress=part_of(progress, 0.0, 0.6))
    try:
        release = make_release(dataset.described_by(recipe), recipe, context)
    except (Unsatisfiable, SchemaError, ParameterError) as error:
        return _nothing(candidate, str(error), started), None
    return _outcome(candidate, release, terms, started, part_of(progress, 0.6, 1.0)), release


def _outcome(
    candidate: Candidate,
    release: TableRelease,
    terms: CommonTerms,
    started: float,
    progress: Progress,
) -> CandidateOutcome:
    measures = _measure_risks(release, terms, progress)
    broken = [verdict.promise for verdict in release.verdicts if not verdict.holds]
    broken += [
        limit.sentence
        for limit in (*release.limits, *release.contract)
        if limit.refuses and not limit.holds
    ]
    return CandidateOutcome(
        name=candidate.name,
        holds=release.holds,
        reason="; ".join(broken),
        records=len(release.released),
        suppressed=release.suppressed,
        promises=(
            *(verdict.promise for verdict in release.verdicts),
            *(
                f"{words_of(limit.name, limit.parameters)} within {limit.limit:g}"
                for limit in release.limits
            ),
        ),
        recipe=recipes.public_dict(candidate.recipe),
        seconds=time.monotonic() - started,
        drawn=release.released.drawn,
        line=candidate.line,
        numbers=candidate.numbers,
        **measures,
    )


def _measure_risks(release: TableRelease, terms: CommonTerms, progress: Progress) -> Fields:
    if not len(release.released):
        return {"risks": {}, "intervals": {}, "utilities": {}, "higher": ()}
    pair = release.pair
    report = attack_release(
        pair,
        only=terms.attacks,
        seconds=terms.seconds,
        sample=terms.sample,
        seed=terms.seed,
        context=AttackContext(steps=release.recipe.steps, models=release.recipe.meet),
        options=AttackOptions(progress=progress),
    )
    worth = evaluate(pair, quick_metrics())
    # of no person else
    if release.released.drawn:
        of_file = {}
    else:
        of_file = {m.name: m.value for m in release.after.measures}
    return {
        "risks": {**report.values(), **of_file},
        "intervals": report.intervals(),
        "utilities": {m.name: m.value for m in worth.measures} | _kept_worth(pair, terms.keep),
        "higher": tuple(m.name for m in worth.measures if m.better == "higher"),
    }


def _kept_worth(pair: TablePair, keep: tuple[str, ...]) -> dict[str, float]:
    if not keep:
        return {}
    measures = evaluate(pair, ({"marginal_error": {"columns": list(keep)}},)).measures
    if measures:
        return {KEPT_ERROR: measures[0].value}
    return {}


def _nothing(candidate: Candidate, reason: str, started: float) -> CandidateOutcome:
    return CandidateOutcome(
        name=candidate.name,
        holds=False,
        reason=reason,
        records=0,
        suppressed=0,
        promises=(),
        risks={},
        utilities={},
        higher=(),
        recipe=recipes.public_dict(candidate.recipe),
        seconds=time.monotonic() - started,
        line=candidate.line,
        numbers=candidate.numbers,
    )


# Linkage is the plainest, but nobody is linked to synthetic rows. The others ask the
# same of every release, each beside a control. Singling out is last: it starts from a released row,
# which is somebody's or nobody's, and not from a person.
USUAL_RISKS = ("linkage", "linkability", "membership", "inference", "singling_out")
# Loss cannot fall when data get coarser, but has no meaning for masked columns; the squared error
# judges every release that is somebody's records, and tables of columns judge drawn ones as well.
DEFAULT_UTILITIES = ("loss", "squared_error", "marginal_error")
# What is tried besides, where a candidate draws synthetic rows and linkage alone would say nothing
# of it.
FOR_DRAWN = (*USUAL_RISKS[1:], "copied_records")
# The folder in which finished candidates are remembered.
DONE = ".sfumato-compare"


def compare(
    dataset: Table,
    candidates: Sequence[Candidate],
    *,
    terms: CommonTerms,
    workers: int | None = None,
    remember: Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Try every candidate on the same table under the same terms.

    ``remember`` is a folder in which finished candidates are kept: a run that was interrupted goes
    on from there. Each is known by its recipe, the input, the terms and the version, so nothing
    stale is taken up.
    """
    if not candidates:
        raise ParameterError("there is nothing to compare; give at least one recipe")
    terms = fair_terms(candidates, terms)
    if remember is not None:
        with telling(remember):
            (remember / DONE).mkdir(parents=True, exist_ok=True)
    keys = {c.name: _key(dataset, c, terms) for c in candidates}
    finished = {
        c.name: earlier
        for c in candidates
        if (earlier := _remembered(remember, keys[c.name], c.name)) is not None
    }
    open_ones = [c for c in candidates if c.name not in finished]
    for outcome in _try_candidate(dataset, open_ones, terms, workers or os.cpu_count() or 1):
        finished[outcome.name] = outcome
        _remember(remember, keys[outcome.name], outcome)
        progress(len(finished) / len(candidates), outcome.name)
    ordered = order_of(list(finished.values()), [c.name for c in candidates])
    return on_one_map(dataset.source.name, ordered)


def fair_terms(candidates: Sequence[Candidate], terms: CommonTerms) -> CommonTerms:
    """Terms under which all candidates can be compared: where one draws synthetic rows, more is
    tried than linkage.
    """
    if terms.attacks == ONLY_LINKAGE and any(
        step.draws_anew for c in candidates for step in c.recipe.steps
    ):
        return dataclasses.replace(terms, attacks=(*ONLY_LINKAGE, *FOR_DRAWN))
    return terms


def on_one_map(name: str, outcomes: Sequence[CandidateOutcome]) -> Comparison:
    """What came of all candidates, along the first of the usual axes that were measured on all of
    them.
    """
    releases = [outcome for outcome in outcomes if outcome.made]
    risk = _axis([outcome.risks for outcome in releases], USUAL_RISKS)
    return Comparison(
        name,
        tuple(outcomes),
        risk,
        _axis([outcome.utilities for outcome in releases], DEFAULT_UTILITIES),
    )


def _axis(measures: Sequence[Mapping[str, float]], usual: Sequence[str]) -> str:
    """The first of the usual axes that was measured on all that came out, else what was measured on
    the most.
    """
    whole = [name for name in usual if all(name in names for names in measures)]
    counts = collections.Counter(name for names in measures for name in names)
    if whole or not counts:
        return whole[0]
    return max(counts, key=lambda name: (counts[name], name in usual))


def _try_candidate(
    dataset: Table, candidates: Sequence[Candidate], terms: CommonTerms, workers: int
) -> Iterator[CandidateOutcome]:
    """Outcomes as they come in; a single worker runs in this process."""
    if min(workers, len(candidates)) <= 1:
        for candidate in candidates:
            yield try_candidate(dataset, candidate, terms)
        return
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        table = Path(folder) / "table.parquet"
        dataset.to_polars().write_parquet(table)
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(
            min(workers, len(candidates)),
            mp_context=context,
            initializer=_open,
            initargs=(table, dataset.source),
        ) as pool:
            waiting = [pool.submit(_try_in_worker, candidate, terms) for candidate in candidates]
            for finished in concurrent.futures.as_completed(waiting):
                yield finished.result()


_opened: list[Table] = []


def _open(table: Path, source: Source) -> None:
    """What a worker does first: read the table once."""
    _opened[:] = [Table(pl.read_parquet(table), source=source)]  # type: ignore[arg-type]


def _try_in_worker(candidate: Candidate, terms: CommonTerms) -> CandidateOutcome:
    return try_candidate(_opened[0], candidate, terms)


def _key(dataset: Table, candidate: Candidate, terms: CommonTerms) -> str:
    parts = {
        "recipe": recipes.to_dict(candidate.recipe),
        "input": dataset.input_digest(),
        "terms": {**dataclasses.asdict(terms), "seed": terms.seed.text},
        "version": __version__,
    }
    return hashlib.sha256(canonical(parts)).hexdigest()


def _remembered(folder: Path | None, key: str, name: str) -> CandidateOutcome | None:
    if folder is None:
        return None
    try:
        plain = json.loads((folder / DONE / f"{key}.json").read_text(encoding="utf-8"))
        return CandidateOutcome.from_dict({**plain, "name": name})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remember(folder: Path | None, key: str, outcome: CandidateOutcome) -> None:
    if folder is None:
        return
    unfinished = folder / DONE / f"{key}.new"
    unfinished.write_text(json.dumps(dataclasses.asdict(outcome)), encoding="utf-8")
    unfinished.replace(folder / DONE / f"{key}.json")
