"""What came of one candidate, and the map of them all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.notebook import html_headline, html_table
from sfumato.core.parameters import known_as
from sfumato.errors import OutputError, ParameterError, did_you_mean
from sfumato.report.measures import title_of
from sfumato.report.risk_utility import chart_of, comparison_page, front_told, picture_of, png_of, svg_on_white

if TYPE_CHECKING:
    import altair as alt


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One candidate: whether it may be released, how risky it is and what it is worth.

    ``risks`` are rates of success of attacks and the risks that follow from class sizes; ``utilities`` are normalised (0:
    nothing is lost) unless ``higher`` names them. ``reason`` says why nothing was released.
    """

    name: str
    holds: bool
    reason: str
    records: int
    suppressed: int
    promises: tuple[str, ...]
    risks: Mapping[str, float]
    utilities: Mapping[str, float]
    higher: tuple[str, ...]
    recipe: Mapping[str, Any]
    seconds: float

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Outcome:
        """The inverse of :func:`dataclasses.asdict`."""
        return cls(**{**plain, "promises": tuple(plain["promises"]), "higher": tuple(plain["higher"])})

    @property
    def made(self) -> bool:
        """Whether a table came out, so that it can be put on a map."""
        return bool(self.risks)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """All candidates; ``risk`` and ``utility`` name the axes of the map."""

    name: str
    outcomes: tuple[Outcome, ...]
    risk: str
    utility: str

    @property
    def front(self) -> tuple[Outcome, ...]:
        """The candidates that may be released and that no other such one beats in both risk and utility, safest first."""
        made = sorted((o for o in self.outcomes if o.holds and self._place(o) is not None), key=self._sure)
        kept: list[Outcome] = []
        for outcome in made:
            if not kept or self._sure(outcome)[1] < self._sure(kept[-1])[1] - 1e-15:
                kept.append(outcome)
        return tuple(kept)

    def _place(self, outcome: Outcome) -> tuple[float, float] | None:
        """Risk and loss, both better when lower; None where one of them was not measured."""
        if self.risk not in outcome.risks or self.utility not in outcome.utilities:
            return None
        worth = outcome.utilities[self.utility]
        return outcome.risks[self.risk], -worth if self.utility in outcome.higher else worth

    def _sure(self, outcome: Outcome) -> tuple[float, float]:
        return self._place(outcome) or (float("inf"), float("inf"))

    def with_axes(self, *, risk: str | None = None, utility: str | None = None) -> Comparison:
        """The same candidates under other axes."""
        risks = {name for o in self.outcomes for name in o.risks}
        utilities = {name for o in self.outcomes for name in o.utilities}
        risk, utility = (None if name is None else known_as(name) for name in (risk, utility))
        for given, known in ((risk, risks), (utility, utilities)):
            if given is not None and given not in known:
                raise ParameterError(f"{given!r} was not measured.{did_you_mean(given, sorted(known))}")
        return dataclasses.replace(self, risk=risk or self.risk, utility=utility or self.utility)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data: names, counts and rates."""
        return {
            "sfumato_comparison": 1,
            "name": self.name,
            "axes": {"risk": self.risk, "utility": self.utility},
            "front": [o.name for o in self.front],
            "candidates": [dataclasses.asdict(o) for o in self.outcomes],
        }

    def to_frame(self) -> pl.DataFrame:
        """One row a candidate, one column a risk or utility."""
        front = {o.name for o in self.front}
        rows = [
            {"candidate": o.name, "holds": o.holds, "records": o.records, "suppressed": o.suppressed}
            | {"on_front": o.name in front, "seconds": round(o.seconds, 3), "reason": o.reason}
            | dict(o.risks)
            | dict(o.utilities)
            for o in self.outcomes
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot(self) -> alt.LayerChart:
        """The risk–utility map with its front."""
        return chart_of(self.to_dict())

    def write(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write ``comparison.json``, ``comparison.csv``, ``comparison.html`` and the map as SVG and PNG."""
        target = Path(folder)
        if (target / "comparison.json").exists() and not force:
            raise OutputError(f"{target} already holds a comparison; give --force to write it anew")
        plain = self.to_dict()
        try:
            target.mkdir(parents=True, exist_ok=True)
            (target / "comparison.json").write_text(json.dumps(plain, indent=2, ensure_ascii=False) + "\n", "utf-8")
            self.to_frame().write_csv(target / "comparison.csv")
            (target / "comparison.html").write_text(comparison_page(plain), "utf-8")
            (target / "map.svg").write_text(picture_of(plain).svg, "utf-8")
            (target / "map.png").write_bytes(png_of(plain))
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from None
        return target

    def _repr_html_(self) -> str:
        """The verdict, the map, and a row a candidate with what the map shows."""
        plain, front = self.to_dict(), {o.name for o in self.front}
        heads = ("", "candidate", self.risk.replace("_", " "), title_of(self.utility), "records", "why not released")
        rows = [("●" if o.name in front else "○", o.name, *self._shown(o), o.records, o.reason) for o in self.outcomes]
        head = html_headline(front_told(plain), good=bool(front))
        return head + svg_on_white(plain) + html_table(self.name, heads, rows)

    def _shown(self, outcome: Outcome) -> tuple[str | None, float | None]:
        risk = outcome.risks.get(self.risk)
        return None if risk is None else f"{risk:.2%}", outcome.utilities.get(self.utility)

    def __str__(self) -> str:
        front = {o.name for o in self.front}
        lines = [f"{self.name}: {len(self.outcomes)} candidates, {self.risk} against {self.utility}"]
        for o in self.outcomes:
            place = self._place(o)
            told = o.reason if place is None else f"risk {place[0]:.2%}, {self.utility} {abs(place[1]):.4f}"
            lines.append(f"  {'●' if o.name in front else '○'} {o.name}: {told}{'' if o.holds else ' (not released)'}")
        return "\n".join(lines)


def order_of(outcomes: Sequence[Outcome], names: Sequence[str]) -> tuple[Outcome, ...]:
    """Outcomes in the order the candidates were given."""
    place = {name: i for i, name in enumerate(names)}
    return tuple(sorted(outcomes, key=lambda o: place[o.name]))
