"""What is asked of an output, and what was found: pass, review or fail, with reasons that hold no
data value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, ListBlock, VerdictBlock
from sfumato.core.parameters import parameters
from sfumato.results.tables.rules import AllEqual, Dominance, PPercent, SensitivityRule, Threshold

if TYPE_CHECKING:
    import polars as pl

    from sfumato.results.checking.record_sets import CellSource

Status = Literal["pass", "review", "fail"]
ORDER: tuple[Status, ...] = ("pass", "review", "fail")
HELD = {"pass": True, "review": None, "fail": False}


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

    >>> OutputRules().told()
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
        other = usual or OutputRules()
        less = {
            "threshold": self.threshold < other.threshold,
            "residual_df": self.residual_df < other.residual_df,
            "dominant": self.dominant < other.dominant,
            "share": self.share > other.share,
            "p": self.p < other.p,
            "zeros": other.zeros and not self.zeros,
        }
        return [name for name, lax in less.items() if lax]

    def told(self) -> dict[str, Any]:
        """The rules as readers may know them."""
        return {"threshold": self.threshold, "residual_df": self.residual_df, "zeros": self.zeros}


@dataclasses.dataclass(frozen=True)
class OutputReason:
    """One thing that was found: how grave it is, by which rule, and a sentence with names and
    counts only.
    """

    status: Status
    rule: str
    sentence: str
    advice: str = ""


def passed(rule: str, sentence: str) -> OutputReason:
    """A rule that holds."""
    return OutputReason("pass", rule, sentence)


def open_question(rule: str, sentence: str, advice: str = "") -> OutputReason:
    """Something that nobody here can know: a person must look at it."""
    return OutputReason("review", rule, sentence, advice)


def broken(rule: str, sentence: str, advice: str = "") -> OutputReason:
    """A rule that is broken."""
    return OutputReason("fail", rule, sentence, advice)


def worst(statuses: Iterable[Status]) -> Status:
    """The gravest of some; nothing looked at is nothing known.

    >>> worst(["pass", "fail", "review"]), worst([])
    ('fail', 'review')
    """
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
        return worst(one.status for one in self.reasons)

    @property
    def passes(self) -> bool:
        """Whether nothing stands against it."""
        return self.status == "pass"

    @property
    def next_steps(self) -> tuple[str, ...]:
        """What to do, each thing once."""
        advice = [one.advice for one in self.reasons if one.advice and one.status != "pass"]
        if self.suggestion is not None and not self.passes:
            how = (
                "with the records (data=..., features=[...])"
                if self.kind == "survival curve"
                else ""
            )
            how = how or (
                "with the records (data=..., column=...)" if self.kind == "histogram" else ""
            )
            words = f"check it {how}".rstrip()
            advice.append(
                f"verdict.suggestion is a version that can be given out instead: {words}, then"
                " add it"
            )
        return tuple(dict.fromkeys(advice))

    def with_reasons(self, more: Iterable[OutputReason]) -> OutputVerdict:
        """The same with what was found besides."""
        return dataclasses.replace(self, reasons=(*self.reasons, *more))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the output itself."""
        return {
            "status": self.status,
            "kind": self.kind,
            "persons": self.persons,
            "by": list(self.by),
            "tells": list(self.tells),
            "hidden": self.hidden,
            "reasons": [
                {"status": one.status, "rule": one.rule, "sentence": one.sentence}
                for one in self._in_order()
            ],
            "next_steps": list(self.next_steps),
        }

    def _in_order(self) -> list[OutputReason]:
        """The reasons, the gravest first."""
        return sorted(self.reasons, key=lambda one: -ORDER.index(one.status))

    def blocks(self) -> Sequence[Block]:
        """The verdict, every reason with the gravest first, and what to do."""
        reasons = [VerdictBlock(HELD[one.status], one.sentence) for one in self._in_order()]
        steps = tuple(f"→ {step}" for step in self.next_steps)
        headline = VerdictBlock(HELD[self.status], f"{self.status}: {self.kind}", headline=True)
        return [headline, *reasons, *([ListBlock(steps)] if steps else [])]

    def __repr__(self) -> str:
        return str(self)
