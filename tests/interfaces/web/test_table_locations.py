"""Where a table is: a file, a sheet of a workbook, a table of a database; and what to do with what
is no single table."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from sfumato.core import recipe_files
from sfumato.data.lazy.open_table import tables_in
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.exports import export_text
from sfumato.interfaces.web.project import Opened, Project
from sfumato.interfaces.web.table_locations import absolute_location, file_of
from sfumato.interfaces.web.tasks import data
from tests.interfaces.web.pages.test_open_table import (
    bench,  # noqa: F401 - a fixture
    database,
    silent,
)


@pytest.mark.parametrize(
    ("kind", "names", "chosen"),
    [
        ("sqlite", ["wards", '"visits.2026"'], '"visits.2026"'),
        ("duckdb", ["wards", "ward.visits"], "ward.visits"),
    ],
)
def test_a_database_is_known_by_its_file_and_its_tables_are_listed(
    kind: str, names: list[str], chosen: str, tmp_path: Path
) -> None:
    path = database(tmp_path / "clinic.db", kind)
    address = f"{kind}:///{path}"
    assert absolute_location(str(path)) == absolute_location(address) == address and sorted(
        tables_in(address)
    ) == sorted(names)
    looked = data.look_at_path(Bench(), silent, path=str(path))
    assert looked["path"] == address and looked["kind"] == "table"
    bench = Bench()  # noqa: F811
    opened = data.open_data(bench, silent, path=address, example=None, options={"table": chosen})
    assert opened["records"] == 7 and list(bench.data.columns) == ["age", "illness"]
    assert file_of(address, "visits") == path / "visits"
    with contextlib.closing(Project.open(tmp_path / "project")) as project:
        project.edit(
            recipe_files.parse("{columns: {age: quasi, illness: sensitive}}"), "Opened", based_on=0
        )
        project.set_data(Opened(path=address, options={"table": chosen}))
        assert (
            "--engine memory" in export_text(project, "command")[1]
            and "--table" in export_text(project, "command")[1]
        )
        assert 'engine="memory"' in export_text(project, "python")[1]
