"""What every hierarchy promises, checked on the paths it gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sfumato.core.hierarchy import Paths, bind


def keeps_the_contract(hierarchy, values, counts=None) -> Paths:
    """Assert everything a hierarchy promises about some values, and return their paths."""
    counts = [1] * len(values) if counts is None else counts
    paths = hierarchy.paths(values, counts)
    depth = len(paths.leaves)
    assert [row[0] for row in paths.rows] == list(values)
    assert {len(row) for row in paths.rows} <= {depth}
    assert len({row[-1] for row in paths.rows}) <= 1, "one single top"
    assert len(paths.loss) == depth >= 2
    has_nested_levels(paths.rows)
    has_sound_measures(paths)
    has_a_faithful_ladder(hierarchy, values, counts, paths)
    return paths


def has_nested_levels(rows) -> None:
    """Values that are equal on one level are equal on all levels above it."""
    for level in range(len(rows[0]) - 1 if rows else 0):
        above = {}
        for row in rows:
            assert above.setdefault(row[level], row[level + 1 :]) == row[level + 1 :]


def has_sound_measures(paths) -> None:
    for row in paths.rows:
        loss = [paths.loss[level][label] for level, label in enumerate(row)]
        leaves = [paths.leaves[level][label] for level, label in enumerate(row)]
        assert all(0 <= a <= b <= 1 for a, b in pairwise(loss)), "loss never shrinks on the way up"
        assert all(1 <= a <= b for a, b in pairwise(leaves)), "leaves never shrink on the way up"


def has_a_faithful_ladder(hierarchy, values, counts, paths) -> None:
    """Binding changes the order of the codes and nothing else; a missing value ends at the top."""
    ladder = bind(hierarchy, [*values, None], [*counts, 1])
    assert ladder.depth == len(paths.leaves)
    assert all(np.all(np.diff(up) >= 0) for up in ladder.up), "siblings are neighbours"
    assert set(ladder.labels[0]) == {*values, None}
    assert len(ladder.labels[-1]) == 1
    rows = {row[0]: row for row in paths.rows}
    for level in range(ladder.depth):
        for value, code in zip(ladder.labels[0], ladder.climb(0, level).tolist(), strict=True):
            if value is not None:
                label = rows[value][level]
                assert ladder.labels[level][code] == label
                assert ladder.loss[level][code] == paths.loss[level][label]
                assert ladder.leaves[level][code] == paths.leaves[level][label]


def understands_its_own_labels(hierarchy, values, counts=None) -> None:
    """A table that was generalized before, wholly or in part, goes on where it stopped."""
    counts = [1] * len(values) if counts is None else counts
    paths = hierarchy.paths(values, counts)
    for level in range(len(paths.leaves)):
        rests = {row[level]: row[level:] for row in paths.rows}
        mixed = list(dict.fromkeys([*values, *rests]))
        weights = dict.fromkeys(rests, 1) | dict(zip(values, counts, strict=True))
        again = keeps_the_contract(hierarchy, mixed, [weights[v] for v in mixed])
        for row in again.rows:
            if row[0] in rests:
                assert row[level:] == rests[row[0]]
                assert set(row[: level + 1]) == {row[0]}, (
                    "an inner node stays itself below its level"
                )


def loses_nothing_at_first_and_all_at_the_top(paths) -> None:
    """For values of which none is an inner node, and at least two differ."""
    assert {paths.loss[0][row[0]] for row in paths.rows} == {0.0}
    assert {paths.loss[-1][row[-1]] for row in paths.rows} == {1.0}
