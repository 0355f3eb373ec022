"""Means for several tables: how many rows a person has, who is left out, and what stands for
keys.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.fields import Document, Fields
from sfumato.core.keys import KeyReference, reference_form
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.core.words import count_of, inflect, join_words
from sfumato.data.relational import pseudonyms
from sfumato.data.relational.promises import require_tables
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal
    from sfumato.data.relational.rows import TableRows
    from sfumato.data.relational.tables import RelatedTables

TABLE = Field(description="the table, by its name in the recipe")


BUDGET = Annotated[
    float, Field(ge=0, le=1, description="share of the rows below the people that may be removed")
]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KeptPlan(Plan):
    """The rows that stay, by table, round after round; for the owner only. ``told`` is what was
    done, in counts.
    """

    kept: tuple[Mapping[str, NDArray[np.bool_]], ...]
    told: Fields
    warned: tuple[str, ...] = ()

    def describe(self) -> Document:
        """What was done, in counts."""
        return dict(self.told)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know."""
        return self.warned


class RowsStep(Step):
    """A step that removes rows; what belongs to them goes too. Steps inherit this class."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})

    def apply(self, people: Any, plan: KeptPlan) -> Any:
        """Keep the rows of the plan, round after round."""
        # One round after the other: later rounds number rows as the earlier ones left them.
        for stays in plan.kept:
            people = people.kept(stays)
        return people


def rows_within(
    budget: float, before: Mapping[str, int], after: Mapping[str, int], *, step: str, first: str
) -> Document:
    """How many rows of the tables below the people went, for a plan to tell; refused beyond the
    budget, with what should be done ``first``.
    """
    gone = {table: count - after[table] for table, count in before.items()}
    rows, lost = sum(before.values()), sum(gone.values())
    share = lost / max(rows, 1)
    # A margin, as the budget is a decimal fraction.
    if share > budget + 1e-9:
        raise Unsatisfiable(
            f"{step}: {lost:,} of {rows:,} rows would be removed, more than the budget of "
            f"{budget:g} allows; {first} first, or ask for less",
            closest={"rows": lost, "budget": share},
        )
    return {"rows_dropped": gone, "share_dropped": round(share, 6)}


def left_alone(step: str, persons: int) -> tuple[str, ...]:
    """The warning that letting rows go makes no larger crowds of some persons; none where there are
    none.
    """
    words = (
        f"{step} leaves {persons:,} persons whose own columns too few others share; let "
        "suppress_persons follow, or recode"
    )
    return (words,) if persons else ()


def _below(tables: RelatedTables, name: str, step: str) -> TableRows:
    """A table below the people; that of the people themselves is refused."""
    rows = tables[name]
    if rows.is_people:
        raise ParameterError(
            f"{step}: {name!r} is the table of the people, with one row each; name a table below it"
        )
    return rows


def _more_than(released: object, table: str, limit: int, step: str) -> str | None:
    """That somebody has more rows of a table than a step leaves, in words."""
    rows = _below(require_tables(released, step), table, step)
    if len(rows):
        people_above = int((np.bincount(rows.owner) > limit).sum())
    else:
        people_above = 0
    if not people_above:
        return None
    return (
        f"{people_above:,} people have more than {limit:,} rows of {table}, which {step} should "
        "have prevented"
    )


def chosen(
    owner: NDArray[np.int64], row_limits: NDArray[np.int64], stream: np.random.Generator
) -> NDArray[np.bool_]:
    """Which rows stay when every person keeps a number of rows at random: of all subsets of that
    size each as likely.

    >>> stays = chosen(np.array([0, 0, 0, 1]), np.array([2, 2]), np.random.default_rng(1))
    >>> int(stays[:3].sum()), bool(stays[3])
    (2, True)
    """
    # By person, within a person at random: the first so many are then a random subset.
    order = np.lexsort((stream.random(len(owner)), owner))
    ranked = owner[order]
    first = np.searchsorted(ranked, np.arange(len(row_limits)))
    # The place of each row among those of its person.
    rank = np.arange(len(ranked)) - first[ranked]
    stays = np.zeros(len(owner), dtype=bool)
    stays[order[rank < row_limits[ranked]]] = True
    return stays


@parameters
class CapRows(RowsStep):
    """Nobody keeps more than so many rows of a table, chosen at random; the cap is published.

    The number of rows somebody has is known to many, and the few with very many are found by it.
    Rows of tables below go with theirs. Rows are drawn for each person alike, whatever they hold: a
    mean over rows weighs people with many rows less than before.
    """

    name: ClassVar[str] = "cap_rows"
    tells: ClassVar[tuple[str, ...]] = ("table", "at_most", "people_capped", "rows_dropped")

    table: Annotated[str, TABLE]
    at_most: Annotated[int, Field(ge=1, description="most rows that a person keeps")]

    def plan(self, people: Any, goal: Goal) -> KeptPlan:
        """Draw the rows that stay."""
        tables = require_tables(people, self.name)
        rows, counts = _below(tables, self.table, self.name), tables.per_person(self.table)
        stays = chosen(
            rows.owner, np.minimum(counts, self.at_most), goal.stream(f"rows of {self.table}")
        )
        facts = {
            "table": self.table,
            "at_most": self.at_most,
            "people_capped": int((counts > self.at_most).sum()),
        }
        return KeptPlan(({self.table: stays},), {**facts, "rows_dropped": int((~stays).sum())})

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        table, people, rows = facts["table"], facts["people_capped"], facts["rows_dropped"]
        went = (
            f"; {count_of(people, 'person', 'people')} had more, which removed "
            f"{count_of(rows, 'row')}, chosen at random"
        )
        return (
            f"Nobody keeps more than {count_of(facts['at_most'], 'row')} of"
            f" {table}{went if people else ', and nobody had more'}."
        )

    def contradicted_by(self, released: object) -> str | None:
        """Somebody has more rows than the cap."""
        return _more_than(released, self.table, self.at_most, self.name)


@parameters
class CoarsenCounts(RowsStep):
    """How many rows of a table somebody has is one of a few numbers: the largest of them that is
    not above it; the rest is dropped at random.

    ``to`` lists the numbers in ascending order; whoever has fewer rows than the first keeps none,
    and nobody more than the last. So the number of rows, which an intruder may know, is told as
    coarsely as an age in ranges.
    """

    name: ClassVar[str] = "coarsen_counts"
    tells: ClassVar[tuple[str, ...]] = ("table", "to", "rows_dropped", "people_emptied")

    table: Annotated[str, TABLE]
    to: Annotated[
        tuple[int, ...],
        Field(min_length=1, description="how many rows people may have, ascending: [1, 2, 5, 10]"),
    ]

    def __post_init__(self) -> None:
        if list(self.to) != sorted(set(self.to)) or self.to[0] < 1:
            raise ParameterError(
                "coarsen_counts: 'to' must list different numbers from 1 up, in ascending order"
            )

    def plan(self, people: Any, goal: Goal) -> KeptPlan:
        """Draw the rows that stay."""
        tables = require_tables(people, self.name)
        rows, counts = _below(tables, self.table, self.name), tables.per_person(self.table)
        # 0 is always possible: who has fewer rows than the first number keeps none.
        steps = np.array([0, *self.to], dtype=np.int64)
        # The largest number that is not above the count: to 2, 5 and count 4 → 2.
        row_limits = steps[np.searchsorted(steps, counts, side="right") - 1]
        stays = chosen(rows.owner, row_limits, goal.stream(f"rows of {self.table}"))
        emptied = int(((row_limits == 0) & (counts > 0)).sum())
        warned = (
            (f"{emptied:,} people keep no row of {self.table}: they had fewer than {self.to[0]}",)
            if emptied
            else ()
        )
        facts = {
            "table": self.table,
            "to": list(self.to),
            "rows_dropped": int((~stays).sum()),
            "people_emptied": emptied,
        }
        return KeptPlan(({self.table: stays},), facts, warned)

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        table, rows, emptied = facts["table"], facts["rows_dropped"], facts["people_emptied"]
        if emptied:
            exception = (
                f"; {count_of(emptied, 'person', 'people')} with fewer "
                f"{inflect(emptied, 'keeps', 'keep')} none"
            )
        else:
            exception = ""
        numbers = join_words([f"{number:,}" for number in facts["to"]], "or")
        return (
            f"Everybody has {numbers} rows of {table}, or none; this removed "
            f"{count_of(rows, 'row')}, chosen at random{exception}."
        )

    def contradicted_by(self, released: object) -> str | None:
        """Somebody has more rows than the largest number; fewer than was chosen may be left by a
        later step.
        """
        return _more_than(released, self.table, self.to[-1], self.name)


@parameters
class DropPeople(RowsStep):
    """Leaves out people by how many rows of a table they have: those with more than ``more_than``,
    or fewer than ``fewer_than``.
    """

    name: ClassVar[str] = "drop_people"
    tells: ClassVar[tuple[str, ...]] = ("table", "people_dropped")

    table: Annotated[str, TABLE]
    more_than: Annotated[int | None, Field(ge=0, description="remove people with more rows")] = None
    fewer_than: Annotated[int | None, Field(ge=1, description="remove people with fewer rows")] = (
        None
    )

    def __post_init__(self) -> None:
        if self.more_than is None and self.fewer_than is None:
            raise ParameterError("drop_people: say whom to remove, with more_than or fewer_than")

    def plan(self, people: Any, goal: Goal) -> KeptPlan:
        """Find who goes."""
        tables = require_tables(people, self.name)
        _below(tables, self.table, self.name)
        counts = tables.per_person(self.table)[: tables.people]
        goes = np.zeros(tables.people, dtype=bool)
        goes |= counts > self.more_than if self.more_than is not None else False
        goes |= counts < self.fewer_than if self.fewer_than is not None else False
        return KeptPlan(
            # People go, and their rows in all tables go with them.
            ({tables.parts[0].name: ~goes},),
            {"table": self.table, "people_dropped": int(goes.sum())},
        )

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        gone = facts["people_dropped"]
        return (
            f"{count_of(gone, 'person', 'people')} {inflect(gone, 'was', 'were')} removed from all "
            f"tables because of the number of rows of {facts['table']}."
        )

    def contradicted_by(self, released: object) -> str | None:
        """Somebody has more rows than those who may stay."""
        if self.more_than is None:
            return None
        return _more_than(released, self.table, self.more_than, self.name)


# What stands for keys.


@dataclasses.dataclass(frozen=True, eq=False)
class PseudonymPlan(Plan):
    """The tables with their pseudonyms, and what was done."""

    tables: RelatedTables = dataclasses.field(repr=False)
    told: Fields
    warned: tuple[str, ...] = ()

    def describe(self) -> Document:
        """What was done; no pseudonym is in it."""
        return dict(self.told)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know."""
        return self.warned


Reference = Annotated[dict[str, str], AfterValidator(reference_form)]


@parameters
class KeyPseudonyms(Step):
    """Says what stands for keys: one pseudonym a key, the same in all tables, so that they still
    join.

    Without a ``key`` pseudonyms are random, and no other release has the same. With one
    (``{file: path}`` or ``{env: NAME}``, at least 16 bytes) they are HMAC-SHA-256(*K*, key as text)
    in the domain of the table: the same key gives the same people the same pseudonyms in the next
    release, and whoever has both can join them. ``split: true`` gives the people other pseudonyms
    in each branch of tables below them: rows of one person in one branch still belong together, and
    nothing joins with the people's table or with another branch. Promises then judge every branch
    by itself. Without this step keys get random pseudonyms all the same.

    Reference for keyed codes: Krawczyk, Bellare & Canetti 1997, doi:10.17487/RFC2104.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    name: ClassVar[str] = "key_pseudonyms"
    tells: ClassVar[tuple[str, ...]] = ("split", "keyed", "tables")
    secret: ClassVar[tuple[str, ...]] = ("key",)

    split: Annotated[
        bool,
        Field(
            description="other pseudonyms in every branch below the people, so that branches no "
            "longer join"
        ),
    ] = False
    key: Annotated[
        Reference | None,
        Field(description="where the key is: {file: path} or {env: NAME}; random without"),
    ] = None

    def plan(self, people: Any, goal: Goal) -> PseudonymPlan:
        """Give pseudonyms."""
        tables = require_tables(people, self.name)
        # Tables in the order of the people would join row by row even without keys.
        if self.split:  # the same order in two tables would join them again, whoever asked for it
            tables = tables.shuffled(goal.stream("order of rows"))
        if self.split:
            parts = tuple(_cut(rows, tables.parts[0].name) for rows in tables.parts)
        else:
            parts = tables.parts
        warned: tuple[str, ...] = ()
        if self.key is not None:
            reference = KeyReference.of(self.key)
            parts = pseudonyms.keyed(parts, reference.read())
            linked = (
                "the pseudonyms follow from a key: releases under the same key can be joined,"
                " person by person"
            )
            warned = (linked, *reference.warnings())
        facts = {"split": self.split, "keyed": self.key is not None, "tables": len(parts)}
        return PseudonymPlan(dataclasses.replace(tables, parts=parts), facts, warned)

    def contradicted(self, plan_section: Fields, schema: Schema, records: int | None) -> str | None:
        """That the join was cut, or pseudonyms follow from a key, where the recipe says nothing of
        it.
        """
        if plan_section["split"] != self.split:
            return f"recipe and plan of {self.name} differ in split"
        if plan_section["keyed"] != (self.key is not None):
            return f"recipe and plan of {self.name} differ in whether a key makes the pseudonyms"
        return None

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        if facts["keyed"]:
            kind = "pseudonyms that follow from a key of the owner"
        else:
            kind = "random pseudonyms"
        if facts["split"]:
            return (
                f"Keys were replaced by {kind}, different in every branch of tables, so that "
                "nothing joins with the people or with another branch."
            )
        return (
            f"Keys were replaced by {kind}, the same in all {facts['tables']} tables, so that they"
            " still join."
        )

    def apply(self, people: Any, plan: PseudonymPlan) -> Any:
        """Put them in."""
        return plan.tables

    def locked(self, plan: Any) -> Step:
        """The step as the owner's lock writes it: the key file is found from any folder."""
        # A lock may be used from another folder.
        if not self.key or "file" not in self.key:
            return self
        return dataclasses.replace(self, key={"file": str(Path(self.key["file"]).absolute())})


def _cut(rows: TableRows, people: str) -> TableRows:
    """A table that names nobody of the people any more, where it did."""
    # Only tables directly below the people name them; what is further down stays joined.
    if rows.link.parent != people or rows.link.foreign is None:
        return rows
    schema = rows.schema.replace(rows.link.foreign, of=None)
    return dataclasses.replace(
        rows, link=dataclasses.replace(rows.link, parent=None), schema=schema
    )
