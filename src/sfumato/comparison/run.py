"""Running candidates side by side: in several processes, with progress, and again from where an interrupted run stopped."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato import __version__
from sfumato import recipe_files as recipes
from sfumato.comparison.grid import Candidate
from sfumato.comparison.outcome import Comparison, Outcome, order_of
from sfumato.core.dataset import Dataset
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.source import Source
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.evaluation import evaluate, quick_metrics
from sfumato.intruders.attack import attack_release
from sfumato.release.documents import canonical, digest_of_input
from sfumato.release.make import make_release
from sfumato.release.written import described

if TYPE_CHECKING:
    from sfumato.release.release import Release


# One candidate, run, attacked and measured. What is refused is measured too: the map shows what it would have been.


@dataclasses.dataclass(frozen=True)
class Terms:
    """What is the same for all candidates: the seed, and the budget and attacks of the intruders."""

    seed: Seed
    attacks: tuple[str, ...] | None = ("linkage",)
    seconds: float = 20.0
    sample: int = 2000


def try_candidate(dataset: Dataset, candidate: Candidate, terms: Terms) -> Outcome:
    """Make a release as the candidate's recipe says, let the intruders try it, and measure what it is worth."""
    started = time.monotonic()
    recipe = candidate.recipe
    plain = recipes.public_dict(recipe)
    try:
        release = make_release(described(dataset, recipe), recipe, seed=terms.seed, refuse=False)
    except (Unsatisfiable, SchemaError, ParameterError) as error:
        return _nothing(candidate.name, str(error), plain, started)
    measured = _measured(release, terms)
    broken = [verdict.promise for verdict in release.verdicts if not verdict.holds]
    broken += [kept.sentence for kept in (*release.limits, *release.contract) if kept.refuses and not kept.holds]
    return Outcome(
        name=candidate.name,
        holds=release.holds,
        reason="; ".join(broken),
        records=len(release.dataset),
        suppressed=release.suppressed,
        promises=(
            *(verdict.promise for verdict in release.verdicts),
            *(f"{kept.name.replace('_', ' ')} within {kept.limit:g}" for kept in release.limits),
        ),
        recipe=plain,
        seconds=time.monotonic() - started,
        **measured,
    )


def _measured(release: Release, terms: Terms) -> dict[str, Any]:
    if not len(release.dataset):
        return {"risks": {}, "utilities": {}, "higher": ()}
    pair = release.pair
    report = attack_release(
        pair,
        steps=release.recipe.steps,
        models=release.recipe.meet,
        only=terms.attacks,
        seconds=terms.seconds,
        sample=terms.sample,
        seed=terms.seed,
    )
    worth = evaluate(pair, quick_metrics())
    return {
        "risks": {**report.values(), **{m.name: m.value for m in release.after.measures}},
        "utilities": {m.name: m.value for m in worth.measures},
        "higher": tuple(m.name for m in worth.measures if m.better == "higher"),
    }


def _nothing(name: str, reason: str, recipe: dict[str, Any], started: float) -> Outcome:
    return Outcome(name, False, reason, 0, 0, (), {}, {}, (), recipe, time.monotonic() - started)


DEFAULT_RISK = "linkage"
DEFAULT_UTILITIES = ("loss", "squared_error")
"""Loss cannot fall when data get coarser, but has no meaning for masked columns; the squared error judges every kind of release."""
DONE = ".sfumato-compare"
"""The folder in which finished candidates are remembered."""


def compare(
    dataset: Dataset,
    candidates: Sequence[Candidate],
    *,
    terms: Terms,
    workers: int | None = None,
    remember: Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Try every candidate on the same table under the same terms.

    ``remember`` is a folder in which finished candidates are kept: a run that was interrupted goes on from there. Each is known by
    its recipe, the input, the terms and the version, so nothing stale is taken up.
    """
    if not candidates:
        raise ParameterError("there is nothing to compare; give at least one recipe")
    keys = {c.name: _key(dataset, c, terms) for c in candidates}
    done = {c.name: found for c in candidates if (found := _remembered(remember, keys[c.name], c.name)) is not None}
    open_ones = [c for c in candidates if c.name not in done]
    for outcome in _tried(dataset, open_ones, terms, workers or os.cpu_count() or 1):
        done[outcome.name] = outcome
        _remember(remember, keys[outcome.name], outcome)
        progress(len(done) / len(candidates), outcome.name)
    ordered = order_of(list(done.values()), [c.name for c in candidates])
    return Comparison(dataset.source.name, ordered, _risk_axis(ordered), _utility_axis(ordered))


def _risk_axis(outcomes: Sequence[Outcome]) -> str:
    known = [name for o in outcomes for name in o.risks]
    return DEFAULT_RISK if DEFAULT_RISK in known or not known else known[0]


def _utility_axis(outcomes: Sequence[Outcome]) -> str:
    """The first of the usual axes that was measured on all that came out, else what was measured on the most."""
    made = [o.utilities for o in outcomes if o.made]
    whole = [name for name in DEFAULT_UTILITIES if all(name in one for one in made)]
    counts = collections.Counter(name for one in made for name in one)
    return whole[0] if whole or not counts else max(counts, key=lambda name: (counts[name], name in DEFAULT_UTILITIES))


def _tried(dataset: Dataset, candidates: Sequence[Candidate], terms: Terms, workers: int) -> Iterator[Outcome]:
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
            min(workers, len(candidates)), mp_context=context, initializer=_open, initargs=(table, dataset.source)
        ) as pool:
            waiting = [pool.submit(_try_in_worker, candidate, terms) for candidate in candidates]
            for finished in concurrent.futures.as_completed(waiting):
                yield finished.result()


_opened: list[Dataset] = []


def _open(table: Path, source: Source) -> None:
    """What a worker does first: read the table once."""
    _opened[:] = [Dataset(pl.read_parquet(table), source=source)]  # type: ignore[arg-type]


def _try_in_worker(candidate: Candidate, terms: Terms) -> Outcome:
    return try_candidate(_opened[0], candidate, terms)


def _key(dataset: Dataset, candidate: Candidate, terms: Terms) -> str:
    told = {
        "recipe": recipes.to_dict(candidate.recipe),
        "input": digest_of_input(dataset),
        "terms": {**dataclasses.asdict(terms), "seed": terms.seed.text},
        "version": __version__,
    }
    return hashlib.sha256(canonical(told)).hexdigest()


def _remembered(folder: Path | None, key: str, name: str) -> Outcome | None:
    if folder is None:
        return None
    try:
        plain = json.loads((folder / DONE / f"{key}.json").read_text(encoding="utf-8"))
        return Outcome.from_dict({**plain, "name": name})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remember(folder: Path | None, key: str, outcome: Outcome) -> None:
    if folder is None:
        return
    (folder / DONE).mkdir(parents=True, exist_ok=True)
    beside = folder / DONE / f"{key}.new"
    beside.write_text(json.dumps(dataclasses.asdict(outcome)), encoding="utf-8")
    beside.replace(folder / DONE / f"{key}.json")
