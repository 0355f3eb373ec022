"""Attacks on tables that still join: by a few rows, by how many there are, by what a crowd shares,
and the crowd that a join only seems to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, Learns, NothingToAttack
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import count_of
from sfumato.data.relational.knowledge import (
    EFFORT,
    Acquaintance,
    Disclosure,
    LowHigh,
    Persons,
    Secrets,
    of_groups,
    together,
)
from sfumato.data.relational.models import (
    Few,
    Known,
    Own,
    PersonsKAnonymity,
    against,
    intruder_of,
    share_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.data.relational.person_views import Shown, ShownRows

Effort = Annotated[
    int, Field(ge=1, description="sets of rows that are examined; beyond, bounds are given")
]
NO_ROWS = NothingToAttack("no table below the people has a row")
NOBODY = NothingToAttack("nobody was released")
USUAL_K = 5


def without_rows(scene: Scene) -> str | None:
    """Why an attack by rows says nothing here, or None."""
    view: Shown = scene.pair.released.shown()
    if not view.persons:
        return NOBODY
    if any(len(rows.person) for rows in view.rows):
        return None
    return NO_ROWS


def alone(crowds: LowHigh) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Who surely is in a crowd of one, and who may be."""
    # A crowd of at most one is surely one; a crowd of at least one may be.
    return crowds.high == 1, crowds.low == 1


def victims_of(scene: Scene, hit: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """The persons of the original who were hit; None where tables do not join, so that the persons
    of each are counted for themselves.
    """
    # After a split each branch counts its persons again, so the numbers fit no original person.
    if len(hit) != len(scene.pair.truth):
        return None
    original_persons = scene.pair.truth[hit]
    return np.sort(original_persons[original_persons >= 0])


def _interval(surely: NDArray[np.bool_], maybe: NDArray[np.bool_]) -> tuple[float, float] | None:
    """What is certain about a share, where it is not known exactly."""
    if np.array_equal(surely, maybe):
        return None
    return (float(surely.mean()), float(maybe.mean()))


@parameters
class JoinUniqueness(Attack):
    r"""The share of people who alone have some ``m`` rows of theirs, from all tables that can be
    joined, for somebody who knows these.

    .. math:: \frac1n \bigl|\{i : \min_{Q \subseteq R_i,\ |Q| \le m} |\{j : c_j = c_i,\ Q \subseteq
        R_j\}| = 1\}\bigr|

    The curve goes from no row (the own columns alone) to m. The intruder knows the rows that tell
    most, not any: this is the worst case, and no less than what random rows do. A row is known as
    it was released; one that was left out reveals nothing. Beyond ``effort`` the share lies between
    that for fewer rows and that for somebody who knows them all, which the interval says.

    Reference: de Montjoye et al. 2013, doi:10.1038/srep01376, for the curve.

    >>> from sfumato import examples
    >>> from sfumato.core.attack import Scene
    >>> people = examples.clinic()
    >>> JoinUniqueness(2, own=False).attack(Scene.of(people, people)).sentence
    '38 of 60 persons are unique to somebody who knows some 2 rows rows of their own'
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})

    m: Annotated[
        int,
        Field(alias="facts", ge=1, le=20, description="most rows known, from any of the tables"),
    ] = 3
    own: Own = True
    effort: Effort = EFFORT

    name: ClassVar[str] = "join_uniqueness"
    title: ClassVar[str] = "Unique by a few rows"
    line: ClassVar[str] = "Share of people who are unique by a few rows from several tables"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows a few rows of a person",)

    def applies(self, scene: Scene) -> str | None:
        """Wherever there are rows below people."""
        return without_rows(scene)

    def attack(self, scene: Scene) -> Finding:
        """Count the crowds for no row, one row, and so on."""
        view: Shown = scene.pair.released.shown()
        # From no row at all: what the own columns alone reveal is the start of the curve.
        alone_by_size = [alone(self._crowds(view, size)) for size in range(self.m + 1)]
        shares = [[float(flags.mean()) for flags in pair] for pair in alone_by_size]
        surely, maybe = alone_by_size[-1]
        knowledge = f"some {count_of(self.m, 'row')} rows of their own" + (
            " and their own columns" if self.own else ""
        )
        if np.array_equal(surely, maybe):
            uncertainty = ""
        else:
            uncertainty = f" at least, and {int(maybe.sum()):,} at most,"
        return Finding(
            self.name,
            shares[-1][0],
            f"{share_of(int(surely.sum()), view.persons)}{uncertainty} are unique to "
            f"somebody who knows {knowledge}",
            interval=_interval(surely, maybe),
            baseline=1 / view.persons,
            victims=victims_of(scene, surely),
            details={
                "curve": {
                    "known": "rows known",
                    "points": [[size, low] for size, (low, _) in enumerate(shares)],
                },
                "at_most": [high for _, high in shares],
            },
        )

    def _crowds(self, view: Shown, size: int) -> LowHigh:
        if size:
            return Acquaintance("any", size, self.own, self.effort).crowds(view)
        # Without own columns and without rows nothing is known, and everybody fits.
        if not self.own:
            sizes = np.full(view.persons, view.persons)
        else:
            sizes = Acquaintance("own").crowds(view).low
        return LowHigh(sizes, sizes)


@parameters
class RowCounts(Attack):
    """The share of people who alone have so many rows in every table, among those who are like them
    in their own columns.

    That somebody has forty visits where others have four is known to many, and recoding the visits
    hides nothing of it. ``tables`` in the details says how many people the number of rows of each
    table by itself singles out.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    own: Own = True

    name: ClassVar[str] = "row_counts"
    title: ClassVar[str] = "Unique by the number of rows"
    line: ClassVar[str] = "Share of people who are unique by how many rows they have"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows how often a person came",)

    def applies(self, scene: Scene) -> str | None:
        """Wherever there are rows below people."""
        return without_rows(scene)

    def attack(self, scene: Scene) -> Finding:
        """Count who has how many rows."""
        view: Shown = scene.pair.released.shown()
        people = Persons.of(view, own=self.own)
        hit = _alone_in(people.alike("counts"))
        tables_alone = {
            rows.table: int(_alone_in(together([people.classes, counts])).sum())
            for rows, counts in zip(view.rows, people.in_tables, strict=True)
        }
        return Finding(
            self.name,
            float(hit.mean()),
            f"{share_of(int(hit.sum()), view.persons)} are unique by the numbers of their rows",
            # What the own columns reveal without any number of rows; only the rest is the rows'
            # doing.
            baseline=float(_alone_in(people.classes).mean()),
            victims=victims_of(scene, hit),
            details={"tables": tables_alone, "before": int(_alone_in(people.classes).sum())},
        )


def _alone_in(groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    hit: NDArray[np.bool_] = np.bincount(groups)[groups] == 1
    return hit


@parameters
class JoinInflation(Attack):
    r"""The share of people who look hidden in a join, by its rows, and are not, by its persons.

    Whoever joins a table with the people and counts rows finds crowds that the rows of one
    person swell: of class A and cardiology four joined rows, and three persons. A person looks
    hidden in a table where every combination of own columns and one row of hers has at least ``k``
    joined rows, and is not where some such combination has fewer than k persons. ``k`` is by
    default that of the promises, or 5. The details hold, per table, the k of rows, the k of
    persons, and the most joined rows for each person. Counted, not guessed: who certifies a join by
    its rows is wrong about these people.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})

    k: Annotated[
        int | None,
        Field(ge=1, description="size of the group; by default that of the promises"),
    ] = None

    name: ClassVar[str] = "join_inflation"
    title: ClassVar[str] = "Groups that exist only in a join"
    line: ClassVar[str] = "Share of people who hide among joined rows, but not among persons"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows one row of a person",)

    def applies(self, scene: Scene) -> str | None:
        """Wherever there are rows below people."""
        return without_rows(scene)

    def attack(self, scene: Scene) -> Finding:
        """Count rows and persons of every joined class."""
        view: Shown = scene.pair.released.shown()
        # The strictest promise of the recipe says what crowd readers believe in.
        k = self.k or max(
            (model.k for model in scene.models if isinstance(model, PersonsKAnonymity)),
            default=USUAL_K,
        )
        hit, details = np.zeros(view.persons, dtype=np.bool_), {}
        for table in view.rows:
            if len(table.person):
                in_rows, in_persons = _joined(view, table)
                # Hidden by the count of rows, yet not by the count of persons, in the same table.
                hit |= (_smallest_crowd(in_rows, table, view.persons) >= k) & (
                    _smallest_crowd(in_persons, table, view.persons) < k
                )
                details[table.table] = {
                    "k_of_rows": int(in_rows.min()),
                    "k_of_persons": int(in_persons.min()),
                    "most_rows_for_a_person": round(float((in_rows / in_persons).max()), 6),
                }
        return Finding(
            self.name,
            float(hit.mean()),
            f"{share_of(int(hit.sum()), view.persons)} hide among {k:,} joined rows or more, but "
            f"among fewer than {k:,} persons",
            baseline=0.0,
            victims=victims_of(scene, hit),
            details={"k": k, "tables": details},
        )


def _joined(view: Shown, table: ShownRows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per row of a table joined with the people, how many joined rows show the same, and how many
    persons have one.
    """
    groups = together([view.own[table.person], table.shows])
    # Each pair of group and person once; what is left after division is one group for each person.
    pairs = np.unique(groups * view.persons + table.person) // view.persons
    return np.bincount(groups)[groups], np.bincount(pairs)[groups]


def _smallest_crowd(crowds: NDArray[np.int64], table: ShownRows, persons: int) -> NDArray[np.int64]:
    """Per person the smallest crowd of a row; a huge one without rows."""
    # Without rows nothing is joined, so such a person looks hidden but is never taken for exposed.
    smallest = np.full(persons, np.iinfo(np.int64).max)
    np.minimum.at(smallest, table.person, crowds)
    return smallest


@parameters
class HomogeneityOfJoin(Attack):
    """The share of people of whom somebody who knows rows of theirs learns a sensitive value
    for certain: everyone in the crowd has it.

    The crowd is that of all people who fit what is ``known``, of their own columns and their rows
    in all tables together; a value of a table below is had by whoever has a row with it. People who
    are alone are a crowd of one. Reported is the column with the most victims, and all in the
    details. The baseline is what is known without looking anybody up: a value that everybody has.
    Beyond ``effort`` the share is between bounds.

    Reference: Machanavajjhala et al. 2007, doi:10.1145/1217299.1217302.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    knows: Known = "rows"
    m: Few = None
    own: Own = True
    effort: Effort = EFFORT

    name: ClassVar[str] = "homogeneity_of_join"
    learns: ClassVar[Learns] = "attribute"
    title: ClassVar[str] = "Sensitive values read off a join"
    line: ClassVar[str] = (
        "Share of people whose sensitive value is shared by everyone with rows like theirs"
    )
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows rows of a person",)

    def __post_init__(self) -> None:
        intruder_of(self.knows, self.m, self.own, self.effort)

    def applies(self, scene: Scene) -> str | None:
        """Where a sensitive column was released."""
        view: Shown = scene.pair.released.shown()
        if not view.persons:
            return NOBODY
        if view.sensitive:
            return None
        return NothingToAttack("no sensitive column was released")

    def attack(self, scene: Scene) -> Finding:
        """Look for crowds that share a value, column by column."""
        view: Shown = scene.pair.released.shown()
        intruder = intruder_of(self.knows, self.m, self.own, self.effort)
        certainty_by_column = {
            name: _certain(intruder.told(view, name, Disclosure.FREQUENCY))
            for name in view.sensitive
        }
        # The column with most sure victims, ties by those who may be.
        worst = max(
            certainty_by_column,
            key=lambda name: (
                int(certainty_by_column[name][0].sum()),
                int(certainty_by_column[name][1].sum()),
            ),
        )
        surely, maybe = certainty_by_column[worst]
        return Finding(
            self.name,
            float(surely.mean()),
            f"{against(intruder)} is certain of a value of {worst} for"
            f" {share_of(int(surely.sum()), view.persons)}",
            interval=_interval(surely, maybe),
            baseline=float(_of_all(view, worst)),
            victims=victims_of(scene, surely),
            details={
                "people": {
                    name: int(sure.sum()) for name, (sure, _) in certainty_by_column.items()
                },
                "column": worst,
            },
        )


def _certain(shares: LowHigh) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    # Shares are ratios of counts; the margin is for rounding only.
    return shares.low >= 1 - 1e-12, shares.high >= 1 - 1e-12


def _of_all(view: Shown, column: str) -> bool:
    """Whether everybody has one value."""
    secrets = Secrets.of(view.sensitive[column], view.persons).kernel
    # All persons in one group: what is known of somebody of whom nothing is known.
    shares = of_groups(secrets, Disclosure.FREQUENCY, np.zeros(view.persons, dtype=np.int64))
    return bool(shares[0] >= 1 - 1e-12)
