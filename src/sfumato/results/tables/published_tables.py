"""Tables published before from the same records: what they tell together with a new one.

Records are known again by what they say, under the keyed hashes of a register. Every cell of every
table is a sum of *atoms*, the records that stand in the same cell of each table: with them as
unknowns all tables are one set of equations, in which cells of the same records are the same, and
cells that differ by a few records tell these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.core import environment
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import values_of
from sfumato.core.words import count_of, join_words
from sfumato.release.register.released_classes import BY_CONTENT, person_columns, persons_of
from sfumato.release.register.store import Register, RegisteredPeople, RegisteredRelease
from sfumato.results.tables.atoms import leaves, lowest, with_empty
from sfumato.results.tables.audit import TableAudit, audit
from sfumato.results.tables.cells import Contributions, Dimension, TableCells, amounts
from sfumato.results.tables.differencing import few_between
from sfumato.results.tables.problem import NOBODY, Problem
from sfumato.results.tables.record_selection import conditions
from sfumato.results.tables.rules import GroupDisclosure, rule_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.protected_table import ProtectedTable
    from sfumato.results.tables.table import MagnitudeTable, SensitiveTable

CHANGED = ("rounding", "cta", "perturb")


@dataclasses.dataclass(frozen=True, eq=False)
class TableMemory:
    """The register of a table, the records it was made of, and which of them it is about."""

    register: Register
    dataset: Table
    rows: Codes
    respondent: Codes
    person: tuple[str, ...] = ()

    @cached_property
    def hashes(self) -> NDArray[np.void]:
        """Every record of the source under a keyed hash of all that it says."""
        return self.register.hashed(persons_of(self.dataset, ()))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What tells persons apart."""
        return person_columns(self.dataset, self.person)

    @cached_property
    def people(self) -> RegisteredPeople:
        """The persons of the table under keyed hashes; a table shows no classes."""
        person_hashes = self.register.hashed(persons_of(self.dataset.take(self.rows), self.columns))
        distinct = np.unique(person_hashes)
        # −1: a table puts nobody into a class
        return RegisteredPeople(distinct, np.full(len(distinct), -1, dtype=np.int64))

    def records(self, table: MagnitudeTable) -> RegisteredPeople:
        """The records of the table in the order of their hashes, and the combination of values each
        has.
        """
        order = np.argsort(self.hashes[self.rows], kind="stable")
        codes = np.ravel_multi_index(
            tuple(table.contributions.codes), leaves(table.dimensions)
        ).astype(np.int64)
        return RegisteredPeople(self.hashes[self.rows][order], codes[order])

    def entry(
        self, protected_table: ProtectedTable, *, recipient: str, folder: Path, digest: str
    ) -> Document:
        """What is written down of a table: how its cells add up and which are suppressed; no label,
        no value.
        """
        return {
            "created": environment.timestamp(),
            "recipient": recipient,
            "source": self.dataset.source.name,
            "certificate": "",
            "input": digest,
            "person": list(self.columns or BY_CONTENT),
            "people": len(self.people.hashes),
            "records": len(self.rows),
            "k": None,
            "classes": False,
            "epsilon": None,
            "delta": None,
            "folder": str(folder.resolve()),
            "note": f"table of {protected_table.judged.table.measure.kind}",
            "table": _table_fields(protected_table),
        }

    def earlier(self, sensitive_table: SensitiveTable) -> tuple[list[EarlierTable], dict[int, str]]:
        """Tables of the register that are about records of this source; and those of which nothing
        certain can be said, with the reason.
        """
        earlier_tables: list[EarlierTable] = []
        unknown: dict[int, str] = {}
        order = np.argsort(self.hashes, kind="stable")
        for entry in self.register.standing:
            if entry.table is None:
                if not self._concerns_others(entry):
                    unknown[entry.number] = (
                        "it is a release of records, whose classes are not compared with cells"
                    )
                continue
            registered_rows = self.register.rows(entry.number)
            # where each registered hash would stand among those of today; equal there: the record
            # is here
            at = np.searchsorted(self.hashes[order], registered_rows.hashes).clip(
                max=len(order) - 1
            )
            is_here = self.hashes[order][at] == registered_rows.hashes
            reason = self._apart(entry, sensitive_table.table, is_here)
            if reason == "":
                earlier_tables.append(
                    EarlierTable.of(
                        entry, self, sensitive_table, order[at], registered_rows.classes
                    )
                )
            elif reason is not None:
                unknown[entry.number] = reason
        return earlier_tables, unknown

    def _concerns_others(self, entry: RegisteredRelease) -> bool:
        """Whether a release is known to be about other people; of whole rows nobody knows, for the
        same people may say something else now.
        """
        same_person_columns = bool(self.columns) and tuple(entry.person) == self.columns
        return (
            same_person_columns
            and not np.isin(self.people.hashes, self.register.people(entry.number).hashes).any()
        )

    def _apart(self, entry: RegisteredRelease, table: MagnitudeTable, is_here: Mask) -> str | None:
        """Why an earlier table cannot be put beside this one; None where it is about other people,
        "" where it can.
        """
        saved = entry.table or {}
        if not is_here.any() and self._concerns_others(entry):
            return None
        unit = saved["unit"] if table.counted else table.unit
        other_measure = _measure_words(saved["measure"], saved["weight"], unit)
        if other_measure != (
            own_measure := _measure_words(str(table.measure), table.weight, table.unit)
        ):
            return f"it tells {other_measure}, this one {own_measure}"
        if saved["method"] in CHANGED:
            return "its cells were changed, not suppressed"
        missing = int((~is_here).sum())
        if not missing:
            return ""
        return (
            f"{missing:,} of its {len(is_here):,} records are missing here, or have changed values"
        )


def _measure_words(measure: str, weight: str | None, unit: str | None) -> str:
    return (
        f"{measure}{f' by the weight {weight}' if weight else ''} of"
        f" {f'persons by {unit}' if unit else 'records'}"
    )


def _table_fields(protected_table: ProtectedTable) -> Document:
    """The form of a table."""
    table = protected_table.judged.table
    return {
        "measure": str(table.measure),
        "unit": table.unit,
        "weight": table.weight,
        "absolute": table.absolute,
        "missing_counts": table.contributions.missing_counts,
        "dimensions": [
            {
                "column": dimension.column,
                "parent": dimension.parent.tolist(),
                "ancestors": [at.tolist() for at in dimension.ancestors],
            }
            for dimension in table.dimensions
        ],
        "places": [list(group) for group in table.places],
        "rules": [{"rule": rule.name, **values_of(rule)} for rule in protected_table.judged.rules],
        "method": protected_table.method,
        "singles": protected_table.options["singles"],
        "slide": protected_table.options["slide"],
        "prior": protected_table.options["prior"],
        "chosen_by": _chosen_by(table),
        "cells": len(protected_table.published),
        "suppressed": np.flatnonzero(protected_table.hidden).tolist(),
    }


def _chosen_by(table: MagnitudeTable) -> list[str]:
    """The columns by which the records of a table were chosen."""
    if table.where is None:
        return []
    return sorted({record_condition.column for record_condition in conditions(table.where)})


@dataclasses.dataclass(frozen=True, eq=False)
class EarlierTable:
    """A table of the register made again from the records, with what was suppressed of it."""

    entry: RegisteredRelease
    judged: SensitiveTable
    rows: Codes
    hidden: Mask
    saved: Fields

    @classmethod
    def of(
        cls,
        entry: RegisteredRelease,
        memory: TableMemory,
        new: SensitiveTable,
        rows: Codes,
        classes: Codes,
    ) -> EarlierTable:
        """From what the register keeps and where its records are now."""
        saved: Fields = entry.table or {}
        dimensions = tuple(
            Dimension(
                dimension_fields["column"],
                # labels are not registered; numbers stand in for them, since only the equations
                # matter
                tuple(map(str, range(len(dimension_fields["parent"])))),
                np.array(dimension_fields["parent"], dtype=np.int64),
                tuple(np.array(at, dtype=np.int64) for at in dimension_fields["ancestors"]),
            )
            for dimension_fields in saved["dimensions"]
        )
        codes = np.stack(np.unravel_index(classes, leaves(dimensions))).astype(np.int64)
        amount = amounts(memory.dataset, new.table.measure, saved["weight"], "absolute")[rows]
        contributions = Contributions(
            codes, memory.respondent[rows], amount, saved["missing_counts"]
        )
        column_groups = tuple(tuple(group) for group in saved["places"])
        table = dataclasses.replace(
            new.table,
            dimensions=dimensions,
            places=column_groups,
            contributions=contributions,
            absolute=saved["absolute"],
            unit=saved["unit"],
            known={},
            where=None,
            memory=None,
        )
        sensitive_table = dataclasses.replace(
            new, table=table, rules=tuple(rule_of(rule) for rule in saved["rules"])
        )
        hidden = np.zeros(saved["cells"], dtype=bool)
        hidden[saved["suppressed"]] = True
        return cls(entry, sensitive_table, rows, hidden, saved)

    @property
    def chosen_by(self) -> list[str]:
        """The columns by which its records were chosen; all that it is broken down by where an
        older register does not say.
        """
        return list(
            self.saved.get(
                "chosen_by", [dimension.column for dimension in self.judged.table.dimensions]
            )
        )

    def problem(self) -> Problem:
        """Its equations. What was published stays so; what was suppressed must stay as unknown as
        its own rules ask.
        """
        problem_options = {
            name: self.saved.get(name, usual) for name, usual in (("slide", 0.0), ("prior", None))
        }
        earlier_problem = self.judged.problem(
            weight="one", singles=self.saved["singles"], total_known=False, **problem_options
        )
        # nothing of it can be suppressed any more, and what was published then is known
        none = np.zeros(earlier_problem.size, dtype=bool)
        return dataclasses.replace(
            earlier_problem,
            primary=earlier_problem.primary & self.hidden,
            free=none,
            aside=self.hidden,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Beside:
    """A new table and those published before as one set of equations; the new one's cells stand
    first.

    ``given_away`` says how many cells and differences could be computed, or narrowed down too far,
    from the new table as it would be protected alone and each earlier one; ``between`` how many of
    these are differences: few records that cells of both tables tell, each set once. They are the
    last ``differences`` unknowns. ``added`` says how the cells were found that are suppressed
    because of earlier tables; None where none had to be.
    """

    problem: Problem
    size: int
    earlier: tuple[RegisteredRelease, ...]
    given_away: Mapping[int, int] = dataclasses.field(default_factory=dict)
    unknown: Mapping[int, str] = dataclasses.field(default_factory=dict)
    between: Mapping[int, int] = dataclasses.field(default_factory=dict)
    differences: int = 0
    added: Literal["exact", "heuristic"] | None = None

    def exposed(self, own: Mask) -> tuple[int, int]:
        """How many cells and differences could be computed when these cells of the new table are
        suppressed, and how many of them are differences.
        """
        exposed_cells = {exposure.cell for exposure in self.audit(own).exposed}
        return len(exposed_cells), sum(
            exposure >= self.problem.size - self.differences for exposure in exposed_cells
        )

    def words(self, number: int) -> str:
        """What could be computed from both tables."""
        small_differences = self.between.get(number, 0)
        cells = self.given_away.get(number, 0) - small_differences
        parts = [count_of(cells, "cell")] * (cells > 0)
        parts += [
            (
                f"{count_of(small_differences, 'difference')} of cells (few records, judged like a"
                " cell)"
            )
        ] * (small_differences > 0)
        return join_words(parts)

    def hidden(self, own: Mask) -> Mask:
        """What an intruder does not see when these cells of the new table are suppressed."""
        hidden = self.problem.unknown.copy()
        hidden[: self.size] = own
        return hidden

    def audit(self, own: Mask) -> TableAudit:
        """Look at all tables together."""
        return audit(self.problem, self.hidden(own), exact=False)

    @property
    def verdict(self) -> Literal["holds", "unknown"]:
        """What is known of all releases of the register together: what was not audited with this
        table is no pass.
        """
        return "unknown" if self.unknown else "holds"

    @property
    def sentences(self) -> list[str]:
        """What a data steward reads."""
        if not self.earlier and not self.unknown:
            return ["no release of the register is about the same people"]
        sentences = []
        for entry in self.earlier:
            count = self.given_away.get(entry.number, 0)
            exposure_words = (
                f"{self.words(entry.number)} could be computed, or estimated too closely; more "
                "cells are suppressed, and none can be now"
            )
            if count:
                effect = exposure_words
            else:
                effect = "nothing more can be computed from both"
            sentences.append(
                f"beside table {entry.number} of the register ({entry.created[:10]}, to"
                f" {entry.recipient}): {effect}"
            )
        if self.added is not None:
            sentences.append(
                f"cells suppressed because of earlier tables were found by the method {self.added}"
            )
        sentences += [
            f"beside release {number} of the register: unknown, not audited together ({why})"
            for number, why in self.unknown.items()
        ]
        return sentences

    def to_dict(self) -> Document:
        """Plain data: counts only."""
        return {
            "verdict": self.verdict,
            "earlier": [entry.number for entry in self.earlier],
            "given_away": {str(number): count for number, count in self.given_away.items()},
            "unknown": {str(number): why for number, why in self.unknown.items()},
            "added_by": self.added,
            "sentences": self.sentences,
        }


def put_beside(
    sensitive_table: SensitiveTable,
    problem: Problem,
    memory: TableMemory,
    earlier: Sequence[EarlierTable],
    *,
    singles: bool,
) -> Beside:
    """One problem of a new table, whose total may have to be suppressed, and the earlier ones;
    ``singles``: whether respondents who are alone somewhere attack with what they know.
    """
    from scipy import sparse

    tables = [sensitive_table.table, *(earlier_table.judged.table for earlier_table in earlier)]
    problems = [problem, *(earlier_table.problem() for earlier_table in earlier)]
    starts = np.cumsum([0, *(earlier_table.size for earlier_table in problems)])
    rows = [memory.rows, *(earlier_table.rows for earlier_table in earlier)]
    chosen_by = set().union(
        _chosen_by(sensitive_table.table), *(earlier_table.chosen_by for earlier_table in earlier)
    )
    hideable = [
        problem.free | problem.primary,
        *(earlier_table.hidden for earlier_table in earlier),
    ]
    # cells that readers cannot take for empty: they may be suppressed, or somebody is in them
    open_to = [
        is_hideable | (table.of_variables([earlier_table.n for earlier_table in table.cells()]) > 0)
        for table, is_hideable in zip(tables, hideable, strict=True)
    ]
    atoms = _Atoms.of(memory, tables, rows, chosen_by, open_to)
    incidences = [atoms.incidence(number, table) for number, table in enumerate(tables)]
    published_cells = [
        np.zeros(problem.size, dtype=bool),
        *(~earlier_table.hidden for earlier_table in earlier),
    ]
    small_sets = few_between(
        incidences, atoms.rows, atoms.codes, published_cells, [table.places for table in tables]
    )
    apart = _differences(sensitive_table, problem, memory, small_sets, atoms)
    size = int(starts[-1]) + len(atoms.rows) + len(apart.sets)
    links = [
        atoms.links(number, table, open_to[number], int(starts[number]), int(starts[-1]), size)
        for number, table in enumerate(tables)
    ]
    # the equations of every table by themselves; atoms and differences come after all cells
    wide = sparse.block_diag([earlier_table.matrix for earlier_table in problems], format="csr")
    wide = sparse.csr_matrix((wide.data, wide.indices, wide.indptr), shape=(wide.shape[0], size))
    # who is alone in what no cells give does not know it
    known_apart = np.zeros(len(atoms.rows), dtype=bool)
    known_apart[
        [int(earlier_table[0]) for earlier_table in small_sets if len(earlier_table) == 1]
    ] = singles
    atoms.owner[~known_apart] = NOBODY
    if not singles:
        apart.owner[:] = NOBODY
    matrix = sparse.vstack(
        [wide, *links, apart.lines(int(starts[-1]), len(atoms.rows), size)], format="csr"
    )
    joined = _join_problems(problems, atoms, apart, matrix)
    return Beside(
        joined,
        problem.size,
        tuple(earlier_table.entry for earlier_table in earlier),
        differences=len(apart.sets),
    )


def _join_problems(
    problems: Sequence[Problem], atoms: _Atoms, apart: _Differences, matrix: Any
) -> Problem:
    """Cells of all tables, atoms, differences, end to end."""
    first = problems[0]
    atom_count, difference_count = len(atoms.rows), len(apart.sets)

    def whole(name: str, of_atoms: Any, of_differences: Any) -> Any:
        parts = [getattr(table_problem, name) for table_problem in problems]
        return np.concatenate(
            [
                *parts,
                np.broadcast_to(of_atoms, atom_count),
                np.broadcast_to(of_differences, difference_count),
            ]
        )

    # bounds wide enough for the cells of all tables
    low = float(min(table_problem.lower.min(initial=0.0) for table_problem in problems))
    high = float(max(table_problem.upper.max(initial=0.0) for table_problem in problems))
    aside = [
        np.zeros(first.size, dtype=bool),
        *(table_problem.aside for table_problem in problems[1:]),
    ]
    return Problem(
        matrix,
        whole("value", atoms.value, apart.value),
        whole("lower", low, low),
        # nobody knows more of a table than that the largest of all bounds it, and what was known of
        # its cells before
        np.concatenate(
            [
                first.upper,
                *(_bound_cells(table_problem.upper, high) for table_problem in problems[1:]),
                np.full(atom_count + difference_count, high),
            ]
        ),
        whole("primary", False, apart.unsafe),
        whole("up", 0.0, apart.up),
        whole("down", 0.0, apart.down),
        np.concatenate([first.weight, np.zeros(matrix.shape[1] - first.size)]),
        whole("free", False, False),
        whole("owner", atoms.owner, apart.owner),
        first.whole,
        np.concatenate([*aside, np.ones(atom_count + difference_count, dtype=bool)]),
        (
            None
            if all(table_problem.slide is None for table_problem in problems)
            else np.concatenate(
                [
                    *(
                        np.zeros(table_problem.size)
                        if table_problem.slide is None
                        else table_problem.slide
                        for table_problem in problems
                    ),
                    np.zeros(atom_count + difference_count),
                ]
            )
        ),
    )


def _bound_cells(upper: Floats, high: float) -> Floats:
    """The most that cells can be: the same for all, unless every cell was known within some percent
    before.
    """
    if np.ptp(upper) > 0:
        return np.minimum(upper, high)
    return np.full(len(upper), high)


@dataclasses.dataclass(frozen=True, eq=False)
class _Atoms:
    """Records that stand in the same cell of every table: how many there are, and the codes of each
    in every table (−1: not in it).
    """

    member: Codes
    rows: Codes
    value: Floats
    owner: Codes
    codes: list[Codes]

    @classmethod
    def of(
        cls,
        memory: TableMemory,
        tables: Sequence[MagnitudeTable],
        rows: Sequence[Codes],
        chosen_by: Collection[str],
        open_to: Sequence[Mask],
    ) -> _Atoms:
        """From the records of all tables; ``member`` is the atom of every record of the source, −1
        for none.
        """
        count = len(memory.dataset)
        cell_codes = np.full((count, len(tables)), -1, dtype=np.int64)
        for number, (table, own) in enumerate(zip(tables, rows, strict=True)):
            cell_codes[own, number] = np.ravel_multi_index(
                tuple(table.contributions.codes), leaves(table.dimensions)
            )
        # records that are in none of the tables reveal nothing
        is_shown = np.flatnonzero((cell_codes >= 0).any(axis=1))
        distinct, atom = np.unique(cell_codes[is_shown], axis=0, return_inverse=True)
        member = np.full(count, -1, dtype=np.int64)
        member[is_shown] = atom.reshape(-1)
        first = tables[0]
        amount = amounts(memory.dataset, first.measure, first.weight, "absolute")
        distinct = with_empty(memory, tables, rows, distinct, chosen_by, open_to)
        value, owner = _sum_sets(
            member, memory.respondent, amount, len(distinct), is_count=first.counted
        )
        codes = [
            np.where(
                kind < 0, -1, np.stack(np.unravel_index(kind.clip(min=0), leaves(table.dimensions)))
            )
            for table, kind in zip(tables, distinct.T, strict=True)
        ]
        return cls(
            member, np.bincount(member[is_shown], minlength=len(distinct)), value, owner, codes
        )

    def links(
        self,
        number: int,
        table: MagnitudeTable,
        open_to: Mask,
        start: int,
        atoms: int,
        size: int,
    ) -> Any:
        """Every cell of the lowest level is the sum of its atoms; one that is not told to be empty,
        and that nobody can be in, is nothing.
        """
        from scipy import sparse

        codes = self.codes[number]
        present_atoms = np.flatnonzero(codes[0] >= 0)
        blocks = []
        for group, variables in zip(table.places, table.variables, strict=True):
            grid = lowest(table, group, variables)
            of_atoms = grid[tuple(codes[at, present_atoms] for at in group)]
            cells = np.union1d(of_atoms, grid[open_to[grid]])
            where = (
                np.r_[np.searchsorted(cells, of_atoms), np.arange(len(cells))],
                np.r_[atoms + present_atoms, start + cells],
            )
            signs = np.r_[np.ones(len(present_atoms)), -np.ones(len(cells))]
            blocks.append(sparse.csr_matrix((signs, where), shape=(len(cells), size)))
        return sparse.vstack(blocks, format="csr")

    def incidence(self, number: int, table: MagnitudeTable) -> Any:
        """Cells of a table by atoms: 1 where a cell holds an atom."""
        from scipy import sparse

        codes = self.codes[number]
        present_atoms = np.flatnonzero(codes[0] >= 0)
        cells, atoms = [], []
        for group, variables in zip(table.places, table.variables, strict=True):
            dimensions = [table.dimensions[at] for at in group]
            for levels in np.ndindex(*(len(dimension.ancestors) for dimension in dimensions)):
                nodes = [
                    dimension.ancestors[level][codes[at, present_atoms]]
                    for dimension, level, at in zip(dimensions, levels, group, strict=True)
                ]
                cells.append(
                    variables[
                        np.ravel_multi_index(nodes, [dimension.size for dimension in dimensions])
                    ]
                )
                atoms.append(present_atoms)
        count = 1 + max(int(dimension.max()) for dimension in table.variables)
        where = (np.concatenate(cells), np.concatenate(atoms))
        incidence = sparse.csr_matrix(
            (np.ones(len(where[0])), where), shape=(count, len(self.rows))
        )
        # a node with one child stands on two levels: the matrix has added such entries up
        incidence.data[:] = 1.0
        return incidence


def _sum_sets(
    member: Codes,
    respondent: Codes,
    amount: Floats,
    count: int,
    *,
    is_count: bool,
) -> tuple[Floats, Codes]:
    """What sets of records hold, and the respondent who is alone in one; −1 among the members is no
    set.
    """
    # a missing amount is no contribution, and who has no other is not in the set
    is_present = (member >= 0) & ~np.isnan(amount)
    pairs = np.unique(np.stack([member[is_present], respondent[is_present]]), axis=1)
    persons = np.bincount(pairs[0], minlength=count)
    owner = np.full(count, NOBODY, dtype=np.int64)
    # where several are in a set, each of them writes NOBODY
    owner[pairs[0]] = np.where(persons[pairs[0]] == 1, pairs[1], NOBODY)
    sums: Floats = np.bincount(
        member[is_present], weights=amount[is_present], minlength=count
    ).astype(np.float64)
    return (persons.astype(np.float64) if is_count else sums), owner


@dataclasses.dataclass(frozen=True, eq=False)
class _Differences:
    """Few records that some sum or difference of cells of several tables gives, judged like
    cells.
    """

    sets: Sequence[Codes]
    value: Floats
    unsafe: Mask
    up: Floats
    down: Floats
    owner: Codes

    def lines(self, atoms: int, atom_cells: int, size: int) -> Any:
        """Atoms between cells − what they hold together = 0."""
        from scipy import sparse

        count = len(self.sets)
        line = np.repeat(np.arange(count), [len(atom_set) for atom_set in self.sets])
        members = np.concatenate([np.zeros(0, dtype=np.int64), *self.sets])
        columns = np.concatenate([atoms + members, atoms + atom_cells + np.arange(count)])
        signs = np.concatenate([np.ones(len(members)), -np.ones(count)])
        return sparse.csr_matrix(
            (signs, (np.concatenate([line, np.arange(count)]), columns)), shape=(count, size)
        )


def _differences(
    sensitive_table: SensitiveTable,
    problem: Problem,
    memory: TableMemory,
    small_sets: Sequence[Codes],
    atoms: _Atoms,
) -> _Differences:
    """Sets of atoms that the rules of the new table find unsafe; the others may be told."""
    cells = _as_cells(sensitive_table, memory, atoms, small_sets)
    unsafe, up = np.zeros(len(small_sets), dtype=bool), np.zeros(len(small_sets))
    for rule in sensitive_table.rules:
        if small_sets and not isinstance(rule, GroupDisclosure):  # which is about columns
            hit = rule.unsafe(cells)
            unsafe |= hit
            up = np.maximum(up, np.where(hit, rule.need(cells), 0.0))
    # a need of 0 would be met by any table
    up = np.where(unsafe, sensitive_table.at_least(up), 0.0)
    if sensitive_table.table.counted:
        protection = unsafe.astype(np.float64)
    else:
        protection = up
    owner = np.where(cells.n == 1, cells.owner, NOBODY)
    down = np.minimum(protection, cells.value - float(problem.lower.min(initial=0.0)))
    unsafe_sets = np.flatnonzero(unsafe)
    sets = [small_sets[at] for at in unsafe_sets.tolist()]
    return _Differences(
        sets,
        cells.value[unsafe_sets],
        unsafe[unsafe_sets],
        up[unsafe_sets],
        down[unsafe_sets],
        owner[unsafe_sets],
    )


def _as_cells(
    sensitive_table: SensitiveTable,
    memory: TableMemory,
    atoms: _Atoms,
    between: Sequence[Codes],
) -> TableCells:
    """Sets of atoms as the rules look at cells."""
    table = sensitive_table.table
    depth = max(2, *(rule.depth for rule in sensitive_table.rules))
    amount = amounts(memory.dataset, table.measure, table.weight, "absolute")
    count = len(between)
    order = np.argsort(atoms.member, kind="stable")
    # the rows of atom a are order[ends[a]:ends[a + 1]]; rows of no atom (−1) come before the first
    ends = np.searchsorted(atoms.member[order], np.arange(len(atoms.rows) + 1))
    cells = TableCells(
        (),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
        np.zeros(count),
        np.zeros((count, depth)),
        np.zeros(count),
        np.full(count, NOBODY, dtype=np.int64),
        table.counted,
    )
    for at, atom_set in enumerate(between):
        rows = np.concatenate([order[ends[atom] : ends[atom + 1]] for atom in atom_set.tolist()])
        rows = np.sort(rows[~np.isnan(amount[rows])])
        respondents, respondent_numbers = np.unique(memory.respondent[rows], return_inverse=True)
        respondent_sums = (
            np.ones(len(respondents))
            if table.counted
            else np.bincount(respondent_numbers.reshape(-1), weights=amount[rows])
        )
        sizes = np.sort(np.abs(respondent_sums))[::-1]
        cells.n[at], cells.value[at], cells.size[at] = (
            len(respondents),
            respondent_sums.sum(),
            sizes.sum(),
        )
        cells.top[at, : min(depth, len(sizes))] = sizes[:depth]
        cells.least[at] = sizes[-1] if len(sizes) else 0.0
        cells.owner[at] = respondents[0] if len(respondents) == 1 else NOBODY
    return cells
