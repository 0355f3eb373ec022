"""What attacks on a release found: what was tried, what is unknown, what does not apply."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.attack import Attack, Finding, NothingToAttack
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import (
    Block,
    Cell,
    FoldBlock,
    ListBlock,
    Paragraph,
    Share,
    TableBlock,
    VerdictBlock,
)
from sfumato.core.chart_drawing import plot_chart
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import label_of, values_of, words_of
from sfumato.core.words import count_of, duration, percent, plain_name
from sfumato.errors import ParameterError
from sfumato.release.report.attacks import attack_label, conclusion, rank_attacks
from sfumato.release.report.charts import chart_attacks

if TYPE_CHECKING:
    import altair as alt


@dataclasses.dataclass(frozen=True)
class Tried:
    """One attack of one intruder. ``limit`` is what the recipe allows; ``threshold`` holds where it
    says nothing.
    """

    intruder: str
    knows: tuple[str, ...]
    finding: Finding
    threshold: float
    limit: float | None = None

    @property
    def exceeds(self) -> bool:
        """Whether the attack succeeds more often than the recipe allows, or takes more beyond
        guessing than the threshold.

        Where the recipe says nothing, a rate whose interval includes what guessing gives is no
        finding.
        """
        # a limit is about the rate itself, the threshold about what goes beyond guessing
        if self.limit is not None:
            return self.finding.value > self.limit + 1e-12
        return self.finding.certain and self.finding.beyond_guessing > self.threshold + 1e-12

    def to_dict(self) -> Document:
        """As plain data, without who the victims are."""
        facts = {
            "intruder": self.intruder,
            "knows": list(self.knows),
            "threshold": self.threshold,
            "limit": self.limit,
        }
        return {**facts, "exceeds": self.exceeds, **self.finding.to_dict()}


@dataclasses.dataclass(frozen=True)
class Skipped:
    """An attack that was not carried out, and why; ``limit`` is what the recipe allows it.

    Its outcome is **unknown**, unless there is nothing of its kind to attack
    (:class:`NothingToAttack`): unknown is not a pass.
    """

    intruder: str
    attack: str
    reason: str
    limit: float | None = None
    parameters: Fields = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        """The attack, with its parameters as a recipe writes them."""
        return label_of(self.attack, self.parameters)

    @property
    def words(self) -> str:
        """What the attack is called in a sentence."""
        return words_of(self.attack, self.parameters)

    @property
    def unknown(self) -> bool:
        """Whether the attack might succeed for all that is known."""
        return not isinstance(self.reason, NothingToAttack)

    @property
    def accepted(self) -> bool:
        """Whether the recipe accepts whatever an outcome of drawn rows is: no share is above 1."""
        return self.attack == "recognised_members" and self.limit is not None and self.limit >= 1

    @property
    def status(self) -> str:
        """``unknown`` or ``does not apply``."""
        return "unknown" if self.unknown else "does not apply"

    def to_dict(self) -> Document:
        """As plain data."""
        plain = {**dataclasses.asdict(self), "reason": str(self.reason), "status": self.status}
        if not self.parameters:
            del plain["parameters"]
        return plain


@dataclasses.dataclass(frozen=True)
class AttackReport(Reportable):
    """All that was tried on a release, and what could not be: ``unknown`` attacks count neither as
    success nor as failure.
    """

    name: str
    records: int
    looked_for: int
    tried: tuple[Tried, ...]
    skipped: tuple[Skipped, ...]
    seconds: float
    counted: str = "records"
    """What ``records`` counts: rows of a table, or people who are described by more than a row."""

    @property
    def unknown(self) -> tuple[Skipped, ...]:
        """The attacks that could not be tried although they might succeed."""
        return tuple(skipped for skipped in self.skipped if skipped.unknown)

    @property
    def refused(self) -> tuple[str, ...]:
        """Why the recipe's limits do not allow this release: attacks that go beyond theirs, and
        such that are unknown.
        """
        beyond = [
            f"{t.finding.words}: {t.finding.sentence}"
            for t in self.tried
            if t.limit is not None and t.exceeds
        ]
        blind = [
            f"{s.words} is unknown: {s.reason}"
            for s in self.unknown
            if s.limit is not None and not s.accepted
        ]
        return (*beyond, *blind)

    @property
    def worst(self) -> Tried | None:
        """The strongest attack: one that goes beyond a limit of the recipe, else the one that
        surely has most over guessing.
        """
        order = rank_attacks(self.to_dict())
        if not order:
            return None
        first = (order[0]["intruder"], attack_label(order[0]))
        return next(t for t in self.tried if (t.intruder, t.finding.label) == first)

    def value(self, attack: str | Attack) -> float:
        """The rate of success of one attack, by the first intruder who tries it: who knows the
        quasi-identifiers.

        A name stands for the attack without parameters where that was tried, else for the first one
        of that name.
        """
        if isinstance(attack, str):
            label = attack
        else:
            label = label_of(attack.name, values_of(attack))
        exact = [outcome.finding for outcome in self.tried if outcome.finding.label == label]
        of_attack = [outcome.finding for outcome in self.tried if outcome.finding.attack == label]
        for finding in (*exact, *of_attack):
            return finding.value
        for skipped in self.skipped:
            if label in (skipped.label, skipped.attack):
                raise ParameterError(f"{label!r} was not tried: {skipped.reason}")
        raise ParameterError(f"{label!r} was not tried")

    def values(self) -> dict[str, float]:
        """All rates of success; attacks are distinguished by their parameters, and by the names of
        later intruders who try them.
        """
        return {name: finding.value for name, finding in self._findings_by_name().items()}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Between what those rates lie that were found on a sample."""
        return {
            name: finding.interval
            for name, finding in self._findings_by_name().items()
            if finding.interval is not None
        }

    def _findings_by_name(self) -> dict[str, Finding]:
        findings: dict[str, Finding] = {}
        for outcome in self.tried:
            name = outcome.finding.label
            findings[name if name not in findings else f"{name} by the {outcome.intruder}"] = (
                outcome.finding
            )
        return findings

    def to_dict(self) -> Document:
        """The report as plain data: rates and counts, nobody's row."""
        return {
            "records": self.records,
            "looked_for": self.looked_for,
            "tried": [t.to_dict() for t in self.tried],
            "skipped": [s.to_dict() for s in self.skipped],
            "seconds": round(self.seconds, 3),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row an attack that was tried or is unknown (then without a value)."""
        text, share = pl.String, pl.Float64
        kinds = {
            "intruder": text,
            "attack": text,
            "value": share,
            "low": share,
            "high": share,
            "baseline": share,
        }
        kinds |= {
            "threshold": share,
            "limit": share,
            "exceeds": pl.Boolean,
            "victims": pl.Int64,
            "status": text,
            "sentence": text,
        }
        rows = [
            *map(_as_row, self.tried),
            *({**s.to_dict(), "attack": s.label, "sentence": str(s.reason)} for s in self.unknown),
        ]
        return pl.DataFrame(
            [[row.get(key) for key in kinds] for row in rows], schema=kinds, orient="row"
        )

    def plot(self) -> alt.LayerChart | None:
        """Every attack as a bar with its interval, what guessing gives and what is allowed; None
        when none was tried.
        """
        chart = chart_attacks(self.to_dict())
        return None if chart is None else plot_chart(chart)

    @property
    def headline(self) -> str:
        """How many attacks were tried on how many records, and how many are unknown."""
        unknown = f", {len(self.unknown)} unknown" if self.unknown else ""
        people = count_of(self.looked_for, "person", "people")
        attempts = f"{count_of(len(self.tried), 'attack')}{unknown}, tried on {people}"
        return f"{attempts} against {self.records:,} {self.counted} ({duration(self.seconds)})"

    def blocks(self) -> Sequence[Block]:
        """What intruders found, one table each, strongest first, and what is unknown."""
        clear = bool(self.tried) and not self.unknown and not any(t.exceeds for t in self.tried)
        exceeded = any(t.exceeds and t.limit is not None for t in self.tried)
        if exceeded:
            verdict = False
        elif clear:
            verdict = True
        else:
            verdict = None
        return [
            VerdictBlock(
                verdict, conclusion(self.to_dict()) or "No attack was tried", headline=True
            ),
            Paragraph(f"{self.name}: {self.headline}"),
            *self._tables(),
            *self._explanation(),
        ]

    def _tables(self) -> list[Block]:
        from sfumato.release.intruders import BATTERY

        if self.counted == "records":
            stories = {profile.name: profile.story for profile in BATTERY}
        else:
            stories = {}
        columns = self._columns()
        tables: list[Block] = []
        for intruder in dict.fromkeys(
            [*(t.intruder for t in self.tried), *(s.intruder for s in self.unknown)]
        ):
            outcomes = [t for t in self.tried if t.intruder == intruder]
            outcomes.sort(key=lambda t: (-t.finding.gain, t.finding.label))
            story = stories.get(intruder, "")
            if not story and outcomes and outcomes[0].knows and self.counted == "records":
                story = f"knows {', '.join(outcomes[0].knows)}"
            rows = [_tried_cells(t) for t in outcomes]
            rows += [_unknown_cells(s) for s in self.unknown if s.intruder == intruder]
            cells = tuple(tuple(row.get(name) for name in columns) for row in rows)
            tables.append(TableBlock(columns, cells, f"{intruder}: {story}" if story else intruder))
        return tables

    def _columns(self) -> tuple[str, ...]:
        """The columns that have something to say."""
        findings = [t.finding for t in self.tried]
        limits = [*(t.limit for t in self.tried), *(s.limit for s in self.unknown)]
        columns = {
            "people": any(f.trials not in (None, self.looked_for) for f in findings),
            "between": any(f.interval is not None for f in findings),
            "guessing": any(f.baseline is not None for f in findings),
            "limit": any(limit is not None for limit in limits),
        }
        return ("attack", "succeeds", *(name for name, is_filled in columns.items() if is_filled))

    def _explanation(self) -> list[Block]:
        """What the marks mean, what was worst, what is unknown, and what does not apply."""
        blocks: list[Block] = []
        worst = self.worst
        if worst is not None:
            finding = worst.finding
            blocks.append(Paragraph(self._legend(), "quiet"))
            strongest = f"Strongest: {worst.intruder}, {finding.words}, {percent(finding.value)}"
            blocks.append(Paragraph(f"{strongest}: {finding.sentence}"))
        reasons: dict[tuple[bool, str], list[str]] = {}
        for skipped in sorted(self.skipped, key=lambda entry: not entry.unknown):
            reasons.setdefault((skipped.unknown, str(skipped.reason)), []).append(skipped.words)
        for (unknown, reason), attacks in reasons.items():
            names = ", ".join(dict.fromkeys(attacks))
            if unknown:
                blocks.append(VerdictBlock(None, f"{names}: unknown", reason))
            else:
                blocks.append(Paragraph(f"{names}: does not apply: {reason}", "quiet"))
        findings = tuple(
            f"{t.intruder}, {t.finding.words}: {t.finding.sentence}" for t in self.tried
        )
        if not findings:
            return blocks
        return [*blocks, FoldBlock("What each attack found", (ListBlock(findings),))]

    def _legend(self) -> str:
        threshold = max((t.threshold for t in self.tried), default=0.0)
        legend = (
            f"✗ succeeds clearly more often than guessing (by more than {percent(threshold)} of"
            " what guessing leaves)"
        )
        if self.unknown:
            legend += "; ? could not be tried although it might succeed"
        if "limit" in self._columns():
            return f"{legend}; where the recipe sets a limit, ✗ succeeds more often than that"
        return f"{legend}; the recipe limits none of them"


def before_and_after(before: AttackReport | None, after: AttackReport) -> list[Block]:
    """What each attack reaches in the original and in the release; where there is no rate, why."""
    was = {} if before is None else before.values()
    now = {t.finding.label: t for t in after.tried}
    rows: list[tuple[Cell, ...]] = []
    for label in dict.fromkeys([*now, *was]):
        earlier = Share(was[label]) if label in was else _status(before, label)
        if label in now:
            mark = "✗" if now[label].exceeds else "✓"
            rows.append((f"{mark} {plain_name(label)}", earlier, Share(now[label].finding.value)))
        else:
            rows.append((f"? {plain_name(label)}", earlier, _status(after, label)))
    blocks: list[Block] = [TableBlock(("attack", "before", "after"), tuple(rows))] if rows else []
    return [
        *blocks,
        *(VerdictBlock(None, f"{s.words} is unknown", str(s.reason)) for s in after.unknown),
    ]


def _status(report: AttackReport | None, label: str) -> str:
    """Why there is no rate: unknown is not a pass, and what does not apply is none of these."""
    skipped = () if report is None else report.skipped
    return next((entry.status for entry in skipped if entry.label == label), "not tried")


def _tried_cells(outcome: Tried) -> dict[str, Cell]:
    finding = outcome.finding
    cells: dict[str, Cell] = {
        "attack": f"{'✗' if outcome.exceeds else '✓'} {finding.words}",
        "succeeds": Share(finding.value),
        "people": finding.trials,
    }
    if finding.interval is not None:
        cells["between"] = f"{percent(finding.interval[0])} to {percent(finding.interval[1])}"
    if finding.baseline is not None:
        cells["guessing"] = Share(finding.baseline, bar=False)
    if outcome.limit is not None:
        cells["limit"] = Share(outcome.limit, bar=False)
    return cells


def _unknown_cells(skipped: Skipped) -> dict[str, Cell]:
    """An attack whose outcome is unknown: neither a success nor a pass."""
    cells: dict[str, Cell] = {"attack": f"? {skipped.words}", "succeeds": "unknown"}
    if skipped.limit is not None:
        cells["limit"] = Share(skipped.limit, bar=False)
    return cells


def _as_row(outcome: Tried) -> Document:
    low, high = outcome.finding.interval or (None, None)
    return {
        **outcome.to_dict(),
        "attack": outcome.finding.label,
        "status": "tried",
        "low": low,
        "high": high,
    }
