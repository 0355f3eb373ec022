"""The closer views of a release: its rows beside the original ones, what intruders find, what it is
worth, and its reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core.words import number, percent
from sfumato.interfaces.web.pages.parts import Words, button, element, section, text
from sfumato.interfaces.web.pages.tables import badge, choice, folded, pager, row, table, tabs
from sfumato.interfaces.web.tasks import by_the_clock

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.look import LookStage
    from sfumato.interfaces.web.workbench import Workbench

ROWS = 20
WHICH = {
    "all": "all records",
    "changed": "changed records",
    "suppressed": "suppressed records",
    "alone": "records that stood alone",
}
SECONDS = {"5": "5 seconds", "20": "20 seconds", "60": "a minute", "300": "5 minutes"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"
"""A report runs no script, sends no form, and is shown in our own pages only."""
REPORTS = "reports"
ATTACK_HEADS = ("attack", "by the", "verdict", "succeeds", "guessing", "finding")
NUMBERS = ("succeeds", "guessing")
KINDS = ("owner", "public")


# Rows.


async def rows(stage: LookStage) -> None:
    """The original and the released rows side by side, changed cells marked."""
    first = stage.first["rows"]
    found = await stage.ask("look_rows", first=first, count=ROWS, which=stage.which)
    with element("div", "row", "controls"):
        badge("owner's eyes only")
        if found["aligned"]:
            choice(
                "show",
                WHICH,
                stage.which,
                lambda name: stage.again(which=name, first={**stage.first, "rows": 0}),
                key="which rows",
            )
    if not found["aligned"]:
        text(
            "Rows were drawn anew and are nobody's: there is no original row to show beside them.",
            "p",
        )
    else:
        text(
            "Each record as it was, and below it what is released of it; ● marks what changed.",
            "p",
            "small",
            "soft",
        )
    asked = stage.row if any(one["row"] == stage.row for one in found["rows"]) else None
    why = None if asked is None else await stage.ask("why_risky", row=asked)
    pager(
        "records",
        first,
        ROWS,
        found["total"],
        lambda at: stage.again(first={**stage.first, "rows": at}),
    )
    heads = [("record", False), ("which", False), *((name, False) for name in found["columns"])]
    with table("Records before and after", heads, "records"):
        for one in found["rows"]:
            _record(stage, one, found["columns"])
            if why is not None and one["row"] == asked:
                with element("tr", "now"), element("td", colspan=len(heads)):
                    _why(stage, one["row"], why)


def _record(stage: LookStage, one: Mapping[str, Any], columns: list[str]) -> None:
    before, after, number_of = one["before"], one["after"], one["row"]
    if before is not None:
        with element("tr", "was"):
            with element(
                "th", scope="row", data_heir=f"record {number_of} "
            ):  # who closes what is said of it comes back here
                words = f"{number_of + 1:,}"
                label = f"Why is record {words} risky?"
                pressed = "true" if stage.row == number_of else "false"
                button(
                    words,
                    lambda: stage.again(row=number_of),
                    "quiet",
                    key=f"record {number_of}",
                    label=label,
                    aria_pressed=pressed,
                )
            text("before", "td", "soft", "small")
            for name in columns:
                _cell(before[name])
    with element("tr", "now"):
        text("" if before is not None else "drawn", "td")
        text("after", "td", "soft", "small")
        if after is None:
            text(
                "suppressed: nothing of this record is released",
                "td",
                "alarm",
                colspan=len(columns),
            )
        else:
            for name in columns:
                _now(name, before, after)


def _cell(value: str | None, *classes: str, changed: bool = False) -> None:
    with element("td", *classes):
        if changed:
            text("●", "span", "mark", aria_label="changed", role="img")
        text("missing" if value is None else value, "span", *(["soft"] if value is None else []))


def _now(name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> None:
    if name not in after:
        text("not released", "td", "soft")
        return
    changed = before is not None and before[name] != after[name]
    _cell(after[name], *(["changed"] if changed else []), changed=changed)


def _why(stage: LookStage, at: int, found: Mapping[str, Any]) -> None:
    """Why one record is risky, told below it."""
    with section(f"Why is record {at + 1:,} risky?", "why"):
        others = found["before"] - 1
        told = (
            "It was alone in all quasi-identifiers"
            if not others
            else f"{others:,} others were like it in all quasi-identifiers"
        )
        now = (
            "nothing of it is released"
            if found["after"] is None
            else f"now {found['after'] - 1:,} others are like it"
        )
        text(f"{told}; {now}.", "p")
        if found["sets"]:
            text("Who knows this of the person finds the record in the original:", "p")
            with element("ul"):
                for names in found["sets"]:
                    text(" + ".join(names), "li")
        else:
            text(f"No {found['most']} columns or fewer single it out in the original.", "p")
        button(
            "Close",
            lambda: stage.again(row=None),
            key=f"record {at} close",
            label="Close: why it is risky",
        )


# Attacks.


async def attacks(stage: LookStage) -> None:
    """Who would try, within what time, and what they found."""
    found = await stage.ask("look_attacks")
    with element("div", "row", "controls"):
        choice(
            "computing time",
            SECONDS,
            str(stage.seconds),
            lambda name: stage.again(seconds=int(name)),
            key="seconds",
        )
        button("Let the intruders try", lambda: _attack(stage), "strongly", key="attack")
    longest = by_the_clock(stage.seconds)
    text(
        "Seconds of computing, by all processors together, so that a busy machine finds the same."
        f" By the clock it may last longer: no attack is begun after {longest:.0f} seconds. Cancel,"
        " at the foot, ends it; then nothing was tried.",
        "p",
        "small",
        "soft",
    )
    if found["tried"] is None:
        with element("p", "verdict", "open"):
            text("?", "span", "sign", aria_hidden="true")
            Words(
                "Nobody has tried this release yet: how it withstands intruders is unknown. Unknown"
                " is not a pass."
            )
    else:
        _findings(found)
    _intruders(found["who"])


async def _attack(stage: LookStage) -> None:
    doing = stage.workbench.do(
        "attack", "Intruders try the release", of=stage.version, seconds=float(stage.seconds)
    )
    if await stage.page.wait_for(doing) is not None:
        stage.workbench.findings.pop(REPORTS, None)
        stage.workbench.project.tell()


def _findings(found: Mapping[str, Any]) -> None:
    bad = any(one["exceeds"] for one in found["tried"])
    state, sign = ("mixed", "!") if bad else ("open", "?") if found["unknown"] else ("holds", "✓")
    with element("p", "verdict", state):
        text(sign, "span", "sign", aria_hidden="true")
        text(found["conclusion"])
    heads = [(words, words in NUMBERS) for words in ATTACK_HEADS]
    with table("What was tried, strongest first", heads, "wide", "attacks"):
        for one in found["tried"]:
            verdict = f"{'✗' if one['exceeds'] else '✓'} {one['verdict']}"
            guess = "none" if one["guess"] is None else percent(one["guess"])
            _tried(
                [one["attack"], one["intruder"], verdict, _rate(one), guess, one["sentence"]],
                alarm=one["exceeds"],
            )
        for one in found["unknown"]:
            _tried(
                [
                    one["attack"],
                    one["intruder"],
                    "? not tried: unknown, no pass",
                    "unknown",
                    "",
                    one["reason"],
                ]
            )
    text(
        f"{found['looked_for']:,} records were looked for; {found['seconds']:.0f} seconds of"
        " computing.",
        "p",
        "small",
        "soft",
    )
    if found["not_applicable"]:
        with (
            folded(
                f"{len(found['not_applicable'])} attacks have nothing to attack here",
                key="not applicable",
            ),
            element("ul"),
        ):
            for words in found["not_applicable"]:
                text(words, "li")


def _tried(cells: list[str], *, alarm: bool = False) -> None:
    """What came of one attack. On a narrow screen a row is a card, in which every cell says what it
    is.
    """
    with element("tr", *(["alarm"] if alarm else [])):
        for place, (head, words) in enumerate(zip(ATTACK_HEADS, cells, strict=True)):
            about: dict[str, Any] = {"data_head": head} if place else {"scope": "row"}
            classes = (
                f"cell-{head.split()[0]}",
                *(["num"] if head in NUMBERS else []),
                *([] if words else ["none"]),
            )
            text(words, "td" if place else "th", *classes, **about)


def _rate(one: Mapping[str, Any]) -> str:
    if not one["interval"]:
        return percent(one["value"])
    low, high = one["interval"]
    parts = percent(one["value"]), f"({percent(low, 1)} to {percent(high, 1)})"
    return " ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)


def _intruders(who: list[Mapping[str, Any]]) -> None:
    with section("Who tries"), element("dl", "people"):
        for one in who:
            text(f"The {one['name']}", "dt", "strong")
            text(f"{one['story']}. Tries {', '.join(one['tries'])}.", "dd")


# What it is worth.


async def utility(stage: LookStage) -> None:
    """What the release is still worth; measured on request, since it takes a while."""
    found = stage.workbench.findings.get(stage.known_as("worth"))
    with element("div", "row"):
        button(
            "Measure" if found is None else "Measure again",
            lambda: _measure(stage, False),
            "strongly",
            key="measure",
        )
        button("Measure thoroughly", lambda: _measure(stage, True), key="measure thoroughly")
        text(
            "thoroughly: every metric, with fitted models; this takes longer",
            "span",
            "small",
            "soft",
        )
    if found is None:
        text("Not measured yet: what this release is worth is unknown.", "p")
        return
    for early in (True, False):
        some = [one for one in found["measures"] if one["first"] is early]
        if some:
            _measures("First of all" if early else "And more", some)
    if found["skipped"]:
        with (
            folded(f"{len(found['skipped'])} metrics were not measured", key="skipped"),
            element("ul"),
        ):
            for name, reason in found["skipped"]:
                text(f"{name}: {reason}", "li")


async def _measure(stage: LookStage, thorough: bool) -> None:
    doing = stage.workbench.do(
        "worth", "Measuring what it is worth", of=stage.version, thorough=thorough
    )
    found = await stage.page.wait_for(doing)
    if found is not None:
        stage.workbench.findings[stage.known_as("worth")] = found
        stage.workbench.project.tell()


def _measures(title: str, measures: list[Mapping[str, Any]]) -> None:
    with section(title):
        with table(
            title,
            [("measure", False), ("value", True), ("best", False), ("meaning", False)],
            "wide",
        ):
            for one in measures:
                row(
                    [one["name"], number(one["value"]), one["best"], one["meaning"]],
                    numbers=(False, True),
                )
        parts = [one for one in measures if one["columns"]]
        if parts:
            with folded("Column by column", key=f"columns of {title}"):
                columns = dict.fromkeys(column for one in parts for column in one["columns"])
                with table(
                    "Column by column", [("column", False), *((one["name"], True) for one in parts)]
                ):
                    for column in columns:
                        cells = [
                            "–" if column not in one["columns"] else number(one["columns"][column])
                            for one in parts
                        ]
                        row([column, *cells], numbers=(False, *(True for _ in parts)))


# The reports, in frames that run nothing.


async def report(stage: LookStage) -> None:
    """The reports as they would be written, in a frame of our own origin that runs no script."""
    draft = stage.workbench.findings.get(REPORTS, {}).get(stage.version, {})
    if draft.get("about") != stage.known_as("reports"):
        text(
            "The reports are drawn from a draft of the release: it is written to a private folder,"
            " read back, judged and removed.",
            "p",
        )
        button("Draw the reports", lambda: _drawn(stage), "strongly", key="draw reports")
        return
    tabs("Which report", KINDS, stage.page_of_report, lambda name: stage.again(page_of_report=name))
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


async def _drawn(stage: LookStage) -> None:
    folder = stage.workbench.project.folder
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
        stage.workbench.project.tell()


def enter(app: Any, workbench: Workbench) -> None:
    """Serve the reports of releases that were drawn; the address holds a version and a word, no
    value.
    """
    from fastapi.responses import Response

    def page(version: int, kind: str) -> Response:
        found = workbench.findings.get(REPORTS, {}).get(version, {}).get(kind)
        if found is None or kind not in KINDS:
            return Response(
                "This report is not there any more.", status_code=404, media_type="text/plain"
            )
        heads = {"content-security-policy": POLICY, "cache-control": "no-store"}
        return Response(found, media_type="text/html; charset=utf-8", headers=heads)

    app.add_api_route("/sfumato/release/report/{version}/{kind}", page, methods=["GET"])
