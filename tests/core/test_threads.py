"""Work side by side gives what work one after the other gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import kernels
from sfumato.core import threads
from sfumato.core.classes import count_rows
from sfumato.core.encoding import encode
from sfumato.core.reading import Joint
from sfumato.core.table import Table
from sfumato.core.threads import meanwhile, parts_of_rows, side_by_side
from sfumato.data.table import columnar
from sfumato.release.read_back import _all_came_back

TABLES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "ab", None]),
        st.one_of(st.none(), st.integers(-3, 9)),
        st.sampled_from("xyz"),
    ),
    min_size=1,
    max_size=40,
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of four rows, threads from four rows on, loops from three rows on."""
    monkeypatch.setattr(threads, "MANY", 4)
    monkeypatch.setattr(kernels.keys, "FEW", 2)
    monkeypatch.setattr(columnar, "PART", 4)


def tabled(rows: list[tuple[str | None, int | None, str]]) -> Table:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64, "c": pl.String}, orient="row")
    return Table(frame).with_roles(quasi=["a", "b", "c"])


def test_everything_is_made_in_the_order_of_the_items(tiny: None) -> None:
    assert side_by_side(lambda item: -item, range(50), rows=50) == [-item for item in range(50)]


@pytest.mark.parametrize("rows", [2, 50])
def test_the_first_failure_is_raised(tiny: None, rows: int) -> None:
    def work(item: int) -> int:
        return 1 // item if item % 2 else int("no number")

    with pytest.raises(ValueError, match="invalid literal"):
        side_by_side(work, [1, 2, 0], rows=rows)


def test_what_happened_meanwhile_is_raised_when_it_is_asked_for() -> None:
    begun = meanwhile(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        begun.result()


@given(st.integers(0, 30))
def test_parts_hold_every_row_once(rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "MANY", 4)
        assert [row for part in parts_of_rows(rows) for row in range(rows)[part]] == list(
            range(rows)
        )


@given(TABLES)
def test_tables_are_counted_and_taken_in_parts_as_they_are_at_once(
    rows: list[tuple[str | None, int | None, str]],
) -> None:
    plain = tabled(rows)
    classes, ids = count_rows(plain)
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    taken = plain.take(order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "MANY", 4)
        patch.setattr(kernels.keys, "FEW", 2)
        other = tabled(rows)
        again, inside = count_rows(other)
        assert (again.keys == classes.keys).all()
        assert (again.records == classes.records).all()
        assert (inside == ids).all()
        moved = other.take(order)
        assert moved.to_polars().equals(taken.to_polars())
        for name in moved.columns:
            assert moved.encoded(name).labels == taken.encoded(name).labels
            assert (moved.encoded(name).codes == taken.encoded(name).codes).all()
        joint = Joint.of(other.encoded("a"), moved.encoded("c"), order)
    naive = sorted(
        {
            *zip(
                plain.encoded("a").codes[order].tolist(),
                taken.encoded("c").codes.tolist(),
                strict=True,
            )
        }
    )
    assert list(zip(joint.value.tolist(), joint.label.tolist(), strict=True)) == naive
    assert (joint.value[joint.which] == plain.encoded("a").codes[order]).all()


@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=30),
    st.sampled_from([-(2**63), 0, 2**63 - 6]),
)
def test_whole_numbers_are_encoded_in_parts(values: list[int | None], far: int) -> None:
    shifted = [None if v is None else max(-(2**63), min(2**63 - 1, far + v)) for v in values]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "MANY", 4)
        found = encode(pl.Series("a", shifted, dtype=pl.Int64))
    assert [found.labels[code] for code in found.codes.tolist()] == [
        None if v is None else str(v) for v in shifted
    ]
    assert found.labels == tuple(sorted(str(v) for v in {*shifted} - {None})) + (None,) * (
        None in shifted
    )
    assert found.counts.tolist() == np.bincount(found.codes, minlength=len(found.labels)).tolist()


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=20), st.integers(0, 19))
def test_a_column_holds_its_labels_and_no_others(values: list[str | None], place: int) -> None:
    encoded, column = (
        encode(pl.Series("a", values, dtype=pl.String)),
        pl.Series("a", values, dtype=pl.String),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "MANY", 4)
        assert encoded.holds(column)
        start = min(place, len(values) - 1)
        assert encoded.holds(column.slice(start), start)
        assert not encoded.holds(pl.Series("a", [*values, "a"], dtype=pl.String))
        others = [*values[:start], "other", *values[start + 1 :]]
        assert not encoded.holds(pl.Series("a", others, dtype=pl.String))


def test_a_written_parquet_is_read_back_in_parts(tiny: None, tmp_path: Path) -> None:
    release = sf.anonymize(
        sf.examples.large(200), [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.5)], seed=1
    )
    folder = release.write(tmp_path, format="parquet", force=True)
    file = folder / "share" / "data.parquet"
    whole = pl.read_parquet(file)
    assert max(len(part) for _, part in columnar.parquet_parts(file)) == 4
    assert pl.concat(part for _, part in columnar.parquet_parts(file)).equals(whole)
    assert _all_came_back(release.released, file)


@pytest.mark.parametrize("cells", [1, 8, 1000])
def test_a_wide_parquet_is_read_back_some_columns_after_the_others(
    cells: int, tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "PART_CELLS", cells)
    frame = pl.DataFrame({"a": range(9), "b": list("xyzxyzxyz"), "c": [None, 2.5] * 4 + [0.0]})
    file, released = tmp_path / "data.parquet", sf.read(frame)
    frame.write_parquet(file)
    for start, part in columnar.parquet_parts(file):
        assert part.equals(frame.select(part.columns).slice(start, len(part)))
    assert _all_came_back(released, file)
    others = [
        frame.head(8),
        frame.vstack(frame.head(1)),
        frame.drop("c"),
        frame.select("b", "a", "c"),
    ]
    others += [
        frame.with_columns(d=pl.lit(1)),
        frame.with_columns(c=frame["c"].reverse()),
        frame.clear(),
    ]
    for other in others:
        other.write_parquet(file)
        assert not _all_came_back(released, file)


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=30
    ),
    st.sampled_from([np.uint8, np.uint16, np.uint32]),
)
def test_loops_over_many_rows_do_what_numpy_does_with_few(
    rows: list[tuple[int, int, int]], narrow: type
) -> None:
    ones, twos, records = (np.array(part) for part in zip(*rows, strict=True))
    places = np.array([0, 1]), np.array([60, 2]), np.array([3, 2])
    moved, order = np.array([3, 1, 4, 1, 5, 9, 2]), np.argsort(records)
    found = []
    for few in (0, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels.keys, "FEW", few)
            keys, ids, target = (
                np.zeros((len(rows), 2), dtype=np.uint64),
                ones.astype(narrow),
                np.zeros(10, np.int64),
            )
            kernels.keys.pack(keys, twos, 1, 2)
            kernels.keys.pack_mapped(keys, ids, np.arange(7), 0, 60)
            kernels.keys.write_through(
                target, kernels.keys.map_codes(ids, moved), order, twos.astype(narrow)
            )
            known, inside = np.unique(ids, return_inverse=True)
            first = kernels.keys.find_first_rows(inside.astype(narrow), len(known))
            sums = kernels.keys.add_by_fields(keys, records, places)
            found.append([part.tolist() for part in (keys, target, first, sums)])
    assert found[0] == found[1]
    assert found[0][2] == [ones.tolist().index(code) for code in known.tolist()]
    for one, two in set(zip(ones.tolist(), twos.tolist(), strict=True)):
        assert found[0][3][one << 2 | two] == records[(ones == one) & (twos == two)].sum()
    last = {int(moved[ones[row]]): value for row, value in zip(order, twos.tolist(), strict=True)}
    assert found[0][1] == [last.get(place, 0) for place in range(10)]


def test_a_folder_of_somebody_else_is_not_trusted_with_compiled_loops(tmp_path, monkeypatch):
    """What lies in the cache is run: a folder that others can write, or a link to one, is left
    alone.
    """
    import os
    import tempfile

    from sfumato import kernels

    if not hasattr(os, "getuid"):
        pytest.skip("every user has temporary files of his own here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    usual = kernels._own_temporary_folder()
    assert (
        usual.parent == tmp_path
        and usual.stat().st_mode & 0o077 == 0
        and kernels._own_temporary_folder() == usual
    )
    usual.chmod(0o777)
    assert kernels._own_temporary_folder() != usual
    usual.rmdir()
    (tmp_path / "elsewhere").mkdir()
    usual.symlink_to(tmp_path / "elsewhere")
    fresh = kernels._own_temporary_folder()
    assert fresh != usual and fresh.stat().st_mode & 0o077 == 0
