"""Trade-offs: which column costs the others most of their detail, measured without it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.core.words import percent
from sfumato.guidance.protection.changes import RecipeChange, changed_recipe
from sfumato.methods.utility.information_loss import Loss
from sfumato.release.evaluation import evaluate

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.guidance.protection.trial import TrialGround
    from sfumato.release.table_release import TableRelease

MOST_COLUMNS = 4
"""Columns that are left out in turn: those with most values, which cost most."""
FEWEST = 3
"""Quasi-identifiers from which on there is a trade-off between one and the others."""
LEAST_PART = 0.4
LEAST_GAIN = 0.05
"""What the others must gain for it to be worth saying: as a part of what they lose, and in all."""


@dataclasses.dataclass(frozen=True)
class TradeOff:
    """A column and what the other quasi-identifiers lose with it and without it."""

    column: str
    loss_with: float
    loss_without: float

    @property
    def gain(self) -> float:
        """What the others gain."""
        return self.loss_with - self.loss_without

    @property
    def sentence(self) -> str:
        """What was measured, and the flag that leaves the column out."""
        return (
            f"`{self.column}` costs the other columns most of their detail: without it they would"
            f" lose {percent(self.loss_without)} instead of {percent(self.loss_with)}"
            f" ({RecipeChange('drop', self.column).flag})"
        )


def trade_off_of(ground: TrialGround, recipe: Recipe) -> TradeOff | None:
    """The column without which the others would lose least, if they would lose much less."""
    base = ground.make(recipe)
    losses = {} if base is None else _losses(base)
    if base is None or len(losses) < FEWEST:
        return None
    table = base.original
    by_values = sorted(losses, key=lambda name: (-table.column(name).n_unique(), name))
    found = []
    for name in by_values[:MOST_COLUMNS]:
        without = changed_recipe(recipe, RecipeChange("drop", name), ground.sample)
        release = None if without is None else ground.make(without)
        if release is not None:
            left = _losses(release)
            found.append(TradeOff(name, _mean_without(losses, name), _mean_without(left, name)))
    best = max(found, key=lambda entry: entry.gain, default=None)
    if best is None or best.gain < max(LEAST_GAIN, LEAST_PART * best.loss_with):
        return None
    return best


def _losses(release: TableRelease) -> dict[str, float]:
    """What each quasi-identifier loses; empty where values were changed."""
    measures = evaluate(release.pair, (Loss(),)).measures
    return dict(measures[0].per_column) if measures else {}


def _mean_without(losses: dict[str, float], column: str) -> float:
    others = [loss for name, loss in losses.items() if name != column]
    return sum(others) / max(1, len(others))
