from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.hierarchy import is_fixed
from sfumato.core.recipe import Recipe
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import GroupedNumbers, grouped
from sfumato.methods.hierarchies.grouped_numbers import MOST_BINS
from sfumato.release.epsilon_certification import certified
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels


def fitted(numbers, sensitive, **options) -> GroupedNumbers:
    table = sf.read(pl.DataFrame({"x": numbers, "s": sensitive})).with_roles(
        quasi="x", sensitive="s"
    )
    return table.with_hierarchies(x=grouped("s", **options)).schema["x"].hierarchy


def entropy(values) -> float:
    return -sum(n * math.log2(n / len(values)) for n in Counter(values).values())


def squares(values) -> float:
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values)


def lost(numbers, sensitive, cuts, measure) -> float:
    """The definition: what is lost within the groups that the cuts make."""
    groups: dict[int, list] = {}
    for number, value in zip(numbers, sensitive, strict=True):
        groups.setdefault(sum(number >= cut for cut in cuts), []).append(value)
    return sum(measure(values) for values in groups.values())


def best(numbers, sensitive, groups, at_least, measure) -> float | None:
    """All partitions of the distinct numbers into runs, each with enough records."""
    distinct = sorted(set(numbers))
    losses = [
        lost(numbers, sensitive, cuts, measure)
        for count in range(groups)
        for cuts in itertools.combinations(distinct[1:], count)
        if min(Counter(sum(n >= cut for cut in cuts) for n in numbers).values()) >= at_least
    ]
    return min(losses, default=None)


rows = st.lists(st.tuples(st.integers(-3, 9), st.integers(0, 2)), min_size=1, max_size=24)


@given(rows, st.integers(2, 4), st.integers(1, 4), st.sampled_from(["entropy", "variance"]))
def test_no_partition_loses_less(pairs, groups, at_least, measure):
    numbers, sensitive = [n for n, _ in pairs], [s for _, s in pairs]
    hierarchy = fitted(numbers, sensitive, groups=groups, at_least=at_least, measure=measure)
    counts = (
        Counter(sum(n >= cut for cut in (hierarchy.cuts or ((),))[0]) for n in numbers)
        if hierarchy.cuts
        else {}
    )
    assert all(count >= at_least for count in counts.values())
    oracle = best(
        numbers, sensitive, groups, at_least, entropy if measure == "entropy" else squares
    )
    ours = lost(
        numbers,
        sensitive,
        hierarchy.cuts[0] if hierarchy.cuts else (),
        entropy if measure == "entropy" else squares,
    )
    if oracle is not None:
        assert ours == pytest.approx(oracle, abs=1e-9)
    for finer, coarser in itertools.pairwise(hierarchy.cuts or ()):
        assert set(coarser) < set(finer)
        assert len(coarser) + 1 <= (len(finer) + 2) // 2


@given(rows, st.integers(2, 5))
def test_contract(pairs, groups):
    hierarchy = fitted([n for n, _ in pairs], [s for _, s in pairs], groups=groups, at_least=1)
    values = sorted({str(n) for n, _ in pairs})
    keeps_the_contract(hierarchy, values)
    if hierarchy.cuts:
        understands_its_own_labels(hierarchy, values)


@given(rows, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(pairs, random):
    mixed = list(pairs)
    random.shuffle(mixed)
    one, other = (
        fitted([n for n, _ in some], [s for _, s in some], groups=3, at_least=2)
        for some in (pairs, mixed)
    )
    assert one == other


def test_a_worked_number():
    """Two illnesses that part at 40: one cut loses nothing, as conditional entropy says (Fayyad and
    Irani 1993).
    """
    ages = [21, 25, 33, 38, 41, 47, 55, 62]
    illness = ["flu"] * 4 + ["gout"] * 4
    hierarchy = fitted(ages, illness, groups=8, at_least=2)
    assert hierarchy.cuts == ((40,),)
    assert lost(ages, illness, (40,), entropy) == 0.0
    assert hierarchy.paths(["38", "41"], [1, 1]).rows == (("38", "<40", "*"), ("41", ">=40", "*"))


def test_labels_and_nodes():
    hierarchy = grouped("s", cuts=[[20, 40.5], [20]])
    paths = keeps_the_contract(hierarchy, ["7", "20", "40.5", "[20, 40.5)", "<20", "*"])
    assert [row[1] for row in paths.rows] == [
        "<20",
        "[20, 40.5)",
        ">=40.5",
        "[20, 40.5)",
        "<20",
        "*",
    ]
    with pytest.raises(SchemaError, match="2 of 3 distinct values are neither numbers"):
        hierarchy.paths(["7", "[20, 30)", "old"], [1] * 3)


def test_many_numbers_are_binned_first():
    rng = np.random.default_rng(7)
    numbers = rng.random(4000)
    sensitive = (numbers > 0.5).astype(int)
    hierarchy = fitted(numbers, sensitive, groups=2, at_least=50)
    assert len(np.unique(numbers)) > MOST_BINS
    assert abs(hierarchy.cuts[0][0] - 0.5) < 2 / MOST_BINS


def test_it_says_that_it_is_made_from_the_data():
    assert not is_fixed(grouped("s"))
    assert grouped("s").secret == ("cuts",)
    assert "made from the data" in GroupedNumbers.__doc__


def test_no_epsilon_is_certified_with_it():
    frame = pl.DataFrame({"x": [1, 2, 3, 4] * 5, "sex": ["f", "m"] * 10})
    data = (
        sf.read(frame)
        .with_roles(quasi=["x", "sex"])
        .with_hierarchies(x=sf.intervals(2), sex=sf.suppress())
    )
    step = sf.SafeAnonymize(1.0, delta=1e-5)
    for described, holds in (
        (data, True),
        (data.with_hierarchies(x=grouped("sex", at_least=2)), False),
    ):
        judged = certified(
            Recipe(described.schema, (sf.KAnonymity(1),), (step,)), ["x", "sex"], described.schema
        )
        assert judged.holds is holds
        assert (
            any("hierarchy of x is fitted to the records" in reason for reason in judged.reasons)
            is not holds
        )


def test_what_cannot_be_fitted():
    with pytest.raises(SchemaError, match="distinct values are not numbers"):
        fitted(["1", "old"], ["a", "b"])
    with pytest.raises(SchemaError, match="not all values of the sensitive column are numbers"):
        fitted([1, 2], ["a", "b"], measure="variance")
    with pytest.raises(SchemaError, match="more than 1,000"):
        fitted(list(range(1100)), [f"v{i}" for i in range(1100)])
    table = sf.read(pl.DataFrame({"x": [1, 2], "s": ["a", "b"]})).with_roles(
        quasi="x", sensitive="s"
    )
    with pytest.raises(SchemaError, match="no column 'z'"):
        table.with_hierarchies(x=grouped("z"))
    with pytest.raises(SchemaError, match="cannot be fitted to the column itself"):
        table.with_hierarchies(x=grouped("x"))
    for cuts in ([[2, 1]], [[]], [[1, 2], [3]], [[1, 2], [1, 2]]):
        with pytest.raises(ParameterError, match="cuts of a level"):
            grouped("s", cuts=cuts)


def test_too_few_records_and_missing_values():
    assert fitted([1, 2, 3], ["a", "b", "a"], at_least=2).cuts == ()
    assert fitted([1, 2, None, 4], ["a", "a", "b", None], at_least=1).cuts == ((4,),)
    assert fitted([1, 2, None, 4], [5, 5, 7, None], at_least=1, measure="variance").cuts == ()
    assert fitted([None], ["a"]).cuts == ()


def release_of(table):
    described = sf.read(table).with_roles(quasi=["x", "sex"], sensitive="s")
    described = described.with_hierarchies(x=grouped("s", groups=4, at_least=10), sex=sf.suppress())
    return sf.anonymize(described, sf.KAnonymity(10), sf.GlobalRecoding(), seed="1" * 32)


def test_a_release_by_groups_is_checked_by_anyone(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 60, 300)
    table = pl.DataFrame(
        {
            "x": x,
            "sex": rng.choice(["f", "m"], 300),
            "s": np.where(x < 20, "a", np.where(x < 45, "b", "c")),
        }
    )
    release = release_of(table)
    release.write(tmp_path / "out")
    certificate = (tmp_path / "out" / "share" / "certificate.json").read_text()
    assert '"cuts"' not in certificate
    assert sf.verify(tmp_path / "out" / "share").holds


def test_a_table_that_an_engine_holds_has_the_same_cuts(tmp_path):
    table = pl.DataFrame({"x": [*range(40)] * 3, "s": (["a"] * 17 + ["b"] * 23) * 3})
    table.write_parquet(tmp_path / "t.parquet")
    spec = grouped("s", groups=3, at_least=5)
    cuts = [
        sf.read(source, **options)
        .with_roles(quasi="x", sensitive="s")
        .with_hierarchies(x=spec)
        .schema["x"]
        .hierarchy
        for source, options in ((table, {}), (tmp_path / "t.parquet", {"engine": "polars"}))
    ]
    assert cuts[0].cuts == ((17,),)
    assert cuts[0] == cuts[1]
