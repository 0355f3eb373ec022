"""Who tries a release, what they know of people, and which attacks they try."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import registry
from sfumato.core.schema import Role

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@dataclasses.dataclass(frozen=True)
class Profile:
    """An intruder: who it is and which columns it knows. ``attacks`` are those that say they are tried by it, by name, in turn."""

    name: str
    story: str
    knows: Callable[[Pair], tuple[str, ...]]

    everything: bool = False

    @property
    def attacks(self) -> tuple[str, ...]:
        """Names of the attacks this intruder tries, in turn; with ``everything``, all that anybody of the battery tries."""
        if self.everything:
            return tuple(dict.fromkeys(name for profile in BATTERY for name in profile.attacks))
        mine = [cls for cls in registry.attacks().values() if self.name in cls.tried_by]
        return tuple(cls.name for cls in sorted(mine, key=lambda cls: cls.turn))


def _everything_quasi(pair: Pair) -> tuple[str, ...]:
    return pair.quasi


def _three_most_exposing(pair: Pair) -> tuple[str, ...]:
    """The three quasi-identifiers with the most distinct released values: what can be seen over the fence."""
    return most_telling(pair, pair.quasi, 3)


def _five_of_any(pair: Pair) -> tuple[str, ...]:
    """The five most telling columns of any role: a colleague knows things that nobody calls quasi-identifiers.

    A survey weight that hardly anyone shares tells as much as a name. Only pseudonyms are left out, which nobody can know.
    """
    return most_telling(pair, [c for c in pair.columns if not _pseudonymous(pair, c)], 5)


def _pseudonymous(pair: Pair, name: str) -> bool:
    """Whether a column that names people or units was released with other names than it had."""
    names = {Role.DIRECT, Role.UNIT} & set(pair.original.schema[name].roles)
    return bool(names) and not pair.truthful(name).mean() > 0.5


def most_telling(pair: Pair, columns: Sequence[str], most: int) -> tuple[str, ...]:
    """The columns with the most entropy as released, most telling first."""

    def entropy(name: str) -> float:
        codes = pair.reading(name).released
        shares = np.bincount(codes) / max(1, len(codes))
        known = shares[shares > 0]
        return float(-(known * np.log2(known)).sum())

    return tuple(sorted(columns, key=lambda name: (-entropy(name), name))[:most])


BATTERY: tuple[Profile, ...] = (
    Profile(
        "prosecutor",
        "knows that a person is in the table, and all quasi-identifiers",
        _everything_quasi,
    ),
    Profile(
        "journalist",
        "wants any person of the population, and does not know who is in the table",
        _everything_quasi,
    ),
    Profile("neighbour", "knows the three quasi-identifiers that tell most", _three_most_exposing),
    Profile(
        "colleague",
        "knows the five columns that tell most, whatever their role",
        _five_of_any,
    ),
    Profile(
        "worst case",
        "knows everything about everyone but who is who, and how the release was made",
        _everything_quasi,
    ),
)
