"""What metrics and attacks are called on a page, and what they say in a line that needs no formula.

Pages are drawn from documents, which hold names only. What a name means is asked of the metric
itself; a page about one that is not installed here shows its name in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.core import registry
from sfumato.core.fields import Fields
from sfumato.core.parameters import words_of
from sfumato.core.shape import Shape
from sfumato.core.words import plain_name, score

FIRST = ("loss", "squared_error", "query_workload", "accuracy", "completeness")
"""What a reader sees without opening anything: what cells lost, what answers lost, and what is
still there.
"""


def title_of(name: str, shape: Shape | None = None) -> str:
    """What a utility metric is called on a page.

    >>> title_of("ncp"), title_of("my_metric")
    ('Certainty penalty (NCP)', 'My metric')
    """
    metric = registry.find_class("utility", name, shape)
    return plain_name(name).capitalize() if metric is None else metric.title


def meaning_of(name: str, shape: Shape | None = None) -> str:
    """What a utility metric says, in a line; nothing for one that is not known here."""
    metric = registry.find_class("utility", name, shape)
    return "" if metric is None else metric.line


def measure_row(name: str, value: float, shape: Shape | None = None) -> tuple[str, str, str]:
    """A utility metric on a page: its title, its value, and what it says, with the best value.

    >>> measure_row("my_metric", 0.25)
    ('My metric', '0.2500', '0 is best')
    """
    metric = registry.find_class("utility", name, shape)
    if metric is None:
        return plain_name(name).capitalize(), score(value), "0 is best"
    best = "1 is best" if metric.better == "higher" else "0 is best"
    return metric.title, score(value), f"{metric.line}; {best}" if metric.line else best


def attack_line(name: str) -> str:
    """What an attack comes to, in a line; nothing for a risk that is no attack."""
    attack = registry.attacks().get(name)
    return "" if attack is None else attack.line


def best_of(name: str, shape: Shape | None = None) -> str:
    """Which value of a utility metric is best."""
    metric = registry.find_class("utility", name, shape)
    if metric is not None and metric.better == "higher":
        return "1 is best"
    return "0 is best"


def judges_detail(name: str) -> bool:
    """Whether a coarser release never looks better in a utility metric; of one that is not known
    here nobody knows.
    """
    metric = registry.utility_metrics().get(name)
    return metric is not None and metric.judges_detail


def plain_words(attack: str, shape: Shape | None = None, parameters: Fields | None = None) -> str:
    """What an attack would achieve, then its name and parameters; only the name where it is not
    known here.

    >>> plain_words("singling_out"), plain_words("my_attack")
    ('A description fits exactly one person (singling out)', 'My attack')
    """
    name, member = words_of(attack, parameters or {}), registry.find_class("risk", attack, shape)
    if member is None:
        return name.capitalize()
    return f"{member.line} ({name})"


def first_and_more(entries: Iterable[tuple[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Entries by name in two lists: those to show at once, in their order of importance, and the
    others.
    """
    by_name = dict(entries)
    first = [by_name[name] for name in FIRST if name in by_name]
    return first, [entry for name, entry in by_name.items() if name not in FIRST]
