"""Groups of values, changed by hand: one gesture is one version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.interfaces.web.pages.parts import button, element, section, text
from sfumato.interfaces.web.pages.widgets import GroupBoxes
from sfumato.methods.hierarchies.file import HierarchyFile
from sfumato.methods.hierarchies.frequency_groups import Frequency
from sfumato.methods.hierarchies.ordered_values import Order
from sfumato.methods.hierarchies.suppressed_value import SuppressedValue
from sfumato.methods.hierarchies.table import TableHierarchy
from sfumato.methods.hierarchies.value_tree import Tree

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.hierarchies import HierarchyStage

BY_HAND = (Tree, TableHierarchy)
COULD_BE = (HierarchyFile, Frequency, Order, SuppressedValue)
"""Hierarchies of categories that become groups by hand when somebody wants to change them."""


class GroupEditor:
    """The groups of one level of a column; other kinds of categories are turned into groups
    first.
    """

    def __init__(self, stage: HierarchyStage) -> None:
        self.stage = stage
        self.level = 1
        self.opened: str | None = None
        self.arrives = 0

    async def asked(self, column: str) -> dict[str, Any] | str | None:
        """The groups of the column; words where there are none to change; None where it has no
        categories.
        """
        hierarchy = self.stage.wb.recipe.schema[column].hierarchy
        if isinstance(hierarchy, BY_HAND) or (
            isinstance(hierarchy, COULD_BE) and self.opened == column
        ):
            if self.opened != column:
                self.opened, self.level = column, 1
            try:
                answer: dict[str, Any] = await self.stage.wb.answer(
                    "groups", column=column, level=self.level
                )
            except SfumatoError as error:
                return str(error)
            return answer
        return "" if isinstance(hierarchy, COULD_BE) else None

    def draw(self, column: str, groups: dict[str, Any] | str) -> None:
        """Draw the groups, or the way to them."""
        with section("Groups") as drawn:
            if self.arrives:
                drawn.props["data-arrives"] = self.arrives
            if isinstance(groups, str):
                if groups:
                    text(groups, "p", "soft")
                else:
                    button("Change the groups by hand", lambda: self._begin(column), key="by hand")
                return
            self._levels(groups)
            box = GroupBoxes(
                groups=groups["groups"],
                lost=groups["lost"] if groups["level"] == 1 else [],
                single=groups["single"],
                top=groups["top"],
                k=groups["k"],
            )
            box.on("part", lambda event: self._part(event.args))
            box.on("move", lambda event: self._move(event.args))
            box.on("rename", lambda event: self._rename(event.args))

    def _levels(self, groups: dict[str, Any]) -> None:
        with element("div", "tools", role="group", aria_label="which level is grouped"):
            for level in range(1, groups["levels"] + 1):
                words = "Put groups together" if level == groups["levels"] else f"Level {level}"
                pressed = "true" if level == groups["level"] else "false"
                button(
                    words,
                    lambda n=level: self._at(n),
                    "quiet",
                    key=f"groups of level {level}",
                    aria_pressed=pressed,
                )

    async def _at(self, level: int) -> None:
        self.level = level
        await self.stage.redraw()

    async def _begin(self, column: str) -> None:
        self.opened, self.level = column, 1
        self.stage.arrivals += 1
        self.arrives = self.stage.arrivals
        await self.stage.redraw()

    async def _move(self, given: Any) -> None:
        members = [str(member) for member in given["members"]]
        count = "1 value" if len(members) == 1 else f"{len(members)} values"
        what = count if self.level == 1 else count.replace("value", "group")
        await self._change(
            "move", {"members": members, "to": str(given["to"])}, f"moved {what} to another group"
        )

    async def _part(self, given: Any) -> None:
        members = [str(member) for member in given["members"]]
        await self._change("part", {"members": members}, f"{len(members)} stand alone")

    async def _rename(self, given: Any) -> None:
        await self._change(
            "rename", {"old": str(given["old"]), "new": str(given["new"])}, "renamed a group"
        )

    async def _change(self, act: str, given: dict[str, Any], words: str) -> None:
        wb = self.stage.wb
        asked = wb.answer(
            "regroup", column=self.stage.column, level=self.level, act=act, given=given
        )
        spec = await self.stage.page.wait_for(asked)
        if spec is None:
            await self.stage.redraw()
            return
        self.stage.put(spec, words, await self.stage.top_of(spec))
