"""Tables that somebody grouped: counts, means, sums, shares, percentiles and extremes, judged cell
by cell.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.words import join_words
from sfumato.errors import ParameterError
from sfumato.results.checking.contributing_records import (
    TOTALS,
    Behind,
    CellRows,
    how_many,
    membership,
)
from sfumato.results.checking.layout import (
    GIVE_DATA,
    LINE,
    PER_RECORD,
    SAY_WHAT,
    TOLD,
    WHOLE,
    OutputTable,
    figure_per_record,
    strange_number,
    with_places,
)
from sfumato.results.checking.record_sets import sets_of_table
from sfumato.results.checking.rule_violations import COARSER, all_offences, nearly_the_same, offence
from sfumato.results.checking.statistics_of_columns import (
    LABELLED,
    MOST_TRIED,
    CellStatistic,
    bare,
    fits,
    found_by_computing,
    named,
    percentages,
)
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    broken,
    open_question,
    passed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROTECT = (
    "sf.tabulate(data, by, ...).protect() publishes such a table with margins so that nothing can"
    " be computed"
)


def judge_with_records(
    table: OutputTable,
    behind: Behind,
    rules: OutputRules,
    tells: Mapping[str, str] | str | None,
    *,
    suggesting: bool = True,
) -> OutputVerdict:
    """Judge a table by the records behind it."""
    original, declared_tells = table, tells
    table = with_places(table, behind, tells)
    if table.labelled is not None:
        tells = {
            **dict.fromkeys(table.told, tells if isinstance(tells, str) else ""),
            **table.labelled,
        }
    belongs = membership(table.frame, table.by, behind)
    reasons = (
        _unknown_cells(table, belongs)
        + _numbers_in_names(table, behind, rules)
        + _combinations(table, belongs, behind, rules)
    )
    statistics, more = _statistics(table, belongs, behind, tells)
    reasons += more
    released = np.zeros(belongs.size, dtype=bool)
    for name, _ in statistics:
        released |= ~np.isnan(table.values(name))
    released &= belongs.known
    unsafe = np.zeros(belongs.size, dtype=bool)
    together: dict[tuple[str, bytes], list[str]] = {}
    for rule, names, where in all_offences(table, statistics, belongs, behind, rules):
        here = where & released & np.any([~np.isnan(table.values(name)) for name in names], axis=0)
        unsafe |= here
        if here.any():
            together.setdefault((rule, here.tobytes()), []).extend(names)
    for (rule, cells), names in together.items():
        told_names = [table.called(name) for name in dict.fromkeys(names)]
        reasons.append(
            offence(
                rule,
                told_names,
                int(np.frombuffer(cells, dtype=bool).sum()),
                int(released.sum()),
                rules,
            )
        )
    reasons += _left_out(table, statistics, belongs, rules, released) + _rest_of_all(
        table, statistics, belongs, behind, rules
    )
    reasons += nearly_the_same(statistics, belongs, behind, rules)
    if statistics and not any(one.status == "fail" for one in reasons):
        reasons.append(_fine(belongs.persons(behind)[released], behind, rules))
    kinds = tuple(str(one) for _, one in statistics)
    hidden = int((~released & belongs.known).sum()) + belongs.absent[1] + sum(belongs.unseen)
    better = _suggestion(table, unsafe, released, belongs) if suggesting else iter(())
    return OutputVerdict(
        kind_of_table(statistics),
        tuple(reasons),
        behind.persons,
        table.shown,
        next((one for one in better if _holds(one, original, behind, rules, declared_tells)), None),
        table.by,
        kinds,
        hidden,
        cells=lambda: sets_of_table(table, statistics, belongs, behind),
    )


def _holds(
    frame: pl.DataFrame,
    table: OutputTable,
    behind: Behind,
    rules: OutputRules,
    tells: Mapping[str, str] | str | None,
) -> bool:
    """Whether a version that would be suggested breaks no rule itself."""
    other = dataclasses.replace(table, frame=frame, original=None)
    return judge_with_records(other, behind, rules, tells, suggesting=False).status != "fail"


def _fine(persons: NDArray[np.int64], behind: Behind, rules: OutputRules) -> OutputReason:
    if not len(persons):
        return passed("table", "no cell is told")
    cells = "1 cell holds" if len(persons) == 1 else f"{len(persons):,} cells hold"
    return passed(
        "table",
        f"{cells} at least {rules.threshold} of {behind.persons:,} persons, and no rule is broken",
    )


def kind_of_table(statistics: Sequence[tuple[str, CellStatistic]]) -> str:
    """What a table is called: by what it tells."""
    kinds = list(dict.fromkeys(one.kind for _, one in statistics))
    return f"table: {', '.join(kinds)}" if kinds else "table"


def _combinations(
    table: OutputTable, belongs: CellRows, behind: Behind, rules: OutputRules
) -> list[OutputReason]:
    """A table that tells nothing but which combinations there are: those of few persons are records
    of them.
    """
    few = (
        int((belongs.persons(behind)[belongs.known] < rules.threshold).sum())
        if not table.told
        else 0
    )
    if not few:
        return []
    words = (
        f"{few:,} of {belongs.size:,} rows are combinations that fewer than {rules.threshold}"
        " persons have"
    )
    return [
        broken("per record", f"{words}: they look like records", "give out tables, not records")
    ]


YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?![\d.,])")


def _numbers_in_names(table: OutputTable, behind: Behind, rules: OutputRules) -> list[OutputReason]:
    """Columns whose names hold a number such as a value: nobody computes names again."""
    own = behind.dataset.columns
    strange = [
        name
        for name in table.told
        if strange_number(name, -1, behind, rules.threshold, digits=3)
        and not YEAR.search(name)
        and bare(name) is None
        and next(named(name, own), None) is None
        and not any(name.startswith(f"{one}: ") for one in own)
    ]
    if not strange:
        return []
    words = f"the names of {len(strange):,} columns hold numbers that may be values"
    return [open_question("columns", words, "call them by what they tell")]


def _unknown_cells(table: OutputTable, belongs: CellRows) -> list[OutputReason]:
    strange = int((~belongs.known).sum())
    if not strange:
        return []
    return [
        open_question(
            "labels",
            f"{strange:,} rows have values of {', '.join(table.by)} that the data do not have",
            "give the data with the columns as they were grouped",
        )
    ]


def _statistics(
    table: OutputTable, belongs: CellRows, behind: Behind, tells: Mapping[str, str] | str | None
) -> tuple[list[tuple[str, CellStatistic]], list[OutputReason]]:
    """What every column tells; what does not fit the records, or nobody knows, is a question."""
    recognised: list[tuple[str, CellStatistic]] = []
    reasons: list[OutputReason] = []
    if not table.told:
        reasons.append(
            open_question(
                "columns", "no column tells anything", "name the columns that make cells: by=[...]"
            )
        )
    for name in table.told:
        if PER_RECORD.fullmatch(name):
            reasons.append(figure_per_record(table, name))
        elif not table.numeric(name):
            reasons.append(
                open_question(
                    "columns",
                    f"{table.called(name)} holds no numbers, and is no column of the data",
                    f"leave it out, or {GIVE_DATA}",
                )
            )
        else:
            statistics, fitting = _what(name, table, belongs, behind, tells)
            if not statistics:
                reasons.append(_not_known(table, name))
                continue
            recognised += [(name, one) for one in statistics]
            if not fitting:
                reasons.append(
                    open_question(
                        "recomputed",
                        f"{table.called(name)} is not {statistics[0]} of these records",
                        "give the records it was computed from (data=..., where=..., weight=...),"
                        " or say what it tells",
                    )
                )
    return recognised, reasons


def _not_known(table: OutputTable, name: str) -> OutputReason:
    """A column that fits nothing that was tried, and what to do."""
    if name.endswith(": null_count"):
        words = f"{table.called(name)}: who lacks a value is not looked at"
        return open_question("columns", words, "leave out the row null_count of describe()")
    some = ", and which records were used (where=...), where it is not all of them"
    return open_question(
        "columns", f"what {table.called(name)} tells is not known", f"{SAY_WHAT}{some}"
    )


def _what(
    name: str,
    table: OutputTable,
    belongs: CellRows,
    behind: Behind,
    tells: Mapping[str, str] | str | None,
) -> tuple[list[CellStatistic], bool]:
    declaration = tells.get(name) if isinstance(tells, Mapping) else tells
    released = table.values(name)
    if not declaration:
        matches = found_by_computing(name, released, belongs, behind, table.by)
        return matches, bool(matches)
    if name not in behind.dataset.columns and (candidates := _without_column(declaration, table)):
        matches = [
            one for one in candidates(behind) if fits(one, released, belongs, behind, table.by)
        ]
        if not matches and declaration.strip().lower() not in SHARES:
            raise ParameterError(
                f"tells: say which column it is the {declaration} of, such as {declaration}(cost)"
            )
        return (
            matches[:1]
            if declaration.strip().lower() in SHARES and matches
            else matches or candidates(behind)[:1]
        ), bool(matches)
    statistic = declared(declaration, name)
    behind.dataset.require(statistic.columns if statistic.kind != "percent" else [])
    return [statistic], fits(statistic, released, belongs, behind, table.by)


SHARES = ("share", "percent", "proportion", "percentage", "pct", "rate")


def _without_column(
    declaration: str, table: OutputTable
) -> Callable[[Behind], list[CellStatistic]] | None:
    """What a word may mean that names no column, of a column that is not called like one of
    the data: a share of persons, or a mean of any column.
    """
    if declaration.strip().lower() in SHARES:
        return lambda _: percentages(table.by)
    quantile = bare(declaration.strip())
    if quantile is None:
        return None
    text_too = quantile("").kind in LABELLED
    return lambda behind: [
        quantile(one)
        for one in behind.dataset.columns
        if (text_too and not behind.is_numeric(one)) or behind.is_finite(one)
    ][:MOST_TRIED]


def declared(declaration: str, name: str) -> CellStatistic:
    """What somebody says a column tells; ``mean`` alone is the mean of the column of that name."""
    try:
        return CellStatistic.of(declaration)
    except ParameterError:
        if "(" in declaration:
            raise
        return CellStatistic.of(f"{declaration}({name})")


def _left_out(
    table: OutputTable,
    statistics: Sequence[tuple[str, CellStatistic]],
    belongs: CellRows,
    rules: OutputRules,
    released: NDArray[np.bool_],
) -> list[OutputReason]:
    """What a table tells by what it does not show: combinations without anybody, and cells that
    follow from margins.
    """
    reasons = []
    empty, occupied = belongs.absent
    if rules.zeros and empty and not occupied and released.any():
        reasons.append(
            broken(
                "zeros",
                f"{empty:,} combinations of {join_words(table.by)} are left out because nobody has"
                " them, which tells that",
                "leave out a column, make it coarser, or allow zeros:"
                " rules=sf.OutputRules(zeros=False)",
            )
        )
    if not belongs.total.any():
        return reasons
    missing_cells = {
        (name, column): _lacking(table, name, column, unseen)
        for name, unseen in zip(table.by, belongs.unseen, strict=True)
        for column, one in statistics
        if one.kind in ADDITIVE
    }
    words = "cells are left out, and margins are told"
    if any(1 in counts for counts in missing_cells.values()):
        reasons.append(
            broken(
                "margins",
                f"{words}: one that is alone in its row or column follows from them",
                PROTECT,
            )
        )
    elif any(max(counts, default=0) for counts in missing_cells.values()):
        reasons.append(
            open_question(
                "margins", f"{words}: whether they can be computed was not looked at", PROTECT
            )
        )
    return reasons


def _rest_of_all(
    table: OutputTable,
    statistics: Sequence[tuple[str, CellStatistic]],
    belongs: CellRows,
    behind: Behind,
    rules: OutputRules,
) -> list[OutputReason]:
    """Percentages that do not add up to a hundred: what is left is the share of those whose cells
    are not shown, and they are few.
    """
    for name, one in statistics:
        if one.kind != "percent":
            continue
        visible = ~np.isnan(table.values(name)) & belongs.known & ~belongs.total
        rest = np.ones(len(behind), dtype=bool)
        rest[belongs.row[visible[belongs.cell]]] = False
        within = np.zeros(len(behind), dtype=np.int64)
        for word in one.words:
            codes = behind.dataset.encoded(word).codes
            within = within * (int(codes.max(initial=0)) + 1) + codes
        released_groups = np.unique(within[~rest])
        few = [how_many(behind.who[rest & (within == group)]) for group in released_groups.tolist()]
        if any(rules.small(count) for count in few):
            words = (
                f"the percentages leave out fewer than {rules.threshold} persons: what lacks to a"
                " hundred tells how many"
            )
            return [broken("margins", words, COARSER)]
    return []


ADDITIVE = ("count", "rows", "sum", "mean", "percent", "share")


def _lacking(table: OutputTable, name: str, column: str, unseen: int) -> list[int]:
    """How many cells every line along ``name`` lacks of a column, of those whose sum it tells."""
    others = [one for one in table.by if one != name]
    whole = pl.col(name).cast(pl.String).is_in(list(TOTALS))
    frame = table.frame.with_columns(pl.col(column).is_not_null().alias(TOLD), whole.alias(WHOLE))
    parts = frame.filter(~pl.col(WHOLE))[name].n_unique() + unseen
    lines = frame.group_by(others) if others else frame.group_by(pl.lit(1).alias(LINE))
    line_counts = lines.agg(
        (pl.col(TOLD) & pl.col(WHOLE)).any().alias(WHOLE),
        (pl.col(TOLD) & ~pl.col(WHOLE)).sum().alias(TOLD),
    )
    return [parts - count for count in line_counts.filter(pl.col(WHOLE))[TOLD].to_list()]


MOST_HIDDEN = 12
"""How many safe cells are left out at most so that unsafe ones do not follow."""


def _suggestion(
    table: OutputTable, unsafe: NDArray[np.bool_], released: NDArray[np.bool_], belongs: CellRows
) -> Iterator[pl.DataFrame]:
    """The table without its unsafe cells, where no margin would give them away; and versions
    without the smallest cells besides, where those that are left out follow from others.
    """
    if not unsafe.any() or unsafe.all() or belongs.total.any() or not table.by:
        return
    hide = unsafe | ~belongs.known
    rows = np.bincount(belongs.cell, minlength=belongs.size)
    more = [
        cell
        for cell in np.argsort(rows, kind="stable").tolist()
        if released[cell] and not hide[cell]
    ]
    for also in range(min(MOST_HIDDEN, len(more))):
        hidden = hide.copy()
        hidden[more[:also]] = True
        here = pl.Series("hide", hidden)
        columns_left = [
            pl.when(here).then(None).otherwise(pl.col(name)).alias(name)
            for name in table.told
            if table.numeric(name)
        ]
        yield table.shown.with_columns(columns_left)
        if belongs.absent[0]:  # among rows that are left out nobody sees which are empty
            yield table.shown.filter(~here)
