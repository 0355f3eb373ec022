"""Evening out how many rows people have: who is alike by the own columns has as many rows as some
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.core.fields import Fields
from sfumato.core.parameters import parameters
from sfumato.data.relational.knowledge import Persons
from sfumato.data.relational.models import PersonsModel
from sfumato.data.relational.persons import aims
from sfumato.data.relational.promises import require_tables
from sfumato.data.relational.steps import (
    BUDGET,
    KeptPlan,
    RowsStep,
    chosen,
    left_alone,
    rows_within,
)
from sfumato.data.relational.summaries import rows_gone
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.data.relational.tables import RelatedTables


@parameters
class EvenCounts(RowsStep):
    r"""Rows go until everybody has as many rows, in every table, as at least k − 1 others who are
    alike by the own columns; everybody stays.

    A step for persons_k_anonymity with ``knows: counts``. The persons of a class are put in the
    order of how many rows they have, cut into groups of at least k, and everybody in a group keeps
    as many rows of every table, drawn at random, as the one who has fewest; tables further down
    come after those above them. With one table below the people no other groups lose fewer rows:

    .. math:: \min_{\text{groups of at least } k} \sum_G \sum_{i \in G} \bigl(n_i -
        \min_{j \in G} n_j\bigr)

    with several the order is that of all rows together, and there may be better groups. Classes of
    fewer than k persons cannot be mended so: they are left alone, with a warning; let
    suppress_persons follow. Beyond ``budget`` the recipe is unsatisfiable.

    Reference: Hansen & Mukherjee 2003, doi:10.1109/TKDE.2003.1209020, for the best groups of
    numbers in a row.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> from sfumato.data.relational.models import PersonsKAnonymity
    >>> goal = Goal(models=(PersonsKAnonymity(2, "counts", own=False),), seed=Seed(1))
    >>> sorted(EvenCounts().plan(examples.clinic(), goal).describe())
    ['rows_dropped', 'share_dropped']
    """

    budget: BUDGET = 1.0

    name: ClassVar[str] = "even_counts"
    tells: ClassVar[tuple[str, ...]] = ("rows_dropped", "share_dropped")

    def plan(self, people: Any, goal: Goal) -> KeptPlan:
        """Choose groups, and draw the rows that stay."""
        tables = require_tables(people, self.name)
        # Without a join nobody can count the rows of a person of the people's table.
        if tables.split:
            raise ParameterError(
                f"{self.name}: the tables no longer join with the people; place it before the split"
            )
        models = [model for model in aims(self.name, goal) if isinstance(model, PersonsModel)]
        count_models = [model for model in models if model.counts_to_even is not None]
        if not count_models:
            raise ParameterError(
                f"{self.name} serves persons_k_anonymity with knows: counts, which the recipe "
                "lacks; add that promise, or remove the step"
            )
        # One k for all such promises: the largest serves the others too.
        k = max(model.counts_to_even or 1 for model in count_models)
        classes = Persons.of(tables.shown(), own=any(model.own for model in count_models)).classes
        groups = even_groups(classes, _all_rows(tables), k)
        retained_rows, remaining = list[Mapping[str, "NDArray[np.bool_]"]](), tables
        # From the top down: rows that go take rows below them along, and only what is left then is
        # evened.
        for rows in tables.below:
            stays = _evened(remaining, rows.name, groups, goal)
            if not stays.all():
                retained_rows.append({rows.name: stays})
                remaining = remaining.kept(retained_rows[-1])
        before, after = (
            {rows.name: len(rows) for rows in tables_now.below}
            for tables_now in (tables, remaining)
        )
        facts = rows_within(
            self.budget, before, after, step=self.name, first="recode the own columns"
        )
        # Persons whose class is too small for any group; nothing was done about them.
        short = int((np.bincount(classes, minlength=1)[classes] < k).sum())
        return KeptPlan(tuple(retained_rows), facts, left_alone(self.name, short))

    @classmethod
    def story(cls, facts: Fields) -> str:
        """What was done, in a sentence."""
        return (
            "Rows were removed until enough people have the same numbers of them: "
            f"{rows_gone(facts['rows_dropped'], facts['share_dropped'])}."
        )


def _all_rows(tables: RelatedTables) -> NDArray[np.int64]:
    """Per person the number of rows in all tables below."""
    total = np.zeros(tables.people, dtype=np.int64)
    for rows in tables.below:
        total += tables.per_person(rows.name)
    return total


def _evened(
    tables: RelatedTables, table: str, groups: NDArray[np.int64], goal: Goal
) -> NDArray[np.bool_]:
    """The rows of a table that stay when everybody has as many as the one of the group who has
    fewest; who is in no group keeps all.
    """
    counts = tables.per_person(table)
    grouped = groups >= 0
    # Per group the fewest rows of a member; begins above any count.
    fewest = np.full(int(groups.max(initial=-1)) + 1, np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(fewest, groups[grouped], counts[grouped])
    row_limits = counts.copy()
    row_limits[grouped] = fewest[groups[grouped]]
    return chosen(tables[table].owner, row_limits, goal.stream(f"even_counts: rows of {table}"))


def even_groups(classes: NDArray[np.int64], counts: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Per person the number of a group of at least ``k`` within the class whose counts are near; −1
    in classes of fewer than k.

    >>> even_groups(np.array([0, 0, 0, 0, 1]), np.array([9, 1, 8, 1, 5]), 2).tolist()
    [1, 0, 1, 0, -1]
    """
    groups = np.full(len(classes), -1, dtype=np.int64)
    # By class, and within a class by rising counts: near counts are neighbours.
    order = np.lexsort((counts, classes))
    # Where a class begins; the first class is 0, so −1 before it marks its begin as well.
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    number = 0
    for begin, end in zip(starts, [*starts[1:], len(order)], strict=True):
        if end - begin < k:
            continue
        for first, last in best_cuts(counts[order[begin:end]].tolist(), k):
            groups[order[begin + first : begin + last]] = number
            number += 1
    return groups


def best_cuts(counts: list[int], k: int) -> list[tuple[int, int]]:
    """Ascending counts cut into stretches of at least ``k``, so that the least is lost when each
    falls to its smallest.

    A stretch of 2k or more is no worse as two. The best way to cut the first *j* is found from the
    best ways to cut fewer.

    >>> best_cuts([1, 1, 8, 9], 2), best_cuts([1, 2, 2, 2, 9], 2)
    ([(0, 2), (2, 4)], [(0, 2), (2, 5)])
    """
    size = len(counts)
    # Sums from the start, so that the rows of any stretch are a difference of two of them.
    sums = [0]
    for count in counts:
        sums.append(sums[-1] + count)
    # The loss is at most all rows, so one more stands for: not possible yet.
    smallest_loss, cut = [0] + [sums[-1] + 1] * size, [0] * (size + 1)
    for end in range(k, size + 1):
        # Stretches of k to 2k − 1; longer ones are covered by two shorter ones.
        for begin in range(max(0, end - 2 * k + 1), end - k + 1):
            # Everybody of the stretch falls to its first count, which is the smallest.
            lost = smallest_loss[begin] + sums[end] - sums[begin] - counts[begin] * (end - begin)
            if lost < smallest_loss[end]:
                smallest_loss[end], cut[end] = lost, begin
    # Back from the end: every best end knows where its stretch began.
    cuts, end = list[tuple[int, int]](), size
    while end:
        cuts.append((cut[end], end))
        end = cut[end]
    return cuts[::-1]
