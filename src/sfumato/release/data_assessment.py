"""What an intruder can do today with data other than a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, TableBlock, VerdictBlock
from sfumato.core.evidence import judge_all
from sfumato.core.fields import Document
from sfumato.core.progress import Progress, silent
from sfumato.core.words import plain_name
from sfumato.release.attack_run import DEFAULT_SECONDS, attack_unchanged
from sfumato.release.report.headline import NOT_ATTACKED, promises_told

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.model import Model, Verdict
    from sfumato.core.randomness import Seed
    from sfumato.core.shape import Shape
    from sfumato.release.attack_report import AttackReport


@dataclasses.dataclass(frozen=True, eq=False)
class DataAssessment(Reportable):
    """What attacks find in data as they are, and what is left of promises; no data values."""

    name: str
    shape: Shape
    counts: Mapping[str, int]
    verdicts: tuple[Verdict, ...]
    attacks: AttackReport | None
    notes: tuple[str, ...] = ()
    size: int = 0
    """Number of people."""

    def to_dict(self) -> Document:
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

    def blocks(self) -> Sequence[Block]:
        """What holds, how much there is, and what attacks find."""
        if self.verdicts:
            promises = promises_told([v.to_dict() for v in self.verdicts])
        else:
            promises = "No promise was asked for"
        holds = all(self.verdicts) if self.verdicts else None
        counts = tuple((plain_name(name), count) for name, count in self.counts.items())
        return [
            VerdictBlock(holds, promises, headline=True),
            TableBlock(("what", "how many"), counts, f"{self.name} (shape: {self.shape})"),
            *(verdict.verdict_block for verdict in self.verdicts),
            *(
                [Paragraph(NOT_ATTACKED, "quiet")]
                if self.attacks is None
                else self.attacks.blocks()
            ),
        ]


def assess_data(
    data: Data,
    models: Sequence[Model] = (),
    *,
    seconds: float = DEFAULT_SECONDS,
    seed: Seed | int | str | None = None,
    progress: Progress = silent,
) -> DataAssessment:
    """Say what intruders can do with data as they are: they are attacked as if they were released
    today.
    """
    verdicts = judge_all(data.evidence(models, original=data), models)
    attacks = attack_unchanged(data, models=models, seconds=seconds, seed=seed, progress=progress)
    return DataAssessment(
        data.source.name, data.shape, data.counts(), verdicts, attacks, data.notes, data.size
    )
