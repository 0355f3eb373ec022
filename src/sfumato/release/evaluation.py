"""What a release is still worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core import registry
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, TableBlock
from sfumato.core.chart_drawing import plot_chart
from sfumato.core.choices import required_fields
from sfumato.core.fields import Document, Fields
from sfumato.core.metric import Measure, Utility
from sfumato.core.pair import TablePair
from sfumato.core.shape import Shape
from sfumato.core.words import plain_name, score
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.release.report.charts import chart_measures
from sfumato.release.report.measures import best_of, first_and_more, title_of

if TYPE_CHECKING:
    import altair as alt

    from sfumato.core.data import Data, Pair


@dataclasses.dataclass(frozen=True)
class Evaluation(Reportable):
    """Utility metrics of a release beside its original, and why some were not measured.

    ``measures`` hold numbers and names of columns only, except for their parts per record, which
    are for the owner.
    """

    name: str
    records: int
    released: int
    measures: tuple[Measure, ...]
    skipped: Mapping[str, str]
    counted: str = "records"
    """What ``records`` and ``released`` count: rows of a table, or people who are described by more
    than a row.
    """
    drawn: bool = False
    """Whether released records are synthetic and are nobody's."""

    @property
    def told_records(self) -> str:
        """How many records were released, of how many."""
        if self.drawn:
            return (
                f"{self.released:,} synthetic records, compared with {self.records:,} original ones"
            )
        return f"{self.released:,} of {self.records:,} {self.counted} released"

    @property
    def told_skipped(self) -> list[tuple[str, str]]:
        """The metrics that were not measured, in words, by their reason."""
        names: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            names.setdefault(reason, []).append(plain_name(name))
        return [(", ".join(metric_names), reason) for reason, metric_names in names.items()]

    def measure(self, name: str) -> Measure:
        """One measure by the name of its metric."""
        for measure in self.measures:
            if measure.name == name:
                return measure
        if name in self.skipped:
            raise ParameterError(f"{name} was not measured: {self.skipped[name]}")
        raise ParameterError(
            f"{name!r} was not measured.{did_you_mean(name, [m.name for m in self.measures])}"
        )

    def to_dict(self) -> Document:
        """The evaluation as plain data, without anything per record."""
        return {
            "name": self.name,
            "records": self.records,
            "released": self.released,
            **({"drawn_anew": True} if self.drawn else {}),
            "measures": [measure.to_dict() for measure in self.measures],
            "skipped": dict(self.skipped),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row a measure and column part: metric, column (missing: all together), value, raw,
        better, meaning.
        """
        rows: list[tuple[str, str | None, float, float | None, str, str]] = []
        for m in self.measures:
            rows.append((m.name, None, m.value, m.raw, m.better, m.meaning))
            rows += [
                (m.name, column, part, None, m.better, m.meaning)
                for column, part in m.per_column.items()
            ]
        kinds = {"metric": pl.String, "column": pl.String, "value": pl.Float64, "raw": pl.Float64}
        return pl.DataFrame(
            rows, schema={**kinds, "better": pl.String, "meaning": pl.String}, orient="row"
        )

    def plot(self) -> alt.LayerChart | None:
        """Every measure from 0 to 1 as a bar, what is lost apart from what is better when higher;
        None without any.
        """
        chart = chart_measures([(m.name, m.value, m.better) for m in self.measures])
        return None if chart is None else plot_chart(chart)

    def blocks(self) -> Sequence[Block]:
        """Every measure with what it means, and why some were not measured."""
        rows = []
        for m in self.measures:
            best = "1 is best" if m.better == "higher" else "0 is best"
            rows.append((plain_name(m.name), score(m.value), best, m.meaning))
        blocks: list[Block] = [
            Paragraph(self._verdict, "strong"),
            Paragraph(f"{self.name}: {self.told_records}"),
        ]
        if rows:
            blocks.append(TableBlock(("measure", "value", "", "meaning"), tuple(rows)))
        blocks += [m.chart for m in self.measures if m.chart is not None]
        for names, reason in self.told_skipped:
            blocks.append(Paragraph(f"not measured: {names}: {reason}", "quiet"))
        return blocks

    @property
    def _verdict(self) -> str:
        """What a reader looks for first: the measures that a page shows first, with what would be
        best.
        """
        first, further = first_and_more((m.name, m) for m in self.measures)
        sentences = [
            f"{title_of(m.name)} {score(m.value)} ({best_of(m.name)})"
            for m in [*first, *further][:2]
        ]
        return "; ".join(sentences) or "Nothing could be measured"


def default_metrics(shape: Shape = Shape.TABLE) -> tuple[Utility, ...]:
    """Every metric for such data that needs no parameter and is measured when nobody asks for
    it.
    """
    classes = registry.family("utility", shape).values()
    return tuple(cls() for cls in classes if cls.by_default and not required_fields(cls))


SLOW = ("propensity", "predictive_accuracy")
"""Metrics that fit models: they are measured when asked for, not with every release."""

REPORT_METRICS = (
    "loss",
    "average_class_size",
    "discernibility",
    "squared_error",
    "means",
    "correlations",
    "completeness",
    "accuracy",
)
"""What every release is measured by for its certificate and report: short, and cheap on tables of
any size.

A new metric is not measured here unless it is added by hand: everything else belongs to
``sfumato evaluate``.
"""

SYNTHETIC_REPORT_METRICS = (*REPORT_METRICS, "marginal_error")
"""The same for synthetic records, which nobody can follow row by row: there the tables of two
columns say most.
"""


def report_metrics(pair: TablePair) -> tuple[Utility, ...]:
    """The metrics that a certificate and a report show of this release."""
    names = REPORT_METRICS if pair.aligned else SYNTHETIC_REPORT_METRICS
    return tuple(registry.asked_metric(name) for name in names)


def quick_metrics() -> tuple[Utility, ...]:
    """Every metric that needs no parameter and no model fit."""
    return tuple(metric for metric in default_metrics() if metric.name not in SLOW)


def evaluate(
    pair: TablePair | Pair,
    metrics: Sequence[Utility | str | Fields] | None = None,
    *,
    per_record: bool = True,
) -> Evaluation:
    """Measure a release beside its original; by default with every metric that needs no parameter.

    Without ``per_record`` measures keep no part per record: of a large table these fill the memory.
    A metric may be given by name, or as in a recipe (``{"c_avg": {"k": 5}}``).
    A metric that makes no sense for these tables is left out with its reason. A column that a
    metric names and the original lacks is an error.
    """
    measures: list[Measure] = []
    skipped: dict[str, str] = {}
    require_same_shape(pair.original, pair.released)
    shape = pair.original.shape
    if metrics is None:
        requested = default_metrics(shape)
    else:
        requested = tuple(registry.asked_metric(metric, shape) for metric in metrics)
    for metric in requested:
        pair_seen = metric.looks_at(pair)
        reason = metric.out_of_place(pair_seen)
        if reason is None:
            try:
                measure = metric.measure(pair_seen)
                keeps_parts = per_record and pair_seen is pair  # counts have no records
                measures.append(
                    measure if keeps_parts else dataclasses.replace(measure, parts=None)
                )
            except (
                SchemaError
            ) as error:  # a hierarchy that does not fit its column: no step has used it
                skipped[metric.name] = str(error)
        else:
            skipped[metric.name] = reason
    name = pair.original.source.name
    counts = pair.original.size, pair.released.size
    unit = pair.original.units
    return Evaluation(name, *counts, tuple(measures), skipped, unit, drawn=not pair.aligned)


def require_same_shape(first: Data, *further: Data) -> None:
    """Refuse, by name, to put data of different shapes side by side."""
    for data in further:
        if data.shape is not first.shape:
            raise ParameterError(
                f"data of shape {first.shape} and of shape {data.shape} cannot be compared"
            )


def joined(pair: TablePair, evaluations: Sequence[Evaluation]) -> Evaluation:
    """Several evaluations of one pair as one, in their order."""
    whole = evaluate(pair, ())
    for evaluation in evaluations:
        whole = dataclasses.replace(
            whole,
            measures=whole.measures + evaluation.measures,
            skipped={**whole.skipped, **evaluation.skipped},
        )
    return whole
