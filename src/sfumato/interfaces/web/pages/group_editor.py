"""Groups of values, changed by hand: one gesture is one version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.words import count_of
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.parts import button, element, section, text
from sfumato.interfaces.web.pages.widgets import GroupBoxes

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.hierarchies import HierarchyStage


class GroupEditor:
    """The groups of one level of a column; other kinds of categories are turned into groups
    first.
    """

    def __init__(self, stage: HierarchyStage) -> None:
        self.stage = stage
        self.level = 1
        # The column whose groups are open.
        self.column: str | None = None
        self.arrives = 0

    async def ask(self, column: str) -> Fields | str | None:
        """The groups of the column; words where there are none to change; None where it has no
        categories.
        """
        hierarchy = self.stage.recipe.schema[column].hierarchy
        if hierarchy is None or hierarchy.by_hand == "no":
            return None
        if hierarchy.by_hand != "yes" and self.column != column:
            return ""
        if self.column != column:
            self.column, self.level = column, 1
        try:
            groups: Fields = await self.stage.workbench.answer(
                "groups", column=column, level=self.level
            )
        except SfumatoError as error:
            return str(error)
        return groups

    def draw(self, column: str, groups: Fields | str) -> None:
        """Draw the groups, or the way to them."""
        with section("Groups") as container:
            if self.arrives:
                container.props["data-arrives"] = self.arrives
            if groups == "":
                button("Edit the groups by hand", lambda: self._begin(column), key="by hand")
            elif isinstance(groups, str):
                text(groups, "p", "soft")
            else:
                self._draw_levels(groups)
                self._draw_boxes(groups)

    def _draw_boxes(self, groups: Fields) -> None:
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

    def _draw_levels(self, groups: Fields) -> None:
        with element("div", "tools", role="group", aria_label="the level to group"):
            for level in range(1, groups["levels"] + 1):
                words = "Put groups together"
                if level != groups["levels"]:
                    words = f"Level {level}"
                button(
                    words,
                    lambda level=level: self._show_level(level),
                    "quiet",
                    key=f"groups of level {level}",
                    aria_pressed=level == groups["level"],
                )

    async def _show_level(self, level: int) -> None:
        self.level = level
        await self.stage.redraw()

    async def _begin(self, column: str) -> None:
        self.column, self.level = column, 1
        self.stage.arrivals += 1
        self.arrives = self.stage.arrivals
        await self.stage.redraw()

    async def _move(self, gesture: Any) -> None:
        members = [str(member) for member in gesture["members"]]
        moved_labels = count_of(len(members), "value" if self.level == 1 else "group")
        arguments = {"members": members, "to": str(gesture["to"])}
        await self._change("move", arguments, f"moved {moved_labels} to another group")

    async def _part(self, gesture: Any) -> None:
        members = [str(member) for member in gesture["members"]]
        await self._change("part", {"members": members}, f"{len(members)} are groups of their own")

    async def _rename(self, gesture: Any) -> None:
        arguments = {"old": str(gesture["old"]), "new": str(gesture["new"])}
        await self._change("rename", arguments, "renamed a group")

    async def _change(self, act: str, arguments: Fields, words: str) -> None:
        answer = self.stage.workbench.answer(
            "regroup", column=self.stage.column, level=self.level, act=act, arguments=arguments
        )
        spec = await self.stage.page.wait_for(answer)
        if spec is None:
            await self.stage.redraw()
            return
        self.stage.apply(spec, words, await self.stage.top_of(spec))
