"""The ways to search a lattice, by name."""

from __future__ import annotations

import functools
from typing import Literal

from sfumato.errors import ParameterError
from sfumato.steps.search.anytime import anytime
from sfumato.steps.search.argus import argus
from sfumato.steps.search.datafly import datafly
from sfumato.steps.search.incognito import incognito
from sfumato.steps.search.mingen import mingen
from sfumato.steps.search.ola import ola
from sfumato.steps.search.outcome import Algorithm
from sfumato.steps.search.reach import auto, optimal
from sfumato.steps.search.samarati import samarati

AlgorithmName = Literal["auto", "optimal", "samarati", "mingen", "datafly", "argus", "incognito", "ola", "anytime"]


ALGORITHMS: dict[str, Algorithm] = {
    "optimal": optimal,
    "samarati": samarati,
    "mingen": mingen,
    "datafly": datafly,
    "argus": argus,
    "incognito": incognito,
    "ola": ola,
    "anytime": anytime,
}


def choose(name: AlgorithmName, *, effort: int | None = None, seconds: float | None = None) -> Algorithm:
    """The algorithm of a name, or for ``auto`` the choice among two of them; limits that it does not have are refused.

    >>> choose("ola", effort=100)
    Traceback (most recent call last):
    ...
    sfumato.errors.ParameterError: effort belongs to the algorithm anytime; ola has no use for it
    """
    if name == "anytime":
        return functools.partial(anytime, effort=effort, seconds=seconds)
    given = [limit for limit, value in (("effort", effort), ("seconds", seconds)) if value is not None]
    if given:
        raise ParameterError(f"{' and '.join(given)} belongs to the algorithm anytime; {name} has no use for it")
    return auto if name == "auto" else ALGORITHMS[name]
