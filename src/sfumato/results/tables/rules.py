"""Which cells of a table must not be revealed, and how far they must stay unknown."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from pydantic import Field

from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import Members, parameters
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask
    from sfumato.results.tables.cells import TableCells

SMALL = 1e-12
BEYOND = 3.0
"""What an intruder takes for the most that a suppressed grand total can be, as a multiple of the
true one.
"""


@runtime_checkable
class SensitivityRule(Protocol):
    """What makes a cell sensitive. ``secret`` names the parameters that would help an intruder, and
    are never published.
    """

    name: ClassVar[str]
    secret: ClassVar[tuple[str, ...]] = ()

    @property
    def depth(self) -> int:
        """How many of the largest contributions it looks at."""
        return 1

    def unsafe(self, cells: TableCells) -> Mask:
        """The cells that must not be revealed."""
        ...

    def need(self, cells: TableCells) -> Floats:
        """How far up (and down) each cell must stay unknown if it is unsafe."""
        ...

    def said(self) -> Document:
        """The rule with all its parameters, those of defaults too; what is switched off is left
        out.
        """
        fields = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        }
        return {
            "rule": self.name,
            **{name: value for name, value in fields.items() if value is not False},
        }

    def told(self) -> Document:
        """The rule as a certificate says it, without what is secret."""
        return {name: value for name, value in self.said().items() if name not in self.secret}


def parameters_of(rule: Fields) -> str:
    """The parameters of a rule that was said or told, for readers.

    >>> parameters_of(Dominance(1, 70).said()), parameters_of(Dominance(1, 70).told())
    ('n = 1, k = 70', '')
    """
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in rule.items()
        if name != "rule"
    )


def _share_of_largest(cells: TableCells, percent: float) -> Floats:
    """A percentage of the largest contribution; where that is nothing, of a usual one."""
    # stands in where there is no contribution to take a share of: the largest total by the largest
    # number of respondents
    usual = float(cells.size.max(initial=0.0)) / max(1, int(cells.n.max(initial=1)))
    first = cells.top[:, 0]
    return percent / 100 * np.where(first > 0, first, usual)


def _nothing(cells: TableCells) -> Mask:
    """Cells with respondents who all contribute nothing: the sum tells it of everybody."""
    is_nothing: Mask = (cells.n > 0) & (cells.size <= SMALL)
    return is_nothing


@parameters
class Threshold(SensitivityRule):
    r"""Too few respondents: unsafe when :math:`0 < n < t`, n persons and never rows or weights.

    With ``zeros`` empty cells are unsafe too. A count stays unknown up to *t*, so that nobody can
    tell that it is a small one; a sum by ``percent`` of the largest contribution, which is a
    convention.

    Reference: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239,
    chapter 4.

    >>> Threshold(5).told()
    {'rule': 'threshold', 't': 5}
    """

    name: ClassVar[str] = "threshold"
    secret: ClassVar[tuple[str, ...]] = ("percent",)
    t: int = Field(default=10, ge=1)
    zeros: bool = False
    percent: float = Field(default=10.0, gt=0)

    def unsafe(self, cells: TableCells) -> Mask:
        """Cells of fewer than t respondents."""
        is_unsafe: Mask = (cells.n < self.t) & ((cells.n > 0) | self.zeros)
        return is_unsafe

    def need(self, cells: TableCells) -> Floats:
        """Up to t of a count, a share of the largest contribution of a sum."""
        if cells.counted:
            return np.maximum(self.t - cells.value, 1.0)
        return _share_of_largest(cells, self.percent)


@parameters
class Dominance(SensitivityRule):
    r"""The (n, k) rule: unsafe when the n largest contributions are more than k % of the cell.

    .. math:: x_1 + \dots + x_n > \tfrac{k}{100} T,\qquad \mathrm{UPL}
        = \tfrac{100}{k} \sum_{i \le n} x_i - T

    A cell whose respondents all contribute nothing is unsafe. Contributions count by their absolute
    value.

    Reference: Cox 1981, *Linear sensitivity measures in statistical disclosure control*,
    doi:10.1016/0378-3758(81)90025-6.
    """

    name: ClassVar[str] = "dominance"
    secret: ClassVar[tuple[str, ...]] = ("n", "k")
    n: int = Field(default=2, ge=1)
    k: float = Field(default=90.0, gt=0, le=100)

    @property
    def depth(self) -> int:
        """The n largest."""
        return self.n

    def unsafe(self, cells: TableCells) -> Mask:
        """Cells that few respondents dominate."""
        # a share that equals k up to rounding errors is not above it
        return _nothing(cells) | (cells.largest(self.n) > self.k / 100 * cells.size * (1 + SMALL))

    def need(self, cells: TableCells) -> Floats:
        """What would have to be added for the cell to be safe."""
        added = 100 / self.k * cells.largest(self.n) - cells.size
        return np.where(_nothing(cells), _share_of_largest(cells, 10.0), np.maximum(added, 0.0))


@parameters
class PQ(SensitivityRule):
    r"""The pq rule: unsafe when somebody who knows all contributions within q % can estimate the
    largest within p %.

    .. math:: \tfrac{q}{100}(T - x_1 - R) < \tfrac{p}{100} x_1,\qquad \mathrm{UPL}
        = \tfrac{p}{q} x_1 - (T - x_1 - R)

    R are the contributions of the ``colluders`` next in size, who put together what they know; one
    of them: :math:`R = x_2`.

    Reference: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239,
    section 4.2.
    """

    name: ClassVar[str] = "pq"
    secret: ClassVar[tuple[str, ...]] = ("p", "q", "colluders")
    p: float = Field(default=10.0, gt=0)
    q: float = Field(default=50.0, gt=0, le=100)
    colluders: int = Field(default=1, ge=1)

    @property
    def depth(self) -> int:
        """The largest and those who collude."""
        return self.colluders + 1

    def _missing(self, cells: TableCells) -> Floats:
        remaining = np.maximum(cells.size - cells.largest(self.depth), 0.0)
        return self.p / self.q * cells.top[:, 0] - remaining

    def unsafe(self, cells: TableCells) -> Mask:
        """Cells whose largest contribution is not hidden by the rest."""
        is_unsafe: Mask = _nothing(cells) | (
            self._missing(cells) > SMALL * np.maximum(1.0, cells.size)
        )
        return is_unsafe

    def need(self, cells: TableCells) -> Floats:
        """What the rest lacks."""
        return np.where(
            _nothing(cells), _share_of_largest(cells, self.p), np.maximum(self._missing(cells), 0.0)
        )


@parameters
class PPercent(SensitivityRule):
    r"""The p % rule: unsafe when the second largest respondent can estimate the largest within p %.

    .. math:: T - x_1 - \sum_{i=2}^{c+1} x_i < \tfrac{p}{100} x_1

    It is the pq rule with q = 100. ``colluders`` is c, how many put together what they contributed.

    Reference: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239,
    section 4.2.
    """

    name: ClassVar[str] = "p_percent"
    secret: ClassVar[tuple[str, ...]] = ("p", "colluders")
    p: float = Field(default=10.0, gt=0)
    colluders: int = Field(default=1, ge=1)

    @property
    def _as_pq(self) -> PQ:
        return PQ(self.p, 100.0, self.colluders)

    @property
    def depth(self) -> int:
        """The largest and those who collude."""
        return self.colluders + 1

    def unsafe(self, cells: TableCells) -> Mask:
        """Cells whose largest contribution is not hidden by the rest."""
        return self._as_pq.unsafe(cells)

    def need(self, cells: TableCells) -> Floats:
        """What the rest lacks."""
        return self._as_pq.need(cells)


@parameters
class AllEqual(SensitivityRule):
    """Everybody contributes the same: whoever knows how many they are knows what each contributed.
    Counts always do, and are left alone.
    """

    name: ClassVar[str] = "all_equal"
    percent: float = Field(default=10.0, gt=0)
    secret: ClassVar[tuple[str, ...]] = ("percent",)

    def unsafe(self, cells: TableCells) -> Mask:
        """Cells of equal contributions."""
        alike = (cells.n > 1) & (
            cells.top[:, 0] - cells.least <= SMALL * np.maximum(1.0, cells.top[:, 0])
        )
        if not cells.counted:
            return alike
        return np.zeros(len(cells.n), dtype=bool)

    def need(self, cells: TableCells) -> Floats:
        """A share of the largest contribution."""
        return _share_of_largest(cells, self.percent)


@parameters
class GroupDisclosure(SensitivityRule):
    r"""A group whose members are all, or nearly all, in one category of a column: who is in the
    group has it.

    Unsafe are cells with :math:`n_{rc} = n_r`; with ``insider`` also :math:`n_r - n_{rc} \le 1`,
    since the one outside learns the rest; with ``share`` q also
    :math:`n_{rc} / n_r > q`. The group r is a combination of the other columns, margins included,
    but not all persons together.

    Reference: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239,
    chapter 5.
    """

    name: ClassVar[str] = "group_disclosure"
    column: str
    insider: bool = True
    share: float | None = Field(default=None, gt=0, lt=1)

    def unsafe(self, cells: TableCells) -> Mask:
        """Cells that tell a category of a whole group."""
        names = [dimension.column for dimension in cells.dimensions]
        if self.column not in names:
            raise ParameterError(
                "group_disclosure: the table has no column"
                f" {self.column!r}.{did_you_mean(self.column, names)}"
            )
        axis = names.index(self.column)
        # the column itself last: every line along it is one group, whose first node is the total
        counts = np.moveaxis(cells.n.reshape(cells.shape), axis, -1)
        group = counts[..., :1]
        is_exposed = (counts == group) & (counts > 0)
        if self.insider:
            is_exposed |= (group - counts <= 1) & (counts > 0)
        if self.share is not None:
            # no need for counts > 0 here: 0 is never above a share
            is_exposed |= counts > self.share * group
        # the total of the column is no category: it always holds the whole group
        is_exposed[..., cells.dimensions[axis].same == cells.dimensions[axis].root] = False
        unsafe: Mask = np.moveaxis(is_exposed, -1, axis).reshape(-1).copy()
        # that all persons together have a category is what the table is there to tell
        unsafe[_everybody(cells, axis)] = False
        return unsafe

    def need(self, cells: TableCells) -> Floats:
        """One person of a count, a tenth of the largest contribution of a sum."""
        if cells.counted:
            return np.ones(len(cells.n))
        return _share_of_largest(cells, 10.0)


def _everybody(cells: TableCells, axis: int) -> Codes:
    """The cells of one column over all persons together."""
    if len(cells.shape) == 1:
        return np.zeros(0, dtype=np.int64)
    # node 0 of every other column is its total
    at: list[Any] = [0] * len(cells.shape)
    at[axis] = slice(None)
    numbers: Codes = np.arange(len(cells.n)).reshape(cells.shape)[tuple(at)]
    return np.atleast_1d(numbers)


ALL = Members(
    __name__.rpartition(".")[0],
    {
        "threshold": Threshold,
        "dominance": Dominance,
        "p_percent": PPercent,
        "pq": PQ,
        "all_equal": AllEqual,
        "group_disclosure": GroupDisclosure,
    },
)
"""Rules by the name they have in a lock. A new one is added here and nowhere else."""


def rule_of(rule_fields: Document) -> SensitivityRule:
    """A rule from its name and parameters, as a lock holds it."""
    rule_parameters = dict(rule_fields)
    name = rule_parameters.pop("rule")
    if name not in ALL:
        raise ParameterError(f"there is no rule {name!r}.{did_you_mean(name, list(ALL))}")
    rule: SensitivityRule = ALL[name](**rule_parameters)
    return rule
