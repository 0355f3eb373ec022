"""The stage *Data*: open a table, see its columns, say what they are, look at its rows."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.schema import Kind, Role
from sfumato.core.words import percent
from sfumato.errors import ParameterError, SfumatoError
from sfumato.interfaces.web import edits
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.open_table import Opening
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import button, element, hint, section, text
from sfumato.interfaces.web.pages.rows import RowPages
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.widgets import ColumnList
from sfumato.interfaces.web.reviewed_columns import check, checked, forget

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.workbench import Workbench


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = DataStage(page)
    page.live(stage.changed)


async def open_problems(workbench: Workbench) -> int:
    """How many columns wait for somebody's decision: what the stage counts."""
    if workbench.opened is None or not workbench.ready:
        return 0
    attributes, undecided = workbench.recipe.schema.attributes, 0
    for name in workbench.opened["columns"]:
        undecided += name not in attributes or attributes[name].has(Role.ASK)
    return undecided


class DataStage(StageView):
    """What this tab shows of the table; it is drawn once, and its parts are filled anew when the
    recipe changes.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.place = element("div", "work", "stage-data")
        self.shows: tuple[Any, ...] | None = None
        self.columns: ColumnList | None = None
        self.cards: list[Fields] = []
        self.codes: dict[str, list[Any]] = {}
        # The reading of the table that the cards are about: a recipe that reads codes as missing
        # has it read again.
        self.looked_at: Fields | None = None
        self.rows: RowPages | None = None

    async def changed(self) -> None:
        """Show what there is now: nothing yet, a table that is looked at, or its columns."""
        opened = self.workbench.opened
        shows = (
            None if opened is None else (opened["name"], opened["records"], opened["digest"]),
            self.workbench.ready,
            self._reading,
        )
        if shows != self.shows:
            self.shows = shows
            self._frame()
        if self.workbench.ready:
            await self._fill()

    @property
    def _reading(self) -> bool:
        return self.workbench.opened is None and self.workbench.reading

    def _frame(self) -> None:
        """What stays while a table is open."""
        self.columns = self.rows = None
        self.cards, self.codes, self.looked_at = [], {}, None
        with self.page.client, redrawn(self.place):
            if self._reading:
                text("What are the columns?", "h1")
                text("Reading the table …", "p", "soft", role="status")
            elif self.workbench.opened is None:
                Opening(self.page).draw()
            elif not self.workbench.ready:
                text("What are the columns?", "h1")
                text("Looking at the columns …", "p", "soft", role="status")
            else:
                self._table()

    def _table(self) -> None:
        opened = self.workbench.opened or {}
        text("What are the columns?", "h1")
        self.sentence = element("p", "lead", role="status")
        self.notes = element("div", "notes")
        with section("Columns") as listed:
            listed.props["data-heir"] = "path"  # whoever typed the path of the table goes on here
            text("Skip the columns", "a", "skip", "past", href="#rows", key="skip the columns")
            self.columns = ColumnList(
                rows=[],
                segments=list(edits.SEGMENTS),
                more=[name for name in edits.CHOICES if name not in edits.SEGMENTS],
                kinds=[str(kind) for kind in Kind],
            )
            self.columns.on("role", lambda event: self.page.wait_for(self._role(event.args)))
            self.columns.on("kind", lambda event: self.page.attempt(lambda: self._kind(event.args)))
            self.columns.on("accept", lambda event: self._accept(event.args))
            hint(
                "On a tick box, the keys d, q, s and k give a role, and ↑ and ↓ move to the next. "
                "Shift and click select a range."
            )
        with section("Rows") as below:
            below.props["id"], below.props["tabindex"] = "rows", -1
            self.rows = RowPages(self.page)
            self.rows.draw()
        with section("The file"):
            Opening(self.page).draw_reading(opened)

    async def _fill(self) -> None:
        version = self.project.version
        self._list()
        with self.page.client:
            self._note()
        try:
            single = await self.workbench.answer("alone", version=version)
        except SfumatoError:  # the notes say what does not fit
            single = None
        if self.columns is None or version != self.project.version:
            return
        with self.page.client:
            self._say(single)
        if self.rows is not None:
            await self.rows.fill()
        reading = self.workbench.opened
        if self.looked_at is not reading:
            answer = await self.workbench.answer("columns")
            self.cards, self.codes, self.looked_at = (
                answer["columns"],
                answer["missing_codes"],
                reading,
            )
            self._list()
            with self.page.client:
                self._note()

    def _list(self) -> None:
        """Show the columns as the recipe has them; what is known of them is asked for once."""
        if self.columns is not None and self.cards:
            reviewed = checked(self.project)
            with self.page.client:
                self.columns.fill(rows=[self._row(card, reviewed) for card in self.cards])

    def _row(self, card: Fields, reviewed: frozenset[str]) -> Fields:
        """One line of the list; a role is a guess while nobody has touched it and it is the
        proposed one.
        """
        attribute = self.recipe.schema.attributes.get(card["name"])
        if attribute is None:
            roles = [str(Role.ASK)]
        else:
            roles = [str(role) for role in attribute.roles]
        return {
            "name": card["name"],
            "label": card["label"],
            "role": "ask" if attribute is None else edits.choice_of(attribute),
            "kind": card["kind"] if attribute is None else str(attribute.kind),
            "guess": card["name"] not in reviewed and roles == card["roles"] and roles != ["ask"],
            "missing": card["missing"],
            "distinct": card["distinct"],
            "bars": card["bars"],
            "why": card["reasons"],
        }

    def _say(self, single: Fields | None) -> None:
        """The first sentence: how far the quasi-identifiers single people out."""
        count = 0 if single is None else single["columns"]
        if single is None:
            words = "How much the columns single people out is not known yet."
        elif not count:
            words = "No column is a quasi-identifier yet, so outsiders are assumed to know nothing."
        else:
            share = 0.0
            if single["records"]:
                share = single["alone"] / single["records"]
            together = "1 column singles out"
            if count != 1:
                together = f"{count} columns together single out"
            words = f"{together} {percent(share)} of the records."
        with redrawn(self.sentence):
            text(words)

    def _note(self) -> None:
        """What wants an answer: columns nobody decided on, and columns that the recipe does not
        know, or the table.
        """
        schema, opened = self.recipe.schema, self.workbench.opened or {}
        names = set(opened.get("columns", ()))
        undecided = [name for name in schema.columns(Role.ASK) if name in names] + [
            n for n in names if n not in schema.attributes
        ]
        absent = [name for name in schema.attributes if name not in names]
        with redrawn(self.notes):
            if opened.get("changed"):
                change = "The table changed since the project was last open"
                if opened["other"]:
                    change = "This is another table than before"
                text(f"{change}. The recipe is unchanged; the numbers are new.", "p", "problem")
            if undecided:
                waits = "1 column waits"
                if len(undecided) != 1:
                    waits = f"{len(undecided)} columns wait"
                text(
                    f"{waits} for your decision (role ask). Decide before you run.", "p", "problem"
                )
            if absent:
                lacks = "1 column that the table lacks"
                if len(absent) != 1:
                    lacks = f"{len(absent)} columns that the table lacks"
                text(f"The recipe names {lacks}.", "p", "problem")
                button(
                    "Remove them from the recipe",
                    lambda: self.page.edit(*edits.without_columns(self.recipe, absent)),
                    key="drop columns",
                )
            if absent or len(undecided) > len(schema.columns(Role.ASK)):
                button(
                    "Look at all columns again",
                    lambda: self.page.wait_for(self._anew()),
                    key="propose anew",
                )
            self._codes()
            for note in opened.get("notes", ()):
                hint(str(note))

    def _codes(self) -> None:
        """Codes of ours that often mean a missing value, where they stand in the table."""
        open_ = {
            name: values
            for name, values in self.codes.items()
            if name not in self.recipe.intake.missing_in
        }
        if not open_:
            return
        names = ", ".join(
            f"{name} ({', '.join(map(str, values))})" for name, values in list(open_.items())[:5]
        )
        remainder = ""
        if len(open_) > 5:
            remainder = f" and {len(open_) - 5} more"
        with element("p", "tools"):
            text(f"Codes that often mean a missing value: {names}{remainder}.")
            button(
                "Read them as missing",
                lambda: self.page.edit(*edits.with_missing_codes(self.recipe, open_)),
                key="read codes as missing",
            )

    # gestures

    async def _role(self, gesture: Any) -> None:
        columns, choice = self._columns_of(gesture), str(gesture.get("role"))
        if choice not in edits.CHOICES:
            raise ParameterError("this role does not exist")
        suggested = {}
        if Role.QUASI in edits.CHOICES[choice][0]:
            old = self.recipe.schema.attributes
            bare = [name for name in columns if name not in old or old[name].hierarchy is None]
            if bare:
                specs = await self.workbench.answer("suggest", columns=bare)
            else:
                specs = {}
            suggested = {name: registry.build("hierarchies", spec) for name, spec in specs.items()}
        self._edit(edits.with_role(self.recipe, columns, choice, suggested), columns)

    def _kind(self, gesture: Any) -> None:
        columns = self._columns_of(gesture)
        self._edit(edits.with_kind(self.recipe, columns, str(gesture.get("kind"))), columns)

    def _accept(self, columns: Any) -> None:
        names = set((self.workbench.opened or {}).get("columns", ()))
        check(self.project, [name for name in columns if name in names])
        self.project.tell()

    async def _anew(self) -> None:
        """Propose everything anew, for a table that the recipe is not about."""
        proposed = await self.workbench.do("propose", "Looking at the columns")
        old = self.recipe
        fresh = dataclasses.replace(proposed["recipe"], limits=old.limits, contract=())
        forget(self.project)
        self.page.edit(fresh, "Looked at all columns again")

    def _columns_of(self, gesture: Any) -> list[str]:
        table_columns = (self.workbench.opened or {}).get("columns", ())
        columns = [str(name) for name in gesture.get("columns", ())]
        if not columns or any(name not in table_columns for name in columns):
            raise ParameterError("the table has no such column")
        return columns

    def _edit(self, change: edits.Edited, columns: list[str]) -> None:
        before = self.project.version
        check(self.project, columns)
        self.page.edit(change.recipe, change.sentence)
        if self.project.version == before:
            self.project.tell()
