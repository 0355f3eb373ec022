"""The page of a recommendation: what is recommended, why, the map, why not the others, and what is
not known.
"""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.blocks import (
    Block,
    ChartBlock,
    Heading,
    ListBlock,
    Paragraph,
    TableBlock,
    VerdictBlock,
)
from sfumato.core.fields import Fields
from sfumato.core.words import as_sentence, number
from sfumato.release.report.page_html import ReportPage, as_shown, render_page

NEVER_LAWFUL = "Numbers are one part of any rule: meeting them does not make a release lawful."


def recommendation_page(document: Fields, chart: ChartBlock) -> str:
    """The page of a recommendation (see ``Recommendation.to_dict``) with its map."""
    document = as_shown(document)
    table, best = document["table"], document["best"]
    kind = "Recommended"
    if document["fallback"]:
        kind = "Fallback"
    trial = as_sentence(best["headline"])
    if table["tried_on"] < table["rows"]:
        rows = f"{number(table['tried_on'])} of {number(table['rows'])} rows"
        trial += f" Candidates were tried on {rows}."
    blocks: list[Block] = [
        Heading(f"{kind} for {table['name']}: {best['name']}", 1),
        Paragraph(best["why"]),
        Paragraph(trial, "quiet"),
        *(Paragraph(as_sentence(sentence)) for sentence in document["moved"]),
        Heading("Answers"),
        TableBlock(("", ""), tuple(_answer_rows(document))),
        Heading("What must hold, and why"),
    ]
    reasons = []
    for reason in document["reasons"]:
        source = f"{reason['source']} ({reason['seen']})"
        reasons.append(f"{reason['what']}: {reason['why']}. {source}.")
    blocks += [ListBlock(tuple(reasons)), Heading("Risk and utility"), chart]
    if document["not_on_map"]:
        sentence = (
            "Not on the map, because there is no release, or because one of the two measures has "
            f"no meaning for changed or synthetic records: {', '.join(document['not_on_map'])}."
        )
        blocks.append(Paragraph(sentence, "quiet"))
    rejected = [candidate for candidate in document["candidates"] if candidate["why_not"]]
    reasons = [
        f"{as_sentence(rejection['why_not'])} ({rejection['family']})" for rejection in rejected
    ]
    blocks += [Heading("Why not the others?"), ListBlock(tuple(reasons))]
    if document["bars"]:
        blocks.append(Heading("Published thresholds"))
        for bar in document["bars"]:
            blocks.append(VerdictBlock(bar["met"], as_sentence(bar["sentence"])))
        blocks.append(Paragraph(NEVER_LAWFUL))
    unknown = tuple(as_sentence(sentence) for sentence in document["unknown"])
    blocks += [Heading("What is not known"), ListBlock(unknown)]
    title = f"Recommendation for {table['name']}"
    return render_page(ReportPage(title, title, blocks, f"sfumato {document['version']}"))


def _answer_rows(document: Fields) -> list[tuple[str, str]]:
    rows = []
    for question, answer in document["answers"].items():
        if question in document["assumed"]:
            words = f"unknown, taken as {document['assumed'][question]}"
        elif isinstance(answer, Mapping):
            words = ", ".join(f"{key}: {value}" for key, value in answer.items())
        elif isinstance(answer, str | int | float):
            words = str(answer)
        else:
            words = ", ".join(map(str, answer or ()))
        rows.append((question, words))
    return rows
