"""What is written is what is certified: files are judged by their text, with code that knows
nothing of sfumato.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import random
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.table.write import suffix_of
from sfumato.errors import (
    OutputError,
    ParameterError,
    ReleaseRefused,
    SchemaError,
    Unsatisfiable,
)

FORMATS = ("csv", "parquet", "arrow", "jsonl", "excel", "spss", "stata", "sas")
FRAMES = ("polars", "pandas", "arrow", "enum", "categorical", "pandas category", "arrow dictionary")
PAIRS = (
    ("", None),
    ("1", "1.0", "1.00", "n/a"),
    ("1", "01", "1.0"),
    ("0.5", ".5", "5e-1"),
    ("e\u0301", "\u00e9"),
    ("a", "a ", " a", "a\u00a0"),
    ("a,b", "a;b", "a\tb", "a|b"),
    ('"', '""', "'"),
    ("a\nb", "a\rb", "a\r\nb", "ab"),
    ("NA", "null", "NaN", None),
    ("true", "True", "1"),
    ("=1+1", "'=1+1", "+1", "-1"),
    ("\ufeffa", "a"),
    (" ", "", None),
)
NUMBERS = (
    (0.0, -0.0),
    (float("nan"), None, 1.0),
    (1.0, 1.5, 0.1 + 0.2, 0.3),
    (float("inf"), 1e300, None),
)


def framed(frame: pl.DataFrame, kind: str):
    text = [c for c, t in frame.schema.items() if t == pl.String]
    if kind == "enum":
        return frame.with_columns(
            pl.col(c).cast(pl.Enum(sorted(set(frame[c].drop_nulls())))) for c in text
        )
    if kind == "categorical":
        return frame.with_columns(pl.col(c).cast(pl.Categorical) for c in text)
    if kind.startswith("pandas"):
        made = frame.to_pandas()
        return made.astype(dict.fromkeys(text, "category")) if kind.endswith("category") else made
    if kind.startswith("arrow"):
        import pyarrow as pa

        table = frame.to_arrow()
        coded = [
            table[c].cast(pa.string()).dictionary_encode() if c in text else table[c]
            for c in table.column_names
        ]
        return pa.table(coded, names=table.column_names) if kind.endswith("dictionary") else table
    return frame


def cells(file: Path) -> list[dict[str, object]]:
    """The rows of a file, as any program would read them."""
    if file.suffix == ".csv":
        with file.open(encoding="utf-8", newline="") as text:
            return list(csv.DictReader(text))
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    if file.suffix in (".parquet", ".arrow"):
        import pyarrow.feather
        import pyarrow.parquet

        return (
            pyarrow.parquet.read_table if file.suffix == ".parquet" else pyarrow.feather.read_table
        )(file).to_pylist()
    if file.suffix == ".xlsx":
        import fastexcel

        return fastexcel.read_excel(file).load_sheet(0, dtypes="string").to_polars().to_dicts()
    import pyreadstat

    reader = {
        ".sav": pyreadstat.read_sav,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
    }[file.suffix]
    return reader(str(file), output_format="polars")[0].to_dicts()


def naive_classes(file: Path) -> list[list[str]]:
    """The sensitive values of every class, spelled as the file spells them."""
    classes = defaultdict(list)
    for row in cells(file):
        classes[repr(row["q"])].append(repr(row["s"]))
    return list(classes.values())


def made(frame, *, format: str | None = None, meet=None) -> sf.Release:  # noqa: A002
    people = (
        sf.read(frame).with_roles(quasi=["q"], sensitive=["s"]).with_hierarchies(q=sf.suppress())
    )
    promises = meet or [sf.KAnonymity(2), sf.LDiversity("s", l=2)]
    return sf.anonymize(
        people,
        promises,
        [sf.GlobalRecoding(budget=0.6)],
        seed=1,
        options=sf.AnonymizeOptions(format=format),
    )


def tables(many: int) -> list[pl.DataFrame]:
    """Small tables whose values look alike."""
    draw, found = random.Random(20), []
    for _ in range(many):
        size = draw.randrange(4, 14)
        pools = [draw.choice(PAIRS), draw.choice((*PAIRS, *NUMBERS))]
        columns = [[draw.choice(pool) for _ in range(size)] for pool in pools]
        kinds = [
            pl.Float64 if any(isinstance(v, float) for v in pool) else pl.String for pool in pools
        ]
        found.append(
            pl.DataFrame(
                {n: pl.Series(v, dtype=k) for n, v, k in zip("qs", columns, kinds, strict=True)}
            )
        )
    return found


def attempt(
    table: pl.DataFrame,
    number: int,
    file: Path,
    format: str,  # noqa: A002
    *,
    later: bool,
) -> sf.Release | None:
    """Make a release and write its data; None, and no file, where that is refused."""
    try:
        release = made(
            framed(table, FRAMES[number % len(FRAMES)]), format=None if later else format
        )
        release.write_data(file, format=format)
    except (Unsatisfiable, ReleaseRefused, OutputError, SchemaError):
        assert not file.exists()
        return None
    return release


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_promises_hold_in_the_text_of_the_file(tmp_path, format):  # noqa: A002
    written = 0
    for number, table in enumerate(tables(42)):
        file = tmp_path / f"{number}{suffix_of(format)}"
        release = attempt(table, number, file, format, later=number % 3 == 0)
        if release is None:
            continue
        for values in naive_classes(file):
            assert len(values) >= 2 and len(set(values)) >= 2, number
        written += 1
        if written % 6 == 0:  # reports take their time
            release.write(tmp_path / f"{number}", format=format)
            found = sf.verify(tmp_path / f"{number}" / "share")
            assert found.holds, (number, str(found))
    assert written > 10


def test_empty_and_missing_are_one_value_in_a_csv_and_two_in_parquet(tmp_path):
    table = pl.DataFrame({"q": ["a"] * 4, "s": ["", None, "", None]})
    with pytest.raises((Unsatisfiable, SchemaError)):
        made(table)
    made(table, format="parquet").write(tmp_path / "parquet", format="parquet")
    assert sf.verify(tmp_path / "parquet" / "share").holds
    with pytest.raises(ReleaseRefused, match="csv does not distinguish all values of column 's'"):
        made(table, format="parquet").write(tmp_path / "csv", format="csv")
    assert not (tmp_path / "csv").exists()


@pytest.mark.parametrize("target", ["file", "stream"])
def test_the_data_alone_is_judged_before_it_appears(tmp_path, target, monkeypatch):
    release = made(pl.DataFrame({"q": ["a"] * 4, "s": ["", None, "", None]}), format="parquet")
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", type("Out", (), {"buffer": printed}))
    with pytest.raises(ReleaseRefused):
        release.write_data(tmp_path / "out.csv" if target == "file" else "-", format="csv")
    assert not printed.getvalue() and not list(tmp_path.iterdir())
    release.write_data(tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").exists()


def test_a_release_that_breaks_its_promise_cannot_be_written_as_data_either(tmp_path):
    release = made(pl.DataFrame({"q": ["a"] * 4, "s": ["x", "y"] * 2}))
    release = dataclasses.replace(
        release, verdicts=(dataclasses.replace(release.verdicts[0], holds=False),)
    )
    with pytest.raises(ReleaseRefused):
        release.write_data(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_spellings_of_a_number_are_one_value_although_the_last_word_of_the_column_is_dropped(
    tmp_path,
):
    table = pl.DataFrame({"q": ["a"] * 4 + ["b"], "s": ["1", "1.0"] * 2 + ["none"]})
    made(table).write(tmp_path / "csv")
    assert naive_classes(tmp_path / "csv" / "share" / "data.csv")[0].count("'1'") == 4
    later = made(table, format="parquet")
    assert "none" not in later.released.column("s").to_list()
    with pytest.raises(ReleaseRefused, match="reads column 's' as numbers"):
        later.write(tmp_path / "out", format="csv")


def test_types_do_not_change_when_the_last_word_of_a_column_is_dropped(tmp_path):
    table = pl.DataFrame(
        {"q": ["a"] * 4 + ["b"], "s": ["1", "2"] * 2 + ["none"], "code": ["01", "1"] * 2 + ["x"]}
    )
    people = sf.read(table).with_roles(quasi=["q"], sensitive=["s"], keep=["code"])
    people = people.with_hierarchies(q=sf.suppress())
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.5)], seed=1)
    release.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "share" / "certificate.json").read_text())
    assert certificate["data"]["form"]["types"] == {"q": "text", "s": "text", "code": "text"}
    assert certificate["data"]["form"]["null"] == "" and certificate["data"]["form"]["quote"] == '"'
    lock = json.loads((tmp_path / "out" / "owner" / "lock.json").read_text())
    assert lock["output_form"] == {"format": "csv", **certificate["data"]["form"]}
    found = sf.verify(tmp_path / "out" / "share", original=people, owner=tmp_path / "out" / "owner")
    assert {claim.status for claim in found.claims} == {"holds"}, str(found)


def test_check_reads_a_file_as_the_certificate_beside_it_says(tmp_path):
    from sfumato.release.read_back import read_certified

    made(pl.DataFrame({"q": ["01"] * 4, "s": ["1", "2"] * 2})).write(tmp_path / "out")
    file = tmp_path / "out" / "share" / "data.csv"
    assert sf.read(file).column("s").dtype == pl.Int64
    assert read_certified(file).column("s").dtype == pl.String
    (tmp_path / "other.csv").write_bytes(file.read_bytes())
    assert read_certified(tmp_path / "other.csv") is None


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "\ufeffa", "a\0"])
def test_names_that_a_csv_does_not_keep_are_refused_before_the_search(name):
    table = pl.DataFrame({"q": ["x"] * 4, "s": ["a", "b"] * 2, name: ["y"] * 4})
    people = sf.read(table).with_roles(quasi=["q"], sensitive=["s"], keep=[name])
    with pytest.raises(OutputError, match="column 3 has a name"):
        sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding()])
    sf.anonymize(
        people,
        [sf.KAnonymity(2)],
        [sf.GlobalRecoding()],
        options=sf.AnonymizeOptions(format="parquet"),
    )


@pytest.mark.parametrize("name", ['"', "a,b", "a\nb", "'", "=a", "x" * 300, "ä", "1"])
def test_other_names_come_back(tmp_path, name):
    table = pl.DataFrame({name: ["x"] * 4, "s": ["a", "b"] * 2})
    people = sf.read(table).with_roles(quasi=[name], sensitive=["s"])
    sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1).write(tmp_path / "out")
    assert sf.verify(tmp_path / "out" / "share").holds


def test_nul_is_refused_before_the_search_without_showing_the_value():
    table = pl.DataFrame({"q": ["x"] * 4, "s": ["se\0cret", "b"] * 2})
    with pytest.raises(OutputError, match="column 's': 2 cells with a NUL character") as caught:
        made(table)
    assert "cret" not in str(caught.value)


def test_blanks_after_every_delimiter_belong_to_the_values(tmp_path):
    made(pl.DataFrame({"q": ["x"] * 8, "s": [" a", " b"] * 4})).write(tmp_path / "out")
    assert {row["s"] for row in cells(tmp_path / "out" / "share" / "data.csv")} == {" a", " b"}
    assert sf.verify(tmp_path / "out" / "share").holds


LABELS = ("zanzibar", "quokkaitis")


def rare_table() -> pl.DataFrame:
    common = {"q": ["kent"] * 40, "s": ["flu", "cold"] * 20, "note": ["fine"] * 40}
    rare = {"q": ["zanzibar"], "s": ["quokkaitis"], "note": ["quokkaitis"]}
    return pl.DataFrame({name: common[name] + rare[name] for name in common})


@pytest.mark.parametrize("kind", FRAMES)
def test_nothing_that_is_shared_knows_the_labels_of_a_dropped_row(tmp_path, kind):
    people = sf.read(framed(rare_table(), kind)).with_roles(
        quasi=["q"], sensitive=["s"], keep=["note"]
    )
    people = people.with_hierarchies(q=sf.suppress())
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.1)], seed=1)
    assert release.suppressed == 1
    for format in FORMATS:  # noqa: A001
        release.write(tmp_path / format, format=format)
        for file in (tmp_path / format / "share").rglob("*"):
            shown = unpacked(file)
            assert not [label for label in LABELS if label.encode() in shown], (format, file.name)
    assert not [label for label in LABELS if label in known_to(release.data)]


def test_metadata_of_a_frame_is_left_behind():
    import pandas as pd
    import pyarrow as pa

    frame = pd.DataFrame(rare_table().drop("note").to_pandas())
    frame.attrs = {"about": "quokkaitis"}
    assert made(frame).data.attrs == {}
    table = rare_table().drop("note").to_arrow().replace_schema_metadata({"about": "quokkaitis"})
    released = made(table).data
    assert isinstance(released, pa.Table) and not released.schema.metadata


def unpacked(file: Path) -> bytes:
    """What a file holds, uncompressed, dictionaries and metadata included."""
    if file.suffix == ".xlsx":
        import zipfile

        with zipfile.ZipFile(file) as book:
            return b"".join(book.read(name) for name in book.namelist())
    if file.suffix in (".parquet", ".arrow"):
        import pyarrow.feather
        import pyarrow.parquet

        found = (
            pyarrow.parquet.read_table if file.suffix == ".parquet" else pyarrow.feather.read_table
        )(file)
        plain, raw = io.BytesIO(), file.read_bytes()
        pyarrow.feather.write_feather(found, plain, compression="uncompressed")
        return raw + plain.getvalue() + str(found.schema.metadata).encode()
    return file.read_bytes()


def known_to(frame: object) -> str:
    """Everything a frame can tell about its columns and their values."""
    if isinstance(frame, pl.DataFrame):
        return str(frame.to_dict(as_series=False)) + str(frame.dtypes)
    if hasattr(frame, "schema"):
        return str(frame.to_pydict()) + str(
            [c.chunk(0).dictionary for c in frame.columns if hasattr(c.chunk(0), "dictionary")]
        )
    return str(frame.to_dict()) + str(
        [list(t.categories) for t in frame.dtypes if hasattr(t, "categories")]
    )


def test_formulas_are_counted_named_and_defused(tmp_path):
    table = pl.DataFrame({"q": ["x"] * 4, "s": ["=1+1", "@a", "-5", "'=x"], "=n": [-1, 2, 3, 4]})
    people = sf.read(table).with_roles(quasi=["q"], sensitive=["s"], keep=["=n"])
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    release.write(tmp_path / "raw")
    release.write(tmp_path / "safe", options=sf.WriteOptions(defuse=True))
    for folder, safe in (("raw", False), ("safe", True)):
        share = tmp_path / folder / "share"
        data = json.loads((share / "certificate.json").read_text())["data"]
        assert data["formulas"] == {"s": 2, "=n": 1} and data["form"]["defused"] is safe
        assert (
            "3 cells that a spreadsheet would run as formulas: s (2), =n (1)"
            in (share / "report.html").read_text()
        )
        found = sf.verify(share, original=people, owner=tmp_path / folder / "owner")
        assert {claim.status for claim in found.claims} == {"holds"}, str(found)
    rows = cells(tmp_path / "safe" / "share" / "data.csv")
    assert {row["s"] for row in rows} == {"'=1+1", "'@a", "-5", "''=x"} and "'=n" in rows[0]
    with pytest.raises(ParameterError, match="defuse has no effect on"):
        release.write(tmp_path / "other", format="parquet", options=sf.WriteOptions(defuse=True))


def test_control_signs_are_spelled_out_on_pages_and_in_messages(tmp_path):
    name = "a\x1b[2Jb\u202e"
    table = pl.DataFrame({name: ["x", "y"] * 4, "s": ["a", "b"] * 4})
    people = (
        sf.read(table)
        .with_roles(quasi=[name], sensitive=["s"])
        .with_hierarchies(**{name: sf.suppress()})
    )
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    release.write(tmp_path / "out", options=sf.WriteOptions(pictures=True))
    for file in (tmp_path / "out").rglob("*"):
        if file.suffix in (".html", ".json", ".txt"):
            text = file.read_text(encoding="utf-8")
            assert "\x1b" not in text and "\u202e" not in text, file.name
    assert "\\x1b[2Jb\\u202e" in (tmp_path / "out" / "share" / "report.html").read_text(
        encoding="utf-8"
    )
    assert (
        str(OutputError(f"column {name} is in the way")) == "column a\\x1b[2Jb\\u202e is in the way"
    )


def test_columns_of_a_file_without_names_keep_theirs_when_one_is_dropped(tmp_path):
    (tmp_path / "t.csv").write_text("".join(f"person {i},{i % 2},{i % 3},5\n" for i in range(12)))
    people = sf.read(tmp_path / "t.csv", header=False)
    people = people.with_roles(
        drop="column_1", quasi="column_2", sensitive="column_3", keep="column_4"
    )
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    release.write(tmp_path / "out")
    assert sf.verify(
        tmp_path / "out" / "share", original=people, owner=tmp_path / "out" / "owner"
    ).holds
    assert sorted((tmp_path / "out" / "share" / "data.csv").read_text().split())[0] == "0,0,5"


def test_value_labels_of_dropped_rows_are_gone(tmp_path):
    import pyreadstat

    frame = pl.DataFrame({"q": [1] * 40 + [2], "s": [1, 2] * 20 + [3]})
    labels = {"q": {1: "kent", 2: "zanzibar"}, "s": {1: "flu", 2: "cold", 3: "quokkaitis"}}
    for suffix, write in ((".sav", pyreadstat.write_sav), (".dta", pyreadstat.write_dta)):
        write(frame, str(tmp_path / f"in{suffix}"), variable_value_labels=labels)
        people = sf.read(tmp_path / f"in{suffix}").with_roles(quasi=["q"], sensitive=["s"])
        people = people.with_hierarchies(q=sf.suppress())
        release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.1)], seed=1)
        for format in ("spss", "stata"):  # noqa: A001
            release.write(tmp_path / f"{suffix[1:]}-{format}", format=format)
            (file,) = (tmp_path / f"{suffix[1:]}-{format}" / "share").glob("data.*")
            assert b"flu" in file.read_bytes()
            assert not [label for label in LABELS if label.encode() in file.read_bytes()]
