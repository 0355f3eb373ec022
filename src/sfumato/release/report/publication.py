"""What the publisher says of a release: title, purpose, contact and licence."""

from __future__ import annotations

from sfumato.core.blocks import Block, Cell
from sfumato.core.fields import Fields
from sfumato.release.report.sections import terms_table


def publication_blocks(recipe: Fields) -> list[Block]:
    """Purpose, contact and licence, as the recipe says them."""
    publication = recipe.get("publish") or {}
    rows: list[tuple[Cell, ...]] = []
    for name in ("purpose", "contact", "licence"):
        if name in publication:
            rows.append((name.capitalize(), publication[name]))
    return [terms_table(rows)] if rows else []


def title_of(recipe: Fields, otherwise: str) -> str:
    """The title that the recipe gives the release, else the name of its file."""
    publication = recipe.get("publish") or {}
    return str(publication.get("title") or otherwise)
