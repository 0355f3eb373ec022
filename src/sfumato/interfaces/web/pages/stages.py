"""The stages, in their order; one is entered here and nowhere else, or by the entry point
``sfumato.stages`` of another package.
"""

from __future__ import annotations

import dataclasses
import importlib
from types import ModuleType

from sfumato.core.plug_ins import load_plug_in, points_by_name, refuse_name


@dataclasses.dataclass(frozen=True)
class Stage:
    """A page of the workbench: its name in the bar, its address, and the module that draws it (its
    function ``draw``).

    The module is one beside this, or of another package by its whole name.
    """

    name: str
    path: str
    module: str
    counts: bool = False
    """Whether its module tells how many problems are open there (``open_problems``)."""
    blind: bool = False
    """Whether nothing of the data may be seen there but what was paid for."""

    @property
    def address(self) -> str:
        """Where other pages find it: relative, because all pages lie below a path that only the
        guard knows.
        """
        return f"./{self.path.removeprefix('/')}"

    def import_module(self) -> ModuleType:
        """The module that draws it."""
        beside = f"{__package__}.{self.module}"
        return importlib.import_module(self.module if "." in self.module else beside)


STAGES = (
    Stage("Data", "/", "data", counts=True),
    Stage("Hierarchies", "/hierarchies", "hierarchies", counts=True),
    Stage("Promises", "/promises", "promises"),
    Stage("Run", "/run", "run"),
    Stage("Explore", "/explore", "explore"),
    Stage("Look", "/look", "look"),
    Stage("Write", "/write", "write"),
    Stage("Policies", "/policies", "policies"),
    Stage("Questions", "/questions", "questions", blind=True),
)


def all_stages() -> tuple[Stage, ...]:
    """The stages with those of plug-ins, which come last and have addresses of their own."""
    stages = list(STAGES)
    for point in points_by_name("stages", lambda name: False).values():
        stage = load_plug_in(point, "stage", lambda plug_in: isinstance(plug_in, Stage))
        for other in stages:
            if stage.path == other.path or stage.name == other.name:
                raise refuse_name(point, stage.name, f"the stage {other.name} at {other.path}")
        stages.append(stage)
    return tuple(stages)
