"""Limits of a recipe: what a risk, an attack or a utility may be, for the parameters it is measured
with.

::

    limits:
      linkage: 0.2
      interval_disclosure: {kind: deviation, at_most: 0.3}
      worst_case_linkage:
        - 0.2
        - {aggregator: owa, at_most: 0.25}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sfumato.core.arguments import as_tuple
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import known_as, label_of, plain_data, values_of, words_of
from sfumato.errors import ParameterError

BOUNDS = ("at_most", "at_least")


@dataclasses.dataclass(frozen=True)
class Limit:
    """One limit: what is measured, with which parameters, and how far it may go.

    ``way`` is the word that the recipe uses for the bound; None: it is a plain number.

    >>> Limit("interval_disclosure", 0.2, {"kind": "deviation"}, "at_most").label
    'interval_disclosure: {kind: deviation}'
    """

    name: str
    bound: float
    parameters: Fields = dataclasses.field(default_factory=dict)
    way: str | None = None

    @property
    def label(self) -> str:
        """The name, with the parameters as a recipe writes them."""
        return label_of(self.name, self.parameters)

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return words_of(self.name, self.parameters)

    @property
    def spec(self) -> str | Document:
        """What is measured, as a recipe names it."""
        if self.parameters:
            return {self.name: dict(self.parameters)}
        return self.name

    def to_recipe(self) -> float | Document:
        """The limit as a recipe writes it: a number where nothing else is to be said."""
        if self.way is None:
            return self.bound
        return {**self.parameters, self.way: self.bound}


def limits_of(limits: Fields) -> tuple[Limit, ...]:
    """All limits of a recipe, one by one; :class:`ParameterError` where one is no limit.

    >>> [
    ...     limit.bound
    ...     for limit in limits_of({"linkage": [0.2, {"direction": "forward", "at_most": 0.1}]})
    ... ]
    [0.2, 0.1]
    """
    bounds: list[Limit] = []
    for name, spec in limits.items():
        listed = spec if isinstance(spec, list | tuple) else (spec,)
        if not listed:
            raise ParameterError(f"limits: {name} has no limit; give a number or leave it out")
        bounds += [_limit(name, entry) for entry in listed]
    return tuple(bounds)


def _limit(name: str, spec: object) -> Limit:
    way, number, parameters = None, spec, {}
    if isinstance(spec, Mapping):
        ways = [word for word in BOUNDS if word in spec]
        if len(ways) != 1:
            raise ParameterError(
                f"limits: {name} needs one bound beside its parameters, like {{…, at_most: 0.2}}"
            )
        way, number = ways[0], spec[ways[0]]
        parameters = {word: plain_data(value) for word, value in spec.items() if word != way}
    # "not >= 0" refuses NaN as well.
    if isinstance(number, bool) or not isinstance(number, int | float) or not number >= 0:
        raise ParameterError(f"limits: {name} must be a number of zero or more")
    return Limit(name, number, parameters, way)


def written_limits(limits: Sequence[Limit]) -> Document:
    """Limits as a recipe holds them: several of one name are a list.

    >>> written_limits(
    ...     [Limit("linkage", 0.2), Limit("linkage", 0.1, {"direction": "forward"}, "at_most")]
    ... )
    {'linkage': [0.2, {'direction': 'forward', 'at_most': 0.1}]}
    """
    grouped: dict[str, list[Any]] = {}
    for limit in limits:
        grouped.setdefault(limit.name, []).append(limit.to_recipe())
    return {name: entries if len(entries) > 1 else entries[0] for name, entries in grouped.items()}


def plain_limits(limits: Mapping[Any, Any]) -> Document:
    """Limits with plain names as keys: ``{sf.IntervalDisclosure("deviation"): 0.2}`` as a recipe
    would write it.
    """
    plain: Document = {}
    for key, bound in limits.items():
        spec = bound
        if isinstance(key, str):
            name = known_as(key)
        elif hasattr(key, "name"):
            name, spec = key.name, _said_of(key, bound)
        else:  # no name at all: whoever checks the recipe refuses it
            name = cast("str", key)
        if name not in plain:
            plain[name] = spec
            continue
        # The same name may come twice, as a word and as an object.
        plain[name] = [*as_tuple(plain[name]), *as_tuple(spec)]
    return plain


def _said_of(metric: Any, bound: object) -> Any:
    parameters = values_of(metric)
    way = "at_least" if metric.better == "higher" else "at_most"
    return {**parameters, way: bound} if parameters else bound
