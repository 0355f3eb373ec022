"""Checks that need the original, and the owner's lock: the release is made again from recipe and
seed and compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.acceptance import accepted_pairs, read_acceptances
from sfumato.core.model import finite
from sfumato.core.recipe_files import public_dict
from sfumato.core.shape import Shape
from sfumato.core.words import join_words
from sfumato.methods.formulas.dependence_search import LOOKED_FOR
from sfumato.release.certificate_words import promise_title, without_words
from sfumato.release.documents import commitment, describe_synthetic, measured_utility, plain_json
from sfumato.release.epsilon_certification import told_plan
from sfumato.release.implied import not_accepted
from sfumato.release.limit_checks import about_all_releases
from sfumato.release.manifest import Claim, near
from sfumato.release.public_recipe import fields_of, name_of
from sfumato.release.read_back import as_it_stands
from sfumato.release.replay import GIVE_ORIGINAL, NEEDS_REGISTER, UnreadableLock, in_parts
from sfumato.release.verification import AGAINST_ORIGINAL

if TYPE_CHECKING:
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder

Fields = Mapping[str, Any]


def input_committed(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The original is the one that the release was made from."""
    name = "input is the committed one"
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
            f"{original.owner} holds a lock that does not go with the certificate"
        ) from None
    if value == certificate["input_commitment"]["value"]:
        return Claim(name, "holds", "the original file matches the fingerprint in the certificate")
    return Claim(name, "fails", "this is not the input that was committed to")


def made_from_original(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """Recipe and seed make what was released of the original again."""
    rows = "rows" if shared.shape is Shape.TABLE else "people"
    source = "those drawn from" if "synthetic" in certificate else "the recoded"
    name = f"{rows} are {source} {'the ' if 'synthetic' in certificate else ''}original"
    return Claim(name, original.replayed.status, original.replayed.detail)


def suppressed_count(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """As many records or people were left out as certified."""
    released, data = shared.released, original.data
    name = f"suppressed {released.units}"
    if "synthetic" in certificate:
        words = "none: the rows were drawn anew and stand for nobody"
        return None if data is None else Claim(name, "holds", words)
    if data is None:
        return Claim(name, "needs original", GIVE_ORIGINAL)
    said, missing = certificate[f"suppressed_{released.units}"], data.size - released.size
    if said is None:
        return Claim(
            name,
            "holds",
            "the certificate does not tell, so that the size of the original stays secret",
        )
    if missing == said:
        return Claim(name, "holds", f"{missing:,} of {data.size:,}")
    return Claim(name, "fails", f"{missing:,} are missing, {said:,} certified")


def promises_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """The promises hold beside the original, with the certified values."""
    again = original.replayed.release
    if again is None:
        return
    specs, verdicts = certificate["recipe"]["meet"], certificate["verdicts"]
    for spec, said, verdict in zip(specs, verdicts, again.verdicts, strict=False):
        fits = (
            original.replayed.same
            and verdict.holds
            and near(finite(verdict.attained), said["attained"])
        )
        fits = (
            fits
            and verdict.of_persons == said.get("of_persons", True)
            and verdict.model == said["model"]
        )
        fits = fits and near(finite(verdict.required), said["required"])
        name = f"{promise_title(spec, shared.shape)}{AGAINST_ORIGINAL}"
        yield Claim(name, "holds" if fits else "fails", verdict.sentence, True)


def limits_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """The limits are kept beside the original, with the certified values."""
    again = original.replayed.release
    if again is None:
        return
    for limit, said in zip(again.limits, certificate["limits"], strict=False):
        name = f"{limit.label}{AGAINST_ORIGINAL}"
        if about_all_releases(limit.name):
            yield Claim(name, "needs original", NEEDS_REGISTER, True)
            continue
        fits = original.replayed.same and limit.holds and near(finite(limit.value), said["value"])
        fits = fits and said["holds"] and near(limit.limit, said["limit"])
        fits = fits and (limit.name, limit.parameters) == (said["name"], said.get("parameters", {}))
        yield Claim(name, "holds" if fits else "fails", limit.sentence, True)


def fields_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """Plan, contract and utility are those of the release made again: a stranger cannot tell them
    from the files.
    """
    again = original.replayed.release
    if again is None or not original.replayed.same:
        return None
    if shared.shape is Shape.TABLE and not in_parts(certificate):
        again = as_it_stands(again, shared.released, certificate["data"])
    told: dict[str, Any] = {"plan": told_plan(again, again.certified)}
    if certificate["contract"]:
        told["contract"] = [kept.to_dict() for kept in again.contract]
    if certificate.get("utility"):
        told["utility"] = measured_utility(again, certificate["utility"])
    told = plain_json(without_words(told))
    if "utility" in told:  # a measure may be left out, which says less
        told["utility"] = {name: told["utility"].get(name) for name in certificate["utility"]}
    other = [
        section for section, fields in told.items() if not _agree(certificate[section], fields)
    ]
    told["recipe"] = _without_step_options(plain_json(public_dict(again.recipe)))
    if not _same_recipe(_without_step_options(certificate["recipe"]), told["recipe"]):
        other.append("recipe")
    name = f"what the certificate tells{AGAINST_ORIGINAL}"
    if other:
        return Claim(name, "fails", f"the release made again tells otherwise: {join_words(other)}")
    return Claim(name, "holds", f"{join_words(list(told))} are those of the release made again")


def _without_step_options(recipe: Fields) -> dict[str, Any]:
    """A public recipe with the names of its steps alone: a lock holds other options, which make the
    same release again.
    """
    return {**recipe, "steps": [name_of(step) for step in recipe["steps"]]}


def _same_recipe(said: Fields, found: Fields) -> bool:
    """Whether two public recipes say the same."""
    promises = said["meet"], found["meet"]
    same = len(promises[0]) == len(promises[1]) and all(map(_same_promise, *promises))
    return same and _agree({**said, "meet": []}, {**found, "meet": []})


def _same_promise(said: Any, found: Any) -> bool:
    """Whether two recipes promise the same; the file of a population may be named from another
    folder, as a lock does.
    """
    one, other = (fields_of(spec) for spec in (said, found))
    named, locked = one.get("population"), other.get("population")
    if not (isinstance(named, str) and isinstance(locked, str) and _may_be_one_file(named, locked)):
        return _agree(said, found)
    return name_of(said) == name_of(found) and _agree(
        {**one, "population": None}, {**other, "population": None}
    )


def _may_be_one_file(one: str, other: str) -> bool:
    """Whether two paths, each from a folder of its own, can lead to the same file: one ends as the
    other does.
    """
    paths = [Path(os.path.normpath(path)) for path in (one, other)]
    if any(path.is_absolute() for path in paths):
        return paths[0] == paths[1]
    parts = [[part for part in path.parts if part != os.pardir] for path in paths]
    length = min(map(len, parts))
    return length > 0 and parts[0][-length:] == parts[1][-length:]


def _agree(said: Any, found: Any) -> bool:
    """Whether two parts of a document say the same, numbers up to rounding."""
    if isinstance(said, dict) and isinstance(found, dict):
        return said.keys() == found.keys() and all(_agree(said[key], found[key]) for key in said)
    if isinstance(said, list) and isinstance(found, list):
        return len(said) == len(found) and all(map(_agree, said, found))
    if isinstance(said, float) or isinstance(found, float):
        return near(found, said)
    return bool(said == found)


def synthetic_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """Rows are nobody's, and were learnt from as many people as said; said where either the
    certificate or the rows say so.
    """
    again = original.replayed.release
    if again is None:
        return None
    found = describe_synthetic(again, again.certified) if again.released.drawn else None
    said = certificate.get("synthetic")
    if found is None and said is None:
        return None
    name = f"whose the rows are{AGAINST_ORIGINAL}"
    if found != said:
        return Claim(
            name, "fails", "the certificate says otherwise whose they are, or who was learnt from"
        )
    return Claim(name, "holds", "drawn anew, nobody's; learnt from as many people as said")


def implied_against_original(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """No released column undoes the release, but for pairs that the certificate says were accepted.

    Nothing is said where nothing was hidden that a column could tell, and where an ε is
    accounted for: there nothing may be decided so.
    """
    if original.replayed.release is None or shared.shape is not Shape.TABLE:
        return None
    implied = original.replayed.release.implied
    if not implied.found.compared or not implied.decides:
        return None
    name = f"released columns beside the labels{AGAINST_ORIGINAL}"
    accepted = set(accepted_pairs(read_acceptances(certificate["recipe"].get("accept"))))
    if undoing := not_accepted(implied, accepted):
        words = (
            "they tell more of quasi-identifiers than the released labels, and the certificate does"
            " not say that this was accepted"
        )
        return Claim(name, "fails", f"{words}: {'; '.join(undoing)}")
    pairs = [each.pair for each in implied.found.found if implied.is_accepted(each)]
    words = f"looked for {LOOKED_FOR} in {implied.found.compared:,} pairs"
    words += f"; accepted: {'; '.join(pairs)}" if pairs else "; found none of these kinds"
    if implied.found.unknown:
        words += f"; too few records tell of {len(implied.found.unknown):,} pairs"
    return Claim(name, "holds", words + implied.sampled)
