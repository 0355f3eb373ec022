"""Tables that somebody grouped: counts, means, sums, shares, percentiles and extremes, judged cell
by cell with the records behind them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.words import join_words
from sfumato.errors import ParameterError
from sfumato.results.checking.contributing_records import (
    TOTALS,
    CellMembers,
    ContributingRecords,
    count_persons,
    find_members,
)
from sfumato.results.checking.layout import (
    GIVE_DATA,
    LINE,
    PER_RECORD,
    SAY_WHAT,
    TOLD,
    WHOLE,
    OutputTable,
    Statistics,
    figure_per_record,
    has_unknown_number,
    rank_labels,
)
from sfumato.results.checking.record_sets import sets_of_table
from sfumato.results.checking.rule_violations import (
    COARSER,
    describe_violation,
    differ_by_few,
    find_violations,
)
from sfumato.results.checking.statistics_of_columns import (
    ADDITIVE,
    CellStatistic,
    compute_statistic,
    find_statistics,
    fits,
    percentages,
    statistic_without_column,
    statistics_in_name,
    statistics_of_any_column,
)
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Mask

PROTECT = (
    "sf.tabulate(data, by, ...).protect() publishes such a table with margins so that nothing can"
    " be computed"
)
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?![\d.,])")
SHARES = ("share", "percent", "proportion", "percentage", "pct", "rate")
"""Words for a share of persons."""
MOST_HIDDEN = 12
"""How many safe cells are left out at most so that unsafe ones do not follow."""


def judge_with_records(
    table: OutputTable,
    records: ContributingRecords,
    rules: OutputRules,
    tells: Statistics,
    *,
    suggesting: bool = True,
) -> OutputVerdict:
    """Judge a table by the records behind it."""
    original, declared_tells = table, tells
    table = rank_labels(table, records, tells)
    if table.labelled is not None:
        common = tells if isinstance(tells, str) else ""
        tells = dict.fromkeys(table.result_columns, common) | dict(table.labelled)
    members = find_members(table.frame, table.by, records)
    reasons = _judge_unknown_cells(table, members)
    reasons += _judge_names(table, records, rules)
    reasons += _judge_combinations(table, members, records, rules)
    statistics, questions = _find_column_statistics(table, members, records, tells)
    reasons += questions
    # A cell that is suppressed in one column may be shown in another.
    visible = {name: ~np.isnan(table.values(name)) for name, _ in statistics}
    released = np.zeros(members.size, dtype=bool)
    for cells in visible.values():
        released |= cells
    released &= members.in_data
    # Columns whose same cells break the same rule get one sentence.
    unsafe = np.zeros(members.size, dtype=bool)
    columns_by_rule: dict[tuple[str, bytes], list[str]] = {}
    for rule, names, broken_cells in find_violations(table, statistics, members, records, rules):
        visible_cells = np.any([visible[name] for name in names], axis=0)
        cells = broken_cells & released & visible_cells
        unsafe |= cells
        if cells.any():
            columns_by_rule.setdefault((rule, cells.tobytes()), []).extend(names)
    for (rule, cell_bytes), names in columns_by_rule.items():
        labels = [table.label(name) for name in dict.fromkeys(names)]
        count = int(np.frombuffer(cell_bytes, dtype=bool).sum())
        reasons.append(describe_violation(rule, labels, count, int(released.sum()), rules))
    reasons += _judge_missing_cells(table, statistics, members, rules, released)
    for name, gaps in _find_telling_gaps(table, statistics, members, records, rules):
        unsafe |= gaps
        reasons.append(_describe_gaps(table.label(name), gaps, rules))
    reasons += _judge_missing_percent(table, statistics, members, records, rules)
    reasons += differ_by_few(statistics, members, records, rules)
    if statistics and not any(reason.status == "fail" for reason in reasons):
        reasons.append(_confirm_cells(members.persons(records)[released], records, rules))
    # The first version without unsafe cells that does not fail itself.
    suggestion = None
    # Judged with suggesting=False, so that a suggestion does not look for one of its own.
    for version in _versions_without(table, unsafe, released, members) if suggesting else ():
        version_table = dataclasses.replace(original, frame=version, original=None)
        verdict = judge_with_records(
            version_table, records, rules, declared_tells, suggesting=False
        )
        if verdict.status != "fail":
            suggestion = version
            break
    hidden = int((~released & members.in_data).sum())
    return OutputVerdict(
        kind_of_table(statistics),
        tuple(reasons),
        records.persons,
        table.released_frame,
        suggestion,
        table.by,
        tuple(str(statistic) for _, statistic in statistics),
        hidden + members.absent[1] + sum(members.missing_labels),
        cells=lambda: sets_of_table(table, statistics, members, records),
    )


def _confirm_cells(
    persons: Codes, records: ContributingRecords, rules: OutputRules
) -> OutputReason:
    if not len(persons):
        return confirmation("table", "no cell is shown")
    if len(persons) == 1:
        cells = "1 cell holds"
    else:
        cells = f"{len(persons):,} cells hold"
    return confirmation(
        "table",
        f"{cells} at least {rules.threshold} of {records.persons:,} persons, and no rule is broken",
    )


def kind_of_table(statistics: Sequence[tuple[str, CellStatistic]]) -> str:
    """What a table is called: by what it tells."""
    kinds = dict.fromkeys(statistic.kind for _, statistic in statistics)
    return f"table: {', '.join(kinds)}" if kinds else "table"


def _judge_combinations(
    table: OutputTable, members: CellMembers, records: ContributingRecords, rules: OutputRules
) -> list[OutputReason]:
    """A table that reveals nothing but which combinations there are: those of few persons are
    records of them.
    """
    if table.result_columns:
        return []
    rare_rows = int((members.persons(records)[members.in_data] < rules.threshold).sum())
    if not rare_rows:
        return []
    words = (
        f"{rare_rows:,} of {members.size:,} rows are combinations that fewer than {rules.threshold}"
        " persons have"
    )
    return [
        violation("per record", f"{words}: they look like records", "release tables, not records")
    ]


def _judge_names(
    table: OutputTable, records: ContributingRecords, rules: OutputRules
) -> list[OutputReason]:
    """Columns whose names hold a number such as a value: nobody computes names again."""
    data_columns = records.dataset.columns
    unclear = 0
    for name in table.result_columns:
        # A year, a statistic (p25) and a row of describe() ("cost: 25%") may hold a number.
        if YEAR.search(name) or statistic_without_column(name) is not None:
            continue
        if any(name.startswith(f"{column}: ") for column in data_columns):
            continue
        if next(statistics_in_name(name, data_columns), None) is not None:
            continue
        unclear += has_unknown_number(name, -1, records, rules.threshold, digits=3)
    if not unclear:
        return []
    words = f"the names of {unclear:,} columns hold numbers that may be values"
    return [open_question("columns", words, "name them after their statistic")]


def _judge_unknown_cells(table: OutputTable, members: CellMembers) -> list[OutputReason]:
    unknown = int((~members.in_data).sum())
    if not unknown:
        return []
    words = f"{unknown:,} rows have values of {', '.join(table.by)} that the data do not have"
    return [open_question("labels", words, "give the data with the columns as they were grouped")]


def _find_column_statistics(
    table: OutputTable, members: CellMembers, records: ContributingRecords, tells: Statistics
) -> tuple[list[tuple[str, CellStatistic]], list[OutputReason]]:
    """What every column tells; what does not fit the records, or nobody knows, is a question."""
    recognised: list[tuple[str, CellStatistic]] = []
    reasons: list[OutputReason] = []
    if not table.result_columns:
        advice = "name the columns that make cells: by=[...]"
        reasons.append(open_question("columns", "no column shows a statistic", advice))
    for name in table.result_columns:
        # By name, before anything is computed: such figures never leave, whatever they fit.
        if PER_RECORD.fullmatch(name):
            reasons.append(figure_per_record(table, name))
            continue
        if not table.numeric(name):
            words = f"{table.label(name)} holds no numbers and is not a column of the data"
            reasons.append(open_question("columns", words, f"leave it out, or {GIVE_DATA}"))
            continue
        statistics, fitting = _match_statistics(name, table, members, records, tells)
        recognised += [(name, statistic) for statistic in statistics]
        if not statistics:
            reasons.append(_ask_meaning(table, name))
        elif not fitting:
            reasons.append(
                open_question(
                    "recomputed",
                    f"{table.label(name)} is not {statistics[0]} of these records",
                    "give the records it was computed from (data=..., where=..., weight=...),"
                    " or say what it tells",
                )
            )
    return recognised, reasons


def _ask_meaning(table: OutputTable, name: str) -> OutputReason:
    """The question of a column that fits nothing that was tried."""
    if name.endswith(": null_count"):
        words = f"{table.label(name)}: whose values are missing is not checked"
        return open_question("columns", words, "leave out the row null_count of describe()")
    where = ", and which records were used (where=...), where it is not all of them"
    return open_question(
        "columns", f"the statistic in {table.label(name)} is unknown", f"{SAY_WHAT}{where}"
    )


def _match_statistics(
    name: str,
    table: OutputTable,
    members: CellMembers,
    records: ContributingRecords,
    tells: Statistics,
) -> tuple[list[CellStatistic], bool]:
    """The statistics that a column may hold, and whether they are those of the records."""
    declaration = tells.get(name) if isinstance(tells, Mapping) else tells
    released = table.values(name)
    if not declaration:
        matches = find_statistics(name, released, members, records, table.by)
        return matches, bool(matches)
    # A word that names no column, of a result that is not called like one of the data: "share" is
    # one of persons, "mean" that of any column.
    word = declaration.strip().lower()
    candidates: list[CellStatistic] | None = None
    if name not in records.dataset.columns:
        make_statistic = statistic_without_column(declaration.strip())
        if word in SHARES:
            candidates = percentages(table.by)
        elif make_statistic is not None:
            candidates = statistics_of_any_column(make_statistic, records)
    if candidates is None:
        statistic = parse_declaration(declaration, name)
        if statistic.kind != "percent":
            records.dataset.require(statistic.columns)
        return [statistic], fits(statistic, released, members, records, table.by)
    matches = []
    for candidate in candidates:
        if fits(candidate, released, members, records, table.by):
            matches.append(candidate)
    # Without a fit the first candidate is named in the question.
    if word in SHARES:
        return (matches or candidates)[:1], bool(matches)
    if not matches:
        raise ParameterError(
            f"tells: name the column that it is the {declaration} of, such as {declaration}(cost)"
        )
    return matches, True


def parse_declaration(declaration: str, name: str) -> CellStatistic:
    """What somebody says a column tells; ``mean`` alone is the mean of the column of that name."""
    try:
        return CellStatistic.of(declaration)
    except ParameterError:
        if "(" in declaration:
            raise
        return CellStatistic.of(f"{declaration}({name})")


def _find_telling_gaps(
    table: OutputTable,
    statistics: Sequence[tuple[str, CellStatistic]],
    members: CellMembers,
    records: ContributingRecords,
    rules: OutputRules,
) -> Iterator[tuple[str, Mask]]:
    """Cells without a number because too few persons have one: the standard deviation of a single
    record is missing, so the gap says that there is one.

    Only where no other cell is left out: a gap among suppressed cells may mean any of them.
    """
    for name, statistic in statistics:
        shown = ~np.isnan(table.values(name))
        gaps = ~shown & members.in_data
        if not gaps.any() or not shown.any():
            continue
        undefined = np.isnan(compute_statistic(statistic, members, records, table.by))
        if (gaps & ~undefined).any():
            continue
        has_values = np.ones(len(records), dtype=bool)
        for column in statistic.columns:
            has_values &= records.has_value(column)
        persons = members.persons(records, has_values)
        telling = gaps & (persons < rules.threshold)
        if not rules.zeros:
            telling &= persons > 0
        if telling.any():
            yield name, telling


def _describe_gaps(label: str, gaps: Mask, rules: OutputRules) -> OutputReason:
    words = (
        f"{int(gaps.sum()):,} of {len(gaps):,} cells of {label} are empty because fewer than"
        f" {rules.threshold} persons have a value, and no other cell is left out: the gap shows it"
    )
    return violation("threshold", words, "leave those rows out, or make the groups coarser")


def _judge_missing_cells(
    table: OutputTable,
    statistics: Sequence[tuple[str, CellStatistic]],
    members: CellMembers,
    rules: OutputRules,
    released: Mask,
) -> list[OutputReason]:
    """What a table tells by what it does not show: combinations without anybody, and cells that
    follow from margins.
    """
    reasons = []
    empty, occupied = members.absent
    # Only where no cell of anybody is left out: then a gap can mean only nobody.
    if rules.zeros and empty and not occupied and released.any():
        reasons.append(
            violation(
                "zeros",
                f"{empty:,} combinations of {join_words(table.by)} are missing because nobody has "
                "them, which reveals just that",
                "leave out a column, make it coarser, or allow zeros:"
                " rules=sf.OutputRules(zeros=False)",
            )
        )
    if not members.total.any():
        return reasons
    missing_cells: list[int] = []
    for column, statistic in statistics:
        if statistic.kind not in ADDITIVE:
            continue
        for name, missing_labels in zip(table.by, members.missing_labels, strict=True):
            missing_cells += _count_missing_cells(table, name, column, missing_labels)
    words = "cells are suppressed, but margins are shown"
    # A line that tells its total and lacks one cell gives it away by subtraction.
    if 1 in missing_cells:
        alone = f"{words}: one that is alone in its row or column can be computed from them"
        reasons.append(violation("margins", alone, PROTECT))
    elif max(missing_cells, default=0):
        unsettled = f"{words}: whether they can be computed was not checked"
        reasons.append(open_question("margins", unsettled, PROTECT))
    return reasons


def _judge_missing_percent(
    table: OutputTable,
    statistics: Sequence[tuple[str, CellStatistic]],
    members: CellMembers,
    records: ContributingRecords,
    rules: OutputRules,
) -> list[OutputReason]:
    """Percentages that do not add up to a hundred: what is left is the share of those whose cells
    are not shown, and they are few.
    """
    for name, statistic in statistics:
        if statistic.kind != "percent":
            continue
        visible = ~np.isnan(table.values(name)) & members.in_data & ~members.total
        hidden = np.ones(len(records), dtype=bool)
        # Margins are left out of visible: a row is hidden if no cell of its own shows it.
        hidden[members.row[visible[members.cell]]] = False
        groups = records.group_codes(statistic.words)
        for group in np.unique(groups[~hidden]):
            if rules.small(count_persons(records.person_ids[hidden & (groups == group)])):
                words = (
                    f"the percentages omit fewer than {rules.threshold} persons: the difference to "
                    "a hundred reveals how many"
                )
                return [violation("margins", words, COARSER)]
    return []


def _count_missing_cells(
    table: OutputTable, name: str, column: str, missing_labels: int
) -> list[int]:
    """How many cells every line along ``name`` lacks of a column, of those whose sum it tells."""
    line_columns = [column_name for column_name in table.by if column_name != name]
    whole = pl.col(name).cast(pl.String).is_in(list(TOTALS))
    frame = table.frame.with_columns(pl.col(column).is_not_null().alias(TOLD), whole.alias(WHOLE))
    # Labels of the data that the table does not show at all lack in every line.
    cells = frame.filter(~pl.col(WHOLE))[name].n_unique() + missing_labels
    lines = frame.group_by(line_columns or pl.lit(1).alias(LINE))
    counts = lines.agg(
        (pl.col(TOLD) & pl.col(WHOLE)).any().alias(WHOLE),
        (pl.col(TOLD) & ~pl.col(WHOLE)).sum().alias(TOLD),
    )
    return [cells - told_cells for told_cells in counts.filter(pl.col(WHOLE))[TOLD].to_list()]


def _versions_without(
    table: OutputTable, unsafe: Mask, released: Mask, members: CellMembers
) -> Iterator[pl.DataFrame]:
    """The table without its unsafe cells, where no margin would give them away; and versions
    without the smallest cells besides, where those that are left out follow from others.
    """
    if not unsafe.any() or unsafe.all() or members.total.any() or not table.by:
        return
    hidden = unsafe | ~members.in_data
    # The smallest first: hiding them costs least.
    smallest = np.argsort(np.bincount(members.cell, minlength=members.size), kind="stable")
    safe = smallest[released[smallest] & ~hidden[smallest]]
    numeric = [name for name in table.result_columns if table.numeric(name)]
    for count in range(min(MOST_HIDDEN, len(safe))):
        hide = hidden.copy()
        hide[safe[:count]] = True
        rows = pl.Series("hide", hide)
        yield table.released_frame.with_columns(
            pl.when(rows).then(None).otherwise(pl.col(name)).alias(name) for name in numeric
        )
        if members.absent[0]:  # among rows that are left out nobody sees which are empty
            yield table.released_frame.filter(~rows)
