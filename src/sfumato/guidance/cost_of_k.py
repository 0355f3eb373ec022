"""What every k would cost a table: from its own figures, and by the steps of a recipe."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core import registry
from sfumato.core.data import Context
from sfumato.core.fields import Document
from sfumato.core.randomness import Seed
from sfumato.core.schema import Role
from sfumato.core.words import percent
from sfumato.errors import Unsatisfiable
from sfumato.methods.formulas.choice_of_k import ChosenK, choose_k, k_for, risk_of
from sfumato.release.assessment import assess
from sfumato.release.evaluation import evaluate
from sfumato.release.make import make_release

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.release.table_release import TableRelease

USUAL_K = (3, 5, 10, 20)
# What is taken for a release to everyone where nobody says otherwise; see ``published_thresholds``
# in :mod:`sfumato.methods.formulas.choice_of_k`.
PUBLIC_RISK = 0.09


@dataclasses.dataclass(frozen=True)
class Price:
    """What one k costs a table.

    ``exposed`` records stand in classes of fewer than k today. ``suppressed`` and ``loss`` are what
    the recipe's steps pay for it (the mean share that a cell leaves open); None where they cannot
    reach it.
    """

    k: int
    risk: float
    exposed: int
    suppressed: int | None = None
    loss: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the recipe's steps reach it."""
        return self.suppressed is not None


@dataclasses.dataclass(frozen=True)
class KForTable:
    """The k a tolerable risk asks of a table, what it costs, and the largest that the recipe
    reaches.
    """

    asked: ChosenK
    records: int
    prices: tuple[Price, ...]

    @property
    def reachable(self) -> int | None:
        """The largest k up to the one asked for that the recipe's steps reach."""
        return max(
            (p.k for p in self.prices if p.reached and p.k <= self.asked.strict), default=None
        )

    def to_dict(self) -> Document:
        """The choice as plain data."""
        prices = [dataclasses.asdict(price) for price in self.prices]
        fields = {"records": self.records, "reachable": self.reachable, "prices": prices}
        return {**self.asked.to_dict(), **fields, "sentences": self.sentences()}

    def sentences(self) -> list[str]:
        """The choice, and what there is to pay, in plain words."""
        return [
            *self.asked.sentences(),
            *(self._priced(price) for price in self.prices),
            self._choice(),
        ]

    def _priced(self, price: Price) -> str:
        today = (
            f"k = {price.k:,}: {price.exposed:,} of {self.records:,} records are in smaller "
            "classes today"
        )
        if not price.reached:
            return f"{today}; the recipe's steps do not reach it."
        return (
            f"{today}; reached with {price.suppressed:,} suppressed and a loss of"
            f" {percent(price.loss)}."
        )

    def _choice(self) -> str:
        required_k, reachable = self.asked.strict, self.reachable
        if reachable == required_k:
            paid = next(price for price in self.prices if price.k == required_k)
            return (
                f"Choose k = {required_k:,}: the recipe reaches it at a loss of"
                f" {percent(paid.loss)}."
            )
        if reachable is None:
            return (
                "The recipe reaches none of these; let its steps suppress or generalise more to"
                f" reach k = {required_k:,}."
            )
        return (
            f"The recipe does not reach k = {required_k:,}; it reaches k = {reachable:,}, which "
            f"bounds the risk by {risk_of(reachable):.4g} and not by {self.asked.risk:g}. Let its "
            "steps suppress or generalise more."
        )


def choose_for(
    dataset: Table, recipe: Recipe, *, risk: float = PUBLIC_RISK, progress: Progress
) -> KForTable:
    """Choose k for a table that a recipe describes: from its number of records, its survey weights
    and its classes.

    Where a column of weights says how many people a record stands for, the file is a sample, and
    the class size that is enough in a sample is told too. Every usual k and the one asked for are
    tried with the steps of the recipe.
    """
    weight, records = dataset.schema.only(Role.WEIGHT), len(dataset)
    people = None
    if weight is not None:
        people = round(float(dataset.column(weight).sum()))
    sample = {}
    if people is not None and people >= records:
        sample = {"population": people, "records": records}
    sizes = sorted({*USUAL_K, k_for(risk)})
    return KForTable(choose_k(risk, **sample), records, prices(dataset, recipe, sizes, progress))


def prices(
    dataset: Table, recipe: Recipe, class_sizes: Sequence[int], progress: Progress
) -> tuple[Price, ...]:
    """What each of some k costs a table by the steps of a recipe; the price is measured, not
    written anywhere.
    """
    sizes = assess(dataset.drop(dataset.schema.dropped_columns)).class_sizes
    prices_of_sizes = []
    for position, k in enumerate(class_sizes):
        progress(position / len(class_sizes), f"k = {k}")
        exposed = sum(size * count for size, count in sizes.items() if size < k)
        prices_of_sizes.append(Price(k, risk_of(k), exposed, *_paid(dataset, recipe, k)))
    progress(1.0)
    return tuple(prices_of_sizes)


def _paid(dataset: Table, recipe: Recipe, k: int) -> tuple[int | None, float | None]:
    promise = registry.build("models", {"k_anonymity": k})
    other_models = tuple(model for model in recipe.goals if type(model) is not type(promise))
    trial = dataclasses.replace(recipe, meet=(promise, *other_models), limits={}, contract=())
    try:
        release = make_release(dataset, trial, Context(Seed(0), refuse=False))
    except Unsatisfiable:
        return None, None
    if not release.holds:
        return None, None
    return release.suppressed, _loss(release)


def _loss(release: TableRelease) -> float:
    measures = evaluate(release.pair, [registry.build("utility", "loss")]).measures
    return float(measures[0].value) if measures else 1.0
