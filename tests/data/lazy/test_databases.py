"""Tables of databases: counted and read where they are, told by types, refused by name."""

from __future__ import annotations

import datetime
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import table as engine_table
from sfumato.data.lazy.databases import RUNNING, Name, Transaction, address
from sfumato.data.lazy.drivers import begun
from sfumato.errors import (
    MissingExtra,
    OutputError,
    ParameterError,
    ReleaseRefused,
    UnreadableInput,
)
from sfumato.interfaces.cli import main
from sfumato.release.read_back import Target
from tests.data.lazy.test_run import RECIPES, described, rows_of, table

MEET = [sf.KAnonymity(3), sf.LDiversity("diagnosis", 2)]
FILES = ["sqlite", "duckdb"]
EVERY = [*FILES, pytest.param("postgresql", marks=pytest.mark.service)]


def uri_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """A database of a kind, empty."""
    if kind == "postgresql":
        given: str = request.getfixturevalue("postgresql")
        for other in list(RUNNING):  # tables of earlier tests, held by what they raised
            other.close()
        made = begun(address(given), write=True)
        for name in made.names():
            if name.schema == "public":
                made.execute(f"DROP TABLE {name.quoted}")
        made.commit()
        made.close()
        return given
    if kind == "duckdb":
        pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
    return f"{kind}:///{folder / ('tables.' + kind)}"


def filled(uri: str, frame: pl.DataFrame, name: str = "visits") -> str:
    """The same database with a table."""
    made = begun(address(uri), write=True)
    made.put(Name.of(name), made.storable(frame), create=True)
    made.commit()
    made.close()
    return uri


def in_rows(data: Any) -> pl.DataFrame:
    return rows_of(data.collect() if isinstance(data, pl.LazyFrame) else data.pl())


@pytest.mark.parametrize("kind", EVERY)
def test_a_database_releases_what_memory_releases(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table())
    held = described(sf.read(uri, table="visits"))
    assert held.records == 3000
    for steps in RECIPES.values():
        eager = sf.anonymize(
            described(sf.read(table())),
            MEET,
            steps,
            seed=5,
            options=sf.AnonymizeOptions(format="parquet"),
        )
        lazy = sf.anonymize(held, MEET, steps, seed=5)
        assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
        assert in_rows(lazy.data).equals(rows_of(eager.data))


@pytest.mark.parametrize("kind", EVERY)
def test_combinations_that_do_not_fit_are_counted_at_levels(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table())
    step = sf.GlobalRecoding(budget=0.05)
    monkeypatch.setattr(engine_table, "MOST_COMBINATIONS", 1200)
    lazy = sf.anonymize(described(sf.read(uri, table="visits")), [sf.KAnonymity(3)], [step], seed=5)
    begun_at = lazy.planned_steps[0].levels
    assert begun_at
    eager_step = sf.GlobalRecoding(budget=0.05, levels=begun_at)
    eager = sf.anonymize(
        described(sf.read(table())),
        [sf.KAnonymity(3)],
        [eager_step],
        seed=5,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    assert in_rows(lazy.data).equals(rows_of(eager.data))


@pytest.mark.parametrize("kind", EVERY)
def test_a_whole_table_can_be_read_into_memory(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table())
    read = sf.read(uri, table="visits", engine="memory")
    assert rows_of(read.to_polars()).equals(rows_of(table()))
    assert (
        read.source.digest == sf.read(uri, table="visits").digest == sf.read(table().lazy()).digest
    )


KINDS_OF_VALUES = pl.DataFrame(
    {
        "whole": [1, None, -3],
        "real": [1.5, None, -0.25],
        "text": ['O\'Neil "x"', None, "é;%s $1"],
        "truth": [True, None, False],
        "day": [datetime.date(2026, 1, 31), None, datetime.date(1899, 12, 31)],
        "moment": [
            datetime.datetime(2026, 1, 31, 23, 59, 59, 123456),
            None,
            datetime.datetime(2026, 1, 31),
        ],
        "bytes": [b"\x00x", None, b""],
        "nothing": pl.Series([None, None, None], dtype=pl.String),
        'odd "name", %': ["a", "b", None],
    }
)


@pytest.mark.parametrize("kind", EVERY)
def test_values_of_every_type_come_back_as_they_were(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), KINDS_OF_VALUES)
    read = sf.read(uri, table="visits", engine="memory").to_polars()
    assert rows_of(read).equals(rows_of(KINDS_OF_VALUES))
    assert dict(read.schema) == dict(KINDS_OF_VALUES.schema)


@pytest.mark.parametrize("kind", EVERY)
def test_spellings_that_a_collation_takes_for_one_are_two(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = uri_of(kind, tmp_path, request)
    made = begun(address(uri), write=True)
    collation = {
        "sqlite": "COLLATE NOCASE",
        "duckdb": "COLLATE NOCASE",
        "postgresql": "COLLATE alike",
    }[kind]
    if kind == "postgresql":
        made.execute("DROP COLLATION IF EXISTS alike")
        made.execute(
            "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic ="
            " false)"
        )
    made.execute(f"CREATE TABLE visits (a text {collation})")
    made.execute("INSERT INTO visits VALUES ('x'), ('X'), ('x')")
    made.commit()
    made.close()
    counted = sf.read(uri, table="visits").counted(["a"])
    assert dict(zip(counted.column("a").to_list(), counted.copies.tolist(), strict=True)) == {
        "x": 2,
        "X": 1,
    }


@pytest.mark.service
def test_numbers_of_postgresql_are_exact(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    uri = uri_of("postgresql", tmp_path, request)
    made = begun(address(uri), write=True)
    made.execute(
        "CREATE TABLE visits (a numeric(10, 2), b numeric, c uuid, d inet, e int[], f jsonb, g"
        " char(3))"
    )
    made.execute(
        "INSERT INTO visits VALUES (1.50, 1.5, gen_random_uuid(), '10.0.0.1', '{1,2}', '{\"a\":"
        " 1}', 'ab')"
    )
    made.execute(
        "INSERT INTO visits VALUES (12345678.91, 0.1234567890123456789, NULL, NULL, NULL, NULL,"
        " NULL)"
    )
    made.commit()
    made.close()
    read = sf.read(uri, table="public.visits", engine="memory").to_polars()
    assert sorted(read["a"].to_list()) == [Decimal("1.50"), Decimal("12345678.91")]
    assert sorted(read["b"].to_list()) == [Decimal("0.1234567890123456789"), Decimal("1.5")]
    assert read["e"].drop_nulls().to_list() == ["{1,2}"]
    made = begun(address(uri), write=True)
    made.execute("CREATE TABLE bad (a numeric)")
    made.execute("INSERT INTO bad VALUES ('NaN'), (7123.5)")
    made.commit()
    made.close()
    with pytest.raises(UnreadableInput) as told:
        sf.read(uri, table="bad", engine="memory")
    assert "7123" not in str(told.value)


# What is refused, and in which words.


def test_a_column_of_sqlite_with_several_types_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "mixed.db"
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE visits (age, cost)")
        made.executemany("INSERT INTO visits VALUES (?, ?)", [(41, 1), ("secret", 2.5)])
    made.close()
    with pytest.raises(
        UnreadableInput, match=r"column 'age' .* several types \(integer, text\)"
    ) as told:
        sf.read(f"sqlite:///{file}", table="visits", engine="memory")
    assert "secret" not in str(told.value) and "41" not in str(told.value)


@pytest.mark.parametrize("kind", EVERY)
def test_a_table_that_is_not_there_is_named(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table(10))
    with pytest.raises(UnreadableInput, match=r"has no table 'visit'\. Did you mean 'visits'"):
        _ = sf.read(uri, table="visit").columns
    with pytest.raises(UnreadableInput, match="has no table"):
        _ = sf.read(uri, table='visits"; DROP TABLE visits; --'.replace('"', "")).columns
    assert sf.read(uri, table="visits").records == 10


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://me:s3cret@db.example/clinic",
        "postgresql://me:@db.example/clinic",
        "postgresql://db.example/clinic?password=s3cret",
        "postgres://:s3cret@/clinic",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(ParameterError, match="PGPASSWORD") as told:
        sf.read(uri, table="visits")
    assert "s3cret" not in str(told.value) and "me" not in str(told.value).split("address")[0]


def test_addresses_and_names_are_told_without_a_user() -> None:
    assert address("postgresql://me@h:5/d?sslmode=require").shown == "postgresql://h:5/d"
    assert "me@" not in repr(address("postgresql://me@h/d"))
    assert Name.of('a."b.c"').quoted == '"a"."b.c"'
    assert Name.of('"say ""x"""').quoted == '"say ""x"""'
    for wrong in ("", "a.b.c", "a..b", 'a"b', "a."):
        with pytest.raises(ParameterError):
            Name.of(wrong)
    with pytest.raises(ParameterError, match="three slashes"):
        address("sqlite://file.db")
    with pytest.raises(ParameterError, match="say which table"):
        sf.read("sqlite:///file.db")
    with pytest.raises(ParameterError, match="names a table of a database"):
        sf.read(table(5), table="visits")
    with pytest.raises(ParameterError, match="is read by its database or into memory, not by"):
        sf.read("sqlite:///file.db", table="a", engine="polars")


@pytest.mark.parametrize("kind", FILES)
def test_files_that_are_none_are_named(kind: str, tmp_path: Path) -> None:
    if kind == "duckdb":
        pytest.importorskip("duckdb")
    (tmp_path / "text.db").write_text("name,age\nAlice,41\n" * 100)
    for file in ("text.db", "gone.db"):
        with pytest.raises(UnreadableInput) as told:
            _ = sf.read(f"{kind}:///{tmp_path / file}", table="visits").columns
        assert "Alice" not in str(told.value)
    assert not (tmp_path / "gone.db").exists()


@pytest.mark.service
def test_a_server_that_is_away_is_named() -> None:
    pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is not installed")
    with pytest.raises(
        UnreadableInput, match=r"postgresql://127\.0\.0\.1:1/clinic cannot be reached"
    ) as told:
        _ = sf.read("postgresql://me@127.0.0.1:1/clinic", table="visits").columns
    assert "me@" not in str(told.value)


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(MissingExtra, match="sfumato\\[sql\\]"):
        _ = sf.read("postgresql:///clinic", table="visits").columns


# The digest of rows.


# Writing a release into a database.


def released(uri: str, **options: Any) -> sf.Release:
    """A release of the table that is there."""
    return sf.anonymize(
        described(sf.read(uri, table="visits")), MEET, RECIPES["global"], seed=5, **options
    )


@pytest.mark.parametrize("kind", EVERY)
def test_a_release_is_written_into_the_database_it_comes_from(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table())
    held = described(sf.read(uri, table="visits"))
    release = sf.anonymize(held, MEET, RECIPES["global"], seed=5)
    release.write_table(uri, "visits_released")
    stored = sf.read(uri, table="visits_released", engine="memory").to_polars()
    assert rows_of(stored).equals(in_rows(release.data))
    assert (
        held.digest == release.original.source.digest
    )  # the original is still there, and read again
    with pytest.raises(OutputError, match="already exists"):
        release.write_table(uri, "visits_released")
    release.write_table(uri, "visits_released", force=True)
    assert sf.read(uri, table="visits_released").records == release.released.records
    for name in ("visits", "main.visits", "public.visits"):
        with pytest.raises(
            OutputError, match=r"the original table|not an earlier one|cannot be written"
        ):
            release.write_table(uri, name, force=True)
    assert sf.read(uri, table="visits").records == 3000


@pytest.mark.parametrize("kind", EVERY)
def test_an_eager_release_is_written_into_a_database_beside_its_folder(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = uri_of(kind, tmp_path, request)
    release = sf.anonymize(
        described(sf.read(table())),
        MEET,
        sf.Mondrian(),
        seed=5,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    release.write(
        tmp_path / "out",
        format="parquet",
        options=sf.WriteOptions(into=uri, into_table="visits_released"),
    )
    stored = sf.read(uri, table="visits_released", engine="memory").to_polars()
    assert rows_of(stored).equals(rows_of(release.data))
    told = (tmp_path / "out" / "share" / "certificate.json").read_text()
    named = json.loads(told)["data"]["table"]
    assert (named["name"], named["kind"]) == ("visits_released", kind)
    assert named["rows_digest"] == sf.read(uri, table="visits_released").digest
    assert uri not in told
    assert sf.verify(tmp_path / "out" / "share").holds


@pytest.mark.parametrize("kind", EVERY)
def test_a_database_that_changes_values_keeps_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table())
    release = released(uri)
    driver = type(begun(address(uri)))
    put = driver.put

    def other(self: Any, name: Name, rows: pl.DataFrame, *, create: bool) -> None:
        put(self, name, rows.with_columns(pl.lit("*").alias("ward")), create=create)

    monkeypatch.setattr(driver, "put", other)
    with pytest.raises(OutputError, match="does not return the rows"):
        release.write(
            tmp_path / "out", options=sf.WriteOptions(into=uri, into_table="visits_released")
        )
    assert not (tmp_path / "out").exists()
    with pytest.raises(UnreadableInput, match="has no table"):
        _ = sf.read(uri, table="visits_released").columns


@pytest.mark.parametrize("kind", EVERY)
def test_a_table_that_breaks_a_promise_there_is_not_kept(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What was certified is compared with what is counted in the database."""
    import dataclasses

    uri = filled(uri_of(kind, tmp_path, request), table())
    release = released(uri)
    sizes = dataclasses.replace(release.after, class_sizes={**release.after.class_sizes, 1: 1})
    with pytest.raises(ReleaseRefused, match="differs from what was certified"):
        dataclasses.replace(release, after=sizes).write_table(uri, "visits_released")
    with pytest.raises(UnreadableInput, match="has no table"):
        _ = sf.read(uri, table="visits_released").columns


def spellings(kind: str, uri: str, folder: Path) -> list[tuple[str, str]]:
    """Other ways to say the same database, with names of the same table."""
    if kind == "postgresql":
        port = os.environ["PGPORT"]
        hosts = [
            f"//127.0.0.1:{port}",
            f"//localhost:{port}",
            "//",
            f"//test@{os.environ['PGHOST'].replace('/', '%2F')}",
        ]
        return [
            (f"postgresql:{host}/postgres", name)
            for host in hosts
            for name in ("visits", "public.visits")
        ]
    (folder / "link.db").symlink_to(address(uri).file)
    os.link(address(uri).file, folder / "hard.db")
    (folder / "beside").mkdir()
    paths = [
        folder / "link.db",
        folder / "hard.db",
        folder / "beside" / ".." / address(uri).file.name,
    ]
    return [
        (f"{kind}:///{path}", name)
        for path in paths
        for name in ("visits", "VISITS", "main.visits")
    ]


@pytest.mark.parametrize("engine", [None, "memory"])
@pytest.mark.parametrize("kind", EVERY)
def test_the_original_is_never_replaced_however_it_is_spelled(
    kind: str, engine: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A release of all columns: the columns alone would not tell that it is no earlier release."""
    people = table(200).select("age", "sex", "cost")
    uri = filled(uri_of(kind, tmp_path, request), people)
    filled(uri, people, "earlier")
    held = sf.read(uri, table="visits", engine=engine).with_roles(
        quasi=["age", "sex"], keep=["cost"]
    )
    held = held.with_hierarchies(age=sf.intervals(5, 10, 20), sex=sf.suppress())
    release = sf.anonymize(held, [sf.KAnonymity(3)], RECIPES["global"], seed=5)
    for other, name in spellings(kind, uri, tmp_path):
        with pytest.raises(OutputError, match="is the original table"):
            release.write_table(other, name, force=True)
        with pytest.raises(OutputError, match="is the original table"):
            Target(other, name, force=True).require_room(held.source)
        release.write_table(
            other, "earlier", force=True
        )  # another table of the same database is replaced
    assert rows_of(sf.read(uri, table="visits", engine="memory").to_polars()).equals(
        rows_of(people)
    )


@pytest.mark.service
def test_a_user_who_is_not_told_the_number_of_the_cluster_is_told_the_original(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of("postgresql", tmp_path, request), table(20))
    found = begun(address(uri), write=True)
    known = found.identity(Name.of("visits"))
    found.execute("CREATE ROLE guest LOGIN")
    found.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    found.commit()
    found.close()
    try:
        by_socket, by_port = (
            begun(address(place)).identity(Name.of("visits"))
            for place in (
                "postgresql://guest@/postgres",
                f"postgresql://guest@localhost:{os.environ['PGPORT']}/postgres",
            )
        )
        assert by_socket == by_port != known
        assert begun(address(uri)).identity(Name.of("gone")) is None
    finally:
        back = begun(address(uri), write=True)
        back.execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
        back.execute("DROP ROLE guest")
        back.commit()
        back.close()


def test_a_database_without_all_its_ways_cannot_be_begun() -> None:
    class Half(Transaction):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Half(address("sqlite:///x.db"), write=False)  # type: ignore[abstract]


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
import sfumato as sf
from sfumato.data.lazy import drivers
from tests.data.lazy.test_databases import described, MEET, RECIPES
driver = drivers.TRANSACTIONS[{kind!r}]
whole = driver.{moment}
def killed(self, *args, **options):
    if {moment!r} == "put":
        whole(self, *args, **options)
    os.kill(os.getpid(), signal.SIGKILL)
release = sf.anonymize(described(sf.read({uri!r}, table="visits")), MEET, RECIPES["global"], seed=5)
driver.{moment} = killed
release.write({folder!r}, options=sf.WriteOptions(into={uri!r}, into_table="visits_released"))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("moment", ["put", "commit"])
@pytest.mark.parametrize("kind", EVERY)
def test_a_run_that_is_killed_leaves_no_table(
    kind: str, moment: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table())
    root = str(Path(__file__).parents[3])
    script = KILLED.format(
        root=root, kind=kind, moment=moment, uri=uri, folder=str(tmp_path / "out")
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (tmp_path / "out").exists()
    with pytest.raises(UnreadableInput, match="has no table"):
        _ = sf.read(uri, table="visits_released").columns
    released(uri).write(
        tmp_path / "out", options=sf.WriteOptions(into=uri, into_table="visits_released")
    )
    assert sf.verify(tmp_path / "out" / "share").holds
    assert [file.name for file in tmp_path.iterdir() if "sfumato-new" in file.name] == []


@pytest.mark.service
def test_a_read_only_database_is_named(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = filled(uri_of("postgresql", tmp_path, request), table())
    release = released(uri)
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
    with pytest.raises(OutputError, match="the database is read-only"):
        release.write_table(uri, "visits_released")


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_cannot_be_written_is_named(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = released(filled(uri_of(kind, tmp_path, request), table()))
    with pytest.raises(OutputError, match="cannot be written to"):
        release.write_table(f"{kind}:///{tmp_path / 'nowhere' / 'x.db'}", "visits_released")
    file = tmp_path / "fresh.db"
    monkeypatch.setattr(type(begun(address(f"{kind}:///{file}"), write=True)), "put", _fails)
    file.unlink(missing_ok=True)
    with pytest.raises(OutputError, match="no room"):
        release.write_table(f"{kind}:///{file}", "visits_released")
    assert not file.exists()


def _fails(self: Any, *_: Any, **__: Any) -> None:
    raise OutputError("no room")


RECIPE = """
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  sex: {role: quasi, hierarchy: suppress}
  cost: {role: keep, kind: numeric}
meet:
  - k_anonymity: {k: 3}
steps:
  - global_recoding: {suppress: tuple, budget: 0.1}
"""


@pytest.fixture
def sfumato(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line in this process; gives its exit code."""

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return run


@pytest.mark.parametrize("kind", FILES)
def test_the_commands_take_tables_of_databases(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, sfumato: Callable[..., int]
) -> None:
    uri = filled(uri_of(kind, tmp_path, request), table().select("age", "sex", "cost"))
    recipe, out = tmp_path / "r.yaml", tmp_path / "out"
    recipe.write_text(RECIPE)
    said = ("-r", str(recipe))
    words = (
        "run",
        uri,
        "--table",
        "visits",
        *said,
        "-o",
        str(out),
        "--into",
        uri,
        "--into-table",
        "released",
    )
    assert sfumato(*words) == 0
    assert sfumato("check", uri, "--table", "released", *said) == 0
    assert sfumato("check", uri, "--table", "visits", *said) == 1
    assert sfumato("assess", uri, "--table", "visits", *said) == 0
    assert sfumato("verify", str(out / "share"), "--original", uri, "--table", "visits") == 0
    assert sfumato("verify", str(out / "share"), "--original", uri, "--table", "released") == 1
    again = (
        "run",
        uri,
        "--table",
        "visits",
        *said,
        "-o",
        str(tmp_path / "two"),
        "--into",
        uri,
        "--into-table",
    )
    assert sfumato(*again, "released") == 2
    assert sfumato(*again, "visits", "--force") == 2
    assert sfumato("run", uri, *said, "-o", str(tmp_path / "two")) == 2
    assert sfumato("run", uri, "--table", "gone", *said, "-o", str(tmp_path / "two")) == 5
    assert (
        sfumato("run", "postgresql://me:x@h/d", "--table", "a", *said, "-o", str(tmp_path / "two"))
        == 2
    )
    assert not (tmp_path / "two").exists()


def test_a_file_of_sqlite_is_not_held_and_a_change_is_seen(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = filled(uri_of("sqlite", tmp_path, request), table(50))
    held = sf.read(uri, table="visits")
    assert held.counted(["age"]).records == 50
    other = sqlite3.connect(address(uri).file, timeout=0)
    other.execute("DELETE FROM visits WHERE age > 40")
    other.commit()
    other.close()
    with pytest.raises(UnreadableInput, match="was changed since"):
        list(held.batches())
    assert sf.read(uri, table="visits").records < 50
