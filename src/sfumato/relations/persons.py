"""Means for promises about persons: persons who cannot be hidden are left out of all tables, rows that single people out are left out of theirs."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.parameters import parameters
from sfumato.core.shape import ShapedStep
from sfumato.core.step import Plan
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.relations.knowledge import Persons, Secrets
from sfumato.relations.models import PersonsLDiversity, PersonsModel
from sfumato.relations.promises import PersonsPromise
from sfumato.relations.shown import Shown, ShownRows, ShownSensitive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

MOST_LISTED = 1_000_000
"""Sets of rows that are listed at a time; what is beyond is found when these are dealt with."""

Budget = Annotated[float, Field(ge=0, le=1, description="share of the persons who may be left out")]
RowBudget = Annotated[float, Field(ge=0, le=1, description="share of the rows below the people that may be left out")]


def aims(step: str, goal: Goal) -> list[PersonsPromise]:
    """The promises of a run that can say for whom they are broken; a means is refused where there is none."""
    promises: tuple[Any, ...] = goal.models
    found = [model for model in promises if isinstance(model, PersonsPromise)]
    if not found:
        raise ParameterError(
            f"{step} is a means for promises about persons or about single tables; no promise of the recipe is of this kind"
        )
    return found


def without(shown: Shown, gone: NDArray[np.bool_]) -> Shown:
    """What tables show when some persons are in none of them."""
    kept = ~gone
    number = np.cumsum(kept) - 1

    rows, there = [], {table.table: kept[table.person] for table in shown.rows}
    for table in shown.rows:
        stays, above = there[table.table], table.above
        if table.parent is not None and above is not None:
            above = (np.cumsum(there[table.parent]) - 1)[above[stays]]
        rows.append(ShownRows(table.table, number[table.person[stays]], table.shows[stays], table.parent, above))
    secrets = {
        name: ShownSensitive(
            number[column.person[kept[column.person]]], column.code[kept[column.person]], column.labels
        )
        for name, column in shown.sensitive.items()
    }
    return Shown(int(kept.sum()), shown.own[kept], tuple(rows), secrets)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PersonsPlan(Plan):
    """Who stays; for the owner only."""

    kept: NDArray[np.bool_]
    rounds: int

    def describe(self) -> dict[str, Any]:
        """How many go; not who."""
        gone = int((~self.kept).sum())
        return {"people_dropped": gone, "share_dropped": round(gone / max(len(self.kept), 1), 6)}

    def effort(self) -> dict[str, Any]:
        """In how many rounds they were found."""
        return {"rounds": self.rounds}


@parameters
class SuppressPersons(ShapedStep):
    """Leave persons out of all tables, with all their rows, until every promise about persons holds.

    For promises about persons, and for those about one table (``in_table``). In every round those go of whom a promise does not surely hold, until there are none. For k-anonymity, whatever is known, no choice is better: who is
    in too small a crowd stays so when others go, so the persons who are left are the most that can be left. For frequency l-diversity a
    group in which a value is too frequent first loses, at random, as many persons with that value as it must, x = ⌈(l·c − n)/(l − 1)⌉ of the c among n; other
    promises about secrets lose whole crowds, which may be more than needed. It comes last, after what makes people alike.

    Beyond ``budget`` the recipe is unsatisfiable, and what it would have taken is told; so it is where nobody would be left.
    """

    budget: Budget = 0.05

    name: ClassVar[str] = "suppress_persons"

    def plan(self, people: Any, goal: Goal) -> PersonsPlan:
        """Choose who goes, round by round."""
        models = aims(self.name, goal)
        kept, rounds, left = np.ones(people.people, dtype=np.bool_), 0, people
        while left.people and (gone := self._who_goes(models, left, goal)).any():
            rounds += 1
            kept[np.flatnonzero(kept)[gone]] = False
            left = people.keep_people(kept)
        self._require(kept, models)
        return PersonsPlan(kept, rounds)

    def _who_goes(self, models: list[PersonsPromise], people: Any, goal: Goal) -> NDArray[np.bool_]:
        """Who goes for the promises about persons, all that must for these alone, or, where nobody does, for the others."""
        shown: Shown = people.shown()
        about_persons = [model for model in models if isinstance(model, PersonsModel)]
        gone = np.zeros(people.people, dtype=np.bool_)
        if shown.persons == people.people:
            kept = np.ones(shown.persons, dtype=np.bool_)
            while shown.persons and (round_gone := _falling(about_persons, shown, goal)).any():
                kept[np.flatnonzero(kept)[round_gone]] = False
                shown = without(shown, round_gone)
            gone = ~kept
            about_persons = []
        for model in [*about_persons, *(one for one in models if not isinstance(one, PersonsModel))]:
            if not gone.any():
                gone |= model.broken(people)
        return gone

    def _require(self, kept: NDArray[np.bool_], models: list[PersonsPromise]) -> None:
        """Refuse a plan that leaves nobody, or leaves out more than may be."""
        gone = int((~kept).sum())
        closest = {"people": gone, "budget": gone / max(len(kept), 1)}
        wanted = " and ".join(model.promise for model in models)
        if gone == len(kept):
            raise Unsatisfiable(
                f"{self.name}: {wanted} holds for nobody of {len(kept):,} persons as they are; recode columns or trim rows first",
                closest=closest,
            )
        if gone > self.budget * len(kept) + 1e-9:
            raise Unsatisfiable(
                f"{self.name}: {gone:,} of {len(kept):,} persons would be left out for {wanted}, more than the budget of {self.budget:g} allows; "
                "recode columns or trim rows first, or ask for less",
                closest=closest,
            )

    def apply(self, people: Any, plan: PersonsPlan) -> Any:
        """Leave them out."""
        return people if plan.kept.all() else people.keep_people(plan.kept)


def _falling(models: list[PersonsModel], shown: Shown, goal: Goal) -> NDArray[np.bool_]:
    """Persons who go now: some of those with values that are too frequent in a group, or else everyone of whom a promise does not surely hold."""
    gone = np.zeros(shown.persons, dtype=np.bool_)
    for model in models:
        if isinstance(model, PersonsLDiversity) and model.kind == "frequency":
            gone |= thinned(model, shown, goal)
    if gone.any():
        return gone
    for model in models:
        gone |= model.falling(shown)
    return gone


def thinned(model: PersonsLDiversity, shown: Shown, goal: Goal) -> NDArray[np.bool_]:
    """Persons who go from groups in which one value is too frequent: for the most frequent value of each as many as must, at random."""
    gone = np.zeros(shown.persons, dtype=np.bool_)
    if model.sensitive not in shown.sensitive or not shown.persons:
        return gone
    groups = Persons.of(shown, own=model.own).alike(model.knows)
    secrets = Secrets.of(shown.sensitive[model.sensitive], shown.persons)
    owners = np.repeat(np.arange(shown.persons), np.diff(secrets.pointers))
    cells, of_entry, counts = np.unique(
        groups[owners] * max(secrets.values, 1) + secrets.codes, return_inverse=True, return_counts=True
    )
    in_group = cells // max(secrets.values, 1)
    sizes = np.bincount(groups)[in_group]
    over = counts > sizes * model.limit + 1e-9
    order = np.lexsort((-counts, in_group))
    first = order[np.diff(in_group[order], prepend=-1) > 0]  # of every group the most frequent value
    chosen = first[over[first]]
    if not len(chosen):
        return gone
    must = np.zeros(len(cells), dtype=np.int64)
    excess = model.l * counts[chosen] - sizes[chosen]
    must[chosen] = np.ceil(excess / (model.l - 1) - 1e-9).astype(np.int64) if model.l > 1 else 0
    entries = np.flatnonzero(must[of_entry.reshape(-1)] > 0)
    draws = goal.stream(f"suppress_persons: who of {shown.persons} goes").random(len(entries))
    entries = entries[np.lexsort((draws, of_entry.reshape(-1)[entries]))]
    cell = of_entry.reshape(-1)[entries]
    begin = np.searchsorted(cell, cell)
    gone[owners[entries[np.arange(len(entries)) - begin < must[cell]]]] = True
    return gone


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RowsPlan(Plan):
    """Which rows of the tables stay, round by round; for the owner only. ``told`` are counts."""

    kept: tuple[Mapping[str, NDArray[np.bool_]], ...]
    told: Mapping[str, Any]
    warned: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """How many rows go; not which."""
        return dict(self.told)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know."""
        return self.warned


@parameters
class TrimRows(ShapedStep):
    """Leave rows out of the tables below the people where few rows of a person are shared by too few persons; everybody stays.

    A means for persons_k_anonymity with ``knows: any``. Within the persons who are alike in their own columns a row that fewer than k of them have is
    left out of the tables of all of them; a second or third copy of a row counts as a row of its own that only those have who have it so often. Then sets
    of two rows that too few share lose one of theirs, and so on up to m: next goes the row with the most such sets for each copy that is
    lost, ties at random. What nobody of a class has any more was shared by nobody else in it, so all other sets are shared as
    before. Which of several equal rows of a person goes is drawn at random too.

    Classes of fewer than k persons cannot be mended so: they are left alone, with a warning; let suppress_persons follow. Beyond ``budget`` the
    recipe is unsatisfiable.
    """

    budget: RowBudget = 1.0

    name: ClassVar[str] = "trim_rows"

    def plan(self, people: Any, goal: Goal) -> RowsPlan:
        """Choose the rows that go; rows below rows that go, go with them, so it is looked at again until nothing is left to do."""
        promises = [model for model in aims(self.name, goal) if isinstance(model, PersonsModel)]
        models = [model for model in promises if model.rows_to_trim is not None]
        if not models:
            raise ParameterError(f"{self.name} is a means for persons_k_anonymity with knows: any; the recipe has none")
        before, left = _rows_in(people.shown()), people
        kept: list[Mapping[str, NDArray[np.bool_]]] = []
        stream = goal.stream("trim_rows: which of equal rows goes")
        while stays := _trimmed(models, left.shown(), stream):
            kept.append(stays)
            left = left.kept(stays)
        shown = left.shown()
        gone = sum(before.values()) - sum(_rows_in(shown).values())
        if gone > self.budget * sum(before.values()) + 1e-9:
            raise Unsatisfiable(
                f"{self.name}: {gone:,} of {sum(before.values()):,} rows would be left out, more than the budget of {self.budget:g} allows; "
                "recode their columns first, or ask for less",
                closest={"rows": gone, "budget": gone / max(sum(before.values()), 1)},
            )
        return RowsPlan(tuple(kept), _told(before, _rows_in(shown)), _warned(models, shown))

    def apply(self, people: Any, plan: RowsPlan) -> Any:
        """Leave them out, round by round."""
        for stays in plan.kept:
            people = people.kept(stays)
        return people


def _rows_in(shown: Shown) -> dict[str, int]:
    return {rows.table: len(rows.person) for rows in shown.rows}


def _told(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, Any]:
    gone = {table: count - after[table] for table, count in before.items()}
    share = sum(gone.values()) / max(sum(before.values()), 1)
    return {"rows_dropped": gone, "share_dropped": round(share, 6)}


def _warned(models: list[PersonsModel], shown: Shown) -> tuple[str, ...]:
    """That some persons are in crowds that no trimming of rows makes larger."""
    short = np.zeros(shown.persons, dtype=np.bool_)
    for model in models:
        classes = Persons.of(shown, own=model.own).classes
        short |= np.bincount(classes)[classes] < (model.rows_to_trim or (1, 0))[0]
    if not short.any():
        return ()
    return (
        f"trim_rows leaves {int(short.sum()):,} persons alone whose own columns too few share; let suppress_persons follow, or recode",
    )


def _trimmed(models: list[PersonsModel], shown: Shown, stream: np.random.Generator) -> dict[str, NDArray[np.bool_]]:
    """Per table the rows that stay, for the first promise that asks for any to go. Empty: nothing is left to do."""
    for model in models:
        k, m = model.rows_to_trim or (1, 0)
        people = Persons.of(shown, own=model.own, stream=stream)
        gone = _rows_to_go(people, k, m, stream)
        if gone.any():
            row_gone = np.zeros(len(gone), dtype=np.bool_)
            row_gone[people.of_row] = gone
            parts = np.split(~row_gone, people.tables[1:-1])
            return {rows.table: part for rows, part in zip(shown.rows, parts, strict=True) if not part.all()}
    return {}


def _rows_to_go(people: Persons, k: int, m: int, stream: np.random.Generator) -> NDArray[np.bool_]:
    """Which of the ``codes`` of people go, so that any ``m`` rows that are left are shared by k persons of a class, where it has so many."""
    gone = np.zeros(len(people.codes), dtype=np.bool_)
    large = np.bincount(people.classes, minlength=1)[people.classes] >= k
    for size in range(1, m + 1):
        while True:
            left, places = _left(people, gone)
            rows = left.facts(size)
            items = _rare_rows(rows, k, large) if size == 1 else _rare_items(rows, size, k, stream)
            if not len(items):
                break
            marked = np.zeros(len(rows.roots), dtype=np.bool_)
            marked[items] = True
            _mark(rows, left, places, marked, gone)
    return gone


def _left(people: Persons, gone: NDArray[np.bool_]) -> tuple[Persons, NDArray[np.int64]]:
    """The people without the rows that go, and where each row that is left stands among all."""
    places = np.flatnonzero(~gone)
    pointers = np.searchsorted(places, people.pointers).astype(np.int64)
    return dataclasses.replace(
        people, pointers=pointers, codes=people.codes[places], of_row=people.of_row[places]
    ), places


def _mark(
    rows: Any, left: Persons, places: NDArray[np.int64], marked: NDArray[np.bool_], gone: NDArray[np.bool_]
) -> None:
    """Let the copies of marked rows go, and all later copies of the same row of the same person."""
    entries = rows.places[marked[rows.items]]
    first = np.full(len(left.codes), -1, dtype=np.int64)
    first[entries] = left.copies[entries]
    start = np.arange(len(left.codes)) - left.copies  # where the copies of the same row begin
    least = np.full(len(left.codes), np.iinfo(np.int64).max)
    np.minimum.at(least, start[entries], first[entries])
    gone[places[left.copies >= least[start]]] = True


def _rare_rows(rows: Any, k: int, large: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows that fewer than k persons of a class that has so many share: they go."""
    carriers = np.bincount(rows.items, minlength=len(rows.roots))
    owner = np.repeat(np.arange(len(rows.pointers) - 1), np.diff(rows.pointers))
    in_large = np.zeros(len(rows.roots), dtype=np.bool_)
    in_large[rows.items[large[owner]]] = True
    return np.flatnonzero((carriers < k) & in_large)


def _rare_items(rows: Any, size: int, k: int, stream: np.random.Generator) -> NDArray[np.int64]:
    """Rows of which every set of ``size`` rows that too few share has one: the most sets for each copy that is lost first."""
    members = np.empty((MOST_LISTED, size), dtype=np.int64)
    count = kernels.facts.rare_sets(rows.kernel, size, k, members)
    members = members[: min(count, MOST_LISTED)]
    return np.fromiter(_hitting(members, rows, stream), dtype=np.int64)


def _hitting(members: NDArray[np.int64], rows: Any, stream: np.random.Generator) -> Iterator[int]:
    """Greedy: whoever goes is the row with the most sets that are still there, for each copy that is lost with it."""
    if not len(members):
        return
    lost = _lost_with(rows)
    flat = members.reshape(-1)
    order = np.argsort(flat, kind="stable")
    items, begin, counts = np.unique(flat[order], return_index=True, return_counts=True)
    sets_of = {int(item): order[b : b + n] // members.shape[1] for item, b, n in zip(items, begin, counts, strict=True)}
    alive, draws = np.ones(len(members), dtype=np.bool_), stream.random(len(items))
    waiting = [
        (-n / lost[item], draw, item) for item, n, draw in zip(items.tolist(), counts.tolist(), draws, strict=True)
    ]
    heapq.heapify(waiting)
    while waiting:  # numbers of sets only fall, so whoever comes first with a number that is still true has the most
        ratio, draw, item = heapq.heappop(waiting)
        open_sets = int(alive[sets_of[item]].sum())
        if not open_sets:
            continue
        if -open_sets / lost[item] > ratio + 1e-12:
            heapq.heappush(waiting, (-open_sets / lost[item], draw, item))
            continue
        alive[sets_of[item]] = False
        yield item


def _lost_with(rows: Any) -> NDArray[np.int64]:
    """How many copies are lost when a row, and with it all further copies of it, is left out."""
    carriers = np.bincount(rows.items, minlength=len(rows.roots))
    group = np.cumsum(rows.roots) - 1  # copies of one row are numbered one after the other
    ends = np.cumsum(carriers)
    last = np.append(np.flatnonzero(rows.roots)[1:], len(rows.roots)) - 1
    lost: NDArray[np.int64] = ends[last][group] - ends + carriers
    return lost
