"""Attacks on synthetic rows: are they copies of the people they were learnt from, or all
but copies?

All compare with people who were set aside before anything was learnt: what happens to these as well
is chance.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.attack import (
    NOT_IN_FILE,
    Attack,
    Finding,
    Intruder,
    NothingToAttack,
    Scene,
    cut_short,
)
from sfumato.core.fields import Document
from sfumato.core.groups import group_starts
from sfumato.core.pair import TablePair
from sfumato.core.parameters import parameters
from sfumato.core.schema import UNITS, Role
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.methods.attacks.crowd import distinct, standing_under
from sfumato.methods.attacks.linkage.comparable_columns import compare
from sfumato.methods.attacks.linkage.comparison_arrays import arrays_of
from sfumato.methods.attacks.linkage.distance_rules import distance_rule
from sfumato.methods.attacks.linkage.files import Files
from sfumato.methods.attacks.linkage.success_rates import wilson
from sfumato.methods.attacks.nearest import NO_CONTROL, Surroundings, surroundings
from sfumato.methods.attacks.rates import Successes, area, true_positives

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]


SOMEBODYS = "every released record is a real person's; copies are only sought among synthetic rows"
MOST_PEOPLE = 1000
"""People of either kind whose distance to the drawn rows is measured."""
MOST_DRAWN = 500
"""Drawn rows whose distance to people is measured."""
ALARMS = 0.001
"""False alarms at which it is told how many members are recognised: averages hide the few who are
exposed.
"""
EXCHANGES = 400
"""How often members and people set aside are exchanged at random to learn what chance does."""
SURE = 0.95
"""How surely no excess of the three is more than its lower end says where there is none."""
TELLING = 0.10
"""An excess that chance alone may reach with so few people set aside says nothing: the outcome is
unknown then.
"""
ENOUGH_PEOPLE = 500
"""People of either kind that are looked at first; where they do not tell, :data:`MOST_PEOPLE` are.
"""
FEW_ALARMS = 0.01
"""The share of false alarms at which members are recognised by being near."""
WEAKNESS = (
    "by itself this says little: it passes tables in which one record in a hundred is an exact copy"
)


def data_columns(pair: TablePair) -> tuple[str, ...]:
    """The columns in which a drawn record may be a copy: all that both tables have but names of
    people and units, which are new, and weights.

    A copy is one whatever survey weight it has: those of drawn records are multiplied, so that they
    add up to the population again.
    """
    excluded_roles = {Role.DROP, *UNITS, Role.WEIGHT}
    return tuple(
        name for name in pair.columns if not excluded_roles & set(pair.original.schema[name].roles)
    )


def out_of_reach(scene: Scene) -> str | None:
    """Why there are no copies to look for, or no control; None: there are both."""
    pair = scene.pair
    if pair.aligned:
        return NothingToAttack(SOMEBODYS)
    if not data_columns(pair):
        return NothingToAttack("no released column could show that a record is a copy")
    if pair.learnt_from is None or scene.held_out is None:
        return NO_CONTROL
    return None


def _groups(scene: Scene) -> tuple[Ints, Ints]:
    """People that the rows were learnt from, and people set aside; an attack that applies has
    both.
    """
    none = np.zeros(0, dtype=np.int64)
    members = scene.pair.learnt_from
    aside = scene.held_out
    return none if members is None else members, none if aside is None else aside


def _people(scene: Scene) -> tuple[Ints, Ints]:
    """The same with one row of each person, where people have several."""
    which_row = scene.seed.stream("drawn rows: which row of a person")
    members, aside = (scene.pair.one_row_each(group, which_row) for group in _groups(scene))
    return members, aside


# Copies: drawn rows that are a unique person of the table in every column.


@parameters
class CopiedRecords(Attack):
    r"""How much more often unique people reappear among drawn rows when the rows were learnt from
    them.

    A record that is unique in the original (in all columns that were released, but for names of
    people and units) *reappears* when some drawn row is the same in all of them. In a small domain
    that happens by chance, as often to people who were set aside. With the share *a* of unique
    people learnt from who reappear, and the share *h* of unique people set aside who do,

    .. math:: R = \frac{a - h}{1 - h}

    is the copied excess, at least 0. A generalised column is compared as it was released. Where
    nobody is unique nothing can be told to be a copy: 0. Where none of those set aside is unique
    chance is unknown, and so is the excess. The interval is that of
    :class:`~sfumato.methods.attacks.rates.ExcessRisk`. Unless a recipe says otherwise drawn rows
    with :math:`R > 0.10` are not released.

    Worked example: 25.07 % and 4.49 % give R = 0.2155; raw counts of copies would not tell a small
    domain from a leak.
    Reference: the excess over a control group is that of Giomi et al. 2023,
    doi:10.56553/popets-2023-0055.
    """

    name: ClassVar[str] = "copied_records"
    line: ClassVar[str] = "People of the table appear among the synthetic records, cell by cell"
    tried_by: ClassVar[tuple[str, ...]] = ("prosecutor",)
    turn: ClassVar[int] = 0

    def applies(self, scene: Scene) -> str | None:
        """None where rows are synthetic and people set aside."""
        return out_of_reach(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look for every unique person among the drawn rows."""
        unique, reappears = reappearing(scene.pair, data_columns(scene.pair))
        members, aside = (group[unique[group]] for group in _groups(scene))
        if not len(members):
            message = (
                "no person used for training is unique in the table, so no synthetic record can "
                "be recognised as a copy"
            )
            return Finding(self.name, 0.0, message, details=_copies(Successes(0, 0, 0, len(aside))))
        if not len(aside):
            raise ParameterError(
                f"none of the {len(_groups(scene)[1]):,} people set aside is unique in the table, "
                "so how often records reappear by chance is unknown; set more people aside"
            )
        copied = _people_hit(scene, members, reappears)
        by_chance = _people_hit(scene, aside, reappears)
        tally = Successes(*copied, *by_chance)
        message = (
            f"{tally.hits:,} of {tally.trials:,} unique people used for training appear among them "
            f"in every column ({percent(tally.share)}), and {tally.control_hits:,} of "
            f"{tally.control_trials:,} people set aside ({percent(tally.control_share)}): a copied "
            f"excess of {max(0.0, tally.excess):.4f}"
        )
        value = min(1.0, max(0.0, tally.excess))
        victims = members[reappears[members]]
        return Finding(
            self.name,
            value,
            message,
            tally.interval,
            victims=victims,
            details=_copies(tally),
            trials=tally.trials,
        )


def _people_hit(scene: Scene, rows: Ints, hit: Flags) -> tuple[int, int]:
    """Of how many people some row was hit, and of how many people the rows are."""
    persons = scene.pair.persons
    if persons is None:
        return int(hit[rows].sum()), len(rows)
    return len(np.unique(persons[rows[hit[rows]]])), len(np.unique(persons[rows]))


def _copies(tally: Successes) -> Document:
    """What the details of copies tell."""
    return {
        "copied": tally.hits,
        "unique": tally.trials,
        "copied_by_chance": tally.control_hits,
        "unique_set_aside": tally.control_trials,
        "excess": tally.excess,
    }


def reappearing(pair: TablePair, columns: Sequence[str]) -> tuple[Flags, Flags]:
    """Per original row whether it is unique in some columns, and whether a released row is the same
    in all of them.

    Values are known by the released label they stand under, and by themselves where none was
    released.
    """
    before, after = {}, {}
    for number, name in enumerate(columns):
        reading = pair.reading(name)
        under = standing_under(reading)
        # Values under no released label get negative codes of their own, which no released row has.
        codes = np.where(under >= 0, under, -1 - np.arange(len(under)))
        before[str(number)], after[str(number)] = codes[reading.original], reading.released
    original = pl.DataFrame(before).with_row_index("row")
    column_names = list(before)
    records = pl.len().alias("records")
    alone = (
        original.group_by(column_names)
        .agg(records, pl.col("row").first())
        .filter(pl.col("records") == 1)
    )
    # Once each: repeated released rows would repeat original rows in the join.
    released = pl.DataFrame(after).unique().with_columns(pl.lit(True).alias("there"))
    reappears = (
        original.join(released, on=column_names, how="left", maintain_order="left")["there"]
        .fill_null(False)
        .to_numpy()
    )
    unique = np.zeros(len(pair.original), dtype=bool)
    unique[alone["row"].to_numpy()] = True
    return unique, np.asarray(reappears, dtype=bool)


# Distances between people and drawn rows, in all columns alike.


@dataclasses.dataclass(frozen=True, eq=False)
class Distances:
    """How far people learnt from, and people set aside, are from the nearest drawn row; ``wanted``
    is how many of both were to be tried.

    ``member_rows`` and ``other_rows`` are their rows in the original.
    """

    members: Floats
    others: Floats
    wanted: int
    member_rows: Ints
    other_rows: Ints

    @property
    def recognised(self) -> tuple[float, float]:
        """The share of members recognised by being near, at no more than one false alarm in a
        thousand, and that share.
        """
        return true_positives(self.members, self.others, ALARMS)

    def within(self, radius: float) -> Successes:
        """How many of either have a drawn row no farther than this."""
        # The slack keeps a distance inside that equals the radius but for rounding.
        near = [int((side <= radius + 1e-12).sum()) for side in (self.members, self.others)]
        return Successes(near[0], len(self.members), near[1], len(self.others))


def distances(scene: Scene, limit: int = MOST_PEOPLE) -> Distances:
    """The distances of some people of either kind, in all columns alike; measured once for all who
    ask.
    """
    key = ("distances to drawn rows", scene.seed.text, limit)
    if key not in scene.pair.memo:
        scene.pair.memo[key] = _distances(scene, limit)
    result: Distances = scene.pair.memo[key]
    return result


def _distances(scene: Scene, limit: int) -> Distances:
    people = [_sample_rows(scene, group, limit, "whose distance") for group in _people(scene)]
    rows = np.concatenate(people)
    intruder = Intruder(scene.pair.original.take(rows), data_columns(scene.pair), rows)
    around = surroundings(dataclasses.replace(scene, intruder=intruder), "distance", limit)
    far = {
        target: around.cost(target) for target in around.sampled(scene, "distance to drawn rows")
    }
    attempted = np.array(sorted(far), dtype=np.int64)
    costs_in_order = [far[target] for target in attempted.tolist()]
    costs = np.sqrt(np.array(costs_in_order, dtype=np.float64))
    member = attempted < around.members
    person_rows = rows[around.targets[attempted]]
    return Distances(
        costs[member],
        costs[~member],
        wanted=len(around.targets),
        member_rows=person_rows[member],
        other_rows=person_rows[~member],
    )


def _sample_rows(scene: Scene, rows: Ints, limit: int, purpose: str) -> Ints:
    """At most so many of some rows, in order."""
    if len(rows) <= limit:
        return rows
    return np.sort(scene.seed.stream(f"drawn rows: {purpose}").choice(rows, limit, replace=False))


def from_people(scene: Scene, file: Table, groups: Sequence[Ints], purpose: str) -> list[Floats]:
    """How far rows of a file are from the nearest person of each group (rows of the original); NaN
    for rows that were too much work.

    Columns are standardised alike for all groups, else the scale would tell one from the other.
    """
    pair = scene.pair
    every = np.concatenate(list(groups))
    # The people stand in the place of a release, so that the same search finds the nearest.
    beside = TablePair(
        pair.original, dataclasses.replace(pair.original.take(every), origin=every), every
    )
    strangers = Intruder(file, data_columns(pair), np.full(len(file), NOT_IN_FILE, dtype=np.int64))
    columns = tuple(
        compare(dataclasses.replace(scene, pair=beside, intruder=strangers), n)
        for n in data_columns(pair)
    )
    rules = [
        distance_rule(c, weight=1.0, standard="pooled", ranges="nearest", suppressed="zero")
        for c in columns
    ]
    intruder_kinds = distinct([c.intruder for c in columns])
    # The sought rows are nobody's: no own record is left out anywhere.
    nobody = np.full(len(file), NOT_IN_FILE, dtype=np.int64)
    # Group g holds the rows ends[g] up to ends[g + 1] of the people put together.
    ends = group_starts([len(group) for group in groups])
    searches = []
    for start, end in itertools.pairwise(ends.tolist()):
        released_kinds = distinct([c.released[start:end] for c in columns])
        no_pairs = np.zeros((0, 2), dtype=np.int64)
        files = Files(columns, intruder_kinds, released_kinds, no_pairs, nobody)
        searches.append(
            Surroundings(
                files,
                arrays_of(files, rules),
                targets=np.arange(len(file)),
                own=nobody,
                members=len(file),
            )
        )
    table = np.full((len(searches), len(file)), np.nan)
    for row in scene.sampled(
        len(file),
        purpose,
        cost=sum(search.full_cost for search in searches),
        spent=lambda: sum(search.spent for search in searches),
    ):
        table[:, row] = [np.sqrt(search.cost(row)) for search in searches]
    return list(table)


# Near copies: drawn rows all but the same as a person.


@parameters
class NearCopies(Attack):
    r"""How much more often people have a drawn row all but on them when the rows were learnt from
    them.

    With the median distance *d* of people set aside to the nearest person learnt from (all
    columns alike: numbers standardised, a category that differs counts 1), a row is *all but on* a
    person no farther than ``within`` · *d*. With the shares *a* of people learnt from and *h* of
    people set aside that have such a row, the value is :math:`(a-h)/(1-h)`, at least 0: copies with
    a little noise, which are nobody's copy cell by cell. Up to 1,000 people of either kind are
    looked at, drawn at random; the interval is that of
    :class:`~sfumato.methods.attacks.rates.ExcessRisk`.
    Reference: the excess over a control group is that of Giomi et al. 2023,
    doi:10.56553/popets-2023-0055.
    """

    within: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="how near counts as almost the same person, as a share of the usual "
            "distance",
        ),
    ] = 0.5

    name: ClassVar[str] = "near_copies"
    line: ClassVar[str] = (
        "People of the table appear among the synthetic records, except for little noise"
    )
    tried_by: ClassVar[tuple[str, ...]] = ("prosecutor",)
    turn: ClassVar[int] = 0

    def applies(self, scene: Scene) -> str | None:
        """None where rows are synthetic and people set aside."""
        return out_of_reach(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look how many people have a drawn row within a small radius."""
        far = distances(scene, scene.at_most(MOST_PEOPLE))
        radius = self.within * usual_distance(scene)
        tally = far.within(radius)
        planned_trials = far.wanted
        trials = tally.trials + tally.control_trials
        message = (
            f"{percent(tally.share)} of {tally.trials:,} people used for training have a record "
            f"within {self.within:g} of the usual distance between people, "
            f"{percent(tally.control_share)} of {tally.control_trials:,} people set "
            f"aside{cut_short(trials, planned_trials)}"
        )
        details = {
            "radius": radius,
            "share": tally.share,
            "share_set_aside": tally.control_share,
            "excess": tally.excess,
        }
        value = min(1.0, max(0.0, tally.excess))
        return Finding(
            self.name, value, message, tally.interval, details=details, trials=tally.trials
        )


def usual_distance(scene: Scene) -> float:
    """The median distance of people set aside to the nearest person that the rows were learnt from;
    found once.
    """
    key = ("usual distance", scene.seed.text)
    if key not in scene.pair.memo:
        members = _groups(scene)[0]
        # A person set aside is far from all others, not from their own other rows.
        people_aside = _people(scene)[1]
        sample = _sample_rows(scene, people_aside, MOST_DRAWN, "usual distance")
        far = from_people(scene, scene.pair.original.take(sample), [members], "usual distance")[0]
        scene.pair.memo[key] = float(np.nanmedian(far))
    distance: float = scene.pair.memo[key]
    return distance


# What is surely more than chance: copies, near copies and recognised members together.


@dataclasses.dataclass(frozen=True, eq=False)
class DrawnEvidence:
    """What is known of some people, members first: whether each is unique, whether its record
    reappears, and how far the nearest drawn row is.
    """

    member: Flags
    unique: Flags
    there: Flags
    far: Floats
    radius: float

    def excesses(self, member: Flags) -> dict[str, float]:
        """The three excesses if these were the members; no excess of copies where nobody of either
        kind is unique.
        """
        excesses = {
            "near_copies": _excess(self.far <= self.radius + 1e-12, member),
            "membership": self._advantage(member),
        }
        # An exchange may put all unique people on one side: there is nothing to compare then.
        unique = member[self.unique]
        if unique.any() and not unique.all():
            excesses["copied_records"] = _excess(self.there[self.unique], unique)
        return excesses

    def _advantage(self, member: Flags) -> float:
        """Members less others that are nearer than a threshold, the one with most members at few
        false alarms.
        """
        order, ends = self._order
        caught = np.cumsum(member[order])[ends] / max(1, int(member.sum()))
        false_alarms = np.cumsum(~member[order])[ends]
        alarms = false_alarms / max(1, int((~member).sum()))
        # Both shares only grow with the threshold: the last one allowed catches most members.
        allowed = int(np.searchsorted(alarms, FEW_ALARMS, side="right"))
        if not allowed:
            return 0.0
        return float(caught[allowed - 1] - alarms[allowed - 1])

    @functools.cached_property
    def _order(self) -> tuple[Ints, Ints]:
        """People from near to far, and where those of equal distance end."""
        order = np.argsort(self.far, kind="stable")
        ordered = self.far[order]
        # No threshold parts people at equal distance, so only the last of a run is a threshold.
        rises = ordered[1:] > ordered[:-1] + 1e-12
        is_last = np.append(rises, True)
        return order, np.flatnonzero(is_last)


def _excess(hit: Flags, member: Flags) -> float:
    hits = hit[member].sum()
    control_hits = hit[~member].sum()
    return Successes(int(hits), int(member.sum()), int(control_hits), int((~member).sum())).excess


def chance_of(people: DrawnEvidence, draws: np.random.Generator) -> dict[str, float]:
    r"""How large each excess becomes by chance alone, all three together.

    Members and people set aside are exchanged at random :data:`EXCHANGES` times. With the
    mean :math:`\mu_i` and the standard deviation
    :math:`\sigma_i` of excess *i* under exchange, and *c* the 95 % quantile of the
    largest :math:`(R_i - \mu_i)/\sigma_i` of the three, it is
    :math:`\mu_i + c\,\sigma_i`.
    """
    permuted_excesses = [
        people.excesses(draws.permutation(people.member)) for _ in range(EXCHANGES)
    ]
    # An excess that some exchange cannot have is left out: the three are judged together.
    names = sorted(set(permuted_excesses[0]).intersection(*permuted_excesses))
    values = np.array([[excesses[name] for name in names] for excesses in permuted_excesses])
    means = values.mean(axis=0)
    spreads = values.std(axis=0)
    # An excess that never varies has no spread to divide by; its scaled values are all 0.
    scaled = (values - means) / np.where(spreads > 0, spreads, 1.0)
    # "higher" takes a value that occurred, never one below the 95 % quantile.
    quantile = float(np.quantile(scaled.max(axis=1), SURE, method="higher"))
    return dict(zip(names, (means + quantile * spreads).tolist(), strict=True))


@parameters
class RecognisedMembers(Attack):
    r"""How many more people the drawn rows reveal than chance does, at least: by copies, near
    copies, or by being near.

    Three excesses of people learnt from over people set aside are measured on up to 500 of either
    kind (1,000 where these do not tell), all columns alike:
    :class:`CopiedRecords`, :class:`NearCopies`, and the advantage
    of :class:`~sfumato.methods.attacks.gdpr.Membership` at 1 % false alarms. What each becomes by
    chance is found by exchanging members and people set aside at random, all three together, so
    that with a chance of 95 % none of the three is above it where rows reveal nothing. The value is
    the largest excess less what chance makes of it, at least 0:

    .. math:: \max_i\,(R_i - \mu_i - c\,\sigma_i)

    Unless a recipe says otherwise drawn rows are not released where it is above 0.10. Where chance
    alone may make an excess of 0.10, too few people were set aside to tell, and the value is
    unknown. The radius of near copies is held while people are exchanged.

    Reference: the excess over a control group is that of Giomi et al. 2023,
    doi:10.56553/popets-2023-0055; permutation tests of several statistics together are in Westfall
    & Young 1993.
    """

    name: ClassVar[str] = "recognised_members"
    line: ClassVar[str] = (
        "People are revealed by synthetic records, significantly more often than by chance"
    )
    tried_by: ClassVar[tuple[str, ...]] = ("prosecutor",)
    turn: ClassVar[int] = 0

    def applies(self, scene: Scene) -> str | None:
        """None where rows are synthetic and people set aside."""
        return out_of_reach(scene)

    def attack(self, scene: Scene) -> Finding:
        """Measure the three excesses, and what chance makes of them."""
        for limit in (ENOUGH_PEOPLE, MOST_PEOPLE):
            far = distances(scene, limit)
            people = _recognition(scene, far)
            excesses = people.excesses(people.member)
            chance = chance_of(
                people, scene.seed.stream("drawn rows: members exchanged with people set aside")
            )
            # Blind: chance alone reaches what counts as an excess, and the excess seen is not so
            # far beyond chance that it would count anyway.
            blind = [
                name
                for name, threshold in chance.items()
                if threshold > TELLING and excesses[name] - threshold <= TELLING
            ]
            if not blind:
                break
        aside = int((~people.member).sum())
        if blind:
            raise ParameterError(
                f"with {aside:,} people set aside, chance alone may produce an excess of "
                f"{min(1.0, max(chance[n] for n in blind)):.2f} in "
                f"{', '.join(n.replace('_', ' ') for n in sorted(blind))}, so the result is "
                "unknown; set more people aside (holdout), or give more records"
            )
        lowest = {name: max(0.0, excesses[name] - chance[name]) for name in chance}
        worst = max(lowest, key=lambda name: (lowest[name], excesses[name]))
        attack_shares = ", ".join(
            f"{name.replace('_', ' ')} {excesses[name]:.4f} (by chance up to {chance[name]:.4f})"
            for name in chance
        )
        message = (
            f"excess of {int(people.member.sum()):,} people used for training over {aside:,} set "
            f"aside: {attack_shares}{cut_short(len(people.far), far.wanted)}"
        )
        details = {
            "excesses": {n: excesses[n] for n in chance},
            "by_chance": chance,
            "worst": worst,
        }
        interval = lowest[worst], min(1.0, max(lowest[worst], excesses[worst]))
        return Finding(
            self.name,
            lowest[worst],
            message,
            interval,
            details=details,
            trials=int(people.member.sum()),
        )


def _recognition(scene: Scene, far: Distances) -> DrawnEvidence:
    unique, reappears = reappearing(scene.pair, data_columns(scene.pair))
    rows = np.concatenate([far.member_rows, far.other_rows])
    return DrawnEvidence(
        member=np.arange(len(rows)) < len(far.member_rows),
        unique=unique[rows],
        there=reappears[rows],
        far=np.concatenate([far.members, far.others]),
        radius=NearCopies().within * usual_distance(scene),
    )


# The distance to the closest record, which says little by itself.


@parameters
class ClosestRecord(Attack):
    r"""How often drawn rows are nearer to people they were learnt from than to as many who were set
    aside.

    The distance to the closest record (DCR), as it is often reported, is the median distance of
    drawn rows to the nearest person. It misleads: with one verbatim copy in a hundred it does not
    move, though people are published; and rows that are each one person with noise are *farther*
    from people than independent draws. So the value here is the share of drawn rows whose nearest
    person learnt from is nearer than the nearest of as many set aside (ties half; 0.5 says
    nothing), and it is never told alone: its sentence has the copied excess
    (:class:`CopiedRecords`), the excess of near copies (:class:`NearCopies`), and the share of
    people recognised as members at no more than 0.1 % false alarms beside it. Columns count alike;
    500 drawn rows are looked at, at random.
    References: Yao et al. 2025, "The DCR delusion", arXiv:2505.01524; Carlini et al. 2022,
    doi:10.1109/SP46214.2022.9833649.
    """

    name: ClassVar[str] = "closest_record"
    line: ClassVar[str] = "Synthetic records are nearer to people used for training than to others"
    tried_by: ClassVar[tuple[str, ...]] = ("prosecutor",)
    turn: ClassVar[int] = 0

    def applies(self, scene: Scene) -> str | None:
        """None where rows are synthetic and people set aside."""
        return out_of_reach(scene)

    def attack(self, scene: Scene) -> Finding:
        """Compare the distances of drawn rows to people of either kind, and tell what these
        hide.
        """
        groups = _groups(scene)
        # As many of either kind: somebody of a larger group is nearer by its size alone.
        alike = [
            _sample_rows(scene, group, min(map(len, groups)), "as many people") for group in groups
        ]
        rows = _sample_rows(scene, np.arange(len(scene.pair.released)), MOST_DRAWN, "which rows")
        near, control = from_people(scene, scene.pair.released.take(rows), alike, self.name)
        has_distance = ~np.isnan(near)
        gaps = np.abs(near[has_distance] - control[has_distance]) <= 1e-12
        nearer = (near[has_distance] < control[has_distance] - 1e-12) + 0.5 * gaps
        value = float(nearer.mean())
        trials = int(has_distance.sum())
        beside = self._beside(scene)
        message = (
            f"{percent(value)} of {trials:,} synthetic rows are nearer to people used for training "
            f"than to as many set aside (median distance {np.median(near[has_distance]):.3g} and "
            f"{np.median(control[has_distance]):.3g}){cut_short(trials, len(rows))}; {WEAKNESS}, "
            f"so beside it: copied excess {beside['copied_excess']}, near copies "
            f"{beside['near_copy_excess']}, {percent(beside['recognised'])} of people recognised "
            f"as members at {percent(beside['false_alarms'])} false alarms"
        )
        medians = {
            "median_distance": float(np.median(near[has_distance])),
            "median_distance_set_aside": float(np.median(control[has_distance])),
        }
        interval = wilson(float(nearer.sum()), trials)
        return Finding(
            self.name,
            value,
            message,
            interval,
            baseline=0.5,
            details={**medians, **beside},
            trials=trials,
        )

    def _beside(self, scene: Scene) -> Document:
        """What the distance hides: copies, near copies, and who is recognised."""
        try:
            copied: str = f"{CopiedRecords().attack(scene).value:.4f}"
        except ParameterError:  # none of those set aside is unique
            copied = "unknown"
        far = distances(scene)
        caught, alarms = far.recognised
        near = far.within(NearCopies().within * usual_distance(scene)).excess
        return {
            "copied_excess": copied,
            "near_copy_excess": f"{max(0.0, near):.4f}",
            "recognised": caught,
            "false_alarms": alarms,
            "area_under_curve": area(far.members, far.others),
        }
