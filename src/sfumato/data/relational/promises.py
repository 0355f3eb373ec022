"""What promises about several tables have in common: for whom they are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from sfumato.core.model import Model
from sfumato.core.shape import Shape
from sfumato.data.relational.tables import RelatedTables
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class PersonsPromise(Model, Protocol):
    """A promise that can say for which persons it is broken, so that these can be left out."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})

    def broken(self, people: RelatedTables) -> NDArray[np.bool_]:
        """Per person whether it is broken for them."""
        ...

    @property
    def crowd(self) -> int | None:
        """How many persons must at least share every combination of the people's own
        quasi-identifiers; None: it asks for nothing so simple.

        A step that is placed in the people's table aims at it (:mod:`sfumato.core.placed`).
        """
        return None


def require_tables(people: object, method: str) -> RelatedTables:
    """The tables; people of any other shape are refused."""
    if not isinstance(people, RelatedTables):
        raise ParameterError(f"{method} is about several tables")
    return people
