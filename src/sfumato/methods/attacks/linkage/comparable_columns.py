"""One column as the intruder has it and as it is released, in terms that can be compared."""

from __future__ import annotations

import dataclasses
import functools
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.attack import NothingToAttack
from sfumato.core.encoding import require_same_codes
from sfumato.core.groups import group_starts
from sfumato.core.labels import Labels
from sfumato.core.ranges import day, number
from sfumato.core.reading import Reading, Scale, read_column
from sfumato.core.schema import Kind, Missing
from sfumato.errors import SchemaError, SfumatoError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.schema import Attribute

    Lists = tuple[NDArray[np.int64], NDArray[np.int64]]
    """How long each of some lists is, and all of them one after the other."""
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class ComparedColumn:
    """A column of both files.

    ``intruder`` are the codes of the intruder's rows and ``released`` those of the released rows;
    ``places`` is where each of the intruder's values lies (NaN: nowhere), ``low`` to ``high`` where
    each released label may lie. On the scale ``category`` ``fitting[i]`` are the intruder's values,
    in order, that label *i* may stand for, and ``stands_for`` how many of the original's values it
    does. ``open_*`` marks cells that fit everything, ``missing_*`` cells that are missing.
    """

    name: str
    scale: Scale
    intruder: Ints
    released: Ints
    places: Floats
    low: Floats
    high: Floats
    fitting: tuple[tuple[int, ...], ...]
    stands_for: Ints
    open_intruder: Flags
    open_released: Flags
    missing_intruder: Flags
    missing_released: Flags
    span: float

    @functools.cached_property
    def released_fit(self) -> Lists:
        """Per released label the intruder's values it may stand for, in order; nothing on a
        line.
        """
        lengths = np.array([len(values) for values in self.fitting], dtype=np.int64)
        return lengths, np.array(list(chain.from_iterable(self.fitting)), dtype=np.int64)

    @functools.cached_property
    def intruder_fit(self) -> Lists:
        """Per value of the intruder the released labels that may stand for it, in order; nothing on
        a line.
        """
        lengths, values = self.released_fit
        # The lists turned round: sorted by value, each with the labels in their order.
        labels = np.repeat(np.arange(len(lengths)), lengths)[np.argsort(values, kind="stable")]
        return (
            np.bincount(values, minlength=len(self.places) if self.scale == "category" else 0),
            labels,
        )

    @functools.cached_property
    def intruder_fit_starts(self) -> Ints:
        """Where the released labels that may stand for each value of the intruder begin in
        ``intruder_fit``.
        """
        return group_starts(self.intruder_fit[0])


def common_columns(scene: Scene) -> tuple[str, ...]:
    """The columns the intruder knows that are in the intruder's file and in the release, sorted by
    name.
    """
    described_columns = set(scene.pair.original.schema.attributes)
    released_columns = (
        set(scene.intruder.file.columns) & set(scene.pair.columns) & described_columns
    )
    return tuple(sorted(name for name in scene.intruder.knows if name in released_columns))


def refusal(scene: Scene) -> str | None:
    """Why nothing can be linked in a scene, or None."""
    if not len(scene.intruder.file):
        return "the intruder's file has no rows"
    if not len(scene.pair.released):
        return NothingToAttack("nothing was released")
    if len(scene.intruder.truth) != len(scene.intruder.file):
        return "the truth needs one entry for every row of the intruder's file"
    if not common_columns(scene):
        return NothingToAttack("the intruder knows no released column")
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
        _is_generalised(scene, name) and known_truly(scene, name) for name in common_columns(scene)
    )


def _is_generalised(scene: Scene, name: str) -> bool:
    reading = scene.pair.reading(name)
    # Cells that say nothing: missing, or everything in a column without a hierarchy.
    gone = np.array([label is None for label in reading.labels], dtype=bool)
    if scene.pair.original.schema[name].hierarchy is None:
        gone |= reading.everything
    missing_values = [value is None for value in reading.values]
    was_missing = np.array(missing_values, dtype=bool)[reading.original[scene.pair.rows]]
    return bool(scene.pair.truthful(name).all() and (was_missing | ~gone[reading.released]).all())


def known_truly(scene: Scene, name: str) -> bool:
    """Whether the intruder's values of a column are the original's."""
    intruder_codes = scene.intruder.file.encoded(name)
    reading = scene.pair.reading(name)
    value_codes = {value: code for code, value in enumerate(reading.values)}
    original_code = [value_codes.get(value, -1) for value in intruder_codes.labels]
    original_codes = np.array(original_code, dtype=np.int64)[intruder_codes.codes]
    people = scene.intruder.truth >= 0
    true_codes = reading.original[scene.intruder.truth[people]]
    return bool((original_codes[people] == true_codes).all())


def require_linkable(scene: Scene) -> None:
    """Raise :class:`SchemaError` where nothing can be linked."""
    reason = refusal(scene)
    if reason is not None:
        raise SchemaError(f"records cannot be linked: {reason}")


def compare(scene: Scene, name: str) -> ComparedColumn:
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
    missing_intruder = np.array([value is None for value in intruder_codes.labels], dtype=bool)
    missing_released = np.array([label is None for label in reading.labels], dtype=bool)
    positions = _positions(attribute, reading, intruder_codes.labels)
    wildcard = attribute.missing is Missing.WILDCARD
    # What cannot be read may be anything: it is open, so that nobody is ruled out by it.
    if line:
        unreadable = np.isnan(reading.low) & ~missing_released
        nowhere = np.isnan(positions) & ~missing_intruder
    else:
        unreadable = np.zeros(len(missing_released), dtype=bool)
        nowhere = np.zeros(len(missing_intruder), dtype=bool)
    open_intruder = nowhere | (missing_intruder & wildcard)
    open_released = reading.everything | unreadable | (missing_released & wildcard)
    return ComparedColumn(
        name,
        reading.scale,
        intruder=np.asarray(intruder_codes.codes, dtype=np.int64),
        released=reading.released,
        places=positions,
        low=reading.low,
        high=reading.high,
        fitting=() if line else _fitting(reading, intruder_codes.labels),
        stands_for=np.maximum(1, np.diff(reading.starts)),
        open_intruder=open_intruder,
        open_released=open_released,
        missing_intruder=missing_intruder,
        missing_released=missing_released,
        span=reading.span,
    )


def _reading(scene: Scene, name: str, intruder_labels: Labels) -> Reading:
    """The released column read in terms of the original's values and, for categories, of those only
    the intruder has.
    """
    reading: Reading = scene.pair.reading(name)
    known_values = set(reading.values)
    extra = [value for value in intruder_labels if value is not None and value not in known_values]
    # On a line values of the intruder get a place in any case; without a hierarchy a label stands
    # for itself.
    if (
        reading.scale != "category"
        or not extra
        or scene.pair.original.schema[name].hierarchy is None
    ):
        return reading
    values_and_gaps = [reading.values[code] for code in reading.original.tolist()] + extra
    values = pl.Series(name, values_and_gaps, dtype=pl.String)
    try:
        attribute = scene.pair.original.schema[name]
        column_level = scene.pair.levels.get(name)
        if reading.level is None:
            column_level = None
        return read_column(name, attribute, values, scene.pair.released.column(name), column_level)
    except SfumatoError:  # the hierarchy does not know what only the intruder has
        return reading


def _positions(attribute: Attribute, reading: Reading, intruder_labels: Labels) -> Floats:
    """Where the intruder's values lie on the line."""
    known_positions = dict(zip(reading.values, reading.places.tolist(), strict=True))
    if attribute.order is not None:
        known_positions.update({label: float(rank) for rank, label in enumerate(attribute.order)})
    read = day if attribute.kind is Kind.DATE else number
    positions = np.full(len(intruder_labels), np.nan)
    for i, value in enumerate(intruder_labels):
        if value is None or reading.scale == "category":
            continue
        # Values that an order does not name have no place in it.
        if value in known_positions or reading.scale == "order":
            position = known_positions.get(value)
        else:
            position = read(value)
        positions[i] = np.nan if position is None else position
    return positions


def _fitting(reading: Reading, intruder_labels: Labels) -> tuple[tuple[int, ...], ...]:
    """Per released label the intruder's values it may stand for; a label only the release has
    stands for itself.
    """
    position = {value: i for i, value in enumerate(intruder_labels)}
    code_of = [position.get(value, -1) for value in reading.values]
    members = reading.members.tolist()
    starts = reading.starts.tolist()
    everything = reading.everything.tolist()
    fitting_codes: list[tuple[int, ...]] = []
    for i, label in enumerate(reading.labels):
        if everything[i]:
            values_held = []
        else:
            values_held = members[starts[i] : starts[i + 1]]
        if len(values_held) == 1:  # the rule where nothing is generalised
            value_code = code_of[values_held[0]]
            fitting_codes.append((value_code,) if value_code >= 0 else ())
            continue
        codes = {code_of[value] for value in values_held} - {-1}
        if not values_held and label in position:
            codes = {position[label]}
        fitting_codes.append(tuple(sorted(codes)))
    return tuple(fitting_codes)
