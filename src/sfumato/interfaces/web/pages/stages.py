"""The stages, in their order; one is entered here and nowhere else, or by the entry point
``sfumato.stages`` of another package.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
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
    sections: tuple[str, ...] = ()
    """The sections of the recipe that it edits, in the order of the page."""
    views: tuple[tuple[str, str], ...] = ()
    """Titles of what it shows, and the task that gives the blocks of each."""
    counts: bool = False
    """Whether its module tells how many problems are open there (``open_problems``)."""
    blind: bool = False
    """Whether nothing of the data may be seen there but what was paid for."""
    leads_on: bool = True
    """Whether it ends with the way to the next stage."""
    needs: str = ""
    """The part of the package that it is about; without it there is no such stage."""

    @property
    def address(self) -> str:
        """Where other pages find it: relative, because all pages lie below a path that only the
        guard knows.
        """
        return f"./{self.path.removeprefix('/')}"

    @property
    def installed(self) -> bool:
        """Whether the part that it is about is installed."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None

    def import_module(self) -> ModuleType:
        """The module that draws it."""
        beside = f"{__package__}.{self.module}"
        return importlib.import_module(self.module if "." in self.module else beside)


STAGES = (
    Stage("Data", "/", "data", ("intake", "schema"), counts=True),
    Stage("Hierarchies", "/hierarchies", "hierarchies", ("schema", "steps"), counts=True),
    Stage("Promises", "/promises", "promises", ("meet", "steps", "limits", "contract")),
    Stage("Run", "/run", "run", views=(("Release", "make"),), leads_on=False),
    Stage("Explore", "/explore", "explore", ("steps",), views=(("Candidates", "compare"),)),
    Stage(
        "Look",
        "/look",
        "look",
        views=(
            ("Columns", "look_columns"),
            ("Summary", "look_summary"),
            ("Pairs", "look_pair"),
            ("Rows", "look_rows"),
            ("Classes", "look_classes"),
            ("Risks", "look_risks"),
            ("Combinations", "look_combinations"),
            ("Attacks", "look_attacks"),
            ("Utility", "measure"),
            ("Prediction", "look_prediction"),
            ("Contract", "look_contract"),
            ("Report", "draft_reports"),
        ),
    ),
    Stage("Decide", "/decide", "decide", views=(("Decision", "decide"),)),
    Stage("Write", "/write", "write", views=(("Written", "write"),), leads_on=False),
    Stage("Policies", "/policies", "policies", leads_on=False, needs="sfumato.policy"),
    Stage("Questions", "/questions", "questions", blind=True, leads_on=False),
)


def all_stages() -> tuple[Stage, ...]:
    """The stages of the parts that are installed, then those of plug-ins, which have addresses of
    their own.
    """
    stages = [stage for stage in STAGES if stage.installed]
    for point in points_by_name("stages", lambda name: False).values():
        stage = load_plug_in(point, "stage", lambda plug_in: isinstance(plug_in, Stage))
        for earlier in stages:
            if stage.path == earlier.path or stage.name == earlier.name:
                raise refuse_name(point, stage.name, f"the stage {earlier.name} at {earlier.path}")
        stages.append(stage)
    return tuple(stages)
