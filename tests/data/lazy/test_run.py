"""A table that an engine holds is released as it would be in memory."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.pseudonyms.pseudonyms import Assignment, Storing
from sfumato.methods.steps.pseudonyms.vault import Domain

RECIPES: dict[str, list[Any]] = {
    "global": [sf.GlobalRecoding(budget=0.1)],
    "global without dropping": [sf.GlobalRecoding(suppress="none")],
    "strict mondrian": [sf.Mondrian()],
}
ENGINES = ["polars", "duckdb"]


def table(rows: int = 3000) -> pl.DataFrame:
    """Invented people."""
    return sf.examples.hospital(rows).to_polars()


def described(data: Any) -> Any:
    return data.with_roles(
        drop=["patient_name", "insurance_number", "email"],
        quasi=["age", "sex", "zip"],
        sensitive=["diagnosis", "cost"],
        keep=[
            "ward",
            "length_of_stay",
            "nationality",
            "marital_status",
            "occupation",
            "admission_date",
        ],
    ).with_hierarchies(age=sf.intervals(5, 10, 20), zip=sf.mask_right(5), sex=sf.suppress())


def held(engine: str, folder: Path) -> Any:
    """The table in three parts, held by an engine."""
    frame, third = table(), 1000
    for number in range(3):
        frame.slice(third * number, third).write_parquet(folder / f"part-{number}.parquet")
    return described(sf.read(folder, engine=engine))


def rows_of(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in an order of their own."""
    return frame.select(sorted(frame.columns)).sort(sorted(frame.columns))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", RECIPES)
def test_an_engine_releases_what_memory_releases(engine: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    meet = [sf.KAnonymity(3), sf.LDiversity("diagnosis", 2)]
    eager = sf.anonymize(
        described(sf.read(table())),
        meet,
        RECIPES[name],
        seed=5,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    lazy = sf.anonymize(held(engine, tmp_path), meet, RECIPES[name], seed=5)
    assert [v.to_dict() for v in lazy.verdicts] == [v.to_dict() for v in eager.verdicts]
    assert lazy.suppressed == eager.suppressed
    assert lazy.after.to_dict()["class_sizes"] == eager.after.to_dict()["class_sizes"]
    native = lazy.data.collect() if engine == "polars" else lazy.data.pl()
    assert rows_of(native).equals(rows_of(eager.data))


COARSE = [sf.GlobalRecoding(budget=0.1)]
KEY = {"env": "SFUMATO_TEST_KEY"}


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", "a key of the tests, 0123456789")


@pytest.mark.parametrize(
    "first", [sf.Round(["cost", "age"], 2), sf.Sample(0.7)], ids=["cells", "records"]
)
def test_what_was_masked_before_a_search_can_be_written(first: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    steps = [first, *COARSE]
    large = sf.anonymize(held("polars", tmp_path / "in"), [sf.KAnonymity(3)], steps, seed=5)
    eager = sf.anonymize(
        described(sf.read(table())),
        [sf.KAnonymity(3)],
        steps,
        seed=5,
        options=sf.AnonymizeOptions(format="parquet"),
    )
    large.write(tmp_path / "out")
    assert large.alternatives().to_dict() == eager.alternatives().to_dict()


@pytest.mark.usefixtures("_key")
def test_a_vault_remembers_whoever_is_in_the_parts(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    vault = str(tmp_path / "vault")
    steps = [sf.Pseudonymize("email", method="random_table", key=KEY, vault=vault), *COARSE]
    large = sf.anonymize(held("polars", tmp_path / "in"), [sf.KAnonymity(3)], steps, seed=5)
    assert not Path(vault).exists()
    large.write(tmp_path / "out")
    again = sf.anonymize(described(sf.read(table())), [sf.KAnonymity(3)], steps, seed=6)
    assert set(again.data["email"]) == set(pl.read_parquet(list(large.parts))["email"])
    plans = dict(again.plans)
    assert plans["pseudonymize"].effort()["new_pseudonyms"] == 0


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("method", ["keyed", "format_preserving"])
def test_people_too_many_to_list_get_the_same_pseudonyms(
    method: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [sf.Pseudonymize("insurance_number", method=method, key=KEY), *COARSE]
    listed = sf.anonymize(
        held("polars", tmp_path), [sf.KAnonymity(3)], steps, seed=5
    ).data.collect()
    monkeypatch.setattr("sfumato.methods.steps.pseudonyms.pseudonyms.MOST_IDENTITIES", 10)
    monkeypatch.setattr("sfumato.data.lazy.on_polars.BATCH", 700)
    made = sf.anonymize(
        described(sf.read(tmp_path, engine="polars")), [sf.KAnonymity(3)], steps, seed=5
    )
    assert rows_of(made.data.collect()).equals(rows_of(listed))
    assert "not counted" in " ".join(dict(made.plans)["pseudonymize"].warnings)


@pytest.mark.usefixtures("_key")
def test_what_needs_a_list_of_people_is_refused_where_they_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.methods.steps.pseudonyms.pseudonyms.MOST_IDENTITIES", 10)
    people = held("polars", tmp_path)
    with pytest.raises(SchemaError, match="counter needs a list of them all"):
        sf.anonymize(
            people,
            [sf.KAnonymity(3)],
            [sf.Pseudonymize("email", method="counter"), *COARSE],
            seed=5,
        )
    with pytest.raises(ParameterError, match="may share a code of length"):
        sf.anonymize(
            people,
            [sf.KAnonymity(3)],
            [sf.Pseudonymize("email", key=KEY, length=5), *COARSE],
            seed=5,
        )


def test_workers_are_not_told_what_is_in_the_vault() -> None:
    storing = Storing(Path("vault"), b"the key", "", Domain("counter", {"=Ann": "1"}))
    given = pickle.loads(
        pickle.dumps(Assignment(["=Ann"], ["1"], key=b"the key", storing=storing).held())
    )
    assert (given.storing, given.key, given.codes.to_list()) == (None, b"", ["1"])


@pytest.mark.parametrize("engine", ENGINES)
def test_persons_of_a_large_table_are_assessed_and_verified(engine: str, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    (tmp_path / "in").mkdir()
    people = table().with_columns(patient=pl.int_range(pl.len()) // 4)
    people.write_parquet(tmp_path / "in" / "part.parquet")
    large = described(sf.read(tmp_path / "in", engine=engine)).with_roles(person="patient")
    assert (
        sf.assess(large).smallest_class
        == sf.assess(described(sf.read(people)).with_roles(person="patient")).smallest_class
    )
    sf.anonymize(large, [sf.KAnonymity(3)], COARSE, seed=5).write(tmp_path / "out")
    assert sf.verify(tmp_path / "out" / "share").holds
    kept = (
        pl.read_parquet(tmp_path / "out" / "share" / "data")
        .group_by("patient")
        .agg(pl.col("age").n_unique())
    )
    assert (
        kept["age"].max() == 1
    )  # a number is of one class alone: nobody is followed through the table


def test_rows_are_drawn_one_by_one_whoever_they_belong_to() -> None:
    people = described(
        sf.read(table().with_columns(patient=pl.int_range(pl.len()) // 4).lazy())
    ).with_roles(person="patient")
    sf.anonymize(people, [sf.KAnonymity(3)], [sf.Sample(0.5, unit="row"), *COARSE], seed=5)
    with pytest.raises(ParameterError, match="step sample works on all records at once"):
        sf.anonymize(people, [sf.KAnonymity(3)], [sf.Sample(0.5), *COARSE], seed=5)


def test_values_that_a_collation_takes_for_one_are_counted_apart() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (name VARCHAR COLLATE NOCASE, n INTEGER)")
    connection.execute("INSERT INTO t VALUES ('x', 1), ('X', 1)")
    people = sf.read(connection.table("t")).with_roles(quasi=["name"], keep=["n"])
    assert sf.assess(people).smallest_class == 1


@pytest.mark.parametrize("name", ["len", "count", "records", "sfumato records", "sfumato order"])
def test_columns_may_have_names_that_we_use(name: str) -> None:
    frame = table().with_columns(pl.Series(name, [1, 2, 3] * 1000))

    def released(data: Any) -> pl.DataFrame:
        people = sf.read(data).with_roles(quasi=["age", name], keep=["sex"], drop=["zip"])
        people = people.with_hierarchies(**{"age": sf.intervals(10), name: sf.suppress()})
        steps = [sf.Sample(0.5), sf.GlobalRecoding(budget=0.5)]
        options = sf.AnonymizeOptions(format="parquet")
        release = sf.anonymize(people, [sf.KAnonymity(2)], steps, seed=3, options=options)
        data = release.data
        return rows_of(data.collect() if isinstance(data, pl.LazyFrame) else data)

    frame = frame.select("age", "sex", "zip", name)
    assert released(frame.lazy()).equals(released(frame))
