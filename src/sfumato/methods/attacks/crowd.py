"""The crowd a person stands in: the released records an intruder cannot distinguish, and the
sensitive values they have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.attack import Finding, NothingToAttack
from sfumato.core.encoding import positions_in
from sfumato.methods.attacks.randomised_secrets import expected_counts, known_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


WORD = 1 << 62
"""Combinations of codes that fit one word."""


@dataclasses.dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct records of a file: ``kind_of[i]`` is the one row *i* has, ``codes`` its cells,
    ``records`` how often it occurs.
    """

    kind_of: Ints
    codes: Ints
    records: Ints


def distinct(codes: Sequence[Ints]) -> Distinct:
    """Number records alike that have the same codes, in the order of the codes.

    The codes of a record are one number to a mixed base; where it would not fit a word, records are
    numbered before the next column.

    >>> import numpy as np
    >>> found = distinct([np.array([1, 0, 1]), np.array([5, 5, 5])])
    >>> found.kind_of.tolist(), found.codes.tolist(), found.records.tolist()
    ([1, 0, 1], [[0, 5], [1, 5]], [1, 2])
    """
    keys = np.zeros(len(codes[0]), dtype=np.int64)
    size = 1
    for part in codes:
        if len(part):
            width = int(part.max()) + 1
        else:
            width = 1
        if size * width > WORD:
            keys, first = _in_order(keys)
            size = len(first)
        # To a mixed base: codes (1, 5) with six values in the second column give 1 · 6 + 5 = 11.
        keys = keys * width + part
        size = size * width
    ids, first = _in_order(keys)
    first_codes = [part[first] for part in codes]
    records = np.bincount(ids, minlength=len(first))
    return Distinct(ids, np.column_stack(first_codes), records)


def _in_order(keys: Ints) -> tuple[Ints, Ints]:
    """The rank of every key among the distinct ones, and the first row that has each of them."""
    ids, first = kernels.keys.group(keys.astype(np.uint64)[:, None])
    order = np.argsort(keys[first])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[ids], first[order]


def alike_records(pair: TablePair, names: Sequence[str]) -> Distinct:
    """The distinct released records of some columns, whatever their order; found once for a
    pair.
    """
    key = ("alike", *sorted(names))
    if key not in pair.memo:
        pair.memo[key] = distinct([pair.reading(name).released for name in key[1:]])
    records: Distinct = pair.memo[key]
    return records


@dataclasses.dataclass(frozen=True, eq=False)
class Crowd:
    """Classes of released records and how often each value of one sensitive column occurs in each,
    as an intruder sees it.

    ``classes`` are codes per released row; pair *j* says that value ``pair_values[j]`` (a code of
    ``labels``) occurs ``counts[j]`` times in class ``pair_classes[j]``. ``sizes`` are class sizes,
    ``totals`` counts in the whole release. ``truth`` is, per row, the label that the person's true
    value stands under (−1: none that was released) and ``pairs`` its pair in the class (−1: the
    class does not have it): whether an intruder is right is decided by these alone. Where the
    released values are true they are the released ones.
    """

    column: str
    classes: Ints
    labels: tuple[str | None, ...]
    sizes: Ints
    totals: Floats
    truth: Ints
    pairs: Ints
    pair_classes: Ints
    pair_values: Ints
    counts: Floats

    @classmethod
    def of(
        cls,
        column: str,
        classes: Ints,
        sizes: Ints,
        labels: tuple[str | None, ...],
        truth: Ints,
        cell_counts: tuple[Ints, Ints, Floats],
        totals: Floats,
    ) -> Crowd:
        """Find the pair of every person's true value among those that are counted, which come in
        order.
        """
        width = max(1, len(labels))
        keys = cell_counts[0] * width + cell_counts[1]
        true_keys = classes * width + truth
        # A key beyond all others would be looked up past the end; whether it is equal is asked
        # below.
        at = np.minimum(np.searchsorted(keys, true_keys), max(0, len(keys) - 1))
        if len(keys):
            pairs = np.where((truth >= 0) & (keys[at] == true_keys), at, -1)
        else:
            pairs = np.full(len(truth), -1)
        return cls(column, classes, labels, sizes, totals, truth, pairs, *cell_counts)

    @property
    def shares(self) -> Floats:
        """Per pair the share of the class that has the value: the intruder's posterior."""
        shares: Floats = self.counts / self.sizes[self.pair_classes]
        return shares

    def largest(self) -> Floats:
        """Per class the count of its most frequent value."""
        largest = np.zeros(len(self.sizes))
        np.maximum.at(largest, self.pair_classes, self.counts)
        return largest

    def guesses(self) -> Ints:
        """Per class its most frequent value; the first of several."""
        # Above every code, so that the first code seen replaces it.
        codes = np.full(len(self.sizes), len(self.labels), dtype=np.int64)
        is_largest = self.counts >= self.largest()[self.pair_classes]
        np.minimum.at(codes, self.pair_classes[is_largest], self.pair_values[is_largest])
        return codes

    def includes_own(self, pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Per row whether the pair of the person's true value is among some."""
        # Where there is no pair, −1 looks up the last one: the first condition strikes that out.
        own_pairs: NDArray[np.bool_] = (self.pairs >= 0) & pairs[self.pairs]
        return own_pairs


def crowd_of(pair: TablePair, knows: Sequence[str], column: str) -> Crowd:
    """The crowds that an intruder sees who knows some columns of the release; found once for a
    pair.
    """
    known_columns = sorted(
        name for name in knows if name in pair.released.columns and name != column
    )
    key = ("crowd", column, *known_columns)
    if key not in pair.memo:
        pair.memo[key] = _crowd(pair, known_columns, column)
    crowd: Crowd = pair.memo[key]
    return crowd


def _crowd(pair: TablePair, known_columns: Sequence[str], column: str) -> Crowd:
    reading = pair.reading(column)
    released = reading.released
    truth = true_labels(pair, column)
    rows = len(released)
    # Who knows no column cannot tell any rows apart: one class of all.
    same_kind = np.zeros(rows, dtype=np.int64)
    nothing = Distinct(same_kind, np.zeros((1, 0), dtype=np.int64), np.array([rows]))
    if known_columns:
        classes = alike_records(pair, known_columns)
    else:
        classes = nothing
    cells = distinct([classes.kind_of, released])
    cell_counts = cells.codes[:, 0], cells.codes[:, 1], cells.records.astype(np.float64)
    totals = np.bincount(released, minlength=max(1, len(reading.labels))).astype(np.float64)
    if generalises(pair, column):
        # what is released is true, so the pair of every person is that of the own record
        pairs = cells.kind_of
        return Crowd(
            column,
            classes.kind_of,
            tuple(reading.labels),
            classes.records,
            totals,
            truth,
            pairs,
            *cell_counts,
        )
    return Crowd.of(
        column, classes.kind_of, classes.records, tuple(reading.labels), truth, cell_counts, totals
    )


def true_labels(pair: TablePair, column: str) -> Ints:
    """Per released row the label that its true value stands under: the released one where that is
    true.

    A value that was changed stands under its own label, or under the narrowest that holds it; −1
    where none was released.
    """
    reading = pair.reading(column)
    true = pair.truthful(column)
    if true.all():
        return reading.released
    return np.where(true, reading.released, standing_under(reading)[reading.original[pair.rows]])


def standing_under(reading: Reading) -> Ints:
    """Per original value of a column its own label, or the narrowest that holds it; −1 where none
    was released.
    """
    under = positions_in(reading.labels, reading.values)
    # The narrowest first: a value keeps the first label that holds it.
    for label in _wide_labels(reading):
        under[(under < 0) & reading.held_by(label)] = label
    return under


def _wide_labels(reading: Reading) -> list[int]:
    """The labels that stand for more than one value but not for all, the narrowest first."""
    if reading.scale == "category":
        covers_many = np.diff(reading.starts) > 1
    else:
        covers_many = reading.high > reading.low
    wide = np.flatnonzero(covers_many & ~reading.everything)
    return sorted(wide.tolist(), key=lambda label: (reading.loss[label], label))


def targets(scene: Scene) -> tuple[str, ...]:
    """The sensitive columns that were released and that the intruder does not know already."""
    pair = scene.pair
    return tuple(
        name
        for name in pair.original.schema.sensitive
        if name in pair.released.columns and name not in scene.intruder.knows
    )


def generalises(pair: TablePair, column: str) -> bool:
    """Whether every released cell of a column can stand for its own original: whether what is
    released is true.
    """
    return bool(pair.truthful(column).all())


def no_secret(scene: Scene) -> str | None:
    """Why there is no secret to learn from this release, or None."""
    schema = scene.pair.original.schema
    if not schema.sensitive:
        return NothingToAttack("the table has no sensitive column")
    if not any(name in scene.pair.released.columns for name in schema.sensitive):
        return NothingToAttack("no sensitive column was released")
    if not targets(scene):
        return NothingToAttack(
            "this intruder already knows every sensitive column that was released"
        )
    return None


def no_target(scene: Scene) -> str | None:
    """Why attacks on the classes of a release cannot be tried on sensitive columns here, or
    None.
    """
    reason = no_secret(scene)
    if reason is not None:
        return reason
    if not len(scene.pair.released):
        return NothingToAttack("nothing was released")
    changed = []
    for c in scene.intruder.knows:
        if c in scene.pair.columns and not generalises(scene.pair, c):
            changed.append(c)
    if changed:
        return (
            f"values of {', '.join(changed[:3])} were changed, not generalised, so a class does "
            "not contain the people it seems to"
        )
    return None


def worst_column(
    name: str, scene: Scene, attack: Callable[[Crowd], Finding], *, by_matrix: bool = True
) -> Finding:
    """The attack on each sensitive column; the most successful one counts, and the others are told
    beside it.

    A column that was randomised with a known matrix is attacked twice: with what was released, and
    with what that makes likely (``by_matrix``). Only what is true of a person counts.
    """
    findings = {
        column: _on_column(scene, column, attack, by_matrix=by_matrix) for column in targets(scene)
    }
    # The name decides last, so that equal columns do not depend on their order.
    worst = max(
        findings,
        key=lambda column: (findings[column].gain, findings[column].beyond_guessing, column),
    )
    per_column = {column: finding.value for column, finding in findings.items()}
    details = {**findings[worst].details, "column": worst, "per_column": per_column}
    return dataclasses.replace(findings[worst], attack=name, details=details)


def _on_column(
    scene: Scene, column: str, attack: Callable[[Crowd], Finding], *, by_matrix: bool
) -> Finding:
    """The better of what the released values give and what a known matrix gives."""
    crowd = crowd_of(scene.pair, scene.intruder.knows, column)
    changed = int((~scene.pair.truthful(column)).sum())
    finding = attack(crowd)
    if not changed:
        return finding
    likely = crowd_by_matrix(scene, crowd) if by_matrix else None
    guessed = None if likely is None else attack(likely)
    # The matrix is used only where it tells the intruder more than the released values do.
    if guessed is not None and guessed.beyond_guessing > finding.beyond_guessing:
        finding = _add_words(
            guessed, "by Bayes' rule with the known transition matrix", matrix=True
        )
    return _add_words(
        finding,
        f"{changed:,} of the released values are not the true ones, which alone count",
        changed=changed,
    )


def _add_words(finding: Finding, words: str, **details: Any) -> Finding:
    return dataclasses.replace(
        finding, sentence=f"{finding.sentence}; {words}", details={**finding.details, **details}
    )


def crowd_by_matrix(scene: Scene, crowd: Crowd) -> Crowd | None:
    """The crowds as an intruder believes them to be who knows how the column was randomised; None
    where nobody can know.

    Every class is taken for itself, with the whole table as a prior that weighs as much as one
    record.
    """
    channel = known_matrix(scene, crowd.column)
    if channel is None:
        return None
    reading = scene.pair.reading(crowd.column)
    parts = list(expected_counts(crowd, channel, len(reading.labels)))
    classes, values, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    original = reading.original[scene.pair.rows]
    cells = classes, values, counts
    return Crowd.of(
        crowd.column,
        crowd.classes,
        crowd.sizes,
        tuple(reading.values),
        original,
        cells,
        channel.shares * len(original),
    )
