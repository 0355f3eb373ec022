"""Global recoding: one cut of the item hierarchy for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.words import join_words
from sfumato.data.baskets import cuts
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.models import BasketModel
from sfumato.data.baskets.plans import BasketPlan, BasketStep, aims, failing, require_reached
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

WORK = 2_000_000
"""People times cuts up to which ``auto`` tries all cuts."""


def recoded(people: Baskets, cut: NDArray[np.int64]) -> Baskets:
    """Everybody's items as the nodes of a cut."""
    labels = people.taxonomy.labels
    return people.with_sets(people.sets.mapped(cut, len(labels)), labels)


@parameters
class ItemRecoding(BasketStep):
    """Generalises items along their hierarchy, the same way for everybody, as little as the
    promises allow.

    A *cut* gives every item itself or a node above it. ``optimal`` tries all cuts by rising loss
    (NCP); ``apriori`` looks at sets of 1, 2, … m items and lets nodes of those with too few
    carriers climb, the cheapest way, until none is left; ``auto`` is optimal where there are few
    cuts. Coarser cuts keep k^m-anonymity and k-anonymity of whole baskets, so there always is a cut
    that does. Not so for coherence and ρ-uncertainty: only ``optimal`` takes them into account, and
    where no cut keeps them they are left to steps that follow.

    Where we differ from the paper: several nodes of a set may climb at once, if that loses less
    than one that climbs higher.

    Reference: Terrovitis, Mamoulis & Kalnis 2008, doi:10.14778/1453856.1453874.

    >>> from sfumato import examples
    >>> from sfumato.data.baskets.models import KmAnonymity
    >>> from sfumato.core.step import Goal
    >>> people, step = examples.baskets(), ItemRecoding()
    >>> step.apply(people, step.plan(people, Goal(models=(KmAnonymity(2, 2),)))).labels
    ('A', 'B', 'C')
    """

    algorithm: Annotated[
        Literal["auto", "apriori", "optimal"], Field(description="how the cut is searched")
    ] = "auto"
    most: Annotated[int, Field(ge=1, description="most cuts that optimal tries")] = 20_000

    name: ClassVar[str] = "item_recoding"
    tells: ClassVar[tuple[str, ...]] = ("nodes", "items_kept", "nodes_per_level", "ncp")

    def plan(self, people: Any, goal: Goal) -> BasketPlan:
        """Find the cut."""
        fits = "promises that a coarser cut preserves (km_anonymity, basket_k_anonymity)"
        # Asked before :func:`aims`, as it decides which promises fit; what :func:`aims` refuses has
        # no taxonomy to count, so that is asked first.
        exact = isinstance(people, Baskets) and bool(people.filled) and self._exact(people)
        models = aims(
            self.name,
            people,
            goal,
            lambda model: _reachable(model) or (exact and model.about_items),
            fits,
        )
        search = None
        # Exact search may find that no cut keeps all promises. Then those that some cut always
        # keeps are searched for, and the others are named in a warning.
        cut = self._optimal(people, models) if exact else None
        unreachable: list[str] = []
        if cut is None:
            reachable = [model for model in models if _reachable(model)]
            unreachable = [model.promise for model in models if model not in reachable]
            models = reachable or models  # with nothing in reach, the nearest miss is told
            cut, search = self._apriori(people, models, goal)
        require_reached(
            self.name, models, recoded(people, cut), "use suppress_items or basket_partition"
        )
        return _build_plan(people, cut, {} if search is None else search, unreachable)

    def _exact(self, people: Baskets) -> bool:
        """Whether all cuts are tried."""
        number = cuts.number_of_cuts(people.taxonomy, self.most)
        if self.algorithm == "optimal" and number > self.most:
            raise ParameterError(
                f"item_recoding: there are more than {self.most:,} cuts; use apriori, or a smaller"
                " hierarchy"
            )
        return self.algorithm == "optimal" or (
            # Every cut is judged on all people, so the work is their product.
            self.algorithm == "auto" and number <= min(self.most, WORK // (people.people + 1))
        )

    def _optimal(self, people: Baskets, models: list[BasketModel]) -> NDArray[np.int64] | None:
        """The cheapest cut that keeps all promises (ties: the names of its nodes); None where there
        is none.
        """
        labels, supports = people.taxonomy.labels, people.sets.supports
        # Names settle ties, so that the result does not depend on how the hierarchy is written.
        priced = []
        for cut in cuts.all_cuts(people.taxonomy):
            cost = round(cuts.cost(cut, supports, people.taxonomy), 12)
            priced.append((cost, sorted(labels[node] for node in set(cut.tolist())), cut))
        priced.sort(key=lambda priced_cut: priced_cut[:2])
        # By rising cost, so the first that passes is the cheapest.
        return next(
            (cut for _, _, cut in priced if not failing(models, recoded(people, cut))), None
        )

    def _apriori(
        self, people: Baskets, models: list[BasketModel], goal: Goal
    ) -> tuple[NDArray[np.int64], Document]:
        cut = np.arange(people.taxonomy.items, dtype=np.int64)
        rounds = climbs = 0
        # Sorted by k, then m: each search goes on from the cut of the one before, which is only
        # raised.
        for k, m in sorted({model.small_sets for model in models if model.small_sets is not None}):
            search = cuts.AprioriSearch(people.sets, people.taxonomy, k, m, goal.progress, cut)
            cut = search.run()
            rounds, climbs = rounds + search.rounds, climbs + len(search.climbs)
        return people.taxonomy.lowest[_raised(people, cut, models)], {
            "rounds": rounds,
            "climbs": climbs,
        }


def _reachable(model: BasketModel) -> bool:
    """Whether some cut always keeps it."""
    return model.coarser_keeps and model.about_items and not model.within_classes


def _raised(
    people: Baskets, cut: NDArray[np.int64], models: list[BasketModel]
) -> NDArray[np.int64]:
    """The cut, and where promises ask for more than small sets, raised level by level as a whole
    until they hold.
    """
    # Small sets are not all that k-anonymity of whole baskets asks for.
    if not failing(models, recoded(people, cut)):
        return cut
    taxonomy = people.taxonomy
    for level in range(1, taxonomy.height + 1):
        lowest = taxonomy.at_level(level)
        # Never below the cut that was found: what climbed higher stays there.
        raised = np.where(taxonomy.level[lowest] > taxonomy.level[cut], lowest, cut)
        if not failing(models, recoded(people, raised)):
            return raised
    # With one node for all, everybody with items has the same basket.
    return np.full(taxonomy.items, taxonomy.root, dtype=np.int64)


def _build_plan(
    people: Baskets, cut: NDArray[np.int64], work: Document, unreachable: list[str]
) -> BasketPlan:
    taxonomy = people.taxonomy
    nodes = np.unique(cut)
    warned = (
        (
            (
                f"no cut of the hierarchy reaches {join_words(unreachable)}: the steps that follow "
                "must reach it"
            ),
        )
        if unreachable
        else ()
    )
    facts = {
        "nodes": len(nodes),
        # Nodes below this number are items themselves.
        "items_kept": int((nodes < taxonomy.items).sum()),
        "nodes_per_level": {
            str(level): int(n) for level, n in enumerate(np.bincount(taxonomy.level[nodes])) if n
        },
        "ncp": round(cuts.cost(cut, people.sets.supports, taxonomy), 6),
    }
    return BasketPlan(
        people.sets.mapped(cut, len(taxonomy.labels)),
        taxonomy.labels,
        facts,
        work=work,
        warned=warned,
    )
