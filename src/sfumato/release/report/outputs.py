"""The page of a review: every output of a session with its findings and decision, for the output
checker.
"""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.blocks import (
    Block,
    CodeBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    TableBlock,
    VerdictBlock,
)
from sfumato.core.fields import Fields
from sfumato.core.words import as_sentence, count_of, inflect, moment, number
from sfumato.release.report.page_html import ReportPage, as_shown, render_page

MARKS = {"pass": "✓", "review": "?", "fail": "✗"}
STATES = {
    "approved": "approved",
    "refused": "refused",
    "undecided": "not decided",
    "changed": "changed",
    "missing": "missing",
}


def review_page(review: Fields, texts_by_index: Mapping[int, str]) -> str:
    """A page without a script and without a network; ``texts_by_index`` are the first lines of
    outputs by number.
    """
    review, outputs = as_shown(review), as_shown(review)["outputs"]
    texts = as_shown({str(index): text for index, text in texts_by_index.items()})
    title = f"All {len(outputs)} outputs are approved"
    if not review["settled"]:
        counts = [f"{number(count)} {STATES[state]}" for state, count in review["counts"].items()]
        title = f"{count_of(len(outputs), 'output')}: {', '.join(counts)}"
    blocks: list[Block] = [VerdictBlock(review["settled"] or None, title, headline=True)]
    if review["laxer"]:
        laxer = ", ".join(review["laxer"])
        blocks.append(Paragraph(f"Rules that are weaker than usual: {laxer}.", "warning"))
    if not review["with_records"]:
        sentence = (
            "The session was opened without records, so outputs were not compared with records."
        )
        blocks.append(Paragraph(sentence, "warning"))
    for group in review["together"]:
        numbers = ", ".join(map(str, group))
        sentence = (
            f"Outputs {numbers} together describe few persons, or may, which was not known when"
            " they were checked. Refuse one of them, or add it again."
        )
        blocks.append(Paragraph(sentence, "warning"))
    if review["strangers"]:
        files = len(review["strangers"])
        sentence = (
            f"{count_of(files, 'file')} beside the outputs {inflect(files, 'is', 'are')} not in the"
            " log and never released."
        )
        blocks.append(Paragraph(sentence, "warning"))
    rows = []
    for output in outputs:
        finding = f"{MARKS[output['status']]} {output['status']}"
        name = f"{output['number']}. {output['title']}"
        if output["status"] == "fail" or output["state"] in ("changed", "missing", "refused"):
            name = f"✗ {name}"
        rows.append((name, finding, STATES[output["state"]]))
    rules = review["rules"]
    required = (
        f"Required: at least {rules['threshold']} persons behind every statistic,"
        f" {rules['residual_df']} degrees of freedom{', and no empty cells' * rules['zeros']}."
        " Parameters that would help to compute hidden values are not shown."
    )
    blocks += [
        Heading("All outputs"),
        TableBlock(("Output", "Checks", "Decision"), tuple(rows)),
        Paragraph(required, "quiet"),
    ]
    for output in outputs:
        blocks += _output_blocks(output, texts.get(str(output["number"])))
    above = f"Review of the outputs in {review['folder']}"
    if review["researcher"]:
        above += f", made by {review['researcher']}"
    return render_page(
        ReportPage(
            title=f"Review of {count_of(len(outputs), 'output')}",
            above=f"{above}. For the output checker: this page shows the outputs themselves.",
            blocks=blocks,
            below=(
                "Decide with `sfumato outputs review FOLDER --approve 1-3 --because … --by …`;"
                " release with `sfumato outputs release FOLDER -o OUT`."
            ),
        )
    )


def _output_blocks(output: Fields, text: str | None) -> list[Block]:
    persons = "an unknown number of persons"
    if output["persons"] is not None:
        persons = count_of(output["persons"], "person")
    holds = {"pass": True, "fail": False}.get(output["status"])
    file = f"`{output['file']}`"
    if not output["as_checked"]:
        file += " is not the file that was checked"
    sentence = f"{STATES[output['state']]}. {output['kind'].capitalize()}, {persons}; {file}."
    reasons = tuple(as_sentence(reason["sentence"]) for reason in output["reasons"])
    blocks: list[Block] = [
        Heading(f"{output['number']}. {output['title']}"),
        VerdictBlock(holds, output["status"], sentence),
        ListBlock(reasons),
    ]
    if output["comment"]:
        blocks.append(Paragraph(f"Comment: {output['comment']}"))
    if output["exception"]:
        blocks.append(Paragraph(f"An exception is requested: {output['exception']}"))
    decision = output["decision"]
    if decision:
        words = (
            f"{decision['decision'].capitalize()} by {decision['by']}, {moment(decision['at'])}:"
            f" {decision['because']}"
        )
        if output["state"] == "changed":
            words += " The file was changed after the check."
        blocks.append(Paragraph(words))
    if text is not None:
        blocks.append(FoldBlock("The output", (CodeBlock(text),)))
    return blocks
