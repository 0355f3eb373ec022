"""Checks that need the original, and the owner's lock: the release is made again from recipe and
seed and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.acceptance import accepted_pairs, read_acceptances
from sfumato.core.attack import USUAL_RATE
from sfumato.core.fields import Document, Fields
from sfumato.core.words import join_words
from sfumato.methods.formulas.dependence_search import LOOKED_FOR
from sfumato.release.certificate_words import promise_title, without_words
from sfumato.release.documents import commitment, measured_utility, plain_json, versions
from sfumato.release.implied import not_accepted
from sfumato.release.limit_checks import about_all_releases
from sfumato.release.manifest import Claim, agree
from sfumato.release.public_recipe import fields_of, name_of
from sfumato.release.recipe_checks import NEEDS_BOTH, first_names
from sfumato.release.replay import (
    GIVE_ORIGINAL,
    NEEDS_REGISTER,
    Original,
    TableOriginal,
    UnreadableLock,
    in_parts,
)
from sfumato.release.verification import AGAINST_ORIGINAL

if TYPE_CHECKING:
    from sfumato.release.attack_report import AttackReport
    from sfumato.release.shared_folder import SharedFolder

DRAWN_AGAIN = "rows are those drawn from the original"
MADE_AGAIN = (TableOriginal.made_again, DRAWN_AGAIN, Original.made_again)
"""What it is called that recipe and seed give what was released again."""


def input_committed(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The original is the one that the release was made from."""
    name = "the original is the committed one"
    if original.data is None:
        return Claim(name, "needs original", GIVE_ORIGINAL)
    if original.lock is None:
        return Claim(
            name, "needs original", "give --owner with the lock file, which holds the salt"
        )
    try:
        value = commitment(original.data.input_digest(), original.lock["salt"])
    except (KeyError, TypeError, ValueError):
        raise UnreadableLock(
            f"{original.owner} holds a lock that does not belong to the certificate"
        ) from None
    if value == certificate["input_commitment"]["value"]:
        return Claim(name, "holds", "the original file matches the fingerprint in the certificate")
    return Claim(name, "fails", "this is not the committed original")


def made_from_original(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """Recipe and seed make what was released of the original again."""
    name = original.made_again
    if "synthetic" in certificate:
        name = DRAWN_AGAIN
    return Claim(name, original.replayed.status, original.replayed.detail)


def suppressed_count(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """As many records or people were left out as certified."""
    released, data = shared.released, original.data
    name = f"suppressed {released.units}"
    if "synthetic" in certificate:
        words = "none: the rows are synthetic"
        if data is None:
            return None
        return Claim(name, "holds", words)
    if data is None:
        return Claim(name, "needs original", GIVE_ORIGINAL)
    # people or records, as the shape counts them
    certified, missing = certificate[f"suppressed_{released.units}"], data.size - released.size
    if certified is None:
        return Claim(
            name,
            "holds",
            "the certificate omits it, so that the size of the original stays secret",
        )
    if missing == certified:
        return Claim(name, "holds", f"{missing:,} of {data.size:,}")
    return Claim(name, "fails", f"{missing:,} are missing, {certified:,} certified")


def promises_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """The promises hold beside the original, with the certified values."""
    release = original.replayed.release
    if release is None:
        return
    specs, verdicts = certificate["recipe"]["meet"], certificate["verdicts"]
    for spec, entry, verdict in zip(specs, verdicts, release.verdicts, strict=False):
        fields = plain_json(without_words({"verdicts": [verdict.to_dict()]}))["verdicts"][0]
        fits = original.replayed.same and verdict.holds and agree(entry, fields)
        name = f"{promise_title(spec, shared.shape)}{AGAINST_ORIGINAL}"
        yield Claim(name, "holds" if fits else "fails", verdict.sentence, True)


def limits_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """The limits are kept beside the original, with the certified values."""
    release = original.replayed.release
    if release is None:
        return
    for limit, entry in zip(release.limits, certificate["limits"], strict=False):
        name = f"{limit.label}{AGAINST_ORIGINAL}"
        if about_all_releases(limit.name):
            yield Claim(name, "needs original", NEEDS_REGISTER, True)
            continue
        fields = plain_json(without_words({"limits": [limit.to_dict()]}))["limits"][0]
        fits = original.replayed.same and limit.holds and agree(entry, fields)
        yield Claim(name, "holds" if fits else "fails", limit.sentence, True)


# All fields, beside the certificate of the release made again.

RECOMPUTED = frozenset(
    [
        "sfumato_certificate",
        "shape",
        "created",
        "versions",
        "files",
        "digest",
        "signature",
        "data",
        "people",
        "tables",
        "counts",
        "roles",
        "missing_rule",
        "dropped_columns",
        "classes",
        "verdicts",
        "limits",
    ]
)
"""Sections that have claims of their own from the folder alone, or that nobody can check."""
NOT_MADE_AGAIN = frozenset(
    [
        "created",
        "versions",
        "files",
        "digest",
        "signature",
        "data",
        "people",
        "tables",
        "attacks",
        "decision",
    ]
)
"""Sections that are checked on the folder, by trying again, or that nobody can check."""
BY_CLOCK = ("seconds", "effort")
"""Options of steps that a run with a time budget exchanges."""
MAY_BE_LEFT_OUT = frozenset(("utility", "story", "attacks", "implied"))
"""Sections without which a certificate says less and nothing false."""


def fields_against_original(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """Every section is that of the release made again: most of them no stranger can tell from the
    files.
    """
    name = f"figures of the certificate{AGAINST_ORIGINAL}"
    # of another release no field can be compared
    if not original.replayed.same:
        open_sections = [section for section in certificate if section not in RECOMPUTED]
        return Claim(name, "needs original", f"{NEEDS_BOTH}: {join_words(open_sections)}")
    fields = _certificate_again(certificate, original)
    compared = [
        section
        for section in {**certificate, **fields}
        if section not in NOT_MADE_AGAIN
        and (section in certificate or section not in MAY_BE_LEFT_OUT)
    ]
    differing = [
        section for section in compared if not agree(certificate.get(section), fields.get(section))
    ]
    if differing:
        return Claim(
            name, "fails", f"the repeated release gives other figures: {join_words(differing)}"
        )
    return Claim(name, "holds", f"{join_words(compared)} equal those of the repeated release")


def _certificate_again(certificate: Fields, original: Original) -> Document:
    """The certificate of the release made again, without what is sealed or tried again apart."""
    # Everything is measured on the values that the files hold.
    release = original.as_file_holds(original.replayed.release)
    salt = (original.lock or {})["salt"]
    fields = original.certificate_of(release, salt)
    if certificate.get("utility"):  # a measure may be left out, which says less
        measures = plain_json(measured_utility(release, certificate["utility"]))
        fields["utility"] = {name: measures.get(name) for name in certificate["utility"]}
    specs, steps = certificate["recipe"]["steps"], fields["recipe"]["steps"]
    fields["recipe"]["steps"] = _steps_as_certified(specs, steps)
    return without_words(fields)


def _steps_as_certified(specs: Sequence[Any], steps_again: Sequence[Any]) -> list[Any]:
    """The steps of the release made again, as the certificate writes those that the clock stopped.

    A lock holds ``effort: 812`` where the recipe said ``seconds: 5``; all other options must be the
    same.
    """
    steps = list(steps_again)
    for index, (spec, step) in enumerate(zip(specs, steps, strict=False)):
        if "seconds" not in fields_of(spec):
            continue
        if name_of(spec) == name_of(step) and agree(_untimed(spec), _untimed(step)):
            steps[index] = spec
    return steps


def _untimed(spec: Any) -> Document:
    """The options of a step that do not depend on the clock."""
    return {name: value for name, value in fields_of(spec).items() if name not in BY_CLOCK}


def order_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """The rows are in the order that the seed gives them, or in that of the original, as
    ``shuffled`` says.
    """
    if not original.replayed.same or original.replayed.in_order:
        return None
    name = f"order of the rows{AGAINST_ORIGINAL}"
    if in_parts(certificate) or certificate["versions"] != versions():
        words = "shuffled: another engine or version may give another order"
        return Claim(name, "needs original", words)
    return Claim(name, "fails", "shuffled: the seed gives the same rows in another order")


# Attacks, tried again.

ATTACKS = f"attacks{AGAINST_ORIGINAL}"
LONGEST = 600.0
"""Attacks that took more seconds of computing are not tried again."""


def attacks_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """Intruders who try again reach what is certified; how much they try follows from the data, not
    from the clock.
    """
    from sfumato.release.attack_run import AttackContext

    if not original.replayed.same:
        return None
    release, section = original.replayed.release, certificate["attacks"]
    if release.attacks is not None:  # this process has tried them
        return _compare_attacks(section, release.attacks)
    # a verification must not take as long as the attacks did
    if section["seconds"] > LONGEST:
        words = f"they took more than {LONGEST:g} seconds of computing"
        return Claim(ATTACKS, "needs original", words)
    specs = []
    for outcome in (*section["tried"], *section["skipped"]):
        parameters = outcome.get("parameters")
        if parameters:
            spec = {outcome["attack"]: parameters}
        else:
            spec = outcome["attack"]
        if spec not in specs:
            specs.append(spec)
    context = AttackContext(population=original.inputs.population)
    # with the seed of the release, as `run` and `sfumato attack` do
    return _compare_attacks(section, release.attack(context, only=specs, seconds=LONGEST))


def _compare_attacks(section: Fields, report: AttackReport) -> Claim:
    """What a certificate says of attacks beside what they reach now."""
    attacks = plain_json(without_words({"attacks": report.to_dict()}))["attacks"]
    usual = all(outcome["threshold"] == USUAL_RATE for outcome in section["tried"])
    if not usual or section["looked_for"] != attacks["looked_for"]:
        words = "they were tried on a sample, or judged by a threshold, that is in no lock"
        return Claim(ATTACKS, "needs original", words)
    differing, unknown = [], []
    outcomes = {_attempt(outcome): outcome for outcome in (*attacks["tried"], *attacks["skipped"])}
    for outcome in (*section["tried"], *section["skipped"]):
        outcome_again = outcomes.get(_attempt(outcome))
        # tried now and not then, or the other way round: no contradiction, but no proof either
        if outcome_again is None or ("status" in outcome_again) != ("status" in outcome):
            unknown.append(outcome["attack"])
        elif not agree(outcome, outcome_again):
            differing.append(outcome["attack"])
    if differing or section["records"] != attacks["records"]:
        words = f"repeated, they give other results: {first_names(differing)}"
        return Claim(ATTACKS, "fails", words)
    if unknown:
        words = f"they needed a file or time that is not available: {first_names(unknown)}"
        return Claim(ATTACKS, "needs original", words)
    return Claim(ATTACKS, "holds", "repeated, with the same results")


def _attempt(outcome: Fields) -> tuple[Any, ...]:
    """Who tried what: the fields that tell the outcomes of attacks apart."""
    parameters = json.dumps(outcome.get("parameters", {}), sort_keys=True)
    return outcome["intruder"], outcome["attack"], parameters


def implied_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """No released column undoes the release, but for pairs that the certificate says were accepted.

    Nothing is said where nothing was hidden that a column could tell, and where an ε is
    accounted for: there nothing may be decided so.
    """
    release = original.replayed.release
    implied = None if release is None else release.implied
    if implied is None:
        return None
    if not implied.found.compared or not implied.decides:
        return None
    name = f"released columns beside the labels{AGAINST_ORIGINAL}"
    accepted = set(accepted_pairs(read_acceptances(certificate["recipe"].get("accept"))))
    if undoing := not_accepted(implied, accepted):
        words = (
            "they reveal more of quasi-identifiers than the released labels, and the certificate "
            "does not list this as accepted"
        )
        return Claim(name, "fails", f"{words}: {'; '.join(undoing)}")
    pairs = [
        dependence.pair for dependence in implied.found.found if implied.is_accepted(dependence)
    ]
    words = f"looked for {LOOKED_FOR} in {implied.found.compared:,} pairs"
    words += f"; accepted: {'; '.join(pairs)}" if pairs else "; found none of these kinds"
    if implied.found.unknown:
        words += f"; too few records for {len(implied.found.unknown):,} pairs"
    return Claim(name, "holds", words + implied.sampled)
