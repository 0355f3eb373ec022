"""δ-presence: whether somebody is in the table stays open."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.model import TOLERANCE, Evidence, Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.models.k_map import KMap
from sfumato.models.sensitive import extreme, verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema


@parameters
class DeltaPresence(Model):
    r"""For everyone of the population, the chance of being in the table lies between ``low`` and ``high``.

    .. math:: \delta_{min} \le \frac{f_E}{F_E} \le \delta_{max} \quad \text{for every class } E

    :math:`f_E` counts the records (or persons) of the table in class *E*, :math:`F_E` those of the population that the
    class generalises; the table is taken to be part of the population. A class that holds more records than the population
    has there fails whatever ``high`` is. People of the population whom no released class matches are known to be absent:
    their chance is 0, which breaks every ``low`` above 0. Suppressing a class makes its people absent too, so with
    ``low`` above 0 nothing is gained by it: one bad class, and all are.

    An empty table keeps every promise. ARX agrees where all records of the population match a class of the table.

    Reference: Nergiz, Atzori & Clifton 2007, doi:10.1145/1247480.1247554.
    """

    low: Annotated[float, Field(ge=0, le=1, description="least chance of presence that is acceptable")]
    high: Annotated[float, Field(gt=0, le=1, description="greatest chance of presence that is acceptable")]
    population: Annotated[str | None, Field(description="file with a table of the whole population")] = None

    name: ClassVar[str] = "delta_presence"
    facts: ClassVar[Facts] = Facts(against="membership")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ParameterError("low must not be greater than high")

    @property
    def scope(self) -> Literal["class", "table"]:
        """With a least chance, suppressing one class breaks the promise for its people."""
        return "table" if self.low > 0 else "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"({self.low:g}, {self.high:g})-presence"

    def needs(self, schema: Schema) -> Needs:
        """A population table."""
        if not schema.quasi:
            raise SchemaError("δ-presence needs at least one column with role quasi")
        return Needs(population=True)

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Classes whose chance is out of bounds; all of them when somebody's chance is below ``low``."""
        values = self._chances(evidence)
        failing = (values > self.high + TOLERANCE) | (values < self.low - TOLERANCE)
        if self.low > 0 and (failing.any() or evidence.absent):
            failing[:] = True
        return failing

    def judge(self, evidence: Evidence) -> Verdict:
        """The largest chance of presence (``attained``), and the classes out of bounds."""
        values = self._chances(evidence)
        failing = self.failing(evidence)
        attained = extreme(values, "largest")
        sentence = self._sentence(evidence, values) if len(values) else ""
        return verdict(
            self, evidence, failing, attained=attained, required=self.high, per_class=values, sentence=sentence
        )

    def implies(self, other: Model) -> bool:
        """Narrower bounds imply wider ones, and a chance of at most 1/k implies k-map with the same population."""
        if isinstance(other, KMap):
            known = (other.weights, other.fraction, other.population) == (False, None, self.population)
            return known and other.k <= math.ceil(1 / self.high - TOLERANCE)
        if not isinstance(other, DeltaPresence) or self.population != other.population:
            return False
        return self.low >= other.low and self.high <= other.high

    def _chances(self, evidence: Evidence) -> NDArray[np.float64]:
        everyone = evidence.classes.population
        if everyone is None:
            raise SchemaError(f"{self.promise} was judged without a population table; gather evidence with it")
        chances = np.full(len(everyone), np.inf)
        sizes = evidence.classes.sizes
        np.divide(sizes, everyone, out=chances, where=everyone > 0)
        chances[sizes > everyone] = np.inf
        return chances

    def _sentence(self, evidence: Evidence, values: NDArray[np.float64]) -> str:
        least = 0.0 if evidence.absent else float(values.min())
        beyond = int(np.isinf(values).sum())
        if beyond:
            return f"{beyond:,} classes hold more people than the population has there; it must contain the whole table"
        text = (
            f"an intruder finds somebody in the table with a chance between {least:.3g} and {float(values.max()):.3g}"
        )
        if evidence.absent and self.low > 0:
            text += f"; {evidence.absent:,} people of the population match no released class and are known to be absent"
        return text
