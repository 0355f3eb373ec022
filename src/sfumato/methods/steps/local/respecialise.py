"""Local recoding that starts from the global optimum and tells everything more precisely that can
be.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.classes import ClassTable, Layout
from sfumato.core.evidence import needed
from sfumato.core.fields import Document, Fields
from sfumato.core.groups import group_starts
from sfumato.core.hierarchy import Ladder, bind
from sfumato.core.words import join_words
from sfumato.errors import Unsatisfiable
from sfumato.methods.steps.local.atoms import Atoms, Outline, Parts, Terrain, atoms_of, cost_of
from sfumato.methods.steps.local.judged_cover import JudgedCover
from sfumato.methods.steps.local.promises import drop_outliers
from sfumato.methods.steps.local.regions import SUPPRESSED, ClassRecoding
from sfumato.methods.steps.recoding.search_choice import auto, warnings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Needs
    from sfumato.core.step import Goal
    from sfumato.core.table import Table
    from sfumato.methods.steps.recoding.lattice import JudgedNode, Lattice

    Ints = NDArray[np.int64]


Failing = Callable[["ClassTable"], "NDArray[np.bool_]"]
Piece = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
NEAREST = (8, 56)
"""How many of the nearest regions are asked first, and how many then."""
DEAREST_LOAN = 0.2
"""Cells that borrow are tried while the cost of a record that gains by it stays below this."""


# Absorbing: records that no cell could take join the region that they widen least.


class Absorber:
    """Regions that take in records one atom after the other, as long as they keep the promises."""

    def __init__(self, atoms: Atoms, terrain: Terrain, parts: Parts, failing: Failing) -> None:
        parts = parts.tidy()
        shape = Outline.tightest(parts, atoms, terrain)
        starts = parts.starts()
        self.atoms = atoms
        self.terrain = terrain
        self.failing = failing
        self.levels = shape.levels
        self.members = shape.members
        self.costs = shape.costs(atoms, terrain)
        self.sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
        # Per region the atoms and how many records of each, since regions grow one by one.
        self.pieces = [
            (parts.atoms[s:e], parts.amounts[s:e]) for s, e in itertools.pairwise(starts.tolist())
        ]

    def absorb(self, remaining: Ints) -> Ints:
        """Take in what is left of each atom; returns the atoms that no single region could take."""
        waiting = np.flatnonzero(remaining)
        # Atoms in their order, each judged against regions that took in the ones before: greedy.
        stubborn = [i for i in waiting.tolist() if not self._take(i, int(remaining[i]))]
        return np.array(stubborn, dtype=np.int64)

    def _take(self, atom: int, amount: int) -> bool:
        ground = self.terrain
        hierarchies = kernels.local.Hierarchies(
            ground.climbs, ground.costs, ground.bases, ground.high
        )
        new = kernels.local.price_widened_cells(
            self.atoms.codes,
            atom,
            self.levels,
            self.members,
            hierarchies,
        )
        # What all records of the region and the atom lose after, less what the region's lose now.
        # A region that cannot widen far enough costs infinity; infinity minus infinity is no
        # number. Neither is among the smallest.
        with np.errstate(invalid="ignore"):
            extra = (self.sizes + amount) * new - self.sizes * self.costs
        order = _smallest(extra, sum(NEAREST))
        # Models are the dear part, so the nearest regions are asked first, all in one table.
        for candidates in (order[: NEAREST[0]], order[NEAREST[0] :]):
            home = self._first_that_holds(candidates, atom, amount)
            if home >= 0:
                self._grow(home, atom, amount, float(new[home]))
                return True
        return False

    def _first_that_holds(self, regions: Ints, atom: int, amount: int) -> int:
        if not len(regions):
            return -1
        members, amounts = self._contents(regions.tolist())
        # Class i of the table is region i as it would be with the atom.
        piece_sizes = [len(self.pieces[region][0]) for region in regions.tolist()]
        groups = np.repeat(np.arange(len(regions)), piece_sizes)
        all_members = np.append(members, np.full(len(regions), atom))
        all_amounts = np.append(amounts, np.full(len(regions), amount))
        all_groups = np.append(groups, np.arange(len(regions)))
        table = self.atoms.table(all_members, all_amounts, all_groups, len(regions))
        good = np.flatnonzero(~self.failing(table))
        if len(good):
            return int(regions[good[0]])
        return -1

    def _grow(self, region: int, atom: int, amount: int, cost: float) -> None:
        for a in range(self.levels.shape[1]):
            # Climb each column until the atom and a member of the region have the same label.
            while not self._agree(region, atom, a):
                self.levels[region, a] += 1
        self.costs[region] = cost
        self.sizes[region] += amount
        members, amounts = self.pieces[region]
        self.pieces[region] = np.append(members, atom), np.append(amounts, amount)

    def _agree(self, region: int, atom: int, a: int) -> bool:
        ground = self.terrain
        codes = self.atoms.codes
        base = ground.bases[a, self.levels[region, a]]
        member_codes = codes[self.members[region], a]
        members_climbed = ground.climbs[base + member_codes]
        atom_climbed = ground.climbs[base + codes[atom, a]]
        return bool(atom_climbed == members_climbed)

    def gather(self, stubborn: Ints, remaining: Ints) -> bool:
        """Join the stubborn records with as few of the cheapest regions as keep the promises
        together.
        """
        whole = self.sizes * (1.0 - self.costs)
        gathered = []
        # Two greedy orders: least loss in all, or least loss a record. The cheaper result is
        # taken.
        for price in (whole, 1.0 - self.costs):
            order = np.lexsort((np.arange(len(price)), price))
            count = self._enough(order, stubborn, remaining)
            if count is not None:
                cost = whole[order[:count]].sum()
                gathered.append((float(cost), order[:count]))
        if gathered:
            self._unite(min(gathered, key=lambda f: f[0])[1], stubborn, remaining)
        return bool(gathered)

    def _enough(self, order: Ints, stubborn: Ints, remaining: Ints) -> int | None:
        """How many regions, taken in this order, make the promises hold: found by doubling, then by
        halving.
        """
        # Doubling and halving need O(log n) looks. Models that are not monotone may hold for
        # fewer.
        lower, upper = -1, 0
        while not self._holds_together(order[:upper], stubborn, remaining):
            if upper >= len(order):
                return None
            lower = upper
            upper = min(max(1, 2 * upper), len(order))
        while upper - lower > 1:
            middle = (lower + upper) // 2
            if self._holds_together(order[:middle], stubborn, remaining):
                upper = middle
            else:
                lower = middle
        return upper

    def _holds_together(self, regions: Ints, atoms: Ints, remaining: Ints) -> bool:
        members, amounts = self._contents(regions.tolist(), (atoms, remaining[atoms]))
        table = self.atoms.table(members, amounts, np.zeros(len(members), dtype=np.int64), 1)
        return bool(self._reachable(members) and not self.failing(table)[0])

    def _reachable(self, members: Ints) -> bool:
        """Whether the records agree on every column at its highest level."""
        ground = self.terrain
        codes = self.atoms.codes
        for a in range(codes.shape[1]):
            positions = ground.bases[a, ground.high[a]] + codes[members, a]
            top = ground.climbs[positions]
            if (top != top[0]).any():
                return False
        return True

    def _unite(self, regions: Ints, atoms: Ints, remaining: Ints) -> None:
        united = self._contents(regions.tolist(), (atoms, remaining[atoms]))
        # Regions keep their order; the new one comes last.
        gone = set(regions.tolist())
        remaining_pieces = [p for region, p in enumerate(self.pieces) if region not in gone]
        self.pieces = [*remaining_pieces, united]

    def _contents(self, regions: Sequence[int], *extra_pieces: Piece) -> Piece:
        """Atoms and amounts of some regions, and of what joins them."""
        pieces = [*(self.pieces[region] for region in regions), *extra_pieces]
        atoms = np.concatenate([piece[0] for piece in pieces])
        amounts = np.concatenate([piece[1] for piece in pieces])
        return atoms, amounts

    def parts(self) -> Parts:
        """What the regions hold now."""
        parts = []
        for region, (members, amounts) in enumerate(self.pieces):
            parts.append(Parts(members, np.full(len(members), region), amounts))
        return Parts.joined(parts).tidy()


def _smallest(values: NDArray[np.float64], count: int) -> Ints:
    """Where the smallest values stand, in their order; infinite ones are left out."""
    if len(values) > count:
        # A partial sort: linear, where a full one takes n log n.
        smallest = np.argpartition(values, count)[:count]
    else:
        smallest = np.arange(len(values))
    # Equal values in the order of their positions, so that ties do not depend on the partial sort.
    smallest = smallest[np.lexsort((smallest, values[smallest]))]
    return smallest[np.isfinite(values[smallest])]


# Covering records by cells: the cheapest cells that hold enough records first.
#
# The cells of all nodes of the lattice are tried in the order of their mean cost, each on the
# records that no cheaper cell has taken: a cell is opened when its records alone keep the promises.
# With nothing promised but a size, a cell that lacks a few records may borrow them from regions
# that have more than they need; equal records then part ways.


def cover_by_size(atoms: Atoms, terrain: Terrain, k: int) -> Parts:
    """Regions of at least k records."""
    nodes, smallest_sizes = _events(terrain, k)
    codes = atoms.codes.astype("int32")
    return Parts(
        *kernels.local.cover_records(
            codes, atoms.amounts, k, nodes, smallest_sizes, terrain.bases, terrain.marks
        )
    )


def _events(terrain: Terrain, k: int) -> tuple[Ints, Ints]:
    """Nodes in the order they are tried, and how many waiting records open a cell: k, about half of
    it, … 1.

    A cell of cost *c* in which *r* of k records gain costs each of them c·k/r, which gives the
    order.
    """
    nodes, costs = terrain.nodes
    # For k = 5: 5, 3, 2, 1 waiting records open a cell, the others are borrowed.
    sizes = [k]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    which = np.tile(np.arange(len(nodes)), len(sizes))
    smallest_sizes = np.repeat(sizes, len(nodes))
    price = costs[which] * (k / smallest_sizes)
    affordable = (smallest_sizes == k) | (price <= DEAREST_LOAN)
    which = which[affordable]
    smallest_sizes = smallest_sizes[affordable]
    price = price[affordable]
    order = np.lexsort((which, -smallest_sizes, price))
    # At the very top everything left is one region, whatever it costs.
    top = np.full(1, len(nodes) - 1)
    which = np.concatenate([which[order], top])
    smallest_sizes = np.concatenate([smallest_sizes[order], [1]])
    return np.ascontiguousarray(nodes[which]), smallest_sizes


# From regions to a plan: what each region releases, and whether the promises hold on all of it.


@dataclasses.dataclass(frozen=True)
class LocalPlan(ClassRecoding):
    """A class recoding whose rows are distinguished by more than the quasi-identifiers: ``losses``
    names only these.
    """

    @property
    def score(self) -> float:
        """Mean loss of a cell over all quasi-identifiers, by their weights; the cells of dropped
        records count 1.
        """
        return dataclasses.replace(self, columns=tuple(self.losses)).plain_score()

    def plain_score(self) -> float:
        """The score over all columns that the plan has."""
        return ClassRecoding.score.fget(self)  # type: ignore[attr-defined,no-any-return]

    @property
    def warnings(self) -> tuple[str, ...]:
        """That the lattice it started from was too large to decide."""
        return warnings_of(self.notes)

    def describe(self) -> Document:
        """The plan as plain data: no data values."""
        warned = {"warning": self.warnings[0]} if self.warnings else {}
        return {**ClassRecoding.describe(self), "columns": list(self.losses), **warned}


@dataclasses.dataclass(frozen=True)
class RegionColumn:
    """What regions release in one column: ``labels[codes[region]]`` at a loss; ``changed``: not all
    as it was.
    """

    codes: Ints
    labels: tuple[str | None, ...]
    losses: NDArray[np.float64]
    changed: bool


def column_of(ladder: Ladder, levels: Ints, codes: Ints) -> RegionColumn:
    """The cells of one column, from the level of each region and the code of any record in it."""
    number_of: dict[str | None, int] = {}
    numbered = np.zeros(len(levels), dtype=np.int64)
    losses = np.zeros(len(levels))
    # Level by level, as climbing is one lookup for all regions of a level.
    for level in np.unique(levels).tolist():
        at = np.flatnonzero(levels == level)
        nodes = ladder.climb(0, level)[codes[at]]
        names = ladder.labels[level]
        numbers = np.array(
            [
                number_of.setdefault(names[node], len(number_of))
                for node in np.unique(nodes).tolist()
            ]
        )
        numbered[at] = numbers[np.searchsorted(np.unique(nodes), nodes)]
        losses[at] = ladder.loss[level][nodes]
    is_changed = bool(len(levels)) and bool(levels.max() > 0)
    return RegionColumn(numbered, tuple(number_of), losses, is_changed)


def columns_of(lattice: Lattice, atoms: Atoms, shape: Outline) -> dict[str, RegionColumn]:
    """The cells of all quasi-identifiers."""
    ladders = lattice.base.ladders
    return {
        name: column_of(ladders[a], shape.levels[:, a], atoms.codes[shape.members, a])
        for a, name in enumerate(lattice.columns)
    }


def holds(
    lattice: Lattice, atoms: Atoms, parts: Parts, columns: Mapping[str, RegionColumn]
) -> bool:
    """Whether all promises hold on what would be released; regions that look alike count as one
    class.
    """
    table = _released_classes(atoms, parts, columns)
    if not len(table):
        return True
    return not lattice.failing(table).any()


def _released_classes(
    atoms: Atoms, parts: Parts, columns: Mapping[str, RegionColumn]
) -> ClassTable:
    layout = Layout.of([len(column.labels) for column in columns.values()])
    keys = np.zeros((parts.count, layout.length), dtype=np.uint64)
    for a, column in enumerate(columns.values()):
        kernels.keys.pack(keys, column.codes, layout.words[a], layout.shifts[a])
    # Regions with equal labels are one class to whoever reads the release.
    ids, first = kernels.keys.group(keys)
    table = atoms.table(parts.atoms, parts.amounts, ids[parts.regions], len(first))
    ladders = []
    for column in columns.values():
        ladders.append(_flat(column.labels))
    return dataclasses.replace(
        table,
        ladders=tuple(ladders),
        levels=(0,) * len(columns),
        layout=layout,
        keys=keys[first],
    )


def _flat(labels: tuple[str | None, ...]) -> Ladder:
    """A ladder without steps whose codes are those of the labels."""
    ladder = bind(None, labels, [1] * len(labels))
    return dataclasses.replace(
        ladder, labels=(labels,), leaves=(np.ones(len(labels)),), loss=(np.zeros(len(labels)),)
    )


def plan_of(
    atoms: Atoms,
    parts: Parts,
    columns: Mapping[str, RegionColumn],
    *,
    method: str,
    notes: Fields,
    weights: Mapping[str, float],
) -> LocalPlan:
    """The plan that releases these regions and drops what they do not hold."""
    remaining = parts.left(atoms)
    gone = np.flatnonzero(remaining)
    atom_numbers = np.concatenate([parts.atoms, gone])
    regions = np.concatenate([parts.regions, np.full(len(gone), SUPPRESSED)])
    amounts = np.concatenate([parts.amounts, remaining[gone]])
    # Per atom its regions in order, the dropped records last.
    order = np.lexsort((np.where(regions == SUPPRESSED, parts.count, regions), atom_numbers))
    starts = group_starts(np.bincount(atom_numbers, minlength=len(atoms)))
    changed_columns = {name: column for name, column in columns.items() if column.changed}
    codes = {name: column.codes for name, column in changed_columns.items()}
    labels = {name: column.labels for name, column in changed_columns.items()}
    return LocalPlan(
        columns=atoms.columns,
        placement=atoms.placement,
        keys=atoms.keys,
        starts=starts,
        amounts=amounts[order],
        regions=regions[order],
        cells=codes,
        labels=labels,
        losses={name: column.losses for name, column in columns.items()},
        method=method,
        notes={"regions": parts.count, **notes},
        weights=weights,
    )


@dataclasses.dataclass(frozen=True)
class Respecialisation:
    """Regions with the cells they would release, and the weighted mean cost of a record."""

    parts: Parts
    columns: dict[str, RegionColumn]
    cost: float


@dataclasses.dataclass(frozen=True)
class LocalGround:
    """All that a local recoding is planned on."""

    lattice: Lattice
    needs: Needs
    atoms: Atoms
    terrain: Terrain

    def failing(self, table: ClassTable) -> NDArray[np.bool_]:
        """Classes that break a promise about single classes."""
        return self.lattice.failing(table, [m for m in self.lattice.models if m.scope == "class"])

    def proposal(self, parts: Parts, shape: Outline | None = None) -> Respecialisation | None:
        """What tidy parts would release, or None when some promise, or the budget, does not hold on
        it.
        """
        shape = shape or Outline.tightest(parts, self.atoms, self.terrain)
        columns = columns_of(self.lattice, self.atoms, shape)
        # Judged on what would be released: narrowing a region may make it equal to another one.
        if int(parts.left(self.atoms).sum()) > self.lattice.budget or not holds(
            self.lattice, self.atoms, parts, columns
        ):
            return None
        return Respecialisation(parts, columns, cost_of(parts, shape, self.atoms, self.terrain))


def respecialise(
    dataset: Table, goal: Goal, lattice: Lattice, weights: Mapping[str, float]
) -> LocalPlan:
    """Plan a local recoding: the better of the narrowed global optimum and of regions built from
    the finest cells up.

    ``weights`` are those of the lattice, before they were made to sum to 1.
    """
    search = auto(lattice, goal.progress)
    if search.best is None:
        raise Unsatisfiable(_why_not(lattice), closest=search.closest)
    ground = LocalGround(
        lattice,
        needed(goal.models, dataset.schema),
        atoms_of(dataset, lattice),
        Terrain.of(lattice),
    )
    # A population or weights are judged on the cells of the global optimum only.
    proposals = [_global(ground, search.best)]
    if not (ground.needs.population or ground.needs.weights) and lattice.records:
        proposals += [
            p for p in (ground.proposal(parts) for parts in _local(ground, goal)) if p is not None
        ]
    best = min(proposals, key=lambda proposal: proposal.cost)
    notes: Document = {
        "global_score": float(search.best.score),
        "lattice_nodes": lattice.size,
        **search.notes,
    }
    if "warning" in notes:
        notes["warning"] = (
            f"local recoding started from a global one that may not be the best: {notes['warning']}"
        )
    return plan_of(
        ground.atoms, best.parts, best.columns, method="respecialise", notes=notes, weights=weights
    )


def _local(ground: LocalGround, goal: Goal) -> list[Parts]:
    """Regions built from the finest cells up, without and with what a budget of records allows."""
    k = size_promised(ground)
    parts = _cover_atoms(ground, goal, k).tidy()
    # Records that no cell took: first one by one, then together with whole regions.
    remaining = parts.left(ground.atoms)
    if remaining.any() and parts.count:
        absorber = Absorber(ground.atoms, ground.terrain, parts, ground.failing)
        stubborn = absorber.absorb(remaining)
        if remaining[stubborn].sum() > ground.lattice.budget:
            absorber.gather(stubborn, remaining)
        parts = absorber.parts()
    spare = ground.lattice.budget - int(parts.left(ground.atoms).sum())
    if spare <= 0:
        return [parts]
    return [parts, drop_outliers(parts, ground.atoms, ground.terrain, spare, ground.failing)]


def size_promised(ground: LocalGround) -> int | None:
    """The class size that is all the promises ask for, or None when they ask for more."""
    sizes = [model.enough_k for model in ground.lattice.models]
    if ground.lattice.base.counts or any(size is None for size in sizes):
        return None
    return max(size for size in sizes if size is not None)


def _cover_atoms(ground: LocalGround, goal: Goal, k: int | None) -> Parts:
    goal.progress(0.0, "covering records")
    if k is not None:
        return cover_by_size(ground.atoms, ground.terrain, k)
    sizes = [model.enough_k for model in ground.lattice.models if model.scope == "class"]
    smallest_class = max([1, *(size for size in sizes if size is not None)])
    if ground.needs.reference and ground.lattice.base.person is None:
        names = ground.needs.counts
    else:
        names = ()
    # Records can be left out by one sensitive column only; with two, trimming one spoils the
    # other.
    trimmed = names[0] if len(names) == 1 else None
    return JudgedCover(
        ground.atoms,
        ground.terrain,
        failing=ground.failing,
        trimmed=trimmed,
        smallest_class=smallest_class,
    ).run(goal.progress)


def _global(ground: LocalGround, best: JudgedNode) -> Respecialisation:
    """The global optimum as regions, narrowed to what they hold where that keeps the promises."""
    parts, shape = _global_parts(ground, best)
    columns = columns_of(ground.lattice, ground.atoms, shape)
    plain = Respecialisation(parts, columns, cost_of(parts, shape, ground.atoms, ground.terrain))
    if ground.needs.population:  # a narrower cell matches fewer of the population
        return plain
    return ground.proposal(parts) or plain


def _global_parts(ground: LocalGround, best: JudgedNode) -> tuple[Parts, Outline]:
    lattice = ground.lattice
    atoms = ground.atoms
    classes = lattice.at(best.node)
    keys = np.zeros((len(atoms), classes.keys.shape[1]), dtype=np.uint64)
    for a, ladder in enumerate(classes.ladders):
        codes = ladder.climb(0, best.node[a])[atoms.codes[:, a]]
        kernels.keys.pack(keys, codes, classes.layout.words[a], classes.layout.shifts[a])
    # Each atom's class at the best node, by the packed labels of that node.
    homes = kernels.keys.look_up(classes.keys, keys)
    passing = ~lattice.failing(classes)[homes]
    parts = Parts(np.flatnonzero(passing), homes[passing], atoms.amounts[passing]).tidy()
    levels = np.tile(np.array(best.node, dtype=np.int64), (parts.count, 1))
    first_parts = parts.starts()[:-1]
    return parts, Outline(levels, parts.atoms[first_parts])


def _why_not(lattice: Lattice) -> str:
    promises = join_words(m.promise for m in lattice.models)
    fixed = sum(1 for high in lattice.high if high == 0)
    stuck = ""
    if fixed:
        stuck = (
            f" {fixed} column(s) cannot be generalised; give them a hierarchy or use"
            " suppress='cell'."
        )
    return (
        f"no local recoding was found that reaches {promises} and suppresses at most "
        f"{lattice.budget:,} of {lattice.records:,} records: even the most general table does "
        f"not.{lattice.hopeless()}{lattice.caveat()} Lower the promise, raise the budget, or allow "
        f"higher levels.{stuck}"
    )
