"""Local recoding that starts from the global optimum and tells everything more precisely that can be."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sfumato.core.evidence import needed
from sfumato.errors import Unsatisfiable
from sfumato.steps.local.absorb import Absorber
from sfumato.steps.local.cover import cover_by_size
from sfumato.steps.local.judged import JudgedCover
from sfumato.steps.local.outliers import drop_outliers
from sfumato.steps.local.parts import Parts, Shape, cost_of
from sfumato.steps.local.release import Column, LocalPlan, columns_of, holds, plan_of
from sfumato.steps.local.terrain import Atoms, Terrain, atoms_of
from sfumato.steps.search.reach import auto

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Needs
    from sfumato.core.step import Goal
    from sfumato.steps.search.lattice import Judged, Lattice


@dataclasses.dataclass(frozen=True)
class Proposal:
    """Regions with the cells they would release, and the weighted mean cost of a record."""

    parts: Parts
    columns: dict[str, Column]
    cost: float


@dataclasses.dataclass(frozen=True)
class Ground:
    """All that a local recoding is planned on."""

    lattice: Lattice
    needs: Needs
    atoms: Atoms
    terrain: Terrain

    def failing(self, table: ClassTable) -> NDArray[np.bool_]:
        """Classes that break a promise about single classes."""
        return self.lattice.failing(table, [m for m in self.lattice.models if m.scope == "class"])

    def proposal(self, parts: Parts, shape: Shape | None = None) -> Proposal | None:
        """What tidy parts would release, or None when some promise, or the budget, does not hold on it."""
        shape = shape or Shape.tightest(parts, self.atoms, self.terrain)
        columns = columns_of(self.lattice, self.atoms, shape)
        if int(parts.left(self.atoms).sum()) > self.lattice.budget or not holds(
            self.lattice, self.atoms, parts, columns
        ):
            return None
        return Proposal(parts, columns, cost_of(parts, shape, self.atoms, self.terrain))


def respecialise(dataset: Dataset, goal: Goal, lattice: Lattice) -> LocalPlan:
    """Plan a local recoding: the better of the narrowed global optimum and of regions built from the finest cells up."""
    search = auto(lattice, goal.progress)
    if search.best is None:
        raise Unsatisfiable(_why_not(lattice), closest=search.closest)
    ground = Ground(lattice, needed(goal.models, dataset.schema), atoms_of(dataset, lattice), Terrain.of(lattice))
    found = [_global(ground, search.best)]
    if not (ground.needs.population or ground.needs.weights) and lattice.records:
        found += [p for p in (ground.proposal(parts) for parts in _local(ground, goal)) if p is not None]
    best = min(found, key=lambda proposal: proposal.cost)
    notes: dict[str, Any] = {"global_score": float(search.best.score), "lattice_nodes": lattice.size, **search.notes}
    if "warning" in notes:
        notes["warning"] = f"local recoding started from a global one that may not be the best: {notes['warning']}"
    return plan_of(ground.atoms, best.parts, best.columns, method="respecialise", notes=notes)


def _local(ground: Ground, goal: Goal) -> list[Parts]:
    """Regions built from the finest cells up, without and with what a budget of records allows."""
    k = size_promised(ground)
    parts = _covered(ground, goal, k).tidy()
    left = parts.left(ground.atoms)
    if left.any() and parts.count:
        absorber = Absorber(ground.atoms, ground.terrain, parts, ground.failing)
        stubborn = absorber.absorb(left)
        if left[stubborn].sum() > ground.lattice.budget:
            absorber.gather(stubborn, left)
        parts = absorber.parts()
    spare = ground.lattice.budget - int(parts.left(ground.atoms).sum())
    if spare <= 0:
        return [parts]
    return [parts, drop_outliers(parts, ground.atoms, ground.terrain, spare, ground.failing)]


def size_promised(ground: Ground) -> int | None:
    """The class size that is all the promises ask for, or None when they ask for more."""
    sizes = [getattr(model, "enough_k", None) for model in ground.lattice.models]
    if ground.lattice.base.counts or any(size is None for size in sizes):
        return None
    return max(int(size) for size in sizes if size is not None)


def _covered(ground: Ground, goal: Goal, k: int | None) -> Parts:
    goal.progress(0.0, "covering records")
    if k is not None:
        return cover_by_size(ground.atoms, ground.terrain, k)
    sizes = [getattr(model, "enough_k", None) for model in ground.lattice.models if model.scope == "class"]
    least = max([1, *(int(size) for size in sizes if size is not None)])
    names = ground.needs.counts if ground.needs.reference and ground.lattice.base.person is None else ()
    trimmed = names[0] if len(names) == 1 else None
    return JudgedCover(ground.atoms, ground.terrain, ground.failing, trimmed, least).run(goal.progress)


def _global(ground: Ground, best: Judged) -> Proposal:
    """The global optimum as regions, narrowed to what they hold where that keeps the promises."""
    parts, shape = _global_parts(ground, best)
    columns = columns_of(ground.lattice, ground.atoms, shape)
    plain = Proposal(parts, columns, cost_of(parts, shape, ground.atoms, ground.terrain))
    if ground.needs.population:  # a narrower cell matches fewer of the population
        return plain
    return ground.proposal(parts) or plain


def _global_parts(ground: Ground, best: Judged) -> tuple[Parts, Shape]:
    import numpy as np

    from sfumato.kernels.keys import look_up, pack

    lattice, atoms = ground.lattice, ground.atoms
    classes = lattice.at(best.node)
    keys = np.zeros((len(atoms), classes.keys.shape[1]), dtype=np.uint64)
    for a, ladder in enumerate(classes.ladders):
        codes = ladder.climb(0, best.node[a])[atoms.codes[:, a]]
        pack(keys, codes, classes.layout.words[a], classes.layout.shifts[a])
    homes = look_up(classes.keys, keys)
    kept = ~lattice.failing(classes)[homes]
    parts = Parts(np.flatnonzero(kept), homes[kept], atoms.amounts[kept]).tidy()
    levels = np.tile(np.array(best.node, dtype=np.int64), (parts.count, 1))
    return parts, Shape(levels, parts.atoms[parts.starts()[:-1]])


def _why_not(lattice: Lattice) -> str:
    promises = " and ".join(m.promise for m in lattice.models)
    fixed = sum(1 for high in lattice.high if high == 0)
    stuck = f" {fixed} column(s) cannot be generalised; give them a hierarchy or use suppress='cell'." if fixed else ""
    return (
        f"no local recoding was found that keeps {promises} and drops at most {lattice.budget:,} of {lattice.records:,} "
        f"records: not even the most general table does.{lattice.hopeless()} Lower the promise, raise the budget, or allow higher levels.{stuck}"
    )
