"""What an attack costs: how many candidates are left, and how much work was spent, fact by fact."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, cut_short
from sfumato.core.classes import count_rows
from sfumato.core.consistency import Pairs, pair_up
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.schema import Schema
from sfumato.core.words import percent
from sfumato.errors import ParameterError, SfumatoError
from sfumato.methods.attacks.linkage.comparable_columns import common_columns, refusal
from sfumato.methods.attacks.linkage.files import files_of
from sfumato.methods.attacks.linkage.success_rates import sampled_interval
from sfumato.methods.formulas.matchings import MOST, matchings_with

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.methods.attacks.linkage.comparable_columns import ComparedColumn
    from sfumato.methods.attacks.linkage.files import Files

    Flags = NDArray[np.bool_]
    Ints = NDArray[np.int64]


ALL_ORDERS = 6
"""Facts of which all orders are averaged over; with more, some orders are drawn."""
DRAWN_ORDERS = 20
MOST_LADDER_CELLS = 1_000_000
"""Cells of quasi-identifiers up to which everybody is paired up with all records that fit: beyond,
that takes longer than the attack itself.
"""
MOST_WAYS = 1 << 22
"""Sets of records that the exact posteriors of a table may look at."""
_ORDERS = {"rarest": "the rarest first", "random": "in any order"}
EVERYBODY = None
"""The candidates before any fact is used that rules somebody out."""


@parameters
class AttackCost(Attack):
    r"""How many candidates are left for a person, and how much work it took, as the intruder uses
    one known fact after the other.

    .. math:: w_j = \sum_{i<j} |C_i|, \qquad C_{i}
        = \{y \in C_{i-1} : \text{fact } i \text{ fits } y\}, \quad C_0 =
        \text{all released records}

    A unit of work is one test of one fact on one candidate that is left, which no machine changes.
    Facts are the cells that the intruder knows of a person; what is missing is none. ``order`` is
    ``rarest`` (the fact that fits fewest released records first) or ``random`` (the mean of all
    orders). The details hold both: per number of facts the work, the mean and quantiles of the
    candidates left, and the share of people left with one. The value is the share of people who are
    left with their own record alone once all facts are used; beside it stand the work for each of
    them, and the work until half of the people are among at most ``few`` candidates (None: never).
    An intruder is *sound* for a person while the own record is still a candidate: where values were
    only generalised, always.

    Where values were only generalised and the intruder knows all quasi-identifiers of everybody, a
    ladder of three rungs is told, each more work than the last: the records that fit a person
    (*neighbours*), those that fit in some assignment of all people at once (*matches*), and the
    probability of the own record if all assignments are equally likely (*posterior*, exact within
    groups of at most 20 records that can trade places; the work doubles with each; tables of up to
    a million cells of quasi-identifiers). Matches may be k while the posterior of one is above 1/k.

    With ``work`` somebody counts only where so many tests are enough: ``attack_cost: {work: 5000,
    at_most: 0.05}`` among the limits of a recipe says that an intruder who can afford 5,000 tests
    for a person is left with the own record alone for at most 5 % of people.

    "Computational anonymity" is named in the literature without a definition that we know of. This
    is a **measurement of ours**, of named intruders, and no guarantee against others.

    Reference: Tassa, Mazza & Gionis 2012, *k-Concealment: An Alternative Model of k-Type
    Anonymity*, Transactions on Data Privacy 5 (the graph of the ladder).

    >>> AttackCost(order="random").few
    1
    """

    order: Annotated[
        Literal["rarest", "random"], Field(description="in which order facts are used")
    ] = "rarest"
    few: Annotated[int, Field(ge=1, description="candidates that are few enough")] = 1
    work: Annotated[
        int | None,
        Field(ge=0, description="tests of a fact that are affordable for one person; None: any"),
    ] = None

    name: ClassVar[str] = "attack_cost"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "The work until a person's own record is found"
    tried_by: ClassVar[tuple[str, ...]] = ("prosecutor", "neighbour", "colleague")
    turn: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if self.work is not None and self.order != "rarest":
            raise ParameterError("work goes with order rarest, the cheapest way to ask; leave out")

    def applies(self, scene: Scene) -> str | None:
        """None when the intruder knows a released column of somebody in the table."""
        return refusal(scene)

    def attack(self, scene: Scene) -> Finding:
        """Use the facts one by one, for as many people as the work is enough for."""
        if (reason := refusal(scene)) is not None:
            raise ParameterError(f"{self.name}: {reason}")
        files = files_of(scene)
        targets = np.flatnonzero(scene.intruder.truth >= 0)
        hunts: list[_Hunt] = []
        # The most that one person may take: all records by all facts in every drawn order.
        dearest = len(files.released.records) * len(files.columns) * DRAWN_ORDERS
        people = scene.sampled(
            len(targets),
            "attack cost",
            cost=dearest,
            spent=lambda: sum(hunt.cells for hunt in hunts),
        )
        for number in people:
            # How many there will be depends on the first ones.
            hunts.append(_hunt(scene, files, int(targets[number])))
        facts = len(files.columns)
        rarest_sizes = [hunt.rarest for hunt in hunts]
        random_sizes = [hunt.random for hunt in hunts]
        curves = {
            "rarest": _curve(rarest_sizes, facts),
            "random": _curve(random_sizes, facts),
        }
        curve = curves[self.order]
        affordable = [_is_affordable(hunt, self.work) for hunt in hunts]
        alone = np.array(affordable, dtype=np.float64)
        unique_people = float(alone.sum())
        work = curve[-1]["work"] * len(hunts)
        until = next(
            (point["work"] for point in curve if point["quantiles"]["0.5"] <= self.few), None
        )
        sound = [hunt.sound for hunt in hunts if hunt.sound is not None]
        points = [[point["facts"], point["unique"]] for point in curve]
        if sound:
            soundness = float(np.mean(sound))
        else:
            soundness = None
        details: Document = {
            "a measurement, not a promise": (
                "work is counted in tests of one fact against one remaining candidate"
            ),
            "curve": {
                "known": "facts used",
                "points": points,
            },
            "cost": curves,
            "work_per_found": work / unique_people if unique_people else None,
            "work_until_few": until,
            "sound": soundness,
            "ladder": _ladder(scene),
        }
        if unique_people:
            effort = f"{work / unique_people:,.0f} tests of a fact for each of them"
        else:
            effort = f"{work:,.0f} tests of a fact without success"
        limit = ""
        if self.work is not None:
            limit = f" within {self.work:,} tests of a fact for a person"
        sentence = (
            f"Using {', '.join(files.names)} one after the other ({_ORDERS[self.order]}), an"
            f" intruder is left with {curve[-1]['candidates']:,.1f} of"
            f" {len(scene.pair.released):,} records on average, and with the own record alone for"
            f" {percent(float(alone.mean()))} of {len(hunts):,}"
            f" people{cut_short(len(hunts), len(targets))}{limit}: {effort}."
        )
        interval = sampled_interval(
            alone, everybody=len(hunts) == len(targets) and not scene.intruder.sampled
        )
        pairs = zip(hunts, affordable, strict=True)
        alone_rows = [hunt.row for hunt, counts in pairs if counts]
        return Finding(
            self.name,
            float(alone.mean()),
            sentence=sentence,
            interval=interval,
            baseline=1.0 / len(scene.pair.released),
            victims=np.sort(np.array(alone_rows, dtype=np.int64)),
            details=details,
            trials=len(hunts),
        )


@dataclasses.dataclass(frozen=True)
class _Hunt:
    """One person sought: candidates and the chance to be the only one, per number of facts used;
    ``sound``: None where nothing was released of them.

    ``cells`` is how many cells our search looked at, which is more than the intruder's work.
    """

    row: int
    rarest: tuple[list[float], list[float]]
    random: tuple[list[float], list[float]]
    own_alone: bool
    sound: bool | None
    cells: int


def _is_affordable(hunt: _Hunt, most: int | None) -> bool:
    """Whether a person is found, the rarest fact first, with at most so many tests of a fact."""
    if not hunt.own_alone:
        return False
    sizes = hunt.rarest[0]
    # Nobody else is left once one candidate is: further facts need not be tested.
    return most is None or sum(sizes[: sizes.index(1.0)]) <= most


def _hunt(scene: Scene, files: Files, row: int) -> _Hunt:
    """Seek one person by all facts known of them."""
    records = files.released.records
    facts = [_fits(column, files, at, row) for at, column in enumerate(files.columns)]
    usable_facts = [fact for fact in facts if fact is not None]
    # Rows count, not distinct records: a rare fact is one that few released rows fit.
    usable_facts.sort(key=lambda fact: int(records[fact].sum()))
    narrowing = _Narrowing(usable_facts, records)
    candidates = EVERYBODY
    size = narrowing.total
    sizes = [float(size)]
    alone = [float(size == 1)]
    for fact in range(len(usable_facts)):
        candidates, size = narrowing.left_after(candidates, size, fact)
        sizes.append(float(size))
        alone.append(float(size == 1))
    own_rows = np.flatnonzero(scene.pair.rows == scene.intruder.truth[row])
    own = files.released.kind_of[own_rows]
    own_candidate = None
    if len(own):
        own_candidate = bool(
            np.isin(own, candidates).any() if candidates is not EVERYBODY else True
        )
    random = _any_order(scene, narrowing, row)
    cells = narrowing.cells + len(facts) * len(records) + len(scene.pair.rows)
    finds_own = bool(own_candidate) and sizes[-1] == 1
    return _Hunt(
        int(scene.intruder.truth[row]),
        (sizes, alone),
        random=random,
        own_alone=finds_own,
        sound=own_candidate,
        cells=cells,
    )


class _Narrowing:
    """Candidates, as numbers of distinct records, that are left after some of the facts; what was
    looked at is counted in ``cells``.
    """

    def __init__(self, facts: Sequence[Flags], records: Ints) -> None:
        self.facts = facts
        self.records = records
        self.total = int(records.sum())
        self.fitting = [EVERYBODY if fact.all() else np.flatnonzero(fact) for fact in facts]
        self.sizes = [
            self.total if fit is EVERYBODY else int(records[fit].sum()) for fit in self.fitting
        ]
        self.cells = len(facts) * len(records)

    def left_after(self, candidates: Ints | None, size: int, fact: int) -> tuple[Ints | None, int]:
        """Who is left of some candidates, who are so many rows, after one more fact, and how many
        rows these are.
        """
        if self.fitting[fact] is EVERYBODY:
            return candidates, size
        if candidates is EVERYBODY:
            return self.fitting[fact], self.sizes[fact]
        self.cells += len(candidates)
        fewer = candidates[self.facts[fact][candidates]]
        return fewer, int(self.records[fewer].sum())


def _fits(column: ComparedColumn, files: Files, at: int, row: int) -> Flags | None:
    """Per distinct released record whether a cell of the intruder's may be its; None where the
    intruder does not know the cell.
    """
    value = int(column.intruder[row])
    if column.missing_intruder[value] or column.open_intruder[value]:
        return None
    labels = column.open_released.copy()
    if column.scale == "category":
        starts = column.intruder_fit_starts
        listed = column.intruder_fit[1]
        labels[listed[starts[value] : starts[value + 1]]] = True
    else:
        slack = 1e-9 * max(1.0, abs(column.span))
        position = column.places[value]
        with np.errstate(invalid="ignore"):
            labels |= (column.low - slack <= position) & (position <= column.high + slack)
    return np.asarray(labels[files.released.codes[:, at]], dtype=np.bool_)


def _any_order(scene: Scene, narrowing: _Narrowing, row: int) -> tuple[list[float], list[float]]:
    """Candidates and the chance to be the only one when so many facts were used, on average over
    orders.
    """
    facts = len(narrowing.facts)
    sizes: list[list[int]] = [[] for _ in range(facts + 1)]
    # Every set of j facts begins equally many orders, so the mean over all orders is the mean over
    # all sets: 64 sets of six facts instead of 720 orders.
    if facts <= ALL_ORDERS:
        for used, size in _subsets(narrowing, EVERYBODY, narrowing.total):
            sizes[used].append(size)
    else:
        draws = scene.seed.stream(f"attack cost: orders of {row}")
        for _ in range(DRAWN_ORDERS):
            candidates = EVERYBODY
            size = narrowing.total
            sizes[0].append(size)
            for used, fact in enumerate(draws.permutation(facts).tolist(), start=1):
                candidates, size = narrowing.left_after(candidates, size, fact)
                sizes[used].append(size)
    mean_sizes = [float(np.mean(group_sizes)) for group_sizes in sizes]
    alone_shares = [float(np.mean(np.array(group_sizes) == 1)) for group_sizes in sizes]
    return mean_sizes, alone_shares


def _subsets(
    narrowing: _Narrowing,
    candidates: Ints | None,
    size: int,
    fact: int = 0,
    used: int = 0,
) -> Iterator[tuple[int, int]]:
    """Every set of the facts from one on, by how many they are and how many rows they leave."""
    if fact == len(narrowing.facts):
        yield used, size
        return
    yield from _subsets(narrowing, candidates, size, fact + 1, used)
    yield from _subsets(
        narrowing, *narrowing.left_after(candidates, size, fact), fact + 1, used + 1
    )


def _curve(people: Sequence[tuple[list[float], list[float]]], facts: int) -> list[Document]:
    """Work, candidates and the share of people left with one, per number of facts; who has fewer
    facts stays where they end.
    """
    sizes = np.array([_to_length(person[0], facts + 1) for person in people])
    alone = np.array([_to_length(person[1], facts + 1) for person in people])
    used = np.array([len(person[0]) - 1 for person in people])
    # Fact j is tested on those left before it, sizes[:, j]; facts a person lacks cost nothing.
    is_used = np.arange(facts)[None, :] < used[:, None]
    tests = np.where(is_used, sizes[:, :-1], 0.0)
    work = np.cumsum(tests, axis=1)
    points = []
    for j in range(facts):
        quantiles = {str(q): float(np.quantile(sizes[:, j + 1], q)) for q in (0.1, 0.5, 0.9)}
        point = {
            "facts": j + 1,
            "work": float(work[:, j].mean()),
            "candidates": float(sizes[:, j + 1].mean()),
            "quantiles": quantiles,
            "unique": float(alone[:, j + 1].mean()),
        }
        points.append(point)
    return points


def _to_length(values: Sequence[float], length: int) -> list[float]:
    return list(values) + [values[-1]] * (length - len(values))


# The ladder on the consistency graph.


def _ladder(scene: Scene) -> Document | str:
    """Neighbours, matches and posteriors of everybody, or why there are none."""
    if set(scene.pair.quasi) - set(common_columns(scene)):
        return "the intruder does not know all quasi-identifiers"
    if len(scene.pair.original) * len(scene.pair.quasi) > MOST_LADDER_CELLS:
        return "the table is too large to pair all its records up"
    if ("ladder",) not in scene.pair.memo:
        try:
            # A release that was read from its folder has no hierarchies of its own: those of the
            # original say that 60*** may be 60311.
            schema = scene.pair.original.schema
            attributes = {name: schema[name] for name in scene.pair.quasi}
            released = dataclasses.replace(scene.pair.released, schema=Schema(attributes))
            classes, rows = count_rows(released, scene.pair.quasi)
            scene.pair.memo["ladder",] = ladder(
                pair_up(scene.pair.original, released, classes, rows)
            )
        except SfumatoError as error:  # values were changed, or too many pairs fit
            scene.pair.memo["ladder",] = str(error)
    search_ladder: Document | str = scene.pair.memo["ladder",]
    return search_ladder


def ladder(pairs: Pairs) -> Document:
    """The fewest neighbours and matches of anybody, and the largest posterior of the own record,
    where it is known.

    ``work`` counts pairs of records that fit, once for each of the first two rungs, and sets of
    records for the third.
    """
    neighbours = pairs.neighbours_of_originals()
    matches = pairs.matches_of_originals()
    original_classes, released_classes = pairs.edges
    ends_of_edges = pairs.originals[original_classes] * pairs.released[released_classes]
    edges = int(ends_of_edges.sum())
    largest, people, ways = _posteriors(pairs)
    neighbour_counts = {
        "fewest": _fewest(neighbours),
        "mean": _mean(neighbours, pairs.originals),
        "work": edges,
    }
    match_counts = {
        "fewest": _fewest(matches),
        "mean": _mean(matches, pairs.originals),
        "work": edges,
    }
    people_paired = int(pairs.originals.sum())
    return {
        "neighbours": neighbour_counts,
        "matches": match_counts,
        "posterior": {
            "largest": largest,
            "people": people,
            "of": people_paired,
            "work": ways,
        },
    }


def _fewest(values: Ints) -> int:
    return int(values.min()) if len(values) else 0


def _mean(values: Ints, weights: Ints) -> float:
    weighted_sum = (values * weights).sum()
    return float(weighted_sum / max(1, int(weights.sum())))


def _posteriors(pairs: Pairs) -> tuple[float | None, int, int]:
    """The largest probability of an own record, for how many people it was worked out, and how many
    sets were looked at.
    """
    largest, people, ways = 0.0, 0, 0
    for group in _groups(pairs):
        # All assignments are alike then, so nobody's own record is likelier than any other.
        if group.joined.all():  # everybody can be anybody
            largest = max(largest, 1 / group.size)
            people = people + group.size
        elif group.size <= MOST and ways + (1 << group.size) <= MOST_WAYS:
            largest = max(largest, group.largest())
            people = people + group.size
            ways = ways + (1 << group.size)
    return (largest if people else None), people, ways


@dataclasses.dataclass(frozen=True, eq=False)
class _Group:
    """Original and released classes whose records can trade places: how large they are, which fit,
    and which are the same people's.
    """

    originals: Ints
    released: Ints
    joined: Flags
    matches: Flags

    @property
    def size(self) -> int:
        """Records on either side."""
        return int(self.originals.sum())

    def largest(self) -> float:
        """The largest posterior of an own record."""
        records = np.repeat(np.repeat(self.joined, self.originals, axis=0), self.released, axis=1)
        total, counts = matchings_with(records)
        # Records of a class are alike: the first of each stands for all.
        original_ends = np.cumsum(self.originals)
        released_ends = np.cumsum(self.released)
        firsts = (original_ends - self.originals, released_ends - self.released)
        shares = counts[np.ix_(*firsts)] / max(1, total)
        return float(shares[self.matches].max(initial=0.0))


def _groups(pairs: Pairs) -> Iterator[_Group]:
    """The groups of a graph, one after the other."""
    left_components, right_components = pairs.components()
    sides = [np.argsort(side, kind="stable") for side in (left_components, right_components)]
    # Where each class stands within its own group: overwritten group by group.
    positions = [np.empty(len(side), dtype=np.int64) for side in sides]
    # Pairs that fit but join two groups are in no assignment of all people.
    within = left_components[pairs.edges[0]] == right_components[pairs.edges[1]]
    edges = [side[within] for side in pairs.edges]
    inside = np.argsort(left_components[edges[0]], kind="stable")
    own = np.argsort(left_components[pairs.same[0]], kind="stable")
    for group in np.unique(left_components).tolist():
        original_rows, released_rows = (
            _run(members, side, group)
            for members, side in zip(sides, (left_components, right_components), strict=True)
        )
        for numbers, members in zip(positions, (original_rows, released_rows), strict=True):
            numbers[members] = np.arange(len(members))
        marks = []
        for ends, order in ((edges, inside), (pairs.same, own)):
            edge_numbers = _run(order, left_components[ends[0]], group)
            mark = np.zeros((len(original_rows), len(released_rows)), dtype=np.bool_)
            mark[positions[0][ends[0][edge_numbers]], positions[1][ends[1][edge_numbers]]] = True
            marks.append(mark)
        yield _Group(pairs.originals[original_rows], pairs.released[released_rows], *marks)


def _run(order: Ints, numbers: Ints, group: int) -> Ints:
    """The places that have a number, where ``order`` puts equal ones together."""
    low, high = np.searchsorted(numbers, [group, group + 1], sorter=order)
    return order[low:high]
