"""A release as plain data: the certificate everyone may read, and the owner's record."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import importlib.metadata
import json
import platform
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core import recipe_files as recipes
from sfumato.core.evidence import population_path
from sfumato.core.fields import Document, Fields
from sfumato.core.threads import meanwhile
from sfumato.release.alternatives import Alternatives, alternatives_in_passing
from sfumato.release.assessment import DEFAULT_THRESHOLD
from sfumato.release.epsilon_certification import told_plan
from sfumato.release.evaluation import Evaluation, evaluate, joined, report_metrics
from sfumato.release.label_facts import describe_labels
from sfumato.release.manifest import VERSION
from sfumato.release.signatures import canonical
from sfumato.release.story import public_story, story_of
from sfumato.release.table_sections import as_sections, direct_in, sections

if TYPE_CHECKING:
    from sfumato.core.metric import Utility
    from sfumato.core.pair import TablePair
    from sfumato.release.epsilon_certification import Certified
    from sfumato.release.release import Release
    from sfumato.release.table_release import TableRelease


LOCK_VERSION = 1
LIBRARIES = ("sfumato", "numpy", "numba", "polars", "narwhals")
COMMITMENT = "HMAC-SHA-256"
"""Of the input's SHA-256, keyed with the salt in the owner's lock file."""


MANY_ROWS = 1 << 19
"""Of a table with more rows, measures and alternatives are worked out one after the other, each
after the other has let go of what it remembers: both at once take more memory.
"""


@dataclasses.dataclass(frozen=True)
class ReleaseSummary:
    """What is measured once and told in several documents: the utility of a release, its story, and
    the alternatives to it.
    """

    utility: Evaluation
    story: Document
    alternatives: Alternatives | None

    @classmethod
    def of(cls, release: TableRelease) -> ReleaseSummary:
        """Measure and draw, once for a release; slow metrics are left to ``sfumato evaluate``."""
        return release.once("summary", lambda: cls._measure(release))

    @classmethod
    def for_certificate(cls, release: TableRelease) -> ReleaseSummary:
        """What a certificate tells of it: all but what else there was."""
        pair = release.pair
        return cls(evaluated(release, pair, report_metrics(pair)), story_of(release, pair), None)

    @classmethod
    def _measure(cls, release: TableRelease) -> ReleaseSummary:
        pair = release.pair  # one for both: columns are read once
        if len(release.original) > MANY_ROWS:
            alternatives = alternatives_in_passing(release)
            release.original.known.lattices.clear()
            utility = evaluated(release, pair, report_metrics(pair))
            pair.forget_measures()
            story = story_of(release, pair)
            release.forget_pair()
            return cls(utility, story, alternatives)
        # Nearly all of it is a loop without the interpreter.
        beside = meanwhile(lambda: alternatives_in_passing(release))
        utility = evaluated(release, pair, report_metrics(pair))
        story = story_of(release, pair)
        # nobody needs it any more, and it is as large as the table
        release.forget_pair()
        return cls(utility, story, beside.result())


def evaluated(release: TableRelease, pair: TablePair, metrics: Sequence[Utility]) -> Evaluation:
    """What a release is worth by these metrics, without anything per record; each is measured once,
    whoever asks again.

    ``pair`` is the original and what is shared of it.
    """

    def measure_once(metric: Utility) -> Evaluation:
        return release.once(("metric", metric), lambda: evaluate(pair, [metric], per_record=False))

    return joined(pair, [measure_once(metric) for metric in metrics])


def measured_utility(release: Release, names: Collection[str]) -> dict[str, float]:
    """The measures that a certificate tells of a release, by name.

    ``names`` are those of a certificate. The metrics of every ``run`` are measured first; only
    where the certificate tells others, which ``evaluate --certify`` put there, all metrics without
    a parameter are measured.
    """
    from sfumato.release.table_release import TableRelease

    measures: dict[str, float] = {}
    if isinstance(release, TableRelease):
        pair = release.pair
        measures = {
            m.name: m.value for m in evaluated(release, pair, report_metrics(pair)).measures
        }
    # these metrics are dear: only where the certificate tells of more
    if not measures.keys() >= set(names):
        measures |= {m.name: m.value for m in release.evaluate().measures}
    return measures


def commitment(input_digest: str, salt: str) -> str:
    """A commitment to the input that says nothing about it without the salt."""
    return hmac.new(bytes.fromhex(salt), bytes.fromhex(input_digest), hashlib.sha256).hexdigest()


def certificate(
    release: TableRelease,
    *,
    summary: ReleaseSummary,
    data_file: Fields,
    salt: str,
    input_digest: str,
) -> Document:
    """What is claimed about a release, without seeds and without data values, and not sealed yet.

    Of the original only the attained values, the suppressed count and how far the release is from
    it are told; where an ε is certified, nothing at all but what the accounted steps made of it
    (:mod:`sfumato.release.epsilon_certification`).
    """
    privacy, after = release.certified, release.after
    # What was found by comparing the release with its original: utility, distances, attacks.
    comparison: Document = {}
    # beside an ε nothing else that compares with the original may be told
    if privacy is not None:
        comparison["differential_privacy"] = privacy.to_dict()
    else:
        comparison["utility"] = {m.name: m.value for m in summary.utility.measures}
        comparison["story"] = public_story(summary.story)
        if release.attacks is not None:
            comparison["attacks"] = release.attacks.to_dict()
        if release.implied.found.compared:
            comparison["implied"] = release.implied.public(release.sampled)
    columns = release.recipe.schema.attributes
    kinds = {name: str(attribute.kind) for name, attribute in columns.items()}
    labels = describe_labels(release.released, kinds)
    roles = {}
    for name, attribute in release.released_schema.attributes.items():
        roles[name] = [str(role) for role in attribute.roles]
    # contract lines are measured on the original, so they stay with the owner
    contract = []
    if privacy is None or not privacy.holds:
        contract = [agreement.to_dict() for agreement in release.contract]
    # with neighbours that add or remove a record, the number of records is secret
    suppressed_records: int | None = release.suppressed
    if release.released.drawn or (privacy is not None and privacy.secret_count):
        suppressed_records = None
    body: Document = {
        "sfumato_certificate": VERSION,
        "shape": str(release.recipe.shape),
        "created": release.created.isoformat(timespec="seconds"),
        "data": {
            **data_file,
            "rows": release.released.records,
            "columns": release.released_columns,
        },
        "input_commitment": {"value": commitment(input_digest, salt), "scheme": COMMITMENT},
        "recipe": recipes.public_dict(release.recipe),
        "roles": roles,
        "missing_rule": {
            n: str(release.released_schema[n].missing) for n in release.released_schema.quasi
        },
        "verdicts": [verdict.to_dict() for verdict in release.verdicts],
        "limits": [limit.to_dict() for limit in release.limits],
        "contract": contract,
        "classes": {
            "count": after.classes,
            "smallest": after.smallest_class,
            "sizes": {str(size): count for size, count in after.class_sizes.items()},
            "risks": {measure.name: measure.value for measure in after.measures},
            "risk_threshold": DEFAULT_THRESHOLD,
        },
        **({"labels": labels} if labels else {}),
        **comparison,
        "plan": told_plan(release, privacy),
        "dropped_columns": [c.name for c in release.columns if c.distinct_after is None],
        "suppressed_records": suppressed_records,
        **({"synthetic": describe_synthetic(release, privacy)} if release.released.drawn else {}),
        **({"sampled": release.sampled} if release.sampled else {}),
        "shuffled": release.shuffled,
        "rehearsal": release.seed.rehearsal,
        "versions": versions(),
    }
    return plain_json(body)


def describe_synthetic(release: TableRelease, privacy: Certified | None) -> Document:
    """What a certificate says of rows that are nobody's; counts of the original only where no ε is
    certified.
    """
    section: Document = {"rows": release.released.records}
    if privacy is None or not privacy.holds:
        if release.learnt_from is None:
            section["learnt_from"] = 0
        else:
            section["learnt_from"] = len(release.learnt_from)
        if release.held_out is None:
            section["held_out"] = 0
        else:
            section["held_out"] = len(release.held_out)
    return section


def plain_json(document: Fields) -> Document:
    """A document as its file will hold it; a number that is infinite or none becomes null, since
    JSON knows no such.
    """
    # as a file gives it back, so that what is signed is what is read
    plain: Document = json.loads(json.dumps(document), parse_constant=lambda word: None)
    return plain


@cache
def versions() -> Mapping[str, str]:
    """Versions of what computed the release, read once: it takes some milliseconds."""
    libraries = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version(), **libraries}


def owner_record(release: TableRelease, *, summary: ReleaseSummary, input_digest: str) -> Document:
    """Everything about a release that its owner may see beside its certificate: before and after,
    efforts, alternatives.

    No data values but the names of the bins in its story;
    see :func:`sfumato.release.story.story_of`.
    """
    return {
        "input": {
            "name": release.original.source.name,
            "sha256": input_digest,
            "rows": release.original.records,
        },
        "notes": list(release.original.source.notes),
        "before": release.before.to_dict(),
        "after": release.after.to_dict(),
        "columns": [dataclasses.asdict(change) for change in release.columns],
        "contract": [entry.to_dict() for entry in release.contract],
        "scores": dict(release.scores),
        "effort": [
            {"step": name, **effort} for name, plan in release.plans if (effort := plan.effort())
        ],
        "alternatives": None if summary.alternatives is None else summary.alternatives.to_dict(),
        "utility": summary.utility.to_dict(),
        "story": summary.story,
        "warnings": list(release.warnings),
        "preserved": [dataclasses.asdict(entry) for entry in release.preserved],
        **({"implied": release.implied.owner()} if release.implied.found.compared else {}),
    }


def lock(release: TableRelease, *, salt: str, input_digest: str, certificate: Fields) -> Document:
    """What replays a release bit by bit: the full recipe, seed, salt and versions. It stays with
    the owner.
    """
    return {
        "sfumato_lock": LOCK_VERSION,
        "recipe": locked_recipe(release),
        "seed": release.seed.text,
        "salt": salt,
        "input_sha256": input_digest,
        "population_given": (
            # a population that a model names is found again by its path
            release.population is not None and population_path(release.recipe.meet) is None
        ),
        "output_sha256": certificate["data"]["sha256"],
        "made_for": release.made_for,
        "output_form": {"format": certificate["data"]["format"], **certificate["data"]["form"]},
        "versions": certificate["versions"],
    }


def locked_recipe(release: Release) -> Document:
    """The recipe with what time decided written down: a step that was stopped by the clock says how
    far it got.
    """
    steps = tuple(
        # the clock decided once; a replay follows the effort instead
        step.locked(plan)
        for step, (_, plan) in zip(release.recipe.steps, release.plans, strict=True)
    )
    return recipes.to_dict(dataclasses.replace(release.recipe, steps=steps), base=Path())


def is_locked(release: TableRelease, lock: Fields) -> bool:
    """Whether a lock is that of this release: the same recipe, seed, input and format."""
    own_fields = {
        "recipe": locked_recipe(release),
        "seed": release.seed.text,
        "made_for": release.made_for,
    }
    own_fields |= {"input_sha256": release.original.input_digest()}
    # by their canonical bytes: a lock comes from a file, with lists for tuples
    return canonical(plain_json(own_fields)) == canonical(
        {name: lock.get(name) for name in own_fields}
    )


# Data of other shapes than a table.


def data_certificate(release: Release, *, tables: Mapping[str, Fields], salt: str) -> Document:
    """What is claimed about a release, without seeds and without data values, and not sealed yet.

    Of the original only the number of people left out and how far the release is from it are told;
    where an ε is certified, nothing at all but what the accounted steps made of it.
    """
    privacy = release.certified
    is_private = privacy is not None and privacy.holds
    body: Document = {
        "sfumato_certificate": VERSION,
        "created": release.created.isoformat(timespec="seconds"),
        "shape": str(release.shape),
        **as_sections(tables, release.shape),
        "counts": release.released.counts(),
        "input_commitment": {
            "value": commitment(release.original.input_digest(), salt),
            "scheme": COMMITMENT,
        },
        "recipe": recipes.public_dict(release.recipe),
        "verdicts": [verdict.to_dict() for verdict in release.verdicts],
        "limits": [limit.to_dict() for limit in release.limits],
        "contract": [] if is_private else [agreement.to_dict() for agreement in release.contract],
        **_data_compared(release, privacy),
        "plan": told_plan(release, privacy),
        "dropped_columns": direct_in(release.recipe),
        "suppressed_people": None if is_private else release.suppressed,
        "shuffled": release.shuffled,
        "rehearsal": release.seed.rehearsal,
        "versions": versions(),
    }
    return plain_json(body)


def _data_compared(release: Release, privacy: Certified | None) -> Document:
    """What was found by comparing the release with its original; nothing of it where a step
    accounts for an ε.
    """
    if privacy is not None:
        return {"differential_privacy": privacy.to_dict()}
    if release.utility is None:
        utility = {}
    else:
        utility = {m.name: m.value for m in release.utility.measures}
    return {
        "utility": utility,
        **({} if release.attacks is None else {"attacks": release.attacks.to_dict()}),
    }


def data_owner_record(release: Release) -> Document:
    """Everything about a release that its owner may see beside its certificate: before and after,
    efforts. No data values.
    """
    original = release.original
    scores: Document = {}
    effort = []
    preserved = []
    for name, plan in release.plans:
        scores |= plan.scores()
        if plan_effort := plan.effort():
            effort.append({"step": name, **plan_effort})
        preserved += [dataclasses.asdict(entry) for entry in plan.preserved]
    return plain_json(
        {
            "input": {
                "name": original.source.name,
                "sha256": original.input_digest(),
                "people": original.size,
            },
            "notes": list(release.notes),
            "counts_before": original.counts(),
            "counts_after": release.released.counts(),
            "before": None if release.attacks_before is None else release.attacks_before.to_dict(),
            "contract": [entry.to_dict() for entry in release.contract],
            "scores": scores,
            "effort": effort,
            "utility": None if release.utility is None else release.utility.to_dict(),
            "warnings": list(release.warnings),
            "preserved": preserved,
            **_kept_attacks(release),
        }
    )


def _kept_attacks(release: Release) -> Document:
    """What attacks found, where the certificate does not tell it."""
    if release.attacks is None or release.certified is None:
        return {}
    return {"attacks": release.attacks.to_dict()}


def data_lock(release: Release, *, salt: str, certificate: Fields) -> Document:
    """What replays a release bit by bit: the full recipe, seed, salt and versions. It stays with
    the owner.
    """
    table_sections = sections(certificate)
    first = next(iter(table_sections.values()))
    return {
        "sfumato_lock": LOCK_VERSION,
        "recipe": locked_recipe(release),
        "seed": release.seed.text,
        "salt": salt,
        "input_sha256": release.original.input_digest(),
        "output_sha256": {name: section["sha256"] for name, section in table_sections.items()},
        "made_for": release.made_for,
        "output_form": {"format": first["format"], **first["form"]},
        "versions": certificate["versions"],
    }
