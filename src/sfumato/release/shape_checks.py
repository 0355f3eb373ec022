"""What differs between shapes of data when a release of them is checked: one entry for each shape, and no other place asks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.shape import Shape
from sfumato.release import person_checks, table_checks
from sfumato.release.certificates import shape_of
from sfumato.release.pairs import pair_persons, pair_table
from sfumato.release.recipe_checks import SHARED_CHECKS
from sfumato.release.replay import PERSONS_REPLAY, TABLE_REPLAY, Replay, table_as_judged
from sfumato.release.shaped.writing import PERSON
from sfumato.release.shared_folder import SharedFolder, open_persons, open_table, read_persons, read_table

if TYPE_CHECKING:
    from sfumato.release.manifest import Claim
    from sfumato.release.recipe_checks import RecipeCheck

FileCheck = Callable[[SharedFolder], "Claim | None"]
PromiseCheck = Callable[[SharedFolder, Any], "Claim | None"]
"""What is held against the files and, where it is given, the original as promises compare with it."""


@dataclasses.dataclass(frozen=True)
class ShapeChecks:
    """How a release of one shape is read, what its certificate is held to besides, and how it is made again."""

    read: Callable[[Path, Mapping[str, Any]], Any]
    """The released data of a shared folder."""
    open: Callable[[Path, Mapping[str, Any]], SharedFolder]
    """The shared folder as claims are held against it."""
    of_table: str
    """How a claim about one of the tables calls it."""
    of_files: tuple[FileCheck, ...]
    of_recipe: tuple[RecipeCheck, ...]
    """What the recipe accounts for, in the order in which it is told: the checks of every shape and those of this one."""
    of_promises: tuple[PromiseCheck, ...]
    as_judged: Callable[[Mapping[str, Any], Any, Path | None, Sequence[str]], Any]
    """The original as promises compare with it, from the one that is given and the owner's folder."""
    replay: Replay
    takes_population: bool
    """Whether a second table, of everyone, may have been given to the run."""
    aligned_by: str
    """The column of the owner's alignment that says who is who."""
    pair: Callable[[Any, Any, Any], Any]
    """A written release beside its original, from what was read of it, the original and the alignment."""


ONE_TABLE = ShapeChecks(
    read=read_table,
    open=open_table,
    of_table="",
    of_files=(),
    of_recipe=(*SHARED_CHECKS, table_checks.recipe_claims),
    of_promises=(table_checks.classes_claim, table_checks.default_readers_claim),
    as_judged=table_as_judged,
    replay=TABLE_REPLAY,
    takes_population=True,
    aligned_by="original_row",
    pair=pair_table,
)
PERSONS = ShapeChecks(
    read=read_persons,
    open=open_persons,
    of_table=" of {}",
    of_files=(person_checks.counts_claim,),
    of_recipe=(person_checks.recipe_claims, *SHARED_CHECKS),
    of_promises=(),
    as_judged=lambda certificate, original, owner, columns: original,
    replay=PERSONS_REPLAY,
    takes_population=False,
    aligned_by=PERSON,
    pair=pair_persons,
)
CHECKS = {**dict.fromkeys(Shape, PERSONS), Shape.TABLE: ONE_TABLE}


def checks_for(certificate: Mapping[str, Any]) -> ShapeChecks:
    """The checks of a release, by the shape of data that its certificate is about."""
    return CHECKS[shape_of(certificate)]
