"""Every kind of table that is read can be opened on the page; of what holds several one is chosen;
what is no table says what to do.
"""

from __future__ import annotations

import gzip
import html
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.core.source import Source
from sfumato.data.lazy.databases import Name, address
from sfumato.data.lazy.drivers import begun
from sfumato.data.table import write_table
from sfumato.errors import ParameterError, RecipeError, SfumatoError, UnreadableInput
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.project import Project, data_in
from sfumato.interfaces.web.tasks import data
from tests.interfaces.test_arx_import import project as arx_project
from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, expect, served
from tests.interfaces.web.people import JOB, people

xlsxwriter = pytest.importorskip("xlsxwriter")
HOSTILE = '<img src=x> & "co"'


def frame() -> pl.DataFrame:
    """Ten people; names of columns that every format takes."""
    return people(10).rename({JOB: "job"})


def silent(share: float, words: str = "") -> None:
    """Nobody listens."""


def workbook(path: Path, *names: str) -> Path:
    """A cover, and a table on each further sheet, the n-th of which has n records."""
    book = xlsxwriter.Workbook(str(path))
    book.add_worksheet("cover").write(0, 0, "printed on Monday")
    for number, name in enumerate(names, 2):
        sheet = book.add_worksheet(name)
        for i, row in enumerate([["age", "illness"], *([30 + i, "flu"] for i in range(number))]):
            sheet.write_row(i, 0, row)
    book.close()
    return path


def database(path: Path, kind: str) -> Path:
    """Two tables in a file."""
    if kind == "sqlite":
        with sqlite3.connect(path) as made:
            made.execute("CREATE TABLE wards (ward TEXT)")
            made.execute('CREATE TABLE "visits.2026" (age INTEGER, illness TEXT)')
            made.executemany(
                'INSERT INTO "visits.2026" VALUES (?, ?)', [(30 + i, "flu") for i in range(7)]
            )
        made.close()
        return path
    duck = pytest.importorskip("duckdb")
    with duck.connect(str(path)) as made:
        made.execute("CREATE TABLE wards (ward TEXT); CREATE SCHEMA ward")
        made.execute(
            "CREATE TABLE ward.visits AS SELECT range + 30 AS age, 'flu' AS illness FROM range(7)"
        )
    return path


WRITTEN: dict[str, Callable[[Path], Any]] = {
    "csv": lambda p: frame().write_csv(p.with_suffix(".csv")),
    "tsv": lambda p: frame().write_csv(p.with_suffix(".tsv"), separator="\t"),
    "parquet": lambda p: frame().write_parquet(p.with_suffix(".parquet")),
    "arrow": lambda p: frame().write_ipc(p.with_suffix(".arrow")),
    "jsonl": lambda p: frame().write_ndjson(p.with_suffix(".jsonl")),
    "xlsx": lambda p: write_table(frame(), p.with_suffix(".xlsx"), Source()),
    "sav": lambda p: write_table(frame(), p.with_suffix(".sav"), Source(format="spss")),
    "dta": lambda p: write_table(frame(), p.with_suffix(".dta"), Source(format="stata")),
    "xpt": lambda p: write_table(frame(), p.with_suffix(".xpt"), Source(format="sas")),
    "txt": lambda p: frame().write_csv(p.with_suffix(".txt"), separator=";"),
    "dat": (
        lambda p: p.with_suffix(".dat").write_text(
            frame().write_csv(separator="|"), encoding="utf-16"
        )
    ),
    "pq": lambda p: frame().write_parquet(p.with_suffix(".pq")),
    "feather": lambda p: frame().write_ipc(p.with_suffix(".feather")),
    "ipc": lambda p: frame().write_ipc_stream(p.with_suffix(".ipc")),
    "json": lambda p: frame().write_ndjson(p.with_suffix(".json")),
    "xlsm": lambda p: written(p.parent, "xlsx").rename(p.with_suffix(".xlsm")),
    "ods": lambda p: open_document(p.with_suffix(".ods"), frame()),
    "zsav": lambda p: written(p.parent, "sav").rename(p.with_suffix(".zsav")),
    "por": (
        lambda p: pytest.importorskip("pyreadstat").write_por(
            frame().to_pandas(), str(p.with_suffix(".por"))
        )
    ),
}
WORKBOOKS = ("xlsx", "xlsm", "ods")
STATISTICS = ("sav", "dta", "xpt", "zsav", "por")
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
"""How the parts of a spreadsheet of LibreOffice are named."""


def open_document(path: Path, table: pl.DataFrame) -> None:
    """A spreadsheet as LibreOffice writes it, as far as it is read."""

    def cell(value: Any) -> str:
        number = f'float" office:value="{value}' if isinstance(value, int) else "string"
        return (
            "<table:table-cell"
            f' office:value-type="{number}"><text:p>{html.escape(str(value))}</text:p></table:table-cell>'
        )

    lines = ["".join(map(cell, line)) for line in (table.columns, *table.rows())]
    rows = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
    names = (
        f'xmlns:office="{OFFICE}office:1.0" xmlns:table="{OFFICE}table:1.0"'
        f' xmlns:text="{OFFICE}text:1.0"'
    )
    body = (
        "<office:body><office:spreadsheet><table:table"
        f' table:name="one">{rows}</table:table></office:spreadsheet></office:body>'
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("mimetype", kind)
        made.writestr(
            "META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{OFFICE}manifest:1.0"/>'
        )
        made.writestr(
            "content.xml", f"<office:document-content {names}>{body}</office:document-content>"
        )


def written(folder: Path, kind: str) -> Path:
    WRITTEN[kind](folder / "people")
    return folder / f"people.{kind}"


@pytest.mark.parametrize("kind", WRITTEN)
def test_every_format_is_opened_as_it_is_read(kind: str, tmp_path: Path) -> None:
    if kind in STATISTICS:
        pytest.importorskip("pyreadstat")
    path = written(tmp_path, kind)
    looked = data.look_at_path(Bench(), silent, path=str(path))
    assert looked["path"] == str(path) and len(looked["names"]) == (kind in WORKBOOKS)
    bench = Bench()
    opened = data.open_data(bench, silent, path=str(path), example=None, options={})
    assert opened["records"] == 10
    assert bench.data.to_polars().equals(sf.read(path).to_polars())


def test_what_is_no_table_says_what_to_do(tmp_path: Path) -> None:
    """Packed files, folders of tables, releases, projects, graphs, recipes, lists in cells: each
    with the words of a command.
    """

    def refused(path: Path, **options: Any) -> str:
        try:
            data.look_at_path(Bench(), silent, path=str(path))
            data.open_data(Bench(), silent, path=str(path), example=None, options=options)
        except SfumatoError as told:
            return str(told)
        return ""

    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(frame().write_csv().encode()))
    assert "compressed with gzip: unpack it first" in refused(packed)
    clinic = tmp_path / "the clinic"
    clinic.mkdir()
    for name, table in sf.examples.clinic_tables(20).items():
        table.write_csv(clinic / f"{name}.csv")
    assert f"sfumato profile '{clinic}' > recipe.yaml" in refused(clinic)
    parts = tmp_path / "parts"
    parts.mkdir()
    for name, table in sf.examples.clinic_tables(20).items():
        table.write_parquet(parts / f"{name}.parquet")
    assert f"sfumato profile {parts}" in refused(parts) and "differs from" in refused(parts)
    (tmp_path / "ties.graphml").write_text("<graphml/>")
    assert "shape: graph" in refused(tmp_path / "ties.graphml")
    (tmp_path / "carts.yaml").write_text("shape: baskets")
    assert "-r " in refused(tmp_path / "carts.yaml")
    pl.DataFrame({"who": [1], "items": [["a", "b"]]}).write_parquet(tmp_path / "carts.parquet")
    assert "shape baskets" in refused(tmp_path / "carts.parquet")
    Project.open(tmp_path / "mine").close()
    (tmp_path / "mine" / "project.json").write_text("{}")
    assert "sfumato serve --project" in refused(tmp_path / "mine")
    (tmp_path / "out" / "share").mkdir(parents=True)
    (tmp_path / "out" / "share" / "certificate.json").write_text("{}")
    assert "sfumato verify" in refused(tmp_path / "out")
    (tmp_path / "full.sqlite").write_bytes(b"SQLite format 3\0 and then nothing of it")
    with pytest.raises(UnreadableInput):
        data.look_at_path(Bench(), silent, path=str(tmp_path / "full.sqlite"))
    with pytest.raises(ParameterError, match="holds a password"):
        data.look_at_path(Bench(), silent, path="postgresql://me:secret@host/clinic")


@pytest.mark.parametrize("shape", ["baskets", "paths", "graph", "tables"])
def test_a_recipe_of_another_shape_names_the_command_that_takes_it(
    shape: str, tmp_path: Path
) -> None:
    said = {
        "baskets": "{shape: baskets, columns: {who: person, what: item}}",
        "paths": "{shape: paths, columns: {who: person, when: time, where: place}}",
        "graph": "{shape: graph, columns: {a: from, b: to}}",
        "tables": "{tables: {people: {key: id, columns: {age: quasi}}}}",
    }[shape]
    with pytest.raises(RecipeError, match=f"data of shape {shape}.*sfumato run DATA -r RECIPE"):
        recipe_files.parse(said)


# In a browser.


def opened(tab: Tab, path: Path | str) -> None:
    """Name a path and open it."""
    tab.page.get_by_label("path of the table on this machine").fill(str(path))
    tab.page.keyboard.press("Enter")


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.service
@NEEDS_BROWSER[1]
def test_every_format_is_opened_through_the_page(
    kind: str, browser: Any, tmp_path_factory: pytest.TempPathFactory, bench: Any
) -> None:
    """One workbench opens one after the other: the recipe stays."""
    if kind in STATISTICS:
        pytest.importorskip("pyreadstat")
    path = written(tmp_path_factory.mktemp(kind), kind)
    tab = bench
    tab.go("/")
    another = tab.page.get_by_text("Open another table")
    another.or_(tab.page.get_by_label("path of the table on this machine")).filter(
        visible=True
    ).first.wait_for()
    if another.count():
        another.click()
    opened(tab, path)
    tab.page.locator("footer", has_text=path.name).wait_for()
    tab.page.locator("table.columns tbody tr").nth(5).wait_for()


@pytest.fixture(scope="module")
def bench(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with served(tmp_path_factory.mktemp("bench")) as running, running.tab(browser) as tab:
        yield tab


@pytest.mark.service
@NEEDS_BROWSER[1]
def test_a_sheet_is_chosen_kept_and_read_again(browser: Any, tmp_path: Path) -> None:
    path = workbook(tmp_path / "book.xlsx", HOSTILE, "others")
    with served(tmp_path) as running, running.tab(browser) as tab:
        page = tab.page
        opened(tab, path)
        tab.sees("This file holds 3 sheets. Which one?")
        tab.clean()
        page.get_by_role("button", name=HOSTILE, exact=True).focus()
        page.keyboard.press("Enter")
        page.locator(".figure", has_text="records").get_by_text("2", exact=True).first.wait_for()
        assert recipe_files.load(running.project / "recipe.yaml").intake.sheet == HOSTILE
        page.get_by_text("Read it otherwise").click()
        expect(page.locator("[data-key='reading sheet']")).to_have_value(HOSTILE)
        page.locator("[data-key='reading sheet']").select_option("others")
        page.get_by_role("button", name="Read it again").click()
        page.locator(".figure", has_text="records").get_by_text("3", exact=True).first.wait_for()
        page.locator(".undo .version", has_text="v2 ").wait_for()
        tab.clean()
        page.get_by_role("button", name="⟨⟩ Recipe").click()
        page.get_by_role("button", name="Python", exact=True).click()
        page.get_by_text('sheet="others"').first.wait_for()
    with served(tmp_path) as running, running.tab(browser) as tab:
        tab.page.locator(".figure", has_text="records").get_by_text(
            "3", exact=True
        ).first.wait_for()
        tab.page.get_by_role("button", name="Undo").click()
        tab.page.locator(".figure", has_text="records").get_by_text(
            "2", exact=True
        ).first.wait_for()


@pytest.mark.service
@NEEDS_BROWSER[1]
def test_a_table_of_a_database_is_chosen_and_the_shapes_say_what_to_do(
    browser: Any, tmp_path: Path
) -> None:
    path = database(tmp_path / "clinic.db", "sqlite")
    (tmp_path / "several").mkdir()
    frame().write_csv(tmp_path / "several" / "people.csv")
    with served(tmp_path) as running, running.tab(browser) as tab:
        opened(tab, tmp_path / "several")
        tab.page.get_by_text(f"sfumato profile {tmp_path / 'several'}").first.wait_for()
        tab.clean()
        opened(tab, path)
        tab.sees("This database holds 2 tables. Which one?")
        tab.page.get_by_role("button", name='"visits.2026"', exact=True).click()
        tab.page.locator("table.columns tbody tr").nth(1).wait_for()
        assert data_in(running.project).options == {"table": '"visits.2026"'}
        tab.page.get_by_role("button", name="⟨⟩ Recipe").click()
        area = tab.page.get_by_label("The recipe as text")
        area.fill("{shape: baskets, columns: {who: person, what: item}}")
        tab.page.get_by_role("button", name="Apply").click()
        tab.sees("sfumato run DATA -r RECIPE")
    with served(tmp_path) as running, running.tab(browser) as tab:
        tab.page.locator("table.columns tbody tr").nth(1).wait_for()


@pytest.mark.service
@NEEDS_BROWSER[1]
def test_tables_and_views_of_postgresql_are_opened_through_the_page(
    browser: Any, tmp_path: Path, postgresql: str
) -> None:
    """Those of all schemas, but for what the server keeps about itself; a project of one opens
    again as it was.
    """
    hostile = '<img src=x onerror="alert(1)">'
    made = begun(address(postgresql), write=True)
    for sql in (
        (
            "CREATE TABLE visits AS SELECT 30 + i AS age, 'flu' AS ill, i * 1.5 AS cost, i % 2 = 0"
            " AS paid FROM generate_series(1, 8) i"
        ),
        "CREATE VIEW young AS SELECT age, ill FROM visits WHERE age < 35",
        "CREATE SCHEMA ward",
        'CREATE MATERIALIZED VIEW ward."Visits 2026" AS SELECT age, ill FROM visits',
        (
            f'CREATE TABLE {Name(hostile).quoted} AS SELECT age AS "a ${{1}} \\ \'", ill AS'
            ' "__proto__" FROM visits'
        ),
    ):
        made.execute(sql)
    made.commit()
    made.close()
    with served(tmp_path) as running, running.tab(browser) as tab:
        page = tab.page
        opened(tab, "postgresql://me:secret@127.0.0.1/clinic")
        tab.sees("holds a password")
        opened(tab, "postgresql://127.0.0.1:1/clinic")
        tab.sees("cannot be reached")
        opened(tab, postgresql)
        tab.sees("This database holds 4 tables. Which one?")
        for name, records, columns in (
            ("visits", 8, 4),
            ("young", 4, 2),
            ("ward.Visits 2026", 8, 2),
            (Name(hostile).said, 8, 2),
        ):
            page.locator(".folder").get_by_role("button", name=name, exact=True).click()
            page.locator("footer", has_text=name.replace('"', "")[:12]).wait_for()
            page.locator(".figure", has_text="records").get_by_text(
                f"{records}", exact=True
            ).first.wait_for()
            page.wait_for_function(
                "(n) => document.querySelectorAll('table.columns tbody tr:not(.grouprow)').length"
                " === n",
                arg=columns,
            )
            if name != "visits":
                tab.sees("This is another table than before")
            tab.go("/")
            page.get_by_text("Open another table").click()
            opened(tab, postgresql)
            tab.sees("This database holds 4 tables. Which one?")
        tab.clean()
    with served(tmp_path) as running, running.tab(browser) as tab:
        tab.page.locator("footer", has_text="<img").wait_for()
        tab.page.locator("table.columns tbody tr").nth(1).wait_for()
        assert not tab.page.get_by_text("The table changed since").count()


@NEEDS_BROWSER[0]
@NEEDS_BROWSER[1]
def test_a_project_of_arx_is_opened_as_a_table_is(browser: Any, tmp_path: Path) -> None:
    """Its recipe is the version in use, its table is open, what nobody decided is shown alone, and
    before the first run the page says what a run would do.
    """
    file = arx_project(tmp_path)
    with served(tmp_path) as bench, bench.tab(browser) as tab:
        page = tab.page
        page.get_by_label("path of the table on this machine").fill(str(file))
        page.keyboard.press("Enter")
        page.locator("table.columns tbody tr").nth(4).wait_for()
        expect(page.locator(".undo .version")).to_contain_text("Took over the ARX project")
        expect(page.locator(".messages")).to_contain_text("Not taken over from ARX")
        page.locator("[data-key='only open']").click()
        expect(page.locator("table.columns tbody tr")).to_have_count(1)
        page.locator("[data-key='role keep ward']").click()
        # the last one is decided: all columns are shown again
        expect(page.locator("table.columns tbody tr")).to_have_count(5)
        tab.go("/run")
        expect(page.locator(".outcome")).to_contain_text("What the run will do")
        expect(page.locator(".outcome")).to_contain_text("2-anonymity")
        tab.clean()
