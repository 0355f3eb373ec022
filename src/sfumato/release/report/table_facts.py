"""What the two pages tell of one table: columns, classes, risks, pictures, and how the result was
found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.words import plain_name
from sfumato.release.report import wording
from sfumato.release.report.differences import differences_of
from sfumato.release.report.gallery import cards_of, risks_of, story_in
from sfumato.release.report.measures import best_of, first_and_more, meaning_of, risk_line, title_of
from sfumato.release.report.pictures import Picture

MOST_CONTRIBUTIONS = 12
MOST_TRADE_OFFS = 10
KEY_FIGURES = (
    ("records", "records"),
    ("persons", "persons"),
    ("classes", "classes"),
    ("smallest class", "smallest_class"),
    ("unique records", "unique_records"),
)


def public_facts(certificate: Mapping[str, Any], pictures: Mapping[str, Picture]) -> dict[str, Any]:
    """What the page that goes with the released file tells."""
    entries = [
        (name, (title_of(name), value, best_of(name), meaning_of(name)))
        for name, value in certificate.get("utility", {}).items()
    ]
    told_columns, as_they_are = wording.set_apart(wording.column_stories(certificate), _is_plain)
    losses = _losses(certificate)
    risks = certificate["classes"]["risks"]
    return {
        **_of_both(certificate),
        "pictures": pictures,
        "columns": [(story, losses.get(story.name)) for story in told_columns],
        "as_they_are": [story.name for story in as_they_are],
        "with_loss": bool(losses),
        "steps": wording.steps_taken(certificate),
        "risks": [
            (wording.risk_name(name), value, risk_line(name)) for name, value in risks.items()
        ],
        "utility": first_and_more(entries),
        "preserved": [kept for step in certificate["plan"] for kept in step.get("preserved", [])],
    }


def owner_facts(record: Mapping[str, Any], pictures: Mapping[str, Picture]) -> dict[str, Any]:
    """What the page that stays with the owner tells: before and after, and what gave people
    away.
    """
    # classes and risks
    before, after = record["before"], record["after"]
    was = risks_of(before)
    figures = [
        (term, before[key], after[key]) for term, key in KEY_FIGURES if before[key] is not None
    ]
    risks = [
        (wording.risk_name(m["name"]), was.get(m["name"], 0), m["value"], m["meaning"])
        for m in after["measures"]
    ]
    contributions = list(before["contributions"].items())

    # columns, each with its picture where there is one
    told_columns, as_they_are = wording.set_apart(record["columns"], _was_plain)
    changes = {change["name"]: change for change in record["columns"]}
    story = story_in(record)
    drawn = [(card, picture, changes.get(card["column"])) for card, picture in cards_of(record)]
    cards = wording.set_apart(drawn, lambda card: card[2] is not None and _was_plain(card[2]))

    measures = record.get("utility", {}).get("measures", [])
    return {
        **_of_both(record["certificate"]),
        "pictures": pictures,
        "figures": figures,
        "risks": risks,
        "columns": told_columns,
        "as_they_are": as_they_are,
        "cards": cards,
        "undrawn": len(story["suppressed_cells"]) - len(story["cards"]),
        "sampled": story.get("sampled", False),
        "contributions": _with_widths(contributions[:MOST_CONTRIBUTIONS]),
        "more_contributions": max(0, len(contributions) - MOST_CONTRIBUTIONS),
        "exposures": [("before", before["exposing_sets"]), ("after", after["exposing_sets"])],
        "worth": first_and_more((m["name"], (title_of(m["name"]), m)) for m in measures),
        "preserved": record.get("preserved", []),
        "warnings": record.get("warnings", []),
        **_choice(record.get("alternatives")),
    }


def _of_both(certificate: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "differences": differences_of(certificate),
        "formulas": wording.formulas(certificate["data"]),
        "implied": wording.implied(certificate.get("implied")),
        "missing": wording.missing_rules(certificate),
    }


def _is_plain(story: wording.ColumnStory) -> bool:
    return story.roles == wording.ROLES["plain"] and story.happened == wording.AS_IT_IS


def _was_plain(change: Mapping[str, Any]) -> bool:
    return list(change["roles"]) == ["plain"] and change["action"] == wording.AS_IT_IS


def _losses(certificate: Mapping[str, Any]) -> dict[str, float]:
    """Loss by column, where a certificate tells it."""
    return {card["column"]: card["loss"] for card in story_in(certificate)["cards"]}


def _choice(alternatives: Mapping[str, Any] | None) -> dict[str, Any]:
    """The section about other nodes: nothing where no step chose from a lattice."""
    if alternatives is None:
        return {"alternatives": None}
    return {
        "alternatives": alternatives,
        "objective": plain_name(alternatives["objective"]),
        "trade_off": [
            (_moves(one, alternatives), one)
            for one in _spread(alternatives["trade_off"], MOST_TRADE_OFFS)
        ],
    }


def _moves(
    option: Mapping[str, Any], alternatives: Mapping[str, Any]
) -> list[tuple[str, int, int]]:
    """The columns whose level differs from that of the chosen node: its level there, and here."""
    chosen = alternatives["chosen"]["levels"]
    return [
        (column, chosen[column], level)
        for column, level in option["levels"].items()
        if level != chosen[column]
    ]


def _spread(options: Sequence[Any], most: int) -> list[Any]:
    """At most so many of a list, evenly spread, the first and the last among them."""
    if len(options) <= most:
        return list(options)
    return [options[round(i * (len(options) - 1) / (most - 1))] for i in range(most)]


def _with_widths(contributions: Sequence[tuple[str, float]]) -> list[tuple[str, float, float]]:
    """Contributions with the length of their bar in percent of the largest."""
    largest = max((share for _, share in contributions), default=0) or 1
    return [(column, share, round(100 * share / largest, 1)) for column, share in contributions]
