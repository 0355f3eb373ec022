"""Bundled tables: the worked examples of the literature, and generated ones of any size.

Every function returns a :class:`~sfumato.core.table.Table` with roles, kinds and hierarchies, and
its docstring says who published the table and which numbers it is known for. :func:`names` lists
them,
:func:`load` gets one by name. :func:`baskets` and :func:`purchases` return people who are sets of
items, :func:`clinic` people in three tables. Nothing heavy is imported before a table is asked for.

>>> from sfumato import examples
>>> len(examples.faggioli())
9
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato.core.words import first_sentence
from sfumato.data.examples.closeness_tables import (
    ancona,
    conditions,
    disclosure_counterexample,
    disease_tree,
    diseases,
    diversity_counterexamples,
    faggioli_blocks,
    heart,
    illness_tree,
    illnesses,
    incomes,
    john,
    john_releases,
    ring,
    salaries,
    students,
)
from sfumato.data.examples.graphs import karate, social_network
from sfumato.data.examples.hospital_tables import hospital, visits
from sfumato.data.examples.household_survey import survey
from sfumato.data.examples.joined import clinic, clinic_schemas, clinic_tables
from sfumato.data.examples.journeys import mobility, small_paths
from sfumato.data.examples.large_tables import large
from sfumato.data.examples.linkage import linkage_scene
from sfumato.data.examples.literature import (
    faggioli,
    patients,
    regions,
    sandhu,
    special_uniques,
    torra,
    weighted_keys,
)
from sfumato.data.examples.set_valued import baskets, purchases
from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from sfumato.core.table import Table

__all__ = [
    "ancona",
    "baskets",
    "clinic",
    "clinic_schemas",
    "clinic_tables",
    "conditions",
    "disclosure_counterexample",
    "disease_tree",
    "diseases",
    "diversity_counterexamples",
    "faggioli",
    "faggioli_blocks",
    "heart",
    "hospital",
    "illness_tree",
    "illnesses",
    "incomes",
    "john",
    "john_releases",
    "karate",
    "large",
    "linkage_scene",
    "load",
    "mobility",
    "names",
    "patients",
    "purchases",
    "regions",
    "ring",
    "salaries",
    "sandhu",
    "small_paths",
    "social_network",
    "special_uniques",
    "students",
    "survey",
    "torra",
    "visits",
    "weighted_keys",
]

_TABLES: dict[str, Callable[..., Table]] = {
    table.__name__: table
    for table in (
        ancona,
        conditions,
        disclosure_counterexample,
        diseases,
        diversity_counterexamples,
        faggioli,
        faggioli_blocks,
        heart,
        hospital,
        illnesses,
        incomes,
        john,
        large,
        patients,
        regions,
        ring,
        salaries,
        sandhu,
        special_uniques,
        students,
        survey,
        torra,
        visits,
        weighted_keys,
    )
}


def names() -> tuple[str, ...]:
    """Names of the bundled tables, in alphabetical order.

    >>> "hospital" in names()
    True
    """
    return tuple(_TABLES)


def meaning(name: str) -> str:
    """What a bundled table is, in one line.

    >>> meaning("faggioli").endswith(".")
    True
    """
    return first_sentence(_TABLES[name].__doc__)


def load(name: str, **options: Any) -> Table:
    """A bundled table by name; options go to the function of that name.

    >>> load("patients", release="single").frame.shape
    (6, 4)
    >>> load("hospitals")
    Traceback (most recent call last):
    ...
    sfumato.errors.ParameterError: there is no bundled table 'hospitals'. Did you mean 'hospital'?
    """
    if name not in _TABLES:
        raise ParameterError(f"there is no bundled table {name!r}.{did_you_mean(name, _TABLES)}")
    # Asked before the call, so that a misspelt option gets an answer with a suggestion.
    parameters = inspect.signature(_TABLES[name]).parameters
    wrong = [option for option in options if option not in parameters]
    if wrong:
        raise ParameterError(
            f"the bundled table {name!r} has no option"
            f" {wrong[0]!r}.{did_you_mean(wrong[0], parameters)}"
        )
    return _TABLES[name](**options)
