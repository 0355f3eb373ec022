"""What can still be learned from a release: models that learn from it and from the original, tested
on the same people, for a column that is chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from sfumato.core import registry
from sfumato.core.blocks import (
    Block,
    Cell,
    ChartAxis,
    ChartBlock,
    Heading,
    Paragraph,
    Part,
    Point,
    Series,
    TableBlock,
)
from sfumato.core.words import number
from sfumato.errors import ParameterError, did_you_mean
from sfumato.interfaces.web.tasks.look import release_of
from sfumato.methods.formulas.roc import area_under, roc_curve
from sfumato.release.story import FEWEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.progress import Progress
    from sfumato.interfaces.web.data_process import Bench

# Values whose curves are drawn, the commonest first.
MOST_CURVES = 3
# Points of a curve that are drawn.
MOST_POINTS = 120


class Scores(Protocol):
    """What two models say of people set aside: their ``truth`` as positions in ``values``, and a
    row of scores a person; ``released`` is None where nothing was there to learn from.
    """

    @property
    def values(self) -> tuple[str | None, ...]:
        """The values of the column."""

    @property
    def truth(self) -> NDArray[np.int64]:
        """The position of the own value of each person."""

    @property
    def original(self) -> NDArray[np.float64]:
        """Scores after learning from the original."""

    @property
    def released(self) -> NDArray[np.float64] | None:
        """Scores after learning from the release."""


def look_prediction(bench: Bench, progress: Progress, *, of: int, target: str) -> list[Block]:
    """How well a column is predicted, and explained by the others, after learning from the original
    and from the release.
    """
    release = release_of(bench, of)
    pair = release.pair
    if target not in pair.released.columns:
        raise ParameterError(
            f"{target!r} is not released.{did_you_mean(target, pair.released.columns)}"
        )
    accuracy = registry.build("utility", {"predictive_accuracy": {"label": target}})
    progress(0.1, "learning from the original and from the release")
    blocks: list[Block] = [Heading("Prediction", 1)]
    refusal = accuracy.applies(pair)
    if refusal is None:
        measure = accuracy.measure(pair)
        blocks.append(Paragraph(f"{number(measure.value)}: {measure.meaning}."))
        blocks += _curves(accuracy.label_scores(pair))
    else:
        blocks.append(Paragraph(f"Not predicted: {refusal}."))
    progress(0.7, "regression")
    return [*blocks, *_regression(pair, target)]


def _curves(scores: Scores) -> list[Block]:
    """For the commonest values, how well each is told from all others."""
    counts = np.bincount(scores.truth, minlength=len(scores.values))
    commonest = np.argsort(-counts, kind="stable")[:MOST_CURVES]
    rows: list[tuple[Cell, ...]] = []
    charts: list[Block] = []
    for at in commonest.tolist():
        value = scores.values[at]
        negatives = len(scores.truth) - int(counts[at])
        # of few people a curve says little, and much about each
        if value is None or min(int(counts[at]), negatives) < FEWEST:
            continue
        has = scores.truth == at
        before = roc_curve(has, _chances(scores.original)[:, at])
        areas: list[Cell] = [area_under(*before)]
        series = [_series("learnt from the original", *before, part="before")]
        if scores.released is not None:
            after = roc_curve(has, _chances(scores.released)[:, at])
            areas.append(area_under(*after))
            series.append(_series("learnt from the release", *after, part="after"))
        else:
            areas.append(None)
        rows.append((value, int(counts[at]), *areas))
        words = f"ROC curves of the value {value}, learnt from the original and from the release"
        share = ("others taken for it", "recognised")
        x, y = (ChartAxis(title, share=True, limits=(0.0, 1.0)) for title in share)
        charts.append(ChartBlock(f"roc {at}", "lines", x, y, tuple(series), words, title=value))
    if not rows:
        return [Paragraph("Too few people were set aside to draw curves.", "quiet")]
    header = ("value", "people tested", "area, original", "area, release")
    return [
        TableBlock(header, tuple(rows), "Area under the curve: 1 is best, 0.5 is guessing"),
        *charts,
    ]


def _chances(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return chances


def _series(
    name: str, false: NDArray[np.float64], true: NDArray[np.float64], *, part: Part
) -> Series:
    """A curve of so many points at most, the ends among them."""
    positions = np.unique(np.linspace(0, len(false) - 1, MOST_POINTS).round().astype(np.int64))
    points = tuple(Point(float(false[at]), float(true[at])) for at in positions)
    return Series(name, points, "line", part)


def _regression(pair: TablePair, target: str) -> list[Block]:
    """How alike the coefficients of a regression are that explains the column by all others."""
    predictors = tuple(
        name for name in pair.columns if name != target and name in pair.released.columns
    )
    heading = Heading("Regression", 1)
    if not predictors:
        return [heading, Paragraph("No other column is released.")]
    fields = {"outcome": target, "predictors": list(predictors)}
    metric = registry.build("utility", {"regression_overlap": fields})
    refusal = metric.applies(pair)
    if refusal is not None:
        return [heading, Paragraph(f"Not regressed: {refusal}.")]
    measure = metric.measure(pair)
    rows = tuple((name, value) for name, value in measure.per_column.items())
    words = f"{number(measure.value)}: {measure.meaning}. 0 is best."
    return [
        heading,
        Paragraph(words),
        TableBlock(("explained by", "intervals that do not overlap"), rows),
    ]
