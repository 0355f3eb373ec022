"""A population beside the table: how many of its records match each class.

For a search, the classes of both tables are joined once at the finest level: a class that only the
population has gets no records, and rolling up adds up both counts. For a table that is already
released, every population record is matched with all classes that generalise it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.classes import ClassTable, Counts, Layout, Placement, count_classes, pack_rows
from sfumato.core.consistency import consistent, coverings_of
from sfumato.core.encoding import require_same_codes, value_counts
from sfumato.core.hierarchy import Ladder, bind
from sfumato.core.schema import Role, Schema
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.encoding import Column
    from sfumato.core.model import Needs
    from sfumato.core.table import Table


def count_needed(dataset: Table, needs: Needs, population: Table | None = None) -> ClassTable:
    """The classes a search starts from, with everything the models need to see of them."""
    weight = weight_column(dataset.schema) if needs.weights else None
    if not needs.population:
        return count_classes(dataset, counted=needs.counts, weight=weight)
    everyone = each_person(require_population(population), needs.population_counts)
    return joined(dataset, everyone, counted=needs.counts, weight=weight)


def weight_column(schema: Schema) -> str:
    """The one column with survey weights."""
    name = schema.only(Role.WEIGHT)
    if name is None:
        raise SchemaError(
            "survey weights are needed, but no column has role weight; give one that role"
        )
    return name


def require_population(population: Table | None) -> Table:
    """The population table, or an error that says how to give one."""
    if population is None:
        raise SchemaError(
            "a model compares with a population, but there is no population table; give one with"
            " population="
        )
    return population


MOST_PEOPLE = 20_000_000
"""People of a table of counts: each becomes a row of its own, so that all who ask see records."""


def each_person(population: Table, counts: str | None) -> Table:
    """A population in which every person is a row, from a table that counts people in a column.

    ``None``, and a table without that column, are rows of people already. Counts must be whole and
    not negative; of 0 there is nobody.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> census = Table(pl.DataFrame({"area": ["a", "b"], "people": [2, 1]}))
    >>> each_person(census, "people").to_polars().to_dict(as_series=False)
    {'area': ['a', 'a', 'b']}
    """
    if counts is None or counts not in population.columns:
        return population
    column = population.column(counts)
    whole = column.cast(pl.Int64, strict=False)
    # A fraction would be rounded without a word, and what is no number would be nobody.
    if whole.null_count() or (whole < 0).any() or (whole != column.cast(pl.Float64)).any():
        raise SchemaError(
            f"the population {population.source.name} counts people in {counts!r}: every cell must "
            "be a whole number of zero or more"
        )
    people = int(whole.sum())
    if people > MOST_PEOPLE:
        raise SchemaError(
            f"the population {population.source.name} counts {people:,} people, and at most "
            f"{MOST_PEOPLE:,} can be compared with; give a smaller area, or a share as fraction"
        )
    rows = np.repeat(np.arange(len(whole)), whole.to_numpy())
    return population.drop([counts]).take(rows)


def joined(
    dataset: Table, population: Table, *, counted: Sequence[Column] = (), weight: str | None = None
) -> ClassTable:
    """The classes of a table and a population together, at the finest level."""
    names = dataset.schema.quasi
    _check(population, names, dataset.schema)
    placement = _shared_placement(dataset, population, names)
    classes = count_classes(dataset, names, counted=counted, weight=weight, at=placement)
    # At the same placement equal values have equal bits, so keys of both tables can be compared.
    keys, _ = pack_rows(population, names, placement)
    ids, first = kernels.keys.group(keys)
    amounts = np.bincount(ids, minlength=len(first))
    # The class with that key, -1 where only the population has it.
    at = kernels.keys.look_up(classes.keys, keys[first])
    own = np.zeros(len(classes), dtype=np.int64)
    own[at[at >= 0]] = amounts[at >= 0]
    return _extended(classes, keys[first][at < 0], own, amounts[at < 0])


def _extended(
    classes: ClassTable,
    keys: NDArray[np.uint64],
    own: NDArray[np.int64],
    new_counts: NDArray[np.int64],
) -> ClassTable:
    """Classes with the population of each, and those that only the population has behind them."""
    order = np.lexsort(keys.T)
    empty = np.zeros(len(keys), dtype=np.int64)
    return dataclasses.replace(
        classes,
        keys=np.concatenate([classes.keys, keys[order]]),
        records=np.concatenate([classes.records, empty]),
        counts={name: _padded(counts, len(keys)) for name, counts in classes.counts.items()},
        weights=(
            None
            if classes.weights is None
            else np.concatenate([classes.weights, empty.astype(np.float64)])
        ),
        population=np.concatenate([own, new_counts[order]]),
    )


def _padded(counts: Counts, empty: int) -> Counts:
    """Counts with some classes more, in which nothing occurs."""
    return dataclasses.replace(
        # Empty classes begin where the last one ends: starts 0, 3, 5 become 0, 3, 5, 5.
        counts,
        starts=np.concatenate([counts.starts, np.full(empty, counts.starts[-1])]),
    )


def _shared_placement(dataset: Table, population: Table, names: Sequence[str]) -> Placement:
    """Ladders bound to the values of both tables; hierarchies made from frequencies see those of
    the table alone.
    """
    ladders: list[Ladder] = []
    for name in names:
        population_counts, table_counts = (
            value_counts(population, name),
            value_counts(dataset, name),
        )
        require_same_codes(
            table_counts, population_counts, name, between="the table and the population"
        )
        # Zero for what only the population has: hierarchies made from frequencies must not see it.
        counts = {**dict.fromkeys(population_counts, 0), **table_counts}
        ladders.append(bind(dataset.schema[name].hierarchy, list(counts), list(counts.values())))
    levels = (0,) * len(names)
    layout = Layout.of([len(ladder.labels[0]) for ladder in ladders])
    return Placement(tuple(ladders), levels, layout)


def matched(
    classes: ClassTable, population: Table, schema: Schema, original: Table | None = None
) -> tuple[ClassTable, int]:
    """The classes of a released table with the population records each generalises, and how many
    match none.

    ``original``, where it is at hand, lets hierarchies that are made from the values give the
    labels they gave when the release was planned.
    """
    _check(population, classes.columns, schema)
    # Without a schema people are counted by their own values, not by levels.
    fine = count_classes(dataclasses.replace(population, schema=Schema({})), classes.columns)
    originals = {name: _known_counts(classes, name, original) for name in classes.columns}
    for a, name in enumerate(classes.columns):
        require_same_codes(
            originals[name], fine.ladders[a].labels[0], name, between="the table and the population"
        )
    people, classes_of_people = consistent(
        fine, classes, coverings_of(fine, classes, schema, originals)
    )
    people_of_class = np.bincount(
        classes_of_people, weights=fine.records[people], minlength=len(classes)
    )
    sums = people_of_class.astype(np.int64)
    lost = np.ones(len(fine), dtype=np.bool_)
    lost[people] = False
    unmatched = fine.records[lost]
    return dataclasses.replace(classes, population=sums), int(unmatched.sum())


def _known_counts(
    classes: ClassTable, name: str, original: Table | None
) -> Mapping[str | None, int]:
    if original is not None and name in original.columns:
        return value_counts(original, name)
    a = classes.columns.index(name)
    return dict.fromkeys(classes.ladders[a].labels[classes.levels[a]], 1)


def _check(population: Table, names: Sequence[str], schema: Schema) -> None:
    """The population has the columns, and one row a person where persons are known."""
    population.require(names)
    person = population.schema.person or schema.person
    if person is None or person not in population.columns:
        return
    repeated = len(population) - population.column(person).n_unique()
    if repeated:
        raise SchemaError(
            f"the population {population.source.name} must have one row per person; {repeated:,} "
            f"row(s) repeat a value of {person!r}; remove the repetitions"
        )
