"""A decision: the tier that a release holds, every line of its terms, and what would help."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import (
    Block,
    Cell,
    FoldBlock,
    ListBlock,
    Paragraph,
    TableBlock,
    VerdictBlock,
)
from sfumato.core.words import as_sentence, join_words, percent
from sfumato.release.decision.documents import record, record_from_dict, record_to_dict
from sfumato.release.decision.evidence import Figure
from sfumato.release.decision.tiers import Harm, Tier

OutcomeStatus = Literal["holds", "fails", "not shown", "unknown", "does not apply", "told"]
MARKS: dict[OutcomeStatus, str] = {
    "holds": "✓",
    "fails": "✗",
    "not shown": "?",
    "unknown": "?",
    "does not apply": "–",
    "told": "·",
}
MOST_CHANGES = 3
"""Changes that are shown: the best."""


@record
class TermOutcome:
    """What one line of the terms says at one tier.

    ``sentence`` says what was found, ``limit`` what the tier allows the upper end of ``figure``.
    ``people_needed`` is how many people would settle what is not shown, where a number would.
    ``attack`` and ``intruder``, or ``column``, name what it is about in the evidence.
    """

    term: str
    subject: str
    status: OutcomeStatus
    sentence: str
    figure: Figure | None = None
    limit: float | None = None
    people_needed: int | None = None
    attack: str = ""
    intruder: str = ""
    column: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether it keeps the release from the tier: it fails, is not shown, or is unknown."""
        return self.status in ("fails", "not shown", "unknown")

    def excess(self, risk_limit: float) -> float:
        """How far the upper end is beyond the limit, as a share of the risk that the tier allows;
        where there is no figure it may be everybody.
        """
        if self.figure is None or self.limit is None:
            return (1 - risk_limit) / risk_limit
        return (self.figure.high - self.limit) / risk_limit

    @property
    def explanation(self) -> str:
        """What was found, beside its limit, and how many people would settle it."""
        words = self.sentence
        if self.limit is not None and self.status in ("fails", "not shown"):
            words += f"; the limit is {limit_words(self.limit)}"
        if self.status == "not shown":
            words += f", which is not shown: {self._advice()}"
        return words

    def _advice(self) -> str:
        """How many people would settle it."""
        figure = self.figure
        if figure is None or self.people_needed is None:
            return "more people will hardly settle it"
        if figure.control is not None:
            return f"set aside {self.people_needed:,} people instead of {figure.control:,}"
        people = min(self.people_needed, figure.of)
        words = f"try {people:,} people instead of {figure.trials:,}"
        if people == figure.of:
            words = "try everybody"
        return f"{words} (--people {people})"


@record
class TierOutcome:
    """Whether a tier's own lines hold, and every one of them; ``class_size`` is its k."""

    tier: Tier
    class_size: int
    holds: bool
    outcomes: tuple[TermOutcome, ...]

    @property
    def broken(self) -> tuple[TermOutcome, ...]:
        """What keeps the release from it, farthest beyond its limit first."""
        broken = [outcome for outcome in self.outcomes if outcome.is_broken]
        risk_limit = 1 / self.class_size
        # Of equal ones what failed comes before what is unknown, in the order of the terms.
        broken.sort(key=lambda line: (-line.excess(risk_limit), line.status != "fails"))
        return tuple(broken)


@record
class MeasuredChange:
    """A change of the recipe that was tried: what it is, the flag that applies it, and what came of
    it.

    ``risk`` is the figure of the limiting term with it (None: it was not measured), ``loss`` how
    much more information is lost, ``tier`` the tier that would hold.
    """

    description: str
    flag: str
    risk: Figure | None
    loss: float
    tier: Tier | None = None


@record
class Decision(Reportable):
    """The tier that a release holds under its terms; made by
    :func:`sfumato.release.decision.decide.decide`.

    ``tiers`` have every line, from internal use to publication. ``limiting`` is what is farthest
    beyond its limit at the next higher tier. ``changes`` and ``kept`` were measured by whoever made
    the release; they decide nothing and are for the owner.
    """

    terms_version: int
    terms_date: str
    tier: Tier
    requested: Tier
    harm: Harm
    tiers: tuple[TierOutcome, ...]
    limiting: TermOutcome | None
    assumed: tuple[str, ...]
    not_judged: tuple[str, ...]
    notes: tuple[str, ...] = ()
    changes: tuple[MeasuredChange, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The decision in one line."""
        return self.tier.headline

    @property
    def exit_code(self) -> int:
        """0 where the tier that was asked for is met, 1 for a lower tier, 4 for none."""
        if self.tier is Tier.NONE:
            return 4
        return 0 if self.tier.rank >= self.requested.rank else 1

    def with_findings(
        self, *, changes: Iterable[MeasuredChange] = (), kept: Iterable[str] = ()
    ) -> Decision:
        """The same decision with what was measured besides: the best changes, and what was kept."""
        return dataclasses.replace(self, changes=tuple(changes)[:MOST_CHANGES], kept=tuple(kept))

    @property
    def decided(self) -> Decision:
        """The decision alone, as terms and evidence decide it."""
        return dataclasses.replace(self, changes=(), kept=())

    def outcome_of(self, tier: Tier) -> TierOutcome:
        """The lines of a tier that can be granted."""
        return self.tiers[tier.rank - 1]

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain data."""
        return record_to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Decision:
        """The decision of plain data; refused where something is unknown or of another type."""
        return record_from_dict(cls, document, "the decision")

    def blocks(self) -> Sequence[Block]:
        """The decision, what it is not for and why, what would help, what was kept, what is
        assumed, what was not judged, and every line behind a fold.
        """
        met = self.exit_code == 0
        blocks: list[Block] = [
            VerdictBlock(met, self.headline, headline=True),
            Paragraph(self.tier.meaning),
        ]
        blocks += [Paragraph(sentence) for sentence in self.refusals]
        if self.changes:
            blocks.append(Paragraph(f"What would help: {changes_in_words(self.changes)}."))
        if self.kept:
            blocks.append(Paragraph(f"Kept: {', '.join(self.kept)}."))
        closing = f"Not judged: {join_words(self.not_judged, 'or')}."
        if self.assumed:
            closing = f"Assumed: {'; '.join(self.assumed)}. {closing}"
        blocks.append(Paragraph(closing))
        blocks += [Paragraph(note, "quiet") for note in self.notes]
        blocks.append(ListBlock(self.tier.obligations, "Whoever shares it takes on:"))
        blocks.append(FoldBlock(self.terms_title, (self._table(),)))
        return blocks

    @property
    def terms_title(self) -> str:
        """Which terms these are."""
        return f"Terms, version {self.terms_version} of {self.terms_date}, {self.harm} harm"

    @property
    def refusals(self) -> tuple[str, ...]:
        """What the release is not for, and the reason with its number and limit: the next higher
        tier, and the one that was asked for.
        """
        sentences = []
        for outcome in self.tiers:
            tier = outcome.tier
            is_next = tier is self.tier.next_higher
            if tier.rank <= self.tier.rank or not (is_next or tier is self.requested):
                continue
            # A tier may hold by itself where one below it does not.
            reasons = outcome.broken
            if reasons:
                sentences.append(as_sentence(f"not for {tier.purpose}: {reasons[0].explanation}"))
        return tuple(sentences)

    def _table(self) -> TableBlock:
        """Every line with what was found, and a mark for each tier."""
        order = tuple(reversed(self.tiers))
        marks: dict[tuple[str, str, str], dict[Tier, str]] = {}
        for outcome in order:
            for line in outcome.outcomes:
                key = (line.term, line.subject, line.sentence)
                marks.setdefault(key, {})[outcome.tier] = MARKS[line.status]
        rows: list[tuple[Cell, ...]] = []
        for (term, _, sentence), by_tier in marks.items():
            cells = [by_tier.get(outcome.tier, "") for outcome in order]
            rows.append((f"{term} {sentence}", *cells))
        header = ("what was found", *(outcome.tier.value for outcome in order))
        return TableBlock(header, tuple(rows))


def limit_words(limit: float) -> str:
    """A limit of a share as one in so many.

    >>> limit_words(1 / 11), limit_words(0.0), limit_words(0.07)
    ('1 in 11 (9.1 %)', 'nobody', '7 %')
    """
    if limit <= 0:
        return "nobody"
    k = round(1 / limit)
    if math.isclose(1 / k, limit):
        return f"1 in {k:,} ({percent(limit)})"
    return percent(limit)


def changes_in_words(changes: Sequence[MeasuredChange]) -> str:
    """Changes that were measured, with the risk that each leaves, and the flag of the first.

    >>> change = MeasuredChange("drop `ward`", "--change 'drop ward'", None, 0.1)
    >>> changes_in_words([change])
    "drop `ward` (that term then falls away); apply with `--change 'drop ward'`"
    """
    words = []
    for change in changes:
        text = change.description
        if change.risk is not None:
            text += f" (measured: {percent(change.risk.value)})"
        elif change.flag.startswith("--change"):
            text += " (that term then falls away)"
        words.append(text)
    return f"{', or '.join(words)}; apply with `{changes[0].flag}`"
