"""Linkage by what other released columns imply of the quasi-identifiers that an intruder knows."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato.methods.attacks.linkage.comparable_columns import common_columns, known_truly
from sfumato.methods.formulas.dependence_search import Dependence, Dependences, find_dependences
from sfumato.methods.formulas.implied_linkage import implied_linkage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

NOT_RELEASED = -1


@dataclasses.dataclass(frozen=True, eq=False)
class ImpliedLinks:
    """What is linked of some people by the columns that imply their quasi-identifiers; ``told``
    names those columns.
    """

    credit: NDArray[np.float64]
    tied: NDArray[np.int64]
    told: str


def implied_links(scene: Scene, rows: NDArray[np.int64]) -> ImpliedLinks | None:
    """Link people of the intruder's file, by row; None where no released column implies what the
    intruder knows.

    The intruder knows all quasi-identifiers, so takes the record of the right class whose other
    columns fit them best; how columns go together is learnt from other people. Who was not
    released, or was put into another class, is not linked.
    """
    pair = scene.pair
    known_columns = set(common_columns(scene))
    # Only who knows all quasi-identifiers knows the right class to look in.
    if not pair.aligned or not pair.quasi or not set(pair.quasi) <= known_columns:
        return None
    dependences = _dependences(scene)
    usable = []
    for dependence in dependences.found:
        if _usable(scene, dependence, known_columns):
            usable.append(dependence)
    if not usable:
        return None
    # From rows of the intruder's file over rows of the original to records that were looked at.
    people = _row_positions(scene, dependences)[scene.intruder.truth[rows]]
    is_released = people != NOT_RELEASED
    is_released[is_released] = _in_own_class(scene, dependences)[people[is_released]]
    k = dependences.k or 2
    links = implied_linkage(
        dependences.classes,
        [dependence.evidence for dependence in usable],
        k=k,
        people=people[is_released],
    )
    credit = np.zeros(len(rows))
    credit[is_released] = links.credit
    tied = np.zeros(len(rows), dtype=np.int64)
    # Of c records that fit equally well each gets 1/c: the credit tells how many tied.
    certain_shares = credit[credit > 0]
    tied[credit > 0] = np.round(1 / certain_shares).astype(np.int64)
    return ImpliedLinks(credit, tied, "; ".join(dependence.pair for dependence in usable))


def _dependences(scene: Scene) -> Dependences:
    """Found once for a pair of tables."""
    if ("dependences",) not in scene.pair.memo:
        k = max((model.crowd for model in scene.models if model.crowd), default=None)
        scene.pair.memo["dependences",] = find_dependences(scene.pair, k=k)
    dependences: Dependences = scene.pair.memo["dependences",]
    return dependences


def _usable(scene: Scene, dependence: Dependence, known_columns: set[str]) -> bool:
    """Whether the intruder knows the quasi-identifier truly, and not the released columns
    themselves.
    """
    quasi = dependence.quasi
    # Who knows the column itself does not need what it implies.
    if known_columns & set(dependence.columns):
        return False
    if quasi in known_columns:
        return known_truly(scene, quasi)
    return (
        quasi not in scene.pair.released.columns
        and scene.intruder.file.origin is not None
        and quasi in scene.intruder.file.columns
    )


def _in_own_class(scene: Scene, dependences: Dependences) -> NDArray[np.bool_]:
    """Per record that was looked at whether its labels stand for its own values: who was swapped
    into another class is sought in vain.
    """
    own = np.ones(len(dependences.rows), dtype=bool)
    for name in scene.pair.quasi:
        own &= scene.pair.truthful(name)[dependences.rows]
    return own


def _row_positions(scene: Scene, dependences: Dependences) -> NDArray[np.int64]:
    """Per original row the place of its person among the records that were looked at; rows of one
    person have the same.
    """
    pair = scene.pair
    positions = np.full(len(pair.original), NOT_RELEASED, dtype=np.int64)
    positions[pair.rows[dependences.rows]] = np.arange(len(dependences.rows))
    person = pair.original.schema.person
    if person is not None:
        persons = pair.original.encoded(person).narrow.astype(np.int64)
        of_person = np.full(int(persons.max(initial=0)) + 1, NOT_RELEASED, dtype=np.int64)
        of_person[persons[pair.rows[dependences.rows]]] = np.arange(len(dependences.rows))
        positions = of_person[persons]
    return positions
