"""What baskets are still worth: how much of every item is left, which frequent sets, and the
supports of pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.data import Pair
from sfumato.core.metric import Measure, Utility
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import percent
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.knowledge import Sight
from sfumato.data.baskets.taxonomy import Taxonomy
from sfumato.errors import ParameterError
from sfumato.methods.formulas import itemsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SETS = 200_000
"""Frequent sets that are compared, at most."""


def _applies(original: Any, released: object) -> str | None:
    if not isinstance(released, Baskets):
        return "the baskets were disassociated; measure the reconstructed ones (reconstructed)"
    return None if original.filled else "nobody has an item"


def _sight(original: Baskets, released: Baskets) -> Sight:
    # A release without origins has the people of the original in their order.
    if released.origin is None:
        origin = np.arange(released.people, dtype=np.int64)
    else:
        origin = released.origin
    return Sight(original, released, origin)


@parameters
class ItemNcp(Utility):
    r"""How much of what people have is lost: 0 for an item that is there, 1 for one that is gone.

    .. math:: \frac{1}{\sum_t |t|} \sum_t \sum_{i\in t} \frac{L(i, t)}{|I|}

    *L(i, t)* is the number of items below the node that stands for item *i* in the released basket
    of *t* (0 for the item itself, all
    :math:`|I|` where nothing does: it was deleted, or the person left out). Without a hierarchy an
    item is there or gone.

    Reference: Terrovitis, Mamoulis & Kalnis 2008, doi:10.14778/1453856.1453874 (normalised
    certainty penalty).
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "item_ncp"
    title: ClassVar[str] = "Item loss (NCP)"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """Wherever people still have baskets."""
        original, released = pair.original, pair.released
        return _applies(original, released)

    def measure(self, pair: Pair) -> Measure:
        """The mean loss over the items that people had."""
        original, released = pair.original, pair.released
        losses = occurrence_losses(original, released)
        whole, gone = float((losses == 0).mean()), float((losses >= 1).mean())
        if whole + gone < 1:
            group = f", {percent(1 - whole - gone)} as a group"
        else:
            group = ""
        meaning = (
            f"{percent(whole)} of all items are released unchanged{group}, {percent(gone)} are lost"
        )
        return Measure(self.name, float(losses.mean()), self.better, meaning)


def occurrence_losses(original: Baskets, released: Baskets) -> NDArray[np.float64]:
    """Per item that somebody has (in the order of ``sets.items``) what is lost of it."""
    sight = _sight(original, released)
    sets, width = released.sets, max(released.sets.size, 1)
    # One number for (person, item); the entries are sorted by it, so it can be searched for.
    pairs = sets.owners * width + sets.items
    where = sight.where[original.sets.owners]
    # Lost, unless something below is found that stands for the item.
    losses = np.ones(len(original.sets.items))
    weight = _released_losses(original, released)
    deepest = max(map(len, sight.codes), default=0)
    # the lowest node that is there counts, so it is looked for last
    for height in range(deepest - 1, -1, -1):
        code = np.array(
            [codes[height] if height < len(codes) else -1 for codes in sight.codes], dtype=np.int64
        )
        own = code[original.sets.items]
        keys = where * width + own
        # A number behind the last one is not there; it is moved inside to be compared, and differs.
        at = np.minimum(np.searchsorted(pairs, keys), max(len(pairs) - 1, 0))
        if len(pairs):
            is_released = (own >= 0) & (where >= 0) & (pairs[at] == keys)
        else:
            is_released = np.zeros(len(keys), dtype=bool)
        losses[is_released] = weight[own[is_released]]
    return losses


def _released_losses(original: Baskets, released: Baskets) -> NDArray[np.float64]:
    """What each released item loses, by the hierarchy of the original."""
    if not original.has_taxonomy:
        return np.zeros(len(released.labels))
    taxonomy = original.taxonomy
    losses_by_label = {
        taxonomy.labels[node]: float(taxonomy.loss[node]) for node in range(len(taxonomy.labels))
    }
    # A label that the hierarchy does not have says nothing about the item: all is lost.
    return np.array([losses_by_label.get(label, 1.0) for label in released.labels])


Share = Annotated[
    float, Field(gt=0, le=1, description="share of people from which a set is frequent")
]


@parameters
class ItemsetSurvival(Utility):
    """Which frequent sets of items can still be found, of at most ``items`` items that the share
    ``support`` of people have.

    The share of the original's frequent sets that are frequent in the release under the very same
    items. Beside it, for each level of the hierarchy, the same with both lifted to that level (a
    released group that stands higher is found on no lower level), and *ghosts*: sets that are
    frequent in the release and were not. 1 where there are no frequent sets.

    Reference: Terrovitis, Mamoulis & Kalnis 2011, doi:10.1007/s00778-010-0192-8, who ask the same
    of top-ranked sets.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    support: Share = 0.01
    items: Annotated[int, Field(ge=1, le=6, description="most items of a set")] = 3

    name: ClassVar[str] = "itemset_survival"
    title: ClassVar[str] = "Frequent sets kept"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def applies(self, pair: Pair) -> str | None:
        """Wherever people still have baskets."""
        original, released = pair.original, pair.released
        return _applies(original, released)

    def measure(self, pair: Pair) -> Measure:
        """Compare the frequent sets."""
        original, released = pair.original, pair.released
        taxonomies = [_taxonomy(original, people) for people in (original, released)]
        # Level 0 is the items as they are. The level of the root is left out: everything is one
        # there.
        height = 1
        if original.has_taxonomy:
            height = original.taxonomy.height
        by_level = []
        for level in range(height):
            frequent_before = self._frequent(original, taxonomies[0], level)
            by_level.append((frequent_before, self._frequent(released, taxonomies[1], level)))
        (before, after), *lifted = by_level
        surviving, ghosts = len(before & after), len(after - before)
        share = surviving / len(before) if before else 1.0
        levels = {
            f"level {level}": len(was & now) / len(was) if was else 1.0
            for level, (was, now) in enumerate(lifted, start=1)
        }
        meaning = (
            f"of {len(before):,} frequent sets {surviving:,} are still found,"
            f" {len(before) - surviving:,} are lost and {ghosts:,} are new"
        )
        return Measure(
            self.name, share, self.better, meaning, per_column={**levels, "new sets": float(ghosts)}
        )

    def _frequent(
        self, people: Baskets, taxonomy: Taxonomy | None, level: int
    ) -> set[frozenset[str]]:
        """Frequent sets by the labels of their items, all lifted to a level; none has an item that
        stands higher.
        """
        sets, labels = people.sets, people.labels
        if taxonomy is not None:
            sets, labels = _lifted(people, taxonomy, level)
        # The share is of the people of this file; at least 1, as a set that nobody has is not
        # frequent.
        smallest_support = max(1, int(np.ceil(self.support * people.people)))
        try:
            itemsets_found = itemsets.frequent(sets, self.items, smallest_support, MOST_SETS)
        except ParameterError:
            raise ParameterError(
                f"itemset_survival: more than {MOST_SETS:,} sets are frequent; ask for a larger"
                " support"
            ) from None
        return {frozenset(labels[item] for item in itemset) for itemset in itemsets_found}


def _taxonomy(original: Baskets, people: Baskets) -> Taxonomy | None:
    """The original's hierarchy above the items of anybody: a release that was read back has none of
    its own.
    """
    hierarchy = original.schema[original.item].hierarchy
    if hierarchy is None or not people.labels:
        return None
    return Taxonomy.of(hierarchy, people.labels, original.item)


def _lifted(
    people: Baskets, taxonomy: Taxonomy, level: int
) -> tuple[itemsets.ItemSets, tuple[str, ...]]:
    """Everybody's items on a level of the hierarchy, without those that stand higher."""
    nodes = taxonomy.at_level(level)
    own_level = _levels(taxonomy)
    # What was released higher than this level cannot be said on it, so it is left out.
    image = np.where(own_level[nodes] <= level, nodes, -1)
    lifted = people.sets.mapped(image, len(taxonomy.labels))
    return lifted, taxonomy.labels


def _levels(taxonomy: Taxonomy) -> NDArray[np.int64]:
    """The level of every node; an item that is itself a group has the level of the group."""
    levels = taxonomy.level.copy()
    for item in range(taxonomy.items):
        # An item that is a group itself stands beside the groups of its level.
        above = int(taxonomy.parent[item])
        if above >= 0 and taxonomy.labels[above] == taxonomy.labels[item]:
            levels[item] = taxonomy.level[above]
        elif taxonomy.leaves[item] > 1:
            levels[item] = max(1, int(taxonomy.level[above]) - 1)
    return levels


@parameters
class PairSupportError(Utility):
    r"""How far off an analyst is who counts pairs of items in the release.

    .. math:: \frac{1}{|Q|}\sum_{(a,b)\in Q} \min\left(1,
        \frac{|\hat s(a,b) - s(a,b)|}{s(a,b)}\right)

    *Q* are the ``pairs`` most frequent ones of the original (ties by name). A released group is
    taken for each of its items with the same chance, so a pair of groups of *L* and *M* items
    counts 1/(L·M). The raw value has no limit of 1. 0 where nobody has two items.

    Reference: Terrovitis, Mamoulis & Kalnis 2011, doi:10.1007/s00778-010-0192-8 (relative error of
    pair supports).
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})

    pairs: Annotated[int, Field(ge=1, description="most frequent pairs that are compared")] = 300

    name: ClassVar[str] = "pair_support_error"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """Wherever people still have baskets."""
        original, released = pair.original, pair.released
        return _applies(original, released)

    def measure(self, pair: Pair) -> Measure:
        """Compare the supports of frequent pairs."""
        original, released = pair.original, pair.released
        top_pairs = _top_pairs(original, self.pairs)
        if not top_pairs:
            return Measure(
                self.name,
                0.0,
                self.better,
                "nobody has two items, so there are no pairs to count",
                raw=0.0,
            )
        sight = _sight(original, released)
        leaves = _leaves(original, released)
        errors = np.array(
            [
                abs(_estimated(sight, leaves, pair) - support) / support
                for pair, support in top_pairs
            ]
        )
        value = float(np.minimum(errors, 1.0).mean())
        meaning = (
            f"supports of the {len(top_pairs):,} most frequent pairs differ by {percent(value)} on "
            "average"
        )
        return Measure(self.name, value, self.better, meaning, raw=float(errors.mean()))


def _top_pairs(original: Baskets, limit: int) -> list[tuple[tuple[int, int], int]]:
    """The most frequent pairs of items, found at falling supports."""
    # Supports fall until there are enough pairs: few sets are listed where a few are very frequent.
    smallest_support = max(1, original.people // 2)
    while True:
        pairs_found = [
            (pair_count, n)
            for pair_count, n in itemsets.frequent(original.sets, 2, smallest_support).items()
            if len(pair_count) == 2
        ]
        if len(pairs_found) >= limit or smallest_support == 1:
            ordered = sorted(pairs_found, key=lambda pair_count: (-pair_count[1], pair_count[0]))
            return [((pair[0], pair[1]), n) for pair, n in ordered[:limit]]
        smallest_support = max(1, smallest_support // 4)


def _leaves(original: Baskets, released: Baskets) -> NDArray[np.float64]:
    """How many items each released one may be."""
    if not original.has_taxonomy:
        return np.ones(len(released.labels))
    taxonomy = original.taxonomy
    leaves_by_label = {
        taxonomy.labels[node]: float(taxonomy.leaves[node]) for node in range(len(taxonomy.labels))
    }
    return np.array([max(1.0, leaves_by_label.get(label, 1.0)) for label in released.labels])


def _estimated(sight: Sight, leaves: NDArray[np.float64], pair: tuple[int, int]) -> float:
    first, second = (sight.codes[item] for item in pair)
    # An item may be released under several names (itself here, a group there); what each pair of
    # names contributes is added up.
    code_pairs = [(a, b) for a in first for b in second]
    counts = itemsets.supports_of(sight.released.sets, code_pairs)
    return float(
        sum(
            n / (leaves[a] * leaves[b])
            for (a, b), n in zip(code_pairs, counts.tolist(), strict=True)
        )
    )
