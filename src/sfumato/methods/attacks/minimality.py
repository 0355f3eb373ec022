"""The minimality attack: a careful algorithm generalises no more than it must, and that tells
something.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato import kernels
from sfumato.core.attack import Attack, Finding, Learns, NothingToAttack, cut_short
from sfumato.core.parameters import parameters
from sfumato.methods.attacks.crowd import Crowd, crowd_of, generalises, no_target, targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.model import Model

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_IN_CLASS = 400
"""Larger classes are left out: their sub-groups are many and the attack learns next to nothing of
them.
"""
TERM_WORK = 8_000
"""Cells that are compared in the time that the posterior takes for each sub-group (three
convolutions, twice).
"""


@parameters
class Minimality(Attack):
    r"""The share of records of which an intruder learns, beyond the class, because the release is
    as fine as l-diversity allows.

    The intruder knows everyone's quasi-identifiers, hence the sub-groups (of :math:`n_i` people)
    that a released class was made of. Had each of them kept l-diversity (a value at most
    :math:`n_i - l + 1` times where l distinct values are promised, else :math:`n_i/l` times) they
    would have been released apart. So allocations of the :math:`s` records with a value to the
    sub-groups that keep it everywhere are ruled out; the others weigh
    :math:`\prod_i \binom{m_i}{s_i}` with :math:`m_i` of the sub-group's people in the class.
    A record is a victim when the posterior of its value rises above :math:`1/l` and above the
    share that its value has in the class: that share is known to whoever reads the file. Values of
    people of a sub-group who were released elsewhere are taken as known. Other promises are reasons
    to generalise too; who took them into account would conclude less.

    Sub-groups of 2 and 4 people, 2 of them ill, l = 2, and a released class of two of each: naively
    each is ill with ½; but only if the two of the first sub-group are the ill ones was there a
    reason to generalise. Classes of more than 400 records are left out.
    Reference: Wong et al. 2007, VLDB, "Minimality attack in privacy preserving data publishing".
    """

    name: ClassVar[str] = "minimality"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = (
        "A sensitive value follows because the release is no coarser than necessary"
    )
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)

    def applies(self, scene: Scene) -> str | None:
        """None when the release was made to keep l-diversity of a sensitive column."""
        reason = no_target(scene)
        promised = _promised_diversity(scene)
        changed = [column for column in promised if not generalises(scene.pair, column)]
        if reason is None and changed:
            return (
                f"values of {', '.join(changed[:3])} were changed; the inference from minimality "
                "exists for true values only"
            )
        if reason is not None or promised:
            return reason
        return NothingToAttack(
            "no l-diversity was promised for a column, so minimality reveals nothing"
        )

    def attack(self, scene: Scene) -> Finding:
        """Rule out what would have been released finer."""
        findings = [
            self._attack_column(scene, column, model)
            for column, model in _promised_diversity(scene).items()
        ]
        return max(findings, key=lambda finding: finding.value)

    def _attack_column(self, scene: Scene, column: str, model: Model) -> Finding:
        """Look at the classes in a random order, until all are seen or the work is done."""
        degree = _degree(model)
        pair = scene.pair
        crowd = crowd_of(pair, scene.intruder.knows, column)
        groups = crowd_of_originals(scene, column)
        subgroups = Subgroups.of(groups, crowd.truth, model)
        hit = np.zeros(len(pair.rows), dtype=bool)
        classes = [inside for inside in _classes(crowd) if 1 < len(inside) <= MOST_IN_CLASS]
        # At random, so that the classes seen before the work is done are a fair sample.
        order = scene.seed.stream("minimality: in what order").permutation(len(classes)).tolist()
        unseen = sum(map(len, classes))
        for number in order:
            if subgroups.spent > scene.work:
                break
            scene.require_time()
            inside = classes[number]
            unseen -= len(inside)
            # People of one sub-group were not generalised together with others: nothing is ruled
            # out.
            if len(np.unique(groups[inside])) > 1:
                hit[inside] = _find_exposed(subgroups, inside, degree)
        return self._finding(scene, column, degree, hit, unseen)

    def _finding(
        self, scene: Scene, column: str, degree: int, hit: NDArray[np.bool_], unseen: int
    ) -> Finding:
        """What comes of the records that were hit; of ``unseen`` ones nothing is known but that
        each may be hit or not.
        """
        hits = int(hit.sum())
        looked_at = len(hit) - unseen
        message = (
            f"knowing that no more was generalised than {degree}-diversity needs exposes the"
            f" {column} of {hits:,} records"
        )
        details = {"column": column, "l": degree}
        victims = scene.pair.rows[hit]
        if not unseen:
            share = scene.pair.share_of_people(hit)
            return Finding(self.name, share, message, victims=victims, details=details)
        message += f" of {looked_at:,}{cut_short(looked_at, len(hit))}"
        interval = hits / len(hit), (hits + unseen) / len(hit)
        return Finding(
            self.name,
            hits / looked_at,
            message,
            interval=interval,
            victims=victims,
            details={**details, "limited_by_work": True},
            trials=looked_at,
        )


@dataclasses.dataclass(eq=False)
class Subgroups:
    """People with the same original quasi-identifiers: the group and value of each row, and how
    many each has.

    Classes that differ in people but not in numbers have the same posteriors (of five people who
    are all unlike, say), so these are kept in ``posteriors``; ``spent`` is the work of those that
    had to be computed.
    """

    groups: Ints
    values: Ints
    carriers: dict[tuple[int, int], int]
    most_alike: Ints
    posteriors: dict[tuple[int, bytes, bytes], Floats] = dataclasses.field(default_factory=dict)
    spent: int = 0

    @classmethod
    def of(cls, groups: Ints, values: Ints, model: Model) -> Subgroups:
        """Count groups, and the values in each."""
        width = int(values.max()) + 1
        keys, counts = np.unique(groups * width + values, return_counts=True)
        pairs = zip((keys // width).tolist(), (keys % width).tolist(), strict=True)
        carriers = dict(zip(pairs, counts.tolist(), strict=True))
        return cls(groups, values, carriers, model.most_alike(np.bincount(groups)))

    def posterior(self, sizes: Ints, carriers: int, quiet: Ints) -> Floats:
        """:func:`posterior_by_minimality`, computed once for the same numbers."""
        # beyond these ends nothing changes
        bounded = np.clip(quiet, -1, np.minimum(sizes, carriers))
        # In what order the sub-groups come changes nothing either.
        order = np.lexsort((bounded, sizes))
        sizes, bounded = sizes[order], bounded[order]
        key = (carriers, sizes.tobytes(), bounded.tobytes())
        cached = self.posteriors.get(key)
        if cached is None:
            self.spent += TERM_WORK * len(sizes)
            cached = posterior_by_minimality(sizes.tolist(), carriers, bounded.tolist())
            self.posteriors[key] = cached
        posterior = np.empty_like(cached)
        posterior[order] = cached
        return posterior


def _find_exposed(subgroups: Subgroups, inside: Ints, degree: int) -> NDArray[np.bool_]:
    """Which records of a released class have a value that is likelier than 1/l, and likelier than
    its share in the class, once minimality is known.
    """
    names, group = np.unique(subgroups.groups[inside], return_inverse=True)
    sizes = np.bincount(group)
    values = subgroups.values[inside]
    exposed = np.zeros(len(inside), dtype=bool)
    for value in np.unique(values).tolist():
        carries = values == value
        everywhere = np.array([subgroups.carriers.get((name, value), 0) for name in names.tolist()])
        elsewhere = everywhere - np.bincount(group, weights=carries).astype(np.int64)
        # Carriers that a sub-group may have in this class and still keep l-diversity: what it may
        # have in all, less those who were released elsewhere.
        quiet = subgroups.most_alike[names] - elsewhere
        posterior = subgroups.posterior(sizes, int(carries.sum()), quiet)
        # Who reads the class expects the share of the value: only what exceeds it was learnt.
        expected = max(1 / degree, float(carries.mean()))
        exposed |= carries & (posterior[group] > expected + 1e-9)
    return exposed


def posterior_by_minimality(sizes: list[int], carriers: int, quiet: list[int]) -> Floats:
    """Per sub-group the chance that one of its people carries a value, when some sub-group must
    break l-diversity.

    ``sizes`` are the people of each sub-group in a released class with ``carriers`` records of the
    value; sub-group *i* keeps l-diversity with at most ``quiet[i]`` of them. Where no allocation
    breaks it (then there was another reason to generalise) the posterior is the naive one.

    >>> posterior_by_minimality([2, 2], 2, [1, 2]).tolist()
    [1.0, 0.0]
    """
    every, weight = _expected_weights(sizes, carriers, sizes)
    calm, calm_weight = _expected_weights(sizes, carriers, quiet)
    # Allocations that break it somewhere are all less those that break it nowhere. Where that is
    # nothing, the naive posterior is left.
    if weight - calm_weight <= weight * 1e-12:
        calm = np.zeros(len(sizes))
        calm_weight = 0.0
    expected_carriers = (every - calm) / (weight - calm_weight)
    posterior: Floats = np.clip(expected_carriers / np.array(sizes), 0.0, 1.0)
    return posterior


def _expected_weights(sizes: list[int], carriers: int, limits: list[int]) -> tuple[Floats, float]:
    """Σ s_i·weight per sub-group, and Σ weight, over allocations with s_i at most ``most[i]``;
    weights are scaled alike.
    """
    from scipy.special import gammaln

    total = sum(sizes)
    scale = gammaln(total + 1) - gammaln(carriers + 1) - gammaln(total - carriers + 1)

    def terms(size: int, limit: int) -> Floats:
        s = np.arange(carriers + 1)
        allowed = s <= min(limit, size)  # none where even nobody breaks it
        log = (
            gammaln(size + 1)
            - gammaln(s + 1)
            - gammaln(np.maximum(size - s, 0) + 1)
            # The scale is shared out, so that the product over all sub-groups does not overflow.
            - scale / len(sizes)
        )
        return np.where(allowed, np.exp(np.where(allowed, log, 0.0)), 0.0)

    # Products of all sub-groups before and after each one: with them the product of all others
    # needs no division. Convolving adds up the carriers.
    kinds = list(zip(sizes, limits, strict=True))
    terms_of_kinds = {kind: terms(*kind) for kind in set(kinds)}
    terms_of_groups = [terms_of_kinds[kind] for kind in kinds]
    before = [np.array([1.0])]
    for term in terms_of_groups:
        before.append(np.convolve(before[-1], term)[: carriers + 1])
    after = [np.array([1.0])]
    for term in reversed(terms_of_groups):
        after.append(np.convolve(after[-1], term)[: carriers + 1])
    weight = 0.0
    if len(before[-1]) > carriers:
        weight = float(before[-1][carriers])
    sum_of_kind: dict[tuple[int, int], float] = {}
    for i, term in enumerate(terms_of_groups):
        if kinds[i] in sum_of_kind:
            continue
        after_groups = after[len(sizes) - 1 - i]
        other_groups = np.convolve(before[i], after_groups)[: carriers + 1]
        product = np.convolve(term * np.arange(carriers + 1), other_groups)
        sum_of_kind[kinds[i]] = float(product[carriers]) if len(product) > carriers else 0.0
    return np.array([sum_of_kind[kind] for kind in kinds]), weight


def crowd_of_originals(scene: Scene, column: str) -> Ints:
    """Per released row the sub-group it came from: people with the same original
    quasi-identifiers.
    """
    known_columns = [c for c in scene.intruder.knows if c in scene.pair.columns and c != column]
    codes = [scene.pair.reading(c).original[scene.pair.rows] for c in known_columns]
    ids, _ = kernels.keys.group(np.stack(codes, axis=1).astype(np.uint64))
    return ids.astype(np.int64)


def _classes(crowd: Crowd) -> list[Ints]:
    """The released rows of each class."""
    return np.split(np.argsort(crowd.classes, kind="stable"), np.cumsum(crowd.sizes)[:-1])


def _promised_diversity(scene: Scene) -> dict[str, Model]:
    """The sensitive columns for which l-diversity was promised, and the promise."""
    promises: dict[str, Model] = {}
    for model in scene.models:
        column, _ = model.diversity or ((), 0)
        if isinstance(column, str) and column in targets(scene):
            promises[column] = model
    return promises


def _degree(model: Model) -> int:
    """The l of a promise, as a whole number of two or more."""
    _, degree = model.diversity or ((), 0)
    return max(2, int(degree))
