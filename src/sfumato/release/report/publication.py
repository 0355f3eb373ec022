"""What the publisher says of a release: title, purpose, contact and licence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.core.blocks import Block, Cell
from sfumato.release.report.sections import terms_table


def publication_blocks(recipe: Mapping[str, Any]) -> list[Block]:
    """Purpose, contact and licence, as the recipe says them."""
    publication = recipe.get("publish") or {}
    rows: list[tuple[Cell, ...]] = []
    for name in ("purpose", "contact", "licence"):
        if name in publication:
            rows.append((name.capitalize(), publication[name]))
    return [terms_table(rows)] if rows else []


def title_of(recipe: Mapping[str, Any], otherwise: str) -> str:
    """The title that the recipe gives the release, else the name of its file."""
    publication = recipe.get("publish") or {}
    return str(publication.get("title") or otherwise)
