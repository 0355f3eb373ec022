"""Tasks about a release that was made: its columns, pairs of them, rows, classes, attacks, its
utility, and its reports.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.attack import now
from sfumato.core.blocks import (
    Block,
    ChartAxis,
    ChartBlock,
    FoldBlock,
    Heading,
    ListBlock,
    Paragraph,
    Part,
    Point,
    Series,
    Share,
    TableBlock,
    VerdictBlock,
)
from sfumato.core.classes import count_rows
from sfumato.core.words import count_of, number, percent, plain_name
from sfumato.errors import ParameterError
from sfumato.interfaces.api import why_alone
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.tasks import by_the_clock
from sfumato.methods.formulas.binning import bin_column, table_after, table_before
from sfumato.release.attack_run import AttackOptions
from sfumato.release.documents import evaluated
from sfumato.release.evaluation import default_metrics, report_metrics
from sfumato.release.intruders import BATTERY
from sfumato.release.publish import drafted
from sfumato.release.release import Release
from sfumato.release.report.measures import title_of
from sfumato.release.story import FEWEST, HIDDEN, card_of, maps_of

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.core.progress import Progress
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.table_release import TableRelease

# Sets of columns that are looked through for one record.
MOST_SETS = 20_000
MOST_ROWS = 100
LONGEST = 60
NOT_TRIED = (
    "Nobody has attacked this release yet: how it withstands intruders is unknown. Unknown is not "
    "a pass."
)
NO_PROMISE = "Nothing was promised."
# Where groups of class sizes begin.
SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


def release_of(bench: Bench, version: int) -> TableRelease:
    """The release of a version, where it is kept."""
    release: TableRelease | None = bench.recall(f"release {version}")
    if release is None:
        raise ParameterError(f"the release of version {version} no longer exists; make it again")
    return release


@dataclasses.dataclass(frozen=True, eq=False)
class WorkedOut:
    """What was worked out about a release to look at it, so that it is worked out once; gone when
    the release is another one.
    """

    dataset: Table
    results: Fields = dataclasses.field(default_factory=dict)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What is known by a name, else what is made now."""
        if name not in self.results:
            self.results[name] = make()
        return self.results[name]


def _views_of(bench: Bench, version: int) -> WorkedOut:
    release = release_of(bench, version)
    views = bench.recall(f"looked {version}")
    if views is None or views.dataset is not release.released:
        views = WorkedOut(release.released)
        bench.keep(f"looked {version}", views)
    worked_out: WorkedOut = views
    return worked_out


def _pair(bench: Bench, version: int) -> TablePair:
    release = release_of(bench, version)
    pair: TablePair = _views_of(bench, version).once("pair", lambda: release.pair)
    return pair


def made_versions(bench: Bench, progress: Progress) -> list[int]:
    """The versions whose releases are kept, oldest first."""
    with bench.guard:
        keys = [
            key
            for key, value in bench.store.items()
            if key.startswith("release ") and isinstance(value, Release)
        ]
    return sorted(int(key.split()[1]) for key in keys if key.split()[1].isdigit())


def look(bench: Bench, progress: Progress, *, of: int) -> Fields:
    """What a release is: ``created``, the columns that can be ``shown``, and ``blocks``."""
    release, pair = release_of(bench, of), _pair(bench, of)
    roles = pair.original.schema
    return {
        "created": release.created.isoformat(),
        "shown": [name for name in pair.columns if not HIDDEN & set(roles[name].roles)],
        "blocks": [
            *release.headline.blocks(),
            Paragraph(f"{release.told_records}.", "strong"),
            *(Paragraph(warning, "warning") for warning in release.warnings),
        ],
    }


def look_columns(
    bench: Bench, progress: Progress, *, of: int, names: list[str]
) -> list[list[Block]]:
    """Some columns before and after: their shares, how much was lost and how far the distribution
    moved.
    """
    pair = _pair(bench, of)
    changes = {change.name: change for change in release_of(bench, of).columns}
    cards: list[list[Block]] = []
    for name in names:
        card = card_of(pair, bin_column(pair, name, fewest=FEWEST))
        change = changes[name]
        values = f"{change.distinct_before:,} → {change.distinct_after or 0:,} values"
        if _is_suppressed(pair, name):
            # spread over all values, bars would show a distribution that nobody released
            words = f"{values} · fully suppressed: nothing of this column is left"
            cards.append([Heading(name, 1), Paragraph(words, "strong")])
            continue
        change_words = (
            f"loss {number(card['loss'])} · distribution moved by {percent(card['distance'])}"
        )
        cards.append(
            [
                Heading(name, 1),
                Paragraph(f"{change.action} · {values}", "quiet"),
                before_and_after(
                    ChartAxis(name, tuple(card["bins"])),
                    ChartAxis(share=True),
                    {"before": card["before"], "after": card["after"]},
                    f"{name} before and after",
                ),
                Paragraph(change_words, "quiet"),
            ]
        )
    return cards


def _is_suppressed(pair: TablePair, name: str) -> bool:
    """Whether no released cell of a column tells anything: each may stand for every value."""
    if not len(pair.released):
        return True
    reading = pair.reading(name)
    return bool((reading.loss[reading.released] >= 1).all())


def before_and_after(
    names: ChartAxis, values: ChartAxis, parts: Mapping[Part, Sequence[float]], words: str
) -> ChartBlock:
    """Columns of what was and what is, over the same names."""
    series = []
    for part, numbers in parts.items():
        points = tuple(Point(position, value) for position, value in enumerate(numbers))
        series.append(Series(part, points, "bar", part))
    return ChartBlock(names.title, "columns", names, values, tuple(series), words)


def look_pair(bench: Bench, progress: Progress, *, of: int, first: str, second: str) -> list[Block]:
    """Two columns together, before and after, as shares of the records, and how much they go
    together.
    """
    pair = _pair(bench, of)
    bins = bin_column(pair, first, fewest=FEWEST), bin_column(pair, second, fewest=FEWEST)
    maps = maps_of(pair, list(bins))
    before, after = maps["association_before"][0], maps["association_after"][0]
    blocks: list[Block] = [
        Paragraph(
            f"Association (Cramér's V): {number(before)} before, {number(after)} after. The table"
            f" moved by {percent(maps['table_distance'][0])}."
        )
    ]
    x, y = (
        ChartAxis(name, tuple(part.names)) for name, part in zip((first, second), bins, strict=True)
    )
    for part, table in (("before", table_before(*bins)), ("after", table_after(*bins))):
        shares = table / max(1.0, float(table.sum()))
        points = [Point(i, j, size=float(share)) for (i, j), share in np.ndenumerate(shares)]
        series = Series(part, tuple(points), "dot")
        words = f"{first} and {second} {part}: the larger a square, the more records"
        blocks += [
            Heading(part.capitalize(), 1),
            ChartBlock(f"{first} {second} {part}", "map", x, y, (series,), words),
        ]
    return blocks


# Rows, for the owner's eyes only.


def look_rows(
    bench: Bench, progress: Progress, *, of: int, first: int, count: int, which: str
) -> Fields:
    """Some rows of the original with what was released of each; direct identifiers are left out.

    ``which`` are all rows, those that were suppressed, those with a changed cell, or those that
    were unique. Synthetic rows belong to nobody: they are shown beside no original.
    """
    release, pair = release_of(bench, of), _pair(bench, of)
    count = min(count, MOST_ROWS)
    names = [
        c for c in release.original.columns if c not in release.original.schema.dropped_columns
    ]
    if not pair.aligned:
        cells = _cells(
            release.released,
            np.arange(first, min(first + count, len(release.released))),
            pair.columns,
        )
        synthetic_rows = [{"row": None, "before": None, "after": after} for after in cells]
        return {
            "columns": list(pair.columns),
            "rows": synthetic_rows,
            "total": len(release.released),
            "aligned": False,
        }
    row_numbers = _views_of(bench, of).once(f"rows {which}", lambda: _which(release, pair, which))
    page_rows = row_numbers[first : first + count]
    positions = _views_of(bench, of).once("places", lambda: _released_positions(pair))[page_rows]
    before = _cells(release.original, page_rows, names)
    released_cells = iter(
        _cells(
            release.released,
            positions[positions >= 0],
            [c for c in names if c in release.released.columns],
        )
    )
    records = [
        {"row": int(row), "before": was, "after": next(released_cells) if at >= 0 else None}
        for row, at, was in zip(page_rows.tolist(), positions.tolist(), before, strict=True)
    ]
    return {"columns": names, "rows": records, "total": len(row_numbers), "aligned": True}


def _released_positions(pair: TablePair) -> Any:
    """Where each original row is in the release; −1: it is not."""
    positions = np.full(len(pair.original), -1, dtype=np.int64)
    positions[pair.rows] = np.arange(len(pair.rows))
    return positions


def _which(release: TableRelease, pair: TablePair, which: str) -> Any:
    every = np.arange(len(pair.original))
    if which == "suppressed":
        return np.flatnonzero(_released_positions(pair) < 0)
    if which == "alone":
        return np.flatnonzero(sizes_of(release.original) == 1)
    if which == "changed":
        changed = np.zeros(len(pair.released), dtype=bool)
        for name in pair.columns:
            # judged once for every distinct pair of values, then looked up by row
            changed |= ~pair.as_it_was(name)[pair.joint(name).which]
        return np.unique(pair.rows[changed])
    if which != "all":
        raise ParameterError(f"{which!r} are not rows that can be shown")
    return every


def sizes_of(table: Table) -> Any:
    """For each row how many rows are like it in all quasi-identifiers, itself included."""
    classes, of_rows = count_rows(table)
    return classes.records[of_rows]


def _cells(table: Table, row_numbers: Any, names: Any) -> list[dict[str, str | None]]:
    labels = {}
    for name in names:
        encoded = table.encoded(name)
        labels[name] = [encoded.labels[code] for code in encoded.codes[row_numbers].tolist()]
    return [{name: _short(labels[name][i]) for name in names} for i in range(len(row_numbers))]


def _short(label: str | None) -> str | None:
    if label is None or len(label) <= LONGEST:
        return label
    return label[: LONGEST - 1] + "…"


def why_risky(bench: Bench, progress: Progress, *, of: int, row: int) -> list[Block]:
    """Why a record is risky: the smallest sets of columns on which it is alone in the original, and
    how many are like it before and after.
    """
    release, pair = release_of(bench, of), _pair(bench, of)
    quasi = release.original.schema.quasi
    # sets of five columns where there are few columns, else fewer
    largest_set = next((size for size in (5, 4, 3, 2) if _sets(len(quasi), size) <= MOST_SETS), 1)
    if pair.aligned and 0 <= row < len(pair.original):
        position = _released_positions(pair)[row]
    else:
        position = -1
    sizes = _views_of(bench, of).once("alike before", lambda: sizes_of(release.original))
    other_records = count_of(int(sizes[row]) - 1, "other record")
    now = "nothing of it is released"
    if position >= 0:
        sizes = _views_of(bench, of).once("alike after", lambda: sizes_of(release.released))
        now = f"{int(sizes[position]) - 1:,} after"
    blocks: list[Block] = [
        Heading(f"Why is record {row + 1:,} risky?", 1),
        Paragraph(f"Equal to it in all quasi-identifiers: {other_records} before; {now}."),
    ]
    column_sets = why_alone(release.original, row, most=largest_set)
    if not column_sets:
        most = min(largest_set, len(quasi))
        words = f"No {most} columns or fewer make it unique in the original."
        return [*blocks, Paragraph(words)]
    words = "Somebody who knows this of the person finds the record in the original:"
    return [*blocks, Paragraph(words), ListBlock(tuple(map(" + ".join, column_sets)))]


def _sets(columns: int, largest: int) -> int:
    return sum(math.comb(columns, size) for size in range(1, largest + 1))


def look_classes(bench: Bench, progress: Progress, *, of: int) -> list[Block]:
    """How many records belong to classes of which size, before and after, and the risks that
    follow.
    """
    release = release_of(bench, of)
    before, after = release.before, release.after
    names = ChartAxis("size of the class", tuple(_bin(position) for position in range(len(SIZES))))
    grouped: dict[Part, list[int]] = {
        "before": _grouped(before.class_sizes),
        "after": _grouped(after.class_sizes),
    }
    blocks: list[Block] = [
        Paragraph(
            f"Records in the smallest class: {number(before.smallest_class)} before,"
            f" {number(after.smallest_class)} after. Unique records: {before.unique_records:,}"
            f" before, {after.unique_records:,} after."
        ),
        before_and_after(
            names, ChartAxis("records"), grouped, "Records by the size of their class"
        ),
    ]
    risks = []
    for was, now_is in release.risks:
        risks.append((plain_name(was.name), Share(was.value), Share(now_is.value), was.meaning))
    if risks:
        header = ("risk", "before", "after", "meaning")
        return [*blocks, Heading("Risks that follow", 1), TableBlock(header, tuple(risks))]
    synthetic = "The rows are synthetic: class sizes say nothing about the risk of a person."
    return [*blocks, Paragraph(synthetic)]


def look_contract(bench: Bench, progress: Progress, *, of: int) -> list[Block]:
    """What was promised, limited and agreed, and whether it holds; what happened to columns."""
    release = release_of(bench, of)
    blocks: list[Block] = [Heading("Promises", 1)]
    blocks += [verdict.verdict_block for verdict in release.verdicts] or [Paragraph(NO_PROMISE)]
    for title, checks, empty in (
        ("Limits", release.limits, "The recipe sets no limit."),
        ("Contract", release.contract, "Nothing was agreed on what must survive."),
    ):
        blocks.append(Heading(title, 1))
        for check in checks:
            reported = ""
            if not check.holds and not check.refuses:
                reported = " (reported, not refused)"
            blocks.append(VerdictBlock(check.holds, f"{check.sentence}{reported}"))
        if not checks:
            blocks.append(Paragraph(empty, "quiet"))
    rows = []
    for change in release.columns:
        roles = " + ".join(change.roles)
        counts = (change.distinct_before, change.distinct_after)
        rows.append((change.name, roles, change.action, *counts))
    header = ("column", "role", "what happened", "values before", "after")
    return [*blocks, Heading("What happened to each column", 1), TableBlock(header, tuple(rows))]


def _bin(position: int) -> str:
    low = SIZES[position]
    if position + 1 == len(SIZES):
        return f"{low:,}+"
    if SIZES[position + 1] == low + 1:
        return f"{low}"
    return f"{low}–{SIZES[position + 1] - 1:,}"


def _grouped(sizes: dict[int, int]) -> list[int]:
    """Records by group of class sizes."""
    positions = np.searchsorted(SIZES, list(sizes), side="right") - 1
    amounts = [size * count for size, count in sizes.items()]
    records = np.zeros(len(SIZES), dtype=np.int64)
    np.add.at(records, positions, amounts)
    return [int(count) for count in records]


# What others would try, and the utility.


def attack(bench: Bench, progress: Progress, *, of: int, seconds: float) -> list[Block]:
    """Let the named intruders try a release within so many seconds of computing; the release is
    kept with what they found.

    Other programs that keep the machine busy make that last longer by the clock; after a while no
    other attack is begun.
    """
    begun = now()

    def report(share: float, words: str = "") -> None:
        spent = f" · {now() - begun:.0f} of {seconds:.0f} seconds of computing"
        progress(share, words + spent if words else "")

    attacked = release_of(bench, of).attacked(
        seconds=seconds, options=AttackOptions(clock=by_the_clock(seconds), progress=report)
    )
    bench.keep(f"release {of}", attacked)
    return look_attacks(bench, progress, of=of)


def look_attacks(bench: Bench, progress: Progress, *, of: int) -> list[Block]:
    """What attacks found; where none was tried, who would try: unknown is not a pass."""
    report = release_of(bench, of).attacks
    if report is not None:
        return list(report.blocks())
    rows = [
        (intruder.name, intruder.story, ", ".join(map(plain_name, intruder.attacks)))
        for intruder in BATTERY
    ]
    return [
        VerdictBlock(None, NOT_TRIED, headline=True),
        TableBlock(("intruder", "knows", "tries"), tuple(rows), "Who tries"),
    ]


def measure(bench: Bench, progress: Progress, *, of: int, thorough: bool) -> list[Block]:
    """The utility of a release; ``thorough`` measures every metric, which takes a while."""
    release, pair = release_of(bench, of), _pair(bench, of)
    metrics = default_metrics() if thorough else report_metrics(pair)
    for position, metric in enumerate(metrics):  # one by one, so that it can be stopped
        progress(position / len(metrics), plain_name(metric.name))
        evaluated(release, pair, [metric])
    evaluation = evaluated(release, pair, metrics)
    by_column = [
        measure_by_column
        for measure_by_column in evaluation.measures
        if measure_by_column.per_column
    ]
    if not by_column:
        return list(evaluation.blocks())
    columns = dict.fromkeys(
        name for measure_by_column in by_column for name in measure_by_column.per_column
    )
    rows = [
        (name, *(measure_by_column.per_column.get(name) for measure_by_column in by_column))
        for name in columns
    ]
    header = ("column", *(title_of(measure_by_column.name) for measure_by_column in by_column))
    table = TableBlock(header, tuple(rows))
    return [*evaluation.blocks(), FoldBlock("Column by column", (table,))]


def draft_reports(bench: Bench, progress: Progress, *, of: int, folder: str) -> list[str]:
    """The two reports as they would be written, to share and to keep; ``folder`` is where a draft
    may lie for a moment.
    """
    progress(0.0, "writing a draft, reading it back, judging it")
    release = release_of(bench, of)
    views = _views_of(bench, of)
    about, pages = views.results.get("report", (None, ()))
    if about is not release.attacks or not pages:
        pages = drafted(release, within=Path(folder))
        views.results["report"] = (release.attacks, pages)
    return list(pages)
