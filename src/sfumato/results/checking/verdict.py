"""The rules for outputs, and the verdict on one: pass, review or fail, with reasons that hold no
data value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, ListBlock, VerdictBlock
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.results.tables.rules import AllEqual, Dominance, PPercent, SensitivityRule, Threshold

if TYPE_CHECKING:
    import polars as pl

    from sfumato.results.checking.record_sets import CellSource

Status = Literal["pass", "review", "fail"]
ORDER: tuple[Status, ...] = ("pass", "review", "fail")
VERDICT_OF_STATUS = {"pass": True, "review": None, "fail": False}
"""How blocks mark a verdict: held, open, broken."""


@parameters
class OutputRules:
    """What output checkers usually ask for; the defaults are those of ACRO.

    ``threshold`` is the fewest persons behind anything that is told, ``residual_df`` the fewest
    degrees of freedom that a model must leave. The ``dominant`` largest contributions may be at
    most ``share`` percent of a sum, and nobody may be able to estimate the largest within ``p``
    percent. ``zeros``: an empty cell tells something too. The last three numbers are never told
    to readers: they help to compute what is hidden.

    Reference: Green, Ritchie, Smith 2021, *Automatic checking of research outputs (ACRO)*,
    Eurostat.

    >>> OutputRules().public_rules()
    {'threshold': 10, 'residual_df': 10, 'zeros': True}
    """

    threshold: int = Field(default=10, ge=2)
    residual_df: int = Field(default=10, ge=1)
    dominant: int = Field(default=2, ge=1)
    share: float = Field(default=90.0, gt=0, le=100)
    p: float = Field(default=10.0, gt=0)
    zeros: bool = True

    @property
    def of_counts(self) -> tuple[SensitivityRule, ...]:
        """The rules about how many persons there are."""
        return (Threshold(self.threshold, zeros=self.zeros),)

    @property
    def of_amounts(self) -> tuple[SensitivityRule, ...]:
        """The rules about what they contribute."""
        return (Dominance(self.dominant, self.share), PPercent(self.p), AllEqual())

    def small(self, persons: float) -> bool:
        """Whether so many persons are too few, and not nobody."""
        return 0 < persons < self.threshold

    def laxer(self, usual: OutputRules | None = None) -> list[str]:
        """The names of the rules that ask for less than the usual ones.

        >>> OutputRules(threshold=5, share=95.0).laxer()
        ['threshold', 'share']
        """
        usual_rules = usual or OutputRules()
        # A larger share, and a smaller p, let more cells pass; of the others a smaller number does.
        is_laxer = {
            "threshold": self.threshold < usual_rules.threshold,
            "residual_df": self.residual_df < usual_rules.residual_df,
            "dominant": self.dominant < usual_rules.dominant,
            "share": self.share > usual_rules.share,
            "p": self.p < usual_rules.p,
            "zeros": usual_rules.zeros and not self.zeros,
        }
        return [name for name, lax in is_laxer.items() if lax]

    def public_rules(self) -> Document:
        """The rules that readers may know; the others help to compute what is hidden."""
        return {"threshold": self.threshold, "residual_df": self.residual_df, "zeros": self.zeros}


@dataclasses.dataclass(frozen=True)
class OutputReason:
    """One reason of a verdict: its status, the rule, and a sentence with names and counts only."""

    status: Status
    rule: str
    sentence: str
    advice: str = ""


def confirmation(rule: str, sentence: str) -> OutputReason:
    """A rule that holds."""
    return OutputReason("pass", rule, sentence)


def open_question(rule: str, sentence: str, advice: str = "") -> OutputReason:
    """A question that cannot be settled here: the output checker must look at it."""
    return OutputReason("review", rule, sentence, advice)


def violation(rule: str, sentence: str, advice: str = "") -> OutputReason:
    """A rule that is broken."""
    return OutputReason("fail", rule, sentence, advice)


def worst(statuses: Iterable[Status]) -> Status:
    """The gravest status; without any reason the answer is open.

    >>> worst(["pass", "fail", "review"]), worst([])
    ('fail', 'review')
    """
    # No reason at all is no pass: nothing was looked at.
    return max(statuses, key=ORDER.index, default="review")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class OutputVerdict(Reportable):
    """Whether an output may leave: ``pass``, ``review`` (somebody must look) or ``fail``.

    ``reasons`` say why, with names and counts and never a value; ``next_steps`` what to do.
    ``shown`` is what would leave, as a frame, and ``suggestion`` a version that could, where one
    can be made. ``persons`` is how many stand behind all of it; None where nobody knows.
    """

    kind: str
    reasons: tuple[OutputReason, ...]
    persons: int | None = None
    shown: pl.DataFrame | None = None
    suggestion: pl.DataFrame | None = None
    by: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    hidden: int = 0
    """How many cells of a table are left out."""
    made_of_records: bool = False
    """Whether it is a table of ours, which brings records of its own."""
    cells: CellSource | None = None
    """The records of every cell, where they are known; computed when a session asks for them."""

    @property
    def status(self) -> Status:
        """The gravest of its reasons."""
        return worst(reason.status for reason in self.reasons)

    @property
    def passes(self) -> bool:
        """Whether nothing stands against it."""
        return self.status == "pass"

    @property
    def next_steps(self) -> tuple[str, ...]:
        """What to do, each thing once."""
        open_reasons = [reason for reason in self.reasons if reason.status != "pass"]
        advice = [reason.advice for reason in open_reasons if reason.advice]
        if self.suggestion is not None and not self.passes:
            # These two can only be judged again with the records that they are of.
            options = {
                "survival curve": " with the records (data=..., features=[...])",
                "histogram": " with the records (data=..., column=...)",
            }
            advice.append(
                "verdict.suggestion is a version that may be released instead: check "
                f"it{options.get(self.kind, '')}, then add it"
            )
        return tuple(dict.fromkeys(advice))

    def with_reasons(self, reasons: Iterable[OutputReason]) -> OutputVerdict:
        """The same verdict with further reasons."""
        return dataclasses.replace(self, reasons=(*self.reasons, *reasons))

    def to_dict(self) -> Document:
        """Plain data, without the output itself."""
        return {
            "status": self.status,
            "kind": self.kind,
            "persons": self.persons,
            "by": list(self.by),
            "tells": list(self.tells),
            "hidden": self.hidden,
            "reasons": [
                {"status": reason.status, "rule": reason.rule, "sentence": reason.sentence}
                for reason in self._reasons_by_gravity()
            ],
            "next_steps": list(self.next_steps),
        }

    def _reasons_by_gravity(self) -> list[OutputReason]:
        """The reasons, the gravest first."""
        return sorted(self.reasons, key=lambda reason: -ORDER.index(reason.status))

    def blocks(self) -> Sequence[Block]:
        """The verdict, every reason with the gravest first, and what to do."""
        reasons = [
            VerdictBlock(VERDICT_OF_STATUS[reason.status], reason.sentence)
            for reason in self._reasons_by_gravity()
        ]
        steps = tuple(f"→ {step}" for step in self.next_steps)
        headline = VerdictBlock(
            VERDICT_OF_STATUS[self.status], f"{self.status}: {self.kind}", headline=True
        )
        blocks: list[Block] = [headline, *reasons]
        if steps:
            blocks.append(ListBlock(steps))
        return blocks

    def __repr__(self) -> str:
        return str(self)
