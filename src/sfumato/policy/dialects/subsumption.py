"""Whether one concept lies within another: structural subsumption, and the first reason why it does
not.

Compliance in SPECIAL is subsumption: a business policy (or the description of a release) is allowed
when it lies within the consent. For this fragment no reasoner is needed: fillers of functional
properties are merged, intervals of the left side are cut where intervals of the right side end, and
each part is then looked up in some part of the right side.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from sfumato.core.data_files import read_data_file
from sfumato.errors import ParameterError
from sfumato.policy.dialects.special import (
    Between,
    Concept,
    NamedClass,
    Simple,
    Some,
    as_policy,
    disjuncts,
)

# Classes and what is above them: a table of our own making with the terms we need of DPV, SPECIAL
# and our models.
#
# Names are those of the Data Privacy Vocabulary (DPV) and of SPECIAL's vocabularies where these
# have one; which class stands above which is a small table of ours, made for checking releases, not
# a copy. DPV has no terms for k-anonymity and its
# relatives: those are ours (``sf:``), below ``dpv:Anonymisation``. In DPV differential privacy and
# computing on encrypted data are cryptographic methods and not de-identification; here they are
# both, since a policy that asks for de-identification would otherwise refuse them.

THING_NAMES = frozenset(
    {
        "Thing",
        "owl:Thing",
        "AnyData",
        "AnyPurpose",
        "AnyProcessing",
        "AnyRecipient",
        "AnyStorage",
        "spl:AnyData",
        "spl:AnyPurpose",
        "spl:AnyProcessing",
        "spl:AnyRecipient",
        "spl:AnyLocation",
    }
)


@dataclasses.dataclass(frozen=True, eq=False)
class Vocabulary:
    """Class → classes right above it, and pairs of classes that nothing can be both of."""

    parents: Mapping[str, frozenset[str]]
    apart: frozenset[frozenset[str]] = frozenset()

    @cached_property
    def _above(self) -> dict[str, frozenset[str]]:
        return {}

    def above(self, name: str) -> frozenset[str]:
        """A class and everything above it; circles end where they close."""
        if name not in self._above:
            ancestors: set[str] = set()
            waiting = [name]
            while waiting:
                ancestor = waiting.pop()
                if ancestor not in ancestors:
                    ancestors.add(ancestor)
                    waiting += self.parents.get(ancestor, ())
            self._above[name] = frozenset(ancestors)
        return self._above[name]

    def within(self, names: Iterable[str], general: str) -> bool:
        """Whether something of all these classes is surely of the general one."""
        return general in THING_NAMES or any(general in self.above(name) for name in names)

    def disjoint(self, names: Iterable[str]) -> bool:
        """Whether nothing can be of all these classes."""
        classes = frozenset().union(*(self.above(name) for name in names))
        return any(len(pair & classes) == len(pair) for pair in self.apart)

    def extended(
        self, parents: Mapping[str, Iterable[str]], apart: Iterable[Iterable[str]] = ()
    ) -> Vocabulary:
        """A vocabulary with more classes and more disjoint pairs."""
        merged = {name: frozenset(above) for name, above in self.parents.items()}
        for name, above in parents.items():
            merged[name] = merged.get(name, frozenset()) | frozenset(above)
        return Vocabulary(merged, self.apart | {frozenset(pair) for pair in apart})


def built_in() -> Vocabulary:
    """The classes of the data file: a small table of ours, made for checking releases.

    >>> built_in().within(["dpv:DifferentialPrivacy"], "dpv:Deidentification")
    True
    """
    parents = read_data_file(__package__, "class_parents")
    return Vocabulary({name: frozenset(above) for name, above in parents.items()})


# Parts that a description may fall into when its intervals are cut.
MAX_PIECES = 100_000
ORDER = ("hasData", "hasPurpose", "hasProcessing", "hasStorage", "hasRecipient")
Path = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Whether a use is allowed; ``reason`` is the first thing that is not covered."""

    allowed: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.allowed


def decide(description: Concept, policy: Concept, vocabulary: Vocabulary) -> Coverage:
    """Whether what is described is allowed by a policy.

    Exact values of the policy are read in the direction that protects
    (:func:`sfumato.policy.dialects.special.as_policy`). A description that contradicts itself
    describes nothing and is not allowed, although logic would let it pass.
    """
    parts = list(simple_parts(description, vocabulary))
    if not parts:
        return Coverage(False, "the description contradicts itself, so nothing is described")
    right = list(simple_parts(as_policy(policy), vocabulary))
    if not right:
        return Coverage(False, "the policy allows nothing")
    for part in _cut_intervals(parts, right):
        reasons = [_missing(part, allowed, vocabulary, ()) for allowed in right]
        if all(reason is not None for reason in reasons):
            # of all alternatives, the one that covers most tells what to change
            nearest = max((r for r in reasons if r is not None), key=lambda r: r.depth)
            return Coverage(False, nearest.text)
    return Coverage(True)


def subsumes(general: Concept, special: Concept, vocabulary: Vocabulary) -> bool:
    """Whether everything in ``special`` is in ``general``, taken as they are written."""
    right = list(simple_parts(general, vocabulary))
    return all(
        any(_missing(part, allowed, vocabulary, ()) is None for allowed in right)
        for part in _cut_intervals(list(simple_parts(special, vocabulary)), right)
    )


def simple_parts(concept: Concept, vocabulary: Vocabulary) -> Iterator[Simple]:
    """The alternatives of a concept, each merged into one simple one; those that nothing can be are
    left out.
    """
    for conjuncts in disjuncts(concept):
        merged = _merge_conjuncts(conjuncts, vocabulary)
        if merged is not None:
            yield merged


def _merge_conjuncts(conjuncts: Sequence[Concept], vocabulary: Vocabulary) -> Simple | None:
    names: set[str] = set()
    inner: dict[str, list[Concept]] = {}
    intervals: dict[str, Between] = {}
    for part in conjuncts:
        if isinstance(part, NamedClass):
            names.add(part.name)
        elif isinstance(part, Some):
            inner.setdefault(part.property, []).extend(disjuncts(part.concept)[0])
        elif isinstance(part, Between):
            interval = _intersection(intervals.get(part.property), part)
            if interval is None:
                return None
            intervals[part.property] = interval
    # properties are functional: what several conjuncts say of one value holds together
    fillers = {name: _merge_conjuncts(parts, vocabulary) for name, parts in inner.items()}
    # a part that nothing can be describes nothing, and adds nothing to a union
    if vocabulary.disjoint(names) or any(filler is None for filler in fillers.values()):
        return None
    return Simple(frozenset(names), {n: f for n, f in fillers.items() if f is not None}, intervals)


def _intersection(first: Between | None, second: Between) -> Between | None:
    """Two intervals of a functional property; None where nothing is in both."""
    low = second.low if first is None else max(first.low, second.low)
    high = second.high if first is None else min(first.high, second.high)
    whole = second.whole if first is None else first.whole or second.whole
    if whole:
        low, high = _up(low), _down(high)
    if low > high:
        return None
    return Between(second.property, low, high, whole=whole)


def _up(number: float) -> float:
    if math.isinf(number):
        return number
    return float(math.ceil(number))


def _down(number: float) -> float:
    if math.isinf(number):
        return number
    return float(math.floor(number))


def _cut_intervals(parts: Sequence[Simple], right: Sequence[Simple]) -> Iterator[Simple]:
    """The left parts with every interval replaced by points: one for each stretch that the right
    side distinguishes.
    """
    # The right side may cover an interval by several parts, none of which covers it alone: [0, 10]
    # by [0, 5] and [5, 10]. Between two neighbouring ends of the right side all numbers are covered
    # alike, so one of each stretch decides (PL, cf. the normalisation of intervals in SPECIAL).
    ends: dict[Path, set[float]] = {}
    for part in right:
        for path, interval in _intervals(part, ()):
            ends.setdefault(path, set()).update((interval.low, interval.high))
    for part in parts:
        intervals = list(_intervals(part, ()))
        choices = [_points(interval, ends.get(path, set())) for path, interval in intervals]
        # the product of the stretches of all intervals: a few for real policies
        if math.prod(len(points) for points in choices) > MAX_PIECES:
            raise ParameterError(
                f"the intervals of the description form more than {MAX_PIECES} parts; simplify it"
            )
        for points in itertools.product(*choices):
            yield _place_points(
                part, dict(zip([path for path, _ in intervals], points, strict=True)), ()
            )


def _intervals(part: Simple, path: Path) -> Iterator[tuple[Path, Between]]:
    for name, interval in part.intervals.items():
        yield (*path, name), interval
    for name, filler in part.fillers.items():
        yield from _intervals(filler, (*path, name))


def _points(interval: Between, ends: set[float]) -> list[float]:
    """One number of every stretch of an interval between ends: the ends themselves, and something
    between each two.
    """
    # of whole numbers, a stretch may begin and end only at whole ones
    if interval.whole:
        ends = {*map(_down, ends), *map(_up, ends)}
    marks = sorted(
        {interval.low, interval.high, *(e for e in ends if interval.low <= e <= interval.high)}
    )
    between = [_amid(a, b, whole=interval.whole) for a, b in itertools.pairwise(marks)]
    return [*marks, *(point for point in between if point is not None)]


def _amid(low: float, high: float, *, whole: bool) -> float | None:
    """A number strictly between two others, or None."""
    if math.isinf(low) or math.isinf(high):
        inner = 0.0
        if math.isfinite(low):
            inner = low + 1
        elif math.isfinite(high):
            inner = high - 1
        return inner if low < inner < high else None
    if whole:
        return low + 1 if low + 1 < high else None
    middle = low + (high - low) / 2
    return middle if low < middle < high else None


def _place_points(part: Simple, points: dict[Path, float], path: Path) -> Simple:
    return Simple(
        part.names,
        {
            name: _place_points(filler, points, (*path, name))
            for name, filler in part.fillers.items()
        },
        {
            name: dataclasses.replace(interval, low=points[*path, name], high=points[*path, name])
            for name, interval in part.intervals.items()
        },
    )


@dataclasses.dataclass(frozen=True)
class _Reason:
    """Why a part is not covered; ``depth`` says how much was covered before that, to tell near
    misses.
    """

    text: str
    depth: int


def _missing(part: Simple, allowed: Simple, vocabulary: Vocabulary, path: Path) -> _Reason | None:
    """The first thing that the right side asks for and the left side does not have."""
    where = "".join(f"{name}: " for name in path)
    covered = 0
    for name in sorted(allowed.names):
        if not vocabulary.within(part.names, name):
            has = " and ".join(sorted(part.names)) or "unspecified"
            return _Reason(f"{where}{has} is not {name}", covered)
        covered += 1
    for name, interval in allowed.intervals.items():
        part_interval = part.intervals.get(name)
        if (
            part_interval is None
            or not interval.low <= part_interval.low <= part_interval.high <= interval.high
        ):
            has = "not said"
            if part_interval is not None:
                has = _number(part_interval.low)
            return _Reason(
                f"{where}{name} is {has}, allowed is {_number(interval.low)} to"
                f" {_number(interval.high)}",
                covered,
            )
        covered += 1
    # data and purpose first: what people ask for first is told first
    for name in sorted(allowed.fillers, key=lambda n: (_rank(n), n)):
        if name not in part.fillers:
            return _Reason(f"{where}{name} is missing", covered)
        below = _missing(part.fillers[name], allowed.fillers[name], vocabulary, (*path, name))
        if below is not None:
            return _Reason(below.text, covered + below.depth)
        # a reason from a deep part is nearer to a pass than one from the surface
        covered += 1 + len(allowed.fillers[name].names)
    return None


def _rank(name: str) -> int:
    if name in ORDER:
        return ORDER.index(name)
    return len(ORDER)


def _number(value: float) -> str:
    return {math.inf: "∞", -math.inf: "-∞"}.get(value, f"{value:g}")
