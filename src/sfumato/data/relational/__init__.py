"""Several tables that still join: every person is a row, and rows below it.

A new promise, means, attack or metric is entered here and nowhere else. Those of ordinary tables
apply to one of the tables when a recipe names it with ``table:`` (:mod:`sfumato.core.placed`).
"""

from __future__ import annotations

import importlib
from typing import Any

from sfumato.core.parameters import Members, called_in

FAMILIES = {
    "models": Members(
        __name__,
        {
            "persons_k_anonymity": "models:PersonsKAnonymity",
            "persons_l_diversity": "models:PersonsLDiversity",
            "persons_t_closeness": "models:PersonsTCloseness",
        },
    ),
    "steps": Members(
        __name__,
        {
            "cap_rows": "steps:CapRows",
            "coarsen_counts": "steps:CoarsenCounts",
            "drop_people": "steps:DropPeople",
            "even_counts": "even_counts:EvenCounts",
            "shift_dates": "dates:ShiftPersonDates",
            "suppress_persons": "persons:SuppressPersons",
            "trim_rows": "trim_rows:TrimRows",
            "key_pseudonyms": "steps:KeyPseudonyms",
        },
    ),
    "risk": Members(
        __name__,
        {
            "join_uniqueness": "attacks:JoinUniqueness",
            "row_counts": "attacks:RowCounts",
            "join_inflation": "attacks:JoinInflation",
            "homogeneity_of_join": "attacks:HomogeneityOfJoin",
            "join_linkage": "linkage:JoinLinkage",
        },
    ),
    "utility": Members(
        __name__,
        {
            "rows_kept": "utility:RowsKept",
            "rows_per_person": "utility:RowsPerPerson",
            "cells_unchanged": "utility:CellsUnchanged",
        },
    ),
}


def noun() -> Any:
    """What reads people of this shape from tables."""
    return importlib.import_module(f"{__name__}.tables").RelatedTables


def __getattr__(name: str) -> Any:
    return called_in(FAMILIES, __name__, name)
