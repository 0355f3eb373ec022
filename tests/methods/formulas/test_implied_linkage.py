"""Linkage by what released columns imply: who knows the quasi-identifiers picks, in the class, the
record whose other columns fit best."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.formulas.implied_linkage import (
    TableEvidence,
    classes_of_codes,
    implied_linkage,
)


def test_several_columns_tell_more_together() -> None:
    rng = np.random.default_rng(1)
    classes = np.repeat(np.arange(50), 20)
    first, second = rng.integers(0, 5, 1000), rng.integers(0, 5, 1000)
    evidence = [TableEvidence.of(first, first), TableEvidence.of(second, second)]
    alone = implied_linkage(classes, evidence[:1], k=5)
    both = implied_linkage(classes, evidence, k=5)
    assert alone.class_only == pytest.approx(0.05)
    assert both.rate > 2 * alone.rate > 4 * alone.class_only
    assert both.exposed > alone.exposed


def test_a_lookup_without_the_own_record_makes_nothing_of_a_column_that_nobody_shares() -> None:
    rng = np.random.default_rng(2)
    q, classes = rng.integers(0, 30, 3000), rng.integers(0, 400, 3000)
    distinct = rng.permutation(3000)
    found = implied_linkage(classes, [TableEvidence.of(q, distinct)], k=5)
    assert found.rate == pytest.approx(found.class_only, abs=0.02)


def test_the_classes_of_codes_are_those_of_their_combinations() -> None:
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 4, 500).astype(np.uint8) for _ in range(6)]
    classes = classes_of_codes(columns, 500)
    combinations = {tuple(int(c[i]) for c in columns) for i in range(500)}
    assert len({(int(one), *(int(c[i]) for c in columns)) for i, one in enumerate(classes)}) == len(
        combinations
    )
    assert len(set(classes.tolist())) == len(combinations)
