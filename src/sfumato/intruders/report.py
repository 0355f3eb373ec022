"""What all intruders together found."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core.attack import Finding
from sfumato.errors import ParameterError

if TYPE_CHECKING:
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

        keys = ("intruder", "attack", "value", "baseline", "threshold", "exceeds", "victims", "sentence")
        return pl.DataFrame([{key: t.to_dict()[key] for key in keys} for t in self.tried])

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.tried)} attacks, {self.looked_for:,} of {self.records:,} records looked for"]
        for t in self.tried:
            mark = "✗" if t.exceeds else "✓"
            lines.append(f"  {mark} {t.intruder}, {t.finding.attack}: {t.finding.value:.2%}; {t.finding.sentence}")
        return "\n".join([*lines, *(f"  – {s.intruder}, {s.attack}: not tried, {s.reason}" for s in self.skipped)])

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()
