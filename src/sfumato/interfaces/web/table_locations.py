"""Where a table is: a file, a sheet of a workbook, a table of a database; and what to do with what
is no single table.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from sfumato.core.files import require_plain
from sfumato.data.lazy.databases import address, is_address, kind_of_file
from sfumato.data.lazy.open_table import tables_in
from sfumato.data.lazy.part_files import SUFFIXES as PARTS
from sfumato.data.table.excel import sheets_of
from sfumato.data.table.formats import format_of_suffix
from sfumato.errors import UnreadableInput
from sfumato.interfaces.web.uploads import at_home

MOST_BYTES = 1 << 40
RECIPES = (".yaml", ".yml")
GRAPHS = (".graphml",)


def absolute_location(entered: str) -> str:
    """A path, or the address of a database, as it is found from every folder; a database that is
    named by its file has its address.

    >>> absolute_location("sqlite:////data/clinic.db"), absolute_location("postgresql://h/clinic")
    ('sqlite:////data/clinic.db', 'postgresql://h/clinic')
    """
    if not is_address(entered):
        path = at_home(entered).absolute()
        kind = kind_of_file(path)
        if kind is None:
            return str(path)
        return f"{kind}:///{path}"
    location = address(entered)
    if location.kind not in ("sqlite", "duckdb"):
        return entered
    return f"{location.kind}:///{at_home(str(location.file)).absolute()}"


def file_of(location: str, table: str | None = None) -> Path:
    """A path that stands for a table, by which its project is known again."""
    if not is_address(location):
        return Path(location)
    parts = address(location)
    if parts.kind in ("sqlite", "duckdb"):
        at = parts.file
    else:
        at = Path("/", *parts.shown.split("/"))
    return at if table is None else at / table


def require_one_table(location: str) -> None:
    """Raise where this cannot be a table, with what to do instead. A device never ends, a pipe may
    never begin.
    """
    if is_address(location):
        return
    path = Path(location)
    if path.is_dir():
        _require_parts(path)
        return
    if path.suffix.lower() in RECIPES:
        raise UnreadableInput(
            f"{path.name}: a workbench opens tables, and this looks like a recipe, which needs its "
            f"table: sfumato serve TABLE -r {shlex.quote(location)}"
        )
    if path.suffix.lower() in GRAPHS:
        raise UnreadableInput(
            f"{path.name} holds ties between people, and the workbench edits recipes of one table."
            " A recipe with 'shape: graph' is run in a terminal:"
            f" sfumato run {shlex.quote(location)} -r recipe.yaml -o out"
        )
    require_plain(path, limit=MOST_BYTES, purpose="a table")


def _require_parts(folder: Path) -> None:
    """Raise unless a folder can hold parts of one table."""
    quoted = shlex.quote(str(folder))
    if (folder / "project.json").is_file():
        raise UnreadableInput(
            f"{folder} is the folder of a project: sfumato serve --project {quoted} opens it"
        )
    if any((folder / at).is_file() for at in ("certificate.json", "share/certificate.json")):
        raise UnreadableInput(f"{folder} is a written release; sfumato verify checks it")
    if not any(next(folder.rglob(f"*{suffix}"), None) for suffix in PARTS):
        raise UnreadableInput(one_table_hint(folder, "is a folder"))


def one_table_hint(folder: Path, why: str) -> str:
    """What to do with a folder that is no single table."""
    quoted = shlex.quote(str(folder))
    return (
        f"{folder} {why}, and the workbench opens one table: name a file in it. Tables that belong "
        f"together are handled in a terminal: sfumato profile {quoted} > recipe.yaml, then sfumato "
        f"run {quoted} -r recipe.yaml -o out"
    )


def parts_in(location: str) -> tuple[str, list[str]]:
    """What must be chosen in a file, ``sheet`` or ``table`` ("": nothing), and the names there
    are.
    """
    if is_address(location):
        return "table", tables_in(location)
    path = Path(location)
    if format_of_suffix(path.suffix) == "excel" and path.is_file():
        return "sheet", sheets_of(path)
    return "", []
