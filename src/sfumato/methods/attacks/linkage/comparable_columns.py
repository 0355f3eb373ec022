"""One column as the intruder has it and as it is released, in terms that can be compared."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.attack import NothingToAttack
from sfumato.core.encoding import require_same_codes
from sfumato.core.labels import Labels
from sfumato.core.ranges import day, number
from sfumato.core.reading import Reading, Scale, read_column
from sfumato.core.schema import Kind, Missing
from sfumato.errors import SchemaError, SfumatoError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.schema import Attribute
    from sfumato.methods.attacks.crowd import Distinct
    from sfumato.methods.attacks.linkage.files import Files


if TYPE_CHECKING:
    Lists = tuple[NDArray[np.int64], NDArray[np.int64]]
    """How long each of some lists is, and all of them one after the other."""


@dataclasses.dataclass(frozen=True, eq=False)
class Compared:
    """A column of both files.

    ``theirs`` are the codes of the intruder's rows and ``ours`` those of the released rows;
    ``places`` is where each of the intruder's values lies (NaN: nowhere), ``low`` to ``high`` where
    each released label may lie. On the scale ``category`` ``fitting[i]`` are the intruder's values,
    in order, that label *i* may stand for, and ``stands_for`` how many of the original's values it
    does. ``open_*`` marks cells that fit everything, ``missing_*`` cells that are missing.
    """

    name: str
    scale: Scale
    theirs: NDArray[np.int64]
    ours: NDArray[np.int64]
    places: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    fitting: tuple[tuple[int, ...], ...]
    stands_for: NDArray[np.int64]
    open_theirs: NDArray[np.bool_]
    open_ours: NDArray[np.bool_]
    missing_theirs: NDArray[np.bool_]
    missing_ours: NDArray[np.bool_]
    span: float

    @functools.cached_property
    def ours_fit(self) -> Lists:
        """Per released label the intruder's values it may stand for, in order; nothing on a
        line.
        """
        lengths = np.array([len(values) for values in self.fitting], dtype=np.int64)
        return lengths, np.array(
            [value for values in self.fitting for value in values], dtype=np.int64
        )

    @functools.cached_property
    def theirs_fit(self) -> Lists:
        """Per value of the intruder the released labels that may stand for it, in order; nothing on
        a line.
        """
        lengths, values = self.ours_fit
        labels = np.repeat(np.arange(len(lengths)), lengths)[np.argsort(values, kind="stable")]
        return (
            np.bincount(values, minlength=len(self.places) if self.scale == "category" else 0),
            labels,
        )

    @functools.cached_property
    def theirs_fit_starts(self) -> NDArray[np.int64]:
        """Where the released labels that may stand for each value of the intruder begin in
        ``theirs_fit``.
        """
        return np.concatenate([[0], np.cumsum(self.theirs_fit[0])]).astype(np.int64)


def common_columns(scene: Scene) -> tuple[str, ...]:
    """The columns the intruder knows that are in the intruder's file and in the release, sorted by
    name.
    """
    released_columns = (
        set(scene.intruder.file.columns)
        & set(scene.pair.columns)
        & set(scene.pair.original.schema.attributes)
    )
    return tuple(sorted(name for name in scene.intruder.knows if name in released_columns))


def refusal(scene: Scene) -> str | None:
    """Why nothing can be linked in a scene, or None."""
    if not len(scene.intruder.file):
        return "the intruder's file has no rows"
    if not len(scene.pair.released):
        return NothingToAttack("nothing was released")
    if len(scene.intruder.truth) != len(scene.intruder.file):
        return "the truth does not have one entry for every row of the intruder's file"
    if not common_columns(scene):
        return NothingToAttack("the intruder knows no column that was released")
    if not (scene.intruder.truth >= 0).any():
        return "nobody in the intruder's file is in the original table"
    return None


def only_generalised(scene: Scene) -> bool:
    """Whether the classes of the release follow from what the intruder knows and from how values
    were generalised.

    The intruder knows every quasi-identifier that was released, as who knows a few cannot tell
    where classes end; every released cell stands for its own original, none was suppressed (``*``
    is so unless it is the top of a hierarchy), and what the intruder has of people is what the
    table has.
    """
    if not set(scene.pair.quasi) <= set(common_columns(scene)):
        return False
    return all(
        _generalised(scene, name) and known_truly(scene, name) for name in common_columns(scene)
    )


def _generalised(scene: Scene, name: str) -> bool:
    reading = scene.pair.reading(name)
    gone = np.array([label is None for label in reading.labels], dtype=bool)
    if scene.pair.original.schema[name].hierarchy is None:
        gone |= reading.everything
    was_missing = np.array([value is None for value in reading.values], dtype=bool)[
        reading.original[scene.pair.rows]
    ]
    return bool(scene.pair.truthful(name).all() and (was_missing | ~gone[reading.released]).all())


def known_truly(scene: Scene, name: str) -> bool:
    """Whether the intruder's values of a column are the original's."""
    intruder_codes, reading = scene.intruder.file.encoded(name), scene.pair.reading(name)
    value_codes = {value: code for code, value in enumerate(reading.values)}
    original_codes = np.array(
        [value_codes.get(value, -1) for value in intruder_codes.labels], dtype=np.int64
    )[intruder_codes.codes]
    people = scene.intruder.truth >= 0
    return bool((original_codes[people] == reading.original[scene.intruder.truth[people]]).all())


def require_linkable(scene: Scene) -> None:
    """Raise :class:`SchemaError` where nothing can be linked."""
    reason = refusal(scene)
    if reason is not None:
        raise SchemaError(f"records cannot be linked: {reason}")


def compare(scene: Scene, name: str) -> Compared:
    """Read one column of both files."""
    attribute = scene.pair.original.schema[name]
    intruder_codes = scene.intruder.file.encoded(name)
    reading = _reading(scene, name, intruder_codes.labels)
    if reading.scale == "category":
        require_same_codes(
            intruder_codes.labels,
            scene.pair.reading(name).values,
            name,
            between="the intruder's file and the table",
        )
    line = reading.scale != "category"
    missing_theirs = np.array([value is None for value in intruder_codes.labels], dtype=bool)
    missing_ours = np.array([label is None for label in reading.labels], dtype=bool)
    positions = _positions(attribute, reading, intruder_codes.labels)
    wildcard = attribute.missing is Missing.WILDCARD
    unreadable = (
        np.isnan(reading.low) & ~missing_ours if line else np.zeros(len(missing_ours), dtype=bool)
    )
    nowhere = (
        np.isnan(positions) & ~missing_theirs if line else np.zeros(len(missing_theirs), dtype=bool)
    )
    return Compared(
        name,
        reading.scale,
        np.asarray(intruder_codes.codes, dtype=np.int64),
        reading.released,
        positions,
        reading.low,
        reading.high,
        () if line else _fitting(reading, intruder_codes.labels),
        np.maximum(1, np.diff(reading.starts)),
        nowhere | (missing_theirs & wildcard),
        reading.everything | unreadable | (missing_ours & wildcard),
        missing_theirs,
        missing_ours,
        reading.span,
    )


def _reading(scene: Scene, name: str, intruder_labels: Labels) -> Reading:
    """The released column read in terms of the original's values and, for categories, of those only
    the intruder has.
    """
    reading: Reading = scene.pair.reading(name)
    known_values = set(reading.values)
    extra = [value for value in intruder_labels if value is not None and value not in known_values]
    if (
        reading.scale != "category"
        or not extra
        or scene.pair.original.schema[name].hierarchy is None
    ):
        return reading
    values = pl.Series(
        name, [reading.values[code] for code in reading.original.tolist()] + extra, dtype=pl.String
    )
    try:
        attribute, rung = scene.pair.original.schema[name], scene.pair.levels.get(name)
        rung = rung if reading.level is not None else None
        return read_column(name, attribute, values, scene.pair.released.column(name), rung)
    except SfumatoError:  # the hierarchy does not know what only the intruder has
        return reading


def _positions(
    attribute: Attribute, reading: Reading, intruder_labels: Labels
) -> NDArray[np.float64]:
    """Where the intruder's values lie on the line."""
    known_positions = dict(zip(reading.values, reading.places.tolist(), strict=True))
    if attribute.order is not None:
        known_positions.update({label: float(rank) for rank, label in enumerate(attribute.order)})
    read = day if attribute.kind is Kind.DATE else number
    positions = np.full(len(intruder_labels), np.nan)
    for i, value in enumerate(intruder_labels):
        if value is None or reading.scale == "category":
            continue
        position = (
            known_positions.get(value)
            if value in known_positions or reading.scale == "order"
            else read(value)
        )
        positions[i] = np.nan if position is None else position
    return positions


def _fitting(reading: Reading, intruder_labels: Labels) -> tuple[tuple[int, ...], ...]:
    """Per released label the intruder's values it may stand for; a label only the release has
    stands for itself.
    """
    position = {value: i for i, value in enumerate(intruder_labels)}
    code_of = [position.get(value, -1) for value in reading.values]
    members, starts, everything = (
        reading.members.tolist(),
        reading.starts.tolist(),
        reading.everything.tolist(),
    )
    fitting_codes: list[tuple[int, ...]] = []
    for i, label in enumerate(reading.labels):
        values_held = [] if everything[i] else members[starts[i] : starts[i + 1]]
        if len(values_held) == 1:  # the rule where nothing is generalised
            fitting_codes.append((code_of[values_held[0]],) if code_of[values_held[0]] >= 0 else ())
            continue
        codes = {code_of[value] for value in values_held} - {-1}
        if not values_held and label in position:
            codes = {position[label]}
        fitting_codes.append(tuple(sorted(codes)))
    return tuple(fitting_codes)


# Files and a rule of comparison as the arrays that the loops of :mod:`sfumato.kernels.linkage` run
# over.

SQUARE, ABSOLUTE, CATEGORY, GRADED, NEARING = 0, 1, 2, 3, 4
OPEN, MISSING = -1, -2
CONSTANTS = 8


@dataclasses.dataclass(frozen=True, eq=False)
class ComparisonRule:
    """How one column is compared: its kind, its constants, and per value or label the numbers of
    its cells.

    ``constants`` are those of :mod:`sfumato.kernels.linkage`. ``theirs`` and ``ours`` have per code
    the low end, the high end and half the width to average over; for a category 0, the number of
    other values it may stand for, and what agreeing costs.
    """

    kind: int
    constants: NDArray[np.float64]
    theirs: NDArray[np.float64]
    ours: NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """The distinct records of one file, and per column which codes of the other file agree with
    each of its codes.
    """

    numbers: NDArray[np.float64]
    marks: NDArray[np.int64]
    records: NDArray[np.int64]
    bases: NDArray[np.int64]
    starts: NDArray[np.int64]
    matches: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Arrays:
    """Both sides and the rules of all columns, in the order of ``names``."""

    names: tuple[str, ...]
    kinds: NDArray[np.int64]
    constants: NDArray[np.float64]
    theirs: Side
    ours: Side

    @functools.cached_property
    def files(self) -> kernels.linkage.FileArrays:
        """The arrays of the loops: records of the intruder seek released ones."""
        return self.compare_sides(self.theirs, self.ours)

    def compare_sides(self, side: Side, other_side: Side) -> kernels.linkage.FileArrays:
        """The arrays of the loops where records of one side seek those of the other."""
        return kernels.linkage.FileArrays(
            kinds=self.kinds,
            rules=self.constants,
            numbers=side.numbers,
            marks=side.marks,
            bases=side.bases,
            starts=side.starts,
            matches=side.matches,
            other_numbers=other_side.numbers,
            other_marks=other_side.marks,
            other_records=other_side.records,
            other_bases=other_side.bases,
        )

    @functools.cached_property
    def tree(self) -> kernels.record_tree.RecordTree:
        """The tree over the distinct released records, grown once."""
        tree: kernels.record_tree.RecordTree = kernels.record_tree.build_tree(self.files)
        return tree

    @functools.cached_property
    def lowest(self) -> NDArray[np.int64]:
        """Per node of the tree the lowest number of its records."""
        lowest: NDArray[np.int64] = kernels.record_tree.find_lowest_records(self.tree)
        return lowest

    def costs(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per pair of distinct records (the intruder's, the released) what each column costs."""
        costs: NDArray[np.float64] = kernels.linkage.cost_pairs(pairs, self.files)
        return costs


def arrays_of(files: Files, rules: Sequence[ComparisonRule]) -> Arrays:
    """Put files and rules into arrays; columns that tell most come first, so that far records are
    given up early.
    """
    order = sorted(range(len(rules)), key=lambda k: -_telling(files.ours, k, rules[k]))
    columns, ordered_rules = [files.columns[k] for k in order], [rules[k] for k in order]
    return Arrays(
        tuple(column.name for column in columns),
        np.array([rule.kind for rule in ordered_rules], dtype=np.int64),
        np.array([rule.constants for rule in ordered_rules]).reshape(len(ordered_rules), CONSTANTS),
        _side(
            files.theirs.codes[:, order],
            files.theirs.records,
            [
                _marked(rule.theirs, rule.kind, c.open_theirs, c.missing_theirs)
                for rule, c in zip(ordered_rules, columns, strict=True)
            ],
            [c.theirs_fit for c in columns],
        ),
        _side(
            files.ours.codes[:, order],
            files.ours.records,
            [
                _marked(rule.ours, rule.kind, c.open_ours, c.missing_ours)
                for rule, c in zip(ordered_rules, columns, strict=True)
            ],
            [c.ours_fit for c in columns],
        ),
    )


def _telling(released_kinds: Distinct, column: int, rule: ComparisonRule) -> float:
    """Roughly what two random cells of a column cost."""
    shares = np.bincount(released_kinds.codes[:, column], weights=released_kinds.records) / max(
        1, len(released_kinds.kind_of)
    )
    differ = 1.0 - float((shares**2).sum())
    return differ * float(rule.constants[0]) * (2.0 if rule.kind == SQUARE else 1.0)


def _marked(
    numbers: NDArray[np.float64], kind: int, opened: NDArray[np.bool_], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Numbers and marks per code; in a category a missing value is a code like any other."""
    marks = np.arange(len(numbers)) if kind == CATEGORY else np.where(missing, MISSING, 0)
    return np.nan_to_num(numbers), np.where(opened, OPEN, marks).astype(np.int64)


def _side(
    codes: NDArray[np.int64],
    records: NDArray[np.int64],
    cells: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]],
    matching: Sequence[Lists],
) -> Side:
    numbers = np.stack([cell[0][codes[:, k]] for k, cell in enumerate(cells)], axis=1)
    marks = np.stack([cell[1][codes[:, k]] for k, cell in enumerate(cells)], axis=1)
    bases = np.concatenate([[0], np.cumsum([len(lengths) for lengths, _ in matching])]).astype(
        np.int64
    )
    lengths = np.concatenate([lengths for lengths, _ in matching])
    return Side(
        np.ascontiguousarray(numbers),
        np.ascontiguousarray(marks),
        records,
        bases,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([flat for _, flat in matching]),
    )


# Rules that make a distance of two records of the differences of their cells.
#
# Per column, *x* being the intruder's value and *c* the released cell:
#
# * a number: :math:`(z_x - z_c)^2`, standardised as asked; for a range the nearest point of it, or
# the mean over it:
#   :math:`(z_x - m)^2 + h^2/3` with middle *m* and half width *h*;
# * an ordered value: :math:`|r_x - r_c| / (v - 1)` with ranks *r* among *v* values; for a range the
# nearest, or the mean:
#   :math:`((r_x-m)^2 + h^2) / 2h` within it and the distance to the middle outside;
# * a category: 0 where the cell may stand for *x*, else 1; or, by the mean, :math:`1 - 1/s` for a
# set of *s* values;
# * a suppressed cell: 0, or the mean distance between the two files in this column;
# * missing: 0 to missing; to a value 1, for numbers 2 (the mean squared difference of standardised
# values); as a suppressed
#   cell where the schema says that missing fits everything.

Standard = Literal["pooled", "released", "own"]
Ranges = Literal["nearest", "mean"]
Suppressed = Literal["zero", "mean"]


def distance_rule(
    column: Compared, *, weight: float, standard: Standard, ranges: Ranges, suppressed: Suppressed
) -> ComparisonRule:
    """How one column adds to the distance."""
    if column.scale == "category":
        return _category(column, weight, ranges, suppressed)
    intruder_numbers = np.column_stack([column.places, column.places, np.zeros(len(column.places))])
    middle, half = column.low / 2 + column.high / 2, column.high / 2 - column.low / 2
    released_numbers = np.column_stack([column.low, column.high, np.zeros(len(half))])
    if ranges == "mean":
        released_numbers = np.column_stack([middle, middle, half])
    (shift, scale), (our_shift, our_scale) = _standards(column, middle, standard)
    intruder_numbers[:, :2] = (intruder_numbers[:, :2] - shift) / scale
    released_numbers[:, :2] = (released_numbers[:, :2] - our_shift) / our_scale
    released_numbers[:, 2] /= our_scale
    square = column.scale == "number"
    opened = 0.0
    if suppressed == "mean":
        opened = _mean_gap(
            column,
            intruder_numbers[:, 0],
            (released_numbers[:, 0] + released_numbers[:, 1]) / 2,
            square=square,
        )
    apart = 2.0 if square else 1.0
    constants = np.array([weight, weight * opened, weight * apart, 0.0, 0.0, 0.0, 0.0, 0.0])
    return ComparisonRule(
        SQUARE if square else ABSOLUTE, constants, intruder_numbers, released_numbers
    )


def _category(
    column: Compared, weight: float, ranges: Ranges, suppressed: Suppressed
) -> ComparisonRule:
    other_values = (column.stands_for - 1).astype(float)
    agreeing = 1 - 1 / column.stands_for if ranges == "mean" else np.zeros(len(other_values))
    intruder_numbers = np.column_stack(
        [np.zeros((len(column.places), 2)), np.full(len(column.places), -np.inf)]
    )
    released_numbers = np.column_stack(
        [np.zeros(len(other_values)), other_values, weight * agreeing]
    )
    opened = _mean_disagreement(column, agreeing) if suppressed == "mean" else 0.0
    constants = np.array([weight, weight * opened, weight, 0.0, 0.0, 0.0, 0.0, 0.0])
    return ComparisonRule(CATEGORY, constants, intruder_numbers, released_numbers)


def _standards(
    column: Compared, middle: NDArray[np.float64], standard: Standard
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What is taken off and what is divided by, for the intruder's file and for the release."""
    if column.scale == "order":
        return (0.0, max(1.0, column.span)), (0.0, max(1.0, column.span))
    intruder_positions, released_positions = column.places[column.theirs], middle[column.ours]
    intruder_positions = intruder_positions[~np.isnan(intruder_positions)]
    released_positions = released_positions[
        ~np.isnan(released_positions) & ~column.open_ours[column.ours]
    ]
    pooled = moments(np.concatenate([intruder_positions, released_positions]))
    if standard == "pooled":
        return pooled, pooled
    own = moments(released_positions, spare=pooled[1])
    return (
        (own, own)
        if standard == "released"
        else (moments(intruder_positions, spare=pooled[1]), own)
    )


def moments(values: NDArray[np.float64], spare: float = 1.0) -> tuple[float, float]:
    """Mean and standard deviation; a column of one value has the spare one.

    >>> import numpy as np
    >>> moments(np.array([1.0, 3.0])), moments(np.array([7.0, 7.0])), moments(np.array([]))
    ((2.0, 1.0), (7.0, 1.0), (0.0, 1.0))
    """
    size = float(np.abs(values).max()) if len(values) else 0.0
    if size == 0:
        return 0.0, spare
    mean, deviation = size * float((values / size).mean()), size * float((values / size).std())
    return mean, deviation if deviation > 1e-12 * size else spare


def _mean_gap(
    column: Compared,
    intruder_numbers: NDArray[np.float64],
    released_numbers: NDArray[np.float64],
    *,
    square: bool,
) -> float:
    """The mean difference between the intruder's values and the middles of released cells, over all
    pairs of rows.
    """
    intruder_values = intruder_numbers[
        column.theirs[~(column.open_theirs | column.missing_theirs)[column.theirs]]
    ]
    right = released_numbers[column.ours[~(column.open_ours | column.missing_ours)[column.ours]]]
    if not len(intruder_values) or not len(right):
        return 0.0
    if square:
        return float(
            intruder_values.var() + right.var() + (intruder_values.mean() - right.mean()) ** 2
        )
    right = np.sort(right)
    sums = np.concatenate([[0.0], np.cumsum(right)])
    below = np.searchsorted(right, intruder_values)
    apart = intruder_values * (2 * below - len(right)) + sums[-1] - 2 * sums[below]
    return float(apart.mean() / len(right))


def _mean_disagreement(column: Compared, agreeing: NDArray[np.float64]) -> float:
    """The mean distance in a category over all pairs of rows that are not suppressed."""
    intruder_counts = np.bincount(column.theirs, minlength=len(column.places)) * ~column.open_theirs
    released_counts = np.bincount(column.ours, minlength=len(column.open_ours)) * ~column.open_ours
    pairs = float(intruder_counts.sum()) * float(released_counts.sum())
    if not pairs:
        return 0.0
    near = sum(
        float(released_counts[label])
        * float(intruder_counts[list(values)].sum())
        * (1.0 - float(agreeing[label]))
        for label, values in enumerate(column.fitting)
        if values and released_counts[label]
    )
    return 1.0 - near / pairs


def plain_arrays(files: Files) -> Arrays:
    """The files under the distance that all columns count alike in."""
    return arrays_of(
        files,
        [
            distance_rule(
                column, weight=1.0, standard="pooled", ranges="nearest", suppressed="zero"
            )
            for column in files.columns
        ],
    )


# Rates of success, their intervals, and the words for them.

Z95 = 1.959963984540054


def wilson(successes: float, trials: int, z: float = Z95) -> tuple[float, float]:
    r"""Wilson's interval of a proportion (95 %).

    .. math:: \frac{p + z^2/2n \mp z \sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    Successes may be fractions (shared ties). Without trials nothing is known: (0, 1).
    Reference: Wilson 1927, doi:10.1080/01621459.1927.10502953.

    >>> [round(end, 4) for end in wilson(5, 10)]
    [0.2366, 0.7634]
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if trials <= 0:
        return 0.0, 1.0
    p = min(1.0, successes / trials)
    centre = p + z * z / (2 * trials)
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def sampled_interval(credit: NDArray[np.float64], *, everybody: bool) -> tuple[float, float] | None:
    """Wilson's interval (95 %) of a rate found on a random sample of people; None where everybody
    was tried: it is exact then.

    >>> import numpy as np
    >>> sampled_interval(np.ones(10), everybody=True) is None
    True
    >>> [
    ...     round(end, 4)
    ...     for end in sampled_interval(np.array([1.0] * 5 + [0.0] * 5), everybody=False)
    ... ]
    [0.2366, 0.7634]
    """
    return None if everybody else wilson(float(credit.sum()), len(credit))
