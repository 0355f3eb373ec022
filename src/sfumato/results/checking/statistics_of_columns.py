"""What a column of a table tells: a statistic by its text, by its name, or found by computing it
again.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.words import inflect
from sfumato.errors import ParameterError, did_you_mean
from sfumato.results.checking.contributing_records import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.checking.contributing_records import Behind, CellRows

FORM = re.compile(r"\s*([a-z_]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
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
TAKES = {
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
"""Every statistic and how many words it takes."""
QUANTILES = ("median", "quantile")
EXTREMES = ("min", "max", "range", "mode")
LABELLED = ("min", "max", "mode", "unique", "freq")
"""What can be told of a column of text, too: ``unique`` is how many values it has, ``freq`` how
often the commonest occurs.
"""
AMOUNTS = ("sum", "mean", "sd", "var", "se", "ratio", "share")
TRIED = ("max", "min", "range", "median", "mean", "sum", "sd", "var", "se")
"""What a column is tried for that is called like one of the data and nothing more is said of; where
several fit, all are judged.
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
        match = FORM.fullmatch(
            text.lower()
            if "(" not in text
            else text[: text.index("(")].lower() + text[text.index("(") :]
        )
        kind = ALIASES.get(match[1], match[1]) if match else ""
        if match is None or kind not in TAKES:
            raise ParameterError(
                f"a column tells one of {', '.join(TAKES)}, such as"
                f" mean(cost).{did_you_mean(kind, TAKES) if kind else ''}"
            )
        words = tuple(word.strip() for word in (match[2] or "").split(",") if word.strip())
        least, most = TAKES[kind]
        if not least <= len(words) <= most:
            raise ParameterError(
                f"{kind} takes {least} {inflect(least, 'column', 'words')}, such as"
                f" {_example(kind)}"
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
        return self.words[0] if self.words and self.kind != "percent" else None

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns it takes."""
        return self.words[:1] if self.kind == "quantile" else self.words

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
        return f"{self.kind}({', '.join(self.words)})" if self.words else self.kind


def _parsed(text: str) -> CellStatistic | None:
    try:
        return CellStatistic.of(text)
    except ParameterError:
        return None


def _example(kind: str) -> str:
    return {"quantile": "quantile(cost, 0.25)", "ratio": "ratio(cost, days)"}.get(
        kind, f"{kind}(cost)"
    )


def named(name: str, columns: Sequence[str]) -> Iterator[CellStatistic]:
    """What a name says: ``mean(cost)``, ``cost_mean``, ``mean_cost``, ``n``."""
    if (statistic := _parsed(name)) is not None:
        yield statistic
    for column in sorted(columns, key=len, reverse=True):
        affix = ""  # what is left of the name beside the column: `mean` of `cost_mean`
        if name.startswith(column):
            affix = name.removeprefix(column)
        elif name.endswith(column):
            affix = name.removesuffix(column)
        affix = affix.strip("_ .:").lower()
        kind = ALIASES.get(affix, affix)
        if kind in TAKES and (TAKES[kind][0] == 1 or kind == "count"):
            yield CellStatistic(kind, (column,))
        elif match := re.fullmatch(r"(?:q|p)?(\d{1,2}|0?\.\d+)%?", affix):
            level = float(match[1])
            yield CellStatistic("quantile", (column, f"{level / 100 if level >= 1 else level:g}"))


def bare(name: str) -> Callable[[str], CellStatistic] | None:
    """What a name says that names a statistic and no column: ``mean``, ``25%``, ``0.5``; to be
    asked for every column. None for other names.

    >>> bare("std")("cost"), bare("75%")("cost"), bare("cost")
    (CellStatistic(kind='sd', words=('cost',)), CellStatistic(kind='quantile', words=('cost',
    '0.75')), None)
    """
    kind = ALIASES.get(name.lower(), name.lower())
    if TAKES.get(kind) == (1, 1):
        return lambda column: CellStatistic(kind, (column,))
    if match := re.fullmatch(r"(?:q|p)?(\d{1,2}(?:\.\d+)?%|0?\.\d+)|[qp](\d{2})", name.lower()):
        quantile = match[1] or f"{match[2]}%"
        level = float(quantile.rstrip("%")) / (100 if quantile.endswith("%") else 1)
        return (
            (lambda column: CellStatistic("quantile", (column, f"{level:g}")))
            if 0 < level < 1
            else None
        )
    return None


MOST_TRIED = 60
"""Columns beyond which nothing is guessed."""


def step_of(values: NDArray[np.float64]) -> float:
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
    for power in range(12, -10, -1):
        scaled = numbers * 10.0**-power if power <= 0 else numbers / 10.0**power
        if len(numbers) and np.all(np.abs(scaled - np.round(scaled)) <= 1e-13 * np.abs(scaled)):
            return float(10.0**power)
    return 0.0


def agrees(
    released: NDArray[np.float64],
    again: NDArray[np.float64],
    *,
    guessed: bool = False,
    rounded: float = 1.0,
) -> NDArray[np.bool_]:
    """Whether numbers are those computed again, but for rounding; where nothing is told there is
    nothing to compare.

    What a column tells is not guessed from numbers that are rounded by more than a twentieth.
    ``rounded`` is how far numbers may be rounded at most, as a share of the largest: a highest
    value of 100 is no mean of 60 that was rounded to hundreds.
    """
    slack = 0.5 * step_of(released) * (1 + 1e-9) + 1e-7 * np.maximum(1e-9, np.abs(again))
    slack = np.minimum(slack, rounded * np.abs(again[np.isfinite(again)]).max(initial=0.0) + 1e-7)
    if guessed:
        slack = np.minimum(slack, 0.05 * np.abs(again) + 1e-7)
    near: NDArray[np.bool_] = np.isnan(released) | (np.abs(released - again) <= slack)
    return near


def computed(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, by: Sequence[str]
) -> NDArray[np.float64]:
    """The statistic of every cell from the records; NaN where there are none. Means and sums are
    weighted, where there is a weight.
    """
    kind = statistic.kind
    if kind == "count":
        having = None if statistic.column is None else behind.there(statistic.column)
        return belongs.persons(behind, having).astype(np.float64)
    if kind == "rows":
        return _summed(belongs, behind.weights)
    if kind == "percent":
        count = belongs.persons(behind).astype(np.float64)
        with np.errstate(all="ignore"):
            return 100 * count / whole_of(statistic, belongs, behind, by)
    if kind == "ratio":
        above, below = (_sums(belongs, behind, behind.numbers(name)) for name in statistic.words)
        with np.errstate(all="ignore"):
            return above / below
    return _of_values(statistic, belongs, behind)


def whole_of(
    statistic: CellStatistic, belongs: CellRows, behind: Behind, by: Sequence[str]
) -> NDArray[np.float64]:
    """What a percentage is of: all persons, or those with the same values of the columns it
    names.
    """
    if not statistic.words:
        return np.full(belongs.size, float(behind.persons))
    unknown = [word for word in statistic.words if word not in by]
    if unknown:
        raise ParameterError(f"percent takes columns of the table.{did_you_mean(unknown[0], by)}")
    whole = np.full(belongs.size, np.nan)
    summed = np.stack([belongs.margins[list(by).index(word)] for word in statistic.words])
    for pattern in np.unique(summed, axis=1).T:  # a margin of a column is within all of its values
        within = [
            word for word, over_all in zip(statistic.words, pattern, strict=True) if not over_all
        ]
        here = (summed == pattern[:, None]).all(axis=0)[belongs.cell]
        whole[belongs.cell[here]] = _persons_within(within, behind)[belongs.row[here]]
    return whole


def _persons_within(names: Sequence[str], behind: Behind) -> NDArray[np.int64]:
    """Per row of the data the persons with the same values of some columns; without columns all."""
    if not names:
        return np.full(len(behind), behind.persons, dtype=np.int64)
    frame = pl.DataFrame({name: behind.dataset.encoded(name).codes for name in names})
    group = (
        frame.select(pl.struct(pl.all()).rank("dense").alias("g"))["g"].to_numpy().astype(np.int64)
        - 1
    )
    pairs = distinct(group * behind.people + behind.who) // behind.people
    counts: NDArray[np.int64] = np.bincount(pairs, minlength=int(group.max(initial=0)) + 1)[group]
    return counts


def _sums(belongs: CellRows, behind: Behind, values: NDArray[np.float64]) -> NDArray[np.float64]:
    weighed = np.where(np.isnan(values), 0.0, values) * behind.weights
    return _summed(belongs, weighed)


def _summed(belongs: CellRows, values: NDArray[np.float64]) -> NDArray[np.float64]:
    summed: NDArray[np.float64] = np.bincount(
        belongs.cell, weights=values[belongs.row], minlength=belongs.size
    ).astype(np.float64)
    return summed


def _of_values(statistic: CellStatistic, belongs: CellRows, behind: Behind) -> NDArray[np.float64]:
    column = str(statistic.column)
    values = behind.ordered(column) if statistic.kind in LABELLED else behind.numbers(column)
    formula = _formula(statistic, pl.col("x"), pl.col("w"), weighted=behind.weight is not None)
    nothing = 0.0 if statistic.kind in ("sum", "unique", "freq") else np.nan
    return _grouped(formula, belongs, behind, values, nothing)


def _formula(statistic: CellStatistic, x: pl.Expr, w: pl.Expr, *, weighted: bool) -> pl.Expr:
    """A statistic of known values and their weights."""
    mean = (x * w).sum() / w.sum() if weighted else x.mean()
    formulas: dict[str, Any] = {
        "sum": (x * w).sum(),
        "mean": mean,
        "share": mean,
        "sd": x.std(),
        "var": x.var(),
        "se": x.std() / x.count().sqrt(),
        "median": x.median(),
        "min": x.min(),
        "max": x.max(),
        "range": x.max() - x.min(),
        "mode": x.mode().min(),
        "unique": x.n_unique(),
        "freq": x.value_counts().struct.field("count").max(),
    }
    formulas["quantile"] = x.quantile(
        statistic.level if statistic.kind == "quantile" else 0.5, "linear"
    )
    formula: pl.Expr = formulas[statistic.kind]
    return formula


def _grouped(
    formula: pl.Expr, belongs: CellRows, behind: Behind, values: NDArray[np.float64], nothing: float
) -> NDArray[np.float64]:
    """A formula of the known values ``x`` and weights ``w`` of every cell; ``nothing`` where there
    are none.
    """
    present = ~np.isnan(values[belongs.row])
    rows = belongs.row[present]
    frame = pl.DataFrame(
        {"cell": belongs.cell[present], "x": values[rows], "w": behind.weights[rows]}
    )
    groups = frame.group_by("cell").agg(formula.alias("told"))
    values_of_cells = np.full(belongs.size, nothing)
    values_of_cells[groups["cell"].to_numpy()] = (
        groups["told"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    )
    return values_of_cells


def fits(
    statistic: CellStatistic,
    released: NDArray[np.float64],
    belongs: CellRows,
    behind: Behind,
    by: Sequence[str],
    *,
    guessed: bool = False,
) -> bool:
    """Whether a column holds this statistic of the records, up to rounding and to what people mean
    by it.

    Shares may be told in percent, deviations divided by n, and percentiles be any number between
    the two values they lie between.
    """
    ways = _meant(statistic, belongs, behind, by, released)
    several = statistic.kind in ("percent", "share") or (
        statistic.kind == "count" and statistic.column is not None
    )
    usual = guessed and not several  # a guess takes the usual way only
    for again in itertools.islice(ways, 1) if usual else ways:
        there = np.where(
            np.isnan(again) & (released == 0), np.nan, released
        )  # nobody there: nothing, or zero
        if bool(
            agrees(there, again, guessed=guessed, rounded=_most_rounded(statistic))[
                belongs.known
            ].all()
        ):
            return True
    return False


def _most_rounded(statistic: CellStatistic) -> float:
    """How far a statistic may be rounded, as a share of the largest told; percentiles as far as
    they must be.
    """
    if statistic.kind in QUANTILES:
        return 1.0
    return 0.1 if statistic.kind in AMOUNTS else 0.25


def _meant(
    statistic: CellStatistic,
    belongs: CellRows,
    behind: Behind,
    by: Sequence[str],
    released: NDArray[np.float64],
) -> Iterator[NDArray[np.float64]]:
    """The ways to compute a statistic that are in use."""
    again = computed(statistic, belongs, behind, by)
    yield again
    if (
        statistic.kind == "count" and statistic.column is not None
    ):  # rows, as describe() counts; what is judged are persons
        yield _summed(belongs, behind.there(statistic.column).astype(np.float64))
    elif statistic.kind == "percent":
        yield again / 100
        if behind.unit is not None:
            whole = whole_of(statistic, belongs, dataclasses.replace(behind, unit=None), by)
            with np.errstate(all="ignore"):
                shares = _summed(belongs, np.ones(len(behind))) / whole
            yield 100 * shares
            yield shares
    elif statistic.kind == "share":
        yield again * 100
    elif statistic.kind in ("sd", "var"):
        x, values = pl.col("x"), behind.numbers(str(statistic.column))
        yield _grouped(
            getattr(x, {"sd": "std", "var": "var"}[statistic.kind])(ddof=0),
            belongs,
            behind,
            values,
            np.nan,
        )
    elif statistic.kind in QUANTILES:
        x, values = pl.col("x"), behind.numbers(str(statistic.column))
        ends = [
            _grouped(x.quantile(statistic.level, way), belongs, behind, values, np.nan)
            for way in ("lower", "higher")
        ]
        yield np.clip(released, *ends)
    elif statistic.kind == "mode":  # of several that are as common, any
        often = _occurs(released, belongs, behind, str(statistic.column))
        most = computed(CellStatistic("freq", statistic.words), belongs, behind, by)
        yield np.where(often == most, released, again)


def _occurs(
    released: NDArray[np.float64], belongs: CellRows, behind: Behind, column: str
) -> NDArray[np.float64]:
    """How often what is told of every cell occurs in it."""
    same = behind.ordered(column)[belongs.row] == released[belongs.cell]
    return np.bincount(belongs.cell[same], minlength=belongs.size).astype(np.float64)


def found_by_computing(
    name: str,
    released: NDArray[np.float64],
    belongs: CellRows,
    behind: Behind,
    by: Sequence[str],
    *,
    widely: bool = True,
) -> list[CellStatistic]:
    """What a column tells, from its name and confirmed by the records, or by trying: all that fit,
    since nobody knows which is meant.

    ``widely`` also tries statistics of columns that the name says nothing of.
    """
    columns = behind.dataset.columns
    candidates = [one for one in named(name, columns) if _can_be(one, behind)]
    fitting = [one for one in candidates if fits(one, released, belongs, behind, by)][:1]
    if not fitting and name in columns and behind.is_numeric(name):
        untold = [CellStatistic(kind, (name,)) for kind in TRIED]
        fitting = [one for one in untold if fits(one, released, belongs, behind, by, guessed=True)]
        share = CellStatistic("share", (name,))
        if (
            not fitting
            and _of_yes_and_no(name, behind)
            and fits(share, released, belongs, behind, by, guessed=True)
        ):
            fitting = [share]
    if not fitting and (quantile := bare(name)) is not None:
        text_too = quantile(name).kind in LABELLED
        numeric = [
            one
            for one in columns
            if (text_too and not behind.is_numeric(one)) or behind.is_finite(one)
        ]
        numeric = numeric[:MOST_TRIED]
        fitting = [
            one
            for one in map(quantile, numeric)
            if fits(one, released, belongs, behind, by, guessed=True)
        ]
    if fitting or any(
        one.column is not None and one.kind != "count" for one in candidates
    ):  # what is called a mean is no count by chance
        return fitting
    counting = [CellStatistic("count"), CellStatistic("rows"), *percentages(by)]
    counts = [one for one in counting if fits(one, released, belongs, behind, by, guessed=True)][:1]
    return counts or (_tried(released, belongs, behind, by) if widely else [])


def _of_yes_and_no(name: str, behind: Behind) -> bool:
    values = behind.numbers(name)
    return bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())


def percentages(by: Sequence[str]) -> list[CellStatistic]:
    """What a share of persons may be of: all, or those with one value of a column that makes
    cells.
    """
    return [
        CellStatistic("percent"),
        *(CellStatistic("percent", (one,)) for one in (by if len(by) > 1 else ())),
    ]


LEVELS = ("0.05", "0.1", "0.25", "0.75", "0.9", "0.95")
ENOUGH_DIGITS = 8
"""Digits that numbers must have together before it is tried what they are: with fewer, something
always fits.
"""


def _tried(
    released: NDArray[np.float64], belongs: CellRows, behind: Behind, by: Sequence[str]
) -> list[CellStatistic]:
    """All statistics of all columns that a column with a name of its own may tell; first by one
    cell, since most do not fit there.
    """
    if _digits(released[belongs.known]) < ENOUGH_DIGITS:
        return []
    names = [one for one in behind.dataset.columns if one not in (behind.unit, *by)][:MOST_TRIED]
    numeric = [one for one in names if behind.is_finite(one)]
    candidates = [CellStatistic(kind, (one,)) for one in numeric for kind in TRIED]
    candidates += [CellStatistic("quantile", (one, level)) for one in numeric for level in LEVELS]
    counts = [CellStatistic("count", (one,)) for one in names if not behind.there(one).all()]
    likely = [*_fitting_one_cell(candidates, released, belongs, behind), *counts]
    return [one for one in likely if fits(one, released, belongs, behind, by, guessed=True)]


def _fitting_one_cell(
    candidates: Sequence[CellStatistic],
    released: NDArray[np.float64],
    belongs: CellRows,
    behind: Behind,
) -> list[CellStatistic]:
    """Those of some statistics that fit the smallest cell: computed all at once, since most do
    not.
    """
    sizes = np.bincount(belongs.cell, minlength=belongs.size).astype(np.float64)
    sizes[~belongs.known | np.isnan(released) | (sizes == 0)] = np.inf
    cell = int(np.argmin(sizes))
    if not np.isfinite(sizes[cell]) or not candidates:
        return []
    rows = belongs.row[belongs.cell == cell]
    columns = list(dict.fromkeys(str(one.column) for one in candidates))
    frame = pl.DataFrame(
        {f"{at}": behind.numbers(name)[rows] for at, name in enumerate(columns)}
    ).fill_nan(None)
    frame = frame.with_columns(pl.Series("w", behind.weights[rows]))
    columns_used = [pl.col(f"{columns.index(str(one.column))}") for one in candidates]
    weight = [pl.when(x.is_not_null()).then(pl.col("w")) for x in columns_used]
    frame_of_values = frame.select(
        _formula(one, x, w, weighted=behind.weight is not None).cast(pl.Float64).alias(f"{at}")
        for at, (one, x, w) in enumerate(zip(candidates, columns_used, weight, strict=True))
    ).row(0)
    again = np.array([np.nan if one is None else one for one in frame_of_values])
    near = [
        bool(agrees(released[[cell]], again[[at]], guessed=True)[0])
        for at in range(len(candidates))
    ]
    return [one for one, fitting in zip(candidates, near, strict=True) if fitting]


def _digits(released: NDArray[np.float64]) -> float:
    """How many digits some numbers have together, of those that differ."""
    values = np.unique(np.abs(released[np.isfinite(released) & (released != 0)]))
    step = max(step_of(values), 1e-300)
    return float(np.minimum(15.0, np.log10(np.maximum(1.0, values / step))).sum())


def _can_be(statistic: CellStatistic, behind: Behind) -> bool:
    """Whether the data have the columns that a statistic takes."""
    if statistic.kind == "percent":
        return True
    names = behind.dataset.columns
    any_kind = statistic.kind == "count" or statistic.kind in LABELLED
    return all(
        word in names and (any_kind or behind.is_numeric(word)) for word in statistic.columns
    )
