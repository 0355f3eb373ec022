"""Random tables and recipes, written from the documentation alone: whatever holds the table, it is
released as in memory, or refused.

A case is a number. ``python -m tests.data.lazy.agreement ENGINE FIRST LAST`` runs some of them and
prints what disagrees.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.lazy import on_duckdb, on_polars
from sfumato.data.lazy import table as engine_table
from sfumato.data.lazy.table import LazyTable
from sfumato.errors import SfumatoError
from tests.data.lazy import workers_in_process

NAMES = [
    "age",
    "a.b",
    "a`b",
    'a"b',
    "a b",
    "Age",
    "it's",
    "é",
    ".",
    "x\ty",
    "select",
    "records",
    "len",
]
NAMES += ["sfumato records"]
NO_ENGINE = (
    "differ in capitals alone",
    "all records at once",
    "combinations of values",
    "needs the rows of",
    "which spark does not read",
)
"""What only engines refuse, and may."""


def columns_of_kind(draw: random.Random) -> dict[str, Callable[[], Any]]:
    """By the name of a type, how its values are drawn: few of them, so that rows are alike."""
    day = dt.date(2020, 1, 1)
    moment = dt.datetime(2020, 1, 1, 3)
    return {
        "Int64": lambda: draw.randrange(60),
        "Int8": lambda: draw.randrange(20),
        "UInt16": lambda: draw.randrange(30),
        "UInt64": lambda: draw.choice([1, 2, 3, 2**63, 2**64 - 1]),
        "Float64": lambda: draw.choice([0.0, -0.0, 1.5, 2.25, 1e16, 1e-7, draw.randrange(20) / 4]),
        "Float32": lambda: draw.choice([0.5, 1.0, 2.5, 7.0]),
        "Boolean": lambda: draw.random() < 0.4,
        "String": lambda: draw.choice(["", " x", "x", "X", "ü", "a,b", 'q"', "1", "1.0", "-9"]),
        "Date": lambda: day + dt.timedelta(draw.randrange(90)),
        "Datetime": lambda: moment + dt.timedelta(hours=draw.randrange(40)),
        "milliseconds": lambda: moment + dt.timedelta(hours=draw.randrange(40)),
        # A night in which the clock shows an hour twice.
        "zoned": lambda: dt.datetime(2020, 10, 24, 22) + dt.timedelta(hours=draw.randrange(5)),
        "Time": lambda: dt.time(draw.randrange(4), 30),
        "Duration": lambda: dt.timedelta(minutes=draw.randrange(5)),
        "days": lambda: dt.timedelta(draw.randrange(5)),
        "Decimal": lambda: Decimal(draw.randrange(12)) / 4,
        "Categorical": lambda: draw.choice(["red", "green", "blue"]),
        "Enum": lambda: draw.choice(["low", "mid", "high"]),
    }


TYPES: dict[str, Any] = {
    "zoned": pl.Datetime("us", "Europe/Vienna"),
    "Datetime": pl.Datetime("us"),
    "Duration": pl.Duration("us"),
    "milliseconds": pl.Datetime("ms"),
    "days": pl.Duration("ms"),
    "Decimal": pl.Decimal(10, 2),
    "Enum": pl.Enum(["low", "mid", "high", "never"]),
}


def column(draw: random.Random, kind: str, rows: int) -> pl.Series:
    """A column of a type, some of whose cells are missing at times."""
    make = columns_of_kind(draw)[kind]
    values = [make() for _ in range(rows)]
    gaps = draw.choice([0, 0, 0.05])
    values = [None if draw.random() < gaps else value for value in values]
    dtype = TYPES.get(kind) or getattr(pl, kind)
    if kind == "zoned":
        plain = pl.Series(values, dtype=pl.Datetime("us"))
        return plain.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Vienna")
    return pl.Series(values, dtype=dtype)


@dataclasses.dataclass
class Case:
    """A table, what its columns are, and a recipe."""

    frame: pl.DataFrame
    roles: dict[str, list[str]]
    hierarchies: dict[str, Any]
    promises: list[Any]
    steps: list[Any]
    read: dict[str, Any]
    most: int | None

    def describe(self, data: Any) -> Any:
        """The table with roles and hierarchies."""
        return data.with_roles(**self.roles).with_hierarchies(**self.hierarchies)


NUMBERS = ("Int64", "Int8", "UInt16", "Float64", "Float32")


def hierarchy_for(draw: random.Random, kind: str) -> Any:
    if kind in NUMBERS:
        return sf.intervals(5, 10, 20)
    if kind in ("Date", "Datetime", "milliseconds"):
        return sf.dates()
    if kind == "String":
        return draw.choice([sf.mask_right(3), sf.suppress()])
    return sf.suppress()


def masking_steps(draw: random.Random, kinds: Mapping[str, str], kept: list[str]) -> Iterator[Any]:
    """Steps that mask what is neither quasi-identifier nor sensitive, one or two of them."""
    numbers = [name for name in kept if kinds[name] in NUMBERS]
    texts = [name for name in kept if kinds[name] in ("String", "Categorical", "Enum", "Boolean")]
    days = [name for name in kept if kinds[name] in ("Date", "Datetime")]
    ways: list[Any] = [sf.Sample(0.5), sf.Sample(0.4, method="systematic")]
    if numbers:
        name = draw.choice(numbers)
        ways += [
            sf.Round([name], 2),
            sf.Round([name], 3, method="random"),
            sf.AddNoise([name], 0.3, method="uncorrelated"),
            sf.AddNoise([name], 0.3, method="multiplicative"),
            sf.TopBottomCoding([name], top=15, bottom=1),
            sf.TopBottomCoding([name], top_quantile=0.9),
            sf.TopBottomCoding([name], top_quantile=0.8, replacement="mean"),
            sf.TopBottomCoding([name], bottom=1, replacement="median"),
            sf.TopBottomCoding([name], top_quantile=0.7, replacement="label"),
            sf.Recode([name], breaks=[3, 9]),
            sf.Recode([name], {1: 2, 3: 2}, unmapped="keep"),
        ]
    if texts:
        name = draw.choice(texts)
        ways += [
            sf.Pram([name], retain=0.7),
            sf.Recode([name], {"x": "y", "red": "green", "low": "mid"}, unmapped="keep"),
            sf.Recode([name], {"x": "y"}, unmapped="other"),
        ]
    if days:
        ways.append(sf.ShiftDates([draw.choice(days)], 9))
    yield from draw.sample(ways, draw.choice([1, 1, 2]))


def case(number: int) -> Case:
    """The case of a number."""
    draw = random.Random(number)
    rows = draw.choice([30, 80, 200])
    names = draw.sample(NAMES, draw.randrange(3, 7))
    every_kind = list(columns_of_kind(draw))
    kinds = {name: draw.choice(every_kind) for name in names}
    frame = pl.DataFrame({name: column(draw, kinds[name], rows) for name in names})
    count = draw.randrange(1, 4)
    quasi, rest = names[:count], names[count:]
    sensitive = rest[:1] if draw.random() < 0.5 else []
    kept = [name for name in rest if name not in sensitive]
    roles = {"quasi": quasi, "sensitive": sensitive, "keep": kept}
    hierarchies = {name: hierarchy_for(draw, kinds[name]) for name in quasi}
    promises: list[Any] = [sf.KAnonymity(draw.randrange(2, 5))]
    if sensitive and draw.random() < 0.7:
        promises.append(
            draw.choice([sf.LDiversity(sensitive[0], 2), sf.TCloseness(sensitive[0], 0.7)])
        )
    recoding = draw.choice(
        [sf.GlobalRecoding(budget=0.2)] * 3
        + [
            sf.GlobalRecoding(budget=0.2, objective="entropy"),
            sf.GlobalRecoding(suppress="cell", budget=0.3),
            sf.Mondrian(),
            sf.Mondrian(mode="relaxed"),
            sf.LocalRecoding(),
            sf.KMember(),
        ]
    )
    masking = list(masking_steps(draw, kinds, kept)) if draw.random() < 0.5 and kept else []
    steps = [*masking, recoding] if draw.random() < 0.5 else [recoding, *masking]
    read = {"missing_values": ["-9"]} if draw.random() < 0.2 else {}
    most = draw.choice([None, None, None, 25, 8])
    return Case(frame, roles, hierarchies, promises, steps, read, most)


# Who holds the table.


def in_folder(engine: str) -> Callable[[pl.DataFrame, Path, Mapping[str, Any]], Any]:
    """Three parts of Parquet, read by an engine."""

    def held(frame: pl.DataFrame, folder: Path, options: Mapping[str, Any]) -> Any:
        third = -(-frame.height // 3)
        for number in range(3):
            frame.slice(number * third, third).write_parquet(folder / f"part-{number}.parquet")
        return sf.read(folder, engine=engine, **options)

    return held


def in_sqlite(frame: pl.DataFrame, folder: Path, options: Mapping[str, Any]) -> Any:
    """A table of SQLite, of what it holds as it is."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    if len({name.lower() for name in frame.columns}) < frame.width:
        pytest.skip("names that differ in capitals alone")
    connection = sqlite3.connect(folder / "people.db")
    connection.execute(f"CREATE TABLE people ({names})")
    marks = ", ".join("?" * frame.width)
    connection.executemany(f"INSERT INTO people VALUES ({marks})", frame.rows())
    connection.commit()
    connection.close()
    return sf.read(f"sqlite:///{folder / 'people.db'}", table="people", **options)


def with_workers(frame: pl.DataFrame, folder: Path, options: Mapping[str, Any]) -> Any:
    """Rows that workers of this process hold."""
    source = dataclasses.replace(sf.read(frame.lazy(), **options).source)
    return LazyTable(workers_in_process.RowsOfWorkers(frame), source=source)  # type: ignore[arg-type]


HOLDERS: dict[str, Callable[[pl.DataFrame, Path, Mapping[str, Any]], Any]] = {
    "polars": in_folder("polars"),
    "duckdb": in_folder("duckdb"),
    "workers": with_workers,
    "sqlite": in_sqlite,
    "lazy": lambda frame, folder, options: sf.read(frame.lazy(), **options),
}


def rows_of(release: Any) -> pl.DataFrame:
    """The released rows, in an order of their own."""
    if getattr(release, "parts", ()):
        return pl.read_parquet(list(release.parts))
    native: Any = release.data
    if hasattr(native, "toArrow"):
        native = pl.DataFrame(native.toArrow())
    elif hasattr(native, "collect"):
        native = native.collect()
    elif not isinstance(native, pl.DataFrame):
        native = native.pl()
    return native


def spelled(frame: pl.DataFrame) -> list[tuple[str, ...]]:
    """The rows as text, sorted."""
    plain = frame.select(sorted(frame.columns)).with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String),
        pl.selectors.float().cast(pl.Float64),
        pl.selectors.integer().cast(pl.Int128),
    )
    return sorted(tuple(map(repr, row)) for row in plain.rows())


def disagreement(number: int, engine: str, folder: Path) -> str | None:
    """What an engine makes of a case otherwise than memory; None: nothing."""
    one = case(number)
    patch = pytest.MonkeyPatch()
    workers_in_process.enter(patch)
    for module in (on_polars, on_duckdb):
        patch.setattr(module, "BATCH", 23)
    try:
        return _disagreement(one, engine, folder, patch)
    finally:
        patch.undo()


def _released(table: Any, one: Case, steps: list[Any], **options: Any) -> Any:
    more = sf.AnonymizeOptions(**options)
    return sf.anonymize(one.describe(table), one.promises, steps, seed=7, options=more)


def _disagreement(one: Case, engine: str, folder: Path, patch: pytest.MonkeyPatch) -> str | None:
    frame = one.frame
    if engine == "sqlite":
        plain = [name for name, dtype in frame.schema.items() if dtype in (pl.Int64, pl.String)]
        if len(plain) < frame.width:
            return None
    steps = one.steps
    release: Any = None
    refusal: Exception | None = None
    if one.most is not None:
        patch.setattr(engine_table, "MOST_COMBINATIONS", one.most)
    try:
        release = _released(HOLDERS[engine](frame, folder, one.read), one, one.steps)
        # What was generalised before it was counted is the best above these levels.
        steps = [*release.planned_steps]
    except SfumatoError as error:
        refusal = error
    patch.setattr(engine_table, "MOST_COMBINATIONS", 20_000_000)
    try:
        eager = _released(sf.read(frame, **one.read), one, steps, format="parquet")
    except SfumatoError as error:
        return None if refusal else f"released, but memory refuses: {error}"
    if refusal is not None:
        allowed = any(words in str(refusal) for words in NO_ENGINE)
        return None if allowed else f"refused: {type(refusal).__name__}: {refusal}"
    found, expected = rows_of(release), rows_of(eager)
    if spelled(found) != spelled(expected):
        return f"other rows: {found.height} and {expected.height}"
    difference = _difference(found, expected)
    if difference:
        return f"other types: {difference}"
    verdicts = [[v.to_dict() for v in made.verdicts] for made in (release, eager)]
    return "other verdicts" if verdicts[0] != verdicts[1] else None


def _difference(found: pl.DataFrame, expected: pl.DataFrame) -> str:
    return ", ".join(
        f"{name}: {found.schema.get(name)} for {dtype}"
        for name, dtype in expected.schema.items()
        # Engines release categories as text, and say so when the table is opened.
        if found.schema.get(name) != dtype and not isinstance(dtype, pl.Categorical | pl.Enum)
    )


def main(engine: str, first: int, last: int) -> int:
    """Run some cases and print what disagrees; how many did."""
    disagreements = 0
    for number in range(first, last):
        with tempfile.TemporaryDirectory() as folder:
            try:
                told = disagreement(number, engine, Path(folder))
            except Exception as error:  # noqa: BLE001 - a crash is what is looked for
                told = f"crash: {type(error).__name__}: {error}"
        if told:
            disagreements += 1
            print(number, engine, told, flush=True)
    return disagreements


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) > 0)
