"""Households drawn whole: the household and its head first, then its other members one after the
other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.methods.steps.synthesis.material import ColumnForm, Material
from sfumato.methods.steps.synthesis.sequential import Sequential
from sfumato.methods.steps.synthesis.tree_growth import DrawnColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.synthesis.material import Rows
    from sfumato.methods.steps.synthesis.rules import RowRule, UnitRule

SIZE = ("unit", "size")
POSITION = ("unit", "position")
REDRAWS = 20
"""How often a household that breaks a rule is drawn again before a whole one of the table takes its
place.
"""

Streams = Callable[[str], np.random.Generator]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class UnitRows:
    """Records sorted by unit and, within it, by rank: the head first. ``rows`` are the records,
    ``starts`` where units begin.
    """

    rows: Rows
    starts: Rows

    @classmethod
    def of(cls, units: Rows, keys: Sequence[NDArray[Any]]) -> UnitRows:
        """UnitRows numbered from 0; members are sorted by keys, the first key first, and by their
        place.
        """
        # lexsort takes its last key first: the unit, then the keys in their order.
        sort_keys = [*keys, np.arange(len(units))]
        rows = np.lexsort((*reversed(sort_keys), units))
        last_unit = int(units.max(initial=-1))
        starts = np.searchsorted(units[rows], np.arange(last_unit + 1))
        return cls(rows.astype(np.int64), starts.astype(np.int64))

    @property
    def sizes(self) -> Rows:
        """Members of every unit."""
        return np.diff(self.starts, append=len(self.rows))

    @property
    def heads(self) -> Rows:
        """The first member of every unit."""
        return self.rows[self.starts]

    @property
    def of_rows(self) -> Rows:
        """Per place in ``rows`` the unit."""
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    @property
    def positions(self) -> Rows:
        """Per place in ``rows`` the position in the unit, from 0."""
        return np.arange(len(self.rows)) - self.starts[self.of_rows]


def shared_by_units(material: Material, units: UnitRows) -> bool:
    """Whether all members of every unit have the same in a column."""
    codes = material.codes[units.rows]
    # Every member against the first one of its unit.
    return bool((codes == codes[units.starts][units.of_rows]).all())


def _whole_material(values: Rows) -> Material:
    """Whole numbers as a column of their own."""
    numbers = values.astype(np.float64)
    distinct, codes = np.unique(numbers, return_inverse=True)
    state = np.zeros(len(numbers), dtype=np.uint8)
    bounds = (float(distinct.min(initial=0)), float(distinct.max(initial=0)))
    return Material(
        "",
        ColumnForm.NUMBERS,
        codes=codes.astype(np.int32),
        levels=len(distinct),
        labels=(),
        values=numbers,
        state=state,
        bounds=bounds,
        step=1.0,
    )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Households:
    """What was learnt of households: of the unit with its head, and of the members after the
    head.
    """

    units: UnitRows
    materials: Mapping[str, Material]
    shared: tuple[str, ...]
    order: tuple[str, ...]
    heads: Sequential
    members: Sequential | None
    size: str | None
    rules: tuple[UnitRule, ...]

    @classmethod
    def of(
        cls,
        materials: Mapping[str, Material],
        order: Sequence[str],
        units: UnitRows,
        rules: tuple[Sequence[RowRule], Sequence[UnitRule]],
        min_leaf: int,
        allowed: Callable[[str, str], bool],
    ) -> Households:
        """Learn from a table whose units are known."""
        shared = tuple(name for name in order if shared_by_units(materials[name], units))
        own = tuple(name for name in order if name not in shared)
        may = _permit_predictors(allowed)
        size = _size_of(materials, shared, units)
        by_head: dict[object, Material] = {
            name: material.taken(units.heads) for name, material in materials.items()
        }
        head_order: tuple[object, ...] = (*shared, *own)
        if size is None:  # no column says it: it is drawn between the shared and the own columns
            by_head[SIZE] = _whole_material(units.sizes)
            head_order = (*shared, SIZE, *own)
        heads = Sequential.of(by_head, head_order, rules[0], min_leaf, may)
        members = None
        later = np.flatnonzero(units.positions > 0)
        if len(later) and own:
            members = _members(
                materials,
                shared,
                own,
                units=units,
                later=later,
                rules=rules[0],
                min_leaf=min_leaf,
                may=may,
            )
        return cls(units, materials, shared, (*shared, *own), heads, members, size, tuple(rules[1]))

    def draw(self, count: int, streams: Streams) -> tuple[dict[str, DrawnColumn], Rows, int]:
        """So many households: the columns of their members, the household of every record, and how
        many were taken whole.
        """
        draws, sizes = self._draw_households(count, streams)
        unit_of = np.repeat(np.arange(count), sizes)
        # Households that break a rule are redrawn; what still does is copied whole from the
        # table.
        for attempt in range(REDRAWS):
            broken = self._broken(draws, unit_of, count)
            if not broken.any():
                return draws, unit_of, 0
            fresh = self._draw_households(int(broken.sum()), _retry_streams(streams, attempt))
            draws, unit_of = self._replaced(draws, unit_of, broken, *fresh)
        broken = self._broken(draws, unit_of, count)
        donors = streams("whole households").integers(0, len(self.units.starts), int(broken.sum()))
        draws, unit_of = self._replaced(draws, unit_of, broken, *self._copied(donors))
        return draws, unit_of, int(broken.sum())

    def _draw_households(self, count: int, streams: Streams) -> tuple[dict[str, DrawnColumn], Rows]:
        heads = self.heads.draw(count, streams)
        if self.size is None:
            # The size goes with the head's donor: it is not a column of the table.
            sizes = self.units.sizes[heads.pop(SIZE).donors]
        else:
            donors = self.units.heads[heads[self.size].donors]
            sizes = self.materials[self.size].values[donors].astype(np.int64)
        first = {}
        for name, head_draw in heads.items():
            first[name] = DrawnColumn(self.units.heads[head_draw.donors], head_draw.values)
        layers = [(np.arange(count), first)]
        for position in range(1, int(sizes.max(initial=1))):
            layers.append(self._layer(position, sizes, layers, streams))
        return self._stacked(layers, sizes), sizes

    def _layer(
        self,
        position: int,
        sizes: Rows,
        layers: list[tuple[Rows, dict[str, DrawnColumn]]],
        streams: Streams,
    ) -> tuple[Rows, dict[str, DrawnColumn]]:
        """The members at one position, of the units that have so many."""
        units = np.flatnonzero(sizes > position)
        heads = layers[0][1]
        before = layers[-1]
        # The layer before has the units in ascending order.
        # Units with a member at this position had one at the position before.
        previous = np.searchsorted(before[0], units)
        of_head = {name: _raw(self.materials[name], heads[name])[units] for name in heads}
        columns = {name: _take_draws(heads[name], units) for name in self.shared}
        if self.members is not None:
            known_values: dict[Any, NDArray[Any]] = {name: of_head[name] for name in self.shared}
            known_values[SIZE] = sizes[units].astype(np.float64)
            known_values[POSITION] = np.full(len(units), float(position))
            for name in self.order[len(self.shared) :]:
                of_before = _raw(self.materials[name], before[1][name])
                known_values["head", name] = of_head[name]
                known_values["previous", name] = of_before[previous]
            member_draws = self.members.draw(
                len(units), lambda name: streams(f"{name}, member {position}"), known_values
            )
            # Donors are numbered among later members: back to records of the table.
            later = self.units.rows[np.flatnonzero(self.units.positions > 0)]
            for name, member_draw in member_draws.items():
                columns[name] = DrawnColumn(later[member_draw.donors], member_draw.values)
        return units, columns

    def _stacked(
        self, layers: list[tuple[Rows, dict[str, DrawnColumn]]], sizes: Rows
    ) -> dict[str, DrawnColumn]:
        """All members, unit by unit."""
        starts = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        columns = {}
        for name in self.order:
            donors = np.empty(total, dtype=np.int64)
            smoothed = layers[0][1][name].values is not None
            values = np.empty(total) if smoothed else None
            for position, (units, layer_draws) in enumerate(layers):
                # Members of a unit stand one behind the other, in the order of their positions.
                donors[starts[units] + position] = layer_draws[name].donors
                if values is not None:
                    values[starts[units] + position] = layer_draws[name].values
            columns[name] = DrawnColumn(donors, values)
        return columns

    def _broken(
        self, draws: Mapping[str, DrawnColumn], unit_of: Rows, count: int
    ) -> NDArray[np.bool_]:
        raw = {name: _raw(self.materials[name], column_draw) for name, column_draw in draws.items()}
        broken = np.zeros(count, dtype=np.bool_)
        for rule in self.rules:
            broken |= rule.broken(self.materials, raw, unit_of, count)
        return broken

    def _copied(self, donors: Rows) -> tuple[dict[str, DrawnColumn], Rows]:
        """Whole households of the table."""
        sizes = self.units.sizes[donors]
        # From places in the new stack to places of the old one: a shift for each unit.
        shifts = self.units.starts[donors] - (np.cumsum(sizes) - sizes)
        positions = np.repeat(shifts, sizes) + np.arange(int(sizes.sum()))
        rows = self.units.rows[positions]
        draws = {}
        for name in self.order:
            material = self.materials[name]
            draws[name] = DrawnColumn(rows, material.values[rows] if material.smooth else None)
        return draws, sizes

    def _replaced(
        self,
        draws: dict[str, DrawnColumn],
        unit_of: Rows,
        broken: NDArray[np.bool_],
        fresh: dict[str, DrawnColumn],
        sizes: Rows,
    ) -> tuple[dict[str, DrawnColumn], Rows]:
        """The drawn households with fresh ones in the place of some."""
        # Fresh households take the numbers of those they replace.
        is_retained = ~broken[unit_of]
        drawn_units = np.repeat(np.flatnonzero(broken), sizes)
        units = np.concatenate([unit_of[is_retained], drawn_units])
        order = np.argsort(units, kind="stable")
        columns = {}
        for name, column_draw in draws.items():
            retained_donors = column_draw.donors[is_retained]
            donors = np.concatenate([retained_donors, fresh[name].donors])[order]
            old = column_draw.values
            new = fresh[name].values
            values = None
            if not (old is None or new is None):
                values = np.concatenate([old[is_retained], new])[order]
            columns[name] = DrawnColumn(donors, values)
        return columns, units[order]


def _size_of(
    materials: Mapping[str, Material], shared: Sequence[str], units: UnitRows
) -> str | None:
    """The column that says how many members every unit has; None: there is none."""
    for name in shared:
        material = materials[name]
        is_exact = material.form is ColumnForm.NUMBERS and not material.smooth
        if is_exact and np.array_equal(material.values[units.heads], units.sizes):
            return name
    return None


def _retry_streams(streams: Streams, number: int) -> Streams:
    """The random numbers of another attempt."""
    return lambda name: streams(f"{name}, again {number}")


def _permit_predictors(allowed: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    """Who may predict whom; the same column of the head or the member before may predict a column
    that they could.
    """

    def may(name: Any, key: object) -> bool:
        if name == SIZE or key in (SIZE, POSITION):
            return True
        predictor = key[1] if isinstance(key, tuple) else key
        return predictor == name or allowed(name, str(predictor))

    return may


def _members(
    materials: Mapping[str, Material],
    shared: Sequence[str],
    own: Sequence[str],
    units: UnitRows,
    later: Rows,
    rules: Sequence[RowRule],
    min_leaf: int,
    may: Callable[[Any, Any], bool],
) -> Sequential:
    """What is learnt of the members after the head; household, head, previous member and position
    are known.
    """
    rows = units.rows[later]
    unit = units.of_rows[later]
    materials_known: dict[Any, Material] = {name: materials[name].taken(rows) for name in shared}
    materials_known[SIZE] = _whole_material(units.sizes[unit])
    materials_known[POSITION] = _whole_material(units.positions[later])
    for name in own:
        materials_known["head", name] = materials[name].taken(units.heads[unit])
        # In the order of units the record before is the member before, as these are no heads.
        materials_known["previous", name] = materials[name].taken(units.rows[later - 1])
    about = [rule for rule in rules if rule.conclusion.column in own]
    own_materials = {name: materials[name].taken(rows) for name in own}
    return Sequential.of(own_materials, own, about, min_leaf, may, materials_known)


def _raw(material: Material, draw: DrawnColumn) -> NDArray[Any]:
    return draw.raw(material)


def _take_draws(draw: DrawnColumn, positions: Rows) -> DrawnColumn:
    return DrawnColumn(
        draw.donors[positions], None if draw.values is None else draw.values[positions]
    )
