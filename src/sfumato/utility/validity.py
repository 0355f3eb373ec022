"""Validity: how many cells are what their column may hold."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.core.ranges import number
from sfumato.errors import ParameterError, SchemaError
from sfumato.utility.cells import cells_of
from sfumato.utility.columns import AllColumns, data_of, require_sense
from sfumato.utility.numeric import numbers, plainly_numeric
from sfumato.utility.quality import share_of, why_not

if TYPE_CHECKING:
    from sfumato.core.pair import Pair


@parameters
class Validity:
    """The share of cells that are what their column may hold.

    Without ``rules`` a cell is valid when it stands for something: an original value, a node of the hierarchy, a range or set of
    them. ``rules`` say more: a regular expression the label must match as a whole, or two numbers (None: no limit) a number must
    lie between; a range of numbers must lie between them with both ends.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> pair = Pair.of(examples.patients(), examples.patients(release="single"))
    >>> Validity().measure(pair).value, Validity(["zip"], rules={"zip": "[0-9]{5}"}).measure(pair).per_column
    (1.0, {'zip': 0.3333333333333333})
    """

    columns: AllColumns = None
    rules: Annotated[
        dict[str, str | tuple[float | None, float | None]], Field(description="column: pattern, or least and greatest")
    ] = Field(default_factory=dict)

    name: ClassVar[str] = "validity"
    secret: ClassVar[tuple[str, ...]] = ("rules",)
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def __post_init__(self) -> None:
        for column, rule in self.rules.items():
            try:
                re.compile(rule if isinstance(rule, str) else "")
            except re.error:
                raise ParameterError(f"Validity: the rule of {column!r} is no regular expression") from None

    def applies(self, pair: Pair) -> str | None:
        """None where there is anything to look at."""
        names = data_of(pair, self.columns)
        unknown = [name for name in self.rules if name not in names]
        if unknown:
            raise SchemaError(f"validity: there is a rule for column {unknown[0]!r}, which is not looked at")
        return why_not(pair, names)

    def measure(self, pair: Pair) -> Measure:
        """The share of valid cells."""
        require_sense(self, pair)
        columns = {name: share_of(pair, self._valid(pair, name)) for name in data_of(pair, self.columns)}
        value = sum(columns.values()) / len(columns)
        return Measure(self.name, value, self.better, "share of cells that are valid", per_column=columns)

    def _valid(self, pair: Pair, name: str) -> float:
        import numpy as np

        rule = self.rules.get(name)
        if plainly_numeric(pair, name) and not isinstance(rule, str):
            low, high = _limits(rule or (None, None))
            found = numbers(pair, name).after
            return float(((found >= low) & (found <= high)).sum())
        cells = cells_of(pair, name)
        if cells is None:
            return 0.0
        reading = cells.reading
        blank = np.array([label is None or label == "*" for label in reading.labels], dtype=bool)
        if isinstance(rule, str):
            good = np.array([label is not None and re.fullmatch(rule, label) is not None for label in reading.labels])
        elif rule is not None:
            low, high = _limits(rule)
            alone = [np.nan if label is None else number(label) for label in reading.labels]
            told = np.array([np.nan if place is None else place for place in alone])
            least = np.where(np.isnan(reading.low), told, reading.low)
            most = np.where(np.isnan(reading.high), told, reading.high)
            good = (least >= low) & (most <= high)
        else:
            good = ~np.isnan(reading.low) if reading.scale != "category" else np.diff(reading.starts) > 0
            good = good | np.isin(np.arange(len(reading.labels)), cells.label[cells.level >= 0])
        counts = np.bincount(reading.released, minlength=len(reading.labels))
        return float(counts[good.astype(bool) & ~blank].sum())


def _limits(rule: tuple[float | None, float | None]) -> tuple[float, float]:
    low, high = rule
    return -math.inf if low is None else low, math.inf if high is None else high
