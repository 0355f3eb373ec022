"""Trees and clusters: every leaf and cluster must hold enough persons, counted again in the records
where there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.results.checking.contributing_records import CellMembers, ContributingRecords
from sfumato.results.checking.record_sets import CellSource, sets_of_leaves
from sfumato.results.checking.untrusted_objects import array_of, names_of, peek, vector_of
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    OutputVerdict,
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask

PURE = 1e-12
"""Impurities below this are those of a leaf whose records are all of one kind."""


def judge_tree(
    output: object,
    rules: OutputRules,
    records: ContributingRecords | None,
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
    left_child = vector_of(peek(tree, "children_left"))
    counts = vector_of(peek(tree, "n_node_samples"))
    if left_child is None or counts is None or len(left_child) != len(counts):
        words = "the leaves of the tree cannot be counted"
        advice = "release its rules as a table with counts"
        return OutputVerdict("tree", (open_question("marks", words, advice),))
    if not (counts >= 0).all():
        words = "the tree contains numbers of records that are not valid"
        return OutputVerdict("tree", (open_question("marks", words, "fit it again"),))
    is_leaf = left_child < 0
    leaf_counts = counts[is_leaf]
    # Shares of classes per node; a tree of numbers has one value per node instead.
    values = array_of(peek(tree, "value"))
    of_classes = values is not None and values.ndim == 3 and values.shape[2] >= 2
    reasons = _judge_small_leaves(leaf_counts, rules, "records") + _judge_pure_leaves(tree, is_leaf)
    if values is not None and of_classes:
        reasons += _judge_classes(values, is_leaf, counts, rules)
    names = list(features) if features is not None else names_of(peek(output, "feature_names_in_"))
    node = None
    if records is not None and names is not None:
        node = _find_leaves(tree, records, names)
    cells: CellSource | None = None
    if records is None or node is None:
        words = "the number of persons per leaf is taken from the tree, and was not counted"
        advice = "give the records and columns: data=..., features=[...]"
        reasons.append(open_question("records", words, advice))
    else:
        # Nodes are numbered over the whole tree, leaves from 0: with leaves 1, 3, 4 node 3 is leaf
        # 1.
        members = CellMembers.of_cells((np.cumsum(is_leaf) - 1)[node], len(leaf_counts))
        reasons += _judge_leaves(members, leaf_counts, records, rules)
        told_column = None if of_classes else column
        if not of_classes:
            reasons += _judge_means(members, records, rules, column)
        if told_column is not None and values is not None:
            told_means = values.reshape(len(is_leaf), -1)[is_leaf]
            reasons += _judge_told_means(told_means, members, records, told_column)
        cells = partial(sets_of_leaves, node, np.flatnonzero(is_leaf), told_column, records)
    if not reasons:
        words = f"each of {len(leaf_counts):,} leaves holds at least {rules.threshold} persons"
        reasons.append(confirmation("marks", words))
    numbers = np.arange(1, len(leaf_counts) + 1)
    leaves = pl.DataFrame({"leaf": numbers, "records": leaf_counts.astype(np.int64)})
    everybody = int(counts[0]) if len(counts) else None
    return OutputVerdict("tree", tuple(reasons), everybody, leaves, cells=cells)


def _judge_small_leaves(
    counts: Floats | Codes, rules: OutputRules, noun: str
) -> list[OutputReason]:
    small_leaves = int((counts < rules.threshold).sum())
    if not small_leaves:
        return []
    words = f"{small_leaves:,} of {len(counts):,} leaves hold fewer than {rules.threshold} {noun}"
    return [violation("marks", words, f"fit it with min_samples_leaf={rules.threshold} or more")]


def _judge_pure_leaves(tree: object, is_leaf: Mask) -> list[OutputReason]:
    impurity = vector_of(peek(tree, "impurity"))
    if impurity is None or len(impurity) != len(is_leaf) or int(is_leaf.sum()) < 2:
        return []
    pure = int((impurity[is_leaf] <= PURE).sum())
    if not pure:
        return []
    words = f"{pure:,} leaves hold records of one kind only"
    return [violation("all_equal", words, "prune the tree")]


def _judge_classes(
    values: Floats, is_leaf: Mask, counts: Floats, rules: OutputRules
) -> list[OutputReason]:
    """Leaves in which somebody, but few, are of another kind: shares told of them tell of these."""
    if len(values) != len(is_leaf):
        return []
    total = values.sum(axis=2, keepdims=True)
    # Some versions of the library keep shares, others weights: scaled to the records of the node.
    class_counts = values / np.where(total > 0, total, 1.0) * counts[:, None, None]
    # Halves, since products of shares are hardly ever whole.
    small = (class_counts > 0.5) & (class_counts < rules.threshold - 0.5)
    small_leaves = int((small.any(axis=(1, 2)) & is_leaf).sum())
    if not small_leaves:
        return []
    words = (
        f"{small_leaves:,} leaves hold fewer than {rules.threshold} records of a class: their "
        "shares reveal these"
    )
    return [open_question("share", words, "release the rules without the shares of classes")]


def _find_leaves(tree: object, records: ContributingRecords, names: Sequence[str]) -> Codes | None:
    """Per record the leaf it falls into; None where the tree or the data do not tell."""
    paths = ("children_left", "children_right", "feature", "threshold")
    left_child, right_child, feature, threshold = (vector_of(peek(tree, path)) for path in paths)
    if left_child is None or right_child is None or feature is None or threshold is None:
        return None
    for name in names:
        if name not in records.dataset.columns or not records.is_numeric(name):
            return None
    # The tree was fitted to other columns than these.
    if feature.max(initial=-1) >= len(names):
        return None
    columns = np.column_stack([records.numbers(name) for name in names])
    if np.isnan(columns).any():
        return None
    columns = columns.astype(np.float32)  # as scikit-learn compares them
    node = np.zeros(len(records), dtype=np.int64)
    for _ in range(len(left_child)):  # no path is longer than there are nodes
        inner = left_child[node] >= 0
        if not inner.any():
            break
        current = node[inner]
        smaller = columns[inner, feature[current].astype(np.int64)] <= threshold[current]
        node[inner] = np.where(smaller, left_child[current], right_child[current]).astype(np.int64)
    return node


def _judge_leaves(
    members: CellMembers, counts: Floats, records: ContributingRecords, rules: OutputRules
) -> list[OutputReason]:
    """Leaves by the records: persons in each, and whether the tree counted the same."""
    reasons = _judge_small_leaves(members.persons(records), rules, "persons")
    if not np.array_equal(np.bincount(members.cell, minlength=members.size), counts):
        words = "the tree has other numbers of records in its leaves than these records give"
        advice = "give the records it was fitted to (where=...)"
        reasons.append(open_question("recomputed", words, advice))
    return reasons


def _judge_means(
    members: CellMembers, records: ContributingRecords, rules: OutputRules, column: str | None
) -> list[OutputReason]:
    """What persons contribute to the averages in the leaves of a regression tree."""
    if column is None:
        words = "contributions of persons to the means of leaves were not checked"
        return [open_question("contributions", words, "say what the tree predicts: column='cost'")]
    cells = members.contributions(records, records.numbers(column), max(2, rules.dominant))
    unsafe = np.zeros(members.size, dtype=bool)
    for rule in rules.of_amounts:
        unsafe |= rule.unsafe(cells)
    if not unsafe.any():
        return []
    words = (
        f"{int(unsafe.sum()):,} of {members.size:,} leaves are means dominated by few contributions"
    )
    return [violation("contributions", words, "fit it with larger leaves")]


def _judge_told_means(
    told_means: Floats, members: CellMembers, records: ContributingRecords, column: str
) -> list[OutputReason]:
    """Leaves must tell the means of the column: a tree fitted by absolute errors tells medians,
    which are values of persons.
    """
    values = records.numbers(column)[members.row]
    sums = np.bincount(members.cell, weights=values, minlength=members.size)
    sizes = np.bincount(members.cell, minlength=members.size)
    means = sums / np.maximum(sizes, 1)
    if told_means.shape[1] == 1 and np.allclose(told_means[:, 0], means, rtol=1e-6, atol=1e-9):
        return []
    words = "the numbers that its leaves show are not the means of the column"
    advice = "say which column it predicts, and fit it by squared errors"
    return [open_question("recomputed", words, advice)]


def judge_clusters(output: object, rules: OutputRules) -> OutputVerdict:
    """Centres of clusters are means of their members: those of few fail, the others are judged as a
    table of means and not here.
    """
    labels = vector_of(peek(output, "labels_"))
    reasons = []
    if labels is not None:
        sizes = np.unique(labels, return_counts=True)[1]
        small_clusters = int((sizes < rules.threshold).sum())
        if small_clusters:
            words = (
                f"{small_clusters:,} of {len(sizes):,} clusters have fewer than {rules.threshold}"
                " members"
            )
            reasons.append(violation("marks", words, "make fewer clusters"))
    words = (
        "the centres of clusters are means, and the contributions of persons to them "
        "were not checked"
    )
    advice = "add the cluster to the data and release a table of means by it: by=['cluster']"
    return OutputVerdict("clusters", (*reasons, open_question("records", words, advice)))
