"""The two pages of a release: one to share, one to keep, and their pictures, whatever the shape of
its data.

What differs is decided here and nowhere else, by which sections the certificate has: one that tells
of classes is about one table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sfumato.core.shape import Shape
from sfumato.release.report import gallery, person_facts, table_facts, wording
from sfumato.release.report.attacks import MOST_AT_ONCE, conclusion, ranked, strongest, unknown
from sfumato.release.report.headline import headline
from sfumato.release.report.measures import plain_words
from sfumato.release.report.pictures import Picture
from sfumato.release.report.rendering import as_shown, as_yaml, rendered

Pictures = Callable[[Mapping[str, Any]], dict[str, Picture]]
Facts = Callable[[Mapping[str, Any], Mapping[str, Picture]], dict[str, Any]]
"""What a page tells, from its document and its pictures."""


class PageKind(NamedTuple):
    """How a release is shown: the templates of its pages, their pictures, and what they tell.

    ``single_pictures`` are those of single columns, which stand elsewhere on the owner's page.
    """

    public_template: str
    owner_template: str
    public_pictures: Pictures
    owner_pictures: Pictures
    single_pictures: Pictures
    public_facts: Facts
    owner_facts: Facts


OF_A_TABLE = PageKind(
    "public.html",
    "owner.html",
    gallery.public_pictures,
    gallery.owner_pictures,
    gallery.named_cards,
    table_facts.public_facts,
    table_facts.owner_facts,
)
OF_PERSONS = PageKind(
    "people_public.html",
    "people_owner.html",
    person_facts.public_pictures,
    person_facts.owner_pictures,
    lambda record: {},
    person_facts.public_facts,
    person_facts.owner_facts,
)


def look_of(certificate: Mapping[str, Any]) -> PageKind:
    """How a release is shown, by the sections of its certificate."""
    return OF_A_TABLE if "classes" in certificate else OF_PERSONS


def public_page(certificate: Mapping[str, Any]) -> str:
    """The report that goes with the released files: what their certificate says, for people."""
    plain = as_shown(certificate)
    look = look_of(plain)
    facts = _shared(plain, plain.get("attacks")) | look.public_facts(
        plain, look.public_pictures(plain)
    )
    return rendered(look.public_template, **facts, signature=plain.get("signature"))


def owner_page(record: Mapping[str, Any]) -> str:
    """The report that stays with the owner: before and after, what gave people away, how the result
    was found.
    """
    plain = as_shown(record)
    look = look_of(plain["certificate"])
    facts = _shared(plain["certificate"], person_facts.attacks_of(plain))
    facts |= look.owner_facts(plain, look.owner_pictures(plain))
    efforts, scores = wording.steps_taken({"plan": plain["effort"]}), wording.facts(plain["scores"])
    return rendered(look.owner_template, **facts, record=plain, efforts=efforts, scores=scores)


def public_pictures(certificate: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that goes with the released files, by name."""
    return look_of(certificate).public_pictures(certificate)


def owner_pictures(record: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that stays with the owner, by name."""
    look = look_of(record["certificate"])
    return look.owner_pictures(record) | look.single_pictures(record)


def _shared(certificate: Mapping[str, Any], attacks: Mapping[str, Any] | None) -> dict[str, Any]:
    """What all pages tell."""
    recipe, shape = as_yaml(certificate["recipe"]), Shape(certificate.get("shape", Shape.TABLE))
    if (
        attacks is not None
    ):  # the name of an attack may mean another thing for data of another shape
        tried = [
            {**one, "words": plain_words(one["attack"], shape, one.get("parameters"))}
            for one in attacks["tried"]
        ]
        attacks = {**attacks, "tried": tried}
    findings = ranked(attacks) if attacks else []
    return {
        "attacks": attacks,
        "findings": (findings[:MOST_AT_ONCE], findings[MOST_AT_ONCE:]),
        "strongest": strongest(attacks),
        "unknown_attacks": unknown(attacks),
        "attacks_conclusion": conclusion(attacks) if attacks else "",
        "certificate": certificate,
        "headline": headline(certificate),
        "reading": wording.reading(certificate),
        "recipe": recipe,
        "recipe_lines": len(recipe.splitlines()),
    }
