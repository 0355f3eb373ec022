"""Words for what a certificate says: made from its fields whenever they are shown, stored nowhere
and never compared.

What is known only while a release is made (the sentence of a promise, why an attack was not tried)
is kept by the owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.fields import Document, Fields
from sfumato.core.limits import BOUNDS
from sfumato.core.pair import of_a_sample
from sfumato.core.parameters import words_of
from sfumato.core.shape import Shape
from sfumato.core.words import join_words, number, percent
from sfumato.errors import SfumatoError
from sfumato.release.epsilon_certification import NEIGHBOURS
from sfumato.release.public_recipe import fields_of, hides, name_of

WORDS: dict[str, tuple[str, ...]] = {
    "verdicts": ("promise", "sentence"),
    "limits": ("sentence",),
    "contract": ("sentence",),
    "attacks": ("sentence", "reason"),
    "differential_privacy": (
        "means",
        "meaning",
        "kept_by_the_owner",
        "assumptions",
        "not_certified_because",
    ),
}
"""Sections that are told in words too, and the fields that hold them: a certificate has none of
these fields.
"""


def without_words(document: Fields) -> Document:
    """A document as it is certified: of the sections that are told in words, the fields alone."""
    fields = dict(document)
    for name in WORDS.keys() & document.keys():
        fields[name] = _stripped(document[name], WORDS[name])
    return fields


def words_in(document: Fields) -> Document:
    """The sections of a document that are told in words, with their words: what its owner keeps."""
    return {name: part for name, part in document.items() if name in WORDS}


def _stripped(part: object, words: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_stripped(entry, words) for entry in part]
    if not isinstance(part, Mapping):
        return part
    nested = {"tried", "skipped", "steps"}
    fields = {}
    for name, value in part.items():
        if name in nested:
            fields[name] = _stripped(value, words)
        elif name not in words:
            fields[name] = value
    return fields


def with_words(certificate: Fields) -> Document:
    """A certificate of records with words for every field that pages and terminals tell in
    words.
    """
    shape = Shape(certificate["shape"])
    pairs = zip(certificate["recipe"]["meet"], certificate["verdicts"], strict=False)
    verdicts = [
        {**entry, "promise": promise_title(spec, shape), "sentence": ""} for spec, entry in pairs
    ]
    sampled = certificate.get("sampled")
    if sampled:
        where = of_a_sample(sampled["records"], sampled["of"])
    else:
        where = ""
    limits = [
        {**entry, "sentence": limit_sentence(entry, shape, where)}
        for entry in certificate["limits"]
    ]
    agreements = certificate["recipe"].get("contract") or []
    lines = zip(agreements, certificate["contract"], strict=False)
    contract = [{**entry, "sentence": agreement_sentence(spec, entry)} for spec, entry in lines]
    document = {**certificate, "verdicts": verdicts, "limits": limits, "contract": contract}
    if "attacks" in certificate:
        attacks = certificate["attacks"]
        findings = [{**attack, "sentence": finding_sentence(attack)} for attack in attacks["tried"]]
        skipped = [{**attack, "reason": "it could not be tried"} for attack in attacks["skipped"]]
        document["attacks"] = {**attacks, "tried": findings, "skipped": skipped}
    if "differential_privacy" in certificate:
        document["differential_privacy"] = _privacy_with_words(certificate["differential_privacy"])
    return document


def promise_title(spec: object, shape: Shape) -> str:
    """What a promise is called: by what the recipe says of it, or by its name where its owner keeps
    values.
    """
    try:
        if not recipes.keeps_back("models", spec, shape):
            return str(registry.build("models", spec, shape=shape).promise)
    except (
        SfumatoError,
        TypeError,
        ValueError,
        AttributeError,
    ):  # an edited recipe may hold anything
        pass
    return words_of(
        str(name_of(spec)),
        {name: value for name, value in fields_of(spec).items() if not hides(value)},
    )


def limit_sentence(entry: Fields, shape: Shape, where: str = "") -> str:
    """What a limit allows, and what was measured."""
    if entry["value"] is None:
        value = "unknown"
    else:
        value = f"{entry['value']:.4g}{where}"
    if is_better_when_higher(entry["name"], shape):
        way = "at least"
    else:
        way = "at most"
    return (
        f"{words_of(entry['name'], entry.get('parameters') or {})} is {value}; the recipe allows"
        f" {way} {entry['limit']:g}"
    )


def is_better_when_higher(name: str, shape: Shape) -> bool:
    """Whether more of what is limited is better: of some measures of utility."""
    metric: Any = registry.family("utility", shape).get(name) or registry.family("utility").get(
        name
    )
    return metric is not None and metric.better != "lower"


def agreement_sentence(spec: object, entry: Fields) -> str:
    """What had to survive, and what was measured."""
    fields = spec.get(entry["name"]) if isinstance(spec, Mapping) else None
    options = fields if isinstance(fields, Mapping) else {}
    words = words_of(
        entry["name"],
        {key: value for key, value in options.items() if key not in (*BOUNDS, "refuse")},
    )
    way = "at least" if "at_least" in options else "at most"
    if entry["value"] is None:
        value = "not measured"
    else:
        value = f"{entry['value']:.4g}"
    return f"{words} {way} {entry['limit']:g}: it is {value}"


def finding_sentence(attack: Fields) -> str:
    """What an attack reached, on how many it was tried, and what guessing gives."""
    knows, interval = attack["knows"], attack["interval"]
    clauses = [
        f"somebody who knows {join_words(knows)} succeeds in {percent(attack['value'])} of cases"
    ]
    if not knows:
        clauses = [f"it succeeds in {percent(attack['value'])} of cases"]
    if interval is not None:
        clauses.append(f"between {percent(interval[0])} and {percent(interval[1])}")
    if attack["baseline"] is not None:
        clauses.append(f"guessing gives {percent(attack['baseline'])}")
    if attack["trials"] is not None:
        clauses.append(f"tried on {number(attack['trials'])}")
    return "; ".join(clauses)


def _privacy_with_words(privacy: Fields) -> Document:
    steps = [{**step, "means": _effect(step)} for step in privacy["steps"]]
    meaning = NEIGHBOURS[privacy["neighbours"]].format(privacy["unit_of_privacy"])
    return {**privacy, "meaning": meaning, "steps": steps, "not_certified_because": []}


def _effect(step: Fields) -> str:
    if step.get("epsilon") is None:
        return str(step["effect"]).replace("_", " ")
    return f"accounts for ε = {step['epsilon']:g}, δ = {step['delta'] or 0:g}"
