"""Holding a release against a policy: its clauses, what only the user can say of the use, and the
verdict.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.interfaces.web.pages.current_release import made_first
from sfumato.interfaces.web.pages.forms import VALUE
from sfumato.interfaces.web.pages.parts import AS_TYPED, button, element, section, text

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.policies import PolicyStage

COUNTERPARTS = {
    "none": "No counterpart: nothing of a release answers this",
    "said": "You have to say this: a table does not know it",
    "release": "The release itself tells",
}
NUMBERS = {
    "age": "Columns that are ages",
    "zip": "Columns that are ZIP codes",
    "date": "Columns that are dates",
}


class Complying:
    """The part of the stage that judges. What was said stays while other policies are opened."""

    def __init__(self, stage: PolicyStage) -> None:
        self.stage = stage
        self.said: dict[str, str] = {}
        self.held: dict[str, Any] | None = None
        self.problem = ""

    def opened(self, read: dict[str, Any]) -> None:
        """Another policy was opened: the verdict is gone, and the purpose is the first one it
        names.
        """
        self.held, self.problem = None, ""
        named = self._named(read, "purpose")
        self.said |= {"purpose": named[0] if named else "", "recipient": ""}

    def _named(self, read: dict[str, Any], subject: str) -> list[str]:
        """The names that a policy itself has for something."""
        told = [
            name for one in read["clauses"] if one["subject"] == subject for name in one["names"]
        ]
        purposes = read["purposes"] if not read["permits"] else []
        if subject == "purpose":
            told += [one["name"] for one in purposes]
        if subject == "recipient":
            told += [name for one in purposes for name in one["recipients"]]
        return list(dict.fromkeys(told))

    def draw_clauses(self, read: dict[str, Any]) -> None:
        """The clauses of a policy that says what may be done; those without a counterpart first."""
        several = len({one["use"] for one in read["clauses"]}) > 1
        for counterpart, heading in COUNTERPARTS.items():
            mine = [one for one in read["clauses"] if one["counterpart"] == counterpart]
            if not mine:
                continue
            text(heading, "h3", *(["alarm"] if counterpart == "none" else []))
            with element("ul", "clauses"):
                for one in mine:
                    which = f" (use {one['use']})" if several else ""
                    with element("li"):
                        text(
                            (
                                f"{one['subject']}: "
                                if one["permitted"]
                                else f"prohibited {one['subject']}: "
                            ),
                            "span",
                            "strong",
                        )
                        text(f"{one['words']}{which}")

    def draw(self, read: dict[str, Any]) -> None:
        """The form, and the verdict."""
        number = self.stage.page.workbench.project.version
        with section("Does a release keep it?"):
            with element("div", "fields"):
                self._field("purpose", "Purpose of the use", names=self._named(read, "purpose"))
                self._field(
                    "recipient",
                    "Who receives it",
                    names=self._named(read, "recipient"),
                    help="Empty: the controller itself.",
                )
                if read["permits"]:
                    kinds = self._named(read, "kind of data")
                    self._field(
                        "categories",
                        "Kinds of data in it",
                        names=kinds,
                        help="With commas between: pd:Health, pd:Age.",
                    )
                    self._field(
                        "days",
                        "Days that it is stored",
                        help="Empty: nothing is said.",
                        kind="number",
                    )
                for name, label in NUMBERS.items() if read["numbers"] else ():
                    self._field(
                        name,
                        label,
                        help="With commas between; those you do not name are not looked at.",
                    )
                self._field(
                    "folder",
                    "Folder of a written release",
                    help=(
                        f"Empty: the release of version {number}, which is made where it is not"
                        " yet."
                    ),
                )
            button("Hold the release against it", self.judge, "strongly", key="policy-comply")
            if self.problem:
                text(self.problem, "p", "problem", role="alert")
            if self.held is not None:
                self._verdict(self.held)

    def _field(
        self,
        name: str,
        label: str,
        *,
        names: list[str] = (),  # type: ignore[assignment]
        help: str = "",  # noqa: A002
        kind: str = "text",
    ) -> None:
        key = f"comply-{name}"
        with element("div", "formfield"):
            text(label, "label", "label", **{"for": key})
            about: dict[str, Any] = {
                "type": kind,
                AS_TYPED: self.said.get(name, ""),
                "spellcheck": "false",
            }
            about |= {"min": 0, "step": 1} if kind == "number" else {}
            about |= {"list": f"{key}-names"} if names else {}
            made = element("input", "input", "wide", key=key, id=key, autocomplete="off", **about)
            made.on(
                "change", lambda event: self.said.update({name: str(event.args)}), js_handler=VALUE
            )
            if names:
                with element("datalist", id=f"{key}-names"):
                    for one in names:
                        element("option", value=one)
            if help:
                text(help, "p", "help")

    async def judge(self) -> None:
        """Let the verb judge; what is refused is said in place."""
        self.held, self.problem = None, ""
        self.stage.again()
        read: dict[str, Any] = self.stage.read or {}
        workbench = self.stage.page.workbench
        version = workbench.project.version
        given = {
            "path": "" if read["text"] else read["path"],
            "text": read["text"],
            "name": Path(read["path"]).name or read["name"],
        }
        given |= {
            "key": str(version),
            "within": str(workbench.project.folder),
            "said": dict(self.said),
        }

        async def act() -> dict[str, Any]:
            return dict(
                await workbench.do(
                    "comply_policy", "Holding the release against the policy", **given
                )
            )

        try:
            self.held = {**await made_first(workbench, version, act), "version": version}
        except SfumatoError as error:
            self.problem = str(error)
        self.stage.again()

    def _verdict(self, held: dict[str, Any]) -> None:
        kept = held["holds"]
        about = self.said.get("folder", "").strip() or f"The release of version {held['version']}"
        words = (
            "keeps what the policy asks for" if kept else "does not keep what the policy asks for"
        )
        text(
            f"{'✓' if kept else '✗'} {about} {words}.",
            "p",
            "headline",
            f"state-{'holds' if kept else 'broken'}",
            role="status",
        )
        with element("ul", "plainlist"):
            for kind, sign in (("reasons", "✗"), ("statements", "✓"), ("notes", "·")):
                for line in held[kind]:
                    with element("li", "verdict", *(["broken"] if kind == "reasons" else [])):
                        text(sign, "span", "mark", aria_hidden="true")
                        text(line)
