"""What an intruder can do with a table today."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, Share, TableBlock, VerdictBlock
from sfumato.core.chart_drawing import plot_chart
from sfumato.core.evidence import gather, judge_all, needed
from sfumato.core.fields import Document
from sfumato.core.metric import Measure
from sfumato.core.model import ClassEvidence, Model, Verdict
from sfumato.core.schema import Role
from sfumato.core.words import count_of, plain_name
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.methods.attacks.file_risks.reidentification import (
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    ShareAtRisk,
    UniqueRecords,
)
from sfumato.methods.attacks.file_risks.singling_out import contributions, smallest_exposing_sets
from sfumato.release.attained_parameters import (
    AttainedParameter,
    measure_parameters,
    parameter_blocks,
    plain_parameters,
)
from sfumato.release.report.charts import chart_class_sizes
from sfumato.release.report.headline import promises_told

if TYPE_CHECKING:
    import altair as alt

    from sfumato.core.table import Table
    from sfumato.methods.attacks.file_risks.singling_out import Exposure

DEFAULT_THRESHOLD = 0.2
"""Risk above which a record counts as at risk: a class of fewer than five."""
MOST_CONTRIBUTIONS = 8


@dataclasses.dataclass(frozen=True)
class Assessment(Reportable):
    """Frequency risks of a table, the columns that cause them and the verdicts of any promises
    asked about.
    """

    name: str
    records: int
    persons: int | None
    classes: int
    smallest_class: int | None
    unique_records: int
    measures: tuple[Measure, ...]
    contributions: dict[str, float]
    exposing_sets: tuple[Exposure, ...]
    class_sizes: dict[int, int]
    missing_rule: str
    verdicts: tuple[Verdict, ...] = ()
    parameters: tuple[AttainedParameter, ...] = ()
    """Every parameter that the table attains, where that was asked for."""

    @property
    def size(self) -> int:
        """Number of records."""
        return self.records

    def measure(self, name: str) -> float:
        """Value of one risk."""
        values = {measure.name: measure.value for measure in self.measures}
        if name not in values:
            raise ParameterError(f"risk {name!r} is not known.{did_you_mean(name, values)}")
        return values[name]

    def to_dict(self) -> Document:
        """The assessment as plain data: names and counts, no data values."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        plain["measures"] = [m.to_dict() for m in self.measures]
        plain["exposing_sets"] = [dataclasses.asdict(e) for e in self.exposing_sets]
        plain["class_sizes"] = {str(size): count for size, count in self.class_sizes.items()}
        plain["verdicts"] = [v.to_dict() for v in self.verdicts]
        del plain["parameters"]
        if self.parameters:
            plain["parameters"] = plain_parameters(self.parameters)
        return plain

    def to_frame(self) -> pl.DataFrame:
        """One row a risk: its name, value, which way is better, and what it means."""
        kinds = {"risk": pl.String, "value": pl.Float64, "better": pl.String, "meaning": pl.String}
        rows = [(m.name, m.value, m.better, m.meaning) for m in self.measures]
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def plot(self) -> alt.LayerChart:
        """How many records stand in classes of which size."""
        # where missing values match everything, classes overlap and do not add up to the records
        wildcard = sum(size * number for size, number in self.class_sizes.items()) != self.records
        unit: Any = "persons" if self.persons is not None else "classes" if wildcard else "records"
        return plot_chart(chart_class_sizes(self.class_sizes, self._promised_k(), unit=unit))

    def _promised_k(self) -> int | None:
        return max((v.crowd for v in self.verdicts if v.crowd), default=None)

    def blocks(self) -> Sequence[Block]:
        """What holds, the risks, which columns cause them, and which sets of columns single people
        out.
        """
        holds = all(self.verdicts) if self.verdicts else None
        if self.persons is not None:
            persons = f", {self.persons:,} persons"
        else:
            persons = ""
        size = f"{self.records:,} records{persons} in {self.classes:,} classes"
        risks = tuple((plain_name(m.name), Share(m.value), m.meaning) for m in self.measures)
        return [
            VerdictBlock(holds, self._verdict, headline=True),
            Paragraph(f"{self.name}: {size}; missing values as {self.missing_rule}"),
            TableBlock(("risk", "value", "meaning"), risks),
            *(parameter_blocks(self.parameters) if self.parameters else ()),
            *self._causes(),
            *(verdict.verdict_block for verdict in self.verdicts),
        ]

    def _causes(self) -> list[Block]:
        blocks: list[Block] = []
        if any(self.contributions.values()):
            shares = list(self.contributions.items())[:MOST_CONTRIBUTIONS]
            rows = tuple((name, Share(share)) for name, share in shares)
            blocks.append(
                TableBlock(
                    ("column", "share"), rows, "How much each column contributes to unique records:"
                )
            )
        if self.exposing_sets:
            sets = tuple((" + ".join(e.columns), e.unique_records) for e in self.exposing_sets)
            size = count_of(len(self.exposing_sets[0].columns), "column")
            caption = f"Smallest sets of columns that single people out ({size}):"
            blocks.append(TableBlock(("columns", "unique records"), sets, caption))
        return blocks

    @property
    def _verdict(self) -> str:
        """Promises where any were asked, and how many records are unique."""
        unique = (
            f"{self.unique_records:,} of {self.records:,} records are unique; the smallest class"
            f" has {self.smallest_class}"
        )
        if self.verdicts:
            promises = promises_told([v.to_dict() for v in self.verdicts])
        else:
            promises = "No promise was asked for"
        return f"{promises}; {unique}"


def assess(
    dataset: Table,
    models: tuple[Model, ...] = (),
    *,
    threshold: float = DEFAULT_THRESHOLD,
    population: Table | None = None,
    everything: bool = False,
) -> Assessment:
    """Assess a table on its quasi-identifiers: one pass over the rows, and one over those of a
    population. ``everything``: all parameters that it attains are measured, too.
    """
    assessment = assessing(dataset, models, threshold=threshold, population=population)()
    if everything:
        return dataclasses.replace(assessment, parameters=measure_parameters(dataset))
    return assessment


def assessing(
    dataset: Table,
    models: tuple[Model, ...] = (),
    *,
    threshold: float = DEFAULT_THRESHOLD,
    population: Table | None = None,
) -> Callable[[], Assessment]:
    """Count and judge now; what is returned measures the risks, which takes the classes and no
    rows.
    """
    schema = dataset.checked().schema
    if not schema.quasi:
        raise SchemaError(
            "no column has role quasi; give the columns that an intruder may know that role"
        )
    # what is released of a table today is the table
    itself = dataset if needed(models, schema).pairs else None
    evidence = gather(
        dataset, models, original=itself, population=population, weight=schema.only(Role.WEIGHT)
    )
    verdicts = judge_all(evidence, models)
    return lambda: _measure_risks(dataset, evidence, verdicts, threshold, population)


def _measure_risks(
    dataset: Table,
    evidence: ClassEvidence,
    verdicts: tuple[Verdict, ...],
    threshold: float,
    population: Table | None,
) -> Assessment:
    classes, frequencies = evidence.classes, evidence.frequencies
    metrics = (
        ProsecutorRisk(),
        JournalistRisk(),
        MarketerRisk(),
        ShareAtRisk(threshold),
        UniqueRecords(),
    )
    measures = [metric.measure(evidence) for metric in metrics]
    if population is not None and population.has(dataset.schema.quasi):
        measures.append(_measure_in_population(dataset, population))
    # How many classes have each size: counted where no size is beyond the number of classes.
    if int(frequencies.max(initial=0)) > len(frequencies):
        sizes, amounts = np.unique(frequencies, return_counts=True)
    else:
        amounts = np.bincount(frequencies)
        sizes = np.flatnonzero(amounts)
        amounts = amounts[sizes]
    if classes.person is None:
        persons = None
    else:
        persons = len(classes.counts[classes.person].labels)
    return Assessment(
        name=dataset.source.name,
        records=dataset.records,
        persons=persons,
        classes=len(classes),
        smallest_class=int(frequencies.min()) if len(classes) else None,
        unique_records=int(classes.records[frequencies == 1].sum()),
        measures=tuple(measures),
        contributions=contributions(classes),
        exposing_sets=smallest_exposing_sets(classes),
        class_sizes={int(s): int(n) for s, n in zip(sizes, amounts, strict=True)},
        missing_rule="category" if evidence.wildcard is None else "wildcard",
        verdicts=verdicts,
    )


def _measure_in_population(dataset: Table, population: Table) -> Measure:
    """How many of those who are unique in the table are unique in the population too."""
    from sfumato.methods.attacks.unique_in_population import (
        UniqueInPopulation,
        share_unique_in_population,
    )

    share = share_unique_in_population(dataset, population, dataset.schema.quasi)
    meaning = (
        f"records unique in the table that are unique among {len(population):,} people of the"
        " population too"
    )
    return Measure(UniqueInPopulation.name, share, UniqueInPopulation.better, meaning)
