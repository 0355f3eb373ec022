"""Whole tables drawn from what was learnt: stratum by stratum, copy by copy, fully or partly
synthetic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.groups import group_starts
from sfumato.errors import ParameterError
from sfumato.methods.steps.synthesis.copula import drawn_by_copula
from sfumato.methods.steps.synthesis.households import Households, UnitRows, shared_by_units
from sfumato.methods.steps.synthesis.sequential import Sequential
from sfumato.methods.steps.synthesis.tree_growth import DrawnColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.synthesis.material import Material, Rows
    from sfumato.methods.steps.synthesis.rules import RowRule, UnitRule

STRATUM_LEAVES = 10
"""A stratum is learnt by itself when it has so many times the records of a leaf."""

Streams = Callable[[str], np.random.Generator]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Groundwork:
    """What is learnt from: columns in canonical order, which of them are drawn and in which order,
    and what must hold.
    """

    materials: Mapping[str, Material]
    order: tuple[str, ...]
    rules: tuple[RowRule, ...]
    unit_rules: tuple[UnitRule, ...]
    predictors: Mapping[str, Sequence[str]]
    min_leaf: int
    method: str
    exact: bool

    def allowed(self, name: str, predictor: object) -> bool:
        """Whether a column may be predicted from another."""
        return name not in self.predictors or predictor in self.predictors[name]

    def taken(self, rows: Rows) -> dict[str, Material]:
        """The drawn columns of some records."""
        return {name: self.materials[name].taken(rows) for name in self.order}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Copy:
    """One drawn table: its columns, the unit of every record (None: records are unique), and
    households taken whole.
    """

    columns: Mapping[str, DrawnColumn]
    units: Rows | None
    whole: int


def strata_apart(strata: Rows, rows: Rows, min_leaf: int) -> tuple[list[Rows], int]:
    """The records of each stratum that is learnt by itself, then those of all others together; and
    how many strata those are.
    """
    own = strata[rows]
    numbers, counts = np.unique(own, return_counts=True)
    large = numbers[counts >= STRATUM_LEAVES * min_leaf]
    small = len(numbers) - len(large)
    # Strata of enough records, then all others as one part.
    parts = [rows[own == number] for number in large.tolist()]
    remaining = rows[~np.isin(own, large)]
    return ([*parts, remaining] if len(remaining) else parts), small if parts and len(
        remaining
    ) else 0


def allot_records(total: int, sizes: Sequence[int]) -> list[int]:
    """So many records shared out over strata by their size, by largest remainders.

    >>> allot_records(10, [50, 30, 5])
    [6, 3, 1]
    """
    whole = sum(sizes)
    shares = [total * size / whole for size in sizes]
    # Rounded down first; 1e-9 keeps shares that are whole.
    counts = [int(share + 1e-9) for share in shares]
    # The largest remainders get what is left; equal ones in the order of the strata.
    by_rest = sorted(range(len(sizes)), key=lambda i: (counts[i] - shares[i], i))
    for i in by_rest[: total - sum(counts)]:
        counts[i] += 1
    return counts


def fully_drawn(
    ground: Groundwork,
    parts: Sequence[Rows],
    units: Rows | None,
    size: int | None,
    copies: int,
    streams: Callable[[str], Streams],
) -> list[Copy]:
    """So many tables; ``size`` is the number of records, or of units where there are any (None: as
    many as are learnt from).
    """
    drawn_parts = [_part_of(ground, rows, units) for rows in parts]
    counts = [part.count for part in drawn_parts]
    sizes = counts if size is None else allot_records(size, counts)
    joined_copies = []
    for copy in range(copies):
        pieces = []
        for stratum, (part, count) in enumerate(zip(drawn_parts, sizes, strict=True)):
            pieces.append(part.draw(count, streams(f"copy {copy}, stratum {stratum}")))
        joined_copies.append(_join_strata(ground.order, pieces, sizes, grouped=units is not None))
    return joined_copies


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """One stratum: how many records or units it has, and how so many others are drawn."""

    count: int
    draw: Callable[[int, Streams], Copy]


def _part_of(ground: Groundwork, rows: Rows, units: Rows | None) -> _Part:
    materials = ground.taken(rows)

    # Donors are numbered within the stratum: back to numbers of the whole table.
    def back(draws: Mapping[str, DrawnColumn]) -> dict[str, DrawnColumn]:
        return {name: DrawnColumn(rows[draw.donors], draw.values) for name, draw in draws.items()}

    if ground.method == "copula":

        def by_copula(size: int, streams: Streams) -> Copy:
            return Copy(
                back(drawn_by_copula(materials, size, streams("copula"), exact=ground.exact)),
                None,
                0,
            )

        return _Part(len(rows), by_copula)
    if units is None:
        sequential = Sequential.of(
            materials, ground.order, ground.rules, ground.min_leaf, ground.allowed
        )
        return _Part(
            len(rows), lambda size, streams: Copy(back(sequential.draw(size, streams)), None, 0)
        )
    _, unit_numbers = np.unique(units[rows], return_inverse=True)
    ranked = UnitRows.of(unit_numbers.astype(np.int64), [np.arange(len(rows))])
    all_rules = ground.rules, ground.unit_rules
    households = Households.of(
        materials, ground.order, ranked, all_rules, ground.min_leaf, ground.allowed
    )

    def whole(size: int, streams: Streams) -> Copy:
        draws, unit_of, copied = households.draw(size, streams)
        return Copy(back(draws), unit_of, copied)

    return _Part(len(ranked.starts), whole)


def _join_strata(
    order: Sequence[str], pieces: Sequence[Copy], sizes: Sequence[int], *, grouped: bool
) -> Copy:
    """The strata of one copy, one below the other."""
    columns = {}
    for name in order:
        pieces_of_column = [piece.columns[name] for piece in pieces]
        values = []
        for piece_draw in pieces_of_column:
            if piece_draw.values is not None:
                values.append(piece_draw.values)
        joined = None
        # Smoothed numbers only where all strata smoothed the column; else donors tell all.
        if len(values) == len(pieces_of_column):
            joined = np.concatenate(values)
        columns[name] = DrawnColumn(
            np.concatenate([piece_draw.donors for piece_draw in pieces_of_column]), joined
        )
    # Units of a stratum are numbered behind those of the strata before it.
    before = group_starts(sizes)
    units = []
    for piece, start in zip(pieces, before, strict=False):
        if piece.units is not None:
            units.append(piece.units + start)
    return Copy(
        columns, np.concatenate(units) if grouped else None, sum(piece.whole for piece in pieces)
    )


def partly_drawn(
    ground: Groundwork,
    rows: Rows,
    at_risk: Rows,
    units: Rows | None,
    streams: Streams,
    *,
    not_self: bool,
) -> dict[str, DrawnColumn]:
    """New values of some columns for some records (``at_risk``, by their places in ``rows``),
    predicted from what is kept too.
    """
    materials = {name: material.taken(rows) for name, material in ground.materials.items()}
    # Columns that stay may predict as well.
    fixed_materials = {
        name: material for name, material in materials.items() if name not in ground.order
    }
    targets = {name: materials[name] for name in ground.order}
    sequential = Sequential.of(
        targets,
        ground.order,
        ground.rules,
        ground.min_leaf,
        ground.allowed,
        fixed_materials,
    )
    fixed_values = {name: material.raw[at_risk] for name, material in fixed_materials.items()}
    settle = _agree_in_household(materials, rows, at_risk, units)
    own = at_risk if not_self else None
    draws = sequential.draw(len(at_risk), streams, fixed_values, own, settle)
    return {name: DrawnColumn(rows[draw.donors], draw.values) for name, draw in draws.items()}


def _agree_in_household(
    materials: Mapping[str, Material], rows: Rows, at_risk: Rows, units: Rows | None
) -> Callable[[str, DrawnColumn], DrawnColumn]:
    """Lets members of a household have one value in columns that all of them shared."""
    if units is None or not len(at_risk):
        return lambda _, draw: draw
    _, numbers = np.unique(units[rows], return_inverse=True)
    ranked = UnitRows.of(numbers.astype(np.int64), ())
    shared = {name for name, material in materials.items() if shared_by_units(material, ranked)}
    # The first record at risk of a household decides for its other members.
    _, first, back = np.unique(numbers[at_risk], return_index=True, return_inverse=True)

    def settle(name: str, draw: DrawnColumn) -> DrawnColumn:
        if name not in shared:
            return draw
        values = None
        if draw.values is not None:
            values = draw.values[first][back]
        return DrawnColumn(draw.donors[first][back], values)

    return settle


def reappearing(material: Material, rows: Rows, synthetic_values: NDArray[np.float64]) -> float:
    """The share of numbers that one record alone has that are drawn again; NaN where no number
    is unique.
    """
    own = material.values[rows]
    present_values = own[~np.isnan(own)]
    values, counts = np.unique(present_values, return_counts=True)
    # A number that several have would be drawn again without pointing at anybody.
    alone = values[counts == 1]
    if len(alone):
        return float(np.isin(alone, synthetic_values).mean())
    return float("nan")


def require_premises_of_units(rules: Sequence[RowRule], shared: Sequence[str]) -> None:
    """Refuse a rule that decides about a household by one of its members."""
    for rule in rules:
        single = [c.column for c in rule.premise if c.column not in shared]
        if rule.conclusion.column in shared and single:
            raise ParameterError(
                f"synthesize: {rule.title} decides a column that all members of a household share "
                f"by {', '.join(single)} of one member; write a rule about members, or count(...)"
            )
