"""What the files of a large release tell: released rows, and nothing of the rest or of the order
they came in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb, on_polars, parts

ENGINES = ["polars", "duckdb"]
RARE = "an illness of one"


def people(rows: int = 900) -> pl.DataFrame:
    """Invented people, one of them alone in a class with an illness nobody else has."""
    return pl.DataFrame(
        {
            "age": [20 + i % 30 for i in range(rows - 1)] + [99],
            "zip": [f"10{i % 7}00" for i in range(rows - 1)] + ["99999"],
            "illness": [f"I{i % 11:02d}" for i in range(rows - 1)] + [RARE],
            "stay": [float(i) for i in range(rows)],
        }
    )


def released(frames: list[pl.DataFrame], engine: str, folder: Path, **options: Any) -> Any:
    """A release of parts that come in this order."""
    folder.mkdir()
    for number, frame in enumerate(frames):
        frame.write_parquet(folder / f"{number}.parquet")
    table = sf.read(folder, engine=engine).with_roles(
        quasi=["age", "zip"], sensitive=["illness"], keep=["stay"]
    )
    described = table.with_hierarchies(age=sf.intervals(5, 10), zip=sf.mask_right(5))
    # Invented rows count up: how long somebody stayed tells the age.
    accept = {"stay": {"implies": "age", "because": "invented"}}
    return sf.anonymize(
        described,
        [sf.KAnonymity(5)],
        [sf.GlobalRecoding(budget=0.02)],
        seed=3,
        options=sf.AnonymizeOptions(accept=accept, **options),
    )


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several batches, and several parts of three hundred rows."""
    monkeypatch.setattr(parts, "ROWS", 300)
    for engine in (on_polars, on_duckdb):
        monkeypatch.setattr(engine, "BATCH", 250)


def decoded(file: Path, folder: Path) -> bytes:
    """The file itself, and the same table with its pages neither compressed nor by dictionary where
    that is read back.
    """
    plain = folder / "plain.parquet"
    pl.read_parquet(file).write_parquet(plain, compression="uncompressed")
    return file.read_bytes() + plain.read_bytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_hold_no_label_of_a_dropped_row(engine: str, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    pq = pytest.importorskip("pyarrow.parquet")
    release = released([people()], engine, tmp_path / "in")
    assert release.suppressed == 1
    for file in release.parts:
        held = decoded(file, tmp_path)
        assert RARE.encode() not in held
        assert b"99999" not in held
        footer = pq.ParquetFile(file).metadata
        for group in range(footer.num_row_groups):
            for column in range(footer.num_columns):
                told = footer.row_group(group).column(column).statistics
                assert told is None or RARE not in (told.min, told.max)
        dictionaries = pq.read_table(file, read_dictionary=["illness"]).column("illness").chunks
        assert all(RARE not in chunk.dictionary.to_pylist() for chunk in dictionaries)


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_do_not_depend_on_the_order_of_rows_or_how_they_are_cut(
    engine: str, tmp_path: Path
) -> None:
    pytest.importorskip(engine)
    frame = people()
    cuts = [frame.slice(0, 400), frame.slice(400)]
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    ways = {
        "whole": [frame],
        "reversed": cuts[::-1],
        "shuffled": [shuffled.slice(0, 100), shuffled.slice(100)],
    }
    releases = [released(way, engine, tmp_path / name) for name, way in ways.items()]
    files = [[file.read_bytes() for file in release.parts] for release in releases]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_are_alike_of_sensible_size_and_out_of_order(engine: str, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    release = released([people()], engine, tmp_path / "in")
    frames = [pl.read_parquet(file) for file in release.parts]
    assert len(frames) == 3
    assert len({tuple(frame.schema.items()) for frame in frames}) == 1
    assert all(200 <= frame.height <= 400 for frame in frames)
    stays = pl.concat(frames)["stay"]
    rises = int((stays.diff().drop_nulls() > 0).sum())
    assert 0.4 * 899 < rises < 0.6 * 899
    assert [file.name for file in release.parts] == [f"part-{i:05d}.parquet" for i in range(3)]
    assert sorted(stays.to_list()) == [float(i) for i in range(899)]


def test_the_same_seed_orders_alike_on_all_engines_and_another_seed_otherwise(
    tmp_path: Path,
) -> None:
    pytest.importorskip("duckdb")
    orders = []
    for engine in ENGINES:
        release = released([people()], engine, tmp_path / engine)
        orders.append(
            pl.concat([pl.read_parquet(file) for file in release.parts])["stay"].to_list()
        )
    assert orders[0] == orders[1]
    as_they_come = released([people()], "polars", tmp_path / "unshuffled", shuffle=False)
    assert sum(pl.read_parquet(file).height for file in as_they_come.parts) == 899


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lazy_frame_outlives_its_release(engine: str, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    data = released([people()], engine, tmp_path / "in").data
    assert (data.collect() if engine == "polars" else data.pl()).height == 899


# Parts that workers elsewhere write.
