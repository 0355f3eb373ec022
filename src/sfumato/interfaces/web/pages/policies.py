"""The stage *Policies*: what a privacy policy asks of this table, the recipe that would keep it,
and whether a release does.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.forms import DrawnForm, FormOptions
from sfumato.interfaces.web.pages.parts import button, element, section, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.pages.tables import draw_entry
from sfumato.interfaces.web.release_runs import made_first
from sfumato.interfaces.web.requests import (
    NUMBER_FIELDS,
    PERMISSION_FIELDS,
    ComplianceRequest,
    PolicyRequest,
    PolicySource,
)

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.pages.shell import Page


def draw(page: Page) -> None:
    """Draw the stage."""
    stage = PolicyStage(page)
    page.live(stage.draw, classes="policies")


class PolicyStage(StageView):
    """The stage in one tab: the policy that was opened, the recipe it would make, and the verdict
    on a release. What stands in the forms stays while other policies are opened.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.source: Fields = {}
        self.use: Fields = {}
        self.compliance: Fields = {}
        self.policy: Fields | None = None
        self.compiled: Fields | None = None
        self.verdict: Fields | None = None
        self.version = 0
        self.problem = ""

    async def draw(self) -> None:
        """Draw where to open one, then what is in it, then the recipe, then the verdict."""
        text("What does your privacy policy ask of this table?", "h1")
        workbench = self.workbench
        if not workbench.ready:
            text("Open a table first, on the stage Data.", "p", "soft")
            return
        presets = await workbench.answer("policy_presets")
        with section("Open a policy"):
            self._draw_source(presets)
        policy = self.policy
        if policy is not None:
            with element("section", "card"):
                draw_blocks(policy["blocks"])
            if policy["purposes"]:
                self._draw_use(policy["purposes"])
        if self.problem:
            self.page.complain(self.problem)
        if self.compiled is not None:
            self._draw_compiled(self.compiled)
        if policy is not None and policy["language"]:
            self._draw_compliance(policy)

    def redraw(self) -> None:
        """Draw the stage anew: something other than the recipe changed."""
        self.project.tell()

    async def _work(self, task: str, title: str, **arguments: Any) -> Fields | None:
        """Let a task work on the policy; what is refused is said in its place."""
        self.problem = ""
        workbench = self.workbench
        version = workbench.project.version

        async def work() -> Any:
            return await workbench.do(task, title, **arguments)

        try:
            return await made_first(workbench, version, work)
        except SfumatoError as error:
            self.problem = str(error)
            return None

    # open

    def _draw_source(self, presets: list[dict[str, str]]) -> None:
        options = FormOptions(
            at_once=False, values=self.source, without=("name",), say=self.page.say
        )
        DrawnForm(PolicySource, None, "policy", self.open_policy, options).draw()
        with element("div", "row"):
            for words, field, key in (
                ("Open the file", "path", "policy-open"),
                ("Read the text", "text", "policy-read"),
            ):
                button(words, lambda field=field: self._open(field), "strongly", key=key)
        with element("details", "more"):
            text("or take a rule with a published number", "summary", key="policy-presets")
            with element("ul", "plainlist"):
                for rule in presets:
                    self._draw_preset(rule)

    def _draw_preset(self, rule: dict[str, str]) -> None:
        path, title = f"preset:{rule['name']}", rule["title"]
        source, lines = PolicySource(path=path), [rule["text"], rule["source"]]
        with element("li", "entry"):
            label = f"Open {title}"
            draw_entry(
                title, lines, "Open", lambda: self.open_policy(source), key=path, label=label
            )

    async def _open(self, field: str) -> None:
        await self.open_policy(PolicySource(**{field: self.source.get(field) or ""}))

    async def open_policy(self, source: PolicySource, _: Any = None) -> None:
        """Read a policy; the first purpose that it names is filled in."""
        self.policy = self.compiled = self.verdict = None
        self.problem = ""
        try:
            self.policy = await self.workbench.answer("read_policy", source=source)
        except SfumatoError as error:
            self.problem = str(error)
        else:
            purpose = next(iter(self.policy["suggestions"].get("purpose", [])), "")
            for values in (self.use, self.compliance):
                values |= {"purpose": purpose, "recipient": ""}
        self.redraw()

    # the recipe it would make

    def _draw_use(self, purposes: dict[str, list[str]]) -> None:
        people = {"": "the controller itself"}
        people |= {name: name for name in purposes.get(self.use["purpose"], [])}
        options = FormOptions(
            values=self.use,
            folded=False,
            choices={"purpose": {name: name for name in purposes}, "recipient": people},
        )
        form = DrawnForm(PolicyRequest, None, "policy", self._changed_use, options)
        with section("What the table is for"):
            form.draw()
            button(
                "Compile it to a recipe",
                lambda: self.compile(form),
                "strongly",
                key="policy-compile",
            )

    def _changed_use(self, _: PolicyRequest, field: Any) -> None:
        self.compiled = None
        if field.name == "purpose":
            self.use["recipient"] = ""
        self.redraw()

    async def compile(self, form: DrawnForm) -> None:
        """Work out the recipe; it is only shown."""
        request = form.read()
        if request is None or self.policy is None:
            return
        self.version = self.project.version
        self.compiled = await self._work(
            "compile_policy", "Compiling the policy", source=self.policy["source"], request=request
        )
        self.redraw()

    def _draw_compiled(self, compiled: Fields) -> None:
        with element("section", "card"):
            draw_blocks(compiled["blocks"])
            lines = changed_lines(self.recipe, compiled["recipe"])
            if not lines:
                text("It is already the recipe in use.", "p")
                return
            label = "What changes in the recipe"
            with element("pre", "diff", "mono", tabindex=0, role="region", aria_label=label):
                for line in lines:
                    kind = {"+": "added", "-": "gone"}.get(line[:1], "same")
                    text(line, "span", "diffline", kind)
            button("Use this recipe", self.take, "strongly", key="policy-use")

    def take(self) -> None:
        """Make it the recipe in use: one version."""
        if self.compiled is None or self.policy is None:
            return
        if self.version != self.project.version:
            self.page.say("The recipe changed meanwhile. Compile the policy again.")
            return
        self.page.edit(self.compiled["recipe"], f"as the policy {self.policy['name']} asks")

    # whether a release keeps it

    def _draw_compliance(self, policy: Fields) -> None:
        hidden: list[str] = []
        if not policy["permits"]:
            hidden += PERMISSION_FIELDS
        if not policy["numbers"]:
            hidden += NUMBER_FIELDS
        options = FormOptions(
            at_once=False,
            values=self.compliance,
            without=hidden,
            folded=False,
            suggestions=policy["suggestions"],
        )
        form = DrawnForm(ComplianceRequest, None, "comply", self.judge, options)
        with section("Does a release comply with it?"):
            form.draw()
            button("Compare the release with it", form.submit, "strongly", key="policy-comply")
            if self.verdict is not None:
                draw_blocks(self.verdict["blocks"])

    async def judge(self, request: ComplianceRequest, _: Any) -> None:
        """Let the verb judge; what is refused is said in place."""
        self.verdict = None
        self.redraw()
        policy: Fields = self.policy or {}
        project = self.project
        self.verdict = await self._work(
            "comply_policy",
            "Comparing the release with the policy",
            key=str(project.version),
            within=str(project.folder),
            source=policy["source"],
            request=request,
        )
        self.redraw()


def changed_lines(before: Recipe, after: Recipe) -> list[str]:
    """What changes from one recipe to another, line by line, with three lines around."""
    was, now = recipes.dump(before).splitlines(), recipes.dump(after).splitlines()
    lines = difflib.unified_diff(was, now, lineterm="", n=3)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
