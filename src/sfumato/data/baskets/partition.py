"""Local recoding: people with like baskets form parts, and each part is generalised by itself."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.cuts import AprioriSearch
from sfumato.data.baskets.models import BasketModel
from sfumato.data.baskets.plans import BasketPlan, BasketStep, aims, losses, require_reached
from sfumato.methods.formulas.itemsets import ItemSets, rank_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.data.baskets.taxonomy import Taxonomy

WORD = 62
"""Children of a node that one number distinguishes, one bit each."""


@parameters
class BasketPartition(BasketStep):
    """Divides people top down into parts whose baskets are alike, and gives all of a part the same
    generalised basket.

    All begin as the top of the hierarchy. A node of a part is split by which of its children each
    basket has: groups of at least k people go on with these children, the others keep the node, and
    while these are fewer than k the smallest group joins them. The node whose split leaves the
    least loss is taken, and parts are split until none can be. So every basket as a whole is that
    of k people, and k^m-anonymity holds for every m. Baskets without items stay as they are.

    Reference: He & Naughton 2009, doi:10.14778/1687627.1687733.

    >>> from sfumato import examples
    >>> from sfumato.data.baskets.models import BasketKAnonymity
    >>> from sfumato.core.step import Goal
    >>> people, step = examples.baskets(), BasketPartition()
    >>> step.plan(people, Goal(models=(BasketKAnonymity(2),))).describe()
    {'parts': 4, 'smallest_part': 2, 'ncp': 0.285714}
    """

    name: ClassVar[str] = "basket_partition"
    tells: ClassVar[tuple[str, ...]] = ("parts", "smallest_part", "ncp")

    def plan(self, people: Any, goal: Goal) -> BasketPlan:
        """Divide the people."""
        models = aims(
            self.name,
            people,
            goal,
            _by_whole_baskets,
            "k-anonymity of whole baskets and k^m-anonymity among all people",
        )
        k = max(model.crowd for model in models)
        parts = divided(people, k)
        nodes = np.full(len(people.sets.items), people.taxonomy.root, dtype=np.int64)
        for part in parts:
            # An occurrence belongs to one part only; the nodes of all parts together are the
            # release.
            nodes[part.places] = part.nodes
        plan = _build_plan(people, nodes, [len(part.people) for part in parts])
        require_reached(self.name, models, self.apply(people, plan), "ask for a smaller k")
        return plan


def _by_whole_baskets(model: BasketModel) -> bool:
    return model.coarser_keeps and model.about_items and not model.within_classes


def _build_plan(people: Baskets, nodes: NDArray[np.int64], sizes: list[int]) -> BasketPlan:
    """The plan that gives every item that somebody has a node."""
    labels = people.taxonomy.labels
    sets = ItemSets.of_pairs(people.sets.owners, nodes, people.people, len(labels))
    facts = {
        "parts": len(sizes),
        "smallest_part": min(sizes),
        "ncp": round(losses(people, nodes), 6),
    }
    return BasketPlan(sets, labels, facts)


@dataclasses.dataclass(frozen=True, eq=False)
class LikePeople:
    """Some people, the places of their items in ``sets.items``, and the node that stands for
    each.
    """

    people: NDArray[np.int64]
    places: NDArray[np.int64]
    owners: NDArray[np.int64]
    nodes: NDArray[np.int64]

    def chosen(self, people: NDArray[np.bool_], nodes: NDArray[np.int64]) -> LikePeople:
        """Some of the people with other nodes; ``people`` marks them, by their number within the
        part.
        """
        is_kept = people[self.owners]
        # People are renumbered within the part: marks 1,0,1 → numbers 0,·,1.
        numbers = np.cumsum(people) - 1
        return LikePeople(
            self.people[people], self.places[is_kept], numbers[self.owners[is_kept]], nodes[is_kept]
        )


def divided(people: Baskets, k: int) -> list[LikePeople]:
    """Parts of at least k people with the same nodes, as fine as splitting node by node makes
    them.
    """
    # Empty baskets have nothing to split by; they are in no part and stay as they are.
    filled = np.flatnonzero(people.sets.lengths > 0)
    numbers = np.full(people.people, -1, dtype=np.int64)
    numbers[filled] = np.arange(len(filled))
    every = np.arange(len(people.sets.items), dtype=np.int64)
    top = np.full(len(every), people.taxonomy.root, dtype=np.int64)
    waiting = [LikePeople(filled, every, numbers[people.sets.owners], top)]
    parts_done: list[LikePeople] = []
    # Depth first or breadth first makes no difference: parts are split independently.
    while waiting:
        part = waiting.pop()
        finer = _split(people, part, k)
        if finer is None:
            parts_done.append(part)
        else:
            waiting.extend(finer)
    return parts_done


def _split(people: Baskets, part: LikePeople, k: int) -> list[LikePeople] | None:
    """The parts that come of the best split, or None where no node can be split."""
    taxonomy = people.taxonomy
    best: tuple[float, str, NDArray[np.int64], NDArray[np.int64]] | None = None
    for node in np.unique(part.nodes).tolist():
        # Items have nothing below them.
        if node < taxonomy.items:
            continue
        option = _groups(people.sets.items, part, node, taxonomy, k)
        if option is None:
            continue
        groups, nodes = option
        # Rounded, so that equal losses tie, and the name decides and not the order of additions.
        remaining_loss = round(float(taxonomy.loss[nodes].sum()), 9)
        if best is None or (remaining_loss, taxonomy.labels[node]) < best[:2]:
            best = (remaining_loss, taxonomy.labels[node], groups, nodes)
    if best is None:
        return None
    _, _, groups, nodes = best
    return [part.chosen(groups == group, nodes) for group in np.unique(groups).tolist()]


def _groups(
    items: NDArray[np.int32], part: LikePeople, node: int, taxonomy: Taxonomy, k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Who goes with whom when a node is split (−1: those who keep it), and the nodes of all items
    then; None where no group stands.
    """
    children = taxonomy.children[node]
    # Per item the number of the child it is below, −1 where it is not under the node.
    child = np.full(taxonomy.items, -1, dtype=np.int64)
    for number, below in enumerate(children):
        child[taxonomy.under(below)] = number
    inside = part.nodes == node
    own = child[items[part.places]]
    groups = _alike(own[inside], part.owners[inside], len(children), len(part.people))
    sizes = np.bincount(groups)
    standing = sizes >= k
    remaining = int(sizes[~standing].sum())
    # Who keeps the node must be a crowd as well, or nobody at all.
    while 0 < remaining < k and standing.any():
        smallest = int(np.flatnonzero(standing)[np.argmin(sizes[standing])])
        standing[smallest] = False
        remaining += int(sizes[smallest])
    if not standing.any():
        return None
    # Groups that do not stand are one group now: all in it keep the node, whatever they have below.
    groups = np.where(standing[groups], groups, -1)
    finer = inside & (groups[part.owners] >= 0)
    # Occurrences outside the node have no child (−1); ``finer`` leaves them as they are.
    nodes = np.where(finer, np.array(children, dtype=np.int64)[np.maximum(own, 0)], part.nodes)
    return groups, nodes


def _alike(
    own: NDArray[np.int64], owners: NDArray[np.int64], children: int, people: int
) -> NDArray[np.int64]:
    """The number of the group of people who have the same children of a node."""
    # As many numbers a person as 62 bits each need: 130 children → 3.
    words = -(-children // WORD)
    masks = np.zeros((people, words), dtype=np.int64)
    # Plain assignment would keep one child for each person; this adds the bits of all of them.
    np.bitwise_or.at(masks, (owners, own // WORD), np.int64(1) << (own % WORD))
    _, groups = np.unique(masks, axis=0, return_inverse=True)
    return groups.reshape(-1).astype(np.int64)


@parameters
class BlockRecoding(BasketStep):
    """Puts people with like baskets into blocks and cuts the item hierarchy of each block by itself
    (LRA).

    People are put into the order of the Gray code of their items, the most frequent ones first, so
    that neighbours have much in common; blocks of ``size`` people follow each other, and each gets
    the cut of :class:`ItemRecoding`. A set has no carriers in a block or at least k, so
    k^m-anonymity holds for all together.

    Reference: Terrovitis, Mamoulis & Kalnis 2011, doi:10.1007/s00778-010-0192-8.
    """

    size: Annotated[int, Field(ge=2, description="least number of people in a block")] = 1000

    name: ClassVar[str] = "block_recoding"
    tells: ClassVar[tuple[str, ...]] = ("parts", "smallest_part", "ncp")

    def plan(self, people: Any, goal: Goal) -> BasketPlan:
        """Make the blocks and find their cuts."""
        models = aims(self.name, people, goal, _by_small_sets, "k^m-anonymity among all people")
        set_promises = sorted(
            {model.small_sets for model in models if model.small_sets is not None}
        )
        # A block of fewer than k people could not keep the promise by itself.
        blocks = _blocks(people, max(self.size, *(k for k, _ in set_promises)))
        nodes = np.empty(len(people.sets.items), dtype=np.int64)
        for block in blocks:
            sets = people.sets.taken(block)
            # Every block begins at the items themselves: that is what makes the recoding local.
            cut = np.arange(people.taxonomy.items, dtype=np.int64)
            for k, m in set_promises:
                cut = AprioriSearch(sets, people.taxonomy, k, m, goal.progress, cut).run()
            # With a single block there is nothing to search for.
            if len(blocks) > 1:
                block_entries = np.isin(people.sets.owners, block)
            else:
                block_entries = np.ones(len(nodes), dtype=bool)
            nodes[block_entries] = cut[people.sets.items[block_entries]]
        plan = _build_plan(people, nodes, [len(block) for block in blocks])
        require_reached(self.name, models, self.apply(people, plan), "use item_recoding")
        return plan


def _by_small_sets(model: BasketModel) -> bool:
    return model.small_sets is not None and not model.within_classes


def _blocks(people: Baskets, size: int) -> list[NDArray[np.int64]]:
    """People with items in Gray order, cut into blocks of at least ``size``; the last takes the
    rest.
    """
    # who has the same items is put into blocks by the own columns, not by the place in the file
    alike = people.by_content()
    order = alike[gray_order(people.sets.taken(alike))]
    order = order[people.sets.lengths[order] > 0]
    # The last block takes the rest, since a short one of its own might have too few carriers.
    count = max(1, len(order) // size)
    starts = [number * size for number in range(count)]
    ends = [*starts[1:], len(order)]
    return [order[start:end] for start, end in zip(starts, ends, strict=True)]


def gray_order(sets: ItemSets) -> NDArray[np.int64]:
    """People by the rank of their items, as a word of bits (frequent items first), in the reflected
    Gray code.

    The rank has bit *j* set where the number of items up to *j* is odd. So the later the first item
    the smaller the rank, then the later the second the larger, and so on by turns; who has no
    further item has it at the very end.

    >>> gray_order(ItemSets.of([[0], [0, 1], [1], []])).tolist()
    [3, 0, 1, 2]
    """
    work, _ = rank_items(sets)
    last = work.size
    longest = int(work.lengths.max(initial=0))
    keys = []
    for depth in range(longest):
        is_deep = work.lengths > depth
        # ranked: rare items first, so the place from the end is the rank by falling support
        column = np.full(len(work), last, dtype=np.int64)
        column[is_deep] = last - 1 - work.items[work.pointers[1:][is_deep] - 1 - depth]
        # By turns, as the reflected code runs backwards wherever the number of items before is odd.
        keys.append(-column if depth % 2 == 0 else column)
    # The last key counts most here, so the first item must come last.
    if keys:
        return np.lexsort(keys[::-1]).astype(np.int64)
    return np.arange(len(sets), dtype=np.int64)
