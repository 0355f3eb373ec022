"""A step for promises about persons: who cannot be hidden is left out of all tables."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.core.words import count_of, inflect, join_words, percent
from sfumato.data.relational.knowledge import Secrets, groups_of
from sfumato.data.relational.models import PersonsKAnonymity, PersonsLDiversity, PersonsModel
from sfumato.data.relational.person_views import Shown, ShownRows, ShownSensitive
from sfumato.data.relational.promises import PersonsPromise
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

Budget = Annotated[float, Field(ge=0, le=1, description="share of the persons who may be removed")]


def aims(step: str, goal: Goal) -> list[PersonsPromise]:
    """The promises of a run that can say for whom they are broken; a step is refused where there
    is none.
    """
    promises: tuple[Any, ...] = goal.models
    models = [model for model in promises if isinstance(model, PersonsPromise)]
    if not models:
        raise ParameterError(
            f"{step} serves promises about persons or about single tables; the recipe has none of "
            "this kind, so add one or remove the step"
        )
    return models


def without(view: Shown, gone: NDArray[np.bool_]) -> Shown:
    """What tables show when some persons are in none of them."""
    is_kept = ~gone
    # The new number of everybody who stays: kept 1,0,1 → 0,·,1.
    number = np.cumsum(is_kept) - 1

    rows, kept_rows = [], {table.table: is_kept[table.person] for table in view.rows}
    for table in view.rows:
        stays, above = kept_rows[table.table], table.above
        if table.parent is not None and above is not None:
            # Rows above are renumbered in the same way, table by table.
            above = (np.cumsum(kept_rows[table.parent]) - 1)[above[stays]]
        rows.append(
            ShownRows(
                table.table, number[table.person[stays]], table.shows[stays], table.parent, above
            )
        )
    secrets = {
        name: ShownSensitive(
            number[column.person[is_kept[column.person]]],
            column.code[is_kept[column.person]],
            column.kinds,
            column.attribute,
        )
        for name, column in view.sensitive.items()
    }
    return Shown(int(is_kept.sum()), view.own[is_kept], tuple(rows), secrets)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PersonsPlan(Plan):
    """Who stays; for the owner only."""

    kept: NDArray[np.bool_]
    rounds: int

    def describe(self) -> Document:
        """How many go; not who."""
        gone = int((~self.kept).sum())
        return {"people_dropped": gone, "share_dropped": round(gone / max(len(self.kept), 1), 6)}

    def effort(self) -> Document:
        """In how many rounds they were found."""
        return {"rounds": self.rounds}


@parameters
class SuppressPersons(Step):
    """Leave persons out of all tables, with all their rows, until every promise about persons
    holds.

    For promises about persons, and for those about one table (with ``table:``). In every round
    those go of whom a promise does not hold, until there are none, and then those of whom that is
    not known. For k-anonymity, whatever is known, no choice is better: who is in too small a crowd
    stays so when others go, so the persons who are left are the most that can be left. For
    frequency l-diversity a group in which a value is too frequent first loses, at random, as many
    persons with that value as it must, x = ⌈(l·c − n)/(l − 1)⌉ of the c among n; other promises
    about secrets lose whole crowds, which may be more than needed. It comes last, after what makes
    people alike.

    Beyond ``budget`` the recipe is unsatisfiable, and what it would have taken is told; so it is
    where nobody would be left.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> from sfumato.data.relational.models import PersonsKAnonymity
    >>> goal = Goal(models=(PersonsKAnonymity(2, "counts", own=False),), seed=Seed(1))
    >>> SuppressPersons(0.5).plan(examples.clinic(), goal).describe()
    {'people_dropped': 14, 'share_dropped': 0.233333}
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    budget: Budget = 0.05

    name: ClassVar[str] = "suppress_persons"
    tells: ClassVar[tuple[str, ...]] = ("people_dropped", "share_dropped")

    def plan(self, people: Any, goal: Goal) -> PersonsPlan:
        """Choose who goes, round by round."""
        models = aims(self.name, goal)
        is_kept, rounds, remaining = np.ones(people.people, dtype=np.bool_), 0, people
        while remaining.people and (gone := self._who_goes(models, remaining, goal)).any():
            rounds += 1
            # ``gone`` is by the persons that were left; this finds them among all.
            is_kept[np.flatnonzero(is_kept)[gone]] = False
            remaining = people.keep_people(is_kept)
        self._require(is_kept, models)
        return PersonsPlan(is_kept, rounds)

    def _who_goes(self, models: list[PersonsPromise], people: Any, goal: Goal) -> NDArray[np.bool_]:
        """Who goes for the promises about persons, all that must for these alone, or, where nobody
        does, for the others.
        """
        view: Shown = people.shown()
        about_persons = [model for model in models if isinstance(model, PersonsModel)]
        gone = np.zeros(people.people, dtype=np.bool_)
        # Where tables were split, persons of a view are no longer the people, and each promise says
        # by itself who of the people is concerned.
        if view.persons == people.people:
            gone = _settled(about_persons, view, goal)
            about_persons = []
        for model in [
            *about_persons,
            *(other_model for other_model in models if not isinstance(other_model, PersonsModel)),
        ]:
            # One promise at a time: once some went, another may hold without losing more.
            if not gone.any():
                gone |= model.broken(people)
        return gone

    def _require(self, is_kept: NDArray[np.bool_], models: list[PersonsPromise]) -> None:
        """Refuse a plan that leaves nobody, or leaves out more than may be."""
        gone = int((~is_kept).sum())
        closest = {"people": gone, "budget": gone / max(len(is_kept), 1)}
        promises = join_words(model.promise for model in models)
        if gone == len(is_kept):
            raise Unsatisfiable(
                f"{self.name}: {promises} holds for none of {len(is_kept):,} persons yet; recode "
                "columns or trim rows first",
                closest=closest,
            )
        # A margin, as the budget is a decimal fraction.
        if gone > self.budget * len(is_kept) + 1e-9:
            raise Unsatisfiable(
                f"{self.name}: {promises} would remove {gone:,} of {len(is_kept):,} persons, more "
                f"than the budget of {self.budget:g} allows; recode columns or trim rows first, or "
                "lower the promise",
                closest=closest,
            )

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        gone = facts["people_dropped"]
        if not gone:
            return "All persons hide among others, so nobody was removed."
        return (
            f"{count_of(gone, 'person', 'people')} without the protection of a promise "
            f"{inflect(gone, 'was', 'were')} removed from all tables, "
            f"{percent(facts['share_dropped'])} of all."
        )

    def apply(self, people: Any, plan: PersonsPlan) -> Any:
        """Leave them out."""
        if plan.kept.all():
            return people
        return people.keep_people(plan.kept)


def _settled(models: list[PersonsModel], view: Shown, goal: Goal) -> NDArray[np.bool_]:
    """Persons who go, round by round, until nobody must.

    Where promises look at no more than those who are alike by their own columns, those are looked
    at again among whom somebody went, and all of them once more at the end.
    """
    # Such promises never look beyond a class of own columns, so only classes that lost somebody can
    # change.
    by_class = all(
        model.own and isinstance(model, PersonsKAnonymity | PersonsLDiversity) for model in models
    )
    gone, near = np.zeros(view.persons, dtype=np.bool_), np.ones(view.persons, dtype=np.bool_)
    while (candidates := np.flatnonzero(near & ~gone)).size:
        falling = candidates[
            _falling(
                models, view if len(candidates) == view.persons else _within(view, candidates), goal
            )
        ]
        # Nobody falls although all were looked at: done. Otherwise all are looked at once more.
        if not len(falling) and len(candidates) == view.persons - gone.sum():
            break
        gone[falling] = True
        near[:] = True
        if by_class and len(falling):
            near = np.isin(view.own, view.own[falling])
    return gone


def _within(view: Shown, persons: NDArray[np.int64]) -> Shown:
    """What tables show of some persons."""
    is_other = np.ones(view.persons, dtype=np.bool_)
    is_other[persons] = False
    return without(view, is_other)


def _falling(models: list[PersonsModel], view: Shown, goal: Goal) -> NDArray[np.bool_]:
    """Persons who go now: some of those with values that are too frequent in a group, or else
    everyone of whom a promise does not surely hold.
    """
    gone = np.zeros(view.persons, dtype=np.bool_)
    for model in models:
        if isinstance(model, PersonsLDiversity) and model.kind == "frequency":
            gone |= thinned(model, view, goal)
    # Some of a group first: it may then hold for all others, who need not go.
    if gone.any():
        return gone
    for model in models:
        if not _thinned_out(model, view):
            gone |= model.falling(view)
    return gone


def _thinned_out(model: PersonsModel, view: Shown) -> bool:
    """Whether all groups that a promise is about were looked at already, and none has to lose
    anybody.
    """
    frequent = (
        isinstance(model, PersonsLDiversity)
        and model.kind == "frequency"
        and model.sensitive in view.sensitive
    )
    return frequent and model.knows != "any"


def thinned(model: PersonsLDiversity, view: Shown, goal: Goal) -> NDArray[np.bool_]:
    """Persons who go from groups in which one value is too frequent: for the most frequent value of
    each as many as must, at random.
    """
    gone = np.zeros(view.persons, dtype=np.bool_)
    if model.sensitive not in view.sensitive or not view.persons:
        return gone
    groups = groups_of(view, model.knows, own=model.own)
    secrets = Secrets.of(view.sensitive[model.sensitive], view.persons)
    owners = np.repeat(np.arange(view.persons), np.diff(secrets.pointers))
    # Per group and value how many persons have it.
    cells, of_entry, counts = np.unique(
        groups[owners] * max(secrets.values, 1) + secrets.codes,
        return_inverse=True,
        return_counts=True,
    )
    in_group = cells // max(secrets.values, 1)
    sizes = np.bincount(groups)[in_group]
    # More than one l-th of the group.
    over = counts > sizes * model.limit + 1e-9
    order = np.lexsort((-counts, in_group))
    # of every group the most frequent value
    first = order[np.diff(in_group[order], prepend=-1) > 0]
    persons_chosen = first[over[first]]
    if not len(persons_chosen):
        return gone
    must = np.zeros(len(cells), dtype=np.int64)
    # x persons go where (c − x)/(n − x) ≤ 1/l, that is x ≥ (l·c − n)/(l − 1).
    excess = model.l * counts[persons_chosen] - sizes[persons_chosen]
    if model.l > 1:
        must[persons_chosen] = np.ceil(excess / (model.l - 1) - 1e-9).astype(np.int64)
    else:
        must[persons_chosen] = 0
    entries = np.flatnonzero(must[of_entry.reshape(-1)] > 0)
    draws = goal.stream(f"suppress_persons: who of {view.persons} goes").random(len(entries))
    # The entries of each such value in a random order; the first so many of them go.
    entries = entries[np.lexsort((draws, of_entry.reshape(-1)[entries]))]
    cell = of_entry.reshape(-1)[entries]
    # Where the entries of the same value begin.
    begin = np.searchsorted(cell, cell)
    gone[owners[entries[np.arange(len(entries)) - begin < must[cell]]]] = True
    return gone
