"""Spark releases what memory releases: in a session of this machine and through Connect."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_spark, parts, spark_workers
from sfumato.data.lazy import table as engine_table
from sfumato.data.lazy.codes import Coder
from sfumato.errors import OutputError, ParameterError, UnreadableInput
from tests.data.lazy import agreement, test_coarse
from tests.data.lazy import test_planning as grid
from tests.data.lazy.test_run import RECIPES, described, rows_of, table
from tests.spark_sessions import SETTINGS, local_session, spark_in_this_process

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None,
        reason="pyspark is not installed (extra services)",
    ),
    pytest.mark.skipif(
        not (os.environ.get("JAVA_HOME") or shutil.which("java")),
        reason="there is no Java machine, which Spark needs",
    ),
    # pyspark 4 speaks to pandas 3 in words that pandas is about to forget, and leaves sockets to
    # the collector
    pytest.mark.filterwarnings(
        "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
    ),
]
MASTER = "local[2,4]"
PARTITIONS = 4
MEET = [sf.KAnonymity(3), sf.LDiversity("diagnosis", 2)]
REMOTE = [
    "global_recoding",
    "mondrian, relaxed",
    "top_bottom_coding, label",
    "shift_dates",
    "pram, quasi",
    "pseudonymize",
    "all drawn",
]
"""Cases that go through Connect: one of each kind. What workers do with all of them is tested
without Spark (test_workers_in_process).
"""
BOTH = ["global_recoding", "mondrian, relaxed", "pseudonymize", "pram, quasi", "all drawn"]
"""Those of them that a session of this machine makes, too: without a draw, with draws on counts, on
rows, on both, with a key.
"""


@pytest.fixture(scope="module", params=["local", "connect"])
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A session of two workers whose tasks are tried again; a process can have a classic session or
    a remote one, one after the other.
    """
    if request.param == "local":
        with local_session(MASTER, partitions=PARTITIONS) as local:
            yield local
    else:
        with spark_in_this_process():
            yield from _connected(tmp_path_factory.mktemp("spark"))


def _connected(folder: Path) -> Iterator[Any]:
    import pyspark
    from pyspark.sql import SparkSession

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    settings = {
        **SETTINGS,
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    told = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
    places = {
        "SPARK_HOME": str(home),
        "SPARK_LOG_DIR": str(folder),
        "SPARK_PID_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    environment = {**os.environ, **places}
    start = [str(home / "sbin" / "start-connect-server.sh"), "--master", MASTER, *told]
    subprocess.run(start, env=environment, check=True, capture_output=True)
    try:
        _wait_for(port)
        made = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
        yield made
        made.stop()
    finally:
        subprocess.run(
            [str(home / "sbin" / "stop-connect-server.sh")],
            env=environment,
            check=True,
            capture_output=True,
        )


def _wait_for(port: int, seconds: int = 180) -> None:
    for _ in range(seconds * 2):
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    pytest.fail("the Connect server does not answer")


def on_connect(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


_key = grid._key  # a fixture: the key is told here, and to no worker


@pytest.fixture
def people(session: Any, tmp_path: Path) -> Any:
    """The table in three parts, as a Spark frame."""
    frame = table()
    for number in range(3):
        frame.slice(1000 * number, 1000).write_parquet(tmp_path / f"part-{number}.parquet")
    return session.read.parquet(f"file://{tmp_path}")


def collected(release: Any) -> pl.DataFrame:
    return pl.DataFrame(release.data.toArrow())


@functools.cache
def in_memory(name: str) -> Any:
    return sf.anonymize(
        described(sf.read(table())),
        MEET,
        RECIPES[name],
        seed=5,
        options=sf.AnonymizeOptions(format="parquet"),
    )


@pytest.mark.parametrize("name", RECIPES)
def test_spark_releases_what_memory_releases(name: str, people: Any) -> None:
    eager = in_memory(name)
    lazy = sf.anonymize(described(sf.read(people)), MEET, RECIPES[name], seed=5)
    assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
    assert lazy.suppressed == eager.suppressed
    assert lazy.after.to_dict()["class_sizes"] == eager.after.to_dict()["class_sizes"]
    assert [plan.describe() for _, plan in lazy.plans] == [
        plan.describe() for _, plan in eager.plans
    ]
    assert rows_of(collected(lazy)).equals(rows_of(eager.data))


@grid.every_case
def test_every_step_releases_on_spark_what_it_releases_in_memory(
    name: str, session: Any, tmp_path: Path
) -> None:
    if name not in (REMOTE if on_connect(session) else BOTH):
        pytest.skip("a case of its kind is enough")
    grid.table().sample(fraction=1, shuffle=True, seed=3).write_parquet(tmp_path / "people.parquet")
    people = session.read.parquet(f"file://{tmp_path}/people.parquet").repartition(3)
    eager = grid.of_table_in_memory(name)
    lazy = sf.anonymize(
        grid.described(sf.read(people)), [sf.KAnonymity(3)], grid.CASES[name], seed=5
    )
    found, expected = collected(lazy), pl.DataFrame(eager.data)
    assert grid.multiset(found) == grid.multiset(expected)
    assert dict(found.schema) == {
        column: spark_workers.ON_THE_WAY.get(dtype.base_type(), dtype)
        for column, dtype in expected.schema.items()
    }
    assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
    assert lazy.suppressed == eager.suppressed


def test_a_digest_does_not_depend_on_who_holds_the_rows(people: Any) -> None:
    assert sf.read(people).digest == sf.read(table().lazy()).digest


def test_parts_are_whole_ordered_and_alone_in_their_folder(
    people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROWS", 500)
    lazy = sf.anonymize(described(sf.read(people)), MEET, RECIPES["global"], seed=5)
    folder = lazy.parts[0].parent
    assert sorted(folder.iterdir()) == list(lazy.parts)
    assert [part.name for part in lazy.parts] == [
        f"part-{number:05d}.parquet" for number in range(6)
    ]
    order = pl.concat(
        [Coder().hashes(pl.read_parquet(part), parts.order_key(lazy.seed)) for part in lazy.parts]
    )
    assert order.equals(order.sort())
    assert rows_of(pl.read_parquet(lazy.parts)).equals(rows_of(in_memory("global").data))


def test_rows_that_are_not_to_be_shuffled_stay_with_their_worker(people: Any) -> None:
    lazy = sf.anonymize(
        described(sf.read(people.coalesce(1))),
        MEET,
        RECIPES["global"],
        seed=5,
        options=sf.AnonymizeOptions(shuffle=False),
    )
    kept = sf.anonymize(
        described(sf.read(table())),
        MEET,
        RECIPES["global"],
        seed=5,
        options=sf.AnonymizeOptions(shuffle=False, format="parquet"),
    )
    assert len(lazy.parts) == 1
    assert rows_of(collected(lazy)).equals(rows_of(kept.data))


def test_a_worker_that_dies_changes_nothing(
    people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died, write = tmp_path / "died", on_spark._write

    def deadly(native: Any, names: Any, release: Any) -> Any:
        class Once(type(release.job.line)):  # type: ignore[misc]
            def released(self, rows: Any) -> Any:
                made = super().released(rows)
                if not died.exists():
                    died.touch()
                    os._exit(9)
                return made

        line = release.job.line
        fields = {field.name: getattr(line, field.name) for field in dataclasses.fields(line)}
        job = dataclasses.replace(release.job, line=Once(**fields))
        return write(native, names, dataclasses.replace(release, job=job))

    monkeypatch.setattr(on_spark, "_write", deadly)
    lazy = sf.anonymize(described(sf.read(people)), MEET, RECIPES["global"], seed=5)
    assert died.exists()
    assert rows_of(collected(lazy)).equals(rows_of(in_memory("global").data))


def losing(lose: Callable[[Path], Any]) -> type[spark_workers.Writing]:
    """A worker whose first part is not what it says it wrote: made here, since workers do not know
    this module.
    """

    class Losing(spark_workers.Writing):
        def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
            yield from super().__call__(batches)
            for file in Path(self.release.folder).glob("0-*.parquet"):
                lose(file)

    return Losing


@pytest.mark.parametrize(
    "lose",
    [lambda file: file.unlink(), lambda file: pl.read_parquet(file)[1:].write_parquet(file)],
    ids=["all", "row"],
)
def test_a_part_that_is_lost_ends_the_release(
    lose: Callable[[Path], Any], people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROWS", 1000)
    monkeypatch.setattr(on_spark, "Writing", losing(lose))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(OutputError, match="is missing from the release"):
        sf.anonymize(described(sf.read(people)), MEET, RECIPES["global"], seed=5)
    assert {file.suffix for file in tmp_path.iterdir()} == {
        ".parquet"
    }  # what was read, nothing else


def test_a_worker_that_sees_another_disk_is_named(
    people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = on_spark.Releasing

    def elsewhere(job: Any, types: Any, folder: str) -> Any:
        return moved(job, types, f"{folder} on another disk")

    monkeypatch.setattr(on_spark, "Releasing", elsewhere)
    with pytest.raises(ParameterError, match="TMPDIR"):
        sf.anonymize(described(sf.read(people)), MEET, RECIPES["global"], seed=5)


def test_a_table_that_changes_between_two_passes_is_refused(
    people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_spark, "_gathered", lambda native, names, job: native.limit(2000))
    with pytest.raises(UnreadableInput, match="changed while it was being released"):
        sf.anonymize(described(sf.read(people)), MEET, RECIPES["global"], seed=5)


def test_the_driver_gets_one_sample_whatever_the_partitions(
    people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.data.lazy.run.SAMPLE", 70)
    came, arrived = list[int](), on_spark._collected

    def counting(frame: Any) -> pl.DataFrame:
        found = arrived(frame)
        came.append(found.height)
        return found

    monkeypatch.setattr(on_spark, "_collected", counting)
    expected = sf.anonymize(
        described(sf.read(table().lazy())), MEET, RECIPES["global"], seed=5
    ).sample
    for number in (1, 20):
        found = sf.anonymize(
            described(sf.read(people.repartition(number))), MEET, RECIPES["global"], seed=5
        ).sample
        assert found.original.to_polars().equals(expected.original.to_polars())
        assert found.drawn_from == 3000
    assert came == [1, 1]


def test_errors_of_spark_show_no_values(people: Any, capfd: pytest.CaptureFixture[str]) -> None:
    broken = people.selectExpr("*", "cast(patient_name as int) as number")
    with pytest.raises(UnreadableInput) as caught:
        sf.read(broken).counted(["number"])
    names = table()["patient_name"].to_list()
    told = "".join([str(caught.value), *capfd.readouterr()])
    assert not any(name in told for name in names)
    assert caught.value.__suppress_context__


def test_errors_of_workers_show_no_values_and_keep_their_name(
    people: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(rows: pl.DataFrame) -> pl.DataFrame:
        raise ParameterError("this is refused (by rule)")

    def fail(rows: pl.DataFrame) -> pl.DataFrame:
        raise ValueError(rows["patient_name"][0])

    with pytest.raises(ParameterError, match=r"this is refused \(by rule\)"), on_spark.guarded():
        people.mapInArrow(spark_workers.Worker(refuse), people.schema).count()
    with pytest.raises(UnreadableInput, match="ValueError") as caught, on_spark.guarded():
        people.mapInArrow(spark_workers.Worker(fail), people.schema).count()
    told = "".join([str(caught.value), *capfd.readouterr()])
    assert not any(name in told for name in table()["patient_name"].to_list())


def test_rows_come_in_batches(people: Any) -> None:
    held = sf.read(people)
    assert held.records == 3000
    assert rows_of(held.collected().to_polars()).equals(rows_of(table()))


def test_names_with_dots_are_names(people: Any) -> None:
    held = sf.read(people.select("sex").toDF("a.b `c`"))
    assert sum(held.counted(["a.b `c`"]).copies) == 3000


def test_columns_are_known_by_their_number(session: Any, tmp_path: Path) -> None:
    """Whatever their names mean to Spark, and with names that differ in capitals alone."""
    names = ["a.b", "a`b", "`", ".", "a..b", "a b", "select"]
    frame = pl.DataFrame({name: [1, 2, 2, 1] * 10 for name in names})
    frame.write_parquet(tmp_path / "a.parquet")
    people = session.read.parquet(f"file://{tmp_path}/a.parquet")
    steps = [sf.GlobalRecoding(), sf.AddNoise(["."], 0.1, method="uncorrelated")]
    options = sf.AnonymizeOptions(format="parquet")

    def describe(data: Any) -> Any:
        return data.with_roles(quasi=names[:2], keep=names[2:])

    lazy = sf.anonymize(describe(sf.read(people)), [sf.KAnonymity(3)], steps, seed=1)
    eager = sf.anonymize(
        describe(sf.read(frame)), [sf.KAnonymity(3)], steps, seed=1, options=options
    )
    assert grid.multiset(pl.read_parquet(list(lazy.parts))) == grid.multiset(eager.data)


def test_names_that_a_session_takes_for_one_are_refused_by_position(
    session: Any, tmp_path: Path
) -> None:
    pl.DataFrame({"Age": [1], "sex": ["f"], "age": [2]}).write_parquet(tmp_path / "a.parquet")
    before = session.conf.get("spark.sql.caseSensitive")
    try:
        session.conf.set("spark.sql.caseSensitive", "false")
        with pytest.raises(UnreadableInput, match="columns number 1 and 3"):
            sf.read(tmp_path, engine="spark")
        session.conf.set("spark.sql.caseSensitive", "true")
        assert sf.read(tmp_path, engine="spark").counted(["age"]).column("age").to_list() == [2]
    finally:
        session.conf.set("spark.sql.caseSensitive", before)


@pytest.mark.parametrize("most", [320, 10])
def test_levels_are_planned_where_combinations_do_not_fit(
    most: int, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if on_connect(session) and most == 10:
        pytest.skip("a case of its kind is enough")
    frame, meet = test_coarse.people(), [sf.KAnonymity(4)]
    frame.write_parquet(tmp_path / "a.parquet")
    people = session.read.parquet(f"file://{tmp_path}/a.parquet").repartition(3)
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", most)
    lazy = sf.anonymize(
        test_coarse.described(sf.read(people)), meet, [sf.GlobalRecoding(budget=0.05)], seed=2
    )
    floor = sf.GlobalRecoding(budget=0.05, levels=lazy.planned_steps[0].levels)
    options = sf.AnonymizeOptions(format="parquet")
    eager = sf.anonymize(
        test_coarse.described(sf.read(frame)), meet, [floor], seed=2, options=options
    )
    assert "least within levels ≥" in test_coarse.plan_of(lazy)["warning"]
    assert test_coarse.rows_of(pl.read_parquet(list(lazy.parts))).equals(
        test_coarse.rows_of(eager.data)
    )


@pytest.mark.parametrize("number", range(6000, 6006))
def test_random_tables_and_recipes(number: int, session: Any, tmp_path: Path) -> None:
    if on_connect(session):
        pytest.skip("one session is enough")

    assert session.conf.get("spark.sql.caseSensitive")  # the session is active
    agreement.HOLDERS["spark"] = agreement.in_folder("spark")
    assert agreement.disagreement(number, "spark", tmp_path) is None


def test_a_folder_is_read_by_the_active_session(people: Any, tmp_path: Path) -> None:
    held = described(sf.read(tmp_path, engine="spark"))
    assert held.engine is on_spark
    assert "spark" in repr(held)
    assert held.frame.to_native().sparkSession is people.sparkSession


def test_a_release_of_spark_is_published_and_verified(people: Any, tmp_path: Path) -> None:
    release = sf.anonymize(described(sf.read(people)), MEET, RECIPES["global"], seed=5)
    release.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out" / "share").holds


def test_times_of_day_are_refused_by_position(session: Any, tmp_path: Path) -> None:
    file = tmp_path / "visits.parquet"
    people = pl.DataFrame({"age": [30, 40], "seen": [8, 9]})
    people.with_columns(pl.col("seen").cast(pl.Time)).write_parquet(file)
    with pytest.raises(UnreadableInput, match="column number 2 holds times of day"):
        on_spark.opened([file], memory=1 << 30)
