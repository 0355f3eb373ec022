"""The closer views of a release: its rows beside the original ones, what attacks find, its utility
and its reports.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from sfumato.core.blocks import ChartBlock
from sfumato.core.fields import Fields
from sfumato.interfaces.web.pages.blocks import draw_blocks
from sfumato.interfaces.web.pages.parts import VALUE, button, element, hint, text
from sfumato.interfaces.web.pages.tables import badge, choice, pager, table, tabs
from sfumato.interfaces.web.tasks import by_the_clock

if TYPE_CHECKING:
    from sfumato.core.blocks import Block
    from sfumato.interfaces.web.pages.look import LookStage
    from sfumato.interfaces.web.workbench import Workbench

ROWS = 20
WHICH = {
    "all": "all records",
    "changed": "changed records",
    "suppressed": "suppressed records",
    "alone": "records that were unique",
}
SECONDS = {"5": "5 seconds", "20": "20 seconds", "60": "a minute", "300": "5 minutes"}
# A report runs no script, sends no form, and is shown in our own pages only.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"
REPORTS = "reports"
KINDS = ("owner", "public")


async def rows(stage: LookStage) -> None:
    """The original and the released rows side by side, changed cells marked."""
    first = stage.first["rows"]
    answer = await stage.ask("look_rows", first=first, count=ROWS, which=stage.which)

    def choose(which: str) -> None:
        stage.change_view(which=which, first={**stage.first, "rows": 0})

    with element("div", "row", "controls"):
        badge("owner's eyes only")
        if answer["aligned"]:
            choice("show", WHICH, stage.which, choose, key="which rows")
    if answer["aligned"]:
        words = "Each original record, and below it what is released of it; ● marks what changed."
    else:
        words = "The rows are synthetic: there is no original row to show beside them."
    hint(words)
    why = None
    if any(record["row"] == stage.row for record in answer["rows"]):
        why = await stage.ask("why_risky", row=stage.row)
    pager(
        "records",
        (first, ROWS, answer["total"]),
        lambda at: stage.change_view(first={**stage.first, "rows": at}),
    )
    columns = answer["columns"]
    heads = [(name, False) for name in ("record", "which", *columns)]
    with table("Records before and after", heads, "records"):
        for record in answer["rows"]:
            _record(stage, record, columns)
            if why is not None and record["row"] == stage.row:
                _draw_why(stage, why, len(heads))


def _draw_why(stage: LookStage, blocks: list[Block], columns: int) -> None:
    """Why a record is risky, below it."""
    with (
        element("tr", "now"),
        element("td", colspan=columns),
        element("section", "why"),
    ):
        draw_blocks(blocks)
        button(
            "Close",
            lambda: stage.change_view(row=None),
            key=f"record {stage.row} close",
            label="Close: why it is risky",
        )


def _record(stage: LookStage, record: Fields, columns: list[str]) -> None:
    before, after, row = record["before"], record["after"], record["row"]
    if before is not None:
        with element("tr", "was"):
            # whoever closes what is said of the record comes back here
            with element("th", scope="row", data_heir=f"record {row} "):
                button(
                    f"{row + 1:,}",
                    lambda: stage.change_view(row=row),
                    "quiet",
                    key=f"record {row}",
                    label=f"Why is record {row + 1:,} risky?",
                    aria_pressed=stage.row == row,
                )
            text("before", "td", "soft", "small")
            for name in columns:
                _cell(before[name], changed=False)
    with element("tr", "now"):
        text("" if before is not None else "synthetic", "td")
        text("after", "td", "soft", "small")
        if after is None:
            words = "suppressed: nothing of this record is released"
            text(words, "td", "alarm", colspan=len(columns))
            return
        for name in columns:
            if name in after:
                _cell(after[name], changed=before is not None and before[name] != after[name])
            else:
                text("not released", "td", "soft")


def _cell(value: str | None, *, changed: bool) -> None:
    with element("td", changed and "changed"):
        if changed:
            text("●", "span", "mark", aria_label="changed", role="img")
        if value is None:
            text("missing", "span", "soft")
        else:
            text(value)


async def risks(stage: LookStage) -> None:
    """How many records are at which risk, held against a threshold that is entered here."""
    with element("div", "row", "controls"):
        _share(stage, "threshold", "risk that a record may have, %")
        _share(stage, "fraction", "share of the population in the file, %")
    blocks = await stage.ask(
        "look_risks",
        threshold=stage.threshold / 100,
        fraction=stage.fraction / 100 or None,
    )
    draw_blocks(blocks)


def _share(stage: LookStage, name: str, words: str) -> None:
    """A field for a share in percent; 0: not known."""
    value = getattr(stage, name)

    def typed(event: Any) -> None:
        entered = str(event.args).strip() or "0"
        try:
            share = float(entered)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 100 or (name == "threshold" and not share):
            stage.page.say(f"Enter a number up to 100: {words}.")
            return
        stage.change_view(**{name: share})

    with element("label", "typed"):
        text(words, "span", "soft", "small")
        about = {"type": "number", "step": "any", "min": 0, "max": 100}
        if value:
            about["^value"] = f"{value:.10g}"
        element("input", "input", key=name, **about).on("change", typed, js_handler=VALUE)


async def attacks(stage: LookStage) -> None:
    """Who would try, within what time, and what they found."""
    blocks = await stage.ask("look_attacks")
    with element("div", "row", "controls"):
        choice(
            "computing time",
            SECONDS,
            str(stage.seconds),
            lambda name: stage.change_view(seconds=int(name)),
            key="seconds",
        )
        button("Let the intruders try", lambda: _attack(stage), "strongly", key="attack")
    longest = by_the_clock(stage.seconds)
    hint(
        "Seconds of computing, summed over all processors, so that a busy machine finds the same. "
        f"The clock may show more: no attack starts after {longest:.0f} seconds. Cancel, at the "
        "foot, ends it; then no attack counts."
    )
    draw_blocks(blocks)


async def _attack(stage: LookStage) -> None:
    task = stage.workbench.do(
        "attack", "Intruders try the release", of=stage.version, seconds=float(stage.seconds)
    )
    if await stage.page.wait_for(task) is not None:
        stage.workbench.findings.pop(REPORTS, None)
        stage.project.tell()


async def utility(stage: LookStage) -> None:
    """The utility of the release; measured on request, since it takes a while."""
    blocks = stage.workbench.findings.get(stage.known_as("utility"))
    words = "Measure" if blocks is None else "Measure again"
    with element("div", "row"):
        button(words, lambda: _measure(stage, False), "strongly", key="measure")
        button("Measure thoroughly", lambda: _measure(stage, True), key="measure thoroughly")
        text(
            "thorough: every metric, with fitted models; this takes longer",
            "span",
            "small",
            "soft",
        )
    if blocks is None:
        text("Not measured yet: the utility of this release is unknown.", "p")
    else:
        draw_blocks(blocks)


async def _measure(stage: LookStage, thorough: bool) -> None:
    task = stage.workbench.do(
        "measure", "Measuring the utility", of=stage.version, thorough=thorough
    )
    blocks = await stage.page.wait_for(task)
    if blocks is not None:
        stage.workbench.findings[stage.known_as("utility")] = blocks
        stage.project.tell()


async def prediction(stage: LookStage) -> None:
    """How well a column can be learned from the release; on request, since it takes a while."""
    names = stage.release["shown"]
    if not names:
        text("Nothing is released that could be predicted.", "p")
        return
    if stage.target not in names:
        stage.target = names[-1]
    known_as = stage.known_as(f"prediction of {stage.target}")
    blocks = stage.workbench.findings.get(known_as)
    with element("div", "row", "controls"):
        choice(
            "predict",
            {name: name for name in names},
            stage.target,
            lambda name: stage.change_view(target=name),
            key="target",
        )
        button(
            f"Learn {stage.target} from the others",
            lambda: _predict(stage, known_as),
            "strongly",
            key="predict",
        )
    if blocks is None:
        hint(
            "Two models learn from the people of the original and from what was released of them; "
            "both are tested on other people of the original."
        )
    else:
        _beside_each_other(blocks)


def _beside_each_other(blocks: list[Block]) -> None:
    """Blocks below each other, but charts that follow one another side by side."""
    for are_charts, part in itertools.groupby(blocks, lambda block: isinstance(block, ChartBlock)):
        with element("div", are_charts and "cards"):
            draw_blocks(list(part))


async def _predict(stage: LookStage, known_as: str) -> None:
    task = stage.workbench.do(
        "look_prediction", "Learning from the release", of=stage.version, target=stage.target
    )
    blocks = await stage.page.wait_for(task)
    if blocks is not None:
        stage.workbench.findings[known_as] = blocks
        stage.project.tell()


# The reports, in frames that run nothing.


async def report(stage: LookStage) -> None:
    """The reports as they would be written, in a frame of our own origin that runs no script."""
    draft = stage.workbench.findings.get(REPORTS, {}).get(stage.version, {})
    if draft.get("about") != stage.known_as("reports"):
        text(
            "The reports show a draft of the release: it is written to a private folder, read "
            "back, judged and removed.",
            "p",
        )
        button("Draw the reports", lambda: _draft_reports(stage), "strongly", key="draw reports")
        return
    tabs(
        "Which report",
        KINDS,
        stage.page_of_report,
        lambda name: stage.change_view(page_of_report=name),
    )
    if stage.page_of_report == "owner":
        badge("owner's eyes only")
    address = f"sfumato/release/report/{stage.version}/{stage.page_of_report}"
    element(
        "iframe",
        "report",
        sandbox="",
        src=address,
        title=f"The {stage.page_of_report} report",
        key="report",
    )


async def _draft_reports(stage: LookStage) -> None:
    folder = stage.project.folder
    doing = stage.workbench.do(
        "draft_reports", "Drawing the reports", of=stage.version, folder=str(folder)
    )
    pages = await stage.page.wait_for(doing)
    if pages is not None:
        public, owner = pages
        drafts = stage.workbench.findings.setdefault(REPORTS, {})
        drafts[stage.version] = {
            "public": public,
            "owner": owner,
            "about": stage.known_as("reports"),
        }
        stage.project.tell()


def enter(app: Any, workbench: Workbench) -> None:
    """Serve the reports of releases that were drawn; the address holds a version and a word, no
    value.
    """
    from fastapi.responses import Response

    def page(version: int, kind: str) -> Response:
        report_page = workbench.findings.get(REPORTS, {}).get(version, {}).get(kind)
        if report_page is None or kind not in KINDS:
            return Response(
                "This report no longer exists.", status_code=404, media_type="text/plain"
            )
        heads = {"content-security-policy": POLICY, "cache-control": "no-store"}
        return Response(report_page, media_type="text/html; charset=utf-8", headers=heads)

    app.add_api_route("/sfumato/release/report/{version}/{kind}", page, methods=["GET"])
