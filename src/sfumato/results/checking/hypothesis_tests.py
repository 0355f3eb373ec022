"""Tests of hypotheses: enough persons in every group that is compared, and a statistic that is that
of the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError
from sfumato.results.checking.contributing_records import Behind, how_many
from sfumato.results.checking.correlations import few_vary, nearly_one
from sfumato.results.checking.designs import rare_columns
from sfumato.results.checking.lifetimes import compared_lives
from sfumato.results.checking.untrusted_objects import array_of, number_of, peek, vector_of
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

NAMES = {
    "statistic": ("statistic", "test_statistic"),
    "pvalue": ("pvalue", "p_value"),
    "df": ("df",),
    "dof": ("dof",),
}
GIVE_GROUPS = (
    "give the records and what is compared: data=..., by=['group'], column='value' (of two columns:"
    " features=['a', 'b'])"
)
NEAR = 1e-6
Group = tuple["NDArray[np.float64]", "NDArray[np.int64]"]
"""The values of a group and whose they are."""


def is_test(output: Any) -> bool:
    """Whether something has a statistic and a p value, as results of scipy, statsmodels and
    lifelines have.
    """
    return all(
        any(peek(output, one) is not None for one in NAMES[part])
        for part in ("statistic", "pvalue")
    )


def judge_test(
    output: Any,
    behind: Behind | None,
    rules: OutputRules,
    *,
    by: Sequence[str] | None = None,
    column: str | None = None,
    features: Sequence[str] | None = None,
    counts: Any = None,
) -> OutputVerdict:
    """A test of groups (``by``, ``column``), of a cross table (two columns in ``by``), of two
    columns (``features``), or of how long groups live (``by``, and ``features`` with time and
    event).

    Groups are counted in the records; what is only told of them, by ``counts`` or by the object,
    can fail and never pass.
    """
    parts = {name: _first_number(output, paths) for name, paths in NAMES.items()}
    if parts["statistic"] is None and isinstance(output, tuple | list) and len(output) == 2:
        parts["statistic"], parts["pvalue"] = number_of(output[0]), number_of(output[1])
    table = pl.DataFrame({name: [value] for name, value in parts.items() if value is not None})
    claimed_sizes = _told_sizes(counts)
    margins = _margins_of(output)
    sizes, ways, rows = _counted(behind, by, column, features)
    reasons = _contradictions(parts["df"], claimed_sizes, margins, sizes, rows)
    group_sizes = sizes if sizes is not None else None
    for groups in (group_sizes, claimed_sizes if len(claimed_sizes) > 1 else None, margins):
        reasons += [] if groups is None else _small(groups, rules)
    persons = (
        behind.persons
        if behind is not None and group_sizes is None
        else sum(group_sizes or claimed_sizes)
    )
    reasons += _freedom(parts["df"], persons, len(group_sizes or claimed_sizes or ()), rules)
    if group_sizes is None:
        reasons.append(_unknown(claimed_sizes))
    elif not _confirmed(parts, ways):
        words = "the statistic and p value are not those of a test known here of these records"
        reasons.append(open_question("recomputed", words, GIVE_GROUPS))
    if behind is not None and by is not None and len(by) == 2:
        reasons += _cells(behind, by, rules)
    if behind is not None and group_sizes is not None:
        reasons += _about_few(behind, by, column, features, rules)
    unique = tuple(dict.fromkeys(reasons))
    return OutputVerdict("test", unique, int(persons) if persons else None, table)


def _first_number(output: Any, names: Sequence[str]) -> float | None:
    return next(
        (number for name in names if (number := number_of(peek(output, name))) is not None), None
    )


def _told_sizes(counts: Any) -> list[float]:
    """The persons that somebody says there are: in all, or in every group."""
    if counts is None:
        return []
    numbers = vector_of([counts] if number_of(counts) is not None else counts)
    if (
        numbers is None
        or np.isnan(numbers).any()
        or (numbers < 0).any()
        or (numbers % 1 != 0).any()
    ):
        raise ParameterError(
            "counts of a test are numbers of persons: in all, or one for every group"
        )
    return [float(one) for one in numbers]


def _margins_of(output: Any) -> list[float] | None:
    """The sizes that a test of a cross table tells itself, by what it expects."""
    expected = (
        array_of(peek(output, "expected_freq"))
        if peek(output, "expected_freq") is not None
        else None
    )
    if expected is None or expected.ndim != 2 or not np.isfinite(expected).all():
        return None
    return [float(round(one, 6)) for axis in (0, 1) for one in expected.sum(axis=axis)]


def _counted(
    behind: Behind | None,
    by: Sequence[str] | None,
    column: str | None,
    features: Sequence[str] | None,
) -> tuple[list[float] | None, Iterator[tuple[float, float]], int]:
    """The persons of every group as the records have them, the tests that could be meant, and how
    many rows there are.
    """
    if behind is None:
        if by is not None or column is not None or features is not None:
            raise ParameterError(
                "by, column and features of a test are columns of the records: give data=... too"
            )
        return None, iter(()), 0
    of_lives = (
        by is not None
        and features is not None
        and len(by) == 1
        and len(features) == 2
        and column is None
    )
    if by is not None and features is not None and not of_lives:
        raise ParameterError(
            "a test compares groups (by=..., column=...), columns (features=...), or how long"
            " groups live (by=['group'], features=['time', 'event'])"
        )
    behind.dataset.require([*(by or ()), *(features or ()), *(() if column is None else (column,))])
    if by is not None and len(by) == 2 and column is None:
        table = _cross(behind, by)
        return (
            [
                _persons_of(behind, behind.dataset.encoded(name).codes, code)
                for name in by
                for code in _codes(behind, name)
            ],
            _of_cross(table),
            len(behind),
        )
    if by is not None and len(by) == 1 and column is not None:
        groups = _groups(behind, by[0], column)
        return (
            [float(how_many(who)) for _, who in groups],
            _of_groups([x for x, _ in groups]),
            len(behind),
        )
    if by is not None and features is not None and of_lives:
        time, happened, group, who = lives_by_group(behind, by[0], features)
        sizes = [
            float(how_many(who[group == one])) for one in range(int(group.max(initial=-1)) + 1)
        ]
        return sizes, compared_lives(time, happened, group), len(time)
    if features is not None and len(features) == 2 and column is None:
        pair = np.column_stack([behind.numbers(name) for name in features])
        whole: NDArray[np.bool_] = np.logical_not(np.isnan(pair).any(axis=1))
        return [float(how_many(behind.who[whole]))], _of_pairs(pair[whole]), int(whole.sum())
    if by is not None or features is not None:
        raise ParameterError(f"it is not clear what is compared: {GIVE_GROUPS}")
    return None, iter(()), len(behind)


def lives_by_group(
    behind: Behind, by: str, features: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """How long, whether it happened, in which group, and who; of rows where all is known."""
    time, happened = (behind.numbers(name) for name in features)
    complete = ~np.isnan(time) & ~np.isnan(happened)
    if not np.isin(happened[complete], (0.0, 1.0)).all():
        raise ParameterError(
            "features of such a test are how long it took, and whether it happened: yes and no, or"
            " ones and zeros"
        )
    group = np.unique(behind.dataset.encoded(by).codes[complete], return_inverse=True)[1].reshape(
        -1
    )
    return time[complete], happened[complete] != 0, group.astype(np.int64), behind.who[complete]


def _about_few(
    behind: Behind,
    by: Sequence[str] | None,
    column: str | None,
    features: Sequence[str] | None,
    rules: OutputRules,
) -> list[OutputReason]:
    """What is compared differs for few persons only: the statistic tells of these."""
    if by is not None and features is not None:
        _, happened, group, who = lives_by_group(behind, by[0], features)
        events = [
            how_many(who[happened & (group == one)])
            for one in range(int(group.max(initial=-1)) + 1)
        ]
        if all(one >= rules.threshold for one in events):
            return []
        words = (
            f"in some groups it happened to fewer than {rules.threshold} persons: the statistic"
            " tells of them to who knows the others"
        )
        return [open_question("groups", words, "compare groups with more events")]
    names = [column] if column is not None else list(features or ())
    values = (
        np.column_stack([behind.numbers(name) for name in names])
        if names
        else np.zeros((len(behind), 0))
    )
    complete: NDArray[np.bool_] = np.logical_not(np.isnan(values).any(axis=1))
    rows, who = values[complete], behind.who[complete]
    if rare_columns(rows, who, rules.threshold) or (
        len(names) > 1 and nearly_one(rows, who, rules)
    ):
        words = (
            f"what is compared differs for fewer than {rules.threshold} persons: the statistic"
            " tells of these"
        )
        return [broken("levels", words, "compare what more persons differ in")]
    if len(names) > 1 and few_vary(rows, who, rules):
        words = "few persons nearly alone make up how a column varies: the statistic tells of these"
        return [broken("dominance", words, "cut off extreme values, or compare ranks")]
    return []


def _codes(behind: Behind, name: str) -> list[int]:
    return [int(one) for one in np.unique(behind.dataset.encoded(name).codes)]


def _persons_of(behind: Behind, codes: NDArray[np.int64], code: int) -> float:
    return float(how_many(behind.who[codes == code]))


def _groups(behind: Behind, by: str, column: str) -> list[Group]:
    """The known values of every group."""
    codes, values = behind.dataset.encoded(by).codes, behind.numbers(column)
    present = ~np.isnan(values)
    return [
        (values[here], behind.who[here])
        for code in _codes(behind, by)
        if (here := present & (codes == code)).any()
    ]


def _cross(behind: Behind, by: Sequence[str]) -> NDArray[np.float64]:
    codes = [behind.dataset.encoded(name) for name in by]
    table = np.zeros([len(one.labels) for one in codes])
    np.add.at(table, tuple(one.codes for one in codes), 1.0)
    whole: NDArray[np.float64] = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return whole


def _cells(behind: Behind, by: Sequence[str], rules: OutputRules) -> list[OutputReason]:
    """Cells of few in a cross table of two by two: its statistic and margins tell them."""
    table = _cross(behind, by)
    if table.shape != (2, 2) or not (table < rules.threshold).any():
        return []
    words = (
        f"some cells of the cross table hold fewer than {rules.threshold} records: the statistic"
        " tells them to who knows its margins"
    )
    return [open_question("groups", words, "give no margins of this table out")]


def _contradictions(
    df: float | None,
    claimed_sizes: list[float],
    margins: list[float] | None,
    sizes: list[float] | None,
    rows: int,
) -> list[OutputReason]:
    """What is said of the numbers of persons, against what the records and the object hold."""
    reasons = []
    if sizes is not None and claimed_sizes and not _same(claimed_sizes, sizes):
        words = (
            "the counts given are not the numbers of persons that the records have in the groups"
        )
        reasons.append(broken("counts", words, "leave counts away: the records tell them"))
    if margins is not None and len(claimed_sizes) > 1 and not set(claimed_sizes) <= set(margins):
        words = "the counts given are not the group sizes that the test itself tells"
        reasons.append(broken("counts", words, "give the true ones"))
    most: float | None = rows
    if sizes is None:
        most = sum(claimed_sizes) if claimed_sizes else None
    if df is not None and most is not None and df > most - 1 + NEAR:
        words = "the test says that it leaves more degrees of freedom than so many persons have"
        reasons.append(
            broken("residual_df", words, "give the records that the test was made of (where=...)")
        )
    return reasons


def _same(claimed_sizes: Sequence[float], sizes: Sequence[float]) -> bool:
    return sorted(claimed_sizes) == sorted(sizes) or (
        len(claimed_sizes) == 1 and claimed_sizes[0] in (sum(sizes), *sizes[:1])
    )


def _small(groups: Sequence[float], rules: OutputRules) -> list[OutputReason]:
    few = sum(one < rules.threshold for one in groups)
    if not few:
        return []
    words = (
        f"{few:,} of {len(groups):,} groups that are compared hold fewer than {rules.threshold}"
        " persons"
    )
    return [broken("groups", words, "compare larger groups")]


def _freedom(
    df: float | None, persons: float, groups: int, rules: OutputRules
) -> list[OutputReason]:
    degrees = [
        one for one in (df, persons - max(2, groups) if persons else None) if one is not None
    ]
    if not degrees:
        return []
    if min(degrees) < rules.residual_df:
        words = f"the test leaves fewer than {rules.residual_df} degrees of freedom"
        return [broken("residual_df", words, "compare more persons")]
    return [
        passed("residual_df", f"the test leaves at least {rules.residual_df} degrees of freedom")
    ]


def _unknown(claimed_sizes: Sequence[float]) -> OutputReason:
    if len(claimed_sizes) > 1:
        return open_question(
            "groups", "how many persons are in each group is told, and was not counted", GIVE_GROUPS
        )
    return open_question(
        "groups", "how many persons are in each of the groups is not known", GIVE_GROUPS
    )


def _confirmed(parts: dict[str, float | None], ways: Iterator[tuple[float, float]]) -> bool:
    """Whether one of the tests in use gives this statistic and p value, on one side or on both."""
    claimed, p = parts["statistic"], parts["pvalue"]
    if claimed is None or p is None:
        return False
    for statistic, both in ways:
        close = abs(abs(claimed) - abs(statistic)) <= NEAR * max(1.0, abs(statistic))
        if close and any(abs(p - one) <= NEAR for one in (both, both / 2, 1 - both / 2)):
            return True
    return False


def _of_groups(groups: Sequence[NDArray[np.float64]]) -> Iterator[tuple[float, float]]:
    """Statistics and p values of the tests that compare groups."""
    from scipy import stats

    with np.errstate(all="ignore"):
        if len(groups) == 2 and min(len(one) for one in groups) > 1:
            one, other = groups
            for result in (
                stats.ttest_ind(one, other),
                stats.ttest_ind(one, other, equal_var=False),
            ):
                yield float(result.statistic), float(result.pvalue)
            for first, second in ((one, other), (other, one)):
                for smooth in (True, False):
                    ranked = stats.mannwhitneyu(first, second, use_continuity=smooth)
                    yield float(ranked.statistic), float(ranked.pvalue)
            for result in (stats.ks_2samp(one, other), stats.ranksums(one, other)):
                yield float(result.statistic), float(result.pvalue)
        if len(groups) > 1 and min(len(one) for one in groups) > 1:
            for test in (stats.f_oneway, stats.kruskal, stats.bartlett, stats.levene):
                result = test(*groups)
                yield float(result.statistic), float(result.pvalue)


def _of_pairs(pair: NDArray[np.float64]) -> Iterator[tuple[float, float]]:
    """Statistics and p values of the tests that compare two columns."""
    from scipy import stats

    if len(pair) < 3:
        return
    with np.errstate(all="ignore"):
        for test in (
            stats.pearsonr,
            stats.spearmanr,
            stats.kendalltau,
            stats.ttest_rel,
            stats.wilcoxon,
        ):
            result = test(pair[:, 0], pair[:, 1])
            yield float(result.statistic), float(result.pvalue)


def _of_cross(table: NDArray[np.float64]) -> Iterator[tuple[float, float]]:
    """Statistics and p values of the tests of a cross table."""
    from scipy import stats

    if min(table.shape) < 2:
        return
    for corrected in (True, False):
        for kind in (None, "log-likelihood"):
            result = stats.chi2_contingency(table, correction=corrected, lambda_=kind)
            yield float(result.statistic), float(result.pvalue)
    if table.shape == (2, 2):
        for one in (table, table[::-1]):
            exact = stats.fisher_exact(one)
            yield float(exact.statistic), float(exact.pvalue)
