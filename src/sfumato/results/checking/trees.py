"""Trees and clusters: every leaf and cluster is a mark of enough persons, counted again in the
records where there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.results.checking.contributing_records import Behind, CellRows
from sfumato.results.checking.record_sets import sets_of_leaves
from sfumato.results.checking.untrusted_objects import array_of, names_of, peek, vector_of
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    broken,
    open_question,
    passed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

PURE = 1e-12


def judge_tree(
    output: Any,
    rules: OutputRules,
    behind: Behind | None,
    *,
    features: Sequence[str] | None = None,
    column: str | None = None,
) -> OutputVerdict:
    """Every leaf of a tree must hold enough persons, and not all of one kind.

    With records and ``features`` the leaves are counted again, by persons; with the ``column`` that
    it tells, leaves of a tree of numbers are judged as means. Without records nothing confirms what
    a tree says of itself.
    """
    inner = peek(output, "tree_")
    tree = output if inner is None else inner
    left_child, counts = (
        vector_of(peek(tree, "children_left")),
        vector_of(peek(tree, "n_node_samples")),
    )
    if left_child is None or counts is None or len(left_child) != len(counts):
        words = "the leaves of the tree cannot be counted"
        return OutputVerdict(
            "tree", (open_question("marks", words, "give out its rules as a table with counts"),)
        )
    leaf = left_child < 0
    if not (counts >= 0).all():
        words = "the tree tells numbers of records that are none"
        return OutputVerdict("tree", (open_question("marks", words, "fit it again"),))
    reasons = (
        _small(counts[leaf], rules, "records")
        + _alike(tree, leaf)
        + _classes(tree, leaf, counts, rules)
    )
    names = list(features) if features is not None else names_of(peek(output, "feature_names_in_"))
    place = None if behind is None or names is None else _leaves_of(tree, behind, names)
    if behind is None or place is None:
        words = "how many persons a leaf holds is told by the tree, and was not counted"
        reasons.append(
            open_question(
                "records", words, "give the records and columns: data=..., features=[...]"
            )
        )
    else:
        reasons += _counted(tree, place, leaf, counts, behind, rules, column)
    if not reasons:
        reasons.append(
            passed(
                "marks",
                f"each of {int(leaf.sum()):,} leaves holds at least {rules.threshold} persons",
            )
        )
    leaves = pl.DataFrame(
        {"leaf": np.arange(1, int(leaf.sum()) + 1), "records": counts[leaf].astype(np.int64)}
    )
    cells = None if place is None else partial(sets_of_leaves, place, np.flatnonzero(leaf))
    return OutputVerdict(
        "tree", tuple(reasons), int(counts[0]) if len(counts) else None, leaves, cells=cells
    )


def _small(counts: NDArray[np.float64], rules: OutputRules, what: str) -> list[OutputReason]:
    few = int((counts < rules.threshold).sum())
    if not few:
        return []
    words = f"{few:,} of {len(counts):,} leaves hold fewer than {rules.threshold} {what}"
    return [broken("marks", words, f"fit it with min_samples_leaf={rules.threshold} or more")]


def _alike(tree: Any, leaf: NDArray[np.bool_]) -> list[OutputReason]:
    impurity = vector_of(peek(tree, "impurity"))
    if (
        impurity is None
        or len(impurity) != len(leaf)
        or int(leaf.sum()) < 2
        or not (impurity[leaf] <= PURE).any()
    ):
        return []
    words = f"{int((impurity[leaf] <= PURE).sum()):,} leaves hold records of one kind only"
    return [broken("all_equal", words, "prune the tree")]


def _classes(
    tree: Any, leaf: NDArray[np.bool_], counts: NDArray[np.float64], rules: OutputRules
) -> list[OutputReason]:
    """Leaves in which somebody, but few, are of another kind: shares told of them tell of these."""
    values = array_of(peek(tree, "value")) if peek(tree, "value") is not None else None
    if values is None or values.ndim != 3 or values.shape[2] < 2 or len(values) != len(leaf):
        return []
    total = values.sum(axis=2, keepdims=True)
    class_counts = values / np.where(total > 0, total, 1.0) * counts[:, None, None]
    few = ((class_counts > 0.5) & (class_counts < rules.threshold - 0.5)).any(axis=(1, 2)) & leaf
    if not few.any():
        return []
    words = (
        f"{int(few.sum()):,} leaves hold fewer than {rules.threshold} records of a class: their"
        " shares tell of these"
    )
    return [open_question("share", words, "tell the rules without the shares of classes")]


def _leaves_of(tree: Any, behind: Behind, names: Sequence[str]) -> NDArray[np.int64] | None:
    """Per record the leaf it falls into; None where the tree or the data do not tell."""
    parts = [
        vector_of(peek(tree, name))
        for name in ("children_left", "children_right", "feature", "threshold")
    ]
    if any(one is None for one in parts) or any(
        name not in behind.dataset.columns for name in names
    ):
        return None
    left_child, right, feature, threshold = (np.asarray(one) for one in parts)
    if not all(behind.is_numeric(name) for name in names) or feature.max(initial=-1) >= len(names):
        return None
    columns = np.column_stack([behind.numbers(name) for name in names])
    if np.isnan(columns).any():
        return None
    columns = columns.astype(np.float32)  # as scikit-learn compares them
    node = np.zeros(len(behind), dtype=np.int64)
    for _ in range(len(left_child)):
        inner = left_child[node] >= 0
        if not inner.any():
            break
        here = node[inner]
        smaller = columns[inner, feature[here].astype(np.int64)] <= threshold[here]
        node[inner] = np.where(smaller, left_child[here], right[here]).astype(np.int64)
    return node


def _counted(
    tree: Any,
    node: NDArray[np.int64],
    leaf: NDArray[np.bool_],
    counts: NDArray[np.float64],
    behind: Behind,
    rules: OutputRules,
    column: str | None,
) -> list[OutputReason]:
    """Leaves by the records: persons in each, whether the tree counted the same, and what persons
    contribute to means.
    """
    number = np.cumsum(leaf) - 1
    size = int(leaf.sum())
    everything = np.ones(size, dtype=bool)
    belongs = CellRows(np.arange(len(behind)), number[node], size, everything, ~everything)
    reasons = _small(belongs.persons(behind).astype(np.float64), rules, "persons")
    if not np.array_equal(np.bincount(number[node], minlength=size), counts[leaf]):
        words = "the tree counts other numbers of records in its leaves than these records give"
        reasons.append(
            open_question("recomputed", words, "give the records it was fitted to (where=...)")
        )
    values = array_of(peek(tree, "value")) if peek(tree, "value") is not None else None
    if values is not None and values.ndim == 3 and values.shape[2] >= 2:
        return reasons
    if column is None:
        words = "what persons contribute to the means of leaves was not looked at"
        return [
            *reasons,
            open_question("contributions", words, "say what the tree tells: column='cost'"),
        ]
    cells = belongs.contributions(behind, behind.numbers(column), max(2, rules.dominant))
    unsafe = int(np.logical_or.reduce([rule.unsafe(cells) for rule in rules.of_amounts]).sum())
    if unsafe:
        words = f"{unsafe:,} of {size:,} leaves are means that few contributions make up"
        reasons.append(broken("contributions", words, "fit it with larger leaves"))
    return reasons


def judge_clusters(output: Any, rules: OutputRules) -> OutputVerdict:
    """Centres of clusters are means of their members: those of few fail, the others are judged as a
    table of means and not here.
    """
    labels = vector_of(peek(output, "labels_"))
    reasons = []
    if labels is not None:
        sizes = np.unique(labels, return_counts=True)[1]
        few = int((sizes < rules.threshold).sum())
        words = f"{few:,} of {len(sizes):,} clusters have fewer than {rules.threshold} members"
        reasons += [broken("marks", words, "make fewer clusters")] if few else []
    words = (
        "the centres of clusters are means, and what persons contribute to them was not looked at"
    )
    advice = "add the cluster to the data and give a table of means by it: by=['cluster']"
    return OutputVerdict("clusters", (*reasons, open_question("records", words, advice)))
