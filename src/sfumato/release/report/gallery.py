"""All pictures of a release by name: those anyone may see, and those for the owner. Pages and PNG
files draw the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfumato.release.report import wording
from sfumato.release.report.attacks import attack_picture
from sfumato.release.report.maps import card_picture, gone_bars, pair_map
from sfumato.release.report.pictures import Picture, class_size_histogram, column_levels, risk_bars
from sfumato.release.report.scatter import loss_risk_map

TABLES = (
    "For every two columns, the share of records in another cell of their table than before; larger"
    " squares are larger shares."
)
ASSOCIATIONS = (
    "For every two columns, the change of Cramér's V, which is 0 for independent columns and 1"
    " where one determines the other."
)
NOTHING: dict[str, Any] = {
    "cards": [],
    "maps": {"columns": [], "table_distance": []},
    "suppressed_cells": {},
}


def public_pictures(certificate: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that goes with the released file; what there is nothing to draw of
    is left out.
    """
    classes, k = certificate["classes"], wording.promised_k(certificate)
    counted = wording.members(certificate, (classes["sizes"], certificate["data"]["rows"]))
    drawn = (
        {"class_sizes": class_size_histogram(classes["sizes"], k, counted=counted)}
        if classes["count"]
        else {}
    )
    return _there(
        {
            **drawn,
            **_shared(certificate),
            "gone": gone_bars(story_in(certificate)["suppressed_cells"]),
        }
    )


def owner_pictures(record: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that stays with the owner, those of single columns apart
    (:func:`cards_of`).
    """
    certificate, before, after = record["certificate"], record["before"], record["after"]
    story, k = story_in(record), wording.promised_k(certificate)
    counted = wording.members(
        certificate, *((a["class_sizes"], a["records"]) for a in (before, after))
    )
    was, now = risks_of(before), risks_of(after)
    drawn = {
        "class_sizes": class_size_histogram(
            after["class_sizes"], k, before["class_sizes"], counted=counted
        )
    }
    alternatives = record.get("alternatives")
    return _there(
        {
            "risks": risk_bars(was, now, None if k is None else 1 / k),
            **(drawn if before["classes"] else {}),
            **_shared(certificate),
            "associations": _associations(story["maps"]),
            "gone": gone_bars(story["suppressed_cells"]),
            "alternatives": None if alternatives is None else loss_risk_map(alternatives),
        }
    )


def cards_of(record: Mapping[str, Any]) -> list[tuple[dict[str, Any], Picture]]:
    """Every card of the owner's story with its picture."""
    return [(card, card_picture(card)) for card in story_in(record)["cards"] if card["bins"]]


def named_cards(record: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of single columns under names that can be files.

    >>> named_cards({"story": {"cards": [{"column": "../Über age", "bins": ["1"], "before": [1], "after": [1]}]}}).keys()
    dict_keys(['column_01_ber_age'])
    """
    return {
        f"column_{i:02d}_{_slug(card['column'])}": drawn
        for i, (card, drawn) in enumerate(cards_of(record), 1)
    }


def story_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """The story of a certificate or record; an empty one where it was written before there were
    stories.
    """
    return {**NOTHING, **(document.get("story") or {})}


def risks_of(assessed: Mapping[str, Any]) -> dict[str, float]:
    """Risk by name of an assessment."""
    return {m["name"]: m["value"] for m in assessed["measures"]}


def _shared(certificate: Mapping[str, Any]) -> dict[str, Picture | None]:
    """What both pages show. The pictures are equal on both, so each is rendered once."""
    attacks, maps = certificate.get("attacks"), story_in(certificate)["maps"]
    return {
        "attacks": attack_picture(attacks) if attacks else None,
        "levels": column_levels(certificate["plan"]),
        "tables": pair_map(maps["columns"], maps["table_distance"], TABLES),
    }


def _associations(maps: Mapping[str, Any]) -> Picture | None:
    before, after = maps.get("association_before", []), maps.get("association_after", [])
    moved = [b - a for a, b in zip(before, after, strict=True)]
    return pair_map(maps["columns"], moved, ASSOCIATIONS, signed=True) if moved else None


def _there(pictures: Mapping[str, Picture | None]) -> dict[str, Picture]:
    return {name: picture for name, picture in pictures.items() if picture is not None}


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40] or "column"
