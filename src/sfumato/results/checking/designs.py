"""The matrix of a model: whom its terms single out, who decides a coefficient, and when it is a
table of means in disguise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.results.checking.contributing_records import CellRows, how_many
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    broken,
    open_question,
    passed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOO_MUCH_WORK = 4e10
"""Multiplications beyond which leverages are not computed."""
SURE = 1 - 1e-7
MOST_OF_FEW, MANY = 0.9, 5
"""The share of the weight in a coefficient beyond which those who have it decide it; looked at
where there are several times as many persons as are few.
"""


def judge_design(
    design: NDArray[np.float64],
    answer: NDArray[np.float64] | None,
    who: NDArray[np.int64],
    rules: OutputRules,
    names: Sequence[str] = (),
    weights: NDArray[np.float64] | None = None,
) -> list[OutputReason]:
    """What the matrix of a model gives away: levels of few persons, cells of a saturated model,
    persons who decide a coefficient alone or have all of the weight.
    """
    rare = rare_columns(design, who, rules.threshold)
    reasons: list[OutputReason] = []
    bases = rare_bases(design, who, rules.threshold, names)
    if bases:
        reasons.append(
            broken(
                "levels",
                f"the level that others are compared with is that of fewer than {rules.threshold}"
                f" persons (columns: {bases:,})",
                "compare with a common level",
            )
        )
    if rare:
        reasons.append(
            broken(
                "levels",
                f"{len(rare):,} of {design.shape[1]:,} terms of the model single out fewer than"
                f" {rules.threshold} persons",
                "join rare levels before fitting",
            )
        )
    if (cell := cells_of_design(design, design.shape[1])) is not None:
        cells = int(cell.max(initial=-1)) + 1
        if cells == np.linalg.matrix_rank(design):
            reasons += _saturated(cell, cells, answer, who, rules)
    if (
        weights is not None
        and np.ptp(weights) > 0
        and weights.sum() ** 2 < (rules.threshold - 1e-9) * _squares(weights, who)
    ):
        words = f"fewer than {rules.threshold} persons have nearly all of the weight in the model"
        reasons.append(broken("dominance", words, "fit it with more even weights"))
    design = design if weights is None else design * np.sqrt(weights)[:, None]
    alone = deciding(design)
    if alone is None:
        reasons.append(
            open_question(
                "leverage",
                "the model is too large to see whether somebody decides a coefficient alone",
                "fit fewer terms",
            )
        )
    elif alone and not rare:
        reasons.append(
            broken(
                "leverage",
                f"some records ({alone:,}) decide a coefficient alone",
                "join rare levels, or leave terms out",
            )
        )
    elif not rare and not bases:
        table = any(
            one.rule == "saturated" for one in reasons
        )  # judged as one: the answer was looked at
        reasons += _decided_by_few(design, None if table else answer, who, rules)
    if not reasons:
        reasons.append(
            passed(
                "levels",
                f"every term is about at least {rules.threshold} persons, and nobody decides a"
                " coefficient alone",
            )
        )
    return reasons


def judge_outcome(
    outcome: NDArray[np.float64],
    design: NDArray[np.float64],
    who: NDArray[np.int64],
    rules: OutputRules,
    names: Sequence[str] = (),
    *,
    kinds: bool = False,
    of_events: bool = False,
) -> list[OutputReason]:
    r"""What a model tells of its outcome: one that few persons have, or few (or nobody, or all) of
    those whom a term is about.

    Of yes and no, and of ``kinds``, the equations of the fit tell how many of everybody with a
    level have each: :math:`\sum_{x_i = 1} \mu_i = \sum_{x_i = 1} y_i`. ``of_events``: only those to
    whom it happened are told of, not those who left before.
    """
    values = np.ones(1) if of_events else np.unique(outcome)
    if len(values) > 2 and not kinds:
        if not rare_columns(outcome[:, None], who, rules.threshold):
            return []
        words = (
            f"all but fewer than {rules.threshold} persons have the same outcome: the model tells"
            " of these"
        )
        return [broken("outcome", words, "explain something that more persons differ in")]
    sides = [outcome == one for one in values]
    if any(how_many(who[one]) < rules.threshold for one in sides):
        words = f"some outcomes are those of fewer than {rules.threshold} persons"
        return [broken("outcome", words, "join outcomes, or explain a commoner one")]
    levels = _levels(design, names)
    group_sizes = [how_many(who[level & side]) for level in levels for side in sides]
    if rules.zeros and 0 in group_sizes:
        words = "nobody with some level has some outcome, or all have it, and the model tells so"
        return [broken("separation", words, "leave these terms out, or join levels")]
    if any(rules.small(one) for one in group_sizes):
        words = (
            f"fewer than {rules.threshold} persons with some level have some outcome: the model"
            " tells how many to who knows the levels of all"
        )
        return [open_question("outcome", words, "join rare levels or outcomes")]
    return []


def _levels(design: NDArray[np.float64], names: Sequence[str]) -> list[NDArray[np.bool_]]:
    """The rows that terms of two values, and the bases of dummies that belong together, are
    about.
    """
    levels: list[NDArray[np.bool_]] = []
    for column in design.T:
        values = np.unique(column)
        levels += [column == one for one in values] if len(values) == 2 else []
    return levels + [one == 0 for one in _dummies(design, names) if (one == 0).any()]


def judge_quantiles(
    x: NDArray[np.float64],
    answer: NDArray[np.float64],
    beta: NDArray[np.float64],
    rules: OutputRules,
) -> list[OutputReason]:
    """A regression of percentiles goes exactly through as many values as it has coefficients
    (Koenker and Bassett 1978, doi:10.2307/1913643): of levels alone it is a table of percentiles,
    told exactly.
    """
    near = np.abs(answer - x @ beta) <= 1e-3 * (np.std(answer) or 1.0)
    cell = cells_of_design(x, x.shape[1])
    if cell is not None and (np.bincount(cell, weights=near) < rules.threshold).any():
        words = (
            "the model tells percentiles of its levels so exactly that fewer than"
            f" {rules.threshold} persons are near"
        )
        return [broken("exact", words, "tell percentiles as a table, rounded")]
    words = (
        "a regression of percentiles goes through the values of some persons exactly, and is not"
        " computed again here"
    )
    return [open_question("recomputed", words, "somebody must look at how it was fitted")]


def _squares(weights: NDArray[np.float64], who: NDArray[np.int64]) -> float:
    """The squares of what persons weigh, summed."""
    return float((np.bincount(who, weights=weights) ** 2).sum())


def _decided_by_few(
    design: NDArray[np.float64],
    answer: NDArray[np.float64] | None,
    who: NDArray[np.int64],
    rules: OutputRules,
) -> list[OutputReason]:
    """Terms that are about few persons, however they are coded: those few have nearly all of the
    weight in a coefficient, or nearly all of what it is summed from.
    """
    owned = 0 if answer is None else _summed_from_few(design, answer, who, rules)
    if owned:
        words = (
            f"{owned:,} of {design.shape[1]:,} coefficients are made up by the values of"
            f" {rules.dominant} persons or fewer"
        )
        return [broken("dominance", words, "cut off extreme values, or explain a logarithm")]
    largest = weights_in_coefficients(design, who, rules.threshold - 1)
    two = int((largest[: rules.dominant].sum(axis=0) > rules.share / 100).sum())
    few = int((largest.sum(axis=0) > MOST_OF_FEW).sum())
    if two:
        words = (
            f"{two:,} of {design.shape[1]:,} coefficients are decided by {rules.dominant} persons"
            " or fewer"
        )
        return [broken("leverage", words, "join rare levels, or leave terms out")]
    if few and how_many(who) >= MANY * rules.threshold:
        words = (
            f"{few:,} of {design.shape[1]:,} coefficients are decided nearly alone by fewer than"
            f" {rules.threshold} persons"
        )
        return [
            open_question(
                "leverage", words, "join rare levels, cut off extreme values, or leave terms out"
            )
        ]
    return []


def weights_in_coefficients(
    design: NDArray[np.float64], who: NDArray[np.int64], most: int
) -> NDArray[np.float64]:
    r"""Per coefficient the shares of the persons who weigh most in it, falling.

    A coefficient is :math:`\hat\beta_j = \sum_i m_{ij} y_i` with :math:`M = X (X^\top X)^{+}`; a
    person has the share :math:`\sum_{i} m_{ij}^2` of its records in that of all.

    >>> dummy = np.r_[1.0, 1.0, np.zeros(98)]
    >>> weights_in_coefficients(np.column_stack([np.ones(100), dummy]), np.arange(100), 2).sum(
    ...     axis=0
    ... ).round(2).tolist()
    [0.02, 0.98]
    """
    return largest_shares(_in_coefficients(design) ** 2, who, most)


def _in_coefficients(design: NDArray[np.float64]) -> NDArray[np.float64]:
    """What every row weighs in every coefficient, up to the scale of its column."""
    scale = np.sqrt((design**2).mean(axis=0))
    scaled = design / np.where(scale > 0, scale, 1.0)
    solution: NDArray[np.float64] = scaled @ np.linalg.pinv(scaled.T @ scaled, hermitian=True)
    return solution


def largest_shares(
    amounts: NDArray[np.float64], who: NDArray[np.int64], most: int
) -> NDArray[np.float64]:
    """Per column the largest shares that persons have in it, falling."""
    persons = np.zeros((int(who.max(initial=0)) + 1, amounts.shape[1]))
    np.add.at(persons, who, amounts)
    total = persons.sum(axis=0)
    shares: NDArray[np.float64] = -np.sort(-persons, axis=0)[:most] / np.where(
        total > 0, total, 1.0
    )
    return shares


def _summed_from_few(
    design: NDArray[np.float64],
    answer: NDArray[np.float64],
    who: NDArray[np.int64],
    rules: OutputRules,
) -> int:
    r"""Coefficients of which few persons make up nearly all: the shares
    of :math:`|m_{ij} (y_i - \tilde y)|`, with the median as what everybody has.
    """
    parts = np.abs(_in_coefficients(design) * (answer - np.median(answer))[:, None])
    if np.isin(answer, (0.0, 1.0)).all():
        return 0
    return int((largest_shares(parts, who, rules.dominant).sum(axis=0) > rules.share / 100).sum())


def rare_columns(design: NDArray[np.float64], who: NDArray[np.int64], least: int) -> list[int]:
    """Columns that differ from their commonest value for somebody, but for fewer than ``least``
    persons; a constant differs for nobody.

    >>> dummy = np.r_[np.ones(3), np.zeros(20)]
    >>> rare_columns(np.column_stack([np.ones(23), dummy, np.arange(23.0)]), np.arange(23), 10)
    [1]
    """
    rare = []
    for place, column in enumerate(design.T):
        values, counts = np.unique(column, return_counts=True)
        if len(values) == 1:
            continue
        others = column != values[np.argmax(counts)]
        sides = [others] if len(values) > 2 else [others, ~others]
        if any(how_many(who[side]) < least for side in sides):
            rare.append(place)
    return rare


LEVEL = re.compile(r"(?P<column>.+?)(?:\[(?:T\.)?[^\]]*\]|_[^_]+)")


def rare_bases(
    design: NDArray[np.float64], who: NDArray[np.int64], least: int, names: Sequence[str]
) -> int:
    """Columns whose base level, where all their dummies are zero, is that of somebody, but of fewer
    than ``least`` persons.

    Dummies belong together when they are called so (``region[T.south]``, ``region_south``) and no
    record has two of them.
    """
    bases = [how_many(who[one == 0]) for one in _dummies(design, names)]
    return sum(0 < one < least for one in bases)


def _dummies(design: NDArray[np.float64], names: Sequence[str]) -> list[NDArray[np.float64]]:
    """The sums of dummies that belong together."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        if (
            ":" not in name
            and (match := LEVEL.fullmatch(name))
            and np.isin(design[:, place], (0.0, 1.0)).all()
        ):
            groups.setdefault(match["column"], []).append(place)
    sums = [design[:, places].sum(axis=1) for places in groups.values()]
    return [one for one in sums if one.max(initial=0) <= 1]


def cells_of_design(design: NDArray[np.float64], most: int) -> NDArray[np.int64] | None:
    """Per row the number of its combination of values; None where there are more than ``most``
    combinations.

    >>> cells_of_design(np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 0.0]]), 2)
    array([0, 1, 0])
    """
    cell = np.zeros(len(design), dtype=np.int64)
    for column in design.T:
        values, place = np.unique(column, return_inverse=True)
        if len(values) > most:
            return None
        _, cell = np.unique(cell * len(values) + place.reshape(-1), return_inverse=True)
        if int(cell.max(initial=-1)) >= most:
            return None
    return cell.astype(np.int64)


def _saturated(
    cell: NDArray[np.int64],
    cells: int,
    answer: NDArray[np.float64] | None,
    who: NDArray[np.int64],
    rules: OutputRules,
) -> list[OutputReason]:
    """A model with a coefficient for every combination of its values is a table of means, and
    judged as one.
    """
    belongs = CellRows(
        np.arange(len(cell)), cell, cells, np.ones(cells, dtype=bool), np.zeros(cells, dtype=bool)
    )
    behind = _Rows(who)
    values = np.ones(len(cell)) if answer is None else answer
    table = belongs.contributions(behind, values, max(2, rules.dominant))  # type: ignore[arg-type]
    rules_used = rules.of_counts if answer is None else (*rules.of_counts, *rules.of_amounts)
    unsafe = np.logical_or.reduce([rule.unsafe(table) for rule in rules_used])
    if answer is not None and np.isin(answer, (0.0, 1.0)).all():  # of yes and no, both sides count
        sides = [
            belongs.persons(behind, answer == side)  # type: ignore[arg-type]
            for side in (0.0, 1.0)
        ]
        unsafe |= np.minimum(*sides) < rules.threshold
    if unsafe.any():
        return [
            broken(
                "saturated",
                "the model has a coefficient for every combination: it is a table of means, and"
                f" {int(unsafe.sum()):,} of its {cells:,} cells are unsafe",
                "leave out interactions, or join rare levels",
            )
        ]
    return [
        passed(
            "saturated", f"the model is a table of means, and all of its {cells:,} cells are safe"
        )
    ]


class _Rows:
    """Persons of rows, where there is no table beside them."""

    unit = "person"

    def __init__(self, who: NDArray[np.int64]) -> None:
        self.who = who
        self.people = int(who.max(initial=0)) + 1


def deciding(design: NDArray[np.float64]) -> int | None:
    r"""Records whose fitted value is their own:
    leverage :math:`h_{ii} = x_i^\top (X^\top X)^{+} x_i` of one; None for very large models.
    """
    rows, columns = design.shape
    if rows * columns**2 > TOO_MUCH_WORK:
        return None
    scale = np.sqrt((design**2).mean(axis=0))
    scaled = design / np.where(scale > 0, scale, 1.0)
    leverage = np.einsum(
        "ij,ij->i", scaled @ np.linalg.pinv(scaled.T @ scaled, hermitian=True), scaled
    )
    return int((leverage >= SURE).sum())
