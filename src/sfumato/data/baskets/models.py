"""Promises about baskets: whoever knows some items of a person finds a crowd that has them too."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.data import Evidence
from sfumato.core.model import TOLERANCE, Facts, Model, make_verdict
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import count_of, percent
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.disassociated import Disassociated
from sfumato.data.baskets.taxonomy import Taxonomy
from sfumato.errors import InternalError, SchemaError
from sfumato.methods.formulas import itemsets
from sfumato.methods.formulas.itemsets import ItemSets, Violations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Verdict

K = Annotated[int, Field(ge=1, description="smallest acceptable group")]
M = Annotated[int, Field(ge=1, le=20, description="most items an intruder knows")]
# For the written form of promises: k = 5, m = 2 → 5².
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
TAKEN_APART = (
    "the baskets were disassociated, so no person's items are together; judge them by "
    "disassociated_km"
)
MOST_COUNTED = 100_000
"""Broken sets that are counted without those that hold a smaller one; where there are more, some of
those are counted too.
"""
NOBODY = "nobody has an item, so there is nothing to judge"


class BasketModel(Model):
    """A promise about baskets, with what means need to know of it. Promises inherit this class."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    coarser_keeps: ClassVar[bool] = False
    """Whether a coarser cut of the item hierarchy always keeps it."""

    deletes: ClassVar[bool] = False
    """Whether deleting items everywhere can reach it: then :meth:`moles` tells which."""
    about_items: ClassVar[bool] = True
    """Whether it looks at baskets of items that stand together."""

    @property
    def small_sets(self) -> tuple[int, int] | None:
        """(k, m) where the promise asks that every set of at most m items has k carriers among all
        people; None: it asks otherwise.
        """
        return None

    @property
    def within_classes(self) -> bool:
        """Whether it asks the same within every class of people who are alike in their own
        columns.
        """
        return False

    @property
    def crowd(self) -> int:
        """The smallest number of people that anything can be said about."""
        return 1

    def moles(self, people: Baskets) -> NDArray[np.int32]:
        """Minimal sets that break it, of items whose deletion would mend them: a row each, −1
        behind the last item.
        """
        return np.zeros((0, 1), dtype=np.int32)

    def judge(self, evidence: Evidence) -> Verdict:
        """Judge baskets as released; those that were taken apart, or hold nothing, do not keep
        it.
        """
        # What was taken apart has no baskets to look at, and an empty file would keep any promise
        # about sets: neither may pass.
        people = evidence.data
        if isinstance(people, Disassociated):
            return make_verdict(
                self,
                holds=False,
                attained=None,
                required=None,
                sentence=TAKEN_APART,
                people=people.people,
            )
        if not people.filled:
            return make_verdict(self, holds=False, attained=None, required=None, sentence=NOBODY)
        verdict = self.judged(people)
        return dataclasses.replace(verdict, sentence=f"{verdict.sentence}{self._uncovered(people)}")

    def _uncovered(self, people: Baskets) -> str:
        """What a verdict adds where an intruder may know more than items: own columns that the
        promise does not look at.
        """
        # Only promises about people's items leave own columns open; those about the owner's rules
        # protect nobody in particular.
        if (
            not people.quasi
            or not self.about_items
            or self.within_classes
            or self.facts.protects == "owner"
        ):
            return ""
        return f" (knowledge of {', '.join(people.quasi)} besides is not covered)"

    def judged(self, people: Baskets) -> Verdict:
        """Judge baskets, some of which hold something."""
        raise InternalError(f"{self.name} does not define how baskets are judged")


def _share(count: int, people: int) -> str:
    return f"{count:,} of {people:,} people ({percent(count / people)})"


@parameters
class KmAnonymity(BasketModel):
    r"""Whoever knows at most m items of a person finds at least k people who have them all.

    .. math:: |T(q)| \ge k \quad\text{for every } q,\ 1\le|q|\le m,\ T(q)\ne\emptyset

    *T(q)* are the baskets that hold all items of *q*. Enough to look at sets of min(m, size of the
    basket) items. People without items are in no *T(q)* and are not covered; neither is knowing how
    often somebody has an item, nor what somebody does **not** have: {a}, {a, b}, {a, b} is
    2ᵐ-anonymous for every m, yet one basket is {a} alone (:class:`BasketKAnonymity` covers that).

    Reference: Terrovitis, Mamoulis & Kalnis 2008, doi:10.14778/1453856.1453874.

    >>> from sfumato import examples
    >>> KmAnonymity(2, 2).judge(Evidence(examples.baskets()))
    ✗ 2²-anonymity: 4 of 10 people (40 %) have a set of at most 2 items that fewer than 2 people
    share; the smallest number is 1
    """

    k: K
    m: M

    name: ClassVar[str] = "km_anonymity"
    deletes: ClassVar[bool] = True
    facts: ClassVar[Facts] = Facts(against="identity")
    coarser_keeps: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}{str(self.m).translate(RAISED)}-anonymity"

    @property
    def small_sets(self) -> tuple[int, int]:
        """The k and the m."""
        return self.k, self.m

    @property
    def crowd(self) -> int:
        """The k."""
        return self.k

    def judged(self, people: Baskets) -> Verdict:
        """The smallest crowd, and who has a set that fewer share."""
        # The smallest support alone decides. Sets are listed only where it is too small, for the
        # counts.
        smallest = itemsets.smallest_support(people.sets, self.m) or 0
        if smallest >= self.k:
            violations = None
        else:
            violations = itemsets.violating(people.sets, self.m, self.k, limit=MOST_COUNTED)
        concerned = 0 if violations is None else int(violations.carriers.sum())
        return make_verdict(
            self,
            holds=smallest >= self.k,
            attained=smallest,
            required=self.k,
            sentence=_crowds(self.k, self.m, smallest, concerned, people.people, "people share"),
            broken=0 if violations is None else len(violations),
            people=concerned,
            crowd=self.k,
        )

    def moles(self, people: Baskets) -> NDArray[np.int32]:
        """Minimal sets with fewer than k carriers."""
        return itemsets.violating(people.sets, self.m, self.k).members


def _crowds(k: int, m: int, smallest: int, concerned: int, people: int, subject: str) -> str:
    if smallest >= k:
        return (
            f"at least {smallest:,} {subject} every set of at most {count_of(m, 'item')} that"
            " occurs"
        )
    return (
        f"{_share(concerned, people)} have a set of at most {count_of(m, 'item')} that fewer than"
        f" {k:,} {subject}; the smallest number is {smallest:,}"
    )


@parameters
class BasketKAnonymity(BasketModel):
    """Every basket as a whole is that of at least k people: what somebody has, and what not, tells
    k people apart from nobody.

    Implies :class:`KmAnonymity` with the same k for every m. Baskets without items are not covered
    and not counted.

    Reference: He & Naughton 2009, doi:10.14778/1687627.1687733.

    >>> from sfumato import examples
    >>> BasketKAnonymity(2).judge(Evidence(examples.baskets())).attained
    1
    """

    k: K

    name: ClassVar[str] = "basket_k_anonymity"
    facts: ClassVar[Facts] = Facts(against="identity")
    coarser_keeps: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-anonymity of whole baskets"

    @property
    def crowd(self) -> int:
        """The k."""
        return self.k

    def judged(self, people: Baskets) -> Verdict:
        """The smallest number of people with the same basket."""
        codes, sizes = itemsets.whole_classes(people.sets)
        filled = people.sets.lengths > 0
        # Per person how many have the same basket. Those without items are not covered, so not
        # counted.
        own = sizes[codes][filled]
        short = int((own < self.k).sum())
        smallest = int(own.min())
        if not short:
            sentence = f"everyone shares the same items with at least {smallest - 1:,} others"
        else:
            sentence = (
                f"{_share(short, people.people)} have a basket shared by fewer than {self.k:,} "
                f"people; the smallest number is {smallest:,}"
            )
        return make_verdict(
            self,
            holds=not short,
            attained=smallest,
            required=self.k,
            sentence=sentence,
            broken=len(np.unique(codes[filled][own < self.k])),
            people=short,
            crowd=self.k,
        )


def hidden_in_groups(people: Baskets, private: tuple[str, ...]) -> int:
    """How many released groups of items hold a private one: nobody could say then how sure an
    intruder is of it.
    """
    if not people.has_taxonomy or not people.labels:
        return 0
    # A private item that no longer occurs by itself may still hide in a released group; it must be
    # in the tree for the groups above it to be seen.
    all_labels = (*people.labels, *(label for label in private if label not in people.labels))
    hierarchy = people.schema[people.item].hierarchy
    try:
        taxonomy = Taxonomy.of(hierarchy, all_labels, people.item)  # type: ignore[arg-type]
    except SchemaError as error:
        raise SchemaError(
            f"private items must be in the hierarchy of {people.item!r}: {error}"
        ) from None
    private_codes = {all_labels.index(label) for label in private}
    above = {taxonomy.labels[node] for item in private_codes for node in taxonomy.above(item)}
    # A private item released under its own name is no group, even if it is one in the hierarchy.
    own = set(private)
    return sum(label in above and label not in own for label in people.labels)


def _in_groups(model: BasketModel, groups: int) -> Verdict:
    sentence = (
        f"{groups:,} released group(s) of items include a private item, so an intruder's certainty "
        "about it is unknown; keep private items apart"
    )
    return make_verdict(
        model, holds=False, attained=None, required=None, sentence=sentence, broken=groups
    )


def parted(people: Baskets, private: tuple[str, ...]) -> tuple[ItemSets, ItemSets]:
    """The public items of everybody (numbered as before) and the private ones (numbered as they are
    listed).
    """
    codes = people.codes_of(private)
    # Two renumberings: −1 leaves an item out. Private c1, c2 → public loses both, secret has 0, 1.
    public = np.arange(people.sets.size, dtype=np.int64)
    secret = np.full(people.sets.size, -1, dtype=np.int64)
    # Private items that nobody has keep their number in the list, but have no code to map from.
    present_codes = codes[codes >= 0]
    public[present_codes] = -1
    secret[present_codes] = np.flatnonzero(codes >= 0)
    return people.sets.mapped(public, people.sets.size), people.sets.mapped(
        secret, max(len(private), 1)
    )


Items = Annotated[
    tuple[str, ...], Field(min_length=1, description="items that nobody may infer, by name")
]


@parameters
class HkpCoherence(BasketModel):
    r"""Whoever knows at most p public items finds k people, of whom at most the share h have any
    one private item.

    .. math:: |T(\beta)| \ge k, \quad \max_{e \text{ private}}
        \frac{|T(\beta\cup\{e\})|}{|T(\beta)|} \le h

    for every set β of 1 to p public items that somebody has. What is known of nobody in particular
    (β = ∅) is not tested; the verdict tells the largest base rate. A generalised group that holds a
    private item breaks the promise, and a coarser cut may break it too: crowds overlap.

    Reference: Xu, Wang, Fu & Yu 2008, doi:10.1145/1401890.1401982.

    >>> from sfumato import examples
    >>> HkpCoherence(h=0.5, k=2, p=2, private=["c1", "c2"]).judge(
    ...     Evidence(examples.baskets())
    ... ).holds
    False
    """

    h: Annotated[
        float,
        Field(gt=0, le=1, description="largest share of a group that may have one private item"),
    ]
    k: K
    p: Annotated[int, Field(ge=1, le=20, description="most public items an intruder knows")]
    private: Items

    name: ClassVar[str] = "hkp_coherence"
    deletes: ClassVar[bool] = True
    facts: ClassVar[Facts] = Facts(against="both")
    secret: ClassVar[tuple[str, ...]] = ("private",)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.h:g}, {self.k}, {self.p})-coherence"

    @property
    def crowd(self) -> int:
        """The k."""
        return self.k

    def _violations(self, people: Baskets, limit: int = itemsets.MOST_LISTED) -> Violations:
        public, secret = parted(people, self.private)
        return itemsets.violating(public, self.p, self.k, private=secret, share=self.h, limit=limit)

    def judged(self, people: Baskets) -> Verdict:
        """Who has a set of public items that breaks it."""
        if groups := hidden_in_groups(people, self.private):
            return _in_groups(self, groups)
        violations = self._violations(people)
        # People, not sets: somebody who carries several broken sets counts once.
        concerned = int(violations.carriers.sum())
        public, secret = parted(people, self.private)
        worst = violations.worst
        # what holds a set that breaks it was not looked at, and may be surer still
        if len(violations) and worst < 1:
            worst = itemsets.violating(public, self.p, 1, private=secret, share=1.0, limit=0).worst
        # What is known without knowing anybody; the verdict tells it, as it is not tested.
        base = float(secret.supports.max(initial=0)) / people.people
        occurring = int((secret.supports > 0).sum())
        private_words = (
            f"{occurring:,} of {len(self.private):,} private items occur; the most likely has a "
            f"share of {percent(base)}"
        )
        if len(violations):
            sentence = (
                f"{_share(concerned, people.people)} have a set of at most {self.p} public item(s) "
                f"with too few carriers or a too likely private item; {private_words}"
            )
        else:
            sentence = (
                f"among all who share at most {self.p} public item(s), at most {percent(worst)} "
                f"share a private item; {private_words}"
            )
        return make_verdict(
            self,
            holds=not len(violations),
            attained=worst,
            required=self.h,
            sentence=sentence,
            broken=len(violations),
            people=concerned,
            crowd=self.k,
        )

    def moles(self, people: Baskets) -> NDArray[np.int32]:
        """Minimal sets of public items that break it."""
        return self._violations(people).members


@parameters
class RhoUncertainty(BasketModel):
    r"""Whatever somebody knows of a basket, no other item of it that is sensitive follows with
    confidence ρ or more.

    .. math:: \frac{|T(\chi\cup\{\alpha\})|}{|T(\chi)|} < \rho \quad\text{for all parts } \chi
        \text{ of a basket (∅ and sensitive items too), } \alpha\notin\chi

    Exact: confidences are those of closed sets (intersections of baskets), so only they are looked
    at. There may be very many of them; beyond a limit the verdict is that nobody knows, which is no
    pass. A coarser cut may break the promise.

    Reference: Cao, Karras, Raïssi & Tan 2010, doi:10.14778/1920841.1920972; the paper leaves open
    whether χ may be empty, here it may.

    >>> from sfumato import examples
    >>> RhoUncertainty(0.6, ["c1", "c2"]).judge(Evidence(examples.baskets())).attained
    0.5
    """

    rho: Annotated[
        float, Field(gt=0, le=1, description="confidence that every rule must stay below")
    ]
    sensitive: Items
    most: Annotated[int, Field(ge=1, description="most closed sets that are examined")] = (
        itemsets.MOST_CLOSED
    )

    name: ClassVar[str] = "rho_uncertainty"
    deletes: ClassVar[bool] = True
    facts: ClassVar[Facts] = Facts(against="attribute")
    secret: ClassVar[tuple[str, ...]] = ("sensitive",)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.rho:g}-uncertainty"

    def judged(self, people: Baskets) -> Verdict:
        """The largest confidence of a rule to a sensitive item."""
        if groups := hidden_in_groups(people, self.sensitive):
            return _in_groups(self, groups)
        rules = self.rules(people)
        # An unfinished search is no proof, so the promise does not hold.
        if rules is None:
            sentence = (
                f"unknown: there are more than {self.most:,} closed sets, so not all rules were "
                "examined; raise the limit"
            )
            return make_verdict(
                self, holds=False, attained=None, required=self.rho, sentence=sentence
            )
        worst = max(rules.values(), default=0.0)
        wrong = [rule for rule, confidence in rules.items() if self._broken(confidence)]
        sentence = f"no sensitive item follows from other items with a confidence above {worst:.3g}"
        if wrong:
            sentence = (
                f"{len(wrong):,} rule(s) predict a sensitive item with a confidence of "
                f"{self.rho:g} or more; the strongest has {worst:.3g}"
            )
        return make_verdict(
            self,
            holds=not wrong,
            attained=worst,
            required=self.rho,
            sentence=sentence,
            broken=len(wrong),
            people=0,
        )

    def _broken(self, confidence: float) -> bool:
        # The confidence must stay below ρ; a ratio that only rounding puts below it does not pass.
        return confidence >= self.rho - TOLERANCE

    def rules(self, people: Baskets) -> dict[tuple[tuple[int, ...], int], float] | None:
        """(known items, sensitive item) → confidence, for the rules whose known items are closed,
        or closed but for the item itself.
        """
        closed, bits = (
            itemsets.closed_sets(people.sets, self.most),
            itemsets.carrier_bits(people.sets),
        )
        if closed is None or bits is None:
            return None
        codes = {int(code) for code in people.codes_of(self.sensitive) if code >= 0}
        confidences: dict[tuple[tuple[int, ...], int], float] = {}
        # Nothing known at all is a case too: an item that most people have is already too sure.
        for antecedent in {frozenset[int](), *closed}:
            carriers = _carriers(bits, antecedent, people.people)
            support = carriers.bit_count()
            for item in codes - antecedent:
                confidences[tuple(sorted(antecedent)), item] = (
                    carriers & bits[item]
                ).bit_count() / support
            # The other kind of rule: a sensitive item inside a closed set that its other items
            # imply. Sets that are not closed have the carriers of their closure, so they add
            # nothing new.
            for item in codes & antecedent:
                if _carriers(bits, antecedent - {item}, people.people).bit_count() == support:
                    confidences[tuple(sorted(antecedent - {item})), item] = 1.0
        return confidences

    def moles(self, people: Baskets) -> NDArray[np.int32]:
        """The items of every rule that is too sure; none where they are too many to look at."""
        rules = self.rules(people) or {}
        wrong = [
            (*antecedent, item)
            for (antecedent, item), confidence in sorted(rules.items())
            if self._broken(confidence)
        ]
        # Rules differ in length; −1 fills the rest of a row, as deletion expects it.
        rows = np.full((len(wrong), max(map(len, wrong), default=1)), -1, dtype=np.int32)
        for number, rule in enumerate(wrong):
            rows[number, : len(rule)] = rule
        return rows


def _carriers(bits: Sequence[int], items: frozenset[int], people: int) -> int:
    """Who has all of some items, one bit each."""
    # One bit a person, all of them to begin with: each known item takes those without it away.
    carriers = (1 << people) - 1
    for item in items:
        carriers &= bits[item]
    return carriers


@parameters
class OwnColumnsK(BasketModel):
    """Everyone shares all own columns that an intruder can know with at least k−1 others; items are
    not looked at.

    A missing value equals only another missing one.

    Reference: Samarati 2001, doi:10.1109/69.971193.
    """

    k: K

    name: ClassVar[str] = "k_anonymity"
    facts: ClassVar[Facts] = Facts(against="identity")
    about_items: ClassVar[bool] = False
    coarser_keeps: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-anonymity of people's own columns"

    @property
    def crowd(self) -> int:
        """The k."""
        return self.k

    def judged(self, people: Baskets) -> Verdict:
        """The smallest class."""
        _require_quasi(people, "k_anonymity")
        # Per person the size of the own class: classes 0,1,0 → sizes 2,1,2.
        sizes = np.bincount(people.classes)[people.classes]
        short, smallest = int((sizes < self.k).sum()), int(sizes.min())
        if not short:
            sentence = f"everyone shares their own columns with at least {smallest - 1:,} others"
        else:
            sentence = (
                f"{_share(short, people.people)} belong to a class of fewer than {self.k:,}; the "
                f"smallest has {smallest:,}"
            )
        return make_verdict(
            self,
            holds=not short,
            attained=smallest,
            required=self.k,
            sentence=sentence,
            broken=len(np.unique(people.classes[sizes < self.k])),
            people=short,
            crowd=self.k,
        )


def _require_quasi(people: Baskets, model: str) -> None:
    if not people.quasi:
        raise SchemaError(
            f"{model} needs at least one column of people with role quasi; these baskets have "
            "none, so give one that role or choose another promise"
        )


@parameters
class KKmAnonymity(BasketModel):
    """Whoever knows all own columns of a person and at most m items finds at least k people who
    have them all.

    Within every class of people who are alike in the columns with role quasi: at least k people,
    and k^m-anonymity. This is more than k-anonymity and k^m-anonymity apart: (x, pq), (x, r), (y,
    pq), (y, r) is 2-anonymous and 2², but of those with x one alone has p.

    Reference: Poulis, Loukides, Gkoulalas-Divanis & Skiadopoulos 2013,
    doi:10.1007/978-3-642-40994-3_23.
    """

    k: K
    m: M

    name: ClassVar[str] = "k_km_anonymity"
    facts: ClassVar[Facts] = Facts(against="identity")
    coarser_keeps: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.k}, {self.k}{str(self.m).translate(RAISED)})-anonymity"

    @property
    def small_sets(self) -> tuple[int, int]:
        """The k and the m, which must hold within classes, and so hold among all."""
        return self.k, self.m

    @property
    def within_classes(self) -> bool:
        """It does."""
        return True

    @property
    def crowd(self) -> int:
        """The k."""
        return self.k

    def judged(self, people: Baskets) -> Verdict:
        """The smallest crowd within a class, and the smallest class."""
        _require_quasi(people, self.name)
        sizes = np.bincount(people.classes)[people.classes]
        sets = within(people.sets, people.classes)
        # A class of one person with a common basket is as telling as a rare set within a large
        # class.
        smallest = min(int(sizes.min()), itemsets.smallest_support(sets, self.m) or 0)
        violations = itemsets.violating(sets, self.m, self.k, limit=MOST_COUNTED)
        concerned = int((violations.carriers | (sizes < self.k)).sum())
        small = len(np.unique(people.classes[sizes < self.k]))
        return make_verdict(
            self,
            holds=smallest >= self.k,
            attained=smallest,
            required=self.k,
            sentence=_crowds(
                self.k, self.m, smallest, concerned, people.people, "people of the same class share"
            ),
            broken=len(violations) + small,
            people=concerned,
            crowd=self.k,
        )


def within(sets: ItemSets, classes: Any) -> ItemSets:
    """The same sets with the items of every class distinguished: a set of items of one class is
    carried within it alone.
    """
    # Item 3 of class 0 and item 3 of class 1 become two items, so a carrier of another class is
    # never counted; the counting of sets need not know of classes.
    keys, codes = np.unique(
        classes[sets.owners] * np.int64(max(sets.size, 1)) + sets.items, return_inverse=True
    )
    return ItemSets.of_pairs(sets.owners, codes, len(sets), max(len(keys), 1))
