"""Which statistic a column of a table holds: by what somebody says, by its name, or found by
computing statistics again from the records.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.words import inflect
from sfumato.errors import ParameterError, did_you_mean
from sfumato.results.checking.contributing_records import distinct

if TYPE_CHECKING:
    from sfumato.results.checking.contributing_records import CellMembers, ContributingRecords
    from sfumato.results.tables.arrays import Codes, Floats, Mask

FORM = re.compile(r"\s*([a-z_]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
"""A statistic as text: its kind, and in parentheses the columns and numbers it takes."""
ALIASES = {
    "n": "count",
    "size": "rows",
    "len": "rows",
    "persons": "count",
    "total": "sum",
    "average": "mean",
    "avg": "mean",
    "std": "sd",
    "stddev": "sd",
    "stdev": "sd",
    "variance": "var",
    "sem": "se",
    "minimum": "min",
    "maximum": "max",
    "percentage": "percent",
    "pct": "percent",
    "proportion": "share",
    "rate": "share",
    "nunique": "count",
    "top": "mode",
}
ARGUMENT_COUNTS = {
    "count": (0, 1),
    "rows": (0, 0),
    "sum": (1, 1),
    "mean": (1, 1),
    "sd": (1, 1),
    "var": (1, 1),
    "se": (1, 1),
    "ratio": (2, 2),
    "share": (1, 1),
    "median": (1, 1),
    "quantile": (2, 2),
    "min": (1, 1),
    "max": (1, 1),
    "range": (1, 1),
    "mode": (1, 1),
    "percent": (0, 9),
    "unique": (1, 1),
    "freq": (1, 1),
}
"""Every statistic with the least and the largest number of arguments it takes."""
QUANTILES = ("median", "quantile")
EXTREMES = ("min", "max", "range", "mode")
LABELLED = ("min", "max", "mode", "unique", "freq")
"""Statistics that text has, too: ``unique`` is how many values it has, ``freq`` how often the
commonest occurs.
"""
AMOUNTS = ("sum", "mean", "sd", "var", "se", "ratio", "share")
ADDITIVE = ("count", "rows", "sum", "mean", "percent", "share")
"""Statistics of cells that follow from those of other cells and their total."""
GUESSES = ("max", "min", "range", "median", "mean", "sum", "sd", "var", "se")
"""What a column is tried for that is called like one of the data and nothing more is said of; where
several fit, all are judged.
"""
LEVELS = ("0.05", "0.1", "0.25", "0.75", "0.9", "0.95")
"""Levels of the quantiles that are tried."""
MOST_COLUMNS = 60
"""Columns of the data that are tried at most; beyond them nothing is guessed."""
ENOUGH_DIGITS = 8
"""Digits that numbers must have together before it is tried what they are: with fewer, something
always fits.
"""


@dataclasses.dataclass(frozen=True)
class CellStatistic:
    """A statistic of the records of a cell: its kind, and the columns or numbers it takes."""

    kind: str
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> CellStatistic:
        """A statistic from its text.

        >>> (
        ...     CellStatistic.of("mean(cost)"),
        ...     str(CellStatistic.of("quantile(cost, 0.25)")),
        ...     str(CellStatistic.of("N")),
        ... )
        (CellStatistic(kind='mean', words=('cost',)), 'quantile(cost, 0.25)', 'count')
        """
        # The kind may be in capitals; names of columns stay as they are.
        kind, parenthesis, arguments = text.partition("(")
        match = FORM.fullmatch(kind.lower() + parenthesis + arguments)
        kind = _resolve_alias(match[1]) if match else ""
        if match is None or kind not in ARGUMENT_COUNTS:
            hint = did_you_mean(kind, ARGUMENT_COUNTS) if kind else ""
            raise ParameterError(
                f"each column shows one of {', '.join(ARGUMENT_COUNTS)}, such as mean(cost).{hint}"
            )
        words = tuple(word.strip() for word in (match[2] or "").split(",") if word.strip())
        fewest_words, largest_count = ARGUMENT_COUNTS[kind]
        if not fewest_words <= len(words) <= largest_count:
            examples = {"quantile": "quantile(cost, 0.25)", "ratio": "ratio(cost, days)"}
            raise ParameterError(
                f"{kind} takes {fewest_words} {inflect(fewest_words, 'column', 'words')}, such as"
                f" {examples.get(kind, f'{kind}(cost)')}"
            )
        statistic = cls(kind, words)
        if kind == "quantile" and not 0 < statistic.level < 1:
            raise ParameterError(
                "quantile takes a column and a share between 0 and 1: quantile(cost, 0.25)"
            )
        return statistic

    @property
    def column(self) -> str | None:
        """The column it is about."""
        if self.words and self.kind != "percent":
            return self.words[0]
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns it takes."""
        if self.kind == "quantile":
            return self.words[:1]
        return self.words

    @property
    def level(self) -> float:
        """Of a quantile: the share below it."""
        if self.kind == "median":
            return 0.5
        try:
            return float(self.words[1])
        except ValueError:
            return float("nan")

    def __str__(self) -> str:
        if self.words:
            return f"{self.kind}({', '.join(self.words)})"
        return self.kind


def _resolve_alias(name: str) -> str:
    return ALIASES.get(name.lower(), name.lower())


def statistics_in_name(name: str, columns: Sequence[str]) -> Iterator[CellStatistic]:
    """What a name says: ``mean(cost)``, ``cost_mean``, ``mean_cost``, ``n``."""
    with contextlib.suppress(ParameterError):
        yield CellStatistic.of(name)
    # Long names first: cost_total_mean is of cost_total, not of cost.
    for column in sorted(columns, key=len, reverse=True):
        affix = ""  # the name without the column: `mean` of `cost_mean`
        if name.startswith(column):
            affix = name.removeprefix(column)
        elif name.endswith(column):
            affix = name.removesuffix(column)
        affix = affix.strip("_ .:").lower()
        kind = _resolve_alias(affix)
        if kind == "count" or ARGUMENT_COUNTS.get(kind, (0,))[0] == 1:
            yield CellStatistic(kind, (column,))
        elif match := re.fullmatch(r"(?:q|p)?(\d{1,2}|0?\.\d+)%?", affix):
            level = float(match[1])
            # 25 and 0.25 are the same level.
            if level >= 1:
                level /= 100
            yield CellStatistic("quantile", (column, f"{level:g}"))


def statistic_without_column(name: str) -> Callable[[str], CellStatistic] | None:
    """What a name says that names a statistic and no column: ``mean``, ``25%``, ``0.5``; to be
    asked for every column. None for other names.

    >>> statistic_without_column("std")("cost"), statistic_without_column("cost")
    (CellStatistic(kind='sd', words=('cost',)), None)
    >>> statistic_without_column("75%")("cost")
    CellStatistic(kind='quantile', words=('cost', '0.75'))
    """
    kind = _resolve_alias(name)
    if ARGUMENT_COUNTS.get(kind) == (1, 1):
        return lambda column: CellStatistic(kind, (column,))
    match = re.fullmatch(r"(?:q|p)?(\d{1,2}(?:\.\d+)?%|0?\.\d+)|[qp](\d{2})", name.lower())
    if match is None:
        return None
    quantile = match[1] or f"{match[2]}%"
    level = float(quantile.rstrip("%"))
    if quantile.endswith("%"):
        level /= 100
    if not 0 < level < 1:
        return None
    return lambda column: CellStatistic("quantile", (column, f"{level:g}"))


def step_of(values: Floats) -> float:
    """The power of ten that numbers were rounded to: the largest that all are multiples of; 0 where
    there is none.

    >>> (
    ...     step_of(np.array([1200.0, 300.0])),
    ...     step_of(np.array([0.25, 1.5])),
    ...     step_of(np.array([np.pi])),
    ... )
    (100.0, 0.01, 0.0)
    """
    numbers = values[np.isfinite(values) & (values != 0)]
    if not len(numbers):
        return 0.0
    # From the coarsest step to the finest, so that the first that fits is the largest.
    for power in range(12, -10, -1):
        # Multiplying by 1000 is exact where dividing by 0.001 is not.
        if power <= 0:
            scaled = numbers * 10.0**-power
        else:
            scaled = numbers / 10.0**power
        # Relative to the number: doubles have about 16 digits.
        if np.all(np.abs(scaled - np.round(scaled)) <= 1e-13 * np.abs(scaled)):
            return float(10.0**power)
    return 0.0


def agrees(
    released: Floats, recomputed: Floats, *, guessed: bool = False, rounded: float = 1.0
) -> Mask:
    """Whether numbers are those computed again, but for rounding; where nothing is told there is
    nothing to compare.

    What a column tells is not guessed from numbers that are rounded by more than a twentieth.
    ``rounded`` is how far numbers may be rounded at most, as a share of the largest: a highest
    value of 100 is no mean of 60 that was rounded to hundreds.
    """
    # Half of the last digit that is told, and a little for the order of summation.
    size = np.abs(recomputed)
    slack = 0.5 * step_of(released) * (1 + 1e-9) + 1e-7 * np.maximum(1e-9, size)
    slack = np.minimum(slack, rounded * size[np.isfinite(size)].max(initial=0.0) + 1e-7)
    if guessed:
        slack = np.minimum(slack, 0.05 * size + 1e-7)
    near: Mask = np.isnan(released) | (np.abs(released - recomputed) <= slack)
    return near


def compute_statistic(
    statistic: CellStatistic, members: CellMembers, records: ContributingRecords, by: Sequence[str]
) -> Floats:
    """The statistic of every cell from the records; NaN where there are none. Means and sums are
    weighted, where there is a weight.
    """
    kind = statistic.kind
    if kind == "count":
        if statistic.column is None:
            having = None
        else:
            having = records.has_value(statistic.column)
        return members.persons(records, having).astype(np.float64)
    if kind == "rows":
        return _sum_cells(members, records.weights)
    if kind == "percent":
        count = members.persons(records).astype(np.float64)
        with np.errstate(all="ignore"):
            return 100 * count / percent_base(statistic, members, records, by)
    if kind == "ratio":
        above, below = (records.numbers(name) * records.weights for name in statistic.words)
        with np.errstate(all="ignore"):
            return _sum_cells(members, above) / _sum_cells(members, below)
    column = str(statistic.column)
    if kind in LABELLED:
        values = records.ordered(column)
    else:
        values = records.numbers(column)
    formula = _formula(statistic, pl.col("x"), pl.col("w"), weighted=records.weight is not None)
    # A sum or a number of values over nobody is zero, a mean is none.
    empty = 0.0 if kind in ("sum", "unique", "freq") else np.nan
    return _apply_formula(formula, members, records, values, empty)


def percent_base(
    statistic: CellStatistic, members: CellMembers, records: ContributingRecords, by: Sequence[str]
) -> Floats:
    """What a percentage is of: all persons, or those with the same values of the columns it
    names.
    """
    if not statistic.words:
        return np.full(members.size, float(records.persons))
    for word in statistic.words:
        if word not in by:
            raise ParameterError(f"percent takes columns of the table.{did_you_mean(word, by)}")
    base = np.full(members.size, np.nan)
    margins = np.stack([members.margins[list(by).index(word)] for word in statistic.words])
    for pattern in np.unique(margins, axis=1).T:  # a margin of a column is within all of its values
        within = [word for word, margin in zip(statistic.words, pattern, strict=True) if not margin]
        alike = (margins == pattern[:, None]).all(axis=0)[members.cell]
        base[members.cell[alike]] = _persons_alike(within, records)[members.row[alike]]
    return base


def _persons_alike(names: Sequence[str], records: ContributingRecords) -> Codes:
    """Per row of the data the persons with the same values of some columns; without columns all."""
    if not names:
        return np.full(len(records), records.persons, dtype=np.int64)
    frame = pl.DataFrame({name: records.dataset.encoded(name).codes for name in names})
    ranks = frame.select(pl.struct(pl.all()).rank("dense").alias("group"))["group"]
    group = ranks.to_numpy().astype(np.int64) - 1
    # A pair (group, person) as one number, each once: persons are counted, not rows.
    pairs = distinct(group * records.person_bound + records.person_ids) // records.person_bound
    counts: Codes = np.bincount(pairs, minlength=int(group.max(initial=0)) + 1)[group]
    return counts


def _sum_cells(members: CellMembers, values: Floats) -> Floats:
    """The sum of every cell; a missing value adds nothing."""
    amounts = np.where(np.isnan(values), 0.0, values)[members.row]
    sums = np.bincount(members.cell, weights=amounts, minlength=members.size)
    return sums.astype(np.float64)


def _formula(statistic: CellStatistic, x: pl.Expr, w: pl.Expr, *, weighted: bool) -> pl.Expr:
    """A statistic of known values and their weights."""
    if weighted:
        mean = (x * w).sum() / w.sum()
    else:
        mean = x.mean()
    level = statistic.level if statistic.kind == "quantile" else 0.5
    formulas = {
        "sum": (x * w).sum(),
        "mean": mean,
        "share": mean,
        "sd": x.std(),
        "var": x.var(),
        "se": x.std() / x.count().sqrt(),
        "median": x.median(),
        "quantile": x.quantile(level, "linear"),
        "min": x.min(),
        "max": x.max(),
        "range": x.max() - x.min(),
        # Of several that are as common the least, so that the answer is always the same.
        "mode": x.mode().min(),
        "unique": x.n_unique(),
        "freq": x.value_counts().struct.field("count").max(),
    }
    return formulas[statistic.kind]


def _apply_formula(
    formula: pl.Expr,
    members: CellMembers,
    records: ContributingRecords,
    values: Floats,
    empty: float,
) -> Floats:
    """A formula of the known values ``x`` and weights ``w`` of every cell; ``empty`` where there
    are none.
    """
    # Formulas of polars skip null and not NaN, so missing values are taken out here.
    present = ~np.isnan(values[members.row])
    rows = members.row[present]
    frame = pl.DataFrame(
        {"cell": members.cell[present], "x": values[rows], "w": records.weights[rows]}
    )
    groups = frame.group_by("cell").agg(formula.cast(pl.Float64).alias("value"))
    results = np.full(members.size, empty)
    results[groups["cell"].to_numpy()] = groups["value"].fill_null(float("nan")).to_numpy()
    return results


def fits(
    statistic: CellStatistic,
    released: Floats,
    members: CellMembers,
    records: ContributingRecords,
    by: Sequence[str],
    *,
    guessed: bool = False,
) -> bool:
    """Whether a column holds this statistic of the records, up to rounding and to what people mean
    by it.

    Shares may be told in percent, deviations divided by n, and percentiles be any number between
    the two values they lie between.
    """
    variants: Iterable[Floats] = _variants(statistic, members, records, by, released)
    # A guess takes the usual formula only, except where no formula is the usual one.
    counts_column = statistic.kind == "count" and statistic.column is not None
    if guessed and statistic.kind not in ("percent", "share") and not counts_column:
        variants = itertools.islice(variants, 1)
    # Percentiles may be rounded as far as they must be, sums and means least.
    rounded = 0.25
    if statistic.kind in QUANTILES:
        rounded = 1.0
    elif statistic.kind in AMOUNTS:
        rounded = 0.1
    for recomputed in variants:
        # A cell of nobody may be told as nothing or as zero.
        values = np.where(np.isnan(recomputed) & (released == 0), np.nan, released)
        equal = agrees(values, recomputed, guessed=guessed, rounded=rounded)
        if bool(equal[members.in_data].all()):
            return True
    return False


def _variants(
    statistic: CellStatistic,
    members: CellMembers,
    records: ContributingRecords,
    by: Sequence[str],
    released: Floats,
) -> Iterator[Floats]:
    """The ways to compute a statistic that are in use, the usual one first."""
    usual = compute_statistic(statistic, members, records, by)
    yield usual
    kind, column, x = statistic.kind, statistic.column, pl.col("x")
    if kind == "count" and column is not None:
        # Rows, as describe() counts; what is judged are persons.
        yield _sum_cells(members, records.has_value(column).astype(np.float64))
    elif kind == "percent":
        yield usual / 100
        if records.unit is not None:
            rows = dataclasses.replace(records, unit=None)
            with np.errstate(all="ignore"):
                shares = _sum_cells(members, np.ones(len(records))) / percent_base(
                    statistic, members, rows, by
                )
            yield 100 * shares
            yield shares
    elif kind == "share":
        yield usual * 100
    elif kind in ("sd", "var"):
        formula = x.std(ddof=0) if kind == "sd" else x.var(ddof=0)
        yield _apply_formula(formula, members, records, records.numbers(str(column)), np.nan)
    elif kind in QUANTILES:
        values = records.numbers(str(column))
        low = _apply_formula(x.quantile(statistic.level, "lower"), members, records, values, np.nan)
        high = _apply_formula(
            x.quantile(statistic.level, "higher"), members, records, values, np.nan
        )
        # Anything between both neighbours is a percentile by some definition: it is compared with
        # itself.
        yield np.clip(released, low, high)
    elif kind == "mode":  # of several that are as common, any
        equal = records.ordered(str(column))[members.row] == released[members.cell]
        frequency = np.bincount(members.cell[equal], minlength=members.size)
        largest = CellStatistic("freq", statistic.words)
        commonest = frequency == compute_statistic(largest, members, records, by)
        yield np.where(commonest, released, usual)


def find_statistics(
    name: str,
    released: Floats,
    members: CellMembers,
    records: ContributingRecords,
    by: Sequence[str],
    *,
    widely: bool = True,
) -> list[CellStatistic]:
    """What a column tells, from its name and confirmed by the records, or by trying: all that fit,
    since nobody knows which is meant.

    ``widely`` also tries statistics of columns that the name says nothing of.
    """
    columns = records.dataset.columns

    def fitting(candidates: Iterable[CellStatistic], *, guessed: bool) -> Iterator[CellStatistic]:
        for statistic in candidates:
            if fits(statistic, released, members, records, by, guessed=guessed):
                yield statistic

    # First what the name says, then the usual statistics of a column of that name.
    readings = statistics_in_name(name, columns)
    candidates = [statistic for statistic in readings if _can_be(statistic, records)]
    matches = list(itertools.islice(fitting(candidates, guessed=False), 1))
    if not matches and name in columns and records.is_numeric(name):
        guesses = [CellStatistic(kind, (name,)) for kind in GUESSES]
        matches = list(fitting(guesses, guessed=True))
        if not matches and records.is_binary(name):
            matches = list(fitting([CellStatistic("share", (name,))], guessed=True))
    if not matches and (make_statistic := statistic_without_column(name)) is not None:
        matches = list(fitting(statistics_of_any_column(make_statistic, records), guessed=True))
    # What is called a mean is no count by chance.
    says_amount = any(statistic.column and statistic.kind != "count" for statistic in candidates)
    if matches or says_amount:
        return matches
    counting = [CellStatistic("count"), CellStatistic("rows"), *percentages(by)]
    matches = list(itertools.islice(fitting(counting, guessed=True), 1))
    if not matches and widely:
        matches = list(fitting(_likely_statistics(released, members, records, by), guessed=True))
    return matches


def statistics_of_any_column(
    make_statistic: Callable[[str], CellStatistic], records: ContributingRecords
) -> list[CellStatistic]:
    """A statistic of every column that can have it."""
    of_text = make_statistic("").kind in LABELLED
    columns = [
        name
        for name in records.dataset.columns
        if records.is_finite(name) or (of_text and not records.is_numeric(name))
    ]
    return [make_statistic(name) for name in columns[:MOST_COLUMNS]]


def percentages(by: Sequence[str]) -> list[CellStatistic]:
    """What a share of persons may be of: all, or those with one value of a column that makes
    cells.
    """
    shares = [CellStatistic("percent")]
    if len(by) > 1:
        shares += [CellStatistic("percent", (name,)) for name in by]
    return shares


def _likely_statistics(
    released: Floats, members: CellMembers, records: ContributingRecords, by: Sequence[str]
) -> list[CellStatistic]:
    """Statistics of all columns that a column with a name of its own may tell: those that fit one
    cell, since few do.
    """
    # Numbers with few digits fit something by chance.
    visible_values = released[members.in_data]
    values = np.unique(np.abs(visible_values[np.isfinite(visible_values) & (visible_values != 0)]))
    step = max(step_of(values), 1e-300)
    # How many digits every number has: 1234.5 told to tenths has about four.
    digits = np.minimum(15.0, np.log10(np.maximum(1.0, values / step)))
    if digits.sum() < ENOUGH_DIGITS:
        return []
    names = [name for name in records.dataset.columns if name not in (records.unit, *by)]
    names = names[:MOST_COLUMNS]
    numeric = [name for name in names if records.is_finite(name)]
    candidates = [
        CellStatistic(kind, (name,)) for name, kind in itertools.product(numeric, GUESSES)
    ]
    for name, level in itertools.product(numeric, LEVELS):
        candidates.append(CellStatistic("quantile", (name, level)))
    likely = _fitting_smallest_cell(candidates, released, members, records)
    for name in names:
        if not records.has_value(name).all():
            likely.append(CellStatistic("count", (name,)))
    return likely


def _fitting_smallest_cell(
    candidates: Sequence[CellStatistic],
    released: Floats,
    members: CellMembers,
    records: ContributingRecords,
) -> list[CellStatistic]:
    """Those of some statistics that fit the smallest cell: computed all at once, since most do
    not.
    """
    sizes = np.bincount(members.cell, minlength=members.size).astype(np.float64)
    # Cells that are not shown, or empty, cannot tell what the column is.
    sizes[~members.in_data | np.isnan(released) | (sizes == 0)] = np.inf
    cell = int(np.argmin(sizes))
    if not np.isfinite(sizes[cell]) or not candidates:
        return []
    rows = members.row[members.cell == cell]
    columns = {str(statistic.column) for statistic in candidates}
    # Columns get a prefix, so that none is called like the weight.
    values = {f"x {name}": records.numbers(name)[rows] for name in columns}
    frame = pl.DataFrame(values).fill_nan(None)
    frame = frame.with_columns(pl.Series("w", records.weights[rows]))
    formulas = []
    for number, statistic in enumerate(candidates):
        x = pl.col(f"x {statistic.column}")
        w = pl.when(x.is_not_null()).then(pl.col("w"))
        formula = _formula(statistic, x, w, weighted=records.weight is not None)
        formulas.append(formula.cast(pl.Float64).alias(f"{number}"))
    recomputed = frame.select(formulas).row(0)
    likely = []
    for statistic, value in zip(candidates, recomputed, strict=True):
        expected = np.array([np.nan if value is None else value])
        if agrees(released[[cell]], expected, guessed=True)[0]:
            likely.append(statistic)
    return likely


def _can_be(statistic: CellStatistic, records: ContributingRecords) -> bool:
    """Whether the data have the columns that a statistic takes."""
    if statistic.kind == "percent":
        return True
    of_text = statistic.kind == "count" or statistic.kind in LABELLED
    for name in statistic.columns:
        if name not in records.dataset.columns:
            return False
        if not of_text and not records.is_numeric(name):
            return False
    return True
