"""Tables whose values look alike, written in every format and judged on the file by naive code:
what is certified is true there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import io
import json
import re
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings

import sfumato as sf
from sfumato.core import chart_drawing
from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import Paragraph
from sfumato.errors import InternalError, OutputError, SchemaError, SfumatoError, Unsatisfiable
from sfumato.interfaces.cli import main
from sfumato.release.report import charts
from sfumato.release.report.page_html import ReportPage
from tests.written_cases import (
    FORMATS,
    LABEL,
    Case,
    broken,
    cases,
    described,
    label,
    read,
    readings,
    unpacked,
)

# Some numbers are so large that no decimal holds their squares: numpy says so while measures of
# worth become unknown.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RECODING = sf.GlobalRecoding(budget=0.6)


def command(*arguments: object) -> tuple[int, str]:
    """Exit code and talk of ``sfumato``, run in this process."""
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        patch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        try:
            main()
        except SystemExit as stop:
            return (
                stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            ), said.getvalue()
    return 0, said.getvalue()


def released(case: Case, folder: Path) -> sf.Table | None:
    """Make the release and write it to ``folder/out``; None, and no folder, where that is refused
    politely.
    """
    try:
        table = described(case, read(case, folder))
        release = sf.anonymize(
            table,
            case.meet,
            [case.step],
            seed=1,
            options=sf.AnonymizeOptions(format=case.format if case.early else None),
        )
        release.write(
            folder / "out",
            format=case.format,
            options=sf.WriteOptions(defuse=case.defuse and case.format == "csv"),
        )
    except SfumatoError as error:
        refusal = error
    else:
        return table
    assert not isinstance(refusal, InternalError), refusal
    assert not LABEL.search(str(refusal)), refusal
    assert not (folder / "out").exists()
    return None


def check_file(case: Case, share: Path, certificate: dict) -> None:
    """What strangers read is what was promised, and labels that they do not read are nowhere."""
    file = share / certificate["data"]["file"]
    assert certificate["data"]["columns"] == list(case.names[: len(case.names) - case.direct])
    found = readings(file, certificate["data"]["form"])
    for reader, (names, rows) in found.items():
        assert len(rows) == certificate["data"]["rows"], (reader, rows)
        defused = certificate["data"]["form"].get("defused")
        bare = [re.sub(r"^'(?='*[=+@\t\r\n-])", "", name) if defused else name for name in names]
        assert not rows or bare == certificate["data"]["columns"], (reader, names)
        wildcards = "wildcard" in certificate["missing_rule"].values()
        assert not broken(case, rows, wildcards=wildcards), (reader, broken(case, rows), rows)
    seen = set(LABEL.findall(str(found)))
    known = set(LABEL.findall(str(case.columns)))
    content = b"".join(unpacked(f) for f in share.iterdir())
    for gone in known - seen:
        assert gone.encode() not in content and gone.encode("utf-16-le") not in content, gone


def check_recipe(case: Case, share: Path, certificate: dict) -> None:
    """Whoever checks the file by the recipe agrees, where the recipe compares with nothing else."""
    if any(getattr(promise, "reference", "") == "original" for promise in case.meet):
        return
    recipe = share.parent / "recipe.yaml"
    recipe.write_text(recipes.dump(recipes.from_dict(certificate["recipe"])), encoding="utf-8")
    code, said = command("check", share / certificate["data"]["file"], "-r", recipe)
    assert code == 0, said


def check_claims(share: Path, original: sf.Table) -> None:
    """Whoever verifies agrees, on the file alone and with the original."""
    code, said = command("verify", share)
    assert code == 7, said
    complete = sf.verify(share, original=original, owner=share.parent / "owner")
    assert all(claim.status == "holds" for claim in complete.claims), str(complete)


@contextlib.contextmanager
def plain_pages() -> Iterator[None]:
    """Pages without pictures: drawing them takes most of the time and shows no other value."""
    with pytest.MonkeyPatch.context() as patch:
        for chart in ("chart_class_sizes", "chart_levels", "chart_missing_cells", "chart_pairs"):
            patch.setattr(charts, chart, lambda *_, **__: Paragraph("no chart"))
        empty_page = ReportPage("", "", [], "")
        patch.setattr("sfumato.release.sealing.describe_owner_page", lambda *_: empty_page)
        yield


def attempt(case: Case, *, pictures: bool = False) -> bool:
    """Whether the release was written; whatever is not true of it raises."""
    with (
        tempfile.TemporaryDirectory() as place,
        contextlib.nullcontext() if pictures else plain_pages(),
    ):
        original = released(case, Path(place))
        if original is None:
            return False
        share = Path(place) / "out" / "share"
        certificate = json.loads((share / "certificate.json").read_text(encoding="utf-8"))
        check_file(case, share, certificate)
        check_claims(share, original)
        check_recipe(case, share, certificate)
    return True


@pytest.mark.slow
@settings(max_examples=max(120, settings().max_examples))
@given(case=cases())
def test_what_is_certified_is_true_in_the_file(case):
    attempt(case)


@pytest.mark.slow
@settings(max_examples=8)
@given(case=cases())
def test_pages_with_pictures_show_no_more(case):
    attempt(case, pictures=True)


PLAIN = Case(
    ("q", "s"),
    (("a", "a", "b", "b"), ("x", "y", "x", "y")),
    1,
    "polars",
    "csv",
    ("suppress",),
    (sf.KAnonymity(2),),
    RECODING,
)
DAYS = (dt.date(1, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1, 1, 1))
FOUND = {
    "made for CSV, written as Parquet": {
        "columns": (("", "", "", ""), ("", "x", "1", "1.0")),
        "format": "parquet",
        "early": False,
    },
    "numbers that a SAS file does not hold": {
        "columns": (("a",) * 4, (5e-324, 1e16, 1.0, None)),
        "format": "sas",
    },
    "numbers whose squares no decimal holds": {
        "names": ("q", "r", "s", "t"),
        "columns": (
            (1.7e308, None, 1.79e308, 1.7e308) * 3,
            (None, 1.7e308, 1.7e308, 1.79e308) * 3,
            ("x", "y") * 6,
            (1.7e308, 1.79e308) * 6,
        ),
        "quasi": 2,
        "hierarchies": ("suppress", "suppress"),
    },
    "a column whose name means all columns": {"names": ("q", "*")},
    "a column whose name is that of a count": {"names": ("q", "len")},
    "the original is compared as the format spells it": {
        "columns": (("a",) * 4, ("1", "1.0", "x", "1")),
        "meet": (sf.KAnonymity(2), sf.TCloseness("s", t=0.6)),
    },
    "the original is compared as the format rounds it": {
        "columns": (("a",) * 4, (1e16, 1e16 + 2, 5e-324, 1e16)),
        "meet": (sf.KAnonymity(2), sf.TCloseness("s", t=0.6)),
        "format": "excel",
    },
    "the last and the first day of the calendar": {
        "names": ("q", "d", "s"),
        "columns": (("a",) * 4, DAYS, DAYS[2:3] * 4),
        "quasi": 2,
        "hierarchies": ("suppress", "suppress"),
    },
}
"""What this fuzzer found, by what was wrong; each is written now, and true."""


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
@pytest.mark.parametrize("found", FOUND.values(), ids=FOUND)
def test_what_was_found_once_is_released(found, kind):
    assert attempt(dataclasses.replace(PLAIN, **found, frame=kind))


@pytest.mark.parametrize("format", sorted(set(FORMATS)))
def test_every_format_is_written(format):  # noqa: A002
    assert attempt(dataclasses.replace(PLAIN, format=format))


@pytest.mark.parametrize(
    "secret", [label(0), label(1), 7319462.25], ids=["short", "long", "number"]
)
@pytest.mark.parametrize("format", sorted(set(FORMATS)))
def test_the_bytes_of_a_file_do_not_know_suppressed_cells(tmp_path, format, secret):  # noqa: A002
    other = 1.5 if isinstance(secret, float) else "a"
    table = pl.DataFrame({"q": [secret, *[other] * 5], "s": ["x"] * 6})
    people = sf.read(table).with_roles(quasi=["q"], keep=["s"])
    step = sf.GlobalRecoding(suppress="cell", budget=0.6)
    release = sf.anonymize(
        people, [sf.KAnonymity(2)], [step], seed=1, options=sf.AnonymizeOptions(format=format)
    )
    assert release.released.column("q").null_count() == 1
    with plain_pages():
        release.write(tmp_path / "out", format=format)
    raw = struct.pack("<d", secret) if isinstance(secret, float) else secret.encode()
    for file in (tmp_path / "out" / "share").iterdir():
        assert raw not in unpacked(file) and str(secret).encode() not in unpacked(file)


def test_a_column_that_is_constant_in_the_file_hides_nothing_there():
    """Judged on the file alone it is constant; so it is when the release is made."""
    table = pl.DataFrame({"q": ["a", "a", "a", "b"], "s": ["x", "x", "x", "y"]})
    people = sf.read(table).with_roles(quasi=["q"], sensitive=["s"])
    promise = sf.TCloseness("s", t=0.4, reference="released")
    with pytest.raises(Unsatisfiable):
        sf.anonymize(people, [promise], [sf.GlobalRecoding(budget=0.5)], seed=1)


def test_texts_that_excel_leaves_out_are_refused_before_the_search():
    table = pl.DataFrame({"q": ["a"] * 4, "s": ["x" * 32_768] * 4})
    people = sf.read(table).with_roles(quasi=["q"], keep=["s"])
    with pytest.raises(OutputError, match="column 's': 4 cells of more than 32767 characters"):
        sf.anonymize(
            people,
            [sf.KAnonymity(2)],
            [sf.GlobalRecoding()],
            seed=1,
            options=sf.AnonymizeOptions(format="excel"),
        )


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "csv ,"])
def test_a_name_that_is_the_pattern_of_another_is_refused(tmp_path, kind):
    """Dropping ``^q$`` from a polars frame drops ``q`` and keeps ``^q$``."""
    with pytest.raises(SchemaError, match="column number 2 begins with"):
        read(dataclasses.replace(PLAIN, names=("q", "^q$"), frame=kind), tmp_path)


def test_a_direct_identifier_is_dropped_whatever_its_name():
    people = sf.read(pl.DataFrame({"*": ["Ann", "Bob"], "q": ["a", "a"]})).with_roles(
        drop=["*"], quasi=["q"]
    )
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    assert release.data.to_dict(as_series=False) == {"q": ["a", "a"]}


def test_labels_of_pages_look_at_no_more_of_a_long_text_than_they_show(monkeypatch):
    """A page once measured every beginning of a text: forty thousand signs took minutes."""
    looked = []
    width = chart_drawing._letter_width
    monkeypatch.setattr(
        chart_drawing, "_letter_width", lambda letter: looked.append(letter) or width(letter)
    )
    texts = ["y" * 40_000, "y" * 39_999 + "x"]
    assert len(set(chart_drawing.labels(texts))) == 2
    assert len(looked) < 10 * sum(map(len, texts))
