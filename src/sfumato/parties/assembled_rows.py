"""The rows of a party as codes of public domains, and the table that is put together from the rows
of all.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core.encoding import positions_in
from sfumato.core.evidence import gather, judge_all
from sfumato.core.fields import Document, Fields
from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.errors import Disagreement, SchemaError, WrongMessage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Model, Verdict
    from sfumato.parties.joint import JointRelease

Row = tuple[str | None, ...]

DISAGREED = (
    "the release differs from what the search found: counts of a party changed on the way, and "
    "nothing is released"
)


@dataclasses.dataclass(frozen=True)
class OwnRows:
    """The rows of one party as codes of the public domains."""

    question: JointRelease
    codes: Mapping[str, NDArray[np.int64]]
    rows: int
    people: Table

    @classmethod
    def of(cls, question: JointRelease, people: Table) -> OwnRows:
        """Read the columns; a value that nobody declared is counted and refused."""
        people.require(question.columns)
        codes, problems = {}, []
        for name, column in question.described.items():
            if not column.known:
                continue
            encoded = people.encoded(name)
            # where each label of this party stands in the public domain, −1 where it does not
            label_positions = positions_in(column.ladder.labels[0], encoded.labels)
            # a table without rows has no labels to look up
            if len(label_positions):
                codes[name] = label_positions[encoded.codes]
            else:
                codes[name] = encoded.codes
            if unknown := int((codes[name] < 0).sum()):
                problems.append(
                    f"column {name!r}: {unknown:,} row(s) have values outside the public domain of "
                    "the study; correct them or extend the domain"
                )
        if problems:
            raise SchemaError(problems)
        return cls(question, codes, len(people), people)

    def places(self, rank: int) -> NDArray[np.int64]:
        """The cell of each row at a node."""
        lattice = self.question.lattice
        climbed = [
            ladder.climb(0, level)[self.codes[name]]
            for name, ladder, level in zip(
                lattice.names, lattice.ladders, lattice.nodes[rank], strict=True
            )
        ]
        return flat(climbed, lattice.shape(rank), self.rows)

    def histogram(self, rank: int) -> NDArray[np.int64]:
        """How many rows stand in each cell of a node."""
        return np.bincount(self.places(rank), minlength=self.question.lattice.cells(rank))

    def present(self, rank: int, sensitive: str, values: int) -> NDArray[np.int64]:
        """For each cell and each value of a sensitive column 1 where some row has it, else 0."""
        cells = self.question.lattice.cells(rank)
        # cell and value in one number, cell · values + value
        joint = self.places(rank) * values + self.codes[sensitive]
        # 0 or 1, so that the sum over parties says how many have it, not how many rows do
        return np.minimum(np.bincount(joint, minlength=cells * values), 1).reshape(cells, values)

    def released(self, rank: int, kept_classes: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many rows have each kept cell and each combination of the other columns' values."""
        shape = other_shape(self.question)
        # the number of a kept cell among the kept ones: kept 1,0,1 → 0,0,1
        position = np.cumsum(kept_classes) - 1
        class_numbers = self.places(rank)
        other_codes = flat([self.codes[name] for name in self.question.others], shape, self.rows)
        inside = kept_classes[class_numbers]
        joint = position[class_numbers[inside]] * math.prod(shape) + other_codes[inside]
        return np.bincount(joint, minlength=int(kept_classes.sum()) * math.prod(shape))


def flat(codes: Sequence[NDArray[np.int64]], shape: Sequence[int], rows: int) -> NDArray[np.int64]:
    """One number for the codes of several columns, the last one fastest."""
    cell = np.zeros(rows, dtype=np.int64)
    for code, size in zip(codes, shape, strict=True):
        cell = cell * size + code
    return cell


def other_shape(question: JointRelease) -> tuple[int, ...]:
    """How many values each released column has that is no quasi-identifier."""
    return tuple(len(question.described[name].ladder.labels[0]) for name in question.others)


def _labels(question: JointRelease, rank: int) -> dict[str, tuple[str | None, ...]]:
    """By released column the labels that its cells may show."""
    lattice = question.lattice
    at = {
        name: tuple(ladder.labels[level])
        for name, ladder, level in zip(
            lattice.names, lattice.ladders, lattice.nodes[rank], strict=True
        )
    }
    return at | {
        name: tuple(question.described[name].ladder.labels[0])
        for name in question.others
        if question.described[name].known
    }


def table_of(
    question: JointRelease, rank: int, kept_classes: NDArray[np.int64], counts: NDArray[np.int64]
) -> Document:
    """Distinct released rows and how often each comes, in the order of the public domains: no row
    says where it came from.
    """
    shape = other_shape(question)
    # combinations that nobody has are no rows
    occupied = np.flatnonzero(counts)
    cells, other_cells = np.divmod(occupied, math.prod(shape))
    labels = _labels(question, rank)
    quasi = np.unravel_index(kept_classes[cells], question.lattice.shape(rank))
    other_codes = np.unravel_index(other_cells, shape) if shape else ()
    codes = dict(
        zip((*question.lattice.names, *question.others), (*quasi, *other_codes), strict=True)
    )
    columns_shown = [
        [labels[name][code] for code in codes[name].tolist()] for name in question.columns
    ]
    return {
        "columns": list(question.columns),
        "combinations": [list(row) for row in zip(*columns_shown, strict=True)],
        "counts": counts[occupied].tolist(),
    }


def answer_of(
    question: JointRelease,
    records: int,
    rank: int | None,
    table: Fields,
    learned: Fields,
) -> Document:
    """What all learn; where there is a table, with what the promises say of it. Promises but t
    must hold: the search saw to it.
    """
    lattice = question.lattice
    learned_fields = {
        **learned,
        "floors": {"nodes_left_out": lattice.left_out, "lowest": lattice.lowest()},
    }
    answer: Document = {
        "records": records,
        "levels": None if rank is None else lattice.levels(rank),
        "learned": learned_fields,
    }
    if rank is None:
        return answer | {
            "columns": list(question.columns),
            "combinations": [],
            "counts": [],
            "verdicts": [],
        }
    # pieces: who is not the collector has no table to judge
    if "counts" not in table:
        return answer | dict(table)
    sure, hoped = (
        judge_release(question, table, question.promises()),
        judge_release(question, table, question.closeness()),
    )
    # the search saw to these: where one fails, somebody did not count as agreed
    if not all(sure):
        raise Disagreement(DISAGREED)
    verdicts = [_verdict_fields(verdict) for verdict in (*sure, *hoped)]
    return answer | dict(table) | {"verdicts": verdicts, "released_records": sum(table["counts"])}


def _verdict_fields(verdict: Verdict) -> Document:
    attained = None if verdict.attained is None else float(verdict.attained)
    return {"promise": verdict.promise, "holds": bool(verdict.holds), "attained": attained}


def judge_release(
    question: JointRelease, table: Fields, models: Sequence[Model]
) -> tuple[Verdict, ...]:
    """What promises say of the release itself, as anybody can ask them."""
    frame = _frame(table)
    roles: dict[str, list[str]] = {}
    for name, column in question.described.items():
        roles.setdefault(column.role, []).append(name)
    copies = np.array(table["counts"], dtype=np.int64)
    released = Table(nw.from_native(frame, eager_only=True), copies=copies).with_schema(
        Schema.from_roles(roles)
    )
    if not models:
        return ()
    return judge_all(gather(released, models), models)


def _frame(table: Fields) -> pl.DataFrame:
    rows = table["combinations"]
    return pl.DataFrame(
        {
            name: pl.Series(name, [row[i] for row in rows], dtype=pl.String)
            for i, name in enumerate(table["columns"])
        }
    )


def released_frame(answer: Fields) -> pl.DataFrame:
    """The released table of an answer, a row a record, as text; without rows where nothing could be
    released.
    """
    frame = _frame(answer)
    return frame[np.repeat(np.arange(len(frame)), np.array(answer["counts"], dtype=np.int64))]


# Rows handed over in pieces


def own_piece(own: OwnRows, rank: int, kept_classes: NDArray[np.bool_]) -> bytes:
    """A party's kept rows, recoded and sorted."""
    question, lattice = own.question, own.question.lattice
    rows = np.flatnonzero(kept_classes[own.places(rank)])
    labels = _labels(question, rank)
    climbs = {
        name: ladder.climb(0, level)
        for name, ladder, level in zip(
            lattice.names, lattice.ladders, lattice.nodes[rank], strict=True
        )
    }
    columns_shown = []
    for name in question.columns:
        # a column without public domain is handed over as it is
        if name not in labels:
            columns_shown.append(own.people.encoded(name).text(name).gather(rows).to_list())
            continue
        if name in climbs:
            codes = climbs[name][own.codes[name]]
        else:
            codes = own.codes[name]
        columns_shown.append([labels[name][code] for code in codes[rows].tolist()])
    return json.dumps(
        sorted(zip(*columns_shown, strict=True), key=json.dumps), ensure_ascii=False
    ).encode()


def collect_pieces(
    question: JointRelease,
    rank: int,
    kept_classes: NDArray[np.bool_],
    pieces: Mapping[int, bytes],
    records: int,
) -> Document:
    """The table of all pieces; who sends what is no row of a kept class is named, and what breaks a
    promise is not released.
    """
    labels = _labels(question, rank)
    by_party = {
        sender: _read_rows(question, labels, sender, message) for sender, message in pieces.items()
    }
    classes = {
        sender: _classes(question, rank, labels, rows, kept_classes, sender)
        for sender, rows in by_party.items()
    }
    together = sum(classes.values(), Counter[int]())
    rows = sum(by_party.values(), Counter[Row]())
    # without insiders there is nobody whose own rows are taken off
    if not question.insiders:
        own_most = [Counter[int]()]
    else:
        own_most = list(classes.values())
    crowded = all(
        together[cell] - own_counts[cell] >= question.k
        for own_counts in own_most
        for cell in together
    )
    # the number of rows must be within what the search allowed to drop
    if not crowded or not records - question.may_drop(records) <= together.total() <= records:
        raise Disagreement(DISAGREED)
    ordered = sorted(rows, key=json.dumps)
    return {
        "columns": list(question.columns),
        "combinations": [list(row) for row in ordered],
        "counts": [rows[row] for row in ordered],
    }


def _read_rows(
    question: JointRelease, labels: Mapping[str, Sequence[str | None]], sender: int, message: bytes
) -> Counter[Row]:
    known_labels = [set(labels[name]) if name in labels else None for name in question.columns]
    try:
        rows = [tuple(row) for row in json.loads(message)]
        # a label outside the domain would enter the release unseen
        fit = all(
            len(row) == len(known_labels)
            and all(
                (cell is None or isinstance(cell, str)) and (k is None or cell in k)
                for cell, k in zip(row, known_labels, strict=True)
            )
            for row in rows
        )
    except (ValueError, TypeError, RecursionError):
        raise WrongMessage(sender, "open") from None
    if not fit:
        raise WrongMessage(sender, "open")
    return Counter(rows)


def _classes(
    question: JointRelease,
    rank: int,
    labels: Mapping[str, Sequence[str | None]],
    rows: Counter[Row],
    kept_classes: NDArray[np.bool_],
    sender: int,
) -> Counter[int]:
    """How many rows of a piece stand in each class; only kept ones may be there."""
    lattice, class_counts = question.lattice, Counter[int]()
    # the same numbering as flat(): labels to codes, the last column fastest
    where = {
        name: {label: code for code, label in enumerate(labels[name])} for name in lattice.names
    }
    column = {name: question.columns.index(name) for name in lattice.names}
    for row, count in rows.items():
        class_number = 0
        for name, size in zip(lattice.names, lattice.shape(rank), strict=True):
            class_number = class_number * size + where[name][row[column[name]]]
        if not kept_classes[class_number]:
            raise WrongMessage(sender, "open")
        class_counts[class_number] += count
    return class_counts
