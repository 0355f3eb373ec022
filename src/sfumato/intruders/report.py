"""What all intruders together found."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core.attack import Finding
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


@dataclasses.dataclass(frozen=True)
class Tried:
    """One attack of one intruder. ``limit`` is what the recipe allows; ``threshold`` holds where it says nothing."""

    intruder: str
    knows: tuple[str, ...]
    finding: Finding
    threshold: float
    limit: float | None = None

    @property
    def exceeds(self) -> bool:
        """Whether the attack succeeds more often than the recipe allows, or takes more beyond guessing than the threshold."""
        if self.limit is not None:
            return self.finding.value > self.limit + 1e-12
        return self.finding.beyond_guessing > self.threshold + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without who the victims are."""
        told = {"intruder": self.intruder, "knows": list(self.knows), "threshold": self.threshold, "limit": self.limit}
        return {**told, "exceeds": self.exceeds, **self.finding.to_dict()}


@dataclasses.dataclass(frozen=True)
class Skipped:
    """An attack that was not carried out, and why."""

    intruder: str
    attack: str
    reason: str


@dataclasses.dataclass(frozen=True)
class AttackReport:
    """All that was tried on a release."""

    name: str
    records: int
    looked_for: int
    tried: tuple[Tried, ...]
    skipped: tuple[Skipped, ...]
    seconds: float

    @property
    def worst(self) -> Tried | None:
        """The most successful attack: one that exceeds what is allowed, else the one that takes most beyond guessing."""
        return max(self.tried, key=lambda t: (t.exceeds, t.finding.beyond_guessing), default=None)

    def value(self, attack: str) -> float:
        """The rate of success of one attack, by the first intruder who tries it: who knows the quasi-identifiers."""
        for tried in self.tried:
            if tried.finding.attack == attack:
                return tried.finding.value
        raise ParameterError(f"{attack!r} was not tried")

    def values(self) -> dict[str, float]:
        """All rates of success; attacks that several intruders try are told apart by the later ones' names."""
        found: dict[str, float] = {}
        for tried in self.tried:
            name = tried.finding.attack
            found[name if name not in found else f"{name} by the {tried.intruder}"] = tried.finding.value
        return found

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data: rates and counts, nobody's row."""
        return {
            "records": self.records,
            "looked_for": self.looked_for,
            "tried": [t.to_dict() for t in self.tried],
            "skipped": [dataclasses.asdict(s) for s in self.skipped],
            "seconds": round(self.seconds, 3),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row an attack."""
        import polars as pl

        text, share = pl.String, pl.Float64
        kinds = {"intruder": text, "attack": text, "value": share, "low": share, "high": share, "baseline": share}
        kinds |= {"threshold": share, "limit": share, "exceeds": pl.Boolean, "victims": pl.Int64, "sentence": text}
        rows = [_as_row(t) for t in self.tried]
        return pl.DataFrame([[row[key] for key in kinds] for row in rows], schema=kinds, orient="row")

    def plot(self) -> alt.LayerChart | None:
        """Every attack as a bar with its interval, what guessing gives and what is allowed; None when none was tried."""
        from sfumato.report.attacks import attack_chart_on_white

        return attack_chart_on_white(self.to_dict())

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.tried)} attacks, {self.looked_for:,} of {self.records:,} records looked for"]
        for t in self.tried:
            mark = "✗" if t.exceeds else "✓"
            lines.append(f"  {mark} {t.intruder}, {t.finding.attack}: {t.finding.value:.2%}; {t.finding.sentence}")
        return "\n".join([*lines, *(f"  – {s.intruder}, {s.attack}: not tried, {s.reason}" for s in self.skipped)])

    def _repr_html_(self) -> str:
        from sfumato.core.notebook import html_list, html_table

        rows = [("✗" if t.exceeds else "✓", t.intruder, *_told(t.finding)) for t in self.tried]
        heads = ("allowed", "intruder", "attack", "succeeds", "between", "guessing", "finding")
        left = [f"{s.intruder}, {_words(s.attack)}: {s.reason}" for s in self.skipped]
        return html_table(str(self).split("\n")[0], heads, rows) + html_list("Not tried:", left)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _told(finding: Finding) -> tuple[str, str, str, str, str]:
    between = "–" if finding.interval is None else f"{finding.interval[0]:.2%} to {finding.interval[1]:.2%}"
    guess = "–" if finding.baseline is None else f"{finding.baseline:.2%}"
    return _words(finding.attack), f"{finding.value:.2%}", between, guess, finding.sentence


def _as_row(tried: Tried) -> dict[str, Any]:
    low, high = tried.finding.interval or (None, None)
    return {**tried.to_dict(), "low": low, "high": high}
