"""Special uniques: records that few columns are enough to single out."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.attack import Attack, Finding, NothingToAttack
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.table import Table

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_SUBSETS = 20_000
AT_ONCE = 5_000_000
"""Rows times sets of columns that are searched without a look at the clock."""
MOST_COLUMNS = 24


@dataclasses.dataclass(frozen=True, eq=False)
class SpecialUniques:
    """SUDA scores of a table.

    ``scores`` and ``disclosure`` (DIS-SUDA) are per row; ``contributions`` is, per column, the
    share of all scores in whose minimal subsets it takes part; ``per_record`` the same for each row
    (rows × columns). ``minimal`` counts the minimal subsets of each row.
    """

    columns: tuple[str, ...]
    scores: Floats
    disclosure: Floats
    minimal: Ints
    contributions: dict[str, float]
    per_record: Floats
    match_probability: float


def special_uniques(
    dataset: Table,
    columns: Sequence[str] | None = None,
    *,
    most: int | None = None,
    fraction: float = 0.01,
    between: Callable[[], object] = bool,
) -> SpecialUniques:
    r"""SUDA2 scores: how few columns single a record out, and how many such sets there are.

    A *minimal sample unique* (MSU) is a set of columns on which a record is alone, and on no part
    of which it is. With *A* columns and sets of at most *M*:

    .. math:: \text{score} = \sum_{\text{MSU}} \prod_{i=|\text{MSU}|}^{\min(M, A-1)} (A - i)

    which is :math:`\sum (A-|\text{MSU}|)!` when all sizes are searched. DIS-SUDA makes a
    probability of it: with *U* unique records (on all columns, so that *M* does not change who they
    are), *n_p* records in pairs and sampling fraction
    π, :math:`\theta = \pi U/(\pi U + n_p (1-\pi))` and
    :math:`1/(1 + (U/\theta - U)/(s^Q \sum_j s_j^{-Q}))` with :math:`Q = 1 + (8-A)/20`.

    Missing values are a category of their own. ``most`` is *M* (None: all sizes), ``fraction`` is
    π. ``between`` is called before every set of columns and may raise to stop the search: half of
    it says nothing.
    References: Manning, Haglin & Keane 2008, doi:10.1007/s10618-007-0078-6; Elliot, Skinner & Dale
    1998.

    >>> from sfumato import examples
    >>> special_uniques(examples.special_uniques()).scores.tolist()
    [0.0, 0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 6.0, 1.0, 0.0]
    """
    names = tuple(dataset.schema.quasi if columns is None else columns)
    size = _check_size(dataset, names, most, fraction)
    table = _Classes.of(dataset, names)
    masks: list[int] = []
    for subset_size in range(1, size + 1):
        masks += _masks(len(names), subset_size)
    bits = _walk(table, masks, size, between)
    scores, parts, amounts = _score_records(bits, masks, len(names), size)
    # Numbers of the records that are alone; −1 for all others, whose scores stay 0.
    rows = table.single[table.class_of_row]
    alone = rows >= 0
    per_row = np.zeros(len(dataset))
    per_row[alone] = scores[rows[alone]]
    minimal = np.zeros(len(dataset), dtype=np.int64)
    minimal[alone] = amounts[rows[alone]]
    shares = np.zeros((len(dataset), len(names)))
    own_scores = scores[rows[alone]]
    shares[alone] = parts[rows[alone]] / np.maximum(own_scores, 1e-300)[:, None]
    total = float(scores.sum())
    contributions = dict.fromkeys(names, 0.0)
    if total:
        for a, name in enumerate(names):
            contributions[name] = float(parts[:, a].sum() / total)
    theta = _match_probability(table.sizes, fraction)
    disclosure = _disclosure(per_row, int(alone.sum()), theta, len(names))
    return SpecialUniques(
        names,
        per_row,
        disclosure=disclosure,
        minimal=minimal,
        contributions=contributions,
        per_record=shares,
        match_probability=theta,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Classes:
    """Distinct rows: codes per column, how many records each has, and the number of those that have
    one.
    """

    codes: Ints
    sizes: Ints
    single: Ints
    class_of_row: Ints

    @classmethod
    def of(cls, dataset: Table, names: Sequence[str]) -> _Classes:
        codes = np.stack([dataset.encoded(n).codes for n in names], axis=1)
        ids, first = kernels.keys.group(codes.astype(np.uint64))
        sizes = np.bincount(ids, minlength=len(first)).astype(np.int64)
        # Numbers the classes of one record: sizes 1, 3, 1 → 0, −1, 1.
        single = np.where(sizes == 1, np.cumsum(sizes == 1) - 1, -1)
        columns = codes[first].T.astype(np.int64)
        return cls(np.ascontiguousarray(columns), sizes, single, ids.astype(np.int64))


def _check_size(
    dataset: Table, names: tuple[str, ...], max_size: int | None, fraction: float
) -> int:
    dataset.require(names)
    if not names or not len(dataset):
        raise SchemaError("special uniques need at least one column and one row")
    if not 0 < fraction <= 1:
        raise ParameterError("the sampling fraction must be above 0 and at most 1")
    if max_size is None:
        size = len(names)
    else:
        size = min(max_size, len(names))
    if size < 1:
        raise ParameterError("sets of columns must have at least one column")
    subsets = sum(math.comb(len(names), s) for s in range(1, size + 1))
    if len(names) > MOST_COLUMNS or subsets > MOST_SUBSETS:
        raise ParameterError(
            f"{len(names)} columns have {subsets:,} sets of at most {size}; at most "
            f"{MOST_SUBSETS:,} sets of {MOST_COLUMNS} columns are searched: use smaller sets, or "
            "name fewer columns"
        )
    return size


def _masks(columns: int, size: int) -> Iterator[int]:
    for subset in itertools.combinations(range(columns), size):
        yield sum(1 << a for a in subset)


def _walk(
    table: _Classes, masks: list[int], size: int, between: Callable[[], object]
) -> NDArray[np.uint64]:
    """For every record that is alone on all columns, on which subsets it is: a bit a subset."""
    mask_position = {mask: j for j, mask in enumerate(masks)}
    columns, rows = table.codes.shape
    # columns with many values first: uniques leave early
    order = sorted(range(columns), key=lambda a: -int(table.codes[a].max()))
    # A row a record, a bit a set of columns, 64 of them to a word.
    singles = int((table.single >= 0).sum())
    words = (len(masks) + 63) // 64
    bits = np.zeros((singles, words), dtype=np.uint64)
    widths = [int(c.max()) + 1 for c in table.codes]
    # Allocated once: the recursion refines millions of groups.
    room = np.empty(max(1 << 16, 4 * rows), dtype=np.int64)
    counts = np.empty(rows, dtype=np.int64)

    def below(mask: int, start: int, live: Ints, ids: Ints, groups: int) -> None:
        for step in range(start, columns):
            between()
            a = order[step]
            fresh = np.empty(len(live), dtype=np.int64)
            groups_below = kernels.uniques.refine_groups(
                ids, groups, (table.codes[a], widths[a]), live, table.sizes, (fresh, counts), room
            )
            survivors = np.empty_like(live)
            kept_ids = np.empty_like(live)
            longer = mask | 1 << a
            j = mask_position[longer]
            # Who became unique leaves: larger sets of columns are unique too, but not minimal.
            going = kernels.uniques.mark_uniques(
                live, (fresh, counts), table.single, bits, j, survivors, kept_ids
            )
            if going and step + 1 < columns and longer.bit_count() < size:
                live_below = survivors[:going].copy()
                below(longer, step + 1, live_below, kept_ids[:going].copy(), groups_below)

    if len(bits):
        below(0, 0, np.arange(rows), np.zeros(rows, dtype=np.int64), 1)
    return bits


def _score_records(
    bits: NDArray[np.uint64], masks: list[int], columns: int, size: int
) -> tuple[Floats, Floats, Ints]:
    # Elliot's weights: the fewer columns a minimal unique has, the more it counts.
    weights = []
    for m in masks:
        larger_sizes = range(m.bit_count(), min(size, columns - 1) + 1)
        weights.append(float(math.prod(columns - i for i in larger_sizes)))
    mask_positions = np.full(1 << columns, -1, dtype=np.int64)
    mask_positions[masks] = np.arange(len(masks))
    scores = np.zeros(len(bits))
    amounts = np.zeros(len(bits), dtype=np.int64)
    parts = np.zeros((len(bits), columns))
    if len(bits):
        kernels.uniques.score_minimal_uniques(
            bits, np.array(masks), mask_positions, np.array(weights), scores, parts, amounts
        )
    return scores, parts, amounts


def _match_probability(sizes: Ints, fraction: float) -> float:
    """The chance that a match with a unique record is right (Skinner & Elliot 2002,
    doi:10.1111/1467-9868.00365).
    """
    uniques = int((sizes == 1).sum())
    in_pairs = int(2 * (sizes == 2).sum())
    below = fraction * uniques + in_pairs * (1 - fraction)
    return fraction * uniques / below if below else 0.0


def _disclosure(scores: Floats, uniques: int, theta: float, columns: int) -> Floats:
    """DIS-SUDA of every row; ``uniques`` are all records that are alone on all columns, whether or
    not small sets single them out.
    """
    positive = scores > 0
    disclosed = np.zeros(len(scores))
    if positive.any() and theta > 0:
        power = 1 + (8 - columns) / 20
        total = (scores[positive] ** -power).sum()
        weight = scores[positive] ** power * float(total)
        odds = (uniques / theta - uniques) / weight
        disclosed[positive] = 1 / (1 + odds)
    return disclosed


@parameters
class Suda(Attack):
    """The share of released records that few columns single out: those whose DIS-SUDA exceeds a
    threshold.

    See :func:`sfumato.methods.attacks.suda.special_uniques` for the scores. Columns are those the
    intruder knows.
    """

    most: Annotated[
        int | None, Field(ge=1, description="largest set of columns to search; None: all sizes")
    ] = None
    fraction: Annotated[float, Field(gt=0, le=1, description="sampling fraction")] = 0.01
    threshold: Annotated[
        float, Field(gt=0, lt=1, description="DIS-SUDA above which a record counts")
    ] = 0.1

    name: ClassVar[str] = "suda"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A few columns make a record unique"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)
    turn: ClassVar[int] = 3

    def applies(self, scene: Scene) -> str | None:
        """None when the intruder knows some, and not too many, released columns."""
        columns = [c for c in scene.intruder.knows if c in scene.pair.released.columns]
        if not columns:
            return NothingToAttack("this intruder knows no column of the release")
        size = min(self._largest_size(columns) or len(columns), len(columns))
        subsets = sum(math.comb(len(columns), s) for s in range(1, size + 1))
        if subsets <= MOST_SUBSETS and len(columns) <= MOST_COLUMNS:
            return None
        return f"{subsets:,} sets of columns are too many"

    def _largest_size(self, columns: Sequence[str]) -> int | None:
        """The most columns of a set; None: all of them."""
        if self.most is None and len(columns) > 12:
            return 3
        return self.most

    def attack(self, scene: Scene) -> Finding:
        """Score every released record."""
        columns = [c for c in scene.intruder.knows if c in scene.pair.released.columns]
        max_size = self._largest_size(columns)
        sizes = range(1, (max_size or len(columns)) + 1)
        sets = sum(math.comb(len(columns), size) for size in sizes)
        # Asking the clock costs more than a small search takes.
        small = sets * len(scene.pair.released) <= AT_ONCE
        between = bool if small else scene.require_time
        uniques = special_uniques(
            scene.pair.released,
            columns,
            most=max_size,
            fraction=self.fraction,
            between=between,
        )
        hit = uniques.disclosure > self.threshold
        sentence = (
            f"{int((uniques.scores > 0).sum()):,} records are special uniques; DIS-SUDA of"
            f" {int(hit.sum()):,} exceeds {self.threshold:g}"
        )
        details = {
            "special_uniques": int((uniques.scores > 0).sum()),
            "match_probability": uniques.match_probability,
        }
        return Finding(
            self.name,
            float(hit.mean()),
            sentence,
            victims=scene.pair.rows[hit],
            weights=uniques.contributions,
            details=details,
        )
