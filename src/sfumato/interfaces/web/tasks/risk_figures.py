"""The risks of a release: how many records are at which risk, whom a threshold stops, how many are
unique in the population, and columns that HIPAA names.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.blocks import Block, Cell, ChartAxis, Heading, Paragraph, Share, TableBlock
from sfumato.core.words import percent, plain_name
from sfumato.errors import ParameterError
from sfumato.guidance.profiling.safe_harbor_kinds import SOURCE, identifier_kinds
from sfumato.interfaces.web.tasks.look import before_and_after, release_of
from sfumato.methods.formulas.uniqueness import population_uniques
from sfumato.release.assessment import Assessment, assess

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.table_release import TableRelease

# Where intervals of the risk of a record end.
RISKS = (0.01, 0.02, 0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0)
# What keeps 1/5 from being above 0.2 by rounding.
SLACK = 1e-12
MODELS = {
    "prosecutor_risk": (
        "prosecutor",
        "knows a person is in the file",
        "highest chance for one record",
    ),
    "journalist_risk": (
        "journalist",
        "does not know who is in the file",
        "highest chance for one record",
    ),
    "marketer_risk": (
        "marketer",
        "tries to recognise as many as possible",
        "average share of right guesses",
    ),
}
SYNTHETIC = "The rows are synthetic: class sizes say nothing about the risk of a person."


def look_risks(
    bench: Bench,
    progress: Progress,
    *,
    of: int,
    threshold: float = 0.2,
    fraction: float | None = None,
) -> list[Block]:
    """The risks of a release before and after, held against a ``threshold``; with the sampling
    ``fraction``, how many people are unique in the population by estimate.
    """
    release = release_of(bench, of)
    if not 0 < threshold <= 1:
        raise ParameterError("the threshold is a share above 0 % and up to 100 %")
    if fraction is not None and not 0 < fraction <= 1:
        raise ParameterError("the sampling fraction is a share above 0 % and up to 100 %")
    if release.released.drawn:
        return [Paragraph(SYNTHETIC), *_identifiers(bench, release)]
    # the classes are counted once for each threshold that is asked for
    before, after = bench.recall_or_make(
        f"risks {of} {release.created} {threshold!r}",
        lambda: (
            assess(release.original, threshold=threshold),
            assess(release.released, threshold=threshold),
        ),
    )
    names = ChartAxis("risk of a record", tuple(map(_interval, range(len(RISKS)))))
    figures = before_and_after(
        names,
        ChartAxis("records"),
        {
            "before": records_by_risk(before.class_sizes),
            "after": records_by_risk(after.class_sizes),
        },
        "Records by their risk of being recognised, before and after",
    )
    return [
        Heading("How many records are at which risk", 1),
        figures,
        *_intruders(before, after, threshold),
        *_in_population(before, after, fraction),
        *_identifiers(bench, release),
    ]


def records_by_risk(class_sizes: Mapping[int, int]) -> list[int]:
    """Records by the interval that one over the size of their class lies in.

    >>> records_by_risk({1: 3, 5: 2, 200: 1})
    [200, 0, 0, 0, 10, 0, 0, 3]
    """
    records = [0] * len(RISKS)
    for size, count in class_sizes.items():
        records[bisect.bisect_left(RISKS, 1 / size - SLACK)] += size * count
    return records


def _interval(position: int) -> str:
    low = "0"
    if position:
        low = percent(RISKS[position - 1], 0).removesuffix(" %")
    return f"{low}–{percent(RISKS[position], 0)}"


def _intruders(before: Assessment, after: Assessment, threshold: float) -> list[Block]:
    """What each intruder reaches, and whether that is below the threshold."""
    rows: list[tuple[Cell, ...]] = []
    for name, (intruder, knows, figure) in MODELS.items():
        value = after.measure(name)
        stays = "above"
        if value <= threshold + SLACK:
            stays = "at most"
        words = f"{stays} {percent(threshold)}"
        rows.append((intruder, knows, figure, Share(before.measure(name)), Share(value), words))
    above = [Share(side.measure("records_at_risk")) for side in (before, after)]
    unique = [Share(side.measure("unique_records")) for side in (before, after)]
    counts: tuple[tuple[Cell, ...], ...] = (
        (f"records whose own risk is above {percent(threshold)}", *above),
        ("unique records", *unique),
    )
    header = ("intruder", "", "figure", "before", "after", "threshold")
    weights = "Without survey weights the file counts as the population of the journalist."
    return [
        Heading("Intruders, against the threshold", 1),
        TableBlock(header, tuple(rows)),
        TableBlock(("records at risk", "before", "after"), counts),
        Paragraph(
            f"Risks follow from class sizes alone: whoever knows the quasi-identifiers and nothing "
            f"else. {weights}",
            "quiet",
        ),
    ]


def _in_population(before: Assessment, after: Assessment, fraction: float | None) -> list[Block]:
    """How many people are unique in the population, as far as a sample tells."""
    heading = Heading("Unique in the population", 1)
    if fraction is None:
        words = (
            "Not estimated: enter which share of the population is in the file, such as 100 % for "
            "a register of everybody."
        )
        return [heading, Paragraph(words)]
    rows: list[tuple[Cell, ...]] = []
    for when, side in (("before", before), ("after", after)):
        sizes = np.repeat(list(side.class_sizes), list(side.class_sizes.values()))
        uniques = population_uniques(sizes, fraction)
        how = plain_name(uniques.estimator)
        if not side.unique_records:
            how = "no record is unique in the file"
        rows.append(
            (
                when,
                round(uniques.number),
                uniques.population,
                Share(uniques.share),
                how,
            )
        )
    header = ("", "people unique there", "people there", "share", "estimated by")
    words = (
        "An estimate from the class sizes of a random sample; of a file that was not drawn at "
        "random it says nothing."
    )
    return [heading, TableBlock(header, tuple(rows)), Paragraph(words, "quiet")]


def _identifiers(bench: Bench, release: TableRelease) -> list[Block]:
    """The kinds of identifiers that HIPAA's Safe Harbor names, and what became of columns that may
    be of one.
    """
    actions = {change.name: change.action for change in release.columns}
    kinds = bench.recall_or_make(
        "safe harbor kinds", lambda: identifier_kinds(release.original.to_polars())
    )
    rows: list[tuple[Cell, ...]] = []
    for kind in kinds:
        columns = [f"{name}: {actions.get(name, 'not released')}" for name, _ in kind.columns]
        rows.append((kind.letter, kind.title, "; ".join(columns) or "none recognised"))
    words = (
        "Columns are recognised by their names and values; one that is not recognised may be an "
        "identifier all the same. Whether a release meets the rule is not decided here."
    )
    return [
        Heading("Identifiers that HIPAA's Safe Harbor names", 1),
        TableBlock(("", "kind", "columns, and what happened to them"), tuple(rows)),
        Paragraph(f"{SOURCE}. {words}", "quiet"),
    ]
