"""A release of people who are no table as plain data: the certificate everyone may read, the owner's lock and record."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.release.documents import CERTIFICATE_VERSION, COMMITMENT, LOCK_VERSION, commitment, plain_json, versions
from sfumato.release.epsilon_certification import told_plan
from sfumato.release.shaped.reading import as_sections, direct_in, sections

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.release.epsilon_certification import Certified
    from sfumato.release.release import Release


def certificate(release: Release, *, tables: Mapping[str, Mapping[str, Any]], salt: str) -> dict[str, Any]:
    """What is claimed about a release, without seeds and without data values, and not sealed yet.

    Of the original only the number of people left out and how far the release is from it are told; where an ε is certified,
    nothing at all but what the accounted steps made of it.
    """
    judged = release.certified
    private = judged is not None and judged.holds
    body: dict[str, Any] = {
        "sfumato_certificate": CERTIFICATE_VERSION,
        "created": release.created.isoformat(timespec="seconds"),
        "shape": str(release.shape),
        **as_sections(tables, release.shape),
        "counts": release.released.counts(),
        "input_commitment": {"value": commitment(release.original.input_digest(), salt), "scheme": COMMITMENT},
        "recipe": recipes.public_dict(release.recipe),
        "verdicts": [verdict.to_dict() for verdict in release.verdicts],
        "limits": [limit.to_dict() for limit in release.limits],
        "contract": [] if private else [kept.to_dict() for kept in release.contract],
        **_compared(release, judged),
        "plan": told_plan(release, judged),
        "dropped_columns": direct_in(release.recipe),
        "suppressed_people": None if private else release.suppressed,
        "shuffled": release.shuffled,
        "rehearsal": release.seed.rehearsal,
        "versions": versions(),
    }
    return plain_json(body)


def _compared(release: Release, judged: Certified | None) -> dict[str, Any]:
    """What was found by comparing the release with its original; nothing of it where a step accounts for an ε."""
    if judged is not None:
        return {"differential_privacy": judged.to_dict()}
    utility = {} if release.utility is None else {m.name: m.value for m in release.utility.measures}
    return {"utility": utility, **({} if release.attacks is None else {"attacks": release.attacks.to_dict()})}


def owner_record(release: Release) -> dict[str, Any]:
    """Everything about a release that its owner may see beside its certificate: before and after, efforts. No data values."""
    original = release.original
    return plain_json(
        {
            "input": {"name": original.source.name, "sha256": original.input_digest(), "people": original.people},
            "notes": list(release.notes),
            "counts_before": original.counts(),
            "counts_after": release.released.counts(),
            "before": None if release.attacks_before is None else release.attacks_before.to_dict(),
            "contract": [kept.to_dict() for kept in release.contract],
            "scores": {name: score for _, plan in release.plans for name, score in plan.scores().items()},
            "effort": [{"step": name, **effort} for name, plan in release.plans if (effort := plan.effort())],
            "utility": None if release.utility is None else release.utility.to_dict(),
            "warnings": list(release.warnings),
            "preserved": [dataclasses.asdict(kept) for _, plan in release.plans for kept in plan.preserved],
            **_kept_attacks(release),
        }
    )


def _kept_attacks(release: Release) -> dict[str, Any]:
    """What attacks found, where the certificate does not tell it."""
    return {} if release.attacks is None or release.certified is None else {"attacks": release.attacks.to_dict()}


def lock(release: Release, *, salt: str, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What replays a release bit by bit: the full recipe, seed, salt and versions. It stays with the owner."""
    written = sections(certificate)
    first = next(iter(written.values()))
    return {
        "sfumato_lock": LOCK_VERSION,
        "recipe": recipes.to_dict(_locked(release), base=Path()),
        "seed": release.seed.text,
        "salt": salt,
        "input_sha256": release.original.input_digest(),
        "output_sha256": {name: section["sha256"] for name, section in written.items()},
        "made_for": release.made_for,
        "output_form": {"format": first["format"], **first["form"]},
        "versions": certificate["versions"],
    }


def _locked(release: Release) -> Recipe:
    """The recipe with what time decided written down: a step that was stopped by the clock says how far it got."""
    steps = tuple(step.locked(plan) for step, (_, plan) in zip(release.recipe.steps, release.plans, strict=True))
    return dataclasses.replace(release.recipe, steps=steps)
