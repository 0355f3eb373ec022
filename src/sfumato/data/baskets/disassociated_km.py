"""The promise of baskets that were taken apart (disassociation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sfumato.core.data import Evidence
from sfumato.core.model import Facts, make_verdict
from sfumato.core.parameters import parameters
from sfumato.data.baskets.disassociated import Cluster, Disassociated
from sfumato.data.baskets.models import NOBODY, RAISED, BasketModel, K, M
from sfumato.methods.formulas import itemsets
from sfumato.methods.formulas.itemsets import ItemSets

if TYPE_CHECKING:
    from sfumato.core.model import Verdict


@parameters
class DisassociatedKm(BasketModel):
    r"""Baskets that were taken apart: for at most m known items some way to put them together has k
    people with all of them.

    Every chunk is k^m-anonymous, no bare item stands in a chunk, every cluster has at least k
    people, and

    .. math:: \sum_i |C_i| + (k-1)|C_T| \ge |P| + k(h-1), \quad h = \min(m, \text{chunks})

    with *P* the people of a cluster, :math:`C_i` the parts of chunk *i* and :math:`C_T` the bare
    items. The published rule asks this only where there are no bare items, and somebody who knows
    that these have fewer than k carriers breaks it; ours always asks. It says that k carriers are
    possible, not that they are likely, and of a known bare item only that it is somewhere in the
    cluster.

    Reference: Terrovitis, Liagouris, Mamoulis & Skiadopoulos 2012, doi:10.14778/2336664.2336668.
    """

    k: K
    m: M

    name: ClassVar[str] = "disassociated_km"
    facts: ClassVar[Facts] = Facts(against="identity")
    about_items: ClassVar[bool] = False

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}{str(self.m).translate(RAISED)}-disassociation"

    @property
    def crowd(self) -> int:
        """The k."""
        return self.k

    def judge(self, evidence: Evidence) -> Verdict:
        """Every cluster by itself."""
        people = evidence.data
        if not isinstance(people, Disassociated):
            sentence = "the baskets were not disassociated; judge them by km_anonymity"
            return make_verdict(
                self,
                holds=False,
                attained=None,
                required=self.k,
                sentence=sentence,
                people=people.people,
            )
        wrong = [cluster for cluster in people.clusters if not self.allows(cluster)]
        sentence = (
            f"all {len(people.clusters):,} clusters hold: any {self.m} known items can be "
            f"reconstructed for at least {self.k:,} people"
        )
        if wrong:
            sentence = (
                f"{len(wrong):,} of {len(people.clusters):,} clusters can be reconstructed in too "
                "few ways"
            )
        if not people.clusters:
            sentence = NOBODY
        return make_verdict(
            self,
            holds=not wrong and bool(people.clusters),
            attained=None,
            required=self.k,
            sentence=sentence,
            broken=len(wrong),
            people=sum(cluster.size for cluster in wrong),
            crowd=self.k,
        )

    def allows(self, cluster: Cluster) -> bool:
        """Whether one cluster keeps the promise."""
        parts = sum(map(len, cluster.chunks))
        # All items of each chunk, to see that none stands in two chunks.
        items = [frozenset().union(*chunk) for chunk in cluster.chunks]
        # Known items lie in at most m different chunks.
        joined = min(self.m, len(cluster.chunks))
        enough = parts + (self.k - 1) * len(cluster.terms) >= cluster.size + self.k * (joined - 1)
        # If sizes add up to that of the union, no item is counted twice: chunks and bare items are
        # apart.
        apart = sum(map(len, items)) + len(cluster.terms) == len(cluster.terms.union(*items))
        # A chunk has parts, and nobody has two parts in one chunk.
        sound = apart and all(0 < len(chunk) <= cluster.size for chunk in cluster.chunks)
        return (
            cluster.size >= self.k
            and enough
            and sound
            and all(self.kept_by(chunk) for chunk in cluster.chunks)
        )

    def kept_by(self, chunk: tuple[frozenset[str], ...]) -> bool:
        """Whether the parts of one chunk are k^m-anonymous."""
        names = {item: code for code, item in enumerate(sorted(frozenset().union(*chunk)))}
        sets = ItemSets.of([[names[item] for item in part] for part in chunk], len(names))
        return not len(itemsets.violating(sets, self.m, self.k, limit=0))
