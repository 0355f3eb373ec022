r"""Outputs of one session against each other: whether sums and differences of their cells tell of a
few persons.

Records that are in the same cells of all outputs are an *atom*. Every published sum is a sum over
atoms, so whatever follows from all outputs by adding and subtracting is a vector of the row space
of the matrix *cells × atoms*. Two questions are asked of it, per thing that is added up (persons,
rows, a column):

- is there a vector of the row space that is zero for all but fewer than ``threshold`` persons?
  Those on atoms of enough persons must be zero, which leaves a small space; in it, for each
  atom :math:`a`, the linear program :math:`\min \sum_b w_b |v_b|`
  with :math:`v_a = 1`, :math:`|v_b| \le 1` is a lower bound of the persons any such vector tells
  of. At or above the threshold for every atom: there is none.
- of counts: can an atom of a few persons be as large as the threshold in any table of nonnegative
  numbers with the published sums (:math:`\max n_a`, :math:`Mn = c`, :math:`n \ge 0`)? Where it
  cannot, the sums tell that it is small. A union of atoms that is bounded bounds each of its atoms,
  so that atoms are enough.

Cost: for up to ``MOST_CELLS`` cells and ``MOST_ATOMS`` atoms (``MOST_SMALL`` of them of few
persons) two symmetric eigenproblems of the size of the cells, and at most ``MOST_PROGRAMS`` linear
programs a question; beyond that, sums and differences of up to four cells by hashing
(``sums_of_four.py``), and the answer says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sfumato.results.checking.record_sets import ANY_SUM, CELL, PERSONS, ROWS, RecordSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int64]

MOST_ATOMS, MOST_SMALL, MOST_CELLS = 20_000, 2_000, 1_000
"""Up to so many atoms, atoms of few persons, and different cells all sums and differences are
looked at.
"""
MOST_PROGRAMS = 200
"""Linear programs of one question, one for every atom of few persons that is in question."""
MOST_ENTRIES = 10_000_000
"""Entries of the matrix times programs about counts."""
NEAR = 1e-7
SUMS = ("sum ", "square ")
"""What a sum of an unknown column may be."""


class OutputSets(NamedTuple):
    """The cells of one output, as records of the session."""

    number: int
    sets: Sequence[RecordSet]


class JointFinding(NamedTuple):
    """What outputs tell together, and the outputs it follows from: a sum over few persons, a count
    that is known to be small, cells that nearly agree, or nothing that could be settled.

    The last three say that nothing was found, and how far was looked: at all sums without bounds of
    counts, at sums of up to four cells, of two.
    """

    kind: Literal["sum", "bound", "near", "open", "sums", "fours", "pairs"]
    outputs: tuple[int, ...] = ()


LIMITED = ("sums", "fours", "pairs")
"""Findings that say how far was looked, the least last."""


@dataclasses.dataclass(frozen=True, eq=False)
class RecordOwners:
    """Per record of a session the number of its person."""

    who: Codes

    @cached_property
    def once_each(self) -> bool:
        """Whether every person has one record."""
        return len(np.unique(self.who)) == len(self.who)


@dataclasses.dataclass(frozen=True, eq=False)
class CellPool:
    """Cells that add up the same thing, each once: what it is a sum over (records, or persons), the
    first output that tells it, and whether that is a new one.
    """

    cells: list[Codes]
    numbers: list[int]
    fresh: Bools
    owner: Codes
    """Per record (or person) its person."""
    counted: bool
    """Whether the sums are counts."""

    @classmethod
    def of(
        cls, old: Sequence[OutputSets], new: Sequence[OutputSets], word: str, people: RecordOwners
    ) -> CellPool:
        """All cells of some outputs that tell a sum."""
        of_persons = word.partition(" ")[0] == PERSONS and not people.once_each
        vectors: dict[bytes, tuple[Codes, int, bool]] = {}
        for fresh, outputs in ((False, old), (True, new)):
            for output in outputs:
                for one in output.sets:
                    if word in one.tells or (word.startswith(SUMS) and ANY_SUM in one.tells):
                        rows = np.unique(people.who[one.rows]) if of_persons else one.rows
                        vectors.setdefault(rows.tobytes(), (rows, output.number, fresh))
        owner = np.arange(int(people.who.max(initial=-1)) + 1) if of_persons else people.who
        cells, numbers, fresh_ones = [], [], []
        for rows, number, fresh in vectors.values():
            cells.append(rows)
            numbers.append(number)
            fresh_ones.append(fresh)
        is_count = word.partition(" ")[0] in (PERSONS, ROWS)
        return cls(cells, numbers, np.array(fresh_ones, dtype=bool), owner, is_count)

    @cached_property
    def atoms(self) -> Codes:
        """Per record its atom: the records that are in the same cells; −1 where it is in none."""
        # A random number per cell, summed over the cells of a record: equal for two records only if
        # they are in the same cells (but for a chance of 2**-64 a pair).
        mark = np.random.default_rng(20).integers(1, 2**63, size=len(self.cells), dtype=np.uint64)
        present, sums = (
            np.zeros(len(self.owner), dtype=bool),
            np.zeros(len(self.owner), dtype=np.uint64),
        )
        for rows, one in zip(self.cells, mark, strict=True):
            sums[rows] += one
            present[rows] = True
        atoms = np.full(len(self.owner), -1, dtype=np.int64)
        atoms[present] = np.unique(sums[present], return_inverse=True)[1].reshape(-1)
        return atoms

    @cached_property
    def count(self) -> int:
        """How many atoms there are."""
        return int(self.atoms.max(initial=-1)) + 1

    @cached_property
    def matrix(self) -> Any:
        """Cells × atoms, one where an atom is in a cell; sparse."""
        from scipy import sparse

        parts = [np.unique(self.atoms[rows]) for rows in self.cells]
        line = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
        column = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return sparse.csr_array(
            (np.ones(len(line)), (line, column)), shape=(len(parts), self.count)
        )

    @cached_property
    def sizes(self) -> Floats:
        """Per atom its records (or persons)."""
        return np.bincount(self.atoms[self.atoms >= 0], minlength=self.count).astype(np.float64)

    @cached_property
    def held(self) -> tuple[Codes, Codes]:
        """Every pair of an atom and a person who has a record in it, once."""
        inside = self.atoms >= 0
        pairs = np.unique(np.column_stack([self.atoms[inside], self.owner[inside]]), axis=0)
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def persons(self) -> Codes:
        """Per atom its persons."""
        return np.bincount(self.held[0], minlength=self.count)

    def persons_in(self, atoms: Bools) -> int:
        """The different persons of some atoms."""
        at, who = self.held
        return len(np.unique(who[atoms[at]]))

    def weights(self, atoms: Bools) -> Floats:
        """Per atom its persons, each counted in equal parts in all of some atoms that he is in:
        summed over any of them, no more than their different persons.
        """
        at, who = self.held
        inside = atoms[at]
        often = np.bincount(who[inside], minlength=len(self.owner) + 1)
        weights = np.bincount(at[inside], weights=1 / often[who[inside]], minlength=self.count)
        return weights.astype(np.float64)

    def outputs(self, cells: Bools) -> tuple[int, ...]:
        """The outputs that some cells are of."""
        return tuple(
            sorted({number for number, used in zip(self.numbers, cells, strict=True) if used})
        )


def few_told_together(
    old: Sequence[OutputSets], new: Sequence[OutputSets], people: RecordOwners, threshold: int
) -> list[JointFinding]:
    """What new outputs tell of fewer than ``threshold`` persons, by themselves or together with old
    ones, that the old ones did not tell.
    """
    limited: list[JointFinding] = []
    open_ones: list[JointFinding] = []
    for word in _words(old, new):
        pool = CellPool.of(old, new, word, people)
        if not pool.fresh.any():
            continue
        for one in _of_pool(pool, threshold):
            if one.kind in ("sum", "bound"):
                return [one]
            (limited if one.kind in LIMITED else open_ones).append(one)
    near = near_cells(old, new, people, threshold)
    weakest = sorted(limited, key=lambda one: LIMITED.index(one.kind))[-1:]
    return [*([] if near is None else [near]), *open_ones[:1], *weakest]


def _words(old: Sequence[OutputSets], new: Sequence[OutputSets]) -> list[str]:
    """What is added up by a new output, and may be by others; a sum of an unknown column goes with
    every sum.
    """
    added = {word for output in new for one in output.sets for word in one.tells} - {CELL}
    if ANY_SUM in added:
        everywhere = {word for output in (*old, *new) for one in output.sets for word in one.tells}
        added |= {word for word in everywhere if word.startswith(SUMS)}
    return sorted(added)


def _of_pool(pool: CellPool, threshold: int) -> Iterator[JointFinding]:
    if len(pool.cells) <= MOST_CELLS and pool.count <= MOST_ATOMS:
        small = pool.persons < threshold
        if not small.any():
            return
        isolated = _isolated(pool, small, threshold) if int(small.sum()) <= MOST_SMALL else None
        if isolated is not None:
            yield from isolated
            if pool.counted and not any(one.kind == "sum" for one in isolated):
                yield from _bounded(pool, small, threshold)
            return
    from sfumato.results.checking.sums_of_four import few_by_hashing

    cells, kind = few_by_hashing(pool, threshold)
    yield JointFinding(kind) if cells is None else JointFinding("sum", pool.outputs(cells))


# Sums over few persons


def _isolated(pool: CellPool, small: Bools, threshold: int) -> list[JointFinding] | None:
    """Whether a vector of the row space that was not in that of the old cells is zero for all but
    few persons; None where too many atoms are in question.
    """
    lines = pool.matrix
    space, before = _on_small(lines, small), _on_small(lines[np.flatnonzero(~pool.fresh)], small)
    if len(space) <= len(before):
        return []
    places = np.flatnonzero(small)
    used = np.abs(space).max(axis=0) > NEAR
    inside = np.zeros(pool.count, dtype=bool)
    inside[places[used]] = True
    weight = pool.weights(inside)[places[used]]
    space, before, places = space[:, used], before[:, used], places[used]

    def tells(vector: Floats) -> bool:
        atoms = np.zeros(pool.count, dtype=bool)
        atoms[places[np.abs(vector) > NEAR]] = True
        return pool.persons_in(atoms) < threshold and not _inside(vector, before)

    for vector in _echelon(space):
        if tells(vector):
            return [JointFinding("sum", _outputs_behind(pool, places, vector))]
    if len(places) > MOST_PROGRAMS:
        return None
    unsure = False
    for at in range(len(places)):
        lightest = _lightest(space, weight, at)
        if lightest is None or weight @ np.abs(lightest) < threshold - 1e-6:
            if lightest is not None and tells(lightest):
                return [JointFinding("sum", _outputs_behind(pool, places, lightest))]
            unsure |= lightest is None or not _inside(lightest, before)
    everything = np.ones(len(pool.cells), dtype=bool)
    return [JointFinding("open", pool.outputs(everything))] if unsure else []


def _on_small(lines: Any, small: Bools) -> Floats:
    """The vectors of the row space of sparse lines that are zero outside some columns, as an
    orthonormal basis on these columns.
    """
    if not lines.shape[0]:
        return np.zeros((0, int(small.sum())))
    large = lines[:, np.flatnonzero(~small)]
    values, vectors = np.linalg.eigh((large @ large.T).toarray())
    free = vectors[:, values <= 1e-9 * max(1.0, float(values.max(initial=0.0)))].T
    return _orthonormal(np.asarray(free @ lines[:, np.flatnonzero(small)]))


def _orthonormal(rows: Floats) -> Floats:
    if not rows.size:
        return rows[:0]
    _, size, basis = np.linalg.svd(rows, full_matrices=False)
    independent: Floats = basis[size > 1e-7]
    return independent


def _inside(vector: Floats, basis: Floats) -> bool:
    residual = vector - (vector @ basis.T) @ basis
    return bool(
        np.abs(residual).max(initial=0.0) <= 1e-6 * max(1.0, np.abs(vector).max(initial=0.0))
    )


def _echelon(basis: Floats) -> Floats:
    """The same space by rows that have many zeros: each pivot is zero in all other rows."""
    rows = basis.copy()
    rank = 0
    for column in range(rows.shape[1]):
        if rank == len(rows):
            break
        pivot = rank + int(np.argmax(np.abs(rows[rank:, column])))
        if abs(rows[pivot, column]) <= NEAR:
            continue
        rows[[rank, pivot]] = rows[[pivot, rank]]
        rows[rank] /= rows[rank, column]
        others = np.arange(len(rows)) != rank
        rows[others] -= np.outer(rows[others, column], rows[rank])
        rank += 1
    return rows[:rank]


def _lightest(space: Floats, weight: Floats, at: int) -> Floats | None:
    """The vector of a space with one entry 1, none larger, and the least weighted sum of sizes;
    None where there is none, or the solver does not say.
    """
    from scipy import optimize, sparse

    dimension, count = space.shape
    lines = sparse.csr_array(space.T)
    size = -sparse.eye_array(count, format="csr")
    solution = optimize.linprog(
        np.r_[np.zeros(dimension), weight],
        A_ub=sparse.vstack(
            [sparse.hstack([lines, size]), sparse.hstack([-lines, size])], format="csr"
        ),
        b_ub=np.zeros(2 * count),
        A_eq=np.r_[space[:, at], np.zeros(count)][None, :],
        b_eq=[1.0],
        bounds=[(None, None)] * dimension + [(0.0, 1.0)] * count,
        method="highs",
    )
    if solution.status == 2:  # another entry is always larger: its own program finds the vector
        return np.full(count, np.inf)
    return np.asarray(solution.x[:dimension] @ space) if solution.status == 0 else None


def _outputs_behind(pool: CellPool, places: Codes, vector: Floats) -> tuple[int, ...]:
    """The outputs whose cells a vector is a sum and difference of, as few cells as can be."""
    from scipy import optimize, sparse

    target = np.zeros(pool.count)
    target[places] = vector
    cells = len(pool.cells)
    solution = optimize.linprog(
        np.ones(2 * cells),
        A_eq=sparse.hstack([pool.matrix.T, -pool.matrix.T], format="csr"),
        b_eq=target,
        bounds=(0, None),
        method="highs",
    )
    if solution.status != 0:
        return pool.outputs(np.ones(cells, dtype=bool))
    return pool.outputs(np.abs(solution.x[:cells] - solution.x[cells:]) > NEAR)


# Counts that are known to be small


def _bounded(pool: CellPool, small: Bools, threshold: int) -> Iterator[JointFinding]:
    """Atoms of few that cannot be as large as the threshold, by the published counts, and could be
    by the old ones.
    """
    program = _Counts(pool.matrix, pool.sizes, threshold)
    before = _Counts(pool.matrix[np.flatnonzero(~pool.fresh)], pool.sizes, threshold)
    allowed = min(MOST_PROGRAMS, int(MOST_ENTRIES / max(1, pool.matrix.nnz)))
    rest = np.flatnonzero(small)
    while len(rest) > 1 and allowed > 0:  # many at once: most can be large together
        allowed -= 1
        shared = program.large_together(rest)
        if shared is None or not shared.any():
            break
        rest = rest[~shared]
    for at in rest.tolist():
        allowed -= 1
        if allowed < 0:
            yield JointFinding("sums")
            return
        most, used = program.most(at)
        if most is not None and most >= threshold - 1e-6:
            continue
        earlier = before.most(at)[0] if most is not None else None
        if most is None or earlier is None:
            yield JointFinding("open", pool.outputs(np.ones(len(pool.cells), dtype=bool)))
            return
        if earlier > most + 1e-6:
            yield JointFinding("bound", pool.outputs(used))
            return


class _Counts:
    """All tables of nonnegative numbers per atom with the published sums."""

    def __init__(self, matrix: Any, sizes: Floats, threshold: int) -> None:
        self.matrix, self.sums, self.threshold = matrix, np.asarray(matrix @ sizes), threshold

    def most(self, at: int) -> tuple[float | None, Bools]:
        """How large an atom can be, and which sums bound it; infinite where nothing does, None
        where the solver does not say.
        """
        from scipy import optimize

        cells, atoms = self.matrix.shape
        if not cells:
            return float("inf"), np.zeros(0, dtype=bool)
        aim = np.zeros(atoms)
        aim[at] = -1.0
        solution = optimize.linprog(
            aim, A_eq=self.matrix, b_eq=self.sums, bounds=(0, None), method="highs"
        )
        if solution.status == 3:
            return float("inf"), np.zeros(cells, dtype=bool)
        if solution.status != 0:
            return None, np.ones(cells, dtype=bool)
        return float(-solution.fun), np.abs(solution.eqlin.marginals) > NEAR

    def large_together(self, atoms: Codes) -> Bools | None:
        """Which of some atoms reach the threshold in one table that has as many of them large as it
        can; None where the solver does not say.
        """
        from scipy import optimize, sparse

        cells, count = self.matrix.shape
        some = len(atoms)
        pick = sparse.csr_array((np.ones(some), (np.arange(some), atoms)), shape=(some, count))
        solution = optimize.linprog(
            np.r_[np.zeros(count), -np.ones(some)],
            A_eq=sparse.hstack([self.matrix, sparse.csr_array((cells, some))], format="csr"),
            b_eq=self.sums,
            A_ub=sparse.hstack([-pick, sparse.eye_array(some)], format="csr"),
            b_ub=np.zeros(some),
            bounds=[(0, None)] * count + [(0, float(self.threshold))] * some,
            method="highs",
        )
        if solution.status != 0:
            return None
        large: Bools = solution.x[atoms] >= self.threshold - 1e-6
        return large


# Cells that nearly agree


def near_cells(
    old: Sequence[OutputSets], new: Sequence[OutputSets], people: RecordOwners, threshold: int
) -> JointFinding | None:
    """A cell of a new output and one of an old output that are of the same records but for few
    persons, whatever they tell.
    """
    if not old or not new:
        return None
    pool = _all_cells(old, new, people)
    if not pool.fresh.any() or pool.fresh.all():
        return None
    from scipy import sparse

    mine, theirs = pool.matrix[np.flatnonzero(pool.fresh)], pool.matrix[np.flatnonzero(~pool.fresh)]
    sizes = [np.asarray(one @ pool.sizes) for one in (mine, theirs)]
    both = (mine @ sparse.diags_array(pool.sizes) @ theirs.T).tocoo()
    apart = sizes[0][both.row] + sizes[1][both.col] - 2 * both.data
    most = int(np.bincount(people.who).max(initial=1))  # records of one person
    near = np.flatnonzero((apart > 0) & (apart < threshold * most))
    for at in near[np.argsort(apart[near])][:MOST_CELLS].tolist():
        one, other = (
            part[[place]].toarray()[0]
            for part, place in ((mine, both.row[at]), (theirs, both.col[at]))
        )
        if 0 < pool.persons_in(one != other) < threshold:
            numbers = [np.array(pool.numbers)[pool.fresh], np.array(pool.numbers)[~pool.fresh]]
            pair = {int(numbers[0][both.row[at]]), int(numbers[1][both.col[at]])}
            return JointFinding("near", tuple(sorted(pair)))
    return None


def _all_cells(
    old: Sequence[OutputSets], new: Sequence[OutputSets], people: RecordOwners
) -> CellPool:
    return CellPool.of(old, new, CELL, people)
