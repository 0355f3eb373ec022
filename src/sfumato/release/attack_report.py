"""What attacks on a release found: what was tried, what is unknown, what does not apply."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.attack import Attack, Finding, NothingToAttack
from sfumato.core.notebook import html_headline, html_list, html_table
from sfumato.core.parameters import label_of, values_of, words_of
from sfumato.errors import ParameterError
from sfumato.release.report.attacks import attack_chart_on_white, attack_label, conclusion, ranked

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
        facts = {"intruder": self.intruder, "knows": list(self.knows), "threshold": self.threshold, "limit": self.limit}
        return {**facts, "exceeds": self.exceeds, **self.finding.to_dict()}


@dataclasses.dataclass(frozen=True)
class Skipped:
    """An attack that was not carried out, and why; ``limit`` is what the recipe allows it.

    Its outcome is **unknown**, unless there is nothing of its kind to attack (:class:`NothingToAttack`): unknown is not a pass.
    """

    intruder: str
    attack: str
    reason: str
    limit: float | None = None
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)

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

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        plain = {**dataclasses.asdict(self), "reason": str(self.reason), "status": self.status}
        if not self.parameters:
            del plain["parameters"]
        return plain


@dataclasses.dataclass(frozen=True)
class AttackReport:
    """All that was tried on a release, and what could not be: ``unknown`` attacks count neither as success nor as failure."""

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
        """Why the recipe's limits do not allow this release: attacks that go beyond theirs, and such that are unknown."""
        beyond = [f"{t.finding.words}: {t.finding.sentence}" for t in self.tried if t.limit is not None and t.exceeds]
        blind = [f"{s.words} is unknown: {s.reason}" for s in self.unknown if s.limit is not None and not s.accepted]
        return (*beyond, *blind)

    @property
    def worst(self) -> Tried | None:
        """The strongest attack: one that goes beyond a limit of the recipe, else the one that surely has most over guessing."""
        order = ranked(self.to_dict())
        if not order:
            return None
        first = (order[0]["intruder"], attack_label(order[0]))
        return next(t for t in self.tried if (t.intruder, t.finding.label) == first)

    def value(self, attack: str | Attack) -> float:
        """The rate of success of one attack, by the first intruder who tries it: who knows the quasi-identifiers.

        A name stands for the attack without parameters where that was tried, else for the first one of that name.
        """
        label = attack if isinstance(attack, str) else label_of(attack.name, values_of(attack))
        exact = [tried.finding for tried in self.tried if tried.finding.label == label]
        named = [tried.finding for tried in self.tried if tried.finding.attack == label]
        for finding in (*exact, *named):
            return finding.value
        for skipped in self.skipped:
            if label in (skipped.label, skipped.attack):
                raise ParameterError(f"{label!r} was not tried: {skipped.reason}")
        raise ParameterError(f"{label!r} was not tried")

    def values(self) -> dict[str, float]:
        """All rates of success; attacks are told apart by their parameters, and by the names of later intruders who try them."""
        return {name: finding.value for name, finding in self._named().items()}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Between what those rates lie that were found on a sample."""
        return {name: one.interval for name, one in self._named().items() if one.interval is not None}

    def _named(self) -> dict[str, Finding]:
        named: dict[str, Finding] = {}
        for tried in self.tried:
            name = tried.finding.label
            named[name if name not in named else f"{name} by the {tried.intruder}"] = tried.finding
        return named

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
        rows = [
            *map(_as_row, self.tried),
            *({**s.to_dict(), "attack": s.label, "sentence": str(s.reason)} for s in self.unknown),
        ]
        return pl.DataFrame([[row.get(key) for key in kinds] for row in rows], schema=kinds, orient="row")

    def plot(self) -> alt.LayerChart | None:
        """Every attack as a bar with its interval, what guessing gives and what is allowed; None when none was tried."""
        return attack_chart_on_white(self.to_dict())

    @property
    def headline(self) -> str:
        """How many attacks were tried on how many records, and how many are unknown."""
        unknown = f", {len(self.unknown)} unknown" if self.unknown else ""
        return f"{len(self.tried)} attacks{unknown}, {self.looked_for:,} of {self.records:,} {self.counted} looked for"

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.headline}"]
        for t in self.tried:
            mark = "✗" if t.exceeds else "✓"
            lines.append(f"  {mark} {t.intruder}, {t.finding.label}: {t.finding.value:.2%}; {t.finding.sentence}")
        left = [f"  {'?' if s.unknown else '–'} {s.intruder}, {s.label}: {s.status}; {s.reason}" for s in self.skipped]
        return "\n".join([*lines, *left])

    def _repr_html_(self) -> str:
        rows = [("✗" if t.exceeds else "✓", t.intruder, *_told(t.finding)) for t in self.tried]
        rows += [("?", s.intruder, s.words, "unknown", "–", "–", str(s.reason)) for s in self.unknown]
        clear = not self.unknown and not any(t.exceeds for t in self.tried)
        head = html_headline(conclusion(self.to_dict()), good=clear and bool(self.tried))
        heads = ("", "intruder", "attack", "succeeds", "between", "guessing", "finding")
        left = [f"{s.intruder}, {s.words}: {s.reason}" for s in self.skipped if not s.unknown]
        return head + html_table(f"{self.name}: {self.headline}", heads, rows) + html_list("Does not apply:", left)


def _told(finding: Finding) -> tuple[str, str, str, str, str]:
    between = "–" if finding.interval is None else f"{finding.interval[0]:.2%} to {finding.interval[1]:.2%}"
    guess = "–" if finding.baseline is None else f"{finding.baseline:.2%}"
    return finding.words, f"{finding.value:.2%}", between, guess, finding.sentence


def _as_row(tried: Tried) -> dict[str, Any]:
    low, high = tried.finding.interval or (None, None)
    return {**tried.to_dict(), "attack": tried.finding.label, "status": "tried", "low": low, "high": high}
