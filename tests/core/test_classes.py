"""Class tables: counting, rolling up, merging, projecting, whatever the width of the keys."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core import class_runs, classes
from sfumato.core.classes import ClassTable, Layout, Placement, count_classes, count_rows, pack_rows
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import InternalError, SchemaError
from sfumato.kernels import keys
from sfumato.kernels.keys import FEW
from sfumato.methods.hierarchies import TableHierarchy
from tests.oracles import definitions as oracle
from tests.random_tables import RandomTable, tables


def contents(classes: ClassTable):
    """Class -> records, spelled out in labels at the present levels."""
    columns = [
        [ladder.labels[level][code] for code in classes.codes(name).tolist()]
        for name, ladder, level in zip(
            classes.columns, classes.ladders, classes.levels, strict=True
        )
    ]
    keys = list(zip(*columns, strict=True)) if columns else [()] * len(classes)
    assert len(set(keys)) == len(keys), "two classes with the same key"
    return dict(zip(keys, classes.records.tolist(), strict=True))


def counted(classes, column):
    """Class -> counts of a column's values."""
    counts = classes.counts[column]
    found = []
    for i in range(len(classes)):
        part = slice(counts.starts[i], counts.starts[i + 1])
        codes = counts.codes[part].tolist()
        assert len(set(codes)) == len(codes)
        found.append(
            {counts.labels[c]: n for c, n in zip(codes, counts.counts[part].tolist(), strict=True)}
        )
    return dict(zip(contents(classes), found, strict=True))


def with_extra(table, extra, role):
    """The random table with one more column of another role."""
    frame = table.frame().with_columns(pl.Series("extra", extra, dtype=pl.String))
    return Table(frame, Schema({**table.schema().attributes, "extra": Attribute((role,))}))


PADDING = {"p0": ("p0", "*"), "p1": ("p1", "*")}


def wide(table, columns):
    """The same rows behind many columns of one bit each, so that their own lie in a later word of
    the key.
    """
    rows = [
        (*(f"p{(i + a) % 2}" for a in range(columns)), *row) for i, row in enumerate(table.rows)
    ]
    return RandomTable(rows, [PADDING] * columns + list(table.paths))


# ------------------------------------------------------------------------------------------- layout


@given(st.lists(st.integers(1, 2**40), max_size=20))
def test_no_column_crosses_a_word_and_none_overlap(sizes):
    layout = Layout.of(sizes)
    taken = set()
    for size, word, shift, width in zip(
        sizes, layout.words, layout.shifts, layout.widths, strict=True
    ):
        assert size <= 2 ** int(width)
        bits = {(int(word), b) for b in range(int(shift), int(shift + width))}
        assert shift + width <= 64
        assert not taken & bits
        taken |= bits
    assert layout.length == max([int(w) for w in layout.words], default=0) + 1


# ----------------------------------------------------------------------------------------- counting


@given(tables(fewest_rows=0))
def test_classes_are_the_distinct_rows(table):
    classes, ids = count_rows(table.dataset())
    assert contents(classes) == dict(oracle.class_sizes(table.rows))
    assert [list(contents(classes))[i] for i in ids.tolist()] == table.rows
    assert classes.total == len(table.rows)


@given(tables(fewest_rows=2), st.randoms())
def test_row_order_changes_nothing(table, chance):
    turned = table.rows[:]
    chance.shuffle(turned)
    one, other = count_classes(table.dataset()), count_classes(table.dataset(turned))
    assert np.array_equal(one.keys, other.keys)
    assert np.array_equal(one.records, other.records)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [70, 140])
@settings(max_examples=10)
@given(table=tables(), chance=st.randoms())
def test_row_order_changes_nothing_for_wide_keys(columns, table, chance):
    table = wide(table, columns)
    turned = table.rows[:]
    chance.shuffle(turned)
    one, other = count_classes(table.dataset()), count_classes(table.dataset(turned))
    assert one.keys.shape[1] > columns // 64
    assert np.array_equal(one.keys, other.keys)
    assert np.array_equal(one.records, other.records)


@given(table=tables(most_columns=4, most_rows=30))
def test_keys_are_numbered_alike_by_looking_up_and_by_hashing(table):
    with pytest.MonkeyPatch.context() as patch:
        one, other = table.dataset(), table.dataset()
        looked_up = count_classes(one, counted=table.names)
        patch.setattr(classes, "is_dense", lambda span, rows: False)
        hashed = count_classes(other, counted=table.names)
    assert count_rows(one)[1].tolist() == count_rows(other)[1].tolist()
    assert looked_up.keys.tolist() == hashed.keys.tolist()
    assert looked_up.records.tolist() == hashed.records.tolist()
    for name in table.names:
        one, other = looked_up.counts[name], hashed.counts[name]
        for part in ("starts", "codes", "counts"):
            assert getattr(one, part).tolist() == getattr(other, part).tolist()


def test_one_row_and_no_rows():
    table = RandomTable([("a",)], [{"a": ("a", "*")}])
    assert contents(count_classes(table.dataset())) == {("a",): 1}
    empty = count_classes(table.dataset([]))
    assert (len(empty), empty.total, contents(empty)) == (0, 0, {})
    assert len(empty.roll_up({"c0": 1})) == 0
    assert len(empty.take(np.zeros(0, dtype=np.bool_))) == 0
    assert empty.project(["c0"]).tolist() == []


def test_a_column_of_missing_values():
    table = RandomTable([(None,), (None,)], [{"a": ("a", "1.0", "*")}])
    classes = count_classes(table.dataset())
    assert contents(classes) == {(None,): 2}
    assert contents(classes.roll_up({"c0": 1})) == {(None,): 2}
    assert contents(classes.roll_up({"c0": 2})) == {("*",): 2}


def test_a_table_without_columns_to_group_by_is_one_class():
    data = Table(pl.DataFrame({"a": ["x", "y"]}), Schema({"a": Attribute((Role.KEEP,))}))
    assert contents(count_classes(data)) == {(): 2}


def test_columns_that_are_not_there_are_named_together():
    table = RandomTable([("a",)], [{"a": ("a",)}])
    with pytest.raises(SchemaError) as refused:
        count_classes(table.dataset(), ["c1"], counted=["c2", ("c0", "c3")])
    assert len(refused.value.problems) == 3


# --------------------------------------------------------------------------------------- rolling up


def check_roll_up(data, table):
    """Roll up to a random node in two random steps and compare with regrouping the generalised
    rows.
    """
    low, high = sorted(
        data.draw(st.tuples(st.integers(0, 1), st.integers(0, 1)))
    )  # of all padding alike
    half, node = [], []
    for paths, depth in zip(table.paths, table.depths, strict=True):
        half.append(low if paths is PADDING else data.draw(st.integers(0, depth - 1)))
        node.append(high if paths is PADDING else data.draw(st.integers(half[-1], depth - 1)))
    expected = dict(
        oracle.class_sizes(oracle.generalised(table.rows, table.paths, table.depths, node))
    )
    base = count_classes(table.dataset())
    straight = base.roll_up(dict(zip(table.names, node, strict=True)))
    stepwise = base.roll_up(dict(zip(table.names, half, strict=True))).roll_up(
        dict(zip(table.names, node, strict=True))
    )
    assert contents(straight) == contents(stepwise) == expected
    assert straight.levels == stepwise.levels == tuple(node)


@given(data=st.data(), table=tables(most_columns=4, most_rows=25, fewest_rows=0))
def test_roll_up_is_regrouping(data, table):
    check_roll_up(data, table)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [70, 140])
@settings(max_examples=10)
@given(data=st.data(), table=tables())
def test_roll_up_is_regrouping_for_keys_of_several_words(columns, data, table):
    check_roll_up(data, wide(table, columns))


def test_roll_up_beyond_the_first_hash_table():
    # 40,000 classes: the hash tables of grouping and rolling up have to grow
    rng = np.random.default_rng(1)
    paths = {f"{i:03}": (f"{i:03}", f"{i // 10:02}", "*") for i in range(400)}
    frame = pl.DataFrame({c: [f"{v:03}" for v in rng.integers(0, 400, 60_000)] for c in "ab"})
    schema = Schema(
        {c: Attribute((Role.QUASI,), hierarchy=TableHierarchy(list(paths.values()))) for c in "ab"}
    )
    classes = count_classes(Table(frame, schema))
    assert len(classes) > 40_000
    assert contents(classes) == dict(Counter(frame.rows()))
    assert contents(classes.roll_up({"a": 1, "b": 1})) == dict(
        Counter((a[:2], b[:2]) for a, b in frame.rows())
    )


@given(data=st.data(), table=tables(fewest_rows=0))
def test_values_are_counted_per_class_and_merged(data, table):
    values = [data.draw(st.sampled_from(["x", "y", "z", None])) for _ in table.rows]
    dataset = with_extra(table, values, Role.SENSITIVE)
    classes = count_classes(dataset, counted=["extra", ("extra", "c0")])
    node = [data.draw(st.integers(0, d - 1)) for d in table.depths]
    rolled = classes.roll_up(dict(zip(table.names, node, strict=True)))
    released = oracle.generalised(table.rows, table.paths, table.depths, node)
    expected = {row: Counter() for row in released}
    for row, value in zip(released, values, strict=True):
        expected[row][value] += 1
    assert counted(rolled, "extra") == {row: dict(c) for row, c in expected.items()}
    assert rolled.counts["extra"].distinct().tolist() == [
        len(expected[row]) for row in contents(rolled)
    ]
    assert np.array_equal(rolled.counts["extra"].total(), classes.counts["extra"].total())
    assert all(
        sum(c.values()) == contents(rolled)[row]
        for row, c in counted(rolled, ("extra", "c0")).items()
    )


@given(data=st.data(), table=tables(fewest_rows=0))
def test_persons_are_counted_once_a_class(data, table):
    who = [data.draw(st.sampled_from(["p", "q", "r"])) for _ in table.rows]
    classes = count_classes(with_extra(table, who, Role.PERSON))
    node = [data.draw(st.integers(0, d - 1)) for d in table.depths]
    rolled = classes.roll_up(dict(zip(table.names, node, strict=True)))
    expected = oracle.class_persons(
        oracle.generalised(table.rows, table.paths, table.depths, node), who
    )
    assert dict(zip(contents(rolled), rolled.sizes.tolist(), strict=True)) == expected
    assert rolled.total == len(table.rows)


@given(data=st.data(), table=tables(fewest_rows=0))
def test_weights_are_summed(data, table):
    weights = [data.draw(st.integers(0, 9)) / 2 for _ in table.rows]
    frame = table.frame().with_columns(pl.Series("w", weights, dtype=pl.Float64))
    dataset = Table(frame, Schema({**table.schema().attributes, "w": Attribute((Role.WEIGHT,))}))
    rolled = count_classes(dataset, weight="w").roll_up(
        {n: d - 1 for n, d in zip(table.names, table.depths, strict=True)}
    )
    released = oracle.generalised(
        table.rows, table.paths, table.depths, [d - 1 for d in table.depths]
    )
    expected = Counter()
    for row, weight in zip(released, weights, strict=True):
        expected[row] += weight
    assert dict(zip(contents(rolled), rolled.weights.tolist(), strict=True)) == pytest.approx(
        dict(expected)
    )


@pytest.mark.parametrize("bad", [None, -1.0, float("nan"), float("inf")])
def test_weights_that_are_none_are_refused(bad):
    frame = pl.DataFrame({"a": ["x", "y"], "w": [1.0, bad]})
    dataset = Table(frame, Schema({"a": Attribute((Role.QUASI,)), "w": Attribute((Role.WEIGHT,))}))
    with pytest.raises(SchemaError, match="weight column 'w' has 1 "):
        count_classes(dataset, weight="w")


def test_weights_must_be_numbers():
    dataset = Table(pl.DataFrame({"a": ["x"], "w": ["1"]}), Schema({"a": Attribute((Role.QUASI,))}))
    with pytest.raises(SchemaError, match="'w' is not numeric"):
        count_classes(dataset, weight="w")


@pytest.mark.parametrize("levels", [{"c0": 0}, {"c0": 3}])
def test_there_is_no_way_down_and_none_beyond_the_top(levels):
    table = RandomTable([("a",), ("b",)], [{v: (v, "1.0", "*") for v in "ab"}])
    with pytest.raises(InternalError, match="there is no way up from level"):
        count_classes(table.dataset()).roll_up({"c0": 1}).roll_up(levels)


# ----------------------------------------------------------------- reordering, projecting, choosing


@pytest.mark.parametrize("columns", [0, 70])
@settings(max_examples=15)
@given(data=st.data(), table=tables(most_columns=4))
def test_reordered_classes_are_the_same_classes(columns, data, table):
    table = wide(table, columns)
    names = data.draw(st.permutations(table.names))
    place = [table.names.index(n) for n in names]
    classes = count_classes(table.dataset()).reordered(names)
    assert contents(classes) == {
        tuple(row[a] for a in place): n for row, n in oracle.class_sizes(table.rows).items()
    }
    levels = {n: table.depths[a] - 1 for n, a in zip(names, place, strict=True)}
    assert classes.roll_up(levels).total == len(table.rows)


@pytest.mark.parametrize("columns", [0, 70])
@settings(max_examples=15)
@given(data=st.data(), table=tables(most_columns=4))
def test_projecting_is_grouping_by_some_columns(columns, data, table):
    table = wide(table, columns)
    chosen = data.draw(st.lists(st.sampled_from(table.names), unique=True))
    classes = count_classes(table.dataset())
    ids = classes.project(chosen)
    place = [table.names.index(n) for n in chosen]
    parts = [tuple(row[a] for a in place) for row in contents(classes)]
    assert (
        len(set(ids.tolist())) == len(set(parts)) == len(set(zip(ids.tolist(), parts, strict=True)))
    )


@given(data=st.data(), table=tables(fewest_rows=0))
def test_taking_some_classes(data, table):
    dataset = with_extra(table, [str(i % 3) for i in range(len(table.rows))], Role.SENSITIVE)
    classes = count_classes(dataset, counted=["extra"])
    keep = np.array([data.draw(st.booleans()) for _ in range(len(classes))], dtype=np.bool_)
    some = classes.take(keep)
    chosen = [row for row, kept in zip(contents(classes), keep, strict=True) if kept]
    assert contents(some) == {row: contents(classes)[row] for row in chosen}
    assert counted(some, "extra") == {row: counted(classes, "extra")[row] for row in chosen}


# ---------------------------------------------------------------- packing where a table was planned


@given(data=st.data(), table=tables(most_columns=3, most_rows=30, fewest_rows=1))
def test_classes_that_are_only_sorted_are_those_of_the_rows(data, table):
    copies = data.draw(
        st.none() | st.lists(st.integers(1, 3), min_size=len(table.rows), max_size=len(table.rows))
    )
    held = (
        table.dataset()
        if copies is None
        else dataclasses.replace(table.dataset(), copies=np.array(copies))
    )
    by_row, rows = count_rows(held)
    fresh = dataclasses.replace(held)
    always = {"MOST_BITS": 0, "FEW_COPIES": 1, "is_dense": lambda span, rows: False}
    with (
        mock.patch.multiple(keys, FEW=-1, mostly_distinct=len),
        mock.patch.multiple(classes, **always),
    ):
        only_sorted = count_classes(fresh)
        assert not fresh.known.classes[only_sorted.columns][
            0
        ].rows  # nobody asked for the class of a row
        same = count_rows(fresh)[1]
    assert only_sorted.keys.tolist() == by_row.keys.tolist()
    assert only_sorted.records.tolist() == by_row.records.tolist()
    assert same.tolist() == rows.tolist()


def test_a_part_of_a_table_packs_into_the_keys_of_the_whole():
    # 300 codes need two bytes. A part with 2 values must not be packed with one, or codes wrap
    # round.
    paths = {f"{i:03}": (f"{i:03}", "*") for i in range(300)}
    whole = RandomTable([(v,) for v in paths], [paths])
    keys, place = pack_rows(whole.dataset(), ["c0"])
    part, _ = pack_rows(whole.dataset([("299",), ("000",)]), ["c0"], place)
    assert part.tolist() == [keys[299].tolist(), keys[0].tolist()]
    classes = count_classes(whole.dataset([("299",), ("000",)]), at=place)
    assert contents(classes) == {("299",): 1, ("000",): 1}


@given(data=st.data(), table=tables())
def test_packing_at_a_level_is_rolling_up(data, table):
    node = tuple(data.draw(st.integers(0, d - 1)) for d in table.depths)
    base = count_classes(table.dataset())
    at = Placement(base.ladders, node, base.layout)
    part = data.draw(st.lists(st.sampled_from(table.rows), min_size=1))
    classes = count_classes(table.dataset(part), at=at)
    assert classes.levels == node
    assert contents(classes) == dict(
        oracle.class_sizes(oracle.generalised(part, table.paths, table.depths, node))
    )


def test_values_that_were_not_planned_for_are_counted_not_shown():
    paths = {v: (v, "*") for v in ("a", "b", "secret")}
    table = RandomTable([("a",), ("b",)], [paths])
    _, place = pack_rows(table.dataset(), ["c0"])
    with pytest.raises(SchemaError, match=r"did not occur") as refused:
        pack_rows(table.dataset([("secret",)]), ["c0"], place)
    assert "secret" not in str(refused.value)


# ------------------------------------------------------------------------------------------- ladder


# --- packed keys: numpy where rows are few, loops where they are many ---


@st.composite
def packed(draw):
    """Codes of two columns and where their bits lie, in keys of one or two words."""
    words, n = draw(st.integers(1, 2)), draw(st.integers(0, 30))
    width = draw(st.integers(1, 31))
    kind = draw(st.sampled_from([np.uint8, np.int64, np.uint32]))
    most = min(2**width - 1, np.iinfo(kind).max)
    columns = [
        np.array(draw(st.lists(st.integers(0, most), min_size=n, max_size=n)), dtype=kind)
        for _ in range(2)
    ]
    return words, width, columns


def test_many_rows_are_grouped_as_few_are(monkeypatch):
    packed = np.random.default_rng(3).integers(0, 1 << 18, (5000, 1)).astype(np.uint64)
    slow = classes.in_order(packed, 1 << 18)
    monkeypatch.setattr(keys, "FEW", 0)
    fast = classes.in_order(packed, 1 << 18)
    assert fast[0].dtype == slow[0].dtype
    assert (fast[0] == slow[0]).all()
    assert (fast[1] == slow[1]).all()


@given(table=tables(), few=st.sampled_from([-1, FEW]), dense=st.booleans())
def test_records_that_are_alone_on_some_columns(table, few, dense):
    counted = count_classes(table.dataset())
    alone = {}
    with (
        mock.patch.object(keys, "FEW", few),
        mock.patch.object(classes, "is_dense", return_value=dense),
    ):
        for size in range(1, len(table.names) + 1):
            for names in itertools.combinations(counted.columns, size):
                grouped = np.bincount(counted.project(names), weights=counted.records)
                alone[frozenset(names)] = counted.unique_by(names)
                assert alone[frozenset(names)] == (grouped == 1).sum()
        for order in itertools.permutations(counted.columns):
            prefixes = counted.unique_by_prefixes(order)
            if few < 0:
                assert prefixes == [
                    alone[frozenset(order[: place + 1])] for place in range(len(order))
                ]
            else:
                assert prefixes is None


@given(
    data=st.data(), table=tables(most_rows=40), small=st.sampled_from([0, 4, class_runs.SMALL_RUN])
)
def test_classes_rolled_up_in_runs_are_those_that_are_hashed(data, table, small):
    base = count_classes(table.dataset())
    if data.draw(
        st.booleans()
    ):  # in another order than that of the keys no runs may be taken for granted
        order = np.array(data.draw(st.permutations(range(len(base)))), dtype=np.int64)
        base = dataclasses.replace(base, keys=base.keys[order], records=base.records[order])
    tops = [ladder.top for ladder in base.ladders]
    levels = {
        name: data.draw(st.integers(0, top)) for name, top in zip(base.columns, tops, strict=True)
    }
    hashed = base.roll_up(levels)
    with mock.patch.object(keys, "FEW", -1), mock.patch.object(class_runs, "SMALL_RUN", small):
        in_runs = base.roll_up(levels)
    assert in_runs.levels == hashed.levels
    assert in_runs.keys.tolist() == hashed.keys.tolist()
    assert in_runs.records.tolist() == hashed.records.tolist()


# numpy in place of loops that are not loaded yet
