"""Gathering what models need, in one pass over the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.classes import ClassTable, Counts, count_classes, count_rows
from sfumato.core.consistency import Pairs, origin_of, pair_up
from sfumato.core.encoding import parts_of, value_counts
from sfumato.core.model import ClassEvidence, Model, Needs, Verdict, before_masking
from sfumato.core.population import (
    each_person,
    matched,
    require_population,
    weight_column,
)
from sfumato.core.schema import Missing, Role, Schema
from sfumato.core.step import Span
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.data import Evidence
    from sfumato.core.encoding import Column
    from sfumato.core.mechanism import Mechanism
    from sfumato.core.schema import Schema
    from sfumato.core.step import Step
    from sfumato.core.table import Table


# Counting where a missing value matches everything.
#
# Missing values as wildcards do not form classes (a missing ZIP matches 53711 and 53712, which do
# not match each other), so frequencies are counted pair of patterns by pair of patterns: ``f(x)``
# is the number of records compatible with *x*, as sdcMicro and µ-Argus count.


def wildcard_columns(schema: Schema, columns: Sequence[str]) -> tuple[str, ...]:
    """Columns whose missing values match everything."""
    return tuple(
        c for c in columns if c in schema.attributes and schema[c].missing is Missing.WILDCARD
    )


def compatible_records(classes: ClassTable, columns: Sequence[str]) -> NDArray[np.int64]:
    """Per class, the number of records compatible with it when missing values of ``columns`` match
    everything.
    """
    if classes.person is not None and columns:
        raise SchemaError(
            f"missing values as wildcards cannot be counted by person ({classes.person!r}); use "
            "missing: category, or keep one row per person"
        )
    fields = np.zeros((len(columns), classes.keys.shape[1]), dtype=np.uint64)
    for position, column in enumerate(columns):
        fields[position] = field_mask(classes, column)
    return count_compatible(classes.keys, classes.records, missing_cells(classes, columns), fields)


def count_compatible(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    missing: NDArray[np.int64],
    fields: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Per key, the number of records whose keys agree with it outside the fields that are missing
    in either.

    Bit *b* of ``missing`` says that the field ``fields[b]`` (a mask of the key's words) is missing.
    Cost grows with the number of distinct patterns of missing fields, times the keys.
    """
    patterns, members = np.unique(missing, return_inverse=True)
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(len(patterns) + 1))
    masks = np.full((len(patterns), keys.shape[1]), np.iinfo(np.uint64).max, dtype=np.uint64)
    for position, field in enumerate(fields):
        masks[(patterns >> position & 1) == 1] &= ~field
    agreeing: NDArray[np.int64] = kernels.suppression.count_agreeing(
        keys, records, order, starts, masks
    )
    return agreeing


def missing_cells(classes: ClassTable, columns: Sequence[str]) -> NDArray[np.int64]:
    """Per class, a bit for every column that is missing."""
    if len(columns) > 62:
        raise SchemaError(
            f"{len(columns)} columns have missing values as wildcards, and at most 62 "
            "can; use missing: category for some"
        )
    pattern = np.zeros(len(classes), dtype=np.int64)
    for position, column in enumerate(columns):
        a = classes.columns.index(column)
        labels = classes.ladders[a].labels[classes.levels[a]]
        if None in labels:
            is_missing = classes.codes(column) == labels.index(None)
            pattern |= is_missing.astype(np.int64) << position
    return pattern


def field_mask(classes: ClassTable, column: str) -> NDArray[np.uint64]:
    """The bits of a key that belong to a column."""
    a = classes.columns.index(column)
    mask = np.zeros(classes.keys.shape[1], dtype=np.uint64)
    width, shift = int(classes.layout.widths[a]), int(classes.layout.shifts[a])
    mask[int(classes.layout.words[a])] = np.uint64(((1 << width) - 1) << shift)
    return mask


def needed(models: Sequence[Model], schema: Schema) -> Needs:
    """What all these models need together; all schema problems are raised at once."""
    problems: list[str] = []
    all_needs: list[Needs] = []
    for model in models:
        try:
            all_needs.append(model.needs(schema))
        except SchemaError as error:
            problems += error.problems
    if problems:
        raise SchemaError(problems)
    return Needs(
        counts=tuple(dict.fromkeys(column for needs in all_needs for column in needs.counts)),
        unmasked=tuple(dict.fromkeys(column for needs in all_needs for column in needs.unmasked)),
        reference=any(needs.reference for needs in all_needs),
        population=any(needs.population for needs in all_needs),
        pairs=any(needs.pairs for needs in all_needs),
        posteriors=any(needs.posteriors for needs in all_needs),
        weights=any(needs.weights for needs in all_needs),
        population_counts=population_counts(models),
    )


def columns_seen(models: Sequence[Model], schema: Schema, steps: Sequence[Step] = ()) -> list[str]:
    """The columns that promises and plans look at."""
    counts = needed(models, schema).counts
    columns = [
        *schema.quasi,
        *(part for column in counts for part in parts_of(column)),
        *schema.columns(Role.WEIGHT),
    ]
    columns += schema.units
    columns += [name for step in steps if step.span is Span.CLASSES for name in step.reads(schema)]
    return list(dict.fromkeys(columns))


def population_path(models: Sequence[Model]) -> str | None:
    """The file with the population that these models name, or None; they must not name different
    ones.
    """
    paths = dict.fromkeys(model.population for model in models if model.population is not None)
    if len(paths) > 1:
        raise ParameterError(
            f"models name {len(paths)} different population tables, and a run compares "
            "with one only; keep one"
        )
    return next(iter(paths), None)


def population_counts(models: Sequence[Model]) -> str | None:
    """The column in which the population of these models counts people, or None; they must not name
    different ones.
    """
    columns = dict.fromkeys(
        model.population_counts for model in models if model.population_counts is not None
    )
    if len(columns) > 1:
        raise ParameterError(
            f"models name {len(columns)} different columns that count the population; keep one"
        )
    return next(iter(columns), None)


def gather(
    dataset: Table,
    models: Sequence[Model],
    *,
    original: Table | None = None,
    population: Table | None = None,
    posteriors: Sequence[Any] = (),
    weight: str | None = None,
    mechanisms: Mapping[str, Mechanism] | None = None,
) -> ClassEvidence:
    """Count what the models need of a table: one group-by, however many models.

    ``original`` is the table whose distribution is the reference, and whose rows ``dataset.origin``
    points to; without it the table itself is the reference. ``population`` is a table of everyone,
    at any level of the hierarchies; ``posteriors`` are the matrices of attacks (released rows ×
    original rows). Both are used only by models that ask. ``weight`` names a column of survey
    weights to be summed whether a model asks or not. ``mechanisms`` are those that a run applied.
    """
    needs = needed(models, dataset.schema)
    # Where models ask, the values that columns had before masking stand beside those they have now.
    counting, unmasked = dataset, {}
    if original is not None and needs.unmasked:
        unmasked = {before_masking(name): name for name in needs.unmasked}
        rows = origin_of(dataset, original)
        before = {}
        for new, old in unmasked.items():
            before[new] = original.column(old).gather(rows).alias(new)
        counting = dataset.with_columns(before)
    if needs.weights:
        weight = weight_column(dataset.schema)
    class_of_row = count_rows(counting)[1] if needs.pairs else None
    classes = count_classes(counting, counted=(*needs.counts, *unmasked), weight=weight)
    sources: dict[Column, Column] = {name: name for name in needs.counts}
    sources.update(unmasked)
    # Counts and the reference distribution stand under the same labels.
    reference: dict[Column, NDArray[np.int64]] = {}
    for name, source in sources.items():
        if original is None:
            reference[name] = classes.counts[name].total()
        else:
            classes, reference[name] = _with_reference(
                classes, name, value_counts(original, source)
            )
    absent = 0
    if needs.population:
        everyone = each_person(require_population(population), needs.population_counts)
        classes, absent = matched(classes, everyone, dataset.schema, original)
    wildcards = wildcard_frequencies(classes, dataset.schema)
    if class_of_row is None:
        pairs = None
    else:
        pairs = _pairs(dataset, original, classes, class_of_row)
    return ClassEvidence(
        classes,
        dataset.schema,
        reference,
        wildcards,
        absent=absent,
        pairs=pairs,
        posteriors=tuple(posteriors),
        drawn=dataset.drawn,
        mechanisms=mechanisms or {},
    )


def _with_reference(
    classes: ClassTable, name: Column, base: Mapping[str | None, int]
) -> tuple[ClassTable, NDArray[np.int64]]:
    """The counts of a column under the labels of the original, and the original's counts under
    them.
    """
    aligned = _aligned(classes.counts[name], tuple(base))
    amounts = [base.get(label, 0) for label in aligned.labels]
    reference = np.array(amounts, dtype=np.int64)
    return dataclasses.replace(classes, counts={**classes.counts, name: aligned}), reference


def _pairs(
    dataset: Table, original: Table | None, classes: ClassTable, rows: NDArray[np.int64]
) -> Pairs:
    if original is None:
        raise SchemaError(
            "a model compares released records with their originals; give the original table with"
            " original="
        )
    return pair_up(original, dataset, classes, rows)


def wildcard_frequencies(classes: ClassTable, schema: Schema) -> NDArray[np.int64] | None:
    """Compatible records per class where the schema has wildcards, else None."""
    if not any(attribute.missing is Missing.WILDCARD for attribute in schema.attributes.values()):
        return None
    columns = wildcard_columns(schema, classes.columns)
    if not columns:
        return None
    return compatible_records(classes, columns)


def judge_all(evidence: ClassEvidence | Evidence, models: Sequence[Model]) -> tuple[Verdict, ...]:
    """Every model's verdict on the same evidence; of rows that are nobody's it is one of the file,
    and says so.

    A promise about a mechanism holds only where the evidence shows that exactly this one was
    applied.
    """
    verdicts = []
    for model in models:
        verdict = model.judge(evidence)
        if model.randomised and not model.fits(evidence.mechanisms):
            verdict = verdict.not_applied(model.randomised)
        verdicts.append(verdict.of_the_file if evidence.drawn else verdict)
    return tuple(verdicts)


def _aligned(counts: Counts, labels: tuple[str | None, ...]) -> Counts:
    """The same counts under another order of labels, extended by those only the counts know."""
    labelled = set(labels)
    union = labels + tuple(name for name in counts.labels if name not in labelled)
    position = {name: i for i, name in enumerate(union)}
    new_codes = [position[name] for name in counts.labels]
    remap = np.array(new_codes, dtype=np.int64)
    return Counts(
        counts.starts, remap[counts.codes] if remap.size else counts.codes, counts.counts, union
    )
