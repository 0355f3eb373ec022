"""What workers of Spark do with the rows that each has: look at them, release them, write them, and
tell what they did."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.lazy import spark_workers
from sfumato.errors import OutputError
from tests.data.lazy.test_parts import small  # noqa: F401 - a fixture


@given(cuts=st.lists(st.integers(1, 20), min_size=1, max_size=8), group=st.integers(1, 9))
def test_a_part_of_a_worker_does_not_depend_on_how_its_rows_come(
    cuts: list[int], group: int
) -> None:
    pytest.importorskip("pyarrow")
    whole = pl.DataFrame(
        {"a": range(sum(cuts)), "b": [str(number % 5) for number in range(sum(cuts))]}
    )
    places = [sum(cuts[:number]) for number in range(len(cuts))]
    found = list[bytes]()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_workers, "BATCH", group)
        for pieces in (
            [whole],
            [whole[start : start + size] for start, size in zip(places, cuts, strict=True)],
        ):
            file = spark_workers._File(Path(folder), 3)
            for piece in pieces:
                file.add(piece)
            file.close()
            assert file.rows == len(whole)
            assert pl.read_parquet(file.path).equals(whole)
            found.append(file.path.read_bytes())
    assert found[0] == found[1]


def test_a_full_disk_of_a_worker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", full)
    file = spark_workers._File(tmp_path, 0)
    file.add(pl.DataFrame({"a": [1]}))
    with pytest.raises(OutputError, match="No space left on device"):
        file.close()
