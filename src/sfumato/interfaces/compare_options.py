"""How candidates are compared: the options of the verb and the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.core.options import CommandOption


@dataclass(frozen=True)
class CompareOptions:
    """How candidates are attacked, and by how many processes.

    ``attacks=None`` lets every named intruder try everything. ``algorithms`` are those of recoding
    that are tried on every recipe file.
    """

    panel: ClassVar[str] = "Which attacks, and how long"
    attacks: Annotated[
        str | Sequence[str] | None,
        CommandOption(
            "an attack to try, with parameters as in a recipe: 'suda: {most: 2}'; repeat it, or"
            " 'all'",
            ("--attack",),
            typed=list[str],
        ),
    ] = ("linkage",)
    seconds: Annotated[
        float, CommandOption("budget of the attacks on each candidate, in seconds of computing")
    ] = 20.0
    sample: Annotated[int, CommandOption("records to attack")] = 2000
    workers: Annotated[
        int | None, CommandOption("processes; by default one per core", minimum=1)
    ] = None
    algorithms: Annotated[
        Sequence[str],
        CommandOption(
            "recoding algorithm to try in the place of that of the recipe: 'all', a step like"
            " 'mondrian', or 'datafly'; repeat it",
            typed=list[str],
        ),
    ] = ()
