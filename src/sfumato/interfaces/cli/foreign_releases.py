"""Releases that were made elsewhere, as files: what ``attack`` and ``evaluate`` need to know of
them.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.cli.options import read_data

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.core.recipe import Recipe
    from sfumato.core.source import Intake
    from sfumato.core.table import Table


@dataclasses.dataclass(frozen=True)
class ForeignOptions:
    """What has to be said of a table that was made elsewhere."""

    panel: ClassVar[str] = "A table made elsewhere"
    align: Annotated[
        str | None,
        CommandOption(
            "a column that identifies records in both tables; `order`: rows are in the same "
            "order; `none`: synthetic"
        ),
    ] = None
    control: Annotated[
        str | None,
        CommandOption("with `--align none`: people that the rows were not made from"),
    ] = None


@dataclasses.dataclass(frozen=True)
class ForeignFile:
    """A released table that another tool wrote; ``recipe`` says what columns are, and nothing of
    how it was made.
    """

    path: Path
    recipe: Recipe
    align: str
    control: str | None
    intake: Intake
    made_for: ClassVar[None] = None
    """The format of the release decides nothing about how the original is read."""

    def beside(self, original: Table) -> TablePair:
        """The released table beside its original."""
        from sfumato.core.alignment import pair_elsewhere
        from sfumato.core.schema import Schema

        original = original.in_memory("a release made elsewhere").described_by(self.recipe)
        released = read_data(str(self.path), quiet=True, intake=self.intake)
        # Columns that are left have the roles of the original ones.
        attributes = original.schema.attributes
        common = {name: attributes[name] for name in attributes if name in released.columns}
        released = released.with_schema(Schema(common))
        control = None
        if self.control is not None:
            control = read_data(self.control, quiet=True, intake=self.intake, recipe=self.recipe)
        return pair_elsewhere(original, released, align=self.align, control=control)


def foreign_file(
    path: Path, recipe: Path | None, alignment: ForeignOptions, intake: Intake
) -> ForeignFile | None:
    """A file made elsewhere; None where the path is a folder that ``run`` wrote. Raises where it is
    not said how it is aligned.
    """
    from sfumato.core.alignment import CHOICES
    from sfumato.core.recipe_files import load

    if not path.is_file():
        # Nothing was said of a file made elsewhere: this is a folder, and its reader judges it.
        if alignment == ForeignOptions():
            return None
        if not path.exists():
            raise UnreadableInput(f"{path} does not exist; give the table that was made elsewhere")
        raise ParameterError(
            "--align and --control are for a table made elsewhere; a folder that run wrote needs "
            "neither, so leave them out"
        )
    if alignment.align is None:
        raise ParameterError(
            f"{path.name} was made elsewhere; say with --align which rows belong together:"
            f" {CHOICES}"
        )
    if recipe is None:
        raise ParameterError(
            f"{path.name} was made elsewhere; give a recipe that describes its columns with -r "
            "(sfumato profile writes one)"
        )
    # Its steps and promises did not make this file, so they are left out.
    description = dataclasses.replace(load(recipe), steps=(), meet=())
    return ForeignFile(path, description, alignment.align, alignment.control, intake)
