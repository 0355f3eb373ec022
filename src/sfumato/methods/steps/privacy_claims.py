"""What a certificate says about a step under differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.design import units_of
from sfumato.core.fields import Document
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.methods.formulas.exact_draws import Draws

REHEARSAL = "rehearsal: no ε is certified"
WHOLE = "this describes the step by itself; differential_privacy describes the whole recipe"
FROM_SYSTEM = "operating system, whole numbers only"


def facts(
    draws: Draws,
    *,
    epsilon: float,
    delta: float,
    neighbours: str,
    assumptions: Sequence[str],
    broken: str | None = None,
) -> Document:
    """ε, δ, neighbours and assumptions; where draws are seeded, or ``broken`` says why, no ε."""
    why_not = broken or (None if draws.secure else REHEARSAL)
    claim: Document = {
        "epsilon": None if why_not else epsilon,
        "delta": None if why_not else delta,
        "neighbours": neighbours,
        "certified": why_not is None,
        "randomness": FROM_SYSTEM if draws.secure else "seeded",
        "assumptions": [
            *assumptions,
            WHOLE,
            "releases of the same people add up: every run spends ε and δ again",
        ],
    }
    if why_not is None:
        return claim
    return {**claim, "not_certified_because": why_not}


def warnings(draws: Draws, step: str, broken: str | None = None) -> tuple[str, ...]:
    """What whoever runs the recipe must know when nothing is certified."""
    why_not = broken or (None if draws.secure else REHEARSAL)
    if why_not is None:
        return ()
    return (f"{step}: {why_not}",)


def require_one_row_each(dataset: Table, step: str) -> None:
    """Refuse tables in which a person has several rows: ε is about one row."""
    persons = units_of(dataset, "person")
    if persons is None:
        repeated = 0
    else:
        repeated = len(persons) - len(np.unique(persons))
    if repeated:
        raise SchemaError(
            f"{step}: {repeated:,} row(s) belong to persons who already have a row, and ε is about "
            "one row; keep one row per person first"
        )
