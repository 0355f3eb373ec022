"""What a recipe says about the publication itself: title, purpose, contact and licence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from sfumato.errors import RecipeError, did_you_mean

LONGEST = 500


@dataclasses.dataclass(frozen=True)
class Publication:
    """What stands at the top of the shared page, in the words of the publisher."""

    title: str = ""
    purpose: str = ""
    contact: str = ""
    licence: str = ""

    def to_dict(self) -> dict[str, str]:
        """What was said, as a recipe writes it."""
        return {name: text for name, text in dataclasses.asdict(self).items() if text}


def read_publication(section: object) -> Publication:
    """The section ``publish`` of a recipe.

    >>> read_publication({"title": "Visits 2025"}).to_dict()
    {'title': 'Visits 2025'}
    """
    names = [field.name for field in dataclasses.fields(Publication)]
    if not isinstance(section, Mapping):
        raise RecipeError(f"'publish' is a mapping of {', '.join(names)}")
    problems = []
    for name, text in section.items():
        if name not in names:
            problems.append(f"publish has no entry {str(name)!r}.{did_you_mean(str(name), names)}")
        elif not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            problems.append(f"publish: {name} is a text of 1 to {LONGEST} letters")
    if problems:
        raise RecipeError(problems)
    return Publication(**{str(name): " ".join(text.split()) for name, text in section.items()})
