"""Whether one concept lies within another: structural subsumption, and the first reason why it does not.

Compliance in SPECIAL is subsumption: a business policy (or the description of a release) is allowed when it lies within the
consent. For this fragment no reasoner is needed: fillers of functional properties are merged, intervals of the
left side are cut where intervals of the right side end, and each part is then looked up in some part of the right side.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

from sfumato.errors import ParameterError
from sfumato.policy.special.concepts import Between, Concept, Named, Simple, Some, as_policy, disjuncts
from sfumato.policy.special.vocabulary import Vocabulary

MAX_PIECES = 100_000
"""Parts that a description may fall into when its intervals are cut."""
ORDER = ("hasData", "hasPurpose", "hasProcessing", "hasStorage", "hasRecipient")
Path = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Answer:
    """Whether a use is allowed; ``reason`` is the first thing that is not covered."""

    allowed: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.allowed


def decide(description: Concept, policy: Concept, vocabulary: Vocabulary) -> Answer:
    """Whether what is described is allowed by a policy.

    Exact values of the policy are read in the direction that protects (:func:`sfumato.policy.special.concepts.as_policy`). A description
    that contradicts itself describes nothing and is not allowed, although logic would let it pass.
    """
    left = list(simple_parts(description, vocabulary))
    if not left:
        return Answer(False, "the description contradicts itself, so nothing is described")
    right = list(simple_parts(as_policy(policy), vocabulary))
    if not right:
        return Answer(False, "the policy allows nothing")
    for part in _cut(left, right):
        reasons = [_missing(part, allowed, vocabulary, ()) for allowed in right]
        if all(reason is not None for reason in reasons):
            nearest = max((r for r in reasons if r is not None), key=lambda r: r.depth)
            return Answer(False, nearest.text)
    return Answer(True)


def subsumes(general: Concept, special: Concept, vocabulary: Vocabulary) -> bool:
    """Whether everything in ``special`` is in ``general``, taken as they are written."""
    right = list(simple_parts(general, vocabulary))
    return all(
        any(_missing(part, allowed, vocabulary, ()) is None for allowed in right)
        for part in _cut(list(simple_parts(special, vocabulary)), right)
    )


def simple_parts(concept: Concept, vocabulary: Vocabulary) -> Iterator[Simple]:
    """The alternatives of a concept, each merged into one simple one; those that nothing can be are left out."""
    for conjuncts in disjuncts(concept):
        merged = _merged(conjuncts, vocabulary)
        if merged is not None:
            yield merged


def _merged(conjuncts: Sequence[Concept], vocabulary: Vocabulary) -> Simple | None:
    names: set[str] = set()
    inner: dict[str, list[Concept]] = {}
    intervals: dict[str, Between] = {}
    for part in conjuncts:
        if isinstance(part, Named):
            names.add(part.name)
        elif isinstance(part, Some):
            inner.setdefault(part.property, []).extend(disjuncts(part.concept)[0])
        elif isinstance(part, Between):
            found = _intersection(intervals.get(part.property), part)
            if found is None:
                return None
            intervals[part.property] = found
    fillers = {name: _merged(parts, vocabulary) for name, parts in inner.items()}
    if vocabulary.disjoint(names) or any(filler is None for filler in fillers.values()):
        return None
    return Simple(frozenset(names), {n: f for n, f in fillers.items() if f is not None}, intervals)


def _intersection(one: Between | None, other: Between) -> Between | None:
    """Two intervals of a functional property; None where nothing is in both."""
    low = other.low if one is None else max(one.low, other.low)
    high = other.high if one is None else min(one.high, other.high)
    whole = other.whole if one is None else one.whole or other.whole
    if whole:
        low, high = _up(low), _down(high)
    if low > high:
        return None
    return Between(other.property, low, high, whole=whole)


def _up(number: float) -> float:
    return number if math.isinf(number) else float(math.ceil(number))


def _down(number: float) -> float:
    return number if math.isinf(number) else float(math.floor(number))


def _cut(left: Sequence[Simple], right: Sequence[Simple]) -> Iterator[Simple]:
    """The left parts with every interval replaced by points: one for each stretch that the right side tells apart."""
    ends: dict[Path, set[float]] = {}
    for part in right:
        for path, interval in _intervals(part, ()):
            ends.setdefault(path, set()).update((interval.low, interval.high))
    for part in left:
        places = list(_intervals(part, ()))
        choices = [_points(interval, ends.get(path, set())) for path, interval in places]
        if math.prod(len(points) for points in choices) > MAX_PIECES:
            raise ParameterError(f"the intervals of the description fall into more than {MAX_PIECES} parts")
        for points in itertools.product(*choices):
            yield _placed(part, dict(zip([path for path, _ in places], points, strict=True)), ())


def _intervals(part: Simple, path: Path) -> Iterator[tuple[Path, Between]]:
    for name, interval in part.intervals.items():
        yield (*path, name), interval
    for name, filler in part.fillers.items():
        yield from _intervals(filler, (*path, name))


def _points(interval: Between, ends: set[float]) -> list[float]:
    """One number of every stretch of an interval between ends: the ends themselves, and something between each two."""
    if interval.whole:
        ends = {around for e in ends for around in (_down(e), _up(e))}
    marks = sorted({interval.low, interval.high, *(e for e in ends if interval.low <= e <= interval.high)})
    between = [_amid(a, b, whole=interval.whole) for a, b in itertools.pairwise(marks)]
    return [*marks, *(point for point in between if point is not None)]


def _amid(low: float, high: float, *, whole: bool) -> float | None:
    """A number strictly between two others, or None."""
    if math.isinf(low) or math.isinf(high):
        found = 0.0 if math.isinf(low) and math.isinf(high) else low + 1 if math.isinf(high) else high - 1
        return found if low < found < high else None
    if whole:
        return low + 1 if low + 1 < high else None
    middle = low + (high - low) / 2
    return middle if low < middle < high else None


def _placed(part: Simple, points: dict[Path, float], path: Path) -> Simple:
    return Simple(
        part.names,
        {name: _placed(filler, points, (*path, name)) for name, filler in part.fillers.items()},
        {
            name: dataclasses.replace(interval, low=points[*path, name], high=points[*path, name])
            for name, interval in part.intervals.items()
        },
    )


@dataclasses.dataclass(frozen=True)
class _Reason:
    """Why a part is not covered; ``depth`` says how much was covered before that, to tell near misses."""

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
        found = part.intervals.get(name)
        if found is None or not interval.low <= found.low <= found.high <= interval.high:
            has = "not said" if found is None else _number(found.low)
            return _Reason(
                f"{where}{name} is {has}, allowed is {_number(interval.low)} to {_number(interval.high)}", covered
            )
        covered += 1
    for name in sorted(allowed.fillers, key=lambda n: (_rank(n), n)):
        if name not in part.fillers:
            return _Reason(f"{where}{name} is not said", covered)
        below = _missing(part.fillers[name], allowed.fillers[name], vocabulary, (*path, name))
        if below is not None:
            return _Reason(below.text, covered + below.depth)
        covered += 1 + len(allowed.fillers[name].names)
    return None


def _rank(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _number(value: float) -> str:
    return "∞" if value == math.inf else "-∞" if value == -math.inf else f"{value:g}"
