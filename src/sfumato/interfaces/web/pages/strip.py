"""What is always in sight: the figures of the recipe in use, undo and redo, and what is under
way.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sfumato.core.words import percent
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.decisions import known_decision
from sfumato.interfaces.web.edits import crowd_of
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import Words, button, element, text
from sfumato.interfaces.web.pages.stage_view import StageView
from sfumato.interfaces.web.tasks import TASKS

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.drawer import Drawer
    from sfumato.interfaces.web.pages.shell import Page
    from sfumato.interfaces.web.project import Project, Version
    from sfumato.interfaces.web.workbench import Underway

UNKNOWN = "…"


async def draw_figures(page: Page) -> None:
    """Records, promise, how many are at risk as the table is, and what the last run lost; what is
    not known yet is a dot, dot, dot.
    """
    workbench, project = page.workbench, page.workbench.project
    opened = workbench.opened
    with element("dl", "facts"):
        if opened is not None and project.has_recipe and not page.stage.blind:
            _decision(project)
        if opened is not None and not page.stage.blind:
            _figure("records", f"{opened['records']:,}")
        if not project.has_recipe:
            return
        _figure("promise", " · ".join(model.promise for model in project.recipe.meet) or "none yet")
        if opened is None or page.stage.blind:
            return
        # where no promise names a size, the records that are unique count
        class_size = crowd_of(project.recipe, default=2)
        at_risk = _figure(f"in classes under {class_size} today", UNKNOWN)
        _last_run(project)
    try:
        today = await workbench.answer("today")
        at_risk.say(f"{records_below(today, class_size):,}")
    except SfumatoError:
        at_risk.say("not known")


def records_below(today: Fields, size: int) -> int:
    """Records in classes smaller than a size.

    >>> records_below({"sizes": [1, 3, 5], "records": [10, 6, 20]}, 5)
    16
    """
    return sum(
        records
        for class_size, records in zip(today["sizes"], today["records"], strict=True)
        if class_size < size
    )


def _last_run(project: Project) -> None:
    """What the last run lost: of the version in use, or, in grey, of an older one."""
    entry = measured_version(project)
    if entry is None:
        _figure("records lost", "not run yet", "older")
        return
    old = () if entry.version == project.version else ("older",)
    note_words = ""
    if old:
        note_words = f"for version {entry.version}"
    suppressed, score = entry.effect.get("suppressed"), entry.effect.get("score")
    _figure(
        "records lost", UNKNOWN if suppressed is None else f"{suppressed:,}", *old, note=note_words
    )
    name = str(entry.effect.get("objective", "loss")).replace("_", " ")
    _figure(name, "none measured" if score is None else score_text(score), *old, note=note_words)


def _decision(project: Project) -> None:
    """Who may have the release, the reason that limits it and what was kept; a link to all of
    it.
    """
    decision = known_decision(project)
    if decision is None:
        with element("div", "figure", "decided", "older"):
            text("decision", "dt", "soft", "small")
            with element("dd", "value"):
                text("not decided yet", "a", "link", href="decide", key="decision")
        return
    outdated = bool(decision.outdated)
    with element("div", "figure", "decided", outdated and "older"):
        text("decision", "dt", "soft", "small")
        with element("dd", "value"):
            label = f"Decision: {decision.words}. {decision.reason}"
            about: Fields = {"href": "decide", "key": "decision", "aria_label": label}
            text(decision.words, "a", "link", f"tier-{decision.tier}", **about)
            if outdated:
                text(f" {decision.outdated}", "span", "small", "soft")
        if decision.reason:
            with element("dd", "because", "small", title=decision.reason):
                text(decision.reason, "a", "link", href="decide", key="reason")
        if decision.kept:
            kept = f"Kept: {decision.kept}"
            text(kept, "dd", "because", "soft", "small", title=kept)


def score_text(score: float) -> str:
    """A figure with as many digits as tell something.

    >>> score_text(0.3149), score_text(48_211.4)
    ('0.31', '48,211')
    """
    if abs(score) < 100:
        return f"{score:.2f}"
    return f"{score:,.0f}"


def measured_version(project: Project) -> Version | None:
    """The version whose run tells most about the one in use: itself, else the nearest before it,
    else the newest of all; None: none was run.
    """
    versions = {entry.version: entry for entry in project.log}
    at = project.version
    while at and not versions[at].effect:
        at = versions[at].parent
    if at:
        return versions[at]
    return max((e for e in versions.values() if e.effect), key=lambda e: e.version, default=None)


def _figure(term: str, value: str, *classes: str, title: str = "", note: str = "") -> Words:
    with element("div", "figure", *classes, **({"title": title} if title else {})):
        text(term, "dt", "soft", "small")
        with element("dd", "value"):
            figure = Words(value)
            if note:
                text(f" {note}", "span", "small", "soft")
    return figure


def draw_undo(page: Page, drawer: Drawer) -> None:
    """Undo, redo, and the version in use, which opens the history."""
    project = page.workbench.project
    keys = "Control+Z", "Control+Shift+Z"
    for words, act, can, key in zip(
        ("Undo", "Redo"),
        (project.undo, project.redo),
        (project.can_undo, project.can_redo),
        keys,
        strict=True,
    ):
        attributes: Fields = {} if can else {"disabled": True}
        button(
            words,
            lambda act=act: page.attempt(act),
            key=words.lower(),
            aria_keyshortcuts=key,
            **attributes,
        )
    entry = project.entry
    if entry is not None:
        drawer.switch("history", f"v{entry.version} · {entry.sentence} ▾", "version")
        text(f"Version {entry.version}: {entry.sentence}", "span", "unseen", role="status")


class UnderWay(StageView):
    """What is being done, how far it is, since when, and a button to end it; changed in place, so
    that nothing loses the focus.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.place = element("div", "underway")
        self.shown: Underway | None = None
        page.leaving(page.workbench.work.listen(self.update))
        self.update()

    def update(self) -> None:
        """Show the work under way as it is now."""
        job = self.workbench.job
        if job is not self.shown:
            self.shown = job
            with self.page.client, redrawn(self.place):
                if job is not None:
                    self._draw(job)
        if job is not None:
            self.words.say(progress_text(job))
            if job.share:
                self.bar.props["value"] = job.share
                self.bar.update()

    def _draw(self, job: Underway) -> None:
        begun = time.time() - (time.monotonic() - job.started)
        with element("div", "job"):
            text(job.title, "span", "unseen", role="status")
            with element("span", "words"):
                self.words = Words("")
            element("span", "soft", "number", data_started=int(begun * 1000))
            self.bar = element("progress", max=1, aria_label=job.title)
            if TASKS[job.task].cancelled:
                button(
                    "Cancel",
                    self.workbench.cancel,
                    key="cancel",
                    data_is=begun,
                    label=f"Cancel: {job.title}",
                )


def progress_text(job: Underway) -> str:
    """How far work is, in words."""
    far = f" · {percent(job.share, 0)}" if job.share else ""
    words = ""
    if job.words.lower() != job.title.lower():
        words = f" · {job.words or UNKNOWN}"
    return f"{job.title}{words}{far}"
