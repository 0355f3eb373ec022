"""The stage *Hierarchies*: how coarse may each quasi-identifier become?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.errors import SfumatoError
from sfumato.interfaces.web import choices, edits
from sfumato.interfaces.web.catalogue import kind_title
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.forms import DrawnForm, FormOptions
from sfumato.interfaces.web.pages.group_editor import GroupEditor
from sfumato.interfaces.web.pages.hierarchy_files import HierarchyFiles
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import button, element, hint, section, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.tables import choice
from sfumato.interfaces.web.pages.widgets import Levels
from sfumato.interfaces.web.tasks.hierarchies import bands

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.workbench import Workbench


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = HierarchyStage(page)
    page.live(stage.changed)


class HierarchyStage(StageView):
    """The quasi-identifiers, and one of them in full. ``draft`` is a hierarchy that is looked at
    before it is used.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        with element("div", "main"):
            self.side = element("nav", "side", aria_label="Quasi-identifiers")
            self.work = element("div", "work")
        self.column: str | None = None
        self.draft: Fields | None = None
        self.draft_words = ""
        self.lines: list[Fields] = []
        self.levels: Levels | None = None
        self.turn = 0
        self.opened: set[str] = set()
        # Whether classes are those of the column that is looked at, whatever the others are.
        self.alone = False
        # How often somebody asked on one part of the page for what is drawn on another.
        self.arrivals = 0
        self.editor = GroupEditor(self)
        self.exchange = HierarchyFiles(self)

    # what is shown

    async def changed(self) -> None:
        """Draw everything anew for the recipe in use."""
        self.draft = None
        if not self.workbench.ready:
            self._nothing(lambda: self.page.ask_for_table("Open a table first, on the stage Data."))
            return
        if not self.lines:
            self._nothing(lambda: text("Counting classes …", "p", "soft", role="status"))
        self.lines = await self.workbench.answer("overview")
        names = [line["column"] for line in self.lines]
        if not names:
            self._nothing(
                lambda: self.page.ask_for_table(
                    "No column is a quasi-identifier yet. Choose them on the stage Data."
                )
            )
            return
        if self.column not in names:
            self.column = names[0]
        await self._show()

    def _nothing(self, say: Callable[[], Any]) -> None:
        """The stage without a column: why there is none."""
        with self.page.client:
            with redrawn(self.side):
                pass
            with redrawn(self.work):
                text("How coarse may columns become?", "h1")
                say()

    async def _show(self) -> None:
        """One column in full: asked for first, then drawn at once, so that nothing jumps."""
        self.turn += 1
        # whoever asked before is not drawn when the answer comes
        turn, column = self.turn, str(self.column)
        answer, problem = await self._ask_levels(column, self.draft)
        groups = None
        if self.draft is None:
            groups = await self.editor.ask(column)
        if turn != self.turn:
            return
        with self.page.client:
            self._list()
            self.work.props["data-version"] = str(self.project.version)
            with redrawn(self.work):
                text(f"How coarse may {column} become?", "h1")
                self._builder(column)
                self.asking = element("div", "notes")
                self.notice = element("div", "notes")
                self._notice(answer, problem)
                if isinstance(groups, dict):
                    self.editor.draw(column, groups)
                if answer is not None:
                    self._levels(column, answer)
                if isinstance(groups, str):
                    self.editor.draw(column, groups)
                self.exchange.draw(column)

    async def _ask_levels(
        self, column: str, draft: Mapping[str, Any] | None
    ) -> tuple[Fields | None, str]:
        spec = None if draft is None else dict(draft)
        try:
            question = self.workbench.answer(
                "levels", column=column, at=self.at(), hierarchy=spec, alone=self.alone
            )
            return await question, ""
        except SfumatoError as error:
            return None, str(error)

    async def redraw(self) -> None:
        """Draw the column once more."""
        await self._show()

    async def top_of(self, spec: Mapping[str, Any]) -> int | None:
        """The highest level of a hierarchy; None where it does not fit."""
        answer, _ = await self._ask_levels(str(self.column), spec)
        return None if answer is None else int(answer["top"])

    def at(self) -> dict[str, int]:
        """The levels of all columns as they are chosen now: set, else found by the last search,
        else as it is.
        """
        fixed, searched = choices.set_levels(self.recipe), self._searched()[1]
        return {
            line["column"]: min(
                fixed.get(line["column"], searched.get(line["column"], 0)), line["top"] or 0
            )
            for line in self.lines
        }

    def _searched(self) -> tuple[int, dict[str, int]]:
        """The newest version, up to the one in use, that a search was made for, and the levels it
        chose; 0: none was.
        """
        version = max((v for v in self.workbench.searched if v <= self.project.version), default=0)
        return version, self.workbench.searched.get(version, {})

    def _list(self) -> None:
        fixed, searched = choices.set_levels(self.recipe), self._searched()[1]
        levels = self.at()
        with redrawn(self.side):
            for line in self.lines:
                name, top = line["column"], line["top"]
                current = {"aria_current": True} if name == self.column else {}
                has_level = name in fixed or name in searched
                words = "?"
                if top is not None:
                    words = f"{levels[name] if has_level else '–'}/{top}"
                with element(
                    "button",
                    "pick",
                    bool(current) and "on",
                    key=f"column {name}",
                    type="button",
                    **current,
                ) as pick:
                    text(name, "span", "lab", title=name)
                    with element("span", "soft", "small"):
                        if line["uncovered"] or line["error"]:
                            lost = "⚠ "
                            if line["uncovered"]:
                                lost = f"⚠{line['uncovered']:,} "
                            text(
                                lost,
                                "span",
                                "alarm",
                                aria_label=f"{line['uncovered']:,} values are in no group",
                            )
                        text(words, "span", aria_label=self._spoken(has_level, levels[name], top))
                pick.on("click", lambda n=name: self._pick(n))

    def _spoken(self, has_level: bool, level: int, top: int | None) -> str:
        if top is None:
            return "its hierarchy does not fit"
        if has_level:
            return f"level {level} of {top}"
        return f"the search chooses a level up to {top}"

    async def _pick(self, column: str) -> None:
        self.column, self.draft = column, None
        await self._show()

    # how it is made

    def _builder(self, column: str) -> None:
        """The kind of hierarchy, and its fields as they are declared."""
        hierarchy = self.hierarchy(column)
        kinds = {name: kind_title(cls) for name, cls in registry.family("hierarchies").items()}
        if hierarchy is None:
            kinds = {"": "nothing yet", **kinds}
        with element("div", "builder"):
            name = ""
            if hierarchy is not None:
                name = hierarchy.name
            choice("Made by", kinds, name, self._choose, key="builder")
        if hierarchy is not None:
            # the groups below show what a list of paths holds
            listed = hierarchy.secret if hierarchy.by_hand == "yes" else ()
            options = FormOptions(opened=self.opened, without=listed, on_preview=self._preview)
            relative = hierarchy.relative(self.project.folder)
            schema = self.recipe.schema
            DrawnForm(
                relative,
                schema,
                "builder",
                lambda hierarchy_entered, _: self.use(hierarchy_entered),
                options,
            ).draw()
        if self.draft is None:
            rules = {"category": "is a value of its own", "wildcard": "equals every value"}
            now = str(self.recipe.schema[column].missing)
            choice(
                "A missing value",
                rules,
                now,
                lambda rule: self.page.edit(*edits.with_missing(self.recipe, [column], rule)),
                key="missing rule",
            )

    def hierarchy(self, column: str) -> Any:
        """The hierarchy that is looked at: the draft, else that of the recipe."""
        if self.draft is not None:
            return registry.build("hierarchies", self.draft)
        return self.recipe.schema[column].hierarchy

    async def _choose(self, builder: str) -> None:
        """Another kind: begun with what suits the column; where more must be said, its examples or
        its file are asked for.
        """
        spec = await self.page.wait_for(
            self.workbench.answer("begin", column=self.column, builder=builder)
        )
        if spec is None:
            self.exchange.ask(builder)
            return
        kind = registry.family("hierarchies")[builder]
        await self._try(spec, kind_title(kind).lower())

    async def use(self, hierarchy: Any) -> None:
        """Use a hierarchy that covers all values; one that does not is only shown."""
        await self._try(registry.write(hierarchy), sentence_of(hierarchy))

    async def _try(self, spec: Fields, words: str) -> None:
        answer, _, current = await self._ask_in_turn(spec)
        if not current:
            return
        if answer is not None and not answer["uncovered"]:
            self.apply(spec, words, answer["top"])
        else:
            await self.look_at(spec, words)

    async def _preview(self, hierarchy: Any) -> None:
        """Show the levels of a hierarchy while a slider moves."""
        answer, problem, current = await self._ask_in_turn(registry.write(hierarchy))
        if current and self.levels is not None and answer is not None:
            with self.page.client:
                self._notice(answer, problem)
                self._fill(answer)

    async def _ask_in_turn(self, spec: Fields) -> tuple[Fields | None, str, bool]:
        """What a hierarchy would do, and whether nothing else was tried meanwhile."""
        self.turn += 1
        turn = self.turn
        answer, problem = await self._ask_levels(str(self.column), spec)
        return answer, problem, turn == self.turn

    async def look_at(self, spec: Fields, words: str) -> None:
        """Show a hierarchy that is not in use yet, and what can be done with it, wherever it was
        asked for.
        """
        self.draft, self.draft_words = spec, words
        self.arrivals += 1
        await self._show()

    def apply(self, spec: Mapping[str, Any], words: str, top: int | None) -> None:
        """Put a hierarchy into the recipe: one version."""
        before = self.project.version
        self.draft = None
        hierarchy = registry.build("hierarchies", spec).resolved(self.project.folder)
        self.page.edit(
            *edits.with_hierarchy(self.recipe, str(self.column), hierarchy, words, top=top)
        )
        if self.project.version == before:
            self.project.tell()

    # what it covers

    def _notice(self, answer: Fields | None, problem: str) -> None:
        """What has no place, before it fails; and what a draft would do."""
        with redrawn(self.notice):
            if self.draft is not None:
                text("This is a preview. The recipe is unchanged.", "p", "lead")
            if problem:
                self.page.complain(problem)
            lost = 0
            if answer is not None:
                lost = answer["uncovered"]
            if answer is not None and lost:
                values = "1 value is"
                if lost != 1:
                    values = f"{lost:,} values are"
                self.page.complain(
                    f"{values} in no group ({answer['records_lost']:,} records). "
                    "A run refuses them."
                )
            with element("div", "tools") as tools:
                if self.draft is not None:
                    tools.props["data-arrives"] = self.arrivals
                if lost:
                    self._mend()
                if self.draft is not None:
                    if answer is not None:
                        spec, words, top = self.draft, self.draft_words, answer["top"]
                        button(
                            "Use it",
                            lambda: self.apply(spec, words, top),
                            "strongly",
                            key="use draft",
                        )
                    button("Discard", self._discard, key="discard draft")
            self.listed = element("div")

    def _mend(self) -> None:
        adopting = self.hierarchy(str(self.column)).adopting("Other")
        if adopting is not None:
            button("Put them under Other", lambda: self._adopt(adopting), key="put under other")
        button("List them", lambda: self.page.wait_for(self._list_lost()), key="list lost")

    async def _adopt(self, hierarchy: Any) -> None:
        words = "values in no group are under Other"
        if self.draft is not None:
            words = self.draft_words
        await self._try(registry.write(hierarchy), words)

    async def _list_lost(self) -> None:
        answer = await self.workbench.answer(
            "without_place", column=self.column, hierarchy=self.draft
        )
        with self.page.client, redrawn(self.listed):
            with element("ul", "entries", tabindex=0, aria_label="values in no group"):
                for value, count in answer["values"]:
                    with element("li"):
                        text(value if value else "(empty)", "span")
                        text(f"{count:,}", "span", "soft", "small")
            if answer["more"]:
                hint(f"… and {answer['more']:,} more")

    async def _discard(self) -> None:
        self.draft = None
        await self._show()

    # levels

    def _levels(self, column: str, answer: Fields) -> None:
        with section("All levels side by side"):
            self._choice(column)
            # classes of this column alone tell what its hierarchy does by itself
            scopes = {
                "all": "all quasi-identifiers, the others at their current levels",
                "alone": f"{column} alone, as if no other column were known",
            }
            now = "alone" if self.alone else "all"
            choice("Classes of", scopes, now, self._count, key="classes of")
            self.levels = Levels(levels=[], k=answer["k"], records=answer["records"], bands=[])
            self.levels.on("use", lambda event: self._use_level(int(event.args)))
            self._fill(answer)
            hint("Bars count records. Values are shown to the owner only.")

    async def _count(self, which: str) -> None:
        self.alone = which == "alone"
        await self._show()

    def _fill(self, answer: Fields) -> None:
        if self.levels is None:
            return
        column = answer["column"]
        fixed, searched = choices.set_levels(self.recipe), self._searched()[1]
        has_level = column in fixed or column in searched
        self.levels.fill(
            levels=answer["levels"],
            k=answer["k"],
            records=answer["records"],
            used=min(self.at()[column], answer["top"]) if has_level else -1,
            set=column in fixed,
            can=choices.lattice_step(self.recipe) is not None and self.draft is None,
            words=answer["words"],
            bands=[_band(low, high) for low, high in bands(answer["k"])],
        )

    def _choice(self, column: str) -> None:
        """Who chooses the level, and what the search found."""
        recipe = self.recipe
        with element("div", "tools", data_heir="recode"):
            if choices.lattice_step(recipe) is None:
                text("No step of the recipe gives whole columns a level.", "span", "soft")
                recode = edits.with_recoding(recipe)
                button("Recode whole columns", lambda: self.page.edit(*recode), key="recode")
                return
            if column in choices.bounds_of(recipe):
                text("You chose the level.", "span", "soft")
                button(
                    "Let the search choose", lambda: self._use_level(None), key="let search choose"
                )
            version, searched = self._searched()
            if version and column in searched:
                now = ""
                if version != self.project.version:
                    now = f" for version {version}"
                text(f"The search found level {searched[column]}{now}.", "span", "soft")
            if version != self.project.version:
                button(
                    "Search for levels",
                    lambda: self.page.wait_for(self._search()),
                    key="search levels",
                )

    def _use_level(self, level: int | None) -> None:
        self.page.edit(*edits.with_level(self.recipe, str(self.column), level))

    async def _search(self) -> None:
        """Let the search choose levels for the recipe in use; nothing is released."""
        version = self.project.version
        self.workbench.searched[version] = await self.workbench.do(
            "search_levels", "Searching for levels", version=version
        )
        self.project.tell()


async def open_problems(workbench: Workbench) -> int:
    """How many quasi-identifiers have values without a place, or a hierarchy that does not fit:
    what the stage counts.
    """
    if not workbench.ready:
        return 0
    lines = await workbench.answer("overview")
    return sum(bool(line["uncovered"] or line["error"]) for line in lines)


def sentence_of(hierarchy: Any) -> str:
    """A hierarchy in the history: its kind and numbers of ours, never a label."""
    words = kind_title(type(hierarchy)).lower()
    for name, value in registry.write(hierarchy)[hierarchy.name].items():
        numbers = isinstance(value, list) and all(isinstance(part, int | float) for part in value)
        if numbers and name not in hierarchy.secret:
            return f"{words} {', '.join(map(str, value))}"
    return words


def _band(low: int, high: float) -> str:
    if high == float("inf"):
        return f"in classes of {low} and more"
    if high - low == 1 and low == 1:
        return "unique"
    if high - low <= 1:
        return f"in classes of {low}"
    return f"in classes of {low}–{int(high) - 1}"
