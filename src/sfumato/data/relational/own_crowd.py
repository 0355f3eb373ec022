"""What promises about persons ask of the people's table: a goal for steps that are placed there."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sfumato.core.model import Facts, Model, Needs, Verdict
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import ClassEvidence
    from sfumato.core.schema import Schema


@dataclasses.dataclass(frozen=True)
class OwnCrowd(Model):
    """What a promise about persons asks of the people's table by itself: k persons to every
    combination.

    A step aims at it; nothing is judged by it.
    """

    k: int
    name: ClassVar[str] = "own_crowd"
    facts: ClassVar[Facts] = Facts(against="identity")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k} persons for every combination"

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes."""
        # Without columns to recode, no class could be made larger.
        if not schema.quasi:
            raise SchemaError(
                "the people's table has no column with role quasi, so there is nothing to "
                "generalise; give a column that role"
            )
        return Needs()

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Classes smaller than k."""
        return evidence.frequencies < self.k

    def judge(self, evidence: ClassEvidence) -> Verdict:
        """The smallest class."""
        sizes = evidence.frequencies
        failing = np.flatnonzero(sizes < self.k)
        # Without classes nothing is too small.
        smallest = int(sizes.min(initial=self.k))
        sentence = f"the smallest class holds {smallest:,} persons"
        records = evidence.classes.sizes[failing]
        return Verdict(
            self.name,
            self.promise,
            not len(failing),
            smallest,
            self.k,
            sentence,
            sizes,
            failing,
            records,
            int(records.sum()),
        )

    def implies(self, model: Model) -> bool:
        """Whether another one of its kind asks for no more."""
        return model.crowd is not None and model.crowd <= self.k

    @property
    def crowd(self) -> int | None:
        """The k."""
        return self.k

    @property
    def enough_k(self) -> int | None:
        """The k: whatever makes classes of so many persons keeps it."""
        return self.k
