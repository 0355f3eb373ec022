"""What promises about paths have in common: what coarser places and times do to them, and promises
about sets of points.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import polars as pl

from sfumato.core.data import Evidence
from sfumato.core.model import TOLERANCE, Model, make_verdict
from sfumato.core.shape import Shape
from sfumato.core.words import percent
from sfumato.data.paths.trajectories import Trajectories, require_paths
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.itemsets import ItemSets, Violations, smallest_support, violating

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Verdict

MOST_SETS = 5_000_000
"""Violating sets that are listed at most."""


@runtime_checkable
class PathModel(Model, Protocol):
    """A promise about paths, and what a search may conclude about it. ``k`` is how many people must
    be confused.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    k: int

    def kept_by_coarsening(self, people: Trajectories) -> bool:
        """Whether people who break it at these levels of place and time also break it at all finer
        ones.
        """
        ...

    def broken(self, people: Trajectories) -> bool:
        """Whether it is broken: as :meth:`judge`, but stops at the first thing that breaks it."""
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class SetDemand:
    """What a promise about sets of points asks: at least ``k`` carriers, and of them at most a
    ``share`` with one private item.
    """

    k: int
    m: int
    private: ItemSets | None = None
    share: float = 1.0

    def violations(
        self,
        sets: ItemSets,
        *,
        new: NDArray[np.bool_] | None = None,
        limit: int = MOST_SETS,
        enough: int = 0,
    ) -> Violations:
        """Minimal sets that break it."""
        # Shares are ratios of counts: equality must not fail by rounding.
        slack = self.share + TOLERANCE
        return violating(
            sets,
            self.m,
            self.k,
            private=self.private,
            share=slack,
            new=new,
            limit=limit,
            enough=enough,
        )

    def breaks(self, carriers: NDArray[np.int64]) -> bool:
        """Whether a set that exactly these people carry breaks it; one that nobody carries does
        not.
        """
        # What nobody has cannot be known of anybody.
        if not len(carriers):
            return False
        if len(carriers) < self.k:
            return True
        if self.private is None:
            return False
        # The sensitive value that most carriers share. Everybody has one at most, so counts are
        # people.
        largest_count = np.bincount(self.private.taken(carriers).items, minlength=1).max(initial=0)
        return bool(largest_count > (self.share + TOLERANCE) * len(carriers))


def too_few(model: PathModel, people: Trajectories) -> Verdict | None:
    """The verdict where there are fewer people than must be confused; None where there are enough.
    One person only is refused.
    """
    people.require_several(model.promise)
    if people.people >= model.k:
        return None
    sentence = f"there are {people.people:,} people, fewer than {model.k:,}"
    return make_verdict(
        model,
        holds=False,
        attained=None,
        required=model.k,
        sentence=sentence,
        broken=people.people,
        people=people.people,
    )


@runtime_checkable
class SetPromise(PathModel, Protocol):
    """A promise about every set of a few points that somebody has."""

    def asked(self, people: Trajectories) -> SetDemand:
        """What it asks of these people."""
        ...

    def broken(self, people: Trajectories) -> bool:
        """Whether some set breaks it."""
        demand = self.asked(people)
        # One violating set is enough to know; the search may stop there.
        return bool(demand.violations(point_sets(people), limit=1, enough=demand.k - 1).count)

    def judge(self, evidence: Evidence) -> Verdict:
        """Count the minimal sets that break it."""
        people = evidence.data
        paths = require_paths(people, self.promise)
        demand = self.asked(paths)
        # Before counting: with too few people the promise cannot hold, whatever they have.
        if (short := too_few(self, paths)) is not None:
            return short
        sets = point_sets(paths)
        violations = demand.violations(sets)
        smallest = violations.least or 0
        # what holds sets of which a part is too rare was not looked at
        if violations.count and smallest > 1:
            smallest = smallest_support(sets, demand.m) or 0
        if demand.m == 1:
            about = "point"
        else:
            about = f"set of at most {demand.m} points"
        if violations.count:
            concerned = int(violations.carriers.sum())
            sentence = (
                f"{violations.count:,} minimal set(s) of at most {demand.m} point(s) break it, in "
                f"the paths of {concerned:,} of {paths.people:,} people; the rarest has "
                f"{smallest:,} carrier(s)"
            )
            return make_verdict(
                self,
                holds=False,
                attained=smallest,
                required=demand.k,
                sentence=sentence,
                broken=violations.count,
                people=concerned,
            )
        if demand.private is None:
            share_words = ""
        else:
            share_words = (
                f", and at most {percent(violations.worst)} of them share a sensitive value"
            )
        return make_verdict(
            self,
            holds=True,
            attained=smallest,
            required=demand.k,
            sentence=(
                f"every {about} that occurs is shared by at least {smallest:,} people{share_words}"
            ),
        )


def promises_of(models: Iterable[Any]) -> list[PathModel]:
    """The promises as those about paths; any other is refused."""
    path_models = [model for model in models if isinstance(model, PathModel)]
    other_promises = [model.promise for model in models if not isinstance(model, PathModel)]
    if other_promises:
        raise ParameterError(f"{other_promises[0]} is not a promise about paths")
    return path_models


def set_promises(models: Iterable[Any]) -> list[SetPromise]:
    """Those promises that are about sets of points."""
    return [model for model in models if isinstance(model, SetPromise)]


def point_sets(people: Trajectories) -> ItemSets:
    """Everybody as a set of numbered points."""
    points = people.points
    return ItemSets(points.starts, points.items.astype(np.int32), points.kinds)


def sensitive_sets(
    people: Trajectories, column: str | None, values: tuple[str, ...] | None, promise: str
) -> ItemSets:
    """Everybody's sensitive value as a set of one item; a missing value, or one that is not asked
    about, is no item.
    """
    if column is None:
        sensitive_columns = people.sensitive
        if len(sensitive_columns) != 1:
            raise SchemaError(
                f"{promise} is about one sensitive column, but there are {len(sensitive_columns)}; "
                "say which: sensitive: COLUMN"
            )
        column = sensitive_columns[0]
    # As text, since the values of a recipe are written as text.
    labels = people.values(column).cast(pl.String)
    if values is not None:
        # Some values may not occur; if none does, it is probably a mistake in spelling.
        absent = len(set(values) - set(labels.drop_nulls().to_list()))
        if absent == len(set(values)):
            raise SchemaError(
                f"{promise}: none of the {len(set(values))} listed value(s) occurs in column "
                f"{column!r}; correct the list"
            )
    # Sorted, so that the numbers do not depend on the order of rows.
    value_labels = sorted(set(labels.drop_nulls().to_list()) if values is None else set(values))
    code = {label: number for number, label in enumerate(value_labels)}
    return ItemSets.of(
        [[code[label]] if label in code else [] for label in labels.to_list()],
        size=len(value_labels),
    )
