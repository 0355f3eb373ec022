"""The stages, in their order; one is entered here and nowhere else."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Stage:
    """A page of the workbench: its name in the bar, its address, and the module that draws it (its function ``draw``)."""

    name: str
    path: str
    module: str
    counts: bool = False
    """Whether its module tells how many problems are open there (``open_problems``)."""
    blind: bool = False
    """Whether nothing of the data may be seen there but what was paid for."""

    @property
    def address(self) -> str:
        """Where other pages find it: relative, because all pages lie below a path that only the guard knows."""
        return f"./{self.path.removeprefix('/')}"


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
