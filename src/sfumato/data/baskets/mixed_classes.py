"""Own columns and items together: classes of people who are alike, and a cut of the item hierarchy
for each.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.encoding import encode
from sfumato.core.fields import Document
from sfumato.core.hierarchy import TOP, Ladder, bind
from sfumato.core.parameters import parameters
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.cuts import AprioriSearch
from sfumato.data.baskets.models import BasketModel
from sfumato.data.baskets.plans import BasketPlan, BasketStep, aims, require_reached
from sfumato.errors import SchemaError
from sfumato.methods.formulas.itemsets import ItemSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Attribute
    from sfumato.core.step import Goal


@dataclasses.dataclass(frozen=True, eq=False)
class OwnColumn:
    """One column of people as numbers in an order in which neighbours are alike, and what stands
    for several of them.
    """

    codes: NDArray[np.int64]
    texts: tuple[str | None, ...]
    numbers: NDArray[np.float64] | None = None
    ladder: Ladder | None = None

    @classmethod
    def of(cls, column: pl.Series, attribute: Attribute) -> OwnColumn:
        """By its hierarchy, by its numbers, or by its words; missing values come last."""
        encoded = encode(column)
        labels = list(encoded.labels)
        if attribute.hierarchy is not None:
            ladder = bind(attribute.hierarchy, labels, encoded.counts.tolist())
            label_codes = {label: code for code, label in enumerate(ladder.labels[0])}
            image = np.array([label_codes[label] for label in labels], dtype=np.int64)
            return cls(image[encoded.codes], tuple(ladder.labels[0]), ladder=ladder)
        numeric = column.dtype.is_numeric()
        # Missing values last, then numbers by size, then words: neighbours in this order are alike,
        # so halving it at a median keeps like people together.
        key = {}
        for label in labels:
            size = 0.0
            if numeric and label is not None:
                size = float(label)
            key[label] = (label is None, size, label or "")
        texts = sorted(labels, key=lambda label: key[label])
        label_codes = {label: code for code, label in enumerate(texts)}
        image = np.array([label_codes[label] for label in labels], dtype=np.int64)
        # A range such as 3..7 would not cover a missing value, so such a column is shown as a
        # whole.
        numbers = None
        if numeric and None not in texts:
            numbers = np.array([key[text][1] for text in texts])
        return cls(image[encoded.codes], tuple(texts), numbers)

    def level(self, codes: NDArray[np.int64]) -> int:
        """The lowest level of the hierarchy on which some values are one."""
        ladder = self.ladder
        if ladder is None:
            return 0
        return next(
            level
            for level in range(ladder.depth)
            # At the top all values are one; the test for it ends the search in any case.
            if len(np.unique(ladder.climb(0, level)[codes])) == 1 or level == ladder.top
        )

    def text(self, codes: NDArray[np.int64]) -> str | None:
        """What stands for some values: the value, the node above them, a range of numbers, or
        anything at all.
        """
        # Codes follow the order of the texts, so the ends stand for all that is between.
        low, high = int(codes.min()), int(codes.max())
        if low == high:
            return self.texts[low]
        if self.ladder is not None:
            level = self.level(codes)
            return self.ladder.labels[level][int(self.ladder.climb(0, level)[low])]
        if self.numbers is None:
            return TOP
        return f"{self.texts[low]}..{self.texts[high]}"

    def loss(self, codes: NDArray[np.int64]) -> float:
        """What is lost of a value when that stands for it, from 0 to 1."""
        low, high = int(codes.min()), int(codes.max())
        if low == high:
            return 0.0
        if self.ladder is not None:
            # All values have the same node on this level, so that of any one of them will do.
            level = self.level(codes)
            return float(self.ladder.loss[level][int(self.ladder.climb(0, level)[low])])
        if self.numbers is None:
            return 1.0
        return float(
            (self.numbers[high] - self.numbers[low]) / (self.numbers[-1] - self.numbers[0])
        )


@dataclasses.dataclass(frozen=True, eq=False)
class OwnClass:
    """Some people, the cut of their items, and what the group loses in all; ``parts``: it stays
    divided into these.
    """

    people: NDArray[np.int64]
    cut: NDArray[np.int64]
    loss: float
    parts: tuple[OwnClass, ...] = ()

    def leaves(self) -> list[OwnClass]:
        """The groups that are left undivided."""
        if self.parts:
            return [leaf for part in self.parts for leaf in part.leaves()]
        return [self]


@parameters
class GroupedRecoding(BasketStep):
    """Classes of people who are alike in their own columns, each with a cut of the item hierarchy
    of its own.

    People are divided at the median of the column in which they differ most (Mondrian), as long as
    both halves hold at least k people with items, or ``size``. The items of each class are
    generalised by the search of :class:`ItemRecoding` within the class. Then, from the bottom up, a
    division is undone where that loses
    less: larger classes are coarser in own columns and finer in items. Loss is the mean loss over
    own columns, and that over items, for each person. In a class a column shows the value, the node
    of its hierarchy above all values of the class, a range of numbers, or ``*``.

    Reference: Poulis, Loukides, Gkoulalas-Divanis & Skiadopoulos 2013,
    doi:10.1007/978-3-642-40994-3_23; LeFevre et al. 2006, doi:10.1109/ICDE.2006.101.
    """

    size: Annotated[
        int,
        Field(ge=1, description="least number of people with items in a class; never fewer than k"),
    ] = 1

    name: ClassVar[str] = "grouped_recoding"

    def plan(self, people: Any, goal: Goal) -> BasketPlan:
        """Divide the people and find the cuts."""
        fits = "promises about own columns (k_anonymity, k_km_anonymity) and k^m-anonymity"
        models = aims(self.name, people, goal, _about_classes, fits)
        if not people.quasi:
            raise SchemaError(
                "grouped_recoding needs at least one column of people with role quasi"
            )
        work = _Division(people, models, max(self.size, *(model.crowd for model in models)))
        groups = work.divided(np.arange(people.people, dtype=np.int64)).leaves()
        plan = work.plan(groups)
        require_reached(self.name, models, self.apply(people, plan), "ask for a smaller k or m")
        return plan


def _about_classes(model: BasketModel) -> bool:
    return model.coarser_keeps and (model.small_sets is not None or not model.about_items)


class _Division:
    """Divides people and prices what comes of it."""

    def __init__(self, people: Baskets, models: list[BasketModel], size: int) -> None:
        self.people, self.size = people, size
        # Sorted, so that the cut does not depend on the order in which the promises are written.
        self.asked = sorted({model.small_sets for model in models if model.small_sets is not None})
        self.columns = {
            name: OwnColumn.of(people.own[name], people.attributes[name]) for name in people.quasi
        }
        # Empty baskets are no crowd for items: only people with items count for the size of a
        # class.
        self.filled = people.sets.lengths > 0
        # Loss of items is summed over occurrences, that of own columns over people. With this
        # factor all occurrences together weigh as much as all people, each kind at most 1 a person
        # on average.
        self.each = people.people / max(len(people.sets.items), 1)

    def divided(self, rows: NDArray[np.int64]) -> OwnClass:
        """The division of some people that loses least, of those that halving gives."""
        # The loss of the undivided class is the price that a division must beat.
        whole = self._priced(rows)
        halves = self._halved(rows)
        if halves is None:
            return whole
        parts = tuple(self.divided(half) for half in halves)
        loss = sum(part.loss for part in parts)
        # A tie keeps the larger class. The margin is for rounding of sums.
        if loss < whole.loss - 1e-9:
            return OwnClass(rows, whole.cut, loss, parts)
        return whole

    def _priced(self, rows: NDArray[np.int64]) -> OwnClass:
        own = float(np.mean([column.loss(column.codes[rows]) for column in self.columns.values()]))
        # Nothing is asked of items: every item stands for itself and loses nothing.
        if not self.asked:
            return OwnClass(rows, np.arange(self.people.sets.size, dtype=np.int64), own * len(rows))
        taxonomy, sets = self.people.taxonomy, self.people.sets.taken(rows)
        cut = np.arange(taxonomy.items, dtype=np.int64)
        # Each search begins at the cut of the one before; a coarser cut keeps what was reached.
        for k, m in self.asked:
            cut = AprioriSearch(sets, taxonomy, k, m, start=cut).run()
        return OwnClass(
            rows, cut, own * len(rows) + self.each * float(taxonomy.loss[cut] @ sets.supports)
        )

    def _halved(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Two halves at the median of the column with the most to part, or None where no column
        allows it.
        """
        options = sorted(
            self.columns.items(),
            key=lambda name_and_column: (
                -name_and_column[1].loss(name_and_column[1].codes[rows]),
                name_and_column[0],
            ),
        )
        for _, column in options:
            codes = column.codes[rows]
            values, counts = np.unique(codes, return_counts=True)
            if len(values) < 2:
                continue
            # People up to each value. The cut between two values that comes nearest to half of
            # them; counts 3,1,4 → 3,4,8, cut behind the second value.
            upto = np.cumsum(counts)
            cut_position = min(int(np.argmin(np.abs(2 * upto[:-1] - upto[-1]))), len(values) - 2)
            low = codes <= values[cut_position]
            enough = (
                min(int(self.filled[rows[low]].sum()), int(self.filled[rows[~low]].sum()))
                >= self.size
            )
            if enough:
                return rows[low], rows[~low]
        return None

    def plan(self, groups: list[OwnClass]) -> BasketPlan:
        """What everybody will have."""
        people = self.people
        labels = people.taxonomy.labels if self.asked else people.labels
        # Per person the number of the class, then per occurrence the node of the class's own cut.
        group_of = np.empty(people.people, dtype=np.int64)
        for number, group in enumerate(groups):
            group_of[group.people] = number
        cuts = np.stack([group.cut for group in groups])
        nodes = cuts[group_of[people.sets.owners], people.sets.items]
        sets = ItemSets.of_pairs(people.sets.owners, nodes, people.people, len(labels))
        facts: Document = {
            "classes": len(groups),
            "smallest_class": min(len(group.people) for group in groups),
            "column_loss": {
                name: round(self._column_loss(column, groups), 6)
                for name, column in self.columns.items()
            },
        }
        if self.asked:
            facts["ncp"] = round(
                float(people.taxonomy.loss[nodes].mean()) if len(nodes) else 0.0, 6
            )
        return BasketPlan(sets, labels, facts, own=self._own(groups))

    def _column_loss(self, column: OwnColumn, groups: list[OwnClass]) -> float:
        return (
            sum(column.loss(column.codes[group.people]) * len(group.people) for group in groups)
            / self.people.people
        )

    def _own(self, groups: list[OwnClass]) -> pl.DataFrame:
        """The own columns with what stands for the values of each class; one in which nothing
        changes keeps its type.
        """
        columns_shown = {}
        for name, column in self.columns.items():
            # A column that is the same within every class is released as it is, numbers stay
            # numbers.
            if any(
                column.codes[group.people].min() != column.codes[group.people].max()
                for group in groups
            ):
                texts: list[str | None] = [None] * self.people.people
                for group in groups:
                    text = column.text(column.codes[group.people])
                    for row in group.people.tolist():
                        texts[row] = text
                columns_shown[name] = pl.Series(name, texts, dtype=pl.String)
        return self.people.own.with_columns(columns_shown.values())
