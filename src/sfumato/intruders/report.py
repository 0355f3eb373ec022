"""What all intruders together found."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.attack import Finding, NothingToAttack
from sfumato.core.notebook import html_headline, html_list, html_table
from sfumato.errors import ParameterError
from sfumato.report.attacks import attack_chart_on_white, conclusion

if TYPE_CHECKING:
    import altair as alt


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
        """Whether the attack succeeds more often than the recipe allows, or takes more beyond guessing than the threshold.

        Where the recipe says nothing, a rate whose interval includes what guessing gives is no finding.
        """
        if self.limit is not None:
            return self.finding.value > self.limit + 1e-12
        return self.finding.certain and self.finding.beyond_guessing > self.threshold + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without who the victims are."""
        told = {"intruder": self.intruder, "knows": list(self.knows), "threshold": self.threshold, "limit": self.limit}
        return {**told, "exceeds": self.exceeds, **self.finding.to_dict()}


@dataclasses.dataclass(frozen=True)
class Skipped:
    """An attack that was not carried out, and why; ``limit`` is what the recipe allows it.

    Its outcome is **unknown**, unless there is nothing of its kind to attack (:class:`NothingToAttack`): unknown is not a pass.
    """

    intruder: str
    attack: str
    reason: str
    limit: float | None = None

    @property
    def unknown(self) -> bool:
        """Whether the attack might succeed for all that is known."""
        return not isinstance(self.reason, NothingToAttack)

    @property
    def status(self) -> str:
        """``unknown`` or ``does not apply``."""
        return "unknown" if self.unknown else "does not apply"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**dataclasses.asdict(self), "reason": str(self.reason), "status": self.status}


@dataclasses.dataclass(frozen=True)
class AttackReport:
    """All that was tried on a release, and what could not be: ``unknown`` attacks count neither as success nor as failure."""

    name: str
    records: int
    looked_for: int
    tried: tuple[Tried, ...]
    skipped: tuple[Skipped, ...]
    seconds: float

    @property
    def unknown(self) -> tuple[Skipped, ...]:
        """The attacks that could not be tried although they might succeed."""
        return tuple(skipped for skipped in self.skipped if skipped.unknown)

    @property
    def refused(self) -> tuple[str, ...]:
        """Why the recipe's limits do not allow this release: attacks that go beyond theirs, and such that are unknown."""
        beyond = [
            f"{_words(t.finding.attack)}: {t.finding.sentence}" for t in self.tried if t.limit is not None and t.exceeds
        ]
        blind = [f"{_words(s.attack)} is unknown: {s.reason}" for s in self.unknown if s.limit is not None]
        return (*beyond, *blind)

    @property
    def worst(self) -> Tried | None:
        """The most successful attack: one that exceeds what is allowed, else the one that takes most beyond guessing."""
        return max(self.tried, key=lambda t: (t.exceeds, t.finding.beyond_guessing), default=None)

    def value(self, attack: str) -> float:
        """The rate of success of one attack, by the first intruder who tries it: who knows the quasi-identifiers."""
        for tried in self.tried:
            if tried.finding.attack == attack:
                return tried.finding.value
        for skipped in self.skipped:
            if skipped.attack == attack:
                raise ParameterError(f"{attack!r} was not tried: {skipped.reason}")
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
        rows = [*map(_as_row, self.tried), *({**s.to_dict(), "sentence": str(s.reason)} for s in self.unknown)]
        return pl.DataFrame([[row.get(key) for key in kinds] for row in rows], schema=kinds, orient="row")

    def plot(self) -> alt.LayerChart | None:
        """Every attack as a bar with its interval, what guessing gives and what is allowed; None when none was tried."""
        return attack_chart_on_white(self.to_dict())

    @property
    def headline(self) -> str:
        """How many attacks were tried on how many records, and how many are unknown."""
        unknown = f", {len(self.unknown)} unknown" if self.unknown else ""
        return f"{len(self.tried)} attacks{unknown}, {self.looked_for:,} of {self.records:,} records looked for"

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.headline}"]
        for t in self.tried:
            mark = "✗" if t.exceeds else "✓"
            lines.append(f"  {mark} {t.intruder}, {t.finding.attack}: {t.finding.value:.2%}; {t.finding.sentence}")
        left = [f"  {'?' if s.unknown else '–'} {s.intruder}, {s.attack}: {s.status}; {s.reason}" for s in self.skipped]
        return "\n".join([*lines, *left])

    def _repr_html_(self) -> str:
        rows = [("✗" if t.exceeds else "✓", t.intruder, *_told(t.finding)) for t in self.tried]
        rows += [("?", s.intruder, _words(s.attack), "unknown", "–", "–", str(s.reason)) for s in self.unknown]
        clear = not self.unknown and not any(t.exceeds for t in self.tried)
        head = html_headline(conclusion(self.to_dict()), good=clear and bool(self.tried))
        heads = ("", "intruder", "attack", "succeeds", "between", "guessing", "finding")
        left = [f"{s.intruder}, {_words(s.attack)}: {s.reason}" for s in self.skipped if not s.unknown]
        return head + html_table(f"{self.name}: {self.headline}", heads, rows) + html_list("Does not apply:", left)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _told(finding: Finding) -> tuple[str, str, str, str, str]:
    between = "–" if finding.interval is None else f"{finding.interval[0]:.2%} to {finding.interval[1]:.2%}"
    guess = "–" if finding.baseline is None else f"{finding.baseline:.2%}"
    return _words(finding.attack), f"{finding.value:.2%}", between, guess, finding.sentence


def _as_row(tried: Tried) -> dict[str, Any]:
    low, high = tried.finding.interval or (None, None)
    return {**tried.to_dict(), "status": "tried", "low": low, "high": high}
