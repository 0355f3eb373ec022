"""A release as plain data: the certificate everyone may read, and the owner's record."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core import recipe_files as recipes
from sfumato.core.evidence import population_path
from sfumato.core.model import OF_THE_FILE
from sfumato.core.schema import Role
from sfumato.core.threads import meanwhile
from sfumato.methods.formulas.binning import Binned, binned, distance_of_tables, table_after, table_before
from sfumato.release.alternatives import Alternatives, alternatives_in_passing
from sfumato.release.assessment import DEFAULT_THRESHOLD
from sfumato.release.epsilon_certification import certified_release, told_plan
from sfumato.release.evaluation import Evaluation, evaluate, joined, report_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.metric import Utility
    from sfumato.core.pair import Pair
    from sfumato.release.epsilon_certification import Certified
    from sfumato.release.release import Release


# What a report draws besides verdicts: every column before and after, how columns go together, and where cells are gone.

HIDDEN = frozenset({Role.DIRECT, Role.UNIT, Role.WEIGHT})
"""Columns with these roles are not drawn: they identify people or belong to the survey's design."""
FEWEST = 5
"""A value that fewer records have is not named."""
MOST_CARDS = 40
MOST_IN_MAP = 12
MOST_ROWS = 1_000_000
"""Larger tables are drawn from a random sample of the records."""


def story_of(release: Release, pair: Pair) -> dict[str, Any]:
    """The story of a release as plain data; ``pair`` is its original and what is shared of it.

    Bins are named by data values: it is for the owner (see :func:`public_story`).
    """
    pair = _sampled(release, pair)
    shown = [c for c in pair.columns if not HIDDEN & set(pair.original.schema[c].roles)]
    drawn = set(_by_role(pair, shown)[:MOST_CARDS])
    bins = {c: binned(pair, c, fewest=FEWEST) for c in shown if c in drawn}
    return {
        "cards": [card_of(pair, b) for b in bins.values()],
        "maps": maps_of(pair, [bins[c] for c in _by_role(pair, shown)[:MOST_IN_MAP] if c in bins]),
        "suppressed_cells": {c: _gone(pair, c) for c in shown},
        "sampled": len(pair.released) < release.dataset.records,
    }


def public_story(story: dict[str, Any]) -> dict[str, Any]:
    """The part of a story that anyone may see: no bins, no data values, nothing of the original but distances."""
    cards = [{k: v for k, v in card.items() if k not in ("bins", "before", "after")} for card in story["cards"]]
    maps = story["maps"]
    return {
        "cards": cards,
        "maps": {k: maps[k] for k in ("columns", "table_distance")},
        "suppressed_cells": story["suppressed_cells"],
    }


def _sampled(release: Release, pair: Pair) -> Pair:
    if len(pair.released) <= MOST_ROWS:
        return pair
    rows = release.seed.stream("what the report draws").choice(len(pair.released), MOST_ROWS, replace=False)
    some = pair.released.take(rows)
    return dataclasses.replace(pair, released=some, origin=pair.origin[rows])


def card_of(pair: Pair, column: Binned) -> dict[str, Any]:
    """One column before and after, as plain data."""
    losses = pair.losses(column.column)
    return {
        "column": column.column,
        "roles": [str(role) for role in pair.original.schema[column.column].roles],
        "loss": float(losses.mean()) if len(losses) else 0.0,
        "distance": column.distance,
        "bins": list(column.names),
        "before": column.before.tolist(),
        "after": column.after.tolist(),
    }


def _by_role(pair: Pair, columns: list[str]) -> list[str]:
    """Quasi-identifiers and sensitive columns first, then the others: where there is no room for all, the others give way."""
    first = [c for c in columns if {Role.QUASI, Role.SENSITIVE} & set(pair.original.schema[c].roles)]
    return [*first, *(c for c in columns if c not in first)]


def maps_of(pair: Pair, columns: list[Binned]) -> dict[str, Any]:
    """For every two columns: how far their table moved, and how much they go together before and after.

    Both are counted over the same bins, a generalised cell spread over what it may stand for: a column that was not
    changed goes together with another such column as before, and generalising never makes columns go together more.
    """
    tables, before, after = [], [], []
    for i, one in enumerate(columns):
        for other in columns[:i]:
            then, now = table_before(one, other), table_after(one, other)
            tables.append(distance_of_tables(one, then, now))
            before.append(_cramers_v(then, _freedom(then)))
            after.append(_cramers_v(now, _freedom(then)))
    return {
        "columns": [c.column for c in columns],
        "table_distance": tables,
        "association_before": before,
        "association_after": after,
    }


def _freedom(table: NDArray[np.float64]) -> int:
    return int(min((table.sum(axis=1) > 0).sum(), (table.sum(axis=0) > 0).sum())) - 1


def _cramers_v(table: NDArray[np.float64], freedom: int) -> float:
    """Cramér's V: √(χ²/(n·freedom)), with the freedom of the original table so that before and after are comparable."""
    total = table.sum()
    if freedom < 1 or total <= 0:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    there = expected > 0
    squared = float(((table - expected)[there] ** 2 / expected[there]).sum())
    return float(np.clip(np.sqrt(squared / total / freedom), 0.0, 1.0))


def _gone(pair: Pair, column: str) -> float:
    """The share of the original cells of a column of which nothing is left: dropped records, and cells at the top."""
    lost = float((pair.losses(column) >= 1 - 1e-12).sum())
    return (lost + pair.suppressed) / max(1, len(pair.original))


CERTIFICATE_VERSION = 2
"""Version 2 lists every file of the shared folder and holds no number that JSON does not know."""

LOCK_VERSION = 1
LIBRARIES = ("sfumato", "numpy", "numba", "polars", "narwhals")
COMMITMENT = "HMAC-SHA-256 of the input's SHA-256, keyed with the salt in the owner's lock file"


@dataclasses.dataclass(frozen=True)
class Told:
    """What is measured once and told in several documents: what a release is worth, its story, and what else there was."""

    worth: Evaluation
    story: dict[str, Any]
    other: Alternatives | None

    @classmethod
    def of(cls, release: Release) -> Told:
        """Measure and draw, once for a release; slow metrics are left to ``sfumato evaluate``."""
        return release.once("told", lambda: cls._measured(release))

    @classmethod
    def _measured(cls, release: Release) -> Told:
        pair = release.pair  # one for both: columns are read once
        other = meanwhile(lambda: alternatives_in_passing(release))  # nearly all of it is a loop without interpreter
        worth = evaluated(release, pair, report_metrics(pair))
        return cls(worth, story_of(release, pair), other.result())


def evaluated(release: Release, pair: Pair, metrics: Sequence[Utility]) -> Evaluation:
    """What a release is worth by these metrics, without anything per record; each is measured once, whoever asks again.

    ``pair`` is the original and what is shared of it.
    """

    def measured(metric: Utility) -> Evaluation:
        return release.once(("metric", metric), lambda: evaluate(pair, [metric], per_record=False))

    return joined(pair, [measured(metric) for metric in metrics])


def canonical(document: Mapping[str, Any]) -> bytes:
    """The bytes that are hashed and signed: sorted keys, no spaces, UTF-8."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest_of(certificate: Mapping[str, Any]) -> str:
    """SHA-256 of a certificate without its own digest and signature."""
    body = {key: value for key, value in certificate.items() if key not in ("digest", "signature")}
    return hashlib.sha256(canonical(body)).hexdigest()


def commitment(input_digest: str, salt: str) -> str:
    """A commitment to the input that says nothing about it without the salt."""
    return hmac.new(bytes.fromhex(salt), bytes.fromhex(input_digest), hashlib.sha256).hexdigest()


def digest_of_input(dataset: Dataset) -> str:
    """SHA-256 of the file that was read, or of the frame written as CSV when there was no file."""
    return dataset.input_digest()


def certificate(
    release: Release, *, told: Told, data_file: Mapping[str, Any], salt: str, input_digest: str
) -> dict[str, Any]:
    """What is claimed about a release, without seeds and without data values, and not sealed yet.

    Of the original only the attained values, the suppressed count and how far the release is from it are told; where an ε is
    certified, nothing at all but what the accounted steps made of it (:mod:`sfumato.release.epsilon_certification`).
    """
    judged = certified_release(release)
    body: dict[str, Any] = {
        "sfumato_certificate": CERTIFICATE_VERSION,
        "created": release.created.isoformat(timespec="seconds"),
        "data": {**data_file, "rows": release.dataset.records, "columns": release.released_columns},
        "input_commitment": {"value": commitment(input_digest, salt), "scheme": COMMITMENT},
        "recipe": recipes.public_dict(release.recipe),
        "roles": {n: [str(r) for r in a.roles] for n, a in release.released_schema.attributes.items()},
        "missing_rule": {n: str(release.released_schema[n].missing) for n in release.released_schema.quasi},
        "verdicts": [verdict.to_dict() for verdict in release.verdicts],
        "limits": [limit.to_dict() for limit in release.limits],
        "contract": [] if judged is not None and judged.holds else [kept.to_dict() for kept in release.contract],
        "classes": classes_of(release),
        **(_compared(release, told) if judged is None else {"differential_privacy": judged.to_dict()}),
        "plan": told_plan(release, judged),
        "dropped_columns": [c.name for c in release.columns if c.distinct_after is None],
        "suppressed_records": None
        if release.dataset.drawn or (judged is not None and judged.secret_count)
        else release.suppressed,
        **({"drawn_anew": told_drawn(release, judged)} if release.dataset.drawn else {}),
        **({"sampled": release.sampled} if release.sampled else {}),
        "shuffled": release.shuffled,
        "rehearsal": release.seed.rehearsal,
        "versions": versions(),
    }
    return plain_json(body)


def told_drawn(release: Release, judged: Certified | None) -> dict[str, Any]:
    """What a certificate says of rows that are nobody's; counts of the original only where no ε is certified."""
    told: dict[str, Any] = {"rows": release.dataset.records, "means": OF_THE_FILE}
    if judged is not None and judged.holds:
        return told
    learnt, aside = (0 if rows is None else len(rows) for rows in (release.learnt_from, release.held_out))
    return {**told, "learnt_from": learnt, "held_out": aside}


def plain_json(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document as its file will hold it; a number that is infinite or none becomes null, since JSON knows no such."""
    plain: dict[str, Any] = json.loads(json.dumps(document), parse_constant=lambda word: None)
    return plain


def _compared(release: Release, told: Told) -> dict[str, Any]:
    """What was found by comparing the release with its original: utility, distances, attacks."""
    attacks = {} if release.attacks is None else {"attacks": release.attacks.to_dict()}
    implied = release.implied
    if implied.found.compared:
        attacks["implied"] = implied.public(release.sampled)
    return {"utility": {m.name: m.value for m in told.worth.measures}, "story": public_story(told.story), **attacks}


def classes_of(release: Release) -> dict[str, Any]:
    """The classes of what is shared: how many of each size, and the risks that follow."""
    after = release.after
    return {
        "count": after.classes,
        "smallest": after.smallest_class,
        "sizes": {str(size): count for size, count in after.class_sizes.items()},
        "risks": {m.name: m.value for m in after.measures},
        "risk_threshold": DEFAULT_THRESHOLD,
    }


def versions() -> dict[str, str]:
    """Versions of what computed the release."""
    return {"python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}}


@cache
def _version(name: str) -> str:
    """The version of an installed package, read once: it takes some milliseconds."""
    return importlib.metadata.version(name)


def owner_record(release: Release, *, told: Told, input_digest: str) -> dict[str, Any]:
    """Everything about a release that its owner may see beside its certificate: before and after, efforts, alternatives.

    No data values but the names of the bins in its story; see :func:`sfumato.release.documents.story_of`.
    """
    return {
        "input": {"name": release.original.source.name, "sha256": input_digest, "rows": release.original.records},
        "notes": list(release.original.source.notes),
        "before": release.before.to_dict(),
        "after": release.after.to_dict(),
        "columns": [dataclasses.asdict(change) for change in release.columns],
        "contract": [kept.to_dict() for kept in release.contract],
        "scores": dict(release.scores),
        "effort": [{"step": name, **effort} for name, plan in release.plans if (effort := plan.effort())],
        "alternatives": None if told.other is None else told.other.to_dict(),
        "utility": told.worth.to_dict(),
        "story": told.story,
        "warnings": list(release.warnings),
        "preserved": [dataclasses.asdict(kept) for kept in release.preserved],
        **({"implied": release.implied.owner()} if release.implied.found.compared else {}),
    }


def lock(release: Release, *, salt: str, input_digest: str, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What replays a release bit by bit: the full recipe, seed, salt and versions. It stays with the owner."""
    return {
        "sfumato_lock": LOCK_VERSION,
        "recipe": locked_recipe(release),
        "seed": release.seed.text,
        "salt": salt,
        "input_sha256": input_digest,
        "population_given": release.population is not None and population_path(release.recipe.meet) is None,
        "output_sha256": certificate["data"]["sha256"],
        "made_for": release.made_for,
        "output_form": {"format": certificate["data"]["format"], **certificate["data"]["form"]},
        "versions": certificate["versions"],
    }


def locked_recipe(release: Release) -> dict[str, Any]:
    """The recipe with what time decided written down: a step that was stopped by the clock says how far it got."""
    steps = tuple(step.locked(plan) for step, (_, plan) in zip(release.recipe.steps, release.plans, strict=True))
    return recipes.to_dict(dataclasses.replace(release.recipe, steps=steps), base=Path())


def is_locked(release: Release, lock: Mapping[str, Any]) -> bool:
    """Whether a lock is that of this release: the same recipe, seed, input and format."""
    mine = {"recipe": locked_recipe(release), "seed": release.seed.text, "made_for": release.made_for}
    mine |= {"input_sha256": digest_of_input(release.original)}
    return canonical(plain_json(mine)) == canonical({name: lock.get(name) for name in mine})
