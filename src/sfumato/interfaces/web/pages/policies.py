"""The stage *Policies*: what a privacy policy asks of this table, and the recipe that would keep
it.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.errors import ParameterError, SfumatoError
from sfumato.interfaces.web.forms import share_in
from sfumato.interfaces.web.pages.compliance import Complying
from sfumato.interfaces.web.pages.drawer import LONG_VALUE, TOO_LONG
from sfumato.interfaces.web.pages.forms import CHECKED, VALUE, option
from sfumato.interfaces.web.pages.parts import (
    AS_TYPED,
    AS_TYPED_IN_AREA,
    button,
    element,
    section,
    text,
)

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

CONFLICTS = {
    "privacy": "privacy first: lift what the policy caps",
    "suppress_rows": "leave out rows",
    "fail": "say that it cannot be kept",
}
SEVERITY = {"error": "It cannot be used", "warning": "Take care", "note": "Good to know"}


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = PolicyStage(page)
    page.live(stage.draw, classes="policies")


class PolicyStage:
    """The stage in one tab: the policy that was opened, and the recipe it would make."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.given = {"path": "", "text": ""}
        self.read: dict[str, Any] | None = None
        self.keep = True
        self.use = {"purpose": "", "recipient": "", "budget": "0", "on_conflict": "privacy"}
        self.compiled: dict[str, Any] | None = None
        self.version = 0
        self.problem = ""
        self.complying = Complying(self)

    async def draw(self) -> None:
        """Draw where to open one, then what is in it, then the recipe."""
        text("What does your privacy policy ask of this table?", "h1")
        if not self.page.workbench.project.has_recipe or self.page.workbench.opened is None:
            text("Open a table first, on the stage Data.", "p", "soft")
            return
        await self._open()
        self._found()
        if self.read is not None and self.read["purposes"]:
            self._choose()
        if self.problem:
            text(self.problem, "p", "problem", role="alert")
        if self.compiled is not None:
            self._proposed(self.compiled)
        if self.read is not None and self.read["language"]:
            self.complying.draw(self.read)

    def again(self) -> None:
        """Draw the stage anew: something other than the recipe changed."""
        self.page.workbench.project.tell()

    # open

    async def _open(self) -> None:
        with section("Open a policy"):
            with element("div", "limit"):
                text(
                    "Path of a file (LPL, DPV, ODRL, SPECIAL, ours)",
                    "label",
                    "label",
                    **{"for": "policy-path"},
                )
                about = {"type": "text", AS_TYPED: self.given["path"], "spellcheck": "false"}
                path = element(
                    "input", "input", "wide", key="policy-path", id="policy-path", **about
                )
                path.on(
                    "change", lambda event: self.given.update(path=event.args), js_handler=VALUE
                )
                button("Open", self.open_given, "strongly", key="policy-open")
            with element("details", "more"):
                text("or paste its text", "summary", key="policy-paste")
                area = {
                    "rows": 8,
                    "spellcheck": "false",
                    AS_TYPED_IN_AREA: self.given["text"],
                    "aria_label": "Text of the policy",
                }
                pasted = element("textarea", "input", "mono", key="policy-text", **area)
                pasted.on("change", lambda event: self._pasted(event.args), js_handler=LONG_VALUE)
                button(
                    "Read the text",
                    lambda: self.open_policy(text=self.given["text"]),
                    key="policy-read",
                )
            with element("details", "more"):
                text("or take a rule with a published number", "summary", key="policy-presets")
                listing = element("ul", "plainlist")
        for rule in await self.page.workbench.answer("policy_presets"):
            with listing, element("li", "entry"):
                with element("div"):
                    text(rule["title"], "span", "strong")
                    text(rule["text"], "p", "help")
                    text(f"{rule['source']} ({rule['as_of']}). {rule['limit']}", "p", "help")
                take = f"preset:{rule['name']}"
                button(
                    "Open",
                    lambda take=take: self.open_policy(path=take),
                    key=take,
                    label=f"Open {rule['title']}",
                )

    def _pasted(self, words: str | None) -> None:
        self.given["text"] = words or ""
        if words is None:
            self.page.say(f"{TOO_LONG} Then give its path.")

    async def open_given(self) -> None:
        """Open the file whose path was entered."""
        await self.open_policy(path=self.given["path"].strip())

    async def open_policy(self, **given: Any) -> None:
        """Read a policy; what is wrong with it is said in its place."""
        self.read = self.compiled = None
        self.problem = ""
        try:
            if not any(given.values()):
                raise ParameterError("Give the path of a policy, or its text.")
            self.read = await self.page.workbench.answer("read_policy", **given)
            self.read["path"] = given.get("path", "")
            purposes = self.read["purposes"]
            self.use |= {"purpose": purposes[0]["name"] if purposes else "", "recipient": ""}
            self.complying.opened(self.read)
        except SfumatoError as error:
            self.problem = str(error)
        self.again()

    # what is in it

    def _found(self) -> None:
        read = self.read
        if read is None:
            return
        title = "what has no counterpart here" if not read["permits"] else "what it permits"
        with section(f"{read['name']}: {title}", "card"):
            if read["permits"]:
                words = "It says what may be done with data"
                words += (
                    ""
                    if read["prescribes"]
                    else ", not what a table must look like: there is nothing to compile"
                )
                text(f"{words}. A release is held against it below.", "p", "strong")
                self.complying.draw_clauses(read)
            elif not read["findings"]:
                text("Everything in it has a counterpart in this table.", "p")
            for severity, heading in SEVERITY.items():
                mine = [one for one in read["findings"] if one["severity"] == severity]
                if mine:
                    text(heading, "h3", *(["alarm"] if severity == "error" else []))
                    with element("ul"):
                        for one in mine:
                            line = "" if one["line"] is None else f"line {one['line']}, "
                            text(f"{one['message']} ({line}{one['path']})", "li")

    # what it is for

    def _choose(self) -> None:
        read: dict[str, Any] = self.read or {}
        chosen = next(one for one in read["purposes"] if one["name"] == self.use["purpose"])
        with section("What the table is for"):
            with element("div", "fields"):
                self._select(
                    "purpose", "Purpose", {one["name"]: one["name"] for one in read["purposes"]}
                )
                people = {"": "the controller itself", **{one: one for one in chosen["recipients"]}}
                self._select("recipient", "Recipient", people)
                self._select("on_conflict", "Where a floor is above a cap", CONFLICTS)
                with element("div", "formfield"):
                    text(
                        "Records that may be suppressed, in percent",
                        "label",
                        "label",
                        **{"for": "policy-budget"},
                    )
                    about = {
                        "type": "number",
                        "min": 0,
                        "max": 100,
                        "step": "any",
                        AS_TYPED: self.use["budget"],
                    }
                    made = element(
                        "input", "input", key="policy-budget", id="policy-budget", **about
                    )
                    made.on(
                        "change", lambda event: self.use.update(budget=event.args), js_handler=VALUE
                    )
                with element("label", "switch"):
                    on = {"checked": True} if self.keep else {}
                    kept = element("input", key="policy-keep", type="checkbox", **on)
                    kept.on(
                        "change",
                        lambda event: setattr(self, "keep", bool(event.args)),
                        js_handler=CHECKED,
                    )
                    text("Keep what the recipe in use promises")
            button("Compile to a recipe", self.compile, "strongly", key="policy-compile")

    def _select(self, name: str, label: str, choices: dict[str, str]) -> None:
        key = f"policy-{name}"
        with element("div", "formfield"):
            text(label, "label", "label", **{"for": key})
            with element("select", "input", key=key, id=key) as made:
                for value, words in choices.items():
                    option(words, value, chosen=value == self.use[name])
        made.on("change", lambda event: self.used(name, event.args), js_handler=VALUE)

    def used(self, name: str, value: str) -> None:
        """Another purpose, recipient or rule."""
        self.use[name] = value
        self.compiled = None
        if name == "purpose":
            self.use["recipient"] = ""
        self.again()

    async def compile(self) -> None:
        """Work out the recipe; it is only shown."""
        read: dict[str, Any] = self.read or {}
        self.problem, self.compiled = "", None
        self.version = self.page.workbench.project.version
        try:
            use: dict[str, Any] = {
                **self.use,
                "budget": share_in(self.use["budget"] or "0"),
                "keep": self.keep,
            }
            given = {"path": read["path"] if not read["text"] else "", "text": read["text"]}
            self.compiled = await self.page.workbench.do(
                "compile_policy", "Compiling the policy", **use, **given
            )
        except SfumatoError as error:
            self.problem = str(error)
        self.again()

    # the recipe it would make

    def _proposed(self, compiled: dict[str, Any]) -> None:
        with section("The recipe it makes", "card"):
            with element("ul"):
                for decision in compiled["decisions"]:
                    text(
                        (
                            f"{decision['subject']}: {decision['text']}"
                            if decision["subject"]
                            else decision["text"]
                        ),
                        "li",
                    )
            if compiled["delete_by"]:
                text(f"The data must be gone by {compiled['delete_by']}.", "p", "strong")
            lines = changed_lines(self.page.workbench.recipe, compiled["recipe"])
            if not lines:
                text("It is the recipe in use already.", "p")
                return
            with element(
                "pre",
                "diff",
                "mono",
                tabindex=0,
                role="region",
                aria_label="What changes in the recipe",
            ):
                for line in lines:
                    kind = {"+": "added", "-": "gone"}.get(line[:1], "same")
                    text(line, "span", "diffline", kind)
            button("Use this recipe", self.take, "strongly", key="policy-use")

    def take(self) -> None:
        """Make it the recipe in use: one version."""
        if self.compiled is None or self.read is None:
            return
        if self.version != self.page.workbench.project.version:
            self.page.say("The recipe was changed since. Compile the policy again.")
            return
        self.page.edit(self.compiled["recipe"], f"as the policy {self.read['name']} asks")


def changed_lines(before: Any, after: Any) -> list[str]:
    """What changes from one recipe to another, line by line, with three lines around."""
    was, now = recipes.dump(before).splitlines(), recipes.dump(after).splitlines()
    return [
        line
        for line in difflib.unified_diff(was, now, lineterm="", n=3)
        if not line.startswith(("---", "+++", "@@"))
    ]
