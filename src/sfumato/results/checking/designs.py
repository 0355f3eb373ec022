"""The matrix of a model: whom its terms single out, who decides a coefficient, and when it is a
table of means in disguise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.table import as_table
from sfumato.results.checking.contributing_records import (
    CellMembers,
    ContributingRecords,
    count_persons,
)
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask

TOO_MUCH_WORK = 4e10
"""Multiplications beyond which leverages are not computed."""
SURE = 1 - 1e-7
"""Leverages and shares of explained variance from here on are taken for one."""
MOST_OF_FEW, MANY = 0.9, 5
"""The share of the weight in a coefficient beyond which those who have it decide it; looked at
where there are several times as many persons as are few.
"""
LEVEL = re.compile(r"(?P<column>.+?)(?:\[(?:T\.)?[^\]]*\]|_[^_]+)")
"""The name of a dummy: ``region[T.south]``, ``region[south]`` or ``region_south``."""


def judge_design(
    design: Floats,
    answer: Floats | None,
    person_ids: Codes,
    rules: OutputRules,
    names: Sequence[str] = (),
    weights: Floats | None = None,
) -> list[OutputReason]:
    """What the matrix of a model reveals: levels of few persons, cells of a saturated model,
    persons who decide a coefficient alone or have all of the weight.
    """
    threshold, terms = rules.threshold, design.shape[1]
    rare = rare_columns(design, person_ids, threshold)
    bases = rare_bases(design, person_ids, threshold, names)
    reasons: list[OutputReason] = []
    if bases:
        words = (
            f"the reference level that others are compared with has fewer than {threshold} persons "
            f"(columns: {bases:,})"
        )
        reasons.append(violation("levels", words, "compare with a common level"))
    if rare:
        words = (
            f"{len(rare):,} of {terms:,} terms of the model single out fewer than {threshold}"
            " persons"
        )
        reasons.append(violation("levels", words, "join rare levels before fitting"))
    # A model with a coefficient for every combination of its values is a table.
    cell = cells_of_design(design, terms)
    # As many combinations as independent coefficients: the model can tell the mean of each.
    saturated = cell is not None and int(cell.max(initial=-1)) + 1 == np.linalg.matrix_rank(design)
    if cell is not None and saturated:
        reasons.append(_judge_saturated(cell, answer, person_ids, rules))
    if weights is not None and np.ptp(weights) > 0:
        # Fewer than t effective persons (Kish 1965), as for tables with weights.
        # Weights of one person's rows are added first: persons are counted, not rows.
        squares = float((np.bincount(person_ids, weights=weights) ** 2).sum())
        if weights.sum() ** 2 < (threshold - 1e-9) * squares:
            words = f"fewer than {threshold} persons have nearly all of the weight in the model"
            reasons.append(violation("dominance", words, "fit it with more even weights"))
    if weights is not None:
        # Weighted least squares is least squares of rows times the root of their weight.
        design = design * np.sqrt(weights)[:, None]
    alone = count_deciding_records(design)
    if alone is None:
        words = "the model is too large to check whether one person decides a coefficient"
        reasons.append(open_question("leverage", words, "fit fewer terms"))
    elif alone and not rare:
        words = f"some records ({alone:,}) decide a coefficient alone"
        reasons.append(violation("leverage", words, "join rare levels, or leave terms out"))
    elif not rare and not bases:
        # Of a table the answer was judged already.
        reasons += _judge_influence_of_few(design, None if saturated else answer, person_ids, rules)
    if not reasons:
        words = (
            f"every term is about at least {threshold} persons, and nobody decides a coefficient"
            " alone"
        )
        reasons.append(confirmation("levels", words))
    return reasons


def judge_outcome(
    outcome: Floats,
    design: Floats,
    person_ids: Codes,
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
        if not rare_columns(outcome[:, None], person_ids, rules.threshold):
            return []
        words = (
            f"all but fewer than {rules.threshold} persons have the same outcome: the model "
            "describes these"
        )
        return [violation("outcome", words, "explain something that differs for more persons")]
    sides = [outcome == value for value in values]
    # The outcome itself first: where it is rare, every term tells of it.
    if any(count_persons(person_ids[side]) < rules.threshold for side in sides):
        words = f"some outcomes are those of fewer than {rules.threshold} persons"
        return [violation("outcome", words, "join outcomes, or explain a commoner one")]
    group_sizes: set[int] = set()
    for level in _levels(design, names):
        group_sizes.update(count_persons(person_ids[level & side]) for side in sides)
    if rules.zeros and 0 in group_sizes:
        words = "for some level nobody has some outcome, or everybody, and the model reveals it"
        return [violation("separation", words, "leave these terms out, or join levels")]
    if any(rules.small(size) for size in group_sizes):
        words = (
            f"fewer than {rules.threshold} persons with some level have some outcome: the model "
            "reveals how many to somebody who knows the levels of all"
        )
        return [open_question("outcome", words, "join rare levels or outcomes")]
    return []


def _levels(design: Floats, names: Sequence[str]) -> Iterator[Mask]:
    """The rows that terms of two values, and the bases of dummies that belong together, are
    about.
    """
    for column in design.T:
        values = np.unique(column)
        if len(values) == 2:
            yield column == values[0]
            yield column == values[1]
    for dummies in _sums_of_dummies(design, names):
        if (dummies == 0).any():
            yield dummies == 0


def judge_quantiles(
    x: Floats, answer: Floats, beta: Floats, rules: OutputRules
) -> list[OutputReason]:
    """A regression of percentiles goes exactly through as many values as it has coefficients
    (Koenker and Bassett 1978, doi:10.2307/1913643): of levels alone it is a table of percentiles,
    told exactly.
    """
    near = np.abs(answer - x @ beta) <= 1e-3 * (np.std(answer) or 1.0)
    cell = cells_of_design(x, x.shape[1])
    if cell is not None and (np.bincount(cell, weights=near) < rules.threshold).any():
        words = (
            "the model gives percentiles of its levels so exactly that fewer than "
            f"{rules.threshold} persons are near"
        )
        return [violation("exact", words, "release percentiles as a table, rounded")]
    words = (
        "a regression of percentiles goes through the values of some persons exactly, and is not"
        " computed again here"
    )
    return [open_question("recomputed", words, "a person must check how it was fitted")]


def _judge_influence_of_few(
    design: Floats, answer: Floats | None, person_ids: Codes, rules: OutputRules
) -> list[OutputReason]:
    """Terms that are about few persons, however they are coded: those few have nearly all of the
    weight in a coefficient, or nearly all of what it is summed from.
    """
    terms = design.shape[1]
    if answer is None:
        dominated = 0
    else:
        dominated = _dominated_coefficients(design, answer, person_ids, rules)
    if dominated:
        words = (
            f"{dominated:,} of {terms:,} coefficients are determined by the values of "
            f"{rules.dominant} persons or fewer"
        )
        return [violation("dominance", words, "cut off extreme values, or explain a logarithm")]
    largest = weights_in_coefficients(design, person_ids, rules.threshold - 1)
    by_dominant = int((largest[: rules.dominant].sum(axis=0) > rules.share / 100).sum())
    if by_dominant:
        words = (
            f"{by_dominant:,} of {terms:,} coefficients are decided by {rules.dominant} persons or"
            " fewer"
        )
        return [violation("leverage", words, "join rare levels, or leave terms out")]
    by_few = int((largest.sum(axis=0) > MOST_OF_FEW).sum())
    if by_few and count_persons(person_ids) >= MANY * rules.threshold:
        words = (
            f"{by_few:,} of {terms:,} coefficients are decided almost only by fewer than "
            f"{rules.threshold} persons"
        )
        advice = "join rare levels, cut off extreme values, or leave terms out"
        return [open_question("leverage", words, advice)]
    return []


def weights_in_coefficients(design: Floats, person_ids: Codes, count: int) -> Floats:
    r"""Per coefficient the shares of the persons who weigh most in it, falling.

    A coefficient is :math:`\hat\beta_j = \sum_i m_{ij} y_i` with :math:`M = X (X^\top X)^{+}`; a
    person has the share :math:`\sum_{i} m_{ij}^2` of its records in that of all.

    >>> dummy = np.r_[1.0, 1.0, np.zeros(98)]
    >>> weights_in_coefficients(np.column_stack([np.ones(100), dummy]), np.arange(100), 2).sum(
    ...     axis=0
    ... ).round(2).tolist()
    [0.02, 0.98]
    """
    return largest_shares(_row_weights(_scale_columns(design)) ** 2, person_ids, count)


def _scale_columns(design: Floats) -> Floats:
    # Scaled columns: the inverse of very different sizes would lose its digits.
    scale = np.sqrt((design**2).mean(axis=0))
    scaled: Floats = design / np.where(scale > 0, scale, 1.0)
    return scaled


def _row_weights(scaled: Floats) -> Floats:
    """What every row weighs in every coefficient, up to the scale of its column."""
    weights: Floats = scaled @ np.linalg.pinv(scaled.T @ scaled, hermitian=True)
    return weights


def largest_shares(amounts: Floats, person_ids: Codes, count: int) -> Floats:
    """Per column the largest shares that persons have in it, falling."""
    persons = np.zeros((int(person_ids.max(initial=0)) + 1, amounts.shape[1]))
    # add.at, since a person may have several rows.
    np.add.at(persons, person_ids, amounts)
    total = persons.sum(axis=0)
    largest = -np.sort(-persons, axis=0)[:count]
    shares: Floats = largest / np.where(total > 0, total, 1.0)
    return shares


def _dominated_coefficients(
    design: Floats, answer: Floats, person_ids: Codes, rules: OutputRules
) -> int:
    r"""Coefficients of which few persons make up nearly all: the shares
    of :math:`|m_{ij} (y_i - \tilde y)|`, with the median as what everybody has.
    """
    # Of yes and no the shares of contributions say nothing: that is judged by the outcome.
    if np.isin(answer, (0.0, 1.0)).all():
        return 0
    distance = (answer - np.median(answer))[:, None]
    parts = np.abs(_row_weights(_scale_columns(design)) * distance)
    shares = largest_shares(parts, person_ids, rules.dominant).sum(axis=0)
    return int((shares > rules.share / 100).sum())


def rare_columns(design: Floats, person_ids: Codes, threshold: int) -> list[int]:
    """Columns that differ from their commonest value for somebody, but for fewer than ``threshold``
    persons; a constant differs for nobody.

    >>> dummy = np.r_[np.ones(3), np.zeros(20)]
    >>> rare_columns(np.column_stack([np.ones(23), dummy, np.arange(23.0)]), np.arange(23), 10)
    [1]
    """
    rare = []
    for number, column in enumerate(design.T):
        values, counts = np.unique(column, return_counts=True)
        if len(values) == 1:
            continue
        uncommon = column != values[np.argmax(counts)]
        # Of two values both sides are a level; of many only those beside the commonest are.
        sides = [uncommon] if len(values) > 2 else [uncommon, ~uncommon]
        if any(count_persons(person_ids[side]) < threshold for side in sides):
            rare.append(number)
    return rare


def rare_bases(design: Floats, person_ids: Codes, threshold: int, names: Sequence[str]) -> int:
    """Columns whose base level, where all their dummies are zero, is that of somebody, but of fewer
    than ``threshold`` persons.

    Dummies belong together when they are called so (``region[T.south]``, ``region_south``) and no
    record has two of them.
    """
    bases = 0
    for dummies in _sums_of_dummies(design, names):
        bases += 0 < count_persons(person_ids[dummies == 0]) < threshold
    return bases


def _sums_of_dummies(design: Floats, names: Sequence[str]) -> Iterator[Floats]:
    """Per column of labels the sum of its dummies: one where a record has a dummy, else zero."""
    groups: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        match = LEVEL.fullmatch(name)
        # A colon is an interaction of two columns.
        if match is None or ":" in name or not np.isin(design[:, number], (0.0, 1.0)).all():
            continue
        groups.setdefault(match["column"], []).append(number)
    for numbers in groups.values():
        dummies = design[:, numbers].sum(axis=1)
        # No record has two of them; otherwise they only look like dummies of one column.
        if dummies.max(initial=0) <= 1:
            yield dummies


def cells_of_design(design: Floats, limit: int) -> Codes | None:
    """Per row the number of its combination of values; None where there are more than ``limit``
    combinations.

    >>> cells_of_design(np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 0.0]]), 2)
    array([0, 1, 0])
    """
    cell = np.zeros(len(design), dtype=np.int64)
    for column in design.T:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > limit:
            return None
        # Renumbered after every column, so that the numbers stay below the limit and do not
        # overflow.
        _, cell = np.unique(cell * len(values) + codes.reshape(-1), return_inverse=True)
        if int(cell.max(initial=-1)) >= limit:
            return None
    return cell.astype(np.int64)


def _judge_saturated(
    cell: Codes, answer: Floats | None, person_ids: Codes, rules: OutputRules
) -> OutputReason:
    """A model with a coefficient for every combination of its values is a table of means, and
    judged as one.
    """
    cells = int(cell.max(initial=-1)) + 1
    members = CellMembers.of_cells(cell, cells)
    records = ContributingRecords(as_table(pl.DataFrame({"person": person_ids})), unit="person")
    rules_used, values = rules.of_counts, np.ones(len(cell))
    if answer is not None:
        rules_used, values = (*rules.of_counts, *rules.of_amounts), answer
    table = members.contributions(records, values, max(2, rules.dominant))
    unsafe = np.logical_or.reduce([rule.unsafe(table) for rule in rules_used])
    if answer is not None and np.isin(answer, (0.0, 1.0)).all():  # of yes and no, both sides count
        for side in (0.0, 1.0):
            unsafe |= members.persons(records, answer == side) < rules.threshold
    if unsafe.any():
        words = (
            "the model has a coefficient for every combination: it is a table of means, and"
            f" {int(unsafe.sum()):,} of its {cells:,} cells are unsafe"
        )
        return violation("saturated", words, "leave out interactions, or join rare levels")
    words = f"the model is a table of means, and all of its {cells:,} cells are safe"
    return confirmation("saturated", words)


def count_deciding_records(design: Floats) -> int | None:
    r"""Records whose fitted value is their own:
    leverage :math:`h_{ii} = x_i^\top (X^\top X)^{+} x_i` of one; None for very large models.
    """
    rows, columns = design.shape
    if rows * columns**2 > TOO_MUCH_WORK:
        return None
    scaled = _scale_columns(design)
    # The diagonal of X (X'X)⁺ X', without the matrix of all pairs of rows.
    leverage = np.einsum("ij,ij->i", _row_weights(scaled), scaled)
    return int((leverage >= SURE).sum())
