"""One column as the intruder has it and as it is released, in terms that can be compared."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sfumato.core.attack import NothingToAttack
from sfumato.core.encoding import encode, require_same_codes
from sfumato.core.ranges import day, number
from sfumato.core.reading import Labels, Reading, Scale, read_column
from sfumato.core.schema import Kind, Missing
from sfumato.errors import SchemaError, SfumatoError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.schema import Attribute


@dataclasses.dataclass(frozen=True, eq=False)
class Compared:
    """A column of both files.

    ``theirs`` are the codes of the intruder's rows and ``ours`` those of the released rows; ``places`` is where each of the
    intruder's values lies (NaN: nowhere), ``low`` to ``high`` where each released label may lie. On the scale ``category``
    ``fitting[i]`` are the intruder's values, in order, that label *i* may stand for, and ``stands_for`` how many of the
    original's values it does. ``open_*`` marks cells that fit everything, ``missing_*`` cells that are missing.
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


def common_columns(scene: Scene) -> tuple[str, ...]:
    """The columns the intruder knows that are in the intruder's file and in the release, sorted by name."""
    there = set(scene.intruder.file.columns) & set(scene.pair.columns) & set(scene.pair.original.schema.attributes)
    return tuple(sorted(name for name in scene.intruder.knows if name in there))


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


def require_linkable(scene: Scene) -> None:
    """Raise :class:`SchemaError` where nothing can be linked."""
    reason = refusal(scene)
    if reason is not None:
        raise SchemaError(f"records cannot be linked: {reason}")


def compare(scene: Scene, name: str) -> Compared:
    """Read one column of both files."""
    import numpy as np

    attribute = scene.pair.original.schema[name]
    known = encode(scene.intruder.file.column(name))
    reading = _reading(scene, name, known.labels)
    if reading.scale == "category":
        require_same_codes(
            known.labels, scene.pair.reading(name).values, name, between="the intruder's file and the table"
        )
    line = reading.scale != "category"
    missing_theirs = np.array([value is None for value in known.labels], dtype=bool)
    missing_ours = np.array([label is None for label in reading.labels], dtype=bool)
    places = _places(attribute, reading, known.labels)
    wildcard = attribute.missing is Missing.WILDCARD
    unreadable = np.isnan(reading.low) & ~missing_ours if line else np.zeros(len(missing_ours), dtype=bool)
    nowhere = np.isnan(places) & ~missing_theirs if line else np.zeros(len(missing_theirs), dtype=bool)
    return Compared(
        name,
        reading.scale,
        np.asarray(known.codes, dtype=np.int64),
        reading.released,
        places,
        reading.low,
        reading.high,
        () if line else _fitting(reading, known.labels),
        np.maximum(1, np.diff(reading.starts)),
        nowhere | (missing_theirs & wildcard),
        reading.everything | unreadable | (missing_ours & wildcard),
        missing_theirs,
        missing_ours,
        reading.span,
    )


def _reading(scene: Scene, name: str, theirs: Labels) -> Reading:
    """The released column read in terms of the original's values and, for categories, of those only the intruder has."""
    import polars as pl

    reading = scene.pair.reading(name)
    known = set(reading.values)
    extra = [value for value in theirs if value is not None and value not in known]
    if reading.scale != "category" or not extra or scene.pair.original.schema[name].hierarchy is None:
        return reading
    values = pl.Series(name, [reading.values[code] for code in reading.original.tolist()] + extra, dtype=pl.String)
    try:
        attribute, rung = scene.pair.original.schema[name], scene.pair.levels.get(name)
        rung = rung if reading.level is not None else None
        return read_column(name, attribute, values, scene.pair.released.column(name), rung)
    except SfumatoError:  # the hierarchy does not know what only the intruder has
        return reading


def _places(attribute: Attribute, reading: Reading, theirs: Labels) -> NDArray[np.float64]:
    """Where the intruder's values lie on the line."""
    import numpy as np

    known = dict(zip(reading.values, reading.places.tolist(), strict=True))
    if attribute.order is not None:
        known.update({label: float(rank) for rank, label in enumerate(attribute.order)})
    read = day if attribute.kind is Kind.DATE else number
    found = np.full(len(theirs), np.nan)
    for i, value in enumerate(theirs):
        if value is None or reading.scale == "category":
            continue
        place = known.get(value) if value in known or reading.scale == "order" else read(value)
        found[i] = np.nan if place is None else place
    return found


def _fitting(reading: Reading, theirs: Labels) -> tuple[tuple[int, ...], ...]:
    """Per released label the intruder's values it may stand for; a label only the release has stands for itself."""
    position = {value: i for i, value in enumerate(theirs)}
    code_of = [position.get(value, -1) for value in reading.values]
    members, starts, everything = reading.members.tolist(), reading.starts.tolist(), reading.everything.tolist()
    found: list[tuple[int, ...]] = []
    for i, label in enumerate(reading.labels):
        held = [] if everything[i] else members[starts[i] : starts[i + 1]]
        if len(held) == 1:  # the rule where nothing is generalised
            found.append((code_of[held[0]],) if code_of[held[0]] >= 0 else ())
            continue
        codes = {code_of[value] for value in held} - {-1}
        if not held and label in position:
            codes = {position[label]}
        found.append(tuple(sorted(codes)))
    return tuple(found)
