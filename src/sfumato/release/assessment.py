"""What an intruder can do with a table today."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.evidence import gather, judge_all, needed
from sfumato.core.metric import Measure
from sfumato.core.model import Evidence, Model, Verdict
from sfumato.core.notebook import html_headline, html_list, html_table, html_verdicts
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.methods.attacks.file_risks.reidentification import (
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    ShareAtRisk,
    UniqueRecords,
)
from sfumato.methods.attacks.file_risks.singling_out import contributions, smallest_exposing_sets
from sfumato.release.report.headline import promises_told
from sfumato.release.report.pictures import class_size_chart

if TYPE_CHECKING:
    import altair as alt

    from sfumato.core.dataset import Dataset
    from sfumato.methods.attacks.file_risks.singling_out import Exposure

DEFAULT_THRESHOLD = 0.2
"""Risk above which a record counts as at risk: a class of fewer than five."""


@dataclasses.dataclass(frozen=True)
class Assessment:
    """Frequency risks of a table, the columns that cause them and the verdicts of any promises asked about."""

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

    def measure(self, name: str) -> float:
        """Value of one risk."""
        values = {measure.name: measure.value for measure in self.measures}
        if name not in values:
            raise ParameterError(f"no risk is called {name!r}.{did_you_mean(name, values)}")
        return values[name]

    def to_dict(self) -> dict[str, Any]:
        """The assessment as plain data: names and counts, no data values."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        plain["measures"] = [m.to_dict() for m in self.measures]
        plain["exposing_sets"] = [dataclasses.asdict(e) for e in self.exposing_sets]
        plain["class_sizes"] = {str(size): count for size, count in self.class_sizes.items()}
        plain["verdicts"] = [v.to_dict() for v in self.verdicts]
        return plain

    def to_frame(self) -> pl.DataFrame:
        """One row a risk: its name, value, which way is better, and what it means."""
        kinds = {"risk": pl.String, "value": pl.Float64, "better": pl.String, "meaning": pl.String}
        rows = [(m.name, m.value, m.better, m.meaning) for m in self.measures]
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def plot(self) -> alt.LayerChart:
        """How many records stand in classes of which size."""
        wildcard = sum(size * number for size, number in self.class_sizes.items()) != self.records
        counted: Any = "persons" if self.persons is not None else "classes" if wildcard else "records"
        return class_size_chart(self.class_sizes, self._promised_k(), counted=counted)

    def _promised_k(self) -> int | None:
        return max((v.crowd for v in self.verdicts if v.crowd), default=None)

    def _repr_html_(self) -> str:
        rows = [(m.name.replace("_", " "), f"{m.value:.2%}", m.meaning) for m in self.measures]
        exposing = [f"{' + '.join(e.columns)}: {e.unique_records:,} records" for e in self.exposing_sets]
        return (
            html_headline(self._verdict, good=bool(self.verdicts) and all(self.verdicts))
            + html_table(str(self).split("\n")[0], ("risk", "value", "meaning"), rows)
            + html_list("Smallest sets of columns that single records out:", exposing)
            + html_verdicts(v.to_dict() for v in self.verdicts)
        )

    @property
    def _verdict(self) -> str:
        """Promises where any were asked, and who stands alone."""
        alone = f"{self.unique_records:,} of {self.records:,} records stand alone; the smallest class has {self.smallest_class}"
        asked = promises_told([v.to_dict() for v in self.verdicts]) if self.verdicts else "No promise was asked for"
        return f"{asked}; {alone}"

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.records:,} records in {self.classes:,} classes; missing values as {self.missing_rule}",
            f"  k = {self.smallest_class}, {self.unique_records:,} records are unique",
            *(f"  {m.name.replace('_', ' ')}: {m.value:.2%} ({m.meaning})" for m in self.measures),
        ]
        if self.exposing_sets:
            best = self.exposing_sets[0]
            verb, s = "singles" if len(best.columns) == 1 else "single", "" if best.unique_records == 1 else "s"
            lines.append(f"  {' + '.join(best.columns)} alone {verb} out {best.unique_records:,} record{s}")
        return "\n".join([*lines, *(f"  {v!r}" for v in self.verdicts)])


def assess(
    dataset: Dataset,
    models: tuple[Model, ...] = (),
    *,
    threshold: float = DEFAULT_THRESHOLD,
    population: Dataset | None = None,
) -> Assessment:
    """Assess a table on its quasi-identifiers: one pass over the rows, and one over those of a population."""
    return assessing(dataset, models, threshold=threshold, population=population)()


def assessing(
    dataset: Dataset,
    models: tuple[Model, ...] = (),
    *,
    threshold: float = DEFAULT_THRESHOLD,
    population: Dataset | None = None,
) -> Callable[[], Assessment]:
    """Count and judge now; what is returned measures the risks, which takes the classes and no rows."""
    schema = dataset.checked().schema
    if not schema.quasi:
        raise SchemaError("no column has role quasi; an intruder must know something to be assessed")
    itself = dataset if needed(models, schema).pairs else None  # what is released of a table today is the table
    evidence = gather(dataset, models, original=itself, population=population, weight=schema.only(Role.WEIGHT))
    verdicts = judge_all(evidence, models)
    return lambda: _measured(dataset, evidence, verdicts, threshold, population)


def _measured(
    dataset: Dataset,
    evidence: Evidence,
    verdicts: tuple[Verdict, ...],
    threshold: float,
    population: Dataset | None,
) -> Assessment:
    classes = evidence.classes
    metrics = (ProsecutorRisk(), JournalistRisk(), MarketerRisk(), ShareAtRisk(threshold), UniqueRecords())
    sizes, amounts = np.unique(evidence.frequencies, return_counts=True)
    persons = None if classes.person is None else len(classes.counts[classes.person].labels)
    return Assessment(
        name=dataset.source.name,
        records=dataset.records,
        persons=persons,
        classes=len(classes),
        smallest_class=int(evidence.frequencies.min()) if len(classes) else None,
        unique_records=int(classes.records[evidence.frequencies == 1].sum()),
        measures=(*(metric.measure(evidence) for metric in metrics), *_in_population(dataset, population)),
        contributions=contributions(classes),
        exposing_sets=smallest_exposing_sets(classes),
        class_sizes={int(s): int(n) for s, n in zip(sizes, amounts, strict=True)},
        missing_rule="category" if evidence.wildcard is None else "wildcard",
        verdicts=verdicts,
    )


def _in_population(dataset: Dataset, population: Dataset | None) -> Iterator[Measure]:
    """How many of those who are unique in the table are unique in the population too, where one with these columns is given."""
    if population is not None and set(dataset.schema.quasi) <= set(population.columns):
        from sfumato.methods.attacks.unique_in_population import UniqueInPopulation, share_unique_in_population

        share = share_unique_in_population(dataset, population, dataset.schema.quasi)
        meaning = f"records unique in the table that are unique among {len(population):,} people of the population too"
        yield Measure(UniqueInPopulation.name, share, UniqueInPopulation.better, meaning)
