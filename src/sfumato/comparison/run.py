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
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato import __version__, recipes
from sfumato.comparison.grid import Candidate
from sfumato.comparison.outcome import Comparison, Outcome, order_of
from sfumato.comparison.trial import Terms, try_candidate
from sfumato.core.dataset import Dataset
from sfumato.core.progress import Progress, silent
from sfumato.core.source import Source
from sfumato.errors import ParameterError
from sfumato.release.documents import canonical, digest_of_input

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
    import polars as pl

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
