"""The outcome of a run over people who are no table: who is shared, plans, verdicts, before and after."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.notebook import html_headline, html_list, html_table, html_verdicts
from sfumato.core.step import accounts
from sfumato.release import VERBS
from sfumato.release.epsilon_certification import Certified, certified
from sfumato.release.report.curves import curves_on_white
from sfumato.release.report.headline import headline
from sfumato.release.shaped.trying import against_itself, attack_people, counted_told, evaluate_people

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt
    import polars as pl

    from sfumato.core.data import Data
    from sfumato.core.model import Verdict
    from sfumato.core.progress import Progress
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Kept, Recipe
    from sfumato.core.shape import Shape
    from sfumato.core.step import Plan
    from sfumato.release.evaluation import Evaluation
    from sfumato.release.intruders import AttackReport
    from sfumato.release.report.headline import Headline


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ShapedRelease:
    """What a run made. ``released`` is what is shared; everything else says what it is worth and how it came about.

    ``before`` is what attacks find in the original as it is, ``attacks`` what they find in the release, ``worth`` what is left of it.
    """

    released: Data
    original: Data
    recipe: Recipe
    plans: tuple[tuple[str, Plan], ...]
    verdicts: tuple[Verdict, ...]
    seed: Seed
    shuffled: bool
    created: datetime.datetime
    limits: tuple[Kept, ...] = ()
    contract: tuple[Kept, ...] = ()
    before: AttackReport | None = None
    attacks: AttackReport | None = None
    worth: Evaluation | None = None
    made_for: str = "csv"
    """The format whose values were told apart from the start."""

    @property
    def shape(self) -> Shape:
        """The shape of the data."""
        return self.recipe.shape

    @property
    def holds(self) -> bool:
        """Whether every promise holds on what is shared, and every limit and contract that may refuse it is kept."""
        return all(self.verdicts) and all(kept for kept in (*self.limits, *self.contract) if kept.refuses)

    @property
    def headline(self) -> Headline:
        """Promises, limits, attacks and what is unknown in one sentence: the headline of its pages."""
        bounds = {"limits": self.limits, "contract": self.contract}
        told = {name: [kept.to_dict() for kept in several] for name, several in bounds.items()}
        attacks = None if self.attacks is None else self.attacks.to_dict()
        return headline({"verdicts": [v.to_dict() for v in self.verdicts], **told, "attacks": attacks})

    @property
    def suppressed(self) -> int:
        """Number of people who were left out."""
        return self.original.people - self.released.people

    @property
    def certified(self) -> Certified | None:
        """Whether the recipe certifies an ε; None where no step accounts for one."""
        accounted = accounts(self.recipe.steps, self.recipe.schema)
        columns = self.released.to_tables()[self.recipe.first].columns if accounted else ()
        found, rehearsal = self.original.source.types_found, self.seed.rehearsal
        return certified(self.recipe, columns, self.released.schema, rehearsal=rehearsal, types_found=found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What steps warn of, and why no ε is certified where a step accounts for one."""
        judged = self.certified
        broken = () if judged is None else tuple(f"no ε is certified: {reason}" for reason in judged.reasons)
        return (*(warning for _, plan in self.plans for warning in plan.warnings), *broken)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading merged or put right, in counts."""
        return tuple(dict.fromkeys((*self.original.source.notes, *self.original.notes)))

    @property
    def data(self) -> Mapping[str, pl.DataFrame]:
        """The released tables by name."""
        return self.released.to_tables()

    def attack(self, **options: Any) -> AttackReport:
        """Let attacks try the release; see :func:`sfumato.attack`."""
        known = {"steps": self.recipe.steps, "models": self.recipe.meet, "limits": self.recipe.limits}
        return attack_people(self.original, self.released, **{**known, "seed": self.seed, **options})

    def evaluate(self, metrics: Sequence[Any] | None = None) -> Evaluation:
        """What the release is still worth; see :func:`sfumato.evaluate`."""
        return evaluate_people(self.original, self.released, metrics)

    def tried(self, *, seconds: float, progress: Progress) -> ShapedRelease:
        """The same release with what attacks find before and after, half of the time each, and what it is worth."""
        half: dict[str, Any] = {"seconds": seconds / 2, "progress": progress}
        before = against_itself(self.original, models=self.recipe.meet, seed=self.seed, **half)
        after = self.attack(**half) if seconds > 0 else None
        return dataclasses.replace(self, before=before, attacks=after, worth=self.evaluate())

    def write(
        self,
        folder: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        force: bool = False,
        sign: str | Path | None = None,
        pictures: bool = False,
        defuse: bool = False,
    ) -> Path:
        """Write ``share/`` (data, certificate, report) and ``owner/`` (lock, alignment, report), or nothing at all.

        What is written is read back before it stands, and refused where a promise does not hold in it. Options as for a table.
        """
        key = None if sign is None else Path(sign)
        said: dict[str, Any] = {"format": format, "pictures": pictures, "defuse": defuse}
        written: Path = VERBS["write_people"](self, Path(folder), force=force, sign=key, **said)
        return written

    def plot(self) -> alt.LayerChart | None:
        """The share of people who are alone by what is known of them, before and after; None where no attack draws it."""
        reports = [None if report is None else report.to_dict() for report in (self.before, self.attacks)]
        return curves_on_white(*reports)

    def _repr_html_(self) -> str:
        """Verdicts, counts, attacks and measures in a notebook, without a data value."""
        verdict, was, now = self.headline, self.original.counts(), self.released.counts()
        counts = [(name.replace("_", " "), was.get(name), now.get(name)) for name in dict.fromkeys([*was, *now])]
        attacks = "" if self.attacks is None else self.attacks._repr_html_()
        worth = "" if self.worth is None else self.worth._repr_html_()
        return (
            html_headline(verdict.text, good=verdict.state == "holds")
            + html_verdicts(v.to_dict() for v in self.verdicts)
            + html_list("Limits and contract:", [repr(kept) for kept in (*self.limits, *self.contract)])
            + html_table(f"{self.original.source.name} ({self.shape})", ("what", "before", "after"), counts)
            + attacks
            + worth
            + html_list("Warnings:", self.warnings)
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [
            f"{self.original.source.name} ({self.shape}): {self.headline.text}",
            f"  released: {counted_told(self.released.counts())}",
            f"  {self.suppressed:,} of {self.original.people:,} people left out",
            *(f"  {verdict!r}" for verdict in (*self.verdicts, *self.limits, *self.contract)),
            *(f"  {line}" for line in self._before_and_after()),
            *(f"  {m.name.replace('_', ' ')}: {m.value:.4f} ({m.meaning})" for m in self._measures),
            *(f"  warning: {warning}" for warning in self.warnings),
        ]
        return "\n".join(lines)

    @property
    def _measures(self) -> tuple[Any, ...]:
        return () if self.worth is None else self.worth.measures

    def _before_and_after(self) -> list[str]:
        """What attacks reach in the original and in the release, one line each; what is unknown is told."""
        if self.attacks is None:
            return ["no attack was tried"]
        was = {} if self.before is None else self.before.values()
        told = [
            f"{t.finding.words}: {_share(was.get(t.finding.label))}{t.finding.value:.2%}" for t in self.attacks.tried
        ]
        return [*told, *(f"? {s.words} is unknown: {s.reason}" for s in self.attacks.unknown)]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2%} → "
