"""Gathering what models need, in one pass over the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.classes import ClassTable, Counts, count_classes
from sfumato.core.model import Evidence, Model, Verdict
from sfumato.core.wildcard import compatible_records, wildcard_columns
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema


def counted_columns(models: Sequence[Model], schema: Schema) -> tuple[Column, ...]:
    """Columns that must be counted per class for these models; all schema problems are raised at once."""
    problems: list[str] = []
    columns: dict[Column, None] = {}
    for model in models:
        try:
            columns.update(dict.fromkeys(model.needs(schema).counts))
        except SchemaError as error:
            problems += error.problems
    if problems:
        raise SchemaError(problems)
    return tuple(columns)


def gather(dataset: Dataset, models: Sequence[Model], *, original: Dataset | None = None) -> Evidence:
    """Count what the models need of a table: one group-by, however many models.

    ``original`` is the table whose distribution is the reference; without it the table itself is.
    """
    columns = counted_columns(models, dataset.schema)
    classes = count_classes(dataset, counted=columns)
    reference: dict[Column, NDArray[np.int64]] = {}
    for name in columns:
        if original is None:
            reference[name] = classes.counts[name].total()
            continue
        base = value_counts(original, name)
        aligned = _aligned(classes.counts[name], tuple(base))
        classes = _with_counts(classes, name, aligned)
        reference[name] = _in_order(base, aligned.labels)
    return Evidence(classes, dataset.schema, reference, wildcard_frequencies(classes, dataset.schema))


def value_counts(dataset: Dataset, column: Column) -> dict[str | None, int]:
    """How often each value of a column, or each combination of values of several, occurs."""
    from sfumato.core.encoding import encode_column

    encoded = encode_column(dataset, column)
    return dict(zip(encoded.labels, encoded.counts.tolist(), strict=True))


def wildcard_frequencies(classes: ClassTable, schema: Schema) -> NDArray[np.int64] | None:
    """Compatible records per class where the schema has wildcards, else None."""
    columns = wildcard_columns(schema, classes.columns)
    return compatible_records(classes, columns) if columns else None


def judge_all(evidence: Evidence, models: Sequence[Model]) -> tuple[Verdict, ...]:
    """Every model's verdict on the same evidence."""
    return tuple(model.judge(evidence) for model in models)


def _aligned(counts: Counts, labels: tuple[str | None, ...]) -> Counts:
    """The same counts under another order of labels, extended by those only the counts know."""
    import numpy as np

    known = set(labels)
    union = labels + tuple(name for name in counts.labels if name not in known)
    position = {name: i for i, name in enumerate(union)}
    remap = np.array([position[name] for name in counts.labels], dtype=np.int64)
    return Counts(counts.starts, remap[counts.codes] if remap.size else counts.codes, counts.counts, union)


def _in_order(base: Mapping[str | None, int], labels: Sequence[str | None]) -> NDArray[np.int64]:
    import numpy as np

    return np.array([base.get(name, 0) for name in labels], dtype=np.int64)


def _with_counts(classes: ClassTable, name: Column, counts: Counts) -> ClassTable:
    return dataclasses.replace(classes, counts={**classes.counts, name: counts})
