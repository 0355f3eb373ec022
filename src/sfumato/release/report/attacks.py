"""Attacks on a page: the strongest first, as bars with their intervals, what guessing gives and
what is allowed.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.attack import USUAL_RATE, Attack
from sfumato.core.parameters import label_of, words_of
from sfumato.core.words import count_of, inflect, join_words, percent
from sfumato.release.report.charts import labels
from sfumato.release.report.drawing import (
    AFTER,
    ALARM,
    BEFORE,
    FONT,
    FRAME,
    INK,
    SOFT,
    Drawing,
    Pen,
    Ruler,
    draw_axes,
    percentages,
)
from sfumato.release.report.pictures import Picture

if TYPE_CHECKING:
    import altair as alt

MOST_AT_ONCE = 6
"""So many findings are told at once; the others are behind a click."""
LONGEST = 38
WIDTH, ROW, SIZE, LETTER = 560, 26, FONT - 1, 7.4
CAPTION = (
    "Bars: how often each attack succeeds, with its interval where there is one. Wide grey tick:"
    " what guessing gives. Thin dark line: the limit of the recipe, or else the usual share of what"
    " guessing leaves open. "
)


def attack_label(one: Mapping[str, Any]) -> str:
    """The attack of a finding, with its parameters as a recipe writes them.

    >>> attack_label({"attack": "suda", "parameters": {"most": 3}}), attack_label({"attack": "suda"})
    ('suda: {most: 3}', 'suda')
    """
    return label_of(one["attack"], one.get("parameters") or {})


def attack_words(one: Mapping[str, Any]) -> str:
    """The attack of a finding in words."""
    return words_of(one["attack"], one.get("parameters") or {})


def ranked(attacks: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was tried, strongest first: what goes beyond a limit of the recipe, then by what it
    surely has over guessing.

    That is the lower end of the rate less what guessing gives, in points: 100 % beside a guess of
    99.99 % is hardly anything. Of two that are as strong, who finds people comes before who learns
    a value of theirs.

    >>> sure = {"exceeds": True, "limit": None, "interval": None}
    >>> skewness = {**sure, "attack": "skewness", "value": 1.0, "baseline": 0.9999}
    >>> linkage = {**sure, "attack": "linkage", "value": 0.4, "baseline": 0.01}
    >>> [one["attack"] for one in ranked({"tried": [skewness, linkage]})]
    ['linkage', 'skewness']
    """
    tried: Sequence[dict[str, Any]] = attacks.get("tried", [])
    return sorted(
        tried, key=lambda t: (not over_limit(t), -_gain(t), _learns_a_value(t), -t["value"])
    )


def unknown(attacks: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What could not be tried although it might succeed; whatever is not said to have nothing to
    attack is unknown.

    >>> unknown({"skipped": [{"attack": "linkage"}, {"attack": "composition", "status": "does not apply"}]})
    [{'attack': 'linkage'}]
    """
    return [
        one for one in (attacks or {}).get("skipped", []) if one.get("status") != "does not apply"
    ]


def conclusion(attacks: Mapping[str, Any]) -> str:
    """How many of the attacks go too far, and how many are unknown: the one is never said without
    the other.

    >>> conclusion({"tried": [{"exceeds": False, "limit": None, "threshold": 0.2}], "skipped": [{"attack": "linkage"}]})
    'The only attack tried does not go beyond the usual 20 %; 1 attack is unknown.'
    """
    sentence = "; ".join(outcomes(attacks))
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def outcomes(attacks: Mapping[str, Any] | None) -> list[str]:
    """The clauses about attacks: beyond a limit of the recipe, beyond the usual, and unknown.
    Nothing where there is no report.

    *Allowed* is said of limits only; where nobody set one, attacks are held against a usual rate.
    """
    if attacks is None:
        return []
    tried, blind = attacks.get("tried", []), len(unknown(attacks))
    over = sum(map(over_limit, tried))
    beyond = sum(bool(one["exceeds"]) for one in tried) - over
    clauses = [f"{_counted(over)} {_go(over)} further than the recipe allows"] if over else []
    if beyond:
        clauses.append(f"{_counted(beyond)} {_go(beyond)} beyond {_usual(tried)}")
    if not clauses:
        clauses.append(_none(tried))
    return (
        [*clauses, f"{_counted(blind)} {inflect(blind, 'is', 'are')} unknown"] if blind else clauses
    )


def over_limit(tried: Mapping[str, Any]) -> bool:
    """Whether an attack goes further than a limit that the recipe sets."""
    return bool(tried["exceeds"] and tried.get("limit") is not None)


def beyond_what(tried: Mapping[str, Any]) -> str:
    """What an attack goes beyond, for a reader who may not know of limits.

    >>> beyond_what({"limit": 0.1, "threshold": 0.2}), beyond_what({"limit": None, "threshold": 0.2})
    ('More than the recipe allows', 'Beyond the usual 20 %')
    """
    return (
        "More than the recipe allows" if tried["limit"] is not None else f"Beyond {_usual([tried])}"
    )


def _none(tried: Sequence[Mapping[str, Any]]) -> str:
    if not tried:
        return "no attack could be tried"
    far = (
        "further than the recipe allows"
        if all(t["limit"] is not None for t in tried)
        else f"beyond {_usual(tried)}"
    )
    return (
        f"none of {len(tried)} attacks goes {far}"
        if len(tried) > 1
        else f"the only attack tried does not go {far}"
    )


def _usual(tried: Iterable[Mapping[str, Any]]) -> str:
    """The rate that attacks without a limit are held against; it is called usual where nobody asked
    for another.
    """
    rates = sorted({t["threshold"] for t in tried if t["limit"] is None})
    shares = join_words(map(percent, rates))
    return f"the usual {shares}" if rates == [USUAL_RATE] else f"the {shares} asked for"


def _counted(number: int) -> str:
    return count_of(number, "attack")


def _go(number: int) -> str:
    return "goes" if number == 1 else "go"


def allowed(tried: Mapping[str, Any]) -> float:
    """The rate of success up to which an attack is allowed: the recipe's limit, or what guessing
    and the threshold leave.

    >>> allowed({"limit": None, "threshold": 0.2, "baseline": 0.5}), allowed({"limit": 0.1, "threshold": 0.2})
    (0.6, 0.1)
    """
    if tried["limit"] is not None:
        return float(tried["limit"])
    guess = tried["baseline"] or 0.0
    return float(guess + tried["threshold"] * (1 - guess))


def strongest(attacks: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The worst of what exceeds what is allowed; None where nothing does."""
    return next((one for one in ranked(attacks or {}) if one["exceeds"]), None)


def attack_chart(attacks: Mapping[str, Any]) -> Drawing | None:
    """All attacks as bars, those that are unknown as a word without a bar; None where none was
    tried.
    """
    if not attacks.get("tried"):
        return None
    rows = [*map(_row, ranked(attacks)), *map(_unknown_row, unknown(attacks))]
    names = labels(_names(rows), LONGEST)
    gutter, numbers = (
        18 + round(LETTER * max(map(len, texts)))
        for texts in (names, [row["text"] for row in rows])
    )
    plot = WIDTH - gutter - numbers
    drawing = Drawing(plot, ROW * len(rows), left=gutter, right=numbers, top=6, bottom=46)
    draw_axes(drawing, _rates(plot))
    for mark in (_bar, _guess, _line, _interval):
        for place, row in enumerate(rows):
            mark(drawing, row, plot, ROW * (place + 0.5))
    for place, name in enumerate(names):
        drawing.text(-10, ROW * (place + 0.5), name, align="right", size=SIZE)
    for place, row in enumerate(rows):
        drawing.text(plot + 12, ROW * (place + 0.5), row["text"], size=SIZE)
    return drawing


def attack_chart_on_white(attacks: Mapping[str, Any]) -> alt.LayerChart | None:
    """The same for a notebook, which may be dark."""
    drawing = attack_chart(attacks)
    return None if drawing is None else drawing.chart()


def attack_picture(attacks: Mapping[str, Any]) -> Picture | None:
    """Every attack as a bar; None where none was tried."""
    drawing = attack_chart(attacks)
    if drawing is None:
        return None
    words = "; ".join(_in_words(tried) for tried in ranked(attacks))
    bad = any(tried["exceeds"] for tried in attacks["tried"])
    blind = "".join(f"; {one['intruder']}: {attack_words(one)} unknown" for one in unknown(attacks))
    last = f"Brown: beyond that line. {conclusion(attacks)}" if bad else conclusion(attacks)
    return Picture(drawing.svg(), f"Attacks. {words}{blind}.", CAPTION + last)


def _row(tried: Mapping[str, Any]) -> dict[str, Any]:
    low, high = tried["interval"] or (None, None)
    mark = "✗ " if tried["exceeds"] else ""
    return {
        "intruder": tried["intruder"],
        "attack": attack_words(tried),
        "value": tried["value"],
        "low": low,
        "high": high,
        "guess": tried["baseline"],
        "allowed": min(1.0, allowed(tried)),
        "bad": tried["exceeds"],
        "text": f"{mark}{percent(tried['value'])}",
    }


def _unknown_row(skipped: Mapping[str, Any]) -> dict[str, Any]:
    who = {"intruder": skipped["intruder"], "attack": attack_words(skipped)}
    nothing = dict.fromkeys(("value", "low", "high", "guess", "allowed"))
    return {**who, **nothing, "bad": False, "text": "? unknown"}


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who tries what; what alone where it tells rows apart and both would not fit.

    >>> rows = [{"intruder": "colleague", "attack": "linkage"}, {"intruder": "somebody who saw a person a few times", "attack": "unicity"}]
    >>> _names(rows)
    ['colleague: linkage', 'unicity']
    """
    times = Counter(row["attack"] for row in rows)
    full = [f"{row['intruder']}: {row['attack']}" for row in rows]
    return [
        row["attack"] if len(name) > LONGEST and times[row["attack"]] == 1 else name
        for row, name in zip(rows, full, strict=True)
    ]


def _gain(tried: Mapping[str, Any]) -> float:
    """What an attack surely has over guessing, in points; what differs by less than a billionth is
    the same.
    """
    low = tried["interval"][0] if tried.get("interval") else tried["value"]
    return round(float(low) - float(tried.get("baseline") or 0.0), 9)


def _learns_a_value(tried: Mapping[str, Any]) -> bool:
    member = registry.known("risk", tried["attack"])
    return member is not None and issubclass(member, Attack) and member.learns == "attribute"


def _rates(plot: float) -> Ruler:
    shares = [0, 0.25, 0.5, 0.75, 1] if plot > 200 else [0, 0.5, 1]
    ticks = [
        (plot * share, words) for share, words in zip(shares, percentages(shares), strict=True)
    ]
    look = Ruler(ticks, SIZE - 1, SOFT, FRAME, FRAME, flush=True)
    return dataclasses.replace(look, title="rate of success", title_size=SIZE, title_at=28)


def _bar(drawing: Drawing, row: Mapping[str, Any], plot: float, y: float) -> None:
    if row["value"] is not None:
        drawing.rect(0, y - 6.5, plot * row["value"], 13, Pen(ALARM if row["bad"] else AFTER))


def _guess(drawing: Drawing, row: Mapping[str, Any], plot: float, y: float) -> None:
    if row["guess"] is not None:
        drawing.rect(plot * row["guess"] - 2.5, y - 6.5, 5, 13, Pen(BEFORE, opacity=0.7))


def _line(drawing: Drawing, row: Mapping[str, Any], plot: float, y: float) -> None:
    if row["allowed"] is not None:
        drawing.rect(plot * row["allowed"] - 0.75, y - 11, 1.5, 22, Pen(INK, opacity=0.7))


def _interval(drawing: Drawing, row: Mapping[str, Any], plot: float, y: float) -> None:
    if row["low"] is not None:
        drawing.rule((plot * row["low"], y), (plot * row["high"], y), Pen(stroke=INK, width=2))


def _in_words(tried: Mapping[str, Any]) -> str:
    between = ""
    if tried["interval"]:
        between = f" ({percent(tried['interval'][0])} to {percent(tried['interval'][1])})"
    guess = "" if tried["baseline"] is None else f", guessing {percent(tried['baseline'])}"
    beyond = (
        f", {beyond_what(tried)[0].lower()}{beyond_what(tried)[1:]}" if tried["exceeds"] else ""
    )
    line = "limit" if tried["limit"] is not None else "usual"
    outcome = (
        f"{percent(tried['value'])}{between}{guess}, {line}"
        f" {percent(min(1.0, allowed(tried)))}{beyond}"
    )
    return f"{tried['intruder']}, {attack_words(tried)}: {outcome}"
