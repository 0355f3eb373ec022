"""Only the rows of people who allow this use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.step import Masked, Step
from sfumato.errors import ParameterError, ReleaseRefused

if TYPE_CHECKING:
    from sfumato.core.step import Goal
    from sfumato.core.table import Table


@parameters
class Authorised(Step):
    """Keep the rows whose policy allows the use; everybody else is left out before anything is done
    with their data.

    ``by`` is the column that names each row's policy, ``allowed`` the policies that allow the use.
    A row without a policy, or with one that is not listed, is left out. The column must not
    be released: give it the role drop, and it is dropped at the end.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.step import Goal
    >>> table = Table(pl.DataFrame({"consent": ["v1", "none", "v2", None], "age": [1, 2, 3, 4]}))
    >>> step = Authorised("consent", ["v1", "v2"])
    >>> step.apply(table, step.plan(table, Goal())).column("age").to_list()
    [1, 3]
    """

    by: Annotated[str, COLUMNS, Field(description="column that names each row's policy")]
    allowed: Annotated[
        Sequence[str], AfterValidator(tuple), Field(description="policies that allow the use")
    ]

    name: ClassVar[str] = "authorised"
    secret: ClassVar[tuple[str, ...]] = ("allowed",)

    @property
    def coarsens(self) -> bool:
        """Cells stand under nodes of their own hierarchy."""
        return True

    @property
    def claims(self) -> tuple[str, ...]:
        """Direct identifiers that must still be there when this step runs."""
        return (self.by,)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the rows that may be used."""
        dataset.require([self.by])
        if not self.allowed:
            raise ParameterError(
                "authorised: allowed is empty, so nobody's data may be used; name the policies"
            )
        encoded = dataset.encoded(self.by)
        allowed = set(self.allowed)
        fits = np.array([label in allowed for label in encoded.labels], dtype=bool)
        if len(dataset):
            rows = np.flatnonzero(fits[encoded.codes])
        else:
            rows = np.zeros(0, dtype=np.int64)
        if not len(rows):
            raise ReleaseRefused(
                f"authorised: none of {len(dataset):,} rows belongs to a person who allows this use"
            )
        left_out = len(dataset) - len(rows)
        return Masked(actions={}, rows=rows, public={"records_not_authorised": left_out})

    def apply(self, dataset: Table, plan: Any) -> Table:
        """Leave the others out."""
        table: Table = plan.applied(dataset)
        return table
