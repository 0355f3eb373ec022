"""What the models about a sensitive column share: which column, what is counted, how a verdict is
written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from sfumato.core.encoding import Column, parts_of
from sfumato.core.model import ClassEvidence, Model, Needs, Verdict
from sfumato.core.parameters import SENSITIVE_COLUMNS
from sfumato.core.schema import Role, Schema
from sfumato.core.words import count_of, join_words, percent
from sfumato.errors import SchemaError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import Counts

    Flags = NDArray[np.bool_]

Sensitive = Annotated[
    str | Annotated[tuple[str, ...], Field(min_length=2)],
    SENSITIVE_COLUMNS,
    Field(
        description=(
            "the sensitive column; a list of columns stands for the combinations of their values"
        )
    ),
]
Reference = Literal["original", "released"]


def spoken(column: Column) -> str:
    """A column, or a combination of columns, as a sentence names it.

    >>> spoken("illness"), spoken(("illness", "income"))
    ('illness', 'illness × income')
    """
    return " × ".join(parts_of(column))


def needs_of(promise: str, column: Column, schema: Schema, *, reference: bool = False) -> Needs:
    """The column counted per class; a schema in which it is not sensitive, or nothing is quasi, is
    refused.

    So is a column that is quasi as well: the records of a class share their value of it, so no
    class can hide it, and recoding would change the values that are counted.
    """
    # All problems at once, so that a recipe is mended in one go.
    problems = []
    for name in parts_of(column):
        if name not in schema.attributes:
            problems.append(
                f"{promise}: column {name!r} is not in the "
                f"schema.{did_you_mean(name, schema.attributes)}"
            )
        elif not schema[name].has(Role.SENSITIVE):
            problems.append(
                f"{promise}: column {name!r} has role {join_words(schema[name].roles)}; give it "
                "role sensitive"
            )
        elif schema[name].has(Role.QUASI):
            problems.append(
                f"{promise}: column {name!r} is quasi as well as sensitive, so anyone who knows it "
                "learns nothing new; make it sensitive alone to protect it from those who do not"
            )
    if not schema.quasi:
        problems.append(f"{promise} needs at least one column with role quasi")
    if problems:
        raise SchemaError(problems)
    return Needs(counts=(column,), reference=reference)


def counts_of(evidence: ClassEvidence, column: Column) -> Counts:
    """How often each value of the sensitive column occurs in each class."""
    return evidence.classes.counts[column]


def reference_of(
    evidence: ClassEvidence, column: Column, which: Reference = "original"
) -> NDArray[np.int64]:
    """How often each value occurs in the original table, or in the classes that are released."""
    if which == "original":
        return evidence.reference[column]
    return counts_of(evidence, column).total()


def too_few_values(
    evidence: ClassEvidence, column: Column, required: float, which: Reference = "original"
) -> str:
    """Why no recoding can keep a promise that asks for so many values of a column; empty where it
    has them.

    With ``released`` only values that are released count: of the others nobody who holds the file
    knows.
    """
    counts = counts_of(evidence, column)
    # Labels of the original, also of values that no released record has.
    if which == "original":
        distinct = len(counts.labels)
    else:
        distinct = int((counts.total() > 0).sum())
    if distinct >= required or not len(evidence.classes):
        return ""
    if distinct == 1:
        has = "is constant"
    else:
        has = f"has only {distinct} different values"
    return f"column {spoken(column)!r} {has}, so no recoding can reach this"


def is_constant(evidence: ClassEvidence, column: Column, which: Reference = "original") -> bool:
    """Whether a column tells the same of everyone: classes then look like the table, but nothing is
    hidden.
    """
    return bool(too_few_values(evidence, column, 2, which))


def known_by_it(
    evidence: ClassEvidence,
    failing: Flags,
    column: Column,
    which: Reference = "original",
) -> str:
    """The sentence about a column that tells the same of everyone."""
    return (
        f"{share_of_records(evidence, failing)} are known by it:"
        f" {too_few_values(evidence, column, 2, which)}"
    )


def bound_in_words(bound: int | None) -> str:
    """How many classes a recoding can form that keeps a promise; empty where no bound is known."""
    if bound is None:
        return ""
    return f"no recoding that keeps it can form more than {count_of(bound, 'class', 'classes')}"


def with_reason(sentence: str, reason: str) -> str:
    """A sentence, and why nothing can be done about it."""
    return f"{sentence}; {reason}" if reason else sentence


def at_most_persons(values: NDArray[Any], evidence: ClassEvidence) -> NDArray[Any]:
    """Diversity of each class, but never more than it has persons: one person's many rows hide
    nobody.
    """
    if evidence.classes.person is None:
        return values
    return np.asarray(np.minimum(values, evidence.classes.sizes))


def share_of_records(evidence: ClassEvidence, failing: Flags) -> str:
    """How many records stand in the failing classes: ``12 of 400 records (3.0 %)``."""
    short = int(evidence.classes.records[failing].sum())
    total = evidence.classes.total
    return f"{short:,} of {total:,} records ({percent(short / total)})"


def forced_records(
    evidence: ClassEvidence, failing: Flags, fewest_removed: NDArray[Any]
) -> NDArray[np.int64]:
    """Records that failing classes must lose under every finer recoding: ``fewest_removed`` of
    them, one if that is unknown.

    Whatever a finer recoding keeps of a class holds, so what it keeps of it together holds too (the
    model is monotone): no fewer records are lost than make the class hold when they go.
    """
    records = evidence.classes.records
    with np.errstate(invalid="ignore"):
        # Unknown (NaN) becomes 1: a failing class loses one record at least. 1e-6 keeps rounding
        # from asking for one record more.
        enough = np.minimum(np.fmax(np.ceil(fewest_removed - 1e-6), 1), records)
    return np.where(failing, enough, 0).astype(np.int64)


def verdict(
    model: Model,
    evidence: ClassEvidence,
    failing: Flags,
    *,
    attained: float | None,
    required: float,
    per_class: NDArray[Any],
    sentence: str,
    counts_crowds: bool = False,
) -> Verdict:
    """A verdict from the classes that fail. ``counts_crowds``: the promise also asks for a class
    size.
    """
    at = np.flatnonzero(failing)
    return Verdict(
        model=model.name,
        promise=model.promise,
        holds=not len(at),
        attained=attained,
        required=required,
        sentence=(
            sentence
            if len(evidence.classes)
            else "the table is empty, so there is nobody to protect"
        ),
        per_class=per_class,
        failing=at,
        failing_sizes=evidence.classes.sizes[at],
        records=int(evidence.classes.records[at].sum()),
        # Only sizes can count compatible records; values of a sensitive column never do.
        missing_rule="wildcard" if counts_crowds and evidence.wildcard is not None else "category",
    )


def verdict_of_worst(
    model: Model,
    evidence: ClassEvidence,
    failing: Flags,
    values: NDArray[Any],
    *,
    worst: Literal["smallest", "largest"],
    required: float,
    sentence: Callable[[ClassEvidence, Flags, Any], str],
    counts_crowds: bool = False,
) -> Verdict:
    """A verdict on one value per class: the table attains that of its worst class, which
    ``sentence`` is told.
    """
    attained = extreme(values, worst)
    if attained is None:
        shown_sentence = ""
    else:
        shown_sentence = sentence(evidence, failing, attained)
    return verdict(
        model,
        evidence,
        failing,
        attained=attained,
        required=required,
        per_class=values,
        sentence=shown_sentence,
        counts_crowds=counts_crowds,
    )


def extreme(values: NDArray[Any], which: Literal["smallest", "largest"]) -> Any:
    """The smallest or largest value of any class as a plain number, or None without classes."""
    if not len(values):
        return None
    return (values.min() if which == "smallest" else values.max()).item()
