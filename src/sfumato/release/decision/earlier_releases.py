"""What a release tells together with earlier releases of the same people.

Somebody who knows a person's quasi-identifiers in both releases looks for whoever belongs to the
person's class in both: the mean chance of picking the right one is what is compared with the limit.
A sensitive value that both releases have is sought besides, by the attack `composition`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.attack import Intruder, NothingToAttack, Scene
from sfumato.errors import SfumatoError
from sfumato.methods.attacks.composition import Composition, common_people
from sfumato.methods.attacks.crowd import alike_records
from sfumato.release.decision.evidence import REGISTER, CompositionEvidence, Figure, Status
from sfumato.release.folder import read_release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Seed
    from sfumato.core.table import Table
    from sfumato.release.register.store import Register

    Ints = NDArray[np.int64]

CHANGED = "values were changed or drawn, so nobody knows the class a person seems to be in"
NOBODY_IN_BOTH = "nobody is in both"
SEVERAL_RECORDS = (
    "people have several records and no column names them in both tables; give it the role person"
)


@dataclasses.dataclass(frozen=True)
class EarlierRelease:
    """An earlier release of the same people: the folder that holds share and owner, and the table
    it was made from.
    """

    folder: Path
    original: Table


def compose(
    pair: TablePair, earlier: Sequence[EarlierRelease], *, seed: Seed
) -> Iterator[CompositionEvidence]:
    """What the release tells together with each of the earlier ones."""
    for number, release in enumerate(earlier, 1):
        name = f"earlier release {number}"
        try:
            other = read_release(release.folder).beside(release.original)
            yield joint_classes(name, pair, other, seed)
            yield _attribute_composition(f"{name} (sensitive values)", pair, other, seed)
        except SfumatoError as error:
            yield CompositionEvidence(name, "unknown", reason=str(error))


def compose_with_register(pair: TablePair, register: Register) -> CompositionEvidence:
    """The largest risk of all releases of these people that a register knows: one in the smallest
    joint class.
    """
    from sfumato.release.register.memory import Newcomer

    together = Newcomer.of(register, pair).together()
    if not together.earlier and not together.unaligned:
        reason = "no earlier release of the register is about the same people"
        return CompositionEvidence(REGISTER, "does not apply", reason=reason)
    if together.unknown is not None or not together.classes or not together.k:
        reason = together.unknown or CHANGED
        return CompositionEvidence(REGISTER, "unknown", reason=reason)
    figure = Figure.of_everybody(1 / together.k, max(1, together.shared))
    return CompositionEvidence(REGISTER, "tried", figure)


def joint_classes(name: str, pair: TablePair, other: TablePair, seed: Seed) -> CompositionEvidence:
    """How often a person is found who is known to be in both releases."""
    if not (_has_classes(pair) and _has_classes(other)):
        return CompositionEvidence(name, "unknown", reason=CHANGED)
    people = _people_of_both(pair, other)
    if people is None:
        return CompositionEvidence(name, "unknown", reason=SEVERAL_RECORDS)
    first, second = (
        _classes_of_people(release, codes)
        for release, codes in zip((pair, other), people, strict=True)
    )
    joint = first.join(second, on="person", suffix="_other").unique()
    if not joint.height:
        return CompositionEvidence(name, "does not apply", reason=NOBODY_IN_BOTH)
    sizes = joint.with_columns(pl.len().over("class", "class_other").alias("people"))
    # Of a person with several records any of them may be what is known: one is drawn at random.
    order = seed.stream("composition: which record is known").permutation(sizes.height)
    known = sizes.sort("person", "class", "class_other")[order].unique("person", keep="first")
    rate = float((1 / known["people"]).mean())  # type: ignore[arg-type]
    return CompositionEvidence(name, "tried", Figure.of_everybody(min(1.0, rate), known.height))


def _has_classes(pair: TablePair) -> bool:
    """Whether people belong to the class of their own record."""
    return pair.aligned and all(bool(pair.truthful(name).all()) for name in pair.quasi)


def _people_of_both(pair: TablePair, other: TablePair) -> tuple[Ints, Ints] | None:
    """Per original row of either release the number of its person, the same in both (−1: they are
    not in the other one); None where nobody can tell.
    """
    person = pair.original.schema.person
    if person is not None and person == other.original.schema.person:
        labels = pl.Series(pair.original.encoded(person).text(person))
        other_labels = pl.Series(other.original.encoded(person).text(person))
        codes = {label: code for code, label in enumerate(labels.unique(maintain_order=True))}
        own = np.array([codes[label] for label in labels], dtype=np.int64)
        others = np.array([codes.get(label, -1) for label in other_labels], dtype=np.int64)
        return own, others
    match = common_people(pair, other)
    if match.ambiguous:
        return None
    own = np.full(len(pair.original), -1, dtype=np.int64)
    others = np.full(len(other.original), -1, dtype=np.int64)
    own[match.own_rows] = np.arange(len(match.own_rows))
    others[match.other_rows] = np.arange(len(match.own_rows))
    return own, others


def _classes_of_people(pair: TablePair, people: Ints) -> pl.DataFrame:
    """The classes that the released rows of people belong to, each once."""
    classes = np.zeros(len(pair.rows), dtype=np.int64)
    if pair.quasi:
        classes = alike_records(pair, pair.quasi).kind_of
    frame = pl.DataFrame({"person": people[pair.rows], "class": classes})
    return frame.filter(pl.col("person") >= 0).unique()


def _attribute_composition(
    name: str, pair: TablePair, other: TablePair, seed: Seed
) -> CompositionEvidence:
    """How many people reveal a sensitive value by both releases together."""
    attack = Composition()
    everybody = Intruder(pair.original, pair.quasi, np.arange(len(pair.original), dtype=np.int64))
    scene = Scene(pair, everybody, others=(other,), seed=seed, seconds=float("inf"))
    reason = attack.out_of_place(scene)
    if reason is not None:
        status: Status = "unknown"
        if isinstance(reason, NothingToAttack):
            status = "does not apply"
        return CompositionEvidence(name, status, reason=str(reason))
    finding = attack.attack(scene)
    left_out = finding.details.get("not_named_uniquely", 0)
    if left_out:
        return CompositionEvidence(name, "unknown", reason=SEVERAL_RECORDS)
    people = max(1, int(finding.details["people"]))
    return CompositionEvidence(name, "tried", Figure.of_everybody(finding.value, people))
