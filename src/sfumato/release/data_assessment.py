"""What an intruder can do today with data other than a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.evidence import judge_all
from sfumato.core.notebook import html_headline, html_table, html_verdicts
from sfumato.core.progress import Progress, silent
from sfumato.release.attack_run import DEFAULT_SECONDS, attack_unchanged
from sfumato.release.report.headline import promises_told
from sfumato.release.report.wording import counts_in_words

if TYPE_CHECKING:
    from sfumato.core.model import Model, Verdict
    from sfumato.core.randomness import Seed
    from sfumato.core.shape import Shape
    from sfumato.release.attack_report import AttackReport


@dataclasses.dataclass(frozen=True, eq=False)
class DataAssessment:
    """What attacks find in data as they are, and what is left of promises; no data values."""

    name: str
    shape: Shape
    counts: Mapping[str, int]
    verdicts: tuple[Verdict, ...]
    attacks: AttackReport | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The assessment as plain data."""
        return {
            "name": self.name,
            "shape": str(self.shape),
            "counts": dict(self.counts),
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "attacks": None if self.attacks is None else self.attacks.to_dict(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        attacks = [] if self.attacks is None else str(self.attacks).split("\n")[1:]
        head = f"{self.name} ({self.shape}): {counts_in_words(self.counts)}"
        return "\n".join([head, *(f"  {verdict!r}" for verdict in self.verdicts), *attacks])

    def _repr_html_(self) -> str:
        asked = promises_told([v.to_dict() for v in self.verdicts]) if self.verdicts else "No promise was asked for"
        rows = [(name.replace("_", " "), f"{count:,}") for name, count in self.counts.items()]
        attacks = "" if self.attacks is None else self.attacks._repr_html_()
        return (
            html_headline(asked, good=bool(self.verdicts) and all(self.verdicts))
            + html_table(f"{self.name} ({self.shape})", ("what", "how many"), rows)
            + html_verdicts(v.to_dict() for v in self.verdicts)
            + attacks
        )


def assess_data(
    data: Any,
    models: Sequence[Model] = (),
    *,
    seconds: float = DEFAULT_SECONDS,
    seed: Seed | int | str | None = None,
    progress: Progress = silent,
) -> DataAssessment:
    """Say what intruders can do with data as they are: they are attacked as if they were released today."""
    verdicts = judge_all(data.evidence(models, original=data), models)
    attacks = attack_unchanged(data, models=models, seconds=seconds, seed=seed, progress=progress)
    return DataAssessment(data.source.name, data.shape, data.counts(), verdicts, attacks, data.notes)
