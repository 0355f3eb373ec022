"""What a decision shows: headline, reasons, what would help, and marks for every tier."""

from __future__ import annotations

import dataclasses

from sfumato.core.block_html import render_html
from sfumato.core.blocks import FoldBlock, Paragraph, TableBlock, VerdictBlock
from sfumato.release.decision import Decision, MeasuredChange, Tier, decide
from sfumato.release.decision.evidence import Figure, ReleaseKind
from tests.release.decision.evidence_cases import PEOPLE, evidence, terms, with_attack


def colleague() -> Decision:
    found = with_attack(
        evidence(ReleaseKind.CLASSES), "linkage", "colleague", Figure.of_everybody(0.31, PEOPLE)
    )
    return decide(terms(recipient="researchers", contract="yes"), found)


CHANGES = [
    MeasuredChange(
        f"round `cost` to {base}",
        f"--change 'round cost {base}'",
        Figure.of_everybody(0.05, PEOPLE),
        loss=0.01,
        tier=Tier.PUBLICATION,
    )
    for base in (500, 1000, 2000, 5000)
]


def test_blocks_say_decision_reason_help_and_what_was_kept() -> None:
    decision = colleague().with_findings(
        changes=CHANGES, kept=["94 % of records", "all means within 1 %"]
    )
    blocks = decision.blocks()
    verdict = blocks[0]
    assert isinstance(verdict, VerdictBlock)
    assert (verdict.holds, verdict.title) == (True, "Meets the terms for sharing under contract")
    texts = [block.text for block in blocks if isinstance(block, Paragraph)]
    assert texts[0] == Tier.CONTRACT.meaning
    assert texts[1] == (
        "Not for publication: a colleague who knows 5 columns finds 31 % of people;"
        " the limit is 1 in 11 (9.1 %)."
    )
    assert texts[2] == (
        "What would help: round `cost` to 500 (measured: 5 %), or round `cost` to 1000"
        " (measured: 5 %), or round `cost` to 2000 (measured: 5 %);"
        " apply with `--change 'round cost 500'`."
    )
    assert texts[3] == "Kept: 94 % of records, all means within 1 %."
    assert texts[4].startswith("Assumed: first release of these people (a new study).")
    assert len(decision.changes) == 3


def test_every_line_has_a_mark_for_every_tier_that_asks() -> None:
    decision = colleague()
    fold = decision.blocks()[-1]
    assert isinstance(fold, FoldBlock)
    table = fold.blocks[0]
    assert isinstance(table, TableBlock)
    assert table.header == ("what was found", "publication", "contract", "internal")
    rows = {str(row[0]).split()[0]: row[1:] for row in table.rows}
    assert rows["T1"] == ("✓", "✓", "✓")
    assert rows["T7"] == ("✗", "·", "·")
    assert rows["T8"] == ("✓", "✓", "")
    assert len(table.rows) == len({row[0] for row in table.rows})


def test_what_was_measured_besides_decides_nothing() -> None:
    decision = colleague()
    findings = decision.with_findings(changes=CHANGES, kept=["everything"])
    assert findings.decided == decision.decided
    assert (findings.tier, findings.exit_code) == (decision.tier, decision.exit_code)
    assert dataclasses.replace(findings, changes=(), kept=()) == decision
    assert Decision.from_dict(findings.to_dict()) == findings


def test_the_tier_that_was_asked_for_has_its_reason_too() -> None:
    found = evidence(ReleaseKind.CLASSES, figure=Figure.of_everybody(0.25, PEOPLE), smallest=4)
    decision = decide(terms(), found)
    assert decision.tier is Tier.INTERNAL
    assert [text.split(":")[0] for text in decision.refusals] == [
        "Not for sharing under contract",
        "Not for publication",
    ]


def test_notebook_and_pages_escape_names() -> None:
    found = evidence(ReleaseKind.CLASSES)
    entry = dataclasses.replace(found.attributes[0], column="<b>x</b>")
    found = dataclasses.replace(found, sensitive=("<b>x</b>",), attributes=(entry,))
    assert "<b>x</b>" not in render_html(decide(terms(), found).blocks())
