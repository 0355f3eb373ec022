"""What a release tells together with an earlier one, beside a naive count of joint classes."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.release.decision.earlier_releases import joint_classes

SEED = Seed.of(2)


def pair_of(groups: dict[int, str], *, named: bool = True) -> TablePair:
    roles = {"group": Attribute((Role.QUASI,))}
    if named:
        roles = {"person": Attribute((Role.PERSON,)), **roles}
    columns = {"person": [f"p{p}" for p in groups], "group": list(groups.values())}
    frame = pl.DataFrame(columns if named else {"group": columns["group"]})
    table = Table(frame).with_schema(Schema(roles))  # type: ignore[arg-type]
    origin = np.arange(len(groups), dtype=np.int64)
    return TablePair(table, dataclasses.replace(table, origin=origin), origin)


PEOPLE = st.dictionaries(st.integers(0, 12), st.sampled_from("ab"), min_size=1)


@given(PEOPLE, PEOPLE)
def test_people_are_found_as_often_as_their_joint_class_lets(
    first: dict[int, str], second: dict[int, str]
) -> None:
    entry = joint_classes("earlier", pair_of(first), pair_of(second), SEED)
    both = sorted(set(first) & set(second))
    if not both:
        assert entry.status == "does not apply"
        return
    sizes = Counter((first[p], second[p]) for p in both)
    naive = sum(1 / sizes[first[p], second[p]] for p in both) / len(both)
    assert entry.figure is not None
    assert entry.figure.value == pytest.approx(naive, abs=1e-12)
    assert entry.figure.of == len(both)


def test_changed_values_are_unknown_and_no_pass() -> None:
    pair = pair_of({0: "a", 1: "a", 2: "b"})
    moved = pair.released.with_columns({"group": pl.Series(["b", "a", "b"])})
    changed = TablePair(pair.original, moved, pair.origin)
    assert joint_classes("earlier", changed, pair, SEED).status == "unknown"
    assert joint_classes("earlier", pair, changed, SEED).status == "unknown"
