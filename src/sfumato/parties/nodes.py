"""The generalization lattice as everybody knows it: hierarchies bound to public domains, its nodes
in a public order, and how it is searched.

Nothing here has seen a record. Nodes are ordered by levels alone, so that "the first node that will
do" says nothing more than which it is.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Generator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from sfumato.core.hierarchy import Hierarchy, Ladder, bind
from sfumato.core.objective import OBJECTIVES
from sfumato.core.parameters import parameters
from sfumato.core.registry import build
from sfumato.core.schema import checked_domain
from sfumato.errors import ParameterError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

Node = tuple[int, ...]
ORDERS = ("height", "minimum_absolute_distance", "minimum_relative_distance")
"""Objectives that look at levels alone."""
MOST_NODES = 1 << 16
MOST_VALUES = 1 << 20


@parameters
class PublicColumn:
    """What all parties know of a column before they have seen anything: its role, the values that
    may occur, its hierarchy.

    ``between`` is short for the whole numbers from one to another. ``missing`` says that a value
    may be missing; it is then a value of its own. A column that is neither quasi-identifier nor
    sensitive may do without a domain where rows are handed over in pieces.
    """

    role: Literal["quasi", "sensitive", "keep"]
    domain: Annotated[list[Any], Field(description="the values that may occur")] = Field(
        default_factory=list
    )
    between: Annotated[
        tuple[int, int] | None, Field(description="the lowest and highest whole number")
    ] = None
    hierarchy: Annotated[Any, Field(description="how values become coarser, as in a recipe")] = None
    missing: Annotated[bool, Field(description="whether values may be missing")] = False

    def __post_init__(self) -> None:
        if self.domain and self.between is not None:
            raise ParameterError("give a column either a domain or two numbers 'between', not both")
        if self.between is not None and not 0 <= self.between[1] - self.between[0] < MOST_VALUES:
            raise ParameterError(
                "between must give the lowest and the highest of at most "
                f"{MOST_VALUES:,} whole numbers"
            )
        if self.domain:
            checked_domain(self.domain)
        if self.hierarchy is not None and self.role != "quasi":
            raise ParameterError(
                "only quasi-identifiers are generalised, but another column has a "
                "hierarchy; remove it"
            )

    @property
    def known(self) -> bool:
        """Whether all values that may occur are declared."""
        return bool(self.domain) or self.between is not None

    @cached_property
    def ladder(self) -> Ladder:
        """The hierarchy bound to the whole public domain: the same at every party, whatever values
        it has.
        """
        if self.between is not None:
            values: Sequence[str] = [str(v) for v in range(self.between[0], self.between[1] + 1)]
        else:
            values = checked_domain(self.domain)
        rule: Hierarchy | None = (
            None if self.hierarchy is None else build("hierarchies", self.hierarchy)
        )
        # a missing value is a value of its own, the last one
        declared = [*values, *([None] if self.missing else [])]
        # every value counts once: how often they occur is what nobody may know
        return bind(rule, declared, [1] * len(declared))


def require_public_order(order: str) -> None:
    """Refuse objectives that look at records: to compare nodes by them, numbers would have to be
    opened.
    """
    if order in ORDERS:
        return
    if any(order == objective.name for objective in OBJECTIVES):
        raise ParameterError(
            f"the objective {order!r} depends on the records, and comparing nodes by it would "
            f"reveal what nobody may see; a joint release uses {', '.join(ORDERS)}"
        )
    raise ParameterError(f"order {order!r} of nodes does not exist.{did_you_mean(order, ORDERS)}")


@dataclasses.dataclass(frozen=True)
class PublicLattice:
    """The nodes that may be released, the preferred one first; a node gives each of ``names`` a
    level.

    ``left_out`` counts nodes with more cells than the study allows: they are nobody's choice, and
    everybody knows it.
    """

    names: tuple[str, ...]
    ladders: tuple[Ladder, ...]
    nodes: tuple[Node, ...]
    left_out: int

    def shape(self, rank: int) -> tuple[int, ...]:
        """How many labels each column has at a node."""
        return _shape(self.ladders, self.nodes[rank])

    def cells(self, rank: int) -> int:
        """How many combinations of labels a node has, whether they occur or not."""
        return math.prod(self.shape(rank))

    def levels(self, rank: int) -> dict[str, int]:
        """The level of each column."""
        return dict(zip(self.names, self.nodes[rank], strict=True))

    def lowest(self) -> dict[str, int]:
        """The lowest level at which each column may be released."""
        return {name: min(node[a] for node in self.nodes) for a, name in enumerate(self.names)}

    @cached_property
    def _matrix(self) -> NDArray[np.int64]:
        return np.array(self.nodes, dtype=np.int64).reshape(len(self.nodes), len(self.names))

    def maximal(self, first: int, last: int) -> list[int]:
        """The nodes among these ranks that no other of them generalises: if any of them will do,
        one of these does.
        """
        levels, maximal_ranks = self._matrix, list[int]()
        for rank in range(last, first - 1, -1):  # what generalises a node comes after it
            if not any(
                (levels[rank] <= levels[maximal_rank]).all() for maximal_rank in maximal_ranks
            ):
                maximal_ranks.append(rank)
        return maximal_ranks[::-1]

    def search(self, first: int = 0) -> Generator[tuple[int, list[int]], bool, int | None]:
        """Find the first node from a rank on that will do: asks ``(last rank, nodes)`` whether one
        of the nodes does.

        A bisection of ranks, "none" included: at most ⌈log₂(nodes + 1)⌉ questions. Whether a node
        will do must be monotone: what generalises it will do as well.
        """
        low, high = first, len(self.nodes)
        # the number of nodes stands for "none will do"
        while low < high:
            middle = (low + high) // 2
            if (yield middle, self.maximal(low, middle)):
                high = middle
            else:
                low = middle + 1
        return low if low < len(self.nodes) else None

    def most_asked(self) -> list[int]:
        """The nodes that the costliest search looks at; all of them where there are too many to
        find out.
        """
        if len(self.nodes) > 400:
            return list(range(len(self.nodes)))
        # one search for every node that could be the first to do, and one for none
        rank_lists = [self._looked_at(target) for target in range(len(self.nodes) + 1)]
        return sorted(max(rank_lists, key=lambda ranks: sum(self.cells(rank) for rank in ranks)))

    def _looked_at(self, target: int) -> set[int]:
        searching, ranks = self.search(), set[int]()
        try:
            last, nodes = next(searching)
            while True:
                ranks |= set(nodes)
                # what the records would answer if this node were the first to do
                last, nodes = searching.send(last >= target)
        except StopIteration:
            return ranks


def public_lattice(
    columns: Mapping[str, PublicColumn],
    levels: Mapping[str, int | tuple[int, int]],
    order: str,
    most_cells: int,
) -> PublicLattice:
    """All nodes within bounds of levels and cells, in order.

    Columns stand as in the search of one table: those that cannot climb first, then those with few
    values, here those of the domain. Nodes come by their height (or Samarati's distances), the sum
    of their levels, and the levels column by column.
    """
    ladders = {name: column.ladder for name, column in columns.items()}
    # the order decides between nodes of the same height, so all must sort alike
    names = tuple(sorted(ladders, key=lambda c: (ladders[c].top > 0, len(ladders[c].labels[0]), c)))
    if unknown := [name for name in levels if name not in names]:
        raise SchemaError(
            [
                f"levels name {n!r}, which is not a quasi-identifier.{did_you_mean(n, names)}"
                for n in unknown
            ]
        )
    spans = [_span(name, ladders[name].top, levels.get(name)) for name in names]
    if math.prod(len(span) for span in spans) > MOST_NODES:
        raise ParameterError(
            f"the lattice has more than {MOST_NODES:,} nodes; bound the levels of some columns"
        )
    stairs = tuple(ladders[name] for name in names)
    every = list(itertools.product(*spans))
    # decided by public numbers alone, so that every party leaves out the same nodes
    nodes = [node for node in every if math.prod(_shape(stairs, node)) <= most_cells]
    if not nodes:
        fewest = min(math.prod(_shape(stairs, node)) for node in every)
        raise ParameterError(
            f"every node has more than {most_cells:,} cells, at least {fewest:,}; raise 'cells',"
            " allow higher levels, or leave out a column"
        )
    tops = [max(1, ladder.top) for ladder in stairs]

    def preferred(node: Node) -> tuple[Fraction | int, int, Node]:
        # fractions: floats could order nodes differently on two machines
        height = sum(
            (Fraction(level, top) for level, top in zip(node, tops, strict=True)), Fraction(0)
        )
        return (sum(node) if order == "minimum_absolute_distance" else height), sum(node), node

    return PublicLattice(
        names, stairs, tuple(sorted(nodes, key=preferred)), len(every) - len(nodes)
    )


def _span(name: str, top: int, levels_given: int | tuple[int, int] | None) -> range:
    if levels_given is None:
        low, high = (0, top)
    elif isinstance(levels_given, int):
        low, high = (0, levels_given)
    else:
        low, high = levels_given
    if not 0 <= low <= min(high, top):
        raise SchemaError(
            f"levels of {name!r} must be 0 ≤ lowest ≤ highest, and its hierarchy ends at {top}"
        )
    return range(low, min(high, top) + 1)


def _shape(ladders: Sequence[Ladder], node: Node) -> tuple[int, ...]:
    return tuple(len(ladder.labels[level]) for ladder, level in zip(ladders, node, strict=True))
