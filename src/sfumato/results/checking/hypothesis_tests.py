"""Tests of hypotheses: enough persons in every group that is compared, and a statistic that is that
of the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sfumato.errors import ParameterError
from sfumato.results.checking.contributing_records import ContributingRecords, count_persons
from sfumato.results.checking.correlations import are_nearly_equal, count_dominated
from sfumato.results.checking.curve_points import Lifetimes
from sfumato.results.checking.designs import rare_columns
from sfumato.results.checking.lifetimes import compare_lifetimes
from sfumato.results.checking.untrusted_objects import array_of, number_of, peek, vector_of
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats

NAMES = {
    "statistic": ("statistic", "test_statistic"),
    "pvalue": ("pvalue", "p_value"),
    "df": ("df",),
    "dof": ("dof",),
}
"""The parts of a test, and what libraries call them."""
GIVE_GROUPS = (
    "give the records and what is compared: data=..., by=['group'], column='value' (for two "
    "columns: features=['a', 'b'])"
)
NEAR = 1e-6
"""How far a statistic may be from the one computed again."""
TestResults = Iterator[tuple[float, float]]
"""Statistics and two-sided p values of the tests that may be meant."""


class ComparedGroups(NamedTuple):
    """What the records say of a test: the persons of every group, the results of the tests that
    could be meant, and how many rows there are. No groups where it is not known what is compared.
    """

    sizes: list[float] | None
    results: TestResults
    rows: int


def is_test(output: object) -> bool:
    """Whether something has a statistic and a p value, as results of scipy, statsmodels and
    lifelines have.
    """
    for part in ("statistic", "pvalue"):
        if all(peek(output, name) is None for name in NAMES[part]):
            return False
    return True


def judge_test(
    output: object,
    records: ContributingRecords | None,
    rules: OutputRules,
    *,
    by: Sequence[str] | None = None,
    column: str | None = None,
    features: Sequence[str] | None = None,
    counts: object = None,
) -> OutputVerdict:
    """A test of groups (``by``, ``column``), of a cross table (two columns in ``by``), of two
    columns (``features``), or of how long groups live (``by``, and ``features`` with time and
    event).

    Groups are counted in the records; what is only told of them, by ``counts`` or by the object,
    can fail and never pass.
    """
    parts: dict[str, float | None] = {}
    for part, names in NAMES.items():
        numbers = [number_of(peek(output, name)) for name in names]
        parts[part] = next((number for number in numbers if number is not None), None)
    if parts["statistic"] is None and isinstance(output, tuple | list) and len(output) == 2:
        # Plain pairs are taken in the order in which scipy returns them.
        parts["statistic"], parts["pvalue"] = number_of(output[0]), number_of(output[1])
    table = pl.DataFrame({name: [value] for name, value in parts.items() if value is not None})
    claimed_sizes = _read_counts(counts)
    margins = _margins_of(output)
    compared = _find_compared(records, by, column, features)
    sizes = compared.sizes
    reasons = _judge_contradictions(parts["df"], claimed_sizes, margins, compared)
    if sizes is not None:
        reasons += _judge_small_groups(sizes, rules)
    if len(claimed_sizes) > 1:
        reasons += _judge_small_groups(claimed_sizes, rules)
    if margins is not None:
        reasons += _judge_small_groups(margins, rules)
    # What was counted goes before what is claimed.
    group_sizes = sizes or claimed_sizes
    persons: float = sum(group_sizes)
    if records is not None and sizes is None:
        persons = records.persons
    reasons += _judge_freedom(parts["df"], persons, len(group_sizes), rules)
    if sizes is None:
        words = "the number of persons in each group is unknown"
        if len(claimed_sizes) > 1:
            words = "the number of persons in each group is given and was not counted"
        reasons.append(open_question("groups", words, GIVE_GROUPS))
    elif not _matches_result(parts["statistic"], parts["pvalue"], compared.results):
        words = "the statistic and p value are not those of a known test of these records"
        reasons.append(open_question("recomputed", words, GIVE_GROUPS))
    if records is not None and by is not None and len(by) == 2:
        reasons += _judge_cross_table(_cross_table(records, by), rules)
    if records is not None and sizes is not None:
        if by is not None and features is not None:
            reasons += _judge_events(*_lifetimes_by_group(records, by[0], features), rules)
        else:
            if column is not None:
                compared_columns = [column]
            else:
                compared_columns = list(features or ())
            reasons += _judge_columns(records, compared_columns, rules)
    unique = tuple(dict.fromkeys(reasons))
    return OutputVerdict("test", unique, int(persons) if persons else None, table)


def _read_counts(counts: object) -> list[float]:
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
    sizes: list[float] = numbers.tolist()
    return sizes


def _margins_of(output: object) -> list[float] | None:
    """The sizes that a test of a cross table tells itself, by what it expects."""
    expected = array_of(peek(output, "expected_freq"))
    if expected is None or expected.ndim != 2 or not np.isfinite(expected).all():
        return None
    # Expected counts add up to the margins that were observed.
    margins = np.concatenate([expected.sum(axis=0), expected.sum(axis=1)])
    sizes: list[float] = np.round(margins, 6).tolist()
    return sizes


def _find_compared(
    records: ContributingRecords | None,
    by: Sequence[str] | None,
    column: str | None,
    features: Sequence[str] | None,
) -> ComparedGroups:
    """The groups of the records that a test compares; refused where it is not clear what that
    is.
    """
    if records is None:
        if by is not None or column is not None or features is not None:
            raise ParameterError(
                "by, column and features of a test are columns of the records: give data=... too"
            )
        return ComparedGroups(None, iter(()), 0)
    one_group = by is not None and len(by) == 1
    two_features = features is not None and len(features) == 2 and column is None
    if by is not None and features is not None and not (one_group and two_features):
        raise ParameterError(
            "a test compares groups (by=..., column=...), columns (features=...), or durations of "
            "groups (by=['group'], features=['time', 'event'])"
        )
    names = [*(by or ()), *(features or ()), *([] if column is None else [column])]
    records.dataset.require(names)
    if by is not None and features is not None:
        lifetimes, group = _lifetimes_by_group(records, by[0], features)
        sizes = _count_groups(group, lifetimes.person_ids)
        results = compare_lifetimes(lifetimes.time, lifetimes.event, group)
        return ComparedGroups(sizes, results, len(group))
    if by is not None and len(by) == 2 and column is None:
        sizes = []
        for name in by:
            # The groups of a cross table are its rows and its columns.
            sizes += _count_groups(records.dataset.encoded(name).codes, records.person_ids)
        return ComparedGroups(sizes, _test_cross_table(_cross_table(records, by)), len(records))
    if by is not None and one_group and column is not None:
        values = records.numbers(column)
        present = ~np.isnan(values)
        codes = records.dataset.encoded(by[0]).codes[present]
        sizes = _count_groups(codes, records.person_ids[present])
        groups = [values[present][codes == code] for code in np.unique(codes)]
        return ComparedGroups(sizes, _test_groups(groups), int(present.sum()))
    if features is not None and two_features:
        pair = np.column_stack([records.numbers(name) for name in features])
        complete = ~np.isnan(pair).any(axis=1)
        sizes = [float(count_persons(records.person_ids[complete]))]
        return ComparedGroups(sizes, _test_pair(pair[complete]), int(complete.sum()))
    if by is not None or features is not None:
        raise ParameterError(f"what is compared is unclear: {GIVE_GROUPS}")
    return ComparedGroups(None, iter(()), len(records))


def _count_groups(codes: Codes, person_ids: Codes) -> list[float]:
    """The persons of every group."""
    return [float(count_persons(person_ids[codes == code])) for code in np.unique(codes)]


def _lifetimes_by_group(
    records: ContributingRecords, by: str, features: Sequence[str]
) -> tuple[Lifetimes, Codes]:
    """How long, whether it happened, and who, of rows where both are known; and their groups."""
    time, event = (records.numbers(name) for name in features)
    complete = ~np.isnan(time) & ~np.isnan(event)
    if not np.isin(event[complete], (0.0, 1.0)).all():
        raise ParameterError(
            "features of such a test are the duration, and whether the event happened: yes and "
            "no, or ones and zeros"
        )
    codes = records.dataset.encoded(by).codes[complete]
    # Codes without gaps: groups that have no complete row are not compared.
    group = np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    person_ids = records.person_ids[complete]
    return Lifetimes(time[complete], event[complete] != 0, person_ids), group


def _judge_events(lifetimes: Lifetimes, group: Codes, rules: OutputRules) -> list[OutputReason]:
    """Groups in which few persons have the event: the statistic tells of these."""
    for code in np.unique(group):
        events = lifetimes.person_ids[lifetimes.event & (group == code)]
        if count_persons(events) < rules.threshold:
            words = (
                f"in some groups the event happened to fewer than {rules.threshold} persons: the "
                "statistic reveals them to somebody who knows the others"
            )
            return [open_question("groups", words, "compare groups with more events")]
    return []


def _judge_columns(
    records: ContributingRecords, names: Sequence[str], rules: OutputRules
) -> list[OutputReason]:
    """What is compared differs for few persons only: the statistic tells of these."""
    if not names:
        return []
    values = np.column_stack([records.numbers(name) for name in names])
    complete = ~np.isnan(values).any(axis=1)
    rows, person_ids = values[complete], records.person_ids[complete]
    rare = bool(rare_columns(rows, person_ids, rules.threshold))
    if rare or (len(names) > 1 and are_nearly_equal(rows, person_ids, rules)):
        words = (
            f"the compared column differs for fewer than {rules.threshold} persons: the statistic "
            "reveals these"
        )
        return [violation("levels", words, "compare a column that differs for more persons")]
    if len(names) > 1 and count_dominated(rows, person_ids, rules):
        words = (
            "few persons determine almost all variation of a column: the statistic reveals these"
        )
        return [violation("dominance", words, "cut off extreme values, or compare ranks")]
    return []


def _cross_table(records: ContributingRecords, by: Sequence[str]) -> Floats:
    """The records by two columns, without labels that nobody has."""
    encoded = [records.dataset.encoded(name) for name in by]
    table = np.zeros([len(column.labels) for column in encoded])
    np.add.at(table, tuple(column.codes for column in encoded), 1.0)
    occupied: Floats = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return occupied


def _judge_cross_table(table: Floats, rules: OutputRules) -> list[OutputReason]:
    """Cells of few in a cross table of two by two: its statistic and margins tell them."""
    # With its margins known a table of four cells has one free number, and the statistic tells it.
    if table.shape != (2, 2) or not (table < rules.threshold).any():
        return []
    words = (
        f"some cells of the cross table hold fewer than {rules.threshold} records: the statistic "
        "reveals them to somebody who knows its margins"
    )
    return [open_question("groups", words, "do not release margins of this table")]


def _judge_contradictions(
    df: float | None,
    claimed_sizes: list[float],
    margins: list[float] | None,
    compared: ComparedGroups,
) -> list[OutputReason]:
    """What is said of the numbers of persons, against what the records and the object hold."""
    reasons = []
    sizes = compared.sizes
    # Sorted: nobody says in which order the groups come.
    if sizes is not None and claimed_sizes and sorted(claimed_sizes) != sorted(sizes):
        # One number may be that of all, or of the only group.
        one_number = len(claimed_sizes) == 1
        if not one_number or claimed_sizes[0] not in (sum(sizes), *sizes[:1]):
            words = (
                "the counts given are not the numbers of persons that the records have in the"
                " groups"
            )
            reasons.append(
                violation("counts", words, "leave counts away: they are computed from the records")
            )
    if margins is not None and len(claimed_sizes) > 1 and not set(claimed_sizes) <= set(margins):
        words = "the given counts are not the group sizes of the test itself"
        reasons.append(violation("counts", words, "give the true counts"))
    persons: float = compared.rows if sizes is not None else sum(claimed_sizes)
    unknown = sizes is None and not claimed_sizes
    if df is not None and not unknown and df > persons - 1 + NEAR:
        words = "the test claims more degrees of freedom than so many persons allow"
        advice = "give the records that the test was made of (where=...)"
        reasons.append(violation("residual_df", words, advice))
    return reasons


def _judge_small_groups(sizes: Sequence[float], rules: OutputRules) -> list[OutputReason]:
    small_groups = sum(size < rules.threshold for size in sizes)
    if not small_groups:
        return []
    words = (
        f"{small_groups:,} of {len(sizes):,} compared groups hold fewer than {rules.threshold} "
        "persons"
    )
    return [violation("groups", words, "compare larger groups")]


def _judge_freedom(
    df: float | None, persons: float, groups: int, rules: OutputRules
) -> list[OutputReason]:
    """Whether a test leaves enough degrees of freedom: persons less groups, and what it says."""
    degrees = [] if df is None else [df]
    if persons:
        # Never fewer than two: a correlation is of one group of persons and leaves n − 2.
        degrees.append(persons - max(2, groups))
    if not degrees:
        return []
    if min(degrees) < rules.residual_df:
        words = f"the test leaves fewer than {rules.residual_df} degrees of freedom"
        return [violation("residual_df", words, "compare more persons")]
    words = f"the test leaves at least {rules.residual_df} degrees of freedom"
    return [confirmation("residual_df", words)]


def _matches_result(statistic: float | None, p: float | None, results: TestResults) -> bool:
    """Whether one of the tests in use gives this statistic and p value, on one side or on both."""
    if statistic is None or p is None:
        return False
    for expected, two_sided in results:
        if abs(abs(statistic) - abs(expected)) > NEAR * max(1.0, abs(expected)):
            continue
        # One side only: half of the p value, or the rest of it where the sign is the other.
        for expected_p in (two_sided, two_sided / 2, 1 - two_sided / 2):
            if abs(p - expected_p) <= NEAR:
                return True
    return False


def _test_groups(groups: Sequence[Floats]) -> TestResults:
    """The tests that compare groups."""
    from scipy import stats

    # A spread within groups needs two values in each.
    if len(groups) < 2 or min(len(group) for group in groups) < 2:
        return
    with np.errstate(all="ignore"):
        if len(groups) == 2:
            a, b = groups
            yield _numbers_of(stats.ttest_ind(a, b))
            yield _numbers_of(stats.ttest_ind(a, b, equal_var=False))
            # The statistic of this test depends on which group comes first.
            for first, second in ((a, b), (b, a)):
                for continuity in (True, False):
                    ranked = stats.mannwhitneyu(first, second, use_continuity=continuity)
                    yield _numbers_of(ranked)
            yield _numbers_of(stats.ks_2samp(a, b))
            yield _numbers_of(stats.ranksums(a, b))
        for test in (stats.f_oneway, stats.kruskal, stats.bartlett, stats.levene):
            yield _numbers_of(test(*groups))


def _numbers_of(result: Any) -> tuple[float, float]:
    return float(result.statistic), float(result.pvalue)


def _test_pair(pair: Floats) -> TestResults:
    """The tests that compare two columns."""
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
            yield _numbers_of(test(pair[:, 0], pair[:, 1]))


def _test_cross_table(table: Floats) -> TestResults:
    """The tests of a cross table."""
    from scipy import stats

    if min(table.shape) < 2:
        return
    for corrected in (True, False):
        for power in (None, "log-likelihood"):
            yield _numbers_of(stats.chi2_contingency(table, correction=corrected, lambda_=power))
    if table.shape == (2, 2):
        for rows in (table, table[::-1]):  # the odds ratio, and its inverse
            yield _numbers_of(stats.fisher_exact(rows))
