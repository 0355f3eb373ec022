"""A release of all parties' rows together that none of them could make alone, and nobody sees the
others' rows.

The ideal is somebody trusted by all who takes the union of the tables, finds the first node of a
public order at which few enough records stand in classes that break the promises, and tells
everybody the number of records, the node and the release. The protocol computes just that on shares
(see :mod:`sfumato.parties.arithmetic`), and opens nothing else:

1. Every party counts its rows in all cells of a node and clips the counts at k: whether the sum
   reaches k does not change.
2. The records in small cells are the sum of a polynomial of the clipped counts, f(x) = x below k
   and 0 from k on.
3. A node will do when that sum is one of 0, 1, …, B: the product of the differences is then 0, else
   not.
4. The ranks of the nodes are bisected: of the nodes up to a rank those that no other one
   generalises are tested together, and one bit is opened.
5. At the node that was found, one bit a cell says whether its records are kept; small and empty
   cells look alike.
6. The kept records are added up by cell and by their other values, and the sums are opened: that is
   the release.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import parameters
from sfumato.core.registry import build, write
from sfumato.core.words import count_of
from sfumato.errors import Disagreement, ParameterError, SchemaError, WrongMessage
from sfumato.parties.arithmetic import (
    BLOCK,
    Arithmetic,
    interpolate,
    polynomial_products,
    require_room,
    vanishing,
)
from sfumato.parties.assembled_rows import (
    DISAGREED,
    OwnRows,
    answer_of,
    collect_pieces,
    other_shape,
    own_piece,
    released_frame,
    table_of,
)
from sfumato.parties.channel import Phase
from sfumato.parties.nodes import PublicColumn, PublicLattice, public_lattice, require_public_order
from sfumato.parties.question import Cost, JointQuestion, Meeting, Summation
from sfumato.parties.sharing import PRIMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Model
    from sfumato.core.table import Table

    Shares = NDArray[np.uint64]

__all__ = ["JointRelease", "released_frame"]

MODULUS = PRIMES[0]
MOST_RELEASED = 1 << 24
"""Cells that an assembled release may have: kept classes times combinations of other values."""
LONGEST_PIECE = 1 << 32


@parameters
class JointRelease(JointQuestion):
    """One table from the rows of all parties: quasi-identifiers at one level each, k-anonymous as a
    whole.

    The answer is what ``global_recoding`` with objective ``height`` makes of the pooled table, node
    for node and record for record. ``budget`` is the share of all records that may be dropped;
    ``order`` the public order of nodes; ``levels`` bounds levels as there. With ``insiders`` a
    class must hold k records besides those of any one party, so that no party that subtracts its
    own finds fewer. ``l`` asks for as many different values of every sensitive column in a class.
    ``t`` asks for t-closeness of them to the release: it is judged on releases that were opened, at
    most ``candidates`` one after the other, and **all parties see those that fail**. Nodes with
    more than ``cells`` cells are left out, as everybody knows. ``assemble`` gives everybody the
    release (``histogram``: all columns need a domain), or its rows to the party ``collector``
    alone, who then learns which are whose (``pieces``).

    >>> columns = {
    ...     "age": {"role": "quasi", "between": [20, 69], "hierarchy": {"intervals": [10]}},
    ...     "sex": {"role": "quasi", "domain": ["x", "y"]},
    ... }
    >>> JointRelease(columns, k=2).lattice.nodes
    ((0, 0), (0, 1), (0, 2))
    """

    attributes: Annotated[
        dict[str, Document],
        Field(min_length=1, description="columns: role, domain, hierarchy"),
    ]
    k: Annotated[int, Field(ge=2, description="smallest class of the release")]
    budget: Annotated[
        str, Field(description="share of records that may be dropped, as a decimal")
    ] = "0"
    order: Annotated[str, Field(description="the public order of nodes")] = "height"
    levels: Annotated[
        dict[str, int | tuple[int, int]], Field(description="highest level, or lowest and highest")
    ] = Field(default_factory=dict)
    insiders: Annotated[
        bool, Field(description="k holds against each party, which knows its own rows")
    ] = False
    l: Annotated[  # noqa: E741
        int | None, Field(ge=2, description="different values of each sensitive column in a class")
    ] = None
    t: Annotated[
        str | None, Field(description="largest distance of a class to the release, as a decimal")
    ] = None
    candidates: Annotated[
        int, Field(ge=1, le=3, description="releases that may be opened until one is t-close")
    ] = 1
    cells: Annotated[int, Field(ge=1, le=MOST_RELEASED, description="cells a node may have")] = (
        1 << 20
    )
    assemble: Annotated[
        Literal["histogram", "pieces"], Field(description="who receives the release, and how")
    ] = "histogram"
    collector: Annotated[
        int | None, Field(ge=0, description="pieces only: the party that gets the rows")
    ] = None

    name: ClassVar[str] = "release"
    gives_away: ClassVar[str] = (
        "the number of all records, the node, the release; which cells of the node are small or"
        " empty, but not which of the two"
    )
    protocols: ClassVar[tuple[str, ...]] = ("joint", "shamir")

    def __post_init__(self) -> None:
        plain = {
            name: _plain_description(attribute_fields)
            for name, attribute_fields in self.attributes.items()
        }
        # the class is frozen; plain data, because the question is written into the study
        object.__setattr__(self, "attributes", plain)
        require_public_order(self.order)
        _share("budget", self.budget)
        if self.t is not None:
            _share("t", self.t)
        self._require_columns()
        if (self.assemble == "pieces") != (self.collector is not None):
            raise ParameterError(
                "pieces go to a collector: give the number of that party, and only with pieces"
            )
        if self.t is None and self.candidates > 1:
            raise ParameterError(
                "candidates are releases that are opened and judged for t; give t, or leave it at 1"
            )
        if self.t is not None and self.assemble == "pieces":
            raise ParameterError(
                "t is judged on releases that everybody sees; do not combine it with pieces"
            )

    def _require_columns(self) -> None:
        roles = [column.role for column in self.described.values()]
        unknown = [name for name, column in self.described.items() if not column.known]
        if "quasi" not in roles:
            raise SchemaError("a joint release needs a column with role quasi")
        if (self.l is not None or self.t is not None) and "sensitive" not in roles:
            raise SchemaError("l and t are about sensitive columns, and no column has that role")
        for name in unknown:
            if self.assemble == "histogram" or self.described[name].role != "keep":
                raise SchemaError(
                    f"column {name!r} needs a public domain, or a range of whole numbers"
                    " ('between')"
                )
        self.lattice  # noqa: B018  everything wrong with hierarchies and levels is said at once

    @cached_property
    def described(self) -> dict[str, PublicColumn]:
        """What everybody knows of the columns."""
        columns = {}
        for name, attribute_fields in self.attributes.items():
            try:
                columns[name] = PublicColumn(**attribute_fields)
            except (ParameterError, TypeError) as error:
                raise ParameterError(
                    f"column {name!r}: {str(error).removeprefix('PublicColumn: ')}"
                ) from None
        return columns

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are released."""
        return tuple(self.attributes)

    def _with_role(self, role: str) -> tuple[str, ...]:
        return tuple(name for name, column in self.described.items() if column.role == role)

    @cached_property
    def counted(self) -> dict[str, int]:
        """Sensitive columns whose values are counted in every class, and how many values they may
        have.
        """
        names = self._with_role("sensitive") if self.l is not None else ()
        return {name: len(self.described[name].ladder.labels[0]) for name in names}

    @cached_property
    def others(self) -> tuple[str, ...]:
        """Released columns that are not quasi-identifiers."""
        return tuple(name for name in self.columns if self.described[name].role != "quasi")

    @cached_property
    def weight(self) -> int:
        """Numbers that are counted for every cell."""
        return max(1, sum(self.counted.values()))

    @cached_property
    def lattice(self) -> PublicLattice:
        """The nodes in their public order."""
        quasi = {name: self.described[name] for name in self._with_role("quasi")}
        # with l, each cell costs as many numbers as there are sensitive values
        return public_lattice(quasi, self.levels, self.order, self.cells // self.weight)

    def may_drop(self, records: int) -> int:
        """How many records may be dropped: ⌊budget · N⌋, and never all of them."""
        return min(math.floor(Fraction(self.budget) * records), records - 1)

    def promises(self) -> tuple[Model, ...]:
        """What the search sees to, as it is judged on the release itself."""
        specifications: list[Any] = [{"k_anonymity": self.k}]
        specifications += [
            {"l_diversity": {"sensitive": name, "l": self.l}} for name in self.counted
        ]
        return tuple(build("models", specification) for specification in specifications)

    def closeness(self) -> tuple[Model, ...]:
        """What is judged on releases that were opened, and may fail."""
        if self.t is None:
            return ()
        t, names = float(Fraction(self.t)), self._with_role("sensitive")
        specifications = [
            {"t_closeness": {"sensitive": name, "t": t, "reference": "released"}} for name in names
        ]
        return tuple(build("models", specification) for specification in specifications)

    def own_input(self, people: Table) -> bytes:
        """The released columns of all rows, sorted; values outside their public domain are refused
        here, before anything is sent.
        """
        OwnRows.of(self, people)
        cells = [people.encoded(name).text(name).to_list() for name in self.columns]
        # sorted: another order of the same rows is the same input
        return json.dumps(sorted(json.dumps(row) for row in zip(*cells, strict=True))).encode()

    async def compute(self, people: Table, meeting: Meeting) -> Document:
        """The release, and what was learned on the way; ``released_frame`` makes a table of it."""
        if meeting.noise:
            raise ParameterError(
                "a joint release has no noise; ask for a histogram with noise, or leave "
                "the noise out"
            )
        return await _Walk(self, OwnRows.of(self, people), meeting).answer()

    def plain(self, people: Table) -> Document:
        """The same from one table with everybody's rows."""
        if self.insiders:
            raise ParameterError(
                "one table does not record whose rows are whose, which insiders needs; "
                "leave insiders out"
            )
        if self.assemble == "pieces":
            return dataclasses.replace(self, assemble="histogram", collector=None).plain(people)
        return _pool_tables(self, OwnRows.of(self, people))

    def common(self, answer: Fields) -> Fields:
        """Rows that a collector alone has are not signed by the others."""
        common_fields = ("records", "levels", "learned", "collector")
        if self.assemble == "histogram":
            return answer
        return {name: answer[name] for name in common_fields if name in answer}

    def cost(self, parties: int, sums: Summation, records: int) -> Cost:
        """The costliest search, the keep bits of its largest node, and the release."""
        return _cost(self, parties, records)


class _Gate(NamedTuple):
    """Rows of shared numbers, a number a cell, that lie between 0 and ``most``, and what each must
    reach.
    """

    numbers: Shares
    threshold: int
    most: int


class _Piece(NamedTuple):
    """Some cells of a node."""

    rank: int
    start: int
    stop: int


@dataclasses.dataclass
class _Walk:
    """One party's way through the protocol."""

    question: JointRelease
    own: OwnRows
    meeting: Meeting
    dropped: dict[int, Shares] = dataclasses.field(default_factory=dict)
    """By node: a share of the number of records that it would drop. Computed once, however often
    the node is asked for.
    """
    bits: list[list[int]] = dataclasses.field(default_factory=list)
    rejected: list[dict[str, int]] = dataclasses.field(default_factory=list)

    @cached_property
    def calc(self) -> Arithmetic:
        arithmetic = Arithmetic(self.meeting.channel, self.meeting.degree, self.meeting.draw)
        require_room(arithmetic, self.question.k)
        return arithmetic

    async def answer(self) -> Document:
        """Search, keep, assemble, judge; with t go on until a release is close enough or no more
        may be opened.
        """
        records, first = await self._records(), 0
        for _ in range(self.question.candidates):
            rank = await self._search(first, self.question.may_drop(records))
            if rank is None:
                break
            kept_classes = await self._keep(rank)
            result = await self._assembled(rank, kept_classes, records)
            if all(verdict["holds"] for verdict in result.get("verdicts", ())):
                return result
            # what comes before was found not to do, or was opened and is not close enough
            self.rejected.append(self.question.lattice.levels(rank))
            first = rank + 1
        return self._document(records, None, {})

    async def _records(self) -> int:
        """The number of all records, known to all."""
        # phase PRODUCTS: only the release itself counts as an opened answer
        total = await self.calc.opened(
            await self.calc.shared(np.array([self.own.rows])), Phase.PRODUCTS
        )
        records = int(total[0])
        if records > self.meeting.records_at_most:
            raise ParameterError(
                f"there are more records than the study allows, {self.meeting.records_at_most:,}; "
                "raise the limit in a new study"
            )
        return records

    async def _search(self, first: int, budget: int) -> int | None:
        searching = self.question.lattice.search(first)
        expected_questions = max(1, math.ceil(math.log2(len(self.question.lattice.nodes) + 1)))
        try:
            last, ranks = next(searching)
            while True:
                self.meeting.progress(
                    min(0.9, len(self.bits) / expected_questions),
                    f"testing {count_of(len(ranks), 'node')}",
                )
                holds = await self._one_will_do(ranks, budget)
                self.bits.append([last, int(holds)])
                last, ranks = searching.send(holds)
        except StopIteration as stop:
            rank_found: int | None = stop.value
            return rank_found

    async def _one_will_do(self, ranks: Sequence[int], budget: int) -> bool:
        """One bit: whether a node drops no more records than the budget, so that one of the
        differences to 0, 1, …, B is 0.
        """
        # a node asked for before is not counted again
        await self._count([rank for rank in ranks if rank not in self.dropped])
        sums = np.concatenate([self.dropped[rank] for rank in ranks])
        # −j modulo p: factors are (dropped − j), for every node and j = 0, 1, …, budget
        modulus = self.calc.field.modulus
        steps = np.array([(modulus - j) % modulus for j in range(budget + 1)], dtype=np.uint64)
        factors = self.calc.field.reduced((sums[:, np.newaxis] + steps[np.newaxis]).ravel())
        missed = await self.calc.all_multiplied(factors)
        return bool((await self.calc.zeros(missed, Phase.PRODUCTS))[0])

    async def _count(self, ranks: Sequence[int]) -> None:
        """Shares of the numbers of records that nodes drop; small nodes together, large ones in
        pieces.
        """
        for rank in ranks:
            self.dropped[rank] = self.calc.constant(0, 1)
        for batch in _batches(ranks, self.question):
            counts, present = self._own_counts(batch)
            # where each piece begins: sizes 4, 2, 3 → 0, 4, 6
            starts = np.cumsum([0, *(piece.stop - piece.start for piece in batch[:-1])]).tolist()
            sums = await self._dropped_of(counts, present, starts)
            # a large node comes in several pieces, whose sums are added
            for piece, share in zip(batch, sums, strict=True):
                self.dropped[piece.rank] = self.calc.field.reduced(self.dropped[piece.rank] + share)

    async def _dropped_of(
        self, counts: NDArray[np.int64], present: Sequence[NDArray[np.int64]], starts: Sequence[int]
    ) -> Shares:
        k, parties = self.question.k, self.calc.channel.parties
        # without further gates one polynomial of the clipped counts is enough
        if not present and not self.question.insiders:
            clipped = await self.calc.shared(np.minimum(counts, k))
            return await self.calc.polynomial_sums(clipped, _small(k, parties * k), starts)
        # clipped counts decide, but whole counts are added up
        records = await self.calc.shared(counts)
        gates = await self._gates(counts, present)
        is_kept = await self._all_of(
            gates, [_threshold_polynomial(gate.threshold, gate.most) for gate in gates]
        )
        failing = self.calc.plus(self.calc.scaled(is_kept, -1), 1)
        return await self.calc.dot(records, failing, starts)

    def _own_counts(
        self, batch: Sequence[_Piece]
    ) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """This party's counts in some cells, and of each counted column which values occur
        there.
        """
        counts = [self.own.histogram(piece.rank)[piece.start : piece.stop] for piece in batch]
        present = [
            np.concatenate(
                [self.own.present(p.rank, name, values)[p.start : p.stop] for p in batch]
            )
            for name, values in self.question.counted.items()
        ]
        return np.concatenate(counts), present

    async def _gates(
        self, counts: NDArray[np.int64], present: Sequence[NDArray[np.int64]]
    ) -> list[_Gate]:
        """What must reach what, cell by cell: records (without those of each party, against
        insiders), and different values.
        """
        k, parties, own = self.question.k, self.calc.channel.parties, self.calc.channel.number
        clipped = np.minimum(counts, k)
        if self.question.insiders:
            # row i holds what all but party i have: everybody enters 0 into its own row
            without = [np.zeros_like(clipped) if i == own else clipped for i in range(parties)]
            shared = await self.calc.shared(np.concatenate(without))
            gates = [_Gate(shared.reshape(parties, -1), k, (parties - 1) * k)]
        else:
            gates = [_Gate((await self.calc.shared(clipped))[np.newaxis], k, parties * k)]
        for values in present:
            # how many parties have the value in the cell; it counts once, whoever has it
            owners = await self.calc.shared(values.ravel())
            is_owner = await self.calc.polynomial(owners, _threshold_polynomial(1, parties))
            different = self.calc.sums(is_owner.reshape(values.shape))[np.newaxis]
            gates.append(_Gate(different, self.question.l or 1, values.shape[1]))
        return gates

    async def _all_of(self, gates: Sequence[_Gate], polynomials: Sequence[Sequence[int]]) -> Shares:
        """The product, cell by cell, of each gate's polynomial of its numbers."""
        rows = []
        for gate, coefficients in zip(gates, polynomials, strict=True):
            values = await self.calc.polynomial(gate.numbers.ravel(), coefficients)
            rows.append(values.reshape(gate.numbers.shape))
        return await self.calc.all_multiplied(np.concatenate(rows))

    async def _keep(self, rank: int) -> NDArray[np.bool_]:
        """One bit a cell, known to all: whether its records are released."""
        self.meeting.progress(0.92, "finding the classes to keep")
        bits = []
        # of a single node every piece fills a batch alone
        for [piece] in _batches([rank], self.question):
            counts, present = self._own_counts([piece])
            gates = await self._gates(counts, present)
            # whether a product is 0 is all that is asked: polynomials of a lower degree will do
            factors = await self._all_of(
                gates, [vanishing(gate.threshold, MODULUS) for gate in gates]
            )
            bits.append(~await self.calc.zeros(factors, Phase.PRODUCTS))
        return np.concatenate(bits)

    async def _assembled(
        self, rank: int, kept_classes: NDArray[np.bool_], records: int
    ) -> Document:
        self.meeting.progress(0.95, "adding up the release")
        if self.question.assemble == "pieces":
            return self._document(records, rank, await self._pieces(rank, kept_classes, records))
        size = int(kept_classes.sum()) * math.prod(other_shape(self.question))
        if size > MOST_RELEASED:
            raise ParameterError(
                f"the release would have {size:,} cells, and at most {MOST_RELEASED:,} are "
                "possible; release fewer columns, or use pieces"
            )
        own = self.own.released(rank, kept_classes)
        counts = (await self.calc.opened(await self.calc.shared(own))).astype(np.int64)
        self._require_truth(counts, own, kept_classes, records)
        return self._document(
            records, rank, table_of(self.question, rank, np.flatnonzero(kept_classes), counts)
        )

    def _require_truth(
        self,
        counts: NDArray[np.int64],
        own: NDArray[np.int64],
        kept_classes: NDArray[np.bool_],
        records: int,
    ) -> None:
        """What must be so when everybody counted as agreed; what only one party can see, it
        sees.
        """
        by_class, own_by_class = (
            c.reshape(int(kept_classes.sum()), -1).sum(axis=1) for c in (counts, own)
        )
        # against insiders a class must be large without our own rows
        crowd = by_class - own_by_class if self.question.insiders else by_class
        total = int(by_class.sum())
        within = total <= records and records - total <= self.question.may_drop(records)
        if bool((counts < own).any()) or bool((crowd < self.question.k).any()) or not within:
            raise Disagreement(DISAGREED)

    def _document(self, records: int, rank: int | None, table: Fields) -> Document:
        learned = {"bits": self.bits, "nodes_tested": len(self.dropped), "rejected": self.rejected}
        return answer_of(self.question, records, rank, table, learned)

    async def _pieces(self, rank: int, kept_classes: NDArray[np.bool_], records: int) -> Document:
        """Everybody sends the collector its kept rows, recoded; the collector alone has a table."""
        channel, collector = self.calc.channel, self.question.collector or 0
        if collector >= channel.parties:
            raise ParameterError(
                f"the collector is party {collector}, but parties are numbered from 0 and there "
                f"are {channel.parties}; correct the number"
            )
        own = own_piece(self.own, rank, kept_classes)
        if channel.number != collector:
            # lengths must be known before a message: so first the length, then the rows
            await channel.exchange(Phase.OPEN, {collector: len(own).to_bytes(8, "big")}, {})
            await channel.exchange(Phase.OPEN, {collector: own}, {})
            return {"collector": collector}
        length_messages = await channel.exchange(Phase.OPEN, {}, dict.fromkeys(channel.others, 8))
        lengths = {
            sender: int.from_bytes(message, "big") for sender, message in length_messages.items()
        }
        for sender, length in lengths.items():
            # before memory is taken for it
            if length > LONGEST_PIECE:
                raise WrongMessage(sender, "open")
        arrived = {**await channel.exchange(Phase.OPEN, {}, lengths), collector: own}
        return {
            "collector": collector,
            **collect_pieces(self.question, rank, kept_classes, arrived, records),
        }


def _plain_description(attribute_fields: Fields) -> Document:
    """A column's description as plain data: a hierarchy that was given as an object is written as
    in a recipe.
    """
    rule: Any = attribute_fields.get("hierarchy")
    plain = rule is None or isinstance(rule, str | Mapping)
    if plain:
        return dict(attribute_fields)
    return {**attribute_fields, "hierarchy": write(rule)}


def _share(name: str, text: str) -> None:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise ParameterError(
            f"{name} must be a decimal number from 0 to 1, written as text: '0.05'"
        )


def _pool_tables(question: JointRelease, own: OwnRows) -> Document:
    """The same walk over one table, with plain numbers."""
    records, first, rejected, bits, tested = (
        own.rows,
        0,
        list[dict[str, int]](),
        list[list[int]](),
        set[int](),
    )
    result: Document = {}
    for _ in range(question.candidates):
        rank = _first_plain(question, own, first, bits, tested)
        learned = {"bits": bits, "nodes_tested": len(tested), "rejected": rejected}
        if rank is None:
            break
        kept_classes = _kept_plain(question, own, rank)
        table = table_of(
            question, rank, np.flatnonzero(kept_classes), own.released(rank, kept_classes)
        )
        result = answer_of(question, records, rank, table, learned)
        if all(verdict["holds"] for verdict in result["verdicts"]):
            return result
        rejected.append(question.lattice.levels(rank))
        first = rank + 1
    return answer_of(question, records, None, {}, learned)


def _first_plain(
    question: JointRelease, own: OwnRows, first: int, bits: list[list[int]], tested: set[int]
) -> int | None:
    searching = question.lattice.search(first)
    budget = question.may_drop(own.rows)
    try:
        last, ranks = next(searching)
        while True:
            tested |= set(ranks)
            dropped = [int(own.histogram(r)[~_kept_plain(question, own, r)].sum()) for r in ranks]
            holds = any(number <= budget for number in dropped)
            bits.append([last, int(holds)])
            last, ranks = searching.send(holds)
    except StopIteration as stop:
        rank_found: int | None = stop.value
        return rank_found


def _kept_plain(question: JointRelease, own: OwnRows, rank: int) -> NDArray[np.bool_]:
    is_kept = own.histogram(rank) >= question.k
    for name, values in question.counted.items():
        is_kept &= own.present(rank, name, values).sum(axis=1) >= (question.l or 1)
    return is_kept


def _batches(ranks: Sequence[int], question: JointRelease) -> Iterator[list[_Piece]]:
    """Pieces of nodes, together at most a block of numbers; all parties cut alike."""
    batch_size, batch, room = max(1, BLOCK // question.weight), list[_Piece](), 0
    for rank in ranks:
        cells = question.lattice.cells(rank)
        for start in range(0, cells, batch_size):
            size = min(batch_size, cells - start)
            # a piece that has no room left in the batch begins the next one
            if size > room and batch:
                yield batch
                batch = []
            room = (room if batch else batch_size) - size
            batch.append(_Piece(rank, start, start + size))
    if batch:
        yield batch


@functools.lru_cache(maxsize=256)
def _small(k: int, largest: int) -> tuple[int, ...]:
    """The polynomial that is x for 0 ≤ x < k, and 0 for k ≤ x ≤ most."""
    # clipped at k, the counts of all parties reach at most parties · k
    return tuple(interpolate([x if x < k else 0 for x in range(largest + 1)], MODULUS))


@functools.lru_cache(maxsize=256)
def _threshold_polynomial(threshold: int, largest: int) -> tuple[int, ...]:
    """The polynomial that is 0 for 0 ≤ x < threshold, and 1 for threshold ≤ x ≤ most."""
    return tuple(interpolate([int(x >= threshold) for x in range(largest + 1)], MODULUS))


def _cost(question: JointRelease, parties: int, records: int) -> Cost:
    """Numbers that every party shares, multiplies and opens, 4 bytes each to every other party;
    rounds of the search in blocks.
    """
    lattice, k, budget = question.lattice, question.k, max(0, question.may_drop(records))
    ranks_asked, bits = lattice.most_asked(), math.ceil(math.log2(len(lattice.nodes) + 1))
    cells, largest = (
        sum(lattice.cells(rank) for rank in ranks_asked),
        max(lattice.cells(rank) for rank in range(len(lattice.nodes))),
    )
    gates = parties if question.insiders else 1
    general = question.insiders or bool(question.counted)
    largest_value = (parties - 1 if question.insiders else parties) * k
    # numbers a cell costs for the sensitive values: shared, and brought to 0 or 1
    values = sum(v * (1 + polynomial_products(parties)) for v in question.counted.values())
    last = sum(polynomial_products(v) + 1 for v in question.counted.values())
    # products a cell costs in the search; without further gates the last one is added up
    # before it is sent, so that it costs nothing a cell
    search = (
        gates * (1 + polynomial_products(largest_value))
        + values
        + last
        + (gates if general else -1)
    )
    keep = gates * (2 + polynomial_products(k)) + values + last + 6
    if question.assemble == "histogram":
        released = min(largest, max(1, records // k)) * math.prod(other_shape(question))
    else:
        released = 0
    products = (
        cells * (search - 1)
        + bits * len(ranks_asked) * (budget + 1)
        + question.candidates * largest * keep
    )
    numbers = products + cells + 2 * question.candidates * released + 8 * bits + 2
    blocks = (
        bits
        + cells * question.weight // BLOCK
        + question.candidates * (1 + largest * question.weight // BLOCK)
    )
    depth = (
        gates * (polynomial_products(largest_value) + 2)
        + 8
        + math.ceil(math.log2(len(ranks_asked) * (budget + 1) + 1))
    )
    rounds = blocks * (
        depth
        + len(question.counted)
        * 2
        * polynomial_products(parties + max(question.counted.values(), default=0))
    )
    return Cost(rounds * (parties - 1), 4 * numbers * (parties - 1), products, rounds)
