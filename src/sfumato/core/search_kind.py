"""The taxonomy of recoding algorithms: how each looks for a release."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class SearchKind:
    """What kind of search an algorithm is, as surveys of k-anonymity sort them.

    ``result``: a ``complete`` search is never beaten on what it looks for, a ``greedy`` one may be.
    ``direction``: from the finest table upwards, from the coarsest downwards, or both. ``scope``: a
    ``global`` recoding replaces a value alike in all records, a ``local`` one need not. ``basis``:
    values climb a ``hierarchy`` that the user gives, or a ``partition`` of their order is found.
    """

    result: Literal["complete", "greedy"]
    direction: Literal["top-down", "bottom-up", "both ways"]
    scope: Literal["global", "local"]
    basis: Literal["hierarchy", "partition", "hierarchy or partition"]

    @property
    def words(self) -> str:
        """All four in one line.

        >>> SearchKind("greedy", "top-down", "local", "partition").words
        'greedy, top-down, local, partition-based'
        """
        return f"{self.result}, {self.direction}, {self.scope}, {self.basis}-based"
