r"""Outputs of one session against each other (differencing): whether sums and differences of their
cells tell of a few persons.

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
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from sfumato.results.checking.record_sets import ANY_SUM, CELL, PERSONS, ROWS, RecordSet

if TYPE_CHECKING:
    from scipy import sparse

    from sfumato.results.tables.arrays import Codes, Floats, Mask

MOST_ATOMS, MOST_SMALL, MOST_CELLS = 20_000, 2_000, 1_000
"""Up to so many atoms, atoms of few persons, and different cells all sums and differences are
looked at.
"""
MOST_PROGRAMS = 200
"""Linear programs of one question, one for every atom of few persons that is in question."""
MOST_ENTRIES = 10_000_000
"""Entries of the matrix times programs about counts."""
NEAR = 1e-7
"""Numbers of solvers that are smaller are taken for zero."""
SUMS = ("sum ", "square ")
"""What a sum of an unknown column may be."""


class OutputSets(NamedTuple):
    """The cells of one output, as records of the session."""

    number: int
    sets: Sequence[RecordSet]


class JointFinding(NamedTuple):
    """What outputs tell together, and the outputs it follows from: a sum over few persons, a count
    that is known to be small, cells that nearly agree, or nothing that could be settled.

    The last three kinds say that nothing was found, and how far was looked: at all sums without
    bounds of counts, at sums of up to four cells, of two.
    """

    kind: Literal["sum", "bound", "near", "open", "sums", "fours", "pairs"]
    outputs: tuple[int, ...] = ()


LIMITED = ("sums", "fours", "pairs")
"""Findings that say how far was looked, the narrowest search last."""


@dataclasses.dataclass(frozen=True, eq=False)
class RecordOwners:
    """Per record of a session the number of its person."""

    person_ids: Codes

    @cached_property
    def once_each(self) -> bool:
        """Whether every person has one record."""
        return len(np.unique(self.person_ids)) == len(self.person_ids)


@dataclasses.dataclass(frozen=True, eq=False)
class CellPool:
    """Cells that add up the same thing, each once: what it is a sum over (records, or persons), the
    first output that tells it, and whether that is a new one.
    """

    cells: list[Codes]
    numbers: Codes
    is_new: Mask
    owner: Codes
    """Per record (or person) its person."""
    is_count: bool
    """Whether the sums are counts."""

    @classmethod
    def of(
        cls, old: Sequence[OutputSets], new: Sequence[OutputSets], word: str, owners: RecordOwners
    ) -> CellPool:
        """All cells of some outputs that tell a sum."""
        kind = word.partition(" ")[0]
        # Persons with several records are counted once: their cells are sets of persons.
        of_persons = kind == PERSONS and not owners.once_each
        words = {word, ANY_SUM} if word.startswith(SUMS) else {word}
        cells: dict[bytes, Codes] = {}
        numbers, is_new = [], []
        for position, output in enumerate((*old, *new)):
            for record_set in output.sets:
                if words.isdisjoint(record_set.tells):
                    continue
                rows = record_set.rows
                if of_persons:
                    rows = np.unique(owners.person_ids[rows])
                key = rows.tobytes()
                if key not in cells:
                    cells[key] = rows
                    numbers.append(output.number)
                    is_new.append(position >= len(old))
        owner = owners.person_ids
        if of_persons:
            # Cells are sets of persons then, so each of their numbers is its own owner.
            owner = np.arange(int(owner.max(initial=-1)) + 1)
        return cls(
            list(cells.values()),
            np.array(numbers, dtype=np.int64),
            np.array(is_new, dtype=bool),
            owner,
            is_count=kind in (PERSONS, ROWS),
        )

    @cached_property
    def atoms(self) -> Codes:
        """Per record its atom: the records that are in the same cells; −1 where it is in none."""
        # A random number per cell, summed over the cells of a record: equal for two records only if
        # they are in the same cells (but for a chance of 2**-64 a pair).
        marks = np.random.default_rng(20).integers(1, 2**63, size=len(self.cells), dtype=np.uint64)
        present = np.zeros(len(self.owner), dtype=bool)
        sums = np.zeros(len(self.owner), dtype=np.uint64)
        for rows, mark in zip(self.cells, marks, strict=True):
            sums[rows] += mark
            present[rows] = True
        atoms = np.full(len(self.owner), -1, dtype=np.int64)
        atoms[present] = np.unique(sums[present], return_inverse=True)[1].reshape(-1)
        return atoms

    @cached_property
    def count(self) -> int:
        """How many atoms there are."""
        return int(self.atoms.max(initial=-1)) + 1

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """Cells × atoms, one where an atom is in a cell; sparse."""
        from scipy import sparse

        # A cell holds all records of an atom or none, so its atoms tell all of it.
        atoms = [np.unique(self.atoms[rows]) for rows in self.cells]
        cell = np.repeat(np.arange(len(atoms)), [len(atoms_of_cell) for atoms_of_cell in atoms])
        atom = np.concatenate([np.zeros(0, dtype=np.int64), *atoms])
        entries = np.ones(len(cell)), (cell, atom)
        return sparse.csr_array(entries, shape=(len(atoms), self.count))

    @cached_property
    def sizes(self) -> Floats:
        """Per atom its records (or persons)."""
        return np.bincount(self.atoms[self.atoms >= 0], minlength=self.count).astype(np.float64)

    @cached_property
    def owners_of_atoms(self) -> tuple[Codes, Codes]:
        """Every pair of an atom and a person who has a record in it, once."""
        inside = self.atoms >= 0
        pairs = np.unique(np.column_stack([self.atoms[inside], self.owner[inside]]), axis=0)
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def persons(self) -> Codes:
        """Per atom its persons."""
        return np.bincount(self.owners_of_atoms[0], minlength=self.count)

    def persons_in(self, atoms: Mask) -> int:
        """The different persons of some atoms."""
        atom, person = self.owners_of_atoms
        return len(np.unique(person[atoms[atom]]))

    def weights(self, atoms: Mask) -> Floats:
        """Per atom its persons, each counted in equal parts in all of some atoms that he is in:
        summed over any of them, no more than their different persons.
        """
        atom, person = self.owners_of_atoms
        inside = atoms[atom]
        frequency = np.bincount(person[inside], minlength=len(self.owner) + 1)
        # In two atoms a person counts a half in each: never more than one in all.
        shares = 1 / frequency[person[inside]]
        weights = np.bincount(atom[inside], weights=shares, minlength=self.count)
        return weights.astype(np.float64)

    def outputs(self, cells: Mask | None = None) -> tuple[int, ...]:
        """The outputs that some cells, or all, are of."""
        numbers = self.numbers if cells is None else self.numbers[cells]
        return tuple(np.unique(numbers).tolist())


def find_joint_disclosures(
    old: Sequence[OutputSets], new: Sequence[OutputSets], owners: RecordOwners, threshold: int
) -> list[JointFinding]:
    """What new outputs tell of fewer than ``threshold`` persons, by themselves or together with old
    ones, that the old ones did not tell.
    """
    limited: list[JointFinding] = []
    unsettled: list[JointFinding] = []
    for word in _words(old, new):
        pool = CellPool.of(old, new, word, owners)
        if not pool.is_new.any():
            continue
        for finding in _search_pool(pool, threshold):
            if finding.kind in ("sum", "bound"):
                return [finding]
            if finding.kind in LIMITED:
                limited.append(finding)
            else:
                unsettled.append(finding)
    # Only now: where a sum or a bound was found, that was the answer already.
    near = find_near_cells(old, new, owners, threshold)
    narrowest = sorted(limited, key=lambda finding: LIMITED.index(finding.kind))[-1:]
    return [*near, *unsettled[:1], *narrowest]


def _words(old: Sequence[OutputSets], new: Sequence[OutputSets]) -> list[str]:
    """What is added up by a new output, and may be by others; a sum of an unknown column goes with
    every sum.
    """

    def words_of(outputs: Sequence[OutputSets]) -> set[str]:
        words: set[str] = set()
        for output in outputs:
            for record_set in output.sets:
                words.update(record_set.tells)
        return words

    words = words_of(new) - {CELL}
    if ANY_SUM in words:
        words |= {word for word in words_of((*old, *new)) if word.startswith(SUMS)}
    return sorted(words)


def _search_pool(pool: CellPool, threshold: int) -> Iterator[JointFinding]:
    """Findings of one pool: all sums where they are few enough, else sums of a few cells."""
    if len(pool.cells) <= MOST_CELLS and pool.count <= MOST_ATOMS:
        small = pool.persons < threshold
        if not small.any():
            return
        # Every sum over few persons is zero on all atoms of many, so only those of few can carry
        # it.
        sums = None
        if small.sum() <= MOST_SMALL:
            sums = _find_small_sums(pool, small, threshold)
        if sums is not None:
            yield from sums
            if pool.is_count and not any(finding.kind == "sum" for finding in sums):
                yield from _find_small_counts(pool, small, threshold)
            return
    from sfumato.results.checking.sums_of_four import find_by_hashing

    cells, kind = find_by_hashing(pool, threshold)
    if cells is None:
        yield JointFinding(kind)
    else:
        yield JointFinding("sum", pool.outputs(cells))


# Sums over few persons


def _find_small_sums(pool: CellPool, small: Mask, threshold: int) -> list[JointFinding] | None:
    """Whether a vector of the row space that was not in that of the old cells is zero for all but
    few persons; None where too many atoms are in question.
    """
    space = _vectors_on(pool.matrix, small)
    before = _vectors_on(pool.matrix[np.flatnonzero(~pool.is_new)], small)
    # No new dimension: whatever is zero outside the atoms of few was told by the old cells.
    if len(space) <= len(before):
        return []
    # Atoms that every vector is zero on are not in question.
    used = np.abs(space).max(axis=0) > NEAR
    atoms = np.flatnonzero(small)[used]
    space, before = space[:, used], before[:, used]
    inside = np.zeros(pool.count, dtype=bool)
    inside[atoms] = True
    weight = pool.weights(inside)[atoms]

    def discloses(vector: Floats) -> bool:
        support = np.zeros(pool.count, dtype=bool)
        support[atoms[np.abs(vector) > NEAR]] = True
        return pool.persons_in(support) < threshold and not _is_in_span(vector, before)

    # Rows in echelon form have many zeros, so that one of them often is of few persons.
    for vector in _echelon(space):
        if discloses(vector):
            return [JointFinding("sum", _outputs_of_vector(pool, atoms, vector))]
    if len(atoms) > MOST_PROGRAMS:
        return None
    unsettled = False
    for position in range(len(atoms)):
        # Any vector can be scaled so that its largest entry is 1: one of these programs is about
        # it.
        lightest = _lightest_vector(space, weight, position)
        if lightest is None:
            unsettled = True
        # By the bound of the linear program lighter vectors are the only ones of few persons.
        elif weight @ np.abs(lightest) < threshold - 1e-6:
            if discloses(lightest):
                return [JointFinding("sum", _outputs_of_vector(pool, atoms, lightest))]
            unsettled |= not _is_in_span(lightest, before)
    if not unsettled:
        return []
    return [JointFinding("open", pool.outputs())]


def _vectors_on(lines: sparse.csr_array, small: Mask) -> Floats:
    """The vectors of the row space of sparse lines that are zero outside some columns, as an
    orthonormal basis on these columns.
    """
    if not lines.shape[0]:
        return np.zeros((0, int(small.sum())))
    # Combinations of lines that vanish on the other columns: the null space of their Gram matrix.
    large = lines[:, np.flatnonzero(~small)]
    values, vectors = np.linalg.eigh((large @ large.T).toarray())
    vanishing = values <= 1e-9 * max(1.0, float(values.max(initial=0.0)))
    rows = np.asarray(vectors[:, vanishing].T @ lines[:, np.flatnonzero(small)])
    if not rows.size:
        return rows[:0]
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    independent: Floats = basis[sizes > NEAR]
    return independent


def _is_in_span(vector: Floats, basis: Floats) -> bool:
    residuals = vector - (vector @ basis.T) @ basis
    size = max(1.0, np.abs(vector).max(initial=0.0))
    return bool(np.abs(residuals).max(initial=0.0) <= 1e-6 * size)


def _echelon(basis: Floats) -> Floats:
    """The same space by rows that have many zeros: each pivot is zero in all other rows."""
    rows = basis.copy()
    rank = 0
    for column in range(rows.shape[1]):
        if rank == len(rows):
            break
        # The largest entry as pivot keeps rounding errors small.
        pivot = rank + int(np.argmax(np.abs(rows[rank:, column])))
        if abs(rows[pivot, column]) <= NEAR:
            continue
        rows[[rank, pivot]] = rows[[pivot, rank]]
        rows[rank] /= rows[rank, column]
        other_rows = np.arange(len(rows)) != rank
        rows[other_rows] -= np.outer(rows[other_rows, column], rows[rank])
        rank += 1
    return rows[:rank]


def _lightest_vector(space: Floats, weight: Floats, position: int) -> Floats | None:
    """The vector of a space with 1 at a position, no larger entry, and the least weighted sum of
    sizes; None where there is none, or the solver does not say.
    """
    from scipy import optimize, sparse

    # Variables: the coordinates in the space, and the size of every entry of the vector.
    dimension, count = space.shape
    entries = sparse.csr_array(space.T)
    sizes = -sparse.eye_array(count, format="csr")
    # Two rows per entry: its size is at least the entry, and at least minus the entry.
    above, below = sparse.hstack([entries, sizes]), sparse.hstack([-entries, sizes])
    solution = optimize.linprog(
        np.r_[np.zeros(dimension), weight],
        A_ub=sparse.vstack([above, below], format="csr"),
        b_ub=np.zeros(2 * count),
        A_eq=np.r_[space[:, position], np.zeros(count)][None, :],
        b_eq=[1.0],
        bounds=[(None, None)] * dimension + [(0.0, 1.0)] * count,
        method="highs",
    )
    if solution.status == 2:  # another entry is always larger: its own program finds the vector
        return np.full(count, np.inf)
    if solution.status != 0:
        return None
    return np.asarray(solution.x[:dimension] @ space)


def _outputs_of_vector(pool: CellPool, atoms: Codes, vector: Floats) -> tuple[int, ...]:
    """The outputs whose cells a vector is a sum and difference of, as few cells as can be."""
    from scipy import optimize, sparse

    target = np.zeros(pool.count)
    target[atoms] = vector
    cells = len(pool.cells)
    # How often each cell is added, and subtracted; a small sum of both has many zeros.
    solution = optimize.linprog(
        np.ones(2 * cells),
        A_eq=sparse.hstack([pool.matrix.T, -pool.matrix.T], format="csr"),
        b_eq=target,
        bounds=(0, None),
        method="highs",
    )
    if solution.status != 0:
        return pool.outputs()
    return pool.outputs(np.abs(solution.x[:cells] - solution.x[cells:]) > NEAR)


# Counts that are known to be small


def _find_small_counts(pool: CellPool, small: Mask, threshold: int) -> Iterator[JointFinding]:
    """Atoms of few that cannot be as large as the threshold, by the published counts, and could be
    by the old ones.
    """
    program = _CountProgram(pool.matrix, pool.sizes, threshold)
    old_cells = pool.matrix[np.flatnonzero(~pool.is_new)]
    old_program = _CountProgram(old_cells, pool.sizes, threshold)
    # Large matrices make every program slow: fewer of them are allowed.
    allowed = min(MOST_PROGRAMS, int(MOST_ENTRIES / max(1, pool.matrix.nnz)))
    # Many at once: most atoms can be large together, which one program shows of all of them.
    atoms = np.flatnonzero(small)
    while len(atoms) > 1 and allowed > 0:
        allowed -= 1
        large = program.large_together(atoms)
        if large is None or not large.any():
            break
        atoms = atoms[~large]
    for atom in atoms.tolist():
        allowed -= 1
        if allowed < 0:
            yield JointFinding("sums")
            return
        upper, cells = program.upper_bound(atom)
        if upper is not None and upper >= threshold - 1e-6:
            continue
        old_upper = None if upper is None else old_program.upper_bound(atom)[0]
        if upper is None or old_upper is None:
            yield JointFinding("open", pool.outputs())
            return
        # Only where the old outputs did not bound it as tightly; otherwise nothing new is told.
        if old_upper > upper + 1e-6:
            yield JointFinding("bound", pool.outputs(cells))
            return


class _CountProgram:
    """All tables of nonnegative numbers per atom with the published sums."""

    def __init__(self, matrix: sparse.csr_array, sizes: Floats, threshold: int) -> None:
        self.matrix, self.sums, self.threshold = matrix, np.asarray(matrix @ sizes), threshold

    def upper_bound(self, atom: int) -> tuple[float | None, Mask]:
        """How large an atom can be, and which sums bound it; infinite where nothing does, None
        where the solver does not say.
        """
        from scipy import optimize

        cells, atoms = self.matrix.shape
        if not cells:
            return float("inf"), np.zeros(0, dtype=bool)
        objective = np.zeros(atoms)
        objective[atom] = -1.0
        solution = optimize.linprog(
            objective, A_eq=self.matrix, b_eq=self.sums, bounds=(0, None), method="highs"
        )
        if solution.status == 3:  # unbounded
            return float("inf"), np.zeros(cells, dtype=bool)
        if solution.status != 0:
            return None, np.ones(cells, dtype=bool)
        # Sums with a dual are those that bound the atom; the others could be left out.
        return float(-solution.fun), np.abs(solution.eqlin.marginals) > NEAR

    def large_together(self, atoms: Codes) -> Mask | None:
        """Which of some atoms reach the threshold in one table that has as many of them large as it
        can; None where the solver does not say.
        """
        from scipy import optimize, sparse

        # Variables: the size of every atom, and of those in question the size up to the threshold.
        cells, count = self.matrix.shape
        number = len(atoms)
        selected = sparse.csr_array(
            (np.ones(number), (np.arange(number), atoms)), shape=(number, count)
        )
        solution = optimize.linprog(
            np.r_[np.zeros(count), -np.ones(number)],
            A_eq=sparse.hstack([self.matrix, sparse.csr_array((cells, number))], format="csr"),
            b_eq=self.sums,
            # A part is no larger than its atom and ends at the threshold: growing further pays
            # nothing.
            A_ub=sparse.hstack([-selected, sparse.eye_array(number)], format="csr"),
            b_ub=np.zeros(number),
            bounds=[(0, None)] * count + [(0, float(self.threshold))] * number,
            method="highs",
        )
        if solution.status != 0:
            return None
        large: Mask = solution.x[atoms] >= self.threshold - 1e-6
        return large


# Cells that nearly agree


def find_near_cells(
    old: Sequence[OutputSets], new: Sequence[OutputSets], owners: RecordOwners, threshold: int
) -> list[JointFinding]:
    """A cell of a new output and one of an old output that are of the same records but for few
    persons, whatever they tell.
    """
    pool = CellPool.of(old, new, CELL, owners)
    if not pool.is_new.any() or pool.is_new.all():
        return []
    from scipy import sparse

    new_cells, old_cells = np.flatnonzero(pool.is_new), np.flatnonzero(~pool.is_new)
    new_matrix, old_matrix = pool.matrix[new_cells], pool.matrix[old_cells]
    # Entry (i, j): the records that cell i of the new and cell j of the old outputs share.
    common = (new_matrix @ sparse.diags_array(pool.sizes) @ old_matrix.T).tocoo()
    new_sizes, old_sizes = new_matrix @ pool.sizes, old_matrix @ pool.sizes
    # |A| + |B| − 2 |A ∩ B|: the records that are in one of both only.
    apart = new_sizes[common.row] + old_sizes[common.col] - 2 * common.data
    # Fewer persons than the threshold have fewer records than that times those of one person.
    most_records = int(np.bincount(owners.person_ids).max(initial=1))
    near = np.flatnonzero((apart > 0) & (apart < threshold * most_records))
    for pair in near[np.argsort(apart[near])][:MOST_CELLS]:
        new_cell, old_cell = common.row[pair], common.col[pair]
        new_atoms = new_matrix[[new_cell]].toarray()[0]
        old_atoms = old_matrix[[old_cell]].toarray()[0]
        if 0 < pool.persons_in(new_atoms != old_atoms) < threshold:
            numbers = pool.numbers[[new_cells[new_cell], old_cells[old_cell]]]
            return [JointFinding("near", tuple(np.unique(numbers).tolist()))]
    return []
