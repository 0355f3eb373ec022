"""The ways to search a lattice, by name."""

from __future__ import annotations

import functools
from typing import Literal

from sfumato.core.progress import Progress, silent
from sfumato.errors import ParameterError
from sfumato.steps.search.anytime import anytime
from sfumato.steps.search.datafly import datafly
from sfumato.steps.search.incognito import incognito
from sfumato.steps.search.lattice import Lattice
from sfumato.steps.search.mingen import mingen
from sfumato.steps.search.ola import ola
from sfumato.steps.search.optimal import Search
from sfumato.steps.search.outcome import Algorithm, Outcome
from sfumato.steps.search.samarati import samarati

AlgorithmName = Literal["optimal", "samarati", "mingen", "datafly", "incognito", "ola", "anytime"]


def optimal(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The optimum of the lattice under any model and objective, by branch and bound."""
    search = Search(lattice, progress).run()
    return Outcome(search.best, search.closest, search.looked_at)


ALGORITHMS: dict[str, Algorithm] = {
    "optimal": optimal,
    "samarati": samarati,
    "mingen": mingen,
    "datafly": datafly,
    "incognito": incognito,
    "ola": ola,
    "anytime": anytime,
}


def choose(name: AlgorithmName, *, effort: int | None = None, seconds: float | None = None) -> Algorithm:
    """The algorithm of a name; limits that it does not have are refused.

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
    return ALGORITHMS[name]
