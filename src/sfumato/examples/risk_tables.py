"""Worked tables about record-level risk: special uniques and survey weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.schema import Attribute, Kind, Role
from sfumato.examples.tables import Example, as_dataset, from_rows, quasi

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset

TEN = (
    ("20s", "male", ">50k", "high school"),
    ("20s", "male", ">50k", "high school"),
    ("20s", "male", "<=50k", "high school"),
    ("20s", "male", "<=50k", "middle school"),
    ("20s", "female", "<=50k", "university"),
    ("20s", "male", "<=50k", "high school"),
    ("20s", "male", "<=50k", "middle school"),
    ("60s", "male", "<=50k", "university"),
    ("20s", "male", "<=50k", "university"),
    ("20s", "male", "<=50k", "middle school"),
)


def special_uniques() -> Dataset:
    """Ten people of whom three are unique, each for another reason.

    Minimal sample uniques: record 5 by gender alone (score 3! = 6), record 8 by age alone (6), record 9 by age,
    gender and education together (1); all others score 0. Four records stand in pairs, so with a sampling
    share of 0.1 the share of uniques that are unique in the population is 3·0.1/(3·0.1 + 4·0.9) = 1/13.

    Reference: the score is of M. J. Elliot, A. M. Manning and R. W. Ford, *A computational algorithm for handling
    the special uniques problem*, 2002; the table is ours, in the form of the example of the sdcMicro practice guide.
    """
    return as_dataset("special_uniques", _special_uniques())


def _special_uniques() -> Example:
    from sfumato.hierarchies import suppress

    return from_rows({name: quasi(suppress()) for name in ("age", "gender", "income", "education")}, TEN)


WEIGHTED = (
    ("north", "employed", "city", 18.0),
    ("north", "employed", "village", 45.5),
    ("north", "employed", "village", 39.0),
    ("south", "retired", "village", 17.0),
    ("west", "retired", "town", 541.0),
    ("west", "retired", "village", 8.0),
    ("east", "employed", "village", 5.0),
    ("north", "employed", "city", 92.0),
)


def weighted_keys() -> Dataset:
    """Eight respondents with survey weights: the same class size, very different risk.

    Class sizes per record f = 2, 2, 2, 1, 1, 1, 1, 2 and summed weights F = 110, 84.5, 84.5, 17, 541, 8, 5, 110.
    The individual risk E[1/F | f] is 0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359 and
    0.017144, in all 0.966526 expected re-identifications.

    Reference: R. Benedetti and L. Franconi, *Statistical and technological solutions for controlled data
    dissemination*, 1998. Weights and class structure are those of a small table much used in the literature on
    individual risk; the keys are ours.
    """
    return as_dataset("weighted_keys", _weighted_keys())


def _weighted_keys() -> Example:
    from sfumato.hierarchies import suppress

    keys = {name: quasi(suppress()) for name in ("region", "work", "place")}
    return from_rows(keys | {"weight": Attribute((Role.WEIGHT,), kind=Kind.NUMERIC)}, WEIGHTED)
